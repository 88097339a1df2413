//! Making the pairs of several relations what they were: all of them, or none.

use super::{
    change::{Request, carry_out},
    ends::EndCheck,
    error::{AttemptedPair, InsertPairError, PairRole},
    plan::{InsertPlan, PairOrder, ValueSource, ValueType, attempted, plan_whole, validated},
    remove::with_mirrors,
    whole::check_whole,
};
use crate::{
    fetch,
    id::{RelationId, StoredPair},
    relation::{Adopted, BoxedValue, ColumnRef, EntityName, PairRefusal, RelationEntry},
    store::PairStore,
    traverse::Direction,
};
use alloc::{format, string::String, vec::Vec};
use bevy_ecs::{
    change_detection::Tick,
    entity::{Entity, EntityHashMap, EntityHashSet},
    world::World,
};
use bevy_platform::collections::{HashMap, HashSet};
use core::{
    any::{Any, TypeId},
    cell::Cell,
    ops::Range,
};

/// Lists longer than this are searched by hash.
const LINEAR: usize = 16;

/// How many pairs a restoration has changed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Restored {
    pub(crate) inserted: usize,
    pub(crate) replaced: usize,
    pub(crate) removed: usize,
}

/// A value that a pair is to have.
pub(crate) struct WantedValue<'a> {
    pub(crate) column: ColumnRef,
    pub(crate) value: WantedSource<'a>,
    /// The row that it was copied from, if it was and that can be told from others.
    pub(crate) row: Option<u32>,
}

pub(crate) enum WantedSource<'a> {
    /// To be copied.
    Lent(&'a BoxedValue),
    /// To be taken.
    Owned(BoxedValue),
}

impl WantedValue<'_> {
    fn value(&self) -> &(dyn Any + Send + Sync) {
        match &self.value {
            WantedSource::Lent(value) => &***value,
            WantedSource::Owned(value) => &**value,
        }
    }
}

/// The pairs that relations are to have.
pub(crate) struct Restoration<'a> {
    relations: Vec<RelationId>,
    /// Entity and type of each, which tell whether its number was given to another.
    identities: Vec<(Entity, Option<TypeId>)>,
    /// The sources whose pairs these are; `None` for all.
    scope: Option<EntityHashSet>,
    /// Source by source, in the order of targets.
    pairs: Vec<StoredPair>,
    groups: HashMap<(RelationId, Entity), Range<usize>>,
    values: HashMap<StoredPair, WantedValue<'a>>,
    /// The orders of sources.
    orders: Vec<PairOrder>,
    /// Values whose rows have older ticks are as they were.
    unchanged_since: Option<Tick>,
    counts: Cell<Restored>,
}

/// What a restoration differs in from the pairs that are there.
#[derive(Default)]
struct Difference {
    new: Vec<(StoredPair, Option<ValueType>)>,
    dropped: Vec<StoredPair>,
    components: Vec<(Adopted, StoredPair)>,
    orders: Vec<PairOrder>,
}

impl<'a> Restoration<'a> {
    pub(crate) fn new(
        store: &PairStore,
        relations: Vec<RelationId>,
        scope: Option<EntityHashSet>,
        unchanged_since: Option<Tick>,
    ) -> Self {
        let entries = relations.iter().map(|&id| store.registry().entry(id));
        Self {
            identities: entries.map(|entry| (entry.entity, entry.type_id)).collect(),
            relations,
            scope,
            pairs: Vec::new(),
            groups: HashMap::default(),
            values: HashMap::default(),
            orders: Vec::new(),
            unchanged_since,
            counts: Cell::default(),
        }
    }

    /// Adds a pair. Those of one source and relation come one after the other, each once, in their order; those of a
    /// symmetric relation in both directions, if both sources are in the scope.
    pub(crate) fn push(&mut self, pair: StoredPair) {
        let at = self.pairs.len();
        self.pairs.push(pair);
        self.groups.entry((pair.relation, pair.source)).or_insert(at..at).end = at + 1;
    }

    /// The value of a pair, in either direction if the relation is symmetric.
    pub(crate) fn set_value(&mut self, store: &PairStore, pair: StoredPair, value: WantedValue<'a>) {
        self.values.insert(canonical(store, pair), value);
    }

    /// Whether [`set_value`](Self::set_value) was called for the pair.
    #[cfg(feature = "serialize")]
    pub(crate) fn has_value(&self, store: &PairStore, pair: StoredPair) -> bool {
        self.values.contains_key(&canonical(store, pair))
    }

    /// The order of the sources of a target.
    pub(crate) fn set_order(&mut self, relation: RelationId, target: Entity, order: Vec<Entity>) {
        self.orders.push(PairOrder { relation, entity: target, direction: Direction::Sources, order });
    }

    /// Makes the pairs so.
    ///
    /// # Errors
    /// The first rule that is broken by what would be there; then nothing has changed.
    pub(crate) fn carry_out(mut self, world: &mut World) -> Result<Restored, InsertPairError> {
        let Some(store) = fetch::store(world) else { return Ok(Restored::default()) };
        // It stands for all of them in errors that concern no pair in particular.
        let any = self.pairs.first().copied().or_else(|| {
            self.relations.iter().find_map(|&relation| {
                let (source, target) = store.relation(relation).iter().next()?;
                Some(StoredPair { source, relation, target })
            })
        });
        let Some(any) = any else { return Ok(Restored::default()) };
        carry_out(world, any, &mut self, EndCheck::Now)?;
        Ok(self.counts.get())
    }

    /// Whether these are all pairs of a source.
    pub(crate) fn is_in_scope(&self, source: Entity) -> bool {
        self.scope.as_ref().is_none_or(|scope| scope.contains(&source))
    }

    fn wanted(&self, relation: RelationId, source: Entity) -> &[StoredPair] {
        self.groups.get(&(relation, source)).map_or(&[], |group| &self.pairs[group.clone()])
    }

    /// # Errors
    /// If a relation is gone.
    fn check_relations(&self, world: &World, store: &PairStore) -> Result<(), InsertPairError> {
        for (&id, &(entity, type_id)) in self.relations.iter().zip(&self.identities) {
            let entry = store.registry().get(id);
            let is_same = |entry: &RelationEntry| {
                if type_id.is_some() { entry.type_id == type_id } else { entry.entity == entity }
            };
            if !entry.is_some_and(is_same) {
                let pair = self.pairs.iter().find(|pair| pair.relation == id);
                let ends = pair.map_or((entity, entity), |pair| (pair.source, pair.target));
                let [source_entity, target] = [ends.0, ends.1].map(|end| EntityName::new(world, end));
                let relation = store.registry().name_of(entity);
                let pair = AttemptedPair { source_entity, relation, target };
                return Err(InsertPairError::Dead { pair, dead: PairRole::Relation });
            }
        }
        Ok(())
    }

    /// # Errors
    /// If a source of an exclusive relation is to have several targets.
    fn check_exclusive(&self, world: &World, store: &PairStore) -> Result<(), InsertPairError> {
        for &relation in self.relations.iter().filter(|&&relation| store.relation(relation).is_exclusive()) {
            let symmetric = store.relation(relation).is_symmetric();
            let mut targets = EntityHashMap::<Entity>::default();
            for &pair in self.pairs.iter().filter(|pair| pair.relation == relation) {
                let mirror = symmetric.then_some((pair.target, pair.source));
                for (source, target) in [Some((pair.source, pair.target)), mirror].into_iter().flatten() {
                    let other = *targets.entry(source).or_insert(target);
                    if other != target {
                        let pair = attempted(world, store, StoredPair { source, relation, target });
                        let other = EntityName::new(world, other);
                        return Err(InsertPairError::Exclusive { pair, other });
                    }
                }
            }
        }
        Ok(())
    }

    /// The pairs of sources that are to have none.
    fn find_unwanted(&self, store: &PairStore, difference: &mut Difference) {
        for &relation in &self.relations {
            let index = store.relation(relation);
            let is_unwanted =
                |&source: &Entity| self.is_in_scope(source) && !self.groups.contains_key(&(relation, source));
            let mut sources: Vec<Entity> = match &self.scope {
                Some(scope) if scope.len() < index.len() => scope
                    .iter()
                    .copied()
                    .filter(|&source| index.has_any(source))
                    .filter(is_unwanted)
                    .collect(),
                _ => index.iter().map(|(source, _)| source).filter(is_unwanted).collect(),
            };
            sources.sort_unstable_by_key(|source| (source.index_u32(), source.generation().to_bits()));
            sources.dedup();
            for source in sources {
                let targets = index.targets(source);
                targets.for_each(|target| difference.remove(store, StoredPair { source, relation, target }));
            }
        }
    }

    /// What the pairs of a source that is to have some differ in.
    fn compare(&self, world: &World, store: &PairStore, wanted: &[StoredPair], difference: &mut Difference) {
        let Some(&StoredPair { source, relation, .. }) = wanted.first() else { return };
        let index = store.relation(relation);
        let there: Vec<Entity> = index.targets(source).collect();
        let is_same = there.iter().eq(wanted.iter().map(|pair| &pair.target));
        let mut kept = Vec::new();
        if !is_same {
            let set: HashSet<Entity> = match wanted.len() > LINEAR {
                true => wanted.iter().map(|pair| pair.target).collect(),
                false => HashSet::default(),
            };
            let is_wanted = |target: Entity| match set.is_empty() {
                true => wanted.iter().any(|pair| pair.target == target),
                false => set.contains(&target),
            };
            for &target in &there {
                if is_wanted(target) {
                    kept.push(target);
                } else if !index.is_exclusive() {
                    difference.remove(store, StoredPair { source, relation, target });
                }
            }
        }
        for &pair in wanted {
            let value = self.values.get(&canonical(store, pair));
            let is_there = is_same || index.has(source, pair.target);
            if is_there && value.is_none_or(|value| self.is_unchanged(world, store, pair, value)) {
                continue;
            }
            let value_type = value.map(|value| ValueType {
                type_id: value.column.value_type(),
                name: value.column.value_name(),
            });
            difference.new.push((pair, value_type));
            if !is_there {
                kept.push(pair.target);
            }
        }
        // Pairs of a symmetric relation come with those of other sources.
        let is_in_order = !index.is_symmetric() && kept.iter().eq(wanted.iter().map(|pair| &pair.target));
        if !is_same && !is_in_order {
            let order = wanted.iter().map(|pair| pair.target).collect();
            difference.orders.push(PairOrder {
                relation,
                entity: source,
                direction: Direction::Targets,
                order,
            });
        }
    }

    /// Whether a pair that is there has this value.
    fn is_unchanged(
        &self,
        world: &World,
        store: &PairStore,
        pair: StoredPair,
        wanted: &WantedValue<'_>,
    ) -> bool {
        if let Some(adopted) = store.registry().entry(pair.relation).adopted {
            let component = (adopted.get)(world, pair.source);
            return component.is_some_and(|component| {
                adopted.column.is_equal(world, component, wanted.value()) == Some(true)
            });
        }
        let row = store.relation(pair.relation).row(pair.source, pair.target);
        let column = store.column_of(pair.relation, pair.source, pair.target);
        let Some((row, column)) = row.zip(column).filter(|(_, column)| *column == wanted.column) else {
            return false;
        };
        if wanted.row == Some(row)
            && let Some((since, ticks)) = self.unchanged_since.zip(column.ticks(world, row))
        {
            let now = world.read_change_tick();
            if !ticks.added.is_newer_than(since, now) && !ticks.changed.is_newer_than(since, now) {
                return true;
            }
        }
        let value = column.get(world, row);
        value.is_some_and(|value| column.is_equal(world, value, wanted.value()) == Some(true))
    }
}

impl Difference {
    fn remove(&mut self, store: &PairStore, pair: StoredPair) {
        match store.registry().entry(pair.relation).adopted {
            Some(adopted) => self.components.push((adopted, pair)),
            None => self.dropped.push(pair),
        }
    }
}

impl Request for Restoration<'_> {
    fn plan(
        &self,
        world: &World,
        store: &PairStore,
        ends: EndCheck<'_>,
    ) -> Result<InsertPlan, InsertPairError> {
        self.check_relations(world, store)?;
        self.check_exclusive(world, store)?;
        let mut difference = Difference::default();
        self.find_unwanted(store, &mut difference);
        for wanted in self.pairs.chunk_by(|a, b| (a.relation, a.source) == (b.relation, b.source)) {
            self.compare(world, store, wanted, &mut difference);
        }
        let mut plan = plan_whole(world, store, &self.relations, difference.new, ends)?;
        // A pair of an exclusive relation that is both directions of a symmetric one gives way already.
        let gone: HashSet<StoredPair> = plan.removals.iter().copied().collect();
        plan.dropped = with_mirrors(store, difference.dropped);
        plan.dropped.retain(|pair| !gone.contains(pair));
        plan.adopted_dropped = difference.components;
        plan.orders = difference.orders;
        plan.orders.extend(self.orders.iter().cloned());
        check_whole(world, store, &mut plan)?;
        self.counts.set(count(store, &plan));
        Ok(plan)
    }

    fn value(
        &mut self,
        world: &World,
        store: &PairStore,
        pair: StoredPair,
    ) -> Result<ValueSource, InsertPairError> {
        let refused = |reason: String| InsertPairError::Refused {
            pair: attempted(world, store, pair),
            reason: PairRefusal::new(reason),
        };
        let wanted = self.values.remove(&canonical(store, pair));
        let Some(WantedValue { column, value, .. }) = wanted else {
            return Err(refused("its value was asked for twice".into()));
        };
        let value = match value {
            WantedSource::Owned(value) => Some(value),
            WantedSource::Lent(value) => column.duplicate(world, &**value),
        };
        let value = value.ok_or_else(|| refused(format!("`{}` cannot be copied", column.value_name())))?;
        Ok(ValueSource::Default(validated(world, store, pair, value)?))
    }

    fn keeps(&self, pair: StoredPair) -> bool {
        self.wanted(pair.relation, pair.source).contains(&pair)
    }
}

/// The direction of a symmetric pair by which its value is found.
fn canonical(store: &PairStore, pair: StoredPair) -> StoredPair {
    if pair.source > pair.target && store.relation(pair.relation).is_symmetric() {
        return StoredPair { source: pair.target, target: pair.source, ..pair };
    }
    pair
}

fn count(store: &PairStore, plan: &InsertPlan) -> Restored {
    let adopted = plan.adopted.iter().map(|(insertion, _)| insertion);
    let all = plan.insertions.iter().chain(adopted.clone());
    let (replaced, inserted): (Vec<_>, Vec<_>) = all.partition(|insertion| insertion.replaced);
    let has_other = |pair: StoredPair| store.relation(pair.relation).has_any(pair.source);
    let replacing = adopted.filter(|insertion| !insertion.replaced && has_other(insertion.pair)).count();
    Restored {
        inserted: inserted.len(),
        replaced: replaced.len(),
        removed: plan.removals.len() + plan.dropped.len() + plan.adopted_dropped.len() + replacing,
    }
}
