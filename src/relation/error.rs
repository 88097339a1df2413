//! Why traits were rejected.

use super::RelationName;
use alloc::vec::Vec;
use bevy_ecs::entity::Entity;
use core::fmt;
use thiserror::Error;

/// Relations of which each brings the next one along.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RelationPath(pub(crate) Vec<RelationName>);

impl RelationPath {
    /// The relations along the path.
    pub fn relations(&self) -> &[RelationName] {
        &self.0
    }

    /// Their entities.
    pub fn entities(&self) -> impl Iterator<Item = Entity> + use<'_> {
        self.0.iter().map(RelationName::entity)
    }
}

impl fmt::Display for RelationPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, relation) in self.0.iter().enumerate() {
            write!(f, "{}{relation}", if nth == 0 { "" } else { " -> " })?;
        }
        Ok(())
    }
}

/// Two declared facts that cannot both hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("`{first}` contradicts `{second}`")]
pub struct TraitConflict {
    /// One of the two, as spelled in `#[relation(..)]`.
    pub first: &'static str,
    /// The other.
    pub second: &'static str,
}

/// Why traits were not accepted. Nothing has changed.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum TraitsError {
    /// Two traits contradict.
    #[error("traits of {relation} were rejected: {conflict}")]
    Conflict {
        /// The relation.
        relation: RelationName,
        /// The two.
        conflict: TraitConflict,
    },
    /// The relation has been used: its traits cannot change any more.
    #[error("traits of {relation} cannot change: it has been used in a pair")]
    Frozen {
        /// The relation.
        relation: RelationName,
    },
    /// A relation would come along with itself.
    #[error("traits of {relation} were rejected: `with` leads back to it over {path}")]
    WithCycle {
        /// The relation.
        relation: RelationName,
        /// From the relation over what comes along back to it.
        path: RelationPath,
    },
    /// The relation is just being registered, and an observer wanted a pair of it.
    #[error("{relation} is being registered: it cannot have pairs before its traits are known")]
    Unsettled {
        /// The relation.
        relation: RelationName,
    },
    /// The entity is not alive.
    #[error("traits were given to {entity}, which is not alive")]
    Dead {
        /// The entity.
        entity: Entity,
    },
    /// A component named in the traits is not what they need.
    #[error("{entity}, named in the traits of {relation}, is not alive")]
    DeadReference {
        /// The relation.
        relation: RelationName,
        /// The entity named in its traits.
        entity: Entity,
    },
}
