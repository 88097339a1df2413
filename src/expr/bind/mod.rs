//! From what an expression says to what that means in a world.

mod binder;
mod context;
mod field;
mod keyed;
mod member;
mod name;
mod query;
#[cfg(feature = "bevy_reflect")]
mod reflected;
#[cfg(feature = "bevy_reflect")]
mod scalar;
mod suggest;
mod term;
#[cfg(feature = "bevy_reflect")]
mod unknown;
#[cfg_attr(not(feature = "bevy_reflect"), expect(dead_code, reason = "fields are read by reflection"))]
mod value;
mod vars;

pub(super) use binder::BindResult;
pub(crate) use context::BindContext;
#[cfg(feature = "bevy_reflect")]
pub(super) use keyed::read as read_key;
#[cfg(feature = "remote")]
pub(crate) use name::NamedElement;
#[cfg(feature = "bevy_reflect")]
pub(super) use name::{Meaning, meaning_of, names_entities};
#[cfg(feature = "serialize")]
pub(super) use name::{reflected_types, with_relation_types};
pub(super) use query::ListMode;
pub(crate) use query::{
    Atom, AtomId, BoundComparand, BoundElement, BoundOperator, BoundQuery, BoundTerm, BoundTraversal,
    CascadeOrder, ChainSource, Condition, Item, OrChain, PairAtom,
};
pub(crate) use query::{KeyedAtom, MemberAtom, ValueAtom, ValueHolder};
#[cfg(feature = "bevy_reflect")]
pub(super) use reflected::{Field, fields_of};
#[cfg(feature = "bevy_reflect")]
pub(super) use scalar::{NoScalar, scalar_at};
#[cfg(feature = "bevy_reflect")]
pub(crate) use unknown::type_with_unknown_fields;
pub(super) use value::BoundValueTest;
#[cfg(feature = "bevy_reflect")]
pub(super) use value::ScalarKind;
pub(crate) use vars::{Var, VarSet};

use super::text::PairExpr;
use crate::{ops::use_all_relations, relation::Prefab};
use alloc::{format, vec::Vec};
use bevy_ecs::{entity::Entity, entity_disabling::Disabled, resource::IS_RESOURCE};
use bevy_platform::collections::HashMap;
use bevy_relations_syntax::{
    ast::{Ast, Clause, Element, Has, IdKind, Span, Term, Test},
    error::{Diagnostic, ExprError},
};
use binder::Binder;

/// Binds an expression.
///
/// # Errors
/// If a name is not known or means several things, or a rule of the world's relations and components is broken.
pub(crate) fn bind(expr: &PairExpr, mut context: BindContext<'_>) -> Result<BoundQuery, ExprError> {
    if let Some(world) = context.world_mut() {
        use_all_relations(world);
        // Both are known by their names, whether or not an entity has them yet.
        world.register_component::<Prefab>();
        world.register_component::<Disabled>();
        for register in expr.types.iter().filter_map(|given| given.register) {
            register(world).map_err(|error| {
                let message = format!("the relation cannot be registered: {error}");
                Diagnostic::rule(Span::NOWHERE, message).in_text(&expr.text)
            })?;
        }
    }
    Binder::new(context, &expr.types).query(&expr.ast).map_err(|fault| fault.in_text(&expr.text))
}

impl Binder<'_> {
    fn query(mut self, ast: &Ast) -> BindResult<BoundQuery> {
        self.query.items = self.clauses(&ast.clauses)?;
        self.check_compared()?;
        self.check_resources()?;
        Ok(self.query)
    }

    /// `$this` is the entity of a resource only if the marker of these is named.
    fn check_resources(&self) -> BindResult<()> {
        let Some(&span) = self.resources.first() else { return Ok(()) };
        let access = self.context.access();
        let component_of = |entity: Entity| {
            let type_id = access.store()?.registry().type_of(entity)?;
            access.components().get_id(type_id)
        };
        let mut is_named = false;
        let mut named = |component| is_named |= component == IS_RESOURCE;
        self.query.items.iter().for_each(|item| item.names_of_this(&component_of, &mut named));
        if is_named {
            return Ok(());
        }
        let message = "`$this` is never the entity of a resource: write `Clock($)`, or register a singleton";
        Err(Diagnostic::rule(span, message))
    }

    /// A comparison of two variables needs a term that says what one of them is.
    fn check_compared(&self) -> BindResult<()> {
        if self.compared.is_empty() {
            return Ok(());
        }
        let mut bound = VarSet::default();
        collect_bound(&self.query.items, &mut bound);
        let mut open: Vec<_> = self.compared.iter().collect();
        loop {
            let before = open.len();
            open.retain(|(vars, _)| {
                let known = vars.iter().any(|&var| bound.contains(var));
                if known {
                    bound.extend(&vars.iter().copied().collect());
                }
                !known
            });
            match open.first() {
                None => return Ok(()),
                Some((_, span)) if open.len() == before => {
                    return Err(Diagnostic::rule(*span, "no other term says what one of these variables is"));
                }
                Some(_) => {}
            }
        }
    }

    fn clauses(&mut self, clauses: &[Clause]) -> BindResult<Vec<Item>> {
        let mut items = Vec::new();
        for clause in clauses {
            match &clause.branches[..] {
                [element] => self.element(element, &mut items, None)?,
                branches => items.push(self.chain(branches)?),
            }
        }
        Ok(items)
    }

    fn element(&mut self, element: &Element, items: &mut Vec<Item>, field: Option<u16>) -> BindResult<()> {
        match element {
            Element::Term(term) => self.term(term, items, field),
            Element::Scope(scope) if scope.negated => {
                self.scopes.push(HashMap::new());
                let inner = self.clauses(&scope.clauses);
                self.scopes.pop();
                items.push(Item::Not(inner?));
                Ok(())
            }
            Element::Scope(scope) => {
                items.extend(self.clauses(&scope.clauses)?);
                Ok(())
            }
        }
    }

    /// Branches of which one holds: one field for all, but terms in scopes have their own.
    fn chain(&mut self, branches: &[Element]) -> BindResult<Item> {
        let text = branches.iter().map(alloc::string::ToString::to_string).collect::<Vec<_>>().join(" || ");
        let access = branches.iter().find_map(|branch| match branch {
            Element::Term(Term { test: Test::Has(has), .. }) => has.access,
            Element::Term(Term { test: Test::Keyed(keyed), .. }) => keyed.access,
            _ => None,
        });
        let field = self.add_field(text, access.map(Into::into));
        let mut chain = OrChain { field: Some(field), source: ChainSource::Fixed, branches: Vec::new() };
        for branch in branches {
            let mut items = Vec::new();
            self.element(branch, &mut items, Some(field))?;
            if chain.source == ChainSource::Fixed {
                chain.source = source_of_branch(branch, &items);
            }
            chain.branches.push(items);
        }
        Ok(Item::Or(chain))
    }
}

/// The variables to which something else than another variable gives a value.
fn collect_bound(items: &[Item], bound: &mut VarSet) {
    for item in items {
        match item {
            Item::Term(BoundTerm {
                condition: Condition::Equal { right: BoundComparand::Var(_), .. },
                ..
            }) => {}
            Item::Term(_) => bound.extend(&item.binds()),
            Item::Not(items) => collect_bound(items, bound),
            Item::Or(chain) => chain.branches.iter().for_each(|branch| collect_bound(branch, bound)),
        }
    }
}

/// What a branch is about.
fn source_of_branch(branch: &Element, items: &[Item]) -> ChainSource {
    let source = match branch {
        Element::Term(Term { test: Test::Has(Has { source, .. }), .. }) => source.as_ref(),
        Element::Term(Term { test: Test::Keyed(keyed), .. }) => Some(&keyed.source),
        _ => None,
    };
    if source.is_some_and(|source| matches!(source.id.kind, IdKind::Wildcard | IdKind::Any)) {
        return ChainSource::Open;
    }
    items.iter().find_map(source_of).map_or(ChainSource::Fixed, ChainSource::Var)
}

/// What an item is about.
fn source_of(item: &Item) -> Option<Var> {
    match item {
        Item::Term(term) => term.condition.source(),
        Item::Not(_) => None,
        Item::Or(OrChain { source: ChainSource::Var(source), .. }) => Some(*source),
        Item::Or(_) => None,
    }
}
