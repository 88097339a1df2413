//! Pairs that a snapshot gives back without looking at rules one by one, against a world in which observers make it look.
//!
//! What may be missing, or different: nothing; some or all pairs of a source; pairs in the middle of its targets; another
//! target; another value; a new source; an end that is dead; ends that never had a pair; a relation without cycles; a value that
//! its relation looks at, or that cannot be copied. Beside it, parents with the order of their children, and ordered sources, which
//! may be as they were or not. In the world that the snapshot is of, and in a new one, where no relation was used yet.

use crate::{
    common::{Random, fewer, spawn, take_reported_errors},
    snapshots::{Before, Eats, Equips, Follows, Likes, count_events, take},
};
use bevy_ecs::{entity::EntityHashMap, prelude::*};
use bevy_relations::{
    prelude::*,
    relation::{PairContext, PairRefusal},
    snapshot::{PairFilter, PairSnapshot},
};
use std::{
    fmt::Debug,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, Ordering},
};

#[derive(Relation)]
#[relation(exclusive)]
struct Wears;

#[derive(Relation)]
#[relation(on_last_source = Despawn)]
struct Uses;

#[derive(Relation, Clone, PartialEq, Debug)]
#[relation(exclusive)]
struct Rents(u32);

#[derive(Relation, Clone, PartialEq, Debug)]
#[relation(validate = at_most_one)]
struct Trusts(u32);

fn at_most_one(trusts: &mut Trusts, _: &PairContext<'_>) -> Result<(), PairRefusal> {
    trusts.0 = trusts.0.min(1);
    Ok(())
}

/// Its copy panics on demand.
#[derive(Relation, PartialEq, Debug)]
struct Owes(u32);

static PANICS: AtomicBool = AtomicBool::new(false);

impl Clone for Owes {
    fn clone(&self) -> Self {
        assert!(!PANICS.load(Ordering::Relaxed), "no copy");
        Self(self.0)
    }
}

/// A world with its entities, and what becomes of both.
struct Side {
    world: World,
    entities: Vec<Entity>,
}

impl Side {
    fn new(observed: bool) -> Self {
        let mut world = World::new();
        if observed {
            count_events(&mut world);
        }
        let entities: Vec<_> = (0..8).map(|_| world.spawn_empty().id()).collect();
        Self { world, entities }
    }

    fn change(&mut self, random: &mut Random) {
        let Self { world, entities } = self;
        let [source, target] = [(); 2].map(|()| entities[random.below(entities.len())]);
        // What is refused is refused on both sides.
        let value = random.below(2) as u32;
        let _ = match random.below(16) {
            0..3 => world.insert_pair(source, Likes, target).map(drop),
            3..5 => world.insert_pair(source, Wears, target).map(drop),
            5 => world.insert_pair(source, Before, target).map(drop),
            6 => world.insert_pair(source, Uses, target).map(drop),
            7 | 12 => world.insert_pair(source, Eats(value), target).map(drop),
            13 => world.insert_pair(source, Rents(value), target).map(drop),
            14 => world.insert_pair(source, Trusts(value), target).map(drop),
            15 => world.insert_pair(source, Equips(value as u8), target).map(drop),
            8 => world.insert_pair(source, ChildOf(target), target).map(drop),
            9 => world.insert_pair(source, Follows, target).map(drop),
            _ => {
                self.remove(random);
                Ok(())
            }
        };
    }

    fn remove(&mut self, random: &mut Random) {
        let Self { world, entities } = self;
        let source = entities[random.below(entities.len())];
        let last = world.pairs::<Likes>().targets(source).last();
        match (random.below(22), last) {
            (16..19, _) => drop(world.remove_pairs::<Eats>(source)),
            (19, _) => drop(world.remove_pairs::<Rents>(source)),
            (20, _) => drop(world.remove_pairs::<Trusts>(source)),
            (21, _) => drop(world.remove_pairs::<Equips>(source)),
            (0..5, _) => drop(world.remove_pairs::<Likes>(source)),
            (5..9, Some(last)) => drop(world.remove_pair::<Likes>(source, last)),
            (9..13, _) => drop(world.remove_pairs::<Wears>(source)),
            (13, _) => drop(world.remove_pairs::<Before>(source)),
            (14, _) => {
                if let Some(mut children) = world.get_mut::<Children>(source) {
                    children.sort_by(|a, b| b.cmp(a));
                }
            }
            _ => drop(world.remove_pairs::<Follows>(source)),
        }
    }

    /// What is there, by the numbers of entities.
    fn dump(&self) -> Vec<String> {
        let mut lines = Vec::new();
        self.dump_one::<Likes>(false, &mut lines);
        self.dump_one::<Wears>(false, &mut lines);
        self.dump_one::<Before>(false, &mut lines);
        self.dump_one::<Uses>(false, &mut lines);
        self.dump_valued::<Eats>(&mut lines);
        self.dump_valued::<Rents>(&mut lines);
        self.dump_valued::<Trusts>(&mut lines);
        self.dump_valued::<Equips>(&mut lines);
        self.dump_one::<ChildOf>(true, &mut lines);
        self.dump_one::<Follows>(true, &mut lines);
        lines
    }

    fn dump_valued<R: Relation + Debug>(&self, lines: &mut Vec<String>) {
        self.dump_one::<R>(false, lines);
        let pairs = self.world.pairs::<R>();
        let ends = self
            .entities
            .iter()
            .flat_map(|&source| pairs.targets(source).map(move |target| (source, target)));
        lines
            .extend(ends.map(|(source, target)| format!("{:?}", self.world.pair_value::<R>(source, target))));
    }

    fn dump_one<R: Relation>(&self, ordered: bool, lines: &mut Vec<String>) {
        let number = |entity| self.entities.iter().position(|&other| other == entity);
        let pairs = self.world.pairs::<R>();
        for (at, &entity) in self.entities.iter().enumerate() {
            let targets: Vec<_> = pairs.targets(entity).map(number).collect();
            let mut sources: Vec<_> = pairs.sources(entity).map(number).collect();
            if !ordered {
                sources.sort_unstable();
            }
            lines.push(format!("{} {at} {targets:?} {sources:?}", std::any::type_name::<R>()));
        }
    }
}

#[test]
fn missing_pairs_come_back_as_if_each_was_looked_at() {
    for seed in 0..fewer(600) as u64 {
        let sides = [false, true].map(|observed| {
            let mut random = Random(seed + 1);
            let mut side = Side::new(observed);
            for _ in 0..random.below(30) {
                side.change(&mut random);
            }
            let snapshot = take(&mut side.world);
            // Mostly pairs are only missing.
            let only_removals = random.below(4) > 0;
            for _ in 0..random.below(12) {
                if only_removals { side.remove(&mut random) } else { side.change(&mut random) }
            }
            if random.below(5) == 0 {
                let gone = side.entities[random.below(8)];
                side.world.despawn(gone);
            }
            let mut other = Side::new(observed);
            // Nothing was used there yet.
            let ends = side.entities.iter().copied().zip(other.entities.iter().copied());
            let copied = snapshot.apply_mapped(&mut other.world, &mut ends.collect()).map_err(drop);
            other.world.check_pairs().unwrap();
            let before = side.dump();
            let applied = match snapshot.apply(&mut side.world) {
                Ok(applied) => format!("{applied:?}"),
                Err(_) => {
                    assert_eq!(side.dump(), before, "seed {seed}");
                    "refused".into()
                }
            };
            side.world.check_pairs().unwrap();
            (format!("{copied:?}"), other.dump(), applied, side.dump())
        });
        assert_eq!(sides[0], sides[1], "seed {seed}");
    }
    take_reported_errors();
}

#[test]
fn ends_that_never_had_a_pair_get_theirs_and_are_looked_at_again() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    world.insert_pair(a, Likes, b).unwrap();
    world.insert_pair(a, Likes, c).unwrap();
    let snapshot = PairSnapshot::take(&mut world, PairFilter::all()).unwrap();

    let mut other = World::new();
    let mut map = EntityHashMap::default();
    let applied = snapshot.apply_mapped(&mut other, &mut map).unwrap();
    assert_eq!(applied.inserted, 2);
    assert!(other.pairs::<Likes>().targets(map[&a]).eq([map[&b], map[&c]]));
    other.check_pairs().unwrap();
    // A dead end is refused, and nothing is inserted, nor marked for good.
    let dead = other.spawn_empty().id();
    other.despawn(dead);
    let [d, e] = spawn(&mut other);
    let mut map = EntityHashMap::from_iter([(a, d), (b, e), (c, dead)]);
    snapshot.apply_mapped(&mut other, &mut map).unwrap_err();
    assert!(!other.pairs::<Likes>().has_any(d) && !other.pairs::<Likes>().is_target(e));
    other.check_pairs().unwrap();
}

#[test]
fn a_copy_that_panics_leaves_everything_as_it_was() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    world.insert_pair(a, Likes, b).unwrap();
    world.insert_pair(a, Owes(1), b).unwrap();
    world.insert_pair(a, Owes(2), c).unwrap();
    let snapshot = take(&mut world);
    assert!(world.remove_pair::<Owes>(a, c) && world.remove_pair::<Likes>(a, b));
    PANICS.store(true, Ordering::Relaxed);
    catch_unwind(AssertUnwindSafe(|| snapshot.apply(&mut world))).unwrap_err();
    PANICS.store(false, Ordering::Relaxed);
    assert!(!world.has_pair::<Likes>(a, b) && world.pairs::<Owes>().targets(a).eq([b]));
    world.check_pairs().unwrap();
    assert_eq!(snapshot.apply(&mut world).unwrap().inserted, 2);
    assert_eq!(world.pair_value::<Owes>(a, c), Some(&Owes(2)));
    world.check_pairs().unwrap();
}

#[test]
fn a_relation_that_goes_while_ends_get_ready_is_refused() {
    for reused in [false, true] {
        let mut world = World::new();
        let [a, b, c, d] = spawn(&mut world);
        let likes = world.spawn_relation("likes", RelationTraits::new()).unwrap();
        world.insert_pair_by_id(a, (likes, b)).unwrap();
        let snapshot = PairSnapshot::take(&mut world, PairFilter::all()).unwrap();
        assert_eq!(world.remove_pairs_by_id(a, (likes, b)), 1);
        // What takes part in a pair for the first time gets a component.
        let marker = world.entity(a).archetype().components()[0];
        let act = move |on: On<Add<()>>, mut commands: Commands| {
            if on.entity != c {
                return;
            }
            commands.queue(move |world: &mut World| {
                world.try_despawn(likes).unwrap_or_default();
                if reused {
                    world.spawn_relation("others", RelationTraits::new()).unwrap();
                }
            });
        };
        world.spawn(Observer::new(act).with_component(marker));
        let respawned = EntityHashMap::from_iter([(a, c), (b, d)]);
        snapshot.apply_respawned(&mut world, &respawned).unwrap_err();
        assert!(world.get_entity(likes).is_err(), "the observer has acted");
        assert!([c, d].iter().all(|&entity| world.pairs_of(entity).is_empty()));
        world.check_pairs().unwrap();
    }
}

/// What an observer does while ends of missing pairs with values get ready.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Act {
    ClearResources,
    DespawnTarget,
    InsertAnother,
    Observe,
}

#[test]
fn what_observers_do_while_ends_get_ready_for_values_leaves_pairs_whole() {
    for act in [Act::ClearResources, Act::DespawnTarget, Act::InsertAnother, Act::Observe] {
        let mut world = World::new();
        let [a, b, c, d] = spawn(&mut world);
        world.insert_pair(a, Eats(1), b).unwrap();
        let snapshot = take(&mut world);
        assert!(world.remove_pair::<Eats>(a, b));
        let marker = world.entity(a).archetype().components()[0];
        let observer = move |on: On<Add<()>>, mut commands: Commands| {
            if on.entity == c {
                commands.queue(move |world: &mut World| match act {
                    Act::ClearResources => world.clear_resources(),
                    Act::DespawnTarget => drop(world.despawn(d)),
                    Act::InsertAnother => world.insert_pair(c, Eats(7), c).unwrap(),
                    Act::Observe => drop(world.add_observer(|_: On<PairInserted<Eats>>| ())),
                });
            }
        };
        world.spawn(Observer::new(observer).with_component(marker));
        let respawned = EntityHashMap::from_iter([(a, c), (b, d)]);
        let applied = snapshot.apply_respawned(&mut world, &respawned);
        world.check_pairs().unwrap();
        let value = world.pair_value::<Eats>(c, d).cloned();
        match act {
            Act::ClearResources | Act::DespawnTarget => {
                assert!(applied.is_err() && value.is_none(), "{act:?}");
            }
            Act::InsertAnother | Act::Observe => {
                applied.unwrap();
                assert!(value == Some(Eats(1)) && world.pairs::<Eats>().targets(c).eq([d]), "{act:?}");
            }
        }
    }
    take_reported_errors();
}
