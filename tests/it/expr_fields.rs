//! What rows say about their fields: whether they were matched, by what, and on which entity. It is the same however rows are
//! read, and whatever is set before.

use crate::{
    expr_semantics::Written,
    oracle::random::{self, Random},
    ours::Ours,
};
use bevy_ecs::{prelude::*, system::RunSystemOnce};
use bevy_relations::{
    expr::{CompiledExpr, FieldId, PairExpr, Row},
    id::Slot,
    prelude::*,
};

/// `id@source`, with `?` for what has no id, or `-` if the field is not set.
fn field(world: &World, row: Row<'_>, field: usize) -> String {
    let name = |entity: Entity| world.get::<Name>(entity).map_or(format!("{entity}"), ToString::to_string);
    let part = |slot: Slot| slot.entity().map_or("_".to_owned(), name);
    let id = match row.id(field) {
        None => "?".to_owned(),
        Some(FieldId::Component(_)) => "component".to_owned(),
        Some(FieldId::Entity(entity)) => name(entity),
        Some(FieldId::Pair(pair)) => format!("{} {}", part(pair.relation()), part(pair.target())),
    };
    let source = row.source(field).map_or(String::new(), |source| format!("@{}", name(source)));
    if row.is_set(field) {
        return id + &source;
    }
    assert_eq!((id.as_str(), source.as_str()), ("?", ""), "a field that is not set has nothing");
    "-".to_owned()
}

/// The fields of each row.
#[track_caller]
fn fields(world: &mut World, text: &str) -> String {
    let mut expr = match PairExpr::parse(text).and_then(|expr| expr.compile(world)) {
        Ok(expr) => expr,
        Err(error) => panic!("{error}"),
    };
    let mut rows = Vec::new();
    expr.for_each(world, |row| {
        let fields: Vec<_> = (0..row.field_count()).map(|number| field(world, row, number)).collect();
        rows.push(fields.join(", "));
    })
    .unwrap();
    rows.sort_unstable();
    rows.join("; ")
}

#[test]
fn a_field_is_set_by_what_the_term_has_found_and_on_whom() {
    let mut written = Written::new(&[
        "Fleet Red (A, t)",
        "Empty",
        "Crimson (IsA, Red)",
        "A2 (IsA, A)",
        "e1 Red (A, t) (On, e2) (In, city)",
        "e2 Big",
        "e3 Crimson (A2, t)",
        "city (In, land)",
    ]);
    let world = &mut written.world;
    let mut wrong = Vec::new();
    for (text, expected) in [
        ("Red", "Crimson@e3; Red@Fleet; Red@e1"),
        ("Red|self, Red(e1)", "Red@Fleet, Red@e1; Red@e1, Red@e1"),
        ("(A, t), $this != Fleet", "A t@e1, -; A2 t@e3, -"),
        ("(A|self, *), $this == e1", "A t@e1, -"),
        ("(A|self, _), $this == e1", "A _@e1, -"),
        ("(*, t), $this == e3", "A2 t@e3, -"),
        ("A(_, t)", "A t"),
        ("A(_, $x)", "A t"),
        ("Big(up On)", "Big@e2"),
        ("?Big(up On), Red(e1), $this == e3", "-, Red@e1, -"),
        ("!Big, $this == e1", "-, -"),
        ("Big()", "-"),
        ("and|Fleet, $this == e1", "Fleet@e1, -"),
        ("or|Fleet, $this == e1", "Fleet@e1, -"),
        ("or|Fleet(e1)", "Fleet@e1"),
        ("not|Fleet, $this == e2", "-, -"),
        ("and|Empty(e2)", "Empty@e2"),
        ("and|$l($x), $l == Fleet, $x == e1", "Fleet@e1, -, -"),
        ("$this == e2, !{Red, (A, *)}", "-, -, -"),
        ("$this == e2, !{!Big}, Big", "-, -, Big@e2"),
        ("$this == e2, !{Red || (A, *)}, !{?Red, Red}", "-, -, -, -"),
        ("$this == e1, !{Big, !{Red}}", "-, -, -"),
        ("$this == e2, {Red, (A, *)} || Big", "-, Big@e2, -, -"),
        ("$this == e1, {Red, (A|self, *)} || Big", "-, -, Red@e1, A t@e1"),
        ("$this == e1, Big || {Red, ?Big, !Big}", "-, -, Red@e1, -, -"),
        ("$this == e1, Big || {Red, {Big || (On, *)}}", "-, -, Red@e1, On e2@e1"),
        (
            "{Red, ?(On, $x)} || Big, $this != Fleet",
            "-, Crimson@e3, -, -; -, Red@e1, On e2@e1, -; Big@e2, -, -, -",
        ),
        ("$this == e2, Red || Big", "-, Big@e2"),
        ("$this == e2, Red() || Big()", "-, -"),
        ("(ChildOf, #0), $this == e2", "-, -"),
    ] {
        let found = fields(world, text);
        if found != expected {
            wrong.push(format!("{text}\n  found:    {found}\n  expected: {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn any_source_names_the_first_subtype_whatever_is_set() {
    let mut written = Written::new(&[
        "B1 (IsA, B)",
        "B2 (IsA, B1)",
        // `t` is met by way of `u` first, and there with another subtype.
        "e1 (B1, u) (B2, t)",
        "e2 (B1, t)",
        "e5 (B, v)",
        "e6 (B2, v)",
    ]);
    let [t, u, v] = ["t", "u", "v"].map(|name| written.entity(name));
    assert_eq!(fields(&mut written.world, "B(_, $x)"), "B v; B1 t; B1 u");
    for (preset, expected) in [(t, "B1 t"), (u, "B1 u"), (v, "B v")] {
        let mut expr = written.compile("B(_, $x)").with_var(&written.world, "x", preset).unwrap();
        let row = expr.first(&written.world).unwrap().unwrap();
        assert_eq!(field(&written.world, row, 0), expected);
    }
}

/// Everything that a row says.
fn describe(row: Row<'_>) -> String {
    let fields = (0..row.field_count()).map(|field| (row.is_set(field), row.id(field), row.source(field)));
    format!("{row:?} {:?}", fields.collect::<Vec<_>>())
}

fn described(expr: &mut CompiledExpr, world: &World) -> Vec<String> {
    let mut rows = Vec::new();
    expr.for_each(world, |row| rows.push(describe(row))).unwrap();
    rows
}

/// Compares every way to read the rows.
fn check_readers(expr: &mut CompiledExpr, world: &World, text: &str) -> Vec<String> {
    let rows = described(expr, world);
    let mut one_by_one = Vec::new();
    let mut lent = expr.rows(world).unwrap();
    while let Some(row) = lent.next_row().unwrap() {
        one_by_one.push(describe(row));
    }
    assert_eq!(one_by_one, rows, "{text}");
    let first = expr.first(world).unwrap().map(describe);
    assert_eq!(first.as_ref(), rows.first(), "{text}");
    let mut in_tables = Vec::new();
    expr.for_each_table(world, |table| {
        let set: Vec<_> =
            (0..expr_fields(&table)).map(|field| (table.is_set(field), table.is_own(field))).collect();
        for row in table.rows() {
            let own: Vec<_> =
                (0..row.field_count()).map(|field| (row.is_set(field), row.is_own(field))).collect();
            assert_eq!(own, set, "{text}: rows of a table have their fields from the same places");
            in_tables.push(describe(row));
        }
    })
    .unwrap();
    assert_eq!(in_tables, rows, "{text}");
    rows
}

fn expr_fields(table: &bevy_relations::expr::RowTable<'_>) -> usize {
    table.rows().next().map_or(0, |row| row.field_count())
}

#[test]
fn fields_are_the_same_however_rows_are_read_and_whatever_is_set() {
    let (mut with_rows, mut preset_runs) = (0, 0);
    for number in 0..600 {
        let model = random::world(&mut Random::new(21, number));
        let expr = random::expr(&mut Random::new(22, number), &model);
        let mut ours = Ours::new(&model, false);
        let text = ours.text(&expr);
        let Ok(mut compiled) = PairExpr::parse(&*text).and_then(|expr| expr.compile(&mut ours.world)) else {
            continue;
        };
        let world = &ours.world;
        let rows = check_readers(&mut compiled, world, &text);
        with_rows += usize::from(!rows.is_empty());
        let names: Vec<String> =
            core::iter::once("this".to_owned()).chain(compiled.variables().map(str::to_owned)).collect();
        for name in names {
            let mut by_value: Vec<(Entity, String)> = Vec::new();
            compiled
                .for_each(world, |row| by_value.extend(row.var(&name).map(|value| (value, describe(row)))))
                .unwrap();
            let mut values: Vec<Entity> = by_value.iter().map(|(value, _)| *value).collect();
            values.sort_unstable();
            values.dedup();
            for value in values.into_iter().take(4) {
                let of_value = by_value.iter().filter(|(other, _)| *other == value);
                let mut expected: Vec<_> = of_value.map(|(_, row)| row.clone()).collect();
                expected.sort_unstable();
                compiled.set_var(world, &name, value).unwrap();
                let mut found = check_readers(&mut compiled, world, &text);
                compiled.clear_vars();
                found.sort_unstable();
                assert_eq!(found, expected, "{number}: {text} with ${name} = {value}");
                preset_runs += 1;
            }
        }
    }
    assert!(with_rows > 200 && preset_runs > 500, "{with_rows} with rows, {preset_runs} with a variable set");
}

mod reflected {
    use super::*;
    use bevy_ecs::{reflect::AppTypeRegistry, system::RunSystemOnce};
    use bevy_reflect::Reflect;
    use bevy_relations::expr::{AnyExpression, ExprParam, WriteFieldError};

    #[derive(Component, Reflect, PartialEq, Debug)]
    #[reflect(Component)]
    struct Movement {
        to: Option<Entity>,
    }

    fn world() -> (World, [Entity; 3]) {
        let mut world = World::new();
        world.init_resource::<AppTypeRegistry>();
        world.resource::<AppTypeRegistry>().write().register::<Movement>();
        let [a, b, c] = ["a", "b", "c"].map(|name| world.spawn(Name::new(name)).id());
        world.entity_mut(a).insert(Movement { to: Some(b) });
        world.entity_mut(b).insert((Movement { to: None }, ChildOf(c)));
        (world, [a, b, c])
    }

    #[test]
    fn a_matched_member_is_a_field_of_its_component() {
        let (mut world, [a, b, _]) = world();
        for (text, expected) in [
            ("(Movement.to, $x)", "component@a"),
            ("Movement.to(a, $x)", "component@a"),
            ("Movement.to($y, c.b)", "component@a"),
            ("Movement.to(*, _)", "component@a"),
            ("Movement, ?(Movement.to, $x)", "component@a, component@a; component@b, -"),
            ("Movement, !(Movement.to, *)", "component@b, -"),
            (
                "Movement, (ChildOf, *) || (Movement.to, *)",
                "component@a, component@a; component@b, ChildOf c@b",
            ),
            ("(ChildOf, *), !{(Movement.to, *)}", "ChildOf c@b, -"),
        ] {
            // The entity of the relation has no name.
            let child_of = format!("{}", world.entity_of::<ChildOf>());
            assert_eq!(fields(&mut world, text).replace(&child_of, "ChildOf"), expected, "{text}");
        }
        let expr = PairExpr::parse("(Movement.to, $x)").unwrap();
        let mut compiled = expr.compile(&mut world).unwrap();
        let row = compiled.first(&world).unwrap().unwrap();
        assert_eq!(row.get::<Movement>(0), Some(&Movement { to: Some(b) }));
        assert!(row.reflect(0).is_some() && row.is_own(0));
        let system = (ExprParam(expr),).build_state(&mut world).build_system(
            move |mut query: ExprQuery<AnyExpression>| {
                let row = query.first().unwrap().unwrap();
                (row.is_set(0), row.source(0), row.get::<Movement>(0).is_some())
            },
        );
        assert_eq!(world.run_system_once(system).unwrap(), (true, Some(a), true));
    }

    #[test]
    fn a_member_is_not_written_and_a_list_has_no_value() {
        let (mut world, _) = world();
        let error = PairExpr::parse("[inout] (Movement.to, $x)").unwrap().compile(&mut world).err().unwrap();
        assert_eq!((error.column(), error.found()), (1, "[inout] (Movement.to, $x)"));
        assert_eq!(error.message(), "a field of a component is only read: write `[in]` or `[none]`");
        let movement = world.entity_of::<Movement>();
        world.insert_tag(movement, movement).unwrap();
        let text = format!("and|#{0}, Movement", movement.to_bits());
        let empty = PairExpr::parse(text).unwrap().compile(&mut world).unwrap().count(&world);
        assert_eq!(empty, Ok(0), "nothing has the tag of the list");
        world.remove_tag(movement, movement);
        let text = format!("and|#{0}, Movement", movement.to_bits());
        let mut expr = PairExpr::parse(text).unwrap().compile(&mut world).unwrap();
        let mut rows = 0;
        expr.for_each_mut(&mut world, |mut row| {
            let list = row.as_row();
            assert_eq!((list.is_set(0), list.id(0)), (true, Some(FieldId::Entity(movement))));
            assert_eq!((list.get::<Movement>(0), list.reflect(0).is_some()), (None, false));
            assert!(matches!(row.get_mut::<Movement>(0), Err(WriteFieldError::OtherType { .. })));
            rows += 1;
        })
        .unwrap();
        assert_eq!(rows, 2);
    }

    #[test]
    fn json_says_of_each_field_what_the_row_says() {
        let (mut world, _) = world();
        world.spawn(Name::new("Fleet"));
        let types = world.resource::<AppTypeRegistry>().clone();
        let text = "[none] (Movement.to, $x), or|Fleet, !{(ChildOf, *)}, {[none] Movement} || (ChildOf, *)";
        let mut expr = PairExpr::parse(text).unwrap().compile(&mut world).unwrap();
        let row = expr.first(&world).unwrap().unwrap();
        let types = types.read();
        let json = serde_json::to_value(bevy_relations::expr::RowSerializer::new(row, &types)).unwrap();
        let fields = json["fields"].as_array().unwrap();
        assert_eq!(fields.len(), row.field_count());
        for (number, field) in fields.iter().enumerate() {
            assert_eq!(field["is_set"], row.is_set(number), "{field}");
            assert_eq!(field.get("id").is_some(), row.id(number).is_some(), "{field}");
            assert_eq!(field.get("source").is_some(), row.source(number).is_some(), "{field}");
        }
        let said = |number: usize| (fields[number]["is_set"].as_bool(), fields[number]["id"].as_str());
        assert_eq!(said(0), (Some(true), Some("Movement")));
        assert_eq!(said(1), (Some(true), Some("Fleet")));
        assert_eq!([2, 3].map(said), [(Some(false), None); 2]);
        assert_eq!(said(4), (Some(true), Some("Movement")));
    }
}

#[derive(Component, Clone, PartialEq, Debug)]
struct Fuel(u32);

#[derive(Component, Clone, PartialEq, Debug)]
#[component(storage = "SparseSet")]
struct Heat(u32);

/// Of the same layout as `Fuel`.
#[derive(Component, PartialEq, Debug)]
struct Price(u32);

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct DockedTo;

const VALUES: &str = "Fuel, ?Heat, ?(DockedTo, $port), ?Fuel($port), ?Heat(up DockedTo)";

#[derive(Expression)]
#[expr("Fuel, ?Heat, ?(DockedTo, $port), ?Fuel($port), ?Heat(up DockedTo)")]
struct Values;

/// What a row has to read, with who has it: as Bevy has it.
fn values_of(row: &Row<'_>, get: &dyn Fn(Entity) -> (Option<u32>, Option<u32>)) -> Entity {
    let this = row.this().unwrap();
    for field in [0, 1, 3, 4] {
        let wanted = row.source(field).map_or((None, None), get);
        let heat_wanted = row.is_set(field) && (field == 1 || field == 4);
        let fuel_wanted = row.is_set(field) && !heat_wanted;
        assert_eq!(row.get::<Fuel>(field).map(|fuel| fuel.0), wanted.0.filter(|_| fuel_wanted), "{field}");
        assert_eq!(row.get::<Heat>(field).map(|heat| heat.0), wanted.1.filter(|_| heat_wanted), "{field}");
        assert_eq!(row.get::<Price>(field), None, "of another type");
    }
    assert_eq!(row.get::<Fuel>(2), None, "a pair");
    assert_eq!(row.get::<Fuel>(5), None, "no such field");
    this
}

#[test]
fn a_field_is_read_wherever_its_component_is() {
    let mut world = World::new();
    world.register_component_name::<Fuel>("Fuel").register_component_name::<Heat>("Heat");
    world.register_relation::<DockedTo>().unwrap();
    world.register_component::<Price>();
    let mut random = crate::common::Random(7);
    // Whole tables, which are scanned in place, and some of a few rows; ports that have a component and that have not.
    let ports: Vec<_> = (0..6u32)
        .map(|number| {
            let port = world.spawn_empty().id();
            if number % 2 == 0 {
                world.entity_mut(port).insert(Fuel(1000 + number));
            }
            if number % 3 == 0 {
                world.entity_mut(port).insert(Heat(2000 + number));
            }
            port
        })
        .collect();
    let mut ships: Vec<Entity> = Vec::new();
    for number in 0..400 {
        let ship = world.spawn(Fuel(number)).id();
        if number >= 300 {
            world.entity_mut(ship).insert(Name::new(format!("ship {number}")));
        }
        if number % 70 == 3 {
            world.entity_mut(ship).insert(Price(number));
        }
        if random.below(3) == 0 {
            world.entity_mut(ship).insert(Heat(number));
        }
        if random.below(4) > 0 {
            world.insert_pair(ship, DockedTo, random.pick(&ports)).unwrap();
        }
        ships.push(ship);
    }
    ships.extend(ports.iter().copied().filter(|&port| world.get::<Fuel>(port).is_some()));
    ships.sort_unstable();

    let all = |mut found: Vec<Entity>, by: &str| {
        found.sort_unstable();
        assert_eq!(found, ships, "{by}");
    };
    let mut exprs = [(); 4].map(|()| PairExpr::parse(VALUES).unwrap().compile(&mut world).unwrap());
    let get = |entity: Entity| {
        (world.get::<Fuel>(entity).map(|fuel| fuel.0), world.get::<Heat>(entity).map(|heat| heat.0))
    };
    for (expr, batch_size) in exprs.iter_mut().zip([1, 7, 64, 1024]) {
        expr.set_batch_size(batch_size);
        let mut found = Vec::new();
        expr.for_each(&world, |row| found.push(values_of(&row, &get))).unwrap();
        all(found, "in batches");
    }
    let known: std::collections::HashMap<Entity, _> =
        world.iter_entities().map(|entity| (entity.id(), get(entity.id()))).collect();
    let of_system = known.clone();
    let get = |entity: Entity| known[&entity];

    let mut found = Vec::new();
    let mut expr = PairExpr::parse(VALUES).unwrap().compile(&mut world).unwrap();
    expr.for_each_mut(&mut world, |row| found.push(values_of(&row.as_row(), &get))).unwrap();
    all(found, "beside writing");

    let found = move |mut query: ExprQuery<Values>| {
        let mut found = Vec::new();
        query.for_each(|(), row| found.push(values_of(&row, &|entity| of_system[&entity]))).unwrap();
        found
    };
    all(world.run_system_once(found).unwrap(), "in a system");

    let mut live = PairExpr::parse(VALUES).unwrap().live(&mut world).unwrap();
    live.update(&mut world).unwrap();
    all(live.rows(&world).unwrap().map(|row| values_of(&row, &get)).collect(), "kept");
    // What died since has nothing to read, whatever has its index now.
    let dead = ships[5];
    world.despawn(dead);
    world.spawn(Fuel(77));
    let row = live.rows(&world).unwrap().find(|row| row.this() == Some(dead)).unwrap();
    assert_eq!((row.get::<Fuel>(0), row.get::<Heat>(1)), (None, None));
}

/// Reads what it has not declared.
#[derive(Expression)]
#[expr("[none] Fuel, Heat")]
struct Undeclared;

#[test]
fn a_system_reads_no_field_that_it_has_not_declared() {
    let mut world = World::new();
    world.register_component_name::<Fuel>("Fuel").register_component_name::<Heat>("Heat");
    world.spawn_batch((0..200).map(|number| (Fuel(number), Heat(number))));
    let read = |mut query: ExprQuery<Undeclared>| {
        let mut rows = 0;
        query
            .for_each(|(), row| {
                assert_eq!(row.get::<Fuel>(0), None);
                assert!(row.get::<Heat>(1).is_some());
                rows += 1;
            })
            .unwrap();
        rows
    };
    assert_eq!(world.run_system_once(read).unwrap(), 200);
}

#[test]
fn fields_are_numbered_by_terms_those_of_short_forms_and_scopes_included() {
    let mut world = World::new();
    for name in ["A", "B", "C", "D", "R"] {
        world.spawn_relation(name, RelationTraits::new()).unwrap();
    }
    for (text, terms) in [
        ("A, (R, $x)", &["A", "(R, $x)"][..]),
        ("A, !B, C", &["A", "!B", "C"]),
        ("A || B, C", &["A || B", "C"]),
        ("R($this, $x, $y), C", &["(R, $x)", "R($x, $y)", "C"]),
        ("!{A, B}, C", &["A", "B", "C"]),
        ("{A, B} || C, D", &["{A, B} || C", "A", "B", "D"]),
    ] {
        let expr = PairExpr::parse(text).and_then(|expr| expr.compile(&mut world)).unwrap();
        let found: Vec<_> = (0..expr.field_count()).filter_map(|field| expr.field_text(field)).collect();
        assert_eq!(found, terms, "{text}");
        for (number, term) in terms.iter().enumerate() {
            assert_eq!(expr.field(term), Some(number), "{text}");
        }
    }
}
