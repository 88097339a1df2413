//! Walks along relations, with buffers that are kept.

use super::View;
use crate::{
    id::RelationId,
    store::Upward,
    traverse::{Direction, Known, Limits, Memo, Neighbors, Search},
};
use alloc::vec::Vec;
use bevy_ecs::entity::Entity;
use bevy_platform::collections::HashSet;

/// A set of entities that is emptied in no time.
#[derive(Default)]
pub(crate) struct Stamps {
    /// By entity index: the round in which the entity was last inserted, and its generation.
    rounds: Vec<(u32, u32)>,
    round: u32,
}

impl Stamps {
    pub(crate) fn clear(&mut self) {
        self.round = match self.round.checked_add(1) {
            Some(round) => round,
            None => {
                self.rounds.clear();
                1
            }
        };
    }

    /// Adds an entity. True if it is new.
    #[inline]
    pub(crate) fn insert(&mut self, entity: Entity) -> bool {
        let index = entity.index_u32() as usize;
        if index >= self.rounds.len() {
            self.rounds.resize((index + 1).next_power_of_two(), (0, 0));
        }
        let mark = (self.round, entity.generation().to_bits());
        let slot = &mut self.rounds[index];
        let new = *slot != mark;
        *slot = mark;
        new
    }

    #[inline]
    pub(crate) fn contains(&self, entity: Entity) -> bool {
        let mark = (self.round, entity.generation().to_bits());
        self.rounds.get(entity.index_u32() as usize) == Some(&mark)
    }
}

/// Searches in both directions, with memory that is kept.
#[derive(Default)]
pub(crate) struct Searcher {
    search: Search<Neighbors<'static>>,
    met: Visited,
}

/// The entities that one search has met.
#[derive(Default)]
struct Visited {
    entities: Stamps,
    /// If it matters at which distance they are met.
    at: Option<(HashSet<(Entity, u32)>, Limits)>,
}

impl<T> Memo<T> for Visited {
    #[inline]
    fn known(&mut self, entity: Entity, distance: u32) -> Known<T> {
        let new = match &mut self.at {
            None => self.entities.insert(entity),
            Some((met, limits)) => met.insert((entity, limits.effective(distance))),
        };
        if new { Known::Unknown } else { Known::Nothing }
    }
}

impl Searcher {
    /// What `visit` finds first, depth first and neighbors in their order, the start first with distance 0. Goes no
    /// further than the limits.
    pub(crate) fn run<'w, T: Copy>(
        &mut self,
        view: &View<'w>,
        relation: RelationId,
        direction: Direction,
        start: Entity,
        limits: Limits,
        visit: impl FnMut(Entity, u32) -> Option<T>,
    ) -> Option<T> {
        let Self { search, met } = self;
        if limits.matter() {
            let (met, of) = met.at.get_or_insert_with(|| (HashSet::default(), limits));
            met.clear();
            *of = limits;
        } else {
            met.entities.clear();
            met.at = None;
        }
        let mut here: Search<Neighbors<'w>> = Search::default();
        if search.has_memory() {
            here = core::mem::take(search);
        }
        let neighbors = |entity| view.neighbors(relation, direction, entity);
        let found = here.run((start, 0), limits.max, neighbors, met, visit);
        if here.has_memory() {
            *search = here.recycle();
        }
        found
    }
}

/// What lies below an entity.
#[derive(Default)]
pub(crate) struct DescendantWalk {
    /// Relation, its version, and the entity above.
    of: Option<(RelationId, u64, Entity)>,
    /// The entity itself, then the others, nearest first.
    entities: Vec<Entity>,
    met: Stamps,
}

impl DescendantWalk {
    /// Finds out what lies below an entity, unless it is known.
    ///
    /// # Complexity
    /// O(pairs below it).
    pub(crate) fn update(&mut self, view: &View<'_>, relation: RelationId, top: Entity) {
        let index = view.index(relation);
        let of = Some((relation, index.version(), top));
        if self.of == of {
            return;
        }
        self.of = of;
        self.entities.clear();
        self.entities.push(top);
        let tree = index.is_exclusive() && index.is_acyclic();
        self.met.clear();
        self.met.insert(top);
        let mut at = 0;
        while let Some(&entity) = self.entities.get(at) {
            at += 1;
            // `extend` would take them one by one, and most lists are a slice.
            let (entities, met) = (&mut self.entities, &mut self.met);
            index.sources(entity).for_each(|source| {
                if tree || met.insert(source) {
                    entities.push(source);
                }
            });
        }
    }

    pub(crate) fn entities(&self, itself: bool) -> &[Entity] {
        &self.entities[usize::from(!itself).min(self.entities.len())..]
    }
}

/// Whether entities lead to the one that is searched for, by their index: the number of the round in which that was found,
/// times two, and one more if they do.
#[derive(Default)]
struct Leads {
    noted: Vec<u32>,
    round: u32,
}

impl Leads {
    fn clear(&mut self) {
        self.round += 1;
        if self.round > u32::MAX / 2 {
            self.noted.clear();
            self.round = 1;
        }
    }

    #[inline]
    fn get(&self, entity: Entity) -> Option<bool> {
        let noted = self.noted.get(entity.index_u32() as usize)?;
        (noted / 2 == self.round).then_some(noted % 2 == 1)
    }

    #[inline]
    fn note(&mut self, entity: Entity, leads: bool) {
        let at = entity.index_u32() as usize;
        if at >= self.noted.len() {
            self.noted.resize((at + 1).next_power_of_two(), 0);
        }
        self.noted[at] = self.round * 2 + u32::from(leads);
    }
}

/// Finds out whether an entity is reached from others. What was found on the way is kept until another entity is searched for.
#[derive(Default)]
pub(crate) struct Reach {
    searcher: Searcher,
    /// Relation, its version, and the entity that is to be reached.
    of: Option<(RelationId, u64, Entity)>,
    leads: Leads,
    way: Vec<Entity>,
}

impl Reach {
    /// Clears what was found, for a run with other pairs.
    pub(crate) fn restart(&mut self) {
        self.of = None;
    }

    /// Whether `to` is reached from `from` over at least one pair, and the number of steps that it took to find out.
    ///
    /// # Complexity
    /// As of [`Toward::is_reached`] if the relation is exclusive, or else O(pairs above `from`); O(1) if nothing has `to`
    /// as a target.
    pub(crate) fn reaches(
        &mut self,
        view: &View<'_>,
        relation: RelationId,
        from: Entity,
        to: Entity,
    ) -> (bool, u64) {
        let mut steps = 1;
        if let Some(mut toward) = self.toward(view, relation, to) {
            return (toward.is_reached(from, &mut steps), steps);
        }
        let index = view.index(relation);
        if !index.is_target(to) {
            return (false, steps);
        }
        let found =
            self.searcher.run(view, relation, Direction::Targets, from, Limits::FROM_SELF, |entity, _| {
                let leads = index.has(entity, to);
                steps += u64::from(!leads);
                leads.then_some(())
            });
        (found.is_some(), steps)
    }

    /// The same for many entities, if each of them has one target at most.
    pub(crate) fn toward<'a>(
        &'a mut self,
        view: &View<'a>,
        relation: RelationId,
        to: Entity,
    ) -> Option<Toward<'a>> {
        let index = view.index(relation);
        let upward = index.upward(view.store.compares(relation)).filter(|_| index.is_acyclic())?;
        let Self { of, leads, way, .. } = self;
        let now = Some((relation, index.version(), to));
        if *of != now {
            *of = now;
            leads.clear();
        }
        Some(Toward { upward, to: Some(to).filter(|&to| index.is_target(to)), leads, way })
    }
}

/// Follows pairs of an exclusive and acyclic relation to an entity.
pub(crate) struct Toward<'a> {
    upward: Upward<'a>,
    /// `None` if nothing has it as a target.
    to: Option<Entity>,
    leads: &'a mut Leads,
    way: &'a mut Vec<Entity>,
}

impl Toward<'_> {
    /// Whether it is reached from an entity over at least one pair. Counts steps.
    ///
    /// # Complexity
    /// O(pairs above the entity), without those that were followed for others before.
    #[inline]
    pub(crate) fn is_reached(&mut self, from: Entity, steps: &mut u64) -> bool {
        let Self { upward, leads, way, .. } = self;
        let Some(to) = self.to else { return false };
        let mut at = upward.compared_target(from);
        let found = loop {
            let Some(entity) = at else { break false };
            if entity == to {
                break true;
            }
            if let Some(leads) = leads.get(entity) {
                break leads;
            }
            way.push(entity);
            at = upward.target(entity);
        };
        *steps += way.len() as u64;
        way.iter().for_each(|&entity| leads.note(entity, found));
        way.clear();
        found
    }
}

/// The target of the first pair of a transitive relation over which `source` reaches `target`. `None` if the relation
/// is not transitive, or there is no such pair.
pub(crate) fn stored_target(
    view: &View<'_>,
    source: Entity,
    relation: Entity,
    target: Entity,
) -> Option<Entity> {
    let registry = view.store.registry();
    let relation = registry.of_entity(relation)?;
    if !registry.entry(relation).traits.is_transitive() {
        return None;
    }
    let mut reach = Reach::default();
    let mut leads = |own| own == target || reach.reaches(view, relation, own, target).0;
    let mut targets = view.targets(relation, source);
    match (targets.next(), targets.next()) {
        // The only one must be the one, unless the relation is reflexive too.
        (Some(only), None) if source != target => Some(only),
        _ => view.targets(relation, source).find(|&own| leads(own)),
    }
}
