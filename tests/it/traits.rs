//! Every relation trait: what it does, and what it refuses.

use crate::common::{all_entities, refused, relation, sources, spawn, targets, world_that_records_errors};
use bevy_ecs::prelude::*;
use bevy_relations::{
    error::{InsertPairError, ReorderError, TraitConflict, TraitsError},
    id::Slot,
    prelude::*,
    relation::{OnInstantiate, SlotOf},
};

/// A relation whose pairs carry a value.
#[derive(Relation, Clone, Debug, PartialEq)]
#[relation(symmetric)]
struct Borders {
    length: u32,
}

#[derive(Relation)]
#[relation(exclusive, symmetric)]
struct MarriedTo;

#[derive(Relation)]
#[relation(with(Knows, Respects))]
struct Befriends;

#[derive(Relation)]
#[relation(with = HasSeen)]
struct Knows;

#[derive(Relation)]
struct Respects;

#[derive(Relation)]
struct HasSeen;

#[derive(Relation)]
#[relation(with = WithB)]
struct WithA;

#[derive(Relation)]
#[relation(with = WithA)]
struct WithB;

#[derive(Component)]
struct Position {
    #[expect(dead_code, reason = "only its type matters")]
    x: f32,
}

fn conflict(error: TraitsError) -> TraitConflict {
    match error {
        TraitsError::Conflict { conflict, .. } => conflict,
        other => panic!("not a conflict: {other}"),
    }
}

#[test]
fn an_exclusive_relation_keeps_only_the_last_target() {
    for traits in [RelationTraits::new().exclusive(), RelationTraits::new().union()] {
        let mut world = World::new();
        let r = relation(&mut world, traits);
        let [a, b, c] = spawn(&mut world);
        for target in [b, c, c, a, b] {
            world.insert_pair_by_id(a, (r, target)).unwrap();
            assert_eq!(targets(&world, r, a), [target]);
            assert_eq!(world.pairs_by_id(r).len(), 1);
            world.check_pairs().unwrap();
        }
        assert!(sources(&world, r, c).is_empty());
        assert_eq!(
            world.remove_pairs_by_id(a, PairId::new(r, c)),
            0,
            "removal by the target it no longer has"
        );
        assert_eq!(world.remove_pairs_by_id(a, PairId::new(r, b)), 1);
    }
}

#[test]
fn union_is_cleaned_up_like_exclusive() {
    let mut world = World::new();
    let r = relation(&mut world, RelationTraits::new().union());
    let [a, b] = spawn(&mut world);
    world.insert_pair_by_id(a, (r, b)).unwrap();
    world.despawn(b);
    assert!(!world.pairs_by_id(r).has_any(a));
    world.check_pairs().unwrap();
}

#[test]
fn a_symmetric_pair_comes_and_goes_in_both_directions() {
    let mut world = World::new();
    let r = relation(&mut world, RelationTraits::new().symmetric());
    let [a, b, c] = spawn(&mut world);
    let pairs = |world: &World| world.pairs_by_id(r).len();
    world.insert_pair_by_id(a, (r, b)).unwrap();
    world.insert_pair_by_id(a, (r, c)).unwrap();
    world.insert_pair_by_id(a, (r, a)).unwrap();
    assert_eq!((targets(&world, r, b), targets(&world, r, c), pairs(&world)), (vec![a], vec![a], 5));
    assert_eq!(world.remove_pairs_by_id(b, PairId::new(r, a)), 1);
    assert_eq!((targets(&world, r, a), pairs(&world)), (vec![c, a], 3));
    world.insert_pair_by_id(b, (r, a)).unwrap();
    world.remove_pairs_by_id(a, PairId::with_relation(r));
    assert_eq!(pairs(&world), 0, "(R, *)");
    for pair in [PairId::with_target(a), PairId::ALL] {
        world.insert_pair_by_id(a, (r, b)).unwrap();
        world.insert_pair_by_id(c, (r, a)).unwrap();
        world.remove_pairs_everywhere(pair);
        assert_eq!(pairs(&world), 0, "{pair}");
        world.check_pairs().unwrap();
    }
}

#[test]
fn an_exclusive_symmetric_pair_releases_both_former_partners() {
    let mut world = World::new();
    let [a, b, c, d] = spawn(&mut world);
    world.insert_pair(a, MarriedTo, b).unwrap();
    world.insert_pair(c, MarriedTo, d).unwrap();
    world.insert_pair(b, MarriedTo, c).unwrap();
    let partner = |world: &World, of| world.pairs::<MarriedTo>().target(of);
    assert_eq!([a, b, c, d].map(|entity| partner(&world, entity)), [None, Some(c), Some(b), None]);
    // Each to themselves, and back.
    world.insert_pair(b, MarriedTo, b).unwrap();
    assert_eq!([b, c].map(|entity| partner(&world, entity)), [Some(b), None]);
    world.insert_pair(d, MarriedTo, b).unwrap();
    assert_eq!([b, d].map(|entity| partner(&world, entity)), [Some(d), Some(b)]);
    world.check_pairs().unwrap();
}

#[test]
fn both_directions_of_a_symmetric_data_pair_have_one_value() {
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Borders { length: 1 }, b).unwrap();
    let lengths = |world: &World| {
        [(a, b), (b, a)]
            .map(|(source, target)| world.pair_value::<Borders>(source, target).map(|value| value.length))
    };
    assert_eq!(lengths(&world), [Some(1); 2]);
    world.insert_pair(b, Borders { length: 2 }, a).unwrap();
    assert_eq!(lengths(&world), [Some(2); 2]);
    world.insert_pair(a, Borders { length: 3 }, a).unwrap();
    assert_eq!(lengths(&world), [Some(2); 2]);
    world.check_pairs().unwrap();
    world.remove_pair::<Borders>(b, a);
    assert_eq!(lengths(&world), [None; 2]);
    world.check_pairs().unwrap();
    // A row that was given back once must not be given out twice.
    let [c, d] = spawn(&mut world);
    world.insert_pair(a, Borders { length: 4 }, b).unwrap();
    world.insert_pair(c, Borders { length: 5 }, d).unwrap();
    assert_eq!(lengths(&world), [Some(4); 2]);
    world.despawn(c);
    world.check_pairs().unwrap();
}

#[test]
fn a_symmetric_pair_with_a_type_has_one_value_in_both_directions() {
    let mut world = World::new();
    let r = relation(&mut world, RelationTraits::new().symmetric());
    let position = world.entity_of::<Position>();
    let [a] = spawn(&mut world);
    world.insert_pair_value_by_id(a, (r, position), Position { x: 1.0 }).unwrap();
    world.check_pairs().unwrap();
    assert!(world.pair_value_by_id::<Position>(a, (r, position)).is_some());
    assert!(world.pair_value_by_id::<Position>(position, (r, a)).is_some());
}

#[test]
fn transitive_reflexive_and_other_facts_can_be_read() {
    let mut world = World::new();
    let traits = RelationTraits::new().transitive().reflexive().transient().ordered();
    let r = relation(&mut world, traits.clone());
    assert_eq!(world.traits_of(r), Some(&traits));
    let names = world.traits_of(r).unwrap().names();
    assert_eq!(names, ["transitive", "reflexive", "acyclic", "traversable", "ordered", "transient"]);
    let [a, b, c] = spawn(&mut world);
    world.insert_pair_by_id(a, (r, b)).unwrap();
    world.insert_pair_by_id(b, (r, c)).unwrap();
    let view = world.pairs_by_id(r);
    assert!(!view.has(a, c) && !view.has(a, a), "reads see stored pairs only");
    assert_eq!(view.depth(a), Some(2), "transitive implies traversable");
}

#[test]
fn depths_exist_for_traversable_relations_only() {
    let mut world = World::new();
    let [walked, acyclic] = [RelationTraits::new().traversable(), RelationTraits::new().acyclic()]
        .map(|traits| relation(&mut world, traits));
    let [a, b] = spawn(&mut world);
    for r in [walked, acyclic] {
        world.insert_pair_by_id(a, (r, b)).unwrap();
        assert!(matches!(world.insert_pair_by_id(b, (r, a)), Err(InsertPairError::Cycle { .. })));
    }
    assert_eq!(world.pairs_by_id(walked).depth(a), Some(1));
    assert_eq!(world.pairs_by_id(acyclic).depth(a), None);
}

#[test]
fn a_cycle_is_refused_at_any_depth_with_its_path() {
    let mut world = World::new();
    let r = relation(&mut world, RelationTraits::new().acyclic());
    let chain: [Entity; 500] = spawn(&mut world);
    for two in chain.windows(2) {
        world.insert_pair_by_id(two[0], (r, two[1])).unwrap();
    }
    for end in [0, 1, 2, 10, 499] {
        let (source, target) = (chain[end], chain[0]);
        let error = refused(&mut world, |world| world.insert_pair_by_id(source, (r, target)));
        let InsertPairError::Cycle { path, pair } = error else { panic!("{error}") };
        assert_eq!((pair.source_entity.entity(), pair.target.entity()), (source, target));
        let mut expected = vec![source];
        expected.extend(&chain[..=end]);
        assert_eq!(path.entities(), expected);
    }
}

#[test]
fn a_cycle_through_a_second_target_is_refused() {
    let mut world = World::new();
    let r = relation(&mut world, RelationTraits::new().acyclic());
    let [a, b, c, d] = spawn(&mut world);
    for (source, target) in [(a, b), (a, c), (c, d)] {
        world.insert_pair_by_id(source, (r, target)).unwrap();
    }
    let error = refused(&mut world, |world| world.insert_pair_by_id(d, (r, a)));
    let InsertPairError::Cycle { path, .. } = error else { panic!("{error}") };
    assert_eq!(path.entities(), [d, a, c, d]);
    world.insert_pair_by_id(d, (r, b)).unwrap();
}

#[test]
fn an_exclusive_acyclic_relation_can_be_turned_around_in_two_steps() {
    let mut world = World::new();
    let r = relation(&mut world, RelationTraits::new().acyclic().exclusive());
    let [a, b, c] = spawn(&mut world);
    world.insert_pair_by_id(a, (r, b)).unwrap();
    refused(&mut world, |world| world.insert_pair_by_id(b, (r, a)));
    world.insert_pair_by_id(a, (r, c)).unwrap();
    world.insert_pair_by_id(b, (r, a)).unwrap();
    world.check_pairs().unwrap();
}

#[test]
fn nothing_inherits_from_what_is_final() {
    let mut world = World::new();
    let [instance, last] = spawn(&mut world);
    world.set_traits(last, RelationTraits::new().is_final()).unwrap();
    let error = refused(&mut world, |world| world.insert_pair(instance, IsA, last));
    assert!(matches!(error, InsertPairError::Final { .. }), "{error}");
}

#[test]
fn components_are_final_unless_made_inheritable_and_relation_types_are_not() {
    let mut world = World::new();
    let [instance] = spawn(&mut world);
    let position = world.entity_of::<Position>();
    let error = refused(&mut world, |world| world.insert_pair(instance, IsA, position));
    assert!(matches!(error, InsertPairError::Final { .. }), "{error}");
    world.set_traits(position, RelationTraits::new().inheritable()).unwrap();
    world.insert_pair(instance, IsA, position).unwrap();
    let likes = world.register_relation::<Respects>().unwrap();
    world.insert_pair(instance, IsA, likes).unwrap();
    world.check_pairs().unwrap();
}

#[test]
fn an_entity_with_a_subtype_can_no_longer_become_final() {
    let mut world = World::new();
    let [instance, base] = spawn(&mut world);
    world.insert_pair(instance, IsA, base).unwrap();
    let error = refused(&mut world, |world| world.set_traits(base, RelationTraits::new().is_final()));
    assert!(matches!(error, TraitsError::Frozen { .. }), "{error}");
}

#[test]
fn one_of_accepts_children_of_the_relation_only() {
    let mut world = World::new();
    let r = relation(&mut world, RelationTraits::new().one_of());
    let [source, stranger] = spawn(&mut world);
    let child = world.spawn(ChildOf(r)).id();
    let grandchild = world.spawn(ChildOf(child)).id();
    world.insert_pair_by_id(source, (r, child)).unwrap();
    for target in [stranger, grandchild, r, source] {
        let error = refused(&mut world, |world| world.insert_pair_by_id(source, (r, target)));
        assert!(matches!(&error, InsertPairError::NotOneOf { parent, .. } if *parent == r), "{error}");
    }
    // Checked at insertion only.
    world.entity_mut(child).remove::<ChildOf>();
    assert!(world.pairs_by_id(r).has(source, child));
    world.check_pairs().unwrap();
}

#[test]
fn one_of_may_name_another_parent() {
    let mut world = World::new();
    let [source, colours] = spawn(&mut world);
    let of_type = world.entity_of::<Position>();
    let by_id = relation(&mut world, RelationTraits::new().one_of_id(colours));
    let by_type = relation(&mut world, RelationTraits::new().one_of_type::<Position>());
    for (r, parent) in [(by_id, colours), (by_type, of_type)] {
        let child = world.spawn(ChildOf(parent)).id();
        let other = world.spawn(ChildOf(r)).id();
        world.insert_pair_by_id(source, (r, child)).unwrap();
        let error = refused(&mut world, |world| world.insert_pair_by_id(source, (r, other)));
        assert!(
            matches!(&error, InsertPairError::NotOneOf { parent: named, .. } if *named == parent),
            "{error}"
        );
    }
}

#[test]
fn with_brings_relations_along_recursively_with_the_same_target() {
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Befriends, b).unwrap();
    assert!(
        world.has_pair::<Knows>(a, b) && world.has_pair::<Respects>(a, b) && world.has_pair::<HasSeen>(a, b)
    );
    assert_eq!(world.pairs_of(a).len(), 4);
    world.remove_pair::<Befriends>(a, b);
    assert_eq!(world.pairs_of(a).len(), 3, "removal is not mirrored");
    world.check_pairs().unwrap();
}

#[test]
fn with_brings_tags_along_with_a_tag() {
    let mut world = World::new();
    let [source, third] = spawn(&mut world);
    let second = relation(&mut world, RelationTraits::new().with_id(third));
    let first = relation(&mut world, RelationTraits::new().with_id(second));
    world.insert_tag(source, first).unwrap();
    assert!([first, second, third].iter().all(|&tag| world.has_tag(source, tag)));
    assert!(world.pairs_of(source).is_empty());
    world.remove_tag(source, first);
    assert!(world.has_tag(source, second));
    world.check_pairs().unwrap();
}

#[test]
fn with_brings_tags_along_also_after_other_tags() {
    let mut world = World::new();
    let [source, plain, companion] = spawn(&mut world);
    let tag = relation(&mut world, RelationTraits::new().with_id(companion));
    for first in [plain, companion] {
        world.insert_tag(source, first).unwrap();
        world.remove_tag(source, first);
    }
    world.insert_tag(plain, tag).unwrap();
    world.remove_pairs_everywhere(PairId::ALL);
    world.insert_tag(source, tag).unwrap();
    assert_eq!(world.tags(source).collect::<Vec<_>>(), [tag, companion]);
}

#[test]
fn a_pair_whose_companion_is_refused_is_refused_as_a_whole() {
    let mut world = World::new();
    let acyclic = relation(&mut world, RelationTraits::new().acyclic());
    let loud = relation(&mut world, RelationTraits::new().with_id(acyclic).exclusive());
    let [a, b, c] = spawn(&mut world);
    world.insert_pair_by_id(a, (loud, b)).unwrap();
    world.insert_pair_by_id(b, (loud, c)).unwrap();
    let error = refused(&mut world, |world| world.insert_pair_by_id(b, (loud, a)));
    assert!(matches!(error, InsertPairError::Cycle { .. }), "{error}");
}

/// "inserting (R,Y) on X inserts (R,X) on Y" and "inserting the relation inserts the other as well, with the
/// same target for a pair".
#[test]
fn with_applies_to_both_directions_of_a_symmetric_pair() {
    let mut world = World::new();
    let companion = relation(&mut world, RelationTraits::new());
    let r = relation(&mut world, RelationTraits::new().symmetric().with_id(companion));
    let [a, b] = spawn(&mut world);
    world.insert_pair_by_id(a, (r, b)).unwrap();
    assert_eq!((targets(&world, companion, a), targets(&world, companion, b)), (vec![b], vec![a]));
    // Both directions of an acyclic companion would be a cycle.
    let acyclic = relation(&mut world, RelationTraits::new().acyclic());
    let r = relation(&mut world, RelationTraits::new().symmetric().with_id(acyclic));
    let error = refused(&mut world, |world| world.insert_pair_by_id(a, (r, b)));
    assert!(matches!(error, InsertPairError::Cycle { .. }), "{error}");
}

#[test]
fn both_directions_of_a_companion_kept_in_a_component_are_a_cycle() {
    let mut world = World::new();
    let child_of = world.entity_of::<ChildOf>();
    let r = relation(&mut world, RelationTraits::new().symmetric().with_id(child_of));
    let [a, b] = spawn(&mut world);
    let error = refused(&mut world, |world| world.insert_pair_by_id(a, (r, b)));
    assert!(matches!(error, InsertPairError::Cycle { .. }), "{error}");
}

#[test]
fn a_with_that_leads_back_is_rejected_with_its_path() {
    let mut world = World::new();
    let [a, b, c] = ["A", "B", "C"].map(|name| world.spawn_relation(name, RelationTraits::new()).unwrap());
    world.set_traits(a, RelationTraits::new().with_id(b)).unwrap();
    world.set_traits(b, RelationTraits::new().with_id(c)).unwrap();
    let error = refused(&mut world, |world| world.set_traits(c, RelationTraits::new().with_id(a)));
    let TraitsError::WithCycle { path, .. } = &error else { panic!("{error}") };
    assert_eq!(path.to_string(), "C -> A -> B -> C");
    let error = refused(&mut world, |world| world.set_traits(c, RelationTraits::new().with_id(c)));
    assert!(matches!(error, TraitsError::WithCycle { .. }), "{error}");
    let [x, y] = spawn(&mut world);
    world.insert_pair_by_id(x, (c, y)).unwrap();
    assert_eq!(world.pairs_of(x).len(), 1);
}

#[test]
fn a_with_cycle_of_types_is_rejected_every_time_and_from_either_end() {
    let mut world = World::new();
    for _ in 0..2 {
        let error = world.register_relation::<WithA>().unwrap_err();
        assert!(matches!(error, TraitsError::WithCycle { .. }), "{error}");
        let error = world.register_relation::<WithB>().unwrap_err();
        assert!(matches!(error, TraitsError::WithCycle { .. }), "{error}");
    }
}

#[test]
fn a_relation_type_that_is_rejected_leaves_its_entity_alone() {
    let mut world = World::new();
    let [tag] = spawn(&mut world);
    let entity = world.entity_of::<WithA>();
    world.insert_tag(entity, tag).unwrap();
    world.register_relation::<WithA>().unwrap_err();
    assert_eq!(world.get_entity_of::<WithA>(), Some(entity));
    assert!(world.has_tag(entity, tag));
}

#[test]
fn an_ordered_relation_keeps_the_order_of_sources_across_removals() {
    let mut world = World::new();
    let r = relation(&mut world, RelationTraits::new().ordered());
    let [target] = spawn(&mut world);
    let all: [Entity; 200] = spawn(&mut world);
    let mut expected = all.to_vec();
    for &source in &all {
        world.insert_pair_by_id(source, (r, target)).unwrap();
    }
    for nth in (0..150).map(|nth| nth * 7) {
        let gone = expected.remove(nth % expected.len());
        world.remove_pairs_by_id(gone, PairId::new(r, target));
        assert_eq!(world.pairs_by_id(r).sources(target).collect::<Vec<_>>(), expected);
        world.check_pairs().unwrap();
    }
    world.insert_pair_by_id(all[0], (r, target)).unwrap();
    assert_eq!(world.pairs_by_id(r).sources(target).last(), Some(all[0]));
}

#[test]
fn sources_can_be_put_in_another_order() {
    let mut world = World::new();
    let r = world.spawn_relation("R", RelationTraits::new().ordered().data::<u32>()).unwrap();
    let [a, b, c, d, target] = spawn(&mut world);
    for (number, source) in (0_u32..).zip([a, b, c, d]) {
        world.insert_pair_value_by_id(source, (r, target), number).unwrap();
    }
    world.remove_pairs_by_id(b, PairId::new(r, target));
    world.order_sources_by_id(r, target, &[d, a, c]).unwrap();
    assert_eq!(world.pairs_by_id(r).sources(target).collect::<Vec<_>>(), [d, a, c]);
    let value = |source| world.pair_value_by_id::<u32>(source, (r, target)).copied();
    assert_eq!([a, b, c, d].map(value), [Some(0), None, Some(2), Some(3)]);
    world.check_pairs().unwrap();
    for wrong in [&[d, a][..], &[d, a, c, c], &[d, a, b], &[]] {
        let error = refused(&mut world, |world| world.order_sources_by_id(r, target, wrong));
        assert!(matches!(error, ReorderError::NotAPermutation { .. }), "{error}");
    }
}

#[test]
fn contradictory_traits_are_rejected_at_registration() {
    use CleanupPolicy::{Despawn, Refuse, Remove};
    let new = RelationTraits::new;
    let pairs = [
        (new().symmetric().acyclic(), ("symmetric", "acyclic")),
        (new().traversable().symmetric(), ("symmetric", "traversable")),
        (new().transitive().symmetric(), ("symmetric", "transitive")),
        (new().tag().data::<u32>(), ("tag", "data")),
        (new().data::<u32>().data::<u64>(), ("data", "data")),
        (new().is_final().inheritable(), ("final", "inheritable")),
        (
            new().on_target_despawn(Remove).on_target_despawn(Refuse),
            ("on_target_despawn", "on_target_despawn"),
        ),
        (
            new().on_relation_despawn(Despawn).on_relation_despawn(Refuse),
            ("on_relation_despawn", "on_relation_despawn"),
        ),
        (
            new().on_instantiate(OnInstantiate::Inherit).on_instantiate(OnInstantiate::Override),
            ("on_instantiate", "on_instantiate"),
        ),
        (new().one_of().one_of_type::<Position>(), ("one_of", "one_of")),
    ];
    let mut world = World::new();
    world.register_relation::<Knows>().unwrap();
    for (traits, (first, second)) in pairs {
        let before = all_entities(&world);
        let error = refused(&mut world, |world| world.spawn_relation("R", traits.clone()));
        assert_eq!(all_entities(&world), before);
        assert_eq!(conflict(error), TraitConflict { first, second });
        let [other] = spawn(&mut world);
        let error = refused(&mut world, |world| world.set_traits(other, traits.clone()));
        assert_eq!(conflict(error), TraitConflict { first, second });
        assert!(world.traits_of(other).is_none_or(|traits| traits.names().is_empty()));
    }
}

#[test]
fn traits_that_contradict_earlier_ones_are_rejected() {
    let mut world = World::new();
    let r = relation(&mut world, RelationTraits::new().symmetric());
    let error = refused(&mut world, |world| world.set_traits(r, RelationTraits::new().acyclic()));
    assert_eq!(conflict(error), TraitConflict { first: "symmetric", second: "acyclic" });
    assert_eq!(world.traits_of(r).unwrap().names(), ["symmetric"]);
    let borders = world.register_relation::<Borders>().unwrap();
    let error = refused(&mut world, |world| world.set_traits(borders, RelationTraits::new().tag()));
    assert_eq!(conflict(error), TraitConflict { first: "tag", second: "data" });
}

#[test]
fn traits_are_frozen_by_the_first_pair_and_free_again_when_everything_is_cleared() {
    let mut world = world_that_records_errors();
    let r = relation(&mut world, RelationTraits::new());
    let [a, b] = spawn(&mut world);
    refused(&mut world, |world| world.insert_pair_by_id(a, (r, Slot::Wildcard)));
    world.set_traits(r, RelationTraits::new().exclusive()).unwrap();
    world.insert_pair_by_id(a, (r, b)).unwrap();
    world.remove_pairs_by_id(a, PairId::ALL);
    let error = refused(&mut world, |world| world.set_traits(r, RelationTraits::new().ordered()));
    assert!(matches!(error, TraitsError::Frozen { .. }), "{error}");
    world.clear_pairs();
    world.set_traits(r, RelationTraits::new().ordered()).unwrap();
    assert_eq!(world.traits_of(r).unwrap().names(), ["exclusive", "ordered"]);
}

#[test]
fn traits_of_a_tag_are_frozen_by_its_first_use() {
    let mut world = World::new();
    let [source, tag, other] = spawn(&mut world);
    world.insert_tag(source, tag).unwrap();
    let error = refused(&mut world, |world| world.set_traits(tag, RelationTraits::new().with_id(other)));
    assert!(matches!(error, TraitsError::Frozen { .. }), "{error}");
}

#[test]
fn traits_of_a_type_entity_leave_its_data_alone() {
    let mut world = World::new();
    let r = relation(&mut world, RelationTraits::new());
    let position = world.entity_of::<Position>();
    world.set_traits(position, RelationTraits::new().is_final()).unwrap();
    let [a] = spawn(&mut world);
    world.insert_pair_value_by_id(a, (r, position), Position { x: 1.0 }).unwrap();
    assert!(world.pair_value_by_id::<Position>(a, (r, position)).is_some());
    world.check_pairs().unwrap();
}

#[test]
fn traits_of_a_type_entity_leave_the_data_of_pairs_that_exist_alone() {
    let mut world = World::new();
    let r = relation(&mut world, RelationTraits::new());
    let position = world.entity_of::<Position>();
    let [a] = spawn(&mut world);
    world.insert_pair_value_by_id(a, (r, position), Position { x: 1.0 }).unwrap();
    let _ = world.set_traits(position, RelationTraits::new().is_final());
    world.check_pairs().unwrap();
    assert!(world.pair_value_by_id::<Position>(a, (r, position)).is_some());
}

#[test]
fn the_built_in_relations_have_their_traits() {
    let mut world = World::new();
    let [is_a, child_of, slot_of] =
        [world.entity_of::<IsA>(), world.entity_of::<ChildOf>(), world.entity_of::<SlotOf>()]
            .map(|entity| world.traits_of(entity).map(RelationTraits::names).unwrap_or_default());
    for name in ["transitive", "reflexive", "acyclic", "traversable"] {
        assert!(is_a.contains(&name), "{name}");
    }
    for name in ["exclusive", "acyclic", "traversable", "on_target_despawn"] {
        assert!(child_of.contains(&name), "{name}");
    }
    assert!(slot_of.contains(&"exclusive"));
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, IsA, b).unwrap();
    for (source, target) in [(b, a), (a, a)] {
        let error = refused(&mut world, |world| world.insert_pair(source, IsA, target));
        assert!(matches!(error, InsertPairError::Cycle { .. }), "{error}");
    }
    let error = refused(&mut world, |world| {
        let child_of = world.entity_of::<ChildOf>();
        world.set_traits(child_of, RelationTraits::new().transient())
    });
    assert!(matches!(error, TraitsError::Frozen { .. }), "{error}");
}
