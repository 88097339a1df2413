//! Saves of worlds with prefabs that the program makes at each start: they are named by their paths and stay as they are.
//!
//! What a pair can refer to: a prefab, a part of it, a slot, a variant, a part with a `SaveId`; as the target, as the source, in a
//! value, in an order. What can be in the way: instances of the same name, two prefabs of one name, none, parts without a name.

use crate::{
    common::record_errors_of,
    snapshots::take,
    snapshots_saves::{from_ron, register_types, to_json, to_ron},
};
use bevy_ecs::{
    entity::{EntityHashMap, MapEntities},
    prelude::*,
    reflect::{AppTypeRegistry, ReflectMapEntities},
};
use bevy_reflect::Reflect;
use bevy_relations::{
    prefab::{Prefab, SlotOf, WorldPrefabExt},
    prelude::*,
    snapshot::*,
};

#[derive(Relation, Reflect, Clone, PartialEq, Debug, MapEntities)]
#[reflect(MapEntities)]
#[type_path = "it"]
struct Ordered {
    #[entities]
    by: Entity,
}

#[derive(Relation)]
#[relation(ordered)]
struct Queues;

#[derive(Relation)]
#[relation(symmetric)]
struct Wired;

struct Made {
    tank: Entity,
    turret: Entity,
    slot: Entity,
    variant: Entity,
}

/// A prefab with two parts, of which the lower is a slot, beside one without a name; and a variant.
fn prefabs(world: &mut World) -> Made {
    register_types(world);
    world.resource::<AppTypeRegistry>().write().register::<Ordered>();
    world.register_relation::<Ordered>().unwrap();
    world.register_relation::<Queues>().unwrap();
    world.register_relation::<Wired>().unwrap();
    let tank = world.spawn((Prefab, Name::new("Tank"))).id();
    let turret = world.spawn((Name::new("turret"), ChildOf(tank))).id();
    let slot = world.spawn((Name::new("gun"), ChildOf(turret), Pair(SlotOf, tank))).id();
    world.spawn((ChildOf(tank), Pair(Queues, turret)));
    let variant = world.spawn((Prefab, Name::new("Heavy"), Pair(IsA, tank), Pair(Queues, turret))).id();
    Made { tank, turret, slot, variant }
}

/// What the prefabs are related to, which no load may change.
fn of_prefabs(world: &World, made: &Made) -> Vec<Vec<Entity>> {
    let Made { tank, turret, slot, variant } = *made;
    let all = [tank, turret, slot, variant];
    let pairs =
        |of: &dyn Fn(Entity) -> Vec<Entity>| all.iter().flat_map(|&entity| of(entity)).collect::<Vec<_>>();
    vec![
        pairs(&|entity| world.pairs::<ChildOf>().targets(entity).collect()),
        pairs(&|entity| world.pairs::<SlotOf>().targets(entity).collect()),
        pairs(&|entity| world.pairs::<IsA>().targets(entity).collect()),
        pairs(&|entity| world.pairs::<Queues>().targets(entity).collect()),
        pairs(&|entity| {
            world.pairs::<ChildOf>().sources(entity).filter(|child| all.contains(child)).collect()
        }),
    ]
}

#[test]
fn instances_are_those_of_the_prefabs_of_the_next_start() {
    let mut game = World::new();
    let made = prefabs(&mut game);
    let instance = game.instantiate(made.tank).unwrap();
    let heavy = game.instantiate(made.variant).unwrap();
    // An instance may have the name of its prefab.
    game.entity_mut(instance).insert(Name::new("Tank"));
    game.insert_pair(instance, Ordered { by: made.turret }, made.turret).unwrap();
    game.insert_pair(heavy, Wired, made.turret).unwrap();
    for source in [heavy, instance] {
        game.insert_pair(source, Queues, made.turret).unwrap();
    }
    let saved = take(&mut game).to_saved(&game).unwrap();
    let [text, json] = [to_ron(&game, &saved), to_json(&game, &saved)];
    for path in
        ["Prefab(\"Tank\")", "Prefab(\"Tank.turret\")", "Prefab(\"Heavy\")", "name: \"Tank.turret.gun\""]
    {
        assert!(text.contains(path), "{path}: {text}");
    }
    assert!(json.contains("Tank.turret"));

    // The next start. Loading again changes nothing, and the save made again is the same.
    let mut game = World::new();
    let made = prefabs(&mut game);
    let before = of_prefabs(&game, &made);
    let first = from_ron(&game, &text).unwrap().load(&mut game).unwrap();
    assert_eq!(of_prefabs(&game, &made), before);
    assert_eq!(first.applied.removed, 0);
    let again = from_ron(&game, &text).unwrap().load(&mut game).unwrap();
    assert_eq!((again.spawned.len(), again.applied.inserted, again.applied.removed), (0, 0, 0));
    let again = take(&mut game).to_saved(&game).unwrap();
    assert_eq!(to_ron(&game, &again), text);
    game.check_pairs().unwrap();

    let instances: Vec<Entity> =
        game.pairs::<IsA>().sources(made.tank).filter(|&it| it != made.variant).collect();
    let [instance] = instances[..] else { panic!("{instances:?}") };
    assert_eq!(game.get::<Name>(instance).map(Name::as_str), Some("Tank"));
    assert_eq!(game.pair_value::<Ordered>(instance, made.turret), Some(&Ordered { by: made.turret }));
    let gun = game.pairs_by_id(made.slot).target(instance).unwrap();
    assert!(game.pairs::<ChildOf>().ancestors(gun).any(|above| above == instance));
    let heavy = game.pairs::<IsA>().sources(made.variant).next().unwrap();
    assert!(game.has_pair::<Wired>(heavy, made.turret) && game.has_pair::<Wired>(made.turret, heavy));
    assert!(game.pairs::<Queues>().sources(made.turret).collect::<Vec<_>>().ends_with(&[heavy, instance]));
    // The prefab is whole.
    let new = game.instantiate(made.tank).unwrap();
    assert_eq!(game.pairs::<ChildOf>().descendants(new).count(), 3);
}

#[test]
fn what_could_not_be_found_again_is_not_saved_and_what_is_not_there_not_loaded() {
    let mut game = World::new();
    let made = prefabs(&mut game);
    let ship = game.spawn_empty().id();
    // Parts without names are in nobody's way until a pair has one as its target.
    let unnamed = game.spawn(ChildOf(made.tank)).id();
    take(&mut game).to_saved(&game).unwrap();
    game.insert_pair(ship, Queues, unnamed).unwrap();
    let error = take(&mut game).to_saved(&game).unwrap_err();
    assert!(
        matches!(error, SaveError::UnnamedPrefab { ref entity } if entity.entity() == unnamed),
        "{error}"
    );
    assert!(error.to_string().contains("give it a `SaveId`"), "{error}");
    game.entity_mut(unnamed).insert(SaveId(5));
    take(&mut game).to_saved(&game).unwrap();
    game.remove_pairs::<Queues>(ship);

    game.instantiate(made.tank).unwrap();
    let saved = take(&mut game).to_saved(&game).unwrap();
    let text = to_ron(&game, &saved);
    game.spawn((Prefab, Name::new("Tank")));
    assert!(matches!(take(&mut game).to_saved(&game), Err(SaveError::UnnamedPrefab { .. })));

    for count in [0, 2] {
        let mut other = World::new();
        record_errors_of(&mut other);
        // The file has pairs of it.
        other.register_relation::<ChildOf>().unwrap();
        let made = prefabs(&mut other);
        match count {
            0 => drop(other.get_mut::<Name>(made.tank).map(|mut name| name.set("Car"))),
            _ => _ = other.spawn((Prefab, Name::new("Tank"))),
        }
        let (before, entities) = (of_prefabs(&other, &made), other.query::<Entity>().iter(&other).count());
        let error =
            from_ron(&other, &text.replace("Tank.turret.gun", "gun")).unwrap().load(&mut other).unwrap_err();
        let LoadError::Prefab { ref path, count: found, .. } = error else { panic!("{error}") };
        assert_eq!((&**path, found), ("Tank", count), "{error}");
        assert_eq!(of_prefabs(&other, &made), before);
        assert_eq!(other.query::<Entity>().iter(&other).count(), entities);
        other.check_pairs().unwrap();
    }
}

#[test]
fn prefabs_with_a_save_id_and_those_that_a_filter_lists_are_saved_as_others() {
    let mut game = World::new();
    let made = prefabs(&mut game);
    let filter = PairFilter::all().sources([made.slot, made.turret]);
    let saved = PairSnapshot::take(&mut game, filter).unwrap().to_saved(&game).unwrap();
    let text = to_ron(&game, &saved);
    assert!(text.contains("name: \"ChildOf\"") && text.contains("Prefab(\"Tank\")"), "{text}");
    assert!(!text.contains("Prefab(\"Tank.turret\")"), "{text}");

    game.entity_mut(made.tank).insert(SaveId(7));
    game.instantiate(made.tank).unwrap();
    let saved = take(&mut game).to_saved(&game).unwrap();
    assert!(saved.entities.contains(&SavedEntity::Entity { id: 7, name: Some("Tank".into()) }));
    take(&mut game).insert_save_ids(&mut game).unwrap();
    assert!(game.get::<SaveId>(made.turret).is_some(), "it belongs to a prefab that is saved");
    assert!(game.get::<SaveId>(made.variant).is_none(), "it is found by its path");
}

#[test]
fn a_dead_entity_in_a_value_is_none_and_a_placeholder_stays_one() {
    let mut game = World::new();
    prefabs(&mut game);
    let [ann, ben, dead] = crate::common::spawn(&mut game);
    game.despawn(dead);
    let none = Entity::PLACEHOLDER;
    game.insert_pair(ann, Ordered { by: dead }, ben).unwrap();
    game.insert_pair(ben, Ordered { by: none }, ann).unwrap();
    let snapshot = take(&mut game);
    snapshot.insert_save_ids(&mut game).unwrap();
    let saved = take(&mut game).to_saved(&game).unwrap();
    assert_eq!(saved.entities.len(), 2);
    let texts = [to_ron(&game, &saved), to_json(&game, &saved)];
    let loaded = saved.load(&mut game).unwrap();
    assert_eq!((loaded.spawned.len(), loaded.applied.inserted), (0, 0));
    assert_eq!(game.pair_value::<Ordered>(ann, ben), Some(&Ordered { by: none }));
    assert_eq!(game.pair_value::<Ordered>(ben, ann), Some(&Ordered { by: none }));
    let again = take(&mut game).to_saved(&game).unwrap();
    assert_eq!([to_ron(&game, &again), to_json(&game, &again)], texts);
    let again = from_ron(&game, &texts[0]).unwrap().load(&mut game).unwrap();
    assert_eq!(again.applied.replaced, 0);

    let mut map = EntityHashMap::default();
    let both = PairSnapshot::take(&mut game, PairFilter::all().sources([ann, ben])).unwrap();
    both.apply_mapped(&mut game, &mut map).unwrap();
    assert_eq!(map.len(), 2, "no entity stands for none");
    assert_eq!(game.pair_value::<Ordered>(map[&ben], map[&ann]), Some(&Ordered { by: none }));
}

/// Files that were edited by hand, or by an enemy.
#[test]
fn hostile_files_about_prefabs_are_refused_and_change_nothing() {
    let mut game = World::new();
    let made = prefabs(&mut game);
    let instance = game.instantiate(made.tank).unwrap();
    game.insert_pair(instance, Ordered { by: made.turret }, made.turret).unwrap();
    let saved = take(&mut game).to_saved(&game).unwrap();
    let text = to_ron(&game, &saved);
    let cases = [
        // One prefab by two numbers, a path that leads nowhere, that is empty, that is no prefab's.
        (text.replace("Prefab(\"Tank.turret\")", "Prefab(\"Tank\")"), "are the same in the world"),
        (text.replace("Prefab(\"Tank\")", "Prefab(\"Tank.turret.\")"), "make each prefab once"),
        (text.replace("Prefab(\"Tank\")", "Prefab(\"\")"), "make each prefab once"),
        (text.replace("Prefab(\"Tank\")", "Prefab(\"Stone\")"), "make each prefab once"),
    ];
    for (number, (wrong, expected)) in cases.into_iter().enumerate() {
        assert_ne!(wrong, text, "{number}");
        let mut other = World::new();
        record_errors_of(&mut other);
        // The file has pairs of it.
        other.register_relation::<ChildOf>().unwrap();
        let made = prefabs(&mut other);
        other.spawn(Name::new("Stone"));
        let (before, entities) = (of_prefabs(&other, &made), other.query::<Entity>().iter(&other).count());
        let error = from_ron(&other, &wrong)
            .and_then(|saved| saved.load(&mut other).map_err(|error| error.to_string()));
        let error = error.unwrap_err();
        assert!(error.contains(expected), "{number}: {error}");
        assert_eq!(of_prefabs(&other, &made), before, "{number}");
        assert_eq!(other.query::<Entity>().iter(&other).count(), entities, "{number}");
        other.check_pairs().unwrap();
    }
    // The number of no entity as the end of a pair.
    let mut wrong = from_ron(&game, &text).unwrap();
    wrong.relations[0].pairs[0].source = u32::MAX - 1;
    let error = wrong.load(&mut game).unwrap_err().to_string();
    assert!(error.contains("source: there is no entity 4294967294"), "{error}");
    // Aliases in a circle end, and lead to nothing that is known.
    game.add_relation_alias("Ordered", "Queued")
        .add_relation_alias("Queued", "Enqueued")
        .add_relation_alias("Enqueued", "Queued");
    let error = from_ron(&game, &text).unwrap().load(&mut game).unwrap_err();
    assert!(matches!(error, LoadError::UnknownRelation { .. }), "{error}");
}

/// Bevy leaves an entity in `Children` when its `ChildOf` is moved to another entity.
#[test]
fn pairs_of_what_a_prefab_still_lists_as_a_child_are_saved() {
    let mut game = World::new();
    register_types(&mut game);
    game.register_relation::<Wired>().unwrap();
    let tank = game.spawn(Name::new("Tank")).id();
    let [left, part, lamp] = ["left", "part", "lamp"].map(|name| game.spawn(Name::new(name)).id());
    game.entity_mut(left).insert(ChildOf(tank)).move_components::<ChildOf>(part);
    game.entity_mut(tank).insert(Prefab);
    game.insert_pair(left, Wired, lamp).unwrap();
    let saved = take(&mut game).to_saved(&game).unwrap();
    assert!(to_ron(&game, &saved).contains("Wired"));
}
