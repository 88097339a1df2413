//! The nearest holder up an acyclic relation.

use super::{Own, Run, holders::Holders, mask::Fit};
use crate::{
    expr::{
        eval::View,
        plan::{HolderSearch, HolderTest, Stage},
    },
    store::{ExclusiveReader, RelationIndex, TargetIter, Upward},
    traverse::{Limits, OnlyWay, Search, follow},
};
use bevy_ecs::entity::Entity;

/// Looks for holders, and caches the one above the last target: neighbors often share it.
pub(super) struct Climber<'a, 'w> {
    view: View<'w>,
    way: Way<'w>,
    search: HolderSearch,
    test: Test<'a, 'w>,
    holders: &'a mut Holders,
    /// The last target, and the holder from there on.
    last: Option<(Entity, Option<Entity>)>,
    /// What was looked at, and how much may be.
    pub(super) steps: u64,
    left: u64,
}

/// How many targets an entity has.
enum Way<'w> {
    /// One at most.
    One(Upward<'w>, ExclusiveReader<'w>),
    /// Any number.
    Any(&'w RelationIndex, Search<TargetIter<'w>>),
}

/// How to recognise a holder.
#[derive(Clone, Copy)]
enum Test<'a, 'w> {
    Fit(Fit<'a>),
    Tag(&'w RelationIndex, Entity),
}

impl Test<'_, '_> {
    #[inline]
    fn holds(&self, view: &View<'_>, entity: Entity) -> bool {
        match self {
            Self::Fit(fit) => fit.is(view, entity),
            Self::Tag(index, tag) => index.has(entity, *tag),
        }
    }
}

impl<'a, 'w> Climber<'a, 'w> {
    /// For a step that asks for the holders above so many rows. `None` if the relation is not of the kind that it was planned
    /// for: the plan is made anew then.
    pub(super) fn new(
        run: &'a mut Run<'_, 'w>,
        own: &'a mut Own,
        search: HolderSearch,
        rows: usize,
        stage: &Stage,
    ) -> Option<Self> {
        let (view, round, left) = (run.view, run.shared.round, run.shared.steps_left);
        let holders = own.holders();
        let test = match search.test {
            HolderTest::Mask(mask) => Test::Fit(run.fit(mask, rows, stage)),
            HolderTest::Tag(tag) => Test::Tag(view.tags(), tag),
        };
        let index = view.index(search.walk.relation);
        if !index.is_acyclic() {
            return None;
        }
        let upward = index.upward(view.store.compares(search.walk.relation));
        let way = match upward.zip(index.exclusive_reader(true)) {
            Some((upward, reader)) => Way::One(upward, reader),
            None if search.walk.limits().matter() => return None,
            None => Way::Any(index, Search::default()),
        };
        holders.notes.round = round;
        Some(Self { view, way, search, test, holders, last: None, steps: 0, left })
    }

    #[inline]
    fn holds(&self, entity: Entity) -> bool {
        self.test.holds(&self.view, entity)
    }

    #[inline(always)]
    pub(super) fn holder(&mut self, source: Entity) -> Option<Entity> {
        if self.search.walk.own && self.holds(source) {
            return Some(source);
        }
        let target = match &mut self.way {
            Way::One(_, reader) => reader.target(source)?,
            &mut Way::Any(index, _) => match index.only_target(source) {
                Some(only) => only,
                None => return self.of_targets(index.targets(source)),
            },
        };
        if let Some((known, holder)) = self.last
            && known == target
        {
            return holder;
        }
        self.next_holder(target)
    }

    /// The holder of the first of these targets that has one.
    fn of_targets(&mut self, mut targets: TargetIter<'w>) -> Option<Entity> {
        targets.find_map(|target| {
            self.steps += 1;
            // What is found when too many were looked at is of no account.
            if self.steps > self.left { Some(None) } else { self.next_holder(target).map(Some) }
        })?
    }

    /// The holder from a target on.
    #[inline(never)]
    pub(super) fn next_holder(&mut self, target: Entity) -> Option<Entity> {
        let limits = self.search.walk.limits();
        let holder = if limits.matter() { self.within(target, limits) } else { self.above(target) };
        self.last = Some((target, holder));
        holder
    }

    /// The nearest holder from an entity on, at any depth.
    ///
    /// # Complexity
    /// In one run, O(entities above those that are searched from): each is entered once.
    fn above(&mut self, from: Entity) -> Option<Entity> {
        let Self { view, way, test, holders: Holders { notes, path }, steps, .. } = self;
        let visit = |at, _| test.holds(view, at).then_some(at);
        match way {
            Way::One(upward, _) => {
                let target = |at| {
                    *steps += 1;
                    upward.target(at)
                };
                follow((from, 1), u32::MAX, target, notes, path, visit)
            }
            Way::Any(index, search) => {
                let targets = |at| {
                    // Those that are known by now are looked at too.
                    *steps += 1 + index.target_count(at) as u64;
                    index.targets(at)
                };
                search.run((from, 1), u32::MAX, targets, notes, visit)
            }
        }
    }

    /// The nearest holder from an entity on that is neither too near nor too far.
    fn within(&mut self, from: Entity, limits: Limits) -> Option<Entity> {
        let Self { view, way, test, holders: Holders { path, .. }, steps, left, .. } = self;
        let Way::One(upward, _) = way else { return None };
        let visit = |at, depth| {
            if *steps > *left {
                // What is found then is of no account.
                return Some(None);
            }
            *steps += 1;
            (depth >= limits.min && test.holds(view, at)).then_some(Some(at))
        };
        let target = |at| upward.target(at);
        follow((from, 1), limits.max, target, &mut OnlyWay, path, visit).flatten()
    }
}
