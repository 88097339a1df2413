//! Pairs that another world decides: components arrive in any order, and each counts until the next one for its entity.

use super::{
    apply::{maintain, report_all, settle},
    kind::MirrorComponent,
    state::with,
    unmet::{self, Why},
};
use crate::{ops::report_warning, relation::TraitsError};
use alloc::vec::Vec;
use bevy_ecs::{entity::Entity, world::World};

/// Mirrors pairs in components of this type from now on, which arrive from another world.
pub(super) fn start<C: MirrorComponent>(world: &mut World) -> Result<(), TraitsError> {
    C::start(world)?;
    with::<C, _>(world, |mirror| mirror.is_received = true);
    unmet::start::<C>(world);
    maintain::<C>(world);
    Ok(())
}

/// Makes the pairs of an entity those that have arrived, as far as that is allowed, and tries again the entities whose pairs its
/// former component had changed.
pub(super) fn apply<C: MirrorComponent>(world: &mut World, source: Entity, arrived: &C) {
    let set_aside =
        unmet::entities::<C>(world, |why| matches!(why, Why::ChangedBy(by) if by.contains(&source)));
    let errors = settle(world, source, arrived).now;
    report_all(world, errors);
    set_aside.into_iter().for_each(|entity| try_again::<C>(world, entity));
}

/// Tries again what was refused, until no more of it is allowed, and what components of entities that are gone had changed.
pub(super) fn retry<C: MirrorComponent>(world: &mut World) {
    if unmet::is_empty::<C>(world) {
        return;
    }
    for source in unmet::entities::<C>(world, |_| true) {
        if !world.entities().contains_spawned(source) {
            unmet::forget::<C>(world, source);
        }
    }
    let mut gone: Vec<Entity> = unmet::causes::<C>(world);
    gone.retain(|&by| !world.entities().contains_spawned(by));
    let is_free = |why: &Why| matches!(why, Why::ChangedBy(by) if by.iter().any(|by| gone.contains(by)));
    for entity in unmet::entities::<C>(world, is_free) {
        try_again::<C>(world, entity);
    }
    let is_refused = |why: &Why| matches!(why, Why::Refused { .. });
    loop {
        let refused = unmet::entities::<C>(world, is_refused);
        refused.iter().for_each(|&source| try_again::<C>(world, source));
        if unmet::entities::<C>(world, is_refused).len() >= refused.len() {
            break;
        }
    }
    for error in unmet::take_unreported::<C>(world) {
        report_warning(world.commands(), error);
    }
    world.flush();
}

fn try_again<C: MirrorComponent>(world: &mut World, source: Entity) {
    // What has arrived meanwhile is applied by its own command.
    if with::<C, _>(world, |mirror| mirror.written.contains(&source)) != Some(false) {
        return;
    }
    match unmet::arrived::<C>(world, source).cloned() {
        Some(arrived) => drop(settle(world, source, &arrived)),
        // Its component was written from its pairs, and did not arrive.
        None if world.get::<C>(source).is_some() => {}
        None => unmet::forget::<C>(world, source),
    }
}
