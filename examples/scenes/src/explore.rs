//! The explorer beside a scene: the scene answers requests of Bevy's remote protocol, and the page is served from a thread.

use bevy::prelude::*;

/// Adds the methods of `bevy_relations` and Bevy's own over HTTP, and opens the explorer.
#[cfg(feature = "explore")]
pub(crate) fn explore(app: &mut App) {
    use bevy_relations::remote::RelationsRemotePlugin;
    use bevy_relations_explorer::{Arguments, Server, open_browser};
    use bevy_remote::{RemotePlugin, http::RemoteHttpPlugin};
    use std::thread;

    let arguments = Arguments::default();
    let remote = RemoteHttpPlugin::default().with_port(arguments.app.port());
    app.add_plugins((RemotePlugin::default(), remote, RelationsRemotePlugin::default()));
    match Server::bind(arguments.listen, arguments.app) {
        Ok(server) => {
            let address = server.url();
            println!("explorer: {address}");
            open_browser(&address);
            thread::spawn(move || {
                let Err(problem) = server.run();
                eprintln!("the explorer has ended: {problem}");
            });
        }
        Err(problem) => eprintln!("the explorer cannot listen at {}: {problem}", arguments.listen),
    }
}

/// Says what is missing.
#[cfg(not(feature = "explore"))]
pub(crate) fn explore(_: &mut App) {
    eprintln!("this scene was built without the explorer: `cargo explore` builds it with it");
}
