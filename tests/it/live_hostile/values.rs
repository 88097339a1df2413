//! Values of pairs, fields and keys, while relations come and go and all pairs are cleared.

use super::Ship;
use crate::{
    common::{Random, fewer, world_that_records_errors},
    live::{fresh_rows, kept_rows},
};
use bevy_ecs::{prelude::*, reflect::AppTypeRegistry};
use bevy_reflect::prelude::*;
use bevy_relations::{expr::PairExpr, live::*, prelude::*, system_param::PairsMut};

#[derive(Component, Reflect, Clone)]
#[reflect(Component)]
struct Health {
    hp: i32,
}

#[derive(Relation, Reflect, Clone, Default)]
struct Eats {
    grams: i32,
}

#[derive(Relation, Reflect, Clone, Default)]
#[relation(exclusive, traversable, storage = "Fragmenting")]
struct Weighs {
    grams: i32,
}

#[derive(Reflect, Clone, Copy, PartialEq, Eq, Debug)]
enum Slot {
    Head,
    Hand,
}

#[derive(Relation, Clone)]
#[relation(key = Slot)]
struct Equips {
    slot: Slot,
}

impl RollupValue for Weighs {
    type Value = i64;
    fn rollup_value(&self) -> i64 {
        self.grams.into()
    }
}

const TEXTS: &[&str] = &[
    "Ship, (Eats.grams, $x) > 4",
    "Ship, !(Eats.grams, $x) > 4",
    "Ship, ?(Eats.grams, $x) > 4, ?Ship($x)",
    "Ship, (Weighs.grams, $x) > 4",
    "Ship, (Weighs.grams, *) > 4 || Health.hp > 3",
    "Equips[Head]($x), Ship",
    "Ship, !Equips[Hand]($x)",
    "Ship, !{ (Eats, $x), Health.hp($x) < 3 }",
    "(Weighs, $x), Health.hp($x) < 3, ?(Eats.grams, $x) == 2",
];

fn world() -> World {
    let mut world = world_that_records_errors();
    let types = AppTypeRegistry::default();
    types.write().register::<Health>();
    types.write().register::<Eats>();
    types.write().register::<Weighs>();
    types.write().register::<Slot>();
    world.insert_resource(types);
    world.register_component_name::<Ship>("Ship");
    world.register_component_name::<Health>("Health");
    world.register_relation::<Eats>().unwrap();
    world.register_relation::<Weighs>().unwrap();
    world.register_relation::<Equips>().unwrap();
    world
}

fn set_grams(
    In((source, target, grams)): In<(Entity, Entity, i32)>,
    mut eats: PairsMut<Eats>,
    mut weighs: PairsMut<Weighs>,
) {
    if let Some(mut eats) = eats.get_mut(source, target) {
        eats.grams = grams;
    }
    if let Some(mut weighs) = weighs.get_mut(source, target) {
        weighs.grams = grams;
    }
}

fn despawn_relation<R: Relation>(world: &mut World) {
    let relation = world.entity_of::<R>();
    world.despawn(relation);
}

fn change(world: &mut World, entities: &mut Vec<Entity>, random: &mut Random) {
    let (a, b) = (random.pick(entities), random.pick(entities));
    let n = random.below(9) as i32;
    match random.below(22) {
        0 | 1 => _ = world.insert_pair(a, Eats { grams: n }, b),
        2 | 3 => _ = world.insert_pair(a, Weighs { grams: n }, b),
        4 => {
            let slot = if n > 4 { Slot::Head } else { Slot::Hand };
            let _ = world.insert_pair(a, Equips { slot }, b);
        }
        5 => _ = world.remove_pairs::<Eats>(a),
        6 => _ = world.remove_pairs::<Weighs>(a),
        7 => _ = world.remove_pairs::<Equips>(a),
        8..=10 => world.run_system_cached_with(set_grams, (a, b, n)).unwrap(),
        11 => _ = world.entity_mut(a).insert(Health { hp: n }),
        12 => world.get_mut::<Health>(a).into_iter().for_each(|mut health| health.hp = n),
        13 => _ = world.entity_mut(a).remove::<Health>(),
        14 => _ = world.despawn(a),
        15 if n == 0 => world.clear_pairs(),
        16 if n == 0 => despawn_relation::<Eats>(world),
        17 if n == 0 => despawn_relation::<Weighs>(world),
        18 => world.clear_trackers(),
        19 => world.maintain_pairs(),
        20 if n == 0 => despawn_relation::<Equips>(world),
        _ => entities.push(world.spawn(Ship).id()),
    }
    entities.retain(|&entity| world.entities().contains_spawned(entity));
    while entities.len() < 6 {
        entities.push(world.spawn((Ship, Health { hp: 2 })).id());
    }
}

/// The sum of the values of all pairs that lead to an entity, if there are any.
fn sum_of_weights(world: &World, entity: Entity) -> Option<i64> {
    let weighs = world.pairs::<Weighs>();
    let (mut below, mut sum) = (vec![entity], None);
    while let Some(at) = below.pop() {
        for source in weighs.sources(at) {
            sum = Some(sum.unwrap_or(0) + i64::from(weighs.get(source, at).unwrap().grams));
            below.push(source);
        }
    }
    sum
}

#[test]
fn rows_and_sums_are_those_of_now_while_values_change_and_relations_go() {
    for seed in 0..fewer(100) as u64 {
        let mut world = world();
        world.add_pair_rollup::<Weighs, Sum>().unwrap();
        let mut random = Random(seed * 37 + 3);
        let mut entities: Vec<_> = (0..8).map(|_| world.spawn(Ship).id()).collect();
        let mut all = Vec::new();
        for &text in TEXTS {
            let expr = PairExpr::parse(text).unwrap();
            let fresh = expr.compile(&mut world).unwrap();
            all.push((text, expr.live(&mut world).unwrap(), fresh));
        }
        for step in 0..50 {
            (0..random.below(5)).for_each(|_| change(&mut world, &mut entities, &mut random));
            world.check_pairs().unwrap();
            for (text, live, fresh) in &mut all {
                live.update(&mut world).unwrap();
                let (kept, expected) = (kept_rows(&world, live), fresh_rows(&world, fresh));
                assert_eq!(kept, expected, "seed {seed}, step {step}, {text}\n{}", live.explain());
            }
            world.update_rollups();
            for &entity in &entities {
                let expected = sum_of_weights(&world, entity);
                let found = world.get::<Rollup<Weighs, Weighs, Sum>>(entity).map(|rollup| *rollup.get());
                assert_eq!(found, expected, "seed {seed}, step {step}");
            }
        }
    }
}
