//! The pairs of every relation that fit an id with wildcards.

use super::view::{ChildrenAccess, RelationView};
use crate::{
    id::{PairId, RelationId, Slot},
    relation::{CHILD_OF, TAGGED},
    store::{PairStore, SourceIter, TargetIter},
};
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
        RelationView::new(Some(self.store.relation(id)), self.children.filter(|_| id == CHILD_OF))
    }

    /// The stored pairs that fit `id`, of one source or of all. `_` in a position stands for one match at most.
    /// Tags are no pairs: they only fit an id that names their relation.
    pub(crate) fn select(
        self,
        source: Option<Entity>,
        id: PairId,
    ) -> impl Iterator<Item = (RelationId, Entity, Entity)> + use<'w, 's> {
        self.candidates(source, id).flat_map(move |relation| {
            let pairs = self.pairs_in(relation, source, id.target().entity());
            let fitting = pairs.filter(move |&(source, target)| self.counts(id, relation, source, target));
            fitting.map(move |(source, target)| (relation, source, target))
        })
    }

    /// Whether `source` has a pair that fits `id`.
    pub(crate) fn has(self, source: Entity, id: PairId) -> bool {
        self.candidates(Some(source), id).any(|relation| match id.target().entity() {
            Some(target) => self.store.relation(relation).has(source, target),
            None => self.store.relation(relation).has_any(source),
        })
    }

    /// The relations that can hold pairs that fit.
    fn candidates(
        self,
        source: Option<Entity>,
        id: PairId,
    ) -> impl Iterator<Item = RelationId> + use<'w, 's> {
        let (named, end) = (id.relation().entity(), source.or(id.target().entity()));
        let store = self.store;
        // One of the three: the relation that is named, those of an end that is, or all.
        let one = named.and_then(|relation| store.registry.of_entity(relation));
        let of_end = end.filter(|_| named.is_none()).map(|end| self.relations_of(end));
        let all = (named.is_none() && end.is_none()).then(|| self.all());
        one.into_iter().chain(of_end.into_iter().flatten()).chain(all.into_iter().flatten())
    }

    /// Every relation.
    pub(crate) fn all(self) -> impl Iterator<Item = RelationId> + use<'w, 's> {
        self.store.registry.ids().filter(|&relation| relation != TAGGED)
    }

    /// The relations in which an entity takes part, or took part once.
    pub(crate) fn relations_of(self, entity: Entity) -> impl Iterator<Item = RelationId> + use<'w, 's> {
        self.store.participants.relations(entity).filter(|&relation| relation != TAGGED)
    }

    /// The pairs of one relation with these ends.
    fn pairs_in(
        self,
        relation: RelationId,
        source: Option<Entity>,
        target: Option<Entity>,
    ) -> impl Iterator<Item = (Entity, Entity)> + use<'w, 's> {
        let view = self.view(relation);
        let targets = match (source, target) {
            (Some(source), Some(target)) => TargetIter::one(view.has(source, target).then_some(target)),
            (Some(source), None) => view.targets(source),
            (None, _) => TargetIter::none(),
        };
        let sources = match (source, target) {
            (None, Some(target)) => view.sources(target),
            _ => SourceIter::none(),
        };
        let all = (source.is_none() && target.is_none()).then(|| view.iter());
        let targets = targets.filter_map(move |target| Some((source?, target)));
        let sources = sources.filter_map(move |source| Some((source, target?)));
        targets.chain(sources).chain(all.into_iter().flatten())
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
