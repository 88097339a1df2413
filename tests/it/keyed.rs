//! Keyed relations: a source has at most one pair per key, whichever way pairs are inserted.
//!
//! What a program can do here: insert a pair with a key that is free, that the pair has already, or that another pair has; by
//! every verb, batch, command and bundle, for relation types and relations made at run time; change several pairs at once;
//! let a rule refuse the pair, a function change its key, or a companion bring one; act in observers; despawn, clone, clear;
//! use types without a size, and keys whose comparison panics.

use crate::common::{
    panic_message, refused, spawn, take_reported_errors, targets, world_that_records_errors,
};
use bevy_ecs::{entity::EntityCloner, entity_disabling::Disabled, prelude::*, world::DeferredWorld};
use bevy_relations::{
    error::{InsertPairError, TraitsError},
    event::RemovalCause,
    prelude::*,
    query::ChangedPair,
    relation::{PairContext, PairRefusal},
    sources,
};
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) enum Slot {
    #[default]
    Head,
    Hand,
    Foot,
}
use Slot::{Foot, Hand, Head};

#[derive(Relation, Clone, Default, PartialEq, Debug)]
#[relation(key = Slot)]
pub(crate) struct Equips {
    slot: Slot,
    wear: u32,
}

pub(crate) fn equips(slot: Slot) -> Equips {
    Equips { slot, wear: 0 }
}

/// The value is its own key.
#[derive(Relation, PartialEq, Eq, Clone, Debug)]
#[relation(key = Self)]
enum Wears {
    Ring,
    Crown,
}

#[derive(Relation, Clone)]
#[relation(key = u8, acyclic)]
struct Feeds(u8, #[expect(dead_code, reason = "its references are counted")] Arc<()>);

#[derive(Relation)]
#[relation(with = Equips)]
struct Owns;

#[derive(Relation)]
#[relation(key = u8, validate = modulo)]
struct Cycles(u8);

/// Values are keys modulo 3, and none is 9.
fn modulo(cycles: &mut Cycles, _: &PairContext<'_>) -> Result<(), PairRefusal> {
    if cycles.0 == 9 {
        return Err("not nine".into());
    }
    cycles.0 %= 3;
    Ok(())
}

#[derive(Relation)]
#[relation(key = String, on_target_despawn = Despawn)]
struct Plugs {
    socket: String,
}

/// The slots of a source, in the order of its targets.
pub(crate) fn slots(world: &World, source: Entity) -> Vec<(Slot, Entity)> {
    world.pairs::<Equips>().values_of(source).map(|(target, value)| (value.slot, target)).collect()
}

#[derive(Resource, Default)]
pub(crate) struct Log(pub(crate) Vec<(&'static str, Entity, Option<Slot>)>);

fn world_that_logs() -> World {
    let mut world = world_that_records_errors();
    world.init_resource::<Log>();
    world.add_observer(|on: On<PairInserted<Equips>>, mut world: DeferredWorld| {
        let what = if on.replaced { "replaced" } else { "inserted" };
        let slot = world.pair_value::<Equips>(on.source, on.target).map(|value| value.slot);
        let entry = (what, on.target, slot);
        world.resource_mut::<Log>().0.push(entry);
    });
    world.add_observer(|on: On<PairRemoved<Equips>>, mut world: DeferredWorld| {
        let what = match on.cause {
            RemovalCause::Replaced => "gave way",
            RemovalCause::Removed => "removed",
            _ => "gone",
        };
        // It can still be read.
        let slot = world.pair_value::<Equips>(on.source, on.target).map(|value| value.slot);
        let entry = (what, on.target, slot);
        world.resource_mut::<Log>().0.push(entry);
    });
    world
}

pub(crate) fn take_log(world: &mut World) -> Vec<(&'static str, Entity, Option<Slot>)> {
    core::mem::take(&mut world.resource_mut::<Log>().0)
}

#[test]
fn a_pair_takes_the_place_of_the_one_that_has_its_key() {
    let mut world = world_that_logs();
    let [knight, other, helmet, hat, sword] = spawn(&mut world);
    world.insert_pair(knight, equips(Head), helmet).unwrap();
    world.insert_pair(knight, equips(Hand), sword).unwrap();
    world.insert_pair(other, equips(Head), helmet).unwrap();
    take_log(&mut world);
    world.insert_pair(knight, equips(Head), hat).unwrap();
    assert_eq!(slots(&world, knight), [(Hand, sword), (Head, hat)]);
    assert_eq!(slots(&world, other), [(Head, helmet)], "keys are those of one source");
    assert_eq!(take_log(&mut world), [("gave way", helmet, Some(Head)), ("inserted", hat, Some(Head))]);
    let pairs = world.pairs::<Equips>();
    assert_eq!(pairs.target_by_key(knight, &Head), Some(hat));
    assert_eq!(pairs.get_by_key(knight, &Hand), Some((sword, &equips(Hand))));
    assert_eq!(pairs.get_by_key(knight, &Foot), None);
    world.check_pairs().unwrap();
}

#[test]
fn the_same_target_with_another_key_moves_to_that_key() {
    let mut world = world_that_logs();
    let [knight, ring, glove] = spawn(&mut world);
    world.insert_pair(knight, equips(Hand), ring).unwrap();
    world.insert_pair(knight, equips(Head), glove).unwrap();
    take_log(&mut world);
    // To a key that is free,
    world.insert_pair(knight, equips(Foot), ring).unwrap();
    assert_eq!(take_log(&mut world), [("replaced", ring, Some(Foot))]);
    assert_eq!(slots(&world, knight), [(Foot, ring), (Head, glove)]);
    // to one that another pair has,
    world.insert_pair(knight, equips(Head), ring).unwrap();
    assert_eq!(take_log(&mut world), [("gave way", glove, Some(Head)), ("replaced", ring, Some(Head))]);
    assert_eq!(slots(&world, knight), [(Head, ring)]);
    // and to its own.
    world.insert_pair(knight, Equips { slot: Head, wear: 3 }, ring).unwrap();
    assert_eq!(take_log(&mut world), [("replaced", ring, Some(Head))]);
    assert_eq!(world.pair_value::<Equips>(knight, ring).unwrap().wear, 3);
    world.check_pairs().unwrap();
}

#[test]
fn pairs_are_found_and_removed_by_key() {
    let mut world = world_that_logs();
    let [knight, helmet, sword, boot] = spawn(&mut world);
    world
        .insert_pairs(knight, [(equips(Head), helmet), (equips(Hand), sword), (equips(Foot), boot)])
        .unwrap();
    take_log(&mut world);
    assert_eq!(world.pair_by_key::<Equips>(knight, &Hand), Some((sword, &equips(Hand))));
    assert_eq!(world.remove_pair_by_key::<Equips>(knight, &Hand), Some(sword));
    assert_eq!(world.remove_pair_by_key::<Equips>(knight, &Hand), None);
    assert_eq!(take_log(&mut world), [("removed", sword, Some(Hand))]);
    let mut entity = world.entity_mut(knight);
    assert_eq!(entity.pair_by_key::<Equips>(&Head).unwrap().0, helmet);
    entity.remove_pair_by_key::<Equips>(&Head);
    assert!(!entity.has_pair::<Equips>(helmet));
    world.commands().entity(knight).remove_pair_by_key::<Equips>(Foot);
    world.flush();
    assert!(world.pairs::<Equips>().is_empty());
    // A relation that was never used, and dead entities, have none.
    assert_eq!(world.pair_by_key::<Wears>(knight, &Wears::Ring), None);
    world.despawn(knight);
    assert_eq!(world.remove_pair_by_key::<Equips>(knight, &Head), None);
    world.commands().get_entity(helmet).unwrap().despawn();
    world.commands().entity(helmet).remove_pair_by_key::<Equips>(Head);
    world.flush();
    assert_eq!(take_reported_errors().len(), 1, "the source of a command is gone");
}

#[test]
fn every_way_of_inserting_obeys_the_rule() {
    let mut world = world_that_records_errors();
    let [knight, helmet, hat] = spawn(&mut world);
    type Way = fn(&mut World, Entity, Entity);
    let ways: [Way; 10] = [
        |world, source, target| world.insert_pair(source, equips(Head), target).unwrap(),
        |world, source, target| {
            world.entity_mut(source).insert_pair(equips(Head), target).unwrap();
        },
        |world, source, target| {
            world.commands().entity(source).insert_pair(equips(Head), target);
            world.flush();
        },
        |world, source, target| {
            world.commands().entity(source).try_insert_pair(equips(Head), target);
            world.flush();
        },
        |world, source, target| world.insert_pair_batch([(source, equips(Head), target)]).unwrap(),
        |world, source, target| {
            world.commands().pair_batch::<Equips>().insert(source, equips(Head), target);
            world.flush();
        },
        |world, source, target| {
            world.entity_mut(source).insert(pairs![(equips(Head), target)]);
        },
        |world, source, target| {
            world.commands().entity(source).insert(Pair(equips(Head), target));
            world.flush();
        },
        |world, source, target| {
            let relation = world.entity_of::<Equips>();
            world.insert_pair_value_by_id(source, (relation, target), equips(Head)).unwrap();
        },
        // The default is `Head`.
        |world, source, target| {
            let relation = world.entity_of::<Equips>();
            world.insert_pair_by_id(source, (relation, target)).unwrap();
        },
    ];
    let mut next = [helmet, hat].into_iter().cycle();
    for (number, way) in ways.into_iter().enumerate() {
        let target = next.next().unwrap();
        way(&mut world, knight, target);
        assert_eq!(slots(&world, knight), [(Head, target)], "way {number}");
        world.check_pairs().unwrap();
    }
    assert_eq!(take_reported_errors(), Vec::<String>::new());
}

#[test]
fn of_pairs_that_come_one_after_the_other_the_last_with_a_key_stays() {
    let mut world = world_that_records_errors();
    let [a, b, c] = spawn(&mut world);
    let knight = world.spawn(pairs![(equips(Head), a), (equips(Hand), b), (equips(Head), c)]).id();
    assert_eq!(slots(&world, knight), [(Hand, b), (Head, c)]);
    let batch = [(knight, equips(Hand), a), (knight, equips(Hand), b), (knight, equips(Hand), c)];
    world.insert_pair_batch(batch).unwrap();
    assert_eq!(slots(&world, knight), [(Hand, c)]);
    let spawned = world.spawn_batch_with_pair([((), equips(Head), a), ((), equips(Head), a)]);
    assert!(spawned.iter().all(|&knight| slots(&world, knight) == [(Head, a)]));
    // From the side of the target: each source has keys of its own.
    let helmet = world.spawn(sources![Equips: (), ()]).id();
    assert_eq!(world.pairs::<Equips>().source_count(helmet), 2);
    world.check_pairs().unwrap();
    assert_eq!(take_reported_errors(), Vec::<String>::new());
}

#[test]
fn a_value_may_be_its_own_key() {
    let mut world = World::new();
    let [queen, gold, silver, tiara] = spawn(&mut world);
    world.insert_pair(queen, Wears::Ring, gold).unwrap();
    world.insert_pair(queen, Wears::Crown, tiara).unwrap();
    world.insert_pair(queen, Wears::Ring, silver).unwrap();
    assert_eq!(world.pairs::<Wears>().target_by_key(queen, &Wears::Ring), Some(silver));
    assert_eq!(world.pairs::<Wears>().target_count(queen), 2);
    world.check_pairs().unwrap();
}

#[test]
fn a_pair_that_is_refused_lets_none_give_way() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    let value = Arc::new(());
    world.insert_pair(a, Feeds(1, value.clone()), b).unwrap();
    world.insert_pair(c, Feeds(1, value.clone()), a).unwrap();
    let error = refused(&mut world, |world| world.insert_pair(a, Feeds(1, value.clone()), c));
    assert!(matches!(error, InsertPairError::Cycle { .. }), "{error}");
    assert_eq!(Arc::strong_count(&value), 3);
    let dead = world.spawn_empty().id();
    world.despawn(dead);
    let error = refused(&mut world, |world| world.insert_pair(a, Feeds(1, value.clone()), dead));
    assert!(matches!(error, InsertPairError::Dead { .. }), "{error}");
    // What gives way takes its value along.
    let d = world.spawn_empty().id();
    world.insert_pair(a, Feeds(1, value.clone()), d).unwrap();
    assert_eq!(Arc::strong_count(&value), 3);
    world.despawn(a);
    assert_eq!(Arc::strong_count(&value), 1);
    world.check_pairs().unwrap();
}

#[test]
fn the_key_is_that_of_the_value_as_it_was_validated() {
    let mut world = World::new();
    let [wheel, a, b] = spawn(&mut world);
    world.insert_pair(wheel, Cycles(1), a).unwrap();
    world.insert_pair(wheel, Cycles(4), b).unwrap();
    assert!(world.pairs::<Cycles>().targets(wheel).eq([b]));
    assert_eq!(world.pairs::<Cycles>().target_by_key(wheel, &1), Some(b));
    let error = refused(&mut world, |world| world.insert_pair(wheel, Cycles(9), a));
    assert!(matches!(error, InsertPairError::Refused { .. }), "{error}");
}

#[test]
fn a_companion_has_the_key_of_its_default() {
    let mut world = world_that_logs();
    let [knight, helmet, hat] = spawn(&mut world);
    world.insert_pair(knight, equips(Head), helmet).unwrap();
    take_log(&mut world);
    world.insert_pair(knight, Owns, hat).unwrap();
    assert_eq!(take_log(&mut world), [("gave way", helmet, Some(Head)), ("inserted", hat, Some(Head))]);
    // One that is there already keeps its key.
    world.insert_pair(knight, equips(Foot), helmet).unwrap();
    world.insert_pair(knight, Owns, helmet).unwrap();
    assert_eq!(slots(&world, knight), [(Head, hat), (Foot, helmet)]);
    // Two at once would have one key.
    let [a, b] = spawn(&mut world);
    let error = refused(&mut world, |world| world.replace_targets(knight, [(Owns, a), (Owns, b)]));
    assert!(matches!(error, InsertPairError::SameKey { .. }), "{error}");
    world.check_pairs().unwrap();
}

#[test]
fn replacing_all_targets_keeps_one_pair_per_key_or_changes_nothing() {
    let mut world = world_that_logs();
    let [knight, helmet, hat, sword, boot] = spawn(&mut world);
    world.insert_pairs(knight, [(equips(Head), helmet), (equips(Hand), sword)]).unwrap();
    take_log(&mut world);
    // The helmet is not among the new targets: its key is free.
    world.replace_targets(knight, [(equips(Hand), sword), (equips(Head), hat)]).unwrap();
    assert_eq!(slots(&world, knight), [(Hand, sword), (Head, hat)]);
    assert_eq!(take_log(&mut world), [("removed", helmet, Some(Head)), ("inserted", hat, Some(Head))]);
    // Two of the new ones have one key.
    let new = [(equips(Foot), boot), (equips(Foot), helmet)];
    let error = refused(&mut world, |world| world.replace_targets(knight, new));
    assert!(matches!(error, InsertPairError::SameKey { .. }), "{error}");
    // A pair that stays as it is has the key.
    let new = [(equips(Foot), sword), (equips(Hand), boot)];
    let error = refused(&mut world, |world| world.replace_targets(knight, new));
    let text = error.to_string();
    let same_key = format!("the pair with {sword} is to be there as well, and has the same key");
    assert!(text.contains(&same_key), "{text}");
    assert!(take_log(&mut world).is_empty());
    world.check_pairs().unwrap();
}

#[test]
fn moved_sources_keep_their_keys() {
    let mut world = world_that_logs();
    let [a, b, c, from, to, other] = spawn(&mut world);
    world.insert_pair(a, equips(Head), from).unwrap();
    world.insert_pair(a, equips(Hand), other).unwrap();
    world.insert_pair(b, equips(Foot), from).unwrap();
    // It has both: the pair with `to` stays as it is.
    world.insert_pair(c, equips(Head), to).unwrap();
    world.insert_pair(c, equips(Hand), from).unwrap();
    assert_eq!(world.move_sources::<Equips>(from, to).unwrap(), 3);
    assert_eq!(slots(&world, a), [(Hand, other), (Head, to)]);
    assert_eq!(slots(&world, b), [(Foot, to)]);
    assert_eq!(slots(&world, c), [(Head, to)]);
    world.check_pairs().unwrap();
}

#[test]
fn what_goes_with_a_despawned_entity_frees_its_key() {
    let mut world = world_that_logs();
    let [knight, helmet, hat] = spawn(&mut world);
    world.insert_pair(knight, equips(Head), helmet).unwrap();
    world.despawn(helmet);
    assert_eq!(world.pair_by_key::<Equips>(knight, &Head), None);
    take_log(&mut world);
    world.insert_pair(knight, equips(Head), hat).unwrap();
    assert_eq!(take_log(&mut world), [("inserted", hat, Some(Head))]);
    // A policy of the relation holds for what is despawned, not for what gives way.
    let [lamp, first, second] = spawn(&mut world);
    let plug = || Plugs { socket: "left".into() };
    world.insert_pair(lamp, plug(), first).unwrap();
    world.insert_pair(lamp, plug(), second).unwrap();
    world.despawn(first);
    assert!(world.entities().contains_spawned(lamp));
    world.despawn(second);
    assert!(!world.entities().contains_spawned(lamp));
    world.check_pairs().unwrap();
}

#[test]
fn a_pair_of_a_disabled_entity_gives_way_too() {
    let mut world = World::new();
    let [helmet, hat] = spawn(&mut world);
    let knight = world.spawn((Disabled, Pair(equips(Head), helmet))).id();
    world.entity_mut(helmet).insert(Disabled);
    world.insert_pair(knight, equips(Head), hat).unwrap();
    assert_eq!(slots(&world, knight), [(Head, hat)]);
    world.check_pairs().unwrap();
}

#[test]
fn a_relation_made_at_run_time_has_keys_if_its_values_have() {
    let mut world = World::new();
    let traits = RelationTraits::new().keyed_data::<Equips>();
    let wields = world.spawn_relation("Wields", traits).unwrap();
    let [knight, a, b] = spawn(&mut world);
    world.insert_pair_value_by_id(knight, (wields, a), equips(Hand)).unwrap();
    // Keys are those of one relation.
    world.insert_pair(knight, equips(Hand), a).unwrap();
    world.insert_pair_value_by_id(knight, (wields, b), equips(Hand)).unwrap();
    assert_eq!(targets(&world, wields, knight), [b]);
    assert_eq!(world.pair_by_key_by_id::<Equips>(knight, wields, &Hand).unwrap().0, b);
    assert_eq!(world.pair_by_key::<Equips>(knight, &Hand).unwrap().0, a);
    // Without a value: the default, with the key `Head`.
    world.insert_pair_by_id(knight, (wields, a)).unwrap();
    assert_eq!(targets(&world, wields, knight), [b, a]);
    let error = refused(&mut world, |world| world.insert_pair_value_by_id(knight, (wields, a), 7_u8));
    assert!(matches!(error, InsertPairError::WrongValueType { .. }), "{error}");
    world.check_pairs().unwrap();
    world.despawn(wields);
    world.check_pairs().unwrap();
}

#[test]
fn a_key_contradicts_what_leaves_no_choice_of_targets() {
    let mut world = World::new();
    let keyed = || RelationTraits::new().keyed_data::<Equips>();
    let contradictory = [
        (keyed().exclusive(), "`key` contradicts `exclusive`"),
        (keyed().union(), "`key` contradicts `union`"),
        (keyed().symmetric(), "`key` contradicts `symmetric`"),
        (keyed().keyed_data::<Wears>(), "`key` is given two values"),
    ];
    for (traits, expected) in contradictory {
        let error = world.spawn_relation("R", traits).unwrap_err();
        assert!(error.to_string().ends_with(expected), "{error}");
    }
    assert!(world.spawn_relation("R", keyed().tag()).is_err());
    assert!(world.spawn_relation("R", keyed().acyclic().ordered()).is_ok());
    // A relation type has the key that it declares, or none.
    #[derive(Relation)]
    struct Owes(#[expect(dead_code, reason = "it is the value")] u8);
    let owes = world.register_relation::<Owes>().unwrap();
    assert!(matches!(world.set_traits(owes, keyed()), Err(TraitsError::Conflict { .. })));
    let child_of = world.entity_of::<ChildOf>();
    assert!(world.set_traits(child_of, keyed()).is_err());
    // A type without a size is no value.
    #[derive(Relation, PartialEq, Eq)]
    #[relation(key = Self)]
    enum Only {
        One,
    }
    let error = world.register_relation::<Only>().unwrap_err();
    assert!(matches!(error, TraitsError::KeyWithoutValue { .. }), "{error}");
    assert!(error.to_string().contains("a key of one variant alone, is not stored"), "{error}");
    let _ = Only::One;
}

#[test]
fn a_key_is_written_as_text_and_not_read() {
    let traits = Equips::traits();
    assert_eq!(traits.names(), ["key"]);
    assert_eq!(traits.to_string(), "key = Slot");
    let error = "exclusive, key = Slot".parse::<RelationTraits>().unwrap_err();
    let expected = "`key` cannot be read from text, since `key = Slot` names a type, an entity or a function: \
                    call `RelationTraits::keyed_data`";
    assert_eq!(error.to_string(), expected);
    assert!(serde_json::to_string(&traits).unwrap_err().to_string().contains("`key` names something"));
}

#[test]
fn clones_get_the_pairs_with_their_keys() {
    let mut world = world_that_records_errors();
    let [knight, helmet, sword] = spawn(&mut world);
    world.insert_pairs(knight, [(equips(Head), helmet), (equips(Hand), sword)]).unwrap();
    let clone = world.entity_mut(knight).clone_and_spawn();
    assert_eq!(slots(&world, clone), [(Head, helmet), (Hand, sword)]);
    // An entity that has pairs already: those of the clone take their places.
    let [target, hat, boot] = spawn(&mut world);
    world.insert_pairs(target, [(equips(Head), hat), (equips(Foot), boot)]).unwrap();
    EntityCloner::build_opt_out(&mut world).clone_entity(knight, target);
    world.flush();
    assert_eq!(slots(&world, target), [(Foot, boot), (Head, helmet), (Hand, sword)]);
    // With the targets.
    let root = world.spawn_empty().id();
    let [hero, shield] = [(); 2].map(|()| world.spawn(ChildOf(root)).id());
    world.insert_pair(hero, equips(Hand), shield).unwrap();
    let copy = world.spawn_empty().id();
    EntityCloner::build_opt_out(&mut world).linked_cloning(true).clone_entity(root, copy);
    world.flush();
    let copies: Vec<Entity> = world.pairs::<ChildOf>().sources(copy).collect();
    assert_eq!(slots(&world, copies[0]), [(Hand, copies[1])]);
    world.check_pairs().unwrap();
    assert_eq!(take_reported_errors(), Vec::<String>::new());
}

#[test]
fn keys_hold_after_everything_was_cleared() {
    let mut world = World::new();
    let [knight, helmet, hat] = spawn(&mut world);
    for _ in 0..2 {
        world.insert_pair(knight, equips(Head), helmet).unwrap();
        world.insert_pair(knight, equips(Head), hat).unwrap();
        assert_eq!(slots(&world, knight), [(Head, hat)]);
        world.check_pairs().unwrap();
        world.clear_pairs();
        assert_eq!(slots(&world, knight), []);
    }
}

#[test]
fn a_pair_that_moves_to_another_key_counts_as_changed() {
    let mut world = World::new();
    let [knight, ring] = spawn(&mut world);
    world.insert_pair(knight, equips(Head), ring).unwrap();
    let changed =
        world.register_system(|query: Query<Entity, ChangedPair<Equips>>| query.iter().collect::<Vec<_>>());
    assert_eq!(world.run_system(changed).unwrap(), [knight]);
    assert_eq!(world.run_system(changed).unwrap(), []);
    world.insert_pair(knight, equips(Foot), ring).unwrap();
    assert_eq!(world.run_system(changed).unwrap(), [knight]);
}

#[test]
fn a_comparison_of_keys_that_panics_changes_nothing() {
    #[derive(Debug)]
    struct Fussy(u8);
    impl PartialEq for Fussy {
        fn eq(&self, other: &Self) -> bool {
            assert!(self.0 < 9 && other.0 < 9, "fussy");
            self.0 == other.0
        }
    }
    impl Eq for Fussy {}
    #[derive(Relation)]
    #[relation(key = Fussy)]
    struct Picks(Fussy);
    let mut world = World::new();
    let [source, a, b] = spawn(&mut world);
    world.insert_pair(source, Picks(Fussy(1)), a).unwrap();
    let message = panic_message(|| world.insert_pair(source, Picks(Fussy(9)), b));
    assert_eq!(message.as_deref(), Some("fussy"));
    assert!(world.pairs::<Picks>().targets(source).eq([a]));
    world.check_pairs().unwrap();
    let message =
        panic_message(|| world.insert_pair_batch([(source, Picks(Fussy(9)), b), (b, Picks(Fussy(1)), a)]));
    assert_eq!(message.as_deref(), Some("fussy"));
    assert!(world.pairs::<Picks>().iter().eq([(source, a)]));
    world.check_pairs().unwrap();
    world.insert_pair(source, Picks(Fussy(1)), b).unwrap();
    assert!(world.pairs::<Picks>().targets(source).eq([b]));
    world.check_pairs().unwrap();
}
