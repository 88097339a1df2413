//! Iterators up and down a relation.

use super::view::RelationView;
use crate::store::SourceIter;
use alloc::vec::Vec;
use bevy_ecs::entity::{Entity, EntityHashSet};

/// Iterator over ancestors, nearest first. See [`RelationView::ancestors`].
#[derive(Clone)]
pub struct AncestorIter<'w, 's> {
    view: RelationView<'w, 's>,
    at: Entity,
    /// Whom the walk has met, if it could meet them again.
    met: Option<EntityHashSet>,
}

impl<'w, 's> AncestorIter<'w, 's> {
    pub(super) fn new(view: RelationView<'w, 's>, entity: Entity) -> Self {
        let met = view.may_cycle().then(|| [entity].into_iter().collect());
        Self { view, at: entity, met }
    }
}

impl Iterator for AncestorIter<'_, '_> {
    type Item = Entity;

    fn next(&mut self) -> Option<Entity> {
        let target = self.view.target(self.at)?;
        if let Some(met) = &mut self.met
            && !met.insert(target)
        {
            return None;
        }
        self.at = target;
        Some(target)
    }
}

impl core::iter::FusedIterator for AncestorIter<'_, '_> {}

/// Iterator over descendants with their depth below the start, depth first. See [`RelationView::descendants`].
pub struct DescendantIter<'w, 's> {
    view: RelationView<'w, 's>,
    /// The sources still to be visited, level by level.
    levels: Vec<SourceIter<'w>>,
    /// The entity given last, whose sources come next.
    enter: Option<Entity>,
    met: Option<EntityHashSet>,
}

impl<'w, 's> DescendantIter<'w, 's> {
    pub(super) fn new(view: RelationView<'w, 's>, entity: Entity) -> Self {
        let met = view.may_meet_again().then(|| [entity].into_iter().collect());
        Self { view, levels: Vec::new(), enter: Some(entity), met }
    }

    /// Leaves out everything below the entity that was given last.
    pub fn prune(&mut self) {
        self.enter = None;
    }
}

impl Iterator for DescendantIter<'_, '_> {
    /// The entity, and its distance from the start along the walk, from 1.
    type Item = (Entity, u32);

    fn next(&mut self) -> Option<(Entity, u32)> {
        if let Some(entity) = self.enter.take() {
            self.levels.push(self.view.sources(entity));
        }
        while let Some(level) = self.levels.last_mut() {
            match level.next() {
                Some(source) => {
                    if self.met.as_mut().is_none_or(|met| met.insert(source)) {
                        self.enter = Some(source);
                        return Some((source, self.levels.len() as u32));
                    }
                }
                None => {
                    self.levels.pop();
                }
            }
        }
        None
    }
}
