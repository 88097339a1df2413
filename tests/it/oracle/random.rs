//! Random worlds and expressions.

use super::{
    expr::{Body, Elem, Expr, From, Look, Oper, Ref, Side, Source, THIS, Term, Than, Up, Var},
    model::{BUILT_IN, CHILD_OF, DISABLED, IS_A, Kind, Model, Node, PREFAB, Traits},
};

/// `SplitMix64`: small, and the same everywhere.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        let mut random = Self(seed ^ number.wrapping_mul(0xd134_2543_de82_ef95));
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 32) as usize % bound.max(1)
    }

    /// True in `percent` of a hundred calls.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())].clone()
    }

    /// Picks by weight.
    pub(crate) fn weighted<T: Copy>(&mut self, list: &[(usize, T)]) -> T {
        let mut left = self.below(list.iter().map(|(weight, _)| weight).sum());
        for &(weight, value) in list {
            if left < weight {
                return value;
            }
            left -= weight;
        }
        list[0].1
    }
}

/// The relations of every random world.
const RELATIONS: [(&str, Traits); 11] = {
    const NONE: Traits = Traits {
        exclusive: false,
        symmetric: false,
        transitive: false,
        reflexive: false,
        traversable: false,
        inherit: false,
        one_of: false,
    };
    [
        ("Likes", NONE),
        ("Eats", NONE),
        ("Docked", Traits { exclusive: true, ..NONE }),
        ("Knows", Traits { symmetric: true, ..NONE }),
        ("Located", Traits { transitive: true, traversable: true, ..NONE }),
        ("Within", Traits { transitive: true, reflexive: true, traversable: true, ..NONE }),
        ("Near", Traits { reflexive: true, ..NONE }),
        ("Mounted", Traits { traversable: true, exclusive: true, ..NONE }),
        ("Follows", Traits { traversable: true, ..NONE }),
        ("Owns", Traits { inherit: true, ..NONE }),
        ("Mood", Traits { exclusive: true, one_of: true, ..NONE }),
    ]
};

/// What every random world has: tags, components and a field of one, a resource, and relations.
pub(crate) fn vocabulary() -> Model {
    let mut model = Model::new();
    for name in ["Red", "Big", "Old"] {
        model.spawn(name, Kind::Tag, Traits::default());
    }
    model.spawn("Armor", Kind::Component(0), Traits::default());
    model.spawn("Shield", Kind::Component(1), Traits { inherit: true, ..Traits::default() });
    for (name, traits) in RELATIONS {
        let relation = model.spawn(name, Kind::Relation, traits);
        for child in ["calm", "angry"] {
            if traits.one_of {
                let child = model.spawn(child, Kind::Entity, Traits::default());
                model.pair(child, CHILD_OF, relation);
            }
        }
    }
    model.spawn("Movement", Kind::Component(2), Traits::default());
    model.spawn("Movement.value", Kind::Member, Traits { exclusive: true, ..Traits::default() });
    let clock = model.spawn("Clock", Kind::Singleton, Traits::default());
    model.mark(clock, clock);
    model
}

/// A world of some tags, components, relations and entities, with diamonds and hidden entities now and then.
pub(crate) fn world(random: &mut Random) -> Model {
    let mut model = vocabulary();
    let of_kind = |model: &Model, kind| -> Vec<Node> {
        (BUILT_IN..model.nodes.len()).filter(|&node| model.nodes[node].kind == kind).collect()
    };
    let relations = of_kind(&model, Kind::Relation);
    let entities: Vec<Node> = (0..4 + random.below(5))
        .map(|number| {
            // Two have to be written with a backslash.
            let sign = ["", "", "", ".", "", " "].get(number).copied().unwrap_or_default();
            model.spawn(&format!("e{sign}{number}"), Kind::Entity, Traits::default())
        })
        .collect();
    let downwards = random.chance(50);
    let mut pairs = Vec::new();
    let with_isa = random.chance(50);
    for &relation in relations.iter().chain([IS_A, CHILD_OF].iter()) {
        let one_of = model.nodes[relation].traits.one_of;
        let wanted = match relation {
            IS_A if !with_isa => 0,
            _ if random.chance(30) => 0,
            _ => random.below(entities.len() + 3),
        };
        for _ in 0..wanted {
            let source = random.pick(&entities);
            let target =
                if one_of { random.pick(&children(&model, relation)) } else { random.pick(&entities) };
            link(&mut pairs, &model, downwards, (source, relation, target));
        }
    }
    if with_isa && random.chance(40) {
        // Subtypes of tags and of relations.
        for (sub, base) in [("Big", "Red"), ("Old", "Big"), ("Eats", "Likes")] {
            if random.chance(50) {
                let ids = model.node(sub).zip(model.node(base));
                pairs.extend(ids.map(|(sub, base)| (sub, IS_A, base)));
            }
        }
    }
    // In order of the target, as Flecs keeps them; `IsA` before there is anything that could be inherited.
    pairs.sort_unstable();
    pairs.sort_by_key(|&(_, relation, _)| relation);
    for (source, relation, target) in pairs {
        model.pair(source, relation, target);
    }
    for &entity in &entities {
        for mark in BUILT_IN..BUILT_IN + 5 {
            if random.chance(40) {
                model.mark(entity, mark);
            }
        }
        for hiding in [PREFAB, DISABLED] {
            if random.chance(4) {
                model.mark(entity, hiding);
            }
        }
        if let (Some(movement), Some(value)) = (model.node("Movement"), model.node("Movement.value"))
            && random.chance(30)
        {
            model.mark(entity, movement);
            model.pair(entity, value, random.pick(&entities));
        }
    }
    mark_parts_of_prefabs(&mut model);
    model
}

/// What lies below a prefab is one.
fn mark_parts_of_prefabs(model: &mut Model) {
    let mut waiting: Vec<Node> =
        model.marks.iter().filter(|(_, mark)| *mark == PREFAB).map(|&(node, _)| node).collect();
    while let Some(parent) = waiting.pop() {
        for child in children(model, parent) {
            if model.marks.insert((child, PREFAB)) {
                waiting.push(child);
            }
        }
    }
}

fn children(model: &Model, parent: Node) -> Vec<Node> {
    (0..model.nodes.len()).filter(|&node| model.has_pair(node, CHILD_OF, parent)).collect()
}

/// Adds the pair if the traits of its relation allow it.
fn link(pairs: &mut Vec<(Node, Node, Node)>, model: &Model, downwards: bool, pair: (Node, Node, Node)) {
    let (mut source, relation, mut target) = pair;
    let traits = model.nodes[relation].traits;
    if traits.is_acyclic() {
        if source == target {
            return;
        }
        if (source > target) != downwards {
            (source, target) = (target, source);
        }
    }
    if traits.exclusive && pairs.iter().any(|&(s, r, _)| (s, r) == (source, relation)) {
        return;
    }
    pairs.push((source, relation, target));
    if traits.symmetric {
        pairs.push((target, relation, source));
    }
}

/// A random expression about a world.
pub(crate) fn expr(random: &mut Random, model: &Model) -> Expr {
    expr_with_values(random, model, 0)
}

/// A random expression in which so many terms of a hundred compare numbers, if the world has some.
pub(crate) fn expr_with_values(random: &mut Random, model: &Model, values: usize) -> Expr {
    let of_kind = |fits: fn(&Kind) -> bool| -> Vec<Node> {
        (BUILT_IN..model.nodes.len()).filter(|&node| fits(&model.nodes[node].kind)).collect()
    };
    let mut relations = of_kind(|kind| *kind == Kind::Relation);
    if random.chance(85) {
        // Flecs looks at Reflexive only with Transitive.
        relations.retain(|&relation| {
            let traits = model.nodes[relation].traits;
            !traits.reflexive || traits.transitive
        });
    }
    relations.extend([IS_A, CHILD_OF]);
    let mut maker = Maker {
        traversables: relations
            .iter()
            .copied()
            .filter(|&relation| model.nodes[relation].traits.traversable)
            .collect(),
        marks: of_kind(|kind| matches!(kind, Kind::Tag | Kind::Component(_))),
        entities: of_kind(|kind| *kind == Kind::Entity),
        relations,
        model,
        bound: Vec::new(),
        vars: 2 + random.below(2),
        open_ids: random.chance(30),
        values,
        random,
    };
    let wanted = 1 + maker.random.below(5);
    let mut elems: Vec<Elem> = (0..wanted).map(|number| maker.elem(number, 0)).collect();
    if maker.random.chance(4) {
        // The same twice.
        elems.push(maker.random.pick(&elems));
    }
    if maker.random.chance(6) {
        maker.path(&mut elems);
    }
    if maker.random.chance(30) {
        let desc = maker.random.chance(30);
        cascade(&mut elems, desc);
    }
    Expr(elems)
}

/// Makes the first `up` that can be one a `cascade`.
fn cascade(elems: &mut [Elem], desc: bool) {
    for elem in elems {
        if let Elem::Term(Term {
            oper: Oper::And | Oper::Optional,
            source: Source::Ref { of: Ref::Var(THIS), look: Look::Up(up) },
            ..
        }) = elem
            && !up.down
            && !up.all
        {
            (up.cascade, up.desc) = (true, desc);
            return;
        }
    }
}

struct Maker<'a> {
    random: &'a mut Random,
    model: &'a Model,
    marks: Vec<Node>,
    relations: Vec<Node>,
    traversables: Vec<Node>,
    entities: Vec<Node>,
    /// Variables that are probably bound by now.
    bound: Vec<Var>,
    vars: usize,
    /// Whether relations and tags may be variables and wildcards.
    open_ids: bool,
    /// How many terms of a hundred compare numbers.
    values: usize,
}

impl Maker<'_> {
    fn elem(&mut self, number: usize, depth: usize) -> Elem {
        let scopes = match (number, depth) {
            (_, 2..) => 0,
            // Beyond Flecs.
            (0, 0) => 4,
            _ => 12,
        };
        match self.random.weighted(&[(75, 0), (10, 1), (scopes, 2)]) {
            0 => {
                let term = self.term(number == 0, depth > 0);
                if term.oper != Oper::Not {
                    self.bound.extend(term.vars());
                }
                Elem::Term(term)
            }
            1 => Elem::Or(self.chain()),
            _ => {
                let not = self.random.chance(85);
                let before = self.bound.clone();
                let elems =
                    (0..1 + self.random.below(3)).map(|number| self.elem(number + 1, depth + 1)).collect();
                if not {
                    self.bound = before;
                }
                Elem::Scope { not, elems }
            }
        }
    }

    /// Goes on behind the last pair, as `R(a, b, c)` does.
    fn path(&mut self, elems: &mut Vec<Elem>) {
        if let Some(Elem::Term(Term { oper: Oper::And, body, source })) = elems.last()
            && let Body::Pair {
                relation, exact: false, target: target @ (Ref::Var(_) | Ref::Node(_)), ..
            } = body
            && let Source::Ref { look: Look::Default, .. } = source
        {
            let source = Source::Ref { of: target.clone(), look: Look::Default };
            let target = if self.random.chance(50) { self.target() } else { Ref::Var(self.var()) };
            let body = Body::Pair { relation: relation.clone(), exact: false, target, target_exact: false };
            elems.push(Elem::Term(Term { oper: Oper::And, body, source }));
        }
    }

    fn chain(&mut self) -> Vec<Term> {
        let of = self.source();
        let before = self.bound.clone();
        let constant = self.random.chance(60);
        let mut terms = Vec::new();
        for _ in 0..2 + self.random.below(2) {
            let source = Source::Ref { of: of.clone(), look: Look::Default };
            let body = if constant {
                let id = Ref::Node(self.random.pick(&self.marks));
                if self.random.chance(50) {
                    Body::Id { id, exact: false }
                } else {
                    let relation = Ref::Node(self.random.pick(&self.relations));
                    let target = Ref::Node(self.random.pick(&self.entities));
                    let target = self.allowed(&relation, target);
                    Body::Pair { relation, exact: false, target, target_exact: false }
                }
            } else {
                self.body()
            };
            let body = if self.values > 0 && self.random.chance(30) { self.value_body() } else { body };
            terms.push(Term { oper: Oper::And, body, source });
        }
        self.bound = before;
        self.bound.extend(terms.iter().flat_map(Term::vars));
        terms
    }

    fn var(&mut self) -> Var {
        if !self.bound.is_empty() && self.random.chance(60) {
            return self.random.pick(&self.bound.clone());
        }
        self.random.below(self.vars + 1)
    }

    fn source(&mut self) -> Ref {
        match self.random.weighted(&[(70, 0), (14, 1), (9, 2), (4, 3), (3, 4)]) {
            0 => Ref::Var(THIS),
            1 => Ref::Var(self.var()),
            2 => Ref::Node(self.random.pick(&self.entities)),
            3 => Ref::Any,
            _ => Ref::Wildcard,
        }
    }

    fn target(&mut self) -> Ref {
        match self.random.weighted(&[(35, 0), (35, 1), (17, 2), (13, 3)]) {
            0 => Ref::Node(self.random.pick(&self.entities)),
            1 => Ref::Var(self.var()),
            2 => Ref::Wildcard,
            _ => Ref::Any,
        }
    }

    /// A relation or tag in the place of an id.
    fn id(&mut self, ids: &[Node]) -> Ref {
        if !self.open_ids || self.random.chance(60) {
            let hiding = ids == self.marks && self.random.chance(2);
            return Ref::Node(if hiding {
                self.random.pick(&[PREFAB, DISABLED])
            } else {
                self.random.pick(ids)
            });
        }
        match self.random.weighted(&[(40, 0), (40, 1), (20, 2)]) {
            0 => Ref::Wildcard,
            1 => {
                let var = 1 + self.random.below(self.vars);
                Ref::Var(var)
            }
            _ => Ref::Any,
        }
    }

    fn body(&mut self) -> Body {
        if self.random.chance(40) {
            let exact = self.random.chance(5);
            let id = self.id(&self.marks.clone());
            return Body::Id { exact: exact && !id.is_open(), id };
        }
        let relation = self.id(&self.relations.clone());
        let target = self.target();
        let target = self.allowed(&relation, target);
        let constant = !relation.is_open();
        Body::Pair {
            exact: constant && self.random.chance(5),
            target_exact: constant && target != Ref::Any && self.random.chance(6),
            relation,
            target,
        }
    }

    /// Another target where the relation is particular about it, most of the time.
    fn allowed(&mut self, relation: &Ref, target: Ref) -> Ref {
        match (relation.node(), &target) {
            (Some(relation), Ref::Node(_))
                if self.model.nodes[relation].traits.one_of && self.random.chance(95) =>
            {
                Ref::Node(self.random.pick(&children(self.model, relation)))
            }
            _ => target,
        }
    }

    /// A term about the field of a component, or about a resource.
    fn special(&mut self) -> Option<Term> {
        let kind = if self.random.chance(75) { Kind::Member } else { Kind::Singleton };
        let node = (0..self.model.nodes.len()).find(|&node| self.model.nodes[node].kind == kind)?;
        let (body, source) = if kind == Kind::Member {
            let target = self.target();
            let source = self.source();
            (Body::Pair { relation: Ref::Node(node), exact: false, target, target_exact: false }, source)
        } else {
            (Body::Id { id: Ref::Node(node), exact: false }, Ref::Node(node))
        };
        let oper = self.random.weighted(&[(80, Oper::And), (10, Oper::Not), (10, Oper::Optional)]);
        Some(Term { oper, body, source: Source::Ref { of: source, look: Look::Default } })
    }

    /// The comparison of a number.
    fn value_body(&mut self) -> Body {
        let of_pair = self.random.chance(50);
        let id = self.model.node(if of_pair { "Weighs" } else { "Health" }).expect("the world has values");
        let target = of_pair.then(|| self.target());
        let target = target.map(|target| if target == Ref::Any { Ref::Wildcard } else { target });
        let (than, number) = (self.random.pick(&Than::ALL), self.random.below(5) as i64 - 1);
        Body::Value { id: Ref::Node(id), target, than, number }
    }

    /// A term that compares a number.
    fn value(&mut self) -> Term {
        let body = self.value_body();
        let source = self.source();
        let source = if source == Ref::Any { Ref::Wildcard } else { source };
        let oper = self.random.weighted(&[(70, Oper::And), (15, Oper::Not), (15, Oper::Optional)]);
        Term { oper, body, source: Source::Ref { of: source, look: Look::Default } }
    }

    fn look(&mut self) -> Look {
        match self.random.weighted(&[(88, 0), (2, 1), (10, 2)]) {
            0 => Look::Default,
            1 => Look::Own,
            _ => {
                let relation = self.random.pick(&self.traversables);
                let mut up = Up { with_self: self.random.chance(50), ..Up::new(relation) };
                // Beyond Flecs.
                if self.random.chance(25) {
                    up.down = self.random.chance(40);
                    up.all = self.random.chance(40);
                    if self.model.nodes[relation].traits.exclusive && !up.down && self.random.chance(60) {
                        let min = 1 + self.random.below(3);
                        up.depth = Some((min, min + self.random.below(3)));
                    }
                }
                Look::Up(up)
            }
        }
    }

    fn term(&mut self, first: bool, in_scope: bool) -> Term {
        if self.values > 0 && self.random.chance(self.values) {
            return self.value();
        }
        if !first && self.random.chance(8) {
            return self.equality();
        }
        if self.random.chance(4)
            && let Some(term) = self.special()
        {
            return term;
        }
        if !first && !in_scope && self.random.chance(3) {
            let kind = self.random.pick(&[From::And, From::Or, From::Not]);
            let body = Body::From { kind, list: self.random.pick(&self.entities) };
            let of = if self.random.chance(80) { Ref::Var(THIS) } else { self.source() };
            let of = if matches!(of, Ref::Any | Ref::Wildcard) { Ref::Var(THIS) } else { of };
            return Term { oper: Oper::And, body, source: Source::Ref { of, look: Look::Default } };
        }
        let operators = if first {
            [(88, Oper::And), (6, Oper::Not), (6, Oper::Optional)]
        } else {
            [(64, Oper::And), (20, Oper::Not), (16, Oper::Optional)]
        };
        let oper = self.random.weighted(&operators);
        let body = self.body();
        if matches!(body, Body::Id { id: Ref::Node(_), exact: false }) && self.random.chance(2) {
            return Term { oper: Oper::And, body, source: Source::Nothing };
        }
        let mut source = if first && self.random.chance(60) { Ref::Var(THIS) } else { self.source() };
        if oper != Oper::And
            && source.var().is_some_and(|var| !self.bound.contains(&var))
            && self.random.chance(80)
        {
            source = Ref::Var(self.bound.first().copied().unwrap_or(THIS));
        }
        let mut body = body;
        if let Body::Pair { target, .. } = &mut body
            && *target == source
            && self.random.chance(80)
        {
            *target = Ref::Node(self.random.pick(&self.entities));
        }
        if let Body::Pair { relation, target, .. } = &mut body {
            *target = self.allowed(relation, target.clone());
            if self.random.chance(20) {
                *target = self.child_of(target.clone());
            }
        }
        let look = if matches!(source, Ref::Any | Ref::Wildcard) { Look::Default } else { self.look() };
        let look = match look {
            // An error for what instances do not share.
            Look::Up(up) if up.relation == IS_A && !self.is_shared(&body) && self.random.chance(90) => {
                Look::Own
            }
            look => look,
        };
        if look != Look::Default || source != Ref::Var(THIS) {
            // The language has no place for it here.
            if let Body::Id { exact, .. } = &mut body {
                *exact = false;
            }
        }
        let source = self.child_of(source);
        Term { oper, body, source: Source::Ref { of: source, look } }
    }

    fn is_shared(&self, body: &Body) -> bool {
        matches!(body, Body::Id { id: Ref::Node(id), .. } if self.model.nodes[*id].traits.inherit)
    }

    /// Now and then a child by name in the place of the variable.
    fn child_of(&mut self, source: Ref) -> Ref {
        match source {
            Ref::Var(var) if !self.open_ids && self.bound.contains(&var) && self.random.chance(8) => {
                let child = self.random.pick(&self.entities);
                Ref::Child(var, self.model.nodes[child].name.clone())
            }
            source => source,
        }
    }

    fn equality(&mut self) -> Term {
        let oper = if self.random.chance(50) { Oper::And } else { Oper::Not };
        let node = self.random.pick(&self.entities);
        let side = match self.random.below(20) {
            0 => Side::Ref(Ref::Wildcard),
            1 => Side::Ref(Ref::Any),
            2..8 => Side::Ref(Ref::Node(node)),
            8..16 => Side::Ref(Ref::Var(self.var())),
            _ if self.open_ids => Side::Ref(Ref::Node(node)),
            // A string has other rules for the backslash.
            _ if self.random.chance(50) && !self.model.path(node).contains('\\') => {
                Side::Path(self.model.path(node))
            }
            _ => Side::Like(self.random.pick(&["e", "1", "E2", "3", "x"]).into()),
        };
        let source = Source::Ref { of: Ref::Var(self.var()), look: Look::Default };
        Term { oper, body: Body::Equal(side), source }
    }
}
