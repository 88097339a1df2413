//! What leads from pairs, as they stand in bundles, to the terms of queries and to batches of pairs.

use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;

#[derive(Relation)]
struct Likes;

fn data(_likes: Query<Pair<Likes>>) {}
fn read(_likes: Query<&Pair<Likes>>) {}
fn option(_likes: Query<(Entity, Option<&Pair<Likes>>)>) {}
fn with(_likes: Query<Entity, With<Pair<Likes>>>) {}
fn filter(_likes: Query<Entity, Pair<Likes>>) {}
fn without(_likes: Query<Entity, Without<Pair<Likes>>>) {}

fn spawn(mut commands: Commands, alice: Entity) {
    commands.spawn_batch([Pair(Likes, alice)]);
    commands.spawn_batch([(Name::new("Bob"), Pair(Likes, alice))]);
    commands.spawn_batch([pairs![(Likes, alice)]]);
}

fn main() {}
