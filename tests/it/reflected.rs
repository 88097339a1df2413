//! Values of pairs by reflection.

use bevy_ecs::{prelude::*, reflect::AppTypeRegistry};
use bevy_reflect::{PartialReflect, Reflect, structs::DynamicStruct, tuple_struct::DynamicTupleStruct};
use bevy_relations::{
    error::{InsertPairError, ReflectPairError},
    expr::{PairExpr, RowSerializer},
    id::Slot,
    prelude::*,
    relation::{PairContext, PairRefusal, ReflectedData},
    snapshot::{PairFilter, PairSnapshot, SaveError, SavedPairsSerializer},
    world::WorldReflectPairExt,
};

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(validate = at_most_ten)]
struct Owes {
    coins: u32,
}

fn at_most_ten(owes: &mut Owes, _: &PairContext<'_>) -> Result<(), PairRefusal> {
    if owes.coins > 10 { Err(PairRefusal::new("too much")) } else { Ok(()) }
}

#[derive(Relation)]
struct Likes;

#[derive(Relation, Clone)]
struct Unknown(#[expect(dead_code, reason = "it is a value")] u8);

fn coins(coins: impl PartialReflect) -> Box<DynamicStruct> {
    let mut value = DynamicStruct::default();
    value.insert_boxed("coins", Box::new(coins));
    Box::new(value)
}

/// A world, a pair that owes three coins as source and id.
fn world() -> (World, Entity, PairId) {
    let mut world = World::new();
    world.get_resource_or_init::<AppTypeRegistry>().write().register::<Owes>();
    let [ann, ben] = ["Ann", "Ben"].map(|name| world.spawn(Name::new(name)).id());
    world.insert_pair(ann, Owes { coins: 3 }, ben).unwrap();
    let owes = world.register_relation::<Owes>().unwrap();
    (world, ann, PairId::new(owes, ben))
}

fn owed(world: &World, source: Entity, pair: PairId) -> Option<u32> {
    world.pair_value_by_id::<Owes>(source, pair).map(|owes| owes.coins)
}

#[test]
fn a_value_is_read_and_replaced_by_reflection() {
    let (mut world, ann, pair) = world();
    let copy = world.reflect_pair_value(ann, pair).unwrap().reflect_clone().unwrap();
    assert_eq!(*copy.downcast::<Owes>().unwrap(), Owes { coins: 3 });
    world.insert_reflected_pair(ann, pair, coins(5_u32)).unwrap();
    assert_eq!(owed(&world, ann, pair), Some(5));
    world.insert_reflected_pair(ann, pair, Box::new(Owes { coins: 6 })).unwrap();
    assert_eq!(owed(&world, ann, pair), Some(6));
    // A pair that is not there yet is inserted.
    let (owes, ben) = pair.entities().unwrap();
    world.insert_reflected_pair(ben, (owes, ann), coins(1_u32)).unwrap();
    assert_eq!(owed(&world, ben, PairId::new(owes, ann)), Some(1));
    world.check_pairs().unwrap();
}

#[test]
fn values_that_are_none_are_not_read() {
    let (mut world, ann, pair) = world();
    let (owes, ben) = pair.entities().unwrap();
    assert!(world.reflect_pair_value(ben, pair).is_none(), "there is no such pair");
    assert!(world.reflect_pair_value(ann, (owes, Slot::Wildcard)).is_none());
    world.insert_pair(ann, Likes, ben).unwrap();
    let likes = world.register_relation::<Likes>().unwrap();
    assert!(world.reflect_pair_value(ann, (likes, ben)).is_none(), "it is a tag");
    world.insert_pair(ann, Unknown(1), ben).unwrap();
    let unknown = world.register_relation::<Unknown>().unwrap();
    assert!(world.reflect_pair_value(ann, (unknown, ben)).is_none(), "its type is not registered");
    // A value of the very type needs no reflection.
    assert!(world.insert_reflected_pair(ann, (unknown, ben), coins(1_u32)).is_err());
}

#[test]
fn a_value_that_cannot_be_written_by_reflection_is_refused_and_changes_nothing() {
    let (mut world, ann, pair) = world();
    let (owes, ben) = pair.entities().unwrap();
    let likes = world.register_relation::<Likes>().unwrap();
    let child_of = world.register_relation::<ChildOf>().unwrap();

    let error = world.insert_reflected_pair(ann, pair, coins(11_u32)).unwrap_err();
    assert!(matches!(&error, ReflectPairError::Insert(InsertPairError::Refused { .. })), "{error}");
    let error = world.insert_reflected_pair(ann, pair, coins("many".to_owned())).unwrap_err();
    assert!(matches!(&error, ReflectPairError::WrongType { .. }), "{error}");
    assert!(error.to_string().contains("(Owes, Ben"), "{error}");
    let error = world.insert_reflected_pair(ann, pair, Box::new(7_u32)).unwrap_err();
    assert!(matches!(&error, ReflectPairError::WrongType { given, .. } if given == "u32"), "{error}");
    let error = world.insert_reflected_pair(ann, (likes, ben), Box::new(7_u32)).unwrap_err();
    assert!(matches!(&error, ReflectPairError::Tag { .. }), "{error}");
    let error = world.insert_reflected_pair(ann, (child_of, ben), Box::new(7_u32)).unwrap_err();
    assert!(matches!(&error, ReflectPairError::Relationship { .. }), "{error}");
    let error = world.insert_reflected_pair(ann, (owes, Slot::Wildcard), coins(1_u32)).unwrap_err();
    assert!(matches!(&error, ReflectPairError::Insert(InsertPairError::Wildcard { .. })), "{error}");
    world.despawn(ben);
    let error = world.insert_reflected_pair(ann, pair, coins(1_u32)).unwrap_err();
    assert!(matches!(&error, ReflectPairError::Insert(InsertPairError::Dead { .. })), "{error}");

    assert_eq!(world.pairs_of(ann), []);
    world.check_pairs().unwrap();
}

#[test]
fn values_of_run_time_relations_are_of_any_type() {
    let (mut world, ann, pair) = world();
    let (_, ben) = pair.entities().unwrap();
    let script = world.spawn_relation("script", RelationTraits::new().reflected_data()).unwrap();
    let mut value = DynamicTupleStruct::default();
    value.insert(3_u8);
    world.insert_reflected_pair(ann, (script, ben), Box::new(value)).unwrap();
    let read = world.reflect_pair_value(ann, (script, ben)).unwrap();
    assert_eq!(read.reflect_ref().as_tuple_struct().unwrap().field_len(), 1);
    // Of a type that is registered: that type.
    let mut owes = DynamicStruct::default();
    owes.insert("coins", 4_u32);
    owes.set_represented_type(Some(<Owes as bevy_reflect::Typed>::type_info()));
    world.insert_reflected_pair(ann, (script, ben), Box::new(owes)).unwrap();
    let ReflectedData(value) = world.pair_value_by_id::<ReflectedData>(ann, (script, ben)).unwrap();
    assert_eq!(value.try_downcast_ref::<Owes>(), Some(&Owes { coins: 4 }));
    world.check_pairs().unwrap();
}

#[test]
fn a_value_that_stands_for_no_registered_type_is_left_out_of_rows_and_refused_by_saves() {
    #[derive(Reflect)]
    struct Unregistered;

    let (mut world, ann, pair) = world();
    let (_, ben) = pair.entities().unwrap();
    let script = world.spawn_relation("script", RelationTraits::new().reflected_data()).unwrap();
    let types = world.resource::<AppTypeRegistry>().clone();
    let values: [(Box<dyn PartialReflect>, _); 3] = [
        (Box::new(Owes { coins: 4 }), None),
        (coins(1_u32), Some("bevy_reflect::DynamicStruct")),
        (Box::new(Unregistered), Some("it::reflected::Unregistered")),
    ];
    for (value, refused) in values {
        world.insert_pair_value_by_id(ann, (script, ben), ReflectedData(value)).unwrap();
        let mut expr = PairExpr::parse("(script, $x)").unwrap().compile(&mut world).unwrap();
        let row = expr.first(&world).unwrap().unwrap();
        let row = serde_json::to_value(RowSerializer::new(row, &types.read())).unwrap();
        assert_eq!(row["fields"][0].get("value").is_none(), refused.is_some(), "{row}");
        let saved = PairSnapshot::take(&mut world, PairFilter::all()).unwrap().to_saved(&world);
        match (saved, refused) {
            (Ok(saved), None) => {
                serde_json::to_string(&SavedPairsSerializer::new(&saved, &types.read())).unwrap();
            }
            (Err(SaveError::NotReflected { relation, type_name }), Some(refused)) => {
                assert_eq!((relation.to_string().as_str(), type_name.as_str()), ("script", refused));
            }
            (saved, _) => panic!("{saved:?}"),
        }
    }
}
