//! From values as they are written to values of reflected types.

use crate::expr::bind::{BindResult, Field, Meaning, fields_of, meaning_of};
use alloc::{
    borrow::{Cow, ToOwned},
    boxed::Box,
    format,
    string::{String, ToString},
    vec::Vec,
};
use bevy_ecs::{entity::Entity, name::Name, reflect::AppTypeRegistry, world::World};
use bevy_reflect::{
    PartialReflect, Reflect, ReflectFromReflect, ReflectMut, TypeInfo, TypeRegistration,
    enums::{DynamicEnum, DynamicVariant, EnumInfo, VariantInfo},
    std_traits::ReflectDefault,
    structs::DynamicStruct,
    tuple::DynamicTuple,
    tuple_struct::DynamicTupleStruct,
};
use bevy_relations_syntax::{
    ast::{Id, IdKind, Literal, Span},
    error::{Diagnostic, ExprErrorKind},
    insertion::{NewField, NewValue, NewValueKind},
};
use core::any::TypeId;

/// What is known of the type that a value is to have.
struct Expected {
    type_id: TypeId,
    name: &'static str,
    info: Option<&'static TypeInfo>,
}

impl From<&Field> for Expected {
    fn from(field: &Field) -> Self {
        Self { type_id: field.type_id, name: field.type_name, info: field.info }
    }
}

/// A field that is given, by its place in the type.
struct GivenField {
    at: usize,
    value: Box<dyn PartialReflect>,
}

/// Makes values of registered types.
#[derive(Clone, Copy)]
pub(super) struct ValueBuilder<'a> {
    /// Locked no longer than it takes to look at it: making values runs users' code.
    pub(super) types: &'a AppTypeRegistry,
    /// For the entities that values name.
    pub(super) world: &'a World,
}

impl ValueBuilder<'_> {
    /// A value of a registered type, as it is written, or made from nothing.
    pub(super) fn build(
        &self,
        registration: &TypeRegistration,
        value: Option<&NewValue>,
        span: Span,
    ) -> BindResult<Box<dyn Reflect>> {
        let info = registration.type_info();
        let name = info.type_path_table().short_path();
        let default = registration.data::<ReflectDefault>();
        let built = match (value, default) {
            (None, Some(default)) => return Ok(default.default()),
            (None, None) => self.assemble(registration.type_id(), info, Vec::new(), span)?,
            (Some(value), _) => {
                self.value(&Expected { type_id: registration.type_id(), name, info: Some(info) }, value)?
            }
        };
        let built = match built.try_into_reflect() {
            Ok(built) => return Ok(built),
            Err(dynamic) => dynamic,
        };
        let made = match default {
            // An enum that has a default is replaced by the variant that is written.
            Some(default) => {
                let mut made = default.default();
                made.try_apply(&*built).ok().map(|()| made)
            }
            None => registration.data::<ReflectFromReflect>().and_then(|from| from.from_reflect(&*built)),
        };
        made.ok_or_else(|| Diagnostic::rule(span, format!("no `{name}` can be made of this by reflection")))
    }

    fn value(&self, expected: &Expected, value: &NewValue) -> BindResult<Box<dyn PartialReflect>> {
        // `Name("Bob")`: the type is no struct for reflection, but is written as one.
        let alone = match &value.kind {
            NewValueKind::Tuple(values) if values.len() == 1 => &values[0],
            _ => value,
        };
        if let Some(made) = self.leaf(expected.type_id, alone) {
            return made?.map_err(|wanted| {
                Diagnostic::rule(alone.span, format!("a value of type `{}` is {wanted}", expected.name))
            });
        }
        match (expected.info, &value.kind) {
            (Some(TypeInfo::Enum(info)), _) => self.variant(expected, info, alone),
            (Some(info @ TypeInfo::Struct(_)), NewValueKind::Struct(given)) => {
                self.fields(expected.type_id, info, given, value.span)
            }
            (Some(info @ (TypeInfo::TupleStruct(_) | TypeInfo::Tuple(_))), NewValueKind::Struct(given)) => {
                self.fields(expected.type_id, info, given, value.span)
            }
            (Some(info @ (TypeInfo::TupleStruct(_) | TypeInfo::Tuple(_))), NewValueKind::Tuple(given)) => {
                let known = fields_of(info);
                if let Some(more) = given.get(known.len()) {
                    let message = format!("`{}` has no field {}", expected.name, known.len());
                    return Err(Diagnostic::rule(more.span, message));
                }
                let given = known.iter().zip(given).enumerate();
                let given = given.map(|(at, (field, value))| {
                    Ok(GivenField { at, value: self.value(&Expected::from(field), value)? })
                });
                let given = given.collect::<BindResult<Vec<_>>>()?;
                self.assemble(expected.type_id, info, given, value.span)
            }
            (Some(info @ TypeInfo::Struct(_)), _) => {
                let message = match fields_of(info).len() {
                    0 => format!("`{}` has no fields", expected.name),
                    _ => format!("the fields of `{}` have names: {}", expected.name, example(info)),
                };
                Err(Diagnostic::rule(value.span, message))
            }
            (Some(TypeInfo::TupleStruct(_) | TypeInfo::Tuple(_)), _) => {
                let message = format!("a value of type `{}` is written in parentheses", expected.name);
                Err(Diagnostic::rule(value.span, message))
            }
            _ => {
                let message =
                    format!("values of type `{}` cannot be written in an expression", expected.name);
                Err(Diagnostic::rule(value.span, message))
            }
        }
    }

    /// Fields by their names, or by their numbers.
    fn fields(
        &self,
        type_id: TypeId,
        info: &'static TypeInfo,
        given: &[NewField],
        span: Span,
    ) -> BindResult<Box<dyn PartialReflect>> {
        let known = fields_of(info);
        let given = given.iter().map(|NewField { name, span, value }| {
            let Some(at) = known.iter().position(|field| field.name() == name) else {
                let message = match &*known {
                    [] => "the type has no fields".to_owned(),
                    _ => format!("the type has no field of this name: {}", example(info)),
                };
                return Err(Diagnostic::new(ExprErrorKind::UnknownName, *span, message));
            };
            Ok(GivenField { at, value: self.value(&Expected::from(&known[at]), value)? })
        });
        let given = given.collect::<BindResult<Vec<_>>>()?;
        self.assemble(type_id, info, given, span)
    }

    /// A value of these fields, and of those of the default. Without a default all of them must be given.
    fn assemble(
        &self,
        type_id: TypeId,
        info: &'static TypeInfo,
        mut given: Vec<GivenField>,
        span: Span,
    ) -> BindResult<Box<dyn PartialReflect>> {
        let default = self.types.read().get_type_data::<ReflectDefault>(type_id).cloned();
        if let Some(default) = default {
            let made = with_fields(default.default(), given);
            return made.ok_or_else(|| Diagnostic::rule(span, "the value cannot be written by reflection"));
        }
        let known = fields_of(info);
        let missing = (0..known.len()).find(|at| !given.iter().any(|given| given.at == *at));
        if let Some(at) = missing {
            let message = format!(
                "the field `{}` has no value, and no default of `{}` is known: write the value of each field, or reflect `Default`",
                known[at].name(),
                info.type_path_table().short_path(),
            );
            return Err(Diagnostic::rule(span, message));
        }
        given.sort_unstable_by_key(|given| given.at);
        made_of_fields(info, given.into_iter().map(|given| given.value)).ok_or_else(|| {
            let name = info.type_path_table().short_path();
            let message = format!("no default of `{name}` is known: write a value, or reflect `Default`");
            Diagnostic::rule(span, message)
        })
    }

    /// A variant without fields, or an `Option`.
    fn variant(
        &self,
        expected: &Expected,
        info: &'static EnumInfo,
        value: &NewValue,
    ) -> BindResult<Box<dyn PartialReflect>> {
        let is_option = info.type_path_table().module_path() == Some("core::option");
        let name = match &value.kind {
            NewValueKind::Id(Id { kind: IdKind::Path(path), .. }) if path.0.len() == 1 => {
                // With or without the path of the type.
                path.0[0].rsplit("::").next()
            }
            NewValueKind::Literal(Literal::Text(text)) if !is_option => Some(text.as_str()),
            _ => None,
        };
        let some = if is_option { info.variant("Some") } else { None };
        match (name.and_then(|name| info.variant(name)), some) {
            (Some(VariantInfo::Unit(variant)), _) => {
                Ok(Box::new(DynamicEnum::new(variant.name(), DynamicVariant::Unit)))
            }
            (_, Some(VariantInfo::Tuple(some))) => {
                let mut inside = DynamicTuple::default();
                if let Some(field) = some.field_at(0) {
                    let field = Expected {
                        type_id: field.type_id(),
                        name: field.type_path_table().short_path(),
                        info: field.type_info(),
                    };
                    inside.insert_boxed(self.value(&field, value)?);
                }
                Ok(Box::new(DynamicEnum::new("Some", DynamicVariant::Tuple(inside))))
            }
            _ => {
                let units = info.iter().filter(|variant| matches!(variant, VariantInfo::Unit(_)));
                let names: Vec<String> = units.map(|variant| format!("`{}`", variant.name())).collect();
                let name = expected.name;
                let in_parts = matches!(value.kind, NewValueKind::Tuple(_) | NewValueKind::Struct(_));
                let message = match &*names {
                    [] => format!("variants with fields cannot be written, and `{name}` has no others"),
                    [first, ..] if in_parts => format!(
                        "a value of type `{name}` is one of {}; as a component it is written in quotes: `{name}(\"{}\")`",
                        names.join(", "),
                        first.trim_matches('`')
                    ),
                    names => format!("a value of type `{name}` is one of {}", names.join(", ")),
                };
                Err(Diagnostic::rule(value.span, message))
            }
        }
    }

    /// A value without parts; `None` if those of the type have parts. What is wanted instead is the inner error.
    fn leaf(
        &self,
        type_id: TypeId,
        value: &NewValue,
    ) -> Option<BindResult<Result<Box<dyn PartialReflect>, Cow<'static, str>>>> {
        if type_id == TypeId::of::<Entity>() {
            let NewValueKind::Id(id) = &value.kind else {
                return Some(Ok(Err("an entity: its path, or `#bits`".into())));
            };
            return Some(self.entity(id).map(|entity| Ok(Box::new(entity) as Box<dyn PartialReflect>)));
        }
        let literal = match &value.kind {
            NewValueKind::Literal(literal) => Some(literal),
            _ => None,
        };
        scalar(type_id, literal).map(Ok)
    }

    fn entity(&self, id: &Id) -> BindResult<Entity> {
        match meaning_of(self.world, id, None)? {
            Meaning::Entity(entity) => Ok(entity),
            Meaning::Type(_) | Meaning::Member(..) => Err(Diagnostic::rule(id.span, "an entity goes here")),
        }
    }
}

/// A number, text, character or boolean; `None` if the type is none of these.
fn scalar(
    type_id: TypeId,
    literal: Option<&Literal>,
) -> Option<Result<Box<dyn PartialReflect>, Cow<'static, str>>> {
    macro_rules! whole {
        ($($number:ty),*) => {$(
            if type_id == TypeId::of::<$number>() {
                let number = match literal {
                    Some(Literal::Number(text)) => text.parse::<$number>().ok(),
                    _ => None,
                };
                let range = || format!("a whole number from {} to {}", <$number>::MIN, <$number>::MAX);
                return Some(number.map(boxed).ok_or_else(|| range().into()));
            }
        )*};
    }
    macro_rules! decimal {
        ($($number:ty),*) => {$(
            if type_id == TypeId::of::<$number>() {
                let number = match literal {
                    Some(Literal::Number(text)) => text.parse::<$number>().ok(),
                    _ => None,
                };
                let number = number.filter(|number| number.is_finite());
                return Some(number.map(boxed).ok_or_else(|| "a number in the range of the type".into()));
            }
        )*};
    }
    whole!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);
    decimal!(f32, f64);
    let text = match literal {
        Some(Literal::Text(text)) => Some(text),
        _ => None,
    };
    if type_id == TypeId::of::<bool>() {
        return Some(match literal {
            Some(Literal::Bool(value)) => Ok(boxed(*value)),
            _ => Err("`true` or `false`".into()),
        });
    }
    if type_id == TypeId::of::<char>() {
        let mut chars = text.map(|text| text.chars()).into_iter().flatten();
        return Some(match (chars.next(), chars.next()) {
            (Some(value), None) => Ok(boxed(value)),
            _ => Err("a string of one character".into()),
        });
    }
    let make: fn(&str) -> Box<dyn PartialReflect> = match type_id {
        id if id == TypeId::of::<String>() => |text| boxed(text.to_string()),
        id if id == TypeId::of::<Cow<'static, str>>() => {
            |text| boxed(Cow::<'static, str>::Owned(text.into()))
        }
        id if id == TypeId::of::<Name>() => |text| boxed(Name::new(text.to_string())),
        _ => return None,
    };
    Some(text.map(|text| make(text)).ok_or_else(|| "a string".into()))
}

/// A value with some of its fields replaced. `None` if one of them cannot be written.
fn with_fields(mut value: Box<dyn Reflect>, given: Vec<GivenField>) -> Option<Box<dyn PartialReflect>> {
    for field in given {
        let own = match value.reflect_mut() {
            ReflectMut::Struct(value) => value.field_at_mut(field.at),
            ReflectMut::TupleStruct(value) => value.field_mut(field.at),
            ReflectMut::Tuple(value) => value.field_mut(field.at),
            _ => None,
        };
        own?.try_apply(&*field.value).ok()?;
    }
    Some(value.into_partial_reflect())
}

/// A value made of all its fields, in order. `None` for a type that is not made of fields.
fn made_of_fields(
    info: &'static TypeInfo,
    values: impl Iterator<Item = Box<dyn PartialReflect>>,
) -> Option<Box<dyn PartialReflect>> {
    match info {
        TypeInfo::Struct(_) => {
            let mut made = DynamicStruct::default();
            made.set_represented_type(Some(info));
            for (field, value) in fields_of(info).iter().zip(values) {
                made.insert_boxed(field.name().to_owned(), value);
            }
            Some(Box::new(made))
        }
        TypeInfo::TupleStruct(_) => {
            let mut made = DynamicTupleStruct::default();
            made.set_represented_type(Some(info));
            values.for_each(|value| made.insert_boxed(value));
            Some(Box::new(made))
        }
        TypeInfo::Tuple(_) => {
            let mut made = DynamicTuple::default();
            made.set_represented_type(Some(info));
            values.for_each(|value| made.insert_boxed(value));
            Some(Box::new(made))
        }
        _ => None,
    }
}

fn boxed(value: impl PartialReflect) -> Box<dyn PartialReflect> {
    Box::new(value)
}

/// How a struct is written.
fn example(info: &'static TypeInfo) -> String {
    let fields: Vec<String> = fields_of(info).iter().map(|field| format!("{}: ..", field.name())).collect();
    format!("`{{ {} }}`", fields.join(", "))
}
