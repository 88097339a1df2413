//! Expressions and queries that are kept while everything that they name changes: they answer as new ones do.

use crate::common::unpaid::CrewOf;
use crate::{
    common::{spawn, take_errors, try_reuse_index, world_that_records_errors},
    expr_semantics::Written,
};
use bevy_ecs::{
    entity_disabling::{DefaultQueryFilters, Disabled},
    prelude::*,
    query::QueryState,
    system::{BoxedSystem, RunSystemError},
};
use bevy_relations::{
    expr::{AnyExpression, CompiledExpr, ExprParam, PairExpr, Row},
    prelude::*,
    query::{Target, Up},
    relation::{OnInstantiate, Prefab},
};

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct MountedOn;

#[derive(Component, Debug)]
struct Armor;

#[derive(Component)]
struct Frozen;

const EXPRESSIONS: [&str; 46] = [
    "Tag",
    "Tag, !Red",
    "!Red",
    "?Red, Tag",
    "Armor",
    "Armor, !Tag",
    "Armor(up MountedOn)",
    "Armor(up MountedOn), !Tag",
    "Armor(self|up MountedOn), ?Tag, !Red",
    "Armor(down MountedOn), Tag || Red",
    "!Armor(up MountedOn), Tag",
    "?Armor(cascade MountedOn), Tag",
    "Tag(up On), !Red",
    "Tag(up On), Red",
    "!Red, Tag(up On)",
    "Tag(self|up On), ?Red, (A, *)",
    "Tag(down On), !Red, !(A, _)",
    "Tag($x|up On), !Red($x), A($x, $y), Red($y)",
    "?Red(cascade On), Tag",
    "Red(cascade|desc On)",
    "Red(up On) || (A, e2)",
    "(A, e2) || Red(up On)",
    "Tag, !{ Red(up On) }",
    "!{ Red(up On) || (A, e2) }, Tag",
    "?Tag(up On), Red, !(In, e3)",
    "(A, *)",
    "(A, $x), Tag($x)",
    "A($x, $y), !A($y, $x)",
    "(A, e2)",
    "!(A, e2), Tag",
    "?(A, e2), Tag",
    "(A, e2|up On)",
    "A(e1, $x), Tag($x)",
    "Tag(e1), Red",
    "(In, e3)",
    "(In, *), Tag",
    "In($x, e3), !Red($x)",
    "(MountedOn, $x), Armor($x)",
    "(MountedOn, *), !Tag",
    "(Later, e1)",
    "(Later, *), Tag",
    "and|e1",
    "$this == e2",
    "$this != e2, Tag",
    "*",
    "(*, *)",
];

type Change = fn(&mut Written);

/// What is done to the world, and whether a new expression means the same by its names.
const CHANGES: [(&str, bool, Change); 22] = [
    ("nothing", true, |_| {}),
    ("the relation `A` goes", true, |w| despawn(w, "A")),
    ("the relation `On` goes", true, |w| despawn(w, "On")),
    ("the relation `In` goes", true, |w| despawn(w, "In")),
    ("the relation `On` goes, and another has its number", false, |w| {
        despawn(w, "On");
        let on = w.world.spawn_relation("On", RelationTraits::new().symmetric()).unwrap();
        let [e1, e2] = ["e1", "e2"].map(|name| w.entity(name));
        w.world.insert_pair_by_id(e1, (on, e2)).unwrap();
    }),
    ("a constant goes", true, |w| despawn(w, "e2")),
    ("a constant goes, and its index is used again", true, |w| {
        let e2 = w.entity("e2");
        w.world.despawn(e2);
        let tag = w.entity("Tag");
        if let Some(other) = try_reuse_index(&mut w.world, e2) {
            w.world.insert_tag(other, tag).unwrap();
        }
    }),
    ("a source goes", true, |w| despawn(w, "e1")),
    ("a tag goes", true, |w| despawn(w, "Tag")),
    ("a name goes to another", false, |w| {
        let e2 = w.entity("e2");
        w.world.entity_mut(e2).insert(Name::new("former"));
        let tag = w.entity("Tag");
        let other = w.entity("e2");
        w.world.insert_tag(other, tag).unwrap();
    }),
    ("the entity of a component goes", true, |w| {
        let armor = w.world.entity_of::<Armor>();
        w.world.despawn(armor);
    }),
    ("the entity of a component goes and comes again", true, |w| {
        let armor = w.world.entity_of::<Armor>();
        w.world.despawn(armor);
        w.world.entity_of::<Armor>();
        w.world.spawn(Armor);
    }),
    ("the entity of a relation type goes and comes again", true, |w| {
        let mounted = w.world.register_relation::<MountedOn>().unwrap();
        w.world.despawn(mounted);
        let [e1, e3] = ["e1", "e3"].map(|name| w.entity(name));
        w.world.insert_pair(e1, MountedOn, e3).unwrap();
    }),
    ("an entity is a prefab", true, |w| {
        let e1 = w.entity("e1");
        w.world.entity_mut(e1).insert(Prefab);
    }),
    ("an entity is disabled", true, |w| {
        let e1 = w.entity("e1");
        w.world.entity_mut(e1).insert(Disabled);
    }),
    ("a component disables from now on", true, |w| {
        w.world.register_disabling_component::<Frozen>();
        let e1 = w.entity("e1");
        w.world.entity_mut(e1).insert(Frozen);
    }),
    ("a relation gets its traits and its first pairs", true, |w| {
        let [later, e1, e2, e3] = ["Later", "e1", "e2", "e3"].map(|name| w.entity(name));
        w.world.set_traits(later, RelationTraits::new().transitive()).unwrap();
        w.world.insert_pair_by_id(e3, (later, e2)).unwrap();
        w.world.insert_pair_by_id(e2, (later, e1)).unwrap();
    }),
    ("a relation is shared by instances and has its first pairs", true, |w| {
        let [later, is_a, e1, e2, e3] = ["Later", "IsA", "e1", "e2", "e3"].map(|name| w.entity(name));
        w.world.set_traits(later, RelationTraits::new().on_instantiate(OnInstantiate::Inherit)).unwrap();
        w.world.insert_pair_by_id(e2, (later, e1)).unwrap();
        w.world.insert_pair_by_id(e3, (is_a, e2)).unwrap();
    }),
    ("subtypes come", true, |w| {
        let [is_a, tag, sub, e3] = ["IsA", "Tag", "Sub", "e3"].map(|name| w.entity(name));
        w.world.insert_pair_by_id(sub, (is_a, tag)).unwrap();
        w.world.insert_tag(e3, sub).unwrap();
    }),
    ("a relationship is adopted", true, |w| {
        w.world.adopt_relationship::<CrewOf>();
        let [e1, e2] = ["e1", "e2"].map(|name| w.entity(name));
        w.world.entity_mut(e1).insert(CrewOf(e2));
    }),
    ("all pairs go", true, |w| w.world.clear_pairs()),
    ("all pairs go and some come again", true, |w| {
        w.world.clear_pairs();
        let [a, on, in_, e1, e2, e3] = ["A", "On", "In", "e1", "e2", "e3"].map(|name| w.entity(name));
        w.world.insert_pair_by_id(e1, (a, e2)).unwrap();
        w.world.insert_pair_by_id(e1, (on, e2)).unwrap();
        w.world.insert_pair_by_id(e1, (in_, e3)).unwrap();
        w.world.insert_pair(e2, MountedOn, e3).unwrap();
    }),
];

fn despawn(world: &mut Written, name: &str) {
    let entity = world.entity(name);
    world.world.despawn(entity);
}

fn world() -> Written {
    let mut written = Written::new(&[
        "e1 Tag Red (A, e2) (On, e2) (In, e2)",
        "e2 Tag (A, e3) (A, e1) (On, e3) (In, e3)",
        "e3 Red (A, e1)",
        "e4 Tag (A, e4) (On, e1)",
    ]);
    let world = &mut written.world;
    world.spawn_relation("Later", RelationTraits::new()).unwrap();
    world.register_component_name::<Armor>("Armor");
    let mounted = world.register_relation::<MountedOn>().unwrap();
    let [e2, e3, e4] = ["e2", "e3", "e4"].map(|name| written.entity(name));
    let world = &mut written.world;
    assert!(world.get_entity(mounted).is_ok());
    world.entity_mut(e3).insert(Armor);
    world.insert_pair(e4, MountedOn, e2).unwrap();
    world.insert_pair(e2, MountedOn, e3).unwrap();
    written
}

/// All that a row says.
fn describe(row: Row<'_>) -> String {
    let fields = (0..row.field_count()).map(|field| (row.is_set(field), row.id(field), row.source(field)));
    format!("{row:?} {:?}", fields.collect::<Vec<_>>())
}

/// The rows in order of their descriptions, found in batches of several sizes.
fn rows(expr: &mut CompiledExpr, world: &World) -> Result<Vec<String>, String> {
    let mut rows = Vec::new();
    expr.for_each(world, |row| rows.push(describe(row))).map_err(|error| error.to_string())?;
    rows.sort_unstable();
    for size in [1, 1024] {
        expr.set_batch_size(size);
        assert_eq!(expr.count(world), Ok(rows.len()));
    }
    Ok(rows)
}

fn parse(text: &str) -> PairExpr {
    PairExpr::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

fn system(text: &str, world: &mut World) -> BoxedSystem<(), Vec<String>> {
    let system =
        (ExprParam(parse(text)),).build_state(world).build_system(|mut expr: ExprQuery<AnyExpression>| {
            let mut rows = Vec::new();
            expr.for_each_row(|row| rows.push(describe(row))).unwrap();
            rows.sort_unstable();
            rows
        });
    let mut system: BoxedSystem<(), Vec<String>> = Box::new(IntoSystem::into_system(system));
    system.initialize(world);
    system
}

fn run(system: &mut BoxedSystem<(), Vec<String>>, world: &mut World) -> Result<Vec<String>, String> {
    system.run((), world).map_err(|error: RunSystemError| format!("{error:?}"))
}

#[test]
fn a_kept_expression_answers_as_a_new_one_whatever_has_changed() {
    let mut with_rows = 0;
    for (change, same_names, apply) in CHANGES {
        let mut world = world();
        let mut kept: Vec<CompiledExpr> = EXPRESSIONS.iter().map(|text| world.compile(text)).collect();
        // Bound as those are, but without anything that a run keeps.
        let mut idle: Vec<CompiledExpr> = EXPRESSIONS.iter().map(|text| world.compile(text)).collect();
        kept.iter_mut().for_each(|expr| drop(rows(expr, &world.world).unwrap()));
        apply(&mut world);
        world.world.check_pairs().unwrap();
        for ((text, kept), idle) in EXPRESSIONS.iter().zip(&mut kept).zip(&mut idle) {
            let found = rows(kept, &world.world);
            assert_eq!(found, rows(idle, &world.world), "{text}, when {change}");
            if let Ok(mut fresh) = parse(text).compile(&mut world.world)
                && same_names
            {
                let fresh = rows(&mut fresh, &world.world);
                with_rows += usize::from(fresh.as_ref().is_ok_and(|rows| !rows.is_empty()));
                assert_eq!(found, fresh, "{text}, when {change}");
            }
        }
    }
    assert!(with_rows > 400, "only {with_rows} have rows");
}

#[test]
fn a_kept_system_answers_as_a_new_one_whatever_has_changed() {
    for (change, same_names, apply) in CHANGES {
        let mut world = world();
        let mut kept: Vec<_> = EXPRESSIONS.iter().map(|text| system(text, &mut world.world)).collect();
        kept.iter_mut().for_each(|system| drop(run(system, &mut world.world).unwrap()));
        apply(&mut world);
        for (text, kept) in EXPRESSIONS.iter().zip(&mut kept) {
            let found = run(kept, &mut world.world);
            let fresh = {
                let mut fresh = system(text, &mut world.world);
                run(&mut fresh, &mut world.world)
            };
            if let (Ok(fresh), true) = (fresh, same_names) {
                assert_eq!(found, Ok(fresh), "{text}, when {change}");
            }
        }
    }
}

#[test]
fn kept_queries_with_terms_answer_as_new_ones_whatever_has_changed() {
    type Terms = (Entity, Option<Target<MountedOn>>, Option<Up<MountedOn, &'static Armor>>, Has<Armor>);
    fn found(state: &mut QueryState<Terms>, world: &World) -> Vec<String> {
        let rows = state
            .iter(world)
            .map(|(this, target, armor, has)| format!("{this} {target:?} {} {has}", armor.is_some()));
        let mut rows: Vec<String> = rows.collect();
        rows.sort_unstable();
        rows
    }
    for (change, _, apply) in CHANGES {
        let mut world = world();
        let mut kept = world.world.query::<Terms>();
        found(&mut kept, &world.world);
        apply(&mut world);
        // Bevy settles what disables when a query is made.
        if change != "a component disables from now on" {
            let mut fresh = world.world.query::<Terms>();
            assert_eq!(found(&mut kept, &world.world), found(&mut fresh, &world.world), "when {change}");
        }
    }
}

#[test]
fn an_expression_outlives_the_store() {
    let mut world = world();
    let mut kept: Vec<CompiledExpr> = EXPRESSIONS.iter().map(|text| world.compile(text)).collect();
    kept.iter_mut().for_each(|expr| drop(rows(expr, &world.world).unwrap()));
    world.world.clear_entities();
    for (text, kept) in EXPRESSIONS.iter().zip(&mut kept) {
        // There are no pairs to look into, or there is nothing.
        if let Ok(found) = rows(kept, &world.world) {
            assert_eq!(found, Vec::<String>::new(), "{text}");
        }
    }
}

#[test]
fn a_term_up_a_relation_that_is_gone_finds_nothing_whatever_stands_beside_it() {
    for (term, rows) in [("Red(up On)", 0), ("Red(cascade On)", 0), ("Red(down On)", 0), ("?Red(up On)", 3)] {
        for beside in
            ["", ", !Tag2", ", Tag", ", ?Tag2", ", !(A, e3)", ", (A, $x)", ", $this != e4", ", !{ Tag2 }"]
        {
            let mut world = world();
            let text = format!("{term}{beside}");
            let mut expr = match PairExpr::parse(&*text.replace("Tag2", "Later")) {
                Ok(expr) => expr.compile(&mut world.world).unwrap(),
                Err(error) => panic!("{error}"),
            };
            assert!(expr.count(&world.world).is_ok());
            despawn(&mut world, "On");
            let found = expr.count(&world.world).unwrap();
            assert!(if rows == 0 { found == 0 } else { found >= rows }, "{text}: {found}");
        }
    }
}

#[test]
fn prefabs_and_whatever_disables_later_stay_out_of_rows_of_before() {
    let mut world = World::new();
    world.register_component_name::<Armor>("Armor");
    let mut expr = parse("Armor").compile(&mut world).unwrap();
    let mut with_prefabs = parse("Armor, ?Prefab").compile(&mut world).unwrap();
    let mut system = system("Armor", &mut world);
    let armed = [(); 3].map(|()| world.spawn(Armor).id());
    let mut counts = |world: &mut World| {
        (
            expr.count(world).unwrap(),
            run(&mut system, world).unwrap().len(),
            with_prefabs.count(world).unwrap(),
        )
    };
    assert_eq!(counts(&mut world), (3, 3, 3));
    world.entity_mut(armed[0]).insert(Prefab);
    assert_eq!(counts(&mut world), (2, 2, 3));
    world.entity_mut(armed[1]).insert(Frozen);
    assert_eq!(counts(&mut world), (2, 2, 3));
    world.register_disabling_component::<Frozen>();
    assert_eq!(counts(&mut world), (1, 1, 2));
    world.entity_mut(armed[2]).insert(Disabled);
    assert_eq!(counts(&mut world), (0, 0, 1));
    world.remove_resource::<DefaultQueryFilters>();
    assert_eq!(counts(&mut world), (2, 2, 3), "nothing disables any more, but a prefab is one");
}

#[test]
fn prefab_and_disabled_are_known_by_name_wherever_an_expression_is_compiled() {
    for name in ["Prefab", "Disabled"] {
        let mut world = World::new();
        let mut expr = parse(name).compile(&mut world).unwrap();
        assert_eq!(expr.count(&world), Ok(0));
        let mut kept = system(name, &mut world);
        world.spawn((Prefab, Disabled));
        assert_eq!(expr.count(&world), Ok(0), "the other one hides it");
        let mut both = parse("Prefab, Disabled").compile(&mut world).unwrap();
        assert_eq!(both.count(&world), Ok(1));
        world.spawn(Prefab);
        world.spawn(Disabled);
        assert_eq!((expr.count(&world), run(&mut kept, &mut world).unwrap().len()), (Ok(1), 1));
        // What a user calls by the name comes first.
        let own = world.spawn(Name::new(name)).id();
        let tagged = world.spawn_empty().id();
        world.insert_tag(tagged, own).unwrap();
        let mut own = parse(name).compile(&mut world).unwrap();
        assert_eq!(own.first(&world).unwrap().and_then(|row| row.this()), Some(tagged));
    }
}

/// Two types and whatever is said of them: by their names, which stay, and by entities, which go.
#[test]
fn a_type_is_followed_to_its_next_entity_and_an_entity_that_is_named_itself_is_not() {
    let mut world = world_that_records_errors();
    let [a, b] = spawn(&mut world);
    world.register_component_name::<Armor>("Armor");
    let (mounted, armor) = (world.register_relation::<MountedOn>().unwrap(), world.entity_of::<Armor>());
    world.entity_mut(armor).insert(Name::new("Plate"));
    let (m, p) = (format!("#{}", mounted.to_bits()), format!("#{}", armor.to_bits()));
    // Rows at first, and when the types have other entities.
    let cases = [
        ("(MountedOn, *)".to_owned(), 1, 1),
        ("Armor".to_owned(), 1, 1),
        ("Armor, (MountedOn, $x)".to_owned(), 1, 1),
        (format!("({m}, *)"), 1, 0),
        (format!("{m}($this, $x)"), 1, 0),
        (p.clone(), 1, 0),
        ("Plate".to_owned(), 1, 0),
        (format!("Armor, {p}"), 1, 0),
        (format!("Armor, !{p}"), 0, 1),
        (format!("?{p}, Armor"), 1, 1),
        (format!("{p} || (MountedOn, *)"), 1, 1),
        (format!("(MountedOn, *), !{{ {p} }}"), 0, 1),
        (format!("(MountedOn, *), !({m}, _)"), 0, 1),
        (format!("Armor(self|up {m}), Armor"), 1, 0),
        (format!("$x == {m}, Armor"), 1, 0),
    ];
    let mut kept: Vec<(CompiledExpr, _)> = cases
        .iter()
        .map(|case| (PairExpr::parse(&*case.0).unwrap().compile(&mut world).unwrap(), case))
        .collect();
    for round in 0..2 {
        world.entity_mut(a).insert(Armor);
        world.insert_pair(a, MountedOn, b).unwrap();
        world.entity_of::<Armor>();
        for (expr, (text, first, later)) in &mut kept {
            let expected = if round == 0 { *first } else { *later };
            assert_eq!(expr.count(&world), Ok(expected), "`{text}` in round {round}");
        }
        if round == 0 {
            // This removes the component and the pairs everywhere, and reports it.
            world.despawn(mounted);
            world.despawn(armor);
            assert_eq!(take_errors().len(), 2);
            for (expr, (text, ..)) in &mut kept {
                assert_eq!(expr.count(&world), Ok(0), "`{text}` while there is none");
            }
        }
    }
    world.check_pairs().unwrap();
}
