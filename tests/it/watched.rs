//! The observers that this crate depends on are entities, which any system may despawn.

use crate::common::{take_reported_errors, unpaid::CrewOf, world_that_records_errors};
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_relations::{
    error::Invariant,
    event::InsertedAbove,
    prelude::*,
    query::{Cached, Up},
};

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct Inside;

#[derive(Component)]
struct Armor;

#[derive(Resource, Default)]
struct Heard(Vec<&'static str>);

fn entities<const N: usize>(world: &mut World) -> [Entity; N] {
    std::array::from_fn(|_| world.spawn_empty().id())
}

fn observers(world: &mut World) -> Vec<Entity> {
    world.query_filtered::<Entity, With<Observer>>().iter(world).collect()
}

/// Ways to be rid of all observers.
const WAYS: [fn(&mut World); 4] = [
    |world| world.despawn_all::<With<Observer>>(),
    |world| {
        for observer in observers(world) {
            // Those that have come back since are not on the list.
            let _ = world.try_despawn(observer);
        }
    },
    |world| {
        for observer in observers(world) {
            if let Ok(mut observer) = world.get_entity_mut(observer) {
                observer.clear();
            }
        }
    },
    |world| {
        for observer in observers(world) {
            if let Ok(mut observer) = world.get_entity_mut(observer) {
                observer.remove::<Observer>();
            }
        }
    },
];

#[test]
fn components_are_mirrored_after_every_observer_was_despawned() {
    for way in WAYS {
        let mut world = world_that_records_errors();
        world.adopt_relationship::<CrewOf>();
        let [ship, boat] = entities(&mut world);
        let cook = world.spawn((CrewOf(ship), ChildOf(ship))).id();
        let mate = world.spawn((CrewOf(ship), ChildOf(ship))).id();
        for _ in 0..2 {
            way(&mut world);
            // What happens now is missed, which is noticed.
            world.entity_mut(cook).remove::<CrewOf>().insert(ChildOf(boat));
            let error = world.check_pairs().unwrap_err();
            assert!(matches!(error.invariant, Invariant::Watched | Invariant::Adopted), "{error}");
            world.maintain_pairs();
            world.check_pairs().unwrap();
            assert!(world.has_pair::<ChildOf>(cook, boat) && !world.has_pair::<CrewOf>(cook, ship));
            world.entity_mut(cook).insert((CrewOf(boat), ChildOf(boat)));
            world.entity_mut(mate).remove::<CrewOf>();
            assert!(world.has_pair::<CrewOf>(cook, boat) && world.has_pair::<ChildOf>(cook, boat));
            assert!(!world.has_pair::<CrewOf>(cook, ship) && !world.has_pair::<ChildOf>(cook, ship));
            assert_eq!(world.pairs::<CrewOf>().target(mate), None);
            let galley = world.spawn(ChildOf(ship)).id();
            assert!(world.has_pair::<ChildOf>(galley, ship));
            world.check_pairs().unwrap();
            world.entity_mut(cook).insert((CrewOf(ship), ChildOf(ship)));
            world.entity_mut(mate).insert(CrewOf(ship));
            world.check_pairs().unwrap();
        }
        world.despawn(ship);
        assert!(world.pairs::<ChildOf>().is_empty() && world.pairs::<CrewOf>().is_empty());
        world.check_pairs().unwrap();
        assert_eq!(take_reported_errors(), [""; 0]);
    }
}

/// A verb that names a relation type mends what it depends on.
#[test]
fn the_next_insertion_gets_despawned_observers_back() {
    let mut world = world_that_records_errors();
    world.adopt_relationship::<ChildOf>();
    let [bob, alice] = entities(&mut world);
    world.despawn_all::<With<Observer>>();
    let child = world.spawn(ChildOf(alice)).id();
    world.insert_pair(bob, Likes, alice).unwrap();
    assert!(world.has_pair::<ChildOf>(child, alice));
    world.check_pairs().unwrap();
}

/// What is imported keeps Bevy's order and is reported to observers of pairs.
#[test]
fn what_was_missed_is_imported_in_the_order_of_the_collections() {
    let mut world = world_that_records_errors();
    world.adopt_relationship::<ChildOf>();
    let [root] = entities(&mut world);
    let a = world.spawn(ChildOf(root)).id();
    WAYS[3](&mut world);
    let b = world.spawn(ChildOf(root)).id();
    let c = world.spawn(ChildOf(root)).id();
    world.entity_mut(a).remove::<ChildOf>();
    world.entity_mut(a).insert(ChildOf(root));
    assert!(world.check_pairs().is_err());
    world.init_resource::<Heard>();
    world.add_observer(|_: On<PairInserted<ChildOf>>, mut heard: ResMut<Heard>| heard.0.push("inserted"));
    world.maintain_pairs();
    assert_eq!(world.pairs::<ChildOf>().sources(root).collect::<Vec<_>>(), [b, c, a]);
    assert_eq!(world.resource::<Heard>().0, ["inserted"; 2]);
    world.check_pairs().unwrap();
}

#[test]
fn the_plugin_gets_lost_observers_back_by_the_next_frame() {
    let mut app = App::new();
    app.add_plugins(RelationsPlugin);
    let [root] = entities(app.world_mut());
    app.update();
    WAYS[3](app.world_mut());
    let child = app.world_mut().spawn(ChildOf(root)).id();
    assert!(app.world().check_pairs().is_err());
    app.update();
    assert!(app.world().has_pair::<ChildOf>(child, root));
    app.world().check_pairs().unwrap();
}

#[test]
fn observers_of_pairs_that_come_later_are_triggered() {
    for way in WAYS {
        let mut world = world_that_records_errors();
        let [bob, alice] = entities(&mut world);
        world.insert_pair(bob, Likes, alice).unwrap();
        way(&mut world);
        world.maintain_pairs();
        world.init_resource::<Heard>();
        // The first pair finds no observer.
        world.remove_pair::<Likes>(bob, alice);
        world.add_observer(|_: On<PairInserted<Likes>>, mut heard: ResMut<Heard>| heard.0.push("inserted"));
        world.insert_pair(bob, Likes, alice).unwrap();
        assert_eq!(world.resource::<Heard>().0, ["inserted"]);
        world.entity_mut(bob).clear();
        assert!(world.pairs_of(bob).is_empty());
        world.check_pairs().unwrap();
    }
}

#[test]
fn changes_go_down_a_relation_after_every_observer_was_despawned() {
    let mut world = world_that_records_errors();
    world.init_resource::<Heard>();
    world.propagate_changes::<Inside, Armor>();
    let [ship, gun] = entities(&mut world);
    world.insert_pair(gun, Inside, ship).unwrap();
    world.despawn_all::<With<Observer>>();
    world.maintain_pairs();
    world.add_observer(|_: On<InsertedAbove<Inside, Armor>>, mut heard: ResMut<Heard>| heard.0.push("above"));
    world.entity_mut(ship).insert(Armor);
    assert_eq!(world.resource::<Heard>().0, ["above"]);
}

#[test]
fn what_is_kept_of_holders_is_right_after_every_observer_was_despawned() {
    for way in WAYS {
        let mut world = world_that_records_errors();
        let [ship, deck, gun] = entities(&mut world);
        world.insert_pair(deck, Inside, ship).unwrap();
        world.insert_pair(gun, Inside, deck).unwrap();
        let mut kept = world.query::<(Entity, Cached<Up<Inside, &'static Armor>>)>();
        let mut armored = |world: &World| {
            let mut found: Vec<Entity> = kept.iter(world).map(|(entity, _)| entity).collect();
            found.sort_unstable();
            found
        };
        assert_eq!(armored(&world), []);
        way(&mut world);
        world.entity_mut(ship).insert(Armor);
        let mut both = [deck, gun];
        both.sort_unstable();
        assert_eq!(armored(&world), both);
        world.entity_mut(deck).insert(Armor);
        world.entity_mut(ship).remove::<Armor>();
        assert_eq!(armored(&world), [gun]);
    }
}

/// A state has no world when it is dropped: its observers go later, whether or not the component is ever touched.
#[test]
fn the_observers_of_a_dropped_query_are_gone_after_maintenance() {
    let mut app = App::new();
    app.add_plugins(RelationsPlugin);
    let world = app.world_mut();
    let [ship, gun] = entities(world);
    world.insert_pair(gun, Inside, ship).unwrap();
    let before = observers(world).len();
    for _ in 0..20 {
        drop(world.query::<Cached<Up<Inside, &'static Armor>>>());
        assert!(observers(world).len() <= before + 4, "they do not pile up");
    }
    world.maintain_pairs();
    assert_eq!(observers(world).len(), before);
    let query = world.query::<Cached<Up<Inside, &'static Armor>>>();
    world.maintain_pairs();
    assert_eq!(observers(world).len(), before + 2, "those of a living state stay");
    drop(query);
    app.update();
    assert_eq!(observers(app.world_mut()).len(), before);
}
