//! How messages name relations and other entities.

use alloc::{borrow::Cow, boxed::Box, string::String};
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
/// assert_eq!(world.relation_name(likes).unwrap().to_string(), "Likes");
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
