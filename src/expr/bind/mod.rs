//! From what an expression says to what that means in a world.

mod context;
mod member;
mod name;
mod query;
mod suggest;
mod term;
mod vars;

pub(super) use context::BindContext;
#[cfg(feature = "serialize")]
pub(super) use name::{reflected_types, with_relation_types};
pub(super) use query::{
    Atom, AtomId, BoundComparand, BoundElement, BoundOperator, BoundQuery, BoundTerm, BoundTraversal,
    Cascade, ChainSource, Condition, Item, ListMode, MemberAtom, OrChain, PairAtom,
};
pub(super) use vars::{Var, VarSet};

use super::text::{GivenType, PairExpr};
use crate::{ops::ensure_store, relation::Prefab};
use alloc::{boxed::Box, format, string::String, vec::Vec};
use bevy_ecs::{component::ComponentId, entity::Entity, entity_disabling::Disabled, resource::IS_RESOURCE};
use bevy_platform::collections::HashMap;
use bevy_relations_syntax::{
    ast::{Ast, Clause, Element, Has, IdKind, Operator, Span, THIS, Term, Test},
    error::{Diagnostic, ExprError},
};
use name::Meaning;
use query::Variable;
use term::Prerequisites;

/// What binding yields, or what is wrong.
type BindResult<T> = Result<T, Box<Diagnostic>>;

/// Binds an expression.
///
/// # Errors
/// If a name is not known or means several things, or a rule of the world's relations and components is broken.
pub(super) fn bind(expr: &PairExpr, mut context: BindContext<'_>) -> Result<BoundQuery, ExprError> {
    if let Some(world) = context.world_mut() {
        ensure_store(world);
        // Both are known by their names, whether or not an entity has them yet.
        world.register_component::<Prefab>();
        world.register_component::<Disabled>();
        for given in &expr.types {
            (given.register)(world).map_err(|error| {
                let message = format!("the relation cannot be registered: {error}");
                Diagnostic::rule(Span::NOWHERE, message).in_text(&expr.text)
            })?;
        }
    }
    Binder::new(context, &expr.types).query(&expr.ast).map_err(|fault| fault.in_text(&expr.text))
}

struct Binder<'w> {
    context: BindContext<'w>,
    query: BoundQuery,
    /// The variables that can be seen, scope by scope.
    scopes: Vec<HashMap<String, Var>>,
    /// What the names of types mean that a builder has written.
    given: &'w [GivenType],
    /// Components that are written, by which field.
    written: Vec<(ComponentId, u16)>,
    /// Variables that are compared with each other, and where.
    compared: Vec<([Var; 2], Span)>,
    /// As [`BoundTerm::pinned`], of the term that is being bound.
    pinned: Vec<Entity>,
    /// Where resources are asked for on `$this`.
    resources: Vec<Span>,
}

impl<'w> Binder<'w> {
    fn new(context: BindContext<'w>, given: &'w [GivenType]) -> Self {
        let this = Variable { name: THIS.into(), local: false };
        let query = BoundQuery { variables: alloc::vec![this], ..BoundQuery::default() };
        let mut outermost = HashMap::new();
        outermost.insert(THIS.into(), Var::THIS);
        let scopes = alloc::vec![outermost];
        Self {
            context,
            query,
            scopes,
            given,
            written: Vec::new(),
            compared: Vec::new(),
            pinned: Vec::new(),
            resources: Vec::new(),
        }
    }

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
            let type_id = access.store()?.registry.type_entities.get(&entity)?;
            access.components().get_id(*type_id)
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

    fn new_variable(&mut self, name: &str, local: bool) -> Var {
        self.query.variables.push(Variable { name: name.into(), local });
        Var(self.query.variables.len() as u16 - 1)
    }

    /// The variable with a name, made if there is none in sight.
    fn variable(&mut self, name: &str) -> Var {
        if let Some(&var) = self.scopes.iter().rev().find_map(|scope| scope.get(name)) {
            return var;
        }
        let local = self.scopes.len() > 1;
        let var = self.new_variable(name, local);
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.into(), var);
        }
        var
    }

    fn wildcard(&mut self) -> BoundElement {
        BoundElement::Var(self.unnamed())
    }

    /// A variable that only fields know.
    fn unnamed(&mut self) -> Var {
        self.new_variable("", self.scopes.len() > 1)
    }

    fn cascade(&mut self, cascade: Cascade) {
        self.query.cascade = Some(cascade);
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
    if let Element::Term(Term { test: Test::Has(Has { source: Some(source), .. }), .. }) = branch
        && matches!(source.id.kind, IdKind::Wildcard | IdKind::Any)
    {
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

/// How a term of the text counts, and whether it asks for the ids of another entity.
fn is_list(operator: Operator) -> Option<ListMode> {
    match operator {
        Operator::AndFrom => Some(ListMode::All),
        Operator::OrFrom => Some(ListMode::Some),
        Operator::NotFrom => Some(ListMode::None),
        Operator::And | Operator::Not | Operator::Optional => None,
    }
}
