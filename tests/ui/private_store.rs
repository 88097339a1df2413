use bevy_relations::store::PairStore;

fn main() {}
