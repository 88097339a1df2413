//! Worlds that are emptied as a whole.

use crate::common::{take_reported_errors, world_that_records_errors};
use bevy_ecs::{component::ComponentId, entity::EntityCloner, lifecycle::Add, prelude::*};
use bevy_relations::{prelude::*, relation::Wildcard};
use std::{
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
#[relation(exclusive, traversable, on_target_despawn = Despawn)]
struct MountedOn;

#[derive(Relation)]
struct Owns(Arc<str>);

#[derive(Component)]
struct Plain;

#[derive(Resource, Default)]
struct Heard(u32);

fn panics(run: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(run)).is_err()
}

#[test]
fn a_world_whose_entities_were_cleared_before_takes_relations_into_use() {
    let mut world = World::new();
    world.spawn(Plain);
    world.clear_entities();
    let [bob, alice] = [(); 2].map(|()| world.spawn_empty().id());
    world.insert_pair(bob, Likes, alice).unwrap();
    world.insert_pair(alice, MountedOn, bob).unwrap();
    world.check_pairs().unwrap();
    world.despawn(bob);
    assert!(world.get_entity(alice).is_err());
    world.check_pairs().unwrap();
}

/// Why the test after the next cannot ask for more.
#[test]
fn bevy_itself_breaks_worlds_with_resources_or_observers_when_entities_are_cleared() {
    let mut world = World::new();
    world.insert_resource(Heard(1));
    world.clear_entities();
    assert!(!world.contains_resource::<Heard>());
    assert!(panics(|| world.insert_resource(Heard(2))), "if Bevy mends this, our store can come back too");

    // Bevy calls it unreachable: in a release build the behaviour would be undefined.
    if cfg!(debug_assertions) {
        let mut world = World::new();
        world.add_observer(|_: On<Add<Plain>>| {});
        world.clear_entities();
        assert!(panics(|| _ = world.spawn(Plain)));
    }
}

/// The store is a resource, and resources are entities: it cannot come back, since Bevy cannot insert the same
/// resource again. What can be kept is that everything reads as empty, nothing breaks an invariant, and values
/// are dropped.
#[test]
fn after_clear_entities_there_are_no_pairs() {
    let mut world = World::new();
    let [bob, alice] = [(); 2].map(|()| world.spawn_empty().id());
    let value: Arc<str> = "apple".into();
    world.insert_pair(bob, Likes, alice).unwrap();
    world.insert_pair(bob, Owns(value.clone()), alice).unwrap();
    world.insert_pair(bob, MountedOn, alice).unwrap();
    assert_eq!(Arc::strong_count(&value), 2);
    world.clear_entities();
    assert_eq!(Arc::strong_count(&value), 1);
    world.check_pairs().unwrap();
    let [bob, alice] = [(); 2].map(|()| world.spawn(Plain).id());
    assert!(!world.has_pair::<Likes>(bob, alice) && world.pairs::<Likes>().is_empty());
    assert!(world.pairs_of(bob).is_empty() && world.pairs_to(alice).is_empty());
    assert!(!world.remove_pair::<Likes>(bob, alice));
    assert_eq!(world.remove_pairs_everywhere(PairId::ALL), 0);
    assert_eq!(world.despawn_sources(PairId::ALL), Ok(0));
    assert_eq!(world.get_entity_of::<Likes>(), None);
    world.maintain_pairs();
    world.despawn_with_dependents(bob).unwrap();
    assert!(world.despawn(alice));
    world.check_pairs().unwrap();
}

#[test]
fn after_clear_resources_the_store_comes_back_and_components_are_absorbed_again() {
    let mut world = world_that_records_errors();
    let [bob, alice, eve] = [(); 3].map(|()| world.spawn_empty().id());
    let value: Arc<str> = "apple".into();
    world.insert_pair(bob, Likes, alice).unwrap();
    world.insert_pair(bob, Owns(value.clone()), alice).unwrap();
    world.insert_pair(bob, ChildOf(alice), alice).unwrap();
    world.clear_resources();
    assert_eq!(Arc::strong_count(&value), 1);
    world.check_pairs().unwrap();
    assert!(!world.has_pair::<Likes>(bob, alice) && world.pairs_of(bob).is_empty());
    // Despawning, clearing and cloning former participants does no harm.
    let clone = world.entity_mut(bob).clone_and_spawn();
    world.entity_mut(clone).clear();
    world.despawn(clone);
    // The types register again on their next use.
    world.insert_pair(alice, Likes, eve).unwrap();
    world.insert_pair(alice, MountedOn, eve).unwrap();
    world.insert_pair(bob, Owns(value.clone()), eve).unwrap();
    assert_eq!(world.pair_value::<Owns>(bob, eve).map(|owns| &*owns.0), Some("apple"));
    world.check_pairs().unwrap();
    assert!(world.has_pair::<ChildOf>(bob, alice));
    assert!(!world.has_pair::<Likes>(bob, alice));
    assert_eq!(world.pairs_to(eve).len(), 3);
    world.despawn(eve);
    assert!(world.get_entity(alice).is_err() && world.get_entity(bob).is_err());
    assert_eq!(Arc::strong_count(&value), 1);
    world.check_pairs().unwrap();
}

#[test]
fn after_clear_resources_observers_are_triggered_by_each_event_once() {
    let mut world = world_that_records_errors();
    let [bob, alice] = [(); 2].map(|()| world.spawn_empty().id());
    world.add_observer(|_: On<PairInserted<Wildcard>>, mut heard: ResMut<Heard>| heard.0 += 1);
    world.add_observer(|_: On<PairInserted<Likes>>, mut heard: ResMut<Heard>| heard.0 += 10);
    world.add_observer(|_: On<PairRemoved<ChildOf>>, mut heard: ResMut<Heard>| heard.0 += 100);
    world.init_resource::<Heard>();
    world.insert_pair(bob, Likes, alice).unwrap();
    assert_eq!(world.resource::<Heard>().0, 11);
    for _ in 0..3 {
        world.clear_resources();
        crate::common::record_errors_of(&mut world);
        world.init_resource::<Heard>();
        world.insert_pair(bob, Likes, alice).unwrap();
        assert_eq!(world.resource::<Heard>().0, 11);
        world.entity_mut(alice).insert(ChildOf(bob));
        assert_eq!(world.resource::<Heard>().0, 12);
        world.entity_mut(alice).remove::<ChildOf>();
        assert_eq!(world.resource::<Heard>().0, 112);
        world.check_pairs().unwrap();
    }
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn despawning_everything_but_the_world_leaves_a_usable_world() {
    let mut world = world_that_records_errors();
    for _ in 0..3 {
        let [bob, alice] = [(); 2].map(|()| world.spawn(Plain).id());
        world.insert_pair(bob, Likes, alice).unwrap();
        world.insert_pair(alice, MountedOn, bob).unwrap();
        world.spawn((Plain, ChildOf(alice), Pair(MountedOn, alice)));
        world.despawn_all::<With<Plain>>();
        assert_eq!(world.query::<&Plain>().iter(&world).count(), 0);
        assert!(world.pairs::<Likes>().is_empty() && world.pairs::<ChildOf>().is_empty());
        world.check_pairs().unwrap();
    }
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn despawning_every_entity_that_is_no_resource_or_observer_loses_pairs_but_nothing_else() {
    use bevy_ecs::resource::IsResource;
    let mut world = world_that_records_errors();
    for _ in 0..3 {
        let [bob, alice] = [(); 2].map(|()| world.spawn(Plain).id());
        world.insert_pair(bob, Likes, alice).unwrap();
        world.insert_pair(alice, Owns("pear".into()), bob).unwrap();
        world.spawn((Plain, ChildOf(alice), Pair(MountedOn, alice)));
        // The entities of relation types go as well: reported where they are in use, and made anew.
        world.despawn_all::<(Without<IsResource>, Without<Observer>)>();
        assert!(world.pairs::<Likes>().is_empty() && world.pairs::<ChildOf>().is_empty());
        assert_eq!(world.query::<&Plain>().iter(&world).count(), 0);
        world.check_pairs().unwrap();
        take_reported_errors();
    }
}

/// The resources that this crate keeps in a world.
fn own_resources(world: &World) -> Vec<(ComponentId, Entity)> {
    let empty = world_that_records_errors();
    let known: HashSet<_> =
        empty.components().iter_registered().filter_map(|(_, info)| info.type_id()).collect();
    let all = world.components().iter_registered();
    let own = all.filter(|(_, info)| info.type_id().is_none_or(|type_id| !known.contains(&type_id)));
    own.filter_map(|(id, _)| Some((id, world.resource_entities().get(id)?))).collect()
}

/// A world in which as many of them are in use as can be.
fn busy_world() -> (World, [Entity; 3]) {
    let mut world = world_that_records_errors();
    world.register_component::<Plain>();
    let (plain, tag) = (world.entity_of::<Plain>(), world.spawn_empty().id());
    world.set_traits(plain, RelationTraits::new().with_id(tag)).unwrap();
    let [bob, alice, ship] = [(); 3].map(|()| world.spawn(Plain).id());
    let likes = world.register_relation::<Likes>().unwrap();
    world.observe_pairs((likes, alice), |_: On<PairInserted<Wildcard>>| {});
    world.insert_pair(bob, Likes, alice).unwrap();
    world.insert_pair(alice, Owns("pear".into()), bob).unwrap();
    world.insert_pair(bob, MountedOn, ship).unwrap();
    world.insert_tag(alice, tag).unwrap();
    world.spawn(ChildOf(ship));
    world.register_component_name::<Plain>("Plain");
    let clone = world.spawn_empty().id();
    EntityCloner::build_opt_out(&mut world).linked_cloning(true).clone_entity(bob, clone);
    (world, [bob, alice, ship])
}

#[test]
fn whichever_resource_of_the_crate_is_despawned_the_world_stays_usable() {
    let count = own_resources(&busy_world().0).len();
    assert!(count >= 6, "only {count}");
    for nth in 0..count {
        let (mut world, [bob, alice, ship]) = busy_world();
        let (name, resource) = own_resources(&world)[nth];
        world.despawn(resource);
        world.init_resource::<Heard>();
        let likes = world.register_relation::<Likes>().unwrap();
        world.observe_pairs((likes, alice), |_: On<PairInserted<Wildcard>>, mut heard: ResMut<Heard>| {
            heard.0 += 1;
        });
        world.remove_pairs::<Likes>(bob);
        world.insert_pair(bob, Likes, alice).unwrap();
        assert_eq!(world.resource::<Heard>().0, 1, "without {name:?}");
        let _ = world.insert_pair(alice, Owns("plum".into()), bob);
        world.insert_pair(bob, MountedOn, ship).unwrap();
        let child = world.spawn((Plain, ChildOf(ship))).id();
        assert!(world.has_pair::<ChildOf>(child, ship), "without {name:?}");
        world.despawn(ship);
        world.maintain_pairs();
        assert!(world.get_entity(bob).is_err() && world.get_entity(child).is_err(), "without {name:?}");
        world.check_pairs().unwrap_or_else(|error| panic!("without {name:?}: {error}"));
    }
}
