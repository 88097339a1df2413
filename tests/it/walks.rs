//! Walks up and down a relation, against what is read off the list of pairs.

use crate::common::{relation, spawn};
use bevy_ecs::{prelude::*, system::RunSystemOnce};
use bevy_relations::{
    prelude::*,
    traverse::{DepthError, RelationView, WalkIter},
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
#[relation(traversable)]
struct PartOf;

/// Which way to walk.
#[derive(Clone, Copy, Debug)]
enum Way {
    Up,
    Down,
}

fn walk<'w, 's>(view: &RelationView<'w, 's>, way: Way, from: Entity) -> WalkIter<'w, 's> {
    match way {
        Way::Up => view.all_ancestors(from),
        Way::Down => view.descendants(from),
    }
}

fn next(view: &RelationView<'_, '_>, way: Way, from: Entity) -> Vec<Entity> {
    match way {
        Way::Up => view.targets(from).collect(),
        Way::Down => view.sources(from).collect(),
    }
}

/// Depth first by recursion. `prune` says at which entities to stop.
fn depth_first(
    view: &RelationView<'_, '_>,
    way: Way,
    from: Entity,
    (depth, limit): (u32, u32),
    prune: &dyn Fn(Entity) -> bool,
    walked: &mut Vec<(Entity, u32)>,
    met: &mut BTreeSet<Entity>,
) {
    if depth > limit {
        return;
    }
    for entity in next(view, way, from) {
        if met.insert(entity) {
            walked.push((entity, depth));
            if !prune(entity) {
                depth_first(view, way, entity, (depth + 1, limit), prune, walked, met);
            }
        }
    }
}

/// The length of the shortest way to each entity that can be reached without going beyond a pruned one.
fn distances(
    view: &RelationView<'_, '_>,
    way: Way,
    from: Entity,
    prune: &dyn Fn(Entity) -> bool,
) -> BTreeMap<Entity, u32> {
    let mut distances = BTreeMap::from([(from, 0)]);
    let mut queue = VecDeque::from([from]);
    while let Some(entity) = queue.pop_front() {
        if entity != from && prune(entity) {
            continue;
        }
        for reached in next(view, way, entity) {
            if !distances.contains_key(&reached) {
                distances.insert(reached, distances[&entity] + 1);
                queue.push_back(reached);
            }
        }
    }
    distances.remove(&from);
    distances
}

/// Walks to the end, not beyond those that `prune` names.
fn pruned(mut walk: WalkIter<'_, '_>, prune: &dyn Fn(Entity) -> bool) -> Vec<(Entity, u32)> {
    let mut walked = Vec::new();
    while let Some((entity, depth)) = walk.next() {
        walked.push((entity, depth));
        if prune(entity) {
            walk.prune();
        }
    }
    walked
}

fn check_walks(view: &RelationView<'_, '_>, from: Entity, limit: u32, prune: &dyn Fn(Entity) -> bool) {
    for way in [Way::Up, Way::Down] {
        let mut expected = Vec::new();
        depth_first(view, way, from, (1, limit), prune, &mut expected, &mut BTreeSet::from([from]));
        assert_eq!(pruned(walk(view, way, from).at_most(limit), prune), expected, "{way:?} from {from}");

        let walked = pruned(walk(view, way, from).breadth_first().at_most(limit), prune);
        let mut expected = distances(view, way, from, prune);
        expected.retain(|_, distance| *distance <= limit);
        assert!(walked.is_sorted_by_key(|&(_, depth)| depth), "level by level: {walked:?}");
        assert_eq!(walked.len(), expected.len(), "each once");
        assert_eq!(BTreeMap::from_iter(walked), expected, "{way:?} from {from}, breadth first");

        for breadth_first in [false, true] {
            let walk =
                || if breadth_first { walk(view, way, from).breadth_first() } else { walk(view, way, from) };
            let all: Vec<_> = walk().collect();
            let checked: Vec<_> = walk().max_depth(limit).collect();
            let fine: Vec<_> = checked.iter().map_while(|step| step.as_ref().ok().copied()).collect();
            assert_eq!(
                fine,
                all.iter().copied().take_while(|&(_, depth)| depth <= limit).collect::<Vec<_>>()
            );
            let too_deep = all.iter().find(|&&(_, depth)| depth > limit);
            let error = checked.last().and_then(|last| last.as_ref().err());
            assert_eq!(
                error.map(|error| (error.entity.entity(), error.limit)),
                too_deep.map(|&(entity, _)| (entity, limit))
            );
            assert_eq!(checked.len(), fine.len() + usize::from(error.is_some()), "an error is the end");
        }
    }
    let mut up = vec![from];
    while let Some(target) = view.target(up[up.len() - 1])
        && !up.contains(&target)
    {
        up.push(target);
    }
    assert!(view.ancestors(from).eq(up[1..].iter().copied()));
    let checked: Result<Vec<_>, _> = view.ancestors(from).max_depth(limit).collect();
    match up.get(1 + limit as usize) {
        Some(&entity) => {
            assert_eq!(checked.map_err(|error| (error.entity.entity(), error.limit)), Err((entity, limit)));
        }
        None => assert_eq!(checked.as_deref(), Ok(&up[1..])),
    }
}

/// Inserts what is accepted of the edges and checks walks from everywhere.
fn check_graph(world: &mut World, relation: Entity, edges: &[(usize, usize)], limit: u32, prune: &[bool]) {
    let entities: Vec<Entity> = (0..prune.len()).map(|_| world.spawn_empty().id()).collect();
    for &(source, target) in edges {
        let (source, target) = (entities[source % entities.len()], entities[target % entities.len()]);
        // An acyclic relation refuses some.
        let _ = world.insert_pair_by_id(source, (relation, target));
    }
    let cut: BTreeSet<Entity> =
        entities.iter().zip(prune).filter(|(_, prune)| **prune).map(|(entity, _)| *entity).collect();
    let view = world.pairs_by_id(relation);
    for &from in &entities {
        check_walks(&view, from, limit, &|entity| cut.contains(&entity));
        check_walks(&view, from, u32::MAX, &|_| false);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn walks_agree_with_recursion_on_any_graph(
        edges in prop::collection::vec((0..16usize, 0..16usize), 0..40),
        prune in prop::collection::vec(prop::bool::weighted(0.2), 1..16),
        limit in 0..5u32,
    ) {
        let mut world = World::new();
        let kinds = [
            RelationTraits::new(),
            RelationTraits::new().exclusive(),
            RelationTraits::new().traversable(),
            RelationTraits::new().traversable().exclusive().ordered(),
            RelationTraits::new().symmetric(),
        ];
        for kind in kinds {
            let relation = relation(&mut world, kind);
            check_graph(&mut world, relation, &edges, limit, &prune);
        }
        let children = world.register_relation::<ChildOf>().unwrap();
        check_graph(&mut world, children, &edges, limit, &prune);
    }
}

#[test]
fn a_walk_is_the_same_for_a_type_and_in_a_system() {
    let mut world = World::new();
    let [top, left, right, bottom] = spawn(&mut world);
    for (source, target) in [(left, top), (right, top), (bottom, left), (bottom, right)] {
        world.insert_pair(source, PartOf, target).unwrap();
    }
    let system = move |parts: Pairs<PartOf>| {
        let up: Vec<_> = parts.all_ancestors(bottom).breadth_first().collect();
        assert_eq!(up, [(left, 1), (right, 1), (top, 2)]);
        let up: Vec<_> = parts.all_ancestors(bottom).collect();
        assert_eq!(up, [(left, 1), (top, 2), (right, 1)]);
        assert_eq!(parts.descendants(top).breadth_first().last(), Some((bottom, 2)));
    };
    world.run_system_once(system).unwrap();
}

#[test]
fn pruning_before_the_first_step_leaves_nothing() {
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Likes, b).unwrap();
    for mut walk in
        [world.pairs::<Likes>().descendants(b), world.pairs::<Likes>().descendants(b).breadth_first()]
    {
        walk.prune();
        assert_eq!(walk.next(), None);
    }
}

#[test]
fn a_walk_goes_as_deep_as_memory_allows() {
    const LONG: usize = 200_000;
    let mut world = World::new();
    let chain: Vec<Entity> = (0..LONG).map(|_| world.spawn_empty().id()).collect();
    world.insert_pair_batch(chain.windows(2).map(|two| (two[1], PartOf, two[0]))).unwrap();
    let walks = move || {
        let parts = world.pairs::<PartOf>();
        let deepest = Some((chain[LONG - 1], LONG as u32 - 1));
        assert_eq!(parts.descendants(chain[0]).last(), deepest);
        assert_eq!(parts.descendants(chain[0]).breadth_first().last(), deepest);
        assert_eq!(parts.all_ancestors(chain[LONG - 1]).count(), LONG - 1);
        assert_eq!(parts.ancestors(chain[LONG - 1]).last(), Some(chain[0]));
    };
    std::thread::Builder::new().stack_size(256 << 10).spawn(walks).unwrap().join().unwrap();
}

#[test]
fn what_was_never_linked_has_no_walk() {
    let mut world = World::new();
    let [lonely, dead] = spawn(&mut world);
    world.insert_pair(dead, Likes, lonely).unwrap();
    world.despawn(dead);
    for entity in [lonely, dead] {
        let likes = world.pairs::<Likes>();
        assert_eq!((likes.descendants(entity).count(), likes.all_ancestors(entity).count()), (0, 0));
        assert_eq!(likes.descendants(entity).max_depth(0).next(), None);
    }
}

#[test]
fn a_walk_that_is_too_long_names_the_entity_as_far_as_names_may_be_read() {
    let mut world = World::new();
    let root = world.spawn(Name::new("Root")).id();
    let child = world.spawn((Name::new("Child"), ChildOf(root))).id();
    world.insert_pair(child, PartOf, root).unwrap();
    let below = format!("Child ({child}) is more than 0 steps from the start of the walk");
    let above = format!("Root ({root}) is more than 0 steps from the start of the walk");
    let message = |error: Option<DepthError>| error.expect("the walk is too long").to_string();
    // Along a relation with an index, and along Bevy's components; typed, by id and of all relations.
    let tree = world.pairs::<PartOf>();
    assert_eq!(message(tree.descendants(root).max_depth(0).find_map(Result::err)), below);
    assert_eq!(message(tree.ancestors(child).max_depth(0).find_map(Result::err)), above);
    let tree = world.pairs::<ChildOf>();
    assert_eq!(message(tree.all_ancestors(child).max_depth(0).find_map(Result::err)), above);
    let part_of = world.register_relation::<PartOf>().unwrap();
    let tree = world.pairs_by_id(part_of);
    assert_eq!(message(tree.descendants(root).max_depth(0).find_map(Result::err)), below);

    // A system that reads pairs reads no names.
    let system = move |tree: Pairs<PartOf>| tree.descendants(root).max_depth(0).find_map(Result::err);
    let error = world.run_system_once(system).unwrap().unwrap();
    assert_eq!((error.entity.name(), error.entity.entity()), (None, child));
    assert_eq!(error.display(&world).to_string(), below);
}
