//! What is said in words: figures, and where else there is more of what the mouse points at.

use crate::{
    hand::{Hand, Moved},
    moves::Contents,
    world::{Cell, Container, Hero, Kind, REACH},
};
use bevy::prelude::*;
use bevy_relations_scenes::{
    palette,
    panel::{self, Figure, Tip, write},
};

pub(crate) fn plugin(app: &mut App) {
    app.add_systems(Startup, |mut commands: Commands| {
        panel::figures(&mut commands, &["things", "stacks (Holds)", "worn (Equips)", "weight worn"]);
    });
    app.add_systems(Update, (count, describe).after(Moved));
}

fn count(contents: Contents, kinds: Query<&Kind>, mut figures: Query<(&Figure, &mut Text)>) {
    for (figure, mut text) in &mut figures {
        let value = match figure.0 {
            "things" => {
                contents.holds.values().map(|(_, _, stack)| stack.count as usize).sum::<usize>()
                    + contents.equips.len()
            }
            "stacks (Holds)" => contents.holds.len(),
            "worn (Equips)" => contents.equips.len(),
            _ => kinds
                .iter_many(contents.equips.iter().map(|(_, kind)| kind))
                .flatten()
                .map(|kind| kind.weight as usize)
                .sum(),
        };
        write(&mut text, value.to_string());
    }
}

/// Names the thing under the mouse, and everything that holds or wears one: the sources of the pairs with it.
fn describe(
    hand: Res<Hand>,
    contents: Contents,
    kinds: Query<(&Name, &Kind)>,
    containers: Query<(&Name, &Container)>,
    heroes: Query<&Name, With<Hero>>,
    cells: Query<(&Cell, &Transform)>,
    mut tip: ResMut<Tip>,
) {
    tip.at = None;
    let Some(over) = hand.over.filter(|_| hand.drags.is_none()) else { return };
    let Some((_, place)) = cells.iter().find(|(cell, _)| **cell == over) else { return };
    let lines = match contents.of(over) {
        Some((thing, _)) => {
            let Ok((name, kind)) = kinds.get(thing) else { return };
            (tip.title, tip.color) = (name.to_string(), kind.color);
            let mut lines = vec![format!("weighs {}", kind.weight)];
            lines.extend(kind.slot.map(|slot| format!("worn on the {}", slot.name())));
            for (container, stack) in contents.holds.values_to(thing) {
                lines.extend(containers.get(container).map(|(name, _)| format!("{} in {name}", stack.count)));
            }
            lines.extend(
                heroes
                    .iter_many(contents.equips.sources(thing))
                    .flatten()
                    .map(|name| format!("{name} wears one")),
            );
            lines
        }
        None => {
            let Ok((name, container)) = containers.get(over.owner) else { return };
            (tip.title, tip.color) = (name.to_string(), palette::BRIGHT);
            vec![format!("{} of {}", contents.load(over.owner, &kinds), container.limit)]
        }
    };
    tip.at = Some(place.translation.truncate());
    tip.reach = REACH;
    tip.text = lines.join("\n");
}
