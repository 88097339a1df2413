//! What all terms share. A term says by a tuple of `WorldQuery`s what it reads, and by a function what it makes
//! of it; the macros here do the rest.

use crate::{
    ops::{ensure_store, relation_id},
    relation::{Relation, short_name},
    store::component_label,
};
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use bevy_ecs::{
    query::{AccessConflicts, FilteredAccessSet},
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};

/// Adds what a term reads of other entities and of resources to what its system accesses.
///
/// # Panics
/// If that conflicts with what is there already, naming the term.
pub(super) fn declare(
    term: &'static str,
    system: Option<&str>,
    declared: &mut FilteredAccessSet,
    world: UnsafeWorldCell<'_>,
    declare_reads: impl FnOnce(&mut FilteredAccessSet),
) {
    // Reads do not conflict with each other: in a set of their own there is nothing to complain about.
    let mut own = FilteredAccessSet::default();
    declare_reads(&mut own);
    let conflicts = declared.get_conflicts(&own);
    if !conflicts.is_empty() {
        let term = short_name(term);
        let system = system.map_or_else(String::new, |system| format!(" in system {system}"));
        panic!(
            "error[B0001]: `{term}`{system} reads {}, which the same query or a previous system parameter \
             writes. Consider using `Without<T>` to create disjoint Queries if that is a component, `CascadeQuery` to \
             write a component and read that of the parent, reading through `PairsMut` if it is the values of pairs, or \
             merging conflicting parameters into a `ParamSet`. See: https://bevy.org/learn/errors/b0001",
            names(&conflicts, world)
        );
    }
    declared.extend(own);
}

fn names(conflicts: &AccessConflicts, world: UnsafeWorldCell<'_>) -> String {
    let AccessConflicts::Individual(components) = conflicts else {
        return "components of other entities".into();
    };
    let infos = components.iter().filter_map(|id| world.components().get_name(id));
    infos.map(|name| component_label(&name.shortname().to_string())).collect::<Vec<_>>().join(", ")
}

/// Registers `R` for a term that follows it.
///
/// # Panics
/// If it turns out not to be traversable: that of a Bevy relationship is known only now.
pub(super) fn require_traversable<R: Relation>(world: &mut World, term: &'static str) {
    let id = relation_id::<R>(world);
    let entry = ensure_store(world).registry().entry(id);
    if !entry.traits.is_traversable() {
        let term = short_name(term);
        panic!(
            "`{term}` follows `{}`, which is not traversable: its entities may point to themselves",
            entry.name()
        );
    }
}

/// The items of a [`WorldQuery`](bevy_ecs::query::WorldQuery) that matches every entity, accesses no component of the
/// entity at hand, and has no state that could be taken from a world that is not to be changed.
macro_rules! any_entity {
    () => {
        any_entity!(but set_table, set_archetype);

        #[inline]
        unsafe fn set_archetype<'w>(
            _: &mut Self::Fetch<'w>,
            _: &Self::State,
            _: &'w bevy_ecs::archetype::Archetype,
            _: &'w bevy_ecs::storage::Table,
        ) {
        }

        #[inline]
        unsafe fn set_table<'w>(_: &mut Self::Fetch<'w>, _: &Self::State, _: &'w bevy_ecs::storage::Table) {}
    };
    (but set_table, set_archetype) => {
        const IS_DENSE: bool = true;

        fn update_component_access(_: &Self::State, _: &mut bevy_ecs::query::FilteredAccess) {}

        fn get_state(_: &bevy_ecs::component::Components) -> Option<Self::State> {
            None
        }

        fn matches_component_set(
            _: &Self::State,
            _: &impl Fn(bevy_ecs::component::ComponentId) -> bool,
        ) -> bool {
            true
        }
    };
}

/// Implements [`WorldQuery`](bevy_ecs::query::WorldQuery) for a term by what it reads. `$prepare` is a function of
/// the world that is called before the first use.
macro_rules! world_query {
    ([$($generics:tt)*] $term:ty, reads $reads:ty, prepare $prepare:expr) => {
        // SAFETY: everything that touches the world is passed on to `$reads`, which keeps the contract, with the state
        // and fetch that it has made itself. `init_nested_access` adds what `$reads` declares and panics on a conflict.
        // `get_state` gives nothing, as no access could be checked there. Tests: `terms_refuse_what_writes_beside_them`,
        // `no_lens_reaches_undeclared_pairs`.
        unsafe impl<$($generics)*> bevy_ecs::query::WorldQuery for $term {
            type Fetch<'w> = <$reads as bevy_ecs::query::WorldQuery>::Fetch<'w>;
            type State = <$reads as bevy_ecs::query::WorldQuery>::State;

            const IS_DENSE: bool = <$reads as bevy_ecs::query::WorldQuery>::IS_DENSE;

            fn shrink_fetch<'long: 'short, 'short>(fetch: Self::Fetch<'long>) -> Self::Fetch<'short> {
                <$reads>::shrink_fetch(fetch)
            }

            #[inline]
            unsafe fn init_fetch<'w>(
                world: bevy_ecs::world::unsafe_world_cell::UnsafeWorldCell<'w>,
                state: &Self::State,
                last_run: bevy_ecs::change_detection::Tick,
                this_run: bevy_ecs::change_detection::Tick,
            ) -> Self::Fetch<'w> {
                // SAFETY: passed on.
                unsafe { <$reads>::init_fetch(world, state, last_run, this_run) }
            }

            #[inline]
            unsafe fn set_archetype<'w>(
                fetch: &mut Self::Fetch<'w>,
                state: &Self::State,
                archetype: &'w bevy_ecs::archetype::Archetype,
                table: &'w bevy_ecs::storage::Table,
            ) {
                // SAFETY: passed on.
                unsafe { <$reads>::set_archetype(fetch, state, archetype, table) }
            }

            #[inline]
            unsafe fn set_table<'w>(
                fetch: &mut Self::Fetch<'w>,
                state: &Self::State,
                table: &'w bevy_ecs::storage::Table,
            ) {
                // SAFETY: passed on.
                unsafe { <$reads>::set_table(fetch, state, table) }
            }

            fn update_component_access(state: &Self::State, access: &mut bevy_ecs::query::FilteredAccess) {
                <$reads>::update_component_access(state, access);
            }

            fn init_nested_access(
                state: &Self::State,
                system: Option<&str>,
                declared: &mut bevy_ecs::query::FilteredAccessSet,
                world: bevy_ecs::world::unsafe_world_cell::UnsafeWorldCell<'_>,
            ) {
                let term = core::any::type_name::<Self>();
                $crate::query::macros::declare(term, system, declared, world, |own| {
                    <$reads>::init_nested_access(state, system, own, world);
                });
            }

            fn init_state(world: &mut bevy_ecs::world::World) -> Self::State {
                $prepare(&mut *world);
                <$reads>::init_state(world)
            }

            fn get_state(_: &bevy_ecs::component::Components) -> Option<Self::State> {
                None
            }

            fn matches_component_set(
                state: &Self::State,
                contains: &impl Fn(bevy_ecs::component::ComponentId) -> bool,
            ) -> bool {
                <$reads>::matches_component_set(state, contains)
            }

            fn update_archetypes(
                state: &mut Self::State,
                world: bevy_ecs::world::unsafe_world_cell::UnsafeWorldCell<'_>,
            ) {
                <$reads>::update_archetypes(state, world);
            }
        }
    };
}

/// Makes a term query data. `$fetch` is an unsafe function with the contract of `QueryData::fetch`; it gives `None`
/// only if the term is not `archetypal` there. `$shrink` gives an item a shorter life.
macro_rules! query_data {
    (
        [$($generics:tt)*] $term:ty,
        reads $reads:ty, prepare $prepare:expr,
        item<$w:lifetime, $s:lifetime> $item:ty, fetch $fetch:expr, shrink $shrink:expr, archetypal $archetypal:literal
    ) => {
        $crate::query::macros::world_query!([$($generics)*] $term, reads $reads, prepare $prepare);

        // SAFETY: the read-only form is the term itself. It only reads, as all of `$reads` do.
        unsafe impl<$($generics)*> bevy_ecs::query::QueryData for $term {
            const IS_READ_ONLY: bool = true;
            const IS_ARCHETYPAL: bool = $archetypal;
            type ReadOnly = Self;
            type Item<$w, $s> = $item;

            fn shrink<'long: 'short, 'short, 's>(item: Self::Item<'long, 's>) -> Self::Item<'short, 's> {
                $shrink(item)
            }

            #[inline(always)]
            unsafe fn fetch<'w, 's>(
                state: &'s Self::State,
                fetch: &mut Self::Fetch<'w>,
                entity: bevy_ecs::entity::Entity,
                row: bevy_ecs::storage::TableRow,
            ) -> Option<Self::Item<'w, 's>> {
                // SAFETY: it has the same contract.
                unsafe { $fetch(state, fetch, entity, row) }
            }

            fn iter_access(_: &Self::State) -> impl Iterator<Item = bevy_ecs::query::EcsAccessType<'_>> {
                // Asked only of what gives a state without a world.
                core::iter::empty()
            }
        }

        // SAFETY: it only reads.
        unsafe impl<$($generics)*> bevy_ecs::query::IterQueryData for $term {}

        // SAFETY: it only reads.
        unsafe impl<$($generics)*> bevy_ecs::query::ReadOnlyQueryData for $term {}
    };
}

/// Says that the items of a term do not borrow its state.
macro_rules! release_state {
    ([$($generics:tt)*] $term:ty) => {
        impl<$($generics)*> bevy_ecs::query::ReleaseStateQueryData for $term {
            fn release_state<'w>(item: Self::Item<'w, '_>) -> Self::Item<'w, 'static> {
                item
            }
        }
    };
}

/// Makes a term a filter: `$matches` is a function of the fetch and the entity, or `$fetch` an unsafe one of state,
/// fetch and entity, with the contract of `QueryFilter::filter_fetch`.
macro_rules! query_filter {
    ([$($generics:tt)*] $term:ty, reads $reads:ty, prepare $prepare:expr, matches $matches:expr) => {
        $crate::query::macros::world_query!([$($generics)*] $term, reads $reads, prepare $prepare);

        // SAFETY: it only reads what `$reads` declare.
        unsafe impl<$($generics)*> bevy_ecs::query::QueryFilter for $term {
            const IS_ARCHETYPAL: bool = false;

            #[inline(always)]
            unsafe fn filter_fetch(
                _: &Self::State,
                fetch: &mut Self::Fetch<'_>,
                entity: bevy_ecs::entity::Entity,
                _: bevy_ecs::storage::TableRow,
            ) -> bool {
                $matches(fetch, entity)
            }
        }
    };
    ([$($generics:tt)*] $term:ty, reads $reads:ty, prepare $prepare:expr, fetch $fetch:expr) => {
        $crate::query::macros::world_query!([$($generics)*] $term, reads $reads, prepare $prepare);

        // SAFETY: it only reads what `$reads` declare.
        unsafe impl<$($generics)*> bevy_ecs::query::QueryFilter for $term {
            const IS_ARCHETYPAL: bool = false;

            #[inline(always)]
            unsafe fn filter_fetch(
                state: &Self::State,
                fetch: &mut Self::Fetch<'_>,
                entity: bevy_ecs::entity::Entity,
                _: bevy_ecs::storage::TableRow,
            ) -> bool {
                // SAFETY: it has the same contract.
                unsafe { $fetch(state, fetch, entity) }
            }
        }
    };
}

pub(super) use {any_entity, query_data, query_filter, release_state, world_query};
