//! A client: it has a copy of the world, and says what that is whenever it changes.

use crate::{
    game::{Owes, PartOf, PartnerOf, Suspects, describe, secrets},
    network,
    process::{Input, Line, say},
};
use bevy::prelude::*;
use bevy_relations::prelude::*;
use bevy_replicon::prelude::*;
use bevy_replicon_renet::RenetClient;
use std::time::Duration;

/// A server of this machine answers sooner.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where the server should be.
#[derive(Resource)]
struct Server {
    port: u16,
}

/// Runs a client until its input ends, or the connection.
pub(crate) fn run(port: u16) -> AppExit {
    let mut app = network::app();
    app.receive_pairs::<PartOf>().receive_pairs::<Owes>().receive_pairs::<PartnerOf>();
    app.register_relation::<Suspects>().insert_resource(Input::start()).insert_resource(Server { port });
    app.add_systems(Update, (end_with_input, end_with_connection)).add_systems(Last, tell_changes);
    if let Err(error) = network::connect(app.world_mut(), port) {
        error!("cannot connect to port {port}: {error}");
        return AppExit::error();
    }
    app.run()
}

fn end_with_input(mut input: ResMut<Input>, mut exit: MessageWriter<AppExit>) {
    if let Line::End = input.next() {
        exit.write(AppExit::Success);
    }
}

fn end_with_connection(
    client: Res<RenetClient>,
    server: Res<Server>,
    time: Res<Time<Real>>,
    mut was_connected: Local<bool>,
    mut exit: MessageWriter<AppExit>,
) {
    let port = server.port;
    *was_connected |= client.is_connected();
    let is_over = client.is_disconnected();
    if !*was_connected && (is_over || time.elapsed() > PATIENCE) {
        error!("no server answers on port {port}");
        exit.write(AppExit::error());
    } else if is_over {
        error!("the server on port {port} is gone");
        exit.write(AppExit::error());
    }
}

/// Says what the world is, if that has changed.
fn tell_changes(world: &mut World, mut told: Local<String>) -> Result {
    world.check_pairs()?;
    let now = describe::<Remote>(world);
    if *told != now {
        say(&format!("world {now}"))?;
        let secrets = secrets(world);
        if secrets > 0 {
            say(&format!("secrets {secrets}"))?;
        }
        *told = now;
    }
    Ok(())
}
