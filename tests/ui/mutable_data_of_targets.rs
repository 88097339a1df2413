use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;

#[derive(Relation)]
struct Likes;

#[derive(Component)]
struct Mood;

fn system(_query: PairQuery<Likes, (), &mut Mood>) {}

fn main() {}
