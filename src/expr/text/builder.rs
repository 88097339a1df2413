//! Putting expressions together in Rust.

use super::{FieldAccess, PairExpr};
use crate::{
    relation::{Relation, TraitsError},
    world::WorldPairExt,
};
use alloc::{boxed::Box, vec, vec::Vec};
use bevy_ecs::world::World;
use bevy_relations_syntax::{
    ast::{
        Access, Arg, Ast, Clause, Comparand, Comparator, Comparison, Depth, Element, Flag, Flags, Has, Id,
        IdKind, Keyed, Literal, Operator, Path, Scope, Span, Term, Test, Traversal, TypeRef, ValueTest,
    },
    error::{Diagnostic, ExprError},
    parse,
};
use core::{
    any::{TypeId, type_name},
    ops::{Bound, RangeBounds},
};

/// Puts a [`PairExpr`] together.
///
/// Types are identified by their full path, whether or not they are reflected. Arguments and whole terms may also be
/// given as text. A mistake in the text is returned when the expression is [built](Self::build).
///
/// ```
/// # use bevy_relations::{expr::PairExpr, prelude::*};
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
///
#[doc = include_str!("builder.md")]
#[derive(Clone, Default, Debug)]
#[must_use = "nothing comes of it until `build` is called"]
pub struct PairExprBuilder {
    ast: Ast,
    /// The types that it was given.
    types: Vec<GivenType>,
    /// The first one.
    error: Option<ExprError>,
}

/// A type that a builder was given.
#[derive(Clone, Debug)]
pub(in crate::expr) struct GivenType {
    pub(in crate::expr) of: TypeRef,
    /// Makes a relation known to a world, with its traits. `None` if it was not given as one.
    pub(in crate::expr) register: Option<fn(&mut World) -> Result<(), TraitsError>>,
}

impl GivenType {
    fn new<T: ?Sized + 'static>() -> Self {
        let of = TypeRef { id: TypeId::of::<T>(), name: type_name::<T>() };
        Self { of, register: None }
    }

    fn relation<R: Relation>() -> Self {
        Self { register: Some(|world| world.register_relation::<R>().map(drop)), ..Self::new::<R>() }
    }
}

impl PairExprBuilder {
    /// `T`: a component, a tag, or a resource with [`singleton`](Self::singleton).
    pub fn with<T: ?Sized + 'static>(self) -> Self {
        self.has(GivenType::new::<T>(), Operator::And, None)
    }

    /// `!T`
    pub fn without<T: ?Sized + 'static>(self) -> Self {
        self.has(GivenType::new::<T>(), Operator::Not, None)
    }

    /// `?T`
    pub fn optional<T: ?Sized + 'static>(self) -> Self {
        self.has(GivenType::new::<T>(), Operator::Optional, None)
    }

    /// `(R, target)`
    pub fn pair<R: Relation>(self, target: &str) -> Self {
        self.pair_with::<R>(Operator::And, target)
    }

    /// `!(R, target)`
    pub fn without_pair<R: Relation>(self, target: &str) -> Self {
        self.pair_with::<R>(Operator::Not, target)
    }

    /// `?(R, target)`
    pub fn optional_pair<R: Relation>(self, target: &str) -> Self {
        self.pair_with::<R>(Operator::Optional, target)
    }

    /// `R[key](target)`: the pair of a [keyed relation](crate::relation::KeyedRelation) that has the key.
    ///
    /// ```
    /// # use bevy_relations::{expr::PairExpr, prelude::*};
    /// #[derive(Relation)]
    /// #[relation(key = u8)]
    /// struct Carries(u8);
    ///
    /// let built = PairExpr::builder().pair_by_key::<Carries>("3", "$item").on("$hero").build().unwrap();
    /// # let path = core::any::type_name::<Carries>().trim_end_matches("Carries");
    /// # let written = built.to_string().replace(path, "");
    /// # assert_eq!(written, "Carries[3]($hero, $item)");
    /// ```
    pub fn pair_by_key<R: Relation>(self, key: &str, target: &str) -> Self {
        self.keyed::<R>(Operator::And, key, target)
    }

    /// `!R[key](target)`
    pub fn without_pair_by_key<R: Relation>(self, key: &str, target: &str) -> Self {
        self.keyed::<R>(Operator::Not, key, target)
    }

    /// `?R[key](target)`
    pub fn optional_pair_by_key<R: Relation>(self, key: &str, target: &str) -> Self {
        self.keyed::<R>(Operator::Optional, key, target)
    }

    /// `T($)`: the resource `T`.
    pub fn singleton<T: ?Sized + 'static>(self) -> Self {
        let mut with = self.with::<T>();
        let id = with.id_of(GivenType::new::<T>());
        with.change_source(|source| source.id = id)
    }

    /// `(R, T)`: with the entity that stands for the type `T` as the target.
    pub fn pair_to<R: Relation, T: ?Sized + 'static>(mut self) -> Self {
        let target = Arg::new(self.id_of(GivenType::new::<T>()));
        self.has(GivenType::relation::<R>(), Operator::And, Some(target))
    }

    /// `and|list`: everything that the entity is made of.
    pub fn all_of(self, list: &str) -> Self {
        self.list(Operator::AndFrom, list)
    }

    /// `or|list`: something that the entity is made of.
    pub fn any_of(self, list: &str) -> Self {
        self.list(Operator::OrFrom, list)
    }

    /// `not|list`: nothing that the entity is made of.
    pub fn none_of(self, list: &str) -> Self {
        self.list(Operator::NotFrom, list)
    }

    /// `$left == right`
    pub fn equal(self, left: &str, right: &str) -> Self {
        self.compare(left, right, false)
    }

    /// `$left != right`
    pub fn unequal(self, left: &str, right: &str) -> Self {
        self.compare(left, right, true)
    }

    /// `$left ~= "part"`: the part is in the name, in whatever case.
    pub fn name_contains(mut self, left: &str, part: &str) -> Self {
        if let Some(left) = self.compared(left) {
            let (negated, part) = part.strip_prefix('!').map_or((false, part), |part| (true, part));
            self.push_comparison(left, Comparand::NamePart(part.into()), negated);
        }
        self
    }

    /// `T.field < value`: the field of the component `T`, as it is reflected. The path of a field within another has
    /// dots in it.
    ///
    /// ```
    /// # use bevy_relations::expr::{Comparator, PairExpr};
    /// struct Health;
    /// let weak = PairExpr::builder().field::<Health>("hp", Comparator::Less, 10).on("$pet").build().unwrap();
    /// assert!(weak.to_string().ends_with("Health.hp($pet) < 10"));
    /// ```
    pub fn field<T: ?Sized + 'static>(
        self,
        field: &str,
        comparator: Comparator,
        value: impl Into<Literal>,
    ) -> Self {
        self.compare_field(GivenType::new::<T>(), None, field, comparator, value.into())
    }

    /// `(R.field, target) < value`: the field of the values of pairs of `R`. The target is given before the field.
    pub fn pair_field<R: Relation>(
        mut self,
        target: &str,
        field: &str,
        comparator: Comparator,
        value: impl Into<Literal>,
    ) -> Self {
        match self.arg(target) {
            Some(target) => {
                self.compare_field(GivenType::relation::<R>(), Some(target), field, comparator, value.into())
            }
            None => self,
        }
    }

    /// `[in]`, `[out]`, `[inout]` or `[none]` for the last term.
    pub fn access(self, access: FieldAccess) -> Self {
        let access = match access {
            FieldAccess::None => Access::None,
            FieldAccess::In => Access::In,
            FieldAccess::Out => Access::Out,
            FieldAccess::InOut => Access::InOut,
        };
        self.change_access(access)
    }

    /// The source of the last term, instead of `$this`.
    ///
    /// ```
    /// # use bevy_relations::{expr::PairExpr, prelude::*};
    /// # struct Hostile;
    /// # #[derive(Relation)]
    /// # struct DockedTo;
    /// let in_hostile_port = PairExpr::builder().pair::<DockedTo>("$port").with::<Hostile>().on("$port").build()?;
    /// assert!(in_hostile_port.text().ends_with("Hostile($port)"));
    /// # Ok::<(), bevy_relations::expr::ExprError>(())
    /// ```
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

    /// `down R` for the source of the last term: the nearest holder below it.
    pub fn down<R: Relation>(self) -> Self {
        self.traverse::<R>(&[Flag::Down])
    }

    /// `self` for the source of the last term: it alone, and nothing that it inherits.
    pub fn only_itself(self) -> Self {
        self.change_source(|source| {
            let mut flags = Flags::default();
            flags.insert(Flag::This);
            let (relation, depth, span) = (None, Depth::EVERY, Span::NOWHERE);
            source.traversal = Some(Box::new(Traversal { flags, relation, depth, span }));
        })
    }

    /// `all`: every holder that the last traversal meets, not the nearest alone.
    pub fn every_holder(self) -> Self {
        self.change_traversal(|traversal| traversal.flags.insert(Flag::All))
    }

    /// `desc`: the last [`cascade`](Self::cascade) yields rows from the leaves up.
    pub fn descending(self) -> Self {
        self.change_traversal(|traversal| traversal.flags.insert(Flag::Desc))
    }

    /// How many steps the last traversal goes: `depth(2..=4)`, `depth(3..)`. The first step is number 1.
    pub fn depth(self, steps: impl RangeBounds<u32>) -> Self {
        let min = match steps.start_bound() {
            Bound::Included(&min) => min,
            Bound::Excluded(&min) => min.saturating_add(1),
            Bound::Unbounded => 1,
        };
        let max = match steps.end_bound() {
            Bound::Included(&max) => Some(max),
            Bound::Excluded(&end) => Some(end.saturating_sub(1)),
            Bound::Unbounded => None,
        };
        self.change_traversal(|traversal| {
            traversal.depth = Depth { min, max };
            if traversal.relation.is_none() {
                // A depth is written behind a relation.
                let kind = IdKind::Path(Path(vec!["ChildOf".into()]));
                traversal.relation = Some(Id { kind, span: Span::NOWHERE });
            }
        })
    }

    /// One of several: the terms that the function adds are joined by `||`.
    ///
    /// ```
    /// # use bevy_relations::expr::PairExpr;
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

    /// `!{..}`: the terms that the function adds do not all hold together, for any values of the variables that occur
    /// in it first.
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
    /// If one of the texts has a mistake, or as for [`PairExpr::parse`].
    pub fn build(self) -> Result<PairExpr, ExprError> {
        let Self { mut ast, types, error } = self;
        match error {
            Some(error) => Err(error),
            None => Ok(PairExpr { text: parse::place(&mut ast)?, ast, types }),
        }
    }

    fn pair_with<R: Relation>(mut self, operator: Operator, target: &str) -> Self {
        let target = self.arg(target);
        self.has(GivenType::relation::<R>(), operator, target)
    }

    fn has(mut self, first: GivenType, operator: Operator, target: Option<Arg>) -> Self {
        let first = Arg::new(self.id_of(first));
        self.push_has(operator, first, target);
        self
    }

    fn keyed<R: Relation>(mut self, operator: Operator, key: &str, target: &str) -> Self {
        let relation = self.id_of(GivenType::relation::<R>());
        let key = parse::parse_key(key).map_err(|error| self.fail(error)).ok();
        if let Some((key, target)) = key.zip(self.arg(target)) {
            let (access, source) = (None, Arg::this(Span::NOWHERE));
            let test = Test::Keyed(Box::new(Keyed { access, relation, key, source, target }));
            self.push(Element::Term(Term { operator, test, span: Span::NOWHERE }));
        }
        self
    }

    fn id_of(&mut self, given: GivenType) -> Id {
        let kind = IdKind::Type(given.of);
        self.add_type(given);
        Id { kind, span: Span::NOWHERE }
    }

    fn add_type(&mut self, given: GivenType) {
        match self.types.iter_mut().find(|known| known.of == given.of) {
            Some(known) => known.register = known.register.or(given.register),
            None => self.types.push(given),
        }
    }

    fn push_has(&mut self, operator: Operator, first: Arg, target: Option<Arg>) {
        self.push_value(operator, first, target, None);
    }

    fn push_value(
        &mut self,
        operator: Operator,
        first: Arg,
        target: Option<Arg>,
        value: Option<Box<ValueTest>>,
    ) {
        let source = Some(Arg::this(Span::NOWHERE));
        let has = Has { access: None, first, source, target, value };
        self.push(Element::Term(Term { operator, test: Test::Has(has), span: Span::NOWHERE }));
    }

    fn compare_field(
        mut self,
        of: GivenType,
        target: Option<Arg>,
        field: &str,
        comparator: Comparator,
        literal: Literal,
    ) -> Self {
        let names = core::iter::once(of.of.name).chain(field.split('.')).map(Into::into);
        let kind = IdKind::Path(Path(names.collect()));
        self.add_type(of);
        let test = Box::new(ValueTest { comparator, literal, span: Span::NOWHERE });
        self.push_value(Operator::And, Arg::new(Id { kind, span: Span::NOWHERE }), target, Some(test));
        self
    }

    fn list(mut self, operator: Operator, list: &str) -> Self {
        if let Some(list) = self.arg(list) {
            self.push_has(operator, list, None);
        }
        self
    }

    fn compare(mut self, left: &str, right: &str, negated: bool) -> Self {
        if let Some(left) = self.compared(left)
            && let Some(right) = self.compared(right)
        {
            self.push_comparison(left, Comparand::Id(right), negated);
        }
        self
    }

    /// One side of a comparison.
    fn compared(&mut self, text: &str) -> Option<Id> {
        let Arg { id, traversal } = self.arg(text)?;
        if let Some(traversal) = traversal {
            let fault = Diagnostic::rule(traversal.span, "a comparison has no traversal");
            self.fail(fault.in_text(text));
            return None;
        }
        Some(id)
    }

    fn push_comparison(&mut self, left: Id, right: Comparand, negated: bool) {
        let test = Test::Compare(Comparison { left, negated, right, span: Span::NOWHERE });
        self.push(Element::Term(Term { operator: Operator::And, test, span: Span::NOWHERE }));
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
        let Self { ast, types, error } = add(Self::default());
        types.into_iter().for_each(|given| self.add_type(given));
        if let Some(error) = error {
            self.fail(error);
        }
        ast.clauses
    }

    fn arg(&mut self, text: &str) -> Option<Arg> {
        parse::parse_arg(text).map_err(|error| self.fail(error)).ok()
    }

    fn traverse<R: Relation>(mut self, words: &[Flag]) -> Self {
        let mut flags = Flags::default();
        words.iter().for_each(|&flag| flags.insert(flag));
        let relation = Some(self.id_of(GivenType::relation::<R>()));
        let traversal = Box::new(Traversal { flags, relation, depth: Depth::EVERY, span: Span::NOWHERE });
        self.change_source(|source| source.traversal = Some(traversal))
    }

    fn change_access(mut self, access: Access) -> Self {
        let last = self.ast.clauses.last_mut().and_then(|clause| clause.branches.last_mut());
        match last {
            Some(Element::Term(Term { test: Test::Has(has), .. })) => has.access = Some(access),
            Some(Element::Term(Term { test: Test::Keyed(keyed), .. })) => keyed.access = Some(access),
            _ => self.fail_at_end("no term that asks for something stands before what changes it"),
        }
        self
    }

    fn change_source(mut self, change: impl FnOnce(&mut Arg)) -> Self {
        let last = self.ast.clauses.last_mut().and_then(|clause| clause.branches.last_mut());
        match last {
            Some(Element::Term(Term { test: Test::Has(Has { source: Some(source), .. }), .. })) => {
                change(source);
            }
            Some(Element::Term(Term { test: Test::Keyed(keyed), .. })) => change(&mut keyed.source),
            _ => self.fail_at_end("no term with a source stands before what changes it"),
        }
        self
    }

    fn change_traversal(mut self, change: impl FnOnce(&mut Traversal)) -> Self {
        let last = self.ast.clauses.last_mut().and_then(|clause| clause.branches.last_mut());
        match last {
            Some(Element::Term(Term {
                test: Test::Has(Has { source: Some(Arg { traversal: Some(traversal), .. }), .. }),
                ..
            })) => change(traversal),
            _ => self.fail_at_end("no term with a traversal stands before what changes it"),
        }
        self
    }

    fn fail_at_end(&mut self, message: &'static str) {
        self.fail(Diagnostic::rule(Span::NOWHERE, message).in_text(""));
    }

    fn fail(&mut self, error: ExprError) {
        self.error.get_or_insert(error);
    }
}
