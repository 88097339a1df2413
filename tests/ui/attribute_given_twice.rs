use bevy_relations::prelude::*;

#[derive(Relation)]
#[relation(exclusive, traversable, exclusive)]
struct MountedOn;

#[derive(Relation)]
#[relation(with = MountedOn)]
#[relation(with = MountedOn)]
struct Rides;

#[derive(Relation)]
#[relation(with(MountedOn, Rides, MountedOn))]
struct Steers;

#[derive(Relation)]
#[relation(one_of, one_of = Steers)]
struct Mood;

#[derive(Relation)]
#[relation(on_instantiate = Inherit, on_instantiate = Override)]
struct Likes;

fn main() {}
