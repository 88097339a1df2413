//! Live expressions while the program does all that Bevy offers for entities, components, relationships and
//! resources, and while observers add to it.

use super::{InParts, Likes, play_seeds};
use crate::{
    common::{Crew, CrewOf, Random, all_entities, try_reuse_index, world_that_records_errors},
    live::{fresh_rows, kept_rows},
};
use bevy_ecs::{
    entity::EntityHashSet, entity_disabling::Disabled, prelude::*, query::Allow, reflect::AppTypeRegistry,
};
use bevy_reflect::prelude::*;
use bevy_relations::{
    expr::PairExpr,
    prelude::*,
    relation::{OnInstantiate, Prefab},
};

#[derive(Component, Clone, Default)]
struct Ship;

#[derive(Component, Clone, Default)]
#[component(storage = "SparseSet")]
struct Fuel;

#[derive(Component, Clone, Default)]
struct Port;

#[derive(Component, Reflect, Clone)]
#[reflect(Component)]
struct Health {
    hp: i32,
    near: (Entity, Option<Entity>),
}

#[derive(Resource, Reflect)]
#[reflect(Resource)]
struct SimTime(u32);

#[derive(Relation)]
#[relation(transitive, reflexive)]
struct Within;

#[derive(Relation)]
#[relation(symmetric, exclusive)]
struct Partner;

#[derive(Relation)]
#[relation(with = Likes)]
struct Loves;

const TEXTS: &[&str] = &[
    "Ship, (CrewOf, $x)",
    "Ship, Fuel(up CrewOf)",
    "Ship, Fuel(down ChildOf)",
    "Ship, Fuel(down ChildOf 2..3)",
    "Fuel(up ChildOf 2)",
    "Fuel(up ChildOf 2..)",
    "Fuel(up|all ChildOf)",
    "Ship, ?Fuel(up|all ChildOf)",
    "Ship, !{ (ChildOf, $u), Fuel($u|up ChildOf) }",
    "Ship, !{ ChildOf($u, $this), !Fuel($u) }",
    "(Likes, e0|up ChildOf)",
    "(Likes, $x|up ChildOf), Ship",
    "(Likes, $x|self|down ChildOf), Ship",
    "Ship, (ChildOf, #0)",
    "Ship, !(ChildOf, *)",
    "Ship, Fuel($this.gun)",
    "(Likes, $x), !Fuel($x.gun)",
    "Ship, $this ~= \"a\"",
    "Ship, $this == \"e0.gun\"",
    "Ship, $this != \"e1.gun\"",
    "SimTime($), Ship",
    "Ship, !SimTime($)",
    "(IsA, e0)",
    "Ship, (IsA, $x)",
    "Port",
    "Port, Ship",
    "Port(self), ?Fuel",
    "Ship, !Port",
    "Port(up ChildOf)",
    "Ship, ?Port(up InParts)",
    "Ship, ?Health.near.0($this, $x), ?Fuel($x)",
    "Health.near.1($this, $x), (ChildOf, $y)",
    "Health.hp < 5, Ship || Fuel",
    "Ship, !Health.hp($x) < 5, (Likes, $x)",
    "(Within, e1)",
    "Ship, (Within, $x), Fuel($x)",
    "Within($x, $this), Ship",
    "Ship, !(Within, e2)",
    "(Partner, $x), ?(Partner, $this)",
    "Partner($x, $y), Likes($y, $x)",
    "(Loves, $x), !Fuel($x)",
    "(InParts, $x), (InParts, $x)",
    "Ship, (Likes, $x) || (Loves, $x) || (CrewOf, $x), ?Fuel($x)",
    "Disabled, Ship",
    "Prefab, ?Ship",
    "Ship, ?Disabled",
    "(ChildOf, $x), Disabled($x)",
    "Ship, ?(Likes, $x), ?(ChildOf, $x), !Fuel($x)",
    "(*, $x), Ship($x)",
    "($r, e0)",
    "Ship, ($r, $x), ($r, $y), $x != $y",
    "Ship, ?Fuel(cascade ChildOf)",
    "Ship, ?Fuel(cascade|desc InParts)",
    "Ship($x), (Likes, $x), !Likes($x, $this)",
    "Likes($a, $b), Likes($b, $c), !Likes($a, $c)",
    "Likes($a, $b), ?ChildOf($b, $c), ?Fuel($c)",
    "Ship, !{ Fuel || (Likes, *) }",
    "{ Ship, (Likes, $x) } || { Fuel, (ChildOf, $x) }",
    "Children, ?Ship",
    "Crew, !Fuel",
    "Name, (ChildOf, $p), Name($p)",
];

/// How often observers have acted.
#[derive(Resource, Default)]
struct Acts(u32);

fn prepare(world: &mut World) {
    let types = AppTypeRegistry::default();
    types.write().register::<Health>();
    types.write().register::<SimTime>();
    types.write().register::<(Entity, Option<Entity>)>();
    world.insert_resource(types);
    world.register_component_name::<Ship>("Ship");
    world.register_component_name::<Fuel>("Fuel");
    world.register_component_name::<Port>("Port");
    world.register_component_name::<Health>("Health");
    world.register_component_name::<SimTime>("SimTime");
    world.register_component_name::<Disabled>("Disabled");
    world.register_component_name::<Prefab>("Prefab");
    world.register_component_name::<Children>("Children");
    world.register_component_name::<Crew>("Crew");
    world.register_component_name::<Name>("Name");
    world.register_relation::<Likes>().unwrap();
    world.register_relation::<InParts>().unwrap();
    world.register_relation::<Within>().unwrap();
    world.register_relation::<Partner>().unwrap();
    world.register_relation::<Loves>().unwrap();
    world.register_relation::<CrewOf>().unwrap();
    let port = world.entity_of::<Port>();
    world.set_traits(port, RelationTraits::new().on_instantiate(OnInstantiate::Inherit)).unwrap();
}

/// Observers that act amid operations.
fn observe(world: &mut World) {
    world.add_observer(|on: On<Add<Fuel>>, mut commands: Commands, mut acts: ResMut<Acts>| {
        acts.0 += 1;
        match acts.0 % 5 {
            0 => _ = commands.entity(on.entity).try_remove::<Fuel>(),
            1 => _ = commands.entity(on.entity).try_insert(Port),
            2 => _ = commands.entity(on.entity).try_remove::<Ship>(),
            _ => {}
        }
    });
    world.add_observer(|on: On<PairInserted<Likes>>, mut commands: Commands, mut acts: ResMut<Acts>| {
        acts.0 += 1;
        let (source, target) = (on.event().source, on.event().target);
        match acts.0 % 7 {
            0 => commands.queue(move |world: &mut World| _ = world.remove_pair::<Likes>(source, target)),
            1 => commands.queue(move |world: &mut World| _ = world.insert_pair(target, InParts, source)),
            2 => _ = commands.entity(source).try_insert(Fuel),
            _ => {}
        }
    });
    world.add_observer(|on: On<PairRemoved<Likes>>, mut commands: Commands, mut acts: ResMut<Acts>| {
        acts.0 += 1;
        let (source, target) = (on.event().source, on.event().target);
        match acts.0 % 5 {
            0 => commands.queue(move |world: &mut World| _ = world.insert_pair(target, Within, source)),
            1 => _ = commands.entity(target).try_remove::<Port>(),
            _ => {}
        }
    });
}

fn is_alive(world: &World, entity: Entity) -> bool {
    world.get_entity(entity).is_ok()
}

/// Whether an entity may get a parent without a cycle.
fn may_be_child(world: &World, child: Entity, parent: Entity) -> bool {
    let mut ancestors =
        core::iter::successors(Some(parent), |&entity| world.get::<ChildOf>(entity).map(ChildOf::parent));
    !ancestors.any(|entity| entity == child)
}

/// Also whether it has no other parent: `replace_children` would leave it in the collection of that.
fn has_no_other_parent(world: &World, child: Entity, parent: Entity) -> bool {
    world.get::<ChildOf>(child).is_none_or(|of| of.parent() == parent) && may_be_child(world, child, parent)
}

/// Whether there may be more copies of all that is below something. Copies of copies would be too many.
fn is_small(world: &mut World) -> bool {
    let ships = world.query::<&Ship>().iter(world).count();
    ships + world.query::<&ChildOf>().iter(world).count() < 60
}

/// Despawns an entity, and spawns another one with its index, as a child of `parent`.
fn replace_by_index(world: &mut World, entities: &mut Vec<Entity>, old: Entity, parent: Entity) {
    world.despawn(old);
    if let Some(new) = try_reuse_index(world, old) {
        world.entity_mut(new).insert((Ship, Fuel, Name::new("gun")));
        if is_alive(world, parent) {
            let _ = world.insert_pair(new, Likes, parent);
            world.entity_mut(new).insert(ChildOf(parent));
        }
        entities.push(new);
    }
    // Thousands of empty ones were spawned meanwhile.
    for entity in all_entities(world) {
        if world.get_entity(entity).is_ok_and(|entity| entity.archetype().component_count() == 0) {
            world.despawn(entity);
        }
    }
    entities.retain(|&entity| is_alive(world, entity));
}

fn change_resource(world: &mut World, entity: Entity, number: i32) {
    match number % 4 {
        0 => world.insert_resource(SimTime(1)),
        1 => _ = world.remove_resource::<SimTime>(),
        2 if world.contains_resource::<SimTime>() => {
            world.resource_scope(|world, _: Mut<SimTime>| _ = world.entity_mut(entity).insert(Port));
        }
        2 => {}
        _ => world.clear_trackers(),
    }
}

/// What Bevy's collections say that its components do not: no test of rows makes sense then.
fn stale_collections(world: &mut World) -> Option<String> {
    let mut all = world.query_filtered::<(Entity, &Children), Allow<Disabled>>();
    for (parent, children) in all.iter(world) {
        for &child in children {
            if world.get::<ChildOf>(child).map(ChildOf::parent) != Some(parent) {
                return Some(format!("{parent} has child {child} ({:?})", world.get::<ChildOf>(child)));
            }
        }
        let set: EntityHashSet = children.iter().collect();
        if set.len() != children.len() {
            return Some(format!("{parent} has {children:?}"));
        }
    }
    let mut all = world.query_filtered::<(Entity, &Crew), Allow<Disabled>>();
    for (parent, crew) in all.iter(world) {
        for child in crew.iter() {
            if world.get::<CrewOf>(child).map(|crew| crew.ship) != Some(parent) {
                return Some(format!("{parent} has crew {child}"));
            }
        }
    }
    None
}

struct Scene {
    world: World,
    entities: Vec<Entity>,
    random: Random,
}

impl Scene {
    fn new(seed: u64, observed: bool) -> Self {
        let mut world = world_that_records_errors();
        prepare(&mut world);
        let name = |n: i32| Name::new(format!("e{n}"));
        let entities = (0..10).map(|n| world.spawn((Ship, name(n))).id()).collect();
        world.init_resource::<Acts>();
        if observed {
            observe(&mut world);
        }
        Self { world, entities, random: Random(seed * 7919 + 12345) }
    }

    fn change(&mut self) {
        let Self { world, entities, random } = self;
        let (a, b, c) = (random.pick(entities), random.pick(entities), random.pick(entities));
        let number = random.below(12) as i32;
        let kind = random.below(58);
        match kind {
            0 | 1 => _ = world.entity_mut(a).insert(Fuel),
            2 => _ = world.entity_mut(a).remove::<Fuel>(),
            3 => _ = world.entity_mut(a).insert(Port),
            4 => _ = world.entity_mut(a).remove::<Port>(),
            5 => _ = world.entity_mut(a).insert(Ship),
            6 => _ = world.entity_mut(a).remove::<Ship>(),
            7 => _ = world.entity_mut(a).insert(Health { hp: number, near: (b, (number > 3).then_some(c)) }),
            8 => {
                if let Some(mut health) = world.get_mut::<Health>(a) {
                    health.near = (c, Some(b));
                    health.hp = number;
                }
            }
            9 => _ = world.entity_mut(a).remove::<Health>(),
            10..=13 if may_be_child(world, a, b) => _ = world.entity_mut(a).insert(ChildOf(b)),
            14 => _ = world.entity_mut(a).remove::<ChildOf>(),
            15 if b != c && [b, c].iter().all(|&child| may_be_child(world, child, a)) => {
                world.entity_mut(a).insert_children(0, &[b, c]);
            }
            16 if b != c && [b, c].iter().all(|&child| has_no_other_parent(world, child, a)) => {
                world.entity_mut(a).replace_children(&[c, b]);
            }
            17 => _ = world.entity_mut(a).detach_all_children(),
            18 if number < 3 => _ = world.entity_mut(a).despawn_children(),
            19 => {
                if let Some(mut children) = world.get_mut::<Children>(a)
                    && children.len() > 1
                {
                    children.swap(0, 1);
                }
            }
            20 => _ = world.entity_mut(a).take::<ChildOf>(),
            21 => _ = world.entity_mut(a).take::<Fuel>(),
            22 => _ = world.entity_mut(a).retain::<(Ship, ChildOf)>(),
            23 if number < 4 => _ = world.entity_mut(a).clear(),
            24 if entities.len() < 40 => {
                let copy = world.entity_mut(a).clone_and_spawn();
                world.entity_mut(copy).insert(Name::new("copy"));
                entities.push(copy);
            }
            25 if is_small(world) => {
                let copy = world.entity_mut(a).clone_and_spawn_with_opt_out(|builder| {
                    builder.linked_cloning(true);
                });
                world.entity_mut(copy).insert(Name::new("a copy"));
                entities.push(copy);
            }
            26 if a != b => _ = world.entity_mut(a).move_components::<(Fuel, Port)>(b),
            27 if a != b => _ = world.entity_mut(a).clone_components::<(Fuel, Health)>(b),
            28 if number < 4 => _ = world.despawn(a),
            29 if number < 4 => _ = world.despawn_with_dependents(a),
            30 => replace_by_index(world, entities, a, b),
            31 => world.insert_batch([(a, (Fuel, Port))]),
            32 => _ = world.entity_mut(a).insert(Disabled),
            33 => _ = world.entity_mut(a).remove::<Disabled>(),
            34 if number < 3 => _ = world.entity_mut(a).insert(Prefab),
            35 => _ = world.entity_mut(a).remove::<Prefab>(),
            36 | 37 => _ = world.insert_pair(a, Likes, b),
            38 => _ = world.remove_pair::<Likes>(a, b),
            39 => _ = world.remove_pairs::<Likes>(a),
            40 | 41 => _ = world.insert_pair(a, InParts, b),
            42 => _ = world.remove_pairs::<InParts>(a),
            43 | 44 => _ = world.insert_pair(a, Within, b),
            45 => _ = world.remove_pairs::<Within>(a),
            46 => _ = world.insert_pair(a, Partner, b),
            47 => _ = world.insert_pair(a, Loves, b),
            48 if a != b => _ = world.entity_mut(a).insert(CrewOf { ship: b, wage: number as u32 }),
            49 => _ = world.entity_mut(a).remove::<CrewOf>(),
            50 => _ = world.modify_component(a, |crew: &mut CrewOf| crew.wage = number as u32),
            51 => _ = world.insert_pair(a, IsA, b),
            52 => _ = world.remove_pairs::<IsA>(a),
            53 => change_resource(world, a, number),
            54 => {
                let name = ["gun", "a", "b", "za"][number as usize % 4];
                world.entity_mut(a).insert(Name::new(name));
            }
            55 => _ = world.entity_mut(a).remove::<Name>(),
            56 if number < 3 => world.maintain_pairs(),
            57 if number < 1 => _ = world.remove_pairs_everywhere(PairId::with_relation(Entity::PLACEHOLDER)),
            _ => {}
        }
        let stale = stale_collections(world);
        assert_eq!(stale, None, "after change {kind} of {a}, {b} and {c}");
        entities.retain(|&entity| is_alive(world, entity));
        while entities.len() < 6 {
            entities.push(world.spawn((Ship, Fuel)).id());
        }
    }
}

fn play(seed: u64) {
    let mut scene = Scene::new(seed, seed % 2 == 1);
    let mut all = Vec::new();
    for &text in TEXTS {
        let expr = PairExpr::parse(text).unwrap();
        let fresh = expr.compile(&mut scene.world).unwrap();
        all.push((text, expr.live(&mut scene.world).unwrap(), fresh));
    }
    let (mut whole, mut updates) = (0, 0);
    for step in 0..60 {
        let changes = match scene.random.below(8) {
            0 => 30,
            1 => 0,
            _ => 1 + scene.random.below(3),
        };
        (0..changes).for_each(|_| scene.change());
        scene.world.check_pairs().unwrap();
        for (text, live, fresh) in &mut all {
            live.update(&mut scene.world).unwrap();
            updates += 1;
            whole += usize::from(live.ran_whole());
            let expected = fresh_rows(&scene.world, fresh);
            assert_eq!(kept_rows(&scene.world, live), expected, "step {step}, {text}\n{}", live.explain());
        }
    }
    assert!(whole < updates / 2, "{whole} of {updates} updates have found all rows anew");
}

#[test]
fn rows_are_those_of_now_whatever_a_program_does_with_its_entities() {
    play_seeds(40, play);
}
