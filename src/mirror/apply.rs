//! Applying components: the pairs of an entity become those that its component lists.

use super::{
    error::MirrorError,
    kind::{Errors, Kind, MirrorValue},
    receive,
    set::break_ties,
    state::{Refused, mirror, with},
    unmet, write,
};
use crate::{
    ops::{ScenePart, report, to_bevy},
    relation::TraitsError,
};
use alloc::vec::Vec;
use bevy_ecs::{entity::Entity, world::World};

/// Mirrors pairs in components of this type from now on, and applies the components that are there.
pub(super) fn start(world: &mut World, kind: Kind) -> Result<(), TraitsError> {
    (kind.start)(world)?;
    maintain(world, kind);
    Ok(())
}

/// Applies the component of an entity, or its removal, unless that was done already.
pub(super) fn apply(world: &mut World, kind: Kind, source: Entity, may_wait: bool) {
    if mirror(world, kind).is_none()
        && let Err(error) = (kind.start)(world)
    {
        report(world.commands(), to_bevy(MirrorError::from(error)));
        return;
    }
    if with(world, kind, |mirror| mirror.written.contains(&source)) != Some(true) {
        return;
    }
    with(world, kind, |mirror| mirror.waiting.retain(|refused| refused.source != source));
    unmet::remove(world, kind, source);
    if !world.entities().contains_spawned(source) {
        with(world, kind, |mirror| mirror.written.remove(&source));
        return;
    }
    let wanted = (kind.get)(world, source).unwrap_or_else(kind.empty);
    if with(world, kind, |mirror| mirror.is_received) == Some(true) {
        return receive::apply(world, kind, source, &*wanted);
    }
    let Errors { lasting, temporary } = match may_wait {
        true => apply_to(ScenePart::begin(world).world(), kind, source, &*wanted),
        false => apply_to(world, kind, source, &*wanted),
    };
    if may_wait && !temporary.is_empty() {
        let then = (kind.read)(world, source);
        wait(world, kind, Refused { source, wanted, then, errors: temporary });
        report_all(world, lasting);
    } else {
        report_all(world, lasting.into_iter().chain(temporary));
    }
}

pub(super) fn report_all(world: &mut World, errors: impl IntoIterator<Item = MirrorError>) {
    for error in errors {
        report(world.commands(), to_bevy(error));
    }
    world.flush();
}

/// Does everything that is due for components of this type, also the work of commands that were lost.
pub(super) fn maintain(world: &mut World, kind: Kind) {
    write::restore_observers(world, kind);
    // Left by clone operations in which something has panicked.
    with(world, kind, |mirror| mirror.cloned.clear());
    let written = with(world, kind, |mirror| mirror.written.iter().copied().collect::<Vec<_>>());
    for source in written.unwrap_or_default() {
        apply(world, kind, source, false);
    }
    (kind.note_silent_changes)(world);
    write::update(world, kind, None);
    retry(world, kind);
    receive::retry(world, kind);
    break_ties(world, kind);
}

/// Tries components again that were refused while a scene was being applied, until no more of them is allowed. The rest is
/// reported. If an observer panics, those that are still to be tried go on waiting.
fn retry(world: &mut World, kind: Kind) {
    loop {
        let waiting = mirror(world, kind).map_or(0, |mirror| mirror.waiting.len());
        let mut refused = 0;
        for _ in 0..waiting {
            let Some(next) = next_waiting(world, kind) else { break };
            let Refused { source, wanted, then, errors } = next;
            if !world.entities().contains_spawned(source) {
                continue;
            }
            if !(kind.read)(world, source).is_same_as(&*then) {
                report_all(world, errors);
                continue;
            }
            let errors = apply_to(world, kind, source, &*wanted).temporary;
            if !errors.is_empty() {
                let then = (kind.read)(world, source);
                wait(world, kind, Refused { source, wanted, then, errors });
                refused += 1;
            }
        }
        if refused == waiting {
            break;
        }
    }
    while let Some(refused) = next_waiting(world, kind) {
        report_all(world, refused.errors);
    }
}

fn next_waiting(world: &mut World, kind: Kind) -> Option<Refused> {
    with(world, kind, |mirror| mirror.waiting.pop_front()).flatten()
}

fn wait(world: &mut World, kind: Kind, refused: Refused) {
    let mut refused = Some(refused);
    with(world, kind, |mirror| mirror.waiting.extend(refused.take()));
    // Nothing is mirrored any more.
    report_all(world, refused.into_iter().flat_map(|refused| refused.errors));
}

/// Makes the pairs of an entity those of a component as far as the rules allow it, and writes the component from the pairs.
pub(super) fn apply_to(world: &mut World, kind: Kind, source: Entity, wanted: &dyn MirrorValue) -> Errors {
    let mut errors = Errors::default();
    let applying = Applying::begin(world, kind, source);
    let world = &mut *applying.world;
    // The component stays among those written until the pairs are set: it is written back once, and if an observer panics,
    // the next maintenance applies it again.
    wanted.apply(world, source, &mut errors);
    unmet::note(world, kind, source, wanted, &errors);
    with(world, kind, |mirror| {
        mirror.written.remove(&source);
        mirror.due.push_back(source.into());
    });
    write::update(world, kind, None);
    errors
}

/// The component of an entity is being applied, until this is dropped.
struct Applying<'w> {
    world: &'w mut World,
    kind: Kind,
    before: Option<Entity>,
}

impl<'w> Applying<'w> {
    fn begin(world: &'w mut World, kind: Kind, source: Entity) -> Self {
        let before = with(world, kind, |mirror| mirror.applying.replace(source)).flatten();
        Self { world, kind, before }
    }
}

impl Drop for Applying<'_> {
    fn drop(&mut self) {
        let before = self.before;
        with(self.world, self.kind, |mirror| mirror.applying = before);
    }
}
