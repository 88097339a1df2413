//! Following the pairs of a relation, for what is derived from them and kept right after each change.

use crate::{
    fetch,
    id::{PairId, RelationId},
    ops::{
        mutate::event::observe,
        register::keys::{PairInserted, PairRemoved},
    },
    relation::{Relation, Wildcard},
    store::{Change, Cursor, PairStore, RelationIndex},
};
use bevy_ecs::{
    entity::Entity,
    observer::{Observer, On},
    system::Commands,
    world::World,
};
use core::any::TypeId;

/// A relation that is followed. That of a type may get another entity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Followed {
    Type(TypeId),
    Entity(Entity),
}

impl Followed {
    pub(crate) fn of<R: Relation>() -> Self {
        Self::Type(TypeId::of::<R>())
    }

    /// The relation that an entity is.
    pub(crate) fn of_entity(store: &PairStore, relation: Entity) -> Self {
        store.registry().type_of(relation).map_or(Self::Entity(relation), Self::Type)
    }

    /// The relation with a number.
    #[cfg(feature = "bevy_reflect")]
    pub(crate) fn of_id(store: &PairStore, id: RelationId) -> Self {
        let entry = store.registry().entry(id);
        entry.type_id.map_or(Self::Entity(entry.entity), Self::Type)
    }

    /// The number of the relation, unless it is gone.
    pub(crate) fn relation(self, store: &PairStore) -> Option<RelationId> {
        match self {
            Self::Type(type_id) => store.registry().of_type_id(type_id),
            Self::Entity(entity) => store.registry().of_entity(entity),
        }
    }

    /// The entity of the relation, unless it is gone.
    pub(crate) fn entity(self, world: &World) -> Option<Entity> {
        let store = fetch::store(world)?;
        let entity = store.registry().entry(self.relation(store)?).entity;
        world.entities().contains_spawned(entity).then_some(entity)
    }

    /// The pairs of the relation, and what came to them since its journal was read up to `cursor`: `None` if that is
    /// not known.
    pub(crate) fn read(
        self,
        store: &PairStore,
        cursor: Cursor,
    ) -> Option<(&RelationIndex, Option<&[Change]>)> {
        let index = store.relation(self.relation(store)?);
        Some((index, index.journal().and_then(|journal| journal.since(cursor))))
    }

    /// Whether the journal of the relation was read up to its end.
    pub(crate) fn is_current(self, store: &PairStore, cursor: Cursor) -> bool {
        self.read(store, cursor).is_some_and(|(_, changes)| changes.is_some_and(<[_]>::is_empty))
    }
}

/// The observers that call a function after each change of the pairs of a relation.
#[derive(Clone, Copy)]
pub(crate) struct Followers([Entity; 2]);

impl Followers {
    /// Spawns the observers, which runs users' code.
    pub(crate) fn spawn(
        world: &mut World,
        followed: Followed,
        relation: Entity,
        changed: fn(&mut World, Followed),
    ) -> Self {
        let pair = PairId::with_relation(relation);
        let inserted = move |_: On<PairInserted<Wildcard>>, mut commands: Commands| {
            commands.queue(move |world: &mut World| changed(world, followed));
        };
        // The pair is still there, and gone when commands are applied.
        let removed = move |_: On<PairRemoved<Wildcard>>, mut commands: Commands| {
            commands.queue(move |world: &mut World| changed(world, followed));
        };
        let observers = [observe(world, pair, inserted), observe(world, pair, removed)];
        world.flush();
        Self(observers)
    }

    /// Whether none of the observers was despawned.
    pub(crate) fn are_there(self, world: &World) -> bool {
        self.0.iter().all(|&observer| world.get::<Observer>(observer).is_some())
    }

    /// The observers, spawned again if one of them was despawned.
    pub(crate) fn restore_observers(
        self,
        world: &mut World,
        followed: Followed,
        changed: fn(&mut World, Followed),
    ) -> Self {
        if self.are_there(world) {
            return self;
        }
        // If a type has no entity, its relation gets one with its next use.
        let Some(relation) = followed.entity(world) else { return self };
        self.despawn(world);
        Self::spawn(world, followed, relation, changed)
    }

    pub(crate) fn despawn(self, world: &mut World) {
        for observer in self.0 {
            let _ = world.try_despawn(observer);
        }
    }
}
