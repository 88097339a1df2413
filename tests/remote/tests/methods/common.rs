//! Calling methods.

use bevy_app::App;
use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;
pub(crate) use bevy_relations::remote::{RemoteLimits, error_codes};
pub(crate) use bevy_relations_remote::patient;
pub(crate) use bevy_remote::error_codes as bevy_codes;
use bevy_remote::{BrpError, BrpMessage, BrpResult, BrpSender, RemoteMethodSystemId, RemoteMethods};
pub(crate) use serde_json::{Value, json};

/// The app of this package, after its first frame.
pub(crate) fn app() -> App {
    app_with(patient())
}

pub(crate) fn app_with(limits: RemoteLimits) -> App {
    let mut app = bevy_relations_remote::app(limits);
    app.finish();
    app.cleanup();
    app.update();
    app
}

/// Calls a method that answers at once.
pub(crate) fn call(app: &mut App, method: &str, params: Value) -> BrpResult {
    let world = app.world_mut();
    let id = *world.resource::<RemoteMethods>().get(method).expect("the method is registered");
    let RemoteMethodSystemId::Instant(id) = id else { panic!("{method} watches") };
    world.run_system_with(id, Some(params)).expect("a method is a system")
}

/// What a method refuses; nothing has changed then.
#[track_caller]
pub(crate) fn refused(app: &mut App, method: &str, params: Value) -> BrpError {
    let before = state(app);
    let shown = params.to_string();
    let error = call(app, method, params).expect_err(&shown);
    assert_eq!(state(app), before, "{shown}");
    app.world().check_pairs().unwrap();
    error
}

/// Code, reason and message of an error.
#[track_caller]
pub(crate) fn reason(error: &BrpError) -> (i16, &str) {
    let data = error.data.as_ref().expect("an error has data");
    (error.code, data["reason"].as_str().expect("a reason"))
}

/// Every pair with its value, every entity with its components, and how many there are with those without a name.
pub(crate) fn state(app: &mut App) -> Vec<String> {
    let world = app.world_mut();
    let mut state: Vec<String> = world
        .any_pairs()
        .iter()
        .map(|(source, relation, target)| {
            let value = world.pair_value_by_id::<bevy_relations_remote::Carries>(source, (relation, target));
            format!("{source} {relation} {target} {value:?}")
        })
        .collect();
    let mut entities = world.query::<(EntityRef, &Name)>();
    state.extend(
        entities
            .iter(world)
            .map(|(entity, name)| format!("{} {name} {:?}", entity.id(), entity.archetype().components())),
    );
    state.sort();
    state.push(format!("{} entities", world.entities().count_spawned()));
    state.push(format!("{} relations", world.any_pairs().relations().count()));
    state
}

pub(crate) fn entity(app: &App, path: &str) -> Entity {
    app.world().lookup(path).unwrap()
}

pub(crate) fn bits(entity: Entity) -> String {
    format!("#{}", entity.to_bits())
}

/// `this` of each row.
pub(crate) fn names(rows: &Value) -> Vec<&str> {
    let mut names: Vec<&str> =
        rows.as_array().expect("rows").iter().map(|row| row["this"].as_str().unwrap_or("")).collect();
    names.sort_unstable();
    names
}

/// A client that watches.
pub(crate) struct Client(async_channel::Receiver<BrpResult>);

impl Client {
    /// Sends a request as a transport does.
    pub(crate) fn send(app: &mut App, method: &str, params: Value) -> Self {
        let (sender, receiver) = async_channel::bounded(8);
        let message = BrpMessage { method: method.into(), params: Some(params), sender };
        app.world().resource::<BrpSender>().try_send(message).expect("there is room in the mailbox");
        Self(receiver)
    }

    pub(crate) fn watch(app: &mut App, params: Value) -> Self {
        Self::send(app, "relations.query+watch", params)
    }

    /// What has come, if anything.
    pub(crate) fn received(&self) -> Option<BrpResult> {
        self.0.try_recv().ok()
    }

    /// Whether something has come that was not looked at.
    pub(crate) fn has_message(&self) -> bool {
        !self.0.is_empty()
    }

    /// What has come, which is no error.
    #[track_caller]
    pub(crate) fn message(&self) -> Value {
        self.received().expect("a message has come").expect("it is no error")
    }

    #[track_caller]
    pub(crate) fn error(&self) -> BrpError {
        self.received().expect("a message has come").expect_err("it is an error")
    }

    /// Nothing has come, and nothing will.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.0.try_recv(), Err(async_channel::TryRecvError::Closed))
    }
}
