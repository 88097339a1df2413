//! How earlier versions of Flecs spelled things.

use super::{
    ast::{IdKind, Span, THIS},
    error::Fault,
    lex::Lexed,
};

/// What a word of an older traversal is now.
pub(super) fn flag(word: &str) -> Option<&'static str> {
    Some(match word {
        "parent" => "up",
        "super" | "superset" => "up IsA",
        "sub" | "subset" => "down IsA",
        _ => return None,
    })
}

/// Variables that were capitalised.
pub(super) fn check_variable(id: &IdKind, span: Span) -> Lexed<()> {
    match id {
        IdKind::Variable(name) | IdKind::Lookup(name, _)
            if name != THIS && name.eq_ignore_ascii_case(THIS) =>
        {
            Err(Fault::older(span, "this variable in small letters", "$this"))
        }
        _ => Ok(()),
    }
}

/// Whether a name, alone, is read as something else in some place, now or formerly.
pub(super) fn is_reserved(name: &str) -> bool {
    super::ast::Flag::of_word(name).is_some()
        || flag(name).is_some()
        || ["and", "or", "not"].iter().any(|operator| operator.eq_ignore_ascii_case(name))
}
