//! Visiting the nodes below an entity.

use super::{
    CascadeQuery, CascadeState,
    levels::LevelNodes,
    visit::{Parents, VisitAll, Visitor, visit_level},
};
use crate::relation::{ExclusiveRelation, TraversableRelation};
use bevy_ecs::{
    entity::Entity,
    query::{IterQueryData, QueryFilter, ReadOnlyQueryData},
};

impl<R, D, P, F, W> CascadeQuery<'_, '_, R, D, P, F, W>
where
    R: TraversableRelation,
    D: IterQueryData + 'static,
    P: ReadOnlyQueryData + 'static,
    F: QueryFilter + 'static,
    W: QueryFilter + 'static,
{
    /// [`for_each`](Self::for_each) of `root` and everything below it. The parent of `root` is read too, as it is. Use
    /// it where one subtree has to be updated, such as that of an entity that was moved.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Component)]
    /// struct Offset(f32);
    /// #[derive(Component)]
    /// struct Position(f32);
    ///
    /// fn place(In(root): In<Entity>, mut tree: CascadeQuery<ChildOf, (&Offset, &mut Position), &Position>) {
    ///     tree.for_each_below(root, |(offset, mut position), parent| {
    ///         position.0 = offset.0 + parent.map_or(0.0, |parent| parent.0);
    ///     });
    /// }
    /// # let mut world = World::new();
    /// let ship = world.spawn((Offset(0.0), Position(100.0))).id();
    /// let turret = world.spawn((Offset(5.0), Position(0.0), ChildOf(ship))).id();
    /// let gun = world.spawn((Offset(1.0), Position(0.0), ChildOf(turret))).id();
    /// world.run_system_cached_with(place, turret).unwrap();
    /// assert_eq!([ship, turret, gun].map(|part| world.get::<Position>(part).unwrap().0), [100.0, 105.0, 106.0]);
    /// ```
    ///
    /// # Complexity
    /// O(pairs below `root`), besides what follows changes.
    pub fn for_each_below(
        &mut self,
        root: Entity,
        mut visit: impl FnMut(D::Item<'_, '_>, Option<P::Item<'_, '_>>),
    ) where
        R: ExclusiveRelation,
    {
        self.update();
        if !self.context.world.entities().contains_spawned(root) {
            return;
        }
        let CascadeState { own, parents, levels, below, .. } = &mut *self.state;
        below.clear();
        below.push(levels.find_or_put(root));
        // SAFETY: the states are up to date, the parameter was given the access that they declare, and it is borrowed
        // mutably.
        let (mut visitor, mut reader) =
            unsafe { (Visitor::new(self.context, &*own, VisitAll), Parents::new(self.context, &*parents)) };
        let mut next = 0;
        while let Some(&slot) = below.get(next) {
            next += 1;
            let LevelNodes { above, nodes, .. } = levels.split(slot.level as usize);
            let Some(node) = nodes.get_mut(slot.at as usize) else { continue };
            let entity = node.entity;
            let stage = LevelNodes { above, nodes: core::slice::from_mut(node), scattered: false };
            // SAFETY: there is no other borrow; no entity is in two nodes, by *One slot*.
            unsafe { visit_level((&mut visitor, &mut reader), stage, &mut visit) };
            let sources = entity
                .into_iter()
                .flat_map(|entity| self.index.into_iter().flat_map(move |index| index.sources(entity)));
            below.extend(sources.filter_map(|source| levels.find(source)));
        }
    }
}
