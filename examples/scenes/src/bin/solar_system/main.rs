//! Suns, planets, moons and stations: orbits are a relation.
//!
//! ```sh
//! cargo scene solar_system
//! cargo scene solar_system -- --frames 300 --screenshot solar_system.png
//! ```
//!
//! Shows an exclusive, traversable relation ([`Orbits`](bodies::Orbits)) along which transforms come down from
//! centres to the bodies around them, to any depth ([`motion`]); a planet dragged to another sun, which is one
//! insertion, and one refused because it would close a cycle ([`hand`]); a cleanup policy at work when a sun is
//! destroyed ([`fate`]); events of pairs, which send what has lost its sun adrift; and what the pairs say about
//! the thing under the mouse ([`report`]). The bodies come from `assets/solar_system.ron`.

mod bodies;
mod drawing;
mod fate;
mod hand;
mod motion;
mod report;

use bevy::prelude::*;
use bevy_relations::prelude::*;
use bevy_relations_scenes::{
    notice::NoticePlugin,
    panel::{self, TipPlugin},
    stage::stage,
};

const KEYS: [(&str, &str); 6] = [
    ("Left drag", "move a body to another centre"),
    ("Right click", "destroy a body"),
    ("P", "what then happens to bodies around it"),
    ("T", "trails"),
    ("Space", "pause"),
    ("R", "start over"),
];

fn main() -> AppExit {
    stage("bevy_relations: solar system")
        .add_plugins((
            RelationsPlugin,
            TipPlugin,
            NoticePlugin,
            drawing::plugin,
            fate::plugin,
            report::plugin,
        ))
        .add_plugins((bodies::plugin, hand::plugin, motion::plugin))
        .add_systems(Startup, |mut commands: Commands| {
            panel::help(&mut commands, "Solar system", "orbits are a relation", &KEYS);
        })
        .run()
}
