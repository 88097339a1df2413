//! Terms about pairs of any relation that follow nothing: what is stored is all that there is.

use super::{
    Batch, Decided, Run, StageState,
    atom::{Arg, Flow, Found, Matcher},
};
use crate::{
    expr::{
        eval::{Datum, View},
        plan::{AtomOp, Column, IdOp, Operand, Position, RelationOp},
    },
    id::RelationId,
    store::ExclusiveReader,
};
use bevy_ecs::entity::Entity;
use core::ops::ControlFlow;
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
    /// The source, and where relation and target are written, if every pair of the source is to be found.
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

/// A relation, and what reads its pairs if it is exclusive.
struct PairReader<'w> {
    relation: Datum,
    id: RelationId,
    exclusive: Option<ExclusiveReader<'w>>,
}

/// So few relations are read for each source, without a look at those that it takes part in: that would be a branch that no
/// processor predicts.
const FEW_RELATIONS: usize = 8;

/// So many relations are looked at for those that have pairs.
const MAX_LOOKED_AT: usize = 64;

/// For fewer sources it is not worth finding out which relations have pairs.
const MANY_SOURCES: usize = 32;

/// What reads all pairs, if they are of a few relations.
fn readers<'w>(view: &View<'w>) -> Option<SmallVec<[PairReader<'w>; FEW_RELATIONS]>> {
    let mut readers = SmallVec::new();
    for (number, id) in view.relations().enumerate() {
        let index = view.index(id);
        if number == MAX_LOOKED_AT || readers.len() == FEW_RELATIONS && index.len() > 0 {
            return None;
        }
        if index.len() > 0 {
            let relation = Datum::new(view.store.registry().entry(id).entity);
            let exclusive = index.exclusive_reader(view.store.compares(id));
            readers.push(PairReader { relation, id, exclusive });
        }
    }
    Some(readers)
}

/// Rows of pairs that are yet to be appended: they are written whether there is a pair or not, and counted if there is.
struct PairRows {
    rows: [u32; Self::LEN],
    relations: [Datum; Self::LEN],
    targets: [Datum; Self::LEN],
    len: usize,
}

impl PairRows {
    const LEN: usize = 64;

    fn new() -> Self {
        let unset = [Datum::UNSET; Self::LEN];
        Self { rows: [0; Self::LEN], relations: unset, targets: unset, len: 0 }
    }

    /// Adds a row if there is a target. There must be room.
    #[inline]
    fn push(&mut self, row: u32, relation: Datum, target: Datum) {
        let at = self.len % Self::LEN;
        (self.rows[at], self.relations[at], self.targets[at]) = (row, relation, target);
        self.len += usize::from(!target.is_unset());
    }

    fn is_full(&self) -> bool {
        self.len + FEW_RELATIONS > Self::LEN
    }
}

impl StageState {
    /// Makes a row of every pair of the sources that come next.
    pub(super) fn each_pair(
        &mut self,
        run: &Run<'_, '_>,
        (input, source, decided): (&Batch, Operand, Option<Decided<'_>>),
        columns: [Column; 2],
        output: &mut Batch,
    ) {
        let (view, mut pairs) = (run.view, PairRows::new());
        let mut readers = if input.len - self.row < MANY_SOURCES { None } else { readers(&view) };
        while self.row < input.len && self.room(run) > pairs.len {
            if Decided::is(decided, input, self.row) {
                self.next_row();
                continue;
            }
            let row = self.row as u32;
            if let Some(source) = input.entity(source, self.row).filter(|&source| view.is_alive(source)) {
                match &mut readers {
                    Some(readers) => readers.iter_mut().for_each(|reader| match &mut reader.exclusive {
                        Some(exclusive) => {
                            let target = exclusive.target_bits(source);
                            pairs.push(row, reader.relation, Datum::from_bits_or(target, Datum::UNSET));
                        }
                        None => self.add_pairs(&view, (source, reader.id), columns, (&mut pairs, output)),
                    }),
                    // Of some there may be no pair any more.
                    None => view.store.participants().relations(source).for_each(|id| {
                        self.add_pairs(&view, (source, id), columns, (&mut pairs, output));
                    }),
                }
            }
            if pairs.is_full() {
                self.append(&mut pairs, columns, output);
            }
            self.next_row();
        }
        self.append(&mut pairs, columns, output);
    }

    /// Adds all pairs that a source has of a relation.
    fn add_pairs(
        &mut self,
        view: &View<'_>,
        (source, relation): (Entity, RelationId),
        columns: [Column; 2],
        (pairs, output): (&mut PairRows, &mut Batch),
    ) {
        let entity = Datum::new(view.store.registry().entry(relation).entity);
        for target in view.index(relation).targets(source) {
            if pairs.is_full() {
                self.append(pairs, columns, output);
            }
            pairs.push(self.row as u32, entity, Datum::new(target));
        }
    }

    fn append(&mut self, pairs: &mut PairRows, [relations, targets]: [Column; 2], output: &mut Batch) {
        let len = core::mem::take(&mut pairs.len);
        self.rows.extend_from_slice(&pairs.rows[..len]);
        output.column_mut(relations).extend_from_slice(&pairs.relations[..len]);
        output.column_mut(targets).extend_from_slice(&pairs.targets[..len]);
    }
}
