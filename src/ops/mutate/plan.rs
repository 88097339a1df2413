//! What an insertion means: every rule of every relation trait, checked before anything changes.
//!
//! [`plan`] turns one request into everything that has to happen: pairs that give way (exclusive), pairs that are its
//! companions (symmetric, with). If any of them is not allowed, nothing changes. A plan holds for the world that
//! it was made for: it names the entities that must get the marker first, which runs code of the user, and then it has
//! to be made anew. Between the last plan and its execution nothing can change the world.

use super::{
    bare::is_bare_base,
    ends::{EndCheck, EndPlan},
    error::{InsertPairError, PairRole, attempted},
    value::{GivenValue, ValueSource, ValueType, make_default, validate},
};
use crate::{
    fetch,
    id::{RelationId, StoredPair},
    relation::{Adopted, CHILD_OF, ColumnRef, EntityName, IS_A, Prefab, TraitsError},
    store::PairStore,
    traverse::{ChildrenAccess, Direction, EntityPath, Relations, path_up},
};
use alloc::vec::Vec;
use bevy_ecs::{entity::Entity, world::World};
use bevy_platform::collections::{HashMap, HashSet};
use smallvec::SmallVec;

/// A list of more entities than this is not searched for one of them.
const MAX_SEARCHED: usize = 8;

/// A pair that is to be inserted.
pub(crate) struct Insertion {
    pub(crate) pair: StoredPair,
    pub(crate) value: ValueSource,
    pub(crate) column: Option<ColumnRef>,
    /// The pair is there; its value is replaced.
    pub(crate) replaced: bool,
}

/// The order that pairs of one entity are to have once they are there.
#[derive(Clone)]
pub(crate) struct PairOrder {
    pub(crate) relation: RelationId,
    pub(crate) entity: Entity,
    /// Which pairs: `Targets` for those that the entity has, `Sources` for those in which it is the target.
    pub(crate) direction: Direction,
    /// The other ends. Of these, those that are not there are passed over; others stay where they are.
    pub(crate) order: Vec<Entity>,
}

/// Everything that has to happen for one request.
#[derive(Default)]
pub(crate) struct InsertPlan {
    /// Pairs that give way.
    pub(crate) removals: SmallVec<[StoredPair; 4]>,
    /// Pairs that are to be removed for their own sake.
    pub(crate) dropped: Vec<StoredPair>,
    /// The same, of pairs that are kept in a Bevy component of their source.
    pub(crate) adopted_dropped: Vec<(Adopted, StoredPair)>,
    pub(crate) insertions: SmallVec<[Insertion; 2]>,
    /// Pairs that are kept in a Bevy component of their source.
    pub(crate) adopted: Vec<(Insertion, Adopted)>,
    /// Entities that must get the marker before the plan holds.
    pub(crate) unmarked: SmallVec<[Entity; 2]>,
    /// What the constraints on the ends of the pairs require.
    pub(super) ends: EndPlan,
    /// Relation types that must get an entity before the plan holds.
    pub(crate) lost: SmallVec<[RelationId; 1]>,
    /// A pair that is to be inserted has a key, which another pair may have.
    pub(crate) has_keys: bool,
    /// The pairs were there before, or are said to be: an instance that gets its base back has what is copied from it.
    pub(super) restores: bool,
    pub(crate) orders: Vec<PairOrder>,
}

impl InsertPlan {
    /// Whether nothing has to be [prepared](super::ready::prepare) for it.
    pub(super) fn holds(&self) -> bool {
        self.unmarked.is_empty() && self.lost.is_empty()
    }

    /// Every pair that is to be inserted, wherever it is kept.
    pub(super) fn all_insertions(&self) -> impl Iterator<Item = &Insertion> {
        self.insertions.iter().chain(self.adopted.iter().map(|(insertion, _)| insertion))
    }

    /// [`all_insertions`](Self::all_insertions), to change them.
    pub(super) fn all_insertions_mut(&mut self) -> impl Iterator<Item = &mut Insertion> {
        self.insertions.iter_mut().chain(self.adopted.iter_mut().map(|(insertion, _)| insertion))
    }
}

/// Which companions come with the pair of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::ops) enum Companions {
    All,
    /// Those of the other direction of a symmetric pair.
    OfMirror,
    None,
}

/// The pairs that a plan has met.
#[derive(Default)]
struct PlannedPairs {
    few: SmallVec<[StoredPair; 8]>,
    /// All of them, once they are more than a few.
    many: HashSet<StoredPair>,
}

impl PlannedPairs {
    fn contains(&self, pair: StoredPair) -> bool {
        if self.many.is_empty() { self.few.contains(&pair) } else { self.many.contains(&pair) }
    }

    /// True if it is met for the first time.
    fn insert(&mut self, pair: StoredPair) -> bool {
        if self.contains(pair) {
            return false;
        }
        if self.many.is_empty() && self.few.len() < 8 {
            self.few.push(pair);
            return true;
        }
        self.many.extend(self.few.drain(..));
        self.many.insert(pair)
    }
}

/// Builds a plan pair by pair.
struct Planner<'a> {
    world: &'a World,
    store: &'a PairStore,
    given: Option<ValueType>,
    /// When the ends of the pairs are looked at.
    ends: EndCheck<'a>,
    /// See [`plan_whole`].
    whole: Option<&'a [RelationId]>,
    companions: Companions,
    plan: InsertPlan,
    met: PlannedPairs,
    /// Pairs that give way.
    gone: PlannedPairs,
    /// Companions that are still to be looked at.
    queue: SmallVec<[StoredPair; 2]>,
}

/// Checks a request against every rule but those of values, which [`make_values`] checks.
///
/// # Errors
/// The first rule that is broken, by the pair itself or by a companion.
///
/// # Complexity
/// O(companions + `with`s that lead to them), beside the search for a cycle.
pub(crate) fn plan(
    world: &World,
    store: &PairStore,
    pair: StoredPair,
    given: Option<ValueType>,
    ends: EndCheck<'_>,
    companions: Companions,
) -> Result<InsertPlan, InsertPairError> {
    let mut planner = Planner::new(world, store, ends);
    planner.given = given;
    planner.companions = companions;
    planner.add(pair, true)?;
    planner.finish()
}

/// [`plan`] for several pairs, each with what is known of its value. `restores`: see [`InsertPlan::restores`].
///
/// # Errors
/// The first rule that is broken, by one of the pairs or by a companion: also if two of them need the only target that
/// a source of an exclusive relation can have.
pub(super) fn plan_all(
    world: &World,
    store: &PairStore,
    pairs: impl IntoIterator<Item = (StoredPair, Option<ValueType>)>,
    ends: EndCheck<'_>,
    restores: bool,
) -> Result<InsertPlan, InsertPairError> {
    let mut planner = Planner::new(world, store, ends);
    planner.plan.restores = restores;
    planner.plan_all(pairs)
}

/// [`plan_all`] for pairs that were there before, and that are all that there is of some relations: no companions of
/// these are added. What depends on other pairs, one-of and acyclic, is left to the caller.
///
/// # Errors
/// As for [`plan_all`].
pub(super) fn plan_whole(
    world: &World,
    store: &PairStore,
    relations: &[RelationId],
    pairs: impl IntoIterator<Item = (StoredPair, Option<ValueType>)>,
    ends: EndCheck<'_>,
) -> Result<InsertPlan, InsertPairError> {
    let mut planner = Planner::new(world, store, ends);
    planner.whole = Some(relations);
    planner.plan.restores = true;
    planner.plan_all(pairs)
}

/// # Errors
/// If two of the planned pairs need the only target that a source can have.
fn check_exclusive(world: &World, store: &PairStore, plan: &InsertPlan) -> Result<(), InsertPairError> {
    let mut targets = HashMap::<(RelationId, Entity), Entity>::default();
    for insertion in plan.all_insertions().filter(|insertion| !insertion.replaced) {
        let StoredPair { source, relation, target } = insertion.pair;
        if store.relation(relation).is_exclusive()
            && let Some(other) = targets.insert((relation, source), target)
        {
            return Err(InsertPairError::Exclusive {
                pair: attempted(world, store, insertion.pair),
                other: EntityName::new(world, other),
            });
        }
    }
    Ok(())
}

/// Makes the values that are missing, and lets relations look at their values. Both run users' code, which sees the
/// world as it is before the insertion and cannot change it.
///
/// # Errors
/// The first value that is refused, or for which there is no default.
pub(crate) fn make_values(
    world: &World,
    store: &PairStore,
    plan: &mut InsertPlan,
    mut given: Option<&mut GivenValue<'_>>,
) -> Result<(), InsertPairError> {
    for insertion in plan.all_insertions_mut() {
        match (&insertion.value, given.as_deref_mut(), insertion.column) {
            (ValueSource::Given, Some(given), _) => validate(world, store, insertion.pair, &mut given.value)?,
            (ValueSource::Missing, _, Some(column)) => {
                insertion.value = ValueSource::Default(make_default(world, store, insertion.pair, column)?);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Checks the rules for a pair whose ends are alive, without its value, and for its companions if it `has_companions`.
///
/// # Errors
/// The first rule that is broken.
pub(in crate::ops) fn check_rules(
    world: &World,
    pair: StoredPair,
    has_companions: bool,
) -> Result<(), InsertPairError> {
    let Some(store) = fetch::store(world) else { return Ok(()) };
    let mut planner = Planner::new(world, store, EndCheck::Later(None));
    planner.rules(pair)?;
    if has_companions {
        planner.add_companions(pair);
    }
    planner.finish().map(drop)
}

impl<'a> Planner<'a> {
    fn new(world: &'a World, store: &'a PairStore, ends: EndCheck<'a>) -> Self {
        Self {
            world,
            store,
            given: None,
            ends,
            whole: None,
            companions: Companions::All,
            plan: InsertPlan::default(),
            met: PlannedPairs::default(),
            gone: PlannedPairs::default(),
            queue: SmallVec::new(),
        }
    }

    /// The plan of several pairs.
    fn plan_all(
        mut self,
        pairs: impl IntoIterator<Item = (StoredPair, Option<ValueType>)>,
    ) -> Result<InsertPlan, InsertPairError> {
        for (pair, given) in pairs {
            self.given = given;
            self.add(pair, true)?;
        }
        let (world, store) = (self.world, self.store);
        let plan = self.finish()?;
        check_exclusive(world, store, &plan)?;
        Ok(plan)
    }

    /// Adds the companions of what was added, and theirs.
    fn finish(mut self) -> Result<InsertPlan, InsertPairError> {
        let mut next = 0;
        while let Some(&pair) = self.queue.get(next) {
            self.add(pair, false)?;
            next += 1;
        }
        Ok(self.plan)
    }

    fn add(&mut self, pair: StoredPair, first: bool) -> Result<(), InsertPairError> {
        if !self.met.insert(pair) {
            return Ok(());
        }
        self.alive(pair)?;
        let index = self.store.relation(pair.relation);
        let there = index.has(pair.source, pair.target);
        let column = self.store.column_of(pair.relation, pair.source, pair.target);
        if !there {
            self.rules(pair)?;
        }
        let is_constrained = !self.store.registry().entry(pair.relation).constraints.is_empty();
        if is_constrained && (!there || self.store.unchecked(pair).is_some()) {
            self.plan.ends.add(self.world, self.store, pair, there, self.ends)?;
        }
        let value = self.value(pair, column, first, there)?;
        if there && matches!(value, ValueSource::Nothing) {
            return Ok(());
        }
        let insertion = Insertion { pair, value, column, replaced: there };
        let has_companions = !there && (!first || self.companions == Companions::All);
        let entry = self.store.registry().entry(pair.relation);
        if let Some(adopted) = entry.adopted {
            self.plan.adopted.push((insertion, adopted));
            if has_companions {
                self.add_companions(pair);
            }
            return Ok(());
        }
        if !there {
            self.drop_replaced(pair);
        }
        self.plan.insertions.push(insertion);
        self.plan.has_keys |= entry.traits.key_rule().is_some();
        if let Some(mirror) = self.store.mirror_of(pair) {
            self.add_mirror(mirror, column, there);
        }
        if has_companions {
            self.add_companions(pair);
        }
        Ok(())
    }

    /// All three entities must be alive, and what they need to have a pair of the relation.
    fn alive(&mut self, pair: StoredPair) -> Result<(), InsertPairError> {
        let StoredPair { source, relation, target } = pair;
        let entry = self.store.registry().entry(relation);
        if !entry.has_traits {
            return Err(TraitsError::Unsettled { relation: entry.name() }.into());
        }
        let is_alive = |entity| self.world.entities().contains_spawned(entity);
        let dead = |dead| InsertPairError::Dead { pair: attempted(self.world, self.store, pair), dead };
        // The store drops the record of an entity that goes, also if an observer's panic keeps Bevy from finishing the despawn.
        if !is_alive(entry.entity) || !self.store.participants().is_relation(entry.entity) {
            if entry.type_id.is_none() {
                return Err(dead(PairRole::Relation));
            }
            self.plan.lost.push(relation);
        }
        for (role, end) in [(PairRole::Source, source), (PairRole::Target, target)] {
            let is_marked = self.store.participants().is_marked(end);
            if !is_alive(end) {
                return Err(dead(role));
            }
            // One that is listed twice among many is marked once all the same.
            let unmarked = &self.plan.unmarked;
            if !is_marked && (unmarked.len() > MAX_SEARCHED || !unmarked.contains(&end)) {
                self.plan.unmarked.push(end);
            }
        }
        Ok(())
    }

    /// Final, one-of and acyclic.
    fn rules(&self, pair: StoredPair) -> Result<(), InsertPairError> {
        let entry = self.store.registry().entry(pair.relation);
        let error = || attempted(self.world, self.store, pair);
        if pair.relation == IS_A && self.store.registry().is_final(pair.target) {
            return Err(InsertPairError::Final { pair: error() });
        }
        // What is copied may contain such an instance, which was made when that was allowed, and ends.
        if pair.relation == IS_A
            && self.is_part_of_prefab(pair.source, pair.target)
            && !self.plan.restores
            && !is_bare_base(self.world, pair.source, pair.target)
        {
            return Err(InsertPairError::InsidePrefab { pair: error() });
        }
        if let Some(parent) = entry.one_of
            && self.whole.is_none()
            && !self.store.relation(CHILD_OF).has(pair.target, parent)
        {
            let parent = self.store.registry().entity_name(self.world, parent);
            return Err(InsertPairError::NotOneOf { pair: error(), parent });
        }
        if pair.source == pair.target && entry.adopted.is_some_and(|adopted| !adopted.allow_self) {
            return Err(InsertPairError::SelfReference { pair: error() });
        }
        if self.store.value_types_differ(pair.relation, [pair.source, pair.target]) {
            return Err(InsertPairError::TwoValueTypes { pair: error() });
        }
        if self.whole.is_some() {
            return Ok(());
        }
        // Of one acyclic relation a plan has this pair and, if it is symmetric, its mirror.
        let mirror = pair.mirror();
        let planned = self.met.contains(mirror).then_some((mirror.source, mirror.target));
        if entry.traits.is_acyclic()
            && let Some(path) =
                path_up(self.store.relation(pair.relation), planned.as_slice(), pair.target, pair.source)
        {
            let mut entities = alloc::vec![pair.source];
            entities.extend(path);
            return Err(InsertPairError::Cycle {
                pair: error(),
                path: EntityPath::new(self.world, entities),
            });
        }
        Ok(())
    }

    /// Whether `entity` lies below `prefab`, which is one.
    fn is_part_of_prefab(&self, entity: Entity, prefab: Entity) -> bool {
        let relations = Relations::new(self.store, Some(ChildrenAccess::World(self.world)));
        let children = relations.view(CHILD_OF);
        self.world.get::<Prefab>(prefab).is_some() && children.is_ancestor(prefab, entity)
    }

    /// Finds out where the value of a pair comes from.
    fn value(
        &self,
        pair: StoredPair,
        column: Option<ColumnRef>,
        first: bool,
        there: bool,
    ) -> Result<ValueSource, InsertPairError> {
        let adopted = self.store.registry().entry(pair.relation).adopted;
        let error = || attempted(self.world, self.store, pair);
        let given = if first { self.given } else { None };
        match (adopted.map_or(column, |adopted| Some(adopted.column)), given) {
            (None, None) => Ok(ValueSource::Nothing),
            (None, Some(given)) => Err(InsertPairError::UnexpectedValue { pair: error(), found: given.name }),
            (Some(column), Some(given)) if column.value_type() != given.type_id => {
                let (expected, found) = (column.value_name(), given.name);
                Err(InsertPairError::WrongValueType { pair: error(), expected, found })
            }
            (Some(column), _) if adopted.is_none() && !column.exists(self.world) => {
                Err(InsertPairError::ValuesRemoved { pair: error(), expected: column.value_name() })
            }
            // The component is there already and says nothing but its target.
            (Some(_), _) if there && adopted.is_some_and(|adopted| !adopted.has_fields) => {
                Ok(ValueSource::Nothing)
            }
            (Some(_), Some(_)) => Ok(ValueSource::Given),
            // A Bevy relationship makes itself from its target.
            (Some(_), None) if there || adopted.is_some() => Ok(ValueSource::Nothing),
            (Some(column), None) if !column.has_default(self.world) => {
                Err(InsertPairError::MissingValue { pair: error(), expected: column.value_name() })
            }
            (Some(_), None) => Ok(ValueSource::Missing),
        }
    }

    /// Removes the pair that the source of a new one has of an exclusive relation, in both directions if it is symmetric.
    fn drop_replaced(&mut self, new: StoredPair) {
        let index = self.store.relation(new.relation);
        if !index.is_exclusive() {
            return;
        }
        let Some(target) = index.first_target(new.source) else { return };
        for pair in self.store.both_ways(StoredPair { target, ..new }) {
            if self.gone.insert(pair) {
                self.plan.removals.push(pair);
            }
        }
    }

    /// Adds the other direction of the symmetric pair that was added last: it has the same value.
    fn add_mirror(&mut self, mirror: StoredPair, column: Option<ColumnRef>, there: bool) {
        self.met.insert(mirror);
        if !there {
            self.drop_replaced(mirror);
        }
        self.plan.insertions.push(Insertion {
            pair: mirror,
            value: ValueSource::Shared,
            column,
            replaced: there,
        });
        if !there && self.companions != Companions::None {
            self.add_companions(mirror);
        }
    }

    /// Adds the companions of a pair.
    fn add_companions(&mut self, pair: StoredPair) {
        let with = self.store.registry().entry(pair.relation).with.iter();
        let with = with.filter(|relation| !self.whole.is_some_and(|whole| whole.contains(relation)));
        self.queue.extend(with.map(|&relation| StoredPair { relation, ..pair }));
    }
}
