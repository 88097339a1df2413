//! The entities that take part in pairs, each with its relations.

use super::{ones, pages::Pages};
use crate::id::RelationId;
use alloc::{collections::BTreeSet, vec::Vec};
use bevy_ecs::entity::{Entity, EntityGeneration, EntityHashMap, EntityIndex};
use core::{iter::Copied, slice};
use smallvec::SmallVec;

/// Relations from this number on share the last bit and are listed apart.
const LAST_BIT: u32 = 63;

/// What is known of an entity that takes part.
#[derive(Clone, Copy, Default)]
struct Record {
    /// The entity's generation in the high half, flags in the low half: one comparison answers most questions.
    head: u64,
    /// A bit per relation in which it is, or was, source or target.
    relations: u64,
}

impl Record {
    #[inline]
    fn is_of(self, entity: Entity) -> bool {
        self.head & LIVE != 0 && self.head >> 32 == generation(entity)
    }

    /// The entity with this index of which it is.
    fn entity(self, index: u32) -> Option<Entity> {
        let generation = EntityGeneration::from_bits((self.head >> 32) as u32);
        let index = EntityIndex::from_raw_u32(index).filter(|_| self.head & LIVE != 0)?;
        Some(Entity::from_index_and_generation(index, generation))
    }

    /// There are relations beyond the bits.
    #[inline]
    fn is_beyond(self) -> bool {
        self.relations >> LAST_BIT & 1 == 1
    }
}

#[inline]
fn generation(entity: Entity) -> u64 {
    u64::from(entity.generation().to_bits())
}

/// The record is in use.
const LIVE: u64 = 1;
/// The entity has the hidden marker component, which vouches for the record.
const MARKED: u64 = 1 << 1;
/// The entity is a relation.
const RELATION: u64 = 1 << 2;
/// The entity stands for a type with fields: pairs that have it as target may carry that type.
const DATA_TARGET: u64 = 1 << 3;
/// Visited by the cascade that is being collected.
const VISITED: u64 = 1 << 4;

/// The bit of a relation in a record; 0 if it is beyond the bits.
pub(crate) fn bit(relation: RelationId) -> u64 {
    if relation.0 < LAST_BIT { 1 << relation.0 } else { 0 }
}

/// Components of the entity are being moved to another, which does not end its pairs.
const MOVED: u64 = 1 << 5;

/// The entity stands for a Rust type.
const TYPE: u64 = 1 << 6;

/// An observer is narrowed to pairs that name the entity.
const NARROWED: u64 = 1 << 7;

/// The marker component is being removed, or was, and a queued command puts it back. Should the entity be despawned
/// before, no hook says so: the command, or the next entity with the same index, ends its pairs.
const STRIPPED: u64 = 1 << 8;

/// The entity is an observer that the store depends on.
const OBSERVER: u64 = 1 << 9;

/// The entity has a tag or is one, or did so once.
const TAGGED: u64 = 1 << 10;

/// Roles with which an entity can get another pair on the fast path.
const PLAIN: u64 = RELATION | VISITED | TYPE | OBSERVER | TAGGED;

/// The roles of every entity.
#[derive(Default)]
pub(crate) struct Participants {
    records: Pages<Record>,
    beyond: Beyond,
    /// How many entities wait for their marker.
    stripped: u32,
    /// An observer that the store depends on is gone.
    observers_lost: bool,
}

/// The entities that take part in relations without a bit in the records.
#[derive(Default)]
struct Beyond {
    /// The relations of each entity, in the order in which they were noted.
    of: EntityHashMap<SmallVec<[RelationId; 4]>>,
    /// A bit per entity index for each relation: says without a look-up that an entity is listed. Pages are small,
    /// since there may be thousands of relations with few entities each.
    bits: Vec<Pages<u64, 16>>,
}

impl Beyond {
    /// The number among [`Self::bits`], the word and the bit for an entity.
    #[inline]
    fn place(entity: Entity, relation: RelationId) -> (usize, u32, u64) {
        let index = entity.index_u32();
        ((relation.0 - LAST_BIT) as usize, index / 64, 1 << (index % 64))
    }

    #[inline]
    fn contains(&self, entity: Entity, relation: RelationId) -> bool {
        let (number, word, bit) = Self::place(entity, relation);
        self.bits.get(number).is_some_and(|bits| bits.get(word) & bit != 0)
    }

    /// Lists a relation that is not listed for the entity.
    fn insert(&mut self, entity: Entity, relation: RelationId) {
        let (number, word, bit) = Self::place(entity, relation);
        if number >= self.bits.len() {
            self.bits.resize_with(number + 1, Pages::default);
        }
        *self.bits[number].get_mut(word) |= bit;
        self.of.entry(entity).or_default().push(relation);
    }

    /// Every relation that is listed, with the index of its entity.
    fn listed(&self) -> BTreeSet<(u32, u32)> {
        let listed =
            self.of.iter().flat_map(|(entity, list)| list.iter().map(|of| (of.0, entity.index_u32())));
        listed.collect()
    }

    /// The same, by the bits.
    fn set(&self) -> BTreeSet<(u32, u32)> {
        let pages = (LAST_BIT..).zip(&self.bits);
        let words =
            pages.flat_map(|(relation, page)| page.iter().map(move |(word, bits)| (relation, word, bits)));
        words
            .flat_map(|(relation, word, bits)| ones(bits).map(move |bit| (relation, word * 64 + bit)))
            .collect()
    }

    /// Removes an entity.
    fn remove(&mut self, entity: Entity) {
        for relation in self.of.remove(&entity).into_iter().flatten() {
            let (number, word, bit) = Self::place(entity, relation);
            *self.bits[number].get_mut(word) &= !bit;
        }
    }
}

impl Participants {
    #[inline]
    fn record(&self, entity: Entity) -> Option<Record> {
        let record = self.records.get(entity.index_u32());
        record.is_of(entity).then_some(record)
    }

    #[inline]
    fn has(&self, entity: Entity, flag: u64) -> bool {
        self.record(entity).is_some_and(|record| record.head & flag != 0)
    }

    /// The relations of an entity that is marked, means nothing to the store beside the pairs that it has, and takes
    /// part in no relation beyond the bits.
    #[inline]
    pub(crate) fn plain_relations(&self, entity: Entity) -> Option<impl Iterator<Item = RelationId> + use<>> {
        let record = self.records.get(entity.index_u32());
        let plain = record.head & !VISITED == generation(entity) << 32 | LIVE | MARKED && !record.is_beyond();
        plain.then(|| ones(record.relations).map(RelationId))
    }

    /// Notes that `entity` takes part in the relation with this [`bit`], if it is known to be alive, and is no
    /// data target; no observer is narrowed to it. False if more has to be done for it to have a pair.
    #[inline]
    pub(crate) fn note_relation_if_ready(&mut self, entity: Entity, relation: RelationId, bit: u64) -> bool {
        let Some(record) = self.records.existing_mut(entity.index_u32()) else { return false };
        let ready = record.head & !PLAIN == generation(entity) << 32 | LIVE | MARKED;
        if ready {
            record.relations |= bit;
            if bit == 0 {
                self.note_relation_beyond(entity, relation);
            }
        }
        ready
    }

    /// Whether [`note_relation_if_ready`](Self::note_relation_if_ready) notes the entity.
    #[inline]
    pub(crate) fn is_ready(&self, entity: Entity) -> bool {
        let record = self.records.get(entity.index_u32());
        record.head & !PLAIN == generation(entity) << 32 | LIVE | MARKED
    }

    /// Notes that an entity takes part in a relation that has no bit.
    #[inline(never)]
    fn note_relation_beyond(&mut self, entity: Entity, relation: RelationId) {
        if !self.beyond.contains(entity, relation) {
            self.records.get_mut(entity.index_u32()).relations |= 1 << LAST_BIT;
            self.beyond.insert(entity, relation);
        }
    }

    /// Whether `entity` is known to be alive and marked.
    #[inline]
    pub(crate) fn is_marked(&self, entity: Entity) -> bool {
        self.has(entity, MARKED)
    }

    pub(crate) fn is_relation(&self, entity: Entity) -> bool {
        self.has(entity, RELATION)
    }

    pub(crate) fn is_type(&self, entity: Entity) -> bool {
        self.has(entity, TYPE)
    }

    #[inline]
    pub(crate) fn is_data_target(&self, entity: Entity) -> bool {
        self.has(entity, DATA_TARGET)
    }

    /// The record of a living entity, made if there is none.
    #[inline]
    fn ensure(&mut self, entity: Entity) -> &mut Record {
        let record = self.records.get_mut(entity.index_u32());
        if !record.is_of(entity) {
            // Entities that were never marked are not removed when they go.
            if record.is_beyond()
                && let Some(old) = record.entity(entity.index_u32())
            {
                self.beyond.remove(old);
            }
            *record = Record { head: generation(entity) << 32 | LIVE, relations: 0 };
        }
        record
    }

    pub(crate) fn set_marked(&mut self, entity: Entity, marked: bool) {
        let record = self.ensure(entity);
        if !marked {
            record.head &= !MARKED;
            return;
        }
        let was_stripped = record.head & STRIPPED != 0;
        record.head = record.head & !STRIPPED | MARKED;
        self.stripped -= u32::from(was_stripped);
    }

    /// Notes that the marker component will be removed and put back.
    pub(crate) fn strip(&mut self, entity: Entity) {
        let record = self.ensure(entity);
        let was_stripped = record.head & STRIPPED != 0;
        record.head |= STRIPPED;
        self.stripped += u32::from(!was_stripped);
    }

    /// Whether the entity waits for its marker.
    pub(crate) fn is_stripped(&self, entity: Entity) -> bool {
        self.stripped > 0 && self.has(entity, STRIPPED)
    }

    /// Whether entities wait for their marker.
    pub(crate) fn any_stripped(&self) -> bool {
        self.stripped > 0
    }

    /// The entities that wait for their marker.
    pub(crate) fn all_stripped(&self) -> Vec<Entity> {
        if self.stripped == 0 {
            return Vec::new();
        }
        let stripped = self.records.iter().filter(|(_, record)| record.head & STRIPPED != 0);
        stripped.filter_map(|(index, record)| record.entity(index)).collect()
    }

    /// An entity that had the index of `entity` and was despawned while it waited for its marker.
    #[inline]
    pub(crate) fn stripped_before(&self, entity: Entity) -> Option<Entity> {
        if self.stripped == 0 {
            return None;
        }
        let record = self.records.get(entity.index_u32());
        let found = record.head & STRIPPED != 0 && !record.is_of(entity);
        let generation = EntityGeneration::from_bits((record.head >> 32) as u32);
        found.then(|| Entity::from_index_and_generation(entity.index(), generation))
    }

    /// Whether the entity means something to the store beside the pairs that it has.
    pub(crate) fn has_role(&self, entity: Entity) -> bool {
        self.has(entity, RELATION | TYPE | DATA_TARGET | NARROWED | OBSERVER)
    }

    /// Makes a living entity known, so that it can be visited.
    pub(crate) fn note(&mut self, entity: Entity) {
        self.ensure(entity);
    }

    pub(crate) fn set_observer(&mut self, entity: Entity) {
        self.ensure(entity).head |= OBSERVER;
    }

    /// Notes that the entity goes: it may be an observer that the store depends on.
    pub(crate) fn lose_observer(&mut self, entity: Entity) {
        self.observers_lost |= self.has(entity, OBSERVER);
    }

    /// Whether an observer that the store depends on is gone, or an entity waits for its marker.
    #[inline]
    pub(crate) fn needs_repair(&self) -> bool {
        self.observers_lost || self.stripped > 0
    }

    /// Notes that observers that the store depends on are to be spawned again.
    pub(crate) fn note_lost_observers(&mut self) {
        self.observers_lost = true;
    }

    /// Clears that observers are gone: they are about to come back.
    pub(crate) fn clear_lost_observers(&mut self) {
        self.observers_lost = false;
    }

    pub(crate) fn set_relation(&mut self, entity: Entity, is_relation: bool) {
        let record = self.ensure(entity);
        if is_relation {
            record.head |= RELATION;
        } else {
            record.head &= !RELATION;
        }
    }

    /// Notes that the entity has a tag or is one.
    pub(crate) fn set_tagged(&mut self, entity: Entity) {
        self.ensure(entity).head |= TAGGED;
    }

    /// Whether the entity has a tag or is one, or did so once.
    #[inline]
    pub(crate) fn is_tagged(&self, entity: Entity) -> bool {
        self.has(entity, TAGGED)
    }

    pub(crate) fn set_type(&mut self, entity: Entity) {
        self.ensure(entity).head |= TYPE;
    }

    pub(super) fn set_narrowed(&mut self, entity: Entity) {
        self.ensure(entity).head |= NARROWED;
    }

    pub(crate) fn is_narrowed(&self, entity: Entity) -> bool {
        self.has(entity, NARROWED)
    }

    pub(crate) fn set_moved(&mut self, entity: Entity) {
        if self.record(entity).is_some() {
            self.ensure(entity).head |= MOVED;
        }
    }

    /// Whether the entity was noted by [`set_moved`](Self::set_moved) since the last call.
    pub(crate) fn take_moved(&mut self, entity: Entity) -> bool {
        let record = self.ensure(entity);
        let moved = record.head & MOVED != 0;
        record.head &= !MOVED;
        moved
    }

    pub(crate) fn set_data_target(&mut self, entity: Entity) {
        self.ensure(entity).head |= DATA_TARGET;
    }

    /// Notes that the entity takes part in a relation.
    #[inline]
    pub(crate) fn note_relation(&mut self, entity: Entity, relation: RelationId) {
        self.ensure(entity).relations |= bit(relation);
        if relation.0 >= LAST_BIT {
            self.note_relation_beyond(entity, relation);
        }
    }

    /// The relations in which the entity takes part, or took part once.
    #[inline]
    pub(crate) fn relations(&self, entity: Entity) -> RelationsOf<'_> {
        let bits = self.record(entity).map_or(0, |record| record.relations);
        let beyond = if bits >> LAST_BIT & 1 == 1 { self.beyond.of.get(&entity) } else { None };
        let beyond = beyond.map_or(&[][..], |relations| relations);
        EntityRelationIter { bits: bits & !(1 << LAST_BIT), beyond: beyond.iter().copied() }
    }

    /// [`relations`](Self::relations) for callers that change the store meanwhile.
    #[inline]
    pub(crate) fn detached_relations(
        &self,
        entity: Entity,
    ) -> EntityRelationIter<impl Iterator<Item = RelationId> + use<>> {
        let EntityRelationIter { bits, beyond } = self.relations(entity);
        EntityRelationIter { bits, beyond: beyond.collect::<SmallVec<[RelationId; 4]>>().into_iter() }
    }

    /// Removes an entity that goes.
    #[inline]
    pub(crate) fn remove(&mut self, entity: Entity) {
        if let Some(record) = self.records.existing_mut(entity.index_u32())
            && record.is_of(entity)
        {
            if record.is_beyond() {
                self.beyond.remove(entity);
            }
            self.stripped -= u32::from(record.head & STRIPPED != 0);
            *record = Record::default();
        }
    }

    /// An entity of which something wrong is noted, and what, for the invariant checker. `is_marked` says whether an
    /// entity is alive and has the marker.
    pub(super) fn fault(&self, is_marked: impl Fn(Entity) -> bool) -> Option<(Entity, &'static str)> {
        let wrong = self.records.iter().find_map(|(index, record)| {
            let entity = record.entity(index)?;
            if record.head & VISITED != 0 {
                return Some((entity, "a visit is left over"));
            }
            if record.head & MARKED != 0 && !is_marked(entity) {
                return Some((entity, "it is noted as marked, but is not"));
            }
            let unnoticed = record.head & (RELATION | TYPE) != 0 && record.head & (MARKED | STRIPPED) == 0;
            unnoticed.then_some((entity, "it stands for a relation or type, and is not marked"))
        });
        wrong.or_else(|| {
            let known = |entity| self.record(entity).is_some_and(Record::is_beyond);
            let mut beyond = self.beyond.of.keys().copied();
            Some((beyond.find(|&entity| !known(entity))?, "its relations are left over"))
        });
        wrong.or_else(|| {
            let differing = self.beyond.listed().symmetric_difference(&self.beyond.set()).next().copied();
            let index = EntityIndex::from_raw_u32(differing?.1)?;
            Some((Entity::from_index(index), "its relations are not those of its bits"))
        })
    }

    /// Notes a visit, until [`unvisit`](Self::unvisit); true if it is the first. An entity that is not known,
    /// and may be dead, is not visited.
    #[inline]
    pub(crate) fn visit(&mut self, entity: Entity) -> bool {
        let Some(record) = self.records.existing_mut(entity.index_u32()) else { return false };
        let first = record.is_of(entity) && record.head & VISITED == 0;
        if first {
            record.head |= VISITED;
        }
        first
    }

    #[inline]
    pub(crate) fn unvisit(&mut self, entity: Entity) {
        if let Some(record) = self.records.existing_mut(entity.index_u32()) {
            record.head &= !VISITED;
        }
    }
}

/// The relations of an entity, in the records of the store.
pub(crate) type RelationsOf<'w> = EntityRelationIter<Copied<slice::Iter<'w, RelationId>>>;

/// Iterator over relations: those with a bit, then the others.
#[derive(Clone)]
pub(crate) struct EntityRelationIter<I> {
    bits: u64,
    beyond: I,
}

impl<I> EntityRelationIter<I> {
    /// The same and a relation that has a bit, in its place.
    pub(crate) fn with(self, relation: RelationId) -> Self {
        Self { bits: self.bits | bit(relation), ..self }
    }
}

impl<I: Iterator<Item = RelationId>> Iterator for EntityRelationIter<I> {
    type Item = RelationId;

    #[inline]
    fn next(&mut self) -> Option<RelationId> {
        if self.bits == 0 {
            return self.beyond.next();
        }
        let bit = self.bits.trailing_zeros();
        self.bits &= self.bits - 1;
        Some(RelationId(bit))
    }
}
