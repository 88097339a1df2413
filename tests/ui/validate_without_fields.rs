use bevy_relations::prelude::*;

#[derive(Relation)]
#[relation(validate = check)]
struct Likes;

#[derive(Relation)]
#[relation(validate = check)]
struct Loves(std::marker::PhantomData<u8>, ());

fn main() {}
