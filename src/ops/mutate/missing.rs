//! Giving back pairs that are missing, where nothing but the life of their ends has a say.

use super::{
    restore::WantedPairs,
    writer::{FastInsertions, FastPath, PairWriter},
};
use crate::{
    fetch,
    id::RelationId,
    ops::register::participant,
    store::{PairStore, RelationIndex},
};
use alloc::vec::Vec;
use bevy_ecs::{
    change_detection::Tick,
    entity::{Entity, EntityHashSet},
    world::World,
};

/// Inserts the pairs that are missing on the fast path, if no other change is needed: no pair has to go, to get a value or another
/// place, and no rule or observer is concerned. Returns how many have been inserted; `None` if it is not so, or an end is dead.
/// Then no pair has changed.
///
/// `scope` are the sources whose pairs these are, `None` for all. They are to have no pairs of `others`.
pub(super) fn insert_missing(
    world: &mut World,
    wanted: &[WantedPairs<'_>],
    mut others: impl Iterator<Item = RelationId>,
    scope: Option<&EntityHashSet>,
) -> Option<usize> {
    let store = fetch::store(world)?;
    if !others.all(|relation| count_in(scope, store.relation(relation)) == 0) {
        return None;
    }
    let mut missing = Missing::find(world, wanted, scope)?;
    if !missing.newcomers.is_empty() {
        missing.newcomers.sort_unstable();
        missing.newcomers.dedup();
        for newcomer in missing.newcomers {
            participant::mark(world, newcomer);
        }
        // Users' code has run meanwhile.
        missing = Missing::find(world, wanted, scope)?;
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
                let done = fast.insert(source, target);
                debug_assert!(done == FastPath::Done, "both ends are ready");
            }
            inserted += of_source.len() - there;
        }
    }
    Some(inserted)
}

fn fast_path(world: &mut World, relation: RelationId, tick: Tick) -> Option<FastInsertions<'_>> {
    PairWriter::new(fetch::store_mut(world)?).fast_path(relation, tick)
}

/// How many pairs the sources in a scope have.
fn count_in(scope: Option<&EntityHashSet>, index: &RelationIndex) -> usize {
    match scope {
        Some(scope) if index.len() > 0 => scope.iter().map(|&source| index.target_count(source)).sum(),
        _ => index.len(),
    }
}

/// What has to be inserted.
#[derive(Default)]
struct Missing<'a, 'v> {
    /// The relations of which pairs are missing.
    relations: Vec<&'a WantedPairs<'v>>,
    /// The ends of such pairs that have to be marked before they can have pairs.
    newcomers: Vec<Entity>,
}

impl<'a, 'v> Missing<'a, 'v> {
    /// `None` if more has to be done than insert the missing pairs.
    fn find(world: &mut World, wanted: &'a [WantedPairs<'v>], scope: Option<&EntityHashSet>) -> Option<Self> {
        let mut missing = Self::default();
        let store = fetch::store(world)?;
        for wanted in wanted {
            let seen = missing.add(store, wanted)?;
            // Sources that are to have no pairs may have some.
            if seen != count_in(scope, store.relation(wanted.relation)) {
                return None;
            }
        }
        let entities = world.entities();
        let alive = missing.newcomers.iter().all(|&entity| entities.contains_spawned(entity));
        let tick = world.change_tick();
        let mut relations = missing.relations.iter();
        let fast = relations.all(|wanted| fast_path(world, wanted.relation, tick).is_some());
        (alive && fast).then_some(missing)
    }

    /// Adds what is missing of the pairs of a relation. Returns how many pairs their sources have.
    fn add(&mut self, store: &PairStore, wanted: &'a WantedPairs<'v>) -> Option<usize> {
        if !wanted.values.is_empty() {
            return None;
        }
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
