//! Observers that act at each moment of an instantiation.
//!
//! Each case is an event, an action, the number of the event at which it is taken, and a way to make an instance. Afterwards
//! the world is as it has to be: pairs, Bevy's components, what is derived from them, and further instances.

use crate::{
    acting::{Action, Plan, observers},
    common::{Random, all_entities, size, take_reported_errors, world_that_records_errors},
    prefabs::{children, set_rule},
};
use bevy_ecs::{entity::EntityCloner, entity_disabling::Disabled, prelude::*};
use bevy_relations::{
    live::*,
    prefab::{CommandsPrefabExt, Prefab, SlotOf, WorldPrefabExt},
    prelude::*,
    relation::{OnInstantiate, Wildcard},
};

#[derive(Component, Clone, Copy, PartialEq, Debug, Default)]
struct Number(u32);

#[derive(Component, Clone, Copy, Default)]
#[require(Cooled)]
struct Health(#[expect(dead_code, reason = "it makes a value")] u32);

#[derive(Component, Clone, Copy, Default)]
#[component(storage = "SparseSet")]
struct Cooled;

#[derive(Component, Clone, Copy)]
struct Armor;

#[derive(Component, Clone)]
struct Aims(#[entities] Entity);

#[derive(Relation)]
struct Likes;

#[derive(Relation, Clone)]
#[relation(exclusive, traversable, on_target_despawn = Despawn)]
struct Mounted(#[expect(dead_code, reason = "it makes a value")] u32);

#[derive(Relation)]
#[relation(symmetric, exclusive)]
struct Married;

#[derive(Relation)]
#[relation(on_last_source = Despawn)]
struct Uses;

/// The prefabs of a case.
#[derive(Resource, Clone, Copy)]
struct Known {
    prefab: Entity,
    parts: [Entity; 4],
    small: Entity,
    base: Entity,
}

fn root(world: &World, entity: Entity) -> Entity {
    world.pairs::<ChildOf>().root(entity)
}

/// Does something to an entity if it is alive.
fn edit(world: &mut World, entity: Entity, edit: impl FnOnce(EntityWorldMut<'_>)) {
    if let Ok(entity) = world.get_entity_mut(entity) {
        edit(entity);
    }
}

const ACTIONS: [Action<Known>; 26] = [
    |world, _, entity| _ = world.try_despawn(root(world, entity)),
    |world, _, entity| _ = world.try_despawn(entity),
    |world, known, _| _ = world.try_despawn(known.prefab),
    |world, known, _| _ = world.try_despawn(known.base),
    |world, known, _| _ = world.try_despawn(known.parts[0]),
    |world, known, _| _ = world.try_despawn(known.parts[1]),
    |world, known, _| _ = world.try_despawn(known.parts[3]),
    |world, known, _| _ = world.despawn_with_dependents(known.prefab),
    |world, _, entity| edit(world, entity, |mut entity| _ = entity.remove::<ChildOf>()),
    |world, known, entity| {
        let root = root(world, entity);
        if root != known.prefab && world.entities().contains_spawned(known.prefab) {
            edit(world, root, |mut root| _ = root.insert(ChildOf(known.prefab)));
        }
    },
    |world, known, entity| {
        let root = root(world, entity);
        if root != known.prefab && world.entities().contains_spawned(root) {
            edit(world, known.parts[1], |mut part| _ = part.insert(ChildOf(root)));
        }
    },
    |world, known, _| edit(world, known.prefab, |mut prefab| _ = prefab.remove::<Prefab>()),
    |world, _, entity| {
        let root = root(world, entity);
        edit(world, root, |mut root| _ = root.insert(Prefab));
    },
    |world, known, entity| {
        for part in known.parts {
            _ = world.insert_pair(entity, Likes, part);
            _ = world.insert_pair(part, Likes, entity);
            _ = world.insert_pair(entity, Mounted(4), part);
            _ = world.insert_pair(entity, Married, part);
        }
    },
    |world, _, entity| {
        world.remove_pairs::<IsA>(entity);
        world.remove_pairs::<IsA>(root(world, entity));
    },
    |world, known, _| {
        _ = world.instantiate(known.prefab);
        _ = world.instantiate_batch(known.small, 2);
    },
    |world, _, entity| edit(world, entity, |mut entity| _ = entity.clear()),
    |world, known, _| edit(world, known.prefab, |mut prefab| _ = prefab.clear()),
    |world, _, _| world.clear_pairs(),
    |world, known, entity| {
        _ = world.insert_pair(entity, IsA, known.small);
        _ = world.insert_pair(root(world, entity), IsA, known.small);
    },
    |world, known, _| {
        for part in known.parts {
            edit(world, part, |mut part| _ = part.insert((Disabled, Health(99))).remove::<Number>());
        }
    },
    |world, _, entity| {
        if world.entities().contains_spawned(entity) {
            let clone = world.spawn_empty().id();
            EntityCloner::build_opt_out(world).linked_cloning(true).clone_entity(entity, clone);
        }
    },
    |world, _, entity| {
        if world.entities().contains_spawned(entity) {
            let clone = world.spawn_empty().id();
            EntityCloner::build_opt_out(world).move_components(true).clone_entity(entity, clone);
        }
    },
    |world, _, _| {
        let is_a = world.entity_of::<IsA>();
        _ = world.try_despawn(is_a);
    },
    |world, known, _| edit(world, known.prefab, |mut prefab| _ = prefab.despawn_children()),
    |world, known, _| {
        edit(world, known.parts[3], |mut part| _ = part.with_child(Number(5)));
    },
];

/// Each spawns an observer.
const OBSERVERS: &[fn(&mut World)] = observers! {
    Known:
    Add<Number>, entity;
    Insert<Health>, entity;
    Insert<Name>, entity;
    Insert<ChildOf>, entity;
    Insert<Children>, entity;
    Discard<ChildOf>, entity;
    Remove<Number>, entity;
    Despawn<Number>, entity;
    PairInserted<Wildcard>, source;
    PairInserted<Wildcard>, target;
    PairRemoved<Wildcard>, source;
};

/// Ways to make instances.
const WAYS: [fn(&mut World, Known); 5] = [
    |world, known| _ = world.instantiate(known.prefab),
    |world, known| _ = world.instantiate_batch(known.prefab, 3),
    |world, known| {
        world.spawn((Number(77), Pair(IsA, known.prefab), Pair(Likes, known.parts[0])));
    },
    |world, known| {
        let mut commands = world.commands();
        commands.instantiate(known.prefab).insert(Name::new("ship"));
        commands.spawn(Pair(IsA, known.prefab));
        commands.entity(known.parts[0]).despawn();
        commands.instantiate(known.prefab);
        world.flush();
    },
    |world, known| {
        let instance = world.instantiate(known.prefab);
        world.despawn(known.prefab);
        _ = instance.map(|instance| world.try_despawn(instance));
    },
];

/// A variant with parts that refer to each other, of which one is an instance itself.
fn prepare() -> (World, Known) {
    let mut world = world_that_records_errors();
    set_rule::<Armor>(&mut world, OnInstantiate::Inherit);
    let small = world.spawn((Prefab, Health(7), children![Number(50)])).id();
    let named = children![(Number(40), Name::new("bow"))];
    let base = world.spawn((Prefab, Health(1), Armor, Number(9), named)).id();
    let prefab = world.spawn((Prefab, Health(1), Number(0), Pair(IsA, base))).id();
    let a = world.spawn((Number(1), ChildOf(prefab), Pair(SlotOf, prefab))).id();
    let b = world.spawn((Number(2), ChildOf(prefab), Pair(IsA, small), Aims(a))).id();
    let c = world.spawn((Number(3), ChildOf(b), Pair(SlotOf, b), Pair(Likes, a), Pair(Married, a))).id();
    let d = world.spawn((Number(4), ChildOf(prefab), Pair(Mounted(1), c), Pair(Uses, b))).id();
    world.insert_pair(a, Mounted(2), b).unwrap();
    world.insert_pair(prefab, Likes, d).unwrap();
    let known = Known { prefab, parts: [a, b, c, d], small, base };
    world.insert_resource(known);
    world.add_rollup::<ChildOf, Number, Count>().unwrap();
    world.propagate::<ChildOf, Health>().unwrap();
    take_reported_errors();
    (world, known)
}

fn check(world: &mut World, known: Known) {
    world.check_pairs().unwrap();
    world.maintain_pairs();
    world.check_pairs().unwrap();
    world.update_rollups();
    world.update_propagation();
    let pairs = world.pairs::<ChildOf>();
    for entity in all_entities(world) {
        let counted = world.get::<Rollup<ChildOf, Number, Count>>(entity).map_or(0, |count| *count.get());
        let below = pairs.descendants(entity).filter(|(below, _)| world.get::<Number>(*below).is_some());
        assert_eq!(below.count() as u64, counted, "the rollup of {entity}");
        let above = pairs.ancestors(entity).find(|&above| world.get::<Health>(above).is_some());
        let propagated = world.get::<Propagated<ChildOf, Health>>(entity).map(Propagated::holder);
        assert_eq!(above, propagated, "what is propagated to {entity}");
        if let Some(parent) = world.get::<ChildOf>(entity).map(ChildOf::parent) {
            assert!(children(world, parent).contains(&entity), "{entity} is not among the children");
        }
    }
    // Instances are made as ever.
    if world.get::<Prefab>(known.small).is_some() {
        let instance = world.instantiate(known.small).unwrap();
        assert_eq!(children(world, instance).len(), children(world, known.small).len());
    }
    let other = world.spawn((Prefab, Number(1), children![Number(2)])).id();
    let instance = world.instantiate(other).unwrap();
    assert!(children(world, instance).len() == 1 && world.has_pair::<IsA>(instance, other));
    world.check_pairs().unwrap();
}

#[test]
fn observers_that_act_at_any_moment_of_an_instantiation_leave_the_world_right() {
    const MOMENTS: usize = 8;
    let mut random = Random(29);
    let mut acted = 0;
    // All cases would take a minute.
    for _ in 0..size(1_500, 20) {
        let (event, action) = (random.below(OBSERVERS.len()), random.below(ACTIONS.len()));
        let (moment, way) = (random.below(MOMENTS), random.below(WAYS.len()));
        let (mut world, known) = prepare();
        OBSERVERS[event](&mut world);
        Plan::begin(&mut world, moment, ACTIONS[action]);
        println!("event {event}, action {action}, moment {moment}, way {way}");
        WAYS[way](&mut world, known);
        acted += usize::from(Plan::<Known>::end(&mut world));
        check(&mut world, known);
        take_reported_errors();
    }
    assert!(acted > size(300, 0), "{acted}");
}
