//! Prefabs of Flecs, through its C interface.
//!
//! The blocks rely on the facts that [`flecs`](crate::flecs) names.
#![expect(unsafe_code, reason = "the C interface of Flecs is unsafe; calls are wrapped one by one here")]

use crate::{
    flecs::{Component, FlecsWorld, Id, pair},
    sys,
};
use std::slice;

impl FlecsWorld {
    /// Lets instances share a component of their prefab.
    pub(crate) fn inherit<T>(&mut self, component: Component<T>) {
        // SAFETY: these are constants of the C library, initialized before `main`.
        let rule = unsafe { pair(Id(sys::EcsOnInstantiate), Id(sys::EcsInherit)) };
        self.add(component.id, rule);
    }

    /// Makes an entity a prefab.
    pub(crate) fn set_prefab(&mut self, entity: Id) {
        // SAFETY: a constant of the C library, initialized before `main`.
        let prefab = Id(unsafe { sys::EcsPrefab });
        self.add(entity, prefab);
    }

    /// A new instance of a prefab.
    #[inline]
    pub(crate) fn instantiate(&mut self, prefab: Id) -> Id {
        // SAFETY: *World*, *Ids*; a constant of the C library, initialized before `main`.
        Id(unsafe { sys::ecs_new_w_id(self.raw, pair(Id(sys::EcsIsA), prefab).0) })
    }

    /// So many new instances of a prefab.
    pub(crate) fn instantiate_bulk(&mut self, prefab: Id, count: usize, made: &mut Vec<Id>) {
        // SAFETY: *World*, *Ids*; Flecs returns `count` ids that stay valid until its next structural change.
        let ids = unsafe {
            let first = sys::ecs_bulk_new_w_id(self.raw, pair(Id(sys::EcsIsA), prefab).0, count as i32);
            slice::from_raw_parts(first, count)
        };
        made.extend(ids.iter().copied().map(Id));
    }
}
