//! Writing the components from the store.

use super::{
    kind::{Due, Kind, MirrorComponent},
    state::{Mirror, MirroredIndex, Mirrors, Places, ValuesRead, mirror, with},
    unmet,
};
use crate::{
    fetch,
    id::RelationId,
    ops::{self, Followed},
    store::{Change, Cursor, PairDeltaKind, PairStore},
};
use alloc::{
    collections::{BTreeMap, VecDeque},
    vec::Vec,
};
use bevy_ecs::{
    archetype::{Archetype, ArchetypeEntity},
    entity::{Entity, EntityHashMap, EntityHashSet},
    reflect::{AppTypeRegistry, ReflectComponent},
    world::World,
};
use core::mem::{forget, replace, take};
use smallvec::{SmallVec, smallvec};

/// Writes components of this kind from now on.
pub(super) fn start(world: &mut World, kind: Kind, in_scenes: bool) {
    let is_started = mirror(world, kind).is_some();
    // If there is no registry any more, it has been taken out of the world for the time being.
    if !is_started || world.contains_resource::<AppTypeRegistry>() {
        register_type(world, kind, in_scenes);
    }
    if is_started {
        return;
    }
    ops::prepare_clones(world);
    // What is written from now on has a later tick.
    let tick = world.increment_change_tick();
    // Components that were inserted before are applied: each by a command that waits, or at the next maintenance.
    let written = holders(world, kind).into_iter().collect();
    world.get_resource_or_init::<Mirrors>().push(Mirror {
        kind,
        relations: BTreeMap::new(),
        due: VecDeque::new(),
        written,
        writing: None,
        is_received: false,
        applying: None,
        moved: EntityHashSet::default(),
        cloned: EntityHashSet::default(),
        values_read: ValuesRead { tick, ..ValuesRead::default() },
        unmet: BTreeMap::new(),
        waiting: VecDeque::new(),
    });
    restore_observers(world, kind);
    update(world, kind, None);
}

/// Registers the component for reflection, unless it is already.
fn register_type(world: &mut World, kind: Kind, in_scenes: bool) {
    let registry = world.get_resource_or_init::<AppTypeRegistry>().clone();
    // While a scene is applied, the registry is locked for reading: to lock it for writing would be a deadlock.
    let is_known = registry
        .read()
        .get(kind.component)
        .is_some_and(|known| known.data::<ReflectComponent>().is_some() == in_scenes);
    if !is_known {
        (kind.register_type)(&mut registry.write(), in_scenes);
    }
}

/// Shows the pairs of one more relation in components of this type.
pub(super) fn follow(world: &mut World, kind: Kind, key: Followed) {
    if with(world, kind, |mirror| mirror.relations.contains_key(&key)) != Some(false) {
        return;
    }
    // A relation without pairs has nothing to read.
    let unused = fetch::store_mut(world).and_then(|store| {
        let id = key.relation(store).filter(|&id| store.relation(id).len() == 0)?;
        Some(store.keep_journal(id).cursor())
    });
    let cursor = unused.unwrap_or_default();
    let index =
        MirroredIndex { cursor, places: Places::default(), tied: EntityHashSet::default(), name: None };
    with(world, kind, |mirror| mirror.relations.insert(key, index));
    request_updates(world, kind, key);
}

/// Makes each change of the pairs of a relation update the components.
fn request_updates(world: &mut World, kind: Kind, key: Followed) {
    let component = (kind.register)(world);
    let Some(store) = fetch::store_mut(world) else { return };
    let Some(id) = key.relation(store) else { return };
    store.keep_journal(id).record_replaced_values();
    if store.registry().entry(id).mirror.is_none_or(|(known, _)| known != component) {
        ops::set_mirror(world, id, Some((component, kind.update)));
    }
}

/// Follows the relations that are to be mirrored, and no others.
pub(super) fn restore_observers(world: &mut World, kind: Kind) {
    let known = with(world, kind, |mirror| mirror.relations.keys().copied().collect::<Vec<_>>());
    let relations = (kind.relations)(world);
    for key in known.unwrap_or_default() {
        let is_wanted = relations.binary_search(&key).is_ok();
        // If the type has no entity, its relation gets one with its next use.
        if is_wanted || (matches!(key, Followed::Type(_)) && key.entity(world).is_none()) {
            continue;
        }
        if let Some(id) = fetch::store(world).and_then(|store| key.relation(store)) {
            ops::set_mirror(world, id, None);
        }
        let holders = holders(world, kind);
        with(world, kind, |mirror| {
            mirror.relations.remove(&key);
            mirror.due.extend(holders.into_iter().map(Due::from));
        });
    }
    for key in relations {
        follow(world, kind, key);
        request_updates(world, kind, key);
    }
}

/// Brings the components up to date after a change of a relation.
pub(super) fn update_relation(world: &mut World, kind: Kind, id: RelationId) {
    if append(world, kind, id) {
        return;
    }
    let key = fetch::store(world).and_then(|store| {
        let is_mirrored = store.registry().get(id).is_some_and(|entry| entry.mirror.is_some());
        is_mirrored.then(|| Followed::of_id(store, id))
    });
    if key.is_none() {
        // The relation is gone.
        restore_observers(world, kind);
    }
    update(world, kind, key);
}

/// If the only change is one more pair of a source, behind its others: adds it to the component. False otherwise.
fn append(world: &mut World, kind: Kind, id: RelationId) -> bool {
    appended(world, kind, id)
        .is_some_and(|(key, source, target)| (kind.push_last)(world, kind, (source, target), Some(key)))
}

/// The only change since the components were written, if it is one more pair: the relation, and the pair.
fn appended(world: &World, kind: Kind, id: RelationId) -> Option<(Followed, Entity, Entity)> {
    let mirror = mirror(world, kind)?;
    if mirror.is_received || !mirror.due.is_empty() || !mirror.written.is_empty() {
        return None;
    }
    let store = fetch::store(world)?;
    let (entry, index) = (store.registry().get(id)?, store.relation(id));
    let key = Followed::of_id(store, id);
    let changes = index.journal()?.since(mirror.relations.get(&key)?.cursor)?;
    let &[Change { source, target, kind: PairDeltaKind::Inserted }] = changes else { return None };
    let is_simple = !entry.traits.is_ordered() && world.entities().contains_spawned(source);
    is_simple.then_some((key, source, target))
}

/// Adds a pair to the component of its source, if it is the last of that, and the only one that the component lacks. False
/// otherwise. The source may have none yet if the pair is the `only` change, which is of this relation.
pub(super) fn push_last<C: MirrorComponent>(
    world: &mut World,
    kind: Kind,
    (source, target): (Entity, Entity),
    only: Option<Followed>,
) -> bool {
    let Some((pair, count)) = C::read_last(world, source, target) else { return false };
    let is_first = count == 1 && only.is_some();
    if !is_first && world.get::<C>(source).is_none_or(|there| there.pairs().len() + 1 != count) {
        return false;
    }
    let writing = Writing::new(world, kind, source, only);
    if count == 1 {
        if let Ok(mut source) = writing.world.get_entity_mut(source) {
            source.insert(C::of_pair(pair));
        }
    } else {
        let _ = writing.world.modify_component(source, |there: &mut C| there.push(pair));
    }
    writing.finish();
    true
}

/// Brings the components up to date: after changes of one relation, or of any.
pub(super) fn update(world: &mut World, kind: Kind, changed: Option<Followed>) {
    read_journals(world, kind, changed);
    while let Some(due) = with(world, kind, |mirror| mirror.due.pop_front()).flatten() {
        let mut reading = Reading { world, kind, source: Some(due.source) };
        write_due(reading.world, kind, due);
        reading.source = None;
    }
}

/// The pairs of an entity are being read, which copies and compares values: if users' code panics, it is due again.
struct Reading<'w> {
    world: &'w mut World,
    kind: Kind,
    source: Option<Entity>,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        if let Some(source) = self.source {
            with(self.world, self.kind, |mirror| mirror.due.push_back(source.into()));
        }
    }
}

/// Notes the entities whose components may be outdated.
pub(super) fn read_journals(world: &mut World, kind: Kind, changed: Option<Followed>) {
    let keys: SmallVec<[Followed; 1]> = match changed {
        Some(key) => smallvec![key],
        None => with(world, kind, |mirror| mirror.relations.keys().copied().collect()).unwrap_or_default(),
    };
    keys.into_iter().for_each(|key| read_journal(world, kind, key));
}

fn read_journal(world: &mut World, kind: Kind, key: Followed) {
    let Some(cursor) = with(world, kind, |mirror| Some(mirror.relations.get(&key)?.cursor)).flatten() else {
        return;
    };
    if fetch::store(world).is_some_and(|store| key.is_current(store, cursor)) {
        return;
    }
    let places = with(world, kind, |mirror| Some(take(&mut mirror.relations.get_mut(&key)?.places)));
    let Some(mut places) = places.flatten() else { return };
    let mut due: Vec<Due> = Vec::new();
    let mut reordered = EntityHashSet::default();
    let mut end = Cursor::default();
    let mut is_known = false;
    if let Some(store) = fetch::store_mut(world)
        && let Some(id) = key.relation(store)
    {
        end = store.keep_journal(id).cursor();
        let is_ordered = store.registry().entry(id).traits.is_ordered();
        match key.read(store, cursor).and_then(|(_, changes)| changes) {
            Some(changes) => {
                is_known = true;
                for change in changes {
                    match change.is_removal() {
                        _ if !is_ordered => {}
                        true => places.remove(change.source, change.target),
                        // A pair with a place was there before: sources or targets have another order.
                        false if places.get(change.source, change.target).is_some() => {
                            reordered.insert(change.target);
                        }
                        false => places.push(change.source, change.target),
                    }
                    let inserted = (change.kind == PairDeltaKind::Inserted).then_some(change.target);
                    due.push(Due { source: change.source, inserted });
                }
                merge_by_source(&mut due);
            }
            None => {
                let sources = read_all(store, id, is_ordered.then_some(&mut places));
                due.extend(sources.into_iter().map(Due::from));
            }
        }
        for target in reordered {
            let order: Vec<Entity> = store.relation(id).sources(target).collect();
            due.extend(places.reorder(target, &order).into_iter().map(Due::from));
        }
    }
    if !is_known {
        // Components of entities without pairs are removed.
        due.extend(holders(world, kind).into_iter().map(Due::from));
    }
    with(world, kind, |mirror| {
        if let Some(index) = mirror.relations.get_mut(&key) {
            index.places = places;
            index.cursor = end;
        }
        mirror.due.extend(due);
    });
}

/// Leaves each source once. After several changes its component is compared as a whole, which the first of them does for all.
fn merge_by_source(due: &mut Vec<Due>) {
    if due.len() < 2 {
        return;
    }
    let mut places = EntityHashMap::<usize>::default();
    let mut kept = 0;
    for at in 0..due.len() {
        let change = due[at];
        if let Some(&place) = places.get(&change.source) {
            due[place].inserted = None;
        } else {
            places.insert(change.source, kept);
            due[kept] = change;
            kept += 1;
        }
    }
    due.truncate(kept);
}

/// Returns every source, and corrects the places of all pairs.
fn read_all(store: &PairStore, id: RelationId, places: Option<&mut Places>) -> Vec<Entity> {
    let index = store.relation(id);
    if let Some(places) = places {
        let mut old = take(places);
        places.clear();
        let mut targets: Vec<Entity> = Vec::new();
        for (source, target) in index.iter() {
            if let Some(place) = old.get(source, target) {
                places.set(source, target, place);
            }
            if targets.last() != Some(&target) {
                targets.push(target);
            }
        }
        old.clear();
        for target in targets {
            let order: Vec<Entity> = index.sources(target).collect();
            places.reorder(target, &order);
        }
    }
    index.all_sources()
}

/// Every entity with a component, also those that queries skip.
fn holders(world: &World, kind: Kind) -> Vec<Entity> {
    let Some(id) = world.components().get_id(kind.component) else { return Vec::new() };
    let archetypes = world.archetypes().iter().filter(|archetype| archetype.contains(id));
    archetypes.flat_map(Archetype::entities).map(ArchetypeEntity::id).collect()
}

/// Makes the component of an entity list its pairs.
fn write_due(world: &mut World, kind: Kind, due: Due) {
    let source = due.source;
    // A component that was written meanwhile is applied first, and then written back.
    let may_write = |mirror: &mut Mirror| {
        let applying = mirror.applying.filter(|_| mirror.is_received);
        (!mirror.written.contains(&source)).then_some((mirror.is_received, applying))
    };
    let is_spawned = world.entities().contains_spawned(source);
    let Some((is_received, applying)) = with(world, kind, may_write).flatten().filter(|_| is_spawned) else {
        return;
    };
    // Other changes of the entity are due separately.
    let pushes = |target| (kind.push_last)(world, kind, (source, target), None);
    if !is_received && due.inserted.is_some_and(pushes) {
        return;
    }
    (kind.write_back)(world, kind, source, applying);
}

/// Makes the component of an entity list its pairs. Nothing is written if it does already. `applying` is the entity whose
/// component, which has arrived, may have changed the pairs.
pub(super) fn write_back<C: MirrorComponent>(
    world: &mut World,
    kind: Kind,
    source: Entity,
    applying: Option<Entity>,
) {
    let now = C::read(world, source);
    let is_empty = now.pairs().is_empty();
    let there = world.get::<C>(source);
    let (is_there, is_same) = (there.is_some(), there.map_or(is_empty, |there| there.is_same(&now)));
    if let Some(by) = applying.filter(|&by| !is_same && by != source) {
        unmet::note_changed(world, kind, source, by);
    }
    let stays = !is_empty || unmet::is_unmet(world, kind, source);
    if is_same && is_there == stays {
        return;
    }
    let writing = Writing::new(world, kind, source, None);
    let Ok(mut entity) = writing.world.get_entity_mut(source) else { return };
    let old = if !stays {
        entity.take::<C>()
    } else if is_there {
        let replaced = writing.world.modify_component(source, |there: &mut C| replace(there, now));
        replaced.ok().flatten()
    } else {
        entity.insert(now);
        None
    };
    writing.finish();
    // Bevy leaves a component in its column whose drop panics.
    drop(old);
}

/// A component that is being written here, until its hooks have run. After a panic it is due again.
struct Writing<'w> {
    world: &'w mut World,
    kind: Kind,
    source: Entity,
}

impl<'w> Writing<'w> {
    /// Begins to write. The next change of the relation `only` is in the component then.
    fn new(world: &'w mut World, kind: Kind, source: Entity, only: Option<Followed>) -> Self {
        with(world, kind, |mirror| {
            mirror.writing = Some(source);
            if let Some(index) = only.and_then(|key| mirror.relations.get_mut(&key)) {
                index.cursor.step();
            }
        });
        Self { world, kind, source }
    }

    /// The hooks have run.
    fn finish(self) {
        forget(self);
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        let source = self.source;
        with(self.world, self.kind, |mirror| {
            mirror.writing = None;
            mirror.due.push_back(source.into());
        });
    }
}
