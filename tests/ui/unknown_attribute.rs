use bevy_relations::prelude::*;

#[derive(Relation)]
#[relation(traversable, exlusive)]
struct MountedOn;

#[derive(Relation)]
#[relation(OnTargetDespawn = Despawn)]
struct Holds;

#[derive(Relation)]
#[relation(linked_spawn)]
struct PartOf;

fn main() {}
