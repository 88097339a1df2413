//! Comparisons of fields with values: `Health.hp < 10`, `(Eats.grams, $food) >= 3`.

use super::{
    ast::{Comparator, Id, IdKind, Literal, Span, ValueTest},
    error::Diagnostic,
    lex::{self, Lexed, Sign, Token},
    parse::Parser,
    print::{Place, quoted},
};
use alloc::{
    boxed::Box,
    format,
    string::{String, ToString},
};

pub(super) const MEMBERS_ALONE: &str =
    "only a field of a component or of a pair is compared with a value: `Health.hp`";

impl Parser<'_> {
    /// Whether what was read is a field, and compared.
    pub(super) fn starts_value_test(&self, first: &Id) -> bool {
        is_member(first) && self.comparator().is_some()
    }

    /// What stands behind a term that asks for a field.
    pub(super) fn value_test(&mut self, first: &Id) -> Lexed<Option<Box<ValueTest>>> {
        let Some(comparator) = self.comparator() else { return Ok(None) };
        if !is_member(first) {
            return match comparator {
                // Entities are compared as well.
                Comparator::Equal | Comparator::NotEqual => Ok(None),
                _ => Err(Diagnostic::rule(first.span, MEMBERS_ALONE)),
            };
        }
        // A number is another thing here than elsewhere, so that the token behind the operator is read anew.
        let (literal, span) = self.lexer.literal()?;
        self.span = span;
        self.advance()?;
        Ok(Some(Box::new(ValueTest { comparator, literal, span })))
    }

    fn comparator(&self) -> Option<Comparator> {
        let Token::Sign(sign) = self.token else { return None };
        comparator(sign)
    }
}

/// What a sign between a field and a value says.
pub(super) fn comparator(sign: Sign) -> Option<Comparator> {
    Some(match sign {
        Sign::Less => Comparator::Less,
        Sign::LessOrEqual => Comparator::LessOrEqual,
        Sign::Greater => Comparator::Greater,
        Sign::GreaterOrEqual => Comparator::GreaterOrEqual,
        Sign::Equal => Comparator::Equal,
        Sign::NotEqual => Comparator::NotEqual,
        _ => return None,
    })
}

/// Whether it may be the path of a field.
pub(super) fn is_member(id: &Id) -> bool {
    matches!(&id.kind, IdKind::Path(path) if path.0.len() > 1)
}

/// Checks a comparison that was put together by hand.
pub(super) fn check(first: &Id, test: &ValueTest) -> Lexed<()> {
    if !is_member(first) {
        return Err(Diagnostic::rule(first.span, MEMBERS_ALONE));
    }
    if matches!(&first.kind, IdKind::Path(path) if path.0.iter().any(String::is_empty)) {
        return Err(Diagnostic::rule(first.span, "the name of a field is empty"));
    }
    match &test.literal {
        Literal::Number(number) if !lex::is_number(number) => {
            Err(Diagnostic::rule(test.span, "a field is compared with a finite number"))
        }
        _ => Ok(()),
    }
}

impl Place for ValueTest {
    fn place(&mut self, out: &mut String) {
        out.push(' ');
        out.push_str(self.comparator.sign());
        out.push(' ');
        let start = out.len();
        match &self.literal {
            Literal::Number(number) => out.push_str(number),
            Literal::Text(text) => quoted(out, "", text),
            Literal::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        }
        self.span = Span::new(start..out.len());
    }
}

macro_rules! from_numbers {
    ($($number:ty),*) => {$(
        impl From<$number> for Literal {
            fn from(number: $number) -> Self {
                // The shortest text that reads as the same number.
                Self::Number(format!("{number:?}"))
            }
        }
    )*};
}

from_numbers!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64);

impl From<bool> for Literal {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<char> for Literal {
    fn from(value: char) -> Self {
        Self::Text(value.to_string())
    }
}

impl From<&str> for Literal {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Literal {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}
