//! Terms as parts of all that a query can be made of.

use crate::common::{size, spawn};
use bevy_ecs::{
    entity_disabling::Disabled,
    prelude::*,
    query::{QueryData, QueryFilter},
    system::RunSystemOnce,
};
use bevy_relations::{
    prelude::*,
    query::{
        AddedPair, Ancestors, Cached, ChangedAbove, ChangedBelow, ChangedPair, Depth, Descendants, Down,
        LeafOf, PairsOf, RootOf, SelfDown, SelfUp, Siblings, SourcesWith, Target, TargetOf, TargetsWith, Up,
        WithAncestor, WithDescendant,
    },
};
use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
struct Eats {
    grams: u32,
}

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct MountedOn;

#[derive(Component, Clone, Copy, PartialEq, Debug)]
struct Armor(u32);

#[derive(Component)]
struct Position(u32);

#[derive(Component)]
struct Marker;

/// A ship with armor 7, a turret on it, a gun on that; the gun likes the ship and eats 5 and 6 grams of the other two.
fn world() -> (World, [Entity; 3]) {
    let mut world = World::new();
    let [ship, turret, gun] = spawn(&mut world);
    world.entity_mut(ship).insert(Armor(7));
    world.entity_mut(gun).insert((Position(1), Marker));
    world.entity_mut(turret).insert(Position(2));
    for (source, target) in [(turret, ship), (gun, turret)] {
        world.insert_pair(source, MountedOn, target).unwrap();
    }
    world.insert_pair(gun, Likes, ship).unwrap();
    world.insert_pair(gun, Eats { grams: 5 }, ship).unwrap();
    world.insert_pair(gun, Eats { grams: 6 }, turret).unwrap();
    (world, [ship, turret, gun])
}

#[test]
fn data_and_filters_combine_with_those_of_bevy() {
    let (mut world, [ship, turret, gun]) = world();
    let check = move |both: Query<Entity, (Related<MountedOn>, With<Marker>)>,
                      either: Query<Entity, Or<(Related<Likes>, With<Armor>)>>,
                      neither: Query<Entity, (Without<Marker>, RootOf<MountedOn>)>,
                      optional: Query<(Entity, Option<Targets<Likes>>, Has<Marker>), With<Position>>,
                      any: Query<(Entity, AnyOf<(Target<Likes>, &Armor)>)>| {
        assert_eq!(both.single().unwrap(), gun);
        assert_eq!(either.iter().collect::<Vec<_>>().len(), 2);
        assert_eq!(neither.single().unwrap(), ship);
        let mut rows: Vec<_> =
            optional.iter().map(|(entity, likes, has)| (entity, likes.map(Iterator::count), has)).collect();
        rows.sort_unstable_by_key(|(.., has)| !has);
        assert_eq!(rows, [(gun, Some(1), true), (turret, None, false)]);
        // A term inside `AnyOf` counts as there, as every column-less data does.
        assert!(
            any.iter().any(|(entity, (likes, _))| entity == gun && likes.map(|target| *target) == Some(ship))
        );
    };
    world.run_system_once(check).unwrap();
}

#[test]
fn mutable_data_goes_beside_terms() {
    let (mut world, [.., gun]) = world();
    let write = |mut query: Query<(&mut Position, Target<MountedOn>, Up<MountedOn, &Armor>)>| {
        for (mut position, _, armor) in &mut query {
            position.0 += armor.0;
        }
    };
    world.run_system_once(write).unwrap();
    assert_eq!(world.get::<Position>(gun).map(|position| position.0), Some(8));
    let count = |query: Query<Entity, (Changed<Position>, Related<Likes>)>| query.iter().count();
    assert_eq!(world.run_system_once(count).unwrap(), 1);
}

#[test]
fn single_entities_can_be_asked_for() {
    let (mut world, [ship, turret, gun]) = world();
    let check = move |targets: Query<(Targets<Eats>, SelfUp<MountedOn, &Armor>)>,
                      sources: Query<Sources<MountedOn>>| {
        let (food, armor) = targets.get(gun).unwrap();
        assert_eq!(food.with_values().map(|(_, eats)| eats.grams).collect::<Vec<_>>(), [5, 6]);
        assert_eq!(armor, &Armor(7));
        assert!(targets.get(turret).is_err() && targets.get(ship).is_err());
        assert_eq!(targets.single().unwrap().1, &Armor(7));
        assert_eq!(sources.get(ship).unwrap().collect::<Vec<_>>(), [turret]);
        assert_eq!(sources.iter_many([gun, turret, ship]).flatten().count(), 2);
        assert!(sources.get_many([ship, turret]).is_ok() && sources.get_many([ship, gun]).is_err());
    };
    world.run_system_once(check).unwrap();
}

#[test]
fn parallel_iteration_finds_the_same() {
    let (mut world, [ship, ..]) = world();
    for number in 0..size(5_000, 80) as u32 {
        let child = world.spawn(Position(number)).id();
        world.insert_pair(child, MountedOn, ship).unwrap();
    }
    #[derive(Resource)]
    struct Sum(usize);
    type Row<'a> =
        (&'a Position, Up<MountedOn, &'a Armor>, Cached<Up<MountedOn, &'a Armor>>, Target<MountedOn>);
    let sum = |query: Query<Row>, mut commands: Commands| {
        let parallel = AtomicUsize::new(0);
        query.par_iter().for_each(|(position, armor, kept, _)| {
            assert_eq!(armor, kept);
            parallel.fetch_add((armor.0 + position.0) as usize, Ordering::Relaxed);
        });
        let sequential = query.iter().map(|(position, armor, ..)| (armor.0 + position.0) as usize).sum();
        assert_eq!(parallel.into_inner(), sequential);
        commands.insert_resource(Sum(sequential));
    };
    // A schedule starts the threads, if there are any.
    let mut schedule = Schedule::default();
    schedule.add_systems(sum).run(&mut world);
    assert!(world.resource::<Sum>().0 > 7 * size(5_000, 80));
}

#[test]
fn queries_with_terms_share_a_param_set_with_what_writes_their_data() {
    let (mut world, [ship, ..]) = world();
    let system = move |mut set: ParamSet<(Query<&mut Armor>, Query<Up<MountedOn, &Armor>>)>| {
        for mut armor in &mut set.p0() {
            armor.0 += 1;
        }
        set.p1().iter().map(|armor| armor.0).sum::<u32>()
    };
    assert_eq!(world.run_system_once(system).unwrap(), 16);
    assert_eq!(world.get(ship), Some(&Armor(8)));
}

#[derive(QueryData)]
struct Part {
    entity: Entity,
    below: Option<Sources<MountedOn>>,
    on: Target<MountedOn>,
    food: Option<Targets<Eats>>,
    armor: Up<MountedOn, &'static Armor>,
    depth: Depth<MountedOn>,
    pairs: PairsOf,
}

#[derive(QueryData)]
#[query_data(mutable)]
struct Moving {
    position: &'static mut Position,
    ancestors: Ancestors<MountedOn>,
}

#[derive(QueryFilter)]
struct IsLikedGun {
    likes: Related<Likes>,
    leaf: LeafOf<MountedOn>,
    added: Or<(AddedPair<Likes>, ChangedPair<Eats>)>,
}

#[test]
fn terms_can_be_fields_of_derived_query_data_and_filters() {
    let (mut world, [ship, turret, gun]) = world();
    let check = move |parts: Query<Part>, guns: Query<Part, IsLikedGun>| {
        assert_eq!(parts.iter().count(), 2);
        let part = guns.single().unwrap();
        assert_eq!((part.entity, *part.on, part.armor, part.depth), (gun, turret, &Armor(7), 2));
        assert_eq!((part.below.is_none(), part.pairs.count()), (true, 4));
        assert_eq!(part.food.unwrap().collect::<Vec<_>>(), [ship, turret]);
        assert_eq!(parts.get(turret).unwrap().below.unwrap().collect::<Vec<_>>(), [gun]);
    };
    world.run_system_once(check).unwrap();
    let moving = |mut query: Query<Moving>| {
        query.iter_mut().for_each(|mut item| item.position.0 = item.ancestors.count() as u32);
        query.iter().map(|item| item.position.0).sum::<u32>()
    };
    assert_eq!(world.run_system_once(moving).unwrap(), 3);
}

#[test]
fn terms_can_be_nested() {
    let (mut world, [ship, turret, gun]) = world();
    let check = move |query: Query<(Entity, Up<MountedOn, (Entity, Target<MountedOn>)>)>,
                      twice: Query<Up<MountedOn, Up<MountedOn, &Armor>>>| {
        let (entity, (above, target)) = query.single().unwrap();
        assert_eq!((entity, above, *target), (gun, turret, ship));
        // What lies above the turret, for the gun; nothing lies above the ship.
        assert_eq!(twice.single().unwrap(), &Armor(7));
    };
    world.run_system_once(check).unwrap();
}

#[test]
fn disabled_entities_are_seen_by_topology_and_passed_over_by_data() {
    let (mut world, [ship, turret, gun]) = world();
    world.entity_mut(turret).insert((Disabled, Armor(3)));
    let check = move |targets: Query<Target<MountedOn>>,
                      up: Query<Up<MountedOn, &Armor>>,
                      kept: Query<Cached<Up<MountedOn, &Armor>>>,
                      sources: Query<(Entity, Sources<MountedOn>)>| {
        assert_eq!(*targets.get(gun).unwrap(), turret);
        assert_eq!((up.get(gun).unwrap(), kept.get(gun).unwrap()), (&Armor(7), &Armor(7)));
        // As a row, a disabled entity is left out.
        assert!(targets.get(turret).is_err());
        let rows: Vec<_> =
            sources.iter().map(|(entity, sources)| (entity, sources.collect::<Vec<_>>())).collect();
        assert_eq!(rows, [(ship, vec![turret])]);
    };
    world.run_system_once(check).unwrap();
}

#[test]
fn terms_of_a_world_that_lost_its_store_find_nothing() {
    let (mut world, [.., gun]) = world();
    let mut targets = world.query::<Target<MountedOn>>();
    let mut up = world.query::<Cached<Up<MountedOn, &Armor>>>();
    let mut pairs = world.query::<PairsOf>();
    let mut depth = world.query::<Depth<MountedOn>>();
    assert!(up.get(&world, gun).is_ok());
    world.clear_resources();
    assert!(
        targets.get(&world, gun).is_err() && up.get(&world, gun).is_err() && pairs.get(&world, gun).is_err()
    );
    assert_eq!(depth.get(&world, gun).unwrap(), 0);
    // They are back when pairs are.
    let [other] = spawn(&mut world);
    world.entity_mut(other).insert(Armor(1));
    world.insert_pair(gun, MountedOn, other).unwrap();
    assert_eq!(targets.get(&world, gun).map(|target| *target), Ok(other));
    assert_eq!(up.get(&world, gun), Ok(&Armor(1)));
    assert_eq!((pairs.get(&world, gun).unwrap().count(), depth.get(&world, gun).unwrap()), (1, 1));
}

#[test]
fn terms_of_other_entities_combine_with_those_of_bevy() {
    let (mut world, [ship, turret, gun]) = world();
    let check =
        move |docked: Query<Entity, Related<MountedOn, With<Armor>>>,
              neither: Query<
            Entity,
            (Without<Armor>, Or<(With<Armor>, TargetOf<MountedOn, With<Marker>>)>),
        >,
              nested: Query<Entity, Related<MountedOn, Related<MountedOn, With<Armor>>>>,
              food: Query<(Entity, Option<TargetsWith<Eats, (Entity, Has<Armor>)>>), With<Position>>,
              below: Query<(Entity, SourcesWith<MountedOn, &Position>, Down<MountedOn, &Position>)>,
              any: Query<AnyOf<(&Armor, SelfDown<MountedOn, &Armor>)>>| {
            assert_eq!(docked.single().unwrap(), turret);
            assert_eq!(neither.single().unwrap(), turret);
            assert_eq!(nested.single().unwrap(), gun);
            let rows: Vec<_> =
                food.iter().map(|(entity, food)| (entity, food.map(Iterator::collect::<Vec<_>>))).collect();
            assert_eq!(rows.len(), 2);
            assert!(
                rows.contains(&(gun, Some(vec![(ship, true), (turret, false)])))
                    && rows.contains(&(turret, None))
            );
            assert_eq!((below.iter().count(), below.contains(gun)), (2, false));
            let (_, mut sources, nearest) = below.get(ship).unwrap();
            assert_eq!((sources.next().map(|position| position.0), nearest.0), (Some(2), 2));
            assert!(sources.next().is_none() && sources.next().is_none());
            assert_eq!(any.get(ship).unwrap().1, Some(&Armor(7)));
        };
    world.run_system_once(check).unwrap();
}

#[test]
fn terms_of_other_entities_go_beside_mutable_data() {
    let (mut world, [ship, ..]) = world();
    let write = |mut query: Query<(
        &mut Armor,
        Descendants<MountedOn, &Position>,
        SourcesWith<MountedOn, Entity>,
    )>| {
        for (mut armor, below, sources) in &mut query {
            armor.0 += below.map(|position| position.0).sum::<u32>() + sources.count() as u32;
        }
    };
    world.run_system_once(write).unwrap();
    assert_eq!(world.get(ship), Some(&Armor(11)));
}

#[test]
fn parallel_iteration_of_terms_of_other_entities_finds_the_same() {
    let (mut world, [ship, ..]) = world();
    for number in 0..size(3_000, 60) as u32 {
        let part = world.spawn(Position(number)).id();
        world.insert_pair(part, MountedOn, ship).unwrap();
        let bolt = world.spawn(Position(1)).id();
        world.insert_pair(bolt, MountedOn, part).unwrap();
    }
    #[derive(Resource)]
    struct Sum(usize);
    type Row<'a> = (SourcesWith<MountedOn, &'static Position>, Down<MountedOn, &'a Position>);
    type Found = (WithAncestor<MountedOn, With<Armor>>, WithDescendant<MountedOn, With<Position>>);
    let sum = |query: Query<Row, Found>, siblings: Query<Siblings<MountedOn, ()>>, mut commands: Commands| {
        let parallel = AtomicUsize::new(0);
        query.par_iter().for_each(|(sources, below)| {
            let sum = sources.map(|position| position.0 as usize).sum::<usize>() + below.0 as usize;
            parallel.fetch_add(sum, Ordering::Relaxed);
        });
        let mut sequential = 0;
        for (sources, below) in &query {
            sequential += sources.map(|position| position.0 as usize).sum::<usize>() + below.0 as usize;
        }
        assert_eq!(parallel.into_inner(), sequential);
        // The turret and the parts are siblings of each other.
        let most = siblings.iter().map(Iterator::count).max();
        assert_eq!(most, Some(size(3_000, 60)));
        commands.insert_resource(Sum(sequential));
    };
    let mut schedule = Schedule::default();
    schedule.add_systems(sum).run(&mut world);
    // Every part with its bolt, and the turret with the gun.
    assert_eq!(world.resource::<Sum>().0, 2 * size(3_000, 60) + 2);
}

/// Adds a system that looks for entities in parallel and one after another, and finds the same ones.
fn find_in_parallel<F: QueryFilter + 'static>(schedule: &mut Schedule, expected: usize) {
    schedule.add_systems(move |query: Query<Entity, F>| {
        let found = Mutex::new(Vec::new());
        query.par_iter().for_each(|entity| found.lock().unwrap().push(entity));
        let [mut parallel, mut sequential] = [found.into_inner().unwrap(), query.iter().collect()];
        parallel.sort_unstable();
        sequential.sort_unstable();
        assert_eq!(parallel, sequential);
        assert_eq!(parallel.len(), expected, "{}", core::any::type_name::<F>());
    });
}

#[test]
fn parallel_iteration_with_filters_of_other_entities_finds_the_same() {
    let (mut world, [ship, ..]) = world();
    let parts = size(3_000, 60);
    for number in 0..parts as u32 {
        let part = world.spawn(Position(number)).id();
        world.insert_pair(part, MountedOn, ship).unwrap();
        world.insert_pair(part, Likes, ship).unwrap();
        let bolt = world.spawn(Position(1)).id();
        world.insert_pair(bolt, MountedOn, part).unwrap();
    }
    let mut schedule = Schedule::default();
    let all = &mut schedule;
    // The turret and the parts on the ship, and on each something.
    find_in_parallel::<Related<MountedOn, With<Armor>>>(all, parts + 1);
    find_in_parallel::<TargetOf<MountedOn, With<Position>>>(all, parts + 2);
    find_in_parallel::<ChangedAbove<MountedOn, Armor>>(all, 2 * parts + 2);
    find_in_parallel::<ChangedBelow<MountedOn, Position>>(all, parts + 2);
    find_in_parallel::<(Related<MountedOn, Changed<Armor>>, TargetOf<MountedOn, Added<Position>>)>(
        all,
        parts + 1,
    );
    type Row = (
        TargetsWith<Likes, Entity>,
        Siblings<MountedOn, &'static Position>,
        Descendants<MountedOn, &'static Position>,
    );
    all.add_systems(move |query: Query<(Entity, Row)>| {
        let parallel = Mutex::new(Vec::new());
        query.par_iter().for_each(|(entity, (liked, beside, below))| {
            let row = (entity, liked.count(), beside.count(), below.map(|position| position.0).sum::<u32>());
            parallel.lock().unwrap().push(row);
        });
        let mut sequential: Vec<_> = query
            .iter()
            .map(|(entity, (liked, beside, below))| {
                (entity, liked.count(), beside.count(), below.map(|position| position.0).sum::<u32>())
            })
            .collect();
        let mut parallel = parallel.into_inner().unwrap();
        parallel.sort_unstable();
        sequential.sort_unstable();
        assert_eq!(parallel, sequential);
        // Bolts like no entity, and nothing is mounted on the gun.
        assert_eq!(parallel.iter().map(|&(_, liked, beside, _)| (liked, beside)).max(), Some((1, parts)));
    });
    schedule.run(&mut world);
}

#[derive(QueryData)]
struct Whole {
    entity: Entity,
    parts: Descendants<MountedOn, (Entity, &'static Position)>,
    next: Option<SourcesWith<MountedOn, Entity>>,
    beside: Option<Siblings<MountedOn, Entity>>,
    camera: Down<MountedOn, Entity, 2>,
}

#[derive(QueryFilter)]
struct IsCarrier {
    armored: With<Armor>,
    carries: TargetOf<MountedOn, TargetOf<MountedOn, With<Marker>>>,
    below: WithDescendant<MountedOn, With<Marker>>,
}

#[test]
fn terms_of_other_entities_can_be_fields_of_derived_query_data_and_filters() {
    let (mut world, [ship, turret, gun]) = world();
    let check = move |carriers: Query<Whole, IsCarrier>| {
        let whole = carriers.single().unwrap();
        assert_eq!((whole.entity, whole.camera, whole.beside.is_none()), (ship, gun, true));
        assert_eq!(whole.parts.map(|(part, _)| part).collect::<Vec<_>>(), [turret, gun]);
        assert_eq!(whole.next.unwrap().collect::<Vec<_>>(), [turret]);
    };
    world.run_system_once(check).unwrap();
}

#[test]
fn disabled_entities_are_passed_over_by_filters_and_data_of_other_entities() {
    let (mut world, [ship, turret, gun]) = world();
    world.entity_mut(turret).insert((Disabled, Armor(3)));
    let check = move |carriers: Query<Entity, TargetOf<MountedOn>>,
                      seen: Query<Entity, TargetOf<MountedOn, With<Position>>>,
                      disabled: Query<Entity, TargetOf<MountedOn, (With<Position>, With<Disabled>)>>,
                      down: Query<Down<MountedOn, &Position>>,
                      parts: Query<Descendants<MountedOn, Entity>>,
                      pruned: Query<Descendants<MountedOn, Entity, With<Position>>>,
                      above: Query<Entity, WithAncestor<MountedOn, With<Armor>>>| {
        assert_eq!(carriers.single().unwrap(), ship);
        assert!(seen.is_empty());
        assert_eq!(disabled.single().unwrap(), ship);
        assert_eq!(down.get(ship).unwrap().0, 1);
        assert_eq!(parts.get(ship).unwrap().collect::<Vec<_>>(), [gun]);
        assert_eq!(pruned.get(ship).unwrap().count(), 0);
        assert_eq!(above.single().unwrap(), gun);
    };
    world.run_system_once(check).unwrap();
}

#[test]
fn terms_of_other_entities_find_nothing_in_a_world_that_lost_its_store() {
    let (mut world, [ship, turret, _]) = world();
    let mut sources = world.query::<SourcesWith<MountedOn, Entity>>();
    let mut down = world.query::<Down<MountedOn, Entity>>();
    let mut parts = world.query::<Descendants<MountedOn, Entity>>();
    let mut below = world.query_filtered::<(), WithDescendant<MountedOn, With<Position>>>();
    let mut docked = world.query_filtered::<(), Related<MountedOn, With<Armor>>>();
    assert!(docked.get(&world, turret).is_ok() && below.get(&world, ship).is_ok());
    world.clear_resources();
    assert!(sources.get(&world, ship).is_err() && down.get(&world, ship).is_err());
    assert!(below.get(&world, ship).is_err() && docked.get(&world, turret).is_err());
    assert_eq!(parts.get(&world, ship).unwrap().count(), 0);
}

#[test]
fn queries_with_terms_of_other_entities_share_a_param_set_with_what_writes_their_data() {
    let (mut world, [ship, turret, _]) = world();
    let system =
        move |mut set: ParamSet<(Query<&mut Armor>, Query<(Entity, TargetsWith<MountedOn, &Armor>)>)>| {
            for mut armor in &mut set.p0() {
                armor.0 += 1;
            }
            let query = set.p1();
            let rows: Vec<_> =
                query.iter().map(|(entity, mut armor)| (entity, armor.next().copied())).collect();
            assert_eq!(rows, [(turret, Some(Armor(8)))]);
        };
    world.run_system_once(system).unwrap();
    assert_eq!(world.get(ship), Some(&Armor(8)));
}
