//! Companions of pairs that Bevy's relationship components keep, whichever API writes them.

use crate::common::{CrewOf, spawn, take_reported_errors, world_that_records_errors};
use bevy_ecs::prelude::*;
use bevy_relations::{
    error::PairRefusal,
    prelude::*,
    relation::PairContext,
    snapshot::{PairFilter, PairSnapshot},
};

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
#[relation(acyclic)]
struct Outranks;

#[derive(Relation, Default)]
#[relation(validate = refuse)]
struct Owes(#[expect(dead_code, reason = "pairs have a value by it")] u32);

fn refuse(_: &mut Owes, _: &PairContext<'_>) -> Result<(), PairRefusal> {
    Err("nothing is owed".into())
}

#[derive(Component, Clone)]
#[relationship(relationship_target = Guests)]
struct GuestOf(Entity);

#[derive(Component)]
#[relationship_target(relationship = GuestOf)]
struct Guests(Vec<Entity>);

#[test]
fn a_component_whose_companion_is_refused_is_removed_and_reported() {
    let mut world = world_that_records_errors();
    let traits = CrewOf::traits().with::<Likes>().with::<Outranks>();
    world.adopt_relationship_with::<CrewOf>(traits).unwrap();
    world.adopt_relationship_with::<GuestOf>(GuestOf::traits().with::<Owes>()).unwrap();
    let [cook, ship] = spawn(&mut world);
    world.insert_pair(ship, Outranks, cook).unwrap();
    world.add_observer(|_: On<PairInserted<CrewOf>>| panic!("the pair is not inserted"));

    world.entity_mut(cook).insert(CrewOf { ship, wage: 1 });
    assert!(!world.entity(cook).contains::<CrewOf>() && world.pairs_of(cook).is_empty());
    let errors = take_reported_errors();
    assert!(matches!(&*errors, [error] if error.contains("cycle")), "{errors:?}");

    // The value of the companion is refused when it is made.
    world.entity_mut(cook).insert(GuestOf(ship));
    assert!(!world.entity(cook).contains::<GuestOf>() && world.pairs_of(cook).is_empty());
    let errors = take_reported_errors();
    assert!(matches!(&*errors, [error] if error.contains("nothing is owed")), "{errors:?}");
    world.check_pairs().unwrap();
}

#[test]
fn components_that_were_there_before_need_their_companions_too() {
    let mut world = world_that_records_errors();
    let [cook, mate, ship] = spawn(&mut world);
    world.entity_mut(cook).insert(GuestOf(ship));
    world.entity_mut(mate).insert(GuestOf(ship));
    world.insert_pair(ship, Outranks, cook).unwrap();
    world.adopt_relationship_with::<GuestOf>(GuestOf::traits().with::<Outranks>()).unwrap();
    assert!(!world.entity(cook).contains::<GuestOf>() && world.pairs_of(cook).is_empty());
    assert!(world.has_pair::<GuestOf>(mate, ship) && world.has_pair::<Outranks>(mate, ship));
    assert_eq!(take_reported_errors().len(), 1);
    world.check_pairs().unwrap();
}

#[test]
fn a_snapshot_brings_a_component_back_without_a_companion_that_was_removed() {
    let mut world = world_that_records_errors();
    world.adopt_relationship_with::<GuestOf>(GuestOf::traits().with::<Outranks>()).unwrap();
    let [cook, ship, other] = spawn(&mut world);
    world.entity_mut(cook).insert(GuestOf(ship));
    world.remove_pair::<Outranks>(cook, ship);
    world.insert_pair(ship, Outranks, cook).unwrap();
    let before = PairSnapshot::take(&mut world, PairFilter::all()).unwrap();
    for moved in [true, false] {
        let mut cook_entity = world.entity_mut(cook);
        match moved {
            true => cook_entity.insert(GuestOf(other)),
            false => cook_entity.remove::<GuestOf>(),
        };
        before.apply(&mut world).unwrap();
        assert!(world.has_pair::<GuestOf>(cook, ship));
        assert!(world.pairs::<Outranks>().iter().eq([(ship, cook)]));
        assert_eq!(PairSnapshot::take(&mut world, PairFilter::all()).unwrap().len(), before.len());
        world.check_pairs().unwrap();
    }
    assert_eq!(take_reported_errors(), [""; 0]);
}
