//! Types of fields that can be compared with literals.

use super::{
    reflected::{Field, fields_at},
    value::{BoundLiteral, BoundValueTest, ScalarKind},
};
use alloc::{borrow::Cow, format, string::String, vec::Vec};
use bevy_ecs::name::Name;
use bevy_reflect::{TypeInfo, enums::VariantInfo};
use bevy_relations_syntax::ast::{Comparator, Literal, ValueTest};
use core::any::TypeId;

/// The type of a field that can be compared.
pub(super) struct Scalar {
    kind: ScalarKind,
    /// It is the one in an `Option`.
    pub(super) is_option: bool,
    pub(super) type_name: &'static str,
    /// The variants of an enum.
    variants: Vec<&'static str>,
}

/// Why there is nothing to compare at a path.
pub(in crate::expr) enum NoScalar {
    /// There is none; what stands before it has these.
    Missing(Vec<String>),
    /// It is of another type, or of several.
    Other(Vec<&'static str>),
}

/// What can be compared at a path of fields: the path as reflection writes it, and the type.
pub(in crate::expr) fn scalar_at(
    info: &'static TypeInfo,
    fields: &[String],
) -> Result<(String, ScalarKind), NoScalar> {
    let found = fields_at(info, fields).map_err(|missing| NoScalar::Missing(missing.known))?;
    match of_fields(&found) {
        Some(scalar) => Ok((scalar.path(fields), scalar.kind)),
        None => Err(NoScalar::Other(found.iter().map(|field| field.type_name).collect())),
    }
}

/// The common type of several fields, of different variants of an enum.
pub(super) fn of_fields(fields: &[Field]) -> Option<Scalar> {
    let mut all = fields.iter().map(of_field);
    let first = all.next()??;
    let same = |other: Scalar| {
        (other.kind, other.is_option, other.type_name) == (first.kind, first.is_option, first.type_name)
    };
    all.all(|other| other.is_some_and(same)).then_some(first)
}

fn of_field(field: &Field) -> Option<Scalar> {
    if let Some(kind) = of_type(field.type_id) {
        return Some(Scalar { kind, is_option: false, type_name: field.type_name, variants: Vec::new() });
    }
    let Some(TypeInfo::Enum(info)) = field.info.filter(|_| !field.is_entity) else { return None };
    if info.type_path_table().module_path() == Some("core::option")
        && let Some(VariantInfo::Tuple(some)) = info.variant("Some")
    {
        let inner = some.field_at(0)?;
        let kind = of_type(inner.type_id()).or_else(|| match inner.type_info() {
            Some(TypeInfo::Enum(_)) => Some(ScalarKind::Variant),
            _ => None,
        })?;
        let variants = match inner.type_info() {
            Some(TypeInfo::Enum(info)) => info.variant_names().to_vec(),
            _ => Vec::new(),
        };
        return Some(Scalar { kind, is_option: true, type_name: field.type_name, variants });
    }
    let variants = info.variant_names().to_vec();
    Some(Scalar { kind: ScalarKind::Variant, is_option: false, type_name: field.type_name, variants })
}

fn of_type(id: TypeId) -> Option<ScalarKind> {
    let kinds = [
        (TypeId::of::<i8>(), ScalarKind::I8),
        (TypeId::of::<i16>(), ScalarKind::I16),
        (TypeId::of::<i32>(), ScalarKind::I32),
        (TypeId::of::<i64>(), ScalarKind::I64),
        (TypeId::of::<i128>(), ScalarKind::I128),
        (TypeId::of::<isize>(), ScalarKind::Isize),
        (TypeId::of::<u8>(), ScalarKind::U8),
        (TypeId::of::<u16>(), ScalarKind::U16),
        (TypeId::of::<u32>(), ScalarKind::U32),
        (TypeId::of::<u64>(), ScalarKind::U64),
        (TypeId::of::<u128>(), ScalarKind::U128),
        (TypeId::of::<usize>(), ScalarKind::Usize),
        (TypeId::of::<f32>(), ScalarKind::F32),
        (TypeId::of::<f64>(), ScalarKind::F64),
        (TypeId::of::<bool>(), ScalarKind::Bool),
        (TypeId::of::<char>(), ScalarKind::Char),
        (TypeId::of::<String>(), ScalarKind::Text),
        (TypeId::of::<Cow<'static, str>>(), ScalarKind::Text),
        (TypeId::of::<&'static str>(), ScalarKind::Text),
        (TypeId::of::<Name>(), ScalarKind::Text),
    ];
    kinds.into_iter().find(|(known, _)| *known == id).map(|(_, kind)| kind)
}

impl Scalar {
    /// A comparison that is possible, for messages.
    pub(super) fn example(&self) -> String {
        match self.kind {
            ScalarKind::Bool => "== true".into(),
            ScalarKind::Char => "== \"a\"".into(),
            ScalarKind::Text => "== \"text\"".into(),
            ScalarKind::Variant => format!("== {}", self.variants.first().unwrap_or(&"Variant")),
            _ => "> 0".into(),
        }
    }

    /// The path to it, as reflection writes it.
    pub(super) fn path(&self, fields: &[String]) -> String {
        let mut path = fields.iter().map(|field| format!(".{field}")).collect::<String>();
        path.push_str(if self.is_option { ".0" } else { "" });
        path
    }

    /// What a field of this type is compared with.
    ///
    /// # Errors
    /// What is expected instead.
    pub(super) fn test(&self, test: &ValueTest) -> Result<BoundValueTest, String> {
        let ValueTest { comparator, literal, .. } = test;
        let (kind, comparator) = (self.kind, *comparator);
        let is_number = kind.is_whole() || kind.is_float();
        if !is_number && !matches!(comparator, Comparator::Equal | Comparator::NotEqual) {
            return Err(format!("expected `==` or `!=` instead of `{}`", comparator.sign()));
        }
        let literal = match (kind, literal) {
            (_, Literal::Number(number)) if is_number => {
                let in_range = BoundLiteral::number(number, kind);
                in_range.ok_or_else(|| String::from("expected a number in the range of the type"))?
            }
            _ if is_number => return Err("expected a number".into()),
            (ScalarKind::Bool, Literal::Bool(value)) => BoundLiteral::Bool(*value),
            (ScalarKind::Bool, _) => return Err("expected `true` or `false`".into()),
            (ScalarKind::Char, Literal::Text(text)) => {
                let mut chars = text.chars();
                match (chars.next(), chars.next()) {
                    (Some(value), None) => BoundLiteral::Char(value),
                    _ => return Err("expected a string of one character".into()),
                }
            }
            (ScalarKind::Variant, Literal::Text(text)) => {
                if !self.variants.contains(&text.as_str()) {
                    let variants: Vec<String> =
                        self.variants.iter().map(|name| format!("`\"{name}\"`")).collect();
                    return Err(format!("expected a variant, one of {}", variants.join(", ")));
                }
                BoundLiteral::Text(text.as_str().into())
            }
            (_, Literal::Text(text)) => BoundLiteral::Text(text.as_str().into()),
            _ => return Err("expected a string".into()),
        };
        Ok(BoundValueTest { comparator, kind, literal })
    }
}
