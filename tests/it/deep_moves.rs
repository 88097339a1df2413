//! Chains that hang on an entity that was just moved: the depths of what lies below it are not stored until the next maintenance.
//! What needs many of them takes steps in proportion to the chain. Nothing here looks at a clock: with a walk up the chain for
//! each entity of it, a test would do some 10^9 steps, each with a look-up.

use crate::common::size;
use bevy_ecs::{entity_disabling::Disabled, prelude::*};
use bevy_relations::{disabling::*, expr::PairExpr, live::*, prelude::*};

const LENGTH: usize = size(40_000, 100);

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct MountedOn;

#[derive(Component, Clone)]
struct Mass(usize);

/// A world with a chain whose upper end was moved.
fn world() -> (World, Vec<Entity>) {
    let mut world = World::new();
    world.register_component_name::<Mass>("Mass");
    world.register_relation::<MountedOn>().unwrap();
    let chain: Vec<Entity> = (0..LENGTH).map(|at| world.spawn(Mass(at)).id()).collect();
    world.insert_pair_batch(chain.windows(2).map(|pair| (pair[1], MountedOn, pair[0]))).unwrap();
    move_below(&mut world, &chain);
    (world, chain)
}

fn move_below(world: &mut World, chain: &[Entity]) {
    world.remove_pairs::<MountedOn>(chain[1]);
    world.insert_pair(chain[1], MountedOn, chain[0]).unwrap();
}

fn disabled(world: &World, chain: &[Entity]) -> usize {
    chain.iter().filter(|&&entity| world.entity(entity).contains::<Disabled>()).count()
}

#[test]
fn what_lies_deep_below_an_entity_that_was_moved_is_disabled_and_enabled() {
    let (mut world, chain) = world();
    world.disable_below::<MountedOn>(chain[0]).unwrap();
    assert_eq!(disabled(&world, &chain), LENGTH - 1);
    move_below(&mut world, &chain);
    assert_eq!(disabled(&world, &chain), LENGTH - 1);
    world.enable_below::<MountedOn>(chain[0]).unwrap();
    assert_eq!(disabled(&world, &chain), 0);
    world.check_pairs().unwrap();
}

#[test]
fn a_chain_that_is_taken_apart_and_built_again_costs_nothing_where_nothing_is_disabled() {
    let (mut world, chain) = world();
    world.disable_below::<MountedOn>(chain[0]).unwrap();
    world.enable_below::<MountedOn>(chain[0]).unwrap();
    chain.iter().for_each(|&entity| _ = world.remove_pairs::<MountedOn>(entity));
    for pair in chain.windows(2) {
        world.insert_pair(pair[1], MountedOn, pair[0]).unwrap();
    }
    world.disable_below::<MountedOn>(chain[LENGTH - 2]).unwrap();
    assert_eq!(disabled(&world, &chain), 1);
    world.check_pairs().unwrap();
}

#[test]
fn components_are_propagated_deep_below_an_entity_that_was_moved() {
    let (mut world, chain) = world();
    for &entity in &chain[1..] {
        world.entity_mut(entity).remove::<Mass>();
    }
    world.propagate::<MountedOn, Mass>().unwrap();
    for mass in [7, 8] {
        move_below(&mut world, &chain);
        world.entity_mut(chain[0]).insert(Mass(mass));
        world.update_propagation();
        let below = |&entity: &Entity| world.get::<Propagated<MountedOn, Mass>>(entity).unwrap().get().0;
        assert!(chain[1..].iter().map(below).all(|found| found == mass));
    }
}

#[test]
fn rows_deep_below_an_entity_that_was_moved_come_in_order_of_depth() {
    let (mut world, chain) = world();
    let expr = PairExpr::parse("Mass(self|cascade MountedOn)").unwrap();
    let mut found = Vec::new();
    expr.compile(&mut world).unwrap().for_each(&world, |row| found.extend(row.this())).unwrap();
    assert_eq!(found, chain);
    let mut live = expr.live(&mut world).unwrap();
    for _ in 0..2 {
        live.update(&mut world).unwrap();
        assert!(live.rows(&world).unwrap().filter_map(|row| row.this()).eq(chain.iter().copied()));
        move_below(&mut world, &chain);
    }
}
