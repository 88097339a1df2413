//! What can be seen to be wrong without a world.

use super::{
    ast::{
        Access, Arg, Ast, Clause, Comparand, Comparison, Depth, Element, Flag, Has, Id, IdKind, Operator,
        Span, Term, Test, Traversal,
    },
    error::Diagnostic,
    keyed,
    lex::Lexed,
    parse, value,
};

/// Checks an expression.
pub(super) fn check(ast: &Ast) -> Lexed<()> {
    Checker::default().clauses(&ast.clauses, false)?;
    check_repeats(&ast.clauses)
}

/// Checks what the grammar rules out, for an expression that was put together by hand. `scopes` stand around the
/// clauses, and so many terms before them.
pub(super) fn check_built(clauses: &[Clause], scopes: usize, terms: &mut usize) -> Lexed<()> {
    for element in clauses.iter().flat_map(|clause| &clause.branches) {
        match element {
            Element::Scope(scope) if scope.clauses.is_empty() => {
                let end = scope.span.range().end;
                return Err(Diagnostic::syntax(Span::new(end.saturating_sub(1)..end), parse::EMPTY_SCOPE));
            }
            Element::Scope(scope) if scopes == parse::MAX_SCOPES => return Err(parse::too_deep(scope.span)),
            Element::Scope(scope) => check_built(&scope.clauses, scopes + 1, terms)?,
            Element::Term(term) => {
                *terms += 1;
                if *terms > parse::MAX_TERMS {
                    return Err(parse::too_many_terms(term.span));
                }
                check_built_term(term)?;
            }
        }
    }
    Ok(())
}

fn check_built_term(term: &Term) -> Lexed<()> {
    let has = match &term.test {
        Test::Compare(Comparison { left, .. }) => {
            return match left.kind {
                IdKind::Variable(_) | IdKind::Lookup(..) => Ok(()),
                _ => Err(Diagnostic::rule(left.span, parse::LEFT_SIDE)),
            };
        }
        // What the grammar rules out is looked at with the rest.
        Test::Keyed(_) => return Ok(()),
        Test::Has(has) => has,
    };
    if let Some(test) = &has.value {
        value::check(&has.first.id, test)?;
    }
    let args = [Some(&has.first), has.source.as_ref(), has.target.as_ref()];
    for traversal in args.into_iter().flatten().filter_map(|arg| arg.traversal.as_ref()) {
        match traversal.depth {
            Depth { min: 0, .. } | Depth { max: Some(0), .. } => {
                return Err(Diagnostic::rule(traversal.span, parse::FIRST_DEPTH));
            }
            Depth { min, max: Some(max) } if min > max => {
                return Err(Diagnostic::rule(traversal.span, parse::EMPTY_RANGE));
            }
            Depth { .. } => {}
        }
    }
    Ok(())
}

/// Branches of `||` that are looked at again for those behind them, all in all.
const MAX_REPEATS: usize = 1024;

/// Keeps nested alternatives from growing beyond measure.
fn check_repeats(clauses: &[Clause]) -> Lexed<()> {
    let mut sum: usize = 0;
    for clause in clauses {
        sum = sum.saturating_add(repeats(clause));
        if sum > MAX_REPEATS
            && let Some(last) = clause.branches.last()
        {
            return Err(Diagnostic::limit(
                last.span(),
                "too many scopes stand beside `||`, or within each other",
            ));
        }
    }
    Ok(())
}

/// How often something that is more than a test of one entity is looked at.
fn repeats(clause: &Clause) -> usize {
    let (mut sum, mut before): (usize, usize) = (0, 0);
    for branch in &clause.branches {
        let own = match branch {
            Element::Scope(scope) => {
                scope.clauses.iter().fold(1, |sum, clause| repeats(clause).saturating_add(sum))
            }
            Element::Term(term) => {
                let compared = matches!(term.test, Test::Compare(_));
                let listed =
                    matches!(term.operator, Operator::AndFrom | Operator::OrFrom | Operator::NotFrom);
                let more = |(at, id): (usize, &Id)| match id.kind {
                    IdKind::Lookup(..) => true,
                    IdKind::Variable(_) => (compared && at == 1) || (listed && at == 0),
                    _ => false,
                };
                usize::from(term.ids().enumerate().any(more))
            }
        };
        sum = sum.saturating_add(own).saturating_add(before);
        before = before.saturating_add(own);
    }
    sum
}

#[derive(Default)]
struct Checker {
    cascades: bool,
}

/// Which part of a term is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    First,
    Source,
    Target,
}

impl Checker {
    fn clauses(&mut self, clauses: &[Clause], in_scope: bool) -> Lexed<()> {
        clauses.iter().try_for_each(|clause| self.clause(clause, in_scope))
    }

    fn clause(&mut self, clause: &Clause, in_scope: bool) -> Lexed<()> {
        let several = clause.branches.len() > 1;
        if several {
            check_branches(clause)?;
        }
        clause.branches.iter().try_for_each(|branch| match branch {
            Element::Scope(scope) => self.clauses(&scope.clauses, true),
            Element::Term(term) => self.term(term, in_scope || several),
        })
    }

    /// `nested`: in a scope or beside `||`.
    fn term(&mut self, term: &Term, nested: bool) -> Lexed<()> {
        let has = match &term.test {
            Test::Compare(comparison) => return check_comparison(comparison),
            Test::Keyed(keyed) => return keyed::check(term, keyed),
            Test::Has(has) => has,
        };
        let from = matches!(term.operator, Operator::AndFrom | Operator::OrFrom | Operator::NotFrom);
        if from {
            check_list(term, has)?;
        }
        if let Some(Arg { id, traversal: Some(traversal) }) = &has.target
            && id.kind == IdKind::Bits(0)
        {
            return Err(Diagnostic::rule(traversal.span, "`#0` is no entity, and has no traversal"));
        }
        for (arg, role) in [
            (Some(&has.first), Role::First),
            (has.source.as_ref(), Role::Source),
            (has.target.as_ref(), Role::Target),
        ] {
            let Some(Arg { id, traversal: Some(traversal) }) = arg else { continue };
            check_flags(traversal, role)?;
            if traversal.flags.has(Flag::Cascade) {
                let plain = matches!(term.operator, Operator::And | Operator::Optional);
                let span = traversal.span;
                if !id.kind.is_this() {
                    return Err(Diagnostic::rule(
                        span,
                        "`cascade` stands only on `$this`, which gives the rows their order",
                    ));
                }
                if nested || !plain {
                    return Err(Diagnostic::rule(span, "`cascade` stands only outside scopes, `||` and `!`"));
                }
                if self.cascades {
                    return Err(Diagnostic::rule(span, "an expression has one `cascade`"));
                }
                self.cascades = true;
            }
        }
        Ok(())
    }
}

/// `and|T` and the like.
fn check_list(term: &Term, has: &Has) -> Lexed<()> {
    if !matches!(has.access, None | Some(Access::None)) {
        return Err(Diagnostic::rule(
            term.span,
            "the components of another entity have no access but `[none]`",
        ));
    }
    if has.target.is_some() {
        return Err(Diagnostic::rule(term.span, "the list is an entity: a pair is none"));
    }
    if has.value.is_some() {
        return Err(Diagnostic::rule(term.span, "the list is an entity: a field is none"));
    }
    if has.first.id.kind == IdKind::Any {
        return Err(Diagnostic::rule(
            has.first.id.span,
            "`_` is no list: write an entity, a variable or `*`",
        ));
    }
    let args = [Some(&has.first), has.source.as_ref()];
    if let Some(traversal) = args.into_iter().flatten().find_map(|arg| arg.traversal.as_ref()) {
        return Err(Diagnostic::rule(traversal.span, "a list has no traversal"));
    }
    match &has.source {
        Some(source) if source.id.kind == IdKind::Any => Err(Diagnostic::rule(
            source.id.span,
            "`_` has nothing that is listed: write an entity, a variable or `*`",
        )),
        _ => Ok(()),
    }
}

fn check_flags(traversal: &Traversal, role: Role) -> Lexed<()> {
    let has = |flag| traversal.flags.has(flag);
    let wrong = |message: &'static str| Err(Diagnostic::rule(traversal.span, message));
    let up = has(Flag::Up) || has(Flag::Cascade);
    if role != Role::Source && (has(Flag::Cascade) || has(Flag::Desc) || has(Flag::All)) {
        return wrong("`cascade`, `desc` and `all` stand only on a source");
    }
    if role == Role::First && has(Flag::Down) {
        return wrong("a component or relation has only `self` or `up`");
    }
    if has(Flag::Desc) && !has(Flag::Cascade) {
        return wrong("`desc` stands only with `cascade`, whose order it turns round");
    }
    if has(Flag::All) && (has(Flag::Cascade) || !(up || has(Flag::Down))) {
        return wrong("`all` stands with `up` or `down`");
    }
    if up && has(Flag::Down) {
        return wrong("a traversal has one direction: up or down");
    }
    match &traversal.relation {
        Some(relation) if !up && !has(Flag::Down) => {
            Err(Diagnostic::rule(relation.span, "`self` follows no relation"))
        }
        _ => Ok(()),
    }
}

fn check_comparison(comparison: &Comparison) -> Lexed<()> {
    match &comparison.right {
        Comparand::Id(right) if right == &comparison.left => {
            Err(Diagnostic::rule(right.span, "this also stands on the left side"))
        }
        _ => Ok(()),
    }
}

/// The branches of a clause with several: plain ones, about the same source.
fn check_branches(clause: &Clause) -> Lexed<()> {
    let mut source: Option<Option<&IdKind>> = None;
    let mut access: Option<Access> = None;
    for branch in &clause.branches {
        let negated = match branch {
            Element::Scope(scope) => scope.negated,
            Element::Term(Term { operator, test: Test::Has(_) | Test::Keyed(_), .. }) => {
                *operator != Operator::And
            }
            Element::Term(Term { test: Test::Compare(comparison), .. }) => comparison.negated,
        };
        if negated {
            return Err(Diagnostic::rule(branch.span(), "an operator beside `||` stands within `{..}`"));
        }
        let Element::Term(term) = branch else { continue };
        let written = match &term.test {
            Test::Has(has) => has.access,
            Test::Keyed(keyed) => keyed.access,
            Test::Compare(_) => None,
        };
        if let own @ Some(_) = written {
            if access.is_some_and(|access| Some(access) != own) {
                return Err(Diagnostic::rule(
                    term.span,
                    "all branches of `||` are one field, with one access",
                ));
            }
            access = own;
        }
        let (own, span) = source_of(term);
        if *source.get_or_insert(own) != own {
            return Err(Diagnostic::rule(span, "all branches of `||` have the same source"));
        }
    }
    Ok(())
}

fn source_of(term: &Term) -> (Option<&IdKind>, Span) {
    match &term.test {
        Test::Has(Has { source, .. }) => {
            (source.as_ref().map(|source| &source.id.kind), source.as_ref().map_or(term.span, |s| s.id.span))
        }
        Test::Compare(comparison) => (Some(&comparison.left.kind), comparison.left.span),
        Test::Keyed(keyed) => (Some(&keyed.source.id.kind), keyed.source.id.span),
    }
}
