use bevy_relations::prelude::*;

#[derive(Relation)]
#[relation(with = Self)]
struct Likes;

#[derive(Relation)]
#[relation(with(Likes, Loves))]
struct Loves;

#[derive(Relation)]
#[relation(with = Trusts<T>)]
struct Trusts<T>(std::marker::PhantomData<T>);

fn main() {}
