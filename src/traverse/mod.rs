//! Following pairs: up to ancestors, down to descendants, and whether a new pair would close a cycle.
//!
//! Every walk visits each entity once and ends, on any relation. Walks see stored pairs only; what follows
//! from transitivity or inheritance belongs to expressions.

mod cycle;
mod depth_first;
mod iter;
mod search;
mod select;
mod topology;
mod view;
mod walk;

pub use crate::store::{PairTicks, SourceIter, TargetIter};
pub use cycle::EntityPath;
pub use iter::RelationIter;
pub use view::RelationView;
pub use walk::{AncestorIter, DepthError, MaxDepth, WalkIter};

pub(crate) use cycle::{PathMemo, path_up};
pub(crate) use depth_first::{DepthFirst, Neighbours};
pub(crate) use search::{Known, Limits, Memo, OnlyWay, Search, VisitedSet, follow};
pub(crate) use select::{Relations, SelectIter};
pub(crate) use topology::{ChildrenAccess, Hierarchy, is_child_of, is_ordered_by_children, ordered_by};

/// Which way to follow pairs. [`trigger_along`](crate::WorldPairExt::trigger_along) takes one, and has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Up, from source to target: to parents, bases, carriers.
    Targets,
    /// Down, from target to source: to children, instances, what is carried.
    Sources,
}
