//! Components and entities of the library that the program removes, and types that get another entity after
//! theirs was despawned.

use super::{InParts, InTable, LeansOn, Likes, Ship, play_seeds};
use crate::{
    common::{Random, all_entities, world_that_records_errors},
    live::{describe, fresh_rows, kept_rows},
};
use bevy_ecs::{component::ComponentId, prelude::*};
use bevy_relations::{
    expr::{CompiledExpr, PairExpr},
    live::*,
    prelude::*,
};

#[derive(Component, Clone)]
struct Fuel(i32);

#[derive(Relation, Clone)]
#[relation(storage = "Fragmenting")]
struct Holds(#[expect(dead_code, reason = "values come and go unread")] u32);

impl RollupValue for Fuel {
    type Value = i64;
    fn rollup_value(&self) -> i64 {
        self.0.into()
    }
}

const TEXTS: &[&str] = &[
    "Ship",
    "Ship, ?Fuel, (Likes, $x)",
    "(InTable, $x), ?Fuel($x)",
    "(InParts, $x), !Fuel($x)",
    "(Holds, $x), (Holds, $y)",
    "Fuel(up InParts)",
    "Ship, !Fuel(up InTable)",
    "(LeansOn, $x)",
    "($r, $x), Ship",
    "(ChildOf, $x), ?Fuel(self|up ChildOf)",
    "Ship, ?Fuel(cascade InTable)",
    "*, Ship",
    "Ship, !(InParts, *), !(Holds, *)",
];

fn world() -> World {
    let mut world = world_that_records_errors();
    world.register_component_name::<Ship>("Ship");
    world.register_component_name::<Fuel>("Fuel");
    world.register_relation::<Likes>().unwrap();
    world.register_relation::<InTable>().unwrap();
    world.register_relation::<InParts>().unwrap();
    world.register_relation::<Holds>().unwrap();
    world.register_relation::<LeansOn>().unwrap();
    world
}

/// What the program removes that is not its own.
#[derive(Clone, Copy, PartialEq)]
enum Removes {
    /// Any component of its entities.
    Components,
    /// Also any entity, such as those of relations and observers.
    Entities,
}

fn change(world: &mut World, entities: &mut Vec<Entity>, random: &mut Random, removes: Removes) {
    let (a, b) = (random.pick(entities), random.pick(entities));
    match random.below(if removes == Removes::Entities { 22 } else { 20 }) {
        0 => _ = world.entity_mut(a).insert(Fuel(1)),
        1 => _ = world.entity_mut(a).remove::<Fuel>(),
        2 => _ = world.insert_pair(a, Likes, b),
        3 | 4 => _ = world.insert_pair(a, InTable, b),
        5 | 6 => _ = world.insert_pair(a, InParts, b),
        7 | 8 => _ = world.insert_pair(a, Holds(3), b),
        9 => _ = world.insert_pair(a, LeansOn, b),
        10 if a > b => _ = world.entity_mut(a).insert(ChildOf(b)),
        11 => _ = world.despawn(a),
        12 => _ = world.remove_pairs::<Holds>(a),
        13 => _ = world.remove_pairs::<InParts>(a),
        14 => _ = world.remove_pairs::<InTable>(a),
        15..=18 => remove_any_component(world, a, random),
        20 | 21 => {
            let any = random.pick(&all_entities(world));
            // Without its error handler, which is among the first, the world panics.
            if any.index_u32() < 2 {
                return;
            }
            let _ = world.try_despawn(any);
        }
        _ => entities.push(world.spawn((Ship, Fuel(2))).id()),
    }
    entities.retain(|&entity| world.entities().contains_spawned(entity));
    while entities.len() < 8 {
        entities.push(world.spawn(Ship).id());
    }
}

/// Removes a component, which may be one of the library.
fn remove_any_component(world: &mut World, entity: Entity, random: &mut Random) {
    let components: Vec<ComponentId> = world.entity(entity).archetype().components().to_vec();
    if !components.is_empty() {
        let at = random.below(components.len());
        world.entity_mut(entity).remove_by_id(components[at]);
    }
}

/// Updates an expression, which fails exactly if a run from scratch does, and compares its rows.
fn update_and_compare(world: &mut World, live: &mut LiveExpr, fresh: &mut CompiledExpr, at: &str) {
    let (mut expected, fields) = (Vec::new(), fresh.field_count());
    let ran = fresh.for_each(world, |row| expected.push(describe(row, fields)));
    let updated = live.update(world);
    assert_eq!(updated.is_ok(), ran.is_ok(), "{at}: {ran:?} {updated:?}");
    expected.sort_unstable();
    if ran.is_ok() {
        assert_eq!(kept_rows(world, live), expected, "{at}\n{}", live.explain());
    }
}

fn play(seed: u64, removes: Removes) {
    let mut world = world();
    world.add_rollup::<ChildOf, Fuel, Sum>().unwrap();
    world.add_rollup::<InParts, Fuel, Sum>().unwrap();
    let mut random = Random(seed * 1009 + 31);
    let mut entities: Vec<_> = (0..8).map(|_| world.spawn(Ship).id()).collect();
    let mut all = Vec::new();
    for &text in TEXTS {
        let expr = PairExpr::parse(text).unwrap();
        let live = expr.live(&mut world).unwrap();
        all.push((text, live, expr.compile(&mut world).unwrap()));
    }
    for step in 0..50 {
        (0..random.below(5)).for_each(|_| change(&mut world, &mut entities, &mut random, removes));
        // The store is not whole once its own entities are gone, but nothing panics.
        let checked = world.check_pairs();
        assert!(checked.is_ok() || removes == Removes::Entities, "step {step}: {checked:?}");
        for (text, live, fresh) in &mut all {
            update_and_compare(&mut world, live, fresh, &format!("step {step}, {text}"));
        }
        world.update_rollups();
        if step % 10 == 0 {
            world.maintain_pairs();
        }
    }
}

#[test]
fn rows_are_those_of_now_while_components_of_the_library_are_removed() {
    play_seeds(60, |seed| play(seed, Removes::Components));
}

#[test]
fn rows_are_those_of_now_while_any_entity_is_despawned() {
    play_seeds(60, |seed| play(seed, Removes::Entities));
}

/// Despawns the entity of a relation between two pairs, three times, and returns the first rows that differ
/// from those of a run from scratch. The type gets another entity at once if `again`, and with the next pair
/// if not.
fn wrong_after_despawn<R: Relation>(value: fn() -> R, text: &str, again: bool) -> Option<String> {
    let mut world = world();
    let [a, b] = [(); 2].map(|()| world.spawn(Ship).id());
    let expr = PairExpr::parse(text).unwrap();
    let (mut live, mut fresh) = (expr.live(&mut world).unwrap(), expr.compile(&mut world).unwrap());
    for number in 0..12 {
        match number % 4 {
            0 => _ = world.insert_pair(a, value(), b),
            1 => {
                let relation = world.entity_of::<R>();
                world.despawn(relation);
            }
            2 if again => _ = world.register_relation::<R>().unwrap(),
            2 => {}
            _ => _ = world.insert_pair(b, value(), a),
        }
        live.update(&mut world).unwrap();
        let (kept, expected) = (kept_rows(&world, &live), fresh_rows(&world, &mut fresh));
        if kept != expected {
            let plan = live.explain();
            return Some(format!("{text}, step {number}: kept {kept:?}, fresh {expected:?}\n{plan}"));
        }
    }
    None
}

#[test]
fn rows_follow_a_relation_that_gets_another_entity() {
    let all = [
        wrong_after_despawn(|| Likes, "(Likes, $x)", false),
        wrong_after_despawn(|| Likes, "(Likes, $x)", true),
        wrong_after_despawn(|| Likes, "(Likes, $x), ?Fuel($x)", false),
        wrong_after_despawn(|| Likes, "(Likes, $x), ?Fuel($x)", true),
        wrong_after_despawn(|| InTable, "(InTable, $x)", false),
        wrong_after_despawn(|| InTable, "(InTable, $x), ?Fuel($x)", false),
        wrong_after_despawn(|| InTable, "(InTable, $x), ?Fuel($x)", true),
        wrong_after_despawn(|| InParts, "(InParts, $x)", true),
        wrong_after_despawn(|| InParts, "Ship, ?Fuel(up InParts)", true),
        wrong_after_despawn(|| Holds(1), "(Holds, $x)", true),
        wrong_after_despawn(|| Likes, "Ship, !(Likes, *)", false),
        wrong_after_despawn(|| Likes, "Ship, !(Likes, *)", true),
        wrong_after_despawn(|| Likes, "Ship, ?(Likes, $x)", false),
        wrong_after_despawn(|| LeansOn, "(LeansOn, $x), !Fuel(up LeansOn)", false),
    ];
    let failed: Vec<_> = all.into_iter().flatten().collect();
    assert!(failed.is_empty(), "{}: {}", failed.len(), failed.join("\n---\n"));
}

/// The program clears all resources, and with them the store, and uses the relation again after that.
#[test]
fn rows_follow_a_relation_that_is_used_again_after_the_store_was_lost() {
    let texts = [
        "(InTable, $x)",
        "Ship, !(InTable, *)",
        "Ship, ?Fuel(up InTable)",
        "Ship, (Likes, $x), ?(InTable, $x)",
    ];
    for text in texts {
        let mut world = world();
        let [a, b] = [(); 2].map(|()| world.spawn((Ship, Fuel(1))).id());
        let before = world.entity_of::<InTable>();
        let expr = PairExpr::parse(text).unwrap();
        let (mut live, mut fresh) = (expr.live(&mut world).unwrap(), expr.compile(&mut world).unwrap());
        live.update(&mut world).unwrap();
        // The world goes on with a new store, in which `InTable` has not been used yet; its former entity
        // goes.
        world.clear_resources();
        world.insert_pair(a, Likes, b).unwrap();
        world.despawn(before);
        live.update(&mut world).unwrap();
        assert_eq!(kept_rows(&world, &live), fresh_rows(&world, &mut fresh), "{text}");
        world.insert_pair(a, InTable, b).unwrap();
        live.update(&mut world).unwrap();
        let expected = fresh_rows(&world, &mut fresh);
        assert_eq!(kept_rows(&world, &live), expected, "{text}\n{}", live.explain());
    }
}

/// Updates the rows of an expression about types as targets, whose entities are despawned and replaced. The
/// new entities are there for an update before they have pairs if `early`.
fn compare_types_as_targets(text: &str, early: bool) {
    let mut world = world();
    let [a, b] = [(); 2].map(|()| world.spawn(Ship).id());
    let likes = world.entity_of::<Likes>();
    let (ship, leans_on) = (world.entity_of::<Ship>(), world.entity_of::<LeansOn>());
    let expr = PairExpr::parse(text).unwrap();
    let (mut live, mut fresh) = (expr.live(&mut world).unwrap(), expr.compile(&mut world).unwrap());
    let mut check = |world: &mut World, step: &str| {
        live.update(world).unwrap();
        let expected = fresh_rows(world, &mut fresh);
        assert_eq!(kept_rows(world, &live), expected, "{text}, early {early}, {step}\n{}", live.explain());
    };
    check(&mut world, "first");
    world.insert_pair_by_id(a, (likes, ship)).unwrap();
    world.insert_pair_by_id(a, (likes, leans_on)).unwrap();
    check(&mut world, "with pairs");
    world.despawn(ship);
    world.despawn(leans_on);
    check(&mut world, "after the despawn");
    let (ship, leans_on) = (world.entity_of::<Ship>(), world.entity_of::<LeansOn>());
    if early {
        check(&mut world, "with other entities");
    }
    world.insert_pair_by_id(b, (likes, ship)).unwrap();
    world.insert_pair_by_id(b, (likes, leans_on)).unwrap();
    check(&mut world, "with pairs of the other entities");
    world.entity_mut(b).insert(Fuel(2));
    check(&mut world, "with fuel");
}

#[test]
fn rows_follow_a_type_as_a_target_that_gets_another_entity() {
    let texts = [
        "(Likes, Ship)",
        "Ship, !(Likes, Ship)",
        "Ship, ?(Likes, Ship), ?Fuel",
        "(Likes, LeansOn)",
        "Ship, !{ (Likes, LeansOn) }",
        "Likes($x, Ship), Ship($x)",
        "(Likes, $x), $x == Ship",
    ];
    for text in texts {
        for early in [false, true] {
            compare_types_as_targets(text, early);
        }
    }
}
