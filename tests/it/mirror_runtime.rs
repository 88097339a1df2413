//! The component that shows the pairs of run-time relations: what it says, what writing it does, and how it is mapped.

use crate::common::{Random, fewer, spawn, take_reported_errors, world_that_records_errors};
use bevy_ecs::{
    change_detection::Tick,
    entity::{EntityCloner, EntityHashMap, SceneEntityMapper},
    prelude::*,
    reflect::AppTypeRegistry,
    relationship::RelationshipHookMode,
};
use bevy_reflect::{
    PartialReflect, Reflect,
    serde::{ReflectDeserializer, ReflectSerializer},
    std_traits::ReflectDefault,
};
use bevy_relations::{
    mirror::*,
    prelude::*,
    relation::{ReflectedData, Wildcard},
};
use serde::de::DeserializeSeed;
use std::collections::BTreeMap;

#[derive(Reflect, Clone, PartialEq, Default, Debug)]
#[reflect(Default)]
struct Trust(u32, Option<Entity>);

fn world() -> World {
    let mut world = world_that_records_errors();
    world.init_resource::<AppTypeRegistry>();
    world.resource::<AppTypeRegistry>().write().register::<Trust>();
    world.mirror_runtime_pairs();
    world
}

fn relation(world: &mut World, name: &'static str, traits: RelationTraits) -> Entity {
    world.spawn_relation(name, traits).unwrap()
}

fn said(world: &World, source: Entity) -> Vec<(Entity, Entity, Option<u32>)> {
    let Some(there) = world.get::<RuntimeMirroredPairs>(source) else { return Vec::new() };
    let pairs = there.pairs.iter().map(|pair| {
        let value = pair.value.as_ref().map(|value| value.get().try_downcast_ref::<Trust>().unwrap().0);
        (pair.relation.entity, pair.target.entity().unwrap(), value)
    });
    pairs.collect()
}

fn tick(world: &World, source: Entity) -> Option<Tick> {
    Some(world.entity(source).get_change_ticks::<RuntimeMirroredPairs>()?.changed)
}

#[test]
fn it_follows_relations_that_are_there_and_those_that_come() {
    let mut world = world_that_records_errors();
    let early = relation(&mut world, "early", RelationTraits::new());
    let [a, b, late] = spawn(&mut world);
    world.insert_pair_by_id(a, (early, b)).unwrap();
    world.mirror_runtime_pairs();
    assert_eq!(said(&world, a), [(early, b, None)]);
    // Any entity may become a relation, with its first pair.
    world.insert_pair_by_id(a, (late, a)).unwrap();
    assert_eq!(said(&world, a), [(early, b, None), (late, a, None)]);
    let before = tick(&world, a);
    world.increment_change_tick();
    world.insert_pair_by_id(a, (late, a)).unwrap();
    world.mirror_runtime_pairs();
    world.maintain_pairs();
    assert_eq!(tick(&world, a), before, "nothing has changed");
    world.remove_pairs_by_id(a, (early, b));
    assert_eq!(said(&world, a), [(late, a, None)]);
    world.despawn(late);
    assert!(world.get::<RuntimeMirroredPairs>(a).is_none());
    // It needs no observers.
    let third = relation(&mut world, "third", RelationTraits::new());
    let observers: Vec<Entity> = world.query_filtered::<Entity, With<Observer>>().iter(&world).collect();
    observers.into_iter().for_each(|observer| _ = world.try_despawn(observer));
    world.insert_pair_by_id(b, (third, a)).unwrap();
    world.maintain_pairs();
    assert_eq!(said(&world, b), [(third, a, None)]);
    world.insert_pair_by_id(b, (third, b)).unwrap();
    assert_eq!(said(&world, b).len(), 2);
    world.clear_pairs();
    assert!(world.get::<RuntimeMirroredPairs>(b).is_none());
    world.insert_pair_by_id(b, (third, b)).unwrap();
    assert_eq!(said(&world, b), [(third, b, None)]);
    world.check_pairs().unwrap();
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn a_new_name_is_in_it_and_transient_relations_are_not() {
    let mut world = world();
    let [a, b, rival] = spawn(&mut world);
    let hidden = relation(&mut world, "hidden", RelationTraits::new().transient());
    world.insert_pair_by_id(a, (hidden, b)).unwrap();
    assert!(world.get::<RuntimeMirroredPairs>(a).is_none());
    world.insert_pair_by_id(a, (rival, b)).unwrap();
    let name = |world: &World| world.get::<RuntimeMirroredPairs>(a).unwrap().pairs[0].relation.name.clone();
    assert_eq!(name(&world), None);
    world.entity_mut(rival).insert(Name::new("rival of"));
    world.maintain_pairs();
    assert_eq!(name(&world).as_deref(), Some("rival of"));
    // The pairs that it does not show are not those of the component.
    world.entity_mut(a).remove::<RuntimeMirroredPairs>();
    assert!(world.has_pair_by_id(a, (hidden, b)) && !world.has_pair_by_id(a, (rival, b)));
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn writing_it_changes_the_pairs_and_what_is_refused_is_put_right() {
    let mut world = world();
    let rival = relation(&mut world, "rival of", RelationTraits::new());
    let trusts = relation(&mut world, "trusts", RelationTraits::new().data::<Trust>());
    let under = relation(&mut world, "under", RelationTraits::new().exclusive().traversable());
    let [a, b, c] = spawn(&mut world);
    let pairs = [
        RuntimeMirroredPair::new(rival, b),
        RuntimeMirroredPair::new(trusts, c).with_value(Trust(3, Some(b))),
        RuntimeMirroredPair::new(under, b),
    ];
    world.entity_mut(a).insert(RuntimeMirroredPairs::from_iter(pairs.clone()));
    assert_eq!(said(&world, a), [(rival, b, None), (trusts, c, Some(3)), (under, b, None)]);
    assert_eq!(world.pair_value_by_id::<Trust>(a, (trusts, c)), Some(&Trust(3, Some(b))));
    assert_eq!(take_reported_errors(), [""; 0]);

    // A cycle in one relation; the others change.
    let cycle = [RuntimeMirroredPair::new(under, a), RuntimeMirroredPair::new(rival, c)];
    world.entity_mut(b).insert(RuntimeMirroredPairs::from_iter(cycle));
    assert_eq!(said(&world, b), [(rival, c, None)]);
    assert!(matches!(&*take_reported_errors(), [error] if error.contains("cycle")));

    // What is known by its name, and what is not.
    let mut gone = spawn::<2>(&mut world);
    gone.into_iter().for_each(|gone| _ = world.despawn(gone));
    gone.reverse();
    let named = |name: &str| RuntimeRelation { entity: gone[0], name: Some(name.into()) };
    world.spawn_relation("twin", RelationTraits::new()).unwrap();
    world.spawn_relation("twin", RelationTraits::new()).unwrap();
    let listed = [
        RuntimeMirroredPair::new(named("rival of"), b),
        RuntimeMirroredPair::new(named("nobody knows"), b),
        RuntimeMirroredPair::new(named("twin"), b),
        RuntimeMirroredPair::new(gone[1], b),
        RuntimeMirroredPair::new(rival, gone[0]),
        RuntimeMirroredPair::new(trusts, b).with_value(7_u32),
    ];
    world.entity_mut(c).insert(RuntimeMirroredPairs::from_iter(listed));
    assert_eq!(said(&world, c), [(rival, b, None), (trusts, b, Some(0))]);
    let errors = take_reported_errors();
    assert_eq!(errors.len(), 5, "{errors:#?}");
    for part in ["nobody knows", "several run-time relations of the name twin", "not alive", "Trust"] {
        assert!(errors.iter().any(|error| error.contains(part)), "{part}: {errors:#?}");
    }
    world.check_pairs().unwrap();
}

#[test]
fn it_is_written_and_read_by_reflection_and_mapped() {
    let mut old = world();
    let rival = relation(&mut old, "rival of", RelationTraits::new());
    let trusts = relation(&mut old, "trusts", RelationTraits::new().data::<Trust>());
    let script = relation(&mut old, "script", RelationTraits::new().reflected_data());
    let queue = relation(&mut old, "queue", RelationTraits::new().ordered());
    let [a, b, own] = spawn(&mut old);
    old.insert_pair_by_id(b, (queue, a)).unwrap();
    old.insert_pair_by_id(a, (queue, a)).unwrap();
    old.insert_pair_by_id(a, (rival, b)).unwrap();
    old.insert_pair_by_id(a, (own, b)).unwrap();
    old.insert_pair_value_by_id(a, (trusts, b), Trust(4, Some(a))).unwrap();
    old.insert_pair_value_by_id(a, (script, b), ReflectedData(Box::new(Trust(5, None)))).unwrap();
    let registry = old.resource::<AppTypeRegistry>().clone();
    let texts = [a, b].map(|entity| {
        let component = old.get::<RuntimeMirroredPairs>(entity).unwrap();
        let registry = registry.read();
        serde_json::to_value(ReflectSerializer::new(component.as_partial_reflect(), &registry)).unwrap()
    });

    let mut new = world();
    // Other entities have these numbers there.
    let others: [Entity; 20] = spawn(&mut new);
    let queue = relation(&mut new, "queue", RelationTraits::new().ordered());
    let script = relation(&mut new, "script", RelationTraits::new().reflected_data());
    let rival = relation(&mut new, "rival of", RelationTraits::new());
    let trusts = relation(&mut new, "trusts", RelationTraits::new().data::<Trust>());
    let registry = new.resource::<AppTypeRegistry>().clone();
    let registry = registry.read();
    // The relation that has no name is in the scene.
    let mut map = EntityHashMap::from_iter([(a, others[3]), (b, others[4]), (own, others[5])]);
    for round in 0..3 {
        for (entity, text) in [a, b].into_iter().zip(&texts) {
            let read: Box<dyn PartialReflect> =
                ReflectDeserializer::new(&registry).deserialize(text).unwrap();
            let reflect = registry
                .get_type_data::<ReflectComponent>(core::any::TypeId::of::<RuntimeMirroredPairs>())
                .unwrap();
            SceneEntityMapper::world_scope(&mut map, &mut new, |world, mapper| {
                let mut entity = world.entity_mut(mapper.get_mapped(entity));
                let mode = RelationshipHookMode::Skip;
                reflect.apply_or_insert_mapped(&mut entity, &*read, &registry, mapper, mode);
            });
        }
        new.update_mirrors();
        let [a, b, own] = [a, b, own].map(|entity| map[&entity]);
        let has = |relation, target| new.has_pair_by_id(a, (relation, target));
        assert!(has(rival, b) && has(own, b) && has(queue, a), "{round}: {:?}", take_reported_errors());
        assert_eq!(new.pair_value_by_id::<Trust>(a, (trusts, b)), Some(&Trust(4, Some(a))));
        let script = new.pair_value_by_id::<ReflectedData>(a, (script, b)).unwrap();
        assert_eq!(script.0.reflect_partial_eq(&Trust(5, None)), Some(true));
        assert!(new.pairs_by_id(queue).sources(a).eq([b, a]));
        new.check_pairs().unwrap();
        assert_eq!(take_reported_errors(), [""; 0]);
    }
}

#[test]
fn the_parts_of_an_instance_are_in_it() {
    use bevy_relations::prefab::{Prefab, SlotOf, WorldPrefabExt};
    let mut world = world();
    let prefab = world.spawn(Prefab).id();
    let turret = world.spawn((Name::new("turret"), ChildOf(prefab), Pair(SlotOf, prefab))).id();
    let ship = world.instantiate(prefab).unwrap();
    let own = world.pairs_by_id(turret).target(ship).unwrap();
    assert_eq!(said(&world, ship), [(turret, own, None)]);
}

/// Two prefabs with a slot of one name, deeper in the second: the prefabs, the part above the second slot, and the slots.
fn prefabs_with_engines(world: &mut World) -> ([Entity; 2], Entity, [Entity; 2]) {
    use bevy_relations::prefab::{Prefab, SlotOf};
    let [tank, ship] = ["Tank", "Ship"].map(|name| world.spawn((Prefab, Name::new(name))).id());
    let hull = world.spawn((Name::new("hull"), ChildOf(ship))).id();
    let slots = [(tank, tank), (hull, ship)].map(|(parent, prefab)| {
        world.spawn((Name::new("engine"), ChildOf(parent), Pair(SlotOf, prefab))).id()
    });
    ([tank, ship], hull, slots)
}

#[test]
fn slots_have_the_name_of_their_path_and_are_found_by_it() {
    use bevy_relations::prefab::WorldPrefabExt;
    let mut world = world();
    let (prefabs, hull, _) = prefabs_with_engines(&mut world);
    let instances = prefabs.map(|prefab| world.instantiate(prefab).unwrap());
    let shown = |world: &World, instance| world.get::<RuntimeMirroredPairs>(instance).unwrap().clone();
    let names = instances.map(|instance| shown(&world, instance).pairs[0].relation.name.clone().unwrap());
    assert_eq!(names, ["Tank.engine", "Ship.hull.engine"]);

    // In a world without instances no slot is a relation yet. `engine` alone may be either.
    let mut other = self::world();
    let (_, _, slots) = prefabs_with_engines(&mut other);
    let nowhere = other.spawn_empty().id();
    other.despawn(nowhere);
    let wanted = ["Tank.engine", "Ship.hull.engine", "engine", "Tank.hull.engine", "hull"];
    let results = wanted.map(|name| {
        let [ship, engine] = spawn(&mut other);
        let relation = RuntimeRelation { entity: nowhere, name: Some(name.into()) };
        let pairs: RuntimeMirroredPairs = [RuntimeMirroredPair::new(relation, engine)].into_iter().collect();
        other.entity_mut(ship).insert(pairs);
        slots.map(|slot| other.has_pair_by_id(ship, (slot, engine)))
    });
    assert_eq!(results, [[true, false], [false, true], [false; 2], [false; 2], [false; 2]]);
    other.maintain_pairs();
    let errors = take_reported_errors();
    assert_eq!(errors.len(), 3, "{errors:#?}");
    for (error, name) in errors.iter().zip(["engine", "Tank.hull.engine", "hull"]) {
        assert!(error.trim_end().ends_with(&format!(" {name}")), "{error}");
    }
    other.check_pairs().unwrap();

    // What is refused makes no relation: of a slot, nor of any other entity.
    let mut third = self::world();
    let (_, _, slots) = prefabs_with_engines(&mut third);
    let [ship, plain, gone] = spawn(&mut third);
    third.despawn(gone);
    let relations = [
        RuntimeRelation { entity: gone, name: Some("Tank.engine".into()) },
        RuntimeRelation { entity: plain, name: None },
    ];
    let pairs = relations.map(|relation| RuntimeMirroredPair::new(relation, gone));
    third.entity_mut(ship).insert(pairs.into_iter().collect::<RuntimeMirroredPairs>());
    third.maintain_pairs();
    assert_eq!(take_reported_errors().len(), 2);
    assert!([slots[0], plain].iter().all(|&entity| third.traits_of(entity).is_none()));
    assert!(third.get::<RuntimeMirroredPairs>(ship).is_none());
    third.check_pairs().unwrap();
    // They may become one all the same.
    third.insert_pair_by_id(ship, (plain, ship)).unwrap();
    assert_eq!(said(&third, ship), [(plain, ship, None)]);

    // Where a part above has another name, so has the slot.
    world.get_mut::<Name>(hull).unwrap().set("fuselage");
    world.maintain_pairs();
    assert_eq!(shown(&world, instances[1]).pairs[0].relation.name.as_deref(), Some("Ship.fuselage.engine"));
    let before = instances.map(|instance| tick(&world, instance));
    world.maintain_pairs();
    assert_eq!(instances.map(|instance| tick(&world, instance)), before);
}

#[test]
fn hostile_observers_are_answered_and_nothing_is_lost() {
    let mut world = world();
    let [a, b] = spawn(&mut world);
    let [one, two] = ["one", "two"].map(|name| relation(&mut world, name, RelationTraits::new()));
    // Despawns what is new, despawns the relation, and writes the component while it is written.
    world.add_observer(
        move |on: On<Insert<RuntimeMirroredPairs>>,
              world: Query<&RuntimeMirroredPairs>,
              mut commands: Commands| {
            if world.get(on.entity).is_ok_and(|said| said.targets(one).next().is_some()) {
                commands
                    .entity(on.entity)
                    .try_insert(RuntimeMirroredPairs::from_iter([RuntimeMirroredPair::new(two, on.entity)]));
            }
        },
    );
    world.insert_pair_by_id(a, (one, b)).unwrap();
    assert_eq!(said(&world, a), [(two, a, None)]);
    world.observe_pairs(
        PairId::with_relation(two),
        move |_: On<PairInserted<Wildcard>>, mut commands: Commands| {
            commands.entity(two).try_despawn();
        },
    );
    let listed = [RuntimeMirroredPair::new(two, a), RuntimeMirroredPair::new(two, b)];
    world.entity_mut(b).insert(RuntimeMirroredPairs::from_iter(listed));
    assert_eq!(said(&world, b), []);
    assert_eq!(said(&world, a), []);
    world.maintain_pairs();
    world.check_pairs().unwrap();
    // A relation that dies as it is announced.
    world.add_observer(|on: On<Add<Name>>, names: Query<&Name>, mut commands: Commands| {
        if names.get(on.entity).is_ok_and(|name| name.as_str() == "doomed") {
            commands.entity(on.entity).try_despawn();
        }
    });
    let doomed = world.spawn_relation("doomed", RelationTraits::new());
    assert!(doomed.is_err() || !world.entities().contains_spawned(doomed.unwrap()));
    world.maintain_pairs();
    world.check_pairs().unwrap();
    drop(take_reported_errors());
}

type Said = BTreeMap<Entity, (String, Tick)>;

/// Every component says what the pairs of its entity are, and no source is without one.
fn check(world: &mut World, relations: &[Entity], history: &[String]) -> Said {
    let mut all = Said::new();
    let entities: Vec<Entity> = world.query::<Entity>().iter(world).collect();
    for source in entities {
        let mut expected = Vec::new();
        for &relation in relations {
            let pairs = world.pairs_by_id(relation);
            let value = |target| world.pair_value_by_id::<Trust>(source, (relation, target)).map(|it| it.0);
            expected.extend(pairs.targets(source).map(|target| (relation, target, value(target))));
        }
        let mut found = said(world, source);
        // Of one relation in their order, which a stable sort keeps.
        let number = |it: &(Entity, Entity, Option<u32>)| relations.iter().position(|&r| r == it.0);
        found.sort_by_key(number);
        assert_eq!(found, expected, "{source}: {history:#?}");
        let there = world.get::<RuntimeMirroredPairs>(source);
        assert_eq!(there.is_some(), !expected.is_empty(), "{source}: {history:#?}");
        if let Some(there) = there {
            all.insert(source, (format!("{there:?}"), tick(world, source).unwrap()));
        }
    }
    all
}

/// The traits of a new relation. Companions may go, as they are not listed, and come again: that is written twice.
fn kind(random: &mut Random, others: &[Entity], with_companions: bool) -> RelationTraits {
    match random.below(8) {
        0 | 1 => RelationTraits::new(),
        2 => RelationTraits::new().data::<Trust>(),
        3 => RelationTraits::new().symmetric(),
        4 => RelationTraits::new().exclusive().traversable(),
        5 if with_companions && !others.is_empty() => RelationTraits::new().with_id(random.pick(others)),
        6 => RelationTraits::new().on_relation_despawn(CleanupPolicy::Despawn),
        _ => RelationTraits::new().ordered(),
    }
}

fn history(seed: u64, with_observers: bool) {
    let mut world = world();
    let mut random = Random(seed | 1);
    let mut entities = spawn::<5>(&mut world).to_vec();
    let mut relations: Vec<Entity> = Vec::new();
    for _ in 0..4 {
        let traits = kind(&mut random, &relations, with_observers);
        relations.push(world.spawn_relation("some", traits).unwrap());
    }
    if with_observers {
        world.add_observer(|on: On<PairInserted<Wildcard>>, mut commands: Commands| {
            if on.source == on.target {
                commands.entity(on.source).try_remove::<RuntimeMirroredPairs>();
            }
        });
    }
    let mut told = Vec::new();
    let mut before = Said::new();
    for _ in 0..fewer(60) {
        world.increment_change_tick();
        let (a, b, c) = (random.pick(&entities), random.pick(&entities), random.pick(&entities));
        let relation = random.pick(&relations);
        let step = random.below(12);
        told.push(format!("{step} of {relation}: {a} {b} {c}"));
        match step {
            0..=2 => _ = world.insert_pair_by_id(a, (relation, b)),
            3 => _ = world.insert_pair_value_by_id(a, (relation, b), Trust(random.below(3) as u32, None)),
            4 => _ = world.remove_pairs_by_id(a, (relation, b)),
            5 | 6 => {
                let listed = (0..random.below(4)).map(|_| {
                    let (relation, target) = (random.pick(&relations), random.pick(&entities));
                    RuntimeMirroredPair::new(relation, target).with_value(Trust(1, None))
                });
                let listed = RuntimeMirroredPairs::from_iter(listed.collect::<Vec<_>>());
                world.entity_mut(a).insert(listed);
            }
            7 => _ = world.entity_mut(a).remove::<RuntimeMirroredPairs>(),
            8 => {
                if let Some(there) = world.get::<RuntimeMirroredPairs>(a).cloned() {
                    world.entity_mut(b).insert(there);
                }
            }
            9 => entities.push(EntityCloner::build_opt_out(&mut world).finish().spawn_clone(&mut world, a)),
            10 => {
                let mut order: Vec<Entity> = world.pairs_by_id(relation).sources(b).collect();
                order.reverse();
                _ = world.order_sources_by_id(relation, b, &order);
                told.push(format!("order of {b}"));
            }
            _ if random.below(2) == 0 => {
                let old = random.below(relations.len());
                world.despawn(relations.swap_remove(old));
                let traits = kind(&mut random, &relations, with_observers);
                relations.push(world.spawn_relation("some", traits).unwrap());
            }
            _ => _ = world.despawn(a),
        }
        if random.below(4) == 0 {
            world.maintain_pairs();
        }
        entities.retain(|&entity| world.get_entity(entity).is_ok());
        while entities.len() < 4 {
            entities.push(world.spawn_empty().id());
        }
        entities.truncate(12);
        world.check_pairs().unwrap_or_else(|error| panic!("{error}: {told:#?}"));
        let now = check(&mut world, &relations, &told);
        for (source, (text, tick)) in &now {
            if let Some((old, then)) = before.get(source)
                && tick != then
                && !with_observers
            {
                let is_written = told.last().is_some_and(|last| last.contains(&format!("{source}")));
                assert!(old != text || is_written, "{source} is written and the same: {told:#?}");
            }
        }
        before = now;
    }
    drop(take_reported_errors());
}

#[test]
fn after_each_step_of_a_random_history_it_says_what_the_pairs_are() {
    for seed in 0..fewer(40) as u64 {
        history(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678, seed % 3 == 0);
    }
}
