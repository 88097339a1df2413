//! Writing expressions down: reading what is written here gives the same expression.
//!
//! What is written sets the places of all parts, so that errors about an expression that was put together by calls
//! point into its text.

use super::{
    ast::{
        Access, Arg, Ast, Clause, Comparand, Comparison, Depth, Element, Has, Id, IdKind, Operator, Path,
        Scope, Span, Term, Test, Traversal,
    },
    legacy, lex,
    path::write_escaped,
};
use alloc::{string::String, vec};
use core::fmt::{self, Display, Formatter, Write};

/// Writes something down and sets its places.
pub(super) trait Place: Clone {
    fn place(&mut self, out: &mut String);

    /// Writes it down without setting places.
    fn show(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.clone().place(&mut text);
        f.write_str(&text)
    }
}

macro_rules! display {
    ($($placed:ty),*) => {$(
        impl Display for $placed {
            fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                self.show(f)
            }
        }
    )*};
}

display!(Ast, Clause, Element, Term, Comparison);

/// Writes the items with something between them.
fn separated<T: Place>(out: &mut String, items: &mut [T], separator: &str) {
    for (nth, item) in items.iter_mut().enumerate() {
        out.push_str(if nth == 0 { "" } else { separator });
        item.place(out);
    }
}

/// Writes a part that has no places in it.
pub(super) fn push(out: &mut String, part: impl Display) {
    // Writing to a string does not fail.
    let _: fmt::Result = write!(out, "{part}");
}

/// The text behind `start`.
pub(super) fn since(out: &str, start: usize) -> Span {
    Span::new(start..out.len())
}

impl Place for Ast {
    fn place(&mut self, out: &mut String) {
        separated(out, &mut self.clauses, ", ");
    }
}

impl Place for Clause {
    fn place(&mut self, out: &mut String) {
        separated(out, &mut self.branches, " || ");
    }
}

impl Place for Element {
    fn place(&mut self, out: &mut String) {
        match self {
            Self::Term(term) => term.place(out),
            Self::Scope(scope) => scope.place(out),
        }
    }
}

impl Place for Scope {
    fn place(&mut self, out: &mut String) {
        let start = out.len();
        out.push_str(if self.negated { "!{" } else { "{" });
        separated(out, &mut self.clauses, ", ");
        out.push('}');
        self.span = since(out, start);
    }
}

impl Place for Term {
    fn place(&mut self, out: &mut String) {
        let start = out.len();
        match &mut self.test {
            Test::Compare(comparison) => comparison.place(out),
            Test::Has(has) => {
                push_prefix(out, has.access, self.operator);
                has.place(out);
            }
            Test::Keyed(keyed) => {
                push_prefix(out, keyed.access, self.operator);
                keyed.place(out);
            }
        }
        self.span = since(out, start);
    }
}

/// Writes what stands before a term.
fn push_prefix(out: &mut String, access: Option<Access>, operator: Operator) {
    out.push_str(match access {
        None => "",
        Some(Access::In) => "[in] ",
        Some(Access::Out) => "[out] ",
        Some(Access::InOut) => "[inout] ",
        Some(Access::None) => "[none] ",
    });
    out.push_str(match operator {
        Operator::And => "",
        Operator::Not => "!",
        Operator::Optional => "?",
        Operator::AndFrom => "and|",
        Operator::OrFrom => "or|",
        Operator::NotFrom => "not|",
    });
}

impl Place for Has {
    fn place(&mut self, out: &mut String) {
        let Self { first, source, target, value, .. } = self;
        match (source, target) {
            (None, _) => {
                first.place(out);
                out.push_str("()");
            }
            (Some(Arg { id, traversal: None }), target) if id.kind.is_this() => {
                out.push_str(if target.is_some() { "(" } else { "" });
                first.place(out);
                id.span = first.id.span;
                if let Some(target) = target {
                    out.push_str(", ");
                    target.place(out);
                    out.push(')');
                }
            }
            (Some(source), target) => {
                first.place(out);
                out.push('(');
                match &mut source.traversal {
                    Some(traversal) if source.id.kind.is_this() => {
                        let start = out.len();
                        traversal.place(out);
                        let word = traversal.flags.words().next().unwrap_or_default();
                        source.id.span = Span::new(start..start + word.len());
                    }
                    _ => source.place(out),
                }
                if let Some(target) = target {
                    out.push_str(", ");
                    target.place(out);
                }
                out.push(')');
            }
        }
        if let Some(value) = value {
            value.place(out);
        }
    }
}

impl Place for Arg {
    fn place(&mut self, out: &mut String) {
        self.id.place(out);
        if let Some(traversal) = &mut self.traversal {
            out.push('|');
            traversal.place(out);
        }
    }
}

impl Place for Traversal {
    fn place(&mut self, out: &mut String) {
        let start = out.len();
        for (nth, word) in self.flags.words().enumerate() {
            out.push_str(if nth == 0 { "" } else { "|" });
            out.push_str(word);
        }
        if let Some(relation) = &mut self.relation {
            out.push(' ');
            relation.place(out);
            push(out, self.depth);
        }
        self.span = since(out, start);
    }
}

impl Display for Depth {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Self::EVERY => Ok(()),
            Self { min: 1, max: Some(max) } => write!(f, " {max}"),
            Self { min, max: Some(max) } => write!(f, " {min}..{max}"),
            Self { min, max: None } => write!(f, " {min}.."),
        }
    }
}

impl Place for Id {
    fn place(&mut self, out: &mut String) {
        let start = out.len();
        push(out, &*self);
        self.span = since(out, start);
    }
}

impl Display for Id {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            IdKind::Path(path) => path.fmt(f),
            IdKind::Variable(name) => write!(f, "${name}"),
            IdKind::Lookup(name, path) => write!(f, "${name}.{path}"),
            IdKind::Wildcard => f.write_char('*'),
            IdKind::Any => f.write_char('_'),
            IdKind::Bits(bits) => write!(f, "#{bits}"),
            IdKind::Type(of) => Path(vec![of.name.into()]).fmt(f),
        }
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let [name] = &*self.0
            && legacy::is_reserved(name)
        {
            return write!(f, "\\{name}");
        }
        for (nth, name) in self.0.iter().enumerate() {
            f.write_str(if nth == 0 { "" } else { "." })?;
            let plain = lex::is_plain(name) || nth > 0 && lex::is_index(name);
            if plain { f.write_str(name)? } else { escaped(f, name)? }
        }
        Ok(())
    }
}

/// Puts a backslash before everything that is not part of a name of itself.
fn escaped(f: &mut Formatter<'_>, name: &str) -> fmt::Result {
    write_escaped(f, name, |nth, c| nth == 0 && !c.is_alphabetic() || c != '_' && !c.is_alphanumeric())
}

impl Place for Comparison {
    fn place(&mut self, out: &mut String) {
        self.left.place(out);
        out.push_str(match (&self.right, self.negated) {
            (Comparand::NamePart(_), _) => " ~= ",
            (_, true) => " != ",
            (_, false) => " == ",
        });
        let start = out.len();
        match &mut self.right {
            Comparand::Id(id) => id.place(out),
            Comparand::Path(path) => quoted(out, "", path),
            Comparand::NamePart(part) => quoted(out, if self.negated { "!" } else { "" }, part),
        }
        self.span = since(out, start);
    }
}

pub(super) fn quoted(out: &mut String, prefix: &str, text: &str) {
    out.push('"');
    out.push_str(prefix);
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    out.push('"');
}
