//! Which components of a prefab an instance gets.

use crate::{
    disabling::DisabledBelow,
    fetch,
    ops::{Participant, TypeEntity},
    relation::{OnInstantiate, Prefab},
};
use alloc::vec::Vec;
use bevy_ecs::{
    archetype::ArchetypeId, component::ComponentId, entity::Entity, entity_disabling::Disabled,
    hierarchy::ChildOf, name::Name, relationship::RelationshipAccessor, world::World,
};
use core::any::TypeId;

/// What becomes of a component.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    Copied,
    /// An instance shares it with its prefab; the copies of what lies below the prefab have no base, and get a copy.
    Shared,
    /// The copies of what lies below the prefab are found by it.
    Named,
    Omitted,
}

/// The components of a prefab that an instance does not get.
pub(super) fn not_copied_to_instance(world: &World, prefab: Entity) -> Vec<ComponentId> {
    let components = components_of(world, [prefab]);
    // Bevy inserts what a component requires along with it, by default: then a copy is better.
    let mut required = Vec::new();
    for &component in components.iter().filter(|&&component| rule(world, component) == Rule::Copied) {
        if let Some(info) = world.components().get_info(component) {
            required.extend(info.required_components().iter_ids());
        }
    }
    let is_copied = |component| match rule(world, component) {
        Rule::Copied => true,
        Rule::Shared => required.contains(&component),
        Rule::Named | Rule::Omitted => false,
    };
    components.into_iter().filter(|&component| !is_copied(component)).collect()
}

/// The components of what lies below a prefab that the copies do not get.
pub(super) fn not_copied_to_parts(
    world: &World,
    parts: impl IntoIterator<Item = Entity>,
) -> Vec<ComponentId> {
    let mut components = components_of(world, parts);
    components.retain(|&component| rule(world, component) == Rule::Omitted);
    components
}

/// The components that at least one of the entities has.
fn components_of(world: &World, entities: impl IntoIterator<Item = Entity>) -> Vec<ComponentId> {
    let entities = entities.into_iter().filter_map(|entity| world.get_entity(entity).ok());
    let mut archetypes: Vec<ArchetypeId> = entities.map(|entity| entity.archetype().id()).collect();
    archetypes.sort_unstable();
    archetypes.dedup();
    let archetypes = archetypes.into_iter().filter_map(|id| world.archetypes().get(id));
    let mut components: Vec<ComponentId> =
        archetypes.flat_map(|archetype| archetype.components().iter().copied()).collect();
    components.sort_unstable();
    components.dedup();
    components
}

fn rule(world: &World, component: ComponentId) -> Rule {
    let Some(info) = world.components().get_info(component) else { return Rule::Omitted };
    // Bevy fills it as the sources of the relationship are copied.
    if matches!(info.relationship_accessor(), Some(RelationshipAccessor::RelationshipTarget { .. })) {
        return Rule::Omitted;
    }
    let Some(type_id) = info.type_id() else { return Rule::Copied };
    let omitted = [
        TypeId::of::<Prefab>(),
        TypeId::of::<Disabled>(),
        TypeId::of::<ChildOf>(),
        TypeId::of::<Participant>(),
        TypeId::of::<TypeEntity>(),
        TypeId::of::<DisabledBelow>(),
    ];
    if omitted.contains(&type_id) {
        return Rule::Omitted;
    }
    if type_id == TypeId::of::<Name>() {
        return Rule::Named;
    }
    let rule = fetch::store(world).map(|store| store.registry().instantiate_rule(type_id));
    match rule.unwrap_or_default() {
        OnInstantiate::Override => Rule::Copied,
        OnInstantiate::Inherit => Rule::Shared,
        OnInstantiate::DontInherit => Rule::Omitted,
    }
}
