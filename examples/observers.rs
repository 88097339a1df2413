//! Observers of pairs: insertions, removals with their cause, and one that is narrowed to a pair.
//!
//! ```text
//! cargo run --example observers
//! ```

use bevy_ecs::prelude::*;
use bevy_relations::{event::RemovalCause, prelude::*, relation::Wildcard};

#[derive(Relation)]
#[relation(exclusive)]
struct Guards;

#[derive(Resource, Default)]
struct Log(Vec<String>);

fn name(names: &Query<&Name>, entity: Entity) -> String {
    names.get(entity).map_or_else(|_| entity.to_string(), Name::to_string)
}

/// After a pair was inserted.
fn begun(on: On<PairInserted<Guards>>, names: Query<&Name>, mut log: ResMut<Log>) {
    log.0.push(format!("{} guards {}", name(&names, on.source), name(&names, on.target)));
}

/// Before a pair is removed: it can still be read, and the event has the cause.
fn ended(on: On<PairRemoved<Guards>>, names: Query<&Name>, mut log: ResMut<Log>) {
    let why = match on.cause {
        RemovalCause::Replaced => "gets another post",
        RemovalCause::TargetDespawned => "has nothing left to guard",
        _ => "is free",
    };
    log.0.push(format!("{} {why}", name(&names, on.source)));
}

fn main() -> Result {
    let mut world = World::new();
    world.init_resource::<Log>();
    world.add_observer(begun);
    world.add_observer(ended);
    let [knight, gate, tower] = ["knight", "gate", "tower"].map(|name| world.spawn(Name::new(name)).id());

    world.insert_pair(knight, Guards, gate)?;
    world.insert_pair(knight, Guards, tower)?;
    // The pair is removed with its target, and observers run.
    world.despawn(tower);

    let log = core::mem::take(&mut world.resource_mut::<Log>().0);
    log.iter().for_each(|line| println!("{line}"));
    assert_eq!(log[..2], ["knight guards gate", "knight gets another post"]);
    assert_eq!(log[2..], ["knight guards tower", "knight has nothing left to guard"]);

    // An observer of all relations, narrowed to the pairs of one relation with one target.
    let guards = world.register_relation::<Guards>()?;
    world.observe_pairs(PairId::new(guards, gate), |_: On<PairInserted<Wildcard>>, mut log: ResMut<Log>| {
        log.0.push("the gate has a guard again".to_owned());
    });
    world.insert_pair(knight, Guards, gate)?;
    assert_eq!(world.resource::<Log>().0, ["knight guards gate", "the gate has a guard again"]);
    Ok(())
}
