//! Random histories, compared step by step with a naive evaluation of the rules ([`reference`]), or played before
//! observers that act ([`hostile`]); after each operation every way of reading is compared with every other
//! ([`readers`]).
//!
//! Deterministic. `PAIR_MODEL_CASES` is the number of histories of either kind, `PAIR_MODEL_SEED` makes others; a fault
//! tells both. So many as are played before a release:
//!
//! ```sh
//! PAIR_MODEL_CASES=50000 cargo test --profile histories --test histories
//! ```
//!
//! # What a program can do while the crate is at work
//!
//! Code of the program runs inside of an operation in these places, each of which [`hostile`] has act:
//!
//! - *observers of pairs*: `PairInserted` and `PairRemoved`, of one relation, of all, narrowed to a target, to a
//!   relation, to a pair;
//! - *observers of lifecycle*: `Add`, `Insert`, `Discard`, `Remove` and `Despawn` of an ordinary component, of `ChildOf`
//!   and `Children`, of both components of an adopted relationship, and of the marker of participants, whose id can be
//!   found among the components of an entity;
//! - *methods of values*: `Clone` and `Drop` of a pair's value.
//!
//! What it can do there:
//!
//! - queue any operation of the program, on the entity at hand or on another: insert, replace and remove pairs and tags,
//!   by type and by id, with wildcards and in batches; insert and remove the components of relationships and ordinary
//!   ones; spawn with bundles, batches and `sources!`; despawn, by every verb, entities, dependents and relations; clear,
//!   retain, move components; clone, with and without what is linked; run maintenance. It is done in the middle of the
//!   operation that triggered the observer, wherever that flushes, and may trigger observers in turn;
//! - panic, which the program may catch, and go on with the world.
//!
//! What an outermost operation has left behind is checked when it is over: `check_pairs`; components of relationships
//! against pairs (unless a panic came between a component and Bevy's hooks: then they differ by Bevy's own doing); all
//! ways of reading.

mod hostile;
mod ops;
mod readers;
mod reference;
mod run;

use ops::{How, Op, Via};
use proptest::{
    bool::weighted,
    collection::vec,
    option,
    prelude::*,
    test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner},
};
use reference::{Given, Policy, Spec};
use run::{Run, TYPED};
use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering},
};

fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![6 => Just(Policy::Remove), 2 => Just(Policy::Despawn), 1 => Just(Policy::Refuse)]
}

fn spec() -> impl Strategy<Value = Spec> {
    let layout = (weighted(0.3), weighted(0.1), weighted(0.3), weighted(0.2), weighted(0.2), weighted(0.1));
    let rules = (weighted(0.3), weighted(0.2), weighted(0.1), weighted(0.35), weighted(0.6), weighted(0.5));
    (layout, rules, option::weighted(0.3, any::<u8>()), policy(), policy()).prop_map(
        |(layout, rules, with, on_target, on_relation)| {
            let (exclusive, union, symmetric, acyclic, traversable, transitive) = layout;
            let (ordered, is_final, one_of, data, default, table) = rules;
            Spec {
                exclusive,
                union,
                symmetric,
                // These contradict symmetric.
                acyclic: acyclic && !symmetric,
                traversable: traversable && !symmetric,
                transitive: transitive && !symmetric,
                ordered,
                is_final,
                one_of,
                table,
                data,
                default,
                with: with.map(usize::from),
                on_target,
                on_relation,
                ..Spec::default()
            }
        },
    )
}

/// Several relations, of which each may bring an earlier one along.
fn specs() -> impl Strategy<Value = Vec<Spec>> {
    vec(spec(), 1..6).prop_map(|mut specs| {
        for (number, spec) in specs.iter_mut().enumerate() {
            spec.with = spec.with.map(|with| with % (TYPED + number));
        }
        specs
    })
}

fn op() -> impl Strategy<Value = Op> {
    let via = || prop_oneof![Just(Via::World), Just(Via::Typed), Just(Via::EntityMut), Just(Via::Commands)];
    let how = prop_oneof![
        Just(How::Bevy),
        Just(How::BevyCommands),
        Just(How::WithDependents),
        Just(How::WithDependentsCommands)
    ];
    let given = prop_oneof![
        5 => Just(Given::Nothing),
        4 => any::<u8>().prop_map(|number| Given::Number(u32::from(number))),
        1 => Just(Given::WrongType)
    ];
    let n = any::<u8>;
    let some = || option::weighted(0.6, any::<u8>());
    let two = || vec((n(), n()), 0..5);
    prop_oneof![
        40 => (via(), n(), n(), n(), given)
            .prop_map(|(via, source, rel, target, given)| Op::Insert { via, source, rel, target, given }),
        10 => (via(), some(), some(), some())
            .prop_map(|(via, source, rel, target)| Op::Remove { via, source, rel, target }),
        4 => (via(), n(), n()).prop_map(|(via, source, tag)| Op::InsertTag { via, source, tag }),
        2 => (via(), n(), n()).prop_map(|(via, source, tag)| Op::RemoveTag { via, source, tag }),
        5 => (how, n()).prop_map(|(how, entity)| Op::Despawn { how, entity }),
        1 => (some(), some()).prop_map(|(rel, target)| Op::DespawnWithPair { rel, target }),
        2 => n().prop_map(|entity| Op::Clear { entity }),
        1 => Just(Op::ClearPairs),
        6 => (any::<bool>(), n(), n())
            .prop_map(|(crew, source, target)| Op::WriteComponent { crew, source, target }),
        2 => (any::<bool>(), n()).prop_map(|(crew, source)| Op::RemoveComponent { crew, source }),
        4 => (vec(n(), 0..3), some(), some(), any::<bool>())
            .prop_map(|(likes, eats, child_of, deferred)| Op::Spawn { likes, eats, child_of, deferred }),
        2 => vec(n(), 0..4).prop_map(|targets| Op::SpawnBatch { targets }),
        3 => (two(), two(), any::<bool>())
            .prop_map(|(inserts, removes, deferred)| Op::Batch { inserts, removes, deferred }),
        2 => n().prop_map(|entity| Op::Reuse { entity }),
        3 => n().prop_map(|entity| Op::Clone { entity }),
        4 => (n(), n(), n(), weighted(0.2))
            .prop_map(|(rel, target, rotate, wrong)| Op::Order { rel, target, rotate, wrong }),
        1 => Just(Op::Settle),
    ]
}

fn play(specs: &[Spec], ops: &[Op]) -> Result<(), String> {
    let mut run = Run::new(specs);
    run.compare()?;
    for (number, op) in ops.iter().enumerate() {
        let at = |error| format!("step {number}, {op:?}: {error}");
        run.step(op).map_err(at)?;
        run.compare().map_err(at)?;
        run.compare_readers().map_err(at)?;
        if number % 8 == 7 {
            run.compare_walks().map_err(at)?;
        }
    }
    run.compare_walks()?;
    bevy_relations::WorldPairExt::maintain_pairs(&mut run.world);
    run.compare_walks().map_err(|error| format!("after settling depths: {error}"))?;
    run.compare()
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Histories that one generator of random numbers makes.
const BLOCK: u64 = 250;

/// Plays `cases` histories on all processors. `play` is given the seed of a block of histories and their number.
fn in_blocks(cases: u64, play: impl Fn(u64, u64) + Sync) {
    let (seed, next) = (number("PAIR_MODEL_SEED", 20), AtomicU64::new(0));
    let play_blocks = || {
        loop {
            let block = next.fetch_add(1, Ordering::Relaxed);
            let Some(left) = cases.checked_sub(block * BLOCK).filter(|&left| left > 0) else { break };
            play(seed + block, left.min(BLOCK));
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(play_blocks)).collect();
        for thread in threads {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
}

#[test]
fn random_histories_agree_with_a_naive_evaluation_of_the_rules() {
    in_blocks(number("PAIR_MODEL_CASES", 16), |seed, cases| {
        let config = Config {
            cases: cases as u32,
            rng_seed: RngSeed::Fixed(seed),
            failure_persistence: None,
            max_shrink_iters: 20_000,
            ..Config::default()
        };
        let result = TestRunner::new(config).run(&(specs(), vec(op(), 1..60)), |(specs, ops)| {
            play(&specs, &ops).map_err(TestCaseError::fail)
        });
        match result {
            Ok(()) => {}
            Err(TestError::Fail(reason, (specs, ops))) => {
                let list = |lines: Vec<String>| lines.join("\n  ");
                let specs = list(
                    specs.iter().enumerate().map(|(n, spec)| format!("{}: {spec:?}", TYPED + n)).collect(),
                );
                let ops = list(ops.iter().map(|op| format!("{op:?}")).collect());
                panic!(
                    "PAIR_MODEL_SEED={seed} PAIR_MODEL_CASES={cases}: {reason}\nrelations:\n  {specs}\n\
                     operations:\n  {ops}"
                );
            }
            Err(TestError::Abort(reason)) => panic!("{reason}"),
        }
    });
}

/// After so many faults a run gives up.
const MAX_FAULTS: usize = 6;

#[test]
fn random_histories_before_observers_that_act_break_no_invariant() {
    std::panic::set_hook(quiet_hook());
    let faults = Mutex::new(Vec::new());
    in_blocks(number("PAIR_MODEL_CASES", 16), |block, cases| {
        for case in 0..cases {
            if faults.lock().unwrap().len() >= MAX_FAULTS {
                return;
            }
            let history = (block << 16) + case;
            if let Err(fault) = hostile::play(history, 30) {
                let fault = format!("PAIR_MODEL_SEED={block} PAIR_MODEL_CASES={}: {fault}", case + 1);
                faults.lock().unwrap().push(fault);
            }
        }
    });
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

/// Says nothing of panics that are on purpose; notes where others come from, for [`hostile`].
fn quiet_hook() -> Box<dyn Fn(&std::panic::PanicHookInfo<'_>) + Send + Sync> {
    let hook = std::panic::take_hook();
    Box::new(move |info| {
        let on_purpose = |text: &String| text.starts_with(hostile::ON_PURPOSE);
        if !info.payload().downcast_ref::<String>().is_some_and(on_purpose) {
            hostile::note_panic(info);
            hook(info);
        }
    })
}
