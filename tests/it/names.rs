//! Finding entities by their names.

use bevy_ecs::{entity_disabling::Disabled, prelude::*, system::RunSystemOnce};
use bevy_relations::{
    names::{LookupError, NamePaths},
    prelude::*,
    relation::Prefab,
};
use proptest::prelude::*;

/// A world in which names are cached.
fn world() -> World {
    let mut world = World::new();
    world.register_relation::<ChildOf>().unwrap();
    world
}

fn named(world: &mut World, name: &'static str) -> Entity {
    world.spawn(Name::new(name)).id()
}

fn child(world: &mut World, parent: Entity, name: &'static str) -> Entity {
    world.spawn((Name::new(name), ChildOf(parent))).id()
}

#[track_caller]
fn assert_unknown(result: Result<Entity, LookupError>, step: &str, parent: Option<Entity>) {
    match result {
        Err(LookupError::Unknown { step: at, parent: of }) => {
            assert_eq!((&*at, of.map(|of| of.entity())), (step, parent));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_path_goes_down_from_the_root_or_from_a_parent() {
    let mut world = world();
    let sol = named(&mut world, "Sol");
    let earth = child(&mut world, sol, "Earth");
    let moon = child(&mut world, earth, "Moon");
    for _ in 0..2 {
        assert_eq!(world.lookup("Sol"), Ok(sol));
        assert_eq!(world.lookup("Sol.Earth.Moon"), Ok(moon));
        assert_eq!(world.lookup_in(sol, "Earth.Moon"), Ok(moon));
        assert_eq!(world.lookup_unique("Sol.Earth"), Ok(earth));
        assert_eq!(world.lookup_unique_in(earth, "Moon"), Ok(moon));
        assert_unknown(world.lookup("Earth"), "Earth", None);
        assert_unknown(world.lookup("Sol.Moon"), "Moon", Some(sol));
        assert_unknown(world.lookup("Sol.Mars.Phobos"), "Mars", Some(sol));
        assert_unknown(world.lookup_in(moon, "Sol"), "Sol", Some(moon));
        assert_unknown(world.lookup(""), "", None);
        assert_unknown(world.lookup("Sol."), "", Some(sol));
        assert_unknown(world.lookup_unique("Sol..Earth"), "", Some(sol));
    }
    let nobody = named(&mut world, "");
    assert_eq!(world.lookup(""), Ok(nobody));
    world.despawn(sol);
    assert_unknown(world.lookup("Sol.Earth"), "Sol", None);
    assert_unknown(world.lookup_in(sol, "Earth"), "Earth", Some(sol));
}

#[test]
fn a_name_may_hold_dots_and_backslashes() {
    let mut world = world();
    let names = ["a.b", "a", "b", r"\", r"a\.b", ".", "c d\n", "..", r"\."];
    let all = names.map(|name| named(&mut world, name));
    let below = all.map(|parent| child(&mut world, parent, "x.y"));
    for (nth, entity) in all.into_iter().enumerate() {
        let path = world.path_of(entity).unwrap();
        assert_eq!(world.lookup_unique(&path), Ok(entity), "{path}");
        let path = world.path_of(below[nth]).unwrap();
        assert_eq!(world.lookup(&path), Ok(below[nth]), "{path}");
    }
    assert_eq!(world.path_of(below[0]).as_deref(), Some(r"a\.b.x\.y"));
    // A backslash before anything else, or at the end, does no harm.
    assert_eq!(world.lookup(r"\a"), Ok(all[1]));
    assert_eq!(world.lookup(r"\"), Ok(all[3]));
}

#[test]
fn renames_are_followed_however_they_are_made() {
    let mut world = world();
    let parent = named(&mut world, "Parent");
    for in_parent in [false, true] {
        let entity = if in_parent { child(&mut world, parent, "a") } else { named(&mut world, "a") };
        let find = |world: &World, name: &str| {
            let found = if in_parent { world.lookup_in(parent, name) } else { world.lookup(name) };
            found.ok()
        };
        assert_eq!((find(&world, "a"), find(&world, "b")), (Some(entity), None));
        world.get_mut::<Name>(entity).unwrap().set("b");
        assert_eq!((find(&world, "a"), find(&world, "b")), (None, Some(entity)));
        world.get_mut::<Name>(entity).unwrap().mutate(|name| name.push('b'));
        assert_eq!((find(&world, "b"), find(&world, "bb")), (None, Some(entity)));
        world.get_mut::<Name>(entity).unwrap().bypass_change_detection().set("c");
        assert_eq!((find(&world, "bb"), find(&world, "c")), (None, Some(entity)));
        world.entity_mut(entity).insert(Name::new("d"));
        assert_eq!((find(&world, "c"), find(&world, "d")), (None, Some(entity)));
        world.entity_mut(entity).remove::<Name>();
        assert_eq!(find(&world, "d"), None);
        world.entity_mut(entity).insert(Name::new("a"));
        assert_eq!(find(&world, "a"), Some(entity));
        // Another one takes the name over.
        let other = if in_parent { child(&mut world, parent, "z") } else { named(&mut world, "z") };
        world.get_mut::<Name>(entity).unwrap().set("y");
        world.get_mut::<Name>(other).unwrap().set("a");
        assert_eq!((find(&world, "a"), find(&world, "y")), (Some(other), Some(entity)));
    }
}

#[test]
fn reparenting_is_followed() {
    let mut world = world();
    let [a, b] = ["a", "b"].map(|name| named(&mut world, name));
    let x = child(&mut world, a, "x");
    assert_eq!(world.lookup("a.x"), Ok(x));
    world.entity_mut(x).insert(ChildOf(b));
    assert_eq!(
        (world.lookup("a.x").is_ok(), world.lookup("b.x"), world.lookup("x").is_ok()),
        (false, Ok(x), false)
    );
    world.entity_mut(x).remove::<ChildOf>();
    assert_eq!((world.lookup("b.x").is_ok(), world.lookup("x")), (false, Ok(x)));
    world.insert_pair_by_id(x, (world.get_entity_of::<ChildOf>().unwrap(), a)).unwrap();
    assert_eq!((world.lookup("a.x"), world.lookup("x").is_ok()), (Ok(x), false));
}

#[test]
fn the_first_of_several_siblings_of_one_name_is_found_and_all_are_listed_on_request() {
    let mut world = world();
    let parent = named(&mut world, "p");
    let [x1, x2, x3] = [(); 3].map(|()| child(&mut world, parent, "x"));
    let y = child(&mut world, x1, "y");
    assert_eq!(world.lookup("p.x"), Ok(x1));
    assert_eq!(world.lookup("p.x.y"), Ok(y));
    let candidates = |result| match result {
        Err(LookupError::Ambiguous { step, parent: Some(of), candidates }) if step == "x" && of == parent => {
            candidates
        }
        other => panic!("{other:?}"),
    };
    for path in ["p.x", "p.x.y"] {
        assert_eq!(candidates(world.lookup_unique(path)), [x1, x2, x3]);
    }
    world.despawn(x1);
    assert_eq!(world.lookup("p.x"), Ok(x2));
    assert_eq!(candidates(world.lookup_unique_in(parent, "x")), [x2, x3]);
    let error = world.lookup_unique("p.x").unwrap_err();
    assert_eq!(error.to_string(), format!("2 entities are named `x` among the children of p ({parent})"));
    world.get_mut::<Name>(x2).unwrap().set("z");
    assert_eq!((world.lookup("p.x"), world.lookup_unique("p.x")), (Ok(x3), Ok(x3)));
    let mut roots = [(); 2].map(|()| named(&mut world, "root"));
    assert!(roots.contains(&world.lookup("root").unwrap()));
    roots.sort();
    let expected = LookupError::Ambiguous { step: "root".into(), parent: None, candidates: roots.into() };
    assert_eq!(expected.to_string(), "2 entities are named `root` among the entities without a parent");
    assert_eq!(world.lookup_unique("root"), Err(expected));
}

#[test]
fn a_sibling_that_was_renamed_comes_after_one_that_has_come_with_the_name_since() {
    let mut world = world();
    let parent = named(&mut world, "p");
    let first = child(&mut world, parent, "a");
    let second = child(&mut world, parent, "b");
    assert_eq!(world.lookup_in(parent, "b"), Ok(second));
    world.get_mut::<Name>(first).unwrap().set("x");
    let third = child(&mut world, parent, "x");
    for _ in 0..2 {
        assert_eq!(world.lookup_in(parent, "x"), Ok(third));
        assert_eq!(world.lookup("p.x"), Ok(third));
    }
    // Once it is gone, the other is found.
    world.despawn(third);
    assert_eq!(world.lookup_in(parent, "x"), Ok(first));
}

#[test]
fn disabled_entities_and_prefabs_are_found_on_the_world_and_in_systems() {
    let mut world = world();
    let ship = world.spawn((Name::new("Ship"), Prefab)).id();
    let gun = world.spawn((Name::new("Gun"), ChildOf(ship), Disabled)).id();
    assert_eq!((world.lookup("Ship.Gun"), world.path_of(gun).as_deref()), (Ok(gun), Some("Ship.Gun")));
    let check = move |paths: NamePaths| {
        assert_eq!(paths.lookup("Ship"), Ok(ship));
        assert_eq!(paths.lookup_in(ship, "Gun"), Ok(gun));
        assert_eq!(paths.lookup_unique("Ship.Gun"), Ok(gun));
        assert_eq!(paths.lookup_unique_in(ship, "Gun"), Ok(gun));
        assert_eq!(paths.path_of(gun).as_deref(), Some("Ship.Gun"));
        assert_unknown(paths.lookup("Ship.Sail"), "Sail", Some(ship));
    };
    world.run_system_once(check).unwrap();
}

#[test]
fn entities_that_a_component_of_the_program_disables_are_found_too() {
    #[derive(Component)]
    struct Frozen;

    let mut world = world();
    world.register_disabling_component::<Frozen>();
    let ship = world.spawn((Name::new("Ship"), Frozen)).id();
    let gun = world.spawn((Name::new("Gun"), ChildOf(ship), Frozen)).id();
    assert_eq!(world.lookup("Ship.Gun"), Ok(gun));
    let check = move |paths: NamePaths| {
        assert_eq!(paths.lookup("Ship.Gun"), Ok(gun));
        assert_eq!(paths.lookup_unique("Ship.Gun"), Ok(gun));
        assert_eq!(paths.path_of(gun).as_deref(), Some("Ship.Gun"));
    };
    world.run_system_once(check).unwrap();
}

#[test]
fn a_path_exists_only_where_everybody_has_a_name() {
    let mut world = World::new();
    let root = world.spawn_empty().id();
    let below = child(&mut world, root, "below");
    assert_eq!((world.path_of(root), world.path_of(below)), (None, None));
    assert_eq!(world.lookup_in(root, "below"), Ok(below));
    world.despawn(root);
    assert_eq!(world.path_of(below), None);
    // Without the rules of relations nothing keeps parents from going round in a circle.
    let circle = ["a", "b", "c"].map(|name| named(&mut world, name));
    for nth in 0..3 {
        world.entity_mut(circle[nth]).insert(ChildOf(circle[(nth + 1) % 3]));
    }
    let tail = child(&mut world, circle[0], "tail");
    assert_eq!(circle.map(|entity| world.path_of(entity)), [None, None, None]);
    assert_eq!(world.path_of(tail), None);
    assert_eq!(world.lookup_in(circle[0], "c.b.a.tail"), Ok(tail));
}

#[test]
fn long_paths_are_walked_step_by_step() {
    let mut world = world();
    let root = named(&mut world, "n");
    let last = (0..500).fold(root, |parent, _| child(&mut world, parent, "n"));
    let path = ["n"; 501].join(".");
    assert_eq!(world.lookup(&path), Ok(last));
    assert_eq!(world.path_of(last), Some(path));
}

#[test]
fn many_names_that_come_and_go_are_found_while_they_are_there() {
    let mut world = world();
    let hub = named(&mut world, "hub");
    for round in 0..20 {
        let spawn = |world: &mut World, nth: usize| {
            let name = Name::new(format!("{round}/{nth}"));
            let parent = [Some(hub), None][nth % 2];
            let mut entity = world.spawn(name);
            if let Some(parent) = parent {
                entity.insert(ChildOf(parent));
            }
            entity.id()
        };
        let all: Vec<Entity> = (0..200).map(|nth| spawn(&mut world, nth)).collect();
        for (nth, &entity) in all.iter().enumerate() {
            let prefix = ["hub.", ""][nth % 2];
            assert_eq!(world.lookup(&format!("{prefix}{round}/{nth}")), Ok(entity));
            assert!(world.lookup(&format!("{prefix}{}/{nth}", round + 1)).is_err());
        }
        for (nth, entity) in all.into_iter().enumerate().filter(|(nth, _)| nth % 10 != 0) {
            world.despawn(entity);
            let prefix = ["hub.", ""][nth % 2];
            assert!(world.lookup(&format!("{prefix}{round}/{nth}")).is_err());
        }
    }
}

const NAMES: [&str; 4] = ["a", "b", "c.d", ""];

#[derive(Clone, Debug)]
enum Step {
    Spawn { name: Option<usize>, parent: Option<usize> },
    Rename { entity: usize, name: usize, how: u8 },
    Unname { entity: usize },
    Move { entity: usize, parent: Option<usize> },
    Swap { parent: usize },
    Disable { entity: usize },
    Despawn { entity: usize },
    Check { parent: Option<usize>, in_system: bool },
}

fn step() -> impl Strategy<Value = Step> {
    let entity = || 0..12_usize;
    let name = || 0..NAMES.len();
    let maybe = || prop::option::of(0..12_usize);
    prop_oneof![
        3 => (prop::option::weighted(0.9, name()), maybe()).prop_map(|(name, parent)| Step::Spawn { name, parent }),
        4 => (entity(), name(), 0..3_u8).prop_map(|(entity, name, how)| Step::Rename { entity, name, how }),
        1 => entity().prop_map(|entity| Step::Unname { entity }),
        3 => (entity(), maybe()).prop_map(|(entity, parent)| Step::Move { entity, parent }),
        1 => entity().prop_map(|parent| Step::Swap { parent }),
        1 => entity().prop_map(|entity| Step::Disable { entity }),
        1 => entity().prop_map(|entity| Step::Despawn { entity }),
        5 => (maybe(), any::<bool>()).prop_map(|(parent, in_system)| Step::Check { parent, in_system }),
    ]
}

/// The entities that have the name and the parent, found by looking at all.
fn by_hand(world: &World, all: &[Entity], parent: Option<Entity>, name: &str) -> Vec<Entity> {
    let fits = |&entity: &Entity| {
        world.get::<Name>(entity).is_some_and(|own| own.as_str() == name)
            && world.get::<ChildOf>(entity).map(ChildOf::parent) == parent
    };
    all.iter().copied().filter(fits).collect()
}

fn check_found(
    mut expected: Vec<Entity>,
    first: Result<Entity, LookupError>,
    unique: Result<Entity, LookupError>,
    step: &str,
    parent: Option<Entity>,
) {
    match &*expected {
        [] => {
            assert_unknown(first, step, parent);
            assert_unknown(unique, step, parent);
        }
        [only] => assert_eq!((first, unique), (Ok(*only), Ok(*only))),
        _ => {
            assert!(expected.contains(&first.unwrap()));
            let Err(LookupError::Ambiguous { candidates, .. }) = unique else { panic!("{unique:?}") };
            let mut candidates = candidates;
            candidates.sort();
            expected.sort();
            assert_eq!(candidates, expected);
        }
    }
}

fn check(world: &mut World, all: &[Entity], parent: Option<Entity>, in_system: bool) {
    for name in NAMES {
        let path = name.replace('.', "\\.");
        let expected = by_hand(world, all, parent, name);
        let (first, unique) = if in_system {
            let find = {
                let path = path.clone();
                move |paths: NamePaths| match parent {
                    Some(parent) => (paths.lookup_in(parent, &path), paths.lookup_unique_in(parent, &path)),
                    None => (paths.lookup(&path), paths.lookup_unique(&path)),
                }
            };
            world.run_system_once(find).unwrap()
        } else {
            match parent {
                Some(parent) => (world.lookup_in(parent, &path), world.lookup_unique_in(parent, &path)),
                None => (world.lookup(&path), world.lookup_unique(&path)),
            }
        };
        check_found(expected, first, unique, name, parent);
    }
}

fn run(cached: bool, steps: Vec<Step>) {
    let mut world = if cached { world() } else { World::new() };
    let mut all: Vec<Entity> = Vec::new();
    for step in steps {
        let pick = |nth: usize| all.get(nth % all.len().max(1)).copied();
        match step {
            Step::Spawn { name, parent } => {
                let parent = parent.and_then(pick);
                let mut entity = world.spawn_empty();
                if let Some(name) = name {
                    entity.insert(Name::new(NAMES[name]));
                }
                if let Some(parent) = parent {
                    entity.insert(ChildOf(parent));
                }
                all.push(entity.id());
            }
            Step::Rename { entity, name, how } => {
                let Some(entity) = pick(entity) else { continue };
                match world.get_mut::<Name>(entity) {
                    Some(mut old) if how == 0 => old.set(NAMES[name]),
                    Some(mut old) if how == 1 => old.bypass_change_detection().set(NAMES[name]),
                    _ => {
                        world.entity_mut(entity).insert(Name::new(NAMES[name]));
                    }
                }
            }
            Step::Unname { entity } => {
                let Some(entity) = pick(entity) else { continue };
                world.entity_mut(entity).remove::<Name>();
            }
            Step::Move { entity, parent } => {
                let Some(entity) = pick(entity) else { continue };
                let parent = parent.and_then(pick);
                let mut above = parent;
                while let Some(next) = above.filter(|&above| above != entity) {
                    above = world.get::<ChildOf>(next).map(ChildOf::parent);
                }
                match parent {
                    Some(parent) if above.is_none() => world.entity_mut(entity).insert(ChildOf(parent)),
                    _ => world.entity_mut(entity).remove::<ChildOf>(),
                };
            }
            Step::Swap { parent } => {
                let Some(mut children) = pick(parent).and_then(|parent| world.get_mut::<Children>(parent))
                else {
                    continue;
                };
                let last = children.len() - 1;
                children.swap(0, last);
            }
            Step::Disable { entity } => {
                let Some(entity) = pick(entity) else { continue };
                world.entity_mut(entity).insert(Disabled);
            }
            Step::Despawn { entity } => {
                let Some(entity) = pick(entity) else { continue };
                world.despawn(entity);
                all.retain(|&entity| world.get_entity(entity).is_ok());
            }
            Step::Check { parent, in_system } => {
                let parent = parent.and_then(pick);
                check(&mut world, &all, parent, in_system);
            }
        }
    }
    for parent in all.clone().into_iter().map(Some).chain([None]) {
        check(&mut world, &all, parent, false);
        check(&mut world, &all, parent, true);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn lookups_find_what_a_search_by_hand_finds(cached: bool, steps in prop::collection::vec(step(), 1..80)) {
        run(cached, steps);
    }
}

#[test]
fn parents_that_are_gone_or_odd_are_reported_as_what_they_are() {
    let mut world = world();
    let sol = named(&mut world, "Sol");
    world.despawn(sol);
    let error = world.lookup_in(sol, "Earth").unwrap_err().to_string();
    assert_eq!(error, format!("nothing is named `Earth` among the children of {sol}"));
    let likes = world.spawn_relation("likes", RelationTraits::new()).unwrap();
    let error = world.lookup_unique_in(likes, "a.b").unwrap_err().to_string();
    assert_eq!(error, format!("nothing is named `a` among the children of likes ({likes})"));
    let odd = world.spawn(Name::new("\"q\".\n\u{202e}")).id();
    let error = world.lookup_in(odd, "x").unwrap_err().to_string();
    assert!(error.contains(&odd.to_string()), "{error}");
}

/// Bevy leaves an entity in `Children` when its `ChildOf` is moved to another entity.
#[test]
fn what_is_still_listed_as_a_child_but_is_none_has_no_path_below_the_parent() {
    for mut world in [World::new(), world()] {
        let sol = named(&mut world, "Sol");
        let earth = child(&mut world, sol, "Earth");
        let mars = named(&mut world, "Mars");
        world.entity_mut(earth).move_components::<ChildOf>(mars);
        for _ in 0..2 {
            assert_unknown(world.lookup("Sol.Earth"), "Earth", Some(sol));
            assert_eq!((world.lookup("Earth"), world.lookup("Sol.Mars")), (Ok(earth), Ok(mars)));
        }
        let in_system = move |paths: NamePaths| assert_unknown(paths.lookup("Sol.Earth"), "Earth", Some(sol));
        world.run_system_once(in_system).unwrap();
    }
}
