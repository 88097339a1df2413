//! Pairs on several threads.

use super::{PairEdge, PairQuery};
use crate::{fetch::SharedData, relation::Relation};
use bevy_ecs::query::{IterQueryData, QueryData, QueryFilter};

impl<'s, R, S, T, F, TF> PairQuery<'_, 's, R, S, T, F, TF>
where
    R: Relation,
    S: IterQueryData,
    T: QueryData,
    F: QueryFilter,
    TF: QueryFilter,
{
    /// Calls `each` with every pair and the data of its ends, on all threads of Bevy's compute task pool. The pairs
    /// of one source come one after the other.
    ///
    /// On this thread alone if there is no such pool, if the feature `multi_threaded` is off, or for the pairs of
    /// one source.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation)]
    /// struct Follows;
    /// #[derive(Component)]
    /// struct Position(f32);
    /// #[derive(Component)]
    /// struct Aim(f32);
    ///
    /// fn aim(mut followers: PairQuery<Follows, &mut Aim, &Position>) {
    ///     followers.par_for_each(|mut aim, _, target| aim.0 = target.0);
    /// }
    /// # let mut world = World::new();
    /// # let target = world.spawn(Position(3.0)).id();
    /// # let follower = world.spawn((Aim(0.0), Pair(Follows, target))).id();
    /// # world.run_system_cached(aim).unwrap();
    /// assert_eq!(world.get::<Aim>(follower).unwrap().0, 3.0);
    /// ```
    ///
    /// # Panics
    /// If `S` writes what `T` or `TF` reads of the same entities, see [overlap](Self#overlap).
    pub fn par_for_each(
        &mut self,
        each: impl Fn(S::Item<'_, 's>, PairEdge<'_, R>, T::Item<'_, 's>) + Send + Sync,
    ) where
        T: SharedData,
    {
        self.refuse_overlap("par_for_each");
        #[cfg(feature = "multi_threaded")]
        if threads::for_each(self, &each) {
            return;
        }
        self.for_each(each);
    }
}

#[cfg(feature = "multi_threaded")]
#[expect(unsafe_code, reason = "data of several entities is fetched past the borrow checker")]
mod threads {
    use super::*;
    use crate::{
        fetch::FetchCursor,
        system_param::pair_query::{
            QueryScope,
            ends::{Ends, ListPlaces},
        },
    };
    use bevy_ecs::query::ReadOnlyQueryData;
    use bevy_tasks::ComputeTaskPool;

    /// Less is not worth the way to another thread.
    const SMALLEST_BATCH: usize = 256;
    /// More than one, since some batches take longer than others.
    const BATCHES_PER_THREAD: usize = 4;

    /// Does it on several threads, if that is possible.
    pub(super) fn for_each<'s, R, S, T, F, TF>(
        query: &mut PairQuery<'_, 's, R, S, T, F, TF>,
        each: &(impl Fn(S::Item<'_, 's>, PairEdge<'_, R>, T::Item<'_, 's>) + Send + Sync),
    ) -> bool
    where
        R: Relation,
        S: IterQueryData,
        T: ReadOnlyQueryData,
        F: QueryFilter,
        TF: QueryFilter,
    {
        let Some(pool) = ComputeTaskPool::try_get() else { return false };
        let Some(index) = query.pairs.index else { return false };
        let (pairs, ends) = (&query.pairs, query.ends.shorter());
        let (of_sources, of_targets) = (ends.sources.origin(), ends.targets.origin());
        // SAFETY: the query has the right to its access for as long as it is borrowed here, and `scope` returns when
        // every task is done. *Parallel*: no two tasks go over the same source, since an entity is in one row of one
        // table, and in one place of a list of the index (*Mirror*); nothing that `S` writes is read elsewhere
        // (`refuse_overlap`), and `S` is `IterQueryData`. `Fetch`es cannot be sent, so each task has its own.
        // Test: `parallel_iteration_gives_every_pair_once`, under AddressSanitizer too.
        let ends_of =
            move || unsafe { Ends::new(FetchCursor::of(of_sources), FetchCursor::of(of_targets), false) };
        let batches = |len: usize| {
            let size = len.div_ceil(pool.thread_num() * BATCHES_PER_THREAD).max(SMALLEST_BATCH);
            (0..len).step_by(size).map(move |start| start..(start + size).min(len))
        };
        if pool.thread_num() < 2 {
            return false;
        }
        match query.scope {
            QueryScope::Source(_) => return false,
            // By table, also if going by list were shorter: a source may be in several lists.
            QueryScope::All => pool.scope(|scope| {
                let row_loop = ends.row_loop(pairs);
                for &storage in ends.sources.storages() {
                    for batch in batches(ends.sources.rows_of(storage).len()) {
                        scope.spawn(async move {
                            ends_of().visit_rows(row_loop, pairs, (&[storage], batch), &mut &*each);
                        });
                    }
                }
            }),
            // Not in the order of `Children`, which a user could make name a child twice.
            QueryScope::Target(target) => pool.scope(|scope| {
                for batch in batches(index.source_count(target)) {
                    scope.spawn(async move {
                        let (sources, mut places) = (index.sources(target).part(batch), ListPlaces::UNKNOWN);
                        ends_of().visit_list(pairs, target, sources, &mut places, &mut &*each);
                    });
                }
            }),
        };
        true
    }
}
