use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;

fn system(_values: PairsMut<ChildOf>) {}

fn main() {}
