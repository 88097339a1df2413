//! The process in which Flecs runs. It prints what it does, line by line, since it may be stopped at any time:
//! Flecs aborts where one of its assertions fails.
//!
//! Each case is `case <number> <shapes>`, then `agree`, `excluded <shape>` or `differ` with lines of text after it, then
//! `end`.

use crate::{
    histories::History,
    queries::{Case, Outcome},
};
use std::ops::Range;

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Subject {
    Queries,
    /// Queries, where those of exactly one shape are given to Flecs too.
    Survey,
    Histories,
}

impl Subject {
    pub(crate) const ALL: [(&'static str, Self); 3] =
        [("queries", Self::Queries), ("survey", Self::Survey), ("histories", Self::Histories)];

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, subject)| *subject == self).map_or("", |(name, _)| name)
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|&(_, subject)| subject)
    }

    /// The case for people.
    pub(crate) fn describe(self, seed: u64, number: u64) -> String {
        match self {
            Self::Queries | Self::Survey => Case::new(seed, number).describe(),
            Self::Histories => History::new(seed, number).describe(),
        }
    }
}

pub(crate) fn run(subject: Subject, seed: u64, cases: Range<u64>) {
    for number in cases {
        let shapes = if subject == Subject::Survey { Case::new(seed, number).shapes() } else { Vec::new() };
        println!("case {number} {}", shapes.join(" + "));
        let outcome = match subject {
            Subject::Queries | Subject::Survey => Case::new(seed, number).run(shapes.len() == 1),
            Subject::Histories => History::new(seed, number).run(),
        };
        match outcome {
            Outcome::Agree => println!("agree"),
            Outcome::Excluded(shapes) => println!("excluded {}", shapes.join(" + ")),
            Outcome::Differ(text) => {
                println!("differ\n{text}");
                match subject {
                    Subject::Survey => {}
                    Subject::Queries => {
                        shrink(Case::new(seed, number), Case::smaller, |case| case.run(false), Case::text);
                    }
                    Subject::Histories => {
                        let history = History::new(seed, number);
                        shrink(history, History::smaller, History::run, History::describe);
                    }
                }
            }
        }
        println!("end");
    }
}

/// Takes away from a case as long as the answers differ. Prints each step: Flecs may stop at the next.
fn shrink<C>(
    mut case: C,
    smaller: impl Fn(&C) -> Vec<C>,
    run: impl Fn(&C) -> Outcome,
    describe: impl Fn(&C) -> String,
) {
    while let Some((smaller, text)) = smaller(&case).into_iter().find_map(|smaller| match run(&smaller) {
        Outcome::Differ(text) => Some((smaller, text)),
        Outcome::Agree | Outcome::Excluded(_) => None,
    }) {
        println!("smaller: {}\n{text}", describe(&smaller));
        case = smaller;
    }
}
