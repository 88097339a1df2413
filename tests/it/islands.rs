//! Islands: reading them, their ids, their events, and what a program can do in the midst.
//!
//! `islands_model` compares them with their definition.

use crate::common::{
    record_errors_of, reuse_index, size, spawn, take_reported_errors, world_that_records_errors,
};
use bevy_app::prelude::*;
use bevy_ecs::{
    entity_disabling::Disabled, error::FallbackErrorHandler, prelude::*, resource::IsResource,
    system::RunSystemOnce,
};
use bevy_relations::{error::IslandsError, islands::*, prelude::*, relation::Wildcard};

#[derive(Relation)]
struct WiredTo;

#[derive(Relation)]
#[relation(exclusive)]
struct PluggedInto;

/// Its traits are rejected when it is registered.
#[derive(Relation)]
#[relation(with = Chicken)]
struct Egg;

#[derive(Relation)]
#[relation(with = Egg)]
struct Chicken;

/// The events, as text: ids are in the order in which they were given.
#[derive(Resource, Default)]
struct Log(Vec<String>);

fn listen(world: &mut World) {
    world.init_resource::<Log>();
    world.add_observer(|on: On<IslandSplit<WiredTo>>, mut log: ResMut<Log>| {
        log.0.push(format!("{} off {}", on.new, on.kept));
    });
    world.add_observer(|on: On<IslandsMerged<WiredTo>>, mut log: ResMut<Log>| {
        log.0.push(format!("{} into {}", on.gone, on.kept));
    });
    world.add_observer(|on: On<IslandCreated<WiredTo>>, mut log: ResMut<Log>| {
        log.0.push(format!("{} created", on.island));
    });
    world.add_observer(|on: On<IslandRemoved<WiredTo>>, mut log: ResMut<Log>| {
        log.0.push(format!("{} removed", on.island));
    });
    world.add_observer(|on: On<IslandChanged<WiredTo>>, mut log: ResMut<Log>| {
        log.0.push(format!("{} changed", on.island));
    });
}

/// The events since the last call.
fn told(world: &mut World) -> Vec<String> {
    world.check_pairs().unwrap();
    core::mem::take(&mut world.resource_mut::<Log>().0)
}

/// A world that tracks the islands of `WiredTo` and listens to their events.
fn wired<const N: usize>() -> (World, [Entity; N]) {
    let mut world = world_that_records_errors();
    world.track_islands::<WiredTo>().unwrap();
    listen(&mut world);
    let entities = spawn(&mut world);
    (world, entities)
}

fn wire(world: &mut World, wires: &[(Entity, Entity)]) {
    for &(a, b) in wires {
        world.insert_pair(a, WiredTo, b).unwrap();
    }
}

fn island(world: &World, entity: Entity) -> Option<IslandId> {
    world.islands::<WiredTo>().unwrap().island(entity)
}

fn members(world: &World, entity: Entity) -> Vec<Entity> {
    let islands = world.islands::<WiredTo>().unwrap();
    let mut members = islands.island(entity).map_or(Vec::new(), |island| islands.members(island).to_vec());
    members.sort_unstable();
    members
}

#[test]
fn islands_that_are_not_tracked_are_an_error_and_no_empty_list() {
    let mut world = World::new();
    let error = world.islands::<WiredTo>().unwrap_err();
    assert!(error.to_string().starts_with("the islands of WiredTo are not tracked"), "{error}");
    let relation = world.spawn_relation("Pipes", RelationTraits::new()).unwrap();
    let error = world.islands_by_id(relation).unwrap_err();
    assert!(error.to_string().starts_with("the islands of Pipes are not tracked"), "{error}");
    let [dead] = spawn(&mut world);
    world.despawn(dead);
    assert_eq!(world.track_islands_by_id(dead), Err(IslandsError::Dead { relation: dead }));
    assert!(world.islands_by_id(dead).is_err());
    let error = world.track_islands::<Egg>().unwrap_err();
    assert!(error.to_string().contains("`with` leads back to it"), "{error}");
    world.track_islands::<WiredTo>().unwrap();
    assert!(world.islands::<WiredTo>().unwrap().is_empty());
    // By type and by entity it is one relation.
    let relation = world.entity_of::<WiredTo>();
    assert!(world.islands_by_id(relation).is_ok());
}

#[test]
fn a_system_with_the_parameter_makes_islands_tracked() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    wire(&mut world, &[(a, b)]);
    let read = move |islands: Islands<WiredTo>| {
        let id = islands.island(b).unwrap();
        assert_eq!((islands.len(), islands.size(id), islands.members(id).len()), (1, 2, 2));
        assert!(islands.same(a, b) && !islands.same(a, c) && !islands.same(c, c) && islands.contains(id));
        assert_eq!(islands.iter().map(|(id, _)| id).collect::<Vec<_>>(), [id]);
        assert_eq!(format!("{:?}", islands.view()), format!("{{{id:?}: {:?}}}", islands.members(id)));
        assert!(!islands.is_empty());
    };
    world.run_system_once(read).unwrap();
    assert!(world.islands::<WiredTo>().unwrap().same(a, b));
}

#[test]
fn systems_that_read_islands_do_not_conflict_with_readers_of_pairs() {
    let mut world = World::new();
    let system = |_: Islands<WiredTo>, _: Islands<PluggedInto>, _: Islands<WiredTo>, _: Pairs<WiredTo>| {};
    world.run_system_once(system).unwrap();
    let mut schedule = Schedule::default();
    schedule.add_systems((|_: Islands<WiredTo>| {}, |_: Islands<WiredTo>, _: Query<&mut Name>| {}));
    schedule.run(&mut world);
}

#[test]
fn an_island_keeps_its_id_when_it_grows_merges_and_splits() {
    let (mut world, [a, b, c, d, e, f]) = wired();
    wire(&mut world, &[(a, b), (c, b)]);
    let large = island(&world, a);
    assert_eq!(told(&mut world), ["island 1 created", "island 1 changed"]);
    wire(&mut world, &[(d, e)]);
    assert_eq!(told(&mut world), ["island 2 created"]);
    wire(&mut world, &[(d, a)]);
    assert_eq!(told(&mut world), ["island 2 into island 1", "island 1 changed"]);
    assert_eq!((island(&world, e), members(&world, e).len()), (large, 5));
    world.remove_pair::<WiredTo>(d, a);
    assert_eq!(told(&mut world), ["island 3 off island 1", "island 1 changed"]);
    assert_eq!(island(&world, a), large);
    assert_eq!(island(&world, d), island(&world, e));
    wire(&mut world, &[(f, e), (a, a)]);
    assert_eq!(told(&mut world), ["island 3 changed"]);
    // As large: the older one stays.
    wire(&mut world, &[(f, c)]);
    assert_eq!((island(&world, f), told(&mut world).len()), (large, 2));
    // As large: the one with the lowest index stays.
    world.remove_pair::<WiredTo>(f, c);
    assert_eq!((island(&world, a), told(&mut world)[0].as_str()), (large, "island 4 off island 1"));
    world.remove_pairs_everywhere(PairId::ALL);
    assert_eq!(told(&mut world), ["island 1 removed", "island 4 removed"]);
    assert!(world.islands::<WiredTo>().unwrap().is_empty() && island(&world, a).is_none());
}

#[test]
fn an_entity_that_moves_to_another_island_takes_no_id_along() {
    let mut world = World::new();
    world.track_islands::<PluggedInto>().unwrap();
    let [hub, other, a, b, c, d] = spawn(&mut world);
    for (source, target) in [(a, hub), (b, hub), (c, other), (d, other)] {
        world.insert_pair(source, PluggedInto, target).unwrap();
    }
    let ids = |world: &World| [hub, other].map(|hub| world.islands::<PluggedInto>().unwrap().island(hub));
    let before = ids(&world);
    world.init_resource::<Log>();
    world.add_observer(|_: On<IslandSplit<PluggedInto>>, mut log: ResMut<Log>| log.0.push("split".into()));
    world.add_observer(|_: On<IslandsMerged<PluggedInto>>, mut log: ResMut<Log>| log.0.push("merge".into()));
    world.add_observer(|on: On<IslandChanged<PluggedInto>>, mut log: ResMut<Log>| {
        log.0.push(on.island.to_string());
    });
    world.insert_pair(a, PluggedInto, other).unwrap();
    assert_eq!(ids(&world), before);
    assert_eq!(told(&mut world), ["island 1", "island 2"]);
    world.move_sources::<PluggedInto>(other, hub).unwrap();
    assert_eq!(ids(&world), [before[0], None]);
    world.check_pairs().unwrap();
}

#[test]
fn a_verb_is_one_change_and_a_batch_is_a_change_per_pair() {
    let (mut world, [a, b, c, d]) = wired();
    world.insert_pair_batch([(a, WiredTo, b), (c, WiredTo, d), (b, WiredTo, c)]).unwrap();
    let expected = ["island 1 created", "island 2 created", "island 2 into island 1", "island 1 changed"];
    assert_eq!(told(&mut world), expected);
    // Nothing else is connected by that.
    world.replace_targets(a, [(WiredTo, c)]).unwrap();
    assert_eq!(told(&mut world), [""; 0]);
    world.remove_pairs_everywhere(PairId::with_target(c));
    assert_eq!(told(&mut world), ["island 1 changed"]);
    assert_eq!((members(&world, c).len(), island(&world, a), island(&world, b)), (2, None, None));
}

#[test]
fn islands_that_were_there_before_tracking_trigger_no_event() {
    let mut world = World::new();
    let [a, b, c, d] = spawn(&mut world);
    wire(&mut world, &[(a, b), (c, d)]);
    listen(&mut world);
    world.track_islands::<WiredTo>().unwrap();
    world.track_islands::<WiredTo>().unwrap();
    assert_eq!(told(&mut world), [""; 0]);
    assert_eq!(world.islands::<WiredTo>().unwrap().len(), 2);
    wire(&mut world, &[(a, c)]);
    assert_eq!(told(&mut world), ["island 2 into island 1", "island 1 changed"]);
}

#[test]
fn despawned_ends_leave_and_a_new_entity_with_their_index_is_in_no_island() {
    let (mut world, [a, b, c]) = wired();
    wire(&mut world, &[(a, b), (b, c)]);
    world.despawn(b);
    assert_eq!(told(&mut world).last().unwrap(), "island 1 removed");
    assert!([a, b, c].iter().all(|&entity| island(&world, entity).is_none()));
    wire(&mut world, &[(a, c)]);
    world.despawn(c);
    let new = reuse_index(&mut world, c);
    assert_eq!((island(&world, new), island(&world, c)), (None, None));
    wire(&mut world, &[(new, a)]);
    let mut both = [new, a];
    both.sort_unstable();
    assert_eq!((members(&world, a), island(&world, c)), (both.to_vec(), None));
    told(&mut world);
}

#[test]
fn disabled_entities_and_clones_are_in_islands() {
    let (mut world, [a, b]) = wired();
    wire(&mut world, &[(a, b)]);
    world.entity_mut(a).insert(Disabled);
    assert_eq!(members(&world, b).len(), 2);
    let clone = world.entity_mut(a).clone_and_spawn();
    assert_eq!(island(&world, clone), island(&world, b));
    assert_eq!(told(&mut world), ["island 1 created", "island 1 changed"]);
}

#[test]
fn islands_of_a_run_time_relation_go_with_it() {
    let mut world = World::new();
    let pipes = world.spawn_relation("Pipes", RelationTraits::new()).unwrap();
    let before = world.entities().count_spawned();
    world.track_islands_by_id(pipes).unwrap();
    let [a, b] = spawn(&mut world);
    world.insert_pair_by_id(a, (pipes, b)).unwrap();
    assert!(world.islands_by_id(pipes).unwrap().same(a, b));
    world.init_resource::<Log>();
    world.add_observer(move |on: On<IslandRemoved<Wildcard>>, mut log: ResMut<Log>| {
        assert_eq!(on.relation, pipes);
        log.0.push(on.island.to_string());
    });
    let with_observers = world.entities().count_spawned();
    world.despawn(pipes);
    assert_eq!(told(&mut world), ["island 1"]);
    assert!(world.islands_by_id(pipes).is_err());
    // The relation and the two observers of its pairs.
    assert_eq!(world.entities().count_spawned(), with_observers - 3);
    // One without pairs goes, too.
    let pipes = world.spawn_relation("Pipes", RelationTraits::new()).unwrap();
    world.track_islands_by_id(pipes).unwrap();
    world.despawn(pipes);
    world.update_islands();
    assert!(world.islands_by_id(pipes).is_err());
    assert!(world.entities().count_spawned() < before + 10);
}

#[test]
fn islands_of_a_type_outlive_the_entity_of_the_relation() {
    let (mut world, [a, b]) = wired();
    wire(&mut world, &[(a, b)]);
    let relation = world.entity_of::<WiredTo>();
    world.despawn(relation);
    assert_eq!(told(&mut world), ["island 1 created", "island 1 removed"]);
    wire(&mut world, &[(a, b)]);
    assert_eq!((told(&mut world), members(&world, a).len()), (vec!["island 2 created".to_owned()], 2));
    world.clear_pairs();
    assert_eq!((told(&mut world), members(&world, a).len()), (vec!["island 2 removed".to_owned()], 0));
    wire(&mut world, &[(a, b)]);
    assert_eq!(members(&world, a).len(), 2);
}

#[test]
fn observers_read_islands_that_are_right_for_the_pairs_that_there_are() {
    let (mut world, [a, b, c, d]) = wired();
    world.add_observer(|on: On<IslandSplit<WiredTo>>, islands: Islands<WiredTo>, pairs: Pairs<WiredTo>| {
        assert!(islands.contains(on.kept) && islands.contains(on.new));
        for (source, target) in pairs.iter() {
            assert!(islands.same(source, target));
        }
    });
    wire(&mut world, &[(a, b), (b, c), (c, d)]);
    world.remove_pair::<WiredTo>(b, c);
    assert_eq!(told(&mut world).len(), 5);
}

#[test]
fn what_observers_of_islands_change_is_reported_after_what_triggered_them() {
    let (mut world, [a, b, c, d]) = wired();
    world.add_observer(|on: On<IslandSplit<WiredTo>>, islands: Islands<WiredTo>, mut commands: Commands| {
        let [kept, new] = [on.kept, on.new].map(|island| islands.members(island)[0]);
        commands.entity(kept).insert_pair(WiredTo, new);
    });
    wire(&mut world, &[(a, b), (b, c), (c, d)]);
    told(&mut world);
    world.remove_pair::<WiredTo>(b, c);
    let expected =
        ["island 2 off island 1", "island 1 changed", "island 2 into island 1", "island 1 changed"];
    assert_eq!(told(&mut world), expected);
    assert_eq!(members(&world, a).len(), 4);
}

#[test]
fn an_observer_may_despawn_what_has_split_off_and_the_ends_of_pairs_that_go() {
    let (mut world, [a, b, c, d, e]) = wired();
    world.add_observer(|on: On<IslandSplit<WiredTo>>, islands: Islands<WiredTo>, mut commands: Commands| {
        for &member in islands.members(on.new) {
            commands.entity(member).despawn();
        }
    });
    wire(&mut world, &[(a, b), (b, c), (c, d), (d, e)]);
    world.remove_pair::<WiredTo>(c, d);
    assert!([d, e].iter().all(|&entity| world.get_entity(entity).is_err()));
    assert_eq!(members(&world, a).len(), 3);
    world.add_observer(|on: On<PairRemoved<WiredTo>>, mut commands: Commands| {
        commands.entity(on.source).try_despawn();
    });
    world.remove_pair::<WiredTo>(b, c);
    assert!(world.get_entity(b).is_err() && world.islands::<WiredTo>().unwrap().is_empty());
    told(&mut world);
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn islands_are_right_again_after_an_observer_has_panicked() {
    let (mut world, [a, b, c, d]) = wired();
    wire(&mut world, &[(a, b), (b, c), (c, d)]);
    told(&mut world);
    let observer = world.add_observer(|_: On<IslandSplit<WiredTo>>| panic!("no")).id();
    // Bevy hands a panic in a command to its error handler.
    world.remove_pair::<WiredTo>(b, c);
    assert_eq!(take_reported_errors().len(), 1);
    world.despawn(observer);
    assert!(!world.islands::<WiredTo>().unwrap().same(a, d));
    // Events that were still pending are triggered.
    world.update_islands();
    assert!(told(&mut world).ends_with(&["island 1 changed".into()]));
    wire(&mut world, &[(a, d)]);
    assert_eq!(told(&mut world), ["island 2 into island 1", "island 1 changed"]);
}

#[test]
fn islands_are_right_again_after_every_observer_was_despawned() {
    let mut app = App::new();
    app.add_plugins(RelationsPlugin).track_islands::<WiredTo>().track_islands::<ChildOf>();
    record_errors_of(app.world_mut());
    let [a, b] = spawn(app.world_mut());
    app.world_mut().despawn_all::<With<Observer>>();
    wire(app.world_mut(), &[(a, b)]);
    app.world_mut().entity_mut(a).insert(ChildOf(b));
    app.update();
    let world = app.world_mut();
    assert!(world.islands::<ChildOf>().unwrap().same(a, b) && world.islands::<WiredTo>().unwrap().same(a, b));
    world.entity_mut(a).remove::<ChildOf>().remove_pairs::<WiredTo>();
    assert!(world.islands::<ChildOf>().unwrap().is_empty() && world.islands::<WiredTo>().unwrap().is_empty());
    world.check_pairs().unwrap();
}

/// The entity of a resource is one as any other.
#[test]
fn islands_are_those_of_the_pairs_whichever_resource_is_despawned() {
    for number in 0.. {
        let (mut world, [a, b, c]) = wired();
        wire(&mut world, &[(a, b)]);
        let mut resources =
            world.query_filtered::<Entity, (With<IsResource>, Without<FallbackErrorHandler>, Without<Log>)>();
        let resources: Vec<Entity> = resources.iter(&world).collect();
        let Some(&resource) = resources.get(number) else { return };
        told(&mut world);
        world.despawn(resource);
        let is_same = |world: &World| match world.islands::<WiredTo>() {
            Ok(islands) => islands.len() == world.pairs::<WiredTo>().len(),
            Err(IslandsError::NotTracked { .. }) => true,
            Err(error) => panic!("{error}"),
        };
        assert!(is_same(&world), "resource {number}");
        if world.pairs::<WiredTo>().is_empty() && world.islands::<WiredTo>().is_ok() {
            assert!(told(&mut world).iter().any(|told| told.ends_with("removed")));
        }
        wire(&mut world, &[(b, c)]);
        world.remove_pairs::<WiredTo>(a);
        assert!(is_same(&world), "resource {number}");
    }
}

#[test]
fn maintenance_brings_islands_up_to_date() {
    let (mut world, [a, b]) = wired();
    world.despawn_all::<With<Observer>>();
    wire(&mut world, &[(a, b)]);
    world.maintain_pairs();
    assert!(world.islands::<WiredTo>().unwrap().same(a, b));
}

/// With a step per member for each change this would take hours.
#[test]
fn joining_and_cutting_off_a_few_does_not_visit_a_large_island() {
    const LEAVES: usize = size(50_000, 50);
    let (mut world, [hub]) = wired();
    let leaves: Vec<Entity> = (0..LEAVES).map(|_| world.spawn_empty().id()).collect();
    for &leaf in &leaves {
        world.insert_pair(leaf, WiredTo, hub).unwrap();
    }
    assert_eq!(members(&world, hub).len(), LEAVES + 1);
    for pair in leaves.chunks(2) {
        world.remove_pairs::<WiredTo>(pair[0]);
    }
    assert_eq!(members(&world, hub).len(), LEAVES / 2 + 1);
    world.despawn(hub);
    assert!(world.islands::<WiredTo>().unwrap().is_empty());
}

/// A chain is cut in the middle of what is left, again and again.
#[test]
fn a_long_chain_falls_into_its_links() {
    const LINKS: usize = size(4_096, 32).next_power_of_two();
    let (mut world, []) = wired();
    let links: Vec<Entity> = (0..LINKS).map(|_| world.spawn_empty().id()).collect();
    let pairs = links.windows(2).map(|link| (link[0], WiredTo, link[1]));
    world.insert_pair_batch(pairs).unwrap();
    let mut step = LINKS / 2;
    while step > 0 {
        for cut in (step..LINKS).step_by(step) {
            world.remove_pair::<WiredTo>(links[cut - 1], links[cut]);
        }
        let islands = world.islands::<WiredTo>().unwrap();
        assert_eq!(islands.len(), if step > 1 { LINKS / step } else { 0 });
        assert!(islands.iter().all(|(_, members)| members.len() == step));
        step /= 2;
    }
    told(&mut world);
}
