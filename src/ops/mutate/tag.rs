//! Inserting tags: entities that serve as marks, without a relation.

use super::{
    error::{AttemptedPair, InsertPairError, PairRole, store_removed},
    event::{self, PairChange, PairEvent},
    ready::MAX_ROUNDS,
    remove::Completion,
    value::GivenValue,
    writer::PairWriter,
};
use crate::{
    fetch,
    id::StoredTag,
    ops::register::{entity::entity_of, participant, store::ensure_store, watch},
    relation::Tagged,
    store::PairStore,
};
use bevy_ecs::{
    entity::Entity,
    world::{DeferredWorld, World},
};
use bevy_platform::collections::HashSet;
use smallvec::SmallVec;

/// What an insertion of a tag means.
#[derive(Default)]
struct TagPlan {
    /// The tag, unless it is there, and then its companions.
    tags: SmallVec<[Entity; 4]>,
    /// Entities that must get the marker before the plan holds.
    unmarked: SmallVec<[Entity; 2]>,
}

/// Inserts a tag and its companions.
///
/// # Errors
/// If an end, or a companion, is dead; then nothing has changed.
pub(crate) fn insert_tag(world: &mut World, tag: StoredTag) -> Result<(), InsertPairError> {
    insert_tag_with(world, tag, true)
}

/// [`insert_tag`], with companions or without.
///
/// # Errors
/// As for [`insert_tag`].
pub(in crate::ops) fn insert_tag_with(
    world: &mut World,
    tag: StoredTag,
    has_companions: bool,
) -> Result<(), InsertPairError> {
    watch::restore_if_lost(world);
    ensure_store(world);
    ensure_entity(world);
    for _ in 0..=MAX_ROUNDS {
        let store = fetch::store(world).ok_or_else(|| store_removed(world, tag.source, tag.tag))?;
        let plan = plan(world, store, tag, has_companions)?;
        if plan.unmarked.is_empty() {
            write(world, tag.source, &plan.tags);
            return Ok(());
        }
        // Runs users' code.
        for entity in plan.unmarked {
            participant::mark(world, entity);
        }
    }
    let store = fetch::store(world).ok_or_else(|| store_removed(world, tag.source, tag.tag))?;
    Err(dead(world, store, tag, PairRole::Target))
}

/// Makes sure that [`Tagged`] has an entity, which events and errors name.
fn ensure_entity(world: &mut World) {
    let known = fetch::store(world).and_then(|store| store.registry().tags_entity());
    if !known.is_some_and(|entity| world.entities().contains_spawned(entity)) {
        entity_of::<Tagged>(world);
    }
}

/// [`insert_tag`], named as a pair: that may come with a value.
///
/// # Errors
/// As for [`insert_tag`]; and a tag has no value.
pub(super) fn insert_with(
    world: &mut World,
    tag: StoredTag,
    given: Option<&GivenValue<'_>>,
) -> Result<(), InsertPairError> {
    match (given, fetch::store(world)) {
        (Some(given), Some(store)) => Err(InsertPairError::UnexpectedValue {
            pair: attempted(world, store, tag),
            found: given.value_type.name,
        }),
        _ => insert_tag(world, tag),
    }
}

fn attempted(world: &World, store: &PairStore, StoredTag { source, tag }: StoredTag) -> AttemptedPair {
    let tags = store.registry().tags_entity().unwrap_or(tag);
    AttemptedPair::new(world, store, source, tags, tag)
}

fn dead(world: &World, store: &PairStore, tag: StoredTag, dead: PairRole) -> InsertPairError {
    InsertPairError::Dead { pair: attempted(world, store, tag), dead }
}

/// # Errors
/// If an entity that it names is dead.
fn plan(
    world: &World,
    store: &PairStore,
    first: StoredTag,
    has_companions: bool,
) -> Result<TagPlan, InsertPairError> {
    let source = first.source;
    let mut plan = TagPlan::default();
    let mut met = HashSet::new();
    let mut queue: SmallVec<[Entity; 4]> = SmallVec::from_slice(&[first.tag]);
    let mut next = 0;
    while let Some(&tag) = queue.get(next) {
        next += 1;
        for (role, end) in [(PairRole::Source, source), (PairRole::Target, tag)] {
            if !world.entities().contains_spawned(end) {
                return Err(dead(world, store, StoredTag { source, tag }, role));
            }
            if !store.participants().is_marked(end) && !plan.unmarked.contains(&end) {
                plan.unmarked.push(end);
            }
        }
        if store.tags().has(source, tag) {
            continue;
        }
        plan.tags.push(tag);
        let with = store.registry().of_entity(tag).map(|id| &store.registry().entry(id).with);
        for &with in with.filter(|_| has_companions).into_iter().flatten() {
            let companion = store.registry().entry(with).entity;
            // What has companions may be the companion of several.
            if met.insert(companion) {
                queue.push(companion);
            }
        }
    }
    Ok(plan)
}

/// Writes tags that are not there, with their events.
fn write(world: &mut World, source: Entity, tags: &[Entity]) {
    let mut deferred = DeferredWorld::from(&mut *world);
    let Some(store) = fetch::deferred_store(&mut deferred) else { return };
    let mut writer = PairWriter::new(store);
    for &tag in tags {
        writer.insert_tag(StoredTag { source, tag });
    }
    let mut observed = false;
    let mut rest = Completion::default();
    for &tag in tags {
        let tag = StoredTag { source, tag };
        if event::is_tag_observed(world, PairEvent::Inserted, tag) {
            let world = &mut DeferredWorld::from(&mut *world);
            rest.run(|| event::trigger_tag(world, PairChange::Inserted { replaced: false }, tag));
            observed = true;
        }
    }
    if observed {
        rest.run(|| world.flush());
    }
    rest.finish();
}
