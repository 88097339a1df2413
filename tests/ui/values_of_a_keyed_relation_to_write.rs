use bevy_relations::prelude::*;

#[derive(Relation)]
#[relation(key = u8)]
struct Equips(u8);

fn system(_values: PairsMut<Equips>) {}

fn main() {}
