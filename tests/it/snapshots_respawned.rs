//! Snapshots that are applied after entities were despawned and spawned again: the undo of a despawn.
//!
//! What was spawned again can be the source, the target, both, or the relation; pairs can be tags, have values with and
//! without entities in them, be symmetric, ordered, or a Bevy relationship; the filter may name sources. What was inserted
//! since goes. A rule may refuse the result.

use crate::common::spawn;
use bevy_ecs::{entity::EntityHashMap, prelude::*};
use bevy_relations::{
    error::{InsertPairError, SnapshotError},
    prelude::*,
    snapshot::{PairFilter, PairSnapshot},
};

#[derive(Relation)]
struct Likes;

#[derive(Relation, Clone, PartialEq, Debug)]
struct Eats(u32);

#[derive(Relation)]
#[relation(symmetric)]
struct AlliedWith;

#[derive(Relation)]
#[relation(ordered)]
struct Follows;

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct MountedOn;

#[derive(Component)]
struct Ship;

#[derive(Relation)]
#[relation(target(Ship))]
struct DockedTo;

fn snapshot(world: &mut World) -> PairSnapshot {
    PairSnapshot::take(world, PairFilter::all()).unwrap()
}

fn targets<R: Relation>(world: &World, source: Entity) -> Vec<Entity> {
    world.pairs::<R>().targets(source).collect()
}

fn map<const N: usize>(pairs: [(Entity, Entity); N]) -> EntityHashMap<Entity> {
    EntityHashMap::from_iter(pairs)
}

#[test]
fn what_was_spawned_again_gets_the_pairs_at_both_ends() {
    let mut world = World::new();
    let [ann, ben, cy] = spawn(&mut world);
    world.insert_pair(ann, Likes, ben).unwrap();
    world.insert_pair(ben, Eats(3), cy).unwrap();
    world.insert_pair(cy, AlliedWith, ben).unwrap();
    world.insert_pair(ben, MountedOn, cy).unwrap();
    world.entity_mut(ben).insert(ChildOf(ann));
    for follower in [cy, ben] {
        world.insert_pair(follower, Follows, ann).unwrap();
    }
    let before = snapshot(&mut world);
    world.despawn(ben);
    let again = world.spawn_empty().id();
    let applied = before.apply_respawned(&mut world, &map([(ben, again)])).unwrap();
    assert_eq!((applied.inserted, applied.removed, applied.skipped), (7, 0, 0));
    assert_eq!(targets::<Likes>(&world, ann), [again]);
    assert_eq!(world.pair_value::<Eats>(again, cy), Some(&Eats(3)));
    assert!(world.has_pair::<AlliedWith>(cy, again) && world.has_pair::<AlliedWith>(again, cy));
    assert_eq!(targets::<MountedOn>(&world, again), [cy]);
    assert_eq!(world.get::<ChildOf>(again).map(ChildOf::parent), Some(ann));
    assert!(world.pairs::<Follows>().sources(ann).eq([cy, again]));
    world.check_pairs().unwrap();

    // Once more, nothing differs.
    let applied = before.apply_respawned(&mut world, &map([(ben, again)])).unwrap();
    assert_eq!((applied.inserted, applied.replaced, applied.removed), (0, 0, 0));
}

#[test]
fn everything_else_becomes_what_it_was() {
    let mut world = World::new();
    let [ann, ben, cy, dee] = spawn(&mut world);
    world.insert_pair(ann, Likes, ben).unwrap();
    world.insert_pair(ann, Eats(1), cy).unwrap();
    let before = snapshot(&mut world);
    world.despawn(ben);
    world.insert_pair(ann, Eats(2), cy).unwrap();
    // An entity that had no pair then, and one that was not there.
    world.insert_pair(dee, Likes, ann).unwrap();
    let new = world.spawn(Pair(Likes, ann)).id();
    let again = world.spawn_empty().id();
    let count = world.entities().count_spawned();
    let applied = before.apply_respawned(&mut world, &map([(ben, again)])).unwrap();
    assert_eq!((applied.inserted, applied.replaced, applied.removed), (1, 1, 2));
    assert_eq!(targets::<Likes>(&world, ann), [again]);
    assert_eq!(world.pair_value::<Eats>(ann, cy), Some(&Eats(1)));
    assert!(world.pairs_of(dee).is_empty() && world.pairs_of(new).is_empty());
    assert_eq!(world.entities().count_spawned(), count, "nothing is spawned");
    world.check_pairs().unwrap();
}

#[test]
fn the_sources_of_a_filter_may_have_been_spawned_again() {
    let mut world = World::new();
    let [ann, ben, cy] = spawn(&mut world);
    world.insert_pair(ann, Likes, cy).unwrap();
    let before = PairSnapshot::take(&mut world, PairFilter::all().sources([ann])).unwrap();
    world.despawn(ann);
    world.insert_pair(ben, Likes, cy).unwrap();
    let again = world.spawn(Pair(Likes, ben)).id();
    before.apply_respawned(&mut world, &map([(ann, again)])).unwrap();
    assert_eq!(targets::<Likes>(&world, again), [cy]);
    assert_eq!(targets::<Likes>(&world, ben), [cy], "no source of the filter");
}

#[test]
fn a_run_time_relation_may_have_been_spawned_again() {
    let mut world = World::new();
    let likes = world.spawn_relation("likes", RelationTraits::new()).unwrap();
    let [ann, ben] = spawn(&mut world);
    world.insert_pair_by_id(ann, (likes, ben)).unwrap();
    let before = snapshot(&mut world);
    world.despawn(likes);
    let again = world.spawn_relation("likes", RelationTraits::new()).unwrap();
    before.apply_respawned(&mut world, &map([(likes, again)])).unwrap();
    assert!(world.has_pair_by_id(ann, (again, ben)));
    world.check_pairs().unwrap();
}

#[test]
fn what_is_refused_changes_nothing() {
    let mut world = World::new();
    let [ann, ben, cy] = spawn(&mut world);
    world.entity_mut(ben).insert(Ship);
    world.insert_pair(ann, DockedTo, ben).unwrap();
    world.insert_pair(ann, Likes, cy).unwrap();
    let before = snapshot(&mut world);
    world.despawn(ben);
    world.remove_pairs::<Likes>(ann);

    // Without what the relation requires of it.
    let again = world.spawn_empty().id();
    let error = before.apply_respawned(&mut world, &map([(ben, again)])).unwrap_err();
    assert!(matches!(error, SnapshotError::Refused(InsertPairError::Constraint(_))), "{error}");
    // Still missing.
    let error = before.apply_respawned(&mut world, &map([])).unwrap_err();
    assert!(matches!(error, SnapshotError::Refused(InsertPairError::Dead { .. })), "{error}");
    // Two in one.
    let error = before.apply_respawned(&mut world, &map([(ben, cy)])).unwrap_err();
    assert!(matches!(error, SnapshotError::SameEntity { .. }), "{error}");
    // Another world.
    let error = before.apply_respawned(&mut World::new(), &map([])).unwrap_err();
    assert!(matches!(error, SnapshotError::OtherWorld), "{error}");
    assert_eq!(world.any_pairs().len(), 0);

    world.entity_mut(again).insert(Ship);
    before.apply_respawned(&mut world, &map([(ben, again)])).unwrap();
    assert_eq!(targets::<DockedTo>(&world, ann), [again]);
    world.check_pairs().unwrap();
}

#[test]
fn entities_in_values_are_those_that_were_spawned_again() {
    use bevy_ecs::{
        entity::{EntityMapper, MapEntities},
        reflect::{AppTypeRegistry, ReflectMapEntities},
    };
    use bevy_reflect::Reflect;

    #[derive(Relation, Reflect, Clone, PartialEq, Debug)]
    #[reflect(MapEntities)]
    struct Guards {
        orders: Entity,
    }

    impl MapEntities for Guards {
        fn map_entities<M: EntityMapper>(&mut self, mapper: &mut M) {
            self.orders = mapper.get_mapped(self.orders);
        }
    }

    let mut world = World::new();
    world.init_resource::<AppTypeRegistry>();
    world.resource::<AppTypeRegistry>().write().register::<Guards>();
    let [guard, gate, captain] = spawn(&mut world);
    world.insert_pair(guard, Guards { orders: captain }, gate).unwrap();
    let before = snapshot(&mut world);
    world.despawn(captain);
    let again = world.spawn_empty().id();
    before.apply_respawned(&mut world, &map([(captain, again)])).unwrap();
    assert_eq!(world.pair_value::<Guards>(guard, gate), Some(&Guards { orders: again }));
}

#[test]
fn one_relation_cannot_stand_for_two_of_a_snapshot() {
    let mut world = World::new();
    let [ann, ben, cy, trusts, fears] = spawn(&mut world);
    world.insert_pair_by_id(ann, (trusts, ben)).unwrap();
    world.insert_pair_by_id(ann, (fears, cy)).unwrap();
    let before = snapshot(&mut world);
    world.remove_pairs_by_id(ann, (fears, cy));
    let two = map([(trusts, fears)]);

    let error = before.apply_respawned(&mut world, &two).unwrap_err();
    assert!(
        matches!(error, SnapshotError::SameEntity { first, second, .. } if [first, second] == [trusts, fears])
    );
    let mut all = map([(ann, ann), (ben, ben), (cy, cy), (trusts, fears), (fears, fears)]);
    let error = before.apply_mapped(&mut world, &mut all).unwrap_err();
    assert!(matches!(error, SnapshotError::SameEntity { .. }));
    let is =
        |relation, targets: &[Entity]| world.pairs_by_id(relation).targets(ann).eq(targets.iter().copied());
    assert!(is(trusts, &[ben]) && is(fears, &[]), "nothing has changed");
}

#[test]
fn an_entity_that_was_to_stand_for_a_relation_is_none_after_an_error() {
    let mut world = World::new();
    let [ann, ben, trusts, again] = spawn(&mut world);
    world.insert_pair_by_id(ann, (trusts, ben)).unwrap();
    let before = snapshot(&mut world);
    world.despawn(trusts);
    world.despawn(ann);
    let respawned = map([(trusts, again)]);
    assert!(before.apply_respawned(&mut world, &respawned).is_err(), "{ann} is dead");
    assert!(world.traits_of(again).is_none());
    world.check_pairs().unwrap();
    let other = world.spawn_empty().id();
    before.apply_respawned(&mut world, &map([(trusts, again), (ann, other)])).unwrap();
    assert!(world.traits_of(again).is_some() && world.has_pair_by_id(other, (again, ben)));
}
