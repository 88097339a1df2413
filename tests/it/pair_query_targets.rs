//! `PairQuery` target by target: what it gives, what it writes, and what it refuses.

use crate::common::{Random, fewer, panic_message};
use bevy_ecs::{
    entity_disabling::Disabled,
    prelude::*,
    query::{NestedQuery, QueryData},
    system::RunSystemOnce,
};
use bevy_relations::{prelude::*, query::Up};

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
struct Eats(u32);

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct DockedTo;

#[derive(Relation)]
#[relation(symmetric)]
struct Near(u32);

#[derive(Relation)]
#[relation(ordered)]
struct Follows;

#[derive(Component, Clone, Copy)]
struct Fuel(u32);

/// What is read of sources, and what is written of targets.
#[derive(Component, Clone, Copy, Default, PartialEq, Debug)]
struct Both {
    read: u32,
    written: u32,
}

#[derive(Component, Default, PartialEq, Debug)]
struct Sum(u32);

#[derive(Component)]
struct Mark;

#[derive(Component)]
#[component(storage = "SparseSet")]
struct SparseMark;

/// Reads `Both` of other entities.
#[derive(QueryData)]
struct Elsewhere {
    both: NestedQuery<&'static Both>,
}

/// The pairs of a relation, with a value or without one: its sources and targets, and the values.
fn random_world<R: Relation>(seed: u64, value: fn(u32) -> R) -> (World, Vec<Entity>) {
    let (mut world, mut random) = (World::new(), Random(seed));
    let mut all = Vec::new();
    for number in 0..30 {
        let mut entity = world.spawn(Both { read: 1 << (number % 20), written: 0 });
        if random.below(3) > 0 {
            entity.insert(Fuel(number));
        }
        if random.below(3) > 0 {
            entity.insert(Sum(0));
        }
        if random.below(3) > 0 {
            entity.insert(Mark);
        }
        if random.below(3) == 0 {
            entity.insert(SparseMark);
        }
        if random.below(6) == 0 {
            entity.insert(Disabled);
        }
        all.push(entity.id());
    }
    for number in 0..60 {
        let (source, target) = (random.pick(&all), random.pick(&all));
        // A cycle of a traversable relation is refused.
        _ = world.insert_pair(source, value(number), target);
    }
    (world, all)
}

/// Targets with their sources, each with a number for the value of the pair.
type Groups = Vec<(Entity, Vec<(Entity, u32, Option<u32>)>)>;

fn check<R: Relation>(value: fn(u32) -> R, number: fn(&R) -> u32) {
    for seed in 1..=fewer(20) as u64 {
        let (mut world, all) = random_world(seed, value);
        let of = |world: &World, source: Entity, target: Entity| {
            world.pair_value::<R>(source, target).filter(|_| size_of::<R>() > 0).map(number)
        };
        let matches = |world: &World, entity: Entity| !world.entity(entity).contains::<Disabled>();
        let mut expected: Groups = Vec::new();
        for &target in &all {
            if !matches(&world, target) || !world.entity(target).contains::<Sum>() {
                continue;
            }
            let sources = world.pairs::<R>().sources(target).filter_map(|source| {
                let fuel = world.get::<Fuel>(source)?.0;
                let passes = matches(&world, source) && world.entity(source).contains::<SparseMark>();
                passes.then(|| (source, fuel, of(&world, source, target)))
            });
            let sources: Vec<_> = sources.collect();
            if !sources.is_empty() {
                expected.push((target, sources));
            }
        }
        let sorted = |mut groups: Groups| {
            groups.sort_unstable_by_key(|group| group.0);
            groups
        };
        let expected = sorted(expected);
        type Fields<'w, 's, R> =
            PairQuery<'w, 's, R, &'static Fuel, (Entity, &'static mut Sum), With<SparseMark>>;
        let found = world.run_system_once(move |mut query: Fields<R>| {
            let mut found = Groups::new();
            query.for_each_target(|(target, mut sum), sources| {
                sum.0 += 1;
                assert_eq!(sources.target(), target);
                assert!(sources.size_hint().0 > 0);
                let sources = sources.map(|(fuel, edge)| {
                    assert_eq!(edge.target, target);
                    (edge.source, fuel.0, edge.value().filter(|_| size_of::<R>() > 0).map(number))
                });
                found.push((target, sources.collect()));
            });
            found
        });
        assert_eq!(sorted(found.unwrap()), expected);
        let lending = world.run_system_once(move |mut query: Fields<R>| {
            let (mut found, mut targets) = (Groups::new(), query.iter_targets_lending());
            while let Some(((target, mut sum), sources)) = targets.fetch_next() {
                sum.0 += 1;
                let sources = sources.map(|(fuel, edge)| {
                    (edge.source, fuel.0, edge.value().filter(|_| size_of::<R>() > 0).map(number))
                });
                found.push((target, sources.collect()));
            }
            found
        });
        assert_eq!(sorted(lending.unwrap()), expected);
        for &entity in &all {
            let visited = expected.iter().any(|&(target, _)| target == entity);
            let sum = world.get::<Sum>(entity).map(|sum| sum.0);
            assert!(sum.is_none_or(|sum| sum == if visited { 2 } else { 0 }), "each target twice");
        }
        for &entity in &all {
            let (found, of_source) = world
                .run_system_once(move |mut query: Fields<R>| {
                    let (mut found, mut of_source) = (Groups::new(), Vec::new());
                    query.of_target(entity).for_each_target(|(target, _), sources| {
                        let sources = sources.map(|(fuel, edge)| {
                            (edge.source, fuel.0, edge.value().filter(|_| size_of::<R>() > 0).map(number))
                        });
                        found.push((target, sources.collect()));
                    });
                    query.of_source(entity).for_each_target(|(target, _), sources| {
                        assert!(sources.map(|(_, edge)| edge.source).eq([entity]));
                        of_source.push(target);
                    });
                    (found, of_source)
                })
                .unwrap();
            let group = expected.iter().filter(|&&(target, _)| target == entity).cloned();
            assert_eq!(found, group.collect::<Groups>());
            let has_it = |group: &&(Entity, Vec<(Entity, u32, Option<u32>)>)| {
                group.1.iter().any(|&(source, ..)| source == entity)
            };
            let mut targets: Vec<_> = expected.iter().filter(has_it).map(|group| group.0).collect();
            let mut of_source = of_source;
            targets.sort_unstable();
            of_source.sort_unstable();
            assert_eq!(of_source, targets);
        }
    }
}

#[test]
fn each_target_comes_once_with_all_its_matching_sources() {
    check(|_| Likes, |_| 0);
    check(Eats, |eats| eats.0);
    check(|_| DockedTo, |_| 0);
    check(Near, |near| near.0);
    check(|_| Follows, |_| 0);
}

#[test]
fn a_target_is_written_while_its_sources_are_read() {
    for seed in 1..=fewer(20) as u64 {
        let (mut world, all) = random_world(seed, |_| Likes);
        // Everything likes itself, and is source and target of others.
        for &entity in &all {
            world.entity_mut(entity).remove::<Disabled>();
            world.insert_pair(entity, Likes, entity).unwrap();
        }
        let expected = all.iter().map(|&target| {
            let sources: Vec<_> =
                world.pairs::<Likes>().sources(target).filter(|&source| source != target).collect();
            let read = |source: &Entity| world.get::<Both>(*source).unwrap().read;
            let own = world.get::<Both>(target).unwrap();
            Both { written: sources.iter().map(read).sum(), ..*own }
        });
        let expected: Vec<Both> = expected.collect();
        world
            .run_system_once(|mut query: PairQuery<Likes, &Both, &mut Both>| {
                query.for_each_target(|mut target, sources| {
                    let place: *const Both = &raw const *target;
                    let mut written = 0;
                    for (source, _) in sources {
                        assert!(!core::ptr::eq(place, source), "an entity is not its own source here");
                        // Both are alive, the one is written between two reads of the other.
                        let before = source.read;
                        target.written = before;
                        written += source.read;
                    }
                    target.written = written;
                });
            })
            .unwrap();
        let found: Vec<Both> = all.iter().map(|&entity| *world.get::<Both>(entity).unwrap()).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn an_entity_is_its_own_source_where_the_ends_do_not_overlap() {
    let mut world = World::new();
    let both = world.spawn((Fuel(3), Sum(0), Mark)).id();
    world.insert_pair(both, Likes, both).unwrap();
    let add = |mut query: PairQuery<Likes, &Fuel, &mut Sum>| {
        query.for_each_target(|mut sum, sources| sum.0 = sources.map(|(fuel, _)| fuel.0).sum());
    };
    world.run_system_once(add).unwrap();
    assert_eq!(world.get::<Sum>(both), Some(&Sum(3)));
    // One component on disjoint entities: nothing overlaps, and nothing matches both.
    let disjoint = |mut query: PairQuery<Likes, &Sum, &mut Sum, With<Mark>, Without<Mark>>| {
        query.for_each_target(|_, _| panic!("it has the mark"));
    };
    world.run_system_once(disjoint).unwrap();
}

#[test]
fn only_what_is_written_counts_as_changed() {
    let mut world = World::new();
    let [written, looked_at, left_out] = [(); 3].map(|()| world.spawn(Sum(0)).id());
    for target in [written, looked_at] {
        world.spawn((Fuel(2), pairs![(Likes, target)]));
    }
    world.spawn(pairs![(Likes, left_out)]);
    world.clear_trackers();
    let since = world.change_tick();
    world.increment_change_tick();
    world
        .run_system_once(move |mut query: PairQuery<Likes, &Fuel, (Entity, &mut Sum)>| {
            query.for_each_target(|(target, mut sum), mut sources| {
                assert_ne!(target, left_out, "its source has no fuel");
                let total: u32 = sources.by_ref().map(|(fuel, _)| fuel.0).sum();
                assert!(sources.next().is_none());
                if target == written {
                    sum.0 = total;
                }
            });
        })
        .unwrap();
    let now = world.change_tick();
    let changed =
        |entity: Entity| world.entity(entity).get_change_ticks::<Sum>().unwrap().is_changed(since, now);
    assert_eq!([written, looked_at, left_out].map(changed), [true, false, false]);
    assert_eq!(world.get::<Sum>(written), Some(&Sum(2)));
}

#[test]
fn children_come_in_their_order() {
    let mut world = World::new();
    let parent = world.spawn(Sum(0)).id();
    let children: Vec<Entity> = [4, 1, 3].map(|fuel| world.spawn(Fuel(fuel)).id()).into();
    world.entity_mut(parent).add_children(&children[1..]).insert_children(0, &children[..1]);
    let listed = world
        .run_system_once(|mut query: PairQuery<ChildOf, &Fuel, &mut Sum>| {
            let mut listed = Vec::new();
            query.for_each_target(|mut sum, children| {
                for (fuel, edge) in children {
                    sum.0 = 10 * sum.0 + fuel.0;
                    listed.push(edge.source);
                }
            });
            listed
        })
        .unwrap();
    assert_eq!((listed, world.get::<Sum>(parent)), (children, Some(&Sum(413))));
}

/// Why a system is refused when it is initialised, if it is.
fn refusal<M>(system: impl IntoSystem<(), (), M>) -> Option<String> {
    let initialise = || {
        let mut world = World::new();
        IntoSystem::into_system(system).initialize(&mut world);
    };
    panic_message(initialise)
}

#[test]
fn what_is_written_of_targets_conflicts_with_other_parameters() {
    fn reader(_: PairQuery<Likes, (), &mut Both>, _: Query<&Both>) {}
    fn reader_before(_: Query<&Both>, _: PairQuery<Likes, (), &mut Both>) {}
    fn writer(_: PairQuery<Likes, (), &mut Both>, _: Query<&mut Both>) {}
    fn twice(_: PairQuery<Likes, (), &mut Both>, _: PairQuery<Eats, (), &mut Both>) {}
    fn sources_elsewhere(_: PairQuery<Likes, &Both>, _: PairQuery<Likes, (), &mut Both>) {}
    fn third_of_sources(_: PairQuery<Likes, Elsewhere, &mut Both>) {}
    fn third_of_targets(_: PairQuery<Likes, (), (&mut Both, Elsewhere)>) {}
    fn above_sources(_: PairQuery<Likes, Up<DockedTo, &'static Both>, &mut Both>) {}
    fn above_targets(_: PairQuery<Likes, (), (&mut Both, Up<DockedTo, &'static Both>)>) {}
    fn third_beside_sources(_: PairQuery<Likes, (&mut Sum, Elsewhere), &mut Both>) {}
    fn third_beside_targets(_: PairQuery<Likes, &mut Both, (&mut Sum, Elsewhere)>) {}
    fn order(_: PairQuery<ChildOf, (), &mut Children>) {}
    fn everything(_: PairQuery<Likes, (), EntityMut>) {}
    for (name, refused) in [
        ("reader", refusal(reader)),
        ("reader_before", refusal(reader_before)),
        ("writer", refusal(writer)),
        ("twice", refusal(twice)),
        ("sources_elsewhere", refusal(sources_elsewhere)),
        ("third_of_sources", refusal(third_of_sources)),
        ("third_of_targets", refusal(third_of_targets)),
        ("above_sources", refusal(above_sources)),
        ("above_targets", refusal(above_targets)),
        ("third_beside_sources", refusal(third_beside_sources)),
        ("third_beside_targets", refusal(third_beside_targets)),
        ("order", refusal(order)),
        ("everything", refusal(everything)),
    ] {
        let message = refused.unwrap_or_else(|| panic!("`{name}` must be refused"));
        assert!(message.contains("error[B000"), "{name}: {message}");
    }
    fn both_ends(_: PairQuery<Likes, &Both, &mut Both>) {}
    fn both_written(_: PairQuery<Likes, &mut Both, (&mut Both, &mut Sum)>) {}
    fn filters(_: PairQuery<Likes, (), &mut Both, Changed<Both>, Added<Both>>) {}
    fn others(_: PairQuery<Likes, &Both, &mut Sum>, _: Query<&Both>, _: Query<&mut Fuel>) {}
    fn disjoint(_: PairQuery<Likes, (), &mut Both, (), With<Mark>>, _: Query<&Both, Without<Mark>>) {}
    for allowed in
        [refusal(both_ends), refusal(both_written), refusal(filters), refusal(others), refusal(disjoint)]
    {
        assert_eq!(allowed, None);
    }
}
