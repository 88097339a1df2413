//! What an expression has found: rows, in order, in groups, by tables, as JSON.

mod compiled;
mod group;
#[cfg(feature = "serialize")]
mod json;
mod parallel;
mod rows;
mod tables;

pub use compiled::CompiledExpr;
pub use group::RowGroup;
#[cfg(feature = "serialize")]
pub use json::RowSerializer;
pub use rows::{FieldId, Row, RowMut, Rows, WriteFieldError};
pub use tables::{RowTable, RowTableMut};
