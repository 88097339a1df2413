//! A game with a relation of every kind, and what the tests ask of its worlds.

use bevy_ecs::{
    archetype::Archetype,
    entity::EntityHashMap,
    error::{BevyError, ErrorContext, FallbackErrorHandler},
    prelude::*,
    reflect::AppTypeRegistry,
};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use bevy_relations::{mirror::*, prelude::*};
use bevy_relations_worlds::read;
use bevy_world_serialization::DynamicWorld;
use core::{cell::RefCell, fmt::Debug};

#[derive(Relation, Reflect, Clone)]
#[type_path = "game"]
pub(crate) struct Likes;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[type_path = "game"]
pub(crate) struct Owes {
    pub(crate) much: u32,
    pub(crate) witnesses: Vec<Entity>,
}

#[derive(Relation, Reflect, Clone)]
#[relation(exclusive, traversable)]
#[type_path = "game"]
pub(crate) struct Mounted;

#[derive(Relation, Reflect, Clone)]
#[relation(traversable)]
#[type_path = "game"]
pub(crate) struct Below;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(symmetric)]
#[type_path = "game"]
pub(crate) struct Knows(pub(crate) u32);

#[derive(Relation, Reflect, Clone)]
#[relation(ordered)]
#[type_path = "game"]
pub(crate) struct Queues;

#[derive(Relation, Reflect, Clone, PartialEq, Eq, Debug)]
#[relation(key = Self)]
#[type_path = "game"]
pub(crate) enum Equips {
    Left,
    Right,
}

/// Its targets are types, and carry the values.
#[derive(Relation, Reflect, Clone)]
#[type_path = "game"]
pub(crate) struct Begins;

#[derive(Reflect, Clone, PartialEq, Debug)]
#[type_path = "game"]
pub(crate) struct Place {
    pub(crate) distance: u32,
    pub(crate) owner: Entity,
}

#[derive(Relation, Reflect, Clone)]
#[relation(target(Dock))]
#[type_path = "game"]
pub(crate) struct LandsOn;

/// It comes later in a file than what needs it, where its entity does.
#[derive(Component, Reflect, Clone, Default)]
#[reflect(Component, Default)]
#[type_path = "game"]
pub(crate) struct Dock;

/// Its targets are children of its own entity.
#[derive(Relation, Reflect, Clone)]
#[relation(one_of)]
#[type_path = "game"]
pub(crate) struct Ranks;

#[derive(Relation, Reflect, Clone)]
#[relation(transient)]
#[type_path = "game"]
pub(crate) struct Sees;

/// A relationship of Bevy's with a value.
#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[relationship(relationship_target = Crew)]
#[reflect(Component, FromWorld)]
#[type_path = "game"]
pub(crate) struct CrewOf {
    #[relationship]
    pub(crate) ship: Entity,
    pub(crate) wage: u32,
}

impl FromWorld for CrewOf {
    fn from_world(_: &mut World) -> Self {
        Self { ship: Entity::PLACEHOLDER, wage: 0 }
    }
}

#[derive(Component, Reflect, Default)]
#[relationship_target(relationship = CrewOf)]
#[reflect(Component, Default)]
#[type_path = "game"]
pub(crate) struct Crew(Vec<Entity>);

thread_local! {
    static ERRORS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// A handler of errors that keeps their texts.
pub(crate) fn record(error: BevyError, _: ErrorContext) {
    ERRORS.with_borrow_mut(|errors| errors.push(error.to_string()));
}

/// What was reported since the last call.
pub(crate) fn take_errors() -> Vec<String> {
    ERRORS.take()
}

pub(crate) fn types() -> AppTypeRegistry {
    let registry = AppTypeRegistry::default();
    let mut types = registry.write();
    types.register::<ChildOf>();
    types.register::<Children>();
    types.register::<Name>();
    types.register::<Dock>();
    types.register::<CrewOf>();
    types.register::<Crew>();
    types.register::<Place>();
    drop(types);
    registry
}

/// A world of the game.
pub(crate) fn world() -> World {
    take_errors();
    let mut world = World::new();
    world.insert_resource(FallbackErrorHandler(record));
    world.insert_resource(types());
    world.entity_of::<Place>();
    world.adopt_relationship::<ChildOf>().adopt_relationship::<CrewOf>();
    world.mirror_pairs::<Likes>().unwrap();
    world.mirror_pairs::<Owes>().unwrap();
    world.mirror_pairs::<Mounted>().unwrap();
    world.mirror_pairs::<Below>().unwrap();
    world.mirror_pairs::<Knows>().unwrap();
    world.mirror_pairs::<Queues>().unwrap();
    world.mirror_pairs::<Equips>().unwrap();
    world.mirror_pairs::<Begins>().unwrap();
    world.mirror_pairs::<LandsOn>().unwrap();
    world.mirror_pairs::<Ranks>().unwrap();
    world.mirror_pairs::<Sees>().unwrap();
    world
}

/// Some new entities.
pub(crate) fn spawn<const N: usize>(world: &mut World) -> [Entity; N] {
    [(); N].map(|()| world.spawn_empty().id())
}

/// Reads a file of this world.
pub(crate) fn scene(world: &World, text: &str) -> DynamicWorld {
    read(&world.resource::<AppTypeRegistry>().read(), text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Writes a scene to the world, and does what is due after that.
pub(crate) fn apply(world: &mut World, scene: &DynamicWorld, map: &mut EntityHashMap<Entity>) {
    scene.write_to_world(world, map).unwrap();
    world.maintain_pairs();
}

/// Every entity of the world.
pub(crate) fn count_entities(world: &World) -> u32 {
    world.archetypes().iter().map(Archetype::len).sum()
}

pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % limit
    }

    pub(crate) fn pick(&mut self, entities: &[Entity]) -> Entity {
        entities[self.below(entities.len())]
    }
}

/// A text with one or two bytes of it exchanged, removed or inserted, mostly by one of `bytes`.
pub(crate) fn with_changed_bytes(text: &str, bytes: &[u8], random: &mut Random) -> String {
    let mut text = text.as_bytes().to_vec();
    for _ in 0..=random.below(2) {
        let at = random.below(text.len());
        match random.below(4) {
            0 => text[at] = bytes[random.below(bytes.len())],
            1 => _ = text.remove(at),
            2 => text.insert(at, bytes[random.below(bytes.len())]),
            _ => text[at] ^= 1 << random.below(7),
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Changes pairs at random. What the rules refuse stays as it is.
pub(crate) fn change(world: &mut World, random: &mut Random, entities: &[Entity]) {
    let [a, b, c] = [(); 3].map(|()| random.pick(entities));
    let number = random.below(9) as u32;
    match random.below(18) {
        0 => _ = world.insert_pair(a, Likes, b),
        1 | 2 => _ = world.insert_pair(a, Owes { much: number, witnesses: vec![c, a] }, b),
        3 => _ = world.insert_pair(a, Mounted, b),
        4 => _ = world.insert_pair(a, Below, b),
        5 => _ = world.insert_pair(a, Knows(number), b),
        6 | 7 => _ = world.insert_pair(a, Queues, b),
        8 => _ = world.insert_pair(a, if number > 4 { Equips::Left } else { Equips::Right }, b),
        9 => _ = world.insert_pair_to::<Begins, Place>(a, Place { distance: number, owner: b }),
        10 => _ = world.insert_pair_to::<Owes, Place>(a, Owes { much: number, witnesses: vec![b] }),
        11 => {
            world.entity_mut(b).insert(Dock);
            world.insert_pair(a, LandsOn, b).unwrap();
        }
        12 => _ = world.insert_pair(a, Sees, b),
        13 if a != b => _ = world.insert_pair(a, ChildOf(b), b),
        14 if a != b => _ = world.insert_pair(a, CrewOf { ship: b, wage: number }, b),
        15 => _ = world.entity_mut(a).insert(Name::new(format!("the {number}th"))),
        16 => _ = world.remove_pair::<Owes>(a, b),
        _ => {
            let mut sources: Vec<Entity> = world.pairs::<Queues>().sources(b).collect();
            sources.reverse();
            world.order_sources::<Queues>(b, &sources).unwrap();
        }
    }
}

/// The pairs of some entities, their values and orders, with the entities named by their numbers.
pub(crate) fn described(world: &World, entities: &[Entity]) -> Vec<String> {
    let number = |entity: Entity| entities.iter().position(|&other| other == entity);
    entities
        .iter()
        .map(|&source| {
            let mut text = format!("{:?}", world.get::<Name>(source));
            describe::<Likes>(world, source, number, &mut text);
            describe::<Owes>(world, source, number, &mut text);
            for target in world.pairs::<Owes>().targets(source) {
                let owes = world.pair_value::<Owes>(source, target).unwrap();
                add(
                    &mut text,
                    (owes.much, owes.witnesses.iter().map(|&entity| number(entity)).collect::<Vec<_>>()),
                );
            }
            describe::<Mounted>(world, source, number, &mut text);
            describe::<Below>(world, source, number, &mut text);
            describe::<Knows>(world, source, number, &mut text);
            for target in world.pairs::<Knows>().targets(source) {
                add(&mut text, world.pair_value::<Knows>(source, target));
            }
            describe::<Queues>(world, source, number, &mut text);
            add(&mut text, world.pairs::<Queues>().sources(source).map(number).collect::<Vec<_>>());
            describe::<Equips>(world, source, number, &mut text);
            for target in world.pairs::<Equips>().targets(source) {
                add(&mut text, world.pair_value::<Equips>(source, target));
            }
            describe::<Begins>(world, source, number, &mut text);
            let begins = world.get_entity_of::<Begins>().zip(world.get_entity_of::<Place>());
            let place: Option<&Place> = begins.and_then(|pair| world.pair_value_by_id(source, pair));
            add(&mut text, place.map(|place| (place.distance, number(place.owner))));
            describe::<LandsOn>(world, source, number, &mut text);
            add(&mut text, world.pairs::<ChildOf>().targets(source).map(number).collect::<Vec<_>>());
            add(&mut text, world.pairs::<CrewOf>().targets(source).map(number).collect::<Vec<_>>());
            add(&mut text, world.get::<CrewOf>(source).map(|crew| (number(crew.ship), crew.wage)));
            text
        })
        .collect()
}

/// The children of some entities in order, named by their numbers.
pub(crate) fn children(world: &World, entities: &[Entity]) -> Vec<Vec<Option<usize>>> {
    let number = |entity: Entity| entities.iter().position(|&other| other == entity);
    entities.iter().map(|&parent| world.pairs::<ChildOf>().sources(parent).map(number).collect()).collect()
}

fn add(text: &mut String, what: impl Debug) {
    *text += &format!(" {what:?}");
}

fn describe<R: MirroredRelation>(
    world: &World,
    source: Entity,
    number: impl Fn(Entity) -> Option<usize>,
    text: &mut String,
) {
    let targets: Vec<Entity> = world.pairs::<R>().targets(source).collect();
    add(text, targets.iter().map(|&target| number(target)).collect::<Vec<_>>());
    // The component says the same.
    let mirrored = world.get::<MirroredPairs<R>>(source);
    let count = mirrored.map_or(0, |mirrored| mirrored.pairs.len());
    assert_eq!(count, targets.len(), "{source}");
    let mut mirrored = mirrored.into_iter().flat_map(|mirrored| &mirrored.pairs);
    assert!(targets.iter().all(|&target| {
        let mirrored = mirrored.next().unwrap().target.entity();
        mirrored.unwrap_or(target) == target
    }));
}
