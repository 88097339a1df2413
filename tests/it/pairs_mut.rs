//! Writing values of pairs in place.

use crate::common::panic_message;
use bevy_ecs::{
    change_detection::{CHECK_TICK_THRESHOLD, MAX_CHANGE_AGE, Tick},
    prelude::*,
    system::RunSystemOnce,
};
use bevy_relations::prelude::*;

#[derive(Relation, Clone, Debug, PartialEq)]
struct Owes(u32);

#[derive(Relation, Clone, Debug, PartialEq)]
#[relation(symmetric)]
struct Trade {
    volume: u32,
}

#[derive(Relation)]
struct Likes;

#[test]
fn values_are_read_and_written_in_place() {
    let mut world = World::new();
    let [a, b, c] = crate::common::spawn(&mut world);
    for (source, target, sum) in [(a, b, 1), (a, c, 2), (b, c, 3)] {
        world.insert_pair(source, Owes(sum), target).unwrap();
    }
    let system = move |mut debts: PairsMut<Owes>, mut tags: PairsMut<Likes>| {
        assert_eq!((debts.get(a, b), debts.get(b, a), debts.len()), (Some(&Owes(1)), None, 3));
        debts.get_mut(a, b).unwrap().0 += 10;
        assert!(debts.get_mut(c, a).is_none() && tags.get_mut(a, b).is_none());
        debts.for_each_mut(|_, _, mut sum| sum.0 *= 2);
        let mut seen = Vec::new();
        debts.for_each_of(a, |target, mut sum| {
            seen.push((target, sum.0));
            sum.0 += 100;
        });
        assert_eq!(seen, [(b, 22), (c, 4)]);
        seen.clear();
        debts.for_each_to(c, |source, sum| seen.push((source, sum.0)));
        seen.sort_by_key(|(_, sum)| *sum);
        assert_eq!(seen, [(b, 6), (a, 104)]);
    };
    world.run_system_once(system).unwrap();
    assert_eq!(world.pair_value::<Owes>(a, b), Some(&Owes(122)));
    world.check_pairs().unwrap();
}

#[test]
fn a_symmetric_pair_has_one_value_for_both_directions() {
    let mut world = World::new();
    let [a, b] = crate::common::spawn(&mut world);
    world.insert_pair(a, Trade { volume: 1 }, b).unwrap();
    world.insert_pair(a, Trade { volume: 5 }, a).unwrap();
    let system = move |mut trade: PairsMut<Trade>| {
        trade.get_mut(b, a).unwrap().volume = 7;
        assert_eq!(trade.get(a, b), Some(&Trade { volume: 7 }));
        let mut visited = 0;
        trade.for_each_mut(|_, _, mut trade| {
            trade.volume += 1;
            visited += 1;
        });
        assert_eq!(visited, 2);
    };
    world.run_system_once(system).unwrap();
    let values =
        [(a, b), (b, a), (a, a)].map(|(from, to)| world.pair_value::<Trade>(from, to).unwrap().volume);
    assert_eq!(values, [8, 8, 6]);
}

#[test]
fn a_value_counts_as_changed_once_it_is_written_not_when_it_is_looked_at() {
    let mut world = World::new();
    let [a, b, c] = crate::common::spawn(&mut world);
    world.insert_pair(a, Owes(1), b).unwrap();
    world.insert_pair(a, Owes(2), c).unwrap();
    world.track_pair_changes::<Owes>();
    let changed = move |mut debts: PairsMut<Owes>| {
        [b, c].map(|target| debts.get_mut(a, target).map(|sum| (sum.is_added(), sum.is_changed())).unwrap())
    };
    let changed = world.register_system(changed);
    assert_eq!(world.run_system(changed).unwrap(), [(true, true); 2]);
    assert_eq!(world.run_system(changed).unwrap(), [(false, false); 2]);
    let look = move |mut debts: PairsMut<Owes>| debts.get_mut(a, b).map(|sum| sum.0);
    world.run_system_once(look).unwrap();
    assert_eq!(world.run_system(changed).unwrap(), [(false, false); 2]);
    let ticks = |world: &World, target| world.pairs::<Owes>().ticks(a, target).unwrap();
    let before = [ticks(&world, b), ticks(&world, c)];
    let write = move |mut debts: PairsMut<Owes>| debts.get_mut(a, b).unwrap().0 = 5;
    world.run_system_once(write).unwrap();
    assert_eq!(world.run_system(changed).unwrap(), [(false, true), (false, false)]);
    let after = [ticks(&world, b), ticks(&world, c)];
    assert_ne!(after[0].changed, before[0].changed);
    assert_eq!((after[0].inserted, after[1]), (before[0].inserted, before[1]));
    let in_a_system = move |debts: Pairs<Owes>| debts.ticks(a, b);
    assert_eq!(world.run_system_once(in_a_system).unwrap(), Some(after[0]));
    world.insert_pair(a, Owes(6), c).unwrap();
    assert_eq!(world.run_system(changed).unwrap(), [(false, false), (false, true)]);
    assert!(ticks(&world, c).changed.is_newer_than(after[0].changed, world.change_tick()));
}

#[test]
fn a_row_that_is_used_again_starts_anew() {
    let mut world = World::new();
    let [a, b, c] = crate::common::spawn(&mut world);
    world.insert_pair(a, Owes(1), b).unwrap();
    let state = move |mut debts: PairsMut<Owes>| {
        [b, c].map(|target| debts.get_mut(a, target).map(|sum| (sum.0, sum.is_added())))
    };
    let state = world.register_system(state);
    world.run_system(state).unwrap();
    world.remove_pair::<Owes>(a, b);
    world.insert_pair(a, Owes(2), c).unwrap();
    assert_eq!(world.run_system(state).unwrap(), [None, Some((2, true))]);
}

#[test]
#[cfg_attr(miri, ignore = "turns a counter half a billion times")]
fn old_changes_stay_old_when_the_counter_wraps_around() {
    let mut world = World::new();
    let [a, b] = crate::common::spawn(&mut world);
    world.insert_pair(a, Owes(1), b).unwrap();
    // Written so long ago that it would seem new in a while: the counter is about to come round to it.
    let long_ago = Tick::new(world.change_tick().get().wrapping_add(CHECK_TICK_THRESHOLD + 100));
    let age = move |mut debts: PairsMut<Owes>| debts.get_mut(a, b).unwrap().set_last_changed(long_ago);
    world.run_system_once(age).unwrap();
    for _ in 0..CHECK_TICK_THRESHOLD / 8 + 1 {
        // Nothing in Bevy turns the counter faster, and without optimisation a loop costs more than the call.
        world.increment_change_tick();
        world.increment_change_tick();
        world.increment_change_tick();
        world.increment_change_tick();
        world.increment_change_tick();
        world.increment_change_tick();
        world.increment_change_tick();
        world.increment_change_tick();
    }
    let now = world.check_change_ticks().expect("it is time").present_tick();
    let written = move |mut debts: PairsMut<Owes>| debts.get_mut(a, b).unwrap().last_changed();
    let written = world.run_system_once(written).unwrap();
    assert_eq!(now.get().wrapping_sub(written.get()), MAX_CHANGE_AGE);
}

#[test]
fn pairs_mut_conflicts_with_readers_of_its_values_only() {
    fn values_twice(_: PairsMut<Owes>, _: Pairs<Owes>) {}
    fn twice(_: PairsMut<Owes>, _: PairsMut<Owes>) {}
    fn beside(_: PairsMut<Owes>, _: Pairs<Likes>, _: PairsMut<Trade>, _: Query<&Name>) {}
    let initialise = |system: fn(&mut World)| panic_message(|| system(&mut World::new()));
    fn values_first(_: Pairs<Owes>, _: PairsMut<Owes>) {}
    fn term_after(_: PairsMut<Owes>, _: Query<Targets<Owes>>) {}
    fn term_before(_: Query<Targets<Owes>>, _: PairsMut<Owes>) {}
    let expected = [
        (
            initialise(|world| drop(IntoSystem::into_system(values_twice).initialize(world))),
            [
                "`Pairs<Owes>` in system",
                "reads the values of the pairs of `Owes`, which a previous parameter writes.",
            ],
        ),
        (
            initialise(|world| drop(IntoSystem::into_system(values_first).initialize(world))),
            [
                "`PairsMut<Owes>` in system",
                "writes the values of the pairs of `Owes`, which a previous parameter or one of its query terms reads or \
                 writes.",
            ],
        ),
        (
            initialise(|world| drop(IntoSystem::into_system(twice).initialize(world))),
            ["`PairsMut<Owes>` in system", "writes the values of the pairs of `Owes`"],
        ),
        (
            initialise(|world| drop(IntoSystem::into_system(term_after).initialize(world))),
            ["`Targets<Owes>` in system", "which the same query or a previous system parameter writes"],
        ),
        (
            initialise(|world| drop(IntoSystem::into_system(term_before).initialize(world))),
            ["`PairsMut<Owes>` in system", "writes the values of the pairs of `Owes`"],
        ),
    ];
    for (refused, expected) in expected {
        let message = refused.unwrap_or_default();
        assert!(expected.iter().all(|part| message.contains(part)), "{message}, not {expected:?}");
    }
    assert_eq!(initialise(|world| drop(IntoSystem::into_system(beside).initialize(world))), None);
}

#[test]
fn pairs_reads_values_by_source_by_target_and_all() {
    let mut world = World::new();
    let [a, b, c] = crate::common::spawn(&mut world);
    for (source, target, sum) in [(a, c, 1), (a, b, 2), (b, c, 3)] {
        world.insert_pair(source, Owes(sum), target).unwrap();
    }
    world.insert_pair(a, Likes, b).unwrap();
    let system = move |debts: Pairs<Owes>, likes: Pairs<Likes>| {
        assert_eq!(debts.values_of(a).collect::<Vec<_>>(), [(c, &Owes(1)), (b, &Owes(2))]);
        let mut to_c: Vec<_> = debts.values_to(c).map(|(source, sum)| (source, sum.0)).collect();
        to_c.sort_by_key(|(_, sum)| *sum);
        assert_eq!(to_c, [(a, 1), (b, 3)]);
        let mut all: Vec<_> = debts.values().map(|(source, target, sum)| (source, target, sum.0)).collect();
        all.sort_by_key(|(.., sum)| *sum);
        assert_eq!(all, [(a, c, 1), (a, b, 2), (b, c, 3)]);
        assert_eq!(
            (debts.single_target(a), debts.single_target(b), debts.single_target(c)),
            (None, Some(c), None)
        );
        assert_eq!(
            (debts.single_source(c), debts.single_source(b), debts.single_source(a)),
            (None, Some(a), None)
        );
        assert_eq!(
            (likes.values().count(), likes.values_of(a).count(), likes.single_target(a)),
            (0, 0, Some(b))
        );
    };
    world.run_system_once(system).unwrap();
}
