//! The server of the page in front of an app.

pub(crate) use bevy_relations_remote::game::{Game, PATIENCE};

use bevy_relations_explorer::Server;
use std::{
    net::{Ipv4Addr, SocketAddr},
    thread,
};

/// Serves the page for an app, until the process ends. Returns where.
pub(crate) fn serve(app: SocketAddr) -> SocketAddr {
    let server = Server::bind((Ipv4Addr::LOCALHOST, 0).into(), app).expect("a port is free");
    let address = server.address();
    thread::spawn(move || server.run().map(|never| match never {}));
    address
}
