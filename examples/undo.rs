//! Undo and redo in an editor: the pairs before each edit are kept, and applied to take it back.
//!
//! Shows `PairSnapshot`: relations of all kinds in one snapshot, what differs is changed and nothing else, and what a rule
//! forbids is refused as a whole.
//!
//! ```text
//! cargo run --example undo
//! ```
//!
//! It prints the steps, and checks them:
//!
//! ```text
//! undo: 1 inserted, 0 replaced, 1 removed
//! ```

use bevy_ecs::prelude::*;
use bevy_relations::{
    prelude::*,
    snapshot::{PairFilter, PairSnapshot, SnapshotError},
};

/// How much of something flows through a pipe.
#[derive(Relation, Clone, PartialEq, Debug)]
struct FlowsTo(u32);

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct PartOf;

#[derive(Default)]
struct History {
    undo: Vec<PairSnapshot>,
    redo: Vec<PairSnapshot>,
}

impl History {
    fn now(world: &mut World) -> Result<PairSnapshot, SnapshotError> {
        PairSnapshot::take(world, PairFilter::none().relation::<FlowsTo>().relation::<PartOf>())
    }

    fn edit(&mut self, world: &mut World, edit: impl FnOnce(&mut World) -> Result) -> Result {
        self.undo.push(Self::now(world)?);
        self.redo.clear();
        edit(world)
    }

    fn step(
        name: &str,
        world: &mut World,
        from: &mut Vec<PairSnapshot>,
        to: &mut Vec<PairSnapshot>,
    ) -> Result {
        let Some(snapshot) = from.last() else { return Ok(()) };
        let now = Self::now(world)?;
        let applied = snapshot.apply(world)?;
        from.pop();
        to.push(now);
        println!(
            "{name}: {} inserted, {} replaced, {} removed",
            applied.inserted, applied.replaced, applied.removed
        );
        Ok(())
    }

    fn undo(&mut self, world: &mut World) -> Result {
        Self::step("undo", world, &mut self.undo, &mut self.redo)
    }

    fn redo(&mut self, world: &mut World) -> Result {
        Self::step("redo", world, &mut self.redo, &mut self.undo)
    }
}

fn main() -> Result {
    let mut world = World::new();
    let mut history = History::default();
    let [plant, pump, tank, valve] =
        ["plant", "pump", "tank", "valve"].map(|name| world.spawn(Name::new(name)).id());
    for part in [pump, tank] {
        world.insert_pair(part, PartOf, plant)?;
    }
    world.insert_pair(pump, FlowsTo(5), tank)?;

    history.edit(&mut world, |world| {
        world.insert_pair(pump, FlowsTo(8), tank)?;
        world.insert_pair(tank, FlowsTo(8), valve)?;
        world.insert_pair(valve, PartOf, tank)?;
        Ok(())
    })?;
    // The hierarchy is turned round: of the pairs that change, each would close a cycle with one that has not changed yet.
    history.edit(&mut world, |world| {
        world.remove_pairs::<PartOf>(tank);
        world.insert_pair(plant, PartOf, tank)?;
        Ok(())
    })?;

    history.undo(&mut world)?;
    assert_eq!(world.pairs::<PartOf>().target(tank), Some(plant));
    history.undo(&mut world)?;
    assert_eq!(world.pair_value::<FlowsTo>(pump, tank), Some(&FlowsTo(5)));
    assert!(!world.has_pair::<PartOf>(valve, tank) && !world.has_pair::<FlowsTo>(tank, valve));

    history.redo(&mut world)?;
    history.redo(&mut world)?;
    assert_eq!(world.pair_value::<FlowsTo>(pump, tank), Some(&FlowsTo(8)));
    assert!(world.pairs::<PartOf>().ancestors(pump).eq([plant, tank]));

    // What is gone cannot come back by pairs alone: this is refused, and nothing changes.
    world.despawn(valve);
    let refused = history.undo(&mut world);
    assert!(refused.is_err() && world.has_pair::<PartOf>(plant, tank));
    world.check_pairs()?;
    Ok(())
}
