//! How expressions are planned, and that the quicker ways find the same in worlds that are large enough for them.

use bevy_ecs::{entity_disabling::Disabled, prelude::*};
use bevy_relations::{
    expr::{CompiledExpr, PairExpr},
    prelude::*,
};

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo;

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct MountedOn;

#[derive(Component)]
struct Fuel;

#[derive(Component)]
struct Planet;

fn names(world: &mut World) -> [(&'static str, Entity); 4] {
    let docked = world.register_relation::<DockedTo>().unwrap();
    let mounted = world.register_relation::<MountedOn>().unwrap();
    let (fuel, planet) = (world.entity_of::<Fuel>(), world.entity_of::<Planet>());
    [("Fuel", fuel), ("Planet", planet), ("DockedTo", docked), ("MountedOn", mounted)]
}

/// `Fuel`, `Planet`, `DockedTo` and `MountedOn` stand for what has these types.
fn compile(world: &mut World, text: &str) -> CompiledExpr {
    world.register_component::<Fuel>();
    world.register_component::<Planet>();
    let mut text = text.to_owned();
    for (name, entity) in names(world) {
        text = text.replace(name, &format!("#{}", entity.to_bits()));
    }
    PairExpr::parse(text).and_then(|expr| expr.compile(world)).unwrap()
}

/// The names of the steps of the physical plan, without what they are made of.
fn steps(expr: &mut CompiledExpr, world: &World) -> Vec<String> {
    let text = expr.explain(world).unwrap();
    let name = |line: &str| {
        line.split_once(" #").or(line.split_once(" (")).map_or(line, |parts| parts.0).trim().to_owned()
    };
    text.lines().skip_while(|line| *line != "physical").skip(1).map(name).collect()
}

/// Planets 0 to 9 and 2,000 others, every second of which is docked, every third has fuel, and every fifth is
/// disabled.
fn harbour() -> (World, Vec<Entity>) {
    let mut world = World::new();
    let planets: Vec<Entity> = (0..10).map(|_| world.spawn(Planet).id()).collect();
    for number in 0..2000 {
        let mut entity = world.spawn_empty();
        if number % 3 == 0 {
            entity.insert(Fuel);
        }
        if number % 5 == 0 {
            entity.insert(Disabled);
        }
        let entity = entity.id();
        if number % 2 == 0 {
            world.insert_pair(entity, DockedTo, planets[number % 10]).unwrap();
        }
    }
    (world, planets)
}

fn count(numbers: impl Fn(usize) -> bool) -> usize {
    (0..2000).filter(|&number| number % 5 != 0 && numbers(number)).count()
}

#[test]
fn the_logical_plan_is_a_tree_of_relational_operators() {
    let (mut world, planets) = harbour();
    let planet = planets[0].to_bits();
    let texts = [
        ("Fuel", "scan Fuel"),
        ("Planet(Sol)", "lookup Planet(Sol)"),
        ("Fuel()", "unit Fuel()"),
        ("(DockedTo, $p), Planet($p)", "join\n  scan (DockedTo, $p)\n  scan Planet($p)"),
        ("(DockedTo, _)", "semi-join (DockedTo, _)"),
        ("Fuel, !Planet", "join\n  scan Fuel\n  anti-join\n    scan Planet"),
        ("Fuel, ?(DockedTo, $p)", "join\n  scan Fuel\n  optional\n    scan (DockedTo, $p)"),
        ("Fuel(up MountedOn)", "closure Fuel(up MountedOn)"),
        ("Fuel(cascade MountedOn)", "sort by depth, ascending\n  closure Fuel(cascade MountedOn)"),
        (
            "Fuel, !{(DockedTo, $p), Planet($p)}",
            "join\n  scan Fuel\n  anti-join\n    join\n      scan (DockedTo, $p)\n      scan Planet($p)",
        ),
        (
            "Fuel || {Planet, !Fuel}",
            "union\n  scan Fuel\n  join\n    scan Planet\n    anti-join\n      scan Fuel",
        ),
        ("Fuel($x), $x != Sol", "join\n  scan Fuel($x)\n  select $x != Sol"),
        ("Fuel($x.core)", "join\n  compute child at \"core\"\n  scan Fuel($x.core)"),
    ];
    for (text, expected) in texts {
        let mut expr = compile(&mut world, &text.replace("Sol", &format!("#{planet}")));
        let explained = expr.explain(&world).unwrap();
        let mut tree: String = explained
            .lines()
            .skip(1)
            .take_while(|line| *line != "physical")
            .map(|line| format!("{}\n", &line[2..]))
            .collect();
        for (name, entity) in names(&mut world).into_iter().chain([("Sol", planets[0])]) {
            tree = tree.replace(&format!("#{}", entity.to_bits()), name);
        }
        assert_eq!(tree.trim_end(), expected, "{text}");
    }
}

#[test]
fn terms_that_look_at_one_entity_are_tests_of_what_is_scanned() {
    let (mut world, _) = harbour();
    for (text, expected) in [
        ("Fuel, !(DockedTo, *)", &["scan", "has none"][..]),
        ("Fuel, ?(DockedTo, *)", &["scan", "target if any"]),
        ("Fuel, ?(DockedTo, _)", &["scan", "mark"]),
        ("Fuel, Planet || (DockedTo, _)", &["scan", "choose"]),
    ] {
        let mut expr = compile(&mut world, text);
        assert_eq!(steps(&mut expr, &world), expected, "{text}");
    }
}

#[derive(Relation)]
#[relation(transitive)]
struct Within;

#[test]
fn pairs_that_follow_from_others_are_tested_where_both_ends_are_known() {
    let (mut world, planets) = harbour();
    let within = world.register_relation::<Within>().unwrap();
    let docked = world.register_relation::<DockedTo>().unwrap();
    // Each planet is within the next one, and ships of every third number are within the planet where they are docked.
    for near in planets.windows(2) {
        world.insert_pair(near[0], Within, near[1]).unwrap();
    }
    let ships: Vec<(Entity, Entity)> = world.pairs::<DockedTo>().iter().collect();
    for &(ship, planet) in ships.iter().step_by(3) {
        world.insert_pair(ship, Within, planet).unwrap();
    }
    let visible = |world: &World, ship: Entity| !world.entity(ship).contains::<Disabled>();
    let place = |planet: Entity| planets.iter().position(|&known| known == planet).unwrap();
    let all = ships.iter().enumerate().filter(|(_, (ship, _))| visible(&world, *ship));
    let own = all.clone().filter(|(number, _)| number % 3 == 0).count();
    let none = all.filter(|(number, (_, planet))| number % 3 != 0 || place(*planet) > 5).count();
    let (within, docked, top) = (within.to_bits(), docked.to_bits(), planets[5].to_bits());
    for (text, step, expected) in [
        (format!("(#{docked}, $p), (#{within}, $p)"), "reaches", own),
        (format!("(#{docked}, _), !(#{within}, #{top})"), "does not reach", none),
    ] {
        let mut expr = compile(&mut world, &text);
        assert!(steps(&mut expr, &world).contains(&step.to_owned()), "{}", expr.explain(&world).unwrap());
        assert_eq!(expr.count(&world), Ok(expected), "{text}");
    }
}

#[test]
fn hidden_entities_are_left_out_of_large_results() {
    let (mut world, planets) = harbour();
    for (text, expected) in [
        ("(DockedTo, $p), Planet($p)", count(|number| number % 2 == 0)),
        ("Fuel, (DockedTo, $p), Planet($p)", count(|number| number % 6 == 0)),
        ("Fuel, (DockedTo, $p), !Planet($p)", 0),
        ("Fuel, !(DockedTo, *)", count(|number| number % 3 == 0 && number % 2 == 1)),
        ("Fuel, ?(DockedTo, *)", count(|number| number % 3 == 0)),
        ("(DockedTo, $p), ?Fuel", count(|number| number % 2 == 0)),
        ("(DockedTo, $p), Fuel || Planet", count(|number| number % 6 == 0)),
    ] {
        let mut expr = compile(&mut world, text);
        assert_eq!(expr.count(&world), Ok(expected), "{text}");
        let mut rows = 0;
        expr.for_each(&world, |_| rows += 1).unwrap();
        assert_eq!(rows, expected, "{text}");
    }
    // What fits may have changed when the expression is run again.
    let mut expr = compile(&mut world, "(DockedTo, $p), Planet($p)");
    let before = expr.count(&world).unwrap();
    world.entity_mut(planets[2]).remove::<Planet>();
    assert_eq!(expr.count(&world), Ok(before - count(|number| number % 10 == 2)));
}

#[test]
fn an_optional_target_is_given_where_there_is_one() {
    let (mut world, planets) = harbour();
    let mut expr = compile(&mut world, "Fuel, ?(DockedTo, $p)");
    let p = expr.var_id("p").unwrap();
    let (mut set, mut unset) = (0, 0);
    expr.for_each(&world, |row| {
        let docked = world.pairs::<DockedTo>().target(row.this().unwrap());
        assert_eq!((row.var_by_id(p), row.is_set(1)), (docked, docked.is_some()));
        assert_eq!(row.var("p"), docked);
        assert!(docked.is_none_or(|planet| planets.contains(&planet)));
        if docked.is_some() { set += 1 } else { unset += 1 }
    })
    .unwrap();
    assert_eq!(set, count(|number| number % 6 == 0));
    assert_eq!(set + unset, count(|number| number % 3 == 0));
    // Terms about the target are skipped where there is none.
    let mut without = compile(&mut world, "Fuel, ?(DockedTo, $p), !Planet($p)");
    assert_eq!(without.count(&world), Ok(unset));
}

#[test]
fn holders_above_are_found_from_wherever_a_walk_starts() {
    let mut world = World::new();
    // A tree of which each entity is mounted on the one at half its number.
    let parts: Vec<Entity> = (0..3000).map(|_| world.spawn(Fuel).id()).collect();
    for (number, &part) in parts.iter().enumerate().skip(1) {
        world.insert_pair(part, MountedOn, parts[number / 2]).unwrap();
    }
    let holders = [4, 11, 700];
    for number in holders {
        world.entity_mut(parts[number]).insert(Planet);
    }
    let nearest = |number: usize, min: u32, max: u32| {
        let above = core::iter::successors(Some(number), |&at| (at > 0).then_some(at / 2));
        let mut above = above.zip(0..).filter(|&(_, depth)| (min..=max).contains(&depth));
        above.find(|(at, _)| holders.contains(at)).map(|(at, _)| parts[at])
    };
    for (text, min, max) in [
        ("Fuel, Planet(up MountedOn)", 1, u32::MAX),
        ("Fuel, Planet(self|up MountedOn)", 0, u32::MAX),
        ("Fuel, Planet(up MountedOn 3)", 1, 3),
        ("Fuel, Planet(up MountedOn 2..5)", 2, 5),
    ] {
        let mut expr = compile(&mut world, text);
        // Those that count themselves may be found from the holders down.
        let climbs = steps(&mut expr, &world).contains(&"holder above".into());
        assert!(climbs || text.contains("self"), "{text}");
        // Twice: what the first run has found must not be taken for the second's.
        for _ in 0..2 {
            let mut found = Vec::new();
            expr.for_each(&world, |row| found.push((row.this().unwrap(), row.source(1)))).unwrap();
            found.sort_unstable();
            let expected = parts.iter().enumerate();
            let expected = expected.map(|(number, &part)| (part, nearest(number, min, max)));
            let mut expected: Vec<_> = expected.filter(|(_, holder)| holder.is_some()).collect();
            expected.sort_unstable();
            assert_eq!(found, expected, "{text}");
        }
    }
    let mut expr = compile(&mut world, "Fuel, Planet(up MountedOn)");
    let before = expr.count(&world).unwrap();
    for number in holders {
        world.entity_mut(parts[number]).remove::<Planet>();
    }
    assert!(before > 0);
    assert_eq!(expr.count(&world), Ok(0));
}

#[test]
fn nothing_holds_for_what_has_died() {
    let (mut world, planets) = harbour();
    let mut expr = compile(&mut world, "(DockedTo, $p)");
    expr.set_var(&world, "p", planets[2]).unwrap();
    assert_eq!(expr.count(&world), Ok(count(|number| number % 10 == 2)));
    let planet = planets[4].to_bits();
    let mut equal = compile(&mut world, &format!("$x == #{planet}, Planet($x)"));
    let mut alone = compile(&mut world, &format!("$x == #{planet}"));
    assert_eq!((equal.count(&world), alone.count(&world)), (Ok(1), Ok(1)));
    world.despawn(planets[2]);
    world.despawn(planets[4]);
    // Others have their places now.
    world.spawn(Planet);
    world.spawn(Planet);
    assert_eq!((equal.count(&world), alone.count(&world)), (Ok(0), Ok(0)));
    assert_eq!(expr.count(&world), Ok(0));
}

/// There are more rows of the chain than anything could look at.
#[test]
fn what_names_no_variable_is_evaluated_before_what_does() {
    #[derive(Relation, Clone, Copy)]
    struct Likes;
    let (mut world, planets) = harbour();
    let friends: Vec<Entity> = (0..30).map(|_| world.spawn_empty().id()).collect();
    let pairs = friends.iter().flat_map(|&a| friends.iter().map(move |&b| (a, Likes, b)));
    world.insert_pair_batch(pairs).unwrap();
    let likes = world.register_relation::<Likes>().unwrap().to_bits();
    let (planet, friend) = (planets[0].to_bits(), friends[0].to_bits());
    let mut chain = format!("(#{likes}, $v0)");
    for at in 0..12 {
        chain += &format!(", #{likes}($v{at}, $v{})", at + 1);
    }
    for test in [
        format!("Planet(#{friend})"),
        format!("!Planet(#{planet})"),
        format!("#{likes}(#{planet}, #{friend})"),
        format!("?Planet($v3), !Planet(#{planet})"),
        format!("?Planet($v3), Planet(#{friend}) || Fuel(#{friend})"),
        format!("?Planet($v3), !{{ Planet(#{planet}), !Fuel(#{planet}) }}"),
    ] {
        assert_eq!(compile(&mut world, &format!("{chain}, {test}")).count(&world), Ok(0), "{test}");
    }
}
