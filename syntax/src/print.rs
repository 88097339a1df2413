//! Writing expressions down: reading what is written here gives the same expression.

use super::{
    ast::{
        Access, Arg, Ast, Clause, Comparand, Comparison, Depth, Element, Has, Id, IdKind, Operator, Path,
        Scope, Term, Test, Traversal,
    },
    legacy, lex,
};
use core::fmt::{self, Display, Formatter, Write};

/// Writes the items with something between them.
fn separated<T: Display>(f: &mut Formatter<'_>, items: &[T], separator: &str) -> fmt::Result {
    for (nth, item) in items.iter().enumerate() {
        write!(f, "{}{item}", if nth == 0 { "" } else { separator })?;
    }
    Ok(())
}

impl Display for Ast {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        separated(f, &self.clauses, ", ")
    }
}

impl Display for Clause {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        separated(f, &self.branches, " || ")
    }
}

impl Display for Element {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Term(term) => term.fmt(f),
            Self::Scope(scope) => scope.fmt(f),
        }
    }
}

impl Display for Scope {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.negated { "!{" } else { "{" })?;
        separated(f, &self.clauses, ", ")?;
        f.write_char('}')
    }
}

impl Display for Term {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let has = match &self.test {
            Test::Compare(comparison) => return comparison.fmt(f),
            Test::Has(has) => has,
        };
        f.write_str(match has.access {
            None => "",
            Some(Access::In) => "[in] ",
            Some(Access::Out) => "[out] ",
            Some(Access::InOut) => "[inout] ",
            Some(Access::None) => "[none] ",
        })?;
        f.write_str(match self.operator {
            Operator::And => "",
            Operator::Not => "!",
            Operator::Optional => "?",
            Operator::AndFrom => "and|",
            Operator::OrFrom => "or|",
            Operator::NotFrom => "not|",
        })?;
        has.fmt(f)
    }
}

impl Display for Has {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { first, source, target, .. } = self;
        match (source, target) {
            (None, _) => write!(f, "{first}()"),
            (Some(Arg { id, traversal: None }), None) if id.kind.is_this() => first.fmt(f),
            (Some(Arg { id, traversal: None }), Some(target)) if id.kind.is_this() => {
                write!(f, "({first}, {target})")
            }
            (Some(source), target) => {
                write!(f, "{first}(")?;
                match &source.traversal {
                    Some(traversal) if source.id.kind.is_this() => traversal.fmt(f)?,
                    _ => source.fmt(f)?,
                }
                if let Some(target) = target {
                    write!(f, ", {target}")?;
                }
                f.write_char(')')
            }
        }
    }
}

impl Display for Arg {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.id.fmt(f)?;
        match &self.traversal {
            Some(traversal) => write!(f, "|{traversal}"),
            None => Ok(()),
        }
    }
}

impl Display for Traversal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (nth, word) in self.flags.words().enumerate() {
            write!(f, "{}{word}", if nth == 0 { "" } else { "|" })?;
        }
        match &self.relation {
            Some(relation) => write!(f, " {relation}{}", self.depth),
            None => Ok(()),
        }
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

impl Display for Id {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            IdKind::Path(path) => path.fmt(f),
            IdKind::Variable(name) => write!(f, "${name}"),
            IdKind::Lookup(name, path) => write!(f, "${name}.{path}"),
            IdKind::Wildcard => f.write_char('*'),
            IdKind::Any => f.write_char('_'),
            IdKind::Bits(bits) => write!(f, "#{bits}"),
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
    for (nth, c) in name.chars().enumerate() {
        if nth == 0 && !c.is_alphabetic() || c != '_' && !c.is_alphanumeric() {
            f.write_char('\\')?;
        }
        f.write_char(c)?;
    }
    Ok(())
}

impl Display for Comparison {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let operator = if self.negated { "!=" } else { "==" };
        match &self.right {
            Comparand::Id(id) => write!(f, "{} {operator} {id}", self.left),
            Comparand::Path(path) => {
                write!(f, "{} {operator} ", self.left)?;
                quoted(f, "", path)
            }
            Comparand::NamePart(part) => {
                write!(f, "{} ~= ", self.left)?;
                quoted(f, if self.negated { "!" } else { "" }, part)
            }
        }
    }
}

fn quoted(f: &mut Formatter<'_>, prefix: &str, text: &str) -> fmt::Result {
    write!(f, "\"{prefix}")?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}
