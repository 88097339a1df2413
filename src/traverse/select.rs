//! The pairs of every relation that fit an id with wildcards.

use super::{
    topology::{ChildrenAccess, is_ordered_by_children},
    view::RelationView,
};
use crate::{
    id::{PairId, RelationId, Slot},
    relation::TAGGED,
    store::{self, ListIter, PairStore, SourceIter, TargetIter},
};
use bevy_ecs::entity::Entity;

/// All relations of a world.
#[derive(Clone, Copy)]
pub(crate) struct Relations<'w, 's> {
    pub(crate) store: &'w PairStore,
    /// How to read the order of children, if it matters.
    children: Option<ChildrenAccess<'w, 's>>,
    /// Tags count as pairs.
    tags: bool,
}

impl<'w, 's> Relations<'w, 's> {
    pub(crate) fn new(store: &'w PairStore, children: Option<ChildrenAccess<'w, 's>>) -> Self {
        Self { store, children, tags: false }
    }

    /// The same, with tags: pairs of the relation that stands for them.
    pub(crate) fn with_tags(self) -> Self {
        Self { tags: true, ..self }
    }

    /// The pairs of one relation.
    pub(crate) fn view(self, id: RelationId) -> RelationView<'w, 's> {
        RelationView::new(Some(self.store.relation(id)), self.children.filter(|_| is_ordered_by_children(id)))
    }

    /// The stored pairs that fit `id`, of one source or of all. `_` in a position stands for one match at most.
    /// Tags are no pairs, unless asked for: they only fit an id that names their relation.
    pub(crate) fn select(self, source: Option<Entity>, id: PairId) -> SelectIter<'w, 's> {
        let candidates = Candidates::new(self, source, id);
        let one_of_several = [id.relation(), id.target()].contains(&Slot::Any);
        let (relation, ends, lists) = (TAGGED, None, None);
        SelectIter { relations: self, source, id, one_of_several, candidates, relation, ends, lists }
    }

    /// Whether `source` has a pair that fits `id`.
    pub(crate) fn has(self, source: Entity, id: PairId) -> bool {
        Candidates::new(self, Some(source), id).any(|relation| match id.target().entity() {
            Some(target) => self.store.relation(relation).has(source, target),
            None => self.store.relation(relation).has_any(source),
        })
    }

    /// The relations in which an entity takes part, or took part once.
    pub(crate) fn relations_of(self, entity: Entity) -> impl Iterator<Item = RelationId> + use<'w, 's> {
        self.store.participants.relations(entity).filter(move |&relation| self.counts_as_relation(relation))
    }

    /// Every relation.
    pub(crate) fn all(self) -> impl Iterator<Item = RelationId> + use<'w, 's> {
        self.store.registry.ids().filter(move |&relation| self.counts_as_relation(relation))
    }

    #[inline]
    fn counts_as_relation(self, relation: RelationId) -> bool {
        self.tags || relation != TAGGED
    }

    /// Whether a pair that fits is the one that counts where `_` lets only one of several count: the first
    /// target for the target, the first relation for the relation.
    fn counts(self, id: PairId, relation: RelationId, source: Entity, target: Entity) -> bool {
        let any_target = id.target() == Slot::Any;
        if any_target && self.store.relation(relation).first_target(source) != Some(target) {
            return false;
        }
        let earlier = || self.relations_of(source).take_while(|&other| other != relation);
        id.relation() != Slot::Any
            || !earlier().any(|other| match any_target {
                true => self.store.relation(other).has_any(source),
                false => self.store.relation(other).has(source, target),
            })
    }
}

/// The relations that can hold pairs that fit an id.
enum Candidates<'w> {
    /// The one that the id names.
    Named(Option<RelationId>),
    /// Those in which an end takes part; tags too, or not.
    Of(store::Relations<'w>, bool),
    /// All, from a number on; tags too, or not.
    All(&'w PairStore, u32, bool),
}

impl<'w> Candidates<'w> {
    fn new(relations: Relations<'w, '_>, source: Option<Entity>, id: PairId) -> Self {
        let Relations { store, tags, .. } = relations;
        match (id.relation().entity(), source.or(id.target().entity())) {
            (Some(relation), _) => Self::Named(store.registry.of_entity(relation)),
            (None, Some(end)) => Self::Of(store.participants.relations(end), tags),
            (None, None) => Self::All(store, 0, tags),
        }
    }
}

impl Iterator for Candidates<'_> {
    type Item = RelationId;

    #[inline]
    fn next(&mut self) -> Option<RelationId> {
        match self {
            Self::Named(relation) => relation.take(),
            Self::Of(relations, tags) => relations.find(|&relation| *tags || relation != TAGGED),
            Self::All(store, next, tags) => loop {
                let relation = RelationId(*next);
                let entry = store.registry.entries.get(relation.index())?;
                *next += 1;
                if entry.in_use && (*tags || relation != TAGGED) {
                    return Some(relation);
                }
            },
        }
    }
}

/// The pairs of one source or of one target.
enum Ends<'w> {
    Of(Entity, TargetIter<'w>),
    To(SourceIter<'w>, Entity),
}

impl Iterator for Ends<'_> {
    type Item = (Entity, Entity);

    #[inline]
    fn next(&mut self) -> Option<(Entity, Entity)> {
        match self {
            Self::Of(source, targets) => targets.next().map(|target| (*source, target)),
            Self::To(sources, target) => sources.next().map(|source| (source, *target)),
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
    relation: RelationId,
    ends: Option<Ends<'w>>,
    /// If all its pairs are to be given: the lists of sources that are left.
    lists: Option<ListIter<'w>>,
}

impl SelectIter<'_, '_> {
    /// The next pair of the relation at hand.
    #[inline]
    fn next_here(&mut self) -> Option<(Entity, Entity)> {
        loop {
            if let Some(pair) = self.ends.as_mut().and_then(Iterator::next) {
                return Some(pair);
            }
            let (target, _) = self.lists.as_mut()?.next()?;
            let sources = self.relations.view(self.relation).sources(target);
            self.ends = Some(Ends::To(sources, target));
        }
    }

    /// Goes on to the next relation.
    fn enter(&mut self) -> Option<()> {
        self.relation = self.candidates.next()?;
        let view = self.relations.view(self.relation);
        self.ends = match (self.source, self.id.target().entity()) {
            (Some(source), Some(target)) => {
                let target = view.has(source, target).then_some(target);
                Some(Ends::Of(source, TargetIter::one(target)))
            }
            (Some(source), None) => Some(Ends::Of(source, view.targets(source))),
            (None, Some(target)) => Some(Ends::To(view.sources(target), target)),
            (None, None) => None,
        };
        let index = self.relations.store.relation(self.relation);
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
                Some((source, target)) => {
                    let (relation, id) = (self.relation, self.id);
                    if !self.one_of_several || self.relations.counts(id, relation, source, target) {
                        return Some((relation, source, target));
                    }
                }
                None => self.enter()?,
            }
        }
    }
}
