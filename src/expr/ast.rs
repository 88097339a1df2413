//! What an expression says, freed from how it was spelled.
//!
//! Short forms are gone: an omitted source is `$this`, `R(a, b, c)` is the two terms it stands for, `R(a, b || c)`
//! two branches, and `$` the element it repeats. So each thing has one form, which [`print`](super::print) writes
//! and the next stages read. Every part knows where it stood, for errors; [`Span`]s do not count when parts are
//! compared.

use alloc::{boxed::Box, string::String, vec::Vec};
use core::{fmt, ops::Range};

/// The variable that stands for the matched entity, without its `$`.
pub(crate) const THIS: &str = "this";

/// Bytes of the text. All spans are equal: where something stands does not change what it is.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// What was never part of a text.
    pub(crate) const NOWHERE: Self = Self { start: 0, end: 0 };

    /// A text that can be parsed is short enough for this never to saturate.
    pub(crate) fn new(range: Range<usize>) -> Self {
        let narrow = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self { start: narrow(range.start), end: narrow(range.end) }
    }

    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// From the start of this one to the end of the other.
    pub(crate) fn to(self, last: Self) -> Self {
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
pub(crate) struct Ast {
    pub(crate) clauses: Vec<Clause>,
}

/// Branches of which one holds, in the order in which they are tried: `A || B`. There is at least one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Clause {
    pub(crate) branches: Vec<Element>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Element {
    Term(Term),
    Scope(Scope),
}

impl Element {
    pub(crate) fn span(&self) -> Span {
        match self {
            Self::Term(term) => term.span,
            Self::Scope(scope) => scope.span,
        }
    }
}

/// `{..}`, or `!{..}`, which keeps the variables that are first bound inside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Scope {
    pub(crate) negated: bool,
    /// At least one.
    pub(crate) clauses: Vec<Clause>,
    pub(crate) span: Span,
}

/// What stands before a term.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operator {
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
pub(crate) struct Term {
    /// Always [`And`](Operator::And) for a comparison, which has its own negation.
    pub(crate) operator: Operator,
    pub(crate) test: Test,
    pub(crate) span: Span,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Test {
    Has(Has),
    Compare(Comparison),
}

/// That the source has the component or tag, or, with a target, the pair.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Has {
    pub(crate) access: Option<Access>,
    /// Component, tag, or relation.
    pub(crate) first: Arg,
    /// `None` is `Tag()`: true of nobody in particular.
    pub(crate) source: Option<Arg>,
    /// Only where there is a source.
    pub(crate) target: Option<Arg>,
}

/// What the data of a field is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    In,
    Out,
    InOut,
    None,
}

/// An element, and where else to look for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Arg {
    pub(crate) id: Id,
    pub(crate) traversal: Option<Box<Traversal>>,
}

impl Arg {
    pub(crate) fn new(id: Id) -> Self {
        Self { id, traversal: None }
    }

    /// `$this`, which nobody wrote: it was left out before or at `span`.
    pub(crate) fn this(span: Span) -> Self {
        Self::new(Id { kind: IdKind::Variable(THIS.into()), span })
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Id {
    pub(crate) kind: IdKind,
    pub(crate) span: Span,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum IdKind {
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
    /// `#bits`, of [`Entity::to_bits`](bevy_ecs::entity::Entity::to_bits). 0 is no entity.
    Bits(u64),
}

impl IdKind {
    pub(crate) fn is_this(&self) -> bool {
        matches!(self, Self::Variable(name) if name == THIS)
    }
}

/// Names that lead to something, at least one. A Rust type with its own path is one name: `game::Sized<u8>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Path(pub(crate) Vec<String>);

/// A word of a [`Traversal`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flag {
    This,
    Up,
    Down,
    Cascade,
    Desc,
    All,
}

impl Flag {
    pub(crate) const ALL: [(Self, &str); 6] = [
        (Self::This, "self"),
        (Self::Up, "up"),
        (Self::Down, "down"),
        (Self::Cascade, "cascade"),
        (Self::Desc, "desc"),
        (Self::All, "all"),
    ];

    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|flag| flag.1 == word).map(|flag| flag.0)
    }
}

/// A set of [`Flag`]s.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Flags(u8);

impl Flags {
    pub(crate) fn has(self, flag: Flag) -> bool {
        self.0 & 1 << flag as u8 != 0
    }

    pub(crate) fn insert(&mut self, flag: Flag) {
        self.0 |= 1 << flag as u8;
    }

    pub(crate) fn words(self) -> impl Iterator<Item = &'static str> {
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
pub(crate) struct Traversal {
    pub(crate) flags: Flags,
    /// `None` is `ChildOf`, if anything is followed.
    pub(crate) relation: Option<Id>,
    pub(crate) depth: Depth,
    pub(crate) span: Span,
}

/// How many steps away; the first step is number 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Depth {
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
}

impl Depth {
    pub(crate) const EVERY: Self = Self { min: 1, max: None };
}

/// `$x == Name`, `$x != "path"`, `$x ~= "part"`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Comparison {
    /// A variable, or something looked up below one.
    pub(crate) left: Id,
    pub(crate) negated: bool,
    pub(crate) right: Comparand,
    /// Of the right side.
    pub(crate) span: Span,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Comparand {
    /// Is this one.
    Id(Id),
    /// Is the one found by this path while evaluating.
    Path(String),
    /// Has this in its name, in whatever case.
    NamePart(String),
}

impl Ast {
    /// Goes through all terms in their order. The function is also told whether a scope around the term is
    /// negated.
    pub(crate) fn for_each_term<'a>(&'a self, f: &mut impl FnMut(&'a Term, bool)) {
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
    pub(crate) fn ids(&self) -> impl Iterator<Item = &Id> {
        let [first, second, third] = match &self.test {
            Test::Has(Has { first, source, target, .. }) => {
                [Some(&first.id), source.as_ref().map(|arg| &arg.id), target.as_ref().map(|arg| &arg.id)]
            }
            Test::Compare(Comparison { left, right: Comparand::Id(right), .. }) => {
                [Some(left), Some(right), None]
            }
            Test::Compare(Comparison { left, .. }) => [Some(left), None, None],
        };
        [first, second, third].into_iter().flatten()
    }
}
