//! Why an expression was not accepted, and where.

use super::{
    ast::Span,
    spelling::{SHOWN, is_invisible, shorten, visible},
};
use alloc::{borrow::Cow, boxed::Box, format, string::String};
use core::{fmt, ops::Range};

/// What kind of mistake an [`ExprError`] is about.
///
/// ```
/// # use bevy_relations_syntax::{error::ExprErrorKind, parse::parse};
/// assert_eq!(parse("Ship,, Fuel").unwrap_err().kind(), ExprErrorKind::Syntax);
/// assert_eq!(parse("Armor(up ChildOf 4..2)").unwrap_err().kind(), ExprErrorKind::Rule);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ExprErrorKind {
    /// The text does not follow the grammar.
    Syntax,
    /// The spelling of an earlier version of Flecs; [`ExprError::suggestion`] has the present one.
    OlderSpelling,
    /// The text follows the grammar, but says something that cannot be.
    Rule,
    /// No component, relation, entity, field or key has this name; [`ExprError::suggestion`] may have the one that is
    /// meant.
    UnknownName,
    /// Several things have this name.
    AmbiguousName,
    /// A traversal follows a relation that is not traversable.
    NotTraversable,
    /// The text is too long or nested too deeply.
    Limit,
}

/// What is wrong with an expression, and where.
///
/// Displayed, it shows the line with the place marked below:
///
/// ```
/// # use bevy_relations_syntax::parse::parse;
/// let error = parse("SpaceShip, (DockedTo, $)").unwrap_err();
/// assert_eq!((error.line(), error.column(), error.range()), (1, 23, 22..23));
/// assert_eq!((error.message(), error.found()), ("expected a variable name after `$`", "$"));
/// assert_eq!((error.suggestion(), error.help()), (None, None));
/// assert_eq!(
///     error.to_string(),
///     "1:23: expected a variable name after `$`, found `$`
///   |
/// 1 | SpaceShip, (DockedTo, $)
///   |                       ^"
/// );
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ExprError(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: ExprErrorKind,
    line: usize,
    column: usize,
    range: Range<usize>,
    found: String,
    message: Cow<'static, str>,
    suggestion: Option<String>,
    help: Option<&'static str>,
    excerpt: Excerpt,
}

/// Part of a line of the text, and which characters of it are meant.
#[derive(Clone, PartialEq, Eq)]
struct Excerpt {
    line: String,
    marked: Range<usize>,
}

impl ExprError {
    /// The kind of mistake.
    pub fn kind(&self) -> ExprErrorKind {
        self.0.kind
    }

    /// The line, from 1.
    pub fn line(&self) -> usize {
        self.0.line
    }

    /// The column in characters, from 1.
    pub fn column(&self) -> usize {
        self.0.column
    }

    /// The place in bytes of the text.
    pub fn range(&self) -> Range<usize> {
        self.0.range.clone()
    }

    /// What stands there, shortened if it is long. Empty at the end of the text.
    pub fn found(&self) -> &str {
        &self.0.found
    }

    /// What is wrong: for [`ExprErrorKind::Syntax`], what was expected.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// A text to write in place of [`found`](Self::found), if one is known.
    pub fn suggestion(&self) -> Option<&str> {
        self.0.suggestion.as_deref()
    }

    /// What to do outside of the text, as a sentence, if something there is the cause.
    pub fn help(&self) -> Option<&'static str> {
        self.0.help
    }
}

impl fmt::Display for ExprError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, line, column, found, message, suggestion, help, excerpt, .. } = &*self.0;
        write!(f, "{line}:{column}: {message}")?;
        match (kind, &**found) {
            (ExprErrorKind::Syntax, "") => f.write_str(", found the end")?,
            (ExprErrorKind::Syntax, found) => write!(f, ", found `{}`", visible(found))?,
            _ => {}
        }
        match (suggestion, kind) {
            (Some(near), ExprErrorKind::UnknownName) => write!(f, "; did you mean `{near}`?")?,
            (Some(spelling), _) => write!(f, "; write `{spelling}`")?,
            (None, _) => {}
        }
        let margin = line.ilog10() as usize + 1;
        let Excerpt { line: shown, marked } = excerpt;
        write!(f, "\n{0:margin$} |\n{line} | {shown}\n{0:margin$} | ", "")?;
        write!(f, "{0:1$}{0:^>2$}", "", marked.start, marked.len())?;
        match help {
            Some(help) => write!(f, "\n{0:margin$} = help: {help}", ""),
            None => Ok(()),
        }
    }
}

/// The same as displayed: it is what is printed if `main` returns the error.
impl fmt::Debug for ExprError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for ExprError {}

/// An [`ExprError`] that still lacks the text that its span is about.
#[derive(Debug)]
pub struct Diagnostic {
    kind: ExprErrorKind,
    span: Span,
    message: Cow<'static, str>,
    suggestion: Option<String>,
    help: Option<&'static str>,
}

impl Diagnostic {
    /// A mistake of a kind.
    pub fn new(kind: ExprErrorKind, span: Span, message: impl Into<Cow<'static, str>>) -> Box<Self> {
        Box::new(Self { kind, span, message: message.into(), suggestion: None, help: None })
    }

    /// The text does not continue as the grammar requires: something else is `expected`.
    pub fn syntax(span: Span, expected: &str) -> Box<Self> {
        Self::new(ExprErrorKind::Syntax, span, format!("expected {expected}"))
    }

    /// It was spelled so in earlier versions of Flecs.
    pub fn older(span: Span, message: &'static str, spelling: impl Into<String>) -> Box<Self> {
        Self::new(ExprErrorKind::OlderSpelling, span, message).suggest(spelling)
    }

    /// It was spelled so in earlier versions of Flecs, and cannot be spelled anew word by word.
    pub fn unspelled(span: Span, message: &'static str) -> Box<Self> {
        Self::new(ExprErrorKind::OlderSpelling, span, message)
    }

    /// The grammar allows it, but it cannot be.
    pub fn rule(span: Span, message: impl Into<Cow<'static, str>>) -> Box<Self> {
        Self::new(ExprErrorKind::Rule, span, message)
    }

    /// There is too much of something.
    pub fn limit(span: Span, message: impl Into<Cow<'static, str>>) -> Box<Self> {
        Self::new(ExprErrorKind::Limit, span, message)
    }

    /// The kind of mistake.
    pub fn kind(&self) -> ExprErrorKind {
        self.kind
    }

    /// Where it starts, in bytes of the text.
    pub(crate) fn start(&self) -> usize {
        self.span.range().start
    }

    /// Suggests what to write instead.
    pub fn suggest(mut self: Box<Self>, spelling: impl Into<String>) -> Box<Self> {
        self.suggestion = Some(spelling.into());
        self
    }

    /// Says what else to do.
    pub fn help(mut self: Box<Self>, help: &'static str) -> Box<Self> {
        self.help = Some(help);
        self
    }

    /// The error, now that the text is at hand.
    pub fn in_text(self, text: &str) -> ExprError {
        let Self { kind, span, message, suggestion, help } = self;
        let range = span.range();
        let before = &text[..range.start];
        let start_of_line = before.rfind('\n').map_or(0, |newline| newline + 1);
        ExprError(Box::new(Inner {
            kind,
            line: before.matches('\n').count() + 1,
            column: text[start_of_line..range.start].chars().count() + 1,
            found: shorten(&text[range.clone()]),
            excerpt: Excerpt::new(text, start_of_line, range.clone()),
            range,
            message,
            suggestion,
            help,
        }))
    }
}

impl Excerpt {
    fn new(text: &str, start_of_line: usize, range: Range<usize>) -> Self {
        let line = text[start_of_line..].split('\n').next().unwrap_or_default();
        let marked = line[..range.start - start_of_line].chars().count();
        let left_out = marked.saturating_sub(SHOWN);
        let end = range.end.min(start_of_line + line.len());
        let length = text[range.start..end].chars().count().clamp(1, SHOWN);
        // A tab, or what has no width, would put the mark at another place than the text.
        let shown = line.chars().skip(left_out).take(marked - left_out + length + SHOWN);
        let shown = shown.map(|c| match c {
            '\u{a0}' => ' ',
            c if c.is_control() => ' ',
            c if is_invisible(c) => char::REPLACEMENT_CHARACTER,
            c => c,
        });
        let line = shown.collect();
        Self { line, marked: marked - left_out..marked - left_out + length }
    }
}
