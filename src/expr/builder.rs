//! Putting expressions together in Rust.

use super::{
    PairExpr,
    ast::{
        Arg, Ast, Clause, Depth, Element, Flag, Flags, Has, Id, IdKind, Operator, Path, Scope, Span, Term,
        Test, Traversal,
    },
    error::{ExprError, Fault},
    parse,
};
use crate::relation::Relation;
use alloc::{boxed::Box, string::ToString, vec, vec::Vec};
use core::any::type_name;

/// Puts a [`PairExpr`] together.
///
/// Types are written with their full path; arguments and whole parts may also be given as text. A mistake in the
/// text shows when the expression is [built](Self::build).
///
/// ```
/// # use bevy_relations::{PairExpr, prelude::*};
/// #[derive(bevy_ecs::component::Component)]
/// struct Ship;
/// #[derive(Relation)]
/// struct DockedTo;
/// #[derive(Relation)]
/// #[relation(traversable)]
/// struct PartOf;
///
/// let built = PairExpr::builder()
///     .with::<Ship>()
///     .pair::<DockedTo>("$planet")
///     .expr("Planet($planet), !Hostile($planet)")
///     .with::<Ship>()
///     .up::<PartOf>()
///     .build()
///     .unwrap();
/// # let path = core::any::type_name::<Ship>().trim_end_matches("Ship");
/// # let written = built.to_string().replace(path, "");
/// # assert_eq!(
/// #     written,
/// "Ship, (DockedTo, $planet), Planet($planet), !Hostile($planet), Ship(up PartOf)"
/// # );
/// ```
#[derive(Clone, Default, Debug)]
#[must_use = "nothing comes of it until `build` is called"]
pub struct PairExprBuilder {
    ast: Ast,
    /// The first one.
    error: Option<ExprError>,
}

fn id_of<T: ?Sized>() -> Id {
    Id { kind: IdKind::Path(Path(vec![type_name::<T>().into()])), span: Span::NOWHERE }
}

impl PairExprBuilder {
    /// `T`: a component, a tag, or a resource with [`singleton`](Self::singleton).
    pub fn with<T: ?Sized + 'static>(self) -> Self {
        self.term::<T>(Operator::And, None)
    }

    /// `!T`
    pub fn without<T: ?Sized + 'static>(self) -> Self {
        self.term::<T>(Operator::Not, None)
    }

    /// `?T`
    pub fn optional<T: ?Sized + 'static>(self) -> Self {
        self.term::<T>(Operator::Optional, None)
    }

    /// `(R, target)`
    pub fn pair<R: Relation>(self, target: &str) -> Self {
        self.term::<R>(Operator::And, Some(target))
    }

    /// `!(R, target)`
    pub fn without_pair<R: Relation>(self, target: &str) -> Self {
        self.term::<R>(Operator::Not, Some(target))
    }

    /// `?(R, target)`
    pub fn optional_pair<R: Relation>(self, target: &str) -> Self {
        self.term::<R>(Operator::Optional, Some(target))
    }

    /// `T($)`: the resource `T`.
    pub fn singleton<T: ?Sized + 'static>(self) -> Self {
        self.with::<T>().change_source(|source| source.id = id_of::<T>())
    }

    /// The source of the last term, instead of `$this`.
    pub fn on(mut self, source: &str) -> Self {
        match self.arg(source) {
            Some(arg) => self.change_source(|source| *source = arg),
            None => self,
        }
    }

    /// `up R` for the source of the last term: the nearest holder above it.
    pub fn up<R: Relation>(self) -> Self {
        self.traverse::<R>(&[Flag::Up])
    }

    /// `self|up R` for the source of the last term: it, or else the nearest holder above it.
    pub fn self_up<R: Relation>(self) -> Self {
        self.traverse::<R>(&[Flag::This, Flag::Up])
    }

    /// `cascade R` for the source of the last term: as [`up`](Self::up), with rows from the root down.
    pub fn cascade<R: Relation>(self) -> Self {
        self.traverse::<R>(&[Flag::Cascade])
    }

    /// One of several: the terms that the function adds are joined by `||`.
    ///
    /// ```
    /// # use bevy_relations::PairExpr;
    /// let expr = PairExpr::builder().expr("Tag").or(|any| any.expr("Cat").expr("(Likes, Cats)")).build();
    /// assert_eq!(expr, PairExpr::parse("Tag, Cat || (Likes, Cats)"));
    /// ```
    pub fn or(mut self, branches: impl FnOnce(Self) -> Self) -> Self {
        let clauses = self.inner(branches);
        let branches: Vec<_> = clauses.into_iter().flat_map(|clause| clause.branches).collect();
        if !branches.is_empty() {
            self.ast.clauses.push(Clause { branches });
        }
        self
    }

    /// `{..}`: groups what the function adds.
    pub fn scope(self, terms: impl FnOnce(Self) -> Self) -> Self {
        self.add_scope(false, terms)
    }

    /// `!{..}`: what the function adds does not hold, all together, for any values of the variables that occur in
    /// it first.
    pub fn without_scope(self, terms: impl FnOnce(Self) -> Self) -> Self {
        self.add_scope(true, terms)
    }

    /// Adds terms given as text.
    pub fn expr(mut self, text: &str) -> Self {
        match parse::parse(text) {
            Ok(ast) => self.ast.clauses.extend(ast.clauses),
            Err(error) => self.fail(error),
        }
        self
    }

    /// The expression.
    ///
    /// # Errors
    /// If one of the texts is not right, or for what [`PairExpr::parse`] refuses.
    pub fn build(self) -> Result<PairExpr, ExprError> {
        match self.error {
            Some(error) => Err(error),
            // Read again, so that places in errors are places in its text.
            None => PairExpr::parse(self.ast.to_string()),
        }
    }

    fn term<T: ?Sized>(mut self, operator: Operator, target: Option<&str>) -> Self {
        let has = Has {
            access: None,
            first: Arg::new(id_of::<T>()),
            source: Some(Arg::this(Span::NOWHERE)),
            target: target.and_then(|target| self.arg(target)),
        };
        self.push(Element::Term(Term { operator, test: Test::Has(has), span: Span::NOWHERE }));
        self
    }

    fn add_scope(mut self, negated: bool, terms: impl FnOnce(Self) -> Self) -> Self {
        let clauses = self.inner(terms);
        self.push(Element::Scope(Scope { negated, clauses, span: Span::NOWHERE }));
        self
    }

    fn push(&mut self, element: Element) {
        self.ast.clauses.push(Clause { branches: vec![element] });
    }

    /// What the function adds, by itself.
    fn inner(&mut self, add: impl FnOnce(Self) -> Self) -> Vec<Clause> {
        let Self { ast, error } = add(Self::default());
        if let Some(error) = error {
            self.fail(error);
        }
        ast.clauses
    }

    fn arg(&mut self, text: &str) -> Option<Arg> {
        parse::parse_arg(text).map_err(|error| self.fail(error)).ok()
    }

    fn traverse<R: Relation>(self, words: &[Flag]) -> Self {
        let mut flags = Flags::default();
        words.iter().for_each(|&flag| flags.insert(flag));
        let relation = Some(id_of::<R>());
        let traversal = Box::new(Traversal { flags, relation, depth: Depth::EVERY, span: Span::NOWHERE });
        self.change_source(|source| source.traversal = Some(traversal))
    }

    fn change_source(mut self, change: impl FnOnce(&mut Arg)) -> Self {
        let last = self.ast.clauses.last_mut().and_then(|clause| clause.branches.last_mut());
        match last {
            Some(Element::Term(Term { test: Test::Has(Has { source: Some(source), .. }), .. })) => {
                change(source);
            }
            _ => {
                let fault = Fault::rule(Span::NOWHERE, "a term with a source before what changes it");
                self.fail(fault.in_text(""));
            }
        }
        self
    }

    fn fail(&mut self, error: ExprError) {
        self.error.get_or_insert(error);
    }
}
