//! The sources of an entity: [`Sources`].

use super::{
    macros::query_data,
    read::{PairValues, ReadOrder, ReadPairs},
};
use crate::{relation::Relation, store::SourceIter, traverse::ordered_by};
use bevy_ecs::{
    entity::Entity,
    query::{NestedQuery, QueryData, WorldQuery},
    storage::TableRow,
    system::Query,
};
use core::{fmt, iter::FusedIterator, marker::PhantomData};

/// Query data: all sources of an entity in relation `R`: those that have the pair `(R, entity)`.
///
/// In insertion order, or the order given by the user, if the relation is ordered; in that of
/// [`Children`](bevy_ecs::hierarchy::Children) for `ChildOf`; in any order otherwise. An entity without a source
/// does not match; write `Option<Sources<R>>` to get it as well.
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::prelude::*;
///
/// #[derive(Relation)]
/// #[relation(exclusive)]
/// struct DockedTo;
///
/// fn report(stations: Query<(&Name, Sources<DockedTo>)>, ships: Query<&Name>) -> Vec<String> {
///     let mut lines = Vec::new();
///     for (station, docked) in &stations {
///         let first = docked.clone().next().and_then(|ship| ships.get(ship).ok());
///         lines.push(format!("{station}: {} ships, the first is {}", docked.len(), first.map_or("?", Name::as_str)));
///     }
///     lines
/// }
/// # let mut world = World::new();
/// # let earth = world.spawn(Name::new("Earth")).id();
/// # for name in ["Kite", "Swift"] {
/// #     world.spawn((Name::new(name), Pair(DockedTo, earth)));
/// # }
/// # assert_eq!(world.run_system_cached(report).unwrap(), ["Earth: 2 ships, the first is Kite"]);
/// ```
///
/// # Complexity
/// O(sources); O(1) for the value of a pair.
pub struct Sources<R: Relation>(PhantomData<fn() -> R>);

/// Pairs with their values. A relationship that is a component has its values on the sources.
type SourceReads<R> = (ReadPairs<R, true>, ReadOrder<R>, NestedQuery<<R as Relation>::Component>);

/// What [`Sources`] returns: an iterator over sources.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// #[derive(Relation)]
/// struct Eats(u32);
///
/// fn eaten(food: Query<(Entity, Sources<Eats>)>) -> Vec<(Entity, u32)> {
///     food.iter().map(|(food, eaters)| (food, eaters.with_values().map(|(_, eats)| eats.0).sum())).collect()
/// }
/// # let mut world = World::new();
/// # let hay = world.spawn_empty().id();
/// # world.spawn_batch_with_pair([((), Eats(50), hay), ((), Eats(8), hay)]);
/// assert_eq!(world.run_system_cached(eaten).unwrap(), [(hay, 58)]);
/// ```
pub struct SourcesItem<'w, 's, R: Relation> {
    target: Entity,
    sources: SourceIter<'w>,
    values: PairValues<'w, R>,
    components: Query<'w, 's, R::Component>,
}

impl<'w, 's, R: Relation> SourcesItem<'w, 's, R> {
    /// The sources with the values of their pairs. Empty if the relation has no fields.
    ///
    /// A relationship that is a component is read as by a `Query`, which skips disabled entities.
    pub fn with_values(&self) -> impl Iterator<Item = (Entity, &'w R)> + use<'w, 's, R> {
        let Self { target, sources, values, components } = self.clone();
        let value = move |source| match values.get(source, target) {
            None => R::value_in(components.get_inner(source).ok()?),
            value => value,
        };
        sources.filter_map(move |source| Some((source, value(source)?)))
    }
}

impl<R: Relation> Clone for SourcesItem<'_, '_, R> {
    fn clone(&self) -> Self {
        Self { sources: self.sources.clone(), ..*self }
    }
}

impl<R: Relation> Iterator for SourcesItem<'_, '_, R> {
    type Item = Entity;

    #[inline]
    fn next(&mut self) -> Option<Entity> {
        self.sources.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.sources.size_hint()
    }
}

impl<R: Relation> ExactSizeIterator for SourcesItem<'_, '_, R> {}

impl<R: Relation> FusedIterator for SourcesItem<'_, '_, R> {}

impl<R: Relation> fmt::Debug for SourcesItem<'_, '_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sources.fmt(f)
    }
}

/// # Safety
/// As for [`QueryData::fetch`].
#[inline(always)]
unsafe fn sources<'w, 's, R: Relation>(
    state: &'s <SourceReads<R> as WorldQuery>::State,
    fetch: &mut <SourceReads<R> as WorldQuery>::Fetch<'w>,
    target: Entity,
    row: TableRow,
) -> Option<SourcesItem<'w, 's, R>> {
    let sources = fetch.0.index?.sources(target);
    if sources.len() == 0 {
        return None;
    }
    // SAFETY: as the caller promises.
    let sources =
        ordered_by(unsafe { ReadOrder::<R>::children(&state.1, &mut fetch.1, target, row) }, sources);
    // SAFETY: as the caller promises.
    let components = unsafe { NestedQuery::fetch(&state.2, &mut fetch.2, target, row)? };
    Some(SourcesItem { target, sources, values: fetch.0.values(), components })
}

query_data!(
    [R: Relation] Sources<R>, reads SourceReads<R>, prepare |_| (),
    item<'w, 's> SourcesItem<'w, 's, R>, fetch sources, shrink |item| item, archetypal false
);
