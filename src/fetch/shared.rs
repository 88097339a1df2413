//! The bound on data of which several rows may hold the same.

use bevy_ecs::query::ReadOnlyQueryData;

/// Query data of which several rows can read the same at a time: all that is [`ReadOnlyQueryData`].
///
/// Terms that lead to other entities, such as [`TargetsWith`](crate::query::TargetsWith), ask for it, since two rows may lead to
/// one entity.
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
