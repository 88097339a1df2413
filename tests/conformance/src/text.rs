//! Worlds and expressions read from text, for those that are written by hand.

use crate::oracle::{
    expr::{Body, Elem, Expr, From, Look, Oper, Ref, Side, Source, THIS, Term, Up, VARS, Var, var_name},
    model::{CHILD_OF, Kind, Model, Node, Traits},
    random,
};

/// A world of what every random world has, and of entities that are listed: `e0 Red (Likes, e1); e1 Big`.
pub(crate) fn model(text: &str) -> Option<Model> {
    let mut model = random::vocabulary();
    let statements: Vec<&str> = text.split(';').map(str::trim).filter(|part| !part.is_empty()).collect();
    for statement in &statements {
        let name = statement.split_whitespace().next()?;
        if model.node(name).is_none() {
            model.spawn(name, Kind::Entity, Traits::default());
        }
    }
    for statement in statements {
        let (name, facts) = statement.split_once(' ').unwrap_or((statement, ""));
        let source = model.node(name)?;
        for fact in facts.replace(", ", ",").split_whitespace() {
            match fact.strip_prefix('(').and_then(|pair| pair.strip_suffix(')')?.split_once(',')) {
                Some((relation, target)) => {
                    let (relation, target) = (model.node(relation)?, model.node(target)?);
                    model.pair(source, relation, target);
                }
                None => {
                    let mark = model.node(fact)?;
                    model.mark(source, mark);
                }
            }
        }
    }
    Some(model)
}

/// The text of a world, as [`model`] reads it.
pub(crate) fn of_model(model: &Model) -> String {
    let mut statements = Vec::new();
    for (node, spec) in model.nodes.iter().enumerate() {
        let mut text = spec.name.clone();
        for &(_, mark) in model.marks.iter().filter(|&&(source, _)| source == node) {
            text = format!("{text} {}", model.nodes[mark].name);
        }
        for &(_, relation, target) in model.pairs.iter().filter(|&&(source, ..)| source == node) {
            text = format!("{text} ({}, {})", model.nodes[relation].name, model.nodes[target].name);
        }
        if spec.kind == Kind::Entity || text != spec.name {
            statements.push(text);
        }
    }
    statements.join("; ")
}

/// An expression as [`Expr::text`] writes it.
pub(crate) fn expr(model: &Model, text: &str) -> Option<Expr> {
    let mut reader = Reader { model, left: text };
    let elems = reader.elems()?;
    reader.left.trim().is_empty().then_some(Expr(elems))
}

struct Reader<'a> {
    model: &'a Model,
    left: &'a str,
}

impl Reader<'_> {
    fn eat(&mut self, token: &str) -> bool {
        match self.left.trim_start().strip_prefix(token) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }

    fn need(&mut self, token: &str) -> Option<()> {
        self.eat(token).then_some(())
    }

    fn word(&mut self) -> Option<String> {
        self.left = self.left.trim_start();
        let end = self.left.find(|c: char| !(c.is_alphanumeric() || "_.$".contains(c)));
        let (word, left) = self.left.split_at(end.unwrap_or(self.left.len()));
        self.left = left;
        (!word.is_empty()).then(|| word.into())
    }

    fn string(&mut self) -> Option<String> {
        self.need("\"")?;
        let (text, left) = self.left.split_once('"')?;
        self.left = left;
        Some(text.into())
    }

    fn elems(&mut self) -> Option<Vec<Elem>> {
        let mut elems = Vec::new();
        loop {
            elems.push(self.elem()?);
            if !self.eat(",") {
                return Some(elems);
            }
        }
    }

    fn elem(&mut self) -> Option<Elem> {
        let not = self.eat("!{");
        if not || self.eat("{") {
            let elems = self.elems()?;
            self.need("}")?;
            return Some(Elem::Scope { not, elems });
        }
        let mut terms = vec![self.term()?];
        while self.eat("||") {
            terms.push(self.term()?);
        }
        Some(if terms.len() > 1 { Elem::Or(terms) } else { Elem::Term(terms.pop()?) })
    }

    fn term(&mut self) -> Option<Term> {
        let oper = match (self.eat("!"), self.eat("?")) {
            (true, _) => Oper::Not,
            (_, true) => Oper::Optional,
            _ => Oper::And,
        };
        for (prefix, kind) in [("and|", From::And), ("or|", From::Or), ("not|", From::Not)] {
            if self.eat(prefix) {
                let list = self.part()?.node()?;
                let source = if self.eat("(") { self.source()? } else { Source::THIS };
                return Some(Term { oper, body: Body::From { kind, list }, source });
            }
        }
        if self.eat("(") {
            let (relation, exact) = self.exactly()?;
            self.need(",")?;
            let (target, target_exact) = self.exactly()?;
            self.need(")")?;
            let body = Body::Pair { relation, exact, target, target_exact };
            return Some(Term { oper, body, source: Source::THIS });
        }
        let (id, exact) = self.exactly()?;
        let look = Look::Default;
        let equality =
            |oper, side| Term { oper, body: Body::Equal(side), source: Source::Ref { of: id.clone(), look } };
        for (sign, oper) in [("==", Oper::And), ("!=", Oper::Not)] {
            if self.eat(sign) {
                let side = match self.string() {
                    Some(path) => Side::Path(path),
                    None => Side::Ref(self.part()?),
                };
                return Some(equality(oper, side));
            }
        }
        if self.eat("~=") {
            let part = self.string()?;
            return Some(match part.strip_prefix('!') {
                Some(part) => equality(Oper::Not, Side::Like(part.into())),
                None => equality(Oper::And, Side::Like(part)),
            });
        }
        if !self.eat("(") {
            return Some(Term { oper, body: Body::Id { id, exact }, source: Source::THIS });
        }
        if self.eat(")") {
            return Some(Term { oper, body: Body::Id { id, exact }, source: Source::Nothing });
        }
        let (of, look) = self.place()?;
        let body = if self.eat(",") {
            let (target, target_exact) = self.exactly()?;
            Body::Pair { relation: id, exact, target, target_exact }
        } else {
            Body::Id { id, exact }
        };
        self.need(")")?;
        Some(Term { oper, body, source: Source::Ref { of, look } })
    }

    fn source(&mut self) -> Option<Source> {
        let (of, look) = self.place()?;
        self.need(")")?;
        Some(Source::Ref { of, look })
    }

    /// A source, and where it looks.
    fn place(&mut self) -> Option<(Ref, Look)> {
        let before = self.left;
        if let Some(look) = self.look() {
            return Some((Ref::Var(THIS), look));
        }
        self.left = before;
        let of = self.part()?;
        let look = if self.eat("|") { self.look()? } else { Look::Default };
        Some((of, look))
    }

    fn look(&mut self) -> Option<Look> {
        let mut words = vec![self.word()?];
        while self.eat("|") {
            words.push(self.word()?);
        }
        let known = ["self", "up", "cascade", "desc", "down", "all"];
        if !words.iter().all(|word| known.contains(&word.as_str())) {
            return None;
        }
        let has = |word: &str| words.iter().any(|other| other == word);
        if words == ["self"] {
            return Some(Look::Own);
        }
        let before = self.left;
        let named = self.word().and_then(|word| self.model.node(&word));
        let relation = named.unwrap_or_else(|| {
            self.left = before;
            CHILD_OF
        });
        let mut up = Up { with_self: has("self"), cascade: has("cascade"), ..Up::new(relation) };
        (up.down, up.all, up.desc) = (has("down"), has("all"), has("desc"));
        let before = self.left;
        let depth = self.word().and_then(|word| {
            let (min, max) = word.split_once("..")?;
            Some((min.parse().ok()?, max.parse().ok()?))
        });
        if depth.is_none() {
            self.left = before;
        }
        up.depth = depth;
        Some(Look::Up(up))
    }

    /// Whether `|self` is behind it.
    fn exactly(&mut self) -> Option<(Ref, bool)> {
        Some((self.part()?, self.eat("|self")))
    }

    fn part(&mut self) -> Option<Ref> {
        if self.eat("*") {
            return Some(Ref::Wildcard);
        }
        let word = self.word()?;
        if word == "_" {
            return Some(Ref::Any);
        }
        let Some(variable) = word.strip_prefix('$') else { return self.node(&word).map(Ref::Node) };
        let var = |name: &str| -> Option<Var> { (0..VARS).find(|&var| var_name(var) == name) };
        Some(match variable.split_once('.') {
            Some((name, child)) => Ref::Child(var(name)?, child.into()),
            None => Ref::Var(var(variable)?),
        })
    }

    /// By its own name, or the last of a path.
    fn node(&self, path: &str) -> Option<Node> {
        self.model.node(path).or_else(|| self.model.node(path.rsplit('.').next()?))
    }
}
