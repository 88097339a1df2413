//! The targets of an entity: [`Target`] and [`Targets`].

use super::{
    first_target::ReadFirstTarget,
    macros::{query_data, release_state},
    read::{PairValues, ReadPairs},
};
use crate::{
    relation::{KeyedRelation, Relation},
    store::TargetIter,
};
use bevy_ecs::{
    entity::Entity,
    query::{QueryData, WorldQuery},
    storage::TableRow,
};
use core::{fmt, iter::FusedIterator, marker::PhantomData, ops::Deref};

/// Query data: the first target of an entity in relation `R`, the only one if `R` is exclusive.
///
/// An entity without a target does not match; write `Option<Target<R>>` to get it as well. The item is a
/// [`TargetItem`], which dereferences to the target.
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, query::Target};
///
/// #[derive(Relation)]
/// #[relation(exclusive)]
/// struct DockedTo {
///     since: u32,
/// }
///
/// fn report(ships: Query<(&Name, Target<DockedTo>)>, stations: Query<&Name>) -> Vec<String> {
///     let mut lines = Vec::new();
///     for (ship, station) in &ships {
///         if let (Some(docked), Ok(name)) = (station.value(), stations.get(*station)) {
///             lines.push(format!("{ship} has been at {name} since {}", docked.since));
///         }
///     }
///     lines
/// }
/// # let mut world = World::new();
/// # let earth = world.spawn(Name::new("Earth")).id();
/// # world.spawn((Name::new("Kite"), Pair(DockedTo { since: 2184 }, earth)));
/// # assert_eq!(world.run_system_cached(report).unwrap(), ["Kite has been at Earth since 2184"]);
/// ```
///
/// # Complexity
/// Constant per entity, also when the value is read.
pub struct Target<R: Relation>(PhantomData<fn() -> R>);

/// Query data: all targets of an entity in relation `R`, in insertion order.
///
/// An entity without a target does not match; write `Option<Targets<R>>` to get it as well. The item is a
/// [`TargetsItem`]: an iterator over the targets, or over targets with the values of their pairs.
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::prelude::*;
///
/// #[derive(Relation)]
/// struct Eats {
///     grams: u32,
/// }
///
/// #[derive(Component)]
/// struct Meal {
///     dishes: usize,
///     grams: u32,
/// }
///
/// fn eat(mut animals: Query<(&mut Meal, Targets<Eats>)>) {
///     for (mut meal, food) in &mut animals {
///         meal.dishes = food.len();
///         meal.grams = food.with_values().map(|(_, eats)| eats.grams).sum();
///     }
/// }
/// # let mut world = World::new();
/// # let [apple, hay] = [(); 2].map(|()| world.spawn_empty().id());
/// # let food = pairs![(Eats { grams: 150 }, apple), (Eats { grams: 900 }, hay)];
/// # let horse = world.spawn((Meal { dishes: 0, grams: 0 }, food)).id();
/// # world.run_system_cached(eat).unwrap();
/// # let meal = world.get::<Meal>(horse).unwrap();
/// # assert_eq!((meal.dishes, meal.grams), (2, 1050));
/// ```
///
/// # Complexity
/// O(targets); O(1) for the value of a pair.
pub struct Targets<R: Relation>(PhantomData<fn() -> R>);

/// Pairs with their values. A relationship that is a component has its value on the entity at hand.
type TargetReads<R> = (ReadPairs<R, true>, <R as Relation>::Component);

/// [`TargetReads`] and, where tables have it, the first target.
type FirstTargetReads<R> = (TargetReads<R>, ReadFirstTarget<R>);

type State<R> = <TargetReads<R> as WorldQuery>::State;
type Fetch<'w, R> = <TargetReads<R> as WorldQuery>::Fetch<'w>;

/// Where the values of the pairs of one source are.
struct ValuesOf<'w, R: Relation> {
    source: Entity,
    values: PairValues<'w, R>,
    component: Option<&'w R>,
}

impl<R: Relation> Copy for ValuesOf<'_, R> {}

impl<R: Relation> Clone for ValuesOf<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'w, R: Relation> ValuesOf<'w, R> {
    /// # Safety
    /// As for [`QueryData::fetch`].
    #[inline]
    unsafe fn new(state: &State<R>, fetch: &mut Fetch<'w, R>, source: Entity, row: TableRow) -> Self {
        // SAFETY: as the caller promises.
        let component = unsafe { R::Component::fetch(&state.1, &mut fetch.1, source, row) };
        Self { source, values: fetch.0.values(), component: component.and_then(R::value_in) }
    }

    #[inline]
    fn value(&self, target: Entity) -> Option<&'w R> {
        self.component.or_else(|| self.values.get(self.source, target))
    }
}

/// What [`Target`] returns: an [`Entity`], with the value of the pair.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::query::Target;
/// #[derive(Relation)]
/// #[relation(exclusive)]
/// struct DockedTo {
///     since: u32,
/// }
///
/// fn report(ships: Query<Target<DockedTo>>) -> Vec<(Entity, u32)> {
///     ships.iter().map(|port| (*port, port.value().unwrap().since)).collect()
/// }
/// # let mut world = World::new();
/// # let port = world.spawn_empty().id();
/// # world.spawn(Pair(DockedTo { since: 1901 }, port));
/// assert_eq!(world.run_system_cached(report).unwrap(), [(port, 1901)]);
/// ```
pub struct TargetItem<'w, R: Relation> {
    target: Entity,
    values: ValuesOf<'w, R>,
}

impl<'w, R: Relation> TargetItem<'w, R> {
    /// The value of the pair. `None` if the relation has no fields.
    #[inline]
    pub fn value(&self) -> Option<&'w R> {
        self.values.value(self.target)
    }
}

impl<R: Relation> Copy for TargetItem<'_, R> {}

impl<R: Relation> Clone for TargetItem<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: Relation> Deref for TargetItem<'_, R> {
    type Target = Entity;

    #[inline]
    fn deref(&self) -> &Entity {
        &self.target
    }
}

impl<R: Relation> fmt::Debug for TargetItem<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TargetItem").field(&self.target).finish()
    }
}

/// What [`Targets`] returns: an iterator over targets, in insertion order.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// #[derive(Relation)]
/// struct Eats(u32);
///
/// fn report(animals: Query<Targets<Eats>>) -> Vec<(Entity, u32)> {
///     animals.iter().flat_map(|food| food.with_values()).map(|(food, eats)| (food, eats.0)).collect()
/// }
/// # let mut world = World::new();
/// # let [hay, oats] = [(); 2].map(|()| world.spawn_empty().id());
/// # world.spawn(pairs![(Eats(50), hay), (Eats(8), oats)]);
/// assert_eq!(world.run_system_cached(report).unwrap(), [(hay, 50), (oats, 8)]);
/// ```
pub struct TargetsItem<'w, R: Relation> {
    targets: TargetIter<'w>,
    values: ValuesOf<'w, R>,
}

impl<'w, R: Relation> TargetsItem<'w, R> {
    /// The targets with the values of their pairs. Empty if the relation has no fields.
    pub fn with_values(&self) -> impl Iterator<Item = (Entity, &'w R)> + Clone + use<'w, R> {
        let Self { targets, values } = self.clone();
        targets.filter_map(move |target| Some((target, values.value(target)?)))
    }
}

impl<'w, R: KeyedRelation> TargetsItem<'w, R> {
    /// The target whose pair has the key, and the value of the pair.
    ///
    /// ```
    /// # use bevy_ecs::{prelude::*, system::RunSystemOnce};
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation)]
    /// #[relation(key = u8)]
    /// struct Carries(u8);
    ///
    /// # let mut world = World::new();
    /// # let arrows = world.spawn_empty().id();
    /// # world.spawn(Pair(Carries(3), arrows));
    /// # let look = move |players: Query<Targets<Carries>>| {
    /// for carried in &players {
    ///     let (stack, _) = carried.by_key(&3).unwrap();
    ///     assert_eq!(stack, arrows);
    /// }
    /// # };
    /// # world.run_system_once(look).unwrap();
    /// ```
    ///
    /// # Complexity
    /// O(targets).
    pub fn by_key(&self, key: &R::Key) -> Option<(Entity, &'w R)> {
        self.with_values().find(|(_, value)| value.key() == key)
    }
}

impl<R: Relation> Clone for TargetsItem<'_, R> {
    fn clone(&self) -> Self {
        Self { targets: self.targets.clone(), values: self.values }
    }
}

impl<R: Relation> Iterator for TargetsItem<'_, R> {
    type Item = Entity;

    #[inline]
    fn next(&mut self) -> Option<Entity> {
        self.targets.next()
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.targets.size_hint()
    }

    #[inline]
    fn fold<B, F: FnMut(B, Entity) -> B>(self, init: B, f: F) -> B {
        self.targets.fold(init, f)
    }
}

impl<R: Relation> ExactSizeIterator for TargetsItem<'_, R> {}

impl<R: Relation> FusedIterator for TargetsItem<'_, R> {}

impl<R: Relation> fmt::Debug for TargetsItem<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.targets.fmt(f)
    }
}

/// # Safety
/// As for [`QueryData::fetch`].
#[inline(always)]
unsafe fn target<'w, R: Relation>(
    (state, _): &<FirstTargetReads<R> as WorldQuery>::State,
    (fetch, first): &mut <FirstTargetReads<R> as WorldQuery>::Fetch<'w>,
    source: Entity,
    row: TableRow,
) -> Option<TargetItem<'w, R>> {
    // SAFETY: the row is one of the table at hand, as the caller promises.
    let target = match unsafe { first.get(row) } {
        Some(known) => known,
        None => fetch.0.first_target(source),
    };
    // SAFETY: as the caller promises.
    Some(TargetItem { target: target?, values: unsafe { ValuesOf::new(state, fetch, source, row) } })
}

/// # Safety
/// As for [`QueryData::fetch`].
#[inline(always)]
unsafe fn targets<'w, R: Relation>(
    state: &State<R>,
    fetch: &mut Fetch<'w, R>,
    source: Entity,
    row: TableRow,
) -> Option<TargetsItem<'w, R>> {
    let targets = fetch.0.index?.targets(source);
    if targets.len() == 0 {
        return None;
    }
    // SAFETY: as the caller promises.
    Some(TargetsItem { targets, values: unsafe { ValuesOf::new(state, fetch, source, row) } })
}

query_data!(
    [R: Relation] Target<R>, reads FirstTargetReads<R>, prepare |_| (),
    item<'w, 's> TargetItem<'w, R>, fetch target, shrink |item| item, archetypal false
);

query_data!(
    [R: Relation] Targets<R>, reads TargetReads<R>, prepare |_| (),
    item<'w, 's> TargetsItem<'w, R>, fetch targets, shrink |item| item, archetypal false
);

release_state!([R: Relation] Target<R>);
release_state!([R: Relation] Targets<R>);
