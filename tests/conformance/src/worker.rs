//! The process in which Flecs runs. It prints what it does, line by line, since it may be stopped at any time:
//! Flecs aborts where one of its assertions fails.
//!
//! Each case is `case <number> <rules>`, then `agree`, `beyond <construct>`, `known <rule>` or `differ` with lines
//! of text after it, then `end`.

use crate::{
    histories::History,
    prefabs::Forest,
    queries::{Case, DEFINED, Outcome},
};
use std::ops::Range;

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Subject {
    Queries,
    Histories,
    Prefabs,
}

impl Subject {
    const ALL: [(&'static str, Self); 3] =
        [("queries", Self::Queries), ("histories", Self::Histories), ("prefabs", Self::Prefabs)];

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, subject)| *subject == self).map_or("", |(name, _)| name)
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|&(_, subject)| subject)
    }

    /// The case for people.
    pub(crate) fn describe(self, seed: u64, number: u64) -> String {
        match self {
            Self::Queries => Case::new(seed, number).describe(),
            Self::Histories => History::new(seed, number).describe(),
            Self::Prefabs => Forest::new(seed, number).describe(),
        }
    }
}

/// Runs one case that is written.
pub(crate) fn run_written(case: &Case) {
    println!("case 0 {}", case.rules().join(" + "));
    match case.run() {
        Outcome::Agree => println!("agree"),
        Outcome::Beyond(what) => println!("beyond {what}"),
        Outcome::Known(rule) => {
            let [flecs, right] = case.answers().map(|rows| rows.join("; "));
            println!("known {rule}\n{flecs}\n{right}");
        }
        Outcome::Differ(text) => println!("differ\n{text}"),
    }
    println!("end");
}

pub(crate) fn run(subject: Subject, seed: u64, cases: Range<u64>) {
    for number in cases {
        let outcome = match subject {
            Subject::Queries => {
                let case = Case::new(seed, number);
                println!("case {number} {}", case.rules().join(" + "));
                case.run()
            }
            Subject::Histories => {
                println!("case {number} \n{DEFINED}");
                History::new(seed, number).run()
            }
            Subject::Prefabs => {
                println!("case {number} \n{DEFINED}");
                Forest::new(seed, number).run()
            }
        };
        match outcome {
            Outcome::Agree => println!("agree"),
            Outcome::Beyond(what) => println!("beyond {what}"),
            Outcome::Known(rule) => println!("known {rule}"),
            Outcome::Differ(text) => {
                println!("differ\n{text}");
                match subject {
                    Subject::Queries => {}
                    Subject::Histories => {
                        let history = History::new(seed, number);
                        shrink(history, History::smaller, History::run, History::describe);
                    }
                    Subject::Prefabs => {
                        let forest = Forest::new(seed, number);
                        shrink(forest, Forest::smaller, Forest::run, Forest::describe);
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
        _ => None,
    }) {
        println!("smaller: {}\n{text}", describe(&smaller));
        case = smaller;
    }
}
