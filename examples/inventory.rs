//! Inventories: who carries how many of what, in which slot, and what they hold in hand.
//!
//! Shows pairs with data (`Carries`), an exclusive relation (`Wields`), data of both ends of pairs (`PairQuery`),
//! writing the data of pairs in place (`PairsMut`), and reading the pairs of an entity that is being despawned.
//!
//! ```text
//! cargo run --example inventory
//! ```
//!
//! It prints who has what after each step, and checks it:
//!
//! ```text
//! Bilbo takes up a weapon: 1 sword in slot 0, 3 potion in slot 1, 1 bow in slot 2; 9.5 of 10; wields bow
//! ```

use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;

/// What lies in a slot of somebody's inventory. The target is a kind of item.
#[derive(Relation, Clone, Copy)]
struct Carries {
    count: u32,
    slot: u32,
}

/// What somebody has in hand: one thing at a time.
#[derive(Relation)]
#[relation(exclusive)]
struct Wields;

/// Of one item of a kind.
#[derive(Component)]
struct Weight(f32);

#[derive(Component)]
struct Load {
    now: f32,
    limit: f32,
}

/// Whatever loses its bearer falls here.
#[derive(Resource)]
struct Ground(Entity);

/// Somebody hands things over to somebody else.
#[derive(Resource, Clone, Copy)]
struct Handover {
    from: Entity,
    to: Entity,
    item: Entity,
    count: u32,
}

fn unload(mut loads: Query<&mut Load>) {
    loads.iter_mut().for_each(|mut load| load.now = 0.0);
}

/// Bearers come once for each thing that they carry.
fn weigh(mut carried: PairQuery<Carries, &mut Load, &Weight>) {
    carried.for_each(|mut load, pair, weight| {
        load.now += pair.value().map_or(0.0, |stack| stack.count as f32 * weight.0);
    });
}

/// Moves a part of a stack, unless it is too heavy for the one who gets it. Returns how many were moved.
fn hand_over(
    handover: Res<Handover>,
    mut stacks: PairsMut<Carries>,
    loads: Query<&Load>,
    weights: Query<&Weight>,
    mut commands: Commands,
) -> u32 {
    let Handover { from, to, item, count } = *handover;
    let room = match (loads.get(to), weights.get(item)) {
        (Ok(load), Ok(weight)) => ((load.limit - load.now) / weight.0) as u32,
        _ => u32::MAX,
    };
    let next_slot = stacks.target_count(to) as u32;
    let Some(mut given) = stacks.get_mut(from, item) else { return 0 };
    let moved = count.min(room).min(given.count);
    if moved == given.count {
        commands.entity(from).remove_pair::<Carries>(item);
    } else {
        given.count -= moved;
    }
    match stacks.get_mut(to, item) {
        Some(mut taken) => taken.count += moved,
        None if moved > 0 => {
            commands.entity(to).insert_pair(Carries { count: moved, slot: next_slot }, item);
        }
        None => {}
    }
    moved
}

/// The pairs of a bearer can still be read while it is being despawned.
fn drop_everything(
    on: On<Despawn<Load>>,
    stacks: Pairs<Carries>,
    ground: Res<Ground>,
    mut commands: Commands,
) {
    for (item, stack) in stacks.values_of(on.entity) {
        let lying = stacks.get(ground.0, item).map_or(0, |stack| stack.count);
        commands.entity(ground.0).insert_pair(Carries { count: lying + stack.count, slot: 0 }, item);
    }
}

/// What somebody carries, in words.
fn describe(world: &World, bearer: Entity) -> String {
    let name = |entity| world.get::<Name>(entity).map_or("something", |name| name.as_str());
    let stacks = world.pairs::<Carries>();
    let mut stacks: Vec<_> = stacks.values_of(bearer).collect();
    stacks.sort_by_key(|(_, stack)| stack.slot);
    let words = stacks
        .iter()
        .map(|(item, Carries { count, slot })| format!("{count} {} in slot {slot}", name(*item)));
    let mut text = words.collect::<Vec<_>>().join(", ");
    if let Some(load) = world.get::<Load>(bearer) {
        text += &format!("; {} of {}", load.now, load.limit);
    }
    if let Some(weapon) = world.pairs::<Wields>().target(bearer) {
        text += &format!("; wields {}", name(weapon));
    }
    text
}

fn main() -> Result {
    let mut world = World::new();
    let mut turn = Schedule::default();
    turn.add_systems((unload, weigh).chain());
    world.add_observer(drop_everything);
    let [sword, bow, potion] = [("sword", 3.0), ("bow", 2.0), ("potion", 1.5)]
        .map(|(name, weight)| world.spawn((Name::new(name), Weight(weight))).id());
    let ground = world.spawn(Name::new("the ground")).id();
    world.insert_resource(Ground(ground));
    let hand_over = world.register_system(hand_over);

    let stack = |slot, count| Carries { count, slot };
    let pack = pairs![(stack(0, 1), sword), (stack(1, 3), potion), (stack(2, 1), bow), (Wields, sword)];
    let bilbo = world.spawn((Name::new("Bilbo"), Load { now: 0.0, limit: 10.0 }, pack)).id();
    let pouch = pairs![(stack(0, 1), potion)];
    let frodo = world.spawn((Name::new("Frodo"), Load { now: 0.0, limit: 4.0 }, pouch)).id();

    let mut step = |world: &mut World, title: &str, bearer: Entity, expected: &str| {
        turn.run(world);
        let text = describe(world, bearer);
        println!("{title}: {text}");
        assert_eq!(text, expected);
    };

    world.insert_pair(bilbo, Wields, bow)?;
    let all = "1 sword in slot 0, 3 potion in slot 1, 1 bow in slot 2; 9.5 of 10; wields bow";
    step(&mut world, "Bilbo takes up a weapon", bilbo, all);

    world.insert_resource(Handover { from: bilbo, to: frodo, item: potion, count: 2 });
    assert_eq!(world.run_system(hand_over)?, 1, "Frodo has no room for two");
    step(&mut world, "Frodo gets what he can carry", frodo, "2 potion in slot 0; 3 of 4");

    world.insert_resource(Handover { from: bilbo, to: ground, item: potion, count: 9 });
    assert_eq!(world.run_system(hand_over)?, 2, "Bilbo has no more");
    let rest = "1 sword in slot 0, 1 bow in slot 2; 5 of 10; wields bow";
    step(&mut world, "Bilbo lays down his potions", bilbo, rest);

    world.despawn(bilbo);
    let fallen = "2 potion in slot 0, 1 sword in slot 0, 1 bow in slot 0";
    step(&mut world, "Bilbo is gone, and on the ground lie", ground, fallen);
    assert_eq!(world.pairs::<Wields>().len(), 0, "nobody wields anything");
    world.check_pairs()?;
    Ok(())
}
