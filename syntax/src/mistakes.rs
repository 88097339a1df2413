//! Parts of a term in another order than they are read in: what was meant is known, and the error says how to write it.

use super::{
    ast::{Arg, IdKind, Span},
    error::Diagnostic,
    lex::{Lexed, Lexer, Sign, Token},
    parse::Parser,
    value,
};
use alloc::{boxed::Box, format, string::String};

impl<'a> Parser<'a> {
    /// At the start of a term: whether it is `3 < Health.hp`.
    pub(super) fn check_literal_first(&self) -> Lexed<()> {
        let may_be = matches!(self.token, Token::Number(_) | Token::Text(_));
        if may_be || matches!(self.word(), "true" | "false") {
            self.literal_first().map_or(Ok(()), Err)
        } else {
            Ok(())
        }
    }

    fn literal_first(&self) -> Option<Box<Diagnostic>> {
        let mut lexer = Lexer::at(self.text, self.span.range().start);
        let literal = lexer.literal().ok()?.1;
        let (Token::Sign(sign), _) = lexer.token().ok()? else { return None };
        let sign = value::comparator(sign)?.mirrored().sign();
        let (token, mut field) = lexer.token().ok()?;
        let is_field = matches!(&token, Token::Id(IdKind::Path(path)) if path.0.len() > 1);
        let mut open = token == Token::Sign(Sign::ParenOpen);
        if !is_field && !open {
            return None;
        }
        // With what stands in parentheses.
        open |= lexer.clone().token().is_ok_and(|(token, _)| token == Token::Sign(Sign::ParenOpen));
        while open {
            let (token, span) = lexer.token().ok()?;
            field = field.to(span);
            open = !matches!(token, Token::Sign(Sign::ParenClose) | Token::End);
        }
        let (field, span) = (&self.text[field.range()], literal.to(field));
        let literal = &self.text[literal.range()];
        let fault = Diagnostic::rule(span, "a comparison has the field on its left side");
        Some(fault.suggest(format!("{field} {sign} {literal}")))
    }

    /// After `(Equips`, at the `[` of `(Equips[Head], $item)`.
    pub(super) fn key_in_pair(&mut self, open: Span, relation: &Arg) -> Lexed<Box<Diagnostic>> {
        let key = self.in_brackets()?;
        self.expect(Sign::Comma, "`,` and a target")?;
        let start = self.span;
        self.target()?;
        let target = &self.text[start.to(self.last).range()];
        self.expect(Sign::ParenClose, "`)`: a key belongs to one pair")?;
        let fault = Diagnostic::rule(open.to(self.last), "a key stands in front of the parentheses");
        Ok(fault.suggest(format!("{}[{key}]({target})", self.written(relation))))
    }

    /// After `Equips`, at the `[` of a key behind which no pair comes.
    pub(super) fn key_alone(&self, relation: Span, key: &str) -> Box<Diagnostic> {
        let relation_text = &self.text[relation.range()];
        let fault = Diagnostic::rule(relation.to(self.last), "a key is that of a pair, which has a target");
        fault.suggest(format!("{relation_text}[{key}](*)"))
    }

    /// After `T(args)`: whether it is `Equips(Head)($item)` or `Health(Knight).hp`.
    pub(super) fn check_behind_args(&mut self, first: &Arg, parens: Span, key: Option<&Arg>) -> Lexed<()> {
        if !matches!(first, Arg { id, traversal: None } if matches!(id.kind, IdKind::Path(_))) {
            return Ok(());
        }
        let first_text = self.written(first);
        if self.is(Sign::Dot) {
            let fields = self.fields()?;
            let args = &self.text[parens.range()];
            let fault = Diagnostic::rule(
                first.id.span.to(self.last),
                "a field stands behind its component, before the parentheses",
            );
            return Err(fault.suggest(format!("{first_text}{fields}{args}")));
        }
        if let Some(key) = key
            && self.is(Sign::ParenOpen)
            && matches!(key, Arg { id, traversal: None } if matches!(id.kind, IdKind::Path(_)))
        {
            let args = self.span;
            while !matches!(self.advance()?, Token::Sign(Sign::ParenClose) | Token::End) {}
            let args = &self.text[args.to(self.last).range()];
            let fault = Diagnostic::rule(first.id.span.to(self.last), "a key stands in brackets");
            return Err(fault.suggest(format!("{first_text}[{}]{args}", self.written(key))));
        }
        Ok(())
    }

    /// At the `[` of a key, which is read to the `]`.
    fn in_brackets(&mut self) -> Lexed<String> {
        self.advance()?;
        let key = self.key()?;
        self.expect(Sign::BracketClose, "`]`")?;
        Ok(format!("{key}"))
    }

    /// `.hp.0`
    fn fields(&mut self) -> Lexed<String> {
        let start = self.span;
        while self.take(Sign::Dot)? {
            self.advance()?;
        }
        Ok(String::from(&self.text[start.to(self.last).range()]))
    }

    fn written(&self, arg: &Arg) -> &'a str {
        &self.text[arg.id.span.range()]
    }
}
