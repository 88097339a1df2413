//! Rules for targets that follow what happens to their sources: `on_last_source` and `on_source_despawn`.

use crate::common::{size, spawn, take_reported_errors, unpaid::CrewOf, world_that_records_errors};
use bevy_ecs::{entity::EntityCloner, lifecycle::Despawn, prelude::*};
use bevy_relations::{
    error::DespawnError,
    event::RemovalCause,
    prelude::*,
    relation::{OnLastSource, OnSourceDespawn, Wildcard},
};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Relation)]
#[relation(on_last_source = Despawn)]
struct Uses;

#[derive(Relation)]
#[relation(exclusive, on_last_source = Despawn)]
struct Wears;

#[derive(Relation, Clone)]
#[relation(on_last_source = Despawn)]
struct Rents(u32);

#[derive(Relation, Clone)]
#[relation(exclusive, on_last_source = Despawn)]
struct Drives(#[expect(dead_code, reason = "it makes a value")] u32);

#[derive(Relation)]
#[relation(on_source_despawn = DespawnTarget)]
struct Owns;

#[derive(Resource, Default)]
struct Log {
    despawned: Vec<Entity>,
    removed: Vec<(Entity, Entity, RemovalCause)>,
}

#[derive(Component)]
struct Node;

fn is_alive(world: &World, entity: Entity) -> bool {
    world.entities().contains_spawned(entity)
}

fn nodes<const N: usize>(world: &mut World) -> [Entity; N] {
    [(); N].map(|()| world.spawn(Node).id())
}

fn log_despawns(world: &mut World) {
    world.init_resource::<Log>();
    world.add_observer(|on: On<Despawn<Node>>, mut log: ResMut<Log>| log.despawned.push(on.entity));
}

fn despawned(world: &mut World) -> Vec<Entity> {
    core::mem::take(&mut world.resource_mut::<Log>().despawned)
}

/// A way to end the only pair, of the first entity with the second. The third has no pairs.
type Way = fn(&mut World, [Entity; 3], Entity);

const WAYS: &[(&str, Way)] = &[
    ("remove_pairs_by_id", |world, [a, b, _], relation| {
        world.remove_pairs_by_id(a, (relation, b));
    }),
    ("all pairs of the source", |world, [a, ..], _| {
        world.remove_pairs_by_id(a, PairId::ALL);
    }),
    ("everywhere", |world, [_, b, _], _| {
        world.remove_pairs_everywhere(PairId::with_target(b));
    }),
    ("by command", |world, [a, b, _], relation| {
        world.commands().entity(a).remove_pairs_by_id((relation, b));
    }),
    ("clear", |world, [a, ..], _| {
        world.entity_mut(a).clear();
    }),
    ("despawn", |world, [a, ..], _| {
        world.despawn(a);
    }),
    ("despawn by command", |world, [a, ..], _| world.commands().entity(a).despawn()),
    ("despawn_with_dependents", |world, [a, ..], _| world.despawn_with_dependents(a).unwrap()),
    ("despawn_sources", |world, [_, b, _], relation| {
        assert_eq!(world.despawn_sources((relation, b)), Ok(1));
    }),
];

/// Every way, with and without observers, with and without another source.
fn ends<R: Relation>(make: fn() -> R, ways: &[(&str, Way)]) {
    for &(name, way) in ways {
        for observed in [false, true] {
            for shared in [false, true] {
                let mut world = World::new();
                if observed {
                    world.add_observer(|_: On<PairRemoved<R>>| {});
                }
                let relation = world.register_relation::<R>().unwrap();
                let [a, b, c] = spawn(&mut world);
                let other = world.spawn_empty().id();
                world.insert_pair(a, make(), b).unwrap();
                if shared {
                    world.insert_pair(other, make(), b).unwrap();
                }
                if shared && (name == "everywhere" || name == "despawn_sources") {
                    continue;
                }
                way(&mut world, [a, b, c], relation);
                world.flush();
                world.check_pairs().unwrap();
                assert_eq!(is_alive(&world, b), shared, "{name}, observed: {observed}");
                assert!(is_alive(&world, c) && is_alive(&world, other), "{name}");
            }
        }
    }
}

#[test]
fn a_target_goes_with_its_last_source_however_that_goes() {
    ends(|| Uses, WAYS);
    ends(|| Wears, WAYS);
    ends(|| Rents(1), WAYS);
    ends(|| Drives(1), WAYS);
}

fn by_type<R: Relation>(make: fn() -> R) {
    for way in 0..5 {
        let mut world = World::new();
        let [a, b, c, d] = spawn(&mut world);
        world.insert_pair(a, make(), b).unwrap();
        world.insert_pair(d, make(), c).unwrap();
        match way {
            0 => assert!(world.remove_pair::<R>(a, b)),
            1 => assert_eq!(world.remove_pair_batch::<R>([(a, b), (a, c)]), 1),
            2 => world.replace_targets(a, [(make(), c)]).unwrap(),
            3 => world.replace_targets::<R>(a, []).unwrap(),
            _ => assert_eq!(world.move_sources::<R>(b, c), Ok(1)),
        }
        world.check_pairs().unwrap();
        assert!(!is_alive(&world, b), "way {way}");
        assert!([a, c, d].iter().all(|&entity| is_alive(&world, entity)), "way {way}");
    }
}

#[test]
fn a_target_goes_when_its_last_pair_is_replaced_or_moved() {
    by_type(|| Uses);
    by_type(|| Wears);
    by_type(|| Rents(1));
    by_type(|| Drives(1));
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    world.insert_pair(a, Wears, b).unwrap();
    world.insert_pair(a, Wears, b).unwrap();
    assert!(is_alive(&world, b), "the same pair again");
    world.insert_pair(a, Wears, c).unwrap();
    assert!(!is_alive(&world, b) && is_alive(&world, c));
    world.insert_pair(a, Drives(1), c).unwrap();
    world.insert_pair(a, Drives(2), c).unwrap();
    assert!(is_alive(&world, c), "another value");
    world.check_pairs().unwrap();
}

#[test]
fn the_despawn_of_a_relation_ends_its_pairs_and_with_them_their_targets() {
    for observed in [false, true] {
        let mut world = World::new();
        let uses = RelationTraits::new().on_last_source(OnLastSource::Despawn);
        let uses = world.spawn_relation("Uses", uses).unwrap();
        if observed {
            world.observe_pairs(PairId::ALL, |_: On<PairRemoved<Wildcard>>| {});
        }
        let [a, b, c, free] = spawn(&mut world);
        for (source, target) in [(a, b), (b, c), (a, c)] {
            world.insert_pair_by_id(source, (uses, target)).unwrap();
        }
        assert_eq!(world.would_despawn(uses).unwrap()[0], uses);
        assert_eq!(BTreeSet::from_iter(world.would_despawn(uses).unwrap()), BTreeSet::from([uses, b, c]));
        world.despawn(uses);
        assert!(is_alive(&world, a) && is_alive(&world, free));
        assert!(!is_alive(&world, b) && !is_alive(&world, c));
        world.check_pairs().unwrap();
    }
}

#[test]
fn what_never_had_a_source_stays_and_clearing_all_pairs_despawns_nothing() {
    let mut world = World::new();
    world.init_resource::<Log>();
    world.add_observer(|_: On<PairRemoved<Uses>>| {});
    let [a, b, c] = spawn(&mut world);
    assert!(!world.remove_pair::<Uses>(a, b));
    world.insert_pair(a, Uses, b).unwrap();
    world.insert_pair(b, Wears, c).unwrap();
    world.clear_pairs();
    world.maintain_pairs();
    assert!([a, b, c].iter().all(|&entity| is_alive(&world, entity)));
    world.insert_pair(a, Uses, b).unwrap();
    assert!(world.remove_pair::<Uses>(a, b) && !is_alive(&world, b));
    world.check_pairs().unwrap();
}

#[test]
fn a_target_with_a_new_source_before_the_verb_is_done_stays() {
    let mut world = World::new();
    let [a, b, t, u] = spawn(&mut world);
    world.insert_pair(a, Wears, t).unwrap();
    world.insert_pair(b, Wears, u).unwrap();
    // They swap.
    world.insert_pair_batch([(a, Wears, u), (b, Wears, t)]).unwrap();
    world.insert_pair_batch([(a, Wears, t), (b, Wears, u), (a, Wears, u), (b, Wears, t)]).unwrap();
    assert!(is_alive(&world, t) && is_alive(&world, u));
    world.commands().pair_batch::<Wears>().remove(b, t).remove(a, u).insert(a, Wears, t).insert(b, Wears, u);
    world.flush();
    assert!(world.has_pair::<Wears>(a, t) && world.has_pair::<Wears>(b, u));
    world.commands().pair_batch::<Wears>().remove(b, u).insert(b, Wears, t);
    world.flush();
    assert!(is_alive(&world, t) && !is_alive(&world, u));
    world.check_pairs().unwrap();
}

#[test]
fn a_target_that_an_observer_gives_another_source_stays() {
    let remove: [fn(&mut World, Entity, Entity); 6] = [
        |world, a, t| _ = world.remove_pair::<Uses>(a, t),
        |world, a, _| _ = world.despawn(a),
        |world, a, _| world.despawn_with_dependents(a).unwrap(),
        |world, a, t| _ = world.remove_pair_batch::<Uses>([(a, t)]),
        |world, a, _| _ = world.entity_mut(a).clear(),
        |world, a, _| _ = world.commands().entity(a).remove_pairs::<Uses>(),
    ];
    for (way, remove) in remove.into_iter().enumerate() {
        let mut world = World::new();
        let [a, t, heir, other, kept] = spawn(&mut world);
        world.insert_pair(a, Uses, t).unwrap();
        world.insert_pair(other, Uses, kept).unwrap();
        world.add_observer(move |on: On<PairRemoved<Uses>>, mut commands: Commands| {
            if on.target == t {
                // A verb in between is no reason to despawn `t`.
                commands.entity(other).remove_pair::<Uses>(kept);
                commands.entity(heir).insert_pair(Uses, t);
            }
        });
        remove(&mut world, a, t);
        world.flush();
        world.check_pairs().unwrap();
        assert!(is_alive(&world, t) && world.has_pair::<Uses>(heir, t), "way {way}");
        assert!(!is_alive(&world, kept), "way {way}");
    }
}

#[test]
fn what_depends_on_a_target_goes_before_it_and_its_own_targets_after_it() {
    let mut world = World::new();
    log_despawns(&mut world);
    let [a, t, u, child] = nodes(&mut world);
    world.entity_mut(child).insert(ChildOf(t));
    world.insert_pair(a, Uses, t).unwrap();
    world.insert_pair(t, Uses, u).unwrap();
    assert_eq!(world.would_despawn(a).unwrap(), [a, child, t, u]);
    assert_eq!(world.would_despawn(t).unwrap(), [child, t, u]);
    world.despawn_with_dependents(a).unwrap();
    assert_eq!(despawned(&mut world), [a, child, t, u]);
    let [a, t, child] = nodes(&mut world);
    world.entity_mut(child).insert(ChildOf(t));
    world.insert_pair(a, Uses, t).unwrap();
    world.remove_pair::<Uses>(a, t);
    assert_eq!(despawned(&mut world), [child, t]);
    world.check_pairs().unwrap();
}

#[test]
fn events_say_why_pairs_go() {
    let mut world = World::new();
    world.init_resource::<Log>();
    world.add_observer(|on: On<PairRemoved<Uses>>, mut log: ResMut<Log>| {
        log.removed.push((on.source, on.target, on.cause));
    });
    world.add_observer(|on: On<PairRemoved<Owns>>, mut log: ResMut<Log>| {
        log.removed.push((on.source, on.target, on.cause));
    });
    let removed = |world: &mut World| core::mem::take(&mut world.resource_mut::<Log>().removed);
    let [a, t, u] = spawn(&mut world);
    world.insert_pair(a, Uses, t).unwrap();
    world.insert_pair(t, Uses, u).unwrap();
    world.despawn_with_dependents(a).unwrap();
    let gone = RemovalCause::SourceDespawned;
    assert_eq!(removed(&mut world), [(a, t, gone), (t, u, gone)]);
    let [a, t] = spawn(&mut world);
    world.insert_pair(a, Uses, t).unwrap();
    world.remove_pair::<Uses>(a, t);
    assert_eq!(removed(&mut world), [(a, t, RemovalCause::Removed)]);
    let [a, t] = spawn(&mut world);
    world.insert_pair(a, Owns, t).unwrap();
    world.despawn(a);
    assert_eq!(removed(&mut world), [(a, t, gone)]);
    let [a, t] = spawn(&mut world);
    world.insert_pair(a, Owns, t).unwrap();
    world.despawn_with_dependents(a).unwrap();
    assert_eq!(removed(&mut world), [(a, t, RemovalCause::TargetDespawned)]);
}

#[test]
fn entities_that_are_sources_of_each_other_keep_each_other() {
    let mut world = World::new();
    let [outer, a, b, own] = spawn(&mut world);
    world.insert_pairs(outer, [(Uses, a), (Uses, own)]).unwrap();
    for (source, target) in [(a, b), (b, a), (own, own)] {
        world.insert_pair(source, Uses, target).unwrap();
    }
    world.remove_pairs::<Uses>(outer);
    assert!([a, b, own].iter().all(|&entity| is_alive(&world, entity)));
    // One of them goes, and takes the other along.
    assert_eq!(world.would_despawn(a).unwrap(), [a, b]);
    world.despawn(a);
    assert!(!is_alive(&world, b) && is_alive(&world, own));
    world.remove_pair::<Uses>(own, own);
    assert!(!is_alive(&world, own));
    world.check_pairs().unwrap();
}

#[test]
fn a_source_takes_its_targets_along_whatever_other_sources_they_have() {
    let ways: [fn(&mut World, Entity); 3] = [
        |world, a| _ = world.despawn(a),
        |world, a| world.despawn_with_dependents(a).unwrap(),
        |world, a| world.commands().entity(a).despawn(),
    ];
    for (number, way) in ways.into_iter().enumerate() {
        for observed in [false, true] {
            let mut world = World::new();
            log_despawns(&mut world);
            if observed {
                world.add_observer(|_: On<PairRemoved<Owns>>| {});
            }
            let [a, b, c, other, free] = nodes(&mut world);
            for (source, target) in [(a, b), (b, c), (c, a), (other, b), (c, c), (other, free)] {
                world.insert_pair(source, Owns, target).unwrap();
            }
            world.remove_pair::<Owns>(other, free);
            way(&mut world, a);
            world.flush();
            let order = despawned(&mut world);
            let expected = if number == 1 { [c, b, a] } else { [a, c, b] };
            assert_eq!(order, expected, "way {number}");
            assert!(is_alive(&world, other) && is_alive(&world, free));
            world.check_pairs().unwrap();
        }
    }
}

#[test]
fn a_policy_that_refuses_is_asked_before_anything_goes() {
    let mut world = world_that_records_errors();
    let needs = RelationTraits::new().on_target_despawn(CleanupPolicy::Refuse);
    let needs = world.spawn_relation("Needs", needs).unwrap();
    let [a, t, user] = spawn(&mut world);
    world.insert_pair(a, Uses, t).unwrap();
    world.insert_pair_by_id(user, (needs, t)).unwrap();
    let error = world.despawn_with_dependents(a).unwrap_err();
    assert!(matches!(&error, DespawnError::InUse { used, .. } if *used == t), "{error}");
    assert!(world.would_despawn(a).is_err() && world.has_pair::<Uses>(a, t));
    // A pair can always be removed: then the target stays, and that is reported.
    world.remove_pair::<Uses>(a, t);
    assert!(is_alive(&world, t));
    let errors = take_reported_errors();
    assert!(errors.len() == 1 && errors[0].contains("Needs") && errors[0].contains("Refuse"), "{errors:?}");
    world.check_pairs().unwrap();
}

#[test]
fn what_is_counted_may_also_refuse_to_go_while_it_is_in_use() {
    let mut world = world_that_records_errors();
    let traits =
        RelationTraits::new().on_last_source(OnLastSource::Despawn).on_target_despawn(CleanupPolicy::Refuse);
    let uses = world.spawn_relation("Uses", traits).unwrap();
    let [a, b, t] = spawn(&mut world);
    world.insert_pair_by_id(a, (uses, t)).unwrap();
    world.insert_pair_by_id(b, (uses, t)).unwrap();
    assert!(world.despawn_with_dependents(t).is_err());
    world.despawn_with_dependents(a).unwrap();
    assert_eq!(world.would_despawn(b).unwrap(), [b, t]);
    world.despawn_with_dependents(b).unwrap();
    assert!(!is_alive(&world, t));
    assert!(take_reported_errors().is_empty());
    world.check_pairs().unwrap();
}

#[test]
fn rules_that_contradict_are_rejected() {
    let last = || RelationTraits::new().on_last_source(OnLastSource::Despawn);
    let along = || RelationTraits::new().on_source_despawn(OnSourceDespawn::DespawnTarget);
    let mut world = World::new();
    for (traits, message) in [
        (last().symmetric(), "`symmetric` contradicts `on_last_source = Despawn`"),
        (along().symmetric(), "`symmetric` contradicts `on_source_despawn = DespawnTarget`"),
        (
            along().on_target_despawn(CleanupPolicy::Refuse),
            "`on_source_despawn = DespawnTarget` contradicts `on_target_despawn = Refuse`",
        ),
        (last().on_last_source(OnLastSource::Keep), "`on_last_source` is given two values"),
    ] {
        let text = traits.to_string();
        let error = world.spawn_relation("R", traits).unwrap_err();
        assert!(error.to_string().ends_with(message), "{error}");
        assert!(text.contains(" = Despawn") || text.contains("Keep"), "{text}");
    }
    world
        .adopt_relationship_with::<CrewOf>(RelationTraits::new().on_last_source(OnLastSource::Keep))
        .unwrap();
    world.check_pairs().unwrap();
}

#[test]
fn rules_are_read_from_text_and_written() {
    let text = "exclusive, on_source_despawn = DespawnTarget, on_last_source = Despawn";
    let traits: RelationTraits = text.parse().unwrap();
    assert_eq!(traits.to_string(), text);
    let keep = "on_source_despawn = Keep, on_last_source = Keep";
    assert_eq!(keep.parse::<RelationTraits>().unwrap().to_string(), keep);
    let message = |text: &str| text.parse::<RelationTraits>().unwrap_err().to_string();
    assert!(message("on_last_source = Despwan").ends_with("did you mean `Despawn`?"));
    assert!(message("on_source_despawn").contains("`Keep`, `DespawnTarget`"));
    assert!(message("symmetric, on_last_source = Despawn").contains("contradicts"));
    assert_eq!(Uses::traits(), "on_last_source = Despawn".parse().unwrap());
    assert_eq!(Owns::traits(), "on_source_despawn = DespawnTarget".parse().unwrap());
}

#[test]
fn a_chain_of_targets_is_despawned_on_a_small_stack() {
    let mut world = World::new();
    let chain: Vec<Entity> = world.spawn_batch((0..size(200_000, 300)).map(|_| ())).collect();
    world.insert_pair_batch(chain.windows(2).map(|pair| (pair[0], Uses, pair[1]))).unwrap();
    assert_eq!(world.would_despawn(chain[0]).unwrap(), chain);
    world.insert_pair(chain[2], Uses, chain[1]).unwrap();
    world.remove_pair::<Uses>(chain[0], chain[1]);
    assert!(is_alive(&world, chain[1]), "the next one uses it, too");
    world.remove_pair::<Uses>(chain[2], chain[1]);
    assert!(is_alive(&world, chain[0]) && chain[1..].iter().all(|&entity| !is_alive(&world, entity)));
    world.check_pairs().unwrap();
}

#[test]
fn an_observer_that_panics_does_not_keep_a_target_for_ever() {
    let ways: [fn(&mut World, Entity, Entity); 4] = [
        |world, a, t| _ = world.remove_pair_batch::<Uses>([(a, t), (t, a)]),
        |world, a, t| _ = world.remove_pair::<Uses>(a, t),
        |world, a, _| _ = world.despawn(a),
        |world, a, _| _ = world.despawn_with_dependents(a),
    ];
    for (number, way) in ways.into_iter().enumerate() {
        let mut world = World::new();
        let [a, t] = spawn(&mut world);
        world.insert_pair(a, Uses, t).unwrap();
        world.insert_pair(t, Uses, a).unwrap();
        world.add_observer(move |_: On<PairRemoved<Uses>>, mut commands: Commands| {
            commands.queue(|_: &mut World| panic!("an observer"));
        });
        let _ = catch_unwind(AssertUnwindSafe(|| way(&mut world, a, t)));
        let _ = catch_unwind(AssertUnwindSafe(|| world.flush()));
        for _ in 0..3 {
            let _ = catch_unwind(AssertUnwindSafe(|| world.maintain_pairs()));
        }
        assert!(!is_alive(&world, t), "way {number}");
        world.check_pairs().unwrap();
    }
}

#[test]
fn values_go_with_the_pairs_of_a_target_that_goes() {
    let mut world = World::new();
    let [a, b, t] = spawn(&mut world);
    world.insert_pair_batch([(a, Rents(1), t), (b, Rents(2), t)]).unwrap();
    assert_eq!(world.pair_value::<Rents>(b, t).unwrap().0, 2);
    assert_eq!(world.remove_pair_batch::<Rents>([(a, t), (b, t)]), 2);
    assert!(!is_alive(&world, t));
    world.check_pairs().unwrap();
}

#[test]
fn a_clone_gets_its_components_before_what_it_gives_up_takes_it_along() {
    let mut world = world_that_records_errors();
    let [original, hat, helmet, clone] = nodes(&mut world);
    world.insert_pair(original, Wears, hat).unwrap();
    world.entity_mut(clone).insert(ChildOf(helmet));
    world.insert_pair(clone, Wears, helmet).unwrap();
    EntityCloner::build_opt_out(&mut world).clone_entity(original, clone);
    world.flush();
    assert!(!is_alive(&world, helmet) && !is_alive(&world, clone) && is_alive(&world, hat));
    assert_eq!(take_reported_errors(), Vec::<String>::new());
    world.check_pairs().unwrap();
}
