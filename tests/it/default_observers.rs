//! Observers of the components that ends of pairs get by default act before `PairInserted` is triggered: it is not triggered for a pair
//! that they have removed.

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

/// The pairs that are there, by the events.
#[derive(Resource, Default)]
struct Observed(Vec<(Entity, Entity, Entity)>);

fn observed_world() -> World {
    let mut world = world_that_records_errors();
    world.init_resource::<Observed>();
    world.add_observer(|on: On<PairInserted<Wildcard>>, pairs: AnyPairs, mut observed: ResMut<Observed>| {
        assert!(
            pairs.has(on.source, PairId::new(on.relation, on.target)),
            "it is there when its insertion is observed"
        );
        observed.0.push((on.source, on.relation, on.target));
    });
    world.add_observer(|on: On<PairRemoved<Wildcard>>, mut observed: ResMut<Observed>| {
        observed.0.retain(|&pair| pair != (on.source, on.relation, on.target));
    });
    world
}

#[test]
fn no_insertion_is_observed_of_a_pair_that_an_observer_of_a_default_has_removed() {
    type Act = fn(&mut World, Entity, Entity);
    let acts: [Act; 4] = [
        |world, source, _| _ = world.remove_pairs::<Founds>(source),
        |world, source, _| _ = world.despawn(source),
        |world, _, target| _ = world.despawn(target),
        |world, _, target| _ = world.entity_mut(target).remove::<City>(),
    ];
    for act in acts {
        let mut world = observed_world();
        let [source, target] = spawn(&mut world);
        world.add_observer(move |_: On<Add<City>>, mut commands: Commands| {
            commands.queue(move |world: &mut World| act(world, source, target));
        });
        world.insert_pair(source, Founds, target).unwrap();
        assert_eq!(world.resource::<Observed>().0, []);
        assert_eq!(world.pairs::<Founds>().iter().count(), 0);
        world.check_pairs().unwrap();
        take_reported_errors();
    }
}

/// Its number serves another relation by then.
#[test]
fn no_insertion_is_observed_under_a_relation_that_has_the_number_of_the_one_that_went() {
    let mut world = observed_world();
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
    assert_eq!(world.resource::<Observed>().0, []);
    world.check_pairs().unwrap();
}
