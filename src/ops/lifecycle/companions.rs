//! `with` of a component: adding the component to an entity adds other components, and tags, as well.
//!
//! Pairs have their companions from the plan of an insertion. Components are inserted by Bevy, so that each component
//! with companions has an observer.

use super::component;
use crate::{
    fetch,
    id::StoredTag,
    ops::{
        mutate::tag::insert_tag,
        register::{
            entity::{entity_of_type_id, relation_id_of},
            report::{report, to_bevy},
            traits, watch,
        },
    },
    relation::{EntityName, IdRef, InsertDefault, Registry, RelationTraits, TraitsError, short_name},
};
use alloc::{string::ToString, vec::Vec};
use bevy_ecs::{
    archetype::{Archetype, ArchetypeEntity},
    component::{ComponentId, ComponentInfo},
    entity::Entity,
    lifecycle::Add,
    observer::{Observer, On},
    resource::Resource,
    system::Commands,
    world::World,
};
use bevy_platform::collections::HashMap;
use core::any::TypeId;

/// The components that have companions.
#[derive(Resource, Default)]
struct ComponentCompanions(HashMap<TypeId, CompanionList>);

struct CompanionList {
    component: ComponentId,
    companions: Vec<Companion>,
    /// Inserts the companions. `None` until it is spawned.
    observer: Option<Entity>,
}

#[derive(Clone, Copy)]
enum Companion {
    /// A component; or a tag, if the type is none.
    Type(TypeId, Option<InsertDefault>),
    Tag(Entity),
}

/// Adds traits to a relation, tag or type entity. Companions of a component hold for the component, too.
pub(crate) fn set_traits(
    world: &mut World,
    entity: Entity,
    facts: RelationTraits,
) -> Result<(), TraitsError> {
    relation_id_of(world, entity)?;
    let new = check(world, entity, &facts)?;
    traits::set_traits(world, entity, facts)?;
    if let Some((type_id, component)) = component_of(world, entity).filter(|_| !new.is_empty()) {
        world.init_resource::<ComponentCompanions>();
        let mut lists = world.resource_mut::<ComponentCompanions>();
        let list = lists.0.entry(type_id).or_insert_with(|| CompanionList {
            component,
            companions: Vec::new(),
            observer: None,
        });
        list.companions.extend(new);
        if list.observer.is_none() {
            watch::install(world, spawn_observers);
        }
    }
    Ok(())
}

/// The component whose type `entity` stands for, unless it is one of Bevy's relationships.
fn component_of(world: &World, entity: Entity) -> Option<(TypeId, ComponentId)> {
    let registry = &fetch::store(world)?.registry();
    let component = component::component_of(registry, world.components(), entity)?;
    Some((registry.type_of(entity)?, component))
}

/// The components that are inserted along with a component because they are its companions.
pub(crate) fn component_companions(
    world: &World,
    component: ComponentId,
) -> impl Iterator<Item = ComponentId> + use<'_> {
    let type_id = world.components().get_info(component).and_then(ComponentInfo::type_id);
    let lists = world.get_resource::<ComponentCompanions>();
    let list = lists.zip(type_id).and_then(|(lists, type_id)| lists.0.get(&type_id));
    list.into_iter().flat_map(|list| &list.companions).filter_map(|companion| match *companion {
        Companion::Type(type_id, _) => world.components().get_id(type_id),
        Companion::Tag(_) => None,
    })
}

/// Returns the companions that are new to a component, if `entity` stands for one.
///
/// # Errors
/// If it is too late for them, or one of them cannot be made.
fn check(world: &World, entity: Entity, traits: &RelationTraits) -> Result<Vec<Companion>, TraitsError> {
    let Some(store) = fetch::store(world) else { return Ok(Vec::new()) };
    let registry = store.registry();
    let Some(entry) = registry.of_entity(entity).map(|id| registry.entry(id)) else { return Ok(Vec::new()) };
    let known = entry.traits.with_refs();
    let new: Vec<IdRef> = traits.with_refs().iter().copied().filter(|with| !known.contains(with)).collect();
    if new.is_empty() {
        return Ok(Vec::new());
    }
    let Some((_, component)) = component_of(world, entity) else {
        return match entry.type_id {
            Some(_) if !entry.declared => Err(TraitsError::NotRegistered { relation: entry.name() }),
            _ => Ok(Vec::new()),
        };
    };
    if let Some(source_entity) = first_holder(world, component) {
        let source_entity = EntityName::new(world, source_entity);
        return Err(TraitsError::ComponentInUse { component: entry.name(), source_entity });
    }
    let mut companions = Vec::new();
    for with in new {
        let companion = companion_of(registry, with);
        if can_be_added(world, registry, companion) {
            companions.push(companion);
        } else if !entry.declared {
            let companion = match with {
                IdRef::Entity(with) => registry.name_of(with).to_string().into(),
                IdRef::Type(with) => with.name.map(short_name).unwrap_or_default(),
            };
            return Err(TraitsError::NoDefault { component: entry.name(), companion });
        }
        // The companion of a declared relation may be for its pairs only.
    }
    Ok(companions)
}

fn companion_of(registry: &Registry, with: IdRef) -> Companion {
    match with {
        IdRef::Type(with) => Companion::Type(with.id, with.insert_default),
        IdRef::Entity(with) => match registry.type_of(with) {
            Some(type_id) => Companion::Type(type_id, None),
            None => Companion::Tag(with),
        },
    }
}

/// Whether a companion is a tag, or a component of which a default is known.
fn can_be_added(world: &World, registry: &Registry, companion: Companion) -> bool {
    let Companion::Type(type_id, None) = companion else { return true };
    let relation = registry.of_type_id(type_id);
    let adopted = relation.is_some_and(|id| registry.entry(id).adopted.is_some());
    !adopted && (world.components().get_id(type_id).is_none() || default_of::is_known(world, type_id))
}

/// An entity that has a component.
fn first_holder(world: &World, component: ComponentId) -> Option<Entity> {
    holders(world, component).into_iter().next()
}

/// The entities that have a component, in the order of their archetypes and rows.
fn holders(world: &World, component: ComponentId) -> Vec<Entity> {
    let having = |archetype: &&Archetype| archetype.contains(component);
    let entities = world.archetypes().iter().filter(having).flat_map(Archetype::entities);
    entities.map(ArchetypeEntity::id).collect()
}

/// Spawns the observers that are missing, and adds what was not added meanwhile.
fn spawn_observers(world: &mut World) -> Vec<Entity> {
    let Some(lists) = world.get_resource::<ComponentCompanions>() else { return Vec::new() };
    let observes =
        |list: &CompanionList| list.observer.is_some_and(|entity| world.get::<Observer>(entity).is_some());
    let missing = lists.0.iter().filter(|(_, list)| !observes(list));
    let mut missing: Vec<(ComponentId, TypeId)> =
        missing.map(|(&type_id, list)| (list.component, type_id)).collect();
    // The map has no order.
    missing.sort_unstable_by_key(|&(component, _)| component);
    let mut observers = Vec::new();
    for &(component, type_id) in &missing {
        let added = move |on: On<Add<()>>, mut commands: Commands| {
            let holder = on.entity;
            commands.queue(move |world: &mut World| insert_companions(world, type_id, holder));
        };
        let observer = world.spawn(Observer::new(added).with_component(component)).id();
        observers.push(observer);
        if let Some(mut lists) = world.get_resource_mut::<ComponentCompanions>()
            && let Some(list) = lists.0.get_mut(&type_id)
        {
            list.observer = Some(observer);
        }
    }
    for (component, type_id) in missing {
        for holder in holders(world, component) {
            insert_companions(world, type_id, holder);
        }
    }
    observers
}

/// Adds the companions of a component to an entity that got it. Their own come by their own observers.
fn insert_companions(world: &mut World, of: TypeId, holder: Entity) {
    let adopted = |id| fetch::store(world).is_some_and(|store| store.registry().entry(id).adopted.is_some());
    let relation = fetch::store(world).and_then(|store| store.registry().of_type_id(of));
    if relation.is_some_and(adopted) {
        // Its pairs have companions.
        return;
    }
    let lists = world.get_resource::<ComponentCompanions>();
    let Some(list) = lists.and_then(|lists| lists.0.get(&of)) else { return };
    for companion in list.companions.clone() {
        // Each of them runs users' code.
        if !world.entities().contains_spawned(holder) {
            return;
        }
        insert_companion(world, of, holder, companion);
    }
}

fn insert_companion(world: &mut World, of: TypeId, holder: Entity, companion: Companion) {
    let tag = match companion {
        Companion::Type(_, Some(insert_default)) => return insert_default(&mut world.entity_mut(holder)),
        Companion::Type(type_id, None) if world.components().get_id(type_id).is_some() => {
            return insert_reflected(world, of, holder, type_id);
        }
        Companion::Type(type_id, None) => entity_of_type_id(world, type_id),
        Companion::Tag(tag) => tag,
    };
    // A companion that has gone since is no companion any more.
    if world.entities().contains_spawned(tag)
        && world.entities().contains_spawned(holder)
        && let Err(error) = insert_tag(world, StoredTag { source: holder, tag })
    {
        report(world.commands(), to_bevy(error));
    }
}

fn insert_reflected(world: &mut World, of: TypeId, holder: Entity, type_id: TypeId) {
    let has = world.components().get_id(type_id).is_some_and(|id| world.entity(holder).contains_id(id));
    if has || default_of::insert(world, type_id, holder) {
        return;
    }
    let [of, companion] = [of, type_id].map(|type_id| entity_of_type_id(world, type_id));
    let Some(store) = fetch::store(world) else { return };
    let [component, companion] = [of, companion].map(|entity| store.registry().name_of(entity));
    let error = TraitsError::NoDefault { component, companion: companion.to_string().into() };
    report(world.commands(), to_bevy(error));
}

/// Defaults of components that are registered with `#[reflect(Component, Default)]`.
#[cfg(feature = "bevy_reflect")]
mod default_of {
    use bevy_ecs::{
        entity::Entity,
        reflect::{AppTypeRegistry, ReflectComponent},
        world::World,
    };
    use bevy_reflect::{TypeRegistration, TypeRegistry, std_traits::ReflectDefault};
    use core::any::TypeId;

    fn registration(world: &World, type_id: TypeId) -> Option<TypeRegistration> {
        let registry = world.get_resource::<AppTypeRegistry>()?.read();
        let registration = registry.get(type_id)?;
        let is_known =
            registration.contains::<ReflectDefault>() && registration.contains::<ReflectComponent>();
        is_known.then(|| registration.clone())
    }

    pub(super) fn is_known(world: &World, type_id: TypeId) -> bool {
        registration(world, type_id).is_some()
    }

    /// Inserts the default. False if none is known.
    pub(super) fn insert(world: &mut World, type_id: TypeId, holder: Entity) -> bool {
        let Some(registration) = registration(world, type_id) else { return false };
        let (Some(default), Some(component)) =
            (registration.data::<ReflectDefault>(), registration.data::<ReflectComponent>())
        else {
            return false;
        };
        let value = default.default();
        // The world's own registry stays unlocked: observers may use it.
        let mut registry = TypeRegistry::empty();
        registry.add_registration(registration.clone());
        component.insert(&mut world.entity_mut(holder), value.as_partial_reflect(), &registry);
        true
    }
}

/// Without reflection only the defaults given by type are known.
#[cfg(not(feature = "bevy_reflect"))]
mod default_of {
    use bevy_ecs::{entity::Entity, world::World};
    use core::any::TypeId;

    pub(super) fn is_known(_: &World, _: TypeId) -> bool {
        false
    }

    pub(super) fn insert(_: &mut World, _: TypeId, _: Entity) -> bool {
        false
    }
}
