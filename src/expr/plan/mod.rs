//! From a bound query to the operators that evaluate it.
//!
//! The query is a tree of relational operators first, the [logical] plan; [reorder] decides in which order the inputs of
//! each join are evaluated, by [estimates](estimate); [physical] picks access paths and columns.

mod estimate;
mod logical;
mod physical;
mod reorder;

pub(crate) use estimate::{Signature, traits_of};
#[cfg(feature = "bevy_reflect")]
pub(crate) use physical::IndexedOp;
pub(crate) use physical::{
    AtomOp, Branch, BranchKind, Column, Comparison, Compute, Counts, DepthOrder, FieldPlan, FieldShape,
    HolderSearch, HolderTest, IdOp, KnownRelation, MaskSpec, MemberOp, Operand, PhysicalPlan, Pipeline,
    Position, Predicate, Produce, RelationOp, ShapeElement, ShapeId, Side, Stage, Step, SubPlan, ValueOp,
    Walk, Wanted, hidden, lower, seedable,
};
