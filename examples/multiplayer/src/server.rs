//! The server: it has the world, and plays the story in it.

use crate::{
    game::{Owes, PartOf, PartnerOf, Suspects, describe},
    network,
    process::{Input, Line, say},
};
use bevy::prelude::*;
use bevy_relations::prelude::*;
use bevy_replicon::prelude::*;

/// A step of the story.
pub(crate) struct Step {
    /// What happens.
    pub(crate) title: &'static str,
    happen: fn(&mut World) -> Result,
}

/// What happens, line by line of the input.
pub(crate) const STORY: [Step; 8] = [
    Step { title: "a ship with its crew", happen: launch },
    Step { title: "debts and partners change", happen: trade },
    Step { title: "a debt to somebody who has not come yet", happen: promise },
    Step { title: "the cat comes", happen: arrive },
    Step { title: "partners are exchanged", happen: exchange },
    Step { title: "the mast carries the hull", happen: turn_over },
    Step { title: "the ship sinks, and the boat has just left it", happen: sink },
    Step { title: "somebody leaves", happen: leave },
];

/// The next step of the story.
#[derive(Resource, Default)]
struct Next(usize);

/// Runs the server until its input ends.
pub(crate) fn run(port: u16) -> AppExit {
    let mut app = network::app();
    app.mirror_pairs::<PartOf>().mirror_pairs::<Owes>().mirror_pairs::<PartnerOf>();
    app.register_relation::<Suspects>().init_resource::<Next>().insert_resource(Input::start());
    app.add_systems(Update, play);
    match network::listen(app.world_mut(), port) {
        Ok(port) if say(&format!("port {port}")).is_ok() => app.run(),
        Ok(_) => AppExit::error(),
        Err(error) => {
            error!("cannot listen on port {port}: {error}");
            AppExit::error()
        }
    }
}

/// Plays the next step, if a line has come, and says what the world is then.
fn play(world: &mut World) -> Result {
    match world.resource_mut::<Input>().next() {
        Line::None => return Ok(()),
        Line::End => {
            world.write_message(AppExit::Success);
            return Ok(());
        }
        Line::Read => {}
    }
    let next = world.resource::<Next>().0;
    let Some(step) = STORY.get(next) else {
        say("the story is over")?;
        return Ok(());
    };
    (step.happen)(world)?;
    world.resource_mut::<Next>().0 += 1;
    // Values that were written in place are in the components now.
    world.maintain_pairs();
    world.check_pairs()?;
    let line = describe::<Replicated>(world);
    say(&format!("world {line}"))?;
    Ok(())
}

fn spawn(world: &mut World, name: &str) -> Entity {
    world.spawn((Name::new(name.to_owned()), Replicated)).id()
}

fn find(world: &mut World, name: &str) -> Result<Entity> {
    let mut named = world.query::<(Entity, &Name)>();
    let found = named.iter(world).find(|(_, other)| other.as_str() == name);
    found.map(|(entity, _)| entity).ok_or_else(|| format!("there is no {name}").into())
}

fn launch(world: &mut World) -> Result {
    let [ship, hull, mast, sail, boat] =
        ["ship", "hull", "mast", "sail", "boat"].map(|name| spawn(world, name));
    for (part, whole) in [(hull, ship), (mast, hull), (sail, mast), (boat, ship)] {
        world.insert_pair(part, PartOf, whole)?;
    }
    let [ann, ben, cy, dee] = ["ann", "ben", "cy", "dee"].map(|name| spawn(world, name));
    world.insert_pairs(ann, [(Owes(3), ben), (Owes(8), cy)])?;
    world.insert_pair(ann, PartnerOf, ben)?;
    world.insert_pair(cy, PartnerOf, dee)?;
    world.insert_pair(ben, Suspects, dee)?;
    Ok(())
}

fn trade(world: &mut World) -> Result {
    let [ann, ben, cy, dee] = ["ann", "ben", "cy", "dee"].map(|name| find(world, name));
    let (ann, ben, cy, dee) = (ann?, ben?, cy?, dee?);
    world.insert_pair(ann, Owes(5), ben)?;
    world.remove_pair::<Owes>(ann, cy);
    world.insert_pair(dee, Owes(1), ann)?;
    // In place, as systems do.
    world.run_system_cached_with(
        |In((source, target)): In<(Entity, Entity)>, mut owes: PairsMut<Owes>| {
            if let Some(mut owes) = owes.get_mut(source, target) {
                owes.0 += 10;
            }
        },
        (dee, ann),
    )?;
    world.remove_pairs::<PartnerOf>(cy);
    world.insert_pair(dee, Suspects, ann)?;
    Ok(())
}

fn promise(world: &mut World) -> Result {
    let ann = find(world, "ann")?;
    let cat = world.spawn(Name::new("cat")).id();
    world.insert_pair(ann, Owes(1), cat)?;
    world.insert_pair(cat, Suspects, ann)?;
    Ok(())
}

fn arrive(world: &mut World) -> Result {
    let cat = find(world, "cat")?;
    world.entity_mut(cat).insert(Replicated);
    let cy = find(world, "cy")?;
    let dee = find(world, "dee")?;
    world.insert_pair(cy, PartnerOf, dee)?;
    Ok(())
}

/// From ann-ben and cy-dee to ann-cy and ben-dee, in one frame: on the way each has two.
fn exchange(world: &mut World) -> Result {
    for [one, other] in [["ann", "cy"], ["ben", "dee"]] {
        let (one, other) = (find(world, one)?, find(world, other)?);
        world.insert_pair(one, PartnerOf, other)?;
    }
    Ok(())
}

/// What was below is above: if only one half of that has arrived, the parts go in a circle.
fn turn_over(world: &mut World) -> Result {
    let [ship, hull, mast, sail] = ["ship", "hull", "mast", "sail"].map(|name| find(world, name));
    let (ship, hull, mast, sail) = (ship?, hull?, mast?, sail?);
    world.insert_pair(sail, PartOf, ship)?;
    world.insert_pair(mast, PartOf, sail)?;
    world.insert_pair(hull, PartOf, mast)?;
    Ok(())
}

fn sink(world: &mut World) -> Result {
    let (ship, boat) = (find(world, "ship")?, find(world, "boat")?);
    world.remove_pair::<PartOf>(boat, ship);
    world.despawn_with_dependents(ship)?;
    Ok(())
}

fn leave(world: &mut World) -> Result {
    let dee = find(world, "dee")?;
    world.despawn(dee);
    Ok(())
}
