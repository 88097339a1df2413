//! Iterating over the data of the nodes themselves.

use super::{
    CascadeQuery, CascadeState,
    levels::Levels,
    visit::{VisitAll, Visitor},
};
use crate::{fetch::CursorState, relation::TraversableRelation};
use bevy_ecs::{
    query::{IterQueryData, QueryFilter, ReadOnlyQueryData},
    world::unsafe_world_cell::UnsafeWorldCell,
};

/// Iterator over the data of entities, parents before children or the other way round. See
/// [`CascadeQuery::iter_mut`] and [`CascadeQuery::iter_desc`].
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// #[derive(Component)]
/// struct Level(u32);
///
/// fn number(mut tree: CascadeQuery<ChildOf, &mut Level>) {
///     for (at, mut level) in tree.iter_mut().enumerate() {
///         level.0 = at as u32;
///     }
/// }
/// # let mut world = World::new();
/// let root = world.spawn(Level(0)).id();
/// let child = world.spawn((Level(0), ChildOf(root))).id();
/// world.run_system_cached(number).unwrap();
/// assert_eq!(world.get::<Level>(child).unwrap().0, 1);
/// ```
pub struct CascadeIter<'a, D: IterQueryData + 'static, F: QueryFilter + 'static> {
    visitor: Visitor<'a, 'a, D, F, VisitAll>,
    levels: &'a mut Levels,
    state: &'a CursorState<D, F>,
    world: UnsafeWorldCell<'a>,
    descending: bool,
    /// How many levels are done. Behind all of them come entities that had not been seen before.
    done: usize,
    /// The next node of the level.
    at: usize,
}

impl<D: IterQueryData + 'static, F: QueryFilter + 'static> CascadeIter<'_, D, F> {
    fn next_level(&mut self) {
        (self.done, self.at) = (self.done + 1, 0);
        if self.done == self.levels.levels.len() {
            self.at = self.levels.discover(self.state.storages(self.world), &self.visitor.counts);
            self.levels.dead = self.visitor.counts.dead;
        }
    }
}

impl<'a, D: IterQueryData + 'static, F: QueryFilter + 'static> Iterator for CascadeIter<'a, D, F> {
    type Item = D::Item<'a, 'a>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let level = match self.levels.levels.len().checked_sub(self.done) {
                None => return None,
                // Newcomers are in the first level.
                Some(0) => 0,
                Some(left) if self.descending => left - 1,
                Some(_) => self.done,
            };
            let stage = self.levels.split(level).skip(self.at);
            for node in stage.nodes {
                self.at += 1;
                // SAFETY: no entity is in two nodes, by *One slot*, and each node is visited once: new ones lie behind
                // the nodes of their level that were visited. So no data of this entity was handed out, and items of
                // several entities may be alive, as `D` is `IterQueryData`.
                // Test: `items_of_all_entities_can_be_kept`.
                if let Some((_, item)) = unsafe { self.visitor.get(node, stage.above) } {
                    return Some(item);
                }
            }
            self.next_level();
        }
    }
}

impl<D: IterQueryData + 'static, F: QueryFilter + 'static> core::iter::FusedIterator
    for CascadeIter<'_, D, F>
{
}

impl<R, D, P, F, W> CascadeQuery<'_, '_, R, D, P, F, W>
where
    R: TraversableRelation,
    D: IterQueryData + 'static,
    P: ReadOnlyQueryData + 'static,
    F: QueryFilter + 'static,
    W: QueryFilter + 'static,
{
    /// The data of all entities, parents before children.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Component)]
    /// struct Part;
    ///
    /// fn down(mut tree: CascadeQuery<ChildOf, Entity, (), With<Part>>) -> Vec<Entity> {
    ///     tree.iter_mut().collect()
    /// }
    /// # let mut world = World::new();
    /// let ship = world.spawn(Part).id();
    /// let turret = world.spawn((Part, ChildOf(ship))).id();
    /// let gun = world.spawn((Part, ChildOf(turret))).id();
    /// assert_eq!(world.run_system_cached(down).unwrap(), [ship, turret, gun]);
    /// ```
    pub fn iter_mut(&mut self) -> CascadeIter<'_, D, F> {
        self.iterate(false)
    }

    /// The data of all entities, children before parents.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Component)]
    /// struct Part;
    ///
    /// fn up(mut tree: CascadeQuery<ChildOf, Entity, (), With<Part>>) -> Vec<Entity> {
    ///     tree.iter_desc().collect()
    /// }
    /// # let mut world = World::new();
    /// let ship = world.spawn(Part).id();
    /// let turret = world.spawn((Part, ChildOf(ship))).id();
    /// let gun = world.spawn((Part, ChildOf(turret))).id();
    /// assert_eq!(world.run_system_cached(up).unwrap(), [gun, turret, ship]);
    /// ```
    pub fn iter_desc(&mut self) -> CascadeIter<'_, D, F> {
        self.iterate(true)
    }

    fn iterate(&mut self, descending: bool) -> CascadeIter<'_, D, F> {
        self.update();
        let CascadeState { own, levels, .. } = &mut *self.state;
        // SAFETY: the state is up to date, the parameter was given the access that it declares, and it is borrowed
        // mutably.
        let visitor = unsafe { Visitor::new(self.context, &*own, VisitAll) };
        CascadeIter { visitor, levels, state: own, world: self.context.world, descending, done: 0, at: 0 }
    }
}
