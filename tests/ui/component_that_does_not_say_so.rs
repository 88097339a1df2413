use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;

#[derive(Component, Relation)]
struct Likes;

#[derive(Component, Relation)]
#[relation(component)]
struct Eats;

fn both(_meals: Query<&Eats, Related<Eats>>) {}

fn main() {}
