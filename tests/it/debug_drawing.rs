//! Pairs as a drawing, read again by a small parser.
//!
//! What a program can do there: all relations or some, types, run-time and adopted ones; all entities or some, also dead ones and
//! such without pairs; names with every character that means something to either language; values that are known by reflection,
//! or not; symmetric pairs, pairs of an entity with itself; a limit; worlds that never used relations.

use crate::common::{Random, fewer, spawn};
use bevy_ecs::prelude::*;
use bevy_relations::{
    debug::{PairDrawing, dot, mermaid},
    prelude::*,
};
use std::collections::BTreeMap;

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
#[relation(symmetric)]
struct Knows;

/// What is drawn.
#[derive(PartialEq, Debug, Default)]
struct Drawing {
    /// Labels by id, and whether they are dashed.
    nodes: BTreeMap<String, (String, bool)>,
    /// Source, target, label, and whether there is a direction.
    edges: Vec<(String, String, String, bool)>,
    comments: Vec<String>,
}

/// Reads a quoted text and returns the rest.
fn quoted(text: &str, escape: impl Fn(char) -> char) -> (String, &str) {
    let mut content = String::new();
    let mut chars = text.strip_prefix('"').unwrap_or_else(|| panic!("no quote: {text}")).chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return (content, chars.as_str()),
            '\\' => content.push(escape(chars.next().unwrap())),
            c => {
                assert!(!c.is_control(), "{text:?}");
                content.push(c);
            }
        }
    }
    panic!("a quote that does not end: {text}");
}

fn read_dot(text: &str) -> Drawing {
    let mut drawing = Drawing::default();
    let body = text.strip_prefix("digraph pairs {\n").and_then(|text| text.strip_suffix("}\n")).unwrap();
    let escape = |c| match c {
        'n' => '\n',
        c @ ('"' | '\\') => c,
        c => panic!("unknown escape {c}"),
    };
    for line in body.lines() {
        let line = line.strip_prefix("  ").unwrap();
        if let Some(comment) = line.strip_prefix("// ") {
            drawing.comments.push(comment.to_owned());
            continue;
        }
        let (id, rest) = quoted(line, escape);
        let (target, rest) = match rest.strip_prefix(" -> ") {
            Some(rest) => {
                let (target, rest) = quoted(rest, escape);
                (Some(target), rest)
            }
            None => (None, rest),
        };
        let (label, rest) = quoted(rest.strip_prefix(" [label=").unwrap(), escape);
        match (target, rest) {
            (Some(target), "];") => drawing.edges.push((id, target, label, true)),
            (Some(target), ", dir=none];") => drawing.edges.push((id, target, label, false)),
            (None, "];" | ", style=dashed];") => {
                assert!(drawing.nodes.insert(id, (label, rest != "];")).is_none(), "{text}");
            }
            _ => panic!("{line}"),
        }
    }
    drawing
}

fn read_mermaid(text: &str) -> Drawing {
    let mut drawing = Drawing::default();
    let label = |text: &str| {
        let (mut label, mut rest) = (String::new(), text);
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            match c {
                '#' => {
                    let (code, after) = rest.split_once(';').unwrap();
                    label.push(char::from_u32(code.parse().unwrap()).unwrap());
                    rest = after;
                }
                '<' => {
                    rest = rest.strip_prefix("br/>").unwrap();
                    label.push('\n');
                }
                c => {
                    assert!(!matches!(c, '"' | '>' | '&' | '`' | '\\') && !c.is_control(), "{text}");
                    label.push(c);
                }
            }
        }
        label
    };
    let id = |text: &str| text.strip_prefix('e').unwrap().to_owned();
    for line in text.strip_prefix("flowchart LR\n").unwrap().lines() {
        let line = line.strip_prefix("  ").unwrap();
        if let Some(comment) = line.strip_prefix("%% ") {
            drawing.comments.push(comment.to_owned());
        } else if let Some(style) = line.strip_prefix("style ") {
            let node = id(style.strip_suffix(" stroke-dasharray: 4").unwrap());
            drawing.nodes.get_mut(&node).unwrap().1 = true;
        } else if let Some((node, rest)) = line.split_once("[\"").filter(|(node, _)| !node.contains(' ')) {
            let text = label(rest.strip_suffix("\"]").unwrap());
            assert!(drawing.nodes.insert(id(node), (text, false)).is_none());
        } else {
            let (ends, target) = line.rsplit_once("\"| ").unwrap();
            let (source, text) = ends.split_once("|\"").unwrap();
            let (source, arrow) = source.split_once(' ').unwrap();
            assert!(["-->", "---"].contains(&arrow), "{line}");
            drawing.edges.push((id(source), id(target), label(text), arrow == "-->"));
        }
    }
    drawing
}

/// What both languages draw alike.
#[track_caller]
fn drawn<'w>(world: &'w World, select: impl Fn(PairDrawing<'w>) -> PairDrawing<'w>) -> Drawing {
    let (one, other) = (select(dot(world)).to_string(), select(mermaid(world)).to_string());
    assert_eq!(one, select(dot(world)).to_string());
    let drawing = read_dot(&one);
    assert_eq!(read_mermaid(&other), drawing, "{one}\n{other}");
    drawing
}

fn named(world: &mut World, name: &str) -> Entity {
    world.spawn(Name::new(name.to_owned())).id()
}

fn edge(source: Entity, label: &str, target: Entity) -> (String, String, String, bool) {
    (source.to_string(), target.to_string(), label.to_owned(), true)
}

fn nodes(drawing: &Drawing) -> Vec<&str> {
    drawing.nodes.values().map(|(label, _)| label.as_str()).collect()
}

#[test]
fn every_relation_is_drawn_in_order() {
    let mut world = World::new();
    let [alice, bob, carl] = ["Alice", "Bob", "Carl"].map(|name| named(&mut world, name));
    world.insert_pair(bob, Likes, carl).unwrap();
    world.insert_pair(bob, Likes, alice).unwrap();
    world.insert_pair(alice, Likes, bob).unwrap();
    world.entity_mut(carl).insert(ChildOf(bob));
    let drawing = drawn(&world, |drawing| drawing);
    let expected = [
        edge(carl, "ChildOf", bob),
        edge(alice, "Likes", bob),
        edge(bob, "Likes", carl),
        edge(bob, "Likes", alice),
    ];
    let mut found = drawing.edges;
    found.sort_by_key(|edge| edge.2.clone());
    assert_eq!(found, expected);
    assert_eq!(drawing.nodes[&alice.to_string()], (format!("Alice ({alice})"), false));
    let drawing = drawn(&world, PairDrawing::relation::<Likes>);
    assert_eq!(drawing.edges, expected[1..]);
}

#[test]
fn a_symmetric_pair_is_drawn_once_without_a_direction() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    world.insert_pair(c, Knows, a).unwrap();
    world.insert_pair(b, Knows, c).unwrap();
    world.insert_pair(b, Knows, b).unwrap();
    let drawing = drawn(&world, |drawing| drawing);
    let line = |one: Entity, other: Entity| (one.to_string(), other.to_string(), "Knows".to_owned(), false);
    assert_eq!(drawing.edges, [line(a, c), line(b, c), line(b, b)]);
    let drawing = drawn(&world, |drawing| drawing.entities([c, b]));
    assert_eq!(drawing.edges, [line(b, c), line(b, b)]);
}

#[test]
fn only_pairs_between_selected_entities_are_drawn() {
    let mut world = World::new();
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| named(&mut world, name));
    for (source, target) in [(a, b), (b, c), (c, a), (a, a)] {
        world.insert_pair(source, Likes, target).unwrap();
    }
    let drawing = drawn(&world, |drawing| drawing.entities([d, b]).entities([a, a]));
    assert_eq!(drawing.edges, [edge(a, "Likes", b), edge(a, "Likes", a)]);
    assert_eq!(nodes(&drawing), [format!("a ({a})"), format!("b ({b})"), format!("d ({d})")]);
    let drawing = drawn(&world, |drawing| drawing.entities([]));
    assert_eq!((drawing.edges.len(), drawing.nodes.len()), (0, 0));
}

#[test]
fn what_is_dead_or_no_relation_is_reported() {
    let mut world = World::new();
    let [a, b, dead, stone] = ["a", "b", "dead", "stone\nof // Rome"].map(|name| named(&mut world, name));
    let [gone] = spawn(&mut world);
    world.insert_pair_by_id(a, (gone, b)).unwrap();
    world.insert_pair(a, Likes, dead).unwrap();
    world.despawn(dead);
    world.despawn(gone);
    let drawing = drawn(&world, |drawing| {
        drawing
            .relation_by_id(gone)
            .relation_by_id(stone)
            .relation::<Likes>()
            .relation::<Knows>()
            .entities([a, dead])
    });
    assert_eq!(
        drawing.comments,
        [format!("{gone} is not alive: no relation"), format!("stone of // Rome ({stone}) is no relation")]
    );
    assert_eq!(drawing.nodes[&dead.to_string()], (format!("{dead} is not alive"), true));
    assert_eq!(drawing.edges, []);
}

#[test]
fn names_are_written_so_that_they_can_be_read() {
    let mut world = World::new();
    let hostile = [
        "say \"hi\"",
        "back\\slash",
        "\\\"",
        "two\nlines",
        "\r\ttabs",
        "<b>bold</b>",
        "a & b; c",
        "#35; #quot;",
        "`code`",
        "日本 é 🚀",
        "",
        " ",
        "]; x -> y [",
        "\"] --> e1",
        "|pipe|",
        "{brace}",
        "// no comment",
        "%% none",
        "%%{init: {'theme': 'dark'}}%%",
        "*both* __ways__",
        "~~struck~~",
        "1. first",
        "2) second",
        "- item",
        "snake_case",
        "\u{202e}",
        "end",
    ];
    let entities = hostile.map(|name| named(&mut world, name));
    for (nth, name) in hostile.into_iter().enumerate() {
        let relation = world.spawn_relation(name, RelationTraits::new()).unwrap();
        world.insert_pair_by_id(entities[nth], (relation, entities[(nth + 1) % entities.len()])).unwrap();
    }
    let drawing = drawn(&world, |drawing| drawing);
    assert_eq!((drawing.nodes.len(), drawing.edges.len()), (hostile.len(), hostile.len()));
    let plain = |text: &str| {
        text.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect::<String>()
    };
    // What Mermaid would read as something else than a label.
    let text = mermaid(&world).to_string();
    for marker in ["%%{", "*", "__", "~~", "\"1.", "\"2)", "\"-"] {
        assert!(!text.contains(marker), "{marker}: {text}");
    }
    assert!(text.contains("snake_case"));
    for (entity, name) in entities.into_iter().zip(hostile) {
        assert_eq!(drawing.nodes[&entity.to_string()].0, format!("{} ({entity})", plain(name)));
        let source = entity.to_string();
        let edge = drawing.edges.iter().find(|edge| edge.0 == source).unwrap();
        assert_eq!(edge.2, plain(name));
    }
}

#[test]
fn a_limit_leaves_pairs_out_and_says_so() {
    let mut world = World::new();
    let all: [Entity; 10] = spawn(&mut world);
    for pair in all.windows(2) {
        world.insert_pair(pair[0], Likes, pair[1]).unwrap();
    }
    let drawing = drawn(&world, |drawing| drawing.limit(4));
    assert_eq!((drawing.edges.len(), drawing.nodes.len()), (4, 5));
    assert_eq!(drawing.comments, ["5 more pairs are left out"]);
    assert_eq!(drawn(&world, |drawing| drawing.limit(0)).nodes.len(), 0);
    assert_eq!(drawn(&world, |drawing| drawing.limit(9)).comments, [""; 0]);
}

#[test]
fn a_world_without_pairs_is_an_empty_drawing() {
    let mut world = World::new();
    assert_eq!(dot(&world).to_string(), "digraph pairs {\n}\n");
    assert_eq!(mermaid(&world).relation::<Likes>().to_string(), "flowchart LR\n");
    let [a] = spawn(&mut world);
    let drawing = drawn(&world, |drawing| drawing.entities([a]).relation_by_id(a));
    assert_eq!((nodes(&drawing), drawing.edges.len()), (vec![a.to_string().as_str()], 0));
    // Another world knows nothing of these.
    let mut other = World::new();
    other.spawn_empty();
    assert_eq!(drawn(&other, PairDrawing::relation::<Likes>), Drawing::default());
}

#[test]
fn a_random_graph_is_drawn_whole() {
    for seed in 1..=fewer(30) as u64 {
        let mut random = Random(seed * 7919);
        let mut world = World::new();
        let all: [Entity; 12] = spawn(&mut world);
        let traits =
            [RelationTraits::new(), RelationTraits::new().exclusive(), RelationTraits::new().symmetric()];
        let relations = traits.map(|traits| world.spawn_relation("r", traits).unwrap());
        for _ in 0..60 {
            let [relation, source, target] = [random.pick(&relations), random.pick(&all), random.pick(&all)];
            match random.below(4) {
                0 => _ = world.remove_pairs_by_id(source, (relation, target)),
                _ => world.insert_pair_by_id(source, (relation, target)).unwrap(),
            }
        }
        world.despawn(random.pick(&all));
        let drawing = drawn(&world, |drawing| drawing);
        let mut expected: Vec<_> = world.any_pairs().iter().collect();
        // The two directions of a pair are one line.
        expected.retain(|&(source, relation, target)| {
            relation != relations[2] || source.index() <= target.index()
        });
        let mut expected: Vec<_> = expected
            .into_iter()
            .map(|(source, _, target)| (source.to_string(), target.to_string()))
            .collect();
        let mut found: Vec<_> = drawing.edges.into_iter().map(|edge| (edge.0, edge.1)).collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected);
    }
}

mod values {
    use super::*;
    use bevy_ecs::reflect::AppTypeRegistry;
    use bevy_reflect::Reflect;
    use bevy_relations::relation::ReflectedData;

    #[derive(Relation, Reflect)]
    struct Eats {
        grams: u32,
        how: Option<String>,
    }

    #[derive(Relation, Reflect, Debug)]
    #[reflect(Debug)]
    struct Owes(u32);

    #[derive(Relation)]
    struct Hides(#[expect(dead_code, reason = "a value that is not registered")] u32);

    #[derive(Component, Reflect)]
    struct Position {
        x: f32,
    }

    #[derive(Component)]
    #[relationship(relationship_target = Crew)]
    struct CrewOf(Entity);

    #[derive(Component)]
    #[relationship_target(relationship = CrewOf)]
    struct Crew(Vec<Entity>);

    #[test]
    fn values_are_written_behind_the_relation() {
        let mut world = World::new();
        world.init_resource::<AppTypeRegistry>();
        {
            let mut types = world.resource::<AppTypeRegistry>().write();
            types.register::<Eats>();
            types.register::<Owes>();
            types.register::<Position>();
        }
        let [a, b] = spawn(&mut world);
        world.insert_pair(a, Eats { grams: 3, how: Some("\"raw\"".into()) }, b).unwrap();
        world.insert_pair(a, Owes(7), b).unwrap();
        world.insert_pair(a, Hides(1), b).unwrap();
        world.insert_relationship(b, CrewOf(a)).unwrap();
        let begin = world.spawn_relation("begin", RelationTraits::new()).unwrap();
        let position = world.entity_of::<Position>();
        world.insert_pair_value_by_id(a, (begin, position), Position { x: 1.5 }).unwrap();
        let data = world.spawn_relation("data", RelationTraits::new().reflected_data()).unwrap();
        world.insert_pair_value_by_id(a, (data, b), ReflectedData(Box::new(5_u8))).unwrap();
        let drawing = drawn(&world, |drawing| drawing.entities([a, b, position]));
        let mut labels: Vec<_> = drawing.edges.iter().map(|edge| edge.2.as_str()).collect();
        labels.sort_unstable();
        let eats = r#"Eats { grams: 3, how: Some("\"raw\"") }"#;
        assert_eq!(labels, ["CrewOf", eats, "Hides", "Owes(7)", "begin: Position { x: 1.5 }", "data: 5"]);
        assert_eq!(drawing.nodes[&position.to_string()].0, "Position");
        let drawing = drawn(&world, |drawing| drawing.relation::<Eats>().without_values());
        assert_eq!(drawing.edges, [edge(a, "Eats", b)]);
    }
}
