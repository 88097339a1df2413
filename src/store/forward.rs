//! The forward index of a relation: from a source to its targets.
//!
//! Two layouts behind one interface. An exclusive relation keeps the target of each source, in eight bytes, and eight
//! more apart that a loop over living sources does not read; any other keeps sixteen, enough for one pair, and moves a
//! source with more pairs to a list of its own. Each pair remembers its place in the target's list of sources, which
//! makes unlinking independent of the number of sources.

mod fault;
mod reader;

pub(crate) use reader::{ExclusiveReader, Reader, Upward};

use super::{
    HashIndex,
    pages::Pages,
    reverse::{Moved, Reverse, live_places},
    tombstones::{LiveIter, Tombstones},
};
use alloc::{boxed::Box, vec::Vec};
use bevy_ecs::entity::{Entity, EntityGeneration, EntityIndex};

/// Lists longer than this find a target by hash.
const LINEAR: usize = 16;

#[inline]
fn generation(entity: Entity) -> u32 {
    entity.generation().to_bits()
}

/// One pair in the list of a source.
#[derive(Clone, Copy)]
pub(crate) struct Edge {
    pub(crate) target: Entity,
    /// Place in the target's list of sources.
    place: u32,
}

/// The targets of one source of a relation that is not exclusive. Keeps insertion order.
#[derive(Default)]
pub(crate) struct TargetList {
    edges: Vec<Edge>,
    long: Option<Box<LongList>>,
}

/// What only long lists have.
#[derive(Default)]
struct LongList {
    by_target: HashIndex,
    tombstones: Tombstones,
}

/// The keys of [`LongList::by_target`].
fn keys(edges: &[Edge]) -> impl Fn(usize) -> u64 {
    |at| edges[at].target.to_bits()
}

impl LongList {
    /// Indexes a list without tombstones anew.
    fn index(&mut self, edges: &[Edge]) {
        self.by_target.clear();
        for at in 0..edges.len() {
            self.by_target.insert(at, keys(edges));
        }
    }
}

impl TargetList {
    fn find(&self, target: Entity) -> Option<usize> {
        match &self.long {
            Some(long) => long.by_target.get(target.to_bits(), keys(&self.edges)),
            None => self.edges.iter().position(|edge| edge.target == target),
        }
    }

    fn len(&self) -> usize {
        self.edges.len() - self.tombstones().map_or(0, Tombstones::count)
    }

    fn tombstones(&self) -> Option<&Tombstones> {
        self.long.as_deref().map(|long| &long.tombstones)
    }

    fn push(&mut self, edge: Edge) {
        self.edges.push(edge);
        if let Some(long) = &mut self.long {
            long.by_target.insert(self.edges.len() - 1, keys(&self.edges));
        } else if self.edges.len() > LINEAR {
            self.long.insert(Box::default()).index(&self.edges);
        }
    }

    /// Removes the edge to a target and returns its place in the target's list, and whether it was the last.
    fn remove_target(&mut self, target: Entity) -> Option<(u32, bool)> {
        let place = self.remove(self.find(target)?);
        // A list is given up only when it is empty: a source that had several targets may have them again.
        Some((place, self.edges.is_empty()))
    }

    /// Removes an edge and returns its place in the target's list.
    fn remove(&mut self, at: usize) -> u32 {
        let edge = self.edges[at];
        let Some(long) = &mut self.long else {
            self.edges.remove(at);
            return edge.place;
        };
        long.by_target.remove(edge.target.to_bits(), keys(&self.edges));
        let len = self.edges.len() - long.tombstones.bury(at, self.edges.len());
        self.edges.truncate(len);
        if len == 0 {
            self.long = None;
        } else if long.tombstones.should_compact(len) {
            let mut live = live_places(&long.tombstones);
            self.edges.retain(|_| live());
            drop(live);
            long.tombstones.clear();
            long.index(&self.edges);
        }
        edge.place
    }
}

/// The slot of a source of a relation that is not exclusive.
#[derive(Clone, Copy)]
struct ManySlot {
    /// Bits of the only target, or the number of the source's list.
    word: u64,
    /// Place in the only target's list of sources, or [`LIST`] or [`EMPTY`].
    place: u32,
    /// Of the source.
    generation: u32,
}

/// The slot's word is the number of a list.
const LIST: u32 = u32::MAX;
/// The source has no pair.
const EMPTY: u32 = u32::MAX - 1;

impl ManySlot {
    /// Whether it is in use, and that of this source.
    #[inline]
    fn is_of(self, source: Entity) -> bool {
        self.place != EMPTY && self.generation == generation(source)
    }
}

impl Default for ManySlot {
    fn default() -> Self {
        Self { word: 0, place: EMPTY, generation: 0 }
    }
}

/// Forward index of an exclusive relation.
#[derive(Default)]
pub(crate) struct ExclusiveForward {
    /// Bits of the target; 0, which no entity has, means no target.
    targets: Pages<u64>,
    ends: Pages<SourceEnd>,
}

/// What else is kept of a source with one target.
#[derive(Clone, Copy, Default)]
struct SourceEnd {
    /// Place in the target's list of sources.
    place: u32,
    /// Of the source.
    generation: u32,
}

impl ExclusiveForward {
    /// Where the source is in the list of its target. `None` if the slot is that of another with the same index.
    #[inline]
    fn place(&self, source: Entity) -> Option<u32> {
        let end = self.ends.get(source.index_u32());
        (end.generation == generation(source)).then_some(end.place)
    }

    #[inline]
    fn target(&self, source: Entity) -> Option<Entity> {
        let target = Entity::try_from_bits(self.targets.get(source.index_u32()))?;
        self.place(source).map(|_| target)
    }

    /// Notes that a source has come to the list of a target.
    #[inline]
    fn set(&mut self, source: Entity, place: u32) {
        *self.ends.get_mut(source.index_u32()) = SourceEnd { place, generation: generation(source) };
    }
}

/// Forward index of any other relation.
#[derive(Default)]
pub(crate) struct ManyForward {
    slots: Pages<ManySlot>,
    lists: Vec<TargetList>,
    free: Vec<u32>,
}

/// What a source of a relation that is not exclusive has.
enum Held<'a> {
    None,
    One(Entity, u32),
    List(&'a TargetList),
}

impl ManyForward {
    #[inline]
    fn held(&self, source: Entity) -> Held<'_> {
        self.held_in(self.slots.get(source.index_u32()), source)
    }

    /// What a slot says, if it is that of `source`.
    #[inline]
    fn held_in(&self, slot: ManySlot, source: Entity) -> Held<'_> {
        if !slot.is_of(source) {
            Held::None
        } else if slot.place == LIST {
            Held::List(&self.lists[slot.word as usize])
        } else {
            // A slot in use has an entity; asking instead of asserting costs less.
            Entity::try_from_bits(slot.word).map_or(Held::None, |target| Held::One(target, slot.place))
        }
    }

    /// Adds a pair unless it is there. True if it was added.
    #[inline(always)]
    fn insert(&mut self, reverse: &mut Reverse, source: Entity, target: Entity) -> bool {
        let slot = self.slots.get_mut(source.index_u32());
        if slot.place == EMPTY {
            let place = reverse.push(target, source);
            *slot = ManySlot { word: target.to_bits(), place, generation: generation(source) };
            return true;
        }
        if slot.place != LIST && slot.word == target.to_bits() {
            return false;
        }
        self.insert_further(reverse, source, target)
    }

    /// [`insert`](Self::insert) for a source that has another target.
    fn insert_further(&mut self, reverse: &mut Reverse, source: Entity, target: Entity) -> bool {
        let slot = self.slots.get_mut(source.index_u32());
        if slot.place != LIST {
            let first = Edge { target: Entity::from_bits(slot.word), place: slot.place };
            let list = self.free.pop().unwrap_or_else(|| {
                self.lists.push(TargetList::default());
                self.lists.len() as u32 - 1
            });
            slot.word = u64::from(list);
            slot.place = LIST;
            self.lists[list as usize].push(first);
        }
        let list = &mut self.lists[slot.word as usize];
        if list.find(target).is_some() {
            return false;
        }
        list.push(Edge { target, place: reverse.push(target, source) });
        true
    }

    #[inline]
    fn remove(&mut self, source: Entity, target: Entity) -> Option<u32> {
        let slot = self.slots.existing_mut(source.index_u32())?;
        if !slot.is_of(source) {
            return None;
        }
        if slot.place != LIST {
            if slot.word != target.to_bits() {
                return None;
            }
            return Some(core::mem::replace(&mut slot.place, EMPTY));
        }
        let number = slot.word as usize;
        let (place, emptied) = self.lists[number].remove_target(target)?;
        if emptied {
            slot.place = EMPTY;
            self.lists[number] = TargetList::default();
            self.free.push(number as u32);
        }
        Some(place)
    }

    /// Puts the targets of a source into another order. `order` must be a permutation of them.
    fn reorder(&mut self, source: Entity, order: &[Entity]) {
        let Some(slot) = self.slots.existing_mut(source.index_u32()) else { return };
        if !slot.is_of(source) || slot.place != LIST {
            return;
        }
        let list = &mut self.lists[slot.word as usize];
        list.edges = order.iter().filter_map(|&target| Some(list.edges[list.find(target)?])).collect();
        if let Some(long) = &mut list.long {
            long.tombstones.clear();
            long.index(&list.edges);
        }
    }

    #[inline]
    fn set_place(&mut self, source: Entity, target: Entity, place: u32) {
        let Some(slot) = self.slots.existing_mut(source.index_u32()) else { return };
        if slot.place == LIST {
            let list = &mut self.lists[slot.word as usize];
            if let Some(at) = list.find(target) {
                list.edges[at].place = place;
            }
        } else {
            slot.place = place;
        }
    }
}

/// From a source to its targets.
pub(crate) enum Forward {
    Exclusive(ExclusiveForward),
    Many(ManyForward),
}

impl Forward {
    pub(crate) fn new(exclusive: bool) -> Self {
        if exclusive {
            Self::Exclusive(ExclusiveForward::default())
        } else {
            Self::Many(ManyForward::default())
        }
    }

    /// The place of `source` in the list of `target`, if there is such a pair.
    #[inline]
    pub(crate) fn find(&self, source: Entity, target: Entity) -> Option<u32> {
        match self {
            Self::Exclusive(forward) => {
                let is_target = forward.targets.get(source.index_u32()) == target.to_bits();
                is_target.then(|| forward.place(source)).flatten()
            }
            Self::Many(forward) => match forward.held(source) {
                Held::None => None,
                Held::One(own, place) => (own == target).then_some(place),
                Held::List(list) => list.find(target).map(|at| list.edges[at].place),
            },
        }
    }

    /// Number of targets.
    #[inline]
    pub(crate) fn len(&self, source: Entity) -> usize {
        match self {
            Self::Exclusive(forward) => usize::from(forward.target(source).is_some()),
            Self::Many(forward) => match forward.held(source) {
                Held::None => 0,
                Held::One(..) => 1,
                Held::List(list) => list.len(),
            },
        }
    }

    #[inline]
    pub(crate) fn has_any(&self, source: Entity) -> bool {
        match self {
            Self::Exclusive(forward) => forward.target(source).is_some(),
            Self::Many(forward) => forward.slots.get(source.index_u32()).is_of(source),
        }
    }

    /// The target inserted first.
    #[inline]
    pub(crate) fn first(&self, source: Entity) -> Option<Entity> {
        match self {
            Self::Exclusive(forward) => forward.target(source),
            Self::Many(forward) => match forward.held(source) {
                Held::None => None,
                Held::One(target, _) => Some(target),
                Held::List(list) => {
                    let at = list
                        .tombstones()
                        .map_or(Some(0), |tombstones| tombstones.first_live(list.edges.len()))?;
                    list.edges.get(at).map(|edge| edge.target)
                }
            },
        }
    }

    /// The only target. `None` if there is no target, or more than one.
    #[inline]
    pub(crate) fn only(&self, source: Entity) -> Option<Entity> {
        match self {
            Self::Exclusive(forward) => forward.target(source),
            Self::Many(forward) => match forward.held(source) {
                Held::One(target, _) => Some(target),
                _ => None,
            },
        }
    }

    pub(crate) fn nth(&self, source: Entity, nth: usize) -> Option<Entity> {
        match self {
            Self::Exclusive(forward) if nth == 0 => forward.target(source),
            Self::Exclusive(_) => None,
            Self::Many(forward) => match forward.held(source) {
                Held::None => None,
                Held::One(target, _) => (nth == 0).then_some(target),
                Held::List(list) => {
                    let len = list.edges.len();
                    let at =
                        list.tombstones().map_or(Some(nth), |tombstones| tombstones.nth_live(nth, len))?;
                    list.edges.get(at).map(|edge| edge.target)
                }
            },
        }
    }

    /// All targets, in insertion order.
    #[inline]
    pub(crate) fn targets(&self, source: Entity) -> TargetIter<'_> {
        match self {
            Self::Exclusive(forward) => TargetIter::one(forward.target(source)),
            Self::Many(forward) => match forward.held(source) {
                Held::None => TargetIter::none(),
                Held::One(target, _) => TargetIter::one(Some(target)),
                Held::List(list) => TargetIter::list(list),
            },
        }
    }

    /// Adds a pair on both sides unless it is there. True if it was added. An exclusive relation must have no
    /// other target for the source.
    #[inline(always)]
    pub(crate) fn insert(&mut self, reverse: &mut Reverse, source: Entity, target: Entity) -> bool {
        match self {
            Self::Exclusive(forward) => {
                let slot = forward.targets.get_mut(source.index_u32());
                if core::mem::replace(slot, target.to_bits()) == target.to_bits()
                    && forward.place(source).is_some()
                {
                    return false;
                }
                forward.set(source, reverse.push(target, source));
                true
            }
            Self::Many(forward) => forward.insert(reverse, source, target),
        }
    }

    /// Forgets a pair that is known to be there, if the relation is exclusive; finds out, if not.
    #[inline]
    pub(crate) fn remove(&mut self, source: Entity, target: Entity) -> Option<u32> {
        match self {
            Self::Exclusive(forward) => {
                let ExclusiveForward { targets, ends } = forward;
                let slot = targets.existing_mut(source.index_u32())?;
                let end = ends.get(source.index_u32());
                if *slot != target.to_bits() || end.generation != generation(source) {
                    return None;
                }
                *slot = 0;
                Some(end.place)
            }
            Self::Many(forward) => forward.remove(source, target),
        }
    }

    /// Forgets the pairs of all sources of a target.
    pub(crate) fn remove_all(&mut self, sources: &[Entity], target: Entity) {
        match self {
            Self::Exclusive(forward) => {
                for source in sources {
                    if let Some(slot) = forward.targets.existing_mut(source.index_u32()) {
                        *slot = 0;
                    }
                }
            }
            Self::Many(forward) => {
                for &source in sources {
                    forward.remove(source, target);
                }
            }
        }
    }

    /// Replaces the target of a source of an exclusive relation, if it has one; false if not.
    #[inline]
    pub(crate) fn retarget(&mut self, reverse: &mut Reverse, source: Entity, target: Entity) -> bool {
        let Self::Exclusive(forward) = self else { return false };
        let Some(place) = forward.place(source) else { return false };
        let slot = forward.targets.get_mut(source.index_u32());
        let old = Entity::try_from_bits(*slot);
        let Some(list) = old.and_then(|old| reverse.list_of_index(old.index_u32())) else { return false };
        *slot = target.to_bits();
        if let Moved::Last(last) = reverse.remove(list, place) {
            forward.ends.get_mut(last.index_u32()).place = place;
        }
        forward.set(source, reverse.push(target, source));
        true
    }

    /// Puts the targets of a source into another order. `order` must be a permutation of them.
    pub(crate) fn reorder(&mut self, source: Entity, order: &[Entity]) {
        if let Self::Many(forward) = self {
            forward.reorder(source, order);
        }
    }

    /// Notes that a pair has moved to another place in its target's list.
    #[inline]
    pub(crate) fn set_place(&mut self, source: Entity, target: Entity, place: u32) {
        match self {
            Self::Exclusive(forward) => forward.ends.get_mut(source.index_u32()).place = place,
            Self::Many(forward) => forward.set_place(source, target, place),
        }
    }

    /// How many slots [`sources`](Self::sources) looks at, empty ones as well.
    pub(crate) fn slots(&self) -> usize {
        match self {
            Self::Exclusive(forward) => forward.targets.capacity(),
            Self::Many(forward) => forward.slots.capacity(),
        }
    }

    /// Every source, by index.
    pub(crate) fn sources(&self) -> Vec<Entity> {
        let mut sources = Vec::new();
        self.sources_into(&mut sources);
        sources
    }

    pub(crate) fn sources_into(&self, into: &mut Vec<Entity>) {
        let entity = |index, generation| {
            let generation = EntityGeneration::from_bits(generation);
            EntityIndex::from_raw_u32(index).map(|index| Entity::from_index_and_generation(index, generation))
        };
        match self {
            Self::Exclusive(forward) => {
                let used = forward.targets.iter().filter(|(_, target)| *target != 0);
                into.extend(used.filter_map(|(index, _)| entity(index, forward.ends.get(index).generation)));
            }
            Self::Many(forward) => {
                let used = forward.slots.iter().filter(|(_, slot)| slot.place != EMPTY);
                into.extend(used.filter_map(|(index, slot)| entity(index, slot.generation)));
            }
        }
    }
}

/// Iterator over the targets of a source, in insertion order: see [`RelationView::targets`](crate::traverse::RelationView::targets).
#[derive(Clone)]
pub struct TargetIter<'w> {
    one: Option<Entity>,
    list: LiveIter<'w, Edge>,
}

impl<'w> TargetIter<'w> {
    #[inline]
    pub(crate) fn none() -> Self {
        Self::one(None)
    }

    #[inline]
    pub(crate) fn one(target: Option<Entity>) -> Self {
        Self { one: target, list: LiveIter::new(&[], None) }
    }

    #[inline]
    fn list(list: &'w TargetList) -> Self {
        Self { one: None, list: LiveIter::new(&list.edges, list.tombstones()) }
    }
}

impl Iterator for TargetIter<'_> {
    type Item = Entity;

    #[inline]
    fn next(&mut self) -> Option<Entity> {
        self.one.take().or_else(|| self.list.next().map(|edge| edge.target))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::from(self.one.is_some()) + self.list.len();
        (left, Some(left))
    }

    #[inline]
    fn fold<B, F: FnMut(B, Entity) -> B>(self, init: B, mut f: F) -> B {
        let folded = match self.one {
            Some(one) => f(init, one),
            None => init,
        };
        self.list.fold(folded, |folded, edge| f(folded, edge.target))
    }
}

impl ExactSizeIterator for TargetIter<'_> {}

impl core::fmt::Debug for TargetIter<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}
