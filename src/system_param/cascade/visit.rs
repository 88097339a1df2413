//! Visiting one node after the other: its own data together with the parent's.

use super::levels::{LevelNodes, NO_PARENT, Node, RowCounts};
use crate::fetch::{Ahead, CursorState, FetchCursor, prefetch};
use bevy_ecs::{
    change_detection::Tick,
    entity::Entity,
    query::{IterQueryData, QueryFilter, ReadOnlyQueryData},
    storage::TableRow,
    world::unsafe_world_cell::UnsafeWorldCell,
};

/// The world of a system that runs.
#[derive(Clone, Copy)]
pub(super) struct Context<'w> {
    pub(super) world: UnsafeWorldCell<'w>,
    pub(super) last_run: Tick,
    pub(super) this_run: Tick,
}

impl<'w> Context<'w> {
    /// # Safety
    /// As for [`FetchCursor::new`].
    #[inline]
    pub(super) unsafe fn cursor<'s, D: IterQueryData + 'static, F: QueryFilter + 'static>(
        self,
        state: &'s CursorState<D, F>,
    ) -> FetchCursor<'w, 's, D, F> {
        // SAFETY: as the caller promises.
        unsafe { FetchCursor::new(state, self.world, self.last_run, self.this_run) }
    }
}

/// Which nodes a run visits.
pub(super) trait VisitPolicy {
    /// Whether the node of an entity that matches is to be visited. `above` is the level above.
    ///
    /// # Safety
    /// No data of the entity may be borrowed.
    unsafe fn wants(&mut self, node: &mut Node, entity: Entity, above: &[Node]) -> bool;

    /// The node does not match.
    fn miss(&mut self, node: &mut Node);
}

/// Visits every node.
pub(super) struct VisitAll;

impl VisitPolicy for VisitAll {
    #[inline]
    unsafe fn wants(&mut self, _: &mut Node, _: Entity, _: &[Node]) -> bool {
        true
    }

    #[inline]
    fn miss(&mut self, _: &mut Node) {}
}

/// Visits nodes that changed, and those below nodes that are visited.
pub(super) struct Changed<'w, 's, D: ReadOnlyQueryData + 'static, W: QueryFilter + 'static> {
    pub(super) watched: FetchCursor<'w, 's, D, W>,
}

impl<D: ReadOnlyQueryData + 'static, W: QueryFilter + 'static> VisitPolicy for Changed<'_, '_, D, W> {
    #[inline]
    unsafe fn wants(&mut self, node: &mut Node, entity: Entity, above: &[Node]) -> bool {
        let parent = above.get(node.parent as usize);
        let due = node.stale || parent.is_some_and(|parent| parent.visited);
        // The place is in terms of the storages of the node's data, which may be others.
        let mut place = node.place;
        node.visited = due
            || self.watched.seek(entity, &mut place).is_some_and(|row| {
                // SAFETY: the entity was just sought; nothing writes its data, as the caller promises.
                unsafe { self.watched.passes(entity, row) }
            });
        node.stale = false;
        node.visited
    }

    #[inline]
    fn miss(&mut self, node: &mut Node) {
        (node.stale, node.visited) = (true, false);
    }
}

/// Reads and writes data of nodes.
pub(super) struct Visitor<'w, 's, D: IterQueryData + 'static, F: QueryFilter + 'static, C> {
    cursor: FetchCursor<'w, 's, D, F>,
    choice: C,
    pub(super) counts: RowCounts,
    world: UnsafeWorldCell<'w>,
}

impl<'w, 's, D, F, C> Visitor<'w, 's, D, F, C>
where
    D: IterQueryData + 'static,
    F: QueryFilter + 'static,
    C: VisitPolicy,
{
    /// # Safety
    /// As for [`FetchCursor::new`].
    pub(super) unsafe fn new(context: Context<'w>, state: &'s CursorState<D, F>, choice: C) -> Self {
        // SAFETY: as the caller promises.
        let cursor = unsafe { context.cursor(state) };
        Self { cursor, choice, counts: RowCounts::default(), world: context.world }
    }

    /// The data of a node, if it is to be visited. `above` is the level above.
    ///
    /// # Safety
    /// No data of its entity may be borrowed elsewhere.
    #[inline(always)]
    pub(super) unsafe fn get(
        &mut self,
        node: &mut Node,
        above: &[Node],
    ) -> Option<(Entity, D::Item<'w, 's>)> {
        let entity = node.entity?;
        let Some(row) = self.cursor.seek(entity, &mut node.place) else {
            self.counts.dead += usize::from(!self.world.entities().contains_spawned(entity));
            self.choice.miss(node);
            return None;
        };
        self.counts.count(node.place.storage());
        // SAFETY: no data of the entity is borrowed, as the caller promises.
        if !unsafe { self.choice.wants(node, entity, above) } {
            return None;
        }
        // SAFETY: the entity was just sought; no data of it is borrowed, as the caller promises.
        let item = unsafe { self.cursor.fetch_here(entity, row) };
        if item.is_none() {
            self.choice.miss(node);
        }
        Some((entity, item?))
    }
}

/// How many nodes before its turn the data of a node is prefetched.
const AHEAD: usize = 8;

/// Reads data of parents. Siblings often follow each other, so the parent that was read last is kept.
pub(super) struct Parents<'w, 's, P: ReadOnlyQueryData + 'static> {
    cursor: FetchCursor<'w, 's, P>,
    ahead: Ahead<'w>,
    /// The slot in the level above.
    at: u32,
    found: Option<(Entity, TableRow)>,
}

impl<'w, 's, P: ReadOnlyQueryData + 'static> Parents<'w, 's, P> {
    /// # Safety
    /// As for [`FetchCursor::new`].
    pub(super) unsafe fn new(context: Context<'w>, state: &'s CursorState<P>) -> Self {
        // SAFETY: as the caller promises.
        let cursor = unsafe { context.cursor(state) };
        Self { cursor, ahead: Ahead::new(state, context.world), at: NO_PARENT, found: None }
    }

    /// Must come before parents in another level are read.
    pub(super) fn clear(&mut self) {
        (self.at, self.found) = (NO_PARENT, None);
    }

    /// Prefetches what will be needed of the parents of nodes that follow `nodes[at]`.
    #[inline]
    fn prefetch_parents(&mut self, above: &[Node], nodes: &[Node], at: usize) {
        let parent = |at: usize| above.get(nodes.get(at)?.parent as usize);
        if let Some(parent) = parent(at + 2 * AHEAD) {
            prefetch(parent);
        }
        if let Some(parent) = parent(at + AHEAD) {
            self.ahead.ask(parent.place);
        }
    }

    /// The data of the parent in a slot of the level above `child`.
    ///
    /// # Safety
    /// Nothing may write data of the entities in `above` that are not `child`.
    #[inline(always)]
    pub(super) unsafe fn get(&mut self, above: &[Node], at: u32, child: Entity) -> Option<P::Item<'w, 's>> {
        if self.at != at {
            self.at = at;
            self.found = above.get(at as usize).and_then(|parent| {
                let (entity, mut place) = (parent.entity?, parent.place);
                Some((entity, self.cursor.seek(entity, &mut place)?))
            });
        }
        let (parent, row) = self.found.filter(|&(parent, _)| parent != child)?;
        // SAFETY: the parent was sought when it was found, and nothing since. It is not `child`, and nothing writes its
        // data, as the caller promises. Test: `the_parent_is_final_and_each_entity_comes_once`.
        unsafe { self.cursor.fetch_here(parent, row) }
    }
}

/// Calls `visit` with the data of nodes of a level and of their parents.
///
/// # Safety
/// Nothing else may hold data of the entities of the nodes, or write data of those above; no entity may be in two
/// nodes.
pub(super) unsafe fn visit_level<D, P, F, C>(
    (visitor, parents): (&mut Visitor<'_, '_, D, F, C>, &mut Parents<'_, '_, P>),
    LevelNodes { above, nodes, scattered }: LevelNodes<'_>,
    visit: &mut impl FnMut(D::Item<'_, '_>, Option<P::Item<'_, '_>>),
) where
    D: IterQueryData + 'static,
    P: ReadOnlyQueryData + 'static,
    F: QueryFilter + 'static,
    C: VisitPolicy,
{
    parents.clear();
    for at in 0..nodes.len() {
        if scattered {
            parents.prefetch_parents(above, nodes, at);
        }
        let node = &mut nodes[at];
        // SAFETY: nothing else holds data of the entity, as the caller promises. What was handed to `visit` before did not
        // outlive its calls: its signature leaves the lifetimes open.
        let Some((entity, item)) = (unsafe { visitor.get(node, above) }) else { continue };
        // SAFETY: `item` is of `entity`, and nothing else writes, as the caller promises.
        let parent = unsafe { parents.get(above, node.parent, entity) };
        visit(item, parent);
    }
}
