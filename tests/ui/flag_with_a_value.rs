use bevy_relations::prelude::*;

#[derive(Relation)]
#[relation(exclusive = true)]
struct MountedOn;

#[derive(Relation)]
#[relation(final = false)]
struct Holds;

#[derive(Relation)]
#[relation(traversable(up))]
struct PartOf;

fn main() {}
