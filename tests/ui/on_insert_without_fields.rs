use bevy_relations::prelude::*;

#[derive(Relation)]
#[relation(on_insert = check)]
struct Likes;

#[derive(Relation)]
#[relation(on_insert = check)]
struct Loves(std::marker::PhantomData<u8>, ());

fn main() {}
