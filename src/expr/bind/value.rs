//! Fields that are compared with literals.

#[cfg(feature = "bevy_reflect")]
use crate::expr::eval::FieldKey;
use alloc::boxed::Box;
#[cfg(feature = "bevy_reflect")]
use alloc::{borrow::Cow, string::String};
#[cfg(feature = "bevy_reflect")]
use bevy_ecs::name::Name;
#[cfg(feature = "bevy_reflect")]
use bevy_reflect::{PartialReflect, ReflectRef};
use bevy_relations_syntax::ast::Comparator;
use core::cmp::Ordering;
#[cfg(feature = "bevy_reflect")]
use core::ops::RangeInclusive;

/// What a field is compared with, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BoundValueTest {
    pub(crate) comparator: Comparator,
    pub(crate) kind: ScalarKind,
    pub(crate) literal: BoundLiteral,
}

/// The type of a field that can be compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ScalarKind {
    I8,
    I16,
    I32,
    I64,
    I128,
    Isize,
    U8,
    U16,
    U32,
    U64,
    U128,
    Usize,
    F32,
    F64,
    Bool,
    Char,
    Text,
    /// An enum, by the name of its variant.
    Variant,
}

/// A literal in the form that it is compared in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum BoundLiteral {
    /// For whole numbers. With a fraction, it lies between this number and the next.
    Whole {
        value: Whole,
        has_fraction: bool,
    },
    /// For floating-point numbers, rounded to the type of the field.
    Float(Finite),
    Bool(bool),
    Char(char),
    Text(Box<str>),
}

/// Any whole number of 128 bits, with or without a sign: the order is that of the numbers. A negative number is -1 and
/// its bits, what is less than all numbers of 128 bits -2.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Whole(i8, u128);

impl Whole {
    pub(super) const LEAST: Self = Self(-2, 0);

    pub(super) fn unsigned(value: u128) -> Self {
        Self(0, value)
    }

    pub(super) fn signed(value: i128) -> Self {
        Self(if value < 0 { -1 } else { 0 }, value as u128)
    }
}

/// A number that is not infinite, and is one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Finite(f64);

impl Finite {
    pub(super) fn new(value: f64) -> Option<Self> {
        value.is_finite().then_some(Self(value))
    }
}

impl ScalarKind {
    pub(super) fn is_whole(self) -> bool {
        !self.is_float() && !matches!(self, Self::Bool | Self::Char | Self::Text | Self::Variant)
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }
}

impl BoundLiteral {
    /// A number for fields of a kind, which are numbers. `None` if it is beyond what such a field can hold.
    pub(super) fn number(text: &str, kind: ScalarKind) -> Option<Self> {
        let float = || match kind {
            ScalarKind::F32 => text.parse::<f32>().ok().map(f64::from),
            _ => text.parse::<f64>().ok(),
        };
        if kind.is_float() {
            return Some(Self::Float(Finite::new(float()?)?));
        }
        let (negative, magnitude) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        if let Ok(magnitude) = magnitude.parse::<u128>() {
            let value = match (negative, 0_i128.checked_sub_unsigned(magnitude)) {
                (false, _) => Whole::unsigned(magnitude),
                (true, Some(value)) => Whole::signed(value),
                (true, None) => Whole::LEAST,
            };
            return Some(Self::Whole { value, has_fraction: false });
        }
        Some(Self::between(float()?))
    }

    /// A number that is not written as a whole one, for whole numbers.
    fn between(number: f64) -> Self {
        // Beyond 128 bits both saturate, and nothing lies there.
        let value = if number < 0.0 {
            let value = number as i128;
            let floor = if value as f64 > number { value.saturating_sub(1) } else { value };
            if number < i128::MIN as f64 { Whole::LEAST } else { Whole::signed(floor) }
        } else {
            Whole::unsigned(number as u128)
        };
        let is_whole = (number as i128) as f64 == number || number >= i128::MAX as f64;
        Self::Whole { value, has_fraction: !is_whole || number >= u128::MAX as f64 }
    }
}

// It is never NaN.
impl Eq for Finite {}

impl BoundValueTest {
    /// Whether a value with this order to the literal passes. Without an order, it is another value.
    fn allows(&self, order: Option<Ordering>) -> bool {
        match self.comparator {
            Comparator::Less => order.is_some_and(Ordering::is_lt),
            Comparator::LessOrEqual => order.is_some_and(Ordering::is_le),
            Comparator::Greater => order.is_some_and(Ordering::is_gt),
            Comparator::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
            Comparator::Equal => order == Some(Ordering::Equal),
            Comparator::NotEqual => order != Some(Ordering::Equal),
        }
    }
}

#[cfg(feature = "bevy_reflect")]
impl BoundValueTest {
    /// Whether a field fulfils it. False for a field of another type.
    pub(crate) fn holds(&self, field: &dyn PartialReflect) -> bool {
        // A field without an order to the literal is one of its kind still: NaN.
        self.order(field).is_some_and(|order| self.allows(order))
    }

    /// How the field stands to the literal; `None` if it is something else.
    fn order(&self, field: &dyn PartialReflect) -> Option<Option<Ordering>> {
        if !self.kind.is_whole() {
            return self.order_of_others(field);
        }
        let BoundLiteral::Whole { value, has_fraction } = self.literal else { return None };
        let order = self.kind.whole(field)?.cmp(&value);
        Some(Some(if has_fraction { order.then(Ordering::Less) } else { order }))
    }

    /// The keys of the fields that fulfil it, and of some on the edges that do not. `None` if an index is of no help.
    pub(crate) fn keys(&self) -> Option<RangeInclusive<FieldKey>> {
        let key = match &self.literal {
            BoundLiteral::Whole { value, .. } => FieldKey::Number(self.kind.key_of_whole(*value)),
            BoundLiteral::Float(value) => key_of_float(value.0)?,
            BoundLiteral::Bool(value) => FieldKey::Number(i64::from(*value)),
            BoundLiteral::Char(value) => FieldKey::Number(i64::from(u32::from(*value))),
            BoundLiteral::Text(text) => FieldKey::Text(text.clone()),
        };
        match self.comparator {
            Comparator::Equal => Some(key.clone()..=key),
            Comparator::Less | Comparator::LessOrEqual => Some(FieldKey::Number(i64::MIN)..=key),
            Comparator::Greater | Comparator::GreaterOrEqual => Some(key..=FieldKey::Number(i64::MAX)),
            Comparator::NotEqual => None,
        }
    }

    /// [`order`](Self::order) of what is no whole number.
    fn order_of_others(&self, field: &dyn PartialReflect) -> Option<Option<Ordering>> {
        match (self.kind, &self.literal) {
            (ScalarKind::F32, BoundLiteral::Float(literal)) => {
                Some(f64::from(*field.try_downcast_ref::<f32>()?).partial_cmp(&literal.0))
            }
            (ScalarKind::F64, BoundLiteral::Float(literal)) => {
                Some(field.try_downcast_ref::<f64>()?.partial_cmp(&literal.0))
            }
            (ScalarKind::Bool, BoundLiteral::Bool(literal)) => {
                Some(Some(field.try_downcast_ref::<bool>()?.cmp(literal)))
            }
            (ScalarKind::Char, BoundLiteral::Char(literal)) => {
                Some(Some(field.try_downcast_ref::<char>()?.cmp(literal)))
            }
            (ScalarKind::Text, BoundLiteral::Text(literal)) => Some(Some(text_of(field)?.cmp(&**literal))),
            (ScalarKind::Variant, BoundLiteral::Text(literal)) => match field.reflect_ref() {
                ReflectRef::Enum(value) => Some(Some(value.variant_name().cmp(&**literal))),
                _ => None,
            },
            _ => None,
        }
    }
}

#[cfg(feature = "bevy_reflect")]
impl ScalarKind {
    /// A field that is a whole number. `None` if it is of another type.
    fn whole(self, field: &dyn PartialReflect) -> Option<Whole> {
        macro_rules! signed {
            ($number:ty) => {
                Whole::signed(i128::from(*field.try_downcast_ref::<$number>()?))
            };
        }
        macro_rules! unsigned {
            ($number:ty) => {
                Whole::unsigned(u128::from(*field.try_downcast_ref::<$number>()?))
            };
        }
        Some(match self {
            Self::I8 => signed!(i8),
            Self::I16 => signed!(i16),
            Self::I32 => signed!(i32),
            Self::I64 => signed!(i64),
            Self::I128 => Whole::signed(*field.try_downcast_ref()?),
            Self::Isize => Whole::signed(*field.try_downcast_ref::<isize>()? as i128),
            Self::U8 => unsigned!(u8),
            Self::U16 => unsigned!(u16),
            Self::U32 => unsigned!(u32),
            Self::U64 => unsigned!(u64),
            Self::U128 => Whole::unsigned(*field.try_downcast_ref()?),
            Self::Usize => Whole::unsigned(*field.try_downcast_ref::<usize>()? as u128),
            Self::F32 | Self::F64 | Self::Bool | Self::Char | Self::Text | Self::Variant => return None,
        })
    }

    /// What an index finds a field by. `None` if it is NaN, or of another type.
    pub(crate) fn key(self, field: &dyn PartialReflect) -> Option<FieldKey> {
        Some(match self {
            Self::F32 => key_of_float(f64::from(*field.try_downcast_ref::<f32>()?))?,
            Self::F64 => key_of_float(*field.try_downcast_ref()?)?,
            Self::Bool => FieldKey::Number(i64::from(*field.try_downcast_ref::<bool>()?)),
            Self::Char => FieldKey::Number(i64::from(u32::from(*field.try_downcast_ref::<char>()?))),
            Self::Text => FieldKey::Text(text_of(field)?.into()),
            Self::Variant => match field.reflect_ref() {
                ReflectRef::Enum(value) => FieldKey::Text(value.variant_name().into()),
                _ => return None,
            },
            _ => FieldKey::Number(self.key_of_whole(self.whole(field)?)),
        })
    }

    /// The order is that of the numbers; those beyond 64 bits are the same as the last within.
    fn key_of_whole(self, value: Whole) -> i64 {
        let Whole(sign, bits) = value;
        let value = match sign {
            -2 => i128::MIN,
            -1 => bits as i128,
            _ => i128::try_from(bits).unwrap_or(i128::MAX),
        };
        let is_long = matches!(self, Self::U64 | Self::U128 | Self::Usize);
        let value = if is_long { value.saturating_add(i128::from(i64::MIN)) } else { value };
        value.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }
}

/// The order is that of the numbers. `None` for NaN.
#[cfg(feature = "bevy_reflect")]
fn key_of_float(value: f64) -> Option<FieldKey> {
    // The two zeros are equal. Of negative numbers, those with larger bits are less.
    let bits = (value + 0.0).to_bits() as i64;
    let key = if bits < 0 { bits ^ i64::MAX } else { bits };
    (!value.is_nan()).then_some(FieldKey::Number(key))
}

/// The text of a field that is one.
#[cfg(feature = "bevy_reflect")]
fn text_of(field: &dyn PartialReflect) -> Option<&str> {
    if let Some(text) = field.try_downcast_ref::<String>() {
        return Some(text);
    }
    if let Some(text) = field.try_downcast_ref::<Cow<'static, str>>() {
        return Some(text);
    }
    if let Some(text) = field.try_downcast_ref::<&'static str>() {
        return Some(text);
    }
    field.try_downcast_ref::<Name>().map(Name::as_str)
}
