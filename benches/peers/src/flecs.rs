//! Flecs as a [`Side`], driven through its C interface. All its `unsafe` is here, in `flecs_kind`, in
//! `flecs_prefab` and in `flecs_query`.
//!
//! The blocks below rely on three facts. *World*: `raw` points to a world that lives until `FlecsWorld` is dropped, which is
//! not shared between threads. *Ids*: an [`Id`] is only made by the world that it is used with,
//! and workloads stop using ids of deleted entities. *Layout*: components are plain values, registered with their
//! own size and alignment, and a [`Component`] knows its type.
#![expect(unsafe_code, reason = "the C interface of Flecs is unsafe; calls are wrapped one by one here")]

pub(crate) use crate::flecs_kind::Kind;
use crate::{
    side::{Link, Lookup, Side, SpawnLinked, Way, notice},
    sys,
};
use std::{
    ffi::{CStr, c_void},
    marker::PhantomData,
    mem, ptr, slice,
};

/// An entity, a component or a pair, as Flecs counts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct Id(pub(crate) u64);

/// A component whose values are `T`s.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Component<T> {
    pub(crate) id: Id,
    values: PhantomData<T>,
}

impl<T> Component<T> {
    /// The value of a pair with a target.
    pub(crate) fn to(self, target: Id) -> Self {
        Self { id: pair(self.id, target), ..self }
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Triple([f32; 3]);

/// A table, until the next one is deleted.
#[derive(Clone, Copy)]
struct TableOf(*mut sys::ecs_table_t);

const PAIR: u64 = 1 << 63;
const VALUE: Triple = Triple([1.0; 3]);

/// A Flecs world with its typical calls.
pub(crate) struct FlecsWorld {
    pub(crate) raw: *mut sys::ecs_world_t,
}

impl Drop for FlecsWorld {
    fn drop(&mut self) {
        // SAFETY: *World*; it is used no more.
        unsafe { sys::ecs_fini(self.raw) };
    }
}

impl FlecsWorld {
    pub(crate) fn new() -> Self {
        // SAFETY: worlds are made by one thread.
        Self { raw: unsafe { sys::ecs_init() } }
    }

    #[inline]
    pub(crate) fn entity(&mut self) -> Id {
        // SAFETY: *World*.
        Id(unsafe { sys::ecs_new(self.raw) })
    }

    pub(crate) fn component<T: Copy + 'static>(&mut self) -> Component<T> {
        let entity = self.entity();
        // SAFETY: the descriptor is a C struct for which all zeroes is the documented default.
        let mut description: sys::ecs_component_desc_t = unsafe { mem::zeroed() };
        description.entity = entity.0;
        description.type_.size = size_of::<T>() as i32;
        description.type_.alignment = align_of::<T>() as i32;
        // SAFETY: *World*; the descriptor is valid for the call.
        let id = Id(unsafe { sys::ecs_component_init(self.raw, &raw const description) });
        Component { id, values: PhantomData }
    }

    #[inline]
    pub(crate) fn add(&mut self, entity: Id, id: Id) {
        // SAFETY: *World*, *Ids*.
        unsafe { sys::ecs_add_id(self.raw, entity.0, id.0) }
    }

    #[inline]
    pub(crate) fn remove(&mut self, entity: Id, id: Id) {
        // SAFETY: *World*, *Ids*.
        unsafe { sys::ecs_remove_id(self.raw, entity.0, id.0) }
    }

    #[inline]
    pub(crate) fn set<T: Copy + 'static>(&mut self, entity: Id, component: Component<T>, value: &T) {
        // SAFETY: *World*, *Ids*, *Layout*; Flecs copies the value during the call.
        unsafe {
            sys::ecs_set_id(self.raw, entity.0, component.id.0, size_of::<T>(), ptr::from_ref(value).cast());
        }
    }

    #[inline]
    fn has(&self, entity: Id, id: Id) -> bool {
        // SAFETY: *World*, *Ids*; a read-only call.
        unsafe { sys::ecs_has_id(self.raw, entity.0, id.0) }
    }

    #[inline]
    fn target(&self, entity: Id, relation: Id, place: i32) -> Option<Id> {
        // SAFETY: *World*, *Ids*; a read-only call.
        let target = unsafe { sys::ecs_get_target(self.raw, entity.0, relation.0, place) };
        (target != 0).then_some(Id(target))
    }

    /// Where the parent of an entity is kept, in a hierarchy that does not make tables. Newer cores have it.
    #[cfg(flecs_parent)]
    pub(crate) fn parent(&self) -> Component<Id> {
        // SAFETY: a constant of the C library, initialized before `main`.
        Component { id: Id(unsafe { sys::FLECS_IDEcsParentID_ }), values: PhantomData }
    }

    /// The value of a component that the entity has.
    #[inline]
    pub(crate) fn get<T: Copy + 'static>(&self, entity: Id, component: Component<T>) -> Option<T> {
        // SAFETY: *World*, *Ids*, *Layout*; a read-only call, and the value is copied at once.
        unsafe { sys::ecs_get_id(self.raw, entity.0, component.id.0).cast::<T>().as_ref().copied() }
    }

    /// The children of an entity that Flecs keeps a list of: one with the trait [`ordered_children`], or any in the second storage.
    #[inline]
    pub(crate) fn children(&self, parent: Id) -> &[Id] {
        // SAFETY: *World*, *Ids*; a read-only call. The list lives until the next structural change, for which the world has to
        // be borrowed mutably. An `Id` is laid out as the number in it.
        unsafe {
            let children = sys::ecs_get_ordered_children(self.raw, parent.0);
            if children.count == 0 {
                return &[];
            }
            slice::from_raw_parts(children.ids.cast(), children.count as usize)
        }
    }

    /// The ids of an entity: components, tags and pairs, in the order of their numbers.
    #[inline]
    fn ids(&self, entity: Id) -> &[Id] {
        // SAFETY: *World*, *Ids*; a read-only call. The list lives as long as the table, and an `Id` is laid out as the number in
        // it.
        unsafe {
            let Some(list) = sys::ecs_get_type(self.raw, entity.0).as_ref() else { return &[] };
            slice::from_raw_parts(list.array.cast(), list.count as usize)
        }
    }

    /// The targets of a relation that an entity has, each as its pair, in the order of their numbers.
    #[inline]
    pub(crate) fn pairs(&self, entity: Id, relation: Id) -> &[Id] {
        let ids = self.ids(entity);
        let first = pair(relation, Id(0)).0;
        let start = ids.partition_point(|id| id.0 < first);
        let count = ids[start..].partition_point(|id| id.0 >> 32 == first >> 32);
        &ids[start..start + count]
    }

    /// Calls [`notice`] whenever a pair that fits `id` is added.
    pub(crate) fn observe(&mut self, id: Id) {
        unsafe extern "C-unwind" fn callback(iterator: *mut sys::ecs_iter_t) {
            // SAFETY: Flecs passes an iterator that is valid for the call.
            for _ in 0..unsafe { (*iterator).count } {
                notice();
            }
        }
        // SAFETY: the descriptor is a C struct for which all zeroes is the documented default.
        let mut description: sys::ecs_observer_desc_t = unsafe { mem::zeroed() };
        description.query.terms[0].id = id.0;
        // SAFETY: a constant of the C library, initialized before `main`.
        description.events[0] = unsafe { sys::EcsOnAdd };
        description.callback = Some(callback);
        // SAFETY: *World*, *Ids*; the descriptor is valid for the call, and the callback for as long as the program runs.
        unsafe { sys::ecs_observer_init(self.raw, &raw const description) };
    }

    pub(crate) fn set_name(&mut self, entity: Id, name: &CStr) {
        // SAFETY: *World*, *Ids*; Flecs copies the name during the call.
        unsafe { sys::ecs_set_name(self.raw, entity.0, name.as_ptr()) };
    }

    /// The entity at the end of a path of names.
    #[inline]
    pub(crate) fn lookup(&self, path: &CStr) -> Option<Id> {
        // SAFETY: *World*; a read-only call.
        let found = unsafe { sys::ecs_lookup(self.raw, path.as_ptr()) };
        (found != 0).then_some(Id(found))
    }

    fn is_alive(&self, entity: Id) -> bool {
        // SAFETY: *World*; the call accepts ids of deleted entities.
        unsafe { sys::ecs_is_alive(self.raw, entity.0) }
    }

    pub(crate) fn delete(&mut self, entity: Id) {
        // SAFETY: *World*, *Ids*.
        unsafe { sys::ecs_delete(self.raw, entity.0) }
    }

    /// Runs `work` with its operations deferred, and applies them.
    fn deferred(&mut self, work: impl FnOnce(&mut Self)) {
        // SAFETY: *World*.
        unsafe { sys::ecs_defer_begin(self.raw) };
        work(self);
        // SAFETY: *World*; closes the block opened above.
        unsafe { sys::ecs_defer_end(self.raw) };
    }

    /// A new entity with two components and a pair, created in its final table.
    #[inline]
    fn entity_with(&mut self, components: [Component<Triple>; 2], pair: Id) -> Id {
        let add = [pair.0, 0];
        let value = ptr::from_ref(&VALUE).cast_mut().cast::<c_void>();
        // SAFETY: both are C structs for which all zeroes is the documented default, and ends the list.
        let (mut set, mut description): ([sys::ecs_value_t; 3], sys::ecs_entity_desc_t) =
            unsafe { (mem::zeroed(), mem::zeroed()) };
        for (slot, component) in set.iter_mut().zip(components) {
            slot.type_ = component.id.0;
            slot.ptr = value;
        }
        description.add = add.as_ptr();
        description.set = set.as_ptr();
        // SAFETY: *World*, *Ids*, *Layout*; lists and values outlive the call, which only reads them.
        Id(unsafe { sys::ecs_entity_init(self.raw, &raw const description) })
    }

    /// The table of entities that have exactly these.
    fn table(&mut self, ids: [Id; 3]) -> TableOf {
        let none = ptr::null_mut();
        // SAFETY: *World*, *Ids*; no table stands for the empty one.
        TableOf(ids.iter().fold(none, |table, id| unsafe { sys::ecs_table_add_id(self.raw, table, id.0) }))
    }

    /// A new entity in a table, with two components.
    #[inline]
    fn entity_in(&mut self, TableOf(table): TableOf, components: [Component<Triple>; 2]) -> Id {
        // SAFETY: *World*; the table is used at once.
        let entity = unsafe { sys::ecs_new_w_table(self.raw, table) };
        for component in components {
            // SAFETY: *World*, *Ids*, *Layout*; the table has such a column.
            unsafe { sys::ecs_get_mut_id(self.raw, entity, component.id.0).cast::<Triple>().write(VALUE) };
        }
        Id(entity)
    }

    /// `count` new entities with two components and the same pair.
    fn bulk(&mut self, components: [Component<Triple>; 2], pair: Id, count: usize, spawned: &mut Vec<Id>) {
        let values = vec![VALUE; count];
        let column = values.as_ptr().cast_mut().cast::<c_void>();
        let mut data = [column, column, ptr::null_mut()];
        // SAFETY: a C struct for which all zeroes is the documented default.
        let mut description: sys::ecs_bulk_desc_t = unsafe { mem::zeroed() };
        description.count = count as i32;
        description.ids[0] = components[0].id.0;
        description.ids[1] = components[1].id.0;
        description.ids[2] = pair.0;
        description.data = data.as_mut_ptr();
        // SAFETY: *World*, *Ids*, *Layout*; both columns hold `count` values, which are plain and get copied;
        // Flecs returns `count` ids that stay valid until its next structural change.
        let ids =
            unsafe { slice::from_raw_parts(sys::ecs_bulk_init(self.raw, &raw const description), count) };
        spawned.extend(ids.iter().copied().map(Id));
    }
}

#[inline]
pub(crate) fn pair(relation: Id, target: Id) -> Id {
    Id(PAIR | (relation.0 << 32) | (target.0 & 0xFFFF_FFFF))
}

/// Matches every target.
pub(crate) fn wildcard() -> Id {
    // SAFETY: a constant of the C library, initialized before `main`.
    Id(unsafe { sys::EcsWildcard })
}

/// The trait of targets whose children Flecs keeps in a list.
pub(crate) fn ordered_children() -> Id {
    // SAFETY: a constant of the C library, initialized before `main`.
    Id(unsafe { sys::EcsOrderedChildren })
}

/// Groups the tables of a second-storage hierarchy by their depth.
#[cfg(flecs_parent)]
pub(crate) fn parent_depth() -> Id {
    // SAFETY: a constant of the C library, initialized before `main`.
    Id(unsafe { sys::EcsParentDepth })
}

/// Matches every target, as one.
pub(crate) fn any() -> Id {
    // SAFETY: a constant of the C library, initialized before `main`.
    Id(unsafe { sys::EcsAny })
}

/// The version of the C core, where it is from, and how it was built.
pub(crate) fn build() -> String {
    // SAFETY: the call returns a constant.
    let info = unsafe { &*sys::ecs_get_build_info() };
    let built = if info.debug { "with assertions" } else { "optimized, without assertions" };
    let linked = [info.version_major, info.version_minor, info.version_patch].map(i64::from);
    let bound = [sys::FLECS_VERSION_MAJOR, sys::FLECS_VERSION_MINOR, sys::FLECS_VERSION_PATCH].map(i64::from);
    assert_eq!(linked, bound, "the bindings belong to another version of the core");
    let [major, minor, patch] = linked;
    let from = if cfg!(flecs_core) { "the folder that FLECS_CORE named" } else { "the crate flecs_ecs" };
    format!("{major}.{minor}.{patch}, the core of {from}; {built}, without safety locks")
}

/// A Flecs world with one relation.
pub(crate) struct Flecs {
    world: FlecsWorld,
    relation: Id,
    wildcard: Id,
    components: [Component<Triple>; 2],
    kind: Kind,
    way: Way,
    /// Pairs carry a value.
    valued: bool,
    /// Looks for targets in the list of the entity's ids.
    listing: bool,
    /// Spawns in the table that it knows.
    tabled: bool,
}

impl Flecs {
    pub(crate) fn new(kind: Kind, way: Way) -> Self {
        let mut world = FlecsWorld::new();
        let components = [world.component(), world.component()];
        let relation = world.relation(kind);
        let wildcard = pair(relation, wildcard());
        Self {
            world,
            relation,
            wildcard,
            components,
            kind,
            way,
            valued: false,
            listing: false,
            tabled: false,
        }
    }

    /// Its pairs carry a value.
    pub(crate) fn with_values(kind: Kind, way: Way) -> Self {
        let mut side = Self::new(kind, way);
        side.relation = side.world.component::<Triple>().id;
        side.world.set_kind(side.relation, kind);
        side.wildcard = pair(side.relation, wildcard());
        side.valued = true;
        side
    }

    /// Finds all targets of an entity in the list of its ids, and not one after the other.
    pub(crate) fn listing(mut self) -> Self {
        self.listing = true;
        self
    }

    /// Finds the table that spawned entities are to be in once per target.
    pub(crate) fn tabled(mut self) -> Self {
        self.tabled = true;
        self
    }

    /// Observes the insertion of its pairs.
    pub(crate) fn observed(mut self, observers: usize) -> Self {
        (0..observers).for_each(|_| self.world.observe(self.wildcard));
        self
    }

    /// Observes the insertion of pairs of another relation.
    pub(crate) fn observed_elsewhere(mut self) -> Self {
        let other = self.world.relation(self.kind);
        self.world.observe(pair(other, wildcard()));
        self
    }
}

impl Side for Flecs {
    type Id = Id;

    fn spawn_source(&mut self) -> Id {
        let entity = self.world.entity();
        for component in self.components {
            self.world.set(entity, component, &VALUE);
        }
        entity
    }

    fn spawn_child(&mut self, parent: Id) -> Id {
        if self.kind == Kind::ChildOfLast {
            let child = self.spawn_source();
            self.insert(child, parent);
            return child;
        }
        let child = self.world.entity();
        self.insert(child, parent);
        for component in self.components {
            self.world.set(child, component, &VALUE);
        }
        child
    }

    fn spawn_target(&mut self) -> Id {
        self.world.entity()
    }

    fn despawn(&mut self, entity: Id) {
        self.world.delete(entity);
    }

    fn tidy(&mut self) {
        // SAFETY: *World*.
        unsafe { sys::ecs_shrink(self.world.raw) };
    }

    fn is_alive(&self, entity: Id) -> bool {
        self.world.is_alive(entity)
    }

    fn index(entity: Id) -> u64 {
        u64::from(entity.0 as u32)
    }

    #[inline]
    fn insert(&mut self, source: Id, target: Id) {
        #[cfg(flecs_parent)]
        if self.kind == Kind::Parent {
            let parent = self.world.parent();
            return self.world.set(source, parent, &target);
        }
        let id = pair(self.relation, target);
        if self.valued {
            self.world.set(source, Component { id, values: PhantomData }, &VALUE);
        } else {
            self.world.add(source, id);
        }
    }

    #[inline]
    fn remove(&mut self, source: Id, target: Id) {
        self.world.remove(source, pair(self.relation, target));
    }

    #[inline]
    fn has(&self, source: Id, target: Id) -> bool {
        self.world.has(source, pair(self.relation, target))
    }

    fn insert_all(&mut self, links: &[Link<Id>]) {
        let (relation, valued) = (self.relation, self.valued);
        let work = |world: &mut FlecsWorld| {
            for &(source, target) in links {
                let id = pair(relation, target);
                match valued {
                    true => world.set(source, Component { id, values: PhantomData }, &VALUE),
                    false => world.add(source, id),
                }
            }
        };
        match self.way {
            Way::Direct | Way::Batch => work(&mut self.world),
            Way::Commands | Way::CommandBatch => self.world.deferred(work),
        }
    }

    fn remove_all(&mut self, links: &[Link<Id>]) {
        let relation = self.relation;
        let work = |world: &mut FlecsWorld| {
            for &(source, target) in links {
                world.remove(source, pair(relation, target));
            }
        };
        match self.way {
            Way::Direct | Way::Batch => work(&mut self.world),
            Way::Commands | Way::CommandBatch => self.world.deferred(work),
        }
    }
}

impl Lookup for Flecs {
    fn count_pairs(&mut self, probes: &[Link<Id>]) -> usize {
        probes.iter().filter(|&&(source, target)| self.has(source, target)).count()
    }

    fn count_related(&mut self, probes: &[Link<Id>]) -> usize {
        probes.iter().filter(|&&(source, _)| self.world.has(source, self.wildcard)).count()
    }

    fn count_first_targets(&mut self, probes: &[Link<Id>]) -> usize {
        let is_first =
            |&&(source, target): &&Link<Id>| self.world.target(source, self.relation, 0) == Some(target);
        probes.iter().filter(is_first).count()
    }

    fn sum_targets(&mut self, sources: &[Id]) -> u64 {
        let (world, relation) = (&self.world, self.relation);
        if self.listing {
            let first = PAIR | (relation.0 << 32);
            let pairs = |&source: &Id| world.ids(source).iter().filter(move |id| id.0 >> 32 == first >> 32);
            return sources.iter().flat_map(pairs).map(|&id| Self::index(id)).sum();
        }
        let targets = |&source: &Id| (0..).map_while(move |place| world.target(source, relation, place));
        sources.iter().flat_map(targets).map(Self::index).sum()
    }
}

impl SpawnLinked for Flecs {
    fn spawn_linked(&mut self, targets: &[Id], spawned: &mut Vec<Id>) {
        let (components, relation) = (self.components, self.relation);
        match self.way {
            Way::Direct if self.tabled => {
                for same in targets.chunk_by(Id::eq) {
                    let table =
                        self.world.table([components[0].id, components[1].id, pair(relation, same[0])]);
                    spawned.extend(same.iter().map(|_| self.world.entity_in(table, components)));
                }
            }
            Way::Direct => {
                for &target in targets {
                    spawned.push(self.world.entity_with(components, pair(relation, target)));
                }
            }
            Way::Commands => self.world.deferred(|world| {
                for &target in targets {
                    spawned.push(world.entity_with(components, pair(relation, target)));
                }
            }),
            Way::Batch | Way::CommandBatch => {
                for same in targets.chunk_by(Id::eq) {
                    self.world.bulk(self.components, pair(self.relation, same[0]), same.len(), spawned);
                }
            }
        }
    }
}
