use bevy_relations::prelude::*;

#[derive(Relation)]
#[relation(symmetric, acyclic)]
struct MarriedTo;

#[derive(Relation)]
#[relation(traversable, symmetric)]
struct Borders;

#[derive(Relation)]
#[relation(symmetric)]
#[relation(transitive)]
struct SiblingOf;

fn main() {}
