use bevy_relations::prelude::*;

#[derive(Expression)]
struct Nothing;

#[derive(Expression)]
#[expr(SpaceShip)]
struct NoString;

#[derive(Expression)]
#[expr("SpaceShip")]
#[expr("Planet")]
struct Two;

fn main() {}
