//! Running compiled expressions: variables that are set, limits, fields, order, and worlds that change in between.

use crate::common::Random;
use bevy_ecs::{entity_disabling::Disabled, prelude::*};
use bevy_relations::{
    expr::{CompiledExpr, ExprRunError, FieldId, PairExpr, WriteFieldError},
    prelude::*,
    relation::{Prefab, RelationStorage},
};
use std::collections::BTreeSet;

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo;

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
#[relation(transitive)]
struct LocatedIn;

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct MountedOn;

#[derive(Component, PartialEq, Debug)]
struct Fuel(u32);

#[derive(Component)]
struct Planet;

#[derive(Component)]
#[component(immutable)]
struct Serial;

fn id<T: Send + Sync + 'static>(world: &mut World) -> String {
    format!("#{}", world.entity_of::<T>().to_bits())
}

fn bits(entity: Entity) -> String {
    format!("#{}", entity.to_bits())
}

fn relation<R: Relation>(world: &mut World) -> String {
    bits(world.register_relation::<R>().unwrap())
}

#[track_caller]
fn compile(world: &mut World, text: &str) -> CompiledExpr {
    match PairExpr::parse(text).and_then(|expr| expr.compile(world)) {
        Ok(expr) => expr,
        Err(error) => panic!("{error}"),
    }
}

/// `$this` of each row.
fn these(expr: &mut CompiledExpr, world: &World) -> Vec<Entity> {
    let mut found = Vec::new();
    expr.for_each(world, |row| found.extend(row.this())).unwrap();
    found
}

fn sorted(mut entities: Vec<Entity>) -> Vec<Entity> {
    entities.sort_unstable();
    entities
}

#[test]
fn a_variable_that_is_set_leaves_rows_out_and_adds_none() {
    let mut world = World::new();
    let likes = relation::<Likes>(&mut world);
    let [a, b, x, y] = [(); 4].map(|()| world.spawn_empty().id());
    for (source, target) in [(a, x), (a, y), (b, y)] {
        world.insert_pair(source, Likes, target).unwrap();
    }
    let mut expr = compile(&mut world, &format!("({likes}, $t)"));
    assert_eq!(expr.count(&world), Ok(3));
    expr.set_var(&world, "t", x).unwrap();
    assert_eq!(these(&mut expr, &world), [a]);
    expr.set_var(&world, "t", y).unwrap().set_var(&world, "this", b).unwrap();
    assert_eq!((these(&mut expr, &world), expr.count(&world)), (vec![b], Ok(1)));
    expr.clear_vars();
    assert_eq!(expr.count(&world), Ok(3));
    // What is negated means any target, whatever the variable is set to.
    let all = bits(world.spawn_empty().id());
    for entity in [a, b, x] {
        world.insert_tag(entity, Entity::from_bits(all[1..].parse().unwrap())).unwrap();
    }
    let mut without = compile(&mut world, &format!("{all}, !({likes}, $t), ({likes}, $t)"));
    assert_eq!(without.set_var(&world, "t", x).unwrap().count(&world), Ok(0));
}

#[test]
fn a_variable_that_is_set_to_an_unlisted_component_finds_no_more_than_it_does_without() {
    let mut world = World::new();
    let fuel = id::<Fuel>(&mut world);
    let parent = world.spawn(Fuel(1)).id();
    world.spawn((Fuel(2), ChildOf(parent)));
    let child_of = world.register_relation::<ChildOf>().unwrap();
    let mut expr = compile(&mut world, &format!("{fuel}, $what"));
    let mut found = Vec::new();
    expr.for_each(&world, |row| found.extend(row.var("what"))).unwrap();
    let fuel = world.entity_of::<Fuel>();
    assert_eq!(found, [fuel; 2]);
    for (what, count) in [(fuel, 2), (child_of, 0)] {
        expr.set_var(&world, "what", what).unwrap();
        assert_eq!(expr.count(&world), Ok(count));
    }
}

#[test]
fn what_cannot_be_set_or_run_is_an_error() {
    let mut world = World::new();
    let likes = relation::<Likes>(&mut world);
    let entity = world.spawn_empty().id();
    let mut expr = compile(&mut world, &format!("({likes}, $t), !{{ {likes}($t, $inner) }}"));
    let unknown = |name: &str| ExprRunError::UnknownVariable { name: name.into() };
    assert_eq!(expr.set_var(&world, "u", entity).err(), Some(unknown("u")));
    assert_eq!(expr.set_var(&world, "inner", entity).err(), Some(unknown("inner")));
    assert_eq!(expr.set_var(&world, "", entity).err(), Some(unknown("")));
    world.despawn(entity);
    let dead = ExprRunError::DeadEntity { name: "t".into(), entity };
    assert_eq!(expr.set_var(&world, "t", entity).err(), Some(dead));
    let other = World::new();
    assert_eq!(expr.count(&other), Err(ExprRunError::OtherWorld));
    assert_eq!(expr.explain(&other), Err(ExprRunError::OtherWorld));
}

#[test]
fn a_run_ends_when_it_takes_too_many_steps() {
    let mut world = World::new();
    let fuel = id::<Fuel>(&mut world);
    world.register_component::<Fuel>();
    world.spawn_batch((0..100).map(Fuel));
    let mut expr = compile(&mut world, &format!("{fuel}, {fuel}($x), {fuel}($y), {fuel}($z)"));
    expr.set_step_limit(Some(10_000));
    assert_eq!(expr.count(&world), Err(ExprRunError::StepLimit { limit: 10_000 }));
    assert_eq!(expr.any(&world), Ok(true), "the first rows are found before");
    let mut small = compile(&mut world, &fuel);
    small.set_step_limit(Some(10_000));
    assert_eq!(small.count(&world), Ok(100));
}

#[test]
fn each_target_that_is_looked_at_on_the_way_up_is_a_step() {
    for storage in [RelationStorage::Store, RelationStorage::Table, RelationStorage::Fragmenting] {
        // The tops belong to the ships themselves, or to something that is above each of them.
        for is_between in [false, true] {
            let mut world = World::new();
            let [fuel, serial] = [id::<Fuel>(&mut world), id::<Serial>(&mut world)];
            let traits = RelationTraits::new().traversable().storage(storage);
            let above = world.spawn_relation("Above", traits).unwrap();
            let tops: Vec<Entity> = (0..100).map(|_| world.spawn_empty().id()).collect();
            for number in 0..100 {
                let ship = world.spawn(Fuel(number)).id();
                let below_tops = if is_between { world.spawn_empty().id() } else { ship };
                if is_between {
                    world.insert_pair_by_id(ship, (above, below_tops)).unwrap();
                }
                for &top in &tops {
                    world.insert_pair_by_id(below_tops, (above, top)).unwrap();
                }
            }
            world.spawn(Serial);
            let mut expr = compile(&mut world, &format!("{fuel}, {serial}(up {})", bits(above)));
            assert_eq!(expr.count(&world), Ok(0));
            // There are 10,000 pairs.
            expr.set_step_limit(Some(2_000));
            let result = expr.for_each(&world, |_| {});
            assert_eq!(result, Err(ExprRunError::StepLimit { limit: 2_000 }), "{storage:?}, {is_between}");
        }
    }
}

#[test]
fn rows_of_many_batches_are_all_found() {
    let mut world = World::new();
    let (docked, located) = (relation::<DockedTo>(&mut world), relation::<LocatedIn>(&mut world));
    let [fuel, planet] = [id::<Fuel>(&mut world), id::<Planet>(&mut world)];
    world.register_component::<Fuel>();
    let planets: Vec<Entity> = (0..3).map(|_| world.spawn(Planet).id()).collect();
    let ships: Vec<Entity> = world.spawn_batch((0..6000).map(Fuel)).collect();
    for (number, &ship) in ships.iter().enumerate() {
        world.insert_pair(ship, DockedTo, planets[number % 3]).unwrap();
        let parent = if number == 0 { planets[0] } else { ships[number / 3] };
        if parent != ship {
            world.insert_pair(ship, LocatedIn, parent).unwrap();
        }
    }
    for (text, expected) in [
        (fuel.clone(), 6000),
        (format!("{fuel}, ({docked}, $p), {planet}($p)"), 6000),
        (format!("({docked}, {})", bits(planets[1])), 2000),
        (format!("({docked}, $p)"), 6000),
        (format!("({located}, {})", bits(planets[0])), 6000),
        (format!("{fuel}, ({located}, {})", bits(planets[0])), 6000),
        (format!("{fuel}, !({docked}, {})", bits(planets[1])), 4000),
        (format!("{fuel}, ?({docked}, $p), !{{ {planet}($p), $p != {} }}", bits(planets[2])), 2000),
        (format!("{planet}, !{{ {docked}($ship, $this), {fuel}($ship) }}"), 0),
    ] {
        let mut expr = compile(&mut world, &text);
        let found = these(&mut expr, &world);
        assert_eq!(found.len(), expected, "{text}");
        assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), expected, "{text}: each once");
        assert_eq!(expr.count(&world), Ok(expected), "{text}");
    }
}

#[test]
fn triangles_are_those_that_three_loops_find() {
    let mut world = World::new();
    let likes = relation::<Likes>(&mut world);
    let nodes: Vec<Entity> = (0..60).map(|_| world.spawn_empty().id()).collect();
    let mut random = Random(12345);
    for _ in 0..500 {
        // Some have many neighbors.
        let (a, b) = (random.below(60), random.below(60) * random.below(60) / 60);
        world.insert_pair(nodes[a], Likes, nodes[b]).unwrap();
    }
    let mut expr = compile(&mut world, &format!("({likes}, $x), {likes}($x, $y), {likes}($y, $this)"));
    let mut found = Vec::new();
    expr.for_each(&world, |row| {
        found.push((row.this().unwrap(), row.var("x").unwrap(), row.var("y").unwrap()));
    })
    .unwrap();
    found.sort_unstable();
    let pairs = world.pairs::<Likes>();
    let mut expected = Vec::new();
    for &this in &nodes {
        for x in pairs.targets(this) {
            expected.extend(pairs.targets(x).filter(|&y| pairs.has(y, this)).map(|y| (this, x, y)));
        }
    }
    expected.sort_unstable();
    assert!(expected.len() > 50);
    assert_eq!(found, expected);
    assert!(expr.explain(&world).unwrap().contains("intersect"), "by meeting in the middle");
}

#[test]
fn the_only_target_is_tested_by_the_other_pairs_and_not_searched_for() {
    let mut world = World::new();
    let (docked, likes) = (relation::<DockedTo>(&mut world), relation::<Likes>(&mut world));
    let ports: Vec<Entity> = (0..3).map(|_| world.spawn_empty().id()).collect();
    let mut expected = Vec::new();
    for number in 0..30 {
        let (port, liked) = (ports[number % 3], ports[number % 2]);
        let ship =
            world.spawn((Fuel(1), Pair(DockedTo, port), Pair(Likes, liked), Pair(Likes, ports[2]))).id();
        if port == liked || port == ports[2] {
            expected.push((ship, port));
        }
    }
    let fuel = id::<Fuel>(&mut world);
    let mut expr = compile(&mut world, &format!("{fuel}, ({likes}, $p), ({docked}, $p)"));
    let mut found = Vec::new();
    expr.for_each(&world, |row| found.push((row.this().unwrap(), row.var("p").unwrap()))).unwrap();
    assert_eq!(found, expected);
    assert!(!expr.explain(&world).unwrap().contains("intersect"));
}

#[test]
fn fields_say_by_what_and_on_whom_they_were_matched() {
    let mut world = World::new();
    let (mounted, likes) = (relation::<MountedOn>(&mut world), relation::<Likes>(&mut world));
    let (fuel, planet) = (id::<Fuel>(&mut world), id::<Planet>(&mut world));
    let (fuel_id, _) = (world.register_component::<Fuel>(), world.register_component::<Planet>());
    let ship = world.spawn(Fuel(7)).id();
    let gun = world.spawn(Planet).id();
    world.insert_pair(gun, MountedOn, ship).unwrap();
    let mut expr =
        compile(&mut world, &format!("{planet}, {fuel}(up {mounted}), ?({likes}, _), ({mounted}, *)"));
    let row = expr.first(&world).unwrap().unwrap();
    assert_eq!(
        (row.this(), row.source(1), row.id(1)),
        (Some(gun), Some(ship), Some(FieldId::Component(fuel_id)))
    );
    assert_eq!((row.get::<Fuel>(1), row.get::<Planet>(1).is_some()), (Some(&Fuel(7)), false));
    assert!(row.is_own(0) && !row.is_own(1) && !row.is_set(2));
    let mounted_on = world.entity_of::<MountedOn>();
    let row = expr.first(&world).unwrap().unwrap();
    assert_eq!(row.id(3), Some(FieldId::Pair(PairId::new(mounted_on, ship))));
    assert_eq!((row.id(2), row.source(2), row.id(99)), (None, None, None));
}

#[test]
fn what_may_not_be_written_is_refused_with_the_field_and_the_reason() {
    let mut world = World::new();
    let (fuel, planet) = (id::<Fuel>(&mut world), id::<Planet>(&mut world));
    world.register_component::<Fuel>();
    world.register_component::<Planet>();
    world.spawn((Fuel(1), Planet));
    let mut expr = compile(&mut world, &format!("{planet}, [in] {fuel}, ?{fuel}(up ChildOf)"));
    let mut said = Vec::new();
    expr.for_each_mut(&mut world, |mut row| {
        said.extend((0..4).map(|field| row.get_mut::<Fuel>(field).unwrap_err().to_string()));
    })
    .unwrap();
    assert!(said[0].starts_with("field 0, `") && said[0].contains("is no `"), "{}", said[0]);
    assert_eq!(said[1], format!("field 1, `[in] {fuel}`, may only be read"));
    assert_eq!(said[2..], ["field 2 is not set in this row", "field 3 is not set in this row"]);
}

/// Whether a field may be written does not depend on the row.
#[test]
fn a_field_of_a_variable_is_read_only_also_where_the_variable_is_this() {
    #[derive(Relation)]
    struct Faces;

    let mut world = World::new();
    let [a, b] = [(); 2].map(|()| world.spawn(Fuel(1)).id());
    let (faces, fuel) = (relation::<Faces>(&mut world), id::<Fuel>(&mut world));
    for (source, target) in [(a, a), (a, b), (b, a)] {
        world.insert_pair(source, Faces, target).unwrap();
    }
    for text in [format!("({faces}, $x), {fuel}($x)"), format!("({faces}, $x), {fuel}($x), $x == $this")] {
        let mut rows = 0;
        let mut expr = compile(&mut world, &text);
        expr.for_each_mut(&mut world, |mut row| {
            rows += 1;
            assert!(matches!(row.get_mut::<Fuel>(1), Err(WriteFieldError::ReadOnly { .. })), "{text}");
        })
        .unwrap();
        assert!(rows > 0);
    }
    let mut expr = compile(&mut world, &format!("({faces}, $x), [inout] {fuel}($x)"));
    expr.for_each_mut(&mut world, |mut row| row.get_mut::<Fuel>(1).unwrap().0 += 1).unwrap();
    assert_eq!([a, b].map(|entity| world.get::<Fuel>(entity).unwrap().0), [3, 2]);
}

#[test]
fn own_fields_can_be_written_and_shared_ones_if_they_say_so() {
    let mut world = World::new();
    let (mounted, fuel) = (relation::<MountedOn>(&mut world), id::<Fuel>(&mut world));
    world.register_component::<Fuel>();
    let ship = world.spawn(Fuel(1)).id();
    let gun = world.spawn(Fuel(10)).id();
    world.insert_pair(gun, MountedOn, ship).unwrap();
    let mut written = |text: String| {
        let mut expr = compile(&mut world, &text);
        let mut count = 0;
        expr.for_each_mut(&mut world, |mut row| {
            if let Ok(mut fuel) = row.get_mut::<Fuel>(0) {
                fuel.0 += 1;
                count += 1;
            }
        })
        .unwrap();
        count
    };
    assert_eq!(written(fuel.clone()), 2);
    assert_eq!(written(format!("[in] {fuel}")), 0);
    assert_eq!(written(format!("{fuel}(up {mounted})")), 0);
    assert_eq!(written(format!("[inout] {fuel}(up {mounted})")), 1);
    assert_eq!((world.get::<Fuel>(ship), world.get::<Fuel>(gun)), (Some(&Fuel(3)), Some(&Fuel(11))));
}

#[test]
fn a_cascade_gives_rows_from_the_roots_down_or_up() {
    let mut world = World::new();
    let (mounted, fuel) = (relation::<MountedOn>(&mut world), id::<Fuel>(&mut world));
    world.register_component::<Fuel>();
    let mut chain: Vec<Entity> = (0..5).map(|number| world.spawn(Fuel(number)).id()).collect();
    for at in (1..5).rev() {
        // Against the order in which they were spawned.
        world.insert_pair(chain[at - 1], MountedOn, chain[at]).unwrap();
    }
    chain.reverse();
    let text = |flags: &str| format!("{fuel}, ?{fuel}({flags} {mounted})");
    assert_eq!(these(&mut compile(&mut world, &text("cascade")), &world), chain);
    let mut expr = compile(&mut world, &text("cascade|desc"));
    chain.reverse();
    assert_eq!((these(&mut expr, &world), expr.count(&world)), (chain, Ok(5)));
}

#[test]
fn traversal_goes_as_far_as_it_says() {
    let mut world = World::new();
    let (mounted, likes) = (relation::<MountedOn>(&mut world), relation::<Likes>(&mut world));
    let fuel = id::<Fuel>(&mut world);
    world.register_component::<Fuel>();
    let chain: Vec<Entity> = (0..5).map(|_| world.spawn_empty().id()).collect();
    for pair in chain.windows(2) {
        world.insert_pair(pair[0], MountedOn, pair[1]).unwrap();
    }
    for at in [1, 4] {
        world.entity_mut(chain[at]).insert(Fuel(0));
    }
    let mut found = |text: &str| {
        let mut found = Vec::new();
        let mut expr = compile(&mut world, text);
        expr.for_each(&world, |row| {
            let at = |entity| chain.iter().position(|&own| Some(own) == entity);
            found.push((at(row.this()), at(row.source(0))));
        })
        .unwrap();
        found.sort_unstable();
        found.into_iter().map(|(this, holder)| (this.unwrap(), holder.unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(found(&format!("{fuel}(up {mounted})")), [(0, 1), (1, 4), (2, 4), (3, 4)]);
    assert_eq!(found(&format!("{fuel}(self|up {mounted})")), [(0, 1), (1, 1), (2, 4), (3, 4), (4, 4)]);
    assert_eq!(found(&format!("{fuel}(up {mounted} 1)")), [(0, 1), (3, 4)]);
    assert_eq!(found(&format!("{fuel}(up {mounted} 2..)")), [(0, 4), (1, 4), (2, 4)]);
    assert_eq!(found(&format!("{fuel}(up|all {mounted})")), [(0, 1), (0, 4), (1, 4), (2, 4), (3, 4)]);
    assert_eq!(found(&format!("{fuel}(down {mounted})")), [(2, 1), (3, 1), (4, 1)]);
    let fan = world.spawn_empty().id();
    world.insert_pair(fan, Likes, chain[3]).unwrap();
    let mut expr = compile(&mut world, &format!("({likes}, {}|up {mounted})", bits(chain[2])));
    let row = expr.first(&world).unwrap().unwrap();
    assert_eq!(row.this(), Some(fan));
    let Some(FieldId::Pair(pair)) = row.id(0) else { panic!("a pair") };
    assert_eq!(pair.target().entity(), Some(chain[3]));
}

#[test]
fn hidden_entities_are_seen_when_their_marker_is_named_and_by_other_variables() {
    let mut world = World::new();
    let likes = relation::<Likes>(&mut world);
    let (disabled, prefab) = (id::<Disabled>(&mut world), id::<Prefab>(&mut world));
    world.register_component::<Prefab>();
    let [a, b, c, t] = [(); 4].map(|()| world.spawn_empty().id());
    for entity in [a, b, c] {
        world.insert_pair(entity, Likes, t).unwrap();
    }
    world.entity_mut(b).insert(Disabled);
    world.entity_mut(c).insert(Prefab);
    let mut found = |text: String| sorted(these(&mut compile(&mut world, &text), &world));
    assert_eq!(found(format!("({likes}, *)")), [a]);
    assert_eq!(found(format!("({likes}, *), ?{disabled}")), sorted(vec![a, b]));
    assert_eq!(found(format!("({likes}, *), {prefab}")), [c]);
    assert_eq!(found(format!("{likes}($x, $this)")), [t, t, t]);
    assert_eq!(found(format!("$this == {}", bits(b))), []);
}

#[test]
fn a_world_that_has_changed_is_seen_by_the_next_run() {
    let mut world = World::new();
    let [relation, tag, target] = [(); 3].map(|()| world.spawn_empty().id());
    let fuel = id::<Fuel>(&mut world);
    world.register_component::<Fuel>();
    let text = format!("{fuel}, ({}, {}), {}", bits(relation), bits(target), bits(tag));
    let mut expr = compile(&mut world, &text);
    assert_eq!(expr.count(&world), Ok(0));
    let ship = world.spawn(Fuel(0)).id();
    world.insert_pair_by_id(ship, (relation, target)).unwrap();
    world.insert_tag(ship, tag).unwrap();
    assert_eq!((these(&mut expr, &world), expr.count(&world)), (vec![ship], Ok(1)));
    world.entity_mut(ship).insert(Planet);
    assert_eq!(these(&mut expr, &world), [ship]);
    // A constant that dies makes its term false.
    world.despawn(target);
    assert_eq!((these(&mut expr, &world), expr.count(&world)), (vec![], Ok(0)));
}

#[test]
fn what_lies_below_is_found_anew_when_the_relation_has_changed() {
    let mut world = World::new();
    let located = relation::<LocatedIn>(&mut world);
    let [country, state, city, street] = [(); 4].map(|()| world.spawn_empty().id());
    world.insert_pair(state, LocatedIn, country).unwrap();
    world.insert_pair(city, LocatedIn, state).unwrap();
    let mut expr = compile(&mut world, &format!("({located}, {})", bits(country)));
    assert_eq!(these(&mut expr, &world), [state, city]);
    world.insert_pair(street, LocatedIn, city).unwrap();
    assert_eq!(these(&mut expr, &world), [state, city, street]);
    assert_eq!(expr.count(&world), Ok(3));
    world.remove_pair::<LocatedIn>(state, country);
    assert_eq!(expr.count(&world), Ok(0));
    // As many changes as before, in another store.
    world.clear_pairs();
    world.insert_pair(street, LocatedIn, country).unwrap();
    assert_eq!(these(&mut expr, &world), [street]);
}

#[test]
fn roots_are_those_that_are_children_of_nobody() {
    let mut world = World::new();
    let fuel = id::<Fuel>(&mut world);
    world.register_component::<Fuel>();
    let child_of = relation::<ChildOf>(&mut world);
    let root = world.spawn(Fuel(0)).id();
    world.spawn((Fuel(1), ChildOf(root)));
    assert_eq!(these(&mut compile(&mut world, &format!("{fuel}, ({child_of}, #0)")), &world), [root]);
}

#[test]
fn a_plan_starts_where_there_is_least() {
    let mut world = World::new();
    let docked = relation::<DockedTo>(&mut world);
    let (fuel, planet) = (id::<Fuel>(&mut world), id::<Planet>(&mut world));
    let [fuel_id, planet_id] = [world.register_component::<Fuel>(), world.register_component::<Planet>()];
    assert_ne!(fuel_id, planet_id);
    let planets: Vec<Entity> = (0..10).map(|_| world.spawn(Planet).id()).collect();
    let ships: Vec<Entity> = world.spawn_batch((0..200).map(Fuel)).collect();
    for (number, &ship) in ships.iter().enumerate() {
        world.insert_pair(ship, DockedTo, planets[number % 10]).unwrap();
    }
    let mut expr = compile(&mut world, &format!("{fuel}, ({docked}, $p), {planet}($p)"));
    let logical =
        format!("logical\n  join\n    scan {fuel}\n    scan ({docked}, $p)\n    scan {planet}($p)\n");
    let physical =
        format!("physical\n  scan {planet}($p) (~10)\n  sources ({docked}, $p) (~200)\n    archetype\n");
    assert_eq!(expr.explain(&world).unwrap(), logical.clone() + &physical);
    expr.for_each(&world, |_| ()).unwrap();
    let counted = physical.replace("(~10)", "(~10, made 10)").replace("(~200)", "(~200, made 200)");
    assert_eq!(expr.explain(&world).unwrap(), logical + &counted);
}

#[test]
fn rules_of_the_world_are_errors_at_their_place() {
    let mut world = World::new();
    let likes = relation::<Likes>(&mut world);
    world.register_component::<Serial>();
    world.register_component::<Fuel>();
    let (serial, fuel) = (id::<Serial>(&mut world), id::<Fuel>(&mut world));
    for name in ["Twin", "Twin", "Only"] {
        world.spawn(Name::new(name));
    }
    let mut error = |text: &str| {
        let error = PairExpr::parse(text).unwrap().compile(&mut world).err();
        let error = error.unwrap_or_else(|| panic!("{text} is an error"));
        (error.column(), error.message().to_owned())
    };
    let (column, expected) = error("Only, Twin");
    assert_eq!(column, 7);
    assert!(expected.contains("several things") && expected.matches("entity").count() == 2, "{expected}");
    assert!(error("Only, Nobody").1.contains("has this name"));
    let (column, expected) = error(&format!("{fuel}(up {likes})"));
    assert!(column > 5 && expected.contains("traversable"), "{expected}");
    assert!(error(&format!("{fuel}(up {})", "IsA")).1.contains("share"));
    assert!(error(&format!("[inout] {serial}")).1.contains("immutable"));
    assert!(error("Only, #18446744073709551615").1.contains("alive"));
}

mod reflected {
    use super::*;
    use bevy_reflect::Reflect;

    #[derive(Component, Reflect)]
    #[reflect(Component)]
    struct Movement {
        value: Entity,
        leader: Option<Entity>,
    }

    #[derive(Resource, Reflect)]
    #[reflect(Resource)]
    struct SimTime;

    #[test]
    fn a_resource_is_matched_by_its_name() {
        let mut world = World::new();
        world.init_resource::<AppTypeRegistry>();
        world.resource::<AppTypeRegistry>().write().register::<SimTime>();
        let fuel = id::<Fuel>(&mut world);
        world.register_component::<Fuel>();
        let ship = world.spawn(Fuel(0)).id();
        world.insert_resource(SimTime);
        for text in [format!("{fuel}, SimTime(SimTime)"), format!("{fuel}, SimTime($)")] {
            let mut expr = compile(&mut world, &text);
            assert_eq!(these(&mut expr, &world), [ship]);
            world.remove_resource::<SimTime>();
            assert_eq!(expr.count(&world), Ok(0));
            world.insert_resource(SimTime);
            assert_eq!(expr.count(&world), Ok(1));
        }
    }

    #[test]
    fn a_field_of_a_component_is_followed_like_a_pair() {
        let mut world = World::new();
        world.init_resource::<AppTypeRegistry>();
        world.resource::<AppTypeRegistry>().write().register::<Movement>();
        let [a, b, c] = [(); 3].map(|()| world.spawn_empty().id());
        world.entity_mut(a).insert(Movement { value: b, leader: Some(c) });
        world.entity_mut(b).insert(Movement { value: c, leader: None });
        let mut found = |text: &str| {
            let mut found = Vec::new();
            let mut expr = compile(&mut world, text);
            expr.for_each(&world, |row| found.push((row.this(), row.var("x")))).unwrap();
            found.sort_unstable_by_key(|&(this, _)| [a, b].iter().position(|&own| Some(own) == this));
            found
        };
        assert_eq!(found("Movement.value($this, $x)"), [(Some(a), Some(b)), (Some(b), Some(c))]);
        assert_eq!(found("Movement.leader($this, $x)"), [(Some(a), Some(c))]);
        assert_eq!(found("Movement, !Movement.leader($this, *)"), [(Some(b), None)]);
        world.despawn(c);
        let mut expr = compile(&mut world, "Movement.value($this, *)");
        assert_eq!(these(&mut expr, &world), [a], "a field that holds a dead entity is none");
        let mut expr = compile(&mut world, "Movement");
        let reflected = expr.first(&world).unwrap().unwrap().reflect(0);
        let name = reflected.map(bevy_reflect::DynamicTypePath::reflect_short_type_path);
        assert_eq!(name, Some("Movement"));
    }
}
