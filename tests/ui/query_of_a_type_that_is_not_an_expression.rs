use bevy_relations::prelude::*;

struct Docked;

fn refuel(_: ExprQuery<Docked>) {}

fn main() {}
