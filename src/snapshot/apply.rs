//! Applying a snapshot.

use super::{
    error::SnapshotError,
    made::Made,
    pairs::{KeptValue, NO_INDEX, PairSnapshot, RelationPairs},
};
#[cfg(feature = "bevy_reflect")]
use crate::mirror;
use crate::{
    fetch,
    id::{RelationId, StoredPair},
    names::{slot_path, slots},
    ops::{
        InsertPairError, Operation, Restoration, Restored, WantedPairs, WantedSource, WantedValue,
        ensure_store, entity_of_type, make_relation, unregister_relation,
    },
    relation::{BoxedValue, EntityName},
    store::PairStore,
};
use alloc::{borrow::Cow, vec::Vec};
use bevy_ecs::{
    entity::{Entity, EntityHashMap, EntityHashSet, EntityMapper},
    world::World,
};
use bevy_platform::collections::HashMap;

/// What [`PairSnapshot::apply`] has changed; the example is there.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct AppliedPairs {
    /// Pairs that were inserted. Those of symmetric relations count in both directions, also below.
    pub inserted: usize,
    /// Pairs that got another value.
    pub replaced: usize,
    /// Pairs that were removed.
    pub removed: usize,
    /// Pairs of the snapshot that were left out because their source, target or relation was despawned.
    pub skipped: usize,
}

impl From<Restored> for AppliedPairs {
    fn from(Restored { inserted, replaced, removed }: Restored) -> Self {
        Self { inserted, replaced, removed, skipped: 0 }
    }
}

/// What to do about pairs that cannot be there because something is dead.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dead {
    Refuse,
    Skip,
}

impl PairSnapshot {
    /// Makes the pairs of the world what they were when the snapshot was taken.
    ///
    /// Afterwards the relations of the snapshot have exactly its pairs, with its values and in its order; if its filter
    /// names sources, this concerns their pairs only. A pair that was inserted since is removed, also if its source was
    /// spawned since. Pairs that do not differ trigger no event, and their change ticks stay. A value differs if it was
    /// written since and is not equal now, by the `PartialEq` of its type or by reflection. Relations that are not in
    /// the snapshot change only if a relation in it brings their pairs by `with`.
    ///
    /// All rules of relations are checked, for the result as a whole: two entities may change places in a hierarchy.
    /// Removals come before insertions, as for [`replace_targets`](crate::WorldPairExt::replace_targets). What an
    /// observer changes meanwhile is not undone. An entity that gets its `IsA` pair with a prefab back is not
    /// instantiated again, since it has kept its copies.
    ///
    /// # Errors
    /// For the first pair that breaks a rule, or of which an entity was despawned since. Then nothing has changed.
    /// [`apply_to_living`](Self::apply_to_living) leaves out pairs of despawned entities.
    ///
    /// # Complexity
    /// `O(pairs)` of the snapshot and of its relations, beside the search for cycles above pairs that change.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{error::InsertPairError, prelude::*, snapshot::*};
    /// # #[derive(Relation)] struct Likes;
    /// # let mut world = World::new();
    /// # let [alice, bob, carol] = [(); 3].map(|()| world.spawn_empty().id());
    /// world.insert_pair(alice, Likes, bob)?;
    /// world.insert_pair(alice, Likes, carol)?;
    /// let before = PairSnapshot::take(&mut world, PairFilter::all())?;
    /// world.remove_pairs::<Likes>(alice);
    /// world.despawn(carol);
    ///
    /// let error = before.apply(&mut world).unwrap_err();
    /// assert!(matches!(error, SnapshotError::Refused(InsertPairError::Dead { .. })));
    /// assert_eq!(world.pairs::<Likes>().len(), 0);
    ///
    /// let applied = before.apply_to_living(&mut world)?;
    /// assert_eq!((applied.inserted, applied.skipped), (1, 1));
    /// # Ok::<(), bevy_ecs::error::BevyError>(())
    /// ```
    pub fn apply(&self, world: &mut World) -> Result<AppliedPairs, SnapshotError> {
        self.apply_here(world, Dead::Refuse, &EntityHashMap::default())
    }

    /// [`apply`](Self::apply), without the pairs of which an entity was despawned. [`AppliedPairs::skipped`] counts
    /// these. The example is at `apply`.
    ///
    /// # Errors
    /// As for [`apply`](Self::apply), if a rule would be broken.
    pub fn apply_to_living(&self, world: &mut World) -> Result<AppliedPairs, SnapshotError> {
        self.apply_here(world, Dead::Skip, &EntityHashMap::default())
    }

    /// [`apply`](Self::apply), after entities of the snapshot were despawned and spawned again: `respawned` maps each
    /// former entity to the one that stands for it now. Every other entity stands for itself.
    ///
    /// Entities inside of values are mapped if the type of the value is registered with `#[reflect(MapEntities)]`.
    ///
    /// ```
    /// # use bevy_ecs::{entity::EntityHashMap, prelude::*};
    /// # use bevy_relations::{prelude::*, snapshot::*};
    /// # #[derive(Relation)] struct Likes;
    /// # let mut world = World::new();
    /// # let [alice, bob] = [(); 2].map(|()| world.spawn_empty().id());
    /// world.insert_pair(alice, Likes, bob)?;
    /// let before = PairSnapshot::take(&mut world, PairFilter::all())?;
    /// world.despawn(bob);
    ///
    /// let new_bob = world.spawn(Name::new("Bob")).id();
    /// before.apply_respawned(&mut world, &EntityHashMap::from_iter([(bob, new_bob)]))?;
    /// assert!(world.has_pair::<Likes>(alice, new_bob));
    /// # Ok::<(), bevy_ecs::error::BevyError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`apply`](Self::apply); if one entity stands for two that have pairs, or for two relations.
    pub fn apply_respawned(
        &self,
        world: &mut World,
        respawned: &EntityHashMap<Entity>,
    ) -> Result<AppliedPairs, SnapshotError> {
        self.apply_here(world, Dead::Refuse, respawned)
    }

    /// [`apply`](Self::apply) to other entities, in this world or another one. `entities` maps entities of the snapshot
    /// to those that get their pairs. For an entity that it does not list, **a new one is spawned** and entered in the
    /// map, also in the world that the snapshot was taken of: list entities that are to stay the same, too. An empty
    /// map makes a copy of everything.
    ///
    /// Entities that stand for types are found in the world by their types, and relations by their types or names, slots of
    /// prefabs by their [paths](crate::names), unless `entities` lists them. A relation without pairs that is not found so is left
    /// alone. Entities inside of values are mapped if the type of the value is registered with `#[reflect(MapEntities)]`. Pairs
    /// of entities that are not in the snapshot stay as they are.
    ///
    /// ```
    /// # use bevy_ecs::{entity::EntityHashMap, prelude::*};
    /// # use bevy_relations::{prelude::*, snapshot::*};
    /// # #[derive(Relation)] struct Likes;
    /// # let (mut world, mut other) = (World::new(), World::new());
    /// # let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
    /// world.insert_pair(ann, Likes, ben)?;
    /// let mut map = EntityHashMap::default();
    /// PairSnapshot::take(&mut world, PairFilter::all())?.apply_mapped(&mut other, &mut map)?;
    /// assert!(other.has_pair::<Likes>(map[&ann], map[&ben]));
    /// # Ok::<(), bevy_ecs::error::BevyError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`apply`](Self::apply); if a relation is not found; if two relations, or two entities that have pairs, are
    /// mapped to one. Then spawned entities are despawned again, and `entities` is as it was. After a panic while a value was
    /// copied, they are despawned by a command.
    pub fn apply_mapped(
        &self,
        world: &mut World,
        entities: &mut EntityHashMap<Entity>,
    ) -> Result<AppliedPairs, SnapshotError> {
        ensure_store(world);
        let mut made = Made::new(world, entities);
        let applied =
            Application::mapped(self, &mut made).and_then(|application| application.execute(made.world));
        made.finish(applied.is_ok());
        applied
    }

    fn apply_here(
        &self,
        world: &mut World,
        dead: Dead,
        respawned: &EntityHashMap<Entity>,
    ) -> Result<AppliedPairs, SnapshotError> {
        if self.world != world.id() {
            return Err(SnapshotError::OtherWorld);
        }
        ensure_store(world);
        let mut made = Vec::new();
        let applied = Application::here(self, world, dead, respawned, &mut made)
            .and_then(|application| application.execute(world));
        if applied.is_err() {
            made.into_iter().for_each(|relation| unregister_relation(world, relation));
        }
        applied
    }
}

/// A snapshot on its way into a world.
struct Application<'a> {
    snapshot: &'a PairSnapshot,
    /// The relations, in parallel with those of the snapshot; `None` for one that is skipped.
    relations: Vec<Option<RelationId>>,
    /// Entities that are others here.
    entities: EntityHashMap<Entity>,
    /// The sources whose pairs these are; `None` for all.
    scope: Option<EntityHashSet>,
    dead: Dead,
    /// The world is that of the snapshot, and entities that are not mapped are themselves.
    is_same_world: bool,
    /// Entities in values may be others here.
    maps_values: bool,
}

impl<'a> Application<'a> {
    fn here(
        snapshot: &'a PairSnapshot,
        world: &mut World,
        dead: Dead,
        respawned: &EntityHashMap<Entity>,
        made: &mut Vec<Entity>,
    ) -> Result<Self, SnapshotError> {
        let mut relations = Vec::with_capacity(snapshot.relations.len());
        for kept in &snapshot.relations {
            let found = match respawned.get(&kept.entity) {
                Some(&respawned) => Some(respawned),
                None => kept.find(world, snapshot)?,
            };
            relations.push(match found {
                Some(found) => Some(make_relation(world, found, made)?),
                None if dead == Dead::Refuse && !kept.pairs.is_empty() => return Err(kept.unknown()),
                None => None,
            });
        }
        snapshot.check_relations(world, &relations)?;
        // An entity that stood for a type may have been despawned, and the type has another.
        let is_other = |world: &World, entity: Entity| {
            fetch::store(world).is_none_or(|store| !store.registry().is_type(entity))
        };
        let mut entities = EntityHashMap::default();
        for (&entity, &type_ref) in &snapshot.types {
            if is_other(world, entity) && snapshot.names(entity) {
                entities.insert(entity, entity_of_type(world, type_ref));
            }
        }
        entities.extend(respawned);
        if !respawned.is_empty() {
            snapshot.check_distinct(world, &entities)?;
        }
        let now = |source: &Entity| *respawned.get(source).unwrap_or(source);
        let scope = snapshot.filter.chosen().map(|chosen| chosen.iter().map(now).collect());
        let maps_values = !respawned.is_empty();
        Ok(Self { snapshot, relations, entities, scope, dead, is_same_world: true, maps_values })
    }

    fn mapped(snapshot: &'a PairSnapshot, made: &mut Made<'_>) -> Result<Self, SnapshotError> {
        let Made { world, map, spawned, relations: new, .. } = made;
        let mut entities = EntityHashMap::default();
        let relations = snapshot.find_relations(world, map, (&mut entities, new))?;
        snapshot.check_relations(world, &relations)?;
        let mut in_values = EntityCollector::default();
        for value in snapshot.relations.iter().flat_map(|kept| kept.values.iter().flatten()) {
            map_value(world, value, &mut in_values);
        }
        for entity in snapshot.entities().chain(in_values.0) {
            if entity.index_u32() == NO_INDEX || entities.contains_key(&entity) {
                continue;
            }
            let found = match (map.get(&entity), snapshot.types.get(&entity)) {
                (Some(&found), _) => found,
                (None, Some(&type_ref)) => entity_of_type(world, type_ref),
                (None, None) => {
                    let new = world.spawn_empty().id();
                    map.insert(entity, new);
                    spawned.push(new);
                    new
                }
            };
            entities.insert(entity, found);
        }
        snapshot.check_distinct(world, &entities)?;
        let scope = match snapshot.filter.chosen() {
            Some(chosen) => {
                chosen.iter().filter_map(|source| entities.get(source).or(map.get(source))).copied().collect()
            }
            None => snapshot.entities().filter_map(|entity| entities.get(&entity)).copied().collect(),
        };
        Ok(Self {
            snapshot,
            relations,
            entities,
            scope: Some(scope),
            dead: Dead::Refuse,
            is_same_world: false,
            maps_values: true,
        })
    }

    fn execute(self, world: &mut World) -> Result<AppliedPairs, SnapshotError> {
        let mut skipped = 0;
        let restoration = {
            let world = &*world;
            let Some(store) = fetch::store(world) else { return Ok(AppliedPairs::default()) };
            self.restoration(world, store, &mut skipped)
        };
        let mut operation = Operation::begin(world);
        let restored = restoration.execute(operation.world());
        operation.finish();
        #[cfg(feature = "bevy_reflect")]
        mirror::note_order(world);
        match restored {
            Ok(restored) => Ok(AppliedPairs { skipped, ..AppliedPairs::from(restored) }),
            Err(error) => Err(self.name_relation(world, error).into()),
        }
    }

    /// The world may know the type of a relation by its entity alone, which is no name to show.
    fn name_relation(&self, world: &World, mut error: InsertPairError) -> InsertPairError {
        if let Some(pair) = error.pair_mut()
            && pair.relation.name.is_none()
            && let Some(id) =
                fetch::store(world).and_then(|store| store.registry().of_entity(pair.relation.entity))
            && let Some(at) = self.relations.iter().position(|&relation| relation == Some(id))
        {
            pair.relation.name.clone_from(&self.snapshot.relations[at].name.name);
        }
        error
    }

    fn restoration(&self, world: &World, store: &PairStore, skipped: &mut usize) -> Restoration<'a> {
        let snapshot = self.snapshot;
        let is_same_store = self.is_same_world
            && snapshot.store == store.id()
            && store.tick_checks().can_compare(snapshot.tick_checks);
        let since = is_same_store.then_some(snapshot.taken);
        let ids = self.relations.iter().copied().flatten().collect();
        let mut restoration = Restoration::new(store, ids, self.scope.clone(), since);
        for (kept, relation) in snapshot.relations.iter().zip(&self.relations) {
            let Some(relation) = *relation else {
                *skipped += kept.pairs.len();
                continue;
            };
            self.add(world, store, kept, relation, &mut restoration, skipped);
        }
        restoration
    }

    fn add(
        &self,
        world: &World,
        store: &PairStore,
        kept: &'a RelationPairs,
        relation: RelationId,
        restoration: &mut Restoration<'a>,
        skipped: &mut usize,
    ) {
        // What is as it was taken is compared where it lies.
        let is_as_taken = self.entities.is_empty() && self.dead == Dead::Refuse;
        let is_symmetric = store.relation(relation).is_symmetric();
        let is_dead = |entity| self.dead == Dead::Skip && !world.entities().contains_spawned(entity);
        let mut pairs = Vec::new();
        let mut values = Vec::new();
        if !is_as_taken || !kept.values.is_empty() {
            for (at, &(source, target)) in kept.pairs.iter().enumerate() {
                let (source, target) = (self.entity(source), self.entity(target));
                if is_dead(source) || is_dead(target) {
                    *skipped += 1;
                    continue;
                }
                if !is_as_taken {
                    pairs.push((source, target));
                }
                if kept.values.is_empty() {
                    continue;
                }
                let value = kept.values.get(at).and_then(Option::as_ref);
                let value = value.map(|value| self.value(world, value));
                match value {
                    _ if !is_symmetric => values.push(value),
                    Some(value) => {
                        restoration.set_value(store, StoredPair { source, relation, target }, value);
                    }
                    None => {}
                }
            }
        }
        let pairs = if is_as_taken { Cow::Borrowed(&*kept.pairs) } else { Cow::Owned(pairs) };
        restoration.push(WantedPairs { relation, pairs, values });
        for (target, sources) in kept.orders.iter() {
            let sources = sources.iter().map(|&source| self.entity(source)).collect();
            restoration.set_order(relation, self.entity(target), sources);
        }
    }

    fn entity(&self, entity: Entity) -> Entity {
        match self.entities.is_empty() {
            true => entity,
            false => self.entities.get(&entity).copied().unwrap_or(entity),
        }
    }

    fn value(&self, world: &World, kept: &'a KeptValue) -> WantedValue<'a> {
        let mapped =
            if self.maps_values { map_value(world, kept, &mut Mapper(&self.entities)) } else { None };
        match mapped {
            Some(value) => WantedValue::owned(kept.column, value),
            None => {
                WantedValue { column: kept.column, value: WantedSource::Lent(&kept.value), row: kept.row }
            }
        }
    }
}

/// A copy of a value with other entities. `None` if its type does not say how to replace them.
#[cfg(feature = "bevy_reflect")]
fn map_value(world: &World, kept: &KeptValue, mapper: &mut dyn EntityMapper) -> Option<BoxedValue> {
    use bevy_ecs::reflect::{AppTypeRegistry, ReflectMapEntities};
    use bevy_reflect::ReflectFromPtr;
    use core::any::Any;

    let (from_ptr, map) = {
        let registry = world.get_resource::<AppTypeRegistry>()?.read();
        let registration = registry.get(kept.column.value_type())?;
        (registration.data::<ReflectFromPtr>()?.clone(), registration.data::<ReflectMapEntities>()?.clone())
    };
    let mut copy = kept.column.duplicate(world, &*kept.value)?;
    let reflected = from_ptr.as_reflect_mut(&mut *copy as &mut dyn Any)?;
    map.map_entities(reflected.as_partial_reflect_mut(), mapper);
    Some(copy)
}

#[cfg(not(feature = "bevy_reflect"))]
fn map_value(_: &World, _: &KeptValue, _: &mut dyn EntityMapper) -> Option<BoxedValue> {
    None
}

/// Replaces entities by those of the world.
struct Mapper<'a>(&'a EntityHashMap<Entity>);

impl EntityMapper for Mapper<'_> {
    fn get_mapped(&mut self, source: Entity) -> Entity {
        self.0.get(&source).copied().unwrap_or(source)
    }

    fn set_mapped(&mut self, _: Entity, _: Entity) {}
}

/// Collects the entities in values, and maps each to itself.
#[derive(Default)]
pub(super) struct EntityCollector(pub(super) Vec<Entity>);

impl EntityMapper for EntityCollector {
    fn get_mapped(&mut self, source: Entity) -> Entity {
        self.0.push(source);
        source
    }

    fn set_mapped(&mut self, _: Entity, _: Entity) {}
}

impl RelationPairs {
    fn unknown(&self) -> SnapshotError {
        SnapshotError::UnknownRelation { relation: self.name.clone() }
    }

    /// The entity of the relation in a world. `None` if it is gone, or if there was none there.
    ///
    /// # Errors
    /// If the type cannot be registered, or if several relations could be meant.
    fn find(&self, world: &mut World, snapshot: &PairSnapshot) -> Result<Option<Entity>, SnapshotError> {
        if let Some(register) = self.register {
            return Ok(Some(register(world)?));
        }
        let Some(type_id) = self.type_id else {
            let Some(store) = fetch::store(world) else { return Ok(None) };
            return match snapshot.world == world.id() {
                true => {
                    let is_there = store.registry().of_entity(self.entity).is_some();
                    Ok(Some(self.entity).filter(|&own| is_there && world.entities().contains_spawned(own)))
                }
                false => self.find_by_name(world, store),
            };
        };
        // A component that is used as a relation.
        let known = fetch::store(world).and_then(|store| store.registry().of_type_id(type_id));
        Ok(match snapshot.types.get(&self.entity) {
            Some(&type_ref) if known.is_some() || !self.pairs.is_empty() => {
                Some(entity_of_type(world, type_ref))
            }
            _ => None,
        })
    }

    /// The entity of a run-time relation in another world: of a slot by its path, of others by their name.
    fn find_by_name(&self, world: &World, store: &PairStore) -> Result<Option<Entity>, SnapshotError> {
        let mut slots =
            slots(store).filter(|&slot| self.slot.is_some() && slot_path(world, store, slot) == self.slot);
        let entries = store.registry().ids().map(|id| store.registry().entry(id));
        let mut named = entries.filter(|entry| {
            entry.type_id.is_none()
                && entry.name.is_some()
                && entry.name.as_deref() == self.name.name.as_deref()
        });
        let found = match slots.next() {
            Some(slot) => (Some(slot), slots.next()),
            None => (named.next().map(|entry| entry.entity), named.next().map(|entry| entry.entity)),
        };
        match found {
            (found, None) => Ok(found),
            _ => Err(SnapshotError::AmbiguousRelation { relation: self.name.clone() }),
        }
    }
}

impl PairSnapshot {
    /// The relations of a world by which those of the snapshot are meant, which are entered as entities. `None` for one that had no
    /// pairs and may be left alone. `made` gets those that were no relations before.
    fn find_relations(
        &self,
        world: &mut World,
        map: &EntityHashMap<Entity>,
        (entities, made): (&mut EntityHashMap<Entity>, &mut Vec<Entity>),
    ) -> Result<Vec<Option<RelationId>>, SnapshotError> {
        let mut relations = alloc::vec![None; self.relations.len()];
        // Last those that may be left alone, each unless another of its name stands for the same relation here.
        let is_needed = |kept: &RelationPairs| !kept.pairs.is_empty() || self.names(kept.entity);
        let (needed, others): (Vec<_>, Vec<_>) =
            self.relations.iter().enumerate().partition(|(_, kept)| is_needed(kept));
        let count = needed.len();
        for (nth, (at, kept)) in needed.into_iter().chain(others).enumerate() {
            let is_needed = nth < count;
            let found = match map.get(&kept.entity) {
                Some(&entity) => Some(entity),
                None => match kept.find(world, self) {
                    Err(SnapshotError::AmbiguousRelation { .. }) if !is_needed => None,
                    found => found?,
                },
            };
            let Some(entity) = found else {
                // A type that is an end of pairs need be no relation here.
                let is_type = self.types.contains_key(&kept.entity);
                if is_needed && !(kept.pairs.is_empty() && is_type) {
                    return Err(kept.unknown());
                }
                continue;
            };
            let id = make_relation(world, entity, made)?;
            if is_needed || map.contains_key(&kept.entity) || !relations.contains(&Some(id)) {
                relations[at] = Some(id);
                entities.insert(kept.entity, entity);
            }
        }
        Ok(relations)
    }

    /// The ends of pairs, some more than once.
    fn entities(&self) -> impl Iterator<Item = Entity> + use<'_> {
        let pairs = self.relations.iter().flat_map(|kept| &kept.pairs);
        pairs.flat_map(|&(source, target)| [source, target])
    }

    /// # Errors
    /// If one entity of the world stands for two that have pairs.
    fn check_distinct(&self, world: &World, entities: &EntityHashMap<Entity>) -> Result<(), SnapshotError> {
        let mut of = EntityHashMap::default();
        for second in self.entities() {
            let entity = entities.get(&second).copied().unwrap_or(second);
            if let Some(first) = of.insert(entity, second)
                && first != second
            {
                let entity = EntityName::new(world, entity);
                return Err(SnapshotError::SameEntity { first, second, entity });
            }
        }
        Ok(())
    }

    /// # Errors
    /// If one relation of the world stands for two of the snapshot. `relations` is in parallel with them.
    fn check_relations(&self, world: &World, relations: &[Option<RelationId>]) -> Result<(), SnapshotError> {
        let mut of = HashMap::<RelationId, Entity>::default();
        for (kept, id) in self.relations.iter().zip(relations) {
            let Some(id) = *id else { continue };
            if let Some(first) = of.insert(id, kept.entity) {
                let entity =
                    fetch::store(world).map_or(kept.entity, |store| store.registry().entry(id).entity);
                let entity = EntityName::new(world, entity);
                return Err(SnapshotError::SameEntity { first, second: kept.entity, entity });
            }
        }
        Ok(())
    }

    fn names(&self, entity: Entity) -> bool {
        self.entities().any(|end| end == entity)
    }
}
