use bevy_relations::prelude::*;

#[derive(Relation)]
#[relation(validate = check)]
struct Eats {
    grams: f32,
}

fn check(_value: &mut Eats) {}

#[derive(Relation)]
#[relation(validate = missing)]
struct Drinks(f32);

fn main() {}
