//! Values of pairs that are written in place.

use bevy_ecs::change_detection::{ComponentTicks, MaybeLocation, Mut, Tick};
use core::panic::Location;

/// Values to write: see [`PairData::values_mut`](super::PairData::values_mut).
pub(crate) struct ValuesMut<'a, T> {
    pub(super) values: &'a mut [Option<T>],
    pub(super) ticks: &'a mut [ComponentTicks],
    pub(super) writers: MaybeLocation<&'a mut [&'static Location<'static>]>,
    pub(super) last_run: Tick,
    pub(super) this_run: Tick,
}

impl<'a, T> ValuesMut<'a, T> {
    /// The value in a row: it is stamped as changed when it is written.
    #[inline]
    pub(crate) fn get_mut(&mut self, row: u32) -> Option<Mut<'_, T>> {
        let Self { values, ticks, writers, last_run, this_run } = self;
        let writers = writers.as_mut().map(|writers| &mut **writers);
        ValuesMut { values, ticks, writers, last_run: *last_run, this_run: *this_run }.into_value(row)
    }

    /// The same, for as long as the values are borrowed.
    #[inline]
    pub(crate) fn into_value(self, row: u32) -> Option<Mut<'a, T>> {
        let row = row as usize;
        let (value, ticks) = self.values.get_mut(row)?.as_mut().zip(self.ticks.get_mut(row))?;
        let writer = self.writers.map(|writers| &mut writers[row]);
        let (added, changed) = (&mut ticks.added, &mut ticks.changed);
        Some(Mut::new(value, added, changed, None, self.last_run, self.this_run, writer))
    }
}
