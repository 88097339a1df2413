//! Pairs that have no value in a save, of relations that have values: written by hand, or before the relation had fields. What such a
//! save says does not depend on what the world has. And errors in a save name their place once.

use crate::{
    common::refused,
    snapshots_saves::{from_json, from_ron},
};
use bevy_ecs::{prelude::*, reflect::AppTypeRegistry};
use bevy_reflect::{Reflect, TypePath};
use bevy_relations::{error::InsertPairError, prelude::*, snapshot::*};

#[derive(Relation, Reflect, Clone, PartialEq, Debug, Default)]
struct Weighs(u32);

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(key = u8)]
struct Wears(u8);

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
struct Owes(u32);

#[derive(Relation, Reflect, Clone, PartialEq, Debug, Default)]
#[relation(symmetric)]
struct Knows(u32);

#[derive(Relation, Reflect, Clone, PartialEq, Debug, Default)]
#[relation(key = u8)]
struct Fits(u8);

fn world() -> (World, [Entity; 2]) {
    let mut world = World::new();
    world.init_resource::<AppTypeRegistry>();
    {
        let mut types = world.resource::<AppTypeRegistry>().write();
        types.register::<Weighs>();
        types.register::<Wears>();
        types.register::<Owes>();
        types.register::<Knows>();
        types.register::<Fits>();
    }
    world.register_relation::<Fits>().unwrap();
    world.register_relation::<Weighs>().unwrap();
    world.register_relation::<Wears>().unwrap();
    world.register_relation::<Owes>().unwrap();
    world.register_relation::<Knows>().unwrap();
    let ends = [0, 1].map(|id| world.spawn(SaveId(id)).id());
    (world, ends)
}

fn save(relation: &str, pairs: &str) -> String {
    format!(
        "(format: 1, version: 0, all_relations: false, sources: None, \
         entities: [Entity(id: 0, name: None), Entity(id: 1, name: None)], \
         relations: [(name: \"{relation}\", pairs: [{pairs}], orders: [])])"
    )
}

#[track_caller]
fn load(world: &mut World, relation: &str, pairs: &str) -> Result<LoadedPairs, LoadError> {
    from_ron(world, &save(relation, pairs)).unwrap().load(world)
}

#[test]
fn a_pair_that_needs_a_value_is_refused_without_one_also_if_it_is_there() {
    let (mut world, [a, b]) = world();
    for is_there in [false, true] {
        if is_there {
            world.insert_pair(a, Wears(3), b).unwrap();
            world.insert_pair(a, Owes(3), b).unwrap();
        }
        for relation in ["Wears", "Owes"] {
            let error = refused(&mut world, |world| load(world, relation, "(0, 1, None)"));
            let LoadError::Refused { place: Some(place), error } = error else { panic!("{error}") };
            assert_eq!((&*place.relation, place.entry, place.field), (relation, 0, "value"));
            assert!(matches!(*error, InsertPairError::MissingValue { .. }), "{error}");
        }
    }
    assert_eq!(world.pair_value::<Wears>(a, b), Some(&Wears(3)));
    world.check_pairs().unwrap();
}

#[test]
fn a_pair_without_a_value_gets_the_default_also_if_it_is_there() {
    let (mut world, [a, b]) = world();
    for before in [None, Some(3), Some(0)] {
        world.remove_pairs::<Weighs>(a);
        before.into_iter().for_each(|value| world.insert_pair(a, Weighs(value), b).unwrap());
        let applied = load(&mut world, "Weighs", "(0, 1, None)").unwrap().applied;
        let expected = [usize::from(before.is_none()), usize::from(before == Some(3)), 0];
        assert_eq!([applied.inserted, applied.replaced, applied.removed], expected);
        assert_eq!(world.pair_value::<Weighs>(a, b), Some(&Weighs(0)));
    }
    // The value of a symmetric pair stands in one direction.
    let value = format!("Some({{\"{}\": (5)}})", Knows::type_path());
    for pairs in ["(0, 1, None), (1, 0, VALUE)", "(0, 1, VALUE), (1, 0, None)", "(0, 1, VALUE)"] {
        load(&mut world, "Knows", &pairs.replace("VALUE", &value)).unwrap();
        assert_eq!(world.pair_value::<Knows>(b, a), Some(&Knows(5)));
    }
    load(&mut world, "Knows", "(0, 1, None)").unwrap();
    assert_eq!(world.pair_value::<Knows>(b, a), Some(&Knows(0)));
    world.check_pairs().unwrap();
}

/// Two pairs of a source whose keys are the same, one or both by default: as if the values stood in the save.
#[test]
fn pairs_without_values_take_the_key_of_their_default() {
    let value = format!("Some({{\"{}\": (0)}})", Fits::type_path());
    for pairs in ["(0, 0, ONE), (0, 1, ONE)", "(0, 0, TWO), (0, 1, ONE)", "(0, 1, ONE), (1, 0, ONE)"] {
        let outcomes = ["None", &value].map(|one| {
            let (mut world, [a, b]) = world();
            world.insert_pair(a, Fits(0), b).unwrap();
            world.insert_pair(a, Fits(7), a).unwrap();
            let pairs = pairs.replace("ONE", one).replace("TWO", &value);
            let before = world.pairs::<Fits>().iter().count();
            let loaded = load(&mut world, "Fits", &pairs).map_err(|error| error.to_string());
            world.check_pairs().unwrap();
            if loaded.is_err() {
                assert_eq!(world.pairs::<Fits>().iter().count(), before);
                assert_eq!(world.pair_value::<Fits>(a, a), Some(&Fits(7)));
            }
            let fits = world.pairs::<Fits>();
            let rows: Vec<_> = fits
                .iter()
                .map(|(source, target)| (source, target, fits.get(source, target).cloned()))
                .collect();
            (loaded.map(|loaded| loaded.applied), rows)
        });
        assert_eq!(format!("{:?}", outcomes[0]), format!("{:?}", outcomes[1]), "{pairs}");
    }
}

#[test]
fn an_error_in_a_text_names_its_place_once() {
    let (world, _) = world();
    for (pairs, at) in [("(0, \"x\", None)", 0), ("(0, 1, None), (0, 1)", 1)] {
        let error = from_ron(&world, &save("Owes", pairs)).unwrap_err();
        assert!(error.contains(&format!("relation `Owes`, pair {at}: ")), "{error}");
        assert!(!error.contains("relations 0"), "{error}");
    }
    // Without its name, a relation is called by its number.
    let (pairs, name) = ("\"pairs\": [[0, \"x\", null]]", "\"name\": \"Owes\"");
    let json = |fields: &str| {
        format!(
            "{{\"format\": 1, \"version\": 0, \"all_relations\": false, \"sources\": null, \"entities\": [], \
             \"relations\": [{{{fields}}}]}}"
        )
    };
    let error = from_json(&world, &json(&format!("{name}, {pairs}"))).unwrap_err();
    assert!(error.starts_with("relation `Owes`, pair 0: invalid type"), "{error}");
    let error = from_json(&world, &json(&format!("{pairs}, {name}"))).unwrap_err();
    assert!(error.starts_with("relations 0: pair 0: invalid type"), "{error}");
    let error = from_json(&world, &json(&format!("{name}, \"pairs\": [], \"orders\": 7"))).unwrap_err();
    assert!(error.starts_with("relations 0: invalid type"), "{error}");
    let error = from_json(&world, &json(&format!("{name}, \"pairs\": []"))).unwrap_err();
    assert!(error.starts_with("relations 0: missing field"), "{error}");
}
