//! Reading over all relations, with wildcards.

use crate::common::{all_entities, relation, spawn};
use bevy_ecs::{entity_disabling::Disabled, prelude::*, system::RunSystemOnce};
use bevy_relations::{id::Slot, prelude::*};
use proptest::prelude::*;
use std::collections::BTreeSet;

#[derive(Relation)]
struct Likes;

#[derive(Relation, Clone, Debug, PartialEq)]
struct Eats {
    grams: u32,
}

/// Source, relation, target.
type Triple = (Entity, Entity, Entity);

/// What fits, by the definition: every match, or one per source where there is a `_`.
fn expected(all: &[Triple], source: Option<Entity>, id: PairId) -> BTreeSet<Triple> {
    let fits = |&&(own, relation, target): &&Triple| {
        source.is_none_or(|source| source == own) && id.matches(PairId::new(relation, target))
    };
    // The first of several is that of the first relation, and of its first target.
    let mut seen = BTreeSet::new();
    let counts = |&&(source, relation, target): &&Triple| {
        let relation = (id.relation() != Slot::Any).then_some(relation);
        let target = (id.target() != Slot::Any).then_some(target);
        seen.insert((source, relation, target))
    };
    all.iter().filter(fits).filter(counts).copied().collect()
}

fn check(any: AnyPairs<'_, '_>, relations: &[Entity], entities: &[Entity]) {
    // Sources in any order, but relation by relation and target by target for each.
    let mut all = Vec::new();
    for &relation in relations {
        for &source in entities {
            all.extend(any.relation(relation).targets(source).map(|target| (source, relation, target)));
        }
    }
    let slots = |entities: &[Entity]| {
        let named = entities.iter().copied().map(Slot::Entity);
        named.chain([Slot::Wildcard, Slot::Any]).collect::<Vec<_>>()
    };
    for &relation in &slots(relations) {
        for &target in &slots(entities) {
            let id = PairId::new(relation, target);
            let found: Vec<_> = any.iter_matching(id).collect();
            let set: BTreeSet<_> = found.iter().copied().collect();
            assert_eq!(set.len(), found.len(), "{id}: each once");
            assert_eq!(set, expected(&all, None, id), "{id}");
            for &source in entities {
                let found: Vec<_> = any.matching(source, id).map(|(r, target)| (source, r, target)).collect();
                let wanted = expected(&all, Some(source), id);
                assert_eq!(BTreeSet::from_iter(found.iter().copied()), wanted, "{source} {id}");
                assert_eq!(found.len(), wanted.len());
                assert_eq!(any.has(source, id), !wanted.is_empty(), "{source} {id}");
            }
        }
    }
    assert_eq!((any.len(), any.is_empty(), any.iter().count()), (all.len(), all.is_empty(), all.len()));
    for &entity in entities {
        let of: Vec<_> = all.iter().filter(|triple| triple.0 == entity).collect();
        let to: BTreeSet<_> = all.iter().filter(|triple| triple.2 == entity).map(|t| (t.0, t.1)).collect();
        assert_eq!((any.target_count(entity), any.source_count(entity)), (of.len(), to.len()));
        assert_eq!(any.pairs_of(entity).count(), of.len());
        assert_eq!(any.pairs_to(entity).count(), to.len());
        assert_eq!(BTreeSet::from_iter(any.pairs_to(entity)), to);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn wildcards_find_what_they_stand_for(
        pairs in prop::collection::vec((0..5usize, 0..6usize, 0..5usize), 0..30),
        removed in prop::collection::vec((0..5usize, 0..6usize, 0..5usize), 0..10),
    ) {
        let mut world = World::new();
        let relations = [
            // In the order of their numbers: this one is built in.
            world.register_relation::<ChildOf>().unwrap(),
            world.register_relation::<Likes>().unwrap(),
            relation(&mut world, RelationTraits::new()),
            relation(&mut world, RelationTraits::new().exclusive()),
            relation(&mut world, RelationTraits::new().symmetric()),
            relation(&mut world, RelationTraits::new().traversable().ordered()),
        ];
        let mut entities = spawn::<5>(&mut world);
        // So that relations are targets as well.
        entities[4] = relations[2];
        for (source, relation, target) in pairs {
            let _ = world.insert_pair_by_id(entities[source], (relations[relation], entities[target]));
        }
        for (source, relation, target) in removed {
            world.remove_pairs_by_id(entities[source], PairId::new(relations[relation], entities[target]));
        }
        world.insert_tag(entities[0], entities[1]).unwrap();
        check(world.any_pairs(), &relations, &entities);
        world.run_system_once(move |any: AnyPairs| check(any, &relations, &entities)).unwrap();
    }
}

#[test]
fn more_relations_than_bits_are_found_too() {
    let mut world = World::new();
    let relations: Vec<Entity> = (0..80).map(|_| relation(&mut world, RelationTraits::new())).collect();
    let entities = spawn::<3>(&mut world);
    for (nth, &relation) in relations.iter().enumerate().rev() {
        world.insert_pair_by_id(entities[nth % 2], (relation, entities[2])).unwrap();
    }
    let any = world.any_pairs();
    assert_eq!(any.pairs_to(entities[2]).count(), 80);
    assert_eq!((any.target_count(entities[0]), any.target_count(entities[1])), (40, 40));
    let one_each = any.iter_matching(PairId::new(Slot::Any, entities[2]));
    assert_eq!(
        one_each.map(|(source, ..)| source).collect::<BTreeSet<_>>(),
        [entities[0], entities[1]].into()
    );
    assert_eq!(any.iter_matching(PairId::new(Slot::Any, entities[2])).count(), 2);
}

#[test]
fn tags_are_no_pairs_and_no_relation() {
    let mut world = World::new();
    let [a, tag] = spawn(&mut world);
    world.insert_tag(a, tag).unwrap();
    let any = world.any_pairs();
    assert!(any.is_empty() && any.pairs_of(a).next().is_none() && any.pairs_to(tag).next().is_none());
    assert!(!any.has(a, PairId::ALL) && !any.has(a, PairId::new(Slot::Any, tag)));
    assert!(any.relations().all(|relation| any.relation_name(relation).is_some()));
    let names: BTreeSet<_> =
        any.relations().filter_map(|r| any.relation_name(r)).map(|n| n.to_string()).collect();
    assert_eq!(names, ["ChildOf", "IsA", "SlotOf"].map(String::from).into());
}

#[test]
fn children_come_in_their_own_order_here_too() {
    let mut world = World::new();
    let parent = world.spawn_empty().id();
    let children = [(); 3].map(|()| world.spawn(ChildOf(parent)).id());
    let child_of = world.register_relation::<ChildOf>().unwrap();
    world.entity_mut(parent).insert_children(0, &[children[2]]);
    let order = [children[2], children[0], children[1]];
    let check = move |any: AnyPairs| {
        assert!(any.pairs_to(parent).eq(order.map(|child| (child, child_of))));
        assert!(any.relation(child_of).sources(parent).eq(order));
    };
    check(world.any_pairs());
    world.run_system_once(check).unwrap();
}

#[test]
fn what_is_dead_or_disabled_or_unknown() {
    let mut world = World::new();
    let [a, b, dead] = spawn(&mut world);
    let likes = world.register_relation::<Likes>().unwrap();
    assert!(World::new().any_pairs().iter().next().is_none());
    world.insert_pair(dead, Likes, a).unwrap();
    world.despawn(dead);
    world.insert_pair(a, Likes, b).unwrap();
    world.insert_pair(a, Eats { grams: 1 }, b).unwrap();
    world.entity_mut(a).insert(Disabled);
    let system = move |any: AnyPairs| {
        assert_eq!(any.pairs_of(a).count(), 2);
        assert!(any.pairs_of(dead).next().is_none() && !any.has(dead, PairId::ALL));
        assert!(any.relation(dead).is_empty() && !any.has(a, PairId::with_relation(dead)));
        assert!(any.matching(a, PairId::with_relation(dead)).next().is_none());
        assert_eq!(any.relation(likes).version(), 3);
    };
    world.run_system_once(system).unwrap();
    assert!(all_entities(&world).contains(&a));
}

#[test]
fn any_pairs_run_beside_readers_and_not_beside_what_reorders_children() {
    fn conflicts(system: impl FnOnce() + std::panic::UnwindSafe) -> bool {
        std::panic::catch_unwind(system).is_err()
    }
    fn beside_readers(
        _: AnyPairs,
        _: Pairs<Likes>,
        _: RemovedPairs<Likes>,
        _: Query<&Children>,
        _: Query<&mut Name>,
    ) {
    }
    fn beside_writer(_: AnyPairs, _: Query<&mut Children>) {}
    assert!(!conflicts(|| World::new().run_system_once(beside_readers).unwrap()));
    assert!(conflicts(|| World::new().run_system_once(beside_writer).unwrap()));
}

#[test]
fn pairs_are_iterated_by_reference() {
    let mut world = World::new();
    let [apple, alice, bob] = spawn(&mut world);
    world.entity_mut(alice).insert(pairs![(Likes, apple), (Eats { grams: 1 }, apple)]);
    world.entity_mut(bob).insert(pairs![(Likes, apple), (Likes, alice)]);
    let likes = world.entity_of::<Likes>();
    let eats = world.entity_of::<Eats>();
    let look = move |all: AnyPairs, some: Pairs<Likes>| {
        let (mut of_all, mut of_some) = (BTreeSet::new(), BTreeSet::new());
        for triple in &all {
            of_all.insert(triple);
        }
        for pair in &some {
            of_some.insert(pair);
        }
        let expected =
            [(alice, likes, apple), (alice, eats, apple), (bob, likes, apple), (bob, likes, alice)];
        assert_eq!(of_all, BTreeSet::from(expected));
        assert_eq!(of_some, BTreeSet::from([(alice, apple), (bob, apple), (bob, alice)]));
        // One after the other, and all at once.
        let mut pairs = some.iter();
        let first = pairs.next();
        assert_eq!(first.into_iter().chain(pairs).collect::<Vec<_>>(), some.iter().collect::<Vec<_>>());
        assert_eq!(format!("{some:?}"), format!("{:?}", some.iter().collect::<Vec<_>>()));
    };
    world.run_system_once(look).unwrap();
    let children = World::new().pairs::<ChildOf>().into_iter().count();
    assert_eq!(children, 0);
}
