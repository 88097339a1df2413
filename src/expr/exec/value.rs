//! Testing fields of components and of pairs.

#[cfg(feature = "bevy_reflect")]
pub(crate) use reflected::Values;
#[cfg(not(feature = "bevy_reflect"))]
pub(crate) use unknown::Values;

#[cfg(feature = "bevy_reflect")]
mod reflected {
    use crate::expr::{bind::ValueHolder, eval::WorldAccess, plan::ValueOp};
    use alloc::boxed::Box;
    use bevy_ecs::{component::ComponentId, entity::Entity, reflect::ReflectComponent};
    use bevy_platform::collections::HashMap;
    use bevy_reflect::{ParsedPath, Reflect, ReflectFromPtr, ReflectPath};
    use core::any::TypeId;

    /// How to read what was compared before.
    #[derive(Default)]
    pub(crate) struct Values {
        components: HashMap<ComponentId, ReflectComponent>,
        pairs: HashMap<TypeId, ReflectFromPtr>,
        paths: HashMap<Box<str>, ParsedPath>,
    }

    /// Reads and tests one field, entity by entity.
    pub(crate) struct ValueReader<'a> {
        access: WorldAccess<'a>,
        value: &'a ValueOp,
        how: ReadBy<'a>,
        path: &'a ParsedPath,
    }

    enum ReadBy<'a> {
        Component(&'a ReflectComponent),
        Pair(&'a ReflectFromPtr),
    }

    impl Values {
        /// A reader for a field. `None` if its type is not registered any more: nothing is as asked.
        pub(crate) fn reader<'a>(
            &'a mut self,
            access: WorldAccess<'a>,
            value: &'a ValueOp,
        ) -> Option<ValueReader<'a>> {
            if !self.paths.contains_key(&value.path) {
                self.paths.insert(value.path.clone(), ParsedPath::parse(&value.path).ok()?);
            }
            let how = match value.holder {
                ValueHolder::Component(component) => {
                    if !self.components.contains_key(&component) {
                        let type_id = access.components().get_info(component)?.type_id()?;
                        let types = access.types()?.read();
                        self.components
                            .insert(component, types.get_type_data::<ReflectComponent>(type_id)?.clone());
                    }
                    ReadBy::Component(self.components.get(&component)?)
                }
                ValueHolder::Pair(type_id) => {
                    if !self.pairs.contains_key(&type_id) {
                        let types = access.types()?.read();
                        self.pairs.insert(type_id, types.get_type_data::<ReflectFromPtr>(type_id)?.clone());
                    }
                    ReadBy::Pair(self.pairs.get(&type_id)?)
                }
            };
            Some(ValueReader { access, value, how, path: self.paths.get(&value.path)? })
        }
    }

    impl ValueReader<'_> {
        /// Whether the field of a source is as asked; with a target, that of the pair. False if there is none.
        #[inline]
        pub(crate) fn holds(&self, source: Entity, target: Option<Option<Entity>>) -> bool {
            let value = self.value(source, target);
            // What is not there in this variant of an enum is not as asked.
            let field = value.and_then(|value| self.path.reflect_element(value.as_partial_reflect()).ok());
            field.is_some_and(|field| self.value.test.holds(field))
        }

        fn value(&self, source: Entity, target: Option<Option<Entity>>) -> Option<&dyn Reflect> {
            match (&self.how, self.value.pair.zip(target)) {
                (ReadBy::Component(reflect), None) => self.access.reflect(source, reflect),
                (ReadBy::Component(reflect), Some(((relation, _), target))) => {
                    // An adopted relationship: its one pair has the component as its value.
                    let is_stored = self.access.has_pair(source, relation, target?);
                    self.access.reflect(source, reflect).filter(|_| is_stored)
                }
                (ReadBy::Pair(reflect), pair) => {
                    let ((relation, _), target) = pair?;
                    reflect.as_reflect(self.access.value_of_pair(source, relation, target?)?)
                }
            }
        }
    }
}

#[cfg(not(feature = "bevy_reflect"))]
mod unknown {
    use crate::expr::{eval::WorldAccess, plan::ValueOp};
    use bevy_ecs::entity::Entity;

    /// Without reflection there are no fields.
    #[derive(Default)]
    pub(crate) struct Values;

    pub(crate) struct ValueReader;

    impl Values {
        pub(crate) fn reader(&mut self, _: WorldAccess<'_>, _: &ValueOp) -> Option<ValueReader> {
            None
        }
    }

    impl ValueReader {
        pub(crate) fn holds(&self, _: Entity, _: Option<Option<Entity>>) -> bool {
            false
        }
    }
}
