//! Who takes part in pairs, and in which relations.

use super::pages::Pages;
use crate::id::RelationId;
use bevy_ecs::entity::{Entity, EntityHashMap};
use smallvec::SmallVec;

/// Relations from this number on share the last bit and are listed apart.
const LAST_BIT: u32 = 63;

/// What is known of an entity that takes part.
#[derive(Clone, Copy, Default)]
struct Record {
    generation: u32,
    flags: u32,
    /// A bit per relation in which it is, or was, source or target.
    relations: u64,
}

/// The record is in use.
const LIVE: u32 = 1;
/// The entity has the hidden marker component, which vouches for the record.
const MARKED: u32 = 1 << 1;
/// The entity is a relation.
const RELATION: u32 = 1 << 2;
/// The entity stands for a type with fields: pairs that have it as target may carry that type.
const DATA_TARGET: u32 = 1 << 3;
/// Visited by the cascade that is being collected.
const VISITED: u32 = 1 << 4;

/// The roles of every entity.
#[derive(Default)]
pub(crate) struct Participants {
    records: Pages<Record>,
    /// Relations beyond the bits.
    overflow: EntityHashMap<SmallVec<[RelationId; 4]>>,
}

impl Participants {
    #[inline]
    fn record(&self, entity: Entity) -> Option<Record> {
        let record = self.records.get(entity.index_u32());
        (record.flags & LIVE != 0 && record.generation == entity.generation().to_bits()).then_some(record)
    }

    fn has(&self, entity: Entity, flag: u32) -> bool {
        self.record(entity).is_some_and(|record| record.flags & flag != 0)
    }

    /// Notes that `entity` takes part in `relation`, if it is known to be alive, and is no data target. False if
    /// more has to be done for it to have a pair.
    #[inline]
    pub(crate) fn join_if_ready(&mut self, entity: Entity, relation: RelationId) -> bool {
        let Some(record) = self.records.existing_mut(entity.index_u32()) else { return false };
        let ready = record.generation == entity.generation().to_bits()
            && record.flags & (LIVE | MARKED | DATA_TARGET) == LIVE | MARKED
            && relation.0 < LAST_BIT;
        if ready {
            record.relations |= 1 << relation.0;
        }
        ready
    }

    /// Whether `entity` is known to be alive and marked.
    #[inline]
    pub(crate) fn is_marked(&self, entity: Entity) -> bool {
        self.has(entity, MARKED)
    }

    pub(crate) fn is_relation(&self, entity: Entity) -> bool {
        self.has(entity, RELATION)
    }

    #[inline]
    pub(crate) fn is_data_target(&self, entity: Entity) -> bool {
        self.has(entity, DATA_TARGET)
    }

    /// The record of a living entity, made if there is none.
    #[inline]
    fn ensure(&mut self, entity: Entity) -> &mut Record {
        let record = self.records.get_mut(entity.index_u32());
        let generation = entity.generation().to_bits();
        if record.flags & LIVE == 0 || record.generation != generation {
            *record = Record { generation, flags: LIVE, relations: 0 };
        }
        record
    }

    pub(crate) fn set_marked(&mut self, entity: Entity, marked: bool) {
        let record = self.ensure(entity);
        if marked {
            record.flags |= MARKED;
        } else {
            record.flags &= !MARKED;
        }
    }

    pub(crate) fn set_relation(&mut self, entity: Entity) {
        self.ensure(entity).flags |= RELATION;
    }

    pub(crate) fn set_data_target(&mut self, entity: Entity) {
        self.ensure(entity).flags |= DATA_TARGET;
    }

    /// Notes that the entity takes part in a relation.
    #[inline]
    pub(crate) fn join(&mut self, entity: Entity, relation: RelationId) {
        self.ensure(entity).relations |= 1 << relation.0.min(LAST_BIT);
        if relation.0 >= LAST_BIT {
            let list = self.overflow.entry(entity).or_default();
            if !list.contains(&relation) {
                list.push(relation);
            }
        }
    }

    /// The relations in which the entity takes part, or took part once.
    pub(crate) fn relations(&self, entity: Entity) -> Relations {
        let bits = self.record(entity).map_or(0, |record| record.relations);
        let overflow = if bits >> LAST_BIT & 1 == 1 { self.overflow.get(&entity).cloned() } else { None };
        Relations { bits: bits & !(1 << LAST_BIT), overflow: overflow.unwrap_or_default() }
    }

    /// Forgets an entity that goes.
    #[inline]
    pub(crate) fn forget(&mut self, entity: Entity) {
        if let Some(record) = self.records.existing_mut(entity.index_u32())
            && record.generation == entity.generation().to_bits()
        {
            if record.relations >> LAST_BIT & 1 == 1 {
                self.overflow.remove(&entity);
            }
            *record = Record::default();
        }
    }

    /// Notes a visit, until [`unvisit`](Self::unvisit); true if it is the first. An entity that is not known,
    /// and may be dead, is not visited.
    #[inline]
    pub(crate) fn visit(&mut self, entity: Entity) -> bool {
        let Some(record) = self.records.existing_mut(entity.index_u32()) else { return false };
        let known = record.flags & LIVE != 0 && record.generation == entity.generation().to_bits();
        let first = known && record.flags & VISITED == 0;
        if first {
            record.flags |= VISITED;
        }
        first
    }

    #[inline]
    pub(crate) fn unvisit(&mut self, entity: Entity) {
        if let Some(record) = self.records.existing_mut(entity.index_u32()) {
            record.flags &= !VISITED;
        }
    }
}

/// Iterator over relations, lowest number first.
#[derive(Clone)]
pub(crate) struct Relations {
    bits: u64,
    overflow: SmallVec<[RelationId; 4]>,
}

impl Iterator for Relations {
    type Item = RelationId;

    #[inline]
    fn next(&mut self) -> Option<RelationId> {
        if self.bits != 0 {
            let bit = self.bits.trailing_zeros();
            self.bits &= self.bits - 1;
            return Some(RelationId(bit));
        }
        if self.overflow.is_empty() { None } else { Some(self.overflow.remove(0)) }
    }
}
