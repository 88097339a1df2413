//! Visiting the nodes of one level on several threads, level after level.

use super::CascadeQuery;
use crate::relation::{ExclusiveRelation, TraversableRelation};
use bevy_ecs::query::{IterQueryData, QueryFilter, ReadOnlyQueryData};

impl<R, D, P, F, W> CascadeQuery<'_, '_, R, D, P, F, W>
where
    R: ExclusiveRelation + TraversableRelation,
    D: IterQueryData + 'static,
    P: ReadOnlyQueryData + 'static,
    F: QueryFilter + 'static,
    W: QueryFilter + 'static,
{
    /// [`for_each`](Self::for_each) on all threads of Bevy's `ComputeTaskPool`: a level is begun when the one above is
    /// done, and shared out among the threads if it is large.
    ///
    /// Without the feature `multi_threaded`, and where there is no such pool, this thread does everything.
    pub fn par_for_each(&mut self, visit: impl Fn(D::Item<'_, '_>, Option<P::Item<'_, '_>>) + Send + Sync) {
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
            levels::Census,
            visit::{Everything, Parents, Visitor, visit_level},
        };

        self.update();
        let context = self.context;
        let CascadeState { own, parents, levels, .. } = &mut *self.state;
        let (own, parents) = (&*own, &*parents);
        let mut census = Census::default();
        let visit_chunk = |above: &[_], nodes: &mut [_]| {
            // SAFETY: the states are up to date, the parameter was given the access that they declare, and it is borrowed
            // mutably until all tasks have ended.
            let (mut visitor, mut reader) =
                unsafe { (Visitor::new(context, own, Everything), Parents::new(context, parents)) };
            // SAFETY: no entity is in two nodes, by *One slot*, and the chunks of a level share no node; nobody writes
            // data of the level above, whose tasks have ended. Test: `parallel_equals_sequential`.
            unsafe {
                visit_level((&mut visitor, &mut reader), (above, nodes), &mut |item, parent| {
                    visit(item, parent)
                })
            };
            visitor.census
        };
        for level in 0..levels.levels.len() {
            let (above, nodes) = levels.split(level);
            // Several for each thread: some chunks take longer than others.
            let chunk = nodes.len().div_ceil(4 * pool.thread_num()).max(MIN_CHUNK);
            if nodes.len() <= chunk {
                census.merge(&visit_chunk(above, nodes));
                continue;
            }
            let visit_chunk = &visit_chunk;
            let counts = pool.scope(|scope| {
                for nodes in nodes.chunks_mut(chunk) {
                    scope.spawn(async move { visit_chunk(above, nodes) });
                }
            });
            counts.iter().for_each(|count| census.merge(count));
        }
        let first = levels.discover(own.storages(context.world), &census);
        levels.dead = census.dead;
        let (above, nodes) = levels.split(0);
        visit_chunk(above, nodes.get_mut(first..).unwrap_or_default());
    }
}

/// Fewer nodes are not worth a task.
#[cfg(feature = "multi_threaded")]
const MIN_CHUNK: usize = 1024;
