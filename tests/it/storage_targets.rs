//! Relations with `storage = "Fragmenting"`: all sources of a target have a component of their own.
//!
//! What a program can do: change pairs in each way, with one target and with several, ordered or not; read them by each way that looks at
//! tables, also in observers; take the component away; use many targets one after the other, or at once; disable sources.
//! The random histories of [`model`](crate::model) have such relations, too.

use crate::common::{fewer, spawn, take_reported_errors, world_that_records_errors};
use bevy_ecs::{
    entity_disabling::Disabled,
    prelude::*,
    system::{RunSystemOnce, SystemState},
    world::DeferredWorld,
};
use bevy_relations::{
    expr::{CompiledExpr, PairExpr},
    prelude::*,
    relation::RelationStorage,
};
use core::ops::Range;

#[derive(Component, Clone)]
struct Ship(u32);

#[derive(Component)]
struct Lost;

/// Kept apart from tables.
#[derive(Component)]
#[component(storage = "SparseSet")]
struct Sparse;

#[derive(Relation)]
#[relation(exclusive, storage = "Fragmenting")]
struct TeamOf;

#[derive(Relation, Clone, PartialEq, Debug)]
#[relation(storage = "Fragmenting")]
struct Knows(u32);

#[derive(Relation)]
#[relation(ordered, storage = "Fragmenting")]
struct Queues;

/// A generator of numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

fn sorted(mut entities: Vec<Entity>) -> Vec<Entity> {
    entities.sort_unstable();
    entities
}

fn compile(world: &mut World, text: &str) -> CompiledExpr {
    PairExpr::parse(text).unwrap().compile(world).unwrap()
}

/// What an expression finds.
fn found(world: &mut World, text: &str) -> Vec<Entity> {
    let mut expr = compile(world, text);
    sorted(rows(world, &mut expr))
}

/// The entities that the rows are about.
fn rows(world: &World, expr: &mut CompiledExpr) -> Vec<Entity> {
    let mut found = Vec::new();
    expr.for_each(world, |row| found.push(row.this().unwrap())).unwrap();
    found
}

/// Asks for the sources of a target by all ways that look at tables, and compares with the store.
#[track_caller]
fn compare<R: Relation>(world: &mut World, relation: &str, target: Entity) {
    let is_seen = |world: &World, entity: &Entity| !world.entity(*entity).contains::<Disabled>();
    let stored = sorted(world.pairs::<R>().sources(target).collect());
    let seen: Vec<_> = stored.iter().copied().filter(|entity| is_seen(world, entity)).collect();
    let id = target.to_bits();
    assert_eq!(found(world, &format!("({relation}, #{id})")), seen);
    let of = |seen: &[Entity], is_ship: fn(EntityRef<'_>) -> bool, world: &World| -> Vec<Entity> {
        seen.iter().copied().filter(|&entity| is_ship(world.entity(entity))).collect()
    };
    let ships = of(&seen, |entity| entity.contains::<Ship>(), world);
    assert_eq!(found(world, &format!("Ship, ({relation}, #{id})")), ships);
    assert_eq!(found(world, &format!("({relation}, #{id}), Ship")), ships);
    let lost = of(&ships, |entity| entity.contains::<Lost>() && !entity.contains::<Sparse>(), world);
    assert_eq!(found(world, &format!("Lost, Ship, ({relation}, #{id}), !Sparse")), lost);
    let mut other = found(world, &format!("Ship, !({relation}, #{id})"));
    other.extend(&ships);
    let all = sorted(world.query_filtered::<Entity, With<Ship>>().iter(world).collect());
    assert_eq!(sorted(other), all);
    let mut by_var = 0;
    let mut expr = compile(world, &format!("Ship, ({relation}, $t)"));
    expr.for_each(world, |row| by_var += usize::from(row.var("t") == Some(target))).unwrap();
    assert_eq!(by_var, ships.len());
    let mut state = SystemState::<PairQuery<R, (Entity, &Ship)>>::new(world);
    let mut listed = Vec::new();
    state.get(world).unwrap().of_target(target).for_each(|(entity, _), _, ()| listed.push(entity));
    assert_eq!(sorted(listed), ships);
    let mut pairs = state.get(world).unwrap();
    let listed: Vec<_> = pairs.of_target(target).iter().map(|((entity, _), _, ())| entity).collect();
    assert_eq!(sorted(listed), ships);
    let mut state = SystemState::<PairQuery<R, Entity, (), With<Sparse>>>::new(world);
    let mut pairs = state.get(world).unwrap();
    let mut listed = Vec::new();
    pairs.of_target(target).for_each(|entity, _, ()| listed.push(entity));
    let one_by_one: Vec<_> = pairs.of_target(target).iter().map(|(entity, _, ())| entity).collect();
    assert_eq!(one_by_one, listed);
    assert_eq!(sorted(listed), of(&seen, |entity| entity.contains::<Sparse>(), world));
}

fn world() -> World {
    let mut world = world_that_records_errors();
    world.register_component_name::<Ship>("Ship").register_component_name::<Lost>("Lost");
    world.register_component_name::<Sparse>("Sparse");
    world.register_relation::<TeamOf>().unwrap();
    world.register_relation::<Knows>().unwrap();
    world.register_relation::<Queues>().unwrap();
    world
}

/// Changes a world in any way.
fn change(world: &mut World, numbers: &mut Numbers, targets: &mut [Entity], ships: &mut [Entity]) {
    let ship = numbers.below(ships.len());
    let (entity, target) = (ships[ship], targets[numbers.below(targets.len())]);
    match numbers.below(12) {
        0..3 => world.insert_pair(entity, TeamOf, target).unwrap(),
        3..5 => world.insert_pair(entity, Knows(1), target).unwrap(),
        5 => {
            world.remove_pair::<TeamOf>(entity, target);
        }
        6 => {
            world.remove_pair::<Knows>(entity, target);
        }
        7 => {
            world.despawn(entity);
            ships[ship] = world.spawn(Ship(0)).id();
        }
        8 => {
            world.despawn(target);
            let place = targets.iter().position(|&other| other == target).unwrap();
            targets[place] = world.spawn_empty().id();
        }
        9 => {
            world.entity_mut(entity).insert(Lost);
        }
        10 => {
            world.entity_mut(entity).retain::<Ship>().insert(Sparse);
        }
        _ => {
            let mut entity = world.entity_mut(entity);
            match entity.contains::<Disabled>() {
                true => entity.remove::<Disabled>(),
                false => entity.insert(Disabled),
            };
        }
    }
}

#[test]
fn every_way_of_reading_sources_agrees_while_pairs_change() {
    let mut world = world();
    let mut targets: [Entity; 4] = spawn(&mut world);
    let mut ships: Vec<_> = (0..12).map(|number| world.spawn(Ship(number)).id()).collect();
    let mut numbers = Numbers(7);
    for _ in 0..fewer(600) {
        change(&mut world, &mut numbers, &mut targets, &mut ships);
        world.check_pairs().unwrap();
        let target = targets[numbers.below(4)];
        compare::<TeamOf>(&mut world, "TeamOf", target);
        compare::<Knows>(&mut world, "Knows", target);
    }
    assert_eq!(take_reported_errors(), [""; 0]);
}

/// An expression that is compiled beforehand: observers have no whole world.
#[derive(Resource)]
struct Prepared(Option<CompiledExpr>);

/// How many sources of a target the store has, and how many the expression finds.
fn count_within(world: &mut DeferredWorld, target: Entity) -> (usize, usize) {
    let mut expr = world.resource_mut::<Prepared>().0.take().unwrap();
    let found = expr.count(world).unwrap();
    world.resource_mut::<Prepared>().0 = Some(expr);
    (world.pairs::<TeamOf>().source_count(target), found)
}

#[derive(Resource, Default)]
struct Told(usize);

#[test]
fn observers_read_what_the_store_says_while_components_are_still_to_be_written() {
    let mut world = world();
    let [reds, blues] = spawn(&mut world);
    world.init_resource::<Told>();
    let expr = compile(&mut world, &format!("(TeamOf, #{})", reds.to_bits()));
    world.insert_resource(Prepared(Some(expr)));
    let ships: [Entity; 3] = spawn(&mut world);
    world.add_observer(move |_: On<PairInserted<TeamOf>>, mut world: DeferredWorld| {
        let (stored, found) = count_within(&mut world, reds);
        assert_eq!(stored, found);
        world.resource_mut::<Told>().0 += 1;
    });
    world.add_observer(move |_: On<PairRemoved<TeamOf>>, mut world: DeferredWorld| {
        let (stored, found) = count_within(&mut world, reds);
        assert_eq!(stored, found);
        world.resource_mut::<Told>().0 += 1;
    });
    for &ship in &ships {
        world.insert_pair(ship, TeamOf, reds).unwrap();
    }
    world.insert_pair(ships[0], TeamOf, blues).unwrap();
    world.despawn(ships[1]);
    world.despawn(reds);
    assert_eq!(world.resource::<Told>().0, 3 + 2 + 1 + 1);
    world.check_pairs().unwrap();
}

/// The slices of an expression: how long they are.
fn slices(world: &World, expr: &mut CompiledExpr) -> Vec<usize> {
    let mut lengths = Vec::new();
    expr.for_each_table(world, |table| lengths.push(table.len())).unwrap();
    lengths
}

#[test]
fn the_sources_of_a_target_are_one_slice() {
    let mut world = world();
    let teams: [Entity; 2] = spawn(&mut world);
    let ships: Vec<_> = (0..40).map(|number| world.spawn(Ship(number)).id()).collect();
    for (number, &ship) in ships.iter().enumerate() {
        world.insert_pair(ship, TeamOf, teams[number % 2]).unwrap();
    }
    for team in teams {
        for text in ["Ship, (TeamOf, #T)", "(TeamOf, #T), Ship", "(TeamOf, #T)"] {
            let text = text.replace("#T", &format!("#{}", team.to_bits()));
            let mut expr = compile(&mut world, &text);
            assert_eq!(slices(&world, &mut expr), [20], "{text}");
        }
    }
}

#[test]
fn rows_of_several_targets_are_read_part_by_part() {
    let mut world = world();
    let teams: [Entity; 3] = spawn(&mut world);
    for (number, &team) in teams.iter().enumerate() {
        world.entity_mut(team).insert(Lost);
        let spawned: Vec<_> =
            (0..3_000 * number as u32).map(|number| world.spawn(Ship(number)).id()).collect();
        for ship in spawned {
            world.insert_pair(ship, TeamOf, team).unwrap();
        }
    }
    let mut expr = compile(&mut world, "Lost($t), (TeamOf, $t), Ship");
    assert_eq!(expr.count(&world), Ok(9_000));
    let mut page = sorted(rows(&world, &mut expr));
    page.dedup();
    assert_eq!(page.len(), 9_000);
}

#[test]
fn ordered_sources_keep_their_order() {
    let mut world = world();
    let [desk] = spawn(&mut world);
    let waiting: Vec<_> = (0..6).map(|number| world.spawn(Ship(number)).id()).collect();
    for &source in waiting.iter().rev() {
        world.insert_pair(source, Queues, desk).unwrap();
    }
    let mut order = waiting.clone();
    order.swap(1, 4);
    world.order_sources::<Queues>(desk, &order).unwrap();
    let mut state = SystemState::<PairQuery<Queues, Entity>>::new(&mut world);
    let mut listed = Vec::new();
    state.get(&world).unwrap().of_target(desk).for_each(|source, _, ()| listed.push(source));
    assert_eq!(listed, order);
    let mut expr = compile(&mut world, &format!("(Queues, #{})", desk.to_bits()));
    assert_eq!(rows(&world, &mut expr), order);
    world.check_pairs().unwrap();
}

/// Gives a ship one new target after the other.
fn retarget(world: &mut World, ship: Entity, rounds: Range<usize>) {
    for _ in rounds {
        let target = world.spawn_empty().id();
        let old = world.pairs::<TeamOf>().target(ship);
        world.insert_pair(ship, TeamOf, target).unwrap();
        old.into_iter().for_each(|old| {
            world.despawn(old);
        });
    }
}

#[test]
fn components_of_former_targets_serve_others() {
    let mut world = world();
    let ship = world.spawn(Ship(0)).id();
    retarget(&mut world, ship, 0..100);
    let (archetypes, components) = (world.archetypes().len(), world.components().len());
    retarget(&mut world, ship, 0..fewer(20_000));
    assert_eq!((world.archetypes().len(), world.components().len()), (archetypes, components));
    world.check_pairs().unwrap();
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn a_million_retargets_make_a_bounded_number_of_archetypes() {
    let mut world = world();
    let ships: Vec<_> = (0..10).map(|number| world.spawn(Ship(number)).id()).collect();
    for _ in 0..fewer(10_000) {
        ships.iter().for_each(|&ship| retarget(&mut world, ship, 0..10));
    }
    assert!(world.archetypes().len() < 100, "{}", world.archetypes().len());
    world.check_pairs().unwrap();
}

#[test]
fn components_of_a_relation_that_is_gone_serve_others() {
    let mut world = world();
    let [ship, target] = spawn(&mut world);
    let mut known = None;
    for round in 0..8 {
        let traits = RelationTraits::new().storage(RelationStorage::Fragmenting);
        let relation = world.spawn_relation(format!("R{round}"), traits).unwrap();
        world.insert_pair_by_id(ship, (relation, target)).unwrap();
        world.check_pairs().unwrap();
        assert_eq!(world.entity(ship).archetype().components().len(), 3, "marker, first target, target");
        world.despawn(relation);
        let components = world.components().len();
        assert_eq!(*known.get_or_insert(components), components);
    }
}

#[test]
fn too_many_archetypes_end_the_components_for_targets_and_nothing_else() {
    let mut world = world();
    let count = RelationStorage::MAX_ARCHETYPES + 20;
    let teams: Vec<_> = (0..count).map(|_| world.spawn_empty().id()).collect();
    let ships: Vec<_> = (0..count as u32).map(|number| world.spawn(Ship(number)).id()).collect();
    for (&ship, &team) in ships.iter().zip(&teams) {
        world.insert_pair(ship, TeamOf, team).unwrap();
    }
    let told = take_reported_errors();
    assert_eq!(
        told,
        [
            "the sources of `TeamOf` lie in more than 1024 archetypes: its `storage = \"Fragmenting\"` goes on as \"Table\"\n"
        ]
    );
    let archetypes = world.archetypes().len();
    assert!(archetypes < count + 40);
    world.check_pairs().unwrap();
    for (&ship, &team) in ships.iter().zip(teams.iter().rev()) {
        world.insert_pair(ship, TeamOf, team).unwrap();
    }
    assert!(world.archetypes().len() < archetypes + 10, "nothing is fragmented any more");
    for team in [teams[0], teams[count / 2], teams[count - 1]] {
        compare::<TeamOf>(&mut world, "TeamOf", team);
    }
    world.check_pairs().unwrap();
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn what_takes_the_component_away_does_not_keep_it() {
    let mut world = world();
    let [reds] = spawn(&mut world);
    let ship = world.spawn(Ship(1)).id();
    world.insert_pair(ship, TeamOf, reds).unwrap();
    let known: Vec<_> = world.entity(ship).archetype().components().to_vec();
    for component in known {
        world.entity_mut(ship).remove_by_id(component);
        world.entity_mut(ship).insert(Ship(1));
        world.check_pairs().unwrap();
        if world.has_pair::<TeamOf>(ship, reds) {
            compare::<TeamOf>(&mut world, "TeamOf", reds);
        }
    }
    world.insert_pair(ship, TeamOf, reds).unwrap();
    world.entity_mut(ship).retain::<()>();
    world.check_pairs().unwrap();
    compare::<TeamOf>(&mut world, "TeamOf", reds);
    world.entity_mut(ship).clear();
    world.check_pairs().unwrap();
    let clone = world.entity_mut(ship).clone_and_spawn();
    world.check_pairs().unwrap();
    assert_eq!(world.has_pair::<TeamOf>(clone, reds), world.has_pair::<TeamOf>(ship, reds));
}

#[test]
fn systems_read_slices_of_one_team() {
    let mut world = world();
    let teams: [Entity; 2] = spawn(&mut world);
    for number in 0..10 {
        let ship = world.spawn(Ship(number)).id();
        world.insert_pair(ship, TeamOf, teams[number as usize % 2]).unwrap();
    }
    let sum = world
        .run_system_once(move |mut members: PairQuery<TeamOf, &mut Ship>, ships: Query<Entity>| {
            let mut sum = 0;
            members.of_target(teams[1]).for_each(|mut ship, edge, ()| {
                assert!(ships.contains(edge.source));
                ship.0 += 100;
                sum += ship.0;
            });
            sum
        })
        .unwrap();
    assert_eq!(sum, 1 + 3 + 5 + 7 + 9 + 500);
}

#[test]
fn a_batch_leaves_no_source_unwritten_whatever_is_refused() {
    let mut world = world();
    let teams = [0; 3].map(|_| world.spawn_empty().id());
    let gone = world.spawn_empty().id();
    world.despawn(gone);
    let ships: Vec<_> = (0..fewer(200)).map(|number| world.spawn(Ship(number as u32)).id()).collect();
    for round in 0..3 {
        let pairs = ships.iter().enumerate().map(|(number, &ship)| {
            let target = if number % 50 == 7 { gone } else { teams[(number + round) % 3] };
            (ship, TeamOf, target)
        });
        // Some sources come twice, and the second target counts.
        let again = ships.iter().step_by(20).map(|&ship| (ship, TeamOf, teams[2]));
        let refused = world.insert_pair_batch(pairs.chain(again).collect::<Vec<_>>()).unwrap_err().refused;
        assert!(refused.iter().all(|(number, _)| number % 50 == 7) && !refused.is_empty());
        teams.iter().for_each(|&team| compare::<TeamOf>(&mut world, "TeamOf", team));
        world.check_pairs().unwrap();
    }
    let some: Vec<_> =
        ships.iter().enumerate().filter(|(number, _)| number % 3 == 0).map(|(_, &ship)| ship).collect();
    let pairs = some.iter().flat_map(|&ship| teams.map(|team| (ship, team)));
    let there = some.iter().filter(|&&ship| world.pairs::<TeamOf>().target(ship).is_some()).count();
    assert_eq!(world.remove_pair_batch::<TeamOf>(pairs.collect::<Vec<_>>()), there);
    teams.iter().for_each(|&team| compare::<TeamOf>(&mut world, "TeamOf", team));
    world.check_pairs().unwrap();
    let mut members = SystemState::<PairQuery<TeamOf, &mut Ship>>::new(&mut world);
    let mut pairs = members.get_mut(&mut world).unwrap();
    let mut count = 0;
    for (mut ship, edge, ()) in pairs.of_target(teams[1]).iter_mut() {
        assert_eq!(edge.target, teams[1]);
        (ship.0, count) = (1000, count + 1);
    }
    let written = ships.iter().filter(|&&ship| world.get::<Ship>(ship).unwrap().0 == 1000);
    assert_eq!(written.count(), count);
    assert_eq!(world.pairs::<TeamOf>().sources(teams[1]).count(), count);
}
