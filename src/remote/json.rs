//! Rows and pairs as JSON, within a number of bytes.

use super::{
    error::RemoteError,
    limits::{Deadline, RemoteLimits},
};
use crate::{
    expr::{Row, RowSerializer, WrittenNames, bits},
    relation::{ReflectedData, is_serializable, reflected_value},
    system_param::any_pair_value,
};
use bevy_ecs::{entity::Entity, world::World};
use bevy_platform::time::Instant;
use bevy_reflect::{
    PartialReflect, TypeRegistry,
    serde::{ReflectSerializer, TypedReflectSerializer},
};
use core::{any::Any, time::Duration};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::{
    io::{self, Write},
    string::{String, ToString},
    vec::Vec,
};

/// A buffer that takes so many bytes.
struct Bounded {
    bytes: Vec<u8>,
    max: usize,
    is_full: bool,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.max {
            self.is_full = true;
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Why something is not written.
enum Unwritten {
    TooLarge,
    Failed(String),
}

/// Writes the parts of a result.
pub(super) struct ResultWriter<'a> {
    pub(super) world: &'a World,
    pub(super) types: &'a TypeRegistry,
    limit: usize,
    left: usize,
    /// How many parts are written.
    parts: usize,
    deadline: Deadline,
    /// When the part at hand was begun.
    begun: Instant,
    /// The time that the longest part took.
    longest: Duration,
}

impl<'a> ResultWriter<'a> {
    /// For a page in this frame.
    pub(super) fn new(world: &'a World, types: &'a TypeRegistry, limits: &RemoteLimits) -> Self {
        Self::until(world, types, limits, Deadline::of_pages(world))
    }

    /// For a result that is written until then.
    pub(super) fn until(
        world: &'a World,
        types: &'a TypeRegistry,
        limits: &RemoteLimits,
        deadline: Deadline,
    ) -> Self {
        let (limit, begun) = (limits.bytes, Instant::now());
        Self { world, types, limit, left: limit, parts: 0, deadline, begun, longest: Duration::ZERO }
    }

    /// Whether the time is used up, or would be by one more part as long as the longest.
    pub(super) fn is_late(&self) -> bool {
        self.deadline.is_over_at(Instant::now() + self.longest)
    }

    /// Whether a result has to end here for the time that it takes: one part is written whatever that is.
    fn is_done(&self) -> bool {
        self.parts > 0 && self.is_late()
    }

    pub(super) fn names(&self) -> WrittenNames<'a> {
        WrittenNames::new(self.world, self.types)
    }

    fn try_write(&mut self, part: &impl Serialize) -> Result<Value, Unwritten> {
        let mut buffer = Bounded { bytes: Vec::new(), max: self.left, is_full: false };
        if let Err(error) = serde_json::to_writer(&mut buffer, part) {
            let failed = || Unwritten::Failed(error.to_string());
            return Err(if buffer.is_full { Unwritten::TooLarge } else { failed() });
        }
        // What cannot be read could not be read by the client either: it is nested too deeply.
        let read = serde_json::from_slice(&buffer.bytes);
        let value = read.map_err(|error| Unwritten::Failed(error.to_string()))?;
        self.left -= buffer.bytes.len();
        self.parts += 1;
        self.longest = self.longest.max(self.begun.elapsed());
        Ok(value)
    }

    /// Begins a part. False if the result is to end before it.
    fn begin(&mut self) -> bool {
        if self.is_done() {
            return false;
        }
        self.begun = Instant::now();
        true
    }

    /// Writes a part that was begun; without its values, if these cannot be written. `None` if the result is to end before it.
    fn write(
        &mut self,
        full: Option<impl Serialize>,
        without_values: impl Serialize,
    ) -> Result<Option<Value>, RemoteError> {
        let ends = self.parts > 0;
        let why = match full.map(|full| self.try_write(&full)) {
            Some(Ok(value)) => return Ok(Some(value)),
            Some(Err(Unwritten::TooLarge)) if ends => return Ok(None),
            Some(Err(Unwritten::TooLarge)) => Some("they take more bytes than a result may have".into()),
            Some(Err(Unwritten::Failed(why))) => Some(why),
            None => None,
        };
        match (self.try_write(&without_values), why) {
            (Ok(Value::Object(mut part)), Some(why)) => {
                part.insert("values_error".into(), why.into());
                Ok(Some(Value::Object(part)))
            }
            (Ok(value), _) => Ok(Some(value)),
            (Err(Unwritten::TooLarge), _) if ends => Ok(None),
            (Err(Unwritten::TooLarge), _) => Err(RemoteError::TooLarge {
                what: "the size of the result in bytes",
                limit: self.limit as u64,
            }),
            (Err(Unwritten::Failed(why)), _) => Err(RemoteError::Unwritten(why)),
        }
    }

    /// A part without values. `None` if the result is to end before it; then it is not made either.
    pub(super) fn part<P: Serialize>(
        &mut self,
        make: impl FnOnce(&Self) -> P,
    ) -> Result<Option<Value>, RemoteError> {
        if !self.begin() {
            return Ok(None);
        }
        let part = make(self);
        self.write(None::<()>, part)
    }

    /// A row, with the bits of its entities.
    pub(super) fn row(&mut self, row: Row<'_>, values: bool) -> Result<Option<Value>, RemoteError> {
        if !self.begin() {
            return Ok(None);
        }
        let full = RowWithEntities { row: RowSerializer::new(row, self.types), entities: entities(row) };
        let row = full.row.without_values();
        let without_values = RowWithEntities { row, entities: full.entities.clone() };
        self.write(values.then_some(full), without_values)
    }

    /// What is left to report of a row that is gone.
    pub(super) fn gone_row(&mut self, row: Row<'_>) -> Result<Option<Value>, RemoteError> {
        self.part(|_| Entities { entities: entities(row) })
    }

    /// A pair of an entity, with the name of its other end under `key`.
    pub(super) fn pair(
        &mut self,
        [source, relation, target]: [Entity; 3],
        key: &'static str,
        values: bool,
    ) -> Result<Option<Value>, RemoteError> {
        if !self.begin() {
            return Ok(None);
        }
        let names = self.names();
        let other = if key == "source" { source } else { target };
        let mut pair = WrittenPair {
            relation: names.entity(relation),
            other: (key, names.entity(other)),
            entities: Map::from_iter([
                ("relation".into(), bits(relation).into()),
                (key.into(), bits(other).into()),
            ]),
            value: None,
        };
        let without_value = pair.clone();
        if values && let Some(value) = any_pair_value(self.world, source, relation, target) {
            pair.value = PairValue::new(value, self.types, names);
        }
        self.write(values.then_some(pair), without_value)
    }
}

/// `$this` and the variables of a row by their bits.
fn entities(row: Row<'_>) -> Map<String, Value> {
    let this = row.this().map(|this| ("this", Some(this)));
    let entities = this.into_iter().chain(row.vars());
    entities.map(|(name, entity)| (name.into(), entity.map(bits).into())).collect()
}

#[derive(Serialize)]
struct Entities {
    entities: Map<String, Value>,
}

#[derive(Serialize)]
struct RowWithEntities<'a> {
    #[serde(flatten)]
    row: RowSerializer<'a>,
    entities: Map<String, Value>,
}

#[derive(Clone)]
struct WrittenPair<'a> {
    relation: String,
    other: (&'static str, String),
    entities: Map<String, Value>,
    value: Option<PairValue<'a>>,
}

impl Serialize for WrittenPair<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut pair = serializer.serialize_map(None)?;
        pair.serialize_entry("relation", &self.relation)?;
        pair.serialize_entry(self.other.0, &self.other.1)?;
        pair.serialize_entry("entities", &self.entities)?;
        if let Some(value) = &self.value {
            pair.serialize_entry("value", value)?;
        }
        pair.end()
    }
}

/// The value of a pair.
#[derive(Clone, Copy)]
struct PairValue<'a> {
    value: &'a dyn PartialReflect,
    /// With the path of its type, which the relation does not say.
    is_typed: bool,
    types: &'a TypeRegistry,
    names: WrittenNames<'a>,
}

impl<'a> PairValue<'a> {
    /// `None` if its type is not registered, or it stands for no type.
    fn new(value: &'a dyn Any, types: &'a TypeRegistry, names: WrittenNames<'a>) -> Option<Self> {
        let is_typed = value.is::<ReflectedData>();
        let value = reflected_value(types, value).filter(|&value| is_serializable(types, value))?;
        Some(Self { value, is_typed, types, names })
    }
}

impl Serialize for PairValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { value, types, names, .. } = self;
        match self.is_typed {
            true => ReflectSerializer::with_processor(*value, types, names).serialize(serializer),
            false => TypedReflectSerializer::with_processor(*value, types, names).serialize(serializer),
        }
    }
}
