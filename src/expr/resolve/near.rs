//! What somebody may have meant who wrote a name that is none.

use super::{Resolver, name::as_text};
use crate::expr::{
    ast::{Path, Span},
    error::Fault,
};
use alloc::{boxed::Box, string::String, vec::Vec};
use bevy_ecs::name::Name;

/// Entities that are looked at.
const MOST: usize = 10_000;
/// Letters of names that are compared.
const LONGEST: usize = 64;

impl Resolver<'_> {
    /// The error about a name that means nothing, with the one that comes nearest to it.
    pub(super) fn unknown(&self, path: &Path, span: Span) -> Box<Fault> {
        let fault = Fault::rule(span, "the name of a component, relation or entity that exists");
        let Some((last, parents)) = path.0.split_last() else { return fault };
        match self.nearest(last, parents) {
            Some(name) => {
                let mut near = parents.to_vec();
                near.push(name);
                fault.suggest(as_text(&near))
            }
            None => fault,
        }
    }

    fn nearest(&self, name: &str, parents: &[String]) -> Option<String> {
        let wanted: Vec<char> = name.chars().flat_map(char::to_lowercase).take(LONGEST).collect();
        // One letter in three may be another.
        let mut most = wanted.len().div_ceil(3);
        let mut best = None;
        let mut consider = |candidate: &str| {
            let letters: Vec<char> = candidate.chars().flat_map(char::to_lowercase).take(LONGEST).collect();
            let distance = distance(&wanted, &letters);
            if distance < most {
                (most, best) = (distance, Some(candidate.into()));
            }
        };
        if parents.is_empty() {
            if let Some(store) = crate::access::store(self.world) {
                let declared =
                    store.registry.declared().filter_map(|id| store.registry.entry(id).name.as_deref());
                declared.for_each(&mut consider);
                store.registry.component_names.keys().for_each(|name| consider(name));
            }
            #[cfg(feature = "bevy_reflect")]
            if let Some(types) = self.world.get_resource::<bevy_ecs::reflect::AppTypeRegistry>() {
                let types = types.read();
                let paths = types.iter().map(|known| known.type_info().type_path_table().short_path());
                paths.for_each(&mut consider);
            }
        }
        for entity in self.world.iter_entities().take(MOST) {
            if let Some(name) = entity.get::<Name>() {
                consider(name);
            }
        }
        best
    }
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
