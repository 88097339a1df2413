//! Many insertions and removals as one command.

use super::queue::queue_at;
use crate::{
    fetch,
    ops::{self, EndCheck, InsertPairsError, to_bevy},
    relation::Relation,
};
use alloc::vec::Vec;
use bevy_ecs::{entity::Entity, error::Result, system::Commands, world::World};
use core::panic::Location;

enum BatchChange<R> {
    Insert(Entity, R, Entity),
    Remove(Entity, Entity),
}

/// Insertions and removals of pairs of one relation. See [`pair_batch`](crate::CommandsPairExt::pair_batch).
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// #[derive(Relation)]
/// struct Likes;
///
/// # let mut world = World::new();
/// # let [ann, ben, cy] = [(); 3].map(|()| world.spawn_empty().id());
/// # world.insert_pair(ann, Likes, cy)?;
/// let mut commands = world.commands();
/// let mut likes = commands.pair_batch::<Likes>();
/// likes.insert(ann, Likes, ben).remove(ann, cy).insert(ben, Likes, ann);
/// drop(likes); // queued here, or at the end of the scope
/// world.flush();
/// assert!(world.pairs::<Likes>().targets(ann).eq([ben]) && world.has_pair::<Likes>(ben, ann));
/// # Ok::<(), BevyError>(())
/// ```
pub struct PairBatch<'w, 's, R: Relation> {
    commands: Commands<'w, 's>,
    place: &'static Location<'static>,
    changes: Vec<BatchChange<R>>,
}

impl<'w, 's, R: Relation> PairBatch<'w, 's, R> {
    #[track_caller]
    pub(super) fn new(commands: Commands<'w, 's>) -> Self {
        Self { commands, place: Location::caller(), changes: Vec::new() }
    }

    /// Inserts a pair when the commands are applied.
    #[inline]
    pub fn insert(&mut self, source: Entity, relation: R, target: Entity) -> &mut Self {
        self.changes.push(BatchChange::Insert(source, relation, target));
        self
    }

    /// Removes a pair when the commands are applied.
    #[inline]
    pub fn remove(&mut self, source: Entity, target: Entity) -> &mut Self {
        self.changes.push(BatchChange::Remove(source, target));
        self
    }
}

impl<R: Relation> Drop for PairBatch<'_, '_, R> {
    fn drop(&mut self) {
        let changes = core::mem::take(&mut self.changes);
        if !changes.is_empty() {
            let place = self.place;
            queue_at(&mut self.commands, place, move |world| {
                apply(world, changes, EndCheck::Later(Some(place)))
            });
        }
    }
}

/// Applies runs of insertions and runs of removals as batches.
fn apply<R: Relation>(world: &mut World, changes: Vec<BatchChange<R>>, ends: EndCheck<'_>) -> Result {
    // A target that loses a source in one run may get another in the next.
    let counts_sources = fetch::store(world).is_some_and(|store| store.registry().counts_sources());
    if counts_sources {
        let mut operation = ops::Operation::begin(world);
        let applied = apply_runs(operation.world(), changes, ends);
        operation.finish();
        return applied;
    }
    apply_runs(world, changes, ends)
}

fn apply_runs<R: Relation>(world: &mut World, changes: Vec<BatchChange<R>>, ends: EndCheck<'_>) -> Result {
    let mut refused = Vec::new();
    let mut done = 0;
    let mut changes = changes.into_iter().peekable();
    while changes.peek().is_some() {
        let mut run = 0;
        let inserts = core::iter::from_fn(|| {
            let next = changes.next_if(|change| matches!(change, BatchChange::Insert(..)))?;
            run += 1;
            match next {
                BatchChange::Insert(source, value, target) => Some((source, value, target)),
                BatchChange::Remove(..) => None,
            }
        });
        if let Err(error) = ops::insert_batch(world, inserts, ends) {
            refused.extend(error.refused.into_iter().map(|(number, error)| (done + number, error)));
        }
        let removes = core::iter::from_fn(|| {
            match changes.next_if(|change| matches!(change, BatchChange::Remove(..)))? {
                BatchChange::Remove(source, target) => {
                    run += 1;
                    Some((source, target))
                }
                BatchChange::Insert(..) => None,
            }
        });
        ops::remove_batch::<R>(world, removes);
        done += run;
    }
    if refused.is_empty() { Ok(()) } else { Err(to_bevy(InsertPairsError { refused })) }
}
