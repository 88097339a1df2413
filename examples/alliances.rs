//! Factions that make, deepen and break alliances, until one of them falls.
//!
//! ```sh
//! cargo run --example alliances
//! ```
//!
//! Shows a symmetric relation with many targets per source and a value per pair, shared by both directions
//! (`AlliedWith`), and the three ways to follow its changes: the query filters `AddedPair` and `ChangedPair`, and
//! `RemovedPairs` for what is gone, also because an entity was despawned.
//!
//! Prints what happens in each year, and in the end who stands with whom:
//!
//! ```text
//! year 1: Birch has a new ally and stands with Dogwood
//! ...
//! year 14: Elm is no more
//! year 14: Dogwood has lost an ally that is no more
//! ...
//! Dogwood trusts Birch 4
//! ...
//! ```

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_relations::{
    prelude::*,
    query::{AddedPair, ChangedPair},
    system_param::pairs_changed,
};

/// Two factions are allies. There is one value for both directions.
#[derive(Relation, Clone, Copy, PartialEq, Debug)]
#[relation(symmetric)]
struct AlliedWith {
    trust: u32,
}

#[derive(Component)]
struct Faction;

const YEARS: u32 = 20;
const FALL: u32 = 14;

/// What the systems have seen, to check it in the end.
#[derive(Resource, Default)]
struct Chronicle {
    year: u32,
    made: usize,
    ended: usize,
    deepened: usize,
    /// How often a faction was seen with a new ally, and with a pair of another value.
    seen_new: usize,
    seen_changed: usize,
    lines: Vec<String>,
}

impl Chronicle {
    fn note(&mut self, line: String) {
        let year = self.year;
        self.lines.push(format!("year {year}: {line}"));
    }
}

/// Numbers that look random and are the same in every run.
#[derive(Resource)]
struct Fate(u32);

impl Fate {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 16) as usize % limit
    }
}

fn main() {
    let mut app = App::new();
    app.add_plugins(RelationsPlugin).init_resource::<Chronicle>().insert_resource(Fate(7));
    app.add_systems(Startup, |mut commands: Commands| {
        for name in ["Ash", "Birch", "Cedar", "Dogwood", "Elm"] {
            commands.spawn((Faction, Name::new(name)));
        }
    });
    let chroniclers = (welcome, rejoice, lament).chain().run_if(pairs_changed::<AlliedWith>);
    app.add_systems(Update, (negotiate, chroniclers).chain());
    (0..YEARS).for_each(|_| app.update());

    let world = app.world();
    let chronicle = world.resource::<Chronicle>();
    chronicle.lines.iter().for_each(|line| println!("{line}"));
    let name = |entity| world.get::<Name>(entity).expect("factions have names");
    let allied = world.pairs::<AlliedWith>();
    for (source, target) in allied.iter() {
        let value = allied.get(source, target).expect("alliances have a value");
        assert_eq!(Some(value), allied.get(target, source), "symmetric, with one value");
        println!("{} trusts {} {}", name(source), name(target), value.trust);
    }
    assert_eq!(allied.len(), 2 * chronicle.made - chronicle.ended, "each end was seen, in both directions");
    assert_eq!(chronicle.seen_new, 2 * chronicle.made, "so was each beginning");
    assert_eq!(chronicle.seen_changed, 2 * (chronicle.made + chronicle.deepened), "and each new value");
    assert!(
        chronicle.made > 3 && chronicle.ended > 3 && chronicle.deepened > 3,
        "there was something to see"
    );
    world.check_pairs().expect("the pairs are sound");
}

/// Each year two factions meet; one of the years, one falls.
fn negotiate(
    factions: Query<(Entity, &Name), With<Faction>>,
    allied: Pairs<AlliedWith>,
    mut fate: ResMut<Fate>,
    mut chronicle: ResMut<Chronicle>,
    mut commands: Commands,
) {
    chronicle.year += 1;
    let factions: Vec<_> = factions.iter().collect();
    let (one, name) = factions[fate.below(factions.len())];
    if chronicle.year == FALL {
        chronicle.note(format!("{name} is no more"));
        commands.entity(one).despawn();
        return;
    }
    let (other, _) = factions[fate.below(factions.len())];
    match allied.get(one, other) {
        _ if one == other => {}
        None => {
            chronicle.made += 1;
            commands.entity(one).insert_pair(AlliedWith { trust: 1 }, other);
        }
        Some(_) if fate.below(3) == 0 => {
            commands.entity(one).remove_pair::<AlliedWith>(other);
        }
        Some(&AlliedWith { trust }) => {
            chronicle.deepened += 1;
            commands.entity(one).insert_pair(AlliedWith { trust: trust + 1 }, other);
        }
    }
}

/// Who has a new ally.
fn welcome(
    factions: Query<(&Name, Targets<AlliedWith>), AddedPair<AlliedWith>>,
    names: Query<&Name>,
    mut chronicle: ResMut<Chronicle>,
) {
    for (name, allies) in &factions {
        let allies: Vec<_> = allies.filter_map(|ally| names.get(ally).ok()).map(Name::as_str).collect();
        chronicle.seen_new += 1;
        chronicle.note(format!("{name} has a new ally and stands with {}", allies.join(", ")));
    }
}

/// Who trusts an ally as never before. A new pair has a new value, too.
fn rejoice(
    factions: Query<(&Name, Targets<AlliedWith>), ChangedPair<AlliedWith>>,
    mut chronicle: ResMut<Chronicle>,
) {
    for (name, allies) in &factions {
        let trust: u32 = allies.with_values().map(|(_, allied)| allied.trust).sum();
        chronicle.seen_changed += 1;
        chronicle.note(format!("{name} has a trust of {trust} in all its allies"));
    }
}

/// Whose alliances have ended.
fn lament(mut ended: RemovedPairs<AlliedWith>, names: Query<&Name>, mut chronicle: ResMut<Chronicle>) {
    for (source, target) in ended.read() {
        chronicle.ended += 1;
        // What was despawned has no name any more.
        let Ok(name) = names.get(source) else { continue };
        let ally = names.get(target).map_or("an ally that is no more", Name::as_str);
        chronicle.note(format!("{name} has lost {ally}"));
    }
}
