//! Terms beside what writes what they read.

use crate::common::spawn;
use bevy_ecs::{
    prelude::*,
    resource::IsResource,
    system::{SystemAccess, assert_system_does_not_conflict},
};
use bevy_relations::{
    live::PairDeltas,
    prelude::*,
    query::{
        AddedPair, Ancestors, Cached, ChangedAbove, ChangedBelow, ChangedPair, Depth, Descendants, Down,
        PairsOf, RootOf, SelfDown, SelfUp, Siblings, SourcesWith, Target, TargetOf, TargetsWith, Up,
        WithAncestor, WithDescendant,
    },
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
fn terms_refuse_what_writes_data_of_other_entities_that_they_read() {
    let refused = [
        (refusal(|_: Query<(&mut Armor, SourcesWith<Likes, &Armor>)>| ()), "`SourcesWith<Likes, &Armor>`"),
        (
            refusal(|_: Query<&mut Armor>, _: Query<Option<TargetsWith<Likes, &Armor>>>| ()),
            "`TargetsWith<Likes, &Armor>`",
        ),
        (
            refusal(|_: Query<&mut Armor>, _: Query<SourcesWith<Likes, Entity, Changed<Armor>>>| ()),
            "`SourcesWith<Likes, Entity, Changed<Armor>>`",
        ),
        (
            refusal(|_: Query<EntityMut>, _: Query<SourcesWith<Likes, Entity>>| ()),
            "`SourcesWith<Likes, Entity>`",
        ),
        (
            refusal(|_: Query<&mut Armor, Related<Likes, Changed<Armor>>>| ()),
            "`Related<Likes, Changed<Armor>>`",
        ),
        (
            refusal(
                |_: Query<&mut Armor>, _: Query<(), Or<(With<Position>, TargetOf<Likes, Added<Armor>>)>>| (),
            ),
            "`TargetOf<Likes, Added<Armor>>`",
        ),
        (
            refusal(|_: Query<&mut Armor, Related<Likes, Related<Likes, Changed<Armor>>>>| ()),
            "`Related<Likes, Related<Likes, Changed<Armor>>>`",
        ),
        (
            refusal(|_: Query<EntityMut>, _: Query<(), Related<Likes, With<Armor>>>| ()),
            "`Related<Likes, With<Armor>>`",
        ),
        (refusal(|_: Query<(&mut Armor, Siblings<Likes, &Armor>)>| ()), "`Siblings<Likes, &Armor>`"),
        (refusal(|_: Query<(&mut Armor, Down<MountedOn, &Armor>)>| ()), "`Down<MountedOn, &Armor, 1, MAX>`"),
        (
            refusal(|_: Query<&mut Armor>, _: Query<SelfDown<MountedOn, &Armor>>| ()),
            "`Down<MountedOn, &Armor, 0, MAX>`",
        ),
        (
            refusal(|_: Query<(&mut Armor, Descendants<MountedOn, &Armor>)>| ()),
            "`Descendants<MountedOn, &Armor>`",
        ),
        (
            refusal(|_: Query<(&mut Armor, Descendants<MountedOn, Entity, Changed<Armor>>)>| ()),
            "`Descendants<MountedOn, Entity, Changed<Armor>>`",
        ),
        (
            refusal(|_: Query<&mut Armor, ChangedAbove<MountedOn, Armor>>| ()),
            "`WithAncestor<MountedOn, Changed<Armor>>`",
        ),
        (
            refusal(|_: Query<&mut Armor>, _: Query<(), ChangedBelow<MountedOn, Armor>>| ()),
            "`ChangedBelow<MountedOn, Armor>`",
        ),
        (
            refusal(|_: Query<&mut Armor>, _: Query<(), WithDescendant<MountedOn, Added<Armor>>>| ()),
            "`WithDescendant<MountedOn, Added<Armor>>`",
        ),
    ];
    for (message, term) in refused {
        assert!(
            message.contains(term) && message.contains("B0001") && message.contains("in system"),
            "{message}"
        );
    }
    // The other way round it is the other parameter that complains.
    refusal(|_: Query<SourcesWith<Likes, &Armor>>, _: Query<&mut Armor>| ());
    refusal(|_: Query<(), Related<Likes, Changed<Armor>>>, _: Query<&mut Armor>| ());
    refusal(|_: Query<Siblings<Likes, &Armor>>, _: Query<&mut Armor>| ());
    refusal(|_: Query<Down<MountedOn, &Armor>>, _: Query<&mut Armor>| ());
    refusal(|_: Query<Descendants<MountedOn, &Armor>>, _: Query<&mut Armor>| ());
    refusal(|_: Query<(), WithDescendant<MountedOn, Changed<Armor>>>, _: Query<&mut Armor>| ());
}

#[test]
fn terms_with_filters_go_with_what_writes_components_that_these_do_not_read() {
    assert_system_does_not_conflict(
        |_: Query<(&mut Armor, TargetsWith<Likes, Entity, With<Armor>>), Related<Likes, With<Armor>>>| (),
    );
    assert_system_does_not_conflict(|_: Query<(&mut Position, Siblings<Likes, &Armor>)>| ());
    assert_system_does_not_conflict(
        |_: Query<
            (&mut Armor, Descendants<MountedOn, &Position, Without<Armor>>),
            WithAncestor<MountedOn, With<Armor>>,
        >| (),
    );
    // What cannot be the same entity does not conflict.
    assert_system_does_not_conflict(
        |_: Query<(&mut Armor, SourcesWith<Likes, &Armor, With<Position>>), Without<Position>>| (),
    );
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
    assert_system_does_not_conflict(
        |_: Query<EntityMut, Without<IsResource>>, _: Query<(Siblings<Likes, ()>, Down<MountedOn, ()>)>| (),
    );
    let message = refusal(|_: Query<EntityMut, Without<IsResource>>, _: Query<Siblings<ChildOf, ()>>| ());
    assert!(message.contains("`Siblings<ChildOf, ()>` in system"), "{message}");
    refusal(|_: Query<EntityMut, Without<IsResource>>, _: Query<Down<ChildOf, ()>>| ());
    refusal(|_: Query<EntityMut, Without<IsResource>>, _: Query<Descendants<ChildOf, ()>>| ());
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
        (refusal(|_: Query<Down<LooksAt, &Armor>>| ()), "`Down<LooksAt, &Armor, 1, MAX>`"),
        (refusal(|_: Query<Descendants<LooksAt, &Armor>>| ()), "`Descendants<LooksAt, &Armor>`"),
        (
            refusal(|_: Query<(), WithAncestor<LooksAt, With<Armor>>>| ()),
            "`WithAncestor<LooksAt, With<Armor>>`",
        ),
        (
            refusal(|_: Query<(), WithDescendant<LooksAt, With<Armor>>>| ()),
            "`WithDescendant<LooksAt, With<Armor>>`",
        ),
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
    let lens = catch_unwind(AssertUnwindSafe(|| {
        drop(all.transmute_filtered::<Entity, Related<Likes, With<Armor>>>(&world));
    }));
    assert!(lens.is_err());
    assert!(QueryState::<Targets<Likes>>::try_new(&world).is_none());
    assert!(QueryState::<SourcesWith<Likes, &Armor>>::try_new(&world).is_none());
    assert!(QueryState::<Down<MountedOn, &Armor>>::try_new(&world).is_none());
    assert!(QueryState::<Up<MountedOn, &Armor>>::try_new(&world).is_none());
    // A lens of a query with terms drops them and keeps the rest.
    world.entity_mut(a).insert(Armor(3));
    let mut query = world.query::<(&Armor, Targets<Likes>)>();
    let mut query = query.query(&world);
    let mut lens = query.transmute_lens::<&Armor>();
    assert_eq!(lens.query().iter().map(|armor| armor.0).sum::<u32>(), 3);
    assert_eq!(Position(0.5).0, 0.5);
}

#[derive(Expression)]
#[expr("(Eats, $x)")]
struct Reads;

#[derive(Expression)]
#[expr("[none] (Eats, $x)")]
struct Asks;

#[test]
fn what_cannot_read_values_runs_beside_what_writes_them() {
    fn access<M>(world: &mut World, system: impl IntoSystem<(), (), M>) -> SystemAccess {
        IntoSystem::into_system(system).initialize(world)
    }
    let mut world = World::new();
    world.register_relation::<Eats>().unwrap();
    let writes = access(&mut world, |_: PairsMut<Eats>| ());
    let beside = [
        access(&mut world, |_: Query<(), (Related<Eats>, TargetOf<Eats>)>| ()),
        access(&mut world, |_: Query<(), Unrelated<Eats>>| ()),
        access(&mut world, |_: Query<(), AddedPair<Eats>>| ()),
        access(&mut world, |_: Query<(TargetsWith<Eats, Entity>, SourcesWith<Eats, &Armor>)>| ()),
        access(&mut world, |_: AnyPairs, _: RemovedPairs<Eats>| ()),
        access(&mut world, |_: ExprQuery<Asks>| ()),
        access(&mut world, |_: Pairs<Likes>| ()),
    ];
    let refused = [
        access(&mut world, |_: Pairs<Eats>| ()),
        access(&mut world, |_: PairQuery<Eats, Entity>| ()),
        access(&mut world, |_: PairDeltas<Eats>| ()),
        access(&mut world, |_: Query<Target<Eats>>| ()),
        access(&mut world, |_: Query<Targets<Eats>>| ()),
        access(&mut world, |_: Query<Sources<Eats>>| ()),
        access(&mut world, |_: Query<(), ChangedPair<Eats>>| ()),
        access(&mut world, |_: ExprQuery<Reads>| ()),
    ];
    let runs = |other: &SystemAccess| other.is_compatible(&writes);
    assert_eq!(beside.each_ref().map(runs), [true; 7]);
    assert_eq!(refused.each_ref().map(runs), [false; 8]);
}

#[test]
fn a_term_beside_what_writes_values_of_pairs_is_advised_to_read_through_it() {
    let values = refusal(|_: PairsMut<Eats>, _: Query<Targets<Eats>>| ());
    assert!(values.contains("reading through `PairsMut` if it is the values of pairs"), "{values}");
    let component = refusal(|_: Query<(&mut Armor, Up<MountedOn, &Armor>)>| ());
    assert!(component.contains("Consider using `Without<T>`"), "{component}");
}
