//! Parts of a term in another order than they are read in, and words and signs of other languages: what was meant is known, and the
//! error says how to write it.

use super::{
    ast::{Arg, Flag, Flags, IdKind, Span},
    error::Diagnostic,
    lex::{Lexed, Lexer, Sign, Token},
    parse::Parser,
    spelling, value,
};
use alloc::{boxed::Box, format, string::String, vec::Vec};

const FLAGS: &str = "`self`, `up`, `down`, `cascade`, `desc` or `all`";

/// A string in the place of a name.
pub(super) fn quoted_name(span: Span, name: &str) -> Box<Diagnostic> {
    let fault = Diagnostic::syntax(span, "a name without quotes, a variable, `*`, `_` or `#bits`");
    let is_name = name.starts_with(|c: char| c.is_alphabetic())
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ' ' | '.'))
        && !name.contains("..")
        && !name.ends_with([' ', '.']);
    if is_name { fault.suggest(name.replace(' ', "\\ ")) } else { fault }
}

/// A word in small letters, if that is one of traversals and the word is not.
fn in_small_letters(word: &str) -> Option<String> {
    let small = word.to_ascii_lowercase();
    (small != word && Flag::of_word(&small).is_some()).then_some(small)
}

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

    /// After a term, where neither a comma nor the end comes.
    pub(super) fn not_after_term(&self, expected: &'static str) -> Box<Diagnostic> {
        let last = &self.text[self.last.range()];
        if self.word().eq_ignore_ascii_case("and") {
            let expected = "`,` between conditions that hold at once";
            Diagnostic::syntax(self.span, expected).suggest(",")
        } else if self.word().eq_ignore_ascii_case("or") {
            Diagnostic::syntax(self.span, "`||` between alternatives").suggest("||")
        } else if last.eq_ignore_ascii_case("not") && matches!(self.token, Token::Id(_)) {
            Diagnostic::syntax(self.last, "`!` before what must not hold").suggest("!")
        } else {
            self.expected(expected)
        }
    }

    /// After a name, at a sign; or at another word, if the name has a blank: `(DockedTo, New Oslo)`.
    pub(super) fn expect_after_name(&mut self, sign: Sign, expected: &'static str) -> Lexed<()> {
        if self.take(sign)? {
            return Ok(());
        }
        let is_word = |token: &Token| matches!(token, Token::Id(IdKind::Path(path)) if path.0.len() == 1);
        let start = self.last;
        if !is_word(&self.token) || !self.text[start.range()].starts_with(char::is_alphabetic) {
            return Err(self.expected(expected));
        }
        let (mut end, mut words) = (self.span, self.clone());
        while is_word(&words.token) && Flag::of_word(words.word()).is_none() {
            end = words.span;
            if words.advance().is_err() {
                break;
            }
        }
        if !matches!(words.token, Token::Sign(Sign::Comma | Sign::ParenClose)) {
            return Err(self.expected(expected));
        }
        let name = start.to(end);
        let spelling = self.text[name.range()].split_whitespace().collect::<Vec<_>>().join("\\ ");
        Err(Diagnostic::syntax(name, "a backslash before each blank in a name").suggest(spelling))
    }

    /// After the source in parentheses: whether it is `Up` of `Ship(Up PartOf)`.
    pub(super) fn check_capital_flag(&self) -> Lexed<()> {
        let word = &self.text[self.last.range()];
        match in_small_letters(word).filter(|_| matches!(self.token, Token::Id(_) | Token::Number(_))) {
            Some(small) => Err(Diagnostic::syntax(self.last, FLAGS).suggest(small)),
            None => Ok(()),
        }
    }

    /// At a word that is none of a traversal, after some that are.
    pub(super) fn no_flag(&self, before: Flags, in_parens: bool) -> Box<Diagnostic> {
        let word = self.word();
        let known = Flag::ALL.map(|(_, word)| word);
        if let Some(small) = in_small_letters(word) {
            self.expected(FLAGS).suggest(small)
        } else if let Some(nearest) = spelling::nearest(word, &known) {
            self.expected(FLAGS).suggest(nearest)
        } else if !in_parens && before.words().next().is_none() && matches!(self.token, Token::Id(_)) {
            // `Ship | Station`
            Diagnostic::syntax(self.last, "`||` between alternatives").suggest("||")
        } else {
            self.expected(FLAGS)
        }
    }

    /// After the `(` of a pair: whether it is `(!DockedTo, Earth)`.
    pub(super) fn check_negation_inside(&mut self, open: Span) -> Lexed<()> {
        let not = self.span;
        if !self.is(Sign::Not) {
            return Ok(());
        }
        let fault = self.expected("a relation: `!` stands before the parentheses");
        while !matches!(self.advance()?, Token::Sign(Sign::ParenClose) | Token::End) {}
        let pair = &self.text[not.range().end..self.last.range().end];
        if !pair.ends_with(')') || !pair.contains(',') {
            return Err(fault);
        }
        let fault = Diagnostic::syntax(open.to(self.last), "`!` before the parentheses");
        Err(fault.suggest(format!("!({}", pair.trim_start())))
    }

    /// After `(Equips` or `(Ship`: whether it is `(Equips[Head], $item)` or `(Ship || Station)`.
    pub(super) fn check_inside_pair(&mut self, open: Span, first: &Arg) -> Lexed<()> {
        if self.is(Sign::BracketOpen) {
            return Err(self.key_in_pair(open, first)?);
        }
        if !self.is(Sign::Or) {
            return Ok(());
        }
        let fault = self.expected("`,` and a target");
        let mut depth = 1;
        while depth > 0 {
            match self.advance()? {
                Token::Sign(Sign::ParenOpen) => depth += 1,
                Token::Sign(Sign::ParenClose) => depth -= 1,
                Token::End => return Err(fault),
                _ => {}
            }
        }
        let alternatives = &self.text[open.range().end..self.last.range().start];
        let fault = Diagnostic::syntax(open.to(self.last), "braces around alternatives");
        Err(fault.suggest(format!("{{{alternatives}}}")))
    }

    /// After `(Equips`, at the `[` of `(Equips[Head], $item)`.
    fn key_in_pair(&mut self, open: Span, relation: &Arg) -> Lexed<Box<Diagnostic>> {
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
