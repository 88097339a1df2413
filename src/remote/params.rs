//! The names of methods, and what requests ask for.

use super::{error::RemoteError, limits::RemoteLimits};
use crate::{
    expr::NamedElement,
    fetch,
    id::Slot,
    ops::{entity_of_type_id, use_all_relations},
};
use bevy_ecs::{entity::Entity, world::World};
use core::fmt;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error, Visitor},
};
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    format,
    string::{String, ToString},
};

/// The method that lists relations, added by [`RelationsRemotePlugin`](super::RelationsRemotePlugin).
///
/// ```
/// # use bevy_app::prelude::*;
/// use bevy_relations::{prelude::*, remote::*};
/// use bevy_remote::{RemoteMethods, RemotePlugin};
///
/// let mut app = App::new();
/// app.add_plugins((RelationsPlugin, RemotePlugin::default(), RelationsRemotePlugin::default()));
/// # app.finish();
/// # app.update();
/// let known = app.world().resource::<RemoteMethods>().methods();
/// for method in [LIST_METHOD, PAIRS_METHOD, EXPLAIN_METHOD, WATCH_METHOD, INSERT_METHOD, REMOVE_METHOD, CHILDREN_METHOD, SEARCH_METHOD] {
///     assert!(known.iter().any(|known| known == method));
/// }
/// ```
pub const LIST_METHOD: &str = "relations.list";
/// The method for the pairs of an entity, added by [`RelationsRemotePlugin`](super::RelationsRemotePlugin).
pub const PAIRS_METHOD: &str = "relations.pairs";
/// The method for rows of an expression, added by [`RelationsRemotePlugin`](super::RelationsRemotePlugin).
///
/// A request from within the app, as a transport makes it:
///
/// ```
/// # use bevy_app::prelude::*;
/// # use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, remote::{QUERY_METHOD, RelationsRemotePlugin}};
/// use bevy_remote::{BrpMessage, BrpSender, RemotePlugin};
/// use serde_json::json;
///
/// # let mut app = App::new();
/// # app.add_plugins((RelationsPlugin, RemotePlugin::default(), RelationsRemotePlugin::default()));
/// # app.finish();
/// # app.update();
/// let fleet = app.world_mut().spawn(Name::new("Fleet")).id();
/// app.world_mut().spawn((Name::new("Kite"), ChildOf(fleet)));
///
/// let (sender, answer) = async_channel::bounded(1);
/// let params = Some(json!({ "expr": "(ChildOf, Fleet)" }));
/// app.world().resource::<BrpSender>().try_send(BrpMessage { method: QUERY_METHOD.into(), params, sender })?;
/// app.update();
/// assert_eq!(answer.try_recv()?.unwrap()["rows"][0]["this"], "Fleet.Kite");
/// # Ok::<(), BevyError>(())
/// ```
pub const QUERY_METHOD: &str = "relations.query";
/// The method for the plan of an expression, added by [`RelationsRemotePlugin`](super::RelationsRemotePlugin).
pub const EXPLAIN_METHOD: &str = "relations.explain";
/// The method that watches the rows of an expression, added by [`RelationsRemotePlugin`](super::RelationsRemotePlugin).
pub const WATCH_METHOD: &str = "relations.query+watch";
/// The method that inserts a pair, added by [`RelationsRemotePlugin`](super::RelationsRemotePlugin).
pub const INSERT_METHOD: &str = "relations.insert";
/// The method that removes pairs, added by [`RelationsRemotePlugin`](super::RelationsRemotePlugin).
pub const REMOVE_METHOD: &str = "relations.remove";

/// The method for the entities below another one, and for those at the top, added by [`RelationsRemotePlugin`](super::RelationsRemotePlugin).
pub const CHILDREN_METHOD: &str = "relations.children";
/// The method that searches entities by a part of their name, added by [`RelationsRemotePlugin`](super::RelationsRemotePlugin).
pub const SEARCH_METHOD: &str = "relations.search";

/// Reads the parameters of a request: an object, or nothing.
pub(super) fn read<P: DeserializeOwned>(params: Option<Value>) -> Result<P, RemoteError> {
    let params = match params {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(params @ Value::Object(_)) => params,
        Some(_) => return Err(RemoteError::Params("the parameters must be an object".into())),
    };
    serde_json::from_value(params).map_err(|error| RemoteError::Params(error.to_string()))
}

fn default_true() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListParams {
    #[serde(default)]
    pub(super) offset: usize,
    pub(super) limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PairsParams {
    pub(super) entity: EntityText,
    pub(super) direction: Option<WalkDirection>,
    pub(super) relation: Option<EntityText>,
    #[serde(default = "default_true")]
    pub(super) values: bool,
    #[serde(default)]
    pub(super) offset: usize,
    pub(super) limit: Option<usize>,
}

/// Which end of its pairs an entity is.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum WalkDirection {
    AsSource,
    AsTarget,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QueryParams {
    pub(super) expr: String,
    #[serde(default)]
    pub(super) vars: BTreeMap<String, EntityText>,
    #[serde(default = "default_true")]
    pub(super) values: bool,
    pub(super) steps: Option<u64>,
    pub(super) offset: Option<usize>,
    pub(super) cursor: Option<String>,
    pub(super) limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExplainParams {
    pub(super) expr: String,
    #[serde(default)]
    pub(super) vars: BTreeMap<String, EntityText>,
    pub(super) steps: Option<u64>,
    #[serde(default)]
    pub(super) run: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WatchParams {
    pub(super) expr: String,
    #[serde(default)]
    pub(super) vars: BTreeMap<String, EntityText>,
    #[serde(default = "default_true")]
    pub(super) values: bool,
    pub(super) steps: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InsertParams {
    pub(super) source: EntityText,
    pub(super) relation: EntityText,
    pub(super) target: EntityText,
    #[serde(default, deserialize_with = "given")]
    pub(super) value: Option<Value>,
}

/// `null` is a value, too.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RemoveParams {
    pub(super) source: EntityText,
    pub(super) relation: EntityText,
    pub(super) target: EntityText,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChildrenParams {
    pub(super) relation: Option<EntityText>,
    pub(super) parent: Option<EntityText>,
    pub(super) named: Option<bool>,
    #[serde(default)]
    pub(super) offset: usize,
    pub(super) limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchParams {
    pub(super) text: String,
    #[serde(default)]
    pub(super) offset: usize,
    pub(super) limit: Option<usize>,
}

/// What is named, as the element of a pair. `None` if it is a type without a living entity.
pub(super) fn known(world: &World, named: NamedElement) -> Option<Slot> {
    match named {
        NamedElement::Entity(entity) => Some(Slot::Entity(entity)),
        NamedElement::Type(type_id) => {
            let entity = fetch::store(world)?.registry().entity_of(type_id);
            entity.filter(|&entity| world.entities().contains_spawned(entity)).map(Slot::Entity)
        }
        NamedElement::Wildcard(slot) => Some(slot),
    }
}

/// The entity of what [`EntityText::find_one`] has found. A type gets its entity now if it has none: once all parameters are
/// found, since a request that is refused changes nothing.
pub(super) fn entity_of(world: &mut World, named: NamedElement) -> Entity {
    match named {
        NamedElement::Entity(entity) => entity,
        NamedElement::Type(type_id) => entity_of_type_id(world, type_id),
        NamedElement::Wildcard(_) => unreachable!("`find_one` finds no wildcard"),
    }
}

/// How a request names an entity: as an expression does.
pub(super) struct EntityText(String);

impl<'de> Deserialize<'de> for EntityText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Named;

        impl Visitor<'_> for Named {
            type Value = EntityText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an entity, by its name or its bits")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<EntityText, E> {
                Ok(EntityText(text.into()))
            }

            fn visit_u64<E: Error>(self, bits: u64) -> Result<EntityText, E> {
                Ok(EntityText(format!("#{bits}")))
            }
        }

        deserializer.deserialize_any(Named)
    }
}

impl EntityText {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// What is named, as the element of a pair; the children of `scope` come first. A type may have no entity yet.
    pub(super) fn find(
        &self,
        world: &mut World,
        param: &str,
        scope: Option<Entity>,
    ) -> Result<NamedElement, RemoteError> {
        use_all_relations(world);
        let named = NamedElement::find(world, &self.0, scope);
        named.map_err(|error| RemoteError::Name { param: param.into(), error })
    }

    /// [`find`](Self::find), but for wildcards. See [`entity_of`].
    pub(super) fn find_one(
        &self,
        world: &mut World,
        param: &str,
        scope: Option<Entity>,
    ) -> Result<NamedElement, RemoteError> {
        match self.find(world, param, scope)? {
            NamedElement::Wildcard(_) => {
                Err(RemoteError::Params(format!("`{param}` must be one entity, not a wildcard")))
            }
            named => Ok(named),
        }
    }
}

/// How many rows a request asks for.
pub(super) fn rows(limit: Option<usize>, limits: &RemoteLimits) -> Result<usize, RemoteError> {
    match limit {
        None => Ok(limits.rows.max(1)),
        Some(0) => Err(RemoteError::Params("`limit` must be at least 1".into())),
        Some(limit) if limit > limits.rows.max(1) => {
            Err(RemoteError::TooLarge { what: "`limit`", limit: limits.rows.max(1) as u64 })
        }
        Some(limit) => Ok(limit),
    }
}

/// How many steps a request may take.
pub(super) fn steps(steps: Option<u64>, limits: &RemoteLimits) -> Result<u64, RemoteError> {
    match steps {
        None => Ok(limits.steps),
        Some(steps) if steps > limits.steps => {
            Err(RemoteError::TooLarge { what: "`steps`", limit: limits.steps })
        }
        Some(steps) => Ok(steps),
    }
}
