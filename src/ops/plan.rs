//! What an insertion means: every rule of every relation trait, checked before anything changes.
//!
//! [`plan`] turns one request into everything that has to happen: pairs that give way (exclusive), pairs that
//! come along (symmetric, with). If any of them is not allowed, nothing of it happens.

use super::{
    bootstrap::ensure_store,
    error::{AttemptedPair, InsertPairError, PairRole},
};
use crate::{
    access,
    id::RelationId,
    relation::{BoxedValue, CHILD_OF, DataKind, IS_A, PairContext, TAGGED, Value},
    store::PairStore,
    traverse::{EntityPath, path_up},
};
use alloc::vec::Vec;
use bevy_ecs::{entity::Entity, world::World};
use core::any::TypeId;
use smallvec::SmallVec;

/// A stored pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StoredPair {
    pub(crate) source: Entity,
    pub(crate) relation: RelationId,
    pub(crate) target: Entity,
}

/// A value given by the caller.
pub(crate) struct Given<'a> {
    pub(crate) type_id: TypeId,
    pub(crate) name: &'static str,
    pub(crate) value: Value<'a>,
}

/// Where the value of a planned pair comes from.
pub(crate) enum Source {
    /// There is none.
    Nothing,
    /// The caller gave it.
    Given,
    Default(BoxedValue),
    /// It is that of the planned pair before: the other direction of a symmetric pair.
    Shared,
}

/// A pair that is to be inserted.
pub(crate) struct Insertion {
    pub(crate) pair: StoredPair,
    pub(crate) value: Source,
    pub(crate) kind: Option<DataKind>,
    /// The pair is there; its value is replaced.
    pub(crate) replaced: bool,
}

/// Everything that has to happen for one request.
#[derive(Default)]
pub(crate) struct Plan {
    /// Pairs that give way.
    pub(crate) removals: SmallVec<[StoredPair; 4]>,
    pub(crate) insertions: SmallVec<[Insertion; 2]>,
    /// Pairs that are kept in a Bevy component of their source.
    pub(crate) adopted: Vec<Insertion>,
}

/// Builds a plan pair by pair.
struct Planner<'a, 'v> {
    world: &'a World,
    store: &'a PairStore,
    given: Option<&'a mut Given<'v>>,
    plan: Plan,
    /// Pairs that come along and are still to be looked at.
    queue: SmallVec<[StoredPair; 2]>,
}

/// Checks a request against every rule.
///
/// # Errors
/// The first rule that is broken, by the pair itself or by one that comes along.
pub(crate) fn plan(
    world: &World,
    pair: StoredPair,
    given: Option<&mut Given<'_>>,
) -> Result<Plan, InsertPairError> {
    let Some(store) = access::store(world) else { return Ok(Plan::default()) };
    let mut planner = Planner { world, store, given, plan: Plan::default(), queue: SmallVec::new() };
    planner.add(pair, true)?;
    let mut next = 0;
    while let Some(&pair) = planner.queue.get(next) {
        planner.add(pair, false)?;
        next += 1;
    }
    Ok(planner.plan)
}

/// Checks the rules for a pair whose ends are alive, without its value.
///
/// # Errors
/// The first rule that is broken.
pub(super) fn check_rules(world: &World, pair: StoredPair) -> Result<(), InsertPairError> {
    let Some(store) = access::store(world) else { return Ok(()) };
    let planner = Planner { world, store, given: None, plan: Plan::default(), queue: SmallVec::new() };
    planner.rules(pair)
}

/// The names of a pair, for an error.
pub(crate) fn attempted(store: &PairStore, pair: StoredPair) -> AttemptedPair {
    AttemptedPair {
        source_entity: pair.source,
        relation: store.registry.entry(pair.relation).name(),
        target: pair.target,
    }
}

impl Planner<'_, '_> {
    fn add(&mut self, pair: StoredPair, first: bool) -> Result<(), InsertPairError> {
        if self.plan.insertions.iter().any(|insertion| insertion.pair == pair) {
            return Ok(());
        }
        self.alive(pair)?;
        let index = self.store.relation(pair.relation);
        let there = index.has(pair.source, pair.target);
        let kind = self.store.data_kind(pair.relation, pair.source, pair.target);
        if !there {
            self.rules(pair)?;
        }
        let value = self.value(pair, kind, first, there)?;
        if there && matches!(value, Source::Nothing) {
            return Ok(());
        }
        let insertion = Insertion { pair, value, kind, replaced: there };
        let entry = self.store.registry.entry(pair.relation);
        if entry.adopted.is_some() {
            self.plan.adopted.push(insertion);
            if !there {
                self.add_companions(pair);
            }
            return Ok(());
        }
        if !there {
            self.make_way(pair.source, pair);
        }
        self.plan.insertions.push(insertion);
        if entry.traits.is_symmetric() && pair.source != pair.target {
            self.add_mirror(pair, kind, there);
        }
        if !there {
            self.add_companions(pair);
        }
        Ok(())
    }

    /// All three entities must be alive.
    fn alive(&self, pair: StoredPair) -> Result<(), InsertPairError> {
        let relation = self.store.registry.entry(pair.relation).entity;
        let roles = [
            (PairRole::Source, pair.source),
            (PairRole::Relation, relation),
            (PairRole::Target, pair.target),
        ];
        match roles.into_iter().find(|&(_, entity)| !self.world.entities().contains_spawned(entity)) {
            None => Ok(()),
            Some((dead, _)) => Err(InsertPairError::Dead { pair: attempted(self.store, pair), dead }),
        }
    }

    /// Final, one-of and acyclic.
    fn rules(&self, pair: StoredPair) -> Result<(), InsertPairError> {
        let entry = self.store.registry.entry(pair.relation);
        let error = || attempted(self.store, pair);
        if pair.relation == IS_A && self.is_final(pair.target) {
            return Err(InsertPairError::Final { pair: error() });
        }
        if let Some(parent) = entry.one_of
            && !self.store.relation(CHILD_OF).has(pair.target, parent)
        {
            return Err(InsertPairError::NotOneOf { pair: error(), parent });
        }
        if pair.source == pair.target && entry.adopted.is_some_and(|adopted| !adopted.allow_self) {
            return Err(InsertPairError::SelfReference { pair: error() });
        }
        if entry.traits.is_acyclic()
            && let Some(path) = path_up(
                self.store.relation(pair.relation),
                &self.planned(pair.relation),
                pair.target,
                pair.source,
            )
        {
            let mut entities = alloc::vec![pair.source];
            entities.extend(path.entities());
            return Err(InsertPairError::Cycle { pair: error(), path: EntityPath::new(entities) });
        }
        Ok(())
    }

    /// Pairs of a relation that will be there.
    fn planned(&self, relation: RelationId) -> SmallVec<[(Entity, Entity); 2]> {
        let pairs = self.plan.insertions.iter().chain(&self.plan.adopted).map(|insertion| insertion.pair);
        pairs.filter(|pair| pair.relation == relation).map(|pair| (pair.source, pair.target)).collect()
    }

    /// Whether nothing may inherit from `entity`: it is declared so, or it stands for a component and was not
    /// made inheritable.
    fn is_final(&self, entity: Entity) -> bool {
        let registry = &self.store.registry;
        let traits =
            registry.of_entity(entity).map(|id| (&registry.entry(id).traits, registry.entry(id).type_id));
        match traits {
            Some((traits, _)) if traits.has_final() => true,
            Some((traits, type_id)) if type_id.is_some() || traits.is_inheritable() => false,
            _ => registry.type_entities.contains_key(&entity),
        }
    }

    /// Finds out the value of a pair and checks it.
    fn value(
        &mut self,
        pair: StoredPair,
        kind: Option<DataKind>,
        first: bool,
        there: bool,
    ) -> Result<Source, InsertPairError> {
        let entry = self.store.registry.entry(pair.relation);
        let error = || attempted(self.store, pair);
        let given = if first { self.given.as_deref_mut() } else { None };
        let kind = entry.adopted.map_or(kind, |adopted| Some(adopted.kind));
        let mut default = None;
        let value = match (kind, given) {
            (None, None) => return Ok(Source::Nothing),
            (None, Some(given)) => {
                return Err(InsertPairError::UnexpectedValue { pair: error(), found: given.name });
            }
            (Some(kind), Some(given)) if kind.type_id != given.type_id => {
                let (expected, found) = (kind.name, given.name);
                return Err(InsertPairError::WrongValueType { pair: error(), expected, found });
            }
            // The component is there already and says nothing but its target.
            (Some(_), _) if there && entry.adopted.is_some_and(|adopted| !adopted.has_fields) => {
                return Ok(Source::Nothing);
            }
            (Some(_), Some(given)) => &mut given.value,
            (Some(_), None) if there => return Ok(Source::Nothing),
            (Some(kind), None) => match (kind.default)() {
                Some(value) => default.insert(Value::Boxed(value)),
                // A Bevy relationship makes itself from its target.
                None if entry.adopted.is_some() => return Ok(Source::Nothing),
                None => return Err(InsertPairError::MissingValue { pair: error(), expected: kind.name }),
            },
        };
        if let Some(refine) = entry.refine {
            let StoredPair { source, target, .. } = pair;
            let context = PairContext { world: self.world, source, relation: entry.entity, target };
            refine(value, &context).map_err(|reason| InsertPairError::Refused { pair: error(), reason })?;
        }
        Ok(match default {
            Some(Value::Boxed(value)) => Source::Default(value),
            _ => Source::Given,
        })
    }

    /// Lets the target that an exclusive relation already has for `source` go, in both directions if the
    /// relation is symmetric.
    fn make_way(&mut self, source: Entity, new: StoredPair) {
        let entry = self.store.registry.entry(new.relation);
        if !entry.traits.is_exclusive() {
            return;
        }
        let Some(old) = self.store.relation(new.relation).first_target(source) else { return };
        let mut remove = |pair: StoredPair| {
            if !self.plan.removals.contains(&pair) {
                self.plan.removals.push(pair);
            }
        };
        remove(StoredPair { source, target: old, ..new });
        if entry.traits.is_symmetric() && old != source {
            remove(StoredPair { source: old, target: source, ..new });
        }
    }

    /// The other direction of a symmetric pair, with the same value.
    fn add_mirror(&mut self, pair: StoredPair, kind: Option<DataKind>, there: bool) {
        let mirror = StoredPair { source: pair.target, target: pair.source, ..pair };
        if !there {
            self.make_way(mirror.source, mirror);
        }
        self.plan.insertions.push(Insertion { pair: mirror, value: Source::Shared, kind, replaced: there });
        if !there {
            self.add_companions(mirror);
        }
    }

    /// Relations, or tags, that come along.
    fn add_companions(&mut self, pair: StoredPair) {
        let registry = &self.store.registry;
        if pair.relation == TAGGED {
            if let Some(tag) = registry.of_entity(pair.target) {
                let tags = registry.entry(tag).with.iter().map(|&with| registry.entry(with).entity);
                self.queue.extend(tags.map(|target| StoredPair { target, ..pair }));
            }
            return;
        }
        let with = registry.entry(pair.relation).with.iter();
        self.queue.extend(with.map(|&relation| StoredPair { relation, ..pair }));
    }
}

/// Freezes the traits of a relation that is being used.
pub(super) fn freeze(world: &mut World, relation: RelationId) {
    let store = ensure_store(world);
    if !store.registry.entry(relation).frozen {
        store.registry.entry_mut(relation).frozen = true;
        store.refresh_simple(relation);
    }
}
