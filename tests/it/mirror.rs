//! The component that shows the pairs of its entity: what it says after each change of pairs, and what writing it does.

use crate::common::{record_errors_of, spawn, take_reported_errors, world_that_records_errors};
use bevy_app::{AppLabel, prelude::*};
use bevy_ecs::{entity::EntityCloner, entity_disabling::Disabled, prelude::*, reflect::AppTypeRegistry};
use bevy_reflect::Reflect;
use bevy_relations::{
    error::PairInvariantError,
    expr::PairExpr,
    mirror::*,
    prelude::*,
    query::{Cached, Up},
};

#[derive(Relation, Reflect, Clone)]
struct Likes;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
struct Owes(u32);

#[derive(Relation, Reflect, Clone)]
#[relation(exclusive)]
struct DockedTo;

#[derive(Relation, Reflect, Clone)]
#[relation(symmetric)]
struct Knows;

#[derive(Relation, Reflect, Clone)]
#[relation(ordered)]
struct Queues;

#[derive(Relation, Reflect, Clone, Debug)]
struct Begins;

#[derive(Reflect, Clone, PartialEq, Debug)]
struct Place(u32);

/// What the component of an entity says of its targets.
fn mirrored<R: MirroredRelation>(world: &World, source: Entity) -> Vec<Entity> {
    world.get::<MirroredPairs<R>>(source).map(|pairs| pairs.targets().collect()).unwrap_or_default()
}

/// The component says what the pairs are, and is there only if there are any.
#[track_caller]
fn check<R: MirroredRelation>(world: &World, source: Entity) -> Vec<Entity> {
    let targets: Vec<Entity> = world.pairs::<R>().targets(source).collect();
    assert_eq!(mirrored::<R>(world, source), targets);
    assert_eq!(world.get::<MirroredPairs<R>>(source).is_some(), !targets.is_empty());
    world.check_pairs().unwrap();
    targets
}

fn world_with<R: MirroredRelation>() -> World {
    let mut world = world_that_records_errors();
    world.mirror_pairs::<R>().unwrap();
    world
}

fn changed<R: MirroredRelation>(world: &World, source: Entity) -> Option<bevy_ecs::change_detection::Tick> {
    Some(world.entity(source).get_change_ticks::<MirroredPairs<R>>()?.changed)
}

#[test]
fn it_follows_each_verb_that_changes_pairs() {
    let mut world = world_with::<Likes>();
    let [a, b, c, d] = spawn(&mut world);
    world.insert_pair(a, Likes, b).unwrap();
    assert_eq!(check::<Likes>(&world, a), [b]);
    world.insert_pairs(a, [(Likes, c), (Likes, d)]).unwrap();
    assert_eq!(check::<Likes>(&world, a), [b, c, d]);
    world.remove_pair::<Likes>(a, c);
    assert_eq!(check::<Likes>(&world, a), [b, d]);
    world.insert_pair_batch([(b, Likes, a), (c, Likes, a), (b, Likes, d)]).unwrap();
    assert_eq!(check::<Likes>(&world, b), [a, d]);
    world.move_sources::<Likes>(d, c).unwrap();
    assert_eq!((check::<Likes>(&world, a), check::<Likes>(&world, b)), (vec![b, c], vec![a, c]));
    world.replace_targets(b, [(Likes, b)]).unwrap();
    assert_eq!(check::<Likes>(&world, b), [b]);
    world.commands().entity(c).insert_pair(Likes, d).remove_pair::<Likes>(a);
    world.flush();
    assert_eq!(check::<Likes>(&world, c), [d]);
    world.despawn(b);
    assert_eq!(check::<Likes>(&world, a), [c]);
    world.entity_mut(c).clear();
    assert_eq!(check::<Likes>(&world, c), []);
    world.clear_pairs();
    assert_eq!(check::<Likes>(&world, a), []);
    let e = world.spawn(Pair(Likes, a)).id();
    assert_eq!(check::<Likes>(&world, e), [a]);
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn pairs_that_were_there_before_are_mirrored_too_also_of_disabled_entities() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    world.insert_pair_batch([(a, Likes, b), (c, Likes, a)]).unwrap();
    world.entity_mut(a).insert(Disabled);
    world.mirror_pairs::<Likes>().unwrap();
    assert_eq!((check::<Likes>(&world, a), check::<Likes>(&world, c)), (vec![b], vec![a]));
    let before = changed::<Likes>(&world, a);
    world.mirror_pairs::<Likes>().unwrap();
    assert_eq!(changed::<Likes>(&world, a), before);
}

#[test]
fn inserting_replacing_and_removing_it_changes_the_pairs_with_their_events() {
    #[derive(Resource, Default)]
    struct Log(Vec<(bool, Entity)>);
    let mut world = world_with::<Likes>();
    world.init_resource::<Log>();
    world.add_observer(|on: On<PairInserted<Likes>>, mut log: ResMut<Log>| log.0.push((true, on.target)));
    world.add_observer(|on: On<PairRemoved<Likes>>, mut log: ResMut<Log>| log.0.push((false, on.target)));
    let [b, c, d] = spawn(&mut world);
    let a = world.spawn(MirroredPairs::from_iter([(Likes, b), (Likes, c)])).id();
    assert_eq!(check::<Likes>(&world, a), [b, c]);
    assert_eq!(world.resource_mut::<Log>().0.split_off(0), [(true, b), (true, c)]);
    world.entity_mut(a).insert(MirroredPairs::from_iter([(Likes, c), (Likes, d)]));
    assert_eq!(check::<Likes>(&world, a), [c, d]);
    assert_eq!(world.resource_mut::<Log>().0.split_off(0), [(false, b), (true, d)]);
    world.entity_mut(a).insert(MirroredPairs::from_iter([(Likes, d), (Likes, c)]));
    assert_eq!(check::<Likes>(&world, a), [d, c]);
    world.commands().entity(a).remove::<MirroredPairs<Likes>>();
    world.flush();
    assert_eq!(check::<Likes>(&world, a), []);
    assert_eq!(world.resource_mut::<Log>().0.split_off(0), [(false, d), (false, c)]);
    world.entity_mut(a).insert(MirroredPairs::<Likes>::default());
    assert_eq!(check::<Likes>(&world, a), []);
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn the_order_of_many_targets_is_that_of_the_component() {
    let mut world = world_with::<Likes>();
    let [a] = spawn(&mut world);
    let many: [Entity; 40] = spawn(&mut world);
    world.insert_pairs(a, many.map(|target| (Likes, target))).unwrap();
    many.iter().step_by(3).for_each(|&target| _ = world.remove_pair::<Likes>(a, target));
    let mut wanted = check::<Likes>(&world, a);
    wanted.reverse();
    wanted.truncate(20);
    wanted.push(many[0]);
    world.entity_mut(a).insert(MirroredPairs::from_iter(wanted.iter().map(|&target| (Likes, target))));
    assert_eq!(check::<Likes>(&world, a), wanted);
    world.remove_pair::<Likes>(a, wanted[3]);
    wanted.remove(3);
    assert_eq!(check::<Likes>(&world, a), wanted);
}

#[test]
fn what_is_nearest_follows_the_order_of_the_targets() {
    #[derive(Relation, Reflect, Clone)]
    #[relation(traversable)]
    struct Below;
    #[derive(Component)]
    struct Armor(u32);
    #[derive(Component)]
    struct Gun;
    let mut world = world_with::<Below>();
    let [b, c] = [1, 2].map(|armor| world.spawn(Armor(armor)).id());
    let gun = world.spawn((Gun, MirroredPairs::from_iter([(Below, b), (Below, c)]))).id();
    let mut direct = world.query_filtered::<Up<Below, &Armor>, With<Gun>>();
    let mut cached = world.query_filtered::<Cached<Up<Below, &Armor>>, With<Gun>>();
    let mut seen = |world: &World| (direct.single(world).unwrap().0, cached.single(world).unwrap().0);
    assert_eq!(seen(&world), (1, 1));
    world.entity_mut(gun).insert(MirroredPairs::from_iter([(Below, c), (Below, b)]));
    assert_eq!(seen(&world), (2, 2));
    assert_eq!(check::<Below>(&world, gun), [c, b]);
}

#[test]
fn values_are_mirrored_both_ways() {
    let mut world = world_with::<Owes>();
    let [a, b, c] = spawn(&mut world);
    let value = |world: &World, target| world.get::<MirroredPairs<Owes>>(a).unwrap().get(target).cloned();
    world.insert_pair(a, Owes(1), b).unwrap();
    assert_eq!(value(&world, b), Some(Owes(1)));
    world.insert_pair(a, Owes(2), b).unwrap();
    assert_eq!(value(&world, b), Some(Owes(2)));
    let wanted = MirroredPairs::from_iter([(Owes(7), c), (Owes(3), b)]);
    world.entity_mut(a).insert(wanted);
    assert_eq!(check::<Owes>(&world, a), [c, b]);
    let values = [b, c].map(|target| world.pair_value::<Owes>(a, target).unwrap().0);
    assert_eq!(values, [3, 7]);
    // Without a value the pair keeps its own.
    let mut kept = world.get::<MirroredPairs<Owes>>(a).unwrap().clone();
    kept.pairs[0].value = None;
    world.entity_mut(a).insert(kept);
    assert_eq!(value(&world, c), Some(Owes(7)));
    // Written in place.
    world
        .run_system_cached(|mut owes: PairsMut<Owes>| owes.for_each_mut(|_, _, mut owes| owes.0 += 10))
        .unwrap();
    assert_eq!(value(&world, c), Some(Owes(7)));
    world.update_mirrors();
    assert_eq!((value(&world, c), value(&world, b)), (Some(Owes(17)), Some(Owes(13))));
    let before = changed::<Owes>(&world, a);
    world.maintain_pairs();
    assert_eq!(changed::<Owes>(&world, a), before);
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn nothing_is_written_where_nothing_changed() {
    let mut world = world_with::<Owes>();
    world.mirror_pairs::<Likes>().unwrap();
    let [a, b, c] = spawn(&mut world);
    world.insert_pairs(a, [(Owes(1), b), (Owes(2), c)]).unwrap();
    world.insert_pair(a, Likes, b).unwrap();
    let before = (changed::<Owes>(&world, a), changed::<Likes>(&world, a));
    world.increment_change_tick();
    world.insert_pair(a, Likes, b).unwrap();
    world.insert_pair(a, Owes(1), b).unwrap();
    world.remove_pair::<Likes>(a, c);
    world.insert_pair(b, Likes, a).unwrap();
    world.update_mirrors();
    assert_eq!((changed::<Owes>(&world, a), changed::<Likes>(&world, a)), before);
    world.insert_pair(a, Owes(3), b).unwrap();
    assert_ne!(changed::<Owes>(&world, a), before.0);
    assert_eq!(changed::<Likes>(&world, a), before.1);
}

#[test]
fn writing_the_same_triggers_no_event_of_pairs_and_one_insertion() {
    #[derive(Resource, Default)]
    struct Count(u32);
    let mut world = world_with::<Owes>();
    world.init_resource::<Count>();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Owes(1), b).unwrap();
    world.add_observer(|_: On<PairInserted<Owes>>| panic!("an echo"));
    world.add_observer(|_: On<PairRemoved<Owes>>| panic!("an echo"));
    world.add_observer(|_: On<Insert<MirroredPairs<Owes>>>, mut count: ResMut<Count>| count.0 += 1);
    let same = world.get::<MirroredPairs<Owes>>(a).unwrap().clone();
    world.entity_mut(a).insert(same);
    assert_eq!(world.resource::<Count>().0, 1, "that of the caller");
}

#[test]
fn exclusive_and_symmetric_relations_are_mirrored() {
    let mut world = world_with::<DockedTo>();
    world.mirror_pairs::<Knows>().unwrap();
    let [ship, earth, mars] = spawn(&mut world);
    world.insert_pair(ship, DockedTo, earth).unwrap();
    world.insert_pair(ship, DockedTo, mars).unwrap();
    assert_eq!(check::<DockedTo>(&world, ship), [mars]);
    world.entity_mut(ship).insert(MirroredPairs::from_iter([(DockedTo, earth)]));
    assert_eq!(check::<DockedTo>(&world, ship), [earth]);

    world.entity_mut(ship).insert(MirroredPairs::from_iter([(Knows, earth), (Knows, mars)]));
    assert_eq!((check::<Knows>(&world, earth), check::<Knows>(&world, mars)), (vec![ship], vec![ship]));
    world.entity_mut(mars).remove::<MirroredPairs<Knows>>();
    assert_eq!((check::<Knows>(&world, ship), check::<Knows>(&world, mars)), (vec![earth], vec![]));
    world.entity_mut(earth).insert(MirroredPairs::from_iter([(Knows, mars), (Knows, ship)]));
    assert_eq!(check::<Knows>(&world, earth), [mars, ship]);
    assert_eq!((check::<Knows>(&world, ship), check::<Knows>(&world, mars)), (vec![earth], vec![earth]));
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn the_places_in_an_ordered_relation_are_mirrored_both_ways() {
    let mut world = world_with::<Queues>();
    let [shop, a, b, c] = spawn(&mut world);
    let place = |world: &World, source| world.get::<MirroredPairs<Queues>>(source).unwrap().pairs[0].place;
    let ascend = |world: &World| {
        let sources: Vec<Entity> = world.pairs::<Queues>().sources(shop).collect();
        let places: Vec<_> = sources.iter().map(|&source| place(world, source).unwrap()).collect();
        assert!(places.is_sorted_by(|one, other| one < other), "{places:?}");
        sources
    };
    world.insert_pair_batch([(a, Queues, shop), (b, Queues, shop), (c, Queues, shop)]).unwrap();
    assert_eq!(ascend(&world), [a, b, c]);
    world.order_sources::<Queues>(shop, &[c, a, b]).unwrap();
    assert_eq!(ascend(&world), [c, a, b]);
    world.remove_pair::<Queues>(c, shop);
    world.insert_pair(c, Queues, shop).unwrap();
    assert_eq!(ascend(&world), [a, b, c]);
    // To the front.
    let mut front = world.get::<MirroredPairs<Queues>>(c).unwrap().clone();
    front.pairs[0].place = Some(0);
    world
        .entity_mut(b)
        .insert(MirroredPairs { pairs: vec![MirroredPair { place: Some(9), ..front.pairs[0].clone() }] });
    world
        .entity_mut(a)
        .insert(MirroredPairs { pairs: vec![MirroredPair { place: Some(5), ..front.pairs[0].clone() }] });
    world.entity_mut(c).insert(front);
    assert_eq!(ascend(&world), [c, a, b]);
    // Without a place it stays where it is.
    world.entity_mut(a).insert(MirroredPairs::from_iter([(Queues, shop)]));
    assert_eq!(ascend(&world), [c, a, b]);
    assert_eq!(take_reported_errors(), [""; 0]);
    world.check_pairs().unwrap();
}

#[test]
fn types_as_targets_are_named_by_their_paths_and_bring_their_values() {
    let mut world = world_with::<Begins>();
    world.init_resource::<AppTypeRegistry>();
    world.resource::<AppTypeRegistry>().write().register::<Place>();
    let [a, b] = spawn(&mut world);
    world.insert_pair_to::<Begins, Place>(a, Place(3)).unwrap();
    let mirrored = world.get::<MirroredPairs<Begins>>(a).unwrap().clone();
    let MirroredTarget::Type(named) = &mirrored.pairs[0].target else { panic!("{mirrored:?}") };
    assert!(named.path.ends_with("mirror::Place"), "{named:?}");
    assert_eq!(named.value, Some(ReflectedValue::new(Place(3))));
    world.entity_mut(b).insert(mirrored.clone());
    let place = world.entity_of::<Place>();
    let begins = world.entity_of::<Begins>();
    assert_eq!(world.pair_value_by_id::<Place>(b, (begins, place)), Some(&Place(3)));
    let named = MirroredType { path: named.path.clone(), value: Some(ReflectedValue::new(Place(4))) };
    let pair = MirroredPair { target: MirroredTarget::Type(named), ..mirrored.pairs[0].clone() };
    world.entity_mut(b).insert(MirroredPairs { pairs: vec![pair] });
    assert_eq!(world.pair_value_by_id::<Place>(b, (begins, place)), Some(&Place(4)));
    assert_eq!(take_reported_errors(), [""; 0]);

    // A world that has not met the type does not know how to store its values.
    let mut other = world_with::<Begins>();
    other.resource::<AppTypeRegistry>().write().register::<Place>();
    let c = other.spawn(mirrored.clone()).id();
    assert_eq!(check::<Begins>(&other, c), []);
    let errors = take_reported_errors();
    assert!(matches!(&*errors, [error] if error.contains("call `entity_of`")), "{errors:?}");
    other.entity_of::<Place>();
    other.entity_mut(c).insert(mirrored.clone());
    assert_eq!(other.pairs::<Begins>().targets(c).count(), 1);

    // Without the type there is no such target.
    let mut other = world_with::<Begins>();
    let c = other.spawn(mirrored).id();
    assert_eq!(check::<Begins>(&other, c), []);
    let errors = take_reported_errors();
    assert!(
        matches!(&*errors, [error] if error.contains("mirror::Place`, is not in the type registry")),
        "{errors:?}"
    );
}

#[test]
fn clones_have_components_of_their_own() {
    let mut world = world_with::<Owes>();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Owes(1), b).unwrap();
    let clone = world.entity_mut(a).clone_and_spawn();
    assert_eq!(check::<Owes>(&world, clone), [b]);
    world.insert_pair(clone, Owes(2), a).unwrap();
    assert_eq!((check::<Owes>(&world, a), check::<Owes>(&world, clone)), (vec![b], vec![b, a]));

    let ship = world.spawn_empty().id();
    let [gun, crew] = [(); 2].map(|()| world.spawn(ChildOf(ship)).id());
    world.insert_pair_batch([(gun, Owes(1), crew), (crew, Owes(2), ship)]).unwrap();
    let other = world.spawn_empty().id();
    EntityCloner::build_opt_out(&mut world).linked_cloning(true).clone_entity(ship, other);
    let children: Vec<Entity> = world.get::<Children>(other).unwrap().to_vec();
    assert_eq!(check::<Owes>(&world, children[0]), [children[1]]);
    assert_eq!(check::<Owes>(&world, children[1]), [other]);
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn what_moves_or_retains_components_keeps_the_pairs_and_what_clears_does_not() {
    #[derive(Component, Clone)]
    struct Tank;
    let mut world = world_with::<Likes>();
    let [b, other] = spawn(&mut world);
    let a = world.spawn((Tank, Pair(Likes, b))).id();
    world.entity_mut(a).retain::<Tank>();
    assert_eq!(check::<Likes>(&world, a), [b]);
    EntityCloner::build_opt_out(&mut world).move_components(true).clone_entity(a, other);
    assert_eq!((check::<Likes>(&world, a), check::<Likes>(&world, other)), (vec![b], vec![]));
    world.entity_mut(a).clear();
    assert_eq!(check::<Likes>(&world, a), []);
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn a_component_takes_the_mirror_into_use_also_several_at_once() {
    let mut world = world_that_records_errors();
    let [a, b] = spawn(&mut world);
    let sources: Vec<Entity> =
        world.spawn_batch([a, b].map(|target| MirroredPairs::from_iter([(Likes, target)]))).collect();
    assert_eq!(check::<Likes>(&world, sources[0]), [a]);
    assert_eq!(check::<Likes>(&world, sources[1]), [b]);
    world.insert_pair(sources[1], Likes, a).unwrap();
    assert_eq!(check::<Likes>(&world, sources[1]), [b, a]);
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn observers_may_change_pairs_and_components_meanwhile() {
    let mut world = world_with::<Likes>();
    world.mirror_pairs::<Knows>().unwrap();
    world.add_observer(|on: On<PairInserted<Likes>>, mut commands: Commands| {
        commands.entity(on.target).insert(MirroredPairs::from_iter([(Knows, on.source)]));
    });
    world.add_observer(|on: On<Insert<MirroredPairs<Knows>>>, mut commands: Commands| {
        commands.entity(on.entity).remove_pairs::<Likes>();
    });
    let [a, b, c] = spawn(&mut world);
    world.insert_pair(b, Likes, c).unwrap();
    world.entity_mut(a).insert(MirroredPairs::from_iter([(Likes, b), (Likes, c)]));
    for entity in [a, b, c] {
        check::<Likes>(&world, entity);
        check::<Knows>(&world, entity);
    }
    assert!(world.has_pair::<Knows>(b, a));
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn the_component_of_an_entity_that_is_despawned_at_once_is_no_error() {
    let mut world = world_with::<Likes>();
    world.add_observer(|on: On<Insert<MirroredPairs<Likes>>>, mut commands: Commands| {
        commands.entity(on.entity).try_despawn();
    });
    let [a, b] = spawn(&mut world);
    world.commands().spawn(MirroredPairs::from_iter([(Likes, a)]));
    world.flush();
    world.insert_pair(a, Likes, b).unwrap();
    assert!(world.get_entity(a).is_err());
    world.maintain_pairs();
    assert_eq!(take_reported_errors(), [""; 0]);
    world.check_pairs().unwrap();
}

#[test]
fn it_needs_no_observers() -> Result<(), PairInvariantError> {
    let mut world = world_with::<Owes>();
    let [a, b, c] = spawn(&mut world);
    world.insert_pairs(a, [(Owes(1), b), (Owes(1), c)]).unwrap();
    let observers: Vec<Entity> = world.query_filtered::<Entity, With<Observer>>().iter(&world).collect();
    observers.into_iter().for_each(|observer| _ = world.despawn(observer));
    world.insert_pair(a, Owes(2), b).unwrap();
    world.remove_pair::<Owes>(a, c);
    world.insert_pair(b, Owes(3), c).unwrap();
    assert_eq!((check::<Owes>(&world, a), check::<Owes>(&world, b)), (vec![b], vec![c]));
    assert_eq!(world.get::<MirroredPairs<Owes>>(a).unwrap().get(b), Some(&Owes(2)));
    world.maintain_pairs();
    world.insert_pair(a, Owes(5), b).unwrap();
    assert_eq!(world.get::<MirroredPairs<Owes>>(a).unwrap().get(b), Some(&Owes(5)));
    world.check_pairs()
}

#[test]
fn two_worlds_have_mirrors_of_their_own() {
    let (mut one, mut other) = (world_with::<Likes>(), World::new());
    let [_, a, b] = spawn(&mut one);
    let [c, d] = spawn(&mut other);
    one.insert_pair(a, Likes, b).unwrap();
    other.insert_pair(c, Likes, d).unwrap();
    assert_eq!(check::<Likes>(&one, a), [b]);
    assert!(!other.entity(c).contains::<MirroredPairs<Likes>>());
    other.mirror_pairs::<Likes>().unwrap();
    assert_eq!(check::<Likes>(&other, c), [d]);
}

#[test]
fn an_app_mirrors_pairs_and_writes_values_that_changed_in_place() {
    let mut app = App::new();
    app.add_plugins(RelationsPlugin).mirror_pairs::<Owes>();
    record_errors_of(app.world_mut());
    let [a, b] = spawn(app.world_mut());
    app.world_mut().insert_pair(a, Owes(1), b).unwrap();
    app.add_systems(Update, |mut owes: PairsMut<Owes>| owes.for_each_mut(|_, _, mut owes| owes.0 += 1));
    app.update();
    app.update();
    assert_eq!(app.world().get::<MirroredPairs<Owes>>(a).unwrap().get(b), Some(&Owes(2)));
}

#[test]
fn sub_apps_have_pairs_and_mirrors_of_their_own() {
    #[derive(AppLabel, Clone, Copy, Debug, PartialEq, Eq, Hash)]
    enum Part {
        Render,
        Sound,
    }
    let part = || -> (App, [Entity; 2]) {
        let mut app = App::new();
        app.add_plugins(RelationsPlugin).mirror_pairs::<Owes>();
        record_errors_of(app.world_mut());
        let ends = spawn(app.world_mut());
        (app, ends)
    };
    let (mut app, [a, b]) = part();
    let parts = [Part::Render, Part::Sound].map(|label| {
        let (mut inner, [c, d]) = part();
        inner
            .add_systems(Update, |mut owes: PairsMut<Owes>| owes.for_each_mut(|_, _, mut owes| owes.0 += 10));
        let mut sub_app = core::mem::take(inner.main_mut());
        // As a renderer does: it takes from the main world what it needs.
        sub_app.set_extract(move |main, world| match main.pair_value::<Owes>(a, b) {
            Some(&Owes(much)) => world.insert_pair(c, Owes(much), d).unwrap(),
            None => _ = world.remove_pair::<Owes>(c, d),
        });
        app.insert_sub_app(label, sub_app);
        (label, c, d)
    });
    app.world_mut().insert_pair(a, Owes(1), b).unwrap();
    app.update();
    app.update();
    for (label, c, d) in parts {
        let world = app.sub_app(label).world();
        assert_eq!(check::<Owes>(world, c), [d]);
        assert_eq!(world.pair_value::<Owes>(c, d), Some(&Owes(11)));
    }
    assert_eq!(app.world().pair_value::<Owes>(a, b), Some(&Owes(1)));
    app.world_mut().despawn(b);
    app.update();
    for (label, c, _) in parts {
        assert_eq!(check::<Owes>(app.sub_app(label).world(), c), []);
    }
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn targets_and_the_entities_in_values_are_mapped() {
    #[derive(Relation, Reflect, Clone, PartialEq, Debug)]
    struct SoldBy {
        witness: Option<Entity>,
    }
    let mut world = world_with::<SoldBy>();
    let [a, old, new] = spawn(&mut world);
    let mut pairs = MirroredPairs::from_iter([(SoldBy { witness: Some(old) }, old)]);
    <MirroredPairs<SoldBy> as Component>::map_entities(&mut pairs, &mut (old, new));
    world.entity_mut(a).insert(pairs);
    assert_eq!(check::<SoldBy>(&world, a), [new]);
    assert_eq!(world.pair_value::<SoldBy>(a, new), Some(&SoldBy { witness: Some(new) }));
}

#[test]
fn expressions_list_pairs_and_not_the_components_that_show_them() {
    let mut world = world_with::<Likes>();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Likes, b).unwrap();
    world.entity_mut(a).insert(Name::new("a"));
    let mut all =
        PairExpr::parse("*($x)").unwrap().compile(&mut world).unwrap().with_var(&world, "x", a).unwrap();
    let with_mirror = all.count(&world).unwrap();
    world.remove_pair::<Likes>(a, b);
    world.entity_mut(a).remove::<MirroredPairs<Likes>>();
    assert_eq!(all.count(&world), Ok(with_mirror));
}

#[test]
fn serde_writes_and_reads_it() {
    let [a, b] = spawn(&mut World::new());
    #[derive(Relation, Reflect, Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
    struct Sells {
        price: u32,
    }
    let pairs = MirroredPairs::from_iter([(Sells { price: 3 }, a), (Sells { price: 4 }, b)]);
    let text = serde_json::to_string(&pairs).unwrap();
    let read: MirroredPairs<Sells> = serde_json::from_str(&text).unwrap();
    assert!(read.targets().eq([a, b]) && read.get(b) == Some(&Sells { price: 4 }), "{text}");
    let short = format!(r#"{{"pairs":[{{"target":{{"Entity":{}}}}}]}}"#, a.to_bits());
    let read: MirroredPairs<Sells> = serde_json::from_str(&short).unwrap();
    assert!(read.contains(a) && read.get(a).is_none());
}
