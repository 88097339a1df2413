//! The nearest holder up a relation of which everything has one target at most.

use super::mask::Fit;
use crate::{
    expr::{eval::View, plan::HolderSearch},
    store::{ExclusiveReader, RelationIndex, Upward},
    traverse::{Known, Limits, Memo, OnlyWay, follow},
};
use alloc::vec::Vec;
use bevy_ecs::entity::Entity;

/// Holders that searches of this run have found, by the entities that they passed.
#[derive(Default)]
pub(crate) struct Holders {
    notes: RoundNotes,
    path: Vec<Entity>,
}

/// By entity index: the run in which it was visited, and who was found from it on.
#[derive(Default)]
struct RoundNotes {
    round: u64,
    found: Vec<(u64, Option<Entity>)>,
}

impl Memo<Option<Entity>> for RoundNotes {
    const NOTES: bool = true;

    #[inline]
    fn known(&mut self, entity: Entity, _: u32) -> Known<Option<Entity>> {
        match self.found.get(entity.index_u32() as usize) {
            Some(&(round, holder)) if round == self.round => Known::Found(holder),
            _ => Known::Unknown,
        }
    }

    #[inline]
    fn note(&mut self, entity: Entity, holder: Option<Option<Entity>>) {
        let index = entity.index_u32() as usize;
        if index >= self.found.len() {
            self.found.resize((index + 1).next_power_of_two(), (0, None));
        }
        self.found[index] = (self.round, holder.flatten());
    }
}

/// Looks for holders, and remembers the one above the last entity: neighbours often share it.
pub(super) struct Climber<'a, 'w> {
    view: View<'w>,
    upward: Upward<'w>,
    reader: ExclusiveReader<'w>,
    search: HolderSearch,
    test: Test<'a, 'w>,
    holders: &'a mut Holders,
    /// The last target, and the holder from there on.
    last: Option<(Entity, Option<Entity>)>,
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
        holders.notes.round = round;
        Some(Self {
            view,
            upward: index.upward(view.store.compares(search.relation))?,
            reader: index.exclusive_reader(true)?,
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
        self.test.holds(&self.view, entity)
    }

    #[inline(always)]
    pub(super) fn holder(&mut self, source: Entity) -> Option<Entity> {
        if self.search.own && self.holds(source) {
            return Some(source);
        }
        let target = self.reader.target(source)?;
        if let Some((known, holder)) = self.last
            && known == target
        {
            return holder;
        }
        self.next_holder(target)
    }

    /// The holder from another target on.
    #[inline(never)]
    fn next_holder(&mut self, target: Entity) -> Option<Entity> {
        let limits = Limits { min: self.search.min, max: self.search.max };
        let holder = if limits.matter() { self.within(target, limits) } else { self.above(target) };
        self.last = Some((target, holder));
        holder
    }

    /// The nearest holder from an entity on, at any depth.
    ///
    /// # Complexity
    /// In one run, O(entities above those that are asked about): each is entered once.
    fn above(&mut self, from: Entity) -> Option<Entity> {
        let Self { view, upward, test, holders: Holders { notes, path }, steps, .. } = self;
        let visit = |at, _| test.holds(view, at).then_some(Some(at));
        let target = |at| {
            *steps += 1;
            upward.target(at)
        };
        follow((from, 1), u32::MAX, target, notes, path, visit).flatten()
    }

    /// The nearest holder from an entity on that is neither too near nor too far.
    fn within(&mut self, from: Entity, limits: Limits) -> Option<Entity> {
        let Self { view, upward, test, holders: Holders { path, .. }, steps, left, .. } = self;
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
