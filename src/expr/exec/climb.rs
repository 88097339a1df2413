//! The nearest holder up a relation of which everything has one target at most.

use super::mask::Fit;
use crate::{
    expr::{eval::View, plan::HolderSearch},
    store::{ExclusiveReader, RelationIndex},
};
use alloc::vec::Vec;
use bevy_ecs::entity::Entity;

/// What walks of this run have found, by the entities that they passed.
#[derive(Default)]
pub(crate) struct Holders {
    round: u64,
    /// By entity index: the run in which it was visited, and the holder.
    found: Vec<(u64, Option<Entity>)>,
    path: Vec<Entity>,
}

impl Holders {
    #[inline]
    fn get(&self, entity: Entity) -> Option<Option<Entity>> {
        let &(round, holder) = self.found.get(entity.index_u32() as usize)?;
        (round == self.round).then_some(holder)
    }

    /// Notes what was found along the path.
    fn note(&mut self, holder: Option<Entity>) {
        for entity in self.path.drain(..) {
            let index = entity.index_u32() as usize;
            if index >= self.found.len() {
                self.found.resize((index + 1).next_power_of_two(), (0, None));
            }
            self.found[index] = (self.round, holder);
        }
    }
}

/// Looks for holders, and remembers the one above the last entity: neighbours often share it.
pub(super) struct Climber<'a, 'w> {
    view: View<'w>,
    index: &'w RelationIndex,
    reader: ExclusiveReader<'w>,
    search: HolderSearch,
    test: Test<'a, 'w>,
    holders: &'a mut Holders,
    /// The index of the last target, and the holder from there on.
    last: Option<(u32, Option<Entity>)>,
    /// What was looked at, and how much may be.
    pub(super) steps: u64,
    left: u64,
}

/// How to tell a holder.
#[derive(Clone, Copy)]
pub(super) enum Test<'a, 'w> {
    Fit(Fit<'a>),
    Tag(&'w RelationIndex, Entity),
}

impl<'a, 'w> Climber<'a, 'w> {
    /// `None` if the relation is not exclusive. `round` is the number of the run, not 0.
    pub(super) fn new(
        view: View<'w>,
        search: HolderSearch,
        test: Test<'a, 'w>,
        holders: &'a mut Holders,
        round: u64,
        left: u64,
    ) -> Option<Self> {
        let index = view.index(search.relation);
        holders.round = round;
        Some(Self {
            view,
            index,
            reader: index.exclusive_reader()?,
            search,
            test,
            holders,
            last: None,
            steps: 0,
            left,
        })
    }

    #[inline]
    fn holds(&self, entity: Entity) -> bool {
        match self.test {
            Test::Fit(fit) => fit.is(&self.view, entity),
            Test::Tag(index, tag) => index.has(entity, tag),
        }
    }

    #[inline(always)]
    pub(super) fn holder(&mut self, source: Entity) -> Option<Entity> {
        if self.search.own && self.holds(source) {
            return Some(source);
        }
        let index = self.reader.target_index(source)?;
        if let Some((known, holder)) = self.last
            && known == index
        {
            return holder;
        }
        self.next_holder(index)
    }

    /// The holder from another target on.
    #[inline(never)]
    fn next_holder(&mut self, index: u32) -> Option<Entity> {
        let target = self.reader.target_at(index)?;
        let holder = if self.search.min <= 1 && self.search.max == u32::MAX {
            self.above(target)
        } else {
            self.within(target)
        };
        self.last = Some((index, holder));
        holder
    }

    /// The nearest holder from an entity on, at any depth.
    ///
    /// # Complexity
    /// In one run, a step per entity above those that are asked about: each is walked by once.
    fn above(&mut self, from: Entity) -> Option<Entity> {
        let mut at = from;
        let holder = loop {
            if self.holds(at) {
                break Some(at);
            }
            if let Some(known) = self.holders.get(at) {
                break known;
            }
            let Some(target) = self.index.first_target(at) else { break None };
            self.holders.path.push(at);
            self.steps += 1;
            at = target;
        };
        self.holders.note(holder);
        holder
    }

    /// The nearest holder from an entity on that is neither too near nor too far.
    fn within(&mut self, from: Entity) -> Option<Entity> {
        let mut at = Some((from, 1));
        while let Some((entity, depth)) = at
            && depth <= self.search.max
            && self.steps <= self.left
        {
            self.steps += 1;
            if depth >= self.search.min && self.holds(entity) {
                return Some(entity);
            }
            at = self.index.first_target(entity).map(|target| (target, depth + 1));
        }
        None
    }
}
