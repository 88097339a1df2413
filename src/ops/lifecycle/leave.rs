//! What an entity leaves that is being despawned: its pairs and tags on both sides.

use super::dependents::{relation_of, relation_policy};
use crate::{
    id::{RelationId, StoredPair, StoredTag},
    ops::mutate::{
        error::{DespawnError, PairRole},
        remove::{self, Selection},
        writer::{FastPath, PairWriter},
    },
    relation::{Adopted, CleanupPolicy, EntityName, RelationName},
    store::PairStore,
};
use alloc::vec::Vec;
use bevy_ecs::entity::Entity;

/// What [`leave`] found that the fast path cannot do.
#[derive(Default)]
pub(super) struct Departure {
    pub(super) removals: Selection,
    pub(super) dependents: Vec<Entity>,
    pub(super) refusals: Vec<DespawnError>,
    /// Sources whose component points to the entity that goes.
    pub(super) adopted: Vec<(Adopted, Entity)>,
}

impl Departure {
    /// Nothing is left to do.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        self.removals.is_empty()
            && self.dependents.is_empty()
            && self.refusals.is_empty()
            && self.adopted.is_empty()
    }
}

/// The fast path of `leave_all`: for an entity that is nothing but an end of pairs, which may go without event or
/// dependent. False if something is left to do; some of its pairs may be gone then.
#[inline]
pub(super) fn try_leave(store: &mut PairStore, entity: Entity) -> bool {
    if store.registry().has_despawning_relations() {
        return false;
    }
    let Some(relations) = store.participants().plain_relations(entity) else { return false };
    for relation in relations {
        let index = store.relation(relation);
        if index.is_target(entity) {
            let stays = index.target_policy() == CleanupPolicy::Remove
                && store.registry().entry(relation).adopted.is_none();
            if !stays || PairWriter::new(store).try_unlink_target(relation, entity) != FastPath::Done {
                return false;
            }
        }
        if store.relation(relation).has_any(entity)
            && PairWriter::new(store).try_unlink_source(relation, entity) != FastPath::Done
        {
            return false;
        }
    }
    store.participants_mut().remove(entity);
    true
}

/// Takes `entity` out of all its pairs: removes those without value or observer at once, lists the others.
pub(super) fn leave(store: &mut PairStore, entity: Entity, dependents: Vec<Entity>) -> Departure {
    let mut departure = Departure { dependents, ..Departure::default() };
    let relation = relation_of(store, entity);
    if let Some(relation) = relation {
        leave_as_relation(store, relation, entity, &mut departure);
    }
    leave_tags(store, entity, &mut departure);
    for relation in store.participants().detached_relations(entity) {
        leave_as_target(store, relation, entity, &mut departure);
        leave_as_source(store, relation, entity, &mut departure);
    }
    if !departure.removals.pairs.is_empty() {
        departure.removals.pairs = remove::with_mirrors(store, departure.removals.pairs);
    }
    departure
}

#[inline]
fn leave_as_source(store: &mut PairStore, relation: RelationId, entity: Entity, departure: &mut Departure) {
    if PairWriter::new(store).try_unlink_source(relation, entity) != FastPath::Done {
        let index = store.relation(relation);
        if index.despawns_targets() {
            departure.dependents.extend(index.targets(entity));
        }
        let targets = index.targets(entity);
        departure.removals.pairs.extend(targets.map(|target| StoredPair {
            source: entity,
            relation,
            target,
        }));
    }
}

#[inline]
pub(super) fn leave_as_target(
    store: &mut PairStore,
    relation: RelationId,
    entity: Entity,
    departure: &mut Departure,
) {
    if !store.relation(relation).is_target(entity) {
        return;
    }
    match store.relation(relation).target_policy() {
        CleanupPolicy::Remove => {
            if let Some(adopted) = store.registry().entry(relation).adopted {
                let sources = store.relation(relation).sources(entity);
                departure.adopted.extend(sources.map(|source| (adopted, source)));
            }
        }
        CleanupPolicy::Despawn => departure.dependents.extend(store.relation(relation).sources(entity)),
        CleanupPolicy::Refuse => departure.refusals.extend(in_use_as_target(store, relation, entity, entity)),
    }
    if PairWriter::new(store).try_unlink_target(relation, entity) != FastPath::Done {
        let sources = store.relation(relation).sources(entity);
        departure.removals.pairs.extend(sources.map(|source| StoredPair {
            source,
            relation,
            target: entity,
        }));
    }
}

/// Takes the tags of `entity` off it, and `entity` off all that have it as a tag. A tag decides for itself what happens
/// to those.
#[inline]
fn leave_tags(store: &mut PairStore, entity: Entity, departure: &mut Departure) {
    if !store.has_tags(entity) {
        return;
    }
    if store.tags().is_target(entity) {
        match relation_policy(store, entity) {
            CleanupPolicy::Remove => {}
            CleanupPolicy::Despawn => departure.dependents.extend(store.tags().sources(entity)),
            CleanupPolicy::Refuse => departure.refusals.extend(in_use_as_tag(store, entity, entity)),
        }
    }
    if PairWriter::new(store).try_remove_tags(entity) != FastPath::Done {
        let tags = &mut departure.removals.tags;
        tags.extend(store.tags().sources(entity).map(|source| StoredTag { source, tag: entity }));
        let own = store.tags().targets(entity).filter(|&tag| tag != entity);
        tags.extend(own.map(|tag| StoredTag { source: entity, tag }));
    }
}

/// The entity of a relation goes, and with it all pairs of the relation. Pairs kept in components stay: the
/// relation gets another entity on its next use, as every relation type does.
fn leave_as_relation(store: &PairStore, relation: RelationId, entity: Entity, departure: &mut Departure) {
    if relation_policy(store, entity) == CleanupPolicy::Refuse {
        departure.refusals.extend(in_use_as_relation(store, relation, entity));
    }
    if store.registry().entry(relation).adopted.is_some() {
        return;
    }
    let pairs: Vec<_> = store.relation(relation).iter().collect();
    departure.removals.pairs.extend(pairs.into_iter().map(|(source, target)| StoredPair {
        source,
        relation,
        target,
    }));
}

pub(super) fn in_use_as_target(
    store: &PairStore,
    relation: RelationId,
    used: Entity,
    entity: Entity,
) -> Option<DespawnError> {
    let source_entity = store.relation(relation).sources(used).next()?;
    let (relation, pair) = (store.registry().entry(relation).name(), (source_entity, used));
    Some(in_use(entity, used, PairRole::Target, relation, pair))
}

pub(super) fn in_use_as_tag(store: &PairStore, used: Entity, entity: Entity) -> Option<DespawnError> {
    let source_entity = store.tags().sources(used).next()?;
    Some(in_use(entity, used, PairRole::Relation, store.registry().name_of(used), (source_entity, used)))
}

pub(super) fn in_use_as_relation(
    store: &PairStore,
    relation: RelationId,
    entity: Entity,
) -> Option<DespawnError> {
    let pair = store.relation(relation).iter().next()?;
    let entry = store.registry().entry(relation);
    Some(in_use(entity, entry.entity, PairRole::Relation, entry.name(), pair))
}

/// The error that `used` is in use in a pair, given as source and target.
fn in_use(
    entity: Entity,
    used: Entity,
    role: PairRole,
    relation: RelationName,
    (source, target): (Entity, Entity),
) -> DespawnError {
    let [entity, used, source_entity, target] = [entity, used, source, target].map(EntityName::unnamed);
    DespawnError::InUse { entity, used, role, relation, target, source_entity }
}
