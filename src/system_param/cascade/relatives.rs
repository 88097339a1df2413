//! Visiting nodes together with the data of all their parents, or of all their children.

use super::{
    CascadeQuery, CascadeState,
    levels::{Level, NodeSlot, node},
    visit::{VisitAll, Visitor},
};
use crate::{
    fetch::FetchCursor,
    relation::TraversableRelation,
    store::{Pages, SourceIter, TargetIter},
};
use bevy_ecs::{
    entity::Entity,
    query::{IterQueryData, QueryFilter, ReadOnlyQueryData},
};

/// Some levels, all above or all below the one that is visited.
#[derive(Clone, Copy)]
struct Others<'a> {
    levels: &'a [Level],
    /// The number of the first.
    first: usize,
    slots: &'a Pages<NodeSlot>,
}

/// Reads data of some entities of other levels.
struct Relatives<'a, 'w, P: ReadOnlyQueryData + 'static> {
    cursor: &'a mut FetchCursor<'w, 'w, P>,
    others: Others<'a>,
}

impl<'w, P: ReadOnlyQueryData + 'static> Relatives<'_, 'w, P> {
    fn get(&mut self, entity: Entity) -> Option<P::Item<'w, 'w>> {
        let NodeSlot { level, at } = self.others.slots.get(entity.index_u32());
        let level = level.checked_sub(self.others.first as u32)?;
        let mut place = node(self.others.levels, NodeSlot { level, at }, entity)?.place;
        // SAFETY: the entity is in another level than the one that is visited, so that no data of it is being written.
        // Test: `with_many_parents_all_of_them_are_final`.
        unsafe { self.cursor.get_at(entity, &mut place) }
    }
}

/// Iterator over the data of the parents or of the children of an entity. See
/// [`CascadeQuery::for_each_with_parents`] and [`CascadeQuery::for_each_desc`].
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// #[derive(Component)]
/// struct Count(usize);
///
/// fn count(mut tree: CascadeQuery<ChildOf, &mut Count, &Count>) {
///     tree.for_each_desc(|mut count, children| count.0 = 1 + children.map(|child| child.0).sum::<usize>());
/// }
/// # let mut world = World::new();
/// let root = world.spawn(Count(0)).id();
/// world.spawn((Count(0), ChildOf(root)));
/// world.run_system_cached(count).unwrap();
/// assert_eq!(world.get::<Count>(root).unwrap().0, 2);
/// ```
pub struct CascadeItems<'a, 'w, P: ReadOnlyQueryData + 'static, I> {
    relatives: Relatives<'a, 'w, P>,
    entities: I,
}

impl<'w, P: ReadOnlyQueryData + 'static, I: Iterator<Item = Entity>> Iterator for CascadeItems<'_, 'w, P, I> {
    type Item = P::Item<'w, 'w>;

    fn next(&mut self) -> Option<Self::Item> {
        self.entities.find_map(|entity| self.relatives.get(entity))
    }
}

impl<R, D, P, F, W> CascadeQuery<'_, '_, R, D, P, F, W>
where
    R: TraversableRelation,
    D: IterQueryData + 'static,
    P: ReadOnlyQueryData + 'static,
    F: QueryFilter + 'static,
    W: QueryFilter + 'static,
{
    /// Calls `visit` with the data of each entity and, in insertion order, of all its parents that match `P`, for
    /// relations in which it can have several.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation)]
    /// #[relation(traversable)]
    /// struct MadeOf;
    /// #[derive(Component)]
    /// struct Heat(u32);
    ///
    /// // Each as hot as the hottest of what it is made of, and one more.
    /// fn heat(mut things: CascadeQuery<MadeOf, &mut Heat, &Heat>) {
    ///     things.for_each_with_parents(|mut heat, parts| {
    ///         heat.0 = parts.map(|part| part.0 + 1).max().unwrap_or(heat.0);
    ///     });
    /// }
    /// # let mut world = World::new();
    /// let [copper, tin] = [5, 2].map(|heat| world.spawn(Heat(heat)).id());
    /// let bronze = world.spawn((Heat(0), pairs![(MadeOf, copper), (MadeOf, tin)])).id();
    /// world.run_system_cached(heat).unwrap();
    /// assert_eq!(world.get::<Heat>(bronze).unwrap().0, 6);
    /// ```
    ///
    /// # Complexity
    /// O(entities + pairs), with a look-up for each pair.
    pub fn for_each_with_parents(
        &mut self,
        mut visit: impl FnMut(D::Item<'_, '_>, CascadeItems<'_, '_, P, TargetIter<'_>>),
    ) {
        let index = self.index;
        self.run_with_relatives(false, &mut |item, entity, relatives| {
            let entities = index.map_or_else(TargetIter::none, |index| index.targets(entity));
            visit(item, CascadeItems { relatives, entities });
        });
    }

    /// Calls `visit` with the data of each entity and, in any order, of all its children that match `P`: children
    /// before parents, so that values can be folded up.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Component)]
    /// struct Mass { own: f32, total: f32 }
    ///
    /// fn weigh(mut tree: CascadeQuery<ChildOf, &mut Mass, &Mass>) {
    ///     tree.for_each_desc(|mut mass, children| {
    ///         mass.total = mass.own + children.map(|child| child.total).sum::<f32>();
    ///     });
    /// }
    ///
    /// # let mut world = World::new();
    /// let ship = world.spawn(Mass { own: 10.0, total: 0.0 }).id();
    /// let turret = world.spawn((Mass { own: 2.0, total: 0.0 }, ChildOf(ship))).id();
    /// world.spawn((Mass { own: 1.0, total: 0.0 }, ChildOf(turret)));
    /// world.run_system_cached(weigh).unwrap();
    /// assert_eq!(world.get::<Mass>(ship).unwrap().total, 13.0);
    /// ```
    ///
    /// # Complexity
    /// As for [`for_each_with_parents`](Self::for_each_with_parents).
    pub fn for_each_desc(
        &mut self,
        mut visit: impl FnMut(D::Item<'_, '_>, CascadeItems<'_, '_, P, SourceIter<'_>>),
    ) {
        let index = self.index;
        self.run_with_relatives(true, &mut |item, entity, relatives| {
            let entities = index.map_or_else(SourceIter::none, |index| index.sources(entity));
            visit(item, CascadeItems { relatives, entities });
        });
    }

    /// Calls `visit` with the data of each entity and access to that of levels that are done: those above or, if
    /// descending, those below.
    fn run_with_relatives(
        &mut self,
        descending: bool,
        visit: &mut impl FnMut(D::Item<'_, '_>, Entity, Relatives<'_, '_, P>),
    ) {
        self.update();
        let CascadeState { own, parents, levels, .. } = &mut *self.state;
        // SAFETY: the states are up to date, the parameter was given the access that they declare, and it is borrowed
        // mutably.
        let (mut visitor, mut cursor) =
            unsafe { (Visitor::new(self.context, &*own, VisitAll), self.context.cursor(&*parents)) };
        let count = levels.levels.len();
        for step in 0..count {
            let first = if descending { count - 1 - step } else { step };
            let (above, rest) = levels.levels.split_at_mut(first);
            let Some((level, below)) = rest.split_first_mut() else { continue };
            let others = if descending {
                Others { levels: below, first: first + 1, slots: &levels.slots }
            } else {
                Others { levels: above, first: 0, slots: &levels.slots }
            };
            for node in &mut level.nodes {
                // SAFETY: what was handed to `visit` before did not outlive its calls, and there is no other borrow.
                if let Some((entity, item)) = unsafe { visitor.get(node, &[]) } {
                    visit(item, entity, Relatives { cursor: &mut cursor, others });
                }
            }
        }
        let first = levels.discover(own.storages(self.context.world), &visitor.counts);
        levels.dead = visitor.counts.dead;
        let Some((level, _)) = levels.levels.split_first_mut() else { return };
        for node in level.nodes.get_mut(first..).unwrap_or_default() {
            // SAFETY: as above.
            if let Some((entity, item)) = unsafe { visitor.get(node, &[]) } {
                let others = Others { levels: &[], first: 0, slots: &levels.slots };
                visit(item, entity, Relatives { cursor: &mut cursor, others });
            }
        }
    }
}
