//! Random forests of prefabs, variants, nested prefabs and instances, applied in Flecs and in this crate: after each step,
//! both say the same of every entity.
//!
//! What differs by a rule of this project is left out, and listed in [`prefab_cases`](crate::prefab_cases) instead: several bases,
//! bases that are no prefabs, slots in variants, pairs whose target is in the same prefab, a second
//! instantiation, and what is copied of what a base gets
//! after its first instance.

use crate::{
    oracle::random::Random,
    prefab_world::{Both, Number, PASSED, Passed, Step},
    queries::Outcome,
};
use bevy_relations::prelude::*;
use std::fmt;

/// A random choice; what it becomes depends on what is there.
#[derive(Clone, Copy, Debug)]
struct Choice {
    what: usize,
    numbers: [usize; 3],
}

/// The choices of one case.
#[derive(Clone)]
pub(crate) struct Forest {
    choices: Vec<Choice>,
}

impl Forest {
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        let mut random = Random::new(seed, number);
        let choice = |random: &mut Random| Choice {
            what: random.weighted(&[
                (6, 0),
                (3, 1),
                (12, 2),
                (10, 3),
                (3, 4),
                (3, 5),
                (8, 6),
                (3, 7),
                (12, 8),
                (2, 9),
                (2, 10),
                (4, 11),
            ]),
            numbers: [(); 3].map(|()| random.below(1 << 20)),
        };
        let count = 5 + random.below(30);
        Self { choices: (0..count).map(|_| choice(&mut random)).collect() }
    }

    pub(crate) fn describe(&self) -> String {
        self.to_string()
    }

    /// The forest without one of its choices.
    pub(crate) fn smaller(&self) -> Vec<Self> {
        let without = |number: usize| {
            let mut smaller = self.clone();
            smaller.choices.remove(number);
            smaller
        };
        (0..self.choices.len()).map(without).collect()
    }

    pub(crate) fn run(&self) -> Outcome {
        let mut growth = Growth::new();
        for &choice in &self.choices {
            let Some(step) = growth.step_of(choice) else { continue };
            growth.carry_out(step);
            let differences = growth.both.differences();
            if !differences.is_empty() {
                return Outcome::Differ(format!("after {:?}: {}", growth.steps, differences.join("; ")));
            }
        }
        match growth.both.world.check_pairs() {
            Ok(()) => Outcome::Agree,
            Err(error) => Outcome::Differ(format!("a broken invariant: {error}")),
        }
    }
}

impl fmt::Display for Forest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} choices", self.choices.len())
    }
}

/// What is known of an entity.
#[derive(Clone, Copy)]
struct Known {
    /// The root of its tree: itself, or that below which it was spawned or copied.
    root: Number,
    is_prefab: bool,
    base: Option<Number>,
    /// The last base that it had.
    was_instance_of: Option<Number>,
    is_slot: bool,
}

struct Growth {
    both: Both,
    known: Vec<Known>,
    steps: Vec<Step>,
}

impl Growth {
    fn new() -> Self {
        Self { both: Both::new(), known: Vec::new(), steps: Vec::new() }
    }

    fn living(&self, accept: impl Fn(Number, Known) -> bool) -> Vec<Number> {
        let all = self.known.iter().enumerate();
        all.filter(|&(number, &known)| self.both.is_alive(number) && accept(number, known))
            .map(|(number, _)| number)
            .collect()
    }

    /// `None` if there is nothing to do it with.
    fn step_of(&self, Choice { what, numbers: [first, second, third] }: Choice) -> Option<Step> {
        let pick = |from: &[Number], number: usize| (!from.is_empty()).then(|| from[number % from.len()]);
        let all = self.living(|_, _| true);
        let entity = pick(&all, first);
        let passed = PASSED[third % 3];
        let is_base = |number| self.known.iter().any(|known| known.was_instance_of == Some(number));
        Some(match what {
            0 => Step::SpawnPrefab,
            1 => Step::Spawn,
            2 => Step::SpawnChild(entity?),
            3 => {
                let entity = entity?;
                let is_late = passed == Passed::Copied && is_base(entity);
                (!is_late).then_some(Step::Set(entity, passed, (third / 3 % 100) as u32))?
            }
            4 => Step::Unset(entity?, passed),
            5 => {
                let entity = entity?;
                (!is_base(entity)).then_some(Step::Tag(entity))?
            }
            6 => {
                // Targets outside: those within a prefab are another matter.
                let (source, plain) = (
                    entity?,
                    self.living(|number, known| {
                        known.root == number && !known.is_prefab && known.base.is_none()
                    }),
                );
                let target = pick(&plain, second)?;
                let is_late = passed == Passed::Copied && is_base(source);
                (self.known[source].root != target && !is_late)
                    .then_some(Step::Insert(source, passed, target))?
            }
            7 => Step::Remove(entity?, passed, pick(&all, second)?),
            8 => {
                let instances = self.living(|_, known| known.was_instance_of.is_none());
                let instance = pick(&instances, first)?;
                let root = self.known[instance].root;
                let bases =
                    self.living(|number, known| known.is_prefab && known.root == number && number < root);
                let base = pick(&bases, second)?;
                let has_slots = self.known.iter().any(|known| known.root == base && known.is_slot);
                (!has_slots || !self.known[instance].is_prefab).then_some(Step::IsA(instance, base))?
            }
            9 => {
                let instance = pick(&self.living(|_, known| known.base.is_some()), first)?;
                Step::IsNot(instance, self.known[instance].base?)
            }
            10 => Step::Despawn(entity?),
            _ => {
                let parts =
                    self.living(|number, known| known.is_prefab && known.root != number && !known.is_slot);
                let part = pick(&parts, first)?;
                Step::SlotOf(part, self.known[part].root)
            }
        })
    }

    fn carry_out(&mut self, step: Step) {
        self.steps.push(step);
        self.both.step(step);
        let count = self.both.entities.len();
        let number = self.known.len();
        let new =
            |root, is_prefab| Known { root, is_prefab, base: None, was_instance_of: None, is_slot: false };
        match step {
            Step::Spawn | Step::SpawnPrefab => {
                self.known.push(new(number, matches!(step, Step::SpawnPrefab)));
            }
            Step::SpawnChild(parent) => {
                let Known { root, is_prefab, .. } = self.known[parent];
                self.known.push(new(root, is_prefab));
            }
            Step::IsA(instance, base) => {
                self.known[instance].base = Some(base);
                self.known[instance].was_instance_of = Some(base);
                let Known { root, is_prefab, .. } = self.known[instance];
                self.known.resize(count, new(root, is_prefab));
                let world = &self.both.world;
                for copy in number..count {
                    let mut bases = world.pairs::<IsA>().targets(self.both.entities[copy].0);
                    let base = bases.next();
                    self.known[copy].base =
                        base.and_then(|base| self.both.entities.iter().position(|both| both.0 == base));
                    self.known[copy].was_instance_of = self.known[copy].base;
                }
            }
            Step::IsNot(instance, _) => self.known[instance].base = None,
            Step::SlotOf(slot, _) => self.known[slot].is_slot = true,
            Step::Despawn(_) => {
                for number in 0..count {
                    let base = self.known[number].base;
                    if base.is_some_and(|base| !self.both.is_alive(base)) {
                        self.known[number].base = None;
                    }
                }
            }
            Step::Set(..) | Step::Unset(..) | Step::Tag(_) | Step::Insert(..) | Step::Remove(..) => {}
        }
    }
}
