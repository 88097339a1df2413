//! Lookups of names, compared with a look at every entity, while names and parents change at random.

use crate::common::{Random, fewer, record_errors_of, size, try_reuse_index};
use bevy_ecs::{entity_disabling::Disabled, prelude::*, system::RunSystemOnce};
use bevy_relations::{names::NamePaths, prelude::*};
use std::collections::HashMap;

const NAMES: [&str; 6] = ["a", "b", "", "c.d", "é", "long name with blanks"];

/// Observers remove the name of what gets it, and give another to what loses it.
#[derive(Component)]
struct Nameless;

/// The first entity that was found under a parent and a name.
type Found = HashMap<(Option<Entity>, &'static str), Entity>;

fn world(with_observers: bool) -> World {
    let mut world = World::new();
    record_errors_of(&mut world);
    world.register_relation::<ChildOf>().unwrap();
    if with_observers {
        world.add_observer(|on: On<Add<Nameless>>, mut commands: Commands| {
            commands.entity(on.entity).remove::<Name>();
        });
        world.add_observer(|on: On<Remove<Nameless>>, mut commands: Commands| {
            commands.entity(on.entity).try_insert(Name::new("b"));
        });
    }
    world
}

fn change(world: &mut World, entities: &mut [Entity], random: &mut Random) {
    let at = random.below(entities.len());
    let (entity, other, name) = (entities[at], random.pick(entities), NAMES[random.below(NAMES.len())]);
    match random.below(14) {
        0..3 => _ = world.entity_mut(entity).insert(Name::new(name)),
        3 => {
            if let Some(mut own) = world.get_mut::<Name>(entity) {
                own.set(name);
            }
        }
        4 => _ = world.entity_mut(entity).remove::<Name>(),
        5..8 => {
            if entity != other {
                world.entity_mut(entity).insert(ChildOf(other));
            }
        }
        // Refused, if it closes a cycle.
        8 => _ = world.insert_pair(entity, ChildOf(other), other),
        9 => _ = world.entity_mut(entity).remove::<ChildOf>(),
        10 => {
            world.despawn(entity);
            for entity in entities {
                if world.get_entity(*entity).is_ok() {
                    continue;
                }
                let reused = if random.below(4) == 0 { try_reuse_index(world, *entity) } else { None };
                *entity = reused.unwrap_or_else(|| world.spawn_empty().id());
            }
        }
        11 => {
            world.entity_mut(entity).detach_all_children();
            world.despawn(entity);
            entities[at] = world.spawn(Name::new(name)).id();
        }
        12 => {
            let mut entity = world.entity_mut(entity);
            match entity.contains::<Nameless>() {
                true => entity.remove::<Nameless>(),
                false => entity.insert(Nameless),
            };
        }
        _ => _ = world.spawn((Name::new(name), ChildOf(entity))),
    }
}

/// The entities with the name among the children of the parent, or among the roots.
fn candidates(world: &mut World, parent: Option<Entity>, name: &str) -> Vec<Entity> {
    let Some(parent) = parent else {
        let mut roots = world.query_filtered::<(Entity, &Name), (Without<ChildOf>, Allow<Disabled>)>();
        return roots.iter(world).filter(|(_, own)| own.as_str() == name).map(|(root, _)| root).collect();
    };
    let children = world.get::<Children>(parent).into_iter().flatten().copied();
    children.filter(|&child| world.get::<Name>(child).is_some_and(|own| own.as_str() == name)).collect()
}

fn check(world: &mut World, parent: Option<Entity>, name: &'static str, found: &mut Found, place: &str) {
    let candidates = candidates(world, parent, name);
    let place = format!("{place}, {name:?} in {parent:?}: {candidates:?}");
    let path = name.replace('.', "\\.");
    let lookup = |world: &World| match parent {
        Some(parent) => world.lookup_in(parent, &path).ok(),
        None => world.lookup(&path).ok(),
    };
    let of_world = lookup(world);
    match of_world {
        None => assert!(candidates.is_empty(), "nothing is found: {place}"),
        Some(entity) => assert!(candidates.contains(&entity), "{entity} is found: {place}"),
    }
    let of_path = path.clone();
    let in_system = move |names: NamePaths| match parent {
        Some(parent) => names.lookup_in(parent, &of_path).ok(),
        None => names.lookup(&of_path).ok(),
    };
    assert_eq!(world.run_system_once(in_system).unwrap(), of_world, "{place}");
    assert_eq!(lookup(world), of_world, "it is found again: {place}");
    if let (Some(known), [only]) = (found.get(&(parent, name)), &*candidates)
        && known == only
    {
        assert_eq!(of_world, Some(*known), "{place}");
    }
    if let Some(entity) = of_world {
        found.insert((parent, name), entity);
    }
}

#[test]
fn lookups_find_what_a_look_at_every_entity_finds() {
    for seed in 0..fewer(2) as u64 {
        let mut world = world(seed % 2 == 0);
        let mut random = Random(seed * 991 + 3);
        let mut entities: Vec<Entity> = (0..40).map(|_| world.spawn_empty().id()).collect();
        let mut found = Found::new();
        for round in 0..size(2_500, 50) {
            change(&mut world, &mut entities, &mut random);
            if random.below(3) != 0 {
                continue;
            }
            world.check_pairs().unwrap();
            for _ in 0..6 {
                let name = NAMES[random.below(NAMES.len())];
                let parent = if random.below(3) == 0 { None } else { Some(random.pick(&entities)) };
                check(&mut world, parent, name, &mut found, &format!("seed {seed}, round {round}"));
            }
        }
    }
}

#[test]
fn names_of_many_parents_are_found_as_they_come_and_go() {
    const PARENTS: usize = 60;
    let mut world = world(false);
    let parents: Vec<Entity> = (0..PARENTS).map(|at| world.spawn(Name::new(format!("p{at}"))).id()).collect();
    for round in 0..fewer(4) {
        for (number, &parent) in parents.iter().enumerate() {
            let other = parents[(number + 1) % PARENTS];
            let names: Vec<String> = (0..60).map(|at| format!("{round}-{number}-{at}")).collect();
            let children: Vec<Entity> = names
                .iter()
                .map(|name| world.spawn((Name::new(name.clone()), ChildOf(parent))).id())
                .collect();
            for (name, &child) in names.iter().zip(&children) {
                assert_eq!(world.lookup(&format!("p{number}.{name}")), Ok(child));
            }
            for (at, &child) in children.iter().enumerate() {
                match at % 4 {
                    0 => _ = world.despawn(child),
                    1 => world.get_mut::<Name>(child).unwrap().set("renamed"),
                    2 => _ = world.entity_mut(child).insert(ChildOf(other)),
                    _ => {}
                }
            }
            for (at, (name, &child)) in names.iter().zip(&children).enumerate() {
                let expected = (at % 4 == 3).then_some(child);
                assert_eq!(world.lookup(&format!("p{number}.{name}")).ok(), expected);
                if at % 4 == 2 {
                    assert_eq!(world.lookup_in(other, name), Ok(child));
                }
            }
        }
        for &parent in parents.iter().step_by(7) {
            world.entity_mut(parent).despawn_children();
        }
    }
}
