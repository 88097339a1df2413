use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;

struct NotARelation;

fn main() {
    let mut world = World::new();
    let target = world.spawn_empty().id();
    world.spawn(Pair(NotARelation, target));
}
