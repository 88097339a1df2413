//! From what an expression says to what that means in a world.

mod member;
mod name;
mod site;
mod suggest;
mod term;

#[cfg(feature = "serialize")]
pub(super) use name::{reflected_types, with_relation_types};
pub(super) use site::Site;

use super::{
    PairExpr,
    ast::{
        Ast, Clause, Element as AstElement, Has, IdKind, Operator as AstOperator, Span, Term as AstTerm, Test,
    },
    bound::{
        BoundQuery, Cascade, ChainSource, Comparand, Condition, Element, Item, OrChain, Term, Var, VarSet,
        Variable,
    },
    builder::GivenType,
    error::{Diagnostic, ExprError},
    reads::Reads,
};
use crate::{
    ops::{Participant, TypeEntity, ensure_store},
    relation::Prefab,
};
use alloc::{boxed::Box, format, string::String, vec::Vec};
use bevy_ecs::{component::ComponentId, entity_disabling::Disabled, hierarchy::Children, name::Name};
use bevy_platform::collections::HashMap;
use name::Meaning;
use term::Prepared;

/// What resolving gives, or what is wrong.
type Resolved<T> = Result<T, Box<Diagnostic>>;

/// Resolves an expression.
///
/// # Errors
/// If a name is not known or means several things, or a rule of the world's relations and components is broken.
pub(super) fn resolve(expr: &PairExpr, mut site: Site<'_>) -> Result<BoundQuery, ExprError> {
    if let Some(world) = site.world_mut() {
        ensure_store(world);
        // Both are known by their names, whether or not an entity has them yet.
        world.register_component::<Prefab>();
        world.register_component::<Disabled>();
        for given in &expr.types {
            (given.register)(world).map_err(|error| {
                let expected = format!("a relation whose traits fit ({error})");
                Diagnostic::rule(Span::NOWHERE, expected).in_text(&expr.text)
            })?;
        }
    }
    Resolver::new(site, &expr.types).query(&expr.ast).map_err(|fault| fault.in_text(&expr.text))
}

/// The components that `*` does not match: of this crate, and those that keep pairs.
pub(super) fn internal_components(reads: Reads<'_>) -> Vec<ComponentId> {
    let components = reads.components();
    let own = [
        components.component_id::<Participant>(),
        components.component_id::<TypeEntity>(),
        components.component_id::<Children>(),
    ];
    own.into_iter().flatten().chain(adopted_components(reads)).collect()
}

/// Components that do not make an entity what it is.
pub(super) fn unlisted_components(reads: Reads<'_>, internal: &[ComponentId]) -> Vec<ComponentId> {
    let components = reads.components();
    let own = [components.component_id::<Name>(), components.component_id::<Prefab>()];
    own.into_iter().flatten().chain(reads.disabling()).chain(internal.iter().copied()).collect()
}

/// The components of adopted relationships.
fn adopted_components(reads: Reads<'_>) -> Vec<ComponentId> {
    let Some(store) = reads.store() else { return Vec::new() };
    let adopted = store.registry.entries.iter().filter_map(|entry| entry.adopted);
    adopted.filter_map(|adopted| reads.components().get_id(adopted.kind.type_id)).collect()
}

struct Resolver<'w> {
    site: Site<'w>,
    query: BoundQuery,
    /// The variables that can be seen, scope by scope.
    scopes: Vec<HashMap<String, Var>>,
    /// What the names of types mean that a builder has written.
    given: &'w [GivenType],
    /// Components that are written, by which field.
    written: Vec<(ComponentId, u16)>,
    /// Variables that are compared with each other, and where.
    compared: Vec<([Var; 2], Span)>,
}

impl<'w> Resolver<'w> {
    fn new(site: Site<'w>, given: &'w [GivenType]) -> Self {
        let this = Variable { name: super::ast::THIS.into(), local: false };
        let query = BoundQuery { variables: alloc::vec![this], ..BoundQuery::default() };
        let mut outermost = HashMap::new();
        outermost.insert(super::ast::THIS.into(), Var::THIS);
        let scopes = alloc::vec![outermost];
        Self { site, query, scopes, given, written: Vec::new(), compared: Vec::new() }
    }

    fn query(mut self, ast: &Ast) -> Resolved<BoundQuery> {
        self.query.items = self.clauses(&ast.clauses)?;
        self.check_compared()?;
        Ok(self.query)
    }

    /// A comparison of two variables needs a term that says what one of them is.
    fn check_compared(&self) -> Resolved<()> {
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
                    return Err(Diagnostic::rule(*span, "variables of which another term says what one is"));
                }
                Some(_) => {}
            }
        }
    }

    fn clauses(&mut self, clauses: &[Clause]) -> Resolved<Vec<Item>> {
        let mut items = Vec::new();
        for clause in clauses {
            match &clause.branches[..] {
                [element] => self.element(element, &mut items, None)?,
                branches => items.push(self.chain(branches)?),
            }
        }
        Ok(items)
    }

    fn element(&mut self, element: &AstElement, items: &mut Vec<Item>, field: Option<u16>) -> Resolved<()> {
        match element {
            AstElement::Term(term) => self.term(term, items, field),
            AstElement::Scope(scope) if scope.negated => {
                self.scopes.push(HashMap::new());
                let inner = self.clauses(&scope.clauses);
                self.scopes.pop();
                items.push(Item::Not(inner?));
                Ok(())
            }
            AstElement::Scope(scope) => {
                items.extend(self.clauses(&scope.clauses)?);
                Ok(())
            }
        }
    }

    /// Branches of which one holds: one field for all, but terms in scopes have their own.
    fn chain(&mut self, branches: &[AstElement]) -> Resolved<Item> {
        let text = branches.iter().map(alloc::string::ToString::to_string).collect::<Vec<_>>().join(" || ");
        let access = branches.iter().find_map(|branch| match branch {
            AstElement::Term(AstTerm { test: Test::Has(has), .. }) => has.access,
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

    fn wildcard(&mut self) -> Element {
        Element::Var(self.unnamed())
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
            Item::Term(Term { condition: Condition::Equal { right: Comparand::Var(_), .. }, .. }) => {}
            Item::Term(_) => bound.extend(&item.binds()),
            Item::Not(items) => collect_bound(items, bound),
            Item::Or(chain) => chain.branches.iter().for_each(|branch| collect_bound(branch, bound)),
        }
    }
}

/// What a branch is about.
fn source_of_branch(branch: &AstElement, items: &[Item]) -> ChainSource {
    if let AstElement::Term(AstTerm { test: Test::Has(Has { source: Some(source), .. }), .. }) = branch
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

impl From<super::ast::Access> for super::bound::FieldAccess {
    fn from(access: super::ast::Access) -> Self {
        use super::ast::Access;
        match access {
            Access::In => Self::In,
            Access::Out => Self::Out,
            Access::InOut => Self::InOut,
            Access::None => Self::None,
        }
    }
}

/// How a term of the text counts, and whether it asks for the ids of another entity.
fn is_list(operator: AstOperator) -> Option<super::bound::ListMode> {
    use super::bound::ListMode;
    match operator {
        AstOperator::AndFrom => Some(ListMode::All),
        AstOperator::OrFrom => Some(ListMode::Some),
        AstOperator::NotFrom => Some(ListMode::None),
        AstOperator::And | AstOperator::Not | AstOperator::Optional => None,
    }
}
