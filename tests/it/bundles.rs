//! Pairs in bundles, and that every value is dropped exactly once.

use crate::common::{relation, spawn, take_errors, world_that_records_errors};
use bevy_ecs::{error::Severity, prelude::*};
use bevy_relations::{
    bundle::TypeTarget,
    error::PairRefusal,
    prelude::*,
    relation::{PairContext, Wildcard},
};
use std::sync::{
    Arc,
    atomic::{AtomicIsize, Ordering},
};

#[derive(Relation)]
struct Likes;

#[derive(Relation, Clone, Debug, PartialEq, Default)]
struct Eats {
    grams: u32,
}

#[derive(Relation)]
#[relation(exclusive, acyclic)]
struct Follows;

#[derive(Relation, Clone, Debug, Default, PartialEq)]
#[relation(symmetric)]
struct Borders {
    length: u32,
}

#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Position(i32);

/// Counts how many of it there are.
#[derive(Relation)]
struct Counted(Arc<AtomicIsize>);

#[derive(Relation)]
#[relation(symmetric)]
struct CountedBoth {
    #[expect(dead_code, reason = "it is dropped")]
    count: Counted,
}

impl Counted {
    fn new(count: &Arc<AtomicIsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Refuses every value of this relation.
#[derive(Relation)]
#[relation(validate = refuse)]
struct Refused {
    #[expect(dead_code, reason = "it is dropped")]
    count: Counted,
}

fn refuse(_: &mut Refused, _: &PairContext<'_>) -> Result<(), PairRefusal> {
    Err("always".into())
}

fn counter() -> (Arc<AtomicIsize>, impl Fn() -> isize) {
    let count = Arc::new(AtomicIsize::new(0));
    let reader = count.clone();
    (count, move || reader.load(Ordering::Relaxed))
}

#[test]
fn pairs_can_be_spawned_and_inserted_with_components() {
    let mut world = World::new();
    let [alice, apple, pear] = spawn(&mut world);
    let bundle = (
        Name::new("Bob"),
        Pair(Likes, alice),
        Pair(Likes, apple),
        Pair(Eats { grams: 80 }, apple),
        Pair(Follows, alice),
        Position(1),
    );
    let bob = world.spawn(bundle).id();
    assert_eq!(world.pairs::<Likes>().targets(bob).collect::<Vec<_>>(), [alice, apple]);
    assert_eq!(world.pair_value::<Eats>(bob, apple), Some(&Eats { grams: 80 }));
    assert!(world.entity(bob).contains::<Name>() && world.entity(bob).contains::<Position>());
    world.entity_mut(bob).insert((
        Pair(Eats { grams: 1 }, pear),
        Pair(Eats { grams: 2 }, apple),
        Pair(Follows, pear),
    ));
    assert_eq!(world.pairs::<Follows>().target(bob), Some(pear));
    assert_eq!(world.pair_value::<Eats>(bob, apple), Some(&Eats { grams: 2 }));
    assert_eq!(world.pairs::<Eats>().targets(bob).collect::<Vec<_>>(), [apple, pear]);
    world.check_pairs().unwrap();
}

#[test]
fn pairs_in_one_list_apply_in_order() {
    let mut world = World::new();
    let [alice, apple] = spawn(&mut world);
    let bob = world
        .spawn((Name::new("Bob"), pairs![(Likes, apple), (Likes, alice), (Eats { grams: 8 }, apple)]))
        .id();
    assert_eq!(world.pairs::<Likes>().targets(bob).collect::<Vec<_>>(), [apple, alice]);
    assert_eq!(world.pair_value::<Eats>(bob, apple), Some(&Eats { grams: 8 }));
    world.entity_mut(bob).insert(pairs![(Likes, bob), (Follows, alice), (Follows, apple)]);
    assert_eq!(world.pairs::<Likes>().target_count(bob), 3);
    assert_eq!(world.pairs::<Follows>().target(bob), Some(apple));
    let nothing = world.spawn(pairs![]).id();
    assert!(world.pairs_of(nothing).is_empty());
    world.check_pairs().unwrap();
    world.despawn(bob);
    world.despawn(nothing);
    world.check_pairs().unwrap();
}

#[test]
fn lists_of_pairs_nest_in_bundles_that_functions_return() {
    fn friend_of(friend: Entity) -> impl Bundle {
        (Position(1), pairs![(Likes, friend)])
    }
    fn guest(food: Entity, host: Entity) -> impl Bundle {
        (pairs![(Eats { grams: 1 }, food)], pairs![(Follows, host)], Pair(Likes, food))
    }
    let mut world = world_that_records_errors();
    let [alice, bob, apple] = spawn(&mut world);
    let eve = world.spawn((friend_of(alice), guest(apple, alice), pairs![(Likes, bob)], pairs![])).id();
    assert_eq!(world.pairs::<Likes>().targets(eve).collect::<Vec<_>>(), [alice, apple, bob]);
    assert_eq!(world.pair_value::<Eats>(eve, apple), Some(&Eats { grams: 1 }));
    assert_eq!(world.pairs::<Follows>().target(eve), Some(alice));
    world.entity_mut(eve).insert((guest(bob, bob), guest(alice, apple)));
    assert_eq!(world.pairs::<Follows>().target(eve), Some(apple));
    world.spawn_batch_with_pair([((), Likes, eve)]);
    world.commands().spawn((sources![Follows: (friend_of(alice), pairs![(Likes, bob)])], friend_of(bob)));
    world.flush();
    assert_eq!(world.pairs::<Likes>().source_count(bob), 3);
    assert_eq!(take_errors(), []);
    world.check_pairs().unwrap();
}

#[test]
fn sources_without_a_default_value_are_an_error_that_names_relation_and_type() {
    let mut world = world_that_records_errors();
    world.commands().spawn(sources![Counted: Name::new("a"), Name::new("b")]);
    world.flush();
    let target = world.spawn(sources![Counted: Name::new("c")]).id();
    let errors = take_errors();
    assert_eq!(errors.len(), 3, "{errors:?}");
    for (severity, text) in errors {
        assert_eq!(severity, Severity::Error);
        assert!(
            text.contains("(Counted, ") && text.contains("default") && text.contains("bundles::Counted"),
            "{text}"
        );
    }
    assert!(world.pairs_to(target).is_empty());
    // A Bevy relationship makes itself from its target, and so does a value with a default.
    let parent = world.spawn((sources![ChildOf: Name::new("child")], sources![Eats: ()])).id();
    assert_eq!((world.pairs_to(parent).len(), take_errors()), (2, vec![]));
    world.check_pairs().unwrap();
}

#[test]
fn a_type_can_be_the_target_of_a_pair_in_a_bundle() {
    let mut world = World::new();
    let a = world.spawn((Pair(Likes, TypeTarget(Position(1))), Pair(Eats { grams: 3 }, TypeTarget(())))).id();
    let [likes, eats] = [world.entity_of::<Likes>(), world.entity_of::<Eats>()];
    let [position, unit] = [world.entity_of::<Position>(), world.entity_of::<()>()];
    assert_eq!(world.pair_value_by_id::<Position>(a, (likes, position)), Some(&Position(1)));
    assert_eq!(world.pair_value_by_id::<Eats>(a, (eats, unit)), Some(&Eats { grams: 3 }));
    world.check_pairs().unwrap();
}

/// "the relation is a type with fields: that type" comes before the target's.
#[test]
fn a_value_is_that_of_the_relation_if_both_elements_are_types_with_fields() {
    let mut world = world_that_records_errors();
    let a = world.spawn(Pair(Eats { grams: 3 }, TypeTarget(Position(1)))).id();
    let (eats, position) = (world.entity_of::<Eats>(), world.entity_of::<Position>());
    assert_eq!(take_errors(), []);
    assert_eq!(world.pair_value_by_id::<Eats>(a, (eats, position)), Some(&Eats { grams: 3 }));
    world.check_pairs().unwrap();
}

#[test]
fn a_refused_pair_goes_to_the_error_handler_and_the_others_apply() {
    let mut world = world_that_records_errors();
    let [alice, dead] = spawn(&mut world);
    world.despawn(dead);
    let several =
        world.spawn((Name::new("Bob"), Pair(Likes, dead), Pair(Likes, alice), Pair(Eats { grams: 1 }, dead)));
    let bob = several.id();
    assert_eq!(several.get::<Name>().map(Name::as_str), Some("Bob"));
    let errors = take_errors();
    assert_eq!(errors.iter().map(|(severity, _)| *severity).collect::<Vec<_>>(), [Severity::Error; 2]);
    assert_eq!(world.pairs_of(bob).len(), 1);
    let list = pairs![(Follows, dead), (Likes, dead), (Eats { grams: 2 }, alice)];
    world.entity_mut(bob).insert(list);
    assert_eq!(take_errors().len(), 2);
    assert_eq!(world.pairs_of(bob).len(), 2);
    world.check_pairs().unwrap();
}

#[test]
fn commands_spawn_pairs_too() {
    let mut world = world_that_records_errors();
    let [alice, dead] = spawn(&mut world);
    world.despawn(dead);
    let mut commands = world.commands();
    let bob = commands.spawn((Name::new("Bob"), Pair(Likes, alice), Pair(Likes, dead))).id();
    let carol =
        commands.spawn(pairs![(Likes, bob), (Eats { grams: 1 }, alice)]).insert(Pair(Follows, bob)).id();
    world.flush();
    assert_eq!(take_errors().len(), 1);
    assert!(world.has_pair::<Likes>(bob, alice) && world.has_pair::<Likes>(carol, bob));
    assert_eq!(world.pairs_of(carol).len(), 3);
    world.check_pairs().unwrap();
}

#[test]
fn pairs_exist_after_the_bundles_own_observers_have_run() {
    #[derive(Resource, Default)]
    struct Seen(Vec<&'static str>);
    let mut world = World::new();
    world.init_resource::<Seen>();
    let [alice] = spawn(&mut world);
    world.add_observer(move |on: On<Add<Position>>, likes: Pairs<Likes>, mut seen: ResMut<Seen>| {
        seen.0.push(if likes.has(on.entity, alice) { "pair before component" } else { "component" });
    });
    world.add_observer(|on: On<PairInserted<Likes>>, positions: Query<&Position>, mut seen: ResMut<Seen>| {
        seen.0.push(if positions.contains(on.source) { "pair" } else { "pair without component" });
    });
    world.spawn((Pair(Likes, alice), Position(1)));
    assert_eq!(world.resource::<Seen>().0, ["component", "pair"]);
}

#[test]
fn an_entity_that_its_own_observer_despawns_gets_no_pairs() {
    let mut world = world_that_records_errors();
    let [alice] = spawn(&mut world);
    world.spawn(Pair(Likes, alice));
    world.add_observer(|on: On<Add<Position>>, mut commands: Commands| commands.entity(on.entity).despawn());
    world.spawn_batch_with_pair([(Position(1), Likes, alice), (Position(2), Likes, alice)]);
    world.check_pairs().unwrap();
    world.spawn((Position(3), Pair(Likes, alice)));
    world.check_pairs().unwrap();
    world.spawn((Position(4), pairs![(Likes, alice), (Eats { grams: 1 }, alice)]));
    world.check_pairs().unwrap();
    assert_eq!(world.pairs::<Likes>().source_count(alice), 1);
    assert!(world.pairs::<Eats>().is_empty());
}

#[test]
fn a_batch_spawns_each_entity_with_its_bundle_and_pair() {
    let mut world = world_that_records_errors();
    let [alice, dead] = spawn(&mut world);
    world.despawn(dead);
    let batch = (0..100).map(|n| (Position(n), Eats { grams: n as u32 }, if n == 50 { dead } else { alice }));
    let spawned = world.spawn_batch_with_pair(batch);
    assert_eq!(take_errors().len(), 1);
    assert_eq!((spawned.len(), world.pairs::<Eats>().source_count(alice)), (100, 99));
    for (n, &entity) in spawned.iter().enumerate() {
        assert_eq!(world.get::<Position>(entity), Some(&Position(n as i32)));
        let expected = (n != 50).then_some(Eats { grams: n as u32 });
        assert_eq!(world.pair_value::<Eats>(entity, alice), expected.as_ref());
    }
    world.check_pairs().unwrap();
    let tags = world.spawn_batch_with_pair([((), Likes, alice), ((), Likes, dead)]);
    assert_eq!((take_errors().len(), world.pairs::<Likes>().len(), tags.len()), (1, 1, 2));
    let both =
        world.spawn_batch_with_pair([((), Borders { length: 1 }, alice), ((), Borders { length: 2 }, alice)]);
    assert_eq!(world.pairs::<Borders>().targets(alice).collect::<Vec<_>>(), both);
    world.despawn(alice);
    world.check_pairs().unwrap();
    assert!(world.pairs::<Eats>().is_empty() && world.pairs::<Likes>().is_empty());
}

#[test]
fn sources_are_spawned_beside_their_target() {
    let mut world = world_that_records_errors();
    let ship = world
        .spawn((Name::new("ship"), sources![Follows: (Name::new("gun"), Position(1)), Name::new("radar")]))
        .id();
    let names = |world: &World| -> Vec<String> {
        let sources = world.pairs::<Follows>().sources(ship);
        let mut names: Vec<_> =
            sources.filter_map(|source| Some(world.get::<Name>(source)?.to_string())).collect();
        names.sort();
        names
    };
    assert_eq!(names(&world), ["gun", "radar"]);
    world.entity_mut(ship).insert(sources![Follows: (Name::new("mast"), sources![Likes: Position(9)])]);
    assert_eq!(names(&world), ["gun", "mast", "radar"]);
    let mast = world
        .pairs::<Follows>()
        .sources(ship)
        .find(|&source| world.get::<Name>(source).unwrap().as_str() == "mast");
    assert_eq!(world.pairs::<Likes>().source_count(mast.unwrap()), 1);
    world.commands().spawn(sources![Eats: Name::new("eater")]);
    world.flush();
    assert_eq!(world.pairs::<Eats>().len(), 1);
    let nothing = world.spawn(sources![Likes: ]).id();
    assert!(world.pairs_to(nothing).is_empty());
    assert_eq!(take_errors(), []);
    // There is no default value.
    world.spawn(sources![Counted: Name::new("spawned all the same")]);
    assert_eq!(take_errors().len(), 1);
    world.check_pairs().unwrap();
}

#[test]
fn a_bundle_with_pairs_drops_and_stores_every_value_once() {
    let (count, left) = counter();
    let mut world = world_that_records_errors();
    let [a, b, dead] = spawn(&mut world);
    world.despawn(dead);
    let new = || Counted::new(&count);
    let both = || CountedBoth { count: new() };
    let source = world.spawn((Pair(new(), a), Pair(new(), b), Pair(both(), a), Pair(new(), dead))).id();
    assert_eq!((left(), take_errors().len()), (3, 1));
    world.entity_mut(source).insert(pairs![(new(), a), (both(), a), (new(), dead), (both(), source)]);
    assert_eq!((left(), take_errors().len()), (4, 1), "two replaced, one new, one refused");
    world.spawn(Pair(Refused { count: new() }, a));
    assert_eq!((left(), take_errors().len()), (4, 1));
    world.spawn_batch_with_pair([((), new(), a), ((), new(), dead), ((), new(), b)]);
    assert_eq!((left(), take_errors().len()), (6, 1));
    world.commands().spawn((Pair(new(), a), pairs![(new(), b)]));
    assert_eq!(left(), 8);
    world.flush();
    assert_eq!(left(), 8);
    world.check_pairs().unwrap();
    world.remove_pair::<CountedBoth>(a, source);
    assert_eq!(left(), 7);
    world.insert_pair(a, both(), b).unwrap();
    world.despawn(b);
    assert_eq!(left(), 4, "three pairs to it and the one with both ends are gone");
    world.check_pairs().unwrap();
    world.clear_pairs();
    assert_eq!(left(), 0);
    world.insert_pair(source, new(), a).unwrap();
    world.insert_pair(source, both(), a).unwrap();
    drop(world);
    assert_eq!(left(), 0);
}

#[test]
fn values_that_are_never_stored_are_dropped() {
    let (count, left) = counter();
    let mut world = world_that_records_errors();
    let [a, b, dead] = spawn(&mut world);
    world.despawn(dead);
    let plain = relation(&mut world, RelationTraits::new());
    world.insert_pair_value_by_id(a, (plain, b), Counted::new(&count)).unwrap_err();
    world.insert_pair(a, Counted::new(&count), dead).unwrap_err();
    world.insert_pair_batch([(a, Counted::new(&count), dead), (dead, Counted::new(&count), a)]).unwrap_err();
    world.insert_pair_to::<Eats, Position>(a, Counted::new(&count)).unwrap_err();
    assert_eq!(left(), 0);
    world.commands().entity(dead).insert_pair(Counted::new(&count), a);
    world.commands().pair_batch::<Counted>().insert(dead, Counted::new(&count), a);
    assert_eq!(left(), 2);
    world.flush();
    assert_eq!(left(), 0);
    world.commands().spawn(Pair(Counted::new(&count), a));
    world.commands().entity(a).insert_pair(Counted::new(&count), b);
    drop(world);
    assert_eq!(left(), 0);
}

#[test]
fn a_bundle_that_is_not_inserted_after_all_drops_its_values() {
    let (count, left) = counter();
    let mut world = world_that_records_errors();
    let [a, dead] = spawn(&mut world);
    world.despawn(dead);
    world.commands().entity(dead).insert((Pair(Counted::new(&count), a), Position(1)));
    world.commands().entity(dead).insert(pairs![(Counted::new(&count), a)]);
    world.flush();
    assert_eq!(left(), 0);
    // Components only are kept from being replaced.
    let source = world.spawn(Pair(Counted::new(&count), a)).id();
    world.entity_mut(source).insert_if_new(Pair(Counted::new(&count), a));
    assert_eq!(left(), 1);
    world.add_observer(|on: On<Add<Position>>, mut commands: Commands| commands.entity(on.entity).despawn());
    world.spawn((Position(1), Pair(Counted::new(&count), a)));
    world.spawn((Position(1), pairs![(Counted::new(&count), a), (Likes, a)]));
    world.spawn((Position(1), sources![Likes: Pair(Counted::new(&count), a)]));
    assert_eq!(left(), 1);
    world.check_pairs().unwrap();
}

#[test]
fn a_store_that_was_cleared_is_usable() {
    let mut world = world_that_records_errors();
    let [a, b] = spawn(&mut world);
    let child = world.spawn((ChildOf(a), Pair(Likes, b), Pair(Borders { length: 1 }, b))).id();
    world.insert_tag(child, a).unwrap();
    world.clear_pairs();
    world.check_pairs().unwrap();
    assert!(world.pairs_of(child).is_empty() && world.tags(child).next().is_none());
    assert!(world.get::<ChildOf>(child).is_none() && world.get::<Children>(a).is_none());
    world.entity_mut(child).insert((ChildOf(b), Pair(Likes, b), Pair(Borders { length: 2 }, a)));
    world.insert_tag(child, a).unwrap();
    assert_eq!(world.pairs_of(child).len(), 3);
    world.check_pairs().unwrap();
    world.despawn(b);
    assert!(!world.entities().contains_spawned(child));
    world.check_pairs().unwrap();
}

#[test]
fn a_removed_pair_is_reported_once_when_an_entity_is_its_own_target_and_relation() {
    #[derive(Resource, Default)]
    struct Told(Vec<(Entity, Entity, Entity)>);
    let mut world = World::new();
    world.init_resource::<Told>();
    world.add_observer(|on: On<PairRemoved<Wildcard>>, mut told: ResMut<Told>| {
        told.0.push((on.source, on.relation, on.target));
    });
    let [r, a] = spawn(&mut world);
    for (source, target) in [(r, r), (r, a), (a, r), (a, a)] {
        world.insert_pair_by_id(source, (r, target)).unwrap();
    }
    let likes = world.register_relation::<Likes>().unwrap();
    world.insert_pair(a, Likes, a).unwrap();
    world.despawn(r);
    let mut told = std::mem::take(&mut world.resource_mut::<Told>().0);
    told.sort_unstable();
    let mut expected = vec![(r, r, r), (r, r, a), (a, r, r), (a, r, a)];
    expected.sort_unstable();
    assert_eq!(told, expected);
    world.despawn(a);
    assert_eq!(world.resource::<Told>().0, [(a, likes, a)]);
    world.check_pairs().unwrap();
}

#[test]
fn a_batch_by_command_whose_ends_and_relation_go_while_it_waits_or_runs() {
    #[derive(Component)]
    struct Mine;
    let mut world = world_that_records_errors();
    let likes = world.register_relation::<Likes>().unwrap();
    let [alice, bob] = spawn(&mut world);
    // The first of the batch takes the target of the second and its own entity along.
    world.add_observer(move |on: On<Add<Mine>>, mut commands: Commands| {
        commands.entity(on.entity).despawn();
        commands.entity(bob).try_despawn();
    });
    let mut commands = world.commands();
    commands.spawn_batch_with_pair([(Mine, Likes, alice), (Mine, Likes, bob)]);
    commands.spawn_batch_with_pair([(Position(1), Likes, bob), (Position(2), Likes, alice)]);
    world.flush();
    world.check_pairs().unwrap();
    assert_eq!(take_errors().len(), 2, "one for each batch");
    assert_eq!(world.query::<&Position>().iter(&world).count(), 2, "those with a refused pair are spawned");
    assert_eq!(world.pairs::<Likes>().source_count(alice), 1);
    // The relation goes with its last pair; a type's is taken into use again by the command.
    world.commands().despawn_sources((likes, alice));
    world.commands().entity(likes).despawn();
    world.commands().spawn_batch_with_pair([((), Likes, alice)]);
    world.flush();
    world.check_pairs().unwrap();
    assert_eq!(take_errors(), []);
    assert!(world.get_entity(likes).is_err());
    assert_eq!(world.pairs::<Likes>().source_count(alice), 1);
    // Resources that go with the store are made anew.
    world.commands().queue(World::clear_resources);
    world.commands().spawn_batch_with_pair([((), Likes, alice), ((), Likes, bob)]);
    world.flush();
    world.check_pairs().unwrap();
    assert_eq!(world.pairs::<Likes>().source_count(alice), 1);
}
