//! Random queues of commands that insert and remove components and pairs, against a model of what constraints on ends mean.

use crate::common::{
    Random,
    constrained::{City, Person, Ruin},
    fewer, take_errors,
    unpaid::CrewOf,
    world_that_records_errors,
};
use bevy_ecs::{error::Severity, prelude::*};
use bevy_relations::{
    prelude::*,
    relation::{EndConstraint, Wildcard},
};

#[derive(Relation, Default)]
#[relation(source(Person), target(City, !Ruin))]
struct LivesIn;

#[derive(Relation, Default)]
#[relation(source(Person), target(City, !Ruin), on_missing = Insert)]
struct Founded;

#[derive(Relation, Default)]
#[relation(exclusive, target = City)]
struct Rules(#[expect(dead_code, reason = "it makes a value")] u32);

#[derive(Relation, Default)]
#[relation(source(Person), target(!Ruin), on_missing = Warn)]
struct Visits;

#[derive(Relation, Default)]
#[relation(symmetric, source(Person), on_missing = Warn)]
struct Knows;

const ENTITIES: usize = 6;
const PERSON: usize = 0;
const CITY: usize = 1;
const RUIN: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    LivesIn,
    Founded,
    Rules,
    Visits,
    CrewOf,
    Knows,
}

use Kind as K;

const KINDS: [Kind; 6] = [K::LivesIn, K::Founded, K::Rules, K::Visits, K::CrewOf, K::Knows];

impl Kind {
    /// The components that must be there, or must not, with whether that is about the target.
    fn rules(self) -> &'static [(bool, usize, bool)] {
        match self {
            K::LivesIn | K::Founded => &[(false, PERSON, true), (true, CITY, true), (true, RUIN, false)],
            K::Rules => &[(true, CITY, true)],
            K::Visits => &[(false, PERSON, true), (true, RUIN, false)],
            K::CrewOf => &[(false, PERSON, true), (true, CITY, true)],
            // In both directions.
            K::Knows => &[(false, PERSON, true), (true, PERSON, true)],
        }
    }

    /// What breaks a rule stays.
    fn warns(self) -> bool {
        matches!(self, K::Visits | K::Knows)
    }

    fn is_exclusive(self) -> bool {
        matches!(self, K::Rules | K::CrewOf)
    }
}

type ModelPair = (Kind, usize, usize);

#[derive(Default)]
struct Model {
    has: [[bool; 3]; ENTITIES],
    pairs: Vec<ModelPair>,
    /// Those that are to be checked, in order.
    unchecked: Vec<ModelPair>,
    errors: usize,
    warnings: usize,
}

impl Model {
    fn broken(&self, (kind, source, target): ModelPair) -> Vec<(usize, usize, bool)> {
        let rules = kind.rules().iter().map(|&(of_target, component, required)| {
            (if of_target { target } else { source }, component, required)
        });
        let mut broken: Vec<_> =
            rules.filter(|&(end, component, required)| self.has[end][component] != required).collect();
        // The source may be the target.
        broken.dedup();
        broken
    }

    fn remove(&mut self, gone: impl Fn(&ModelPair) -> bool) {
        self.pairs.retain(|pair| !gone(pair));
        self.unchecked.retain(|pair| !gone(pair));
    }

    fn add(&mut self, pair: ModelPair) {
        if pair.0.is_exclusive() {
            self.remove(|old| (old.0, old.1) == (pair.0, pair.1));
        }
        self.pairs.push(pair);
    }

    fn insert_by_command(&mut self, pair: ModelPair) {
        if !self.pairs.contains(&pair) {
            self.add(pair);
            if !self.broken(pair).is_empty() {
                self.unchecked.push(pair);
            }
        }
    }

    fn insert_at_once(&mut self, pair: ModelPair) {
        let (there, broken) = (self.pairs.contains(&pair), self.broken(pair));
        if there && !self.unchecked.contains(&pair) {
            return;
        }
        let refused = match pair.0 {
            K::LivesIn | K::Rules | K::CrewOf => !broken.is_empty(),
            K::Founded => broken.iter().any(|&(_, _, required)| !required),
            K::Visits | K::Knows => false,
        };
        if refused {
            self.errors += 1;
            return;
        }
        if !pair.0.warns() {
            broken.into_iter().for_each(|(end, component, _)| self.has[end][component] = true);
        } else if !there {
            self.warnings += broken.len();
        }
        if !there {
            self.add(pair);
        }
    }

    fn set(&mut self, entity: usize, component: usize, to: bool) {
        if self.has[entity][component] == to {
            return;
        }
        self.has[entity][component] = to;
        let breaks = |&(kind, source, target): &ModelPair| {
            kind.rules().iter().any(|&(of_target, of, required)| {
                of == component && required != to && entity == if of_target { target } else { source }
            })
        };
        let broken = self.pairs.iter().copied().filter(breaks);
        let broken: Vec<_> = broken.filter(|pair| !self.unchecked.contains(pair)).collect();
        let warned = broken.iter().filter(|pair| pair.0.warns()).count();
        self.warnings += warned;
        self.errors += broken.len() - warned;
        self.pairs.retain(|pair| pair.0.warns() || !broken.contains(pair));
    }

    fn check(&mut self) {
        for pair in core::mem::take(&mut self.unchecked) {
            let broken = self.broken(pair);
            match pair.0 {
                K::Visits | K::Knows => self.warnings += broken.len(),
                K::Founded if broken.iter().all(|&(_, _, required)| required) => {
                    broken.into_iter().for_each(|(end, component, _)| self.has[end][component] = true);
                }
                _ if broken.is_empty() => {}
                _ => {
                    self.errors += 1;
                    self.pairs.retain(|other| *other != pair);
                }
            }
        }
    }
}

fn insert<R: Relation>(world: &mut World, random: &mut Random, value: R, source: Entity, target: Entity) {
    let mut commands = world.commands();
    match random.below(4) {
        0 => commands.insert_pair_batch([(source, value, target)]),
        1 => _ = commands.pair_batch().insert(source, value, target),
        2 => _ = commands.entity(source).insert_pairs([(value, target)]),
        _ => _ = commands.entity(source).insert_pair(value, target),
    }
}

fn insert_at_once<R: Relation>(world: &mut World, value: R, source: Entity, target: Entity) {
    world.commands().queue(move |world: &mut World| world.insert_pair(source, value, target));
}

fn remove<R: Relation>(world: &mut World, source: Entity, target: Entity) {
    world.commands().entity(source).remove_pair::<R>(target);
}

/// Queues a random command, and does the same to the model.
fn queue(world: &mut World, entities: &mut [Entity], model: &mut Model, random: &mut Random) {
    let (at, other) = (random.below(ENTITIES), random.below(ENTITIES));
    let (a, b) = (entities[at], entities[other]);
    let kind = KINDS[random.below(KINDS.len())];
    let pair = if kind == K::Knows { (kind, at.min(other), at.max(other)) } else { (kind, at, other) };
    let component = random.below(3);
    match random.below(20) {
        // It may not point to itself, which is another error.
        0..16 if pair.0 == K::CrewOf && at == other => {}
        0..4 => {
            match component {
                PERSON => _ = world.commands().entity(a).insert(Person),
                CITY => _ = world.commands().entity(a).insert(City),
                _ => _ = world.commands().entity(a).insert(Ruin),
            }
            model.set(at, component, true);
        }
        4..7 => {
            match component {
                PERSON => _ = world.commands().entity(a).remove::<Person>(),
                CITY => _ = world.commands().entity(a).remove::<City>(),
                _ => _ = world.commands().entity(a).remove::<Ruin>(),
            }
            model.set(at, component, false);
        }
        7..12 => {
            match pair.0 {
                K::LivesIn => insert(world, random, LivesIn, a, b),
                K::Founded => insert(world, random, Founded, a, b),
                K::Rules => insert(world, random, Rules(7), a, b),
                K::Visits => insert(world, random, Visits, a, b),
                K::Knows => insert(world, random, Knows, a, b),
                K::CrewOf if random.below(2) == 0 => insert(world, random, CrewOf(b), a, b),
                K::CrewOf => {
                    // Bevy's component goes, and comes again.
                    world.commands().entity(a).insert(CrewOf(b));
                    model.remove(|&old| old == pair);
                }
            }
            model.insert_by_command(pair);
        }
        12..14 => {
            match pair.0 {
                K::LivesIn => insert_at_once(world, LivesIn, a, b),
                K::Founded => insert_at_once(world, Founded, a, b),
                K::Rules => insert_at_once(world, Rules(8), a, b),
                K::Visits => insert_at_once(world, Visits, a, b),
                K::Knows => insert_at_once(world, Knows, a, b),
                K::CrewOf => insert_at_once(world, CrewOf(b), a, b),
            }
            model.insert_at_once(pair);
        }
        14..16 => {
            match pair.0 {
                K::LivesIn => remove::<LivesIn>(world, a, b),
                K::Founded => remove::<Founded>(world, a, b),
                K::Rules => remove::<Rules>(world, a, b),
                K::Visits => remove::<Visits>(world, a, b),
                K::Knows => remove::<Knows>(world, a, b),
                K::CrewOf => remove::<CrewOf>(world, a, b),
            }
            model.remove(|&old| old == pair);
        }
        16 => {
            world.commands().entity(a).despawn();
            entities[at] = world.commands().spawn_empty().id();
            model.has[at] = [false; 3];
            model.remove(|&(_, source, target)| source == at || target == at);
        }
        17 if random.below(8) == 0 => {
            world.commands().queue(|world: &mut World| world.clear_pairs());
            model.remove(|_| true);
        }
        18 => {
            world.commands().queue(|world: &mut World| _ = world.check_constraints());
            model.check();
        }
        _ => {}
    }
}

fn stored(world: &World, entities: &[Entity]) -> Vec<ModelPair> {
    let at = |entity| entities.iter().position(|&other| other == entity).unwrap();
    let mut stored: Vec<ModelPair> = Vec::new();
    let mut add = |kind, pairs: Vec<(Entity, Entity)>| {
        stored.extend(pairs.into_iter().map(|(source, target)| (kind, at(source), at(target))));
    };
    add(K::LivesIn, world.pairs::<LivesIn>().iter().collect());
    add(K::Founded, world.pairs::<Founded>().iter().collect());
    add(K::Rules, world.pairs::<Rules>().iter().collect());
    add(K::Visits, world.pairs::<Visits>().iter().collect());
    add(K::CrewOf, world.pairs::<CrewOf>().iter().collect());
    add(
        K::Knows,
        world.pairs::<Knows>().iter().filter(|&(source, target)| at(source) <= at(target)).collect(),
    );
    stored
}

fn sorted(mut pairs: Vec<ModelPair>) -> Vec<ModelPair> {
    pairs.sort_unstable_by_key(|&(kind, source, target)| (kind as usize, source, target));
    pairs
}

fn compare(world: &World, entities: &[Entity], model: &mut Model) {
    world.check_pairs().unwrap();
    assert_eq!(sorted(stored(world, entities)), sorted(model.pairs.clone()));
    for (at, &entity) in entities.iter().enumerate() {
        let entity = world.entity(entity);
        let has = [entity.contains::<Person>(), entity.contains::<City>(), entity.contains::<Ruin>()];
        assert_eq!(has, model.has[at], "{at}");
        let crew = model.pairs.iter().find(|pair| (pair.0, pair.1) == (K::CrewOf, at));
        assert_eq!(entity.get::<CrewOf>().map(|crew| crew.0), crew.map(|&(_, _, target)| entities[target]));
    }
    let errors = take_errors();
    let (warnings, errors): (Vec<_>, Vec<_>) =
        errors.into_iter().partition(|(severity, _)| *severity == Severity::Warning);
    assert_eq!(errors.len(), core::mem::take(&mut model.errors), "{errors:?}");
    assert_eq!(warnings.len(), core::mem::take(&mut model.warnings), "{warnings:?}");
}

#[test]
fn random_queues_of_commands_end_as_the_model_says() {
    let mut random = Random(0x5bd1_e995_1234_5678);
    for round in 0..fewer(50) {
        let mut world = world_that_records_errors();
        let traits = RelationTraits::new()
            .source(EndConstraint::with::<Person>())
            .target(EndConstraint::with::<City>());
        world.adopt_relationship_with::<CrewOf>(traits).unwrap();
        if round % 2 == 0 {
            world.add_observer(|_: On<PairInserted<Wildcard>>| {});
            world.add_observer(|_: On<PairRemoved<Wildcard>>| {});
        }
        let mut entities: Vec<Entity> = (0..ENTITIES).map(|_| world.spawn_empty().id()).collect();
        let mut model = Model::default();
        for _ in 0..40 {
            for _ in 0..=random.below(6) {
                queue(&mut world, &mut entities, &mut model, &mut random);
            }
            world.flush();
            compare(&world, &entities, &mut model);
        }
        world.check_constraints();
        model.check();
        compare(&world, &entities, &mut model);
        assert!(model.pairs.iter().all(|&pair| pair.0.warns() || model.broken(pair).is_empty()));
    }
}
