//! Relations with `storage = "Table"`: a component on each source has its first target.
//!
//! What a program can do to it, apart from changing pairs: clear an entity, retain or take some of its components, remove this one
//! by its id, clone the entity, despawn an end or the relation, clear the resources, observe it and act, panic there. The
//! random histories of [`model`](crate::model) have relations of both storages.

use crate::common::{CrewOf, fewer, spawn, take_reported_errors, world_that_records_errors};
use bevy_ecs::{
    component::ComponentId,
    entity::EntityCloner,
    entity_disabling::Disabled,
    lifecycle::{Add, Insert, Remove},
    observer::Observer,
    prelude::*,
    resource::IsResource,
    system::RunSystemOnce,
    world::DeferredWorld,
};
use bevy_relations::{
    error::TraitsError,
    expr::PairExpr,
    prelude::*,
    query::{LeafOf, RootOf, Target, Unrelated},
    relation::RelationStorage,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Component, Clone)]
struct Ship;

#[derive(Relation)]
#[relation(exclusive, storage = "Table")]
struct DockedTo;

#[derive(Relation)]
#[relation(storage = "Table")]
struct Hears;

#[derive(Relation, Clone, PartialEq, Debug)]
#[relation(storage = "Table")]
struct Eats(u32);

#[derive(Relation)]
#[relation(exclusive, symmetric, storage = "Table")]
struct DancesWith;

#[derive(Relation)]
#[relation(exclusive, traversable, on_target_despawn = Despawn, storage = "Table")]
struct MountedOn;

/// In the store alone.
#[derive(Relation)]
struct Likes;

/// What all entities of a world have in common that have a pair of a relation and nothing else, apart from what those of `Likes`
/// have.
fn component(world: &mut World, insert: impl FnOnce(&mut World, Entity, Entity)) -> ComponentId {
    let [plain, source, target] = spawn(world);
    world.insert_pair(plain, Likes, target).unwrap();
    insert(world, source, target);
    let known: Vec<_> = world.entity(plain).archetype().iter_components().collect();
    let mut own: Vec<_> = world.entity(source).archetype().iter_components().collect();
    own.retain(|component| !known.contains(component));
    for entity in [plain, source, target] {
        world.despawn(entity);
    }
    assert_eq!(own.len(), 1);
    own[0]
}

fn component_of_docked(world: &mut World) -> ComponentId {
    component(world, |world, source, target| world.insert_pair(source, DockedTo, target).unwrap())
}

/// Sources by every way that looks at tables, which must agree with the store.
#[track_caller]
fn sources<R: Relation>(world: &mut World) -> Vec<Entity> {
    world.check_pairs().unwrap();
    sources_within::<R>(world)
}

/// [`sources`] in the middle of an operation.
#[track_caller]
fn sources_within<R: Relation>(world: &mut World) -> Vec<Entity> {
    let mut stored: Vec<_> = world.pairs::<R>().iter().map(|(source, _)| source).collect();
    let sorted = |mut list: Vec<Entity>| {
        list.sort_unstable_by_key(|entity| entity.index_u32());
        list
    };
    stored = sorted(stored);
    stored.dedup();
    let related = world.query_filtered::<Entity, (Related<R>, Allow<Disabled>)>().iter(world).collect();
    assert_eq!(sorted(related), stored, "Related");
    let targets: Vec<_> = world
        .query_filtered::<(Entity, Target<R>), Allow<Disabled>>()
        .iter(world)
        .map(|(source, target)| (source, *target))
        .collect();
    assert_eq!(sorted(targets.iter().map(|(source, _)| *source).collect()), stored, "Target");
    let first = |&(source, target): &(Entity, Entity)| world.pairs::<R>().target(source) == Some(target);
    assert!(targets.iter().all(first));
    let unrelated: Vec<_> =
        world.query_filtered::<Entity, (Unrelated<R>, Allow<Disabled>)>().iter(world).collect();
    assert!(unrelated.iter().all(|entity| !stored.contains(entity)));
    stored
}

#[test]
fn the_component_comes_with_the_first_pair_and_goes_with_the_last() {
    let mut world = World::new();
    let docked = component_of_docked(&mut world);
    let hears =
        component(&mut world, |world, source, target| world.insert_pair(source, Hears, target).unwrap());
    let [a, b, c] = spawn(&mut world);
    let has = |world: &World, entity: Entity| [docked, hears].map(|id| world.entity(entity).contains_id(id));
    world.insert_pair(a, DockedTo, b).unwrap();
    assert_eq!(has(&world, a), [true, false]);
    assert_eq!([has(&world, b), has(&world, c)], [[false; 2]; 2]);
    let archetype = world.entity(a).archetype().id();
    world.insert_pair(a, DockedTo, c).unwrap();
    assert_eq!(world.entity(a).archetype().id(), archetype, "another target is written in place");
    assert_eq!(sources::<DockedTo>(&mut world), [a]);
    world.insert_pair_batch([(a, Hears, b), (a, Hears, c)]).unwrap();
    world.remove_pair::<Hears>(a, b);
    assert_eq!(has(&world, a), [true, true]);
    assert_eq!(sources::<Hears>(&mut world), [a]);
    world.remove_pair::<Hears>(a, c);
    world.remove_pairs::<DockedTo>(a);
    assert_eq!(has(&world, a), [false; 2]);
    assert!(sources::<Hears>(&mut world).is_empty() && sources::<DockedTo>(&mut world).is_empty());
}

#[test]
fn every_verb_that_changes_pairs_keeps_it_right() {
    let mut world = World::new();
    let [a, b, c, d] = spawn(&mut world);
    world.replace_targets(a, [(Hears, b), (Hears, c)]).unwrap();
    world.replace_targets(a, [(Hears, c), (Hears, b), (Hears, d)]).unwrap();
    assert_eq!(sources::<Hears>(&mut world), [a]);
    world.move_sources::<Hears>(b, a).unwrap();
    assert_eq!(sources::<Hears>(&mut world), [a]);
    world.insert_pair(b, Eats(1), a).unwrap();
    world.insert_pair(b, Eats(2), a).unwrap();
    assert_eq!(sources::<Eats>(&mut world), [b]);
    world.insert_pair(a, DancesWith, b).unwrap();
    assert_eq!(sources::<DancesWith>(&mut world), [a, b]);
    world.insert_pair(c, DancesWith, a).unwrap();
    assert_eq!(sources::<DancesWith>(&mut world), [a, c], "both former partners are released");
    let spawned = world.spawn((pairs![(DockedTo, a), (Hears, b)], Ship)).id();
    let others = world.spawn_batch_with_pair([(Ship, DockedTo, a), (Ship, DockedTo, b)]);
    let mut commands = world.commands();
    commands.entity(c).insert_pair(DockedTo, d);
    let bundled = commands.spawn((Ship, Pair(Eats(3), d))).id();
    commands.pair_batch::<Hears>().insert(d, Hears, a).insert(d, Hears, b).remove(d, a);
    world.flush();
    assert_eq!(sources::<DockedTo>(&mut world), [vec![c, spawned], others].concat());
    assert_eq!(sources::<Eats>(&mut world), [b, bundled]);
    assert_eq!(sources::<Hears>(&mut world), [a, d, spawned]);
    world.remove_pairs_everywhere(PairId::with_target(b));
    assert_eq!(sources::<Hears>(&mut world), [a]);
    world.clear_pairs();
    assert!(sources::<DockedTo>(&mut world).is_empty() && sources::<Eats>(&mut world).is_empty());
    world.insert_pair(a, DockedTo, b).unwrap();
    assert_eq!(sources::<DockedTo>(&mut world), [a]);
}

#[test]
fn it_goes_with_an_end_or_the_relation() {
    let mut world = World::new();
    let docked = component_of_docked(&mut world);
    let [a, b, c, d] = spawn(&mut world);
    world.insert_pair_batch([(a, DockedTo, d), (b, DockedTo, d), (c, DockedTo, b)]).unwrap();
    world.despawn(b);
    assert_eq!(sources::<DockedTo>(&mut world), [a]);
    world.despawn(d);
    assert!(!world.entity(a).contains_id(docked));
    let [d, e] = spawn(&mut world);
    world.insert_pair_batch([(a, MountedOn, c), (c, MountedOn, d), (d, MountedOn, e)]).unwrap();
    world.despawn(d);
    assert!(sources::<MountedOn>(&mut world).is_empty());
    assert!(world.get_entity(a).is_err() && world.get_entity(c).is_err());
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, DockedTo, b).unwrap();
    let relation = world.entity_of::<DockedTo>();
    world.entity_mut(relation).despawn();
    take_reported_errors();
    assert!(!world.entity(a).contains_id(docked));
    world.insert_pair(b, DockedTo, a).unwrap();
    assert_eq!(sources::<DockedTo>(&mut world), [b]);
    assert!(world.entity(b).contains_id(docked), "the type keeps its component");
}

#[test]
fn what_takes_it_from_an_entity_that_keeps_its_pairs_does_not_keep_it() {
    let mut world = World::new();
    let docked = component_of_docked(&mut world);
    let [a, b] = spawn(&mut world);
    let ship = world.spawn((Ship, Pair(DockedTo, a))).id();
    world.entity_mut(ship).retain::<Ship>();
    assert!(world.entity(ship).contains_id(docked));
    assert_eq!(sources::<DockedTo>(&mut world), [ship]);
    world.entity_mut(ship).remove_by_id(docked);
    assert!(world.entity(ship).contains_id(docked));
    let marker: Vec<_> = world.entity(b).archetype().iter_components().collect();
    assert!(marker.is_empty());
    assert!(world.entity_mut(ship).take::<Ship>().is_some());
    assert_eq!(sources::<DockedTo>(&mut world), [ship]);
    world.entity_mut(ship).move_components::<Ship>(b);
    assert_eq!(sources::<DockedTo>(&mut world), [ship]);
    world.entity_mut(ship).clear();
    assert!(!world.entity(ship).contains_id(docked), "its own pairs are gone");
    assert!(sources::<DockedTo>(&mut world).is_empty());
}

#[test]
fn clones_get_it_from_their_pairs_and_not_from_the_original() {
    let mut world = World::new();
    let [docked, dances] = [
        component_of_docked(&mut world),
        component(&mut world, |world, source, target| world.insert_pair(source, DancesWith, target).unwrap()),
    ];
    let [a, b, clone] = spawn(&mut world);
    world.insert_pair(a, DockedTo, b).unwrap();
    world.insert_pair(a, DancesWith, b).unwrap();
    EntityCloner::build_opt_out(&mut world).clone_entity(a, clone);
    assert!(world.entity(clone).contains_id(docked));
    assert!(!world.entity(clone).contains_id(dances), "the partner stays with the original");
    assert_eq!(sources::<DockedTo>(&mut world), [a, clone]);
    assert_eq!(sources::<DancesWith>(&mut world), [a, b]);
    let moved = world.spawn_empty().id();
    EntityCloner::build_opt_out(&mut world).move_components(true).clone_entity(clone, moved);
    assert_eq!(sources::<DockedTo>(&mut world), [a, clone]);
}

/// What an observer finds by the tables, compared with what the store says.
fn compare_within(world: &mut DeferredWorld) {
    world.commands().queue(|world: &mut World| {
        sources_within::<DockedTo>(world);
        sources_within::<Hears>(world);
        sources_within::<MountedOn>(world);
    });
}

#[test]
fn observers_read_what_the_store_says_while_the_component_is_still_to_be_written() {
    type Read<'w, 's> = Query<'w, 's, (Entity, Option<Target<DockedTo>>, Has<Ship>)>;
    #[derive(Resource, Default)]
    struct Seen(Vec<(Entity, Option<Entity>, bool)>);
    let mut world = World::new();
    world.init_resource::<Seen>();
    let [a, b] = spawn(&mut world);
    let look = |on: Entity, all: Read, related: Query<(), Related<DockedTo>>, seen: &mut Seen| {
        let (_, target, _) = all.get(on).unwrap();
        seen.0.push((on, target.map(|target| *target), related.contains(on)));
    };
    world.add_observer(
        move |on: On<PairInserted<DockedTo>>,
              all: Read,
              related: Query<(), Related<DockedTo>>,
              mut seen: ResMut<Seen>| {
            look(on.source, all, related, &mut seen);
        },
    );
    world.add_observer(
        move |on: On<PairRemoved<DockedTo>>,
              all: Read,
              related: Query<(), Related<DockedTo>>,
              mut seen: ResMut<Seen>| {
            look(on.source, all, related, &mut seen);
        },
    );
    world.add_observer(
        move |on: On<Remove<Ship>>,
              all: Read,
              related: Query<(), Related<DockedTo>>,
              mut seen: ResMut<Seen>| {
            look(on.entity, all, related, &mut seen);
        },
    );
    let ship = world.spawn(Ship).id();
    world.insert_pair(ship, DockedTo, a).unwrap();
    world.insert_pair(ship, DockedTo, b).unwrap();
    world.despawn(b);
    world.insert_pair(ship, DockedTo, a).unwrap();
    world.despawn(ship);
    assert_eq!(
        world.resource::<Seen>().0,
        [
            (ship, Some(a), true),
            (ship, Some(a), true),
            (ship, Some(b), true),
            (ship, Some(b), true),
            (ship, Some(a), true),
            (ship, Some(a), true),
            (ship, None, false),
        ]
    );
}

#[test]
fn commands_of_observers_in_the_middle_of_operations_find_tables_and_store_in_agreement() {
    let mut world = World::new();
    let docked = component_of_docked(&mut world);
    world.add_observer(|_: On<PairInserted<Hears>>, mut world: DeferredWorld| compare_within(&mut world));
    world.add_observer(|_: On<PairRemoved<MountedOn>>, mut world: DeferredWorld| compare_within(&mut world));
    world.add_observer(|on: On<PairInserted<DockedTo>>, mut commands: Commands| {
        commands.entity(on.source).insert_pair(Hears, on.target).insert_pair(MountedOn, on.target);
    });
    world.spawn(
        Observer::new(|_: On<Add<()>>, mut world: DeferredWorld| compare_within(&mut world))
            .with_component(docked),
    );
    world.spawn(
        Observer::new(|on: On<Remove<()>>, mut commands: Commands| {
            commands.entity(on.entity).remove_pairs::<Hears>();
        })
        .with_component(docked),
    );
    let [a, b, c] = spawn(&mut world);
    world.insert_pair(a, DockedTo, b).unwrap();
    assert_eq!(sources::<Hears>(&mut world), [a]);
    world.insert_pair(a, DockedTo, c).unwrap();
    world.remove_pair::<DockedTo>(a, c);
    assert!(sources::<Hears>(&mut world).is_empty(), "observers of the component may change pairs");
    assert_eq!(sources::<MountedOn>(&mut world), [a]);
    world.despawn(c);
    assert!(world.get_entity(a).is_err());
    compare_within(&mut DeferredWorld::from(&mut world));
    world.flush();
}

#[test]
fn an_observer_that_takes_it_away_each_time_costs_speed_and_nothing_else() {
    let mut world = World::new();
    let docked = component_of_docked(&mut world);
    let greedy = Observer::new(move |on: On<Insert<()>>, mut commands: Commands| {
        commands.entity(on.entity).queue(move |mut entity: EntityWorldMut| _ = entity.remove_by_id(docked));
    });
    let greedy = world.spawn(greedy.with_component(docked)).id();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, DockedTo, b).unwrap();
    assert!(!world.entity(a).contains_id(docked));
    assert_eq!(sources::<DockedTo>(&mut world), [a]);
    world.maintain_pairs();
    assert!(!world.entity(a).contains_id(docked));
    world.despawn(greedy);
    world.maintain_pairs();
    assert!(world.entity(a).contains_id(docked));
    assert_eq!(sources::<DockedTo>(&mut world), [a]);
}

#[test]
fn a_panic_in_an_observer_of_it_leaves_the_pairs_readable_and_is_made_up_for() {
    let mut world = World::new();
    let docked = component_of_docked(&mut world);
    let panicking = Observer::new(|_: On<Add<()>>| panic!("on purpose")).with_component(docked);
    let panicking = world.spawn(panicking).id();
    let [a, b, c] = spawn(&mut world);
    assert!(catch_unwind(AssertUnwindSafe(|| world.insert_pair(a, DockedTo, b))).is_err());
    assert_eq!(sources::<DockedTo>(&mut world), [a]);
    world.despawn(panicking);
    world.insert_pair(c, DockedTo, b).unwrap();
    assert_eq!(sources::<DockedTo>(&mut world), [a, c]);
    assert!([a, c].iter().all(|&entity| world.entity(entity).contains_id(docked)));
}

#[test]
fn a_store_that_is_lost_leaves_no_sources_behind() {
    let mut world = World::new();
    let docked = component_of_docked(&mut world);
    let [a, b, c] = spawn(&mut world);
    world.insert_pair_batch([(a, DockedTo, b), (b, DockedTo, c)]).unwrap();
    let mut related = world.query_filtered::<Entity, Related<DockedTo>>();
    assert_eq!(related.iter(&world).count(), 2);
    world.clear_resources();
    assert_eq!(related.iter(&world).count(), 0);
    world.insert_pair(c, DockedTo, a).unwrap();
    assert_eq!(related.iter(&world).collect::<Vec<_>>(), [c]);
    assert_eq!(sources::<DockedTo>(&mut world), [c]);
    let having = [a, b, c].map(|entity| world.entity(entity).contains_id(docked));
    assert_eq!(having, [false, false, true]);
}

#[test]
fn sources_that_are_disabled_have_it_too() {
    let mut world = World::new();
    let [a] = spawn(&mut world);
    let hidden = world.spawn((Disabled, Pair(DockedTo, a))).id();
    assert_eq!(world.query_filtered::<Entity, Related<DockedTo>>().iter(&world).count(), 0);
    assert_eq!(sources::<DockedTo>(&mut world), [hidden]);
    world.entity_mut(hidden).remove::<Disabled>();
    assert_eq!(world.query_filtered::<Entity, Related<DockedTo>>().iter(&world).count(), 1);
}

#[test]
fn roots_and_leaves_are_found_by_tables() {
    let mut world = World::new();
    let [root, middle, leaf] = spawn(&mut world);
    world.insert_pair_batch([(middle, MountedOn, root), (leaf, MountedOn, middle)]).unwrap();
    let roots = world.query_filtered::<Entity, RootOf<MountedOn>>().iter(&world).collect::<Vec<_>>();
    let leaves = world.query_filtered::<Entity, LeafOf<MountedOn>>().iter(&world).collect::<Vec<_>>();
    assert_eq!((roots, leaves), (vec![root], vec![leaf]));
}

#[test]
fn targets_come_with_their_values() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    world.insert_pair_batch([(a, Eats(1), b), (a, Eats(2), c)]).unwrap();
    let read = |all: Query<(Entity, Target<Eats>)>| {
        all.iter().map(|(source, target)| (source, *target, target.value().cloned())).collect::<Vec<_>>()
    };
    assert_eq!(world.run_system_once(read).unwrap(), [(a, b, Some(Eats(1)))]);
    world.remove_pair::<Eats>(a, b);
    assert_eq!(world.run_system_once(read).unwrap(), [(a, c, Some(Eats(2)))]);
}

#[test]
fn run_time_relations_share_their_components_one_after_the_other() {
    let mut world = world_that_records_errors();
    let [a, b] = spawn(&mut world);
    let traits = || RelationTraits::new().storage(RelationStorage::Table);
    let mut count = None;
    for _ in 0..20 {
        let [first, second] = [(); 2].map(|()| world.spawn_relation("R", traits()).unwrap());
        for relation in [first, second] {
            world.insert_pair_by_id(a, (relation, b)).unwrap();
            world.insert_pair_by_id(b, (relation, a)).unwrap();
            world.check_pairs().unwrap();
        }
        world.despawn(first);
        let third = world.spawn_relation("R", RelationTraits::new()).unwrap();
        world.insert_pair_by_id(a, (third, b)).unwrap();
        world.check_pairs().unwrap();
        world.despawn(third);
        world.despawn(second);
        world.check_pairs().unwrap();
        let left = world.entity(a).archetype().component_count();
        assert_eq!(left, 1, "the marker alone");
        let components = world.components().num_queued() + world.components().len();
        assert_eq!(*count.get_or_insert(components), components);
    }
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn many_retargets_make_no_archetypes() {
    let mut world = World::new();
    let targets: [Entity; 8] = spawn(&mut world);
    let ship = world.spawn(Ship).id();
    let mut known = None;
    for round in 0..fewer(10_000) {
        world.insert_pair(ship, DockedTo, targets[round % 8]).unwrap();
        let archetypes = world.archetypes().len();
        assert_eq!(*known.get_or_insert(archetypes), archetypes);
    }
    assert_eq!(sources::<DockedTo>(&mut world), [ship]);
}

#[test]
fn expressions_do_not_see_it() {
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, DockedTo, b).unwrap();
    world.insert_pair(a, Hears, b).unwrap();
    world.entity_mut(a).insert(Name::new("a"));
    let runtime = RelationTraits::new().storage(RelationStorage::Table);
    let runtime = world.spawn_relation("R", runtime).unwrap();
    world.insert_pair_by_id(a, (runtime, b)).unwrap();
    let mut all = PairExpr::parse("*(a)").unwrap().compile(&mut world).unwrap();
    assert_eq!(all.count(&world), Ok(1), "its name");
}

#[test]
fn expressions_skip_tables_and_find_what_the_store_says() {
    let mut world = World::new();
    world.register_component_name::<Ship>("Ship").register_relation::<DockedTo>().unwrap();
    let [mars, venus] = spawn(&mut world);
    world.entity_mut(mars).insert(Name::new("Mars"));
    let ships: Vec<Entity> = (0..40).map(|_| world.spawn(Ship).id()).collect();
    let texts =
        ["Ship, (DockedTo, *)", "Ship, !(DockedTo, *)", "Ship, (DockedTo, $p)", "Ship, ?(DockedTo, $p)"];
    let mut exprs = texts.map(|text| PairExpr::parse(text).unwrap().compile(&mut world).unwrap());
    for (number, &ship) in ships.iter().enumerate().filter(|(number, _)| number % 4 != 0) {
        world.insert_pair(ship, DockedTo, if number % 2 == 0 { mars } else { venus }).unwrap();
    }
    assert_eq!(exprs.each_mut().map(|expr| expr.count(&world).unwrap()), [30, 10, 30, 40]);
    world.despawn(venus);
    assert_eq!(exprs.each_mut().map(|expr| expr.count(&world).unwrap()), [10, 30, 10, 40]);
    world.add_observer(|on: On<PairInserted<DockedTo>>, mut world: DeferredWorld| {
        // Here the component is still to be written.
        let source = on.source;
        assert!(world.pairs::<DockedTo>().target(source).is_some());
        world.commands().queue(move |world: &mut World| {
            let mut expr = PairExpr::parse("Ship, (DockedTo, *)").unwrap().compile(world).unwrap();
            assert_eq!(expr.count(world), Ok(11));
        });
    });
    world.insert_pair(ships[0], DockedTo, mars).unwrap();
    assert_eq!(exprs.each_mut().map(|expr| expr.count(&world).unwrap()), [11, 29, 11, 40]);
}

#[test]
#[should_panic(expected = "conflict")]
fn terms_of_a_relation_in_tables_refuse_what_writes_beside_them() {
    type Writing<'w, 's> = Query<'w, 's, (EntityMut<'static>, Target<DockedTo>), Without<IsResource>>;
    let mut world = World::new();
    let _ = world.run_system_once(|_: Writing| ());
}

#[test]
#[should_panic(expected = "B0001")]
fn a_query_that_writes_all_components_conflicts_with_targets_in_tables() {
    let mut world = World::new();
    let _ = world.run_system_once(|_: Query<EntityMut, Without<IsResource>>, _: Query<Target<DockedTo>>| ());
}

#[test]
fn which_entities_are_sources_conflicts_with_no_component() {
    let mut world = World::new();
    world
        .run_system_once(
            |_: Query<EntityMut, (Without<IsResource>, Unrelated<Likes>)>,
             _: Query<(), (Related<DockedTo>, Without<Ship>)>| (),
        )
        .unwrap();
}

#[test]
fn a_storage_is_chosen_once_before_the_first_pair() {
    let mut world = World::new();
    let table = || RelationTraits::new().storage(RelationStorage::Table);
    let store = || RelationTraits::new().storage(RelationStorage::Store);
    let [a, b] = spawn(&mut world);
    let relation = world.spawn_relation("R", table()).unwrap();
    let error = world.set_traits(relation, store()).unwrap_err();
    assert!(matches!(error, TraitsError::Conflict { .. }), "{error}");
    assert_eq!(error.to_string().split(": ").last(), Some("`storage` is given two values"));
    world.insert_pair_by_id(a, (relation, b)).unwrap();
    world.set_traits(relation, table()).unwrap();
    let plain = world.spawn_relation("P", RelationTraits::new()).unwrap();
    world.insert_pair_by_id(a, (plain, b)).unwrap();
    let error = world.set_traits(plain, table()).unwrap_err();
    assert!(matches!(error, TraitsError::Frozen { .. }), "{error}");
    let docked = world.register_relation::<DockedTo>().unwrap();
    assert!(matches!(world.set_traits(docked, store()), Err(TraitsError::Conflict { .. })));
    world.check_pairs().unwrap();
}

#[test]
fn traits_that_come_later_leave_the_component_as_it_is() {
    let mut world = World::new();
    let docked = component_of_docked(&mut world);
    world.clear_pairs();
    let relation = world.entity_of::<DockedTo>();
    world.set_traits(relation, RelationTraits::new().traversable()).unwrap();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, DockedTo, b).unwrap();
    assert!(world.entity(a).contains_id(docked));
    assert_eq!(sources::<DockedTo>(&mut world), [a]);
}

#[test]
fn a_type_that_declares_none_may_get_it_later_and_its_terms_still_read_the_store() {
    let mut world = World::new();
    let likes = world.entity_of::<Likes>();
    world.set_traits(likes, RelationTraits::new().storage(RelationStorage::Table)).unwrap();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Likes, b).unwrap();
    assert_eq!(world.entity(a).archetype().component_count(), 2);
    assert_eq!(sources::<Likes>(&mut world), [a]);
}

#[test]
fn a_relationship_of_bevy_takes_no_storage() {
    let mut world = World::new();
    let storage = RelationTraits::new().storage(RelationStorage::Table);
    let error = world.adopt_relationship_with::<CrewOf>(storage).unwrap_err();
    assert!(error.to_string().ends_with("`storage` contradicts `Relationship`"), "{error}");
}
