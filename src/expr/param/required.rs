//! What an expression reads and writes besides pairs and where entities are.

use crate::{
    expr::{
        bind::{
            Atom, AtomId, BoundComparand, BoundElement, BoundOperator, BoundQuery, BoundTerm, Condition,
            Item, PairAtom, ValueAtom, ValueHolder, Var,
        },
        eval::WorldAccess,
        text::FieldAccess,
    },
    relation::CHILD_OF,
};
use alloc::{
    borrow::Cow,
    format,
    string::{String, ToString},
    vec::Vec,
};
use bevy_ecs::{
    component::{Component, ComponentId, Components},
    hierarchy::Children,
    name::Name,
    query::{Access, AccessConflicts},
};
use core::any::TypeId;
use smallvec::SmallVec;

/// What a system has to declare to evaluate an expression, and to look at its rows.
///
/// Whether an entity has a component shows in its archetype, which takes no access. So a term needs access only
/// for its value: to read it, unless it says otherwise.
#[derive(Default)]
pub(super) struct RequiredAccess {
    /// Fields on whichever entity.
    pub(super) elsewhere: Access,
    /// Fields of `$this` itself.
    pub(super) own: Access,
    /// Fields of `$this` that are left to the typed data beside the expression.
    pub(super) left: Access,
    /// Entities are looked up by their names.
    pub(super) names: bool,
    /// Children are gone through in their order.
    pub(super) children: bool,
    /// The terms that fields of these components come from, for messages: components have names only in debug builds
    /// of Bevy.
    pub(super) terms: Vec<(ComponentId, String)>,
    /// Terms whose rows would give values if such pairs had any.
    without_values: Vec<PairTerm>,
    /// Components that `$this` has in every row, and those that it has in none.
    pub(super) with: SmallVec<[ComponentId; 4]>,
    pub(super) without: SmallVec<[ComponentId; 4]>,
}

impl RequiredAccess {
    pub(super) fn new(query: &BoundQuery, access: WorldAccess<'_>) -> Self {
        let mut required = Self { names: query.awaits_names || !query.named.is_empty(), ..Self::default() };
        let mut collector = AccessCollector { query, access, required: &mut required };
        query.items.iter().for_each(|item| collector.filter(item));
        collector.items(&query.items, true);
        required
    }

    /// What a conflict is about: the terms, or the names of components that no term asks for.
    pub(super) fn describe(&self, conflicts: &AccessConflicts, components: &Components) -> String {
        let AccessConflicts::Individual(shared) = conflicts else { return "any component".into() };
        let describe = |id| {
            let mut terms = self.terms.iter().filter(|term| term.0 == id).map(|term| Cow::Borrowed(&*term.1));
            let name = || Some(Cow::Owned(components.get_name(id)?.shortname().to_string()));
            terms.next().or_else(name)
        };
        let described = shared.iter().filter_map(describe).map(|text| format!("`{text}`"));
        described.collect::<Vec<_>>().join(", ")
    }

    /// A term whose pairs have values by now that the system has not declared.
    pub(super) fn undeclared_values(&self, access: WorldAccess<'_>) -> Option<&str> {
        let is_undeclared = |term: &&PairTerm| {
            let values = column(access, &term.by_now(access));
            values.is_some_and(|values| !self.elsewhere.has_read(values))
        };
        self.without_values.iter().find(is_undeclared).map(|term| &*term.text)
    }

    /// Takes over what is not known yet from what another meaning of the names requires.
    pub(super) fn await_values_of(&mut self, other: Self) {
        self.without_values = other.without_values;
    }

    /// Whether a system that has declared `other` may run it.
    pub(super) fn fits(&self, other: &Self) -> bool {
        let every = |of: &[ComponentId], among: &[ComponentId]| of.iter().all(|id| among.contains(id));
        let mut declared = other.elsewhere.clone();
        declared.extend(&other.own);
        let mut given = declared.clone();
        given.extend(&other.left);
        self.elsewhere.is_subset(&declared)
            && self.own.is_subset(&given)
            && (other.names || !self.names)
            && every(&other.with, &self.with)
            && every(&other.without, &self.without)
    }
}

/// A term about pairs.
struct PairTerm {
    pair: PairAtom,
    /// Which types the relation and the target stand for: they may get other entities.
    types: [Option<TypeId>; 2],
    text: String,
}

impl PairTerm {
    /// With the entities that stand for the types by now.
    fn by_now(&self, access: WorldAccess<'_>) -> PairAtom {
        let by_now = |element, type_id: Option<TypeId>| {
            let entity = type_id.and_then(|id| access.store()?.registry().entity_of(id));
            entity.map_or(element, BoundElement::Entity)
        };
        let [relation, target] = self.types;
        PairAtom {
            relation: by_now(self.pair.relation, relation),
            target: by_now(self.pair.target, target),
            ..self.pair
        }
    }
}

struct AccessCollector<'a> {
    query: &'a BoundQuery,
    access: WorldAccess<'a>,
    required: &'a mut RequiredAccess,
}

impl AccessCollector<'_> {
    /// What a term that every row fulfils says about `$this`.
    fn filter(&mut self, item: &Item) {
        let Item::Term(term) = item else { return };
        let Condition::Match(Atom {
            source: BoundElement::Var(Var::THIS),
            id: AtomId::Component(component),
            subtypes: false,
            traversal: None,
            ..
        }) = term.condition
        else {
            return;
        };
        match term.operator {
            BoundOperator::And => self.required.with.push(component),
            BoundOperator::Not => self.required.without.push(component),
            BoundOperator::Optional => {}
        }
    }

    /// `seen` says whether rows have fields of these terms.
    fn items(&mut self, items: &[Item], seen: bool) {
        for item in items {
            match item {
                Item::Term(term) => {
                    let field = term.field.and_then(|field| self.query.fields.get(field as usize));
                    let access = field.and_then(|field| field.access).unwrap_or(FieldAccess::In);
                    let valued = seen && term.operator != BoundOperator::Not;
                    self.condition(&term.condition, if valued { access } else { FieldAccess::None });
                    let component = match &term.condition {
                        Condition::Match(Atom { id: AtomId::Component(component), .. }) => Some(*component),
                        Condition::Member(member) => Some(member.component),
                        Condition::Keyed(keyed) => self.column_of(&keyed.atom),
                        Condition::Value(value) => self.of_value(value),
                        _ => None,
                    };
                    if let Some(field) = field.filter(|_| valued && access != FieldAccess::None) {
                        self.await_values(term, &field.text);
                    }
                    let described = field.zip(component);
                    self.required
                        .terms
                        .extend(described.map(|(field, component)| (component, field.text.clone())));
                }
                Item::Not(items) => self.items(items, false),
                Item::Or(chain) => chain.branches.iter().for_each(|items| self.items(items, seen)),
            }
        }
    }

    /// Notes a term whose pairs have no values so far.
    fn await_values(&mut self, term: &BoundTerm, text: &str) {
        let Condition::Match(Atom { id: AtomId::Pair(pair), .. }) = &term.condition else { return };
        if pair.relation.entity().is_some() && self.column(pair).is_none() {
            let types = [pair.relation, pair.target].map(|element| {
                let entity = element.entity().filter(|entity| !term.pinned.contains(entity))?;
                self.access.store()?.registry().type_of(entity)
            });
            self.required.without_values.push(PairTerm { pair: *pair, types, text: text.into() });
        }
    }

    fn condition(&mut self, condition: &Condition, access: FieldAccess) {
        match condition {
            Condition::Match(atom) => self.atom(atom, access),
            Condition::Member(member) => self.required.elsewhere.add_read(member.component),
            Condition::Keyed(keyed) => {
                // The key is in the value.
                let column = self.column_of(&keyed.atom);
                column.into_iter().for_each(|column| self.required.elsewhere.add_read(column));
            }
            Condition::Value(value) => {
                // The pair itself, and then the value, whatever the term says about access.
                self.atom(&value.atom, FieldAccess::None);
                let component = self.of_value(value);
                component.into_iter().for_each(|component| self.required.elsewhere.add_read(component));
            }
            Condition::Equal { right: BoundComparand::Path(_), .. } | Condition::Child { .. } => {
                self.required.names = true;
                self.read::<Name>();
                self.read::<Children>();
            }
            Condition::Equal { right: BoundComparand::Part(_), .. } => self.read::<Name>(),
            Condition::Equal { .. } | Condition::Always | Condition::List { .. } => {}
        }
    }

    /// Rows that are kept follow when it was written.
    fn read<C: Component>(&mut self) {
        let component = self.access.components().component_id::<C>();
        component.into_iter().for_each(|component| self.required.elsewhere.add_read(component));
    }

    /// What a comparison of a field reads.
    fn of_value(&self, value: &ValueAtom) -> Option<ComponentId> {
        match (value.holder, &value.atom.id) {
            (ValueHolder::Component(component), _) => Some(component),
            (ValueHolder::Pair(_), AtomId::Pair(pair)) => self.column(pair),
            (ValueHolder::Pair(_), _) => None,
        }
    }

    fn atom(&mut self, atom: &Atom, access: FieldAccess) {
        let own = atom.source == BoundElement::Var(Var::THIS) && atom.traversal.is_none();
        if atom
            .traversal
            .is_some_and(|walk| walk.down && self.is_child_of(BoundElement::Entity(walk.relation)))
        {
            self.required.children = true;
            self.read::<Children>();
        }
        match atom.id {
            AtomId::Component(component) => self.value(component, access, own),
            AtomId::Pair(pair) => {
                let walks_down = pair.target_traversal.is_some_and(|walk| walk.down);
                self.required.children |= walks_down || self.is_child_of(pair.relation);
                if walks_down {
                    self.read::<Children>();
                }
                let column = self.column(&pair).filter(|_| access != FieldAccess::None);
                // Rows give the values of pairs to be read.
                column.into_iter().for_each(|column| self.required.elsewhere.add_read(column));
            }
            AtomId::Tag(_) | AtomId::AnyId(_) => {}
        }
    }

    fn value(&mut self, component: ComponentId, access: FieldAccess, own: bool) {
        let info = self.access.components().get_info(component);
        if info.is_none_or(|info| info.layout().size() == 0) {
            return;
        }
        let needed = if own { &mut self.required.own } else { &mut self.required.elsewhere };
        match access {
            FieldAccess::None => {}
            FieldAccess::In => needed.add_read(component),
            FieldAccess::Out | FieldAccess::InOut => needed.add_write(component),
        }
    }

    /// Children are pairs whose sources have an order of their own.
    fn is_child_of(&self, relation: BoundElement) -> bool {
        let relation = match relation {
            BoundElement::Entity(relation) => relation,
            BoundElement::Awaited => return false,
            BoundElement::Var(_) | BoundElement::Singleton(_) | BoundElement::Any => return true,
        };
        self.access.store().is_some_and(|store| store.registry().of_entity(relation) == Some(CHILD_OF))
    }

    /// Where the values of the pairs that a term asks for lie, if it asks for such.
    fn column_of(&self, atom: &Atom) -> Option<ComponentId> {
        match &atom.id {
            AtomId::Pair(pair) => self.column(pair),
            AtomId::Component(_) | AtomId::Tag(_) | AtomId::AnyId(_) => None,
        }
    }

    fn column(&self, pair: &PairAtom) -> Option<ComponentId> {
        column(self.access, pair)
    }
}

/// Where the values of a pair lie, if its elements are known.
fn column(access: WorldAccess<'_>, pair: &PairAtom) -> Option<ComponentId> {
    let store = access.store()?;
    let relation = store.registry().of_entity(pair.relation.entity()?)?;
    let kind = match pair.target.entity() {
        Some(target) => store.column_of(relation, target, target)?,
        None => store.registry().entry(relation).data?,
    };
    kind.resource(access.components())
}
