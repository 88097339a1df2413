use bevy_relations::prelude::*;

#[derive(Relation)]
#[relation(storage = "SparseSet")]
struct MountedOn;

#[derive(Relation)]
#[relation(storage = Table)]
struct Holds;

#[derive(Relation)]
#[relation(storage)]
struct Likes;

#[derive(Relation)]
#[relation(storage = "Table", storage = "Store")]
struct Eats;

fn main() {}
