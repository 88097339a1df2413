//! When pairs were inserted and changed.

use bevy_ecs::change_detection::{CheckChangeTicks, Tick};

/// How often old ticks had been clamped when a tick was noted. A tick that is older than that by two of these may seem newer
/// than it is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct TickChecks(u32);

impl TickChecks {
    /// Counts one more.
    pub(super) fn increment(&mut self) {
        self.0 = self.0.wrapping_add(1);
    }

    /// Whether ticks of now can be compared with those that were noted `earlier`.
    pub(crate) fn can_compare(self, earlier: Self) -> bool {
        self.0.wrapping_sub(earlier.0) <= 1
    }
}

/// When a pair was inserted, and when its value last changed.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// #[derive(Relation)]
/// struct Owes(u32);
///
/// let mut world = World::new();
/// world.track_pair_changes::<Owes>();
/// let ben = world.spawn_empty().id();
/// let ann = world.spawn(Pair(Owes(3), ben)).id();
/// world.increment_change_tick();
/// world.insert_pair(ann, Owes(5), ben)?;
/// let owes = world.register_relation::<Owes>()?;
/// let ticks = world.pairs_by_id(owes).ticks(ann, ben).unwrap();
/// assert_ne!(ticks.changed, ticks.inserted);
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PairTicks {
    /// The change tick of the world at the insertion.
    pub inserted: Tick,
    /// The change tick of the world at the insertion or the last replacement of the value.
    pub changed: Tick,
}

impl PairTicks {
    pub(crate) fn new(tick: Tick) -> Self {
        Self { inserted: tick, changed: tick }
    }

    /// Takes a change of the value into account that may be newer.
    pub(crate) fn or_changed(mut self, changed: Tick, now: Tick) -> Self {
        if changed.is_newer_than(self.changed, now) {
            self.changed = changed;
        }
        self
    }

    /// Keeps old ticks from seeming new once the world's counter wraps around.
    pub(crate) fn clamp(&mut self, check: CheckChangeTicks) {
        self.inserted.check_tick(check);
        self.changed.check_tick(check);
    }
}
