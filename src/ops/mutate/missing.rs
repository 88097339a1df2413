//! Giving back pairs that are missing, where nothing but the life of their ends has a say.

use super::{
    restore::{Difference, Restoration, WantedPairs, WantedSource},
    writer::{FastPath, PairWriter, store_value},
};
use crate::{
    fetch,
    id::StoredPair,
    ops::register::participant,
    relation::{BoxedValue, ColumnRef, Value},
    store::{FastPathFlags, PairStore, RelationIndex},
    traverse::{ChildrenAccess, Direction, Relations},
};
use alloc::vec::{self, Vec};
use bevy_ecs::{
    entity::Entity,
    world::{DeferredWorld, World},
};

/// What has to be inserted.
#[derive(Default)]
struct Missing {
    relations: Vec<MissingPairs>,
    /// The ends of such pairs that have to be marked before they can have pairs.
    unmarked: Vec<Entity>,
}

/// What has to be inserted of a relation.
struct MissingPairs {
    /// The number of the relation in [`Restoration::wanted`].
    number: usize,
    /// The numbers of the pairs in there.
    places: Vec<u32>,
    /// Where their values go, if they have some.
    column: Option<ColumnRef>,
}

impl Restoration<'_> {
    /// Inserts the pairs that are missing on the fast path, if no other change is needed: no pair has to go, to get a value or
    /// another place, and no rule or observer is concerned. Returns how many have been inserted; `None` if it is not so, or an end
    /// is dead. Then no pair has changed.
    pub(super) fn insert_missing(&mut self, world: &mut World) -> Option<usize> {
        let mut missing = self.find_missing(world)?;
        if !missing.unmarked.is_empty() {
            missing.unmarked.sort_unstable();
            missing.unmarked.dedup();
            for entity in missing.unmarked {
                participant::mark(world, entity);
            }
            // Users' code has run meanwhile.
            missing = self.find_missing(world)?;
            if !missing.unmarked.is_empty() {
                return None;
            }
        }
        // Users' code makes the copies: before anything changes.
        let copies = missing.relations.iter().map(|missing| self.copies(world, missing));
        let copies: Vec<_> = copies.collect::<Option<_>>()?;
        let counts = missing.relations.iter().map(|missing| missing.places.len());
        let inserted = counts.sum();
        for (missing, copies) in missing.relations.into_iter().zip(copies) {
            self.insert(world, &missing, copies.into_iter());
        }
        Some(inserted)
    }

    /// Inserts the pairs of a relation that are missing, with `copies` of their values. Their ends are ready, and nothing stands in
    /// the way.
    fn insert(&mut self, world: &mut World, missing: &MissingPairs, mut copies: vec::IntoIter<BoxedValue>) {
        let tick = world.change_tick();
        let wanted = &mut self.wanted[missing.number];
        let mut rows = Vec::new();
        if let Some(column) = missing.column {
            let mut world = DeferredWorld::from(&mut *world);
            rows.extend(missing.places.iter().filter_map(|&at| {
                let value = match wanted.values[at as usize].take()?.value {
                    WantedSource::Owned(value) => value,
                    WantedSource::Lent(_) => copies.next()?,
                };
                store_value(&mut world, column, Value::Boxed(value), None)
            }));
        }
        let flag = insertion_flag(wanted);
        let writer = fetch::store_mut(world).map(PairWriter::new);
        let Some(mut fast) = writer.and_then(|writer| writer.first_insertions(wanted.relation, flag, tick))
        else {
            debug_assert!(false, "that it can be had was looked at");
            return;
        };
        let mut rows = rows.into_iter();
        for &at in &missing.places {
            let (source, target) = wanted.pairs[at as usize];
            let done = match rows.next() {
                Some(row) => fast.insert_with_row(source, target, row),
                None => fast.insert(source, target),
            };
            debug_assert!(done == FastPath::Done, "both ends are ready");
        }
    }

    /// Copies of the values of missing pairs, but for those that can be taken. `None` if one cannot be copied.
    fn copies(&self, world: &World, missing: &MissingPairs) -> Option<Vec<BoxedValue>> {
        let Some(column) = missing.column else { return Some(Vec::new()) };
        let values = &self.wanted[missing.number].values;
        let borrowed = missing.places.iter().filter_map(|&at| match &values[at as usize].as_ref()?.value {
            WantedSource::Lent(value) => Some(column.duplicate(world, &***value)),
            WantedSource::Owned(_) => None,
        });
        borrowed.collect()
    }

    /// `None` if nothing is missing, or more has to be done than insert that.
    fn find_missing(&self, world: &World) -> Option<Missing> {
        let mut missing = Missing::default();
        let store = fetch::store(world)?;
        // By the time of a second look, their numbers may be those of others.
        self.check_relations(world, store).ok()?;
        let is_wanted = |id| self.wanted.iter().any(|wanted| wanted.relation == id);
        let others = self.relations.iter().filter(|&&id| !is_wanted(id));
        let counts = others.map(|&id| (id, 0));
        let counts = counts.chain(self.wanted.iter().map(|wanted| (wanted.relation, wanted.pairs.len())));
        for (id, count) in counts {
            if self.count_in_scope(store.relation(id)) > count {
                return None;
            }
        }
        let is_plain =
            |wanted: &WantedPairs<'_>| store.has_fast_insertions(wanted.relation, insertion_flag(wanted));
        let (plain, others): (Vec<usize>, Vec<usize>) =
            (0..self.wanted.len()).partition(|&number| is_plain(&self.wanted[number]));
        for number in plain {
            let seen = self.find_missing_of(world, store, number, &mut missing)?;
            // Sources that are to have no pairs may have some.
            if seen != self.count_in_scope(store.relation(self.wanted[number].relation)) {
                return None;
            }
        }
        if missing.relations.is_empty() {
            return None;
        }
        let mut difference = Difference::default();
        for number in others {
            let wanted = &self.wanted[number];
            let is_same = self.count_in_scope(store.relation(wanted.relation)) == wanted.pairs.len()
                && self.compare_all(world, store, number, &mut difference) == wanted.pairs.len()
                && difference.is_empty();
            if !is_same {
                return None;
            }
        }
        let orders = self.are_in_order(world, store, &missing);
        let alive = missing.unmarked.iter().all(|&entity| world.entities().contains_spawned(entity));
        (orders && alive).then_some(missing)
    }

    /// Adds what is missing of the pairs of a relation. Returns how many pairs their sources have; `None` if more has to be done.
    fn find_missing_of(
        &self,
        world: &World,
        store: &PairStore,
        number: usize,
        missing: &mut Missing,
    ) -> Option<usize> {
        let WantedPairs { relation, pairs, values } = &self.wanted[number];
        let (index, participants) = (store.relation(*relation), store.participants());
        let column = if values.is_empty() { None } else { store.registry().entry(*relation).data };
        if column.is_some_and(|column| !column.exists(world)) {
            return None;
        }
        let (mut seen, mut start) = (0, 0);
        let mut places = Vec::new();
        for of_source in pairs.chunk_by(|a, b| a.0 == b.0) {
            let there = index.targets(of_source[0].0);
            let count = there.len();
            seen += count;
            let (old, new) = of_source.split_at_checked(count)?;
            let in_order = there.eq(old.iter().map(|&(_, target)| target));
            if !in_order || index.is_exclusive() && of_source.len() > 1 {
                return None;
            }
            for (at, &(source, target)) in (start..).zip(of_source).filter(|_| column.is_some()) {
                let value = values[at].as_ref().filter(|value| Some(value.column) == column)?;
                let pair = StoredPair { source, relation: *relation, target };
                if at < start + count && !self.is_unchanged(world, store, pair, value) {
                    return None;
                }
            }
            places.extend((start + count..start + of_source.len()).map(|at| at as u32));
            start += of_source.len();
            for &(source, target) in new {
                for end in [source, target] {
                    if !participants.is_ready(end) {
                        if participants.is_marked(end) {
                            return None;
                        }
                        missing.unmarked.push(end);
                    }
                }
            }
        }
        if !places.is_empty() {
            // Whether such a pair closes a cycle depends on all others.
            if index.is_acyclic() {
                return None;
            }
            missing.relations.push(MissingPairs { number, places, column });
        }
        Some(seen)
    }

    /// Whether the sources of every target are in their order, and stay so.
    fn are_in_order(&self, world: &World, store: &PairStore, missing: &Missing) -> bool {
        let relations = Relations::new(store, Some(ChildrenAccess::World(world)));
        let is_missing = |relation| {
            missing.relations.iter().any(|missing| self.wanted[missing.number].relation == relation)
        };
        self.orders.iter().all(|order| {
            let sources = relations.view(order.relation).sources(order.entity);
            order.direction == Direction::Sources
                && !is_missing(order.relation)
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

/// The kind of insertions that bring these pairs.
fn insertion_flag(wanted: &WantedPairs<'_>) -> FastPathFlags {
    if wanted.values.is_empty() { FastPathFlags::INSERT } else { FastPathFlags::INSERT_VALUE }
}
