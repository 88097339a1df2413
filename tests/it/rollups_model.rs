//! Rollups compared with a fold from scratch, after random histories.
//!
//! Classes of cases: exclusive relations and those with several targets, pairs that move with all below them, `ChildOf`
//! written by Bevy; components that are inserted, replaced, written in place and removed, mutable and immutable ones,
//! in tables and sparse sets; values of pairs that are replaced and written in place; despawns, disabling, rollups
//! removed by hand, observers that change values when a rollup does; batches of 1 to 100 changes between two updates.

use crate::{
    common::{Random, all_entities},
    kept_components::{ActsLeft, KeptComponents, put_below, replace_dead},
};
use bevy_ecs::{entity_disabling::Disabled, prelude::*};
use bevy_relations::{live::*, prelude::*};
use std::collections::BTreeSet;

#[derive(Component, Clone, Copy, PartialEq, Debug)]
struct Weight(i32);

#[derive(Component, Clone, Copy, PartialEq, Debug)]
#[component(immutable, storage = "SparseSet")]
struct Strength(i32);

impl RollupValue for Weight {
    type Value = i64;

    fn rollup_value(&self) -> i64 {
        self.0.into()
    }
}

impl RollupValue for Strength {
    type Value = f32;

    fn rollup_value(&self) -> f32 {
        self.0 as f32
    }
}

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct MountedOn;

#[derive(Relation, Clone, PartialEq, Debug)]
#[relation(acyclic)]
struct Supplies(i32);

impl RollupValue for Supplies {
    type Value = i64;

    fn rollup_value(&self) -> i64 {
        self.0.into()
    }
}

/// What is below an entity: every path once.
fn below<R: Relation>(pairs: &Pairs<R>, entity: Entity, each: &mut dyn FnMut(Entity, Entity)) {
    for source in pairs.sources(entity) {
        each(source, entity);
        below(pairs, source, each);
    }
}

/// The results that there have to be, below and with the entity itself.
fn folded<R: Relation, V, F: RollupFold<V>>(
    world: &World,
    pairs: &Pairs<R>,
    entity: Entity,
    own: impl Fn(Entity) -> Option<F::Output>,
    edge: impl Fn(Entity, Entity) -> Option<F::Output>,
) -> Option<(F::Output, F::Output)> {
    let (mut total, mut parts) = (F::empty(), 0);
    let (mut entities, mut met) = (BTreeSet::new(), BTreeSet::new());
    below(pairs, entity, &mut |source, target| {
        let counts = [!F::DISTINCT || entities.insert(source), !F::DISTINCT || met.insert((source, target))];
        let found = [own(source).filter(|_| counts[0]), edge(source, target).filter(|_| counts[1])];
        for part in found.into_iter().flatten() {
            F::add(&mut total, &part);
            parts += 1;
        }
    });
    assert!(world.get_entity(entity).is_ok());
    let with_own = own(entity).into_iter().fold(total.clone(), |mut total, own| {
        F::add(&mut total, &own);
        total
    });
    (parts > 0).then_some((total, with_own))
}

fn check<R: Relation, V: Component, F: RollupFold<V, Output: core::fmt::Debug>>(world: &World) {
    let pairs = &world.pairs::<R>();
    for entity in all_entities(world) {
        let own = |entity| world.get::<V>(entity).map(F::of);
        let expected = folded::<R, V, F>(world, pairs, entity, own, |_, _| None);
        let found = world.get::<Rollup<R, V, F>>(entity);
        let found = found.map(|rollup| (rollup.get().clone(), rollup.with_own().clone()));
        let name = core::any::type_name::<Rollup<R, V, F>>();
        assert_eq!(found, expected, "{name} of {entity}");
    }
}

fn check_pairs<R: Relation, F: RollupFold<R, Output: core::fmt::Debug>>(world: &World) {
    let pairs = &world.pairs::<R>();
    for entity in all_entities(world) {
        let edge = |source, target| pairs.get(source, target).map(F::of);
        let expected = folded::<R, R, F>(world, pairs, entity, |_| None, edge);
        let found = world.get::<Rollup<R, R, F>>(entity).map(|rollup| rollup.get().clone());
        assert_eq!(found, expected.map(|(below, _)| below), "{}", core::any::type_name::<F>());
    }
}

/// Adds or checks every rollup.
macro_rules! every_rollup {
    ($($relation:ty: $value:ty => $($fold:ty),*;)*) => {
        fn add_all(world: &mut World) {
            $($(world.add_rollup::<$relation, $value, $fold>().unwrap();)*)*
            world.add_pair_rollup::<Supplies, Sum>().unwrap();
            world.add_pair_rollup::<Supplies, Min>().unwrap();
            world.add_pair_rollup::<Supplies, Distinct<Sum>>().unwrap();
        }

        fn check_all(world: &World) {
            $($(check::<$relation, $value, $fold>(world);)*)*
            check_pairs::<Supplies, Sum>(world);
            check_pairs::<Supplies, Min>(world);
            check_pairs::<Supplies, Distinct<Sum>>(world);
        }
    };
}

every_rollup! {
    ChildOf: Weight => Sum, Count, Max;
    ChildOf: Strength => Sum, Min;
    MountedOn: Weight => Sum, Min;
    MountedOn: Strength => Count;
    Supplies: Weight => Sum, Distinct<Sum>, Max;
    Supplies: Strength => Distinct<Count>, Distinct<Max>;
}

fn change(world: &mut World, entities: &mut Vec<Entity>, random: &mut Random) {
    let (a, b) = (random.pick(entities), random.pick(entities));
    let value = random.below(20) as i32 - 5;
    match random.below(20) {
        0 | 1 => _ = world.entity_mut(a).insert(Weight(value)),
        2 => _ = world.entity_mut(a).insert(Strength(value)),
        3 => {
            if let Some(mut weight) = world.get_mut::<Weight>(a) {
                weight.0 = value;
            }
        }
        4 => _ = world.entity_mut(a).remove::<Weight>(),
        5 => _ = world.entity_mut(a).remove::<Strength>(),
        6 | 7 => _ = world.insert_pair(a, MountedOn, b),
        8 => _ = world.remove_pairs::<MountedOn>(a),
        9 | 10 => _ = world.insert_pair(a, Supplies(value), b),
        11 => _ = world.remove_pair::<Supplies>(a, b),
        12 => {
            let mut values = bevy_ecs::system::SystemState::<PairsMut<Supplies>>::new(world);
            values.get_mut(world).unwrap().for_each_of(a, |_, mut supplies| supplies.0 = value);
        }
        13 | 14 => put_below(world, a, b),
        15 => _ = world.entity_mut(a).remove::<ChildOf>(),
        16 => _ = world.entity_mut(a).insert(Disabled),
        17 => {
            _ = world.entity_mut(a).remove::<(Rollup<ChildOf, Weight, Sum>, Rollup<Supplies, Weight, Max>)>();
        }
        18 => _ = world.entity_mut(a).despawn_children(),
        _ => _ = world.despawn(a),
    }
    replace_dead(world, entities, |world| world.spawn(Weight(1)).id());
}

const KEPT: KeptComponents =
    KeptComponents { start: add_all, change, update: |world| world.update_rollups(), check: check_all };

#[test]
fn rollups_equal_a_fold_from_scratch() {
    KEPT.check_histories();
}

#[test]
fn what_observers_change_while_rollups_are_written_counts_with_the_next_update() {
    let act =
        |on: On<Insert<Rollup<ChildOf, Weight, Sum>>>, mut commands: Commands, mut left: ResMut<ActsLeft>| {
            if !left.take_one() {
                return;
            }
            let entity = on.entity;
            commands.queue(move |world: &mut World| match entity.index_u32() % 4 {
                0 => _ = world.despawn(entity),
                1 => _ = world.entity_mut(entity).insert((Weight(3), Strength(4))),
                2 => world.update_rollups(),
                _ => _ = world.entity_mut(entity).remove::<ChildOf>(),
            });
        };
    KEPT.check_histories_with(|world| _ = world.add_observer(act));
}
