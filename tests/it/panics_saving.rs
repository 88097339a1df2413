//! Users' code that panics while pairs are saved, loaded, mirrored and brought back: writing and reading of values, their copies,
//! comparisons of values and of keys, drops. Afterwards every invariant holds, a refused operation has changed nothing, and the same
//! operation succeeds.

use crate::common::{
    dump, panic_message, record_errors_of, spawn, take_reported_errors, world_that_records_errors,
};
use bevy_ecs::{
    entity::{EntityCloner, EntityHashMap, EntityMapper},
    prelude::*,
    reflect::{AppTypeRegistry, ReflectMapEntities},
};
use bevy_reflect::{Reflect, ReflectDeserialize, ReflectSerialize, std_traits::ReflectDefault};
use bevy_relations::{mirror::*, prelude::*, snapshot::*};
use core::cell::Cell;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeSeed};

thread_local! {
    static ARMED: Cell<Option<(Place, u32)>> = const { Cell::new(None) };
    static ALIVE: Cell<isize> = const { Cell::new(0) };
}

/// Where users' code runs.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Place {
    Serialize,
    Deserialize,
    Default,
    Clone,
    Eq,
    Key,
    MapEntities,
    Drop,
}

const PLACES: [Place; 8] = [
    Place::Serialize,
    Place::Deserialize,
    Place::Default,
    Place::Clone,
    Place::Eq,
    Place::Key,
    Place::MapEntities,
    Place::Drop,
];

fn call(place: Place) {
    match ARMED.get() {
        Some((armed, 0)) if armed == place && !std::thread::panicking() => {
            ARMED.set(None);
            panic!("meant");
        }
        Some((armed, left)) if armed == place && left > 0 => ARMED.set(Some((armed, left - 1))),
        _ => {}
    }
}

/// Runs users' code whatever is done with it.
#[derive(Reflect, Debug)]
#[reflect(Clone, PartialEq, Default, Serialize, Deserialize)]
struct Fragile(u32);

impl Fragile {
    fn new(number: u32) -> Self {
        ALIVE.set(ALIVE.get() + 1);
        Self(number)
    }
}

impl Default for Fragile {
    fn default() -> Self {
        call(Place::Default);
        Self::new(0)
    }
}

impl Clone for Fragile {
    fn clone(&self) -> Self {
        call(Place::Clone);
        Self::new(self.0)
    }
}

impl PartialEq for Fragile {
    fn eq(&self, other: &Self) -> bool {
        call(Place::Eq);
        self.0 == other.0
    }
}

impl Drop for Fragile {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
        call(Place::Drop);
    }
}

impl Serialize for Fragile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        call(Place::Serialize);
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Fragile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        call(Place::Deserialize);
        let read = Self::new(u32::deserialize(deserializer)?);
        // Something may be wrong with what is there already.
        call(Place::Deserialize);
        Ok(read)
    }
}

#[derive(Reflect, Debug)]
#[reflect(Clone, PartialEq, Default)]
struct Slot(u8);

impl Default for Slot {
    fn default() -> Self {
        call(Place::Default);
        Self(0)
    }
}

impl Clone for Slot {
    fn clone(&self) -> Self {
        call(Place::Clone);
        Self(self.0)
    }
}

impl PartialEq for Slot {
    fn eq(&self, other: &Self) -> bool {
        call(Place::Key);
        self.0 == other.0
    }
}

impl Eq for Slot {}

#[derive(Relation, Reflect, Clone, PartialEq, Debug, Default)]
#[reflect(Clone, PartialEq, Default)]
struct Weighs(Fragile);

#[derive(Relation, Reflect, Clone, PartialEq, Debug, Default)]
#[relation(key = Slot)]
#[reflect(Clone, PartialEq, Default)]
struct Fits(Slot, Fragile);

#[derive(Relation, Reflect, Clone, PartialEq, Debug, Default)]
#[relation(symmetric)]
#[reflect(Clone, PartialEq, Default, MapEntities)]
struct Shares(Fragile, Option<Entity>);

impl bevy_ecs::entity::MapEntities for Shares {
    fn map_entities<M: EntityMapper>(&mut self, mapper: &mut M) {
        call(Place::MapEntities);
        if let Some(entity) = &mut self.1 {
            *entity = mapper.get_mapped(*entity);
        }
        call(Place::MapEntities);
    }
}

fn new_world() -> World {
    let mut world = world_that_records_errors();
    world.init_resource::<AppTypeRegistry>();
    {
        let mut types = world.resource::<AppTypeRegistry>().write();
        types.register::<Weighs>();
        types.register::<Fits>();
        types.register::<Shares>();
        types.register::<Fragile>();
        types.register::<Slot>();
        types.register::<Option<Entity>>();
    }
    world.register_relation::<Weighs>().unwrap();
    world.register_relation::<Fits>().unwrap();
    world.register_relation::<Shares>().unwrap();
    world
}

fn fill(world: &mut World) -> [Entity; 4] {
    let entities: [Entity; 4] = spawn(world);
    let [a, b, c, d] = entities;
    for (number, entity) in entities.into_iter().enumerate() {
        world.entity_mut(entity).insert(SaveId(number as u64));
    }
    world.insert_pair(a, Weighs(Fragile::new(1)), b).unwrap();
    world.insert_pair(a, Weighs(Fragile::new(2)), c).unwrap();
    world.insert_pair(a, Fits(Slot(1), Fragile::new(3)), b).unwrap();
    world.insert_pair(a, Fits(Slot(2), Fragile::new(4)), c).unwrap();
    world.insert_pair(b, Fits(Slot(1), Fragile::new(5)), c).unwrap();
    world.insert_pair(a, Shares(Fragile::new(6), Some(d)), b).unwrap();
    world.insert_pair(c, Shares(Fragile::new(7), None), a).unwrap();
    entities
}

/// Something else than [`fill`] makes.
fn change(world: &mut World, [a, b, c, d]: [Entity; 4]) {
    world.remove_pair::<Weighs>(a, b);
    world.insert_pair(a, Weighs(Fragile::new(12)), c).unwrap();
    world.insert_pair(d, Weighs(Fragile::new(13)), c).unwrap();
    world.insert_pair(a, Fits(Slot(1), Fragile::new(14)), d).unwrap();
    world.insert_pair(b, Fits(Slot(3), Fragile::new(15)), c).unwrap();
    world.insert_pair(a, Shares(Fragile::new(16), None), b).unwrap();
}

/// The pairs with their values.
fn state(world: &World) -> Vec<String> {
    let mut state = dump(world);
    let shown = |s: Entity, t: Entity, value: &dyn core::fmt::Debug| format!("{s} {t} {value:?}");
    state.extend(world.pairs::<Weighs>().values().map(|(s, t, value)| shown(s, t, value)));
    state.extend(world.pairs::<Fits>().values().map(|(s, t, value)| shown(s, t, value)));
    state.extend(world.pairs::<Shares>().values().map(|(s, t, value)| shown(s, t, value)));
    state.sort();
    state
}

/// What is at hand for a verb.
struct Scene {
    world: World,
    entities: [Entity; 4],
    /// Of the world as it was filled.
    snapshot: PairSnapshot,
    text: String,
    others: [Entity; 2],
}

impl Scene {
    fn new(is_mirrored: bool) -> Self {
        let mut world = new_world();
        if is_mirrored {
            world.mirror_pairs::<Weighs>().unwrap();
            world.mirror_pairs::<Fits>().unwrap();
            world.mirror_pairs::<Shares>().unwrap();
        }
        let entities = fill(&mut world);
        let others = spawn(&mut world);
        let snapshot = PairSnapshot::take(&mut world, PairFilter::all()).unwrap();
        let text = write(&world, &snapshot);
        change(&mut world, entities);
        world.maintain_pairs();
        Self { world, entities, snapshot, text, others }
    }
}

fn write(world: &World, snapshot: &PairSnapshot) -> String {
    let saved = snapshot.to_saved(world).unwrap();
    let types = world.resource::<AppTypeRegistry>().read();
    ron::to_string(&SavedPairsSerializer::new(&saved, &types)).unwrap()
}

fn read(world: &World, text: &str) -> SavedPairs {
    let types = world.resource::<AppTypeRegistry>().read();
    let mut text = ron::Deserializer::from_str(text).unwrap();
    SavedPairsDeserializer::new(&types).deserialize(&mut text).unwrap()
}

type Verb = fn(&mut Scene);

/// Those that happen wholly or not at all.
const WHOLE: &[(&str, Verb)] = &[
    ("take", |scene| drop(PairSnapshot::take(&mut scene.world, PairFilter::all()).unwrap())),
    ("update", |scene| scene.snapshot.update(&mut scene.world).unwrap()),
    ("write", |scene| drop(write(&scene.world, &scene.snapshot))),
    ("read", |scene| drop(read(&scene.world, &scene.text))),
    ("load", |scene| {
        let saved = read(&scene.world, &scene.text);
        saved.load(&mut scene.world).unwrap();
    }),
    ("load into another world", |scene| {
        let mut other = new_world();
        record_errors_of(&mut other);
        let result = panic_message(|| read(&other, &scene.text).load(&mut other).unwrap());
        other.flush();
        other.check_pairs().unwrap();
        if result.is_some() {
            assert_eq!(other.any_pairs().iter().count(), 0);
            assert_eq!(other.query::<&SaveId>().iter(&other).count(), 0, "spawned entities stay");
            drop(other);
            panic!("meant");
        }
    }),
    ("apply", |scene| _ = scene.snapshot.apply(&mut scene.world).unwrap()),
    ("apply to others", |scene| {
        let [x, y] = scene.others;
        let [a, b, c, d] = scene.entities;
        let mut map = EntityHashMap::from_iter([(a, x), (b, y), (c, c), (d, d)]);
        scene.snapshot.apply_mapped(&mut scene.world, &mut map).unwrap();
    }),
    ("drop a snapshot", |scene| {
        let none = PairFilter::none().relation::<Weighs>().sources([]);
        let none = PairSnapshot::take(&mut scene.world, none).unwrap();
        drop(core::mem::replace(&mut scene.snapshot, none));
    }),
];

/// Those of several parts.
const PARTS: &[(&str, Verb)] = &[
    ("write a mirror", |scene| {
        let [a, b, _, d] = scene.entities;
        let pairs = MirroredPairs::from_iter([
            (Fits(Slot(1), Fragile::new(30)), b),
            (Fits(Slot(2), Fragile::new(31)), d),
            (Fits(Slot(5), Fragile::new(32)), a),
        ]);
        scene.world.entity_mut(a).insert(pairs);
    }),
    ("write a mirror with one key twice", |scene| {
        let [a, b, _, d] = scene.entities;
        let pairs = [(Fits(Slot(1), Fragile::new(30)), b), (Fits(Slot(1), Fragile::new(31)), d)].into_iter();
        scene.world.entity_mut(a).insert(MirroredPairs::from_iter(pairs));
    }),
    ("write a symmetric mirror", |scene| {
        let [a, b, c, d] = scene.entities;
        let pairs = [(Shares(Fragile::new(33), Some(a)), d), (Shares(Fragile::new(34), None), c)];
        scene.world.entity_mut(b).insert(MirroredPairs::from_iter(pairs));
    }),
    ("remove a mirror", |scene| {
        scene.world.entity_mut(scene.entities[0]).remove::<MirroredPairs<Fits>>();
    }),
    ("copy a mirror", |scene| {
        let [a, .., d] = scene.entities;
        if let Some(pairs) = scene.world.get::<MirroredPairs<Fits>>(a).cloned() {
            scene.world.entity_mut(d).insert(pairs);
        }
    }),
    ("clone", |scene| {
        let [a, ..] = scene.entities;
        EntityCloner::build_opt_out(&mut scene.world).finish().spawn_clone(&mut scene.world, a);
    }),
    ("despawn", |scene| _ = scene.world.despawn(scene.entities[2])),
    ("insert", |scene| {
        let [a, .., d] = scene.entities;
        scene.world.insert_pair(a, Fits(Slot(2), Fragile::new(40)), d).unwrap();
        scene.world.insert_pair(d, Shares(Fragile::new(41), None), a).unwrap();
    }),
    ("clear", |scene| _ = scene.world.entity_mut(scene.entities[0]).clear()),
];

/// Every mirrored component says what there is.
fn check_mirrors<R: MirroredRelation + core::fmt::Debug>(world: &World, context: &str) {
    for source in crate::common::all_entities(world) {
        let shown = world.get::<MirroredPairs<R>>(source);
        let shown: Vec<_> = shown
            .into_iter()
            .flat_map(|shown| &shown.pairs)
            .map(|pair| (pair.target.entity(), format!("{:?}", pair.value)))
            .collect();
        let value = |target| format!("{:?}", world.pair_value::<R>(source, target));
        let pairs = world.pairs::<R>();
        let there: Vec<_> = pairs.targets(source).map(|target| (Some(target), value(target))).collect();
        assert_eq!(shown, there, "{context}: {source}");
    }
}

/// Runs a verb in which the nth call panics, and returns whether it did.
fn run(name: &str, verb: Verb, (place, nth): (Place, u32), is_mirrored: bool, is_whole: bool) -> bool {
    let context = format!("{name}, {place:?} number {nth}, mirrored: {is_mirrored}");
    ARMED.set(None);
    ALIVE.set(0);
    let after = {
        let mut scene = Scene::new(is_mirrored);
        verb(&mut scene);
        state(&scene.world)
    };
    assert_eq!(ALIVE.get(), 0, "{context}: without a panic");
    let mut scene = Scene::new(is_mirrored);
    let before = state(&scene.world);
    ARMED.set(Some((place, nth)));
    let message = panic_message(|| verb(&mut scene));
    // Bevy reports the panic of a command.
    let panicked = ARMED.take().is_none();
    if let Some(message) = &message {
        assert!(message.contains("meant"), "{context}: {message}");
    }
    scene.world.check_pairs().unwrap_or_else(|error| panic!("{context}: {error}"));
    scene.world.flush();
    scene.world.check_pairs().unwrap_or_else(|error| panic!("{context}, flushed: {error}"));
    if is_whole {
        let now = state(&scene.world);
        assert!(now == before || now == after, "{context}: half done\n{before:#?}\n{now:#?}\n{after:#?}");
    }
    scene.world.maintain_pairs();
    scene.world.check_pairs().unwrap_or_else(|error| panic!("{context}, maintained: {error}"));
    if is_mirrored {
        check_mirrors::<Weighs>(&scene.world, &context);
        check_mirrors::<Fits>(&scene.world, &context);
        check_mirrors::<Shares>(&scene.world, &context);
    }
    // The same again, without a panic.
    if is_whole && panicked {
        verb(&mut scene);
        assert_eq!(state(&scene.world), after, "{context}: again");
        scene.world.check_pairs().unwrap_or_else(|error| panic!("{context}, again: {error}"));
    }
    take_reported_errors();
    drop(scene);
    // What is behind a value whose drop panics may be left.
    let left = ALIVE.get();
    assert!(left == 0 || (left > 0 && place == Place::Drop), "{context}: {left} values are left");
    panicked
}

/// What makes Bevy itself drop a mirrored component that is there. Bevy leaves one in its place whose drop has panicked.
const DROPPED_BY_BEVY: &[&str] = &[
    "write a mirror",
    "write a mirror with one key twice",
    "write a symmetric mirror",
    "remove a mirror",
    "copy a mirror",
    "despawn",
    "clear",
];

fn run_all(verbs: &[(&str, Verb)], is_whole: bool) -> usize {
    let mut panics = 0;
    for &(name, verb) in verbs {
        for is_mirrored in [false, true] {
            for place in PLACES {
                if is_mirrored && place == Place::Drop && DROPPED_BY_BEVY.contains(&name) {
                    continue;
                }
                let calls = (0..6).take_while(|&nth| run(name, verb, (place, nth), is_mirrored, is_whole));
                panics += calls.count();
            }
        }
    }
    panics
}

#[test]
fn what_panics_while_it_saves_or_loads_has_happened_wholly_or_not_at_all() {
    let panics = run_all(WHOLE, true);
    assert!(panics > 100, "{panics}");
}

#[test]
fn what_panics_while_pairs_are_mirrored_keeps_every_invariant() {
    let panics = run_all(PARTS, false);
    assert!(panics > 60, "{panics}");
}
