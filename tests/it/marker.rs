//! Entities that are cleared, emptied, moved and despawned while observers do what they like: no pair names the dead.

mod clearing;
mod spawning;
mod type_entities;

use crate::common::{
    take_reported_errors,
    unpaid::{Crew, CrewOf},
    world_that_records_errors,
};
use bevy_ecs::{
    component::ComponentId,
    entity::EntityCloner,
    lifecycle::{Add, Despawn, Discard, Insert, Remove},
    prelude::*,
    system::RunSystemOnce,
    world::DeferredWorld,
};
use bevy_relations::{PairQuery, expr::PairExpr, prelude::*, relation::Wildcard};

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
#[relation(exclusive)]
struct Holds;

#[derive(Relation, Clone, Debug, PartialEq)]
struct Eats {
    grams: u32,
}

#[derive(Relation)]
#[relation(symmetric)]
struct Meets;

#[derive(Relation)]
#[relation(exclusive, traversable, on_target_despawn = Despawn)]
struct MountedOn;

#[derive(Component, Clone)]
struct Ship;

#[derive(Component, Clone)]
struct Rest;

#[derive(Component, Default)]
struct Fuel(u32);

fn entities<const N: usize>(world: &mut World) -> [Entity; N] {
    std::array::from_fn(|_| world.spawn_empty().id())
}

/// No pair and no tag names a dead entity, whichever way one looks.
#[track_caller]
fn no_ghosts(world: &mut World) {
    world.check_pairs().unwrap();
    let alive = |world: &World, entity: Entity| world.entities().contains_spawned(entity);
    for (source, relation, target) in world.any_pairs().iter() {
        for entity in [source, relation, target] {
            assert!(alive(world, entity), "({relation}, {target}) on {source} names {entity}");
        }
    }
    let mut fuels = world.run_system_once(fuels_of_liked).unwrap();
    fuels.sort_unstable();
    let before = fuels.len();
    fuels.dedup();
    assert_eq!(fuels.len(), before, "one component is handed out twice");
}

/// Where the fuel of each source lies, as the mutable iterator gives it, which only an exclusive relation has.
fn fuels_of_liked(mut pairs: PairQuery<Holds, &mut Fuel, Entity>) -> Vec<usize> {
    let address = |mut fuel: Mut<Fuel>| {
        fuel.0 = fuel.0.wrapping_add(1);
        std::ptr::from_ref(fuel.into_inner()).addr()
    };
    pairs.iter_mut().map(|(fuel, ..)| address(fuel)).collect()
}

/// `entity` is new, and its index was that of an entity with pairs: it has none, and takes part like any other.
#[track_caller]
fn behaves_as_new(world: &mut World, entity: Entity) {
    assert!(world.pairs_of(entity).is_empty() && world.pairs_to(entity).is_empty(), "{entity}");
    assert_eq!(world.tags(entity).count(), 0);
    assert!(!world.has_pair_by_id(entity, PairId::ALL));
    let [other, tag] = entities(world);
    world.insert_pair(entity, Likes, other).unwrap();
    world.insert_pair(other, Likes, entity).unwrap();
    world.insert_pair(entity, Holds, other).unwrap();
    world.insert_pair(other, Holds, entity).unwrap();
    world.insert_pair(entity, Eats { grams: 9 }, other).unwrap();
    world.insert_pair(entity, Meets, other).unwrap();
    world.insert_tag(entity, tag).unwrap();
    for (source, target) in [(entity, other), (other, entity)] {
        assert!(world.has_pair::<Likes>(source, target) && world.has_pair::<Holds>(source, target));
        assert!(world.has_pair::<Meets>(source, target));
        assert_eq!(world.pairs::<Likes>().targets(source).collect::<Vec<_>>(), [target]);
        assert_eq!(world.pairs::<Holds>().sources(target).collect::<Vec<_>>(), [source]);
        let mut related = world.query_filtered::<Entity, Related<Holds>>();
        assert!(related.iter(world).any(|found| found == source));
    }
    assert_eq!(world.pair_value::<Eats>(entity, other), Some(&Eats { grams: 9 }));
    assert!(world.pairs_to(entity).contains(&(other, world.get_entity_of::<Likes>().unwrap())));
    let text = format!("(#{}, $x)", world.get_entity_of::<Likes>().unwrap().to_bits());
    let mut expr = PairExpr::parse(&text).unwrap().compile(world).unwrap();
    let pairs = world.pairs::<Likes>().len();
    assert_eq!(expr.count(world), Ok(pairs));
    no_ghosts(world);
    world.entity_mut(entity).insert(Fuel::default());
    world.entity_mut(other).insert(Fuel::default());
    no_ghosts(world);
    world.despawn(entity);
    world.despawn(other);
    no_ghosts(world);
}

/// A way to take components from an entity, the hidden marker among them.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Strip {
    Clear,
    ClearByCommand,
    Retain,
    RetainNothing,
    RemoveByIds,
    RemovePairsBundle,
    Move,
    MoveAll,
}

const STRIPS: [Strip; 8] = [
    Strip::Clear,
    Strip::ClearByCommand,
    Strip::Retain,
    Strip::RetainNothing,
    Strip::RemoveByIds,
    Strip::RemovePairsBundle,
    Strip::Move,
    Strip::MoveAll,
];

impl Strip {
    fn moves(self) -> bool {
        matches!(self, Self::Move | Self::MoveAll)
    }

    fn run(self, world: &mut World, entity: Entity) {
        let marker = world.entity(entity).archetype().components().to_vec();
        match self {
            Self::Clear => _ = world.entity_mut(entity).clear(),
            Self::ClearByCommand => {
                world.commands().entity(entity).queue(|mut entity: EntityWorldMut| {
                    entity.clear();
                });
                world.flush();
            }
            Self::Retain => _ = world.entity_mut(entity).retain::<Rest>(),
            Self::RetainNothing => _ = world.entity_mut(entity).retain::<()>(),
            Self::RemoveByIds => {
                let rest = world.component_id::<Rest>().unwrap();
                let ids: Vec<_> = marker.into_iter().filter(|&id| id != rest).collect();
                world.entity_mut(entity).remove_by_ids(&ids);
            }
            Self::RemovePairsBundle => {
                _ = world.entity_mut(entity).remove::<(Ship, bevy_relations::bundle::PairsBundle<()>)>();
            }
            Self::Move | Self::MoveAll => {
                let [other] = entities(world);
                if self == Self::MoveAll {
                    EntityCloner::build_opt_out(world).move_components(true).clone_entity(entity, other);
                } else {
                    let mut cloner = EntityCloner::build_opt_out(world);
                    cloner.deny::<Rest>().move_components(true).clone_entity(entity, other);
                }
                world.flush();
            }
        }
    }
}

/// What an observer does meanwhile.
#[derive(Clone, Copy, Debug)]
enum Act {
    Nothing,
    Despawn,
    DespawnOfAnother,
    Replace,
    ReplaceWithPairs,
    ReplaceWithBundle,
    ReplaceAsTarget,
    ReplaceWithChild,
    Clear,
    Retain,
    Reinsert,
    InsertPairs,
    Clone,
    DespawnInACommandOfACommand,
}

const ACTS: [Act; 14] = [
    Act::Nothing,
    Act::Despawn,
    Act::DespawnOfAnother,
    Act::Replace,
    Act::ReplaceWithPairs,
    Act::ReplaceWithBundle,
    Act::ReplaceAsTarget,
    Act::ReplaceWithChild,
    Act::Clear,
    Act::Retain,
    Act::Reinsert,
    Act::InsertPairs,
    Act::Clone,
    Act::DespawnInACommandOfACommand,
];

impl Act {
    /// Despawns the entity that is being stripped.
    fn despawns(self) -> bool {
        matches!(
            self,
            Self::Despawn
                | Self::Replace
                | Self::ReplaceWithPairs
                | Self::ReplaceWithBundle
                | Self::ReplaceAsTarget
                | Self::ReplaceWithChild
                | Self::DespawnInACommandOfACommand
        )
    }
}

#[derive(Resource)]
struct Scene {
    act: Act,
    target: Entity,
    /// Acts once.
    done: bool,
}

/// Despawns an entity and gives one with its index.
fn replace(world: &mut World, entity: Entity) -> Option<Entity> {
    let next = world.despawn_no_free(entity)?;
    world.spawn_empty_at(next).ok()?;
    Some(next)
}

fn act(world: &mut World, entity: Entity) {
    let mut scene = world.resource_mut::<Scene>();
    let (act, target) = (scene.act, scene.target);
    if core::mem::replace(&mut scene.done, true) || world.get_entity(entity).is_err() {
        return;
    }
    match act {
        Act::Nothing => {}
        Act::Despawn => _ = world.despawn(entity),
        Act::DespawnOfAnother => _ = world.despawn(target),
        Act::Replace => _ = replace(world, entity),
        Act::ReplaceWithPairs => {
            let new = replace(world, entity).unwrap();
            world.insert_pair(new, Likes, target).unwrap();
            world.insert_pair(new, Holds, target).unwrap();
            world.insert_pair(new, Eats { grams: 3 }, target).unwrap();
        }
        Act::ReplaceWithBundle => {
            let new = replace(world, entity).unwrap();
            world.entity_mut(new).insert(pairs![(Likes, target), (Holds, target)]);
        }
        Act::ReplaceAsTarget => {
            let new = replace(world, entity).unwrap();
            world.insert_pair(target, Likes, new).unwrap();
            world.insert_pair(target, Holds, new).unwrap();
        }
        Act::ReplaceWithChild => {
            let new = replace(world, entity).unwrap();
            world.entity_mut(target).insert(ChildOf(new));
            world.spawn(CrewOf(new));
        }
        Act::Clear => _ = world.entity_mut(entity).clear(),
        Act::Retain => _ = world.entity_mut(entity).retain::<Rest>(),
        Act::Reinsert => _ = world.entity_mut(entity).insert((Ship, Rest)),
        Act::InsertPairs => {
            world.insert_pair(entity, Likes, entity).unwrap();
            world.insert_pair(entity, Holds, entity).unwrap();
        }
        Act::Clone => {
            let clone = world.entity_mut(entity).clone_and_spawn();
            world.flush();
            assert!(world.get_entity(clone).is_ok());
        }
        Act::DespawnInACommandOfACommand => {
            world.commands().queue(move |world: &mut World| {
                world.commands().queue(move |world: &mut World| _ = world.despawn(entity));
            });
        }
    }
}

/// The hidden marker of entities with pairs, which any observer can name.
fn marker(world: &mut World) -> ComponentId {
    let [one, other] = entities(world);
    world.insert_pair(one, Likes, other).unwrap();
    let one = world.entity(one);
    let [marker] = one.archetype().components() else { panic!("only the marker") };
    *marker
}

/// Which event the observer acts on.
const EVENTS: usize = 6;

fn observe(world: &mut World, event: usize) {
    fn queue(mut commands: Commands, entity: Entity) {
        commands.queue(move |world: &mut World| act(world, entity));
    }
    let marker = marker(world);
    let observer = match event {
        0 => Observer::new(|on: On<Remove<Ship>>, commands: Commands| queue(commands, on.entity)),
        1 => Observer::new(|on: On<Discard<Ship>>, commands: Commands| queue(commands, on.entity)),
        2 => Observer::new(|on: On<Remove<()>>, commands: Commands| queue(commands, on.entity))
            .with_component(marker),
        3 => Observer::new(|on: On<Discard<()>>, commands: Commands| queue(commands, on.entity))
            .with_component(marker),
        4 => Observer::new(|on: On<PairRemoved<Wildcard>>, commands: Commands| queue(commands, on.source)),
        _ => Observer::new(|on: On<Insert<()>>, commands: Commands| queue(commands, on.entity))
            .with_component(marker),
    };
    world.spawn(observer);
}

#[test]
fn whatever_observers_do_while_an_entity_is_stripped_no_pair_names_the_dead() {
    for strip in STRIPS {
        // All of what may happen for two of them, a part for the others: they differ in little.
        let all = matches!(strip, Strip::Clear | Strip::Retain);
        for (number, act) in ACTS.into_iter().enumerate() {
            for event in 0..EVENTS {
                // Bevy's cloner panics if what it moves is despawned meanwhile.
                let possible = !(strip.moves() && act.despawns());
                if possible && (all || (number + event).is_multiple_of(4)) {
                    strip_with_observer(strip, act, event);
                }
            }
        }
    }
}

fn strip_with_observer(strip: Strip, act: Act, event: usize) {
    let what = format!("{strip:?}, {act:?}, event {event}");
    let mut world = world_that_records_errors();
    world.adopt_relationship::<CrewOf>();
    let [alice, bob, tag, root, target] = entities(&mut world);
    let ship = world.spawn((Ship, Rest, Fuel::default(), ChildOf(root))).id();
    world.entity_mut(bob).insert(Fuel::default());
    for other in [alice, bob] {
        world.insert_pair(ship, Likes, other).unwrap();
        world.insert_pair(other, Likes, ship).unwrap();
        world.insert_pair(ship, Eats { grams: 1 }, other).unwrap();
        world.insert_pair(other, Eats { grams: 2 }, ship).unwrap();
    }
    world.insert_pair(ship, Holds, bob).unwrap();
    world.insert_pair(bob, Holds, ship).unwrap();
    world.insert_pair(ship, Meets, alice).unwrap();
    world.insert_tag(ship, tag).unwrap();
    world.insert_tag(alice, ship).unwrap();
    let gun = world.spawn(Pair(MountedOn, ship)).id();
    let child = world.spawn((ChildOf(ship), Ship)).id();
    let cook = world.spawn(CrewOf(ship)).id();
    world.insert_resource(Scene { act, target, done: false });
    observe(&mut world, event);
    strip.run(&mut world, ship);
    let acted = core::mem::replace(&mut world.resource_mut::<Scene>().done, true);
    let checked = world.check_pairs();
    assert!(checked.is_ok(), "{what}: {checked:?}");
    no_ghosts(&mut world);
    // The bundle holds no component.
    let strips_ship = strip != Strip::RemovePairsBundle;
    assert!(acted || event > 3 || !strips_ship, "{what}: the observer has seen nothing");
    if acted && act.despawns() {
        assert!(world.get_entity(ship).is_err(), "{what}");
        assert!(world.get_entity(gun).is_err(), "{what}: what is mounted on it goes with it");
    }
    let index = ship.index();
    let now = world.entities().resolve_from_index(index);
    let _ = (child, cook);
    // The entity that has the index now takes part like any other.
    take_reported_errors();
    let replaced = acted && act.despawns();
    if world.get_entity(now).is_ok() && (replaced || (event == 0)) {
        let Some(next) = replace(&mut world, now) else { panic!("{what}") };
        no_ghosts(&mut world);
        behaves_as_new(&mut world, next);
    }
    for entity in [alice, bob, root, target, tag] {
        world.despawn(entity);
        no_ghosts(&mut world);
    }
}

/// What an observer does does not make `clear` look like `retain`, nor the other way round.
#[test]
fn clearing_is_distinguished_from_retaining_whatever_observers_do() {
    type Do = fn(EntityWorldMut);
    let acts: [Do; 6] = [
        |_| {},
        |mut entity| _ = entity.insert(Ship),
        |mut entity| _ = entity.insert(Rest),
        |mut entity| _ = entity.insert((Ship, Rest, Fuel::default())),
        |mut entity| _ = entity.remove::<Rest>(),
        |mut entity| _ = entity.remove::<(Rest, Ship)>(),
    ];
    for (number, act) in acts.into_iter().enumerate() {
        for discard in [false, true] {
            for clear in [false, true] {
                let what = format!("act {number}, discard: {discard}, clear: {clear}");
                let mut world = world_that_records_errors();
                let [alice] = entities(&mut world);
                let ship = world.spawn((Ship, Rest, Fuel::default())).id();
                world.insert_pair(ship, Likes, alice).unwrap();
                world.insert_pair(ship, Eats { grams: 1 }, alice).unwrap();
                world.insert_pair(alice, Likes, ship).unwrap();
                if discard {
                    world.add_observer(move |on: On<Discard<Ship>>, mut commands: Commands| {
                        commands.entity(on.entity).queue(act);
                    });
                } else {
                    world.add_observer(move |on: On<Remove<Ship>>, mut commands: Commands| {
                        commands.entity(on.entity).queue(act);
                    });
                }
                if clear {
                    world.entity_mut(ship).clear();
                } else {
                    world.entity_mut(ship).retain::<Rest>();
                }
                assert_eq!(world.pairs_of(ship).len(), if clear { 0 } else { 2 }, "{what}");
                assert!(world.has_pair::<Likes>(alice, ship), "{what}");
                world.check_pairs().unwrap();
                world.despawn(ship);
                no_ghosts(&mut world);
            }
        }
    }
}

#[test]
fn a_parent_that_is_despawned_while_it_is_cleared_has_no_children_left() {
    let mut world = world_that_records_errors();
    world.adopt_relationship::<CrewOf>();
    let ship = world.spawn(Ship).id();
    let cook = world.spawn((CrewOf(ship), ChildOf(ship))).id();
    world.add_observer(|on: On<Discard<Crew>>, mut commands: Commands| {
        commands.entity(on.entity).queue_silenced(|entity: EntityWorldMut| entity.despawn());
    });
    world.entity_mut(ship).clear();
    assert!(world.get_entity(ship).is_err());
    assert!(world.pairs_of(cook).is_empty(), "{:?}", world.pairs_of(cook));
    no_ghosts(&mut world);
}

#[test]
fn worlds_that_change_places_keep_their_own_pairs() {
    let mut worlds = [(); 2].map(|()| world_that_records_errors());
    let mut ends = Vec::new();
    for (number, world) in worlds.iter_mut().enumerate() {
        if number == 1 {
            entities::<7>(world);
            world.insert_pair(Entity::PLACEHOLDER, Holds, Entity::PLACEHOLDER).unwrap_err();
        }
        let [bob, alice] = entities(world);
        world.insert_pair(bob, Likes, alice).unwrap();
        world.insert_pair(bob, Eats { grams: number as u32 }, alice).unwrap();
        ends.push((bob, alice));
    }
    let [one, two] = &mut worlds;
    core::mem::swap(one, two);
    for (world, number) in [(one, 1), (two, 0)] {
        let (bob, alice) = ends[number];
        assert!(world.has_pair::<Likes>(bob, alice));
        assert_eq!(world.pair_value::<Eats>(bob, alice).map(|eats| eats.grams), Some(number as u32));
        world.entity_mut(bob).clear();
        assert!(world.pairs_of(bob).is_empty());
        no_ghosts(world);
        world.despawn(alice);
        no_ghosts(world);
    }
}

/// The marker is hidden: what observes everything and undoes it does not run in circles with it.
#[test]
fn an_observer_that_clears_whatever_is_inserted_comes_to_an_end() {
    let mut world = world_that_records_errors();
    let marker = marker(&mut world);
    let observer = Observer::new(|on: On<Insert<()>>, mut commands: Commands| {
        commands.entity(on.entity).queue_silenced(|mut entity: EntityWorldMut| {
            entity.clear();
        });
    });
    world.spawn(observer.with_component(marker));
    let [bob, alice] = entities(&mut world);
    _ = world.insert_pair(bob, Likes, alice);
    no_ghosts(&mut world);
    world.entity_mut(bob).insert(Rest);
    no_ghosts(&mut world);
}

/// The ends of a pair are marked, which observers of everything see.
#[test]
fn an_end_that_an_observer_of_everything_despawns_gets_no_pair() {
    for victim in 0..2 {
        let mut world = world_that_records_errors();
        world.register_relation::<Likes>().unwrap();
        let marker = marker(&mut world);
        let [bob, alice] = entities(&mut world);
        let doomed = [bob, alice][victim];
        let observer = Observer::new(move |on: On<Insert<()>>, mut commands: Commands| {
            if on.entity == doomed {
                commands.entity(on.entity).despawn();
            }
        });
        world.spawn(observer.with_component(marker));
        _ = world.insert_pair(bob, Likes, alice);
        assert!(world.get_entity(doomed).is_err());
        assert!(!world.has_pair::<Likes>(bob, alice));
        no_ghosts(&mut world);
    }
}

#[test]
fn a_run_time_relation_that_an_observer_despawns_at_once_is_refused_and_leaves_nothing() {
    let mut world = world_that_records_errors();
    let [bob, alice] = entities(&mut world);
    world.insert_pair(bob, Likes, alice).unwrap();
    let observer = world.add_observer(|on: On<Add<Name>>, mut commands: Commands| {
        commands.entity(on.entity).despawn();
    });
    let observer = observer.id();
    assert!(world.spawn_relation("exclusive", RelationTraits::new().exclusive()).is_err());
    world.despawn(observer);
    let marker = marker(&mut world);
    let observer = Observer::new(|on: On<Insert<()>>, mut commands: Commands| {
        commands.entity(on.entity).queue_silenced(|entity: EntityWorldMut| entity.despawn());
    });
    world.spawn(observer.with_component(marker));
    assert!(world.spawn_relation("exclusive", RelationTraits::new().exclusive()).is_err());
    no_ghosts(&mut world);
}
