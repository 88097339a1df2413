//! What the server and the clients have in common: plugins, what is replicated, the transport.

use crate::game::{Owes, PartOf, PartnerOf};
use bevy::{app::ScheduleRunnerPlugin, log::LogPlugin, prelude::*, state::app::StatesPlugin};
use bevy_relations::{mirror::MirroredPairs, prelude::*};
use bevy_replicon::prelude::*;
use bevy_replicon_renet::{
    RenetChannelsExt, RenetClient, RenetServer, RepliconRenetPlugins,
    netcode::{
        ClientAuthentication, NetcodeClientTransport, NetcodeServerTransport, ServerAuthentication,
        ServerConfig,
    },
    renet::ConnectionConfig,
};
use std::{
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    process,
    time::{Duration, SystemTime},
};

/// Servers and clients of other programs are not understood.
const PROTOCOL: u64 = 0x7e1a_7105;
const FRAME: Duration = Duration::from_millis(4);
const MAX_CLIENTS: usize = 8;

/// An app without a window that replicates. The order is the same in all processes.
pub(crate) fn app() -> App {
    let mut app = App::new();
    app.add_plugins((
        MinimalPlugins.set(ScheduleRunnerPlugin::run_loop(FRAME)),
        LogPlugin { filter: "warn".to_owned(), ..default() },
        StatesPlugin,
        RepliconPlugins,
        RepliconRenetPlugins,
        RelationsPlugin,
    ));
    app.replicate::<Name>()
        .replicate::<MirroredPairs<PartOf>>()
        .replicate::<MirroredPairs<Owes>>()
        .replicate::<MirroredPairs<PartnerOf>>();
    app
}

/// Listens on a port of this machine. Returns the port.
///
/// # Errors
/// If it is taken.
pub(crate) fn listen(world: &mut World, port: u16) -> Result<u16> {
    let config = connection(world);
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, port))?;
    let address = socket.local_addr()?;
    let config_of_transport = ServerConfig {
        current_time: now()?,
        max_clients: MAX_CLIENTS,
        protocol_id: PROTOCOL,
        public_addresses: vec![address],
        authentication: ServerAuthentication::Unsecure,
    };
    world.insert_resource(NetcodeServerTransport::new(config_of_transport, socket)?);
    world.insert_resource(RenetServer::new(config));
    Ok(address.port())
}

/// Connects to a server of this machine.
///
/// # Errors
/// If there is no socket for that.
pub(crate) fn connect(world: &mut World, port: u16) -> Result<()> {
    let config = connection(world);
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let authentication = ClientAuthentication::Unsecure {
        client_id: process::id().into(),
        protocol_id: PROTOCOL,
        server_addr: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        user_data: None,
    };
    world.insert_resource(NetcodeClientTransport::new(now()?, authentication, socket)?);
    world.insert_resource(RenetClient::new(config));
    Ok(())
}

fn connection(world: &World) -> ConnectionConfig {
    let channels = world.resource::<RepliconChannels>();
    ConnectionConfig {
        server_channels_config: channels.server_configs(),
        client_channels_config: channels.client_configs(),
        ..default()
    }
}

fn now() -> Result<Duration> {
    Ok(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?)
}
