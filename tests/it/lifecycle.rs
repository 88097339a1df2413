//! What happens to pairs when entities are cleared or cloned, relations come and go, and worlds are emptied.

use crate::common::{record_errors_of, take_reported_errors, world_that_records_errors};
use bevy_ecs::{entity::EntityCloner, lifecycle::Remove, prelude::*};
use bevy_relations::prelude::*;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
struct Fears;

#[derive(Relation, Clone, Debug, PartialEq)]
struct Eats {
    grams: u32,
}

#[derive(Relation)]
#[relation(exclusive, traversable, on_target_despawn = Despawn)]
struct MountedOn;

#[derive(Relation)]
#[relation(symmetric)]
struct Meets;

#[derive(Relation)]
#[relation(exclusive, symmetric)]
struct MarriedTo;

#[derive(Relation)]
#[relation(with = Likes)]
struct Loves;

#[derive(Relation)]
struct Secret {
    _unclonable: Arc<std::sync::Mutex<u32>>,
}

#[derive(Component, Clone, Default, Debug, PartialEq)]
struct Health(u32);

fn entities<const N: usize>(world: &mut World) -> [Entity; N] {
    std::array::from_fn(|_| world.spawn_empty().id())
}

#[test]
fn clearing_an_entity_removes_its_own_pairs_and_keeps_those_that_target_it() {
    for health in [false, true] {
        let mut world = world_that_records_errors();
        let [bob, alice, tag] = entities(&mut world);
        if health {
            world.entity_mut(bob).insert(Health(1));
        }
        world.insert_pair(bob, Likes, alice).unwrap();
        world.insert_pair(bob, Eats { grams: 1 }, alice).unwrap();
        world.insert_pair(bob, Meets, alice).unwrap();
        world.insert_tag(bob, tag).unwrap();
        world.insert_pair(alice, Fears, bob).unwrap();
        world.insert_tag(alice, bob).unwrap();
        world.entity_mut(bob).clear();
        world.check_pairs().unwrap();
        assert!(world.pairs_of(bob).is_empty());
        assert_eq!(world.tags(bob).count(), 0);
        assert!(world.has_pair::<Fears>(alice, bob) && world.has_tag(alice, bob));
        assert!(!world.has_pair::<Meets>(alice, bob));
        // Cleanup still works.
        world.despawn(bob);
        world.check_pairs().unwrap();
        assert!(world.pairs_of(alice).is_empty());
    }
}

#[test]
fn clearing_works_when_an_observer_inserts_something_at_once() {
    let mut world = world_that_records_errors();
    let [bob, alice] = entities(&mut world);
    world.entity_mut(bob).insert(Health(1));
    world.add_observer(|on: On<Remove<Health>>, mut commands: Commands| {
        commands.entity(on.entity).insert(Name::new("cleared"));
    });
    world.insert_pair(bob, Likes, alice).unwrap();
    world.entity_mut(bob).clear();
    assert!(world.entity(bob).contains::<Name>());
    assert!(!world.has_pair::<Likes>(bob, alice), "clear removes the entity's own pairs");
    world.check_pairs().unwrap();
}

#[test]
fn clearing_parents_and_children_agrees_with_bevy() {
    let mut world = world_that_records_errors();
    let [root] = entities(&mut world);
    world.adopt_relationship::<ChildOf>();
    let a = world.spawn((ChildOf(root), Pair(Likes, root))).id();
    let b = world.spawn(ChildOf(a)).id();
    world.entity_mut(a).clear();
    assert!(world.pairs_of(a).is_empty());
    assert_eq!(world.has_pair::<ChildOf>(b, a), world.get::<ChildOf>(b).is_some());
    world.check_pairs().unwrap();
}

#[test]
fn retaining_components_keeps_pairs() {
    let mut world = world_that_records_errors();
    let [alice] = entities(&mut world);
    let bob =
        world.spawn((Health(1), Name::new("bob"), Pair(Likes, alice), Pair(Eats { grams: 2 }, alice))).id();
    world.entity_mut(bob).retain::<Name>();
    assert!(!world.entity(bob).contains::<Health>());
    assert_eq!(world.pairs_of(bob).len(), 2);
    world.check_pairs().unwrap();
    world.entity_mut(bob).remove::<Name>();
    world.despawn(alice);
    assert!(world.pairs_of(bob).is_empty());
    world.check_pairs().unwrap();
}

/// Bevy removes the same components in the same way: what hooks see does not differ.
#[test]
fn retaining_nothing_is_clearing() {
    let mut world = world_that_records_errors();
    let [alice] = entities(&mut world);
    let bob = world.spawn((Health(1), Pair(Likes, alice), Pair(Eats { grams: 1 }, alice))).id();
    world.entity_mut(bob).retain::<Name>();
    assert!(world.pairs_of(bob).is_empty());
    world.check_pairs().unwrap();
}

#[test]
fn moving_components_away_keeps_pairs() {
    for everything in [false, true] {
        let mut world = world_that_records_errors();
        let [alice, other] = entities(&mut world);
        let bob = world.spawn((Health(1), Pair(Likes, alice), Pair(Eats { grams: 2 }, alice))).id();
        if everything {
            EntityCloner::build_opt_out(&mut world).move_components(true).clone_entity(bob, other);
        } else {
            world.entity_mut(bob).move_components::<Health>(other);
        }
        world.flush();
        assert!(world.entity(other).contains::<Health>() && !world.entity(bob).contains::<Health>());
        assert_eq!(world.pairs_of(bob).len(), 2, "everything: {everything}");
        assert!(world.pairs_of(other).is_empty());
        world.check_pairs().unwrap();
        // Both still take part in full.
        world.insert_pair(other, Likes, alice).unwrap();
        world.despawn(other);
        world.despawn(alice);
        world.check_pairs().unwrap();
        assert!(world.pairs_of(bob).is_empty());
    }
}

#[test]
fn clones_copy_pairs_and_values() {
    let mut world = world_that_records_errors();
    let [alice, tag] = entities(&mut world);
    let bob =
        world.spawn((Health(1), Pair(Likes, alice), Pair(Eats { grams: 2 }, alice), Pair(Meets, alice))).id();
    world.insert_pair(bob, MarriedTo, alice).unwrap();
    world.insert_tag(bob, tag).unwrap();
    world.insert_pair(alice, Fears, bob).unwrap();
    let clone = world.entity_mut(bob).clone_and_spawn();
    world.flush();
    assert!(world.has_pair::<Likes>(clone, alice) && world.has_pair::<Meets>(clone, alice));
    assert!(world.has_pair::<Meets>(alice, clone) && world.has_pair::<Meets>(alice, bob));
    assert_eq!(world.pair_value::<Eats>(clone, alice), Some(&Eats { grams: 2 }));
    assert_eq!(world.pair_value::<Eats>(bob, alice), Some(&Eats { grams: 2 }));
    assert!(world.has_tag(clone, tag));
    assert!(world.has_pair::<MarriedTo>(bob, alice), "the clone does not take the partner");
    assert!(!world.has_pair::<Fears>(alice, clone));
    world.insert_pair(clone, Eats { grams: 3 }, alice).unwrap();
    assert_eq!(world.pair_value::<Eats>(bob, alice), Some(&Eats { grams: 2 }));
    world.check_pairs().unwrap();
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn a_clone_of_a_self_pair_points_to_the_clone() {
    let mut world = world_that_records_errors();
    let [bob] = entities(&mut world);
    world.insert_pair(bob, Likes, bob).unwrap();
    let clone = world.entity_mut(bob).clone_and_spawn();
    world.flush();
    assert!(world.has_pair::<Likes>(clone, clone));
    assert_eq!(world.pairs::<Likes>().len(), 2);
    world.check_pairs().unwrap();
}

#[test]
fn linked_cloning_maps_targets_that_are_cloned_as_well() {
    let mut world = world_that_records_errors();
    let [outside] = entities(&mut world);
    let root = world.spawn(Name::new("root")).id();
    let a = world.spawn((ChildOf(root), Pair(Likes, outside))).id();
    let b = world.spawn((ChildOf(a), Pair(Likes, a), Pair(Eats { grams: 7 }, root))).id();
    world.insert_pair(a, Fears, b).unwrap();
    world.insert_pair(root, Fears, b).unwrap();
    let clone = world.spawn_empty().id();
    EntityCloner::build_opt_out(&mut world).linked_cloning(true).clone_entity(root, clone);
    world.flush();
    world.check_pairs().unwrap();
    let below: Vec<Entity> = world.pairs::<ChildOf>().descendants(clone).map(|(entity, _)| entity).collect();
    let [clone_a, clone_b] = below[..] else { panic!("{below:?}") };
    assert!(world.has_pair::<Likes>(clone_a, outside));
    assert!(world.has_pair::<Likes>(clone_b, clone_a));
    assert!(world.has_pair::<Fears>(clone_a, clone_b) && world.has_pair::<Fears>(clone, clone_b));
    assert_eq!(world.pair_value::<Eats>(clone_b, clone), Some(&Eats { grams: 7 }));
    assert_eq!(world.pairs::<Likes>().len(), 4);
    assert_eq!(world.pairs::<Fears>().len(), 4);
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn a_value_that_cannot_be_cloned_is_reported_and_the_other_pairs_are_cloned() {
    let mut world = world_that_records_errors();
    let [alice] = entities(&mut world);
    let bob = world.spawn(Pair(Likes, alice)).id();
    world.insert_pair(bob, Secret { _unclonable: Arc::default() }, alice).unwrap();
    let clone = world.entity_mut(bob).clone_and_spawn();
    world.flush();
    assert!(world.has_pair::<Likes>(clone, alice));
    assert!(!world.has_pair::<Secret>(clone, alice) && world.has_pair::<Secret>(bob, alice));
    let errors = take_reported_errors();
    assert!(errors.len() == 1 && errors[0].contains("Secret"), "{errors:?}");
    world.check_pairs().unwrap();
}

#[test]
fn clear_pairs_leaves_a_usable_empty_store() {
    let mut world = world_that_records_errors();
    let [bob, alice] = entities(&mut world);
    let value = Arc::new(std::sync::Mutex::new(1));
    let relation = world.spawn_relation("r", RelationTraits::new()).unwrap();
    for _ in 0..3 {
        world.insert_pair(bob, Secret { _unclonable: value.clone() }, alice).unwrap();
        world.insert_pair(bob, Meets, alice).unwrap();
        world.insert_tag(bob, alice).unwrap();
        world.insert_pair_by_id(alice, (relation, bob)).unwrap();
        world.insert_pair(bob, ChildOf(alice), alice).unwrap();
        assert_eq!(Arc::strong_count(&value), 2);
        world.clear_pairs();
        assert_eq!(Arc::strong_count(&value), 1);
        world.check_pairs().unwrap();
        assert!(world.pairs_of(bob).is_empty() && world.pairs_of(alice).is_empty());
        assert_eq!(world.tags(bob).count(), 0);
        assert!(world.get::<ChildOf>(bob).is_none() && world.get::<Children>(alice).is_none());
    }
    world.set_traits(relation, RelationTraits::new().exclusive()).unwrap();
    world.insert_pair_by_id(bob, (relation, bob)).unwrap();
    world.insert_pair_by_id(bob, (relation, alice)).unwrap();
    assert_eq!(world.pairs_by_id(relation).target_count(bob), 1);
    world.check_pairs().unwrap();
}

#[test]
fn a_relation_type_used_by_its_entity_first_is_the_same_relation() {
    let mut world = world_that_records_errors();
    let [bob, alice, eve] = entities(&mut world);
    let likes = world.entity_of::<Likes>();
    world.insert_pair_by_id(bob, (likes, alice)).unwrap();
    assert!(world.has_pair::<Likes>(bob, alice));
    world.insert_pair(bob, Likes, eve).unwrap();
    assert!(world.has_pair::<Likes>(bob, alice));
    assert!(world.has_pair_by_id(bob, PairId::new(likes, eve)));
    assert_eq!(world.pairs_by_id(likes).target_count(bob), 2);
    assert_eq!(world.pairs_of(bob).len(), 2);
    world.check_pairs().unwrap();
}

/// The entity of a type does not show that the type is a relation: until it is registered it has no traits, and
/// after its first pair they come too late.
#[test]
fn a_relation_type_used_by_its_entity_before_it_is_registered_is_refused_as_a_type() {
    let mut world = world_that_records_errors();
    let [bob, alice, eve] = entities(&mut world);
    let mounted = world.entity_of::<MountedOn>();
    world.insert_pair_by_id(bob, (mounted, alice)).unwrap();
    let error = world.insert_pair(bob, MountedOn, eve).unwrap_err();
    assert!(
        matches!(
            error,
            bevy_relations::error::InsertPairError::Traits(bevy_relations::error::TraitsError::Frozen { .. })
        ),
        "{error}"
    );
    assert!(world.has_pair::<MountedOn>(bob, alice));
    world.check_pairs().unwrap();
    world.clear_pairs();
    world.insert_pair(bob, MountedOn, alice).unwrap();
    world.insert_pair(bob, MountedOn, eve).unwrap();
    assert_eq!(world.pairs::<MountedOn>().target_count(bob), 1, "exclusive, as declared");
    world.check_pairs().unwrap();
}

#[test]
fn a_relation_type_gets_another_entity_after_its_own_was_despawned() {
    let mut world = world_that_records_errors();
    let [bob, alice] = entities(&mut world);
    world.insert_pair(bob, Eats { grams: 1 }, alice).unwrap();
    for round in 0..4 {
        let old = world.get_entity_of::<Eats>().unwrap();
        world.despawn(old);
        assert!(!world.has_pair::<Eats>(bob, alice));
        assert_ne!(world.get_entity_of::<Eats>(), Some(old));
        world.check_pairs().unwrap();
        // Reads, removals and commands find nothing and do no harm.
        assert!(!world.remove_pair::<Eats>(bob, alice));
        assert_eq!(world.remove_pairs::<Eats>(bob), 0);
        assert!(world.insert_pair_by_id(bob, (old, alice)).is_err());
        match round {
            0 => world.insert_pair(bob, Eats { grams: 2 }, alice).unwrap(),
            1 => world.insert_pair_batch([(bob, Eats { grams: 2 }, alice)]).unwrap(),
            2 => _ = world.entity_of::<Eats>(),
            _ => _ = world.commands().entity(bob).insert_pair(Eats { grams: 2 }, alice),
        };
        if round == 2 {
            world.insert_pair(bob, Eats { grams: 2 }, alice).unwrap();
        }
        world.flush();
        let new = world.get_entity_of::<Eats>().unwrap();
        assert_ne!(new, old);
        assert_eq!(world.pairs_of(bob), [(new, alice)]);
        assert_eq!(world.pair_value::<Eats>(bob, alice), Some(&Eats { grams: 2 }));
        world.check_pairs().unwrap();
    }
}

#[test]
fn tag_relations_come_back_too_by_the_fast_ways() {
    let mut world = world_that_records_errors();
    let [bob, alice, eve] = entities(&mut world);
    for way in 0..4 {
        world.insert_pair(bob, Likes, alice).unwrap();
        let old = world.get_entity_of::<Likes>().unwrap();
        world.despawn(old);
        match way {
            0 => world.insert_pair(bob, Likes, eve).unwrap(),
            1 => world.insert_pair_batch([(bob, Likes, eve)]).unwrap(),
            2 => _ = world.entity_mut(bob).insert(Pair(Likes, eve)),
            _ => _ = world.commands().pair_batch::<Likes>().insert(bob, Likes, eve),
        }
        world.flush();
        let new = world.get_entity_of::<Likes>();
        assert!(new.is_some_and(|new| new != old), "way {way}: {new:?}");
        assert_eq!(world.pairs_of(bob), [(new.unwrap(), eve)], "way {way}");
        world.check_pairs().unwrap();
        world.remove_pairs::<Likes>(bob);
    }
}

#[test]
fn a_relation_whose_companion_was_despawned_brings_it_back() {
    let mut world = world_that_records_errors();
    let [bob, alice] = entities(&mut world);
    world.insert_pair(bob, Loves, alice).unwrap();
    let likes = world.get_entity_of::<Likes>().unwrap();
    world.despawn(likes);
    world.insert_pair(alice, Loves, bob).unwrap();
    assert!(world.has_pair::<Likes>(alice, bob));
    world.check_pairs().unwrap();
}

#[test]
fn the_entity_of_an_adopted_relation_is_despawned_and_no_pair_mentions_it() {
    let mut world = world_that_records_errors();
    let [root] = entities(&mut world);
    let child = world.spawn((ChildOf(root), Pair(Likes, root))).id();
    let old = world.entity_of::<ChildOf>();
    world.despawn(old);
    let mentions = |&(relation, _): &(Entity, Entity)| relation == old;
    assert!(!world.pairs_of(child).iter().any(mentions), "no pair mentions the despawned entity");
    assert!(world.pairs_to(root).iter().all(|&(_, relation)| relation != old));
    assert_eq!(world.get::<ChildOf>(child), Some(&ChildOf(root)));
    world.spawn(ChildOf(root));
    assert_eq!(world.pairs::<ChildOf>().source_count(root), 2);
    world.check_pairs().unwrap();
}

#[test]
fn the_number_of_a_despawned_run_time_relation_serves_another_with_nothing_left_over() {
    let mut world = world_that_records_errors();
    let [bob, alice, eve] = entities(&mut world);
    for round in 0..100_u32 {
        let traits = match round % 4 {
            0 => RelationTraits::new().symmetric(),
            1 => RelationTraits::new().exclusive().traversable().on_target_despawn(CleanupPolicy::Despawn),
            2 => RelationTraits::new().data_or_default::<u32>().ordered(),
            _ => RelationTraits::new().data_or_default::<String>(),
        };
        let relation = world.spawn_relation(format!("r{round}"), traits).unwrap();
        assert!(world.pairs_by_id(relation).is_empty());
        world.insert_pair_by_id(bob, (relation, alice)).unwrap();
        world.insert_pair_by_id(bob, (relation, eve)).unwrap();
        assert_eq!(world.pairs_by_id(relation).target_count(bob), if round % 4 == 1 { 1 } else { 2 });
        assert_eq!(world.has_pair_by_id(eve, PairId::new(relation, bob)), round % 4 == 0);
        let value = world.pair_value_by_id::<u32>(bob, (relation, eve)).copied();
        assert_eq!(value, (round % 4 == 2).then_some(0));
        assert_eq!(world.relation_name(relation).unwrap().to_string(), format!("r{round}"));
        world.check_pairs().unwrap();
        world.despawn(relation);
        assert!(world.pairs_of(bob).is_empty());
        assert!(world.relation_name(relation).is_none() && world.traits_of(relation).is_none());
        world.check_pairs().unwrap();
    }
}

#[test]
fn more_relations_than_bits_are_cleaned_up_and_reused() {
    let mut world = world_that_records_errors();
    let [bob, alice] = entities(&mut world);
    let relations: Vec<_> =
        (0..150).map(|n| world.spawn_relation(format!("r{n}"), RelationTraits::new()).unwrap()).collect();
    for &relation in &relations {
        world.insert_pair_by_id(bob, (relation, alice)).unwrap();
    }
    assert_eq!(world.pairs_of(bob).len(), 150);
    for &relation in relations.iter().step_by(2) {
        world.despawn(relation);
    }
    assert_eq!(world.pairs_to(alice).len(), 75);
    world.check_pairs().unwrap();
    for n in 0..75 {
        let relation = world.spawn_relation(format!("s{n}"), RelationTraits::new().symmetric()).unwrap();
        world.insert_pair_by_id(bob, (relation, alice)).unwrap();
    }
    assert_eq!((world.pairs_of(bob).len(), world.pairs_to(bob).len()), (150, 75));
    world.despawn(alice);
    assert!(world.pairs_of(bob).is_empty());
    world.check_pairs().unwrap();
}

#[test]
fn two_worlds_that_registered_in_another_order_do_not_mix() {
    let mut one = world_that_records_errors();
    let mut two = World::new();
    record_errors_of(&mut two);
    one.register_relation::<Likes>().unwrap();
    one.register_relation::<Eats>().unwrap();
    two.register_relation::<MountedOn>().unwrap();
    two.register_relation::<Eats>().unwrap();
    two.register_relation::<Fears>().unwrap();
    two.register_relation::<Likes>().unwrap();
    for round in 0..10 {
        for world in [&mut one, &mut two] {
            let [bob, alice] = entities(world);
            world.insert_pair(bob, Likes, alice).unwrap();
            world.insert_pair(alice, Eats { grams: round }, bob).unwrap();
            world.insert_pair(bob, MountedOn, alice).unwrap();
            assert_eq!(world.pairs_of(bob).len(), 2);
            assert_eq!(world.pair_value::<Eats>(alice, bob), Some(&Eats { grams: round }));
            world.check_pairs().unwrap();
            world.despawn(alice);
            assert!(world.get_entity(bob).is_err());
        }
    }
}

#[test]
fn pairs_can_be_changed_while_a_users_resource_is_out_of_the_world() {
    #[derive(Resource)]
    struct Mine(Vec<Entity>);
    let mut world = world_that_records_errors();
    let [bob, alice] = entities(&mut world);
    world.insert_resource(Mine(vec![bob]));
    world.resource_scope(|world, mut mine: Mut<Mine>| {
        for &source in &mine.0 {
            world.insert_pair(source, Likes, alice).unwrap();
            world.insert_pair(source, MountedOn, alice).unwrap();
        }
        mine.0.push(world.spawn(Pair(Likes, alice)).id());
        world.despawn(alice);
        world.check_pairs().unwrap();
    });
    assert_eq!(world.resource::<Mine>().0.len(), 2);
    assert!(world.get_entity(bob).is_err());
    world.check_pairs().unwrap();
}

#[test]
fn values_are_dropped_with_the_world() {
    let value = Arc::new(std::sync::Mutex::new(1));
    let mut world = World::new();
    let [bob, alice] = entities(&mut world);
    world.insert_pair(bob, Secret { _unclonable: value.clone() }, alice).unwrap();
    world.insert_pair(alice, Secret { _unclonable: value.clone() }, alice).unwrap();
    world.insert_pair(bob, MountedOn, alice).unwrap();
    world.spawn(ChildOf(bob));
    assert_eq!(Arc::strong_count(&value), 3);
    drop(world);
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn a_panic_in_an_observer_during_a_cascade_leaves_cleanup_working() {
    #[derive(Component)]
    struct Bomb;
    let mut world = world_that_records_errors();
    world.add_observer(|_: On<Remove<Bomb>>| panic!("boom"));
    for ours in [false, true] {
        let [root] = entities(&mut world);
        let a = world.spawn((Bomb, Pair(MountedOn, root))).id();
        world.spawn(Pair(MountedOn, a));
        let result = catch_unwind(AssertUnwindSafe(|| {
            if ours {
                world.despawn_with_dependents(root).unwrap();
            } else {
                world.despawn(root);
            }
        }));
        assert!(result.is_err() || !take_reported_errors().is_empty(), "the panic is not swallowed");
        // Another cascade is not affected.
        let [root] = entities(&mut world);
        let a = world.spawn(Pair(MountedOn, root)).id();
        let b = world.spawn((Pair(MountedOn, a), Pair(Eats { grams: 1 }, root))).id();
        if ours {
            world.despawn_with_dependents(root).unwrap();
        } else {
            world.despawn(root);
        }
        assert!([root, a, b].iter().all(|&entity| world.get_entity(entity).is_err()));
        let [bob, alice] = entities(&mut world);
        world.insert_pair(bob, Likes, alice).unwrap();
        assert!(world.has_pair::<Likes>(bob, alice));
    }
}

#[test]
fn a_panic_in_an_observer_of_pairs_does_not_doom_others() {
    let mut world = world_that_records_errors();
    let observer = world.add_observer(|_: On<PairRemoved<MountedOn>>| panic!("boom")).id();
    let [root] = entities(&mut world);
    let gun = world.spawn(Pair(MountedOn, root)).id();
    let _ = catch_unwind(AssertUnwindSafe(|| world.despawn(root)));
    take_reported_errors();
    world.despawn(observer);
    let survived = world.get_entity(root).is_ok();
    let [other] = entities(&mut world);
    world.insert_pair(gun, Likes, other).unwrap();
    world.despawn(other);
    if survived {
        assert!(world.get_entity(gun).is_ok(), "its root lives, so it lives");
    }
    world.check_pairs().unwrap();
}
