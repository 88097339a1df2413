//! How earlier versions of Flecs spelled things.

use super::{
    ast::{Flag, Flags, Id, IdKind, Span, THIS},
    error::Diagnostic,
    lex::{Lexed, Sign, Token},
    parse::{Parser, parse},
};
use alloc::{
    borrow::ToOwned,
    boxed::Box,
    format,
    string::{String, ToString},
    vec::Vec,
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

/// A `Bob` in `Bob:Tag`, as what stands in the parentheses of `Tag(..)` now.
fn source(word: &str) -> String {
    match &*word.to_ascii_lowercase() {
        "parent" => "up",
        "cascade" => "cascade",
        "self" | "owned" | THIS => "self",
        "super" | "superset" | "shared" => "up IsA",
        "any" => "self|up IsA",
        _ => word,
    }
    .to_owned()
}

/// Whether a name is one that the variable for the matched entity had.
pub(super) fn is_this(word: &str) -> bool {
    word.eq_ignore_ascii_case(THIS)
}

/// A name in the place of an entity, of which a variable is meant.
pub(super) fn check_this(word: &str, span: Span) -> Lexed<()> {
    match is_this(word) {
        true => Err(Diagnostic::older(
            span,
            "the matched entity is a variable: an entity of this name needs a backslash",
            "$this",
        )),
        false => Ok(()),
    }
}

/// Variables that were capitalised.
pub(super) fn check_variable(id: &IdKind, span: Span) -> Lexed<()> {
    let (name, path) = match id {
        IdKind::Variable(name) => (name, None),
        IdKind::Lookup(name, path) => (name, Some(path.clone())),
        _ => return Ok(()),
    };
    if name == THIS || !is_this(name) {
        return Ok(());
    }
    let kind = match path {
        None => IdKind::Variable(THIS.into()),
        Some(path) => IdKind::Lookup(THIS.into(), path),
    };
    Err(Diagnostic::older(span, "this variable is written in small letters", Id { kind, span }.to_string()))
}

/// A traversal in an older spelling, as it is read: words with relations and depths in parentheses.
#[derive(Default)]
struct OlderTraversal {
    flags: Vec<&'static str>,
    relation: Option<String>,
    depth: Option<String>,
}

impl OlderTraversal {
    /// Adds a flag of now, maybe with a relation.
    fn add(&mut self, flag: &'static str) {
        let (flag, relation) = flag.split_once(' ').map_or((flag, None), |(flag, of)| (flag, Some(of)));
        self.add_flag(flag);
        if let Some(relation) = relation {
            self.relation.get_or_insert(relation.to_owned());
        }
    }

    fn add_flag(&mut self, flag: &'static str) {
        if !self.flags.contains(&flag) {
            self.flags.push(flag);
        }
    }

    /// `(relation, min, max)`, or only the last number.
    fn along(&mut self, relation: &str, numbers: &[u64]) {
        self.relation = Some(relation.to_owned());
        match *numbers {
            [max] => self.depth = Some(max.to_string()),
            // From the entity itself.
            [0, max] => {
                self.add_flag("self");
                self.depth = Some(max.to_string());
            }
            [min, max] => self.depth = Some(format!("{min}..{max}")),
            _ => {}
        }
    }

    /// The new spelling, behind flags that are spelled as now.
    fn spelling(mut self, before: Flags) -> String {
        let walks = |flag: &&str| ["up", "down", "cascade"].contains(flag);
        let has_walk = self.flags.iter().any(walks) || before.words().any(|flag| walks(&flag));
        if !has_walk && (before.has(Flag::Desc) || self.flags.contains(&"desc")) {
            self.flags.insert(0, "cascade");
        } else if !has_walk && (before.has(Flag::All) || self.flags.contains(&"all")) {
            self.flags.insert(0, "up");
        } else if !has_walk {
            (self.relation, self.depth) = (None, None);
        }
        let parts = [Some(self.flags.join("|")), self.relation, self.depth];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

/// Whether a name, alone, is read as something else in some place, now or formerly.
pub(super) fn is_reserved(name: &str) -> bool {
    Flag::of_word(name).is_some()
        || flag(name).is_some()
        || is_this(name)
        || ["and", "or", "not"].iter().any(|operator| operator.eq_ignore_ascii_case(name))
}

impl<'a> Parser<'a> {
    /// The token after the next one as it is written.
    fn word_ahead(&self) -> Lexed<&'a str> {
        let (_, span) = self.lexer.clone().token()?;
        Ok(&self.text[span.range()])
    }

    /// At `super`, `parent(R)`, `up(R, 3)` and the like, after flags that are spelled as now.
    pub(super) fn older_traversal(&mut self, before: Flags, in_parens: bool) -> Lexed<Box<Diagnostic>> {
        let start = self.span;
        let mut traversal = OlderTraversal::default();
        let known = self.older_flags(&mut traversal, in_parens)?;
        let (span, message) = (start.to(self.last), "this traversal has a new spelling");
        let spelling = traversal.spelling(before);
        let words: String = before.words().map(|word| format!("{word}|")).collect();
        let reads = known && parse(&format!("T({words}{spelling})")).is_ok();
        Ok(if reads {
            Diagnostic::older(span, message, spelling)
        } else {
            Diagnostic::unspelled(span, message)
        })
    }

    /// Reads an older traversal to its end. False if it has an unknown flag.
    fn older_flags(&mut self, traversal: &mut OlderTraversal, in_parens: bool) -> Lexed<bool> {
        loop {
            let word = self.word();
            let Some(known) = Flag::of_word(word).map(Flag::word).or_else(|| flag(word)) else {
                return Ok(false);
            };
            self.advance()?;
            traversal.add(known);
            if in_parens && self.take(Sign::ParenOpen)? && !self.older_args(traversal)? {
                return Ok(false);
            }
            if !self.take(Sign::Pipe)? {
                return Ok(true);
            }
        }
    }

    /// After `super(`: a relation, and maybe depths. False if there is something else.
    fn older_args(&mut self, traversal: &mut OlderTraversal) -> Lexed<bool> {
        let relation = self.word();
        if !matches!(self.token, Token::Id(IdKind::Path(_) | IdKind::Bits(_))) {
            return Ok(false);
        }
        self.advance()?;
        let mut numbers = Vec::new();
        while self.take(Sign::Comma)? {
            let Token::Number(number) = self.token else { return Ok(false) };
            numbers.push(number);
            self.advance()?;
        }
        traversal.along(relation, &numbers);
        Ok(numbers.len() < 3 && self.take(Sign::ParenClose)?)
    }

    /// At a `[`: whether a traversal of older spelling is in it.
    pub(super) fn starts_set(&self) -> Lexed<bool> {
        let word = self.word_ahead()?;
        Ok(Flag::of_word(word).is_some() || flag(word).is_some())
    }

    /// After `Bob`, at the `[` of `Bob[super(R)]`.
    pub(super) fn older_set(&mut self, id: &Id) -> Lexed<Box<Diagnostic>> {
        self.advance()?;
        let mut traversal = OlderTraversal::default();
        let known = self.older_flags(&mut traversal, true)? && self.take(Sign::BracketClose)?;
        let written = &self.text[id.span.range()];
        let element = if is_this(written) { "$this" } else { written };
        let spelling = format!("{element}|{}", traversal.spelling(Flags::default()));
        let (span, message) = (id.span.to(self.last), "this traversal has a new spelling");
        let reads = known && parse(&format!("T({spelling})")).is_ok();
        Ok(if reads {
            Diagnostic::older(span, message, spelling)
        } else {
            Diagnostic::unspelled(span, message)
        })
    }

    /// After `Bob`, at the `:` of `Bob:Tag`.
    pub(super) fn older_source(&mut self, of: &Id) -> Lexed<Box<Diagnostic>> {
        self.advance()?;
        let message = "the source stands in parentheses";
        if !matches!(self.token, Token::Id(_)) {
            return Ok(Diagnostic::unspelled(of.span.to(self.last), message));
        }
        let spelling = format!("{}({})", self.word(), source(&self.text[of.span.range()]));
        let span = of.span.to(self.span);
        let reads = parse(&spelling).is_ok();
        Ok(if reads {
            Diagnostic::older(span, message, spelling)
        } else {
            Diagnostic::unspelled(span, message)
        })
    }
}
