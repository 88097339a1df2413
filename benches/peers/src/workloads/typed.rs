//! What typed queries ask about other entities, and connected components.

use crate::{
    bevy::{LikesInList, Naming},
    harness::{Contestant, Stopwatch, Workload},
    ours::{self, DockedTo, Likes},
    random::Random,
};
use bevy_ecs::{
    change_detection::DetectChanges,
    component::Component,
    entity::Entity,
    hierarchy::{ChildOf, Children},
    query::{Changed, With, Without},
    system::{IntoSystem, Query},
    world::{Ref, World},
};
use bevy_relations::{
    id::PairId,
    islands::WorldIslandsExt,
    prelude::*,
    query::{AddedPair, ChangedBelow, Target},
};

#[derive(Component, Clone, Copy)]
#[repr(transparent)]
struct Fuel(u32);

#[derive(Component)]
struct Open;

/// How often work of this size is repeated per round.
fn repeats(size: usize) -> usize {
    (100_000 / size).max(1)
}

/// Sources whose target has a component: a tenth as many targets, half of which have it.
pub(super) fn inner_filter(size: usize) -> Workload {
    let contestants = vec![
        Contestant::new("bevy", move || {
            let world = ships(World::new(), size, |world, ship, depot| {
                world.entity_mut(ship).insert(LikesInList::new(depot));
            });
            sums(world, size, |ships: Query<(&Fuel, &LikesInList)>, open: Query<(), With<Open>>| {
                let docked = ships.iter().filter(|(_, depot)| open.contains(depot.target()));
                docked.map(|(fuel, _)| u64::from(fuel.0)).sum::<u64>()
            })
        }),
        Contestant::new("ours get each", move || {
            sums(
                docked(size),
                size,
                |ships: Query<(&Fuel, Target<DockedTo>)>, open: Query<(), With<Open>>| {
                    let docked = ships.iter().filter(|(_, depot)| open.contains(**depot));
                    docked.map(|(fuel, _)| u64::from(fuel.0)).sum::<u64>()
                },
            )
        }),
        Contestant::new("ours", move || {
            sums(docked(size), size, |ships: Query<&Fuel, Related<DockedTo, With<Open>>>| {
                ships.iter().map(|fuel| u64::from(fuel.0)).sum::<u64>()
            })
        })
        .goal("ours get each", 1.0),
    ];
    Workload { id: "related_with", size, elements: size * repeats(size), contestants }
}

fn docked(size: usize) -> World {
    ships(ours::world(), size, |world, ship, depot| {
        world.insert_pair(ship, DockedTo, depot).expect("both are alive");
    })
}

fn ships(mut world: World, size: usize, link: impl Fn(&mut World, Entity, Entity)) -> World {
    let count = (size / 10).max(2);
    let depots: Vec<Entity> = (0..count)
        .map(|number| if number % 2 == 0 { world.spawn(Open).id() } else { world.spawn_empty().id() })
        .collect();
    for (number, depot) in Random::new(95).choices(size, count).into_iter().enumerate() {
        let ship = world.spawn(Fuel(number as u32 % 97)).id();
        link(&mut world, ship, depots[depot]);
    }
    world
}

/// Runs a system over and over.
fn sums<M: 'static>(
    mut world: World,
    size: usize,
    system: impl IntoSystem<(), u64, M> + 'static,
) -> impl FnMut(&mut Stopwatch) -> u64 {
    let system = world.register_system(system);
    move |watch| {
        watch.time(|| {
            (0..repeats(size)).map(|_| world.run_system(system).expect("its parameters are there")).sum()
        })
    }
}

/// How many nodes a tree has, besides its root.
const BELOW: usize = 99;

/// Roots below which something was written since the last run: a hundredth of the nodes was.
pub(super) fn changed_below(size: usize) -> Workload {
    let contestants = vec![
        Contestant::new("bevy", move || {
            let walk = |roots: Query<Entity, (With<Children>, Without<ChildOf>)>,
                        children: Query<&Children>,
                        nodes: Query<Ref<Fuel>>| {
                let changed = |root: &Entity| {
                    let mut below = children.iter_descendants(*root);
                    below.any(|node| nodes.get(node).is_ok_and(|fuel| fuel.is_changed()))
                };
                roots.iter().filter(changed).count() as u64
            };
            changes(World::new(), size, walk)
        }),
        Contestant::new("ours", move || {
            let term = |roots: Query<Entity, (ChangedBelow<ChildOf, Fuel>, Without<ChildOf>)>| {
                roots.iter().count() as u64
            };
            changes(ours::world(), size, term)
        })
        .goal("bevy", 5.0),
    ];
    Workload { id: "changed_below", size, elements: size, contestants }
}

/// Writes to some nodes of trees that are three levels deep, and counts the roots that a system finds.
fn changes<M: 'static>(
    mut world: World,
    size: usize,
    system: impl IntoSystem<(), u64, M> + 'static,
) -> impl FnMut(&mut Stopwatch) -> u64 {
    let mut nodes = Vec::with_capacity(size);
    while nodes.len() < size {
        let tree: Vec<Entity> = (0..=BELOW).map(|_| world.spawn(Fuel(0)).id()).collect();
        for place in 1..=BELOW {
            world.entity_mut(tree[place]).insert(ChildOf(tree[(place - 1) / 5]));
        }
        nodes.extend(tree);
    }
    let system = world.register_system(system);
    world.run_system(system).expect("its parameters are there");
    move |watch| {
        let mut random = Random::new(96);
        for _ in 0..size / 100 {
            let node = nodes[random.below(nodes.len())];
            world.get_mut::<Fuel>(node).expect("it is alive").0 += 1;
        }
        let found = watch.time(|| world.run_system(system).expect("its parameters are there"));
        world.clear_trackers();
        found
    }
}

/// Sources that got another target since the last run: a hundredth of them did.
pub(super) fn added(size: usize) -> Workload {
    let contestants = vec![
        Contestant::new("bevy", move || {
            let link = |world: &mut World, ship: Entity, depot: Entity| {
                world.entity_mut(ship).insert(LikesInList::new(depot));
            };
            sent(World::new(), size, link, |ships: Query<&Fuel, Changed<LikesInList>>| {
                ships.iter().map(|fuel| u64::from(fuel.0)).sum::<u64>()
            })
        }),
        Contestant::new("ours", move || {
            let link = |world: &mut World, ship: Entity, depot: Entity| {
                world.insert_pair(ship, DockedTo, depot).expect("both are alive");
            };
            sent(ours::world(), size, link, |ships: Query<&Fuel, AddedPair<DockedTo>>| {
                ships.iter().map(|fuel| u64::from(fuel.0)).sum::<u64>()
            })
        })
        .goal("bevy", 1.0),
    ];
    Workload { id: "added_pair", size, elements: size, contestants }
}

/// Gives some sources another target, and runs a system.
fn sent<M: 'static>(
    world: World,
    size: usize,
    link: impl Fn(&mut World, Entity, Entity) + Copy + 'static,
    system: impl IntoSystem<(), u64, M> + 'static,
) -> impl FnMut(&mut Stopwatch) -> u64 {
    let mut world = ships(world, size, link);
    let depots = [world.spawn_empty().id(), world.spawn_empty().id()];
    let mut all = world.query_filtered::<Entity, With<Fuel>>();
    let mut all: Vec<Entity> = all.iter(&world).collect();
    all.sort_unstable();
    let chosen = Random::new(97).permutation(size);
    let chosen: Vec<Entity> = chosen.into_iter().take(size / 100).map(|place| all[place]).collect();
    let system = world.register_system(system);
    let mut round = 0;
    move |watch| {
        // The first run sees all as added.
        if round == 0 {
            world.run_system(system).expect("its parameters are there");
        }
        round += 1;
        chosen.iter().for_each(|&ship| link(&mut world, ship, depots[round % 2]));
        let found = watch.time(|| world.run_system(system).expect("its parameters are there"));
        world.clear_trackers();
        found
    }
}

/// How many entities an island has.
const ISLAND: usize = 10;

/// Inserting pairs that make islands of ten, while islands are tracked.
pub(super) fn islands(size: usize) -> Workload {
    let contestants = vec![
        Contestant::new("by hand", move || {
            move |watch: &mut Stopwatch| {
                let mut parents: Vec<usize> = (0..size).collect();
                watch.time(|| links(size).for_each(|(from, to)| unite(&mut parents, from, to)));
                (0..size).filter(|&number| root(&mut parents, number) == number).count() as u64
            }
        }),
        Contestant::new("ours", move || {
            let mut world = ours::world();
            world.track_islands::<Likes>().expect("its traits are right");
            move |watch: &mut Stopwatch| {
                let entities: Vec<Entity> = (0..size).map(|_| world.spawn_empty().id()).collect();
                watch.time(|| {
                    for (from, to) in links(size) {
                        world.insert_pair(entities[from], Likes, entities[to]).expect("both are alive");
                    }
                });
                let found = world.islands::<Likes>().expect("they are tracked").len() as u64;
                world.remove_pairs_everywhere(PairId::ALL);
                found
            }
        }),
    ];
    Workload { id: "islands", size, elements: size - size / ISLAND, contestants }
}

/// What is linked, as places among the entities.
fn links(size: usize) -> impl Iterator<Item = (usize, usize)> {
    (1..size).filter(|number| number % ISLAND != 0).map(|number| (number, number - 1))
}

fn root(parents: &mut [usize], mut number: usize) -> usize {
    while parents[number] != number {
        parents[number] = parents[parents[number]];
        number = parents[number];
    }
    number
}

fn unite(parents: &mut [usize], from: usize, to: usize) {
    let (from, to) = (root(parents, from), root(parents, to));
    parents[from] = to;
}
