//! Cloning entities with their pairs.

use super::constraints;
use crate::{
    fetch,
    id::{RelationId, StoredPair, StoredTag},
    ops::{
        mutate::{
            ends::EndCheck,
            event::Removal,
            insert,
            operation::Operation,
            plan::Companions,
            remove,
            tag::insert_tag_with,
            value::{GivenValue, ValueType},
        },
        register::report::{report, to_bevy},
    },
    relation::{IS_A, Value},
    store::PairStore,
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
        let retargeted = if linked { take_unmapped(world, original, mapper) } else { Vec::new() };
        let copies = plan(world, original, clone, mapper, linked);
        // Observers of pairs may despawn the clone, and Bevy panics if it goes before it has its components. It has them by the
        // time that commands are applied.
        world.commands().queue(move |world: &mut World| {
            let mut operation = Operation::begin(world);
            for unmapped in retargeted {
                retarget_to_clone(operation.world(), original, clone, unmapped);
            }
            for copy in copies {
                copy.insert(operation.world(), original, clone);
            }
            operation.finish();
            constraints::note_change(&mut DeferredWorld::from(&mut *world), clone, None);
        });
    });
}

/// Makes the resource of clone operations. To make it in the middle of one would apply commands that have to wait for the components
/// of the clone.
#[cfg(feature = "bevy_reflect")]
pub(crate) fn prepare_clones(world: &mut World) {
    world.init_resource::<UnmappedClones>();
}

/// A pair or a tag that a clone is to have.
struct PlannedCopy {
    /// The entity of the relation; `None` for a tag.
    relation: Option<Entity>,
    /// The target that the original has, and that of the clone.
    of: Entity,
    target: Entity,
    /// The target is a clone that gets its components later.
    is_new: bool,
}

impl PlannedCopy {
    fn insert(self, world: &mut World, original: Entity, clone: Entity) {
        let Self { relation, of, target, is_new } = self;
        let incomplete = [clone, if is_new { target } else { clone }];
        // Observers of the components may have despawned it.
        if world.entities().contains_spawned(clone)
            && let Some(relation) = find(world, relation)
            && let Err(error) =
                copy_one(world, relation, (original, of), (clone, target), &incomplete, Companions::All)
        {
            report(world.commands(), error);
        }
    }
}

/// The relation with this entity. `None` if it is gone.
fn find(world: &World, relation: Option<Entity>) -> Option<Option<RelationId>> {
    match relation {
        Some(relation) => fetch::store(world)?.registry().of_entity(relation).map(Some),
        None => Some(None),
    }
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
    /// At this number, what other clone operations have left over is dropped: there is no event for the end of one.
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

/// What a clone is to have. Notes what may still have to change.
fn plan(
    world: &mut World,
    original: Entity,
    clone: Entity,
    mapper: &mut dyn EntityMapper,
    linked: bool,
) -> Vec<PlannedCopy> {
    let mut copies = Vec::new();
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
        copies.push(PlannedCopy { relation, of, target, is_new });
        if linked && target == of {
            let copied = UnmappedClone { original, clone, relation, target };
            world.get_resource_or_init::<UnmappedClones>().push(copied, mapper);
        }
    }
    copies
}

/// What was copied with the target `original`, which is being cloned itself.
fn take_unmapped(world: &mut World, original: Entity, mapper: &mut dyn EntityMapper) -> Vec<UnmappedClone> {
    let unmapped = world.get_resource_mut::<UnmappedClones>();
    unmapped.map(|mut unmapped| unmapped.take(original, mapper)).unwrap_or_default()
}

/// A linked clone reaches an entity to which an entity cloned before it has a pair: the clone of that gets the pair
/// with this clone.
fn retarget_to_clone(world: &mut World, target: Entity, clone: Entity, unmapped: UnmappedClone) {
    let UnmappedClone { original, clone: source, relation, .. } = unmapped;
    let Some(relation) = find(world, relation) else { return };
    let was_there = match relation {
        Some(relation) => {
            let pair = StoredPair { source, relation, target };
            remove::remove_stored(world, pair, Removal::REPLACED)
        }
        None => remove::remove_tag(world, StoredTag { source, tag: target }, Removal::REPLACED),
    };
    // It was not copied, or an observer has removed it.
    if was_there
        && let Err(error) =
            copy_one(world, relation, (original, target), (source, clone), &[clone], Companions::All)
    {
        report(world.commands(), error);
    }
}

/// What is copied from an entity: tags, which have no relation, and pairs, with their targets.
fn to_copy(world: &World, original: Entity) -> Vec<(Option<Entity>, Entity)> {
    let Some(store) = fetch::store(world) else { return Vec::new() };
    let mut copied: Vec<_> = store.tags().targets(original).map(|tag| (None, tag)).collect();
    for relation in store.relations_of(original) {
        let entry = store.registry().entry(relation);
        let steals = entry.traits.is_exclusive() && entry.traits.is_symmetric();
        if entry.adopted.is_none() && !steals {
            let targets = store.relation(relation).targets(original);
            copied.extend(targets.map(|target| (Some(entry.entity), target)));
        }
    }
    copied
}

/// Copies pairs and tags of an entity to another one, which has its components already. `choose` gets the relation,
/// `None` for a tag, and the target, and returns the target of the copy. What is refused is reported. Companions are
/// copied if they are chosen themselves; what stays the target gets those of the other direction.
pub(crate) fn copy_pairs(
    world: &mut World,
    original: Entity,
    clone: Entity,
    choose: impl Fn(&World, &PairStore, Option<RelationId>, Entity) -> Option<Entity>,
) {
    let chosen = chosen(world, original, |store, relation, target| choose(world, store, relation, target));
    if chosen.is_empty() {
        return;
    }
    for (relation, target, to) in chosen {
        // Observers of the one before may have removed the relation, or either end.
        let relation = match (relation, fetch::store(world)) {
            (None, _) => None,
            (Some(entity), Some(store)) => match store.registry().of_entity(entity) {
                Some(relation) => Some(relation),
                None => continue,
            },
            (Some(_), None) => return,
        };
        let are_alive = [original, clone, to].map(|end| world.entities().contains_spawned(end));
        if are_alive.contains(&false) {
            continue;
        }
        let companions = if to == target { Companions::OfMirror } else { Companions::None };
        if let Err(error) = copy_one(world, relation, (original, target), (clone, to), &[], companions) {
            report(world.commands(), error);
        }
    }
    world.flush();
}

/// The pairs and tags of an entity that are to be copied: the entity of the relation, the target, and that of the copy.
fn chosen(
    world: &World,
    original: Entity,
    choose: impl Fn(&PairStore, Option<RelationId>, Entity) -> Option<Entity>,
) -> Vec<(Option<Entity>, Entity, Entity)> {
    let Some(store) = fetch::store(world) else { return Vec::new() };
    let tags = store.tags().targets(original);
    let mut chosen: Vec<_> =
        tags.filter_map(|tag| choose(store, None, tag).map(|to| (None, tag, to))).collect();
    for relation in store.relations_of(original) {
        let entry = store.registry().entry(relation);
        if entry.adopted.is_some() {
            continue;
        }
        let steals = entry.traits.is_exclusive() && entry.traits.is_symmetric();
        for target in store.relation(relation).targets(original) {
            if let Some(to) = choose(store, Some(relation), target)
                && !(steals && to == target)
            {
                chosen.push((Some(entry.entity), target, to));
            }
        }
    }
    chosen
}

/// Copies a pair, or a tag if there is no relation, from the first source and target to the second. Components of those
/// that are `incomplete` come later.
fn copy_one(
    world: &mut World,
    relation: Option<RelationId>,
    from: (Entity, Entity),
    to: (Entity, Entity),
    incomplete: &[Entity],
    companions: Companions,
) -> Result {
    let has = |store: &PairStore| match relation {
        Some(relation) => store.relation(relation).has(from.0, from.1),
        None => store.tags().has(from.0, from.1),
    };
    // An observer may have removed it.
    if !fetch::store(world).is_some_and(has) {
        return Ok(());
    }
    match relation {
        None => {
            let tag = StoredTag { source: to.0, tag: to.1 };
            insert_tag_with(world, tag, companions == Companions::All).map_err(to_bevy)
        }
        Some(relation) => {
            let [from, to] = [from, to].map(|(source, target)| StoredPair { source, relation, target });
            copy_pair(world, from, to, incomplete, companions)
        }
    }
}

fn copy_pair(
    world: &mut World,
    from: StoredPair,
    to: StoredPair,
    incomplete: &[Entity],
    companions: Companions,
) -> Result {
    if to.relation == IS_A {
        return insert::insert_bare_base(world, to.source, to.target).map_err(to_bevy);
    }
    let Some(store) = fetch::store(world) else { return Ok(()) };
    let row = store.relation(from.relation).row(from.source, from.target);
    let mut given = None;
    if let (Some(row), Some(column)) = (row, store.column_of(from.relation, from.source, from.target)) {
        let value = column.get(world, row).and_then(|value| column.copy_value(value));
        let Some(value) = value else {
            let error = alloc::format!(
                "{} of {} was not cloned: `{}` is not `Clone`",
                store.registry().entry(from.relation).name(),
                from.source,
                column.value_name()
            );
            return Err(bevy_ecs::error::BevyError::error(error));
        };
        given = Some(GivenValue { value_type: ValueType::of_column(column), value: Value::Boxed(value) });
    }
    // What a command is still to complete is so on the clone, too.
    let unchecked = store.unchecked(from).map(|unchecked| unchecked.place);
    let ends = unchecked.map_or(EndCheck::Except(incomplete), EndCheck::Later);
    insert::insert_copy(world, to, given.as_mut(), ends, companions).map_err(to_bevy)
}
