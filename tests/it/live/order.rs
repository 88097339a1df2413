//! Rows that are kept in groups and in order.
//!
//! Classes of changes: sources that get another target, lose it, or get it through the death of the one before; sources, targets
//! and holders that die, are disabled, are cloned; components by which rows are sorted that are inserted, replaced, removed
//! and written in place; several targets of which the first goes; comparisons that panic; updates that run everything again.

use super::kept_rows;
use crate::common::{Random, fewer, panic_message};
use bevy_ecs::{entity::EntityHashSet, entity_disabling::Disabled, prelude::*};
use bevy_relations::{
    expr::{PairExpr, Row},
    live::LiveExpr,
    prelude::*,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

#[derive(Component, Clone)]
struct Ship;

#[derive(Component, Clone)]
struct Strength(u32);

#[derive(Component, Clone)]
#[component(immutable)]
struct Rank(u32);

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo;

#[derive(Relation)]
struct Likes;

fn world() -> World {
    let mut world = World::new();
    world.register_component_name::<Ship>("Ship");
    world.register_component_name::<Strength>("Strength");
    world.register_component_name::<Rank>("Rank");
    world.register_relation::<DockedTo>().unwrap();
    world.register_relation::<Likes>().unwrap();
    world
}

fn live(world: &mut World, text: &str) -> LiveExpr {
    PairExpr::parse(text).unwrap().live(world).unwrap()
}

/// The rows of all groups.
fn groups(world: &World, live: &LiveExpr) -> BTreeMap<u64, Vec<Entity>> {
    let rows = |group| live.group(world, group).unwrap().filter_map(|row| row.this()).collect();
    live.groups().map(|group| (group, rows(group))).collect()
}

#[test]
fn a_row_goes_to_the_group_of_its_new_target_and_groups_appear_and_become_empty() {
    let mut world = world();
    let mut ships = live(&mut world, "Ship");
    ships.group_by::<DockedTo>().unwrap();
    let [a, b] = [(); 2].map(|()| world.spawn(Ship).id());
    let [p, q] = [(); 2].map(|()| world.spawn_empty().id());
    let told = Arc::new(Mutex::new(Vec::new()));
    let [appeared, emptied] = [told.clone(), told.clone()];
    ships.observe_groups(
        move |_, group| appeared.lock().unwrap().push((true, group)),
        move |_, group| emptied.lock().unwrap().push((false, group)),
    );
    let next = |world: &mut World, ships: &mut LiveExpr| {
        ships.update(world).unwrap();
        std::mem::take(&mut *told.lock().unwrap())
    };
    assert_eq!(next(&mut world, &mut ships), [(true, 0)]);
    world.insert_pair(a, DockedTo, p).unwrap();
    assert_eq!(next(&mut world, &mut ships), [(true, p.to_bits())]);
    assert!(!ships.ran_whole());
    world.insert_pair(a, DockedTo, q).unwrap();
    world.insert_pair(b, DockedTo, q).unwrap();
    let moved = next(&mut world, &mut ships);
    assert_eq!(moved.last(), Some(&(true, q.to_bits())));
    assert_eq!(
        moved[..2].iter().collect::<BTreeSet<_>>(),
        BTreeSet::from([&(false, 0), &(false, p.to_bits())])
    );
    assert_eq!(ships.emptied_groups().len(), 2);
    assert_eq!(ships.group(&world, q.to_bits()).unwrap().len(), 2);
    assert_eq!(ships.group(&world, p.to_bits()).unwrap().len(), 0);
    // A group that was left and entered in one update has neither appeared nor become empty.
    world.insert_pair(a, DockedTo, p).unwrap();
    world.insert_pair(a, DockedTo, q).unwrap();
    assert_eq!(next(&mut world, &mut ships), []);
    world.despawn(q);
    assert_eq!(next(&mut world, &mut ships), [(false, q.to_bits()), (true, 0)]);
    ships.clear_order();
    world.insert_pair(a, DockedTo, p).unwrap();
    assert_eq!(next(&mut world, &mut ships), []);
    assert_eq!((ships.groups().len(), ships.len()), (0, 2));
}

#[test]
fn groups_follow_the_first_of_several_targets() {
    let mut world = world();
    let mut ships = live(&mut world, "Ship");
    ships.group_by::<Likes>().unwrap();
    let [ship, p, q] = [(); 3].map(|()| world.spawn_empty().id());
    world.entity_mut(ship).insert(Ship);
    world.insert_pair(ship, Likes, p).unwrap();
    world.insert_pair(ship, Likes, q).unwrap();
    ships.update(&mut world).unwrap();
    assert_eq!(groups(&world, &ships), BTreeMap::from([(p.to_bits(), vec![ship])]));
    world.remove_pair::<Likes>(ship, p);
    ships.update(&mut world).unwrap();
    assert_eq!(groups(&world, &ships), BTreeMap::from([(q.to_bits(), vec![ship])]));
    assert_eq!(ships.appeared_groups(), [q.to_bits()]);
}

#[test]
fn rows_that_are_sorted_stay_sorted_whatever_is_written() {
    let mut world = world();
    let mut ships = live(&mut world, "Ship");
    ships.order_by::<Strength>(|a, b| a.0.cmp(&b.0));
    let [a, b, c] = [5, 3, 4].map(|strength| world.spawn((Ship, Strength(strength))).id());
    let sorted = |world: &mut World, ships: &mut LiveExpr| -> Vec<Entity> {
        ships.update(world).unwrap();
        ships.group(world, 0).unwrap().filter_map(|row| row.this()).collect()
    };
    assert_eq!(sorted(&mut world, &mut ships), [b, c, a]);
    world.get_mut::<Strength>(a).unwrap().0 = 1;
    assert_eq!(sorted(&mut world, &mut ships), [a, b, c]);
    assert!(!ships.ran_whole());
    world.entity_mut(b).insert(Strength(9));
    world.entity_mut(c).remove::<Strength>();
    assert_eq!(sorted(&mut world, &mut ships), [c, a, b]);
    world.entity_mut(b).insert(Disabled);
    assert_eq!(sorted(&mut world, &mut ships), [c, a]);
}

#[test]
fn a_comparison_that_panics_leaves_rows_that_the_next_update_sorts() {
    let mut world = world();
    let mut ships = live(&mut world, "Ship");
    ships.order_by::<Rank>(|a, b| {
        assert!(a.0 < 100 && b.0 < 100, "too large");
        a.0.cmp(&b.0)
    });
    let [a, b] = [2, 1].map(|rank| world.spawn((Ship, Rank(rank))).id());
    ships.update(&mut world).unwrap();
    world.entity_mut(a).insert(Rank(100));
    assert!(
        panic_message(|| ships.update(&mut world).unwrap()).is_some_and(|text| text.contains("too large"))
    );
    world.entity_mut(a).insert(Rank(0));
    ships.update(&mut world).unwrap();
    assert_eq!(groups(&world, &ships), BTreeMap::from([(0, vec![a, b])]));
}

#[test]
fn rows_in_order_of_depth_cannot_be_grouped() {
    let mut world = world();
    let mut ships = live(&mut world, "Ship(cascade ChildOf)");
    assert!(ships.group_by::<DockedTo>().is_err());
}

/// After random changes, groups are what a run from scratch finds, sorted, and reported.
#[test]
fn groups_and_order_are_right_after_random_changes() {
    for case in 0..fewer(150) as u64 {
        let mut random = Random((case + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut world = world();
        let text = ["Ship", "Ship, (Likes, $x)", "Ship, !(Likes, *)", "Ship, ?Rank"][case as usize % 4];
        let mut kept = live(&mut world, text);
        kept.group_by::<DockedTo>().unwrap();
        let by_rank = case % 3 == 0;
        match case % 3 {
            0 => _ = kept.order_by::<Rank>(|a, b| a.0.cmp(&b.0)),
            1 => _ = kept.order_by::<Strength>(|a, b| a.0.cmp(&b.0)),
            _ => {}
        }
        let mut entities: Vec<Entity> = (0..12).map(|_| world.spawn_empty().id()).collect();
        let mut before = BTreeSet::new();
        for step in 0..12 {
            let changes = if step % 4 == 3 { 60 } else { 1 + random.below(4) };
            for _ in 0..changes {
                change(&mut world, &mut random, &mut entities);
            }
            kept.update(&mut world).unwrap();
            let mut expected: BTreeMap<u64, Vec<String>> = BTreeMap::new();
            for row in kept.rows(&world).unwrap() {
                let target = world.pairs::<DockedTo>().target(row.this().unwrap());
                expected.entry(target.map_or(0, Entity::to_bits)).or_default().push(format!("{row:?}"));
            }
            let now: BTreeSet<u64> = expected.keys().copied().collect();
            assert_eq!(kept.groups().collect::<BTreeSet<_>>(), now, "{text}, case {case}, step {step}");
            let told = |groups: &[u64]| groups.iter().copied().collect::<BTreeSet<_>>();
            assert_eq!(told(kept.appeared_groups()), &now - &before, "{text}, case {case}, step {step}");
            assert_eq!(told(kept.emptied_groups()), &before - &now, "{text}, case {case}, step {step}");
            before = now;
            for (group, mut rows) in expected {
                let found: Vec<_> = kept.group(&world, group).unwrap().collect();
                let value = |entity: Entity| match by_rank {
                    true => world.get::<Rank>(entity).map(|rank| rank.0),
                    false => world.get::<Strength>(entity).map(|strength| strength.0),
                };
                let values: Vec<_> = found.iter().map(|row| value(row.this().unwrap())).collect();
                assert!(case % 3 == 2 || values.is_sorted(), "{text}, case {case}, step {step}: {values:?}");
                let mut found: Vec<_> = found.iter().map(|row| format!("{row:?}")).collect();
                found.sort_unstable();
                rows.sort_unstable();
                assert_eq!(found, rows, "{text}, case {case}, step {step}");
            }
            assert_eq!(kept_rows(&world, &kept).len(), kept.len());
        }
    }
}

fn change(world: &mut World, random: &mut Random, entities: &mut Vec<Entity>) {
    let entity = entities[random.below(entities.len())];
    let other = entities[random.below(entities.len())];
    match random.below(14) {
        0..=2 => world.insert_pair(entity, DockedTo, other).unwrap(),
        3 => _ = world.remove_pair::<DockedTo>(entity, other),
        4 => world.insert_pair(entity, Likes, other).unwrap(),
        5 => _ = world.remove_pair::<Likes>(entity, other),
        6 | 7 => _ = world.entity_mut(entity).insert(Ship),
        8 => _ = world.entity_mut(entity).remove::<Ship>(),
        9 => {
            _ = world
                .entity_mut(entity)
                .insert((Rank(random.below(5) as u32), Strength(random.below(5) as u32)));
        }
        10 => {
            if let Some(mut strength) = world.get_mut::<Strength>(entity) {
                strength.0 = random.below(5) as u32;
            }
        }
        11 => _ = world.entity_mut(entity).remove::<(Rank, Strength)>(),
        12 => match world.get::<Disabled>(entity) {
            Some(_) => _ = world.entity_mut(entity).remove::<Disabled>(),
            None => _ = world.entity_mut(entity).insert(Disabled),
        },
        _ => {
            world.despawn(entity);
            entities.retain(|&known| known != entity);
            entities.push(world.spawn((Ship, Strength(2))).id());
        }
    }
}

#[test]
fn groups_are_reported_once_whatever_panics_meanwhile() {
    let mut world = world();
    let told = Arc::new(Mutex::new(Vec::new()));
    let panics = Arc::new(Mutex::new(false));
    let mut ships = live(&mut world, "Ship");
    let (compares, tells, noted) = (panics.clone(), panics.clone(), told.clone());
    ships.group_by::<DockedTo>().unwrap().order_by::<Strength>(move |a, b| {
        assert!(!*compares.lock().unwrap_or_else(PoisonError::into_inner), "on purpose");
        a.0.cmp(&b.0)
    });
    ships.observe_groups(
        move |_, group| {
            noted.lock().unwrap().push(group);
            assert!(!*tells.lock().unwrap_or_else(PoisonError::into_inner), "on purpose");
        },
        |_, _| {},
    );
    let set = |to| *panics.lock().unwrap_or_else(PoisonError::into_inner) = to;
    let [a, b, c] = [(); 3].map(|()| world.spawn_empty().id());
    let dock = |world: &mut World, port| world.spawn((Ship, Strength(1), Pair(DockedTo, port))).id();
    let docked = [dock(&mut world, a), dock(&mut world, b)];
    set(true);
    assert!(panic_message(|| _ = ships.update(&mut world)).is_some());
    set(false);
    ships.update(&mut world).unwrap();
    let ports = BTreeSet::from([a, b].map(Entity::to_bits));
    let all = core::mem::take(&mut *told.lock().unwrap());
    assert_eq!((all.len(), BTreeSet::from_iter(all)), (2, ports.clone()));

    for ship in docked {
        world.insert_pair(ship, DockedTo, c).unwrap();
    }
    set(true);
    assert!(panic_message(|| _ = ships.update(&mut world)).is_some());
    // Until the next update no row is in two places of a group, or in two of them.
    let in_groups: Vec<_> = [a, b, c]
        .into_iter()
        .flat_map(|port| ships.group(&world, port.to_bits()).unwrap())
        .map(|row| row.this())
        .collect();
    assert_eq!(in_groups.iter().collect::<BTreeSet<_>>().len(), in_groups.len());
    set(false);
    ships.update(&mut world).unwrap();
    assert_eq!(ships.appeared_groups(), [c.to_bits()]);
    assert_eq!(ships.emptied_groups().iter().copied().collect::<BTreeSet<_>>(), ports);
    assert_eq!(*told.lock().unwrap(), [c.to_bits()]);
}

#[test]
fn rows_are_in_order_whether_few_or_many_of_them_have_another_place() {
    let mut world = World::new();
    world.register_component_name::<Strength>("Strength");
    let mut random = Random(11);
    let mut ships: Vec<Entity> = (0..200).map(|at| world.spawn(Strength(at * 7 % 50)).id()).collect();
    let mut live = PairExpr::parse("Strength").unwrap().live(&mut world).unwrap();
    live.order_by::<Strength>(|a, b| a.0.cmp(&b.0));
    for written in [0, 1, 3, 20, 60, 200, 2, 150] {
        for _ in 0..written {
            let ship = ships[random.below(ships.len())];
            world.get_mut::<Strength>(ship).unwrap().0 = random.below(50) as u32;
        }
        world.despawn(ships.swap_remove(random.below(ships.len())));
        ships.push(world.spawn(Strength(random.below(50) as u32)).id());
        live.update(&mut world).unwrap();
        let rows = live.group(&world, 0).unwrap().map(|row| row.this().unwrap());
        let found: Vec<Entity> = rows.collect();
        let strength = |&ship: &Entity| world.get::<Strength>(ship).unwrap().0;
        assert!(found.is_sorted_by_key(strength), "{written} were written");
        let (found, all) = (EntityHashSet::from_iter(found), EntityHashSet::from_iter(ships.clone()));
        assert_eq!(found, all);
    }
}

#[test]
fn rows_are_in_order_after_a_comparison_that_panicked_while_most_had_another_place() {
    let mut world = World::new();
    world.register_component_name::<Strength>("Strength");
    let ships: Vec<Entity> = (0..60).map(|at| world.spawn(Strength(at)).id()).collect();
    let mut live = PairExpr::parse("Strength").unwrap().live(&mut world).unwrap();
    let left = Arc::new(Mutex::new(None));
    let calls = left.clone();
    live.order_by::<Strength>(move |a, b| {
        let is_last = calls.lock().unwrap().as_mut().is_some_and(|left: &mut u32| {
            *left -= 1;
            *left == 0
        });
        assert!(!is_last, "compared");
        a.0.cmp(&b.0)
    });
    live.update(&mut world).unwrap();
    for count in [1, 2, 5, 20, 60, 120, 200] {
        for (at, &ship) in (0..).zip(&ships) {
            world.get_mut::<Strength>(ship).unwrap().0 = (at * 13 + count) % 61;
        }
        *left.lock().unwrap() = Some(count);
        panic_message(|| live.update(&mut world).unwrap());
        *left.lock().unwrap() = None;
        live.update(&mut world).unwrap();
        let strength = |row: Row<'_>| world.get::<Strength>(row.this().unwrap()).unwrap().0;
        let found: Vec<u32> = live.group(&world, 0).unwrap().map(strength).collect();
        assert!(found.len() == ships.len() && found.is_sorted(), "{count}: {found:?}");
    }
}
