use bevy_relations::prelude::*;

#[derive(Relation)]
#[relation(on_target_despawn)]
struct MountedOn;

#[derive(Relation)]
#[relation(on_relation_despawn =, on_instantiate)]
struct Holds;

#[derive(Relation)]
#[relation(with)]
struct Rides;

#[derive(Relation)]
#[relation(with())]
struct Steers;

#[derive(Relation)]
#[relation(one_of =)]
struct Mood;

#[derive(Relation)]
#[relation(validate)]
struct Eats(f32);

#[derive(Relation)]
#[relation]
struct Likes;

fn main() {}
