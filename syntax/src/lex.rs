//! Words and signs of the text.

use super::{
    ast::{IdKind, Literal, Path, Span},
    error::Diagnostic,
};
use alloc::{borrow::ToOwned, boxed::Box, format, string::String, vec, vec::Vec};

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token {
    /// Names an element in full: a path, `$x`, `$x.path`, `*`, `_`, `#bits`.
    Id(IdKind),
    /// A `$` without a name.
    Dollar,
    Number(u64),
    Text(String),
    Sign(Sign),
    End,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sign {
    Comma,
    Or,
    Pipe,
    Not,
    Question,
    Equal,
    NotEqual,
    Matches,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Dots,
    Dot,
    /// Only in older spellings.
    Colon,
    ParenOpen,
    ParenClose,
    BraceOpen,
    BraceClose,
    BracketOpen,
    BracketClose,
}

/// Cuts a text into tokens.
#[derive(Clone)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

pub(super) type Lexed<T> = Result<T, Box<Diagnostic>>;

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// From a byte of the text on.
    pub(super) fn at(text: &'a str, at: usize) -> Self {
        Self { text, at }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn take(&mut self, c: char) -> bool {
        let there = self.peek() == Some(c);
        if there {
            self.bump();
        }
        there
    }

    fn take_str(&mut self, text: &str) -> bool {
        let there = self.rest().starts_with(text);
        if there {
            self.at += text.len();
        }
        there
    }

    /// From `start` to here.
    fn since(&self, start: usize) -> Span {
        Span::new(start..self.at)
    }

    /// The character here; nothing at the end.
    fn here(&self) -> Span {
        Span::new(self.at..self.at + self.peek().map_or(0, char::len_utf8))
    }

    /// Where a `=` comes next that is not `==`.
    pub(super) fn equals_sign(&self) -> Option<Span> {
        let is_one = self.rest().starts_with('=') && !self.rest().starts_with("==");
        is_one.then(|| self.here())
    }

    pub(super) fn skip_blanks(&mut self) -> Lexed<()> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            self.at += blank;
            let start = self.at;
            if self.take_str("//") {
                let rest = self.rest();
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if self.take_str("/*") {
                let Some(end) = self.rest().find("*/") else {
                    return Err(Diagnostic::syntax(self.since(start), "a comment that ends with `*/`"));
                };
                self.at += end + 2;
            } else {
                return Ok(());
            }
        }
    }

    pub(super) fn token(&mut self) -> Lexed<(Token, Span)> {
        self.skip_blanks()?;
        let start = self.at;
        let token = match self.peek() {
            None => Token::End,
            Some('$') => self.variable()?,
            Some('#') => {
                self.bump();
                Token::Id(IdKind::Bits(self.number()?))
            }
            Some('"') => Token::Text(self.text()?),
            Some(c) if c.is_ascii_digit() => Token::Number(self.number()?),
            Some(c) if starts_a_name(c) => {
                let path = self.path()?;
                let any = &self.text[start..self.at] == "_";
                Token::Id(if any { IdKind::Any } else { IdKind::Path(path) })
            }
            Some(_) => self.sign()?,
        };
        Ok((token, self.since(start)))
    }

    fn sign(&mut self) -> Lexed<Token> {
        let here = self.here();
        Ok(Token::Sign(match self.bump() {
            Some('*') => return Ok(Token::Id(IdKind::Wildcard)),
            Some(',') => Sign::Comma,
            Some('?') => Sign::Question,
            Some('(') => Sign::ParenOpen,
            Some(')') => Sign::ParenClose,
            Some('{') => Sign::BraceOpen,
            Some('}') => Sign::BraceClose,
            Some('[') => Sign::BracketOpen,
            Some(']') => Sign::BracketClose,
            Some(':') => Sign::Colon,
            Some('|') => self.if_next('|', Sign::Or, Sign::Pipe)?,
            Some('!') => self.if_next('=', Sign::NotEqual, Sign::Not)?,
            Some('.') => self.if_next('.', Sign::Dots, Sign::Dot)?,
            Some('<') if self.take('>') => return Err(self.other_sign(here, "!=")),
            Some('<') => self.if_next('=', Sign::LessOrEqual, Sign::Less)?,
            Some('>') => self.if_next('=', Sign::GreaterOrEqual, Sign::Greater)?,
            Some('=') if self.take_after_blanks('=')? => Sign::Equal,
            Some('~') if self.take_after_blanks('=')? => Sign::Matches,
            Some('=') if self.take('>') => return Err(self.other_sign(here, ">=")),
            Some('=') if self.take('<') => return Err(self.other_sign(here, "<=")),
            Some('=') => return Err(self.other_sign(here, "==")),
            Some('~') => return Err(self.other_sign(here, "~=")),
            Some('&') => {
                self.take_after_blanks('&')?;
                let expected = "`,` between conditions that hold at once";
                return Err(Diagnostic::syntax(Span::new(here.range().start..self.at), expected).suggest(","));
            }
            Some(';') => return Err(Diagnostic::syntax(here, "`,` between terms").suggest(",")),
            _ => return Err(Diagnostic::syntax(here, "a name or a sign of the query language")),
        }))
    }

    /// That what began at `start` is written with another sign.
    fn other_sign(&self, start: Span, sign: &str) -> Box<Diagnostic> {
        Diagnostic::syntax(self.since(start.range().start), &format!("`{sign}`")).suggest(sign)
    }

    /// Blanks are allowed inside operators.
    fn take_after_blanks(&mut self, c: char) -> Lexed<bool> {
        let mut ahead = self.clone();
        ahead.skip_blanks()?;
        let there = ahead.take(c);
        if there {
            self.at = ahead.at;
        }
        Ok(there)
    }

    fn if_next(&mut self, c: char, both: Sign, alone: Sign) -> Lexed<Sign> {
        Ok(if self.take_after_blanks(c)? { both } else { alone })
    }

    fn number(&mut self) -> Lexed<u64> {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.bump();
        }
        if self.at == start {
            return Err(Diagnostic::syntax(self.here(), "a number"));
        }
        let number = self.text[start..self.at].parse();
        number.map_err(|_| Diagnostic::syntax(self.since(start), "a number of 64 bits"))
    }

    /// What a field is compared with.
    pub(super) fn literal(&mut self) -> Lexed<(Literal, Span)> {
        self.skip_blanks()?;
        let start = self.at;
        let literal = match self.peek() {
            Some('"') => Literal::Text(self.text()?),
            Some(c) if c == '-' || c.is_ascii_digit() => Literal::Number(self.decimal()?.to_owned()),
            _ => match self.clone().word() {
                word @ ("true" | "false") => {
                    self.at += word.len();
                    Literal::Bool(word == "true")
                }
                word => {
                    let span =
                        if word.is_empty() { self.here() } else { Span::new(start..start + word.len()) };
                    return Err(Diagnostic::syntax(span, "a number, a string, `true` or `false`"));
                }
            },
        };
        Ok((literal, self.since(start)))
    }

    /// A number with a sign, a fraction and an exponent, or without.
    fn decimal(&mut self) -> Lexed<&'a str> {
        let start = self.at;
        self.take('-');
        let digits = self.at;
        self.digits()?;
        let whole = &self.text[digits..self.at];
        let mut is_whole = true;
        if self.take('.') {
            is_whole = false;
            self.digits()?;
        }
        if self.take('e') || self.take('E') {
            is_whole = false;
            if !self.take('-') {
                self.take('+');
            }
            self.digits()?;
        }
        if self.peek().is_some_and(|c| c == '.' || continues_a_name(c)) {
            return Err(Diagnostic::syntax(self.here(), "the end of the number"));
        }
        let number = &self.text[start..self.at];
        if is_whole && whole.parse::<u128>().is_err() {
            return Err(Diagnostic::limit(self.since(start), "a whole number has at most 128 bits"));
        }
        match number.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(number),
            _ => Err(Diagnostic::limit(self.since(start), "the number is out of range")),
        }
    }

    fn digits(&mut self) -> Lexed<()> {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.bump();
        }
        if self.at == start { Err(Diagnostic::syntax(self.here(), "a digit")) } else { Ok(()) }
    }

    fn text(&mut self) -> Lexed<String> {
        let start = self.at;
        self.bump();
        let mut text = String::new();
        loop {
            let escape = self.at;
            match self.bump() {
                Some('"') => return Ok(text),
                Some('\\') => match self.bump() {
                    Some('n') => text.push('\n'),
                    Some('r') => text.push('\r'),
                    Some('t') => text.push('\t'),
                    Some(c @ ('"' | '\\')) => text.push(c),
                    _ => {
                        let expected = r#"`\"`, `\\`, `\n`, `\r` or `\t`"#;
                        return Err(Diagnostic::syntax(self.since(escape), expected));
                    }
                },
                Some(c) => text.push(c),
                None => {
                    return Err(Diagnostic::syntax(
                        Span::new(start..start + 1),
                        "a string that ends with `\"`",
                    ));
                }
            }
        }
    }

    fn variable(&mut self) -> Lexed<Token> {
        self.bump();
        if !self.peek().is_some_and(|c| c != '\\' && starts_a_name(c)) {
            return Ok(Token::Dollar);
        }
        let name = self.word().to_owned();
        if self.at_a_step() {
            self.bump();
            return Ok(Token::Id(IdKind::Lookup(name, self.path()?)));
        }
        Ok(Token::Id(IdKind::Variable(name)))
    }

    /// A `.` that is not the start of `..`.
    fn at_a_step(&self) -> bool {
        self.peek() == Some('.') && !self.rest().starts_with("..")
    }

    fn path(&mut self) -> Lexed<Path> {
        let mut path = vec![self.segment()?];
        while self.at_a_step() {
            self.bump();
            path.push(match self.index() {
                Some(index) => index,
                None => self.segment()?,
            });
        }
        Ok(Path(path))
    }

    /// A field of a tuple: only digits.
    fn index(&mut self) -> Option<String> {
        let mut ahead = self.clone();
        let index = ahead.word();
        if !is_index(index) || ahead.peek() == Some('\\') {
            return None;
        }
        self.at = ahead.at;
        Some(index.to_owned())
    }

    /// Letters, digits and `_`; maybe none.
    pub(super) fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !continues_a_name(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// A name, or a Rust type with its path and arguments.
    fn segment(&mut self) -> Lexed<String> {
        let mut name = String::new();
        self.name(&mut name)?;
        loop {
            if self.take_str("::") {
                name.push_str("::");
                self.name(&mut name)?;
            } else if self.peek() == Some('<') {
                self.type_arguments(&mut name)?;
            } else {
                return Ok(name);
            }
        }
    }

    fn name(&mut self, name: &mut String) -> Lexed<()> {
        if !self.peek().is_some_and(starts_a_name) {
            return Err(Diagnostic::syntax(self.here(), "a name"));
        }
        loop {
            name.push_str(self.word());
            let escape = self.at;
            if !self.take('\\') {
                return Ok(());
            }
            let Some(c) = self.bump() else {
                return Err(Diagnostic::syntax(self.since(escape), "a character after `\\`"));
            };
            name.push(c);
        }
    }

    /// `<..>`, with blanks as the compiler writes them.
    fn type_arguments(&mut self, name: &mut String) -> Lexed<()> {
        let start = self.at;
        // `Health.hp<=10`, `Health.hp<-1`
        let sign = self.rest().strip_prefix('<').and_then(|rest| rest.chars().next());
        if let Some(c) = sign.filter(|c| matches!(c, '=' | '-')) {
            let (end, spelling) = if c == '=' { (start + 2, " <= ") } else { (start + 1, " < ") };
            let fault = Diagnostic::syntax(Span::new(start..end), "a blank before a comparison");
            return Err(fault.suggest(spelling));
        }
        let mut closers = Vec::new();
        // Blanks count only between two words.
        let mut after_word = false;
        loop {
            let before = self.at;
            self.skip_blanks()?;
            let blank = self.at > before;
            let word = self.word();
            if !word.is_empty() {
                if blank && after_word {
                    name.push(' ');
                }
                name.push_str(word);
                after_word = true;
                continue;
            }
            after_word = false;
            let here = self.here();
            let Some(c) = self.bump() else {
                let fault =
                    Diagnostic::syntax(Span::new(start..start + 1), "type arguments that end with `>`");
                // `Health.hp<10`
                let compares = self.text[start + 1..].trim_start().starts_with(|c: char| c.is_ascii_digit());
                return Err(if compares { fault.suggest(" < ") } else { fault });
            };
            match c {
                '<' => closers.push('>'),
                '(' => closers.push(')'),
                '[' => closers.push(']'),
                '>' | ')' | ']' if closers.pop() == Some(c) => {}
                ':' if self.take(':') => name.push(':'),
                '&' | '*' | '\'' | ',' | ';' => {}
                _ => return Err(Diagnostic::syntax(here, "type arguments that end with `>`")),
            }
            name.push(c);
            if matches!(c, ',' | ';') {
                name.push(' ');
            }
            if closers.is_empty() {
                return Ok(());
            }
        }
    }
}

fn starts_a_name(c: char) -> bool {
    c == '_' || c == '\\' || c.is_alphabetic()
}

fn continues_a_name(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Whether a name behind others of a path can be written as it is, since it is the number of a field.
pub(super) fn is_index(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a text is a number that a field can be compared with.
pub(super) fn is_number(text: &str) -> bool {
    Lexer::new(text).decimal().is_ok_and(|read| read == text)
}

/// Whether a name can be written as it is, and is a name then.
pub(super) fn is_plain(name: &str) -> bool {
    let mut lexer = Lexer::new(name);
    let read = lexer.segment();
    name != "_" && read.is_ok_and(|read| read == name) && lexer.at == name.len()
}
