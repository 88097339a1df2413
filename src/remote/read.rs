//! Methods that read: relations, the pairs of an entity, rows of expressions, plans.

use super::{
    error::RemoteError,
    json::ResultWriter,
    limits::RemoteLimits,
    params::{self, EntityText, ExplainParams, ListParams, PairsParams, QueryParams, WalkDirection},
};
use crate::{
    expr::{CompiledExpr, ExprRunError, PageStart, PairExpr, RowCursor, WorldAccess, WrittenNames, bits},
    fetch,
    ops::use_all_relations,
    relation::ErasedColumn,
    system_param::AnyPairs,
    traverse::RelationView,
    world::WorldPairExt,
};
use bevy_ecs::{entity::Entity, reflect::AppTypeRegistry, world::World};
use core::ops::ControlFlow;
use serde::Serialize;
use serde_json::Value;
use std::{
    borrow::ToOwned,
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
    use_all_relations(world);
    let types = types_of(world);
    let types = types.read();
    let mut writer = ResultWriter::new(world, &types, limits);
    let Some(store) = fetch::store(world) else { return Err(ExprRunError::NoPairs.into()) };
    let registry = store.registry();
    let mut written = Vec::new();
    for id in registry.ids().skip(params.offset).take(limit) {
        let (entry, view) = (registry.entry(id), world.pairs_by_id(registry.entry(id).entity));
        let listed = |writer: &ResultWriter<'_>| ListedRelation {
            relation: writer.names().entity(entry.entity),
            entity: bits(entry.entity),
            name: entry.name().to_string(),
            traits: entry.traits.to_string(),
            value: entry.data.map(ErasedColumn::value_name),
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
    let entity = params.entity.find_one(world, "entity", None)?;
    let relation = params.relation.map(|relation| relation.find_one(world, "relation", None)).transpose()?;
    let entity = params::entity_of(world, entity);
    let relation = relation.map(|relation| params::entity_of(world, relation));
    let types = types_of(world);
    let types = types.read();
    // Each direction has a share of its own: a page without an entry would lead to itself.
    let share =
        RemoteLimits { bytes: limits.bytes / if params.direction.is_none() { 2 } else { 1 }, ..*limits };
    let page = |direction| -> Result<Option<CountedPage<Value>>, RemoteError> {
        if params.direction.is_some_and(|wanted| wanted != direction) {
            return Ok(None);
        }
        let mut writer = ResultWriter::new(world, &types, &share);
        let key = match direction {
            WalkDirection::AsSource => "target",
            WalkDirection::AsTarget => "source",
        };
        let found = PairsAt::new(world, entity, direction, relation);
        let mut written = Vec::new();
        for pair in found.from(params.offset).take(limit) {
            match writer.pair(pair, key, params.values)? {
                Some(pair) => written.push(pair),
                None => break,
            }
        }
        Ok(Some(CountedPage::new("pairs", written, params.offset, found.total())))
    };
    let (as_source, as_target) = (page(WalkDirection::AsSource)?, page(WalkDirection::AsTarget)?);
    let name = WrittenNames::new(world, &types).entity(entity);
    Ok(PairsOfEntity { entity: bits(entity), name, as_source, as_target })
}

/// The pairs of which an entity is one end, of one relation or of all.
#[derive(Clone, Copy)]
pub(super) struct PairsAt<'w> {
    pairs: AnyPairs<'w, 'w>,
    entity: Entity,
    direction: WalkDirection,
    relation: Option<Entity>,
}

impl<'w> PairsAt<'w> {
    pub(super) fn new(
        world: &'w World,
        entity: Entity,
        direction: WalkDirection,
        relation: Option<Entity>,
    ) -> Self {
        Self { pairs: world.any_pairs(), entity, direction, relation }
    }

    /// The relations, each with the number of its pairs.
    fn counts(self) -> impl Iterator<Item = (Entity, RelationView<'w, 'w>, usize)> {
        let Self { pairs, entity, direction, relation } = self;
        let all = relation.is_none().then(|| pairs.relations_of(entity));
        relation.into_iter().chain(all.into_iter().flatten()).map(move |relation| {
            let view = pairs.relation(relation);
            let count = match direction {
                WalkDirection::AsSource => view.target_count(entity),
                WalkDirection::AsTarget => view.source_count(entity),
            };
            (relation, view, count)
        })
    }

    pub(super) fn total(self) -> usize {
        self.counts().map(|(.., count)| count).sum()
    }

    /// The pairs behind so many, as source, relation and target. Those before are not walked through: it takes
    /// O(relations).
    pub(super) fn from(self, offset: usize) -> impl Iterator<Item = [Entity; 3]> + use<'w> {
        let Self { entity, direction, .. } = self;
        let mut left = offset;
        self.counts().flat_map(move |(relation, view, count)| {
            let skipped = left.min(count);
            left -= skipped;
            let (mut targets, mut sources) = (None, None);
            match direction {
                WalkDirection::AsSource => targets = Some(view.targets(entity)),
                WalkDirection::AsTarget => sources = Some(view.sources(entity)),
            }
            let targets = targets.into_iter().flat_map(move |targets| targets.skip(skipped));
            let sources = sources.into_iter().flat_map(move |sources| sources.skip(skipped));
            let as_source = targets.map(move |target| [entity, relation, target]);
            as_source.chain(sources.map(move |source| [source, relation, entity]))
        })
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
    let find = |(name, entity): (&String, &EntityText)| {
        Ok((name.clone(), entity.find_one(world, &format!("vars.{name}"), None)?))
    };
    let found = given.iter().map(find).collect::<Result<Vec<_>, RemoteError>>()?;
    Ok(found.into_iter().map(|(name, named)| (name, params::entity_of(world, named))).collect())
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
    let mut writer = ResultWriter::new(world, &types, limits);
    let (mut rows, mut failed) = (Vec::new(), None);
    let next = expr.page_while(WorldAccess::World(world), start, limit, |row| {
        match writer.row(row, params.values) {
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
    let written = ResultWriter::new(world, &types.read(), limits).part(|_| explained)?;
    // The first part is written, or is an error.
    Ok(written.unwrap_or_default())
}

/// The types that are registered.
pub(super) fn types_of(world: &World) -> AppTypeRegistry {
    world.get_resource::<AppTypeRegistry>().cloned().unwrap_or_default()
}
