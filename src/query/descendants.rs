//! Data of everything below an entity: [`Descendants`].

use super::{
    entities::{EntitiesFetch, EntitiesState, ReadEntities, is_unit},
    macros::{query_data, require_traversable},
    read::{AllChildren, ReadOrder, ReadPairs},
};
use crate::fetch::SharedData;
use crate::{relation::TraversableRelation, traverse::WalkIter};
use bevy_ecs::{
    entity::Entity,
    query::{ArchetypeQueryData, QueryFilter, ReadOnlyQueryData, WorldQuery},
    storage::TableRow,
};
use core::{any::type_name, iter::FusedIterator, marker::PhantomData};

/// Query data: `D` of all entities below an entity in relation `R`, depth first; where a filter `P` does not match,
/// without what lies below.
///
/// The item is a [`DescendantsItem`]: an iterator over `D`. Matches every entity; one without sources has no
/// descendants. `D` of disabled entities is not read, but what lies below them is. With a filter `P`, an entity that
/// `Query<(), P>` would not return is left out with everything below it, unless another way leads there, and so is a
/// disabled entity, unless `P` names `Disabled`.
///
/// In the book: [Walks, islands, disabling](crate::book::walks).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, query::Descendants};
///
/// #[derive(Component)]
/// struct Mass(f32);
///
/// #[derive(Component)]
/// struct Vehicle;
///
/// // The mass of all parts of a vehicle, but not of the vehicles that it carries.
/// fn masses(
///     vehicles: Query<(Entity, Descendants<ChildOf, &Mass, Without<Vehicle>>), With<Vehicle>>,
/// ) -> Vec<(Entity, f32)> {
///     vehicles.iter().map(|(vehicle, parts)| (vehicle, parts.map(|mass| mass.0).sum())).collect()
/// }
/// # let mut world = World::new();
/// # let ferry = world.spawn(Vehicle).id();
/// # let deck = world.spawn((Mass(90.0), ChildOf(ferry))).id();
/// # let car = world.spawn((Vehicle, Mass(0.5), ChildOf(deck))).id();
/// # world.spawn((Mass(1.0), ChildOf(car)));
/// # assert_eq!(world.run_system_cached(masses).unwrap(), [(ferry, 90.0), (car, 1.0)]);
/// ```
///
/// # Complexity
/// `O(pairs)` below the entity, without what is pruned. If entities can be reached in several ways, those visited are
/// stored.
///
/// # Panics
/// As for [`Down`](super::Down).
pub struct Descendants<R: TraversableRelation, D: 'static, P: QueryFilter + 'static = ()>(
    PhantomData<fn() -> (R, D, P)>,
);

/// What [`Descendants`] returns: an iterator over data, depth first.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::query::Descendants;
/// #[derive(Component)]
/// struct Ship;
///
/// fn parts(ships: Query<Descendants<ChildOf, Entity>, With<Ship>>) -> [Vec<Entity>; 3] {
///     let parts = || ships.single().unwrap();
///     let mut pruned = Vec::new();
///     let mut walk = parts();
///     while let Some(part) = walk.next() {
///         pruned.push(part);
///         walk.prune(); // nothing below it
///     }
///     [parts().breadth_first().collect(), parts().at_most(1).collect(), pruned]
/// }
/// # let mut world = World::new();
/// let ship = world.spawn(Ship).id();
/// let [left, right] = [(); 2].map(|()| world.spawn(ChildOf(ship)).id());
/// let gun = world.spawn(ChildOf(left)).id();
/// let found = world.run_system_cached(parts).unwrap();
/// assert_eq!(found, [vec![left, right, gun], vec![left, right], vec![left, right]]);
/// ```
pub struct DescendantsItem<'w, 's, D: ReadOnlyQueryData, P: QueryFilter> {
    walk: WalkIter<'w, 's>,
    data: (&'s EntitiesState<D, ()>, EntitiesFetch<'w, D, ()>),
    /// Decides at which entities to go on.
    pruning: (&'s EntitiesState<(), P>, EntitiesFetch<'w, (), P>),
}

impl<'w, 's, D: ReadOnlyQueryData, P: QueryFilter> DescendantsItem<'w, 's, D, P> {
    /// All entities of one depth before those of the next.
    #[must_use]
    pub fn breadth_first(self) -> Self {
        Self { walk: self.walk.breadth_first(), ..self }
    }

    /// Not further than `limit` steps down; the rest is left out without an error.
    #[must_use]
    pub fn at_most(self, limit: u32) -> Self {
        Self { walk: self.walk.at_most(limit), ..self }
    }

    /// Leaves out everything below the entity whose data was returned last, unless another way leads there.
    pub fn prune(&mut self) {
        self.walk.prune();
    }

    fn shrink<'short>(self) -> DescendantsItem<'short, 's, D, P>
    where
        'w: 'short,
    {
        let Self { walk, data, pruning } = self;
        DescendantsItem { walk, data: (data.0, data.1.shrink()), pruning: (pruning.0, pruning.1.shrink()) }
    }
}

impl<'w, 's, D: ReadOnlyQueryData, P: QueryFilter + 'static> Iterator for DescendantsItem<'w, 's, D, P> {
    type Item = D::Item<'w, 's>;

    fn next(&mut self) -> Option<D::Item<'w, 's>> {
        let Self { walk, data, pruning } = self;
        loop {
            let (entity, _) = walk.next()?;
            // SAFETY: the states belong to the fetches, whose right to read lasts as long as the item: `descendants` says so.
            let item = unsafe {
                if !is_unit::<P>() && !pruning.1.matches(pruning.0, entity) {
                    walk.prune();
                    continue;
                }
                data.1.get(data.0, entity)
            };
            if item.is_some() {
                return item;
            }
        }
    }
}

impl<D: ReadOnlyQueryData, P: QueryFilter + 'static> FusedIterator for DescendantsItem<'_, '_, D, P> {}

type DescendantsReads<R, D, P> =
    (ReadPairs<R, false>, ReadEntities<D, (), false>, ReadEntities<(), P, true>, ReadOrder<R, AllChildren>);

/// # Safety
/// As for [`QueryData::fetch`](bevy_ecs::query::QueryData::fetch): the caller keeps the right to what is declared for
/// as long as the item lives.
#[inline(always)]
unsafe fn descendants<'w, 's, R, D, P>(
    (_, data, pruning, order): &'s <DescendantsReads<R, D, P> as WorldQuery>::State,
    fetch: &mut <DescendantsReads<R, D, P> as WorldQuery>::Fetch<'w>,
    entity: Entity,
    row: TableRow,
) -> Option<DescendantsItem<'w, 's, D, P>>
where
    R: TraversableRelation,
    D: ReadOnlyQueryData,
    P: QueryFilter + 'static,
{
    // SAFETY: as the caller promises.
    let view = unsafe { ReadOrder::<R, AllChildren>::view(fetch.0.index, order, &mut fetch.3, entity, row) };
    Some(DescendantsItem {
        walk: view.descendants(entity),
        data: (data, fetch.1.clone()),
        pruning: (pruning, fetch.2.clone()),
    })
}

query_data!(
    [R: TraversableRelation, D: SharedData + 'static, P: QueryFilter + 'static] Descendants<R, D, P>,
    reads DescendantsReads<R, D, P>,
    prepare |world| require_traversable::<R>(world, type_name::<Self>()),
    item<'w, 's> DescendantsItem<'w, 's, D, P>, fetch descendants::<R, D, P>, shrink DescendantsItem::shrink,
    archetypal true
);

impl<R, D, P> ArchetypeQueryData for Descendants<R, D, P>
where
    R: TraversableRelation,
    D: ReadOnlyQueryData + 'static,
    P: QueryFilter + 'static,
{
}
