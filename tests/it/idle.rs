//! Apps with the plugin before anything uses relations: parents and children are there to read, and the first use, of
//! whatever kind, finds them.

use crate::common::{fewer, panic_message, record_errors_of, take_reported_errors};
use bevy_app::App;
use bevy_ecs::{
    entity::EntityHashSet, entity_disabling::Disabled, lifecycle::Insert, prelude::*,
    relationship::RelationshipHookMode, system::RunSystemOnce,
};
use bevy_relations::{PairQuery, expr::PairExpr, id::Slot, prelude::*, query::Up, relation::Wildcard};

#[derive(Relation)]
struct Likes;

#[derive(Component, Clone, PartialEq, Debug)]
struct Ship;

#[derive(Resource, Default)]
struct Heard(Vec<Entity>);

/// An app with the plugin whose world records errors.
fn app() -> App {
    let mut app = App::new();
    record_errors_of(app.world_mut());
    app.add_plugins(RelationsPlugin);
    app
}

/// Two trees, as Bevy's verbs leave them.
fn forest(world: &mut World) -> Vec<Entity> {
    let all: Vec<_> = (0..12).map(|_| world.spawn_empty().id()).collect();
    for (child, parent) in [(1, 0), (2, 0), (3, 1), (4, 3), (5, 2), (6, 2), (8, 7), (9, 8), (10, 9)] {
        world.entity_mut(all[child]).insert(ChildOf(all[parent]));
    }
    world.entity_mut(all[5]).insert(ChildOf(all[4]));
    world.entity_mut(all[0]).insert_child(0, all[6]);
    world.entity_mut(all[3]).insert(Ship);
    world.entity_mut(all[2]).insert(Disabled);
    world.despawn(all[9]);
    world.flush();
    all
}

/// What every way of reading a shared world says of the entities.
fn reads(world: &World, all: &[Entity]) -> Vec<String> {
    let (view, any) = (world.pairs::<ChildOf>(), world.any_pairs());
    let child_of = world.get_entity_of::<ChildOf>().unwrap();
    let by_id = world.pairs_by_id(child_of);
    let sorted = |pairs: &mut dyn Iterator<Item = (Entity, Entity)>| {
        let mut pairs: Vec<_> = pairs.collect();
        pairs.sort_unstable();
        pairs
    };
    let mut said = vec![
        format!("{:?} {:?}", sorted(&mut view.iter()), sorted(&mut by_id.iter())),
        format!("{:?}", sorted(&mut any.iter().map(|(source, _, target)| (source, target)))),
        format!("{} {} {} {}", view.len(), any.len(), view.is_empty(), any.is_empty()),
    ];
    for &a in all {
        let below: Vec<_> = view.descendants(a).collect();
        let broad: Vec<_> = view.descendants(a).breadth_first().collect();
        let above: Vec<_> = view.ancestors(a).collect();
        let sources: Vec<_> = view.sources(a).collect();
        let targets: Vec<_> = by_id.targets(a).collect();
        said.push(format!("{a}: {below:?} {broad:?} {above:?} {sources:?} {targets:?}"));
        said.push(format!(
            "{:?} {:?} {:?} {:?} {} {} {} {} {:?}",
            view.target(a),
            view.nth_target(a, 0),
            view.nth_target(a, 1),
            view.depth(a),
            view.has_any(a),
            view.is_target(a),
            view.target_count(a),
            view.source_count(a),
            view.root(a),
        ));
        said.push(format!("{:?} {:?}", world.pairs_of(a), sorted(&mut world.pairs_to(a).into_iter())));
        said.push(format!("{} {}", any.target_count(a), any.source_count(a)));
        said.push(format!("{:?}", world.target_with::<ChildOf, Ship>(a)));
        for pair in [PairId::ALL, PairId::with_relation(child_of), PairId::new(Slot::Any, Slot::Any)] {
            let found: Vec<_> = any.matching(a, pair).collect();
            said.push(format!("{} {found:?}", world.has_pair_by_id(a, pair)));
        }
        for &b in all {
            let value = world.pair_value::<ChildOf>(a, b).map(ChildOf::parent);
            said.push(format!(
                "{} {} {} {} {value:?} {:?}",
                world.has_pair::<ChildOf>(a, b),
                world.has_pair_by_id(a, (child_of, b)),
                world.has_pair_by_id(a, PairId::with_target(b)),
                view.is_ancestor(a, b),
                world.pair_value_by_id::<ChildOf>(a, (child_of, b)).map(ChildOf::parent),
            ));
        }
    }
    said
}

#[test]
fn a_shared_world_reads_the_same_before_and_after_relations_are_used() {
    let mut app = app();
    let all = forest(app.world_mut());
    app.update();
    let before = reads(app.world(), &all);
    for first_use in [World::register_relation::<Likes>, World::register_relation::<ChildOf>] {
        first_use(app.world_mut()).unwrap();
        assert_eq!(reads(app.world(), &all), before);
        app.world().check_pairs().unwrap();
    }
    assert!(before[0].len() > 100 && before.iter().any(|line| line.contains("true")));
    app.world().check_pairs().unwrap();
}

#[test]
fn parents_and_children_are_read_in_a_world_without_the_plugin_too() {
    let mut world = World::new();
    let root = world.spawn_empty().id();
    let child = world.spawn(ChildOf(root)).id();
    assert!(world.has_pair::<ChildOf>(child, root) && !world.has_pair::<ChildOf>(root, child));
    assert_eq!(world.pairs::<ChildOf>().descendants(root).collect::<Vec<_>>(), [(child, 1)]);
    assert_eq!(world.pairs::<ChildOf>().get(child, root), Some(&ChildOf(root)));
}

/// Every kind of first use; some do nothing to the children of `root`.
fn first_uses() -> Vec<(&'static str, fn(&mut World, Entity))> {
    vec![
        ("insert ChildOf", |world, root| {
            let child = world.spawn_empty().id();
            world.insert_pair(child, ChildOf(root), root).unwrap();
        }),
        ("insert another relation", |world, root| world.insert_pair(root, Likes, root).unwrap()),
        ("insert a built-in relation", |world, root| {
            let base = world.spawn_empty().id();
            world.insert_pair(root, IsA, base).unwrap();
        }),
        ("insert by id", |world, root| {
            let child_of = world.get_entity_of::<ChildOf>().unwrap();
            let child = world.spawn_empty().id();
            world.insert_pair_by_id(child, (child_of, root)).unwrap();
        }),
        ("insert a batch", |world, root| world.insert_pair_batch([(root, Likes, root)]).unwrap()),
        ("spawn with a pair", |world, root| _ = world.spawn(Pair(Likes, root))),
        ("spawn with pairs", |world, root| _ = world.spawn(pairs![(Likes, root)])),
        ("spawn with sources", |world, _| _ = world.spawn(sources![Likes: Ship])),
        ("spawn a batch", |world, root| _ = world.spawn_batch_with_pair([(Ship, Likes, root)])),
        ("insert a tag", |world, root| {
            let tag = world.spawn_empty().id();
            world.insert_tag(root, tag).unwrap();
        }),
        ("remove by type", |world, root| _ = world.remove_pairs::<Likes>(root)),
        ("remove by wildcard", |world, root| _ = world.remove_pairs_by_id(root, PairId::ALL)),
        ("remove everywhere", |world, root| {
            let nobody = world.spawn_empty().id();
            _ = world.remove_pairs_everywhere(PairId::with_target(nobody));
            _ = root;
        }),
        ("remove a pair of ChildOf", |world, root| assert!(!world.remove_pair::<ChildOf>(root, root))),
        ("despawn with dependents", |world, _| {
            let [a, b] = [(); 2].map(|()| world.spawn_empty().id());
            world.entity_mut(b).insert(ChildOf(a));
            world.despawn_with_dependents(a).unwrap();
            assert!(world.get_entity(b).is_err());
        }),
        ("despawn sources", |world, _| {
            let [a, b] = [(); 2].map(|()| world.spawn_empty().id());
            world.entity_mut(b).insert(ChildOf(a));
            assert_eq!(world.despawn_sources(PairId::with_target(a)), Ok(1));
            assert!(world.get_entity(b).is_err());
        }),
        ("spawn a relation", |world, _| _ = world.spawn_relation("likes", RelationTraits::new()).unwrap()),
        ("register", |world, _| _ = world.register_relation::<Likes>().unwrap()),
        ("set traits", |world, _| {
            let tag = world.spawn_empty().id();
            world.set_traits(tag, RelationTraits::new().tag()).unwrap();
        }),
        ("order", |world, root| {
            let child_of = world.get_entity_of::<ChildOf>().unwrap();
            world.order_sources_by_id(child_of, root, &[]).unwrap_err();
        }),
        ("observe pairs", |world, _| {
            _ = world.observe_pairs(PairId::ALL, |_: On<PairInserted<Wildcard>>| {});
        }),
        ("Pairs", |world, _| world.run_system_once(|_: Pairs<Likes>| {}).unwrap()),
        ("AnyPairs", |world, _| world.run_system_once(|_: AnyPairs| {}).unwrap()),
        ("PairQuery", |world, _| world.run_system_once(|_: PairQuery<Likes, Entity>| {}).unwrap()),
        ("a term", |world, _| _ = world.query::<Up<ChildOf, &Ship>>()),
        ("an expression", |world, _| _ = PairExpr::parse("(ChildOf, *)").unwrap().compile(world).unwrap()),
        ("a command", |world, root| {
            world.commands().entity(root).insert_pair(Likes, root);
            world.flush();
        }),
        ("an event along", |world, root| {
            #[derive(EntityEvent)]
            #[entity_event(propagate)]
            struct Ping(Entity);
            world.trigger_along::<ChildOf>(Ping(root), bevy_relations::traverse::Direction::Sources);
        }),
    ]
}

/// The children of `root` as a system reads them.
fn children(world: &mut World, root: Entity) -> EntityHashSet {
    world.run_system_once(move |tree: Pairs<ChildOf>| tree.sources(root).collect::<EntityHashSet>()).unwrap()
}

#[test]
fn whatever_uses_relations_first_finds_the_children_that_there_are() {
    for (what, first_use) in first_uses() {
        let mut app = app();
        let world = app.world_mut();
        let root = world.spawn_empty().id();
        let child = world.spawn((ChildOf(root), Ship)).id();
        first_use(world, root);
        let later = world.spawn(ChildOf(root)).id();
        world.check_pairs().unwrap_or_else(|error| panic!("{what}: {error}"));
        let found = children(world, root);
        assert!(found.contains(&child) && found.contains(&later), "{what}: {found:?}");
        assert_eq!(world.pairs::<ChildOf>().source_count(root), world.get::<Children>(root).unwrap().len());
        assert_eq!(take_reported_errors().len(), 0, "{what}");
    }
}

#[test]
fn observers_of_pairs_are_triggered_by_children_that_come_after_them_and_by_no_others() {
    let add: [(&str, fn(&mut World, Entity)); 4] = [
        ("of a relation", |world, _| {
            world.add_observer(|on: On<PairInserted<ChildOf>>, mut heard: ResMut<Heard>| {
                heard.0.push(on.source);
            });
        }),
        ("of all", |world, _| {
            world.add_observer(|on: On<PairInserted<Wildcard>>, mut heard: ResMut<Heard>| {
                heard.0.push(on.source);
            });
        }),
        ("narrowed", |world, root| {
            world.observe_pairs(
                PairId::with_target(root),
                |on: On<PairInserted<Wildcard>>, mut heard: ResMut<Heard>| heard.0.push(on.source),
            );
        }),
        ("by a command", |world, _| {
            world.commands().add_observer(|on: On<PairInserted<ChildOf>>, mut heard: ResMut<Heard>| {
                heard.0.push(on.source);
            });
            world.flush();
        }),
    ];
    for plugin_first in [true, false] {
        for (what, add) in add {
            let mut app = App::new();
            if plugin_first {
                app.add_plugins(RelationsPlugin);
            }
            app.init_resource::<Heard>();
            let world = app.world_mut();
            let root = world.spawn_empty().id();
            world.spawn(ChildOf(root));
            add(world, root);
            if !plugin_first {
                app.add_plugins(RelationsPlugin);
            }
            let world = app.world_mut();
            let later = world.spawn(ChildOf(root)).id();
            assert_eq!(world.resource::<Heard>().0, [later], "{what}");
            assert_eq!(children(world, root).len(), 2);
        }
    }
}

/// Asks what despawns would take, and then despawns.
fn check_would_despawn(world: &mut World) {
    let all = forest(world);
    for root in [all[7], all[2], all[0]] {
        let mut expected: EntityHashSet =
            world.pairs::<ChildOf>().descendants(root).map(|(entity, _)| entity).collect();
        expected.insert(root);
        let order = world.would_despawn(root).unwrap();
        assert_eq!(order.iter().copied().collect::<EntityHashSet>(), expected);
        assert_eq!((order.len(), order.last()), (expected.len(), Some(&root)));
        let place = |entity: Entity| order.iter().position(|&other| other == entity).unwrap();
        for &entity in order.iter().filter(|&&entity| entity != root) {
            assert!(place(entity) < place(world.get::<ChildOf>(entity).unwrap().parent()));
        }
        assert!(order.iter().all(|&entity| world.entities().contains_spawned(entity)));
        world.despawn_with_dependents(root).unwrap();
        assert!(order.iter().all(|&entity| !world.entities().contains_spawned(entity)));
    }
}

#[test]
fn what_a_despawn_would_take_is_returned_before_relations_are_used() {
    check_would_despawn(app().world_mut());
    check_would_despawn(&mut World::new());
}

#[test]
fn a_cycle_that_bevy_lets_in_is_removed_and_reported_when_relations_are_used() {
    let mut app = app();
    let world = app.world_mut();
    let [a, b, c] = [(); 3].map(|()| world.spawn_empty().id());
    for (child, parent) in [(a, b), (b, c), (c, a)] {
        world.entity_mut(child).insert(ChildOf(parent));
    }
    // Whatever follows it ends.
    let view = world.pairs::<ChildOf>();
    assert_eq!(view.ancestors(a).collect::<Vec<_>>(), [b, c]);
    assert_eq!(view.descendants(a).count(), 2);
    assert_eq!(world.target_with::<ChildOf, Ship>(a), None);
    world.insert_pair(a, Likes, b).unwrap();
    assert_eq!(take_reported_errors().len(), 0, "nothing has asked for children");
    world.register_relation::<ChildOf>().unwrap();
    let errors = take_reported_errors();
    assert!(errors.len() == 1 && errors[0].contains("cycle"), "{errors:?}");
    assert_eq!([a, b, c].iter().filter(|&&e| world.get::<ChildOf>(e).is_some()).count(), 2);
    world.check_pairs().unwrap();
}

#[test]
fn a_cycle_that_bevy_lets_in_is_despawned_before_relations_are_used() {
    let mut app = app();
    let world = app.world_mut();
    let [a, b, c, leaf] = [(); 4].map(|()| world.spawn_empty().id());
    for (child, parent) in [(a, b), (b, c), (c, a), (leaf, b)] {
        world.entity_mut(child).insert(ChildOf(parent));
    }
    world.despawn(a);
    assert!([a, b, c, leaf].iter().all(|&entity| world.get_entity(entity).is_err()));
}

/// Bevy's own despawn overflows the stack at a few thousand levels.
#[test]
fn a_deep_hierarchy_is_despawned_on_a_small_stack_before_relations_are_used() {
    let despawn = || {
        let mut app = app();
        let world = app.world_mut();
        let root = world.spawn_empty().id();
        let mut last = root;
        for _ in 0..fewer(50_000) {
            last = world.spawn(ChildOf(last)).id();
        }
        world.despawn(root);
        assert!(world.get_entity(last).is_err());
        assert_eq!(world.pairs::<ChildOf>().len(), 0);
    };
    std::thread::Builder::new().stack_size(512 << 10).spawn(despawn).unwrap().join().unwrap();
}

#[derive(Resource, Default)]
struct PanicsLeft(u32);

#[test]
fn a_panic_at_the_first_use_is_made_up_for_at_the_next() {
    for panics in 1..8 {
        let mut app = app();
        app.init_resource::<Heard>().init_resource::<PanicsLeft>();
        let world = app.world_mut();
        let root = world.spawn_empty().id();
        let child = world.spawn(ChildOf(root)).id();
        world.add_observer(|_: On<Insert<Observer>>, mut left: ResMut<PanicsLeft>| {
            left.0 = left.0.saturating_sub(1);
            assert!(left.0 != 1, "on purpose");
        });
        // The observers that relations need are spawned one after the other: one of them panics.
        world.resource_mut::<PanicsLeft>().0 = panics + 1;
        _ = panic_message(|| world.register_relation::<ChildOf>().is_ok());
        world.resource_mut::<PanicsLeft>().0 = 0;
        world.maintain_pairs();
        world.add_observer(|on: On<PairInserted<ChildOf>>, mut heard: ResMut<Heard>| heard.0.push(on.source));
        let later = world.spawn(ChildOf(root)).id();
        assert_eq!(world.resource::<Heard>().0, [later], "panic {panics}");
        assert!(children(world, root).contains(&child) && children(world, root).contains(&later));
        assert_eq!(world.pairs::<ChildOf>().len(), 2);
        world.check_pairs().unwrap();
    }
}

#[test]
fn children_whose_hooks_were_skipped_and_entities_that_are_dead_are_read_as_what_they_are() {
    let mut app = app();
    let world = app.world_mut();
    let [root, skipped, orphan, dead] = [(); 4].map(|()| world.spawn_empty().id());
    world.despawn(dead);
    for (child, parent) in [(skipped, root), (orphan, dead)] {
        let skip = RelationshipHookMode::Skip;
        world.entity_mut(child).insert_with_relationship_hook_mode(ChildOf(parent), skip);
    }
    let all = [root, skipped, orphan, dead];
    let say = |world: &World| {
        let view = world.pairs::<ChildOf>();
        let has: Vec<_> = all.iter().flat_map(|&a| all.map(|b| world.has_pair::<ChildOf>(a, b))).collect();
        (has, view.len(), view.iter().collect::<Vec<_>>(), all.map(|a| (view.target(a), view.depth(a))))
    };
    let before = say(world);
    assert_eq!((before.1, &before.2[..]), (1, &[(skipped, root)][..]));
    world.insert_pair(root, Likes, skipped).unwrap();
    assert_eq!(say(world), before);
    assert_eq!(take_reported_errors().len(), 0, "nothing has asked for children");
    world.register_relation::<ChildOf>().unwrap();
    assert_eq!(say(world), before);
    assert_eq!(take_reported_errors().len(), 1, "the parent that is dead");
    world.check_pairs().unwrap();
}

#[test]
fn an_idle_app_that_loses_all_observers_gets_those_back_that_it_needs() {
    let mut app = app();
    let world = app.world_mut();
    let root = world.spawn_empty().id();
    let child = world.spawn(ChildOf(root)).id();
    let observers: Vec<_> = world.query_filtered::<Entity, With<Observer>>().iter(world).collect();
    assert!(observers.len() > 3);
    observers.into_iter().for_each(|observer| _ = world.try_despawn(observer));
    app.update();
    let world = app.world_mut();
    let later = world.spawn(ChildOf(root)).id();
    assert_eq!(children(world, root), [child, later].into_iter().collect());
    let latest = world.spawn(ChildOf(root)).id();
    assert!(children(world, root).contains(&latest));
    world.check_pairs().unwrap();
    // Nothing fits, or everything.
    assert_eq!(world.despawn_sources(PairId::with_target(child)), Ok(0));
    assert_eq!(world.despawn_sources(PairId::ALL), Ok(3));
    assert!(world.get_entity(root).is_ok() && world.get_entity(latest).is_err());
}
