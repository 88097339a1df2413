//! The rules, applied naively: a list of pairs, and no index of any kind. Written from the reference of
//! behaviour alone.

use std::{collections::BTreeSet, fmt};

/// An entity: its number in the order of spawning.
pub(super) type Id = usize;

/// What a despawn means for pairs of a relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Policy {
    #[default]
    Remove,
    Despawn,
    Refuse,
}

/// What is declared about a relation.
#[derive(Clone, PartialEq, Default)]
pub(super) struct Spec {
    pub(super) exclusive: bool,
    pub(super) union: bool,
    pub(super) symmetric: bool,
    pub(super) acyclic: bool,
    pub(super) traversable: bool,
    pub(super) transitive: bool,
    pub(super) ordered: bool,
    pub(super) is_final: bool,
    pub(super) one_of: bool,
    /// Its sources have a component, too.
    pub(super) table: bool,
    /// Its pairs carry a number.
    pub(super) data: bool,
    pub(super) default: bool,
    /// Number of a relation that was made before this one.
    pub(super) with: Option<usize>,
    pub(super) on_target: Policy,
    pub(super) on_relation: Policy,
    /// Kept in a Bevy component.
    pub(super) adopted: bool,
    /// A target has one source at most.
    pub(super) one_to_one: bool,
    pub(super) is_a: bool,
}

impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = [
            (self.exclusive, "exclusive"),
            (self.union, "union"),
            (self.symmetric, "symmetric"),
            (self.acyclic, "acyclic"),
            (self.traversable, "traversable"),
            (self.transitive, "transitive"),
            (self.ordered, "ordered"),
            (self.is_final, "final"),
            (self.one_of, "one_of"),
            (self.table, "table"),
            (self.data, "data"),
            (self.default, "default"),
        ];
        f.write_str("{")?;
        for (_, name) in flags.iter().filter(|(set, _)| *set) {
            write!(f, " {name}")?;
        }
        if let Some(with) = self.with {
            write!(f, " with({with})")?;
        }
        let policies = [(self.on_target, "on_target"), (self.on_relation, "on_relation")];
        for (policy, name) in policies.iter().filter(|(policy, _)| *policy != Policy::Remove) {
            write!(f, " {name}={policy:?}")?;
        }
        f.write_str(" }")
    }
}

impl Spec {
    pub(super) fn single(&self) -> bool {
        self.exclusive || self.union
    }

    pub(super) fn walks(&self) -> bool {
        self.traversable || self.transitive
    }

    fn no_cycles(&self) -> bool {
        self.acyclic || self.walks()
    }
}

/// The value given with a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Given {
    Nothing,
    Number(u32),
    WrongType,
}

/// Why a pair is not inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Violation {
    Dead,
    Final,
    OneOf,
    SelfReference,
    Cycle,
    WrongType,
    Unexpected,
    Missing,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Rel {
    pub(super) entity: Id,
    pub(super) spec: Spec,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Pair {
    pub(super) rel: usize,
    pub(super) source: Id,
    pub(super) target: Id,
    pub(super) value: Option<u32>,
    /// Orders the targets of a source.
    inserted: u64,
    /// Orders the sources of a target.
    rank: u64,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Reference {
    pub(super) rels: Vec<Rel>,
    pub(super) pairs: Vec<Pair>,
    /// Source and tag, in insertion order.
    pub(super) tags: Vec<(Id, Id)>,
    pub(super) alive: Vec<bool>,
    clock: u64,
}

/// A relation, source and target, any of them open.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Filter {
    pub(super) source: Option<Id>,
    pub(super) rel: Option<usize>,
    pub(super) target: Option<Id>,
}

fn fits_tag(filter: Filter, (source, tag): (Id, Id)) -> bool {
    filter.source.is_none_or(|wanted| wanted == source) && filter.target.is_none_or(|wanted| wanted == tag)
}

impl Reference {
    pub(super) fn spawn(&mut self) -> Id {
        self.alive.push(true);
        self.alive.len() - 1
    }

    fn now(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// The relation that an entity is.
    pub(super) fn rel_of(&self, entity: Id) -> Option<usize> {
        self.rels.iter().position(|rel| rel.entity == entity && self.alive[entity])
    }

    pub(super) fn has(&self, rel: usize, source: Id, target: Id) -> bool {
        self.pairs.iter().any(|pair| (pair.rel, pair.source, pair.target) == (rel, source, target))
    }

    pub(super) fn value(&self, rel: usize, source: Id, target: Id) -> Option<u32> {
        let found =
            self.pairs.iter().find(|pair| (pair.rel, pair.source, pair.target) == (rel, source, target));
        found.and_then(|pair| pair.value)
    }

    pub(super) fn targets(&self, rel: usize, source: Id) -> Vec<Id> {
        let mut pairs: Vec<_> =
            self.pairs.iter().filter(|pair| (pair.rel, pair.source) == (rel, source)).collect();
        pairs.sort_by_key(|pair| pair.inserted);
        pairs.into_iter().map(|pair| pair.target).collect()
    }

    pub(super) fn sources(&self, rel: usize, target: Id) -> Vec<Id> {
        let mut pairs: Vec<_> =
            self.pairs.iter().filter(|pair| (pair.rel, pair.target) == (rel, target)).collect();
        pairs.sort_by_key(|pair| pair.rank);
        pairs.into_iter().map(|pair| pair.source).collect()
    }

    /// The pairs that fit, as relation, source and target.
    pub(super) fn select(&self, filter: Filter) -> Vec<(usize, Id, Id)> {
        let fits = |pair: &&Pair| {
            filter.source.is_none_or(|source| source == pair.source)
                && filter.rel.is_none_or(|rel| rel == pair.rel)
                && filter.target.is_none_or(|target| target == pair.target)
        };
        self.pairs.iter().filter(fits).map(|pair| (pair.rel, pair.source, pair.target)).collect()
    }

    /// Inserts a pair and what comes with it, or nothing.
    pub(super) fn insert(
        &mut self,
        rel: usize,
        source: Id,
        target: Id,
        given: Given,
    ) -> Result<(), Vec<Violation>> {
        let mut scratch = self.clone();
        let mut violations = Vec::new();
        scratch.put(rel, source, target, given, &mut violations);
        if violations.is_empty() {
            *self = scratch;
            Ok(())
        } else {
            Err(violations)
        }
    }

    fn put(&mut self, rel: usize, source: Id, target: Id, given: Given, violations: &mut Vec<Violation>) {
        let Rel { entity, spec } = self.rels[rel].clone();
        if [source, target, entity].iter().any(|&entity| !self.alive[entity]) {
            violations.push(Violation::Dead);
            return;
        }
        let there = self.has(rel, source, target);
        let known = violations.len();
        let value = match (spec.data, given) {
            (false, Given::Nothing) => Ok(None),
            (false, _) => Err(Violation::Unexpected),
            (true, Given::WrongType) => Err(Violation::WrongType),
            (true, Given::Number(value)) => Ok(Some(value)),
            (true, Given::Nothing) if there => Ok(None),
            (true, Given::Nothing) if spec.default => Ok(Some(0)),
            (true, Given::Nothing) => Err(Violation::Missing),
        };
        violations.extend(value.err());
        let value = value.unwrap_or_default();
        if there {
            if value.is_some() {
                self.for_both(rel, source, target, |pair| pair.value = value);
            }
            return;
        }
        if spec.is_a && self.rel_of(target).is_some_and(|rel| self.rels[rel].spec.is_final) {
            violations.push(Violation::Final);
        }
        if spec.one_of
            && !self.pairs.iter().any(|pair| {
                self.rels[pair.rel].spec.adopted
                    && !self.rels[pair.rel].spec.one_to_one
                    && (pair.source, pair.target) == (target, entity)
            })
        {
            violations.push(Violation::OneOf);
        }
        if spec.adopted && source == target {
            violations.push(Violation::SelfReference);
        }
        if spec.no_cycles() && (source == target || self.reaches(rel, target, source)) {
            violations.push(Violation::Cycle);
        }
        if violations.len() > known {
            return;
        }
        let mut directions = vec![(source, target)];
        if spec.symmetric && source != target {
            directions.push((target, source));
        }
        for &(source, target) in &directions {
            if spec.single() {
                self.remove_all(Filter { source: Some(source), rel: Some(rel), target: None });
            }
            if spec.one_to_one {
                self.remove_all(Filter { source: None, rel: Some(rel), target: Some(target) });
            }
        }
        for &(source, target) in &directions {
            let at = self.now();
            self.pairs.push(Pair { rel, source, target, value, inserted: at, rank: at });
        }
        if let Some(with) = spec.with.filter(|&with| self.alive[self.rels[with].entity]) {
            for &(source, target) in &directions {
                self.put(with, source, target, Given::Nothing, violations);
            }
        }
    }

    /// Does something to a pair, and to its other direction if the relation is symmetric.
    fn for_both(&mut self, rel: usize, source: Id, target: Id, mut f: impl FnMut(&mut Pair)) {
        let symmetric = self.rels[rel].spec.symmetric;
        for pair in self.pairs.iter_mut().filter(|pair| pair.rel == rel) {
            let same = (pair.source, pair.target) == (source, target);
            if same || (symmetric && (pair.target, pair.source) == (source, target)) {
                f(pair);
            }
        }
    }

    /// Whether `to` is reached from `from` over at least one pair.
    pub(super) fn reaches(&self, rel: usize, from: Id, to: Id) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            for target in self.targets(rel, at) {
                if target == to {
                    return true;
                }
                if seen.insert(target) {
                    open.push(target);
                }
            }
        }
        false
    }

    /// Removes the pairs that fit, with the other directions of symmetric ones; counts those that fit.
    pub(super) fn remove_all(&mut self, filter: Filter) -> usize {
        let gone = self.select(filter);
        for &(rel, source, target) in &gone {
            let symmetric = self.rels[rel].spec.symmetric;
            self.pairs.retain(|pair| {
                let same = (pair.source, pair.target) == (source, target);
                pair.rel != rel || !(same || (symmetric && (pair.target, pair.source) == (source, target)))
            });
        }
        gone.len()
    }

    pub(super) fn insert_tag(&mut self, source: Id, tag: Id) -> Result<(), Vec<Violation>> {
        if !self.alive[source] || !self.alive[tag] {
            return Err(vec![Violation::Dead]);
        }
        if !self.tags.contains(&(source, tag)) {
            self.tags.push((source, tag));
            let with = self.rel_of(tag).and_then(|rel| self.rels[rel].spec.with);
            if let Some(with) = with.map(|with| self.rels[with].entity).filter(|&with| self.alive[with]) {
                self.insert_tag(source, with)?;
            }
        }
        Ok(())
    }

    pub(super) fn remove_tag(&mut self, source: Id, tag: Id) -> bool {
        let before = self.tags.len();
        self.tags.retain(|&pair| pair != (source, tag));
        self.tags.len() < before
    }

    /// The sources of tags that fit a filter without a relation: a tag is a target.
    pub(super) fn tagged(&self, filter: Filter) -> Vec<Id> {
        self.tags.iter().filter(|&&tag| fits_tag(filter, tag)).map(|&(source, _)| source).collect()
    }

    /// Removes the tags that fit a filter without a relation, and counts them.
    pub(super) fn remove_tags(&mut self, filter: Filter) -> usize {
        let before = self.tags.len();
        self.tags.retain(|&tag| !fits_tag(filter, tag));
        before - self.tags.len()
    }

    /// The component of an adopted relation is written through Bevy. True if the pair is refused.
    pub(super) fn write_component(&mut self, rel: usize, source: Id, target: Id) -> bool {
        let spec = self.rels[rel].spec.clone();
        self.remove_all(Filter { source: Some(source), rel: Some(rel), target: None });
        if !self.alive[target] || source == target {
            return false;
        }
        if spec.one_to_one {
            self.remove_all(Filter { source: None, rel: Some(rel), target: Some(target) });
        }
        if spec.no_cycles() && self.reaches(rel, target, source) {
            return true;
        }
        let at = self.now();
        self.pairs.push(Pair { rel, source, target, value: None, inserted: at, rank: at });
        false
    }

    /// Everything on an entity goes; what others have on it stays, unless Bevy keeps it in a component of it.
    pub(super) fn clear_entity(&mut self, entity: Id) {
        for rel in 0..self.rels.len() {
            self.remove_all(Filter { source: Some(entity), rel: Some(rel), target: None });
            if self.rels[rel].spec.adopted {
                self.remove_all(Filter { source: None, rel: Some(rel), target: Some(entity) });
            }
        }
        self.tags.retain(|&(source, _)| source != entity);
    }

    /// The entity and all that goes with it.
    pub(super) fn cascade(&self, entity: Id) -> BTreeSet<Id> {
        let mut gone = BTreeSet::new();
        let mut open = vec![entity];
        while let Some(entity) = open.pop() {
            if !gone.insert(entity) {
                continue;
            }
            for pair in &self.pairs {
                let rel = &self.rels[pair.rel];
                if (pair.target == entity && rel.spec.on_target == Policy::Despawn)
                    || (rel.entity == entity && rel.spec.on_relation == Policy::Despawn)
                {
                    open.push(pair.source);
                }
            }
            if self.relation_policy(entity) == Policy::Despawn {
                open.extend(self.tags.iter().filter(|&&(_, tag)| tag == entity).map(|&(source, _)| source));
            }
        }
        gone
    }

    fn relation_policy(&self, entity: Id) -> Policy {
        self.rel_of(entity).map_or(Policy::Remove, |rel| self.rels[rel].spec.on_relation)
    }

    /// Whether a policy stands in the way of despawning these.
    pub(super) fn panics(&self, gone: &BTreeSet<Id>) -> bool {
        let target = self
            .pairs
            .iter()
            .any(|pair| gone.contains(&pair.target) && self.rels[pair.rel].spec.on_target == Policy::Refuse);
        let relation = self.pairs.iter().any(|pair| {
            let rel = &self.rels[pair.rel];
            gone.contains(&rel.entity) && rel.spec.on_relation == Policy::Refuse
        });
        let tag = self
            .tags
            .iter()
            .any(|(_, tag)| gone.contains(tag) && self.relation_policy(*tag) == Policy::Refuse);
        target || relation || tag
    }

    pub(super) fn despawn(&mut self, gone: &BTreeSet<Id>) {
        let rels = self.rels.clone();
        self.pairs.retain(|pair| {
            ![pair.source, pair.target, rels[pair.rel].entity].iter().any(|entity| gone.contains(entity))
        });
        self.tags.retain(|(source, tag)| !gone.contains(source) && !gone.contains(tag));
        for &entity in gone {
            self.alive[entity] = false;
        }
    }

    /// Copies an entity with its pairs. True if a pair of the copy was refused. A copied pair brings its companions
    /// along, but what the original has in components, the copy has too: Bevy writes them last.
    pub(super) fn clone_entity(&mut self, original: Id) -> (Id, bool) {
        let clone = self.spawn();
        let mut refused = false;
        let mut own: Vec<Pair> = self.pairs.iter().filter(|pair| pair.source == original).cloned().collect();
        own.sort_by_key(|pair| (self.rels[pair.rel].spec.adopted, pair.rel, pair.inserted));
        for pair in own {
            let target = if pair.target == original { clone } else { pair.target };
            let spec = &self.rels[pair.rel].spec;
            if spec.adopted {
                refused |= self.write_component(pair.rel, clone, target);
            } else if !(spec.single() && spec.symmetric) {
                let given = pair.value.map_or(Given::Nothing, Given::Number);
                refused |= self.insert(pair.rel, clone, target, given).is_err();
            }
        }
        let tags: Vec<Id> =
            self.tags.iter().filter(|(source, _)| *source == original).map(|&(_, tag)| tag).collect();
        for tag in tags {
            let tag = if tag == original { clone } else { tag };
            refused |= self.insert_tag(clone, tag).is_err();
        }
        (clone, refused)
    }

    /// The order of targets of a source, as it was found.
    pub(super) fn adopt_order(&mut self, rel: usize, source: Id, targets: &[Id]) {
        for &target in targets {
            let at = self.now();
            let found = self.pairs.iter_mut().find(|p| (p.rel, p.source, p.target) == (rel, source, target));
            if let Some(pair) = found {
                pair.inserted = at;
            }
        }
    }

    /// Puts the sources of a target into the given order.
    pub(super) fn reorder(&mut self, rel: usize, target: Id, order: &[Id]) {
        for &source in order {
            let at = self.now();
            let found = self.pairs.iter_mut().find(|p| (p.rel, p.source, p.target) == (rel, source, target));
            if let Some(pair) = found {
                pair.rank = at;
            }
        }
    }

    pub(super) fn ancestors(&self, rel: usize, entity: Id) -> Vec<Id> {
        let mut met = vec![entity];
        while let Some(&target) = self.targets(rel, met[met.len() - 1]).first() {
            if met.contains(&target) {
                break;
            }
            met.push(target);
        }
        met.split_off(1)
    }

    pub(super) fn descendants(&self, rel: usize, entity: Id) -> BTreeSet<Id> {
        (0..self.alive.len()).filter(|&other| other != entity && self.reaches(rel, other, entity)).collect()
    }

    /// Longest way up; the relation must have no cycle.
    pub(super) fn depth(&self, rel: usize, entity: Id) -> u32 {
        self.targets(rel, entity).into_iter().map(|target| self.depth(rel, target) + 1).max().unwrap_or(0)
    }
}
