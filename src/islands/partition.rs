//! The islands of one relation, and how they follow its pairs.

use super::{
    id::IslandId,
    search::{self, Pieces},
};
use crate::store::{Change, RelationIndex};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use bevy_ecs::entity::{Entity, EntityHashMap, EntityHashSet};
use core::cmp::Reverse;

/// What has become of the islands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum IslandChange {
    Split { kept: IslandId, new: IslandId },
    Merged { kept: IslandId, gone: IslandId },
    Removed(IslandId),
    Created(IslandId),
    Changed(IslandId),
}

/// Where an entity is.
#[derive(Clone, Copy)]
struct MemberPosition {
    island: IslandId,
    /// In the list of its members.
    place: u32,
}

/// The islands of one relation.
#[derive(Default)]
pub(super) struct Partition {
    positions: EntityHashMap<MemberPosition>,
    islands: BTreeMap<IslandId, Vec<Entity>>,
    /// How many ids were given.
    given: u64,
}

impl Partition {
    pub(super) fn island(&self, entity: Entity) -> Option<IslandId> {
        Some(self.positions.get(&entity)?.island)
    }

    pub(super) fn members(&self, island: IslandId) -> Option<&[Entity]> {
        self.islands.get(&island).map(Vec::as_slice)
    }

    pub(super) fn islands(&self) -> impl ExactSizeIterator<Item = (IslandId, &[Entity])> {
        self.islands.iter().map(|(&id, members)| (id, members.as_slice()))
    }

    /// Makes the islands right for the pairs that there are now, and says what that means for them. `changes` are the pairs that
    /// came and went since the last time, `None` if that is not known.
    ///
    /// First each island is split into its connected components, then these, other islands and new entities are joined along the
    /// other pairs. What happens depends on the islands before and the pairs now, not on
    /// the order of changes.
    pub(super) fn update(&mut self, index: &RelationIndex, changes: Option<&[Change]>) -> Vec<IslandChange> {
        if let Some(&[change]) = changes
            && let Some(change) = self.extend(index, change)
        {
            return Vec::from_iter(change);
        }
        let old = self.given;
        let mut update =
            Update { partition: self, index, old, before: BTreeMap::new(), from: BTreeMap::new() };
        let removed = update.split(changes);
        let merged = update.join(changes);
        update.list(removed, merged)
    }

    /// Follows a pair that came alone, which is most common. Returns what that means for the islands, if anything. `None`, and nothing is
    /// done, if it joins islands or is a pair that went.
    fn extend(&mut self, index: &RelationIndex, change: Change) -> Option<Option<IslandChange>> {
        let Change { source, target, .. } = change;
        if change.is_removal() || !index.has(source, target) {
            return None;
        }
        let (island, change) = match (self.island(source), self.island(target)) {
            (Some(a), Some(b)) => return (a == b).then_some(None),
            (Some(island), None) | (None, Some(island)) => (island, IslandChange::Changed(island)),
            (None, None) => {
                let new = self.new_id();
                (new, IslandChange::Created(new))
            }
        };
        self.add_ends(island, source, target);
        Some(Some(change))
    }

    /// What is wrong, for the checker of invariants.
    pub(super) fn fault(&self, index: &RelationIndex) -> Option<Entity> {
        let mut anew = Self::default();
        anew.update(index, None);
        let of_pairs = index.iter().flat_map(|(source, target)| [source, target]);
        let differs = |&entity: &Entity| {
            let now = self.island(entity).and_then(|island| self.members(island));
            let then = anew.island(entity).and_then(|island| anew.members(island));
            now.is_none_or(|now| then.map(<[_]>::len) != Some(now.len()))
                || now.zip(then).is_some_and(|(now, then)| self.island(then[0]) != self.island(now[0]))
        };
        of_pairs.chain(self.positions.keys().copied()).find(differs)
    }

    /// Adds those ends of a pair that are in no island.
    fn add_ends(&mut self, island: IslandId, source: Entity, target: Entity) {
        for entity in [source, target] {
            if self.island(entity).is_none() {
                self.add(island, entity);
            }
        }
    }

    fn add(&mut self, island: IslandId, entity: Entity) {
        let members = self.islands.entry(island).or_default();
        self.positions.insert(entity, MemberPosition { island, place: members.len() as u32 });
        members.push(entity);
    }

    /// Takes an entity out of its island, which may be left empty.
    fn take(&mut self, entity: Entity) {
        let Some(MemberPosition { island, place }) = self.positions.remove(&entity) else { return };
        let Some(members) = self.islands.get_mut(&island) else { return };
        members.swap_remove(place as usize);
        if let Some(moved) = members.get(place as usize)
            && let Some(position) = self.positions.get_mut(moved)
        {
            position.place = place;
        }
    }

    fn new_id(&mut self) -> IslandId {
        self.given += 1;
        IslandId(self.given)
    }
}

/// An update that is being made.
struct Update<'a> {
    partition: &'a mut Partition,
    index: &'a RelationIndex,
    /// Ids up to this one were given before.
    old: u64,
    /// The islands of before whose members change, with their sizes after the split.
    before: BTreeMap<IslandId, usize>,
    /// The islands of which new ones were pieces.
    from: BTreeMap<IslandId, IslandId>,
}

impl Update<'_> {
    fn is_old(&self, island: IslandId) -> bool {
        island.0 <= self.old
    }

    fn touch(&mut self, island: IslandId) {
        if self.is_old(island) {
            let len = self.partition.members(island).map_or(0, <[_]>::len);
            self.before.entry(island).or_insert(len);
        }
    }

    /// Splits the islands that are not connected any more. Returns those of which nothing is left.
    fn split(&mut self, changes: Option<&[Change]>) -> Vec<IslandId> {
        let mut ends = BTreeMap::<IslandId, Vec<Entity>>::new();
        match changes {
            Some(changes) => {
                let gone =
                    |change: &&Change| change.is_removal() && !self.index.has(change.source, change.target);
                for change in changes.iter().filter(gone) {
                    for end in [change.source, change.target] {
                        if let Some(island) = self.partition.island(end) {
                            ends.entry(island).or_default().push(end);
                        }
                    }
                }
            }
            None => ends.extend(self.partition.islands().map(|(id, members)| (id, members.to_vec()))),
        }
        let mut removed = Vec::new();
        for (island, ends) in ends {
            let is_member = |entity| self.partition.island(entity) == Some(island);
            let Pieces { alone, complete } = search::pieces(self.index, is_member, ends);
            let is_whole = alone.is_empty() && complete.is_empty();
            for entity in alone {
                self.partition.take(entity);
            }
            if self.partition.islands.get(&island).is_some_and(Vec::is_empty) {
                self.partition.islands.remove(&island);
                removed.push(island);
                continue;
            }
            self.separate(island, complete);
            if !is_whole {
                self.touch(island);
            }
        }
        removed
    }

    /// Makes islands of pieces. The largest piece keeps the id; of several, that with the member of lowest index.
    fn separate(&mut self, island: IslandId, mut complete: Vec<Vec<Entity>>) {
        let lowest = |piece: &[Entity]| piece.iter().map(|entity| entity.index_u32()).min();
        let in_pieces: usize = complete.iter().map(Vec::len).sum();
        let rest_len = self.partition.members(island).map_or(0, <[_]>::len) - in_pieces;
        let best = (0..complete.len())
            .max_by_key(|&number| (complete[number].len(), Reverse(lowest(&complete[number]))));
        if let Some(best) = best.filter(|&best| complete[best].len() >= rest_len) {
            // The rest was not visited, but is no larger than what was.
            let visited: EntityHashSet = complete.iter().flatten().copied().collect();
            let members = self.partition.members(island).unwrap_or_default();
            let rest: Vec<Entity> =
                members.iter().copied().filter(|entity| !visited.contains(entity)).collect();
            if complete[best].len() > rest_len || lowest(&complete[best]) < lowest(&rest) {
                complete[best] = rest;
            }
        }
        // In an order that does not depend on how they were found.
        complete.sort_by_cached_key(|piece| lowest(piece));
        for piece in complete {
            let new = self.partition.new_id();
            self.from.insert(new, island);
            for entity in piece {
                self.partition.take(entity);
                self.partition.add(new, entity);
            }
        }
    }

    /// Joins what new pairs connect. Returns which islands of before became part of others.
    fn join(&mut self, changes: Option<&[Change]>) -> Vec<IslandChange> {
        let mut sets = Sets::default();
        match changes {
            Some(changes) => {
                for change in changes {
                    if !change.is_removal() && self.index.has(change.source, change.target) {
                        self.connect(change.source, change.target, &mut sets);
                    }
                }
            }
            None => {
                for (source, target) in self.index.iter() {
                    self.connect(source, target, &mut sets);
                }
            }
        }
        let mut merged = Vec::new();
        for group in sets.groups() {
            self.merge(group, &mut merged);
        }
        merged
    }

    /// Notes that two entities belong together.
    fn connect(&mut self, source: Entity, target: Entity, sets: &mut Sets) {
        let joined = match (self.partition.island(source), self.partition.island(target)) {
            (Some(a), Some(b)) => {
                sets.unite(a, b);
                return;
            }
            (Some(island), None) | (None, Some(island)) => {
                self.touch(island);
                island
            }
            (None, None) => self.partition.new_id(),
        };
        self.partition.add_ends(joined, source, target);
    }

    /// Makes one island of several. The largest of those of before keeps its id, the oldest of several as large.
    fn merge(&mut self, group: Vec<IslandId>, merged: &mut Vec<IslandChange>) {
        let len = |island: IslandId| match self.before.get(&island) {
            Some(&len) => len,
            None => self.partition.members(island).map_or(0, <[_]>::len),
        };
        let old = group.iter().copied().filter(|&island| self.is_old(island));
        let largest = old.max_by_key(|&island| (len(island), Reverse(island)));
        let Some(kept) = largest.or_else(|| group.iter().copied().min()) else { return };
        self.touch(kept);
        for gone in group.into_iter().filter(|&island| island != kept) {
            for entity in self.partition.islands.remove(&gone).unwrap_or_default() {
                self.partition.add(kept, entity);
            }
            if self.is_old(gone) {
                merged.push(IslandChange::Merged { kept, gone });
            } else if let Some(from) = self.from.remove(&gone)
                && !self.is_old(kept)
            {
                // Pieces of two islands make one new island.
                merged.push(IslandChange::Split { kept: from, new: kept });
            }
        }
    }

    /// What has happened, in an order in which it can be followed.
    fn list(self, removed: Vec<IslandId>, merged: Vec<IslandChange>) -> Vec<IslandChange> {
        let is_split = |change: &IslandChange| matches!(change, IslandChange::Split { .. });
        let pieces = self.from.iter().map(|(&new, &kept)| IslandChange::Split { kept, new });
        let joined = merged.iter().copied().filter(is_split);
        let splits: BTreeSet<(IslandId, IslandId)> = pieces
            .chain(joined)
            .filter_map(|change| match change {
                IslandChange::Split { kept, new } => Some((new, kept)),
                _ => None,
            })
            .collect();
        let mut changes: Vec<IslandChange> =
            splits.iter().map(|&(new, kept)| IslandChange::Split { kept, new }).collect();
        changes.extend(merged.iter().copied().filter(|change| !is_split(change)));
        changes.extend(removed.into_iter().map(IslandChange::Removed));
        let new = self.partition.islands.range(IslandId(self.old + 1)..).map(|(&id, _)| id);
        let created =
            new.filter(|&id| splits.range((id, IslandId(0))..).next().is_none_or(|split| split.0 != id));
        changes.extend(created.map(IslandChange::Created));
        let still = self.before.keys().copied().filter(|island| self.partition.islands.contains_key(island));
        changes.extend(still.map(IslandChange::Changed));
        changes
    }
}

/// Islands that belong together.
#[derive(Default)]
struct Sets(BTreeMap<IslandId, IslandId>);

impl Sets {
    fn root(&mut self, mut island: IslandId) -> IslandId {
        while let Some(&parent) = self.0.get(&island)
            && parent != island
        {
            let above = self.0.get(&parent).copied().unwrap_or(parent);
            self.0.insert(island, above);
            island = parent;
        }
        island
    }

    fn unite(&mut self, a: IslandId, b: IslandId) {
        if a == b {
            return;
        }
        let roots = [self.root(a), self.root(b)];
        for island in [a, b] {
            self.0.entry(island).or_insert(island);
        }
        let [low, high] = [roots[0].min(roots[1]), roots[0].max(roots[1])];
        self.0.insert(high, low);
    }

    /// Each set of more than one, in order.
    fn groups(mut self) -> impl Iterator<Item = Vec<IslandId>> {
        let islands: Vec<IslandId> = self.0.keys().copied().collect();
        let mut groups = BTreeMap::<IslandId, Vec<IslandId>>::new();
        for island in islands {
            groups.entry(self.root(island)).or_default().push(island);
        }
        groups.into_values()
    }
}
