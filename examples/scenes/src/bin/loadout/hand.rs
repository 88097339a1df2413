//! What the mouse does: it drags things from one cell to another.

use crate::{
    moves::{Contents, move_things},
    world::{Cell, REACH},
};
use bevy::prelude::*;
use bevy_relations_scenes::{notice::Notice, pointer::Pointer};

/// What the mouse is at.
#[derive(Resource, Default)]
pub(crate) struct Hand {
    /// The cell under it.
    pub over: Option<Cell>,
    /// The cell that it drags from, and with which button.
    pub drags: Option<(Cell, MouseButton)>,
}

/// What the mouse does comes before what is drawn of it.
#[derive(SystemSet, Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Moved;

pub(crate) fn plugin(app: &mut App) {
    app.init_resource::<Hand>().add_systems(Update, (look, take, let_go).chain().in_set(Moved));
}

fn look(pointer: Res<Pointer>, mut hand: ResMut<Hand>, cells: Query<(&Cell, &Transform)>) {
    let under = |at: Vec2| {
        let inside = |place: &Transform| (place.translation.truncate() - at).abs().max_element() < REACH;
        cells.iter().find(|(_, place)| inside(place)).map(|(cell, _)| *cell)
    };
    hand.over = pointer.at.and_then(under);
}

fn take(buttons: Res<ButtonInput<MouseButton>>, mut hand: ResMut<Hand>, contents: Contents) {
    let button = [MouseButton::Left, MouseButton::Right].into_iter().find(|it| buttons.just_pressed(*it));
    if let (Some(button), None, Some(cell)) = (button, hand.drags, hand.over)
        && contents.of(cell).is_some()
    {
        hand.drags = Some((cell, button));
    }
}

fn let_go(mut commands: Commands, buttons: Res<ButtonInput<MouseButton>>, mut hand: ResMut<Hand>) {
    let Some((from, button)) = hand.drags.filter(|&(_, button)| !buttons.pressed(button)) else { return };
    hand.drags = None;
    let most = if button == MouseButton::Left { u32::MAX } else { 1 };
    if let Some(to) = hand.over.filter(|&to| to != from) {
        commands.queue(move |world: &mut World| -> Result {
            let result = world.run_system_cached_with(move_things, (from, to, most))?;
            world.insert_resource(Notice::from(result));
            Ok(())
        });
    }
}
