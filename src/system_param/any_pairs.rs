//! The system parameter [`AnyPairs`].
#![expect(unsafe_code, reason = "Bevy's `SystemParam` is an unsafe trait")]

use crate::{
    fetch,
    id::PairId,
    ops::use_all_relations,
    relation::RelationName,
    store::PairStore,
    traverse::{ChildrenAccess, RelationView, Relations, SelectIter},
};
use bevy_ecs::{
    change_detection::{Res, Tick},
    entity::Entity,
    hierarchy::Children,
    system::{Query, ReadOnlySystemParam, SystemAccess, SystemMeta, SystemParam, SystemParamValidationError},
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};

/// Reads the pairs of all relations, also of those that are known at run time only: a system parameter.
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::prelude::*;
///
/// fn describe(pairs: AnyPairs, named: Query<(Entity, &Name)>) -> Vec<String> {
///     let name = |entity| named.get(entity).map_or("?", |(_, name)| name.as_str());
///     let mut lines = Vec::new();
///     for (entity, own) in &named {
///         let own_pairs = pairs.pairs_of(entity);
///         lines.extend(own_pairs.map(|(relation, target)| format!("{own} {} {}", name(relation), name(target))));
///     }
///     lines
/// }
/// # let mut world = World::new();
/// # let likes = world.spawn_relation("likes", RelationTraits::new()).unwrap();
/// # let alice = world.spawn(Name::new("Alice")).id();
/// # let bob = world.spawn(Name::new("Bob")).id();
/// # world.insert_pair_by_id(bob, (likes, alice)).unwrap();
/// # assert_eq!(world.run_system_cached(describe).unwrap(), ["Bob likes Alice"]);
/// ```
///
/// # Wildcards
///
/// In a [`PairId`], `*` stands for every match, and `_` for one match at most:
///
/// | id | of one source | of all |
/// |---|---|---|
/// | `(R, T)` | the pair | every source of it |
/// | `(R, *)` | a result per target | a result per pair |
/// | `(R, _)` | the first target | each source with its first target |
/// | `(*, T)` | a result per relation | a result per pair |
/// | `(_, T)` | the first relation | each source with the first relation |
/// | `(*, *)` | every pair | every pair |
/// | `(*, _)` | the first target of each relation | the same, source by source |
/// | `(_, *)` | each target, with the first relation | the same, source by source |
/// | `(_, _)` | one pair | one pair per source |
///
/// Tags are no pairs and never found, and neither are values: those belong to [`Pairs`](crate::Pairs) of a
/// relation type. Disabled entities are included. No method allocates. A dead entity has no pairs.
///
/// On a world: [`WorldPairExt::any_pairs`](crate::WorldPairExt::any_pairs).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{id::Slot, prelude::*};
/// # let mut world = World::new();
/// # let [ann, ben, cy] = [(); 3].map(|()| world.spawn_empty().id());
/// let [likes, fears] = ["Likes", "Fears"].map(|name| world.spawn_relation(name, RelationTraits::new()).unwrap());
/// for pair in [(likes, ben), (likes, cy), (fears, ben)] {
///     world.insert_pair_by_id(ann, pair)?;
/// }
/// let pairs = world.any_pairs();
/// assert!(pairs.has(ann, PairId::new(fears, Slot::Any)) && !pairs.has(ann, PairId::new(fears, cy)));
/// assert!(pairs.matching(ann, PairId::with_target(ben)).eq([(likes, ben), (fears, ben)]));
/// assert!(pairs.matching(ann, PairId::new(likes, Slot::Any)).eq([(likes, ben)]));
/// assert!(pairs.iter_matching(PairId::with_relation(likes)).eq([(ann, likes, ben), (ann, likes, cy)]));
/// assert!(pairs.pairs_to(ben).eq([(ann, likes), (ann, fears)]));
/// assert_eq!((pairs.target_count(ann), pairs.source_count(ben)), (3, 2));
/// assert_eq!((pairs.len(), pairs.iter().count(), pairs.is_empty()), (3, 3, false));
///
/// // Relation by relation.
/// assert!(pairs.relations().any(|relation| relation == likes));
/// assert!(pairs.relation(likes).targets(ann).eq([ben, cy]));
/// assert_eq!(pairs.relation_name(likes).unwrap().to_string(), "Likes");
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, Copy)]
pub struct AnyPairs<'w, 's> {
    relations: Option<Relations<'w, 's>>,
}

impl<'w, 's> AnyPairs<'w, 's> {
    fn new(store: Option<&'w PairStore>, children: ChildrenAccess<'w, 's>) -> Self {
        Self { relations: store.map(|store| Relations::new(store, Some(children))) }
    }

    pub(crate) fn of_world(world: &'w World) -> Self {
        Self::new(fetch::store(world), ChildrenAccess::World(world))
    }

    /// Whether `source` has a pair that fits `pair`.
    ///
    /// # Complexity
    /// O(1) if the relation is named, else at most O(relations in which `source` takes part).
    pub fn has(&self, source: Entity, pair: PairId) -> bool {
        self.relations.is_some_and(|relations| relations.has(source, pair))
    }

    /// The pairs of `source` that fit `pair`, as relation and target: relation by relation, targets in insertion
    /// order.
    ///
    /// # Complexity
    /// O(relations in which `source` takes part + their pairs), or O(pairs) of the one that is named.
    pub fn matching(
        &self,
        source: Entity,
        pair: PairId,
    ) -> impl Iterator<Item = (Entity, Entity)> + use<'w, 's> {
        self.select(Some(source), pair).map(|(_, relation, target)| (relation, target))
    }

    /// The pairs that fit `pair`, as source, relation and target: relation by relation.
    ///
    /// # Complexity
    /// O(relations in which the target takes part + their pairs); without a target, O(relations + their pairs).
    pub fn iter_matching(
        &self,
        pair: PairId,
    ) -> impl Iterator<Item = (Entity, Entity, Entity)> + use<'w, 's> {
        self.select(None, pair)
    }

    /// `(S, *)`: every pair that `source` has, as relation and target: relation by relation, targets in insertion
    /// order.
    ///
    /// # Complexity
    /// O(relations in which `source` takes part + its pairs).
    pub fn pairs_of(&self, source: Entity) -> impl Iterator<Item = (Entity, Entity)> + use<'w, 's> {
        self.matching(source, PairId::ALL)
    }

    /// `(*, T)`: every pair in which `target` is the target, as source and relation, relation by relation.
    ///
    /// # Complexity
    /// O(relations in which `target` takes part + its pairs).
    pub fn pairs_to(&self, target: Entity) -> impl Iterator<Item = (Entity, Entity)> + use<'w, 's> {
        let pairs = self.select(None, PairId::with_target(target));
        pairs.map(|(source, relation, _)| (source, relation))
    }

    /// `(*, *)`: every pair, as source, relation and target, relation by relation.
    pub fn iter(&self) -> AnyPairsIter<'w, 's> {
        AnyPairsIter(self.relations.map(|relations| (relations.store, relations.select(None, PairId::ALL))))
    }

    /// Number of pairs that `source` has. O(relations in which it takes part).
    pub fn target_count(&self, source: Entity) -> usize {
        self.views_of(source).map(|view| view.target_count(source)).sum()
    }

    /// Number of pairs in which `target` is the target. O(relations in which it takes part).
    pub fn source_count(&self, target: Entity) -> usize {
        self.views_of(target).map(|view| view.source_count(target)).sum()
    }

    /// Number of pairs. O(relations).
    pub fn len(&self) -> usize {
        self.relations().map(|relation| self.relation(relation).len()).sum()
    }

    /// Whether there is no pair at all. O(relations).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every relation, whether it has pairs or not.
    pub fn relations(&self) -> impl Iterator<Item = Entity> + use<'w, 's> {
        self.relations.into_iter().flat_map(|relations| {
            relations.all().map(move |relation| relations.store.registry().entry(relation).entity)
        })
    }

    /// The relations in which an entity takes part, or took part once.
    #[cfg(feature = "remote")]
    pub(crate) fn relations_of(&self, entity: Entity) -> impl Iterator<Item = Entity> + use<'w, 's> {
        self.relations.into_iter().flat_map(move |relations| {
            let of_entity = relations.relations_of(entity);
            of_entity.map(move |relation| relations.store.registry().entry(relation).entity)
        })
    }

    /// The pairs of one relation: of none if `relation` is no relation.
    pub fn relation(&self, relation: Entity) -> RelationView<'w, 's> {
        self.relations.and_then(|relations| relations.named(relation)).unwrap_or(RelationView::NONE)
    }

    /// The name of a relation for messages: that of its type, or the one given when it was spawned.
    pub fn relation_name(&self, relation: Entity) -> Option<RelationName> {
        let registry = &self.relations?.store.registry();
        let is_known = registry.of_entity(relation).is_some() || registry.names_tags(relation);
        is_known.then(|| registry.name_of(relation))
    }

    fn views_of(&self, entity: Entity) -> impl Iterator<Item = RelationView<'w, 's>> + use<'w, 's> {
        self.relations.into_iter().flat_map(move |relations| {
            relations.relations_of(entity).map(move |relation| relations.view(relation))
        })
    }

    fn select(
        &self,
        source: Option<Entity>,
        pair: PairId,
    ) -> impl Iterator<Item = (Entity, Entity, Entity)> + use<'w, 's> {
        // Tags are no pairs, unless they are named.
        let named = pair.relation().entity();
        let tags = self.relations.zip(named).map(|(relations, _)| relations.select_tags(source, pair));
        let tags = tags.into_iter().flatten().zip(named.into_iter().cycle());
        let found = self.relations.map(|relations| (relations.store, relations.select(source, pair)));
        AnyPairsIter(found).chain(tags.map(|(tag, relation)| (tag.source, relation, tag.tag)))
    }
}

impl<'w, 's> IntoIterator for &AnyPairs<'w, 's> {
    type Item = (Entity, Entity, Entity);
    type IntoIter = AnyPairsIter<'w, 's>;

    fn into_iter(self) -> AnyPairsIter<'w, 's> {
        self.iter()
    }
}

/// Iterator over the pairs of all relations, as source, relation and target: see [`AnyPairs::iter`].
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # #[derive(Relation)]
/// # struct Likes;
/// # let mut world = World::new();
/// # let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
/// # let likes = world.register_relation::<Likes>()?;
/// world.insert_pair(ann, Likes, ben)?;
/// let mut all = world.any_pairs().iter();
/// assert_eq!((all.next(), all.next()), (Some((ann, likes, ben)), None));
/// # Ok::<(), BevyError>(())
/// ```
pub struct AnyPairsIter<'w, 's>(Option<(&'w PairStore, SelectIter<'w, 's>)>);

impl Iterator for AnyPairsIter<'_, '_> {
    type Item = (Entity, Entity, Entity);

    #[inline]
    fn next(&mut self) -> Option<(Entity, Entity, Entity)> {
        let (store, pairs) = self.0.as_mut()?;
        let (relation, source, target) = pairs.next()?;
        Some((source, store.registry().entry(relation).entity, target))
    }
}

impl core::fmt::Debug for AnyPairsIter<'_, '_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("AnyPairsIter").finish_non_exhaustive()
    }
}

/// What is fetched.
type Fetched = (Option<Res<'static, PairStore>>, Query<'static, 'static, &'static Children>);

/// State of [`AnyPairs`].
#[doc(hidden)]
pub struct AnyPairsState(<Fetched as SystemParam>::State);

// SAFETY: every access goes through `Fetched`, whose own implementation declares it in `init_access` and performs
// it in `get_param`. Test: `any_pairs_run_beside_readers_and_not_beside_what_reorders_children`.
unsafe impl SystemParam for AnyPairs<'_, '_> {
    type State = AnyPairsState;
    type Item<'w, 's> = AnyPairs<'w, 's>;

    fn init_state(world: &mut World) -> Self::State {
        use_all_relations(world);
        AnyPairsState(Fetched::init_state(world))
    }

    fn init_access(state: &Self::State, meta: &mut SystemMeta, access: &mut SystemAccess, world: &mut World) {
        Fetched::init_access(&state.0, meta, access, world);
    }

    unsafe fn get_param<'w, 's>(
        state: &'s mut Self::State,
        meta: &SystemMeta,
        world: UnsafeWorldCell<'w>,
        tick: Tick,
    ) -> Result<Self::Item<'w, 's>, SystemParamValidationError> {
        // SAFETY: the access was declared by the same parameter in `init_access`, and `world` is the world of
        // this state, as the caller promises.
        let (store, children) = unsafe { Fetched::get_param(&mut state.0, meta, world, tick)? };
        Ok(AnyPairs::new(store.map(Res::into_inner), ChildrenAccess::Query(children)))
    }
}

// SAFETY: all of the fetched parameters only read.
unsafe impl ReadOnlySystemParam for AnyPairs<'_, '_> {}
