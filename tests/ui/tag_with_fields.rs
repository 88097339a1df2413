use bevy_relations::prelude::*;

#[derive(Relation)]
#[relation(exclusive, tag)]
struct Eats {
    grams: f32,
}

#[derive(Relation)]
#[relation(tag)]
enum Mood {
    Calm,
}

fn main() {}
