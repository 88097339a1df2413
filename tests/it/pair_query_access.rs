//! What `PairQuery` may be combined with, and what is refused before anything is handed out.

use crate::common::panic_message;
use bevy_ecs::{
    entity_disabling::Disabled,
    prelude::*,
    query::{NestedQuery, QueryData},
    resource::IsResource,
    system::RunSystemOnce,
};
use bevy_relations::{prelude::*, relation::ExclusiveRelation};

#[derive(Relation)]
struct Drains(u32);

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo;

#[derive(Relation)]
struct Holds;

#[derive(Component, Debug, PartialEq)]
struct Fuel(u32);

#[derive(Component)]
struct Depot;

#[derive(Component)]
struct Ship;

/// Reads `Fuel` of other entities.
#[derive(QueryData)]
struct Elsewhere {
    fuel: NestedQuery<&'static Fuel>,
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
fn pair_query_conflicts() {
    fn fuel_of_sources_twice(_: PairQuery<Drains, &mut Fuel>, _: Query<&Fuel>) {}
    fn the_other_way_round(_: Query<&Fuel>, _: PairQuery<Drains, &mut Fuel>) {}
    fn read_of_targets(_: PairQuery<Drains, (), &Fuel>, _: Query<&mut Fuel>) {}
    fn filter_of_sources(_: PairQuery<Drains, (), (), Changed<Fuel>>, _: Query<&mut Fuel>) {}
    fn filter_of_targets(_: Query<&mut Fuel>, _: PairQuery<Drains, (), (), (), Changed<Fuel>>) {}
    fn values(_: PairQuery<Drains, ()>, _: PairsMut<Drains>) {}
    fn everything(_: PairQuery<Drains, ()>, _: Query<EntityMut>) {}
    for refused in [
        refusal(fuel_of_sources_twice),
        refusal(the_other_way_round),
        refusal(read_of_targets),
        refusal(filter_of_sources),
        refusal(filter_of_targets),
        refusal(values),
        refusal(everything),
    ] {
        let message = refused.expect("this must be refused");
        assert!(message.contains("error[B000"), "{message}");
    }

    fn reads(_: PairQuery<Drains, &Fuel, &Fuel>, _: Query<&Fuel>, _: Pairs<Drains>) {}
    fn disjoint(_: PairQuery<Drains, &mut Fuel, (), With<Ship>>, _: Query<&mut Fuel, Without<Ship>>) {}
    fn both_ends(_: PairQuery<Drains, &mut Fuel, &Fuel>) {}
    fn other_values(_: PairQuery<Drains, &mut Fuel>, _: PairsMut<Holds>) {}
    fn two(
        _: PairQuery<Drains, &mut Fuel, (), With<Ship>>,
        _: PairQuery<Drains, &mut Fuel, (), Without<Ship>>,
    ) {
    }
    fn not_resources(_: PairQuery<Drains, ()>, _: Query<EntityMut, Without<IsResource>>) {}
    for allowed in [
        refusal(reads),
        refusal(disjoint),
        refusal(both_ends),
        refusal(other_values),
        refusal(two),
        refusal(not_resources),
    ] {
        assert_eq!(allowed, None);
    }
}

#[test]
fn what_is_read_of_third_entities_must_not_be_written() {
    fn by_sources(_: PairQuery<Drains, (&mut Fuel, Elsewhere)>) {}
    fn by_targets(_: PairQuery<Drains, &mut Fuel, Elsewhere>) {}
    fn beside(_: PairQuery<Drains, Elsewhere>, _: Query<&mut Fuel>) {}
    for refused in [refusal(by_sources), refusal(by_targets), refusal(beside)] {
        let message = refused.expect("this must be refused");
        assert!(message.contains("error[B000"), "{message}");
    }
    fn read_only(_: PairQuery<Drains, (&Fuel, Elsewhere), Elsewhere>, _: Query<&Fuel>) {}
    assert_eq!(refusal(read_only), None);
}

/// A world in which every entity drains every entity, and its entities.
fn drained() -> (World, [Entity; 3]) {
    let mut world = World::new();
    let all = [1, 2, 3].map(|fuel| world.spawn(Fuel(fuel)).id());
    for (source, amount) in all.into_iter().zip([10, 20, 30]) {
        for target in all {
            world.insert_pair(source, Drains(amount), target).unwrap();
        }
    }
    (world, all)
}

#[test]
fn pairs_of_an_entity_with_itself_are_left_out_where_both_ends_name_a_component() {
    let (mut world, all) = drained();
    let system = move |mut query: PairQuery<Drains, &mut Fuel, &Fuel>| {
        let mut visited = 0;
        query.for_each(|mut fuel, edge, other| {
            assert_ne!(edge.source, edge.target);
            fuel.0 += other.0;
            visited += 1;
        });
        let mut lending = query.iter_lending();
        while let Some((_, edge, _)) = lending.fetch_next() {
            assert_ne!(edge.source, edge.target);
            visited += 1;
        }
        for entity in all {
            query.of_source(entity).for_each(|_, edge, _| visited += usize::from(edge.source == entity));
            query.of_target(entity).for_each(|_, edge, _| visited += usize::from(edge.target == entity));
        }
        assert_eq!(visited, 4 * 6);
    };
    world.run_system_once(system).unwrap();
    let with_themselves = |query: PairQuery<Drains, &Fuel, &Fuel>| assert_eq!(query.iter().count(), 9);
    world.run_system_once(with_themselves).unwrap();
    let apart = |mut query: PairQuery<Drains, &mut Fuel, (), (), With<Fuel>>| {
        let mut count = 0;
        query.for_each(|_, _, ()| count += 1);
        assert_eq!(count, 9);
    };
    world.run_system_once(apart).unwrap();
}

#[test]
fn forms_in_which_rows_live_side_by_side_are_refused_where_both_ends_name_a_component() {
    let (mut world, [a, b, _]) = drained();
    world.insert_pair(a, DockedTo, b).unwrap();
    let iterate = |mut query: PairQuery<DockedTo, &mut Fuel, &Fuel>| {
        let _ = query.iter_mut().count();
    };
    let in_parallel = |mut query: PairQuery<Drains, &mut Fuel, &Fuel>| query.par_for_each(|_, _, _| {});
    let filtered = |mut query: PairQuery<DockedTo, &mut Fuel, (), (), Changed<Fuel>>| {
        let _ = query.iter_mut().count();
    };
    for message in [
        panic_message(|| world.run_system_once(iterate).unwrap()),
        panic_message(|| world.run_system_once(in_parallel).unwrap()),
        panic_message(|| world.run_system_once(filtered).unwrap()),
    ] {
        let message = message.expect("this must be refused");
        assert!(message.contains("PairQuery") && message.contains("writes what is read"), "{message}");
    }
    let apart = |mut query: PairQuery<DockedTo, &mut Fuel, &Fuel, Without<Depot>, With<Depot>>| {
        assert_eq!(query.iter_mut().count(), 0);
    };
    world.run_system_once(apart).unwrap();
}

/// Says it is exclusive, and is not.
#[derive(Relation)]
struct Liar;

impl ExclusiveRelation for Liar {}

#[test]
fn a_mutable_iterator_gives_every_source_once() {
    let mut world = World::new();
    let [a, b] = [1, 2].map(|fuel| world.spawn(Fuel(fuel)).id());
    world.insert_pair(a, Liar, a).unwrap();
    world.insert_pair(a, Liar, b).unwrap();
    let system = |mut query: PairQuery<Liar, &mut Fuel>| {
        let _ = query.iter_mut().count();
    };
    let message = panic_message(|| world.run_system_once(system).unwrap()).expect("this must be refused");
    assert!(message.contains("Liar"), "{message}");
}

#[test]
fn no_row_is_given_while_another_one_lives() {
    let (mut world, all) = drained();
    let system = |mut query: PairQuery<Drains, &mut Fuel>| {
        // Every source comes three times: writing through each row must be visible in the next.
        query.for_each(|mut fuel, edge, ()| fuel.0 += edge.value().unwrap().0);
        let mut lending = query.iter_lending();
        while let Some((mut fuel, edge, ())) = lending.fetch_next() {
            fuel.0 += edge.value().unwrap().0;
        }
    };
    world.run_system_once(system).unwrap();
    assert_eq!(all.map(|entity| world.get::<Fuel>(entity).unwrap().0), [61, 122, 183]);
}

#[test]
fn a_query_may_name_the_disabling_component_to_see_disabled_entities() {
    let (mut world, [a, ..]) = drained();
    world.entity_mut(a).insert(Disabled);
    let system = |none: PairQuery<Drains, &Fuel>,
                  sources: PairQuery<Drains, &Fuel, (), Allow<Disabled>>,
                  both: PairQuery<Drains, &Fuel, (), Allow<Disabled>, Allow<Disabled>>| {
        assert_eq!([none.iter().count(), sources.iter().count(), both.iter().count()], [4, 6, 9]);
    };
    world.run_system_once(system).unwrap();
}
