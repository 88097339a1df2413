use bevy_relations::prelude::*;

struct NotARelation;

fn system(_pairs: Pairs<NotARelation>) {}

fn main() {}
