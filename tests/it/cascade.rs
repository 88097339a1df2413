//! `CascadeQuery`: order, completeness and final parents, compared with climbing from each entity.

use crate::cascade_forest::{Forest, Global, Local, Under, Visits, combine};
use crate::common::{Random, size};
use bevy_ecs::{entity_disabling::Disabled, prelude::*, query::QueryFilter};
use bevy_relations::{
    prelude::*,
    relation::{ExclusiveRelation, TraversableRelation},
};
use std::collections::{HashMap, HashSet};

type Propagation<'w, 's, R, F = ()> =
    CascadeQuery<'w, 's, R, (&'static Local, &'static mut Global, &'static mut Visits), &'static Global, F>;

fn propagate<R: ExclusiveRelation + TraversableRelation>(mut tree: Propagation<R>) {
    tree.for_each(|(local, mut global, mut visits), parent| {
        global.0 = combine(local.0, parent.map(|parent| parent.0));
        visits.0 += 1;
    });
}

fn par_propagate<R: ExclusiveRelation + TraversableRelation>(mut tree: Propagation<R>) {
    tree.par_for_each(|(local, mut global, mut visits), parent| {
        global.0 = combine(local.0, parent.map(|parent| parent.0));
        visits.0 += 1;
    });
}

/// Changes a forest again and again, and compares each run of the system with climbing.
fn follow<R, M>(mut forest: Forest<R>, rounds: usize, system: impl IntoSystem<(), (), M> + 'static)
where
    R: ExclusiveRelation + TraversableRelation,
{
    let system = forest.world.register_system(system);
    for _ in 0..rounds {
        let expected = forest.expected();
        forest.world.run_system(system).unwrap();
        forest.check_values(&expected);
        forest.check_visits();
        forest.change_some();
    }
}

#[test]
fn the_parent_is_final_and_each_entity_comes_once() {
    let (count, rounds) = (size(300, 40), size(60, 6));
    for seed in 1..size(6, 2) as u64 {
        follow(Forest::of_children(seed, count), rounds, propagate::<ChildOf>);
        follow(Forest::of_relation(seed, count), rounds, propagate::<Under>);
    }
}

#[test]
fn a_small_forest_is_followed_just_as_well() {
    for seed in 1..size(20, 3) as u64 {
        follow(Forest::of_children(seed, 8), size(40, 8), propagate::<ChildOf>);
        follow(Forest::of_relation(seed, 8), size(40, 8), propagate::<Under>);
    }
}

#[test]
fn parallel_equals_sequential() {
    #[cfg(feature = "multi_threaded")]
    bevy_tasks::ComputeTaskPool::get_or_init(|| bevy_tasks::TaskPoolBuilder::new().num_threads(3).build());
    follow(Forest::of_children(1, size(10_000, 200)), size(4, 2), par_propagate::<ChildOf>);
    follow(Forest::of_relation(2, size(10_000, 200)), size(4, 2), par_propagate::<Under>);
}

/// Runs `check` after each of some changes to a forest along `Under`.
fn after_changes(seed: u64, mut check: impl FnMut(&mut Forest<Under>)) {
    let mut forest = Forest::of_relation(seed, size(200, 30));
    for _ in 0..size(30, 4) {
        check(&mut forest);
        forest.change_some();
    }
}

#[derive(Resource, Default)]
struct Seen(Vec<Entity>);

#[test]
fn items_of_all_entities_can_be_kept() {
    fn forward(mut tree: CascadeQuery<Under, (Entity, &mut Global)>, mut seen: ResMut<Seen>) {
        let items: Vec<_> = tree.iter_mut().collect();
        for (_, mut global) in items {
            global.0 += 1;
        }
        seen.0 = tree.iter_mut().map(|(entity, _)| entity).collect();
    }
    fn backward(mut tree: CascadeQuery<Under, (Entity, &mut Global)>, mut seen: ResMut<Seen>) {
        seen.0 = tree.iter_desc().map(|(entity, _)| entity).collect();
        seen.0.reverse();
    }
    let mut systems = None;
    after_changes(3, |forest| {
        forest.world.init_resource::<Seen>();
        let (forward, backward) = *systems.get_or_insert_with(|| {
            (forest.world.register_system(forward), forest.world.register_system(backward))
        });
        for system in [forward, backward] {
            let stored = |world: &World, entity: Entity| world.get::<Global>(entity).map(|global| global.0);
            let visible = |forest: &Forest<Under>, entity: Entity| {
                !forest.world.entity(entity).contains::<Disabled>() && stored(&forest.world, entity).is_some()
            };
            let before: HashMap<_, _> =
                forest.entities.iter().map(|&entity| (entity, stored(&forest.world, entity))).collect();
            forest.world.run_system(system).unwrap();
            let seen = &forest.world.resource::<Seen>().0;
            let places: HashMap<_, _> = seen.iter().enumerate().map(|(at, &entity)| (entity, at)).collect();
            assert_eq!(places.len(), seen.len(), "an entity came twice");
            for &entity in &forest.entities {
                assert_eq!(places.contains_key(&entity), visible(forest, entity));
                if let Some(parent) = forest.parent(entity)
                    && let (Some(own), Some(above)) = (places.get(&entity), places.get(&parent))
                {
                    assert!(above < own, "{entity} comes before its parent {parent}");
                }
                let more = i64::from(system == forward && visible(forest, entity));
                assert_eq!(stored(&forest.world, entity), before[&entity].map(|old| old + more));
            }
        }
    });
}

#[test]
fn values_fold_up_from_children() {
    fn sum(mut tree: CascadeQuery<Under, (&Local, &mut Global), &Global>) {
        tree.for_each_desc(|(local, mut global), children| {
            global.0 = local.0 + children.map(|child| child.0).sum::<i64>();
        });
    }
    fn expected(forest: &Forest<Under>, entity: Entity) -> Option<i64> {
        let stored = forest.world.get::<Global>(entity)?.0;
        let Some(local) = forest.world.get::<Local>(entity).filter(|_| forest.matches(entity)) else {
            return Some(stored);
        };
        let tree = forest.world.pairs::<Under>();
        let children =
            tree.sources(entity).filter(|&child| !forest.world.entity(child).contains::<Disabled>());
        Some(local.0 + children.filter_map(|child| expected(forest, child)).sum::<i64>())
    }
    let mut system = None;
    after_changes(4, |forest| {
        let system = *system.get_or_insert_with(|| forest.world.register_system(sum));
        let values = forest.entities.iter().map(|&entity| Some((entity, expected(forest, entity)?)));
        let values = values.flatten().collect();
        forest.world.run_system(system).unwrap();
        forest.check_values(&values);
    });
}

#[test]
fn a_run_below_an_entity_visits_its_subtree_only() {
    #[derive(Resource)]
    struct Root(Entity);
    fn below(mut tree: Propagation<Under>, root: Res<Root>) {
        tree.for_each_below(root.0, |(local, mut global, mut visits), parent| {
            global.0 = combine(local.0, parent.map(|parent| parent.0));
            visits.0 += 1;
        });
    }
    let (mut all, mut below_root) = (None, None);
    after_changes(5, |forest| {
        let all = *all.get_or_insert_with(|| forest.world.register_system(propagate::<Under>));
        let below = *below_root.get_or_insert_with(|| forest.world.register_system(below));
        let expected = forest.expected();
        forest.world.run_system(all).unwrap();
        forest.check_visits();
        let root = forest.random.pick(&forest.entities.clone());
        forest.world.insert_resource(Root(root));
        forest.world.run_system(below).unwrap();
        forest.check_values(&expected);
        let mut subtree: HashSet<_> =
            forest.world.pairs::<Under>().descendants(root).map(|(e, _)| e).collect();
        subtree.insert(root);
        for &entity in &forest.entities.clone() {
            let visits = core::mem::take(&mut forest.world.get_mut::<Visits>(entity).unwrap().0);
            assert_eq!(visits, u32::from(subtree.contains(&entity) && forest.matches(entity)));
        }
    });
    let mut world = World::new();
    let dead = world.spawn(Local(1)).id();
    world.despawn(dead);
    world.insert_resource(Root(dead));
    world.run_system_cached(below).unwrap();
}

#[derive(Relation)]
#[relation(traversable)]
struct PartOf;

#[test]
fn with_many_parents_all_of_them_are_final() {
    fn sum(mut graph: CascadeQuery<PartOf, (&Local, &mut Global, &mut Visits), &Global>) {
        graph.for_each_with_parents(|(local, mut global, mut visits), parents| {
            global.0 = local.0.wrapping_add(parents.map(|parent| parent.0).fold(0, i64::wrapping_add));
            visits.0 += 1;
        });
    }
    for seed in 1..8 {
        let (mut world, mut random) = (World::new(), Random(seed));
        let entities: Vec<_> = (0..200).map(|n| world.spawn((Local(n), Global(0), Visits(0))).id()).collect();
        let system = world.register_system(sum);
        let mut known = HashMap::new();
        for _ in 0..40 {
            for _ in 0..random.below(30) {
                let (a, b) = (random.below(200), random.below(200));
                if random.below(3) == 0 {
                    world.remove_pairs::<PartOf>(entities[a]);
                } else {
                    // Refused if it would close a cycle.
                    let _ = world.insert_pair(entities[a], PartOf, entities[b]);
                }
            }
            world.run_system(system).unwrap();
            known.clear();
            for (n, &entity) in entities.iter().enumerate() {
                let value = fold_parents(&world, &mut known, entity);
                assert_eq!(world.get::<Global>(entity), Some(&Global(value)), "number {n}");
                assert_eq!(core::mem::take(&mut world.get_mut::<Visits>(entity).unwrap().0), 1);
            }
        }
    }
}

/// What the global value of an entity must be, given all its parents.
fn fold_parents(world: &World, known: &mut HashMap<Entity, i64>, entity: Entity) -> i64 {
    if let Some(&value) = known.get(&entity) {
        return value;
    }
    let mut value = world.get::<Local>(entity).unwrap().0;
    for target in world.pairs::<PartOf>().targets(entity) {
        value = value.wrapping_add(fold_parents(world, known, target));
    }
    known.insert(entity, value);
    value
}

#[test]
fn filters_and_sparse_components_leave_entities_out_and_keep_the_order() {
    #[derive(Component)]
    #[component(storage = "SparseSet")]
    struct Awake;
    fn count<F: QueryFilter + 'static>(mut tree: Propagation<ChildOf, F>) {
        tree.for_each(|(_, mut global, mut visits), parent| {
            global.0 = parent.map_or(0, |parent| parent.0 + 1);
            visits.0 += 1;
        });
    }
    let mut world = World::new();
    let root = world.spawn((Local(0), Global(9), Visits(0))).id();
    let asleep = world.spawn((Local(0), Global(9), Visits(0), ChildOf(root))).id();
    let leaf = world.spawn((Local(0), Global(9), Visits(0), ChildOf(asleep), Awake)).id();
    let alone = world.spawn((Local(0), Global(9), Visits(0), Awake)).id();
    let systems = [
        world.register_system(count::<With<Awake>>),
        world.register_system(count::<Changed<Local>>),
        world.register_system(count::<Or<(With<Awake>, Without<Awake>)>>),
    ];
    let values = |world: &mut World, nth: usize| {
        world.run_system(systems[nth]).unwrap();
        [root, asleep, leaf, alone].map(|entity| world.get::<Global>(entity).unwrap().0)
    };
    assert_eq!(values(&mut world, 0), [9, 9, 10, 0]);
    assert_eq!(values(&mut world, 1), [0, 1, 2, 0]);
    world.get_mut::<Global>(asleep).unwrap().0 = 5;
    assert_eq!(values(&mut world, 1), [0, 5, 2, 0], "nothing has changed");
    world.get_mut::<Local>(leaf).unwrap().0 = 1;
    assert_eq!(values(&mut world, 1), [0, 5, 6, 0]);
    assert_eq!(values(&mut world, 2), [0, 1, 2, 0]);
}

#[test]
fn entities_without_pairs_are_found_wherever_they_come_from() {
    let mut world = World::new();
    let system = world.register_system(propagate::<Under>);
    let mut all = vec![];
    let mut random = Random(7);
    for round in 0..200 {
        for _ in 0..random.below(5) {
            all.push(world.spawn((Local(round), Global(-1), Visits(0))).id());
        }
        for _ in 0..random.below(5).min(all.len()) {
            let last = all.swap_remove(random.below(all.len()));
            world.despawn(last);
        }
        world.run_system(system).unwrap();
        for &entity in &all {
            let local = world.get::<Local>(entity).unwrap().0;
            assert_eq!(world.get::<Global>(entity), Some(&Global(local)));
            assert_eq!(core::mem::take(&mut world.get_mut::<Visits>(entity).unwrap().0), 1);
        }
    }
}

#[test]
fn a_run_follows_whatever_happened_to_the_store() {
    let mut world = World::new();
    let system = world.register_system(propagate::<Under>);
    let root = world.spawn((Local(1), Global(-1), Visits(0))).id();
    let child = world.spawn((Local(1), Global(-1), Visits(0))).id();
    world.insert_pair(child, Under, root).unwrap();
    world.run_system(system).unwrap();
    assert_eq!(world.get::<Global>(child), Some(&Global(combine(1, Some(1)))));
    world.clear_pairs();
    world.run_system(system).unwrap();
    assert_eq!(world.get::<Global>(child), Some(&Global(1)));
    world.insert_pair(root, Under, child).unwrap();
    world.run_system(system).unwrap();
    assert_eq!(world.get::<Global>(root), Some(&Global(combine(1, Some(1)))));
    // More changes than the journal keeps.
    for _ in 0..40_000 {
        world.remove_pair::<Under>(root, child);
        world.insert_pair(root, Under, child).unwrap();
    }
    world.remove_pair::<Under>(root, child);
    world.insert_pair(child, Under, root).unwrap();
    world.run_system(system).unwrap();
    assert_eq!(world.get::<Global>(child), Some(&Global(combine(1, Some(1)))));
    assert_eq!([root, child].map(|entity| world.get::<Visits>(entity).unwrap().0), [4, 4]);
}

#[test]
fn a_long_chain_is_followed_link_by_link() {
    let mut world = World::new();
    let system = world.register_system(propagate::<Under>);
    let chain: Vec<_> = (0..3_000).map(|_| world.spawn((Local(1), Global(-1), Visits(0))).id()).collect();
    // From the end to the start: each link moves everything below it.
    for pair in chain.windows(2).rev() {
        world.insert_pair(pair[1], Under, pair[0]).unwrap();
    }
    world.run_system(system).unwrap();
    let mut value = None;
    for &entity in &chain {
        value = Some(combine(1, value));
        assert_eq!(world.get::<Global>(entity).map(|global| global.0), value);
    }
}
