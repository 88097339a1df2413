//! Reading pairs that were removed, and run conditions.

use crate::common::{spawn, world_that_records_errors};
use bevy_app::prelude::*;
use bevy_ecs::{prelude::*, system::RunSystemOnce};
use bevy_relations::{
    prelude::*,
    system_param::{any_pair, any_pair_removed, pairs_changed},
};
use std::collections::BTreeSet;

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo;

#[derive(Relation)]
#[relation(symmetric)]
struct Allied;

#[derive(Relation)]
#[relation(on_target_despawn = Despawn)]
struct PartOf;

type Ends = (Entity, Entity);

fn read<R: Relation>(mut removed: RemovedPairs<R>) -> Vec<Ends> {
    let announced = removed.len();
    let read: Vec<_> = removed.read().collect();
    assert_eq!((read.len(), removed.len(), removed.is_empty()), (announced, 0, true));
    read
}

/// A world with a system that reads removals of `R`, which was run once.
fn reader<R: Relation>(world: &mut World) -> impl Fn(&mut World) -> Vec<Ends> + use<R> {
    let system = world.register_system(read::<R>);
    let run = move |world: &mut World| world.run_system(system).unwrap();
    assert_eq!(run(world), []);
    run
}

fn set(read: Vec<Ends>) -> BTreeSet<Ends> {
    let set = BTreeSet::from_iter(read.iter().copied());
    assert_eq!(set.len(), read.len(), "each once");
    set
}

#[test]
fn each_removal_is_read_once_whatever_its_cause() {
    let mut world = World::new();
    let [a, b, c, d] = spawn(&mut world);
    let removed = reader::<Likes>(&mut world);
    for (source, target) in [(a, b), (a, c), (b, c), (c, d), (d, a)] {
        world.insert_pair(source, Likes, target).unwrap();
    }
    assert_eq!(removed(&mut world), [], "insertions are none of its business");
    world.remove_pair::<Likes>(a, b);
    world.remove_pair::<Likes>(b, a);
    world.insert_pair(a, Likes, b).unwrap();
    assert_eq!(removed(&mut world), [(a, b)], "although it is there again");
    assert_eq!(removed(&mut world), []);
    world.despawn(c);
    assert_eq!(set(removed(&mut world)), [(a, c), (b, c), (c, d)].into());
    world.clear_pairs();
    assert_eq!(set(removed(&mut world)), [(a, b), (d, a)].into());
}

#[test]
fn retargets_mirrors_cascades_and_relations_count() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    let docked = reader::<DockedTo>(&mut world);
    world.insert_pair(a, DockedTo, b).unwrap();
    world.insert_pair(a, DockedTo, b).unwrap();
    world.insert_pair(a, DockedTo, c).unwrap();
    assert_eq!(docked(&mut world), [(a, b)]);

    let allied = reader::<Allied>(&mut world);
    world.insert_pair(a, Allied, b).unwrap();
    world.remove_pair::<Allied>(b, a);
    assert_eq!(set(allied(&mut world)), [(a, b), (b, a)].into());

    let part_of = reader::<PartOf>(&mut world);
    world.insert_pair(b, PartOf, a).unwrap();
    world.insert_pair(c, PartOf, b).unwrap();
    world.despawn(a);
    assert_eq!(set(part_of(&mut world)), [(b, a), (c, b)].into());
    assert!(!world.entities().contains(c));

    let children = reader::<ChildOf>(&mut world);
    let [parent, other] = spawn(&mut world);
    let child = world.spawn(ChildOf(parent)).id();
    world.entity_mut(child).insert(ChildOf(other));
    assert_eq!(children(&mut world), [(child, parent)]);
}

#[test]
fn the_end_of_a_relation_ends_its_pairs() {
    let mut world = world_that_records_errors();
    let [a, b] = spawn(&mut world);
    let removed = reader::<Likes>(&mut world);
    world.insert_pair(a, Likes, b).unwrap();
    let likes = world.entity_of::<Likes>();
    world.despawn(likes);
    assert_eq!(removed(&mut world), [(a, b)]);
    world.insert_pair(a, Likes, b).unwrap();
    world.remove_pair::<Likes>(a, b);
    assert_eq!(removed(&mut world), [(a, b)], "the type is a relation again, and still read");
}

#[test]
fn a_system_that_lags_behind_reads_what_is_left() {
    let mut world = World::new();
    let entities: [Entity; 4] = spawn(&mut world);
    let [eager, lazy] = [(); 2].map(|()| reader::<Likes>(&mut world));
    let remove = |world: &mut World, nth: usize| {
        world.insert_pair(entities[nth], Likes, entities[0]).unwrap();
        world.remove_pair::<Likes>(entities[nth], entities[0]);
        (entities[nth], entities[0])
    };
    let first = remove(&mut world, 1);
    world.maintain_pairs();
    assert_eq!(eager(&mut world), [first], "kept over one upkeep");
    let second = remove(&mut world, 2);
    world.maintain_pairs();
    let third = remove(&mut world, 3);
    assert_eq!(eager(&mut world), [second, third]);
    assert_eq!(lazy(&mut world), [second, third], "the first is dropped");
    world.maintain_pairs();
    world.maintain_pairs();
    let again = remove(&mut world, 1);
    assert_eq!((lazy(&mut world), lazy(&mut world)), (vec![again], vec![]));
}

#[test]
fn what_is_not_asked_for_stays_unread() {
    let mut world = World::new();
    let entities: [Entity; 4] = spawn(&mut world);
    fn one(mut removed: RemovedPairs<Likes>) -> (Option<Ends>, usize) {
        (removed.read().next(), removed.len())
    }
    let one = world.register_system(one);
    let cleared = world.register_system(|mut removed: RemovedPairs<Likes>| {
        removed.clear();
        removed.len()
    });
    assert_eq!(world.run_system(one).unwrap(), (None, 0));
    for &source in &entities {
        world.insert_pair(source, Likes, entities[0]).unwrap();
        world.remove_pair::<Likes>(source, entities[0]);
    }
    for nth in 0..4 {
        assert_eq!(world.run_system(one).unwrap(), (Some((entities[nth], entities[0])), 3 - nth));
    }
    assert_eq!(world.run_system(cleared).unwrap(), 0);
    assert_eq!(world.run_system_once(read::<Likes>).unwrap().len(), 4, "a new reader reads all there is");
}

#[test]
fn many_removals_between_two_runs_are_all_read() {
    let mut world = World::new();
    let removed = reader::<Likes>(&mut world);
    let [hub] = spawn(&mut world);
    let many: Vec<Entity> = (0..70_000).map(|_| world.spawn_empty().id()).collect();
    world.insert_pair_batch(many.iter().map(|&source| (source, Likes, hub))).unwrap();
    world.despawn(hub);
    assert_eq!(removed(&mut world).len(), many.len());
}

#[test]
fn readers_of_removed_pairs_run_side_by_side() {
    fn several(
        mut first: RemovedPairs<Likes>,
        second: RemovedPairs<Likes>,
        _: RemovedPairs<DockedTo>,
        _: Pairs<Likes>,
    ) -> (usize, usize) {
        (first.read().count(), second.len())
    }
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    let system = world.register_system(several);
    assert_eq!(world.run_system(system).unwrap(), (0, 0));
    world.insert_pair(a, Likes, b).unwrap();
    world.remove_pair::<Likes>(a, b);
    assert_eq!(world.run_system(system).unwrap(), (1, 1));
    assert_eq!(world.run_system(system).unwrap(), (0, 1), "each has its own place");
}

#[test]
fn the_plugin_drops_removals_in_the_second_frame() {
    #[derive(Resource, Default)]
    struct Read(Vec<usize>);
    let mut app = App::new();
    app.add_plugins(RelationsPlugin).init_resource::<Read>();
    app.add_systems(PreUpdate, |mut removed: RemovedPairs<Likes>, mut log: ResMut<Read>| {
        log.0.push(removed.read().count());
    });
    app.add_systems(Last, |mut commands: Commands, mut frame: Local<u32>| {
        *frame += 1;
        if *frame == 1 {
            let [a, b] = [commands.spawn_empty().id(), commands.spawn_empty().id()];
            commands.entity(a).insert_pair(Likes, b).remove_pair::<Likes>(b);
        }
    });
    (0..4).for_each(|_| app.update());
    assert_eq!(app.world().resource::<Read>().0, [0, 1, 0, 0]);
    assert_eq!(app.world_mut().run_system_once(read::<Likes>).unwrap(), []);
}

#[test]
fn conditions_hold_when_they_say() {
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    let any = world.register_system(any_pair::<Likes>);
    let changed = world.register_system(pairs_changed::<Likes>);
    let removed = world.register_system(any_pair_removed::<Likes>);
    let ask = move |world: &mut World| {
        [any, changed, removed].map(|condition| world.run_system(condition).unwrap())
    };
    assert_eq!(ask(&mut world), [false, false, false]);
    world.insert_pair(a, Likes, b).unwrap();
    assert_eq!(ask(&mut world), [true, true, false]);
    world.insert_pair(a, Likes, b).unwrap();
    assert_eq!(ask(&mut world), [true, false, false]);
    world.remove_pair::<Likes>(a, b);
    assert_eq!(ask(&mut world), [false, true, true]);
    assert_eq!(ask(&mut world), [false, false, false]);
    world.insert_pair(a, DockedTo, b).unwrap();
    assert_eq!(ask(&mut world), [false, false, false], "another relation");
}
