//! Following pairs: up to ancestors, down to descendants, and whether a new pair would close a cycle.
//!
//! Every walk visits each entity once, so that it ends on any relation. Walks follow stored pairs only; transitivity
//! and inheritance are evaluated by expressions.

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
pub(crate) use depth_first::{DepthFirst, Neighbors};
pub(crate) use search::{Known, Limits, Memo, OnlyWay, Search, VisitedSet, follow};
pub(crate) use select::{Relations, SelectIter};
pub(crate) use topology::{ChildrenAccess, Hierarchy, is_child_of, is_ordered_by_children, ordered_by};

/// Which way to follow pairs.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, traverse::Direction};
///
/// #[derive(EntityEvent)]
/// #[entity_event(propagate)]
/// struct Alarm(#[event_target] Entity);
/// #[derive(Resource, Default)]
/// struct Heard(Vec<Entity>);
///
/// let mut world = World::new();
/// world.init_resource::<Heard>();
/// world.add_observer(|on: On<Alarm>, mut heard: ResMut<Heard>| heard.0.push(on.event_target()));
/// let house = world.spawn_empty().id();
/// let room = world.spawn(ChildOf(house)).id();
/// let shelf = world.spawn(ChildOf(room)).id();
/// world.trigger_along::<ChildOf>(Alarm(room), Direction::Targets);
/// world.trigger_along::<ChildOf>(Alarm(room), Direction::Sources);
/// assert_eq!(world.resource::<Heard>().0, [room, house, room, shelf]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Up, from source to target: to parents, bases, carriers.
    Targets,
    /// Down, from target to source: to children, instances, what is carried.
    Sources,
}
