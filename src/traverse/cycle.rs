//! Finding the cycle that a new pair would close.

use crate::store::RelationIndex;
use alloc::{vec, vec::Vec};
use bevy_ecs::entity::{Entity, EntityHashMap};
use core::fmt;

/// A path along a relation: each entity has the next one as a target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntityPath(Vec<Entity>);

impl EntityPath {
    pub(crate) fn new(entities: Vec<Entity>) -> Self {
        Self(entities)
    }

    /// The entities along the path.
    pub fn entities(&self) -> &[Entity] {
        &self.0
    }
}

impl fmt::Display for EntityPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, entity) in self.0.iter().enumerate() {
            // A long path is not readable; its ends and length are.
            if self.0.len() > 12 && (8..self.0.len() - 2).contains(&nth) {
                if nth == 8 {
                    write!(f, " -> ... {} more", self.0.len() - 10)?;
                }
                continue;
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
/// At most one step per pair above `from`; a single comparison if `to` has no sources.
pub(crate) fn path_up(
    index: &RelationIndex,
    planned: &[(Entity, Entity)],
    from: Entity,
    to: Entity,
) -> Option<EntityPath> {
    if from == to {
        return Some(EntityPath(vec![from]));
    }
    if !index.is_target(to) && !planned.iter().any(|&(_, target)| target == to) {
        return None;
    }
    // Who led to an entity; each is entered once.
    let mut below: EntityHashMap<Entity> = EntityHashMap::default();
    let mut stack = vec![from];
    while let Some(entity) = stack.pop() {
        let planned = planned.iter().filter(|(source, _)| *source == entity).map(|&(_, target)| target);
        for target in index.targets(entity).chain(planned) {
            if target == to {
                return Some(EntityPath(trace(&below, from, entity, to)));
            }
            if target != from && !below.contains_key(&target) {
                below.insert(target, entity);
                stack.push(target);
            }
        }
    }
    None
}

/// The way back from `last` to `from`, turned around and followed by `to`.
fn trace(below: &EntityHashMap<Entity>, from: Entity, last: Entity, to: Entity) -> Vec<Entity> {
    let mut path = vec![to, last];
    let mut at = last;
    while at != from {
        at = below[&at];
        path.push(at);
    }
    path.reverse();
    path
}
