//! The pairs of every relation that fit an id with wildcards.

use super::{
    topology::{ChildrenAccess, is_ordered_by_children},
    view::RelationView,
};
use crate::{
    id::{PairId, RelationId, Slot, StoredTag},
    relation::CHILD_OF,
    store::{self, ListIter, PairStore, SourceIter, TargetIter},
};
use alloc::{vec, vec::Vec};
use bevy_ecs::entity::Entity;

/// All relations of a world.
#[derive(Clone, Copy)]
pub(crate) struct Relations<'w, 's> {
    pub(crate) store: &'w PairStore,
    /// How to read the order of children, if it matters.
    children: Option<ChildrenAccess<'w, 's>>,
}

impl<'w, 's> Relations<'w, 's> {
    pub(crate) fn new(store: &'w PairStore, children: Option<ChildrenAccess<'w, 's>>) -> Self {
        Self { store, children }
    }

    /// The pairs of one relation.
    pub(crate) fn view(self, id: RelationId) -> RelationView<'w, 's> {
        if let Some(ChildrenAccess::World(world)) = self.children
            && self.store.lacks_pairs_of(id)
        {
            return RelationView::of_hierarchy(world);
        }
        let view = RelationView::new(
            Some(self.store.relation(id)),
            self.children.filter(|_| is_ordered_by_children(id)),
        );
        match self.children {
            Some(ChildrenAccess::World(world)) => view.named_in(world),
            _ => view,
        }
    }

    /// The stored pairs that fit `id`, of one source or of all. `_` in a position stands for one match at most.
    pub(crate) fn select(self, source: Option<Entity>, id: PairId) -> SelectIter<'w, 's> {
        let candidates = Candidates::new(self, source, id);
        let one_of_several = [id.relation(), id.target()].contains(&Slot::Any);
        SelectIter {
            relations: self,
            source,
            id,
            one_of_several,
            candidates,
            relation: None,
            ends: None,
            lists: None,
        }
    }

    /// The pairs of the relation that an entity is, or the tags, if it names those.
    pub(crate) fn named(self, relation: Entity) -> Option<RelationView<'w, 's>> {
        match self.store.registry().of_entity(relation) {
            Some(id) => Some(self.view(id)),
            None if self.store.registry().names_tags(relation) => {
                Some(RelationView::new(Some(self.store.tags()), None))
            }
            None => None,
        }
    }

    /// The tags that fit `id`, of one source or of all: a tag is a target without a relation, so that `(*, tag)` and
    /// `(*, *)` fit. `_` stands for one match at most.
    pub(crate) fn select_tags(self, source: Option<Entity>, id: PairId) -> Vec<StoredTag> {
        if id.relation().entity().is_some_and(|relation| !self.store.registry().names_tags(relation)) {
            return Vec::new();
        }
        let tags = self.store.tags();
        let mut found: Vec<StoredTag> = match (source, id.target().entity()) {
            (Some(source), Some(tag)) if tags.has(source, tag) => vec![StoredTag { source, tag }],
            (Some(_), Some(_)) => Vec::new(),
            (Some(source), None) => tags.targets(source).map(|tag| StoredTag { source, tag }).collect(),
            (None, Some(tag)) => tags.sources(tag).map(|source| StoredTag { source, tag }).collect(),
            (None, None) => tags.iter().map(|(source, tag)| StoredTag { source, tag }).collect(),
        };
        if id.target() == Slot::Any {
            found.retain(|found| tags.first_target(found.source) == Some(found.tag));
        }
        found
    }

    /// Whether `source` has a pair that fits `id`.
    pub(crate) fn has(self, source: Entity, id: PairId) -> bool {
        if let Some(relation) = id.relation().entity() {
            return self.named(relation).is_some_and(|view| match id.target().entity() {
                Some(target) => view.has(source, target),
                None => view.has_any(source),
            });
        }
        Candidates::new(self, Some(source), id).any(|relation| match id.target().entity() {
            Some(target) => self.view(relation).has(source, target),
            None => self.view(relation).has_any(source),
        })
    }

    /// The relations in which an entity takes part, or took part once.
    pub(crate) fn relations_of(self, entity: Entity) -> impl Iterator<Item = RelationId> + use<'w, 's> {
        relations_of(self.store, entity)
    }

    /// Every relation.
    pub(crate) fn all(self) -> impl Iterator<Item = RelationId> + use<'w, 's> {
        self.store.registry().ids()
    }

    /// Whether a pair that fits is the one that counts where `_` lets only one of several count: the first
    /// target for the target, the first relation for the relation.
    fn counts(self, id: PairId, relation: RelationId, source: Entity, target: Entity) -> bool {
        let any_target = id.target() == Slot::Any;
        if any_target && self.view(relation).target(source) != Some(target) {
            return false;
        }
        let earlier = || self.relations_of(source).take_while(|&other| other != relation);
        id.relation() != Slot::Any
            || !earlier().any(|other| match any_target {
                true => self.view(other).has_any(source),
                false => self.view(other).has(source, target),
            })
    }
}

/// The relations in which an entity takes part, or took part once. `ChildOf` is one of them as
/// long as the store lacks its pairs.
fn relations_of(store: &PairStore, entity: Entity) -> store::RelationsOf<'_> {
    let relations = store.participants().relations(entity);
    if store.lacks_children() { relations.with(CHILD_OF) } else { relations }
}

/// The relations that can hold pairs that fit an id.
enum Candidates<'w> {
    /// The one that the id names.
    Named(Option<RelationId>),
    /// Those in which an end takes part.
    Of(store::RelationsOf<'w>),
    /// All, from a number on.
    All(&'w PairStore, u32),
}

impl<'w> Candidates<'w> {
    fn new(relations: Relations<'w, '_>, source: Option<Entity>, id: PairId) -> Self {
        let Relations { store, .. } = relations;
        match (id.relation().entity(), source.or(id.target().entity())) {
            (Some(relation), _) => Self::Named(store.registry().of_entity(relation)),
            (None, Some(end)) => Self::Of(relations_of(store, end)),
            (None, None) => Self::All(store, 0),
        }
    }
}

impl Iterator for Candidates<'_> {
    type Item = RelationId;

    #[inline]
    fn next(&mut self) -> Option<RelationId> {
        match self {
            Self::Named(relation) => relation.take(),
            Self::Of(relations) => relations.next(),
            Self::All(store, next) => {
                let relation = store.registry().next_from(*next)?;
                *next = relation.0 + 1;
                Some(relation)
            }
        }
    }
}

/// The pairs of one source or of one target.
enum EndPairs<'w> {
    Of(Entity, TargetIter<'w>),
    To(SourceIter<'w>, Entity),
    /// All of a relation of which no index is kept.
    All(vec::IntoIter<(Entity, Entity)>),
}

impl Iterator for EndPairs<'_> {
    type Item = (Entity, Entity);

    #[inline]
    fn next(&mut self) -> Option<(Entity, Entity)> {
        match self {
            Self::Of(source, targets) => targets.next().map(|target| (*source, target)),
            Self::To(sources, target) => sources.next().map(|source| (source, *target)),
            Self::All(pairs) => pairs.next(),
        }
    }
}

/// Iterator over stored pairs of all relations. See [`Relations::select`].
pub(crate) struct SelectIter<'w, 's> {
    relations: Relations<'w, 's>,
    source: Option<Entity>,
    id: PairId,
    /// There is a `_` in the id.
    one_of_several: bool,
    candidates: Candidates<'w>,
    /// The relation at hand, and what is left of it.
    relation: Option<RelationId>,
    ends: Option<EndPairs<'w>>,
    /// If all its pairs are to be given: the lists of sources that are left.
    lists: Option<ListIter<'w>>,
}

impl SelectIter<'_, '_> {
    /// The next pair of the relation at hand.
    #[inline]
    fn next_here(&mut self) -> Option<(RelationId, Entity, Entity)> {
        let relation = self.relation?;
        loop {
            if let Some((source, target)) = self.ends.as_mut().and_then(Iterator::next) {
                return Some((relation, source, target));
            }
            let (target, _) = self.lists.as_mut()?.next()?;
            let sources = self.relations.view(relation).sources(target);
            self.ends = Some(EndPairs::To(sources, target));
        }
    }

    /// Goes on to the next relation.
    fn enter(&mut self) -> Option<()> {
        let relation = self.candidates.next()?;
        self.relation = Some(relation);
        let view = self.relations.view(relation);
        self.ends = match (self.source, self.id.target().entity()) {
            (Some(source), Some(target)) => {
                let target = view.has(source, target).then_some(target);
                Some(EndPairs::Of(source, TargetIter::one(target)))
            }
            (Some(source), None) => Some(EndPairs::Of(source, view.targets(source))),
            (None, Some(target)) => Some(EndPairs::To(view.sources(target), target)),
            (None, None) if self.relations.store.lacks_pairs_of(relation) => {
                Some(EndPairs::All(view.iter().collect::<Vec<_>>().into_iter()))
            }
            (None, None) => None,
        };
        let index = self.relations.store.relation(relation);
        self.lists = self.ends.is_none().then(|| index.targets_with_sources());
        Some(())
    }
}

impl Iterator for SelectIter<'_, '_> {
    type Item = (RelationId, Entity, Entity);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.next_here() {
                Some((relation, source, target)) => {
                    if !self.one_of_several || self.relations.counts(self.id, relation, source, target) {
                        return Some((relation, source, target));
                    }
                }
                None => self.enter()?,
            }
        }
    }
}
