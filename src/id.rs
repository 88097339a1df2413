//! Identity: what a pair is made of.
//!
//! A [`PairId`] names a pair by its two elements, each a [`Slot`]: an entity, the wildcard `*` (every
//! match) or `_` (any: at most one match). A pair that is *stored* always names two entities; wildcards
//! and any only occur in requests such as "remove every pair with this target".

use bevy_ecs::entity::Entity;
use core::fmt;

/// One element of a [`PairId`].
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::id::Slot;
/// # let mut world = World::new();
/// # let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
/// assert_eq!((Slot::from(ann).entity(), Slot::Wildcard.entity()), (Some(ann), None));
/// assert!(Slot::Entity(ann).matches(ann) && !Slot::Entity(ann).matches(ben));
/// assert!(Slot::Wildcard.matches(ben) && Slot::Any.matches(ben));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Slot {
    /// This entity and no other.
    Entity(Entity),
    /// `*`: every entity; one result per match.
    Wildcard,
    /// `_`: whether there is some entity; at most one result.
    Any,
}

impl Slot {
    /// The entity in this slot, unless it is a wildcard or any.
    pub const fn entity(self) -> Option<Entity> {
        match self {
            Self::Entity(entity) => Some(entity),
            Self::Wildcard | Self::Any => None,
        }
    }

    /// Whether `entity` fits this slot.
    pub fn matches(self, entity: Entity) -> bool {
        match self {
            Self::Entity(own) => own == entity,
            Self::Wildcard | Self::Any => true,
        }
    }
}

impl From<Entity> for Slot {
    fn from(entity: Entity) -> Self {
        Self::Entity(entity)
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entity(entity) => write!(f, "{entity}"),
            Self::Wildcard => f.write_str("*"),
            Self::Any => f.write_str("_"),
        }
    }
}

/// A relation and a target; either may be a wildcard.
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// # use bevy_relations::{id::Slot, prelude::*};
/// # let mut world = bevy_ecs::world::World::new();
/// # let (likes, alice) = (world.spawn_empty().id(), world.spawn_empty().id());
/// let exact = PairId::new(likes, alice);
/// let whatever_is_liked = PairId::new(likes, Slot::Wildcard);
/// assert!(whatever_is_liked.matches(exact));
/// assert!(!exact.is_wildcard() && whatever_is_liked.is_wildcard());
/// assert_eq!(whatever_is_liked, PairId::with_relation(likes));
/// assert_eq!(PairId::with_target(alice).entities(), None);
/// assert_eq!((exact.entities(), exact.target().entity()), (Some((likes, alice)), Some(alice)));
/// assert_eq!(PairId::from((likes, alice)).relation(), Slot::Entity(likes));
/// assert!(PairId::ALL.matches(exact));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PairId {
    relation: Slot,
    target: Slot,
}

impl PairId {
    /// `(*, *)`: every pair.
    pub const ALL: Self = Self { relation: Slot::Wildcard, target: Slot::Wildcard };

    /// The pair `(relation, target)`.
    pub fn new(relation: impl Into<Slot>, target: impl Into<Slot>) -> Self {
        Self { relation: relation.into(), target: target.into() }
    }

    /// `(relation, *)`: every pair of one relation.
    pub const fn with_relation(relation: Entity) -> Self {
        Self { relation: Slot::Entity(relation), target: Slot::Wildcard }
    }

    /// `(*, target)`: every pair with one target.
    pub const fn with_target(target: Entity) -> Self {
        Self { relation: Slot::Wildcard, target: Slot::Entity(target) }
    }

    /// The first element.
    pub const fn relation(self) -> Slot {
        self.relation
    }

    /// The second element.
    pub const fn target(self) -> Slot {
        self.target
    }

    /// Whether one of the elements is `*` or `_`.
    pub const fn is_wildcard(self) -> bool {
        self.entities().is_none()
    }

    /// Relation and target, if both are entities.
    pub const fn entities(self) -> Option<(Entity, Entity)> {
        match (self.relation, self.target) {
            (Slot::Entity(relation), Slot::Entity(target)) => Some((relation, target)),
            _ => None,
        }
    }

    /// Whether the pair `other`, which names two entities, fits this id. False if `other` has a wildcard.
    pub fn matches(self, other: Self) -> bool {
        other
            .entities()
            .is_some_and(|(relation, target)| self.relation.matches(relation) && self.target.matches(target))
    }
}

impl<R: Into<Slot>, T: Into<Slot>> From<(R, T)> for PairId {
    fn from((relation, target): (R, T)) -> Self {
        Self::new(relation, target)
    }
}

impl fmt::Display for PairId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.relation, self.target)
    }
}

/// Dense number of a relation, for array indexing. Stable while the relation's entity lives; recycled later.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct RelationId(pub(crate) u32);

impl RelationId {
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A stored pair.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct StoredPair {
    pub(crate) source: Entity,
    pub(crate) relation: RelationId,
    pub(crate) target: Entity,
}

impl StoredPair {
    /// The other direction of the pair, which is stored too if the relation is symmetric.
    #[inline]
    pub(crate) const fn mirror(self) -> Self {
        Self { source: self.target, relation: self.relation, target: self.source }
    }
}

/// A tag on an entity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct StoredTag {
    pub(crate) source: Entity,
    pub(crate) tag: Entity,
}
