//! The bound on data of which several rows may hold the same.

use bevy_ecs::query::ReadOnlyQueryData;

/// Query data that several rows can read of one entity at a time: every [`ReadOnlyQueryData`].
///
/// Terms that lead to other entities, such as [`TargetsWith`](crate::query::TargetsWith), require it, since two rows may lead to
/// one entity.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, query::{SharedData, Up}};
///
/// /// How many entities read something from the entities that they are children of.
/// fn count<D: SharedData + 'static>(entities: Query<Up<ChildOf, D>>) -> usize {
///     entities.iter().count()
/// }
///
/// let mut world = World::new();
/// let ship = world.spawn(Name::new("Kite")).id();
/// world.spawn_batch([ChildOf(ship), ChildOf(ship)]);
/// assert_eq!(world.run_system_cached(count::<&Name>)?, 2);
/// # Ok::<(), BevyError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from other entities: a term needs query data that only reads",
    label = "not read-only query data",
    note = "write `&C` to read a component `C`; the relation comes first, as in `Up<R, &C>`",
    note = "several rows may lead to one entity, so that `&mut C` is refused: write either end with `PairQuery::for_each`, \
            hierarchies with `CascadeQuery<R, &mut C, &C>`"
)]
pub trait SharedData: ReadOnlyQueryData {}

#[diagnostic::do_not_recommend]
impl<D: ReadOnlyQueryData> SharedData for D {}
