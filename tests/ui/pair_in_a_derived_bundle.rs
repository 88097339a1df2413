use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;

#[derive(Relation)]
struct Likes;

#[derive(Bundle)]
struct Person {
    name: Name,
    likes: Pair<Likes>,
}

fn main() {}
