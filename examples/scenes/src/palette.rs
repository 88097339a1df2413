//! The colours that both scenes are held in. Those of things come from the files that describe them.

use bevy::prelude::*;

/// The sky.
pub const NIGHT: Color = Color::srgb(0.035, 0.043, 0.078);
/// Panels, over the sky.
pub const PANEL: Color = Color::srgba(0.06, 0.075, 0.125, 0.95);
/// Edges of panels and of keys.
pub const EDGE: Color = Color::srgba(0.55, 0.63, 0.85, 0.22);
/// Keys on panels.
pub const KEY: Color = Color::srgba(0.55, 0.63, 0.85, 0.13);
/// Titles, and what is under the mouse.
pub const BRIGHT: Color = Color::srgb(0.93, 0.95, 1.0);
/// Text.
pub const PLAIN: Color = Color::srgb(0.68, 0.73, 0.84);
/// Text of less importance.
pub const DIM: Color = Color::srgb(0.46, 0.51, 0.63);
/// What was asked for.
pub const FOUND: Color = Color::srgb(1.0, 0.90, 0.45);
/// What is going well.
pub const GOOD: Color = Color::srgb(0.44, 0.80, 0.67);
/// What is not.
pub const BAD: Color = Color::srgb(0.94, 0.42, 0.40);
