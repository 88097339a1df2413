//! Taking a snapshot.

use super::{
    error::SnapshotError,
    filter::PairFilter,
    pairs::{KeptValue, Orders, PairSnapshot, RelationPairs, key},
};
use crate::{
    fetch,
    id::RelationId,
    names::slot_path,
    ops::{ensure_store, use_all_relations},
    relation::{CHILD_OF, ColumnRef, EntityName},
    store::{PairStore, RelationIndex, TickChecks},
    traverse::{is_ordered_by_children, ordered_by},
};
use alloc::vec::Vec;
use bevy_ecs::{
    change_detection::Tick,
    entity::{Entity, EntityHashMap},
    hierarchy::Children,
    world::World,
};

impl PairSnapshot {
    /// Takes a snapshot of the pairs that a filter selects.
    ///
    /// Values are copied: by `Clone`, or by reflection if their type is registered.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{prelude::*, snapshot::{PairFilter, PairSnapshot}};
    /// # #[derive(Relation)] struct Likes;
    /// # #[derive(Relation)] struct Owes(u32);
    /// # let mut world = World::new();
    /// # let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
    /// world.insert_pair(ann, Likes, ben)?;
    /// world.insert_pair(ann, Owes(5), ben)?;
    /// assert!(PairSnapshot::take(&mut world, PairFilter::all()).is_err(), "`Owes` is not `Clone`");
    /// let likes = PairSnapshot::take(&mut world, PairFilter::none().relation::<Likes>())?;
    /// assert_eq!(likes.len(), 1);
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// If a value cannot be copied, or the filter names a relation that is transient, dead, or cannot be registered.
    ///
    /// # Complexity
    /// `O(pairs)`; `O(pairs log pairs)` if the entities with pairs are few and far apart.
    pub fn take(world: &mut World, filter: PairFilter) -> Result<Self, SnapshotError> {
        let store = ensure_store(world).id();
        let mut snapshot = Self {
            world: world.id(),
            filter,
            store,
            taken: Tick::new(0),
            tick_checks: TickChecks::default(),
            relations: Vec::new(),
            types: EntityHashMap::default(),
            ids: Vec::new(),
            sources: Vec::new(),
        };
        snapshot.update(world)?;
        Ok(snapshot)
    }

    /// Takes the snapshot again, with the same filter, and reuses its memory.
    ///
    /// Of a relation in which no pair was inserted or removed, only the values that were written since are copied. If
    /// nothing has changed, no memory is allocated, unless there are adopted relationships with further fields.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::snapshot::*;
    /// # #[derive(Relation)] struct Likes;
    /// # let mut world = World::new();
    /// # let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
    /// let mut last = PairSnapshot::take(&mut world, PairFilter::all())?;
    /// assert!(last.is_empty());
    /// world.insert_pair(ann, Likes, ben)?;
    /// last.update(&mut world)?;
    /// world.remove_pair::<Likes>(ann, ben);
    /// assert_eq!(last.apply(&mut world)?.inserted, 1);
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`take`](Self::take); then the snapshot is empty. It is, too, after a panic while a value was copied.
    ///
    /// # Complexity
    /// For a relation in which no pair was inserted or removed, O(its values), or O(1) without values; otherwise as
    /// [`take`](Self::take). In addition O(children) if `ChildOf` is included.
    pub fn update(&mut self, world: &mut World) -> Result<(), SnapshotError> {
        // Copying values runs users' code: if that panics, what was read so far is not kept.
        let mut relations = core::mem::take(&mut self.relations);
        self.try_update(world, &mut relations)?;
        self.relations = relations;
        Ok(())
    }

    fn try_update(
        &mut self,
        world: &mut World,
        relations: &mut Vec<RelationPairs>,
    ) -> Result<(), SnapshotError> {
        ensure_store(world);
        let mut ids = core::mem::take(&mut self.ids);
        self.filter.resolve(world, &mut ids)?;
        if ids.contains(&CHILD_OF) && ensure_store(world).lacks_children() {
            use_all_relations(world);
            // That runs users' code: the store may be another.
            self.filter.resolve(world, &mut ids)?;
        }
        let store_id = ensure_store(world).id();
        // What is written from here on has a newer tick.
        let now = world.increment_change_tick();
        let world = &*world;
        let Some(store) = fetch::store(world) else { return Ok(()) };
        let is_known = self.world == world.id()
            && self.store == store_id
            && store.tick_checks().can_compare(self.tick_checks);
        let before = is_known.then_some(self.taken);
        self.world = world.id();
        relations.retain(|kept| before.is_some() && ids.contains(&kept.id) && kept.is_of(store));
        for &id in &ids {
            let at = relations.iter().position(|kept| kept.id == id);
            let at = at.unwrap_or_else(|| {
                relations.push(RelationPairs::new(id, world, store));
                relations.len() - 1
            });
            let mut reader =
                RelationReader { world, store, chosen: self.filter.chosen(), scratch: &mut self.sources };
            reader.read(&mut relations[at], before)?;
        }
        relations.sort_unstable_by_key(|kept| kept.id);
        self.types.clear();
        self.types.extend(store.type_entities());
        (self.store, self.taken, self.tick_checks) = (store_id, now, store.tick_checks());
        self.ids = ids;
        Ok(())
    }
}

impl RelationPairs {
    fn new(id: RelationId, world: &World, store: &PairStore) -> Self {
        let entry = store.registry().entry(id);
        Self {
            id,
            entity: entry.entity,
            type_id: entry.type_id,
            register: entry.register,
            name: entry.name(),
            slot: slot_path(world, store, entry.entity),
            // Not that of an index that has pairs.
            version: 0,
            pairs: Vec::new(),
            values: Vec::new(),
            orders: Orders::default(),
        }
    }

    /// Whether the number is still that of the relation.
    fn is_of(&self, store: &PairStore) -> bool {
        store.registry().get(self.id).is_some_and(|entry| entry.entity == self.entity)
    }
}

/// Reads pairs of relations.
struct RelationReader<'a> {
    world: &'a World,
    store: &'a PairStore,
    /// The sources to read, in order; `None` for all.
    chosen: Option<&'a [Entity]>,
    scratch: &'a mut Vec<Entity>,
}

impl RelationReader<'_> {
    /// Reads the pairs of a relation; of those that were read at the tick `before` only what has changed since.
    fn read(&mut self, kept: &mut RelationPairs, before: Option<Tick>) -> Result<(), SnapshotError> {
        let index = self.store.relation(kept.id);
        let entry = self.store.registry().entry(kept.id);
        if before.is_none() || kept.version != index.version() {
            kept.version = index.version();
            kept.values.clear();
            self.read_pairs(kept, index);
            kept.orders.clear();
            if entry.traits.is_ordered() && !is_ordered_by_children(kept.id) {
                self.read_orders(kept, index);
            }
        }
        if is_ordered_by_children(kept.id) {
            // `Children` can be sorted without an event.
            kept.orders.clear();
            self.read_orders(kept, index);
        }
        let has_values = match entry.adopted {
            Some(adopted) => adopted.has_fields,
            None => index.has_values(),
        };
        if has_values { self.read_values(kept, index, before) } else { Ok(()) }
    }

    fn read_pairs(&mut self, kept: &mut RelationPairs, index: &RelationIndex) {
        kept.pairs.clear();
        let sources = match self.chosen {
            Some(chosen) => chosen,
            None => {
                index.sources_into(self.scratch);
                kept.pairs.reserve(index.len());
                &**self.scratch
            }
        };
        for &source in sources {
            kept.pairs.extend(index.targets(source).map(|target| (source, target)));
        }
    }

    /// The orders of sources that have several.
    fn read_orders(&mut self, kept: &mut RelationPairs, index: &RelationIndex) {
        let targets = (0..index.list_count()).filter_map(|list| index.target_of_list(list));
        self.scratch.clear();
        self.scratch.extend(targets.filter(|&target| index.source_count(target) > 1));
        self.scratch.sort_unstable_by_key(|&target| key(target));
        for &target in &*self.scratch {
            let children = self.world.get::<Children>(target).filter(|_| is_ordered_by_children(kept.id));
            let sources = ordered_by(children.map(|children| &**children), index.sources(target));
            let start = kept.orders.sources.len();
            kept.orders.sources.extend(sources.filter(|&source| self.is_chosen(source)));
            match kept.orders.sources.len() {
                end if end > start + 1 => kept.orders.targets.push((target, end)),
                _ => kept.orders.sources.truncate(start),
            }
        }
    }

    fn is_chosen(&self, source: Entity) -> bool {
        self.chosen.is_none_or(|chosen| chosen.binary_search_by_key(&key(source), |&at| key(at)).is_ok())
    }

    /// Copies the values of the pairs, but for those that were written no later than `before`.
    fn read_values(
        &self,
        kept: &mut RelationPairs,
        index: &RelationIndex,
        before: Option<Tick>,
    ) -> Result<(), SnapshotError> {
        let is_new = kept.values.is_empty();
        if is_new {
            kept.values.resize_with(kept.pairs.len(), || None);
        }
        let now = self.world.read_change_tick();
        for (&(source, target), value) in kept.pairs.iter().zip(&mut kept.values) {
            if index.is_symmetric() && key(source) > key(target) && self.is_chosen(target) {
                continue;
            }
            let adopted = self.store.registry().entry(kept.id).adopted;
            let (column, row, found) = match adopted {
                Some(adopted) => (Some(adopted.column), None, (adopted.get)(self.world, source)),
                None => {
                    let row = index.row(source, target);
                    let column = self.store.column_of(kept.id, source, target);
                    (column, row, row.zip(column).and_then(|(row, column)| column.get(self.world, row)))
                }
            };
            let (Some(column), Some(found)) = (column, found) else { continue };
            if let Some(kept) = value
                && self.is_unchanged(kept, column, row, before, now)
            {
                continue;
            }
            let copy = column.duplicate(self.world, found).ok_or_else(|| SnapshotError::NotClone {
                source_entity: EntityName::new(self.world, source),
                relation: kept.name.clone(),
                target: EntityName::new(self.world, target),
                value: column.value_name(),
            })?;
            *value = Some(KeptValue { column, row, value: copy });
        }
        Ok(())
    }

    fn is_unchanged(
        &self,
        kept: &KeptValue,
        column: ColumnRef,
        row: Option<u32>,
        before: Option<Tick>,
        now: Tick,
    ) -> bool {
        let ticks = row.filter(|_| kept.row == row).and_then(|row| column.ticks(self.world, row));
        let Some((before, ticks)) = before.zip(ticks) else { return false };
        !ticks.added.is_newer_than(before, now) && !ticks.changed.is_newer_than(before, now)
    }
}
