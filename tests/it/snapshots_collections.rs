//! Maps and sets in the values of saves: reflection has no hash of most of their keys, but for those of numbers and texts.

use crate::common::spawn;
use bevy_ecs::{prelude::*, reflect::AppTypeRegistry};
use bevy_reflect::Reflect;
use bevy_relations::{prelude::*, snapshot::*};
use serde::de::DeserializeSeed;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Without `#[reflect(Hash)]`.
#[derive(Reflect, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Item {
    number: u32,
    color: Option<u8>,
}

#[derive(Relation, Reflect, Clone, PartialEq, Default, Debug)]
#[type_path = "it"]
struct Stock {
    counts: HashMap<Item, u32>,
    sorted: BTreeMap<Item, (Item, [u8; 2])>,
    tiles: HashMap<(i32, i32), ()>,
    corners: HashSet<[Item; 2]>,
    nested: HashMap<u8, HashMap<(Item,), Vec<Item>>>,
    by_name: HashMap<String, f32>,
}

fn world() -> (World, [Entity; 2]) {
    let mut world = World::new();
    world.get_resource_or_init::<AppTypeRegistry>().write().register::<Stock>();
    world.register_relation::<Stock>().unwrap();
    let [shop, town] = spawn(&mut world);
    world.entity_mut(shop).insert(SaveId(1));
    world.entity_mut(town).insert(SaveId(2));
    (world, [shop, town])
}

fn read(world: &World, json: &str) -> Result<SavedPairs, String> {
    let types = world.resource::<AppTypeRegistry>().read();
    let mut file = serde_json::Deserializer::from_str(json);
    SavedPairsDeserializer::new(&types).deserialize(&mut file).map_err(|error| error.to_string())
}

#[test]
fn keys_of_any_type_are_read_as_they_were_written() {
    let item = |number| Item { number, color: Some(3) };
    let stock = Stock {
        counts: HashMap::from([(item(1), 10), (item(2), 20)]),
        sorted: BTreeMap::from([(item(3), (item(4), [5, 6]))]),
        tiles: HashMap::from([((-1, 1), ())]),
        corners: HashSet::from([[item(7), item(8)]]),
        nested: HashMap::from([(1, HashMap::from([((item(9),), vec![item(10)])]))]),
        by_name: HashMap::from([(String::new(), -0.0)]),
    };
    let (mut world, [shop, town]) = world();
    world.insert_pair(shop, stock.clone(), town).unwrap();
    let saved = PairSnapshot::take(&mut world, PairFilter::all()).unwrap().to_saved(&world).unwrap();
    let types = world.resource::<AppTypeRegistry>().clone();
    let text = ron::to_string(&SavedPairsSerializer::new(&saved, &types.read())).unwrap();
    world.remove_pairs::<Stock>(shop);
    let mut file = ron::Deserializer::from_str(&text).unwrap();
    let saved = SavedPairsDeserializer::new(&types.read()).deserialize(&mut file).unwrap();
    saved.load(&mut world).unwrap();
    assert_eq!(world.pair_value::<Stock>(shop, town), Some(&stock));
}

#[test]
fn keys_and_values_that_are_wrong_or_incomplete_are_refused_with_their_place() {
    let (world, _) = world();
    let all = r#""counts":{},"sorted":{},"tiles":{},"corners":[],"nested":{},"by_name":{}"#;
    let save = |from: &str, to: &str| {
        let value = all.replace(from, to);
        format!(
            r#"{{"format":1,"version":0,"all_relations":false,"entities":[{{"Entity":{{"id":1,"name":null}}}},{{"Entity":{{"id":2,"name":null}}}}],
            "sources":null,"relations":[{{"name":"Stock","pairs":[[0,1,{{"it::Stock":{{{value}}}}}]],"orders":[]}}]}}"#
        )
    };
    assert!(read(&world, &save("", "")).is_ok());
    let corners = r#""corners":[[{"number":1,"color":null},{"number":2,"color":null}]]"#;
    assert!(read(&world, &save(r#""corners":[]"#, corners)).is_ok());
    for (from, to, expected) in [
        (r#""corners":[]"#, r#""corners":[[{"number":1,"color":2},{"color":2}]]"#, "no complete `["),
        (r#""corners":[]"#, r#""corners":[3]"#, "invalid type"),
        (r#""nested":{}"#, r#""nested":{"x":{}}"#, "at line 2"),
        (r#""nested":{}"#, r#""nested":{"1":[]}"#, "invalid type"),
        (r#""by_name":{}"#, r#""by_name":[]"#, "a `std::collections::HashMap<"),
        (r#""by_name":{}"#, r#""by_name":{"a":"b"}"#, "invalid type"),
    ] {
        let error = read(&world, &save(from, to)).unwrap_err();
        assert!(error.contains("relation `Stock`, pair 0") && error.contains(expected), "{error}");
    }
}
