use bevy_relations::prelude::*;

#[derive(Expression)]
#[expr("SpaceShip, (DockedTo, $), Planet($p)")]
struct VariableWithoutAName;

#[derive(Expression)]
#[expr("
    SpaceShip,
    Planet(super(IsA))
")]
struct OlderSpelling;

#[derive(Expression)]
#[expr("SpaceShip || !Planet")]
struct BrokenRule;

fn main() {}
