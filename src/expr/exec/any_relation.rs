//! Terms about pairs of any relation that follow nothing: what is stored is all that there is.

use super::{
    Batch, Run, StageState,
    atom::{Arg, Flow, Found, Matcher},
};
use crate::{
    expr::{
        eval::{Datum, View},
        plan::{AtomOp, Column, IdOp, Operand, Position, RelationOp},
    },
    id::RelationId,
    store::Upward,
};
use bevy_ecs::entity::Entity;
use core::{mem, ops::ControlFlow};
use smallvec::SmallVec;

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
        self.asks_for_stored().then(|| view.is_alive(source) && view.has_any_relation(source, target))
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

/// Finds the targets of many sources in the relations that they have. Those in which a source has one at most are read faster.
#[derive(Default)]
struct Readers<'a> {
    /// Those that were met first.
    known: SmallVec<[(RelationId, RelationReader<'a>); 8]>,
}

/// The relation as a value, and what reads it if a source has one target at most.
type RelationReader<'a> = (Datum, Option<Upward<'a>>);

impl<'a> Readers<'a> {
    #[inline]
    fn of(&mut self, view: &View<'a>, id: RelationId) -> RelationReader<'a> {
        if let Some(&(_, reader)) = self.known.iter().find(|(known, _)| *known == id) {
            return reader;
        }
        let relation = Datum::new(view.store.registry().entry(id).entity);
        let reader = (relation, view.index(id).upward(view.store.compares(id)));
        if self.known.len() < self.known.inline_size() {
            self.known.push((id, reader));
        }
        reader
    }
}

impl StageState {
    /// Makes a row of every pair of the sources in a range of rows, as far as there is room.
    pub(super) fn each_pair(
        &mut self,
        run: &Run<'_, '_>,
        (source, input): (Operand, &Batch),
        until: usize,
        [relations, targets]: [Column; 2],
        output: &mut Batch,
    ) {
        let view = run.view;
        let mut readers = Readers::default();
        let mut found_relations = mem::take(output.column_mut(relations));
        let mut found = mem::take(output.column_mut(targets));
        while self.row < until && self.room(run) > 0 {
            let row = self.row as u32;
            if let Some(source) = input.entity(source, self.row).filter(|&source| view.is_alive(source)) {
                // Of some there may be no pair any more.
                for id in view.store.participants().relations(source) {
                    let (relation, upward) = readers.of(&view, id);
                    match upward {
                        Some(upward) => {
                            let Some(target) = upward.target(source) else { continue };
                            found.push(Datum::new(target));
                            found_relations.push(relation);
                            self.rows.push(row);
                        }
                        None => {
                            found.extend(view.index(id).targets(source).map(Datum::new));
                            found_relations.resize(found.len(), relation);
                            self.rows.resize(found.len(), row);
                        }
                    }
                }
            }
            self.next_row();
        }
        *output.column_mut(relations) = found_relations;
        *output.column_mut(targets) = found;
    }
}
