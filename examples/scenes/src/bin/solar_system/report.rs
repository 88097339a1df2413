//! What is said in words: figures, and what the pairs say about the body under the mouse.

use crate::{
    bodies::{Body, Orbits},
    fate::{FallsWith, Fate},
    hand::Hand,
    motion::{Drift, Motion},
};
use bevy::prelude::*;
use bevy_relations::{
    prelude::*,
    query::{Ancestors, Depth},
};
use bevy_relations_scenes::{
    palette,
    panel::{self, Figure, Tip, write},
};

pub(crate) fn plugin(app: &mut App) {
    app.add_systems(Startup, spawn);
    app.add_systems(Update, (count, describe).after(Motion));
}

fn spawn(mut commands: Commands) {
    panel::figures(&mut commands, &["bodies", "adrift", "Orbits", "FallsWith", "deepest", "centre gone"]);
}

fn count(
    fate: Res<Fate>,
    orbits: Pairs<Orbits>,
    falls: Pairs<FallsWith>,
    bodies: Query<Depth<Orbits>, With<Body>>,
    drifting: Query<(), With<Drift>>,
    mut figures: Query<(&Figure, &mut Text, &mut TextColor)>,
) {
    for (figure, mut text, mut color) in &mut figures {
        let value = match figure.0 {
            "bodies" => bodies.iter().len().to_string(),
            "adrift" => drifting.iter().len().to_string(),
            "Orbits" => format!("{} pairs", orbits.len()),
            "FallsWith" => format!("{} pairs", falls.len()),
            "deepest" => bodies.iter().max().unwrap_or(0).to_string(),
            _ => {
                let (value, wanted) = match *fate {
                    Fate::Remove => ("they drift off", palette::GOOD),
                    Fate::Despawn => ("they go with it", palette::BAD),
                };
                color.set_if_neq(TextColor(wanted));
                value.to_owned()
            }
        };
        write(&mut text, value);
    }
}

/// Says what the pairs say: those of this relation, and how many there are of all relations.
fn describe(
    hand: Res<Hand>,
    orbits: Pairs<Orbits>,
    pairs: AnyPairs,
    bodies: Query<(&Name, &Body, &Transform, Ancestors<Orbits>)>,
    mut tip: ResMut<Tip>,
) {
    tip.at = None;
    let Some(over) = hand.holds.map(|(held, _)| held).or(hand.over) else { return };
    let Ok((name, body, transform, centres)) = bodies.get(over) else { return };
    let centres: Vec<_> = bodies.iter_many(centres).flatten().map(|(name, ..)| name.as_str()).collect();
    let around = if centres.is_empty() { "nothing".to_owned() } else { centres.join(" < ") };
    tip.at = Some(transform.translation.truncate());
    tip.title = name.to_string();
    tip.color = body.color;
    tip.reach = body.radius + 4.0;
    tip.text = format!(
        "{} around {around}\n{} around it, {} in all\npairs: {} as source, {} as target",
        body.kind.name(),
        orbits.source_count(over),
        orbits.descendants(over).count(),
        pairs.target_count(over),
        pairs.source_count(over),
    );
}
