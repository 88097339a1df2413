//! Watching the rows of expressions.
//!
//! `bevy_remote` calls the method of a watching request in each frame with the parameters alone, so that a method cannot
//! distinguish two requests with the same parameters, nor detect that a client is gone. Therefore requests to watch rows are
//! taken out of its mailbox before it looks into it. Each keeps a live expression and its own way to answer.

use super::{
    error::RemoteError,
    json::ResultWriter,
    limits::{Deadline, RemoteLimits, limits_of},
    params::{self, WATCH_METHOD, WatchParams},
    read,
};
use crate::{
    expr::{ExprRunError, Row, VarId},
    live::LiveExpr,
};
use async_channel::{Receiver, Sender};
use bevy_ecs::{entity::Entity, resource::Resource, world::World};
use bevy_platform::time::Instant;
use bevy_remote::{BrpMessage, BrpReceiver, BrpResult};
use serde::Serialize;
use serde_json::Value;
use std::{
    borrow::ToOwned,
    collections::VecDeque,
    string::{String, ToString},
    vec::Vec,
};

/// The requests that are being answered, and where further ones come from.
#[derive(Resource, Default)]
pub(super) struct Watches {
    mailbox: Option<Mailbox>,
    /// Those that have waited longest first.
    active: VecDeque<Watch>,
}

/// Stands between the transports and the methods of `bevy_remote`.
struct Mailbox {
    incoming: Receiver<BrpMessage>,
    /// To the methods.
    passed_on: Sender<BrpMessage>,
    /// Where the methods get them.
    taken: Receiver<BrpMessage>,
}

/// A request to watch rows.
struct Watch {
    sender: Sender<BrpResult>,
    expr: LiveExpr,
    /// Rows are left out in which these differ.
    vars: Vec<(VarId, Entity)>,
    values: bool,
    /// Number of rows that the client has.
    rows: usize,
    /// How many rows have left or entered with the last update.
    moved: usize,
    /// How many of them were sent: those that have left come first.
    sent: usize,
    /// When it was brought up to date last.
    updated: Option<Instant>,
}

/// A message to a client that watches.
#[derive(Serialize)]
struct MovedMessage {
    /// In the first message.
    #[serde(skip_serializing_if = "Option::is_none")]
    variables: Option<Vec<String>>,
    entered: Vec<Value>,
    left: Vec<Value>,
}

/// Receives requests: starts watching, and hands the others on.
pub(super) fn receive(world: &mut World) {
    let limits = limits_of(world);
    if let Some(mut deadline) = world.get_resource_mut::<Deadline>() {
        *deadline = Deadline::after(limits.page_time);
    }
    intercept_messages(world);
    let most = limits.requests_per_frame.max(1);
    for _ in 0..most {
        let Some(mailbox) = world.get_resource::<Watches>().and_then(|watches| watches.mailbox.as_ref())
        else {
            return;
        };
        // What the methods have not looked at yet comes first.
        if mailbox.passed_on.len() >= most {
            return;
        }
        let Ok(message) = mailbox.incoming.try_recv() else { return };
        if message.method != WATCH_METHOD {
            // The other end is kept.
            let _ = mailbox.passed_on.try_send(message);
            continue;
        }
        let BrpMessage { params, sender, .. } = message;
        match start(world, &limits, params, sender.clone()) {
            Ok(watch) => world.get_resource_or_init::<Watches>().active.push_back(watch),
            Err(error) => answer(&sender, Err(error)),
        }
    }
}

/// Has transports send to this module, and the methods receive from it.
fn intercept_messages(world: &mut World) {
    let Some(receiver) = world.get_resource::<BrpReceiver>() else { return };
    let mailbox = world.get_resource::<Watches>().and_then(|watches| watches.mailbox.as_ref());
    if mailbox.is_some_and(|mailbox| mailbox.taken.same_channel(receiver)) {
        return;
    }
    let incoming: Receiver<BrpMessage> = Receiver::clone(receiver);
    let (passed_on, taken) = async_channel::unbounded();
    world.get_resource_or_init::<Watches>().mailbox =
        Some(Mailbox { incoming, passed_on, taken: taken.clone() });
    if let Some(mut receiver) = world.get_resource_mut::<BrpReceiver>() {
        **receiver = taken;
    }
}

/// Answers a client, which may be gone by now.
fn answer(sender: &Sender<BrpResult>, result: Result<Value, RemoteError>) {
    let _ = sender.try_send(result.map_err(Into::into));
}

fn start(
    world: &mut World,
    limits: &RemoteLimits,
    params: Option<Value>,
    sender: Sender<BrpResult>,
) -> Result<Watch, RemoteError> {
    let params: WatchParams = params::read(params)?;
    let mut watches = world.get_resource_or_init::<Watches>();
    watches.active.retain(|watch| !watch.sender.is_closed());
    if watches.active.len() >= limits.watches {
        return Err(RemoteError::TooLarge { what: "the number of watches", limit: limits.watches as u64 });
    }
    let steps = params::steps(params.steps, limits)?;
    let mut expr = read::parse(&params.expr, limits)?.live(world)?;
    expr.set_step_limit(Some(steps));
    expr.track_moves();
    let vars = read::vars(world, &params.vars)?.into_iter().map(|(name, entity)| {
        let unknown = || ExprRunError::UnknownVariable { name: name.clone() };
        Ok((expr.var_id(&name).ok_or_else(unknown)?, entity))
    });
    let vars = vars.collect::<Result<_, RemoteError>>()?;
    Ok(Watch { sender, expr, vars, values: params.values, rows: 0, moved: 0, sent: 0, updated: None })
}

/// Brings watched rows up to date, those that have waited longest first, until the time of the frame is used up.
pub(super) fn update(world: &mut World) {
    let waiting = world.get_resource::<Watches>().map_or(0, |watches| watches.active.len());
    if waiting == 0 {
        return;
    }
    let limits = limits_of(world);
    let deadline = Deadline::after(limits.watch_time);
    for _ in 0..waiting {
        // One is taken out at a time: observers of others run meanwhile, and if one panics, that ends one watch.
        let mut watches = world.get_resource_or_init::<Watches>();
        let Some(mut watch) = watches.active.pop_front() else { return };
        if watch.answer(world, &limits, deadline) {
            world.get_resource_or_init::<Watches>().active.push_back(watch);
        }
        if deadline.is_over() {
            return;
        }
    }
}

impl Watch {
    /// Sends what has changed, if it is time to. False if the watch has ended.
    fn answer(&mut self, world: &mut World, limits: &RemoteLimits, deadline: Deadline) -> bool {
        if self.sender.is_closed() {
            return false;
        }
        let now = Instant::now();
        let is_due = self.sent < self.moved
            || self.updated.is_none_or(|updated| now - updated >= limits.watch_interval);
        // A client that does not read gets all changes at once when it does.
        if !is_due || self.sender.is_full() {
            return true;
        }
        let updated = if self.sent < self.moved { Ok(false) } else { self.update(world, limits, now) };
        match updated.and_then(|is_first| self.send(world, limits, deadline, is_first)) {
            Ok(message) => message.into_iter().for_each(|message| answer(&self.sender, Ok(message))),
            Err(error) => {
                answer(&self.sender, Err(error));
                return false;
            }
        }
        true
    }

    /// Brings the rows up to date. Returns whether nothing was sent yet.
    fn update(
        &mut self,
        world: &mut World,
        limits: &RemoteLimits,
        now: Instant,
    ) -> Result<bool, RemoteError> {
        self.expr.update(world)?;
        let is_first = self.updated.replace(now).is_none();
        let left = self.expr.left(world)?.filter(|row| self.is_requested(row)).count();
        let entered = self.expr.entered(world)?.filter(|row| self.is_requested(row)).count();
        let rows = self.rows.saturating_sub(left) + entered;
        if rows > limits.rows {
            return Err(RemoteError::TooLarge { what: "the number of rows", limit: limits.rows as u64 });
        }
        (self.rows, self.sent, self.moved) = (rows, 0, left + entered);
        Ok(is_first)
    }

    /// Writes a message with rows that were not sent yet, until the time or the bytes of one are used up.
    fn send(
        &mut self,
        world: &World,
        limits: &RemoteLimits,
        deadline: Deadline,
        is_first: bool,
    ) -> Result<Option<Value>, RemoteError> {
        if !is_first && self.sent == self.moved {
            return Ok(None);
        }
        let types = read::types_of(world);
        let types = types.read();
        let mut writer = ResultWriter::until(world, &types, limits, deadline);
        let (left, entered) = (self.expr.left(world)?, self.expr.entered(world)?);
        let moved = left.map(|row| (row, false)).chain(entered.map(|row| (row, true)));
        let (mut left, mut entered) = (Vec::new(), Vec::new());
        let mut sent = self.sent;
        for (row, has_entered) in moved.filter(|(row, _)| self.is_requested(row)).skip(self.sent) {
            let written = if has_entered { writer.row(row, self.values)? } else { writer.gone_row(row)? };
            let Some(written) = written else { break };
            if has_entered {
                entered.push(written);
            } else {
                left.push(written);
            }
            sent += 1;
        }
        let variables = is_first.then(|| self.expr.variables().map(ToOwned::to_owned).collect());
        self.sent = sent;
        let message = serde_json::to_value(MovedMessage { variables, entered, left });
        message.map(Some).map_err(|error| RemoteError::Unwritten(error.to_string()))
    }

    /// Whether the client asked for this row.
    fn is_requested(&self, row: &Row<'_>) -> bool {
        self.vars.iter().all(|&(var, entity)| row.var_by_id(var) == Some(entity))
    }
}
