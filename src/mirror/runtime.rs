//! The component that shows the pairs of run-time relations.

use super::{component::MirroredTarget, value::ReflectedValue};
use alloc::{string::String, vec::Vec};
use bevy_ecs::entity::{Entity, EntityMapper};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

/// The pairs that its entity has of all relations created at run time, as a component. See the [module](crate::mirror).
///
/// A relation created at run time is an entity that does not stand for a Rust type, such as one of
/// [`spawn_relation`](crate::WorldPairExt::spawn_relation). Those that are `transient` are left out.
///
/// It is immutable: insert it again to change the pairs.
///
/// In the book: [Networking](crate::book::network).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{mirror::*, prelude::*};
///
/// let mut world = World::new();
/// world.mirror_runtime_pairs();
/// let rival = world.spawn_relation("rival of", RelationTraits::new())?;
/// let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
/// world.insert_pair_by_id(ann, (rival, ben))?;
/// let saved = world.get::<RuntimeMirroredPairs>(ann).unwrap().clone();
/// assert_eq!(saved.pairs[0].relation.name.as_deref(), Some("rival of"));
///
/// world.entity_mut(ann).remove::<RuntimeMirroredPairs>();
/// assert!(!world.has_pair_by_id(ann, (rival, ben)));
/// world.entity_mut(ann).insert(saved);
/// assert!(world.has_pair_by_id(ann, (rival, ben)));
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Reflect, Clone, PartialEq, Default, Debug)]
#[reflect(Clone, PartialEq, Default, Debug)]
#[type_path = "bevy_relations::mirror"]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
pub struct RuntimeMirroredPairs {
    /// The pairs, relation by relation, in the order of the targets.
    pub pairs: Vec<RuntimeMirroredPair>,
}

/// A pair of [`RuntimeMirroredPairs`].
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{mirror::*, prelude::*};
/// # let mut world = World::new();
/// # let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
/// # world.mirror_runtime_pairs();
/// let owes = world.spawn_relation("Owes", RelationTraits::new().data::<u32>())?;
/// let debt = RuntimeMirroredPair::new(owes, ben).with_value(7_u32);
/// let value: &ReflectedValue = debt.value.as_ref().unwrap();
/// assert_eq!(value.get().try_downcast_ref::<u32>(), Some(&7));
/// world.entity_mut(ann).insert(RuntimeMirroredPairs::from_iter([debt]));
/// assert_eq!(world.pair_value_by_id::<u32>(ann, (owes, ben)), Some(&7));
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Reflect, Clone, PartialEq, Debug)]
#[reflect(Clone, PartialEq, Debug)]
#[type_path = "bevy_relations::mirror"]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
pub struct RuntimeMirroredPair {
    /// The relation.
    pub relation: RuntimeRelation,
    /// The target.
    pub target: MirroredTarget,
    /// The value. `None` for a tag, and for a value whose type is not registered. When a pair that carries a value is
    /// written with `None`, it keeps its present value or gets the default.
    #[reflect(default)]
    #[cfg_attr(feature = "serialize", serde(default))]
    pub value: Option<ReflectedValue>,
    /// See [`MirroredPair::place`](super::MirroredPair::place).
    #[reflect(default)]
    #[cfg_attr(feature = "serialize", serde(default))]
    pub place: Option<u64>,
}

/// The relation of a [`RuntimeMirroredPair`]. It is found by its entity if that is alive, and by its name otherwise.
/// Where entities are mapped, the entity is alive if the relation was among those that were mapped.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{mirror::*, prelude::*};
///
/// let mut world = World::new();
/// world.mirror_runtime_pairs();
/// let rival = world.spawn_relation("rival of", RelationTraits::new())?;
/// let [ann, ben, gone] = [(); 3].map(|()| world.spawn_empty().id());
/// world.despawn(gone);
/// // As after loading a file without the relation: its entity is not alive, so that the name counts.
/// let relation = RuntimeRelation { entity: gone, name: Some("rival of".into()) };
/// world.entity_mut(ann).insert(RuntimeMirroredPairs::from_iter([RuntimeMirroredPair::new(relation, ben)]));
/// assert!(world.has_pair_by_id(ann, (rival, ben)));
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Reflect, Clone, PartialEq, Debug)]
#[reflect(Clone, PartialEq, Debug)]
#[type_path = "bevy_relations::mirror"]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
pub struct RuntimeRelation {
    /// Its entity.
    pub entity: Entity,
    /// Its name, if it has one: that with which it was spawned, or its `Name`. For the slot of a prefab it is its path, such as
    /// `Tank.turret.gun`.
    #[reflect(default)]
    #[cfg_attr(feature = "serialize", serde(default))]
    pub name: Option<String>,
}

impl From<Entity> for RuntimeRelation {
    fn from(entity: Entity) -> Self {
        Self { entity, name: None }
    }
}

impl RuntimeMirroredPair {
    /// A pair without a value.
    pub fn new(relation: impl Into<RuntimeRelation>, target: impl Into<MirroredTarget>) -> Self {
        Self { relation: relation.into(), target: target.into(), value: None, place: None }
    }

    /// The pair with this value.
    pub fn with_value(mut self, value: impl Reflect) -> Self {
        self.value = Some(ReflectedValue::new(value));
        self
    }
}

impl RuntimeMirroredPairs {
    /// The targets of a relation that are entities, in order.
    pub fn targets(&self, relation: Entity) -> impl Iterator<Item = Entity> + use<'_> {
        let pairs = self.pairs.iter().filter(move |pair| pair.relation.entity == relation);
        pairs.filter_map(|pair| pair.target.entity())
    }

    /// The value of a pair. `None` if there is no such pair, or no value. `O(pairs)`.
    pub fn get(&self, relation: Entity, target: Entity) -> Option<&ReflectedValue> {
        let is_it = |pair: &&RuntimeMirroredPair| {
            pair.relation.entity == relation && pair.target.entity() == Some(target)
        };
        self.pairs.iter().find(is_it)?.value.as_ref()
    }

    /// Maps relations, targets, and all entities in the values that reflection shows.
    pub(super) fn map_all(&mut self, mapper: &mut dyn EntityMapper) {
        for pair in &mut self.pairs {
            pair.relation.entity = mapper.get_mapped(pair.relation.entity);
            pair.target.map_entities(mapper);
            if let Some(value) = &mut pair.value {
                value.map_entities(mapper);
            }
        }
    }
}

impl FromIterator<RuntimeMirroredPair> for RuntimeMirroredPairs {
    fn from_iter<I: IntoIterator<Item = RuntimeMirroredPair>>(pairs: I) -> Self {
        Self { pairs: pairs.into_iter().collect() }
    }
}
