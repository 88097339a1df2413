//! What an unknown name may have meant.

use super::{binder::Binder, name::written};

use alloc::{
    boxed::Box,
    string::{String, ToString},
    vec::Vec,
};
use bevy_ecs::archetype::{Archetype, ArchetypeEntity};
use bevy_relations_syntax::{
    ast::{Path, Span},
    error::{Diagnostic, ExprErrorKind},
    spelling::distance,
};

/// Entities that are looked at.
const MOST: usize = 10_000;
/// Letters of names that are compared.
const LONGEST: usize = 64;

impl Binder<'_> {
    /// The error about a name that means nothing, with the one that comes nearest to it.
    pub(super) fn unknown(&self, path: &Path, span: Span) -> Box<Diagnostic> {
        let fault = Diagnostic::new(
            ExprErrorKind::UnknownName,
            span,
            "no component, relation or entity has this name",
        );
        let fault = match self.nearest(path) {
            Some(near) => fault.suggest(near),
            None => fault,
        };
        // What looks like a type may be one that is not registered yet.
        if path.0.len() > 1 || !path.0[0].starts_with(char::is_uppercase) {
            return fault;
        }
        fault.help(
            "a component is known by it after `register_component_name`, a relation after `register_relation`, an entity by \
             its `Name`, below others by its path",
        )
    }

    /// The error about a field of a type that is not known, with the type that comes nearest.
    pub(super) fn unknown_type(&self, path: &Path, span: Span) -> Box<Diagnostic> {
        let fault =
            Diagnostic::new(ExprErrorKind::UnknownName, span, "no component or relation has this name");
        match self.nearest_type(path) {
            Some(near) => fault.suggest(near),
            None => fault.help(
                "a type with fields is known by its name after `register_type`, a relation after `register_relation`",
            ),
        }
    }

    fn nearest(&self, path: &Path) -> Option<String> {
        let mut best = Nearest::new(path.0.last()?);
        // Types and relations have no other names before theirs.
        if path.0.len() == 1 {
            self.consider_types(&mut best, path);
        }
        let access = self.context.access();
        let entities = access.archetypes().iter().flat_map(Archetype::entities).map(ArchetypeEntity::id);
        for entity in entities.take(MOST) {
            if let Some(name) = access.name_to_suggest(entity) {
                best.consider(name, || access.path_of(entity).map(|path| written(&path)));
            }
        }
        // The path may be that of a field. Names of types are capitalised.
        let may_be_field = path.0.len() > 1 && path.0[0].starts_with(char::is_uppercase);
        best.name.or_else(|| self.nearest_type(path).filter(|_| may_be_field))
    }

    /// A path with the type that comes nearest to its first name.
    fn nearest_type(&self, path: &Path) -> Option<String> {
        let mut best = Nearest::new(path.0.first()?);
        self.consider_types(&mut best, path);
        best.name
    }

    /// Considers every type in the place of the first name of a path.
    fn consider_types(&self, best: &mut Nearest, path: &Path) {
        let access = self.context.access();
        let mut consider = |name: &str| {
            let rest = path.0.iter().skip(1).cloned();
            best.consider(name, || Some(Path([name.into()].into_iter().chain(rest).collect()).to_string()));
        };
        if let Some(store) = access.store() {
            let registry = store.registry();
            let relations = registry.declared().filter_map(|id| registry.entry(id).name.as_deref());
            relations.for_each(&mut consider);
        }
        if let Some(names) = access.expr_names() {
            // Of names that are equally near the first counts, and the map has no order.
            let mut names: Vec<&str> = names.all().collect();
            names.sort_unstable();
            names.into_iter().for_each(&mut consider);
        }
        #[cfg(feature = "bevy_reflect")]
        if let Some(types) = access.types() {
            let types = types.read();
            let paths = types.iter().map(|known| known.type_info().type_path_table().short_path());
            let mut paths: Vec<&str> = paths.collect();
            paths.sort_unstable();
            paths.into_iter().for_each(&mut consider);
        }
    }
}

/// The name that differs least from one that is wanted.
pub(super) struct Nearest {
    wanted: Vec<char>,
    /// It must differ less.
    distance: usize,
    pub(super) name: Option<String>,
}

impl Nearest {
    pub(super) fn new(wanted: &str) -> Self {
        let wanted = letters(wanted);
        // One letter in three may be another, and one of few, but not the only one.
        let allowed = (wanted.len() / 3).max(1);
        Self { distance: (allowed + 1).min(wanted.len()), wanted, name: None }
    }

    pub(super) fn consider(&mut self, name: &str, spelling: impl FnOnce() -> Option<String>) {
        let edits = distance(&self.wanted, &letters(name));
        if edits < self.distance {
            (self.distance, self.name) = (edits, spelling());
        }
    }
}

fn letters(name: &str) -> Vec<char> {
    name.chars().flat_map(char::to_lowercase).take(LONGEST).collect()
}
