//! Walks along relations, with buffers that are kept.

use super::View;
use crate::{id::RelationId, traverse::Direction};
use alloc::vec::Vec;
use bevy_ecs::entity::{Entity, EntityHashMap};

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

/// A walk: what it has met, and what is to be visited.
#[derive(Default)]
pub(crate) struct Walker {
    met: Stamps,
    /// How deep those were that were met, if that matters.
    depths: EntityHashMap<u32>,
    stack: Vec<(Entity, u32)>,
}

impl Walker {
    pub(crate) fn start(&mut self, start: Entity) {
        self.met.clear();
        self.depths.clear();
        self.stack.clear();
        self.stack.push((start, 0));
    }

    /// The next entity with its depth, depth first and neighbours in their order, each once, the start first with
    /// depth 0. Goes no further than `max`.
    pub(crate) fn next(
        &mut self,
        view: &View<'_>,
        relation: RelationId,
        way: Direction,
        max: u32,
    ) -> Option<(Entity, u32)> {
        while let Some((entity, depth)) = self.stack.pop() {
            let new = self.met.insert(entity);
            if max < u32::MAX {
                // By a shorter way more may be in reach.
                let known = self.depths.entry(entity).or_insert(u32::MAX);
                if *known <= depth {
                    continue;
                }
                *known = depth;
            } else if !new {
                continue;
            }
            if depth < max {
                let bottom = self.stack.len();
                let ahead = |neighbour| (neighbour, depth + 1);
                match way {
                    Direction::Targets => self.stack.extend(view.targets(relation, entity).map(ahead)),
                    Direction::Sources => self.stack.extend(view.sources(relation, entity).map(ahead)),
                }
                self.stack[bottom..].reverse();
            }
            if new {
                return Some((entity, depth));
            }
        }
        None
    }
}

/// What lies below an entity.
#[derive(Default)]
pub(crate) struct Descendants {
    /// Relation, its version, and the entity above.
    of: Option<(RelationId, u64, Entity)>,
    /// The entity itself, then the others, nearest first.
    entities: Vec<Entity>,
    met: Stamps,
}

impl Descendants {
    /// Finds out what lies below an entity, unless it is known.
    ///
    /// # Complexity
    /// A step per pair below it.
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
            let sources = index.sources(entity);
            if tree {
                self.entities.extend(sources);
            } else {
                let met = &mut self.met;
                self.entities.extend(sources.filter(|&source| met.insert(source)));
            }
        }
    }

    pub(crate) fn entities(&self, itself: bool) -> &[Entity] {
        &self.entities[usize::from(!itself).min(self.entities.len())..]
    }
}

/// Whether `to` is reached from `from` over at least one pair, and the number of steps that it took to find out.
///
/// # Complexity
/// A step per pair above `from`; none if nothing has `to` as a target.
pub(crate) fn reaches(
    view: &View<'_>,
    walker: &mut Walker,
    relation: RelationId,
    from: Entity,
    to: Entity,
) -> (bool, u64) {
    let index = view.index(relation);
    let mut steps = 1;
    if !index.is_target(to) {
        return (false, steps);
    }
    if index.is_exclusive() && index.is_acyclic() {
        let mut at = index.first_target(from);
        while let Some(target) = at {
            if target == to {
                return (true, steps);
            }
            steps += 1;
            at = index.first_target(target);
        }
        return (false, steps);
    }
    walker.start(from);
    while let Some((entity, _)) = walker.next(view, relation, Direction::Targets, u32::MAX) {
        if index.has(entity, to) {
            return (true, steps);
        }
        steps += 1;
    }
    (false, steps)
}

/// The target of the first pair of a transitive relation over which `source` reaches `target`. `None` if the relation
/// is not transitive, or there is no such pair.
pub(crate) fn stored_target(
    view: &View<'_>,
    source: Entity,
    relation: Entity,
    target: Entity,
) -> Option<Entity> {
    let registry = &view.store.registry;
    let relation = registry.of_entity(relation)?;
    if !registry.entry(relation).traits.is_transitive() {
        return None;
    }
    let mut walker = Walker::default();
    let mut leads = |own| own == target || reaches(view, &mut walker, relation, own, target).0;
    let mut targets = view.targets(relation, source);
    match (targets.next(), targets.next()) {
        // The only one must be the one, unless the relation is reflexive too.
        (Some(only), None) if source != target => Some(only),
        _ => view.targets(relation, source).find(|&own| leads(own)),
    }
}
