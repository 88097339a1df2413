//! Which changes concern which rows.
//!
//! A term is about *facts*: an entity has a component or a tag, or there is a pair. If a fact comes or goes, a row
//! can differ only if the variables of the term have the values of the fact in it. These values are a *seed*: all rows
//! with them are recomputed. So a seed may cover too many rows, but never too few:
//!
//! - A term that must hold seeds all of its variables.
//! - One that is negated, optional, alternative or in a scope seeds its source, and the variables that are written before
//!   it: others are local to it. If a scope has only local ones, they lead to a variable outside over the pairs that must
//!   be there for the scope to hold.
//! - A term that traverses a relation, or whose pairs follow from others, seeds every entity from which the changed one is
//!   reached *now*. A path that lost pairs still leads from its start to the source of the first one that it lost.

mod fields;

#[cfg(feature = "bevy_reflect")]
use super::written::MemberField;
use crate::{
    expr::{
        Atom, AtomId, BoundComparand, BoundElement, BoundOperator, BoundQuery, BoundTerm, BoundTraversal,
        CascadeOrder, ChainSource, Condition, Item, OrChain, PairAtom, Var, VarSet, View, hidden, seedable,
    },
    relation::IS_A,
    traverse::Direction,
};
use alloc::{string::String, vec::Vec};
use bevy_ecs::{component::ComponentId, entity::Entity};
use core::{
    any::TypeId,
    fmt::{self, Write},
};
use smallvec::{SmallVec, smallvec};

/// What a fact is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Subject {
    Pairs(Entity),
    Tag(Entity),
    Component(ComponentId),
    /// Values of the component, and whether entities in its fields are alive.
    Written(ComponentId),
    /// Values of this type on pairs of the relation.
    Values(Entity, TypeId),
}

/// Part of a fact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FactPart {
    /// The entity of the fact, or one from which that is reached.
    Reached,
    /// The other end of a pair.
    Other,
    Known(Entity),
}

/// From entities along a relation: to all that are reached, with the start; or one step, without the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct WalkStep {
    pub(super) relation: Entity,
    pub(super) direction: Direction,
    pub(super) once: bool,
}

/// What facts about one subject mean for the rows.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Watch {
    pub(super) subject: Subject,
    /// It starts with the target of the pair, not with the source.
    pub(super) from_target: bool,
    /// From there it goes on along these relations.
    pub(super) steps: SmallVec<[WalkStep; 2]>,
    /// Parts that must be the same for the fact to matter.
    pub(super) same: SmallVec<[(FactPart, FactPart); 2]>,
    /// The number of the [`VarGroup`]; `None` if any row may differ.
    pub(super) group: Option<usize>,
    /// The parts of the fact that are the values of the group's variables.
    pub(super) seed: SmallVec<[FactPart; 2]>,
    /// The group of the source alone, which is cheaper where a source has few pairs.
    pub(super) by_source: Option<usize>,
}

/// Variables that have a value in a seed.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct VarGroup {
    pub(super) vars: VarSet,
    pub(super) width: usize,
}

impl VarGroup {
    /// Its variable, if there is just one.
    pub(super) fn single(&self) -> Option<Var> {
        self.vars.iter().next().filter(|_| self.width == 1)
    }
}

/// Why everything is run again at each update.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reason {
    AnyComponent,
    Values,
    List,
    Names,
    Children,
    Everything,
    NotNoted,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AnyComponent => "Bevy reports no changes of components that are not named",
            Self::Values => "writes to its fields are not reported",
            Self::List => "its list differs from row to row",
            Self::Names => "no entity has had a name yet",
            Self::Children => "no entity has had children yet",
            Self::Everything => "it looks at every entity, and Bevy does not report empty ones",
            Self::NotNoted => {
                "what it depends on has changed: changes are recorded from the next sync point or frame on"
            }
        })
    }
}

/// What the rows of an expression depend on.
#[derive(Clone, Default)]
pub(super) struct Outline {
    pub(super) groups: Vec<VarGroup>,
    pub(super) watches: Vec<Watch>,
    /// Field of the term, if there is one.
    pub(super) reasons: Vec<(Option<u16>, Reason)>,
    /// The watches of each field.
    pub(super) fields: Vec<(Option<u16>, usize)>,
    /// Fields that hold entities.
    #[cfg(feature = "bevy_reflect")]
    pub(super) members: Vec<MemberField>,
}

/// A part of a term, and what it has to be.
#[derive(Clone)]
enum End {
    Var(Var),
    Is(Entity),
    /// A variable of a scope, with the walk to one outside.
    Leads(SmallVec<[WalkStep; 2]>, Var),
    /// It may be anything.
    Open,
}

/// A pair of a scope, of two variables.
#[derive(Clone, Copy)]
struct ScopeLink {
    source: Var,
    relation: Entity,
    target: Var,
}

/// Makes an outline.
struct Analysis<'a, 'w> {
    view: &'a View<'w>,
    seedable: VarSet,
    /// Variables that are ends of a fact.
    always_bound: VarSet,
    /// Variables that are unset in some rows.
    maybe_unbound: VarSet,
    /// Pairs that must be there for a scope to hold.
    links: Vec<ScopeLink>,
    outline: Outline,
}

/// The outline of a query in which the present traits of relations are written out.
pub(super) fn outline(query: &BoundQuery, view: &View<'_>, has_this: bool) -> Outline {
    let (seedable, maybe_unbound) = (seedable(query, view), maybe_unbound(query));
    let mut analysis = Analysis {
        view,
        seedable,
        always_bound: always_bound(&query.items, &maybe_unbound, view),
        maybe_unbound,
        links: Vec::new(),
        outline: Outline::default(),
    };
    analysis.whole(query);
    if has_this {
        let this = analysis.end(BoundElement::Var(Var::THIS), &[Var::THIS].into_iter().collect());
        if let Some(CascadeOrder { relation, .. }) = query.cascade {
            // If the depth of an entity changes, so does that of everything below it.
            let below = WalkStep { relation, direction: Direction::Sources, once: false };
            let subject = (Subject::Pairs(relation), false);
            analysis.watch(None, subject, smallvec![below], &[(this.clone(), FactPart::Reached)]);
        }
        for component in hidden(query, view) {
            let ends = [(this.clone(), FactPart::Reached)];
            analysis.watch(None, (Subject::Component(component), false), SmallVec::new(), &ends);
        }
    }
    analysis.outline
}

/// The variables that are ends of a fact wherever all items hold.
fn always_bound(items: &[Item], maybe_unbound: &VarSet, view: &View<'_>) -> VarSet {
    let mut always_bound = VarSet::default();
    for item in items {
        if let Item::Term(BoundTerm { operator: BoundOperator::And, condition, .. }) = item
            && let Condition::Match(atom) = condition
            && !matches!(atom.id, AtomId::AnyId(_))
            && !is_reflexive(atom, view)
            // Such a term may be skipped.
            && !atom.vars().any(|var| maybe_unbound.contains(var))
        {
            always_bound.extend(&atom.source.var().into_iter().collect());
            if let AtomId::Pair(PairAtom { target, target_traversal: None, .. }) = atom.id {
                always_bound.extend(&target.var().into_iter().collect());
            }
        }
    }
    always_bound
}

/// The variables that an optional term or a branch leaves unset.
fn maybe_unbound(query: &BoundQuery) -> VarSet {
    let (mut before, mut maybe_unbound) = (VarSet::default(), VarSet::default());
    for item in &query.items {
        if matches!(item, Item::Or(_) | Item::Term(BoundTerm { operator: BoundOperator::Optional, .. })) {
            maybe_unbound.extend(&item.vars().without(&before));
        }
        before.extend(&item.binds());
    }
    maybe_unbound
}

fn is_reflexive(atom: &Atom, view: &View<'_>) -> bool {
    let AtomId::Pair(PairAtom { relation, closed: true, .. }) = atom.id else { return false };
    let Some(relation) = relation.entity() else { return false };
    let registry = view.store.registry();
    let all = if atom.subtypes { view.subtypes::<[Entity; 4]>(relation) } else { smallvec![relation] };
    let mut known = all.iter().filter_map(|&relation| registry.of_entity(relation));
    known.any(|id| registry.entry(id).traits.is_reflexive())
}

impl Analysis<'_, '_> {
    fn whole(&mut self, query: &BoundQuery) {
        let mut before = VarSet::default();
        for item in &query.items {
            if let Item::Term(term) = item
                && term.operator == BoundOperator::And
            {
                let nearest = match &term.condition {
                    Condition::Match(atom) => atom.nearest().without(&before),
                    _ => VarSet::default(),
                };
                let own = term.condition.vars().without(&nearest);
                self.term(term, &own);
            } else if let Item::Term(term) = item {
                let mut seeds = before.clone();
                // A variable that is not bound yet ranges over every entity; a wildcard does not.
                let source = term.condition.source();
                let is_named = |var: &Var| !query.variables[var.index()].name.is_empty();
                seeds.extend(&source.filter(is_named).into_iter().collect());
                self.term(term, &seeds);
            } else {
                self.item(item, &before);
            }
            before.extend(&item.binds());
        }
    }

    /// A negated scope, or alternatives. `outer` are the variables that are written before that.
    fn item(&mut self, item: &Item, outer: &VarSet) {
        let mut outer = outer.clone();
        match item {
            Item::Term(term) => self.term(term, &outer),
            Item::Not(items) => {
                if item.vars().contains(Var::THIS) {
                    outer.insert(Var::THIS);
                }
                let known = self.links.len();
                self.links.extend(items.iter().filter_map(|item| link_of(item, self.view)));
                self.items(items, &outer);
                self.links.truncate(known);
            }
            Item::Or(OrChain { source, branches, .. }) => {
                // A branch that does not bind it has rows in which it is not set.
                if let ChainSource::Var(source) = *source
                    && branches.iter().all(|branch| branch.iter().any(|item| item.binds().contains(source)))
                {
                    outer.insert(source);
                }
                branches.iter().for_each(|branch| self.items(branch, &outer));
            }
        }
    }

    fn items(&mut self, items: &[Item], outer: &VarSet) {
        let known = self.always_bound.clone();
        self.always_bound.extend(&always_bound(items, &self.maybe_unbound, self.view));
        items.iter().for_each(|item| self.item(item, outer));
        self.always_bound = known;
    }

    fn add_reason(&mut self, field: Option<u16>, reason: Reason) {
        self.outline.reasons.push((field, reason));
    }

    /// `seeds` are the variables that may get their value from a fact.
    fn term(&mut self, term: &BoundTerm, seeds: &VarSet) {
        let field = term.field;
        match &term.condition {
            Condition::Match(atom) => self.atom(field, atom, seeds),
            Condition::Always => {}
            &Condition::Equal { left, ref right, .. } => match right {
                BoundComparand::Path(_) => self.path(field, None, seeds),
                BoundComparand::Part(_) => self.name(field, left, seeds),
                _ => {}
            },
            Condition::Child { parent, .. } => self.path(field, Some(*parent), seeds),
            &Condition::List { source, list, .. } => self.list(field, (source, list), seeds),
            #[cfg(feature = "bevy_reflect")]
            Condition::Member(member) => self.member(field, member, seeds),
            #[cfg(not(feature = "bevy_reflect"))]
            Condition::Member(_) => self.add_reason(field, Reason::Values),
            Condition::Value(value) => self.value(field, value, seeds),
            Condition::Keyed(keyed) => self.keyed(field, keyed, seeds),
        }
    }

    fn end(&self, element: BoundElement, seeds: &VarSet) -> End {
        match element {
            BoundElement::Entity(entity) => End::Is(entity),
            BoundElement::Var(var) if seeds.contains(var) && self.seedable.contains(var) => End::Var(var),
            BoundElement::Var(var) => {
                self.way_out(var, seeds).map_or(End::Open, |(steps, outer)| End::Leads(steps, outer))
            }
            BoundElement::Any | BoundElement::Awaited => End::Open,
            BoundElement::Singleton(component) => {
                let resource = self.view.access.resource_entity(component);
                let entity = resource.or_else(|| self.view.value_of_component(component).entity());
                entity.map_or(End::Open, End::Is)
            }
        }
    }

    /// The shortest walk from a variable of a scope to one outside, over pairs that must be there.
    ///
    /// If several of them went, the one nearest to the outside is found by its own walk, which is shorter.
    fn way_out(&self, from: Var, seeds: &VarSet) -> Option<(SmallVec<[WalkStep; 2]>, Var)> {
        let is_outer =
            |var| seeds.contains(var) && self.seedable.contains(var) && !self.maybe_unbound.contains(var);
        let mut ways: Vec<(Var, SmallVec<[WalkStep; 2]>)> = alloc::vec![(from, SmallVec::new())];
        let mut at = 0;
        while let Some((var, way)) = ways.get(at).cloned() {
            for &ScopeLink { source, relation, target } in &self.links {
                let (next, direction) = match var {
                    var if var == source => (target, Direction::Targets),
                    var if var == target => (source, Direction::Sources),
                    _ => continue,
                };
                let mut way = way.clone();
                way.push(WalkStep { relation, direction, once: true });
                if is_outer(next) {
                    return Some((way, next));
                }
                if ways.iter().all(|(known, _)| *known != next) {
                    ways.push((next, way));
                }
            }
            at += 1;
        }
        None
    }

    /// The walks from a holder to the sources that find it.
    fn walks(&self, atom: &Atom) -> SmallVec<[WalkStep; 2]> {
        let mut walks = SmallVec::new();
        let Some(traversal) = atom.traversal else { return walks };
        let relation = self.view.store.registry().entry(IS_A).entity;
        let bases = WalkStep { relation, direction: Direction::Sources, once: false };
        if atom.shared {
            walks.push(bases);
        }
        let walk = back(traversal);
        if walks.last() != Some(&walk) {
            walks.push(walk);
        }
        walks
    }

    fn atom(&mut self, field: Option<u16>, atom: &Atom, seeds: &VarSet) {
        let source = self.end(atom.source, seeds);
        let walks = self.walks(atom);
        let with_subtypes = |of: Entity| -> SmallVec<[Entity; 4]> {
            if atom.subtypes { self.view.subtypes(of) } else { smallvec![of] }
        };
        let mut subjects: SmallVec<[Subject; 4]> = SmallVec::new();
        let mut of_entity = |entity| {
            subjects.push(Subject::Tag(entity));
            subjects.extend(self.view.component_of(entity).map(Subject::Component));
        };
        match atom.id {
            AtomId::AnyId(_) => return self.add_reason(field, Reason::AnyComponent),
            AtomId::Pair(pair) => return self.pair(field, atom, pair, seeds),
            AtomId::Tag(tag) => with_subtypes(tag).into_iter().for_each(&mut of_entity),
            AtomId::Component(component) => {
                let entity = self.view.value_of_component(component).entity();
                entity.into_iter().flat_map(with_subtypes).for_each(&mut of_entity);
                if !subjects.contains(&Subject::Component(component)) {
                    subjects.push(Subject::Component(component));
                }
            }
        }
        for subject in subjects {
            self.watch(field, (subject, false), walks.clone(), &[(source.clone(), FactPart::Reached)]);
        }
        self.ways(field, &walks, &source);
    }

    /// Watches the relations along which a source finds a holder.
    fn ways(&mut self, field: Option<u16>, walks: &[WalkStep], source: &End) {
        for (at, &WalkStep { relation, direction, .. }) in walks.iter().enumerate() {
            let is_down = direction == Direction::Targets;
            let steps = SmallVec::from_slice(&walks[at..]);
            self.watch(
                field,
                (Subject::Pairs(relation), is_down),
                steps,
                &[(source.clone(), FactPart::Reached)],
            );
            if is_down {
                self.order_of_children(field, relation, &walks[at..], source);
            }
        }
    }

    fn pair(&mut self, field: Option<u16>, atom: &Atom, pair: PairAtom, seeds: &VarSet) {
        let known = |element: BoundElement| match element {
            BoundElement::Var(var) => self.always_bound.contains(var),
            BoundElement::Any => false,
            _ => true,
        };
        if is_reflexive(atom, self.view) && !known(atom.source) && !known(pair.target) {
            // Every entity has such a pair with itself.
            return self.add_reason(field, Reason::Everything);
        }
        let [source, target, free] =
            [atom.source, pair.target, pair.relation].map(|element| self.end(element, seeds));
        let registry = self.view.store.registry();
        let relations: SmallVec<[Entity; 4]> = match pair.relation {
            BoundElement::Entity(relation) if atom.subtypes => self.view.subtypes(relation),
            BoundElement::Entity(relation) => smallvec![relation],
            BoundElement::Var(_) | BoundElement::Any => {
                registry.ids().map(|id| registry.entry(id).entity).collect()
            }
            BoundElement::Awaited | BoundElement::Singleton(_) => return,
        };
        let walks = self.walks(atom);
        for relation in relations {
            let Some(id) = registry.of_entity(relation) else { continue };
            let mut steps: SmallVec<[WalkStep; 2]> = SmallVec::new();
            if pair.closed && registry.entry(id).traits.is_transitive() {
                steps.push(WalkStep { relation, direction: Direction::Sources, once: false });
            }
            steps.extend(walks.iter().copied());
            let mut ends: SmallVec<[(End, FactPart); 3]> = smallvec![(source.clone(), FactPart::Reached)];
            if steps.is_empty() {
                if pair.target_traversal.is_none() {
                    ends.push((target.clone(), FactPart::Other));
                }
                if matches!(free, End::Var(_)) {
                    ends.push((free.clone(), FactPart::Known(relation)));
                }
            }
            self.watch(field, (Subject::Pairs(relation), false), steps, &ends);
        }
        self.ways(field, &walks, &source);
        if let Some(traversal) = pair.target_traversal {
            self.ways(field, &[back(traversal)], &target);
        }
    }

    fn watch(
        &mut self,
        field: Option<u16>,
        (subject, mut from_target): (Subject, bool),
        mut steps: SmallVec<[WalkStep; 2]>,
        ends: &[(End, FactPart)],
    ) {
        let mut same: SmallVec<[(FactPart, FactPart); 2]> = SmallVec::new();
        let mut seed: SmallVec<[(Var, FactPart); 3]> = SmallVec::new();
        for &(ref end, part) in ends {
            match *end {
                End::Open | End::Leads(..) => {}
                End::Is(entity) => same.push((part, FactPart::Known(entity))),
                End::Var(var) => match seed.iter().find(|(known, _)| *known == var) {
                    Some(&(_, other)) => same.push((part, other)),
                    None => seed.push((var, part)),
                },
            }
        }
        if seed.is_empty()
            && let Some((way, var, part)) = ends.iter().find_map(|(end, part)| match end {
                End::Leads(way, var) => Some((way, *var, *part)),
                _ => None,
            })
        {
            if part == FactPart::Other {
                from_target = !from_target;
            }
            steps.extend(way.iter().copied());
            // The other parts of the fact are not known at the end of the walk.
            same.clear();
            seed.push((var, FactPart::Reached));
        }
        let mut by_source = None;
        if let (Subject::Pairs(_), true, [(source, FactPart::Reached), _, ..]) =
            (subject, steps.is_empty(), &seed[..])
        {
            by_source = Some(self.group([*source].into_iter().collect()));
        }
        seed.sort_unstable_by_key(|&(var, _)| var);
        let group = (!seed.is_empty()).then(|| self.group(seed.iter().map(|&(var, _)| var).collect()));
        let seed = seed.into_iter().map(|(_, part)| part).collect();
        let watch = Watch { subject, from_target, steps, same, group, seed, by_source };
        let watches = &mut self.outline.watches;
        let at = watches.iter().position(|known| *known == watch).unwrap_or_else(|| {
            watches.push(watch);
            watches.len() - 1
        });
        self.outline.fields.push((field, at));
    }

    fn group(&mut self, vars: VarSet) -> usize {
        let groups = &mut self.outline.groups;
        groups.iter().position(|group| group.vars == vars).unwrap_or_else(|| {
            groups.push(VarGroup { width: vars.iter().count(), vars });
            groups.len() - 1
        })
    }
}

/// The walk back from a holder to the entities that find it.
fn back(BoundTraversal { relation, down, .. }: BoundTraversal) -> WalkStep {
    let direction = if down { Direction::Targets } else { Direction::Sources };
    WalkStep { relation, direction, once: false }
}

/// The pair without which a term of a scope cannot hold.
fn link_of(item: &Item, view: &View<'_>) -> Option<ScopeLink> {
    let Item::Term(BoundTerm { operator: BoundOperator::And, condition: Condition::Match(atom), .. }) = item
    else {
        return None;
    };
    let AtomId::Pair(pair) = atom.id else { return None };
    let relation = pair.relation.entity()?;
    let id = view.store.registry().of_entity(relation)?;
    let traits = &view.store.registry().entry(id).traits;
    let follows = pair.closed && (traits.is_transitive() || traits.is_reflexive());
    let has_subtypes = atom.subtypes && view.subtypes::<[Entity; 4]>(relation).len() > 1;
    let is_plain = !follows && !has_subtypes && atom.traversal.is_none() && pair.target_traversal.is_none();
    is_plain.then_some(ScopeLink { source: atom.source.var()?, relation, target: pair.target.var()? })
}

impl Outline {
    /// Writes the variables that some watches seed.
    pub(super) fn explain(
        &self,
        watches: impl Iterator<Item = usize>,
        query: &BoundQuery,
        text: &mut String,
    ) -> fmt::Result {
        let (mut vars, mut any, mut everything) = (VarSet::default(), false, false);
        for watch in watches {
            any = true;
            match self.watches[watch].group {
                Some(group) => vars.extend(&self.groups[group].vars),
                None => everything = true,
            }
        }
        match (any, everything) {
            (false, _) => return writeln!(text, "nothing to follow"),
            (true, true) => return writeln!(text, "a change has everything run again"),
            (true, false) => write!(text, "by")?,
        }
        for (number, var) in vars.iter().enumerate() {
            let name = &*query.variables[var.index()].name;
            let name = if name.is_empty() { "*" } else { name };
            let sign = if name == "*" { "" } else { "$" };
            write!(text, "{} {sign}{name}", if number > 0 { "," } else { "" })?;
        }
        writeln!(text)
    }
}
