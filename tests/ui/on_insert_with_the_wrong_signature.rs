use bevy_relations::prelude::*;

#[derive(Relation)]
#[relation(on_insert = check)]
struct Eats {
    grams: f32,
}

fn check(_value: &mut Eats) {}

#[derive(Relation)]
#[relation(on_insert = missing)]
struct Drinks(f32);

fn main() {}
