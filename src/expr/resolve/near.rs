//! What somebody may have meant who wrote a name that is none.

use super::{Resolver, name::as_text};
use crate::expr::{
    ast::{Path, Span},
    error::Fault,
};

use alloc::{boxed::Box, string::String, vec::Vec};
use bevy_ecs::archetype::{Archetype, ArchetypeEntity};

/// Entities that are looked at.
const MOST: usize = 10_000;
/// Letters of names that are compared.
const LONGEST: usize = 64;

impl Resolver<'_> {
    /// The error about a name that means nothing, with the one that comes nearest to it.
    pub(super) fn unknown(&self, path: &Path, span: Span) -> Box<Fault> {
        let fault = Fault::rule(span, "the name of a component, relation or entity that exists");
        match self.nearest(path) {
            Some(near) => fault.suggest(near),
            None => fault,
        }
    }

    fn nearest(&self, path: &Path) -> Option<String> {
        let reads = self.site.reads();
        let mut best = Nearest::new(path.0.last()?);
        if let [_] = &path.0[..] {
            if let Some(store) = reads.store() {
                let registry = &store.registry;
                let relations = registry.declared().filter_map(|id| registry.entry(id).name.as_deref());
                let names = registry.component_names.keys().map(String::as_str);
                relations.chain(names).for_each(|name| best.consider(name, || Some(as_text(&[name.into()]))));
            }
            #[cfg(feature = "bevy_reflect")]
            if let Some(types) = reads.types() {
                let types = types.read();
                let paths = types.iter().map(|known| known.type_info().type_path_table().short_path());
                paths.for_each(|name| best.consider(name, || Some(name.into())));
            }
        }
        let entities = reads.archetypes().iter().flat_map(Archetype::entities).map(ArchetypeEntity::id);
        for entity in entities.take(MOST) {
            if let Some(name) = reads.name(entity) {
                best.consider(name, || reads.path_of(entity));
            }
        }
        best.name
    }
}

/// The name that differs least from one that is wanted.
struct Nearest {
    wanted: Vec<char>,
    /// It must differ less.
    distance: usize,
    name: Option<String>,
}

impl Nearest {
    fn new(wanted: &str) -> Self {
        let wanted = letters(wanted);
        // One letter in three may be another.
        Self { distance: wanted.len().div_ceil(3) + 1, wanted, name: None }
    }

    fn consider(&mut self, name: &str, spelling: impl FnOnce() -> Option<String>) {
        let distance = distance(&self.wanted, &letters(name));
        if distance < self.distance {
            (self.distance, self.name) = (distance, spelling());
        }
    }
}

fn letters(name: &str) -> Vec<char> {
    name.chars().flat_map(char::to_lowercase).take(LONGEST).collect()
}

/// How many letters have to be put in, left out or replaced to make the one of the other.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, letter) in left.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, other) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}
