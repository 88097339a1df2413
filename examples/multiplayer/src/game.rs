//! The relations of the game, and what is said of its world.

use bevy::prelude::*;
use bevy_relations::{
    mirror::{MirroredPairs, MirroredRelation},
    prelude::*,
};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// A part goes down with the whole, unless it has left before: a tag.
#[derive(Relation, Reflect, Serialize, Deserialize, Clone, PartialEq, Debug)]
#[relation(exclusive, traversable, on_target_despawn = Despawn)]
pub(crate) struct PartOf;

/// How much: a value.
#[derive(Relation, Reflect, Serialize, Deserialize, Clone, PartialEq, Debug)]
pub(crate) struct Owes(pub(crate) u32);

/// Who works with whom: symmetric, and one at a time.
#[derive(Relation, Reflect, Serialize, Deserialize, Clone, PartialEq, Debug)]
#[relation(symmetric, exclusive)]
pub(crate) struct PartnerOf;

/// Only the server knows of these: they are not mirrored, and no component with them is replicated.
#[derive(Relation)]
pub(crate) struct Suspects;

/// Everything that is `shown`, by name, and its pairs, in one line.
pub(crate) fn describe<Shown: Component>(world: &mut World) -> String {
    let mut named = world.query_filtered::<(Entity, &Name), With<Shown>>();
    let mut entities: Vec<(String, Entity)> =
        named.iter(world).map(|(entity, name)| (name.to_string(), entity)).collect();
    entities.sort();
    let names: Vec<&str> = entities.iter().map(|(name, _)| name.as_str()).collect();
    let mut line = format!("{} named: {}", names.len(), names.join(" "));
    let name_of = |target: Entity| {
        let named = entities.iter().find(|(_, entity)| *entity == target);
        // It has not come yet.
        named.map_or("?", |(name, _)| name.as_str()).to_owned()
    };
    let mut list = |relation: &str, mut pairs: Vec<String>| {
        pairs.sort();
        // Writing to a string does not fail.
        let _ = write!(line, "; {relation}: {}", pairs.join(", "));
    };
    let pairs_of = |found: Vec<(Entity, Entity)>| {
        found.into_iter().map(|(source, target)| (name_of(source), name_of(target))).collect::<Vec<_>>()
    };
    let parts = pairs_of(all_pairs::<PartOf>(world, &entities));
    list("PartOf", parts.iter().map(|(source, target)| format!("{source}->{target}")).collect());
    let debts = all_pairs::<Owes>(world, &entities).into_iter().map(|(source, target)| {
        let much = world.pair_value::<Owes>(source, target).map_or(0, |owes| owes.0);
        format!("{}->{} {much}", name_of(source), name_of(target))
    });
    list("Owes", debts.collect());
    let partners = pairs_of(all_pairs::<PartnerOf>(world, &entities));
    let once = partners.iter().filter(|(one, other)| one <= other);
    list("PartnerOf", once.map(|(one, other)| format!("{one}-{other}")).collect());
    line
}

/// The pairs of a relation among what is shown.
///
/// # Panics
/// If a component says something else than the pairs are.
fn all_pairs<R: MirroredRelation>(world: &World, entities: &[(String, Entity)]) -> Vec<(Entity, Entity)> {
    let view = world.pairs::<R>();
    let mut found = Vec::new();
    for &(ref name, source) in entities {
        let targets: Vec<Entity> = view.targets(source).collect();
        let mirrored = world.get::<MirroredPairs<R>>(source);
        let mirrored: Vec<Entity> = mirrored.map_or_else(Vec::new, |pairs| pairs.targets().collect());
        assert_eq!(targets, mirrored, "the mirror of {name}");
        found.extend(targets.into_iter().map(|target| (source, target)));
    }
    found
}

/// How many pairs there are that only the server may know of.
pub(crate) fn secrets(world: &World) -> usize {
    world.pairs::<Suspects>().len()
}
