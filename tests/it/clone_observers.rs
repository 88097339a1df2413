//! What observers of pairs do while entities are cloned.

use crate::common::{spawn, take_reported_errors, world_that_records_errors};
use bevy_ecs::{entity::EntityCloner, prelude::*, relationship::RelationshipTarget};
use bevy_relations::{error::PairRefusal, prelude::*, relation::PairContext};

#[derive(Relation, Clone, PartialEq, Debug)]
struct Eats(u32);

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
#[relation(on_last_source = Despawn)]
struct Uses;

#[derive(Component, Clone)]
struct Hungry;

#[derive(Resource, Default)]
struct Log(Vec<(Entity, Entity)>);

fn clone_of(world: &mut World, original: Entity) -> Entity {
    let clone = world.spawn_empty().id();
    EntityCloner::build_opt_out(world).clone_entity(original, clone);
    world.flush();
    world.check_pairs().unwrap();
    clone
}

#[test]
fn observers_see_the_components_of_the_clone() {
    let mut world = world_that_records_errors();
    world.init_resource::<Log>();
    let [apple, pear] = spawn(&mut world);
    let original = world.spawn((Hungry, Pair(Eats(1), apple), Pair(Likes, pear))).id();
    world.add_observer(
        |on: On<PairInserted<Eats>>, hungry: Query<(), With<Hungry>>, mut log: ResMut<Log>| {
            assert!(hungry.contains(on.source));
            log.0.push((on.source, on.target));
        },
    );
    let clone = clone_of(&mut world, original);
    assert_eq!(world.resource::<Log>().0, [(clone, apple)]);
    assert_eq!(world.pair_value::<Eats>(clone, apple), Some(&Eats(1)));
    assert!(world.has_pair::<Likes>(clone, pear));
}

#[test]
fn an_observer_may_despawn_a_clone_and_what_it_has_pairs_with() {
    let ways: [fn(On<PairInserted<Likes>>, Commands); 4] = [
        |on, mut commands| commands.entity(on.source).despawn(),
        |on, mut commands| commands.entity(on.source).despawn_with_dependents(),
        |on, mut commands| commands.entity(on.target).despawn(),
        |on, mut commands| _ = commands.entity(on.source).clear(),
    ];
    for (number, way) in ways.into_iter().enumerate() {
        let mut world = world_that_records_errors();
        let [apple, pear, texture] = spawn(&mut world);
        let pairs = pairs![(Likes, apple), (Likes, pear), (Eats(1), apple), (Uses, texture)];
        let original = world.spawn((Hungry, pairs)).id();
        world.insert_tag(original, texture).unwrap();
        world.add_observer(way);
        let clone = clone_of(&mut world, original);
        assert_eq!(world.get_entity(clone).is_ok(), number >= 2, "way {number}");
        assert!(world.get_entity(original).is_ok() && world.get_entity(texture).is_ok());
        let hungry = world.query_filtered::<Entity, With<Hungry>>().iter(&world).count();
        assert_eq!(hungry, if number == 2 { 2 } else { 1 }, "way {number}");
        drop(take_reported_errors());
    }
}

#[test]
fn an_observer_may_change_what_is_being_cloned() {
    let ways: [fn(On<Add<Hungry>>, Commands, Query<Entity, With<Name>>); 4] = [
        |on, mut commands, _| commands.entity(on.entity).despawn(),
        |_, mut commands, originals| commands.entity(originals.single().unwrap()).despawn(),
        |_, mut commands, originals| {
            commands.entity(originals.single().unwrap()).remove_pairs::<Eats>().remove_pairs::<Likes>();
        },
        |_, mut commands, _| commands.queue(|world: &mut World| world.clear_pairs()),
    ];
    for (number, way) in ways.into_iter().enumerate() {
        let mut world = world_that_records_errors();
        let [apple, pear] = spawn(&mut world);
        let original = world.spawn((Hungry, Pair(Eats(1), apple), Pair(Likes, pear), Name::new("it"))).id();
        world.add_observer(way);
        let clone = world.spawn_empty().id();
        EntityCloner::build_opt_out(&mut world).deny::<Name>().clone_entity(original, clone);
        world.flush();
        world.check_pairs().unwrap();
        // The pairs come before the commands of observers of the components.
        assert_eq!(world.get_entity(clone).is_err(), number == 0);
        assert_eq!(world.pairs_of(clone).len(), [0, 2, 2, 0][number], "way {number}");
        assert_eq!(take_reported_errors(), [""; 0], "way {number}");
    }
}

#[test]
fn a_relation_that_goes_while_its_pairs_are_cloned_is_not_copied() {
    let mut world = world_that_records_errors();
    let [a, b] = spawn(&mut world);
    let relation = world.spawn_relation("R", RelationTraits::new()).unwrap();
    world.entity_mut(a).insert(Hungry);
    world.insert_pair_by_id(a, (relation, b)).unwrap();
    world.add_observer(move |_: On<Add<Hungry>>, mut commands: Commands| commands.entity(relation).despawn());
    let clone = clone_of(&mut world, a);
    assert!(world.pairs_of(clone).is_empty() && take_reported_errors().is_empty());
}

/// Not the first of them: Bevy would go on to clone into what was despawned with it.
#[test]
fn observers_may_despawn_a_linked_clone_with_which_no_other_goes() {
    for despawned in 1..3 {
        let mut world = world_that_records_errors();
        let root = world.spawn(Name::new("0")).id();
        let left = world.spawn((Name::new("1"), ChildOf(root))).id();
        let right = world.spawn((Name::new("2"), ChildOf(root))).id();
        for (source, target) in [(root, left), (left, right), (right, left)] {
            world.insert_pair(source, Likes, target).unwrap();
        }
        let originals = [root, left, right];
        world.add_observer(
            move |on: On<PairInserted<Likes>>, names: Query<&Name>, mut commands: Commands| {
                let name = names.get(on.source).map(ToString::to_string);
                if name == Ok(despawned.to_string()) && !originals.contains(&on.source) {
                    commands.entity(on.source).despawn();
                }
            },
        );
        let clone = world.spawn_empty().id();
        EntityCloner::build_opt_out(&mut world).linked_cloning(true).clone_entity(root, clone);
        world.flush();
        world.check_pairs().unwrap();
        assert_eq!(world.get::<Children>(clone).map(RelationshipTarget::len), Some(1));
        assert!(originals.into_iter().all(|original| world.get_entity(original).is_ok()));
        drop(take_reported_errors());
    }
}

#[derive(Relation, Clone, PartialEq, Debug)]
#[relation(validate = one_more)]
struct Rates(u32);

fn one_more(rates: &mut Rates, pair: &PairContext<'_>) -> Result<(), PairRefusal> {
    rates.0 += 1;
    if pair.world.get::<Hungry>(pair.source).is_some() { Err("hungry".into()) } else { Ok(()) }
}

#[test]
fn the_values_of_a_clone_are_validated() {
    let mut world = world_that_records_errors();
    let [apple] = spawn(&mut world);
    let original = world.spawn(Pair(Rates(1), apple)).id();
    let clone = clone_of(&mut world, original);
    assert_eq!(world.pair_value::<Rates>(original, apple), Some(&Rates(2)));
    assert_eq!(world.pair_value::<Rates>(clone, apple), Some(&Rates(3)));
    world.entity_mut(original).insert(Hungry);
    let clone = clone_of(&mut world, original);
    assert!(!world.has_pair::<Rates>(clone, apple));
    assert!(take_reported_errors()[0].contains("hungry"));
}
