//! Relations without pairs, components that are used as relations, and slots of prefabs, in snapshots and saves: in the same world and
//! in others, which know them, know several of that name, or know none.

use crate::{common::spawn, snapshots::Likes};
use bevy_ecs::{entity::EntityHashMap, prelude::*};
use bevy_relations::{
    id::PairId,
    prefab::{Prefab, SlotOf, WorldPrefabExt},
    prelude::*,
    relation::OnInstantiate,
    snapshot::{PairFilter, PairSnapshot, SnapshotError},
};

#[derive(Component)]
struct Shape;

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo;

/// Makes relations without pairs.
type Prepare = fn(&mut World);

const PREPARATIONS: [(&str, Prepare); 5] = [
    ("without a name", |world| {
        let relation = world.spawn_empty().id();
        world.set_traits(relation, RelationTraits::new().exclusive()).unwrap();
    }),
    ("without a name, had pairs", |world| {
        let [relation, source] = spawn(world);
        world.insert_pair_by_id(source, (relation, source)).unwrap();
        world.remove_pairs_by_id(source, PairId::new(relation, source));
    }),
    ("with a name", |world| _ = world.spawn_relation("costs", RelationTraits::new()).unwrap()),
    ("a component with traits", |world| {
        let shape = world.entity_of::<Shape>();
        let traits = RelationTraits::new().on_instantiate(OnInstantiate::Inherit);
        world.set_traits(shape, traits).unwrap();
    }),
    ("two of one name", |world| {
        for _ in 0..2 {
            world.spawn_relation("costs", RelationTraits::new()).unwrap();
        }
    }),
];

fn new_world() -> World {
    let mut world = World::new();
    world.register_relation::<Likes>().unwrap();
    world.register_relation::<DockedTo>().unwrap();
    world
}

#[test]
fn relations_without_pairs_are_no_obstacle_in_another_world() {
    for (name, prepare) in PREPARATIONS {
        for is_there in [false, true] {
            let mut world = new_world();
            prepare(&mut world);
            let [a, b] = spawn(&mut world);
            world.insert_pair(a, DockedTo, b).unwrap();
            let snapshot = PairSnapshot::take(&mut world, PairFilter::all()).unwrap();
            let mut other = new_world();
            if is_there {
                prepare(&mut other);
            }
            let mut map = EntityHashMap::default();
            let applied =
                snapshot.apply_mapped(&mut other, &mut map).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(applied.inserted, 1, "{name}");
            assert!(other.has_pair::<DockedTo>(map[&a], map[&b]));
            other.check_pairs().unwrap();
        }
    }
}

#[test]
fn several_relations_may_be_one_in_another_world_if_at_most_one_has_pairs() {
    let two = PREPARATIONS[4].1;
    let mut world = new_world();
    two(&mut world);
    let costs = world.spawn_relation("costs", RelationTraits::new()).unwrap();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, DockedTo, b).unwrap();
    let none = PairSnapshot::take(&mut world, PairFilter::all()).unwrap();
    world.insert_pair_by_id(a, (costs, b)).unwrap();
    let one = PairSnapshot::take(&mut world, PairFilter::all()).unwrap();
    let mut other = new_world();
    let known = other.spawn_relation("costs", RelationTraits::new()).unwrap();
    let mut map = EntityHashMap::default();
    one.apply_mapped(&mut other, &mut map).unwrap();
    assert!(other.has_pair_by_id(map[&a], (known, map[&b])));
    // With none of them, the pairs of the one that there is go.
    assert_eq!(none.apply_mapped(&mut other, &mut map).unwrap().removed, 1);

    // One that is an end of a pair must be found, and it must be known which it is.
    world.remove_pairs_by_id(a, PairId::new(costs, b));
    world.insert_pair(a, Likes, costs).unwrap();
    let named = PairSnapshot::take(&mut world, PairFilter::all()).unwrap();
    named.apply_mapped(&mut other, &mut map).unwrap();
    assert!(other.has_pair::<Likes>(map[&a], known));
    two(&mut other);
    let error = named.apply_mapped(&mut other, &mut map).unwrap_err();
    assert!(matches!(error, SnapshotError::AmbiguousRelation { .. }), "{error}");
    let error = named.apply_mapped(&mut new_world(), &mut EntityHashMap::default()).unwrap_err();
    assert!(matches!(error, SnapshotError::UnknownRelation { .. }), "{error}");
    // Listed by the caller: dead, or one for two.
    let dead = other.spawn_empty().id();
    other.despawn(dead);
    let mut wrong = map.clone();
    wrong.insert(costs, dead);
    assert!(named.apply_mapped(&mut other, &mut wrong).is_err());
    let likes = other.entity_of::<Likes>();
    wrong.insert(costs, likes);
    let error = named.apply_mapped(&mut other, &mut wrong).unwrap_err();
    assert!(matches!(error, SnapshotError::SameEntity { .. }), "{error}");
    other.check_pairs().unwrap();
}

#[test]
fn a_relation_without_pairs_may_be_gone() {
    let mut world = new_world();
    let costs = world.spawn_relation("costs", RelationTraits::new()).unwrap();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, DockedTo, b).unwrap();
    let without = PairSnapshot::take(&mut world, PairFilter::all()).unwrap();
    world.insert_pair_by_id(a, (costs, b)).unwrap();
    let with = PairSnapshot::take(&mut world, PairFilter::all()).unwrap();
    world.despawn(costs);
    world.remove_pairs::<DockedTo>(a);
    let error = with.apply(&mut world).unwrap_err();
    assert!(matches!(error, SnapshotError::UnknownRelation { .. }), "{error}");
    assert_eq!(with.apply_to_living(&mut world).unwrap().skipped, 1);
    world.remove_pairs::<DockedTo>(a);
    assert_eq!(without.apply(&mut world).unwrap().inserted, 1);
    assert!(world.has_pair::<DockedTo>(a, b));
    world.check_pairs().unwrap();
}

#[test]
fn a_component_that_is_used_as_a_relation_is_found_by_its_type() {
    let mut world = new_world();
    let shape = world.entity_of::<Shape>();
    let [a, b] = spawn(&mut world);
    world.insert_pair_by_id(a, (shape, b)).unwrap();
    let snapshot = PairSnapshot::take(&mut world, PairFilter::all()).unwrap();
    for is_known in [false, true] {
        let mut other = new_world();
        if is_known {
            other.entity_of::<Shape>();
        }
        let mut map = EntityHashMap::default();
        snapshot.apply_mapped(&mut other, &mut map).unwrap();
        let there = other.entity_of::<Shape>();
        assert!(other.has_pair_by_id(map[&a], (there, map[&b])));
        other.check_pairs().unwrap();
    }
    // Its entity dies, with its pairs, and the type gets another.
    world.despawn(shape);
    snapshot.apply(&mut world).unwrap();
    let again = world.entity_of::<Shape>();
    assert!(again != shape && world.has_pair_by_id(a, (again, b)));
    world.check_pairs().unwrap();
}

/// Two prefabs with a slot of one name. Returns the prefabs and the slots.
fn build_prefabs(world: &mut World) -> ([Entity; 2], [Entity; 2]) {
    let prefabs = ["Tank", "Ship"].map(|name| world.spawn((Prefab, Name::new(name))).id());
    let slots =
        prefabs.map(|prefab| world.spawn((Name::new("engine"), ChildOf(prefab), Pair(SlotOf, prefab))).id());
    (prefabs, slots)
}

#[test]
fn slots_are_found_by_their_path_in_another_world() {
    let mut world = new_world();
    let (prefabs, slots) = build_prefabs(&mut world);
    let instances = prefabs.map(|prefab| world.instantiate(prefab).unwrap());
    let engines = [0, 1].map(|at| world.pairs_by_id(slots[at]).target(instances[at]).unwrap());
    let filter = PairFilter::none().relation_id(slots[0]).relation_id(slots[1]);
    let snapshot = PairSnapshot::take(&mut world, filter).unwrap();
    // One in which there were instances before, and one in which slots are no relations yet.
    for has_instances in [true, false] {
        let mut other = new_world();
        let (there, other_slots) = build_prefabs(&mut other);
        if has_instances {
            let _ = there.map(|prefab| other.instantiate(prefab).unwrap());
        }
        let mut map = EntityHashMap::default();
        assert_eq!(snapshot.apply_mapped(&mut other, &mut map).unwrap().inserted, 2);
        for at in 0..2 {
            let engine = other.pairs_by_id(other_slots[at]).target(map[&instances[at]]);
            assert_eq!(engine, Some(map[&engines[at]]));
        }
        other.check_pairs().unwrap();
    }
    // What is refused makes no relation: one of the paths is not there, or there twice.
    for wrong in ["Truck", "Tank"] {
        let mut other = new_world();
        let (there, other_slots) = build_prefabs(&mut other);
        other.get_mut::<Name>(there[1]).unwrap().set(wrong);
        let error = snapshot.apply_mapped(&mut other, &mut EntityHashMap::default()).unwrap_err();
        match wrong {
            "Tank" => assert!(matches!(error, SnapshotError::AmbiguousRelation { .. }), "{error}"),
            _ => assert!(matches!(error, SnapshotError::UnknownRelation { .. }), "{error}"),
        }
        assert!(other_slots.iter().all(|&slot| other.traits_of(slot).is_none()), "{error}");
        other.check_pairs().unwrap();
    }
}

mod saves {
    use super::*;
    use bevy_relations::snapshot::{LoadError, SaveError, SaveId};

    /// Saves a pair with a filter, and loads it into another world.
    fn save_and_load(
        prepare: Prepare,
        filter: PairFilter,
        (prepare_other, is_there): (Prepare, bool),
    ) -> Result<(), String> {
        let mut world = new_world();
        prepare(&mut world);
        let [a, b] = [1, 2].map(|id| world.spawn(SaveId(id)).id());
        world.insert_pair(a, DockedTo, b).unwrap();
        let snapshot = PairSnapshot::take(&mut world, filter).unwrap();
        let saved = snapshot.to_saved(&world).map_err(|error| format!("save: {error}"))?;
        let mut other = new_world();
        if is_there {
            prepare_other(&mut other);
        }
        saved.load(&mut other).map_err(|error| format!("load: {error}"))?;
        assert_eq!(other.pairs::<DockedTo>().len(), 1);
        other.check_pairs().map_err(|error| error.to_string())
    }

    #[test]
    fn relations_without_pairs_are_no_obstacle_to_a_save_of_most() {
        for (name, prepare) in PREPARATIONS {
            for is_there in [false, true] {
                for filter in [PairFilter::all(), PairFilter::all().without::<Likes>()] {
                    assert_eq!(save_and_load(prepare, filter, (prepare, is_there)), Ok(()), "{name}");
                }
            }
        }
    }

    #[test]
    fn a_relation_without_pairs_may_be_several_where_a_save_is_loaded() {
        let filter = PairFilter::all().without::<Likes>();
        let [.., (_, one), _, (_, two)] = PREPARATIONS;
        assert_eq!(save_and_load(one, filter.clone(), (two, true)), Ok(()));
        assert_eq!(save_and_load(two, filter, (one, true)), Ok(()));
    }

    #[test]
    fn a_save_of_most_removes_what_came_since_and_what_is_named_must_have_a_name() {
        let mut world = new_world();
        let costs = world.spawn_relation("costs", RelationTraits::new()).unwrap();
        let [a, b] = [1, 2].map(|id| world.spawn(SaveId(id)).id());
        world.insert_pair(a, DockedTo, b).unwrap();
        let filter = PairFilter::all().without::<Likes>();
        let saved = PairSnapshot::take(&mut world, filter).unwrap().to_saved(&world).unwrap();
        world.insert_pair_by_id(a, (costs, b)).unwrap();
        world.insert_pair(a, Likes, b).unwrap();
        saved.load(&mut world).unwrap();
        assert!(!world.has_pair_by_id(a, (costs, b)) && world.has_pair::<Likes>(a, b));

        let [unnamed] = spawn(&mut world);
        world.set_traits(unnamed, RelationTraits::new().exclusive()).unwrap();
        let snapshot = PairSnapshot::take(&mut world, PairFilter::none().relation_id(unnamed)).unwrap();
        assert!(matches!(snapshot.to_saved(&world), Err(SaveError::Unnamed { .. })));
        // With pairs, nothing is left out.
        world.insert_pair_by_id(a, (costs, b)).unwrap();
        let saved = PairSnapshot::take(&mut world, PairFilter::all()).unwrap().to_saved(&world).unwrap();
        assert!(matches!(saved.load(&mut new_world()), Err(LoadError::UnknownRelation { .. })));
    }
}
