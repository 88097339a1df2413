//! Rows on several threads.

use super::{compiled::CompiledExpr, rows::Row};
use crate::expr::exec::ExprRunError;
use bevy_ecs::world::World;

impl CompiledExpr {
    /// [`for_each`](Self::for_each) on all threads of Bevy's `ComputeTaskPool`. This thread finds all rows; then they
    /// are distributed among the threads. That pays if much is done with each row.
    ///
    /// Without the feature `multi_threaded`, and where there is no such pool, this thread does everything.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::expr::PairExpr;
    /// # use core::sync::atomic::{AtomicU32, Ordering};
    /// #[derive(Component)]
    /// struct Fuel(u32);
    /// #[derive(Relation)]
    /// struct DockedTo;
    ///
    /// # let mut world = World::new();
    /// # world.register_component_name::<Fuel>("Fuel").register_relation::<DockedTo>()?;
    /// # let [oslo, hull] = [(); 2].map(|()| world.spawn_empty().id());
    /// # for (fuel, port) in [(1, oslo), (4, hull), (2, oslo)] {
    /// #     world.spawn((Fuel(fuel), Pair(DockedTo, port)));
    /// # }
    /// let mut docked = PairExpr::parse("Fuel, (DockedTo, $port)")?.compile(&mut world)?;
    /// let total = AtomicU32::new(0);
    /// docked.par_for_each(&world, |row| {
    ///     total.fetch_add(row.get::<Fuel>(0).unwrap().0, Ordering::Relaxed);
    /// })?;
    /// assert_eq!(total.into_inner(), 7);
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`for_each`](Self::for_each).
    pub fn par_for_each(
        &mut self,
        world: &World,
        each: impl Fn(Row<'_>) + Send + Sync,
    ) -> Result<(), ExprRunError> {
        #[cfg(feature = "multi_threaded")]
        if let Some(pool) = bevy_tasks::ComputeTaskPool::try_get()
            && pool.thread_num() > 1
        {
            return self.run_on(pool, world, &each);
        }
        self.for_each(world, each)
    }

    #[cfg(feature = "multi_threaded")]
    fn run_on(
        &mut self,
        pool: &bevy_tasks::TaskPool,
        world: &World,
        each: &(impl Fn(Row<'_>) + Send + Sync),
    ) -> Result<(), ExprRunError> {
        use crate::expr::eval::WorldAccess;
        self.start_collecting(WorldAccess::World(world))?;
        self.next_batch(WorldAccess::World(world))?;
        let (expr, rows) = (&*self, self.batch().len);
        // Several for each thread: some take longer than others.
        let chunk = rows.div_ceil(4 * pool.thread_num()).max(MIN_CHUNK);
        pool.scope(|scope| {
            for from in (0..rows).step_by(chunk) {
                let rows = from..rows.min(from + chunk);
                scope.spawn(async move {
                    rows.for_each(|row| each(Row::new(expr, row, WorldAccess::World(world))));
                });
            }
        });
        Ok(())
    }
}

/// Fewer rows are not worth a task.
#[cfg(feature = "multi_threaded")]
const MIN_CHUNK: usize = 256;
