//! The fast path: which changes of a relation's pairs need no more than its index.

use super::{PairStore, Participants, RelationIndex};
use crate::{
    id::{RelationId, StoredPair, StoredTag},
    relation::{IS_A, RelationEntry},
};
use bevy_ecs::{entity::Entity, event::EventKey};

/// The changes for which no rule has to be checked, no value be made and no observer be triggered. Computed when traits
/// or observers change, so that a change of pairs only looks at a bit.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct FastPathFlags(u16);

impl FastPathFlags {
    /// A pair is inserted. That it closes no cycle, and that both ends are marked, has to be looked at each time.
    pub(crate) const INSERT: Self = Self(1);
    /// A pair is removed by its name.
    pub(crate) const REMOVE: Self = Self(1 << 1);
    /// A component that keeps a pair is inserted, and the pair follows it.
    pub(crate) const MIRROR: Self = Self(1 << 2);
    /// A pair goes with one of its ends, or with the component that keeps it.
    pub(crate) const UNLINK: Self = Self(1 << 3);
    /// A pair with a value of the relation's own type is inserted, or its value is replaced; no other pair gives way.
    pub(crate) const INSERT_VALUE: Self = Self(1 << 4);
    /// A pair with such a value is removed by its name.
    pub(crate) const REMOVE_VALUE: Self = Self(1 << 5);
    /// As [`INSERT`](Self::INSERT), but for the components of the source, which are to be written after it.
    pub(crate) const INSERT_IN_TABLE: Self = Self(1 << 6);
    /// As [`REMOVE`](Self::REMOVE), but for those.
    pub(crate) const REMOVE_IN_TABLE: Self = Self(1 << 7);
    /// A pair of `IsA` is inserted for which nothing is instantiated. Its target must not be final, which is checked each
    /// time, as is what [`INSERT`](Self::INSERT) needs.
    pub(crate) const INSERT_BASE: Self = Self(1 << 8);
    /// A pair is inserted together with its other direction or its companions. Each must meet what [`INSERT`](Self::INSERT)
    /// needs.
    pub(crate) const INSERT_TOGETHER: Self = Self(1 << 9);
    /// A pair is removed by its name, with its other direction.
    pub(crate) const REMOVE_TOGETHER: Self = Self(1 << 10);
    /// A pair with a value of the type that the relation carries is inserted, or its value is replaced, also in both directions; no
    /// other pair gives way. Components of the source may have to be written after it.
    pub(crate) const INSERT_GIVEN: Self = Self(1 << 11);
    /// A pair with such a value is removed by its name, with its other direction if it has one.
    pub(crate) const REMOVE_GIVEN: Self = Self(1 << 12);
    /// As [`INSERT`](Self::INSERT), but for the components that the ends must have, or must not have: they have to be looked at each
    /// time. So do those of [`INSERT_GIVEN`](Self::INSERT_GIVEN).
    pub(crate) const INSERT_CONSTRAINED: Self = Self(1 << 13);
    /// As [`INSERT_VALUE`](Self::INSERT_VALUE), but for the components of the ends, and for pairs that have the same key: both have to
    /// be looked at each time.
    pub(crate) const INSERT_VALUE_CHECKED: Self = Self(1 << 14);

    #[inline]
    pub(crate) fn contains(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    fn set(&mut self, flag: Self, on: bool) {
        if on {
            self.0 |= flag.0;
        }
    }

    /// What a relation allows, or will once it `is_used`. One that has lost its entity has to get another first.
    fn of(
        id: RelationId,
        entry: &RelationEntry,
        index: &RelationIndex,
        has_entity: bool,
        is_used: bool,
    ) -> Self {
        let (has_companions, is_symmetric) = (!entry.with.is_empty(), entry.traits.is_symmetric());
        let (is_new, is_constrained) = (!(entry.frozen || is_used), !entry.constraints.is_empty());
        let has_target_rule = entry.traits.one_of_rule().is_some();
        // Beside constraints.
        let has_more_rules = is_new || has_target_rule || has_companions || is_symmetric;
        let has_declared_rules = has_more_rules || is_constrained;
        let has_rules = has_declared_rules || id == IS_A;
        let has_values = entry.data.is_some() || entry.adopted.is_some();
        let is_tag_in_use = !is_new && id != IS_A && !has_values && has_entity;
        let is_plain = !has_rules && !has_values && has_entity;
        let has_rows = index.has_values() || is_used;
        let carries_values = entry.data.is_some() && entry.adopted.is_none() && has_entity && has_rows;
        let takes_values = carries_values && entry.validate.is_none();
        let is_valued = takes_values
            && !has_more_rules
            && id != IS_A
            && entry.data.is_some_and(|data| entry.type_id == Some(data.value_type()));
        // What a pair leaves behind has to be looked at.
        let counts_sources = index.counts_sources;
        let leaves_nothing = !index.has_values() && !counts_sources && !index.despawns_targets;
        let unlink = !index.symmetric && leaves_nothing;
        // Also a pair that has to make way: with a type that has fields as its target it has a value.
        let gives_way = index.exclusive && (counts_sources || index.has_values());
        // Of one that is exclusive as well, pairs of both ends may have to give way.
        let has_both_ways = is_symmetric && !index.exclusive && !index.is_acyclic();
        let has_no_rules_of_given =
            !is_new && !has_target_rule && !has_companions && id != IS_A && entry.traits.key_rule().is_none();
        let mut flags = Self::default();
        flags.set(
            Self::INSERT_GIVEN,
            takes_values && has_no_rules_of_given && (!is_symmetric || has_both_ways),
        );
        flags.set(Self::REMOVE_GIVEN, carries_values && !is_new && id != IS_A && !counts_sources);
        if entry.traits.is_in_table() || entry.mirror.is_some() {
            flags.set(Self::INSERT_IN_TABLE, is_plain && !gives_way);
            flags.set(Self::REMOVE_IN_TABLE, is_plain && unlink);
            return flags;
        }
        flags.set(Self::INSERT, is_plain && !gives_way);
        let is_only_constrained = is_constrained && !has_more_rules && is_tag_in_use;
        flags.set(Self::INSERT_CONSTRAINED, is_only_constrained && !gives_way);
        flags.set(
            Self::INSERT_BASE,
            id == IS_A && !has_declared_rules && !has_values && has_entity && !gives_way,
        );
        // Companions, and rules of the target, are for insertions.
        flags.set(Self::REMOVE, is_tag_in_use && unlink);
        flags.set(
            Self::INSERT_TOGETHER,
            is_tag_in_use
                && !is_constrained
                && !has_target_rule
                && if has_companions { !is_symmetric && !gives_way } else { has_both_ways },
        );
        flags.set(Self::REMOVE_TOGETHER, is_tag_in_use && is_symmetric && leaves_nothing);
        flags.set(Self::MIRROR, !has_rules);
        flags.set(Self::UNLINK, unlink);
        // Another pair may have the key.
        let is_checked = is_constrained || entry.traits.key_rule().is_some();
        flags.set(Self::INSERT_VALUE, is_valued && !is_checked);
        flags.set(Self::INSERT_VALUE_CHECKED, is_valued && is_checked);
        flags.set(Self::REMOVE_VALUE, is_valued && !counts_sources);
        flags
    }

    /// What observers of insertions and of removals stand in the way of. Where a source has one target, an insertion
    /// may remove a pair, too.
    fn declined_for([inserted, removed]: [bool; 2], exclusive: bool) -> Self {
        let mut flags = Self::default();
        flags.set(Self::INSERT, inserted || exclusive && removed);
        flags.set(Self::INSERT_TOGETHER, inserted || exclusive && removed);
        flags.set(Self::INSERT_CONSTRAINED, inserted || exclusive && removed);
        flags.set(Self::REMOVE, removed);
        flags.set(Self::REMOVE_TOGETHER, removed);
        flags.set(Self::MIRROR, inserted || removed);
        flags.set(Self::UNLINK, removed);
        flags.set(Self::INSERT_VALUE, inserted);
        flags.set(Self::INSERT_VALUE_CHECKED, inserted);
        flags.set(Self::INSERT_GIVEN, inserted);
        flags.set(Self::REMOVE_GIVEN, removed);
        flags.set(Self::REMOVE_VALUE, removed);
        flags.set(Self::INSERT_IN_TABLE, inserted || exclusive && removed);
        flags.set(Self::REMOVE_IN_TABLE, removed);
        flags
    }
}

/// The pairs that a change inserts or removes, as far as it matters to observers that are narrowed to a target.
#[derive(Clone, Copy)]
pub(crate) enum Affected {
    /// Those with this target.
    Target(Entity),
    /// Those of this source.
    Source(Entity),
    /// One of this source with this target, in place of the one that the source of an exclusive relation has.
    Insertion(Entity, Entity),
    /// Any that are inserted, each in place of another if the relation is exclusive.
    Insertions,
    /// Any that are removed.
    Removals,
}

/// What the store records of the observers of pairs beside [`RelationIndex::observed`].
#[derive(Default)]
pub(crate) struct ObserverState {
    /// The keys of the two events, insertion and removal.
    keys: [Option<EventKey>; 2],
    /// Observers that Bevy is about to list, and one more once any is narrowed to a target: then a bit is not all that
    /// must be looked at.
    exceptions: u32,
    /// An observer is, or was, narrowed to a target.
    any_narrowed: bool,
}

impl ObserverState {
    /// Bevy is about to list observers.
    fn is_adding(&self) -> bool {
        self.exceptions > u32::from(self.any_narrowed)
    }

    /// Whether observers may stand in the way of a change that the bits of the relation allow.
    #[inline]
    fn decline(&self, index: &RelationIndex, participants: &Participants, affected: Affected) -> bool {
        self.exceptions != 0 && self.may_see(index, participants, affected)
    }

    #[cold]
    fn may_see(&self, index: &RelationIndex, participants: &Participants, affected: Affected) -> bool {
        let narrowed = |target| participants.is_narrowed(target);
        self.is_adding()
            || match affected {
                Affected::Target(target) => narrowed(target),
                Affected::Source(source) => index.targets(source).any(narrowed),
                Affected::Insertion(source, target) => {
                    narrowed(target) || index.exclusive && index.targets(source).any(narrowed)
                }
                // Each target is checked when its relation is noted.
                Affected::Insertions => index.exclusive,
                Affected::Removals => true,
            }
    }
}

impl RelationIndex {
    /// Computes what is looked at from what it depends on.
    fn recompute_fast_path(&mut self) {
        let declined = FastPathFlags::declined_for(self.observed, self.exclusive);
        self.fast_path = self.allowed.without(declined);
    }

    /// Whether changes of pairs take the fast path, as far as no observer is narrowed to a target.
    #[inline]
    pub(crate) fn takes(&self, flag: FastPathFlags) -> bool {
        self.fast_path.contains(flag)
    }

    /// What changes of pairs need no more than the index, but for observers.
    #[inline]
    pub(crate) fn allows(&self, flag: FastPathFlags) -> bool {
        self.allowed.contains(flag)
    }
}

impl PairStore {
    /// [`write_access`](Self::write_access), if a change of the relation's pairs takes the fast path.
    #[inline]
    pub(crate) fn fast_access(
        &mut self,
        id: RelationId,
        flag: FastPathFlags,
        affected: Affected,
    ) -> Option<(&mut RelationIndex, &mut Participants)> {
        let Self { relations, participants, observers, .. } = self;
        let index = &mut relations[id.index()];
        let fast = index.fast_path.contains(flag) && !observers.decline(index, participants, affected);
        fast.then_some((index, participants))
    }

    /// Whether insertions of the relation's pairs take the fast path, or will once it has had a pair.
    pub(crate) fn has_fast_insertions(&self, id: RelationId, flag: FastPathFlags) -> bool {
        let Some(entry) = self.registry.get(id).filter(|_| !self.lacks_pairs_of(id)) else { return false };
        let index = self.relation(id);
        let has_entity = self.participants.is_relation(entry.entity);
        let declined = FastPathFlags::declined_for(index.observed, index.exclusive);
        FastPathFlags::of(id, entry, index, has_entity, true).without(declined).contains(flag)
            && !self.observers.decline(index, &self.participants, Affected::Insertions)
    }

    /// [`tags_access`](Self::tags_access), unless observers stand in the way of the change.
    #[inline]
    pub(crate) fn fast_tags_access(
        &mut self,
        flag: FastPathFlags,
        affected: &[Affected],
    ) -> Option<&mut RelationIndex> {
        let Self { tags, participants, observers, .. } = self;
        let declined = FastPathFlags::declined_for(tags.observed, false).contains(flag)
            || affected.iter().any(|&affected| observers.decline(tags, participants, affected));
        (!declined).then_some(tags)
    }

    /// To be called when what [`FastPathFlags`] are computed from has changed.
    pub(crate) fn refresh_fast_path(&mut self, id: RelationId) {
        let flags = self.registry.get(id).filter(|_| !self.lacks_pairs_of(id)).map(|entry| {
            let has_entity = self.participants.is_relation(entry.entity);
            FastPathFlags::of(id, entry, self.relation(id), has_entity, false)
        });
        let index = self.relation_mut(id);
        index.allowed = flags.unwrap_or_default();
        index.recompute_fast_path();
    }

    /// Whether there may be observers of the insertion, or removal, of a pair.
    #[inline]
    pub(crate) fn is_observed(&self, event: usize, pair: StoredPair) -> bool {
        self.relation(pair.relation).observed[event] || self.is_observed_at(pair.target)
    }

    /// [`is_observed`](Self::is_observed) of tags.
    #[inline]
    pub(crate) fn is_tag_observed(&self, event: usize, tag: StoredTag) -> bool {
        self.tags.observed[event] || self.is_observed_at(tag.tag)
    }

    /// Whether there may be observers of pairs with this target, although there are none of the relation.
    #[inline]
    fn is_observed_at(&self, target: Entity) -> bool {
        self.observers.exceptions != 0
            && (self.observers.is_adding() || self.participants.is_narrowed(target))
    }

    /// Notes whether insertions, and removals, of the pairs of a relation, or of tags, have observers, but for those
    /// that are narrowed to a target. Unless an observer is being added: it may be one of these.
    #[cold]
    pub(crate) fn set_observed(&mut self, id: Option<RelationId>, events: [bool; 2]) {
        if self.observers.is_adding() {
            return;
        }
        let index = match id {
            Some(id) => self.relation_mut(id),
            None => &mut self.tags,
        };
        index.observed = events;
        index.recompute_fast_path();
    }

    /// Notes that a relation may be observed: it is watched by another key.
    pub(crate) fn set_maybe_observed(&mut self, id: RelationId) {
        let index = self.relation_mut(id);
        index.observed = [true; 2];
        index.recompute_fast_path();
    }

    /// Notes that there may be observers of insertions and of removals of pairs of any relation, and of tags.
    pub(crate) fn set_all_maybe_observed(&mut self, events: [bool; 2]) {
        for index in self.relations.iter_mut().chain([&mut self.tags]) {
            for (observed, event) in index.observed.iter_mut().zip(events) {
                *observed |= event;
            }
            index.recompute_fast_path();
        }
    }

    /// Notes that an observer is being added, of which nothing is known yet.
    pub(crate) fn begin_adding_observer(&mut self) {
        self.observers.exceptions += 1;
    }

    /// Notes that an observer is listed by Bevy now, or is gone.
    pub(crate) fn end_adding_observer(&mut self) {
        if self.observers.is_adding() {
            self.observers.exceptions -= 1;
        }
    }

    /// Notes that an observer is narrowed to pairs that name a living entity.
    pub(crate) fn set_narrowed(&mut self, entity: Entity) {
        self.participants.set_narrowed(entity);
        if !self.observers.any_narrowed {
            self.observers.any_narrowed = true;
            self.observers.exceptions += 1;
        }
    }

    pub(crate) fn set_event_keys(&mut self, keys: [EventKey; 2]) {
        self.observers.keys = keys.map(Some);
    }

    /// The key of the event of insertions, or of removals.
    #[inline]
    pub(crate) fn event_key(&self, event: usize) -> Option<EventKey> {
        self.observers.keys[event]
    }
}
