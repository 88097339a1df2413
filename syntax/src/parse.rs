//! From text to [`Ast`]. Here short forms are written out, and older spellings recognised.

use super::{
    ast::{
        Access, Arg, Ast, Clause, Comparand, Comparison, Depth, Element, Flag, Flags, Has, Id, IdKind,
        Operator, Scope, Span, Term, Test, Traversal,
    },
    check,
    error::{Diagnostic, ExprError},
    legacy,
    lex::{Lexed, Lexer, Sign, Token},
    mistakes,
    print::Place,
};
use alloc::{
    boxed::Box,
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};
use core::mem;

/// Bytes of a text.
const MAX_BYTES: usize = 64 * 1024;

/// Terms, with those that short forms stand for.
pub(super) const MAX_TERMS: usize = 512;

/// Scopes around a term. Each is a recursion.
pub(super) const MAX_SCOPES: usize = 32;

pub(super) const EMPTY_SCOPE: &str = "a term: a scope is not empty";
pub(super) const LEFT_SIDE: &str =
    "the left side of a comparison is a variable or a field, such as `$x` or `Health.hp`";
pub(super) const FIRST_DEPTH: &str = "depths count from 1, that of the target itself";
pub(super) const EMPTY_RANGE: &str = "the range ends before it starts";

pub use super::keyed::parse_key;

/// Reads an expression and checks what can be checked without a world.
///
/// # Errors
/// If the text does not follow the grammar, says what cannot hold in any world, or is too long.
pub fn parse(text: &str) -> Result<Ast, ExprError> {
    all_of(text, |parser| {
        let ast = Ast { clauses: parser.clauses(&Token::End, "`,`, `||` or the end")? };
        check::check(&ast)?;
        Ok(ast)
    })
}

/// Writes an expression down that was put together by hand, sets the places of its parts in the text, and checks what
/// [`parse`] checks.
///
/// # Errors
/// If [`parse`] would not read the text.
pub fn place(ast: &mut Ast) -> Result<String, ExprError> {
    let mut text = String::new();
    ast.place(&mut text);
    let within_limits = if text.len() > MAX_BYTES {
        Err(too_long())
    } else {
        let mut terms = 0;
        check::check_built(&ast.clauses, 0, &mut terms).and_then(|()| check::check(ast))
    };
    match within_limits {
        Ok(()) => Ok(text),
        Err(fault) => Err(fault.in_text(&text)),
    }
}

fn too_long() -> Box<Diagnostic> {
    Diagnostic::limit(Span::NOWHERE, format!("an expression has at most {MAX_BYTES} bytes"))
}

pub(super) fn too_many_terms(span: Span) -> Box<Diagnostic> {
    Diagnostic::limit(span, format!("an expression has at most {MAX_TERMS} terms"))
}

pub(super) fn too_deep(span: Span) -> Box<Diagnostic> {
    Diagnostic::limit(span, format!("scopes stand in each other at most {MAX_SCOPES} deep"))
}

/// Reads a single argument.
///
/// # Errors
/// If the text is anything else.
pub fn parse_arg(text: &str) -> Result<Arg, ExprError> {
    all_of(text, Parser::arg)
}

pub(super) fn all_of<'a, T>(
    text: &'a str,
    read: impl FnOnce(&mut Parser<'a>) -> Lexed<T>,
) -> Result<T, ExprError> {
    let all = || {
        if text.len() > MAX_BYTES {
            return Err(too_long());
        }
        let mut parser = Parser {
            text,
            lexer: Lexer::new(text),
            token: Token::End,
            span: Span::NOWHERE,
            last: Span::NOWHERE,
            terms: 0,
            scopes: 0,
        };
        parser.advance()?;
        let result = read(&mut parser)?;
        if parser.token == Token::End { Ok(result) } else { Err(parser.expected("the end")) }
    };
    all().map_err(|fault| fault.in_text(text))
}

#[derive(Clone)]
pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) lexer: Lexer<'a>,
    /// The next one.
    pub(super) token: Token,
    pub(super) span: Span,
    /// Where the token before it stood.
    pub(super) last: Span,
    terms: usize,
    scopes: usize,
}

/// What an element stands for.
enum Group {
    One(Element),
    AnyOf(Vec<Term>),
    AllOf(Vec<Term>),
}

/// What stands in the parentheses of a term.
struct Args {
    source: Option<Arg>,
    targets: Vec<Arg>,
    /// The targets are alternatives; otherwise they form a chain.
    any_of: bool,
}

impl<'a> Parser<'a> {
    pub(super) fn advance(&mut self) -> Lexed<Token> {
        let (token, span) = self.lexer.token()?;
        self.last = mem::replace(&mut self.span, span);
        if token == Token::End {
            let end = self.last.range().end;
            self.span = Span::new(end..end);
        }
        Ok(mem::replace(&mut self.token, token))
    }

    pub(super) fn is(&self, sign: Sign) -> bool {
        self.token == Token::Sign(sign)
    }

    pub(super) fn take(&mut self, sign: Sign) -> Lexed<bool> {
        let there = self.is(sign);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    pub(super) fn expect(&mut self, sign: Sign, expected: &'static str) -> Lexed<()> {
        if self.take(sign)? { Ok(()) } else { Err(self.expected(expected)) }
    }

    /// That something else than the next token must come.
    pub(super) fn expected(&self, expected: &'static str) -> Box<Diagnostic> {
        Diagnostic::syntax(self.span, expected)
    }

    /// The next token as it is written.
    pub(super) fn word(&self) -> &'a str {
        &self.text[self.span.range()]
    }

    /// The token after the next one.
    fn ahead(&self) -> Lexed<Token> {
        Ok(self.lexer.clone().token()?.0)
    }

    fn clauses(&mut self, closer: &Token, expected: &'static str) -> Lexed<Vec<Clause>> {
        let mut clauses = Vec::new();
        while self.token != *closer {
            self.clause(&mut clauses)?;
            if !self.take(Sign::Comma)? && self.token != *closer {
                return Err(self.not_after_term(expected));
            }
        }
        Ok(clauses)
    }

    /// What stands between two commas: one clause, or several if it is a chain of arguments.
    pub(super) fn clause(&mut self, clauses: &mut Vec<Clause>) -> Lexed<()> {
        let mut branches = Vec::new();
        loop {
            let start = self.span;
            match self.element()? {
                Group::One(element) => branches.push(element),
                Group::AnyOf(terms) => branches.extend(terms.into_iter().map(Element::Term)),
                Group::AllOf(terms) if branches.is_empty() && !self.is(Sign::Or) => {
                    let alone = |term| Clause { branches: vec![Element::Term(term)] };
                    clauses.extend(terms.into_iter().map(alone));
                    return Ok(());
                }
                Group::AllOf(_) => {
                    let span = start.to(self.last);
                    let chain = &self.text[span.range()];
                    let message = "these arguments stand for several terms, but one stands beside `||`";
                    return Err(Diagnostic::rule(span, message).suggest(format!("{{{chain}}}")));
                }
            }
            if !self.take(Sign::Or)? {
                clauses.push(Clause { branches });
                return Ok(());
            }
        }
    }

    fn element(&mut self) -> Lexed<Group> {
        let start = self.span;
        let access = self.access()?;
        let operator_at = self.span;
        let operator = self.operator()?;
        self.check_literal_first()?;
        match &self.token {
            Token::Sign(Sign::BraceOpen) => match operator {
                _ if access.is_some() => Err(self.expected("a term: a scope has no data to access")),
                Operator::And | Operator::Not => self.scope(start, operator == Operator::Not),
                _ => Err(Diagnostic::syntax(operator_at.to(self.span), "a term, `{` or `!{`")),
            },
            Token::Sign(Sign::ParenOpen) => self.pair(start, access, operator),
            Token::Id(_) | Token::Number(_) | Token::Dollar => self.term(start, access, operator),
            _ => Err(self.expected("a term")),
        }
    }

    fn access(&mut self) -> Lexed<Option<Access>> {
        if !self.take(Sign::BracketOpen)? {
            return Ok(None);
        }
        let access = match self.word() {
            "in" => Access::In,
            "out" => Access::Out,
            "inout" => Access::InOut,
            "none" => Access::None,
            "filter" => return Err(Diagnostic::older(self.span, "this access has a new word", "none")),
            _ => return Err(self.expected("`in`, `out`, `inout` or `none`")),
        };
        self.advance()?;
        self.expect(Sign::BracketClose, "`]`")?;
        Ok(Some(access))
    }

    fn operator(&mut self) -> Lexed<Operator> {
        if self.take(Sign::Not)? {
            return Ok(Operator::Not);
        }
        if self.take(Sign::Question)? {
            return Ok(Operator::Optional);
        }
        let word = self.word();
        let operator = match word {
            "and" | "AND" => Operator::AndFrom,
            "or" | "OR" => Operator::OrFrom,
            "not" | "NOT" => Operator::NotFrom,
            _ => return Ok(Operator::And),
        };
        if self.ahead()? != Token::Sign(Sign::Pipe) {
            return Ok(Operator::And);
        }
        if word.starts_with(char::is_uppercase) {
            return Err(Diagnostic::older(
                self.span,
                "operators are written in small letters",
                word.to_lowercase(),
            ));
        }
        self.advance()?;
        self.advance()?;
        Ok(operator)
    }

    fn scope(&mut self, start: Span, negated: bool) -> Lexed<Group> {
        if self.scopes == MAX_SCOPES {
            return Err(too_deep(self.span));
        }
        self.advance()?;
        if self.is(Sign::BraceClose) {
            return Err(self.expected(EMPTY_SCOPE));
        }
        self.scopes += 1;
        let clauses = self.clauses(&Token::Sign(Sign::BraceClose), "`,`, `||` or `}`")?;
        self.scopes -= 1;
        self.advance()?;
        Ok(Group::One(Element::Scope(Scope { negated, clauses, span: start.to(self.last) })))
    }

    /// `(R, T)`
    fn pair(&mut self, start: Span, access: Option<Access>, operator: Operator) -> Lexed<Group> {
        let open = self.span;
        self.advance()?;
        self.check_negation_inside(open)?;
        let first = self.arg()?;
        self.check_inside_pair(open, &first)?;
        self.expect_after_name(Sign::Comma, "`,` and a target")?;
        let source = Some(Arg::this(first.id.span));
        let args = self.targets(source)?;
        self.expand(start, access, operator, first, args)
    }

    /// A term that starts with its component or relation, or a comparison.
    fn term(&mut self, start: Span, access: Option<Access>, operator: Operator) -> Lexed<Group> {
        let id = self.id()?;
        if let Token::Sign(Sign::Equal | Sign::NotEqual | Sign::Matches) = self.token
            && !self.starts_value_test(&id)
        {
            if operator == Operator::Not && access.is_none() {
                return Err(self.negated_comparison(start, id)?);
            }
            if access.is_some() || operator != Operator::And {
                return Err(Diagnostic::rule(
                    start.to(id.span),
                    "only a variable stands left of a comparison",
                ));
            }
            return self.comparison(start, id);
        }
        if self.is(Sign::Colon) {
            return Err(self.older_source(&id)?);
        }
        if self.is(Sign::BracketOpen) && self.starts_set()? {
            return Err(self.older_set(&id)?);
        }
        if self.is(Sign::BracketOpen) {
            return self.keyed(start, access, operator, id).map(Group::One);
        }
        let mut first = Arg::new(id);
        if self.take(Sign::Pipe)? {
            first.traversal = Some(self.traversal(false)?);
        }
        let parens = self.span;
        let args = if self.take(Sign::ParenOpen)? {
            let args = self.args(&first)?;
            let only = args.source.as_ref().filter(|_| args.targets.is_empty());
            self.check_behind_args(&first, parens.to(self.last), only)?;
            args
        } else {
            Args { source: Some(Arg::this(first.id.span)), targets: Vec::new(), any_of: false }
        };
        self.expand(start, access, operator, first, args)
    }

    /// `!$x == A`, which has its negation elsewhere.
    fn negated_comparison(&mut self, start: Span, left: Id) -> Lexed<Box<Diagnostic>> {
        let from = left.span;
        let Group::One(Element::Term(Term { test: Test::Compare(mut comparison), .. })) =
            self.comparison(from, left)?
        else {
            unreachable!("a comparison is one");
        };
        comparison.negated = !comparison.negated;
        let fault = Diagnostic::rule(start.to(self.last), "a comparison has no `!` before it");
        Ok(fault.suggest(comparison.to_string()))
    }

    fn comparison(&mut self, start: Span, left: Id) -> Lexed<Group> {
        if !matches!(left.kind, IdKind::Variable(_) | IdKind::Lookup(..)) {
            let fault = Diagnostic::rule(left.span, LEFT_SIDE);
            let is_this = legacy::is_this(&self.text[left.span.range()]);
            return Err(if is_this { fault.suggest("$this") } else { fault });
        }
        let comparator = self.advance()?;
        let span = self.span;
        let mut negated = comparator == Token::Sign(Sign::NotEqual);
        let matches = comparator == Token::Sign(Sign::Matches);
        let right = match &mut self.token {
            Token::Text(text) if matches => {
                negated = text.starts_with('!');
                Comparand::NamePart(text.split_off(usize::from(negated)))
            }
            _ if matches => {
                return Err(Diagnostic::rule(span, "`~=` compares with a string: part of a name"));
            }
            Token::Text(text) => Comparand::Path(mem::take(text)),
            _ => {
                legacy::check_this(self.word(), span)?;
                Comparand::Id(self.id()?)
            }
        };
        if !matches!(right, Comparand::Id(_)) {
            self.advance()?;
        }
        let test = Test::Compare(Comparison { left, negated, right, span });
        let term = Term { operator: Operator::And, test, span: start.to(self.last) };
        self.count(1)?;
        Ok(Group::One(Element::Term(term)))
    }

    /// After `R(`.
    fn args(&mut self, first: &Arg) -> Lexed<Args> {
        if self.take(Sign::ParenClose)? {
            return Ok(Args { source: None, targets: Vec::new(), any_of: false });
        }
        let source = Some(self.source(first)?);
        if self.take(Sign::ParenClose)? {
            return Ok(Args { source, targets: Vec::new(), any_of: false });
        }
        self.check_capital_flag()?;
        self.expect_after_name(Sign::Comma, "`,` or `)`")?;
        self.targets(source)
    }

    fn targets(&mut self, source: Option<Arg>) -> Lexed<Args> {
        let mut args = Args { source, targets: vec![self.target()?], any_of: self.is(Sign::Or) };
        let (separator, mut expected) = match args.any_of {
            true => (Sign::Or, "`||` or `)`"),
            false => (Sign::Comma, "`,`, `||` or `)`"),
        };
        while !self.take(Sign::ParenClose)? {
            self.expect_after_name(separator, expected)?;
            args.targets.push(self.target()?);
            if !args.any_of {
                expected = "`,` or `)`";
            }
        }
        Ok(args)
    }

    /// Writes a short form out: `R(a, b, c)` is `R(a, b), R(b, c)`, `R(a, b || c)` is `R(a, b) || R(a, c)`.
    fn expand(
        &mut self,
        start: Span,
        access: Option<Access>,
        operator: Operator,
        first: Arg,
        args: Args,
    ) -> Lexed<Group> {
        let value = self.value_test(&first.id)?;
        let span = start.to(self.last);
        self.count(args.targets.len().max(1))?;
        let Args { mut source, mut targets, any_of } = args;
        let term = |source, target| {
            let test = Test::Has(Has { access, first: first.clone(), source, target, value: value.clone() });
            Term { operator, test, span }
        };
        if targets.len() < 2 {
            return Ok(Group::One(Element::Term(term(source, targets.pop()))));
        }
        if any_of {
            return Ok(Group::AnyOf(
                targets.into_iter().map(|target| term(source.clone(), Some(target))).collect(),
            ));
        }
        let link = |target: Arg| term(source.replace(target.clone()), Some(target));
        Ok(Group::AllOf(targets.into_iter().map(link).collect()))
    }

    pub(super) fn count(&mut self, terms: usize) -> Lexed<()> {
        self.terms += terms;
        if self.terms > MAX_TERMS {
            return Err(too_many_terms(self.last));
        }
        Ok(())
    }

    /// The first argument, which may also be `$`, or only a traversal.
    fn source(&mut self, first: &Arg) -> Lexed<Arg> {
        let span = self.span;
        if self.token == Token::Dollar && matches!(first.id.kind, IdKind::Path(_)) {
            self.advance()?;
            return self.maybe_traversed(Id { kind: first.id.kind.clone(), span });
        }
        if self.is(Sign::Dot) {
            return Err(Diagnostic::older(span, "this variable has a name", "$this"));
        }
        if Flag::of_word(self.word()).is_some() || legacy::flag(self.word()).is_some() {
            let traversal = Some(self.traversal(true)?);
            return Ok(Arg { traversal, ..Arg::this(span) });
        }
        self.entity()
    }

    pub(super) fn target(&mut self) -> Lexed<Arg> {
        let word = self.word();
        if Flag::of_word(word).is_some() {
            let expected = "a target: an entity of this name needs a backslash";
            return Err(Diagnostic::syntax(self.span, expected).suggest(format!("\\{word}")));
        }
        self.entity()
    }

    /// An argument in the place of an entity.
    fn entity(&mut self) -> Lexed<Arg> {
        let (word, span) = (self.word(), self.span);
        if !(self.ahead()? == Token::Sign(Sign::BracketOpen)) {
            legacy::check_this(word, span)?;
        }
        self.arg()
    }

    fn arg(&mut self) -> Lexed<Arg> {
        let id = self.id()?;
        self.maybe_traversed(id)
    }

    fn maybe_traversed(&mut self, id: Id) -> Lexed<Arg> {
        if self.is(Sign::BracketOpen) && self.starts_set()? {
            return Err(self.older_set(&id)?);
        }
        let traversal = if self.take(Sign::Pipe)? { Some(self.traversal(true)?) } else { None };
        Ok(Arg { id, traversal })
    }

    pub(super) fn id(&mut self) -> Lexed<Id> {
        let span = self.span;
        match &self.token {
            Token::Id(kind) => legacy::check_variable(kind, span)?,
            Token::Dollar => return Err(self.expected("a variable name after `$`")),
            Token::Text(name) => return Err(mistakes::quoted_name(span, name)),
            Token::Number(number) => {
                let message = "the bits of an entity have a `#` before them";
                return Err(Diagnostic::older(span, message, format!("#{number}")));
            }
            _ => return Err(self.expected("a name, a variable, `*`, `_` or `#bits`")),
        }
        match self.advance()? {
            Token::Id(kind) => Ok(Id { kind, span }),
            _ => unreachable!("the token was an id"),
        }
    }

    /// `in_parens`, a flag cannot have arguments; outside, they are those of the term.
    fn traversal(&mut self, in_parens: bool) -> Lexed<Box<Traversal>> {
        let start = self.span;
        let mut flags = Flags::default();
        loop {
            let word = self.word();
            let Some(flag) = Flag::of_word(word) else {
                return Err(match legacy::flag(word) {
                    Some(_) => self.older_traversal(flags, in_parens)?,
                    None => self.no_flag(flags, in_parens),
                });
            };
            if in_parens && self.ahead()? == Token::Sign(Sign::ParenOpen) {
                return Err(self.older_traversal(flags, in_parens)?);
            }
            if flags.has(flag) {
                return Err(self.expected("each word once"));
            }
            flags.insert(flag);
            self.advance()?;
            if !self.take(Sign::Pipe)? {
                break;
            }
        }
        let relation = match self.token {
            Token::Id(IdKind::Path(_) | IdKind::Bits(_)) => Some(self.id()?),
            Token::Id(_) => return Err(self.expected("the name of a relation")),
            Token::Number(depth) => {
                let expected = "a relation before the depth";
                return Err(Diagnostic::syntax(self.span, expected).suggest(format!("ChildOf {depth}")));
            }
            _ => None,
        };
        let depth = if relation.is_some() { self.depth()? } else { Depth::EVERY };
        Ok(Box::new(Traversal { flags, relation, depth, span: start.to(self.last) }))
    }

    fn depth(&mut self) -> Lexed<Depth> {
        let start = self.span;
        let first = self.depth_number()?;
        if !self.take(Sign::Dots)? {
            return Ok(Depth { max: first, ..Depth::EVERY });
        }
        let max = self.depth_number()?;
        match (first, max) {
            (None, None) => Err(self.expected("a depth beside `..`")),
            (Some(min), Some(max)) if min > max => Err(Diagnostic::rule(start.to(self.last), EMPTY_RANGE)),
            _ => Ok(Depth { min: first.unwrap_or(1), max }),
        }
    }

    fn depth_number(&mut self) -> Lexed<Option<u32>> {
        let Token::Number(number) = self.token else { return Ok(None) };
        match u32::try_from(number) {
            Ok(0) => Err(Diagnostic::rule(self.span, FIRST_DEPTH)),
            Ok(depth) => self.advance().map(|_| Some(depth)),
            Err(_) => Err(Diagnostic::limit(self.span, "a depth has at most 32 bits")),
        }
    }
}
