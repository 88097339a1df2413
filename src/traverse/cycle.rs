//! Finding the cycle that a new pair would close.

use super::search::{Known, Memo, Search};
use crate::{relation::EntityName, store::RelationIndex};
use alloc::{vec, vec::Vec};
use bevy_ecs::{entity::Entity, world::World};
use bevy_platform::collections::HashSet;
use core::{fmt, hash::Hash};

/// A path along a relation, in an [`InsertPairError`](crate::error::InsertPairError): each entity has the next one as a target.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::error::InsertPairError;
/// #[derive(Relation)]
/// #[relation(acyclic)]
/// struct PartOf;
///
/// # let mut world = World::new();
/// # let [mast, hull] = ["mast", "hull"].map(|name| world.spawn(Name::new(name)).id());
/// world.insert_pair(mast, PartOf, hull)?;
/// let Err(InsertPairError::Cycle { path, .. }) = world.insert_pair(hull, PartOf, mast) else { panic!() };
/// assert_eq!(path.entities(), [hull, mast, hull]);
/// assert_eq!(path.to_string(), format!("hull ({hull}) -> mast ({mast}) -> hull ({hull})"));
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntityPath {
    entities: Vec<Entity>,
    /// Those that are displayed: all, or the first [`FIRST`] and the last [`LAST`].
    displayed: Vec<EntityName>,
}

/// A long path is not readable; its ends and length are.
const FIRST: usize = 8;
const LAST: usize = 2;
const MAX_DISPLAYED: usize = 12;

impl EntityPath {
    pub(crate) fn new(world: &World, entities: Vec<Entity>) -> Self {
        let all = 0..entities.len();
        let is_displayed =
            |nth: &usize| all.len() <= MAX_DISPLAYED || *nth < FIRST || *nth >= all.len() - LAST;
        let displayed = all.clone().filter(is_displayed);
        let displayed = displayed.map(|nth| EntityName::new(world, entities[nth])).collect();
        Self { entities, displayed }
    }

    /// The entities along the path.
    pub fn entities(&self) -> &[Entity] {
        &self.entities
    }
}

impl fmt::Display for EntityPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left_out = self.entities.len() - self.displayed.len();
        for (nth, entity) in self.displayed.iter().enumerate() {
            if nth == FIRST && left_out > 0 {
                write!(f, " -> ... {left_out} more")?;
            }
            write!(f, "{}{entity}", if nth == 0 { "" } else { " -> " })?;
        }
        Ok(())
    }
}

/// A path from `from` up to `to`, both included, if there is one over the pairs of `index` and the `planned`
/// ones, given as source and target.
///
/// # Complexity
/// At most O(pairs above `from`); a single comparison if `to` has no sources.
pub(crate) fn path_up(
    index: &RelationIndex,
    planned: &[(Entity, Entity)],
    from: Entity,
    to: Entity,
) -> Option<Vec<Entity>> {
    if from == to {
        return Some(vec![from]);
    }
    if !index.is_target(to) && !planned.iter().any(|&(_, target)| target == to) {
        return None;
    }
    let neighbors = |entity| {
        let planned = planned.iter().filter(move |&&(source, _)| source == entity);
        index.targets(entity).chain(planned.map(|&(_, target)| target))
    };
    let mut memo = PathMemo::default();
    let visit = |entity, _| (entity == to).then_some(());
    Search::default().run((from, 0), u32::MAX, neighbors, &mut memo, visit)?;
    memo.path.reverse();
    Some(memo.path)
}

/// The nodes that a search has met, each once, and the path to what it has found, from there back.
pub(crate) struct PathMemo<N> {
    met: HashSet<N>,
    pub(crate) path: Vec<N>,
}

impl<N> Default for PathMemo<N> {
    fn default() -> Self {
        Self { met: HashSet::default(), path: Vec::new() }
    }
}

impl<N: Copy + Eq + Hash> Memo<(), N> for PathMemo<N> {
    const NOTES: bool = true;

    fn known(&mut self, node: N, _: u32) -> Known<()> {
        if self.met.insert(node) { Known::Unknown } else { Known::Nothing }
    }

    fn note(&mut self, node: N, found: Option<()>) {
        self.path.extend(found.map(|()| node));
    }
}
