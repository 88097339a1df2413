//! A hero's things: in a backpack, in a chest, on a stall, or worn. Where a thing is, is a relation.
//!
//! ```sh
//! cargo scene loadout
//! cargo scene loadout -- --frames 120 --play assets/plays/loadout.ron --screenshot loadout.png
//! ```
//!
//! Shows pairs with a value ([`Holds`](world::Holds): how many of a kind lie where in a container), a relation with a key
//! ([`Equips`](world::Equips): one thing per slot), moves that change several pairs or none ([`moves`]), drawing that is
//! renewed when a pair has changed and not before ([`drawing`]), and pairs that are saved to a file and loaded
//! ([`saves`]). The kinds and the containers come from `assets/loadout.ron`.

mod drawing;
mod hand;
mod moves;
mod report;
mod saves;
mod world;

use bevy::prelude::*;
use bevy_relations::prelude::*;
use bevy_relations_scenes::{
    notice::NoticePlugin,
    panel::{self, TipPlugin},
    stage::stage,
};

const KEYS: [(&str, &str); 5] = [
    ("Left drag", "move a stack, put on, take off"),
    ("Right drag", "move one of a stack"),
    ("F5", "save"),
    ("F9", "load"),
    ("R", "start over"),
];

fn main() -> AppExit {
    stage("bevy_relations: loadout")
        .add_plugins((RelationsPlugin, TipPlugin, NoticePlugin))
        .add_plugins((world::plugin, hand::plugin, saves::plugin, drawing::plugin, report::plugin))
        .add_systems(Startup, |mut commands: Commands| {
            panel::help(&mut commands, "Loadout", "where a thing is, is a relation", &KEYS);
        })
        .run()
}
