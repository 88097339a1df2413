//! Verbs that change several pairs at once, all or nothing: `replace_targets` and `move_sources`.

use crate::common::{
    CrewOf, Random, dump, fewer, refused, spawn, take_reported_errors, world_that_records_errors,
};
use bevy_ecs::{prelude::*, world::DeferredWorld};
use bevy_relations::{
    error::{InsertPairError, PairRole},
    event::RemovalCause,
    prelude::*,
    query::{AddedPair, Unrelated},
    relation::{PairContext, PairRefusal, Wildcard},
};
use std::sync::Arc;

#[derive(Relation, Debug)]
struct Likes;

/// Cannot be copied.
#[derive(Relation, Debug)]
struct Holds(Arc<u32>);

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo(Arc<u32>);

#[derive(Relation)]
#[relation(acyclic)]
struct Feeds;

#[derive(Relation, Debug)]
#[relation(symmetric)]
struct Knows(#[expect(dead_code, reason = "its references are counted")] Arc<u32>);

#[derive(Relation)]
#[relation(symmetric, exclusive)]
struct MarriedTo;

#[derive(Relation)]
#[relation(with = Heeds)]
struct Serves;

#[derive(Relation)]
#[relation(exclusive)]
struct Heeds;

#[derive(Relation, Clone, Debug, PartialEq)]
#[relation(validate = at_most_nine)]
struct Owes(u32);

fn at_most_nine(owes: &mut Owes, _: &PairContext<'_>) -> Result<(), PairRefusal> {
    owes.0 += 1;
    if owes.0 > 9 { Err("too much".into()) } else { Ok(()) }
}

#[derive(Relation)]
#[relation(validate = accept)]
struct Sealed(#[expect(dead_code, reason = "its references are counted")] Arc<u32>);

fn accept(_: &mut Sealed, _: &PairContext<'_>) -> Result<(), PairRefusal> {
    Ok(())
}

#[derive(Debug, PartialEq)]
enum Heard {
    Inserted(Entity, Entity),
    Removed(Entity, Entity, RemovalCause),
}

use Heard::{Inserted, Removed};

#[derive(Resource, Default)]
struct Log(Vec<Heard>);

fn listen(world: &mut World) {
    world.init_resource::<Log>();
    world.add_observer(|on: On<PairInserted<Wildcard>>, mut world: DeferredWorld| {
        assert!(!on.replaced && world.has_pair_by_id(on.source, (on.relation, on.target)));
        world.resource_mut::<Log>().0.push(Inserted(on.source, on.target));
    });
    world.add_observer(|on: On<PairRemoved<Wildcard>>, mut world: DeferredWorld| {
        assert!(world.has_pair_by_id(on.source, (on.relation, on.target)));
        world.resource_mut::<Log>().0.push(Removed(on.source, on.target, on.cause));
    });
}

fn heard(world: &mut World) -> Vec<Heard> {
    world.check_pairs().unwrap();
    core::mem::take(&mut world.resource_mut::<Log>().0)
}

fn targets<R: Relation>(world: &World, source: Entity) -> Vec<Entity> {
    world.check_pairs().unwrap();
    world.pairs::<R>().targets(source).collect()
}

#[test]
fn the_targets_become_those_that_are_given_and_only_what_differs_is_changed() {
    let mut world = World::new();
    listen(&mut world);
    let [a, b, c, d, e] = spawn(&mut world);
    world.replace_targets(a, [(Likes, b), (Likes, c)]).unwrap();
    assert_eq!(targets::<Likes>(&world, a), [b, c]);
    heard(&mut world);
    world.replace_targets(a, [(Likes, d), (Likes, c), (Likes, e), (Likes, d)]).unwrap();
    assert_eq!(targets::<Likes>(&world, a), [c, d, e], "kept ones first, then new ones as given");
    let expected = [Removed(a, b, RemovalCause::Removed), Inserted(a, d), Inserted(a, e)];
    assert_eq!(heard(&mut world), expected);
    world.replace_targets(a, [(Likes, e), (Likes, c), (Likes, d)]).unwrap();
    assert_eq!(heard(&mut world), []);
    world.replace_targets::<Likes>(a, []).unwrap();
    assert_eq!((targets::<Likes>(&world, a), heard(&mut world).len()), (vec![], 3));
    world.despawn(a);
    world.replace_targets::<Likes>(a, []).unwrap();
}

#[test]
fn the_observers_of_an_insertion_see_all_targets_replaced() {
    let mut world = World::new();
    let [a, b, c, d] = spawn(&mut world);
    world.insert_pair(a, Likes, b).unwrap();
    world.add_observer(move |on: On<PairInserted<Likes>>, likes: Pairs<Likes>| {
        assert!(likes.targets(on.source).eq([c, d]));
    });
    world.add_observer(move |on: On<PairRemoved<Likes>>, likes: Pairs<Likes>| {
        assert!(likes.targets(on.source).eq([b]));
    });
    world.replace_targets(a, [(Likes, c), (Likes, d)]).unwrap();
    assert_eq!(targets::<Likes>(&world, a), [c, d]);
}

#[test]
fn a_kept_pair_keeps_its_value_and_a_new_one_gets_the_last_that_is_given() {
    let mut world = World::new();
    let [a, b, c, d] = spawn(&mut world);
    let values: Vec<Arc<u32>> = (0..6).map(Arc::new).collect();
    let value = |number: usize| Holds(values[number].clone());
    world.insert_pairs(a, [(value(0), b), (value(1), c)]).unwrap();
    world.replace_targets(a, [(value(2), d), (value(3), c), (value(4), d)]).unwrap();
    let found: Vec<_> = world.pairs::<Holds>().values_of(a).map(|(target, held)| (target, *held.0)).collect();
    assert_eq!(found, [(c, 1), (d, 4)]);
    let counts: Vec<_> = values.iter().map(Arc::strong_count).collect();
    assert_eq!(counts, [1, 2, 1, 1, 2, 1], "what is not stored was dropped, once");
    world.replace_targets::<Holds>(a, []).unwrap();
    assert!(values.iter().all(|value| Arc::strong_count(value) == 1));
    world.check_pairs().unwrap();
}

#[test]
fn if_one_of_the_new_targets_is_refused_nothing_is_replaced() {
    let mut world = World::new();
    listen(&mut world);
    let [a, b, c, gone] = spawn(&mut world);
    world.despawn(gone);
    world.insert_pair(a, Likes, b).unwrap();
    world.insert_pair(a, Feeds, b).unwrap();
    world.insert_pair(b, Feeds, c).unwrap();
    world.insert_pair(a, Owes(1), b).unwrap();
    world.register_relation::<Serves>().unwrap();
    heard(&mut world);
    let error = refused(&mut world, |world| world.replace_targets(a, [(Likes, c), (Likes, gone)]));
    assert!(matches!(error, InsertPairError::Dead { dead: PairRole::Target, .. }), "{error}");
    let error = refused(&mut world, |world| world.replace_targets(gone, [(Likes, c)]));
    assert!(matches!(error, InsertPairError::Dead { dead: PairRole::Source, .. }), "{error}");
    let error = refused(&mut world, |world| world.replace_targets(c, [(Feeds, gone), (Feeds, a)]));
    assert!(matches!(error, InsertPairError::Dead { .. }), "{error}");
    let error = refused(&mut world, |world| world.replace_targets(b, [(Feeds, c), (Feeds, a)]));
    assert!(matches!(error, InsertPairError::Cycle { .. }), "{error}");
    let error = refused(&mut world, |world| world.replace_targets(a, [(Owes(1), c), (Owes(9), a)]));
    assert!(matches!(error, InsertPairError::Refused { .. }), "{error}");
    assert_eq!(world.pair_value::<Owes>(a, b), Some(&Owes(2)));
    // Each of them brings a companion, of which there can be only one.
    let error = refused(&mut world, |world| world.replace_targets(a, [(Serves, b), (Serves, c)]));
    assert!(matches!(error, InsertPairError::Exclusive { .. }), "{error}");
    assert_eq!(
        error.to_string(),
        format!(
            "cannot insert (Heeds, {c}) on {a}: the relation is exclusive, and {b} is to be the target as well"
        )
    );
    // Without a pair there is nothing to refuse.
    world.replace_targets::<Likes>(gone, []).unwrap();
    assert_eq!(world.move_sources::<Likes>(gone, a), Ok(0));
    assert_eq!(world.move_sources::<Likes>(c, gone), Ok(0));
    assert_eq!(heard(&mut world), []);
}

#[test]
fn an_exclusive_relation_takes_one_new_target_and_no_more() {
    let mut world = World::new();
    listen(&mut world);
    let [a, b, c] = spawn(&mut world);
    let value = Arc::new(1);
    world.replace_targets(a, [(DockedTo(value.clone()), b)]).unwrap();
    heard(&mut world);
    world.replace_targets(a, [(DockedTo(value.clone()), b)]).unwrap();
    assert_eq!(heard(&mut world), []);
    world.replace_targets(a, [(DockedTo(value.clone()), c)]).unwrap();
    assert_eq!(heard(&mut world), [Removed(a, b, RemovalCause::Replaced), Inserted(a, c)]);
    let both = [(DockedTo(value.clone()), b), (DockedTo(value.clone()), c)];
    let error = refused(&mut world, |world| world.replace_targets(a, both));
    assert!(matches!(error, InsertPairError::Exclusive { .. }), "{error}");
    world.replace_targets::<DockedTo>(a, []).unwrap();
    assert_eq!(heard(&mut world), [Removed(a, c, RemovalCause::Removed)]);
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn symmetric_targets_are_replaced_in_both_directions() {
    let mut world = World::new();
    listen(&mut world);
    let [a, b, c, d] = spawn(&mut world);
    let value = Arc::new(1);
    let to = |target| (Knows(value.clone()), target);
    world.replace_targets(a, [to(b), to(c), to(a)]).unwrap();
    heard(&mut world);
    world.replace_targets(a, [to(c), to(d)]).unwrap();
    let expected = [
        Removed(a, b, RemovalCause::Removed),
        Removed(b, a, RemovalCause::Mirror),
        Removed(a, a, RemovalCause::Removed),
        Inserted(a, d),
        Inserted(d, a),
    ];
    assert_eq!(heard(&mut world), expected);
    assert_eq!(targets::<Knows>(&world, d), [a]);
    assert_eq!(Arc::strong_count(&value), 3, "one for both directions");
}

#[test]
fn the_target_of_a_bevy_relationship_is_replaced_in_its_component() {
    let mut world = World::new();
    world.adopt_relationship::<CrewOf>();
    let [a, b, c] = spawn(&mut world);
    world.replace_targets(a, [(ChildOf(b), b)]).unwrap();
    world.replace_targets(a, [(CrewOf { ship: c, wage: 3 }, b)]).unwrap();
    assert_eq!(world.get::<ChildOf>(a), Some(&ChildOf(b)));
    assert_eq!(world.get::<CrewOf>(a), Some(&CrewOf { ship: b, wage: 3 }));
    let error = refused(&mut world, |world| world.replace_targets(a, [(ChildOf(c), c), (ChildOf(b), b)]));
    assert!(matches!(error, InsertPairError::Exclusive { .. }), "{error}");
    let error = refused(&mut world, |world| world.replace_targets(b, [(ChildOf(a), a)]));
    assert!(matches!(error, InsertPairError::Cycle { .. }), "{error}");
    world.replace_targets(a, [(ChildOf(c), c)]).unwrap();
    assert_eq!(world.get::<ChildOf>(a), Some(&ChildOf(c)));
    world.replace_targets::<ChildOf>(a, []).unwrap();
    assert!(!world.entity(a).contains::<ChildOf>());
    world.check_pairs().unwrap();
}

#[test]
fn many_targets_are_replaced_by_many_as_one_by_one() {
    let mut world = World::new();
    let mut random = Random(7);
    let source = world.spawn_empty().id();
    for _ in 0..fewer(40) {
        // New ones each time: entities that are no participants yet.
        let mut entities: Vec<Entity> = targets::<Likes>(&world, source);
        entities.extend((0..random.below(90)).map(|_| world.spawn_empty().id()));
        let mut wanted: Vec<Entity> = Vec::new();
        for entity in entities {
            if random.below(3) > 0 {
                wanted.insert(random.below(wanted.len() + 1), entity);
            }
        }
        world.replace_targets(source, wanted.iter().map(|&target| (Likes, target))).unwrap();
        let mut found = targets::<Likes>(&world, source);
        found.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(found, wanted);
    }
}

#[test]
fn the_sources_of_one_target_get_another_with_the_values_that_they_have() {
    let mut world = World::new();
    listen(&mut world);
    let [a, b, c, ruin, station] = spawn(&mut world);
    let values: Vec<Arc<u32>> = (0..4).map(Arc::new).collect();
    let value = |number: usize| Holds(values[number].clone());
    world.insert_pair(a, value(0), ruin).unwrap();
    world.insert_pair(b, value(1), ruin).unwrap();
    world.insert_pair(b, value(2), station).unwrap();
    world.insert_pair(c, value(3), station).unwrap();
    heard(&mut world);
    assert_eq!(world.move_sources::<Holds>(ruin, station), Ok(2));
    let held = |source| world.pair_value::<Holds>(source, station).map(|held| *held.0);
    assert_eq!([a, b, c].map(held), [Some(0), Some(2), Some(3)], "a pair that is there keeps its value");
    let counts: Vec<_> = values.iter().map(Arc::strong_count).collect();
    assert_eq!(counts, [2, 1, 2, 2]);
    let replaced = RemovalCause::Replaced;
    let expected = [Removed(a, ruin, replaced), Removed(b, ruin, replaced), Inserted(a, station)];
    assert_eq!(heard(&mut world), expected);
    assert_eq!(world.move_sources::<Holds>(ruin, station), Ok(0));
    assert_eq!(world.move_sources::<Holds>(station, station), Ok(0));
    assert_eq!(heard(&mut world), []);
    world.clear_pairs();
    assert!(values.iter().all(|value| Arc::strong_count(value) == 1), "each value is dropped once");
}

#[test]
fn sources_of_an_exclusive_relation_move_with_their_values() {
    let mut world = World::new();
    let [ruin, station] = spawn(&mut world);
    let values: Vec<Arc<u32>> = (0..20).map(Arc::new).collect();
    let ships: Vec<Entity> = values.iter().map(|_| world.spawn_empty().id()).collect();
    for (&ship, value) in ships.iter().zip(&values) {
        world.insert_pair(ship, DockedTo(value.clone()), ruin).unwrap();
    }
    assert_eq!(world.move_sources::<DockedTo>(ruin, station), Ok(20));
    world.check_pairs().unwrap();
    for (number, &ship) in (0..).zip(&ships) {
        assert_eq!(*world.pair_value::<DockedTo>(ship, station).unwrap().0, number);
    }
    assert!(values.iter().all(|value| Arc::strong_count(value) == 2));
    world.despawn(station);
    assert!(values.iter().all(|value| Arc::strong_count(value) == 1));
}

#[test]
fn symmetric_pairs_move_in_both_directions_with_their_one_value() {
    let mut world = World::new();
    let [a, b, from, to] = spawn(&mut world);
    let value = Arc::new(5);
    world.insert_pair(a, Knows(value.clone()), from).unwrap();
    world.insert_pair(from, Knows(value.clone()), b).unwrap();
    world.insert_pair(from, Knows(value.clone()), from).unwrap();
    assert_eq!(world.move_sources::<Knows>(from, to), Ok(3));
    world.check_pairs().unwrap();
    let mut others = targets::<Knows>(&world, to);
    others.sort_unstable();
    let mut expected = vec![a, b, from];
    expected.sort_unstable();
    assert_eq!((others, targets::<Knows>(&world, from)), (expected, vec![to]));
    assert_eq!((Arc::strong_count(&value), targets::<Knows>(&world, a)), (4, vec![to]));
    assert_eq!(world.move_sources::<Knows>(a, b), Ok(1), "to moves from a to b, whom it knows");
    assert_eq!((Arc::strong_count(&value), targets::<Knows>(&world, b)), (3, vec![to]));
    world.clear_pairs();
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn a_spouse_that_moves_leaves_both_old_partners_alone() {
    let mut world = World::new();
    listen(&mut world);
    let [a, from, to, other] = spawn(&mut world);
    world.insert_pair(a, MarriedTo, from).unwrap();
    world.insert_pair(to, MarriedTo, other).unwrap();
    heard(&mut world);
    assert_eq!(world.move_sources::<MarriedTo>(from, to), Ok(1));
    assert_eq!(targets::<MarriedTo>(&world, a), [to]);
    assert_eq!(targets::<MarriedTo>(&world, to), [a]);
    assert!([from, other].iter().all(|&left| targets::<MarriedTo>(&world, left).is_empty()));
    assert_eq!(heard(&mut world).len(), 6);
}

#[test]
fn children_move_in_their_order_and_keep_the_rest_of_their_components() {
    let mut world = World::new();
    world.adopt_relationship::<CrewOf>();
    let [from, to, old] = spawn(&mut world);
    world.entity_mut(to).add_child(old);
    let children = spawn::<3>(&mut world);
    world.entity_mut(from).add_children(&children);
    for (wage, &child) in (0..).zip(&children) {
        world.entity_mut(child).insert(CrewOf { ship: from, wage });
    }
    assert_eq!(world.move_sources::<ChildOf>(from, to), Ok(3));
    assert_eq!(world.get::<Children>(to).unwrap().to_vec(), [[old].as_slice(), &children].concat());
    assert!(world.get::<Children>(from).is_none());
    assert_eq!(world.move_sources::<CrewOf>(from, to), Ok(3));
    for (wage, &child) in (0..).zip(&children) {
        assert_eq!(world.get::<CrewOf>(child), Some(&CrewOf { ship: to, wage }));
    }
    let error = refused(&mut world, |world| world.move_sources::<ChildOf>(to, children[1]));
    assert!(matches!(error, InsertPairError::SelfReference { .. }), "{error}");
    world.check_pairs().unwrap();
}

#[test]
fn if_one_source_cannot_move_none_does() {
    let mut world = World::new();
    listen(&mut world);
    let [a, b, below, from, gone] = spawn(&mut world);
    world.despawn(gone);
    world.insert_pair(a, Feeds, from).unwrap();
    world.insert_pair(b, Feeds, from).unwrap();
    world.insert_pair(below, Feeds, b).unwrap();
    world.insert_pair(a, Owes(2), from).unwrap();
    world.insert_pair(b, Owes(8), from).unwrap();
    world.insert_pair(a, Sealed(Arc::new(1)), from).unwrap();
    heard(&mut world);
    let error = refused(&mut world, |world| world.move_sources::<Feeds>(from, below));
    assert!(matches!(error, InsertPairError::Cycle { .. }), "{error}");
    let error = refused(&mut world, |world| world.move_sources::<Feeds>(from, gone));
    assert!(matches!(error, InsertPairError::Dead { dead: PairRole::Target, .. }), "{error}");
    let error = refused(&mut world, |world| world.move_sources::<Owes>(from, below));
    assert!(matches!(error, InsertPairError::Refused { .. }), "{error}");
    assert_eq!([a, b].map(|source| world.pair_value::<Owes>(source, from).unwrap().0), [3, 9]);
    let error = refused(&mut world, |world| world.move_sources::<Sealed>(from, below));
    assert!(error.to_string().contains("is not `Clone`"), "{error}");
    assert_eq!(heard(&mut world), []);
    world.remove_pair::<Owes>(b, from);
    assert_eq!(world.move_sources::<Owes>(from, below), Ok(1));
    assert_eq!(world.pair_value::<Owes>(a, below), Some(&Owes(4)), "as for an insertion");
    assert_eq!(world.move_sources::<Likes>(gone, a), Ok(0));
    assert_eq!(world.move_sources::<Likes>(a, gone), Ok(0));
}

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct RidesOn;

#[derive(Relation)]
#[relation(ordered)]
struct Queues;

/// Whether pairs of `R` lead from an entity to another, or it is that one.
fn leads_to<R: Relation>(world: &World, from: Entity, to: Entity) -> bool {
    let mut reached = vec![from];
    for at in 0.. {
        let Some(&entity) = reached.get(at) else { break };
        let new = targets::<R>(world, entity).into_iter().filter(|target| !reached.contains(target));
        reached.extend(new.collect::<Vec<_>>());
    }
    reached.contains(&to)
}

/// Moves the sources of an entity in one of two equal worlds, and each of them in the other.
fn moves_like_single_pairs<R: Relation>(make: fn() -> R, acyclic: bool, random: &mut Random) {
    let [(mut one, entities), (mut other, _)] = [(); 2].map(|()| {
        let mut world = World::new();
        let entities = spawn::<8>(&mut world);
        world.register_relation::<R>().unwrap();
        (world, entities)
    });
    let [mut added, mut also_added] = [&mut one, &mut other].map(QueryState::<Entity, AddedPair<R>>::new);
    for _ in 0..random.below(20) {
        let (source, target) = (random.pick(&entities), random.pick(&entities));
        let done = one.insert_pair(source, make(), target).is_ok();
        assert_eq!(other.insert_pair(source, make(), target).is_ok(), done);
    }
    one.clear_trackers();
    other.clear_trackers();
    let (from, to) = (random.pick(&entities), random.pick(&entities));
    let sources: Vec<Entity> = one.pairs::<R>().sources(from).collect();
    let closes_cycle = acyclic && sources.iter().any(|&source| leads_to::<R>(&one, to, source));
    let before = dump(&one);
    if from != to && closes_cycle {
        assert!(matches!(one.move_sources::<R>(from, to), Err(InsertPairError::Cycle { .. })));
        assert_eq!(dump(&one), before);
    } else if from != to {
        assert_eq!(one.move_sources::<R>(from, to), Ok(sources.len()));
        for &source in &sources {
            other.remove_pair::<R>(source, from);
        }
        for &source in &sources {
            other.insert_pair(source, make(), to).unwrap();
        }
    }
    one.check_pairs().unwrap();
    assert_eq!(dump(&one), dump(&other));
    let added: Vec<Entity> = added.iter(&one).collect();
    assert_eq!(added, also_added.iter(&other).collect::<Vec<_>>());
}

#[test]
fn moving_sources_is_what_removing_and_inserting_each_of_them_is() {
    let mut random = Random(11);
    for _ in 0..fewer(60) {
        moves_like_single_pairs(|| Likes, false, &mut random);
        moves_like_single_pairs(|| Feeds, true, &mut random);
        moves_like_single_pairs(|| RidesOn, true, &mut random);
        moves_like_single_pairs(|| Queues, false, &mut random);
        moves_like_single_pairs(|| Owes(1), false, &mut random);
    }
}

#[test]
fn both_verbs_have_the_same_outcome_on_entities_and_as_commands() {
    for verb in 0..3 {
        let mut world = world_that_records_errors();
        let [a, b, c, gone] = spawn(&mut world);
        world.despawn(gone);
        world.insert_pair(a, Likes, b).unwrap();
        match verb {
            0 => {
                world.entity_mut(a).replace_targets([(Likes, c)]).unwrap();
                world.entity_mut(c).move_sources::<Likes>(b).unwrap();
                assert!(world.entity_mut(a).replace_targets([(Likes, gone)]).is_err());
                assert!(world.entity_mut(b).move_sources::<Likes>(gone).is_err());
            }
            1 => {
                world.commands().entity(a).replace_targets([(Likes, c)]);
                world.commands().entity(c).move_sources::<Likes>(b);
                world.commands().entity(a).replace_targets([(Likes, gone)]);
                world.commands().entity(b).move_sources::<Likes>(gone);
                world.commands().entity(gone).replace_targets::<Likes>([]);
            }
            _ => {
                world.commands().entity(a).replace_targets([(Likes, c)]);
                world.commands().move_sources::<Likes>(c, b);
                world.commands().move_sources::<Likes>(b, gone);
            }
        }
        world.flush();
        assert_eq!(targets::<Likes>(&world, a), [b], "verb {verb}");
        assert_eq!(take_reported_errors().len(), [0, 3, 1][verb], "verb {verb}");
    }
}

#[test]
fn an_entity_that_is_borrowed_mutably_reads_its_pairs() {
    let mut world = World::new();
    let [a, b, c, tag] = spawn(&mut world);
    world.insert_pair(a, Owes(4), b).unwrap();
    world.insert_pair(a, Owes(5), c).unwrap();
    world.insert_pair(c, Likes, a).unwrap();
    world.insert_tag(a, tag).unwrap();
    world.entity_mut(a).insert(ChildOf(b));
    let owes = world.entity_of::<Owes>();
    let a = world.entity_mut(a);
    assert!(a.has_pair::<Owes>(b) && !a.has_pair::<Likes>(b) && a.has_pair::<ChildOf>(b));
    assert!(a.has_pair_by_id((owes, c)) && a.has_pair_by_id(PairId::with_target(c)));
    assert_eq!(a.pair_value::<Owes>(c), Some(&Owes(6)));
    assert!(a.targets::<Owes>().eq([b, c]) && a.sources::<Likes>().eq([c]));
    assert_eq!((a.target::<Owes>(), a.target::<ChildOf>(), a.target::<Likes>()), (Some(b), Some(b), None));
    assert!(a.has_tag(tag) && !a.has_tag(b));
}

#[test]
fn entities_without_a_pair_are_those_that_related_leaves_out() {
    #[derive(Component)]
    struct Person;

    let mut world = World::new();
    let people = [(); 5].map(|()| world.spawn(Person).id());
    world.insert_pair(people[0], Likes, people[1]).unwrap();
    world.insert_pair(people[2], Likes, people[1]).unwrap();
    world.entity_mut(people[3]).insert(ChildOf(people[0]));
    let mut lonely = world.query_filtered::<Entity, (With<Person>, Unrelated<Likes>)>();
    let mut found: Vec<Entity> = lonely.iter(&world).collect();
    found.sort_unstable();
    let mut expected = vec![people[1], people[3], people[4]];
    expected.sort_unstable();
    assert_eq!(found, expected);
    let mut social = world.query_filtered::<Entity, (With<Person>, Related<Likes>)>();
    assert_eq!(social.iter(&world).count(), 2);
    let mut either =
        world.query_filtered::<Entity, (With<Person>, Or<(Unrelated<Likes>, Unrelated<ChildOf>)>)>();
    assert_eq!(either.iter(&world).count(), 5);
    let mut roots = world.query_filtered::<Entity, (With<Person>, Unrelated<ChildOf>)>();
    assert_eq!(roots.iter(&world).count(), 4);
    world.remove_pair::<Likes>(people[0], people[1]);
    assert_eq!(lonely.iter(&world).count(), 4);
}

#[test]
fn one_refused_pair_of_several_is_one() {
    let mut world = World::new();
    let [alice, bob, cleo] = spawn(&mut world);
    let error = world.insert_pairs(alice, [(Owes(1), bob), (Owes(9), cleo)]).unwrap_err();
    assert!(error.to_string().starts_with("one of the pairs was refused: "), "{error}");
    let error = world.insert_pairs(alice, [(Owes(9), bob), (Owes(9), cleo)]).unwrap_err();
    assert!(error.to_string().starts_with("2 of the pairs were refused, the first because: "), "{error}");
}

#[test]
fn a_refusal_is_an_error() {
    let error: BevyError = PairRefusal::from("too late").into();
    assert!(error.to_string().starts_with("too late"), "{error}");
}
