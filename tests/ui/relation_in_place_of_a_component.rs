//! What leads from Bevy's verbs for components to those for relations.

use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
struct Eats<T: Send + Sync + 'static>(T);

fn read(_likes: Query<&Likes>) {}
fn write(_grams: Query<&mut Eats<f32>>) {}
fn filter(_likes: Query<Entity, With<Likes>>) {}

fn insert(mut commands: Commands, alice: Entity) {
    commands.entity(alice).insert(Likes);
    commands.spawn((Likes, alice));
    commands.spawn_batch([(Name::new("Bob"), Likes)]);
    commands.entity(alice).remove::<Likes>();
}

fn main() {}
