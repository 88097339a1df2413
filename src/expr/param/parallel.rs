//! Rows on several threads.
#![cfg_attr(
    feature = "multi_threaded",
    expect(unsafe_code, reason = "data of several entities is fetched past the borrow checker")
)]

use super::{ExprQuery, Expression};
use crate::expr::{eval::WorldAccess, exec::ExprRunError, result::Row};
use bevy_ecs::query::{IterQueryData, QueryData};

impl<'s, E: Expression, D: QueryData + 'static> ExprQuery<'_, 's, E, D> {
    /// Calls a function with the data of `$this`, to be written, and the row, on all threads of Bevy's compute task
    /// pool. The rows about one entity come one after the other.
    ///
    /// On this thread alone if there is no such pool, or if the feature `multi_threaded` is off. All rows are found
    /// first, on this thread: it pays if much is done with each.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Component)]
    /// struct Fuel(u32);
    ///
    /// #[derive(Expression)]
    /// #[expr("!(DockedTo, *)")]
    /// struct Flying;
    ///
    /// fn burn(mut flying: ExprQuery<Flying, &mut Fuel>) -> Result {
    ///     flying.par_for_each(|mut fuel, _row| fuel.0 -= 1)?;
    ///     Ok(())
    /// }
    /// # let mut world = World::new();
    /// # world.spawn_relation("DockedTo", RelationTraits::new())?;
    /// # let ship = world.spawn(Fuel(5)).id();
    /// # let () = world.run_system_cached(burn)?;
    /// assert_eq!(world.get::<Fuel>(ship).unwrap().0, 4);
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    pub fn par_for_each(
        &mut self,
        each: impl Fn(D::Item<'_, 's>, Row<'_>) + Send + Sync,
    ) -> Result<(), ExprRunError>
    where
        D: IterQueryData,
    {
        #[cfg(feature = "multi_threaded")]
        if threads::for_each(self, &each)? {
            return Ok(());
        }
        let Self { compiled, declared, data, .. } = self;
        compiled.for_each_of(WorldAccess::Declared(declared), |row| {
            if let Some(item) = row.this().and_then(|this| data.get_mut(this).ok()) {
                each(item, row);
            }
        })
    }
}

#[cfg(feature = "multi_threaded")]
mod threads {
    use super::*;
    use crate::expr::bind::Var;
    use alloc::vec::Vec;
    use bevy_ecs::entity::Entity;
    use bevy_tasks::ComputeTaskPool;

    /// Less is not worth the way to another thread.
    const SMALLEST_PART: usize = 256;
    /// More than one, since some parts take longer than others.
    const PARTS_PER_THREAD: usize = 4;

    /// Does it on several threads, if that is possible.
    pub(super) fn for_each<'s, E: Expression, D: IterQueryData + 'static>(
        query: &mut ExprQuery<'_, 's, E, D>,
        each: &(impl Fn(D::Item<'_, 's>, Row<'_>) + Send + Sync),
    ) -> Result<bool, ExprRunError> {
        let Some(pool) = ComputeTaskPool::try_get().filter(|pool| pool.thread_num() > 1) else {
            return Ok(false);
        };
        let ExprQuery { compiled, declared, data, .. } = query;
        let (declared, data) = (&*declared, &*data);
        compiled.start_collecting(WorldAccess::Declared(declared))?;
        if !compiled.next_batch(WorldAccess::Declared(declared))? {
            return Ok(true);
        }
        let compiled = &**compiled;
        let these = compiled.batch().columns[Var::THIS.index()].iter().enumerate();
        let mut order: Vec<_> = these.filter_map(|(row, this)| Some((this.entity()?, row))).collect();
        // All rows about an entity go to one thread.
        order.sort_unstable();
        let part = order.len().div_ceil(pool.thread_num() * PARTS_PER_THREAD).max(SMALLEST_PART);
        pool.scope(|scope| {
            for rows in parts(&order, part) {
                scope.spawn(async move {
                    for &(this, row) in rows {
                        // SAFETY: `data` is borrowed mutably by the caller until `scope` has seen the end of every
                        // task. An entity occurs in one part only, and here its item is gone before the next is
                        // fetched; items of different entities do not share anything, since `D` is
                        // `IterQueryData`. What rows give is disjoint from what `D` writes, or the system would
                        // have been refused. Test: `parallel_rows_come_once_each`, under AddressSanitizer too.
                        if let Ok(item) = unsafe { data.get_unchecked(this) } {
                            each(item, Row::new(compiled, row, WorldAccess::Declared(declared)));
                        }
                    }
                });
            }
        });
        Ok(true)
    }

    /// Cuts what is in order of entities into parts of about this size, never within an entity.
    fn parts(order: &[(Entity, usize)], size: usize) -> impl Iterator<Item = &[(Entity, usize)]> {
        let mut rest = order;
        core::iter::from_fn(move || {
            let last = rest.get(size.min(rest.len()).checked_sub(1)?)?.0;
            let end = rest.partition_point(|&(this, _)| this <= last);
            let (part, after) = rest.split_at(end);
            rest = after;
            Some(part)
        })
    }
}
