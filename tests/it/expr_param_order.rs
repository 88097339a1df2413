//! Rows of system parameters that are sorted and put into groups, against those of the same expression on a world.
//!
//! Classes of systems: sorted by a component that a term reads, one that data reads, one that nothing reads; by entity, by a
//! function; in groups by a relation, by an entity, by a number; written in order; run twice, with an order or without.

use bevy_ecs::{prelude::*, system::RunSystemOnce};
use bevy_relations::{
    expr::{CompiledExpr, ExprRunError, PairExpr, Row, RowGroup},
    prelude::*,
};
use std::{
    cmp::Reverse,
    sync::{Arc, Mutex},
};

#[derive(Component)]
struct Ship;

#[derive(Component, Clone, Copy, PartialEq, Debug)]
struct Strength(u32);

#[derive(Component)]
struct Rank(u32);

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo;

const TEXT: &str = "Ship, Strength, ?(DockedTo, $port)";

#[derive(Expression)]
#[expr("Ship, Strength, ?(DockedTo, $port)")]
struct Ships;

/// Ships with strengths in no order, at three ports or at none.
fn world() -> World {
    let mut world = World::new();
    world.register_component_name::<Ship>("Ship");
    world.register_component_name::<Strength>("Strength");
    world.register_relation::<DockedTo>().unwrap();
    let ports = [(); 3].map(|()| world.spawn_empty().id());
    for number in 0..24u32 {
        let ship = world.spawn((Ship, Strength(number * 7 % 24), Rank(24 - number))).id();
        if let Some(&port) = ports.get(number as usize % 4) {
            world.insert_pair(ship, DockedTo, port).unwrap();
        }
    }
    world
}

fn compiled(world: &mut World) -> CompiledExpr {
    PairExpr::parse(TEXT).unwrap().compile(world).unwrap()
}

type Groups = Vec<(u64, Vec<Entity>)>;

fn groups_of(world: &World, expr: &mut CompiledExpr) -> Groups {
    let mut groups = Vec::new();
    let these = |group: &RowGroup<'_>| group.iter().filter_map(|row| row.this()).collect();
    expr.for_each_group(world, |group| groups.push((group.id(), these(&group)))).unwrap();
    groups
}

/// The groups that a system finds, all at once and one at a time.
fn groups_in(ships: &mut ExprQuery<Ships>) -> Groups {
    let mut groups: Groups = Vec::new();
    ships
        .for_each_group(|group| {
            groups.push((group.id(), group.iter().filter_map(|row| row.this()).collect()));
        })
        .unwrap();
    for (id, rows) in &groups {
        let group = ships.group(*id).unwrap();
        assert_eq!(group.iter().filter_map(|row| row.this()).collect::<Vec<_>>(), *rows);
    }
    assert!(ships.group(u64::MAX).unwrap().is_empty());
    groups
}

#[test]
fn a_system_has_the_groups_and_the_order_of_the_expression() {
    let mut world = world();
    let mut expr = compiled(&mut world);
    let relation = world.register_relation::<DockedTo>().unwrap();
    let compare = |a: &Strength, b: &Strength| a.0.cmp(&b.0);

    expr.group_by::<DockedTo>().unwrap().order_by::<Strength>(compare);
    let expected = groups_of(&world, &mut expr);
    assert_eq!(expected.len(), 4);
    let found = world.run_system_once(move |mut ships: ExprQuery<Ships>| {
        ships.group_by::<DockedTo>().unwrap().order_by::<Strength>(compare).unwrap();
        let groups = groups_in(&mut ships);
        ships.group_by_id(relation).unwrap();
        assert_eq!(groups_in(&mut ships), groups);
        groups
    });
    assert_eq!(found.unwrap(), expected);

    expr.clear_order();
    expr.group_by_fn(|row| Some(row.get::<Strength>(1)?.0.into())).unwrap().order_by_entity();
    let expected = groups_of(&world, &mut expr);
    assert_eq!(expected.len(), 24);
    let found = world.run_system_once(|mut ships: ExprQuery<Ships>| {
        ships.group_by_fn(|row| Some(row.get::<Strength>(1)?.0.into())).unwrap().order_by_entity();
        groups_in(&mut ships)
    });
    assert_eq!(found.unwrap(), expected);
}

#[test]
fn data_comes_and_is_written_in_order() {
    let mut world = world();
    let seen = world.run_system_once(|mut ships: ExprQuery<Ships, &mut Rank>| {
        ships.order_by_fn(|a, b| {
            let strength = |row: Row<'_>| Reverse(row.get::<Strength>(1).map(|own| own.0));
            strength(a).cmp(&strength(b))
        });
        let (mut next, mut seen) = (0, Vec::new());
        ships
            .for_each_mut(|mut rank, _| {
                rank.0 = next;
                next += 1;
            })
            .unwrap();
        ships.for_each(|rank, row| seen.push((rank.0, row.get::<Strength>(1).unwrap().0))).unwrap();
        seen
    });
    assert_eq!(seen.unwrap(), (0..24).map(|rank| (rank, 23 - rank)).collect::<Vec<_>>());
}

#[test]
fn rows_come_as_they_are_found_when_the_system_runs_again() {
    let mut world = world();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let found = seen.clone();
    let mut runs = 0;
    let mut schedule = Schedule::default();
    schedule.add_systems(move |mut ships: ExprQuery<Ships>| {
        runs += 1;
        if runs == 2 {
            ships.group_by::<DockedTo>().unwrap();
        }
        let mut groups = 0;
        ships.for_each_group(|_| groups += 1).unwrap();
        found.lock().unwrap().push(groups);
    });
    (0..3).for_each(|_| schedule.run(&mut world));
    assert_eq!(*seen.lock().unwrap(), [1, 4, 1]);
}

#[test]
fn what_cannot_be_sorted_or_grouped_by_is_named() {
    let mut world = world();
    let nothing = world.spawn_empty().id();
    let run = move |mut ships: ExprQuery<Ships, &mut Rank>| {
        let unread = ships.order_by::<Rank>(|a, b| a.0.cmp(&b.0)).map(drop).unwrap_err();
        assert_eq!(unread, ExprRunError::NotRead { component: "Rank".into() });
        assert!(unread.to_string().contains("`Rank`"));
        let mut before = 0;
        ships.for_each_group(|group| before += group.len()).unwrap();
        assert_eq!(before, 24);
        let refused = ExprRunError::NotARelation { relation: nothing };
        assert!(refused.to_string().contains(&nothing.to_string()));
        assert_eq!(ships.group_by_id(nothing).map(drop), Err(refused));
    };
    world.run_system_once(run).unwrap();
}

#[test]
fn groups_by_a_relation_that_is_gone_end_a_run_and_an_update() {
    let mut world = world();
    let mut expr = compiled(&mut world);
    let mut live = PairExpr::parse("Ship").unwrap().live(&mut world).unwrap();
    let relation = world.spawn_relation("Escorts", RelationTraits::new()).unwrap();
    expr.group_by_id(relation).unwrap();
    live.group_by_id(relation).unwrap();
    live.update(&mut world).unwrap();
    assert_eq!((expr.group(&world, 0).unwrap().len(), live.group(&world, 0).unwrap().len()), (24, 24));
    world.despawn(relation);
    let refused = ExprRunError::NotARelation { relation };
    assert_eq!(expr.for_each(&world, |_| {}), Err(refused.clone()));
    assert_eq!(expr.group(&world, 0).map(drop), Err(refused.clone()));
    assert_eq!(live.update(&mut world), Err(refused.clone()));
    assert!(live.is_empty() && live.groups().len() == 0);
    // It says so until the order is another one, and then is right again.
    assert_eq!(live.update(&mut world), Err(refused));
    live.group_by::<DockedTo>().unwrap();
    expr.group_by::<DockedTo>().unwrap();
    live.update(&mut world).unwrap();
    assert_eq!((live.len(), live.groups().len(), groups_of(&world, &mut expr).len()), (24, 4, 4));
}
