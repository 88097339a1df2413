//! Every way to read pairs, on the world and in a system.

use crate::common::{relation, reuse_index, sources, spawn, targets, world_that_records_errors};
use bevy_ecs::{entity_disabling::Disabled, prelude::*, system::RunSystemOnce};
use bevy_relations::{id::Slot, prelude::*, relation::Prefab};
use std::collections::BTreeSet;

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
struct Begin;

#[derive(Relation)]
#[relation(traversable, on_target_despawn = Despawn)]
struct PartOf;

#[derive(Relation, Clone, Debug, PartialEq)]
struct Eats {
    grams: u32,
}

#[derive(Relation)]
#[relation(tag)]
struct Marks;

/// A component that is a relation as well.
#[derive(Component, Relation, Clone, Copy, Debug, PartialEq)]
#[relation(component)]
struct Position {
    x: i32,
}

/// A component, no relation.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
struct Velocity(i32);

/// A component without fields.
#[derive(Component)]
struct Marker;

#[test]
fn a_system_reads_what_the_world_reads() {
    let mut world = World::new();
    let [a, b, c, d] = spawn(&mut world);
    for (source, target) in [(a, b), (a, c), (a, a), (d, b), (b, c)] {
        world.insert_pair(source, Likes, target).unwrap();
    }
    world.insert_pair(a, Eats { grams: 5 }, b).unwrap();
    let check = move |likes: &Pairs<Likes>, eats: &Pairs<Eats>, marks: &Pairs<Marks>| {
        assert!(likes.has(a, b) && likes.has(a, a) && !likes.has(b, a) && !likes.has(c, b));
        assert!(likes.has_any(a) && !likes.has_any(c));
        assert!(likes.is_target(c) && !likes.is_target(d));
        assert_eq!((likes.target(a), likes.target(c)), (Some(b), None));
        assert_eq!([0, 1, 2, 3].map(|nth| likes.nth_target(a, nth)), [Some(b), Some(c), Some(a), None]);
        assert_eq!(likes.targets(a).collect::<Vec<_>>(), [b, c, a]);
        assert_eq!(likes.targets(a).len(), 3);
        assert_eq!((likes.target_count(a), likes.target_count(c)), (3, 0));
        assert_eq!(likes.sources(b).collect::<BTreeSet<_>>(), [a, d].into());
        assert_eq!((likes.source_count(b), likes.source_count(d)), (2, 0));
        assert_eq!((likes.len(), likes.is_empty()), (5, false));
        assert_eq!(likes.iter().collect::<BTreeSet<_>>(), [(a, b), (a, c), (a, a), (d, b), (b, c)].into());
        assert_eq!((likes.get(a, b).is_some(), likes.ticks(a, b)), (false, None));
        assert_eq!((eats.get(a, b), eats.get(b, a), eats.get(a, c)), (Some(&Eats { grams: 5 }), None, None));
        assert_eq!((marks.len(), marks.has_any(a), marks.target(a), marks.depth(a)), (0, false, None, None));
    };
    check(&world.pairs(), &world.pairs(), &world.pairs());
    let system =
        move |likes: Pairs<Likes>, eats: Pairs<Eats>, marks: Pairs<Marks>| check(&likes, &eats, &marks);
    world.run_system_once(system).unwrap();
    let likes = world.entity_of::<Likes>();
    let eats = world.entity_of::<Eats>();
    assert_eq!(world.pairs_of(a), [(likes, b), (likes, c), (likes, a), (eats, b)]);
    let mut to_b = world.pairs_to(b);
    to_b.sort_unstable();
    let mut expected = vec![(a, likes), (d, likes), (a, eats)];
    expected.sort_unstable();
    assert_eq!(to_b, expected);
    for (source, pair, there) in [
        (a, PairId::new(likes, b), true),
        (a, PairId::with_relation(eats), true),
        (d, PairId::with_relation(eats), false),
        (b, PairId::with_target(c), true),
        (b, PairId::with_target(b), false),
        (b, PairId::ALL, true),
        (c, PairId::ALL, false),
        (a, PairId::new(Slot::Any, Slot::Any), true),
        (c, PairId::new(likes, Slot::Any), false),
    ] {
        assert_eq!(world.has_pair_by_id(source, pair), there, "{source} {pair}");
    }
}

#[test]
fn reading_a_world_without_any_pair_finds_nothing() {
    let mut world = World::new();
    let [a] = spawn(&mut world);
    let likes = world.pairs::<Likes>();
    assert!(!likes.has(a, a) && likes.is_empty() && likes.targets(a).next().is_none() && likes.root(a) == a);
    assert!(
        likes.descendants(a).next().is_none() && likes.ancestors(a).next().is_none() && likes.version() == 0
    );
    assert!(
        !world.has_pair_by_id(a, PairId::ALL) && world.pairs_of(a).is_empty() && world.pairs_to(a).is_empty()
    );
    assert!(world.pairs_by_id(a).is_empty() && world.tags(a).next().is_none() && !world.has_tag(a, a));
    assert!(world.traits_of(a).is_none() && world.get_entity_of::<Likes>().is_none());
    assert!(!world.remove_pair::<Likes>(a, a));
    assert_eq!((world.remove_pairs::<Likes>(a), world.remove_pairs_everywhere(PairId::ALL)), (0, 0));
    world.clear_pairs();
    world.check_pairs().unwrap();
}

#[test]
fn targets_keep_insertion_order_across_removals_among_many() {
    for many in [3, 16, 17, 18, 64, 65, 130, 1500] {
        let mut world = World::new();
        let r = relation(&mut world, RelationTraits::new());
        let [source] = spawn(&mut world);
        let all: Vec<Entity> = (0..many).map(|_| world.spawn_empty().id()).collect();
        for &target in &all {
            world.insert_pair_by_id(source, (r, target)).unwrap();
        }
        let mut expected = all.clone();
        let compare = |world: &World, expected: &[Entity]| {
            let view = world.pairs_by_id(r);
            assert_eq!(targets(world, r, source), expected);
            assert_eq!(
                (view.target(source), view.target_count(source)),
                (expected.first().copied(), expected.len())
            );
            for nth in
                [0, 1, 2, 15, 16, 17, 63, 64, 65, 700, expected.len().saturating_sub(1), expected.len()]
            {
                assert_eq!(view.nth_target(source, nth), expected.get(nth).copied(), "{nth} of {many}");
            }
            assert!(all.iter().all(|target| view.has(source, *target) == expected.contains(target)));
            world.check_pairs().unwrap();
        };
        compare(&world, &expected);
        for step in 0..many - 1 {
            let gone = expected.remove((step * 7919) % expected.len());
            assert_eq!(world.remove_pairs_by_id(source, PairId::new(r, gone)), 1);
            if step % 3 == 0 {
                world.insert_pair_by_id(source, (r, gone)).unwrap();
                expected.push(gone);
            }
            if step < 40 || step % 97 == 0 {
                compare(&world, &expected);
            }
        }
        compare(&world, &expected);
        world.remove_pairs_by_id(source, PairId::with_relation(r));
        compare(&world, &[]);
        world.insert_pair_by_id(source, (r, all[1])).unwrap();
        compare(&world, &[all[1]]);
    }
}

#[test]
fn a_target_with_many_sources_loses_the_right_ones() {
    let mut world = World::new();
    let [target] = spawn(&mut world);
    let all: Vec<Entity> = (0..1500).map(|_| world.spawn_empty().id()).collect();
    for (number, &source) in (0..).zip(&all) {
        world.insert_pair(source, Eats { grams: number }, target).unwrap();
    }
    for &source in all.iter().step_by(3) {
        world.remove_pair::<Eats>(source, target);
    }
    world.check_pairs().unwrap();
    for (number, &source) in (0_u32..).zip(&all) {
        let expected = (number % 3 != 0).then_some(number);
        assert_eq!(world.pair_value::<Eats>(source, target).map(|eats| eats.grams), expected);
    }
    world.despawn(target);
    world.check_pairs().unwrap();
    assert!(world.pairs::<Eats>().is_empty());
}

#[test]
fn an_entity_can_have_pairs_of_hundreds_of_relations() {
    for many in [65, 230] {
        let mut world = World::new();
        let [a, b] = spawn(&mut world);
        let relations: Vec<Entity> = (0..many).map(|_| relation(&mut world, RelationTraits::new())).collect();
        for &r in &relations {
            world.insert_pair_by_id(a, (r, b)).unwrap();
            assert!(world.has_pair_by_id(a, PairId::new(r, b)));
        }
        assert_eq!((world.pairs_of(a).len(), world.pairs_to(b).len()), (many, many));
        world.check_pairs().unwrap();
        world.remove_pairs_by_id(a, PairId::new(relations[many - 1], Slot::Wildcard));
        world.despawn(relations[many - 2]);
        world.despawn(relations[1]);
        assert_eq!(world.pairs_of(a).len(), many - 3);
        // Their numbers are used again.
        for _ in 0..4 {
            let r = relation(&mut world, RelationTraits::new().exclusive());
            assert!(!world.has_pair_by_id(a, PairId::with_relation(r)));
            world.insert_pair_by_id(a, (r, a)).unwrap();
        }
        assert!(world.has_pair_by_id(a, PairId::with_target(b)));
        world.check_pairs().unwrap();
        world.despawn(b);
        assert_eq!(world.pairs_of(a).len(), 4);
        world.check_pairs().unwrap();
    }
}

#[test]
fn an_index_that_is_used_again_has_no_pairs_and_the_old_handle_reads_nothing() {
    let mut world = World::new();
    let [old, other] = spawn(&mut world);
    let single = relation(&mut world, RelationTraits::new().exclusive().traversable());
    world.insert_pair(old, Likes, other).unwrap();
    world.insert_pair(other, Likes, old).unwrap();
    world.insert_pair(old, Eats { grams: 1 }, other).unwrap();
    world.insert_pair_by_id(old, (single, other)).unwrap();
    world.insert_tag(old, other).unwrap();
    world.despawn(old);
    let new = reuse_index(&mut world, old);
    let nothing = |world: &World, entity: Entity| {
        assert!(world.pairs_of(entity).is_empty() && world.pairs_to(entity).is_empty());
        let likes = world.pairs::<Likes>();
        assert!(!likes.has_any(entity) && !likes.is_target(entity) && likes.target(entity).is_none());
        assert!(world.pairs_by_id(single).target(entity).is_none() && !world.has_tag(entity, other));
        assert_eq!(world.pairs_by_id(single).depth(entity), Some(0));
    };
    nothing(&world, new);
    for (source, target) in [(new, other), (other, new)] {
        world.insert_pair(source, Likes, target).unwrap();
    }
    world.insert_pair(new, Eats { grams: 2 }, other).unwrap();
    world.insert_pair_by_id(new, (single, other)).unwrap();
    world.insert_tag(new, other).unwrap();
    nothing(&world, old);
    assert_eq!(world.pair_value::<Eats>(old, other), None);
    assert!(!world.remove_pair::<Likes>(old, other) && !world.remove_pair::<Likes>(other, old));
    assert_eq!(world.remove_pairs_by_id(old, PairId::ALL), 0);
    assert_eq!(world.remove_pairs_everywhere(PairId::with_target(old)), 0);
    assert_eq!(world.pairs_of(new).len(), 3);
    world.check_pairs().unwrap();
}

#[test]
fn the_four_rules_say_what_a_pair_carries() {
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    let plain = relation(&mut world, RelationTraits::new());
    // 1: neither element is a type with fields.
    world.insert_pair_to::<Begin, Marker>(a, ()).unwrap();
    world.insert_pair(a, Begin, b).unwrap();
    // 2: the relation is declared a tag.
    world.insert_pair_to::<Marks, Velocity>(a, ()).unwrap();
    // 3: the relation is a type with fields, whatever the target is.
    world.insert_pair_to::<Eats, Marker>(a, Eats { grams: 1 }).unwrap();
    world.insert_pair_to::<Eats, Velocity>(a, Eats { grams: 2 }).unwrap();
    world.insert_pair_to::<Eats, Velocity>(b, Velocity(1)).unwrap_err();
    // 4: the target is.
    world.insert_pair_to::<Begin, Velocity>(a, Velocity(3)).unwrap();
    world.insert_pair_to::<Begin, Eats>(a, Eats { grams: 4 }).unwrap();
    world.insert_pair_to::<Begin, Velocity>(b, ()).unwrap_err();
    let [marker, velocity] = [world.entity_of::<Marker>(), world.entity_of::<Velocity>()];
    let [begin, eats, marks] =
        [world.entity_of::<Begin>(), world.entity_of::<Eats>(), world.entity_of::<Marks>()];
    world.insert_pair_value_by_id(a, (plain, velocity), Velocity(5)).unwrap();
    let velocity_of = |r| world.pair_value_by_id::<Velocity>(a, (r, velocity)).map(|velocity| velocity.0);
    let grams_of = |r, target| world.pair_value_by_id::<Eats>(a, (r, target)).map(|eats| eats.grams);
    assert_eq!([begin, plain, marks].map(velocity_of), [Some(3), Some(5), None]);
    assert_eq!([marker, velocity].map(|target| grams_of(eats, target)), [Some(1), Some(2)]);
    assert_eq!((grams_of(begin, eats), grams_of(begin, marker)), (Some(4), None));
    assert_eq!(world.pairs_of(b), []);
    assert_eq!(world.pair_value_by_id::<u32>(a, (begin, velocity)), None, "of another type");
    world.check_pairs().unwrap();
}

#[test]
fn one_component_type_can_be_on_an_entity_many_times() {
    let mut world = World::new();
    let [a, first, second] = spawn(&mut world);
    for (x, target) in [(1, first), (2, second), (3, a), (4, first)] {
        world.insert_pair(a, Position { x }, target).unwrap();
    }
    world.entity_mut(a).insert(Position { x: 9 });
    let x = |target| world.pair_value::<Position>(a, target).map(|position| position.x);
    assert_eq!([first, second, a].map(x), [Some(4), Some(2), Some(3)]);
    assert_eq!(world.get::<Position>(a).map(|position| position.x), Some(9));
    world.check_pairs().unwrap();
}

/// "the relation is a type with fields: that type".
#[test]
fn a_component_that_is_no_relation_type_can_be_the_first_element_too() {
    let mut world = World::new();
    let velocity = world.entity_of::<Velocity>();
    let [a, first, second] = spawn(&mut world);
    world.insert_pair_value_by_id(a, (velocity, first), Velocity(1)).unwrap();
    world.insert_pair_value_by_id(a, (velocity, second), Velocity(2)).unwrap();
    let value = |target| world.pair_value_by_id::<Velocity>(a, (velocity, target)).map(|velocity| velocity.0);
    assert_eq!([first, second].map(value), [Some(1), Some(2)]);
    world.check_pairs().unwrap();
}

#[test]
fn an_entity_made_for_a_name_in_traits_stands_for_the_type_with_its_fields() {
    let mut world = World::new();
    let r = relation(&mut world, RelationTraits::new().one_of_type::<Velocity>());
    let plain = relation(&mut world, RelationTraits::new());
    assert_eq!(world.traits_of(r).map(RelationTraits::names), Some(vec!["one_of"]));
    let [a] = spawn(&mut world);
    let velocity = world.get_entity_of::<Velocity>().unwrap();
    // Whether that is allowed or not, asking for the entity must not change what the pair carries.
    let without = world.insert_pair_by_id(a, (plain, velocity)).is_ok();
    assert_eq!(world.entity_of::<Velocity>(), velocity);
    world.check_pairs().unwrap();
    assert!(!without, "(plain, Velocity) carries a Velocity");
}

#[test]
fn the_entity_of_a_relation_type_can_be_asked_for_before_its_first_use() {
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    let eats = world.entity_of::<Eats>();
    world.insert_pair_to::<Begin, Eats>(a, Eats { grams: 1 }).unwrap();
    world.insert_pair(a, Eats { grams: 2 }, b).unwrap();
    assert_eq!(world.entity_of::<Eats>(), eats);
    assert_eq!(world.get_entity_of::<Eats>(), Some(eats));
    let begin = world.entity_of::<Begin>();
    assert_eq!(world.pair_value_by_id::<Eats>(a, (begin, eats)), Some(&Eats { grams: 1 }));
    assert_eq!(world.pair_value_by_id::<Eats>(a, (eats, b)), Some(&Eats { grams: 2 }));
    world.check_pairs().unwrap();
}

#[test]
fn the_nearest_holder_of_a_component_is_found_upwards_self_first() {
    let mut world = World::new();
    let [root, middle, leaf, other] = spawn(&mut world);
    world.entity_mut(root).insert(Marker);
    for (source, target) in [(leaf, other), (leaf, middle), (middle, root)] {
        world.insert_pair(source, Likes, target).unwrap();
    }
    assert_eq!(
        world.target_with::<Likes, Marker>(leaf),
        Some(root),
        "what the first target leads to is in vain"
    );
    world.entity_mut(middle).insert(Marker);
    world.insert_pair(other, Likes, root).unwrap();
    assert_eq!(world.target_with::<Likes, Marker>(leaf), Some(root), "far by way of the first target");
    world.remove_pair::<Likes>(leaf, other);
    assert_eq!(world.target_with::<Likes, Marker>(leaf), Some(middle));
    world.entity_mut(middle).remove::<Marker>();
    world.remove_pair::<Likes>(other, root);
    assert_eq!(world.target_with::<Likes, Marker>(leaf), Some(root));
    world.entity_mut(leaf).insert(Marker);
    assert_eq!(world.target_with::<Likes, Marker>(leaf), Some(leaf));
    world.insert_pair(other, Likes, other).unwrap();
    assert_eq!(world.target_with::<Likes, Marker>(other), None, "a cycle ends");
}

#[test]
fn walks_visit_each_entity_once_end_on_cycles_and_can_be_cut_short() {
    let mut world = World::new();
    let [top, left, right, bottom, below] = spawn(&mut world);
    for (source, target) in [(left, top), (right, top), (bottom, left), (bottom, right), (below, bottom)] {
        world.insert_pair(source, Likes, target).unwrap();
    }
    let likes = world.pairs::<Likes>();
    let walk: Vec<_> = likes.descendants(top).collect();
    assert_eq!(walk, [(left, 1), (bottom, 2), (below, 3), (right, 1)]);
    let mut pruned = likes.descendants(top);
    let mut met = Vec::new();
    while let Some((entity, _)) = pruned.next() {
        met.push(entity);
        if entity == left {
            pruned.prune();
        }
    }
    assert_eq!(met, [left, right, bottom, below], "what lies below a pruned entity is met another way");
    assert_eq!(likes.descendants(top).find(|&(entity, _)| entity == bottom), Some((bottom, 2)));
    assert_eq!(likes.ancestors(below).collect::<Vec<_>>(), [bottom, left, top]);
    assert_eq!((likes.root(below), likes.root(top)), (top, top));
    assert!(
        likes.is_ancestor(right, below) && !likes.is_ancestor(below, right) && !likes.is_ancestor(top, top)
    );
    world.insert_pair(top, Likes, below).unwrap();
    world.insert_pair(top, Likes, top).unwrap();
    let likes = world.pairs::<Likes>();
    assert_eq!(likes.descendants(top).count(), 4);
    assert_eq!(likes.ancestors(below).collect::<Vec<_>>(), [bottom, left, top]);
    assert!(likes.is_ancestor(top, top) && likes.is_ancestor(right, right));
}

#[test]
fn a_depth_is_one_more_than_that_of_the_deepest_target() {
    let mut world = World::new();
    let [a, b, c, d] = spawn(&mut world);
    for (source, target) in [(d, a), (c, b), (d, c), (b, a)] {
        world.insert_pair(source, PartOf, target).unwrap();
    }
    let depths = |world: &World| [a, b, c, d].map(|entity| world.pairs::<PartOf>().depth(entity));
    assert_eq!(depths(&world), [Some(0), Some(1), Some(2), Some(3)]);
    world.maintain_pairs();
    assert_eq!(depths(&world), [Some(0), Some(1), Some(2), Some(3)]);
    world.remove_pair::<PartOf>(b, a);
    assert_eq!(depths(&world), [Some(0), Some(0), Some(1), Some(2)]);
    world.remove_pair::<PartOf>(d, c);
    world.maintain_pairs();
    assert_eq!(depths(&world), [Some(0), Some(0), Some(1), Some(1)]);
    world.check_pairs().unwrap();
}

#[test]
fn ticks_say_when_a_pair_came_and_when_its_value_changed() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    world.insert_pair(a, Eats { grams: 1 }, b).unwrap();
    let ticks = |world: &World, target| world.pairs::<Eats>().ticks(a, target);
    assert_eq!(ticks(&world, b), None);
    let start = world.change_tick();
    world.track_pair_changes::<Eats>();
    assert_eq!(ticks(&world, b).map(|ticks| (ticks.inserted, ticks.changed)), Some((start, start)));
    world.increment_change_tick();
    let later = world.change_tick();
    world.insert_pair(a, Eats { grams: 2 }, b).unwrap();
    world.insert_pair(a, Eats { grams: 2 }, c).unwrap();
    assert_eq!(ticks(&world, b).map(|ticks| (ticks.inserted, ticks.changed)), Some((start, later)));
    assert_eq!(ticks(&world, c).map(|ticks| (ticks.inserted, ticks.changed)), Some((later, later)));
    world.remove_pair::<Eats>(a, b);
    assert_eq!((ticks(&world, b), ticks(&world, c).is_some()), (None, true));
    world.check_pairs().unwrap();
}

#[test]
fn tracking_outlives_later_traits() {
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    world.track_pair_changes::<Likes>();
    let likes = world.entity_of::<Likes>();
    world.set_traits(likes, RelationTraits::new().ordered()).unwrap();
    world.insert_pair(a, Likes, b).unwrap();
    assert!(world.pairs::<Likes>().ticks(a, b).is_some());
}

#[test]
fn a_version_never_comes_back() {
    let mut world = World::new();
    let r = relation(&mut world, RelationTraits::new().ordered());
    let [a, b, c] = spawn(&mut world);
    let mut seen = vec![world.pairs_by_id(r).version()];
    let mut changed = |world: &mut World, change: &dyn Fn(&mut World)| {
        change(world);
        let version = world.pairs_by_id(r).version();
        assert!(seen.iter().all(|&earlier| earlier < version), "{version} after {seen:?}");
        seen.push(version);
    };
    changed(&mut world, &|world| world.insert_pair_by_id(a, (r, c)).unwrap());
    changed(&mut world, &|world| world.insert_pair_by_id(b, (r, c)).unwrap());
    changed(&mut world, &|world| world.order_sources_by_id(r, c, &[b, a]).unwrap());
    let version = world.pairs_by_id(r).version();
    world.insert_pair_by_id(a, (r, c)).unwrap();
    world.remove_pairs_by_id(c, PairId::ALL);
    assert_eq!(world.pairs_by_id(r).version(), version, "nothing has changed");
    changed(&mut world, &|world| assert_eq!(world.remove_pairs_by_id(a, PairId::ALL), 1));
    changed(&mut world, &World::clear_pairs);
    world.set_traits(r, RelationTraits::new().exclusive()).unwrap();
    changed(&mut world, &|world| world.insert_pair_by_id(a, (r, b)).unwrap());
    changed(&mut world, &|world| assert!(world.despawn(b)));
}

#[test]
fn topology_reads_see_disabled_entities() {
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Eats { grams: 1 }, b).unwrap();
    let child = world.spawn((ChildOf(b), Disabled)).id();
    world.entity_mut(a).insert(Disabled);
    world.entity_mut(b).insert((Disabled, Prefab));
    let system = move |eats: Pairs<Eats>, tree: Pairs<ChildOf>| {
        assert!(eats.has(a, b) && eats.get(a, b).is_some() && eats.sources(b).eq([a]));
        assert!(tree.sources(b).eq([child]) && tree.target(child) == Some(b) && tree.depth(child) == Some(1));
    };
    world.run_system_once(system).unwrap();
    world.check_pairs().unwrap();
}

#[test]
fn moving_or_retaining_components_keeps_pairs_and_clearing_removes_them() {
    let mut world = world_that_records_errors();
    let [b, c] = spawn(&mut world);
    let a = world.spawn((Marker, Velocity(1), Pair(Likes, b))).id();
    world.insert_pair(c, Likes, a).unwrap();
    let kept = |world: &World| world.has_pair::<Likes>(a, b) && world.has_pair::<Likes>(c, a);
    world.entity_mut(a).retain::<Marker>();
    assert!(kept(&world), "retain one of two");
    world.entity_mut(a).insert(Velocity(1)).move_components::<Velocity>(b);
    assert!(kept(&world), "move");
    assert!(world.entity_mut(a).take::<Marker>().is_some() && kept(&world), "take the last");
    // Retaining nothing is what clearing is: Bevy does the same.
    world.check_pairs().unwrap();
    world.entity_mut(a).clear();
    assert!(!world.has_pair::<Likes>(a, b) && world.has_pair::<Likes>(c, a));
    world.check_pairs().unwrap();
    world.despawn(a);
    assert!(world.pairs_of(c).is_empty());
    world.check_pairs().unwrap();
}

#[test]
fn clearing_removes_pairs_although_an_observer_inserts_something_meanwhile() {
    let mut world = World::new();
    let [b] = spawn(&mut world);
    let a = world.spawn((Marker, Pair(Likes, b))).id();
    world.add_observer(|on: On<Remove<Marker>>, mut commands: Commands| {
        commands.entity(on.entity).insert(Velocity(0));
    });
    world.entity_mut(a).clear();
    assert!(world.get::<Velocity>(a).is_some() && !world.has_pair::<Likes>(a, b));
    world.check_pairs().unwrap();
}

#[test]
fn relations_and_types_can_be_at_any_place_of_a_pair_and_carry_tags() {
    let mut world = world_that_records_errors();
    let likes = world.register_relation::<Likes>().unwrap();
    let velocity = world.entity_of::<Velocity>();
    let [r, tag] = spawn(&mut world);
    world.insert_pair_by_id(r, (r, r)).unwrap();
    world.insert_pair_by_id(likes, (r, velocity)).unwrap_err();
    world.insert_pair_by_id(velocity, (r, likes)).unwrap();
    world.insert_pair(r, Likes, likes).unwrap();
    world.insert_tag(velocity, tag).unwrap();
    world.insert_tag(tag, tag).unwrap();
    world.check_pairs().unwrap();
    assert_eq!(targets(&world, r, velocity), [likes]);
    assert_eq!(sources(&world, likes, likes), [r]);
    assert!(world.has_tag(velocity, tag) && world.has_tag(tag, tag));
    world.despawn(r);
    world.despawn(tag);
    world.check_pairs().unwrap();
    assert!(world.pairs_of(velocity).is_empty() && world.tags(velocity).next().is_none());
}
