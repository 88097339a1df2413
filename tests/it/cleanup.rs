//! Despawning: what else goes, in which order, and which events are triggered. The policies themselves are in `cleanup_model`.

use crate::common::{take_reported_errors, world_that_records_errors};
use bevy_ecs::{lifecycle::Despawn, prelude::*, world::DeferredWorld};
use bevy_relations::{
    error::{DespawnError, PairRole},
    prelude::*,
};

#[derive(Relation)]
struct Likes;

#[derive(Relation, Clone, Debug, PartialEq)]
struct Eats {
    grams: u32,
}

#[derive(Relation)]
#[relation(exclusive, traversable, on_target_despawn = Despawn)]
struct MountedOn;

#[derive(Relation)]
#[relation(on_target_despawn = Refuse)]
struct NeededBy;

#[derive(Relation)]
#[relation(symmetric, on_target_despawn = Despawn)]
struct BoundTo;

#[derive(Component)]
struct Label(&'static str);

#[derive(Resource, Default)]
struct Order(Vec<&'static str>);

fn world_that_logs_despawns() -> World {
    let mut world = world_that_records_errors();
    world.init_resource::<Order>();
    world.add_observer(|on: On<Despawn<Label>>, labels: Query<&Label>, mut order: ResMut<Order>| {
        order.0.push(labels.get(on.entity).unwrap().0);
    });
    world
}

fn order(world: &mut World) -> Vec<&'static str> {
    std::mem::take(&mut world.resource_mut::<Order>().0)
}

/// root <- a <- b, root <- c
fn mounted(world: &mut World) -> [Entity; 4] {
    let root = world.spawn(Label("root")).id();
    let a = world.spawn((Label("a"), Pair(MountedOn, root))).id();
    let b = world.spawn((Label("b"), Pair(MountedOn, a))).id();
    let c = world.spawn((Label("c"), Pair(MountedOn, root))).id();
    [root, a, b, c]
}

#[test]
fn bevys_despawn_takes_the_root_first_and_its_dependents_leaf_first() {
    let mut world = world_that_logs_despawns();
    let [root, ..] = mounted(&mut world);
    world.despawn(root);
    let order = order(&mut world);
    assert_eq!(order[0], "root");
    assert_eq!(order.len(), 4);
    let place = |label| order.iter().position(|&other| other == label);
    assert!(place("b") < place("a"));
    world.check_pairs().unwrap();
}

#[test]
fn despawn_with_dependents_takes_the_root_last() {
    let mut world = world_that_logs_despawns();
    let [root, ..] = mounted(&mut world);
    world.despawn_with_dependents(root).unwrap();
    let order = order(&mut world);
    assert_eq!(order[3], "root");
    let place = |label| order.iter().position(|&other| other == label);
    assert!(place("b") < place("a"));
}

#[test]
fn trees_of_several_relations_and_bevys_children_go_leaf_first() {
    for ours in [false, true] {
        let mut world = world_that_logs_despawns();
        let root = world.spawn(Label("root")).id();
        let a = world.spawn((Label("a"), ChildOf(root))).id();
        let b = world.spawn((Label("b"), Pair(MountedOn, a))).id();
        let c = world.spawn((Label("c"), ChildOf(b))).id();
        world.spawn((Label("d"), Pair(MountedOn, c), Pair(Likes, root)));
        let onlooker = world.spawn((Label("onlooker"), Pair(Likes, c), Pair(Eats { grams: 1 }, a))).id();
        if ours {
            world.despawn_with_dependents(root).unwrap();
            assert_eq!(order(&mut world), ["d", "c", "b", "a", "root"]);
        } else {
            world.despawn(root);
            assert_eq!(order(&mut world), ["root", "d", "c", "b", "a"]);
        }
        assert!(world.pairs_of(onlooker).is_empty());
        world.check_pairs().unwrap();
        assert_eq!(take_reported_errors(), [""; 0]);
    }
}

#[test]
fn despawn_children_and_despawn_related_take_what_depends_on_the_children() {
    let mut world = world_that_logs_despawns();
    let root = world.spawn(Label("root")).id();
    for _ in 0..2 {
        let a = world.spawn((Label("a"), ChildOf(root))).id();
        let b = world.spawn((Label("b"), Pair(MountedOn, a))).id();
        world.spawn((Label("c"), ChildOf(b)));
        let onlooker = world.spawn(Pair(Likes, b)).id();
        world.entity_mut(root).despawn_children();
        assert_eq!(order(&mut world), ["a", "c", "b"]);
        assert!(world.pairs_of(onlooker).is_empty());
        let a = world.spawn((Label("a"), ChildOf(root))).id();
        world.spawn((Label("b"), ChildOf(a)));
        world.commands().entity(root).despawn_related::<Children>();
        world.flush();
        assert_eq!(order(&mut world), ["a", "b"]);
        assert_eq!(world.pairs::<ChildOf>().source_count(root), 0);
        world.check_pairs().unwrap();
    }
}

#[test]
fn despawn_with_pair_takes_the_sources_and_what_depends_on_them() {
    let mut world = world_that_logs_despawns();
    let [root, a, b, c] = mounted(&mut world);
    let relation = world.entity_of::<MountedOn>();
    assert_eq!(world.despawn_sources(PairId::new(relation, root)), Ok(2));
    assert!(world.get_entity(root).is_ok());
    assert!([a, b, c].iter().all(|&entity| world.get_entity(entity).is_err()));
    world.check_pairs().unwrap();
    assert_eq!(world.despawn_sources(PairId::new(relation, root)), Ok(0));

    let [root, ..] = mounted(&mut world);
    // `a` has the pair too, but goes with an entity before it or by itself: three have it either way.
    assert_eq!(world.despawn_sources(PairId::with_relation(relation)), Ok(3));
    assert!(world.get_entity(root).is_ok());
    assert!(world.pairs::<MountedOn>().is_empty());

    let liked = world.spawn_empty().id();
    let fans: Vec<_> = (0..5).map(|_| world.spawn(Pair(Likes, liked)).id()).collect();
    world.insert_pair(fans[0], Eats { grams: 1 }, liked).unwrap();
    assert_eq!(world.despawn_sources(PairId::with_target(liked)), Ok(5));
    assert!(world.get_entity(liked).is_ok());
    world.check_pairs().unwrap();
}

#[test]
fn the_sources_of_a_pair_go_as_one_cascade_even_if_the_relation_is_one_of_them() {
    let mut world = world_that_records_errors();
    let bound = world.spawn_relation("bound", RelationTraits::new().symmetric()).unwrap();
    world.set_traits(bound, RelationTraits::new().on_target_despawn(CleanupPolicy::Despawn)).unwrap();
    let [a, b] = [(); 2].map(|()| world.spawn_empty().id());
    world.insert_pair_by_id(a, (bound, b)).unwrap();
    world.insert_pair(bound, Likes, a).unwrap();
    // `bound` and `b` have a pair with `a`, and `a` goes with `b`.
    assert_eq!(world.despawn_sources(PairId::with_target(a)), Ok(2));
    assert!([a, b, bound].iter().all(|&entity| world.get_entity(entity).is_err()));
    world.check_pairs().unwrap();
}

#[test]
fn a_policy_in_the_way_of_one_source_keeps_all_of_them() {
    let mut world = world_that_records_errors();
    let [liked, free, needed, user] = [(); 4].map(|()| world.spawn_empty().id());
    world.insert_pair_batch([(free, Likes, liked), (needed, Likes, liked)]).unwrap();
    world.insert_pair(user, NeededBy, needed).unwrap();
    let error = world.despawn_sources(PairId::with_target(liked)).unwrap_err();
    assert!(matches!(error, DespawnError::InUse { ref used, .. } if used.entity() == needed), "{error}");
    assert_eq!(world.pairs::<Likes>().source_count(liked), 2);
    assert!(world.get_entity(free).is_ok());
    world.check_pairs().unwrap();
}

#[test]
fn a_panic_deep_in_the_cascade_refuses_with_nothing_changed() {
    let mut world = world_that_logs_despawns();
    let [root, a, b, c] = mounted(&mut world);
    let engine = world.spawn(Pair(NeededBy, b)).id();
    let error = world.despawn_with_dependents(root).unwrap_err();
    let DespawnError::InUse { entity, used, role, target, source_entity, .. } = error.clone() else {
        panic!("{error:?}")
    };
    assert_eq!(role, PairRole::Target);
    assert!(entity == root && used == b && target == b && source_entity == engine);
    assert!(error.to_string().contains("NeededBy"), "{error}");
    assert_eq!(order(&mut world), [""; 0]);
    assert!([root, a, b, c, engine].iter().all(|&entity| world.get_entity(entity).is_ok()));
    assert_eq!(world.pairs::<MountedOn>().descendants(root).count(), 3);
    world.check_pairs().unwrap();
    // A refusal leaves no marks behind: once the pair is gone, the cascade runs in full.
    world.remove_pair::<NeededBy>(engine, b);
    world.despawn_with_dependents(root).unwrap();
    assert_eq!(order(&mut world).len(), 4);
}

#[test]
fn a_despawn_by_bevy_completes_a_panic_as_remove_and_reports_it() {
    let mut world = world_that_logs_despawns();
    let [root, _, b, _] = mounted(&mut world);
    let engine = world.spawn(Pair(NeededBy, b)).id();
    world.despawn(root);
    assert_eq!(order(&mut world).len(), 4);
    assert!(world.get_entity(engine).is_ok());
    assert!(world.pairs_of(engine).is_empty());
    let errors = take_reported_errors();
    assert!(errors.len() == 1 && errors[0].contains("NeededBy"), "{errors:?}");
    world.check_pairs().unwrap();
}

#[test]
fn an_entity_that_stands_for_a_type_is_not_despawned_while_in_use() {
    struct Position(#[expect(dead_code, reason = "a type with fields")] f32);
    struct Frozen;
    let mut world = world_that_records_errors();
    let (bob, alice) = (world.spawn_empty().id(), world.spawn_empty().id());
    let likes = world.entity_of::<Likes>();
    let frozen = world.entity_of::<Frozen>();
    let position = world.entity_of::<Position>();
    for (number, entity) in [likes, frozen, position].into_iter().enumerate() {
        match number {
            0 => world.insert_pair(bob, Likes, alice).unwrap(),
            1 => world.insert_tag(bob, frozen).unwrap(),
            _ => world.insert_pair_value_by_id(bob, (position, alice), Position(1.0)).unwrap(),
        }
        let result = world.despawn_with_dependents(entity);
        assert!(
            matches!(result, Err(DespawnError::InUse { role: PairRole::Relation, .. })),
            "{number}: {result:?}"
        );
        assert!(world.get_entity(entity).is_ok());
        world.despawn(entity);
        assert_eq!(take_reported_errors().len(), 1, "{number}");
        world.check_pairs().unwrap();
        assert!(world.pairs_of(bob).is_empty() && world.tags(bob).next().is_none());
    }
    // Not in use: nothing stands in the way.
    let likes = world.entity_of::<Likes>();
    world.despawn_with_dependents(likes).unwrap();
}

#[test]
fn despawn_wins_over_remove_on_one_entity() {
    for first_likes in [false, true] {
        let mut world = world_that_records_errors();
        let root = world.spawn_empty().id();
        let both = world.spawn_empty().id();
        if first_likes {
            world.insert_pair(both, Likes, root).unwrap();
        }
        world.insert_pair(both, MountedOn, root).unwrap();
        world.insert_pair(both, Eats { grams: 3 }, root).unwrap();
        world.despawn(root);
        assert!(world.get_entity(both).is_err());
        world.check_pairs().unwrap();
    }
}

#[test]
fn despawn_wins_when_the_relation_goes_with_the_target() {
    // s -R-> t, and t goes with R: s depends on t, and R, on its own, would only lose its pairs.
    for ours in [false, true] {
        let mut world = world_that_records_errors();
        let traits = RelationTraits::new().on_target_despawn(CleanupPolicy::Despawn);
        let relation = world.spawn_relation("R", traits).unwrap();
        let t = world.spawn(Pair(MountedOn, relation)).id();
        let s = world.spawn_empty().id();
        world.insert_pair_by_id(s, (relation, t)).unwrap();
        if ours {
            world.despawn_with_dependents(relation).unwrap();
        } else {
            world.despawn(relation);
        }
        assert!(world.get_entity(t).is_err());
        assert!(world.get_entity(s).is_err(), "despawn wins over remove; ours: {ours}");
    }
}

#[test]
fn symmetric_partners_go_together() {
    for ours in [false, true] {
        let mut world = world_that_logs_despawns();
        let a = world.spawn(Label("a")).id();
        let b = world.spawn((Label("b"), Pair(BoundTo, a))).id();
        let c = world.spawn((Label("c"), Pair(BoundTo, b), Pair(BoundTo, a))).id();
        world.insert_pair(c, BoundTo, c).unwrap();
        let free = world.spawn(Pair(Likes, c)).id();
        if ours {
            world.despawn_with_dependents(b).unwrap();
        } else {
            world.despawn(b);
        }
        let mut gone = order(&mut world);
        gone.sort_unstable();
        assert_eq!(gone, ["a", "b", "c"]);
        assert!(world.get_entity(free).is_ok());
        world.check_pairs().unwrap();
    }
}

#[test]
fn lifecycle_observers_of_a_dependent_no_longer_see_the_pair_to_a_root_that_is_gone() {
    #[derive(Component)]
    struct Gun;
    let mut world = world_that_records_errors();
    world.add_observer(|on: On<Despawn<Gun>>, world: DeferredWorld| {
        assert!(!world.pairs::<MountedOn>().has_any(on.entity));
        assert!(!world.pairs::<ChildOf>().has_any(on.entity));
        assert!(world.pairs_of(on.entity).iter().all(|&(_, target)| world.get_entity(target).is_ok()));
    });
    let root = world.spawn_empty().id();
    let other = world.spawn_empty().id();
    world.spawn((Gun, Pair(MountedOn, root), Pair(Likes, other)));
    world.spawn((Gun, ChildOf(root), Pair(Likes, root)));
    world.despawn(root);
    assert_eq!(world.query::<&Gun>().iter(&world).count(), 0);
}

#[test]
fn observers_of_removed_pairs_find_both_ends_alive_also_of_children() {
    #[derive(Resource, Default)]
    struct Heard(Vec<(Entity, Entity)>);
    let mut world = world_that_records_errors();
    world.init_resource::<Heard>();
    world.adopt_relationship::<ChildOf>();
    world.add_observer(|on: On<PairRemoved<ChildOf>>, mut world: DeferredWorld| {
        assert!(world.has_pair::<ChildOf>(on.source, on.target));
        assert!(world.pairs::<ChildOf>().sources(on.target).any(|source| source == on.source));
        assert_eq!(world.pair_value::<ChildOf>(on.source, on.target), Some(&ChildOf(on.target)));
        assert!(world.get_entity(on.source).is_ok() && world.get_entity(on.target).is_ok());
        let pair = (on.source, on.target);
        world.resource_mut::<Heard>().0.push(pair);
    });
    for ours in [false, true] {
        let root = world.spawn_empty().id();
        let a = world.spawn(ChildOf(root)).id();
        let b = world.spawn(ChildOf(a)).id();
        let c = world.spawn(ChildOf(root)).id();
        if ours {
            world.despawn_with_dependents(root).unwrap();
        } else {
            world.despawn(root);
        }
        let mut heard = std::mem::take(&mut world.resource_mut::<Heard>().0);
        heard.sort_unstable();
        let mut expected = [(a, root), (b, a), (c, root)];
        expected.sort_unstable();
        assert_eq!(heard, expected, "ours: {ours}");
    }
}

#[test]
fn commands_queued_after_a_despawn_of_the_same_entity_reach_the_error_handler() {
    let mut world = world_that_records_errors();
    let (bob, alice) = (world.spawn_empty().id(), world.spawn_empty().id());
    let likes = world.entity_of::<Likes>();
    let mut commands = world.commands();
    commands.entity(bob).despawn();
    commands.entity(bob).insert_pair(Likes, alice).insert_pair_by_id((likes, alice));
    commands.entity(bob).insert_tag(alice);
    commands.entity(alice).insert_pair(Likes, bob);
    commands.entity(bob).despawn_with_dependents();
    commands.pair_batch::<Likes>().insert(bob, Likes, alice).insert(alice, Likes, alice);
    world.flush();
    let errors = take_reported_errors();
    assert_eq!(errors.len(), 6, "{errors:?}");
    assert!(errors.iter().all(|error| error.contains(&bob.to_string())), "{errors:?}");
    assert!(world.has_pair::<Likes>(alice, alice));
    assert_eq!(world.pairs::<Likes>().len(), 1);
    world.check_pairs().unwrap();
}

#[test]
fn removals_queued_after_a_despawn_of_the_same_entity_reach_the_error_handler() {
    let mut world = world_that_records_errors();
    let (bob, alice) = (world.spawn_empty().id(), world.spawn_empty().id());
    world.insert_pair(bob, Likes, alice).unwrap();
    let mut commands = world.commands();
    commands.entity(bob).despawn();
    commands.entity(bob).remove_pair::<Likes>(alice);
    world.flush();
    assert_eq!(take_reported_errors().len(), 1);
}

#[test]
fn an_observer_cannot_bring_a_dying_entity_back_into_pairs() {
    let mut world = world_that_records_errors();
    world.add_observer(|on: On<PairRemoved<MountedOn>>, mut commands: Commands| {
        commands.entity(on.source).insert_pair(Likes, on.target).insert_pair(MountedOn, on.target);
        commands.spawn(Pair(MountedOn, on.target));
    });
    let root = world.spawn_empty().id();
    let gun = world.spawn(Pair(MountedOn, root)).id();
    world.despawn(root);
    world.check_pairs().unwrap();
    assert!(world.get_entity(gun).is_err());
    assert!(world.pairs::<MountedOn>().is_empty());
    assert!(!take_reported_errors().is_empty());
}

#[test]
fn observers_may_despawn_others_in_the_middle_of_a_cascade() {
    let mut world = world_that_logs_despawns();
    let [root, a, b, c] = mounted(&mut world);
    let outside = world.spawn(Label("outside")).id();
    let gun = world.spawn((Label("gun"), Pair(MountedOn, outside))).id();
    world.insert_pair(b, Likes, outside).unwrap();
    world.add_observer(move |on: On<PairRemoved<Likes>>, mut commands: Commands| {
        commands.entity(on.target).try_despawn();
        commands.entity(a).try_despawn();
        commands.entity(c).try_despawn();
    });
    world.despawn(root);
    let mut gone = order(&mut world);
    gone.sort_unstable();
    assert_eq!(gone, ["a", "b", "c", "gun", "outside", "root"]);
    assert!(world.get_entity(gun).is_err());
    world.check_pairs().unwrap();
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn despawning_the_dead_says_so() {
    let mut world = world_that_records_errors();
    let entity = world.spawn_empty().id();
    world.despawn(entity);
    let error = world.despawn_with_dependents(entity).unwrap_err();
    assert!(matches!(&error, DespawnError::Dead { entity: dead } if *dead == entity), "{error}");
    let fresh = world.spawn_empty().id();
    world.despawn_with_dependents(fresh).unwrap();
    assert!(world.get_entity(fresh).is_err());
}

#[test]
fn an_index_that_is_used_again_has_nothing_of_its_former_owner() {
    let mut world = world_that_records_errors();
    let hub = world.spawn_empty().id();
    for round in 0..50 {
        let old = world.spawn((Pair(Likes, hub), Pair(Eats { grams: round }, hub), ChildOf(hub))).id();
        world.insert_pair(hub, Likes, old).unwrap();
        world.insert_tag(old, hub).unwrap();
        world.despawn(old);
        // Bevy hands freed indices out again in batches.
        let mut others: Vec<_> = (0..500).map(|_| world.spawn_empty().id()).collect();
        others.drain(..).for_each(|other| assert!(world.despawn(other)));
        let new = loop {
            let new = world.spawn_empty().id();
            if new.index() == old.index() {
                break new;
            }
            assert!(others.len() < 10_000, "the index never comes back");
            others.push(new);
        };
        others.into_iter().for_each(|other| assert!(world.despawn(other)));
        assert!(world.pairs_of(new).is_empty() && world.pairs_to(new).is_empty());
        assert!(world.pairs_of(old).is_empty() && world.pairs_to(old).is_empty());
        assert!(!world.has_tag(new, hub));
        assert!(world.pairs_of(hub).is_empty() && world.pairs_to(hub).is_empty());
        world.despawn(new);
        world.check_pairs().unwrap();
    }
}

#[test]
fn an_entity_despawned_without_being_freed_comes_back_without_pairs() {
    let mut world = world_that_records_errors();
    let hub = world.spawn_empty().id();
    let gun = world.spawn((Pair(MountedOn, hub), Pair(Eats { grams: 1 }, hub))).id();
    let again = world.despawn_no_free(gun).unwrap();
    world.spawn_at(again, Label("again")).unwrap();
    assert!(world.pairs_of(again).is_empty() && world.pairs_to(hub).is_empty());
    world.insert_pair(again, Likes, hub).unwrap();
    world.check_pairs().unwrap();
    world.despawn(hub);
    assert!(world.pairs_of(again).is_empty());
    world.check_pairs().unwrap();
}

#[derive(Component)]
#[relationship(relationship_target = Parts)]
struct PartOf(Entity);

#[derive(Component)]
#[relationship_target(relationship = PartOf, linked_spawn)]
struct Parts(Vec<Entity>);

#[test]
fn a_relationship_that_was_not_adopted_pulls_its_subtree_down_and_the_pairs_go_with_it() {
    let mut world = world_that_records_errors();
    let onlooker = world.spawn_empty().id();
    let root = world.spawn(Pair(Likes, onlooker)).id();
    let (mut at, mut all) = (root, vec![root]);
    for level in 0..100 {
        let part = world.spawn((PartOf(at), Pair(Likes, root), Pair(MountedOn, at))).id();
        let gun = world.spawn((Pair(MountedOn, part), Pair(Likes, at))).id();
        world.insert_pair(onlooker, Likes, gun).unwrap();
        all.extend([part, gun]);
        at = if level % 5 == 4 { gun } else { part };
    }
    world.despawn(root);
    assert!(all.iter().all(|&entity| world.get_entity(entity).is_err()));
    assert!(world.pairs_of(onlooker).is_empty() && world.pairs::<MountedOn>().is_empty());
    world.check_pairs().unwrap();
    assert_eq!(take_reported_errors(), [""; 0]);
}
