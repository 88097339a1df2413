//! What terms are bound with: the query so far, and the variables in sight.

use super::{
    context::BindContext,
    query::{BoundElement, BoundQuery, CascadeOrder, ListMode, Variable},
    vars::Var,
};
use crate::expr::text::GivenType;
use alloc::{boxed::Box, string::String, vec::Vec};
use bevy_ecs::{component::ComponentId, entity::Entity};
use bevy_platform::collections::HashMap;
use bevy_relations_syntax::{
    ast::{Operator, Span, THIS},
    error::Diagnostic,
};

/// What binding yields, or what is wrong.
pub(in crate::expr) type BindResult<T> = Result<T, Box<Diagnostic>>;

/// Binds an expression, term by term.
pub(super) struct Binder<'w> {
    pub(super) context: BindContext<'w>,
    pub(super) query: BoundQuery,
    /// The variables that can be seen, scope by scope.
    pub(super) scopes: Vec<HashMap<String, Var>>,
    /// What the names of types mean that a builder has written.
    pub(super) given: &'w [GivenType],
    /// Components that are written, by which field.
    pub(super) written: Vec<(ComponentId, u16)>,
    /// Variables that are compared with each other, and where.
    pub(super) compared: Vec<([Var; 2], Span)>,
    /// As `BoundTerm::pinned`, of the term that is being bound.
    pub(super) pinned: Vec<Entity>,
    /// Where resources are asked for on `$this`.
    pub(super) resources: Vec<Span>,
}

impl<'w> Binder<'w> {
    pub(super) fn new(context: BindContext<'w>, given: &'w [GivenType]) -> Self {
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

    pub(super) fn new_variable(&mut self, name: &str, local: bool) -> Var {
        self.query.variables.push(Variable { name: name.into(), local });
        Var(self.query.variables.len() as u16 - 1)
    }

    /// The variable with a name, made if there is none in sight.
    pub(super) fn variable(&mut self, name: &str) -> Var {
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

    pub(super) fn wildcard(&mut self) -> BoundElement {
        BoundElement::Var(self.unnamed())
    }

    /// A variable that only fields know.
    pub(super) fn unnamed(&mut self) -> Var {
        self.new_variable("", self.scopes.len() > 1)
    }

    pub(super) fn cascade(&mut self, cascade: CascadeOrder) {
        self.query.cascade = Some(cascade);
    }
}

/// How a term of the text counts, and whether it asks for the ids of another entity.
pub(super) fn is_list(operator: Operator) -> Option<ListMode> {
    match operator {
        Operator::AndFrom => Some(ListMode::All),
        Operator::OrFrom => Some(ListMode::Some),
        Operator::NotFrom => Some(ListMode::None),
        Operator::And | Operator::Not | Operator::Optional => None,
    }
}
