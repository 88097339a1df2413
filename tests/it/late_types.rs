//! Types whose fields become known after something has named them.
//!
//! What names a type first: a mirrored pair, a save, the text of an expression that asks or inserts, a typed use as a target, or as a
//! relation by its entity. What follows: typed use as a target; as a relation; as a relationship of Bevy's; traits that are refused.

use crate::common::{CrewOf, refused, spawn, take_reported_errors, world_that_records_errors};
use bevy_ecs::{
    prelude::*,
    reflect::{AppTypeRegistry, ReflectComponent},
};
use bevy_reflect::{PartialReflect, Reflect, TypePath, std_traits::ReflectDefault};
use bevy_relations::{
    error::{InsertPairError, ReorderError, TraitsError},
    expr::{PairExpr, WorldExprExt},
    mirror::*,
    prelude::*,
    relation::CleanupPolicy,
    snapshot::*,
    traverse::Direction,
};
use std::sync::Arc;

#[derive(Relation, Reflect, Clone)]
struct Begins;

#[derive(Relation, Reflect, Clone)]
#[relation(exclusive)]
struct Starts;

#[derive(Relation, Reflect, Clone)]
#[relation(symmetric)]
struct Meets;

#[derive(Relation, Reflect, Clone)]
#[relation(exclusive, storage = "Table")]
struct InTable;

#[derive(Relation, Reflect, Clone)]
#[relation(exclusive, storage = "Fragmenting")]
struct Split;

#[derive(Relation, Reflect, Clone)]
#[relation(ordered)]
struct Lines;

/// A type with fields.
#[derive(Component, Reflect, Clone, Debug)]
#[reflect(Component)]
struct Place {
    number: u32,
    #[reflect(ignore, default = "counted")]
    #[expect(dead_code, reason = "counts the values")]
    count: Arc<()>,
}

fn counted() -> Arc<()> {
    Arc::new(())
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

#[derive(Component, Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Component, Default)]
struct Other(u32);

/// Not reflected.
#[derive(Component)]
struct Opaque(#[expect(dead_code, reason = "a type with fields")] u32);

/// Without fields.
#[derive(Component, Reflect)]
struct Plain;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
struct Owes(u32);

#[derive(Relation, Clone, PartialEq, Debug)]
#[relation(exclusive)]
struct Ranks(u32);

fn world() -> World {
    let mut world = world_that_records_errors();
    world.init_resource::<AppTypeRegistry>();
    let types = world.resource::<AppTypeRegistry>().0.clone();
    types.write().register::<Place>();
    types.write().register::<Other>();
    types.write().register::<Owes>();
    world
}

fn named_type<R: MirroredRelation, T: TypePath>() -> MirroredPairs<R> {
    let target = MirroredTarget::Type(MirroredType { path: T::type_path().into(), value: None });
    let mut pairs = MirroredPairs::default();
    pairs.pairs.push(MirroredPair { target, value: None, place: None });
    pairs
}

fn place(number: u32, count: &Arc<()>) -> Place {
    Place { number, count: count.clone() }
}

/// The type is a target of `a`, by a pair without a value. What it has in fields is known when that pair is gone.
fn learns_once_the_pair_is_gone<R: Relation>(world: &mut World, a: Entity) {
    let relation = world.register_relation::<R>().unwrap();
    let [b] = spawn(world);
    let place_type = world.entity_of::<Place>();
    let count = Arc::new(());
    assert!(world.has_pair_by_id(a, (relation, place_type)));
    for source in [a, b] {
        let error = refused(world, |world| world.insert_pair_to::<R, Place>(source, place(1, &count)));
        assert!(matches!(error, InsertPairError::UnexpectedValue { .. }), "{error}");
    }
    world.insert_pair_by_id(b, (relation, place_type)).unwrap();
    world.remove_pairs::<R>(b);
    assert_eq!(world.entity_of::<Place>(), place_type);
    world.check_pairs().unwrap();

    world.remove_pairs::<R>(a);
    for (number, source) in [a, b, a].into_iter().enumerate() {
        world.insert_pair_to::<R, Place>(source, place(number as u32, &count)).unwrap();
        let value = world.pair_value_by_id::<Place>(source, (relation, place_type));
        assert_eq!(value.map(|place| place.number), Some(number as u32));
        world.check_pairs().unwrap();
    }
    world.maintain_pairs();
    assert_eq!(Arc::strong_count(&count), 3);
    world.remove_pairs::<R>(a);
    assert_eq!(Arc::strong_count(&count), 2);
    world.despawn(b);
    assert_eq!(Arc::strong_count(&count), 1);
    world.check_pairs().unwrap();
    assert_eq!(take_reported_errors(), [""; 0]);
}

fn a_mirror_names_it_first<R: MirroredRelation>() {
    let mut world = world();
    world.mirror_pairs::<R>().unwrap();
    let [a] = spawn(&mut world);
    world.entity_mut(a).insert(named_type::<R, Place>());
    learns_once_the_pair_is_gone::<R>(&mut world, a);
}

#[test]
fn a_type_that_a_mirror_names_first_has_no_values_as_long_as_it_has_pairs_without() {
    a_mirror_names_it_first::<Begins>();
    a_mirror_names_it_first::<Starts>();
    a_mirror_names_it_first::<Meets>();
    a_mirror_names_it_first::<InTable>();
    a_mirror_names_it_first::<Split>();
    a_mirror_names_it_first::<Lines>();
}

fn saved(value: Option<Box<dyn PartialReflect>>) -> SavedPairs {
    let entities =
        vec![SavedEntity::Entity { id: 1, name: None }, SavedEntity::Type(Place::type_path().into())];
    let pairs = vec![SavedPair { source: 0, target: 1, value }];
    let relations = vec![SavedRelation { name: "Begins".into(), pairs, ..SavedRelation::default() }];
    SavedPairs { entities, relations, ..SavedPairs::default() }
}

/// As of a program in which the type had no fields.
#[test]
fn a_save_may_have_pairs_without_values_with_a_type_that_has_fields() {
    let mut world = world();
    world.register_relation::<Begins>().unwrap();
    let a = world.spawn(SaveId(1)).id();
    saved(None).load(&mut world).unwrap();
    learns_once_the_pair_is_gone::<Begins>(&mut world, a);
}

#[test]
fn a_save_with_values_of_a_type_that_the_program_has_not_used_is_refused() {
    let mut world = world();
    world.register_relation::<Begins>().unwrap();
    let a = world.spawn(SaveId(1)).id();
    let count = Arc::new(());
    let value = || Some(Box::new(place(3, &count)) as Box<dyn PartialReflect>);
    let error = saved(value()).load(&mut world).unwrap_err();
    assert!(matches!(error, LoadError::Value { .. }), "{error}");
    let message = error.to_string();
    assert!(message.starts_with("relation `Begins`, pair 0, value: pairs with `Place`"), "{message}");
    assert!(message.ends_with("call `world.entity_of` with the type before loading"), "{message}");
    assert_eq!(Arc::strong_count(&count), 1);
    world.check_pairs().unwrap();
    let pair = (world.entity_of::<Begins>(), world.entity_of::<Place>());
    saved(value()).load(&mut world).unwrap();
    assert_eq!(world.pair_value_by_id::<Place>(a, pair).map(|place| place.number), Some(3));
    world.check_pairs().unwrap();
    drop(world);
    assert_eq!(Arc::strong_count(&count), 1);
}

#[test]
fn a_symmetric_pair_keeps_the_value_of_one_end_when_fields_of_the_other_become_known() {
    let mut world = world();
    world.mirror_pairs::<Meets>().unwrap();
    let other = world.entity_of::<Other>();
    world.entity_mut(other).insert(named_type::<Meets, Place>());
    let (meets, place) = (world.entity_of::<Meets>(), world.entity_of::<Place>());
    assert_eq!(world.pair_value_by_id::<Other>(place, (meets, other)), Some(&Other(0)));
    world.check_pairs().unwrap();
    world.remove_pairs::<Meets>(place);
    world.check_pairs().unwrap();
    world.entity_of::<Place>();
    let error = refused(&mut world, |world| world.insert_pair_by_id(other, (meets, place)));
    assert!(matches!(error, InsertPairError::TwoValueTypes { .. }), "{error}");
}

#[test]
fn a_relation_that_a_mirror_names_as_a_target_may_be_registered_later() {
    let mut world = world();
    world.mirror_pairs::<Begins>().unwrap();
    let [a, b] = spawn(&mut world);
    world.entity_mut(a).insert(named_type::<Begins, Owes>());
    world.register_relation::<Owes>().unwrap();
    world.insert_pair(a, Owes(1), b).unwrap();
    world.check_pairs().unwrap();
    assert!(world.insert_pair_to::<Begins, Owes>(b, Owes(2)).is_err());
    world.remove_pairs::<Begins>(a);
    world.insert_pair_to::<Begins, Owes>(b, Owes(2)).unwrap();
    world.check_pairs().unwrap();
}

#[test]
fn a_text_does_not_insert_pairs_of_types_whose_fields_are_not_known() {
    let mut world = world();
    world.register_relation::<Begins>().unwrap();
    world.register_component_name::<Opaque>("Opaque");
    let a = world.spawn(Name::new("Ann")).id();
    for text in ["(Begins, Opaque)", "(Begins, Place)", "(Owes, Ann)", "(Other, Ann)", "(Place, Other)"] {
        let error = refused(&mut world, |world| world.insert_expr(a, text)).to_string();
        assert!(error.contains("which the world must know first"), "{text}: {error}");
    }
    world.entity_of::<Opaque>();
    let other = world.entity_of::<Other>();
    // The relation says what the pair carries, also if its target is known.
    let error = refused(&mut world, |world| world.insert_expr(a, "(Place, Other)")).to_string();
    assert!(error.contains("pairs with `Place`"), "{error}");
    world.register_relation::<Owes>().unwrap();
    world.insert_expr(a, "(Owes(3), Ann), (Other(4), Ann)").unwrap();
    assert_eq!(world.pair_value::<Owes>(a, a), Some(&Owes(3)));
    assert_eq!(world.pair_value_by_id::<Other>(a, (other, a)), Some(&Other(4)));
    world.check_pairs().unwrap();
}

/// A type whose only field has no size.
#[derive(Component, Reflect, Default)]
#[reflect(Component, Default)]
struct Hollow {
    nothing: (),
}

#[test]
fn a_type_with_fields_without_size_is_no_value() {
    let mut world = world();
    world.resource::<AppTypeRegistry>().0.clone().write().register::<Hollow>();
    world.register_relation::<Begins>().unwrap();
    let [a] = spawn(&mut world);
    world.entity_of::<Hollow>();
    world.insert_expr(a, "(Begins, Hollow)").unwrap();
    assert!(world.has_pair_by_id(
        a,
        (world.get_entity_of::<Begins>().unwrap(), world.get_entity_of::<Hollow>().unwrap())
    ));
    world.check_pairs().unwrap();
}

#[test]
fn a_relationship_that_is_the_target_of_values_is_not_adopted() {
    let mut world = world();
    let [a, b, c] = spawn(&mut world);
    let value = || CrewOf { ship: b, wage: 3 };
    world.insert_pair_to::<Begins, CrewOf>(a, value()).unwrap();
    let begins = world.entity_of::<Begins>();
    let crew_of = world.entity_of::<CrewOf>();
    let adopt = |world: &mut World| world.adopt_relationship_with::<CrewOf>(RelationTraits::new());
    assert!(matches!(refused(&mut world, adopt), TraitsError::Frozen { .. }));
    assert!(world.insert_pair(c, value(), b).is_err());
    world.insert_pair_to::<Begins, CrewOf>(c, value()).unwrap();
    assert_eq!(world.pair_value_by_id::<CrewOf>(c, (begins, crew_of)), Some(&value()));
    world.check_pairs().unwrap();

    world.remove_pairs_everywhere(PairId::with_relation(begins));
    world.insert_pair(c, value(), b).unwrap();
    assert!(world.insert_pair_to::<Begins, CrewOf>(a, value()).is_err());
    world.check_pairs().unwrap();
}

#[test]
fn traits_that_are_refused_leave_the_values_of_pairs_as_they_were() {
    let mut world = world();
    let [a, b, c] = spawn(&mut world);
    let value = || CrewOf { ship: b, wage: 3 };
    // As a target.
    world.insert_pair_to::<Begins, CrewOf>(a, value()).unwrap();
    for _ in 0..2 {
        let symmetric = RelationTraits::new().symmetric();
        refused(&mut world, |world| world.adopt_relationship_with::<CrewOf>(symmetric.clone()));
    }
    world.insert_pair_to::<Begins, CrewOf>(c, value()).unwrap();
    world.check_pairs().unwrap();

    // As relations.
    let [crew_of, ranks] = [world.entity_of::<CrewOf>(), world.entity_of::<Ranks>()];
    world.insert_pair_value_by_id(a, (crew_of, b), value()).unwrap();
    world.insert_pair_value_by_id(a, (ranks, b), Ranks(1)).unwrap();
    for _ in 0..2 {
        refused(&mut world, |world| world.adopt_relationship_with::<CrewOf>(RelationTraits::new()));
        refused(&mut world, |world| world.insert_pair(a, Ranks(2), c));
    }
    world.insert_pair_value_by_id(c, (crew_of, b), value()).unwrap();
    world.insert_pair_value_by_id(c, (ranks, b), Ranks(2)).unwrap();
    world.despawn(b);
    world.check_pairs().unwrap();
}

#[test]
fn a_type_without_fields_is_no_value_as_a_target_whatever_its_own_pairs_carry() {
    let mut world = world();
    world.resource::<AppTypeRegistry>().0.clone().write().register::<u32>();
    let [a, b] = spawn(&mut world);
    let plain = world.entity_of::<Plain>();
    let begins = world.register_relation::<Begins>().unwrap();
    let traits = RelationTraits::new().data::<u32>().on_relation_despawn(CleanupPolicy::Remove);
    world.set_traits(plain, traits).unwrap();
    world.insert_pair_by_id(a, (begins, plain)).unwrap();
    world.insert_pair_value_by_id(b, (plain, a), 5u32).unwrap();
    world.check_pairs().unwrap();
    // Its entity goes, and it gets another.
    world.despawn(plain);
    take_reported_errors();
    let plain = world.entity_of::<Plain>();
    world.insert_pair_by_id(b, (begins, plain)).unwrap();
    assert_eq!(world.pair_value_by_id::<u32>(b, (begins, plain)), None);
    world.check_pairs().unwrap();
}

#[test]
fn an_expression_that_asks_for_a_type_leaves_its_fields_to_be_known_later() {
    let mut world = world();
    world.register_relation::<Begins>().unwrap();
    let mut asked = PairExpr::parse("(Begins, Place)").unwrap().compile(&mut world).unwrap();
    let [a] = spawn(&mut world);
    let count = Arc::new(());
    world.insert_pair_to::<Begins, Place>(a, Place { number: 1, count: count.clone() }).unwrap();
    world.check_pairs().unwrap();
    assert_eq!(asked.count(&world).unwrap(), 1);
    drop(world);
    assert_eq!(Arc::strong_count(&count), 1);
}

#[derive(Component)]
struct Ship;

/// What is to be refused of `R`, whose entity has pairs already.
fn refused_everywhere<R: Relation + Clone>(relation: R) {
    let mut world = world();
    let [a, b, c] = spawn(&mut world);
    let entity = world.entity_of::<R>();
    world.insert_pair_by_id(a, (entity, b)).unwrap();
    let is_late = |error: &InsertPairError| {
        assert!(matches!(error, InsertPairError::Traits(TraitsError::Frozen { .. })), "{error}");
    };
    is_late(&refused(&mut world, |world| world.insert_pair(a, relation.clone(), c)));
    is_late(&refused(&mut world, |world| world.replace_targets(a, [(relation.clone(), c)])));
    is_late(&refused(&mut world, |world| world.move_sources::<R>(b, c)));
    is_late(&refused(&mut world, |world| world.insert_pair_to::<R, Ship>(a, Ship)));
    let error = refused(&mut world, |world| world.order_sources::<R>(b, &[a]));
    assert!(matches!(error, ReorderError::Traits(TraitsError::Frozen { .. })), "{error}");
    let pairs = [(relation.clone(), b), (relation.clone(), c)];
    let error = refused(&mut world, |world| world.insert_pairs(a, pairs.clone()));
    assert_eq!(error.refused.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 1]);
    error.refused.iter().for_each(|(_, error)| is_late(error));
    let batch = pairs.map(|(relation, target)| (c, relation, target));
    let error = refused(&mut world, |world| world.insert_pair_batch(batch));
    error.refused.iter().for_each(|(_, error)| is_late(error));
    assert_eq!((error.refused.len(), take_reported_errors()), (2, Vec::new()));
    // Where nothing is returned, each pair is reported; what is spawned with it is there.
    let reported = |world: &mut World, count: usize| {
        world.flush();
        let errors = take_reported_errors();
        assert!(
            errors.len() == count && errors.iter().all(|error| error.contains("cannot change")),
            "{errors:?}"
        );
    };
    world.spawn(Pair(relation.clone(), c));
    reported(&mut world, 1);
    world.spawn(bevy_relations::bundle::SourcesBundle::<R, _>::new((Ship, Ship)));
    reported(&mut world, 2);
    world.spawn_batch_with_pair([(Ship, relation.clone(), c), (Ship, relation.clone(), a)]);
    reported(&mut world, 2);
    world.commands().insert_pair_batch([(a, relation.clone(), c)]);
    reported(&mut world, 1);
    assert_eq!(world.query::<&Ship>().iter(&world).count(), 4);
    assert_eq!(world.pairs_by_id(entity).len(), 1);
    world.check_pairs().unwrap();
    // In a store that is new, it can be registered.
    world.clear_pairs();
    world.insert_pair(a, relation, c).unwrap();
    world.check_pairs().unwrap();
}

#[test]
fn a_relation_type_whose_entity_has_pairs_before_is_refused_by_every_way_of_insertion() {
    refused_everywhere(Meets);
    refused_everywhere(Starts);
    refused_everywhere(InTable);
    refused_everywhere(Split);
}

#[test]
fn an_event_along_a_relation_type_that_is_rejected_is_reported_where_it_is_deferred() {
    #[derive(Relation)]
    #[relation(traversable)]
    struct Under;

    #[derive(EntityEvent)]
    #[entity_event(propagate)]
    struct PowerCut {
        entity: Entity,
    }

    let mut world = world();
    let [a, b] = spawn(&mut world);
    let under = world.entity_of::<Under>();
    world.insert_pair_by_id(a, (under, b)).unwrap();
    world.commands().trigger_along::<Under>(PowerCut { entity: b }, Direction::Sources);
    world.flush();
    let errors = take_reported_errors();
    assert!(errors.len() == 1 && errors[0].contains("cannot change"), "{errors:?}");
    world.check_pairs().unwrap();
}
