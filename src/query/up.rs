//! Data of the nearest entity up a relation that has it: [`Up`], [`SelfUp`] and [`Cached`].

use super::{
    climb::{Climb, ClimbFetch, ClimbState},
    macros::{query_data, require_traversable},
};
use crate::fetch::SharedData;
use crate::relation::TraversableRelation;
use bevy_ecs::{
    entity::Entity,
    query::{ReadOnlyQueryData, ReleaseStateQueryData},
    storage::TableRow,
};
use core::{any::type_name, marker::PhantomData};

/// Query data: `D` of the nearest entity up relation `R` for which there is `D`.
///
/// The search starts with the targets of the entity, which are 1 step away; see [`SelfUp`] for one that starts with the
/// entity itself. Holders that are nearer than `MIN` steps or farther than `MAX` are passed over. Where an entity has
/// several targets, all that is found from the first comes before the second. An entity for which nothing is found
/// does not match; write `Option<Up<..>>` to get it as well.
///
/// As with every `Query`, `D` of disabled entities is not read; the search goes on above them.
///
/// In the book: [Walks, islands, disabling](crate::book::walks).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, query::Up};
///
/// #[derive(Relation)]
/// #[relation(exclusive, traversable)]
/// struct MountedOn;
///
/// #[derive(Component)]
/// struct Armor(u32);
///
/// #[derive(Component)]
/// struct Health(u32);
///
/// fn repair(mut parts: Query<(&mut Health, Up<MountedOn, &Armor>)>) {
///     for (mut health, armor) in &mut parts {
///         health.0 += armor.0;
///     }
/// }
///
/// // Only the two entities next above.
/// fn near(parts: Query<Up<MountedOn, &Armor, 1, 2>>) -> usize {
///     parts.iter().count()
/// }
/// # let mut world = World::new();
/// # let ship = world.spawn(Armor(5)).id();
/// # let [turret, gun] = [(); 2].map(|()| world.spawn(Health(1)).id());
/// # world.insert_pairs(turret, [(MountedOn, ship)]).unwrap();
/// # world.insert_pairs(gun, [(MountedOn, turret)]).unwrap();
/// # world.run_system_cached(repair).unwrap();
/// # assert_eq!([turret, gun].map(|part| world.get::<Health>(part).unwrap().0), [6, 6]);
/// # assert_eq!(world.run_system_cached(near).unwrap(), 2);
/// ```
///
/// A minimum above the maximum is a compile error:
///
/// ```compile_fail
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{prelude::*, query::Up};
/// fn never(_: Query<Up<ChildOf, &Name, 3, 2>>) {}
/// let mut world = World::new();
/// world.run_system_cached(never).unwrap();
/// ```
///
/// # Complexity
/// O(entities that are met). Searches of one iteration share their results where their paths meet: without limits,
/// each entity is entered a constant number of times per iteration, however many lie below it. [`Cached`] avoids that
/// too.
///
/// # Panics
/// When a system is initialised, if `R` is a Bevy relationship that allows an entity to point to itself.
pub struct Up<R: TraversableRelation, D, const MIN: u32 = 1, const MAX: u32 = { u32::MAX }>(
    PhantomData<fn() -> (R, D)>,
);

/// Query data: as [`Up`], looking at the entity itself first.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, query::SelfUp};
///
/// #[derive(Component)]
/// struct Theme(u32);
///
/// #[derive(Component)]
/// struct Color(u32);
///
/// fn paint(mut buttons: Query<(&mut Color, SelfUp<ChildOf, &Theme>)>) {
///     for (mut color, theme) in &mut buttons {
///         color.0 = theme.0;
///     }
/// }
/// # let mut world = World::new();
/// # let window = world.spawn(Theme(3)).id();
/// # let buttons = [world.spawn((Color(0), ChildOf(window))).id(), world.spawn((Color(0), Theme(7), ChildOf(window))).id()];
/// # world.run_system_cached(paint).unwrap();
/// # assert_eq!(buttons.map(|button| world.get::<Color>(button).unwrap().0), [3, 7]);
/// ```
pub type SelfUp<R, D, const MAX: u32 = { u32::MAX }> = Up<R, D, 0, MAX>;

/// Query data: as the [`Up`] or [`SelfUp`] within, keeping what was found for the next iteration.
///
/// Worth it where hierarchies are large and change little: then nothing is searched for, and an entity costs about as
/// much as if it had the data itself. When pairs or holders have changed, what lies below them is searched for
/// anew as soon as the query is used. The price: four bytes per entity of the relation; a journal of its changes; and
/// observers of all components that decide whether there is `D`, which make adding and removing them slower.
///
/// `D` must depend on components only, not on pairs or change ticks, and there can be no limits.
///
/// In the book: [Walks, islands, disabling](crate::book::walks).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{prelude::*, query::{Cached, Up}};
/// # #[derive(Component)]
/// # struct Faction(u32);
/// # #[derive(Component)]
/// # struct Soldier;
/// fn muster(soldiers: Query<Cached<Up<ChildOf, &Faction>>, With<Soldier>>) -> usize {
///     soldiers.iter().filter(|faction| faction.0 == 7).count()
/// }
/// # let mut world = World::new();
/// # let army = world.spawn(Faction(7)).id();
/// # world.spawn((Soldier, ChildOf(army)));
/// # assert_eq!(world.run_system_cached(muster).unwrap(), 1);
/// ```
///
/// An observer that runs while one of the components is being added or removed may still read what was before.
///
/// # Panics
/// As for [`Up`].
pub struct Cached<U>(PhantomData<fn() -> U>);

/// # Safety
/// As for [`QueryData::fetch`](bevy_ecs::query::QueryData::fetch).
#[inline(always)]
unsafe fn climb<'w, 's, R, D, const MIN: u32, const MAX: u32, const CACHED: bool>(
    state: &'s ClimbState<D>,
    fetch: &mut ClimbFetch<'w, R, D>,
    entity: Entity,
    row: TableRow,
) -> Option<D::Item<'w, 's>>
where
    R: TraversableRelation,
    D: ReadOnlyQueryData,
{
    // SAFETY: as the caller promises.
    unsafe { Climb::<R, D, MIN, MAX, CACHED>::fetch(state, fetch, entity, row) }
}

query_data!(
    [R: TraversableRelation, D: SharedData, const MIN: u32, const MAX: u32] Up<R, D, MIN, MAX>,
    reads Climb<R, D, MIN, MAX, false>,
    prepare |world| require_traversable::<R>(world, type_name::<Self>()),
    item<'w, 's> D::Item<'w, 's>, fetch climb::<R, D, MIN, MAX, false>, shrink D::shrink, archetypal false
);

query_data!(
    [R: TraversableRelation, D: SharedData, const MIN: u32, const MAX: u32] Cached<Up<R, D, MIN, MAX>>,
    reads Climb<R, D, MIN, MAX, true>,
    prepare |world| require_traversable::<R>(world, type_name::<Self>()),
    item<'w, 's> D::Item<'w, 's>, fetch climb::<R, D, MIN, MAX, true>, shrink D::shrink, archetypal false
);

impl<R, D, const MIN: u32, const MAX: u32> ReleaseStateQueryData for Up<R, D, MIN, MAX>
where
    R: TraversableRelation,
    D: ReadOnlyQueryData + ReleaseStateQueryData,
{
    fn release_state<'w>(item: Self::Item<'w, '_>) -> Self::Item<'w, 'static> {
        D::release_state(item)
    }
}

impl<R, D, const MIN: u32, const MAX: u32> ReleaseStateQueryData for Cached<Up<R, D, MIN, MAX>>
where
    R: TraversableRelation,
    D: ReadOnlyQueryData + ReleaseStateQueryData,
{
    fn release_state<'w>(item: Self::Item<'w, '_>) -> Self::Item<'w, 'static> {
        D::release_state(item)
    }
}
