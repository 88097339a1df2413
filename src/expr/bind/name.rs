//! What names mean.

use super::binder::{BindResult, Binder};
#[cfg(feature = "bevy_reflect")]
use super::context::BindContext;
#[cfg(feature = "remote")]
use crate::id::Slot;
use crate::{expr::eval::WorldAccess, names::LookupError, relation::Prefab};
use alloc::{
    borrow::Cow,
    format,
    string::{String, ToString},
    vec::Vec,
};
#[cfg(feature = "bevy_reflect")]
use bevy_ecs::world::World;
use bevy_ecs::{entity::Entity, entity_disabling::Disabled};
#[cfg(feature = "remote")]
use bevy_relations_syntax::{ast::Arg, error::ExprError, parse};
use bevy_relations_syntax::{
    ast::{Id, IdKind, Path, Span},
    error::{Diagnostic, ExprErrorKind},
    path,
};
use core::any::TypeId;

/// What a name means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::expr) enum Meaning {
    /// A Rust type: a component, a relation, or something that serves as a tag.
    Type(TypeId),
    Entity(Entity),
    /// A component, and the path of a field in it.
    Member(TypeId, String),
}

impl Binder<'_> {
    /// The one thing that a name means; `None` if that will be known when the system runs. Names are tried as a child
    /// of `scope`, as a type, as an entity, as a field.
    pub(super) fn meaning(
        &mut self,
        path: &Path,
        span: Span,
        scope: Option<Entity>,
    ) -> BindResult<Option<Meaning>> {
        if let Some(scope) = scope {
            let children = self.at_path(Some(scope), &path.0);
            if !children.is_empty() {
                return self.single(children.into_iter().map(Meaning::Entity).collect(), path, span);
            }
        }
        let mut meanings: Vec<Meaning> = self.types(path).into_iter().map(Meaning::Type).collect();
        for entity in self.at_path(None, &path.0) {
            // An entity that stands for the type is the same thing.
            let store = self.context.access().store();
            let type_id = store.and_then(|store| store.registry().type_of(entity));
            if type_id.is_none_or(|type_id| !meanings.contains(&Meaning::Type(type_id))) {
                meanings.push(Meaning::Entity(entity));
            }
        }
        if let ([], [name]) = (&meanings[..], &path.0[..]) {
            meanings.extend(built_in(name).map(Meaning::Type));
        }
        if meanings.is_empty() {
            meanings = self.members(path, span)?;
        }
        self.single(meanings, path, span)
    }

    /// [`meaning`](Self::meaning) of what is written as a name, or given as a type.
    pub(super) fn meaning_of(&mut self, id: &Id, scope: Option<Entity>) -> BindResult<Option<Meaning>> {
        match &id.kind {
            IdKind::Type(of) => Ok(Some(Meaning::Type(of.id))),
            IdKind::Path(path) => self.meaning(path, id.span, scope),
            _ => Ok(None),
        }
    }

    pub(super) fn single(
        &mut self,
        mut meanings: Vec<Meaning>,
        path: &Path,
        span: Span,
    ) -> BindResult<Option<Meaning>> {
        match meanings.len() {
            0 if self.context.is_init() => {
                self.query.awaits_names = true;
                Ok(None)
            }
            0 => Err(self.unknown(path, span)),
            1 => {
                let meaning = meanings.remove(0);
                if let Meaning::Entity(entity) = meaning {
                    self.query.named.push(entity);
                    self.pin(entity);
                }
                Ok(Some(meaning))
            }
            // Which is meant may be clear by then.
            _ if self.context.is_init()
                && !meanings.iter().any(|meaning| matches!(meaning, Meaning::Type(_))) =>
            {
                self.query.awaits_names = true;
                Ok(None)
            }
            _ => {
                let candidates: Vec<String> = meanings.iter().map(|meaning| self.describe(meaning)).collect();
                let candidates = candidates.join(", ");
                let message = format!("the name means several things: {candidates}");
                Err(Diagnostic::new(ExprErrorKind::AmbiguousName, span, message))
            }
        }
    }

    /// Something that a name may mean, in the way in which nothing else can be meant.
    fn describe(&self, meaning: &Meaning) -> String {
        match meaning {
            Meaning::Type(id) => self.describe_type(*id),
            Meaning::Entity(entity) => format!("the entity {entity} (`#{}`)", entity.to_bits()),
            Meaning::Member(id, field) => format!("the field {field} of {}", self.describe_type(*id)),
        }
    }

    fn describe_type(&self, id: TypeId) -> String {
        let access = self.context.access();
        #[cfg(feature = "bevy_reflect")]
        if let Some(types) = access.types()
            && let Some(info) = types.read().get_type_info(id)
        {
            return format!("the type `{}`", info.type_path());
        }
        let entity = access.store().and_then(|store| store.registry().entity_of(id));
        entity.map_or_else(
            || "the component of that name".into(),
            |entity| format!("a type (`#{}`)", entity.to_bits()),
        )
    }

    /// How the language writes an entity: by its path, the name of its relation or type, or `#bits`.
    pub(super) fn called(&self, entity: Entity) -> String {
        let access = self.context.access();
        match access.path_of(entity) {
            Some(path) => format!("`{}`", written(&path)),
            None => match access.store().and_then(|store| store.registry().name_of(entity).name) {
                Some(name) => format!("`{name}`"),
                None => format!("`#{}`", entity.to_bits()),
            },
        }
    }

    /// The Rust types with a name: reflected ones, and relations.
    pub(super) fn types(&self, path: &Path) -> Vec<TypeId> {
        let [name] = &path.0[..] else { return Vec::new() };
        let letters = |text: &'_ str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        let given = self.given.iter().filter(|given| letters(given.of.name) == letters(name));
        let given: Vec<TypeId> = given.map(|given| given.of.id).collect();
        if !given.is_empty() {
            return given;
        }
        #[cfg(feature = "bevy_reflect")]
        let reflected = match self.context.access().types() {
            Some(types) => reflected_types(&types.read(), name),
            None => Vec::new(),
        };
        #[cfg(not(feature = "bevy_reflect"))]
        let reflected = Vec::new();
        with_relation_types(reflected, self.context.access(), name)
    }

    /// The entities at a path below `parent`, or from the roots.
    pub(super) fn at_path(&self, parent: Option<Entity>, path: &[String]) -> Vec<Entity> {
        let path = path::join(path.iter().map(String::as_str));
        match self.context.access().lookup_unique(parent, &path) {
            Ok(entity) => alloc::vec![entity],
            Err(LookupError::Ambiguous { candidates, .. }) => candidates,
            Err(LookupError::Unknown { .. }) => Vec::new(),
        }
    }
}

/// What a path, a type or bits mean in a world as it is.
///
/// # Errors
/// If nothing has the name, or several things have it, or the entity is dead.
#[cfg(feature = "bevy_reflect")]
pub(in crate::expr) fn meaning_of(world: &World, id: &Id, scope: Option<Entity>) -> BindResult<Meaning> {
    if let IdKind::Bits(bits) = id.kind {
        let entity = Entity::try_from_bits(bits);
        let alive = entity.filter(|&entity| world.entities().contains_spawned(entity));
        let dead = || Diagnostic::rule(id.span, "no entity that is alive has these bits");
        return alive.map(Meaning::Entity).ok_or_else(dead);
    }
    let meaning = reader(world).meaning_of(id, scope)?;
    meaning.ok_or_else(|| Diagnostic::rule(id.span, "this names nothing"))
}

/// What a text names that stands for an element of a pair.
#[cfg(feature = "remote")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NamedElement {
    Entity(Entity),
    Type(TypeId),
    /// `*` or `_`.
    Wildcard(Slot),
}

#[cfg(feature = "remote")]
impl NamedElement {
    /// Reads a path, a type, `#bits`, `*` or `_`, and looks up what it means. Children of `scope` come first.
    ///
    /// # Errors
    /// If the text is something else, if nothing has the name or several things have it, or if the entity is dead.
    pub(crate) fn find(world: &World, text: &str, scope: Option<Entity>) -> Result<Self, ExprError> {
        Self::bind(world, &parse::parse_arg(text)?, scope).map_err(|fault| fault.in_text(text))
    }

    fn bind(world: &World, arg: &Arg, scope: Option<Entity>) -> BindResult<Self> {
        let id = &arg.id;
        let refuse = |message: &'static str| Err(Diagnostic::rule(id.span, message));
        if arg.traversal.is_some() {
            return refuse("a name cannot be followed by a traversal here");
        }
        match &id.kind {
            IdKind::Wildcard => Ok(Self::Wildcard(Slot::Wildcard)),
            IdKind::Any => Ok(Self::Wildcard(Slot::Any)),
            IdKind::Variable(_) | IdKind::Lookup(..) => refuse("there are no variables here"),
            IdKind::Bits(bits) => {
                let entity = Entity::try_from_bits(*bits);
                let alive = entity.filter(|&entity| world.entities().contains_spawned(entity));
                let message = "no entity that is alive has these bits";
                let dead = || Diagnostic::new(ExprErrorKind::UnknownName, id.span, message);
                alive.map(Self::Entity).ok_or_else(dead)
            }
            IdKind::Path(_) | IdKind::Type(_) => match meaning_of(world, id, scope)? {
                Meaning::Type(type_id) => Ok(Self::Type(type_id)),
                Meaning::Entity(entity) => Ok(Self::Entity(entity)),
                Meaning::Member(..) => refuse("this names a field, not an entity"),
            },
        }
    }
}

/// Whether a path can only be meant for entities: no type has the name that it starts with.
#[cfg(feature = "bevy_reflect")]
pub(in crate::expr) fn names_entities(world: &World, path: &Path) -> bool {
    let Some(first) = path.0.first() else { return false };
    let reads_as_type = path.0.iter().any(|name| name.contains("::") || name.contains('<'));
    !reads_as_type && reader(world).types(&Path([first.clone()].into())).is_empty()
}

/// Looks names up without changing the world.
#[cfg(feature = "bevy_reflect")]
fn reader(world: &World) -> Binder<'_> {
    Binder::new(BindContext::System(WorldAccess::World(world)), &[])
}

/// The marker of this crate or of Bevy that has a name in every world, unless something else has it.
fn built_in(name: &str) -> Option<TypeId> {
    match name {
        "Prefab" => Some(TypeId::of::<Prefab>()),
        "Disabled" => Some(TypeId::of::<Disabled>()),
        _ => None,
    }
}

/// The reflected types with a name: the one with the full path, or all with the short one.
#[cfg(feature = "bevy_reflect")]
pub(in crate::expr) fn reflected_types(types: &bevy_reflect::TypeRegistry, name: &str) -> Vec<TypeId> {
    let one = types.get_with_type_path(name).or_else(|| types.get_with_short_type_path(name));
    let all = types.iter().filter(|_| one.is_none() && types.is_ambiguous(name));
    let all = all.filter(|registration| registration.type_info().type_path_table().short_path() == name);
    let mut all: Vec<_> = all.collect();
    // The order of the registry is that of hashes, which differ from build to build.
    all.sort_unstable_by_key(|registration| registration.type_info().type_path());
    one.into_iter().chain(all).map(bevy_reflect::TypeRegistration::type_id).collect()
}

/// These types, and the relations and components that were registered with the name.
pub(in crate::expr) fn with_relation_types(
    mut found: Vec<TypeId>,
    access: WorldAccess<'_>,
    name: &str,
) -> Vec<TypeId> {
    let Some(store) = access.store() else { return found };
    let declared = store.registry().declared().map(|id| store.registry().entry(id));
    let declared = declared.filter(|entry| entry.name.as_deref() == Some(name));
    let components = access.expr_names().map_or(&[][..], |names| names.components(name)).iter();
    for id in declared.filter_map(|entry| entry.type_id).chain(components.copied()) {
        if !found.contains(&id) {
            found.push(id);
        }
    }
    found
}

/// A path of names as expressions write it.
pub(super) fn written(path: &str) -> String {
    Path(path::steps(path).map(Cow::into_owned).collect()).to_string()
}
