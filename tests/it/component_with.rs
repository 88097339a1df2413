//! `with`, set on the entity of a component: adding the component adds other components and tags.

use crate::common::{refused, relation, spawn, take_errors, unpaid::CrewOf, world_that_records_errors};
use bevy_ecs::prelude::*;
use bevy_reflect::prelude::ReflectDefault;
use bevy_relations::{error::TraitsError, prelude::*, relation::OnInstantiate};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Component, Clone, Copy, Default)]
struct Burning;

#[derive(Component, Clone, Copy, Default, PartialEq, Debug)]
struct Heat(u32);

#[derive(Component, Clone, Default, PartialEq, Debug)]
struct Smoke(u32);

/// No default of it is known.
#[derive(Component)]
struct Fuel;

#[derive(Component, bevy_reflect::Reflect, Default, PartialEq, Debug)]
#[reflect(Component, Default)]
struct Light {
    range: u32,
}

/// No component.
struct Glowing;

#[derive(Component, Relation)]
#[relation(component)]
struct Heats;

fn new() -> RelationTraits {
    RelationTraits::new()
}

fn entity_of<C: Component>(world: &mut World) -> Entity {
    world.register_component::<C>();
    world.entity_of::<C>()
}

fn entity_of_light(world: &mut World) -> Entity {
    world.init_resource::<AppTypeRegistry>();
    world.resource::<AppTypeRegistry>().write().register::<Light>();
    entity_of::<Light>(world)
}

/// A world in which `Burning` has the companions `Heat` and a tag, `Heat` has `Smoke`, and `Smoke` has `Light`.
fn world_with_companions() -> (World, Entity) {
    let mut world = world_that_records_errors();
    let [hot] = spawn(&mut world);
    let burning = entity_of::<Burning>(&mut world);
    world.set_traits(burning, new().with_component::<Heat>().with_id(hot)).unwrap();
    let heat = entity_of::<Heat>(&mut world);
    world.set_traits(heat, new().with_component::<Smoke>()).unwrap();
    let (smoke, light) = (entity_of::<Smoke>(&mut world), entity_of_light(&mut world));
    world.set_traits(smoke, new().with_id(light)).unwrap();
    (world, hot)
}

#[track_caller]
fn assert_companions(world: &World, entity: Entity, hot: Entity) {
    assert!(world.entity(entity).contains::<Heat>(), "by its type");
    assert!(world.tags(entity).any(|tag| tag == hot), "a tag");
    assert_eq!(world.get::<Smoke>(entity), Some(&Smoke(0)), "the companion of a companion");
    assert_eq!(world.get::<Light>(entity), Some(&Light { range: 0 }), "by reflection");
}

#[test]
fn adding_a_component_adds_its_companions() {
    let (mut world, hot) = world_with_companions();
    let [inserted] = spawn(&mut world);
    world.entity_mut(inserted).insert(Burning);
    assert_companions(&world, inserted, hot);
    let spawned = world.spawn((Burning, Heat(7))).id();
    assert_companions(&world, spawned, hot);
    assert_eq!(world.get::<Heat>(spawned), Some(&Heat(7)), "what is there stays");
    let batch: Vec<Entity> = world.spawn_batch([(Burning, Smoke(0)), (Burning, Smoke(0))]).collect();
    world.flush();
    let commanded = world.commands().spawn(Burning).id();
    world.flush();
    for entity in batch.into_iter().chain([commanded]) {
        assert_companions(&world, entity, hot);
    }
    assert_eq!(take_errors(), []);
    world.check_pairs().unwrap();
}

#[test]
fn removal_is_not_mirrored_and_inserting_what_is_there_adds_nothing() {
    let (mut world, hot) = world_with_companions();
    let entity = world.spawn(Burning).id();
    world.entity_mut(entity).remove::<Heat>();
    assert!(world.entity(entity).contains::<Burning>());
    world.entity_mut(entity).insert(Burning);
    assert!(!world.entity(entity).contains::<Heat>());
    world.entity_mut(entity).remove::<Burning>();
    assert!(world.tags(entity).any(|tag| tag == hot));
    world.entity_mut(entity).insert(Burning);
    assert_companions(&world, entity, hot);
    world.check_pairs().unwrap();
}

#[test]
fn facts_about_the_pairs_of_a_component_type_hold_beside_its_companions() {
    let mut world = world_that_records_errors();
    let [a, b, c, hot] = spawn(&mut world);
    let burning = entity_of::<Burning>(&mut world);
    let traits = new().exclusive().acyclic().on_target_despawn(CleanupPolicy::Despawn).with_id(hot);
    world.set_traits(burning, traits.inheritable().on_instantiate(OnInstantiate::Inherit)).unwrap();
    world.insert_pair_by_id(a, (burning, b)).unwrap();
    assert!(world.has_pair_by_id(a, PairId::new(hot, b)), "the companion of a pair has its target");
    assert!(!world.entity(a).contains::<Burning>() && world.tags(a).len() == 0, "a pair is no component");
    world.insert_pair_by_id(a, (burning, c)).unwrap();
    assert!(!world.has_pair_by_id(a, PairId::new(burning, b)), "exclusive");
    refused(&mut world, |world| world.insert_pair_by_id(c, (burning, a)));
    world.entity_mut(b).insert(Burning);
    assert!(world.tags(b).any(|tag| tag == hot));
    assert!(world.pairs_of(b).iter().all(|&(relation, _)| relation != burning), "a component is no pair");
    world.despawn(c);
    assert!(world.get_entity(a).is_err() && world.get_entity(b).is_ok());
    assert_eq!(take_errors(), []);
    world.check_pairs().unwrap();
}

#[test]
fn a_type_that_is_a_relation_too_has_companions_as_a_component() {
    for declared_first in [true, false] {
        let mut world = world_that_records_errors();
        if declared_first {
            world.register_relation::<Heats>().unwrap();
        }
        let [hot] = spawn(&mut world);
        let (heats, child_of) = (entity_of::<Heats>(&mut world), world.entity_of::<ChildOf>());
        world.set_traits(heats, new().with_component::<Smoke>().with_id(hot)).unwrap();
        world.register_relation::<Heats>().unwrap();
        // Only pairs can have such a companion, which a relation may well be declared with.
        world.set_traits(heats, new().with_id(child_of)).unwrap();
        let holder = world.spawn(Heats).id();
        assert!(world.entity(holder).contains::<Smoke>() && world.tags(holder).any(|tag| tag == hot));
        assert!(!world.entity(holder).contains::<ChildOf>());
        assert_eq!(take_errors(), []);
        world.check_pairs().unwrap();
    }
}

#[test]
fn a_companion_that_is_gone_is_none_any_more() {
    let (mut world, hot) = world_with_companions();
    world.despawn(hot);
    let entity = world.spawn(Burning).id();
    assert!(world.entity(entity).contains::<Light>() && world.tags(entity).len() == 0);
    // Types get another entity.
    for entity in [world.entity_of::<Heat>(), world.entity_of::<Smoke>(), world.entity_of::<Light>()] {
        world.despawn(entity);
    }
    take_errors();
    let entity = world.spawn(Burning).id();
    assert!(world.entity(entity).contains::<Light>());
    assert_eq!(take_errors(), []);
    world.check_pairs().unwrap();
}

#[test]
fn a_type_that_is_no_component_is_a_tag() {
    let mut world = world_that_records_errors();
    let (burning, glowing) = (entity_of::<Burning>(&mut world), world.entity_of::<Glowing>());
    world.set_traits(burning, new().with_id(glowing)).unwrap();
    let first = world.spawn(Burning).id();
    assert!(world.tags(first).eq([glowing]));
    world.despawn(glowing);
    assert_eq!(take_errors().len(), 1, "it was in use");
    let second = world.spawn(Burning).id();
    let glowing = world.entity_of::<Glowing>();
    assert!(world.tags(second).eq([glowing]), "its type has another entity");
    // What is registered as a component later needs a default.
    let mut world = world_that_records_errors();
    let (burning, fuel) = (entity_of::<Burning>(&mut world), world.entity_of::<Fuel>());
    world.set_traits(burning, new().with_id(fuel)).unwrap();
    world.register_component::<Fuel>();
    let holder = world.spawn(Burning).id();
    let errors = take_errors();
    assert!(errors.len() == 1 && errors[0].1.contains("no default of Fuel"), "{errors:?}");
    assert!(world.entity(holder).contains::<Burning>() && world.tags(holder).len() == 0);
    world.check_pairs().unwrap();
}

#[test]
fn companions_are_added_again_after_all_observers_were_despawned() {
    let (mut world, hot) = world_with_companions();
    for _ in 0..2 {
        world.despawn_all::<With<Observer>>();
        let early = world.spawn(Burning).id();
        assert!(world.check_pairs().unwrap_err().to_string().contains("maintain_pairs"));
        world.maintain_pairs();
        world.check_pairs().unwrap();
        let late = world.spawn(Burning).id();
        assert_companions(&world, early, hot);
        assert_companions(&world, late, hot);
    }
    assert_eq!(take_errors(), []);
}

#[test]
fn only_components_with_companions_are_observed() {
    let mut world = World::new();
    let burning = entity_of::<Burning>(&mut world);
    let observers = |world: &mut World| world.query::<&Observer>().iter(world).count();
    let before = observers(&mut world);
    world.set_traits(burning, new().on_relation_despawn(CleanupPolicy::Remove).exclusive()).unwrap();
    relation(&mut world, new().with_id(burning));
    assert_eq!(observers(&mut world), before);
    world.set_traits(burning, new().with_component::<Heat>()).unwrap();
    assert_eq!(observers(&mut world), before + 1);
    let [tag] = spawn(&mut world);
    world.set_traits(burning, new().with_id(tag)).unwrap();
    assert_eq!(observers(&mut world), before + 1, "one for all companions");
    let holder = world.spawn(Burning).id();
    assert!(world.entity(holder).contains::<Heat>() && world.tags(holder).eq([tag]));
    world.set_traits(burning, new().with_component::<Heat>().with_id(tag)).unwrap();
}

/// What an observer does to the entity of its event.
type Hostile = fn(Entity, &mut Commands);

#[test]
fn observers_may_remove_what_is_added_and_despawn_its_entity() {
    const REMOVE: [Hostile; 4] = [
        |entity, commands| _ = commands.entity(entity).remove::<(Burning, Heat)>(),
        |entity, commands| commands.entity(entity).despawn(),
        |entity, commands| _ = commands.entity(entity).clear(),
        |entity, commands| {
            commands.queue(move |world: &mut World| {
                world.despawn_all::<With<Observer>>();
                world.maintain_pairs();
                let _ = world.try_despawn(entity);
            });
        },
    ];
    for hostile in REMOVE {
        for event in 0..4 {
            let (mut world, _) = world_with_companions();
            match event {
                0 => world.add_observer(move |on: On<Add<Burning>>, mut commands: Commands| {
                    hostile(on.entity, &mut commands);
                }),
                1 => world.add_observer(move |on: On<Add<Heat>>, mut commands: Commands| {
                    hostile(on.entity, &mut commands);
                }),
                2 => world.add_observer(move |on: On<Add<Light>>, mut commands: Commands| {
                    hostile(on.entity, &mut commands);
                }),
                _ => world.add_observer(move |on: On<Insert<()>>, mut commands: Commands| {
                    if commands.get_entity(on.entity).is_ok() {
                        hostile(on.entity, &mut commands);
                    }
                }),
            };
            world.flush();
            take_errors();
            let entity = world.spawn_empty().id();
            world.entity_mut(entity).insert_if_new(Burning);
            world.flush();
            let alive = world.get_entity(entity);
            assert!(alive.is_err() || !alive.is_ok_and(|entity| entity.contains::<Burning>() && event == 0));
            world.maintain_pairs();
            world.check_pairs().unwrap();
        }
    }
}

#[test]
fn a_panic_in_an_observer_leaves_a_world_in_which_companions_are_added() {
    let (mut world, hot) = world_with_companions();
    let victim = world.spawn_empty().id();
    world.add_observer(move |on: On<Add<Burning>>| assert_ne!(on.entity, victim, "on purpose"));
    world.add_observer(move |on: On<Add<Smoke>>| assert_ne!(on.entity, victim, "on purpose"));
    for _ in 0..2 {
        let _ = catch_unwind(AssertUnwindSafe(|| _ = world.entity_mut(victim).insert(Burning)));
        let _ = catch_unwind(AssertUnwindSafe(|| world.flush()));
        world.check_pairs().unwrap();
        let other = world.spawn(Burning).id();
        assert_companions(&world, other, hot);
        world.entity_mut(victim).remove::<(Burning, Heat, Smoke)>();
    }
}

#[test]
fn an_observer_may_ask_for_types_and_traits_while_companions_are_added() {
    let (mut world, hot) = world_with_companions();
    world.add_observer(|_: On<Add<Light>>, mut commands: Commands, types: Res<AppTypeRegistry>| {
        types.write().register::<u8>();
        commands.queue(|world: &mut World| {
            let glowing = world.entity_of::<Glowing>();
            let smoke = world.entity_of::<Smoke>();
            let error = world.set_traits(smoke, RelationTraits::new().with_id(glowing)).unwrap_err();
            assert!(matches!(error, TraitsError::ComponentInUse { .. }));
        });
    });
    let entity = world.spawn(Burning).id();
    assert_companions(&world, entity, hot);
    assert_eq!(take_errors(), []);
    world.check_pairs().unwrap();
}

#[test]
fn companions_that_cannot_be_added_are_refused() {
    let mut world = World::new();
    let (burning, fuel) = (entity_of::<Burning>(&mut world), entity_of::<Fuel>(&mut world));
    world.adopt_relationship::<CrewOf>();
    for companion in [fuel, world.entity_of::<ChildOf>(), world.entity_of::<CrewOf>()] {
        let error = refused(&mut world, |world| world.set_traits(burning, new().with_id(companion)));
        assert!(matches!(error, TraitsError::NoDefault { .. }), "{error}");
    }
    let error = refused(&mut world, |world| world.set_traits(burning, new().with_id(fuel)));
    assert_eq!(
        error.to_string(),
        "traits of Burning were rejected: no default of Fuel, named in `with`, is known"
    );
    world.set_traits(burning, new().with_component::<Heat>()).unwrap();
    let heat = entity_of::<Heat>(&mut world);
    let error = refused(&mut world, |world| world.set_traits(heat, new().with_component::<Burning>()));
    assert!(matches!(error, TraitsError::WithCycle { .. }), "{error}");
    let [tag] = spawn(&mut world);
    let holder = world.spawn((Name::new("Stove"), Heat(1))).id();
    let error = refused(&mut world, |world| world.set_traits(heat, new().with_id(tag)));
    assert!(matches!(&error, TraitsError::ComponentInUse { source_entity, .. } if *source_entity == holder));
    let expected = format!("`with` of Heat cannot change: Stove ({holder}) has the component");
    assert_eq!(error.to_string(), expected);
    world.set_traits(heat, new().on_relation_despawn(CleanupPolicy::Remove)).unwrap();
}

#[test]
fn only_what_is_known_to_be_a_component_has_components_as_companions() {
    let mut world = World::new();
    let [tag] = spawn(&mut world);
    let (glowing, crew_of) = (world.entity_of::<Glowing>(), world.entity_of::<ChildOf>());
    for entity in [tag, glowing, crew_of] {
        let error = refused(&mut world, |world| world.set_traits(entity, new().with_component::<Heat>()));
        assert!(
            matches!(
                error,
                TraitsError::NotAComponent { .. }
                    | TraitsError::NotRegistered { .. }
                    | TraitsError::Frozen { .. }
            ),
            "{error}"
        );
    }
    let error = world.spawn_relation("R", new().with_component::<Heat>()).unwrap_err();
    assert!(matches!(error, TraitsError::NotAComponent { .. }), "{error}");
    // It may be registered as a component next.
    let error = refused(&mut world, |world| world.set_traits(glowing, new().with_id(tag)));
    assert!(matches!(error, TraitsError::NotRegistered { .. }), "{error}");
    world.set_traits(glowing, new().exclusive()).unwrap();
}
