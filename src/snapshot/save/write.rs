//! Making a save of a snapshot.

use super::{
    error::SaveError,
    format::SaveFormat,
    names::{Names, with_names},
    prefabs::Prefabs,
    saved::{SaveId, SavedEntity, SavedPair, SavedPairs, SavedRelation},
    values,
};
use crate::{
    fetch,
    names::WorldNameExt,
    relation::{EntityName, RelationName, is_serializable},
    snapshot::{
        apply::EntityCollector,
        pairs::{KeptValue, NO_INDEX, PairSnapshot, RelationPairs, key},
    },
};
use alloc::{
    boxed::Box,
    string::{String, ToString},
    vec::Vec,
};
use bevy_ecs::{
    archetype::Archetype,
    entity::{Entity, EntityHashMap, EntityHashSet, EntityMapper},
    name::Name,
    world::World,
};
use bevy_platform::collections::{HashMap, HashSet};
use bevy_reflect::{PartialReflect, TypeInfo};

impl PairSnapshot {
    /// Turns the snapshot into data that serde can write, with the names that entities, relations and types have in the
    /// world.
    ///
    /// Values are saved by reflection: their types must be registered in the world's [`AppTypeRegistry`](bevy_ecs::reflect::AppTypeRegistry), with
    /// `#[reflect(MapEntities)]` if there are entities in them. Entities are listed by their [`SaveId`]. Those without
    /// one are numbered in order of their index, in the save only: loading it into this same world spawns them a second
    /// time, unless [`insert_save_ids`](Self::insert_save_ids) was called before. Loading a save into an empty world
    /// and saving again gives an equal save.
    ///
    /// A [`Prefab`](crate::prefab::Prefab) without a `SaveId`, and what lies below it, is the program's own: its pairs are left out,
    /// unless the filter lists it as a source, and pairs with it as the target have its [path](crate::names). An entity in a value
    /// that is dead is saved as [`Entity::PLACEHOLDER`].
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{prelude::*, snapshot::{PairFilter, PairSnapshot}};
    /// # #[derive(Relation)]
    /// # struct Likes;
    /// # let mut world = World::new();
    /// # let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
    /// world.insert_pair(ann, Likes, ben)?;
    /// let saved = PairSnapshot::take(&mut world, PairFilter::all())?.to_saved(&world)?;
    /// assert_eq!((saved.entities.len(), saved.relations[0].name.as_str()), (2, "Likes"));
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// If a relation has no unique name, or a type is not registered; if a pair has an entity of a prefab as its target that has no
    /// path of its own.
    pub fn to_saved(&self, world: &World) -> Result<SavedPairs, SaveError> {
        self.with_writer(world, Self::write).map(Option::unwrap_or_default)
    }

    /// Gives each entity of the snapshot that has no [`SaveId`] one that no other entity of the world has, so that a save
    /// can be loaded into this same world. A prefab without one, and what lies below it, gets none, since it is found by its path.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{prelude::*, snapshot::{PairFilter, PairSnapshot}};
    /// # #[derive(Relation)]
    /// # struct Likes;
    /// # let mut world = World::new();
    /// let ann = world.spawn_empty().id();
    /// let ben = world.spawn(Pair(Likes, ann)).id();
    /// let snapshot = PairSnapshot::take(&mut world, PairFilter::all())?;
    /// snapshot.insert_save_ids(&mut world)?;
    /// let saved = snapshot.to_saved(&world)?;
    ///
    /// world.remove_pair::<Likes>(ben, ann);
    /// saved.load(&mut world)?;
    /// assert!(world.has_pair::<Likes>(ben, ann));
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// As [`to_saved`](Self::to_saved). Nothing is inserted then.
    pub fn insert_save_ids(&self, world: &mut World) -> Result<(), SaveError> {
        let listed = self.with_writer(world, |_, writer| writer.entities())?;
        for (entity, id) in listed.into_iter().flat_map(|listed| listed.new_ids) {
            // Observers of those before may have despawned it.
            if let Ok(mut entity) = world.get_entity_mut(entity) {
                entity.insert_if_new(SaveId(id));
            }
        }
        Ok(())
    }

    /// `None` if the world has no pairs.
    fn with_writer<T>(
        &self,
        world: &World,
        run: impl FnOnce(&Self, Writer<'_>) -> Result<T, SaveError>,
    ) -> Result<Option<T>, SaveError> {
        if self.world != world.id() {
            return Err(SaveError::OtherWorld);
        }
        if fetch::store(world).is_none() {
            return Ok(None);
        }
        let prefabs = Prefabs::of(world);
        with_names(world, |names| run(self, Writer { snapshot: self, names, prefabs })).map(Some)
    }

    fn write(&self, writer: Writer<'_>) -> Result<SavedPairs, SaveError> {
        let listed = writer.entities()?;
        let mut relations = Vec::new();
        for kept in &self.relations {
            if !kept.pairs.is_empty() || self.lists_without_pairs(&writer, kept) {
                relations.push(writer.relation(kept, &listed.numbers)?);
            }
        }
        relations.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let mut sources = match self.filter.chosen() {
            Some(chosen) => Some(listed.numbers_of(chosen.iter())),
            None => {
                let is_saved = |entity: &&Entity| !writer.is_left_out(**entity);
                let saved = listed.numbers_of(listed.numbers.keys().filter(is_saved));
                (saved.len() < listed.entities.len()).then_some(saved)
            }
        };
        sources.iter_mut().for_each(|sources| sources.sort_unstable());
        Ok(SavedPairs {
            version: writer.names.world.get_resource::<SaveFormat>().map_or(0, |format| format.version),
            all_relations: self.filter.is_all(),
            entities: listed.entities,
            sources,
            relations,
        })
    }
}

impl PairSnapshot {
    /// Whether a relation without pairs is listed, so that loading removes those that there are.
    fn lists_without_pairs(&self, writer: &Writer<'_>, kept: &RelationPairs) -> bool {
        if self.filter.is_all() {
            // What is not listed has no pairs.
            return false;
        }
        // A relation that the filter does not name, and that could not be found again, is no reason to fail.
        self.filter.names_relations() || writer.names.of_relation(kept.id).is_ok()
    }
}

/// The entities of a save.
struct SaveEntities {
    entities: Vec<SavedEntity>,
    numbers: EntityHashMap<u32>,
    /// Those that have no id, with what they are called in the save.
    new_ids: Vec<(Entity, u64)>,
}

impl SaveEntities {
    fn numbers_of<'a>(&self, entities: impl Iterator<Item = &'a Entity>) -> Vec<u32> {
        entities.filter_map(|entity| self.numbers.get(entity)).copied().collect()
    }
}

struct Writer<'a> {
    snapshot: &'a PairSnapshot,
    names: Names<'a>,
    prefabs: Prefabs,
}

/// Replaces the entities in a value by their numbers, and those that are dead by none.
struct Numberer<'a>(&'a EntityHashMap<u32>);

impl EntityMapper for Numberer<'_> {
    fn get_mapped(&mut self, source: Entity) -> Entity {
        let number = self.0.get(&source).copied().unwrap_or(NO_INDEX);
        Entity::from_raw_u32(number).unwrap_or(source)
    }

    fn set_mapped(&mut self, _: Entity, _: Entity) {}
}

impl Writer<'_> {
    /// Whether the pairs of a source are not in the save.
    fn is_left_out(&self, source: Entity) -> bool {
        let is_chosen = || self.snapshot.filter.chosen().is_some_and(|chosen| chosen.contains(&source));
        self.prefabs.contains(source) && !is_chosen()
    }

    fn entities(&self) -> Result<SaveEntities, SaveError> {
        let world = self.names.world;
        let mut found = EntityHashSet::default();
        let mut in_values = EntityCollector::default();
        for kept in &self.snapshot.relations {
            for (at, &(source, target)) in kept.pairs.iter().enumerate() {
                if self.is_left_out(source) {
                    continue;
                }
                found.extend([source, target]);
                if let Some(Some(value)) = kept.values.get(at) {
                    values::map(self.names.types, &mut *self.value(kept, value)?, &mut in_values);
                }
            }
        }
        found.extend(in_values.0.into_iter().filter(|&entity| world.entities().contains_spawned(entity)));
        found.extend(self.snapshot.filter.chosen().into_iter().flatten());
        let mut found: Vec<Entity> = found.into_iter().collect();
        found.sort_unstable_by_key(|&entity| key(entity));
        let mut ids = self.ids(&found)?;
        let mut listed = Vec::with_capacity(found.len());
        for entity in found {
            listed.push((self.entity(entity, &mut ids)?, entity));
        }
        listed.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let numbers =
            listed.iter().enumerate().map(|(number, &(_, entity))| (entity, number as u32)).collect();
        let entities = listed.into_iter().map(|(entity, _)| entity).collect();
        Ok(SaveEntities { entities, numbers, new_ids: ids.new })
    }

    /// The ids that entities have.
    fn ids(&self, entities: &[Entity]) -> Result<Ids, SaveError> {
        let world = self.names.world;
        let mut owners = HashMap::<u64, Entity>::default();
        for &entity in entities {
            if let Some(&SaveId(id)) = world.get(entity)
                && let Some(first) = owners.insert(id, entity)
            {
                let [first, second] = [first, entity].map(|entity| EntityName::new(world, entity));
                return Err(SaveError::SameId { first, second, id });
            }
        }
        let mut used: HashSet<u64> = owners.into_keys().collect();
        let component = world.component_id::<SaveId>();
        let holders = world.archetypes().iter().filter(|it| component.is_some_and(|id| it.contains(id)));
        let others = holders.flat_map(Archetype::entities);
        used.extend(others.filter_map(|entity| world.get::<SaveId>(entity.id())).map(|id| id.0));
        Ok(Ids { used, next: 0, new: Vec::new() })
    }

    fn entity(&self, entity: Entity, ids: &mut Ids) -> Result<SavedEntity, SaveError> {
        let registry = self.names.store.registry();
        if let Some(id) = registry.of_entity(entity) {
            return self.names.of_relation(id).map(SavedEntity::Relation);
        }
        if let Some(type_ref) = self.snapshot.types.get(&entity) {
            if let Some(id) = registry.of_type_id(type_ref.id) {
                return self.names.of_relation(id).map(SavedEntity::Relation);
            }
            let info = self.names.types.get_type_info(type_ref.id);
            let unknown = || SaveError::NotReflected {
                relation: RelationName { name: Some("a pair".into()), entity },
                type_name: registry.name_of(entity).to_string(),
            };
            return info.map(|info| SavedEntity::Type(info.type_path().into())).ok_or_else(unknown);
        }
        let world = self.names.world;
        if self.is_left_out(entity) {
            let unfit = || SaveError::UnnamedPrefab { entity: EntityName::new(world, entity) };
            let path = world.path_of(entity).filter(|path| self.prefabs.at(path).len() == 1);
            return path.map(SavedEntity::Prefab).ok_or_else(unfit);
        }
        let id = world.get::<SaveId>(entity).map_or_else(|| ids.next_for(entity), |id| id.0);
        let name = world.get::<Name>(entity).map(|name| String::from(name.as_str()));
        Ok(SavedEntity::Entity { id, name })
    }

    fn relation(
        &self,
        kept: &RelationPairs,
        numbers: &EntityHashMap<u32>,
    ) -> Result<SavedRelation, SaveError> {
        let number = |entity| numbers.get(&entity).copied().unwrap_or(u32::MAX);
        let mut pairs = Vec::with_capacity(kept.pairs.len());
        for (at, &(source, target)) in kept.pairs.iter().enumerate() {
            if self.is_left_out(source) {
                continue;
            }
            let value = kept.values.get(at).and_then(Option::as_ref);
            let mut value = value.map(|value| self.value(kept, value)).transpose()?;
            if let Some(value) = &mut value {
                values::map(self.names.types, &mut **value, &mut Numberer(numbers));
            }
            pairs.push(SavedPair { source: number(source), target: number(target), value });
        }
        // By source; stable, so that targets keep their order.
        pairs.sort_by_key(|pair| pair.source);
        if self.names.store.relation(kept.id).is_symmetric() {
            move_values_of_mirrors(&mut pairs);
        }
        let orders = kept.orders.iter();
        let orders = orders.map(|(target, sources)| {
            let saved = sources.iter().filter(|&&source| !self.is_left_out(source));
            (number(target), saved.map(|&source| number(source)).collect())
        });
        let mut orders: Vec<(u32, Vec<u32>)> = orders.collect();
        // A target without sources in the save may not be in it either.
        orders.retain(|(_, sources)| !sources.is_empty());
        orders.sort_unstable_by_key(|&(target, _)| target);
        Ok(SavedRelation { name: self.names.of_relation(kept.id)?, pairs, orders })
    }

    fn value(&self, kept: &RelationPairs, value: &KeptValue) -> Result<Box<dyn PartialReflect>, SaveError> {
        let relation = || kept.name.clone();
        let reflected = values::reflected(self.names.types, &*value.value).ok_or_else(|| {
            SaveError::NotReflected { relation: relation(), type_name: value.column.value_name().into() }
        })?;
        if !is_serializable(self.names.types, &*reflected) {
            let represented = reflected.get_represented_type_info().map(TypeInfo::type_path);
            let type_name = represented.unwrap_or_else(|| reflected.reflect_type_path()).into();
            return Err(SaveError::NotReflected { relation: relation(), type_name });
        }
        if values::has_entities(&*reflected) && !values::is_mapped(self.names.types, &*reflected) {
            let type_name = value.column.value_name().into();
            return Err(SaveError::EntitiesNotMapped { relation: relation(), type_name });
        }
        Ok(reflected)
    }
}

/// A symmetric pair has its value in one direction: in a save in that from the lower number, which does not depend on the
/// ids that the ends have in the world. `pairs` are in the order of their sources.
fn move_values_of_mirrors(pairs: &mut [SavedPair]) {
    for at in 0..pairs.len() {
        let SavedPair { source, target, .. } = pairs[at];
        if source <= target || pairs[at].value.is_none() {
            continue;
        }
        let first = pairs.partition_point(|pair| pair.source < target);
        let mirror = pairs[first..]
            .iter()
            .take_while(|pair| pair.source == target)
            .position(|pair| pair.target == source);
        if let Some(mirror) = mirror {
            let value = pairs[at].value.take();
            pairs[first + mirror].value = value;
        }
    }
}

/// The ids of entities that have none.
struct Ids {
    /// Those that entities of the world have, in the save or not.
    used: HashSet<u64>,
    next: u64,
    new: Vec<(Entity, u64)>,
}

impl Ids {
    fn next_for(&mut self, entity: Entity) -> u64 {
        while self.used.contains(&self.next) {
            self.next += 1;
        }
        let id = self.next;
        self.next += 1;
        self.new.push((entity, id));
        id
    }
}
