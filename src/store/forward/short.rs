//! Lists of a few targets, side by side in lines of memory: reading one takes one line, and the slot that names it.
//!
//! A list has a block of two, four or eight places, and moves to a larger one when it is full. Blocks that are given up are cut
//! into smaller ones where these are wanted; [`ShortLists::is_sparse`] says when everything is worth moving together.

use super::edge::{Edge, NO_ROW};
use alloc::{collections::BTreeMap, format, string::String, vec::Vec};
use bevy_ecs::entity::{Entity, EntityHashSet};
use smallvec::SmallVec;

/// Places of a line, and of the largest block: as many targets as a processor loads at once.
pub(super) const LINE: usize = 8;
/// The sizes of blocks are 2, 4 and 8.
const SIZES: usize = 3;
/// Fewer free places are not worth a move.
const MIN_FREE: usize = 1024;

/// The targets of a line. What stands in places that are free means nothing.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([Entity; LINE]);

/// Where a list is, and how long it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShortList {
    line: u32,
    /// The first place in the line.
    start: u8,
    len: u8,
    /// The number of its block's size: it has `2 << size` places.
    size: u8,
}

impl ShortList {
    /// What [`of_word`](Self::of_word) reads.
    #[inline]
    pub(super) fn to_word(self) -> u64 {
        let [start, len, size] = [self.start, self.len, self.size].map(u64::from);
        u64::from(self.line) | start << 32 | len << 40 | size << 48
    }

    #[inline]
    pub(super) fn of_word(word: u64) -> Self {
        let byte = |at: u32| (word >> at) as u8;
        Self { line: word as u32, start: byte(32), len: byte(40), size: byte(48) }
    }

    #[inline]
    pub(super) fn len(self) -> usize {
        usize::from(self.len)
    }

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.len == 0
    }

    fn capacity(self) -> usize {
        2 << self.size
    }

    #[inline]
    fn start(self) -> usize {
        usize::from(self.start)
    }
}

/// Every list of two to eight targets.
#[derive(Default)]
pub(super) struct ShortLists {
    targets: Vec<Line>,
    /// Of each target, the place of the source in its list of sources. Apart, since it is read only when a pair goes.
    places: Vec<[u32; LINE]>,
    /// The rows of values, as far as lines with values go.
    rows: Vec<[u32; LINE]>,
    /// Blocks that no list has, by size: line and first place.
    free: [Vec<(u32, u8)>; SIZES],
}

impl ShortLists {
    #[inline]
    pub(super) fn targets(&self, list: ShortList) -> &[Entity] {
        let line = self.targets.get(list.line as usize);
        line.and_then(|line| line.0.get(list.start()..list.start() + list.len())).unwrap_or_default()
    }

    #[inline]
    pub(super) fn find(&self, list: ShortList, target: Entity) -> Option<usize> {
        self.targets(list).iter().position(|&own| own == target)
    }

    /// The place of the source in the list of its target with this number.
    #[inline]
    pub(super) fn place(&self, list: ShortList, at: usize) -> u32 {
        self.places[list.line as usize][list.start() + at]
    }

    pub(super) fn set_place(&mut self, list: ShortList, target: Entity, place: u32) {
        if let Some(at) = self.find(list, target) {
            self.places[list.line as usize][list.start() + at] = place;
        }
    }

    /// The row of the value of the pair with this number.
    #[inline]
    pub(super) fn row(&self, list: ShortList, at: usize) -> u32 {
        self.rows.get(list.line as usize).map_or(NO_ROW, |line| line[list.start() + at])
    }

    pub(super) fn set_row(&mut self, list: ShortList, at: usize, row: u32) {
        let line = list.line as usize;
        if row != NO_ROW && line >= self.rows.len() {
            self.rows.resize(line + 1, [NO_ROW; LINE]);
        }
        if let Some(line) = self.rows.get_mut(line) {
            line[list.start() + at] = row;
        }
    }

    fn edge(&self, list: ShortList, at: usize) -> Edge {
        Edge { place: self.place(list, at), row: self.row(list, at) }
    }

    /// A list of one target, with room for another.
    pub(super) fn create(&mut self, target: Entity, edge: Edge) -> ShortList {
        let list = ShortList { len: 1, ..self.allocate(0, target) };
        self.write(list, 0, target, edge);
        list
    }

    /// An empty list. A new line is filled with `any` target.
    fn allocate(&mut self, size: usize, any: Entity) -> ShortList {
        let (line, start) = self.free[size].pop().unwrap_or_else(|| self.cut(size, any));
        ShortList { line, start, len: 0, size: size as u8 }
    }

    /// A block of a size that no free one has.
    fn cut(&mut self, size: usize, any: Entity) -> (u32, u8) {
        if size + 1 == SIZES {
            self.targets.push(Line([any; LINE]));
            self.places.push([0; LINE]);
            return (self.targets.len() as u32 - 1, 0);
        }
        let (line, start) = self.free[size + 1].pop().unwrap_or_else(|| self.cut(size + 1, any));
        self.free[size].push((line, start + (2 << size)));
        (line, start)
    }

    /// Gives the block of a list up.
    pub(super) fn free(&mut self, list: ShortList) {
        self.free[usize::from(list.size)].push((list.line, list.start));
    }

    /// Adds a target that the list has not. `None` if it is full.
    pub(super) fn push(&mut self, mut list: ShortList, target: Entity, edge: Edge) -> Option<ShortList> {
        if list.len() == LINE {
            return None;
        }
        if list.len() == list.capacity() {
            let full = list;
            list = ShortList { len: full.len, ..self.allocate(usize::from(full.size) + 1, target) };
            for at in 0..full.len() {
                self.write(list, at, self.targets(full)[at], self.edge(full, at));
            }
            self.free(full);
        }
        self.write(list, list.len(), target, edge);
        list.len += 1;
        Some(list)
    }

    fn write(&mut self, list: ShortList, at: usize, target: Entity, edge: Edge) {
        let (line, place) = (list.line as usize, list.start() + at);
        self.targets[line].0[place] = target;
        self.places[line][place] = edge.place;
        self.set_row(list, at, edge.row);
    }

    /// Removes the target with this number; those behind it move up.
    pub(super) fn remove(&mut self, list: &mut ShortList, at: usize) -> Edge {
        let edge = self.edge(*list, at);
        let (line, end) = (list.line as usize, list.start() + list.len());
        let behind = list.start() + at + 1..end;
        self.targets[line].0.copy_within(behind.clone(), behind.start - 1);
        self.places[line].copy_within(behind.clone(), behind.start - 1);
        if let Some(rows) = self.rows.get_mut(line) {
            rows.copy_within(behind.clone(), behind.start - 1);
        }
        list.len -= 1;
        edge
    }

    /// Every target of a list.
    pub(super) fn iter(&self, list: ShortList) -> impl Iterator<Item = (Entity, Edge)> + '_ {
        let targets = self.targets(list).iter().copied();
        targets.enumerate().map(move |(at, target)| (target, self.edge(list, at)))
    }

    /// Puts the targets of a list into another order. `order` must be a permutation of them.
    pub(super) fn reorder(&mut self, list: ShortList, order: &[Entity]) {
        let edge = |&target: &Entity| Some((target, self.edge(list, self.find(list, target)?)));
        let edges: SmallVec<[(Entity, Edge); LINE]> = order.iter().filter_map(edge).collect();
        for (at, (target, edge)) in edges.into_iter().enumerate() {
            self.write(list, at, target, edge);
        }
    }

    /// More than half of the places are in no block of a list.
    pub(super) fn is_sparse(&self) -> bool {
        let free =
            self.free.iter().enumerate().map(|(size, blocks)| blocks.len() << (size + 1)).sum::<usize>();
        free >= MIN_FREE && free * 2 > self.targets.len() * LINE
    }

    /// A copy of a list of `other`, in the smallest block that it fits.
    pub(super) fn adopt(&mut self, other: &Self, list: ShortList) -> ShortList {
        let size = (list.len().next_power_of_two().ilog2() as usize).saturating_sub(1);
        let Some(&any) = other.targets(list).first() else { return list };
        let copy = ShortList { len: list.len, ..self.allocate(size, any) };
        for (at, (target, edge)) in other.iter(list).enumerate() {
            self.write(copy, at, target, edge);
        }
        copy
    }

    /// What is wrong with `used`, the lists of all sources by index, or with the blocks that are free.
    pub(super) fn fault(&self, used: impl Iterator<Item = (u32, ShortList)>) -> Option<String> {
        // Each block by line and first place.
        let mut blocks = BTreeMap::new();
        for (index, list) in used {
            let distinct: EntityHashSet = self.targets(list).iter().copied().collect();
            let (len, size) = (list.len(), usize::from(list.size));
            if len == 0 || size >= SIZES || len > list.capacity() || distinct.len() != len {
                return Some(format!("index {index} has {} targets in {list:?}", distinct.len()));
            }
            if blocks.insert((list.line, list.start), size).is_some() {
                return Some(format!("index {index} has {list:?}, as another has"));
            }
        }
        for (size, free) in self.free.iter().enumerate() {
            for &block in free {
                if blocks.insert(block, size).is_some() {
                    return Some(format!("the block at {block:?} is free and used, or free twice"));
                }
            }
        }
        // One behind the other, they fill all lines.
        let mut end = (0, 0);
        for ((line, start), size) in blocks {
            if (line, start) != end {
                return Some(format!("a block of targets is at {:?} and not at {end:?}", (line, start)));
            }
            let next = start + (2 << size);
            end = if usize::from(next) >= LINE { (line + 1, next - LINE as u8) } else { (line, next) };
        }
        let lines = (self.targets.len(), self.places.len());
        (end != (lines.0 as u32, 0) || lines.0 != lines.1 || self.rows.len() > lines.0)
            .then(|| format!("blocks of targets end at {end:?}, and there are {lines:?} lines"))
    }
}

#[cfg(test)]
mod tests {
    use super::{LINE, MIN_FREE, ShortLists};
    use crate::{
        relation::RelationTraits,
        store::{
            Invariant,
            check::tests::Bed,
            forward::{Edge, Forward, NO_ROW},
        },
    };
    use alloc::vec::Vec;
    use bevy_ecs::{entity::Entity, world::World};

    #[test]
    fn lists_are_what_vectors_are_whatever_is_done_to_them() {
        let mut world = World::new();
        let entities: Vec<Entity> = (0..40).map(|_| world.spawn_empty().id()).collect();
        let mut state = 11u32;
        let mut random = |below: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize % below
        };
        let mut lists = ShortLists::default();
        let mut model = Vec::new();
        for step in 0..if cfg!(miri) { 300 } else { 20_000 } {
            let number = random(model.len() + 1);
            let target = entities[random(entities.len())];
            // Lists with values beside such without any.
            let row = if number % 3 == 0 && random(2) == 0 { step + 1_000_000 } else { NO_ROW };
            let edge = Edge { place: step, row };
            let Some((list, edges)) = model.get_mut(number) else {
                if model.len() < 500 {
                    model.push((lists.create(target, edge), alloc::vec![(target, edge)]));
                }
                continue;
            };
            match (edges.iter().position(|&(own, _)| own == target), lists.push(*list, target, edge)) {
                // It would be there twice: taken out again.
                (Some(at), Some(pushed)) => {
                    *list = pushed;
                    lists.remove(list, edges.len());
                    assert_eq!(lists.remove(list, at), edges.remove(at).1);
                }
                (Some(at), None) => assert_eq!(lists.remove(list, at), edges.remove(at).1),
                (None, Some(pushed)) => {
                    *list = pushed;
                    edges.push((target, edge));
                }
                (None, None) => edges.reverse(),
            }
            let order: Vec<_> = edges.iter().map(|edge| edge.0).collect();
            lists.reorder(*list, &order);
            assert!(lists.iter(*list).eq(edges.iter().copied()));
            if edges.is_empty() {
                lists.free(model.swap_remove(number).0);
            }
            if step % 100 == 0 {
                assert_eq!(lists.fault(model.iter().map(|&(list, _)| (0, list))), None);
                assert!(model.iter().all(|(list, edges)| lists.iter(*list).eq(edges.iter().copied())));
            }
        }
    }

    #[test]
    fn what_is_left_of_many_lists_is_moved_together() {
        let mut bed = Bed::new(RelationTraits::new());
        for source in 0..40 {
            for target in 0..=LINE {
                bed.link(source, (source + target) % 40);
            }
        }
        let sources: Vec<_> = (0..2 * MIN_FREE / LINE).map(|_| bed.spawn()).collect();
        for &source in &sources {
            (0..LINE).for_each(|target| bed.link(source, target));
        }
        let lines = |bed: &mut Bed| match &bed.index().forward {
            Forward::Many(forward) => forward.short.targets.len(),
            Forward::Exclusive(_) => panic!("not exclusive"),
        };
        let before = lines(&mut bed);
        for (number, &source) in sources.iter().enumerate() {
            let left = if number % 3 == 0 { 1 + number % LINE } else { 0 };
            (left..LINE).for_each(|target| bed.unlink(source, target));
        }
        let pairs = |bed: &mut Bed| -> Vec<Vec<Entity>> {
            sources.iter().map(|&source| bed.targets(source)).collect()
        };
        let expected = pairs(&mut bed);
        bed.is_sound();
        // All but every fifth source have values.
        let edges = |source: usize| {
            let row = move |number: usize| {
                if !source.is_multiple_of(5) { (source * LINE + number) as u32 } else { NO_ROW }
            };
            expected[source - sources[0]]
                .iter()
                .enumerate()
                .map(move |(number, &target)| (target, row(number)))
        };
        let entities = bed.entities.clone();
        for &source in &sources {
            edges(source).for_each(|(target, row)| bed.index().set_row(entities[source], target, row));
        }
        bed.index().forward.compact();
        for &source in &sources {
            for (target, row) in edges(source) {
                assert_eq!(bed.index().row(entities[source], target).unwrap_or(NO_ROW), row);
                // The relation has none.
                bed.index().set_row(entities[source], target, NO_ROW);
            }
        }
        bed.is_sound();
        assert_eq!(pairs(&mut bed), expected);
        assert!(lines(&mut bed) * 3 < before, "{} lines of {before}", lines(&mut bed));
    }

    #[test]
    fn blocks_that_are_not_used_as_they_should_be_are_named() {
        type Corrupt = fn(&mut ShortLists);
        let corrupt: [Corrupt; 8] = [
            |lists| _ = lists.free[0].pop(),
            |lists| lists.free[0].push((0, 0)),
            |lists| lists.free[1].push(lists.free[1][0]),
            |lists| lists.free[2].push((9, 0)),
            |lists| _ = lists.targets.pop(),
            |lists| _ = lists.places.pop(),
            |lists| lists.rows.resize(lists.targets.len() + 1, [0; LINE]),
            |lists| lists.targets[0].0 = [lists.targets[0].0[0]; LINE],
        ];
        for (number, corrupt) in corrupt.into_iter().enumerate() {
            let mut bed = Bed::new(RelationTraits::new());
            for source in 0..4 {
                (4..6 + source).for_each(|target| bed.link(source, target));
            }
            bed.is_sound();
            match &mut bed.index().forward {
                Forward::Many(forward) => corrupt(&mut forward.short),
                Forward::Exclusive(_) => panic!("not exclusive"),
            }
            assert_eq!(bed.broken(), Some(Invariant::Lists), "corruption {number}");
        }
    }
}
