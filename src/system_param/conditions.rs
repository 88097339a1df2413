//! Run conditions.

use super::{Pairs, RemovedPairs};
use crate::relation::Relation;
use bevy_ecs::system::Local;

/// A run condition: any pair of `R` exists. Constant time.
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, system_param::any_pair};
///
/// #[derive(Relation)]
/// struct Hunts;
///
/// #[derive(Resource, Default)]
/// struct Rounds(u32);
///
/// let mut world = World::new();
/// world.init_resource::<Rounds>();
/// let mut schedule = Schedule::default();
/// schedule.add_systems((|mut rounds: ResMut<Rounds>| rounds.0 += 1).run_if(any_pair::<Hunts>));
///
/// schedule.run(&mut world);
/// let (fox, hare) = (world.spawn_empty().id(), world.spawn_empty().id());
/// world.insert_pair(fox, Hunts, hare)?;
/// schedule.run(&mut world);
/// assert_eq!(world.resource::<Rounds>().0, 1);
/// # Ok::<(), bevy_ecs::error::BevyError>(())
/// ```
pub fn any_pair<R: Relation>(pairs: Pairs<R>) -> bool {
    !pairs.is_empty()
}

/// A run condition: pairs of `R` were inserted or removed, put into another order, or given another value by
/// insertion, since the condition was last evaluated. Constant time; true the first time if there are pairs.
///
/// Two changes that undo each other still count.
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, system_param::pairs_changed};
///
/// #[derive(Relation)]
/// struct Road;
///
/// #[derive(Resource, Default)]
/// struct Maps(u32);
///
/// fn draw_map(mut maps: ResMut<Maps>) {
///     maps.0 += 1;
/// }
///
/// let mut world = World::new();
/// world.init_resource::<Maps>();
/// let mut schedule = Schedule::default();
/// schedule.add_systems(draw_map.run_if(pairs_changed::<Road>));
/// let [rome, capua] = [(); 2].map(|()| world.spawn_empty().id());
/// world.insert_pair(rome, Road, capua)?;
/// schedule.run(&mut world);
/// schedule.run(&mut world);
/// assert_eq!(world.resource::<Maps>().0, 1);
/// # Ok::<(), bevy_ecs::error::BevyError>(())
/// ```
pub fn pairs_changed<R: Relation>(pairs: Pairs<R>, mut seen: Local<u64>) -> bool {
    let changed = *seen != pairs.version();
    *seen = pairs.version();
    changed
}

/// A run condition: pairs of `R` were removed since the condition was last evaluated. See [`RemovedPairs`] for what
/// counts.
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, system_param::any_pair_removed};
///
/// #[derive(Relation)]
/// struct DockedTo;
///
/// #[derive(Resource, Default)]
/// struct Cleared(u32);
///
/// fn clear_the_gate(mut cleared: ResMut<Cleared>) {
///     cleared.0 += 1;
/// }
///
/// let mut schedule = Schedule::default();
/// schedule.add_systems(clear_the_gate.run_if(any_pair_removed::<DockedTo>));
/// # let mut world = World::new();
/// # world.init_resource::<Cleared>();
/// # let gate = world.spawn_empty().id();
/// # let ship = world.spawn(Pair(DockedTo, gate)).id();
/// # schedule.run(&mut world);
/// # world.remove_pair::<DockedTo>(ship, gate);
/// # schedule.run(&mut world);
/// # schedule.run(&mut world);
/// # assert_eq!(world.resource::<Cleared>().0, 1);
/// ```
pub fn any_pair_removed<R: Relation>(mut removed: RemovedPairs<R>) -> bool {
    // Asked for all of them, so that the next time starts anew.
    removed.read().count() > 0
}
