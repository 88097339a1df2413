//! Cloning entities with their pairs.

use super::constraints;
use crate::{
    fetch,
    id::{RelationId, StoredPair, StoredTag},
    ops::{
        mutate::{event::Removal, insert, operation::Operation, plan::Given, remove, tag::insert_tag},
        register::report::{report, to_bevy},
    },
    relation::Value,
};
use alloc::vec::Vec;
use bevy_ecs::{
    entity::{ComponentCloneCtx, Entity, EntityHashMap, EntityMapper, SourceComponent},
    error::Result,
    resource::Resource,
    world::{DeferredWorld, World},
};

/// The clone of an entity gets its pairs: with clones as targets where targets are cloned as well, with copies
/// of the values. An entity whose components are moved away keeps its pairs.
///
/// Left out are pairs kept in components, which Bevy clones, and those of relations both exclusive and
/// symmetric: the clone would take the partner of the original.
pub(in crate::ops) fn clone_pairs(_: &SourceComponent, context: &mut ComponentCloneCtx) {
    let (original, clone) = (context.source(), context.target());
    if context.moving() {
        context.queue_deferred(move |world, _| {
            if let Some(store) = fetch::store_mut(world) {
                store.participants_mut().set_moved(original);
            }
        });
        return;
    }
    let linked = context.linked_cloning();
    context.queue_deferred(move |world, mapper| {
        // Bevy panics if the clone goes before it has its components, which it gets when this is done: targets that lose
        // their last source here are despawned by the command that comes next.
        let mut operation = Operation::begin(world);
        if linked {
            retarget_to_clone(operation.world(), original, clone, mapper);
        }
        copy(operation.world(), original, clone, mapper, linked);
        drop(operation);
        constraints::note_change(&mut DeferredWorld::from(&mut *world), clone);
    });
}

/// The copy of a pair or a tag on a clone, with the original's target.
struct UnmappedClone {
    original: Entity,
    clone: Entity,
    /// The entity of the relation; `None` for a tag.
    relation: Option<Entity>,
    target: Entity,
}

impl UnmappedClone {
    /// Whether it is of the clone operation with this mapping. Observers may clone while another operation is going on.
    fn is_of(&self, mapper: &mut dyn EntityMapper) -> bool {
        mapper.get_mapped(self.original) == self.clone
    }
}

/// Pairs and tags of clones whose targets may still be cloned.
#[derive(Resource, Default)]
struct UnmappedClones {
    by_target: EntityHashMap<Vec<UnmappedClone>>,
    len: usize,
    /// At this number, what other clone operations have left over is dropped: nothing tells when one ends.
    limit: usize,
}

impl UnmappedClones {
    fn push(&mut self, copy: UnmappedClone, mapper: &mut dyn EntityMapper) {
        if self.len >= self.limit {
            self.by_target.retain(|_, copies| {
                copies.retain(|copy| copy.is_of(mapper));
                !copies.is_empty()
            });
            self.len = self.by_target.values().map(Vec::len).sum();
            self.limit = (2 * self.len).max(64);
        }
        self.len += 1;
        self.by_target.entry(copy.target).or_default().push(copy);
    }

    /// Those with a target that is cloned now.
    fn take(&mut self, target: Entity, mapper: &mut dyn EntityMapper) -> Vec<UnmappedClone> {
        let copies = self.by_target.remove(&target).unwrap_or_default();
        let (own, others): (Vec<_>, Vec<_>) = copies.into_iter().partition(|copy| copy.is_of(mapper));
        self.len -= own.len();
        if !others.is_empty() {
            self.by_target.insert(target, others);
        }
        own
    }
}

fn copy(world: &mut World, original: Entity, clone: Entity, mapper: &mut dyn EntityMapper, linked: bool) {
    for (relation, of) in to_copy(world, original) {
        let mut target = mapper.get_mapped(of);
        if linked && !world.entities().contains_spawned(target) {
            // Its turn comes later. Bevy does not mind if it is there already.
            let _ = world.spawn_empty_at(target);
        }
        if !world.entities().contains_spawned(target) {
            target = of;
        }
        // Another clone may get its components later: it has the marker at most.
        let is_new = target != of && world.entity(target).archetype().components().len() < 2;
        let incomplete = [clone, if is_new { target } else { clone }];
        if let Err(error) = copy_one(world, relation, (original, of), (clone, target), &incomplete) {
            report(world.commands(), error);
        } else if linked
            && target == of
            && let Some(store) = fetch::store(world)
        {
            let relation = relation.map(|id| store.registry().entry(id).entity);
            let copied = UnmappedClone { original, clone, relation, target };
            world.get_resource_or_init::<UnmappedClones>().push(copied, mapper);
        }
    }
}

/// A linked clone reaches an entity to which entities cloned before it have pairs: the clones of those get the
/// pairs with this clone.
fn retarget_to_clone(world: &mut World, target: Entity, clone: Entity, mapper: &mut dyn EntityMapper) {
    let Some(mut unmapped) = world.get_resource_mut::<UnmappedClones>() else { return };
    for UnmappedClone { original, clone: source, relation, target } in unmapped.take(target, mapper) {
        let relation = match relation {
            None => None,
            Some(relation) => {
                match fetch::store(world).and_then(|store| store.registry().of_entity(relation)) {
                    Some(relation) => Some(relation),
                    None => continue,
                }
            }
        };
        match relation {
            Some(relation) => {
                let pair = StoredPair { source, relation, target };
                remove::remove_stored(world, pair, Removal::REPLACED)
            }
            None => remove::remove_tag(world, StoredTag { source, tag: target }, Removal::REPLACED),
        };
        if let Err(error) = copy_one(world, relation, (original, target), (source, clone), &[clone]) {
            report(world.commands(), error);
        }
    }
}

/// What is copied from an entity: tags, which have no relation, and pairs, with their targets.
fn to_copy(world: &World, original: Entity) -> Vec<(Option<RelationId>, Entity)> {
    let Some(store) = fetch::store(world) else { return Vec::new() };
    let mut copied: Vec<_> = store.tags().targets(original).map(|tag| (None, tag)).collect();
    for relation in store.relations_of(original) {
        let entry = store.registry().entry(relation);
        let steals = entry.traits.is_exclusive() && entry.traits.is_symmetric();
        if entry.adopted.is_none() && !steals {
            let targets = store.relation(relation).targets(original);
            copied.extend(targets.map(|target| (Some(relation), target)));
        }
    }
    copied
}

/// Copies a pair, or a tag if there is no relation, from the first source and target to the second. Components of those that
/// are `incomplete` come later.
fn copy_one(
    world: &mut World,
    relation: Option<RelationId>,
    from: (Entity, Entity),
    to: (Entity, Entity),
    incomplete: &[Entity],
) -> Result {
    match relation {
        None => insert_tag(world, StoredTag { source: to.0, tag: to.1 }).map_err(to_bevy),
        Some(relation) => {
            let [from, to] = [from, to].map(|(source, target)| StoredPair { source, relation, target });
            copy_pair(world, from, to, incomplete)
        }
    }
}

fn copy_pair(world: &mut World, from: StoredPair, to: StoredPair, incomplete: &[Entity]) -> Result {
    let Some(store) = fetch::store(world) else { return Ok(()) };
    let row = store.relation(from.relation).row(from.source, from.target);
    let mut given = None;
    if let (Some(row), Some(kind)) = (row, store.column_of(from.relation, from.source, from.target)) {
        let value = kind.get(world, row).and_then(|value| kind.copy_value(value));
        let Some(value) = value else {
            let error = alloc::format!(
                "{} of {} was not cloned: `{}` is not `Clone`",
                store.registry().entry(from.relation).name(),
                from.source,
                kind.value_name()
            );
            return Err(bevy_ecs::error::BevyError::error(error));
        };
        given =
            Some(Given { type_id: kind.value_type(), name: kind.value_name(), value: Value::Boxed(value) });
    }
    insert::insert_for_clone(world, to, given.as_mut(), incomplete).map_err(to_bevy)
}
