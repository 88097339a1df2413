//! An app that answers requests, and the server of the explorer in front of it.

use bevy_app::App;
use bevy_ecs::prelude::*;
use bevy_relations::remote::RemoteLimits;
use bevy_relations_explorer::Server;
use bevy_remote::http::RemoteHttpPlugin;
use std::{
    net::{SocketAddr, TcpListener, TcpStream},
    sync::mpsc::{self, Sender, TryRecvError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// How long something may take that is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

type Task = Box<dyn FnOnce(&mut App) + Send>;

/// An app that runs in a thread, with a server in front of it in another one.
pub(crate) struct Game {
    /// The address of the page, with a slash at its end.
    pub(crate) url: String,
    tasks: Option<Sender<Task>>,
    thread: Option<JoinHandle<()>>,
}

/// A port of this machine that nothing listens at.
pub(crate) fn free_port() -> SocketAddr {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    free.local_addr().expect("it has a number")
}

/// Serves the page for an app, and returns its address. The thread ends with the process.
pub(crate) fn serve(app: SocketAddr) -> String {
    let server = Server::bind("127.0.0.1:0".parse().expect("an address"), app).expect("a port is free");
    let url = server.url();
    thread::spawn(move || server.run());
    url
}

impl Game {
    pub(crate) fn start() -> Self {
        let app = free_port();
        let (tasks, received) = mpsc::channel::<Task>();
        let thread = thread::spawn(move || {
            let limits =
                RemoteLimits { watch_interval: Duration::from_millis(20), ..RemoteLimits::default() };
            let mut game = bevy_relations_remote::app(limits);
            game.add_plugins(RemoteHttpPlugin::default().with_port(app.port()));
            game.finish();
            game.cleanup();
            loop {
                match received.try_recv() {
                    Ok(task) => task(&mut game),
                    Err(TryRecvError::Empty) => {}
                    Err(TryRecvError::Disconnected) => return,
                }
                game.update();
                thread::sleep(Duration::from_millis(2));
            }
        });
        let game = Self { url: serve(app), tasks: Some(tasks), thread: Some(thread) };
        let start = Instant::now();
        while TcpStream::connect(app).is_err() {
            assert!(start.elapsed() < PATIENCE, "the app does not listen");
            thread::sleep(Duration::from_millis(5));
        }
        game
    }

    /// Does something in the app, between two frames.
    pub(crate) fn run<T: Send + 'static>(&self, task: impl FnOnce(&mut World) -> T + Send + 'static) -> T {
        let (sender, receiver) = mpsc::channel();
        let task: Task = Box::new(move |app| sender.send(task(app.world_mut())).expect("it is waited for"));
        self.tasks.as_ref().expect("the app runs").send(task).expect("the app runs");
        receiver.recv_timeout(PATIENCE).expect("the app runs")
    }
}

impl Drop for Game {
    fn drop(&mut self) {
        self.tasks = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !thread::panicking()
        {
            panic!("the app has panicked");
        }
    }
}
