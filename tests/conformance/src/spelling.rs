//! The same expression, written in another way: comments, line breaks, access modifiers, lists of arguments.

use crate::oracle::{
    expr::{Body, Elem, Expr, Look, Names, Oper, Ref, Source, Term},
    random::Random,
};

/// A text of the expression. The same `seed` gives the same way of writing, whatever the names.
pub(crate) fn spell(expr: &Expr, names: Names<'_>, seed: u64) -> String {
    let mut random = Random::new(seed, 0);
    if random.chance(50) {
        return expr.text(names);
    }
    let mut text = String::from(random.pick(&["", "", "", "/* all of it */ ", "// a line\n"]));
    let mut number = 0;
    while let Some(elem) = expr.0.get(number) {
        if number > 0 {
            text += random.pick(&[", ", ",", " , ", ",\n", ", // and\n", ", /* and */ ", ",\n\t"]);
        }
        number += 1;
        let next = expr.0.get(number);
        if let Some(joined) = next.and_then(|next| path(elem, next, names))
            && random.chance(70)
        {
            text += &joined;
            number += 1;
            continue;
        }
        if let Some(name) = singleton(elem, names) {
            text += &random.pick(&[format!("{name}({name})"), name]);
            continue;
        }
        match alternatives(elem, names) {
            Some(joined) if random.chance(60) => text += &joined,
            _ => {
                let access = random.pick(&["", "", "", "[in] ", "[none] ", "[in]"]);
                text += if takes_access(elem) { access } else { "" };
                text += &one(elem, names);
            }
        }
    }
    text + random.pick(&["", "", "", ",", " // the end", "\n"])
}

fn one(elem: &Elem, names: Names<'_>) -> String {
    Expr(vec![elem.clone()]).text(names)
}

/// Lists and comparisons take none.
fn takes_access(elem: &Elem) -> bool {
    matches!(elem, Elem::Term(Term { body: Body::Id { .. } | Body::Pair { .. }, .. }))
}

/// The resource that a term asks for, with its operator.
fn singleton(elem: &Elem, names: Names<'_>) -> Option<String> {
    match elem {
        Elem::Term(Term { oper: Oper::And, body: Body::Id { id, exact: false }, source })
            if names.is_singleton(id) && source.of() == Some(id) =>
        {
            Some(names.part(id))
        }
        _ => None,
    }
}

/// Source, relation and target of a term that says nothing else.
fn plain(term: &Term) -> Option<(&Ref, &Ref, &Ref)> {
    let Source::Ref { of, look: Look::Default } = &term.source else { return None };
    match &term.body {
        Body::Pair { relation, exact: false, target, target_exact: false } if term.oper == Oper::And => {
            Some((of, relation, target))
        }
        _ => None,
    }
}

/// `R(a, b, c)` for `R(a, b), R(b, c)`
fn path(elem: &Elem, next: &Elem, names: Names<'_>) -> Option<String> {
    let (Elem::Term(elem_term), Elem::Term(next_term)) = (elem, next) else { return None };
    let (first, second) = (plain(elem_term)?, plain(next_term)?);
    // Both ends of a step are one variable or entity, and a wildcard is neither.
    if first.1 != second.1 || first.2 != second.0 || matches!(first.2, Ref::Wildcard | Ref::Any) {
        return None;
    }
    let [source, target, last] = [first.0, first.2, second.2].map(|part| names.part(part));
    Some(format!("{}({source}, {target}, {last})", names.part(first.1)))
}

/// `R(a, b || c)` for `R(a, b) || R(a, c)`
fn alternatives(elem: &Elem, names: Names<'_>) -> Option<String> {
    let Elem::Or(terms) = elem else { return None };
    let parts: Vec<_> = terms.iter().map(plain).collect::<Option<_>>()?;
    let (source, relation, _) = parts[0];
    let same = parts.iter().all(|part| (part.0, part.1) == (source, relation));
    let targets: Vec<String> = parts.iter().map(|part| names.target(relation, part.2)).collect();
    let [source, relation] = [source, relation].map(|part| names.part(part));
    same.then(|| format!("{relation}({source}, {})", targets.join(" || ")))
}
