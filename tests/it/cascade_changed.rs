//! `CascadeQuery::for_each_changed`, compared with asking each entity in turn.

use crate::cascade_forest::{Forest, Global, Local, Under, combine};
use bevy_ecs::prelude::*;
use bevy_relations::{
    prelude::*,
    relation::{ExclusiveRelation, TraversableRelation},
};
use std::collections::{HashMap, HashSet};

#[derive(Resource, Default)]
struct Seen(Vec<Entity>);

fn propagate<R: ExclusiveRelation + TraversableRelation>(
    mut tree: CascadeQuery<R, (Entity, &Local, &mut Global), &Global, (), Changed<Local>>,
    mut seen: ResMut<Seen>,
) {
    seen.0.clear();
    tree.for_each_changed(|(entity, local, mut global), parent| {
        global.0 = combine(local.0, parent.map(|parent| parent.0));
        seen.0.push(entity);
    });
}

/// Who must be visited: asked of each entity from the roots down.
fn due<R: ExclusiveRelation + TraversableRelation>(
    forest: &Forest<R>,
    known: &mut HashMap<Entity, bool>,
    entity: Entity,
    fresh: &dyn Fn(Entity) -> bool,
) -> bool {
    if let Some(&due) = known.get(&entity) {
        return due;
    }
    let parent = forest.parent(entity);
    let by_parent = parent.is_some_and(|parent| due(forest, known, parent, fresh));
    let due = forest.matches(entity) && (by_parent || fresh(entity));
    known.insert(entity, due);
    due
}

fn follow<R: ExclusiveRelation + TraversableRelation>(mut forest: Forest<R>) {
    forest.world.init_resource::<Seen>();
    let system = forest.world.register_system(propagate::<R>);
    let mut matched_before = HashSet::new();
    let mut locals_before: HashMap<Entity, u32> = HashMap::new();
    for round in 0..60 {
        let changed_local = |entity: Entity| {
            let local = forest.world.entity(entity).get_ref::<Local>();
            local.map(|local| local.last_changed().get())
        };
        let fresh = |entity: Entity| {
            forest.relinked.contains(&entity)
                || !matched_before.contains(&entity)
                || changed_local(entity) != locals_before.get(&entity).copied()
        };
        let mut known = HashMap::new();
        let mut expected: Vec<_> = forest.entities.clone();
        expected.retain(|&entity| due(&forest, &mut known, entity, &fresh));
        forest.world.run_system(system).unwrap();
        let mut seen = forest.world.resource::<Seen>().0.clone();
        seen.sort_unstable();
        expected.sort_unstable();
        assert_eq!(seen, expected, "round {round}");
        matched_before = forest.entities.iter().copied().filter(|&entity| forest.matches(entity)).collect();
        locals_before = forest
            .entities
            .iter()
            .filter_map(|&entity| {
                Some((entity, forest.world.entity(entity).get_ref::<Local>()?.last_changed().get()))
            })
            .collect();
        forest.relinked.clear();
        // A tick of its own for each round.
        forest.world.increment_change_tick();
        if round % 5 > 0 {
            forest.change_some();
        }
    }
}

#[test]
fn whoever_changed_is_visited_with_all_below_and_nobody_else() {
    for seed in 1..6 {
        follow(Forest::of_children(seed, 300));
        follow(Forest::of_relation(seed, 300));
    }
}

#[test]
fn nothing_is_visited_when_nothing_changed_and_a_move_is_a_change() {
    let mut world = World::new();
    world.init_resource::<Seen>();
    let system = world.register_system(propagate::<Under>);
    let [a, b] = [1, 2].map(|local| world.spawn((Local(local), Global(0))).id());
    let child = world.spawn((Local(5), Global(0))).id();
    let grandchild = world.spawn((Local(6), Global(0))).id();
    world.insert_pair(child, Under, a).unwrap();
    world.insert_pair(grandchild, Under, child).unwrap();
    let seen = |world: &mut World| {
        world.run_system(system).unwrap();
        world.resource::<Seen>().0.clone()
    };
    assert_eq!(seen(&mut world).len(), 4);
    assert_eq!(seen(&mut world), []);
    world.insert_pair(child, Under, b).unwrap();
    assert_eq!(seen(&mut world), [child, grandchild]);
    world.get_mut::<Local>(b).unwrap().0 = 7;
    assert_eq!(seen(&mut world), [b, child, grandchild]);
    assert_eq!(world.get::<Global>(grandchild).unwrap().0, combine(6, Some(combine(5, Some(7)))));
    // In a system that does not run every frame.
    world.get_mut::<Local>(grandchild).unwrap().0 = 8;
    for _ in 0..5 {
        world.maintain_pairs();
        world.increment_change_tick();
    }
    assert_eq!(seen(&mut world), [grandchild]);
}
