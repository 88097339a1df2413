//! Pathological expressions, and worlds that change under them: compiling and running end soon, and without a panic.

use crate::{common::fewer, expr_semantics::Written, oracle::random::Random};
use bevy_ecs::prelude::*;
use bevy_relations::{
    expr::{ExprErrorKind, ExprRunError, PairExpr},
    prelude::*,
    relation::Prefab,
};
use std::thread;

const STEPS: u64 = 5_000;

fn world() -> Written {
    let mut written = Written::new(&[
        "e1 Tag Red (A, e2) (B, e3) (On, e2)",
        "e2 Tag (A, e3) (On, e3) (In, e3) (Within, e1)",
        "e3 Red (A, e1) (Near, e1) (Knows, e2)",
        "e4 Tag Red (A, e4) (IsA, e2) (ChildOf, e1)",
        "B (IsA, A)",
        "Red (IsA, Tag)",
    ]);
    written.world.register_component_name::<Prefab>("Prefab");
    written
}

/// Compiles and runs; either may be refused.
fn run(world: &mut Written, text: &str) {
    let Ok(expr) = PairExpr::parse(text) else { return };
    let Ok(mut compiled) = expr.compile(&mut world.world) else { return };
    compiled.set_step_limit(Some(STEPS));
    let mut rows = 0;
    let counted = compiled.count(&world.world);
    match compiled.for_each(&world.world, |_| rows += 1) {
        Ok(()) => assert!(counted.is_err() || counted == Ok(rows), "{text}: {counted:?} rows, not {rows}"),
        Err(error) => assert_eq!(error, ExprRunError::StepLimit { limit: STEPS }, "{text}"),
    }
}

/// Does it on a small stack.
fn run_all(texts: Vec<String>) {
    let work = move || {
        let mut world = world();
        texts.iter().for_each(|text| run(&mut world, text));
    };
    thread::Builder::new().stack_size(1024 * 1024).spawn(work).unwrap().join().unwrap();
}

#[test]
fn five_hundred_terms_of_any_kind_are_planned_and_run() {
    let count = fewer(512);
    let chain = |piece: &dyn Fn(usize) -> String, between: &str| {
        (0..count).map(piece).collect::<Vec<_>>().join(between)
    };
    run_all(vec![
        chain(&|_| "Tag".into(), ", "),
        chain(&|at| format!("Tag($v{at})"), ", "),
        chain(&|at| format!("A($v{at}, $v{})", at + 1), ", "),
        chain(&|at| format!("A($v{}, $v{at})", at + 1), ", "),
        chain(&|at| format!("!A($v{at}, $v{})", at + 1), ", "),
        chain(&|at| format!("?A($v{at}, $v{})", at + 1), ", "),
        chain(&|at| format!("A($v{at}|up On, $v{})", at + 1), ", "),
        chain(&|at| format!("$v{at} == $v{}", at + 1), ", "),
        chain(&|at| format!("$this != $v{at}"), ", "),
        chain(&|_| "(*, *)".into(), ", "),
        chain(&|_| "Tag".into(), " || "),
        chain(&|_| "(A, *)".into(), " || "),
        chain(&|at| format!("(A, $v{at})"), " || "),
        chain(&|at| format!("$this == e{}", at % 4 + 1), " || "),
        chain(&|_| "and|e1".into(), ", "),
        chain(&|_| "Prefab".into(), " || "),
        chain(&|_| "Tag, !{ A($this, $x), !B($x, _) }".into(), ", ")[..count * 8]
            .rsplit_once("Tag")
            .unwrap()
            .0
            .to_owned()
            + "Tag",
        (0..count / 4)
            .map(|at| format!("{{ A($a{at}, $b) || B($b, $c{at}) }}"))
            .collect::<Vec<_>>()
            .join(", "),
        chain(&|at| format!("?A($this, $v{at})"), ", "),
    ]);
}

#[test]
fn scopes_in_each_other_are_planned_once_or_refused() {
    let nested =
        |open: &str, middle: &str, close: &str| format!("{}{middle}{}", open.repeat(31), close.repeat(31));
    run_all(vec![
        nested("{", "Tag", "}"),
        nested("!{", "Tag", "}"),
        nested("!{ Tag, ", "(A, $x)", "}"),
        nested("{", "Tag", " || Red }"),
        nested("{ Red || ", "Tag", " }"),
        nested("!{", "Tag", " || (A, $x) }"),
        nested("{ (A, $x), !", "{ Tag }", "}"),
    ]);
    let many = vec!["{ Tag, Red }"; 60].join(" || ");
    let error = PairExpr::parse(many).unwrap_err();
    assert_eq!(
        (error.kind(), error.message()),
        (ExprErrorKind::Limit, "too many scopes stand beside `||`, or within each other")
    );
    let deep = nested("{", "{ Tag }", " || { Red } }");
    assert_eq!(PairExpr::parse(deep).unwrap_err().kind(), ExprErrorKind::Limit);
    assert!(PairExpr::parse(vec!["{ Tag, Red }"; 30].join(" || ")).is_ok());
}

#[test]
fn cross_products_end_at_their_limit() {
    let mut world = world();
    for text in [
        "$a != $b, $c != $d, Tag($a), Tag($b), Tag($c), Tag($d), A($a, $e), A($b, $f), (*, *), (*, *), (*, *), (*, *)",
        "!A($a, $b), !A($c, $d), !A($e, $f), !A($g, $h), !A($i, $j), !A($k, $l)",
        "?Tag($a), ?Tag($b), ?Tag($c), ?Tag($d), ?Tag($e), ?Tag($f), ?Tag($g), ?Tag($h)",
    ] {
        let mut expr = world.compile(text);
        expr.set_step_limit(Some(10_000));
        assert_eq!(expr.count(&world.world), Err(ExprRunError::StepLimit { limit: 10_000 }), "{text}");
    }
}

#[test]
fn random_text_of_the_grammar_is_refused_or_answered() {
    let mut texts = Vec::new();
    for number in 0..fewer(1_000) as u64 {
        let mut random = Random::new(11, number);
        let clauses = (0..1 + random.below(5)).map(|_| clause(&mut random, 0)).collect::<Vec<_>>();
        texts.push(clauses.join(", "));
    }
    let mut world = world();
    let fits = |text: &&String| {
        PairExpr::parse(text.as_str()).and_then(|expr| expr.compile(&mut world.world)).is_ok()
    };
    let compiled = texts.iter().filter(fits).count();
    assert!(compiled > texts.len() / 4, "only {compiled} are accepted");
    run_all(texts);
}

fn clause(random: &mut Random, depth: usize) -> String {
    let inner = |random: &mut Random| {
        (0..1 + random.below(3)).map(|_| clause(random, depth + 1)).collect::<Vec<_>>().join(", ")
    };
    match random.below(12) {
        0 if depth < 3 => format!("!{{ {} }}", inner(random)),
        1 if depth < 3 => format!("{{ {} }}", inner(random)),
        2 if depth < 3 => format!("{{ {} }} || {{ {} }}", inner(random), inner(random)),
        3 => {
            let source = argument(random);
            let branch = |random: &mut Random| format!("{}({source}, {})", id(random), argument(random));
            format!("{} || {}", branch(random), branch(random))
        }
        4 => {
            let (left, right) = (variable(random), argument(random));
            format!("{left} {} {right}", random.pick(&["==", "!="]))
        }
        5 => format!("{} ~= \"{}\"", variable(random), random.pick(&["e", "!1", "", "!"])),
        6 => format!("{}|{}", random.pick(&["and", "or", "not"]), argument(random)),
        _ => term(random),
    }
}

fn term(random: &mut Random) -> String {
    let prefix = random.pick(&["", "", "", "!", "?", "[none] "]);
    let walk = random.pick(&[
        "",
        "",
        "",
        "",
        "|up On",
        "|self|up On 2",
        "|up|all On",
        "|down On",
        "|self",
        "|up IsA",
        "|up On 2..3",
        "|up",
        "|cascade On",
    ]);
    let source = argument(random) + walk;
    let target = argument(random) + random.pick(&["", "", "", "|self", "|up On", "|down On 1"]);
    let id = id(random) + random.pick(&["", "", "|self"]);
    if random.chance(60) {
        format!("{prefix}{id}({source}, {target})")
    } else {
        format!("{prefix}{id}({source})")
    }
}

fn variable(random: &mut Random) -> String {
    random.pick(&["$this", "$x", "$y", "$z"]).into()
}

fn argument(random: &mut Random) -> String {
    random
        .pick(&["$this", "$this", "$x", "$y", "$z", "*", "_", "e1", "e2", "$x.e4", "$this.e4", "Red", "A"])
        .into()
}

fn id(random: &mut Random) -> String {
    random
        .pick(&[
            "A", "A", "B", "In", "Within", "Near", "On", "Knows", "IsA", "ChildOf", "Tag", "Red", "Prefab",
            "*", "_", "$x",
        ])
        .into()
}

#[derive(Component)]
struct Late;

#[derive(Relation)]
struct LateRelation;

#[test]
fn an_expression_outlives_what_it_names() {
    let texts = [
        "Tag, (A, $x), Red($x)",
        "(A, e2)",
        "!(A, e2), Tag",
        "?(A, e2), Tag",
        "(A, e2) || (B, e3), Tag",
        "Tag(e1)",
        "Tag, !{ (A, e2), Tag(e2) }",
        "Red(up On)",
        "(In, e3)",
        "Tag, (Within, *)",
        "and|e1",
        "$this == e2",
        "$x.e4 == e1.e4, Tag($x)",
        "Tag(self|up On), ?Red(cascade On)",
        "*",
        "(*, *)",
        "$x, Tag($x)",
        "(A, e2|up On)",
        "Tag, !Tag($this.e4)",
    ];
    for name in ["e2", "e3", "e1", "A", "On", "In", "Tag", "Red", "Within", "e4"] {
        let mut world = world();
        let entity = world.entity(name);
        let mut compiled: Vec<_> = texts.iter().map(|text| world.compile(text)).collect();
        let count = |world: &Written, compiled: &mut Vec<bevy_relations::expr::CompiledExpr>| -> Vec<usize> {
            compiled.iter_mut().map(|expr| expr.count(&world.world).unwrap()).collect()
        };
        count(&world, &mut compiled);
        world.world.despawn(entity);
        let without = count(&world, &mut compiled);
        // The index is used again.
        let others: Vec<Entity> = (0..50).map(|_| world.world.spawn_empty().id()).collect();
        assert_eq!(count(&world, &mut compiled), without, "without {name}");
        for other in others {
            world.world.despawn(other);
        }
        world.world.clear_pairs();
        count(&world, &mut compiled);
    }
}

#[test]
fn what_is_registered_later_counts_from_then_on() {
    let mut world = Written::new(&["e1 Tag"]);
    let expr = PairExpr::builder().with::<Late>().pair::<LateRelation>("$x").build().unwrap();
    let mut compiled = expr.compile(&mut world.world).unwrap();
    assert_eq!(compiled.count(&world.world), Ok(0));
    let target = world.entity("e1");
    let late = world.world.spawn(Late).id();
    world.world.insert_pair(late, LateRelation, target).unwrap();
    assert_eq!(compiled.count(&world.world), Ok(1));
}

#[test]
fn every_kind_of_step_counts() {
    const LENGTH: usize = 400;
    let mut world = Written::new(&["hub1", "hub2", "list"]);
    let [on, inside, a, b, child_of] = ["On", "In", "A", "B", "ChildOf"].map(|name| world.entity(name));
    let [hub1, hub2, list] = ["hub1", "hub2", "list"].map(|name| world.entity(name));
    let chain: Vec<Entity> = (0..LENGTH).map(|_| world.world.spawn_empty().id()).collect();
    for (at, &entity) in chain.iter().enumerate() {
        for relation in [on, inside, child_of] {
            if let Some(&next) = chain.get(at + 1) {
                world.world.insert_pair_by_id(entity, (relation, next)).unwrap();
            }
        }
        let (relation, hub) = if at % 2 == 0 { (a, hub1) } else { (b, hub2) };
        world.world.insert_pair_by_id(entity, (relation, hub)).unwrap();
        world.world.insert_tag(list, entity).unwrap();
    }
    let (low, top) = (chain[0].to_bits(), chain[LENGTH - 1].to_bits());
    world.entity("Red");
    let mut wrong = Vec::new();
    for term in [
        "Red(up On)",
        "!Red(up On)",
        "?Red(up On)",
        "!{ Red(up On) }",
        "Red(up On) || Red(self|up On)",
        "A($this|up On, hub2)",
        "Red(up ChildOf)",
        "Red(up ChildOf 2..)",
        "Red(up ChildOf 2..390)",
        "!Red(up ChildOf)",
        &format!("(In, #{top})"),
        &format!("!(In, #{top})"),
        "(In, *)",
        "(In, $x), B($x, hub2)",
        "*(down On)",
        &format!("(A, #{low}|up On)"),
        "and|list",
        "A($x, hub1), B($x, hub2)",
        "$y == hub1, $z == hub2, A($x, $y), B($x, $z)",
    ] {
        let text = if term.contains("down") {
            format!("$this == #{top}, {term}")
        } else {
            format!("$this == #{low}, {term}")
        };
        let mut expr = world.compile(&text);
        assert!(expr.count(&world.world).is_ok(), "{text}");
        let limit = 60;
        expr.set_step_limit(Some(limit));
        let found = [expr.count(&world.world).map(drop), expr.for_each(&world.world, |_| {})];
        if found.iter().any(|found| *found != Err(ExprRunError::StepLimit { limit })) {
            wrong.push(text.clone());
        }
        expr.set_step_limit(None);
        assert!(expr.count(&world.world).is_ok(), "{text}");
    }
    assert_eq!(wrong, Vec::<String>::new(), "these go on after their last step");
}

#[test]
fn rows_are_handed_out_before_the_last_is_found() {
    let mut world = world();
    for _ in 0..60 {
        let [entity, tag] = [world.world.spawn_empty().id(), world.entity("Tag")];
        world.world.insert_tag(entity, tag).unwrap();
    }
    // More rows than can be found.
    let mut expr = world.compile("Tag($a), Tag($b), Tag($c), Tag($d), Tag($e), Tag($f), Tag($g), Tag($h)");
    expr.set_step_limit(Some(50_000));
    let mut rows = 0;
    let found = expr.for_each(&world.world, |_| rows += 1);
    assert_eq!(found, Err(ExprRunError::StepLimit { limit: 50_000 }));
    assert!(rows > 1_000, "{rows}");
    let mut next = expr.rows(&world.world).unwrap();
    assert!(next.next_row().unwrap().is_some());
}
