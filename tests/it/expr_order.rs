//! Rows that are sorted and put into groups, against sorting and grouping what comes without an order.

use crate::oracle::random::Random;
use bevy_ecs::prelude::*;
use bevy_relations::{
    expr::{CompiledExpr, ExprRunError, PairExpr, Row},
    prelude::*,
};
use std::collections::BTreeMap;

#[derive(Relation)]
struct MemberOf;

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct MountedOn;

#[derive(Component, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Rank(u32);

#[derive(Component)]
#[component(storage = "SparseSet")]
struct Armed;

fn compile(world: &mut World, text: &str) -> CompiledExpr {
    match PairExpr::parse(text).and_then(|expr| expr.compile(world)) {
        Ok(expr) => expr,
        Err(error) => panic!("{error}"),
    }
}

/// Entities in several tables, some with a rank, some members of one or of several clubs; and an expression about them.
fn clubs(seed: u64, terms: &str) -> (World, Vec<Entity>, CompiledExpr) {
    let mut random = Random::new(seed, 0);
    let mut world = World::new();
    let member_of = world.register_relation::<MemberOf>().unwrap();
    world.entity_mut(member_of).insert(Name::new("MemberOf"));
    world.register_component_name::<Rank>("Rank").register_component::<Armed>();
    let clubs: Vec<Entity> = (0..5).map(|_| world.spawn_empty().id()).collect();
    for _ in 0..60 {
        let mut member = world.spawn(Armed);
        if random.chance(75) {
            member.insert(Rank(random.below(6) as u32));
        }
        if random.chance(30) {
            member.insert(Name::new("somebody"));
        }
        let member = member.id();
        for _ in 0..random.below(3) {
            world.insert_pair(member, MemberOf, random.pick(&clubs)).unwrap();
        }
    }
    let text = format!("#{}{terms}", world.entity_of::<Armed>().to_bits());
    let expr = compile(&mut world, &text);
    (world, clubs, expr)
}

fn these(expr: &mut CompiledExpr, world: &World) -> Vec<Entity> {
    let mut found = Vec::new();
    expr.for_each(world, |row| found.extend(row.this())).unwrap();
    found
}

/// Entities are in order of their indices, and then of their generations.
fn ascending(entity: Entity) -> (u32, u32) {
    (entity.index_u32(), entity.generation().to_bits())
}

/// The first club of an entity, as groups are numbered.
fn club(world: &World, entity: Entity) -> u64 {
    world.pairs::<MemberOf>().target(entity).map_or(0, Entity::to_bits)
}

#[test]
fn rows_are_sorted_by_a_component_and_those_without_it_come_first() {
    for seed in 0..20 {
        let (mut world, _, mut expr) = clubs(seed, "");
        let mut expected = these(&mut expr, &world);
        expected.sort_by_key(|&entity| world.get::<Rank>(entity).copied());
        expr.order_by::<Rank>(Rank::cmp);
        assert_eq!(these(&mut expr, &world), expected);
        assert_eq!(expr.count(&world).unwrap(), expected.len());
        assert_eq!(expr.first(&world).unwrap().and_then(|row| row.this()), expected.first().copied());
        // Sorted anew in every run.
        world.get_mut::<Rank>(*expected.last().unwrap()).unwrap().0 = 0;
        expected.sort_by_key(|&entity| world.get::<Rank>(entity).copied());
        let ranks =
            |these: Vec<Entity>| these.iter().map(|&this| world.get(this)).collect::<Vec<Option<&Rank>>>();
        assert_eq!(ranks(these(&mut expr, &world)), ranks(expected));
    }
}

#[test]
fn rows_are_sorted_by_entity_by_variables_and_not_at_all_again() {
    for seed in 0..20 {
        let (world, _, mut expr) = clubs(seed, ", (MemberOf, $club)");
        let rows = |expr: &mut CompiledExpr| {
            let mut rows = Vec::new();
            expr.for_each(&world, |row| rows.push((row.var("club"), row.this()))).unwrap();
            rows
        };
        let found = rows(&mut expr);
        let mut expected = found.clone();
        expected.sort_by_key(|&(_, this)| this.map(ascending));
        assert_eq!(rows(expr.order_by_entity()), expected);
        let mut expected = found.clone();
        expected.sort_by_key(|&(club, _)| std::cmp::Reverse(club));
        assert_eq!(rows(expr.order_by_fn(|a, b| b.var("club").cmp(&a.var("club")))), expected);
        expr.clear_order();
        assert_eq!(rows(&mut expr), found);
    }
}

#[test]
fn groups_ascend_and_what_is_sorted_is_sorted_within_them() {
    for seed in 0..20 {
        let (world, _, mut expr) = clubs(seed, "");
        let mut expected = these(&mut expr, &world);
        expr.order_by::<Rank>(Rank::cmp);
        expected.sort_by_key(|&entity| world.get::<Rank>(entity).copied());
        expected.sort_by_key(|&entity| Entity::try_from_bits(club(&world, entity)).map(ascending));
        expr.group_by::<MemberOf>().unwrap();
        assert_eq!(these(&mut expr, &world), expected);
        expr.for_each(&world, |row| assert_eq!(row.group(), club(&world, row.this().unwrap()))).unwrap();
        assert_eq!(expected[0], expr.group(&world, 0).unwrap().iter().next().unwrap().this().unwrap());

        let mut by_group = BTreeMap::<u64, Vec<Entity>>::new();
        for &this in &expected {
            by_group.entry(club(&world, this)).or_default().push(this);
        }
        let mut groups = Vec::new();
        expr.for_each_group(&world, |group| {
            assert_eq!(group.len(), group.iter().len());
            assert_eq!(group.target().map_or(0, Entity::to_bits), group.id());
            groups.push((group.id(), group.iter().filter_map(|row| row.this()).collect::<Vec<_>>()));
        })
        .unwrap();
        let mut expected: Vec<_> = by_group.into_iter().collect();
        expected.sort_by_key(|&(group, _)| Entity::try_from_bits(group).map(ascending));
        assert_eq!(groups, expected);
    }
}

#[test]
fn entities_and_groups_ascend_by_index_and_then_by_generation() {
    let mut world = World::new();
    let member_of = world.register_relation::<MemberOf>().unwrap();
    let mut clubs: Vec<Entity> = (0..4).map(|_| world.spawn_empty().id()).collect();
    // One has the index of another that is gone, and so a later generation.
    world.despawn(clubs[1]);
    clubs[1] = crate::common::reuse_index(&mut world, clubs[1]);
    let members: Vec<Entity> =
        clubs.iter().map(|&club| world.spawn((Armed, Pair(MemberOf, club))).id()).collect();
    let text = format!("(#{}, *)", member_of.to_bits());
    let mut expr = compile(&mut world, &text);
    expr.order_by_entity();
    assert_eq!(these(&mut expr, &world), members);
    expr.clear_order();
    expr.group_by::<MemberOf>().unwrap();
    let mut groups = Vec::new();
    expr.for_each_group(&world, |group| groups.extend(group.target())).unwrap();
    assert_eq!(groups, clubs);
    for (&club, &member) in clubs.iter().zip(&members) {
        let group = expr.group(&world, club.to_bits()).unwrap();
        assert_eq!(group.iter().filter_map(|row| row.this()).collect::<Vec<_>>(), [member]);
    }
}

#[test]
fn one_group_can_be_asked_for_and_one_that_is_absent_is_empty() {
    for seed in 0..20 {
        let (mut world, clubs, mut expr) = clubs(seed, "");
        let everybody = these(&mut expr, &world);
        let relation = world.register_relation::<MemberOf>().unwrap();
        expr.group_by_id(relation).unwrap();
        let nobody = world.spawn_empty().id();
        for id in clubs.iter().chain([&nobody]).map(|club| club.to_bits()).chain([0, 1, u64::MAX]) {
            let group = expr.group(&world, id).unwrap();
            let found: Vec<Entity> = group.iter().filter_map(|row| row.this()).collect();
            let expected: Vec<Entity> =
                everybody.iter().copied().filter(|&this| club(&world, this) == id).collect();
            assert_eq!((group.id(), found), (id, expected));
        }
    }
}

#[test]
fn groups_by_a_function_may_have_any_number() {
    let (world, _, mut expr) = clubs(7, "");
    let rank =
        |row: Row<'_>, world: &World| row.this().and_then(|this| world.get::<Rank>(this)).map(|rank| rank.0);
    let mut everybody = these(&mut expr, &world);
    let ranks: BTreeMap<Entity, u64> = everybody
        .iter()
        .map(|&this| (this, world.get::<Rank>(this).map_or(0, |rank| u64::from(rank.0) / 2)))
        .collect();
    let by_row = ranks.clone();
    expr.group_by_fn(move |row| by_row.get(&row.this()?).copied()).unwrap();
    everybody.sort_by_key(|this| ranks[this]);
    assert_eq!(these(&mut expr, &world), everybody);
    let mut groups = Vec::new();
    expr.for_each_group(&world, |group| {
        groups.push(group.id());
        assert!(group.iter().all(|row| u64::from(rank(row, &world).unwrap_or(0)) / 2 == group.id()));
    })
    .unwrap();
    assert_eq!(groups, [0, 1, 2]);
}

#[test]
fn rows_that_are_in_no_groups_are_in_group_0() {
    let (mut world, _, mut expr) = clubs(3, "");
    let everybody = these(&mut expr, &world);
    let mut groups = Vec::new();
    expr.for_each_group(&world, |group| groups.push((group.id(), group.len()))).unwrap();
    assert_eq!(groups, [(0, everybody.len())]);
    assert!(expr.group(&world, 1).unwrap().is_empty());
    assert_eq!(these(&mut expr, &world), everybody);
    let mut nobody = compile(&mut world, "(MemberOf, $x), !(MemberOf, $x)");
    nobody.for_each_group(&world, |group| panic!("{group:?}")).unwrap();
}

#[test]
fn rows_in_order_of_depth_are_sorted_within_a_depth_but_not_grouped() {
    let mut world = World::new();
    let mounted_on = world.register_relation::<MountedOn>().unwrap();
    world.entity_mut(mounted_on).insert(Name::new("MountedOn"));
    let rank = world.entity_of::<Rank>();
    world.register_component::<Rank>();
    let root = world.spawn(Rank(9)).id();
    let upper = [4, 3].map(|rank| world.spawn((Rank(rank), pairs![(MountedOn, root)])).id());
    let lower = [2, 1].map(|rank| world.spawn((Rank(rank), pairs![(MountedOn, upper[0])])).id());
    let text = format!("#{0}, #{0}(self|cascade MountedOn)", rank.to_bits());
    let mut expr = compile(&mut world, &text);
    assert_eq!(these(&mut expr, &world), [root, upper[0], upper[1], lower[0], lower[1]]);
    expr.order_by::<Rank>(Rank::cmp);
    assert_eq!(these(&mut expr, &world), [root, upper[1], upper[0], lower[1], lower[0]]);
    parts_are_those_of_the_whole(&mut expr, &world, 0);
    assert!(expr.explain(&world).unwrap().ends_with("  sort by depth, ascending\n  sort\n"));
    assert_eq!(expr.group_by::<MountedOn>().err(), Some(ExprRunError::GroupsWithCascade));
    expr.clear_order();
    assert_eq!(these(&mut expr, &world), [root, upper[0], upper[1], lower[0], lower[1]]);
}

#[test]
fn a_run_that_takes_too_many_steps_ends_though_its_rows_are_sorted() {
    let (world, _, mut expr) = clubs(1, ", (MemberOf, $club)");
    expr.order_by_entity().set_step_limit(Some(3));
    assert_eq!(expr.for_each(&world, |_| {}), Err(ExprRunError::StepLimit { limit: 3 }));
    expr.set_step_limit(None);
    assert!(!these(&mut expr, &world).is_empty());
}

/// All rows at once, and as far as they are asked for: the first one, and pages from every offset.
fn parts_are_those_of_the_whole(expr: &mut CompiledExpr, world: &World, seed: u64) {
    let row = |row: Row<'_>| (row.this(), row.get::<Rank>(1).copied(), row.var("club"));
    let mut all = Vec::new();
    expr.for_each(world, |found| all.push(row(found))).unwrap();
    assert_eq!(expr.first(world).unwrap().map(row), all.first().copied(), "seed {seed}");
    for offset in [0, 1, all.len() / 2, all.len().saturating_sub(1), all.len(), all.len() + 3] {
        for limit in [0, 1, 2, all.len() / 2, usize::MAX] {
            let mut page = Vec::new();
            let next = expr.page(world, offset, limit, |found| page.push(row(found))).unwrap();
            let (start, end) = (offset.min(all.len()), offset.saturating_add(limit).min(all.len()));
            assert_eq!(page, all[start..end.max(start)], "{limit} from {offset}, seed {seed}");
            assert_eq!(next.is_some(), offset < all.len() && end < all.len(), "{limit} from {offset}");
            if let Some(next) = next {
                page.clear();
                expr.page(world, next, usize::MAX, |found| page.push(row(found))).unwrap();
                assert_eq!(page, all[end..], "after {limit} from {offset}, seed {seed}");
            }
        }
    }
}

#[test]
fn the_first_row_and_pages_are_the_same_as_those_of_all_rows_in_each_order() {
    for seed in 0..20 {
        let (world, _, mut expr) = clubs(seed, ", ?Rank, (MemberOf, $club)");
        parts_are_those_of_the_whole(&mut expr, &world, seed);
        // Many rows compare equal.
        expr.order_by::<Rank>(Rank::cmp);
        parts_are_those_of_the_whole(&mut expr, &world, seed);
        expr.order_by::<Rank>(|_, _| core::cmp::Ordering::Equal);
        parts_are_those_of_the_whole(&mut expr, &world, seed);
        expr.order_by_entity();
        parts_are_those_of_the_whole(&mut expr, &world, seed);
        expr.order_by_fn(|a, b| b.var("club").cmp(&a.var("club")));
        parts_are_those_of_the_whole(&mut expr, &world, seed);
        expr.group_by::<MemberOf>().unwrap();
        parts_are_those_of_the_whole(&mut expr, &world, seed);
        expr.clear_order();
        parts_are_those_of_the_whole(&mut expr, &world, seed);
    }
    let (world, _, mut expr) = clubs(20, ", Rank, !(MemberOf, *), (MemberOf, $club)");
    expr.order_by_entity();
    parts_are_those_of_the_whole(&mut expr, &world, 20);
}
