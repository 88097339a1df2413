//! Rows that a system keeps in groups and in order, against those that it finds anew in each run.
//!
//! Classes of changes: sources that get another first target, one more, or lose one; targets, sources and relations that die;
//! components by which rows are sorted that are inserted, removed, and written in place by others and by the system itself;
//! sources that are disabled. Classes of systems: asking for groups, for an order, for both, for nothing in some runs, for
//! something else in the next; functions with and without captures; a relation that the expression does not name; run
//! conditions, which have no sync point.

use crate::common::{Random, fewer, panic_message};
use bevy_ecs::{entity_disabling::Disabled, prelude::*, query::QueryData, system::SystemId};
use bevy_relations::{
    expr::{ExprRunError, Row},
    live::LiveQuery,
    prelude::*,
};
use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

#[derive(Component)]
struct Ship;

#[derive(Component, Clone, Copy, PartialEq, PartialOrd, Debug)]
struct Strength(u32);

#[derive(Component)]
struct Seen(u32);

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo;

#[derive(Relation)]
struct Likes;

#[derive(Expression)]
#[expr("Ship, [inout] ?Strength, ?(DockedTo, $port)")]
struct Ships;

#[derive(Expression)]
#[expr("Ship, ?Strength")]
struct Alone;

fn world() -> World {
    let mut world = World::new();
    world.register_component_name::<Ship>("Ship");
    world.register_component_name::<Strength>("Strength");
    world.register_relation::<DockedTo>().unwrap();
    world.register_relation::<Likes>().unwrap();
    world
}

/// By group: the strengths of its rows as they come, and who they are about.
type Groups = BTreeMap<u64, (Vec<Option<u32>>, BTreeSet<Entity>)>;

fn add(groups: &mut Groups, id: u64, row: Row<'_>) {
    let (strengths, ships) = groups.entry(id).or_default();
    strengths.push(row.get::<Strength>(1).map(|strength| strength.0));
    ships.insert(row.this().unwrap());
}

fn kept<E: Expression, D: QueryData + 'static>(rows: &mut LiveQuery<E, D>) -> Groups {
    let mut groups = Groups::new();
    for id in rows.groups().collect::<Vec<_>>() {
        rows.group(id).for_each(|row| add(&mut groups, id, row));
    }
    assert_eq!(rows.group(u64::MAX).len(), 0);
    assert_eq!(groups.values().map(|(_, ships)| ships.len()).sum::<usize>(), rows.len());
    groups
}

fn found<E: Expression>(rows: &mut ExprQuery<E>) -> Groups {
    let mut groups = Groups::new();
    rows.for_each_group(|group| group.iter().for_each(|row| add(&mut groups, group.id(), row))).unwrap();
    groups
}

fn by_strength(a: &Strength, b: &Strength) -> Ordering {
    a.0.cmp(&b.0)
}

/// What a system asks for in a run.
#[derive(Clone, Copy, Debug)]
enum Ask {
    Nothing,
    Groups,
    Order,
    Both,
    OtherGroups,
    Function,
    Capture(u64),
}

/// Asks both kinds of parameters for the same, which have the same methods.
macro_rules! ask {
    ($rows:expr, $ask:expr) => {
        match $ask {
            Ask::Nothing => {}
            Ask::Groups => _ = $rows.group_by::<DockedTo>().unwrap(),
            Ask::Order => _ = $rows.order_by(by_strength).unwrap(),
            Ask::Both => _ = $rows.order_by(by_strength).unwrap().group_by::<DockedTo>().unwrap(),
            Ask::OtherGroups => _ = $rows.group_by::<Likes>().unwrap().order_by(by_strength).unwrap(),
            Ask::Function => {
                _ = $rows.group_by_fn(|row| Some(u64::from(row.this()?.index_u32() % 3))).unwrap();
            }
            Ask::Capture(number) => {
                _ = $rows.group_by_fn(move |row| Some(u64::from(row.this()?.index_u32()) % number)).unwrap();
            }
        }
    };
}

/// Whether the rows that are kept are those that are found. The system writes what it sorts by.
fn compare<E: Expression>(In(ask): In<Ask>, mut set: ParamSet<(LiveQuery<E>, ExprQuery<E>)>) {
    let mut kept = {
        let mut rows = set.p0();
        ask!(rows, ask);
        kept(&mut rows)
    };
    let mut rows = set.p1();
    ask!(rows, ask);
    let mut found = found(&mut rows);
    if !matches!(ask, Ask::Order | Ask::Both | Ask::OtherGroups) {
        // They come in any order.
        kept.values_mut().chain(found.values_mut()).for_each(|(strengths, _)| strengths.sort_unstable());
    }
    assert_eq!(kept, found, "{ask:?}");
    if let Ask::Both = ask {
        rows.for_each_mut(|(), mut row| {
            if let Ok(mut strength) = row.get_mut::<Strength>(1) {
                strength.0 = strength.0.wrapping_mul(7) % 10;
            }
        })
        .unwrap();
    }
}

fn change(world: &mut World, random: &mut Random, ships: &mut Vec<Entity>, ports: &[Entity]) {
    let ship = ships[random.below(ships.len())];
    let port = ports[random.below(ports.len())];
    if world.get_entity(ship).is_err() {
        ships.push(world.spawn(Ship).id());
        return;
    }
    let strength = Strength(random.below(10) as u32);
    match random.below(12) {
        0 | 1 => _ = world.insert_pair(ship, DockedTo, port),
        2 => _ = world.remove_pairs::<DockedTo>(ship),
        3 | 4 => _ = world.insert_pair(ship, Likes, port),
        5 => _ = world.remove_pair::<Likes>(ship, port),
        6 => _ = world.entity_mut(ship).insert(strength),
        7 => _ = world.entity_mut(ship).remove::<Strength>(),
        8 | 9 => world.get_mut::<Strength>(ship).into_iter().for_each(|mut old| *old = strength),
        10 => _ = world.despawn(ship),
        _ if world.entity(ship).contains::<Disabled>() => _ = world.entity_mut(ship).remove::<Disabled>(),
        _ => _ = world.entity_mut(ship).insert(Disabled),
    }
}

#[test]
fn a_system_keeps_groups_and_order_as_the_world_does() {
    const ASKS: [Ask; 8] = [
        Ask::Both,
        Ask::Groups,
        Ask::Order,
        Ask::Nothing,
        Ask::OtherGroups,
        Ask::Function,
        Ask::Capture(2),
        Ask::Capture(5),
    ];
    for seed in 1..=fewer(60) as u64 {
        let (mut world, mut random) = (world(), Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let ports = [(); 4].map(|()| world.spawn_empty().id());
        let mut ships: Vec<Entity> = (0..12).map(|n| world.spawn((Ship, Strength(n))).id()).collect();
        let systems: [SystemId<In<Ask>>; 2] =
            [world.register_system(compare::<Ships>), world.register_system(compare::<Alone>)];
        let mut asks = [Ask::Both; 2];
        for _ in 0..fewer(60) {
            for _ in 0..random.below(6) {
                change(&mut world, &mut random, &mut ships, &ports);
            }
            for (system, ask) in systems.into_iter().zip(&mut asks) {
                // Mostly what was asked for before.
                if random.below(4) == 0 {
                    *ask = ASKS[random.below(ASKS.len())];
                }
                world.run_system_with(system, *ask).unwrap();
            }
            world.check_pairs().unwrap();
        }
    }
}

#[test]
fn only_what_changed_is_put_into_another_group() {
    fn in_groups(mut rows: LiveQuery<Ships, &mut Seen>) -> (Vec<u64>, Vec<u64>) {
        rows.group_by::<DockedTo>().unwrap();
        let groups: Vec<u64> = rows.groups().collect();
        for group in groups {
            rows.for_each_in_group_mut(group, |mut seen, _| seen.0 += 1);
            assert!(rows.iter_group(group).all(|(seen, row)| seen.0 > 0 && row.this().is_some()));
        }
        let mut told = (rows.appeared_groups().to_vec(), rows.emptied_groups().to_vec());
        told.0.sort_unstable();
        told
    }
    let mut world = world();
    let [p, q] = [(); 2].map(|()| world.spawn_empty().id());
    let ships: Vec<Entity> = (0..4).map(|_| world.spawn((Ship, Seen(0), Pair(DockedTo, p))).id()).collect();
    let unseen = world.spawn((Ship, Pair(DockedTo, q))).id();
    let system = world.register_system(in_groups);
    let mut groups = [p.to_bits(), q.to_bits()];
    groups.sort_unstable();
    assert_eq!(world.run_system(system).unwrap(), (groups.to_vec(), vec![]));
    assert_eq!(world.run_system(system).unwrap(), (vec![], vec![]));
    world.despawn(unseen);
    world.insert_pair(ships[0], DockedTo, q).unwrap();
    world.insert_pair(ships[0], DockedTo, p).unwrap();
    assert_eq!(world.run_system(system).unwrap(), (vec![], vec![q.to_bits()]));
    assert!(ships.iter().all(|&ship| world.get::<Seen>(ship).unwrap().0 == 3));
}

#[test]
fn a_run_costs_what_has_changed() {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    fn in_groups(mut rows: LiveQuery<Ships>) -> usize {
        let by = |row: Row<'_>| {
            CALLS.fetch_add(1, Relaxed);
            row.var("port").map(Entity::to_bits)
        };
        rows.group_by_fn(by).unwrap().groups().len()
    }
    let mut world = world();
    let ports = [(); 2].map(|()| world.spawn_empty().id());
    let ships: Vec<Entity> =
        (0..100).map(|n| world.spawn((Ship, Pair(DockedTo, ports[n % 2]))).id()).collect();
    let system = world.register_system(in_groups);
    for (asked, groups) in [(100, 2), (0, 2), (1, 3), (1, 2)] {
        CALLS.store(0, Relaxed);
        assert_eq!(world.run_system(system).unwrap(), groups);
        assert_eq!(CALLS.load(Relaxed), asked);
        match asked {
            0 => _ = world.remove_pairs::<DockedTo>(ships[5]),
            _ if groups == 3 => _ = world.insert_pair(ships[5], DockedTo, ports[0]),
            _ => {}
        }
    }
}

#[test]
fn a_run_condition_has_its_groups_too() {
    let mut world = world();
    let port = world.spawn_empty().id();
    let ship = world.spawn((Ship, Pair(Likes, port))).id();
    let mut schedule = Schedule::default();
    let has_fans = move |mut ships: LiveQuery<Alone>| {
        ships.group_by::<Likes>().unwrap();
        ships.group(port.to_bits()).len() > 0
    };
    #[derive(Resource, Default)]
    struct Runs(u32);
    world.init_resource::<Runs>();
    schedule.add_systems((|mut runs: ResMut<Runs>| runs.0 += 1).run_if(has_fans));
    for expected in [1, 2] {
        schedule.run(&mut world);
        assert_eq!(world.resource::<Runs>().0, expected);
    }
    world.remove_pairs::<Likes>(ship);
    schedule.run(&mut world);
    world.maintain_pairs();
    schedule.run(&mut world);
    assert_eq!(world.resource::<Runs>().0, 2);
    world.insert_pair(ship, Likes, port).unwrap();
    schedule.run(&mut world);
    assert_eq!(world.resource::<Runs>().0, 3);
}

#[test]
fn what_cannot_be_grouped_or_sorted_by_is_named() {
    #[derive(Expression)]
    #[expr("Ship, Strength(cascade ChildOf)")]
    struct Deep;
    #[derive(Expression)]
    #[expr("Ship, (Likes, $other), Strength($other)")]
    struct OfOther;
    #[derive(Component)]
    struct Unknown;
    let mut world = world();
    let not_read = |name: &str| ExprRunError::NotRead { component: name.into() };
    world
        .run_system_cached(move |mut rows: LiveQuery<Ships>| {
            assert_eq!(rows.order_by::<Unknown>(|_, _| Ordering::Equal).err(), Some(not_read("Unknown")));
            assert!(matches!(rows.group_by_id(Entity::PLACEHOLDER), Err(ExprRunError::NotARelation { .. })));
            assert_eq!(kept(&mut rows), Groups::new());
        })
        .unwrap();
    world
        .run_system_cached(move |mut rows: LiveQuery<OfOther>| {
            assert_eq!(rows.order_by(by_strength).err(), Some(not_read("Strength")));
        })
        .unwrap();
    world
        .run_system_cached(move |mut rows: LiveQuery<Alone, &mut Strength>| {
            assert_eq!(rows.order_by(by_strength).err(), Some(not_read("Strength")));
        })
        .unwrap();
    world
        .run_system_cached(|mut rows: LiveQuery<Deep>| {
            assert!(matches!(rows.group_by::<DockedTo>(), Err(ExprRunError::GroupsWithCascade)));
        })
        .unwrap();
}

#[test]
fn rows_are_right_after_a_comparison_that_panics() {
    fn sorted(In(panics): In<bool>, mut rows: LiveQuery<Ships>) -> Vec<u32> {
        let rows = match panics {
            true => rows.order_by::<Strength>(|_, _| panic!("no order")),
            false => rows.order_by(by_strength),
        };
        rows.unwrap().group(0).map(|row| row.get::<Strength>(1).unwrap().0).collect()
    }
    let mut world = world();
    world.spawn_batch([3, 1, 2].map(|strength| (Ship, Strength(strength))));
    let system = world.register_system(sorted);
    assert_eq!(world.run_system_with(system, false).unwrap(), [1, 2, 3]);
    world.spawn((Ship, Strength(0)));
    assert_eq!(panic_message(|| world.run_system_with(system, true)).as_deref(), Some("no order"));
    let system = world.register_system(sorted);
    assert_eq!(world.run_system_with(system, false).unwrap(), [0, 1, 2, 3]);
}
