//! What the workloads need from a library, so that the work is written once for all of them.
//!
//! A side is a world with one relation. The methods that take slices are what gets timed: by default they
//! are the loop a user would write, and a side that has a faster way for many pairs overrides them.

use std::sync::atomic::{AtomicUsize, Ordering};

/// A source and a target.
pub(crate) type Link<Id> = (Id, Id);

/// How often [`notice`] was called.
static NOTICED: AtomicUsize = AtomicUsize::new(0);

/// What observers do.
#[inline]
pub(crate) fn notice() {
    NOTICED.fetch_add(1, Ordering::Relaxed);
}

/// How often observers have run.
pub(crate) fn noticed() -> usize {
    NOTICED.load(Ordering::Relaxed)
}

/// How a side hands its operations to its library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// One call per operation.
    Direct,
    /// One call for all of them.
    Batch,
    /// One deferred command per operation, applied at the end.
    Commands,
    /// One deferred command for all of them.
    CommandBatch,
}

/// A world with one relation between its entities.
pub(crate) trait Side: 'static {
    type Id: Copy + Eq + 'static;

    /// An entity with two components, as sources are.
    fn spawn_source(&mut self) -> Self::Id;

    /// An empty entity, as targets are.
    fn spawn_target(&mut self) -> Self::Id;

    fn despawn(&mut self, entity: Self::Id);

    fn is_alive(&self, entity: Self::Id) -> bool;

    /// Counts up from entity to entity in a world that is new.
    fn index(entity: Self::Id) -> u64;

    fn insert(&mut self, source: Self::Id, target: Self::Id);

    fn remove(&mut self, source: Self::Id, target: Self::Id);

    fn has(&self, source: Self::Id, target: Self::Id) -> bool;

    fn insert_all(&mut self, links: &[Link<Self::Id>]) {
        for &(source, target) in links {
            self.insert(source, target);
        }
    }

    fn remove_all(&mut self, links: &[Link<Self::Id>]) {
        for &(source, target) in links {
            self.remove(source, target);
        }
    }

    /// A source that is linked to `parent` from the start.
    fn spawn_child(&mut self, parent: Self::Id) -> Self::Id {
        let child = self.spawn_source();
        self.insert(child, parent);
        child
    }

    /// Despawns `root` and whatever depends on it.
    fn despawn_tree(&mut self, root: Self::Id) {
        self.despawn(root);
    }

    /// What an app does once per frame: Bevy drops which components were removed, which would pile up.
    fn end_frame(&mut self) {}

    /// Gives memory back that nothing needs, where that can be asked for.
    fn tidy(&mut self) {}

    fn spawn_sources(&mut self, count: usize) -> Vec<Self::Id> {
        (0..count).map(|_| self.spawn_source()).collect()
    }

    fn spawn_targets(&mut self, count: usize) -> Vec<Self::Id> {
        (0..count).map(|_| self.spawn_target()).collect()
    }

    fn count_links(&self, links: &[Link<Self::Id>]) -> usize {
        links.iter().filter(|&&(source, target)| self.has(source, target)).count()
    }
}

/// A [`Side`] that can look pairs up the way systems do.
pub(crate) trait Lookup: Side {
    /// How many of the pairs exist: `has(R, T)`.
    fn count_pairs(&mut self, probes: &[Link<Self::Id>]) -> usize;

    /// How many of the sources have any target: `has(R, *)`.
    fn count_related(&mut self, probes: &[Link<Self::Id>]) -> usize;

    /// How many of the sources have the given entity as their first target.
    fn count_first_targets(&mut self, probes: &[Link<Self::Id>]) -> usize;

    /// The indices of all targets of the sources, added up.
    fn sum_targets(&mut self, sources: &[Self::Id]) -> u64;
}

/// A [`Side`] that can spawn entities that are linked from the start.
pub(crate) trait SpawnLinked: Side {
    /// For each target, spawns an entity with two components and a pair; appends them to `spawned`.
    fn spawn_linked(&mut self, targets: &[Self::Id], spawned: &mut Vec<Self::Id>);
}
