//! `PairQuery` gives what a plain evaluation gives, in each of its forms.

use crate::common::{Random, size};
use bevy_ecs::{entity_disabling::Disabled, prelude::*, query::QueryFilter, system::RunSystemOnce};
use bevy_relations::{prelude::*, relation::ExclusiveRelation, system_param::PairEdge};
use std::sync::Mutex;

#[derive(Relation)]
struct Likes;

#[derive(Relation, Clone)]
struct Eats(u32);

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo;

#[derive(Relation, Clone)]
#[relation(exclusive)]
struct Holds(u32);

#[derive(Relation, Clone)]
#[relation(symmetric)]
struct Near(u32);

#[derive(Relation)]
#[relation(ordered)]
struct Follows;

#[derive(Component, Clone, Copy)]
struct Own(u32);

#[derive(Component, Clone, Copy)]
struct Other(u32);

#[derive(Component)]
struct Mark;

#[derive(Component)]
#[component(storage = "SparseSet")]
struct SparseMark;

/// Source, target, value of the pair, data of the source, data of the target.
type Row = (Entity, Entity, Option<u32>, u32, u32);

/// Entities with random components.
fn entities(world: &mut World, random: &mut Random, count: usize) -> Vec<Entity> {
    let mut spawn = |number| {
        let mut entity = world.spawn_empty();
        if random.below(4) > 0 {
            entity.insert(Own(number));
        }
        if random.below(3) > 0 {
            entity.insert(Other(number));
        }
        if random.below(4) == 0 {
            entity.insert(Mark);
        }
        if random.below(4) == 0 {
            entity.insert(SparseMark);
        }
        if random.below(6) == 0 {
            entity.insert(Disabled);
        }
        entity.id()
    };
    (0..count as u32).map(&mut spawn).collect()
}

/// What the query must give, evaluated pair by pair.
fn expected<R: Relation>(world: &World, value: fn(&R) -> u32, marked: fn(EntityRef) -> bool) -> Vec<Row> {
    let pairs = world.pairs::<R>();
    let row = |(source, target)| {
        let [from, to]: [EntityRef; 2] = [source, target].map(|end| world.entity(end));
        if from.contains::<Disabled>() || to.contains::<Disabled>() || marked(from) {
            return None;
        }
        Some((
            source,
            target,
            pairs.get(source, target).map(value),
            from.get::<Own>()?.0,
            to.get::<Other>()?.0,
        ))
    };
    let mut rows: Vec<_> = pairs.iter().filter_map(row).collect();
    rows.sort_unstable();
    rows
}

/// The rows of one end.
fn of(rows: &[Row], end: fn(&Row) -> Entity, entity: Entity) -> Vec<Row> {
    rows.iter().copied().filter(|row| end(row) == entity).collect()
}

fn sorted(rows: impl IntoIterator<Item = Row>) -> Vec<Row> {
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_unstable();
    rows
}

/// The rows of a read-only query, which must be those of each of its forms.
fn read<R: Relation, F: QueryFilter>(query: PairQuery<R, &Own, &Other, F>, value: fn(&R) -> u32) -> Vec<Row> {
    let rows = sorted(
        query
            .iter()
            .map(|(own, edge, other)| (edge.source, edge.target, edge.value().map(value), own.0, other.0)),
    );
    assert_eq!(query.into_iter().count(), rows.len());
    rows
}

/// The rows of a query that writes, which must be those of each of its forms. Adds 1,000 to the data of each source
/// per pair and form, and takes it away again.
fn write<R: Relation, F: QueryFilter>(
    mut query: PairQuery<R, &mut Own, &Other, F>,
    value: fn(&R) -> u32,
) -> Vec<Row> {
    let mut rows = Vec::new();
    query.for_each(|mut own, edge, other| {
        rows.push((edge.source, edge.target, edge.value().map(value), own.0 % 1_000, other.0));
        own.0 += 1_000;
    });
    let mut lent = Vec::new();
    let mut lending = query.iter_lending();
    while let Some((mut own, edge, other)) = lending.fetch_next() {
        lent.push((edge.source, edge.target, edge.value().map(value), own.0 % 1_000, other.0));
        own.0 -= 1_000;
    }
    assert_eq!(sorted(lent), sorted(rows.iter().copied()));
    sorted(rows)
}

/// All forms that every query has, over all pairs and over those of every entity.
fn check<R: Relation, F: QueryFilter + 'static>(
    world: &mut World,
    all: &[Entity],
    value: fn(&R) -> u32,
    marked: fn(EntityRef) -> bool,
) -> Vec<Row> {
    let expected = expected::<R>(world, value, marked);
    let (all, rows) = (all.to_vec(), expected.clone());
    let reading = move |mut query: PairQuery<R, &'static Own, &'static Other, F>| {
        for &entity in &all {
            assert_eq!(read(query.of_source(entity), value), of(&rows, |row| row.0, entity));
            assert_eq!(read(query.of_target(entity), value), of(&rows, |row| row.1, entity));
        }
        assert_eq!(query.pairs().iter().count(), query.pairs().len());
        assert_eq!(read(query, value), rows);
        all.clone()
    };
    let all = world.run_system_once(reading).unwrap();
    let rows = expected.clone();
    let writing = move |mut query: PairQuery<R, &'static mut Own, &'static Other, F>| {
        for &entity in &all {
            assert_eq!(write(query.of_source(entity), value), of(&rows, |row| row.0, entity));
            assert_eq!(write(query.of_target(entity), value), of(&rows, |row| row.1, entity));
        }
        assert_eq!(write(query, value), rows);
    };
    world.run_system_once(writing).unwrap();
    expected
}

/// [`check`] with filters that look at tables, at archetypes, and at entities.
fn check_filters<R: Relation>(world: &mut World, all: &[Entity], value: fn(&R) -> u32) -> usize {
    check::<R, ()>(world, all, value, |_| false).len()
        + check::<R, Without<Mark>>(world, all, value, |source| source.contains::<Mark>()).len()
        + check::<R, Without<SparseMark>>(world, all, value, |source| source.contains::<SparseMark>()).len()
        + check::<R, Changed<Own>>(world, all, value, |_| false).len()
}

/// The forms for relations of which each source has one target.
fn check_exclusive<R: ExclusiveRelation>(world: &mut World, all: &[Entity], value: fn(&R) -> u32) {
    let expected = expected::<R>(world, value, |_| false);
    let (all, rows) = (all.to_vec(), expected.clone());
    let iterating = move |mut query: PairQuery<R, &'static mut Own, &'static Other>| {
        let row = |(own, edge, other): (Mut<Own>, PairEdge<R>, &Other)| {
            (edge.source, edge.target, edge.value().map(value), own.0, other.0)
        };
        // Collected: all of them are alive at once.
        let living: Vec<_> = query.iter_mut().collect();
        assert_eq!(sorted(living.into_iter().map(row)), rows);
        assert_eq!(sorted((&mut query).into_iter().map(row)), rows);
        for &entity in &all {
            let source: Vec<_> = query.of_source(entity).iter_mut().map(row).collect();
            assert_eq!(source, of(&rows, |row| row.0, entity));
            assert_eq!(sorted(query.of_target(entity).iter_mut().map(row)), of(&rows, |row| row.1, entity));
        }
    };
    world.run_system_once(iterating).unwrap();
}

/// Links entities at random.
fn link<R: Relation>(
    world: &mut World,
    random: &mut Random,
    all: &[Entity],
    count: usize,
    value: fn(u32) -> R,
) {
    for number in 0..count as u32 {
        let (source, target) = (all[random.below(all.len())], all[random.below(all.len())]);
        // Refused if it would close a cycle.
        let _ = world.insert_pair(source, value(number), target);
    }
}

#[test]
fn every_form_gives_the_rows_of_a_plain_evaluation() {
    let cases = [(1, 4, 3), (2, size(30, 12), size(40, 16)), (3, 30, 4), (4, 200, 500), (5, 400, 30)];
    for &(seed, count, links) in &cases[..size(5, 2)] {
        let (mut world, mut random) = (World::new(), Random(seed * 0x9E37_79B9));
        let all = entities(&mut world, &mut random, count);
        let random = &mut random;
        link(&mut world, random, &all, links, |_| Likes);
        link(&mut world, random, &all, links, Eats);
        link(&mut world, random, &all, links, |_| DockedTo);
        link(&mut world, random, &all, links, Holds);
        link(&mut world, random, &all, links, Near);
        link(&mut world, random, &all, links, |_| Follows);
        world.register_relation::<ChildOf>().unwrap();
        for _ in 0..links {
            let (child, parent) = (all[random.below(count)], all[random.below(count)]);
            if child < parent {
                world.entity_mut(child).insert(ChildOf(parent));
            }
        }
        let rows = check_filters::<Likes>(&mut world, &all, |_| 0)
            + check_filters::<Eats>(&mut world, &all, |eats| eats.0)
            + check_filters::<DockedTo>(&mut world, &all, |_| 0)
            + check_filters::<Holds>(&mut world, &all, |holds| holds.0)
            + check_filters::<Near>(&mut world, &all, |near| near.0)
            + check_filters::<Follows>(&mut world, &all, |_| 0)
            + check_filters::<ChildOf>(&mut world, &all, |parent| parent.parent().index_u32());
        assert!(rows > links / 2, "hardly anything was tested: {rows} rows of {links} links");
        check_exclusive::<DockedTo>(&mut world, &all, |_| 0);
        check_exclusive::<Holds>(&mut world, &all, |holds| holds.0);
        check_exclusive::<ChildOf>(&mut world, &all, |parent| parent.parent().index_u32());
        world.check_pairs().unwrap();
    }
}

#[test]
fn a_query_that_stays_sees_what_has_changed_since() {
    let (mut world, mut random) = (World::new(), Random(7));
    let rows = |query: PairQuery<Eats, &Own, &Other>| read(query, |eats| eats.0);
    let system = world.register_system(rows);
    assert_eq!(world.run_system(system).unwrap(), []);
    let mut all = entities(&mut world, &mut random, size(60, 20));
    for round in 0..size(30, 4) as u32 {
        link(&mut world, &mut random, &all, 20, Eats);
        if round % 3 == 0 {
            let gone = all.swap_remove(random.below(all.len()));
            world.despawn(gone);
            all.extend(entities(&mut world, &mut random, 2));
        }
        let moved = all[random.below(all.len())];
        world.entity_mut(moved).insert((Own(round), Mark)).remove::<Other>();
        world.entity_mut(all[random.below(all.len())]).remove::<Disabled>();
        assert_eq!(world.run_system(system).unwrap(), expected::<Eats>(&world, |eats| eats.0, |_| false));
    }
    world.clear_pairs();
    assert_eq!(world.run_system(system).unwrap(), []);
}

#[test]
fn filters_apply_to_either_end() {
    let mut world = World::new();
    let [marked, plain] = [true, false].map(|mark| {
        let mut entity = world.spawn(Own(u32::from(mark)));
        if mark {
            entity.insert(Mark);
        }
        entity.id()
    });
    for source in [marked, plain] {
        for target in [marked, plain] {
            world.insert_pair(source, Likes, target).unwrap();
        }
    }
    let system = move |both: PairQuery<Likes, &Own, (), With<Mark>, Without<Mark>>,
                       targets: PairQuery<Likes, (), &Own, (), With<Mark>>| {
        let rows: Vec<_> = both.iter().map(|(own, edge, ())| (own.0, edge.source, edge.target)).collect();
        assert_eq!(rows, [(1, marked, plain)]);
        assert!(targets.iter().all(|((), edge, own)| (edge.target, own.0) == (marked, 1)));
        assert_eq!(targets.iter().count(), 2);
    };
    world.run_system_once(system).unwrap();
}

#[test]
fn pairs_of_one_source_come_in_insertion_order_and_those_of_one_target_in_theirs() {
    let mut world = World::new();
    let [a, b, c, d] = [0, 1, 2, 3].map(|number| world.spawn(Own(number)).id());
    for target in [c, a, d, b] {
        world.insert_pair(a, Follows, target).unwrap();
        world.insert_pair(target, Follows, d).unwrap();
    }
    world.entity_mut(d).add_children(&[c, a, b]);
    let system = move |mut follows: PairQuery<Follows, &Own, &Own>,
                       mut children: PairQuery<ChildOf, &Own>| {
        let targets: Vec<_> = follows.of_source(a).iter().map(|(_, edge, _)| edge.target).collect();
        assert_eq!(targets, [c, a, d, b]);
        let sources: Vec<_> = follows.of_target(d).iter().map(|(_, edge, _)| edge.source).collect();
        assert_eq!(sources, [c, a, d, b]);
        let mut visited = Vec::new();
        children.of_target(d).for_each(|_, edge, ()| visited.push(edge.source));
        assert_eq!(visited, [c, a, b]);
    };
    world.run_system_once(system).unwrap();
}

#[test]
fn a_query_finds_which_sources_changed_since_its_system_ran() {
    let mut world = World::new();
    let target = world.spawn_empty().id();
    let sources: Vec<_> =
        (0..5).map(|number| world.spawn((Own(number), pairs![(Likes, target)])).id()).collect();
    let changed = |query: PairQuery<Likes, Ref<Own>, (), Changed<Own>>| {
        query.iter().map(|(own, edge, ())| (edge.source, own.is_added())).collect::<Vec<_>>()
    };
    let changed = world.register_system(changed);
    assert_eq!(world.run_system(changed).unwrap().len(), 5);
    let write = move |mut query: PairQuery<Likes, &mut Own>| {
        query.for_each(|mut own, edge, ()| {
            if edge.source == sources[3] {
                own.0 = 9;
            }
        });
        sources[3]
    };
    let written = world.run_system_once(write).unwrap();
    assert_eq!(world.run_system(changed).unwrap(), [(written, false)]);
    assert_eq!(world.run_system(changed).unwrap(), []);
}

#[test]
fn parallel_iteration_gives_every_pair_once() {
    bevy_tasks::ComputeTaskPool::get_or_init(bevy_tasks::TaskPool::new);
    let (mut world, mut random) = (World::new(), Random(11));
    let all = entities(&mut world, &mut random, size(4_000, 100));
    link(&mut world, &mut random, &all, size(9_000, 200), Eats);
    let hub = all.iter().copied().find(|&entity| world.get::<Other>(entity).is_some()).unwrap();
    for &source in &all {
        world.insert_pair(source, Eats(1), hub).unwrap();
    }
    let rows = expected::<Eats>(&world, |eats| eats.0, |_| false);
    let system = move |mut query: PairQuery<Eats, &mut Own, &Other>| {
        let seen = Mutex::new(Vec::new());
        let see = |mut own: Mut<Own>, edge: PairEdge<Eats>, other: &Other| {
            own.set_changed();
            let row = (edge.source, edge.target, edge.value().map(|eats| eats.0), own.0, other.0);
            seen.lock().unwrap().push(row);
        };
        query.par_for_each(see);
        assert_eq!(sorted(seen.lock().unwrap().drain(..)), rows);
        query.of_target(hub).par_for_each(see);
        assert_eq!(sorted(seen.lock().unwrap().drain(..)), of(&rows, |row| row.1, hub));
        query.of_source(hub).par_for_each(see);
        assert_eq!(sorted(seen.lock().unwrap().drain(..)), of(&rows, |row| row.0, hub));
    };
    world.run_system_once(system).unwrap();
}

#[test]
fn iterators_over_an_exclusive_relation_end_where_there_is_nothing_left() {
    let mut world = World::new();
    let target = world.spawn_empty().id();
    let sources: Vec<Entity> = (0..40).map(|number| world.spawn(Own(number)).id()).collect();
    for (number, &source) in sources.iter().enumerate() {
        world.insert_pair(source, DockedTo, target).unwrap();
        // Others have its table, and rows of their own in it.
        if number % 3 == 0 {
            world.entity_mut(source).insert(SparseMark);
        }
    }
    world.despawn(sources[7]);
    // In its row, or with its index.
    world.spawn_batch((0..600).map(Own)).for_each(drop);
    let dead = sources[7];
    let all = move |mut query: PairQuery<DockedTo, &mut Own>| {
        assert_eq!(query.iter_mut().count(), 39);
        assert_eq!(query.of_source(dead).iter_mut().count(), 0);
        assert!(query.of_source(dead).iter_lending().fetch_next().is_none());
    };
    world.run_system_once(all).unwrap();
    let some = |mut query: PairQuery<DockedTo, &mut Own, (), With<SparseMark>>| {
        let mut iter = query.iter_mut();
        let mut numbers: Vec<u32> = iter.by_ref().map(|(own, ..)| own.0).collect();
        assert!(iter.next().is_none() && iter.next().is_none());
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq((0..40).step_by(3)));
    };
    world.run_system_once(some).unwrap();
    let none = |mut query: PairQuery<DockedTo, &mut Own>| assert!(query.iter_mut().next().is_none());
    world.despawn(target);
    world.run_system_once(none).unwrap();
    world.clear_pairs();
    world.run_system_once(none).unwrap();
}

#[test]
fn an_edge_that_was_assigned_to_has_the_value_of_the_pair_that_it_names() {
    fn values<R: Relation>(new: fn(u32) -> R, value: fn(&R) -> u32) {
        let mut world = World::new();
        let [a, b, near, far] = [(); 4].map(|()| world.spawn_empty().id());
        world.insert_pair(a, new(1), near).unwrap();
        world.insert_pair(b, new(2), far).unwrap();
        world.despawn(near);
        let fresh = world.spawn_empty().id();
        world.insert_pair(a, new(3), fresh).unwrap();
        let read = move |query: PairQuery<R, ()>| {
            for (_, edge, _) in query.iter() {
                let with_ends = |source, target| {
                    let mut edge = edge;
                    (edge.source, edge.target) = (source, target);
                    edge.value().map(value)
                };
                let found = [(a, fresh), (b, far), (a, far), (b, fresh), (a, near)];
                let found = found.map(|(source, target)| with_ends(source, target));
                assert_eq!(found, [Some(3), Some(2), None, None, None]);
            }
        };
        world.run_system_once(read).unwrap();
    }
    values(Holds, |holds| holds.0);
    values(Eats, |eats| eats.0);
}
