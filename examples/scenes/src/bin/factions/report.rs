//! What is said in words: figures, and what the pairs say about what is under the mouse.

use crate::{
    flight::Flight,
    hand::Hand,
    orders::{Orders, words},
    world::{AlliedWith, DockedTo, Escorts, Faction, HostileTo, MemberOf, Ship},
};
use bevy::{ecs::system::SystemParam, prelude::*};
use bevy_relations::prelude::*;
use bevy_relations_scenes::panel::{self, Figure, Tip, write};

pub(crate) fn plugin(app: &mut App) {
    app.add_systems(Startup, |mut commands: Commands| {
        let labels = ["ships", "MemberOf", "AlliedWith", "HostileTo", "DockedTo", "Escorts"];
        panel::figures(&mut commands, &labels);
    });
    app.add_systems(Update, (count, describe).after(Flight));
}

/// All relations of the scene.
#[derive(SystemParam)]
struct Everything<'w, 's> {
    members: Pairs<'w, 's, MemberOf>,
    allied: Pairs<'w, 's, AlliedWith>,
    hostile: Pairs<'w, 's, HostileTo>,
    docked: Pairs<'w, 's, DockedTo>,
    escorts: Pairs<'w, 's, Escorts>,
}

fn count(pairs: Everything, ships: Query<(), With<Ship>>, mut figures: Query<(&Figure, &mut Text)>) {
    for (figure, mut text) in &mut figures {
        let pairs = match figure.0 {
            "MemberOf" => pairs.members.len(),
            "AlliedWith" => pairs.allied.len(),
            "HostileTo" => pairs.hostile.len(),
            "DockedTo" => pairs.docked.len(),
            "Escorts" => pairs.escorts.len(),
            _ => {
                write(&mut text, ships.iter().len().to_string());
                continue;
            }
        };
        write(&mut text, format!("{pairs} pairs"));
    }
}

fn describe(
    hand: Res<Hand>,
    pairs: Everything,
    things: Query<(&Name, &Transform, &Sprite, Option<(&Ship, Orders)>)>,
    names: Query<&Name>,
    factions: Query<&Name, With<Faction>>,
    mut tip: ResMut<Tip>,
) {
    tip.at = None;
    let Some(over) = hand.over else { return };
    let Ok((name, transform, sprite, ship)) = things.get(over) else { return };
    tip.at = Some(transform.translation.truncate());
    tip.color = sprite.color;
    tip.reach = if ship.is_some() { 11.0 } else { 50.0 };
    tip.title = name.to_string();
    let list = |entities: &mut dyn Iterator<Item = Entity>| {
        let names: Vec<_> = names.iter_many(entities).flatten().map(Name::as_str).collect();
        if names.is_empty() { "nobody".to_owned() } else { names.join(", ") }
    };
    tip.text = match (ship, pairs.members.target(over)) {
        (Some((ship, order)), _) => {
            let order = words(*order, &pairs.members, &factions);
            format!(
                "escorts {}\nescorted by {}\norder from above: {order}\nhostile to {}\n{} hostile to it\nhealth {:.0}",
                list(&mut pairs.escorts.ancestors(over)),
                list(&mut pairs.escorts.sources(over)),
                list(&mut pairs.hostile.targets(over)),
                pairs.hostile.source_count(over),
                ship.health,
            )
        }
        (None, Some(faction)) => format!(
            "of {}\n{} docked\nallied with {}\nhostile to {}\nhated by {}",
            list(&mut [faction].into_iter()),
            pairs.docked.source_count(over),
            list(&mut pairs.allied.targets(faction)),
            list(&mut pairs.hostile.targets(faction)),
            list(&mut pairs.hostile.sources(faction)),
        ),
        (None, None) => String::new(),
    };
}
