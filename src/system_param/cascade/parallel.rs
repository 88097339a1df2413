//! Visiting the nodes of one level on several threads, level after level.

use super::CascadeQuery;
#[cfg(feature = "multi_threaded")]
use super::levels::Node;
use crate::relation::{ExclusiveRelation, TraversableRelation};
use bevy_ecs::query::{IterQueryData, QueryFilter, ReadOnlyQueryData};

impl<R, D, P, F, W> CascadeQuery<'_, '_, R, D, P, F, W>
where
    R: TraversableRelation,
    D: IterQueryData + 'static,
    P: ReadOnlyQueryData + 'static,
    F: QueryFilter + 'static,
    W: QueryFilter + 'static,
{
    /// [`for_each`](Self::for_each) on all threads of Bevy's `ComputeTaskPool`: a level starts when the one above is
    /// finished, and is distributed among the threads if it is large.
    ///
    /// Without the feature `multi_threaded`, and where there is no such pool, this thread does everything.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Component)]
    /// struct Offset(f32);
    /// #[derive(Component)]
    /// struct Position(f32);
    ///
    /// fn propagate(mut tree: CascadeQuery<ChildOf, (&Offset, &mut Position), &Position>) {
    ///     tree.par_for_each(|(offset, mut position), parent| {
    ///         position.0 = offset.0 + parent.map_or(0.0, |parent| parent.0);
    ///     });
    /// }
    /// # let mut world = World::new();
    /// let ship = world.spawn((Offset(100.0), Position(0.0))).id();
    /// let turret = world.spawn((Offset(5.0), Position(0.0), ChildOf(ship))).id();
    /// world.run_system_cached(propagate).unwrap();
    /// assert_eq!(world.get::<Position>(turret).unwrap().0, 105.0);
    /// ```
    pub fn par_for_each(&mut self, visit: impl Fn(D::Item<'_, '_>, Option<P::Item<'_, '_>>) + Send + Sync)
    where
        R: ExclusiveRelation,
    {
        #[cfg(feature = "multi_threaded")]
        if let Some(pool) = bevy_tasks::ComputeTaskPool::try_get()
            && pool.thread_num() > 1
        {
            return self.run_on(pool, &visit);
        }
        self.for_each(visit);
    }

    #[cfg(feature = "multi_threaded")]
    fn run_on(
        &mut self,
        pool: &bevy_tasks::TaskPool,
        visit: &(impl Fn(D::Item<'_, '_>, Option<P::Item<'_, '_>>) + Send + Sync),
    ) {
        use super::{
            CascadeState,
            levels::{LevelNodes, RowCounts},
            visit::{Parents, VisitAll, Visitor, visit_level},
        };

        self.update();
        let context = self.context;
        let CascadeState { own, parents, levels, .. } = &mut *self.state;
        let (own, parents) = (&*own, &*parents);
        let mut counts = RowCounts::default();
        let visit_some = |stage: LevelNodes<'_>| {
            // SAFETY: the states are up to date, the parameter was given the access that they declare, and it is
            // borrowed mutably until all tasks have ended.
            let (mut visitor, mut reader) =
                unsafe { (Visitor::new(context, own, VisitAll), Parents::new(context, parents)) };
            // SAFETY: no entity is in two nodes, by *One slot*, and the chunks of a level share no node; nothing writes
            // data of the level above, whose tasks have ended. Test: `parallel_equals_sequential`.
            unsafe {
                visit_level((&mut visitor, &mut reader), stage, &mut |item, parent| visit(item, parent));
            }
            visitor.counts
        };
        for level in 0..levels.levels.len() {
            let stage = levels.split(level);
            // Several for each thread: some take longer than others.
            let chunk = stage.nodes.len().div_ceil(4 * pool.thread_num()).max(MIN_CHUNK);
            if stage.nodes.len() <= chunk {
                counts.merge(&visit_some(stage));
                continue;
            }
            let LevelNodes { above, nodes: mut rest, scattered } = stage;
            let visit_some = &visit_some;
            let parts = pool.scope(|scope| {
                while !rest.is_empty() {
                    let (nodes, others) = rest.split_at_mut(end_of_chunk(rest, chunk));
                    rest = others;
                    scope.spawn(async move { visit_some(LevelNodes { above, nodes, scattered }) });
                }
            });
            parts.iter().for_each(|part| counts.merge(part));
        }
        let first = levels.discover(own.storages(context.world), &counts);
        levels.dead = counts.dead;
        visit_some(levels.split(0).skip(first));
    }
}

/// Where a chunk of about this length ends: not between siblings, which read the same parent, unless there are very
/// many of them.
#[cfg(feature = "multi_threaded")]
fn end_of_chunk(nodes: &[Node], chunk: usize) -> usize {
    let Some((first, others)) = nodes.get(chunk - 1..).and_then(<[_]>::split_first) else {
        return nodes.len();
    };
    let siblings = others.iter().take(chunk).take_while(|node| node.parent == first.parent);
    chunk + siblings.count()
}

/// Fewer nodes are not worth a task.
#[cfg(feature = "multi_threaded")]
const MIN_CHUNK: usize = 1024;
