//! Where an entity stands in a relation: [`Depth`] and [`Ancestors`]; and in all of them: [`PairsOf`].

use super::{
    macros::{query_data, release_state, require_traversable},
    read::{ReadPairs, ReadPairsFetch, ReadPairsState},
};
use crate::{
    ops::use_all_relations,
    relation::{IsA, TraversableRelation},
    store::{PairStore, RelationsOf, TargetIter},
    traverse::{AncestorIter, RelationView},
};
use bevy_ecs::{entity::Entity, query::ArchetypeQueryData, storage::TableRow};
use core::{any::type_name, fmt, iter::FusedIterator, marker::PhantomData};

/// Query data: how deep an entity lies in relation `R`: 0 without targets, else one more than its deepest target.
///
/// In the book: [Walks, islands, disabling](crate::book::walks).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, query::Depth};
///
/// fn indent(outline: Query<(&Name, Depth<ChildOf>)>) -> Vec<String> {
///     outline.iter().map(|(name, depth)| format!("{:1$}{name}", "", 2 * depth as usize)).collect()
/// }
/// # let mut world = World::new();
/// # let root = world.spawn(Name::new("root")).id();
/// # world.spawn((Name::new("child"), ChildOf(root)));
/// # assert_eq!(world.run_system_cached(indent).unwrap(), ["root", "  child"]);
/// ```
///
/// # Complexity
/// As for [`RelationView::depth`]: constant, unless entities with sources of their own were moved in this frame.
///
/// # Panics
/// As for [`Up`](super::Up).
pub struct Depth<R: TraversableRelation>(PhantomData<fn() -> R>);

/// Query data: the entities above an entity, nearest first, following first targets. See [`RelationView::ancestors`].
///
/// Matches every entity; one without targets has no ancestors.
///
/// In the book: [Walks, islands, disabling](crate::book::walks).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, query::Ancestors};
///
/// fn paths(entities: Query<(&Name, Ancestors<ChildOf>)>, names: Query<&Name>) -> Vec<String> {
///     let path = |(name, ancestors): (&Name, _)| {
///         let above = names.iter_many(ancestors).flatten().map(Name::as_str);
///         core::iter::once(name.as_str()).chain(above).collect::<Vec<_>>().join(" in ")
///     };
///     entities.iter().map(path).collect()
/// }
/// # let mut world = World::new();
/// # let room = world.spawn(Name::new("room")).id();
/// # let chest = world.spawn((Name::new("chest"), ChildOf(room))).id();
/// # world.spawn((Name::new("key"), ChildOf(chest)));
/// # assert!(world.run_system_cached(paths).unwrap().contains(&"key in chest in room".into()));
/// ```
///
/// # Complexity
/// O(ancestors).
///
/// # Panics
/// As for [`Up`](super::Up).
pub struct Ancestors<R: TraversableRelation>(PhantomData<fn() -> R>);

/// Query data: all pairs of an entity, of any relation, as relation and target. Tags are not pairs.
///
/// The item is a [`PairsOfItem`]. An entity without pairs does not match; write `Option<PairsOf>` to get it too.
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, query::PairsOf};
///
/// #[derive(Component)]
/// struct Selected;
///
/// fn list(selected: Query<PairsOf, With<Selected>>, names: Query<&Name>) -> Vec<String> {
///     let name = |entity| names.get(entity).map_or("?", Name::as_str);
///     let pairs = selected.iter().flatten();
///     pairs.map(|(relation, target)| format!("{} {}", name(relation), name(target))).collect()
/// }
/// # let mut world = World::new();
/// # let likes = world.spawn_relation("Likes", RelationTraits::new()).unwrap();
/// # let ann = world.spawn(Name::new("Ann")).id();
/// # let ben = world.spawn(Selected).id();
/// # world.insert_pair_by_id(ben, (likes, ann)).unwrap();
/// # assert_eq!(world.run_system_cached(list).unwrap(), ["Likes Ann"]);
/// ```
///
/// # Complexity
/// O(relations in which the entity takes part + its pairs).
pub struct PairsOf(());

/// What [`PairsOf`] returns: an iterator over pairs, as relation and target.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::query::PairsOf;
/// #[derive(Relation)]
/// struct Eats;
///
/// fn list(entities: Query<PairsOf>) -> Vec<(Entity, Entity)> {
///     entities.iter().flatten().collect()
/// }
/// # let mut world = World::new();
/// # let hay = world.spawn_empty().id();
/// # world.spawn(Pair(Eats, hay));
/// # let eats = world.entity_of::<Eats>();
/// assert_eq!(world.run_system_cached(list).unwrap(), [(eats, hay)]);
/// ```
#[derive(Clone)]
pub struct PairsOfItem<'w> {
    store: &'w PairStore,
    source: Entity,
    /// Those that are still to be listed.
    relations: RelationsOf<'w>,
    /// The relation that is being listed, and its targets.
    relation: Entity,
    targets: TargetIter<'w>,
}

impl PairsOfItem<'_> {
    /// Goes to the next relation of which there are pairs.
    fn next_relation(&mut self) -> Option<()> {
        let index = self.relations.find_map(|id| {
            self.relation = self.store.registry().entry(id).entity;
            let index = self.store.relation(id);
            index.has_any(self.source).then_some(index)
        })?;
        self.targets = index.targets(self.source);
        Some(())
    }
}

impl Iterator for PairsOfItem<'_> {
    type Item = (Entity, Entity);

    fn next(&mut self) -> Option<(Entity, Entity)> {
        loop {
            if let Some(target) = self.targets.next() {
                return Some((self.relation, target));
            }
            self.next_relation()?;
        }
    }
}

impl FusedIterator for PairsOfItem<'_> {}

impl fmt::Debug for PairsOfItem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

/// # Safety
/// None: nothing is accessed but what was fetched.
unsafe fn depth<R: TraversableRelation>(
    _: &ReadPairsState,
    fetch: &mut ReadPairsFetch<'_, R>,
    entity: Entity,
    _: TableRow,
) -> Option<u32> {
    Some(RelationView::new(fetch.index, None).depth(entity).unwrap_or(0))
}

/// # Safety
/// As for [`depth`].
unsafe fn ancestors<'w, R: TraversableRelation>(
    _: &ReadPairsState,
    fetch: &mut ReadPairsFetch<'w, R>,
    entity: Entity,
    _: TableRow,
) -> Option<AncestorIter<'w, 'static>> {
    Some(RelationView::new(fetch.index, None).ancestors(entity))
}

/// # Safety
/// As for [`depth`].
unsafe fn pairs_of<'w>(
    _: &ReadPairsState,
    fetch: &mut ReadPairsFetch<'w, IsA>,
    source: Entity,
    _: TableRow,
) -> Option<PairsOfItem<'w>> {
    let store = fetch.store?;
    let relations = store.participants().relations(source);
    let targets = TargetIter::none();
    let mut item = PairsOfItem { store, source, relations, relation: source, targets };
    item.next_relation()?;
    Some(item)
}

query_data!(
    [R: TraversableRelation] Depth<R>,
    reads ReadPairs<R, false>, prepare |world| require_traversable::<R>(world, type_name::<Self>()),
    item<'w, 's> u32, fetch depth, shrink |item| item, archetypal true
);

query_data!(
    [R: TraversableRelation] Ancestors<R>,
    reads ReadPairs<R, false>, prepare |world| require_traversable::<R>(world, type_name::<Self>()),
    item<'w, 's> AncestorIter<'w, 'static>, fetch ancestors, shrink |item| item, archetypal true
);

// Any relation will do to get at the store.
query_data!(
    [] PairsOf, reads ReadPairs<IsA, false>, prepare |world| _ = use_all_relations(world),
    item<'w, 's> PairsOfItem<'w>, fetch pairs_of, shrink |item| item, archetypal false
);

impl<R: TraversableRelation> ArchetypeQueryData for Depth<R> {}

impl<R: TraversableRelation> ArchetypeQueryData for Ancestors<R> {}

release_state!([R: TraversableRelation] Depth<R>);
release_state!([R: TraversableRelation] Ancestors<R>);
release_state!([] PairsOf);
