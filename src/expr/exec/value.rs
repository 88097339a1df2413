//! Testing fields of components and of pairs.

#[cfg(feature = "bevy_reflect")]
pub(crate) use reflected::Values;
#[cfg(not(feature = "bevy_reflect"))]
pub(crate) use unknown::Values;

#[cfg(feature = "bevy_reflect")]
mod reflected {
    use crate::{
        expr::{
            bind::ValueHolder,
            eval::{FieldSteps, WorldAccess},
            plan::ValueOp,
        },
        fetch::ReflectCursor,
    };
    use alloc::{boxed::Box, vec::Vec};
    use bevy_ecs::{entity::Entity, reflect::ReflectComponent};
    use bevy_reflect::{Reflect, ReflectFromPtr};

    /// How to read the fields that were compared before: those of one expression.
    #[derive(Default)]
    pub(crate) struct Values(Vec<KnownField>);

    struct KnownField {
        holder: ValueHolder,
        path: Box<str>,
        steps: FieldSteps,
        by: ReadBy,
    }

    enum ReadBy {
        Pointer(ReflectFromPtr),
        /// Of a component that was registered without what [`ReadBy::Pointer`] takes.
        Component(ReflectComponent),
    }

    /// Reads and tests one field, entity by entity.
    pub(crate) struct ValueReader<'a> {
        access: WorldAccess<'a>,
        value: &'a ValueOp,
        steps: &'a FieldSteps,
        from: ValueOrigin<'a>,
    }

    enum ValueOrigin<'a> {
        Column(ReflectCursor<'a>),
        Component(&'a ReflectComponent),
        Pair(&'a ReflectFromPtr),
    }

    impl KnownField {
        fn new(access: WorldAccess<'_>, value: &ValueOp) -> Option<Self> {
            let type_id = match value.holder {
                ValueHolder::Component(component) => access.components().get_info(component)?.type_id()?,
                ValueHolder::Pair(type_id) => type_id,
            };
            let types = access.types()?.read();
            let registration = types.get(type_id)?;
            let steps = FieldSteps::new(&value.path, registration.type_info())?;
            let by = match (registration.data::<ReflectFromPtr>(), value.holder) {
                (Some(pointer), _) => ReadBy::Pointer(pointer.clone()),
                (None, ValueHolder::Component(_)) => {
                    ReadBy::Component(registration.data::<ReflectComponent>()?.clone())
                }
                (None, ValueHolder::Pair(_)) => return None,
            };
            Some(Self { holder: value.holder, path: value.path.clone(), steps, by })
        }
    }

    impl Values {
        /// A reader for a field. `None` if its type is not registered any more: then no value passes the test.
        pub(crate) fn reader<'a>(
            &'a mut self,
            access: WorldAccess<'a>,
            value: &'a ValueOp,
        ) -> Option<ValueReader<'a>> {
            let is_it = |known: &KnownField| known.holder == value.holder && known.path == value.path;
            let at = match self.0.iter().position(is_it) {
                Some(at) => at,
                None => {
                    self.0.push(KnownField::new(access, value)?);
                    self.0.len() - 1
                }
            };
            let KnownField { steps, by, .. } = &self.0[at];
            let from = match (by, value.holder) {
                (ReadBy::Pointer(pointer), ValueHolder::Component(component)) => {
                    ValueOrigin::Column(access.cursor(component, pointer)?)
                }
                (ReadBy::Pointer(pointer), ValueHolder::Pair(_)) => ValueOrigin::Pair(pointer),
                (ReadBy::Component(component), _) => ValueOrigin::Component(component),
            };
            Some(ValueReader { access, value, steps, from })
        }
    }

    impl<'a> ValueReader<'a> {
        /// Whether the field of a source passes the test; with a target, that of the pair. False if there is none.
        #[inline]
        pub(crate) fn holds(&mut self, source: Entity, target: Option<Option<Entity>>) -> bool {
            let pair = self.value.pair.zip(target).map(|((relation, _), target)| (relation, target));
            let value = match &mut self.from {
                ValueOrigin::Column(cursor) if pair.is_none() => cursor.get(source),
                _ => self.value_elsewhere(source, pair),
            };
            // A field that this variant of an enum lacks does not pass.
            let field = value.and_then(|value| self.steps.find(value.as_partial_reflect()));
            field.is_some_and(|field| self.value.test.holds(field))
        }

        fn value_elsewhere(
            &mut self,
            source: Entity,
            pair: Option<(Entity, Option<Entity>)>,
        ) -> Option<&'a dyn Reflect> {
            let access = self.access;
            if let (ValueOrigin::Pair(pointer), Some((relation, target))) = (&self.from, pair) {
                return pointer.as_reflect(access.value_of_pair(source, relation, target?)?);
            }
            // An adopted relationship: its one pair has the component as its value.
            if let Some((relation, target)) = pair
                && !access.has_pair(source, relation, target?)
            {
                return None;
            }
            match &mut self.from {
                ValueOrigin::Column(cursor) => cursor.get(source),
                ValueOrigin::Component(component) => access.reflect(source, component),
                ValueOrigin::Pair(_) => None,
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
        pub(crate) fn holds(&mut self, _: Entity, _: Option<Option<Entity>>) -> bool {
            false
        }
    }
}
