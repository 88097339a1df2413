//! The first target of an entity in its table: of relations with `storage = "Table"` or `"Fragmenting"`.

use crate::{
    fetch,
    relation::Relation,
    store::{PairStore, RelationIndex, TableComponent},
};
use bevy_ecs::{
    archetype::Archetype,
    change_detection::Tick,
    component::{ComponentId, Components},
    entity::Entity,
    query::{FilteredAccess, FilteredAccessSet, WorldQuery},
    storage::{Table, TableRow},
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};
use core::{any::type_name, cell::UnsafeCell, marker::PhantomData};

/// Reads the first target of the entity at hand from its component, if `R` has one that is up to date.
pub struct ReadFirstTarget<R>(PhantomData<fn() -> R>);

/// The store, and the component of the relation.
#[derive(Clone, Copy)]
pub struct FirstTargetState {
    store: ComponentId,
    component: TableComponent,
}

pub struct FirstTargetFetch<'w, R> {
    /// If it is up to date.
    component: Option<TableComponent>,
    column: Option<&'w [UnsafeCell<Entity>]>,
    relation: PhantomData<fn() -> R>,
}

impl<R> Copy for FirstTargetFetch<'_, R> {}

impl<R> Clone for FirstTargetFetch<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: Relation> FirstTargetFetch<'_, R> {
    /// The first target of the entity in a row. `None` if that is not known here.
    ///
    /// # Safety
    /// The row must be one of the table that was set last, and the caller may read the component of its entity.
    #[inline]
    pub(super) unsafe fn get(&self, row: TableRow) -> Option<Option<Entity>> {
        if !R::IN_TABLE {
            return None;
        }
        self.component?;
        // SAFETY: the column has a value for each row of the table, and nothing writes it, as the caller promises.
        Some(self.column.map(|column| unsafe { *column.get_unchecked(row.index()).get() }))
    }
}

// SAFETY: the component is read only if `update_component_access` has declared that; entities without it match, too. The
// store is read by `init_fetch`, and `init_nested_access` declares it. There is no state without a world. Tests:
// `terms_of_a_relation_in_tables_refuse_what_writes_beside_them`, `every_way_of_reading_agrees_while_pairs_change`.
unsafe impl<R: Relation> WorldQuery for ReadFirstTarget<R> {
    type Fetch<'w> = FirstTargetFetch<'w, R>;
    type State = Option<FirstTargetState>;

    const IS_DENSE: bool = true;

    fn shrink_fetch<'long: 'short, 'short>(fetch: Self::Fetch<'long>) -> Self::Fetch<'short> {
        fetch
    }

    #[inline]
    unsafe fn init_fetch<'w>(
        world: UnsafeWorldCell<'w>,
        state: &Self::State,
        _: Tick,
        _: Tick,
    ) -> Self::Fetch<'w> {
        let component = state.filter(|_| R::IN_TABLE).and_then(|state| {
            // SAFETY: the world gives the right to read the resource, as the caller promises, and it is of this type.
            let store: &PairStore = unsafe { fetch::resource_by_id(world, state.store)?.deref() };
            let index = store.relation(store.registry().known::<R>()?);
            // No other was declared.
            RelationIndex::table_component(index).filter(|component| *component == state.component)
        });
        FirstTargetFetch { component, column: None, relation: PhantomData }
    }

    #[inline]
    unsafe fn set_archetype<'w>(
        fetch: &mut Self::Fetch<'w>,
        state: &Self::State,
        _: &'w Archetype,
        table: &'w Table,
    ) {
        // SAFETY: passed on; the table is that of the archetype.
        unsafe { Self::set_table(fetch, state, table) }
    }

    #[inline]
    unsafe fn set_table<'w>(fetch: &mut Self::Fetch<'w>, _: &Self::State, table: &'w Table) {
        if R::IN_TABLE {
            fetch.column = fetch.component.and_then(|component| component.column(table));
        }
    }

    fn update_component_access(state: &Self::State, access: &mut FilteredAccess) {
        if let Some(FirstTargetState { component, .. }) = state {
            assert!(
                !access.access().has_write(component.id()),
                "the targets of `{}` conflict with a previous access in this query: a part of it writes all components",
                type_name::<R>(),
            );
            // Sources whose component is still to be written match, too: it is read, and not required.
            let mut reads = FilteredAccess::default();
            reads.add_read(component.id());
            access.extend_access(&reads);
        }
    }

    fn init_nested_access(
        state: &Self::State,
        _: Option<&str>,
        declared: &mut FilteredAccessSet,
        _: UnsafeWorldCell<'_>,
    ) {
        if let Some(FirstTargetState { store, .. }) = state {
            // The term that reads looks for conflicts.
            declared.add_resource_read(*store);
        }
    }

    fn init_state(world: &mut World) -> Self::State {
        R::IN_TABLE.then(|| FirstTargetState {
            store: world.register_component::<PairStore>(),
            component: TableComponent::of_type::<R>(world),
        })
    }

    fn get_state(_: &Components) -> Option<Self::State> {
        None
    }

    fn matches_component_set(_: &Self::State, _: &impl Fn(ComponentId) -> bool) -> bool {
        true
    }

    fn update_archetypes(_: &mut Self::State, _: UnsafeWorldCell<'_>) {}
}
