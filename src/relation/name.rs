//! How messages name relations and other entities.

use crate::id::{PairId, Slot};
use alloc::{
    borrow::Cow,
    boxed::Box,
    string::{String, ToString},
};
use bevy_ecs::{entity::Entity, name::Name, world::World};
use core::fmt;

/// An entity with the `Name` that it had when an error was made, such as [`TraitsError`](super::TraitsError).
///
/// Displayed as `Alice (7v0)`, or `7v0` without a name.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::error::InstantiateError;
/// # let mut world = World::new();
/// let hut = world.spawn(Name::new("Hut")).id();
/// let Err(InstantiateError::NotAPrefab { entity, .. }) = world.instantiate(hut) else { panic!() };
/// assert_eq!((entity.entity(), entity.name()), (hut, Some("Hut")));
/// assert_eq!(entity.to_string(), format!("Hut ({hut})"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntityName {
    entity: Entity,
    /// Boxed, for an error is moved more often than read.
    name: Option<Box<Name>>,
}

impl EntityName {
    pub(crate) fn new(world: &World, entity: Entity) -> Self {
        Self::with_name(entity, world.get(entity))
    }

    pub(crate) fn with_name(entity: Entity, name: Option<&Name>) -> Self {
        Self { entity, name: name.map(|name| Box::new(name.clone())) }
    }

    /// Without a name.
    pub(crate) fn unnamed(entity: Entity) -> Self {
        Self { entity, name: None }
    }

    /// The entity.
    pub fn entity(&self) -> Entity {
        self.entity
    }

    /// Its name, if it had one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref().map(Name::as_str)
    }
}

impl PartialEq<Entity> for EntityName {
    fn eq(&self, entity: &Entity) -> bool {
        self.entity == *entity
    }
}

impl fmt::Display for EntityName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{name} ({})", self.entity),
            None => write!(f, "{}", self.entity),
        }
    }
}

/// A pair, of which an element may be `*` or `_`, with the names that its elements had when an error was made.
///
/// Displayed as `(Likes, *)`.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{error::InsertPairError, id::Slot, prelude::*};
/// #[derive(Relation)]
/// struct Likes;
///
/// let mut world = World::new();
/// let likes = world.register_relation::<Likes>()?;
/// let ann = world.spawn(Name::new("Ann")).id();
/// let error = world.insert_pair_by_id(ann, (likes, Slot::Wildcard)).unwrap_err();
/// assert!(error.to_string().contains("(Likes, *) on Ann"));
/// let InsertPairError::Wildcard { pair, .. } = error else { panic!() };
/// assert_eq!(pair.pair(), PairId::with_relation(likes));
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PairName {
    pair: PairId,
    text: Box<str>,
}

impl PairName {
    /// `relation` is the name of the relation, if it has one.
    pub(crate) fn new(world: &World, relation: Option<Cow<'static, str>>, pair: PairId) -> Self {
        Self { pair, text: display_pair(world, relation, pair).to_string().into() }
    }

    /// The pair that this is the name of.
    pub fn pair(&self) -> PairId {
        self.pair
    }
}

impl PartialEq<PairId> for PairName {
    fn eq(&self, pair: &PairId) -> bool {
        self.pair == *pair
    }
}

impl fmt::Display for PairName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A pair with the names of its elements, for messages. `relation` is the name of the relation, if it has one.
pub(crate) fn display_pair<'w>(
    world: &'w World,
    relation: Option<Cow<'static, str>>,
    pair: PairId,
) -> impl fmt::Display + use<'w> {
    fmt::from_fn(move |f| {
        f.write_str("(")?;
        match (pair.relation(), &relation) {
            (Slot::Entity(_), Some(name)) => f.write_str(name)?,
            (Slot::Entity(relation), None) => write!(f, "{}", EntityName::new(world, relation))?,
            (slot, _) => write!(f, "{slot}")?,
        }
        f.write_str(", ")?;
        match pair.target() {
            Slot::Entity(target) => write!(f, "{}", EntityName::new(world, target))?,
            slot => write!(f, "{slot}")?,
        }
        f.write_str(")")
    })
}

/// The name of a relation and its entity, for messages.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// #[derive(Relation)]
/// struct Likes;
///
/// let mut world = World::new();
/// let likes = world.register_relation::<Likes>().unwrap();
/// let name = world.relation_name(likes).unwrap();
/// assert_eq!((name.to_string().as_str(), name.entity()), ("Likes", likes));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RelationName {
    /// Short type name, name given at run time, or nothing.
    pub(crate) name: Option<Cow<'static, str>>,
    /// The relation.
    pub(crate) entity: Entity,
}

impl RelationName {
    /// The entity of the relation.
    pub fn entity(&self) -> Entity {
        self.entity
    }
}

impl fmt::Display for RelationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.entity),
        }
    }
}

/// The last part of a type path, with the last parts of its arguments: `a::B<c::D>` is `B<D>`.
pub(crate) fn short_name(path: &'static str) -> Cow<'static, str> {
    if !path.contains("::") {
        return Cow::Borrowed(path);
    }
    let mut short = String::new();
    let mut rest = path;
    while let Some(end) = rest.find(['<', '>', ',', ' ', '(', ')', '[', ']', ';', '&']) {
        let word = &rest[..end];
        short.push_str(word.rsplit("::").next().unwrap_or(word));
        short.push_str(&rest[end..=end]);
        rest = &rest[end + 1..];
    }
    short.push_str(rest.rsplit("::").next().unwrap_or(rest));
    Cow::Owned(short)
}
