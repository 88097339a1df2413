//! Input from a file instead of from a player, for tests and for pictures of a scene in use.
//!
//! A play is a list of what happens in which frame:
//!
//! ```ron
//! [
//!     (frame: 30, acts: Point(120, -40)),
//!     (frame: 40, acts: Hold(Left)),
//!     (frame: 60, acts: Release(Left)),
//!     (frame: 70, acts: Press("KeyP")),
//!     (frame: 80, acts: Type("Ship")),
//! ]
//! ```

use crate::pointer::Pointer;
use bevy::{
    diagnostic::FrameCount,
    input::{
        ButtonState,
        keyboard::{Key, KeyboardInput},
        mouse::MouseButtonInput,
    },
    prelude::*,
    reflect::enums::{DynamicEnum, DynamicVariant},
    window::PrimaryWindow,
};
use serde::Deserialize;
use std::{fs, path::Path};

/// One thing that a player would do.
#[derive(Deserialize, Clone, Debug)]
enum Act {
    /// Points to a place in the world.
    Point(f32, f32),
    /// Presses a mouse button.
    Hold(Button),
    /// Lets go of a mouse button.
    Release(Button),
    /// Presses a key, named as in [`KeyCode`], and lets go of it.
    Press(String),
    /// Types a text.
    Type(String),
}

#[derive(Deserialize, Clone, Copy, Debug)]
enum Button {
    Left,
    Right,
}

impl From<Button> for MouseButton {
    fn from(button: Button) -> Self {
        match button {
            Button::Left => Self::Left,
            Button::Right => Self::Right,
        }
    }
}

#[derive(Deserialize, Clone, Debug)]
struct Entry {
    frame: u32,
    acts: Act,
}

/// What happens in which frame.
#[derive(Resource)]
pub struct Play(Vec<Entry>);

impl Play {
    /// Reads a play.
    ///
    /// # Errors
    /// If the file cannot be read, or names a key that does not exist.
    pub fn load(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let entries: Vec<Entry> =
            ron::from_str(&text).map_err(|error| format!("{}:{error}", file.display()))?;
        for entry in &entries {
            if let Act::Press(name) = &entry.acts
                && key_code(name).is_none()
            {
                return Err(format!("{}: {name} is not a key", file.display()).into());
            }
        }
        Ok(Self(entries))
    }
}

/// Does what the play says about this frame.
pub(crate) fn perform(
    play: Res<Play>,
    frame: Res<FrameCount>,
    window: Single<Entity, With<PrimaryWindow>>,
    mut pointer: ResMut<Pointer>,
    mut keys: MessageWriter<KeyboardInput>,
    mut buttons: MessageWriter<MouseButtonInput>,
) {
    let window = *window;
    for entry in play.0.iter().filter(|entry| entry.frame == frame.0) {
        match &entry.acts {
            Act::Point(x, y) => pointer.at = Some(vec2(*x, *y)),
            Act::Hold(button) => {
                let (button, state) = ((*button).into(), ButtonState::Pressed);
                buttons.write(MouseButtonInput { button, state, window });
            }
            Act::Release(button) => {
                let (button, state) = ((*button).into(), ButtonState::Released);
                buttons.write(MouseButtonInput { button, state, window });
            }
            Act::Press(name) => {
                if let Some(key_code) = key_code(name) {
                    keys.write_batch(strike(key_code, named(key_code), window));
                }
            }
            Act::Type(text) => {
                for letter in text.chars() {
                    let key = Key::Character(letter.to_string().into());
                    keys.write_batch(strike(KeyCode::Fn, key, window));
                }
            }
        }
    }
}

/// A key, pressed and let go.
fn strike(key_code: KeyCode, logical_key: Key, window: Entity) -> [KeyboardInput; 2] {
    let text = match &logical_key {
        Key::Character(text) => Some(text.clone()),
        _ => None,
    };
    let pressed =
        KeyboardInput { key_code, logical_key, state: ButtonState::Pressed, text, repeat: false, window };
    let released = KeyboardInput { state: ButtonState::Released, text: None, ..pressed.clone() };
    [pressed, released]
}

fn key_code(name: &str) -> Option<KeyCode> {
    let mut key = KeyCode::Space;
    key.try_apply(&DynamicEnum::new(name.to_owned(), DynamicVariant::Unit)).ok()?;
    Some(key)
}

/// What a key means where it matters which sign it stands for.
fn named(key: KeyCode) -> Key {
    match key {
        KeyCode::Enter => Key::Enter,
        KeyCode::Escape => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Tab => Key::Tab,
        KeyCode::ArrowUp => Key::ArrowUp,
        KeyCode::ArrowDown => Key::ArrowDown,
        _ => Key::Dead(None),
    }
}
