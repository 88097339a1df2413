//! What the compiler says where a pair stands in a query: [`Pair`](struct@Pair) is for bundles.

use super::macros::query_data;
use crate::{
    ops::{Pair, PairTarget},
    relation::Relation,
};
use bevy_ecs::{entity::Entity, query::QueryFilter, storage::TableRow};

/// The bound of pairs as query data. No type implements it, so that the compiler prints this message.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`Pair<{Self}>` is for bundles, not for queries",
    label = "a pair in a query",
    note = "to read the targets, write `Targets<{Self}>`, or `Target<{Self}>` if there is one at most; the sources, `Sources<{Self}>`",
    note = "to filter by pairs, write `Related<{Self}>` or `TargetOf<{Self}>`; by having none, `Unrelated<{Self}>`"
)]
pub trait PairIsNotAQueryTerm {}

query_data!(
    [R: Relation + PairIsNotAQueryTerm, T: PairTarget] Pair<R, T>,
    reads (), prepare |_| (),
    item<'w, 's> (), fetch nothing, shrink |()| (), archetypal true
);

/// # Safety
/// None is needed.
unsafe fn nothing(_: &(), _: &mut (), _: Entity, _: TableRow) -> Option<()> {
    Some(())
}

// SAFETY: it accesses nothing.
unsafe impl<R: Relation + PairIsNotAQueryTerm, T: PairTarget> QueryFilter for Pair<R, T> {
    const IS_ARCHETYPAL: bool = true;

    unsafe fn filter_fetch(_: &(), _: &mut (), _: Entity, _: TableRow) -> bool {
        true
    }
}
