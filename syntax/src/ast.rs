//! What an expression says, freed from how it was spelled.
//!
//! Short forms are gone: an omitted source is `$this`, `R(a, b, c)` is the two terms it stands for, `R(a, b || c)`
//! two branches, and `$` the element it repeats. So each thing has one form, which `Display` writes
//! and the next stages read. Every part records where it stood, for errors; [`Span`]s do not count when parts are
//! compared.

use alloc::{boxed::Box, string::String, vec::Vec};
use core::{any::TypeId, fmt, ops::Range};

/// The variable that stands for the matched entity, without its `$`.
pub const THIS: &str = "this";

/// Bytes of the text. All spans are equal: where something stands does not change what it is.
#[derive(Clone, Copy)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// What was never part of a text.
    pub const NOWHERE: Self = Self { start: 0, end: 0 };

    /// A text that can be parsed is short enough for this never to saturate.
    pub fn new(range: Range<usize>) -> Self {
        let narrow = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self { start: narrow(range.start), end: narrow(range.end) }
    }

    /// The bytes.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// From the start of this one to the end of the other.
    pub fn to(self, last: Self) -> Self {
        Self { start: self.start, end: last.end }
    }
}

impl PartialEq for Span {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Span {}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.range().fmt(f)
    }
}

/// An expression: clauses that hold all at once, maybe none.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Ast {
    /// What stands between commas.
    pub clauses: Vec<Clause>,
}

/// Branches of which one holds, in the order in which they are tried: `A || B`. There is at least one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clause {
    /// What stands between `||`.
    pub branches: Vec<Element>,
}

/// A branch of a clause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Element {
    /// One condition.
    Term(Term),
    /// Several in braces.
    Scope(Scope),
}

impl Element {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Self::Term(term) => term.span,
            Self::Scope(scope) => scope.span,
        }
    }
}

/// `{..}`, or `!{..}`, which keeps the variables that are first bound inside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scope {
    /// With a `!` before it.
    pub negated: bool,
    /// At least one.
    pub clauses: Vec<Clause>,
    /// With its braces.
    pub span: Span,
}

/// What stands before a term.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    /// Nothing.
    And,
    /// `!`
    Not,
    /// `?`
    Optional,
    /// `and|`: every component of the given entity.
    AndFrom,
    /// `or|`: one of them.
    OrFrom,
    /// `not|`: none of them.
    NotFrom,
}

/// One condition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Term {
    /// Always [`And`](Operator::And) for a comparison, which has its own negation.
    pub operator: Operator,
    /// What is asked.
    pub test: Test,
    /// With its operator.
    pub span: Span,
}

/// What a [`Term`] asks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Test {
    /// For a component, tag or pair.
    Has(Has),
    /// Whether something is the same.
    Compare(Comparison),
    /// For the pair with a key.
    Keyed(Box<Keyed>),
}

/// That the source has the component or tag, or, with a target, the pair.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Has {
    /// If it is written down.
    pub access: Option<Access>,
    /// Component, tag, or relation.
    pub first: Arg,
    /// `None` is `Tag()`: true of nothing in particular.
    pub source: Option<Arg>,
    /// Only where there is a source.
    pub target: Option<Arg>,
    /// What the field at the path of `first` is compared with: then this asks for that field's component or pair.
    pub value: Option<Box<ValueTest>>,
}

/// `< 10`, `== "Mars"`: what a field is compared with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueTest {
    /// How.
    pub comparator: Comparator,
    /// With what.
    pub literal: Literal,
    /// Of the literal.
    pub span: Span,
}

/// How the value of a field is compared with a [`Literal`].
///
/// ```
/// # use bevy_relations_syntax::ast::Comparator;
/// assert_eq!(Comparator::LessOrEqual.sign(), "<=");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Comparator {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
}

impl Comparator {
    /// How the text writes it.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Equal => "==",
            Self::NotEqual => "!=",
        }
    }

    /// The same with both sides in the places of each other.
    pub(crate) fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            Self::Equal | Self::NotEqual => self,
        }
    }
}

/// What the value of a field is compared with. Numbers, text, characters and booleans of Rust convert into it.
///
/// ```
/// # use bevy_relations_syntax::ast::Literal;
/// assert_eq!(Literal::from(2.5), Literal::Number("2.5".into()));
/// assert_eq!(Literal::from("Mars"), Literal::Text("Mars".into()));
/// assert_eq!(Literal::from(true), Literal::Bool(true));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Literal {
    /// A decimal number, as it is written.
    Number(String),
    /// In quotes.
    Text(String),
    /// `true` or `false`
    Bool(bool),
}

/// `R[key](source, target)`: that the source has the pair, and that this is its key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Keyed {
    /// If it is written down.
    pub access: Option<Access>,
    /// The relation.
    pub relation: Id,
    /// The key.
    pub key: Key,
    /// Without a traversal.
    pub source: Arg,
    /// Without a traversal.
    pub target: Arg,
}

/// A key, as the relation reads it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Key {
    /// What it is written as.
    pub kind: KeyKind,
    /// Where, without the brackets.
    pub span: Span,
}

/// What a [`Key`] is written as.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeyKind {
    /// A name.
    Name(Path),
    /// A number.
    Number(u64),
}

/// What the data of a field is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// To be read.
    In,
    /// To be written.
    Out,
    /// To be read and written.
    InOut,
    /// For nothing.
    None,
}

/// An element, and where else to look for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arg {
    /// The element.
    pub id: Id,
    /// `self` and `up` and what goes with them.
    pub traversal: Option<Box<Traversal>>,
}

impl Arg {
    /// An element without a traversal.
    pub fn new(id: Id) -> Self {
        Self { id, traversal: None }
    }

    /// `$this`, which was left out before or at `span`.
    pub fn this(span: Span) -> Self {
        Self::new(Id { kind: IdKind::Variable(THIS.into()), span })
    }
}

/// An element of a term.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Id {
    /// What names it.
    pub kind: IdKind,
    /// Where.
    pub span: Span,
}

/// What names an element.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IdKind {
    /// An entity, type or member by its name.
    Path(Path),
    /// `$name`
    Variable(String),
    /// `$name.path`: looked up below the value of the variable.
    Lookup(String, Path),
    /// `*`
    Wildcard,
    /// `_`
    Any,
    /// `#bits`, of Bevy's `Entity::to_bits`. 0 is no entity.
    Bits(u64),
    /// A Rust type. Builders know types; a text has only names.
    Type(TypeRef),
}

/// A Rust type with the name by which it is written.
#[derive(Clone, Copy, Eq, Debug)]
pub struct TypeRef {
    /// What it is known by.
    pub id: TypeId,
    /// Its full path.
    pub name: &'static str,
}

impl PartialEq for TypeRef {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl IdKind {
    /// Whether it is `$this`.
    pub fn is_this(&self) -> bool {
        matches!(self, Self::Variable(name) if name == THIS)
    }
}

/// Names that lead to something, at least one. A Rust type with its own path is one name: `game::Sized<u8>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path(pub Vec<String>);

/// A word of a [`Traversal`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flag {
    /// `self`: the element itself counts.
    This,
    /// `up`: what it reaches counts.
    Up,
    /// `down`: what reaches it counts.
    Down,
    /// `cascade`: as `up`, in order of depth.
    Cascade,
    /// `desc`: deepest first.
    Desc,
    /// `all`: not the nearest alone.
    All,
}

impl Flag {
    /// Every flag with its word.
    pub const ALL: [(Self, &str); 6] = [
        (Self::This, "self"),
        (Self::Up, "up"),
        (Self::Down, "down"),
        (Self::Cascade, "cascade"),
        (Self::Desc, "desc"),
        (Self::All, "all"),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The flag with a word.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|flag| flag.1 == word).map(|flag| flag.0)
    }
}

/// A set of [`Flag`]s.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u8);

impl Flags {
    /// Whether it is in the set.
    pub fn has(self, flag: Flag) -> bool {
        self.0 & 1 << flag as u8 != 0
    }

    /// Adds a flag.
    pub fn insert(&mut self, flag: Flag) {
        self.0 |= 1 << flag as u8;
    }

    /// The words of all flags of the set.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        Flag::ALL.into_iter().filter(move |flag| self.has(flag.0)).map(|flag| flag.1)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.words()).finish()
    }
}

/// Where to look, beside or instead of the element itself: `self|up ChildOf 2..4`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Traversal {
    /// Where to, and what counts.
    pub flags: Flags,
    /// `None` is `ChildOf`, if anything is followed.
    pub relation: Option<Id>,
    /// How far.
    pub depth: Depth,
    /// From the first word to the last.
    pub span: Span,
}

/// How many steps away; the first step is number 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Depth {
    /// From 1.
    pub min: u32,
    /// `None` is as far as it goes.
    pub max: Option<u32>,
}

impl Depth {
    /// However many.
    pub const EVERY: Self = Self { min: 1, max: None };
}

/// `$x == Name`, `$x != "path"`, `$x ~= "part"`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comparison {
    /// A variable, or something looked up below one.
    pub left: Id,
    /// `!=`, or a `!` in the text that is compared with.
    pub negated: bool,
    /// What it is compared with.
    pub right: Comparand,
    /// Of the right side.
    pub span: Span,
}

/// The right side of a [`Comparison`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Comparand {
    /// Is this one.
    Id(Id),
    /// Is the one found by this path while evaluating.
    Path(String),
    /// Has this in its name, in whatever case.
    NamePart(String),
}

impl Ast {
    /// Goes through all terms in their order. The function also gets whether a scope around the term is
    /// negated.
    pub fn for_each_term<'a>(&'a self, f: &mut impl FnMut(&'a Term, bool)) {
        visit(&self.clauses, false, f);
    }
}

fn visit<'a>(clauses: &'a [Clause], negated: bool, f: &mut impl FnMut(&'a Term, bool)) {
    for element in clauses.iter().flat_map(|clause| &clause.branches) {
        match element {
            Element::Term(term) => f(term, negated),
            Element::Scope(scope) => visit(&scope.clauses, negated || scope.negated, f),
        }
    }
}

impl Term {
    /// The elements that are matched, in the order component or relation, source, target; left, right.
    pub fn ids(&self) -> impl Iterator<Item = &Id> {
        let [first, second, third] = match &self.test {
            Test::Has(Has { first, source, target, .. }) => {
                [Some(&first.id), source.as_ref().map(|arg| &arg.id), target.as_ref().map(|arg| &arg.id)]
            }
            Test::Keyed(keyed) => [Some(&keyed.relation), Some(&keyed.source.id), Some(&keyed.target.id)],
            Test::Compare(Comparison { left, right: Comparand::Id(right), .. }) => {
                [Some(left), Some(right), None]
            }
            Test::Compare(Comparison { left, .. }) => [Some(left), None, None],
        };
        [first, second, third].into_iter().flatten()
    }
}
