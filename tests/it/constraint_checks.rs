//! When the pairs that commands have inserted are checked, and what goes on around the check.

use crate::common::{
    constrained::{City, Founded, LivesIn, Person, check},
    panic_message, record_errors_of, reuse_index, spawn, take_errors, take_reported_errors,
    world_that_records_errors,
};
use bevy_app::{App, Last, Startup, Update};
use bevy_ecs::{entity::EntityCloner, lifecycle::HookContext, prelude::*, world::DeferredWorld};
use bevy_relations::{RelationsSystems, prelude::*, relation::EndConstraint};

#[derive(Relation)]
struct Likes;

#[test]
fn commands_of_observers_are_checked_later() {
    let mut world = world_that_records_errors();
    world.add_observer(|on: On<Add<Person>>, mut commands: Commands| {
        let home = commands.spawn_empty().id();
        commands.entity(on.entity).insert_pair(LivesIn, home);
        commands.entity(home).insert(City);
    });
    let a = world.spawn(Person).id();
    assert_eq!(world.pairs::<LivesIn>().target_count(a), 1);
    assert_eq!(check(&mut world, 0), [""; 0]);
}

#[test]
fn the_clone_of_a_pair_that_is_to_be_checked_is_checked_with_it() {
    for is_completed in [false, true] {
        let mut world = world_that_records_errors();
        let [a, b] = spawn(&mut world);
        world.commands().entity(a).insert_pair(LivesIn, b);
        world.flush();
        let clone = world.spawn_empty().id();
        EntityCloner::build_opt_out(&mut world).clone_entity(a, clone);
        if is_completed {
            world.commands().entity(clone).insert(Person);
            world.commands().entity(b).insert(City);
        }
        world.flush();
        assert!(world.has_pair::<LivesIn>(clone, b));
        assert_eq!(check(&mut world, 2 - usize::from(is_completed)).len(), 2 - usize::from(is_completed));
        assert_eq!(world.has_pair::<LivesIn>(clone, b), is_completed);
    }
}

#[test]
fn with_the_plugin_the_check_comes_at_the_end_of_each_frame() {
    #[derive(Resource, Default)]
    struct Seen(Vec<usize>);
    for is_first in [true, false] {
        let mut app = App::new();
        app.add_plugins(RelationsPlugin).init_resource::<Seen>();
        record_errors_of(app.world_mut());
        app.add_systems(
            Last,
            (
                (|pairs: Pairs<Likes>, mut seen: ResMut<Seen>| seen.0.push(pairs.len()))
                    .before(RelationsSystems::Constraints),
                (|pairs: Pairs<Likes>, mut seen: ResMut<Seen>| seen.0.push(pairs.len()))
                    .after(RelationsSystems::Constraints),
            ),
        );
        app.add_systems(Startup, |mut commands: Commands| {
            let (a, b) = (commands.spawn_empty().id(), commands.spawn_empty().id());
            commands.entity(a).insert_pair(LivesIn, b);
        });
        if !is_first {
            app.add_systems(Update, |mut commands: Commands| {
                let (a, b) = (commands.spawn_empty().id(), commands.spawn(City).id());
                commands.entity(a).insert_pair(LivesIn, b);
                let (c, d) = (commands.spawn_empty().id(), commands.spawn_empty().id());
                commands.entity(c).insert_pair(LivesIn, d).insert(Person);
                commands.entity(d).insert(City);
            });
        }
        for frame in 1..4 {
            app.update();
            let expected = usize::from(frame == 1) + usize::from(!is_first);
            assert_eq!(take_errors().len(), expected, "frame {frame}");
            assert_eq!(app.world().pairs::<LivesIn>().len(), if is_first { 0 } else { frame });
        }
        assert_eq!(app.world().resource::<Seen>().0, [0; 6]);
        app.world().check_pairs().unwrap();
    }
}

#[test]
fn systems_are_ordered_by_the_set_of_the_check() {
    #[derive(Resource, Default)]
    struct Seen(Vec<usize>);
    let mut app = App::new();
    app.add_plugins(RelationsPlugin).register_relation::<LivesIn>().init_resource::<Seen>();
    record_errors_of(app.world_mut());
    let count = |world: &mut World| {
        let count = world.pairs::<LivesIn>().len();
        world.resource_mut::<Seen>().0.push(count);
    };
    app.add_systems(Last, count.before(RelationsSystems::Constraints));
    app.add_systems(Last, count.after(RelationsSystems::Constraints));
    app.update();
    let [a, b] = spawn(app.world_mut());
    app.world_mut().commands().entity(a).insert_pair(LivesIn, b);
    app.update();
    assert_eq!(app.world().resource::<Seen>().0, [0, 0, 1, 0]);
    assert_eq!(take_errors().len(), 1);
}

#[test]
fn without_the_plugin_maintenance_checks() {
    let mut world = world_that_records_errors();
    let [a, b] = spawn(&mut world);
    world.commands().entity(a).insert_pair(LivesIn, b);
    world.maintain_pairs();
    world.flush();
    assert!(!world.has_pair::<LivesIn>(a, b) || take_errors().is_empty());
    world.maintain_pairs();
    assert!(world.pairs_of(a).is_empty());
    assert_eq!(World::new().check_constraints(), 0);
}

#[test]
fn worlds_are_checked_each_on_its_own() {
    let mut worlds = [(); 3].map(|()| world_that_records_errors());
    for (number, world) in worlds.iter_mut().enumerate() {
        // Their relations have other numbers.
        for _ in 0..number {
            world.spawn_relation("R", RelationTraits::new()).unwrap();
        }
        let [a, b] = spawn(world);
        world.commands().entity(a).insert_pair(LivesIn, b).insert_pair(Likes, b);
        world.flush();
    }
    assert_eq!(check(&mut worlds[1], 1).len(), 1);
    assert_eq!(worlds.each_ref().map(|world| world.pairs::<LivesIn>().len()), [1, 0, 1]);
    assert_eq!(check(&mut worlds[2], 1).len(), 1);
    assert_eq!(check(&mut worlds[0], 1).len(), 1);
    assert!(worlds.iter().all(|world| world.pairs::<Likes>().len() == 1));
}

#[test]
fn a_component_that_goes_after_resources_were_cleared_is_reported_once() {
    #[derive(Relation)]
    #[relation(source(Person), on_missing = Warn)]
    struct Visits;
    let mut world = world_that_records_errors();
    for _ in 0..3 {
        let [a, b] = spawn(&mut world);
        world.entity_mut(a).insert(Person);
        world.insert_pair(a, Visits, b).unwrap();
        world.entity_mut(a).remove::<Person>();
        assert_eq!(take_errors().len(), 1);
        // The observers stay, and the next use spawns them again.
        world.clear_resources();
        record_errors_of(&mut world);
    }
}

#[test]
fn the_number_and_the_index_of_what_is_gone_may_serve_another() {
    let mut world = world_that_records_errors();
    let [a, b] = spawn(&mut world);
    let traits = || RelationTraits::new().target(EndConstraint::with::<City>());
    let old = world.spawn_relation("old", traits()).unwrap();
    world.commands().entity(a).insert_pair_by_id((old, b));
    world.flush();
    world.despawn(old);
    let new = world.spawn_relation("new", RelationTraits::new()).unwrap();
    world.insert_pair_by_id(a, (new, b)).unwrap();
    assert_eq!(check(&mut world, 0), [""; 0]);
    assert!(world.has_pair_by_id(a, (new, b)));
    world.commands().entity(a).insert_pair(LivesIn, b);
    world.flush();
    world.despawn(b);
    let c = reuse_index(&mut world, b);
    world.entity_mut(a).insert(Person);
    world.entity_mut(c).insert(City);
    world.insert_pair(a, LivesIn, c).unwrap();
    assert_eq!(check(&mut world, 0), [""; 0]);
    assert!(world.has_pair::<LivesIn>(a, c));
}

#[test]
fn an_observer_that_inserts_the_pair_again_is_checked_the_next_time() {
    let mut world = world_that_records_errors();
    world.add_observer(|on: On<PairRemoved<LivesIn>>, mut commands: Commands| {
        commands.entity(on.source).insert_pair(LivesIn, on.target);
    });
    let [a, b] = spawn(&mut world);
    world.commands().entity(a).insert_pair(LivesIn, b);
    world.flush();
    for _ in 0..5 {
        assert!(world.has_pair::<LivesIn>(a, b));
        assert_eq!(world.check_constraints(), 1);
        assert_eq!(take_errors().len(), 1);
    }
    world.entity_mut(a).insert(Person);
    world.entity_mut(b).insert(City);
    assert_eq!(check(&mut world, 0), [""; 0]);
}

#[test]
fn what_panics_does_not_keep_the_others_from_being_checked() {
    #[derive(Component)]
    struct Fragile;
    impl Default for Fragile {
        fn default() -> Self {
            panic!("no default")
        }
    }
    #[derive(Relation)]
    #[relation(source(Person), target(Fragile), on_missing = Insert)]
    struct Carries;
    let mut world = world_that_records_errors();
    let [a, b, c, d] = spawn(&mut world);
    // At once nothing happens.
    let before = (world.entities().count_spawned(), world.pairs_of(a));
    let message = panic_message(|| world.insert_pair(a, Carries, b).unwrap());
    assert_eq!(message.as_deref(), Some("no default"));
    assert!(!world.entity(a).contains::<Person>());
    assert_eq!(world.pairs_of(a), before.1);
    world.check_pairs().unwrap();
    // Later the pair goes.
    world.commands().entity(a).insert_pair(Carries, b).insert_pair(LivesIn, b);
    world.commands().entity(c).insert_pair(Founded, d);
    world.flush();
    let message = panic_message(|| world.check_constraints());
    assert_eq!(message.as_deref(), Some("no default"));
    world.flush();
    assert!(world.pairs_of(a).is_empty() && world.has_pair::<Founded>(c, d));
    assert!(world.entity(d).contains::<City>());
    assert_eq!(take_errors().len(), 2);
    world.check_pairs().unwrap();
    // So it does for an observer.
    let observer = world.add_observer(|_: On<PairRemoved<LivesIn>>| panic!("an observer")).id();
    world.commands().entity(a).insert_pair(LivesIn, b).insert_pair(LivesIn, c);
    world.flush();
    world.entity_mut(a).remove::<Person>();
    assert!(panic_message(|| world.check_constraints()).is_some());
    world.flush();
    // It has kept both pairs, which is not the end of it.
    world.check_pairs().unwrap();
    assert!(world.pairs::<LivesIn>().len() == 2 && take_errors().is_empty());
    world.despawn(observer);
    assert_eq!(check(&mut world, 2).len(), 2);
    assert!(world.pairs::<LivesIn>().is_empty());
}

#[test]
fn a_command_that_panics_keeps_no_pair_from_being_checked() {
    fn panic_later(mut world: DeferredWorld, _: HookContext) {
        world.commands().queue(|_: &mut World| panic!("a command"));
    }
    #[derive(Component)]
    #[component(on_discard = panic_later)]
    struct Fuse;
    for is_maintained in [false, true] {
        let mut world = world_that_records_errors();
        let traits = RelationTraits::new().target(EndConstraint::with::<Fuse>());
        let relation = world.spawn_relation("R", traits).unwrap();
        let [a] = spawn(&mut world);
        let b = world.spawn(Fuse).id();
        world.insert_pair_by_id(a, (relation, b)).unwrap();
        // Bevy makes an error of it, or goes on with it and drops what was queued.
        let _ = panic_message(|| _ = world.entity_mut(b).remove::<Fuse>());
        match is_maintained {
            true => world.maintain_pairs(),
            false => assert_eq!(world.check_constraints(), 0, "commands did not insert it"),
        }
        assert!(!world.has_pair_by_id(a, (relation, b)));
        let errors = take_reported_errors();
        assert_eq!(errors.iter().filter(|error| error.contains("must have")).count(), 1, "{errors:?}");
        world.check_pairs().unwrap();
    }
}
