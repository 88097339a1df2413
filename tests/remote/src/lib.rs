//! A small world behind Bevy's remote protocol, to be asked by tools. The tests are in `tests`.
//!
//! It is a package of its own, since `bevy_remote` brings much of Bevy along: the first build takes some minutes, and
//! needs Debian's `libasound2-dev`, or the like of it.

pub mod game;

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_reflect::Reflect;
use bevy_relations::{
    prelude::*,
    relation::{PairContext, PairRefusal},
    remote::{RelationsRemotePlugin, RemoteLimits},
};
use bevy_remote::RemotePlugin;
use std::time::Duration;

/// A ship has docked to at most one port.
#[derive(Relation, Reflect, Default)]
#[relation(exclusive)]
pub struct DockedTo;

/// Friends.
#[derive(Relation, Reflect, Default)]
pub struct Likes;

/// How much of something is on board.
#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
pub struct Carries {
    /// In tons.
    pub tons: f32,
    /// The one that gets it.
    pub buyer: Option<Entity>,
}

/// A part of something larger.
#[derive(Relation, Reflect, Default)]
#[relation(traversable)]
pub struct PartOf;

/// Of at most a hundred.
#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(validate = at_most_a_hundred)]
pub struct Trusts {
    /// Percent.
    pub percent: u8,
}

fn at_most_a_hundred(trusts: &mut Trusts, _: &PairContext<'_>) -> Result<(), PairRefusal> {
    if trusts.percent > 100 { Err(PairRefusal::new("more than everything")) } else { Ok(()) }
}

/// Can be docked to.
#[derive(Component, Reflect, Default)]
#[reflect(Component)]
pub struct Planet {
    /// Number of people.
    pub people: u64,
}

/// Can dock.
#[derive(Component, Reflect, Default)]
#[reflect(Component)]
pub struct Ship;

/// What was noted on the way.
#[derive(Component, Reflect, Default)]
#[reflect(Component)]
pub struct Log(pub String);

/// Limits that depend on no clock: in an unoptimised build, those by default end pages early.
pub fn patient() -> RemoteLimits {
    RemoteLimits { page_time: Duration::MAX, watch_time: Duration::MAX, ..RemoteLimits::default() }
}

/// An app with `Sol`, its planets, and ships that have docked. It listens to nothing yet.
pub fn app(limits: RemoteLimits) -> App {
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), RelationsPlugin, RemotePlugin::default()));
    app.add_plugins(RelationsRemotePlugin { limits });
    app.register_type::<Planet>()
        .register_type::<Ship>()
        .register_type::<Log>()
        .register_type::<Carries>()
        .register_type::<Trusts>();
    app.register_relation::<DockedTo>().register_relation::<Likes>().register_relation::<Carries>();
    app.register_relation::<PartOf>().register_relation::<Trusts>();
    let world = app.world_mut();
    let sol = world.spawn(Name::new("Sol")).id();
    let earth = world.spawn((Name::new("Earth"), Planet { people: 8_000_000_000 }, ChildOf(sol))).id();
    world.spawn((Name::new("Mars"), Planet { people: 4 }, ChildOf(sol)));
    let kite = world.spawn((Name::new("Kite"), Ship, Pair(DockedTo, earth))).id();
    let swan = world.spawn((Name::new("Swan"), Ship, Pair(Likes, kite))).id();
    let carries = Carries { tons: 2.5, buyer: Some(swan) };
    world.insert_pair(kite, carries, earth).expect("there are no rules for it");
    app
}
