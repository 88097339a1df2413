//! Observers of the components that ends of pairs get by default act before the insertion of the pairs is told: what they take away is
//! not told as inserted afterwards.

use crate::common::{spawn, take_reported_errors, world_that_records_errors};
use bevy_ecs::{lifecycle::Add, prelude::*};
use bevy_relations::{
    prelude::*,
    relation::{EndConstraint, OnMissing, Wildcard},
};

#[derive(Component, Clone, Default)]
struct City;

#[derive(Relation)]
#[relation(target(City), on_missing = Insert)]
struct Founds;

/// The pairs that are there, as events tell it.
#[derive(Resource, Default)]
struct Told(Vec<(Entity, Entity, Entity)>);

fn world_that_is_told() -> World {
    let mut world = world_that_records_errors();
    world.init_resource::<Told>();
    world.add_observer(|on: On<PairInserted<Wildcard>>, pairs: AnyPairs, mut told: ResMut<Told>| {
        assert!(pairs.has(on.source, PairId::new(on.relation, on.target)), "it is there when it is told");
        told.0.push((on.source, on.relation, on.target));
    });
    world.add_observer(|on: On<PairRemoved<Wildcard>>, mut told: ResMut<Told>| {
        told.0.retain(|&pair| pair != (on.source, on.relation, on.target));
    });
    world
}

#[test]
fn a_pair_that_an_observer_of_a_default_removes_is_not_told_as_inserted_afterwards() {
    type Act = fn(&mut World, Entity, Entity);
    let acts: [Act; 4] = [
        |world, source, _| _ = world.remove_pairs::<Founds>(source),
        |world, source, _| _ = world.despawn(source),
        |world, _, target| _ = world.despawn(target),
        |world, _, target| _ = world.entity_mut(target).remove::<City>(),
    ];
    for act in acts {
        let mut world = world_that_is_told();
        let [source, target] = spawn(&mut world);
        world.add_observer(move |_: On<Add<City>>, mut commands: Commands| {
            commands.queue(move |world: &mut World| act(world, source, target));
        });
        world.insert_pair(source, Founds, target).unwrap();
        assert_eq!(world.resource::<Told>().0, []);
        assert_eq!(world.pairs::<Founds>().iter().count(), 0);
        world.check_pairs().unwrap();
        take_reported_errors();
    }
}

/// Its number serves another relation by then.
#[test]
fn a_relation_that_takes_the_number_of_one_that_goes_is_not_told_the_pair_of_that() {
    let mut world = world_that_is_told();
    let [source, target] = spawn(&mut world);
    let city = EndConstraint::with_default::<City>();
    let traits = RelationTraits::new().target(city).on_missing(OnMissing::Insert);
    let old = world.spawn_relation("Old", traits).unwrap();
    world.add_observer(move |_: On<Add<City>>, mut commands: Commands| {
        commands.queue(move |world: &mut World| {
            world.despawn(old);
            world.spawn_relation("New", RelationTraits::new()).unwrap();
        });
    });
    world.insert_pair_by_id(source, (old, target)).unwrap();
    assert_eq!(world.resource::<Told>().0, []);
    world.check_pairs().unwrap();
}
