//! Bevy's own relationships as relations.
//!
//! The component stays what it is, on the source, and the pair store mirrors it: observers of the component
//! follow every way in which Bevy writes it (spawning, batches, `children!`, re-parenting). Inserting or
//! removing such a pair through this crate writes the component. Whatever API is used, both show the same.

use super::{
    bootstrap::{add_type_relation, apply_traits, ensure_store},
    cleanup,
    error::{TraitsError, to_bevy},
    event::{self, Kind},
    insert,
    plan::{StoredPair, check_rules, freeze},
    remove,
};
use crate::{
    access,
    relation::{
        Adopted, CleanupPolicy, ExclusiveRelation, Relation, RelationHint, RelationInfo, RelationTraits, Value,
    },
    store::{PairData, unpack},
};
use alloc::vec::Vec;
use bevy_ecs::{
    entity::Entity,
    error::Result,
    lifecycle::{Despawn, Discard, Insert},
    observer::On,
    query::{QueryData, With},
    relationship::{Relationship, RelationshipTarget},
    world::{DeferredWorld, World},
};

impl<C: Relationship> Relation for C {
    type Component = Option<&'static C>;

    fn traits() -> RelationTraits {
        let traits = RelationTraits::new().exclusive();
        if C::ALLOW_SELF_REFERENTIAL { traits } else { traits.traversable() }
    }

    fn info() -> RelationInfo<Self> {
        // One guess for all of them: it is checked, and most worlds have only `ChildOf`.
        static HINT: RelationHint = RelationHint::new();
        RelationInfo { hint: &HINT, default: None, clone: None }
    }

    fn register(world: &mut World) -> Entity {
        match adopt::<C>(world, C::traits()) {
            Ok(entity) => entity,
            Err(error) => panic!("{error}"),
        }
    }

    fn value_in<'a>(component: <Self::Component as QueryData>::Item<'a, '_>) -> Option<&'a Self> {
        component
    }
}

impl<C: Relationship> ExclusiveRelation for C {}

/// Makes `C` a relation with these traits beside those that it has as a Bevy relationship: exclusive, and
/// with the cleanup that `linked_spawn` stands for.
///
/// # Errors
/// If the traits contradict those, or if `C` takes part already and has other traits.
pub(crate) fn adopt<C: Relationship>(world: &mut World, traits: RelationTraits) -> Result<Entity, TraitsError> {
    let mut all = RelationTraits::new().exclusive().on_target_despawn(policy::<C>());
    let store = ensure_store(world);
    if let Some(id) = store.registry.of_type::<C>() {
        let entry = store.registry.entry(id);
        let same = all.merge(traits).is_ok() && all == entry.traits;
        return if same { Ok(entry.entity) } else { Err(TraitsError::Frozen { relation: entry.name() }) };
    }
    let (id, entity) = add_type_relation::<C>(world);
    let adopted = Adopted {
        insert: insert_component::<C>,
        remove: |world, source| {
            if let Ok(mut source) = world.get_entity_mut(source) {
                source.remove::<C>();
            }
        },
        get: |world, source| {
            let component: &C = world.get(source)?;
            Some(component)
        },
        kind: PairData::<C>::kind(),
        has_fields: size_of::<C>() > size_of::<Entity>(),
        allow_self: C::ALLOW_SELF_REFERENTIAL,
    };
    let entry = ensure_store(world).registry.entry_mut(id);
    entry.data = None;
    entry.adopted = Some(adopted);
    let result = apply_traits(world, id, all).and_then(|()| apply_traits(world, id, traits));
    if let Err(error) = result {
        ensure_store(world).registry.remove(id);
        world.despawn(entity);
        return Err(error);
    }
    freeze(world, id);
    watch::<C>(world);
    absorb::<C>(world);
    Ok(entity)
}

fn policy<C: Relationship>() -> CleanupPolicy {
    if C::RelationshipTarget::LINKED_SPAWN { CleanupPolicy::Despawn } else { CleanupPolicy::Remove }
}

/// Follows the component wherever it is written.
fn watch<C: Relationship>(world: &mut World) {
    world.add_observer(|on: On<Insert<C>>, mut world: DeferredWorld| inserted::<C>(&mut world, on.entity));
    world.add_observer(|on: On<Discard<C>>, mut world: DeferredWorld| discarded::<C>(&mut world, on.entity));
    world.add_observer(|on: On<Despawn<C::RelationshipTarget>>, mut world: DeferredWorld| {
        let relation = access::store(&world).and_then(|store| store.registry.of_type::<C>());
        if let Some(relation) = relation {
            cleanup::on_target_despawn(&mut world, relation, on.entity);
        }
    });
    world.flush();
}

/// Mirrors the components that are there already, in the order of Bevy's collections.
fn absorb<C: Relationship>(world: &mut World) {
    let mut targets = world.query_filtered::<&C::RelationshipTarget, With<C::RelationshipTarget>>();
    let sources: Vec<Entity> = targets.iter(world).flat_map(|target| target.iter().collect::<Vec<_>>()).collect();
    let mut world = DeferredWorld::from(world);
    for source in sources {
        inserted::<C>(&mut world, source);
    }
}

/// The pair that the component of `source` stands for.
fn pair_of<C: Relationship>(world: &DeferredWorld, source: Entity) -> Option<StoredPair> {
    let target = world.get::<C>(source)?.get();
    let relation = access::store(world)?.registry.of_type::<C>()?;
    Some(StoredPair { source, relation, target })
}

/// The component was inserted on `source`, or changed.
fn inserted<C: Relationship>(world: &mut DeferredWorld, source: Entity) {
    let Some(pair) = pair_of::<C>(world, source) else { return };
    let StoredPair { relation, target, .. } = pair;
    // Bevy itself removes these in the same flush, with a warning.
    if !world.entities().contains_spawned(target) || (source == target && !C::ALLOW_SELF_REFERENTIAL) {
        return;
    }
    let Some(store) = access::store(world) else { return };
    match store.relation(relation).first_target(source) {
        Some(old) if old == target => return,
        Some(old) => {
            // Hooks and observers of the old component were skipped.
            remove::remove(world, &[StoredPair { target: old, ..pair }]);
        }
        None => {}
    }
    if let Err(error) = check_rules(world, pair) {
        world.commands().queue(move |world: &mut World| -> Result {
            if world.get::<C>(source).is_some_and(|component| component.get() == target) {
                world.entity_mut(source).remove::<C>();
            }
            Err(to_bevy(error))
        });
        return;
    }
    let tick = world.change_tick();
    let Some(store) = access::deferred_store(world) else { return };
    store.participants.join(source, relation);
    store.participants.join(target, relation);
    let index = store.relation_mut(relation);
    index.link(source, target);
    index.stamp(source, target, tick, true);
    let companions = store.registry.entry(relation).with.clone();
    if event::listening(world, Kind::Inserted) {
        event::fire(world, Kind::Inserted, pair, false);
    }
    for companion in companions {
        world.commands().queue(move |world: &mut World| -> Result {
            insert::insert(world, StoredPair { relation: companion, ..pair }, None).map_err(to_bevy)
        });
    }
}

/// The component of `source` goes, or is about to be replaced.
fn discarded<C: Relationship>(world: &mut DeferredWorld, source: Entity) {
    let Some(pair) = pair_of::<C>(world, source) else { return };
    if access::store(world).is_some_and(|store| store.relation(pair.relation).has(source, pair.target)) {
        remove::remove(world, &[pair]);
    }
}

/// Writes the component: the given one, pointed at the target, or the present one, whose other fields stay.
fn insert_component<C: Relationship>(world: &mut World, source: Entity, target: Entity, value: Option<Value<'_>>) {
    let Ok(mut source) = world.get_entity_mut(source) else { return };
    if let Some(mut component) = value.and_then(unpack::<C>) {
        component.set_risky(target);
        source.insert(component);
    } else if source.contains::<C>() {
        source.modify_component::<C, ()>(|component| component.set_risky(target));
    } else {
        source.insert(C::from(target));
    }
}
