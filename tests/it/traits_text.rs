//! Relation traits as text: read, written, by serde and by reflection.

use crate::common::size;
use bevy_ecs::prelude::*;
use bevy_relations::{
    error::{InsertPairError, ParseTraitsError},
    prelude::*,
    relation::{OnInstantiate, RelationStorage},
};

fn read(text: &str) -> RelationTraits {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn message(text: &str) -> String {
    text.parse::<RelationTraits>().expect_err(text).to_string()
}

#[derive(Relation)]
#[relation(exclusive, traversable, reflexive, tag, final, ordered, transient, on_instantiate = DontInherit)]
#[relation(on_relation_despawn = Refuse, on_target_despawn = Despawn)]
struct Many;

#[derive(Relation)]
#[relation(union, symmetric, one_of, on_instantiate = Inherit, on_target_despawn = Refuse)]
struct Others;

#[derive(Relation)]
#[relation(transitive, on_relation_despawn = Remove, storage = "Table")]
struct Few;

#[derive(Relation)]
#[relation(acyclic, with = Few)]
struct WithFew;

#[test]
fn a_word_of_many_megabytes_is_refused_at_once() {
    let word = "a".repeat(size(10 << 20, 1 << 10));
    let start = std::time::Instant::now();
    assert!(message(&word).contains('…'));
    assert!(word.parse::<CleanupPolicy>().is_err());
    assert!(PairExpr::parse(format!("Ship|{word}")).is_err());
    // To count the edits that make it one of the known words took more than a minute.
    assert!(start.elapsed().as_secs() < 20);
}

#[test]
fn the_words_of_the_attribute_mean_the_same_as_text() {
    let many = "exclusive, traversable, reflexive, tag, final, ordered, transient, on_instantiate = DontInherit, \
                on_relation_despawn = Refuse, on_target_despawn = Despawn";
    assert_eq!(read(many), Many::traits());
    let others = "union, symmetric, one_of, on_instantiate=Inherit,\n\ton_target_despawn =Refuse,\n";
    assert_eq!(read(others), Others::traits());
    assert_eq!(read("transitive,on_relation_despawn = Remove, storage = \"Table\""), Few::traits());
    assert_eq!(read("acyclic").with::<Few>(), WithFew::traits());
    assert_eq!(read("inheritable"), RelationTraits::new().inheritable());
    for nothing in ["", "  ", "\n"] {
        assert_eq!(read(nothing), RelationTraits::new());
    }
}

#[test]
fn traits_are_read_as_they_were_written() {
    let flags: [fn(RelationTraits) -> RelationTraits; 13] = [
        RelationTraits::exclusive,
        RelationTraits::union,
        RelationTraits::symmetric,
        RelationTraits::transitive,
        RelationTraits::reflexive,
        RelationTraits::acyclic,
        RelationTraits::traversable,
        RelationTraits::tag,
        RelationTraits::is_final,
        RelationTraits::ordered,
        RelationTraits::transient,
        RelationTraits::inheritable,
        RelationTraits::one_of,
    ];
    let policies =
        [None, Some(CleanupPolicy::Remove), Some(CleanupPolicy::Despawn), Some(CleanupPolicy::Refuse)];
    let rules =
        [None, Some(OnInstantiate::Override), Some(OnInstantiate::Inherit), Some(OnInstantiate::DontInherit)];
    let mut contradictions = 0;
    for set in 0..1_usize << flags.len() {
        let chosen = flags.iter().enumerate().filter(|(bit, _)| set >> bit & 1 == 1);
        let mut traits = chosen.fold(RelationTraits::new(), |traits, (_, flag)| flag(traits));
        if let Some(policy) = policies[set % 4] {
            traits = traits.on_target_despawn(policy);
        }
        if let Some(policy) = policies[set / 5 % 4] {
            traits = traits.on_relation_despawn(policy);
        }
        if let Some(rule) = rules[set / 3 % 4] {
            traits = traits.on_instantiate(rule);
        }
        match traits.to_string().parse::<RelationTraits>() {
            Ok(read) => assert_eq!(read, traits),
            Err(ParseTraitsError::Conflict(_)) => contradictions += 1,
            Err(error) => panic!("{traits}: {error}"),
        }
    }
    assert!(contradictions > 0 && contradictions < 1 << flags.len());
    assert_eq!(
        Many::traits().to_string(),
        "exclusive, reflexive, acyclic, traversable, tag, final, ordered, transient, on_instantiate = DontInherit, \
         on_relation_despawn = Refuse, on_target_despawn = Despawn"
    );
}

#[test]
fn an_error_names_the_trait_and_the_word_that_offends() {
    let texts = [
        ("exclusive, exlusive", "`exlusive` is no relation trait; did you mean `exclusive`?"),
        (
            "OnTargetDespawn = Despawn",
            "`OnTargetDespawn` is no relation trait; did you mean `on_target_despawn`?",
        ),
        ("fast", "`fast` is no relation trait"),
        ("exclusive symmetric", "a comma is missing between `exclusive` and `symmetric`"),
        ("acyclic on_last_source = Despawn", "a comma is missing between `acyclic` and `on_last_source`"),
        (
            "on_target_despawn = Despawn  tag",
            "a comma is missing between `on_target_despawn = Despawn` and `tag`",
        ),
        ("very fast", "`very fast` is no relation trait"),
        ("exclusive,, tag", "a relation trait is missing before `,`"),
        (",", "a relation trait is missing before `,`"),
        (
            "on_target_despawn = Despwan",
            "`Despwan` is no value of `on_target_despawn`, which is one of `Remove`, `Despawn`, `Refuse`; did you mean `Despawn`?",
        ),
        (
            "on_instantiate = Despawn",
            "`Despawn` is no value of `on_instantiate`, which is one of `Override`, `Inherit`, `DontInherit`",
        ),
        ("on_relation_despawn", "`on_relation_despawn` needs a value: one of `Remove`, `Despawn`, `Refuse`"),
        ("exclusive = yes", "`exclusive` takes no value, but `yes` was given"),
        ("exclusive =", "`exclusive` takes no value, but `` was given"),
        ("tag, exclusive, tag", "`tag` is given twice"),
        ("on_target_despawn = Remove, on_target_despawn = Despawn", "`on_target_despawn` is given twice"),
        (
            "tag, with = Few",
            "`with` cannot be read from text, since `with = Few` names a type, an entity or a function: call `RelationTraits::with_id`",
        ),
        (
            "with(Few, Many)",
            "`with` cannot be read from text, since `with(Few` names a type, an entity or a function: call `RelationTraits::with_id`",
        ),
        (
            "one_of = Few",
            "`one_of` cannot be read from text, since `one_of = Few` names a type, an entity or a function: call `RelationTraits::one_of_id`",
        ),
        (
            "data = u32",
            "`data` cannot be read from text, since `data = u32` names a type, an entity or a function: call `RelationTraits::data`",
        ),
        (
            "validate = check",
            "`validate` cannot be read from text, since `validate = check` names a type, an entity or a function: only a \
             relation type has it",
        ),
        (
            "component",
            "`component` cannot be read from text, since `component` names a type, an entity or a function: only a relation \
             type has it",
        ),
        ("symmetric, transitive", "`symmetric` contradicts `transitive`"),
        ("final, inheritable", "`final` contradicts `inheritable`"),
    ];
    for (text, expected) in texts {
        assert_eq!(message(text), expected, "{text}");
    }
    // Hostile text is not repeated whole.
    for text in ["x".repeat(100_000), format!("on_target_despawn = {}", "x".repeat(100_000))] {
        assert!(message(&text).len() < 200, "{}", message(&text));
    }
}

#[test]
fn no_text_is_read_with_a_panic() {
    let words = [
        "exclusive",
        "on_target_despawn",
        "=",
        "Despawn",
        ",",
        " ",
        "with",
        "(",
        ")",
        "\u{e9}",
        "one_of",
        "==",
    ];
    let mut random = crate::common::Random(3);
    for _ in 0..crate::common::fewer(3000) {
        let text: String = (0..random.below(7)).map(|_| words[random.below(words.len())]).collect();
        if let Ok(traits) = text.parse::<RelationTraits>() {
            assert_eq!(read(&traits.to_string()), traits, "{text}");
        }
    }
}

#[test]
fn what_names_something_of_the_program_is_written_by_its_name() {
    let mut world = World::new();
    let parent = world.spawn_empty().id();
    let traits = WithFew::traits().with_id(parent).one_of_id(parent).data::<u32>();
    assert_eq!(traits.to_string(), format!("acyclic, one_of = {parent}, with(Few, {parent}), data = u32"));
}

#[test]
fn a_relation_made_from_text_follows_its_rules() {
    let mut world = World::new();
    let part_of = world.spawn_relation("PartOf", read("traversable, on_target_despawn = Despawn")).unwrap();
    let [a, b] = [(); 2].map(|()| world.spawn_empty().id());
    world.insert_pair_by_id(a, (part_of, b)).unwrap();
    assert!(matches!(world.insert_pair_by_id(b, (part_of, a)), Err(InsertPairError::Cycle { .. })));
    world.despawn(b);
    assert!(world.get_entity(a).is_err());
    assert_eq!(
        world.traits_of(part_of).unwrap().to_string(),
        "acyclic, traversable, on_target_despawn = Despawn"
    );
    world.check_pairs().unwrap();
}

#[test]
fn serde_reads_and_writes_traits_as_text() {
    use std::collections::BTreeMap;

    let file = r#"{ "Likes": "symmetric", "PartOf": "traversable, on_target_despawn = Despawn" }"#;
    let relations: BTreeMap<String, RelationTraits> = serde_json::from_str(file).unwrap();
    assert_eq!(relations["Likes"], RelationTraits::new().symmetric());
    let written = serde_json::to_string(&relations).unwrap();
    assert_eq!(
        written,
        r#"{"Likes":"symmetric","PartOf":"acyclic, traversable, on_target_despawn = Despawn"}"#
    );
    assert_eq!(serde_json::from_str::<BTreeMap<String, RelationTraits>>(&written).unwrap(), relations);
    let error = serde_json::from_str::<RelationTraits>(r#""symetric""#).unwrap_err().to_string();
    assert!(error.contains("`symetric` is no relation trait; did you mean `symmetric`?"), "{error}");
    let error = serde_json::from_str::<RelationTraits>("3").unwrap_err().to_string();
    assert!(error.contains("expected relation traits, like"), "{error}");
    for traits in [WithFew::traits(), RelationTraits::new().data::<u32>()] {
        let error = serde_json::to_string(&traits).unwrap_err().to_string();
        assert!(error.contains("names something of the program"), "{error}");
    }
}

#[test]
fn traits_are_reflected_and_read_and_written() {
    use bevy_app::App;
    use bevy_ecs::reflect::AppTypeRegistry;
    use bevy_reflect::{
        FromReflect,
        serde::{TypedReflectDeserializer, TypedReflectSerializer},
    };
    use serde::de::DeserializeSeed;

    let mut app = App::new();
    app.add_plugins(RelationsPlugin);
    let types = app.world().resource::<AppTypeRegistry>().read();
    let registration = types.get(core::any::TypeId::of::<RelationTraits>()).unwrap();
    let traits = Many::traits();
    let json = serde_json::to_string(&TypedReflectSerializer::new(&traits, &types)).unwrap();
    let mut reader = serde_json::Deserializer::from_str(&json);
    let read = TypedReflectDeserializer::new(registration, &types).deserialize(&mut reader).unwrap();
    assert_eq!(read.reflect_partial_eq(&traits), Some(true));
    assert_eq!(RelationTraits::from_reflect(&*read), Some(traits));
}

#[test]
fn a_word_of_flecs_is_answered_with_that_of_here() {
    assert_eq!(
        message("on_target_despawn = Delete"),
        "`Delete` is no value of `on_target_despawn`, which is one of `Remove`, `Despawn`, `Refuse`; did you mean `Despawn`?"
    );
    assert!(message("on_relation_despawn = Panic").ends_with("did you mean `Refuse`?"));
}

#[test]
fn policies_and_storages_are_read_from_their_names() {
    for policy in [CleanupPolicy::Remove, CleanupPolicy::Despawn, CleanupPolicy::Refuse] {
        assert_eq!(format!("{policy:?}").parse(), Ok(policy));
    }
    for storage in [RelationStorage::Store, RelationStorage::Table, RelationStorage::Fragmenting] {
        assert_eq!(format!("{storage:?}").parse(), Ok(storage));
    }
    let error = "Delete".parse::<CleanupPolicy>().unwrap_err();
    let text = "`Delete` is no value of `CleanupPolicy`, which is one of `Remove`, `Despawn`, `Refuse`; did you mean `Despawn`?";
    assert_eq!(error.to_string(), text);
    assert!("Tables".parse::<RelationStorage>().unwrap_err().to_string().ends_with("did you mean `Table`?"));
}
