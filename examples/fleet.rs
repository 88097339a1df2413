//! A fleet: prefabs of ships with turrets, a variant, a prefab within a prefab, and instances with something of their own.
//!
//! Shows prefabs (`Prefab`, `IsA`, `instantiate`), what instances copy and what they share (`OnInstantiate`, `Inherited`),
//! overrides, slots (`SlotOf`), and what a change of a prefab does.
//!
//! ```text
//! cargo run --example fleet
//! ```
//!
//! It prints the ships after each step, and checks them:
//!
//! ```text
//! launched:      Ada 100/50 [bow 10, stern 10] | Bea 20/50 [bow 10, stern 10] | Cat 300/50 [bow 40, stern 10, ram 1]
//! ```

use bevy_ecs::prelude::*;
use bevy_relations::{
    prefab::{Prefab, SlotOf, WorldPrefabExt},
    prelude::*,
    query::Inherited,
    relation::OnInstantiate,
};

/// Each ship has its own.
#[derive(Component, Clone)]
struct Health(u32);

/// The ships of a class share it.
#[derive(Component, Clone)]
struct Armor(u32);

#[derive(Component)]
struct Ship;

/// Where the parts of a ship are named: the slots of its class.
#[derive(Resource)]
struct Class {
    frigate: Entity,
    bow: Entity,
}

/// What sails, by name: health, armour, and the parts with their health.
fn report(
    ships: Query<(Entity, &Name, &Health, Inherited<&Armor>), With<Ship>>,
    tree: Pairs<ChildOf>,
    parts: Query<(&Name, &Health)>,
) -> String {
    let mut lines: Vec<String> = ships
        .iter()
        .map(|(ship, name, health, armor)| {
            let parts = parts
                .iter_many(tree.sources(ship))
                .flatten()
                .map(|(name, health)| format!("{name} {}", health.0));
            format!("{name} {}/{} [{}]", health.0, armor.0, parts.collect::<Vec<_>>().join(", "))
        })
        .collect();
    lines.sort();
    lines.join(" | ")
}

fn show(world: &mut World, step: &str, expected: &str) {
    let found = world.run_system_cached(report).expect("the system runs");
    println!("{:<14} {found}", format!("{step}:"));
    assert_eq!(found, expected);
}

fn build_classes(world: &mut World) -> Result<(Entity, Entity)> {
    let armor = world.entity_of::<Armor>();
    world.set_traits(armor, RelationTraits::new().on_instantiate(OnInstantiate::Inherit))?;

    // A turret is a prefab of its own, of which a frigate has two.
    let turret = world.spawn((Prefab, Health(10))).id();
    let frigate = world.spawn((Prefab, Health(100), Armor(50))).id();
    let turret_of = |name| (Name::new(name), ChildOf(frigate), Pair(IsA, turret));
    let bow = world.spawn((turret_of("bow"), Pair(SlotOf, frigate))).id();
    world.spawn(turret_of("stern"));
    world.insert_resource(Class { frigate, bow });

    // A heavy frigate is a frigate with more health, a stronger turret and a ram.
    let heavy = world.spawn((Prefab, Health(300), Pair(IsA, frigate))).id();
    let own_bow = world.pairs_by_id(bow).target(heavy).expect("a slot");
    world.entity_mut(own_bow).insert(Health(40));
    world.spawn((Name::new("ram"), ChildOf(heavy), Health(1)));
    Ok((frigate, heavy))
}

/// Every bow turret of a frigate of whatever kind is hit.
fn hit_bows(world: &mut World) {
    let Class { frigate, bow } = *world.resource::<Class>();
    let all = world.pairs::<IsA>().descendants(frigate).map(|(ship, _)| ship);
    let bows: Vec<Entity> = all.filter_map(|ship| world.pairs_by_id(bow).target(ship)).collect();
    for turret in bows {
        // The variant is a prefab, and is not hit.
        if world.get::<Prefab>(turret).is_none()
            && let Some(mut health) = world.get_mut::<Health>(turret)
        {
            health.0 -= 5;
        }
    }
}

fn main() -> Result {
    let mut world = World::new();
    let (frigate, heavy) = build_classes(&mut world)?;
    show(&mut world, "no ship", "");

    let ada = world.instantiate(frigate)?;
    world.entity_mut(ada).insert((Ship, Name::new("Ada")));
    world.spawn((Ship, Name::new("Bea"), Health(20), Pair(IsA, frigate)));
    world.spawn((Ship, Name::new("Cat"), Pair(IsA, heavy)));
    show(
        &mut world,
        "launched",
        "Ada 100/50 [bow 10, stern 10] | Bea 20/50 [bow 10, stern 10] | Cat 300/50 [bow 40, stern 10, ram 1]",
    );

    // The shared armour changes for all at once; existing instances do not get the new mast.
    world.entity_mut(frigate).insert(Armor(60));
    world.spawn((Name::new("mast"), ChildOf(frigate), Health(5)));
    world.entity_mut(ada).insert(Armor(90));
    show(
        &mut world,
        "rearmed",
        "Ada 100/90 [bow 10, stern 10] | Bea 20/60 [bow 10, stern 10] | Cat 300/60 [bow 40, stern 10, ram 1]",
    );

    hit_bows(&mut world);
    show(
        &mut world,
        "hit",
        "Ada 100/90 [bow 5, stern 10] | Bea 20/60 [bow 5, stern 10] | Cat 300/60 [bow 35, stern 10, ram 1]",
    );

    // A fourth has the mast.
    let dot = world.instantiate(frigate)?;
    world.entity_mut(dot).insert((Ship, Name::new("Dot")));
    world.despawn(ada);
    show(
        &mut world,
        "relieved",
        "Bea 20/60 [bow 5, stern 10] | Cat 300/60 [bow 35, stern 10, ram 1] | Dot 100/60 [bow 10, stern 10, mast 5]",
    );
    world.check_pairs()?;
    Ok(())
}
