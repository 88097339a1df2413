//! What is disabled, and adding and removing [`Disabled`].

use super::{cover::Cover, error::DisablingError};
use crate::{
    fetch::{self, AllEntities},
    ops::{Followed, Followers, NotTraversableError, ensure_store, relation_id_of, to_bevy, use_relation},
    relation::EntityName,
    store::{Cursor, RelationIndex},
    traverse::RelationView,
};
use alloc::{collections::VecDeque, vec::Vec};
use bevy_ecs::{
    component::{Component, ComponentId},
    entity::Entity,
    entity_disabling::Disabled,
    error::Result,
    lifecycle::{HookContext, Insert, Remove},
    observer::{Observer, On},
    query::With,
    resource::Resource,
    world::{DeferredWorld, World},
};
use core::mem::take;

/// How often [`Disabled`] is put back while it is being put back, before it takes something to remove it each time.
const MAX_ROUNDS: usize = 8;

/// On every entity that is disabled because it lies below another.
///
/// It comes and goes together with [`Disabled`]: what happens to [`Disabled`] alone was done by others. A clone has
/// both.
#[derive(Component, Clone)]
#[component(on_insert = changed, on_remove = changed)]
pub(crate) struct DisabledBelow {
    /// It would be disabled without that, too.
    by_hand: bool,
}

/// A clone may lie elsewhere, and what is cleared may still lie there.
fn changed(mut world: DeferredWorld<'_>, context: HookContext) {
    let entity = context.entity;
    world.commands().queue(move |world: &mut World| update_disabled(world, entity));
}

/// A relation along which something is disabled, or was.
struct Disabling {
    key: Followed,
    cover: Cover,
    /// How far the journal of the relation was read.
    cursor: Cursor,
    /// They came to lie below a root, or do no longer, and are still to be updated.
    pending: VecDeque<Entity>,
    observers: Followers,
}

/// Everything that is disabled along relations.
#[derive(Resource)]
#[component(on_remove = released)]
pub(crate) struct DisabledAlong {
    relations: Vec<Disabling>,
    /// They note what others do to [`Disabled`].
    observers: [Entity; 2],
    /// The entities that [`Disabled`] is being inserted into, which runs users' code.
    in_progress: Vec<Entity>,
}

/// The entity of a resource can be despawned as any other. Every cause is lost then: nothing could take one back.
fn released(mut world: DeferredWorld<'_>, context: HookContext) {
    let Some(along) = world.get::<DisabledAlong>(context.entity) else { return };
    let observers = along.observers;
    let followers: Vec<Followers> = along.relations.iter().map(|disabling| disabling.observers).collect();
    world.commands().queue(move |world: &mut World| {
        despawn(world, observers);
        followers.into_iter().for_each(|followers| followers.despawn(world));
        let mut marked = world.query_filtered::<Entity, (With<DisabledBelow>, AllEntities)>();
        let marked: Vec<Entity> = marked.iter(world).collect();
        marked.into_iter().for_each(|entity| update_disabled_now(world, entity));
    });
}

impl DisabledAlong {
    fn get(&self, key: Followed) -> Option<&Disabling> {
        self.relations.iter().find(|disabling| disabling.key == key)
    }
}

fn with<T>(world: &mut World, key: Followed, run: impl FnOnce(&mut Disabling) -> T) -> Option<T> {
    let mut along = world.get_resource_mut::<DisabledAlong>()?;
    along.relations.iter_mut().find(|disabling| disabling.key == key).map(run)
}

/// Whether an entity lies below another below which everything is disabled.
pub(super) fn is_below(world: &World, entity: Entity) -> bool {
    let along = world.get_resource::<DisabledAlong>();
    along.is_some_and(|along| along.relations.iter().any(|disabling| disabling.cover.below.contains(&entity)))
}

/// How often everything below `root` was disabled along a relation.
pub(super) fn causes(world: &World, key: Followed, root: Entity) -> u32 {
    let disabling = world.get_resource::<DisabledAlong>().and_then(|along| along.get(key));
    disabling.and_then(|disabling| disabling.cover.roots.get(&root)).copied().unwrap_or(0)
}

/// The pairs `(relation, root)` for which an entity is disabled.
pub(super) fn roots_of(world: &World, entity: Entity) -> Vec<(Entity, Entity)> {
    let (Some(along), Some(store)) = (world.get_resource::<DisabledAlong>(), fetch::store(world)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for disabling in &along.relations {
        let Some(id) = disabling.key.relation(store) else { continue };
        if disabling.cover.below.contains(&entity) {
            let view = RelationView::new(Some(store.relation(id)), None);
            let roots = view.all_ancestors(entity).map(|(above, _)| above);
            let roots = roots.filter(|above| disabling.cover.roots.contains_key(above));
            found.extend(roots.map(|root| (store.registry().entry(id).entity, root)));
        }
    }
    found
}

/// Adds a cause for which everything below `root` is disabled.
pub(super) fn disable(world: &mut World, relation: Entity, root: Entity) -> Result<(), DisablingError> {
    let key = follow(world, relation)?;
    if !world.entities().contains_spawned(root) {
        return Err(DisablingError::Dead { root });
    }
    update(world, key);
    let is_first = with(world, key, |disabling| {
        let causes = disabling.cover.roots.entry(root).or_default();
        *causes = causes.saturating_add(1);
        *causes == 1
    });
    if is_first == Some(true) {
        update_from(world, key, Some(root));
    }
    Ok(())
}

/// Takes a cause away for which everything below `root` is disabled.
pub(super) fn enable(world: &mut World, relation: Entity, root: Entity) -> Result<(), DisablingError> {
    let key = traversable(world, relation)?;
    if !world.entities().contains_spawned(root) {
        return Err(DisablingError::Dead { root });
    }
    update(world, key);
    let was_last = with(world, key, |disabling| {
        let causes = disabling.cover.roots.get_mut(&root)?;
        *causes -= 1;
        let was_last = *causes == 0;
        if was_last {
            disabling.cover.roots.remove(&root);
        }
        Some(was_last)
    });
    match was_last.flatten() {
        Some(true) => update_from(world, key, Some(root)),
        Some(false) => {}
        None => {
            let relation = ensure_store(world).registry().name_of(relation);
            return Err(DisablingError::NotDisabled { root: EntityName::new(world, root), relation });
        }
    }
    Ok(())
}

/// The relation that an entity is, which must be alive and traversable.
fn traversable(world: &mut World, relation: Entity) -> Result<Followed, DisablingError> {
    if !world.entities().contains_spawned(relation) {
        return Err(DisablingError::DeadRelation { relation });
    }
    let store = &*use_relation(world, relation);
    let registry = store.registry();
    let id = registry.of_entity(relation).filter(|&id| registry.entry(id).traits.is_traversable());
    match id {
        Some(_) => Ok(Followed::of_entity(store, relation)),
        None => Err(NotTraversableError { relation: registry.name_of(relation) }.into()),
    }
}

/// Follows the pairs of a relation from now on.
fn follow(world: &mut World, relation: Entity) -> Result<Followed, DisablingError> {
    let key = traversable(world, relation)?;
    // Its traits may not change any more.
    relation_id_of(world, relation)?;
    if world.get_resource::<DisabledAlong>().is_none() {
        let observers = spawn_observers(world);
        // That runs users' code, which may have done the same.
        if world.get_resource::<DisabledAlong>().is_some() {
            despawn(world, observers);
        } else {
            world.insert_resource(DisabledAlong {
                relations: Vec::new(),
                observers,
                in_progress: Vec::new(),
            });
        }
    }
    if with(world, key, |_| ()).is_none() {
        let observers = Followers::spawn(world, key, relation, update);
        let (cover, cursor) = (Cover::default(), Cursor::default());
        let Some(mut along) = world.get_resource_mut::<DisabledAlong>() else { return Ok(key) };
        if along.get(key).is_some() {
            observers.despawn(world);
        } else {
            along.relations.push(Disabling { key, cover, cursor, pending: VecDeque::new(), observers });
        }
    }
    Ok(key)
}

/// Disables and enables what the changes of the pairs of a relation ask for.
fn update(world: &mut World, key: Followed) {
    update_from(world, key, None);
}

/// [`update`], after an entity has become a root, or is one no longer.
fn update_from(world: &mut World, key: Followed, root: Option<Entity>) {
    refresh(world, key, root);
    let left = with(world, key, |disabling| take(&mut disabling.pending)).unwrap_or_default();
    let mut updating = Updating { world, key, left };
    while let Some(entity) = updating.left.pop_front() {
        update_disabled_now(updating.world, entity);
    }
}

/// Entities are being updated, which runs users' code. Those that are left when that panics are updated the next time.
struct Updating<'w> {
    world: &'w mut World,
    key: Followed,
    left: VecDeque<Entity>,
}

impl Drop for Updating<'_> {
    fn drop(&mut self) {
        if !self.left.is_empty() {
            let left = take(&mut self.left);
            with(self.world, self.key, |disabling| disabling.pending.extend(left));
        }
    }
}

/// Makes what is known of a relation right, and notes the entities that came to lie below a root, or do no longer.
fn refresh(world: &mut World, key: Followed, root: Option<Entity>) {
    let Some(disabling) = world.get_resource::<DisabledAlong>().and_then(|along| along.get(key)) else {
        return;
    };
    let cursor = disabling.cursor;
    if root.is_none() && fetch::store(world).is_some_and(|store| key.is_current(store, cursor)) {
        return;
    }
    // Nothing else runs until it is put back.
    let Some(mut cover) = with(world, key, |disabling| take(&mut disabling.cover)) else { return };
    let mut known = None;
    if let Some(store) = fetch::store_mut(world)
        && let Some(id) = key.relation(store)
    {
        let end = store.keep_journal(id).cursor();
        let changes = key.read(store, cursor).and_then(|(_, changes)| changes);
        known = Some((cover.update(store.relation(id), changes, root), end));
    }
    // A relation that is gone has no pairs.
    let (changed, end) = match known {
        Some(known) => known,
        None => (cover.update(&RelationIndex::default(), None, None), Cursor::default()),
    };
    with(world, key, |disabling| {
        disabling.cover = cover;
        disabling.cursor = end;
        disabling.pending.extend(changed);
    });
}

/// [`update_disabled_now`], once what is known is right.
fn update_disabled(world: &mut World, entity: Entity) {
    let Some(along) = world.get_resource::<DisabledAlong>() else { return };
    let keys: Vec<Followed> = along.relations.iter().map(|disabling| disabling.key).collect();
    keys.into_iter().for_each(|key| update(world, key));
    update_disabled_now(world, entity);
}

/// Adds or removes [`Disabled`], as what is known asks for.
fn update_disabled_now(world: &mut World, entity: Entity) {
    let is_below = is_below(world, entity);
    let Ok(mut found) = world.get_entity_mut(entity) else { return };
    let by_hand = found.get::<DisabledBelow>().map(|below| below.by_hand);
    let is_disabled = found.contains::<Disabled>();
    match (is_below, by_hand) {
        (true, None) if is_disabled => _ = found.insert(DisabledBelow { by_hand: true }),
        (true, by_hand) if !is_disabled => put_back(world, entity, by_hand.unwrap_or(false)),
        (false, Some(false)) => _ = found.remove::<(DisabledBelow, Disabled)>(),
        (false, Some(true)) => _ = found.remove::<DisabledBelow>(),
        (true, _) | (false, None) => {}
    }
}

/// Disables an entity that is alive. If something removes [`Disabled`] each time, that is reported in the end.
fn put_back(world: &mut World, entity: Entity, by_hand: bool) {
    let Some(mut along) = world.get_resource_mut::<DisabledAlong>() else { return };
    if along.in_progress.iter().filter(|&&other| other == entity).count() >= MAX_ROUNDS {
        let error = to_bevy(DisablingError::Undone { entity: EntityName::new(world, entity) });
        world.commands().queue(move |_: &mut World| -> Result { Err(error) });
        return;
    }
    along.in_progress.push(entity);
    let in_progress = InProgress(world);
    in_progress.0.entity_mut(entity).insert((DisabledBelow { by_hand }, Disabled));
}

/// [`Disabled`] is being inserted, until this is dropped, also by a panic in users' code.
struct InProgress<'w>(&'w mut World);

impl Drop for InProgress<'_> {
    fn drop(&mut self) {
        if let Some(mut along) = self.0.get_resource_mut::<DisabledAlong>() {
            along.in_progress.pop();
        }
    }
}

/// What is inserted and removed together with the marker is no cause of its own.
fn is_ours(world: &World, components: &[ComponentId]) -> bool {
    world.component_id::<DisabledBelow>().is_some_and(|marker| components.contains(&marker))
}

/// Spawns the observers that note what others do to [`Disabled`].
fn spawn_observers(world: &mut World) -> [Entity; 2] {
    let inserted = world.add_observer(|on: On<Insert<Disabled>>, mut world: DeferredWorld| {
        let is_ours = is_ours(&world, on.trigger().components);
        if let Some(mut below) = world.get_mut::<DisabledBelow>(on.entity)
            && !is_ours
        {
            below.by_hand = true;
        }
    });
    let inserted = inserted.id();
    let removed = world.add_observer(|on: On<Remove<Disabled>>, mut world: DeferredWorld| {
        let (entity, is_ours) = (on.entity, is_ours(&world, on.trigger().components));
        if let Some(mut below) = world.get_mut::<DisabledBelow>(entity)
            && !is_ours
        {
            below.by_hand = false;
            world.commands().queue(move |world: &mut World| update_disabled(world, entity));
        }
    });
    let removed = removed.id();
    world.flush();
    [inserted, removed]
}

fn despawn(world: &mut World, observers: [Entity; 2]) {
    for observer in observers {
        let _ = world.try_despawn(observer);
    }
}

/// Brings everything up to date, removes roots that are gone, and spawns observers again that were despawned.
pub(crate) fn update_all(world: &mut World) {
    let Some(along) = world.get_resource::<DisabledAlong>() else { return };
    let observers = along.observers;
    let keys: Vec<Followed> = along.relations.iter().map(|disabling| disabling.key).collect();
    if !observers.iter().all(|&observer| world.get::<Observer>(observer).is_some()) {
        despawn(world, observers);
        let observers = spawn_observers(world);
        match world.get_resource_mut::<DisabledAlong>() {
            Some(mut along) => along.observers = observers,
            None => despawn(world, observers),
        }
    }
    for key in keys {
        update(world, key);
        restore_observers(world, key);
        remove_dead_roots(world, key);
    }
}

/// Spawns the observers of a relation again if one was despawned; despawns them if the relation is gone.
fn restore_observers(world: &mut World, key: Followed) {
    let Some(along) = world.get_resource::<DisabledAlong>() else { return };
    let Some(observers) = along.get(key).map(|disabling| disabling.observers) else { return };
    if matches!(key, Followed::Entity(_)) && key.entity(world).is_none() {
        observers.despawn(world);
        if let Some(mut along) = world.get_resource_mut::<DisabledAlong>() {
            along.relations.retain(|disabling| disabling.key != key);
        }
        return;
    }
    let observers = observers.restore_observers(world, key, update);
    if with(world, key, |disabling| disabling.observers = observers).is_none() {
        observers.despawn(world);
    }
}

fn remove_dead_roots(world: &mut World, key: Followed) {
    let Some(along) = world.get_resource::<DisabledAlong>() else { return };
    let Some(disabling) = along.get(key) else { return };
    let is_dead = |root: &Entity| !world.entities().contains_spawned(*root);
    let dead: Vec<Entity> = disabling.cover.roots.keys().copied().filter(is_dead).collect();
    if !dead.is_empty() {
        with(world, key, |disabling| disabling.cover.roots.retain(|root, _| !dead.contains(root)));
    }
}
