//! A filter for all entities.

use alloc::vec::Vec;
use bevy_ecs::{
    archetype::Archetype,
    change_detection::Tick,
    component::{ComponentId, Components},
    entity::Entity,
    entity_disabling::DefaultQueryFilters,
    query::{FilteredAccess, FilteredAccessSet, QueryFilter, WorldQuery},
    storage::{Table, TableRow},
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};

/// A filter that lets all entities through, whichever component disables them.
pub struct AllEntities;

// SAFETY: nothing is accessed. `update_component_access` adds archetypal access only, as that of Bevy's `Allow`: it names the
// components that are not to be left out by default. Test: `whatever_disables_an_entity_it_has_its_own_and_is_a_base`.
unsafe impl WorldQuery for AllEntities {
    type Fetch<'w> = ();
    type State = Vec<ComponentId>;

    const IS_DENSE: bool = true;

    fn shrink_fetch<'long: 'short, 'short>((): ()) {}

    unsafe fn init_fetch(_: UnsafeWorldCell<'_>, _: &Self::State, _: Tick, _: Tick) {}

    unsafe fn set_archetype((): &mut (), _: &Self::State, _: &Archetype, _: &Table) {}

    unsafe fn set_table((): &mut (), _: &Self::State, _: &Table) {}

    fn update_component_access(disabling: &Self::State, access: &mut FilteredAccess) {
        for &id in disabling {
            access.access_mut().add_archetypal(id);
        }
    }

    fn init_nested_access(
        _: &Self::State,
        _: Option<&str>,
        _: &mut FilteredAccessSet,
        _: UnsafeWorldCell<'_>,
    ) {
    }

    fn init_state(world: &mut World) -> Self::State {
        world
            .get_resource::<DefaultQueryFilters>()
            .map_or_else(Vec::new, |filters| filters.disabling_ids().collect())
    }

    fn get_state(_: &Components) -> Option<Self::State> {
        None
    }

    fn matches_component_set(_: &Self::State, _: &impl Fn(ComponentId) -> bool) -> bool {
        true
    }

    fn update_archetypes(_: &mut Self::State, _: UnsafeWorldCell<'_>) {}
}

// SAFETY: nothing is accessed.
unsafe impl QueryFilter for AllEntities {
    const IS_ARCHETYPAL: bool = true;

    #[inline(always)]
    unsafe fn filter_fetch(_: &Self::State, (): &mut (), _: Entity, _: TableRow) -> bool {
        true
    }
}
