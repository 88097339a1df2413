//! Rules that say why Flecs answers some expressions otherwise than promised, or refuses them. Flecs is asked all the
//! same: where it agrees, the case counts as one that agrees, and where it differs, the first rule that applies
//! explains it. Without a rule the run fails. The crate is compared with the evaluation by definition for all of them.

use crate::{
    oracle::{
        expr::{Body, Expr, Look, Oper, Ref, Side, THIS},
        model::{BUILT_IN, CHILD_OF, DISABLED, IS_A, Model, Node, PREFAB},
    },
    seen::{Query, Seen},
};

/// A kind of term, in a place.
pub(crate) struct Rule {
    name: &'static str,
    #[expect(dead_code, reason = "for those who read the table")]
    reason: &'static str,
    /// Whether most expressions to which it applies are answered wrongly.
    often: bool,
    applies: fn(&Query<'_>, &Seen<'_>) -> bool,
}

/// Flecs has aborted the process: it did not answer at all. Any kind of expression may do that.
pub(crate) const ASSERTION: &str = "Flecs stops at an assertion";

/// The names of all rules.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.name).chain([ASSERTION])
}

/// Whether Flecs is known to differ more often than not.
pub(crate) fn is_often_wrong(model: &Model, expr: &Expr) -> bool {
    let rules = find(model, expr);
    RULES.iter().any(|rule| rule.often && rules.contains(&rule.name))
}

/// The names of the rules that the expression has.
pub(crate) fn find(model: &Model, expr: &Expr) -> Vec<&'static str> {
    let query = Query::new(model, expr);
    let applies = |rule: &&Rule| query.terms.iter().any(|seen| (rule.applies)(&query, seen));
    RULES.iter().filter(applies).map(|rule| rule.name).collect()
}

const RULES: &[Rule] = &[
    Rule {
        name: "cascade beside other than plain terms",
        reason: "Flecs needs a cache for it, and refuses some terms beside one",
        often: false,
        applies: |query, seen| {
            let plain = |other: &Seen<'_>| {
                other.is_plain_and()
                    && other.source() == Some(THIS)
                    && !other.term.others().iter().any(|part| part.is_open())
            };
            matches!(seen.term.look(), Look::Up(up) if up.cascade) && !query.terms.iter().all(plain)
        },
    },
    Rule {
        name: "scope at the start",
        reason: "Flecs loses rows, or finds them twice",
        often: true,
        applies: |_, seen| seen.element == 0 && seen.scopes > 0,
    },
    // Transitive and reflexive relations.
    Rule {
        name: "reflexive alone",
        reason: "Flecs looks at Reflexive only while it follows a transitive relation",
        often: true,
        applies: |query, seen| {
            let traits = seen.relation().map(|relation| query.model.nodes[relation].traits);
            traits.is_some_and(|traits| traits.reflexive && !traits.transitive)
        },
    },
    Rule {
        name: "reflexive with an unwritten source",
        reason: "Flecs finds only what has a pair, or is the target of one, not R(X, X) for every X",
        often: true,
        applies: |query, seen| {
            let used = |target| {
                query.model.pairs.iter().any(|&(_, r, t)| (Some(r), Some(t)) == (seen.relation(), target))
            };
            let target = seen.target().and_then(Ref::node);
            seen.relation().is_some_and(|relation| query.model.nodes[relation].traits.reflexive)
                && (seen.has_unwritten_source() || seen.collects())
                && (seen.has_open_target() || (target.is_some() && !used(target)))
        },
    },
    Rule {
        name: "reflexive to * from another variable than $this",
        reason: "Flecs finds nothing where there is no pair",
        often: false,
        applies: |query, seen| {
            seen.relation().is_some_and(|relation| query.model.nodes[relation].traits.reflexive)
                && seen.target() == Some(&Ref::Wildcard)
                && seen.source() != Some(THIS)
        },
    },
    Rule {
        name: "Not or Optional of a reflexive relation",
        reason: "Flecs answers for a table what holds of one entity in it",
        often: false,
        applies: |query, seen| {
            let is_last = query.terms.iter().all(|other| other.element <= seen.element);
            seen.relation().is_some_and(|relation| query.model.nodes[relation].traits.reflexive)
                && (seen.term.oper != Oper::And || (is_last && seen.negations > 0))
        },
    },
    Rule {
        name: "transitive to an open target, with several targets",
        reason: "Flecs gives the ancestors of one entity to another",
        often: false,
        applies: |query, seen| {
            seen.closes(query) && seen.has_open_target() && seen.has_several_targets(query)
        },
    },
    Rule {
        name: "transitive to an open target, after a term with subtypes or variables",
        reason: "once an entity had no target, Flecs finds none for the one before it either, if that comes again",
        often: false,
        applies: |query, seen| {
            let again = seen.bound.len() > 1 || query.before(seen, |other| other.has_subtypes(query));
            again && seen.closes(query) && seen.has_open_target()
        },
    },
    Rule {
        name: "transitive up",
        reason: "Flecs does not look up",
        often: false,
        applies: |query, seen| seen.closes(query) && seen.looks_up(),
    },
    Rule {
        name: "transitive, with hidden entities",
        reason: "Flecs does not leave out prefabs and disabled entities",
        often: false,
        applies: |query, seen| seen.closes(query) && query.has_hidden() && !seen.bound.contains(&THIS),
    },
    Rule {
        name: "IsA with |self",
        reason: "in Flecs, pairs of IsA are themselves inherited",
        often: false,
        applies: |_, seen| {
            seen.relation() == Some(IS_A) && matches!(seen.term.body, Body::Pair { target_exact: true, .. })
        },
    },
    Rule {
        name: "acyclic pair on itself",
        reason: "Flecs refuses it",
        often: true,
        applies: |query, seen| {
            let acyclic =
                seen.relation().is_some_and(|relation| query.model.nodes[relation].traits.is_acyclic());
            acyclic && seen.term.source.of() == seen.target()
        },
    },
    // Order of evaluation.
    Rule {
        name: "leading optional",
        reason: "Flecs evaluates optional terms at the start after all others",
        often: false,
        applies: |query, seen| {
            let leading = query.terms.iter().take_while(|seen| seen.term.oper == Oper::Optional).count();
            seen.element < leading && query.terms.len() > leading
        },
    },
    Rule {
        name: "fixed source after Not, Optional or Or with the same variable",
        reason: "Flecs evaluates terms with a fixed source first",
        often: false,
        applies: |query, seen| {
            let vars = seen.term.vars();
            seen.has_fixed_source()
                && query.before(seen, |other| {
                    (seen.term.oper != Oper::And || !other.is_plain_and())
                        && !other.term.vars().is_disjoint(&vars)
                })
        },
    },
    Rule {
        name: "variables compared by ==",
        reason: "Flecs moves the term among others, and may refuse it where it lands",
        often: false,
        applies: |_, seen| {
            seen.term.oper == Oper::And && matches!(seen.term.body, Body::Equal(Side::Ref(Ref::Var(_))))
        },
    },
    Rule {
        name: "comparing with what is not bound before",
        reason: "Flecs refuses it",
        often: true,
        applies: |_, seen| match &seen.term.body {
            Body::Equal(Side::Ref(Ref::Var(right))) => !seen.bound.contains(right),
            _ => false,
        },
    },
    Rule {
        name: "child of another variable than $this",
        reason: "Flecs moves the term that binds the variable behind it",
        often: false,
        applies: |_, seen| {
            seen.term.refs().iter().any(|part| matches!(part, Ref::Child(var, _) if *var != THIS))
        },
    },
    // Not and Optional.
    Rule {
        name: "Not or Optional with an unwritten source",
        reason: "Flecs does not enumerate every entity for a variable",
        often: false,
        applies: |_, seen| {
            let like = matches!(seen.term.body, Body::Equal(Side::Like(_)));
            let asks = seen.term.oper != Oper::And;
            (asks && seen.collects()) || ((asks || like) && seen.has_unwritten_source())
        },
    },
    Rule {
        name: "Not with a child",
        reason: "Flecs finds the term true where the child is missing",
        often: false,
        applies: |_, seen| seen.term.oper == Oper::Not && seen.has_child(),
    },
    Rule {
        name: "source that only the target of a Not names before",
        reason: "Flecs stops at an assertion",
        often: false,
        applies: |query, seen| {
            let source = seen.source().filter(|var| !seen.bound.contains(var));
            source.is_some_and(|var| {
                query.before(seen, |other| other.term.oper == Oper::Not && other.uses(var))
            })
        },
    },
    Rule {
        name: "no parent",
        reason: "Flecs makes (ChildOf, #0) of it, which it then shows as a field that is set",
        often: false,
        applies: |_, seen| seen.term.oper == Oper::Not && seen.relation() == Some(CHILD_OF),
    },
    Rule {
        name: "comparing what an optional term or Not leaves unset",
        reason: "Flecs loses rows in which it is set, and accepts what no term binds",
        often: false,
        applies: |query, seen| {
            let vars = seen.term.vars();
            let unset =
                |other: &Seen<'_>| other.term.oper == Oper::Not && !other.term.vars().is_disjoint(&vars);
            seen.is_equality() && (!vars.is_disjoint(&seen.doubtful) || query.before(seen, unset))
        },
    },
    Rule {
        name: "Optional with a variable or wildcard as the tag, or with a transitive relation or up to an open target",
        reason: "Flecs finds the first match only, or none",
        often: false,
        applies: |query, seen| {
            let tag = seen.has_open_id() && seen.target().is_none();
            let far = (seen.closes(query) || seen.looks_up()) && seen.has_open_target();
            seen.term.oper == Oper::Optional && (tag || far)
        },
    },
    Rule {
        name: "equality or And after an optional child",
        reason: "Flecs loses rows where the child exists, and finds rows where it does not",
        often: false,
        applies: |query, seen| {
            (seen.is_equality() || seen.has_child())
                && query.terms.iter().any(|other| other.element < seen.element && other.has_child())
        },
    },
    Rule {
        name: "relation that an optional term may leave unset",
        reason: "Flecs skips the term also where it is set",
        often: false,
        applies: |_, seen| {
            let relation = seen.term.others().first().and_then(|id| id.var());
            let doubtful = !seen.term.vars().is_disjoint(&seen.doubtful);
            relation.is_some() && doubtful
        },
    },
    Rule {
        name: "variable that a skipped term would bind",
        reason: "Flecs goes on without a value, and finds nothing or everything",
        often: false,
        applies: |query, seen| {
            let skipped = |other: &Seen<'_>| !other.term.vars().is_disjoint(&other.doubtful);
            let vars = seen.term.vars();
            query.before(seen, |other| {
                skipped(other)
                    && other.term.vars().iter().any(|var| !other.bound.contains(var) && vars.contains(var))
            })
        },
    },
    // Or.
    Rule {
        name: "wildcard, variable or any in Or",
        reason: "Flecs mixes up which branch has matched, and repeats rows of later branches",
        often: false,
        applies: |_, seen| seen.branch && seen.has_open_part(),
    },
    Rule {
        name: "Or with another source than $this or an entity",
        reason: "Flecs finds one row and leaves the variable unset, or finds rows of several branches",
        often: false,
        applies: |_, seen| {
            seen.branch && (seen.collects() || (seen.has_unwritten_source() && seen.source() != Some(THIS)))
        },
    },
    Rule {
        name: "up or transitive in or after Or",
        reason: "Flecs stops at an assertion about a cache, or loses rows",
        often: false,
        applies: |query, seen| {
            (seen.climbs(query) || seen.closes(query)) && (seen.branch || query.has_or_before(seen))
        },
    },
    Rule {
        name: "optional wildcard, variable or subtypes after Or",
        reason: "Flecs loses matches but for the first",
        often: false,
        applies: |query, seen| {
            let several = seen.has_open_part() || seen.has_subtypes(query);
            several && seen.term.oper == Oper::Optional && query.has_or_before(seen)
        },
    },
    Rule {
        name: "source after Or that is bound before it",
        reason: "Flecs drops the variable, and finds other entities for it",
        often: false,
        applies: |query, seen| {
            let var = seen.source().filter(|&var| var != THIS);
            query.before(seen, |other| other.branch && var.is_some_and(|var| other.bound.contains(&var)))
        },
    },
    Rule {
        name: "equality after Or",
        reason: "Flecs loses the entities of a table that come after the one compared with",
        often: false,
        applies: |query, seen| seen.is_equality() && query.has_or_before(seen),
    },
    Rule {
        name: "Or before several plain terms",
        reason: "Flecs evaluates plain terms first, and then loses rows of the chain",
        often: false,
        applies: |query, seen| {
            let plain = |other: &&Seen<'_>| {
                other.element > seen.element
                    && other.term.oper == Oper::And
                    && !other.branch
                    && other.source() == Some(THIS)
                    && !other.has_open_part()
            };
            seen.branch && query.terms.iter().filter(plain).count() > 1
        },
    },
    // Scopes.
    Rule {
        name: "up, a child or an equality in or after a scope",
        reason: "Flecs takes a table for an entity, and finds rows too many or too few",
        often: false,
        applies: |query, seen| {
            let affected = seen.climbs(query) || seen.has_child() || seen.is_equality();
            affected && (seen.scopes > 0 || query.before(seen, |other| other.scopes > 0))
        },
    },
    Rule {
        name: "variable of a negated scope that is used after it",
        reason: "in Flecs its value leaks",
        often: false,
        applies: |query, seen| {
            let vars = seen.term.vars();
            query.before(seen, |other| {
                other.negations > 0
                    && other.term.vars().iter().any(|var| !other.outer.contains(var) && vars.contains(var))
            })
        },
    },
    Rule {
        name: "another source than $this in a scope",
        reason: "in Flecs its variables are then true of everything",
        often: false,
        applies: |_, seen| {
            let fixed = seen.has_fixed_source() && !seen.term.vars().is_empty();
            seen.scopes > 0 && (fixed || seen.has_unwritten_source())
        },
    },
    Rule {
        name: "open relation or tag of another than $this in a scope",
        reason: "Flecs counts what its relations and tags have of its own",
        often: false,
        applies: |_, seen| {
            let known = seen.source() == Some(THIS) || seen.has_fixed_source();
            seen.scopes > 0 && seen.has_open_id() && !known
        },
    },
    // `$this` in other places than the source.
    Rule {
        name: "$this as a target in Not, Optional, Or or a scope",
        reason: "Flecs has $this as a table there, and stops at an assertion or does not compare",
        often: false,
        applies: |_, seen| !seen.is_plain_and() && seen.uses(THIS),
    },
    Rule {
        name: "$this as the target of a fixed source, * or _",
        reason: "Flecs stops at an assertion where it needs $this as a table",
        often: false,
        applies: |query, seen| {
            (seen.has_fixed_source() || seen.collects()) && seen.uses(THIS) && query.terms.len() > 1
        },
    },
    Rule {
        name: "hidden $this that is found as a target",
        reason: "Flecs leaves out disabled entities and prefabs only where $this is a source first",
        often: false,
        applies: |query, seen| query.has_hidden() && !seen.bound.contains(&THIS) && seen.uses(THIS),
    },
    // `*` and `_`.
    Rule {
        name: "_ alone",
        reason: "Flecs also finds entities that have nothing",
        often: false,
        applies: |_, seen| matches!(seen.term.body, Body::Id { id: Ref::Any, .. }),
    },
    Rule {
        name: "_ beside an unbound variable",
        reason: "Flecs binds the variable to the first value it meets",
        often: false,
        applies: |_, seen| {
            let variable = seen.term.others().iter().any(|part| matches!(part, Ref::Var(_)));
            seen.has_any() && (variable || (seen.has_unwritten_source() && seen.source() != Some(THIS)))
        },
    },
    Rule {
        name: "fixed source with _, beside other terms",
        reason: "Flecs gives a row for every match",
        often: false,
        applies: |query, seen| seen.has_fixed_source() && seen.has_any() && query.terms.len() > 1,
    },
    Rule {
        name: "open relation or tag, IsA or ChildOf with _ or * as the source",
        reason: "Flecs counts its own entities, binds variables to their first value, or stops at an assertion",
        often: false,
        applies: |_, seen| {
            let built_in = seen.relation().is_some_and(|relation| relation < BUILT_IN);
            seen.collects() && (built_in || seen.has_open_id())
        },
    },
    // Up.
    Rule {
        name: "open pair or tag up",
        reason: "Flecs finds it twice, or loses matches",
        often: false,
        applies: |_, seen| {
            let open = seen.term.others().iter().any(|part| part.is_open());
            let written = seen.source().is_none_or(|var| seen.bound.contains(&var));
            let several = seen.has_open_target() && !matches!(seen.term.source.of(), Some(Ref::Node(_)));
            seen.looks_up() && (seen.has_open_id() || several || (open && !written))
        },
    },
    Rule {
        name: "up where something has a base",
        reason: "Flecs looks at bases after everything above, and sometimes at what is not inherited",
        often: false,
        applies: |query, seen| {
            matches!(seen.term.look(), Look::Up(up) if up.relation != IS_A) && query.has_bases()
        },
    },
    Rule {
        name: "subtypes in Or, up, or with _ or * as the source",
        reason: "Flecs looks at the id itself only",
        often: false,
        applies: |query, seen| {
            (seen.branch || seen.collects() || seen.looks_up()) && seen.has_subtypes(query)
        },
    },
    Rule {
        name: "an empty list",
        reason: "it matches, and Flecs finds nothing",
        often: false,
        applies: |query, seen| {
            let Body::From { list, .. } = seen.term.body else { return false };
            let mut pairs = query.model.pairs.iter();
            !query.model.marks.iter().any(|&(node, mark)| node == list && mark >= BUILT_IN)
                && !pairs.any(|&(source, relation, _)| source == list && relation > CHILD_OF)
        },
    },
    Rule {
        name: "lists and inheritance",
        reason: "Flecs counts what is inherited as had, and Disabled as listed",
        often: false,
        applies: |query, seen| {
            matches!(seen.term.body, Body::From { .. }) && (query.has_bases() || query.has_hidden())
        },
    },
    Rule {
        name: "shared relation with an open target, and several targets",
        reason: "Flecs finds the first target of a base only, and shows others as those of the instance",
        often: false,
        applies: |query, seen| {
            let shared = |relation: Node| query.model.nodes[relation].traits.inherit;
            let several = |relation: Node| {
                query.model.entities().any(|node| query.model.targets(node, relation).count() > 1)
            };
            let both = seen.source().is_some_and(|source| seen.uses(source));
            let relation =
                seen.relation().filter(|&relation| shared(relation) && (both || several(relation)));
            relation.is_some() && query.has_bases() && (seen.has_open_target() || seen.has_any())
        },
    },
    Rule {
        name: "Not of a variable tag or relation in a scope",
        reason: "Flecs answers for the first value of the variable",
        often: false,
        applies: |_, seen| seen.scopes > 0 && seen.term.oper == Oper::Not && seen.has_open_id(),
    },
    Rule {
        name: "a term after a transitive one in a scope",
        reason: "Flecs loses rows where the target is bound",
        often: false,
        applies: |query, seen| {
            !seen.term.vars().is_empty()
                && query.before(seen, |other| other.scopes > 0 && other.closes(query))
        },
    },
    Rule {
        name: "Prefab or Disabled of another than $this",
        reason: "Flecs then finds hidden entities as $this, too",
        often: true,
        applies: |_, seen| {
            let named = seen.term.others().iter().any(|part| matches!(part.node(), Some(PREFAB | DISABLED)));
            let elsewhere = matches!(seen.term.look(), Look::Up(up) if !up.with_self);
            named && (seen.source() != Some(THIS) || elsewhere)
        },
    },
    Rule {
        name: "$this after a scope without it",
        reason: "Flecs takes $this for bound there, and gives rows without an entity",
        often: false,
        applies: |query, seen| {
            seen.source() == Some(THIS)
                && seen.has_unwritten_source()
                && query.before(seen, |other| other.scopes > 0 && !other.term.vars().contains(&THIS))
        },
    },
    Rule {
        name: "== with * or _ before its variable is bound, != with * or _",
        reason: "Flecs finds nothing at the start, and everything by != where another term comes before",
        often: true,
        applies: |_, seen| {
            let all = matches!(seen.term.body, Body::Equal(Side::Ref(Ref::Any | Ref::Wildcard)));
            all && (seen.term.oper == Oper::Not || seen.has_unwritten_source())
        },
    },
    // Members.
    Rule {
        name: "a field and $this or its holder as what it names",
        reason: "Flecs does not compare the two",
        often: true,
        applies: |query, seen| {
            seen.is_field(query) && (seen.uses(THIS) || seen.source().is_some_and(|source| seen.uses(source)))
        },
    },
    Rule {
        name: "a field and a variable that may be unset",
        reason: "Flecs does not skip the term",
        often: false,
        applies: |query, seen| {
            seen.is_field(query) && seen.term.vars().iter().any(|var| seen.doubtful.contains(var))
        },
    },
    Rule {
        name: "Not or Optional of a field",
        reason: "Flecs shows a field that is set, or takes another value for the one that is asked for",
        often: true,
        applies: |query, seen| seen.is_field(query) && seen.term.oper != Oper::And,
    },
    Rule {
        name: "a field of _, in Or or in a scope",
        reason: "this crate refuses `_` as the holder; Flecs stops at an assertion, or finds it twice",
        often: true,
        applies: |query, seen| seen.is_field(query) && (seen.collects() || seen.branch || seen.scopes > 0),
    },
    Rule {
        name: "part of a name in another case",
        reason: "the ~= of Flecs tells capitals apart",
        often: false,
        applies: |query, seen| {
            let Body::Equal(Side::Like(part)) = &seen.term.body else { return false };
            let (exact, lower) = (part.as_str(), part.to_lowercase());
            let mut names = query.model.nodes.iter().map(|spec| &spec.name);
            names.any(|name| name.contains(exact) != name.to_lowercase().contains(&lower))
        },
    },
    Rule {
        name: "child with a transitive or acyclic relation",
        reason: "Flecs finds nothing, refuses it, or stops at an assertion",
        often: false,
        applies: |query, seen| {
            let acyclic = |relation: Node| query.model.nodes[relation].traits.is_acyclic();
            seen.relation().is_some_and(acyclic) && seen.has_child()
        },
    },
];
