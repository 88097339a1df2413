//! Changing several pairs at once: all of them, or none.

use super::{
    apply::apply,
    ends::EndCheck,
    error::{InsertPairError, attempted, store_removed},
    event::Removal,
    keyed::free_keys,
    plan::{InsertPlan, PairOrder, make_values, plan_all},
    ready::{mark_ends, plan_until_it_holds},
    remove::{Selection, remove_selected, with_mirrors},
    value::{TypedValue, ValueSource, ValueType, validated},
    writer::{FastPath, PairWriter},
};
use crate::{
    fetch,
    id::{RelationId, StoredPair},
    ops::register::relation::try_relation_id,
    relation::{BoxedValue, EntityName, PairRefusal, Relation},
    store::PairStore,
    traverse::Direction,
};
use alloc::{boxed::Box, format, vec::Vec};
use bevy_ecs::{
    entity::{Entity, EntityHashMap},
    world::World,
};
use smallvec::SmallVec;

/// What is to be changed.
pub(super) trait Request {
    /// A plan without the values that the request brings.
    fn plan(
        &self,
        world: &World,
        store: &PairStore,
        ends: EndCheck<'_>,
    ) -> Result<InsertPlan, InsertPairError>;

    /// The value that the request brings for a pair.
    fn value(
        &mut self,
        world: &World,
        store: &PairStore,
        pair: StoredPair,
    ) -> Result<ValueSource, InsertPairError>;

    /// Whether a pair that is there is to stay.
    fn keeps(&self, _pair: StoredPair) -> bool {
        false
    }
}

/// Plans a request and carries it out. `pair` stands for it in an error that concerns all of it.
pub(super) fn execute(
    world: &mut World,
    pair: StoredPair,
    request: &mut impl Request,
    ends: EndCheck<'_>,
) -> Result<(), InsertPairError> {
    let mut plan = plan_until_it_holds(world, pair, |world, store| request.plan(world, store, ends))?;
    let store = fetch::store(world).ok_or_else(|| store_removed(world, pair.source, pair.target))?;
    for insertion in plan.all_insertions_mut() {
        if matches!(insertion.value, ValueSource::Given) {
            insertion.value = request.value(world, store, insertion.pair)?;
        }
    }
    make_values(world, store, &mut plan, None)?;
    if plan.has_keys {
        free_keys(world, store, &mut plan, None, |pair| request.keeps(pair))?;
    }
    apply(world, pair, plan, None)
}

/// A pair that a source is to have.
pub(crate) struct WantedPair {
    pub(crate) target: Entity,
    /// The value that it brings. Without one a pair that is there keeps its own, and a new one gets a default.
    pub(crate) value: Option<TypedValue>,
}

/// Makes the targets that `source` has in `R` exactly those of `pairs`. Pairs that are there already stay as they are.
///
/// # Errors
/// The first rule that is broken by one of the pairs; then nothing has changed.
pub(crate) fn replace_targets<R: Relation>(
    world: &mut World,
    source: Entity,
    pairs: impl IntoIterator<Item = (R, Entity)>,
    ends: EndCheck<'_>,
) -> Result<(), InsertPairError> {
    let relation = try_relation_id::<R>(world)?;
    let pairs: Vec<(R, Entity)> = pairs.into_iter().collect();
    if size_of::<R>() == 0 {
        let targets: SmallVec<[Entity; 8]> = pairs.iter().map(|pair| pair.1).collect();
        let tick = world.change_tick();
        let writer = fetch::store_mut(world).map(PairWriter::new);
        if writer.is_some_and(|writer| writer.try_replace_targets(relation, source, &targets, tick)) {
            return Ok(());
        }
    }
    let pairs = pairs.into_iter().map(|(value, target)| {
        let value = (size_of::<R>() > 0)
            .then(|| TypedValue { value_type: ValueType::of::<R>(), value: Box::new(value) });
        WantedPair { target, value }
    });
    NewPairs::new(source, relation, Present::Keep, pairs).execute(world, ends)
}

/// Makes the pairs that `source` has of a relation exactly these, with the values that they bring and in this order.
/// Nothing is instantiated for pairs of `IsA`.
///
/// # Errors
/// The first rule that is broken by one of the pairs; then nothing has changed.
#[cfg(feature = "bevy_reflect")]
pub(crate) fn set_pairs(
    world: &mut World,
    source: Entity,
    relation: RelationId,
    pairs: Vec<WantedPair>,
) -> Result<(), InsertPairError> {
    NewPairs::new(source, relation, Present::Update, pairs).execute(world, EndCheck::Now)
}

/// What to do about wanted pairs that are there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Present {
    /// They keep their values and their order.
    Keep,
    /// They get the values that they bring, and the order of the list.
    #[cfg(feature = "bevy_reflect")]
    Update,
}

/// The pairs that a source is to have of a relation.
struct NewPairs {
    relation: RelationId,
    source: Entity,
    present: Present,
    /// With the values, until they are taken.
    pairs: Vec<WantedPair>,
    /// The numbers of the targets in that list.
    numbers: EntityHashMap<usize>,
}

impl NewPairs {
    /// Of several pairs with one target, the last brings the value, as if they were inserted one after the other.
    fn new(
        source: Entity,
        relation: RelationId,
        present: Present,
        pairs: impl IntoIterator<Item = WantedPair>,
    ) -> Self {
        let mut new =
            Self { relation, source, present, pairs: Vec::new(), numbers: EntityHashMap::default() };
        for pair in pairs {
            let number = *new.numbers.entry(pair.target).or_insert(new.pairs.len());
            match new.pairs.get_mut(number) {
                Some(earlier) => *earlier = pair,
                None => new.pairs.push(pair),
            }
        }
        new
    }

    fn execute(mut self, world: &mut World, ends: EndCheck<'_>) -> Result<(), InsertPairError> {
        let (source, relation) = (self.source, self.relation);
        match self.pairs.first() {
            Some(&WantedPair { target, .. }) => {
                execute(world, StoredPair { source, relation, target }, &mut self, ends)
            }
            None => {
                remove_all_targets(world, source, relation);
                Ok(())
            }
        }
    }

    fn pair_with(&self, target: Entity) -> StoredPair {
        StoredPair { source: self.source, relation: self.relation, target }
    }
}

impl Request for NewPairs {
    fn plan(
        &self,
        world: &World,
        store: &PairStore,
        ends: EndCheck<'_>,
    ) -> Result<InsertPlan, InsertPairError> {
        let index = store.relation(self.relation);
        if let [other, pair, ..] = &*self.pairs
            && index.is_exclusive()
        {
            let pair = attempted(world, store, self.pair_with(pair.target));
            return Err(InsertPairError::Exclusive { pair, other: EntityName::new(world, other.target) });
        }
        let changes = |pair: &&WantedPair| {
            let is_there = index.has(self.source, pair.target);
            !is_there || (self.present != Present::Keep && pair.value.is_some())
        };
        let new = self
            .pairs
            .iter()
            .filter(changes)
            .map(|pair| (self.pair_with(pair.target), pair.value.as_ref().map(|value| value.value_type)));
        let mut plan = plan_all(world, store, new, ends, self.present != Present::Keep)?;
        // The pair of an exclusive relation gives way in the plan.
        if !index.is_exclusive() {
            let old = index.targets(self.source).filter(|target| !self.numbers.contains_key(target));
            plan.dropped = with_mirrors(store, old.map(|target| self.pair_with(target)).collect());
        }
        let order = || self.pairs.iter().map(|pair| pair.target);
        if self.present != Present::Keep && !index.targets(self.source).eq(order()) {
            plan.orders.push(PairOrder {
                relation: self.relation,
                entity: self.source,
                direction: Direction::Targets,
                order: order().collect(),
            });
        }
        Ok(plan)
    }

    fn value(
        &mut self,
        world: &World,
        store: &PairStore,
        pair: StoredPair,
    ) -> Result<ValueSource, InsertPairError> {
        let number = self.numbers.get(&pair.target);
        let value = number.and_then(|&number| self.pairs[number].value.take());
        match value {
            Some(value) => Ok(ValueSource::Default(validated(world, store, pair, value.value)?)),
            None => unreachable!("a value is asked for once per pair that brings one"),
        }
    }

    fn keeps(&self, pair: StoredPair) -> bool {
        pair == self.pair_with(pair.target) && self.numbers.contains_key(&pair.target)
    }
}

/// Removes all pairs that a source has of a relation.
fn remove_all_targets(world: &mut World, source: Entity, relation: RelationId) {
    let Some(store) = fetch::store(world) else { return };
    let targets = store.relation(relation).targets(source);
    let pairs = targets.map(|target| StoredPair { source, relation, target }).collect();
    remove_selected(world, Selection { tags: Vec::new(), pairs }, Removal::REMOVED);
}

/// Gives every source of `from` the target `to` instead, with the value that the pair has. Returns their number.
///
/// # Errors
/// The first rule that is broken by one of the pairs; then nothing has changed.
pub(crate) fn move_sources<R: Relation>(
    world: &mut World,
    from: Entity,
    to: Entity,
    ends: EndCheck<'_>,
) -> Result<usize, InsertPairError> {
    let relation = try_relation_id::<R>(world)?;
    let Some(store) = fetch::store(world) else { return Ok(0) };
    let index = store.relation(relation);
    let (count, first) = (index.source_count(from), index.sources(from).next());
    match first {
        Some(source) if from != to => {
            let pair = StoredPair { source, relation, target: to };
            match try_move_sources(world, relation, from, to) {
                FastPath::Done => return Ok(count),
                FastPath::NotReady => {
                    if mark_ends(world, pair)?
                        && try_move_sources(world, relation, from, to) == FastPath::Done
                    {
                        return Ok(count);
                    }
                }
                FastPath::Observed
                | FastPath::WithComponents
                | FastPath::Together
                | FastPath::Constrained
                | FastPath::Declined => {}
            }
            execute(world, pair, &mut NewTarget { relation, from, to }, ends)?;
            Ok(count)
        }
        _ => Ok(0),
    }
}

/// [`move_sources`] on the fast path.
fn try_move_sources(world: &mut World, relation: RelationId, from: Entity, to: Entity) -> FastPath {
    let tick = world.change_tick();
    let writer = fetch::store_mut(world).map(PairWriter::new);
    writer.map_or(FastPath::Declined, |writer| writer.try_move_sources(relation, from, to, tick))
}

/// The target that the sources of another are to have.
struct NewTarget {
    relation: RelationId,
    from: Entity,
    to: Entity,
}

impl NewTarget {
    /// The pair that a source has.
    fn old(&self, source: Entity) -> StoredPair {
        StoredPair { source, relation: self.relation, target: self.from }
    }

    /// A copy of the value of a pair, if its relation looks at values: it may adjust this one for the new target.
    fn to_validate(
        &self,
        world: &World,
        store: &PairStore,
        pair: StoredPair,
    ) -> Result<Option<BoxedValue>, InsertPairError> {
        if store.registry().entry(self.relation).validate.is_none() {
            return Ok(None);
        }
        let old = self.old(pair.source);
        let row = store.relation(self.relation).row(old.source, old.target);
        let column = store.column_of(self.relation, old.source, old.target);
        let Some((row, column)) = row.zip(column) else { return Ok(None) };
        let copy = column.get(world, row).and_then(|value| column.copy_value(value));
        copy.map(Some).ok_or_else(|| {
            let reason =
                format!("`validate` needs a copy of its value, and `{}` is not `Clone`", column.value_name());
            InsertPairError::Refused { pair: attempted(world, store, pair), reason: PairRefusal::new(reason) }
        })
    }
}

impl Request for NewTarget {
    fn plan(
        &self,
        world: &World,
        store: &PairStore,
        ends: EndCheck<'_>,
    ) -> Result<InsertPlan, InsertPairError> {
        let Self { relation, from, to } = *self;
        let index = store.relation(relation);
        let new = index.sources(from).filter(|&source| !index.has(source, to)).map(|source| {
            let column = index.row(source, from).and_then(|_| store.column_of(relation, source, from));
            (StoredPair { source, relation, target: to }, column.map(ValueType::of_column))
        });
        let mut plan = plan_all(world, store, new, ends, false)?;
        // The pairs of an exclusive relation give way in the plan.
        if !index.is_exclusive() {
            let old = index.sources(from).map(|source| self.old(source)).collect();
            plan.removals.extend(with_mirrors(store, old));
        }
        Ok(plan)
    }

    fn value(
        &mut self,
        world: &World,
        store: &PairStore,
        pair: StoredPair,
    ) -> Result<ValueSource, InsertPairError> {
        match self.to_validate(world, store, pair)? {
            Some(copy) => Ok(ValueSource::Default(validated(world, store, pair, copy)?)),
            None => Ok(ValueSource::Moved(self.from)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ops::mutate::{ends::EndCheck, insert::insert_typed, plan::Insertion, writer},
        relation::Value,
        store::PairData,
    };
    use alloc::sync::Arc;
    use bevy_ecs::world::DeferredWorld;
    use bevy_relations_macros::Relation;

    #[derive(Relation)]
    #[relation(symmetric)]
    struct Knows(#[expect(dead_code, reason = "its references are counted")] Arc<()>);

    #[test]
    fn a_value_that_was_to_be_moved_stays_where_it_is_if_another_cannot_be_stored() {
        let (mut world, value, other) = (World::new(), Arc::new(()), Arc::new(()));
        let [a, from, to] = [(); 3].map(|()| world.spawn_empty().id());
        insert_typed(&mut world, a, Knows(value.clone()), from, EndCheck::Now).unwrap();
        let relation = try_relation_id::<Knows>(&mut world).unwrap();
        let mut deferred = DeferredWorld::from(&mut world);
        let column = PairData::<Knows>::COLUMN;
        let boxed = Value::Boxed(Box::new(Knows(other.clone())));
        let new = writer::store_value(&mut deferred, column, boxed, None);
        let row = fetch::store(&deferred).unwrap().relation(relation).row(a, from);
        let insertion = |source, target, value| Insertion {
            pair: StoredPair { source, relation, target },
            value,
            column: Some(column),
            replaced: false,
        };
        let insertions = [
            insertion(a, to, ValueSource::Moved(from)),
            insertion(to, a, ValueSource::Nothing),
            insertion(from, to, ValueSource::Nothing),
        ];
        writer::take_back(&mut deferred, &insertions, &[row, row, new]);
        column.drop_removed(&mut deferred);
        assert_eq!((Arc::strong_count(&value), Arc::strong_count(&other)), (2, 1));
        assert!(column.get(&world, row.unwrap()).is_some());
    }
}
