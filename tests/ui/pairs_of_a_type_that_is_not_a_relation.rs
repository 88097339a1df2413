use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;

struct NotARelation;

fn system(_pairs: Query<Pairs<NotARelation>>) {}

fn main() {}
