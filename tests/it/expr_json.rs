//! Rows as serde writes them.

use bevy_ecs::{prelude::*, reflect::AppTypeRegistry};
use bevy_reflect::{Reflect, TypeRegistry};
use bevy_relations::{
    expr::{CompiledExpr, FieldId, PairExpr, RowSerializer},
    prelude::*,
};
use serde_json::{Value, json};

#[derive(Component, Reflect, Clone, Default)]
#[reflect(Component)]
struct Position {
    x: f32,
    y: f32,
}

#[derive(Component, Reflect)]
#[reflect(Component)]
struct Ship;

/// It has the name of another type.
mod other {
    use super::{Component, Reflect, ReflectComponent};

    #[derive(Component, Reflect)]
    #[reflect(Component)]
    pub(super) struct Ship;
}

/// Nothing is known of it by reflection.
#[derive(Component)]
struct Secret;

#[derive(Relation, Reflect, Clone)]
struct Carries {
    count: u32,
}

#[derive(Relation)]
struct DockedTo;

fn compile(world: &mut World, text: &str) -> CompiledExpr {
    match PairExpr::parse(text).and_then(|expr| expr.compile(world)) {
        Ok(expr) => expr,
        Err(error) => panic!("{text}: {error}"),
    }
}

fn types() -> AppTypeRegistry {
    let types = AppTypeRegistry::default();
    let mut write = types.write();
    write.register::<Position>();
    write.register::<Ship>();
    write.register::<Carries>();
    drop(write);
    types
}

fn world() -> World {
    let mut world = World::new();
    world.insert_resource(types());
    world.register_relation::<ChildOf>().unwrap();
    world.register_relation::<Carries>().unwrap();
    world.register_relation::<DockedTo>().unwrap();
    world
}

/// Every row as JSON.
fn written(world: &mut World, text: &str) -> Vec<Value> {
    let mut expr = compile(world, text);
    let types = world.resource::<AppTypeRegistry>().clone();
    let mut rows = Vec::new();
    expr.for_each(world, |row| {
        rows.push(serde_json::to_value(RowSerializer::new(row, &types.read())).unwrap());
    })
    .unwrap();
    rows
}

#[test]
fn a_row_has_names_variables_fields_and_values() {
    let mut world = world();
    let earth = world.spawn(Name::new("Earth")).id();
    let gold = world.spawn(Name::new("Gold")).id();
    let load = pairs![(DockedTo, earth), (Carries { count: 3 }, gold)];
    world.spawn((Name::new("Kite"), Ship, Position { x: 1.0, y: 2.5 }, load));
    let rows = written(&mut world, "Ship, Position, (DockedTo, $where), (Carries, *), ?Position($where)");
    assert_eq!(
        rows,
        [json!({
            "this": "Kite",
            "vars": { "where": "Earth" },
            "fields": [
                { "term": "Ship", "is_set": true, "id": "Ship", "source": "Kite", "value": {} },
                { "term": "Position", "is_set": true, "id": "Position", "source": "Kite", "value": { "x": 1.0, "y": 2.5 } },
                { "term": "(DockedTo, $where)", "is_set": true, "id": "(DockedTo, Earth)", "source": "Kite" },
                { "term": "(Carries, *)", "is_set": true, "id": "(Carries, Gold)", "source": "Kite", "value": { "count": 3 } },
                { "term": "?Position($where)", "is_set": false },
            ],
        })]
    );
}

#[test]
fn what_a_row_lacks_is_left_out_and_open_variables_are_null() {
    let mut world = world();
    world.spawn((Name::new("Kite"), Ship));
    let rows = written(&mut world, "Ship($s), ?(DockedTo, $where), ?DockedTo($s, $where)");
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].get("this"), Some(&json!("Kite")), "the optional term is about `$this`");
    let rows = written(&mut world, "Ship($s), ?DockedTo($s, $where)");
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].get("this"), None);
    assert_eq!(rows[0]["vars"], json!({ "s": "Kite", "where": null }));
}

#[test]
fn fields_that_are_written_or_not_looked_at_have_no_value() {
    let mut world = world();
    world.spawn(Position::default());
    for (text, expected) in
        [("[out] Position, [none] Position", [false; 2]), ("[in] Position, [inout] Position", [true; 2])]
    {
        let rows = written(&mut world, text);
        let has_value =
            rows[0]["fields"].as_array().unwrap().iter().map(|field| field.get("value").is_some());
        assert_eq!(has_value.collect::<Vec<_>>(), expected, "{text}");
    }
}

#[test]
fn rows_of_any_component_have_names_and_names_of_entities_in_their_values() {
    #[derive(Component, Reflect)]
    #[reflect(Component)]
    struct Heading {
        to: Entity,
        over: Vec<Entity>,
        called: Name,
    }
    let mut world = world();
    let types = world.resource::<AppTypeRegistry>().clone();
    types.write().register::<Heading>();
    types.write().register::<Name>();
    let [earth, moon] = ["Earth", "Moon"].map(|name| world.spawn(Name::new(name)).id());
    let nameless = world.spawn_empty().id();
    let heading = Heading { to: earth, over: vec![moon, nameless], called: Name::new("H") };
    world.spawn((Name::new("Kite"), Ship, heading));
    let rows = written(&mut world, "Ship, *");
    let found: Vec<(&str, &Value)> =
        rows.iter().map(|row| &row["fields"][1]).map(|f| (f["id"].as_str().unwrap(), &f["value"])).collect();
    let heading =
        json!({ "to": "Earth", "over": ["Moon", format!("#{}", nameless.to_bits())], "called": "H" });
    for expected in [("Name", &json!("Kite")), ("Ship", &json!({})), ("Heading", &heading)] {
        assert!(found.contains(&expected), "{expected:?} in {found:?}");
    }
    assert_eq!(found.len(), 3);
}

#[test]
fn what_is_not_registered_has_no_value_and_no_name() {
    let mut world = world();
    world.register_component::<Secret>();
    world.spawn((Name::new("Kite"), Secret));
    let secret = world.entity_of::<Secret>().to_bits();
    let rows = written(&mut world, &format!("#{secret}"));
    assert_eq!(rows[0]["fields"][0].get("value"), None);
    assert_eq!(rows[0]["fields"][0]["id"], format!("#{secret}"));
}

#[test]
fn shared_fields_have_their_source() {
    let mut world = world();
    let fleet = world.spawn((Name::new("Fleet"), Position { x: 7.0, y: 0.0 })).id();
    world.spawn((Name::new("Kite"), Ship, ChildOf(fleet)));
    let rows = written(&mut world, "Ship, Position(up ChildOf)");
    assert_eq!(rows[0]["this"], "Fleet.Kite");
    assert_eq!(rows[0]["fields"][1]["source"], "Fleet");
    assert_eq!(rows[0]["fields"][1]["value"]["x"], 7.0);
}

/// Names that are not what they seem, or need a backslash.
const NAMES: &[&str] = &[
    "Kite",
    "two words",
    "a.b",
    r"back\slash",
    "7up",
    "Ærø",
    "日本",
    "self",
    "up",
    "this",
    "_",
    "*",
    "$x",
    "#1",
    "a,b",
    "a||b",
    "(a",
    "!a",
    "a::b",
    "Vec<T>",
    "\"q\"",
    "tab\there",
    "or",
    "and|x",
    "Ship",
    "DockedTo",
    "parent",
    "",
    " ",
    "$",
];

#[test]
fn names_can_be_put_into_an_expression_and_mean_the_same() {
    let mut world = world();
    let hub = world.spawn(Name::new("the hub")).id();
    let mut entities: Vec<Entity> = NAMES
        .iter()
        .map(|&name| world.spawn((Name::new(name), Ship, pairs![(DockedTo, hub)])).id())
        .collect();
    let children: Vec<Entity> = NAMES
        .iter()
        .map(|&name| world.spawn((Name::new(name), ChildOf(hub), Ship, pairs![(DockedTo, hub)])).id())
        .collect();
    entities.extend(children);
    entities.push(world.spawn((Ship, pairs![(DockedTo, hub)])).id());
    // `Ship` alone could be the entity of that name.
    let [ship, docked_to] = [world.entity_of::<Ship>(), world.register_relation::<DockedTo>().unwrap()];
    let rows = written(&mut world, &format!("#{}, (#{}, *)", ship.to_bits(), docked_to.to_bits()));
    assert_eq!(rows.len(), entities.len());
    for row in rows {
        let name = row["this"].as_str().unwrap();
        let ids: Vec<&str> =
            row["fields"].as_array().unwrap().iter().map(|f| f["id"].as_str().unwrap()).collect();
        let mut again = compile(&mut world, &format!("$this == {name}, {}", ids.join(", ")));
        let mut found = Vec::new();
        again.for_each(&world, |row| found.extend(row.this())).unwrap();
        let [this] = found[..] else { panic!("{name}: {found:?}") };
        let types = world.resource::<AppTypeRegistry>().clone();
        let first = again.first(&world).unwrap().unwrap();
        let written = serde_json::to_value(RowSerializer::new(first, &types.read())).unwrap();
        assert_eq!(written["this"], name);
        entities.retain(|&entity| entity != this);
    }
    assert_eq!(entities, [], "each was found by its name");
}

#[test]
fn who_cannot_be_found_by_a_path_is_written_by_bits() {
    let mut world = world();
    let [first, second] = [(); 2].map(|()| world.spawn((Name::new("Kite"), Ship)).id());
    let nameless = world.spawn(Ship).id();
    let below = world.spawn((Name::new("Gun"), Ship, ChildOf(nameless))).id();
    let rows = written(&mut world, "Ship");
    let these: Vec<&str> = rows.iter().map(|row| row["this"].as_str().unwrap()).collect();
    let bits = |entity: Entity| format!("#{}", entity.to_bits());
    let found = world.lookup("Kite").unwrap();
    let other = if found == first { second } else { first };
    for expected in ["Kite".to_owned(), bits(other), bits(nameless), bits(below)] {
        assert!(these.contains(&&*expected), "{expected} in {these:?}");
    }
}

#[test]
fn types_are_written_by_short_paths_only_if_these_mean_one_thing() {
    let mut world = world();
    world.spawn((Ship, other::Ship));
    let id = |world: &mut World, text: &str| {
        written(world, text)[0]["fields"][0]["id"].as_str().unwrap().to_owned()
    };
    assert_eq!(id(&mut world, "Ship"), "Ship");
    world.resource::<AppTypeRegistry>().write().register::<other::Ship>();
    let path = <Ship as bevy_reflect::TypePath>::type_path();
    assert_eq!(id(&mut world, path), path);
    let path = <other::Ship as bevy_reflect::TypePath>::type_path();
    assert_eq!(id(&mut world, path), path);
    // An entity with the name makes it ambiguous too.
    world.spawn(Name::new("Position"));
    world.spawn(Position::default());
    let path = <Position as bevy_reflect::TypePath>::type_path();
    assert_eq!(id(&mut world, path), path);
}

#[test]
fn pairs_are_reflected_as_components_are() {
    let mut world = world();
    let gold = world.spawn(Name::new("Gold")).id();
    world.spawn(pairs![(Carries { count: 5 }, gold)]);
    let mut expr = compile(&mut world, "(Carries, Gold), (Carries, _)");
    let row = expr.first(&world).unwrap().unwrap();
    let value = row.reflect(0).and_then(|value| value.try_downcast_ref::<Carries>()).map(|value| value.count);
    assert_eq!(value, Some(5));
    assert_eq!(row.get_pair::<Carries>(0).map(|value| value.count), Some(5));
    assert!(matches!(row.id(0), Some(FieldId::Pair(_))));
    assert!(row.reflect(1).is_none(), "`_` says of no target that it is the one");
    assert!(row.reflect(9).is_none());
    // Values are written by what the caller knows of types, not by what the world does.
    let nothing = TypeRegistry::empty();
    let written = serde_json::to_value(RowSerializer::new(row, &nothing)).unwrap();
    assert_eq!(written["fields"][0].get("value"), None);
}

#[test]
fn values_of_run_time_relations_are_reflected() {
    let mut world = world();
    let [sent, hub] = ["sent", "hub"].map(|name| world.spawn(Name::new(name)).id());
    world.set_traits(sent, RelationTraits::new().reflected_data()).unwrap();
    let source = world.spawn_empty().id();
    let value = bevy_relations::relation::ReflectedData(Box::new(Position { x: 4.0, y: 0.0 }));
    world.insert_pair_value_by_id(source, (sent, hub), value).unwrap();
    let rows = written(&mut world, "(sent, hub)");
    assert_eq!(rows[0]["fields"][0]["value"], json!({ "x": 4.0, "y": 0.0 }));
}

#[test]
fn other_formats_are_served_too() {
    let mut world = world();
    world.spawn((Name::new("Kite"), Ship));
    let mut expr = compile(&mut world, "Ship, ?(DockedTo, $where)");
    let types = types();
    let types = types.read();
    let row = expr.first(&world).unwrap().unwrap();
    let pretty = serde_json::to_string_pretty(&RowSerializer::new(row, &types)).unwrap();
    let compact = serde_json::to_string(&RowSerializer::new(row, &types)).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&pretty).unwrap(),
        serde_json::from_str::<Value>(&compact).unwrap()
    );
    assert!(
        compact.starts_with(r#"{"this":"Kite","vars":{"where":null},"fields":[{"term":"Ship","#),
        "{compact}"
    );
}
