use bevy_relations::prelude::*;

#[derive(Relation)]
#[relation(with = "MountedOn")]
struct Rides;

#[derive(Relation)]
#[relation(with(Rides, 3))]
struct Steers;

#[derive(Relation)]
#[relation(on_target_despawn(Despawn))]
struct Holds;

#[derive(Relation)]
#[relation(validate = |_, _| Ok(()))]
struct Eats(f32);

#[derive(Relation)]
#[relation("tag", with = Rides exclusive)]
struct Likes;

fn main() {}
