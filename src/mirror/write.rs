//! Writing the components from the store.

use super::{
    kind::MirrorComponent,
    state::{Due, Mirror, MirroredIndex, Mirrors, Places, mirrors, with},
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
    component::Component,
    entity::{Entity, EntityHashSet},
    reflect::{AppTypeRegistry, ReflectComponent},
    world::World,
};
use core::{
    any::TypeId,
    marker::PhantomData,
    mem::{forget, replace, take},
};
use smallvec::{SmallVec, smallvec};

/// Writes components of this type from now on.
pub(super) fn start<C: MirrorComponent>(world: &mut World, in_scenes: bool, maintain: fn(&mut World)) {
    let is_started = mirrors(world).is_some_and(|mirrors| mirrors.get::<C>().is_some());
    // If there is no registry any more, it has been taken out of the world for the time being.
    if !is_started || world.contains_resource::<AppTypeRegistry>() {
        register_types::<C>(world, in_scenes);
    }
    if is_started {
        return;
    }
    ops::prepare_clones(world);
    // What is written from now on has a later tick.
    let tick = world.increment_change_tick();
    // Components that were inserted before are applied: each by a command that waits, or at the next maintenance.
    let written = holders::<C>(world).into_iter().collect();
    world.get_resource_or_init::<Mirrors>().push(Mirror {
        component: TypeId::of::<C>(),
        relations: BTreeMap::new(),
        due: VecDeque::new(),
        written,
        writing: None,
        is_received: false,
        settling: None,
        moved: EntityHashSet::default(),
        cloned: EntityHashSet::default(),
        lent: (0, tick),
        update: |world| update::<C>(world, None),
        maintain,
    });
    mend::<C>(world);
    update::<C>(world, None);
}

/// Registers the component for reflection, with the `ReflectComponent` that scenes need unless they are to leave it out.
fn register_types<C: MirrorComponent>(world: &mut World, in_scenes: bool) {
    let registry = world.get_resource_or_init::<AppTypeRegistry>().clone();
    // While a scene is applied, the registry is locked for reading: to lock it for writing would be a deadlock.
    let is_known = registry
        .read()
        .get(TypeId::of::<C>())
        .is_some_and(|known| known.data::<ReflectComponent>().is_some() == in_scenes);
    if !is_known {
        let mut registry = registry.write();
        registry.register::<C>();
        if in_scenes {
            registry.register_type_data::<C, ReflectComponent>();
        }
    }
}

/// Shows the pairs of one more relation in components of this type.
pub(super) fn follow<C: MirrorComponent>(world: &mut World, key: Followed) {
    if with::<C, _>(world, |mirror| mirror.relations.contains_key(&key)) != Some(false) {
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
    with::<C, _>(world, |mirror| mirror.relations.insert(key, index));
    ask_for_updates::<C>(world, key);
}

/// Makes each change of the pairs of a relation update the components.
fn ask_for_updates<C: MirrorComponent>(world: &mut World, key: Followed) {
    let component = world.register_component::<C>();
    let Some(store) = fetch::store_mut(world) else { return };
    let Some(id) = key.relation(store) else { return };
    store.keep_journal(id).record_replaced_values();
    if store.registry().entry(id).mirror.is_none_or(|(known, _)| known != component) {
        ops::set_mirror(world, id, Some((component, update_relation::<C>)));
    }
}

/// Follows the relations that are to be mirrored, and no others.
pub(super) fn mend<C: MirrorComponent>(world: &mut World) {
    let known = with::<C, _>(world, |mirror| mirror.relations.keys().copied().collect::<Vec<_>>());
    let relations = C::relations(world);
    for key in known.unwrap_or_default() {
        let is_wanted = relations.binary_search(&key).is_ok();
        // If the type has no entity, its relation gets one with its next use.
        if is_wanted || (matches!(key, Followed::Type(_)) && key.entity(world).is_none()) {
            continue;
        }
        if let Some(id) = fetch::store(world).and_then(|store| key.relation(store)) {
            ops::set_mirror(world, id, None);
        }
        let holders = holders::<C>(world);
        with::<C, _>(world, |mirror| {
            mirror.relations.remove(&key);
            mirror.due.extend(holders.into_iter().map(Due::from));
        });
    }
    for key in relations {
        follow::<C>(world, key);
        ask_for_updates::<C>(world, key);
    }
}

/// Brings the components up to date after a change of a relation.
fn update_relation<C: MirrorComponent>(world: &mut World, id: RelationId) {
    if write_appended::<C>(world, id) {
        return;
    }
    let key = fetch::store(world).and_then(|store| {
        let is_mirrored = store.registry().get(id).is_some_and(|entry| entry.mirror.is_some());
        is_mirrored.then(|| Followed::of_id(store, id))
    });
    if key.is_none() {
        // The relation is gone.
        mend::<C>(world);
    }
    update::<C>(world, key);
}

/// If the only change is one more pair of a source, behind its others: adds it to the component. False otherwise.
fn write_appended<C: MirrorComponent>(world: &mut World, id: RelationId) -> bool {
    let Some((source, key, pair, count)) = appended::<C>(world, id) else { return false };
    let writing = Writing::<C>::new(world, source, |mirror| {
        mirror.relations.get_mut(&key).into_iter().for_each(|index| index.cursor.step());
    });
    push::<C>(writing, source, pair, count);
    true
}

/// The only change since the components were written, if it is a pair that is the last of its source: the source, the relation,
/// the pair, and the number of pairs of the source.
fn appended<C: MirrorComponent>(world: &World, id: RelationId) -> Option<(Entity, Followed, C::Pair, usize)> {
    let mirror = mirrors(world)?.get::<C>()?;
    if mirror.is_received || !mirror.due.is_empty() || !mirror.written.is_empty() {
        return None;
    }
    let store = fetch::store(world)?;
    let (entry, index) = (store.registry().get(id)?, store.relation(id));
    let key = Followed::of_id(store, id);
    let changes = index.journal()?.since(mirror.relations.get(&key)?.cursor)?;
    let &[Change { source, target, kind: PairDeltaKind::Inserted }] = changes else { return None };
    if entry.traits.is_ordered() {
        return None;
    }
    let (pair, count) = C::read_last(world, source, target)?;
    let is_next = count == 1 || world.get::<C>(source).is_some_and(|there| there.pairs().len() + 1 == count);
    (is_next && world.entities().contains_spawned(source)).then_some((source, key, pair, count))
}

/// Adds the last pair of an entity to its component. `count` is the number of its pairs.
fn push<C: MirrorComponent>(writing: Writing<'_, C>, source: Entity, pair: C::Pair, count: usize) {
    if count == 1 {
        if let Ok(mut source) = writing.world.get_entity_mut(source) {
            source.insert(C::of_pair(pair));
        }
    } else {
        let _ = writing.world.modify_component(source, |there: &mut C| there.push(pair));
    }
    writing.finish();
}

/// Brings the components up to date: after changes of one relation, or of any.
pub(super) fn update<C: MirrorComponent>(world: &mut World, changed: Option<Followed>) {
    read_journals::<C>(world, changed);
    while let Some(due) = with::<C, _>(world, |mirror| mirror.due.pop_front()).flatten() {
        let mut reading = Reading::<C> { world, source: Some(due.source), component: PhantomData };
        write_back::<C>(reading.world, due);
        reading.source = None;
    }
}

/// The pairs of an entity are being read, which copies and compares values: if users' code panics, it is due again.
struct Reading<'w, C: MirrorComponent> {
    world: &'w mut World,
    source: Option<Entity>,
    component: PhantomData<C>,
}

impl<C: MirrorComponent> Drop for Reading<'_, C> {
    fn drop(&mut self) {
        if let Some(source) = self.source {
            with::<C, _>(self.world, |mirror| mirror.due.push_back(source.into()));
        }
    }
}

/// Notes the entities whose components may be outdated.
pub(super) fn read_journals<C: MirrorComponent>(world: &mut World, changed: Option<Followed>) {
    let keys: SmallVec<[Followed; 1]> = match changed {
        Some(key) => smallvec![key],
        None => with::<C, _>(world, |mirror| mirror.relations.keys().copied().collect()).unwrap_or_default(),
    };
    keys.into_iter().for_each(|key| read_journal::<C>(world, key));
}

fn read_journal<C: MirrorComponent>(world: &mut World, key: Followed) {
    let Some(cursor) = with::<C, _>(world, |mirror| Some(mirror.relations.get(&key)?.cursor)).flatten()
    else {
        return;
    };
    if fetch::store(world).is_some_and(|store| key.is_current(store, cursor)) {
        return;
    }
    let places = with::<C, _>(world, |mirror| Some(take(&mut mirror.relations.get_mut(&key)?.places)));
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
                    let change = Due { source: change.source, inserted };
                    if due.last() != Some(&change) {
                        due.push(change);
                    }
                }
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
        due.extend(holders::<C>(world).into_iter().map(Due::from));
    }
    with::<C, _>(world, |mirror| {
        if let Some(index) = mirror.relations.get_mut(&key) {
            index.places = places;
            index.cursor = end;
        }
        mirror.due.extend(due);
    });
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
fn holders<C: Component>(world: &World) -> Vec<Entity> {
    let Some(id) = world.component_id::<C>() else { return Vec::new() };
    let archetypes = world.archetypes().iter().filter(|archetype| archetype.contains(id));
    archetypes.flat_map(Archetype::entities).map(ArchetypeEntity::id).collect()
}

/// Makes the component of an entity list its pairs. Nothing is written if it does already.
fn write_back<C: MirrorComponent>(world: &mut World, due: Due) {
    let source = due.source;
    // A component that was written meanwhile is applied first, and then written back.
    let may_write = |mirror: &mut Mirror| {
        let settling = mirror.settling.filter(|_| mirror.is_received);
        (!mirror.written.contains(&source)).then_some((mirror.is_received, settling))
    };
    let is_spawned = world.entities().contains_spawned(source);
    let Some((is_received, settling)) = with::<C, _>(world, may_write).flatten().filter(|_| is_spawned)
    else {
        return;
    };
    // Other changes of the entity are due separately.
    if !is_received
        && let Some((pair, count)) = due.inserted.and_then(|target| C::read_last(world, source, target))
        && world.get::<C>(source).is_some_and(|there| there.pairs().len() + 1 == count)
    {
        return push::<C>(Writing::new(world, source, |_| ()), source, pair, count);
    }
    let now = C::read(world, source);
    let is_empty = now.pairs().is_empty();
    let there = world.get::<C>(source);
    let (is_there, is_same) = (there.is_some(), there.map_or(is_empty, |there| there.is_same(&now)));
    if let Some(by) = settling.filter(|&by| !is_same && by != source) {
        unmet::note_changed::<C>(world, source, by);
    }
    let stays = !is_empty || (is_received && unmet::is_unmet::<C>(world, source));
    if is_same && is_there == stays {
        return;
    }
    let writing = Writing::<C>::new(world, source, |_| ());
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
struct Writing<'w, C: MirrorComponent> {
    world: &'w mut World,
    source: Entity,
    component: PhantomData<C>,
}

impl<'w, C: MirrorComponent> Writing<'w, C> {
    /// Begins to write; `note` gets the mirror.
    fn new(world: &'w mut World, source: Entity, note: impl FnOnce(&mut Mirror)) -> Self {
        with::<C, _>(world, |mirror| {
            mirror.writing = Some(source);
            note(mirror);
        });
        Self { world, source, component: PhantomData }
    }

    /// The hooks have run.
    fn finish(self) {
        forget(self);
    }
}

impl<C: MirrorComponent> Drop for Writing<'_, C> {
    fn drop(&mut self) {
        let source = self.source;
        with::<C, _>(self.world, |mirror| {
            mirror.writing = None;
            mirror.due.push_back(source.into());
        });
    }
}
