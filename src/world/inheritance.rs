//! What entities have themselves, and what they share with their bases.

use super::WorldPairExt;
use crate::{
    fetch,
    relation::{IS_A, IsA, OnInstantiate, Relation},
    sealed::Sealed,
    traverse::Limits,
};
use bevy_ecs::{
    component::Component,
    entity::Entity,
    world::{EntityWorldMut, World},
};
use core::any::TypeId;

/// Reading what an entity has itself or shares with a base, from a shared [`World`].
///
/// The bases of an entity are the targets of its pairs of [`IsA`], and theirs, each before the next with all that lies
/// above it. Components and pairs are shared if the component or the relation has [`OnInstantiate::Inherit`]; of
/// everything else an entity has only what it has itself. Disabled entities and prefabs are included.
///
/// In a query, read with [`Inherited`](crate::query::Inherited). The pairs that an entity has itself are read with
/// [`WorldPairExt`].
///
/// In the book: [Prefabs](crate::book::prefabs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, relation::OnInstantiate, world::WorldInheritanceExt};
///
/// #[derive(Component)]
/// struct Defense(u32);
///
/// #[derive(Relation)]
/// #[relation(on_instantiate = Inherit)]
/// struct BuiltBy;
///
/// let mut world = World::new();
/// let defense = world.entity_of::<Defense>();
/// world.set_traits(defense, RelationTraits::new().on_instantiate(OnInstantiate::Inherit))?;
/// let yard = world.spawn_empty().id();
/// let frigate = world.spawn((Defense(50), Pair(BuiltBy, yard))).id();
/// let ship = world.spawn(Pair(IsA, frigate)).id();
///
/// assert!(world.has_inherited::<Defense>(ship) && !world.owns::<Defense>(ship));
/// assert_eq!(world.get_inherited::<Defense>(ship).unwrap().0, 50);
/// assert_eq!(world.holder_of::<Defense>(ship), Some(frigate));
/// assert!(world.has_inherited_pair::<BuiltBy>(ship, yard) && !world.has_pair::<BuiltBy>(ship, yard));
///
/// world.entity_mut(ship).insert(Defense(70));
/// assert!(world.owns::<Defense>(ship) && world.get_inherited::<Defense>(ship).unwrap().0 == 70);
/// # Ok::<(), BevyError>(())
/// ```
pub trait WorldInheritanceExt: Sealed {
    /// Whether an entity has a component itself.
    fn owns<C: Component>(&self, entity: Entity) -> bool;

    /// Whether an entity has a component itself, or shares that of a base.
    ///
    /// # Complexity
    /// O(bases), up to the first that has it.
    fn has_inherited<C: Component>(&self, entity: Entity) -> bool;

    /// The component that an entity has itself, or else that of the first base that has it.
    ///
    /// # Complexity
    /// O(bases), up to the first that has it.
    fn get_inherited<C: Component>(&self, entity: Entity) -> Option<&C>;

    /// Whose component [`get_inherited`](Self::get_inherited) returns: the entity itself, or a base.
    ///
    /// # Complexity
    /// O(bases), up to the first that has it.
    fn holder_of<C: Component>(&self, entity: Entity) -> Option<Entity>;

    /// Whether an entity has a pair itself, or shares that of a base.
    ///
    /// # Complexity
    /// O(bases), up to the first that has it.
    fn has_inherited_pair<R: Relation>(&self, source: Entity, target: Entity) -> bool;
}

impl WorldInheritanceExt for World {
    fn owns<C: Component>(&self, entity: Entity) -> bool {
        self.get::<C>(entity).is_some()
    }

    fn has_inherited<C: Component>(&self, entity: Entity) -> bool {
        self.holder_of::<C>(entity).is_some()
    }

    fn get_inherited<C: Component>(&self, entity: Entity) -> Option<&C> {
        find(self, TypeId::of::<C>(), entity, |entity| self.get::<C>(entity))
    }

    fn holder_of<C: Component>(&self, entity: Entity) -> Option<Entity> {
        find(self, TypeId::of::<C>(), entity, |entity| self.owns::<C>(entity).then_some(entity))
    }

    fn has_inherited_pair<R: Relation>(&self, source: Entity, target: Entity) -> bool {
        let pairs = self.pairs::<R>();
        find(self, TypeId::of::<R>(), source, |entity| pairs.has(entity, target).then_some(())).is_some()
    }
}

/// What is read first of an entity and the bases with which it shares what depends on this type.
fn find<T>(
    world: &World,
    shared: TypeId,
    entity: Entity,
    mut read: impl FnMut(Entity) -> Option<T>,
) -> Option<T> {
    let own = read(entity);
    if own.is_some() {
        return own;
    }
    let mut found = None;
    visit_bases(world, shared, entity, &mut |base| {
        found = read(base);
        found.is_some()
    });
    found
}

/// Calls a function with the bases that share what depends on this type, until it returns true. Not generic: it is compiled with
/// this crate, which is optimized where a game is not.
fn visit_bases(world: &World, shared: TypeId, entity: Entity, visit: &mut dyn FnMut(Entity) -> bool) {
    let Some(store) = fetch::store(world) else { return };
    if store.registry().instantiate_rule(shared) != OnInstantiate::Inherit {
        return;
    }
    // Most entities have one base.
    let bases = store.relation(IS_A);
    let mut at = entity;
    while let Some(base) = bases.only_target(at) {
        if visit(base) {
            return;
        }
        at = base;
    }
    if bases.has_any(at) {
        world.pairs::<IsA>().nearest(at, Limits::BEYOND, visit);
    }
}

/// [`WorldInheritanceExt`] for the entity of an [`EntityWorldMut`].
///
/// Bevy's `EntityRef` and `EntityMut` cannot reach the bases, as they have access to the components of one entity only.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, relation::OnInstantiate, world::EntityInheritanceExt};
///
/// #[derive(Component)]
/// struct Defense(u32);
///
/// #[derive(Relation)]
/// #[relation(on_instantiate = Inherit)]
/// struct BuiltBy;
///
/// let mut world = World::new();
/// let defense = world.entity_of::<Defense>();
/// world.set_traits(defense, RelationTraits::new().on_instantiate(OnInstantiate::Inherit))?;
/// let yard = world.spawn_empty().id();
/// let frigate = world.spawn((Defense(50), Pair(BuiltBy, yard))).id();
/// let ship = world.spawn(Pair(IsA, frigate));
/// assert!(ship.has_inherited::<Defense>() && !ship.owns::<Defense>());
/// assert_eq!(ship.get_inherited::<Defense>().unwrap().0, 50);
/// assert_eq!(ship.holder_of::<Defense>(), Some(frigate));
/// assert!(ship.has_inherited_pair::<BuiltBy>(yard));
/// # Ok::<(), BevyError>(())
/// ```
pub trait EntityInheritanceExt: Sealed {
    /// See [`WorldInheritanceExt::owns`].
    fn owns<C: Component>(&self) -> bool;

    /// See [`WorldInheritanceExt::has_inherited`].
    fn has_inherited<C: Component>(&self) -> bool;

    /// See [`WorldInheritanceExt::get_inherited`].
    fn get_inherited<C: Component>(&self) -> Option<&C>;

    /// See [`WorldInheritanceExt::holder_of`].
    fn holder_of<C: Component>(&self) -> Option<Entity>;

    /// See [`WorldInheritanceExt::has_inherited_pair`].
    fn has_inherited_pair<R: Relation>(&self, target: Entity) -> bool;
}

impl EntityInheritanceExt for EntityWorldMut<'_> {
    fn owns<C: Component>(&self) -> bool {
        self.world().owns::<C>(self.id())
    }

    fn has_inherited<C: Component>(&self) -> bool {
        self.world().has_inherited::<C>(self.id())
    }

    fn get_inherited<C: Component>(&self) -> Option<&C> {
        self.world().get_inherited::<C>(self.id())
    }

    fn holder_of<C: Component>(&self) -> Option<Entity> {
        self.world().holder_of::<C>(self.id())
    }

    fn has_inherited_pair<R: Relation>(&self, target: Entity) -> bool {
        self.world().has_inherited_pair::<R>(self.id(), target)
    }
}
