//! Terms beside what writes what they read.

use crate::common::spawn;
use bevy_ecs::{prelude::*, resource::IsResource, system::assert_system_does_not_conflict};
use bevy_relations::{
    prelude::*,
    query::{AddedPair, Ancestors, Cached, ChangedPair, Depth, PairsOf, RootOf, SelfUp, Target, Up},
};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
struct Eats(#[expect(dead_code, reason = "a relation with values")] u32);

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct MountedOn;

#[derive(Component)]
struct Armor(u32);

#[derive(Component)]
struct Position(f32);

/// A relationship that cannot be climbed.
#[derive(Component)]
#[relationship(relationship_target = LookedAtBy, allow_self_referential)]
struct LooksAt(Entity);

#[derive(Component)]
#[relationship_target(relationship = LooksAt)]
struct LookedAtBy(Vec<Entity>);

/// What the initialisation of a system panics with.
#[track_caller]
fn refusal<M>(system: impl IntoSystem<(), (), M>) -> String {
    let mut system = IntoSystem::into_system(system);
    let panic = catch_unwind(AssertUnwindSafe(|| drop(system.initialize(&mut World::new()))));
    *panic.expect_err("this system must be refused").downcast::<String>().expect("a message")
}

#[test]
fn terms_refuse_what_writes_beside_them() {
    let refused = [
        (refusal(|_: Query<EntityMut>, _: Query<Targets<Likes>>| ()), "`Targets<Likes>`"),
        (refusal(|_: Query<EntityMut>, _: Query<Target<Likes>>| ()), "`Target<Likes>`"),
        (refusal(|_: Query<EntityMut>, _: Query<Sources<Eats>>| ()), "`Sources<Eats>`"),
        (refusal(|_: Query<EntityMut>, _: Query<PairsOf>| ()), "`PairsOf`"),
        (refusal(|_: Query<EntityMut>, _: Query<Depth<MountedOn>>| ()), "`Depth<MountedOn>`"),
        (refusal(|_: Query<EntityMut>, _: Query<Ancestors<MountedOn>>| ()), "`Ancestors<MountedOn>`"),
        (refusal(|_: Query<EntityMut>, _: Query<(), Related<Likes>>| ()), "`Related<Likes>`"),
        (refusal(|_: Query<EntityMut>, _: Query<(), RootOf<Likes>>| ()), "`RootOf<Likes>`"),
        (refusal(|_: Query<EntityMut>, _: Query<(), AddedPair<Likes>>| ()), "`AddedPair<Likes>`"),
        (refusal(|_: Query<EntityMut>, _: Query<Option<Targets<Likes>>>| ()), "`Targets<Likes>`"),
        (refusal(|_: PairsMut<Eats>, _: Query<Targets<Eats>>| ()), "`Targets<Eats>`"),
        (refusal(|_: PairsMut<Eats>, _: Query<Sources<Eats>>| ()), "`Sources<Eats>`"),
        (refusal(|_: PairsMut<Eats>, _: Query<(), ChangedPair<Eats>>| ()), "`ChangedPair<Eats>`"),
        (refusal(|_: Query<(&mut Armor, Up<MountedOn, &Armor>)>| ()), "`Up<MountedOn, &Armor, 1, MAX>`"),
        (
            refusal(|_: Query<(&mut Armor, Cached<Up<MountedOn, &Armor>>)>| ()),
            "`Cached<Up<MountedOn, &Armor, 1, MAX>>`",
        ),
        (
            refusal(|_: Query<&mut Armor>, _: Query<SelfUp<MountedOn, &Armor>>| ()),
            "`Up<MountedOn, &Armor, 0, MAX>`",
        ),
        (
            refusal(|_: Query<&mut Armor>, _: Query<Up<MountedOn, Up<MountedOn, &Armor>>>| ()),
            "`Up<MountedOn, Up<",
        ),
    ];
    for (message, term) in refused {
        assert!(
            message.contains(term) && message.contains("B0001") && message.contains("in system"),
            "{message}"
        );
    }
    // The other way round it is the other parameter that complains.
    refusal(|_: Query<Up<MountedOn, &Armor>>, _: Query<&mut Armor>| ());
    refusal(|_: Query<Targets<Likes>>, _: Query<EntityMut>| ());
}

#[test]
fn terms_go_with_what_writes_something_else() {
    assert_system_does_not_conflict(|_: Query<(&mut Position, Targets<Likes>, Up<MountedOn, &Armor>)>| ());
    assert_system_does_not_conflict(
        |_: Query<EntityMut, Without<IsResource>>, _: Query<(Targets<Eats>, PairsOf)>| (),
    );
    assert_system_does_not_conflict(
        |_: Query<&mut Armor>, _: Query<(Ancestors<MountedOn>, Depth<MountedOn>)>| (),
    );
    assert_system_does_not_conflict(
        |_: Query<Targets<Likes>>, _: Query<Sources<Likes>>, _: Pairs<Likes>, _: Query<&mut Armor>| (),
    );
    assert_system_does_not_conflict(
        |_: ParamSet<(Query<&mut Armor>, Query<Up<MountedOn, &Armor>>, Query<EntityMut>)>| (),
    );
}

#[test]
fn children_are_read_only_by_terms_of_child_of() {
    assert_system_does_not_conflict(|_: Query<(Sources<Likes>, EntityRef)>| ());
    assert_system_does_not_conflict(|_: Query<(Sources<ChildOf>, &Children)>| ());
    let mut world = World::new();
    // What is declared for the entity at hand shows in the access of the query.
    let children = world.register_component::<Children>();
    let of_likes = world.query::<Sources<Likes>>();
    assert!(!of_likes.component_access().access().has_read(children));
    let of_children = world.query::<Sources<ChildOf>>();
    assert!(of_children.component_access().access().has_read(children));
}

#[test]
fn a_relation_that_turns_out_not_to_be_traversable_is_refused_when_it_is_to_be_followed() {
    let refused = [
        (refusal(|_: Query<Up<LooksAt, &Armor>>| ()), "`Up<LooksAt, &Armor, 1, MAX>`"),
        (refusal(|_: Query<Cached<Up<LooksAt, &Armor>>>| ()), "`Cached<Up<LooksAt, &Armor, 1, MAX>>`"),
        (refusal(|_: Query<Depth<LooksAt>>| ()), "`Depth<LooksAt>`"),
        (refusal(|_: Query<Ancestors<LooksAt>>| ()), "`Ancestors<LooksAt>`"),
    ];
    for (message, term) in refused {
        assert!(message.contains(term) && message.contains("not traversable"), "{message}");
    }
}

#[test]
fn no_lens_reaches_undeclared_pairs() {
    fn transmuted<D: bevy_ecs::query::QueryData + bevy_ecs::query::SingleEntityQueryData>() {}
    transmuted::<&Armor>();
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Likes, b).unwrap();
    let all = world.query::<Entity>();
    // A filter is the only place in which a lens accepts a term at all.
    let lens =
        catch_unwind(AssertUnwindSafe(|| drop(all.transmute_filtered::<Entity, Related<Likes>>(&world))));
    assert!(lens.is_err());
    let lens =
        catch_unwind(AssertUnwindSafe(|| drop(all.transmute_filtered::<Entity, AddedPair<Likes>>(&world))));
    assert!(lens.is_err());
    assert!(QueryState::<Targets<Likes>>::try_new(&world).is_none());
    assert!(QueryState::<Up<MountedOn, &Armor>>::try_new(&world).is_none());
    // A lens of a query with terms drops them and keeps the rest.
    world.entity_mut(a).insert(Armor(3));
    let mut query = world.query::<(&Armor, Targets<Likes>)>();
    let mut query = query.query(&world);
    let mut lens = query.transmute_lens::<&Armor>();
    assert_eq!(lens.query().iter().map(|armor| armor.0).sum::<u32>(), 3);
    assert_eq!(Position(0.5).0, 0.5);
}
