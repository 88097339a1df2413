//! Terms about pairs of any relation that follow nothing: what is stored is all that there is.

use super::atom::{Arg, Flow, Found, Matcher};
use crate::{
    expr::{
        eval::Datum,
        plan::{IdOp, RelationOp},
    },
    id::RelationId,
};
use bevy_ecs::entity::Entity;
use core::ops::ControlFlow;

impl Matcher<'_, '_> {
    /// Whether there is a way. `None` if that has to be found in general.
    pub(super) fn is_stored(&self) -> Option<bool> {
        let Arg::Known(source) = self.source else { return None };
        let has = |id: RelationId| match self.second {
            Arg::Known(target) => self.view.index(id).has(source, target),
            _ => true,
        };
        let is_open = matches!(self.first, Arg::Free | Arg::Any)
            && matches!(self.second, Arg::Known(_) | Arg::Free | Arg::Any);
        let is_alive = self.view.is_alive(source);
        (is_open && self.asks_for_stored()).then(|| is_alive && self.view.store.relations_of(source).any(has))
    }

    /// Every way, if each relation counts. `None` if they have to be found in general.
    pub(super) fn each_stored(&mut self, emit: &mut dyn FnMut(Found) -> Flow) -> Option<Flow> {
        if self.first != Arg::Free || !self.asks_for_stored() {
            return None;
        }
        let view = self.view;
        match (self.source, self.second) {
            (Arg::Known(source), Arg::Known(target)) => {
                let mut relations = view.store.relations_of(source);
                Some(relations.try_for_each(|id| match view.index(id).has(source, target) {
                    true => self.emit_stored(id, source, target, emit),
                    false => ControlFlow::Continue(()),
                }))
            }
            (Arg::Known(source), Arg::Free) => {
                let mut relations = view.store.relations_of(source);
                Some(relations.try_for_each(|id| {
                    let mut targets = view.targets(id, source);
                    targets.try_for_each(|target| self.emit_stored(id, source, target, emit))
                }))
            }
            (Arg::Free, Arg::Known(target)) => Some(view.relations().try_for_each(|id| {
                let mut sources = view.sources(id, target);
                sources.try_for_each(|source| self.emit_stored(id, source, target, emit))
            })),
            _ => None,
        }
    }

    /// Whether it is a term about pairs of any relation, as they are stored.
    fn asks_for_stored(&self) -> bool {
        self.op.walk.is_none()
            && matches!(self.op.id, IdOp::Pair { relation: RelationOp::Free(_), target_walk: None, .. })
    }

    #[inline]
    fn emit_stored(
        &mut self,
        relation: RelationId,
        source: Entity,
        target: Entity,
        emit: &mut dyn FnMut(Found) -> Flow,
    ) -> Flow {
        if !self.view.is_alive(source) {
            return ControlFlow::Continue(());
        }
        self.step()?;
        let first = Datum::new(self.view.store.registry().entry(relation).entity);
        let source = Datum::new(source);
        emit(Found { source, first, second: Datum::new(target), holder: source })
    }
}
