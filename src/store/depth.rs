//! How deep entities lie in a traversable relation.
//!
//! An entity without targets has depth 0; any other lies one below its deepest target. Linking a leaf updates
//! its depth at once. Linking an entity that has sources of its own would change its whole subtree, which may
//! be a hub: that is put off until [`Depths::recompute`], and reads walk up meanwhile.

use super::{forward::Forward, pages::Pages, reverse::Reverse};
use alloc::vec::Vec;
use bevy_ecs::entity::{Entity, EntityHashMap, EntityHashSet};

/// More moved subtrees than this are not listed one by one.
const MAX_STALE: usize = 1024;

/// The depths of one relation.
#[derive(Default)]
pub(crate) struct Depths {
    /// By entity index; right for every entity that has pairs and lies below no stale one.
    depths: Pages<u32>,
    stale: Vec<Entity>,
    all_stale: bool,
}

impl Depths {
    /// Whether every stored depth is right.
    #[inline]
    fn is_current(&self) -> bool {
        self.stale.is_empty() && !self.all_stale
    }

    fn mark(&mut self, entity: Entity) {
        if self.all_stale || self.stale.last() == Some(&entity) {
            return;
        }
        self.stale.push(entity);
        if self.stale.len() > MAX_STALE {
            self.all_stale = true;
            self.stale.clear();
        }
    }

    /// One below the deepest of the targets, by stored depths.
    fn below_targets(&self, forward: &Forward, entity: Entity) -> u32 {
        let targets = forward.targets(entity);
        targets.map(|target| self.stored(forward, target) + 1).max().unwrap_or(0)
    }

    /// The stored depth; an entity without targets has none stored.
    #[inline]
    fn stored(&self, forward: &Forward, entity: Entity) -> u32 {
        if forward.has_any(entity) { self.depths.get(entity.index_u32()) } else { 0 }
    }

    fn update(&mut self, entity: Entity, old: u32, new: u32, has_sources: bool) {
        if has_sources && old != new {
            self.mark(entity);
        } else if !self.is_current() {
            // What it was computed from may be wrong.
            self.mark(entity);
        }
        *self.depths.get_mut(entity.index_u32()) = new;
    }

    #[inline]
    pub(crate) fn linked(&mut self, forward: &Forward, reverse: &Reverse, source: Entity, target: Entity) {
        let first = forward.len(source) == 1;
        let old = if first { 0 } else { self.depths.get(source.index_u32()) };
        let new = old.max(self.stored(forward, target) + 1);
        self.update(source, old, new, reverse.list(source).is_some());
    }

    #[inline]
    pub(crate) fn unlinked(&mut self, forward: &Forward, reverse: &Reverse, source: Entity) {
        if reverse.list(source).is_none() && !forward.has_any(source) {
            return;
        }
        let old = self.depths.get(source.index_u32());
        let new = self.below_targets(forward, source);
        self.update(source, old, new, reverse.list(source).is_some());
    }

    /// The depth of an entity.
    ///
    /// # Complexity
    /// Constant, unless subtrees were moved since the last [`recompute`](Self::recompute): then proportional to
    /// the number of ancestors.
    pub(crate) fn get(&self, forward: &Forward, entity: Entity) -> u32 {
        self.get_with(forward, entity, &mut EntityHashMap::default())
    }

    /// [`get`](Self::get), with depths that were found before, to which it adds those that it finds.
    #[inline]
    pub(super) fn get_with(&self, forward: &Forward, entity: Entity, known: &mut EntityHashMap<u32>) -> u32 {
        if self.is_current() {
            return self.stored(forward, entity);
        }
        match known.get(&entity) {
            Some(&depth) => depth,
            None => Self::find(forward, entity, known),
        }
    }

    #[cold]
    fn find(forward: &Forward, entity: Entity, known: &mut EntityHashMap<u32>) -> u32 {
        let mut stack = alloc::vec![entity];
        while let Some(&top) = stack.last() {
            let before = stack.len();
            let mut depth = 0;
            for target in forward.targets(top) {
                match known.get(&target) {
                    Some(above) => depth = depth.max(above + 1),
                    None => stack.push(target),
                }
            }
            if stack.len() == before {
                known.insert(top, depth);
                stack.pop();
            }
        }
        known[&entity]
    }

    /// Makes every stored depth right again: once per frame is enough to keep reads constant.
    ///
    /// # Complexity
    /// Proportional to the subtrees that were moved; to the whole relation after more than a thousand moves.
    pub(crate) fn recompute(&mut self, forward: &Forward, reverse: &Reverse) {
        if self.is_current() {
            return;
        }
        let mut roots = core::mem::take(&mut self.stale);
        if core::mem::take(&mut self.all_stale) {
            roots = forward.sources();
        }
        // Everything below the moved subtrees' roots, with the number of targets still to be visited.
        let mut waiting: EntityHashMap<u32> = EntityHashMap::default();
        while let Some(entity) = roots.pop() {
            let has_pairs = forward.has_any(entity) || reverse.list(entity).is_some();
            if has_pairs && waiting.insert(entity, 0).is_none() {
                roots.extend(reverse.sources(entity));
            }
        }
        let affected: Vec<Entity> = waiting.keys().copied().collect();
        for &entity in &affected {
            let above = forward.targets(entity).filter(|target| waiting.contains_key(target)).count();
            waiting.insert(entity, above as u32);
        }
        let mut ready: Vec<Entity> = affected.into_iter().filter(|entity| waiting[entity] == 0).collect();
        while let Some(entity) = ready.pop() {
            if forward.has_any(entity) {
                *self.depths.get_mut(entity.index_u32()) = self.below_targets(forward, entity);
            }
            for source in reverse.sources(entity) {
                if let Some(left) = waiting.get_mut(&source) {
                    *left -= 1;
                    if *left == 0 {
                        ready.push(source);
                    }
                }
            }
        }
    }

    /// An entity whose stored depth is wrong although it lies below no stale one.
    pub(crate) fn wrong(&self, forward: &Forward, reverse: &Reverse) -> Option<Entity> {
        if self.all_stale {
            return None;
        }
        let (mut stale, mut below) = (EntityHashSet::default(), self.stale.clone());
        while let Some(entity) = below.pop() {
            if stale.insert(entity) {
                below.extend(reverse.sources(entity));
            }
        }
        let mut settled = forward.sources().into_iter().filter(|source| !stale.contains(source));
        settled.find(|&source| self.stored(forward, source) != self.below_targets(forward, source))
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        relation::RelationTraits,
        store::{Invariant, check::tests::Bed},
    };

    #[test]
    fn a_wrong_depth_is_named_unless_it_lies_below_what_was_moved() {
        let mut bed = Bed::new(RelationTraits::new().traversable());
        for (source, target) in [(0, 1), (1, 2), (5, 6), (6, 7)] {
            bed.link(source, target);
        }
        let set = |bed: &mut Bed, entity: usize, depth| {
            let entity = bed.entities[entity].index_u32();
            *bed.index().depths.as_mut().unwrap().depths.get_mut(entity) = depth;
        };
        bed.store.maintain();
        bed.is_sound();
        set(&mut bed, 5, 7);
        assert_eq!(bed.broken(), Some(Invariant::Depth));
        set(&mut bed, 5, 2);
        // The subtree of 1 is put off, that of 6 is not.
        bed.link(2, 3);
        set(&mut bed, 0, 7);
        bed.is_sound();
        set(&mut bed, 5, 7);
        assert_eq!(bed.broken(), Some(Invariant::Depth));
        set(&mut bed, 5, 2);
        bed.store.maintain();
        bed.is_sound();
    }
}
