//! Lookups by name, in systems and on the world.

use super::{
    error::LookupError,
    index::NameIndex,
    view::{Links, NameView, Roots, Source},
};
use crate::sealed::Sealed;
use alloc::string::String;
use bevy_ecs::{change_detection::Res, entity::Entity, name::Name, system::SystemParam, world::World};

/// Looks entities up by the path of their names: a system parameter.
///
/// It reads [`Name`], `ChildOf` and `Children`. It sees disabled entities and prefabs, but none
/// that are disabled by a component of another crate; [`WorldNameExt`] sees all entities.
///
/// In the book: [Expressions](crate::book::expressions).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{names::NamePaths, prelude::*};
///
/// #[derive(Resource)]
/// struct Destination(String);
///
/// fn plan(destination: Res<Destination>, paths: NamePaths) -> Option<Entity> {
///     paths.lookup(&destination.0).ok()
/// }
/// # let mut world = World::new();
/// # let sun = world.spawn(Name::new("Sol")).id();
/// # let mars = world.spawn((Name::new("Mars"), ChildOf(sun))).id();
/// # world.insert_resource(Destination("Sol.Mars".into()));
/// # assert_eq!(world.run_system_cached(plan).unwrap(), Some(mars));
/// # world.insert_resource(Destination("Sol.Vulcan".into()));
/// # assert_eq!(world.run_system_cached(plan).unwrap(), None);
/// ```
///
/// ```
/// # use bevy_ecs::{prelude::*, system::RunSystemOnce};
/// # use bevy_relations::{names::{LookupError, NamePaths}, prelude::*};
/// # let mut world = World::new();
/// let sol = world.spawn(Name::new("Sol")).id();
/// let [rock, other] = [(); 2].map(|()| world.spawn((Name::new("Rock"), ChildOf(sol))).id());
/// let look = move |paths: NamePaths| {
///     assert_eq!(paths.lookup_unique("Sol"), Ok(sol));
///     assert_eq!(paths.lookup_in(sol, "Rock"), Ok(rock));
///     assert_eq!(paths.path_of(other).as_deref(), Some("Sol.Rock"));
///     let Err(LookupError::Ambiguous { candidates, .. }) = paths.lookup_unique_in(sol, "Rock") else { panic!() };
///     assert_eq!(candidates, [rock, other]);
/// };
/// world.run_system_once(look).unwrap();
/// ```
#[derive(SystemParam)]
pub struct NamePaths<'w, 's> {
    links: Links<'w, 's>,
    roots: Roots<'w, 's>,
    index: Option<Res<'w, NameIndex>>,
}

impl NamePaths<'_, '_> {
    /// The name of an entity that this sees.
    pub(crate) fn name(&self, entity: Entity) -> Option<&Name> {
        self.links.get(entity).ok()?.0
    }

    fn view(&self) -> NameView<'_, '_> {
        NameView { source: Source::Queries(&self.links, &self.roots), index: self.index.as_deref() }
    }

    /// As [`WorldNameExt::lookup`].
    ///
    /// # Errors
    /// If a step of the path leads nowhere.
    pub fn lookup(&self, path: &str) -> Result<Entity, LookupError> {
        self.view().lookup(None, path)
    }

    /// As [`WorldNameExt::lookup_in`].
    ///
    /// # Errors
    /// If a step of the path leads nowhere.
    pub fn lookup_in(&self, parent: Entity, path: &str) -> Result<Entity, LookupError> {
        self.view().lookup(Some(parent), path)
    }

    /// As [`WorldNameExt::lookup_unique`].
    ///
    /// # Errors
    /// If a step of the path leads nowhere, or to several entities.
    pub fn lookup_unique(&self, path: &str) -> Result<Entity, LookupError> {
        self.view().lookup_unique(None, path)
    }

    /// As [`WorldNameExt::lookup_unique_in`].
    ///
    /// # Errors
    /// If a step of the path leads nowhere, or to several entities.
    pub fn lookup_unique_in(&self, parent: Entity, path: &str) -> Result<Entity, LookupError> {
        self.view().lookup_unique(Some(parent), path)
    }

    /// As [`WorldNameExt::path_of`].
    pub fn path_of(&self, entity: Entity) -> Option<String> {
        self.view().path_of(entity)
    }
}

/// Looking entities up by the path of their names, directly on the [`World`].
///
/// A path is made of [`Name`]s with dots between them. Each is that of a child
/// ([`ChildOf`](bevy_ecs::hierarchy::ChildOf)) of the entity before it; the first one belongs to an entity without a
/// parent, or to a child of the given one. A backslash makes a dot, or another backslash, part of a name.
///
/// In the book: [Expressions](crate::book::expressions).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::prelude::*;
///
/// let mut world = World::new();
/// # world.register_relation::<ChildOf>().unwrap();
/// let sol = world.spawn(Name::new("Sol")).id();
/// let earth = world.spawn((Name::new("Earth"), ChildOf(sol))).id();
/// let probe = world.spawn((Name::new("Probe No. 7"), ChildOf(earth))).id();
///
/// assert_eq!(world.lookup("Sol.Earth"), Ok(earth));
/// assert_eq!(world.lookup_in(sol, r"Earth.Probe No\. 7"), Ok(probe));
/// assert_eq!(world.path_of(probe).as_deref(), Some(r"Sol.Earth.Probe No\. 7"));
///
/// world.get_mut::<Name>(earth).unwrap().set("Terra");
/// assert_eq!(world.lookup("Sol.Terra"), Ok(earth));
/// let error = world.lookup("Sol.Earth").unwrap_err();
/// assert_eq!(error.to_string(), format!("nothing is named `Earth` among the children of Sol ({sol})"));
/// ```
pub trait WorldNameExt: Sealed {
    /// The entity at the end of a path that starts at the entities without a parent, or in the
    /// [scope](crate::world::WorldScopeExt::with_scope) that is entered.
    ///
    /// If several siblings have a name, one that was found under it before is found again; otherwise it is the
    /// first in the order of [`Children`](bevy_ecs::hierarchy::Children), and at the start of a path any of them. A sibling that
    /// was renamed comes after those that have come with the name since names were looked up.
    ///
    /// # Errors
    /// If a step of the path leads nowhere.
    ///
    /// # Complexity
    /// O(1) for each name of the path that was found before, once relations are in use in this world: then found names
    /// are cached. A name that was not found before takes O(siblings added since the last search), if
    /// it belongs to one of these. Otherwise it takes O(siblings), since a name can change without notice;
    /// so does finding out that there is no such name. (In systems, this is also so for names of new entities
    /// without a parent.)
    fn lookup(&self, path: &str) -> Result<Entity, LookupError>;

    /// [`lookup`](Self::lookup) of a path that starts at the children of an entity.
    ///
    /// # Errors
    /// If a step of the path leads nowhere.
    fn lookup_in(&self, parent: Entity, path: &str) -> Result<Entity, LookupError>;

    /// [`lookup`](Self::lookup) that returns an error if several entities have the path.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::names::LookupError;
    /// # let mut world = World::new();
    /// let fleet = world.spawn(Name::new("fleet")).id();
    /// let ships = [(); 2].map(|()| world.spawn((Name::new("scout"), ChildOf(fleet))).id());
    /// assert_eq!(world.lookup_unique("fleet"), Ok(fleet));
    /// assert_eq!(world.lookup("fleet.scout"), Ok(ships[0]));
    /// assert!(matches!(world.lookup_unique("fleet.scout"), Err(LookupError::Ambiguous { .. })));
    /// assert!(world.lookup_unique_in(fleet, "scout").is_err());
    /// ```
    ///
    /// # Errors
    /// If a step of the path leads nowhere, or to several entities; these are listed.
    ///
    /// # Complexity
    /// O(children of each entity on the path), or O(entities without a parent) for the first step.
    fn lookup_unique(&self, path: &str) -> Result<Entity, LookupError>;

    /// [`lookup_unique`](Self::lookup_unique) of a path that starts at the children of an entity.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{names::LookupError, prelude::*};
    /// # let mut world = World::new();
    /// let fleet = world.spawn(Name::new("fleet")).id();
    /// let flagship = world.spawn((Name::new("flagship"), ChildOf(fleet))).id();
    /// assert_eq!(world.lookup_unique_in(fleet, "flagship"), Ok(flagship));
    /// world.spawn((Name::new("flagship"), ChildOf(fleet)));
    /// let Err(LookupError::Ambiguous { .. }) = world.lookup_unique_in(fleet, "flagship") else { panic!() };
    /// ```
    ///
    /// # Errors
    /// If a step of the path leads nowhere, or to several entities; these are listed.
    fn lookup_unique_in(&self, parent: Entity, path: &str) -> Result<Entity, LookupError>;

    /// The path that leads to an entity. `None` if it, or an entity above it, has no name.
    ///
    /// If another entity has the same path, [`lookup`](Self::lookup) may find that one.
    ///
    /// # Complexity
    /// O(entities above it).
    fn path_of(&self, entity: Entity) -> Option<String>;
}

fn view(world: &World) -> NameView<'_, '_> {
    NameView { source: Source::World(world), index: world.get_resource() }
}

impl WorldNameExt for World {
    fn lookup(&self, path: &str) -> Result<Entity, LookupError> {
        view(self).lookup(None, path)
    }

    fn lookup_in(&self, parent: Entity, path: &str) -> Result<Entity, LookupError> {
        view(self).lookup(Some(parent), path)
    }

    fn lookup_unique(&self, path: &str) -> Result<Entity, LookupError> {
        view(self).lookup_unique(None, path)
    }

    fn lookup_unique_in(&self, parent: Entity, path: &str) -> Result<Entity, LookupError> {
        view(self).lookup_unique(Some(parent), path)
    }

    fn path_of(&self, entity: Entity) -> Option<String> {
        view(self).path_of(entity)
    }
}
