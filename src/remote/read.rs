//! Methods that read: relations, the pairs of an entity, rows of expressions, plans.

use super::{
    error::RemoteError,
    json::{NoRoom, ResultWriter},
    limits::RemoteLimits,
    params::{self, Direction, EntityText, ExplainParams, ListParams, PairsParams, QueryParams},
};
use crate::{
    expr::{CompiledExpr, PageStart, PairExpr, RowCursor, WorldAccess, bits},
    fetch,
    id::{PairId, Slot},
    ops::use_store,
    world::WorldPairExt,
};
use bevy_ecs::{entity::Entity, reflect::AppTypeRegistry, world::World};
use core::ops::ControlFlow;
use serde::Serialize;
use serde_json::Value;
use std::{
    borrow::ToOwned,
    boxed::Box,
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};

/// A page of a list that can be counted.
#[derive(Serialize)]
pub(super) struct CountedPage<T> {
    #[serde(flatten)]
    list: BTreeMap<&'static str, Vec<T>>,
    total: usize,
    /// The offset of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<usize>,
}

impl<T> CountedPage<T> {
    pub(super) fn new(key: &'static str, list: Vec<T>, offset: usize, total: usize) -> Self {
        let end = offset.saturating_add(list.len());
        Self { list: BTreeMap::from([(key, list)]), total, next: (end < total).then_some(end) }
    }
}

#[derive(Serialize)]
struct ListedRelation {
    /// As expressions name it.
    relation: String,
    /// Its bits.
    entity: String,
    /// As messages name it.
    name: String,
    traits: String,
    /// The type of the values of its pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'static str>,
    pairs: usize,
    /// Counts changes of its pairs.
    version: u64,
}

pub(super) fn list(
    world: &mut World,
    limits: &RemoteLimits,
    params: ListParams,
) -> Result<CountedPage<Value>, RemoteError> {
    let limit = params::rows(params.limit, limits)?;
    use_store(world);
    let types = types_of(world);
    let types = types.read();
    let mut writer = ResultWriter::new(world, &types, limits.bytes);
    let names = writer.names();
    let Some(store) = fetch::store(world) else { return Err(crate::expr::ExprRunError::NoPairs.into()) };
    let registry = store.registry();
    let mut written = Vec::new();
    for id in registry.ids().skip(params.offset).take(limit) {
        let (entry, view) = (registry.entry(id), world.pairs_by_id(registry.entry(id).entity));
        let listed = ListedRelation {
            relation: names.entity(entry.entity),
            entity: bits(entry.entity),
            name: entry.name().to_string(),
            traits: entry.traits.to_string(),
            value: entry.data.map(crate::relation::ErasedColumn::value_name),
            pairs: view.len(),
            version: view.version(),
        };
        match writer.part(listed)? {
            Some(part) => written.push(part),
            None => break,
        }
    }
    Ok(CountedPage::new("relations", written, params.offset, registry.ids().count()))
}

#[derive(Serialize)]
pub(super) struct PairsOfEntity {
    entity: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    as_source: Option<CountedPage<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    as_target: Option<CountedPage<Value>>,
}

pub(super) fn pairs(
    world: &mut World,
    limits: &RemoteLimits,
    params: PairsParams,
) -> Result<PairsOfEntity, RemoteError> {
    let limit = params::rows(params.limit, limits)?;
    let entity = params.entity.entity(world, "entity", None)?;
    let relation = params.relation.as_ref().map(|relation| relation.entity(world, "relation", None));
    let relation = relation.transpose()?;
    let types = types_of(world);
    let types = types.read();
    let mut writer = ResultWriter::new(world, &types, limits.bytes);
    let mut page = |direction| -> Result<Option<CountedPage<Value>>, RemoteError> {
        if params.direction.is_some_and(|wanted| wanted != direction) {
            return Ok(None);
        }
        let (key, found, total) = match direction {
            Direction::AsSource => {
                ("target", pairs_of(world, entity, relation), total_of(world, entity, relation))
            }
            Direction::AsTarget => {
                ("source", pairs_to(world, entity, relation), total_to(world, entity, relation))
            }
        };
        let mut written = Vec::new();
        for pair in found.skip(params.offset).take(limit) {
            match writer.pair(pair, key, params.values)? {
                Some(pair) => written.push(pair),
                None => break,
            }
        }
        Ok(Some(CountedPage::new("pairs", written, params.offset, total)))
    };
    let (as_source, as_target) = (page(Direction::AsSource)?, page(Direction::AsTarget)?);
    Ok(PairsOfEntity { entity: bits(entity), name: writer.names().entity(entity), as_source, as_target })
}

/// The pairs of which an entity is the source.
fn pairs_of(
    world: &World,
    entity: Entity,
    relation: Option<Entity>,
) -> Box<dyn Iterator<Item = [Entity; 3]> + '_> {
    let pair = PairId::from((relation.map_or(Slot::Wildcard, Slot::Entity), Slot::Wildcard));
    let found = world.any_pairs().matching(entity, pair);
    Box::new(found.map(move |(relation, target)| [entity, relation, target]))
}

/// The pairs of which an entity is the target.
pub(super) fn pairs_to(
    world: &World,
    entity: Entity,
    relation: Option<Entity>,
) -> Box<dyn Iterator<Item = [Entity; 3]> + '_> {
    let pair = PairId::from((relation.map_or(Slot::Wildcard, Slot::Entity), Slot::Entity(entity)));
    let found = world.any_pairs().iter_matching(pair);
    Box::new(found.map(|(source, relation, target)| [source, relation, target]))
}

fn total_of(world: &World, entity: Entity, relation: Option<Entity>) -> usize {
    match relation {
        Some(relation) => world.pairs_by_id(relation).target_count(entity),
        None => world.any_pairs().target_count(entity),
    }
}

pub(super) fn total_to(world: &World, entity: Entity, relation: Option<Entity>) -> usize {
    match relation {
        Some(relation) => world.pairs_by_id(relation).source_count(entity),
        None => world.any_pairs().source_count(entity),
    }
}

/// Reads an expression of not too many terms.
pub(super) fn parse(text: &str, limits: &RemoteLimits) -> Result<PairExpr, RemoteError> {
    let expr = PairExpr::parse(text)?;
    if expr.term_count() > limits.terms {
        return Err(RemoteError::TooLarge { what: "the number of terms", limit: limits.terms as u64 });
    }
    Ok(expr)
}

/// The entities that variables are set to.
pub(super) fn vars(
    world: &mut World,
    given: &BTreeMap<String, EntityText>,
) -> Result<Vec<(String, Entity)>, RemoteError> {
    let resolve = |(name, entity): (&String, &EntityText)| {
        Ok((name.clone(), entity.entity(world, &format!("vars.{name}"), None)?))
    };
    given.iter().map(resolve).collect()
}

fn compile(
    world: &mut World,
    limits: &RemoteLimits,
    text: &str,
    given: &BTreeMap<String, EntityText>,
    steps: Option<u64>,
) -> Result<CompiledExpr, RemoteError> {
    let steps = params::steps(steps, limits)?;
    let mut expr = parse(text, limits)?.compile(world)?;
    expr.set_step_limit(Some(steps));
    for (name, entity) in vars(world, given)? {
        expr.set_var(world, &name, entity)?;
    }
    Ok(expr)
}

#[derive(Serialize)]
pub(super) struct RowPage {
    variables: Vec<String>,
    rows: Vec<Value>,
    /// Where the next page starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

pub(super) fn query(
    world: &mut World,
    limits: &RemoteLimits,
    params: QueryParams,
) -> Result<RowPage, RemoteError> {
    let limit = params::rows(params.limit, limits)?;
    let start = match (params.offset, &params.cursor) {
        (Some(_), Some(_)) => {
            return Err(RemoteError::Params(
                "a page starts at an `offset` or at a `cursor`, not both".into(),
            ));
        }
        (offset, None) => PageStart::Offset(offset.unwrap_or(0)),
        (None, Some(text)) => PageStart::Cursor(RowCursor::from_text(text).ok_or(RemoteError::Cursor)?),
    };
    let mut expr = compile(world, limits, &params.expr, &params.vars, params.steps)?;
    let variables = expr.variables().map(ToOwned::to_owned).collect();
    let types = types_of(world);
    let types = types.read();
    let mut writer = ResultWriter::new(world, &types, limits.bytes);
    let (mut rows, mut failed) = (Vec::new(), None);
    let next = expr.page_while(WorldAccess::World(world), start, limit, |row| {
        match writer.row(row, params.values, NoRoom::End) {
            Ok(Some(row)) => {
                rows.push(row);
                return ControlFlow::Continue(());
            }
            Ok(None) => {}
            Err(error) => failed = Some(error),
        }
        ControlFlow::Break(())
    })?;
    match failed {
        Some(error) => Err(error),
        None => Ok(RowPage { variables, rows, next: next.map(|cursor| cursor.to_text()) }),
    }
}

#[derive(Serialize)]
struct Explained {
    variables: Vec<String>,
    /// An operator a line.
    plan: String,
    /// Number of rows, if it was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<usize>,
}

pub(super) fn explain(
    world: &mut World,
    limits: &RemoteLimits,
    params: ExplainParams,
) -> Result<Value, RemoteError> {
    let mut expr = compile(world, limits, &params.expr, &params.vars, params.steps)?;
    let mut rows = None;
    if params.run {
        let mut count = 0;
        expr.for_each(world, |_| count += 1)?;
        rows = Some(count);
    }
    let explained = Explained {
        variables: expr.variables().map(ToOwned::to_owned).collect(),
        plan: expr.explain(world)?,
        rows,
    };
    let types = types_of(world);
    let written = ResultWriter::new(world, &types.read(), limits.bytes).part(explained)?;
    // The first part is written, or is an error.
    Ok(written.unwrap_or_default())
}

/// The types that are registered.
pub(super) fn types_of(world: &World) -> AppTypeRegistry {
    world.get_resource::<AppTypeRegistry>().cloned().unwrap_or_default()
}
