//! What terms read: the pairs of a relation and their values.

use crate::{
    fetch,
    ops::relation_id,
    relation::Relation,
    store::{PairData, PairStore, RelationIndex, TableComponent, Upward},
    traverse::{ChildrenAccess, RelationView, is_child_of},
};
use bevy_ecs::{
    archetype::Archetype,
    change_detection::Tick,
    component::{ComponentId, Components},
    entity::Entity,
    hierarchy::Children,
    query::{FilteredAccess, FilteredAccessSet, NestedQuery, QueryData, WorldQuery},
    storage::{Table, TableRow},
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};
use core::{any::TypeId, marker::PhantomData};

/// Reads the pairs of `R`, and with `VALUES` also the column of their values.
pub struct ReadPairs<R, const VALUES: bool>(PhantomData<fn() -> R>);

/// The resources that [`ReadPairs`] reads.
#[derive(Clone, Copy)]
pub struct ReadPairsState {
    store: ComponentId,
    column: Option<ComponentId>,
}

/// What [`ReadPairs`] has fetched.
pub struct ReadPairsFetch<'w, R: Relation> {
    pub(super) store: Option<&'w PairStore>,
    pub(super) index: Option<&'w RelationIndex>,
    /// If the relation is exclusive. For entities that are alive.
    pub(super) upward: Option<Upward<'w>>,
    column: Option<&'w PairData<R>>,
    /// With `storage = "Table"`: the component that sources have and nothing else, if it is up to date.
    table: Option<TableComponent>,
    /// Whether the entities of the table at hand are sources, as far as that component says.
    are_sources: Option<bool>,
    pub(super) last_run: Tick,
    pub(super) this_run: Tick,
}

/// The values of the pairs of a relation.
pub(super) struct PairValues<'w, R: Relation> {
    index: Option<&'w RelationIndex>,
    column: Option<&'w PairData<R>>,
}

impl<R: Relation> Copy for PairValues<'_, R> {}

impl<R: Relation> Clone for PairValues<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'w, R: Relation> PairValues<'w, R> {
    /// The value of a pair that is known to be there, unless it is kept in a component.
    #[inline]
    pub(super) fn get(&self, source: Entity, target: Entity) -> Option<&'w R> {
        self.column?.get(self.index?.row_of_known(source, target)?)
    }
}

impl<R: Relation> Copy for ReadPairsFetch<'_, R> {}

impl<R: Relation> Clone for ReadPairsFetch<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'w, R: Relation> ReadPairsFetch<'w, R> {
    /// What is needed to read values later.
    #[inline]
    pub(super) fn values(&self) -> PairValues<'w, R> {
        PairValues { index: self.index, column: self.column }
    }

    /// Whether all entities of the table at hand are sources, or none: as far as that is known.
    #[inline]
    pub(super) fn are_sources(&self) -> Option<bool> {
        if R::IN_TABLE { self.are_sources } else { None }
    }

    /// Whether the index may have sources that are dead.
    pub(super) fn compares(&self) -> bool {
        let known = self.store.and_then(|store| Some((store, store.registry().known::<R>()?)));
        known.is_some_and(|(store, id)| store.compares(id))
    }

    /// The first target of an entity that is alive.
    #[inline]
    pub(super) fn first_target(&self, source: Entity) -> Option<Entity> {
        match self.upward {
            Some(upward) => upward.target(source),
            None => self.index?.first_target(source),
        }
    }

    /// A tick after which no value was written in place.
    #[inline]
    pub(super) fn values_lent(&self) -> Option<Tick> {
        Some(self.column?.lent())
    }

    /// When that value was written last.
    #[inline]
    pub(super) fn value_changed(&self, source: Entity, target: Entity) -> Option<Tick> {
        self.column?.changed(self.index?.row(source, target)?)
    }
}

/// Whether the values of pairs are in a column: there are some, and no component has them.
fn has_column<R: Relation>() -> bool {
    size_of::<R>() > 0 && TypeId::of::<R::Component>() == TypeId::of::<()>()
}

// SAFETY: no component of the entity at hand is accessed, so that neither access nor filters have to be declared for it:
// which components a table has is looked at, and not their values. The resources are read by `init_fetch` and as long as the
// fetch lives; `init_nested_access` declares both of them. Test: `terms_refuse_what_writes_beside_them`.
unsafe impl<R: Relation, const VALUES: bool> WorldQuery for ReadPairs<R, VALUES> {
    type Fetch<'w> = ReadPairsFetch<'w, R>;
    type State = ReadPairsState;

    const IS_DENSE: bool = true;

    #[inline]
    unsafe fn set_archetype<'w>(
        fetch: &mut Self::Fetch<'w>,
        state: &Self::State,
        _: &'w Archetype,
        table: &'w Table,
    ) {
        // SAFETY: the table is that of the archetype, and nothing in it is accessed.
        unsafe { Self::set_table(fetch, state, table) }
    }

    #[inline]
    unsafe fn set_table<'w>(fetch: &mut Self::Fetch<'w>, _: &Self::State, table: &'w Table) {
        if R::IN_TABLE {
            fetch.are_sources = fetch.table.map(|component| table.has_column(component.id()));
        }
    }

    fn update_component_access(_: &Self::State, _: &mut FilteredAccess) {}

    fn get_state(_: &Components) -> Option<Self::State> {
        None
    }

    fn matches_component_set(_: &Self::State, _: &impl Fn(ComponentId) -> bool) -> bool {
        true
    }

    fn shrink_fetch<'long: 'short, 'short>(fetch: Self::Fetch<'long>) -> Self::Fetch<'short> {
        fetch
    }

    #[inline]
    unsafe fn init_fetch<'w>(
        world: UnsafeWorldCell<'w>,
        state: &ReadPairsState,
        last_run: Tick,
        this_run: Tick,
    ) -> ReadPairsFetch<'w, R> {
        // SAFETY: the world gives the right to read the resource, as the caller promises, and it is of this type.
        let store: Option<&PairStore> =
            unsafe { fetch::resource_by_id(world, state.store).map(|store| store.deref()) };
        // SAFETY: as above.
        let read = |column| unsafe { fetch::resource_by_id(world, column).map(|column| column.deref()) };
        let id = store.and_then(|store| store.registry().known::<R>());
        let index = store.zip(id).map(|(store, id)| store.relation(id));
        let upward = store.zip(id).and_then(|(store, id)| store.relation(id).upward(store.compares(id)));
        let table = if R::IN_TABLE { index.and_then(RelationIndex::table_component) } else { None };
        let column = state.column.and_then(read);
        ReadPairsFetch { store, index, upward, column, table, are_sources: None, last_run, this_run }
    }

    fn init_nested_access(
        state: &Self::State,
        _: Option<&str>,
        declared: &mut FilteredAccessSet,
        _: UnsafeWorldCell<'_>,
    ) {
        // The term that reads looks for conflicts.
        for resource in [Some(state.store), state.column].into_iter().flatten() {
            declared.add_resource_read(resource);
        }
    }

    fn init_state(world: &mut World) -> ReadPairsState {
        relation_id::<R>(world);
        let store = world.register_component::<PairStore>();
        let column = (VALUES && has_column::<R>()).then(|| world.register_component::<PairData<R>>());
        ReadPairsState { store, column }
    }

    fn update_archetypes(_: &mut Self::State, _: UnsafeWorldCell<'_>) {}
}

/// Reads the [`Children`] if `R` is `ChildOf`, because their order can change without an event. `C` says whose: those of the
/// current entity or of any entity.
pub struct ReadOrder<R, C = OwnChildren>(PhantomData<fn() -> (R, C)>);

type OwnChildren = Option<&'static Children>;

/// The [`Children`] of any entity.
pub(super) type AllChildren = NestedQuery<&'static Children>;

impl<R: Relation> ReadOrder<R> {
    /// # Safety
    /// As for [`QueryData::fetch`].
    #[inline]
    pub(super) unsafe fn children<'w>(
        state: &<Self as WorldQuery>::State,
        fetch: &mut <Self as WorldQuery>::Fetch<'w>,
        entity: Entity,
        row: TableRow,
    ) -> Option<&'w [Entity]> {
        if !is_child_of::<R>() {
            return None;
        }
        // SAFETY: as the caller promises; the table or archetype was passed on to `OwnChildren`.
        unsafe { OwnChildren::fetch(state, fetch, entity, row)? }.map(|children| &**children)
    }
}

impl<R: Relation> ReadOrder<R, AllChildren> {
    /// The pairs of an index, with their order.
    ///
    /// # Safety
    /// As for [`QueryData::fetch`].
    #[inline]
    pub(super) unsafe fn view<'w, 's>(
        index: Option<&'w RelationIndex>,
        state: &'s <Self as WorldQuery>::State,
        fetch: &mut <Self as WorldQuery>::Fetch<'w>,
        entity: Entity,
        row: TableRow,
    ) -> RelationView<'w, 's> {
        let children = if is_child_of::<R>() {
            // SAFETY: as the caller promises; access was declared by `AllChildren`.
            unsafe { AllChildren::fetch(state, fetch, entity, row) }
        } else {
            None
        };
        RelationView::new(index, children.map(ChildrenAccess::Query))
    }
}

// SAFETY: either nothing is accessed, or everything is passed on to `C`. Test: `children_are_read_only_by_terms_of_child_of`.
unsafe impl<R: Relation, C: WorldQuery> WorldQuery for ReadOrder<R, C> {
    type Fetch<'w> = C::Fetch<'w>;
    type State = C::State;

    const IS_DENSE: bool = C::IS_DENSE;

    fn shrink_fetch<'long: 'short, 'short>(fetch: Self::Fetch<'long>) -> Self::Fetch<'short> {
        C::shrink_fetch(fetch)
    }

    #[inline]
    unsafe fn init_fetch<'w>(
        world: UnsafeWorldCell<'w>,
        state: &Self::State,
        last_run: Tick,
        this_run: Tick,
    ) -> Self::Fetch<'w> {
        // SAFETY: passed on.
        unsafe { C::init_fetch(world, state, last_run, this_run) }
    }

    #[inline]
    unsafe fn set_archetype<'w>(
        fetch: &mut Self::Fetch<'w>,
        state: &Self::State,
        archetype: &'w Archetype,
        table: &'w Table,
    ) {
        if is_child_of::<R>() {
            // SAFETY: passed on.
            unsafe { C::set_archetype(fetch, state, archetype, table) }
        }
    }

    #[inline]
    unsafe fn set_table<'w>(fetch: &mut Self::Fetch<'w>, state: &Self::State, table: &'w Table) {
        if is_child_of::<R>() {
            // SAFETY: passed on.
            unsafe { C::set_table(fetch, state, table) }
        }
    }

    fn update_component_access(state: &Self::State, access: &mut FilteredAccess) {
        if is_child_of::<R>() {
            C::update_component_access(state, access);
        }
    }

    fn init_nested_access(
        state: &Self::State,
        system: Option<&str>,
        declared: &mut FilteredAccessSet,
        world: UnsafeWorldCell<'_>,
    ) {
        if is_child_of::<R>() {
            C::init_nested_access(state, system, declared, world);
        }
    }

    fn init_state(world: &mut World) -> Self::State {
        C::init_state(world)
    }

    fn get_state(_: &Components) -> Option<Self::State> {
        None
    }

    fn matches_component_set(state: &Self::State, contains: &impl Fn(ComponentId) -> bool) -> bool {
        !is_child_of::<R>() || C::matches_component_set(state, contains)
    }

    fn update_archetypes(state: &mut Self::State, world: UnsafeWorldCell<'_>) {
        if is_child_of::<R>() {
            C::update_archetypes(state, world);
        }
    }
}
