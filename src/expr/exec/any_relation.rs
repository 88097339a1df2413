//! Terms about pairs of any relation that follow nothing: what is stored is all that there is.

use super::{
    Batch, Run, StageState,
    atom::{Arg, Flow, Found, Matcher},
};
use crate::{
    expr::{
        eval::Datum,
        plan::{AtomOp, Column, IdOp, Operand, Position, RelationOp},
    },
    id::RelationId,
};
use bevy_ecs::entity::Entity;
use core::ops::ControlFlow;

impl Matcher<'_, '_> {
    /// Whether there is a way. `None` if that has to be found in general.
    pub(super) fn is_stored(&self) -> Option<bool> {
        let (Arg::Known(source), Arg::Free | Arg::Any) = (self.source, self.first) else { return None };
        let target = match self.second {
            Arg::Known(target) => Some(target),
            Arg::Free | Arg::Any => None,
            Arg::Component(_) | Arg::Nothing => return None,
        };
        let view = self.view;
        self.reads_stored_pairs().then(|| view.is_alive(source) && view.has_any_relation(source, target))
    }

    /// Every way, if each relation counts. `None` if they have to be found in general.
    pub(super) fn each_stored(&mut self, emit: &mut dyn FnMut(Found) -> Flow) -> Option<Flow> {
        if self.first != Arg::Free || !self.reads_stored_pairs() {
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
    fn reads_stored_pairs(&self) -> bool {
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

impl AtomOp {
    /// The source, and where relation and target are written, if every pair of the source is asked for.
    pub(super) fn each_pair(&self) -> Option<(Operand, [Column; 2])> {
        let IdOp::Pair {
            relation: RelationOp::Free(Position::Out(relation)),
            target: Position::Out(target),
            target_walk: None,
        } = self.id
        else {
            return None;
        };
        match self.source {
            Position::Known(source) if self.walk.is_none() => Some((source, [relation, target])),
            _ => None,
        }
    }
}

impl StageState {
    /// Makes a row of every pair of a source.
    pub(super) fn each_pair(
        &mut self,
        run: &Run<'_, '_>,
        source: Option<Entity>,
        [relations, targets]: [Column; 2],
        output: &mut Batch,
    ) {
        let (view, row) = (run.view, self.row as u32);
        if let Some(source) = source.filter(|&source| view.is_alive(source)) {
            // Of some there may be no pair any more.
            for id in view.store.participants().relations(source) {
                let found = output.column_mut(targets);
                let index = view.index(id);
                match index.upward(view.store.compares(id)) {
                    Some(upward) => found.extend(upward.target(source).map(Datum::new)),
                    None => found.extend(index.targets(source).map(Datum::new)),
                }
                let rows = found.len();
                let relation = Datum::new(view.store.registry().entry(id).entity);
                output.column_mut(relations).resize(rows, relation);
                self.rows.resize(rows, row);
            }
        }
        self.next_row();
    }
}
