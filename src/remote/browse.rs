//! Methods to look around in a world: a relation as a tree, and a search by name.

use super::{
    error::RemoteError,
    json::ResultWriter,
    limits::RemoteLimits,
    params::{self, ChildrenParams, SearchParams, WalkDirection},
    read::{CountedPage, PairsAt, types_of},
};
use crate::{
    expr::{ExprRunError, bits},
    fetch,
    ops::use_all_relations,
    world::WorldPairExt,
};
use bevy_ecs::{
    archetype::{Archetype, ArchetypeEntity},
    component::ComponentId,
    entity::Entity,
    hierarchy::ChildOf,
    name::Name,
    world::World,
};
use core::any::TypeId;
use serde::Serialize;
use serde_json::Value;
use std::{
    string::{String, ToString},
    vec::Vec,
};

/// The clock is read once per this many entities.
const SCANNED_AT_ONCE: usize = 256;

/// Names of components that show what an entity without a name is.
const MAX_COMPONENTS: usize = 4;

/// An entity in a list.
#[derive(Serialize)]
struct ListedEntity<'w> {
    /// As expressions name it.
    name: String,
    /// Its bits.
    entity: String,
    /// Its own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'w str>,
    /// The first of its components, if it has no name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    components: Vec<String>,
    /// The number of entities below it.
    children: usize,
}

impl<'w> ListedEntity<'w> {
    fn new(writer: &ResultWriter<'w>, entity: Entity, relation: Entity) -> Self {
        let world = writer.world;
        let label = world.get::<Name>(entity).map(Name::as_str);
        let components = if label.is_some() { Vec::new() } else { components(world, entity) };
        let children = world.pairs_by_id(relation).source_count(entity);
        Self { name: writer.names().entity(entity), entity: bits(entity), label, components, children }
    }
}

fn components(world: &World, entity: Entity) -> Vec<String> {
    let Ok(entity) = world.get_entity(entity) else { return Vec::new() };
    let components = entity.archetype().iter_components().take(MAX_COMPONENTS);
    let infos = components.filter_map(|component| world.components().get_info(component));
    infos.map(|info| info.name().shortname().to_string()).collect()
}

/// A page of a list that is not counted.
#[derive(Serialize)]
pub(super) struct ScannedPage {
    entities: Vec<Value>,
    /// Where the next page starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<usize>,
}

/// What `relations.children` answers with.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ChildrenPage {
    Below(CountedPage<Value>),
    Top(ScannedPage),
}

pub(super) fn children(
    world: &mut World,
    limits: &RemoteLimits,
    params: ChildrenParams,
) -> Result<ChildrenPage, RemoteError> {
    let limit = params::rows(params.limit, limits)?;
    use_all_relations(world);
    if params.parent.is_some() && params.named.is_some() {
        return Err(RemoteError::Params(
            "`named` is for entities at the top: it goes without `parent`".into(),
        ));
    }
    let relation = params.relation.map(|relation| relation.find_one(world, "relation", None)).transpose()?;
    let parent = params.parent.map(|parent| parent.find_one(world, "parent", None)).transpose()?;
    let relation = match relation {
        Some(relation) => params::entity_of(world, relation),
        None => child_of(world)?,
    };
    let parent = parent.map(|parent| params::entity_of(world, parent));
    let types = types_of(world);
    let types = types.read();
    let mut writer = ResultWriter::new(world, &types, limits);
    let Some(parent) = parent else {
        let scan = Scan::new(world, limits, params.offset, limit);
        let name = world.components().component_id::<Name>();
        // Where a component keeps the pair, all entities that have it are below another.
        let store = fetch::store(world);
        let entry =
            store.and_then(|store| Some(store.registry().entry(store.registry().of_entity(relation)?)));
        let keeps_pair = entry.and_then(|entry| entry.adopted).map(|adopted| adopted.component);
        let page = scan.run(
            &mut writer,
            relation,
            |archetype| {
                !has(archetype, keeps_pair) && params.named.is_none_or(|named| named == has(archetype, name))
            },
            |entity| world.pairs_by_id(relation).target_count(entity) == 0,
        )?;
        return Ok(ChildrenPage::Top(page));
    };
    let below = PairsAt::new(world, parent, WalkDirection::AsTarget, Some(relation));
    let mut written = Vec::new();
    for [child, ..] in below.from(params.offset).take(limit) {
        match writer.part(|writer| ListedEntity::new(writer, child, relation))? {
            Some(part) => written.push(part),
            None => break,
        }
    }
    Ok(ChildrenPage::Below(CountedPage::new("entities", written, params.offset, below.total())))
}

pub(super) fn search(
    world: &mut World,
    limits: &RemoteLimits,
    params: SearchParams,
) -> Result<ScannedPage, RemoteError> {
    let limit = params::rows(params.limit, limits)?;
    use_all_relations(world);
    let types = types_of(world);
    let types = types.read();
    let mut writer = ResultWriter::new(world, &types, limits);
    let wanted = params.text.to_lowercase();
    let name = world.components().component_id::<Name>();
    let relation = child_of(world)?;
    Scan::new(world, limits, params.offset, limit).run(
        &mut writer,
        relation,
        |archetype| has(archetype, name),
        |entity| world.get::<Name>(entity).is_some_and(|name| name.to_lowercase().contains(&wanted)),
    )
}

/// The entity of the relation `ChildOf`.
fn child_of(world: &World) -> Result<Entity, RemoteError> {
    let entity = fetch::store(world).and_then(|store| store.registry().entity_of(TypeId::of::<ChildOf>()));
    entity.ok_or_else(|| ExprRunError::NoPairs.into())
}

fn has(archetype: &Archetype, component: Option<ComponentId>) -> bool {
    component.is_some_and(|component| archetype.contains(component))
}

/// A walk through the entities of a world, archetype by archetype.
struct Scan<'w> {
    world: &'w World,
    /// Where it starts.
    offset: usize,
    /// How many entities it lists.
    limit: usize,
    /// How many entities it looks at.
    scanned: usize,
}

impl<'w> Scan<'w> {
    fn new(world: &'w World, limits: &RemoteLimits, offset: usize, limit: usize) -> Self {
        Self { world, offset, limit, scanned: limits.scanned.max(1) }
    }

    /// Lists the entities that are wanted, of the archetypes that are searched.
    fn run(
        self,
        writer: &mut ResultWriter<'_>,
        relation: Entity,
        is_searched: impl Fn(&Archetype) -> bool,
        is_wanted: impl Fn(Entity) -> bool,
    ) -> Result<ScannedPage, RemoteError> {
        let mut entities = Vec::new();
        // Number of entities in the archetypes before.
        let mut before = 0;
        let mut looked: usize = 0;
        for archetype in self.world.archetypes().iter() {
            let first = self.offset.saturating_sub(before);
            let start = before;
            before += archetype.len() as usize;
            if first >= archetype.len() as usize || !is_searched(archetype) {
                continue;
            }
            let found = archetype.entities().iter().map(ArchetypeEntity::id).enumerate().skip(first);
            for (index, entity) in found {
                let is_late = looked > 0 && looked.is_multiple_of(SCANNED_AT_ONCE) && writer.is_late();
                if looked == self.scanned || entities.len() == self.limit || is_late {
                    return Ok(ScannedPage { entities, next: Some(start + index) });
                }
                looked += 1;
                if !is_wanted(entity) {
                    continue;
                }
                match writer.part(|writer| ListedEntity::new(writer, entity, relation))? {
                    Some(part) => entities.push(part),
                    None => return Ok(ScannedPage { entities, next: Some(start + index) }),
                }
            }
        }
        Ok(ScannedPage { entities, next: None })
    }
}
