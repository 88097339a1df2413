//! What an expression means in a world: names are entities, components and relations; variables are numbers.
//!
//! This is the stage between the text and the plan. Everything here is still in the order in which it was
//! written, since the meaning of negated, optional and alternative terms depends on what stands before them.

use super::{
    value::BoundValueTest,
    vars::{Var, VarSet},
};
use crate::{
    expr::text::FieldAccess,
    relation::{IS_A, NamedKey, OnInstantiate, RelationTraits},
    store::PairStore,
};
use alloc::{boxed::Box, string::String, vec::Vec};
use bevy_ecs::{component::ComponentId, entity::Entity};
use core::any::TypeId;

/// One position of a term: its source, or an element of its id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BoundElement {
    Entity(Entity),
    /// An entity whose name has no meaning before the system runs.
    Awaited,
    /// A variable; a wildcard is one that occurs once.
    Var(Var),
    /// The entity that Bevy keeps a resource on.
    Singleton(ComponentId),
    /// `_`: whether there is one.
    Any,
}

impl BoundElement {
    pub(crate) fn entity(self) -> Option<Entity> {
        match self {
            Self::Entity(entity) => Some(entity),
            _ => None,
        }
    }

    pub(crate) fn var(self) -> Option<Var> {
        match self {
            Self::Var(var) => Some(var),
            _ => None,
        }
    }
}

/// Where else than on the source itself a term is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BoundTraversal {
    /// Along which relation.
    pub(crate) relation: Entity,
    /// Among sources instead of targets.
    pub(crate) down: bool,
    /// Every holder counts, not the nearest alone.
    pub(crate) all: bool,
    /// The start counts too.
    pub(crate) own: bool,
    /// The least distance of others, from 1.
    pub(crate) min: u32,
    pub(crate) max: u32,
}

/// The id that a term asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AtomId {
    Component(ComponentId),
    /// An entity that serves as a tag.
    Tag(Entity),
    /// `*`, `_` or a variable: whichever id that is no pair.
    AnyId(BoundElement),
    Pair(PairAtom),
}

/// A pair that a term asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PairAtom {
    pub(crate) relation: BoundElement,
    pub(crate) target: BoundElement,
    /// What follows from a transitive or reflexive relation counts too.
    pub(crate) closed: bool,
    /// Whose ancestors or descendants count as the target too.
    pub(crate) target_traversal: Option<BoundTraversal>,
}

/// What a term asks of its source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Atom {
    pub(crate) source: BoundElement,
    pub(crate) id: AtomId,
    /// Subtypes of the component, tag or relation count too.
    pub(crate) subtypes: bool,
    pub(crate) traversal: Option<BoundTraversal>,
    /// Instances share the id: what a holder inherits counts as its own.
    pub(crate) shared: bool,
    pub(crate) rule: IdRule,
}

/// What the traits of an id decide on: they may be set later.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct IdRule {
    /// Stands for the component, tag or relation.
    pub(crate) entity: Option<Entity>,
    /// Nothing is a kind of it unless it is declared so.
    pub(crate) is_final: bool,
    /// `T|self`: no subtypes.
    pub(crate) itself: bool,
    /// The term says where to look.
    pub(crate) walk: bool,
}

impl IdRule {
    fn traits(self, store: &PairStore) -> Option<&RelationTraits> {
        Some(&store.registry().entry(store.registry().of_entity(self.entity?)?).traits)
    }

    /// Whether subtypes count.
    pub(crate) fn has_subtypes(self, store: &PairStore) -> bool {
        let Some(entity) = self.entity.filter(|_| !self.itself) else { return false };
        match self.traits(store) {
            Some(traits) if self.is_final => traits.is_inheritable(),
            Some(traits) => !traits.has_final(),
            // So are types that nothing was declared of.
            None => !self.is_final && !store.registry().is_type(entity),
        }
    }

    /// Whether instances share it.
    pub(crate) fn is_shared(self, store: &PairStore) -> bool {
        self.traits(store).is_some_and(|traits| traits.instantiate_rule() == OnInstantiate::Inherit)
    }
}

/// Where a shared component is looked for if nothing is said: on the entity, then on what it is a kind of.
pub(crate) fn shared_walk(store: &PairStore) -> BoundTraversal {
    let relation = store.registry().entry(IS_A).entity;
    BoundTraversal { relation, down: false, all: false, own: true, min: 1, max: u32::MAX }
}

impl Atom {
    /// The variables of the term, source first.
    pub(crate) fn vars(&self) -> impl Iterator<Item = Var> + use<> {
        let (first, second) = match self.id {
            AtomId::Component(_) | AtomId::Tag(_) => (None, None),
            AtomId::AnyId(id) => (id.var(), None),
            AtomId::Pair(pair) => (pair.relation.var(), pair.target.var()),
        };
        [self.source.var(), first, second].into_iter().flatten()
    }

    /// The variables of its id for which the nearest holder of any is looked for, if nothing has bound them.
    pub(crate) fn nearest(&self) -> VarSet {
        if self.traversal.is_none_or(|traversal| traversal.all) {
            return VarSet::default();
        }
        self.vars().filter(|&var| self.source.var() != Some(var)).collect()
    }
}

/// The right side of an equality.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum BoundComparand {
    /// `*` or `_`: whatever there is.
    Everything,
    Entity(Entity),
    /// As [`BoundElement::Awaited`].
    Awaited,
    Var(Var),
    /// Looked up while evaluating.
    Path(Box<str>),
    /// Part of the name, in lower case.
    Part(Box<str>),
}

/// How the ids of another entity are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ListMode {
    All,
    Some,
    None,
}

/// A field of a reflected component that holds an entity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MemberAtom {
    pub(crate) source: BoundElement,
    pub(crate) component: ComponentId,
    /// Reflected path below the component.
    pub(crate) path: Box<str>,
    pub(crate) value: BoundElement,
}

/// A pair that has a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KeyedAtom {
    /// The pair.
    pub(crate) atom: Atom,
    /// `None` while the relation is [awaited](BoundElement::Awaited).
    pub(crate) key: Option<NamedKey>,
}

/// A field of a component or of the value of a pair, and what it is compared with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ValueAtom {
    /// The component or the pair. Nothing else than what is stored on the source itself counts.
    pub(crate) atom: Atom,
    pub(crate) holder: ValueHolder,
    /// Reflected path below the value.
    pub(crate) path: Box<str>,
    pub(crate) test: Box<BoundValueTest>,
}

/// Where the value is that has the field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ValueHolder {
    /// A component of the source. Also that of an adopted relationship, whose pairs have no other values.
    Component(ComponentId),
    /// The pair, with values of this type.
    Pair(TypeId),
}

/// What a term asks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Condition {
    Match(Atom),
    /// `T()`: true of nothing in particular.
    Always,
    Equal {
        left: Var,
        right: BoundComparand,
        negated: bool,
    },
    /// `and|T`, `or|T`, `not|T`.
    List {
        source: BoundElement,
        list: BoundElement,
        mode: ListMode,
    },
    Member(MemberAtom),
    /// `R[key](source, target)`
    Keyed(KeyedAtom),
    /// A field of a component or of a pair is compared with a literal.
    Value(ValueAtom),
    /// The child of an entity with this path is the variable.
    Child {
        parent: Var,
        path: Box<str>,
        child: Var,
        /// The other variables of the term that it is looked up for: it is skipped with that.
        beside: VarSet,
    },
}

impl BoundElement {
    fn each_entity(&mut self, each: &mut dyn FnMut(&mut Entity)) {
        if let Self::Entity(entity) = self {
            each(entity);
        }
    }
}

impl Atom {
    fn each_entity(&mut self, each: &mut dyn FnMut(&mut Entity)) {
        self.source.each_entity(each);
        let walks = match &mut self.id {
            AtomId::Component(_) => None,
            AtomId::Tag(tag) => {
                each(tag);
                None
            }
            AtomId::AnyId(id) => {
                id.each_entity(each);
                None
            }
            AtomId::Pair(pair) => {
                pair.relation.each_entity(each);
                pair.target.each_entity(each);
                pair.target_traversal.as_mut()
            }
        };
        walks.into_iter().chain(&mut self.traversal).for_each(|walk| each(&mut walk.relation));
        self.rule.entity.iter_mut().for_each(each);
    }

    /// Takes what traits say by now.
    fn follow_traits(&mut self, store: &PairStore) {
        self.subtypes = self.rule.has_subtypes(store);
        if self.rule.is_shared(store) && !self.shared {
            self.shared = true;
            if !self.rule.walk {
                self.traversal = Some(shared_walk(store));
            }
        }
    }
}

impl Condition {
    /// Every entity that it is about.
    fn each_entity(&mut self, each: &mut dyn FnMut(&mut Entity)) {
        match self {
            Self::Match(atom) | Self::Keyed(KeyedAtom { atom, .. }) | Self::Value(ValueAtom { atom, .. }) => {
                atom.each_entity(each);
            }
            Self::Equal { right: BoundComparand::Entity(right), .. } => each(right),
            Self::List { source, list, .. } => {
                [source, list].into_iter().for_each(|end| end.each_entity(each));
            }
            Self::Member(MemberAtom { source, value, .. }) => {
                [source, value].into_iter().for_each(|end| end.each_entity(each));
            }
            Self::Equal { .. } | Self::Always | Self::Child { .. } => {}
        }
    }

    pub(crate) fn vars(&self) -> VarSet {
        match self {
            Self::Match(atom) | Self::Keyed(KeyedAtom { atom, .. }) | Self::Value(ValueAtom { atom, .. }) => {
                atom.vars().collect()
            }
            Self::Always => VarSet::default(),
            Self::Equal { left, right: BoundComparand::Var(right), .. } => {
                [*left, *right].into_iter().collect()
            }
            Self::Equal { left, .. } => [*left].into_iter().collect(),
            Self::List { source, list, .. } => {
                [*source, *list].into_iter().filter_map(BoundElement::var).collect()
            }
            Self::Member(member) => {
                [member.source, member.value].into_iter().filter_map(BoundElement::var).collect()
            }
            Self::Child { parent, child, .. } => [*parent, *child].into_iter().collect(),
        }
    }

    /// The variables without which it is skipped.
    pub(crate) fn skipped_with(&self) -> VarSet {
        let mut vars = self.vars();
        if let Self::Child { beside, .. } = self {
            vars.extend(beside);
        }
        vars
    }

    /// The components that it names of `$this` itself, so that entities with them are seen although they are hidden
    /// otherwise. `component` returns the component that an entity stands for.
    fn names_of_this(
        &self,
        component: &dyn Fn(Entity) -> Option<ComponentId>,
        add: &mut dyn FnMut(ComponentId),
    ) {
        let this = BoundElement::Var(Var::THIS);
        match self {
            Self::Match(atom) | Self::Keyed(KeyedAtom { atom, .. }) | Self::Value(ValueAtom { atom, .. })
                if atom.source == this && atom.traversal.is_none_or(|walk| walk.own) =>
            {
                let mut named = |entity| component(entity).into_iter().for_each(&mut *add);
                match atom.id {
                    AtomId::Component(component) => add(component),
                    AtomId::Tag(tag) => named(tag),
                    AtomId::AnyId(_) => {}
                    AtomId::Pair(pair) => {
                        [pair.relation, pair.target]
                            .into_iter()
                            .filter_map(BoundElement::entity)
                            .for_each(named);
                    }
                }
            }
            Self::Member(member) if member.source == this => add(member.component),
            _ => {}
        }
    }

    /// The source, if it is a variable: what is found out by looking at every entity.
    pub(crate) fn source(&self) -> Option<Var> {
        match self {
            Self::Match(atom) | Self::Keyed(KeyedAtom { atom, .. }) | Self::Value(ValueAtom { atom, .. }) => {
                atom.source.var()
            }
            Self::Always => None,
            Self::Equal { left, .. } => Some(*left),
            Self::List { source, .. } => source.var(),
            Self::Member(member) => member.source.var(),
            Self::Child { parent, .. } => Some(*parent),
        }
    }
}

/// How a term counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BoundOperator {
    And,
    Not,
    Optional,
}

/// A term.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BoundTerm {
    /// Its field in rows. Terms that only prepare another have none.
    pub(crate) field: Option<u16>,
    pub(crate) operator: BoundOperator,
    pub(crate) condition: Condition,
    /// Entities of types that it names themselves, by `#bits` or a path. A type is followed to its next entity, these
    /// are not.
    pub(crate) pinned: Vec<Entity>,
}

impl BoundTerm {
    /// Takes another entity for one of a type that is gone. What names that one itself is false from now on. Returns
    /// whether anything has changed.
    fn replace_entity(&mut self, gone: Entity, by: Option<Entity>) -> bool {
        let mut changed = false;
        match (self.pinned.contains(&gone), &mut self.condition, by) {
            (true, Condition::Match(Atom { id: id @ AtomId::Component(_), .. }), _) => {
                // Nothing has a tag that is gone.
                *id = AtomId::Tag(gone);
                changed = true;
            }
            (true, ..) | (false, _, None) => {}
            (false, condition, Some(by)) => condition.each_entity(&mut |entity| {
                if *entity == gone {
                    *entity = by;
                    changed = true;
                }
            }),
        }
        changed
    }
}

/// What stands between two commas.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Item {
    Term(BoundTerm),
    /// `!{..}`
    Not(Vec<Item>),
    Or(OrChain),
}

impl Item {
    fn each_term(&mut self, each: &mut dyn FnMut(&mut BoundTerm)) {
        match self {
            Self::Term(term) => each(term),
            Self::Not(items) => items.iter_mut().for_each(|item| item.each_term(each)),
            Self::Or(chain) => {
                chain.branches.iter_mut().flatten().for_each(|item| item.each_term(each));
            }
        }
    }

    /// Every variable that occurs in it, also within scopes.
    pub(crate) fn vars(&self) -> VarSet {
        let mut vars = VarSet::default();
        match self {
            Self::Term(term) => vars = term.condition.vars(),
            Self::Not(items) => items.iter().for_each(|item| vars.extend(&item.vars())),
            Self::Or(chain) => {
                chain.branches.iter().flatten().for_each(|item| vars.extend(&item.vars()));
            }
        }
        vars
    }

    /// The components that terms about `$this` itself name.
    pub(crate) fn names_of_this(
        &self,
        component: &dyn Fn(Entity) -> Option<ComponentId>,
        add: &mut dyn FnMut(ComponentId),
    ) {
        match self {
            Self::Term(term) => term.condition.names_of_this(component, add),
            Self::Not(items) => items.iter().for_each(|item| item.names_of_this(component, add)),
            Self::Or(chain) => {
                chain.branches.iter().flatten().for_each(|item| item.names_of_this(component, add));
            }
        }
    }

    /// The variables that have a value behind it, in every row or in some.
    pub(crate) fn binds(&self) -> VarSet {
        match self {
            Self::Term(term) if term.operator == BoundOperator::Not => {
                term.condition.source().into_iter().collect()
            }
            Self::Not(_) => {
                // `$this` is never local to a scope.
                let of_this = self.vars().contains(Var::THIS);
                of_this.then_some(Var::THIS).into_iter().collect()
            }
            Self::Term(_) | Self::Or(_) => self.vars(),
        }
    }
}

/// What all branches of a chain are about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ChainSource {
    /// An entity that is written down, or nothing in particular.
    Fixed,
    Var(Var),
    /// `*` or `_`: no term before has bound it.
    Open,
}

/// `a || b || ..`
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OrChain {
    pub(crate) field: Option<u16>,
    pub(crate) source: ChainSource,
    pub(crate) branches: Vec<Vec<Item>>,
}

/// A variable of the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Variable {
    /// Empty for wildcards.
    pub(crate) name: Box<str>,
    /// It lives within a scope: rows do not have it.
    pub(crate) local: bool,
}

/// What is known of a field before anything is evaluated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FieldInfo {
    /// As written, with everything that was left out put in.
    pub(crate) text: String,
    /// If it was written down.
    pub(crate) access: Option<FieldAccess>,
}

/// Rows in order of their depth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CascadeOrder {
    pub(crate) relation: Entity,
    pub(crate) descending: bool,
}

/// A query that is resolved against a world.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct BoundQuery {
    /// `$this` is the first.
    pub(crate) variables: Vec<Variable>,
    pub(crate) fields: Vec<FieldInfo>,
    pub(crate) items: Vec<Item>,
    pub(crate) cascade: Option<CascadeOrder>,
    /// Resources that it asks for.
    pub(crate) singletons: Vec<ComponentId>,
    /// Entities that were found by their names.
    pub(crate) named: Vec<Entity>,
    /// Some name has no meaning yet: [`BoundElement::Awaited`] stands for it.
    pub(crate) awaits_names: bool,
}

impl BoundQuery {
    /// Every entity that it is about.
    pub(crate) fn each_entity(&mut self, each: &mut dyn FnMut(&mut Entity)) {
        self.items.iter_mut().for_each(|item| item.each_term(&mut |term| term.condition.each_entity(each)));
        if let Some(cascade) = &mut self.cascade {
            each(&mut cascade.relation);
        }
    }

    /// Takes the entity `by` for that of a type, which is gone. Returns whether anything has changed.
    pub(crate) fn replace_entity(&mut self, gone: Entity, by: Option<Entity>) -> bool {
        let mut changed = false;
        let mut is_pinned = false;
        self.items.iter_mut().for_each(|item| {
            item.each_term(&mut |term| {
                is_pinned |= term.pinned.contains(&gone);
                changed |= term.replace_entity(gone, by);
            });
        });
        if let (Some(cascade), Some(by), false) = (&mut self.cascade, by, is_pinned)
            && cascade.relation == gone
        {
            cascade.relation = by;
            changed = true;
        }
        changed
    }

    /// Takes what traits say by now.
    pub(crate) fn follow_traits(&mut self, store: &PairStore) {
        self.items.iter_mut().for_each(|item| {
            item.each_term(&mut |term| {
                if let Condition::Match(atom) = &mut term.condition {
                    atom.follow_traits(store);
                }
            });
        });
    }
}
