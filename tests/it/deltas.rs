//! What `PairDeltas` and `AnyPairDeltas` report, and when they start anew.
//!
//! The model test replays what is reported, raw and net, and compares it with the pairs that there are. Classes of cases:
//! relations with one target or several, symmetric and ordered ones, with values that are replaced and written in
//! place, `ChildOf` written by Bevy; despawns, clearing, disabling, observers that change pairs in the midst; batches
//! of 1 to 100 changes between two reads.

use crate::common::{Random, fewer, panic_message, spawn, world_that_records_errors};
use PairDeltaKind::{Inserted, Removed, SourcesReordered, TargetsReordered, Written};
use bevy_ecs::{entity_disabling::Disabled, prelude::*, system::SystemState};
use bevy_relations::{
    live::{AnyPairDeltas, DeltaGap, PairDelta, PairDeltaKind, PairDeltas},
    prelude::*,
};
use std::collections::BTreeMap;

#[derive(Relation, Clone, PartialEq, Debug)]
struct Owes(u32);

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo;

#[derive(Relation)]
#[relation(symmetric)]
struct Allied;

#[derive(Relation)]
#[relation(ordered)]
struct Follows;

type Read<R> = SystemState<(PairDeltas<'static, 'static, R>, Pairs<'static, 'static, R>)>;

fn read<R: Relation>(world: &mut World, state: &mut Read<R>) -> Result<Vec<PairDelta>, DeltaGap> {
    state.get(world).unwrap().0.read().map(Iterator::collect)
}

fn read_net<R: Relation>(world: &mut World, state: &mut Read<R>) -> Result<Vec<PairDelta>, DeltaGap> {
    state.get(world).unwrap().0.read_net().map(Iterator::collect)
}

/// What is reported, as kind, source and target.
fn told(deltas: Result<Vec<PairDelta>, DeltaGap>) -> Vec<(PairDeltaKind, Entity, Entity)> {
    deltas.unwrap().into_iter().map(|delta| (delta.kind, delta.source, delta.target)).collect()
}

#[test]
fn the_first_read_is_a_gap_and_the_next_has_what_happened_since() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    world.insert_pair(a, DockedTo, b).unwrap();
    let mut raw = Read::<DockedTo>::new(&mut world);
    let mut net = Read::<DockedTo>::new(&mut world);
    let error = read(&mut world, &mut raw).unwrap_err();
    assert!(error.to_string().contains("the pairs of DockedTo"), "{error}");
    read_net(&mut world, &mut net).unwrap_err();
    assert_eq!(told(read(&mut world, &mut raw)), []);
    world.insert_pair(a, DockedTo, c).unwrap();
    world.insert_pair(a, DockedTo, b).unwrap();
    world.insert_pair(b, DockedTo, c).unwrap();
    world.despawn(b);
    let all = [(Removed, a, b), (Inserted, a, c), (Removed, a, c), (Inserted, a, b), (Inserted, b, c)];
    let mut found = told(read(&mut world, &mut raw));
    // In which order the pairs of an entity go with it is left open.
    let last = found.split_off(all.len());
    assert_eq!(found, all);
    assert!(last.len() == 2 && last.contains(&(Removed, a, b)) && last.contains(&(Removed, b, c)));
    assert_eq!(told(read_net(&mut world, &mut net)), [(Removed, a, b)]);
    assert_eq!(told(read(&mut world, &mut raw)), []);
}

#[test]
fn values_that_are_replaced_or_written_in_place_are_read_once() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    for target in [b, c] {
        world.insert_pair(a, Owes(1), target).unwrap();
    }
    let mut raw = Read::<Owes>::new(&mut world);
    let mut write = SystemState::<PairsMut<Owes>>::new(&mut world);
    read(&mut world, &mut raw).unwrap_err();
    world.insert_pair(a, Owes(2), b).unwrap();
    assert_eq!(told(read(&mut world, &mut raw)), [(Written, a, b)]);
    write.get_mut(&mut world).unwrap().get_mut(a, c).unwrap().0 += 1;
    assert_eq!(told(read(&mut world, &mut raw)), [(Written, a, c)]);
    assert_eq!(told(read(&mut world, &mut raw)), []);
    // Lent, but not written.
    assert_eq!(write.get_mut(&mut world).unwrap().get_mut(a, c).unwrap().0, 2);
    assert_eq!(told(read(&mut world, &mut raw)), []);
    // Both ways: it is reported where it was replaced.
    world.insert_pair(a, Owes(3), b).unwrap();
    world.insert_pair(c, Owes(3), b).unwrap();
    write.get_mut(&mut world).unwrap().for_each_mut(|_, _, mut owes| owes.0 += 1);
    assert_eq!(told(read(&mut world, &mut raw)), [(Written, a, b), (Inserted, c, b), (Written, a, c)]);
    write.get_mut(&mut world).unwrap().for_each_mut(|_, _, mut owes| owes.0 += 1);
    assert_eq!(told(read_net(&mut world, &mut raw)).len(), 3);
    // One that went is reported as removed only.
    write.get_mut(&mut world).unwrap().get_mut(a, c).unwrap().0 += 1;
    world.remove_pair::<Owes>(a, c);
    assert_eq!(told(read(&mut world, &mut raw)), [(Removed, a, c)]);
}

#[test]
fn orders_are_read() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    for source in [a, b] {
        world.insert_pair(source, Follows, c).unwrap();
    }
    let mut raw = Read::<Follows>::new(&mut world);
    read(&mut world, &mut raw).unwrap_err();
    world.order_sources::<Follows>(c, &[b, a]).unwrap();
    let found = told(read(&mut world, &mut raw));
    assert!(matches!(found[..], [(SourcesReordered, _, target)] if target == c), "{found:?}");
}

#[test]
fn a_symmetric_pair_is_read_in_both_directions() {
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    let mut raw = Read::<Allied>::new(&mut world);
    read(&mut world, &mut raw).unwrap_err();
    world.insert_pair(a, Allied, b).unwrap();
    assert_eq!(told(read(&mut world, &mut raw)), [(Inserted, a, b), (Inserted, b, a)]);
}

#[test]
fn a_reader_that_is_late_reads_everything_or_starts_anew_and_memory_stays_flat() {
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    let mut late = Read::<DockedTo>::new(&mut world);
    // This one never runs.
    let _never = Read::<DockedTo>::new(&mut world);
    read(&mut world, &mut late).unwrap_err();
    for _ in 0..1000 {
        world.insert_pair(a, DockedTo, b).unwrap();
        world.remove_pair::<DockedTo>(a, b);
        world.maintain_pairs();
    }
    assert_eq!(told(read(&mut world, &mut late)).len(), 2000);
    for _ in 0..20_000 {
        world.insert_pair(a, DockedTo, b).unwrap();
        world.remove_pair::<DockedTo>(a, b);
        world.maintain_pairs();
    }
    read(&mut world, &mut late).unwrap_err();
    assert_eq!(told(read(&mut world, &mut late)), []);
}

#[test]
fn deltas_are_read_beside_other_readers_and_not_beside_what_writes_values() {
    let mut world = World::new();
    let mut schedule = Schedule::default();
    let together =
        |_: PairDeltas<Owes>, _: PairDeltas<Owes>, _: Pairs<Owes>, _: AnyPairDeltas, _: Pairs<DockedTo>| {};
    schedule.add_systems((together, |_: PairDeltas<DockedTo>, _: PairsMut<Owes>| {}));
    schedule.run(&mut world);
    let refused = panic_message(|| {
        let mut schedule = Schedule::default();
        schedule.add_systems(|_: PairsMut<Owes>, _: PairDeltas<Owes>| {});
        schedule.run(&mut World::new());
    });
    let refused = refused.expect("both access the values");
    assert!(
        refused.contains("`PairDeltas<Owes>`") && refused.contains("the values of the pairs of `Owes`"),
        "{refused}"
    );
    let refused = panic_message(|| {
        let mut schedule = Schedule::default();
        schedule.add_systems(|_: PairDeltas<Owes>, _: PairsMut<Owes>| {});
        schedule.run(&mut World::new());
    });
    assert!(refused.is_some_and(|refused| refused.contains("`PairsMut<Owes>`")));
}

#[test]
fn when_resources_are_cleared_readers_start_anew() {
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    let mut raw = Read::<DockedTo>::new(&mut world);
    let mut any = SystemState::<AnyPairDeltas>::new(&mut world);
    world.insert_pair(a, DockedTo, b).unwrap();
    read(&mut world, &mut raw).unwrap_err();
    assert!(any.get(&world).unwrap().read().is_err());
    world.clear_resources();
    read(&mut world, &mut raw).unwrap_err();
    assert!(any.get(&world).unwrap().read().is_err());
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, DockedTo, b).unwrap();
    read(&mut world, &mut raw).unwrap_err();
    assert!(any.get(&world).unwrap().read().is_err());
    let mut new = Read::<DockedTo>::new(&mut world);
    let _any = SystemState::<AnyPairDeltas>::new(&mut world);
    read(&mut world, &mut new).unwrap_err();
    read(&mut world, &mut raw).unwrap_err();
    let _ = any.get(&world).unwrap().read().map(Iterator::count);
    world.remove_pair::<DockedTo>(a, b);
    assert_eq!(told(read(&mut world, &mut raw)), [(Removed, a, b)]);
    assert_eq!(told(read(&mut world, &mut new)), [(Removed, a, b)]);
    assert_eq!(any.get(&world).unwrap().read().unwrap().count(), 1);
}

#[test]
fn any_deltas_have_relations_that_are_made_later_and_the_end_of_others() {
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    let old = world.spawn_relation("Old", RelationTraits::new()).unwrap();
    world.insert_pair_by_id(a, (old, b)).unwrap();
    let mut any = SystemState::<AnyPairDeltas>::new(&mut world);
    let mut read = |world: &World| any.get(world).unwrap().read().map(Iterator::collect::<Vec<_>>);
    read(&world).unwrap_err();
    let new = world.spawn_relation("New", RelationTraits::new()).unwrap();
    world.insert_pair_by_id(a, (new, b)).unwrap();
    world.insert_pair(a, Owes(3), b).unwrap();
    world.insert_pair(a, Owes(4), b).unwrap();
    world.spawn(ChildOf(a));
    let mut kinds: Vec<_> = read(&world).unwrap().iter().map(|delta| (delta.relation, delta.kind)).collect();
    kinds.sort_by_key(|told| format!("{told:?}"));
    let (owes, child_of) = (world.entity_of::<Owes>(), world.entity_of::<ChildOf>());
    let mut expected = vec![(new, Inserted), (owes, Inserted), (owes, Written), (child_of, Inserted)];
    expected.sort_by_key(|told| format!("{told:?}"));
    assert_eq!(kinds, expected);
    world.despawn(old);
    let gone = PairDelta { source: a, relation: old, target: b, kind: Removed };
    assert_eq!(read(&world).unwrap(), [gone]);
    // The number of the relation is given to another while changes of the old one were not read.
    world.despawn(new);
    world.flush();
    let other = world.spawn_relation("Other", RelationTraits::new()).unwrap();
    world.insert_pair_by_id(b, (other, a)).unwrap();
    let more = world.spawn_relation("More", RelationTraits::new()).unwrap();
    world.insert_pair_by_id(b, (more, a)).unwrap();
    read(&world).unwrap_err();
    assert_eq!(read(&world).unwrap(), []);
    world.remove_pairs_by_id(b, (other, a));
    let gone = PairDelta { source: b, relation: other, target: a, kind: Removed };
    assert_eq!(read(&world).unwrap(), [gone]);
}

/// The targets of every source in order.
type Model = BTreeMap<Entity, Vec<Entity>>;

fn actual<R: Relation>(pairs: &Pairs<R>) -> Model {
    let mut model = Model::new();
    for (source, _) in pairs.iter() {
        model.entry(source).or_insert_with(|| pairs.targets(source).collect());
    }
    model
}

/// Applies what is reported, which must fit at every moment.
fn replay<R: Relation>(model: &mut Model, delta: PairDelta, pairs: &Pairs<R>) {
    let PairDelta { source, target, kind, .. } = delta;
    match kind {
        Inserted => {
            let targets = model.entry(source).or_default();
            assert!(!targets.contains(&target), "{delta:?} is told twice");
            targets.push(target);
        }
        Removed => {
            let targets = model.get_mut(&source).expect("only what is there is removed");
            let at = targets.iter().position(|&known| known == target).expect("it is there");
            targets.remove(at);
            if targets.is_empty() {
                model.remove(&source);
            }
        }
        Written => assert!(pairs.get(source, target).is_some() || !pairs.has(source, target)),
        TargetsReordered => {
            let order: Vec<_> = pairs.targets(source).collect();
            let targets = model.entry(source).or_default();
            targets.sort_by_key(|target| order.iter().position(|known| known == target));
        }
        _ => {}
    }
}

/// A reader that follows the pairs of a relation, one with everything that is reported and one with what is left of it.
struct Follower<R: Relation> {
    states: [Read<R>; 2],
    models: [Model; 2],
    gaps: usize,
}

impl<R: Relation> Follower<R> {
    fn new(world: &mut World) -> Self {
        Self { states: [Read::new(world), Read::new(world)], models: Default::default(), gaps: 0 }
    }

    fn follow(&mut self, world: &World) {
        for (net, (state, model)) in self.states.iter_mut().zip(&mut self.models).enumerate() {
            let (mut deltas, pairs) = state.get(world).unwrap();
            let told: Result<Vec<_>, _> = match net {
                0 => deltas.read().map(Iterator::collect),
                _ => deltas.read_net().map(Iterator::collect),
            };
            match told {
                Ok(told) => told.into_iter().for_each(|delta| replay(model, delta, &pairs)),
                Err(_) => (*model, self.gaps) = (actual(&pairs), self.gaps + 1),
            }
            assert_eq!(*model, actual(&pairs));
        }
    }
}

#[test]
fn deltas_that_are_replayed_give_the_pairs_that_there_are() {
    for seed in 1..=fewer(300) as u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut world = world_that_records_errors();
        // Something acts in the midst of changes.
        world.add_observer(|on: On<PairInserted<DockedTo>>, mut commands: Commands| {
            if on.source.index_u32().is_multiple_of(3) {
                commands.entity(on.source).remove_pairs::<DockedTo>();
            }
        });
        let mut entities: Vec<Entity> = (0..8).map(|_| world.spawn_empty().id()).collect();
        let mut owes = Follower::<Owes>::new(&mut world);
        let mut docked = Follower::<DockedTo>::new(&mut world);
        let mut allied = Follower::<Allied>::new(&mut world);
        let mut follows = Follower::<Follows>::new(&mut world);
        let mut children = Follower::<ChildOf>::new(&mut world);
        for _ in 0..10 {
            let most = if random.below(3) == 0 { 100 } else { 10 };
            for _ in 0..1 + random.below(most) {
                change(&mut world, &mut entities, &mut random);
            }
            owes.follow(&world);
            docked.follow(&world);
            allied.follow(&world);
            follows.follow(&world);
            children.follow(&world);
            if random.below(2) == 0 {
                world.maintain_pairs();
            }
        }
        world.check_pairs().unwrap();
        assert_eq!([owes.gaps, docked.gaps, allied.gaps, follows.gaps, children.gaps], [2; 5]);
    }
}

fn change(world: &mut World, entities: &mut Vec<Entity>, random: &mut Random) {
    let (a, b) = (random.pick(entities), random.pick(entities));
    match random.below(14) {
        0 | 1 => _ = world.insert_pair(a, Owes(random.below(5) as u32), b),
        2 => _ = world.remove_pair::<Owes>(a, b),
        3 | 4 => _ = world.insert_pair(a, DockedTo, b),
        5 => _ = world.remove_pair::<DockedTo>(a, b),
        6 => _ = world.insert_pair(a, Allied, b),
        7 => _ = world.remove_pair::<Allied>(a, b),
        8 => _ = world.insert_pair(a, Follows, b),
        9 => _ = world.replace_targets::<Follows>(a, [b, entities[0]].map(|target| (Follows, target))),
        10 => _ = world.entity_mut(a).insert(ChildOf(b)),
        11 => _ = world.entity_mut(a).remove::<ChildOf>(),
        12 => _ = world.entity_mut(a).insert(Disabled),
        _ => {
            world.despawn(a);
            entities.retain(|&entity| world.entities().contains_spawned(entity));
            while entities.len() < 8 {
                entities.push(world.spawn_empty().id());
            }
        }
    }
}
