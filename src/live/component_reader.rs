//! Finding the entities whose component came, went or was written.

use super::feed::{self, Feed};
use crate::{
    fetch,
    store::{Cursor, PairStore, TickChecks},
};
use alloc::vec::Vec;
use bevy_ecs::{
    change_detection::Tick,
    component::{Component, ComponentId, ComponentMutability},
    entity::Entity,
    query::With,
    world::World,
};
use bevy_platform::sync::Arc;

/// How far the changes of a component were read.
#[derive(Default)]
pub(super) struct ComponentReader {
    feed: Option<Arc<Feed>>,
    cursor: Cursor,
    read_at: Tick,
    tick_checks: TickChecks,
}

impl ComponentReader {
    /// The feed that records the component from now on. Values that are written in place are found by their ticks: only an
    /// immutable component triggers an event for every change.
    fn feed(&mut self, world: &mut World, component: ComponentId, is_mutable: bool) -> Arc<Feed> {
        let is_observed = if is_mutable { feed::is_observed } else { feed::records_values };
        if let Some(feed) = self.feed.as_ref().filter(|feed| is_observed(world, feed)) {
            return feed.clone();
        }
        // It is not known what happened meanwhile.
        self.cursor = Cursor::default();
        let feed = match is_mutable {
            true => feed::feed(world, component),
            false => feed::feed_with_values(world, component),
        };
        self.feed = Some(feed.clone());
        feed
    }

    /// Adds the entities whose component may have changed since the last read to `touched`, some of them several
    /// times. Returns false, and adds nothing, if that is not known.
    ///
    /// # Complexity
    /// O(changes); if the component is mutable, O(entities that have it) to compare their ticks.
    pub(super) fn read<C: Component>(&mut self, world: &mut World, touched: &mut Vec<Entity>) -> bool {
        let is_mutable = <C::Mutability as ComponentMutability>::MUTABLE;
        let component = world.register_component::<C>();
        let feed = self.feed(world, component, is_mutable);
        feed.restart_if_missed(world.archetypes());
        let is_known =
            feed.read(world.archetypes(), &mut self.cursor, |entities| touched.extend_from_slice(entities));
        if !is_mutable {
            return is_known;
        }
        let checks = fetch::store(world).map(PairStore::tick_checks).unwrap_or_default();
        let are_comparable = checks.can_compare(self.tick_checks);
        if is_known && are_comparable {
            fetch::for_each_changed(world, component, self.read_at, |entity| touched.push(entity));
        }
        self.tick_checks = checks;
        self.read_at = world.change_tick();
        // What is written from now on is newer.
        world.increment_change_tick();
        if !are_comparable {
            touched.clear();
        }
        is_known && are_comparable
    }
}

/// Every entity that has a component, also those that are disabled.
pub(super) fn all_with<C: Component>(world: &mut World) -> Vec<Entity> {
    let mut query = world.query_filtered::<Entity, (With<C>, fetch::AllEntities)>();
    query.iter(world).collect()
}
