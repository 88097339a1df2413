use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;

#[derive(Relation)]
struct Likes;

#[derive(Component)]
struct Mood;

fn system(mut query: PairQuery<Likes, &mut Mood>) {
    for _ in &mut query {}
    let _ = query.iter_mut();
}

fn main() {}
