//! Propagated components compared with a walk upwards, after random histories.
//!
//! Classes of cases: exclusive relations and those with several targets, whose order matters; `ChildOf` written by
//! Bevy; components that are inserted, replaced, written in place and removed, mutable and immutable ones; despawns,
//! disabling, components removed by hand, observers that act when one is written; batches of 1 to 100 changes between
//! two updates.

use crate::{
    common::{CrewOf, Random, all_entities, panic_message, size, spawn},
    kept_components::{ActsLeft, KeptComponents, put_below, replace_dead},
};
use bevy_app::prelude::*;
use bevy_ecs::{entity_disabling::Disabled, prelude::*};
use bevy_relations::{live::*, prelude::*, relation::TraversableRelation};
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Component, Clone, Copy, PartialEq, Debug)]
struct Team(u32);

#[derive(Component, Clone, Copy, PartialEq, Debug)]
#[component(immutable, storage = "SparseSet")]
struct Port(u32);

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct MountedOn;

#[derive(Relation)]
#[relation(traversable)]
struct Follows;

#[derive(Component)]
#[relationship(relationship_target = Mirrors, allow_self_referential)]
struct MirrorOf(Entity);

#[derive(Component)]
#[relationship_target(relationship = MirrorOf)]
struct Mirrors(Vec<Entity>);

/// The nearest holder above: all above the first target before the second.
fn holder<R: Relation, C: Component>(world: &World, pairs: &Pairs<R>, entity: Entity) -> Option<Entity> {
    pairs.targets(entity).find_map(|target| {
        if world.entity(target).contains::<C>() { Some(target) } else { holder::<R, C>(world, pairs, target) }
    })
}

fn check<R: TraversableRelation, C: Component + Copy + PartialEq + core::fmt::Debug>(world: &World) {
    let pairs = &world.pairs::<R>();
    for entity in all_entities(world) {
        let expected =
            holder::<R, C>(world, pairs, entity).map(|holder| (holder, *world.get::<C>(holder).unwrap()));
        let found = world.get::<Propagated<R, C>>(entity).map(|found| (found.holder(), **found));
        assert_eq!(found, expected, "{} of {entity}", core::any::type_name::<Propagated<R, C>>());
    }
}

fn check_all(world: &World) {
    check::<ChildOf, Team>(world);
    check::<MountedOn, Team>(world);
    check::<MountedOn, Port>(world);
    check::<Follows, Team>(world);
    check::<Follows, Port>(world);
}

fn propagate_all(world: &mut World) {
    world.propagate::<ChildOf, Team>().unwrap();
    world.propagate::<MountedOn, Team>().unwrap();
    world.propagate::<MountedOn, Port>().unwrap();
    world.propagate::<Follows, Team>().unwrap();
    world.propagate::<Follows, Port>().unwrap();
}

fn change(world: &mut World, entities: &mut Vec<Entity>, random: &mut Random) {
    let (a, b) = (random.pick(entities), random.pick(entities));
    let value = random.below(3) as u32;
    match random.below(20) {
        0 => _ = world.entity_mut(a).insert(Team(value)),
        1 => _ = world.entity_mut(a).insert(Port(value)),
        2 | 3 => {
            if let Some(mut team) = world.get_mut::<Team>(a) {
                team.0 = value;
            }
        }
        4 => _ = world.entity_mut(a).remove::<Team>(),
        5 => _ = world.entity_mut(a).remove::<Port>(),
        6 | 7 => _ = world.insert_pair(a, MountedOn, b),
        8 => _ = world.remove_pairs::<MountedOn>(a),
        9 | 10 => _ = world.insert_pair(a, Follows, b),
        11 => _ = world.remove_pair::<Follows>(a, b),
        12 => _ = world.replace_targets(a, [b, entities[0], entities[1]].map(|target| (Follows, target))),
        13 | 14 => put_below(world, a, b),
        15 => _ = world.entity_mut(a).remove::<ChildOf>(),
        16 => _ = world.entity_mut(a).insert(Disabled),
        17 => _ = world.entity_mut(a).remove::<(Propagated<ChildOf, Team>, Propagated<Follows, Port>)>(),
        _ => _ = world.despawn(a),
    }
    replace_dead(world, entities, |world| world.spawn_empty().id());
}

const KEPT: KeptComponents = KeptComponents {
    start: propagate_all,
    change,
    update: |world| world.update_propagation(),
    check: check_all,
};

#[test]
fn propagated_components_equal_a_walk() {
    KEPT.check_histories();
}

#[test]
fn what_observers_change_meanwhile_counts_with_the_next_update() {
    let act =
        |on: On<Insert<Propagated<MountedOn, Team>>>, mut commands: Commands, mut left: ResMut<ActsLeft>| {
            if !left.take_one() {
                return;
            }
            let entity = on.entity;
            commands.queue(move |world: &mut World| {
                let holder = world.get::<Propagated<MountedOn, Team>>(entity).map(Propagated::holder);
                match entity.index_u32() % 4 {
                    0 => _ = holder.map(|holder| world.despawn(holder)),
                    1 => _ = world.entity_mut(entity).insert((Team(7), Port(4))),
                    2 => world.update_propagation(),
                    _ => _ = holder.map(|holder| world.entity_mut(holder).remove::<Team>().id()),
                }
            });
        };
    KEPT.check_histories_with(|world| _ = world.add_observer(act));
}

#[test]
fn an_app_propagates_in_the_same_frame_and_before_rollups() {
    let mut app = App::new();
    app.add_plugins(RelationsPlugin).propagate::<MountedOn, Team>();
    app.add_rollup::<ChildOf, Propagated<MountedOn, Team>, Count>();
    let [tank, gun, crew] = spawn(app.world_mut());
    app.add_systems(Update, move |mut commands: Commands, mut is_done: Local<bool>| {
        if !core::mem::replace(&mut *is_done, true) {
            commands.entity(tank).insert(Team(1));
            commands.entity(gun).insert_pair(MountedOn, tank);
            commands.entity(gun).insert(ChildOf(crew));
        }
    });
    app.update();
    let world = app.world_mut();
    assert_eq!(world.get::<Propagated<MountedOn, Team>>(gun).map(|team| team.get().0), Some(1));
    assert_eq!(world.get::<Rollup<ChildOf, Propagated<MountedOn, Team>, Count>>(crew).unwrap().get(), &1);
    check::<MountedOn, Team>(world);
    world.entity_mut(tank).remove::<Team>();
    app.update();
    check::<MountedOn, Team>(app.world());
    assert!(!app.world().entity(crew).contains::<Rollup<ChildOf, Propagated<MountedOn, Team>, Count>>());
}

#[test]
fn a_relationship_that_allows_loops_is_refused_by_its_name() {
    let mut world = World::new();
    let error = world.propagate::<MirrorOf, Team>().unwrap_err();
    assert!(error.to_string().contains("MirrorOf, which is not traversable"), "{error}");
    assert!(world.add_rollup::<MirrorOf, Team, Count>().is_err());
    assert!(panic_message(|| _ = App::new().propagate::<MirrorOf, Team>()).is_some());
    world.propagate::<CrewOf, Team>().unwrap();
}

#[test]
fn a_write_is_passed_on_to_what_has_that_holder_only() {
    let mut world = World::new();
    world.propagate::<ChildOf, Team>().unwrap();
    world.init_resource::<Told>();
    let told = |on: On<Insert<Propagated<ChildOf, Team>>>, mut told: ResMut<Told>| told.0.push(on.entity);
    world.add_observer(told);
    let top = world.spawn(Team(1)).id();
    let middle = world.spawn((Team(2), ChildOf(top))).id();
    let below = world.spawn(ChildOf(middle)).id();
    world.update_propagation();
    assert_eq!(core::mem::take(&mut world.resource_mut::<Told>().0), [middle, below]);
    world.get_mut::<Team>(top).unwrap().0 = 3;
    world.update_propagation();
    assert_eq!(core::mem::take(&mut world.resource_mut::<Told>().0), [middle]);
    world.update_propagation();
    assert_eq!(world.resource::<Told>().0, []);
}

#[derive(Resource, Default)]
struct Told(Vec<Entity>);

#[test]
fn a_chain_as_deep_as_memory_allows_is_followed_on_a_small_stack() {
    let mut world = World::new();
    world.propagate::<MountedOn, Team>().unwrap();
    world.add_rollup::<MountedOn, Team, Count>().unwrap();
    let length = size(100_000, 50);
    let chain: Vec<Entity> = (0..length).map(|_| world.spawn_empty().id()).collect();
    world.insert_pair_batch(chain.windows(2).map(|link| (link[1], MountedOn, link[0]))).unwrap();
    world.entity_mut(chain[0]).insert(Team(1));
    world.entity_mut(chain[length - 1]).insert(Team(1));
    world.update_propagation();
    world.update_rollups();
    assert_eq!(world.get::<Propagated<MountedOn, Team>>(chain[length - 1]).unwrap().holder(), chain[0]);
    assert_eq!(world.get::<Rollup<MountedOn, Team, Count>>(chain[0]).unwrap().with_own(), &2);
}

/// Its clone panics on demand.
#[derive(Component)]
struct Fragile;

static PANICS: AtomicBool = AtomicBool::new(false);

impl Clone for Fragile {
    fn clone(&self) -> Self {
        assert!(!PANICS.load(Ordering::Relaxed), "as it was told");
        Self
    }
}

#[test]
fn what_panics_before_a_component_is_written_is_made_up_for() {
    let mut world = World::new();
    world.propagate::<ChildOf, Team>().unwrap();
    world.propagate::<ChildOf, Fragile>().unwrap();
    let root = world.spawn((Team(1), Fragile)).id();
    let leaf = world.spawn(ChildOf(root)).id();
    PANICS.store(true, Ordering::Relaxed);
    assert!(panic_message(|| world.update_propagation()).is_some());
    PANICS.store(false, Ordering::Relaxed);
    world.update_propagation();
    assert!(world.entity(leaf).contains::<Propagated<ChildOf, Fragile>>());

    let observer = world.add_observer(|_: On<Discard<Propagated<ChildOf, Team>>>| panic!("on purpose")).id();
    *world.get_mut::<Team>(root).unwrap() = Team(2);
    assert!(panic_message(|| world.update_propagation()).is_some());
    world.despawn(observer);
    world.update_propagation();
    check::<ChildOf, Team>(&world);

    let observer = world.add_observer(|_: On<Remove<Propagated<ChildOf, Team>>>| panic!("on purpose")).id();
    world.entity_mut(root).remove::<Team>();
    assert!(panic_message(|| world.update_propagation()).is_some());
    world.despawn(observer);
    world.update_propagation();
    check::<ChildOf, Team>(&world);
}

#[test]
fn an_outdated_component_that_is_put_back_becomes_right_again() {
    let mut world = World::new();
    world.propagate::<MountedOn, Team>().unwrap();
    let ship = world.spawn(Team(1)).id();
    let turret = world.spawn(Pair(MountedOn, ship)).id();
    world.update_propagation();
    let outdated = world.entity_mut(turret).take::<Propagated<MountedOn, Team>>().unwrap();
    world.entity_mut(ship).insert(Team(2));
    world.update_propagation();
    world.entity_mut(turret).insert(outdated);
    world.update_propagation();
    assert_eq!(world.get::<Propagated<MountedOn, Team>>(turret).map(|team| *team.get()), Some(Team(2)));
}
