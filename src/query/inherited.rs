//! What instances share with their bases, and what they have themselves: [`Inherited`].

use super::{
    Target, Targets,
    climb::Climb,
    macros::{any_entity, query_data},
};
use crate::{
    fetch::AllEntities,
    relation::{IsA, OnInstantiate, Relation},
};
use bevy_ecs::{
    archetype::Archetype,
    change_detection::{Ref, Tick},
    component::Component,
    entity::Entity,
    query::{FilteredAccessSet, ReadOnlyQueryData, ReleaseStateQueryData, WorldQuery},
    storage::{Table, TableRow},
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};
use core::{any::TypeId, marker::PhantomData};

mod sealed {
    use super::{Component, Ref, Relation, Target, Targets};

    pub trait Sealed {}

    impl<C: Component> Sealed for &C {}
    impl<C: Component> Sealed for Ref<'_, C> {}
    impl<R: Relation> Sealed for Target<R> {}
    impl<R: Relation> Sealed for Targets<R> {}
}

/// What [`Inherited`] can read: a component, as `&C` or `Ref<C>`, and the pairs of a relation, as [`Target<R>`](Target)
/// or [`Targets<R>`](Targets).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::{query::{Inherited, Target, Targets}, relation::OnInstantiate};
/// # #[derive(Component)]
/// # struct Defense(u32);
/// #[derive(Relation)]
/// #[relation(on_instantiate = Inherit)]
/// struct BuiltBy;
///
/// fn ships(ships: Query<(Option<Inherited<Ref<Defense>>>, Inherited<Targets<BuiltBy>>)>) -> usize {
///     ships.iter().map(|(_, builders)| builders.count()).sum()
/// }
/// # let mut world = World::new();
/// # let yard = world.spawn_empty().id();
/// # let frigate = world.spawn(Pair(BuiltBy, yard)).id();
/// # world.spawn(Pair(IsA, frigate));
/// assert_eq!(world.run_system_cached(ships).unwrap(), 2);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be inherited",
    label = "not a component and not the targets of a relation",
    note = "`Inherited` takes `&C`, `Ref<C>`, `Target<R>` or `Targets<R>`; several of them are a tuple of `Inherited`s"
)]
pub trait InheritedData: ReadOnlyQueryData + sealed::Sealed {
    /// The type whose [`OnInstantiate`] decides.
    #[doc(hidden)]
    fn shared_type() -> TypeId;
}

impl<C: Component> InheritedData for &C {
    fn shared_type() -> TypeId {
        TypeId::of::<C>()
    }
}

impl<C: Component> InheritedData for Ref<'_, C> {
    fn shared_type() -> TypeId {
        TypeId::of::<C>()
    }
}

impl<R: Relation> InheritedData for Target<R> {
    fn shared_type() -> TypeId {
        TypeId::of::<R>()
    }
}

impl<R: Relation> InheritedData for Targets<R> {
    fn shared_type() -> TypeId {
        TypeId::of::<R>()
    }
}

/// Query data: `D` of the entity itself, or of the nearest base that has it.
///
/// The bases of an entity are the targets of its pairs of [`IsA`], and theirs: what is found from the first base,
/// through all levels above it, comes before the second. Bases are searched if `D` is shared: if its component or
/// relation has [`OnInstantiate::Inherit`]. Otherwise only the entity itself is read. An entity for which nothing is
/// found does not match; write `Option<Inherited<..>>` to get it as well.
///
/// A base may be a [`Prefab`](crate::relation::Prefab), [`Disabled`](bevy_ecs::entity_disabling::Disabled), or have any
/// other component that disables, if that was registered before the query was made. Whether the entity itself may have
/// one is decided by the filters of the query, as always.
///
/// In the book: [Prefabs](crate::book::prefabs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, query::Inherited, relation::OnInstantiate};
///
/// #[derive(Component)]
/// struct Defense(u32);
///
/// fn defend(ships: Query<(&Name, Inherited<&Defense>)>) -> Vec<(String, u32)> {
///     ships.iter().map(|(name, defense)| (name.to_string(), defense.0)).collect()
/// }
///
/// let mut world = World::new();
/// let defense = world.entity_of::<Defense>();
/// world.set_traits(defense, RelationTraits::new().on_instantiate(OnInstantiate::Inherit))?;
/// let frigate = world.spawn(Defense(50)).id();
/// world.spawn((Name::new("Ada"), Pair(IsA, frigate)));
/// world.spawn((Name::new("Bea"), Pair(IsA, frigate), Defense(70)));
/// let mut found = world.run_system_cached(defend).unwrap();
/// found.sort();
/// assert_eq!(found, [("Ada".into(), 50), ("Bea".into(), 70)]);
/// # Ok::<(), BevyError>(())
/// ```
///
/// With `Inherited<Ref<C>>`, `is_changed` reports writes to what the base has. To read from a shared world, see
/// [`WorldInheritanceExt`](crate::world::WorldInheritanceExt).
///
/// # Complexity
/// O(1) for what the entity has itself; otherwise O(bases that are met), each entered a constant number of times per
/// iteration, as by [`Up`](super::Up).
pub struct Inherited<D: InheritedData>(PhantomData<fn() -> D>);

/// Reads `D` of an entity and its bases, and whether that is shared through [`IsA`].
pub struct ReadBases<D>(PhantomData<fn() -> D>);

type Bases<D> = Climb<IsA, D, 0, { u32::MAX }, false, AllEntities>;

// SAFETY: everything that touches the world is passed on to `Bases`, which keeps the contract, with the state and fetch that it has
// made itself; the rules are read from the store that it has declared. Test: `inherited_data_refuses_what_writes_beside_it`.
unsafe impl<D: InheritedData> WorldQuery for ReadBases<D> {
    type Fetch<'w> = (<Bases<D> as WorldQuery>::Fetch<'w>, bool);
    type State = <Bases<D> as WorldQuery>::State;

    any_entity!(but set_table, set_archetype);

    #[inline]
    unsafe fn set_archetype<'w>(
        (bases, _): &mut Self::Fetch<'w>,
        state: &Self::State,
        archetype: &'w Archetype,
        table: &'w Table,
    ) {
        // SAFETY: passed on.
        unsafe { Bases::<D>::set_archetype(bases, state, archetype, table) }
    }

    #[inline]
    unsafe fn set_table<'w>((bases, _): &mut Self::Fetch<'w>, state: &Self::State, table: &'w Table) {
        // SAFETY: passed on.
        unsafe { Bases::<D>::set_table(bases, state, table) }
    }

    fn shrink_fetch<'long: 'short, 'short>((bases, is_shared): Self::Fetch<'long>) -> Self::Fetch<'short> {
        (Bases::<D>::shrink_fetch(bases), is_shared)
    }

    #[inline]
    unsafe fn init_fetch<'w>(
        world: UnsafeWorldCell<'w>,
        state: &Self::State,
        last_run: Tick,
        this_run: Tick,
    ) -> Self::Fetch<'w> {
        // SAFETY: passed on.
        let bases = unsafe { Bases::<D>::init_fetch(world, state, last_run, this_run) };
        let is_shared = bases.instantiate_rule(D::shared_type()) == OnInstantiate::Inherit;
        (bases, is_shared)
    }

    fn init_nested_access(
        state: &Self::State,
        system: Option<&str>,
        declared: &mut FilteredAccessSet,
        world: UnsafeWorldCell<'_>,
    ) {
        Bases::<D>::init_nested_access(state, system, declared, world);
    }

    fn init_state(world: &mut World) -> Self::State {
        Bases::<D>::init_state(world)
    }

    fn update_archetypes(state: &mut Self::State, world: UnsafeWorldCell<'_>) {
        Bases::<D>::update_archetypes(state, world);
    }
}

/// # Safety
/// As for [`QueryData::fetch`](bevy_ecs::query::QueryData::fetch).
#[inline(always)]
unsafe fn inherited<'w, 's, D: InheritedData>(
    state: &'s <ReadBases<D> as WorldQuery>::State,
    fetch: &mut <ReadBases<D> as WorldQuery>::Fetch<'w>,
    entity: Entity,
    row: TableRow,
) -> Option<D::Item<'w, 's>> {
    // SAFETY: as the caller promises.
    unsafe {
        if fetch.1 {
            Bases::<D>::fetch(state, &mut fetch.0, entity, row)
        } else {
            Bases::<D>::fetch_own(state, &mut fetch.0, entity, row)
        }
    }
}

query_data!(
    [D: InheritedData] Inherited<D>,
    reads ReadBases<D>, prepare |_| (),
    item<'w, 's> D::Item<'w, 's>, fetch inherited::<D>, shrink D::shrink, archetypal false
);

impl<D: InheritedData + ReleaseStateQueryData> ReleaseStateQueryData for Inherited<D> {
    fn release_state<'w>(item: Self::Item<'w, '_>) -> Self::Item<'w, 'static> {
        D::release_state(item)
    }
}
