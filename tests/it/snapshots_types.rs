//! Snapshots with entities that stand for types, in worlds that know more or less of these types: other traits, no traits, no fields.

use crate::common::{spawn, world_that_records_errors};
use bevy_ecs::{entity::EntityHashMap, prelude::*, reflect::AppTypeRegistry};
use bevy_reflect::{Reflect, TypePath};
use bevy_relations::{error::InsertPairError, mirror::*, prelude::*, relation::CleanupPolicy, snapshot::*};

#[derive(Relation, Reflect, Clone)]
struct Begins;

#[derive(Relation, Reflect, Clone, PartialEq, Debug, Default)]
struct Owes(u32);

/// Without fields.
#[derive(Component, Reflect)]
struct Plain;

/// With fields.
#[derive(Component, Reflect, Clone, PartialEq, Debug, Default)]
struct Place(u32);

fn world() -> World {
    let mut world = world_that_records_errors();
    world.init_resource::<AppTypeRegistry>();
    let types = world.resource::<AppTypeRegistry>().0.clone();
    types.write().register::<Owes>();
    types.write().register::<Place>();
    world.register_relation::<Begins>().unwrap();
    world
}

/// Of a type without fields that got values by its traits.
fn traits() -> RelationTraits {
    RelationTraits::new().data::<u32>().on_relation_despawn(CleanupPolicy::Remove)
}

fn with_traits() -> World {
    let mut world = world();
    let plain = world.entity_of::<Plain>();
    world.set_traits(plain, traits()).unwrap();
    world
}

fn take(world: &mut World) -> PairSnapshot {
    PairSnapshot::take(world, PairFilter::all()).unwrap()
}

#[test]
fn the_values_that_a_type_got_by_its_traits_are_not_those_of_pairs_with_it() {
    let mut first = with_traits();
    let [a, b] = spawn(&mut first);
    let [begins, plain] = [first.entity_of::<Begins>(), first.entity_of::<Plain>()];
    first.insert_pair_by_id(a, (begins, plain)).unwrap();
    let snapshot = take(&mut first);
    for mut other in [world(), with_traits()] {
        let mut map = EntityHashMap::default();
        for inserted in [1, 0] {
            assert_eq!(snapshot.apply_mapped(&mut other, &mut map).unwrap().inserted, inserted);
            let pair = (other.entity_of::<Begins>(), other.entity_of::<Plain>());
            assert!(other.has_pair_by_id(map[&a], pair));
            assert_eq!(other.pair_value_by_id::<u32>(map[&a], pair), None);
            other.check_pairs().unwrap();
        }
        // The traits can still be declared, and the type is a target without values.
        let [plain, begins] = [other.entity_of::<Plain>(), other.entity_of::<Begins>()];
        other.set_traits(plain, traits()).unwrap();
        other.insert_pair_value_by_id(map[&a], (plain, map[&a]), 7u32).unwrap();
        let c = other.spawn_empty().id();
        other.insert_pair_by_id(c, (begins, plain)).unwrap();
        assert_eq!(other.pair_value_by_id::<u32>(c, (begins, plain)), None);
        other.check_pairs().unwrap();
    }

    // The same in the world itself, when the type has got another entity.
    first.insert_pair_value_by_id(b, (plain, a), 5u32).unwrap();
    let snapshot = take(&mut first);
    first.despawn(plain);
    let applied = snapshot.apply(&mut first).unwrap();
    assert_eq!((applied.inserted, applied.removed), (2, 0));
    let plain = first.entity_of::<Plain>();
    assert_eq!(first.pair_value_by_id::<u32>(b, (plain, a)), Some(&5));
    assert!(first.has_pair_by_id(a, (begins, plain)));
    assert_eq!(first.pair_value_by_id::<u32>(a, (begins, plain)), None);
    first.check_pairs().unwrap();
}

#[test]
fn pairs_with_values_by_traits_are_refused_where_the_relation_does_not_have_these_traits() {
    let mut first = with_traits();
    let [a, b] = spawn(&mut first);
    let plain = first.entity_of::<Plain>();
    first.insert_pair_value_by_id(a, (plain, b), 5u32).unwrap();
    let snapshot = take(&mut first);

    let mut other = world();
    other.register_relation::<ChildOf>().unwrap();
    let entities = other.entities().count_spawned();
    let relations = other.any_pairs().relations().count();
    let mut map = EntityHashMap::default();
    let error = snapshot.apply_mapped(&mut other, &mut map).unwrap_err();
    assert!(matches!(error, SnapshotError::Refused(InsertPairError::UnexpectedValue { .. })), "{error}");
    assert!(error.to_string().contains("Plain"), "{error}");
    assert_eq!((map.len(), other.any_pairs().relations().count()), (0, relations));
    other.check_pairs().unwrap();
    // The entity of a type stays.
    assert_eq!(other.entities().count_spawned(), entities + 1);

    // With other values.
    let mut other = world();
    let plain = other.entity_of::<Plain>();
    other.set_traits(plain, RelationTraits::new().data::<u64>()).unwrap();
    let error = snapshot.apply_mapped(&mut other, &mut map).unwrap_err();
    assert!(matches!(error, SnapshotError::Refused(InsertPairError::WrongValueType { .. })), "{error}");
    assert!(error.to_string().contains("Plain"), "{error}");
    other.check_pairs().unwrap();

    // With these.
    let mut other = with_traits();
    snapshot.apply_mapped(&mut other, &mut map).unwrap();
    let plain = other.entity_of::<Plain>();
    assert_eq!(other.pair_value_by_id::<u32>(map[&a], (plain, map[&b])), Some(&5));
    other.check_pairs().unwrap();
}

#[test]
fn a_component_with_fields_brings_its_values_as_a_relation_and_as_a_target() {
    let mut first = world();
    let [a, b] = spawn(&mut first);
    let place = first.entity_of::<Place>();
    first.insert_pair_to::<Begins, Place>(a, Place(3)).unwrap();
    first.insert_pair_value_by_id(a, (place, b), Place(4)).unwrap();
    let snapshot = take(&mut first);
    let mut other = world();
    let mut map = EntityHashMap::default();
    assert_eq!(snapshot.apply_mapped(&mut other, &mut map).unwrap().inserted, 2);
    let [begins, place] = [other.entity_of::<Begins>(), other.entity_of::<Place>()];
    assert_eq!(other.pair_value_by_id::<Place>(map[&a], (begins, place)), Some(&Place(3)));
    assert_eq!(other.pair_value_by_id::<Place>(map[&a], (place, map[&b])), Some(&Place(4)));
    other.check_pairs().unwrap();
}

/// A relation with fields that became known when the pair was there without a value.
#[test]
fn a_pair_without_a_value_is_copied_without_one() {
    let mut first = world();
    first.mirror_pairs::<Begins>().unwrap();
    let [a, b] = spawn(&mut first);
    let target = MirroredTarget::Type(MirroredType { path: Owes::type_path().into(), value: None });
    let mut pairs = MirroredPairs::<Begins>::default();
    pairs.pairs.push(MirroredPair { target, value: None, place: None });
    first.entity_mut(a).insert(pairs);
    first.register_relation::<Owes>().unwrap();
    let pair = (first.entity_of::<Begins>(), first.entity_of::<Owes>());
    assert_eq!(first.pair_value_by_id::<Owes>(a, pair), None);
    let only = PairFilter::none().relation::<Begins>();
    let snapshot = PairSnapshot::take(&mut first, only).unwrap();

    let mut other = world();
    let mut map = EntityHashMap::from_iter([(b, b)]);
    snapshot.apply_mapped(&mut other, &mut map).unwrap();
    let begins = other.entity_of::<Begins>();
    let owes = other.pairs_by_id(begins).targets(map[&a]).next().unwrap();
    assert_eq!(other.pair_value_by_id::<Owes>(map[&a], (begins, owes)), None);
    assert_eq!(other.entity_of::<Owes>(), owes);
    other.check_pairs().unwrap();
}
