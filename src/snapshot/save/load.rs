//! Loading a save.

use super::{
    error::{LoadError, SavedPlace},
    format::SaveFormat,
    names::{Names, with_names},
    prefabs::Prefabs,
    saved::{SaveId, SavedEntity, SavedPairs, SavedRelation},
    values,
};
use crate::{
    expr::type_with_unknown_fields,
    fetch::{self, AllEntities},
    id::{RelationId, StoredPair},
    mirror,
    ops::{
        AttemptedPair, InsertPairError, Operation, Restoration, WantedPairs, WantedValue, ensure_store,
        entity_of_type_id, relation_id_of, use_all_relations,
    },
    relation::{CHILD_OF, ColumnRef},
    snapshot::{apply::AppliedPairs, made::Made, pairs::NO_INDEX},
    store::PairStore,
};
use alloc::{
    boxed::Box,
    format,
    string::{String, ToString},
    vec::Vec,
};
use bevy_ecs::{
    entity::{Entity, EntityHashMap, EntityHashSet, EntityMapper},
    name::Name,
    reflect::AppTypeRegistry,
    world::World,
};
use bevy_platform::collections::{HashMap, HashSet};
use bevy_reflect::TypeRegistration;

/// What [`SavedPairs::load`] has done.
///
/// In the book: [Saves and scenes](crate::book::saves).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{prelude::*, snapshot::*};
/// # let mut world = World::new();
/// let likes = world.spawn_relation("Likes", RelationTraits::new())?;
/// let [ann, ben] = [1, 2].map(|id| world.spawn(SaveId(id)).id());
/// world.insert_pair_by_id(ann, (likes, ben))?;
/// let saved = PairSnapshot::take(&mut world, PairFilter::all())?.to_saved(&world)?;
///
/// world.despawn(ben);
/// let LoadedPairs { entities, spawned, applied, .. } = saved.load(&mut world)?;
/// assert!(entities.contains(&ann) && spawned.len() == 1 && applied.inserted == 1);
/// assert!(world.has_pair_by_id(ann, (likes, spawned[0])));
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadedPairs {
    /// The entities of the world that those of the save stand for, by their number in it.
    pub entities: Vec<Entity>,
    /// Those of them that were spawned.
    pub spawned: Vec<Entity>,
    /// What has changed of the pairs.
    pub applied: AppliedPairs,
}

impl SavedPairs {
    /// Makes the pairs of the saved entities those of the save, for the relations in it: missing pairs are inserted,
    /// others removed.
    ///
    /// A saved entity is the entity of the world with the same [`SaveId`]. If there is none, an entity is spawned with
    /// that `SaveId` and the saved `Name`. So loading a save again changes only what differs and spawns nothing twice.
    /// [`load_with`](Self::load_with) finds entities in another way.
    ///
    /// A save of an older version is [migrated](super::WorldSaveExt::set_save_version) first.
    ///
    /// # Errors
    /// The first mistake, with its place in the save. Then no pair has changed, and spawned entities are despawned
    /// again.
    pub fn load(self, world: &mut World) -> Result<LoadedPairs, LoadError> {
        let mut known = HashMap::<u64, Entity>::default();
        let mut ids = world.query_filtered::<(Entity, &SaveId), AllEntities>();
        for (entity, &SaveId(id)) in ids.iter(world) {
            if known.insert(id, entity).is_some() {
                return Err(LoadError::SameId { id });
            }
        }
        self.load_with(world, |_, _, saved| match saved {
            SavedEntity::Entity { id, .. } => known.get(id).copied(),
            _ => None,
        })
    }

    /// [`load`](Self::load) with a function from the number of a saved entity to the entity of the world. If it returns
    /// `None`, an entity is spawned. It is not called for the entities of types and relations.
    ///
    /// ```
    /// # use bevy_app::prelude::*;
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{prelude::*, snapshot::*};
    /// # let mut app = App::new();
    /// # app.add_plugins(RelationsPlugin);
    /// # let world = app.world_mut();
    /// let likes = world.spawn_relation("Likes", RelationTraits::new())?;
    /// let [ann, ben] = ["Ann", "Ben"].map(|name| world.spawn(Name::new(name)).id());
    /// world.insert_pair_by_id(ann, (likes, ben))?;
    /// let saved = PairSnapshot::take(world, PairFilter::all())?.to_saved(world)?;
    /// world.clear_pairs();
    /// // By their names, which are unique here.
    /// let loaded = saved.load_with(world, |world, _number, entity| match entity {
    ///     SavedEntity::Entity { name: Some(name), .. } => world.lookup_unique(name).ok(),
    ///     _ => None,
    /// })?;
    /// assert!(loaded.spawned.is_empty() && world.has_pair_by_id(ann, (likes, ben)));
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_with(
        mut self,
        world: &mut World,
        mut find: impl FnMut(&World, usize, &SavedEntity) -> Option<Entity>,
    ) -> Result<LoadedPairs, LoadError> {
        ensure_store(world);
        self.migrate(world)?;
        self.check()?;
        let slots = self.register_slots(world)?;
        self.leave_out_unknown(world)?;
        let mut map = EntityHashMap::default();
        let mut made = Made::new(world, &mut map);
        made.relations.extend(slots);
        let loaded = self
            .relations(made.world)
            .and_then(|_| self.find_entities(made.world, &mut find, &mut made.spawned))
            .and_then(|entities| Ok((self.apply(made.world, &entities)?, entities)));
        let spawned = made.finish(loaded.is_ok());
        let (applied, entities) = loaded?;
        Ok(LoadedPairs { entities, spawned, applied })
    }

    fn migrate(&mut self, world: &World) -> Result<(), LoadError> {
        let format = world.get_resource::<SaveFormat>().cloned().unwrap_or_default();
        let found = self.version;
        if found > format.version {
            return Err(LoadError::TooNew { found, supported: format.version });
        }
        if let Some(migrate) = format.migrate.filter(|_| found < format.version) {
            migrate(self, found)
                .map_err(|error| LoadError::Migration { found, reason: error.to_string() })?;
        }
        self.version = format.version;
        let names = self.relations.iter_mut().map(|relation| &mut relation.name);
        let entities = self.entities.iter_mut().filter_map(|entity| match entity {
            SavedEntity::Relation(name) => Some(name),
            _ => None,
        });
        for name in names.chain(entities) {
            // Aliases in a circle lead nowhere.
            for _ in 0..format.aliases.len() {
                let Some(now) = format.aliases.get(name) else { break };
                name.clone_from(now);
            }
        }
        Ok(())
    }

    /// Makes relations of the slots whose pairs are in the save, as the first instance of their prefab would. Returns them.
    fn register_slots(&self, world: &mut World) -> Result<EntityHashSet, LoadError> {
        let of_entities = self.entities.iter().filter_map(|entity| match entity {
            SavedEntity::Relation(name) => Some(name),
            _ => None,
        });
        let names = self.relations.iter().map(|relation| &relation.name).chain(of_entities);
        let slots: EntityHashSet =
            with_names(world, |known| names.filter_map(|name| known.new_slot(name).transpose()).collect())?;
        for &slot in &slots {
            // It may have died: observers of the marker are users' code. Then there is no such relation.
            let _ = relation_id_of(world, slot);
        }
        Ok(slots)
    }

    /// Leaves out relations without pairs that are not found in this world: there is nothing to remove, or it is not known of which.
    fn leave_out_unknown(&mut self, world: &mut World) -> Result<(), LoadError> {
        with_names(world, |names| {
            self.relations
                .retain(|relation| !relation.pairs.is_empty() || names.relation(&relation.name).is_ok());
            Ok(())
        })
    }

    /// Checks what can be checked without a world.
    fn check(&self) -> Result<(), LoadError> {
        let count = self.entities.len();
        let mut ids = HashSet::new();
        for entity in &self.entities {
            if let SavedEntity::Entity { id, .. } = *entity
                && !ids.insert(id)
            {
                return Err(LoadError::SameId { id });
            }
        }
        let exists = |entity: u32| (entity as usize) < count;
        if let Some(&entity) = self.sources.iter().flatten().find(|&&entity| !exists(entity)) {
            return Err(LoadError::NoSuchSource { entity, count });
        }
        let sources: Option<HashSet<u32>> = self.sources.as_ref().map(|all| all.iter().copied().collect());
        let mut names = HashSet::new();
        for relation in &self.relations {
            if !names.insert(&relation.name) {
                return Err(LoadError::RelationTwice { relation: relation.name.clone() });
            }
            relation.check(count, sources.as_ref())?;
        }
        Ok(())
    }

    /// The relations that are listed.
    fn relations(&self, world: &mut World) -> Result<Vec<RelationId>, LoadError> {
        let ids = self.find_relations(world)?;
        if ids.contains(&CHILD_OF) && ensure_store(world).lacks_children() {
            use_all_relations(world);
            // That runs users' code: the store may be another.
            return self.find_relations(world);
        }
        Ok(ids)
    }

    fn find_relations(&self, world: &mut World) -> Result<Vec<RelationId>, LoadError> {
        with_names(world, |names| {
            let mut ids = Vec::with_capacity(self.relations.len());
            for relation in &self.relations {
                let id = names.relation(&relation.name)?;
                let entry = names.store.registry().entry(id);
                if entry.traits.is_transient() {
                    return Err(LoadError::Transient { relation: relation.name.clone() });
                }
                // By its path, and by its name.
                if ids.contains(&id) {
                    return Err(LoadError::RelationTwice { relation: relation.name.clone() });
                }
                ids.push(id);
            }
            Ok(ids)
        })
    }

    /// The entities of the world, by their number in the save.
    fn find_entities(
        &self,
        world: &mut World,
        find: &mut impl FnMut(&World, usize, &SavedEntity) -> Option<Entity>,
        spawned: &mut Vec<Entity>,
    ) -> Result<Vec<Entity>, LoadError> {
        let mut entities = Vec::with_capacity(self.entities.len());
        let mut numbers = EntityHashMap::<usize>::default();
        let mut prefabs = None;
        for (number, saved) in self.entities.iter().enumerate() {
            let entity = match saved {
                SavedEntity::Entity { id, name } => match find(world, number, saved) {
                    Some(found) => found,
                    None => {
                        let mut new = world.spawn(SaveId(*id));
                        if let Some(name) = name {
                            new.insert(Name::new(name.clone()));
                        }
                        let new = new.id();
                        spawned.push(new);
                        new
                    }
                },
                SavedEntity::Relation(name) => with_names(world, |names| {
                    names.relation(name).map(|id| names.store.registry().entry(id).entity)
                })?,
                SavedEntity::Prefab(path) => {
                    let prefabs = prefabs.get_or_insert_with(|| Prefabs::of(world));
                    match *prefabs.at(path) {
                        [found] => found,
                        ref all => {
                            let (path, count) = (path.clone(), all.len());
                            return Err(LoadError::Prefab { entity: number, path, count });
                        }
                    }
                }
                SavedEntity::Type(path) => {
                    let types = world.get_resource::<AppTypeRegistry>().map(|types| types.0.clone());
                    let types = types.as_ref().map(|types| types.read());
                    let found = types.as_ref().and_then(|types| types.get_with_type_path(path));
                    let unknown = || LoadError::UnknownType { entity: number, path: path.clone() };
                    let type_id = found.map(TypeRegistration::type_id).ok_or_else(unknown)?;
                    drop(types);
                    entity_of_type_id(world, type_id)
                }
            };
            if let Some(first) = numbers.insert(entity, number) {
                return Err(LoadError::SameEntity { first, second: number });
            }
            entities.push(entity);
        }
        Ok(entities)
    }

    fn apply(&mut self, world: &mut World, entities: &[Entity]) -> Result<AppliedPairs, LoadError> {
        // Once more: observers of what was spawned may have done anything.
        let mut relations = self.relations(world)?;
        let sources = self.sources.as_ref();
        let scope = match sources {
            Some(sources) => sources.iter().map(|&source| entities[source as usize]).collect(),
            None => entities.iter().copied().collect(),
        };
        let restoration = self.restoration(world, &mut relations, entities, scope)?;
        let mut operation = Operation::begin(world);
        let restored = restoration.execute(operation.world());
        operation.finish();
        match restored {
            Ok(restored) => {
                mirror::note_order(world);
                Ok(AppliedPairs::from(restored))
            }
            Err(mut error) => {
                let pair = error.pair_mut().cloned();
                let place = pair.and_then(|pair| self.place_of(world, &relations, entities, &pair));
                Err(LoadError::Refused { place, error: Box::new(error) })
            }
        }
    }

    fn restoration(
        &mut self,
        world: &World,
        relations: &mut Vec<RelationId>,
        entities: &[Entity],
        scope: EntityHashSet,
    ) -> Result<Restoration<'static>, LoadError> {
        with_names(world, |names| {
            let registry = names.store.registry();
            if self.all_relations {
                let others = registry.ids().filter(|&id| {
                    let entry = registry.entry(id);
                    entry.has_traits && !entry.traits.is_transient() && !relations.contains(&id)
                });
                let others: Vec<RelationId> = others.collect();
                relations.extend(others);
            }
            let mut restoration = Restoration::new(names.store, relations.clone(), Some(scope), None);
            for (relation, &id) in self.relations.iter_mut().zip(&*relations) {
                relation.add_to(&mut restoration, names, id, entities)?;
            }
            Ok(restoration)
        })
    }

    /// Where a pair stands that was refused.
    fn place_of(
        &self,
        world: &World,
        relations: &[RelationId],
        entities: &[Entity],
        pair: &AttemptedPair,
    ) -> Option<SavedPlace> {
        let registry = fetch::store(world)?.registry();
        let id = registry.of_entity(pair.relation.entity())?;
        let relation = &self.relations.get(relations.iter().position(|&relation| relation == id)?)?;
        let is_it = |(source, target): (u32, u32)| {
            pair.source_entity == entities[source as usize] && pair.target == entities[target as usize]
        };
        let mut pairs = relation.pairs.iter();
        let entry = pairs.position(|at| is_it((at.source, at.target)) || is_it((at.target, at.source)))?;
        Some(SavedPlace { relation: relation.name.clone(), entry, field: "value" })
    }
}

/// Replaces the numbers in a value by entities.
struct Finder<'a> {
    entities: &'a [Entity],
    /// A number that stands for none.
    missing: Option<u32>,
}

impl EntityMapper for Finder<'_> {
    fn get_mapped(&mut self, source: Entity) -> Entity {
        let number = source.index_u32();
        match self.entities.get(number as usize) {
            Some(&entity) => entity,
            None if number == NO_INDEX => source,
            None => {
                self.missing = Some(number);
                source
            }
        }
    }

    fn set_mapped(&mut self, _: Entity, _: Entity) {}
}

impl SavedRelation {
    fn place(&self, entry: usize, field: &'static str) -> SavedPlace {
        SavedPlace { relation: self.name.clone(), entry, field }
    }

    fn check(&self, count: usize, sources: Option<&HashSet<u32>>) -> Result<(), LoadError> {
        let exists = |entity: u32, place: SavedPlace| match (entity as usize) < count {
            true => Ok(()),
            false => Err(LoadError::NoSuchEntity { place, entity, count }),
        };
        let mut pairs = HashMap::<(u32, u32), usize>::default();
        for (at, pair) in self.pairs.iter().enumerate() {
            exists(pair.source, self.place(at, "source"))?;
            exists(pair.target, self.place(at, "target"))?;
            if sources.is_some_and(|sources| !sources.contains(&pair.source)) {
                return Err(LoadError::NotASource { place: self.place(at, "source"), entity: pair.source });
            }
            if let Some(first) = pairs.insert((pair.source, pair.target), at) {
                return Err(LoadError::PairTwice { place: self.place(at, "target"), first });
            }
        }
        for (at, (target, sources)) in self.orders.iter().enumerate() {
            exists(*target, self.place(at, "orders"))?;
            let mut met = HashSet::new();
            for &source in sources {
                if !pairs.contains_key(&(source, *target)) || !met.insert(source) {
                    return Err(LoadError::Order { place: self.place(at, "orders"), source_number: source });
                }
            }
        }
        Ok(())
    }

    /// Adds the pairs to what is to be there. The values are taken.
    fn add_to(
        &mut self,
        restoration: &mut Restoration<'static>,
        names: Names<'_>,
        relation: RelationId,
        entities: &[Entity],
    ) -> Result<(), LoadError> {
        let is_symmetric = names.store.relation(relation).is_symmetric();
        let numbers: HashMap<(u32, u32), usize> =
            self.pairs.iter().enumerate().map(|(at, pair)| ((pair.source, pair.target), at)).collect();
        let mut groups: Vec<(u32, u32)> = self.pairs.iter().map(|pair| (pair.source, pair.target)).collect();
        if is_symmetric {
            let mirrors = groups.iter().map(|&(source, target)| (target, source));
            let missing = mirrors.filter(|mirror| !numbers.contains_key(mirror));
            let missing: Vec<(u32, u32)> =
                missing.filter(|&(source, _)| restoration.is_in_scope(entities[source as usize])).collect();
            groups.extend(missing);
        }
        // Source by source, the targets as they are listed.
        groups.sort_by_key(|&(source, _)| source);
        let ends = |(source, target): (u32, u32)| (entities[source as usize], entities[target as usize]);
        let pair = |numbers| {
            let (source, target) = ends(numbers);
            StoredPair { source, relation, target }
        };
        let pairs = groups.into_iter().map(ends).collect();
        restoration.push(WantedPairs { relation, pairs, values: Vec::new() });
        for at in 0..self.pairs.len() {
            let (source, target) = (self.pairs[at].source, self.pairs[at].target);
            let earlier = numbers.get(&(target, source)).copied();
            let mirror = earlier.filter(|&first| is_symmetric && first < at);
            self.add_value(restoration, names, at, pair((source, target)), (entities, mirror))?;
        }
        for at in 0..self.pairs.len() {
            let pair = pair((self.pairs[at].source, self.pairs[at].target));
            self.add_default(restoration, names, at, pair)?;
        }
        for (target, sources) in &self.orders {
            let sources = sources.iter().map(|&source| entities[source as usize]).collect();
            restoration.set_order(relation, entities[*target as usize], sources);
        }
        Ok(())
    }

    /// Gives a pair the value that it has in the save, which is taken. `mirror` is the number of the other direction of a
    /// symmetric pair, if that comes before.
    fn add_value(
        &mut self,
        restoration: &mut Restoration<'static>,
        names: Names<'_>,
        at: usize,
        pair: StoredPair,
        (entities, mirror): (&[Entity], Option<usize>),
    ) -> Result<(), LoadError> {
        let Some(value) = self.pairs[at].value.take() else { return Ok(()) };
        if let Some(first) = mirror.filter(|_| restoration.has_value(names.store, pair)) {
            return Err(LoadError::ValueTwice { place: self.place(at, "value"), first });
        }
        let wrong = |reason| LoadError::Value { place: self.place(at, "value"), reason };
        let column = column_of(names.store, pair).ok_or_else(|| wrong(why_without_value(names, pair)))?;
        let mut finder = Finder { entities, missing: None };
        let value = values::concrete(names.types, column, value, &mut finder).map_err(wrong)?;
        if let Some(entity) = finder.missing {
            let place = self.place(at, "value");
            return Err(LoadError::NoSuchEntity { place, entity, count: entities.len() });
        }
        restoration.set_value(names.store, pair, WantedValue::owned(column, value));
        Ok(())
    }

    /// Gives a pair that has no value in the save the default of its type, whatever value it has in the world: what a save says does
    /// not depend on that. The save may be older than the fields of the relation. A relationship of Bevy's makes itself.
    fn add_default(
        &self,
        restoration: &mut Restoration<'static>,
        Names { world, store, .. }: Names<'_>,
        at: usize,
        pair: StoredPair,
    ) -> Result<(), LoadError> {
        let entry = store.registry().entry(pair.relation);
        let column = store.column_of(pair.relation, pair.source, pair.target);
        let Some(column) = column.filter(|_| entry.adopted.is_none()) else { return Ok(()) };
        if restoration.has_value(store, pair) {
            return Ok(());
        }
        let value = column.default_value(world).ok_or_else(|| {
            let (place, expected) = (Some(self.place(at, "value")), column.value_name());
            let pair = AttemptedPair::new(world, store, pair.source, entry.entity, pair.target);
            LoadError::Refused { place, error: Box::new(InsertPairError::MissingValue { pair, expected }) }
        })?;
        restoration.set_value(store, pair, WantedValue::owned(column, value));
        Ok(())
    }
}

/// Why a pair that has a value in the save may have none in the world.
fn why_without_value(Names { world, store, .. }: Names<'_>, pair: StoredPair) -> String {
    let entry = store.registry().entry(pair.relation);
    let ends = [Some(pair.source), Some(pair.target)];
    match type_with_unknown_fields(world, store, Some(entry.entity), ends) {
        Some((_, name)) => format!(
            "pairs with {name} carry its values, which the world must know first: call `world.entity_of` with the type before loading"
        ),
        None => "such pairs have no values".into(),
    }
}

/// The column that the value of a pair belongs to.
fn column_of(store: &PairStore, pair: StoredPair) -> Option<ColumnRef> {
    match store.registry().entry(pair.relation).adopted {
        Some(adopted) => adopted.has_fields.then_some(adopted.column),
        None => store.column_of(pair.relation, pair.source, pair.target),
    }
}
