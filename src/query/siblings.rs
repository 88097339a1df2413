//! The other sources of an entity's targets: [`Siblings`].

use super::{
    entities::{DataIter, ReadEntities},
    macros::query_data,
    read::{AllChildren, ReadOrder, ReadPairs},
};
use crate::{
    fetch::SharedData,
    relation::Relation,
    store::{RelationIndex, SourceIter, TargetIter},
    traverse::RelationView,
};
use bevy_ecs::{
    entity::Entity,
    query::{QueryFilter, ReadOnlyQueryData, WorldQuery},
    storage::TableRow,
};
use core::{fmt, iter::FusedIterator, marker::PhantomData};

/// Query data: `D` of the siblings of an entity in relation `R` that match the filter `F`: of the other sources of its
/// targets.
///
/// The item is a [`DataIter`]: an iterator over `D`, target by target, and the sources of each in the order of
/// [`Sources`](super::Sources). An entity that shares several targets with this one comes once. Siblings that do not
/// match `D` are left out, and so are disabled ones, as by every `Query<D, F>`. An entity without any such sibling does
/// not match; write `Option<Siblings<..>>` to get it as well.
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, query::Siblings};
///
/// #[derive(Component)]
/// struct Width(u32);
///
/// fn share_row(mut fields: Query<(Entity, Siblings<ChildOf, &Width>)>) -> Vec<(Entity, u32)> {
///     fields.iter().map(|(field, others)| (field, others.map(|width| width.0).sum())).collect()
/// }
/// # let mut world = World::new();
/// # let row = world.spawn_empty().id();
/// # let fields = [1, 2, 4].map(|width| world.spawn((Width(width), ChildOf(row))).id());
/// # let widths = world.run_system_cached(share_row).unwrap();
/// # assert_eq!(widths, [(fields[0], 6), (fields[1], 5), (fields[2], 3)]);
/// ```
///
/// # Complexity
/// `O(1)` per source of a target, also per one that does not match; if the entity has several targets, `O(targets)`.
pub struct Siblings<R: Relation, D: 'static, F: QueryFilter + 'static = ()>(PhantomData<fn() -> (R, D, F)>);

/// Iterator over the other sources of the targets of an entity: what [`Siblings`] returns.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::query::Siblings;
/// #[derive(Component)]
/// struct Noise(u32);
///
/// fn noise(rooms: Query<(Entity, Siblings<ChildOf, &Noise>)>) -> Vec<(Entity, u32)> {
///     rooms.iter().map(|(room, others)| (room, others.map(|other| other.0).sum())).collect()
/// }
/// # let mut world = World::new();
/// # let house = world.spawn_empty().id();
/// # let [hall, attic] = [5, 1].map(|noise| world.spawn((Noise(noise), ChildOf(house))).id());
/// assert_eq!(world.run_system_cached(noise).unwrap(), [(hall, 1), (attic, 5)]);
/// ```
#[derive(Clone)]
pub struct SiblingIter<'w, 's> {
    entity: Entity,
    index: &'w RelationIndex,
    view: RelationView<'w, 's>,
    /// The targets that are left, and how many were begun.
    targets: TargetIter<'w>,
    begun: usize,
    sources: SourceIter<'w>,
}

impl<'w, 's> SiblingIter<'w, 's> {
    fn new(index: &'w RelationIndex, view: RelationView<'w, 's>, entity: Entity) -> Self {
        let (targets, sources) = (index.targets(entity), SourceIter::none());
        Self { entity, index, view, targets, begun: 0, sources }
    }

    /// Whether a source of the target at hand is one of a target before it as well.
    fn came_before(&self, source: Entity) -> bool {
        let before = self.begun.saturating_sub(1);
        before > 0
            && self.index.targets(self.entity).take(before).any(|target| self.index.has(source, target))
    }
}

impl Iterator for SiblingIter<'_, '_> {
    type Item = Entity;

    #[inline]
    fn next(&mut self) -> Option<Entity> {
        loop {
            while let Some(source) = self.sources.next() {
                if source != self.entity && !self.came_before(source) {
                    return Some(source);
                }
            }
            self.sources = self.view.sources(self.targets.next()?);
            self.begun += 1;
        }
    }
}

impl FusedIterator for SiblingIter<'_, '_> {}

impl fmt::Debug for SiblingIter<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

type SiblingReads<R, D, F> = (ReadPairs<R, false>, ReadEntities<D, F, false>, ReadOrder<R, AllChildren>);

/// # Safety
/// As for [`QueryData::fetch`](bevy_ecs::query::QueryData::fetch).
#[inline(always)]
unsafe fn siblings<'w, 's, R: Relation, D: ReadOnlyQueryData, F: QueryFilter + 'static>(
    (_, state, order): &'s <SiblingReads<R, D, F> as WorldQuery>::State,
    (pairs, siblings, children): &mut <SiblingReads<R, D, F> as WorldQuery>::Fetch<'w>,
    entity: Entity,
    row: TableRow,
) -> Option<DataIter<'w, 's, SiblingIter<'w, 's>, D, F>> {
    let index = pairs.index?;
    // SAFETY: as the caller promises.
    let view = unsafe { ReadOrder::<R, AllChildren>::view(Some(index), order, children, entity, row) };
    // SAFETY: the state belongs to the fetch, and the caller keeps the right to what they declare.
    unsafe { DataIter::new(SiblingIter::new(index, view, entity), state, siblings) }
}

query_data!(
    [R: Relation, D: SharedData + 'static, F: QueryFilter + 'static] Siblings<R, D, F>,
    reads SiblingReads<R, D, F>, prepare |_| (),
    item<'w, 's> DataIter<'w, 's, SiblingIter<'w, 's>, D, F>, fetch siblings::<R, D, F>, shrink DataIter::shrink,
    archetypal false
);
