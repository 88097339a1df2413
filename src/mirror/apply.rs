//! Applying components: the pairs of an entity become those that its component lists.

use super::{
    error::MirrorError,
    kind::{Errors, MirrorComponent},
    receive,
    set::break_ties,
    state::with,
    unmet, write,
};
use crate::{
    ops::{ScenePart, report, to_bevy},
    relation::TraitsError,
};
use alloc::{collections::VecDeque, vec::Vec};
use bevy_ecs::{entity::Entity, resource::Resource, world::World};
use core::marker::PhantomData;

/// Components of scenes that a rule has refused. It may allow them once the rest of the scene is there.
#[derive(Resource)]
struct Waiting<C: MirrorComponent>(VecDeque<Refused<C>>);

struct Refused<C> {
    source: Entity,
    wanted: C,
    /// What the pairs were then. If they have been changed since, they stay.
    then: C,
    errors: Vec<MirrorError>,
}

/// Mirrors pairs in components of this type from now on, and applies the components that are there.
pub(super) fn start<C: MirrorComponent>(world: &mut World) -> Result<(), TraitsError> {
    C::start(world)?;
    maintain::<C>(world);
    Ok(())
}

/// Applies the component of an entity, or its removal, unless that was done already.
pub(super) fn apply<C: MirrorComponent>(world: &mut World, source: Entity, may_wait: bool) {
    if with::<C, _>(world, |_| ()).is_none()
        && let Err(error) = C::start(world)
    {
        report(world.commands(), to_bevy(MirrorError::from(error)));
        return;
    }
    if with::<C, _>(world, |mirror| mirror.written.contains(&source)) != Some(true) {
        return;
    }
    if let Some(mut waiting) = world.get_resource_mut::<Waiting<C>>() {
        waiting.0.retain(|refused| refused.source != source);
    }
    unmet::forget::<C>(world, source);
    if !world.entities().contains_spawned(source) {
        with::<C, _>(world, |mirror| mirror.written.remove(&source));
        return;
    }
    let wanted = world.get::<C>(source).cloned().unwrap_or_default();
    if with::<C, _>(world, |mirror| mirror.is_received) == Some(true) {
        return receive::apply(world, source, &wanted);
    }
    let Errors { now, for_now } = match may_wait {
        true => settle(ScenePart::begin(world).world(), source, &wanted),
        false => settle(world, source, &wanted),
    };
    if may_wait && !for_now.is_empty() {
        let then = C::read(world, source);
        wait(world, Refused { source, wanted, then, errors: for_now });
        report_all(world, now);
    } else {
        report_all(world, now.into_iter().chain(for_now));
    }
}

pub(super) fn report_all(world: &mut World, errors: impl IntoIterator<Item = MirrorError>) {
    for error in errors {
        report(world.commands(), to_bevy(error));
    }
    world.flush();
}

/// Does everything that is due for components of this type, also the work of commands that were lost.
pub(super) fn maintain<C: MirrorComponent>(world: &mut World) {
    write::mend::<C>(world);
    // Left by clone operations in which something has panicked.
    with::<C, _>(world, |mirror| mirror.cloned.clear());
    let written = with::<C, _>(world, |mirror| mirror.written.iter().copied().collect::<Vec<_>>());
    for source in written.unwrap_or_default() {
        apply::<C>(world, source, false);
    }
    C::note_silent_changes(world);
    write::update::<C>(world, None);
    retry::<C>(world);
    receive::retry::<C>(world);
    break_ties::<C>(world);
}

/// Tries components again that were refused while a scene was being applied, until no more of them is allowed. The rest is
/// reported. If an observer panics, those that are still to be tried go on waiting.
fn retry<C: MirrorComponent>(world: &mut World) {
    loop {
        let waiting = world.get_resource::<Waiting<C>>().map_or(0, |waiting| waiting.0.len());
        let mut refused = 0;
        for _ in 0..waiting {
            let Some(next) = next_waiting::<C>(world) else { break };
            let Refused { source, wanted, then, errors } = next;
            if !world.entities().contains_spawned(source) {
                continue;
            }
            if !C::read(world, source).is_same(&then) {
                report_all(world, errors);
                continue;
            }
            let errors = settle(world, source, &wanted).for_now;
            if !errors.is_empty() {
                let then = C::read(world, source);
                wait(world, Refused { source, wanted, then, errors });
                refused += 1;
            }
        }
        if refused == waiting {
            break;
        }
    }
    while let Some(refused) = next_waiting::<C>(world) {
        report_all(world, refused.errors);
    }
}

fn next_waiting<C: MirrorComponent>(world: &mut World) -> Option<Refused<C>> {
    world.get_resource_mut::<Waiting<C>>()?.0.pop_front()
}

fn wait<C: MirrorComponent>(world: &mut World, refused: Refused<C>) {
    match world.get_resource_mut::<Waiting<C>>() {
        Some(mut waiting) => waiting.0.push_back(refused),
        None => world.insert_resource(Waiting(VecDeque::from([refused]))),
    }
}

/// Makes the pairs of an entity those of a component as far as the rules allow it, and writes the component from the pairs.
pub(super) fn settle<C: MirrorComponent>(world: &mut World, source: Entity, wanted: &C) -> Errors {
    let mut errors = Errors::default();
    let settling = Settling::<C>::begin(world, source);
    let world = &mut *settling.world;
    // The component stays among those written until the pairs are set: it is written back once, and if an observer panics,
    // the next maintenance applies it again.
    wanted.set_pairs(world, source, &mut errors);
    unmet::note(world, source, wanted, &errors);
    with::<C, _>(world, |mirror| {
        mirror.written.remove(&source);
        mirror.due.push_back(source.into());
    });
    write::update::<C>(world, None);
    errors
}

/// The component of an entity is being applied, until this is dropped.
struct Settling<'w, C: MirrorComponent> {
    world: &'w mut World,
    before: Option<Entity>,
    component: PhantomData<C>,
}

impl<'w, C: MirrorComponent> Settling<'w, C> {
    fn begin(world: &'w mut World, source: Entity) -> Self {
        let before = with::<C, _>(world, |mirror| mirror.settling.replace(source)).flatten();
        Self { world, before, component: PhantomData }
    }
}

impl<C: MirrorComponent> Drop for Settling<'_, C> {
    fn drop(&mut self) {
        let before = self.before;
        with::<C, _>(self.world, |mirror| mirror.settling = before);
    }
}
