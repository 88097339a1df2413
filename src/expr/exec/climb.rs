//! The nearest holder up a relation of which everything has one target at most.

use super::{Masks, mask::Mask, view::View};
use crate::{
    expr::plan::{Climb, HolderTest},
    relation::TAGGED,
    store::RelationIndex,
};
use bevy_ecs::entity::Entity;

/// Looks for holders, and remembers whom it found above the last entity: neighbours often have the same above them.
pub(super) struct Climber<'a, 'w> {
    view: &'a View<'w>,
    index: &'w RelationIndex,
    climb: Climb,
    test: Test<'a, 'w>,
    /// The last target, and the holder from there on.
    last: Option<(Entity, Option<Entity>)>,
}

#[derive(Clone, Copy)]
enum Test<'a, 'w> {
    Mask(&'a Mask),
    Tag(&'w RelationIndex, Entity),
}

impl<'a, 'w> Climber<'a, 'w> {
    pub(super) fn new(view: &'a View<'w>, masks: &'a Masks, climb: Climb) -> Self {
        let test = match climb.test {
            HolderTest::Mask(mask) => Test::Mask(masks.get(mask)),
            HolderTest::Tag(tag) => Test::Tag(view.index(TAGGED), tag),
        };
        Self { view, index: view.index(climb.relation), climb, test, last: None }
    }

    #[inline]
    fn holds(&self, entity: Entity) -> bool {
        match self.test {
            Test::Mask(mask) => mask.fits(self.view, entity),
            Test::Tag(index, tag) => index.has(entity, tag),
        }
    }

    pub(super) fn holder(&mut self, source: Entity) -> Option<Entity> {
        if self.climb.own && self.holds(source) {
            return Some(source);
        }
        let target = self.index.first_target(source)?;
        if let Some((known, holder)) = self.last
            && known == target
        {
            return holder;
        }
        let mut at = Some((target, 1));
        let mut holder = None;
        while let Some((entity, depth)) = at
            && depth <= self.climb.max
        {
            if depth >= self.climb.min && self.holds(entity) {
                holder = Some(entity);
                break;
            }
            at = self.index.first_target(entity).map(|target| (target, depth + 1));
        }
        self.last = Some((target, holder));
        holder
    }
}
