//! Looking up paths, whatever the components are read through.

use super::{error::LookupError, index::NameIndex};
use crate::{fetch::AllEntities, relation::EntityName};
use alloc::{string::String, vec::Vec};
use bevy_ecs::{
    archetype::{Archetype, ArchetypeEntity},
    entity::Entity,
    hierarchy::{ChildOf, Children},
    name::Name,
    query::Without,
    system::Query,
    world::World,
};
use bevy_platform::hash::fixed_hash_one;
use bevy_relations_syntax::path;
use core::ops::ControlFlow;

/// A query for what a lookup reads of a known entity.
pub(super) type Links<'w, 's> =
    Query<'w, 's, (Option<&'static Name>, Option<&'static ChildOf>, Option<&'static Children>), AllEntities>;

/// A query for the entities without a parent.
pub(super) type Roots<'w, 's> = Query<'w, 's, (Entity, &'static Name), (Without<ChildOf>, AllEntities)>;

/// How to read names, parents and children.
#[derive(Clone, Copy)]
pub(super) enum Source<'w, 's> {
    World(&'w World),
    Queries(&'w Links<'w, 's>, &'w Roots<'w, 's>),
}

impl<'w> Source<'w, '_> {
    pub(super) fn name(&self, entity: Entity) -> Option<&'w Name> {
        match self {
            Self::World(world) => world.get(entity),
            Self::Queries(links, _) => links.get(entity).ok()?.0,
        }
    }

    fn parent(&self, entity: Entity) -> Option<Entity> {
        let child_of = match self {
            Self::World(world) => world.get(entity),
            Self::Queries(links, _) => links.get(entity).ok()?.1,
        };
        child_of.map(ChildOf::parent)
    }

    pub(super) fn children(&self, entity: Entity) -> &'w [Entity] {
        let children: Option<&Children> = match self {
            Self::World(world) => world.get(entity),
            Self::Queries(links, _) => links.get(entity).ok().and_then(|links| links.2),
        };
        children.map_or(&[], |children| children)
    }

    /// How many entities there are at most, if that is known.
    pub(super) fn entity_count(&self) -> usize {
        match self {
            Self::World(world) => world.entities().len() as usize,
            Self::Queries(..) => 0,
        }
    }

    /// Goes through what is listed as the named children of an entity, or the named entities without a parent. Bevy may leave
    /// entities in the list that are no children any more.
    pub(super) fn each<T>(
        &self,
        parent: Option<Entity>,
        f: &mut dyn FnMut(Entity, &'w Name) -> ControlFlow<T>,
    ) -> ControlFlow<T> {
        match (parent, self) {
            (Some(parent), _) => {
                let children = self.children(parent).iter();
                let mut named = children.filter_map(|&child| Some((child, self.name(child)?)));
                named.try_for_each(|(child, name)| f(child, name))
            }
            (None, Self::Queries(_, roots)) => roots.iter().try_for_each(|(entity, name)| f(entity, name)),
            (None, Self::World(world)) => {
                let mut roots = root_archetypes(world).flat_map(Archetype::entities).map(ArchetypeEntity::id);
                roots.try_for_each(|entity| match world.get(entity) {
                    Some(name) => f(entity, name),
                    None => ControlFlow::Continue(()),
                })
            }
        }
    }

    /// Those that were added last: from the end on, where Bevy adds, as long as they are not known.
    pub(super) fn newest(
        &self,
        parent: Option<Entity>,
        is_known: impl Fn(Entity, &Name) -> bool,
    ) -> Vec<(Entity, &'w Name)> {
        let is_new = |&entity: &Entity| self.name(entity).is_none_or(|name| !is_known(entity, name));
        let mut newest = Vec::new();
        match (parent, self) {
            (Some(parent), _) => {
                newest.extend(self.children(parent).iter().copied().rev().take_while(is_new));
            }
            (None, Self::World(world)) => {
                for archetype in root_archetypes(world) {
                    let entities = archetype.entities().iter().map(ArchetypeEntity::id);
                    newest.extend(entities.rev().take_while(is_new));
                }
            }
            // A query does not say where its entities were added.
            (None, Self::Queries(..)) => {}
        }
        // The first of several with the same name comes first.
        newest.into_iter().rev().filter_map(|entity| Some((entity, self.name(entity)?))).collect()
    }

    /// Whether the entity is there, and has a name of this hash.
    pub(super) fn is_hashed(&self, entity: Entity, parent: Option<Entity>, hash: u64) -> bool {
        self.name(entity).is_some_and(|name| name.pre_hash() == hash) && self.parent(entity) == parent
    }

    /// Whether the entity is there, and has this name.
    pub(super) fn is_named(&self, entity: Entity, parent: Option<Entity>, name: &str, hash: u64) -> bool {
        self.name(entity).is_some_and(|own| has(own, name, hash)) && self.parent(entity) == parent
    }

    /// Goes through the children of an entity, or the entities without a parent, that have this name.
    fn each_of_name<T>(
        &self,
        parent: Option<Entity>,
        name: &str,
        hash: u64,
        mut f: impl FnMut(Entity) -> ControlFlow<T>,
    ) -> ControlFlow<T> {
        self.each(parent, &mut |entity, own| {
            let is_found = has(own, name, hash) && self.parent(entity) == parent;
            if is_found { f(entity) } else { ControlFlow::Continue(()) }
        })
    }

    pub(super) fn first_named(&self, parent: Option<Entity>, name: &str, hash: u64) -> Option<Entity> {
        self.each_of_name(parent, name, hash, ControlFlow::Break).break_value()
    }
}

fn has(own: &Name, name: &str, hash: u64) -> bool {
    own.pre_hash() == hash && own.as_str() == name
}

/// The archetypes of named entities without a parent.
fn root_archetypes(world: &World) -> impl Iterator<Item = &Archetype> {
    let components = world.components();
    let child_of = components.component_id::<ChildOf>();
    let name = components.component_id::<Name>();
    let named = name.and_then(|name| world.archetypes().component_index().get(&name)).into_iter();
    let archetypes = named.flat_map(|named| named.keys()).filter_map(|&id| world.archetypes().get(id));
    archetypes.filter(move |archetype| !child_of.is_some_and(|id| archetype.contains(id)))
}

/// What there is to ask about names.
pub(super) struct NameView<'w, 's> {
    pub(super) source: Source<'w, 's>,
    pub(super) index: Option<&'w NameIndex>,
}

impl NameView<'_, '_> {
    /// The entity at the end of the path; where several have a name, the first one.
    pub(super) fn lookup(&self, parent: Option<Entity>, path: &str) -> Result<Entity, LookupError> {
        self.start(parent, path, |parent, step| {
            self.find(parent, step).ok_or_else(|| self.unknown(parent, step))
        })
    }

    /// The entity at the end of the path, if no other entity has its name or one on the way to it.
    pub(super) fn lookup_unique(&self, parent: Option<Entity>, path: &str) -> Result<Entity, LookupError> {
        self.start(parent, path, |parent, step| match *self.candidates(parent, step) {
            [] => Err(self.unknown(parent, step)),
            [found] => Ok(found),
            ref candidates => Err(LookupError::Ambiguous {
                step: step.into(),
                parent: self.named(parent),
                candidates: candidates.into(),
            }),
        })
    }

    fn unknown(&self, parent: Option<Entity>, step: &str) -> LookupError {
        LookupError::Unknown { step: step.into(), parent: self.named(parent) }
    }

    fn named(&self, entity: Option<Entity>) -> Option<EntityName> {
        entity.map(|entity| EntityName::with_name(entity, self.source.name(entity)))
    }

    /// Follows a path from where it is to start, or, in scopes, from the first place from which it leads somewhere.
    fn start(
        &self,
        parent: Option<Entity>,
        path: &str,
        find: impl Fn(Option<Entity>, &str) -> Result<Entity, LookupError>,
    ) -> Result<Entity, LookupError> {
        if parent.is_none() {
            let scopes = self.index.map_or(&[][..], |index| &index.scopes);
            for &scope in scopes.iter().rev() {
                match walk(Some(scope), path, &find) {
                    Err(LookupError::Unknown { .. }) => {}
                    found => return found,
                }
            }
        }
        walk(parent, path, find)
    }

    fn find(&self, parent: Option<Entity>, name: &str) -> Option<Entity> {
        let hash = fixed_hash_one(name);
        let Some(index) = self.index else { return self.source.first_named(parent, name, hash) };
        let known = index.get(parent, hash);
        known
            .filter(|&known| self.source.is_named(known, parent, name, hash))
            .or_else(|| index.search(&self.source, parent, name, hash))
    }

    fn candidates(&self, parent: Option<Entity>, name: &str) -> Vec<Entity> {
        let hash = fixed_hash_one(name);
        let mut candidates = Vec::new();
        let _: ControlFlow<()> = self.source.each_of_name(parent, name, hash, |entity| {
            candidates.push(entity);
            ControlFlow::Continue(())
        });
        if parent.is_none() {
            candidates.sort_unstable();
        }
        candidates
    }

    /// The path that leads to an entity, unless it or an entity above it has no name.
    pub(super) fn path_of(&self, entity: Entity) -> Option<String> {
        let mut names = Vec::new();
        let mut next = Some(entity);
        // Without the rules of relations parents may go round in a circle. One of them is met again then when the
        // way is twice as long as it was at the last stop.
        let (mut stop, mut length) = (None, 1);
        while let Some(entity) = next {
            if stop == Some(entity) {
                return None;
            }
            if names.len() == length {
                (stop, length) = (Some(entity), 2 * length);
            }
            names.push(self.source.name(entity)?);
            next = self.source.parent(entity);
        }
        Some(path::join(names.into_iter().rev().map(Name::as_str)))
    }
}

fn walk(
    parent: Option<Entity>,
    path: &str,
    find: impl Fn(Option<Entity>, &str) -> Result<Entity, LookupError>,
) -> Result<Entity, LookupError> {
    let mut steps = path::steps(path);
    let first = find(parent, &steps.next().unwrap_or_default())?;
    steps.try_fold(first, |parent, step| find(Some(parent), &step))
}
