//! Which relations are mirrored in which components, and what is still to be done for them.

use super::{
    error::MirrorError,
    kind::{Due, Kind, MirrorValue},
};
use crate::{
    fetch,
    ops::Followed,
    store::{Cursor, TickChecks},
};
use alloc::{
    boxed::Box,
    collections::{BTreeMap, VecDeque},
    string::String,
    vec::Vec,
};
use bevy_ecs::{
    change_detection::Tick,
    entity::{Entity, EntityHashMap, EntityHashSet},
    resource::Resource,
    world::{DeferredWorld, World},
};
use core::{any::TypeId, sync::atomic::AtomicUsize};
use smallvec::SmallVec;

/// The state of the components of one type.
pub(super) struct Mirror {
    pub(super) kind: Kind,
    /// The relations whose pairs it shows.
    pub(super) relations: BTreeMap<Followed, MirroredIndex>,
    /// The entities whose components may be outdated.
    pub(super) due: VecDeque<Due>,
    /// The components that other code has written, and that are still to be applied.
    pub(super) written: EntityHashSet,
    /// The entity whose component is being written here: its hooks have nothing to do.
    pub(super) writing: Option<Entity>,
    /// Whether another world decides the pairs.
    pub(super) is_received: bool,
    /// The entity whose component is being applied.
    pub(super) applying: Option<Entity>,
    /// Entities whose components are being moved to others: they keep their pairs.
    pub(super) moved: EntityHashSet,
    /// Clones that are being made: a component that another of their components brings along does not say what their pairs are.
    pub(super) cloned: EntityHashSet,
    /// Up to when values that were written in place were read.
    pub(super) values_read: ValuesRead,
    /// If another world decides the pairs: what has arrived and is not, or not in full, what the pairs are.
    ///
    /// While there is an entry with a component, the entity keeps its own, even without pairs: otherwise a removal that arrives
    /// would trigger no hook.
    pub(super) unmet: BTreeMap<Entity, Arrived>,
    /// Components of scenes that a rule has refused. It may allow them once the rest of the scene is there.
    pub(super) waiting: VecDeque<Refused>,
}

/// Up to when values of pairs were read.
#[derive(Clone, Copy, Default)]
pub(super) struct ValuesRead {
    /// How often they had been borrowed to be written in place.
    pub(super) write_borrows: u64,
    pub(super) tick: Tick,
    pub(super) tick_checks: TickChecks,
}

/// A component that has arrived for an entity, and that lists other pairs than this has.
pub(super) struct Arrived {
    /// `None` if nothing had arrived: then the pairs come from components of other entities.
    pub(super) component: Option<Box<dyn MirrorValue>>,
    pub(super) why: Why,
}

/// Why the pairs are not what has arrived.
pub(super) enum Why {
    /// A rule has refused it. Reported once.
    Refused { unreported: Vec<MirrorError>, is_reported: bool },
    /// Components of these entities have changed its pairs: one of those, or its own, is outdated.
    ChangedBy(SmallVec<[Entity; 2]>),
}

/// A component that a rule has refused.
pub(super) struct Refused {
    pub(super) source: Entity,
    pub(super) wanted: Box<dyn MirrorValue>,
    /// What the pairs were then. If they have been changed since, they stay.
    pub(super) then: Box<dyn MirrorValue>,
    pub(super) errors: Vec<MirrorError>,
}

/// A relation whose pairs are mirrored.
pub(super) struct MirroredIndex {
    /// How far its journal was read.
    pub(super) cursor: Cursor,
    pub(super) places: Places,
    /// Targets with sources that may have the same place.
    pub(super) tied: EntityHashSet,
    /// Its name when components were checked last, if they list that.
    pub(super) name: Option<String>,
}

/// The highest place in a component: there is room for new pairs behind it.
pub(super) const MAX_PLACE: u64 = u64::MAX / 2;

/// The places of the pairs of an ordered relation among the sources of their targets: they ascend.
#[derive(Default)]
pub(super) struct Places {
    /// By source and target.
    by_source: EntityHashMap<EntityHashMap<u64>>,
    next: u64,
}

impl Places {
    pub(super) fn get(&self, source: Entity, target: Entity) -> Option<u64> {
        self.by_source.get(&source)?.get(&target).copied()
    }

    /// Puts the pair behind all others.
    pub(super) fn push(&mut self, source: Entity, target: Entity) {
        self.set(source, target, self.next);
    }

    pub(super) fn set(&mut self, source: Entity, target: Entity, place: u64) {
        self.by_source.entry(source).or_default().insert(target, place);
        self.next = self.next.max(place + 1);
    }

    pub(super) fn remove(&mut self, source: Entity, target: Entity) {
        if let Some(targets) = self.by_source.get_mut(&source) {
            targets.remove(&target);
            if targets.is_empty() {
                self.by_source.remove(&source);
            }
        }
    }

    /// Exchanges the places of the sources of a target so that they ascend in this order. Returns those that have another
    /// place now.
    pub(super) fn reorder(&mut self, target: Entity, order: &[Entity]) -> Vec<Entity> {
        let mut places: Vec<u64> = order.iter().filter_map(|&source| self.get(source, target)).collect();
        places.sort_unstable();
        places.dedup();
        if places.len() < order.len() {
            // A place is missing, or there twice: all get new ones.
            places = (self.next..).take(order.len()).collect();
        }
        let mut moved = Vec::new();
        for (&source, place) in order.iter().zip(places) {
            if self.get(source, target) != Some(place) {
                self.set(source, target, place);
                moved.push(source);
            }
        }
        moved
    }

    pub(super) fn clear(&mut self) {
        self.by_source.clear();
    }
}

/// The mirrors of a world.
#[derive(Resource, Default)]
pub(crate) struct Mirrors(Vec<Mirror>);

impl Mirrors {
    pub(super) fn get(&self, component: TypeId) -> Option<&Mirror> {
        self.0.iter().find(|mirror| mirror.kind.component == component)
    }

    fn get_mut(&mut self, component: TypeId) -> Option<&mut Mirror> {
        self.0.iter_mut().find(|mirror| mirror.kind.component == component)
    }

    pub(super) fn push(&mut self, mirror: Mirror) {
        self.0.push(mirror);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Mirror> {
        self.0.iter()
    }
}

/// The component id of [`Mirrors`], as found last.
static COMPONENT: AtomicUsize = AtomicUsize::new(0);

/// The mirrors, if there are any.
pub(super) fn mirrors(world: &World) -> Option<&Mirrors> {
    fetch::resource(world, &COMPONENT)
}

/// The mirror in components of a kind, if they mirror pairs already.
pub(super) fn mirror(world: &World, kind: Kind) -> Option<&Mirror> {
    mirrors(world)?.get(kind.component)
}

/// Calls a function with the [`mirror`].
pub(super) fn with<T>(world: &mut World, kind: Kind, run: impl FnOnce(&mut Mirror) -> T) -> Option<T> {
    with_deferred(&mut DeferredWorld::from(world), kind, run)
}

/// [`with`] for hooks.
pub(super) fn with_deferred<T>(
    world: &mut DeferredWorld<'_>,
    kind: Kind,
    run: impl FnOnce(&mut Mirror) -> T,
) -> Option<T> {
    fetch::deferred_resource::<Mirrors>(world, &COMPONENT)?.get_mut(kind.component).map(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_ascend_in_the_order_of_the_sources() {
        let [a, b, c, target] = [1, 2, 3, 4].map(|index| Entity::from_raw_u32(index).unwrap());
        let mut places = Places::default();
        for source in [a, b, c] {
            places.push(source, target);
        }
        assert_eq!(places.reorder(target, &[a, b, c]), []);
        assert_eq!(places.reorder(target, &[b, a, c]), [b, a]);
        places.set(c, target, 0);
        assert_eq!(places.reorder(target, &[c, b, a]).len(), 3, "two had the same");
        let all = [c, b, a].map(|source| places.get(source, target));
        assert!(all.is_sorted() && all.iter().all(Option::is_some), "{all:?}");
        places.remove(a, target);
        assert_eq!(places.get(a, target), None);
    }
}
