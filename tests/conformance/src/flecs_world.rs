//! A world of Flecs, driven through its C interface. All `unsafe` of this package is here.
//!
//! The blocks below rely on three facts. *World*: `raw` points to a world that lives until the value is dropped,
//! and raw pointers keep the value on one thread. *Ids*: an id is only used with the world that made it, and not
//! after the entity was deleted, but where Flecs accepts ids of deleted entities; random histories, which would
//! find a mistake, keep both worlds in step. *Rows*: what an iterator points to stays valid until it is advanced,
//! which needs it mutably.
#![expect(unsafe_code, reason = "the C interface of Flecs is unsafe; calls are wrapped one by one here")]

use flecs_ecs::sys;
use std::{
    collections::BTreeSet,
    ffi::{CStr, CString},
    mem, ptr,
};

/// An entity of Flecs, or an id.
pub(crate) type Id = u64;

const PAIR: u64 = 1 << 63;

pub(crate) fn pair(relation: Id, target: Id) -> Id {
    PAIR | (relation << 32) | (target & 0xFFFF_FFFF)
}

/// The entities that Flecs knows from the start, and that the tests name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) is_a: Id,
    pub(crate) child_of: Id,
    pub(crate) prefab: Id,
    pub(crate) disabled: Id,
    pub(crate) wildcard: Id,
    pub(crate) any: Id,
    pub(crate) exclusive: Id,
    pub(crate) symmetric: Id,
    pub(crate) transitive: Id,
    pub(crate) reflexive: Id,
    pub(crate) acyclic: Id,
    pub(crate) traversable: Id,
    pub(crate) with: Id,
    pub(crate) on_instantiate: Id,
    pub(crate) inherit: Id,
    pub(crate) dont_inherit: Id,
    pub(crate) slot_of: Id,
    pub(crate) on_delete: Id,
    pub(crate) on_delete_target: Id,
    pub(crate) remove: Id,
    pub(crate) delete: Id,
    pub(crate) panic: Id,
    pub(crate) one_of: Id,
    pub(crate) singleton: Id,
}

fn known() -> Known {
    // SAFETY: these are constants of the C library, initialized before `main`.
    unsafe {
        Known {
            is_a: sys::EcsIsA,
            child_of: sys::EcsChildOf,
            prefab: sys::EcsPrefab,
            disabled: sys::EcsDisabled,
            wildcard: sys::EcsWildcard,
            any: sys::EcsAny,
            exclusive: sys::EcsExclusive,
            symmetric: sys::EcsSymmetric,
            transitive: sys::EcsTransitive,
            reflexive: sys::EcsReflexive,
            acyclic: sys::EcsAcyclic,
            traversable: sys::EcsTraversable,
            with: sys::EcsWith,
            on_instantiate: sys::EcsOnInstantiate,
            inherit: sys::EcsInherit,
            dont_inherit: sys::EcsDontInherit,
            slot_of: sys::EcsSlotOf,
            on_delete: sys::EcsOnDelete,
            on_delete_target: sys::EcsOnDeleteTarget,
            remove: sys::EcsRemove,
            delete: sys::EcsDelete,
            panic: sys::EcsPanic,
            one_of: sys::EcsOneOf,
            singleton: sys::EcsSingleton,
        }
    }
}

/// A world of Flecs without add-ons, and without messages: what it refuses shows in the results of the calls.
pub(crate) struct FlecsWorld {
    raw: *mut sys::ecs_world_t,
    pub(crate) known: Known,
}

impl FlecsWorld {
    pub(crate) fn new() -> Self {
        // SAFETY: both calls have no precondition.
        let raw = unsafe {
            sys::ecs_log_set_level(-5);
            sys::ecs_mini()
        };
        Self { raw, known: known() }
    }

    pub(crate) fn entity(&mut self) -> Id {
        // SAFETY: *World*.
        unsafe { sys::ecs_new(self.raw) }
    }

    pub(crate) fn component(&mut self) -> Id {
        let entity = self.entity();
        // SAFETY: the descriptor is a C struct for which all zeroes is the documented default.
        let mut description: sys::ecs_component_desc_t = unsafe { mem::zeroed() };
        description.entity = entity;
        description.type_.size = 4;
        description.type_.alignment = 4;
        // SAFETY: *World*; the descriptor is valid for the call.
        unsafe { sys::ecs_component_init(self.raw, &raw const description) }
    }

    /// A component with a field `value` that names an entity.
    pub(crate) fn component_with_entity(&mut self, name: &str) -> Id {
        let entity = self.entity();
        self.set_name(entity, name);
        // SAFETY: *World*; it makes the types of fields known, once per world or more often.
        unsafe { sys::ecs_import(self.raw, Some(sys::FlecsMetaImport), c"flecs.meta".as_ptr()) };
        // SAFETY: the descriptor is a C struct for which all zeroes is the documented default.
        let mut description: Box<sys::ecs_struct_desc_t> = unsafe { Box::new(mem::zeroed()) };
        description.entity = entity;
        description.members[0].name = c"value".as_ptr();
        // SAFETY: a constant of the C library, initialized before `main`.
        description.members[0].type_ = unsafe { sys::FLECS_IDecs_entity_tID_ };
        // SAFETY: *World*; the descriptor is valid for the call, and Flecs copies the names.
        unsafe { sys::ecs_struct_init(self.raw, &raw const *description) }
    }

    /// The field of such a component.
    pub(crate) fn member(&mut self, component: Id) -> Id {
        // SAFETY: *World*, *Ids*; Flecs reads the name during the call.
        unsafe { sys::ecs_lookup_child(self.raw, component, c"value".as_ptr()) }
    }

    /// Gives the entity the component, with its field.
    pub(crate) fn set_entity(&mut self, entity: Id, component: Id, value: Id) {
        let size = size_of::<Id>();
        // SAFETY: *World*, *Ids*; the component consists of one id, which Flecs copies during the call.
        unsafe { sys::ecs_set_id(self.raw, entity, component, size, ptr::from_ref(&value).cast()) };
    }

    pub(crate) fn add(&mut self, entity: Id, id: Id) {
        // SAFETY: *World*, *Ids*.
        unsafe { sys::ecs_add_id(self.raw, entity, id) }
    }

    pub(crate) fn remove(&mut self, entity: Id, id: Id) {
        // SAFETY: *World*, *Ids*.
        unsafe { sys::ecs_remove_id(self.raw, entity, id) }
    }

    pub(crate) fn delete(&mut self, entity: Id) {
        // SAFETY: *World*; the call accepts ids of deleted entities.
        unsafe { sys::ecs_delete(self.raw, entity) }
    }

    pub(crate) fn is_alive(&self, entity: Id) -> bool {
        // SAFETY: *World*; the call accepts ids of deleted entities.
        unsafe { sys::ecs_is_alive(self.raw, entity) }
    }

    pub(crate) fn has(&self, source: Id, id: Id) -> bool {
        // SAFETY: *World*, *Ids*; a read-only call.
        unsafe { sys::ecs_owns_id(self.raw, source, id) }
    }

    /// Whether an entity has an id itself or through a base.
    pub(crate) fn has_inherited(&self, source: Id, id: Id) -> bool {
        // SAFETY: *World*, *Ids*; a read-only call.
        unsafe { sys::ecs_has_id(self.raw, source, id) }
    }

    /// Gives the entity a [component](Self::component).
    pub(crate) fn set(&mut self, entity: Id, component: Id, value: u32) {
        let size = size_of::<u32>();
        // SAFETY: *World*, *Ids*; the component has the size of the number, which Flecs copies during the call.
        unsafe { sys::ecs_set_id(self.raw, entity, component, size, ptr::from_ref(&value).cast()) };
    }

    /// What an entity has of a [component](Self::component), itself or through a base.
    pub(crate) fn get(&self, entity: Id, component: Id) -> Option<u32> {
        // SAFETY: *World*, *Ids*; a read-only call, and the number is copied at once.
        unsafe { sys::ecs_get_id(self.raw, entity, component).cast::<u32>().as_ref().copied() }
    }

    /// The entities that have an id themselves, table by table.
    pub(crate) fn with(&self, id: Id) -> Vec<Id> {
        let mut found = Vec::new();
        // SAFETY: *World*, *Ids*.
        let mut it = unsafe { sys::ecs_each_id(self.raw, id) };
        // SAFETY: made above and used up here.
        while unsafe { sys::ecs_each_next(ptr::from_mut(&mut it)) } {
            // SAFETY: *Rows*; the iterator has `count` entities.
            found.extend((0..it.count as usize).map(|row| unsafe { *it.entities.add(row) }));
        }
        found
    }

    /// The targets that an entity has of a relation itself, each once: Flecs goes on with those of its bases.
    pub(crate) fn targets(&self, entity: Id, relation: Id) -> Vec<Id> {
        // SAFETY: *World*, *Ids*; a read-only call.
        let target = |place| unsafe { sys::ecs_get_target(self.raw, entity, relation, place) };
        let targets = (0..).map(target).take_while(|&target| target != 0);
        let own: BTreeSet<Id> = targets.filter(|&target| self.has(entity, pair(relation, target))).collect();
        own.into_iter().collect()
    }

    /// The name of an entity.
    pub(crate) fn name(&self, entity: Id) -> Option<String> {
        // SAFETY: *World*, *Ids*; Flecs returns null or a text that lives until the next change, and is copied at once.
        unsafe {
            let name = sys::ecs_get_name(self.raw, entity);
            (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
        }
    }

    pub(crate) fn set_name(&mut self, entity: Id, name: &str) {
        let name = CString::new(name).expect("names have no zeroes");
        // SAFETY: *World*, *Ids*; Flecs copies the name during the call.
        unsafe { sys::ecs_set_name(self.raw, entity, name.as_ptr()) };
    }

    /// Removes an id from everything that has it.
    pub(crate) fn remove_everywhere(&mut self, id: Id) {
        // SAFETY: *World*, *Ids*.
        unsafe { sys::ecs_remove_all(self.raw, id) }
    }

    /// Deletes everything that has an id.
    pub(crate) fn delete_with(&mut self, id: Id) {
        // SAFETY: *World*, *Ids*.
        unsafe { sys::ecs_delete_with(self.raw, id) }
    }

    /// Gives every row of an expression to `each`. `None` if Flecs refuses it.
    pub(crate) fn query(&mut self, text: &str, mut each: impl FnMut(&mut Rows<'_>)) -> Option<()> {
        let query = self.parse(text)?;
        // SAFETY: *World*; the query is one of this world.
        let mut it = unsafe { sys::ecs_query_iter(self.raw, query.raw) };
        // SAFETY: the iterator was made above, and is not used after a call has returned false.
        while unsafe { sys::ecs_query_next(ptr::from_mut(&mut it)) } {
            each(&mut Rows { it: &mut it, query: &query });
        }
        Some(())
    }

    fn parse(&mut self, text: &str) -> Option<Query> {
        // Flecs orders the rows of queries with a cache only.
        let cache_kind = if text.contains("cascade") {
            sys::ecs_query_cache_kind_t_EcsQueryCacheAuto
        } else {
            sys::ecs_query_cache_kind_t_EcsQueryCacheNone
        };
        let text = CString::new(text).expect("expressions have no zeroes");
        // SAFETY: the descriptor is a C struct for which all zeroes is the documented default.
        let mut description: Box<sys::ecs_query_desc_t> = unsafe { Box::new(mem::zeroed()) };
        description.expr = text.as_ptr();
        description.cache_kind = cache_kind;
        // SAFETY: *World*; the descriptor is valid for the call, and Flecs copies the text.
        let raw = unsafe { sys::ecs_query_init(self.raw, &raw const *description) };
        (!raw.is_null()).then(|| Query { raw })
    }
}

/// A query; it must not outlive its world.
struct Query {
    raw: *mut sys::ecs_query_t,
}

impl Drop for Query {
    fn drop(&mut self) {
        // SAFETY: made by `FlecsWorld::parse`, which is the only place; not used after this.
        unsafe { sys::ecs_query_fini(self.raw) };
    }
}

/// What an iterator points to: the entities of a part of a table, with the same fields and variables.
pub(crate) struct Rows<'a> {
    it: &'a mut sys::ecs_iter_t,
    query: &'a Query,
}

impl Rows<'_> {
    /// The entities that `$this` is; none if the expression does not use it.
    pub(crate) fn entities(&self) -> Vec<Id> {
        // SAFETY: *Rows*; the iterator has `count` entities.
        (0..self.it.count as usize).map(|row| unsafe { *self.it.entities.add(row) }).collect()
    }

    /// What a variable is, or 0.
    pub(crate) fn variable(&mut self, name: &str) -> Id {
        let name = CString::new(name).expect("names have no zeroes");
        // SAFETY: the query is alive.
        let index = unsafe { sys::ecs_query_find_var(self.query.raw, name.as_ptr()) };
        if index < 0 {
            return 0;
        }
        // SAFETY: *Rows*; the index is one of the query's.
        unsafe { sys::ecs_iter_get_var(ptr::from_mut(self.it), index) }
    }

    /// The field of the term with this number, where both braces of a scope count.
    pub(crate) fn field_of(&self, term: usize) -> i8 {
        // SAFETY: the query is alive and has as many terms as its text.
        unsafe { (*(*self.query.raw).terms.add(term)).field_index }
    }

    /// The id and the source of a field, if it is set; source 0 stands for `$this`.
    pub(crate) fn field(&self, index: i8) -> Option<(Id, Id)> {
        if self.it.set_fields & (1 << index) == 0 {
            return None;
        }
        // SAFETY: *Rows*; the iterator has as many ids and sources as fields.
        Some(unsafe { (*self.it.ids.add(index as usize), *self.it.sources.add(index as usize)) })
    }
}

/// The first and the second element of a pair, or the id itself.
pub(crate) fn elements(id: Id) -> (Id, Option<Id>) {
    if id & PAIR == 0 { (id, None) } else { ((id >> 32) & 0x0FFF_FFFF, Some(id & 0xFFFF_FFFF)) }
}
