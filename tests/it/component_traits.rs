//! Traits that are set on the entity of a component hold for the component.

use crate::common::{refused, spawn, take_errors, world_that_records_errors};
use bevy_ecs::{prelude::*, resource::IsResource};
use bevy_relations::{error::DespawnError, prelude::*};

#[derive(Component, Clone, Copy, Default)]
struct Burning;

#[derive(Component, Clone, Copy, Default, PartialEq, Debug)]
struct Heat(u32);

#[derive(Relation)]
#[relation(on_target_despawn = Despawn)]
struct PartOf;

#[derive(Resource, Default)]
struct Gone(Vec<Entity>);

#[derive(Resource)]
struct Clock;

/// Ways to despawn an entity.
const WAYS: [fn(&mut World, Entity); 2] = [
    |world, entity| world.despawn_with_dependents(entity).unwrap(),
    |world, entity| _ = world.despawn(entity),
];

fn policy(world: &mut World, policy: CleanupPolicy) -> Entity {
    let burning = world.entity_of::<Burning>();
    world.set_traits(burning, RelationTraits::new().on_relation_despawn(policy)).unwrap();
    burning
}

#[test]
fn a_component_is_removed_everywhere_when_the_entity_of_its_type_goes_with_remove() {
    for despawn in WAYS {
        let mut world = world_that_records_errors();
        let burning = policy(&mut world, CleanupPolicy::Remove);
        let (a, b) = (world.spawn((Burning, Heat(1))).id(), world.spawn(Burning).id());
        world.entity_mut(burning).insert(Burning);
        despawn(&mut world, burning);
        assert!(world.get_entity(burning).is_err());
        assert!(!world.entity(a).contains::<Burning>() && !world.entity(b).contains::<Burning>());
        assert_eq!(world.get::<Heat>(a), Some(&Heat(1)), "other components stay");
        assert_eq!(take_errors(), []);
        world.check_pairs().unwrap();
        // The type gets another entity, with the same policy.
        let again = world.entity_of::<Burning>();
        world.entity_mut(a).insert(Burning);
        despawn(&mut world, again);
        assert!(!world.entity(a).contains::<Burning>());
    }
}

#[test]
fn entities_with_a_component_go_with_the_entity_of_its_type_dependents_first_and_once_each() {
    for (ours, despawn) in [true, false].into_iter().zip(WAYS) {
        let mut world = world_that_records_errors();
        world.init_resource::<Gone>();
        world.add_observer(|on: On<Despawn<Heat>>, mut gone: ResMut<Gone>| gone.0.push(on.entity));
        let burning = policy(&mut world, CleanupPolicy::Despawn);
        world.entity_mut(burning).insert(Heat(0));
        let a = world.spawn((Burning, Heat(1))).id();
        let b = world.spawn((Burning, Heat(2))).id();
        let part = world.spawn(Heat(3)).id();
        let child = world.spawn((Heat(4), ChildOf(part), Burning)).id();
        let bystander = world.spawn(Heat(5)).id();
        world.insert_pair(part, PartOf, a).unwrap();
        // A second way to the same entity.
        world.insert_pair(child, PartOf, b).unwrap();
        despawn(&mut world, burning);
        let gone = core::mem::take(&mut world.resource_mut::<Gone>().0);
        let mut sorted = gone.clone();
        sorted.sort_unstable();
        let mut expected = vec![burning, a, b, part, child];
        expected.sort_unstable();
        assert_eq!(sorted, expected, "each once");
        let at = |entity| gone.iter().position(|&other| other == entity).unwrap();
        assert!(at(child) < at(part) && at(part) < at(a) && at(child) < at(b), "{gone:?}");
        assert_eq!(at(burning), if ours { 4 } else { 0 });
        assert!(world.get_entity(bystander).is_ok());
        assert_eq!(take_errors(), []);
        world.check_pairs().unwrap();
    }
}

#[test]
fn a_component_whose_type_entity_goes_with_another_entity_takes_its_holders_along() {
    for despawn in WAYS {
        let mut world = world_that_records_errors();
        let burning = policy(&mut world, CleanupPolicy::Despawn);
        let [root, second_holder] = spawn(&mut world);
        world.entity_mut(burning).insert(ChildOf(root));
        let heat = world.entity_of::<Heat>();
        world.set_traits(heat, RelationTraits::new().on_relation_despawn(CleanupPolicy::Despawn)).unwrap();
        let holder = world.spawn(Burning).id();
        // Found only after the holders of the first component are known.
        world.entity_mut(heat).insert(ChildOf(holder));
        world.entity_mut(second_holder).insert(Heat(1));
        despawn(&mut world, root);
        for entity in [root, burning, heat, holder, second_holder] {
            assert!(world.get_entity(entity).is_err(), "{entity}");
        }
        assert_eq!(take_errors(), []);
        world.check_pairs().unwrap();
    }
}

#[test]
fn the_entity_of_a_component_in_use_is_not_despawned_unless_a_policy_allows_it() {
    for declared in [false, true] {
        let mut world = world_that_records_errors();
        let burning = world.entity_of::<Burning>();
        if declared {
            policy(&mut world, CleanupPolicy::Refuse);
        }
        let holder = world.spawn((Burning, Heat(1))).id();
        let error = refused(&mut world, |world| world.despawn_with_dependents(burning));
        let DespawnError::ComponentInUse { entity, component, source_entity } = &error else {
            panic!("{error}");
        };
        assert!(*entity == burning && component.entity() == burning && *source_entity == holder);
        assert_eq!(component.to_string(), "Burning");
        assert!(error.to_string().contains(&holder.to_string()), "{error}");
        assert!(world.entity(holder).contains::<Burning>());
        // Also if it would only go with another entity.
        let [root] = spawn(&mut world);
        world.entity_mut(burning).insert(ChildOf(root));
        let error = refused(&mut world, |world| world.despawn_with_dependents(root));
        assert!(matches!(error, DespawnError::ComponentInUse { .. }), "{error}");
        assert_eq!(take_errors(), []);
        // Bevy's despawn cannot be refused.
        world.despawn(burning);
        assert!(!world.entity(holder).contains::<Burning>());
        assert_eq!(world.get::<Heat>(holder), Some(&Heat(1)));
        let errors = take_errors();
        assert!(errors.len() == 1 && errors[0].1.contains("is in use"), "{errors:?}");
        world.check_pairs().unwrap();
        // Not in use any more.
        let burning = world.entity_of::<Burning>();
        world.despawn_with_dependents(burning).unwrap();
        let burning = world.entity_of::<Burning>();
        world.despawn(burning);
        assert_eq!(take_errors(), []);
    }
}

#[test]
fn resources_and_bevys_relationships_are_not_removed_with_the_entity_of_their_type() {
    let mut world = world_that_records_errors();
    world.insert_resource(Clock);
    let [parent] = spawn(&mut world);
    let child = world.spawn(ChildOf(parent)).id();
    for entity in [world.entity_of::<Clock>(), world.entity_of::<ChildOf>()] {
        world.despawn(entity);
    }
    assert!(world.contains_resource::<Clock>() && world.entity(child).contains::<ChildOf>());
    let clock = world.entity_of::<Clock>();
    world.despawn_with_dependents(clock).unwrap();
    world.check_pairs().unwrap();
}

#[test]
fn a_panic_in_an_observer_does_not_keep_a_component_on_the_other_entities() {
    let mut world = world_that_records_errors();
    let burning = policy(&mut world, CleanupPolicy::Remove);
    let holders = [(); 3].map(|()| world.spawn(Burning).id());
    world.add_observer(move |on: On<Remove<Burning>>| assert_ne!(on.entity, holders[0], "on purpose"));
    // Bevy gives a panic in a command to the error handler.
    world.despawn(burning);
    assert_eq!(take_errors().len(), 1);
    let left = holders.iter().filter(|&&holder| world.entity(holder).contains::<Burning>()).count();
    assert!(left <= 1, "{left}");
    world.check_pairs().unwrap();
}

#[test]
fn a_world_with_policies_on_components_can_be_cleared() {
    let mut world = world_that_records_errors();
    for entity in [world.entity_of::<Heat>(), policy(&mut world, CleanupPolicy::Despawn)] {
        world.spawn((Burning, Heat(1)));
        world.entity_mut(entity).insert(Heat(1));
    }
    world.clear_pairs();
    assert_eq!(world.query::<&Burning>().iter(&world).count(), 2, "components are no pairs");
    world.check_pairs().unwrap();
    world.despawn_all::<Without<IsResource>>();
    world.maintain_pairs();
    world.check_pairs().unwrap();
    assert_eq!(world.query::<&Burning>().iter(&world).count(), 0);
}
