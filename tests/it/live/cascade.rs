//! Live expressions whose rows come in order of depth.

use super::named::{Cargo, Ship, is_updated, live, world};
use bevy_ecs::prelude::*;
use bevy_relations::{
    live::{LiveExpr, LiveQuery},
    prelude::*,
};

#[derive(Component)]
struct Place(usize);

#[derive(Expression)]
#[expr("Ship, ?Fuel(cascade ChildOf)")]
struct FromTheTop;

#[derive(Expression)]
#[expr("Ship, ?Fuel(cascade|desc ChildOf)")]
struct FromTheLeaves;

#[test]
fn rows_by_depth_keep_their_order() {
    let mut world = world();
    let top = world.spawn(Ship).id();
    let middle = world.spawn((Ship, ChildOf(top))).id();
    let low = world.spawn((Ship, ChildOf(middle))).id();
    let mut live = live(&mut world, "Ship, ?Fuel(cascade ChildOf)");
    let order = |live: &LiveExpr, world: &World| -> Vec<_> {
        live.rows(world).unwrap().filter_map(|row| row.this()).collect()
    };
    assert_eq!(order(&live, &world), [top, middle, low]);
    world.entity_mut(middle).remove::<ChildOf>();
    world.entity_mut(top).insert(ChildOf(low));
    live.update(&mut world).unwrap();
    assert_eq!(order(&live, &world), [middle, low, top]);
    assert!(!live.ran_whole(), "{}", live.explain());
    // Above what no row is about, too.
    let high = world.spawn_empty().id();
    world.entity_mut(middle).insert(ChildOf(high));
    let second = world.spawn((Ship, ChildOf(high))).id();
    world.despawn(top);
    let first = world.spawn(Ship).id();
    live.update(&mut world).unwrap();
    let found = order(&live, &world);
    assert_eq!((found[0], found[3], found.len()), (first, low, 4));
    assert!(found[1..3].contains(&middle) && found[1..3].contains(&second) && !live.ran_whole());
}

#[test]
fn rows_by_descending_depth_are_kept_beside_an_order_of_their_own() {
    let mut world = world();
    let text = "Cargo(self|cascade|desc ChildOf)";
    world.register_component_name::<Cargo>("Cargo");
    let top = world.spawn(Cargo(3)).id();
    let low = world.spawn((Cargo(1), ChildOf(top))).id();
    let mut live = live(&mut world, text);
    live.order_by::<Cargo>(|a, b| a.0.cmp(&b.0));
    live.update(&mut world).unwrap();
    let lowest = world.spawn((Cargo(2), ChildOf(low))).id();
    assert!(is_updated(&mut world, &mut live, text));
    let all = |rows: Vec<Option<Entity>>| rows.into_iter().flatten().collect::<Vec<_>>();
    assert_eq!(all(live.rows(&world).unwrap().map(|row| row.this()).collect()), [lowest, low, top]);
    assert_eq!(all(live.group(&world, 0).unwrap().map(|row| row.this()).collect()), [low, lowest, top]);
}

/// Numbers the entities in the order of their rows. Whether all rows were found anew.
fn number<E: Expression>(mut rows: LiveQuery<E, &'static mut Place>) -> bool {
    let mut number = 0;
    rows.for_each_mut(|mut place, _| {
        place.0 = number;
        number += 1;
    });
    assert!(rows.iter().map(|(place, _)| place.0).eq(0..number));
    rows.ran_whole()
}

#[test]
fn systems_come_by_rows_in_order_of_depth_too() {
    let mut world = world();
    let low = world.spawn((Ship, Place(0))).id();
    let top = world.spawn((Ship, Place(0))).id();
    let middle = world.spawn((Ship, Place(0), ChildOf(top))).id();
    world.entity_mut(low).insert(ChildOf(middle));
    let down = world.register_system(number::<FromTheTop>);
    let up = world.register_system(number::<FromTheLeaves>);
    let run = |world: &mut World, system, entities: [Entity; 3]| {
        let ran_whole = world.run_system(system).unwrap();
        (entities.map(|entity| world.get::<Place>(entity).unwrap().0), ran_whole)
    };
    // What they depend on is noted after their first run.
    for ran_whole in [true, false] {
        assert_eq!(run(&mut world, down, [top, middle, low]), ([0, 1, 2], ran_whole));
        assert_eq!(run(&mut world, up, [top, middle, low]), ([2, 1, 0], ran_whole));
    }
    world.entity_mut(middle).remove::<ChildOf>();
    world.entity_mut(top).insert(ChildOf(low));
    assert_eq!(run(&mut world, down, [middle, low, top]), ([0, 1, 2], false));
    assert_eq!(run(&mut world, up, [middle, low, top]), ([2, 1, 0], false));
}
