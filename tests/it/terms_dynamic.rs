//! Terms in queries whose access is built at run time, and in what Bevy's queries offer beside `iter`: combinations, lists, lookups and
//! orders.

use crate::common::panic_message;
use bevy_ecs::{
    entity::EntityHashSet,
    prelude::*,
    query::{IterQueryData, QueryData},
    system::RunSystemOnce,
    world::{EntityMutExcept, FilteredEntityMut, FilteredEntityRef},
};
use bevy_relations::{
    prelude::*,
    query::{Ancestors, Cached, Depth, SelfUp, TargetsWith, Up},
};

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct MountedOn;

#[derive(Relation, Clone)]
struct Likes(u32);

#[derive(Component)]
struct Armor(usize);

#[derive(Component)]
#[component(storage = "SparseSet")]
struct Shield;

const COUNT: usize = 30;

fn world() -> (World, Vec<Entity>) {
    let mut world = World::new();
    let entities: Vec<Entity> = (0..COUNT).map(|_| world.spawn_empty().id()).collect();
    for (at, &entity) in entities.iter().enumerate() {
        if at % 2 == 0 {
            world.entity_mut(entity).insert(Armor(at));
        }
        if at % 3 == 0 {
            world.entity_mut(entity).insert(Shield);
        }
        if at > 0 {
            world.insert_pair(entity, MountedOn, entities[at / 2]).unwrap();
            world.insert_pair(entity, Likes(at as u32), entities[at / 3]).unwrap();
        }
    }
    (world, entities)
}

/// How a query is given more access.
type Extend<D> = fn(&mut QueryBuilder<'_, D>);

/// What a query with that panics with when it is built, or how many rows it has.
fn built<D: IterQueryData>(extend: Extend<D>) -> Result<usize, String> {
    let (mut world, _) = world();
    let mut rows = 0;
    let message = panic_message(|| {
        let mut builder = QueryBuilder::<D>::new(&mut world);
        extend(&mut builder);
        rows = builder.build().iter_mut(&mut world).count();
    });
    message.map_or(Ok(rows), Err)
}

fn writes<D: QueryData>() -> [Extend<D>; 3] {
    [
        |builder| _ = builder.data::<&mut Armor>(),
        |builder| _ = builder.optional(|optional| _ = optional.data::<&mut Armor>()),
        |builder| {
            builder.or(|either| {
                either.data::<&mut Armor>();
                either.with::<Shield>();
            });
        },
    ]
}

#[test]
fn a_query_that_gets_the_right_to_write_what_its_term_reads_of_others_is_refused() {
    #[track_caller]
    fn refused<D: IterQueryData>(extend: Extend<D>, term: &str) {
        let message = built::<D>(extend).unwrap_err();
        assert!(message.contains(term) && message.contains("B0001"), "{message}");
    }
    for extend in writes() {
        refused::<(FilteredEntityMut, Up<MountedOn, &Armor>)>(extend, "`Up<MountedOn, &Armor");
    }
    for extend in writes() {
        refused::<(FilteredEntityMut, TargetsWith<Likes, &Armor>)>(extend, "`TargetsWith<Likes, &Armor>`");
    }
    for extend in writes() {
        refused::<(FilteredEntityRef, Option<Up<MountedOn, &Armor>>)>(extend, "`Up<MountedOn, &Armor");
    }
    refused::<(EntityMutExcept<Armor>, Up<MountedOn, &Armor>)>(|_| (), "`Up<MountedOn, &Armor");
}

#[test]
fn a_query_that_gets_other_rights_finds_what_its_term_says() {
    let with_shield: usize = (1..COUNT).filter(|at| at % 3 == 0).count();
    for extend in writes() {
        assert!(built::<(FilteredEntityMut, Targets<Likes>)>(extend).is_ok());
    }
    let found = built::<(FilteredEntityMut, Targets<Likes>)>(|builder| _ = builder.with::<Shield>());
    assert_eq!(found, Ok(with_shield));
    let found =
        built::<(FilteredEntityRef, Targets<Likes>)>(|builder| _ = builder.filter::<Unrelated<Likes>>());
    assert_eq!(found, Ok(COUNT - 1), "filters that look at pairs are not a part of the access");
    let found = built::<(FilteredEntityRef, Up<MountedOn, &Armor>)>(|builder| _ = builder.data::<&Armor>());
    assert_eq!(found, Ok(COUNT / 2 - 1));
}

#[test]
fn combinations_lists_lookups_and_orders_of_rows_with_terms_are_those_of_iteration() {
    let (mut world, entities) = world();
    let last = entities[COUNT - 1];
    world
        .run_system_once(
            move |mut armored: Query<(
                Entity,
                &mut Armor,
                Cached<SelfUp<MountedOn, Entity>>,
                Depth<MountedOn>,
            )>,
                  all: Query<(Entity, Ancestors<MountedOn>, Option<Targets<Likes>>)>| {
                let mut met = EntityHashSet::default();
                let (mut pairs, mut combinations) = (0, armored.iter_combinations_mut::<2>());
                while let Some([one, mut other]) = combinations.fetch_next() {
                    assert!(one.0 != other.0 && one.2 == one.0 && other.2 == other.0);
                    other.1.0 += 1;
                    met.extend([one.0, other.0]);
                    pairs += 1;
                }
                assert_eq!((met.len(), pairs), (COUNT / 2, COUNT / 2 * (COUNT / 2 - 1) / 2));

                let mut depths: Vec<(Entity, u32)> = armored.iter().map(|row| (row.0, row.3)).collect();
                depths.sort_unstable_by_key(|&(entity, _)| entity.to_bits());
                let sorted = armored.iter().sort_by_key::<Entity, _>(|entity| entity.to_bits());
                assert!(sorted.map(|row| (row.0, row.3)).eq(depths));

                let ancestors = |entity| all.get(entity).unwrap().1.count();
                let unique = all.iter_many_unique(met.clone()).filter_map(Result::ok);
                assert_eq!(unique.filter(|row| row.1.clone().count() == ancestors(row.0)).count(), met.len());
                let twice: Vec<usize> =
                    all.iter_many([last, last]).filter_map(Result::ok).map(|row| row.1.count()).collect();
                assert_eq!(twice, [ancestors(last); 2]);
                let [one, other] = all.get_many([entities[0], last]).unwrap();
                assert!(one.2.is_none() && other.2.unwrap().with_values().all(|(_, likes)| likes.0 == 29));
                assert_eq!(armored.get_mut(entities[4]).unwrap().3, 3);
            },
        )
        .unwrap();
}
