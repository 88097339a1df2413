//! What an expression has found: rows, in order, in groups, by tables, as JSON.

mod compiled;
mod group;
#[cfg(feature = "serialize")]
mod json;
mod page;
mod parallel;
mod row_mut;
mod rows;
mod tables;

pub use compiled::CompiledExpr;
pub(crate) use compiled::GroupRelation;
pub(super) use compiled::without_dollar;
pub use group::RowGroup;
#[cfg(feature = "serialize")]
pub use json::RowSerializer;
#[cfg(feature = "remote")]
pub(crate) use json::{WrittenNames, bits};
pub use page::{PageError, PageStart, RowCursor};
pub(super) use row_mut::FieldWriter;
pub use row_mut::RowMut;
pub use rows::{FieldId, Row, Rows, WriteFieldError};
pub use tables::{RowTable, RowTableMut};
