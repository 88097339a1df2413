//! What the windowed scenes share: the window and how a scene is run and photographed ([`stage`]), scripted
//! input ([`play`]), where the mouse points in the world ([`pointer`]), panels of text ([`panel`]), a line that says what was done ([`notice`]), images drawn
//! in code ([`images`]), colours ([`palette`]), chance that repeats ([`random`]), and the files that worlds are
//! made from ([`files`]).

pub mod arguments;
mod explore;
pub mod files;
mod film;
pub mod images;
pub mod notice;
pub mod palette;
pub mod panel;
pub mod play;
pub mod pointer;
pub mod random;
pub mod stage;
