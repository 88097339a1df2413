//! Pairs that another world decides: components arrive in any order, and each counts until the next one for its entity.

use super::{
    apply::{apply_to, maintain, report_all},
    kind::{Kind, MirrorValue},
    state::{Why, with},
    unmet,
};
use crate::{ops::report_warning, relation::TraitsError};
use alloc::vec::Vec;
use bevy_ecs::{entity::Entity, world::World};

/// Mirrors pairs in components of this type from now on, which arrive from another world.
pub(super) fn start(world: &mut World, kind: Kind) -> Result<(), TraitsError> {
    (kind.start)(world)?;
    with(world, kind, |mirror| mirror.is_received = true);
    maintain(world, kind);
    Ok(())
}

/// Makes the pairs of an entity those that have arrived, as far as that is allowed, and tries again the entities whose pairs its
/// former component had changed.
pub(super) fn apply(world: &mut World, kind: Kind, source: Entity, arrived: &dyn MirrorValue) {
    let set_aside =
        unmet::entities(world, kind, |why| matches!(why, Why::ChangedBy(by) if by.contains(&source)));
    let errors = apply_to(world, kind, source, arrived).lasting;
    report_all(world, errors);
    set_aside.into_iter().for_each(|entity| try_again(world, kind, entity));
}

/// Tries again what was refused, until no more of it is allowed, and what components of entities that are gone had changed.
pub(super) fn retry(world: &mut World, kind: Kind) {
    if unmet::is_empty(world, kind) {
        return;
    }
    for source in unmet::entities(world, kind, |_| true) {
        if !world.entities().contains_spawned(source) {
            unmet::remove(world, kind, source);
        }
    }
    let mut gone: Vec<Entity> = unmet::causes(world, kind);
    gone.retain(|&by| !world.entities().contains_spawned(by));
    let is_free = |why: &Why| matches!(why, Why::ChangedBy(by) if by.iter().any(|by| gone.contains(by)));
    for entity in unmet::entities(world, kind, is_free) {
        try_again(world, kind, entity);
    }
    let is_refused = |why: &Why| matches!(why, Why::Refused { .. });
    loop {
        let refused = unmet::entities(world, kind, is_refused);
        refused.iter().for_each(|&source| try_again(world, kind, source));
        if unmet::entities(world, kind, is_refused).len() >= refused.len() {
            break;
        }
    }
    for error in unmet::take_unreported(world, kind) {
        report_warning(world.commands(), error);
    }
    world.flush();
}

fn try_again(world: &mut World, kind: Kind, source: Entity) {
    // What has arrived meanwhile is applied by its own command.
    if with(world, kind, |mirror| mirror.written.contains(&source)) != Some(false) {
        return;
    }
    match unmet::arrived(world, kind, source).map(MirrorValue::clone_boxed) {
        Some(arrived) => drop(apply_to(world, kind, source, &*arrived)),
        // Its component was written from its pairs, and did not arrive.
        None if kind.is_on(world, source) => {}
        None => unmet::remove(world, kind, source),
    }
}
