//! Components that the ends of pairs must have, or must not have.

use crate::common::{
    Random,
    constrained::{City, Founded, Knows, LivesIn, Person, Ruin, Rules, Visits, WorksIn},
    dump, fewer, refused, spawn, take_errors, take_reported_errors, world_that_records_errors,
};
use bevy_ecs::{entity::EntityCloner, entity_disabling::Disabled, error::Severity, prelude::*};
use bevy_relations::{
    error::{InsertPairError, PairRole, TraitsError},
    event::RemovalCause,
    prelude::*,
    relation::{EndConstraint, OnMissing},
};

#[derive(Resource, Default)]
struct Log(Vec<(Entity, Entity, RemovalCause)>);

fn people(world: &mut World) -> [Entity; 4] {
    let ann = world.spawn((Person, Name::new("Ann"))).id();
    let rome = world.spawn((City, Name::new("Rome"))).id();
    let troy = world.spawn((City, Ruin, Name::new("Troy"))).id();
    let stone = world.spawn(Name::new("stone")).id();
    [ann, rome, troy, stone]
}

fn broken(error: InsertPairError) -> (PairRole, String, bool) {
    match error {
        InsertPairError::Constraint(broken) => (broken.end, broken.component.to_string(), broken.required),
        error => panic!("{error}"),
    }
}

#[test]
fn a_pair_whose_end_is_not_what_it_must_be_is_refused_with_names() {
    let mut world = World::new();
    let [ann, rome, troy, stone] = people(&mut world);
    let lives_in = world.register_relation::<LivesIn>().unwrap();
    world.insert_pair(ann, LivesIn, rome).unwrap();
    let error = refused(&mut world, |world| world.insert_pair(ann, LivesIn, troy));
    assert_eq!(
        error.to_string(),
        format!("cannot insert (LivesIn, Troy ({troy})) on Ann ({ann}): the target must not have `Ruin`")
    );
    assert_eq!(broken(error), (PairRole::Target, "Ruin".to_owned(), false));
    let error = refused(&mut world, |world| world.insert_pair(stone, LivesIn, rome));
    assert!(error.to_string().ends_with("the source must have `Person`"), "{error}");
    let error = refused(&mut world, |world| world.insert_pair_by_id(ann, (lives_in, stone)));
    assert_eq!(broken(error), (PairRole::Target, "City".to_owned(), true));
    let error = refused(&mut world, |world| world.insert_pair(ann, WorksIn, stone));
    assert_eq!(broken(error).1, "City", "a companion is checked, too");
    assert!(!world.has_pair::<WorksIn>(ann, stone));
    world.insert_pair(ann, WorksIn, rome).unwrap();
}

#[test]
fn a_verb_is_checked_as_a_whole() {
    let mut world = World::new();
    let [ann, rome, troy, stone] = people(&mut world);
    let athens = world.spawn(City).id();
    world.insert_pair(ann, LivesIn, rome).unwrap();
    world.insert_pair(stone, Rules(3), rome).unwrap();
    refused(&mut world, |world| world.replace_targets(ann, [(LivesIn, athens), (LivesIn, troy)]));
    refused(&mut world, |world| world.move_sources::<LivesIn>(rome, stone));
    refused(&mut world, |world| world.insert_pair(stone, Rules(4), ann));
    assert_eq!(world.pair_value::<Rules>(stone, rome), Some(&Rules(3)));
    assert_eq!(world.move_sources::<Rules>(rome, troy), Ok(1));
    assert_eq!(world.pair_value::<Rules>(stone, troy), Some(&Rules(3)));
    world.replace_targets(ann, [(LivesIn, athens), (LivesIn, rome)]).unwrap();
    let pairs = [(ann, LivesIn, troy), (ann, LivesIn, rome), (stone, LivesIn, rome), (ann, LivesIn, athens)];
    let error = world.insert_pair_batch(pairs).unwrap_err();
    assert_eq!(error.refused.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 2]);
    // Values are replaced whatever the ends are by then.
    world.insert_pair(stone, Rules(5), troy).unwrap();
    world.check_pairs().unwrap();
}

#[test]
fn both_ends_of_a_symmetric_pair_are_sources() {
    let mut world = world_that_records_errors();
    let [ann, _, _, stone] = people(&mut world);
    let bob = world.spawn(Person).id();
    for (a, b) in [(ann, stone), (stone, ann)] {
        let error = refused(&mut world, |world| world.insert_pair(a, Knows, b));
        assert_eq!(broken(error).1, "Person");
    }
    world.insert_pair(ann, Knows, bob).unwrap();
    world.entity_mut(bob).remove::<Person>();
    assert!(!world.has_pair::<Knows>(ann, bob) && !world.has_pair::<Knows>(bob, ann));
    assert_eq!(take_reported_errors().len(), 1);
    world.check_pairs().unwrap();
}

#[test]
fn the_components_of_a_bundle_come_before_its_pairs() {
    let mut world = world_that_records_errors();
    let [_, rome, troy, _] = people(&mut world);
    let sources = [
        world.spawn((Person, Pair(LivesIn, rome))).id(),
        world.spawn((Pair(LivesIn, rome), Person)).id(),
        world.spawn((pairs![(LivesIn, rome)], Name::new("Eve"), Person)).id(),
    ];
    assert!(sources.iter().all(|&source| world.has_pair::<LivesIn>(source, rome)));
    let athens = world.spawn((sources![LivesIn: Person, (Person, Name::new("Bob"))], City)).id();
    assert_eq!(world.pairs::<LivesIn>().source_count(athens), 2);
    assert!(take_errors().is_empty());
    let ghost = world.spawn((Pair(LivesIn, rome), Name::new("ghost"))).id();
    let late = world.spawn((Pair(LivesIn, troy), Person)).id();
    assert!(world.pairs_of(ghost).is_empty() && world.pairs_of(late).is_empty());
    assert_eq!(take_errors().len(), 2);
    let spawned = world.spawn_batch_with_pair([(Person, LivesIn, rome), (Person, LivesIn, troy)]);
    assert!(world.has_pair::<LivesIn>(spawned[0], rome) && !world.has_pair::<LivesIn>(spawned[1], troy));
    assert_eq!(take_errors().len(), 1);
    world.check_pairs().unwrap();
}

#[test]
fn when_a_component_comes_or_goes_later_the_pairs_are_removed_and_reported() {
    let changes: [(fn(&mut World, [Entity; 2]), bool, &str); 7] = [
        (|world, [ann, _]| _ = world.entity_mut(ann).remove::<Person>(), true, "source must have `Person`"),
        (|world, [_, rome]| _ = world.entity_mut(rome).remove::<City>(), true, "target must have `City`"),
        (|world, [_, rome]| _ = world.entity_mut(rome).insert(Ruin), true, "target must not have `Ruin`"),
        (|world, [_, rome]| _ = world.entity_mut(rome).clear(), true, "target must have `City`"),
        (|world, [ann, _]| _ = world.commands().entity(ann).remove::<Person>(), true, "have `Person`"),
        // It is replaced.
        (|world, [ann, _]| _ = world.entity_mut(ann).insert((Person, Ruin)), false, ""),
        // It comes back at once, by a command that was queued before.
        (
            |world, [ann, _]| {
                world.commands().entity(ann).remove::<Person>();
                world.commands().entity(ann).remove::<Ruin>();
                world.commands().entity(ann).insert(Disabled);
            },
            true,
            "have `Person`",
        ),
    ];
    for (number, (change, is_removed, text)) in changes.into_iter().enumerate() {
        let mut world = world_that_records_errors();
        world.init_resource::<Log>();
        world.add_observer(|on: On<PairRemoved<LivesIn>>, mut log: ResMut<Log>| {
            log.0.push((on.source, on.target, on.cause));
        });
        let [ann, rome, ..] = people(&mut world);
        let [bob, athens] = [world.spawn(Person).id(), world.spawn(City).id()];
        world.insert_pair_batch([(ann, LivesIn, rome), (bob, LivesIn, athens)]).unwrap();
        change(&mut world, [ann, rome]);
        world.flush();
        world.check_pairs().unwrap();
        assert_eq!(world.has_pair::<LivesIn>(ann, rome), !is_removed, "{number}");
        assert!(world.has_pair::<LivesIn>(bob, athens));
        let errors = take_errors();
        assert_eq!(errors.len(), usize::from(is_removed), "{number}: {errors:?}");
        for (severity, error) in errors {
            assert_eq!(severity, Severity::Error);
            assert!(error.starts_with("removed (LivesIn, ") && error.trim_end().ends_with(text), "{error}");
        }
        let log = &world.resource::<Log>().0;
        assert_eq!(log.len(), usize::from(is_removed));
        assert!(log.iter().all(|&log| log == (ann, rome, RemovalCause::ConstraintBroken)));
    }
}

#[test]
fn a_despawn_is_no_broken_constraint() {
    let mut world = world_that_records_errors();
    let despawn: [fn(&mut World, Entity); 4] = [
        |world, entity| _ = world.despawn(entity),
        |world, entity| world.despawn_with_dependents(entity).unwrap(),
        |world, entity| world.commands().entity(entity).despawn(),
        |world, entity| {
            world.commands().entity(entity).remove::<(Person, City)>();
            world.commands().entity(entity).despawn();
            // What is removed by a command of its own is noticed before the next one.
            take_errors();
        },
    ];
    for (number, despawn) in despawn.into_iter().enumerate() {
        for end in 0..2 {
            let [ann, rome, ..] = people(&mut world);
            world.insert_pair(ann, LivesIn, rome).unwrap();
            despawn(&mut world, [ann, rome][end]);
            world.flush();
            let expected = usize::from(number == 3);
            assert_eq!(take_errors().len(), expected, "way {number}, end {end}");
            assert_eq!(world.pairs::<LivesIn>().iter().count(), 0);
            world.check_pairs().unwrap();
        }
    }
}

#[test]
fn an_entity_that_clears_itself_loses_its_own_pairs_without_a_report() {
    let mut world = world_that_records_errors();
    let [ann, rome, ..] = people(&mut world);
    world.insert_pair(ann, LivesIn, rome).unwrap();
    world.entity_mut(ann).clear();
    assert!(world.pairs_of(ann).is_empty() && take_errors().is_empty());
    world.check_pairs().unwrap();
}

#[test]
fn defaults_are_inserted_where_the_relation_asks_for_that() {
    let mut world = world_that_records_errors();
    let [ann, _, troy, stone] = people(&mut world);
    world.add_observer(|on: On<PairInserted<Founded>>, cities: Query<(), With<City>>| {
        assert!(cities.contains(on.target), "it is there when the pair is observed");
    });
    let new = world.spawn_empty().id();
    world.insert_pair(stone, Founded, new).unwrap();
    assert!(world.entity(stone).contains::<Person>() && world.entity(new).contains::<City>());
    // What must not be there cannot be inserted; and then nothing is.
    let plain = world.spawn_empty().id();
    let error = refused(&mut world, |world| world.insert_pair(plain, Founded, troy));
    assert_eq!(broken(error), (PairRole::Target, "Ruin".to_owned(), false));
    assert!(!world.entity(plain).contains::<Person>());
    let cities: [Entity; 3] = spawn(&mut world);
    world.replace_targets(ann, cities.map(|city| (Founded, city))).unwrap();
    assert!(cities.iter().all(|&city| world.entity(city).contains::<City>()));
    assert!(take_errors().is_empty());
    world.entity_mut(cities[0]).remove::<City>();
    assert!(!world.has_pair::<Founded>(ann, cities[0]) && world.has_pair::<Founded>(ann, cities[1]));
    assert_eq!(take_errors().len(), 1);
    world.check_pairs().unwrap();
}

#[test]
fn an_observer_of_a_default_may_do_away_with_the_ends() {
    let mut world = world_that_records_errors();
    world.add_observer(|on: On<Add<City>>, mut commands: Commands| commands.entity(on.entity).despawn());
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Founded, b).unwrap();
    assert!(world.get_entity(b).is_err() && world.entity(a).contains::<Person>());
    assert!(world.pairs_of(a).is_empty());
    world.check_pairs().unwrap();
    let mut world = world_that_records_errors();
    world.add_observer(|on: On<Add<City>>, mut commands: Commands| {
        commands.entity(on.entity).remove::<City>();
    });
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Founded, b).unwrap();
    assert!(!world.has_pair::<Founded>(a, b) && take_errors().len() == 1);
    world.check_pairs().unwrap();
}

#[test]
fn a_warning_leaves_the_pair_where_it_is() {
    let mut world = world_that_records_errors();
    let [ann, rome, troy, stone] = people(&mut world);
    world.insert_pair(ann, Visits, rome).unwrap();
    assert!(take_errors().is_empty());
    world.insert_pair(stone, Visits, troy).unwrap();
    let errors = take_errors();
    assert!(world.has_pair::<Visits>(stone, troy) && errors.len() == 2, "{errors:?}");
    assert!(errors.iter().all(|(severity, _)| *severity == Severity::Warning));
    assert!(errors[0].1.trim_end().ends_with("the source must have `Person`"), "{errors:?}");
    world.entity_mut(rome).insert(Ruin);
    let errors = take_errors();
    assert!(world.has_pair::<Visits>(ann, rome) && errors.len() == 1, "{errors:?}");
    assert!(errors[0].1.starts_with("(Visits, Rome"), "{errors:?}");
    world.check_pairs().unwrap();
}

#[test]
fn run_time_relations_have_constraints_by_component_ids() {
    let mut world = world_that_records_errors();
    let [ann, rome, troy, stone] = people(&mut world);
    let [person, ruin] = [world.register_component::<Person>(), world.register_component::<Ruin>()];
    let traits = RelationTraits::new()
        .source(EndConstraint::with_id(person))
        .target(EndConstraint::without_id(ruin))
        .target(EndConstraint::with::<City>())
        .data_or_default::<u32>();
    let sees = world.spawn_relation("Sees", traits).unwrap();
    world.insert_pair_by_id(ann, (sees, rome)).unwrap();
    for (source, target) in [(ann, troy), (stone, rome), (ann, stone)] {
        let error = refused(&mut world, |world| world.insert_pair_by_id(source, (sees, target)));
        assert!(error.to_string().contains("must"), "{error}");
    }
    world.entity_mut(ann).remove_by_id(person);
    assert!(world.pairs_of(ann).is_empty() && take_errors().len() == 1);
    world.check_pairs().unwrap();
    // The number of the relation serves another without constraints.
    world.despawn(sees);
    let other = world.spawn_relation("Other", RelationTraits::new()).unwrap();
    world.insert_pair_by_id(stone, (other, troy)).unwrap();
    world.check_pairs().unwrap();
}

#[test]
fn constraints_that_cannot_hold_are_rejected() {
    let mut world = World::new();
    let both = RelationTraits::new()
        .source(EndConstraint::with::<Person>())
        .source(EndConstraint::without::<Person>());
    let error = world.spawn_relation("R", both).unwrap_err();
    assert!(error.to_string().ends_with("`source(C)` contradicts `source(!C)`"), "{error}");
    let no_default =
        RelationTraits::new().target(EndConstraint::with::<City>()).on_missing(OnMissing::Insert);
    let error = world.spawn_relation("R", no_default).unwrap_err();
    assert!(matches!(&error, TraitsError::NoDefaultToInsert { .. }), "{error}");
    assert!(error.to_string().contains("City"), "{error}");
    let unknown = RelationTraits::new().source(EndConstraint::with_id(ComponentIdOf::unknown()));
    let error = world.spawn_relation("R", unknown).unwrap_err();
    assert!(matches!(&error, TraitsError::UnknownComponent { .. }), "{error}");
    // Of one component by its type and by its id.
    let id = world.register_component::<Person>();
    for contrary in [
        RelationTraits::new().source(EndConstraint::with_id(id)).source(EndConstraint::without::<Person>()),
        RelationTraits::new().source(EndConstraint::without_id(id)).source(EndConstraint::with::<Person>()),
        // Both ends of a symmetric pair are sources.
        RelationTraits::new()
            .symmetric()
            .source(EndConstraint::with::<Person>())
            .target(EndConstraint::without_id(id)),
    ] {
        let error = world.spawn_relation("R", contrary).unwrap_err();
        assert!(matches!(&error, TraitsError::Conflict { .. }), "{error}");
        assert!(error.to_string().contains("`source(C)` contradicts"), "{error}");
    }
    let both = RelationTraits::new()
        .source(EndConstraint::with_id(id))
        .source(EndConstraint::with_default::<Person>())
        .target(EndConstraint::without_id(id))
        .on_missing(OnMissing::Insert);
    let r = world.spawn_relation("R", both).unwrap();
    let [a, b] = spawn(&mut world);
    world.insert_pair_by_id(a, (r, b)).unwrap();
    assert!(world.entity(a).contains::<Person>() && !world.entity(b).contains::<Person>());
    let person = RelationTraits::new().source(EndConstraint::with::<Person>());
    let child_of = world.entity_of::<ChildOf>();
    assert!(world.set_traits(child_of, person.clone()).is_err());
    // Too late.
    let r = world.spawn_relation("R", RelationTraits::new()).unwrap();
    let [a, b] = spawn(&mut world);
    world.insert_pair_by_id(a, (r, b)).unwrap();
    assert!(matches!(world.set_traits(r, person), Err(TraitsError::Frozen { .. })));
    world.check_pairs().unwrap();
}

struct ComponentIdOf;

impl ComponentIdOf {
    /// An id that no world has.
    fn unknown() -> bevy_ecs::component::ComponentId {
        bevy_ecs::component::ComponentId::new(1 << 30)
    }
}

#[test]
fn constraints_are_written_as_text_and_not_read() {
    assert_eq!(LivesIn::traits().to_string(), "source(Person), target(City, !Ruin)");
    assert_eq!(Visits::traits().to_string(), "source(Person), target(!Ruin), on_missing = Warn");
    assert_eq!("on_missing = Warn".parse(), Ok(RelationTraits::new().on_missing(OnMissing::Warn)));
    let error = "source(Person)".parse::<RelationTraits>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "`source` cannot be read from text, since `source(Person)` names a type, an entity or a function: call `RelationTraits::source`"
    );
    assert_eq!(LivesIn::traits(), LivesIn::traits());
    assert_ne!(LivesIn::traits(), Visits::traits());
}

#[test]
fn clones_are_checked_with_the_components_that_they_have() {
    let mut world = world_that_records_errors();
    let [ann, rome, ..] = people(&mut world);
    world.insert_pair(ann, LivesIn, rome).unwrap();
    let twin = world.entity_mut(ann).clone_and_spawn();
    assert_eq!(take_reported_errors(), [""; 0]);
    assert!(world.has_pair::<LivesIn>(twin, rome));
    // Without the component the pair is not kept.
    let mut cloner = EntityCloner::build_opt_out(&mut world);
    cloner.deny::<Person>();
    let ghost = cloner.finish().spawn_clone(&mut world, ann);
    world.flush();
    assert!(!world.has_pair::<LivesIn>(ghost, rome));
    assert!(take_reported_errors()[0].contains("must have `Person`"));
    // Both ends are cloned, the source first.
    let country = world.spawn_empty().id();
    world.entity_mut(ann).insert(ChildOf(country));
    world.entity_mut(rome).insert(ChildOf(country));
    let mut cloner = EntityCloner::build_opt_out(&mut world);
    cloner.linked_cloning(true);
    let copy = cloner.finish().spawn_clone(&mut world, country);
    world.flush();
    let children: Vec<Entity> = world.pairs::<ChildOf>().sources(copy).collect();
    assert_eq!(take_reported_errors(), [""; 0]);
    assert!(world.has_pair::<LivesIn>(children[0], children[1]));
    world.check_pairs().unwrap();
}

#[test]
fn observers_that_were_despawned_are_spawned_again_and_make_up_for_what_they_missed() {
    let mut world = world_that_records_errors();
    let [ann, rome, ..] = people(&mut world);
    world.insert_pair(ann, LivesIn, rome).unwrap();
    let observers: Vec<Entity> = world.query_filtered::<Entity, With<Observer>>().iter(&world).collect();
    for observer in observers {
        world.despawn(observer);
    }
    world.entity_mut(ann).remove::<Person>();
    world.maintain_pairs();
    world.flush();
    assert!(!world.has_pair::<LivesIn>(ann, rome));
    world.insert_pair(ann, LivesIn, rome).unwrap_err();
    world.entity_mut(ann).insert(Person);
    world.insert_pair(ann, LivesIn, rome).unwrap();
    world.entity_mut(ann).remove::<Person>();
    assert!(!world.has_pair::<LivesIn>(ann, rome));
    world.check_pairs().unwrap();
}

#[test]
fn relations_without_constraints_do_not_watch_components() {
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, WorksElsewhere, b).unwrap();
    world.entity_mut(a).insert(Person);
    let before = dump(&world);
    world.entity_mut(a).remove::<Person>();
    assert_eq!(dump(&world), before);
}

#[derive(Relation)]
struct WorksElsewhere;

#[test]
fn random_changes_leave_only_pairs_whose_ends_are_what_they_must_be() {
    let mut random = Random(0x1234_5678_9abc_def1);
    for round in 0..fewer(150) {
        let mut world = world_that_records_errors();
        if round % 2 == 0 {
            world.add_observer(|_: On<PairRemoved<LivesIn>>| {});
        }
        let mut entities: Vec<Entity> = (0..8).map(|_| world.spawn_empty().id()).collect();
        let mut model: Vec<(Entity, Entity)> = Vec::new();
        for step in 0..60 {
            let (at, other) = (random.below(8), random.below(8));
            let (entity, target) = (entities[at], entities[other]);
            let holds = |world: &World, (source, target): (Entity, Entity)| {
                world.get::<Person>(source).is_some()
                    && world.get::<City>(target).is_some()
                    && world.get::<Ruin>(target).is_none()
            };
            match random.below(10) {
                0 => _ = world.entity_mut(entity).insert((Person, City)),
                1 => _ = world.entity_mut(entity).insert(City),
                2 => _ = world.entity_mut(entity).remove::<Person>(),
                3 => _ = world.entity_mut(entity).remove::<City>(),
                4 if random.below(3) == 0 => _ = world.entity_mut(entity).insert(Ruin),
                5 => _ = world.entity_mut(entity).remove::<Ruin>(),
                6 if random.below(4) == 0 => {
                    world.despawn(entity);
                    model.retain(|&(source, target)| source != entity && target != entity);
                    assert!(take_errors().is_empty(), "step {step} of round {round}");
                    entities[at] = world.spawn((Person, City)).id();
                }
                7 => {
                    world.remove_pair::<LivesIn>(entity, target);
                    model.retain(|&pair| pair != (entity, target));
                }
                _ => {
                    let is_right = holds(&world, (entity, target));
                    let known = model.contains(&(entity, target));
                    assert_eq!(world.insert_pair(entity, LivesIn, target).is_ok(), is_right);
                    if is_right && !known {
                        model.push((entity, target));
                    }
                }
            }
            let before = model.len();
            model.retain(|&pair| holds(&world, pair));
            let errors = take_errors();
            assert_eq!(errors.len(), before - model.len(), "{errors:?}, step {step} of round {round}");
            let mut pairs: Vec<_> = world.pairs::<LivesIn>().iter().collect();
            pairs.sort_unstable();
            model.sort_unstable();
            assert_eq!(pairs, model, "step {step} of round {round}");
            world.check_pairs().unwrap();
        }
    }
}

#[derive(Relation)]
#[relation(with = Lodges)]
struct Rents;

/// Registered after the relation whose companion it is.
#[derive(Relation)]
#[relation(source(Person), target(City))]
struct Lodges;

#[test]
fn companions_of_the_pairs_of_a_clone_are_checked_when_the_clone_has_its_components() {
    let mut world = world_that_records_errors();
    let [ann, rome, ..] = people(&mut world);
    let clone_of = |world: &mut World, original| {
        let clone = world.spawn_empty().id();
        EntityCloner::build_opt_out(world).clone_entity(original, clone);
        world.flush();
        world.check_pairs().unwrap();
        clone
    };
    world.insert_pair(ann, Rents, rome).unwrap();
    let clone = clone_of(&mut world, ann);
    assert!(world.has_pair::<Rents>(clone, rome) && world.has_pair::<Lodges>(clone, rome));
    assert!(take_errors().is_empty());
    // The other end is no clone: it is checked at once.
    world.entity_mut(rome).remove::<City>();
    assert!(world.has_pair::<Rents>(ann, rome) && !world.has_pair::<Lodges>(ann, rome));
    take_errors();
    let clone = clone_of(&mut world, ann);
    assert!(!world.has_pair::<Lodges>(clone, rome));
    let errors = take_errors();
    assert!(errors.len() == 1 && errors[0].1.contains("the target must have `City`"), "{errors:?}");
}
