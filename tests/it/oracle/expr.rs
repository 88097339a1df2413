//! Expressions as plain data, and their text.

use super::model::{CHILD_OF, Kind, Model, Node, escaped};
use std::collections::BTreeSet;

/// A variable: `$this` is number 0, the others have the names `$x`, `$y` and so on.
pub(crate) type Var = usize;

pub(crate) const THIS: Var = 0;

/// The name of a variable, without the dollar sign.
pub(crate) fn var_name(var: Var) -> &'static str {
    ["this", "x", "y", "z", "r"][var]
}

/// The number of names that [`var_name`] has.
pub(crate) const VARS: usize = 5;

/// Something in the place of an entity.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Ref {
    Node(Node),
    Var(Var),
    /// `$var.child`: the child of that name.
    Child(Var, String),
    /// `*`
    Wildcard,
    /// `_`
    Any,
}

/// Where a term looks: `self`, `up` or both.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Up {
    /// Looks at the entity first.
    pub(crate) with_self: bool,
    pub(crate) cascade: bool,
    /// Cascades from the leaves.
    pub(crate) desc: bool,
    pub(crate) relation: Node,
    /// Looks among sources.
    pub(crate) down: bool,
    /// Every holder, not the nearest alone.
    pub(crate) all: bool,
    /// The least and the greatest number of steps.
    pub(crate) depth: Option<(usize, usize)>,
}

impl Up {
    pub(crate) fn new(relation: Node) -> Self {
        Self { with_self: false, cascade: false, desc: false, relation, down: false, all: false, depth: None }
    }

    /// Whether Flecs knows it.
    pub(crate) fn is_common(&self) -> bool {
        !self.down && !self.all && self.depth.is_none()
    }
}

/// What a term asks about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Oper {
    #[default]
    And,
    Not,
    Optional,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum From {
    And,
    Or,
    Not,
}

/// The right side of `==`, `!=` and `~=`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Side {
    Ref(Ref),
    /// `== "name"`
    Path(String),
    /// `~= "part"`
    Like(String),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Body {
    /// `Tag`
    Id { id: Ref, exact: bool },
    /// `(Relation, target)`
    Pair { relation: Ref, exact: bool, target: Ref, target_exact: bool },
    /// `and|List`
    From { kind: From, list: Node },
    /// `Component.field < number`, `(Relation.field, target) < number`: the number that the component or pair carries.
    Value { id: Ref, target: Option<Ref>, than: Than, number: i64 },
    /// `$x == side`, on the source of the term. With [`Oper::Not`] it is `!=`, or `"!part"`.
    Equal(Side),
}

/// How a number is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Than {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

impl Than {
    pub(crate) const ALL: [Self; 6] =
        [Self::Less, Self::LessOrEqual, Self::Greater, Self::GreaterOrEqual, Self::Equal, Self::NotEqual];

    pub(crate) fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
            Self::Equal => left == right,
            Self::NotEqual => left != right,
        }
    }

    fn sign(self) -> &'static str {
        ["<", "<=", ">", ">=", "==", "!="][self as usize]
    }
}

/// The source of a term.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Source {
    /// `Tag()`
    Nothing,
    Ref {
        of: Ref,
        /// `T(self)`, or where to look.
        look: Look,
    },
}

#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) enum Look {
    /// Nothing is said.
    #[default]
    Default,
    /// `self`
    Own,
    Up(Up),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Term {
    pub(crate) oper: Oper,
    pub(crate) body: Body,
    pub(crate) source: Source,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Elem {
    Term(Term),
    /// `a || b`
    Or(Vec<Term>),
    /// `{ .. }` or `!{ .. }`
    Scope {
        not: bool,
        elems: Vec<Elem>,
    },
}

/// The elements are joined by commas.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Expr(pub(crate) Vec<Elem>);

impl Source {
    pub(crate) const THIS: Self = Self::Ref { of: Ref::Var(THIS), look: Look::Default };

    pub(crate) fn of(&self) -> Option<&Ref> {
        match self {
            Self::Nothing => None,
            Self::Ref { of, .. } => Some(of),
        }
    }
}

impl Ref {
    pub(crate) fn var(&self) -> Option<Var> {
        match *self {
            Self::Var(var) | Self::Child(var, _) => Some(var),
            Self::Node(_) | Self::Wildcard | Self::Any => None,
        }
    }

    pub(crate) fn node(&self) -> Option<Node> {
        match *self {
            Self::Node(node) => Some(node),
            _ => None,
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        !matches!(self, Self::Node(_) | Self::Child(..))
    }
}

impl Term {
    /// The parts that are not the source.
    pub(crate) fn others(&self) -> Vec<&Ref> {
        match &self.body {
            Body::Id { id, .. } => vec![id],
            Body::Pair { relation, target, .. } => vec![relation, target],
            Body::Value { id, target, .. } => core::iter::once(id).chain(target).collect(),
            Body::Equal(Side::Ref(right)) => vec![right],
            Body::From { .. } | Body::Equal(_) => Vec::new(),
        }
    }

    /// Every part, the source first.
    pub(crate) fn refs(&self) -> Vec<&Ref> {
        self.source.of().into_iter().chain(self.others()).collect()
    }

    pub(crate) fn vars(&self) -> BTreeSet<Var> {
        self.refs().into_iter().filter_map(Ref::var).collect()
    }

    /// The variables that have a value behind it.
    pub(crate) fn binds(&self) -> BTreeSet<Var> {
        match (self.oper, &self.body) {
            (Oper::Not, Body::Id { .. } | Body::Pair { .. } | Body::From { .. } | Body::Value { .. }) => {
                self.source.of().and_then(Ref::var).into_iter().collect()
            }
            _ => self.vars(),
        }
    }

    pub(crate) fn look(&self) -> Look {
        match self.source {
            Source::Nothing => Look::Default,
            Source::Ref { look, .. } => look,
        }
    }
}

impl Elem {
    /// Gives other names to the children that are asked for.
    pub(crate) fn rename_children(&mut self, name: &dyn Fn(&str) -> String) {
        let terms: &mut dyn Iterator<Item = &mut Term> = match self {
            Self::Term(term) => &mut std::iter::once(term),
            Self::Or(terms) => &mut terms.iter_mut(),
            Self::Scope { elems, .. } => {
                elems.iter_mut().for_each(|elem| elem.rename_children(name));
                return;
            }
        };
        for term in terms {
            let source = match &mut term.source {
                Source::Ref { of, .. } => Some(of),
                Source::Nothing => None,
            };
            let others = match &mut term.body {
                Body::Pair { relation, target, .. } => [Some(relation), Some(target)],
                Body::Equal(Side::Ref(part)) | Body::Id { id: part, .. } => [Some(part), None],
                Body::Value { id, target, .. } => [Some(id), target.as_mut()],
                Body::From { .. } | Body::Equal(_) => [None, None],
            };
            for part in source.into_iter().chain(others.into_iter().flatten()) {
                if let Ref::Child(_, child) = part {
                    *child = name(child);
                }
            }
        }
    }

    pub(crate) fn terms(&self) -> Vec<&Term> {
        match self {
            Self::Term(term) => vec![term],
            Self::Or(terms) => terms.iter().collect(),
            Self::Scope { elems, .. } => elems.iter().flat_map(Self::terms).collect(),
        }
    }
}

impl Expr {
    pub(crate) fn terms(&self) -> Vec<&Term> {
        self.0.iter().flat_map(Elem::terms).collect()
    }

    /// The variables that a row shows: those that occur outside of negated scopes.
    pub(crate) fn shown_vars(&self) -> BTreeSet<Var> {
        fn collect(elems: &[Elem], vars: &mut BTreeSet<Var>) {
            for elem in elems {
                match elem {
                    Elem::Scope { not: true, .. } => {}
                    Elem::Scope { not: false, elems } => collect(elems, vars),
                    Elem::Term(_) | Elem::Or(_) => {
                        vars.extend(elem.terms().into_iter().flat_map(Term::vars));
                    }
                }
            }
        }
        let mut vars = BTreeSet::new();
        collect(&self.0, &mut vars);
        vars
    }

    /// Whether a term about `$this` itself names the entity.
    pub(crate) fn names_of_this(&self, node: Node) -> bool {
        let about_this = |term: &&Term| {
            let elsewhere = matches!(term.look(), Look::Up(up) if !up.with_self);
            term.source.of() == Some(&Ref::Var(THIS)) && !elsewhere && !matches!(term.body, Body::Equal(_))
        };
        self.terms().into_iter().filter(about_this).any(|term| term.others().contains(&&Ref::Node(node)))
    }

    /// The relation of a `cascade`, and whether it starts with the leaves.
    pub(crate) fn cascade(&self) -> Option<(Node, bool)> {
        self.terms().into_iter().find_map(|term| match term.look() {
            Look::Up(up) if up.cascade => Some((up.relation, up.desc)),
            _ => None,
        })
    }

    /// Whether it says something about names, apart from naming entities.
    pub(crate) fn asks_for_names(&self) -> bool {
        let asks = |term: &&Term| {
            term.refs().iter().any(|part| matches!(part, Ref::Child(..)))
                || matches!(term.body, Body::Equal(Side::Path(_) | Side::Like(_)))
        };
        self.terms().iter().any(asks)
    }

    /// Whether a relation or tag is a variable, `*` or `_`.
    pub(crate) fn has_open_ids(&self) -> bool {
        let is_open = |term: &&Term| {
            matches!(term.body, Body::Id { .. } | Body::Pair { .. }) && term.others()[0].is_open()
        };
        self.terms().iter().any(is_open)
    }

    /// The text, in the language of Flecs and of this crate.
    pub(crate) fn text(&self, names: Names<'_>) -> String {
        elems(&self.0, names)
    }
}

/// How entities are written.
#[derive(Clone, Copy)]
pub(crate) enum Names<'a> {
    /// As paths.
    Paths(&'a Model),
    /// As `#number`, but by name where that is 0.
    Numbers(&'a Model, &'a [u64]),
}

impl Names<'_> {
    fn node(self, node: Node) -> String {
        match self {
            Self::Paths(model) if model.nodes[node].kind == Kind::Member => model.nodes[node].name.clone(),
            Self::Paths(model) => model.path(node),
            Self::Numbers(model, numbers) if numbers[node] == 0 => model.nodes[node].name.clone(),
            Self::Numbers(_, numbers) => format!("#{}", numbers[node]),
        }
    }

    /// The field of the number that a component or the pairs of a relation carry.
    fn field(self, id: &Ref) -> String {
        let (Self::Paths(model) | Self::Numbers(model, _)) = self;
        id.node().map_or_else(|| self.part(id), |id| format!("{}.number", model.nodes[id].name))
    }

    /// Whether it is a resource.
    pub(crate) fn is_singleton(self, id: &Ref) -> bool {
        let (Self::Paths(model) | Self::Numbers(model, _)) = self;
        id.node().is_some_and(|id| model.nodes[id].kind == Kind::Singleton)
    }

    /// A target. With the relation in front, names are looked up among its children if it asks for them.
    pub(crate) fn target(self, relation: &Ref, target: &Ref) -> String {
        match (self, relation, target) {
            (Self::Paths(model), &Ref::Node(relation), &Ref::Node(target)) => {
                model.target_path(relation, target)
            }
            _ => self.part(target),
        }
    }

    pub(crate) fn part(self, part: &Ref) -> String {
        match part {
            Ref::Node(node) => self.node(*node),
            Ref::Var(var) => format!("${}", var_name(*var)),
            Ref::Child(var, child) => format!("${}.{}", var_name(*var), escaped(child)),
            Ref::Wildcard => "*".into(),
            Ref::Any => "_".into(),
        }
    }

    /// `self|up Relation`
    fn look(self, look: Look) -> String {
        let Look::Up(up) = look else {
            return if look == Look::Own { "self".into() } else { String::new() };
        };
        let mut text = String::from(if up.with_self { "self|" } else { "" });
        text += match up {
            Up { cascade: true, .. } => "cascade",
            Up { down: true, .. } => "down",
            _ => "up",
        };
        text += if up.all { "|all" } else { "" };
        text += if up.desc { "|desc" } else { "" };
        if up.relation != CHILD_OF || up.depth.is_some() {
            // Relations of traversal are looked up by name in every style.
            text += " ";
            text += &self.node(up.relation);
        }
        if let Some((min, max)) = up.depth {
            text += &format!(" {min}..{max}");
        }
        text
    }
}

fn elems(list: &[Elem], names: Names<'_>) -> String {
    let texts: Vec<_> = list
        .iter()
        .map(|elem| match elem {
            Elem::Term(term) => term_text(term, names),
            Elem::Or(terms) => {
                terms.iter().map(|term| term_text(term, names)).collect::<Vec<_>>().join(" || ")
            }
            Elem::Scope { not, elems: list } => {
                format!("{}{{ {} }}", if *not { "!" } else { "" }, elems(list, names))
            }
        })
        .collect();
    texts.join(", ")
}

fn term_text(term: &Term, names: Names<'_>) -> String {
    let prefix = match term.oper {
        Oper::And => "",
        Oper::Not => "!",
        Oper::Optional => "?",
    };
    let exactly = |exact: bool| if exact { "|self" } else { "" };
    let with_self = |part: &Ref, exact: bool| names.part(part) + exactly(exact);
    let source = match &term.source {
        Source::Nothing => String::new(),
        Source::Ref { of: Ref::Var(THIS), look: Look::Default } => "$this".into(),
        Source::Ref { of, look: Look::Default } => names.part(of),
        Source::Ref { of: Ref::Var(THIS), look } if matches!(term.body, Body::Id { .. }) => names.look(*look),
        Source::Ref { of, look } => format!("{}|{}", names.part(of), names.look(*look)),
    };
    match &term.body {
        Body::Id { id, exact } if source == "$this" => format!("{prefix}{}", with_self(id, *exact)),
        Body::Id { id, exact } => format!("{prefix}{}({source})", with_self(id, *exact)),
        Body::Pair { relation, exact, target, target_exact } => {
            let target = names.target(relation, target) + exactly(*target_exact);
            let relation = with_self(relation, *exact);
            match source.as_str() {
                "$this" => format!("{prefix}({relation}, {target})"),
                _ => format!("{prefix}{relation}({source}, {target})"),
            }
        }
        Body::Value { id, target, than, number } => {
            let (field, sign) = (names.field(id), than.sign());
            match (target, source.as_str()) {
                (None, "$this") => format!("{prefix}{field} {sign} {number}"),
                (None, _) => format!("{prefix}{field}({source}) {sign} {number}"),
                (Some(target), "$this") => {
                    format!("{prefix}({field}, {}) {sign} {number}", names.target(id, target))
                }
                (Some(target), _) => {
                    format!("{prefix}{field}({source}, {}) {sign} {number}", names.target(id, target))
                }
            }
        }
        Body::From { kind, list } => {
            let kind = match kind {
                From::And => "and",
                From::Or => "or",
                From::Not => "not",
            };
            let list = names.node(*list);
            if source == "$this" { format!("{kind}|{list}") } else { format!("{kind}|{list}({source})") }
        }
        Body::Equal(side) => {
            let not = term.oper == Oper::Not;
            match side {
                Side::Ref(right) => {
                    format!("{source} {} {}", if not { "!=" } else { "==" }, names.part(right))
                }
                Side::Path(path) => format!("{source} {} \"{path}\"", if not { "!=" } else { "==" }),
                Side::Like(part) => format!("{source} ~= \"{}{part}\"", if not { "!" } else { "" }),
            }
        }
    }
}
