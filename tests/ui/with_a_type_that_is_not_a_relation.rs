use bevy_relations::prelude::*;

struct NotARelation;

#[derive(Relation)]
#[relation(exclusive, with = NotARelation)]
struct Likes;

#[derive(Relation)]
#[relation(with(Likes, NotARelation))]
struct Loves;

fn main() {}
