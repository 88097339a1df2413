//! Reading entities out of fields of reflected components.

#[cfg(feature = "bevy_reflect")]
pub(crate) use reflected::Members;
#[cfg(not(feature = "bevy_reflect"))]
pub(crate) use unknown::Members;

#[cfg(feature = "bevy_reflect")]
mod reflected {
    use crate::expr::{eval::WorldAccess, plan::MemberOp};
    use alloc::{borrow::ToOwned, boxed::Box};
    use bevy_ecs::{component::ComponentId, entity::Entity, reflect::ReflectComponent};
    use bevy_platform::collections::HashMap;
    use bevy_reflect::{GetPath, ParsedPath};

    /// Paths that were parsed before.
    #[derive(Default)]
    pub(crate) struct Members {
        paths: HashMap<Box<str>, Option<ParsedPath>>,
        components: HashMap<ComponentId, Option<ReflectComponent>>,
    }

    impl Members {
        /// The living entity that the field of `source` holds.
        pub(crate) fn value(
            &mut self,
            access: WorldAccess<'_>,
            member: &MemberOp,
            source: Entity,
        ) -> Option<Entity> {
            let reflect = self.components.entry(member.component).or_insert_with(|| {
                let type_id = access.components().get_info(member.component)?.type_id()?;
                let types = access.types()?.read();
                types.get_type_data::<ReflectComponent>(type_id).cloned()
            });
            let component = access.reflect(source, reflect.as_ref()?)?;
            if !self.paths.contains_key(&*member.path) {
                self.paths.insert((*member.path).to_owned().into(), ParsedPath::parse(&member.path).ok());
            }
            let path = self.paths.get(&*member.path)?.as_ref()?;
            let value = component.reflect_path(path).ok()?;
            let entity = match value.try_downcast_ref::<Entity>() {
                Some(entity) => Some(*entity),
                None => *value.try_downcast_ref::<Option<Entity>>()?,
            };
            entity.filter(|&entity| access.entities().contains_spawned(entity))
        }
    }
}

#[cfg(not(feature = "bevy_reflect"))]
mod unknown {
    use crate::expr::{eval::WorldAccess, plan::MemberOp};
    use bevy_ecs::entity::Entity;

    /// Without reflection there are no members.
    #[derive(Default)]
    pub(crate) struct Members;

    impl Members {
        pub(crate) fn value(&mut self, _: WorldAccess<'_>, _: &MemberOp, _: Entity) -> Option<Entity> {
            None
        }
    }
}
