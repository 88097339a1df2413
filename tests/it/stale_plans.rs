//! What an insertion means is decided for the world that it changes: observers whose commands run in the middle of
//! an operation find rules kept, however late they come.

use crate::common::{spawn, take_errors, world_that_records_errors};
use bevy_ecs::{component::ComponentId, hierarchy::ChildOf, prelude::*};
use bevy_relations::{
    error::{InsertPairError, PairRole},
    prelude::*,
    relation::Wildcard,
};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

#[derive(Relation)]
struct Likes;

#[derive(Relation, Clone, Default, Debug, PartialEq)]
struct Eats(u32);

#[derive(Relation, Clone, Default, Debug, PartialEq)]
#[relation(exclusive)]
struct Docked(u32);

#[derive(Relation, Clone, Default, Debug, PartialEq)]
#[relation(acyclic)]
struct Below(u32);

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct MountedOn;

#[derive(Relation, Clone, Default, Debug, PartialEq)]
#[relation(exclusive, symmetric)]
struct Married(u32);

#[derive(Relation)]
#[relation(with(Docked, Below))]
struct Serves;

#[derive(Relation)]
#[relation(with = ChildOf)]
struct Inside;

#[derive(Relation)]
#[relation(one_of)]
struct Phase;

#[derive(Component)]
struct Armor;

/// Runs `act` as a command of an observer, once: when `entity` gets the hidden marker of entities with pairs.
pub(crate) fn when_marked(
    world: &mut World,
    entity: Entity,
    act: impl FnOnce(&mut World) + Send + Sync + 'static,
) {
    let observer = acting(entity, act).with_component(marker(world));
    world.spawn(observer);
}

/// As [`when_marked`], by an observer of every insertion. Bevy triggers it for those that others observe.
fn when_marked_by_all(
    world: &mut World,
    entity: Entity,
    act: impl FnOnce(&mut World) + Send + Sync + 'static,
) {
    let observer = Observer::new(|_: On<Insert<()>>| ()).with_component(marker(world));
    world.spawn(observer);
    world.spawn(acting(entity, act));
}

fn acting(entity: Entity, act: impl FnOnce(&mut World) + Send + Sync + 'static) -> Observer {
    let mut act = Some(act);
    Observer::new(move |on: On<Insert<()>>, mut commands: Commands| {
        if on.entity == entity
            && let Some(act) = act.take()
        {
            commands.queue(act);
        }
    })
}

/// The id of the marker: the only component of an entity that has nothing but a pair.
fn marker(world: &mut World) -> ComponentId {
    let [a, b] = spawn(world);
    world.insert_pair(a, Likes, b).unwrap();
    world.entity(a).archetype().components()[0]
}

/// A world in which everything that the tests use is registered.
fn world() -> World {
    let mut world = world_that_records_errors();
    world.register_relation::<Likes>().unwrap();
    world.register_relation::<Eats>().unwrap();
    world.register_relation::<MountedOn>().unwrap();
    world.register_relation::<Married>().unwrap();
    world.register_relation::<Serves>().unwrap();
    world.register_relation::<Phase>().unwrap();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Likes, b).unwrap();
    world
}

fn targets<R: Relation>(world: &World, source: Entity) -> Vec<Entity> {
    world.pairs::<R>().targets(source).collect()
}

#[test]
fn an_exclusive_pair_replaces_one_that_an_observer_inserts_meanwhile() {
    for by_all in [false, true] {
        let mut world = world();
        let [a, old, new] = spawn(&mut world);
        let act = move |world: &mut World| world.insert_pair(a, Docked(1), old).unwrap();
        match by_all {
            false => when_marked(&mut world, new, act),
            true => when_marked_by_all(&mut world, new, act),
        }
        world.insert_pair(a, Docked(2), new).unwrap();
        assert_eq!(targets::<Docked>(&world, a), [new], "by all: {by_all}");
        assert_eq!(world.pair_value::<Docked>(a, new), Some(&Docked(2)));
        world.check_pairs().unwrap();
        let [b, old, new] = spawn(&mut world);
        when_marked(&mut world, new, move |world| world.insert_pair(b, MountedOn, old).unwrap());
        world.insert_pair(b, MountedOn, new).unwrap();
        assert_eq!(targets::<MountedOn>(&world, b), [new], "by all: {by_all}");
        world.check_pairs().unwrap();
    }
}

#[test]
fn the_same_pair_inserted_meanwhile_is_replaced() {
    let mut world = world();
    let [a, b] = spawn(&mut world);
    when_marked(&mut world, b, move |world| world.insert_pair(a, Eats(1), b).unwrap());
    world.insert_pair(a, Eats(2), b).unwrap();
    assert_eq!((targets::<Eats>(&world, a), world.pair_value::<Eats>(a, b)), (vec![b], Some(&Eats(2))));
    world.check_pairs().unwrap();
}

#[test]
fn a_pair_that_closes_a_cycle_by_then_is_refused() {
    let mut world = world();
    let [a, b] = spawn(&mut world);
    when_marked(&mut world, b, move |world| world.insert_pair(b, Below(1), a).unwrap());
    let error = world.insert_pair(a, Below(2), b).unwrap_err();
    assert!(matches!(error, InsertPairError::Cycle { .. }), "{error}");
    assert_eq!((targets::<Below>(&world, a), targets::<Below>(&world, b)), (vec![], vec![a]));
    world.check_pairs().unwrap();
}

#[test]
fn an_exclusive_symmetric_pair_releases_partners_found_meanwhile() {
    let mut world = world();
    let [a, b, c, d] = spawn(&mut world);
    when_marked(&mut world, b, move |world| {
        world.insert_pair(a, Married(1), c).unwrap();
        world.insert_pair(b, Married(2), d).unwrap();
    });
    world.insert_pair(a, Married(3), b).unwrap();
    assert_eq!([a, b, c, d].map(|e| targets::<Married>(&world, e)), [vec![b], vec![a], vec![], vec![]]);
    world.check_pairs().unwrap();
}

#[test]
fn companions_keep_their_rules_however_late_an_observer_comes() {
    let mut world = world();
    let [a, b, c] = spawn(&mut world);
    when_marked(&mut world, b, move |world| world.insert_pair(a, Docked(1), c).unwrap());
    world.insert_pair(a, Serves, b).unwrap();
    assert_eq!((targets::<Docked>(&world, a), targets::<Below>(&world, a)), (vec![b], vec![b]));
    world.check_pairs().unwrap();
    let [a, b] = spawn(&mut world);
    when_marked(&mut world, b, move |world| world.insert_pair(b, Below(1), a).unwrap());
    let error = world.insert_pair(a, Serves, b).unwrap_err();
    assert!(matches!(error, InsertPairError::Cycle { .. }), "{error}");
    assert!(world.pairs_of(a).is_empty(), "neither the pair nor a companion");
    world.check_pairs().unwrap();
}

#[test]
fn a_target_made_final_meanwhile_has_no_heirs() {
    let mut world = world();
    let [a, base] = spawn(&mut world);
    when_marked(&mut world, a, move |world| {
        world.set_traits(base, RelationTraits::new().is_final()).unwrap();
    });
    let error = world.insert_pair(a, IsA, base).unwrap_err();
    assert!(matches!(error, InsertPairError::Final { .. }), "{error}");
    world.check_pairs().unwrap();
}

#[test]
fn a_target_taken_out_of_its_scope_meanwhile_is_refused() {
    let mut world = world();
    let phase = world.entity_of::<Phase>();
    let [a] = spawn(&mut world);
    let solid = world.spawn(ChildOf(phase)).id();
    when_marked(&mut world, a, move |world| {
        world.entity_mut(solid).remove::<ChildOf>();
    });
    let error = world.insert_pair(a, Phase, solid).unwrap_err();
    assert!(matches!(error, InsertPairError::NotOneOf { .. }), "{error}");
    assert!(world.pairs_of(a).is_empty());
    world.check_pairs().unwrap();
}

#[test]
fn an_adopted_pair_that_closes_a_cycle_by_then_is_refused() {
    let mut world = world();
    let [a, b] = spawn(&mut world);
    when_marked(&mut world, b, move |world| _ = world.entity_mut(b).insert(ChildOf(a)));
    let error = world.insert_pair(a, ChildOf(b), b).unwrap_err();
    assert!(matches!(error, InsertPairError::Cycle { .. }), "{error}");
    let [c, d] = spawn(&mut world);
    when_marked(&mut world, d, move |world| _ = world.entity_mut(d).insert(ChildOf(c)));
    let error = world.insert_pair(c, Inside, d).unwrap_err();
    assert!(matches!(error, InsertPairError::Cycle { .. }), "{error}");
    assert!(targets::<Inside>(&world, c).is_empty());
    for (child, parent) in [(b, a), (d, c)] {
        assert_eq!(world.get::<ChildOf>(child), Some(&ChildOf(parent)));
        assert!(world.get::<ChildOf>(parent).is_none());
    }
    assert_eq!(take_errors(), []);
    world.check_pairs().unwrap();
}

#[test]
fn an_end_or_a_relation_that_dies_meanwhile_is_an_error_that_leaves_nothing() {
    for victim in 0..3 {
        let mut world = world();
        let relation = world.spawn_relation("R", RelationTraits::new().data_or_default::<u32>()).unwrap();
        let [a, b] = spawn(&mut world);
        let (dead, role) =
            [(a, PairRole::Source), (b, PairRole::Target), (relation, PairRole::Relation)][victim];
        when_marked(&mut world, b, move |world| {
            world.despawn(dead);
            // Takes the number of the relation that is gone.
            let other = world.spawn_relation("other", RelationTraits::new()).unwrap();
            let [x, y] = spawn(world);
            world.insert_pair_by_id(x, (other, y)).unwrap();
        });
        let error = world.insert_pair_by_id(a, (relation, b)).unwrap_err();
        assert!(matches!(error, InsertPairError::Dead { dead, .. } if dead == role), "{error}");
        assert!(error.to_string().contains("(R, "), "it names the relation: {error}");
        assert!(world.pairs_of(a).is_empty() && world.pairs_to(b).is_empty());
        world.check_pairs().unwrap();
    }
}

#[test]
fn the_long_way_of_a_tag_relation_looks_again_too() {
    for victim in 0..3 {
        let mut world = world();
        let relation = world.spawn_relation("R", RelationTraits::new()).unwrap();
        let [a, b, c, d] = spawn(&mut world);
        world.insert_pair_by_id(c, (relation, d)).unwrap();
        let dead = [a, b, relation][victim];
        when_marked(&mut world, b, move |world| {
            world.despawn(dead);
            let other = world.spawn_relation("other", RelationTraits::new()).unwrap();
            world.insert_pair_by_id(c, (other, d)).unwrap();
        });
        world.insert_pair_by_id(a, (relation, b)).unwrap_err();
        assert!(world.pairs_of(a).is_empty() && world.pairs_to(b).is_empty());
        world.check_pairs().unwrap();
    }
}

#[test]
fn every_other_verb_looks_again_too() {
    type Verb = fn(&mut World, Entity, Entity);
    let verbs: [(&str, Verb); 8] = [
        ("insert_pairs", |world, a, b| world.insert_pair_batch([(a, Docked(2), b)]).unwrap()),
        ("value by id", |world, a, b| {
            let docked = world.entity_of::<Docked>();
            world.insert_pair_value_by_id(a, (docked, b), Docked(2)).unwrap();
        }),
        ("entity", |world, a, b| _ = world.entity_mut(a).insert_pair(Docked(2), b).unwrap()),
        ("bundle", |world, a, b| _ = world.entity_mut(a).insert(Pair(Docked(2), b))),
        ("pairs!", |world, a, b| _ = world.entity_mut(a).insert(pairs![(Docked(2), b)])),
        ("commands", |world, a, b| {
            world.commands().entity(a).insert_pair(Docked(2), b);
            world.flush();
        }),
        ("batch of commands", |world, a, b| {
            world.commands().pair_batch::<Docked>().insert(a, Docked(2), b);
            world.flush();
        }),
        ("companion", |world, a, b| world.insert_pair(a, Serves, b).unwrap()),
    ];
    for (name, verb) in verbs {
        let mut world = world();
        let [a, b, c] = spawn(&mut world);
        when_marked(&mut world, b, move |world| world.insert_pair(a, Docked(1), c).unwrap());
        verb(&mut world, a, b);
        assert_eq!(targets::<Docked>(&world, a), [b], "{name}");
        assert_eq!(take_errors(), [], "{name}");
        world.check_pairs().unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn batches_whose_entities_despawn_each_other_store_what_is_alive() {
    let mut world = world();
    let [target] = spawn(&mut world);
    world.insert_pair(target, Likes, target).unwrap();
    world.add_observer(|on: On<Add<Armor>>, mut commands: Commands| commands.entity(on.entity).despawn());
    // Finds out that there are no observers of pairs.
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Eats(1), b).unwrap();
    world.remove_pair::<Eats>(a, b);
    let spawned = world.spawn_batch_with_pair([(Armor, Likes, target), (Armor, Likes, target)]);
    assert_eq!(take_errors().len(), 2);
    assert!(spawned.iter().all(|&entity| world.get_entity(entity).is_err()));
    assert_eq!(world.pairs::<Likes>().source_count(target), 1);
    world.check_pairs().unwrap();
}

#[test]
fn sources_whose_target_despawns_meanwhile_are_reported() {
    let mut world = world();
    world.add_observer(|on: On<Add<Armor>>, mut commands: Commands, parents: Query<Entity, With<Name>>| {
        assert!(!parents.contains(on.entity));
        parents.iter().for_each(|parent| commands.entity(parent).despawn());
    });
    world.spawn((Name::new("ship"), sources![Eats: Armor, ()]));
    assert_eq!(take_errors().len(), 2);
    assert!(world.pairs::<Eats>().is_empty());
    world.check_pairs().unwrap();
}

#[test]
fn observers_of_a_pair_that_gives_way_come_after_the_pair_that_takes_its_place() {
    let mut world = world();
    let [a, b, c, d] = spawn(&mut world);
    world.insert_pair(a, Docked(1), b).unwrap();
    let mut once = true;
    world.add_observer(move |on: On<PairRemoved<Docked>>, mut commands: Commands| {
        if core::mem::take(&mut once) {
            commands.entity(on.source).insert_pair(Docked(9), d);
            commands.entity(b).despawn();
        }
    });
    world.insert_pair(a, Docked(2), c).unwrap();
    assert_eq!(targets::<Docked>(&world, a), [d]);
    assert_eq!(world.pair_value::<Docked>(a, d), Some(&Docked(9)));
    world.check_pairs().unwrap();
}

#[test]
fn a_removal_takes_no_pair_that_came_while_it_went_on() {
    let mut world = world();
    let [old, new] = spawn(&mut world);
    let [a, b] = [(); 2].map(|()| world.spawn(ChildOf(old)).id());
    let mut once = true;
    world.add_observer(move |on: On<Remove<ChildOf>>, mut commands: Commands| {
        if core::mem::take(&mut once) {
            let other = if on.entity == a { b } else { a };
            commands.entity(other).insert(ChildOf(new));
        }
    });
    let child_of = world.entity_of::<ChildOf>();
    world.remove_pairs_everywhere(PairId::new(child_of, old));
    assert_eq!(world.pairs::<ChildOf>().source_count(new), 1, "the one that has moved stays where it is");
    assert_eq!(world.pairs::<ChildOf>().source_count(old), 0);
    world.check_pairs().unwrap();
}

#[test]
fn an_adopted_pair_whose_component_goes_while_its_value_is_replaced_is_gone() {
    #[derive(Component, Debug, PartialEq)]
    #[relationship(relationship_target = Crew)]
    struct CrewOf {
        #[relationship]
        ship: Entity,
        rank: u32,
    }
    #[derive(Component)]
    #[relationship_target(relationship = CrewOf)]
    struct Crew(Vec<Entity>);
    let mut world = world();
    let [a, ship] = spawn(&mut world);
    world.insert_pair(a, CrewOf { ship, rank: 1 }, ship).unwrap();
    let mut once = true;
    world.add_observer(move |on: On<Insert<CrewOf>>, mut commands: Commands| {
        if core::mem::take(&mut once) {
            commands.entity(on.entity).remove::<CrewOf>();
        }
    });
    world.insert_pair(a, CrewOf { ship, rank: 2 }, ship).unwrap();
    assert!(world.get::<CrewOf>(a).is_none() && world.get::<Crew>(ship).is_none_or(|crew| crew.0.is_empty()));
    assert!(targets::<CrewOf>(&world, a).is_empty(), "the pair has gone with its component");
    world.check_pairs().unwrap();
}

#[test]
fn a_relation_type_used_while_it_is_being_registered_keeps_its_traits() {
    let mut world = world_that_records_errors();
    let [a, b, c] = spawn(&mut world);
    let depth = Arc::new(AtomicUsize::new(0));
    let counter = depth.clone();
    // Whatever is spawned or marked, an observer uses the relation at once.
    world.add_observer(move |_: On<Insert<()>>, mut commands: Commands| {
        if counter.fetch_add(1, Ordering::Relaxed) < 20 {
            commands.entity(a).insert_pair(Docked(1), c);
            commands.entity(c).insert_pair(Below(1), a);
        }
    });
    world.insert_pair(a, Docked(2), b).unwrap();
    world.insert_pair(a, Below(2), b).unwrap();
    assert!(depth.load(Ordering::Relaxed) > 2);
    take_errors();
    assert_eq!(targets::<Docked>(&world, a).len(), 1);
    let relation = world.entity_of::<Docked>();
    assert!(world.traits_of(relation).unwrap().names().contains(&"exclusive"));
    let relation = world.entity_of::<Below>();
    assert!(world.traits_of(relation).unwrap().names().contains(&"acyclic"));
    world.check_pairs().unwrap();
}

#[test]
fn traits_are_not_set_on_a_relation_that_got_a_pair_meanwhile() {
    let mut world = world_that_records_errors();
    let [a, b, c] = spawn(&mut world);
    let relation = world.spawn_relation("R", RelationTraits::new()).unwrap();
    let mut once = true;
    let observer = Observer::new(move |_: On<Insert<()>>, mut commands: Commands| {
        if core::mem::take(&mut once) {
            commands.queue(move |world: &mut World| {
                world.insert_pair_by_id(a, (relation, b)).unwrap();
                world.insert_pair_by_id(a, (relation, c)).unwrap();
            });
        }
    });
    let marker = marker(&mut world);
    world.spawn(observer.with_component(marker));
    // The companion is a type that gets its entity now.
    let error = world.set_traits(relation, RelationTraits::new().exclusive().with::<Eats>()).unwrap_err();
    assert!(error.to_string().contains('R'), "{error}");
    assert_eq!(world.pairs_by_id(relation).target_count(a), 2);
    world.check_pairs().unwrap();
}

#[test]
fn clearing_pairs_leaves_the_traits_of_what_observers_insert_again() {
    let mut world = world_that_records_errors();
    let [a, b] = spawn(&mut world);
    let relation = world.spawn_relation("R", RelationTraits::new()).unwrap();
    world.insert_pair_by_id(a, (relation, b)).unwrap();
    world.add_observer(move |on: On<PairRemoved<Wildcard>>, mut commands: Commands| {
        commands.entity(on.source).insert_pair_by_id((on.relation, on.target));
        commands.entity(on.target).insert_pair_by_id((on.relation, on.source));
    });
    world.clear_pairs();
    assert_eq!(world.pairs_by_id(relation).len(), 2);
    world.set_traits(relation, RelationTraits::new().symmetric()).unwrap_err();
    assert_eq!(world.pairs_by_id(relation).len(), 2);
    world.check_pairs().unwrap();
}

/// The entities of resources that came with what `bring` did.
fn resources_of(world: &mut World, bring: impl FnOnce(&mut World)) -> Vec<Entity> {
    let entities = |world: &World| -> Vec<Entity> {
        let ids = (0..world.components().len()).map(ComponentId::new);
        ids.filter_map(|id| world.resource_entities().get(id)).collect()
    };
    let before = entities(world);
    bring(world);
    let mut after = entities(world);
    after.retain(|entity| !before.contains(entity));
    after
}

/// A world, and the entity of the resource with its pairs, which is the first that comes.
fn world_and_store() -> (World, Entity) {
    let mut world = world_that_records_errors();
    let [a, b] = spawn(&mut world);
    let store = resources_of(&mut world, |world| world.insert_pair(a, Likes, b).unwrap())[0];
    (world, store)
}

#[derive(Relation)]
#[relation(exclusive)]
struct Keeps(#[expect(dead_code, reason = "it is dropped")] Arc<AtomicUsize>);

#[test]
fn a_store_that_goes_in_the_middle_of_an_insertion_is_an_error() {
    let value = Arc::new(AtomicUsize::new(0));
    for again in [false, true] {
        let (mut world, store) = world_and_store();
        world.register_relation::<Keeps>().unwrap();
        let [a, b] = spawn(&mut world);
        when_marked(&mut world, b, move |world| {
            assert!(world.despawn(store));
            if again {
                world.register_relation::<Likes>().unwrap();
            }
        });
        let error = world.insert_pair(a, Keeps(value.clone()), b).unwrap_err();
        assert!(matches!(error, InsertPairError::StoreRemoved { .. }), "{error}");
        assert_eq!(Arc::strong_count(&value), 1);
        world.check_pairs().unwrap();
        world.insert_pair(a, Keeps(value.clone()), b).unwrap();
        assert_eq!(Arc::strong_count(&value), 2);
        world.check_pairs().unwrap();
    }
}

#[test]
fn a_new_store_does_not_take_over_values_of_an_old_one() {
    let value = Arc::new(AtomicUsize::new(0));
    let (mut world, store) = world_and_store();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Keeps(value.clone()), b).unwrap();
    world.despawn(store);
    world.insert_pair(b, Keeps(value.clone()), a).unwrap();
    assert_eq!(Arc::strong_count(&value), 2);
    world.check_pairs().unwrap();
}

#[test]
fn a_pair_whose_values_have_no_place_any_more_is_refused_until_pairs_are_cleared() {
    let mut world = world();
    let [a, b] = spawn(&mut world);
    let column = resources_of(&mut world, |world| {
        world.register_relation::<Keeps>().unwrap();
    });
    assert_eq!(column.len(), 1);
    let value = Arc::new(AtomicUsize::new(0));
    world.insert_pair(a, Keeps(value.clone()), b).unwrap();
    world.despawn(column[0]);
    assert_eq!(Arc::strong_count(&value), 1);
    let error = world.insert_pair(b, Keeps(value.clone()), a).unwrap_err();
    assert!(matches!(error, InsertPairError::ValuesRemoved { .. }), "{error}");
    assert!(error.to_string().contains("Keeps"), "{error}");
    assert!(world.pairs_of(b).is_empty());
    // Another relation with such values makes room, which the pair without a value does not share.
    let other = world.spawn_relation("other", RelationTraits::new().data::<u8>()).unwrap();
    world.insert_pair_value_by_id(a, (other, b), 1_u8).unwrap();
    world.clear_pairs();
    world.insert_pair(b, Keeps(value.clone()), a).unwrap();
    assert_eq!(Arc::strong_count(&value), 2);
    world.check_pairs().unwrap();
}

#[test]
fn new_values_never_share_a_row_with_pairs_that_lost_theirs() {
    let mut world = world();
    let [a, b, c] = spawn(&mut world);
    let column = resources_of(&mut world, |world| {
        world.register_relation::<Counts>().unwrap();
    });
    for target in [a, b, c] {
        world.insert_pair(a, Counts(1), target).unwrap();
    }
    world.despawn(column[0]);
    let other = world.spawn_relation("other", RelationTraits::new().data::<Counts>()).unwrap();
    world.insert_pair_value_by_id(a, (other, b), Counts(7)).unwrap();
    world.insert_pair(b, Counts(8), b).unwrap();
    assert_eq!([a, b, c].map(|target| world.pair_value::<Counts>(a, target).is_some()), [false; 3]);
    let mut seen = Vec::new();
    world
        .run_system_cached_with(
            |In(()): In<()>, mut pairs: PairsMut<Counts>| {
                let mut seen = Vec::new();
                pairs.for_each_mut(|source, target, value| seen.push((source, target, value.0)));
                seen
            },
            (),
        )
        .into_iter()
        .for_each(|found| seen = found);
    assert_eq!(seen, [(b, b, 8)]);
    world.clear_pairs();
    world.check_pairs().unwrap();
}

#[derive(Relation, Clone, Debug, PartialEq)]
struct Counts(u32);
