//! What is allocated: nothing by a snapshot of an unchanged world that is brought up to date, and nothing more and more by
//! what follows a world of constant size.
//!
//! A binary of its own, for its allocator counts.
#![expect(unsafe_code, reason = "an allocator that counts")]

use bevy_app::prelude::*;
use bevy_ecs::{prelude::*, system::RunSystemOnce};
use bevy_relations::{
    expr::PairExpr,
    live::*,
    prelude::*,
    query::{Cached, Up},
    relation::Wildcard,
    snapshot::{PairFilter, PairSnapshot},
};
use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    /// Bytes that are allocated, less those that were freed.
    static HELD: Cell<isize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: it does what `System` does.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        HELD.set(HELD.get() + layout.size() as isize);
        // SAFETY: promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.set(HELD.get() - layout.size() as isize);
        // SAFETY: promised by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(run: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    run();
    ALLOCATIONS.get() - before
}

#[derive(Relation)]
struct Likes;

#[derive(Relation, Clone)]
struct Eats(#[expect(dead_code, reason = "it is copied")] u32);

#[derive(Relation)]
#[relation(ordered)]
struct Follows;

#[test]
fn a_snapshot_of_an_unchanged_world_is_brought_up_to_date_without_allocations() {
    let mut world = World::new();
    let entities: Vec<Entity> = (0..1000).map(|_| world.spawn_empty().id()).collect();
    for (number, pair) in entities.windows(3).enumerate() {
        let [a, b, c] = *pair else { continue };
        world.insert_pair(a, Likes, b).unwrap();
        world.insert_pair(a, Eats(number as u32), c).unwrap();
        world.insert_pair(a, Follows, entities[999]).unwrap();
        world.entity_mut(a).insert(ChildOf(entities[999]));
    }
    let mut snapshot = PairSnapshot::take(&mut world, PairFilter::all()).unwrap();
    snapshot.update(&mut world).unwrap();
    assert_eq!(allocations(|| snapshot.update(&mut world).unwrap()), 0);

    // Of a world in which one value was written, that is copied; the values of the relation are read again.
    world.insert_pair(entities[0], Likes, entities[5]).unwrap();
    let first = allocations(|| snapshot.update(&mut world).unwrap());
    assert!(first < 10, "{first} allocations for one tag pair");
    assert_eq!(allocations(|| snapshot.update(&mut world).unwrap()), 0);
    assert_eq!(snapshot.len(), 4 * 998 + 1);
}

#[derive(Component)]
struct Load(u32);

impl RollupValue for Load {
    type Value = u32;

    fn rollup_value(&self) -> u32 {
        self.0
    }
}

#[derive(Component, Clone)]
#[component(immutable)]
struct Team;

/// Has everything followed that there is in a world.
fn follow(app: &mut App) {
    app.add_rollup::<ChildOf, Load, Sum>().add_rollup::<ChildOf, Load, Max>().propagate::<ChildOf, Team>();
    app.add_systems(Update, |mut all: AnyPairDeltas, mut one: PairDeltas<Eats>| {
        all.read_net().into_iter().flatten().for_each(drop);
        one.read_net().into_iter().flatten().for_each(drop);
    });
    let world = app.world_mut();
    world.register_component_name::<Load>("Load").register_component_name::<Team>("Team");
    world.register_relation::<Likes>().unwrap();
    let texts =
        ["Load, (Likes, $x), !Team($x)", "Load, ?(Likes, *)", "Team(up ChildOf), !{ (Likes, $x), Load($x) }"];
    for text in texts {
        world.observe_expr(&PairExpr::parse(text).unwrap(), |_, _| {}, |_, _| {}).unwrap();
    }
}

/// How much more an app holds after many frames than after half of them. In each, ships come, go, change and move.
fn grown(is_followed: bool) -> isize {
    let mut app = App::new();
    app.add_plugins(RelationsPlugin);
    match is_followed {
        true => follow(&mut app),
        // Bevy itself holds more with each run of a system.
        false => _ = app.add_systems(Update, || {}),
    }
    let [a, b] = [(); 2].map(|()| app.world_mut().spawn_empty().id());
    let mut held = Vec::new();
    // Until the first time, more changes than are kept.
    for frames in [3_000, 1_500] {
        for number in 0..frames {
            let ships = [(); 4].map(|()| {
                let world = app.world_mut();
                let ship = world.spawn((Load(1), ChildOf(a))).id();
                world.entity_mut(ship).insert(ChildOf(b));
                world.entity_mut(a).remove::<Team>().insert(Team);
                world.insert_pair(ship, Likes, a).unwrap();
                world.insert_pair(ship, Eats(number), b).unwrap();
                ship
            });
            app.update();
            let world = app.world_mut();
            for ship in ships {
                world.get_mut::<Load>(ship).unwrap().0 = number;
            }
            world.entity_mut(a).remove::<Team>();
            app.update();
            for ship in ships {
                app.world_mut().despawn(ship);
            }
        }
        held.push(HELD.get());
    }
    held[1] - held[0]
}

#[test]
fn what_follows_a_world_of_constant_size_holds_no_more_after_many_frames() {
    let (plain, followed) = (grown(false), grown(true));
    assert!(followed < plain + (1 << 14), "{followed} bytes more, {plain} if nothing is followed");
}

/// Whether many steps leave nothing behind. A list may still grow once in a while.
fn leaves_nothing(mut step: impl FnMut(&mut World)) -> bool {
    let mut app = App::new();
    app.add_plugins(RelationsPlugin);
    let world = app.world_mut();
    world.register_component_name::<Load>("Load").register_component_name::<Team>("Team");
    world.register_relation::<Likes>().unwrap();
    let mut grown = || {
        let before = HELD.get();
        for _ in 0..20 {
            (0..50).for_each(|_| step(app.world_mut()));
            app.update();
        }
        HELD.get() - before
    };
    (0..5).any(|_| grown() < 1 << 12)
}

#[derive(Expression)]
#[expr("Load, (Likes, $x), !Team($x)")]
struct Liked;

#[test]
fn what_is_dropped_before_the_next_leaves_nothing_behind() {
    let live = |world: &mut World| {
        let mut live = PairExpr::parse("Load, (Likes, $x), ?Team(up ChildOf)").unwrap().live(world).unwrap();
        live.update(world).unwrap();
    };
    assert!(leaves_nothing(live));
    let live_query =
        |world: &mut World| _ = world.run_system_once(|live: LiveQuery<Liked>| live.len()).unwrap();
    assert!(leaves_nothing(live_query));
    let monitor = |world: &mut World| {
        let expr = PairExpr::parse("Load, (Likes, $x)").unwrap();
        let monitor = world.observe_expr(&expr, |_, _| {}, |_, _| {}).unwrap();
        world.update_live().unwrap();
        world.despawn(monitor);
    };
    assert!(leaves_nothing(monitor));
    let deltas = |world: &mut World| {
        let read = |mut deltas: PairDeltas<Likes>| deltas.read().is_ok();
        world.run_system_once(read).unwrap();
    };
    assert!(leaves_nothing(deltas));
    let cached = |world: &mut World| {
        let count = |query: Query<Cached<Up<ChildOf, &Load>>>| query.iter().count();
        world.run_system_once(count).unwrap();
    };
    assert!(leaves_nothing(cached));
}

#[test]
fn observers_that_are_narrowed_to_one_target_after_the_other_leave_nothing_behind() {
    let relation_and_target = |with_pair: bool, observer_first: bool| {
        move |world: &mut World| {
            let likes = world.entity_of::<Likes>();
            let target = world.spawn_empty().id();
            let observer = world.observe_pairs((likes, target), |_: On<PairInserted<Wildcard>>| {});
            if with_pair {
                world.insert_pair(target, Likes, target).unwrap();
            }
            let (first, second) = if observer_first { (observer, target) } else { (target, observer) };
            world.despawn(first);
            world.despawn(second);
        }
    };
    for (with_pair, observer_first) in [(true, true), (true, false), (false, true), (false, false)] {
        assert!(leaves_nothing(relation_and_target(with_pair, observer_first)));
    }
    let relation = |world: &mut World| {
        let relation = world.spawn_relation("R", RelationTraits::new()).unwrap();
        let observer =
            world.observe_pairs(PairId::with_relation(relation), |_: On<PairRemoved<Wildcard>>| {});
        world.despawn(observer);
        world.despawn(relation);
    };
    assert!(leaves_nothing(relation));
}
