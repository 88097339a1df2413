//! Writing to the components what the store says.

use super::{
    component::{MirroredPairs, MirroredRelation},
    read::{read, read_last},
    state::{Due, Mirror, MirrorObservers, Mirrors, Places, with},
};
use crate::{
    fetch,
    id::{PairId, RelationId},
    ops::{self, Followed, Followers, PairInserted},
    relation::{TraitsError, Wildcard},
    store::{Cursor, PairData, PairStore},
};
use alloc::{collections::VecDeque, vec::Vec};
use bevy_ecs::{
    archetype::{Archetype, ArchetypeEntity},
    component::Component,
    entity::{Entity, EntityHashSet},
    observer::{Observer, On},
    reflect::{AppTypeRegistry, ReflectComponent},
    world::{DeferredWorld, World},
};
use core::{any::TypeId, mem::take};

/// Mirrors the pairs of `R` from now on.
pub(super) fn start<R: MirroredRelation>(
    world: &mut World,
    maintain: fn(&mut World),
) -> Result<(), TraitsError> {
    let relation = ops::register_relation::<R>(world)?;
    let key = Followed::of::<R>();
    register_types::<R>(world);
    if world.get_resource::<Mirrors>().is_some_and(|mirrors| mirrors.get(key).is_some()) {
        return Ok(());
    }
    let observers = spawn_observers::<R>(world, relation);
    // That runs users' code, which may have done the same.
    if with(world, key, |_| ()).is_some() {
        despawn(world, observers);
        return Ok(());
    }
    let tick = world.change_tick();
    // Components that were inserted before are applied: each by a command that waits, or at the next maintenance.
    let written = holders::<MirroredPairs<R>>(world).into_iter().collect();
    world.get_resource_or_init::<Mirrors>().push(Mirror {
        key,
        cursor: Cursor::default(),
        observers,
        due: VecDeque::new(),
        written,
        writing: None,
        moved: EntityHashSet::default(),
        places: Places::default(),
        lent: (0, tick),
        update: update::<R>,
        maintain,
    });
    update::<R>(world);
    Ok(())
}

/// Makes the component known to reflection, with what scenes ask for unless the relation is left out of these.
fn register_types<R: MirroredRelation>(world: &mut World) {
    let registry = world.get_resource_or_init::<AppTypeRegistry>().clone();
    let in_scenes = !R::traits().is_transient();
    // What applies a scene is reading the registry, and then this must not wait to write it.
    let is_known = registry
        .read()
        .get(TypeId::of::<MirroredPairs<R>>())
        .is_some_and(|known| known.data::<ReflectComponent>().is_some() == in_scenes);
    if !is_known {
        let mut registry = registry.write();
        registry.register::<MirroredPairs<R>>();
        if in_scenes {
            registry.register_type_data::<MirroredPairs<R>, ReflectComponent>();
        }
    }
}

fn spawn_observers<R: MirroredRelation>(world: &mut World, relation: Entity) -> MirrorObservers {
    let followers = Followers::spawn(world, Followed::of::<R>(), relation, |world, _| update::<R>(world));
    let noted = |on: On<PairInserted<Wildcard>>, mut world: DeferredWorld| {
        let (source, replaced) = (on.source, on.replaced);
        if let Some(mirrors) = world.get_resource_mut::<Mirrors>().filter(|_| replaced)
            && let Some(mirror) = mirrors.into_inner().get_mut(Followed::of::<R>())
        {
            mirror.due.push_back(source.into());
        }
    };
    let replaced = ops::observe(world, PairId::with_relation(relation), noted);
    world.flush();
    MirrorObservers { followers, replaced }
}

fn despawn(world: &mut World, observers: MirrorObservers) {
    observers.followers.despawn(world);
    let _ = world.try_despawn(observers.replaced);
}

/// Spawns the observers again if one of them was despawned. Then it is not known which values were replaced meanwhile.
pub(super) fn mend<R: MirroredRelation>(world: &mut World) {
    let key = Followed::of::<R>();
    let Some(observers) = with(world, key, |mirror| mirror.observers) else { return };
    let MirrorObservers { followers, replaced } = observers;
    let is_whole = followers.are_there(world) && world.get::<Observer>(replaced).is_some();
    // If the type has no entity, its relation gets one with its next use.
    let Some(relation) = key.entity(world).filter(|_| !is_whole) else { return };
    despawn(world, observers);
    let observers = spawn_observers::<R>(world, relation);
    let known = with(world, key, |mirror| {
        mirror.observers = observers;
        mirror.cursor = Cursor::default();
    });
    if known.is_none() {
        despawn(world, observers);
    }
    update::<R>(world);
}

/// Brings the components up to date.
pub(super) fn update<R: MirroredRelation>(world: &mut World) {
    let key = Followed::of::<R>();
    read_journal::<R>(world);
    while let Some(due) = with(world, key, |mirror| mirror.due.pop_front()).flatten() {
        write_back::<R>(world, due);
    }
}

/// Notes the entities whose components may not say what the pairs are any more.
pub(super) fn read_journal<R: MirroredRelation>(world: &mut World) {
    let key = Followed::of::<R>();
    let Some(cursor) = with(world, key, |mirror| mirror.cursor) else { return };
    if fetch::store(world).is_some_and(|store| key.is_current(store, cursor)) {
        return;
    }
    let Some(mut places) = with(world, key, |mirror| take(&mut mirror.places)) else { return };
    let component = world.register_component::<MirroredPairs<R>>();
    if let Some(id) = fetch::store(world).and_then(|store| key.relation(store)) {
        ops::note_mirror(world, id, component);
    }
    let mut due: Vec<Due> = Vec::new();
    let mut reordered = EntityHashSet::default();
    let mut end = Cursor::default();
    let mut is_known = false;
    if let Some(store) = fetch::store_mut(world)
        && let Some(id) = key.relation(store)
    {
        end = store.keep_journal(id).cursor();
        let is_ordered = store.registry().entry(id).traits.is_ordered();
        match key.read(store, cursor).and_then(|(_, told)| told) {
            Some(told) => {
                is_known = true;
                for change in told {
                    match change.removed {
                        _ if !is_ordered => {}
                        true => places.remove(change.source, change.target),
                        // One that is known was not removed: sources or targets have another order.
                        false if places.get(change.source, change.target).is_some() => {
                            reordered.insert(change.target);
                        }
                        false => places.push(change.source, change.target),
                    }
                    let inserted = (!change.removed).then_some(change.target);
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
        // Those of entities without pairs go.
        due.extend(holders::<MirroredPairs<R>>(world).into_iter().map(Due::from));
    }
    with(world, key, |mirror| {
        mirror.places = places;
        mirror.cursor = end;
        mirror.due.extend(due);
    });
}

/// Every source, and the places of all pairs as far as they are not right.
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

/// Makes the component of an entity say what its pairs are. Nothing is written if it does.
fn write_back<R: MirroredRelation>(world: &mut World, due: Due) {
    let source = due.source;
    let key = Followed::of::<R>();
    let may_write = world.entities().contains_spawned(source)
        && with(world, key, |mirror| !mirror.written.contains(&source)) == Some(true);
    // What was written meanwhile is applied first, and written back then.
    if !may_write {
        return;
    }
    // What changed in other ways as well is due in itself.
    if let Some((pair, count)) = due.inserted.and_then(|target| read_last::<R>(world, source, target))
        && world.get::<MirroredPairs<R>>(source).is_some_and(|there| there.pairs.len() + 1 == count)
    {
        let writing = Writing::new::<R>(world, source);
        let push = |there: &mut MirroredPairs<R>| there.pairs.push(pair);
        let _ = writing.world.modify_component(source, push);
        return writing.finish();
    }
    let now = read::<R>(world, source);
    let is_right = match world.get::<MirroredPairs<R>>(source) {
        Some(there) => !now.pairs.is_empty() && there.is_same(&now),
        None => now.pairs.is_empty(),
    };
    if is_right {
        return;
    }
    let writing = Writing::new::<R>(world, source);
    let Ok(mut source) = writing.world.get_entity_mut(source) else { return };
    if now.pairs.is_empty() {
        source.remove::<MirroredPairs<R>>();
    } else {
        source.insert(now);
    }
    writing.finish();
}

/// A component is being written here, until its hooks have seen that. After a panic it is looked at again.
struct Writing<'w> {
    world: &'w mut World,
    key: Followed,
    source: Option<Entity>,
}

impl<'w> Writing<'w> {
    fn new<R: MirroredRelation>(world: &'w mut World, source: Entity) -> Self {
        let key = Followed::of::<R>();
        with(world, key, |mirror| mirror.writing = Some(source));
        Self { world, key, source: Some(source) }
    }

    fn finish(mut self) {
        self.source = None;
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        let source = self.source;
        with(self.world, self.key, |mirror| {
            mirror.writing = None;
            mirror.due.extend(source.map(Due::from));
        });
    }
}

/// Notes the pairs whose values were written in place since that was looked at last.
pub(super) fn note_written_values<R: MirroredRelation>(world: &mut World) {
    let key = Followed::of::<R>();
    let Some((seen, since)) = with(world, key, |mirror| mirror.lent) else { return };
    let Some(values) = world.get_resource::<PairData<R>>().filter(|values| values.lent() != seen) else {
        return;
    };
    let lent = values.lent();
    let now = world.read_change_tick();
    let Some((store, id)) = fetch::store(world).and_then(|store| Some((store, key.relation(store)?))) else {
        return;
    };
    let index = store.relation(id);
    let is_newer = |source, target| {
        let tick = index.row(source, target).and_then(|row| values.changed(row));
        tick.is_some_and(|tick| tick.is_newer_than(since, now))
    };
    let written: Vec<Entity> =
        index.iter().filter(|&(source, target)| is_newer(source, target)).map(|(source, _)| source).collect();
    // What is written from now on has a later tick.
    world.increment_change_tick();
    with(world, key, |mirror| {
        mirror.lent = (lent, now);
        mirror.due.extend(written.into_iter().map(Due::from));
    });
}
