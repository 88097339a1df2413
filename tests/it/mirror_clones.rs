//! Mirrored pairs of entities that are cloned, moved, cleared, spawned with components that require the mirror, and of worlds whose
//! entities are all cleared. The same history without mirrors has the same pairs, and the components say what the pairs are.

use crate::common::{Random, fewer, spawn, take_reported_errors, world_that_records_errors};
use bevy_ecs::{entity::EntityCloner, entity_disabling::Disabled, prelude::*};
use bevy_reflect::Reflect;
use bevy_relations::{mirror::*, prelude::*};
use core::fmt::Debug;

#[derive(Relation, Reflect, Clone, PartialEq, Debug, Default)]
struct Owes(u32);

#[derive(Relation, Reflect, Clone, PartialEq, Debug, Default)]
#[relation(exclusive, traversable, on_target_despawn = Despawn)]
struct Mounted;

#[derive(Relation, Reflect, Clone, PartialEq, Debug, Default)]
#[relation(symmetric, exclusive)]
struct Married;

#[derive(Relation, Reflect, Clone, PartialEq, Debug, Default)]
#[relation(ordered, acyclic)]
struct Queues;

#[derive(Relation, Reflect, Clone, PartialEq, Eq, Debug, Default)]
#[relation(key = Self)]
struct Equips(u32);

/// Brings empty mirrors along.
#[derive(Component, Clone, Default)]
#[require(MirroredPairs<Owes>, MirroredPairs<Mounted>, MirroredPairs<Queues>)]
struct Ship;

/// The same where nothing is mirrored.
#[derive(Component, Clone, Default)]
struct Boat;

fn mirror_all(world: &mut World) {
    world.mirror_pairs::<Owes>().unwrap();
    world.mirror_pairs::<Mounted>().unwrap();
    world.mirror_pairs::<Married>().unwrap();
    world.mirror_pairs::<Queues>().unwrap();
    world.mirror_pairs::<Equips>().unwrap();
}

fn register_all(world: &mut World) {
    world.register_relation::<Owes>().unwrap();
    world.register_relation::<Mounted>().unwrap();
    world.register_relation::<Married>().unwrap();
    world.register_relation::<Queues>().unwrap();
    world.register_relation::<Equips>().unwrap();
}

fn check<R: MirroredRelation + PartialEq + Debug>(world: &World, place: &str) {
    for source in crate::common::all_entities(world) {
        let shown = world.get::<MirroredPairs<R>>(source);
        let there: Vec<_> = world
            .pairs::<R>()
            .targets(source)
            .map(|target| (target, world.pair_value::<R>(source, target).cloned()))
            .collect();
        assert_eq!(
            shown.is_some(),
            !there.is_empty(),
            "{place}: {} of {source}",
            core::any::type_name::<R>()
        );
        let shown: Vec<_> = shown
            .into_iter()
            .flat_map(|shown| &shown.pairs)
            .map(|pair| (pair.target.entity().unwrap(), pair.value.clone()))
            .collect();
        assert_eq!(shown, there, "{place}: {} of {source}", core::any::type_name::<R>());
    }
}

fn check_all(world: &World, place: &str) {
    world.check_pairs().unwrap_or_else(|error| panic!("{place}: {error}"));
    check::<Owes>(world, place);
    check::<Mounted>(world, place);
    check::<Married>(world, place);
    check::<Queues>(world, place);
    check::<Equips>(world, place);
}

/// A world with entities that are known by their numbers.
struct Numbered {
    world: World,
    is_mirrored: bool,
    all: Vec<Entity>,
}

impl Numbered {
    fn new(is_mirrored: bool) -> Self {
        let mut world = world_that_records_errors();
        match is_mirrored {
            true => mirror_all(&mut world),
            false => register_all(&mut world),
        }
        let all = spawn::<5>(&mut world).to_vec();
        Self { world, is_mirrored, all }
    }

    fn number(&self, entity: Entity) -> usize {
        self.all.iter().position(|&known| known == entity).unwrap_or(usize::MAX)
    }

    /// The pairs by the numbers of their ends, and which entities are alive.
    fn state(&self) -> (Vec<String>, Vec<bool>) {
        let world = &self.world;
        let mut pairs: Vec<String> = Vec::new();
        let mut add = |name: &str, s, t, value: String| {
            pairs.push(format!("{name} {} {} {value}", self.number(s), self.number(t)));
        };
        for &source in &self.all {
            let owes = world.pairs::<Owes>();
            owes.targets(source).for_each(|t| add("Owes", source, t, format!("{:?}", owes.get(source, t))));
            world.pairs::<Mounted>().targets(source).for_each(|t| add("Mounted", source, t, String::new()));
            world.pairs::<Married>().targets(source).for_each(|t| add("Married", source, t, String::new()));
            world.pairs::<Queues>().targets(source).for_each(|t| add("Queues", source, t, String::new()));
            let equips = world.pairs::<Equips>();
            equips
                .targets(source)
                .for_each(|t| add("Equips", source, t, format!("{:?}", equips.get(source, t))));
            // The order of an ordered relation.
            world.pairs::<Queues>().sources(source).for_each(|s| add("behind", source, s, String::new()));
        }
        (pairs, self.all.iter().map(|&entity| world.get_entity(entity).is_ok()).collect())
    }

    fn step(&mut self, random: &mut Random) -> String {
        let Self { world, is_mirrored, all } = self;
        let pick = |random: &mut Random, world: &World| {
            let alive: Vec<usize> =
                (0..all.len()).filter(|&number| world.get_entity(all[number]).is_ok()).collect();
            alive[random.below(alive.len())]
        };
        let (x, y) = (pick(random, world), pick(random, world));
        let (a, b, number) = (all[x], all[y], random.below(3) as u32);
        let step = random.below(20);
        match step {
            0 | 1 => _ = world.insert_pair(a, Owes(number), b),
            2 => _ = world.insert_pair(a, Mounted, b),
            3 => _ = world.insert_pair(a, Married, b),
            4 | 5 => _ = world.insert_pair(a, Queues, b),
            6 => _ = world.insert_pair(a, Equips(number), b),
            7 => _ = world.remove_pairs_by_id(a, PairId::with_target(b)),
            8 => {
                world.entity_mut(a).clear();
            }
            9 => {
                match is_mirrored {
                    true => world.entity_mut(a).insert(Ship),
                    false => world.entity_mut(a).insert(Boat),
                };
            }
            10 => {
                let pairs = (Pair(Owes(number), a), Pair(Queues, b));
                all.push(match is_mirrored {
                    true => world.spawn((Ship, pairs)).id(),
                    false => world.spawn((Boat, pairs)).id(),
                });
            }
            11 => {
                world.entity_mut(a).remove::<(Ship, Boat)>();
            }
            12 => {
                let clone = EntityCloner::build_opt_out(world).finish().spawn_clone(world, a);
                all.push(clone);
            }
            13 => {
                let mut builder = EntityCloner::build_opt_out(world);
                builder.linked_cloning(true);
                let clone = builder.finish().spawn_clone(world, a);
                all.push(clone);
            }
            14 if x != y => {
                EntityCloner::build_opt_out(world).move_components(true).clone_entity(a, b);
            }
            15 => {
                let mut builder = EntityCloner::build_opt_out(world);
                builder.deny::<(Ship, Boat)>();
                let clone = builder.finish().spawn_clone(world, a);
                all.push(clone);
            }
            16 => {
                let mut builder = EntityCloner::build_opt_in(world);
                builder.allow::<(Ship, Boat)>();
                let clone = builder.finish().spawn_clone(world, a);
                all.push(clone);
            }
            17 => {
                if world.get::<Disabled>(a).is_some() {
                    world.entity_mut(a).remove::<Disabled>();
                } else {
                    world.entity_mut(a).insert(Disabled);
                }
            }
            18 if all.len() > 6 => _ = world.despawn(a),
            _ => world.maintain_pairs(),
        }
        while all.iter().filter(|&&entity| world.get_entity(entity).is_ok()).count() < 4 {
            all.push(world.spawn_empty().id());
        }
        format!("{step}: {x} {y}")
    }
}

#[test]
fn clones_of_entities_with_mirrors_have_the_pairs_that_they_have_without() {
    for seed in 1..=fewer(100) as u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut mirrored = Numbered::new(true);
        let mut plain = Numbered::new(false);
        let mut told = Vec::new();
        for _ in 0..40 {
            let mut other = random.clone();
            told.push(mirrored.step(&mut random));
            plain.step(&mut other);
            let place = format!("{seed}: {told:?}");
            check_all(&mirrored.world, &place);
            plain.world.check_pairs().unwrap();
            assert_eq!(mirrored.state(), plain.state(), "{place}");
        }
        take_reported_errors();
    }
}

#[test]
fn a_component_that_requires_a_mirror_with_pairs_brings_them() {
    use core::cell::Cell;
    thread_local! {
        static TARGET: Cell<Option<Entity>> = const { Cell::new(None) };
    }
    fn crew() -> MirroredPairs<Owes> {
        TARGET.get().map(|target| (Owes(4), target)).into_iter().collect()
    }
    #[derive(Component, Default, Clone)]
    #[require(MirroredPairs<Owes> = crew())]
    struct Debtor;

    let mut world = world_that_records_errors();
    mirror_all(&mut world);
    let [a, b] = spawn(&mut world);
    TARGET.set(Some(b));
    world.entity_mut(a).insert(Debtor);
    assert_eq!(world.pair_value::<Owes>(a, b), Some(&Owes(4)));
    check_all(&world, "inserted");
    // What the entity has is not replaced.
    world.insert_pair(b, Owes(1), a).unwrap();
    world.entity_mut(b).insert(Debtor);
    assert!(world.pairs::<Owes>().targets(b).eq([a]));
    let c = world.spawn((Debtor, Pair(Owes(9), a))).id();
    check_all(&world, "spawned");
    let clone = world.entity_mut(a).clone_and_spawn();
    assert_eq!(world.pair_value::<Owes>(clone, b), Some(&Owes(4)));
    world.entity_mut(a).remove_with_requires::<Debtor>();
    assert!(!world.has_pair::<Owes>(a, b));
    check_all(&world, "removed");
    world.despawn(b);
    check_all(&world, "despawned");
    // The target is dead, and what cannot be there is reported and taken off.
    let d = world.spawn(Debtor).id();
    world.maintain_pairs();
    assert!(world.get::<MirroredPairs<Owes>>(d).is_none());
    check_all(&world, "dead");
    let _ = c;
    assert!(!take_reported_errors().is_empty());
}

#[test]
fn a_cloner_that_is_given_what_to_copy_copies_no_pairs_and_the_mirror_can_be_copied_by_hand() {
    let mut world = world_that_records_errors();
    mirror_all(&mut world);
    let [a, b, c] = spawn(&mut world);
    world.insert_pair(a, Owes(1), b).unwrap();
    world.insert_pair(a, Owes(2), c).unwrap();
    world.insert_pair(a, Equips(3), c).unwrap();
    world.insert_pair(a, Married, b).unwrap();
    let mut builder = EntityCloner::build_opt_in(&mut world);
    builder.allow::<(MirroredPairs<Owes>, MirroredPairs<Married>)>();
    let clone = builder.finish().spawn_clone(&mut world, a);
    check_all(&world, "cloned");
    assert!(world.pairs_of(clone).is_empty());
    let owes = world.get::<MirroredPairs<Owes>>(a).unwrap().clone();
    world.entity_mut(clone).insert(owes);
    check_all(&world, "by hand");
    assert!(world.pairs::<Owes>().targets(clone).eq([b, c]));
    assert!(!world.pairs::<Equips>().has_any(clone));
    // Moved, it is what the pairs are, which stay.
    let other = world.spawn_empty().id();
    let mut builder = EntityCloner::build_opt_in(&mut world);
    builder.allow::<MirroredPairs<Owes>>().move_components(true);
    builder.finish().clone_entity(&mut world, a, other);
    world.maintain_pairs();
    check_all(&world, "moved");
    assert!(world.pairs::<Owes>().targets(a).eq([b, c]) && world.pairs_of(other).is_empty());
    assert_eq!(take_reported_errors(), [""; 0]);
}
