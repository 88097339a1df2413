//! The system parameter [`RemovedPairs`].
#![expect(unsafe_code, reason = "Bevy's `SystemParam` is an unsafe trait")]

use crate::{
    ops::{ensure_store, relation_id},
    relation::Relation,
    store::{Change, Cursor, Journal, PairStore},
};
use bevy_ecs::{
    change_detection::{Res, Tick},
    entity::Entity,
    system::{ReadOnlySystemParam, SystemAccess, SystemMeta, SystemParam, SystemParamValidationError},
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};
use core::{iter::FusedIterator, marker::PhantomData};

/// Reads the pairs of relation type `R` that were removed, like Bevy's
/// [`RemovedComponents`](bevy_ecs::lifecycle::RemovedComponents): a system parameter.
///
/// Every removal counts, whatever its cause: removing the pair, giving an exclusive relation another target,
/// despawning an end or the relation, clearing. A symmetric pair is removed in both directions. A pair that was
/// inserted again is still listed, and again if it was removed again; test with [`Pairs`](crate::Pairs) whether it
/// exists now. The ends may be dead by the time they are read.
///
/// Each system reads each removal once. [`RelationsPlugin`](crate::RelationsPlugin) drops removals at the start
/// of the second frame after them, so that a system that runs once per frame misses none. One that runs less often
/// does, as with Bevy's. A world without the plugin must call
/// [`maintain_pairs`](crate::WorldPairExt::maintain_pairs), or keeps them all.
///
/// Removals are recorded from the moment the first system with this parameter is initialised. After
/// [`World::clear_entities`] that is the next one.
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::prelude::*;
///
/// #[derive(Relation)]
/// #[relation(exclusive)]
/// struct DockedTo;
///
/// fn report(mut departed: RemovedPairs<DockedTo>) {
///     for (ship, station) in departed.read() {
///         println!("{ship} has left {station}");
///     }
/// }
/// # bevy_ecs::system::assert_is_system(report);
/// ```
///
/// What is not read stays:
///
/// ```
/// # use bevy_ecs::{prelude::*, system::SystemState};
/// # use bevy_relations::prelude::*;
/// # #[derive(Relation)]
/// # struct DockedTo;
/// # let mut world = World::new();
/// # let [port, kite, gull, tern] = [(); 4].map(|()| world.spawn_empty().id());
/// # world.insert_pair_batch([kite, gull, tern].map(|ship| (ship, DockedTo, port)))?;
/// # let mut state: SystemState<RemovedPairs<DockedTo>> = SystemState::new(&mut world);
/// world.remove_pair_batch::<DockedTo>([(kite, port), (gull, port), (tern, port)]);
/// # let mut departed = state.get(&world)?;
/// assert_eq!(departed.read().next(), Some((kite, port)));
/// assert_eq!(departed.len(), 2);
/// departed.clear();
/// assert!(departed.is_empty());
/// # Ok::<(), BevyError>(())
/// ```
///
/// # Panics
/// When the system is initialised, if the traits of `R` are rejected.
pub struct RemovedPairs<'w, 's, R: Relation> {
    journal: Option<&'w Journal>,
    cursor: &'s mut Cursor,
    relation: PhantomData<fn() -> R>,
}

impl<R: Relation> RemovedPairs<'_, '_, R> {
    /// The pairs that were removed and not read yet, as `(source, target)`, oldest first. Removals that the iterator
    /// does not reach stay unread.
    pub fn read(&mut self) -> RemovedPairIter<'_> {
        let changes = self.journal.map_or(&[][..], |journal| journal.catch_up(self.cursor));
        RemovedPairIter { changes: changes.iter(), cursor: self.cursor }
    }

    /// Number of removals that were not read yet. O(changes since).
    pub fn len(&self) -> usize {
        self.unread().filter(|change| change.is_removal()).count()
    }

    /// Whether there is no removal to read. O(changes since), up to the first removal.
    pub fn is_empty(&self) -> bool {
        !self.unread().any(Change::is_removal)
    }

    fn unread(&self) -> core::slice::Iter<'_, Change> {
        let mut cursor = *self.cursor;
        self.journal.map_or(&[][..], |journal| journal.catch_up(&mut cursor)).iter()
    }

    /// Counts all removals as read.
    pub fn clear(&mut self) {
        if let Some(journal) = self.journal {
            *self.cursor = journal.cursor();
        }
    }
}

/// Iterator over pairs that were removed, as `(source, target)`. See [`RemovedPairs::read`].
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_ecs::system::SystemState;
/// # #[derive(Relation)]
/// # struct Likes;
/// # let mut world = World::new();
/// # let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
/// # let mut state: SystemState<RemovedPairs<Likes>> = SystemState::new(&mut world);
/// world.insert_pair(ann, Likes, ben)?;
/// world.remove_pair::<Likes>(ann, ben);
/// # let mut removed = state.get(&world)?;
/// let pairs: Vec<(Entity, Entity)> = removed.read().collect();
/// assert_eq!(pairs, [(ann, ben)]);
/// # Ok::<(), BevyError>(())
/// ```
pub struct RemovedPairIter<'a> {
    changes: core::slice::Iter<'a, Change>,
    cursor: &'a mut Cursor,
}

impl Iterator for RemovedPairIter<'_> {
    type Item = (Entity, Entity);

    fn next(&mut self) -> Option<(Entity, Entity)> {
        let cursor = &mut *self.cursor;
        let removed = self.changes.find(|change| {
            cursor.step();
            change.is_removal()
        })?;
        Some((removed.source, removed.target))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.changes.len()))
    }
}

impl FusedIterator for RemovedPairIter<'_> {}

/// What is fetched.
type Fetched = Option<Res<'static, PairStore>>;

/// State of [`RemovedPairs`].
#[doc(hidden)]
pub struct RemovedPairsState {
    fetched: <Fetched as SystemParam>::State,
    cursor: Cursor,
}

// SAFETY: every access goes through `Fetched`, whose own implementation declares it in `init_access` and performs
// it in `get_param`; the cursor is the system's own. Test: `readers_of_removed_pairs_run_side_by_side`.
unsafe impl<R: Relation> SystemParam for RemovedPairs<'_, '_, R> {
    type State = RemovedPairsState;
    type Item<'w, 's> = RemovedPairs<'w, 's, R>;

    fn init_state(world: &mut World) -> Self::State {
        let relation = relation_id::<R>(world);
        ensure_store(world).keep_journal(relation).keep_all();
        RemovedPairsState { fetched: Fetched::init_state(world), cursor: Cursor::default() }
    }

    fn init_access(state: &Self::State, meta: &mut SystemMeta, access: &mut SystemAccess, world: &mut World) {
        Fetched::init_access(&state.fetched, meta, access, world);
    }

    unsafe fn get_param<'w, 's>(
        state: &'s mut Self::State,
        meta: &SystemMeta,
        world: UnsafeWorldCell<'w>,
        tick: Tick,
    ) -> Result<Self::Item<'w, 's>, SystemParamValidationError> {
        // SAFETY: the access was declared by the same parameter in `init_access`, and `world` is the world of
        // this state, as the caller promises.
        let store = unsafe { Fetched::get_param(&mut state.fetched, meta, world, tick)? };
        let journal = store
            .map(Res::into_inner)
            .and_then(|store| store.relation(store.registry().known::<R>()?).journal());
        Ok(RemovedPairs { journal, cursor: &mut state.cursor, relation: PhantomData })
    }
}

// SAFETY: all of the fetched parameters only read.
unsafe impl<R: Relation> ReadOnlySystemParam for RemovedPairs<'_, '_, R> {}
