//! The reference world of the query language, and what each of its expressions answers.

use super::{
    expr::{Body, Elem, Expr, Look, Oper, Ref, Side, Source, THIS, Term, Var},
    model::{Kind, Model, Traits},
    rows::Row,
};

/// h1{Tag2}; e1{Tag,A:T1}; e2{Tag,A:T1,B:T1}; e3{Tag,A:T1,A:T2,B:T2}; e4{Tag,B:T2}; e5{Tag}; e6{Tag,A:h1}.
pub(crate) fn world() -> Model {
    let mut model = Model::new();
    let mut spawn = |name, kind| model.spawn(name, kind, Traits::default());
    let [tag, tag2] = ["Tag", "Tag2"].map(|name| spawn(name, Kind::Tag));
    let [a, b] = ["A", "B"].map(|name| spawn(name, Kind::Relation));
    let [t1, t2, h1] = ["T1", "T2", "h1"].map(|name| spawn(name, Kind::Entity));
    let [e1, e2, e3, e4, e5, e6] = ["e1", "e2", "e3", "e4", "e5", "e6"].map(|name| spawn(name, Kind::Entity));
    model.mark(h1, tag2);
    for entity in [e1, e2, e3, e4, e5, e6] {
        model.mark(entity, tag);
    }
    let pairs = [
        (e1, a, t1),
        (e2, a, t1),
        (e2, b, t1),
        (e3, a, t1),
        (e3, a, t2),
        (e3, b, t2),
        (e4, b, t2),
        (e6, a, h1),
    ];
    for (source, relation, target) in pairs {
        model.pair(source, relation, target);
    }
    model
}

/// An expression about the reference world, and its rows.
pub(crate) struct Case {
    pub(crate) text: &'static str,
    pub(crate) expr: Expr,
    /// `$this` if it is used, then the other variables by number, with slashes between them; `*` if unset.
    pub(crate) rows: &'static [&'static str],
}

/// A row as in [`Case::rows`].
pub(crate) fn short(model: &Model, row: &Row) -> String {
    let name = |node: Option<usize>| node.map_or("*", |node| model.nodes[node].name.as_str());
    let this = row.this.iter().map(|&this| name(Some(this)));
    let values: Vec<_> = this.chain(row.vars.iter().map(|&(_, value)| name(value))).collect();
    values.join("/")
}

const X: Var = 1;
const Y: Var = 2;
const R: Var = 4;

/// Makes terms from names.
struct Words<'a>(&'a Model);

impl Words<'_> {
    /// `$this`, `$x`, `*` and `_`, or a name.
    fn part(&self, text: &str) -> Ref {
        match text {
            "$this" => Ref::Var(THIS),
            "$x" => Ref::Var(X),
            "$y" => Ref::Var(Y),
            "$r" => Ref::Var(R),
            "*" => Ref::Wildcard,
            "_" => Ref::Any,
            name => Ref::Node(self.0.node(name).expect("a name of the reference world")),
        }
    }

    fn id(&self, id: &str, source: &str) -> Term {
        let body = Body::Id { id: self.part(id), exact: false };
        Term { oper: Oper::And, body, source: Source::Ref { of: self.part(source), look: Look::Default } }
    }

    fn tag(&self) -> Elem {
        Elem::Term(self.id("Tag", "$this"))
    }

    fn pair(&self, source: &str, relation: &str, target: &str) -> Term {
        let (relation, target) = (self.part(relation), self.part(target));
        let body = Body::Pair { relation, exact: false, target, target_exact: false };
        Term { oper: Oper::And, body, source: Source::Ref { of: self.part(source), look: Look::Default } }
    }

    fn own(&self, relation: &str, target: &str) -> Term {
        self.pair("$this", relation, target)
    }
}

fn not(term: Term) -> Term {
    Term { oper: Oper::Not, ..term }
}

fn optional(term: Term) -> Term {
    Term { oper: Oper::Optional, ..term }
}

fn without(terms: impl IntoIterator<Item = Term>) -> Elem {
    Elem::Scope { not: true, elems: terms.into_iter().map(Elem::Term).collect() }
}

/// The table of the reference.
pub(crate) fn cases(model: &Model) -> Vec<Case> {
    let w = Words(model);
    let term = Elem::Term;
    let case = |text, elems: Vec<Elem>, rows| Case { text, expr: Expr(elems), rows };
    let nothing = Elem::Term(Term { source: Source::Nothing, ..w.id("Tag", "$this") });
    let unlike = Term {
        oper: Oper::Not,
        body: Body::Equal(Side::Ref(Ref::Var(Y))),
        source: Source::Ref { of: Ref::Var(X), look: Look::Default },
    };
    vec![
        case("Tag,!(A,*)", vec![w.tag(), term(not(w.own("A", "*")))], &["e4", "e5"]),
        case("Tag,!(A,$x)", vec![w.tag(), term(not(w.own("A", "$x")))], &["e4/*", "e5/*"]),
        case(
            "Tag,(A,$x),!(B,$x)",
            vec![w.tag(), term(w.own("A", "$x")), term(not(w.own("B", "$x")))],
            &["e1/T1", "e3/T1", "e6/h1"],
        ),
        case(
            "Tag,!(B,$x),(A,$x)",
            vec![w.tag(), term(not(w.own("B", "$x"))), term(w.own("A", "$x"))],
            &["e1/T1", "e6/h1"],
        ),
        case(
            "Tag,?(A,*)",
            vec![w.tag(), term(optional(w.own("A", "*")))],
            &["e1", "e2", "e3", "e3", "e4", "e5", "e6"],
        ),
        case(
            "Tag,?(A,_)",
            vec![w.tag(), term(optional(w.own("A", "_")))],
            &["e1", "e2", "e3", "e4", "e5", "e6"],
        ),
        case(
            "Tag,?(A,$x),(B,$x)",
            vec![w.tag(), term(optional(w.own("A", "$x"))), term(w.own("B", "$x"))],
            &["e2/T1", "e3/T2", "e4/*", "e5/*"],
        ),
        case(
            "Tag,?(A,$x),!Tag2($x)",
            vec![w.tag(), term(optional(w.own("A", "$x"))), term(not(w.id("Tag2", "$x")))],
            &["e1/T1", "e2/T1", "e3/T1", "e3/T2", "e4/*", "e5/*"],
        ),
        case(
            "Tag,(A,*)||(B,*)",
            vec![w.tag(), Elem::Or(vec![w.own("A", "*"), w.own("B", "*")])],
            &["e1", "e2", "e3", "e4", "e6"],
        ),
        case(
            "(A,$x)||(B,$y),Tag2($x)",
            vec![Elem::Or(vec![w.own("A", "$x"), w.own("B", "$y")]), term(w.id("Tag2", "$x"))],
            &["e4/*/T2", "e6/h1/*"],
        ),
        case(
            "Tag,!{(A,$x),(B,$x)}",
            vec![w.tag(), without([w.own("A", "$x"), w.own("B", "$x")])],
            &["e1", "e4", "e5", "e6"],
        ),
        case(
            "Tag,!{(A,$x),!(B,$x)}",
            vec![w.tag(), without([w.own("A", "$x"), not(w.own("B", "$x"))])],
            &["e2", "e4", "e5"],
        ),
        case("A(e3,*)", vec![term(w.pair("e3", "A", "*"))], &["", ""]),
        case("A(e3,_)", vec![term(w.pair("e3", "A", "_"))], &[""]),
        case("A(_,$x)", vec![term(w.pair("_", "A", "$x"))], &["T1", "T2", "h1"]),
        case("A(*,$x)", vec![term(w.pair("*", "A", "$x"))], &["T1", "T1", "T1", "T2", "h1"]),
        case(
            "A($x,$this)",
            vec![term(w.pair("$x", "A", "$this"))],
            &["T1/e1", "T1/e2", "T1/e3", "T2/e3", "h1/e6"],
        ),
        case(
            "Tag,(A,$x),(A,$y),$x!=$y",
            vec![w.tag(), term(w.own("A", "$x")), term(w.own("A", "$y")), term(unlike)],
            &["e3/T1/T2", "e3/T2/T1"],
        ),
        case("($r,T1),Tag", vec![term(w.own("$r", "T1")), w.tag()], &["e1/A", "e2/A", "e2/B", "e3/A"]),
        case("Tag(),Tag2", vec![nothing, term(w.id("Tag2", "$this"))], &["h1"]),
        case("!A(e3,h1)", vec![term(not(w.pair("e3", "A", "h1")))], &[""]),
        case(
            "Tag($x),!A($x,T1)",
            vec![term(w.id("Tag", "$x")), term(not(w.pair("$x", "A", "T1")))],
            &["e4", "e5", "e6"],
        ),
        case("Tag,(A,_),(B,_)", vec![w.tag(), term(w.own("A", "_")), term(w.own("B", "_"))], &["e2", "e3"]),
    ]
}
