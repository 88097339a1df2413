//! Random histories of worlds in which components are kept right, rollups or propagated ones: the same for both.

use crate::common::{Random, fewer, world_that_records_errors};
use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;

/// What is kept, how a world changes, and what must hold after an update.
pub(crate) struct KeptComponents {
    pub(crate) start: fn(&mut World),
    pub(crate) change: fn(&mut World, &mut Vec<Entity>, &mut Random),
    pub(crate) update: fn(&mut World),
    pub(crate) check: fn(&World),
}

/// How often observers may still act.
#[derive(Resource)]
pub(crate) struct ActsLeft(u32);

impl ActsLeft {
    pub(crate) fn take_one(&mut self) -> bool {
        let may_act = self.0 > 0;
        self.0 = self.0.saturating_sub(1);
        may_act
    }
}

/// Makes an entity the child of another, as Bevy does, unless that closed a cycle.
pub(crate) fn put_below(world: &mut World, child: Entity, parent: Entity) {
    let pairs = world.pairs::<ChildOf>();
    if child != parent && !pairs.ancestors(parent).any(|above| above == child) {
        world.entity_mut(child).insert(ChildOf(parent));
    }
}

/// Puts others in the place of entities that died.
pub(crate) fn replace_dead(
    world: &mut World,
    entities: &mut Vec<Entity>,
    spawn: impl Fn(&mut World) -> Entity,
) {
    entities.retain(|&entity| world.entities().contains_spawned(entity));
    entities.resize_with(ENTITIES, || spawn(world));
}

/// So many entities there are after each change.
const ENTITIES: usize = 12;

fn beginning(seed: u64) -> (Random, World, Vec<Entity>) {
    let mut world = world_that_records_errors();
    let entities = (0..ENTITIES).map(|_| world.spawn_empty().id()).collect();
    (Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)), world, entities)
}

impl KeptComponents {
    /// A few changes or many between two updates, also before the first.
    pub(crate) fn check_histories(&self) {
        for seed in 1..=fewer(400) as u64 {
            let (mut random, mut world, mut entities) = beginning(seed);
            (0..random.below(30)).for_each(|_| (self.change)(&mut world, &mut entities, &mut random));
            (self.start)(&mut world);
            for _ in 0..8 {
                (self.update)(&mut world);
                world.check_pairs().unwrap();
                (self.check)(&world);
                let most = if random.below(3) == 0 { 100 } else { 6 };
                for _ in 0..1 + random.below(most) {
                    (self.change)(&mut world, &mut entities, &mut random);
                }
                if random.below(2) == 0 {
                    world.maintain_pairs();
                }
            }
        }
    }

    /// With observers that change the world while the components are written, as long as acts are left: that counts with
    /// the next update.
    pub(crate) fn check_histories_with(&self, observe: impl Fn(&mut World)) {
        for seed in 1..=fewer(50) as u64 {
            let (mut random, mut world, mut entities) = beginning(seed);
            (self.start)(&mut world);
            world.insert_resource(ActsLeft(0));
            observe(&mut world);
            for _ in 0..20 {
                (0..10).for_each(|_| (self.change)(&mut world, &mut entities, &mut random));
                for acts in [5, 0] {
                    world.insert_resource(ActsLeft(acts));
                    (self.update)(&mut world);
                }
                (self.check)(&world);
                entities.retain(|&entity| world.entities().contains_spawned(entity));
            }
        }
    }
}
