//! What happens to bodies whose centre is destroyed.
//!
//! [`Orbits`] has the policy `Remove`: they stay. Where they are to go down with it, they have a pair of
//! [`FallsWith`] as well, whose policy is `Despawn`; on one entity, `Despawn` wins. The key inserts these pairs for
//! all, or removes them, and an observer keeps up with bodies that change their centre.

use crate::bodies::{Body, Orbits};
use bevy::prelude::*;
use bevy_relations::prelude::*;
use bevy_relations_scenes::images::{Images, Shape};

/// The source is destroyed with the target.
#[derive(Relation)]
#[relation(exclusive, on_target_despawn = Despawn)]
pub(crate) struct FallsWith;

/// What happens to bodies whose centre is destroyed.
#[derive(Resource, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// They lose their pair and drift off.
    #[default]
    Remove,
    /// They go as well, and what circles them.
    Despawn,
}

/// Light where a body was destroyed, and its age in seconds.
#[derive(Component)]
pub(crate) struct Flash {
    age: f32,
    radius: f32,
}

/// Seconds that a flash lasts.
const LASTS: f32 = 1.1;

pub(crate) fn plugin(app: &mut App) {
    app.init_resource::<Fate>().register_relation::<FallsWith>();
    app.add_systems(Update, (switch, fade));
    app.add_observer(share_fate).add_observer(flash);
}

fn switch(
    mut commands: Commands,
    keys: Res<ButtonInput<KeyCode>>,
    mut fate: ResMut<Fate>,
    orbits: Pairs<Orbits>,
) {
    if !keys.just_pressed(KeyCode::KeyP) {
        return;
    }
    *fate = match *fate {
        Fate::Remove => Fate::Despawn,
        Fate::Despawn => Fate::Remove,
    };
    let mut falls = commands.pair_batch::<FallsWith>();
    for (body, centre) in orbits.iter() {
        match *fate {
            Fate::Despawn => falls.insert(body, FallsWith, centre),
            Fate::Remove => falls.remove(body, centre),
        };
    }
}

fn share_fate(caught: On<PairInserted<Orbits>>, mut commands: Commands, fate: Res<Fate>) {
    if *fate == Fate::Despawn {
        commands.entity(caught.source).insert_pair(FallsWith, caught.target);
    }
}

fn flash(
    destroyed: On<Remove<Body>>,
    mut commands: Commands,
    bodies: Query<(&Body, &Transform)>,
    images: Res<Images>,
) {
    if let Ok((body, transform)) = bodies.get(destroyed.entity) {
        let at = transform.translation.truncate().extend(2.0);
        let image = images.sprite(Shape::Glow, body.radius, body.color);
        commands.spawn((Flash { age: 0.0, radius: body.radius }, image, Transform::from_translation(at)));
    }
}

/// Lets flashes grow, fast at first, and fade.
fn fade(mut commands: Commands, time: Res<Time>, mut flashes: Query<(Entity, &mut Flash, &mut Sprite)>) {
    for (entity, mut flash, mut sprite) in &mut flashes {
        flash.age += time.delta_secs();
        let age = flash.age / LASTS;
        if age >= 1.0 {
            commands.entity(entity).despawn();
            continue;
        }
        let grown = 1.0 - (1.0 - age).powi(3);
        sprite.custom_size = Some(Vec2::splat((24.0 + 10.0 * flash.radius) * grown));
        sprite.color.set_alpha((1.0 - age).powi(2));
    }
}
