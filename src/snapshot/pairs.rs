//! What a snapshot holds.

use super::filter::PairFilter;
use crate::{
    id::RelationId,
    relation::{BoxedValue, ColumnRef, RegisterFn, RelationName, TypeRef},
    store::{StoreId, TickChecks},
};
use alloc::{string::String, vec::Vec};
use bevy_ecs::{
    change_detection::Tick,
    entity::{Entity, EntityHashMap},
    world::WorldId,
};
use core::any::TypeId;

/// The index that no entity ever has. Values that name none may have it, so that it stays what it is; in a save it is the number
/// of what is dead.
pub(super) const NO_INDEX: u32 = u32::MAX - 1;

/// The pairs of a world, or some of them, as they were at one moment: with their values, the order of each source's
/// targets, and that of each target's sources in `ordered` relations and [`ChildOf`](bevy_ecs::hierarchy::ChildOf).
///
/// It holds pairs and nothing else: no entities, no components (other than adopted relationships), and no
/// [tags](crate::WorldPairExt::insert_tag). It refers to entities by their id.
///
/// In the book: [Saves and scenes](crate::book::saves).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, snapshot::{PairFilter, PairSnapshot}};
///
/// #[derive(Relation)]
/// #[relation(exclusive)]
/// struct StandsOn;
///
/// let mut world = World::new();
/// let [king, e1, e2] = [(); 3].map(|()| world.spawn_empty().id());
/// world.insert_pair(king, StandsOn, e1)?;
/// let before = PairSnapshot::take(&mut world, PairFilter::none().relation::<StandsOn>())?;
/// assert!(before.len() == 1 && !before.is_empty());
///
/// world.insert_pair(king, StandsOn, e2)?;
/// before.apply(&mut world)?; // undo
/// assert!(world.has_pair::<StandsOn>(king, e1));
/// # Ok::<(), BevyError>(())
/// ```
pub struct PairSnapshot {
    pub(super) world: WorldId,
    pub(super) filter: PairFilter,
    pub(super) store: StoreId,
    /// What was written by this tick is in it.
    pub(super) taken: Tick,
    pub(super) tick_checks: TickChecks,
    pub(super) relations: Vec<RelationPairs>,
    /// The entities that stood for types.
    pub(super) types: EntityHashMap<TypeRef>,
    /// For the next time.
    pub(super) ids: Vec<RelationId>,
    pub(super) sources: Vec<Entity>,
}

/// The pairs of one relation.
pub(super) struct RelationPairs {
    pub(super) id: RelationId,
    pub(super) entity: Entity,
    pub(super) type_id: Option<TypeId>,
    pub(super) register: Option<RegisterFn>,
    pub(super) name: RelationName,
    /// If it was the slot of a prefab: its path when it was seen first.
    pub(super) slot: Option<String>,
    /// That of the index when the pairs were read.
    pub(super) version: u64,
    /// Source by source, in order of their indices; the targets in their order.
    pub(super) pairs: Vec<(Entity, Entity)>,
    /// In parallel with the pairs, or empty if they have no values. A symmetric pair has its value in one direction.
    pub(super) values: Vec<Option<KeptValue>>,
    pub(super) orders: Orders,
}

/// The value of a pair.
pub(super) struct KeptValue {
    pub(super) column: ColumnRef,
    /// Where it lay, if not in a component.
    pub(super) row: Option<u32>,
    pub(super) value: BoxedValue,
}

/// The orders of the sources of targets.
#[derive(Default)]
pub(super) struct Orders {
    /// Each target with the place behind its last source.
    pub(super) targets: Vec<(Entity, usize)>,
    pub(super) sources: Vec<Entity>,
}

impl Orders {
    pub(super) fn clear(&mut self) {
        self.targets.clear();
        self.sources.clear();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Entity, &[Entity])> {
        let mut start = 0;
        self.targets.iter().map(move |&(target, end)| {
            let sources = &self.sources[start..end];
            start = end;
            (target, sources)
        })
    }
}

/// By which entities are ordered: their index, then their generation.
pub(super) fn key(entity: Entity) -> (u32, u32) {
    (entity.index_u32(), entity.generation().to_bits())
}

impl PairSnapshot {
    /// Number of pairs. Those of symmetric relations count in both directions.
    pub fn len(&self) -> usize {
        self.relations.iter().map(|relation| relation.pairs.len()).sum()
    }

    /// Whether there are no pairs in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl core::fmt::Debug for PairSnapshot {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut map = f.debug_map();
        for relation in &self.relations {
            map.entry(&format_args!("{}", relation.name), &relation.pairs);
        }
        map.finish()
    }
}
