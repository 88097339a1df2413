//! Islands against their definition: random changes of pairs, and after each the islands, their ids and the events that a plain
//! search over all pairs says there must be.

use crate::common::{Crew, CrewOf, Random, fewer, record_errors_of, take_errors};
use bevy_ecs::{entity_disabling::Disabled, prelude::*};
use bevy_relations::{
    event::{PairInsertedEvent, PairPattern, PairRemovedEvent},
    islands::*,
    prelude::*,
    relation::Wildcard,
};
use std::collections::{BTreeMap, BTreeSet};

type Members = BTreeMap<Entity, BTreeSet<Entity>>;
type Islands = BTreeMap<IslandId, BTreeSet<Entity>>;

/// What an event says. In the order in which the events of one change come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Told {
    Split(IslandId, IslandId),
    Merged(IslandId, IslandId),
    Removed(IslandId),
    Created(IslandId),
    Changed(IslandId),
}

#[derive(Resource, Default)]
struct Log(Vec<Told>);

/// The place of an event among those of one change.
fn order(told: &Told) -> u8 {
    match told {
        Told::Split(..) => 0,
        Told::Merged(..) => 1,
        Told::Removed(_) => 2,
        Told::Created(_) => 3,
        Told::Changed(_) => 4,
    }
}

fn listen<P: PairPattern>(world: &mut World) {
    world.init_resource::<Log>();
    world.add_observer(|on: On<IslandSplit<P>>, mut log: ResMut<Log>| {
        log.0.push(Told::Split(on.kept, on.new));
    });
    world.add_observer(|on: On<IslandsMerged<P>>, mut log: ResMut<Log>| {
        log.0.push(Told::Merged(on.kept, on.gone));
    });
    world.add_observer(|on: On<IslandRemoved<P>>, mut log: ResMut<Log>| log.0.push(Told::Removed(on.island)));
    world.add_observer(|on: On<IslandCreated<P>>, mut log: ResMut<Log>| log.0.push(Told::Created(on.island)));
    world.add_observer(|on: On<IslandChanged<P>>, mut log: ResMut<Log>| log.0.push(Told::Changed(on.island)));
}

/// The entities that hang together, by their neighbors: those among `members`, if given.
fn components(neighbors: &Members, members: Option<&BTreeSet<Entity>>) -> Vec<BTreeSet<Entity>> {
    let mut left: BTreeSet<Entity> = match members {
        Some(members) => members.iter().copied().filter(|entity| neighbors.contains_key(entity)).collect(),
        None => neighbors.keys().copied().collect(),
    };
    let mut found = Vec::new();
    while let Some(start) = left.pop_first() {
        let mut component = BTreeSet::from([start]);
        let mut ahead = vec![start];
        while let Some(entity) = ahead.pop() {
            for &next in &neighbors[&entity] {
                if left.remove(&next) {
                    component.insert(next);
                    ahead.push(next);
                }
            }
        }
        found.push(component);
    }
    found
}

/// What the islands must be after a change: for each the id that it keeps, if it keeps one; and which events must be triggered, in which ids
/// of new islands are those that they turned out to have.
fn expected(before: &Islands, now: &Islands, pairs: &[(Entity, Entity)]) -> BTreeSet<Told> {
    let mut neighbors = Members::new();
    for &(a, b) in pairs {
        neighbors.entry(a).or_default().insert(b);
        neighbors.entry(b).or_default().insert(a);
    }
    let (mut keeping, mut splitting, mut told) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (&id, members) in before {
        let mut pieces = components(&neighbors, Some(members));
        let lowest = |piece: &BTreeSet<Entity>| piece.iter().map(|entity| entity.index_u32()).min();
        pieces.sort_by_key(|piece| (core::cmp::Reverse(piece.len()), lowest(piece)));
        let mut pieces = pieces.into_iter();
        match pieces.next() {
            Some(largest) => keeping.push((id, largest)),
            None => _ = told.insert(Told::Removed(id)),
        }
        splitting.extend(pieces.map(|piece| (id, piece)));
    }
    let mut all = components(&neighbors, None);
    for component in &all {
        let mut olds: Vec<_> = keeping.iter().filter(|(_, piece)| piece.is_subset(component)).collect();
        olds.sort_by_key(|(id, piece)| (core::cmp::Reverse(piece.len()), *id));
        let (&actual, _) = now.iter().find(|(_, members)| *members == component).expect("an island for each");
        let Some(&(kept, _)) = olds.first().copied() else {
            assert!(before.keys().all(|&id| id < actual), "a new island got an old id");
            let pieces = splitting.iter().filter(|(_, piece)| piece.is_subset(component));
            let splits: Vec<_> = pieces.map(|&(id, _)| Told::Split(id, actual)).collect();
            if splits.is_empty() {
                told.insert(Told::Created(actual));
            }
            told.extend(splits);
            continue;
        };
        assert_eq!(actual, kept, "the id that stays");
        told.extend(olds[1..].iter().map(|&&(gone, _)| Told::Merged(kept, gone)));
        if before[&kept] != *component {
            told.insert(Told::Changed(kept));
        }
    }
    all.sort();
    let mut islands: Vec<_> = now.values().cloned().collect();
    islands.sort();
    assert_eq!(islands, all, "the islands are what hangs together");
    told
}

/// The ids that there are by the events.
fn followed(before: &Islands, told: &[Told]) -> BTreeSet<IslandId> {
    let mut ids: BTreeSet<IslandId> = before.keys().copied().collect();
    for &event in told {
        match event {
            Told::Split(kept, new) => {
                assert!(ids.contains(&kept), "{told:?}");
                // Pieces of two islands may become one new island.
                ids.insert(new);
            }
            Told::Merged(kept, gone) => assert!(ids.contains(&kept) && ids.remove(&gone), "{told:?}"),
            Told::Removed(id) => assert!(ids.remove(&id), "{told:?}"),
            Told::Created(id) => assert!(ids.insert(id), "{told:?}"),
            Told::Changed(id) => assert!(ids.contains(&id), "{told:?}"),
        }
    }
    ids
}

fn islands_of(view: IslandsView<'_>) -> Islands {
    assert_eq!(view.iter().count(), view.len());
    for (id, members) in view.iter() {
        assert!(view.contains(id) && view.size(id) == members.len() && !members.is_empty());
        assert!(members.iter().all(|&member| view.island(member) == Some(id)));
    }
    view.iter().map(|(id, members)| (id, members.iter().copied().collect())).collect()
}

/// Plays one step after the other, and compares. A step says whether it is one change, of which every event is known.
fn play(
    world: &mut World,
    relation: impl Fn(&World) -> Entity,
    steps: usize,
    mut step: impl FnMut(&mut World, &mut Random) -> (bool, String),
    seed: u64,
) {
    let mut random = Random(seed);
    let mut before = islands_of(world.islands_by_id(relation(world)).unwrap());
    for number in 0..steps {
        let (is_one, doing) = step(world, &mut random);
        let now = islands_of(world.islands_by_id(relation(world)).unwrap());
        let pairs: Vec<_> = world.pairs_by_id(relation(world)).iter().collect();
        let told = core::mem::take(&mut world.resource_mut::<Log>().0);
        let ids: BTreeSet<_> = now.keys().copied().collect();
        assert_eq!(followed(&before, &told), ids, "seed {seed}, step {number}: {doing}");
        if is_one {
            assert!(told.is_sorted_by_key(order), "{doing}: {told:?}");
            let sorted: BTreeSet<Told> = told.iter().copied().collect();
            assert_eq!(sorted.len(), told.len(), "seed {seed}, step {number}: {doing} tells twice: {told:?}");
            assert_eq!(sorted, expected(&before, &now, &pairs), "seed {seed}, step {number}: {doing}");
        } else {
            let all = expected(&Islands::new(), &now, &pairs);
            assert_eq!(all.len(), now.len(), "{doing}");
        }
        world.check_pairs().unwrap_or_else(|error| panic!("{error}: seed {seed}, step {number}: {doing}"));
        before = now;
    }
}

#[derive(Relation)]
struct Likes;

#[derive(Relation, Clone)]
struct Owes(#[expect(dead_code, reason = "it makes a value")] u32);

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo;

#[derive(Relation)]
#[relation(symmetric)]
struct Knows;

#[derive(Relation)]
#[relation(symmetric, exclusive)]
struct MarriedTo;

#[derive(Relation)]
#[relation(exclusive, traversable, on_target_despawn = Despawn)]
struct MountedOn;

#[derive(Relation)]
#[relation(ordered, with = Likes)]
struct Loves;

/// Another entity in the place of each that is gone.
fn replace_dead(world: &mut World, entities: &mut [Entity]) {
    for entity in entities {
        if world.get_entity(*entity).is_err() {
            *entity = world.spawn_empty().id();
        }
    }
}

/// Changes through the verbs for a relation type.
fn change<R: Relation>(
    world: &mut World,
    random: &mut Random,
    entities: &mut Vec<Entity>,
    value: fn(Entity) -> R,
) -> (bool, String) {
    let [a, b, c, d] = [(); 4].map(|()| random.pick(entities));
    let kind = random.below(32);
    let doing = format!("{kind} with {a}, {b}, {c}, {d}");
    match kind {
        0..=8 => _ = world.insert_pair(a, value(b), b),
        9..=12 => _ = world.remove_pair::<R>(a, b),
        13..=14 => _ = world.remove_pairs::<R>(a),
        15..=16 => {
            let batch = [(a, b), (c, d), (a, d)].map(|(source, target)| (source, value(target), target));
            let _ = world.insert_pair_batch(batch);
        }
        17 => _ = world.remove_pair_batch::<R>([(a, b), (b, a), (c, d), (d, a)]),
        18 => _ = world.remove_pairs_everywhere(PairId::with_target(b)),
        19 => _ = world.remove_pairs_by_id(a, PairId::ALL),
        20 => _ = world.try_despawn(a),
        21 => _ = world.get_entity_mut(a).map(|mut entity| entity.clear().id()),
        22 => _ = world.replace_targets(a, [(value(b), b), (value(c), c)]),
        23 => _ = world.replace_targets(a, [(value(b), b)]),
        24..=25 => _ = world.move_sources::<R>(a, b),
        26 => {
            let mut commands = world.commands();
            commands.entity(a).insert_pair(value(b), b).remove_pair::<R>(c);
            commands.entity(c).insert_pair(value(d), d).remove_pairs::<R>();
            world.flush();
        }
        27 => _ = world.get_entity_mut(a).map(|mut entity| entity.insert(Disabled).id()),
        28 if random.below(4) == 0 => world.clear_pairs(),
        29 if random.below(4) == 0 => {
            let relation = world.entity_of::<R>();
            world.despawn(relation);
            world.register_relation::<R>().unwrap();
        }
        30 => entities.push(world.spawn((pairs![(value(a), a)], Disabled)).id()),
        31 => _ = world.despawn_with_dependents(a),
        _ => {}
    }
    replace_dead(world, entities);
    entities.truncate(14);
    (![15, 16, 17, 26, 30].contains(&kind), doing)
}

fn play_type<R: Relation>(value: fn(Entity) -> R, is_one: bool) {
    for seed in 1..=fewer(6) as u64 {
        let mut world = World::new();
        record_errors_of(&mut world);
        world.track_islands::<R>().unwrap();
        listen::<R>(&mut world);
        let mut entities: Vec<Entity> = (0..12).map(|_| world.spawn_empty().id()).collect();
        let step = |world: &mut World, random: &mut Random| {
            let (one, doing) = change(world, random, &mut entities, value);
            (one && is_one, doing)
        };
        play(&mut world, entity_of::<R>, fewer(300), step, seed * 7919);
    }
    take_errors();
}

/// The entity of a relation type, which may become another.
fn entity_of<R: Relation>(world: &World) -> Entity {
    world.get_entity_of::<R>().unwrap()
}

#[test]
fn islands_are_what_pairs_connect_whatever_changes() {
    play_type(|_| Likes, true);
    play_type(|_| Owes(1), true);
    play_type(|_| Loves, true);
}

#[test]
fn islands_of_exclusive_and_symmetric_relations_are_what_pairs_connect() {
    play_type(|_| DockedTo, true);
    play_type(|_| Knows, true);
    play_type(|_| MarriedTo, true);
}

#[test]
fn islands_follow_cascades_of_despawns() {
    play_type(|_| MountedOn, false);
}

#[test]
fn islands_follow_bevys_relationships() {
    play_type(ChildOf, false);
    play_type(|ship| CrewOf { ship, wage: 1 }, false);
}

/// Changes of parents through Bevy's API.
#[test]
fn islands_follow_bevys_components() {
    for seed in 1..=fewer(6) as u64 {
        let mut world = World::new();
        record_errors_of(&mut world);
        world.track_islands::<ChildOf>().unwrap();
        world.track_islands::<CrewOf>().unwrap();
        listen::<CrewOf>(&mut world);
        let mut entities: Vec<Entity> = (0..12).map(|_| world.spawn_empty().id()).collect();
        let step = |world: &mut World, random: &mut Random| {
            let [a, b, c] = [(); 3].map(|()| random.pick(&entities));
            let kind = random.below(10);
            match kind {
                0..=2 => _ = world.entity_mut(a).insert((CrewOf { ship: b, wage: 2 }, ChildOf(c))),
                3..=4 => _ = world.entity_mut(a).remove::<CrewOf>(),
                5 => _ = world.entity_mut(a).remove::<Crew>(),
                6 => _ = world.entity_mut(a).insert(CrewOf { ship: b, wage: 3 }),
                7 => _ = world.despawn(a),
                8 if a != b => _ = world.entity_mut(c).detach_all_children().add_children(&[a, b]),
                9 => _ = world.entity_mut(a).clone_and_spawn(),
                _ => {}
            }
            replace_dead(world, &mut entities);
            let hierarchy = world.islands::<ChildOf>().unwrap();
            let pairs: Vec<_> = world.pairs::<ChildOf>().iter().collect();
            expected(&Islands::new(), &islands_of(hierarchy), &pairs);
            (false, format!("{kind} with {a}, {b}, {c}"))
        };
        play(&mut world, entity_of::<CrewOf>, fewer(300), step, seed * 104_729);
    }
    take_errors();
}

#[test]
fn islands_of_run_time_relations_are_what_pairs_connect() {
    for seed in 1..=fewer(6) as u64 {
        let mut world = World::new();
        record_errors_of(&mut world);
        let [relation, other] =
            ["WiredTo", "Other"].map(|name| world.spawn_relation(name, RelationTraits::new()).unwrap());
        world.track_islands_by_id(relation).unwrap();
        listen::<Wildcard>(&mut world);
        let mut entities: Vec<Entity> = (0..12).map(|_| world.spawn_empty().id()).collect();
        // A relation may be an end too.
        entities.push(relation);
        let step = |world: &mut World, random: &mut Random| {
            let [a, b] = [(); 2].map(|()| random.pick(&entities));
            let kind = random.below(12);
            match kind {
                0..=4 => world.insert_pair_by_id(a, (relation, b)).unwrap(),
                5 => world.insert_pair_by_id(a, (other, b)).unwrap(),
                6..=7 => _ = world.remove_pairs_by_id(a, (relation, b)),
                8 => _ = world.remove_pairs_by_id(a, PairId::with_relation(relation)),
                9 => _ = world.remove_pairs_everywhere(PairId::with_target(b)),
                10 if a != relation => _ = world.despawn(a),
                _ => _ = world.insert_tag(a, b),
            }
            replace_dead(world, &mut entities);
            (true, format!("{kind} with {a}, {b}"))
        };
        play(&mut world, |_| relation, fewer(300), step, seed * 15_485_863);
    }
    take_errors();
}

/// The observers of pairs.
fn observers_of_pairs(world: &mut World) -> Vec<Entity> {
    let keys = [world.event_key::<PairInsertedEvent>(), world.event_key::<PairRemovedEvent>()];
    let mut observers = world.query::<(Entity, &Observer)>();
    let of_pairs = observers.iter(world).filter(|(_, observer)| {
        observer.descriptor().event_keys().iter().any(|key| keys.contains(&Some(*key)))
    });
    of_pairs.map(|(entity, _)| entity).collect()
}

/// While the observers that follow the pairs are gone, nothing is noticed; `update_islands` catches up.
#[test]
fn what_was_missed_is_reported_as_one_difference() {
    for seed in 1..=fewer(20) as u64 {
        let mut world = World::new();
        world.track_islands::<Likes>().unwrap();
        listen::<Likes>(&mut world);
        let entities: Vec<Entity> = (0..16).map(|_| world.spawn_empty().id()).collect();
        let step = |world: &mut World, random: &mut Random| {
            let observers = observers_of_pairs(world);
            assert_eq!(observers.len(), 2);
            for observer in observers {
                world.despawn(observer);
            }
            for _ in 0..random.below(12) {
                let [a, b] = [(); 2].map(|()| random.pick(&entities));
                match random.below(2) {
                    0 => _ = world.insert_pair(a, Likes, b),
                    _ => _ = world.remove_pairs::<Likes>(a),
                }
            }
            assert!(world.resource::<Log>().0.is_empty());
            world.update_islands();
            (true, String::from("several changes"))
        };
        play(&mut world, entity_of::<Likes>, fewer(100), step, seed * 31);
    }
}
