//! The reference world of the query language, and what each expression finds in it.

use bevy_ecs::prelude::*;
use bevy_relations::{
    expr::{ExprError, PairExpr},
    prelude::*,
};

/// h1{Tag2}; e1{Tag,A:T1}; e2{Tag,A:T1,B:T1}; e3{Tag,A:T1,A:T2,B:T2}; e4{Tag,B:T2}; e5{Tag}; e6{Tag,A:h1}.
fn reference_world() -> World {
    let mut world = World::new();
    let mut named = |name: &'static str| world.spawn(Name::new(name)).id();
    let [tag, tag2, t1, t2, h1] = ["Tag", "Tag2", "T1", "T2", "h1"].map(&mut named);
    let [e1, e2, e3, e4, e5, e6] = ["e1", "e2", "e3", "e4", "e5", "e6"].map(&mut named);
    let [a, b] = ["A", "B"].map(|name| world.spawn_relation(name, RelationTraits::new()).unwrap());
    world.insert_tag(h1, tag2).unwrap();
    for entity in [e1, e2, e3, e4, e5, e6] {
        world.insert_tag(entity, tag).unwrap();
    }
    for (source, relation, target) in [
        (e1, a, t1),
        (e2, a, t1),
        (e2, b, t1),
        (e3, a, t1),
        (e3, a, t2),
        (e3, b, t2),
        (e4, b, t2),
        (e6, a, h1),
    ] {
        world.insert_pair_by_id(source, (relation, target)).unwrap();
    }
    world
}

fn compile(world: &mut World, text: &str) -> Result<bevy_relations::expr::CompiledExpr, ExprError> {
    PairExpr::parse(text).and_then(|expr| expr.compile(world))
}

/// The rows as text, sorted: `$this/x/y`, each variable in order of its first use, `*` if it is not set.
fn rows(world: &mut World, text: &str) -> Vec<String> {
    let mut expr = match compile(world, text) {
        Ok(expr) => expr,
        Err(error) => panic!("{error}"),
    };
    let mut found = Vec::new();
    let name = |entity: Option<Entity>| match entity {
        Some(entity) => world.get::<Name>(entity).map_or(format!("{entity}"), ToString::to_string),
        None => "*".to_owned(),
    };
    expr.for_each(world, |row| {
        let vars = row.vars().map(|(_, value)| name(value));
        let this = row.this().map(|this| name(Some(this)));
        found.push(this.into_iter().chain(vars).collect::<Vec<_>>().join("/"));
    })
    .unwrap();
    assert_eq!(expr.count(world).unwrap(), found.len(), "{text}: the count is that of the rows");
    assert_eq!(expr.any(world).unwrap(), !found.is_empty(), "{text}");
    found.sort();
    found
}

#[test]
fn each_expression_of_the_reference_finds_its_rows() {
    let mut world = reference_world();
    let cases: &[(&str, &str)] = &[
        ("Tag,!(A,*)", "e4 e5"),
        ("Tag,!(A,$x)", "e4/* e5/*"),
        ("Tag,(A,$x),!(B,$x)", "e1/T1 e3/T1 e6/h1"),
        ("Tag,!(B,$x),(A,$x)", "e1/T1 e6/h1"),
        ("Tag,?(A,*)", "e1 e2 e3 e3 e4 e5 e6"),
        ("Tag,?(A,_)", "e1 e2 e3 e4 e5 e6"),
        ("Tag,?(A,$x),(B,$x)", "e2/T1 e3/T2 e4/* e5/*"),
        ("Tag,?(A,$x),!Tag2($x)", "e1/T1 e2/T1 e3/T1 e3/T2 e4/* e5/*"),
        ("Tag,(A,*)||(B,*)", "e1 e2 e3 e4 e6"),
        ("(A,$x)||(B,$y),Tag2($x)", "e4/*/T2 e6/h1/*"),
        ("Tag,!{(A,$x),(B,$x)}", "e1 e4 e5 e6"),
        ("Tag,!{(A,$x),!(B,$x)}", "e2 e4 e5"),
        ("A(e3,*)", " "),
        ("A(e3,_)", ""),
        ("A(_,$x)", "T1 T2 h1"),
        ("A(*,$x)", "T1 T1 T1 T2 h1"),
        ("A($x,$this)", "T1/e1 T1/e2 T1/e3 T2/e3 h1/e6"),
        ("Tag,(A,$x),(A,$y),$x!=$y", "e3/T1/T2 e3/T2/T1"),
        ("($r,T1),Tag", "e1/A e2/A e2/B e3/A"),
        ("Tag(),Tag2", "h1"),
        ("!A(e3,h1)", ""),
        ("Tag($x),!A($x,T1)", "e4 e5 e6"),
        ("Tag,(A,_),(B,_)", "e2 e3"),
    ];
    for (text, expected) in cases {
        let expected: Vec<&str> = expected.split(' ').collect();
        assert_eq!(rows(&mut world, text), expected, "{text}");
    }
}
