//! Values of pairs that are being inserted: where they come from, defaults, and what their relation says about them.

use super::error::{InsertPairError, attempted};
use crate::{
    id::StoredPair,
    relation::{BoxedValue, ColumnRef, PairContext, Value, if_fields},
    store::PairStore,
};
use alloc::boxed::Box;
use bevy_ecs::{entity::Entity, world::World};
use core::any::{TypeId, type_name};

/// A value given by the caller.
pub(crate) struct GivenValue<'a> {
    pub(crate) value_type: ValueType,
    pub(crate) value: Value<'a>,
}

/// A value of a type that the compiler does not see.
pub(crate) struct TypedValue {
    pub(crate) value_type: ValueType,
    pub(crate) value: BoxedValue,
}

/// The type of a value.
#[derive(Clone, Copy)]
pub(crate) struct ValueType {
    pub(crate) type_id: TypeId,
    pub(crate) name: &'static str,
}

impl ValueType {
    pub(crate) fn of<T: 'static>() -> Self {
        Self { type_id: TypeId::of::<T>(), name: type_name::<T>() }
    }

    /// The type of the values in a column.
    pub(crate) fn of_column(column: ColumnRef) -> Self {
        Self { type_id: column.value_type(), name: column.value_name() }
    }
}

impl<'a> GivenValue<'a> {
    /// The value in `slot`.
    fn new<T: Send + Sync + 'static>(slot: &'a mut Option<T>) -> Self {
        Self { value_type: ValueType::of::<T>(), value: Value::Slot(slot) }
    }

    /// The value in `slot`, unless its type has no fields: that is none.
    pub(super) fn if_value<T: Send + Sync + 'static>(slot: &'a mut Option<T>) -> Option<Self> {
        let new: Option<fn(&'a mut Option<T>) -> Self> = const { if_fields::<T, _>(Self::new) };
        new.map(|new| new(slot))
    }
}

/// Where the value of a planned pair comes from.
pub(crate) enum ValueSource {
    /// There is none.
    Nothing,
    /// The caller gave it.
    Given,
    /// It is to be made.
    Missing,
    Default(BoxedValue),
    /// It is that of the planned pair before: the other direction of a symmetric pair.
    Shared,
    /// It is that of the pair of the same source with this target, which is removed.
    Moved(Entity),
}

/// The value that goes with a planned pair, if it brings one.
pub(super) fn take_given<'a>(
    source: ValueSource,
    given: Option<&'a mut GivenValue<'_>>,
) -> Option<Value<'a>> {
    match source {
        ValueSource::Nothing | ValueSource::Missing | ValueSource::Shared | ValueSource::Moved(_) => None,
        ValueSource::Default(value) => Some(Value::Boxed(value)),
        ValueSource::Given => given.map(|given| match &mut given.value {
            Value::Slot(slot) => Value::Slot(&mut **slot),
            Value::Boxed(value) => Value::Boxed(core::mem::replace(value, Box::new(()))),
        }),
    }
}

/// The default of a value, which its relation has looked at.
pub(super) fn make_default(
    world: &World,
    store: &PairStore,
    pair: StoredPair,
    column: ColumnRef,
) -> Result<BoxedValue, InsertPairError> {
    let missing = || InsertPairError::MissingValue {
        pair: attempted(world, store, pair),
        expected: column.value_name(),
    };
    validated(world, store, pair, column.default_value(world).ok_or_else(missing)?)
}

/// A value that its relation has looked at.
///
/// # Errors
/// If it is refused.
pub(super) fn validated(
    world: &World,
    store: &PairStore,
    pair: StoredPair,
    value: BoxedValue,
) -> Result<BoxedValue, InsertPairError> {
    let mut value = Value::Boxed(value);
    validate(world, store, pair, &mut value)?;
    match value {
        Value::Boxed(value) => Ok(value),
        Value::Slot(_) => unreachable!("it was boxed above"),
    }
}

/// Lets a relation look at a value.
pub(super) fn validate(
    world: &World,
    store: &PairStore,
    pair: StoredPair,
    value: &mut Value<'_>,
) -> Result<(), InsertPairError> {
    let entry = store.registry().entry(pair.relation);
    let Some(validate) = entry.validate else { return Ok(()) };
    let StoredPair { source, target, .. } = pair;
    let context = PairContext { world, source, relation: entry.entity, target };
    validate(value, &context)
        .map_err(|reason| InsertPairError::Refused { pair: attempted(world, store, pair), reason })
}
