//! Two hundred ships of five factions: allies, enemies, docks and escorts are relations.
//!
//! ```sh
//! cargo scene factions
//! cargo scene factions -- --frames 900 --screenshot factions.png
//! ```
//!
//! Shows a symmetric relation ([`AlliedWith`](world::AlliedWith)), one with many targets and a value per pair
//! ([`HostileTo`](world::HostileTo), between factions and between ships), exclusive ones
//! ([`DockedTo`](world::DockedTo), [`MemberOf`](world::MemberOf)), and a traversable one
//! ([`Escorts`](world::Escorts)): a ship gets its orders from the flagship at the top, however far up that is
//! ([`orders`]). The pairs of a destroyed ship are removed with it, without any code here ([`battle`]). The ships and
//! stations that an expression of the query language finds are marked while it is typed ([`ask`]). The factions come from
//! `assets/factions.ron`.

mod ask;
mod battle;
mod docks;
mod drawing;
mod flight;
mod hand;
mod orders;
mod report;
mod world;

use bevy::prelude::*;
use bevy_relations::prelude::*;
use bevy_relations_scenes::{
    panel::{self, TipPlugin},
    stage::stage,
};

const KEYS: [(&str, &str); 8] = [
    ("Enter", "type an expression, Tab: examples"),
    ("Left click", "select the wing of a ship"),
    ("Right click", "guard, raid or return there"),
    ("A", "alliance with the one pointed at"),
    ("W", "war with the one pointed at"),
    ("1 2 3 4", "allies, enemies, docks, escorts"),
    ("Space", "pause"),
    ("R", "start over"),
];

fn main() -> AppExit {
    stage("bevy_relations: factions")
        .add_plugins((RelationsPlugin, TipPlugin, drawing::plugin, report::plugin))
        .add_plugins((world::plugin, orders::plugin, battle::plugin, docks::plugin, flight::plugin))
        .add_plugins((hand::plugin, ask::plugin))
        .add_systems(Startup, |mut commands: Commands| {
            panel::help(&mut commands, "Factions", "each line is a pair of a relation", &KEYS);
        })
        .run()
}
