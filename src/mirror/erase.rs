//! What is compiled for each type of components that mirror pairs.

use super::{
    kind::{Kind, MirrorComponent, MirrorKind, MirrorValue},
    write::{push_last, update_relation, write_back},
};
use alloc::boxed::Box;
use bevy_ecs::{entity::Entity, reflect::ReflectComponent, world::World};
use bevy_reflect::TypeRegistry;
use core::any::TypeId;

pub(super) const fn kind_of<C: MirrorComponent>() -> Kind {
    const {
        &MirrorKind {
            component: TypeId::of::<C>(),
            register: World::register_component::<C>,
            register_type: register_type::<C>,
            start: C::start,
            relations: C::relations,
            shows_any: C::shows_any,
            read: |world, source| Box::new(C::read(world, source)),
            note_silent_changes: C::note_silent_changes,
            get: get::<C>,
            empty: || Box::new(C::default()),
            update: |world, id| update_relation(world, kind_of::<C>(), id),
            push_last: push_last::<C>,
            write_back: write_back::<C>,
        }
    }
}

fn get<C: MirrorComponent>(world: &World, source: Entity) -> Option<Box<dyn MirrorValue>> {
    let component: &C = world.get(source)?;
    Some(component.clone_boxed())
}

fn register_type<C: MirrorComponent>(registry: &mut TypeRegistry, in_scenes: bool) {
    registry.register::<C>();
    if in_scenes {
        registry.register_type_data::<C, ReflectComponent>();
    }
}
