//! The small world in a thread, behind HTTP, for tests that are clients of it.

use bevy_app::App;
use bevy_ecs::world::World;
use bevy_relations::remote::RemoteLimits;
use bevy_remote::http::RemoteHttpPlugin;
use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::mpsc::{self, Sender, TryRecvError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// How long anything may take.
pub const PATIENCE: Duration = Duration::from_secs(30);

type Task = Box<dyn FnOnce(&mut App) + Send>;

/// An app that runs in a thread, and listens.
pub struct Game {
    address: SocketAddr,
    tasks: Option<Sender<Task>>,
    thread: Option<JoinHandle<()>>,
}

/// An address of this machine at which nothing listens.
///
/// # Panics
/// If there is none.
pub fn free_address() -> SocketAddr {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    free.local_addr().expect("it has a number")
}

impl Game {
    /// Starts the small world, after something was done to it. What it answers depends on no clock, until its limits are replaced.
    ///
    /// # Panics
    /// If it does not listen.
    pub fn start(prepare: impl FnOnce(&mut World) + Send + 'static) -> Self {
        let address = free_address();
        let (tasks, received) = mpsc::channel::<Task>();
        let thread = thread::spawn(move || {
            let limits = RemoteLimits { watch_interval: Duration::from_millis(5), ..crate::patient() };
            let mut app = crate::app(limits);
            prepare(app.world_mut());
            app.add_plugins(RemoteHttpPlugin::default().with_port(address.port()));
            app.finish();
            app.cleanup();
            loop {
                match received.try_recv() {
                    Ok(task) => task(&mut app),
                    Err(TryRecvError::Empty) => {}
                    Err(TryRecvError::Disconnected) => return,
                }
                app.update();
                thread::sleep(Duration::from_millis(2));
            }
        });
        let start = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(start.elapsed() < PATIENCE, "the app does not listen");
            thread::sleep(Duration::from_millis(5));
        }
        Self { address, tasks: Some(tasks), thread: Some(thread) }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Does something in the app, between two frames.
    ///
    /// # Panics
    /// If the app has ended.
    pub fn run<T: Send + 'static>(&self, task: impl FnOnce(&mut World) -> T + Send + 'static) -> T {
        let (sender, receiver) = mpsc::channel();
        let task: Task = Box::new(move |app| sender.send(task(app.world_mut())).expect("it is waited for"));
        self.tasks.as_ref().expect("the app runs").send(task).expect("the app runs");
        receiver.recv_timeout(PATIENCE).expect("the app runs")
    }
}

impl Drop for Game {
    fn drop(&mut self) {
        self.tasks = None;
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(thread::panicking() || ended.is_none_or(|ended| ended.is_ok()), "the app has panicked");
    }
}
