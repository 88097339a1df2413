//! The query language.
//!
//! [`PairExpr::parse`] reads a text, [`pair_expr!`](crate::pair_expr) one that the compiler checks, and [`PairExpr::builder`] puts an
//! expression together from calls. [`compile`](PairExpr::compile) makes a [`CompiledExpr`] for a world, which can be run any number of
//! times; in a system, [`ExprQuery`] does both. [`live`](PairExpr::live) makes an expression that keeps its rows. The documentation of
//! [`PairExpr`] lists the terms.
//!
//! # Inside
//!
//! An expression goes through stages, each with a type of its own. Each module imports only those before it:
//!
//! 1. `text`: text, or calls of [`PairExprBuilder`], become a syntax tree, in which short forms are written out and
//!    whatever can be checked without a world has been checked. That is done by a crate of its own, with which
//!    the macros read text while a program is compiled.
//! 2. `eval`: what evaluation reads of a world. In a system, it reads only what the system has declared.
//! 3. `bind` looks names up in a world and yields a `BoundQuery`: entities, components,
//!    relations and numbered variables, with everything checked that needs a world.
//! 4. `index` makes and drops indices of fields.
//! 5. `plan` turns it into a tree of relational operators, orders the inputs of each join for the fewest expected
//!    rows, from the cardinalities of the store and the archetypes, and picks access paths and columns: a
//!    `PhysicalPlan`.
//! 6. `exec` runs the operations on batches of rows.
//! 7. `result`: rows, their order and groups, tables, JSON.
//! 8. `param`: expressions in systems.
//!
//! Apart from these stages, `insert` reads an expression that describes what to insert; it uses `bind`.

mod bind;
mod eval;
mod exec;
#[cfg(feature = "bevy_reflect")]
mod index;
#[cfg(feature = "bevy_reflect")]
mod insert;
mod param;
mod plan;
mod result;
mod text;

#[cfg(feature = "bevy_reflect")]
pub(crate) use bind::MemberAtom;
#[cfg(feature = "remote")]
pub(crate) use bind::NamedElement;
#[cfg(feature = "serialize")]
pub(crate) use bind::type_with_unknown_fields;
pub(crate) use bind::{
    Atom, AtomId, BindContext, BoundComparand, BoundElement, BoundOperator, BoundQuery, BoundTerm,
    BoundTraversal, CascadeOrder, ChainSource, Condition, Item, KeyedAtom, OrChain, PairAtom, ValueAtom,
    ValueHolder, Var, VarSet, bind,
};
#[cfg(feature = "bevy_reflect")]
pub(crate) use eval::FieldSteps;
pub(crate) use eval::{Datum, ExprNames, Special, View, WorldAccess};
pub(crate) use exec::{Batch, Executor, ListedId, Output};
pub(crate) use param::ExprQueryState;
pub(crate) use plan::{
    Column, DepthOrder, FieldPlan, FieldShape, Operand, PhysicalPlan, ShapeElement, ShapeId, hidden,
    seedable, traits_of,
};

pub(crate) use result::GroupRelation;
#[cfg(feature = "remote")]
pub(crate) use result::{WrittenNames, bits};

pub use bevy_relations_syntax::{
    ast::{Comparator, Literal},
    error::{ExprError, ExprErrorKind},
};
pub use exec::{ExprRunError, VarId};
#[cfg(feature = "bevy_reflect")]
pub use index::{FieldIndexError, WorldFieldIndexExt};
#[cfg(feature = "bevy_reflect")]
pub use insert::{EntityCommandsExprExt, EntityWorldMutExprExt, InsertExprError, UnknownNames, WorldExprExt};
pub use param::{AnyExpression, ExprParam, ExprQuery, Expression, FieldMode, ReadFields, WriteFields};
#[cfg(feature = "serialize")]
pub use result::RowSerializer;
pub use result::{
    CompiledExpr, FieldId, PageError, PageStart, Row, RowCursor, RowGroup, RowMut, RowTable, RowTableMut,
    Rows, WriteFieldError,
};
#[doc(hidden)]
pub use text::parsed;
pub use text::{FieldAccess, PairExpr, PairExprBuilder};
