//! The pair store: every pair of a world, in one resource beside Bevy's own storage.
//!
//! For each relation there is a *forward* index (from a source to its targets) and a *reverse* index (from a
//! target to its sources). The two always mirror each other; a pair stores its place in both, so that
//! linking and unlinking cost the same however many sources a target has. Values live in [columns](mod@column). Traits
//! change rules, never storage: what a query returns does not depend on the layout.
//!
//! This layer keeps the indices consistent and applies no rules: which pairs may be inserted, what their companions
//! are and which events are triggered is decided in [`ops`](crate::ops). Its `PairWriter` is the only caller of what
//! changes pairs.
//!
//! # Invariants
//!
//! [`PairStore::check`] verifies, by name: *Mirror*, *Exclusive*, *Symmetric*, *Alive*, *Acyclic*, *Depth*,
//! *Data*, *Roles*, *Lists*, *Journal*, *Adopted*, *Table*. What belongs to `ops` is checked there: *Cascade*, *Watched*; *Islands* in
//! `islands`.

mod bits;
mod check;
mod column;
mod depth;
mod depth_reader;
mod fast_path;
mod first_target;
mod forward;
mod hash_index;
mod index;
mod journal;
mod mirrors;
mod net_changes;
mod orphans;
mod pages;
mod pair_reader;
mod participants;
mod reverse;
mod tags;
mod target_components;
mod ticks;
mod tombstones;
mod unchecked;
mod values_mut;

pub use check::{Invariant, PairInvariantError};
pub use forward::TargetIter;
pub use journal::PairDeltaKind;
pub use reverse::SourceIter;
pub use ticks::PairTicks;

pub(crate) use bits::{BitSet, ones};
pub(crate) use column::{PairData, component_label, type_ref, unpack};
pub(crate) use depth_reader::DepthReader;
pub(crate) use fast_path::{Affected, FastPathFlags, ObserverState};
pub(crate) use first_target::{
    FirstTarget, StaleSource, TableComponent, TableComponents, register_target_component,
};
pub(crate) use forward::{ExclusiveReader, NO_ROW, Reader, TargetBlock, Upward};
pub(crate) use hash_index::HashIndex;
pub(crate) use index::RelationIndex;
pub(crate) use journal::{Change, Cursor, Journal};
pub(crate) use net_changes::NetChanges;
pub(crate) use pages::Pages;
pub(crate) use pair_reader::PairReader;
pub(crate) use participants::{Participants, RelationsOf};
pub(crate) use reverse::ListIter;
pub(crate) use ticks::TickChecks;
pub(crate) use unchecked::{UncheckedPair, UncheckedPairs};
pub(crate) use values_mut::ValuesMut;

use crate::{
    id::{RelationId, StoredPair},
    relation::{
        BUILT_INS, CHILD_OF, CleanupPolicy, ColumnRef, Registry, RelationEntry, RelationTraits, TypeRef,
        UpdateMirror,
    },
};
use alloc::vec::Vec;
use bevy_ecs::{
    change_detection::{CheckChangeTicks, Tick},
    entity::Entity,
    resource::Resource,
};
use core::{
    any::TypeId,
    sync::atomic::{AtomicUsize, Ordering},
};
use smallvec::SmallVec;

/// Identifies a store, also among those that one world has one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StoreId(usize);

impl Default for StoreId {
    fn default() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Every pair of a world.
#[derive(Resource, Default)]
pub(crate) struct PairStore {
    id: StoreId,
    registry: Registry,
    /// By [`RelationId`], in parallel with the registry's entries.
    relations: Vec<RelationIndex>,
    /// See [`tags`](Self::tags).
    tags: RelationIndex,
    participants: Participants,
    observers: ObserverState,
    /// Some relation refuses the despawn of its targets.
    targets_refuse: bool,
    /// See [`set_writing`](Self::set_writing).
    writing: Option<ComponentWrite>,
    /// See [`note_copying`](Self::note_copying).
    copying: SmallVec<[StoredPair; 1]>,
    /// The columns with values that were removed and are still to be dropped.
    removed: SmallVec<[ColumnRef; 1]>,
    /// They are not to be dropped yet.
    keeps_removed: bool,
    /// Targets that have lost their last source.
    orphans: orphans::Orphans,
    /// Pairs whose ends are still to be looked at.
    unchecked: UncheckedPairs,
    child_index: ChildIndex,
    /// A reader follows the pairs of every relation, including those that are registered later.
    follows_all: bool,
    tick_checks: TickChecks,
    /// See [`first_target`].
    tables: TableComponents,
    /// Relations that are mirrored and have changed. See [`mirrors`].
    stale_mirrors: SmallVec<[(RelationId, UpdateMirror); 1]>,
}

/// A plan is writing the component that keeps a pair.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ComponentWrite {
    pub(crate) pair: StoredPair,
    /// The pair is there and stays: only its value is replaced.
    pub(crate) replaced: bool,
}

/// Whether the pairs of `ChildOf` are in the store.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum ChildIndex {
    /// They were not used yet: they are read from Bevy's components.
    None,
    /// What is there is being imported.
    Importing,
    /// The store follows the components.
    #[default]
    Kept,
}

impl PairStore {
    /// A store without pairs, in which the numbers of built-in relations are taken.
    pub(crate) fn with_built_ins() -> Self {
        let traits = RelationTraits::new();
        let relations =
            (0..BUILT_INS).map(|id| RelationIndex::new(&traits, participants::bit(RelationId(id as u32))));
        Self { relations: relations.collect(), ..Self::default() }
    }

    /// Whether the pairs of `ChildOf` are not in the store, but in Bevy's components alone.
    #[inline]
    pub(crate) fn lacks_children(&self) -> bool {
        self.child_index == ChildIndex::None
    }

    /// [`lacks_children`](Self::lacks_children), if `relation` is `ChildOf`.
    #[inline]
    pub(crate) fn lacks_pairs_of(&self, relation: RelationId) -> bool {
        relation == CHILD_OF && self.lacks_children()
    }

    #[inline]
    pub(crate) fn child_index(&self) -> ChildIndex {
        self.child_index
    }

    /// Notes whether the pairs of `ChildOf` are in the store: only then may they take the fast path.
    pub(crate) fn set_child_index(&mut self, child_index: ChildIndex) {
        self.child_index = child_index;
        if self.registry.get(CHILD_OF).is_some() {
            self.refresh_fast_path(CHILD_OF);
        }
    }

    /// What is known of the relations, apart from their pairs.
    #[inline]
    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// [`registry`](Self::registry), to change it. The only callers are in `ops`.
    #[inline]
    pub(crate) fn registry_mut(&mut self) -> &mut Registry {
        &mut self.registry
    }

    /// The roles of the entities that take part.
    #[inline]
    pub(crate) fn participants(&self) -> &Participants {
        &self.participants
    }

    /// [`participants`](Self::participants), to change it. The only callers are in `ops`.
    #[inline]
    pub(crate) fn participants_mut(&mut self) -> &mut Participants {
        &mut self.participants
    }

    #[inline]
    pub(crate) fn id(&self) -> StoreId {
        self.id
    }

    /// Number of pairs of all relations, without tags.
    pub(crate) fn pair_count(&self) -> usize {
        self.relations.iter().map(RelationIndex::len).sum()
    }

    /// What is known of each relation, with its pairs; also of those that are gone.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&RelationEntry, &RelationIndex)> + Clone {
        self.registry.entries().zip(&self.relations)
    }

    /// Starts to keep ticks of a relation. Pairs that exist count as inserted at `tick`.
    pub(crate) fn track_changes(&mut self, id: RelationId, tick: Tick) {
        self.relation_mut(id).track(tick);
    }

    /// Keeps old ticks of pairs from seeming new once the world's counter wraps around.
    pub(crate) fn clamp_ticks(&mut self, check: CheckChangeTicks) {
        self.tick_checks.increment();
        self.relations.iter_mut().for_each(|index| index.clamp_ticks(check));
    }

    /// How often old ticks were clamped.
    pub(crate) fn tick_checks(&self) -> TickChecks {
        self.tick_checks
    }

    #[inline]
    pub(crate) fn relation(&self, id: RelationId) -> &RelationIndex {
        &self.relations[id.index()]
    }

    /// The other direction of a pair, if it has one: its relation is symmetric, and its ends differ.
    #[inline]
    pub(crate) fn mirror_of(&self, pair: StoredPair) -> Option<StoredPair> {
        let has_mirror = pair.source != pair.target && self.relation(pair.relation).is_symmetric();
        has_mirror.then(|| pair.mirror())
    }

    /// A pair, and its other direction if it has one.
    #[inline]
    pub(crate) fn both_ways(&self, pair: StoredPair) -> impl Iterator<Item = StoredPair> + use<> {
        [Some(pair), self.mirror_of(pair)].into_iter().flatten()
    }

    /// Whether a living source has to be compared with the one that its slot of the forward index is of. As a rule not, since no
    /// pair names a dead entity (*Alive*). But that is put right with a delay where markers were taken away, or where components
    /// keep the pairs: they are watched by observers, which a user may despawn.
    #[inline]
    pub(crate) fn compares(&self, id: RelationId) -> bool {
        self.participants.any_stripped() || self.registry.entry(id).adopted.is_some()
    }

    #[inline]
    pub(in crate::store) fn relation_mut(&mut self, id: RelationId) -> &mut RelationIndex {
        &mut self.relations[id.index()]
    }

    /// The pairs of a relation and the roles of entities, to change them. The only caller is `PairWriter`.
    #[inline]
    pub(crate) fn write_access(&mut self, id: RelationId) -> (&mut RelationIndex, &mut Participants) {
        (&mut self.relations[id.index()], &mut self.participants)
    }

    /// The journal of a relation, which is kept from now on.
    pub(crate) fn keep_journal(&mut self, id: RelationId) -> &mut Journal {
        self.relation_mut(id).journal.get_or_insert_default()
    }

    /// Keeps the journals of all relations from now on, for readers that may be late, with the values that are replaced.
    pub(crate) fn follow_all(&mut self) {
        self.follows_all = true;
        self.relations.iter_mut().for_each(RelationIndex::follow);
    }

    /// Creates the index of a relation from the traits that decide its layout. If there is one, it has no pairs, and its journal
    /// and whether it keeps ticks are taken over.
    pub(crate) fn create_index(&mut self, id: RelationId) {
        if id.index() < self.relations.len() {
            self.release_table_component(id);
        }
        let mut index = RelationIndex::new(&self.registry.entry(id).traits, participants::bit(id));
        self.targets_refuse |= index.target_policy() == CleanupPolicy::Refuse;
        match self.relations.get_mut(id.index()) {
            Some(old) => {
                index.version = old.version + 1;
                index.reverse.extras.ticks = old.reverse.extras.ticks;
                index.journal = old.journal.take();
                *old = index;
            }
            None => {
                debug_assert_eq!(id.index(), self.relations.len(), "numbers are dense");
                self.relations.push(index);
            }
        }
        if self.follows_all {
            self.relation_mut(id).follow();
        }
        self.refresh_fast_path(id);
    }

    /// Freezes the traits of a relation that is being used.
    pub(crate) fn freeze(&mut self, id: RelationId) {
        let entry = self.registry.entry_mut(id);
        if !entry.frozen {
            entry.frozen = true;
            self.refresh_fast_path(id);
        }
    }

    /// What values a pair carries, by the rules of which the first that applies counts: the relation says so; it
    /// is declared a tag; the target stands for a type with fields. Both directions of a symmetric pair carry
    /// the same, that of the end that has one. See [`value_types_differ`](Self::value_types_differ) for two.
    pub(crate) fn column_of(&self, id: RelationId, source: Entity, target: Entity) -> Option<ColumnRef> {
        let entry = self.registry.entry(id);
        if !entry.leaves_values() {
            return entry.data;
        }
        let of_target = self.column_of_type_entity(target);
        if !entry.traits.is_symmetric() {
            return of_target;
        }
        match (of_target, self.column_of_type_entity(source)) {
            (Some(one), Some(other)) if one != other => None,
            (of_target, of_source) => of_target.or(of_source),
        }
    }

    /// Whether the directions of a pair would carry values of two types: its relation is symmetric, and leaves the values to the
    /// ends. There is one value for both directions, so such a pair is refused.
    pub(crate) fn value_types_differ(&self, id: RelationId, [source, target]: [Entity; 2]) -> bool {
        let entry = self.registry.entry(id);
        let columns = || Some([self.column_of_type_entity(source)?, self.column_of_type_entity(target)?]);
        entry.traits.is_symmetric()
            && entry.leaves_values()
            && columns().is_some_and(|[one, other]| one != other)
    }

    /// Whether there are pairs that carry values or none because of what is known of this end: that cannot change while they
    /// are there.
    pub(crate) fn has_pairs_by_type(&self, end: Entity) -> bool {
        self.participants.relations(end).any(|id| {
            let (entry, index) = (self.registry.entry(id), self.relation(id));
            let is_end = index.is_target(end) || (entry.traits.is_symmetric() && index.has_any(end));
            is_end && entry.leaves_values()
        })
    }

    /// Notes that a value of this kind was removed or replaced.
    pub(crate) fn note_removed(&mut self, column: ColumnRef) {
        if column.needs_drop() && !self.removed.contains(&column) {
            self.removed.push(column);
        }
    }

    /// Whether removed values are to be dropped now.
    #[inline]
    pub(crate) fn has_removed_values(&self) -> bool {
        !self.keeps_removed && !self.removed.is_empty()
    }

    /// The next column with values that are to be dropped now.
    pub(crate) fn next_removed(&mut self) -> Option<ColumnRef> {
        if self.keeps_removed { None } else { self.removed.pop() }
    }

    /// Keeps removed values until this is called with `false`.
    pub(crate) fn keep_removed_values(&mut self, keep: bool) {
        self.keeps_removed = keep;
    }

    /// Notes what a plan is writing, until the observers of the component have run.
    pub(crate) fn set_writing(&mut self, writing: Option<ComponentWrite>) {
        self.writing = writing;
    }

    /// Whether the component that keeps the pair of `source` is being replaced by another with the same target.
    #[inline]
    pub(crate) fn is_replacing(&self, source: Entity) -> bool {
        self.writing.is_some_and(|write| write.replaced && write.pair.source == source)
    }

    /// Notes that the component of a pair is about to be copied: companions that there are to be are copied by themselves.
    pub(crate) fn note_copying(&mut self, pair: StoredPair) {
        self.copying.push(pair);
    }

    /// The components of the copy are there.
    pub(crate) fn end_copying(&mut self, copy: Entity) {
        self.copying.retain(|pair| pair.source != copy);
    }

    /// Whether the component of a new pair is being written by a plan, which has the companions of the pair, too; or is a copy.
    pub(crate) fn is_planned(&self, pair: StoredPair) -> bool {
        self.writing == Some(ComponentWrite { pair, replaced: false }) || self.copying.contains(&pair)
    }

    /// The number of rows that pairs may name in the column of a type.
    fn rows_of(&self, type_id: TypeId) -> u32 {
        let entries = self.registry.entries().zip(&self.relations);
        let may_have =
            entries.filter(|(entry, _)| entry.data.is_none_or(|data| data.value_type() == type_id));
        let mut count = 0;
        may_have.for_each(|(_, index)| index.for_each_row(|_, _, row| count = count.max(row + 1)));
        count
    }

    /// The values of the type that `entity` stands for.
    pub(crate) fn column_of_type_entity(&self, entity: Entity) -> Option<ColumnRef> {
        if !self.participants.is_data_target(entity) {
            return None;
        }
        let type_id = self.registry.type_of(entity)?;
        match self.registry.of_type_id(type_id) {
            Some(relation) => self.registry.entry(relation).data,
            None => self.registry.type_entry(type_id)?.data,
        }
    }

    /// Every entity that stands for a type, in no particular order, with what another world has to know of the type.
    pub(crate) fn type_entities(&self) -> impl Iterator<Item = (Entity, TypeRef)> + use<'_> {
        self.registry.type_entities().map(|(entity, id, register)| {
            // Not the values of its own pairs: those are a trait, which each world declares for itself.
            let data = self.column_of_type_entity(entity);
            (entity, TypeRef { register, data, ..TypeRef::of_id(id) })
        })
    }

    /// Maintenance, once per frame: recomputes outdated depths, drops old changes, compacts lists.
    pub(crate) fn maintain(&mut self) {
        for index in self.relations.iter_mut().chain([&mut self.tags]) {
            index.forward.compact();
            if let Some(journal) = &mut index.journal {
                journal.update();
            }
            if let Some(depths) = &mut index.depths {
                depths.recompute(&index.forward, &index.reverse);
            }
        }
    }

    /// Whether a cleanup policy may stand in the way of a despawn of `entity`.
    #[inline]
    pub(crate) fn may_refuse(&self, entity: Entity) -> bool {
        let participants = &self.participants;
        self.targets_refuse || participants.has_role(entity) || participants.is_tagged(entity)
    }

    /// Whether the despawn of `entity` must be noticed.
    pub(crate) fn needs_marker(&self, entity: Entity) -> bool {
        let has_pairs = |id: RelationId| {
            let index = self.relation(id);
            index.has_any(entity) || index.reverse.list(entity).is_some()
        };
        self.participants.has_role(entity)
            || self.has_tags(entity)
            || self.participants.relations(entity).any(has_pairs)
    }

    /// The relations in which `entity` has pairs as a source.
    pub(crate) fn relations_of(&self, entity: Entity) -> impl Iterator<Item = RelationId> + use<'_> {
        let relations = self.participants.relations(entity);
        relations.filter(move |&id| self.relation(id).has_any(entity))
    }
}
