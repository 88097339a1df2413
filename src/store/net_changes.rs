//! What is left of changes of pairs when those that undo each other are left out.

use super::journal::{Change, PairDeltaKind};
use bevy_ecs::entity::Entity;
use bevy_platform::collections::HashMap;

/// The changes of one pair that count, by their positions in the list.
#[derive(Clone, Copy, Default)]
struct Positions {
    /// The first and the last time that it came or went.
    came_or_went: Option<(usize, usize)>,
    /// The last time that its value was written.
    written: usize,
}

/// Finds the net changes in a list of changes. Keeps its memory.
///
/// - A pair that went, and was there before all changes, is reported as removed where it went first.
/// - A pair that came, and is there after all changes, is reported as inserted where it came last.
/// - A value is reported as written where that happened last, if the pair neither came nor went.
/// - An order is reported where it changed last.
///
/// Replayed on the pairs from before, in order, these give the pairs from after, in the same order; and at no time is
/// there a pair that was not there at that time, so that no rule is broken on the way.
#[derive(Default)]
pub(crate) struct NetChanges {
    pairs: HashMap<(Entity, Entity), Positions>,
    orders: HashMap<(PairDeltaKind, Entity), usize>,
}

/// The entity whose list was put into another order.
fn reordered(change: &Change) -> Option<(PairDeltaKind, Entity)> {
    match change.kind {
        PairDeltaKind::SourcesReordered => Some((change.kind, change.target)),
        PairDeltaKind::TargetsReordered => Some((change.kind, change.source)),
        _ => None,
    }
}

impl NetChanges {
    /// The net changes, in order. O(changes).
    pub(crate) fn of<'a>(&'a mut self, changes: &'a [Change]) -> impl Iterator<Item = &'a Change> + use<'a> {
        self.pairs.clear();
        self.orders.clear();
        // One change is a net change, and the most frequent case.
        let is_one = changes.len() == 1;
        for (at, change) in changes.iter().enumerate().skip(usize::from(is_one)) {
            if let Some(order) = reordered(change) {
                self.orders.insert(order, at);
                continue;
            }
            let positions = self.pairs.entry((change.source, change.target)).or_default();
            match change.kind {
                PairDeltaKind::Written => positions.written = at,
                _ => {
                    positions.came_or_went =
                        Some((positions.came_or_went.map_or(at, |(first, _)| first), at));
                }
            }
        }
        let is_net = move |&(at, change): &(usize, &Change)| {
            if is_one {
                return true;
            }
            if let Some(order) = reordered(change) {
                return self.orders.get(&order) == Some(&at);
            }
            let Some(positions) = self.pairs.get(&(change.source, change.target)) else { return true };
            match (change.kind, positions.came_or_went) {
                (PairDeltaKind::Removed, Some((first, _))) => at == first,
                (PairDeltaKind::Inserted, Some((_, last))) => at == last,
                (_, came_or_went) => came_or_went.is_none() && at == positions.written,
            }
        };
        changes.iter().enumerate().filter(is_net).map(|(_, change)| change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PairDeltaKind::{Inserted, Removed, SourcesReordered, Written};
    use alloc::vec::Vec;

    #[test]
    fn what_undoes_each_other_is_left_out_and_what_comes_back_counts_as_both() {
        let [a, b, c] = [1, 2, 3].map(|index| Entity::from_raw_u32(index).unwrap());
        let change = |(kind, source, target)| Change { source, target, kind };
        let net = |changes: &[(PairDeltaKind, Entity, Entity)]| -> Vec<_> {
            let changes: Vec<Change> = changes.iter().copied().map(change).collect();
            let mut net = NetChanges::default();
            net.of(&changes).map(|change| (change.kind, change.source, change.target)).collect()
        };
        assert_eq!(net(&[(Inserted, a, b), (Removed, a, b)]), []);
        assert_eq!(net(&[(Written, a, b)]), [(Written, a, b)]);
        assert_eq!(
            net(&[(Removed, a, b), (Inserted, a, c), (Removed, a, c), (Inserted, a, b), (Written, a, b)]),
            [(Removed, a, b), (Inserted, a, b)]
        );
        assert_eq!(
            net(&[(Inserted, a, b), (Removed, a, b), (Inserted, a, b), (Written, b, c), (Written, b, c)]),
            [(Inserted, a, b), (Written, b, c)]
        );
        assert_eq!(net(&[(Written, a, b), (Removed, a, b)]), [(Removed, a, b)]);
        assert_eq!(
            net(&[(SourcesReordered, a, b), (SourcesReordered, c, b), (Removed, a, b)]),
            [(SourcesReordered, c, b), (Removed, a, b)]
        );
    }
}
