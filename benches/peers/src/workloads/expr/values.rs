//! Expressions that compare a field.

use crate::harness::{Contestant, Stopwatch, Workload};
use bevy_ecs::{prelude::*, reflect::AppTypeRegistry};
use bevy_reflect::{GetTypeRegistration, Reflect};
use bevy_relations::expr::{PairExpr, WorldFieldIndexExt};

#[derive(Component, Reflect)]
#[reflect(Component)]
struct Health {
    /// A field beside the one that is compared.
    most: f32,
    hp: f32,
}

#[derive(Component, Reflect)]
#[component(summary_tick)]
#[reflect(Component)]
struct Armor {
    most: f32,
    hp: f32,
}

/// How many entities pass.
const HITS: usize = 100;

/// The values of entities that are spawned one after the other: those that pass lie far from each other.
fn values(size: usize) -> impl Iterator<Item = f32> {
    (0..size).map(move |number| if number % (size / HITS) == 0 { 1.0 } else { 50.0 })
}

/// `Health.hp < 10`, which a hundred entities fulfil. Time is per entity with the component.
pub(super) fn hits(size: usize, written: usize) -> Workload {
    let contestants = vec![
        bevy(size, written),
        ours("ours", "Health.hp < 10", size, written, |world, hp| {
            world.spawn(Health { most: 90.0, hp });
        }),
        ours("ours index", "Health.hp < 10", size, written, |world, hp| {
            world.index_field::<Health>("hp").expect("it is a number");
            world.spawn(Health { most: 90.0, hp });
        })
        .goal("ours", if written == 0 { 50.0 } else { 1.0 }),
        ours("ours index, summary tick", "Armor.hp < 10", size, written, |world, hp| {
            world.index_field::<Armor>("hp").expect("it is a number");
            world.spawn(Armor { most: 90.0, hp });
        })
        .goal("ours", if written == 0 { 50.0 } else { 1.0 }),
    ];
    let id = if written == 0 { "expr_value" } else { "expr_value_written" };
    Workload { id, size, elements: size, contestants }
}

fn bevy(size: usize, written: usize) -> Contestant {
    Contestant::new("bevy", move || {
        let mut world = World::new();
        world.spawn_batch(values(size).map(|hp| Health { most: 90.0, hp }));
        let mut query = world.query::<(Entity, &Health)>();
        let mut all = world.query::<&mut Health>();
        move |watch: &mut Stopwatch| {
            world.clear_trackers();
            all.iter_mut(&mut world).skip(1).take(written).for_each(|mut health| health.hp = 60.0);
            world.clear_trackers();
            watch.time(|| query.iter(&world).filter(|(_, health)| health.hp < 10.0).count() as u64)
        }
    })
}

fn ours(
    name: &'static str,
    text: &'static str,
    size: usize,
    written: usize,
    spawn: fn(&mut World, f32),
) -> Contestant {
    Contestant::new(name, move || {
        let mut world = crate::ours::world();
        world.init_resource::<AppTypeRegistry>();
        {
            let mut types = world.resource::<AppTypeRegistry>().write();
            types.add_registration(Health::get_type_registration());
            types.add_registration(Armor::get_type_registration());
        }
        values(size).for_each(|hp| spawn(&mut world, hp));
        let mut expr = PairExpr::parse(text).and_then(|expr| expr.compile(&mut world)).expect("it is right");
        let mut health = world.query::<&mut Health>();
        let mut armor = world.query::<&mut Armor>();
        move |watch: &mut Stopwatch| {
            world.clear_trackers();
            health.iter_mut(&mut world).skip(1).take(written).for_each(|mut health| health.hp = 60.0);
            armor.iter_mut(&mut world).skip(1).take(written).for_each(|mut armor| armor.hp = 60.0);
            world.clear_trackers();
            watch.time(|| {
                let mut count = 0;
                expr.for_each(&world, |_| count += 1).expect("it has no limit");
                count
            })
        }
    })
}
