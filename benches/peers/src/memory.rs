//! Bytes per pair, counted by the allocator.

use crate::{
    bevy::{COMPONENTS, LikesInList, LikesInSet},
    counting::growth,
    ours::{self, DockedTo, Knows, Likes, OwnedBy},
    random::Random,
    side::Link,
};
use bevy_ecs::{bundle::Bundle, entity::Entity, relationship::Relationship, world::World};
use bevy_relations::prelude::*;

/// How many bytes something takes.
#[derive(Debug)]
pub struct Footprint {
    /// What was linked to what.
    pub subject: String,
    /// Who keeps the pairs.
    pub contestant: &'static str,
    /// Bytes per pair, or per entity for participants.
    pub bytes: f64,
    /// The limit, where there is one.
    pub at_most: Option<f64>,
}

/// Measures the pairs between `size` sources and a thousand targets, and between `size` sources with a target
/// each. Zero everywhere unless [`CountingAllocator`](crate::CountingAllocator) is the global allocator.
pub fn footprints(size: usize) -> Vec<Footprint> {
    [(1_000, "1,000 targets"), (size, "a target each")]
        .into_iter()
        .flat_map(|(targets, shape)| {
            let mut rows = Vec::new();
            rows.extend(of_relation::<DockedTo, OwnedBy>(size, targets, ("exclusive", 32.0), shape));
            rows.extend(of_relation::<Likes, Knows>(size, targets, ("many", 40.0), shape));
            rows.push(of_relationship::<LikesInList>(size, targets, "bevy", shape));
            rows.push(of_relationship::<LikesInSet>(size, targets, "bevy set", shape));
            rows
        })
        .collect()
}

/// The first relation makes participants of the entities; a second one with the same pairs shows what a pair
/// costs by itself. An entity that becomes a participant later leaves an empty place in its old archetype, so
/// those that are spawned with their pair are measured too.
fn of_relation<First, Second>(
    size: usize,
    targets: usize,
    (kind, at_most): (&str, f64),
    shape: &str,
) -> [Footprint; 3]
where
    First: Relation + Default,
    Second: Relation + Default,
{
    let mut world = world_with::<First, Second>();
    let links = links(&mut world, size, targets);
    let both = growth(|| insert::<First>(&mut world, &links));
    let pairs = growth(|| insert::<Second>(&mut world, &links));

    let plain = growth_of_spawning::<First, Second, _>(size, targets, |_| COMPONENTS);
    let (position, velocity) = COMPONENTS;
    let linked = growth_of_spawning::<First, Second, _>(size, targets, |target| {
        (position, velocity, pairs![(First::default(), target)])
    });

    let row = |what: &str, bytes: f64, at_most: f64| Footprint {
        subject: format!("{what}, {kind}, {shape}"),
        contestant: "ours",
        bytes,
        at_most: Some(at_most),
    };
    [
        row("pair", pairs / size as f64, at_most),
        row("participant, linked later", (both - pairs) / (size + targets) as f64, 48.0),
        row("participant, spawned with a pair", (linked - plain - pairs) / size as f64, 48.0),
    ]
}

/// A world that knows two relations: they register on their first use, which is not what is measured.
fn world_with<First: Relation + Default, Second: Relation + Default>() -> World {
    let mut world = ours::world();
    let link = [(world.spawn_empty().id(), world.spawn_empty().id())];
    insert::<First>(&mut world, &link);
    insert::<Second>(&mut world, &link);
    world
}

/// What `size` entities take, each spawned for one of the targets, which are participants already.
fn growth_of_spawning<First, Second, B: Bundle>(
    size: usize,
    targets: usize,
    bundle: impl Fn(Entity) -> B,
) -> f64
where
    First: Relation + Default,
    Second: Relation + Default,
{
    let mut world = world_with::<First, Second>();
    let hub = world.spawn_empty().id();
    let targets: Vec<_> = (0..targets).map(|_| world.spawn_empty().id()).collect();
    for &target in &targets {
        insert::<Second>(&mut world, &[(target, hub)]);
    }
    let choices = choices(size, targets.len());
    growth(|| {
        for &choice in &choices {
            world.spawn(bundle(targets[choice]));
        }
    })
}

/// Bevy keeps pairs in components: what the sources and targets grow by, per pair.
fn of_relationship<R: Relationship>(
    size: usize,
    targets: usize,
    contestant: &'static str,
    shape: &str,
) -> Footprint {
    let mut world = World::new();
    let links = links(&mut world, size, targets);
    let bytes = growth(|| {
        for &(source, target) in &links {
            world.entity_mut(source).insert(R::from(target));
        }
    });
    Footprint { subject: format!("pair, {shape}"), contestant, bytes: bytes / size as f64, at_most: None }
}

fn insert<R: Relation + Default>(world: &mut World, links: &[Link<Entity>]) {
    for &(source, target) in links {
        world.insert_pair(source, R::default(), target).expect("both entities are alive");
    }
}

/// Sources and random targets, or, if there are as many as sources, each its own.
fn links(world: &mut World, size: usize, targets: usize) -> Vec<Link<Entity>> {
    let sources: Vec<_> = (0..size).map(|_| world.spawn(COMPONENTS).id()).collect();
    let targets: Vec<_> = (0..targets).map(|_| world.spawn_empty().id()).collect();
    sources.into_iter().zip(choices(size, targets.len()).into_iter().map(|index| targets[index])).collect()
}

fn choices(size: usize, targets: usize) -> Vec<usize> {
    let mut random = Random::new(9);
    if targets == size { random.permutation(size) } else { random.choices(size, targets) }
}
