//! Finding a field in a reflected value.

use alloc::{borrow::Cow, vec::Vec};
use bevy_reflect::{
    Access, NamedField, ParsedPath, PartialReflect, ReflectRef, TypeInfo, UnnamedField, enums::VariantType,
};

/// The way to a field. Within structs and tuples it goes by number, which takes no comparison of names.
pub(crate) struct FieldSteps(Vec<FieldStep>);

enum FieldStep {
    Number(usize),
    Name(Cow<'static, str>),
}

impl FieldSteps {
    /// The steps of a path of reflection, `.state.0`, in values of a type. `None` if it cannot be read.
    pub(crate) fn new(path: &str, info: &'static TypeInfo) -> Option<Self> {
        let mut info = Some(info);
        let steps = ParsedPath::parse(path).ok()?.0.into_iter().map(|at| {
            let (step, next) = match (at.access, info) {
                (Access::Field(name), Some(TypeInfo::Struct(known))) => {
                    let next = known.field(&name).and_then(NamedField::type_info);
                    (known.index_of(&name).map_or(FieldStep::Name(name), FieldStep::Number), next)
                }
                (Access::Field(name), _) => (FieldStep::Name(name), None),
                (Access::TupleIndex(at), Some(TypeInfo::TupleStruct(known))) => {
                    (FieldStep::Number(at), known.field_at(at).and_then(UnnamedField::type_info))
                }
                (Access::TupleIndex(at), Some(TypeInfo::Tuple(known))) => {
                    (FieldStep::Number(at), known.field_at(at).and_then(UnnamedField::type_info))
                }
                (Access::TupleIndex(at), _) => (FieldStep::Number(at), None),
                (Access::FieldIndex(_) | Access::ListIndex(_), _) => return None,
            };
            info = next;
            Some(step)
        });
        steps.collect::<Option<_>>().map(Self)
    }

    /// The field of a value. `None` if this variant of an enum has none.
    #[inline]
    pub(crate) fn find<'a>(&self, value: &'a dyn PartialReflect) -> Option<&'a dyn PartialReflect> {
        self.0.iter().try_fold(value, |value, step| match (step, value.reflect_ref()) {
            (FieldStep::Number(at), ReflectRef::Struct(value)) => value.field_at(*at),
            (FieldStep::Number(at), ReflectRef::TupleStruct(value)) => value.field(*at),
            (FieldStep::Number(at), ReflectRef::Tuple(value)) => value.field(*at),
            (FieldStep::Number(at), ReflectRef::Enum(value)) if value.is_variant(VariantType::Tuple) => {
                value.field_at(*at)
            }
            (FieldStep::Name(name), ReflectRef::Struct(value)) => value.field(name),
            (FieldStep::Name(name), ReflectRef::Enum(value)) => value.field(name),
            _ => None,
        })
    }
}
