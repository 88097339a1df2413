//! Terms about pairs with a key: `Equips[Head]($item)`, `Equips[Head](knight, $item)`.

use super::{
    ast::{Access, Arg, Element, Id, IdKind, Key, KeyKind, Keyed, Operator, Span, Term, Test},
    error::{Diagnostic, ExprError},
    lex::{Lexed, Sign, Token},
    parse::{Parser, all_of},
    print::{Place, push, since},
};
use alloc::{
    boxed::Box,
    string::{String, ToString},
};
use core::fmt::{self, Display, Formatter};

/// Reads a key as it stands in brackets.
///
/// ```
/// # use bevy_relations_syntax::parse::parse_key;
/// assert!(parse_key("Head").is_ok() && parse_key("3").is_ok() && parse_key("Head, Hand").is_err());
/// ```
///
/// # Errors
/// If the text is anything else.
pub fn parse_key(text: &str) -> Result<Key, ExprError> {
    all_of(text, Parser::key)
}

impl Parser<'_> {
    /// After `Equips`, at the `[` of `Equips[Head]($item)`.
    pub(super) fn keyed(
        &mut self,
        start: Span,
        access: Option<Access>,
        operator: Operator,
        relation: Id,
    ) -> Lexed<Element> {
        self.advance()?;
        let key = self.key()?;
        self.expect(Sign::BracketClose, "`]`")?;
        if !self.take(Sign::ParenOpen)? {
            return Err(self.key_alone(relation.span, &key.to_string()));
        }
        let first = self.target()?;
        let (source, target) = match self.take(Sign::Comma)? {
            true => (first, self.target()?),
            false => (Arg::this(relation.span), first),
        };
        self.expect(Sign::ParenClose, "`)`: a key belongs to one pair")?;
        self.count(1)?;
        let test = Test::Keyed(Box::new(Keyed { access, relation, key, source, target }));
        Ok(Element::Term(Term { operator, test, span: start.to(self.last) }))
    }

    pub(super) fn key(&mut self) -> Lexed<Key> {
        let span = self.span;
        let kind = match &self.token {
            Token::Number(number) => KeyKind::Number(*number),
            Token::Id(IdKind::Path(path)) => KeyKind::Name(path.clone()),
            _ => return Err(self.expected("the name or the number of a key")),
        };
        self.advance()?;
        Ok(Key { kind, span })
    }
}

/// Checks what does not depend on a world.
pub(super) fn check(term: &Term, keyed: &Keyed) -> Lexed<()> {
    if matches!(term.operator, Operator::AndFrom | Operator::OrFrom | Operator::NotFrom) {
        return Err(Diagnostic::rule(term.span, "the list is an entity: a pair is none"));
    }
    if !matches!(keyed.relation.kind, IdKind::Path(_) | IdKind::Type(_) | IdKind::Bits(_)) {
        return Err(Diagnostic::rule(keyed.relation.span, "a key belongs to the pairs of one relation"));
    }
    for end in [&keyed.source, &keyed.target] {
        if let Some(traversal) = &end.traversal {
            let message = "a key is looked for on its source alone, and has no traversal";
            return Err(Diagnostic::rule(traversal.span, message));
        }
    }
    if keyed.source.id.kind == IdKind::Any {
        let message = "`_` has no pair with a key: write an entity, a variable or `*`";
        return Err(Diagnostic::rule(keyed.source.id.span, message));
    }
    Ok(())
}

impl Place for Keyed {
    fn place(&mut self, out: &mut String) {
        let Self { relation, key, source, target, .. } = self;
        relation.place(out);
        out.push('[');
        let start = out.len();
        push(out, &*key);
        key.span = since(out, start);
        out.push_str("](");
        if source.id.kind.is_this() && source.traversal.is_none() {
            source.id.span = relation.span;
        } else {
            source.place(out);
            out.push_str(", ");
        }
        target.place(out);
        out.push(')');
    }
}

impl Display for Key {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            KeyKind::Name(path) => path.fmt(f),
            KeyKind::Number(number) => number.fmt(f),
        }
    }
}
