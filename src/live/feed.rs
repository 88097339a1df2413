//! The entities that got a component, lost it or had it replaced, for as long as something reads that.
//!
//! They are recorded by observers of the component, which all live expressions, rollups and propagated components that read
//! it share. The observers despawn at the first change after the last reader is gone, or in the next maintenance.

use crate::{
    expr::View,
    store::{Cursor, Journal},
};
use bevy_ecs::{
    archetype::{Archetype, Archetypes},
    component::ComponentId,
    entity::Entity,
    lifecycle::{Add, Insert, Remove},
    observer::{Observer, On},
    resource::Resource,
    system::Commands,
    world::World,
};
use bevy_platform::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
};
use smallvec::SmallVec;

/// The changes of a component.
struct ComponentChanges {
    journal: Journal<Entity>,
    /// How many entities should have it by the events. Compared with how many have it: if another observer panics, ours is not
    /// called, and a world can be cleared without an event.
    holders: usize,
}

/// The changes of one component, while something holds this.
pub(super) struct Feed {
    component: ComponentId,
    changes: Mutex<ComponentChanges>,
    /// The observers that record the entities that get the component, and those that lose it.
    observers: OnceLock<[Entity; 2]>,
}

/// How many entities have a component.
fn count(archetypes: &Archetypes, component: ComponentId) -> usize {
    let with = archetypes.component_index().get(&component).into_iter().flat_map(|with| with.keys());
    with.filter_map(|&id| archetypes.get(id)).map(|archetype: &Archetype| archetype.len() as usize).sum()
}

impl ComponentChanges {
    fn new(holders: usize) -> Self {
        let mut journal = Journal::default();
        journal.keep_longer();
        Self { journal, holders }
    }
}

impl Feed {
    fn changes(&self) -> MutexGuard<'_, ComponentChanges> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, entity: Entity, added: bool) {
        let mut changes = self.changes();
        changes.holders = if added { changes.holders + 1 } else { changes.holders.saturating_sub(1) };
        let holders = changes.holders;
        changes.journal.record(entity, holders);
    }

    fn note_value(&self, entity: Entity) {
        let mut changes = self.changes();
        let holders = changes.holders;
        changes.journal.record(entity, holders);
    }

    /// Whether its observers exist.
    pub(super) fn is_observed_in(&self, view: &View<'_>) -> bool {
        let observer = view.access.components().component_id::<Observer>();
        let is_there =
            |&entity: &Entity| observer.is_some_and(|observer| view.has_component(entity, observer));
        self.observers.get().is_some_and(|observers| observers.iter().all(is_there))
    }

    /// The position behind the last change. In the middle of an operation, when a change may be recorded but not made yet, or made
    /// but not recorded yet, a cursor that fits no journal: then everything is run again.
    pub(super) fn cursor(&self, archetypes: &Archetypes) -> Cursor {
        let changes = self.changes();
        match changes.holders == count(archetypes, self.component) {
            true => changes.journal.cursor(),
            false => Cursor::default(),
        }
    }

    /// Makes all readers start anew if some changes were not recorded. Must not be called in the middle of an operation.
    pub(super) fn restart_if_missed(&self, archetypes: &Archetypes) {
        let mut changes = self.changes();
        let holders = count(archetypes, self.component);
        if changes.holders != holders {
            // No reader's cursor fits the new journal.
            *changes = ComponentChanges::new(holders);
        }
    }

    /// How many entities have the component.
    pub(super) fn holders(&self) -> usize {
        self.changes().holders
    }

    /// Calls a function with the entities that got or lost the component since `cursor`, and advances that. False if
    /// some of them are not known.
    pub(super) fn read(
        &self,
        archetypes: &Archetypes,
        cursor: &mut Cursor,
        each: impl FnOnce(&[Entity]),
    ) -> bool {
        let changes = self.changes();
        if changes.holders != count(archetypes, self.component) {
            *cursor = Cursor::default();
            return false;
        }
        let Some(entities) = changes.journal.since(*cursor) else {
            *cursor = changes.journal.cursor();
            return false;
        };
        each(entities);
        *cursor = changes.journal.cursor();
        true
    }
}

/// The feed of a component that is read, and its observers.
struct Observed {
    feed: Weak<Feed>,
    /// For entities that get it, for those that lose it; and for values that are replaced, if these are read.
    observers: SmallVec<[Entity; 3]>,
}

/// The components that are read.
#[derive(Resource, Default)]
struct Feeds(HashMap<ComponentId, Observed>);

/// Records the changes of a component from now on.
pub(super) fn feed(world: &mut World, component: ComponentId) -> Arc<Feed> {
    let known = world.get_resource_or_init::<Feeds>();
    let known = known.0.get(&component).map(|known| (known.feed.upgrade(), known.observers.clone()));
    if let Some((feed, observers)) = known {
        if let Some(feed) = feed
            && observers.iter().all(|&observer| world.get::<Observer>(observer).is_some())
        {
            return feed;
        }
        // One of them was despawned, or their last reader is gone. They are out of use once others are noted below.
        observers.into_iter().for_each(|observer| _ = world.try_despawn(observer));
    }
    let holders = count(world.archetypes(), component);
    let changes = Mutex::new(ComponentChanges::new(holders));
    let feed = Arc::new(Feed { component, changes, observers: OnceLock::new() });
    let observers = observe(world, component, &feed);
    let _ = feed.observers.set(observers);
    world.flush();
    // That runs users' code, which may have inserted or removed the component.
    feed.changes().holders = count(world.archetypes(), component);
    let known = Observed { feed: Arc::downgrade(&feed), observers: SmallVec::from_slice(&observers) };
    world.get_resource_or_init::<Feeds>().0.insert(component, known);
    feed
}

/// As [`feed`], and records values that are replaced as well; those that are written in place are not.
pub(super) fn feed_with_values(world: &mut World, component: ComponentId) -> Arc<Feed> {
    let feed = feed(world, component);
    if !records_values(world, &feed) {
        let observer = observe_values(world, component, &feed);
        world.flush();
        match world.get_resource_or_init::<Feeds>().0.get_mut(&component) {
            Some(known) => known.observers.push(observer),
            None => _ = world.try_despawn(observer),
        }
    }
    feed
}

/// Run by an observer: records something, or despawns the observer once the last reader is gone.
fn note(feed: &Weak<Feed>, observer: Entity, commands: &mut Commands<'_, '_>, note: impl FnOnce(&Feed)) {
    match feed.upgrade() {
        Some(feed) => note(&feed),
        None => commands.entity(observer).try_despawn(),
    }
}

fn observe(world: &mut World, component: ComponentId, feed: &Arc<Feed>) -> [Entity; 2] {
    let weak = Arc::downgrade(feed);
    let added = Observer::new(move |on: On<Add<()>>, mut commands: Commands| {
        note(&weak, on.observer(), &mut commands, |feed| feed.note(on.entity, true));
    });
    let weak = Arc::downgrade(feed);
    let removed = Observer::new(move |on: On<Remove<()>>, mut commands: Commands| {
        note(&weak, on.observer(), &mut commands, |feed| feed.note(on.entity, false));
    });
    [added, removed].map(|observer| world.spawn(observer.with_component(component)).id())
}

fn observe_values(world: &mut World, component: ComponentId, feed: &Arc<Feed>) -> Entity {
    let weak = Arc::downgrade(feed);
    let inserted = Observer::new(move |on: On<Insert<()>>, mut commands: Commands| {
        note(&weak, on.observer(), &mut commands, |feed| feed.note_value(on.entity));
    });
    world.spawn(inserted.with_component(component)).id()
}

/// Whether all observers of the component exist.
pub(super) fn is_observed(world: &World, feed: &Arc<Feed>) -> bool {
    let known = world.get_resource::<Feeds>().and_then(|feeds| feeds.0.get(&feed.component));
    known.is_some_and(|known| {
        let is_there = |&observer: &Entity| world.get::<Observer>(observer).is_some();
        known.feed.as_ptr() == Arc::as_ptr(feed) && known.observers.iter().all(is_there)
    })
}

/// Whether these include the one for values that are replaced.
pub(super) fn records_values(world: &World, feed: &Arc<Feed>) -> bool {
    let known = world.get_resource::<Feeds>().and_then(|feeds| feeds.0.get(&feed.component));
    known.is_some_and(|known| known.observers.len() > 2) && is_observed(world, feed)
}

/// Drops old changes, and despawns observers whose last reader is gone.
pub(crate) fn maintain(world: &mut World) {
    let Some(feeds) = world.get_resource::<Feeds>() else { return };
    let read = feeds.0.values().filter_map(|known| known.feed.upgrade());
    read.for_each(|feed| feed.restart_if_missed(world.archetypes()));
    let Some(mut feeds) = world.get_resource_mut::<Feeds>() else { return };
    let mut unread = SmallVec::<[Entity; 3]>::new();
    feeds.0.retain(|_, known| match known.feed.upgrade() {
        Some(feed) => {
            feed.changes().journal.update();
            true
        }
        None => {
            unread.append(&mut known.observers);
            false
        }
    });
    unread.into_iter().for_each(|observer| _ = world.try_despawn(observer));
}
