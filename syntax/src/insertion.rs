//! What an entity is to get, in the words of a query: `Fighter, (DockedTo, Earth), Health(20)`.
//!
//! ```text
//! insertion = [ new { "," new } [","] ]
//! new       = part | "(" part "," part ")" | id "(" "$this" ["," target] ")" | id "[" key "]" "(" ["$this" ","] target ")"
//! part      = (path | type | #bits) [ tuple | struct ]             target = path | type | #bits | $this
//! tuple     = "(" value {"," value} [","] ")"                      the first value of a part is no name: that is a source
//! struct    = "{" [ field ":" value {"," field ":" value} [","] ] "}"        field = name | N
//! value     = number | string | "true" | "false" | path | #bits | tuple | struct
//! ```

use super::{
    ast::{
        Arg, Clause, Element, Flag, Has, Id, IdKind, Key, Keyed, Literal, Operator, Span, Term, Test,
        Traversal,
    },
    error::{Diagnostic, ExprError, ExprErrorKind},
    lex::{Lexed, Lexer, Sign, Token},
    parse::{MAX_SCOPES, Parser, all_of},
};
use alloc::{
    boxed::Box,
    string::{String, ToString},
    vec::Vec,
};

/// What an entity is to get.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewTerm {
    /// A component, tag or pair.
    pub kind: NewTermKind,
    /// With its parentheses.
    pub span: Span,
}

/// What a [`NewTerm`] is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NewTermKind {
    /// A component or tag.
    Id(NewPart),
    /// A pair.
    Pair {
        /// With the value of the pair, if that is written here.
        relation: NewPart,
        /// With the value of the pair, if that is written here.
        target: NewPart,
        /// What is written in brackets behind the relation.
        key: Option<Key>,
    },
}

/// An element, and the value that is written behind it. As a target it may be `$this`, otherwise it is a path, a type,
/// or bits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewPart {
    /// What names it.
    pub id: Id,
    /// In parentheses or braces.
    pub value: Option<NewValue>,
}

/// A value that is written down.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewValue {
    /// What it is.
    pub kind: NewValueKind,
    /// Where.
    pub span: Span,
}

/// What a [`NewValue`] is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NewValueKind {
    /// `20`, `"Sir"`, `true`
    Literal(Literal),
    /// A path or bits: an entity, or the variant of an enum.
    Id(Id),
    /// `(1, 2)`
    Tuple(Vec<NewValue>),
    /// `{ x: 1, y: 2 }`
    Struct(Vec<NewField>),
}

/// `x: 1`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewField {
    /// Its name, or its number.
    pub name: String,
    /// Of the name.
    pub span: Span,
    /// What stands behind the colon.
    pub value: NewValue,
}

/// Reads the terms to insert on an entity. A term of the query language that cannot be inserted is no mistake in the text: in
/// its place is the reason.
///
/// ```
/// # use bevy_relations_syntax::insertion::parse_insertion;
/// let terms = parse_insertion("Health(20), !Fighter")?;
/// assert!(terms[0].is_ok() && terms[1].is_err());
/// # Ok::<(), bevy_relations_syntax::error::ExprError>(())
/// ```
///
/// # Errors
/// If the text does not follow the grammar, of an insertion or of a query, or is too long.
pub fn parse_insertion(text: &str) -> Result<Vec<Result<NewTerm, Box<Diagnostic>>>, ExprError> {
    all_of(text, |parser| {
        let mut terms = Vec::new();
        while parser.token != Token::End {
            terms.push(parser.insertion()?);
            parser.take(Sign::Comma)?;
        }
        Ok(terms)
    })
}

const SEPARATOR: &str = "`,` or the end";

impl Parser<'_> {
    /// A term to insert, or why a term of a query cannot be inserted. The comma or the end comes next.
    fn insertion(&mut self) -> Lexed<Result<NewTerm, Box<Diagnostic>>> {
        let start = self.clone();
        let fault = match self.new_term() {
            Ok(term) if self.ends_term() => {
                self.count(1)?;
                return Ok(Ok(term));
            }
            Ok(_) => self.expected(SEPARATOR),
            Err(fault) => fault,
        };
        let mut query = start;
        let mut clauses = Vec::new();
        let other = match query.clause(&mut clauses) {
            Ok(()) if query.ends_term() => {
                *self = query;
                return Ok(Err(refusal(&clauses).unwrap_or(fault)));
            }
            Ok(()) => query.expected(SEPARATOR),
            Err(other) => other,
        };
        // The reading that gets further is the one that is meant. Numbers stand in queries only where they are spelled wrongly.
        let is_as_far = other.start() == fault.start() && other.kind() == ExprErrorKind::Syntax;
        Err(if other.start() > fault.start() || is_as_far { other } else { fault })
    }

    fn ends_term(&self) -> bool {
        self.is(Sign::Comma) || self.token == Token::End
    }

    fn new_term(&mut self) -> Lexed<NewTerm> {
        let start = self.span;
        let kind = if self.take(Sign::ParenOpen)? {
            let relation = self.new_part(false)?;
            self.expect(Sign::Comma, "`,` and a target")?;
            let target = self.new_part(true)?;
            self.expect(Sign::ParenClose, "`)`")?;
            NewTermKind::Pair { relation, target, key: None }
        } else {
            let id = self.new_id(false)?;
            if self.is(Sign::BracketOpen) {
                self.new_keyed(id)?
            } else if self.is(Sign::ParenOpen) && !self.starts_values()? {
                self.advance()?;
                self.this_source(id)?
            } else {
                NewTermKind::Id(NewPart { id, value: self.new_value()? })
            }
        };
        Ok(NewTerm { kind, span: start.to(self.last) })
    }

    /// `$this)` or `$this, target)`, behind `id(`.
    fn this_source(&mut self, id: Id) -> Lexed<NewTermKind> {
        if !matches!(&self.token, Token::Id(kind) if kind.is_this()) {
            return Err(self.expected("a value, or `$this`"));
        }
        self.advance()?;
        if self.take(Sign::ParenClose)? {
            return Ok(NewTermKind::Id(NewPart { id, value: None }));
        }
        self.expect(Sign::Comma, "`,` or `)`")?;
        let target = NewPart { id: self.new_id(true)?, value: None };
        self.expect(Sign::ParenClose, "`)`")?;
        Ok(NewTermKind::Pair { relation: NewPart { id, value: None }, target, key: None })
    }

    /// `[key](target)` or `[key]($this, target)`, behind the relation.
    fn new_keyed(&mut self, relation: Id) -> Lexed<NewTermKind> {
        self.advance()?;
        let key = Some(self.key()?);
        self.expect(Sign::BracketClose, "`]`")?;
        self.expect(Sign::ParenOpen, "`(` and a target: a key is that of a pair")?;
        let mut target = self.new_id(true)?;
        if target.kind.is_this() && self.take(Sign::Comma)? {
            target = self.new_id(true)?;
        }
        self.expect(Sign::ParenClose, "`)`: a key belongs to one pair")?;
        let [relation, target] = [relation, target].map(|id| NewPart { id, value: None });
        Ok(NewTermKind::Pair { relation, target, key })
    }

    fn new_part(&mut self, is_target: bool) -> Lexed<NewPart> {
        Ok(NewPart { id: self.new_id(is_target)?, value: self.new_value()? })
    }

    fn new_id(&mut self, is_target: bool) -> Lexed<Id> {
        if is_target && Flag::of_word(self.word()).is_some() {
            return Err(self.expected("a target: an entity of this name needs a backslash"));
        }
        let id = self.id()?;
        match id.kind {
            IdKind::Path(_) | IdKind::Bits(_) => Ok(id),
            IdKind::Variable(_) if is_target && id.kind.is_this() => Ok(id),
            _ => Err(Diagnostic::syntax(id.span, "a name or `#bits`")),
        }
    }

    /// Whether what is in the parentheses that come next starts with what can only be a value.
    fn starts_values(&self) -> Lexed<bool> {
        let mut ahead = self.lexer.clone();
        ahead.skip_blanks()?;
        Ok(match ahead.peek() {
            Some('"' | '-' | '(' | '{') => true,
            Some(c) if c.is_ascii_digit() => true,
            _ => matches!(ahead.word(), "true" | "false"),
        })
    }

    /// The value behind an element, if there is one.
    fn new_value(&mut self) -> Lexed<Option<NewValue>> {
        let open = self.span;
        // Numbers are written in more ways here than elsewhere, so that the tokens behind this one are read anew.
        let value = match self.token {
            Token::Sign(Sign::ParenOpen) => tuple(&mut self.lexer, open, 0)?,
            Token::Sign(Sign::BraceOpen) => structure(&mut self.lexer, open, 0)?,
            _ => return Ok(None),
        };
        self.span = value.span;
        self.advance()?;
        Ok(Some(value))
    }
}

/// Reads on behind the `(` of a tuple.
fn tuple(lexer: &mut Lexer<'_>, open: Span, depth: usize) -> Lexed<NewValue> {
    let mut values = Vec::new();
    loop {
        if let Some(end) = closed(lexer, Sign::ParenClose).filter(|_| !values.is_empty()) {
            return Ok(NewValue { kind: NewValueKind::Tuple(values), span: open.to(end) });
        }
        values.push(value(lexer, depth)?);
        if let Some(end) = separated(lexer, Sign::ParenClose, "`,` or `)`")? {
            return Ok(NewValue { kind: NewValueKind::Tuple(values), span: open.to(end) });
        }
    }
}

/// Reads on behind the `{` of fields.
fn structure(lexer: &mut Lexer<'_>, open: Span, depth: usize) -> Lexed<NewValue> {
    let mut fields: Vec<NewField> = Vec::new();
    loop {
        if let Some(end) = closed(lexer, Sign::BraceClose) {
            return Ok(NewValue { kind: NewValueKind::Struct(fields), span: open.to(end) });
        }
        let (token, span) = lexer.token()?;
        let name = match token {
            Token::Id(IdKind::Path(mut path)) if path.0.len() == 1 => path.0.remove(0),
            Token::Number(number) => number.to_string(),
            _ => return Err(Diagnostic::syntax(span, "the name of a field")),
        };
        if fields.iter().any(|field| field.name == name) {
            return Err(Diagnostic::rule(span, "the field has a value already"));
        }
        lexer.skip_blanks()?;
        let equals = lexer.equals_sign();
        match lexer.token() {
            Ok((Token::Sign(Sign::Colon), _)) => {}
            other => {
                let expected = "`:` and the value of the field";
                return Err(match equals {
                    Some(span) => Diagnostic::syntax(span, expected).suggest(":"),
                    None => Diagnostic::syntax(other?.1, expected),
                });
            }
        }
        let value = value(lexer, depth)?;
        fields.push(NewField { name, span, value });
        if let Some(end) = separated(lexer, Sign::BraceClose, "`,` or `}`")? {
            return Ok(NewValue { kind: NewValueKind::Struct(fields), span: open.to(end) });
        }
    }
}

/// Takes the closing sign, if it comes next, and returns where it stood.
fn closed(lexer: &mut Lexer<'_>, closer: Sign) -> Option<Span> {
    let mut ahead = lexer.clone();
    match ahead.token() {
        Ok((Token::Sign(sign), span)) if sign == closer => {
            *lexer = ahead;
            Some(span)
        }
        _ => None,
    }
}

/// Takes the comma behind a value, or the closing sign, and returns where that stood.
fn separated(lexer: &mut Lexer<'_>, closer: Sign, expected: &str) -> Lexed<Option<Span>> {
    match lexer.token()? {
        (Token::Sign(Sign::Comma), _) => Ok(None),
        (Token::Sign(sign), span) if sign == closer => Ok(Some(span)),
        (_, span) => Err(Diagnostic::syntax(span, expected)),
    }
}

fn value(lexer: &mut Lexer<'_>, depth: usize) -> Lexed<NewValue> {
    lexer.skip_blanks()?;
    let is_literal = match lexer.peek() {
        Some('"' | '-') => true,
        Some(c) if c.is_ascii_digit() => true,
        _ => matches!(lexer.clone().word(), "true" | "false"),
    };
    if is_literal {
        let (literal, span) = lexer.literal()?;
        return Ok(NewValue { kind: NewValueKind::Literal(literal), span });
    }
    let (token, span) = lexer.token()?;
    match token {
        Token::Sign(Sign::ParenOpen | Sign::BraceOpen) if depth == MAX_SCOPES => {
            Err(Diagnostic::limit(span, "values stand too deep in each other"))
        }
        Token::Sign(Sign::ParenOpen) => tuple(lexer, span, depth + 1),
        Token::Sign(Sign::BraceOpen) => structure(lexer, span, depth + 1),
        Token::Id(kind @ (IdKind::Path(_) | IdKind::Bits(_))) => {
            Ok(NewValue { kind: NewValueKind::Id(Id { kind, span }), span })
        }
        _ => Err(Diagnostic::syntax(span, "a value: a number, a string, `true`, a name, `(` or `{`")),
    }
}

/// Why a term of a query cannot be inserted.
fn refusal(clauses: &[Clause]) -> Option<Box<Diagnostic>> {
    clauses.iter().find_map(|clause| match &clause.branches[..] {
        [Element::Term(term)] => refusal_of_term(term),
        [Element::Scope(scope)] => {
            Some(Diagnostic::rule(scope.span, "a scope is a condition: write terms without braces"))
        }
        [first, .., last] => {
            let span = first.span().to(last.span());
            Some(Diagnostic::rule(span, "`||` cannot be inserted: write one of the terms"))
        }
        [] => None,
    })
}

fn refusal_of_term(term: &Term) -> Option<Box<Diagnostic>> {
    let rule = |message| Some(Diagnostic::rule(term.span, message));
    match term.operator {
        Operator::And => {}
        Operator::Not => return rule("`!` cannot be inserted: leave the term out"),
        Operator::Optional => {
            return rule("`?` cannot be inserted: write the term without it, or leave the term out");
        }
        Operator::AndFrom | Operator::OrFrom | Operator::NotFrom => {
            return rule("the list of another entity cannot be inserted: write its components");
        }
    }
    match &term.test {
        Test::Compare(_) => rule("a comparison cannot be inserted"),
        Test::Keyed(keyed) => {
            let Keyed { access, relation, source, target, .. } = &**keyed;
            refusal_of_parts(term, access.is_some(), &[], relation, Some(&source.id), Some(&target.id))
        }
        Test::Has(Has { value: Some(_), .. }) => {
            rule("a comparison cannot be inserted: write the value behind the component, `Health { hp: 10 }`")
        }
        Test::Has(Has { access, first, source, target, .. }) => {
            let walks: Vec<&Traversal> = [Some(first), source.as_ref(), target.as_ref()]
                .into_iter()
                .flatten()
                .filter_map(walk)
                .collect();
            let [source, target] = [source, target].map(|arg| arg.as_ref().map(|arg| &arg.id));
            refusal_of_parts(term, access.is_some(), &walks, &first.id, source, target)
        }
    }
}

fn walk(arg: &Arg) -> Option<&Traversal> {
    arg.traversal.as_deref()
}

fn refusal_of_parts(
    term: &Term,
    has_access: bool,
    walks: &[&Traversal],
    first: &Id,
    source: Option<&Id>,
    target: Option<&Id>,
) -> Option<Box<Diagnostic>> {
    let rule = |span, message| Some(Diagnostic::rule(span, message));
    if has_access {
        return rule(term.span, "an access modifier such as `[in]` cannot be inserted: leave it out");
    }
    if let Some(walk) = walks.first() {
        return rule(walk.span, "a traversal such as `up` cannot be inserted: name the entity itself");
    }
    for (id, is_target) in core::iter::once((first, false)).chain(target.map(|id| (id, true))) {
        match &id.kind {
            IdKind::Wildcard | IdKind::Any => {
                return rule(id.span, "`*` and `_` cannot be inserted: name the entity");
            }
            IdKind::Variable(_) if is_target && id.kind.is_this() => {}
            IdKind::Variable(_) | IdKind::Lookup(..) => {
                return rule(id.span, "a variable cannot be inserted: name the entity");
            }
            IdKind::Path(_) | IdKind::Bits(_) | IdKind::Type(_) => {}
        }
    }
    match source {
        None => rule(term.span, "a term with `()` is about no entity: write it without parentheses"),
        Some(source) if !source.kind.is_this() => rule(
            source.span,
            "a name in parentheses is a source, and only `$this` is allowed here; write `,` between two terms, a value in \
                 braces, the variant of an enum in quotes",
        ),
        Some(_) => None,
    }
}
