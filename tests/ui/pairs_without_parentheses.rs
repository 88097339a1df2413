use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;

#[derive(Relation)]
struct Likes;

fn spawn(world: &mut World, alice: Entity) {
    world.spawn(pairs![Likes, alice]);
    world.spawn(pairs![(Likes, alice), Likes => alice]);
}

fn main() {}
