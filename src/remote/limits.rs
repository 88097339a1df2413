//! What requests may cost.

use bevy_ecs::{resource::Resource, world::World};
use bevy_platform::time::Instant;
use core::time::Duration;

/// What requests may cost. A resource: it may be changed while the app runs.
///
/// In the book: [Querying a running app](crate::book::remote).
///
/// ```
/// # use bevy_app::prelude::*;
/// # use bevy_relations::{prelude::*, remote::{RelationsRemotePlugin, RemoteLimits}};
/// # use bevy_remote::RemotePlugin;
/// let limits = RemoteLimits { rows: 100, ..RemoteLimits::default() };
/// let mut app = App::new();
/// app.add_plugins((RelationsPlugin, RemotePlugin::default(), RelationsRemotePlugin { limits }));
/// ```
#[derive(Resource, Clone, PartialEq, Eq, Debug)]
pub struct RemoteLimits {
    /// The steps of one evaluation of an expression, see
    /// [`set_step_limit`](crate::expr::CompiledExpr::set_step_limit). A request may ask for fewer.
    pub steps: u64,
    /// The terms of an expression.
    pub terms: usize,
    /// The rows, pairs or relations of a page, the rows that a client watches, and the pairs that a request removes.
    pub rows: usize,
    /// The entities that a page of `relations.children` or `relations.search` looks at.
    pub scanned: usize,
    /// The size of a result as JSON, in bytes. A page ends before it is larger.
    pub bytes: usize,
    /// How many requests are handed to their methods in a frame. Others wait.
    pub requests_per_frame: usize,
    /// How many streams of watched rows there may be at a time.
    pub watches: usize,
    /// How often watched rows are brought up to date, at most.
    pub watch_interval: Duration,
    /// The time that pages take in a frame. A page ends when it is used up, or would be by one more entry as long as the longest.
    /// One entry at least is written, if there is one; the others come with the page that the client asks for next.
    pub page_time: Duration,
    /// The time in a frame after which no further watched rows are brought up to date or written. Others wait, and come first
    /// in the next.
    pub watch_time: Duration,
}

impl Default for RemoteLimits {
    fn default() -> Self {
        Self {
            steps: 200_000,
            terms: 64,
            rows: 1000,
            scanned: 10_000,
            bytes: 1 << 20,
            requests_per_frame: 8,
            watches: 16,
            watch_interval: Duration::from_millis(100),
            page_time: Duration::from_micros(500),
            watch_time: Duration::from_micros(500),
        }
    }
}

/// The limits that hold now.
pub(super) fn limits_of(world: &World) -> RemoteLimits {
    world.get_resource::<RemoteLimits>().cloned().unwrap_or_default()
}

/// When something has to end; `None` if that is never.
#[derive(Resource, Clone, Copy, Default)]
pub(super) struct Deadline(Option<Instant>);

impl Deadline {
    pub(super) fn after(time: Duration) -> Self {
        Self(Instant::now().checked_add(time))
    }

    /// When pages have to end in this frame.
    pub(super) fn of_pages(world: &World) -> Self {
        world.get_resource().copied().unwrap_or_default()
    }

    pub(super) fn is_over(self) -> bool {
        self.is_over_at(Instant::now())
    }

    pub(super) fn is_over_at(self, time: Instant) -> bool {
        self.0.is_some_and(|end| time >= end)
    }
}
