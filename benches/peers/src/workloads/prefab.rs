//! Making instances of prefabs.

use crate::{
    flecs::{self, FlecsWorld, Id, Kind, pair},
    harness::{Contestant, Stopwatch, Workload},
    ours,
};
use bevy_ecs::{
    component::Component,
    entity::{Entity, EntityCloner},
    hierarchy::{ChildOf, Children},
    world::World,
};
use bevy_relations::{
    prefab::{Prefab, WorldPrefabExt},
    prelude::*,
    relation::OnInstantiate,
};

/// Copied.
#[derive(Component, Clone, Copy)]
#[repr(transparent)]
struct Health(u32);

/// Copied.
#[derive(Component, Clone, Copy)]
#[repr(transparent)]
struct Place([f32; 3]);

/// Shared where that is possible.
#[derive(Component, Clone, Copy)]
#[repr(transparent)]
struct Armor(u32);

const CHILDREN: u32 = 10;

pub(super) fn instantiate(size: usize) -> Workload {
    let contestants = vec![
        Contestant::new("flecs", move || flecs(size, false, single_in_flecs)),
        Contestant::new("flecs bulk", move || flecs(size, false, FlecsWorld::instantiate_bulk)),
        #[cfg(flecs_parent)]
        Contestant::new("flecs EcsParent", move || flecs(size, true, single_in_flecs)),
        Contestant::new("bevy", move || bevy(size)),
        Contestant::new("by hand", move || by_hand(size)),
        Contestant::new("ours", move || {
            let one = |world: &mut World, prefab| world.instantiate(prefab).expect("it is a prefab");
            ours(size, move |world, prefab, count| (0..count).map(|_| one(world, prefab)).collect())
        })
        .goal("flecs", 1.0),
        Contestant::new("ours batch", move || {
            ours(size, |world, prefab, count| world.instantiate_batch(prefab, count).expect("it is a prefab"))
        })
        .goal("flecs", 1.0),
    ];
    Workload { id: "instantiate", size, elements: size, contestants }
}

fn single_in_flecs(world: &mut FlecsWorld, prefab: Id, count: usize, made: &mut Vec<Id>) {
    made.extend((0..count).map(|_| world.instantiate(prefab)));
}

/// Gives a child its parent: where Flecs keeps that in a component, in there.
fn set_parent(world: &mut FlecsWorld, child: Id, parent: Id, in_component: bool) {
    #[cfg(flecs_parent)]
    if in_component {
        let component = world.parent();
        return world.set(child, component, &parent);
    }
    assert!(!in_component, "this core has no such component");
    let child_of = world.relation(Kind::ChildOf);
    world.add(child, pair(child_of, parent));
}

fn flecs(
    size: usize,
    in_component: bool,
    make: fn(&mut FlecsWorld, Id, usize, &mut Vec<Id>),
) -> impl FnMut(&mut Stopwatch) -> u64 {
    let mut world = FlecsWorld::new();
    let health: flecs::Component<Health> = world.component();
    let (place, armor) = (world.component(), world.component());
    world.inherit(armor);
    let prefab = world.entity();
    world.set_prefab(prefab);
    world.set(prefab, health, &Health(100));
    world.set(prefab, place, &Place([1.0; 3]));
    world.set(prefab, armor, &Armor(7));
    for number in 0..CHILDREN {
        let child = world.entity();
        world.set_prefab(child);
        set_parent(&mut world, child, prefab, in_component);
        world.set(child, health, &Health(number));
        world.set(child, place, &Place([2.0; 3]));
    }
    let child_of = world.relation(Kind::ChildOf);
    let mut made = Vec::new();
    move |watch| {
        watch.time(|| make(&mut world, prefab, size, &mut made));
        let mut sum = 0;
        for &instance in &made {
            sum += world.get(instance, health).map_or(0, |health| u64::from(health.0));
            if in_component {
                let children = world.children(instance).iter();
                sum += children.map(|&child| at_child(world.get(child, health))).sum::<u64>();
            } else {
                world.for_each_with(pair(child_of, instance), health, |children| {
                    sum += children.iter().map(|child| at_child(Some(child.get()))).sum::<u64>();
                });
            }
        }
        made.drain(..).for_each(|instance| world.delete(instance));
        sum
    }
}

/// What a child adds to the checksum.
fn at_child(health: Option<Health>) -> u64 {
    health.map_or(0, |health| 1 + 3 * u64::from(health.0))
}

/// The checksum; the instances are despawned.
fn judge(world: &mut World, made: Vec<Entity>) -> u64 {
    let mut sum = 0;
    for &instance in &made {
        sum += world.get::<Health>(instance).map_or(0, |health| u64::from(health.0));
        let children = world.get::<Children>(instance).into_iter().flatten();
        sum += children.map(|&child| at_child(world.get(child).copied())).sum::<u64>();
    }
    made.into_iter().for_each(|instance| assert!(world.despawn(instance), "it is alive"));
    world.clear_trackers();
    sum
}

fn spawn_tree(world: &mut World) -> Entity {
    let root = world.spawn((Health(100), Place([1.0; 3]), Armor(7))).id();
    for number in 0..CHILDREN {
        world.spawn((ChildOf(root), Health(number), Place([2.0; 3])));
    }
    root
}

/// Clones the tree with everything in it.
fn bevy(size: usize) -> impl FnMut(&mut Stopwatch) -> u64 {
    let mut world = World::new();
    let root = spawn_tree(&mut world);
    let mut builder = EntityCloner::build_opt_out(&mut world);
    builder.linked_cloning(true);
    let mut cloner = builder.finish();
    move |watch| {
        let made = watch.time(|| (0..size).map(|_| cloner.spawn_clone(&mut world, root)).collect());
        judge(&mut world, made)
    }
}

/// A function that spawns the tree.
fn by_hand(size: usize) -> impl FnMut(&mut Stopwatch) -> u64 {
    let mut world = World::new();
    move |watch| {
        let made = watch.time(|| (0..size).map(|_| spawn_tree(&mut world)).collect());
        judge(&mut world, made)
    }
}

fn ours(
    size: usize,
    make: impl Fn(&mut World, Entity, usize) -> Vec<Entity>,
) -> impl FnMut(&mut Stopwatch) -> u64 {
    let mut world = ours::world();
    let armor = world.entity_of::<Armor>();
    let traits = RelationTraits::new().on_instantiate(OnInstantiate::Inherit);
    world.set_traits(armor, traits).expect("nothing refers to it yet");
    let prefab = spawn_tree(&mut world);
    world.entity_mut(prefab).insert(Prefab);
    move |watch| {
        let made = watch.time(|| make(&mut world, prefab, size));
        let sum = judge(&mut world, made);
        world.maintain_pairs();
        sum
    }
}
