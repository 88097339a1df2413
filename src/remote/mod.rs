//! Relations over Bevy's remote protocol: methods for tools outside of the app.
//!
//! [`RelationsRemotePlugin`] adds these methods to `bevy_remote`, which receives requests over HTTP or another transport:
//!
//! | method | parameters, those with `?` may be left out | result |
//! |---|---|---|
//! | `relations.list` | `offset?`, `limit?` | the relations: names, traits, numbers of pairs |
//! | `relations.pairs` | `entity`, `direction?` (`"as_source"` or `"as_target"`), `relation?`, `values?`, `offset?`, `limit?` | the pairs of an entity |
//! | `relations.query` | `expr`, `vars?`, `values?`, `steps?`, `offset?` or `cursor?`, `limit?` | rows of an [expression](crate::expr::PairExpr) |
//! | `relations.explain` | `expr`, `vars?`, `steps?`, `run?` | the plan of an expression, in words |
//! | `relations.query+watch` | `expr`, `vars?`, `values?`, `steps?` | a stream of the rows that enter and leave |
//! | `relations.insert` | `source`, `relation`, `target`, `value?` | the three, and whether the pair was there |
//! | `relations.remove` | `source`, `relation`, `target`, of which the last two may be `"*"` | the number of removed pairs |
//! | `relations.children` | `parent?`, `relation?`, `named?`, `offset?`, `limit?` | the entities below an entity, or those at the top |
//! | `relations.search` | `text`, `offset?`, `limit?` | the entities whose name contains a text, in any case |
//!
//! ```
//! # use bevy_app::prelude::*;
//! # use bevy_relations::{prelude::*, remote::RelationsRemotePlugin};
//! # use bevy_remote::RemotePlugin;
//! let mut app = App::new();
//! app.add_plugins((RelationsPlugin, RemotePlugin::default(), RelationsRemotePlugin::default()));
//! // With its feature `http`, `bevy_remote` has a `RemoteHttpPlugin`, which listens on port 15702 of this machine.
//! ```
//!
//! # Names
//!
//! An entity is named as in an expression: by its path (`"Sol.Earth"`), by its type, or as `"#123"` by the bits of
//! [`Entity::to_bits`](bevy_ecs::entity::Entity::to_bits); a number is read as these bits, too. Results have names that
//! can be put into requests. Beside them, `entities` has the bits, which stay the same when an entity is renamed.
//!
//! # Rows
//!
//! A row is written as [`RowSerializer`](crate::expr::RowSerializer) does, with `entities` added: `this`, if the row is
//! about an entity, and each variable. `values: false` leaves the values of fields out. A row of which the values cannot
//! be written, or take too many bytes, has `values_error` in their place.
//!
//! A page that is not the last has `next`, a cursor; with that as `cursor`, the next request goes on where this one ended.
//! If the rows before it have changed meanwhile, that is an error, see [`page`](crate::expr::CompiledExpr::page).
//!
//! Pages of all methods can have fewer entries than `limit` and still a `next`: they end when they have taken
//! [`page_time`](RemoteLimits::page_time), so that no frame takes long.
//!
//! # Browsing
//!
//! `relations.children` lists the sources of the pairs `(relation, parent)`, each with the number of those below it; the
//! relation is `ChildOf` unless another one is given. Without a `parent` it lists the entities that have no target in the
//! relation, with `named` only those that have a `Name`, or only those that have none.
//!
//! For entities at the top, and for `relations.search`, `offset` and `next` count entities that were looked at, of which a
//! request looks at a limited number: a page can be empty and still have a `next`. The order is that of Bevy's archetypes. An
//! entity that gets or loses a component between two requests may be listed twice or left out.
//!
//! # Watching
//!
//! The first messages of a stream have all rows as `entered`, each later one those that have come since, and as `left`
//! those that are gone, each by its `entities` alone. Many rows come in several messages, frame by frame. A row is the same as long as `$this` and its variables are, also
//! those without a name: a wildcard makes rows that cannot be distinguished by their `entities`. A stream ends with the
//! first error. If its client does not read, changes wait.
//!
//! # Limits
//!
//! A request that is malformed, refused, or asks for more than [`RemoteLimits`] allow gets an error, and has changed
//! nothing. Its `data` has the `reason` in a word, and, if a text in the request is wrong, the parameter and the place in
//! it. Codes are those of `bevy_remote`, and those of [`error_codes`].
//!
//! The methods let a client read and change the world. `bevy_remote` listens on this machine alone unless it is configured
//! otherwise, and does not authenticate clients.

mod browse;
mod change;
mod error;
mod json;
mod limits;
mod params;
mod read;
mod watch;

pub use error::error_codes;
pub use limits::RemoteLimits;
pub use params::{
    CHILDREN_METHOD, EXPLAIN_METHOD, INSERT_METHOD, LIST_METHOD, PAIRS_METHOD, QUERY_METHOD, REMOVE_METHOD,
    SEARCH_METHOD, WATCH_METHOD,
};

use crate::ops::use_all_relations;
use bevy_app::{App, Plugin};
use bevy_ecs::{schedule::IntoScheduleConfigs, system::In, world::World};
use bevy_remote::{BrpResult, RemoteLast, RemoteMethodSystemId, RemoteMethods, RemoteSystems};
use error::RemoteError;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::string::ToString;

/// Adds the [methods for relations](self) to `bevy_remote`.
///
/// It goes with [`RelationsPlugin`](crate::RelationsPlugin) and `bevy_remote`'s `RemotePlugin`, in any order.
///
/// Requests may be about any relation, so that an [index](crate::RelationsPlugin) of children is kept.
///
/// In the book: [Querying a running app](crate::book::remote).
///
/// # Panics
/// If the app is started without a `RemotePlugin`.
#[derive(Clone, Default, Debug)]
pub struct RelationsRemotePlugin {
    /// What requests may cost.
    pub limits: RemoteLimits,
}

impl Plugin for RelationsRemotePlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(self.limits.clone())
            .init_resource::<limits::Deadline>()
            .init_resource::<watch::Watches>()
            .add_systems(
                RemoteLast,
                (watch::receive, watch::update).chain().before(RemoteSystems::ProcessRequests),
            );
        if app.world().contains_resource::<RemoteMethods>() {
            add_methods(app.world_mut());
        }
    }

    fn finish(&self, app: &mut App) {
        let methods = app.world().get_resource::<RemoteMethods>();
        let methods = methods.unwrap_or_else(|| {
            panic!("`RelationsRemotePlugin` adds methods to those of `bevy_remote::RemotePlugin`: add that as well")
        });
        if methods.get(LIST_METHOD).is_none() {
            add_methods(app.world_mut());
        }
    }
}

fn add_methods(world: &mut World) {
    // Now and not with the first request, since one that is refused changes nothing.
    use_all_relations(world);
    add_method(world, LIST_METHOD, read::list);
    add_method(world, PAIRS_METHOD, read::pairs);
    add_method(world, QUERY_METHOD, read::query);
    add_method(world, EXPLAIN_METHOD, read::explain);
    add_method(world, CHILDREN_METHOD, browse::children);
    add_method(world, SEARCH_METHOD, browse::search);
    add_method(world, INSERT_METHOD, change::insert);
    add_method(world, REMOVE_METHOD, change::remove);
    // Clients can see that it is there. What they send is received before methods are called, see `watch`.
    let unreceived =
        |In(_): In<Option<Value>>| -> BrpResult<Option<Value>> { Err(RemoteError::NotReceived.into()) };
    let id = world.register_system(unreceived);
    world.resource_mut::<RemoteMethods>().insert(WATCH_METHOD, RemoteMethodSystemId::Watching(id));
}

fn add_method<P: DeserializeOwned + 'static, A: Serialize + 'static>(
    world: &mut World,
    name: &'static str,
    run: fn(&mut World, &RemoteLimits, P) -> Result<A, RemoteError>,
) {
    let system = move |In(params): In<Option<Value>>, world: &mut World| -> BrpResult {
        let limits = limits::limits_of(world);
        let answer = params::read(params).and_then(|params| run(world, &limits, params))?;
        serde_json::to_value(answer).map_err(|error| RemoteError::Unwritten(error.to_string()).into())
    };
    let id = world.register_system(system);
    world.resource_mut::<RemoteMethods>().insert(name, RemoteMethodSystemId::Instant(id));
}
