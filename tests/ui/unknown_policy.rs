use bevy_relations::prelude::*;

#[derive(Relation)]
#[relation(on_target_despawn = Delete)]
struct MountedOn;

#[derive(Relation)]
#[relation(on_relation_despawn = despawn)]
struct Holds;

#[derive(Relation)]
#[relation(on_target_despawn = "Refuse")]
struct PartOf;

#[derive(Relation)]
#[relation(on_instantiate = Share)]
struct Likes;

#[derive(Relation)]
#[relation(on_last_source = DespawnTarget)]
struct Uses;

fn main() {}
