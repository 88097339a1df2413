//! Moving things from one cell to another.

use crate::world::{Cell, Container, Equips, Holds, Kind, Spot};
use bevy::{ecs::system::SystemParam, prelude::*};
use bevy_relations::prelude::*;

/// What lies where.
#[derive(SystemParam)]
pub(crate) struct Contents<'w, 's> {
    pub holds: Pairs<'w, 's, Holds>,
    pub equips: Pairs<'w, 's, Equips>,
}

impl Contents<'_, '_> {
    /// What lies in a cell: a kind, and how many.
    pub(crate) fn of(&self, cell: Cell) -> Option<(Entity, u32)> {
        match cell.spot {
            Spot::Place(place) => {
                let mut stacks = self.holds.values_of(cell.owner);
                stacks.find(|(_, stack)| stack.place == place).map(|(kind, stack)| (kind, stack.count))
            }
            Spot::Slot(slot) => self.equips.target_by_key(cell.owner, &slot).map(|kind| (kind, 1)),
        }
    }

    /// What a container weighs.
    pub(crate) fn load(&self, container: Entity, kinds: &Query<(&Name, &Kind)>) -> u32 {
        let weight = |kind| kinds.get(kind).map_or(0, |(_, kind)| kind.weight);
        self.holds.values_of(container).map(|(kind, stack)| stack.count * weight(kind)).sum()
    }
}

/// What moving things reads.
#[derive(SystemParam)]
pub(crate) struct Things<'w, 's> {
    contents: Contents<'w, 's>,
    kinds: Query<'w, 's, (&'static Name, &'static Kind)>,
    containers: Query<'w, 's, (&'static Name, &'static Container)>,
}

/// Moves up to so many things, as a system: `Ok` and `Err` say in words what was done, or why nothing was.
pub(crate) fn move_things(
    In((from, to, most)): In<(Cell, Cell, u32)>,
    things: Things,
    mut commands: Commands,
) -> Result<String, String> {
    let (kind, there) = things.contents.of(from).ok_or("nothing lies there")?;
    let count = things.fitting(kind, most.min(there), from, to)?;
    // All of it is checked: from here on nothing is refused.
    let left = there - count;
    match from.spot {
        Spot::Place(place) if left > 0 => {
            commands.entity(from.owner).insert_pair(Holds { count: left, place }, kind);
        }
        // A stack that moves within its container stays the same pair: its value is replaced.
        Spot::Place(_) if from.owner == to.owner => {}
        Spot::Place(_) => _ = commands.entity(from.owner).remove_pair::<Holds>(kind),
        Spot::Slot(_) => _ = commands.entity(from.owner).remove_pair::<Equips>(kind),
    }
    match to.spot {
        Spot::Place(place) => {
            let stack = things.contents.holds.get(to.owner, kind).filter(|_| from.owner != to.owner);
            let (lying, place) = stack.map_or((0, place), |stack| (stack.count, stack.place));
            commands.entity(to.owner).insert_pair(Holds { count: lying + count, place }, kind);
        }
        Spot::Slot(slot) => _ = commands.entity(to.owner).insert_pair(slot, kind),
    }
    Ok(format!("{count} {} to {}", things.name(kind), things.place(to)))
}

impl Things<'_, '_> {
    fn name(&self, kind: Entity) -> &str {
        self.kinds.get(kind).map_or("?", |(name, _)| name.as_str())
    }

    /// A cell, in words.
    fn place(&self, cell: Cell) -> String {
        match cell.spot {
            Spot::Slot(slot) => format!("the {}", slot.name()),
            Spot::Place(_) => {
                self.containers.get(cell.owner).map_or_else(|_| "?".to_owned(), |(name, _)| name.to_string())
            }
        }
    }

    /// How many of so many things can go there.
    fn fitting(&self, kind: Entity, count: u32, from: Cell, to: Cell) -> Result<u32, String> {
        let name = self.name(kind);
        let (_, facts) = self.kinds.get(kind).map_err(|error| error.to_string())?;
        let lies_there = self.contents.of(to);
        match to.spot {
            Spot::Slot(slot) if facts.slot != Some(slot) => {
                Err(format!("refused: {name} is not worn on the {}", slot.name()))
            }
            Spot::Slot(slot) if lies_there.is_some() => Err(format!("refused: the {} is taken", slot.name())),
            Spot::Slot(_) => Ok(1),
            Spot::Place(_) if lies_there.is_some_and(|(other, _)| other != kind) => {
                let other = lies_there.map_or("?", |(other, _)| self.name(other));
                Err(format!("refused: {other} lies there"))
            }
            Spot::Place(_) if from.owner == to.owner => {
                // A container has one stack of each kind, which moves as a whole.
                let stack = self.contents.holds.get(to.owner, kind).map_or(count, |stack| stack.count);
                if stack == count {
                    Ok(count)
                } else {
                    Err(format!("refused: {name} lies in one stack here"))
                }
            }
            Spot::Place(_) => {
                let (container, limit) = self.containers.get(to.owner).map_err(|error| error.to_string())?;
                let room = limit.limit.saturating_sub(self.contents.load(to.owner, &self.kinds));
                match room.checked_div(facts.weight).map_or(count, |room| room.min(count)) {
                    0 => Err(format!("refused: {container} would be too heavy")),
                    fits => Ok(fits),
                }
            }
        }
    }
}
