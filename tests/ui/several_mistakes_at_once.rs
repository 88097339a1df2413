use bevy_relations::prelude::*;

#[derive(Relation)]
#[relation(exclusive = true, symmetric, cascade, acyclic)]
#[relation(on_target_despawn, tag, on_relation_despawn = Destroy)]
struct Eats {
    grams: f32,
}

// None of the above may make the type unknown as a relation.
#[derive(Relation)]
#[relation(with = Eats)]
struct Tastes;

fn main() {}
