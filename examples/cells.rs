//! A large world of which only what is near counts: ships are kept in groups by the cell where they are, and a frame visits
//! the groups of the cells around the player.
//!
//! ```sh
//! cargo run --example cells
//! ```

use bevy_ecs::prelude::*;
use bevy_relations::{expr::PairExpr, prelude::*};

/// The world is a square of so many cells each way.
const CELLS: usize = 64;
const SHIPS: usize = 100_000;
const FRAMES: usize = 60;

/// Where a ship is. A ship that leaves its cell gets another target.
#[derive(Relation)]
#[relation(exclusive)]
struct InCell;

#[derive(Component)]
struct Ship;

/// Ships that are in dock do not move.
#[derive(Component)]
struct Docked;

/// How often a ship was near the player.
#[derive(Component, Default)]
struct Seen(u32);

/// The cells around one, with itself.
fn around(cell: usize) -> impl Iterator<Item = usize> {
    let (x, y) = (cell % CELLS, cell / CELLS);
    let near = |at: usize| at.saturating_sub(1)..(at + 2).min(CELLS);
    near(y).flat_map(move |y| near(x).map(move |x| y * CELLS + x))
}

fn main() -> Result<()> {
    let mut world = World::new();
    world.register_relation::<InCell>()?;
    world.register_component_name::<Ship>("Ship");
    world.register_component_name::<Docked>("Docked");
    let cells: Vec<Entity> = (0..CELLS * CELLS).map(|_| world.spawn_empty().id()).collect();
    let mut ships = Vec::new();
    for number in 0..SHIPS {
        let ship = world.spawn((Ship, Seen::default())).id();
        world.insert_pair(ship, InCell, cells[number * 7919 % cells.len()])?;
        if number % 10 == 0 {
            world.entity_mut(ship).insert(Docked);
        }
        ships.push(ship);
    }

    let mut sailing = PairExpr::parse("Ship, !Docked")?.live(&mut world)?;
    sailing.group_by::<InCell>()?;
    sailing.update(&mut world)?;
    assert_eq!((sailing.len(), sailing.groups().len()), (SHIPS / 10 * 9, cells.len()));

    let (mut visited, mut emptied) = (0, 0);
    for frame in 0..FRAMES {
        // Some ships sail to the next cell, and one cell is left by all.
        for number in 0..100 {
            let ship = ships[(frame * 100 + number) * 31 % SHIPS];
            let cell =
                world.pairs::<InCell>().target(ship).and_then(|at| cells.iter().position(|&cell| cell == at));
            let next = cell.map_or(0, |cell| (cell + 1) % cells.len());
            world.insert_pair(ship, InCell, cells[next])?;
        }
        let deserted = cells[frame * 50 + 25];
        let leaving: Vec<Entity> = world.pairs::<InCell>().sources(deserted).collect();
        for ship in leaving {
            world.insert_pair(ship, InCell, cells[0])?;
        }
        sailing.update(&mut world)?;
        // Only rows that have moved were recomputed.
        assert!(!sailing.ran_whole());
        assert_eq!(sailing.emptied_groups(), [deserted.to_bits()]);
        emptied += sailing.emptied_groups().len();

        let player = frame * 50 + 10;
        let mut near = Vec::new();
        for cell in around(player) {
            near.extend(sailing.group(&world, cells[cell].to_bits())?.filter_map(|row| row.this()));
        }
        visited += near.len();
        for ship in near {
            let cell = world.pairs::<InCell>().target(ship);
            assert!(around(player).any(|near| Some(cells[near]) == cell), "a ship is not where its group is");
            world.get_mut::<Seen>(ship).expect("every ship has it").0 += 1;
        }
    }
    let seen: u32 = world.query::<&Seen>().iter(&world).map(|seen| seen.0).sum();
    assert_eq!((seen as usize, emptied), (visited, FRAMES));
    println!("{SHIPS} ships in {} cells", cells.len());
    println!("{} of them were visited in a frame, on average", visited / FRAMES);
    assert!(visited / FRAMES < SHIPS / 100, "only the near ones are visited");
    Ok(())
}
