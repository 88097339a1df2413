//! Which terms say what a variable is, and which need another to say it.

use super::expr::{Body, Elem, Expr, Ref, Side, THIS, Term, Var};
use std::collections::{BTreeMap, BTreeSet};

/// Whether each variable that has to be bound is.
pub(crate) fn binds_enough(expr: &Expr) -> bool {
    is_bound(&expr.0, &mut BTreeSet::new()) && Compared::default().settle(&expr.0)
}

/// Whether children are asked of variables that an earlier term binds.
fn is_bound(elems: &[Elem], bound: &mut BTreeSet<Var>) -> bool {
    for elem in elems {
        if let Elem::Scope { not, elems } = elem {
            let mut inner = bound.clone();
            if !is_bound(elems, &mut inner) {
                return false;
            }
            if !not {
                *bound = inner;
            }
            continue;
        }
        for term in elem.terms() {
            let mut needed = term.refs().into_iter().filter_map(|part| match part {
                Ref::Child(var, _) => Some(*var),
                _ => None,
            });
            if needed.any(|var| !bound.contains(&var)) {
                return false;
            }
        }
        bound.extend(elem.terms().into_iter().flat_map(Term::binds));
    }
    true
}

/// Which variables are compared, those of scopes apart from others of their name.
#[derive(Default)]
struct Compared {
    scopes: Vec<BTreeMap<Var, usize>>,
    count: usize,
    known: BTreeSet<usize>,
    pairs: Vec<[usize; 2]>,
}

impl Compared {
    /// Returns whether something says what one variable of each comparison is.
    fn settle(mut self, elems: &[Elem]) -> bool {
        self.scopes.push(BTreeMap::new());
        self.collect(elems);
        while let Some(at) =
            self.pairs.iter().position(|pair| pair.iter().any(|var| self.known.contains(var)))
        {
            self.known.extend(self.pairs.swap_remove(at));
        }
        self.pairs.is_empty()
    }

    fn collect(&mut self, elems: &[Elem]) {
        for elem in elems {
            if let Elem::Scope { not, elems } = elem {
                if *not {
                    self.scopes.push(BTreeMap::new());
                }
                self.collect(elems);
                if *not {
                    self.scopes.pop();
                }
                continue;
            }
            for term in elem.terms() {
                let vars: Vec<(Var, usize)> =
                    term.vars().into_iter().map(|var| (var, self.number(var))).collect();
                match (&term.body, &vars[..]) {
                    (Body::Equal(Side::Ref(Ref::Var(_))), &[(_, left), (_, right)]) => {
                        self.pairs.push([left, right]);
                    }
                    _ => {
                        let binds = term.binds();
                        self.known.extend(
                            vars.iter().filter(|(var, _)| binds.contains(var)).map(|&(_, number)| number),
                        );
                    }
                }
            }
        }
    }

    fn number(&mut self, var: Var) -> usize {
        if let Some(&number) = self.scopes.iter().rev().find_map(|scope| scope.get(&var)) {
            return number;
        }
        self.count += 1;
        // `$this` is the same everywhere.
        let scope = if var == THIS { self.scopes.first_mut() } else { self.scopes.last_mut() };
        scope.into_iter().for_each(|scope| _ = scope.insert(var, self.count));
        self.count
    }
}
