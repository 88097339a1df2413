//! What happens to pairs and to entities when others go.

#[cfg(feature = "bevy_reflect")]
use bevy_reflect::std_traits::ReflectDefault;

/// What happens to pairs and their sources when the target, or the relation, is despawned.
///
/// In the book: [Traits and cleanup in pictures](crate::book::traits).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # let mut world = World::new();
/// // Of a relation type: `#[relation(on_target_despawn = Despawn)]`.
/// let traits = RelationTraits::new().on_target_despawn(CleanupPolicy::Despawn);
/// let mounted_on = world.spawn_relation("MountedOn", traits)?;
/// let [ship, gun] = [(); 2].map(|()| world.spawn_empty().id());
/// world.insert_pair_by_id(gun, (mounted_on, ship))?;
/// world.despawn(ship);
/// assert!(world.get_entity(gun).is_err());
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "bevy_reflect", derive(bevy_reflect::Reflect), reflect(Clone, PartialEq, Hash, Debug))]
pub enum CleanupPolicy {
    /// The pairs are removed; their sources stay. The default.
    Remove,
    /// The sources of the pairs are despawned as well.
    Despawn,
    /// The despawn is refused by [`despawn_with_dependents`](crate::WorldPairExt::despawn_with_dependents). Bevy's own
    /// despawn cannot be refused: it completes as `Remove` and reports an error. Flecs calls this policy `Panic`.
    Refuse,
}

/// What an instance of a prefab gets of a component or pair of the prefab, see [`prefab`](crate::prefab).
///
/// In the book: [Prefabs](crate::book::prefabs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prefab::Prefab, prelude::*, query::Inherited, relation::OnInstantiate};
///
/// #[derive(Component, Clone)]
/// struct Armor(u32);
///
/// let mut world = World::new();
/// let armor = world.entity_of::<Armor>();
/// world.set_traits(armor, RelationTraits::new().on_instantiate(OnInstantiate::Inherit))?;
/// let frigate = world.spawn((Prefab, Armor(50))).id();
/// let kite = world.instantiate(frigate)?;
/// assert!(world.get::<Armor>(kite).is_none());
/// assert_eq!(world.query::<Inherited<&Armor>>().get(&world, kite)?.0, 50);
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(
    feature = "bevy_reflect",
    derive(bevy_reflect::Reflect),
    reflect(Clone, PartialEq, Hash, Debug, Default)
)]
pub enum OnInstantiate {
    /// The instance gets a copy. The default.
    #[default]
    Override,
    /// The instance shares that of the prefab: expressions and [`Inherited`](crate::query::Inherited) find it along
    /// [`IsA`](super::IsA). It is shared with every base, also with one that is no prefab.
    Inherit,
    /// The instance gets nothing.
    DontInherit,
}

/// What happens to a target when its last pair of the relation goes, in whatever way: it was removed or replaced, or
/// its source or the relation was despawned.
///
/// A target that never had a source stays; and so does one that has another source of the relation when the operation
/// is done. As with counted references, entities that are sources of each other keep each other.
///
/// In the book: [Traits and cleanup in pictures](crate::book::traits).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::prelude::*;
///
/// #[derive(Relation)]
/// #[relation(on_last_source = Despawn)]
/// struct Uses;
///
/// let mut world = World::new();
/// let material = world.spawn_empty().id();
/// let [cup, plate] = [(); 2].map(|()| world.spawn(Pair(Uses, material)).id());
/// world.despawn(cup);
/// assert!(world.get_entity(material).is_ok());
/// world.despawn(plate);
/// assert!(world.get_entity(material).is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(
    feature = "bevy_reflect",
    derive(bevy_reflect::Reflect),
    reflect(Clone, PartialEq, Hash, Debug, Default)
)]
pub enum OnLastSource {
    /// It stays. The default.
    #[default]
    Keep,
    /// It is despawned, with its dependents.
    Despawn,
}

/// What happens to the targets of a source when the source is despawned.
///
/// In the book: [Traits and cleanup in pictures](crate::book::traits).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::prelude::*;
///
/// #[derive(Relation)]
/// #[relation(on_source_despawn = DespawnTarget)]
/// struct Summoned;
///
/// let mut world = World::new();
/// let imp = world.spawn_empty().id();
/// let wizard = world.spawn(Pair(Summoned, imp)).id();
/// world.despawn(wizard);
/// assert!(world.get_entity(imp).is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(
    feature = "bevy_reflect",
    derive(bevy_reflect::Reflect),
    reflect(Clone, PartialEq, Hash, Debug, Default)
)]
pub enum OnSourceDespawn {
    /// They stay; the pairs are removed. The default.
    #[default]
    Keep,
    /// They are despawned as well, whatever other sources they have.
    DespawnTarget,
}
