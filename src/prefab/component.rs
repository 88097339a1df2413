//! [`Prefab`] as a component, and the observers of worlds with prefabs.

use super::instance::Copier;
use crate::{
    ops::{
        ObserveEntity, PairInserted, ensure_store, install_observers, is_bare_base, observe_entity, to_bevy,
    },
    relation::{IsA, Prefab},
    store::StoreId,
    traverse::Hierarchy,
    world::WorldPairExt,
};
use alloc::{vec, vec::Vec};
use bevy_ecs::{
    component::{Component, ComponentCloneBehavior, Mutable, StorageType},
    entity::{Entity, EntityHashSet},
    error::Result,
    hierarchy::ChildOf,
    lifecycle::{ComponentHook, InsertEvent},
    observer::On,
    resource::Resource,
    world::{DeferredWorld, World},
};

impl Component for Prefab {
    const STORAGE_TYPE: StorageType = StorageType::Table;
    type Mutability = Mutable;

    fn on_add() -> Option<ComponentHook> {
        Some(|mut world, context| {
            world.commands().queue(move |world: &mut World| {
                observe(world);
                mark_below(world, context.entity);
            });
        })
    }

    fn clone_behavior() -> ComponentCloneBehavior {
        ComponentCloneBehavior::clone::<Self>()
    }
}

/// The store of the world when its prefabs were observed last.
#[derive(Resource)]
struct ObservedStore(StoreId);

/// Spawns the observers of prefabs, once per world: what has no prefabs pays nothing.
fn observe(world: &mut World) {
    let store = ensure_store(world).id();
    if world.get_resource::<ObservedStore>().is_none_or(|observed| observed.0 != store) {
        world.insert_resource(ObservedStore(store));
        install_observers(world, spawn_observers);
    }
}

fn spawn_observers(world: &mut World) -> Vec<Entity> {
    let instances = world.add_observer(|on: On<PairInserted<IsA>>, mut world: DeferredWorld| {
        let (instance, prefab) = (on.source, on.target);
        if world.get::<Prefab>(prefab).is_some() && !is_bare_base(&world, instance, prefab) {
            world.commands().queue(move |world: &mut World| fill(world, instance, prefab));
        }
    });
    vec![instances.id(), observe_entity::<InsertEvent, ChildOf, BecomePart>(world)]
}

/// Makes an entity that was given the pair with a prefab an instance, unless an observer has removed the pair.
fn fill(world: &mut World, instance: Entity, prefab: Entity) -> Result {
    if world.has_pair::<IsA>(instance, prefab) && world.get::<Prefab>(prefab).is_some() {
        let mut copier = Copier::new(world, prefab);
        let filled = copier.fill(world, instance);
        copier.finish(world);
        return filled.map_err(to_bevy);
    }
    Ok(())
}

/// A child of a prefab is a prefab.
struct BecomePart;

impl ObserveEntity for BecomePart {
    fn run(world: &mut DeferredWorld<'_>, child: Entity) {
        if prefab_above(world, child).is_some() {
            world.commands().queue(move |world: &mut World| {
                // A pair that is refused is not there, and its component is about to go.
                if prefab_above(world, child).is_some_and(|prefab| world.has_pair::<ChildOf>(child, prefab))
                    && let Ok(mut child) = world.get_entity_mut(child)
                {
                    child.insert(Prefab);
                }
            });
        }
    }
}

/// The parent of an entity, if it is a prefab and the entity is none.
fn prefab_above(world: &World, child: Entity) -> Option<Entity> {
    let parent = world.get::<ChildOf>(child).map(ChildOf::parent)?;
    (world.get::<Prefab>(parent).is_some() && world.get::<Prefab>(child).is_none()).then_some(parent)
}

/// Makes everything below a prefab one. Below a child that is one already, that was done when it became one.
fn mark_below(world: &mut World, prefab: Entity) {
    if world.get::<Prefab>(prefab).is_none() {
        return;
    }
    let (mut found, mut next) = (vec![prefab], 0);
    // Until the commands of a flush are done, Bevy's components may go in a circle.
    let mut met = EntityHashSet::from_iter([prefab]);
    while let Some(&parent) = found.get(next) {
        let children = Hierarchy(world).confirmed_children(parent);
        found.extend(children.filter(|&child| world.get::<Prefab>(child).is_none() && met.insert(child)));
        next += 1;
    }
    if found.len() > 1 {
        // None of them is gone: nothing has run since they were found.
        let _ = world.try_insert_batch(found.into_iter().skip(1).map(|part| (part, Prefab)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch;

    #[test]
    fn a_world_without_prefabs_has_no_observers_of_them() {
        let mut world = World::new();
        ensure_store(&mut world);
        assert!(!world.contains_resource::<ObservedStore>());
        world.spawn(Prefab);
        assert_eq!(
            world.get_resource::<ObservedStore>().map(|observed| observed.0),
            fetch::store(&world).map(crate::store::PairStore::id)
        );
    }
}
