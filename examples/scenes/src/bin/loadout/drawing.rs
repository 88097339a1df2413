//! Cells, and what is in them: an icon and a count, which are renewed when a pair has changed and not before.

use crate::{
    hand::{Hand, Moved},
    moves::Contents,
    world::{Cell, Equips, Hero, Holds, Kind, PITCH, REACH, Spot},
};
use bevy::prelude::*;
use bevy_relations::{live::PairDeltas, prelude::*};
use bevy_relations_scenes::{
    images::{Images, Shape},
    palette,
    pointer::Pointer,
};

/// From the middle of an icon to its edge.
const ICON: f32 = 19.0;

/// The icon of a cell.
#[derive(Component)]
struct Icon;
/// The count of a cell.
#[derive(Component)]
struct Count;
/// The icon at the mouse.
#[derive(Component)]
struct Dragged;

pub(crate) fn plugin(app: &mut App) {
    app.add_observer(draw_cell).add_systems(Startup, spawn_dragged);
    app.add_systems(PostUpdate, (fill_cells, drag));
    app.add_systems(Update, mark.after(Moved));
}

/// Gives a new cell its square, an icon and a count, and its owner a caption above its first cell.
fn draw_cell(
    added: On<Add<Cell>>,
    mut commands: Commands,
    images: Res<Images>,
    cells: Query<&Cell>,
    owners: Query<(&Name, Has<Hero>)>,
) -> Result {
    let cell = cells.get(added.entity)?;
    let square = images.sprite(Shape::Square, REACH, palette::KEY);
    commands.entity(added.entity).insert(square).with_children(|cell| {
        cell.spawn((Icon, images.sprite(Shape::Disc, ICON, Color::NONE), Transform::from_xyz(0.0, 3.0, 1.0)));
        let font = TextFont::from_font_size(12.0);
        let corner = Transform::from_xyz(REACH - 11.0, 11.0 - REACH, 2.0);
        cell.spawn((Count, Text2d::new(""), font, TextColor(palette::BRIGHT), corner));
    });
    // Slots lie close together: only the head has nothing above it.
    let (caption, above) = match cell.spot {
        Spot::Place(0) => (Some(owners.get(cell.owner)?.0.to_string()), 0.6),
        Spot::Place(_) => (None, 0.0),
        Spot::Slot(slot) => (Some(slot.name().to_owned()), if slot == Equips::Head { 0.6 } else { -0.6 }),
    };
    if let Some(caption) = caption {
        let text = (Text2d::new(caption), TextFont::from_font_size(11.0), TextColor(palette::DIM));
        commands.entity(added.entity).with_child((text, Transform::from_xyz(0.0, above * PITCH, 1.0)));
    }
    Ok(())
}

/// Whether anything happened to the pairs of a relation since the last time; so it is if that is not known.
fn changed<R: Relation>(deltas: &mut PairDeltas<R>) -> bool {
    deltas.read().map_or(true, |mut changes| changes.next().is_some())
}

/// Shows in each cell what is there.
fn fill_cells(
    mut changes: (PairDeltas<Holds>, PairDeltas<Equips>),
    contents: Contents,
    images: Res<Images>,
    kinds: Query<&Kind>,
    cells: Query<(&Cell, &Children)>,
    mut icons: Query<&mut Sprite, With<Icon>>,
    mut counts: Query<&mut Text2d, With<Count>>,
) -> Result {
    // Both are read, whatever the first says.
    if !(changed(&mut changes.0) | changed(&mut changes.1)) {
        return Ok(());
    }
    for (cell, parts) in &cells {
        let content = contents.of(*cell);
        let (icon, count) = match content {
            Some((kind, count)) => {
                let kind = kinds.get(kind)?;
                let count = if count > 1 { count.to_string() } else { String::new() };
                (images.sprite(kind.shape, ICON, kind.color), count)
            }
            None => (images.sprite(Shape::Disc, ICON, Color::NONE), String::new()),
        };
        for &part in parts {
            if let Ok(mut sprite) = icons.get_mut(part) {
                *sprite = icon.clone();
            }
            if let Ok(mut text) = counts.get_mut(part) {
                text.0.clone_from(&count);
            }
        }
    }
    Ok(())
}

/// Marks the cell under the mouse, and those that a dragged thing can be worn in.
fn mark(hand: Res<Hand>, contents: Contents, kinds: Query<&Kind>, mut cells: Query<(&Cell, &mut Sprite)>) {
    let dragged = hand.drags.and_then(|(from, _)| contents.of(from));
    let slot = dragged.and_then(|(kind, _)| kinds.get(kind).ok()?.slot);
    for (cell, mut sprite) in &mut cells {
        let color = if slot.is_some_and(|slot| cell.spot == Spot::Slot(slot)) {
            palette::GOOD.with_alpha(0.35)
        } else if hand.over == Some(*cell) {
            palette::EDGE
        } else {
            palette::KEY
        };
        if sprite.color != color {
            sprite.color = color;
        }
    }
}

fn spawn_dragged(mut commands: Commands) {
    commands.spawn((Dragged, Sprite::default(), Visibility::Hidden));
}

/// Shows what is dragged under the mouse.
fn drag(
    hand: Res<Hand>,
    pointer: Res<Pointer>,
    contents: Contents,
    images: Res<Images>,
    kinds: Query<&Kind>,
    dragged: Single<(&mut Sprite, &mut Transform, &mut Visibility), With<Dragged>>,
) {
    let (mut sprite, mut transform, mut visibility) = dragged.into_inner();
    let content = hand.drags.and_then(|(from, _)| contents.of(from));
    let kind = content.and_then(|(kind, _)| kinds.get(kind).ok());
    let (Some(kind), Some(at)) = (kind, pointer.at) else {
        visibility.set_if_neq(Visibility::Hidden);
        return;
    };
    *sprite = images.sprite(kind.shape, ICON * 1.15, kind.color);
    transform.translation = at.extend(5.0);
    visibility.set_if_neq(Visibility::Inherited);
}
