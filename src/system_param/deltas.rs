//! The system parameters [`PairDeltas`] and [`AnyPairDeltas`].
#![expect(unsafe_code, reason = "Bevy's `SystemParam` is an unsafe trait")]

use super::conflict::refuse_conflict;
use crate::{
    ops::{ensure_store, relation_id, use_all_relations},
    relation::{Relation, short_name},
    store::{Change, Cursor, Journal, NetChanges, PairData, PairDeltaKind, PairReader, PairStore},
};
use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use bevy_ecs::{
    change_detection::{Res, Tick},
    entity::Entity,
    system::{Local, ReadOnlySystemParam, SystemAccess, SystemMeta, SystemParam, SystemParamValidationError},
    world::{FromWorld, World, unsafe_world_cell::UnsafeWorldCell},
};
use core::{any::type_name, marker::PhantomData};
use thiserror::Error;

/// A change of a pair. See [`PairDeltas`].
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_ecs::system::SystemState;
/// # use bevy_relations::live::{PairDeltaKind, PairDeltas};
/// # #[derive(Relation)]
/// # struct DockedTo;
/// # let mut world = World::new();
/// # let [ship, port] = [(); 2].map(|()| world.spawn_empty().id());
/// # let mut state: SystemState<PairDeltas<DockedTo>> = SystemState::new(&mut world);
/// # assert!(state.get(&world)?.read().is_err());
/// world.insert_pair(ship, DockedTo, port)?;
/// # let docked_to = world.entity_of::<DockedTo>();
/// # let mut deltas = state.get(&world)?;
/// let delta = deltas.read()?.next().unwrap();
/// assert_eq!((delta.source, delta.relation, delta.target), (ship, docked_to, port));
/// assert_eq!(delta.kind, PairDeltaKind::Inserted);
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PairDelta {
    /// The source of the pair. It may be dead by now, as may the other two.
    pub source: Entity,
    /// The relation of the pair.
    pub relation: Entity,
    /// The target of the pair.
    pub target: Entity,
    /// What happened.
    pub kind: PairDeltaKind,
}

impl PairDelta {
    fn new(relation: Entity, change: &Change) -> Self {
        Self { source: change.source, relation, target: change.target, kind: change.kind }
    }
}

/// The changes since the last read are not known: this is the first read, or changes were dropped. Rebuild derived data from the
/// existing pairs; the next read reports the changes since this one.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_ecs::system::SystemState;
/// # use bevy_relations::live::PairDeltas;
/// # #[derive(Relation)]
/// # struct DockedTo;
/// # let mut world = World::new();
/// let mut state: SystemState<PairDeltas<DockedTo>> = SystemState::new(&mut world);
/// let mut deltas = state.get(&world)?;
/// let gap = deltas.read().err().unwrap(); // the first read
/// assert_eq!(gap.relation, "DockedTo");
/// assert!(deltas.read().is_ok());
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "the changes of the pairs of {relation} are not known: this is the first read, or changes were dropped since the last one; start from \
     the existing pairs"
)]
pub struct DeltaGap {
    /// The relation, or one of them.
    pub relation: String,
}

impl DeltaGap {
    fn of<R: Relation>() -> Self {
        Self { relation: short_name(type_name::<R>()).into_owned() }
    }
}

/// The changes of the pairs of relation type `R` since this system last read them, in order: a system parameter.
///
/// The first read of a system is a [`DeltaGap`]: it starts from the existing pairs, with [`Pairs`](crate::Pairs), and
/// follows the changes from then on.
///
/// In the book: [Live queries](crate::book::live).
///
/// ```
/// use bevy_ecs::{entity::EntityHashMap, prelude::*};
/// use bevy_relations::{live::{PairDeltaKind, PairDeltas}, prelude::*};
///
/// #[derive(Relation)]
/// struct DockedTo;
///
/// // How many ships are at each station, kept up to date.
/// fn count(mut deltas: PairDeltas<DockedTo>, docked: Pairs<DockedTo>, mut ships: Local<EntityHashMap<i32>>) {
///     match deltas.read() {
///         Ok(changes) => {
///             for change in changes {
///                 match change.kind {
///                     PairDeltaKind::Inserted => *ships.entry(change.target).or_default() += 1,
///                     PairDeltaKind::Removed => *ships.entry(change.target).or_default() -= 1,
///                     _ => {}
///                 }
///             }
///         }
///         Err(_) => {
///             ships.clear();
///             docked.iter().for_each(|(_, station)| *ships.entry(station).or_default() += 1);
///         }
///     }
/// }
/// # bevy_ecs::system::assert_is_system(count);
/// ```
///
/// # What is reported
///
/// Every change, whatever its cause: pairs that are inserted and removed, also with their ends or the relation, in
/// both directions if the relation is symmetric; values that are replaced; orders. Pairs that Bevy writes, as those
/// of [`ChildOf`](bevy_ecs::hierarchy::ChildOf), are reported like all others; the order of Bevy's `Children` is not.
///
/// Values that are written in place, through [`PairsMut`](crate::PairsMut), are found by their change ticks, and reported
/// after everything else, once per pair, unless the pair is reported as inserted or written already. As with Bevy's change
/// detection, what a system writes itself is not reported to it. The values of Bevy's relationships are immutable.
///
/// # How long changes are kept
///
/// Changes are recorded from the moment the first system with this parameter is initialised, for that relation only.
/// Those of the last two frames stay, and in any case the last 8,192, for systems that run less often. Changes
/// without a reader are dropped, so a system may stay idle for any time: when it runs again, it gets a [`DeltaGap`].
/// So it does after more than 65,536 changes, and more than there are pairs, in two frames. A world without
/// [`RelationsPlugin`](crate::RelationsPlugin) calls [`maintain_pairs`](crate::WorldPairExt::maintain_pairs).
///
/// After [`World::clear_resources`] each read is a [`DeltaGap`], until the next system with this parameter is
/// initialised.
///
/// # Complexity
/// O(changes). If values were borrowed to be written in place since the last read, O(pairs) to compare ticks.
///
/// # Panics
/// When the system is initialised, if the traits of `R` are rejected.
pub struct PairDeltas<'w, 's, R: Relation> {
    store: Option<&'w PairStore>,
    values: Option<&'w PairData<R>>,
    reader: &'s mut Reader,
    now: Tick,
}

/// What a system keeps.
#[derive(Default)]
struct Reader {
    pairs: PairReader,
    /// Memory for the changes of a read.
    changes: Vec<Change>,
    net: NetChanges,
}

impl<'w, R: Relation> PairDeltas<'w, '_, R> {
    /// Reads up to the end. Returns the relation and the unread changes of its journal; those that were found by ticks
    /// are in `written`.
    fn advance(&mut self) -> Result<(Entity, &'w [Change]), DeltaGap> {
        let reader = &mut self.reader.pairs;
        let Some((store, id)) = self.store.and_then(|store| Some((store, store.registry().known::<R>()?)))
        else {
            reader.start_anew();
            return Err(DeltaGap::of::<R>());
        };
        let unread = reader.advance(store, id, self.values, self.now).ok_or_else(DeltaGap::of::<R>)?;
        Ok((store.registry().entry(id).entity, unread))
    }

    /// Everything that happened since the last read, in order. All of it counts as read.
    ///
    /// # Errors
    /// If the changes are not known, or this is the first read. The next read reports the changes from now on.
    pub fn read(&mut self) -> Result<impl Iterator<Item = PairDelta> + use<'_, 'w, R>, DeltaGap> {
        let (relation, unread) = self.advance()?;
        let unread = unread.iter().chain(self.reader.pairs.written());
        Ok(unread.map(move |change| PairDelta::new(relation, change)))
    }

    /// The net changes of [`read`](Self::read), in order: changes that undo each other are left out. All of them
    /// count as read.
    ///
    /// - A pair that was inserted and removed, any number of times, and was not there before, is not reported.
    /// - A pair that was removed and inserted again is reported as removed, at its first removal, and as inserted, at its
    ///   last insertion: its position in the order has changed.
    /// - A value is reported as written once, if the pair was there all the time; an order once.
    ///
    /// Replayed on the pairs from before, the changes lead to those that there are now, in the same order.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_ecs::system::SystemState;
    /// # use bevy_relations::live::PairDeltas;
    /// # #[derive(Relation)]
    /// # struct DockedTo;
    /// # let mut world = World::new();
    /// # let [ship, port, buoy] = [(); 3].map(|()| world.spawn_empty().id());
    /// # let mut state: SystemState<PairDeltas<DockedTo>> = SystemState::new(&mut world);
    /// # state.get(&world)?.clear();
    /// world.insert_pair(ship, DockedTo, port)?;
    /// world.remove_pair::<DockedTo>(ship, port);
    /// world.insert_pair(ship, DockedTo, buoy)?;
    /// # let mut deltas = state.get(&world)?;
    /// let net: Vec<_> = deltas.read_net()?.map(|delta| delta.target).collect();
    /// assert_eq!(net, [buoy]);
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn read_net(&mut self) -> Result<impl Iterator<Item = PairDelta> + use<'_, 'w, R>, DeltaGap> {
        let (relation, unread) = self.advance()?;
        let Reader { pairs, changes: all, net } = &mut *self.reader;
        all.clear();
        all.extend(unread.iter().chain(pairs.written()));
        Ok(net.of(all).map(move |change| PairDelta::new(relation, change)))
    }

    /// Counts everything as read.
    pub fn clear(&mut self) {
        let _ = self.advance();
    }
}

/// What is fetched.
type Fetched<R> = (Option<Res<'static, PairStore>>, Option<Res<'static, PairData<R>>>);

/// State of [`PairDeltas`].
#[doc(hidden)]
pub struct PairDeltasState<R: Relation> {
    fetched: <Fetched<R> as SystemParam>::State,
    reader: Reader,
    relation: PhantomData<fn() -> R>,
}

// SAFETY: every access goes through `Fetched`, whose own implementation declares it in `init_access` and performs it in
// `get_param`; the reader is the system's own. Test:
// `deltas_are_read_beside_other_readers_and_not_beside_what_writes_values`.
unsafe impl<R: Relation> SystemParam for PairDeltas<'_, '_, R> {
    type State = PairDeltasState<R>;
    type Item<'w, 's> = PairDeltas<'w, 's, R>;

    fn init_state(world: &mut World) -> Self::State {
        let relation = relation_id::<R>(world);
        let journal = ensure_store(world).keep_journal(relation);
        journal.keep_longer();
        journal.record_replaced_values();
        let (fetched, reader) = (<Fetched<R>>::init_state(world), Reader::default());
        PairDeltasState { fetched, reader, relation: PhantomData }
    }

    fn init_access(state: &Self::State, meta: &mut SystemMeta, access: &mut SystemAccess, world: &mut World) {
        let mut own = SystemAccess::default();
        <Fetched<R>>::init_access(&state.fetched, meta, &mut own, world);
        refuse_conflict::<R>(["PairDeltas", "reads", "writes"], &own, access, meta, world);
        <Fetched<R>>::init_access(&state.fetched, meta, access, world);
    }

    unsafe fn get_param<'w, 's>(
        state: &'s mut Self::State,
        meta: &SystemMeta,
        world: UnsafeWorldCell<'w>,
        tick: Tick,
    ) -> Result<Self::Item<'w, 's>, SystemParamValidationError> {
        // SAFETY: the access was declared by the same parameter in `init_access`, and `world` is the world of this
        // state, as the caller promises.
        let (store, values) = unsafe { <Fetched<R>>::get_param(&mut state.fetched, meta, world, tick)? };
        let (store, values) = (store.map(Res::into_inner), values.map(Res::into_inner));
        Ok(PairDeltas { store, values, reader: &mut state.reader, now: tick })
    }
}

// SAFETY: all of the fetched parameters only read.
unsafe impl<R: Relation> ReadOnlySystemParam for PairDeltas<'_, '_, R> {}

/// The changes of the pairs of all relations, also of those that are known at run time only, since this system last
/// read them: a system parameter.
///
/// As [`PairDeltas`], with these differences: changes come relation by relation, those of each in order; relations that
/// are made later are followed from their first pair; values that are written in place are not reported, only those that
/// are replaced. Tags are no pairs. A relation whose number was given to another, after its despawn, is a [`DeltaGap`]
/// if its last changes had not been read.
///
/// In the book: [Live queries](crate::book::live).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{live::AnyPairDeltas, prelude::*};
///
/// fn log(mut deltas: AnyPairDeltas) {
///     for change in deltas.read_net().into_iter().flatten() {
///         println!("{:?}: ({}, {}) of {}", change.kind, change.relation, change.target, change.source);
///     }
/// }
/// # bevy_ecs::system::assert_is_system(log);
/// ```
///
/// ```
/// # use bevy_ecs::{prelude::*, system::SystemState};
/// # use bevy_relations::{live::AnyPairDeltas, prelude::*};
/// # #[derive(Relation)]
/// # struct DockedTo;
/// # let mut world = World::new();
/// # let [ship, port] = [(); 2].map(|()| world.spawn_empty().id());
/// let mut state: SystemState<AnyPairDeltas> = SystemState::new(&mut world);
/// state.get(&world)?.clear(); // follows from here
/// world.insert_pair(ship, DockedTo, port)?;
/// assert_eq!(state.get(&world)?.read()?.count(), 1);
/// # Ok::<(), BevyError>(())
/// ```
///
/// # Complexity
/// O(relations + changes).
#[derive(SystemParam)]
pub struct AnyPairDeltas<'w, 's> {
    reader: Local<'s, AnyReader>,
    store: Option<Res<'w, PairStore>>,
}

/// How far a system has read the changes of all relations.
struct AnyReader {
    /// By number of the relation: the relation, and how far its changes were read.
    relations: Vec<(Entity, Cursor)>,
    /// Something was read: relations that are unknown are new.
    is_started: bool,
    deltas: Vec<PairDelta>,
    net: NetChanges,
}

impl FromWorld for AnyReader {
    fn from_world(world: &mut World) -> Self {
        use_all_relations(world).follow_all();
        let (deltas, net) = (Vec::new(), NetChanges::default());
        Self { relations: Vec::new(), is_started: false, deltas, net }
    }
}

impl AnyReader {
    fn advance(&mut self, store: Option<&PairStore>, is_net: bool) -> Result<(), DeltaGap> {
        self.deltas.clear();
        let Some(store) = store else {
            self.relations.clear();
            self.is_started = false;
            return Err(DeltaGap { relation: "any relation".into() });
        };
        let mut gap = None;
        for (number, (entry, index)) in store.entries().enumerate() {
            let journal = index.journal();
            let end = journal.map_or_else(Cursor::default, Journal::cursor);
            let start = journal.filter(|_| self.is_started).map(Journal::start);
            if number == self.relations.len() {
                self.relations.push((entry.entity, start.unwrap_or_default()));
            }
            let (relation, cursor) = core::mem::replace(&mut self.relations[number], (entry.entity, end));
            match journal.and_then(|journal| journal.since(cursor)) {
                Some([]) => {}
                Some(changes) if relation == entry.entity && is_net => {
                    self.deltas.extend(self.net.of(changes).map(|change| PairDelta::new(relation, change)));
                }
                Some(changes) if relation == entry.entity => {
                    self.deltas.extend(changes.iter().map(|change| PairDelta::new(relation, change)));
                }
                None if !entry.in_use && index.len() == 0 && journal.is_none() => {}
                _ => gap = Some(DeltaGap { relation: entry.name().to_string() }),
            }
        }
        self.is_started = true;
        gap.map_or(Ok(()), Err)
    }
}

impl AnyPairDeltas<'_, '_> {
    /// Everything that happened since the last read, relation by relation, in order. All of it counts as read.
    ///
    /// # Errors
    /// If that is not known of some relation, or this is the first read. The next one reports what happens from now on.
    pub fn read(&mut self) -> Result<impl Iterator<Item = PairDelta> + use<'_>, DeltaGap> {
        self.reader.advance(self.store.as_deref(), false)?;
        Ok(self.reader.deltas.iter().copied())
    }

    /// The net changes of [`read`](Self::read). See [`PairDeltas::read_net`].
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn read_net(&mut self) -> Result<impl Iterator<Item = PairDelta> + use<'_>, DeltaGap> {
        self.reader.advance(self.store.as_deref(), true)?;
        Ok(self.reader.deltas.iter().copied())
    }

    /// Counts everything as read.
    pub fn clear(&mut self) {
        let _ = self.reader.advance(self.store.as_deref(), false);
    }
}
