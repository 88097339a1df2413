//! Why a request is refused.

use crate::expr::{ExprError, ExprErrorKind, ExprRunError, PageError};
use crate::ops::InsertPairError;
use crate::world::ReflectPairError;
use bevy_remote::{BrpError, error_codes as bevy_codes};
use serde_json::{Value, json};
use std::{
    format,
    string::{String, ToString},
};

/// Codes of errors beside those of `bevy_remote`.
///
/// Of the latter, the methods use `INVALID_PARAMS` for malformed requests, and `ENTITY_NOT_FOUND` for an entity that is dead or
/// was never there.
///
/// ```
/// # use bevy_app::prelude::*;
/// # use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, remote::{INSERT_METHOD, RelationsRemotePlugin, error_codes}};
/// use bevy_remote::{BrpMessage, BrpSender, RemotePlugin};
/// use serde_json::json;
///
/// # let mut app = App::new();
/// # app.add_plugins((RelationsPlugin, RemotePlugin::default(), RelationsRemotePlugin::default()));
/// # app.finish();
/// # app.update();
/// app.world_mut().spawn_relation("PartOf", RelationTraits::new().acyclic())?;
/// app.world_mut().spawn(Name::new("Kite"));
///
/// let (sender, answer) = async_channel::bounded(1);
/// let params = Some(json!({ "source": "Kite", "relation": "PartOf", "target": "Kite" }));
/// app.world().resource::<BrpSender>().try_send(BrpMessage { method: INSERT_METHOD.into(), params, sender })?;
/// app.update();
/// assert_eq!(answer.try_recv()?.unwrap_err().code, error_codes::REFUSED);
/// # Ok::<(), BevyError>(())
/// ```
pub mod error_codes {
    /// A pair is refused by the rules of its relation, or by its value.
    pub const REFUSED: i16 = -23601;
    /// The request asks for more than [`RemoteLimits`](crate::remote::RemoteLimits) allow, or takes more steps.
    pub const LIMIT: i16 = -23602;
    /// The rows before a cursor have changed.
    pub const CHANGED: i16 = -23603;
}

/// Why a request is refused.
#[derive(Debug)]
pub(super) enum RemoteError {
    /// The parameters are not those of the method.
    Params(String),
    /// An expression is wrong.
    Expr(ExprError),
    /// A parameter names no entity.
    Name { param: String, error: ExprError },
    /// An expression could not be run.
    Run(ExprRunError),
    /// Its rows before a cursor have changed.
    Changed(PageError),
    /// The cursor is none, or that of another expression.
    Cursor,
    /// A pair is refused.
    Pair(InsertPairError),
    /// The value of a pair is none.
    Value(String),
    /// The pair carries a value of a type whose fields are not known in the world yet.
    UnknownFields { param: &'static str, name: String },
    /// Something is more than is allowed.
    TooLarge { what: &'static str, limit: u64 },
    /// A result cannot be written as JSON.
    Unwritten(String),
    /// A request to watch was not received as a message.
    NotReceived,
}

impl From<ExprError> for RemoteError {
    fn from(error: ExprError) -> Self {
        Self::Expr(error)
    }
}

impl From<ExprRunError> for RemoteError {
    fn from(error: ExprRunError) -> Self {
        Self::Run(error)
    }
}

impl From<PageError> for RemoteError {
    fn from(error: PageError) -> Self {
        match error {
            PageError::Run(error) => Self::Run(error),
            PageError::OtherExpression => Self::Cursor,
            error @ PageError::Changed { .. } => Self::Changed(error),
        }
    }
}

impl From<ReflectPairError> for RemoteError {
    fn from(error: ReflectPairError) -> Self {
        match error {
            ReflectPairError::Insert(error) => Self::Pair(error),
            error => Self::Value(error.to_string()),
        }
    }
}

impl RemoteError {
    fn code(&self) -> i16 {
        match self {
            Self::Expr(error) if error.kind() == ExprErrorKind::Limit => error_codes::LIMIT,
            Self::Params(_) | Self::Expr(_) | Self::Cursor => bevy_codes::INVALID_PARAMS,
            Self::Name { error, .. } => match error.kind() {
                ExprErrorKind::UnknownName => bevy_codes::ENTITY_NOT_FOUND,
                _ => bevy_codes::INVALID_PARAMS,
            },
            Self::Run(ExprRunError::StepLimit { .. }) | Self::TooLarge { .. } => error_codes::LIMIT,
            Self::Run(ExprRunError::DeadEntity { .. }) => bevy_codes::ENTITY_NOT_FOUND,
            Self::Run(ExprRunError::UnknownVariable { .. }) => bevy_codes::INVALID_PARAMS,
            Self::Changed(_) => error_codes::CHANGED,
            Self::Pair(InsertPairError::Dead { .. }) => bevy_codes::ENTITY_NOT_FOUND,
            Self::Pair(_) | Self::Value(_) | Self::UnknownFields { .. } => error_codes::REFUSED,
            Self::Run(_) | Self::Unwritten(_) | Self::NotReceived => bevy_codes::INTERNAL_ERROR,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Params(message) | Self::Value(message) | Self::Unwritten(message) => message.clone(),
            Self::Expr(error) => error.to_string(),
            Self::Name { param, error } => format!("`{param}`: {error}"),
            Self::Run(error) => error.to_string(),
            Self::Changed(error) => error.to_string(),
            Self::Cursor => "the cursor is not one of this expression".into(),
            Self::Pair(error) => error.to_string(),
            Self::UnknownFields { param, name } => format!(
                "`{param}`: pairs with {name} carry its values, which the world must know first: the program has to call `world.entity_of` with the type once, or `register_relation`"
            ),
            Self::TooLarge { what, limit } => format!("{what} must be at most {limit}"),
            Self::NotReceived => "a request to watch must come through the mailbox of `bevy_remote`".into(),
        }
    }

    /// What programs can recognise the error by.
    fn data(&self) -> Value {
        match self {
            Self::Params(_) => json!({ "reason": "Params" }),
            Self::Expr(error) => place("expr", error),
            Self::Name { param, error } => place(param, error),
            Self::Run(ExprRunError::StepLimit { limit }) => json!({ "reason": "StepLimit", "limit": limit }),
            Self::Run(ExprRunError::UnknownVariable { name }) => {
                json!({ "reason": "UnknownVariable", "param": "vars", "variable": name })
            }
            Self::Run(ExprRunError::DeadEntity { name, .. }) => {
                json!({ "reason": "DeadEntity", "param": "vars", "variable": name })
            }
            Self::Run(_) => json!({ "reason": "Run" }),
            Self::Changed(_) => json!({ "reason": "Changed" }),
            Self::Cursor => json!({ "reason": "Cursor", "param": "cursor" }),
            Self::Pair(error) => json!({ "reason": reason(error) }),
            Self::Value(_) => json!({ "reason": "Value", "param": "value" }),
            Self::UnknownFields { param, .. } => json!({ "reason": "UnknownFields", "param": param }),
            Self::TooLarge { limit, .. } => json!({ "reason": "TooLarge", "limit": limit }),
            Self::Unwritten(_) => json!({ "reason": "Unwritten" }),
            Self::NotReceived => json!({ "reason": "NotReceived" }),
        }
    }
}

impl From<RemoteError> for BrpError {
    fn from(error: RemoteError) -> Self {
        Self { code: error.code(), message: error.message(), data: Some(error.data()) }
    }
}

/// Where a text is wrong, and how.
fn place(param: &str, error: &ExprError) -> Value {
    let range = error.range();
    json!({
        "reason": format!("{:?}", error.kind()),
        "param": param,
        "line": error.line(),
        "column": error.column(),
        "start": range.start,
        "end": range.end,
        "found": error.found(),
        "message": error.message(),
        "suggestion": error.suggestion(),
        "help": error.help(),
    })
}

/// The rule that a pair breaks, in a word.
fn reason(error: &InsertPairError) -> &'static str {
    match error {
        InsertPairError::Dead { .. } => "Dead",
        InsertPairError::Wildcard { .. } => "Wildcard",
        InsertPairError::Cycle { .. } => "Cycle",
        InsertPairError::Final { .. } => "Final",
        InsertPairError::InsidePrefab { .. } => "InsidePrefab",
        InsertPairError::NotOneOf { .. } => "NotOneOf",
        InsertPairError::WrongValueType { .. } => "WrongValueType",
        InsertPairError::UnexpectedValue { .. } => "UnexpectedValue",
        InsertPairError::MissingValue { .. } => "MissingValue",
        InsertPairError::Refused { .. } => "Refused",
        InsertPairError::Exclusive { .. } => "Exclusive",
        InsertPairError::Constraint(_) => "Constraint",
        InsertPairError::SameKey { .. } => "SameKey",
        InsertPairError::SelfReference { .. } => "SelfReference",
        InsertPairError::TwoValueTypes { .. } => "TwoValueTypes",
        InsertPairError::ValuesRemoved { .. } => "ValuesRemoved",
        InsertPairError::StoreRemoved { .. } => "StoreRemoved",
        InsertPairError::Traits(_) => "Traits",
    }
}
