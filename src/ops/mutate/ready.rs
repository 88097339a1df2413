//! What has to be done before pairs can be inserted.

use super::{
    error::{InsertPairError, PairRole, attempted, store_removed},
    plan::InsertPlan,
};
use crate::{
    fetch,
    id::StoredPair,
    ops::register::{entity::respawn, participant},
    store::PairStore,
};
use bevy_ecs::world::World;

/// How often the world is prepared for a plan: if it takes more, observers undo that each time.
pub(super) const MAX_ROUNDS: usize = 8;

/// Makes plans until one holds: what each of the others needs is prepared.
///
/// # Errors
/// That of `plan`, or if what it needs is undone each time. `pair` stands for the request.
pub(super) fn plan_until_it_holds(
    world: &mut World,
    pair: StoredPair,
    plan: impl Fn(&World, &PairStore) -> Result<InsertPlan, InsertPairError>,
) -> Result<InsertPlan, InsertPairError> {
    let mut rounds = 0..=MAX_ROUNDS;
    loop {
        let store = fetch::store(world).ok_or_else(|| store_removed(world, pair.source, pair.target))?;
        let plan = plan(world, store)?;
        if rounds.next().is_none() {
            let dead = if plan.lost.is_empty() { PairRole::Target } else { PairRole::Relation };
            return Err(InsertPairError::Dead { pair: attempted(world, store, pair), dead });
        }
        if plan.holds() {
            return Ok(plan);
        }
        prepare(world, pair, &plan)?;
    }
}

/// Marks the ends of a pair that are not marked. Returns whether there were any.
///
/// # Errors
/// If one of them is dead.
pub(super) fn mark_ends(world: &mut World, pair: StoredPair) -> Result<bool, InsertPairError> {
    let Some(store) = fetch::store(world) else { return Err(store_removed(world, pair.source, pair.target)) };
    let mut unmarked = InsertPlan::default();
    for (dead, entity) in [(PairRole::Source, pair.source), (PairRole::Target, pair.target)] {
        if !store.participants().is_marked(entity) {
            if !world.entities().contains_spawned(entity) {
                return Err(InsertPairError::Dead { pair: attempted(world, store, pair), dead });
            }
            unmarked.unmarked.push(entity);
        }
    }
    if unmarked.unmarked.is_empty() {
        return Ok(false);
    }
    prepare(world, pair, &unmarked)?;
    Ok(true)
}

/// Does what a plan needs before it holds: entities get the marker, relation types that lost their entity another one.
/// That runs users' code, after which the relation may be another.
pub(super) fn prepare(world: &mut World, pair: StoredPair, plan: &InsertPlan) -> Result<(), InsertPairError> {
    let Some(store) = fetch::store(world) else { return Err(store_removed(world, pair.source, pair.target)) };
    let (id, entry) = (store.id(), store.registry().entry(pair.relation));
    let (entity, type_id) = (entry.entity, entry.type_id);
    let named = type_id.is_none().then(|| attempted(world, store, pair));
    for &relation in &plan.lost {
        respawn(world, relation);
    }
    for &entity in &plan.unmarked {
        participant::mark(world, entity);
    }
    let Some(store) = fetch::store(world).filter(|store| store.id() == id) else {
        return Err(store_removed(world, pair.source, pair.target));
    };
    let entry = store.registry().get(pair.relation);
    match named {
        // A run-time relation: its number may serve another by now.
        Some(named) if entry.is_none_or(|entry| entry.entity != entity) => {
            Err(InsertPairError::Dead { pair: named, dead: PairRole::Relation })
        }
        None if entry.is_none_or(|entry| entry.type_id != type_id) => {
            Err(store_removed(world, pair.source, pair.target))
        }
        _ => Ok(()),
    }
}
