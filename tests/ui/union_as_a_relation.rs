use bevy_relations::prelude::*;

#[derive(Relation)]
#[relation(exclusive)]
union Bits {
    integer: u32,
    float: f32,
}

fn main() {}
