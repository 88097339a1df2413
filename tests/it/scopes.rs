//! Scopes: what is spawned in one becomes a child, and names start there.
//!
//! What a program can do there: spawn by the world, in batches, by commands, systems and observers, with and without a parent of its
//! own; scopes in scopes, of one entity twice; despawn the parent, what was spawned, or what was there before; make the parent a
//! child of what it spawned; look names up; panic; use relations for the first time; several worlds.

use crate::common::{Random, fewer, panic_message, spawn, take_reported_errors, world_that_records_errors};
use bevy_ecs::{prelude::*, system::RunSystemOnce};
use bevy_relations::{
    live::*,
    names::NamePaths,
    prelude::*,
    world::{ScopeError, WorldScopeExt},
};

#[derive(Relation)]
struct Likes;

#[derive(Resource)]
struct Clock;

fn named(world: &mut World, name: &str) -> Entity {
    world.spawn(Name::new(name.to_owned())).id()
}

fn parent(world: &World, entity: Entity) -> Option<Entity> {
    world.get::<ChildOf>(entity).map(ChildOf::parent)
}

#[test]
fn whatever_is_spawned_becomes_a_child() {
    let mut world = world_that_records_errors();
    let [sol, other, before] = spawn(&mut world);
    world.commands().spawn(Name::new("queued before"));
    world.add_observer(|on: On<Add<Name>>, names: Query<&Name>, mut commands: Commands| {
        if names.get(on.entity).is_ok_and(|name| name.as_str() == "twin") {
            commands.spawn(Name::new("of an observer"));
        }
    });
    let spawned = world
        .with_scope(sol, |world| {
            let mut spawned = vec![world.spawn_empty().id(), named(world, "twin")];
            spawned.extend(world.spawn_batch([Name::new("a"), Name::new("b")]));
            spawned.push(world.commands().spawn_empty().id());
            spawned
                .push(world.run_system_once(|mut commands: Commands| commands.spawn_empty().id()).unwrap());
            // The store, a resource, a type and an observer are no children.
            spawned.push(world.spawn(Pair(Likes, other)).id());
            world.insert_resource(Clock);
            world.add_observer(|_: On<Add<ChildOf>>| {});
            world.spawn(ChildOf(other));
            spawned
        })
        .unwrap();
    assert!(spawned.iter().all(|&entity| parent(&world, entity) == Some(sol)));
    let children = world.get::<Children>(sol).unwrap();
    assert_eq!(children.len(), spawned.len() + 1, "and what the observer has spawned");
    assert!(children.windows(2).all(|pair| pair[0].index_u32() < pair[1].index_u32()));
    assert_eq!(world.get::<Children>(other).map(RelationshipTarget::len), Some(1), "it had a parent already");
    assert_eq!(parent(&world, world.lookup("queued before").unwrap()), None);
    let likes = world.get_entity_of::<Likes>().unwrap();
    assert!([before, sol, likes].iter().all(|&entity| parent(&world, entity).is_none()));
    let after = world.spawn_empty().id();
    assert_eq!(parent(&world, after), None);
    assert!(world.has_pair::<ChildOf>(spawned[0], sol));
    world.check_pairs().unwrap();
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn scopes_stand_in_each_other() {
    let mut world = World::new();
    let [sol, dock] = spawn(&mut world);
    let (earth, moon, mars, crane) = world
        .with_scope(sol, |world| {
            let earth = named(world, "Earth");
            let moon = world.with_scope(earth, |world| named(world, "Moon")).unwrap();
            let mars = named(world, "Mars");
            // One that stands elsewhere, and the same again.
            let crane = world.with_scope(dock, |world| world.spawn_empty().id()).unwrap();
            let station = world.with_scope(sol, |world| world.spawn_empty().id()).unwrap();
            assert_eq!(parent(world, station), Some(sol));
            assert_eq!(parent(world, earth), None, "not yet");
            (earth, moon, mars, crane)
        })
        .unwrap();
    let parents = [earth, moon, mars, crane].map(|entity| parent(&world, entity));
    assert_eq!(parents, [Some(sol), Some(earth), Some(sol), Some(dock)]);
    assert_eq!(parent(&world, dock), None);
    world.check_pairs().unwrap();
}

#[test]
fn paths_start_in_the_scope() {
    let mut world = World::new();
    let [sol, earth, other] = ["Sol", "Earth", "Other"].map(|name| named(&mut world, name));
    let inner = world.spawn((Name::new("Earth"), ChildOf(sol))).id();
    let base = world.spawn((Name::new("Base"), ChildOf(inner))).id();
    let lookup = |world: &World, path: &str| world.lookup(path).ok();
    assert_eq!((lookup(&world, "Earth"), lookup(&world, "Base")), (Some(earth), None));
    world
        .with_scope(sol, |world| {
            assert_eq!((lookup(world, "Earth"), lookup(world, "Earth.Base")), (Some(inner), Some(base)));
            assert_eq!(world.lookup_unique("Earth"), Ok(inner));
            assert_eq!((lookup(world, "Other"), lookup(world, "Sol.Earth")), (Some(other), Some(inner)));
            assert_eq!(lookup(world, "Mars"), None);
            let mars = named(world, "Mars");
            assert_eq!(lookup(world, "Mars"), Some(mars), "it has no parent yet");
            let found = world.run_system_once(|paths: NamePaths| paths.lookup("Earth.Base").ok()).unwrap();
            assert_eq!(found, Some(base));
            world
                .with_scope(inner, |world| {
                    assert_eq!((lookup(world, "Base"), lookup(world, "Earth")), (Some(base), Some(inner)));
                })
                .unwrap();
            assert_eq!(lookup(world, "Base"), None);
            assert_eq!(world.path_of(base).as_deref(), Some("Sol.Earth.Base"), "paths are told in full");
        })
        .unwrap();
    assert_eq!((lookup(&world, "Earth"), lookup(&world, "Mars")), (Some(earth), None));
    assert!(lookup(&world, "Sol.Mars").is_some());
    // Two of a name in the scope are ambiguous, though one stands outside, too.
    world.spawn((Name::new("Earth"), ChildOf(sol)));
    world.with_scope(sol, |world| assert!(world.lookup_unique("Earth").is_err())).unwrap();
}

#[test]
fn expressions_mean_what_is_in_the_scope() {
    use bevy_relations::expr::{PairExpr, UnknownNames, WorldExprExt};
    let mut world = World::new();
    let [sol, ship] = ["Sol", "Kite"].map(|name| named(&mut world, name));
    let [outer] = ["Earth"].map(|name| named(&mut world, name));
    let inner = world.spawn((Name::new("Earth"), ChildOf(sol))).id();
    world.register_relation::<Likes>().unwrap();
    world
        .with_scope(sol, |world| {
            world.insert_expr_with(ship, "(Likes, Earth), Pirate", UnknownNames::Spawn).unwrap();
            let mut expr = PairExpr::parse("(Likes, Earth)").unwrap().compile(world).unwrap();
            assert_eq!(expr.count(world), Ok(1));
        })
        .unwrap();
    assert!(world.has_pair::<Likes>(ship, inner) && !world.has_pair::<Likes>(ship, outer));
    assert_eq!(parent(&world, world.lookup("Sol.Pirate").unwrap()), Some(sol), "it was spawned there");
}

#[test]
fn a_parent_that_is_not_alive_is_an_error() {
    let mut world = world_that_records_errors();
    let [sol, earth] = ["Sol", "Earth"].map(|name| named(&mut world, name));
    let child = world.spawn(ChildOf(earth)).id();
    let error = world.with_scope(earth, |world| {
        let spawned = world.spawn_empty().id();
        world.despawn(earth);
        assert!(world.get_entity(child).is_err());
        spawned
    });
    assert_eq!(error.unwrap_err().to_string(), format!("Earth ({earth}) was despawned in its own scope"));
    let mut ran = false;
    let error = world.with_scope(earth, |_| ran = true).unwrap_err();
    assert!(matches!(error, ScopeError::Dead { .. }) && !ran, "{error}");
    // The outer scope is what it was.
    let spawned = world.with_scope(sol, |world| {
        let moon = named(world, "Moon");
        assert!(world.with_scope(moon, |world| world.despawn(moon)).is_err());
        named(world, "Mars")
    });
    assert_eq!(parent(&world, spawned.unwrap()), Some(sol));
    // An observer of the first child despawns the parent.
    world.add_observer(move |on: On<Add<ChildOf>>, mut commands: Commands| {
        if on.entity != sol {
            commands.entity(sol).despawn();
        }
    });
    let mut all = Vec::new();
    let error = world.with_scope(sol, |world| all.extend(spawn::<3>(world))).unwrap_err();
    assert!(matches!(error, ScopeError::Despawned { .. }), "{error}");
    // Bevy's own commands for the child.
    take_reported_errors();
    let left = all.iter().filter(|&&entity| world.get_entity(entity).is_ok());
    assert!(left.clone().all(|&entity| parent(&world, entity).is_none()));
    world.check_pairs().unwrap();
}

#[test]
fn what_the_parent_is_below_is_no_child_of_it() {
    let mut world = world_that_records_errors();
    let [sol] = spawn(&mut world);
    let (galaxy, star) = world
        .with_scope(sol, |world| {
            let [galaxy, star] = spawn(world);
            world.entity_mut(sol).insert(ChildOf(galaxy));
            (galaxy, star)
        })
        .unwrap();
    let parents = [sol, galaxy, star].map(|entity| parent(&world, entity));
    assert_eq!(parents, [Some(galaxy), None, Some(sol)]);
    assert_eq!(take_reported_errors(), [""; 0]);
    world.check_pairs().unwrap();
}

#[test]
fn a_panic_leaves_the_scope() {
    let mut world = World::new();
    let [sol, earth] = ["Sol", "Earth"].map(|name| named(&mut world, name));
    let mut spawned = Vec::new();
    world
        .with_scope(sol, |world| {
            let message = panic_message(|| {
                world.with_scope(earth, |world| {
                    spawned.push(named(world, "Moon"));
                    panic!("in the scope");
                })
            });
            assert_eq!(message.as_deref(), Some("in the scope"));
            assert!(world.lookup("Mars").is_err());
            spawned.push(named(world, "Mars"));
        })
        .unwrap();
    world.flush();
    assert_eq!([spawned[0], spawned[1]].map(|entity| parent(&world, entity)), [Some(earth), Some(sol)]);
    world.with_scope(earth, |world| assert!(world.lookup("Moon").is_ok())).unwrap();
    assert!(world.lookup("Mars").is_err() && world.lookup("Sol.Mars").is_ok());
    world.check_pairs().unwrap();
}

#[test]
fn worlds_have_scopes_of_their_own() {
    let (mut one, mut other) = (World::new(), World::new());
    let [a, b] = [&mut one, &mut other].map(|world| named(world, "Sol"));
    let there = one.with_scope(a, |_| other.spawn(Name::new("Earth")).id()).unwrap();
    assert_eq!((parent(&other, there), other.lookup("Earth")), (None, Ok(there)));
    let (here, there) = one
        .with_scope(a, |one| {
            let here = one.spawn_empty().id();
            (here, other.with_scope(b, |other| other.spawn_empty().id()).unwrap())
        })
        .unwrap();
    assert_eq!((parent(&one, here), parent(&other, there)), (Some(a), Some(b)));
}

/// Spawns, despawns and enters scopes at random, beside a list of what each entity's parent must be.
fn play(
    world: &mut World,
    random: &mut Random,
    expected: &mut Vec<(Entity, Option<Entity>)>,
    inside: Option<Entity>,
    depth: usize,
) {
    let mut open = Vec::new();
    for _ in 0..1 + random.below(5) {
        match random.below(if depth < 4 { 5 } else { 3 }) {
            0 | 1 => open.push(world.spawn_empty().id()),
            2 => {
                let alive = expected.len();
                let Some(&(above, _)) = expected.get(random.below(alive + 1)) else { continue };
                let child = world.spawn(ChildOf(above)).id();
                expected.push((child, Some(above)));
            }
            _ => {
                // Of one that was spawned in this scope, or before.
                let all: Vec<Entity> =
                    expected.iter().map(|(entity, _)| *entity).chain(open.clone()).collect();
                let of = random.pick(&all);
                world.with_scope(of, |world| play(world, random, expected, Some(of), depth + 1)).unwrap();
            }
        }
    }
    expected.extend(open.into_iter().map(|entity| (entity, inside)));
}

#[test]
fn random_scopes_give_each_entity_its_parent() {
    for seed in 1..=fewer(60) as u64 {
        let mut world = world_that_records_errors();
        let mut random = Random(seed * 104_729);
        let root = world.spawn_empty().id();
        let mut expected = vec![(root, None)];
        for _ in 0..4 {
            play(&mut world, &mut random, &mut expected, None, 0);
            for &(entity, above) in &expected {
                assert_eq!(parent(&world, entity), above);
            }
            world.check_pairs().unwrap();
        }
        assert_eq!(take_reported_errors(), [""; 0]);
    }
}

#[test]
fn what_the_crate_keeps_for_itself_is_no_child() {
    #[derive(Component)]
    struct Hurt;
    #[derive(Expression)]
    #[expr("Hurt")]
    struct HurtOnes;
    #[derive(Resource, Default)]
    struct Entered(usize);

    let mut world = World::new();
    world.register_component_name::<Hurt>("Hurt");
    world.init_resource::<Entered>();
    let [sol] = spawn(&mut world);
    let is_known = world.with_scope(sol, |world| {
        world.add_row_events::<HurtOnes>().unwrap();
        world.entity_of::<Hurt>()
    });
    is_known.unwrap();
    world.add_observer(|_: On<RowEntered<HurtOnes>>, mut entered: ResMut<Entered>| entered.0 += 1);
    assert!(world.get::<Children>(sol).is_none());
    world.despawn(sol);
    world.spawn(Hurt);
    world.update_live().unwrap();
    assert_eq!(world.resource::<Entered>().0, 1);
}
