//! The invariants of the store, by name, and their checker.

use super::PairStore;
use crate::{id::RelationId, relation::RelationName};
use alloc::{string::String, vec::Vec};
use bevy_ecs::{
    entity::{Entity, EntityHashMap, EntityHashSet},
    world::World,
};
use bevy_platform::collections::HashMap;
use core::{any::TypeId, fmt};
use thiserror::Error;

/// A promise that the pair store keeps at all times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Invariant {
    /// Forward and reverse index hold the same pairs.
    Mirror,
    /// An exclusive relation has at most one target per source.
    Exclusive,
    /// A symmetric relation holds both directions, with one value.
    Symmetric,
    /// No pair names a dead entity.
    Alive,
    /// An acyclic relation has no cycle.
    Acyclic,
    /// Stored depths are right.
    Depth,
    /// Every data pair has its value, and every value its pair.
    Data,
    /// Every entity with pairs is known to take part, and despawning it starts cleanup.
    Roles,
    /// Every list of an index belongs to one entity, which finds it; or it is free, empty, and names nobody.
    Lists,
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A broken invariant: a bug in this crate.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("invariant {invariant} is broken in {relation}: {detail}")]
pub struct PairInvariantError {
    /// Which one.
    pub invariant: Invariant,
    /// In which relation.
    pub relation: RelationName,
    /// What is wrong.
    pub detail: String,
}

/// Checks one relation.
struct Checker<'a> {
    store: &'a PairStore,
    world: &'a World,
    id: RelationId,
}

impl PairStore {
    /// Verifies every invariant. Costs as much as reading the whole store several times.
    pub(crate) fn check(
        &self,
        world: &World,
        is_marked: impl Fn(Entity) -> bool,
    ) -> Result<(), PairInvariantError> {
        let mut rows: HashMap<TypeId, Vec<u32>> = HashMap::default();
        for id in self.registry.ids() {
            let checker = Checker { store: self, world, id };
            checker.lists()?;
            checker.mirror()?;
            checker.traits()?;
            checker.alive()?;
            checker.acyclic()?;
            checker.depth()?;
            checker.data(&mut rows)?;
            checker.roles(&is_marked)?;
        }
        self.check_columns(world, rows)
    }

    /// Every value of every column belongs to exactly one pair, or to both directions of a symmetric one.
    fn check_columns(
        &self,
        world: &World,
        rows: HashMap<TypeId, Vec<u32>>,
    ) -> Result<(), PairInvariantError> {
        let entries = self.registry.ids().map(|id| self.registry.entry(id));
        let of_relations = entries.filter_map(|entry| Some((entry.name(), entry.data?)));
        let of_targets = self.registry.types.values().filter_map(|entry| {
            Some((RelationName { name: Some("*".into()), entity: entry.entity }, entry.data?))
        });
        for (relation, kind) in of_relations.chain(of_targets) {
            let used = rows.get(&kind.type_id).map_or(0, Vec::len);
            let stored = (kind.len)(world);
            if used != stored {
                let detail = alloc::format!("{stored} values of {} for {used} pairs", kind.name);
                return Err(PairInvariantError { invariant: Invariant::Data, relation, detail });
            }
        }
        Ok(())
    }
}

impl Checker<'_> {
    fn fail(&self, invariant: Invariant, detail: fmt::Arguments<'_>) -> Result<(), PairInvariantError> {
        let relation = self.store.registry.entry(self.id).name();
        Err(PairInvariantError { invariant, relation, detail: alloc::format!("{detail}") })
    }

    fn lists(&self) -> Result<(), PairInvariantError> {
        match self.store.relation(self.id).reverse.fault() {
            Some(fault) => self.fail(Invariant::Lists, format_args!("{fault}")),
            None => Ok(()),
        }
    }

    fn mirror(&self) -> Result<(), PairInvariantError> {
        let index = self.store.relation(self.id);
        let mut reverse = 0;
        for (target, list) in index.reverse.targets() {
            if index.reverse.list(target) != Some(list) {
                return self.fail(Invariant::Mirror, format_args!("{target} does not find its list"));
            }
            let mut seen = EntityHashSet::default();
            for source in index.sources(target) {
                reverse += 1;
                if !seen.insert(source) {
                    return self.fail(Invariant::Mirror, format_args!("{source} twice in {target}"));
                }
                let place = index.forward.find(&index.reverse, source, target);
                let at_place = place.map(|place| index.reverse.lists[list].sources.get(place as usize));
                if at_place != Some(Some(&source)) {
                    return self
                        .fail(Invariant::Mirror, format_args!("{source} -> {target} only in reverse"));
                }
            }
        }
        let mut forward = 0;
        for source in index.forward.sources() {
            for (nth, target) in index.targets(source).enumerate() {
                forward += 1;
                if index.forward.nth(&index.reverse, source, nth) != Some(target) {
                    return self.fail(Invariant::Mirror, format_args!("target {nth} of {source}"));
                }
            }
            if index.first_target(source) != index.targets(source).next() {
                return self.fail(Invariant::Mirror, format_args!("first target of {source}"));
            }
        }
        if forward != reverse || forward != index.len {
            let len = index.len;
            return self.fail(
                Invariant::Mirror,
                format_args!("{forward} forward, {reverse} reverse, {len} counted"),
            );
        }
        Ok(())
    }

    fn traits(&self) -> Result<(), PairInvariantError> {
        let index = self.store.relation(self.id);
        let traits = &self.store.registry.entry(self.id).traits;
        for (source, target) in index.iter() {
            if traits.is_exclusive() && index.forward.len(source) != 1 {
                return self.fail(Invariant::Exclusive, format_args!("{source} has several targets"));
            }
            if traits.is_symmetric()
                && (!index.has(target, source) || index.row(source, target) != index.row(target, source))
            {
                return self.fail(Invariant::Symmetric, format_args!("{source} -> {target} but not back"));
            }
        }
        Ok(())
    }

    fn alive(&self) -> Result<(), PairInvariantError> {
        let entities = self.world.entities();
        for (source, target) in self.store.relation(self.id).iter() {
            if !entities.contains_spawned(source) || !entities.contains_spawned(target) {
                return self.fail(Invariant::Alive, format_args!("{source} -> {target} names a dead entity"));
            }
        }
        Ok(())
    }

    /// Removes roots until nothing is left, or only cycles are.
    fn acyclic(&self) -> Result<(), PairInvariantError> {
        let index = self.store.relation(self.id);
        if !index.acyclic {
            return Ok(());
        }
        let sources = index.forward.sources();
        let mut above: EntityHashMap<usize> =
            sources.iter().map(|&source| (source, index.forward.len(source))).collect();
        let targets = index.reverse.targets().map(|(target, _)| target);
        let mut roots: Vec<Entity> = targets.filter(|target| !above.contains_key(target)).collect();
        while let Some(root) = roots.pop() {
            for source in index.sources(root) {
                let left = above.entry(source).or_default();
                *left -= 1;
                if *left == 0 {
                    above.remove(&source);
                    roots.push(source);
                }
            }
        }
        match above.keys().next() {
            None => Ok(()),
            Some(entity) => self.fail(Invariant::Acyclic, format_args!("{entity} is in or below a cycle")),
        }
    }

    fn depth(&self) -> Result<(), PairInvariantError> {
        let index = self.store.relation(self.id);
        match index.depths.as_ref().and_then(|depths| depths.wrong(&index.forward, &index.reverse)) {
            None => Ok(()),
            Some(entity) => self.fail(Invariant::Depth, format_args!("the depth of {entity} is wrong")),
        }
    }

    fn data(&self, rows: &mut HashMap<TypeId, Vec<u32>>) -> Result<(), PairInvariantError> {
        let index = self.store.relation(self.id);
        let symmetric = self.store.registry.entry(self.id).traits.is_symmetric();
        for (source, target) in index.iter() {
            let kind = self.store.data_kind(self.id, source, target);
            match (kind, index.row(source, target)) {
                (None, None) => {}
                (Some(kind), Some(row)) => {
                    if (kind.get)(self.world, row).is_none() {
                        return self.fail(Invariant::Data, format_args!("row {row} is empty"));
                    }
                    // Both directions of a symmetric pair share a value, which is counted once.
                    if !symmetric || source <= target {
                        let rows = rows.entry(kind.type_id).or_default();
                        rows.push(row);
                    }
                }
                _ => return self.fail(Invariant::Data, format_args!("{source} -> {target} lacks its value")),
            }
        }
        Ok(())
    }

    fn roles(&self, is_marked: &impl Fn(Entity) -> bool) -> Result<(), PairInvariantError> {
        let adopted = self.store.registry.entry(self.id).adopted.is_some();
        for (source, target) in self.store.relation(self.id).iter() {
            for entity in [source, target] {
                let known = self.store.participants.relations(entity).any(|id| id == self.id);
                let cleaned_up = adopted || (is_marked(entity) && self.store.participants.is_marked(entity));
                if !known || !cleaned_up {
                    return self.fail(Invariant::Roles, format_args!("{entity} is not known to take part"));
                }
            }
        }
        Ok(())
    }
}
