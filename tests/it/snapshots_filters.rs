//! Which relations and sources a snapshot is about: of types and by id, named, left out, both, twice, not used yet, transient, dead.

use crate::{
    common::spawn,
    snapshots::{Eats, Hovers, Likes, MountedOn},
};
use bevy_ecs::prelude::*;
use bevy_relations::{
    prelude::*,
    snapshot::{PairFilter, PairSnapshot},
};

#[test]
fn a_filter_chooses_relations_and_sources_and_the_rest_is_left_alone() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    for source in [a, b] {
        world.insert_pair(source, Likes, c).unwrap();
        world.insert_pair(source, Eats(1), c).unwrap();
    }
    world.insert_pair(a, Hovers, b).unwrap();
    let filter = PairFilter::none().relation::<Likes>();
    let likes = PairSnapshot::take(&mut world, filter.clone()).unwrap();
    let of_a = PairSnapshot::take(&mut world, PairFilter::all().sources([a])).unwrap();
    let eats = world.entity_of::<Eats>();
    let by_id = PairSnapshot::take(&mut world, filter.relation_id(eats).sources([b])).unwrap();
    assert_eq!((likes.len(), of_a.len(), by_id.len()), (2, 2, 2));
    let nothing = PairSnapshot::take(&mut world, PairFilter::none()).unwrap();
    assert!(nothing.is_empty());
    for source in [a, b] {
        world.remove_pairs::<Likes>(source);
        world.remove_pairs::<Eats>(source);
        world.insert_pair(source, Likes, source).unwrap();
    }
    nothing.apply(&mut world).unwrap();
    assert_eq!(world.any_pairs().len(), 3);
    of_a.apply(&mut world).unwrap();
    assert!(world.has_pair::<Likes>(a, c) && world.has_pair::<Eats>(a, c));
    assert!(world.has_pair::<Likes>(b, b) && !world.has_pair::<Eats>(b, c));
    likes.apply(&mut world).unwrap();
    assert!(world.has_pair::<Likes>(b, c) && !world.has_pair::<Likes>(b, b));
    assert!(!world.has_pair::<Eats>(b, c));
    by_id.apply(&mut world).unwrap();
    assert!(world.has_pair::<Eats>(b, c) && world.has_pair::<Hovers>(a, b));
    let error = PairSnapshot::take(&mut world, PairFilter::none().relation::<Hovers>()).unwrap_err();
    assert_eq!(error.to_string(), "Hovers is declared `transient`: it is left out of snapshots");
    world.check_pairs().unwrap();
}

#[test]
fn what_a_filter_leaves_out_is_left_alone_whatever_else_it_names() {
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    let costs = world.spawn_relation("costs", RelationTraits::new()).unwrap();
    let link = |world: &mut World, target| {
        world.insert_pair(a, Likes, target).unwrap();
        world.insert_pair(a, Eats(1), target).unwrap();
        world.insert_pair_by_id(a, (costs, target)).unwrap();
    };
    link(&mut world, b);
    let mut take = |filter| PairSnapshot::take(&mut world, filter).unwrap();
    let most = take(PairFilter::all().without::<Eats>().without_id(costs));
    let named = take(PairFilter::none().relation::<Likes>().relation::<Eats>().without::<Likes>());
    // That of a relation that nothing has used yet leaves nothing out, nor does what is named twice.
    let all = take(PairFilter::all().without::<MountedOn>().without::<MountedOn>());
    assert_eq!((most.len(), named.len(), all.len()), (1, 1, 3));
    let clear = |world: &mut World| _ = world.remove_pairs_by_id(a, PairId::ALL);
    clear(&mut world);
    link(&mut world, a);
    most.apply(&mut world).unwrap();
    assert!(world.has_pair::<Likes>(a, b) && !world.has_pair::<Likes>(a, a));
    assert!(world.has_pair::<Eats>(a, a) && world.has_pair_by_id(a, (costs, a)));
    named.apply(&mut world).unwrap();
    assert!(world.has_pair::<Eats>(a, b) && !world.has_pair::<Eats>(a, a) && world.has_pair::<Likes>(a, b));
    assert!(world.has_pair_by_id(a, (costs, a)));
    all.apply(&mut world).unwrap();
    assert!(world.has_pair_by_id(a, (costs, b)) && world.any_pairs().len() == 3);
    // What is kept follows the filter when it is taken again.
    let mut most = most;
    clear(&mut world);
    link(&mut world, a);
    most.update(&mut world).unwrap();
    assert_eq!(most.len(), 1);
    // A relation that is gone cannot be left out.
    world.despawn(costs);
    let message = format!("the filter of the snapshot names the relation {costs}, which is not alive");
    for filter in [PairFilter::all().without_id(costs), PairFilter::none().relation_id(costs)] {
        assert_eq!(PairSnapshot::take(&mut world, filter).unwrap_err().to_string(), message);
    }
    world.check_pairs().unwrap();
}

#[test]
fn what_is_left_out_is_made_no_relation() {
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Likes, b).unwrap();
    world.register_relation::<ChildOf>().unwrap();
    let before = (world.any_pairs().relations().count(), world.entities().count_spawned());
    let filter = PairFilter::all().without::<MountedOn>().without_id(b).without_id(a);
    let mut all = PairSnapshot::take(&mut world, filter).unwrap();
    all.update(&mut world).unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!((world.any_pairs().relations().count(), world.entities().count_spawned()), before);
    assert!(world.traits_of(b).is_none());
    // Once it is a relation, it is left out.
    world.insert_pair_by_id(a, (b, a)).unwrap();
    all.update(&mut world).unwrap();
    assert_eq!(all.len(), 1);
    world.check_pairs().unwrap();
}

#[test]
fn a_save_without_a_relation_leaves_that_alone_when_it_is_loaded() {
    use crate::snapshots_saves::{from_ron, register_types, to_ron};
    let mut world = World::new();
    register_types(&mut world);
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Likes, b).unwrap();
    world.insert_pair(a, Eats(1), b).unwrap();
    for entity in [a, b] {
        world.entity_mut(entity).insert(bevy_relations::snapshot::SaveId(entity.to_bits()));
    }
    let saved = PairSnapshot::take(&mut world, PairFilter::all().without::<Eats>()).unwrap();
    let ron = to_ron(&world, &saved.to_saved(&world).unwrap());
    assert!(ron.contains("Likes") && !ron.contains("Eats"), "{ron}");
    world.remove_pairs::<Likes>(a);
    world.insert_pair(b, Likes, a).unwrap();
    world.insert_pair(b, Eats(7), a).unwrap();
    from_ron(&world, &ron).unwrap().load(&mut world).unwrap();
    assert!(world.has_pair::<Likes>(a, b) && !world.has_pair::<Likes>(b, a));
    assert_eq!(world.pair_value::<Eats>(b, a), Some(&Eats(7)));
    assert_eq!(world.pair_value::<Eats>(a, b), Some(&Eats(1)));
    world.check_pairs().unwrap();
}
