//! Where the mouse points.

use crate::stage::Foreground;
use bevy::prelude::*;

/// The place in the world under the mouse, if it is in the window.
#[derive(Resource, Default)]
pub struct Pointer {
    /// The place.
    pub at: Option<Vec2>,
}

/// Lets the pointer follow the mouse, whenever that moves: a [`play`](crate::play) moves it too.
pub(crate) fn follow_mouse(
    mut pointer: ResMut<Pointer>,
    mut last: Local<Option<Vec2>>,
    window: Single<&Window>,
    camera: Single<(&Camera, &GlobalTransform), With<Foreground>>,
) {
    let cursor = window.cursor_position();
    if *last != cursor {
        *last = cursor;
        let (camera, transform) = *camera;
        pointer.at = cursor.and_then(|cursor| camera.viewport_to_world_2d(transform, cursor).ok());
    }
}
