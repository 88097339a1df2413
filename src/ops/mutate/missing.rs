//! Giving back pairs that are missing, where nothing but the life of their ends has a say.

use super::{
    restore::{Difference, Restoration, WantedPairs},
    writer::{FastInsertions, FastPath, PairWriter},
};
use crate::{
    fetch,
    id::RelationId,
    ops::register::participant,
    store::{FastPathFlags, PairStore, RelationIndex},
    traverse::{ChildrenAccess, Direction, Relations},
};
use alloc::vec::Vec;
use bevy_ecs::{change_detection::Tick, entity::Entity, world::World};

/// What has to be inserted.
#[derive(Default)]
struct Missing<'a, 'v> {
    /// The relations of which pairs are missing.
    relations: Vec<&'a WantedPairs<'v>>,
    /// The ends of such pairs that have to be marked before they can have pairs.
    newcomers: Vec<Entity>,
}

impl<'v> Restoration<'v> {
    /// Inserts the pairs that are missing on the fast path, if no other change is needed: no pair has to go, to get a value or
    /// another place, and no rule or observer is concerned. Returns how many have been inserted; `None` if it is not so, or an end
    /// is dead. Then no pair has changed.
    pub(super) fn insert_missing(&self, world: &mut World) -> Option<usize> {
        let mut missing = self.find_missing(world)?;
        if !missing.newcomers.is_empty() {
            missing.newcomers.sort_unstable();
            missing.newcomers.dedup();
            for newcomer in missing.newcomers {
                participant::mark(world, newcomer);
            }
            // Users' code has run meanwhile.
            missing = self.find_missing(world)?;
            if !missing.newcomers.is_empty() {
                return None;
            }
        }
        let tick = world.change_tick();
        let mut inserted = 0;
        for wanted in missing.relations {
            let mut fast = fast_path(world, wanted.relation, tick)?;
            for of_source in wanted.pairs.chunk_by(|a, b| a.0 == b.0) {
                let there = fast.target_count(of_source[0].0);
                for &(source, target) in &of_source[there..] {
                    if fast.insert(source, target) != FastPath::Done {
                        // Both ends are ready, so this cannot be; if it were, the rules would see to the rest.
                        return None;
                    }
                }
                inserted += of_source.len() - there;
            }
        }
        Some(inserted)
    }

    /// `None` if nothing is missing, or more has to be done than insert that.
    fn find_missing(&self, world: &mut World) -> Option<Missing<'_, 'v>> {
        let mut missing = Missing::default();
        let store = fetch::store(world)?;
        // By the time of a second look, their numbers may be those of others.
        self.check_relations(world, store).ok()?;
        let is_plain = |wanted: &WantedPairs<'_>| {
            wanted.values.is_empty() && store.relation(wanted.relation).allows(FastPathFlags::INSERT)
        };
        let is_wanted = |id| self.wanted.iter().any(|wanted| wanted.relation == id);
        let others = self.relations.iter().filter(|&&id| !is_wanted(id));
        let counts = others.map(|&id| (id, 0));
        let counts = counts.chain(self.wanted.iter().map(|wanted| (wanted.relation, wanted.pairs.len())));
        for (id, count) in counts {
            if self.count_in_scope(store.relation(id)) > count {
                return None;
            }
        }
        for wanted in self.wanted.iter().filter(|wanted| is_plain(wanted)) {
            let seen = missing.add(store, wanted)?;
            // Sources that are to have no pairs may have some.
            if seen != self.count_in_scope(store.relation(wanted.relation)) {
                return None;
            }
        }
        if missing.relations.is_empty() {
            return None;
        }
        let mut difference = Difference::default();
        for (number, wanted) in self.wanted.iter().enumerate().filter(|(_, wanted)| !is_plain(wanted)) {
            let is_same = self.count_in_scope(store.relation(wanted.relation)) == wanted.pairs.len()
                && self.compare_all(world, store, number, &mut difference) == wanted.pairs.len()
                && difference.is_empty();
            if !is_same {
                return None;
            }
        }
        let orders = self.are_in_order(world, store, &missing);
        let alive = missing.newcomers.iter().all(|&entity| world.entities().contains_spawned(entity));
        let tick = world.change_tick();
        let mut relations = missing.relations.iter();
        let fast = relations.all(|wanted| fast_path(world, wanted.relation, tick).is_some());
        (orders && alive && fast).then_some(missing)
    }

    /// Whether the sources of every target are in their order, and stay so.
    fn are_in_order(&self, world: &World, store: &PairStore, missing: &Missing<'_, '_>) -> bool {
        let relations = Relations::new(store, Some(ChildrenAccess::World(world)));
        self.orders.iter().all(|order| {
            let sources = relations.view(order.relation).sources(order.entity);
            order.direction == Direction::Sources
                && !missing.relations.iter().any(|wanted| wanted.relation == order.relation)
                && sources.filter(|&source| self.is_in_scope(source)).eq(order.order.iter().copied())
        })
    }

    /// How many pairs the sources in the scope have.
    fn count_in_scope(&self, index: &RelationIndex) -> usize {
        match &self.scope {
            Some(scope) if index.len() > 0 => scope.iter().map(|&source| index.target_count(source)).sum(),
            _ => index.len(),
        }
    }
}

fn fast_path(world: &mut World, relation: RelationId, tick: Tick) -> Option<FastInsertions<'_>> {
    PairWriter::new(fetch::store_mut(world)?).fast_path(relation, tick)
}

impl<'a, 'v> Missing<'a, 'v> {
    /// Adds what is missing of the pairs of a relation. Returns how many pairs their sources have; `None` if more has to be done.
    fn add(&mut self, store: &PairStore, wanted: &'a WantedPairs<'v>) -> Option<usize> {
        let (index, participants) = (store.relation(wanted.relation), store.participants());
        let (mut seen, mut count) = (0, 0);
        for of_source in wanted.pairs.chunk_by(|a, b| a.0 == b.0) {
            let there = index.targets(of_source[0].0);
            seen += there.len();
            let (old, new) = of_source.split_at_checked(there.len())?;
            let in_order = there.eq(old.iter().map(|&(_, target)| target));
            if !in_order || index.is_exclusive() && of_source.len() > 1 {
                return None;
            }
            count += new.len();
            for &(source, target) in new {
                for end in [source, target] {
                    if !participants.is_ready(end) {
                        if participants.is_marked(end) {
                            return None;
                        }
                        self.newcomers.push(end);
                    }
                }
            }
        }
        if count > 0 {
            // Whether such a pair closes a cycle depends on all others.
            if index.is_acyclic() {
                return None;
            }
            self.relations.push(wanted);
        }
        Some(seen)
    }
}
