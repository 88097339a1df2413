use bevy_ecs::prelude::*;
use bevy_relations::{prelude::*, query::Up};

#[derive(Relation)]
struct Likes;

#[derive(Component)]
struct Armor;

fn system(_query: Query<Up<Likes, &Armor>>) {}

fn main() {}
