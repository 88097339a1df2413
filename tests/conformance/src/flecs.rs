//! Flecs as a [`Judge`].

use crate::{
    flecs_world::{FlecsWorld, Id, Rows, elements, pair},
    judge::{Answer, Judge, Refusal},
    oracle::{
        expr::{Elem, Expr, Names, THIS, Term, Var, var_name},
        model::{BUILT_IN, CHILD_OF, IS_A, Kind, Model, Node},
        rows::{Field, Row},
    },
    spelling::spell,
};
use std::collections::{BTreeSet, HashMap};

/// A random world, built in Flecs.
pub(crate) struct Flecs<'a> {
    world: FlecsWorld,
    dictionary: Dictionary<'a>,
}

/// Which id stands for which entity of the model.
struct Dictionary<'a> {
    model: &'a Model,
    ids: Vec<Id>,
    nodes: HashMap<u32, Node>,
    /// `*` and `_`.
    wildcards: [Id; 2],
    named: bool,
    spelling: u64,
}

impl<'a> Flecs<'a> {
    /// With `named` the entities have names, and expressions use them; otherwise they use `#number`, and nothing
    /// has a pair that the model does not know.
    pub(crate) fn new(model: &'a Model, expr: &Expr, named: bool, spelling: u64) -> Self {
        let mut world = FlecsWorld::new();
        let known = world.known;
        let has_fields = expr.terms().iter().any(|term| {
            let id = term.others().first().and_then(|id| id.node());
            id.is_some_and(|id| model.nodes[id].kind == Kind::Member)
        });
        let mut ids = vec![known.is_a, known.child_of, known.prefab, known.disabled];
        for spec in &model.nodes[BUILT_IN..] {
            let id = match spec.kind {
                Kind::Component(2) if has_fields => world.component_with_entity(&spec.name),
                Kind::Component(_) | Kind::Singleton => world.component(),
                Kind::Member if has_fields => world.member(ids.last().copied().unwrap_or_default()),
                Kind::Entity | Kind::Tag | Kind::Relation | Kind::Member => world.entity(),
            };
            let traits = [
                (spec.traits.exclusive, known.exclusive),
                (spec.traits.symmetric, known.symmetric),
                (spec.traits.transitive, known.transitive),
                (spec.traits.reflexive, known.reflexive),
                (spec.traits.traversable, known.traversable),
                (spec.traits.inherit, pair(known.on_instantiate, known.inherit)),
                (spec.traits.one_of, known.one_of),
                (spec.kind == Kind::Singleton, known.singleton),
            ];
            for (_, id_of_trait) in traits.iter().filter(|(set, _)| *set) {
                world.add(id, *id_of_trait);
            }
            ids.push(id);
        }
        // Bases first: what they have by then would be copied to their instances.
        let mut pairs = model.pairs.clone();
        pairs.sort_by_key(|&(_, relation, _)| (relation != IS_A, relation != CHILD_OF));
        pairs.retain(|&(_, relation, _)| model.nodes[relation].kind != Kind::Member);
        for (source, relation, target) in pairs {
            world.add(ids[source], pair(ids[relation], ids[target]));
        }
        if named {
            let named = model.nodes.iter().zip(&ids).skip(BUILT_IN);
            for (spec, &id) in named.filter(|(spec, _)| spec.kind != Kind::Member) {
                world.set_name(id, &spec.name);
            }
        }
        for &(node, mark) in &model.marks {
            let is_field = |relation: Node| model.nodes[relation].kind == Kind::Member;
            let field = model.pairs.iter().find(|&&(source, r, _)| source == node && is_field(r));
            match (model.nodes[mark].kind, field) {
                (Kind::Component(2), Some(&(.., value))) if has_fields => {
                    world.set_entity(ids[node], ids[mark], ids[value]);
                }
                _ => world.add(ids[node], ids[mark]),
            }
        }
        let nodes = model.entities().map(|node| (ids[node] as u32, node)).collect();
        let wildcards = [known.wildcard, known.any];
        Self { world, dictionary: Dictionary { model, ids, nodes, wildcards, named, spelling } }
    }

    /// Whether the text is one of an expression.
    pub(crate) fn accepts(&mut self, text: &str) -> bool {
        self.world.query(text, |_| ()).is_some()
    }

    /// A mark or pair in which the world differs from its model: the comparison would be worth nothing.
    pub(crate) fn difference(&self) -> Option<String> {
        let Dictionary { model, ids, .. } = &self.dictionary;
        let name = |node: Node| &model.nodes[node].name;
        for source in model.entities() {
            for first in model.entities().filter(|&first| first >= BUILT_IN) {
                if self.world.has(ids[source], ids[first]) != model.marks.contains(&(source, first)) {
                    return Some(format!("{} on {}", name(first), name(source)));
                }
                let differs = |&second: &Node| {
                    let there = self.world.has(ids[source], pair(ids[first], ids[second]));
                    there != model.has_pair(source, first, second)
                };
                if let Some(second) = (0..model.nodes.len()).find(differs) {
                    return Some(format!("({}, {}) on {}", name(first), name(second), name(source)));
                }
            }
        }
        None
    }
}

impl Dictionary<'_> {
    fn text(&self, expr: &Expr) -> String {
        let numbers = Names::Numbers(self.model, &self.ids);
        spell(expr, if self.named { Names::Paths(self.model) } else { numbers }, self.spelling)
    }

    /// `None`: a wildcard.
    fn node(&self, id: Id) -> Result<Option<Node>, Unknown> {
        if id == 0 || self.wildcards.iter().any(|&wildcard| wildcard as u32 == id as u32) {
            return Ok(None);
        }
        self.nodes.get(&(id as u32)).copied().map(Some).ok_or(Unknown)
    }

    fn field(&self, rows: &Rows<'_>, index: i8) -> Result<Field, Unknown> {
        let Some((id, source)) = rows.field(index) else { return Ok(Field::Unset) };
        let (first, second) = elements(id);
        let second = second.map(|second| self.node(second)).transpose()?.flatten();
        Ok(Field::Set { first: self.node(first)?, second, source: self.node(source)? })
    }

    /// What the rows of a table have in common.
    fn common(&self, expr: &Expr, vars: &BTreeSet<Var>, rows: &mut Rows<'_>) -> Result<Row, Unknown> {
        let others = vars.iter().filter(|&&var| var != THIS);
        let vars = others
            .map(|&var| Ok((var, self.node(rows.variable(var_name(var)))?)))
            .collect::<Result<_, Unknown>>()?;
        let elems = expr.0.iter().filter(|elem| !matches!(elem, Elem::Scope { .. }));
        let by_name = |term: &Term| {
            let id = term.others().first().and_then(|id| id.node());
            id.is_some_and(|id| matches!(self.model.nodes[id].kind, Kind::Member | Kind::Singleton))
        };
        let by_name = elems.map(|elem| elem.terms().into_iter().any(by_name));
        let fields = term_numbers(expr).into_iter().zip(by_name).map(|(term, by_name)| {
            match rows.field(rows.field_of(term)) {
                Some(_) if by_name => Ok(Field::Masked),
                _ => self.field(rows, rows.field_of(term)),
            }
        });
        Ok(Row { this: None, vars, fields: fields.collect::<Result<_, _>>()? })
    }

    fn table(&self, expr: &Expr, vars: &BTreeSet<Var>, rows: &mut Rows<'_>) -> Vec<Row> {
        // What is about something that only Flecs has is no row.
        let Ok(common) = self.common(expr, vars, rows) else { return Vec::new() };
        let entities = rows.entities();
        if !vars.contains(&THIS) || entities.is_empty() {
            return vec![common];
        }
        let this = entities.into_iter().filter_map(|entity| self.node(entity).ok());
        this.map(|this| Row { this, ..common.clone() }).collect()
    }
}

/// Something that Flecs has, and the model does not.
struct Unknown;

/// The number of the first term of every element outside of scopes, as Flecs counts them.
fn term_numbers(expr: &Expr) -> Vec<usize> {
    fn terms(elem: &Elem) -> usize {
        match elem {
            Elem::Term(_) => 1,
            Elem::Or(terms) => terms.len(),
            Elem::Scope { elems, .. } => 2 + elems.iter().map(terms).sum::<usize>(),
        }
    }
    let (mut number, mut numbers) = (0, Vec::new());
    for elem in &expr.0 {
        if !matches!(elem, Elem::Scope { .. }) {
            numbers.push(number);
        }
        number += terms(elem);
    }
    numbers
}

impl Judge for Flecs<'_> {
    fn name(&self) -> &'static str {
        "Flecs"
    }

    fn rows(&mut self, expr: &Expr) -> Answer {
        let (text, vars) = (self.dictionary.text(expr), expr.shown_vars());
        let mut all = Vec::new();
        let done = self.world.query(&text, |rows| all.extend(self.dictionary.table(expr, &vars, rows)));
        done.map(|()| all).ok_or_else(|| Refusal("Flecs refuses it".into()))
    }
}
