//! Relations and tags that every world has.

use bevy_ecs::hierarchy::ChildOf;
#[cfg(feature = "bevy_reflect")]
use bevy_ecs::reflect::ReflectComponent;
#[cfg(feature = "bevy_reflect")]
use bevy_reflect::std_traits::ReflectDefault;
use bevy_relations_macros::Relation;

use crate::id::RelationId;
use core::any::TypeId;

// Numbers of the relations that every world registers first.
pub(crate) const IS_A: RelationId = RelationId(0);
pub(crate) const SLOT_OF: RelationId = RelationId(1);
pub(crate) const CHILD_OF: RelationId = RelationId(2);

/// How many there are.
pub(crate) const BUILT_INS: usize = 3;

/// The number of a built-in relation: it is reserved, whatever is registered first.
pub(super) fn built_in(type_id: TypeId) -> Option<RelationId> {
    let types = [TypeId::of::<IsA>(), TypeId::of::<SlotOf>(), TypeId::of::<ChildOf>()];
    let numbers = [IS_A, SLOT_OF, CHILD_OF];
    types.into_iter().zip(numbers).find_map(|(built_in, id)| (built_in == type_id).then_some(id))
}

/// `(IsA, base)`: the source is a kind of `base`, or an instance of it.
///
/// Transitive, reflexive and acyclic; an entity may have several bases, of which the first comes first. With a
/// [`Prefab`] as the base it makes the source an instance, see [`prefab`](crate::prefab).
///
/// Where many instances of few prefabs read what they inherit, choose
/// [`Fragmenting`](crate::relation::RelationStorage::Fragmenting) storage for it: the base is then found once for each table.
///
/// In the book: [Prefabs](crate::book::prefabs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::prelude::*;
///
/// let mut world = World::new();
/// let [vehicle, ship, frigate] = [(); 3].map(|()| world.spawn_empty().id());
/// world.insert_pair(ship, IsA, vehicle)?;
/// world.insert_pair(frigate, IsA, ship)?;
/// assert!(world.pairs::<IsA>().ancestors(frigate).eq([ship, vehicle]));
/// # Ok::<(), bevy_ecs::error::BevyError>(())
/// ```
#[derive(Relation, Clone, Copy, Debug)]
#[cfg_attr(feature = "bevy_reflect", derive(bevy_reflect::Reflect), type_path = "bevy_relations::relation")]
#[relation(tag, transitive, reflexive, on_instantiate = DontInherit)]
pub struct IsA;

/// `(SlotOf, prefab)`: marks a part of a prefab that is to be found in each instance. An instance gets the pair
/// `(part, copy of the part)`: the part of the prefab is the relation, and the instance's own copy the target. See
/// [`prefab`](crate::prefab).
///
/// In the book: [Prefabs](crate::book::prefabs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prefab::{Prefab, SlotOf, WorldPrefabExt}, prelude::*};
///
/// let mut world = World::new();
/// let tank = world.spawn(Prefab).id();
/// let turret = world.spawn((ChildOf(tank), Pair(SlotOf, tank))).id();
/// let instance = world.instantiate(tank)?;
/// let its_turret = world.pairs_by_id(turret).target(instance);
/// assert_eq!(its_turret, world.entity(instance).get::<Children>().map(|children| children[0]));
/// # Ok::<(), bevy_ecs::error::BevyError>(())
/// ```
#[derive(Relation, Clone, Copy, Debug)]
#[cfg_attr(feature = "bevy_reflect", derive(bevy_reflect::Reflect), type_path = "bevy_relations::relation")]
#[relation(tag, exclusive, on_instantiate = DontInherit)]
pub struct SlotOf;

/// Its entity stands for tags where events and errors name a relation, and where a pair is named. It is no relation.
pub(crate) struct Tagged;

/// A component: the entity is a prefab, a template for instances, see [`prefab`](crate::prefab).
///
/// What lies below it along [`ChildOf`] becomes one, too. Queries that do not name it leave prefabs out: those of Bevy
/// if they are made after the first use of relations in their world, to which adding
/// [`RelationsPlugin`](crate::RelationsPlugin) belongs.
///
/// In the book: [Prefabs](crate::book::prefabs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prefab::Prefab, prelude::*};
///
/// #[derive(Component, Clone, PartialEq, Debug)]
/// struct Health(u32);
///
/// let mut world = World::new();
/// let orc = world.spawn((Prefab, Health(30))).id();
/// let grom = world.instantiate(orc)?;
/// assert_eq!(world.get::<Health>(grom), Some(&Health(30)));
/// assert_eq!(world.query::<&Health>().iter(&world).count(), 1, "the instance alone");
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, Copy, Default, Debug)]
#[cfg_attr(
    feature = "bevy_reflect",
    derive(bevy_reflect::Reflect),
    type_path = "bevy_relations::prefab",
    reflect(Component, Clone, Default, Debug)
)]
pub struct Prefab;

/// Stands for every relation: `On<PairInserted<Wildcard>>` observes them all.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, relation::Wildcard};
///
/// #[derive(Relation)]
/// struct Likes;
///
/// #[derive(Relation)]
/// struct Owes(u32);
///
/// #[derive(Resource, Default)]
/// struct Inserted(usize);
///
/// let mut world = World::new();
/// world.init_resource::<Inserted>();
/// world.add_observer(|_: On<PairInserted<Wildcard>>, mut inserted: ResMut<Inserted>| inserted.0 += 1);
/// let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
/// world.insert_pair(ann, Likes, ben)?;
/// world.insert_pair(ann, Owes(5), ben)?;
/// assert_eq!(world.resource::<Inserted>().0, 2);
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Wildcard;
