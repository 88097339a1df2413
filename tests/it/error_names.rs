//! Errors name entities by their `Name`, and commands by the place where they were queued; commands that report nothing.

use bevy_ecs::{
    error::{BevyError, ErrorContext, FallbackErrorHandler, Severity},
    prelude::*,
};
use bevy_relations::{
    disabling::CommandsDisablingExt,
    error::{DespawnError, InsertPairError, ReorderError},
    id::Slot,
    prefab::CommandsPrefabExt,
    prelude::*,
    traverse::Direction,
};
use core::cell::RefCell;

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct StoredIn;

#[derive(Relation)]
#[relation(on_target_despawn = Refuse)]
struct Guards;

#[derive(Relation)]
#[relation(one_of)]
struct Rank;

#[derive(EntityEvent, Clone)]
#[entity_event(propagate)]
struct Passed(Entity);

fn named<const N: usize>(world: &mut World, names: [&'static str; N]) -> [Entity; N] {
    names.map(|name| world.spawn(Name::new(name)).id())
}

#[test]
fn a_cycle_is_reported_with_the_names_of_its_entities() {
    let mut world = World::new();
    let [chest, bag] = named(&mut world, ["Chest", "Bag"]);
    let coin = world.spawn_empty().id();
    world.insert_pair(bag, StoredIn, chest).unwrap();
    world.insert_pair(coin, StoredIn, bag).unwrap();
    let error = world.insert_pair(chest, StoredIn, coin).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "(StoredIn, {coin}) on Chest ({chest}) would close the cycle \
             Chest ({chest}) -> {coin} -> Bag ({bag}) -> Chest ({chest})"
        )
    );
    let InsertPairError::Cycle { pair, path } = error else { panic!("{error}") };
    assert_eq!((pair.source_entity.name(), pair.target.name()), (Some("Chest"), None));
    assert!(pair.source_entity == chest && pair.target == coin);
    assert_eq!(path.entities(), [chest, coin, bag, chest]);
}

#[test]
fn a_pair_with_a_wildcard_is_reported_with_the_names_of_its_other_element() {
    let mut world = World::new();
    let [chest] = named(&mut world, ["Chest"]);
    let stored_in = world.register_relation::<StoredIn>().unwrap();
    let fee = world.spawn_relation("Fee", RelationTraits::new()).unwrap();
    for (pair, shown) in [
        (PairId::with_relation(stored_in), "(StoredIn, *)".to_string()),
        (PairId::new(fee, Slot::Any), "(Fee, _)".to_string()),
        (PairId::with_target(chest), format!("(*, Chest ({chest}))")),
        (PairId::ALL, "(*, *)".to_string()),
    ] {
        let error = world.insert_pair_by_id(chest, pair).unwrap_err();
        let expected = format!("cannot insert {shown} on Chest ({chest}): a stored pair names two entities");
        assert_eq!(error.to_string(), expected);
        let InsertPairError::Wildcard { pair: found, .. } = error else { panic!("{error}") };
        assert_eq!((found.pair(), found.to_string()), (pair, shown));
    }
    // Nothing has used relations in this world yet.
    let mut world = World::new();
    let [chest] = named(&mut world, ["Chest"]);
    let error = world.insert_pair_by_id(chest, PairId::with_target(chest)).unwrap_err();
    assert!(error.to_string().contains(&format!("(*, Chest ({chest}))")), "{error}");
}

#[test]
fn whatever_an_insertion_is_refused_for_is_reported_with_names() {
    let mut world = World::new();
    let [alice, bob, dead] = named(&mut world, ["Alice", "Bob", "Dead"]);
    let rank = world.register_relation::<Rank>().unwrap();
    world.despawn(dead);
    let error = world.insert_pair(alice, Guards, dead).unwrap_err();
    let expected = format!("cannot insert (Guards, {dead}) on Alice ({alice}): the target is not alive");
    assert_eq!(error.to_string(), expected);
    let error = world.insert_pair(alice, Rank, bob).unwrap_err();
    let expected = format!(
        "cannot insert (Rank, Bob ({bob})) on Alice ({alice}): the target must be a child of Rank ({rank})"
    );
    assert_eq!(error.to_string(), expected);
    let error = world.insert_pair_by_id(alice, (rank, Slot::Wildcard)).unwrap_err();
    let expected = format!("cannot insert (Rank, *) on Alice ({alice}): a stored pair names two entities");
    assert_eq!(error.to_string(), expected);
    let error = world.order_sources::<Guards>(bob, &[]).unwrap_err();
    assert!(matches!(&error, ReorderError::NotOrdered { target, .. } if *target == bob), "{error}");
    assert!(error.to_string().contains(&format!("Bob ({bob})")), "{error}");
}

#[test]
fn what_may_not_be_despawned_is_reported_with_names() {
    let mut world = World::new();
    let [gate, guard] = named(&mut world, ["Gate", "Guard"]);
    world.insert_pair(guard, Guards, gate).unwrap();
    let error = world.despawn_with_dependents(gate).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "Gate ({gate}) cannot be despawned: Guard ({guard}) has (Guards, Gate ({gate})), whose policy for its \
             target, Gate ({gate}), is `Refuse`"
        )
    );
    assert!(matches!(error, DespawnError::InUse { source_entity, .. } if source_entity == guard));
}

#[test]
fn a_pair_is_displayed_with_the_names_of_its_elements() {
    let mut world = World::new();
    let [chest] = named(&mut world, ["Chest"]);
    let stored_in = world.register_relation::<StoredIn>().unwrap();
    let other = world.spawn_empty().id();
    let shown = |pair: PairId| pair.display(&world).to_string();
    assert_eq!(shown((stored_in, chest).into()), format!("(StoredIn, Chest ({chest}))"));
    assert_eq!(shown((other, Slot::Any).into()), format!("({other}, _)"));
    assert_eq!(shown(PairId::with_target(chest)), format!("(*, Chest ({chest}))"));
}

thread_local! {
    static ERRORS: RefCell<Vec<(Severity, String)>> = const { RefCell::new(Vec::new()) };
}

fn record(error: BevyError, _: ErrorContext) {
    ERRORS.with_borrow_mut(|errors| errors.push((error.severity(), error.to_string())));
}

#[test]
fn a_refused_command_reports_where_it_was_queued() {
    let mut world = World::new();
    world.insert_resource(FallbackErrorHandler(record));
    let [alice, bob, dead] = named(&mut world, ["Alice", "Bob", "Dead"]);
    world.despawn(dead);
    let stored_in = world.register_relation::<StoredIn>().unwrap();
    world.insert_pair(bob, Guards, alice).unwrap();
    world.insert_pair(alice, StoredIn, bob).unwrap();
    let guards = world.register_relation::<Guards>().unwrap();
    let mut lines = Vec::new();
    let mut commands = world.commands();
    macro_rules! at_this_line {
        ($command:expr) => {{
            lines.push(line!());
            _ = $command;
        }};
    }
    at_this_line!(commands.entity(alice).insert_pair(StoredIn, dead));
    at_this_line!(commands.entity(alice).insert_pair_by_id((stored_in, dead)));
    at_this_line!(commands.entity(alice).insert_pair_value_by_id((stored_in, bob), 5_u8));
    at_this_line!(commands.entity(alice).insert_pair_to::<StoredIn, u16>(5_u8));
    at_this_line!(commands.entity(alice).insert_pairs([(StoredIn, dead)]));
    at_this_line!(commands.entity(alice).insert_relationship(ChildOf(dead)));
    at_this_line!(commands.entity(bob).try_insert_pair(StoredIn, alice));
    at_this_line!(commands.entity(bob).try_insert_pair_by_id((stored_in, alice)));
    at_this_line!(commands.entity(alice).replace_targets([(StoredIn, dead)]));
    at_this_line!(commands.entity(bob).move_sources::<StoredIn>(dead));
    at_this_line!(commands.entity(alice).insert_tag(dead));
    at_this_line!(commands.entity(dead).remove_pair::<StoredIn>(bob));
    at_this_line!(commands.entity(dead).remove_pairs::<StoredIn>());
    at_this_line!(commands.entity(dead).remove_pairs_by_id(PairId::with_target(bob)));
    at_this_line!(commands.entity(dead).remove_tag(bob));
    at_this_line!(commands.entity(alice).despawn_with_dependents());
    at_this_line!(commands.insert_pair_batch([(alice, StoredIn, dead)]));
    at_this_line!(commands.pair_batch::<StoredIn>().insert(alice, StoredIn, dead));
    at_this_line!(commands.spawn_batch_with_pair([((), StoredIn, dead)]));
    at_this_line!(commands.move_sources::<StoredIn>(bob, dead));
    at_this_line!(commands.despawn_sources((stored_in, bob)));
    at_this_line!(commands.trigger_along_by_id(guards, Passed(bob), Direction::Sources));
    at_this_line!(commands.disable_below::<StoredIn>(dead));
    at_this_line!(commands.enable_below::<StoredIn>(bob));
    at_this_line!(commands.disable_below_by_id(stored_in, dead));
    at_this_line!(commands.enable_below_by_id(stored_in, bob));
    at_this_line!(commands.instantiate(bob));
    world.flush();
    let errors = ERRORS.take();
    assert_eq!(errors.len(), lines.len(), "{errors:?}");
    for ((severity, error), line) in errors.into_iter().zip(lines) {
        assert_eq!(severity, Severity::Error);
        let place = format!("tests/it/error_names.rs:{line}:");
        assert!(error.starts_with(&place), "{error} at line {line}");
    }
}

#[test]
fn quiet_commands_report_what_is_wrong_but_not_what_is_gone() {
    let mut world = World::new();
    world.insert_resource(FallbackErrorHandler(record));
    let [chest, bag, dead] = named(&mut world, ["Chest", "Bag", "Dead"]);
    world.despawn(dead);
    world.insert_pair(chest, StoredIn, bag).unwrap();
    let stored_in = world.register_relation::<StoredIn>().unwrap();
    let mut commands = world.commands();
    commands.entity(chest).try_insert_pair(StoredIn, dead).try_insert_pair_by_id((stored_in, dead));
    commands.entity(dead).try_insert_pair(StoredIn, bag).try_remove_pair::<StoredIn>(bag);
    world.flush();
    assert_eq!(ERRORS.take(), []);
    assert_eq!(world.pairs::<StoredIn>().iter().collect::<Vec<_>>(), [(chest, bag)]);
    world.commands().entity(bag).try_insert_pair(StoredIn, chest);
    world.commands().entity(bag).try_insert_pair_by_id((dead, chest));
    world.flush();
    let errors = ERRORS.take();
    assert!(errors[0].1.contains("cycle") && errors[1].1.contains("the relation is not alive"), "{errors:?}");
    world.commands().entity(chest).try_remove_pair::<StoredIn>(bag);
    world.flush();
    assert!(world.pairs::<StoredIn>().is_empty());
}

#[test]
fn a_pair_that_is_refused_in_a_bundle_reports_where_it_was_made() {
    #[derive(Component, Clone)]
    struct Ship;

    let mut world = World::new();
    world.insert_resource(FallbackErrorHandler(record));
    let [alice, dead] = named(&mut world, ["Alice", "Dead"]);
    world.despawn(dead);
    let mut lines = Vec::new();
    macro_rules! at_this_line {
        ($bundle:expr) => {{
            lines.push(line!());
            $bundle
        }};
    }
    ERRORS.take();
    let pair = at_this_line!(Pair(Guards, dead));
    world.spawn((Ship, pair));
    let pairs = at_this_line!(pairs![(Guards, alice), (Guards, dead)]);
    world.entity_mut(alice).insert(pairs);
    let target = at_this_line!((Ship, Pair(Rank, alice)));
    world.commands().spawn(target);
    let target = at_this_line!(pairs![(Rank, alice)]);
    world.commands().entity(alice).insert(target);
    world.flush();
    // Sources that are spawned are children of no relation.
    let sources = at_this_line!(sources![Rank: Ship, Name::new("Gun")]);
    world.spawn(sources);
    lines.push(*lines.last().unwrap());
    lines.push(line!() + 1);
    world.spawn_batch_with_pair([(Ship, Guards, dead)]);

    let errors = ERRORS.take();
    let places: Vec<String> = lines.iter().map(|line| format!("{}:{line}:", file!())).collect();
    assert_eq!(errors.len(), places.len(), "{errors:#?}");
    for ((severity, error), place) in errors.iter().zip(places) {
        assert!(error.contains(&place) && *severity == Severity::Error, "{error} at {place}");
    }
    // All else of the bundles is there.
    assert_eq!(world.query::<&Ship>().iter(&world).count(), 4);
    assert!(world.has_pair::<Guards>(alice, alice));
    world.check_pairs().unwrap();
}

#[test]
fn a_pair_of_a_bundle_is_written_as_it_is_made() {
    #[derive(Relation, Debug)]
    struct Near;

    let target = World::new().spawn_empty().id();
    const MAKE: fn(Near, Entity) -> Pair<Near> = Pair;
    let pair = MAKE(Near, target);
    assert_eq!(format!("{pair:?}"), format!("Pair(Near, {target:?})"));
}
