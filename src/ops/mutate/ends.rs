//! The components that the ends of pairs must have, or must not have, when pairs are inserted.

use super::error::{BrokenConstraint, InsertPairError};
use crate::{
    fetch,
    id::StoredPair,
    relation::{InsertMade, MakeDefault, OnMissing, PairEnd, ResolvedConstraint},
    store::PairStore,
};
use alloc::vec::Vec;
use bevy_ecs::{component::ComponentId, entity::Entity, world::World};
use core::panic::Location;

/// When the components of the ends of a pair are looked at.
#[derive(Clone, Copy)]
pub(crate) enum EndCheck<'a> {
    /// Before the pair is inserted.
    Now,
    /// Before the pair is inserted, but for these entities, which get their components later: the caller looks at them.
    Except(&'a [Entity]),
    /// A command inserts the pair, and those that follow it may insert the components: it is noted, unless its ends are
    /// right already. The command was queued here, if that is known.
    Later(Option<&'static Location<'static>>),
    /// Before the pair is inserted, and before this entity gets these components, which come with it.
    #[cfg(feature = "bevy_reflect")]
    With(Entity, &'a [ComponentId]),
}

impl EndCheck<'_> {
    /// Whether `end` fulfils a constraint when it is looked at, with the components that come with the pair.
    fn holds(self, world: &World, end: Entity, constraint: &ResolvedConstraint) -> bool {
        match self {
            #[cfg(feature = "bevy_reflect")]
            Self::With(entity, components) if entity == end && components.contains(&constraint.component) => {
                constraint.is_required
            }
            Self::Except(incomplete) if incomplete.contains(&end) => true,
            _ => constraint.holds(world, end),
        }
    }
}

/// What has to happen because of the ends of pairs that are to be inserted.
#[derive(Default)]
pub(crate) struct EndPlan {
    /// Ends that get the default of a component that they lack.
    defaults: Vec<(Entity, ComponentId, MakeDefault)>,
    /// What is to be reported when the pairs are there.
    pub(super) warnings: Vec<BrokenConstraint>,
    /// Pairs whose ends are to be looked at later.
    unchecked: Vec<(StoredPair, Option<&'static Location<'static>>)>,
}

/// A constraint that does not hold for a pair, or for the other direction of a symmetric one.
pub(in crate::ops) struct Broken<'a> {
    /// In the direction for which it does not hold.
    pair: StoredPair,
    pub(in crate::ops) end: Entity,
    pub(in crate::ops) constraint: &'a ResolvedConstraint,
}

impl Broken<'_> {
    pub(in crate::ops) fn named(&self, world: &World, store: &PairStore) -> BrokenConstraint {
        BrokenConstraint::new(world, store, self.pair, self.constraint)
    }
}

/// The constraints that do not hold for a pair, in both directions if it is symmetric.
pub(in crate::ops) fn broken_constraints<'a>(
    world: &'a World,
    store: &'a PairStore,
    pair: StoredPair,
    check: EndCheck<'a>,
) -> impl Iterator<Item = Broken<'a>> {
    let entry = store.registry().entry(pair.relation);
    store.both_ways(pair).flat_map(move |pair| {
        entry.constraints.iter().filter_map(move |constraint| {
            let end = match constraint.end {
                PairEnd::Source => pair.source,
                PairEnd::Target => pair.target,
            };
            (!check.holds(world, end, constraint)).then_some(Broken { pair, end, constraint })
        })
    })
}

/// Whether the ends of a pair have the components that they must have, and none that they must not have, or are to be looked at by the
/// caller.
#[inline]
pub(super) fn meets_constraints(world: &World, pair: StoredPair, check: EndCheck<'_>) -> bool {
    fetch::store(world).is_some_and(|store| {
        store.registry().entry(pair.relation).constraints.is_empty()
            || broken_constraints(world, store, pair, check).next().is_none()
    })
}

/// The constraint for which a pair is refused, of those that do not hold.
pub(in crate::ops) fn reason<'a, 'b>(rule: OnMissing, broken: &'b [Broken<'a>]) -> Option<&'b Broken<'a>> {
    match rule {
        OnMissing::Refuse => broken.first(),
        OnMissing::Insert => broken.iter().find(|broken| broken.constraint.make_default.is_none()),
        OnMissing::Warn => None,
    }
}

impl EndPlan {
    /// Adds what the constraints on the ends of a pair require. A pair that is `there` is noted already.
    ///
    /// # Errors
    /// The constraint for which the pair is refused.
    pub(super) fn add(
        &mut self,
        world: &World,
        store: &PairStore,
        pair: StoredPair,
        there: bool,
        check: EndCheck<'_>,
    ) -> Result<(), InsertPairError> {
        let broken: Vec<Broken<'_>> = broken_constraints(world, store, pair, check).collect();
        if broken.is_empty() {
            return Ok(());
        }
        if let EndCheck::Later(place) = check {
            self.unchecked.push((pair, place));
            return Ok(());
        }
        let rule = store.registry().entry(pair.relation).traits.missing_rule();
        if let Some(reason) = reason(rule, &broken) {
            return Err(InsertPairError::Constraint(reason.named(world, store)));
        }
        if rule == OnMissing::Warn {
            // A pair that a component keeps is noted when the component is there.
            let is_noted = there || store.registry().entry(pair.relation).adopted.is_some();
            if !is_noted {
                self.warnings.extend(broken.iter().map(|broken| broken.named(world, store)));
            }
        } else {
            let default = |broken: &Broken<'_>| {
                Some((broken.end, broken.constraint.component, broken.constraint.make_default?))
            };
            self.defaults.extend(broken.iter().filter_map(default));
        }
        Ok(())
    }

    /// Makes the defaults, which runs users' code that sees nothing of the world: nothing has changed when it panics.
    pub(super) fn make_defaults(&mut self) -> Vec<(Entity, InsertMade)> {
        core::mem::take(&mut self.defaults).into_iter().map(|(end, _, make)| (end, make())).collect()
    }

    /// The components that an end is to get by default.
    #[cfg(feature = "bevy_reflect")]
    pub(super) fn defaults_of(&self, end: Entity) -> impl Iterator<Item = ComponentId> + use<'_> {
        self.defaults.iter().filter(move |(entity, ..)| *entity == end).map(|(_, component, _)| *component)
    }

    /// Notes the pairs whose ends are to be looked at later.
    pub(super) fn note_unchecked(&self, world: &mut World) {
        if !self.unchecked.is_empty()
            && let Some(store) = fetch::store_mut(world)
        {
            self.unchecked.iter().for_each(|&(pair, place)| store.note_unchecked(pair, place));
        }
    }
}
