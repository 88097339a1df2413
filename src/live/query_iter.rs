//! Iterating over a [`LiveQuery`](super::LiveQuery).

use super::{expr::LiveExpr, levels::RowNumbers};
use crate::{
    expr::{Batch, Row, WorldAccess},
    fetch::FetchCursor,
};
use bevy_ecs::query::{QueryData, ROQueryItem};
use core::{fmt, iter::FusedIterator};

/// Iterator over the rows of a [`LiveQuery`](super::LiveQuery), each with the data of `$this`: see [`LiveQuery::iter`](super::LiveQuery::iter).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::live::LiveQuery;
/// #[derive(Component)]
/// struct Fuel(u32);
///
/// #[derive(Expression)]
/// #[expr("!(DockedTo, _)")]
/// struct Flying;
///
/// fn fuel(flying: LiveQuery<Flying, &Fuel>) -> u32 {
///     flying.iter().map(|(fuel, _row)| fuel.0).sum()
/// }
/// # let mut world = World::new();
/// # world.spawn_relation("DockedTo", RelationTraits::new())?;
/// # world.spawn_batch([Fuel(3), Fuel(4)]);
/// assert_eq!(world.run_system_cached(fuel)?, 7);
/// # Ok::<(), BevyError>(())
/// ```
pub struct LiveQueryIter<'a, 's, D: QueryData + 'static> {
    pub(super) data: FetchCursor<'a, 's, D::ReadOnly>,
    pub(super) live: &'a LiveExpr,
    /// Their numbers, and where they are.
    pub(super) rows: (RowNumbers<'a>, &'a Batch),
    pub(super) access: WorldAccess<'a>,
}

impl<'a, 's, D: QueryData + 'static> Iterator for LiveQueryIter<'a, 's, D> {
    type Item = (ROQueryItem<'a, 's, D>, Row<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let Self { data, live, rows: (numbers, batch), access } = self;
        let read = live.reader_in(batch, *access);
        numbers.find_map(|number| {
            let row = read(number);
            Some((data.get(row.this()?)?, row))
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.rows.0.len()))
    }
}

impl<D: QueryData + 'static> FusedIterator for LiveQueryIter<'_, '_, D> {}

impl<D: QueryData + 'static> fmt::Debug for LiveQueryIter<'_, '_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveQueryIter").field("left", &self.rows.0.len()).finish_non_exhaustive()
    }
}
