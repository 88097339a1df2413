//! Fields of the values of pairs that are compared, of relations that are created at run time.
//!
//! What a program can do there: relations with a name of their own, below another entity, or with that of a type; values of one
//! type in several relations, values that are no fields of anything; targets that are written down, bound, or unbound; values
//! that are replaced; texts that are compiled, live, or in systems; what is wrong in them.

use crate::expr_values::{named, rows, world};
use bevy_ecs::{prelude::*, reflect::AppTypeRegistry, system::RunSystemOnce};
use bevy_reflect::Reflect;
use bevy_relations::{
    expr::{AnyExpression, ExprParam, PairExpr},
    id::Slot,
    prelude::*,
};

#[derive(Reflect, Clone)]
struct Price {
    gold: u32,
}

#[derive(Clone)]
struct Unknown;

struct Market {
    world: World,
    fee: Entity,
    ann: Entity,
    ben: Entity,
}

/// `Fee` and `Rules.Fine` have prices, `Calls` has no values, `Odd` some without fields.
fn market() -> Market {
    let mut world = world();
    world.resource::<AppTypeRegistry>().write().register::<Price>();
    let priced = || RelationTraits::new().data::<Price>();
    let fee = world.spawn_relation("Fee", priced()).unwrap();
    let fine = world.spawn_relation("Fine", priced()).unwrap();
    let rules = named(&mut world, "Rules", ());
    world.entity_mut(fine).insert(ChildOf(rules));
    world.spawn_relation("Calls", RelationTraits::new()).unwrap();
    world.spawn_relation("Odd", RelationTraits::new().data::<Unknown>()).unwrap();
    let [ann, ben, cal] = ["Ann", "Ben", "Cal"].map(|name| named(&mut world, name, ()));
    for (source, relation, target, gold) in
        [(ann, fee, ben, 5), (ann, fee, cal, 2), (ben, fee, cal, 3), (ann, fine, ben, 1), (cal, fine, ann, 9)]
    {
        world.insert_pair_value_by_id(source, (relation, target), Price { gold }).unwrap();
    }
    Market { world, fee, ann, ben }
}

#[test]
fn fields_of_relations_of_run_time_are_compared() {
    let Market { mut world, fee, ann, ben } = market();
    assert_eq!(rows(&mut world, "(Fee.gold, $x) >= 3"), ["Ann/Ben", "Ben/Cal"]);
    assert_eq!(rows(&mut world, "(Fee.gold, *) < 3"), ["Ann"]);
    assert_eq!(rows(&mut world, "Fee.gold($who, Cal) != 3"), ["Ann"]);
    assert_eq!(rows(&mut world, "(Rules.Fine.gold, $x) > 0"), ["Ann/Ben", "Cal/Ann"]);
    assert_eq!(rows(&mut world, "(Fee, $x), !(Fee.gold, $x) > 2"), ["Ann/Cal"]);
    assert_eq!(rows(&mut world, "(Fee.gold, $x) > 2, (Rules.Fine.gold, $x) == 1"), ["Ann/Ben"]);
    world.insert_pair_value_by_id(ann, (fee, ben), Price { gold: 0 }).unwrap();
    assert_eq!(rows(&mut world, "(Fee.gold, $x) >= 3"), ["Ben/Cal"]);
    world.remove_pairs_by_id(ben, (fee, Slot::Wildcard));
    assert_eq!(rows(&mut world, "(Fee.gold, $x) >= 3"), [""; 0]);
}

#[test]
fn fields_of_relations_of_run_time_are_compared_in_live_expressions_and_systems() {
    let Market { mut world, fee, ann, ben } = market();
    let expr = PairExpr::parse("(Fee.gold, $x) >= 3").unwrap();
    let mut live = expr.live(&mut world).unwrap();
    let mut kept = |world: &mut World| {
        live.update(world).unwrap();
        live.len()
    };
    let count = |mut fees: ExprQuery<AnyExpression>| fees.count().unwrap();
    let read = |world: &mut World| {
        let system = (ExprParam(expr.clone()),).build_state(world).build_system(count);
        world.run_system_once(system).unwrap()
    };
    assert_eq!([kept(&mut world), read(&mut world)], [2, 2]);
    world.insert_pair_value_by_id(ann, (fee, ben), Price { gold: 0 }).unwrap();
    assert_eq!([kept(&mut world), read(&mut world)], [1, 1]);
    world.insert_pair_value_by_id(ben, (fee, ann), Price { gold: 7 }).unwrap();
    assert_eq!([kept(&mut world), read(&mut world)], [2, 2]);
    world.despawn(fee);
    assert_eq!(kept(&mut world), 0);
    world.check_pairs().unwrap();
}

#[test]
fn what_cannot_be_compared_of_a_relation_of_run_time_says_why() {
    let Market { mut world, .. } = market();
    for (text, wanted) in [
        (
            "Fee.gold > 1",
            "1:1: `Fee` is a relation: a field of the value of its pairs is compared together with a target; write `(Fee.gold, $x)`",
        ),
        ("Rules.Fine.gold(Ann) > 1", "1:1: `Rules.Fine` is a relation"),
        ("(Fee.silver, $x) > 1", "1:2: `Fee` has no such field, only `gold`"),
        ("(Fee.gold.x, $x) > 1", "1:2: `Fee.gold` has no fields"),
        ("(Fee.gold, $x) > true", "1:18: expected a number: `Fee.gold` is of type `u32`"),
        ("(Calls.gold, $x) > 1", "1:2: the pairs of `Calls` have no values"),
        ("(Odd.gold, $x) > 1", "1:2: `Odd` has no fields"),
        ("(Rules.gold, $x) > 1", "1:2: no component or relation has this name"),
    ] {
        let error = PairExpr::parse(text).and_then(|expr| expr.compile(&mut world)).unwrap_err().to_string();
        assert!(error.starts_with(wanted), "{text}:\n{error}");
    }
}

/// Its system cannot have declared that it reads the values.
#[test]
fn a_relation_of_run_time_that_comes_later_is_refused_in_a_system() {
    let mut world = world();
    world.resource::<AppTypeRegistry>().write().register::<Price>();
    let expr = PairExpr::parse("(Fee.gold, $x) >= 3").unwrap();
    let system = (ExprParam(expr),).build_state(&mut world).build_system(|_: ExprQuery<AnyExpression>| {});
    world.spawn_relation("Fee", RelationTraits::new().data::<Price>()).unwrap();
    let error = world.run_system_once(system).unwrap_err().to_string();
    assert!(error.contains("a meaning that it did not have"), "{error}");
}

/// Two entities of one name, a relation that goes, an entity below it that is called like the field, paths that lead nowhere.
#[test]
fn hostile_names_of_relations_of_run_time_are_answered() {
    let Market { mut world, fee, ann, .. } = market();
    let gold = named(&mut world, "gold", ChildOf(fee));
    assert_eq!(rows(&mut world, "(Fee.gold, $x) >= 3"), ["Ann/Ben", "Ben/Cal"]);
    world.insert_pair_value_by_id(ann, (fee, gold), Price { gold: 9 }).unwrap();
    assert_eq!(rows(&mut world, "(Fee.gold, Fee.gold) >= 3"), ["Ann"]);
    let mut compiled = PairExpr::parse("(Fee.gold, $x) >= 3").unwrap().compile(&mut world).unwrap();
    let other = named(&mut world, "Fee", ());
    let error = PairExpr::parse("(Fee.gold, $x) > 1").unwrap().compile(&mut world).unwrap_err().to_string();
    assert!(error.contains("means several things"), "{error}");
    world.despawn(other);
    for text in ["(Fee.gold.gold.gold, $x) > 1", "(Fee.Fee.gold, $x) > 1", "(Fee.gold, Fee.silver) > 1"] {
        PairExpr::parse(text).and_then(|expr| expr.compile(&mut world)).unwrap_err();
    }
    assert_eq!(compiled.count(&world).unwrap(), 3);
    world.despawn(fee);
    assert_eq!(compiled.count(&world).unwrap(), 0);
    PairExpr::parse("(Fee.gold, $x) > 1").and_then(|expr| expr.compile(&mut world)).unwrap_err();
    world.check_pairs().unwrap();
}
