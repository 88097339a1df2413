//! Tags: entities that serve as a mark without a target. They are no pairs, and yet wildcards remove them.

use bevy_ecs::prelude::*;
use bevy_relations::{expr::PairExpr, id::Slot, prelude::*, relation::Wildcard};

#[derive(Relation)]
struct Likes;

/// Two entities with two tags each, of which one is a target of pairs too.
fn tagged() -> (World, [Entity; 4]) {
    let mut world = World::new();
    let [a, b, red, big] = [(); 4].map(|()| world.spawn_empty().id());
    for source in [a, b] {
        for tag in [red, big] {
            world.insert_tag(source, tag).unwrap();
        }
        world.insert_pair(source, Likes, red).unwrap();
    }
    (world, [a, b, red, big])
}

fn tags(world: &World, source: Entity) -> Vec<Entity> {
    world.check_pairs().unwrap();
    world.tags(source).collect()
}

#[test]
fn all_with_a_target_is_removed_from_an_entity_with_its_tags() {
    let (mut world, [a, b, red, big]) = tagged();
    assert_eq!(world.remove_pairs_by_id(a, PairId::with_target(red)), 2);
    assert_eq!((tags(&world, a), tags(&world, b)), (vec![big], vec![red, big]));
    assert!(world.pairs_of(a).is_empty());
    assert_eq!(world.remove_pairs_by_id(b, PairId::new(Slot::Any, red)), 1, "one match at most");
    assert_eq!((tags(&world, b), world.pairs_of(b).len()), (vec![big], 1));
    world.commands().entity(b).remove_pairs_by_id(PairId::with_target(big));
    world.flush();
    assert_eq!((tags(&world, b), world.pairs_of(b).len()), (vec![], 1));
    assert_eq!(world.entity_mut(a).remove_pairs_by_id(PairId::ALL).id(), a);
    assert_eq!(tags(&world, a), []);
}

#[test]
fn all_with_a_target_is_removed_everywhere_with_tags() {
    let (mut world, [a, b, red, big]) = tagged();
    assert_eq!(world.remove_pairs_everywhere(PairId::with_target(red)), 4);
    assert_eq!((tags(&world, a), tags(&world, b)), (vec![big], vec![big]));
    world.commands().remove_pairs_everywhere(PairId::with_target(big));
    world.flush();
    assert_eq!((tags(&world, a), tags(&world, b)), (vec![], vec![]));
    let (mut world, [a, b, ..]) = tagged();
    assert_eq!(world.remove_pairs_everywhere(PairId::ALL), 6);
    assert_eq!((tags(&world, a), tags(&world, b)), (vec![], vec![]));
    let (mut world, [a, ..]) = tagged();
    let likes = world.get_entity_of::<Likes>().unwrap();
    assert_eq!(
        world.remove_pairs_everywhere(PairId::with_relation(likes)),
        2,
        "a named relation has no tags"
    );
    assert_eq!(tags(&world, a).len(), 2);
}

#[test]
fn what_has_a_tag_is_despawned_by_a_wildcard() {
    let (mut world, [a, b, red, big]) = tagged();
    world.remove_tag(b, big);
    assert_eq!(world.despawn_sources(PairId::with_target(big)), Ok(1));
    assert!(world.get_entity(a).is_err() && world.get_entity(b).is_ok());
    world.commands().despawn_sources(PairId::with_target(red));
    world.flush();
    assert!(world.get_entity(b).is_err());
    world.check_pairs().unwrap();
}

#[derive(Resource, Default)]
struct Heard(Vec<(&'static str, Entity, Entity)>);

#[test]
fn who_observes_all_pairs_or_all_with_a_target_sees_tags_come_and_go() {
    let mut world = World::new();
    let [a, red, with, other] = [(); 4].map(|()| world.spawn_empty().id());
    world.set_traits(red, RelationTraits::new().with_id(with)).unwrap();
    world.init_resource::<Heard>();
    world.add_observer(|on: On<PairInserted<Wildcard>>, world: &World, mut commands: Commands| {
        let (source, tag) = (on.source, on.target);
        assert!(world.has_tag(source, tag), "it is there");
        commands.queue(move |world: &mut World| {
            world.resource_mut::<Heard>().0.push(("inserted", source, tag));
        });
    });
    world.observe_pairs(
        PairId::with_target(red),
        |on: On<PairRemoved<Wildcard>>, world: &World, mut commands: Commands| {
            let (source, tag) = (on.source, on.target);
            assert!(world.has_tag(source, tag), "it is still there");
            commands.queue(move |world: &mut World| {
                world.resource_mut::<Heard>().0.push(("removed", source, tag));
            });
        },
    );
    let heard = |world: &mut World| {
        world.flush();
        world.check_pairs().unwrap();
        core::mem::take(&mut world.resource_mut::<Heard>().0)
    };
    world.insert_tag(a, red).unwrap();
    assert_eq!(heard(&mut world), [("inserted", a, red), ("inserted", a, with)]);
    world.insert_tag(a, red).unwrap();
    assert_eq!(heard(&mut world), []);
    assert!(world.remove_tag(a, with) && world.remove_tag(a, red) && !world.remove_tag(a, red));
    assert_eq!(heard(&mut world), [("removed", a, red)]);
    world.insert_tag(a, red).unwrap();
    world.insert_tag(red, red).unwrap();
    world.insert_tag(other, red).unwrap();
    heard(&mut world);
    world.despawn(a);
    assert_eq!(heard(&mut world), [("removed", a, red)]);
    world.despawn(red);
    assert_eq!(heard(&mut world), [("removed", other, red), ("removed", red, red)]);
    assert_eq!(world.tags(other).collect::<Vec<_>>(), [with], "companions do not go");
}

#[derive(Resource, Default)]
struct Named(Option<Entity>);

/// What a program does that copies, or undoes, whatever an event of all pairs names.
#[test]
fn what_an_event_names_as_the_relation_of_a_tag_stands_for_tags() {
    let (mut world, [a, b, red, big]) = tagged();
    world.init_resource::<Named>();
    world.add_observer(|on: On<PairInserted<Wildcard>>, mut named: ResMut<Named>| {
        named.0 = Some(on.relation);
    });
    let [copy, blue] = [(); 2].map(|()| world.spawn_empty().id());
    world.insert_tag(a, blue).unwrap();
    let tags_of_all = world.resource::<Named>().0.unwrap();
    world.insert_pair_by_id(copy, (tags_of_all, blue)).unwrap();
    assert_eq!(tags(&world, copy), [blue]);
    assert!(world.insert_pair_value_by_id(copy, (tags_of_all, red), 1_u32).is_err());
    assert!(world.has_pair_by_id(a, (tags_of_all, red)) && !world.has_pair_by_id(copy, (tags_of_all, red)));
    let view = world.pairs_by_id(tags_of_all);
    assert_eq!(view.targets(a).collect::<Vec<_>>(), [red, big, blue]);
    assert_eq!(view.sources(red).collect::<Vec<_>>(), [a, b]);
    let any = world.any_pairs();
    assert_eq!(
        any.matching(copy, PairId::with_relation(tags_of_all)).collect::<Vec<_>>(),
        [(tags_of_all, blue)]
    );
    assert!(any.relation_name(tags_of_all).is_some() && !any.relations().any(|entity| entity == tags_of_all));
    assert_eq!(world.remove_pairs_by_id(b, PairId::with_relation(tags_of_all)), 2);
    assert_eq!((tags(&world, b), world.pairs_of(b).len()), (vec![], 1));
    assert!(world.set_traits(tags_of_all, RelationTraits::new().exclusive()).is_err());
    assert!(world.insert_pair_by_id(copy, (Slot::Wildcard, blue)).is_err());
    let text = format!("(#{}, *)", tags_of_all.to_bits());
    let error = PairExpr::parse(text).unwrap().compile(&mut world).err().unwrap();
    assert!(error.message().contains("write the tag alone"), "{error}");
    // It comes back with the next tag.
    world.despawn(tags_of_all);
    assert_eq!(tags(&world, a), [red, big, blue]);
    world.insert_tag(b, blue).unwrap();
    let again = world.resource::<Named>().0.unwrap();
    assert!(again != tags_of_all && world.has_pair_by_id(b, (again, blue)));
    assert_eq!(tags(&world, b), [blue]);
}
