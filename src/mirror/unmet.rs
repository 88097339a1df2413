//! Components that have arrived for entities, and that list other pairs than these have.

use super::{
    error::MirrorError,
    kind::{Errors, MirrorComponent},
};
use alloc::{collections::BTreeMap, vec::Vec};
use bevy_ecs::{entity::Entity, resource::Resource, world::World};
use core::mem::take;
use smallvec::SmallVec;

/// While there is an entry with a component, the entity keeps its own, even without pairs: otherwise a removal that arrives would
/// trigger no hook.
#[derive(Resource)]
struct Unmet<C: MirrorComponent>(BTreeMap<Entity, Arrived<C>>);

struct Arrived<C> {
    /// `None` if nothing had arrived: then the pairs come from components of other entities.
    component: Option<C>,
    why: Why,
}

/// Why the pairs are not what has arrived.
pub(super) enum Why {
    /// A rule has refused it. Reported once.
    Refused { unreported: Vec<MirrorError>, is_reported: bool },
    /// Components of these entities have changed its pairs: one of those, or its own, is outdated.
    ChangedBy(SmallVec<[Entity; 2]>),
}

/// Keeps what has arrived from now on.
pub(super) fn start<C: MirrorComponent>(world: &mut World) {
    world.get_resource_or_insert_with(|| Unmet::<C>(BTreeMap::new()));
}

pub(super) fn is_empty<C: MirrorComponent>(world: &World) -> bool {
    world.get_resource::<Unmet<C>>().is_none_or(|unmet| unmet.0.is_empty())
}

/// Whether the pairs of an entity differ from those that have arrived for it.
pub(super) fn is_unmet<C: MirrorComponent>(world: &World, source: Entity) -> bool {
    arrived::<C>(world, source).is_some()
}

/// What has arrived for an entity whose pairs differ from it.
pub(super) fn arrived<C: MirrorComponent>(world: &World, source: Entity) -> Option<&C> {
    world.get_resource::<Unmet<C>>()?.0.get(&source)?.component.as_ref()
}

/// Forgets what had arrived for an entity.
pub(super) fn forget<C: MirrorComponent>(world: &mut World, source: Entity) {
    with_unmet::<C, _>(world, |unmet| unmet.0.remove(&source).map(drop));
}

/// Notes whether the pairs of an entity are what has arrived for it.
pub(super) fn note<C: MirrorComponent>(world: &mut World, source: Entity, component: &C, errors: &Errors) {
    with_unmet::<C, _>(world, |unmet| {
        let before = unmet.0.remove(&source);
        if errors.for_now.is_empty() {
            return;
        }
        let is_reported = matches!(before, Some(Arrived { why: Why::Refused { is_reported: true, .. }, .. }));
        let unreported = if is_reported { Vec::new() } else { errors.for_now.clone() };
        let why = Why::Refused { unreported, is_reported };
        unmet.0.insert(source, Arrived { component: Some(component.clone()), why });
    });
}

/// Notes that what has arrived for `by` changes the pairs of an entity.
pub(super) fn note_changed<C: MirrorComponent>(world: &mut World, source: Entity, by: Entity) {
    let component = world.get::<C>(source).cloned();
    with_unmet::<C, _>(world, |unmet| {
        let new = || Arrived { component, why: Why::ChangedBy(SmallVec::new()) };
        // What was refused is tried again anyway.
        if let Why::ChangedBy(all) = &mut unmet.0.entry(source).or_insert_with(new).why
            && !all.contains(&by)
        {
            all.push(by);
        }
    });
}

/// The entities whose pairs differ from what has arrived, for one of some reasons.
pub(super) fn entities<C: MirrorComponent>(world: &mut World, is_one: impl Fn(&Why) -> bool) -> Vec<Entity> {
    with_unmet::<C, _>(world, |unmet| {
        let found = unmet.0.iter().filter(|(_, arrived)| is_one(&arrived.why));
        found.map(|(&source, _)| source).collect()
    })
}

/// The entities whose components have changed the pairs of others.
pub(super) fn causes<C: MirrorComponent>(world: &mut World) -> Vec<Entity> {
    with_unmet::<C, _>(world, |unmet| {
        let by = unmet.0.values().filter_map(|arrived| match &arrived.why {
            Why::ChangedBy(by) => Some(by),
            Why::Refused { .. } => None,
        });
        by.flatten().copied().collect()
    })
}

/// The errors that were not reported yet; they count as reported now.
pub(super) fn take_unreported<C: MirrorComponent>(world: &mut World) -> Vec<MirrorError> {
    with_unmet::<C, _>(world, |unmet| {
        let refused = unmet.0.values_mut().filter_map(|arrived| match &mut arrived.why {
            Why::Refused { unreported, is_reported } => {
                *is_reported = true;
                Some(take(unreported))
            }
            Why::ChangedBy(_) => None,
        });
        refused.flatten().collect()
    })
}

fn with_unmet<C: MirrorComponent, T: Default>(world: &mut World, run: impl FnOnce(&mut Unmet<C>) -> T) -> T {
    world.get_resource_mut::<Unmet<C>>().map_or_else(T::default, |unmet| run(unmet.into_inner()))
}
