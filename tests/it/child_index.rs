//! Worlds that use relations, but not `ChildOf` as one: the store has no pairs of it then, parents and children are read
//! from Bevy's components, and nothing follows how those change. All that can be seen is as in a world whose store has
//! them.

use crate::common::{Random, fewer, record_errors_of, take_reported_errors};
use bevy_app::App;
use bevy_ecs::{
    entity::EntityHashSet, lifecycle::DISCARD, prelude::*, relationship::RelationshipHookMode,
    system::RunSystemOnce,
};
use bevy_relations::{
    PairQuery,
    expr::PairExpr,
    id::Slot,
    live::PairDeltas,
    prefab::{Prefab, WorldPrefabExt},
    prelude::*,
    query::{PairsOf, Up},
    relation::Wildcard,
    snapshot::{PairFilter, PairSnapshot},
};

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
#[relation(exclusive, traversable, on_target_despawn = Despawn)]
struct PartOf;

#[derive(Relation)]
#[relation(on_source_despawn = DespawnTarget)]
struct Owns;

#[derive(Relation)]
#[relation(on_last_source = Despawn)]
struct Feeds;

#[derive(Relation)]
#[relation(on_target_despawn = Refuse)]
struct Guards;

#[derive(Relation)]
#[relation(symmetric)]
struct Allied;

#[derive(Component)]
struct Ship;

/// Whether the store of a world follows children: its observers of the component say so.
fn follows_children(world: &World) -> bool {
    let child_of = world.component_id::<ChildOf>().unwrap();
    let observers = world.observers().try_get_observers(DISCARD);
    observers.is_some_and(|observers| observers.component_observers().contains_key(&child_of))
}

/// An app with the plugin and entities, which have the same ids whether or not its store has the pairs of `ChildOf`.
fn app(has_index: bool, count: usize) -> (App, Vec<Entity>) {
    let mut app = App::new();
    let entities = (0..count).map(|_| app.world_mut().spawn_empty().id()).collect();
    record_errors_of(app.world_mut());
    app.add_plugins(RelationsPlugin);
    if has_index {
        app.world_mut().register_relation::<ChildOf>().unwrap();
    }
    assert_eq!(follows_children(app.world()), has_index);
    (app, entities)
}

/// What can be read of the entities.
fn state(world: &World, entities: &[Entity]) -> Vec<String> {
    let child_of = world.get_entity_of::<ChildOf>().unwrap();
    let any = world.any_pairs();
    let sorted = |mut pairs: Vec<(Entity, Entity)>| {
        pairs.sort_unstable();
        pairs
    };
    let ends = any.matching(entities[0], PairId::new(Slot::Any, Slot::Wildcard));
    let mut said = vec![
        format!("{:?}", sorted(any.iter().map(|(source, _, target)| (source, target)).collect())),
        format!("{} {} {}", any.len(), world.pairs::<ChildOf>().len(), ends.count()),
        format!("{:?}", sorted(world.pairs_by_id(child_of).iter().collect())),
    ];
    for &a in entities {
        if world.get_entity(a).is_err() {
            said.push(format!("{a} is dead"));
            continue;
        }
        let relation = |(relation, target): (Entity, Entity)| {
            (any.relation_name(relation).map(|name| name.to_string()), Some(target))
        };
        let of: Vec<_> = world.pairs_of(a).into_iter().map(relation).collect();
        let mut to: Vec<_> = world.pairs_to(a).into_iter().map(|(source, _)| source).collect();
        to.sort_unstable();
        let has = [PairId::ALL, PairId::with_target(entities[1]), PairId::with_relation(child_of)];
        let first: Vec<_> =
            any.matching(a, PairId::new(Slot::Any, Slot::Wildcard)).map(|(_, to)| to).collect();
        said.push(format!(
            "{a}: {of:?} {to:?} {:?} {first:?} {} {} {:?} {:?}",
            has.map(|id| world.has_pair_by_id(a, id)),
            any.target_count(a),
            any.source_count(a),
            world.pairs::<ChildOf>().descendants(a).collect::<Vec<_>>(),
            world.get::<ChildOf>(a),
        ));
    }
    said
}

/// What is done to a world with these numbers; what came of it.
fn act(world: &mut World, entities: &[Entity], [what, a, b]: [usize; 3]) -> String {
    let [a, b] = [a, b].map(|number| entities[number]);
    let is_alive = |world: &World, entity| world.get_entity(entity).is_ok();
    if !is_alive(world, a) {
        return String::new();
    }
    match what {
        0 => format!("{:?}", world.insert_pair(a, Likes, b).is_ok()),
        1 | 2 => format!("{:?}", world.insert_pair(a, PartOf, b).is_ok()),
        3 => format!("{:?}", world.insert_pair(a, Owns, b).is_ok()),
        4 => format!("{:?}", world.insert_pair(a, Feeds, b).is_ok()),
        5 => format!("{:?}", world.insert_pair(a, Guards, b).is_ok()),
        6 => format!("{:?}", world.insert_pair(a, Allied, b).is_ok()),
        7 => format!("{:?}", world.remove_pairs::<PartOf>(a)),
        8..=13 => {
            // Bevy lets in a cycle, which an index would not.
            if is_alive(world, b) && a != b && !world.pairs::<ChildOf>().is_ancestor(a, b) {
                world.entity_mut(a).insert(ChildOf(b));
            }
            String::new()
        }
        14 => {
            world.entity_mut(a).remove::<ChildOf>();
            String::new()
        }
        15 => format!("{:?}", world.insert_tag(a, b).is_ok()),
        16 => {
            let order = world.would_despawn(a).map(|order| order.into_iter().collect::<EntityHashSet>());
            let mut order: Vec<_> = order.into_iter().flatten().collect();
            order.sort_unstable();
            let done = world.despawn_with_dependents(a).is_ok();
            assert!(!done || order.iter().all(|&gone| !is_alive(world, gone)), "{order:?}");
            format!("{order:?} {done}")
        }
        17 => format!("{:?}", world.despawn(a)),
        _ => {
            // With its collection of children an entity loses these, but only by commands: whether they still go with
            // it when it is despawned at once, since it was its own last source, is not said.
            if world.get::<Children>(a).is_none() {
                world.entity_mut(a).clear();
            }
            String::new()
        }
    }
}

#[test]
fn a_world_without_an_index_of_children_is_as_one_with_it() {
    let (mut despawned, mut cascades) = (0, 0);
    for seed in 1..=fewer(300) as u64 {
        let mut random = Random(seed * 0x9E37_79B9);
        let count = 24;
        let [(mut one, entities), (mut other, same)] = [false, true].map(|has_index| app(has_index, count));
        assert_eq!(entities, same);
        for step in 0..60 {
            let numbers = [random.below(19), random.below(count), random.below(count)];
            let alive =
                |app: &App| entities.iter().filter(|&&entity| app.world().get_entity(entity).is_ok()).count();
            let before = alive(&one);
            let results = [&mut one, &mut other].map(|app| act(app.world_mut(), &entities, numbers));
            assert_eq!(results[0], results[1], "seed {seed}, step {step}: {numbers:?}");
            let states = [&one, &other].map(|app| state(app.world(), &entities));
            assert_eq!(states[0], states[1], "seed {seed}, step {step}: {numbers:?}");
            let reports = take_reported_errors();
            assert!(reports.len().is_multiple_of(2), "{reports:?}");
            for app in [&one, &other] {
                app.world().check_pairs().unwrap_or_else(|error| panic!("seed {seed}, step {step}: {error}"));
            }
            despawned += before - alive(&one);
            cascades += usize::from(before - alive(&one) > 2);
        }
        assert!(!follows_children(one.world()));
        one.world_mut().register_relation::<ChildOf>().unwrap();
        assert!(follows_children(one.world()));
        one.world().check_pairs().unwrap();
        assert_eq!(state(one.world(), &entities), state(other.world(), &entities));
    }
    assert!(despawned > fewer(300) * 4 && cascades > fewer(300) / 4, "{despawned} {cascades}");
}

type Use = (&'static str, fn(&mut World, Entity));

/// What does not ask for children as pairs.
fn other_uses() -> Vec<Use> {
    vec![
        ("insertion", |world, a| world.insert_pair(a, Likes, a).unwrap()),
        ("a batch", |world, a| world.insert_pair_batch([(a, Likes, a)]).unwrap()),
        ("a bundle", |world, a| _ = world.spawn((Ship, pairs![(Likes, a), (PartOf, a)]))),
        ("a bundle of sources", |world, _| _ = world.spawn(sources![Likes: Ship])),
        ("a command", |world, a| {
            world.commands().entity(a).insert_pair(Likes, a);
            world.flush();
        }),
        ("a tag", |world, a| world.insert_tag(a, a).unwrap()),
        ("a relation made at run time", |world, a| {
            let likes = world.spawn_relation("likes", RelationTraits::new().traversable()).unwrap();
            let b = world.spawn_empty().id();
            world.insert_pair_by_id(a, (likes, b)).unwrap();
            assert_eq!(world.remove_pairs_by_id(a, PairId::with_relation(likes)), 1);
            assert_eq!(world.remove_pairs_everywhere(PairId::with_relation(likes)), 0);
        }),
        ("removal", |world, a| _ = world.remove_pairs::<Likes>(a)),
        ("despawning sources", |world, a| {
            let likes = world.entity_of::<Likes>();
            assert_eq!(world.despawn_sources(PairId::new(likes, a)), Ok(0));
        }),
        ("a despawn", |world, _| {
            let a = world.spawn_empty().id();
            world.spawn((ChildOf(a), Pair(PartOf, a)));
            world.would_despawn(a).unwrap();
            world.despawn_with_dependents(a).unwrap();
        }),
        ("an observer of a relation", |world, _| {
            world.add_observer(|_: On<PairInserted<Likes>>| {});
            world.add_observer(|_: On<PairRemoved<Likes>>| {});
            let likes = world.entity_of::<Likes>();
            world.observe_pairs(PairId::with_relation(likes), |_: On<PairInserted<Wildcard>>| {});
        }),
        ("parameters", |world, _| {
            world.run_system_once(|_: Pairs<Likes>, _: PairQuery<Likes, Entity>| {}).unwrap();
            world.run_system_once(|_: CascadeQuery<PartOf, Entity>, _: PairDeltas<Likes>| {}).unwrap();
            world.run_system_once(|_: RemovedPairs<Likes>| {}).unwrap();
        }),
        ("terms", |world, _| {
            world.query_filtered::<(Targets<Likes>, Up<PartOf, &Ship>), Related<Likes>>();
        }),
        ("reading children", |world, a| {
            let child = world.spawn(ChildOf(a)).id();
            assert!(world.has_pair::<ChildOf>(child, a) && world.any_pairs().source_count(a) > 0);
            world.despawn(child);
        }),
        ("a prefab and its instance", |world, _| {
            let prefab = world.spawn((Prefab, Ship)).id();
            world.spawn((ChildOf(prefab), Ship));
            let instance = world.instantiate(prefab).unwrap();
            assert_eq!(world.get::<Children>(instance).unwrap().len(), 1);
            world.despawn(prefab);
        }),
        ("a snapshot of a relation", |world, a| {
            world.insert_pair(a, Likes, a).unwrap();
            let snapshot = PairSnapshot::take(world, PairFilter::none().relation::<Likes>()).unwrap();
            world.remove_pairs::<Likes>(a);
            snapshot.apply(world).unwrap();
            assert!(world.has_pair::<Likes>(a, a));
        }),
        ("islands and events", |world, a| {
            world.track_islands::<Likes>().unwrap();
            world.trigger_along::<PartOf>(Ping(a), bevy_relations::traverse::Direction::Sources);
        }),
    ]
}

#[derive(EntityEvent)]
#[entity_event(propagate)]
struct Ping(Entity);

/// What does.
fn uses_of_children() -> Vec<Use> {
    vec![
        ("registration", |world, _| _ = world.register_relation::<ChildOf>().unwrap()),
        ("insertion", |world, a| {
            let child = world.spawn_empty().id();
            world.insert_pair(child, ChildOf(a), a).unwrap();
        }),
        ("removal of a child", |world, a| {
            let child = world.spawn(ChildOf(a)).id();
            assert!(world.remove_pair::<ChildOf>(child, a) && world.get::<ChildOf>(child).is_none());
        }),
        ("removal of the pairs of a child", |world, a| {
            let child = world.spawn(ChildOf(a)).id();
            assert_eq!(world.remove_pairs::<ChildOf>(child), 1);
        }),
        ("removal by id", |world, a| {
            let child_of = world.get_entity_of::<ChildOf>().unwrap();
            let child = world.spawn(ChildOf(a)).id();
            assert_eq!(world.remove_pairs_by_id(child, PairId::new(child_of, a)), 1);
        }),
        ("removal by a wildcard", |world, a| {
            let child = world.spawn(ChildOf(a)).id();
            assert_eq!(world.remove_pairs_by_id(child, PairId::with_target(a)), 1);
            assert!(world.get::<ChildOf>(child).is_none());
        }),
        ("despawning sources", |world, a| {
            let child = world.spawn(ChildOf(a)).id();
            assert_eq!(world.despawn_sources(PairId::with_target(a)), Ok(3));
            assert!(world.get_entity(child).is_err());
        }),
        ("an observer of children", |world, _| _ = world.add_observer(|_: On<PairInserted<ChildOf>>| {})),
        ("an observer of all relations", |world, _| {
            world.add_observer(|_: On<PairRemoved<Wildcard>>| {});
        }),
        ("an observer of a target", |world, a| {
            world.observe_pairs(PairId::with_target(a), |_: On<PairInserted<Wildcard>>| {});
        }),
        ("a term of children", |world, _| _ = world.query::<Up<ChildOf, &Ship>>()),
        ("a term of all relations", |world, _| _ = world.query::<PairsOf>()),
        ("a parameter", |world, _| world.run_system_once(|_: Pairs<ChildOf>| {}).unwrap()),
        ("a parameter for all relations", |world, _| world.run_system_once(|_: AnyPairs| {}).unwrap()),
        ("a relation with targets below one entity", |world, a| {
            let scope = RelationTraits::new().one_of_id(a);
            let relation = world.spawn_relation("seat", scope).unwrap();
            let [child, other] = [ChildOf(a), ChildOf(relation)].map(|parent| world.spawn(parent).id());
            world.insert_pair_by_id(a, (relation, child)).unwrap();
            world.insert_pair_by_id(a, (relation, other)).unwrap_err();
        }),
        ("a relation that comes with children", |world, a| {
            let child_of = world.get_entity_of::<ChildOf>().unwrap();
            let relation = world.spawn_relation("held by", RelationTraits::new().with_id(child_of)).unwrap();
            let held = world.spawn_empty().id();
            world.insert_pair_by_id(held, (relation, a)).unwrap();
            assert_eq!(world.get::<ChildOf>(held), Some(&ChildOf(a)));
        }),
        ("an expression", |world, _| {
            PairExpr::parse("(Likes, *)").unwrap().compile(world).unwrap();
        }),
        ("a snapshot of all relations", |world, _| _ = PairSnapshot::take(world, PairFilter::all()).unwrap()),
        ("the removal of all pairs", |world, _| world.clear_pairs()),
    ]
}

#[test]
fn what_does_not_use_children_does_not_make_the_store_follow_them() {
    for (what, first_use) in other_uses() {
        let (mut app, entities) = app(false, 2);
        let world = app.world_mut();
        world.spawn(ChildOf(entities[0]));
        first_use(world, entities[0]);
        assert!(!follows_children(world), "{what}");
        world.check_pairs().unwrap_or_else(|error| panic!("{what}: {error}"));
        app.update();
        assert!(!follows_children(app.world()), "{what}");
    }
}

#[test]
fn what_uses_children_finds_them_among_pairs_of_other_relations() {
    for (what, first_use) in uses_of_children() {
        let (mut app, entities) = app(false, 3);
        let world = app.world_mut();
        let [root, other, child] = entities[..] else { panic!("three") };
        world.entity_mut(child).insert(ChildOf(other));
        world.insert_pair(child, Likes, root).unwrap();
        world.insert_pair(other, PartOf, root).unwrap();
        first_use(world, root);
        assert!(follows_children(world), "{what}");
        world.flush();
        world.check_pairs().unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(take_reported_errors().len(), 0, "{what}");
    }
}

/// What is refused where the store has the children is refused where it lacks them, and changes nothing.
#[test]
fn bad_input_about_children_is_refused_alike_with_and_without_an_index() {
    type Attempt = fn(&mut World, &[Entity]) -> String;
    let attempts: [Attempt; 9] = [
        |world, all| format!("{:?}", world.insert_pair(all[0], ChildOf(all[2]), all[2]).is_err()),
        |world, all| format!("{:?}", world.insert_pair(all[0], ChildOf(all[0]), all[0]).is_err()),
        |world, all| format!("{:?}", world.insert_pair(all[0], ChildOf(all[3]), all[3]).is_err()),
        |world, all| format!("{:?}", world.insert_pair(all[3], ChildOf(all[0]), all[0]).is_err()),
        |world, all| {
            let child_of = world.get_entity_of::<ChildOf>().unwrap();
            format!("{:?}", world.insert_pair_by_id(all[0], (child_of, all[2])).is_err())
        },
        |world, all| format!("{:?}", world.remove_pairs_by_id(all[3], PairId::ALL) == 0),
        |world, all| format!("{:?}", world.despawn_with_dependents(all[3]).is_err()),
        |world, _| {
            let child_of = world.get_entity_of::<ChildOf>().unwrap();
            let refused = world.set_traits(child_of, RelationTraits::new().symmetric());
            format!("{:?}", refused.is_err() && world.despawn_with_dependents(child_of).is_err())
        },
        |world, all| {
            let text = PairExpr::parse("(ChildOf, $x), $x(").err().map(|error| error.to_string());
            let dead = world.insert_expr(all[3], "(ChildOf, Nowhere)").is_err();
            format!(
                "{:?}",
                text.is_some() && dead && world.insert_expr(all[0], "(ChildOf, Nowhere)").is_err()
            )
        },
    ];
    for (number, attempt) in attempts.into_iter().enumerate() {
        for has_index in [true, false] {
            let (mut app, entities) = app(has_index, 4);
            let world = app.world_mut();
            // The parent, its child, and that of this one; a dead one.
            world.entity_mut(entities[1]).insert(ChildOf(entities[0]));
            world.entity_mut(entities[2]).insert(ChildOf(entities[1]));
            world.insert_pair(entities[1], Likes, entities[2]).unwrap();
            world.despawn(entities[3]);
            let before = state(world, &entities);
            assert_eq!(attempt(world, &entities), "true", "{number}, {has_index}");
            assert_eq!(state(world, &entities), before, "{number}, {has_index}");
            world.check_pairs().unwrap();
            assert_eq!(take_reported_errors().len(), 0, "{number}, {has_index}");
        }
    }
}

/// Systems that were initialised before do not ask anew.
#[test]
fn a_store_that_takes_the_place_of_another_has_the_children() {
    let mut world = World::new();
    let [root, other] = [(); 2].map(|()| world.spawn_empty().id());
    let child = world.spawn(ChildOf(root)).id();
    world.insert_pair(child, Likes, other).unwrap();
    let system = world.register_system(move |children: Pairs<ChildOf>, all: AnyPairs| {
        (children.target(child), all.has(child, PairId::with_target(root)))
    });
    assert_eq!(world.run_system(system).unwrap(), (Some(root), true));
    world.clear_resources();
    world.insert_pair(child, Likes, other).unwrap();
    assert_eq!(world.run_system(system).unwrap(), (Some(root), true));
    world.check_pairs().unwrap();
}

/// What is hidden from queries is no less a child.
#[test]
fn children_that_queries_leave_out_are_found_by_the_index() {
    #[derive(Component)]
    struct Asleep;

    let (mut app, entities) = app(false, 3);
    let world = app.world_mut();
    world.register_disabling_component::<Asleep>();
    let [root, asleep, prefab] = entities[..] else { panic!("three") };
    world.entity_mut(asleep).insert((Asleep, ChildOf(root)));
    world.entity_mut(prefab).insert((Prefab, ChildOf(asleep)));
    world.insert_pair(root, Likes, prefab).unwrap();
    world.register_relation::<ChildOf>().unwrap();
    world.check_pairs().unwrap();
    let below = world.pairs::<ChildOf>().descendants(root).map(|(entity, _)| entity);
    assert_eq!(below.collect::<Vec<_>>(), [asleep, prefab]);
}

/// Each level depends on the one above by another relation than that one.
#[test]
fn a_deep_cascade_through_children_and_pairs_ends_on_a_small_stack() {
    let despawn = || {
        for by_bevy in [true, false] {
            let (mut app, entities) = app(false, 1);
            let world = app.world_mut();
            let mut last = entities[0];
            for level in 0..fewer(20_000) {
                last = match level % 3 {
                    0 => world.spawn(ChildOf(last)).id(),
                    1 => world.spawn(Pair(PartOf, last)).id(),
                    _ => {
                        let owned = world.spawn_empty().id();
                        world.insert_pair(last, Owns, owned).unwrap();
                        owned
                    }
                };
            }
            match by_bevy {
                true => assert!(world.despawn(entities[0])),
                false => world.despawn_with_dependents(entities[0]).unwrap(),
            }
            assert!(world.get_entity(last).is_err() && !follows_children(world));
            world.check_pairs().unwrap();
        }
    };
    std::thread::Builder::new().stack_size(512 << 10).spawn(despawn).unwrap().join().unwrap();
}

#[test]
fn what_depends_on_an_entity_in_two_ways_goes_before_both() {
    let (mut app, entities) = app(false, 5);
    let world = app.world_mut();
    let [root, left, right, shared, below] = entities[..] else { panic!("five") };
    world.entity_mut(left).insert(ChildOf(root));
    world.insert_pair(right, PartOf, root).unwrap();
    world.entity_mut(shared).insert(ChildOf(left));
    world.insert_pair(shared, PartOf, right).unwrap();
    world.entity_mut(below).insert(ChildOf(shared));
    let order = world.would_despawn(root).unwrap();
    let place = |entity| order.iter().position(|&other| other == entity).unwrap();
    assert_eq!((order.len(), order.last()), (5, Some(&root)));
    assert!(place(below) < place(shared) && place(shared) < place(left).min(place(right)));
    world.despawn(root);
    assert!(entities.iter().all(|&entity| world.get_entity(entity).is_err()));
    world.check_pairs().unwrap();
}

#[test]
fn a_cascade_ends_where_bevys_components_go_in_a_circle_or_name_the_dead() {
    let (mut app, entities) = app(false, 5);
    let world = app.world_mut();
    let [a, b, c, part, dead] = entities[..] else { panic!("five") };
    for (child, parent) in [(a, b), (b, c), (c, a)] {
        world.entity_mut(child).insert(ChildOf(parent));
    }
    world.insert_pair(part, PartOf, b).unwrap();
    world.despawn(dead);
    let skip = RelationshipHookMode::Skip;
    world.entity_mut(part).insert_with_relationship_hook_mode(ChildOf(dead), skip);
    world.despawn(a);
    assert!(entities.iter().all(|&entity| world.get_entity(entity).is_err()));
    world.check_pairs().unwrap();
}

/// The store has no record of an entity that was cleared and has no pair: the policy still takes it.
#[test]
fn an_entity_that_was_its_own_last_source_goes_when_it_is_cleared() {
    for has_index in [true, false] {
        let (mut app, entities) = app(has_index, 2);
        let world = app.world_mut();
        let [alone, fed] = entities[..] else { panic!("two") };
        world.insert_pair(alone, Feeds, alone).unwrap();
        world.entity_mut(alone).clear();
        assert!(world.get_entity(alone).is_err());
        // Not so if something else needs it by then.
        world.insert_pair(fed, Feeds, fed).unwrap();
        world.add_observer(move |on: On<PairRemoved<Feeds>>, mut commands: Commands| {
            commands.entity(fed).insert_pair(Feeds, on.target);
        });
        world.entity_mut(fed).clear();
        assert!(world.has_pair::<Feeds>(fed, fed));
        world.check_pairs().unwrap();
    }
}
