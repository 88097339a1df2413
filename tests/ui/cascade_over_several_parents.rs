use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;

#[derive(Relation)]
#[relation(traversable)]
struct MadeOf;

#[derive(Component)]
struct Heat(u32);

fn concrete(mut tree: CascadeQuery<MadeOf, &mut Heat, &Heat>) {
    tree.for_each(|_, _| {});
}

fn main() {}
