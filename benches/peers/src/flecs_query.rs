//! Queries of Flecs, through its C interface.
//!
//! The blocks rely on the facts that [`flecs`](crate::flecs) names, and on *Query*: a [`FlecsQuery`] is used with
//! the world that made it, and that world lives longer. Values are handed out in [`Cell`]s, since two fields of a
//! table can be the same column; nothing but the iteration holds on to them.
#![expect(unsafe_code, reason = "the C interface of Flecs is unsafe; calls are wrapped one by one here")]

#[cfg(flecs_parent)]
use crate::flecs::parent_depth;
use crate::{
    flecs::{Component, FlecsWorld, Id, any, pair, wildcard},
    side::notice,
    sys,
};
use std::{cell::Cell, ffi::CStr, mem, slice};

/// What a query asks of an entity.
#[derive(Clone, Copy)]
pub(crate) struct Term(sys::ecs_term_t);

impl Term {
    fn new(id: Id) -> Self {
        // SAFETY: a C struct for which all zeroes is the documented default.
        let mut term: sys::ecs_term_t = unsafe { mem::zeroed() };
        term.id = id.0;
        Self(term)
    }

    /// The component, to read and write.
    pub(crate) fn write<T>(component: Component<T>) -> Self {
        Self::new(component.id)
    }

    /// The component, to read.
    pub(crate) fn read<T>(component: Component<T>) -> Self {
        let mut term = Self::new(component.id);
        term.0.inout = sys::ecs_inout_kind_t_EcsIn as i16;
        term
    }

    /// A tag or a pair, of which nothing is read.
    pub(crate) fn with(id: Id) -> Self {
        let mut term = Self::new(id);
        term.0.inout = sys::ecs_inout_kind_t_EcsInOutNone as i16;
        term
    }

    /// A pair with any target: a table of results for each target.
    pub(crate) fn any_target(relation: Id) -> Self {
        Self::with(pair(relation, wildcard()))
    }

    /// A pair with any target: no more than one result, whatever the number of targets.
    pub(crate) fn some_target(relation: Id) -> Self {
        Self::with(pair(relation, any()))
    }

    /// A pair whose target is a variable.
    pub(crate) fn to_variable(relation: Id, variable: &'static CStr) -> Self {
        let mut term = Self::with(Id(0));
        term.0.first.id = relation.0;
        term.0.second.name = variable.as_ptr();
        term
    }

    /// Asks a variable.
    pub(crate) fn on(mut self, variable: &'static CStr) -> Self {
        self.0.src.name = variable.as_ptr();
        self
    }

    /// The entity matches if the term does not.
    pub(crate) fn negated(mut self) -> Self {
        self.0.oper = sys::ecs_oper_kind_t_EcsNot as i16;
        self
    }

    /// The entity matches if this term does, or the next.
    pub(crate) fn or_next(mut self) -> Self {
        self.0.oper = sys::ecs_oper_kind_t_EcsOr as i16;
        self
    }

    /// Asks the entity itself only, whatever the component says about inheritance.
    pub(crate) fn this(mut self) -> Self {
        self.0.src.id = sys::EcsSelf as u64;
        self
    }

    /// The entity matches also if the term does not.
    pub(crate) fn optional(mut self) -> Self {
        self.0.oper = sys::ecs_oper_kind_t_EcsOptional as i16;
        self
    }

    /// Asks the nearest ancestor that has it, instead of the entity.
    pub(crate) fn up(mut self, relation: Id) -> Self {
        self.0.src.id = sys::EcsUp;
        self.0.trav = relation.0;
        self
    }

    /// Asks the entity first, then its ancestors.
    pub(crate) fn self_up(mut self, relation: Id) -> Self {
        self.0.src.id = sys::EcsSelf as u64 | sys::EcsUp;
        self.0.trav = relation.0;
        self
    }

    /// As [`up`](Self::up), with parents before children.
    pub(crate) fn cascade(mut self, relation: Id) -> Self {
        self.0.src.id = sys::EcsCascade;
        self.0.trav = relation.0;
        self
    }
}

/// A variable of a query.
#[derive(Clone, Copy)]
pub(crate) struct Variable(i32);

/// A query.
pub(crate) struct FlecsQuery {
    raw: *mut sys::ecs_query_t,
}

impl FlecsQuery {
    /// A query that keeps the tables it matches.
    pub(crate) fn cached(world: &mut FlecsWorld, terms: &[Term]) -> Self {
        Self::new(world, terms, sys::ecs_query_cache_kind_t_EcsQueryCacheAuto, Id(0), 0)
    }

    /// The same, with its tables in groups: by the target of a relation.
    pub(crate) fn grouped(world: &mut FlecsWorld, terms: &[Term], relation: Id) -> Self {
        Self::new(world, terms, sys::ecs_query_cache_kind_t_EcsQueryCacheAuto, relation, 0)
    }

    /// The same, with the tables of a hierarchy in its second storage in the order of their depth.
    #[cfg(flecs_parent)]
    pub(crate) fn by_depth(world: &mut FlecsWorld, terms: &[Term]) -> Self {
        let (auto, flags) = (sys::ecs_query_cache_kind_t_EcsQueryCacheAuto, sys::EcsQueryGroupByOrdered);
        Self::new(world, terms, auto, parent_depth(), flags)
    }

    /// A query that finds its tables anew every time.
    pub(crate) fn uncached(world: &mut FlecsWorld, terms: &[Term]) -> Self {
        Self::new(world, terms, sys::ecs_query_cache_kind_t_EcsQueryCacheNone, Id(0), 0)
    }

    fn new(
        world: &mut FlecsWorld,
        terms: &[Term],
        cache: sys::ecs_query_cache_kind_t,
        group: Id,
        flags: u32,
    ) -> Self {
        // SAFETY: a C struct for which all zeroes is the documented default.
        let mut description: Box<sys::ecs_query_desc_t> = unsafe { Box::new(mem::zeroed()) };
        for (slot, term) in description.terms.iter_mut().zip(terms) {
            *slot = term.0;
        }
        description.cache_kind = cache;
        description.group_by = group.0;
        description.flags = flags;
        // SAFETY: *World*, *Ids*; the descriptor is valid for the call.
        let raw = unsafe { sys::ecs_query_init(world.raw, &raw const *description) };
        assert!(!raw.is_null(), "Flecs refuses the query");
        Self { raw }
    }

    /// Where the query keeps a variable.
    pub(crate) fn variable(&self, name: &CStr) -> Variable {
        // SAFETY: *Query*; a read-only call.
        let index = unsafe { sys::ecs_query_find_var(self.raw, name.as_ptr()) };
        assert!(index >= 0, "the query has no such variable");
        Variable(index)
    }

    /// Gives all results, a table at a time.
    #[inline]
    pub(crate) fn for_each_table(&self, world: &mut FlecsWorld, each: impl FnMut(&Table<'_>)) {
        // SAFETY: *World*, *Query*.
        Self::run(unsafe { sys::ecs_query_iter(world.raw, self.raw) }, each);
    }

    /// The same, with the world, to read other entities of it.
    #[cfg(flecs_parent)]
    #[inline]
    pub(crate) fn for_each_table_and_get(
        &self,
        world: &mut FlecsWorld,
        mut each: impl FnMut(&Table<'_>, &FlecsWorld),
    ) {
        // SAFETY: *World*, *Query*.
        let iterator = unsafe { sys::ecs_query_iter(world.raw, self.raw) };
        Self::run(iterator, |table| each(table, world));
    }

    /// The same, with the value of a variable given.
    #[inline]
    pub(crate) fn for_each_table_with(
        &self,
        world: &mut FlecsWorld,
        variable: Variable,
        value: Id,
        each: impl FnMut(&Table<'_>),
    ) {
        // SAFETY: *World*, *Query*.
        let mut iterator = unsafe { sys::ecs_query_iter(world.raw, self.raw) };
        // SAFETY: the iterator has not begun, and the variable is one of its query.
        unsafe { sys::ecs_iter_set_var(&raw mut iterator, variable.0, value.0) };
        Self::run(iterator, each);
    }

    /// The same for one of the groups of a query that is [`grouped`](Self::grouped).
    #[inline]
    pub(crate) fn for_each_table_of(&self, world: &mut FlecsWorld, group: Id, each: impl FnMut(&Table<'_>)) {
        // SAFETY: *World*, *Query*.
        let mut iterator = unsafe { sys::ecs_query_iter(world.raw, self.raw) };
        // SAFETY: the iterator has not begun; a group that is not there is empty.
        unsafe { sys::ecs_iter_set_group(&raw mut iterator, group.0) };
        Self::run(iterator, each);
    }

    #[inline]
    fn run(mut iterator: sys::ecs_iter_t, mut each: impl FnMut(&Table<'_>)) {
        // SAFETY: made by the callers and used up here.
        while unsafe { sys::ecs_query_next(&raw mut iterator) } {
            each(&Table(&iterator));
        }
    }
}

/// A part of a table that matches a query, in one way.
pub(crate) struct Table<'a>(&'a sys::ecs_iter_t);

impl Table<'_> {
    pub(crate) fn count(&self) -> usize {
        self.0.count as usize
    }

    pub(crate) fn entities(&self) -> &[Id] {
        // SAFETY: a table with results has this many entities; an `Id` is laid out as the number in it.
        unsafe { slice::from_raw_parts(self.0.entities.cast(), self.count()) }
    }

    /// The values of a term: one per entity, or a single one if another entity has it. `None` if an optional term
    /// does not match.
    #[inline]
    pub(crate) fn field<T: Copy + 'static>(&self, term: i8) -> Option<&[Cell<T>]> {
        assert!((0..self.0.field_count).contains(&term), "no such term");
        // SAFETY: the arrays have an entry for each term.
        let (size, source) =
            unsafe { (*self.0.sizes.add(term as usize), *self.0.sources.add(term as usize)) };
        assert_eq!(size as usize, size_of::<T>(), "the term has values of another type");
        // SAFETY: the iterator stands at a result.
        let column = unsafe { sys::ecs_field_w_size(self.0, size_of::<T>(), term) };
        let count = if source == 0 { self.count() } else { 1 };
        // SAFETY: *Layout*; the column of a table has a value per entity, that of another entity one. Nothing
        // else refers to them meanwhile, and cells may overlap.
        (!column.is_null()).then(|| unsafe { slice::from_raw_parts(column.cast(), count) })
    }

    /// The index of the target that a term with a pair has found.
    #[inline]
    pub(crate) fn target_index(&self, term: i8) -> u32 {
        assert!((0..self.0.field_count).contains(&term), "no such term");
        // SAFETY: the array has an entry for each term.
        unsafe { *self.0.ids.add(term as usize) as u32 }
    }
}

impl FlecsWorld {
    /// Calls [`notice`] for every entity that begins or ceases to have both ids.
    pub(crate) fn monitor(&mut self, ids: [Id; 2]) {
        unsafe extern "C-unwind" fn callback(iterator: *mut sys::ecs_iter_t) {
            // SAFETY: Flecs passes an iterator that is valid for the call.
            for _ in 0..unsafe { (*iterator).count } {
                notice();
            }
        }
        // SAFETY: the descriptor is a C struct for which all zeroes is the documented default.
        let mut description: sys::ecs_observer_desc_t = unsafe { mem::zeroed() };
        for (term, id) in description.query.terms.iter_mut().zip(ids) {
            term.id = id.0;
        }
        // SAFETY: a constant of the C library, initialized before `main`.
        description.events[0] = unsafe { sys::EcsMonitor };
        description.callback = Some(callback);
        // SAFETY: *World*, *Ids*; the descriptor is valid for the call, and the callback for as long as the program runs.
        unsafe { sys::ecs_observer_init(self.raw, &raw const description) };
    }

    /// Gives the values of all entities that have `id`, a table at a time, without a query: the shortest way to
    /// the sources of a pair.
    #[inline]
    pub(crate) fn for_each_with<T: Copy + 'static>(
        &self,
        id: Id,
        component: Component<T>,
        mut each: impl FnMut(&[Cell<T>]),
    ) {
        // SAFETY: *World*, *Ids*.
        let mut iterator = unsafe { sys::ecs_each_id(self.raw, id.0) };
        // SAFETY: made above and used up here.
        while unsafe { sys::ecs_each_next(&raw mut iterator) } {
            // SAFETY: *World*, *Layout*; the iterator stands at a table, `offset` is inside it.
            let column =
                unsafe { sys::ecs_table_get_id(self.raw, iterator.table, component.id.0, iterator.offset) };
            if !column.is_null() {
                // SAFETY: as in `Table::field`.
                each(unsafe { slice::from_raw_parts(column.cast(), iterator.count as usize) });
            }
        }
    }
}
