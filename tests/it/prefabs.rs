//! Prefabs and their instances.

use crate::common::{all_entities, refused, spawn, take_reported_errors, world_that_records_errors};
use bevy_ecs::{entity::EntityCloner, prelude::*, query::Allow, system::RunSystemOnce};
use bevy_relations::{
    error::{InsertPairError, InstantiateError},
    expr::PairExpr,
    prefab::{CommandsPrefabExt, Prefab, SlotOf, WorldPrefabExt},
    prelude::*,
    relation::{EndConstraint, OnInstantiate, OnMissing, RelationStorage},
    world::WorldInheritanceExt,
};

/// Copied.
#[derive(Component, Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Health(pub(crate) u32);

/// Shared.
#[derive(Component, Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Armor(pub(crate) u32);

/// Omitted.
#[derive(Component, Clone, Copy, PartialEq, Debug)]
pub(crate) struct Serial(pub(crate) u32);

#[derive(Relation)]
pub(crate) struct Likes;

#[derive(Relation, Clone, PartialEq, Debug)]
pub(crate) struct Carries {
    pub(crate) count: u32,
}

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo;

pub(crate) fn set_rule<C: Component>(world: &mut World, rule: OnInstantiate) {
    let entity = world.entity_of::<C>();
    world.set_traits(entity, RelationTraits::new().on_instantiate(rule)).unwrap();
}

pub(crate) fn world() -> World {
    let mut world = world_that_records_errors();
    set_rule::<Armor>(&mut world, OnInstantiate::Inherit);
    set_rule::<Serial>(&mut world, OnInstantiate::DontInherit);
    world
}

pub(crate) fn children(world: &World, entity: Entity) -> Vec<Entity> {
    world.get::<Children>(entity).map_or_else(Vec::new, |children| children.to_vec())
}

pub(crate) fn names_of_children(world: &World, entity: Entity) -> Vec<String> {
    let name = |child| world.get::<Name>(child).map(ToString::to_string).unwrap_or_default();
    children(world, entity).into_iter().map(name).collect()
}

pub(crate) fn child_named(world: &World, entity: Entity, name: &str) -> Entity {
    let named = |child: &Entity| world.get::<Name>(*child).is_some_and(|it| it.as_str() == name);
    children(world, entity).into_iter().find(named).unwrap_or_else(|| panic!("no child {name}"))
}

#[track_caller]
pub(crate) fn check(world: &World) {
    world.check_pairs().unwrap();
    assert_eq!(take_reported_errors(), Vec::<String>::new());
}

/// A frigate with a bridge, in which there is a chair, and two turrets, each with a barrel.
pub(crate) fn frigate(world: &mut World) -> Entity {
    let frigate = world.spawn((Name::new("Frigate"), Prefab, Health(100), Armor(50), Serial(1))).id();
    let bridge = world.spawn((Name::new("bridge"), ChildOf(frigate), Armor(7), Serial(2))).id();
    world.spawn((Name::new("chair"), ChildOf(bridge), Health(1)));
    for (name, health) in [("port", 10), ("starboard", 11)] {
        let turret = world.spawn((Name::new(name), ChildOf(frigate), Health(health))).id();
        world.spawn((Name::new("barrel"), ChildOf(turret)));
    }
    frigate
}

#[test]
fn an_instance_copies_shares_or_omits_by_the_rule() {
    let mut world = world();
    let frigate = frigate(&mut world);
    let ship = world.instantiate(frigate).unwrap();
    assert_eq!(world.get::<Health>(ship), Some(&Health(100)));
    assert_eq!((world.get::<Armor>(ship), world.get_inherited::<Armor>(ship)), (None, Some(&Armor(50))));
    assert_eq!((world.get::<Serial>(ship), world.get_inherited::<Serial>(ship)), (None, None));
    assert!(world.get::<Prefab>(ship).is_none() && world.get::<Name>(ship).is_none());
    assert!(world.has_pair::<IsA>(ship, frigate));
    // What is below has no base: it has copies of what is shared, too.
    let bridge = child_named(&world, ship, "bridge");
    assert_eq!(world.get::<Armor>(bridge), Some(&Armor(7)));
    assert!(world.get::<Serial>(bridge).is_none() && world.pairs::<IsA>().target_count(bridge) == 0);
    check(&world);
}

#[test]
fn children_are_copied_recursively_in_order_with_their_names() {
    let mut world = world();
    let frigate = frigate(&mut world);
    let ship = world.instantiate(frigate).unwrap();
    assert_eq!(names_of_children(&world, ship), ["bridge", "port", "starboard"]);
    let port = child_named(&world, ship, "port");
    assert_eq!(world.get::<Health>(port), Some(&Health(10)));
    assert_eq!(names_of_children(&world, port), ["barrel"]);
    assert_eq!(names_of_children(&world, child_named(&world, ship, "bridge")), ["chair"]);
    // Ordinary queries see the instance with all its parts, and nothing of the prefab.
    let count = |all: Query<Entity, With<Name>>,
                 prefabs: Query<Entity, With<Prefab>>,
                 both: Query<Entity, (With<Name>, Allow<Prefab>)>| {
        [all.iter().count(), prefabs.iter().count(), both.iter().count()]
    };
    assert_eq!(world.run_system_once(count).unwrap(), [6, 7, 13]);
    // The order is that of the prefab's children now.
    let order: Vec<Entity> = children(&world, frigate).into_iter().rev().collect();
    world.entity_mut(frigate).replace_children(&order);
    let other = world.instantiate(frigate).unwrap();
    assert_eq!(names_of_children(&world, other), ["starboard", "port", "bridge"]);
    check(&world);
}

#[test]
fn what_an_instance_has_already_stays() {
    let mut world = world();
    let [mars, venus] = spawn(&mut world);
    let prefab = world.spawn((Prefab, Health(1), Armor(2), Pair(DockedTo, mars))).id();
    world.insert_pair(prefab, Carries { count: 1 }, mars).unwrap();
    let own = (Health(5), Pair(DockedTo, venus), Pair(Carries { count: 7 }, mars));
    let ship = world.spawn((own, Pair(IsA, prefab), Armor(6))).id();
    assert_eq!((world.get::<Health>(ship), world.get::<Armor>(ship)), (Some(&Health(5)), Some(&Armor(6))));
    assert!(world.pairs::<DockedTo>().targets(ship).eq([venus]));
    assert_eq!(world.pair_value::<Carries>(ship, mars), Some(&Carries { count: 7 }));
    // What comes later replaces.
    let ship = world.spawn((Pair(IsA, prefab), Pair(DockedTo, venus), children![Name::new("own")])).id();
    assert!(world.pairs::<DockedTo>().targets(ship).eq([venus]));
    assert_eq!(world.pair_value::<Carries>(ship, mars), Some(&Carries { count: 1 }));
    assert_eq!(names_of_children(&world, ship), ["own"]);
    check(&world);
}

#[test]
fn there_are_many_ways_to_make_an_instance() {
    let mut world = world();
    let frigate = frigate(&mut world);
    let mut ships = vec![world.instantiate(frigate).unwrap(), world.spawn(Pair(IsA, frigate)).id()];
    let [a, b, c, d, e, f] = spawn(&mut world);
    world.insert_pair(a, IsA, frigate).unwrap();
    let is_a = world.entity_of::<IsA>();
    world.insert_pair_by_id(b, (is_a, frigate)).unwrap();
    world.insert_pair_batch([(c, IsA, frigate), (d, IsA, frigate)]).unwrap();
    world.replace_targets(e, [(IsA, frigate)]).unwrap();
    world.commands().entity(f).insert_pair(IsA, frigate);
    ships.extend([a, b, c, d, e, f]);
    let mut commands = world.commands();
    ships.push(commands.spawn((Health(100), Pair(IsA, frigate))).id());
    ships.push(commands.instantiate(frigate).insert(Name::new("named")).id());
    ships.push(commands.spawn(pairs![(IsA, frigate)]).id());
    commands.instantiate_batch(frigate, 2);
    world.flush();
    ships.extend(world.spawn_batch_with_pair([((), IsA, frigate)]));
    ships.extend(world.instantiate_batch(frigate, 3).unwrap());
    for &ship in &ships {
        assert_eq!(world.get::<Health>(ship), Some(&Health(100)));
        assert_eq!(names_of_children(&world, ship), ["bridge", "port", "starboard"]);
    }
    assert_eq!(world.pairs::<IsA>().source_count(frigate), ships.len() + 2);
    // The same pair again is nothing new.
    world.insert_pair(a, IsA, frigate).unwrap();
    assert_eq!(children(&world, a).len(), 3);
    assert_eq!(world.instantiate_batch(frigate, 0), Ok(vec![]));
    check(&world);
}

#[test]
fn what_comes_to_lie_below_a_prefab_is_one() {
    let mut world = world();
    let is_prefab = |world: &World, entity| world.get::<Prefab>(entity).is_some();
    // All at once, and later.
    let prefab = world.spawn((Prefab, children![(Health(1), children![Health(2)]), Health(3)])).id();
    let below: Vec<Entity> = world.pairs::<ChildOf>().descendants(prefab).map(|(entity, _)| entity).collect();
    assert_eq!(below.len(), 3);
    assert!(below.iter().all(|&entity| is_prefab(&world, entity)));
    // An entity with children of its own.
    let parent = world.spawn(children![children![()]]).id();
    let deep = children(&world, children(&world, parent)[0])[0];
    world.entity_mut(prefab).add_child(parent);
    assert!(is_prefab(&world, parent) && is_prefab(&world, deep));
    // One that becomes a prefab with everything below it.
    let late = world.spawn(children![children![children![()]]]).id();
    world.entity_mut(late).insert(Prefab);
    assert_eq!(world.pairs::<ChildOf>().descendants(late).filter(|&(e, _)| is_prefab(&world, e)).count(), 3);
    let [child] = spawn(&mut world);
    world.insert_pair(child, ChildOf(late), late).unwrap();
    assert!(is_prefab(&world, child));
    world.commands().entity(late).with_child(Health(1));
    world.flush();
    assert!(children(&world, late).into_iter().all(|child| is_prefab(&world, child)));
    // What leaves stays one, until that is taken away.
    world.entity_mut(child).remove::<ChildOf>();
    assert!(is_prefab(&world, child));
    // The parts of an instance are none.
    let instance = world.instantiate(late).unwrap();
    assert!(world.pairs::<ChildOf>().descendants(instance).all(|(entity, _)| !is_prefab(&world, entity)));
    check(&world);
}

#[test]
fn a_deep_prefab_takes_no_stack() {
    let work = || {
        let depth = crate::common::size(3_000, 50);
        let mut world = world();
        let chain: Vec<Entity> = (0..depth).map(|_| world.spawn_empty().id()).collect();
        for pair in chain.windows(2) {
            world.entity_mut(pair[1]).insert(ChildOf(pair[0]));
        }
        world.entity_mut(chain[0]).insert(Prefab);
        assert!(chain.iter().all(|&entity| world.get::<Prefab>(entity).is_some()));
        let ship = world.instantiate(chain[0]).unwrap();
        assert_eq!(world.pairs::<ChildOf>().descendants(ship).count(), depth - 1);
        world.despawn_with_dependents(ship).unwrap();
        world.despawn_with_dependents(chain[0]).unwrap();
        check(&world);
    };
    std::thread::Builder::new().stack_size(1024 * 1024).spawn(work).unwrap().join().unwrap();
}

#[test]
fn a_part_that_is_an_instance_is_one_in_the_copy() {
    let mut world = world();
    let engine = world.spawn((Name::new("Engine"), Prefab, Health(3), Armor(4))).id();
    world.spawn((Name::new("nozzle"), ChildOf(engine)));
    let ship = world.spawn((Prefab, Health(1))).id();
    let part = world.spawn((Name::new("engine"), ChildOf(ship), Pair(IsA, engine))).id();
    assert_eq!(names_of_children(&world, part), ["nozzle"]);
    assert!(world.get::<Prefab>(child_named(&world, part, "nozzle")).is_some());
    // A change of the part alone.
    world.entity_mut(part).insert(Health(9));
    let instance = world.instantiate(ship).unwrap();
    let copy = child_named(&world, instance, "engine");
    assert!(world.has_pair::<IsA>(copy, engine) && !world.has_pair::<IsA>(copy, part));
    assert_eq!(names_of_children(&world, copy), ["nozzle"], "once, not once more from the engine");
    assert_eq!(world.get::<Health>(copy), Some(&Health(9)));
    assert_eq!((world.get::<Armor>(copy), world.get_inherited::<Armor>(copy)), (None, Some(&Armor(4))));
    world.get_mut::<Armor>(engine).unwrap().0 = 5;
    assert_eq!(world.get_inherited::<Armor>(copy), Some(&Armor(5)));
    check(&world);
}

#[test]
fn a_variant_is_an_instance_that_has_instances() {
    let mut world = world();
    let frigate = frigate(&mut world);
    let heavy = world.spawn((Prefab, Health(300), Pair(IsA, frigate))).id();
    let ram = world.spawn((Name::new("ram"), ChildOf(heavy))).id();
    assert_eq!(names_of_children(&world, heavy), ["bridge", "port", "starboard", "ram"]);
    assert!(
        world.pairs::<ChildOf>().descendants(heavy).all(|(entity, _)| world.get::<Prefab>(entity).is_some())
    );
    let port = child_named(&world, heavy, "port");
    world.entity_mut(port).insert(Health(77));
    let ship = world.instantiate(heavy).unwrap();
    assert_eq!(names_of_children(&world, ship), ["bridge", "port", "starboard", "ram"]);
    assert_eq!(world.get::<Health>(ship), Some(&Health(300)));
    assert_eq!(world.get::<Health>(child_named(&world, ship, "port")), Some(&Health(77)));
    assert_eq!(world.get_inherited::<Armor>(ship), Some(&Armor(50)));
    assert!(world.has_pair::<IsA>(ship, heavy) && !world.has_pair::<IsA>(ship, frigate));
    world.register_component_name::<Armor>("Armor");
    for text in [format!("(IsA, #{})", frigate.to_bits()), format!("(IsA, #{}), Armor", heavy.to_bits())] {
        let mut expr = PairExpr::parse(&text).unwrap().compile(&mut world).unwrap();
        assert_eq!(expr.count(&world), Ok(1), "{text}");
    }
    // Of the variant's variant.
    world.entity_mut(heavy).insert(Armor(60));
    let huge = world.spawn((Prefab, Pair(IsA, heavy))).id();
    world.despawn(ram);
    let ship = world.instantiate(huge).unwrap();
    assert_eq!(
        (world.get::<Health>(ship), world.get_inherited::<Armor>(ship)),
        (Some(&Health(300)), Some(&Armor(60)))
    );
    assert_eq!(children(&world, ship).len(), 4, "the variant has its own copy of what is gone");
    check(&world);
}

/// Copied, too.
#[derive(Component, Clone, Copy, PartialEq, Debug)]
struct Speed(u32);

#[derive(Component, Clone, Copy, PartialEq, Debug)]
struct Shield(u32);

#[test]
fn what_a_variant_lacks_comes_from_its_base() {
    let mut world = world();
    let [crew, dock] = [world.spawn_empty().id(), world.spawn_empty().id()];
    let base = world.spawn((Prefab, Health(100))).id();
    let cabin = world.spawn((Name::new("cabin"), ChildOf(base))).id();
    let variant = world.spawn((Prefab, Pair(IsA, base))).id();
    let of_variant = world.spawn((Prefab, Pair(IsA, variant))).id();
    // Given late, taken away, and a pair with a part, which is the base's own.
    world.entity_mut(base).insert((Speed(7), Pair(Likes, crew), Pair(Likes, cabin), Pair(Likes, base)));
    world.entity_mut(variant).remove::<Health>();
    world.entity_mut(of_variant).remove::<Health>().insert(Pair(Likes, dock));
    world.spawn((Name::new("late"), ChildOf(base)));
    let check_ship = |world: &World, ship: Entity| {
        assert_eq!(
            (world.get::<Health>(ship), world.get::<Speed>(ship)),
            (Some(&Health(100)), Some(&Speed(7)))
        );
        assert_eq!(world.pairs::<Likes>().targets(ship).collect::<Vec<_>>(), [dock, crew]);
        assert_eq!(names_of_children(world, ship), ["cabin"]);
    };
    let ship = world.instantiate(of_variant).unwrap();
    check_ship(&world, ship);
    for ship in world.instantiate_batch(of_variant, 2).unwrap() {
        check_ship(&world, ship);
    }
    // What the ship has itself counts before what comes from far.
    let own = world.spawn((Speed(1), Pair(IsA, of_variant))).id();
    assert_eq!(world.get::<Speed>(own), Some(&Speed(1)));
    // A part that is an instance of something gives what its base gets later, too.
    let fleet = world.spawn(Prefab).id();
    world.spawn((ChildOf(fleet), Pair(IsA, variant)));
    world.entity_mut(base).insert((Shield(3), Speed(8)));
    let fleet = world.instantiate(fleet).unwrap();
    let flagship = world.entity(children(&world, fleet)[0]);
    assert_eq!((flagship.get::<Shield>(), flagship.get::<Speed>()), (Some(&Shield(3)), Some(&Speed(7))));
    check(&world);
}

#[test]
fn several_prefabs_give_in_order() {
    let mut world = world();
    let first = world.spawn((Prefab, Health(1), children![Name::new("a")])).id();
    let second = world.spawn((Prefab, Health(2), Armor(2), children![Name::new("b")])).id();
    let both = world.spawn(pairs![(IsA, first), (IsA, second)]).id();
    assert_eq!(
        (world.get::<Health>(both), world.get_inherited::<Armor>(both)),
        (Some(&Health(1)), Some(&Armor(2)))
    );
    assert_eq!(names_of_children(&world, both), ["a", "b"]);
    check(&world);
}

#[test]
fn slots_name_their_copies_in_every_instance() {
    let mut world = world();
    let frigate = frigate(&mut world);
    let [port, bridge] = ["port", "bridge"].map(|name| child_named(&world, frigate, name));
    let chair = child_named(&world, bridge, "chair");
    for slot in [port, chair] {
        world.insert_pair(slot, SlotOf, frigate).unwrap();
    }
    let slot = |world: &World, ship, slot| world.pairs_by_id(slot).targets(ship).collect::<Vec<_>>();
    let ship = world.instantiate(frigate).unwrap();
    assert_eq!(slot(&world, ship, port), [child_named(&world, ship, "port")]);
    let own_bridge = child_named(&world, ship, "bridge");
    assert_eq!(slot(&world, ship, chair), [child_named(&world, own_bridge, "chair")]);
    assert!(!world.pairs::<SlotOf>().has_any(slot(&world, ship, port)[0]));
    // In a variant, with a slot of its own, and in its instances.
    let heavy = world.spawn((Prefab, Pair(IsA, frigate))).id();
    assert_eq!(slot(&world, heavy, port), [child_named(&world, heavy, "port")]);
    let ram = world.spawn((Name::new("ram"), ChildOf(heavy), Pair(SlotOf, heavy))).id();
    let ship = world.instantiate(heavy).unwrap();
    assert_eq!(slot(&world, ship, port), [child_named(&world, ship, "port")]);
    assert_eq!(slot(&world, ship, ram), [child_named(&world, ship, "ram")]);
    // In what is nested: the slot belongs to the part.
    let fleet = world.spawn(Prefab).id();
    world.spawn((Name::new("flagship"), ChildOf(fleet), Pair(IsA, heavy)));
    let parent = world.spawn(Pair(IsA, fleet)).id();
    let flagship = child_named(&world, parent, "flagship");
    assert_eq!(slot(&world, flagship, port), [child_named(&world, flagship, "port")]);
    assert_eq!(slot(&world, flagship, ram), [child_named(&world, flagship, "ram")]);
    assert_eq!(slot(&world, parent, port), []);
    check(&world);
    // The slot goes with the part of the prefab; the copies stay.
    let turret = child_named(&world, ship, "port");
    world.despawn(port);
    assert!(
        world.get_entity(turret).is_ok() && !world.pairs_of(ship).iter().any(|&(_, target)| target == turret)
    );
    world.check_pairs().unwrap();
}

#[test]
fn a_slot_of_something_else_is_reported_and_the_rest_is_made() {
    let mut world = world();
    let [other] = spawn(&mut world);
    world.entity_mut(other).insert(Name::new("Other"));
    let prefab = world.spawn((Prefab, children![(Name::new("part"), Pair(SlotOf, other))])).id();
    let ship = world.instantiate(prefab).unwrap();
    assert_eq!(names_of_children(&world, ship), ["part"]);
    let errors = take_reported_errors();
    assert!(errors.len() == 1 && errors[0].contains("part") && errors[0].contains("Other"), "{errors:?}");
    // A part of the variant may be a slot of the base.
    let variant = world.spawn((Prefab, Pair(IsA, prefab))).id();
    take_reported_errors();
    let added = world.spawn((Name::new("added"), ChildOf(variant), Pair(SlotOf, prefab))).id();
    let ship = world.instantiate(variant).unwrap();
    assert!(world.pairs_by_id(added).targets(ship).eq([child_named(&world, ship, "added")]));
    check(&world);
}

#[test]
fn a_clone_of_an_instance_is_an_instance_with_what_the_original_has() {
    let mut world = world();
    let frigate = frigate(&mut world);
    let ship = world.instantiate(frigate).unwrap();
    let port = child_named(&world, ship, "port");
    world.despawn(port);
    let alone = world.entity_mut(ship).clone_and_spawn();
    assert!(world.has_pair::<IsA>(alone, frigate) && children(&world, alone).is_empty());
    let [whole] = spawn(&mut world);
    EntityCloner::build_opt_out(&mut world).linked_cloning(true).clone_entity(ship, whole);
    assert_eq!(names_of_children(&world, whole), ["bridge", "starboard"]);
    assert_eq!(world.get_inherited::<Armor>(whole), Some(&Armor(50)));
    check(&world);
    // A clone of a prefab is a prefab.
    let [copy] = spawn(&mut world);
    EntityCloner::build_opt_out(&mut world).linked_cloning(true).clone_entity(frigate, copy);
    let ship = world.instantiate(copy).unwrap();
    assert_eq!(names_of_children(&world, ship), ["bridge", "port", "starboard"]);
    check(&world);
}

#[test]
fn editing_a_prefab_shows_in_what_is_shared_and_nowhere_else() {
    let mut world = world();
    let frigate = frigate(&mut world);
    let old = world.instantiate(frigate).unwrap();
    world.entity_mut(frigate).insert((Armor(51), Health(101)));
    world.spawn((Name::new("mast"), ChildOf(frigate)));
    let chair = child_named(&world, child_named(&world, frigate, "bridge"), "chair");
    world.despawn(chair);
    assert_eq!(
        (world.get_inherited::<Armor>(old), world.get::<Health>(old)),
        (Some(&Armor(51)), Some(&Health(100)))
    );
    assert_eq!(names_of_children(&world, old), ["bridge", "port", "starboard"]);
    assert_eq!(names_of_children(&world, child_named(&world, old, "bridge")), ["chair"]);
    let new = world.instantiate(frigate).unwrap();
    assert_eq!(world.get::<Health>(new), Some(&Health(101)));
    assert_eq!(names_of_children(&world, new), ["bridge", "port", "starboard", "mast"]);
    assert_eq!(names_of_children(&world, child_named(&world, new, "bridge")), [""; 0]);
    world.entity_mut(frigate).remove::<Armor>();
    assert_eq!(world.get_inherited::<Armor>(old), None);
    check(&world);
}

#[test]
fn an_instance_that_leaves_its_prefab_keeps_its_copies() {
    let mut world = world();
    let frigate = frigate(&mut world);
    let [left, orphan, gone] = [(); 3].map(|()| world.instantiate(frigate).unwrap());
    world.remove_pair::<IsA>(left, frigate);
    assert!(!world.has_inherited::<Armor>(left) && children(&world, left).len() == 3);
    let before = all_entities(&world).len();
    world.despawn(gone);
    assert_eq!(all_entities(&world).len(), before - 7, "with all parts");
    world.despawn(frigate);
    assert_eq!(world.get::<Health>(orphan), Some(&Health(100)));
    assert!(world.pairs_of(orphan).is_empty() && children(&world, orphan).len() == 3);
    check(&world);
}

#[test]
fn what_is_no_prefab_is_refused_and_nothing_is_spawned() {
    let mut world = world();
    let frigate = frigate(&mut world);
    let plain = world.spawn(Name::new("Plain")).id();
    let fixed = world.spawn((Name::new("Fixed"), Prefab)).id();
    world.set_traits(fixed, RelationTraits::new().is_final()).unwrap();
    let [dead] = spawn(&mut world);
    world.despawn(dead);
    let cases = [(dead, "not alive"), (plain, "Plain"), (fixed, "final")];
    for (entity, expected) in cases {
        let before = all_entities(&world);
        for count in [None, Some(0), Some(2)] {
            if expected == "final" && count == Some(0) {
                // There is no pair to refuse.
                continue;
            }
            let error = refused(&mut world, |world| match count {
                None => world.instantiate(entity).map(drop),
                Some(count) => world.instantiate_batch(entity, count).map(drop),
            });
            assert!(error.to_string().contains(expected), "{error}");
            match expected {
                "not alive" => assert!(matches!(error, InstantiateError::Dead { .. })),
                "Plain" => assert!(matches!(error, InstantiateError::NotAPrefab { .. })),
                _ => assert!(matches!(error, InstantiateError::Refused(InsertPairError::Final { .. }))),
            }
        }
        if expected != "final" {
            assert_eq!(all_entities(&world), before);
        }
        world.commands().instantiate(entity);
        world.commands().instantiate_batch(entity, 1);
        world.flush();
        let errors = take_reported_errors();
        assert!(errors.len() == 2 && errors.iter().all(|error| error.contains(expected)), "{errors:?}");
    }
    // Not of itself, and not within itself.
    let error = refused(&mut world, |world| world.insert_pair(frigate, IsA, frigate));
    assert!(matches!(error, InsertPairError::Cycle { .. }), "{error}");
    let bridge = child_named(&world, frigate, "bridge");
    let chair = child_named(&world, bridge, "chair");
    for part in [bridge, chair] {
        let error = refused(&mut world, |world| world.insert_pair(part, IsA, frigate));
        assert!(matches!(error, InsertPairError::InsidePrefab { .. }), "{error}");
        assert!(error.to_string().contains("Frigate"), "{error}");
    }
    let variant = world.spawn((Prefab, Pair(IsA, frigate))).id();
    refused(&mut world, |world| world.insert_pair(frigate, IsA, variant));
    // What is no prefab is a base and gives nothing.
    let kind = world.spawn((Health(1), children![()])).id();
    let fruit = world.spawn(Pair(IsA, kind)).id();
    assert!(world.get::<Health>(fruit).is_none() && children(&world, fruit).is_empty());
    check(&world);
}

#[test]
fn worlds_do_not_mix_and_prefabs_survive_the_loss_of_all_pairs() {
    let mut first = world();
    let mut second = world();
    let prefab = frigate(&mut first);
    let _ = frigate(&mut second);
    first.clear_pairs();
    let ship = first.instantiate(prefab).unwrap();
    assert!(first.has_pair::<IsA>(ship, prefab) && first.get::<Health>(ship) == Some(&Health(100)));
    let all = second.run_system_once(|ships: Query<&Health>| ships.iter().count()).unwrap();
    assert_eq!(all, 0);
    check(&first);
    check(&second);
}

/// What users ask of `IsA` itself: companions, one base, another way of storage, ends with a component.
#[test]
fn instances_obey_what_is_asked_of_is_a() {
    let new = RelationTraits::new;
    let asked = [
        new(),
        new().with::<Likes>(),
        new().source(EndConstraint::with_default::<Health>()).on_missing(OnMissing::Insert),
        new().exclusive(),
        new().storage(RelationStorage::Table),
    ];
    for (number, traits) in asked.into_iter().enumerate() {
        let mut world = world();
        let is_a = world.register_relation::<IsA>().unwrap();
        let prefab = world.spawn((Prefab, Armor(3))).id();
        world.spawn((Prefab, ChildOf(prefab)));
        world.set_traits(is_a, traits.clone()).unwrap();
        let instances = world.instantiate_batch(prefab, 3).unwrap();
        for instance in instances {
            assert_eq!(world.has_pair::<Likes>(instance, prefab), number == 1);
            assert!(world.has_pair::<IsA>(instance, prefab) && children(&world, instance).len() == 1);
            assert_eq!(world.get::<Health>(instance).is_some(), number == 2);
            // A base is no instance of what is an instance of it.
            let error = refused(&mut world, |world| world.insert_pair(prefab, IsA, instance));
            assert!(matches!(error, InsertPairError::Cycle { .. }), "{error}");
        }
        assert_eq!(world.pairs::<IsA>().source_count(prefab), 3);
        assert_eq!(take_reported_errors(), Vec::<String>::new());
        world.check_pairs().unwrap();
    }
}

#[test]
fn a_prefab_is_reflected_as_a_component() {
    use bevy_ecs::reflect::{AppTypeRegistry, ReflectComponent};
    let mut app = bevy_app::App::new();
    app.add_plugins(RelationsPlugin);
    let world = app.world_mut();
    let types = world.resource::<AppTypeRegistry>().clone();
    let types = types.read();
    let prefab = types.get_with_type_path("bevy_relations::prefab::Prefab").unwrap();
    let entity = world.spawn_empty().id();
    prefab.data::<ReflectComponent>().unwrap().insert(&mut world.entity_mut(entity), &Prefab, &types);
    assert!(world.entity(entity).contains::<Prefab>());
}
