//! The rows of an expression, by definition: elements in order, each against every row of those before it.

use super::{
    binding::binds_enough,
    expr::{Body, Elem, Expr, From, Look, Oper, Ref, Side, Source, THIS, Term, Up, VARS, Var},
    model::{CHILD_OF, DISABLED, IS_A, Kind, Model, Node, PREFAB},
    rows::{Field, Row},
    slots::{Slot, is_skipped, set, skipped, uses_skipped},
};
use std::collections::BTreeSet;

/// A row in the making.
#[derive(Clone, Debug)]
struct Partial {
    slots: [Slot; VARS],
    fields: Vec<Field>,
}

/// One way in which a term holds.
#[derive(Clone, Debug)]
struct Match {
    slots: [Slot; VARS],
    field: Field,
    /// The target that was asked for, where `*` has no slot for it.
    target: Option<Node>,
}

/// Something that an entity has.
#[derive(Clone, Copy, Debug)]
struct Own {
    holder: Node,
    /// The tag, the component, or the relation.
    first: Node,
    target: Option<Node>,
    /// The target of the pair that is stored.
    stored: Option<Node>,
}

/// What is asked of an entity, with the variables filled in.
#[derive(Clone, Copy, Debug)]
enum Part {
    Node(Node),
    Every,
    Any,
}

/// Every row. `None` if the expression uses a variable where one that is bound is needed.
pub(crate) fn rows(model: &Model, expr: &Expr) -> Option<Vec<Row>> {
    let hidden = [PREFAB, DISABLED].into_iter().filter(|&marker| !expr.names_of_this(marker)).collect();
    let oracle = Oracle { model, hidden };
    if !expr.terms().into_iter().all(|term| oracle.is_valid(term)) || !binds_enough(expr) {
        return None;
    }
    let start = Partial { slots: [Slot::Free; VARS], fields: Vec::new() };
    // What asks for nothing finds nothing.
    let mut partials = if expr.0.is_empty() { Vec::new() } else { vec![start] };
    for elem in &expr.0 {
        partials = oracle.elem(elem, &partials)?;
    }
    let shown = expr.shown_vars();
    let finish = |partial: Partial| {
        let value = |var: Var| match partial.slots[var] {
            Slot::Is(node) => Some(node),
            Slot::Free | Slot::Skipped => None,
        };
        Row {
            this: value(THIS),
            vars: shown.iter().filter(|&&var| var != THIS).map(|&var| (var, value(var))).collect(),
            fields: partial.fields.clone(),
        }
    };
    Some(partials.into_iter().map(finish).collect())
}

struct Oracle<'a> {
    model: &'a Model,
    /// Entities with these marks are no `$this`.
    hidden: Vec<Node>,
}

impl Oracle<'_> {
    /// Some terms are errors in every world.
    fn is_valid(&self, term: &Term) -> bool {
        if let Body::Pair { relation: Ref::Node(relation), target: Ref::Node(target), .. } = term.body
            && self.model.nodes[relation].traits.one_of
            && !self.model.has_pair(target, CHILD_OF, relation)
        {
            return false;
        }
        if let Body::Pair { relation: Ref::Node(relation), .. } = term.body
            && self.model.nodes[relation].kind == Kind::Member
            && term.source.of() == Some(&Ref::Any)
        {
            return false;
        }
        if let Body::Value { target, .. } = &term.body
            && (term.source.of() == Some(&Ref::Any) || *target == Some(Ref::Any))
        {
            return false;
        }
        if let Body::Equal(Side::Ref(Ref::Var(right))) = term.body {
            return term.source.of() != Some(&Ref::Var(right));
        }
        !matches!(term.look(), Look::Up(up) if up.relation == IS_A && !self.is_shared(term))
    }

    fn elem(&self, elem: &Elem, partials: &[Partial]) -> Option<Vec<Partial>> {
        let mut all = Vec::new();
        for partial in partials {
            match elem {
                Elem::Term(term) => all.extend(self.term(term, partial)?),
                Elem::Or(terms) => all.extend(self.chain(terms, partial)?),
                Elem::Scope { not: false, elems } => {
                    let keep = |slots| Partial { slots, fields: partial.fields.clone() };
                    all.extend(self.scope(elems, partial)?.into_iter().map(|row| keep(row.slots)));
                }
                Elem::Scope { not: true, elems } => {
                    for partial in self.bind_this(elem, partial) {
                        let holds = self.scope(elems, &partial)?.is_empty()
                            || is_skipped(elems, &mut partial.slots.clone());
                        all.extend(holds.then_some(partial));
                    }
                }
            }
        }
        Some(all)
    }

    fn scope(&self, elems: &[Elem], partial: &Partial) -> Option<Vec<Partial>> {
        let mut inner = vec![partial.clone()];
        for elem in elems {
            inner = self.elem(elem, &inner)?;
        }
        Some(inner)
    }

    /// `$this` is never local to a scope: one in front is asked of every entity.
    fn bind_this(&self, scope: &Elem, partial: &Partial) -> Vec<Partial> {
        let uses = scope.terms().iter().any(|term| term.vars().contains(&THIS));
        if !uses || partial.slots[THIS] != Slot::Free {
            return vec![partial.clone()];
        }
        let with = |node| Partial { slots: set(&partial.slots, THIS, node), fields: partial.fields.clone() };
        self.values(THIS).map(with).collect()
    }

    fn term(&self, term: &Term, partial: &Partial) -> Option<Vec<Partial>> {
        let with = |slots, field| {
            let mut fields = partial.fields.clone();
            fields.push(field);
            Partial { slots, fields }
        };
        let slots = &partial.slots;
        if term.source == Source::Nothing {
            return Some(vec![with(*slots, Field::Unset)]);
        }
        if uses_skipped(term, slots) {
            return Some(vec![with(skipped(term.binds(), slots), Field::Unset)]);
        }
        if term.oper == Oper::And {
            let matches = self.matches(term, slots)?;
            return Some(matches.into_iter().map(|found| with(found.slots, found.field)).collect());
        }
        if let Body::Equal(side) = &term.body {
            // `equal` knows the operator.
            let matches = self.equal(term, side, slots)?;
            return Some(matches.into_iter().map(|found| with(found.slots, found.field)).collect());
        }
        let mut all = Vec::new();
        for slots in self.bind_source(term, slots) {
            let lacks_child = self.lacks_child(term, &slots);
            let matches = if lacks_child { Vec::new() } else { self.matches(term, &slots)? };
            match (term.oper, matches.is_empty()) {
                // Without the child the term is false, whatever it asks.
                (Oper::Not, empty) => all.extend((empty && !lacks_child).then(|| with(slots, Field::Unset))),
                (_, true) => all.push(with(skipped(term.vars(), &slots), Field::Unset)),
                (_, false) => all.extend(matches.into_iter().map(|found| with(found.slots, found.field))),
            }
        }
        Some(all)
    }

    /// Not, Optional and `not|` are asked of every entity if nothing has bound their source.
    fn bind_source(&self, term: &Term, slots: &[Slot; VARS]) -> Vec<[Slot; VARS]> {
        match term.source.of() {
            Some(&Ref::Var(var)) if slots[var] == Slot::Free => {
                self.values(var).map(|node| set(slots, var, node)).collect()
            }
            _ => vec![*slots],
        }
    }

    /// The entities that an unbound variable may be.
    fn values(&self, var: Var) -> impl Iterator<Item = Node> {
        let hidden =
            move |node| var == THIS && self.hidden.iter().any(|&marker| self.model.is_hidden(node, marker));
        self.model.entities().filter(move |&node| !hidden(node))
    }

    /// Whether a part of the term is a child that does not exist.
    fn lacks_child(&self, term: &Term, slots: &[Slot; VARS]) -> bool {
        term.refs()
            .into_iter()
            .any(|part| matches!(part, Ref::Child(..)) && self.child(part, slots).is_none())
    }

    fn child(&self, part: &Ref, slots: &[Slot; VARS]) -> Option<Node> {
        let Ref::Child(var, name) = part else { return None };
        let Slot::Is(parent) = slots[*var] else { return None };
        let is_it = |&node: &Node| {
            self.model.nodes[node].name == *name && self.model.has_pair(node, CHILD_OF, parent)
        };
        (0..self.model.nodes.len()).find(is_it)
    }

    fn chain(&self, terms: &[Term], partial: &Partial) -> Option<Vec<Partial>> {
        let slots = &partial.slots;
        let vars: BTreeSet<Var> = terms.iter().flat_map(Term::vars).collect();
        // What the branch does not bind is left unset.
        let with = |slots: [Slot; VARS], field| {
            let mut fields = partial.fields.clone();
            fields.push(field);
            Partial { slots: skipped(vars.clone(), &slots), fields }
        };
        // A branch that is skipped holds, with its field unset.
        let branch = |term: &Term, slots: &[Slot; VARS]| {
            if uses_skipped(term, slots) {
                return Some(vec![Match { slots: *slots, field: Field::Unset, target: None }]);
            }
            self.matches(term, slots)
        };
        let written = terms.iter().all(|term| match term.source.of() {
            Some(&Ref::Var(var)) => slots[var] != Slot::Free,
            Some(Ref::Any | Ref::Wildcard) => false,
            _ => true,
        });
        let mut all = Vec::new();
        for (number, term) in terms.iter().enumerate() {
            for found in branch(term, slots)? {
                let mut holds = false;
                for earlier in &terms[..number] {
                    holds |= !branch(earlier, &found.slots)?.is_empty();
                }
                if !holds {
                    all.push(with(found.slots, found.field));
                    if written {
                        return Some(all);
                    }
                }
            }
        }
        Some(all)
    }

    /// Every way in which the term holds, whatever its operator.
    fn matches(&self, term: &Term, slots: &[Slot; VARS]) -> Option<Vec<Match>> {
        match &term.body {
            Body::Equal(side) => self.equal(term, side, slots),
            Body::Id { .. } | Body::Pair { .. } => Some(self.ids(term, slots)),
            Body::From { kind, list } => Some(self.from(term, *kind, *list, slots)),
            Body::Value { id, target, than, number } => {
                Some(self.value(term, (id, target.as_ref()), slots, |value| than.holds(value, *number)))
            }
        }
    }

    /// The ways in which the component or pair is there, with a number that is as asked.
    fn value(
        &self,
        term: &Term,
        (id, target): (&Ref, Option<&Ref>),
        slots: &[Slot; VARS],
        holds: impl Fn(i64) -> bool,
    ) -> Vec<Match> {
        let (id, exact) = (id.clone(), true);
        let body = match target {
            None => Body::Id { id, exact },
            Some(target) => Body::Pair { relation: id, exact, target: target.clone(), target_exact: true },
        };
        let mut found = self.ids(&Term { body, ..term.clone() }, slots);
        found.retain(|found| {
            let Field::Set { first: Some(first), second, source: Some(source) } = found.field else {
                return false;
            };
            self.model.values.get(&(source, first, second)).is_some_and(|&value| holds(value))
        });
        found
    }

    fn equal(&self, term: &Term, side: &Side, slots: &[Slot; VARS]) -> Option<Vec<Match>> {
        let Some(&Ref::Var(left)) = term.source.of() else { return None };
        if let Side::Ref(Ref::Var(right)) = *side
            && slots[right] == Slot::Free
        {
            let each = self.values(right).map(|node| self.equal(term, side, &set(slots, right, node)));
            return Some(each.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect());
        }
        let name = |node: Node| self.model.nodes[node].name.to_lowercase();
        let equals: Box<dyn Fn(Node) -> bool> = match side {
            Side::Ref(Ref::Wildcard | Ref::Any) => Box::new(|_| true),
            Side::Ref(Ref::Node(node)) => Box::new(move |left| left == *node),
            Side::Ref(Ref::Var(var)) => {
                let Slot::Is(node) = slots[*var] else { return None };
                Box::new(move |left| left == node)
            }
            Side::Ref(part @ Ref::Child(..)) => {
                let child = self.child(part, slots);
                Box::new(move |left| Some(left) == child)
            }
            Side::Path(path) => Box::new(move |left| self.model.path(left) == *path),
            Side::Like(part) => Box::new(move |left| name(left).contains(&part.to_lowercase())),
        };
        let candidates: Vec<Node> = match slots[left] {
            Slot::Is(node) => vec![node],
            _ => self.values(left).collect(),
        };
        let holds = |&node: &Node| equals(node) != (term.oper == Oper::Not);
        let found = candidates.into_iter().filter(holds);
        Some(
            found
                .map(|node| Match { slots: set(slots, left, node), field: Field::Masked, target: None })
                .collect(),
        )
    }

    fn from(&self, term: &Term, kind: From, list: Node, slots: &[Slot; VARS]) -> Vec<Match> {
        // Lists of which it is a kind are part of it.
        let mut lists = self.model.ancestors(list, IS_A);
        lists.push(list);
        let is_list = |source: &Node| lists.contains(source);
        let marks = self.model.marks.iter().filter(|(source, mark)| is_list(source) && *mark > DISABLED);
        let marks: Vec<Node> = marks.map(|&(_, mark)| mark).collect();
        let relations = self.model.pairs.iter().filter(|(source, ..)| is_list(source));
        // What a field of a component names is the value of the component.
        let is_pair = |relation: Node| relation > CHILD_OF && self.model.nodes[relation].kind != Kind::Member;
        let pairs: Vec<(Node, Node)> =
            relations.filter(|&&(_, relation, _)| is_pair(relation)).map(|&(_, r, t)| (r, t)).collect();
        let has = |node: Node| {
            let marks = marks.iter().map(move |&mark| self.model.marks.contains(&(node, mark)));
            marks.chain(pairs.iter().map(move |&(r, t)| self.model.has_pair(node, r, t))).collect::<Vec<_>>()
        };
        let holds = |node: Node| {
            let mut has = has(node).into_iter();
            match kind {
                From::And => has.all(|has| has),
                From::Or => has.len() == 0 || has.any(|has| has),
                From::Not => !has.any(|has| has),
            }
        };
        let sources = self.sources(term, slots).into_iter().filter(|&(_, node)| holds(node));
        sources.map(|(slots, _)| Match { slots, field: Field::Masked, target: None }).collect()
    }

    /// The entities that can be the source, with what that binds.
    fn sources(&self, term: &Term, slots: &[Slot; VARS]) -> Vec<([Slot; VARS], Node)> {
        match term.source.of() {
            None => Vec::new(),
            Some(&Ref::Node(node)) => vec![(*slots, node)],
            Some(&Ref::Var(var)) => match slots[var] {
                Slot::Is(node) => vec![(*slots, node)],
                _ => self.values(var).map(|node| (set(slots, var, node), node)).collect(),
            },
            Some(part @ Ref::Child(..)) => {
                self.child(part, slots).map(|node| (*slots, node)).into_iter().collect()
            }
            Some(Ref::Wildcard | Ref::Any) => self.model.entities().map(|node| (*slots, node)).collect(),
        }
    }

    fn ids(&self, term: &Term, slots: &[Slot; VARS]) -> Vec<Match> {
        let mut all: Vec<Match> = Vec::new();
        let any_source = term.source.of() == Some(&Ref::Any);
        for (slots, source) in self.sources(term, slots) {
            // `_` as a source takes them all together.
            let first_of_source = if any_source { 0 } else { all.len() };
            for mut found in self.ids_of(term, &slots, source) {
                let Field::Set { first, second, source } = &mut found.field else { continue };
                // One match for all that `_` stands for.
                let others = term.others();
                if others.contains(&&Ref::Any) {
                    *first = others[0].node();
                    *second = others.get(1).and_then(|target| target.node());
                    found.target = *second;
                }
                if any_source {
                    *source = None;
                    *first = others[0].node().or(*first);
                }
                if !all[first_of_source..]
                    .iter()
                    .any(|old| (old.slots, old.field, old.target) == (found.slots, found.field, found.target))
                {
                    all.push(found);
                }
            }
        }
        all
    }

    /// The ways in which the term holds for one entity.
    fn ids_of(&self, term: &Term, slots: &[Slot; VARS], source: Node) -> Vec<Match> {
        let parts: Vec<Option<Part>> = term.others().into_iter().map(|part| self.part(part, slots)).collect();
        if parts.iter().any(Option::is_none) {
            return Vec::new();
        }
        let parts: Vec<Part> = parts.into_iter().flatten().collect();
        let look = self.effective_look(term);
        let found = self.look(term, &parts, look, source);
        let mut all = Vec::new();
        for Own { holder, first, target, stored } in found {
            let field = Field::Set { first: Some(first), second: stored, source: Some(holder) };
            let mut slots = *slots;
            let values = [Some(first), target];
            let others = term.others();
            let mut fits = true;
            for (part, value) in others.into_iter().zip(values) {
                let (Ref::Var(var), Some(value)) = (part, value) else { continue };
                match slots[*var] {
                    Slot::Is(node) => fits &= node == value,
                    _ => slots[*var] = Slot::Is(value),
                }
            }
            // A variable that occurs twice is one entity, and `$this` is never a hidden one.
            if fits && self.is_shown(&slots) {
                all.push(Match { slots, field, target });
            }
        }
        all
    }

    fn is_shown(&self, slots: &[Slot; VARS]) -> bool {
        match slots[THIS] {
            Slot::Is(node) => !self.hidden.iter().any(|&marker| self.model.is_hidden(node, marker)),
            _ => true,
        }
    }

    /// `None`: a child that does not exist.
    fn part(&self, part: &Ref, slots: &[Slot; VARS]) -> Option<Part> {
        match part {
            Ref::Node(node) => Some(Part::Node(*node)),
            Ref::Var(var) => match slots[*var] {
                Slot::Is(node) => Some(Part::Node(node)),
                _ => Some(Part::Every),
            },
            Ref::Child(..) => self.child(part, slots).map(Part::Node),
            Ref::Wildcard => Some(Part::Every),
            Ref::Any => Some(Part::Any),
        }
    }

    /// What is shared by instances is looked for in their bases, unless the term says where to look.
    fn effective_look(&self, term: &Term) -> Look {
        match term.look() {
            Look::Default if self.is_shared(term) => Look::Up(Up { with_self: true, ..Up::new(IS_A) }),
            look => look,
        }
    }

    /// What is found on the entity, or around it.
    fn look(&self, term: &Term, parts: &[Part], look: Look, source: Node) -> Vec<Own> {
        let ids = self.ids_for(term, parts[0]);
        let Look::Up(up) = look else { return self.own(term, parts, &ids, source) };
        if !matches!((term.others()[0], parts[0]), (Ref::Node(_), Part::Node(_))) {
            return self.look_around(term, parts, up, &ids, source);
        }
        // Each subtype is looked up on its own; one is enough for `_`.
        let mut each = ids.iter().map(|&id| self.look_around(term, parts, up, &[id], source));
        if term.others().contains(&&Ref::Any) && !up.all {
            return each.find(|found| !found.is_empty()).unwrap_or_default();
        }
        each.flatten().collect()
    }

    fn look_around(&self, term: &Term, parts: &[Part], up: Up, ids: &[Node], source: Node) -> Vec<Own> {
        let around = if up.down {
            self.model.descendants(source, up.relation)
        } else {
            self.model.ancestors(source, up.relation)
        };
        let mut holders: Vec<Node> = up.with_self.then_some(source).into_iter().collect();
        // Only relations with one target have a depth here: each step is one further away.
        let near = around.into_iter().enumerate();
        let reached =
            near.filter(|(at, _)| up.depth.is_none_or(|(min, max)| (min..=max).contains(&(at + 1))));
        holders.extend(reached.map(|(_, holder)| holder));
        let mut all = Vec::new();
        for (number, holder) in holders.into_iter().enumerate() {
            let mut found = self.own(term, parts, ids, holder);
            let itself = number == 0 && up.with_self;
            if found.is_empty() && !itself && up.relation != IS_A && self.is_shared(term) {
                let bases = self.model.ancestors(holder, IS_A);
                let in_bases = bases.into_iter().map(|base| self.own(term, parts, ids, base));
                found = in_bases.into_iter().find(|found| !found.is_empty()).unwrap_or_default();
            }
            all.append(&mut found);
            if !(all.is_empty() || up.all) {
                break;
            }
        }
        all
    }

    fn is_shared(&self, term: &Term) -> bool {
        matches!(term.others()[0], Ref::Node(id) if self.model.nodes[*id].traits.inherit)
    }

    /// The ids that stand for the first part of a term.
    fn ids_for(&self, term: &Term, part: Part) -> Vec<Node> {
        let is_constant = matches!(term.others()[0], Ref::Node(_));
        match term.body {
            Body::Id { exact, .. } | Body::Pair { exact, .. } => self.firsts(part, exact || !is_constant),
            Body::From { .. } | Body::Equal(_) | Body::Value { .. } => Vec::new(),
        }
    }

    /// What one entity has itself of these ids.
    fn own(&self, term: &Term, parts: &[Part], ids: &[Node], holder: Node) -> Vec<Own> {
        let is_constant = matches!(term.others()[0], Ref::Node(_));
        match (&term.body, parts) {
            // Every entity has something, and if it is nothing.
            (Body::Id { .. }, [Part::Any]) => {
                vec![Own { holder, first: holder, target: None, stored: None }]
            }
            (Body::Id { .. }, [_]) => {
                let own = ids.iter().filter(|&&id| self.model.marks.contains(&(holder, id)));
                own.map(|&first| Own { holder, first, target: None, stored: None }).collect()
            }
            (Body::Pair { target_exact, .. }, [_, target]) => {
                // `!(R, *)` asks for stored pairs, as `_` does.
                let denies = term.oper == Oper::Not && term.others()[1] == &Ref::Wildcard;
                let any = matches!(target, Part::Any) || matches!(term.source.of(), Some(Ref::Any));
                let closes = is_constant && !*target_exact && !any && !denies;
                let mut all = Vec::new();
                for &relation in ids {
                    for other in self.targets(relation, closes, holder) {
                        if !matches!(target, Part::Node(node) if *node != other) {
                            let follows = closes && self.model.nodes[relation].traits.transitive;
                            let stored = if follows { self.stored(holder, relation, other) } else { other };
                            let stored = Some(stored);
                            all.push(Own { holder, first: relation, target: Some(other), stored });
                        }
                    }
                }
                all
            }
            _ => Vec::new(),
        }
    }

    /// The ids that stand for `part`: with subtypes, nearest first, if it is a constant one.
    fn firsts(&self, part: Part, exact: bool) -> Vec<Node> {
        match part {
            Part::Node(id) if exact => vec![id],
            Part::Node(id) => {
                let mut all = vec![id];
                let mut at = 0;
                while let Some(&id) = all.get(at) {
                    for sub in 0..self.model.nodes.len() {
                        if self.model.has_pair(sub, IS_A, id) && !all.contains(&sub) {
                            all.push(sub);
                        }
                    }
                    at += 1;
                }
                all
            }
            // Components come before tags.
            Part::Every | Part::Any => {
                let mut all: Vec<Node> = self.model.entities().collect();
                all.sort_by_key(|&node| !self.model.is_component(node));
                all
            }
        }
    }

    /// The target of the first of its own pairs over which a source reaches another entity.
    fn stored(&self, source: Node, relation: Node, target: Node) -> Node {
        let leads = |&own: &Node| own == target || self.model.reaches(own, relation, target);
        // There is none if the relation is reflexive, and the target is the source itself.
        self.model.targets(source, relation).find(leads).unwrap_or(target)
    }

    /// The targets that `source` reaches, in their order: itself, then those of its own pairs, each with what it
    /// reaches.
    fn targets(&self, relation: Node, closes: bool, source: Node) -> Vec<Node> {
        let traits = self.model.nodes[relation].traits;
        let mut all = if closes && traits.transitive {
            self.model.ancestors(source, relation)
        } else {
            self.model.targets(source, relation).collect()
        };
        if closes && traits.reflexive && !all.contains(&source) {
            all.insert(0, source);
        }
        all
    }
}
