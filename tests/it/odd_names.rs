//! Names with characters that mean something elsewhere: empty ones, dots, `$`, quotes, backslashes, letters of all scripts. Expressions
//! find them, insertions spawn them, saves and mirrors bring them back.

use crate::common::{Random, fewer, take_reported_errors, world_that_records_errors};
use bevy_ecs::{prelude::*, reflect::AppTypeRegistry};
use bevy_relations::{
    expr::{PairExpr, RowSerializer, UnknownNames, WorldExprExt},
    mirror::*,
    prelude::*,
    snapshot::*,
};
use serde::de::DeserializeSeed;

const NAMES: [&str; 40] = [
    "", " ", ".", "..", "a.b", "a", "b", "$x", "$", "$this", "this", "\"", "\"q\"", "'", "\\", "\\.", "a\\",
    "(a, b)", ",", "|", "||", "!a", "?", "*", "_", "#12", "1", "1a", "a b", "a\nb", "a//b", "/*", "é",
    "日本", "🚀", "up", "or", "~=", "a::b", "a<b>",
];

/// How the name is written in an expression: each character stands behind a backslash, so that it is neither a word of the language nor
/// an operator.
fn escaped(name: &str) -> String {
    name.chars().flat_map(|c| ['\\', c]).collect()
}

fn world() -> World {
    let mut world = world_that_records_errors();
    world.init_resource::<AppTypeRegistry>();
    world
}

#[test]
fn expressions_find_what_is_called_so_and_nothing_else() {
    let mut world = world();
    let relation = world.spawn_relation("likes", RelationTraits::new()).unwrap();
    let all = NAMES.map(|name| world.spawn(Name::new(name)).id());
    for &entity in &all {
        world.insert_pair_by_id(entity, (relation, entity)).unwrap();
    }
    for (name, entity) in NAMES.into_iter().zip(all) {
        let path = world.path_of(entity).unwrap();
        assert_eq!(world.lookup_unique(&path), Ok(entity), "{name:?}");
        // In a text between quotes it is a path.
        let quoted: String = path
            .chars()
            .flat_map(|c| ['\\', c].into_iter().skip(usize::from(!matches!(c, '"' | '\\'))))
            .collect();
        let mut texts = vec![format!("(likes, $x), $x == \"{quoted}\"")];
        if !name.is_empty() {
            texts.push(format!("(likes, {})", escaped(name)));
            texts.push(format!("likes({}, $x)", escaped(name)));
        }
        for text in texts {
            let parsed = PairExpr::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            // What it says of itself means the same.
            let again =
                PairExpr::parse(parsed.to_string()).unwrap_or_else(|error| panic!("{parsed}: {error}"));
            for expr in [parsed, again] {
                let mut compiled = expr.compile(&mut world).unwrap_or_else(|error| panic!("{text}: {error}"));
                let mut found = Vec::new();
                compiled.for_each(&world, |row| found.push(row.this().or(row.var("x")))).unwrap();
                assert_eq!(found, [Some(entity)], "{name:?}: {text}");
            }
        }
    }
}

#[test]
fn rows_as_json_name_entities_by_paths_that_lead_to_them() {
    let mut world = world();
    let relation = world.spawn_relation("likes", RelationTraits::new()).unwrap();
    let parent = world.spawn(Name::new("parent . \" of")).id();
    for (nth, name) in NAMES.into_iter().enumerate() {
        let mut entity = world.spawn(Name::new(name));
        if nth % 2 == 0 {
            entity.insert(ChildOf(parent));
        }
        let entity = entity.id();
        world.insert_pair_by_id(entity, (relation, entity)).unwrap();
    }
    let mut expr = PairExpr::parse("(likes, $x)").unwrap().compile(&mut world).unwrap();
    let types = world.resource::<AppTypeRegistry>().clone();
    let mut rows = 0;
    expr.for_each(&world, |row| {
        let text = serde_json::to_string(&RowSerializer::new(row, &types.read())).unwrap();
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        let this = row.this().unwrap();
        let named = read["this"].as_str().unwrap();
        assert_eq!(read["vars"]["x"], named, "{text}");
        match named.strip_prefix('#') {
            // What has no path that leads to it.
            Some(bits) => {
                assert_eq!(bits.parse(), Ok(this.to_bits()), "{text}");
                assert!(world.get::<Name>(this).unwrap().is_empty(), "{text}");
            }
            None => assert_eq!(world.lookup(named), Ok(this), "{text}"),
        }
        rows += 1;
    })
    .unwrap();
    assert_eq!(rows, NAMES.len());
}

#[test]
fn an_insertion_spawns_what_is_called_so_once() {
    for name in NAMES.into_iter().filter(|name| !name.is_empty()) {
        let mut world = world();
        let a = world.spawn_empty().id();
        let text = format!("({0}, {0}), ({0}, {0}.{0})", escaped(name));
        if name.contains(['<', ':']) {
            // It reads as a type.
            world.insert_expr_with(a, &text, UnknownNames::Spawn).unwrap_err();
            continue;
        }
        for _ in 0..2 {
            world
                .insert_expr_with(a, &text, UnknownNames::Spawn)
                .unwrap_or_else(|error| panic!("{text}: {error}"));
        }
        let [(relation, target), (_, below)] = world.pairs_of(a)[..] else { panic!("{text}") };
        assert_eq!(relation, target, "{text}");
        assert_eq!(world.get::<ChildOf>(below).map(ChildOf::parent), Some(target), "{text}");
        for entity in [target, below] {
            assert_eq!(world.get::<Name>(entity).map(Name::as_str), Some(name), "{text}");
        }
        world.check_pairs().unwrap();
        assert_eq!(take_reported_errors(), [""; 0]);
    }
}

/// A world with some relations and entities, the same in each call with the same numbers.
fn build(names: [usize; 6]) -> (World, Vec<Entity>, Vec<Entity>) {
    let mut world = world();
    let relations =
        names[..3].iter().map(|&name| world.spawn_relation(NAMES[name], RelationTraits::new()).unwrap());
    let relations = relations.collect();
    let entities = names[3..].iter().enumerate().map(|(id, &name)| {
        let id = SaveId(id as u64);
        world.spawn((id, Name::new(NAMES[name]))).id()
    });
    let entities = entities.collect();
    (world, relations, entities)
}

/// The pairs by the numbers of their elements.
fn pairs(world: &World, relations: &[Entity], entities: &[Entity]) -> Vec<[usize; 3]> {
    let mut all = Vec::new();
    for (s, &source) in entities.iter().enumerate() {
        for (r, &relation) in relations.iter().enumerate() {
            for target in world.pairs_by_id(relation).targets(source) {
                let t = entities.iter().position(|&entity| entity == target);
                all.push([
                    s,
                    r,
                    t.unwrap_or_else(|| 10 + relations.iter().position(|&r| r == target).unwrap()),
                ]);
            }
        }
    }
    all
}

#[test]
fn saves_and_mirrors_find_relations_that_are_called_so() {
    let mut loaded = 0;
    for seed in 1..=fewer(300) as u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let names = core::array::from_fn(|_| random.below(NAMES.len()));
        let (mut world, relations, entities) = build(names);
        for _ in 0..6 {
            let (relation, source) = (random.pick(&relations), random.pick(&entities));
            let target = if random.below(5) == 0 { random.pick(&relations) } else { random.pick(&entities) };
            world.insert_pair_by_id(source, (relation, target)).unwrap();
        }
        let before = pairs(&world, &relations, &entities);
        let of = &names[..3];
        let is_clear = of[0] != of[1] && of[1] != of[2] && of[0] != of[2] && !of.contains(&0);

        // Saves.
        let saved = PairSnapshot::take(&mut world, PairFilter::all()).unwrap().to_saved(&world);
        match saved {
            Err(SaveError::Unnamed { .. } | SaveError::Ambiguous { .. }) => assert!(!is_clear, "{seed}"),
            Err(error) => panic!("{seed}: {error}"),
            Ok(saved) => {
                let types = world.resource::<AppTypeRegistry>().clone();
                let types = types.read();
                let writer = SavedPairsSerializer::new(&saved, &types);
                let json = serde_json::to_string(&writer).unwrap();
                let ron = ron::to_string(&writer).unwrap();
                let reader = SavedPairsDeserializer::new(&types);
                let from_json = reader.deserialize(&mut serde_json::Deserializer::from_str(&json)).unwrap();
                let reader = SavedPairsDeserializer::new(&types);
                let from_ron = reader.deserialize(&mut ron::Deserializer::from_str(&ron).unwrap()).unwrap();
                for saved in [from_json, from_ron] {
                    let (mut other, relations, entities) = build(names);
                    match saved.load(&mut other) {
                        Ok(_) => {
                            assert_eq!(pairs(&other, &relations, &entities), before, "{seed}: {ron}");
                            loaded += 1;
                        }
                        Err(error) => assert!(!is_clear, "{seed}: {error}"),
                    }
                    other.check_pairs().unwrap();
                }
            }
        }

        // Mirrors, in another world, by the names of the relations.
        world.mirror_runtime_pairs();
        let (mut other, there, others) = build(names);
        other.mirror_runtime_pairs();
        let nowhere = other.spawn_empty().id();
        other.despawn(nowhere);
        let mut is_known = true;
        for (number, &source) in entities.iter().enumerate() {
            let Some(component) = world.get::<RuntimeMirroredPairs>(source) else { continue };
            let component = component.pairs.iter().filter_map(|pair| {
                let target = pair.target.entity().unwrap();
                let Some(at) = entities.iter().position(|&entity| entity == target) else {
                    is_known = false;
                    return None;
                };
                let relation = RuntimeRelation { entity: nowhere, name: pair.relation.name.clone() };
                Some(RuntimeMirroredPair::new(relation, others[at]))
            });
            let component = RuntimeMirroredPairs::from_iter(component.collect::<Vec<_>>());
            other.entity_mut(others[number]).insert(component);
        }
        other.maintain_pairs();
        other.check_pairs().unwrap();
        let errors = take_reported_errors();
        if is_clear && is_known {
            assert_eq!(errors, [""; 0], "{seed}");
            assert_eq!(pairs(&other, &there, &others), before, "{seed}");
        }
    }
    assert!(loaded > 20 || fewer(300) < 300, "{loaded}");
}
