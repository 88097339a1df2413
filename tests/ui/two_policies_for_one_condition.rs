use bevy_relations::prelude::*;

#[derive(Relation)]
#[relation(on_target_despawn = Despawn, on_relation_despawn = Remove, on_target_despawn = Refuse)]
struct MountedOn;

#[derive(Relation)]
#[relation(on_relation_despawn = Despawn)]
#[relation(on_relation_despawn = Despawn)]
struct Holds;

fn main() {}
