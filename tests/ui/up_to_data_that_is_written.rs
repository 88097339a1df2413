use bevy_ecs::prelude::*;
use bevy_relations::query::Up;

#[derive(Component)]
struct Armor;

fn system(_query: Query<Up<ChildOf, &mut Armor>>) {}

fn main() {}
