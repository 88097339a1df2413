use bevy_relations::prelude::*;

#[derive(Relation)]
struct Eats {
    #[relation(exclusive)]
    grams: f32,
}

#[derive(Relation)]
enum Mood {
    #[relation(final)]
    Calm,
}

fn main() {}
