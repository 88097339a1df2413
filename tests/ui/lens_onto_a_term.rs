use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;

#[derive(Relation)]
struct Likes;

fn system(mut query: Query<(Entity, Targets<Likes>)>) {
    query.transmute_lens::<Targets<Likes>>();
}

fn main() {}
