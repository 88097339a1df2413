//! Making the pairs of several relations what they were: all of them, or none.

use super::{
    change::{Request, execute},
    ends::EndCheck,
    error::{AttemptedPair, InsertPairError, PairRole, attempted},
    plan::{InsertPlan, PairOrder, plan_whole},
    remove::with_mirrors,
    value::{ValueSource, ValueType, validated},
    whole::check_whole,
};
use crate::{
    fetch,
    id::{RelationId, StoredPair},
    relation::{Adopted, BoxedValue, ColumnRef, EntityName, PairRefusal, RelationEntry},
    store::PairStore,
    traverse::Direction,
};
use alloc::{borrow::Cow, format, string::String, vec::Vec};
use bevy_ecs::{
    change_detection::Tick,
    entity::{Entity, EntityHashMap, EntityHashSet},
    world::World,
};
use bevy_platform::collections::{HashMap, HashSet};
use core::{
    any::{Any, TypeId},
    cell::{Cell, OnceCell, RefCell},
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
    /// The row that it was copied from, if it was and that can be told apart from others.
    pub(crate) row: Option<u32>,
}

pub(crate) enum WantedSource<'a> {
    /// To be copied.
    Lent(&'a BoxedValue),
    /// To be taken.
    Owned(BoxedValue),
}

impl WantedValue<'_> {
    /// A value that was copied from no row.
    pub(crate) fn owned(column: ColumnRef, value: BoxedValue) -> Self {
        Self { column, value: WantedSource::Owned(value), row: None }
    }

    fn value(&self) -> &(dyn Any + Send + Sync) {
        match &self.value {
            WantedSource::Lent(value) => &***value,
            WantedSource::Owned(value) => &**value,
        }
    }
}

/// The pairs that relations are to have.
pub(crate) struct Restoration<'a> {
    pub(super) relations: Vec<RelationId>,
    /// Entity and type of each, to find out whether its number was given to another.
    identities: Vec<(Entity, Option<TypeId>)>,
    /// The sources whose pairs these are; `None` for all.
    pub(super) scope: Option<EntityHashSet>,
    pub(super) wanted: Vec<WantedPairs<'a>>,
    /// Values that are not in parallel with their pairs.
    values: HashMap<StoredPair, WantedValue<'a>>,
    /// The orders of sources.
    pub(super) orders: Vec<PairOrder>,
    /// Values whose rows have older ticks are as they were.
    unchanged_since: Option<Tick>,
    counts: Cell<Restored>,
    /// Pairs that differ by their values, with the numbers of these: of the relation in `wanted`, and in there.
    places: RefCell<HashMap<StoredPair, [usize; 2]>>,
    /// All pairs, once they are needed.
    kept: OnceCell<HashSet<StoredPair>>,
}

/// The pairs that a relation is to have.
pub(crate) struct WantedPairs<'a> {
    pub(crate) relation: RelationId,
    /// Those of one source one after the other, each once, in the order of targets; those of a symmetric relation in both
    /// directions, if both sources are in the scope.
    pub(crate) pairs: Cow<'a, [(Entity, Entity)]>,
    /// In parallel with the pairs, or empty. If the relation is symmetric, values are given by
    /// [`Restoration::set_value`].
    pub(crate) values: Vec<Option<WantedValue<'a>>>,
}

impl WantedPairs<'_> {
    fn iter(&self) -> impl Iterator<Item = StoredPair> {
        let relation = self.relation;
        self.pairs.iter().map(move |&(source, target)| StoredPair { source, relation, target })
    }
}

/// What a restoration differs in from the pairs that are there.
#[derive(Default)]
pub(super) struct Difference {
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
            wanted: Vec::new(),
            values: HashMap::default(),
            orders: Vec::new(),
            unchanged_since,
            counts: Cell::default(),
            places: RefCell::default(),
            kept: OnceCell::new(),
        }
    }

    /// Adds all pairs of a relation.
    pub(crate) fn push(&mut self, pairs: WantedPairs<'a>) {
        self.wanted.push(pairs);
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

    fn pairs(&self) -> impl Iterator<Item = StoredPair> {
        self.wanted.iter().flat_map(WantedPairs::iter)
    }

    /// Makes the pairs so.
    ///
    /// # Errors
    /// The first rule that is broken by what would be there; then nothing has changed.
    pub(crate) fn execute(mut self, world: &mut World) -> Result<Restored, InsertPairError> {
        let Some(store) = fetch::store(world) else { return Ok(Restored::default()) };
        // It stands for all of them in errors that concern no pair in particular.
        let any = self.pairs().next().or_else(|| {
            self.relations.iter().find_map(|&relation| {
                let (source, target) = store.relation(relation).iter().next()?;
                Some(StoredPair { source, relation, target })
            })
        });
        let Some(any) = any else { return Ok(Restored::default()) };
        if let Some(inserted) = self.insert_missing(world) {
            return Ok(Restored { inserted, ..Restored::default() });
        }
        execute(world, any, &mut self, EndCheck::Now)?;
        Ok(self.counts.get())
    }

    /// Whether these are all pairs of a source.
    pub(crate) fn is_in_scope(&self, source: Entity) -> bool {
        self.scope.as_ref().is_none_or(|scope| scope.contains(&source))
    }

    /// # Errors
    /// If a relation is gone.
    pub(super) fn check_relations(&self, world: &World, store: &PairStore) -> Result<(), InsertPairError> {
        for (&id, &(entity, type_id)) in self.relations.iter().zip(&self.identities) {
            let entry = store.registry().get(id);
            let is_same = |entry: &RelationEntry| {
                if type_id.is_some() { entry.type_id == type_id } else { entry.entity == entity }
            };
            if !entry.is_some_and(is_same) {
                let pair = self.pairs().find(|pair| pair.relation == id);
                let ends = pair.map_or((entity, entity), |pair| (pair.source, pair.target));
                let pair = AttemptedPair::new(world, store, ends.0, entity, ends.1);
                return Err(InsertPairError::Dead { pair, dead: PairRole::Relation });
            }
        }
        Ok(())
    }

    /// # Errors
    /// If a source of an exclusive relation is to have several targets.
    fn check_exclusive(&self, world: &World, store: &PairStore) -> Result<(), InsertPairError> {
        for wanted in &self.wanted {
            let index = store.relation(wanted.relation);
            let relation = wanted.relation;
            let refused = |source, first: Entity, second| {
                let pair = attempted(world, store, StoredPair { source, relation, target: second });
                Err(InsertPairError::Exclusive { pair, other: EntityName::new(world, first) })
            };
            if index.is_exclusive() && index.is_symmetric() {
                let mut targets = EntityHashMap::<Entity>::default();
                let both = |&(source, target): &(Entity, Entity)| [(source, target), (target, source)];
                for (source, target) in wanted.pairs.iter().flat_map(both) {
                    let other = *targets.entry(source).or_insert(target);
                    if other != target {
                        return refused(source, other, target);
                    }
                }
            } else if index.is_exclusive() {
                // Those of one source are neighbors.
                let mut neighbors = wanted.pairs.windows(2);
                if let Some(&[(source, first), (_, second)]) =
                    neighbors.find(|pairs| pairs[0].0 == pairs[1].0 && pairs[0].1 != pairs[1].1)
                {
                    return refused(source, first, second);
                }
            }
        }
        Ok(())
    }

    /// The pairs of sources that are to have none. `seen` is the number of pairs that the others have.
    fn find_unwanted(
        &self,
        store: &PairStore,
        relation: RelationId,
        wanted: &[(Entity, Entity)],
        seen: usize,
        difference: &mut Difference,
    ) {
        let index = store.relation(relation);
        if seen == index.len() {
            return;
        }
        let mut sources = Vec::new();
        match &self.scope {
            Some(scope) if scope.len() < index.len() => {
                sources.extend(scope.iter().copied().filter(|&source| index.has_any(source)));
                sources.sort_unstable_by_key(key);
            }
            _ => index.sources_into(&mut sources),
        }
        // Those of a snapshot are in this order already, unless they are others now.
        let mut wanted: Vec<Entity> = wanted.chunk_by(|a, b| a.0 == b.0).map(|pairs| pairs[0].0).collect();
        wanted.sort_unstable_by_key(key);
        let mut wanted = wanted.into_iter().peekable();
        sources.retain(|&source| {
            while wanted.next_if(|wanted| key(wanted) < key(&source)).is_some() {}
            wanted.peek() != Some(&source) && self.is_in_scope(source)
        });
        for source in sources {
            let targets = index.targets(source);
            targets.for_each(|target| difference.remove(store, StoredPair { source, relation, target }));
        }
    }

    /// The removals of pairs of sources that are to have none come first. `seen` is what [`compare_all`](Self::compare_all)
    /// has returned, in parallel with `wanted`.
    fn with_unwanted(&self, store: &PairStore, seen: &[usize], difference: Difference) -> Difference {
        let mut unwanted = Difference::default();
        for &relation in &self.relations {
            let number = self.wanted.iter().position(|wanted| wanted.relation == relation);
            let (wanted, seen) = number.map_or((&[][..], 0), |at| (&self.wanted[at].pairs[..], seen[at]));
            self.find_unwanted(store, relation, wanted, seen, &mut unwanted);
        }
        unwanted.dropped.extend(difference.dropped);
        unwanted.components.extend(difference.components);
        Difference { dropped: unwanted.dropped, components: unwanted.components, ..difference }
    }

    /// What the pairs of the relation `wanted[number]` differ in, for sources that are to have some. Returns how many pairs
    /// these sources have.
    pub(super) fn compare_all(
        &self,
        world: &World,
        store: &PairStore,
        number: usize,
        difference: &mut Difference,
    ) -> usize {
        let WantedPairs { relation, pairs, values } = &self.wanted[number];
        let index = store.relation(*relation);
        let has_values = !values.is_empty() || !self.values.is_empty();
        let (mut seen, mut start) = (0, 0);
        for wanted in pairs.chunk_by(|a, b| a.0 == b.0) {
            let there = index.targets(wanted[0].0);
            seen += there.len();
            let is_same = there.eq(wanted.iter().map(|&(_, target)| target));
            if !is_same || has_values {
                self.compare(world, store, (number, start..start + wanted.len()), is_same, difference);
            }
            start += wanted.len();
        }
        seen
    }

    /// What the pairs of a source differ in: those in a range of `wanted[number]`. `is_same` if the targets are there, in their order.
    fn compare(
        &self,
        world: &World,
        store: &PairStore,
        (number, range): (usize, Range<usize>),
        is_same: bool,
        difference: &mut Difference,
    ) {
        let WantedPairs { relation, pairs, values } = &self.wanted[number];
        let (relation, wanted) = (*relation, &pairs[range.clone()]);
        let Some(&(source, _)) = wanted.first() else { return };
        let index = store.relation(relation);
        // The targets as they will be, without an order.
        let mut targets = match is_same {
            true => Vec::new(),
            false => difference.remove_unwanted(store, (source, relation), wanted),
        };
        for (at, &(_, target)) in range.zip(wanted) {
            let pair = StoredPair { source, relation, target };
            let own = values.get(at).and_then(Option::as_ref);
            let value = own.or_else(|| self.values.get(&canonical(store, pair)));
            let is_there = is_same || index.has(source, target);
            if is_there && value.is_none_or(|value| self.is_unchanged(world, store, pair, value)) {
                continue;
            }
            if own.is_some() {
                self.places.borrow_mut().insert(pair, [number, at]);
            }
            difference.new.push((pair, value.map(|value| ValueType::of_column(value.column))));
            if !is_there {
                targets.push(target);
            }
        }
        // Pairs of a symmetric relation come with those of other sources.
        let is_in_order = !index.is_symmetric() && targets.iter().eq(wanted.iter().map(|(_, target)| target));
        if !is_same && !is_in_order {
            let order = wanted.iter().map(|&(_, target)| target).collect();
            difference.orders.push(PairOrder {
                relation,
                entity: source,
                direction: Direction::Targets,
                order,
            });
        }
    }

    /// Whether a pair that is there has this value.
    pub(super) fn is_unchanged(
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
    pub(super) fn is_empty(&self) -> bool {
        let Self { new, dropped, components, orders } = self;
        new.is_empty() && dropped.is_empty() && components.is_empty() && orders.is_empty()
    }

    /// Removes the pairs of a source that are not wanted. Returns the targets that it keeps.
    fn remove_unwanted(
        &mut self,
        store: &PairStore,
        (source, relation): (Entity, RelationId),
        wanted: &[(Entity, Entity)],
    ) -> Vec<Entity> {
        let index = store.relation(relation);
        let set: EntityHashSet = match wanted.len() > LINEAR {
            true => wanted.iter().map(|&(_, target)| target).collect(),
            false => EntityHashSet::default(),
        };
        let is_wanted = |target: Entity| match set.is_empty() {
            true => wanted.iter().any(|&(_, wanted)| wanted == target),
            false => set.contains(&target),
        };
        let mut kept = Vec::new();
        for target in index.targets(source) {
            if is_wanted(target) {
                kept.push(target);
            } else if !index.is_exclusive() {
                self.remove(store, StoredPair { source, relation, target });
            }
        }
        kept
    }

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
        self.places.borrow_mut().clear();
        let mut difference = Difference::default();
        let seen: Vec<usize> = (0..self.wanted.len())
            .map(|number| self.compare_all(world, store, number, &mut difference))
            .collect();
        let difference = self.with_unwanted(store, &seen, difference);
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
        let wanted = match self.places.get_mut().get(&pair) {
            Some(&[number, at]) => self.wanted[number].values[at].take(),
            None => self.values.remove(&canonical(store, pair)),
        };
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
        self.kept.get_or_init(|| self.pairs().collect()).contains(&pair)
    }
}

/// By which sources are ordered, as in the index.
fn key(source: &Entity) -> (u32, u32) {
    (source.index_u32(), source.generation().to_bits())
}

/// The direction of a symmetric pair by which its value is found.
fn canonical(store: &PairStore, pair: StoredPair) -> StoredPair {
    store.mirror_of(pair).filter(|mirror| mirror.source < pair.source).unwrap_or(pair)
}

fn count(store: &PairStore, plan: &InsertPlan) -> Restored {
    let (replaced, inserted): (Vec<_>, Vec<_>) =
        plan.all_insertions().partition(|insertion| insertion.replaced);
    let has_other = |pair: StoredPair| store.relation(pair.relation).has_any(pair.source);
    let adopted = plan.adopted.iter().map(|(insertion, _)| insertion);
    let replacing = adopted.filter(|insertion| !insertion.replaced && has_other(insertion.pair)).count();
    Restored {
        inserted: inserted.len(),
        replaced: replaced.len(),
        removed: plan.removals.len() + plan.dropped.len() + plan.adopted_dropped.len() + replacing,
    }
}
