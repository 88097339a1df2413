//! Saves of snapshots: written and read with RON and JSON, loaded into new worlds and over old ones, from old files.

use crate::{
    common::{Random, fewer, record_errors_of, spawn, take_reported_errors},
    snapshots::take,
    snapshots_model::Relations,
};
use bevy_ecs::{
    entity::EntityHashMap,
    prelude::*,
    reflect::{AppTypeRegistry, ReflectMapEntities},
};
use bevy_reflect::Reflect;
use bevy_relations::{
    prefab::{Prefab, SlotOf, WorldPrefabExt},
    prelude::*,
    snapshot::*,
};
use serde::de::DeserializeSeed;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[type_path = "it"]
#[type_name = "Portion"]
struct Portion {
    milligrams: u32,
}

/// What the values of `Portion` were in version 1.
#[derive(Reflect, Clone, PartialEq, Debug)]
#[type_path = "it"]
#[type_name = "OldEats"]
struct OldEats {
    grams: f32,
}

#[derive(Relation)]
struct Hates;

#[derive(Relation)]
struct Knows;

#[derive(Relation)]
#[relation(ordered)]
struct Behind;

/// With entities in its value.
#[derive(Relation, Reflect, Clone, PartialEq, Debug, bevy_ecs::entity::MapEntities)]
#[reflect(MapEntities)]
struct Met {
    #[entities]
    witness: Entity,
}

#[derive(Relation, Reflect, Clone)]
struct Unmapped(Entity);

pub(crate) fn register_types(world: &mut World) {
    world.init_resource::<AppTypeRegistry>();
    let types = world.resource::<AppTypeRegistry>().0.clone();
    let mut types = types.write();
    types.register::<Portion>();
    types.register::<OldEats>();
    types.register::<Met>();
    types.register::<Unmapped>();
    types.register::<crate::snapshots::Eats>();
    types.register::<crate::snapshots::Knows>();
    types.register::<crate::snapshots::Trades>();
    types.register::<crate::snapshots::Equips>();
    types.register::<u32>();
}

pub(crate) fn to_ron(world: &World, saved: &SavedPairs) -> String {
    let types = world.resource::<AppTypeRegistry>().read();
    let pretty = ron::ser::PrettyConfig::new();
    ron::ser::to_string_pretty(&SavedPairsSerializer::new(saved, &types), pretty).unwrap()
}

pub(crate) fn to_json(world: &World, saved: &SavedPairs) -> String {
    let types = world.resource::<AppTypeRegistry>().read();
    serde_json::to_string(&SavedPairsSerializer::new(saved, &types)).unwrap()
}

pub(crate) fn from_ron(world: &World, text: &str) -> Result<SavedPairs, String> {
    let types = world.resource::<AppTypeRegistry>().read();
    let mut file = ron::Deserializer::from_str(text).map_err(|error| error.to_string())?;
    let saved = SavedPairsDeserializer::new(&types).deserialize(&mut file);
    let saved = saved.map_err(|error| file.span_error(error).to_string())?;
    file.end().map_err(|error| error.to_string())?;
    Ok(saved)
}

pub(crate) fn from_json(world: &World, text: &str) -> Result<SavedPairs, String> {
    let types = world.resource::<AppTypeRegistry>().read();
    let mut file = serde_json::Deserializer::from_str(text);
    let saved = SavedPairsDeserializer::new(&types).deserialize(&mut file);
    let saved = saved.map_err(|error| error.to_string())?;
    file.end().map_err(|error| error.to_string())?;
    Ok(saved)
}

pub(crate) fn world() -> (World, Relations) {
    let mut world = World::new();
    record_errors_of(&mut world);
    register_types(&mut world);
    let relations = Relations::new(&mut world);
    (world, relations)
}

#[test]
fn random_worlds_are_saved_and_loaded_and_saved_again_to_the_same_bytes() {
    for seed in 1..=fewer(24) {
        let mut random = Random((seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (mut from, here) = world();
        let entities: Vec<Entity> = (0..10).map(|_| from.spawn_empty().id()).collect();
        for _ in 0..random.below(80) {
            here.change(&mut from, &mut random, &entities);
        }
        let saved = take(&mut from).to_saved(&from).unwrap();
        let (ron, json) = (to_ron(&from, &saved), to_json(&from, &saved));

        let (mut to, there) = world();
        // Other indices, in another order.
        let before: Vec<Entity> = (0..20).map(|_| to.spawn_empty().id()).collect();
        for entity in before.into_iter().step_by(2) {
            to.despawn(entity);
        }
        let read = from_ron(&to, &ron).unwrap();
        assert_eq!(to_json(&to, &from_json(&to, &json).unwrap()), json);
        let loaded = read.load(&mut to).unwrap();
        to.check_pairs().unwrap();
        let again = take(&mut to).to_saved(&to).unwrap();
        assert_eq!((to_ron(&to, &again), to_json(&to, &again)), (ron.clone(), json));

        // The same pairs: by the ids that the first save has given out in order of entities.
        let pairs = here.read(&from, &entities);
        let mut named: Vec<Entity> = Vec::new();
        for (&(_, source), targets) in &pairs.targets {
            named.push(source);
            named.extend(targets.iter().map(|&(target, _)| target));
        }
        named.sort_unstable_by_key(|entity| entity.index());
        named.dedup();
        let map: EntityHashMap<Entity> = named.iter().copied().zip(loaded.entities.iter().copied()).collect();
        let copies: Vec<Entity> = map.values().copied().collect();
        assert_eq!(there.read(&to, &copies), pairs.mapped(&map));

        // Over a world that has changed since.
        for _ in 0..if copies.is_empty() { 0 } else { 30 } {
            there.change(&mut to, &mut random, &copies);
        }
        let loaded = from_ron(&to, &ron).unwrap().load(&mut to).unwrap();
        assert_eq!(loaded.spawned, []);
        to.check_pairs().unwrap();
        let again = take(&mut to).to_saved(&to).unwrap();
        assert_eq!(to_ron(&to, &again), ron);
        take_reported_errors();
    }
}

#[test]
fn an_old_file_is_read_with_aliases_and_a_migration() {
    let mut world = World::new();
    register_types(&mut world);
    world.register_relation::<Knows>().unwrap();
    world.register_relation::<Hates>().unwrap();
    world.register_relation::<Portion>().unwrap();
    world.register_relation::<Behind>().unwrap();
    let friend = world.spawn_relation("friend of", RelationTraits::new().data::<u32>()).unwrap();
    world.add_relation_alias("FriendOf", "Knows").add_relation_alias("Consumes", "Portion");
    world.set_save_version(3, |saved, version| {
        assert_eq!(version, 1);
        for relation in &mut saved.relations {
            if relation.name == "QueuesBehind" {
                relation.name = "Behind".into();
            }
            for pair in &mut relation.pairs {
                let old = pair.value.as_deref().and_then(OldEats::from_reflect_or_none);
                if let Some(OldEats { grams }) = old {
                    pair.value = Some(Box::new(Portion { milligrams: (grams * 1000.0) as u32 }));
                }
            }
        }
        Ok(())
    });
    let saved = from_ron(&world, include_str!("data/pairs_v1.ron")).unwrap();
    let loaded = saved.load(&mut world).unwrap();
    let [anna, ben, other, hates, there] = loaded.entities[..] else { panic!("{loaded:?}") };
    assert_eq!((there, hates), (friend, world.entity_of::<Hates>()));
    assert_eq!(loaded.spawned, [anna, ben, other]);
    assert_eq!(world.get::<Name>(anna).map(Name::as_str), Some("anna"));
    assert_eq!(world.get::<SaveId>(other), Some(&SaveId(7)));
    assert!(world.pairs::<Knows>().targets(anna).eq([ben, other, hates]));
    assert_eq!(world.pair_value::<Portion>(anna, other), Some(&Portion { milligrams: 2500 }));
    assert!(world.pairs::<Behind>().sources(other).eq([ben, anna]));
    assert_eq!(world.pair_value_by_id::<u32>(ben, (friend, friend)), Some(&5));
    world.check_pairs().unwrap();
    // What is saved now has the new version.
    let saved = take(&mut world).to_saved(&world).unwrap();
    assert_eq!((saved.version, saved.relations.len()), (3, 4));
}

impl OldEats {
    fn from_reflect_or_none(value: &dyn bevy_reflect::PartialReflect) -> Option<Self> {
        let is_old = value.represents::<Self>();
        is_old.then(|| <Self as bevy_reflect::FromReflect>::from_reflect(value)).flatten()
    }
}

#[test]
fn entities_inside_of_values_are_those_of_the_save() {
    let mut from = World::new();
    register_types(&mut from);
    let [a, b, c] = spawn(&mut from);
    from.insert_pair(a, Met { witness: c }, b).unwrap();
    let saved = take(&mut from).to_saved(&from).unwrap();
    assert_eq!(saved.entities.len(), 3);
    let ron = to_ron(&from, &saved);
    let mut to = World::new();
    register_types(&mut to);
    to.spawn_batch([(); 9]).count();
    to.register_relation::<Met>().unwrap();
    let loaded = from_ron(&to, &ron).unwrap().load(&mut to).unwrap();
    let [a2, b2, c2] = loaded.entities[..] else { panic!("{loaded:?}") };
    assert_eq!(to.pair_value::<Met>(a2, b2), Some(&Met { witness: c2 }));
    // And in a copy without a save.
    let mut map = EntityHashMap::<Entity>::default();
    map.insert(c, c2);
    take(&mut from).apply_mapped(&mut to, &mut map).unwrap();
    assert_eq!(to.pair_value::<Met>(map[&a], map[&b]), Some(&Met { witness: c2 }));
    // A number that stands for nothing, and a type that does not say what its entities are.
    let wrong = ron.replace("(witness: 2)", "(witness: 9)").replace("witness: 2,", "witness: 9,");
    let error = from_ron(&to, &wrong).unwrap().load(&mut to).unwrap_err();
    assert_eq!(error.to_string(), "relation `Met`, pair 0, value: there is no entity 9; the save has 3");
    from.insert_pair(a, Unmapped(c), b).unwrap();
    let error = take(&mut from).to_saved(&from).unwrap_err().to_string();
    assert!(error.ends_with("Unmapped` has entities in it, and lacks `#[reflect(MapEntities)]`"), "{error}");
    to.check_pairs().unwrap();
}

#[test]
fn clones_have_no_id_of_their_own_and_two_of_one_are_refused() {
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    world.entity_mut(a).insert(SaveId(4));
    world.insert_pair(a, Hates, b).unwrap();
    let clone = world.entity_mut(a).clone_and_spawn();
    assert!(world.get::<SaveId>(clone).is_none());
    let saved = take(&mut world).to_saved(&world).unwrap();
    let id = |id| SavedEntity::Entity { id, name: None };
    assert_eq!(saved.entities, [id(0), id(1), id(4)]);
    world.entity_mut(b).insert((SaveId(4), Name::new("b")));
    let error = take(&mut world).to_saved(&world).unwrap_err();
    assert_eq!(error.to_string(), format!("{a} and b ({b}) have the same `SaveId`: 4"));
    assert_eq!(saved.load(&mut world).unwrap_err().to_string(), "two entities have the id 4");
}

#[test]
fn a_save_of_some_sources_says_nothing_of_others() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    for (number, entity) in [a, b, c].into_iter().enumerate() {
        world.entity_mut(entity).insert(SaveId(number as u64));
    }
    world.insert_pair(a, Hates, b).unwrap();
    world.insert_pair(b, Hates, c).unwrap();
    let filter = PairFilter::none().relation::<Hates>().relation::<Knows>().sources([a, c]);
    let saved = PairSnapshot::take(&mut world, filter).unwrap().to_saved(&world).unwrap();
    assert_eq!((saved.sources.as_deref(), saved.relations.len()), (Some(&[0, 2][..]), 2));
    world.remove_pairs::<Hates>(b);
    world.insert_pair(c, Knows, b).unwrap();
    world.insert_pair(b, Knows, a).unwrap();
    let loaded = saved.load(&mut world).unwrap();
    assert_eq!((loaded.applied.inserted, loaded.applied.removed), (0, 1));
    assert!(world.has_pair::<Knows>(b, a) && !world.has_pair::<Knows>(c, b));
    world.check_pairs().unwrap();
}

#[test]
fn a_save_of_some_sources_keeps_the_other_symmetric_pairs_of_their_targets() {
    #[derive(Relation)]
    #[relation(symmetric)]
    struct Meets;
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    for (number, entity) in [a, b, c].into_iter().enumerate() {
        world.entity_mut(entity).insert(SaveId(number as u64));
    }
    world.insert_pair(a, Meets, b).unwrap();
    let filter = PairFilter::none().relation::<Meets>().sources([a]);
    let saved = PairSnapshot::take(&mut world, filter).unwrap().to_saved(&world).unwrap();
    world.remove_pair::<Meets>(a, b);
    world.insert_pair(b, Meets, c).unwrap();
    let loaded = saved.load(&mut world).unwrap();
    assert_eq!((loaded.applied.inserted, loaded.applied.removed), (2, 0));
    assert!(world.has_pair::<Meets>(b, a) && world.has_pair::<Meets>(b, c));
    world.check_pairs().unwrap();
}

/// Which direction of a symmetric pair has the value depends on the ids of the entities: not so in a save.
#[test]
fn values_of_symmetric_pairs_are_saved_alike_whichever_end_was_spawned_first() {
    #[derive(Relation, Reflect, Clone, PartialEq, Debug)]
    #[relation(symmetric)]
    struct Treaty(u32);

    let registered = || {
        let mut world = World::new();
        register_types(&mut world);
        world.resource::<AppTypeRegistry>().write().register::<Treaty>();
        world.register_relation::<Treaty>().unwrap();
        world
    };
    let mut first = registered();
    let states = [3, 1, 2].map(|id| first.spawn(SaveId(id)).id());
    for (number, (a, b)) in [(0, 1), (0, 2), (1, 2), (2, 2)].into_iter().enumerate() {
        first.insert_pair(states[a], Treaty(number as u32), states[b]).unwrap();
    }
    let saved = |world: &mut World| {
        let snapshot = take(world);
        to_ron(world, &snapshot.to_saved(world).unwrap())
    };
    let text = saved(&mut first);
    for spawned_before in 0..2 {
        let mut world = registered();
        // Other ids.
        (0..spawned_before).for_each(|_| _ = world.spawn_empty());
        let loaded = from_ron(&world, &text).unwrap().load(&mut world).unwrap();
        assert_eq!(loaded.applied.inserted, 7);
        let of = |id: u64| loaded.entities[id as usize - 1];
        for (a, b, number) in [(3, 1, 0), (3, 2, 1), (1, 2, 2), (2, 2, 3)] {
            assert_eq!(world.pair_value::<Treaty>(of(a), of(b)), Some(&Treaty(number)));
            assert_eq!(world.pair_value::<Treaty>(of(b), of(a)), Some(&Treaty(number)));
        }
        assert_eq!(saved(&mut world), text);
    }
}

#[test]
fn with_inserted_ids_a_save_is_loaded_into_the_world_that_it_is_of() {
    let mut world = World::new();
    register_types(&mut world);
    let other = world.spawn(SaveId(0)).id();
    let [a, b, c] = [(); 3].map(|()| world.spawn_empty().id());
    world.entity_mut(c).insert(SaveId(2));
    world.insert_pair(a, Hates, b).unwrap();
    world.insert_pair(b, Hates, c).unwrap();
    world.insert_pair(a, Met { witness: other }, c).unwrap();
    let snapshot = take(&mut world);
    // One is gone by then, and comes back as another entity.
    world.despawn(b);
    snapshot.insert_save_ids(&mut world).unwrap();
    let mut ids: Vec<u64> = world.query::<&SaveId>().iter(&world).map(|id| id.0).collect();
    ids.sort_unstable();
    assert_eq!((ids.len(), ids[0]), (3, 0));
    ids.dedup();
    assert_eq!(ids.len(), 3, "no two are the same");
    assert_eq!((world.get(other), world.get(c)), (Some(&SaveId(0)), Some(&SaveId(2))));
    let saved = snapshot.to_saved(&world).unwrap();
    world.remove_pairs::<Met>(a);
    saved.load(&mut world).unwrap();
    assert_eq!(world.pair_value::<Met>(a, c).map(|met| met.witness), Some(other));
    let again = world.pairs::<Hates>().target(a).unwrap();
    assert_ne!(again, b);
    assert!(world.has_pair::<Hates>(again, c));
    assert_eq!(world.query::<&SaveId>().iter(&world).count(), 4);
    world.check_pairs().unwrap();
}

#[test]
fn ids_are_inserted_into_all_entities_or_none() {
    let mut world = World::new();
    register_types(&mut world);
    let [a, b, c] = [(); 3].map(|()| world.spawn_empty().id());
    world.entity_mut(a).insert(SaveId(1));
    world.entity_mut(b).insert(SaveId(1));
    world.insert_pair(a, Hates, b).unwrap();
    world.insert_pair(c, Hates, b).unwrap();
    let snapshot = take(&mut world);
    assert!(matches!(snapshot.insert_save_ids(&mut world), Err(SaveError::SameId { .. })));
    assert_eq!(world.get::<SaveId>(c), None);
    assert!(matches!(snapshot.insert_save_ids(&mut World::new()), Err(SaveError::OtherWorld)));
}

/// Two blueprints of which each has a slot of the same name, deeper in one of them, and the slots.
fn build_blueprints(world: &mut World) -> ([Entity; 2], [Entity; 2]) {
    register_types(world);
    let mut ids = (1..).map(SaveId);
    let mut id = || ids.next().unwrap();
    let [tank, ship] = ["Tank", "Ship"].map(|name| world.spawn((Prefab, Name::new(name), id())).id());
    let hull = world.spawn((Name::new("hull"), ChildOf(ship), id())).id();
    let mut slot =
        |parent, prefab| world.spawn((Name::new("engine"), ChildOf(parent), Pair(SlotOf, prefab), id())).id();
    let slots = [slot(tank, tank), slot(hull, ship)];
    ([tank, ship], slots)
}

#[test]
fn values_under_a_former_type_path_are_read_with_an_alias() {
    #[derive(Relation, Reflect, Clone, PartialEq, Debug)]
    #[type_path = "game"]
    struct Owes(u32, Option<Entity>);
    #[derive(Relation, Reflect, Clone, PartialEq, Debug)]
    #[type_path = "game"]
    struct Debt(u32, Option<Entity>);

    let mut old = World::new();
    register_types(&mut old);
    old.resource::<AppTypeRegistry>().write().register::<Owes>();
    let [ann, ben] = spawn(&mut old);
    old.insert_pair(ann, Owes(5, None), ben).unwrap();
    let saved = take(&mut old).to_saved(&old).unwrap();
    let text = to_ron(&old, &saved);
    let json = to_json(&old, &saved);

    let mut new = World::new();
    register_types(&mut new);
    new.resource::<AppTypeRegistry>().write().register::<Debt>();
    new.register_relation::<Debt>().unwrap();
    new.add_relation_alias("Owes", "Debt");
    let error = from_ron(&new, &text).unwrap_err();
    assert!(error.contains("game::Owes") && error.contains("pair 0"), "{error}");
    let types = new.resource::<AppTypeRegistry>().0.clone();
    let types = types.read();
    // An alias may lead to another; the first of a path counts.
    let aliases = [("game::Owes", "game::Dues"), ("game::Owes", "game::Gone"), ("game::Dues", "game::Debt")];
    let reader = SavedPairsDeserializer::new(&types);
    let read = reader.with_type_aliases(&aliases);
    let saved = [
        read.deserialize(&mut ron::Deserializer::from_str(&text).unwrap()).unwrap(),
        read.deserialize(&mut serde_json::Deserializer::from_str(&json)).unwrap(),
    ];
    for saved in saved {
        let entities = saved.load(&mut new).unwrap().entities;
        assert_eq!(new.pair_value::<Debt>(entities[0], entities[1]), Some(&Debt(5, None)));
    }
    // What the alias leads to must be there; a value has one type.
    let gone = reader.with_type_aliases(&[("game::Owes", "game::Gone")]);
    let error = gone.deserialize(&mut serde_json::Deserializer::from_str(&json)).unwrap_err().to_string();
    assert!(error.contains("game::Gone"), "{error}");
    for (from, to) in [
        ("{\"game::Owes\":", "{\"game::Owes\":[1,null],\"game::Owes\":"),
        ("{\"game::Owes\":[5,null]}", "{}"),
    ] {
        let twice = json.replace(from, to);
        assert_ne!(twice, json);
        let error =
            read.deserialize(&mut serde_json::Deserializer::from_str(&twice)).unwrap_err().to_string();
        assert!(error.contains("a value has one type"), "{error}");
    }
}

#[test]
fn slots_are_saved_by_their_path_and_found_in_a_world_without_instances() {
    let mut world = World::new();
    let (prefabs, slots) = build_blueprints(&mut world);
    let instances = prefabs.map(|prefab| world.instantiate(prefab).unwrap());
    let engines: Vec<_> = instances
        .iter()
        .zip(slots)
        .map(|(&instance, slot)| world.pairs_by_id(slot).target(instance))
        .collect();
    assert!(engines.iter().all(Option::is_some));
    let saved = take(&mut world).to_saved(&world).unwrap();
    let names: Vec<_> = saved.relations.iter().map(|relation| &*relation.name).collect();
    assert!(names.contains(&"Tank.engine") && names.contains(&"Ship.hull.engine"), "{names:?}");
    let text = to_ron(&world, &saved);

    let mut fresh = World::new();
    let (_, slots) = build_blueprints(&mut fresh);
    let read = from_ron(&fresh, &text).unwrap();
    let loaded = read.load(&mut fresh).unwrap();
    let with_slot = |world: &World, slot: Entity| -> Vec<Entity> {
        loaded.entities.iter().copied().filter(|&it| world.pairs_by_id(slot).target(it).is_some()).collect()
    };
    for slot in slots {
        assert_eq!(with_slot(&fresh, slot).len(), 1, "the instance, which the save has spawned");
    }
    fresh.check_pairs().unwrap();
    // Saved again it is the same, and loaded again nothing is spawned twice.
    let again = take(&mut fresh).to_saved(&fresh).unwrap();
    assert_eq!(to_ron(&fresh, &again), text);
    assert_eq!(from_ron(&fresh, &text).unwrap().load(&mut fresh).unwrap().spawned, []);

    // A save in which a slot has its short name still finds the only one of that name.
    let only = text.replace("Tank.engine", "engine").replace("Ship.hull.engine", "Ship.hull.motor");
    let mut other = World::new();
    let (_, [_, second]) = build_blueprints(&mut other);
    other.get_mut::<Name>(second).unwrap().set("motor");
    from_ron(&other, &only).unwrap().load(&mut other).unwrap();

    // What is refused leaves no relation behind: a part that is no slot, a slot by both of its names, an unknown relation
    // beside one.
    let part = text.replace("Tank.engine", "Ship.hull");
    let twice = text.replace("Ship.hull.engine", "engine");
    let beside = text.replace("Tank.engine", "Tank.turret");
    for wrong in [part, twice, beside] {
        let mut refusing = World::new();
        let (_, slots) = build_blueprints(&mut refusing);
        if wrong.contains("\"engine\"") {
            refusing.get_mut::<Name>(slots[1]).unwrap().set("motor");
        }
        let entities = refusing.query::<Entity>().iter(&refusing).count();
        let error = from_ron(&refusing, &wrong).unwrap().load(&mut refusing).unwrap_err();
        let names_relation =
            matches!(error, LoadError::UnknownRelation { .. } | LoadError::RelationTwice { .. });
        assert!(names_relation, "{error}");
        assert!(slots.iter().all(|&slot| refusing.traits_of(slot).is_none()), "{error}");
        assert_eq!(refusing.query::<Entity>().iter(&refusing).count(), entities);
        refusing.check_pairs().unwrap();
    }

    // Where it is not the only one, nothing is guessed.
    let mut ambiguous = World::new();
    build_blueprints(&mut ambiguous);
    let error = from_ron(&ambiguous, &text.replace("Tank.engine", "engine")).unwrap();
    let error = error.load(&mut ambiguous).unwrap_err();
    assert_eq!(error, LoadError::AmbiguousRelation { relation: "engine".into() });
}

#[test]
fn relations_of_one_name_are_named_in_the_refusal() {
    let mut world = World::new();
    register_types(&mut world);
    let [a, b] = [(); 2].map(|()| world.spawn_relation("Owns", RelationTraits::new()).unwrap());
    let entities: [Entity; 2] = spawn(&mut world);
    for relation in [a, b] {
        world.insert_pair_by_id(entities[0], (relation, entities[1])).unwrap();
    }
    let error = take(&mut world).to_saved(&world).unwrap_err().to_string();
    assert_eq!(error, "several relations are called Owns: register their types, or give them other names");
}
