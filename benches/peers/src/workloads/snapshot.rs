//! Copies of all pairs, to come back to them.

use crate::{
    flecs::{FlecsWorld, Id, Kind, pair},
    harness::{Contestant, Stopwatch, Workload},
    ours::{self, Likes},
    random::Random,
    side::Link,
};
use bevy_ecs::{
    component::Component,
    entity::{Entity, EntityHashMap},
    query::QueryState,
    reflect::{AppTypeRegistry, ReflectComponent},
    world::World,
};
use bevy_reflect::Reflect;
use bevy_relations::{
    prelude::*,
    snapshot::{PairFilter, PairSnapshot},
};
use bevy_world_serialization::{DynamicWorld, DynamicWorldBuilder};

/// The targets of an entity, by hand.
#[derive(Component, Clone, Reflect)]
#[reflect(Component)]
struct Targets(#[entities] [Entity; PAIRS]);

/// Pairs per entity.
const PAIRS: usize = 2;
const TARGETS: usize = 1_000;

/// For the first time.
pub(super) fn take(size: usize) -> Workload {
    let contestants = vec![
        Contestant::new("flecs", move || {
            let flecs = Flecs::new(size);
            move |watch: &mut Stopwatch| watch.time(|| flecs.take()).len() as u64
        }),
        Contestant::new("by hand", move || {
            let (mut world, _, mut query) = by_hand(size);
            move |watch: &mut Stopwatch| {
                let taken = watch.time(|| copy(&mut world, &mut query));
                (PAIRS * taken.len()) as u64
            }
        }),
        Contestant::new("bevy", move || {
            let bevy = Bevy::new(size);
            move |watch: &mut Stopwatch| (PAIRS * watch.time(|| bevy.take()).entities.len()) as u64
        }),
        Contestant::new("ours", move || {
            let (mut world, ..) = ours(size);
            move |watch: &mut Stopwatch| watch.time(|| snapshot(&mut world)).len() as u64
        })
        .goal("bevy", 1.0 / 1.5),
    ];
    Workload { id: "snapshot_take", size, elements: PAIRS * size, contestants }
}

/// When nothing has changed.
pub(super) fn again(size: usize) -> Workload {
    let contestants = vec![
        Contestant::new("flecs", move || {
            let flecs = Flecs::new(size);
            let mut taken = flecs.take();
            move |watch: &mut Stopwatch| {
                watch.time(|| flecs.take_into(&mut taken));
                taken.len() as u64
            }
        }),
        Contestant::new("ours", move || {
            let (mut world, ..) = ours(size);
            let mut taken = snapshot(&mut world);
            move |watch: &mut Stopwatch| {
                watch.time(|| taken.update(&mut world)).expect("tags are always copied");
                taken.len() as u64
            }
        }),
    ];
    Workload { id: "snapshot_again", size, elements: PAIRS * size, contestants }
}

/// When a hundredth of the entities has other pairs: one more and one less.
pub(super) fn apply(size: usize) -> Workload {
    let contestants = vec![
        Contestant::new("flecs", move || {
            let mut flecs = Flecs::new(size);
            let taken = flecs.take();
            let relation = flecs.relation;
            move |watch: &mut Stopwatch| {
                for change in changes(size) {
                    let source = flecs.sources[change.source];
                    let of = |target: usize| pair(relation, flecs.targets[target]);
                    let (gone, new) = (of(change.gone), of(change.new));
                    flecs.world.remove(source, gone);
                    flecs.world.add(source, new);
                }
                watch.time(|| flecs.apply(&taken));
                flecs.sum()
            }
        }),
        Contestant::new("by hand", move || {
            let (mut world, [sources, targets], mut query) = by_hand(size);
            let taken = copy(&mut world, &mut query);
            move |watch: &mut Stopwatch| {
                for change in changes(size) {
                    let mut now = world.get_mut::<Targets>(sources[change.source]).expect("each has them");
                    now.0[0] = targets[change.new];
                }
                watch.time(|| {
                    for (source, before) in &taken {
                        let mut now = world.get_mut::<Targets>(*source).expect("each has them");
                        if now.0 != before.0 {
                            *now = before.clone();
                        }
                    }
                });
                sum_of_components(&world, &sources, &targets)
            }
        }),
        Contestant::new("ours", move || {
            let (mut world, [sources, targets]) = ours(size);
            let taken = snapshot(&mut world);
            move |watch: &mut Stopwatch| {
                for change in changes(size) {
                    let source = sources[change.source];
                    world.remove_pair::<Likes>(source, targets[change.gone]);
                    world.insert_pair(source, Likes, targets[change.new]).expect("both are alive");
                }
                watch.time(|| taken.apply(&mut world)).expect("all are alive");
                let sum = sum_of_pairs(&world, &sources, &targets);
                world.maintain_pairs();
                world.clear_trackers();
                sum
            }
        }),
    ];
    Workload { id: "snapshot_apply", size, elements: PAIRS * size, contestants }
}

/// When the entities have no pairs.
pub(super) fn load(size: usize) -> Workload {
    let contestants = vec![
        Contestant::new("flecs", move || {
            let mut flecs = Flecs::new(size);
            let taken = flecs.take();
            move |watch: &mut Stopwatch| {
                for &(source, pair) in &taken {
                    flecs.world.remove(source, pair);
                }
                watch.time(|| flecs.apply(&taken));
                flecs.sum()
            }
        }),
        Contestant::new("by hand", move || {
            let (mut world, [sources, targets], mut query) = by_hand(size);
            let taken = copy(&mut world, &mut query);
            move |watch: &mut Stopwatch| {
                for &source in &sources {
                    world.entity_mut(source).remove::<Targets>();
                }
                watch.time(|| {
                    for (source, before) in &taken {
                        world.entity_mut(*source).insert(before.clone());
                    }
                });
                sum_of_components(&world, &sources, &targets)
            }
        }),
        Contestant::new("bevy", move || {
            let mut bevy = Bevy::new(size);
            let taken = bevy.take();
            move |watch: &mut Stopwatch| {
                for &source in &bevy.sources {
                    bevy.world.entity_mut(source).remove::<Targets>();
                }
                let (world, map) = (&mut bevy.world, &mut bevy.map);
                watch.time(|| taken.write_to_world(world, map)).expect("the type is registered");
                sum_of_components(&bevy.world, &bevy.sources, &bevy.targets)
            }
        }),
        Contestant::new("ours", move || {
            let (mut world, [sources, targets]) = ours(size);
            let taken = snapshot(&mut world);
            move |watch: &mut Stopwatch| {
                for &source in &sources {
                    world.remove_pairs::<Likes>(source);
                }
                watch.time(|| taken.apply(&mut world)).expect("all are alive");
                let sum = sum_of_pairs(&world, &sources, &targets);
                world.maintain_pairs();
                world.clear_trackers();
                sum
            }
        })
        .goal("bevy", 1.0 / 1.5),
    ];
    Workload { id: "snapshot_load", size, elements: PAIRS * size, contestants }
}

/// The same, and each pair carries a value.
pub(super) fn load_values(size: usize) -> Workload {
    let contestants = vec![
        Contestant::new("flecs", move || {
            let mut world = FlecsWorld::new();
            let amounts = world.component::<Amount>();
            let targets: Vec<Id> = (0..TARGETS).map(|_| world.entity()).collect();
            let sources: Vec<Id> = (0..size).map(|_| world.entity()).collect();
            let plan = plan(size);
            let pairs =
                || sources.iter().zip(&plan).flat_map(|(&source, chosen)| chosen.map(|of| (source, of)));
            for (source, of) in pairs() {
                world.set(source, amounts.to(targets[of]), &Amount::of(of));
            }
            let value = |(source, of)| {
                let of = amounts.to(targets[of]);
                (source, of, world.get(source, of).expect("it was set"))
            };
            let taken: Vec<_> = pairs().map(value).collect();
            move |watch: &mut Stopwatch| {
                taken.iter().for_each(|&(source, of, _)| world.remove(source, of.id));
                watch.time(|| taken.iter().for_each(|(source, of, value)| world.set(*source, *of, value)));
                sum_of_amounts(taken.iter().filter_map(|&(source, of, _)| world.get(source, of)))
            }
        }),
        Contestant::new("by hand", move || {
            let (mut world, sources, mut query) = amounts_by_hand(size);
            let taken: Vec<(Entity, Amounts)> =
                query.iter(&world).map(|(entity, amounts)| (entity, amounts.clone())).collect();
            move |watch: &mut Stopwatch| {
                for &source in &sources {
                    world.entity_mut(source).remove::<Amounts>();
                }
                watch.time(|| {
                    for (source, before) in &taken {
                        world.entity_mut(*source).insert(before.clone());
                    }
                });
                sum_of_amounts(query.iter(&world).flat_map(|(_, amounts)| amounts.values))
            }
        }),
        Contestant::new("bevy", move || {
            let (mut world, sources, mut query) = amounts_by_hand(size);
            let types = world.get_resource_or_init::<AppTypeRegistry>().clone();
            types.write().register::<Amounts>();
            let everyone: Vec<Entity> = world.query::<Entity>().iter(&world).collect();
            let mut map = everyone.into_iter().map(|entity| (entity, entity)).collect();
            let taken = {
                let types = types.read();
                let builder = DynamicWorldBuilder::from_world(&world, &types);
                builder.extract_entities(sources.iter().copied()).build()
            };
            move |watch: &mut Stopwatch| {
                for &source in &sources {
                    world.entity_mut(source).remove::<Amounts>();
                }
                let written = watch.time(|| taken.write_to_world(&mut world, &mut map));
                written.expect("the type is registered");
                sum_of_amounts(query.iter(&world).flat_map(|(_, amounts)| amounts.values))
            }
        }),
        Contestant::new("ours", move || {
            let mut world = ours::world();
            let [sources, targets] = spawn(&mut world, size);
            for (&source, chosen) in sources.iter().zip(plan(size)) {
                for of in chosen {
                    world.insert_pair(source, Amount::of(of), targets[of]).expect("both are alive");
                }
            }
            let taken = snapshot(&mut world);
            move |watch: &mut Stopwatch| {
                for &source in &sources {
                    world.remove_pairs::<Amount>(source);
                }
                watch.time(|| taken.apply(&mut world)).expect("all are alive");
                let pairs = world.pairs::<Amount>();
                let targets = |&source: &Entity| pairs.targets(source).map(move |target| (source, target));
                let all = sources.iter().flat_map(targets);
                let sum = sum_of_amounts(
                    all.filter_map(|(source, target)| world.pair_value::<Amount>(source, target).copied()),
                );
                world.maintain_pairs();
                world.clear_trackers();
                sum
            }
        })
        .goal("bevy", 1.0 / 1.5),
    ];
    Workload { id: "snapshot_load_values", size, elements: PAIRS * size, contestants }
}

/// The value of a pair.
#[derive(Relation, Reflect, Clone, Copy)]
#[repr(transparent)]
struct Amount(f32);

impl Amount {
    fn of(target: usize) -> Self {
        Self(target as f32)
    }
}

/// Targets with their values, by hand.
#[derive(Component, Clone, Reflect)]
#[reflect(Component)]
struct Amounts {
    #[entities]
    targets: [Entity; PAIRS],
    values: [Amount; PAIRS],
}

fn amounts_by_hand(size: usize) -> (World, Vec<Entity>, QueryState<(Entity, &'static Amounts)>) {
    let mut world = World::new();
    let [sources, targets] = spawn(&mut world, size);
    for (&source, chosen) in sources.iter().zip(plan(size)) {
        let amounts = Amounts { targets: chosen.map(|of| targets[of]), values: chosen.map(Amount::of) };
        world.entity_mut(source).insert(amounts);
    }
    let query = world.query();
    (world, sources, query)
}

fn sum_of_amounts(amounts: impl Iterator<Item = Amount>) -> u64 {
    amounts.map(|amount| amount.0 as u64).sum()
}

fn sum_of_components(world: &World, sources: &[Entity], targets: &[Entity]) -> u64 {
    let now = |&source: &Entity| world.get::<Targets>(source).map_or([].as_slice(), |now| &now.0);
    sum(sources.iter().map(|source| now(source).iter().map(|target| number(targets, *target))))
}

fn sum_of_pairs(world: &World, sources: &[Entity], targets: &[Entity]) -> u64 {
    let pairs = world.pairs::<Likes>();
    sum(sources.iter().map(|&source| pairs.targets(source).map(|target| number(targets, target))))
}

/// An entity gets another target in place of its first.
struct Change {
    source: usize,
    gone: usize,
    new: usize,
}

/// The targets of the entities, as numbers. In Flecs, each combination of targets is a table: there are as many as targets.
fn plan(size: usize) -> Vec<[usize; PAIRS]> {
    let mut random = Random::new(81);
    random.choices(size, TARGETS).into_iter().map(|first| [first, (first + 7) % TARGETS]).collect()
}

fn changes(size: usize) -> Vec<Change> {
    let plan = plan(size);
    let mut random = Random::new(82);
    let mut sources = random.permutation(size);
    sources.truncate(size / 100);
    let change = |source: usize| {
        let [gone, kept] = plan[source];
        let new = (0..TARGETS).find(|target| ![gone, kept].contains(target)).unwrap_or_default();
        Change { source, gone, new }
    };
    sources.into_iter().map(change).collect()
}

/// A checksum of the targets of each entity, whatever their order.
fn sum(targets: impl Iterator<Item = impl Iterator<Item = usize>>) -> u64 {
    let each = targets.enumerate().map(|(source, targets)| targets.sum::<usize>() * (source + 1));
    each.sum::<usize>() as u64
}

/// Targets are spawned one after the other.
fn number(targets: &[Entity], target: Entity) -> usize {
    targets.partition_point(|other| other.index_u32() < target.index_u32())
}

fn spawn(world: &mut World, size: usize) -> [Vec<Entity>; 2] {
    let mut targets: Vec<Entity> = (0..TARGETS).map(|_| world.spawn_empty().id()).collect();
    targets.sort_unstable_by_key(|target| target.index_u32());
    let sources = (0..size).map(|_| world.spawn_empty().id()).collect();
    [sources, targets]
}

fn ours(size: usize) -> (World, [Vec<Entity>; 2]) {
    let mut world = ours::world();
    let [sources, targets] = spawn(&mut world, size);
    for (&source, chosen) in sources.iter().zip(plan(size)) {
        for target in chosen {
            world.insert_pair(source, Likes, targets[target]).expect("both are alive");
        }
    }
    (world, [sources, targets])
}

fn snapshot(world: &mut World) -> PairSnapshot {
    PairSnapshot::take(world, PairFilter::all()).expect("tags are always copied")
}

type All = QueryState<(Entity, &'static Targets)>;

fn by_hand(size: usize) -> (World, [Vec<Entity>; 2], All) {
    let mut world = World::new();
    let [sources, targets] = spawn(&mut world, size);
    for (&source, chosen) in sources.iter().zip(plan(size)) {
        world.entity_mut(source).insert(Targets(chosen.map(|target| targets[target])));
    }
    let query = world.query();
    (world, [sources, targets], query)
}

fn copy(world: &mut World, query: &mut All) -> Vec<(Entity, Targets)> {
    query.iter(world).map(|(entity, targets)| (entity, targets.clone())).collect()
}

/// Bevy's own copies, of one component for each entity.
struct Bevy {
    world: World,
    types: AppTypeRegistry,
    sources: Vec<Entity>,
    targets: Vec<Entity>,
    /// Every entity is to be itself again.
    map: EntityHashMap<Entity>,
}

impl Bevy {
    fn new(size: usize) -> Self {
        let (mut world, [sources, targets], _) = by_hand(size);
        let types = world.get_resource_or_init::<AppTypeRegistry>().clone();
        types.write().register::<Targets>();
        let map = sources.iter().chain(&targets).map(|&entity| (entity, entity)).collect();
        Self { world, types, sources, targets, map }
    }

    fn take(&self) -> DynamicWorld {
        let types = self.types.read();
        let builder = DynamicWorldBuilder::from_world(&self.world, &types);
        builder.extract_entities(self.sources.iter().copied()).build()
    }
}

/// Flecs has no snapshots of pairs: what an application would write.
struct Flecs {
    world: FlecsWorld,
    relation: Id,
    sources: Vec<Id>,
    targets: Vec<Id>,
}

impl Flecs {
    fn new(size: usize) -> Self {
        let mut world = FlecsWorld::new();
        let relation = world.relation(Kind::Fragmenting);
        let targets: Vec<Id> = (0..TARGETS).map(|_| world.entity()).collect();
        let sources: Vec<Id> = (0..size).map(|_| world.entity()).collect();
        for (&source, chosen) in sources.iter().zip(plan(size)) {
            chosen.iter().for_each(|&target| world.add(source, pair(relation, targets[target])));
        }
        Self { world, relation, sources, targets }
    }

    fn take(&self) -> Vec<Link<Id>> {
        let mut taken = Vec::new();
        self.take_into(&mut taken);
        taken
    }

    fn take_into(&self, taken: &mut Vec<Link<Id>>) {
        taken.clear();
        for &source in &self.sources {
            taken.extend(self.world.pairs(source, self.relation).iter().map(|&pair| (source, pair)));
        }
    }

    /// Entities whose pairs are those that were taken are left alone.
    fn apply(&mut self, taken: &[Link<Id>]) {
        for kept in taken.chunk_by(|a, b| a.0 == b.0) {
            let source = kept[0].0;
            let now = self.world.pairs(source, self.relation);
            if !now.iter().eq(kept.iter().map(|(_, pair)| pair)) {
                let now = now.to_vec();
                let is_kept = |pair: &Id| kept.iter().any(|(_, kept)| kept == pair);
                for &gone in now.iter().filter(|pair| !is_kept(pair)) {
                    self.world.remove(source, gone);
                }
                for &(_, lost) in kept.iter().filter(|(_, pair)| !now.contains(pair)) {
                    self.world.add(source, lost);
                }
            }
        }
    }

    fn sum(&self) -> u64 {
        let first = self.targets[0].0 as u32;
        let number = |pair: &Id| (pair.0 as u32 - first) as usize;
        sum(self.sources.iter().map(|&source| self.world.pairs(source, self.relation).iter().map(number)))
    }
}
