//! Scopes: what is spawned in one becomes a child.

use crate::{names::NameIndex, ops::internal_markers, relation::EntityName, sealed::Sealed};
use alloc::vec::Vec;
use bevy_ecs::{
    archetype::ArchetypeEntity,
    change_detection::Tick,
    component::ComponentId,
    entity::{Entity, EntityHashSet},
    hierarchy::ChildOf,
    world::World,
};
use thiserror::Error;

/// Why a scope of [`WorldScopeExt`] was not entered, or not left as it should be.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::error::ScopeError;
/// # let mut world = World::new();
/// let sol = world.spawn(Name::new("Sol")).id();
/// let error = world.with_scope(sol, |world| world.despawn(sol)).unwrap_err();
/// assert!(matches!(error, ScopeError::Despawned { .. }));
/// let error = world.with_scope(sol, |_| ()).unwrap_err();
/// assert!(matches!(error, ScopeError::Dead { parent } if parent.entity() == sol));
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ScopeError {
    /// The parent was not alive at the beginning: nothing was run.
    #[error("cannot enter the scope of {parent}: it is not alive")]
    Dead {
        /// The entity that was to be the parent.
        parent: EntityName,
    },
    /// The parent was despawned meanwhile: what was spawned in the scope and is left has no parent.
    #[error("{parent} was despawned in its own scope")]
    Despawned {
        /// The entity that was to be the parent.
        parent: EntityName,
    },
}

/// Scopes of a [`World`].
pub trait WorldScopeExt: Sealed {
    /// Runs a function in the scope of an entity: what it spawns becomes a child of that entity, and paths of names
    /// start there.
    ///
    /// Whatever is spawned counts, also by commands that are applied meanwhile, by systems and by observers; commands
    /// that wait in the world are applied before the scope is entered, and those that were queued in it before it is
    /// left. When the function returns, each entity that has no parent then gets a [`ChildOf`], in the order of their
    /// indices. Left out are those that Bevy or this crate keeps for itself (resources, observers, systems, entities of
    /// types), and what the parent itself is below. In a scope within a scope, what is spawned becomes a child of the
    /// inner one.
    ///
    /// Meanwhile a path ([`lookup`](crate::WorldNameExt::lookup), names in expressions) is tried below the innermost
    /// scope, then below those around it, and at last from the entities without a parent, which those that were just
    /// spawned still are.
    ///
    /// If the function panics, the scope is left all the same; what was spawned gets its parent with the commands that
    /// are applied next.
    ///
    /// ```
    /// use bevy_ecs::prelude::*;
    /// use bevy_relations::prelude::*;
    /// use bevy_relations::world::WorldScopeExt;
    ///
    /// let mut world = World::new();
    /// let sol = world.spawn(Name::new("Sol")).id();
    /// let earth = world.with_scope(sol, |world| world.spawn(Name::new("Earth")).id())?;
    /// assert_eq!(world.get::<ChildOf>(earth).map(ChildOf::parent), Some(sol));
    /// world.with_scope(sol, |world| assert_eq!(world.lookup("Earth"), Ok(earth)))?;
    /// assert!(world.lookup("Earth").is_err());
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// If the parent is not alive; then nothing is run. If it is not alive in the end; then what was spawned stays as
    /// it is.
    ///
    /// # Complexity
    /// O(entities of the world without a parent), when the scope is left.
    fn with_scope<T>(&mut self, parent: Entity, run: impl FnOnce(&mut World) -> T) -> Result<T, ScopeError>;
}

impl WorldScopeExt for World {
    fn with_scope<T>(&mut self, parent: Entity, run: impl FnOnce(&mut World) -> T) -> Result<T, ScopeError> {
        self.flush();
        if !self.entities().contains_spawned(parent) {
            return Err(ScopeError::Dead { parent: EntityName::new(self, parent) });
        }
        let name = EntityName::new(self, parent);
        let before = self.change_tick();
        self.increment_change_tick();
        let scopes = &mut self.get_resource_or_init::<NameIndex>().scopes;
        let depth = scopes.len();
        scopes.push(parent);
        let scope = EnteredScope { world: self, parent, before, depth, is_left: false };
        let result = run(scope.world);
        scope.world.flush();
        match scope.leave() {
            true => Ok(result),
            false => Err(ScopeError::Despawned { parent: name }),
        }
    }
}

/// A scope that was entered.
struct EnteredScope<'w> {
    world: &'w mut World,
    parent: Entity,
    /// Of the last change outside.
    before: Tick,
    /// The number of scopes around.
    depth: usize,
    is_left: bool,
}

impl EnteredScope<'_> {
    /// False if the parent is not alive.
    fn leave(mut self) -> bool {
        self.end();
        adopt(self.world, self.parent, self.before)
    }

    fn end(&mut self) {
        self.is_left = true;
        if let Some(mut index) = self.world.get_resource_mut::<NameIndex>() {
            index.scopes.truncate(self.depth);
        }
    }
}

/// What was run has panicked.
impl Drop for EnteredScope<'_> {
    fn drop(&mut self) {
        if !self.is_left {
            self.end();
            let (parent, before) = (self.parent, self.before);
            let now = self.world.change_tick();
            let spawned = spawned_in(self.world, parent, before, now);
            self.world.commands().queue(move |world: &mut World| {
                give_parent(world, parent, spawned);
            });
        }
    }
}

fn adopt(world: &mut World, parent: Entity, before: Tick) -> bool {
    let now = world.change_tick();
    let spawned = spawned_in(world, parent, before, now);
    give_parent(world, parent, spawned)
}

/// The entities without a parent that were spawned since, but for those above `parent`.
fn spawned_in(world: &World, parent: Entity, before: Tick, now: Tick) -> Vec<Entity> {
    let components = world.components();
    let left_out: Vec<ComponentId> =
        internal_markers(components).chain(components.component_id::<ChildOf>()).collect();
    let mut above = EntityHashSet::default();
    let mut next = Some(parent);
    // Without the rules of relations parents may go round in a circle.
    while let Some(entity) = next.filter(|entity| above.insert(*entity)) {
        next = world.get::<ChildOf>(entity).map(ChildOf::parent);
    }
    let archetypes = world.archetypes().iter();
    let archetypes = archetypes.filter(|archetype| !left_out.iter().any(|id| archetype.contains(*id)));
    let entities = archetypes.flat_map(|archetype| archetype.entities().iter().map(ArchetypeEntity::id));
    let is_new = |entity: &Entity| {
        let tick = world.entities().entity_get_spawn_or_despawn_tick(*entity);
        tick.is_some_and(|tick| tick.is_newer_than(before, now)) && !above.contains(entity)
    };
    let mut spawned: Vec<Entity> = entities.filter(is_new).collect();
    spawned.sort_unstable_by_key(|entity| entity.index_u32());
    spawned
}

/// False if the parent is not alive, or despawned meanwhile.
fn give_parent(world: &mut World, parent: Entity, spawned: Vec<Entity>) -> bool {
    let is_alive = |world: &World| world.entities().contains_spawned(parent);
    for &entity in &spawned {
        // An observer may have despawned it, or given it another parent.
        if is_alive(world)
            && let Ok(mut entity) = world.get_entity_mut(entity)
            && !entity.contains::<ChildOf>()
        {
            entity.insert(ChildOf(parent));
        }
    }
    if is_alive(world) {
        return true;
    }
    // Bevy keeps the component of a child whose parent goes while the child gets it.
    for entity in spawned {
        if let Ok(mut entity) = world.get_entity_mut(entity)
            && entity.get::<ChildOf>().is_some_and(|child_of| child_of.parent() == parent)
        {
            entity.remove::<ChildOf>();
        }
    }
    false
}
