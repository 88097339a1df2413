//! One line that says what was done last, or why not.

use crate::{
    palette,
    panel::{text, write},
};
use bevy::prelude::*;

/// What was done last, or why not.
#[derive(Resource, Default)]
pub struct Notice {
    text: String,
    color: Color,
}

impl Notice {
    /// It was done.
    pub fn good(text: impl Into<String>) -> Self {
        Self { text: text.into(), color: palette::GOOD }
    }

    /// It was refused.
    pub fn bad(text: impl Into<String>) -> Self {
        Self { text: text.into(), color: palette::BAD }
    }
}

impl<E: Into<String>> From<Result<String, E>> for Notice {
    fn from(result: Result<String, E>) -> Self {
        match result {
            Ok(text) => Self::good(text),
            Err(text) => Self::bad(text),
        }
    }
}

/// The text that shows the notice.
#[derive(Component)]
struct NoticeText;

/// Shows the [`Notice`] at the lower left.
pub struct NoticePlugin;

impl Plugin for NoticePlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<Notice>().add_systems(Startup, spawn).add_systems(PostUpdate, show);
    }
}

fn spawn(mut commands: Commands) {
    let place = Node { position_type: PositionType::Absolute, left: px(18), bottom: px(14), ..default() };
    commands.spawn((text("", 13.0, palette::PLAIN), place, NoticeText));
}

fn show(notice: Res<Notice>, shown: Single<(&mut Text, &mut TextColor), With<NoticeText>>) {
    if notice.is_changed() {
        let (mut text, mut color) = shown.into_inner();
        write(&mut text, &notice.text);
        color.0 = notice.color;
    }
}
