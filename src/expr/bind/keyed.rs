//! Terms about pairs with a key: `Equips[Head]($item)`.

use super::{
    binder::{BindResult, Binder},
    query::{Atom, AtomId, IdRule, KeyedAtom, PairAtom},
    suggest::Nearest,
    term::Prerequisites,
};
use crate::relation::{KeyRef, NamedKey, listed, short_name};
use alloc::{
    boxed::Box,
    format,
    string::{String, ToString},
};
use bevy_ecs::entity::Entity;
use bevy_relations_syntax::{
    ast::{Id, IdKind, Key, KeyKind, Keyed, Span},
    error::{Diagnostic, ExprErrorKind},
    spelling::shorten,
};

impl Binder<'_> {
    pub(super) fn keyed(
        &mut self,
        keyed: &Keyed,
        prerequisites: &mut Prerequisites,
    ) -> BindResult<KeyedAtom> {
        let Keyed { relation: named, key, source, target, .. } = keyed;
        let relation = self.element_of(named, None, prerequisites)?;
        let entity = relation.entity();
        let key = match entity {
            Some(entity) => {
                let rule = self.key_rule(entity, named)?;
                Some(read(rule, key)?)
            }
            None => None,
        };
        let source = self.element_of(&source.id, None, prerequisites)?;
        // A source has one such pair at most: `_` and `*` mean the same.
        let target = match target.id.kind {
            IdKind::Any => self.wildcard(),
            _ => self.element_of(&target.id, None, prerequisites)?,
        };
        let pair = PairAtom { relation, target, closed: false, target_traversal: None };
        let rule = IdRule { entity, is_final: true, itself: true, walk: true };
        let id = AtomId::Pair(pair);
        let atom = Atom { source, id, subtypes: false, traversal: None, shared: false, rule };
        Ok(KeyedAtom { atom, key })
    }

    /// The keys of a relation.
    fn key_rule(&self, relation: Entity, named: &Id) -> BindResult<KeyRef> {
        let store = self.context.access().store();
        let rule = store.and_then(|store| {
            let registry = store.registry();
            registry.entry(registry.of_entity(relation)?).traits.key_rule()
        });
        rule.ok_or_else(|| {
            let message =
                format!("`{named}` has no keys: that takes a relation with `#[relation(key = ..)]`");
            Diagnostic::rule(named.span, message)
        })
    }
}

/// The key that is written, or what is known of the keys of the relation.
pub(in crate::expr) fn read(rule: KeyRef, key: &Key) -> BindResult<NamedKey> {
    let text = match &key.kind {
        KeyKind::Name(path) => path.0.join("."),
        KeyKind::Number(number) => number.to_string(),
    };
    NamedKey::read(rule, &text).ok_or_else(|| unknown(rule, &text, key.span))
}

/// That a text names no key.
fn unknown(rule: KeyRef, text: &str, span: Span) -> Box<Diagnostic> {
    let of = short_name(rule.key_name());
    if !rule.can_read() {
        let message = format!(
            "keys of type `{of}` cannot be read from text: give it `FromStr`, or `Reflect` if it is an enum"
        );
        return Diagnostic::rule(span, message);
    }
    let names = rule.names();
    let message = match &*names {
        [] => format!(
            "`{}` is no key of type `{of}`, which is written as its `FromStr` reads it",
            shorten(text)
        ),
        [name] => format!("no key of type `{of}` has this name: the only one is `{name}`"),
        names => format!("no key of type `{of}` has this name, only {}", listed(names)),
    };
    let fault = Diagnostic::new(ExprErrorKind::UnknownName, span, message);
    let mut nearest = Nearest::new(text);
    names.iter().for_each(|name| nearest.consider(name, || Some(String::from(*name))));
    match nearest.name {
        Some(near) => fault.suggest(near),
        None => fault,
    }
}
