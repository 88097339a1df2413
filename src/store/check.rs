//! The invariants of the store, by name, and their checker.
//!
//! What is wrong with a structure by itself is found where it is defined, in methods named `fault`; here is compared
//! what one says with what the others say.

#[cfg(test)]
pub(in crate::store) mod tests;

use super::{PairStore, RelationIndex};
use crate::{id::RelationId, relation::RelationName};
use alloc::{string::String, vec::Vec};
use bevy_ecs::{
    archetype::{Archetype, ArchetypeEntity},
    entity::{Entity, EntityHashMap, EntityHashSet},
    world::World,
};
use bevy_platform::collections::{HashMap, HashSet};
use core::{
    any::{Any, TypeId},
    fmt,
};
use thiserror::Error;

/// An invariant of the pair store, verified by [`check_pairs`](crate::WorldPairExt::check_pairs).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{error::Invariant, prelude::*};
/// # let mut world = World::new();
/// // At the end of a test. Of all invariants, only `Watched` can be broken by a program.
/// match world.check_pairs() {
///     Ok(()) => {}
///     Err(broken) if broken.invariant == Invariant::Watched => world.maintain_pairs(),
///     Err(broken) => panic!("{broken}"),
/// }
/// ```
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
    /// A keyed relation has at most one pair per source and key.
    Key,
    /// Every entity with pairs is known to take part, and despawning it starts cleanup.
    Roles,
    /// Every list of an index belongs to one entity and is found by it, or is free and empty. The row of a value is kept with
    /// the pair that it belongs to.
    Lists,
    /// The last change of a pair in the journal of its relation agrees with whether there is such a pair.
    Journal,
    /// Every entity that is to be despawned because another one was is queued for that.
    Cascade,
    /// The pairs of a Bevy relationship are those that its components say.
    Adopted,
    /// With [`storage = "Table"`](crate::relation::RelationStorage::Table): the component of each source says what its first target is,
    /// unless it is noted as still to be written; nothing else has it.
    Table,
    /// The observers that the store depends on are there. If not, a user has despawned them, which is no bug: they come
    /// back with [`maintain_pairs`](crate::WorldPairExt::maintain_pairs).
    Watched,
    /// Tracked islands are the entities that pairs connect.
    Islands,
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A broken invariant, found by [`check_pairs`](crate::WorldPairExt::check_pairs): a bug in this crate.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # let mut world = World::new();
/// # #[derive(Relation)]
/// # struct Likes;
/// # let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
/// world.insert_pair(ann, Likes, ben)?;
/// if let Err(broken) = world.check_pairs() {
///     panic!("please report: {:?} of {}: {}", broken.invariant, broken.relation, broken.detail);
/// }
/// # Ok::<(), BevyError>(())
/// ```
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

impl PairInvariantError {
    /// One that is about an entity, and no relation in particular.
    pub(crate) fn about(invariant: Invariant, entity: Entity, detail: &str) -> Self {
        let relation = RelationName { name: Some("*".into()), entity };
        Self { invariant, relation, detail: alloc::format!("{entity}: {detail}") }
    }
}

/// The rows of values that belong to pairs, by the type of the values.
type ValueRows = HashMap<TypeId, HashSet<u32>>;

/// Checks one relation.
struct RelationChecker<'a> {
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
        let mut rows = ValueRows::default();
        for id in self.registry.ids() {
            let checker = RelationChecker { store: self, world, id };
            checker.index()?;
            checker.traits()?;
            checker.alive()?;
            checker.acyclic()?;
            checker.depth()?;
            checker.data(&mut rows)?;
            checker.keys()?;
            checker.journal()?;
            checker.roles(&is_marked)?;
            checker.adopted()?;
            checker.table()?;
        }
        self.check_tags(world, &is_marked)?;
        self.check_columns(world, &rows)?;
        self.check_rest(|entity| world.entities().contains_spawned(entity) && is_marked(entity))
    }

    /// The tags: they have an index of their own.
    fn check_tags(
        &self,
        world: &World,
        is_marked: &impl Fn(Entity) -> bool,
    ) -> Result<(), PairInvariantError> {
        let index = &self.tags;
        let mut named = index.targets_with_sources().map(|(tag, _)| tag).chain(index.all_sources());
        let Some(entity) = named.next() else { return Ok(()) };
        let fault = lists(index).or_else(|| mirror(index)).or_else(|| {
            index.iter().flat_map(|(source, tag)| [source, tag]).find_map(|end| {
                let known = self.participants.is_tagged(end) && self.participants.is_marked(end);
                if !world.entities().contains_spawned(end) {
                    Some((Invariant::Alive, alloc::format!("a tag names {end}, which is dead")))
                } else if !known || !is_marked(end) {
                    Some((Invariant::Roles, alloc::format!("{end} is not known to have or be a tag")))
                } else {
                    None
                }
            })
        });
        match fault {
            None => Ok(()),
            Some((invariant, detail)) => {
                let relation = RelationName { name: Some("*".into()), entity };
                Err(PairInvariantError { invariant, relation, detail })
            }
        }
    }

    /// What is about no relation in use.
    fn check_rest(&self, is_marked: impl Fn(Entity) -> bool) -> Result<(), PairInvariantError> {
        let fail = |invariant, entity, detail| Err(PairInvariantError::about(invariant, entity, detail));
        let mut unused = self.registry.entries().zip(&self.relations).filter(|(entry, _)| !entry.in_use);
        if let Some((source, _)) = unused.find_map(|(_, index)| index.iter().next()) {
            return fail(Invariant::Alive, source, "it has pairs of a relation that is gone");
        }
        if let Some((entity, detail)) = self.participants.fault(is_marked) {
            return fail(Invariant::Roles, entity, detail);
        }
        Ok(())
    }

    /// Every value of every column belongs to exactly one pair, or to both directions of a symmetric one.
    fn check_columns(&self, world: &World, rows: &ValueRows) -> Result<(), PairInvariantError> {
        let entries = self.registry.ids().map(|id| self.registry.entry(id));
        let of_relations = entries.filter_map(|entry| Some((entry.name(), entry.data?)));
        let of_targets = self.registry.type_entries().filter_map(|entry| {
            Some((RelationName { name: Some("*".into()), entity: entry.entity }, entry.data?))
        });
        // The map has no order, and the first that is wrong is reported.
        let mut of_targets: Vec<_> = of_targets.collect();
        of_targets.sort_unstable_by_key(|(relation, _)| relation.entity);
        for (relation, kind) in of_relations.chain(of_targets) {
            let used = rows.get(&kind.value_type()).map_or(0, HashSet::len);
            let stored = kind.count(world);
            if used != stored {
                let detail = alloc::format!("{stored} values of {} for {used} pairs", kind.value_name());
                return Err(PairInvariantError { invariant: Invariant::Data, relation, detail });
            }
        }
        Ok(())
    }
}

/// What is wrong, and which invariant that breaks.
type Fault = (Invariant, String);

fn lists(index: &RelationIndex) -> Option<Fault> {
    let fault = index.reverse.fault().or_else(|| index.forward.fault())?;
    Some((Invariant::Lists, fault))
}

fn mirror(index: &RelationIndex) -> Option<Fault> {
    let fault = |detail: fmt::Arguments<'_>| Some((Invariant::Mirror, alloc::format!("{detail}")));
    let mut reverse = 0;
    for (target, list) in index.reverse.targets() {
        if index.reverse.list(target) != Some(list) {
            return fault(format_args!("{target} does not find its list"));
        }
        let mut seen = EntityHashSet::default();
        for source in index.sources(target) {
            reverse += 1;
            if !seen.insert(source) {
                return fault(format_args!("{source} twice in {target}"));
            }
            let place = index.forward.find(source, target);
            let is_at = |place| {
                let tombstones = index.reverse.tombstones(list);
                let is_tombstone = tombstones.is_some_and(|tombstones| tombstones.is_tombstone(place));
                !is_tombstone && index.reverse.lists[list].sources.get(place) == Some(&source)
            };
            if !place.is_some_and(|place| is_at(place as usize)) {
                return fault(format_args!("{source} -> {target} only in reverse"));
            }
        }
    }
    let mut forward = 0;
    for source in index.forward.sources() {
        for (nth, target) in index.targets(source).enumerate() {
            forward += 1;
            if index.forward.nth(source, nth) != Some(target) {
                return fault(format_args!("target {nth} of {source}"));
            }
        }
        // A slot that is stale names a target whose list is gone, or one too many.
        if !index.has_any(source) || index.targets(source).next().is_none() {
            return fault(format_args!("{source} has a slot and no target"));
        }
        if index.first_target(source) != index.targets(source).next() {
            return fault(format_args!("first target of {source}"));
        }
    }
    if forward != reverse || forward != index.len {
        let len = index.len;
        return fault(format_args!("{forward} forward, {reverse} reverse, {len} counted"));
    }
    None
}

impl RelationChecker<'_> {
    fn fail(&self, invariant: Invariant, detail: fmt::Arguments<'_>) -> Result<(), PairInvariantError> {
        let relation = self.store.registry.entry(self.id).name();
        Err(PairInvariantError { invariant, relation, detail: alloc::format!("{detail}") })
    }

    fn index(&self) -> Result<(), PairInvariantError> {
        let index = self.store.relation(self.id);
        match lists(index).or_else(|| mirror(index)) {
            Some((invariant, detail)) => self.fail(invariant, format_args!("{detail}")),
            None => Ok(()),
        }
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
        let (index, entry) = (self.store.relation(self.id), self.store.registry.entry(self.id));
        // Pairs kept in components stay until the relation has another entity.
        let has_entity =
            entities.contains_spawned(entry.entity) && self.store.participants.is_relation(entry.entity);
        if index.len > 0 && entry.adopted.is_none() && !has_entity {
            return self.fail(Invariant::Alive, format_args!("there are pairs, and the relation is dead"));
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
        match above.keys().min() {
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

    fn journal(&self) -> Result<(), PairInvariantError> {
        let index = self.store.relation(self.id);
        let journal = index.journal.as_ref();
        match journal.and_then(|journal| journal.fault(|source, target| index.has(source, target))) {
            None => Ok(()),
            Some(change) => self.fail(Invariant::Journal, format_args!("{change:?} was not the last")),
        }
    }

    fn table(&self) -> Result<(), PairInvariantError> {
        match self
            .store
            .table_fault(self.id, self.world)
            .or_else(|| self.store.target_component_fault(self.id, self.world))
        {
            None => Ok(()),
            Some(entity) => self.fail(Invariant::Table, format_args!("the component of {entity} is wrong")),
        }
    }

    fn data(&self, rows: &mut ValueRows) -> Result<(), PairInvariantError> {
        let index = self.store.relation(self.id);
        let symmetric = self.store.registry.entry(self.id).traits.is_symmetric();
        for (source, target) in index.iter() {
            let kind = self.store.column_of(self.id, source, target);
            match (kind, index.row(source, target)) {
                (None, None) => {}
                (Some(kind), Some(row)) => {
                    if kind.get(self.world, row).is_none() {
                        return self.fail(Invariant::Data, format_args!("row {row} is empty"));
                    }
                    // Both directions of a symmetric pair share a value, which is counted once.
                    if !symmetric || source <= target {
                        let rows = rows.entry(kind.value_type()).or_default();
                        if !rows.insert(row) {
                            return self
                                .fail(Invariant::Data, format_args!("row {row} belongs to two pairs"));
                        }
                    }
                }
                _ => return self.fail(Invariant::Data, format_args!("{source} -> {target} lacks its value")),
            }
        }
        Ok(())
    }

    /// Looks at every two pairs of a source.
    fn keys(&self) -> Result<(), PairInvariantError> {
        let index = self.store.relation(self.id);
        let Some(rule) = self.store.registry.entry(self.id).traits.key_rule() else { return Ok(()) };
        for source in index.forward.sources() {
            let mut seen: Vec<(Entity, &dyn Any)> = Vec::new();
            for target in index.targets(source) {
                let stored = self.store.column_of(self.id, source, target).zip(index.row(source, target));
                let Some(value) = stored.and_then(|(kind, row)| kind.get(self.world, row)) else { continue };
                if let Some((other, _)) = seen.iter().find(|(_, other)| rule.is_same(value, *other)) {
                    return self.fail(
                        Invariant::Key,
                        format_args!("{source} -> {other} and {source} -> {target} have one key"),
                    );
                }
                seen.push((target, value));
            }
        }
        Ok(())
    }

    fn roles(&self, is_marked: &impl Fn(Entity) -> bool) -> Result<(), PairInvariantError> {
        let entry = self.store.registry.entry(self.id);
        let (relation, adopted) = (entry.entity, entry.adopted.is_some());
        let is_alive = self.world.entities().contains_spawned(relation);
        // One of a type may be alive and without a record, if an observer's panic kept Bevy from finishing its despawn: the type gets
        // another with its next use.
        let is_known = self.store.participants.is_relation(relation) || entry.type_id.is_some();
        if self.store.registry.of_entity(relation) != Some(self.id) || is_alive && !is_known {
            return self.fail(Invariant::Roles, format_args!("{relation} is not known to be this relation"));
        }
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

    /// A component that points to a dead entity, or to its own against the rules, is no pair: Bevy removes it, unless
    /// its hooks were skipped. Nor is one whose target was not spawned when it was written, as the target of a clone
    /// that is cloned later: Bevy's collection of the target does not have it either.
    fn adopted(&self) -> Result<(), PairInvariantError> {
        let Some(adopted) = self.store.registry.entry(self.id).adopted else { return Ok(()) };
        if self.store.lacks_pairs_of(self.id) {
            let unexpected = self.store.relation(self.id).iter().next();
            return unexpected.map_or(Ok(()), |(source, target)| {
                self.fail(Invariant::Adopted, format_args!("{source} -> {target} is in the store too early"))
            });
        }
        let index = self.store.relation(self.id);
        for (source, target) in index.iter() {
            if (adopted.target)(self.world, source) != Some(target) {
                return self
                    .fail(Invariant::Adopted, format_args!("{source} -> {target} without a component"));
            }
        }
        let archetypes = self.world.archetypes().iter();
        let archetypes = archetypes.filter(|archetype| archetype.contains(adopted.component));
        for source in archetypes.flat_map(Archetype::entities).map(ArchetypeEntity::id) {
            let target = (adopted.target)(self.world, source).filter(|&target| {
                self.world.entities().contains_spawned(target) && (adopted.allow_self || target != source)
            });
            let is_missing = |&target: &Entity| {
                !index.has(source, target) && (adopted.is_collected)(self.world, source, target)
            };
            if let Some(target) = target.filter(is_missing) {
                return self.fail(Invariant::Adopted, format_args!("{source} -> {target} is no pair"));
            }
        }
        Ok(())
    }
}
