//! Components that have arrived for entities, and that list other pairs than these have.

use super::{
    error::MirrorError,
    kind::{Errors, Kind, MirrorValue},
    state::{Arrived, Why, mirror, with},
};
use alloc::{collections::BTreeMap, vec::Vec};
use bevy_ecs::{entity::Entity, world::World};
use core::mem::take;
use smallvec::SmallVec;

pub(super) fn is_empty(world: &World, kind: Kind) -> bool {
    mirror(world, kind).is_none_or(|mirror| mirror.unmet.is_empty())
}

/// Whether the pairs of an entity differ from those that have arrived for it.
pub(super) fn is_unmet(world: &World, kind: Kind, source: Entity) -> bool {
    arrived(world, kind, source).is_some()
}

/// What has arrived for an entity whose pairs differ from it.
pub(super) fn arrived(world: &World, kind: Kind, source: Entity) -> Option<&dyn MirrorValue> {
    mirror(world, kind)?.unmet.get(&source)?.component.as_deref()
}

/// Removes what had arrived for an entity.
pub(super) fn remove(world: &mut World, kind: Kind, source: Entity) {
    with_unmet(world, kind, |unmet| unmet.remove(&source).map(drop));
}

/// Notes whether the pairs of an entity are what has arrived for it.
pub(super) fn note(
    world: &mut World,
    kind: Kind,
    source: Entity,
    component: &dyn MirrorValue,
    errors: &Errors,
) {
    with_unmet(world, kind, |unmet| {
        let before = unmet.remove(&source);
        if errors.temporary.is_empty() {
            return;
        }
        let is_reported = matches!(before, Some(Arrived { why: Why::Refused { is_reported: true, .. }, .. }));
        let unreported = if is_reported { Vec::new() } else { errors.temporary.clone() };
        let why = Why::Refused { unreported, is_reported };
        unmet.insert(source, Arrived { component: Some(component.clone_boxed()), why });
    });
}

/// Notes that what has arrived for `by` changes the pairs of an entity.
pub(super) fn note_changed(world: &mut World, kind: Kind, source: Entity, by: Entity) {
    let component = (kind.get)(world, source);
    with_unmet(world, kind, |unmet| {
        let new = || Arrived { component, why: Why::ChangedBy(SmallVec::new()) };
        // What was refused is tried again anyway.
        if let Why::ChangedBy(all) = &mut unmet.entry(source).or_insert_with(new).why
            && !all.contains(&by)
        {
            all.push(by);
        }
    });
}

/// The entities whose pairs differ from what has arrived, for one of some reasons.
pub(super) fn entities(world: &mut World, kind: Kind, is_one: impl Fn(&Why) -> bool) -> Vec<Entity> {
    with_unmet(world, kind, |unmet| {
        let found = unmet.iter().filter(|(_, arrived)| is_one(&arrived.why));
        found.map(|(&source, _)| source).collect()
    })
}

/// The entities whose components have changed the pairs of others.
pub(super) fn causes(world: &mut World, kind: Kind) -> Vec<Entity> {
    with_unmet(world, kind, |unmet| {
        let by = unmet.values().filter_map(|arrived| match &arrived.why {
            Why::ChangedBy(by) => Some(by),
            Why::Refused { .. } => None,
        });
        by.flatten().copied().collect()
    })
}

/// The errors that were not reported yet; they count as reported now.
pub(super) fn take_unreported(world: &mut World, kind: Kind) -> Vec<MirrorError> {
    with_unmet(world, kind, |unmet| {
        let refused = unmet.values_mut().filter_map(|arrived| match &mut arrived.why {
            Why::Refused { unreported, is_reported } => {
                *is_reported = true;
                Some(take(unreported))
            }
            Why::ChangedBy(_) => None,
        });
        refused.flatten().collect()
    })
}

/// Where no other world decides the pairs there is nothing to note.
fn with_unmet<T: Default>(
    world: &mut World,
    kind: Kind,
    run: impl FnOnce(&mut BTreeMap<Entity, Arrived>) -> T,
) -> T {
    let unmet = with(world, kind, |mirror| mirror.is_received.then(|| run(&mut mirror.unmet)));
    unmet.flatten().unwrap_or_default()
}
