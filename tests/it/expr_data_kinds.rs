//! Data of every kind that systems read beside the rows of an expression: as a query has it for the same entities, whether rows are
//! made for this run or kept, in tables as they lie or one by one, whatever was changed since the run before.

use crate::{
    common::size,
    expr_in_place::{Armor, Bed, Burning, DockedTo, Fuel, Likes, MemberOf, Port, Shape, TeamOf},
};
use bevy_ecs::{
    entity_disabling::Disabled,
    prelude::*,
    query::{Allow, AnyOf, Has, ROQueryItem, ReadOnlyQueryData},
    system::{ParamBuilder, SystemParamBuilder},
};
use bevy_relations::{
    expr::{AnyExpression, ExprParam, ExprQuery, PairExpr},
    live::{LiveParam, LiveQuery},
    prelude::*,
    query::{Inherited, Sources, Target, Targets},
};

/// In tables as they lie, in some of their rows, with variables of other entities, one by one, inherited, about a fixed source.
const EXPRS: [&str; 8] = [
    "Fuel",
    "Fuel, !(DockedTo, *)",
    "Fuel, (MemberOf, $port)",
    "Fuel, Armor || (TeamOf, Home)",
    "Fuel, (TeamOf, $port), Port($port)",
    "?(Likes, $port), Fuel",
    "Fuel, Shape(self|up IsA)",
    "Port(Home), Fuel, ?Burning",
];

/// Returns how much was read.
type Test = Box<dyn FnMut(&mut World) -> usize>;

/// A system that reads data in each way.
fn reads<D: ReadOnlyQueryData + 'static>(
    world: &mut World,
    text: &str,
    describe: fn(ROQueryItem<'_, '_, D>) -> String,
) -> Test {
    let expr = PairExpr::parse(text).unwrap();
    let mut system =
        (ExprParam(expr.clone()), LiveParam(expr), ParamBuilder::of::<Query<D, Allow<Disabled>>>())
            .build_state(world)
            .build_system(
                move |mut rows: ExprQuery<AnyExpression, D>,
                      live: LiveQuery<AnyExpression, D>,
                      plain: Query<D, Allow<Disabled>>| {
                    let sorted = |mut all: Vec<(Entity, String)>| {
                        all.sort();
                        all
                    };
                    let have = |entity: Entity| plain.get(entity).ok().map(|data| (entity, describe(data)));
                    let expected = sorted(live.rows().filter_map(|row| have(row.this()?)).collect());
                    let mut seen = Vec::new();
                    rows.for_each(|data, row| seen.push((row.this().unwrap(), describe(data)))).unwrap();
                    assert_eq!(sorted(seen), expected);
                    let kept = live.iter().map(|(data, row)| (row.this().unwrap(), describe(data)));
                    assert_eq!(sorted(kept.collect()), expected);
                    for row in live.rows() {
                        let this = row.this().unwrap();
                        assert_eq!(live.get(this).map(|data| (this, describe(data))), have(this));
                        assert_eq!(rows.get(this).map(|data| (this, describe(data))), have(this));
                    }
                    expected.len()
                },
            );
    system.initialize(world);
    Box::new(move |world| system.run((), world).unwrap())
}

/// Calls [`reads`] for several kinds of data, each with what describes it.
macro_rules! tests {
    ($world:expr, $text:expr, $($data:ty: |$item:pat_param| $describe:expr;)*) => {
        vec![$(reads::<$data>($world, $text, |$item| format!("{:?}", $describe)),)*]
    };
}

fn tests(world: &mut World, text: &str) -> Vec<Test> {
    tests! { world, text,
        &Fuel: |fuel| fuel;
        (): |()| ();
        Entity: |entity| entity;
        EntityRef: |entity| (entity.id(), entity.contains::<Burning>(), entity.get::<Shape>());
        (&Shape, Entity): |data| data;
        Option<&Shape>: |shape| shape;
        (Has<Armor>, Has<Burning>, Has<Port>): |has| has;
        (Option<&Burning>, &Fuel): |(burning, fuel)| (burning.is_some(), fuel);
        &Burning: |_| ();
        AnyOf<(&Armor, &Burning, &Shape)>: |(armor, burning, shape)| (armor.is_some(), burning.is_some(), shape);
        Ref<Fuel>: |fuel| (*fuel, fuel.is_added(), fuel.is_changed());
        Option<Ref<Shape>>: |shape| shape.map(|shape| (*shape, shape.is_added(), shape.is_changed()));
        Target<DockedTo>: |target| target;
        (Target<MemberOf>, Option<Target<TeamOf>>): |targets| targets;
        Targets<Likes>: |targets| targets.collect::<Vec<_>>();
        Sources<DockedTo>: |sources| sources.collect::<Vec<_>>();
        Inherited<&Shape>: |shape| shape;
        (Option<Inherited<&Shape>>, Has<Shape>): |(shape, own)| (shape.copied(), own);
    }
}

#[test]
fn data_is_that_of_a_query_however_rows_are_found() {
    for seed in 0..size(4, 1) as u64 {
        let mut bed = Bed::new(seed);
        let mut all: Vec<Test> = EXPRS.iter().flat_map(|text| tests(&mut bed.world, text)).collect();
        for round in 0..4 {
            let read = all.iter_mut().map(|test| test(&mut bed.world)).sum::<usize>();
            assert!(read > all.len(), "most of them read something");
            for _ in 0..[1, 20, 80][round % 3] {
                let ship = bed.random.pick(&bed.ships);
                bed.change(ship);
                if bed.random.chance(30) {
                    bed.world.get_mut::<Fuel>(ship).unwrap().0 += 1000;
                }
            }
            bed.world.check_pairs().unwrap();
        }
    }
}
