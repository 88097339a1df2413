//! Which cascades the scheduler and a system accept.

use crate::cascade_forest::{Global, Local, Under};
use bevy_ecs::{prelude::*, query::NestedQuery};
use bevy_relations::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Initialises a system; gives the message if it is refused.
fn initialise<M>(system: impl IntoSystem<(), (), M>) -> Result<(), String> {
    let mut system = IntoSystem::into_system(system);
    catch_unwind(AssertUnwindSafe(|| drop(system.initialize(&mut World::new()))))
        .map_err(|panic| panic.downcast_ref::<String>().cloned().unwrap_or_default())
}

#[track_caller]
fn refused<M>(system: impl IntoSystem<(), (), M>) {
    let message = initialise(system).expect_err("this must be refused");
    assert!(message.contains("B0001"), "{message}");
}

#[test]
fn the_parents_data_may_be_what_is_written() {
    type Tree<'w, 's> = CascadeQuery<'w, 's, Under, &'static mut Global, &'static Global>;
    fn own(_: Tree) {}
    fn watched(_: CascadeQuery<Under, &mut Global, &Global, Changed<Global>, Added<Global>>) {}
    fn with_others(_: CascadeQuery<Under, &mut Global, &Global>, _: Query<&Local>, _: Pairs<Under>) {}
    fn disjoint(_: CascadeQuery<Under, &mut Global, (), With<Local>>, _: Query<&mut Global, Without<Local>>) {
    }
    fn both_read(_: CascadeQuery<Under, &Global, &Global>, _: CascadeQuery<ChildOf, &Global>) {}
    fn elsewhere(_: CascadeQuery<Under, &mut Global, (&Global, NestedQuery<&Local>)>) {}
    initialise(own).unwrap();
    initialise(watched).unwrap();
    initialise(with_others).unwrap();
    initialise(disjoint).unwrap();
    initialise(both_read).unwrap();
    initialise(elsewhere).unwrap();
}

#[test]
fn what_conflicts_is_refused() {
    fn reader_after(_: CascadeQuery<Under, &mut Global>, _: Query<&Global>) {}
    fn reader_before(_: Query<&Global>, _: CascadeQuery<Under, &mut Global>) {}
    fn parent_read_elsewhere_written(_: CascadeQuery<Under, &Local, &Global>, _: Query<&mut Global>) {}
    fn parents_of_disjoint_entities(
        _: CascadeQuery<Under, &mut Local, &Global, With<Global>>,
        _: Query<&mut Global, Without<Local>>,
    ) {
    }
    fn nested_in_parent(_: CascadeQuery<Under, &mut Global, NestedQuery<&Global>>) {}
    fn nested_in_own(_: CascadeQuery<Under, (&mut Global, NestedQuery<&Global>)>) {}
    fn two_cascades(_: CascadeQuery<Under, &mut Global>, _: CascadeQuery<ChildOf, &Local, &Global>) {}
    refused(reader_after);
    refused(reader_before);
    refused(parent_read_elsewhere_written);
    refused(parents_of_disjoint_entities);
    refused(nested_in_parent);
    let message = initialise(nested_in_parent).unwrap_err();
    assert!(
        message.contains("CascadeQuery") && message.contains("other entities than the parent"),
        "{message}"
    );
    refused(nested_in_own);
    refused(two_cascades);
}

#[test]
fn a_relationship_that_allows_self_reference_cannot_be_followed() {
    #[derive(Component)]
    #[relationship(relationship_target = Friends, allow_self_referential)]
    struct FriendOf(Entity);
    #[derive(Component)]
    #[relationship_target(relationship = FriendOf)]
    struct Friends(Vec<Entity>);
    fn follow(_: CascadeQuery<FriendOf, &Local>) {}
    let message = initialise(follow).expect_err("this must be refused");
    assert!(message.contains("FriendOf"), "{message}");
}

#[test]
fn a_cascade_that_only_reads_is_a_parameter_that_only_reads() {
    fn assert_read_only<P: bevy_ecs::system::ReadOnlySystemParam>() {}
    assert_read_only::<CascadeQuery<Under, &'static Global, &'static Global, With<Local>, Changed<Local>>>();
}
