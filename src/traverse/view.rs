//! Reading the pairs of one relation.

use super::{
    Direction,
    depth_first::Neighbors,
    iter::RelationIter,
    search::{self, Limits},
    topology::{ChildrenAccess, Hierarchy, ordered_by},
    walk::{AncestorIter, WalkIter},
};
use crate::{
    relation::EntityName,
    store::{PairTicks, RelationIndex, SourceIter, TargetIter},
};
use bevy_ecs::{entity::Entity, world::World};
use bevy_platform::sync::atomic::{AtomicU64, Ordering};
use core::iter;

/// The pairs of one relation, of whatever kind it is.
///
/// [`Pairs`](crate::Pairs) has one for a relation type in a system, [`WorldPairExt::pairs_by_id`] returns one
/// for any relation of a world. A relation that was never used has no pairs.
///
/// [`WorldPairExt::pairs_by_id`]: crate::WorldPairExt::pairs_by_id
///
/// In the book: [Walks, islands, disabling](crate::book::walks).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{prelude::*, traverse::RelationView};
/// # let mut world = World::new();
/// # let [ship, wreck, turret, gun, hook] = [(); 5].map(|()| world.spawn_empty().id());
/// let mounted_on = world.spawn_relation("MountedOn", RelationTraits::new().traversable())?;
/// for (part, carrier) in [(turret, ship), (turret, wreck), (gun, turret), (hook, ship)] {
///     world.insert_pair_by_id(part, (mounted_on, carrier))?;
/// }
/// let mounted: RelationView = world.pairs_by_id(mounted_on);
///
/// // One source.
/// assert!(mounted.has(gun, turret) && mounted.has_any(gun) && !mounted.has_any(ship));
/// assert_eq!((mounted.target(turret), mounted.nth_target(turret, 1)), (Some(ship), Some(wreck)));
/// assert!(mounted.targets(turret).eq([ship, wreck]) && mounted.target_count(turret) == 2);
/// // One target.
/// assert!(mounted.is_target(ship) && !mounted.is_target(gun));
/// assert!(mounted.sources(wreck).eq([turret]) && mounted.source_count(ship) == 2);
/// // All pairs.
/// assert_eq!((mounted.len(), mounted.iter().count(), mounted.is_empty()), (4, 4, false));
/// // Up and down.
/// assert!(mounted.ancestors(gun).eq([turret, ship]) && mounted.root(gun) == ship);
/// assert!(mounted.all_ancestors(gun).eq([(turret, 1), (ship, 2), (wreck, 2)]));
/// assert!(mounted.is_ancestor(wreck, gun) && mounted.depth(gun) == Some(2));
/// assert_eq!(mounted.descendants(ship).count(), 3);
///
/// // Whether pairs have changed.
/// let version = mounted.version();
/// world.remove_pairs_by_id(hook, (mounted_on, ship));
/// assert_ne!(world.pairs_by_id(mounted_on).version(), version);
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, Copy)]
pub struct RelationView<'w, 's> {
    index: Option<&'w RelationIndex>,
    children: Option<ChildrenAccess<'w, 's>>,
    /// The world, if all of it may be read: for the names in errors.
    world: Option<&'w World>,
}

impl<'w, 's> RelationView<'w, 's> {
    /// The view of a relation that was never used.
    pub(crate) const NONE: Self = Self { index: None, children: None, world: None };

    /// The view of parents and children while no index of them is kept.
    pub(crate) fn of_hierarchy(world: &'w World) -> Self {
        Self { index: None, children: Some(ChildrenAccess::World(world)), world: Some(world) }
    }

    /// Bevy's components, if they are what there is to read.
    #[cold]
    fn hierarchy(&self) -> Option<Hierarchy<'w>> {
        match (self.index, self.children) {
            (None, Some(ChildrenAccess::World(world))) => Some(Hierarchy(world)),
            _ => None,
        }
    }

    /// [`target`](Self::target) without an index.
    #[cold]
    fn parent(&self, child: Entity) -> Option<Entity> {
        self.hierarchy()?.parent(child)
    }

    /// [`sources`](Self::sources) without an index.
    #[cold]
    fn children_of(&self, parent: Entity) -> SourceIter<'w> {
        let children = self.hierarchy().map_or(&[][..], |hierarchy| hierarchy.children(parent));
        SourceIter::new(children, None)
    }

    #[inline]
    pub(crate) fn new(index: Option<&'w RelationIndex>, children: Option<ChildrenAccess<'w, 's>>) -> Self {
        Self { index, children, world: None }
    }

    /// The same, with names in errors.
    #[inline]
    pub(crate) fn named_in(self, world: &'w World) -> Self {
        Self { world: Some(world), ..self }
    }

    /// An entity with its name, as far as names may be read.
    pub(super) fn name_of(&self, entity: Entity) -> EntityName {
        self.world.map_or_else(|| EntityName::unnamed(entity), |world| EntityName::new(world, entity))
    }

    /// Whether `source` has the pair with `target`. Constant time.
    #[inline]
    pub fn has(&self, source: Entity, target: Entity) -> bool {
        match self.index {
            Some(index) => index.has(source, target),
            None => self.parent(source) == Some(target),
        }
    }

    /// Whether `source` has a pair with any target: `(R, *)`. Constant time.
    #[inline]
    pub fn has_any(&self, source: Entity) -> bool {
        match self.index {
            Some(index) => index.has_any(source),
            None => self.parent(source).is_some(),
        }
    }

    /// Whether `target` is the target of any pair. Constant time.
    #[inline]
    pub fn is_target(&self, target: Entity) -> bool {
        match self.index {
            Some(index) => index.is_target(target),
            None => self.source_count(target) > 0,
        }
    }

    /// The first target of `source` in insertion order. Constant time.
    #[inline]
    pub fn target(&self, source: Entity) -> Option<Entity> {
        match self.index {
            Some(index) => index.first_target(source),
            None => self.parent(source),
        }
    }

    /// The target number `nth` of `source` in insertion order, from 0.
    ///
    /// # Complexity
    /// O(1). After removals from among more than 16 targets, O(targets / 64).
    pub fn nth_target(&self, source: Entity, nth: usize) -> Option<Entity> {
        match self.index {
            Some(index) => index.nth_target(source, nth),
            None => self.parent(source).filter(|_| nth == 0),
        }
    }

    /// All targets of `source`, in insertion order.
    #[inline]
    pub fn targets(&self, source: Entity) -> TargetIter<'w> {
        match self.index {
            Some(index) => index.targets(source),
            None => TargetIter::one(self.parent(source)),
        }
    }

    /// Number of targets of `source`. Constant time.
    #[inline]
    pub fn target_count(&self, source: Entity) -> usize {
        match self.index {
            Some(index) => index.target_count(source),
            None => usize::from(self.has_any(source)),
        }
    }

    /// All sources of `target`. In insertion order, or the order given by the user, if the relation is
    /// ordered; in that of [`Children`](bevy_ecs::hierarchy::Children) for `ChildOf`; in any order otherwise.
    #[inline]
    pub fn sources(&self, target: Entity) -> SourceIter<'w> {
        let Some(index) = self.index else { return self.children_of(target) };
        index.list_of(target).map_or_else(SourceIter::none, |list| self.sources_in(index, list, target))
    }

    /// [`sources`](Self::sources) of a target whose list in the index is known.
    #[inline]
    pub(crate) fn sources_in(&self, index: &'w RelationIndex, list: usize, target: Entity) -> SourceIter<'w> {
        let stored = index.sources_in(list);
        match self.children {
            Some(children) => ordered_by(children.get(target), stored),
            None => stored,
        }
    }

    /// Number of sources of `target`. Constant time.
    #[inline]
    pub fn source_count(&self, target: Entity) -> usize {
        match self.index {
            Some(index) => index.source_count(target),
            None => self.sources(target).len(),
        }
    }

    /// Number of pairs. Constant time; O(children) for `ChildOf` without an [index](crate::RelationsPlugin).
    pub fn len(&self) -> usize {
        match self.index {
            Some(index) => index.len(),
            None => self.hierarchy().map_or(0, |hierarchy| hierarchy.iter().count()),
        }
    }

    /// Whether there is no pair at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every pair as `(source, target)`, target by target.
    pub fn iter(&self) -> RelationIter<'w> {
        RelationIter::new(self.index, self.hierarchy())
    }

    /// Counts changes to the pairs of this relation: two reads that give the same number saw the same pairs.
    pub fn version(&self) -> u64 {
        // Nothing counts the changes of components: each read may be of other ones.
        static READS: AtomicU64 = AtomicU64::new(1 << 63);
        match self.index {
            Some(index) => index.version(),
            None => self.hierarchy().map_or(0, |_| READS.fetch_add(1, Ordering::Relaxed)),
        }
    }

    /// When a pair was inserted and changed, once ticks are
    /// [kept](crate::WorldPairExt::track_pair_changes) for the relation.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation)]
    /// struct Likes;
    ///
    /// # let mut world = World::new();
    /// # let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
    /// world.track_pair_changes::<Likes>();
    /// let before = world.increment_change_tick();
    /// world.insert_pair(ann, Likes, ben)?;
    /// let ticks = world.pairs::<Likes>().ticks(ann, ben).unwrap();
    /// assert!(ticks.inserted.is_newer_than(before, world.change_tick()));
    /// # Ok::<(), BevyError>(())
    /// ```
    pub fn ticks(&self, source: Entity, target: Entity) -> Option<PairTicks> {
        self.index?.ticks(source, target)
    }

    /// The entities above `entity`, nearest first, following first targets. `entity` itself is not among them.
    ///
    /// # Complexity
    /// O(ancestors). A relation that is not acyclic also records which entities it has visited, to end.
    pub fn ancestors(&self, entity: Entity) -> AncestorIter<'w, 's> {
        AncestorIter::new(*self, entity)
    }

    /// The last of the [`ancestors`](Self::ancestors), or `entity` itself if it has none.
    pub fn root(&self, entity: Entity) -> Entity {
        self.ancestors(entity).last().unwrap_or(entity)
    }

    /// Whether `ancestor` is reached from `entity` along any pairs. An entity is not its own ancestor, unless
    /// it lies on a cycle.
    ///
    /// # Complexity
    /// At most O(pairs above `entity`).
    pub fn is_ancestor(&self, ancestor: Entity, entity: Entity) -> bool {
        let Some(index) = self.index else { return self.ancestors(entity).any(|above| above == ancestor) };
        index.targets(entity).any(|target| super::path_up(index, &[], target, ancestor).is_some())
    }

    /// The entities above `entity` along all targets, each once: depth first, targets in insertion order, unless
    /// [`breadth_first`](WalkIter::breadth_first). Nearest means first targets first, as everywhere.
    /// [`ancestors`](Self::ancestors) follows first targets only. The example of [`descendants`](Self::descendants)
    /// shows the methods of the walk.
    ///
    /// # Complexity
    /// As for [`descendants`](Self::descendants), upwards.
    pub fn all_ancestors(&self, entity: Entity) -> WalkIter<'w, 's> {
        WalkIter::new(*self, Direction::Targets, entity)
    }

    /// The entities below `entity`, each once: depth first, a target's sources in the order of
    /// [`sources`](Self::sources), unless [`breadth_first`](WalkIter::breadth_first). `entity` itself is not among
    /// them; depths count from 1.
    ///
    /// ```
    /// # use bevy_relations::prelude::*;
    /// # use bevy_ecs::prelude::*;
    /// # let mut world = World::new();
    /// # world.register_relation::<ChildOf>().unwrap();
    /// # let root = world.spawn_empty().id();
    /// # let [left, right] = [world.spawn(ChildOf(root)).id(), world.spawn(ChildOf(root)).id()];
    /// # let below_left = world.spawn(ChildOf(left)).id();
    /// let tree = world.pairs::<ChildOf>();
    /// let below: Vec<_> = tree.descendants(root).collect();
    /// assert_eq!(below, [(left, 1), (below_left, 2), (right, 1)]);
    /// let below: Vec<_> = tree.descendants(root).breadth_first().collect();
    /// assert_eq!(below, [(left, 1), (right, 1), (below_left, 2)]);
    ///
    /// // Not deeper than asked for: quietly, or with an error in place of what is too deep.
    /// assert_eq!(tree.descendants(root).at_most(1).count(), 2);
    /// assert!(tree.descendants(root).max_depth(1).any(|step| step.is_err()));
    ///
    /// // Leaves out what lies below entities of no interest.
    /// let mut walk = tree.descendants(root);
    /// while let Some((entity, depth)) = walk.next() {
    ///     assert_eq!(depth, 1);
    ///     if entity == left {
    ///         walk.prune();
    ///     }
    /// }
    /// ```
    ///
    /// # Complexity
    /// O(pairs below `entity`); memory for the longest way down, or for the widest level if breadth
    /// first. A relation of which an entity can be reached in two ways also records which entities it has visited.
    pub fn descendants(&self, entity: Entity) -> WalkIter<'w, 's> {
        WalkIter::new(*self, Direction::Sources, entity)
    }

    /// How deep `entity` lies: 0 without targets, else one more than its deepest target. `None` if the
    /// relation is not traversable.
    ///
    /// # Complexity
    /// O(1), unless entities with sources of their own were moved in this frame: then O(ancestors).
    pub fn depth(&self, entity: Entity) -> Option<u32> {
        match self.index {
            Some(index) => index.depth_of(entity),
            None => self.hierarchy().map(|_| self.ancestors(entity).count() as u32),
        }
    }

    /// The entities one step from `entity`.
    #[inline]
    pub(crate) fn neighbors(&self, direction: Direction, entity: Entity) -> Neighbors<'w> {
        match direction {
            Direction::Targets => Neighbors::Targets(self.targets(entity)),
            Direction::Sources => Neighbors::Sources(self.sources(entity)),
        }
    }

    /// The nearest entity up the relation, within limits, of which `holds` is true.
    ///
    /// # Complexity
    /// At most O(pairs above `entity`).
    pub(crate) fn nearest(
        &self,
        entity: Entity,
        limits: Limits,
        mut holds: impl FnMut(Entity) -> bool,
    ) -> Option<Entity> {
        let Some(index) = self.index else {
            let above = iter::once(entity).chain(self.ancestors(entity)).zip(0..=limits.max);
            return above
                .filter(|&(_, distance)| distance >= limits.min)
                .map(|(above, _)| above)
                .find(|&above| holds(above));
        };
        search::nearest(index, entity, limits, holds)
    }

    /// Whether walks can meet an entity twice.
    pub(crate) fn may_revisit(&self) -> bool {
        match self.index {
            Some(index) => !(index.is_exclusive() && index.is_acyclic()),
            None => self.hierarchy().is_some(),
        }
    }

    /// Whether walks up along first targets can meet an entity twice.
    pub(super) fn may_cycle(&self) -> bool {
        match self.index {
            Some(index) => !index.is_acyclic(),
            None => self.hierarchy().is_some(),
        }
    }
}

impl<'w> IntoIterator for &RelationView<'w, '_> {
    type Item = (Entity, Entity);
    type IntoIter = RelationIter<'w>;

    fn into_iter(self) -> RelationIter<'w> {
        self.iter()
    }
}
