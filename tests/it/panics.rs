//! Users' code that panics in the middle of an operation: afterwards the operation has happened wholly or not at all,
//! every invariant holds, and every value is dropped once.
//!
//! Every verb meets a panic at every place where users' code may run, at its first, second and third call.

use crate::common::{dump, spawn, take_errors, world_that_records_errors};
use bevy_ecs::{component::ComponentId, hierarchy::ChildOf, prelude::*};
use bevy_relations::{
    error::PairRefusal,
    prelude::*,
    relation::{PairContext, Wildcard},
};
use core::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Where users' code runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// `#[relation(validate = ..)]`.
    Validator,
    Default,
    Clone,
    Drop,
    /// An observer of inserted pairs.
    Inserted,
    /// An observer of pairs that go.
    Removed,
    /// An observer of the hidden marker.
    Marker,
    /// An observer of a component that keeps an adopted pair.
    Component,
    /// The iterator given to a batch.
    Iterator,
}

const PLACES: [Place; 9] = [
    Place::Validator,
    Place::Default,
    Place::Clone,
    Place::Drop,
    Place::Inserted,
    Place::Removed,
    Place::Marker,
    Place::Component,
    Place::Iterator,
];

thread_local! {
    /// Where to panic, and how many calls later.
    static ARMED: Cell<Option<(Place, u32)>> = const { Cell::new(None) };
    /// How many values there are.
    static ALIVE: Cell<isize> = const { Cell::new(0) };
}

/// Users' code runs: it panics if it is its turn.
fn call(place: Place) {
    match ARMED.get() {
        Some((armed, 0)) if armed == place && !std::thread::panicking() => {
            ARMED.set(None);
            // Without the message of a panic that is meant.
            resume_unwind(Box::new("meant"));
        }
        Some((armed, left)) if armed == place && left > 0 => ARMED.set(Some((place, left - 1))),
        _ => {}
    }
}

/// A value whose code panics.
struct Bomb(u32);

fn bomb(number: u32) -> Bomb {
    ALIVE.set(ALIVE.get() + 1);
    Bomb(number)
}

impl Default for Bomb {
    fn default() -> Self {
        call(Place::Default);
        bomb(0)
    }
}

impl Clone for Bomb {
    fn clone(&self) -> Self {
        call(Place::Clone);
        bomb(self.0)
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
        call(Place::Drop);
    }
}

#[derive(Relation)]
struct Likes;

#[derive(Relation, Clone, Default)]
#[relation(validate = validate)]
struct Weighs(Bomb);

fn validate(_: &mut Weighs, _: &PairContext<'_>) -> Result<(), PairRefusal> {
    call(Place::Validator);
    Ok(())
}

#[derive(Relation, Clone, Default)]
#[relation(exclusive, validate = validate_docked)]
struct Docked(Bomb);

fn validate_docked(_: &mut Docked, _: &PairContext<'_>) -> Result<(), PairRefusal> {
    call(Place::Validator);
    Ok(())
}

#[derive(Relation, Clone, Default)]
#[relation(exclusive, symmetric)]
struct Married(Bomb);

#[derive(Relation)]
#[relation(with(Docked, Weighs, ChildOf))]
struct Serves;

#[derive(Relation, Clone, Default)]
#[relation(on_target_despawn = Despawn)]
struct MountedOn(Bomb);

#[derive(Relation)]
#[relation(exclusive, traversable, on_target_despawn = Despawn)]
struct PartOf;

/// Entities with pairs (by the table in [`world`]), and after them some without.
type Entities = [Entity; 12];

fn world() -> (World, Entities) {
    let mut world = world_that_records_errors();
    let entities: Entities = spawn(&mut world);
    let [a, b, c, d, e, f, g, h, ..] = entities;
    world.insert_pair(a, Weighs(bomb(1)), b).unwrap();
    world.insert_pair(a, Weighs(bomb(2)), c).unwrap();
    world.insert_pair(a, Docked(bomb(3)), b).unwrap();
    world.insert_pair(c, Married(bomb(4)), d).unwrap();
    world.insert_pair(e, MountedOn(bomb(5)), f).unwrap();
    world.insert_pair(g, MountedOn(bomb(6)), e).unwrap();
    world.insert_pair(a, PartOf, f).unwrap();
    world.insert_pair(e, Weighs(bomb(7)), a).unwrap();
    world.insert_pair(d, ChildOf(h), h).unwrap();
    world.insert_pair(d, Likes, b).unwrap();
    world.register_relation::<Serves>().unwrap();
    let marker = marker(&mut world);
    world.add_observer(|_: On<PairInserted<Wildcard>>| call(Place::Inserted));
    world.add_observer(|_: On<PairRemoved<Wildcard>>| call(Place::Removed));
    world.add_observer(|_: On<Insert<ChildOf>>| call(Place::Component));
    world.spawn(Observer::new(|_: On<Insert<()>>| call(Place::Marker)).with_component(marker));
    (world, entities)
}

/// The id of the marker: the only component of an entity that has nothing but a pair.
fn marker(world: &mut World) -> ComponentId {
    let [a, b] = spawn(world);
    world.insert_pair(a, Likes, b).unwrap();
    let marker = world.entity(a).archetype().components()[0];
    world.despawn(a);
    world.despawn(b);
    marker
}

type Verb = fn(&mut World, &Entities);

/// Verbs that are one operation: it happens wholly or not at all.
const WHOLE: &[(&str, Verb)] = &[
    ("insert", |w, &[.., x, y]| w.insert_pair(x, Weighs(bomb(10)), y).unwrap()),
    ("insert a tag pair", |w, &[.., x, y]| w.insert_pair(x, Likes, y).unwrap()),
    ("insert by id", |w, &[.., x, y]| {
        let relation = w.entity_of::<Weighs>();
        w.insert_pair_by_id(x, (relation, y)).unwrap();
    }),
    ("insert to a type", |w, &[.., x, _]| _ = w.insert_pair_to::<Likes, Weighs>(x, Weighs(bomb(10)))),
    ("replace a value", |w, &[a, b, ..]| w.insert_pair(a, Weighs(bomb(10)), b).unwrap()),
    ("replace a target", |w, &[a, .., x]| w.insert_pair(a, Docked(bomb(10)), x).unwrap()),
    ("replace a partner", |w, &[_, b, c, ..]| w.insert_pair(c, Married(bomb(10)), b).unwrap()),
    ("replace two partners", |w, &[_, _, c, .., x, y]| {
        w.insert_pair(x, Married(bomb(10)), y).unwrap();
        w.insert_pair(c, Married(bomb(11)), x).unwrap();
    }),
    ("insert with companions", |w, &[.., x, y]| w.insert_pair(x, Serves, y).unwrap()),
    ("insert with companions that replace", |w, &[a, .., y]| w.insert_pair(a, Serves, y).unwrap()),
    ("insert an adopted pair", |w, &[.., x, y]| w.insert_pair(x, ChildOf(y), y).unwrap()),
    ("retarget an adopted pair", |w, &[_, _, _, d, .., y]| w.insert_pair(d, ChildOf(y), y).unwrap()),
    ("insert a batch of one", |w, &[.., x, y]| {
        w.insert_pair_batch([(x, Weighs(bomb(10)), y)].into_iter().inspect(|_| call(Place::Iterator)))
            .unwrap();
    }),
    ("insert a bundle", |w, &[.., x, y]| _ = w.entity_mut(x).insert(Pair(Docked(bomb(10)), y))),
    ("replace by a bundle", |w, &[a, .., y]| _ = w.entity_mut(a).insert(pairs![(Docked(bomb(10)), y)])),
    ("commands", |w, &[a, .., y]| {
        w.commands().entity(a).insert_pair(Docked(bomb(10)), y);
        w.flush();
    }),
    ("remove", |w, &[a, b, ..]| _ = w.remove_pair::<Weighs>(a, b)),
    ("remove a partner", |w, &[_, _, c, d, ..]| _ = w.remove_pair::<Married>(d, c)),
    ("remove a relation's pairs", |w, &[a, ..]| _ = w.remove_pairs::<Weighs>(a)),
    ("remove an adopted pair", |w, &[_, _, _, d, _, _, _, h, ..]| _ = w.remove_pair::<ChildOf>(d, h)),
    ("remove all of a source", |w, &[a, ..]| _ = w.remove_pairs_by_id(a, PairId::ALL)),
    ("remove everywhere", |w, _| {
        let relation = w.entity_of::<Weighs>();
        w.remove_pairs_everywhere(PairId::with_relation(relation));
    }),
    ("remove everything", |w, _| _ = w.remove_pairs_everywhere(PairId::ALL)),
    ("despawn a source", |w, &[a, ..]| _ = w.despawn(a)),
    ("despawn a target", |w, &[_, b, ..]| _ = w.despawn(b)),
    ("despawn a partner", |w, &[_, _, c, ..]| _ = w.despawn(c)),
    ("despawn a relation", |w, _| {
        let relation = w.entity_of::<Married>();
        w.despawn(relation);
    }),
];

/// Verbs of several operations, of which each happens wholly or not at all.
const PARTS: &[(&str, Verb)] = &[
    ("insert a batch", |w, &[a, b, c, .., x, y]| {
        let pairs = [(a, x), (b, y), (a, y), (c, a)].map(|(s, t)| (s, Docked(bomb(10)), t));
        w.insert_pair_batch(pairs.into_iter().inspect(|_| call(Place::Iterator))).unwrap();
    }),
    ("batch of commands", |w, &[a, b, .., x, y]| {
        let mut commands = w.commands();
        let mut batch = commands.pair_batch::<Weighs>();
        batch.insert(a, Weighs(bomb(10)), x).insert(b, Weighs(bomb(10)), y).remove(a, b);
        drop(batch);
        w.flush();
    }),
    ("remove a batch", |w, &[a, b, c, ..]| {
        let pairs = [(a, b), (a, c)].into_iter().inspect(|_| call(Place::Iterator));
        w.remove_pair_batch::<Weighs>(pairs);
    }),
    ("spawn", |w, &[a, b, c, ..]| {
        w.spawn((Pair(Weighs(bomb(10)), a), pairs![(Docked(bomb(11)), b), (Docked(bomb(12)), c)]));
    }),
    ("spawn a batch", |w, &[a, b, ..]| {
        let batch = [a, b, a].map(|target| (Name::new("n"), Weighs(bomb(10)), target));
        w.spawn_batch_with_pair(batch.into_iter().inspect(|_| call(Place::Iterator)));
    }),
    ("spawn sources", |w, _| _ = w.spawn((Name::new("n"), sources![Weighs: Name::new("a"), Name::new("b")]))),
    ("clone", |w, &[a, ..]| _ = w.entity_mut(a).clone_and_spawn()),
    ("clear", |w, &[a, ..]| _ = w.entity_mut(a).clear()),
    ("clear pairs", |w, _| w.clear_pairs()),
    ("despawn a cascade", |w, &[_, _, _, _, _, f, ..]| _ = w.despawn(f)),
    ("despawn with dependents", |w, &[_, _, _, _, _, f, ..]| w.despawn_with_dependents(f).unwrap()),
    ("despawn with pair", |w, _| {
        let relation = w.entity_of::<Weighs>();
        w.despawn_sources(PairId::with_relation(relation)).unwrap();
    }),
];

/// The pairs with their values.
fn state(world: &World) -> Vec<String> {
    let mut state = dump(world);
    let number = |value: &Bomb| value.0;
    state.extend(world.pairs::<Weighs>().values().map(|(s, t, v)| format!("{s} {t} {}", number(&v.0))));
    state.extend(world.pairs::<Docked>().values().map(|(s, t, v)| format!("{s} {t} {}", number(&v.0))));
    state.extend(world.pairs::<Married>().values().map(|(s, t, v)| format!("{s} {t} {}", number(&v.0))));
    state.extend(world.pairs::<MountedOn>().values().map(|(s, t, v)| format!("{s} {t} {}", number(&v.0))));
    state.sort();
    state
}

/// Runs a verb that panics; says whether it did.
fn run(name: &str, verb: Verb, place: Place, nth: u32, check: impl Fn(&World)) -> bool {
    let context = format!("{name}, {place:?} number {nth}");
    ALIVE.set(0);
    let (mut world, entities) = world();
    ARMED.set(Some((place, nth)));
    let result = catch_unwind(AssertUnwindSafe(|| verb(&mut world, &entities)));
    let panicked = result.is_err();
    ARMED.set(None);
    world.check_pairs().unwrap_or_else(|error| panic!("{context}: {error}"));
    if panicked {
        let checked = catch_unwind(AssertUnwindSafe(|| check(&world)));
        assert!(checked.is_ok(), "{context}");
    }
    world.flush();
    world.check_pairs().unwrap_or_else(|error| panic!("{context}, flushed: {error}"));
    // The world is as good as before.
    let [x, y] = spawn(&mut world);
    world.insert_pair(x, Weighs(bomb(20)), y).unwrap();
    world.insert_pair(x, Docked(bomb(20)), y).unwrap();
    world.insert_pair(x, Married(bomb(20)), y).unwrap();
    world.insert_pair(x, Serves, y).unwrap();
    world.despawn(y);
    assert!(world.pairs_of(x).is_empty(), "{context}");
    world.check_pairs().unwrap_or_else(|error| panic!("{context}, afterwards: {error}"));
    take_errors();
    drop(world);
    // A bundle that was not finished leaks what it still had: Bevy has moved it away.
    let leaks = panicked && name == "spawn";
    assert!(ALIVE.get() == 0 || leaks, "{context}: {} values are left", ALIVE.get());
    panicked
}

/// Gives the number of panics.
fn run_at_all_places(name: &str, verb: Verb, check: impl Fn(&World)) -> usize {
    let at = |place| (0..3).take_while(|&nth| run(name, verb, place, nth, &check)).count();
    PLACES.into_iter().map(at).sum()
}

#[test]
fn an_operation_in_which_users_code_panics_has_happened_wholly_or_not_at_all() {
    let mut panics = 0;
    for &(name, verb) in WHOLE {
        let (mut world, entities) = world();
        let before = state(&world);
        verb(&mut world, &entities);
        let after = state(&world);
        panics += run_at_all_places(name, verb, |world| {
            let mut now = state(world);
            // Entities of types that are new.
            now.retain(|line| before.contains(line) || after.contains(line) || !line.ends_with("no pairs"));
            // The first of its two insertions may be all there is.
            let half = now != before && now != after && name != "replace two partners";
            assert!(!half, "half done:\nbefore {before:#?}\nnow {now:#?}\nafter {after:#?}");
        });
    }
    assert!(panics > 60, "{panics}");
}

#[test]
fn operations_of_several_parts_in_which_users_code_panics_keep_every_invariant() {
    let mut panics = 0;
    for &(name, verb) in PARTS {
        panics += run_at_all_places(name, verb, |_| ());
    }
    assert!(panics > 40, "{panics}");
}

#[test]
fn a_registration_in_which_an_observer_panics_can_be_made_again() {
    for has_child_index in [true, false] {
        let mut world = world_that_records_errors();
        if has_child_index {
            world.register_relation::<ChildOf>().unwrap();
        }
        let [a, b, c] = spawn(&mut world);
        let marker = marker(&mut world);
        world.spawn(Observer::new(|_: On<Insert<()>>| call(Place::Marker)).with_component(marker));
        for nth in 0..6 {
            ARMED.set(Some((Place::Marker, nth)));
            let result = catch_unwind(AssertUnwindSafe(|| world.insert_pair(a, Serves, b).unwrap()));
            ARMED.set(None);
            if !has_child_index {
                // A companion of `Serves` needs the index: its observers are spawned at the next use, or now.
                world.maintain_pairs();
            }
            world.check_pairs().unwrap();
            if result.is_err() {
                assert!(world.pairs_of(a).is_empty(), "number {nth}");
            }
        }
        world.insert_pair(a, Serves, b).unwrap();
        world.insert_pair(a, Serves, c).unwrap();
        assert_eq!(world.pairs::<Docked>().target_count(a), 1, "exclusive, as declared");
        assert_eq!(world.get::<ChildOf>(a), Some(&ChildOf(c)));
        world.check_pairs().unwrap();
        drop(world);
    }
}

#[test]
fn a_cascade_goes_on_after_an_observer_panicked() {
    let (mut world, [a, b, ..]) = world();
    for source in [a, b] {
        let child = world.spawn(Pair(PartOf, source)).id();
        for _ in 0..3 {
            world.spawn((Name::new("leaf"), Pair(PartOf, child)));
        }
    }
    world.add_observer(|_: On<Remove<Name>>| call(Place::Component));
    ARMED.set(Some((Place::Component, 1)));
    catch_unwind(AssertUnwindSafe(|| world.despawn_with_dependents(a).unwrap())).unwrap_err();
    world.check_pairs().unwrap();
    assert!(world.get_entity(a).is_err());
    ARMED.set(Some((Place::Component, 1)));
    let _ = catch_unwind(AssertUnwindSafe(|| world.despawn(b)));
    ARMED.set(None);
    world.flush();
    assert_eq!(world.pairs::<PartOf>().len(), 0);
    assert!(world.get_entity(b).is_err());
    world.check_pairs().unwrap();
}

/// Its removal makes an observer panic.
#[derive(Component)]
struct Fragile;

#[test]
fn a_relation_type_gets_another_entity_if_an_observer_broke_the_despawn_of_its_own_off() {
    let mut world = world_that_records_errors();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Likes, b).unwrap();
    let old = world.entity_of::<Likes>();
    world.entity_mut(old).insert(Fragile);
    let observer = world.add_observer(|_: On<Remove<Fragile>>| panic!("on purpose")).id();
    assert!(catch_unwind(AssertUnwindSafe(|| world.despawn(old))).is_err());
    world.flush();
    world.despawn(observer);
    world.check_pairs().unwrap();
    world.insert_pair(a, Likes, b).unwrap();
    world.check_pairs().unwrap();
    let new = world.entity_of::<Likes>();
    assert_ne!(old, new);
    world.despawn(new);
    world.check_pairs().unwrap();
    assert!(world.pairs::<Likes>().is_empty());
}

#[test]
fn a_cascade_that_bevy_loses_with_a_command_that_panics_ends_with_the_next_or_with_maintenance() {
    for by_maintenance in [false, true] {
        let (mut world, [a, b, ..]) = world();
        let [of_a, of_b] = [a, b].map(|source| world.spawn(Pair(PartOf, source)).id());
        world.entity_mut(a).insert(Name::new("a"));
        world.add_observer(|_: On<Remove<Name>>| call(Place::Component));
        ARMED.set(Some((Place::Component, 0)));
        world.commands().entity(a).despawn();
        world.flush();
        assert!(ARMED.get().is_none(), "it panicked");
        if by_maintenance {
            world.maintain_pairs();
            assert!(world.get_entity(of_a).is_err());
        }
        world.despawn(b);
        assert!(world.get_entity(of_b).is_err() && world.get_entity(of_a).is_err());
        world.check_pairs().unwrap();
    }
}

#[test]
fn an_observer_that_panics_before_the_marker_is_removed_leaves_the_entity_its_role() {
    #[derive(Component)]
    struct Ship;

    for event in 0..2 {
        let mut world = world_that_records_errors();
        let [bob, eve] = spawn(&mut world);
        world.insert_pair(bob, Likes, eve).unwrap();
        let markers: Vec<ComponentId> = world.entity(bob).archetype().iter_components().collect();
        world.entity_mut(bob).insert(Ship);
        let observer = match event {
            0 => Observer::new(|_: On<Discard<()>>| call(Place::Marker)),
            _ => Observer::new(|_: On<Remove<()>>| call(Place::Marker)),
        };
        world.spawn(observer.with_components(markers));
        // Bevy reports the panic of a command, and loses what the command has queued, also what this crate has queued.
        world.commands().queue(move |world: &mut World| {
            ARMED.set(Some((Place::Marker, 0)));
            world.entity_mut(bob).retain::<Ship>();
        });
        world.flush();
        assert!(ARMED.get().is_none() && take_errors().len() == 1, "it panicked");
        world.check_pairs().unwrap();
        world.despawn(bob);
        assert!(world.pairs_to(eve).is_empty());
        world.check_pairs().unwrap();
    }
}

#[test]
fn a_target_that_is_cleared_keeps_its_role_though_a_command_of_an_observer_panics() {
    fn fail(mut commands: Commands) {
        commands.queue(|_: &mut World| call(Place::Marker));
    }

    // Whether the observer runs before or after that of this crate, which is triggered when a marker goes.
    for place in 0..4 {
        for despawned in [false, true] {
            // With Bevy's own error handler, which goes on panicking: all other commands are lost.
            let mut world = World::new();
            let [bob, eve, kim] = spawn(&mut world);
            world.insert_pair(bob, Likes, eve).unwrap();
            world.insert_pair(eve, Likes, bob).unwrap();
            world.entity_mut(eve).insert(Name::new("Eve"));
            let observer = match place {
                0 => world.add_observer(|_: On<Discard<()>>, commands: Commands| fail(commands)).id(),
                1 => world.add_observer(|_: On<Discard<Name>>, commands: Commands| fail(commands)).id(),
                2 => world.add_observer(|_: On<Remove<Name>>, commands: Commands| fail(commands)).id(),
                _ => world.add_observer(|_: On<PairRemoved<Likes>>, commands: Commands| fail(commands)).id(),
            };
            ARMED.set(Some((Place::Marker, 0)));
            let cleared = catch_unwind(AssertUnwindSafe(|| {
                world.entity_mut(eve).clear();
            }));
            assert!(cleared.is_err() && ARMED.get().is_none(), "{place}: it panicked");
            world.despawn(observer);
            if place >= 2 {
                world.check_pairs().unwrap_or_else(|error| panic!("{place}: {error}"));
            }
            if despawned {
                world.despawn(eve);
            }
            // The next relation that is looked up mends what was lost.
            let likes = world.register_relation::<Likes>().unwrap();
            world.check_pairs().unwrap_or_else(|error| panic!("{place}, {despawned}: {error}"));
            let left = if despawned { vec![] } else { vec![eve] };
            assert_eq!(world.pairs::<Likes>().targets(bob).collect::<Vec<_>>(), left, "{place}");
            assert!(!world.pairs::<Likes>().has_any(eve), "{place}: what is cleared has no pairs");
            world.insert_pair_by_id(kim, (likes, bob)).unwrap();
            let _ = world.try_despawn(eve);
            assert!(!world.pairs::<Likes>().has_any(bob));
            world.check_pairs().unwrap();
        }
    }
}
