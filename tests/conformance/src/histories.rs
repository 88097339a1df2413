//! Random histories of inserts, removals and despawns, applied in Flecs and in this crate: the pairs, the tags and the
//! living entities at the end are the same.
//!
//! What this crate refuses is not applied in Flecs, which gives no guarantee there, or aborts. Nor is what Flecs gets
//! wrong:
//! - It drops what With asks for where an exclusive pair is replaced, and replaces nothing where With brings an
//!   exclusive pair.
//! - The mirror of a symmetric pair goes while Flecs deletes, which takes its source out of the list of those to
//!   delete; so does a pair that is merely removed; and it crashes where a cascade comes back to where it began.
//!   Histories are therefore without symmetric relations or without cascades, and such cascades are left out.
//! - It refuses to delete a relation whose policy is Panic, whether or not it is used.
//! - A pair that is there already brings what With asks for once more. Relations ask for others that ask for
//!   nothing.
//! - It stops at an assertion where a relation that has traits is a target, and often where a pair of an entity
//!   with itself, or a relation with pairs of its own, is part of a cascade. Histories have neither.
//! - Removing a pair from everything, or deleting all that have it, loses sources with further pairs, and the
//!   mirrors of symmetric ones. With `(ChildOf, *)` both stop at an assertion.

use crate::{
    flecs_world::{FlecsWorld, Id, pair},
    oracle::random::Random,
    queries::Outcome,
};
use bevy_ecs::{entity::Entity, hierarchy::ChildOf, world::World};
use bevy_relations::{prelude::*, relation::RelationStorage};
use std::{fmt, iter};

/// What is declared about a relation.
#[derive(Clone, Copy, Debug)]
struct Rules {
    exclusive: bool,
    symmetric: bool,
    acyclic: bool,
    traversable: bool,
    transitive: bool,
    with: Option<usize>,
    on_relation: CleanupPolicy,
    on_target: CleanupPolicy,
}

impl Rules {
    fn may_refuse(&self) -> bool {
        self.on_relation == CleanupPolicy::Refuse || self.on_target == CleanupPolicy::Refuse
    }
}

const CHILD_OF: Rules = Rules {
    exclusive: true,
    symmetric: false,
    acyclic: true,
    traversable: true,
    transitive: false,
    with: None,
    on_relation: CleanupPolicy::Remove,
    on_target: CleanupPolicy::Despawn,
};

/// Entities are numbers in the order of spawning: `ChildOf`, then relations, tags, and the others.
#[derive(Clone, Copy, Debug)]
enum Step {
    Spawn,
    Insert { source: usize, relation: usize, target: usize },
    Remove { source: usize, relation: usize, target: usize },
    RemoveAll { source: usize, relation: usize },
    RemoveEverywhere { relation: usize },
    InsertTag { source: usize, tag: usize },
    RemoveTag { source: usize, tag: usize },
    Despawn { entity: usize },
    DespawnWith { relation: usize },
}

#[derive(Clone)]
pub(crate) struct History {
    relations: Vec<Rules>,
    /// Policies of tags.
    tags: Vec<CleanupPolicy>,
    entities: usize,
    steps: Vec<Step>,
}

impl History {
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        let mut random = Random::new(seed, number);
        let cascades = random.chance(70);
        let mut relations: Vec<Rules> = Vec::new();
        for _ in 0..1 + random.below(4) {
            relations.push(rules(&mut random, cascades, &relations));
        }
        let tags: Vec<_> = (0..random.below(3)).map(|_| policy(&mut random, cascades)).collect();
        let entities = 3 + random.below(7);
        let first_entity = 1 + relations.len() + tags.len();
        let mut count = first_entity + entities;
        let mut steps = Vec::new();
        for _ in 0..5 + random.below(40) {
            let relation = random.below(1 + relations.len()).max(usize::from(!cascades));
            let tag = 1 + relations.len() + random.below(tags.len());
            let [source, target] = [(); 2].map(|()| first_entity + random.below(count - first_entity));
            let step = match random.weighted(&[
                (60, 0),
                (8, 1),
                (5, 2),
                (if cascades { 2 } else { 0 }, 3),
                (if tags.is_empty() { 0 } else { 10 }, 4),
                (if tags.is_empty() { 0 } else { 4 }, 5),
                (9, 6),
                (if cascades { 1 } else { 0 }, 7),
                (6, 8),
            ]) {
                0 => Step::Insert { source, relation, target },
                1 => Step::Remove { source, relation, target },
                2 => Step::RemoveAll { source, relation },
                3 => Step::RemoveEverywhere { relation: relation.max(1) },
                4 => Step::InsertTag { source, tag },
                5 => Step::RemoveTag { source, tag },
                6 => Step::Despawn {
                    entity: if random.chance(90) { target } else { 1 + random.below(count - 1) },
                },
                7 => Step::DespawnWith { relation: relation.max(1) },
                _ => {
                    count += 1;
                    Step::Spawn
                }
            };
            steps.push(step);
        }
        Self { relations, tags, entities, steps }
    }

    pub(crate) fn describe(&self) -> String {
        self.to_string()
    }

    /// The history without one of its steps.
    pub(crate) fn smaller(&self) -> Vec<Self> {
        let without = |number: usize| {
            let mut smaller = self.clone();
            smaller.steps.remove(number);
            smaller
        };
        // Later entities keep their numbers.
        let kept = |number: &usize| !matches!(self.steps[*number], Step::Spawn);
        (0..self.steps.len()).filter(kept).map(without).collect()
    }

    pub(crate) fn run(&self) -> Outcome {
        let mut both = Both::new(self);
        for (number, &step) in self.steps.iter().enumerate() {
            both.step(step);
            if let Some(difference) = both.difference() {
                return Outcome::Differ(format!("after step {number}, {step:?}: {difference}"));
            }
        }
        match both.world.check_pairs() {
            Ok(()) => Outcome::Agree,
            Err(error) => Outcome::Differ(format!("a broken invariant: {error}")),
        }
    }
}

fn policy(random: &mut Random, cascades: bool) -> CleanupPolicy {
    let despawn = if cascades { 4 } else { 0 };
    random.weighted(&[
        (6, CleanupPolicy::Remove),
        (despawn, CleanupPolicy::Despawn),
        (1, CleanupPolicy::Refuse),
    ])
}

/// A relation after `others`.
fn rules(random: &mut Random, cascades: bool, others: &[Rules]) -> Rules {
    let symmetric = !cascades && random.chance(50);
    let exclusive = random.chance(35);
    let with = random.below(others.len());
    Rules {
        exclusive,
        symmetric,
        acyclic: !symmetric && random.chance(15),
        traversable: !symmetric && random.chance(20),
        transitive: !symmetric && random.chance(15),
        with: (!exclusive
            && others.get(with).is_some_and(|other| !other.exclusive && other.with.is_none())
            && random.chance(40))
        .then_some(1 + with),
        on_relation: policy(random, cascades),
        on_target: policy(random, cascades),
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "0 is ChildOf")?;
        for (number, rules) in self.relations.iter().enumerate() {
            writeln!(f, "{} is a relation: {rules:?}", number + 1)?;
        }
        for (number, policy) in self.tags.iter().enumerate() {
            writeln!(f, "{} is a tag: {policy:?}", 1 + self.relations.len() + number)?;
        }
        writeln!(f, "{} entities, then", self.entities)?;
        self.steps.iter().enumerate().try_for_each(|(number, step)| writeln!(f, "  {number}: {step:?}"))
    }
}

/// The two worlds.
struct Both {
    world: World,
    flecs: FlecsWorld,
    entities: Vec<(Entity, Id)>,
    /// Of the first entities, which are relations.
    rules: Vec<Rules>,
    /// Of the next ones.
    tag_policies: Vec<CleanupPolicy>,
}

impl Both {
    fn new(history: &History) -> Self {
        let (mut world, flecs) = (World::new(), FlecsWorld::new());
        let child_of = world.entity_of::<ChildOf>();
        let entities = vec![(child_of, flecs.known.child_of)];
        let rules = iter::once(CHILD_OF).chain(history.relations.iter().copied()).collect();
        let mut both = Self { world, flecs, entities, rules, tag_policies: history.tags.clone() };
        for rules in &history.relations {
            both.spawn_relation(rules);
        }
        for &policy in &history.tags {
            let (tag, id) = both.spawn();
            both.world.set_traits(tag, RelationTraits::new().on_relation_despawn(policy)).expect("it is new");
            let (condition, action) = (both.flecs.known.on_delete, both.action(policy));
            both.flecs.add(id, pair(condition, action));
        }
        for _ in 0..history.entities {
            both.spawn();
        }
        both
    }

    fn spawn(&mut self) -> (Entity, Id) {
        let both = (self.world.spawn_empty().id(), self.flecs.entity());
        self.entities.push(both);
        both
    }

    fn action(&self, policy: CleanupPolicy) -> Id {
        match policy {
            CleanupPolicy::Remove => self.flecs.known.remove,
            CleanupPolicy::Despawn => self.flecs.known.delete,
            CleanupPolicy::Refuse => self.flecs.known.panic,
        }
    }

    fn spawn_relation(&mut self, rules: &Rules) {
        let known = self.flecs.known;
        let (relation, id) = self.spawn();
        let mut traits =
            RelationTraits::new().on_relation_despawn(rules.on_relation).on_target_despawn(rules.on_target);
        let (on_relation, on_target) = (self.action(rules.on_relation), self.action(rules.on_target));
        self.flecs.add(id, pair(known.on_delete, on_relation));
        self.flecs.add(id, pair(known.on_delete_target, on_target));
        type Declare = fn(RelationTraits) -> RelationTraits;
        let flags: [(bool, Declare, Id); 5] = [
            (rules.exclusive, RelationTraits::exclusive, known.exclusive),
            (rules.symmetric, RelationTraits::symmetric, known.symmetric),
            (rules.acyclic, RelationTraits::acyclic, known.acyclic),
            (rules.traversable, RelationTraits::traversable, known.traversable),
            (rules.transitive, RelationTraits::transitive, known.transitive),
        ];
        for (_, declare, id_of_trait) in flags.into_iter().filter(|(set, ..)| *set) {
            traits = declare(traits);
            self.flecs.add(id, id_of_trait);
        }
        let storages = [RelationStorage::Store, RelationStorage::Table, RelationStorage::Fragmenting];
        traits = traits.storage(storages[self.entities.len() % 3]);
        if let Some(with) = rules.with {
            let (other, other_id) = self.entities[with];
            traits = traits.with_id(other);
            self.flecs.add(id, pair(known.with, other_id));
        }
        self.world.set_traits(relation, traits).expect("the traits do not contradict each other");
    }

    fn step(&mut self, step: Step) {
        let of = |number: usize| self.entities[number];
        let selection = |relation: usize, target: Option<usize>| {
            let ((relation, id), target) = (of(relation), target.map(of));
            let wildcard = self.flecs.known.wildcard;
            match target {
                Some((target, target_id)) => (PairId::new(relation, target), pair(id, target_id)),
                None => (PairId::with_relation(relation), pair(id, wildcard)),
            }
        };
        match step {
            Step::Spawn => {
                self.spawn();
            }
            Step::Insert { source, relation, target } => {
                let ((source, s), (relation, r), (target, t)) = (of(source), of(relation), of(target));
                if source != target && self.world.insert_pair_by_id(source, (relation, target)).is_ok() {
                    self.flecs.add(s, pair(r, t));
                }
            }
            Step::Remove { source, relation, target } => {
                let ((source, s), (selected, id)) = (of(source), selection(relation, Some(target)));
                if self.world.remove_pairs_by_id(source, selected) > 0 {
                    self.flecs.remove(s, id);
                }
            }
            Step::RemoveAll { source, relation } => {
                let ((source, s), (selected, id)) = (of(source), selection(relation, None));
                if self.world.remove_pairs_by_id(source, selected) > 0 {
                    self.flecs.remove(s, id);
                }
            }
            Step::RemoveEverywhere { relation } => {
                let (selected, id) = selection(relation, None);
                if self.world.remove_pairs_everywhere(selected) > 0 {
                    self.flecs.remove_everywhere(id);
                }
            }
            Step::InsertTag { source, tag } => {
                let ((source, s), (tag, t)) = (of(source), of(tag));
                if self.world.insert_tag(source, tag).is_ok() {
                    self.flecs.add(s, t);
                }
            }
            Step::RemoveTag { source, tag } => {
                let ((source, s), (tag, t)) = (of(source), of(tag));
                if self.world.remove_tag(source, tag) {
                    self.flecs.remove(s, t);
                }
            }
            Step::Despawn { entity } => {
                let panics = self.on_relation(entity) == CleanupPolicy::Refuse;
                let (entity, id) = of(entity);
                if !panics
                    && !self.is_tangled(&[entity])
                    && self.world.despawn_with_dependents(entity).is_ok()
                {
                    self.flecs.delete(id);
                }
            }
            Step::DespawnWith { relation } => {
                let (selected, id) = selection(relation, None);
                let sources: Vec<Entity> = self.entities.iter().map(|&(entity, _)| entity).collect();
                let has = |source: &Entity| self.world.has_pair_by_id(*source, selected);
                let roots: Vec<Entity> = sources.into_iter().filter(has).collect();
                // What comes before a refusal is gone.
                let refuses = self.rules.iter().any(Rules::may_refuse);
                if !refuses
                    && !self.is_tangled(&roots)
                    && self.world.despawn_sources(selected).is_ok_and(|despawned| despawned > 0)
                {
                    self.flecs.delete_with(id);
                }
            }
        }
    }

    /// What is to happen when an entity is despawned that is used as a relation or tag.
    fn on_relation(&self, number: usize) -> CleanupPolicy {
        let rules = self.rules.iter().map(|rules| rules.on_relation);
        let mut policies = rules.chain(self.tag_policies.iter().copied());
        policies.nth(number).unwrap_or(CleanupPolicy::Remove)
    }

    fn on_target(&self, relation: usize) -> CleanupPolicy {
        self.rules.get(relation).map_or(CleanupPolicy::Remove, |rules| rules.on_target)
    }

    /// Whether despawning these would come back to them, or remove pairs between those that go.
    fn is_tangled(&self, roots: &[Entity]) -> bool {
        let despawns = |relation: Entity| {
            let number = self.entities.iter().position(|&(entity, _)| entity == relation);
            number.is_some_and(|number| self.on_target(number) == CleanupPolicy::Despawn)
        };
        let (mut gone, mut next) = (roots.to_vec(), 0);
        while let Some(&entity) = gone.get(next) {
            next += 1;
            let mut dependents: Vec<Entity> = Vec::new();
            for (source, relation) in self.world.pairs_to(entity) {
                dependents.extend(despawns(relation).then_some(source));
            }
            let number = self.entities.iter().position(|&(other, _)| other == entity);
            if number.is_some_and(|number| self.on_relation(number) == CleanupPolicy::Despawn) {
                let uses = |&source: &Entity| {
                    self.world.has_pair_by_id(source, PairId::with_relation(entity))
                        || self.world.has_tag(source, entity)
                };
                dependents.extend(self.entities.iter().map(|&(source, _)| source).filter(uses));
            }
            gone.extend(dependents.into_iter().filter(|entity| !gone.contains(entity)).collect::<Vec<_>>());
        }
        gone.iter().any(|&entity| {
            self.world.pairs_of(entity).into_iter().any(|(relation, target)| {
                let removed = !despawns(relation);
                gone.contains(&target) && (removed || roots.contains(&entity))
            })
        })
    }

    /// Something that is true in one world only.
    fn difference(&self) -> Option<String> {
        let differs = |number: &usize| {
            let (entity, id) = self.entities[*number];
            self.world.entities().contains_spawned(entity) != self.flecs.is_alive(id)
        };
        if let Some(number) = (0..self.entities.len()).find(differs) {
            let alive = self.flecs.is_alive(self.entities[number].1);
            return Some(format!("{number} is {} in Flecs only", if alive { "alive" } else { "dead" }));
        }
        let alive = |number: &usize| self.flecs.is_alive(self.entities[*number].1);
        let living: Vec<usize> = (0..self.entities.len()).filter(alive).collect();
        for &source in &living {
            let (entity, id) = self.entities[source];
            for tag in self.rules.len()..self.rules.len() + self.tag_policies.len() {
                let (tag_entity, tag_id) = self.entities[tag];
                if alive(&tag) && self.world.has_tag(entity, tag_entity) != self.flecs.has(id, tag_id) {
                    return Some(format!("only one world has tag {tag} on {source}"));
                }
            }
            for relation in (0..self.rules.len()).filter(alive) {
                for &target in &living {
                    let ((r, r_id), (t, t_id)) = (self.entities[relation], self.entities[target]);
                    let ours = self.world.has_pair_by_id(entity, PairId::new(r, t));
                    if ours != self.flecs.has(id, pair(r_id, t_id)) {
                        let whose = if ours { "this crate" } else { "Flecs" };
                        return Some(format!("only {whose} has ({relation}, {target}) on {source}"));
                    }
                }
            }
        }
        None
    }
}
