//! Panels of text: the keys of a scene, its figures, and what is to be said about the thing under the mouse.

use crate::{
    palette,
    stage::{Foreground, SIZE},
};
use bevy::prelude::*;
use std::f32::consts::FRAC_1_SQRT_2;

/// The value of a row of [`figures`], known by its label.
#[derive(Component)]
pub struct Figure(pub &'static str);

/// What is shown beside a place in the world; nothing while there is no place.
#[derive(Resource, Default, Debug)]
pub struct Tip {
    /// Where.
    pub at: Option<Vec2>,
    /// How far the thing at this place reaches. It is not covered.
    pub reach: f32,
    /// The first line.
    pub title: String,
    /// Its colour.
    pub color: Color,
    /// The lines below.
    pub text: String,
}

#[derive(Component)]
struct TipPanel;
#[derive(Component)]
struct TipTitle;
#[derive(Component)]
struct TipText;

/// Shows the [`Tip`].
pub struct TipPlugin;

impl Plugin for TipPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<Tip>().add_systems(Startup, spawn_tip).add_systems(PostUpdate, show_tip);
    }
}

/// A text of this size and colour.
pub fn text(text: impl Into<String>, size: f32, color: Color) -> impl Bundle {
    (Text::new(text), TextFont::from_font_size(size), TextColor(color))
}

/// A panel at a place that `node` says.
fn panel(node: Node) -> impl Bundle {
    let node = Node {
        position_type: PositionType::Absolute,
        flex_direction: FlexDirection::Column,
        padding: UiRect::axes(px(14), px(12)),
        row_gap: px(6),
        border: UiRect::all(px(1)),
        border_radius: BorderRadius::all(px(8)),
        ..node
    };
    (node, BackgroundColor(palette::PANEL), BorderColor::all(palette::EDGE))
}

/// Spawns the panel that says what the scene is and what its keys do.
pub fn help(commands: &mut Commands, title: &str, about: &str, keys: &[(&str, &str)]) {
    let place = Node { left: px(14), top: px(14), ..default() };
    commands.spawn(panel(place)).with_children(|panel| {
        panel.spawn(text(title, 20.0, palette::BRIGHT));
        let gap = Node { margin: UiRect::bottom(px(4)), ..default() };
        panel.spawn((text(about, 12.0, palette::DIM), gap));
        for (key, meaning) in keys {
            let row = Node { align_items: AlignItems::Center, column_gap: px(9), ..default() };
            panel.spawn(row).with_children(|row| {
                let cap = Node {
                    padding: UiRect::axes(px(6), px(2)),
                    border: UiRect::all(px(1)),
                    border_radius: BorderRadius::all(px(4)),
                    ..default()
                };
                row.spawn((cap, BackgroundColor(palette::KEY), BorderColor::all(palette::EDGE)))
                    .with_child(text(*key, 11.0, palette::BRIGHT));
                row.spawn(text(*meaning, 12.0, palette::PLAIN));
            });
        }
    });
}

/// Spawns the panel of figures. A [`Figure`] with the label holds the value of a row.
pub fn figures(commands: &mut Commands, labels: &[&'static str]) {
    let place = Node { right: px(14), top: px(14), min_width: px(200), ..default() };
    commands.spawn(panel(place)).with_children(|panel| {
        for &label in labels {
            let row = Node { justify_content: JustifyContent::SpaceBetween, column_gap: px(24), ..default() };
            panel.spawn(row).with_children(|row| {
                row.spawn(text(label, 12.0, palette::DIM));
                row.spawn((text("", 12.0, palette::BRIGHT), Figure(label)));
            });
        }
    });
}

/// Spawns a panel along the bottom, with `mark` on it.
pub fn wide(commands: &mut Commands, mark: impl Component, fill: impl FnOnce(&mut ChildSpawnerCommands)) {
    let place = Node { left: percent(25), right: percent(25), bottom: px(14), ..default() };
    commands.spawn((panel(place), mark)).with_children(fill);
}

/// Writes a text, and counts as a change only if it is one: laying out text takes time.
pub fn write(text: &mut Mut<Text>, value: impl AsRef<str>) {
    let value = value.as_ref();
    if text.0 != value {
        value.clone_into(&mut text.0);
    }
}

fn spawn_tip(mut commands: Commands) {
    commands.spawn((panel(Node::default()), TipPanel, GlobalZIndex(1), Visibility::Hidden)).with_children(
        |panel| {
            panel.spawn((text("", 14.0, palette::BRIGHT), TipTitle));
            panel.spawn((text("", 12.0, palette::PLAIN), TipText));
        },
    );
}

type OnlyTitle = (With<TipTitle>, Without<TipText>);
type OnlyText = (With<TipText>, Without<TipTitle>);

fn show_tip(
    tip: Res<Tip>,
    camera: Single<(&Camera, &GlobalTransform), With<Foreground>>,
    scale: Res<UiScale>,
    panel: Single<(&mut Node, &mut Visibility), With<TipPanel>>,
    title: Single<(&mut Text, &mut TextColor), OnlyTitle>,
    mut text: Single<&mut Text, OnlyText>,
) {
    let (mut node, mut visibility) = panel.into_inner();
    let (camera, transform) = *camera;
    let Some(place) = tip.at.and_then(|at| camera.world_to_viewport(transform, at.extend(0.0)).ok()) else {
        visibility.set_if_neq(Visibility::Hidden);
        return;
    };
    visibility.set_if_neq(Visibility::Inherited);
    // Towards the middle, where there is room.
    let size = camera.logical_viewport_size().unwrap_or(SIZE.as_vec2()) / scale.0;
    let place = place / scale.0;
    // The corner of the panel lies on the diagonal.
    let margin = 10.0 + FRAC_1_SQRT_2 * tip.reach.max(17.0);
    (node.left, node.right) = beside(place.x, size.x, margin);
    (node.top, node.bottom) = beside(place.y, size.y, margin);
    let (mut title, mut color) = title.into_inner();
    write(&mut title, &tip.title);
    color.set_if_neq(TextColor(tip.color));
    write(&mut text, &tip.text);
}

/// Distances from the near and from the far edge, one of which is given.
fn beside(place: f32, size: f32, margin: f32) -> (Val, Val) {
    if place < size / 2.0 { (px(place + margin), Val::Auto) } else { (Val::Auto, px(size - place + margin)) }
}
