//! Operations that make rows.

use super::{Batch, Decided, Run, StageState, atom::Matcher};
#[cfg(feature = "bevy_reflect")]
use crate::expr::plan::IndexedOp;
use crate::{
    expr::{
        eval::Datum,
        plan::{AtomOp, Column, IdOp, Position, Produce, RelationOp, Side, Stage},
    },
    id::RelationId,
    store::SourceIter,
};
use alloc::vec::Vec;
use bevy_ecs::entity::Entity;
use core::ops::ControlFlow;

impl Stage {
    /// Makes rows until there are enough of them or the input is used up.
    pub(super) fn produce(
        &self,
        state: &mut StageState,
        run: &mut Run<'_, '_>,
        input: &Batch,
        output: &mut Batch,
        decided: Option<Decided<'_>>,
    ) {
        if let Produce::Branch(branch) = &self.produce {
            return branch.produce(self, state, run, input, output);
        }
        state.rows.clear();
        state.scanned = 0;
        while state.row < input.len
            && state.room(run) > 0
            && state.steps <= run.shared.steps_left
            && !run.shared.atoms.is_over()
        {
            if Decided::is(decided, input, state.row) {
                state.next_row();
                continue;
            }
            match &self.produce {
                Produce::Unit => state.take_rows(input.len, decided.is_none(), run),
                Produce::Nothing { .. } => state.row = input.len,
                Produce::Scan { mask, out } => {
                    let component = self.scan_component(&run.view);
                    state.scan(run, *mask, self.scan_test(), component, output, *out);
                }
                Produce::Sources { relation, target, out } => {
                    let target = input.entity(*target, state.row);
                    if self.reads_tables(&run.view) {
                        let component =
                            target.and_then(|target| run.view.index(*relation).target_component(target));
                        self.sources_in_tables(state, run, component, output, *out);
                        continue;
                    }
                    let sources = target.map(|target| run.view.sources(*relation, target));
                    state.sources(run, sources, output.column_mut(*out));
                }
                Produce::Tagged { tag, out } => {
                    state.sources(run, Some(run.view.tags().sources(*tag)), output.column_mut(*out));
                }
                Produce::Targets { relation, source, out } => {
                    let source = input.entity(*source, state.row);
                    let targets = source.map(|source| run.view.targets(*relation, source));
                    state.all_of(targets.into_iter().flatten(), output.column_mut(*out));
                }
                Produce::Pairs { relation, source, target } => {
                    state.pairs(run, *relation, output, *source, *target);
                }
                Produce::Descendants { relation, target, out, reflexive } => {
                    let target = input.entity(*target, state.row);
                    state.descendants(run, *relation, target, *reflexive, output.column_mut(*out));
                }
                Produce::Intersect { out, sides } => {
                    state.intersect(run, input, sides, output.column_mut(*out));
                }
                #[cfg(feature = "bevy_reflect")]
                Produce::Indexed(indexed) => state.indexed(run, indexed, output.column_mut(indexed.out)),
                Produce::Atom(atom) => match atom.each_pair() {
                    Some((source, out)) => {
                        state.each_pair(run, (input, source, decided), out, output);
                    }
                    None => state.atom(run, atom, input, output),
                },
                Produce::Member(member) => {
                    let Position::Out(out) = member.value else { break };
                    let source = input.entity(member.source, state.row);
                    let value =
                        source.and_then(|source| run.shared.members.value(run.view.access, member, source));
                    state.all_of(value.into_iter(), output.column_mut(out));
                }
                Produce::Branch(_) => break,
            }
        }
        output.gather(input, &self.passthrough, &state.rows);
        output.len = state.rows.len();
    }
}

impl Side {
    /// The number of neighbors of an entity.
    fn count(self, run: &Run<'_, '_>, entity: Entity) -> usize {
        let index = run.view.index(self.relation);
        if self.targets { index.target_count(entity) } else { index.source_count(entity) }
    }

    #[inline]
    fn each(self, run: &Run<'_, '_>, entity: Entity, each: impl FnMut(Entity)) {
        let index = run.view.index(self.relation);
        if self.targets {
            index.targets(entity).for_each(each);
        } else {
            index.sources(entity).for_each(each);
        }
    }

    fn has(self, run: &Run<'_, '_>, entity: Entity, neighbor: Entity) -> bool {
        let index = run.view.index(self.relation);
        if self.targets { index.has(entity, neighbor) } else { index.has(neighbor, entity) }
    }
}

impl StageState {
    pub(super) fn next_row(&mut self) {
        self.row += 1;
        (self.major, self.minor, self.walking) = (0, 0, false);
        self.knows_version = false;
    }

    /// Makes a row of each of the next of so many that are given, or of one.
    fn take_rows(&mut self, given: usize, all: bool, run: &Run<'_, '_>) {
        let count = if all { self.room(run).min(given - self.row) } else { 1 };
        self.rows.extend((self.row..self.row + count).map(|row| row as u32));
        self.row += count - 1;
        self.next_row();
    }

    /// Makes a row of each entity.
    #[inline]
    fn all_of(&mut self, entities: impl Iterator<Item = Entity>, out: &mut Vec<Datum>) {
        let row = self.row as u32;
        out.extend(entities.map(Datum::new));
        self.rows.resize(out.len(), row);
        self.next_row();
    }

    /// How many more rows there is room for.
    pub(super) fn room(&self, run: &Run<'_, '_>) -> usize {
        run.shared.batch_size.saturating_sub(self.rows.len().max(self.scanned))
    }

    #[inline]
    fn sources(&mut self, run: &Run<'_, '_>, sources: Option<SourceIter<'_>>, out: &mut Vec<Datum>) {
        let sources = sources.unwrap_or_else(SourceIter::none);
        let Some(all) = sources.as_slice() else { return self.all_of(sources, out) };
        let rest = &all[self.minor.min(all.len())..];
        let taken = rest.len().min(self.room(run));
        out.extend(rest[..taken].iter().map(|&source| Datum::new(source)));
        self.rows.resize(out.len(), self.row as u32);
        if taken < rest.len() { self.minor += taken } else { self.next_row() }
    }

    /// Every pair of a relation, target by target.
    fn pairs(
        &mut self,
        run: &Run<'_, '_>,
        relation: RelationId,
        output: &mut Batch,
        source_out: Column,
        target_out: Column,
    ) {
        let index = run.view.index(relation);
        while self.major < index.list_count() {
            self.steps += 1;
            if self.room(run) == 0 {
                return;
            }
            if let Some(target) = index.target_of_list(self.major) {
                let sources = run.view.sources_in(relation, target, self.major);
                let target = Datum::new(target);
                let out = output.column_mut(source_out);
                match sources.as_slice() {
                    Some(sources) => out.extend(sources.iter().map(|&source| Datum::new(source))),
                    None => out.extend(sources.map(Datum::new)),
                }
                let rows = output.column_mut(source_out).len();
                output.column_mut(target_out).resize(rows, target);
                self.rows.resize(rows, self.row as u32);
            }
            self.major += 1;
        }
        self.next_row();
    }

    /// What lies below a target, which is known until the relation changes.
    fn descendants(
        &mut self,
        run: &Run<'_, '_>,
        relation: RelationId,
        target: Option<Entity>,
        reflexive: bool,
        out: &mut Vec<Datum>,
    ) {
        let Some(target) = target.filter(|&target| run.view.is_alive(target)) else { return self.next_row() };
        self.below.update(&run.view, relation, target);
        let all = self.below.entities(reflexive);
        let rest = &all[self.minor.min(all.len())..];
        let taken = rest.len().min(self.room(run));
        out.extend(rest[..taken].iter().map(|&entity| Datum::new(entity)));
        self.rows.resize(out.len(), self.row as u32);
        if taken < rest.len() { self.minor += taken } else { self.next_row() }
    }

    /// What an index finds, which is known for a run.
    #[cfg(feature = "bevy_reflect")]
    fn indexed(&mut self, run: &Run<'_, '_>, indexed: &IndexedOp, out: &mut Vec<Datum>) {
        let (round, all) = &mut self.indexed;
        if *round != run.shared.round {
            *round = run.shared.round;
            let access = run.view.access;
            let index = access.field_indices().and_then(|all| all.get(indexed.component, &indexed.path));
            if !index.is_some_and(|index| index.find(access, &indexed.keys, all)) {
                // Without the index, all that may hold is compared.
                all.clear();
                run.view.with_component(indexed.component, &mut |entity| all.push(entity));
            }
            run.masks.get(indexed.mask).keep_in_scan_order(&run.view, all);
            self.steps += all.len() as u64;
        }
        let rest = &self.indexed.1[self.minor.min(self.indexed.1.len())..];
        let taken = rest.len().min(self.room(run));
        out.extend(rest[..taken].iter().map(|&entity| Datum::new(entity)));
        self.rows.resize(out.len(), self.row as u32);
        if taken < rest.len() { self.minor += taken } else { self.next_row() }
    }

    /// The entities that are neighbors on both sides.
    ///
    /// Rows come in runs that have one of the two in common, since they were made from it. Its neighbors are
    /// noted once for the run, and each of the other's is looked up among them.
    fn intersect(&mut self, run: &Run<'_, '_>, input: &Batch, sides: &[Side; 2], out: &mut Vec<Datum>) {
        let known = sides.map(|side| input.columns[side.known as usize][self.row].entity());
        let [Some(first), Some(second)] = known else { return self.next_row() };
        let known = [first, second];
        if self.noted.is_none_or(|(side, entity)| known[side] != entity) {
            let next = self.row + 1;
            let again = |side: &usize| {
                let column = &input.columns[sides[*side].known as usize];
                next < input.len && column[next].entity() == Some(known[*side])
            };
            self.noted = (0..2).find(again).map(|side| (side, known[side]));
            if let Some((side, entity)) = self.noted {
                self.stamps.clear();
                sides[side].each(run, entity, |neighbor| {
                    self.stamps.insert(neighbor);
                });
            }
        }
        let counts = [0, 1].map(|side| sides[side].count(run, known[side]));
        let before = out.len();
        match self.noted {
            Some((noted, _)) if counts[1 - noted] <= counts[noted].saturating_mul(16) => {
                let stamps = &self.stamps;
                self.steps += counts[1 - noted] as u64;
                sides[1 - noted].each(run, known[1 - noted], |neighbor| {
                    if stamps.contains(neighbor) {
                        out.push(Datum::new(neighbor));
                    }
                });
            }
            _ => {
                let fewer = usize::from(counts[1] < counts[0]);
                let other = sides[1 - fewer];
                self.steps += counts[fewer] as u64;
                sides[fewer].each(run, known[fewer], |neighbor| {
                    if other.has(run, known[1 - fewer], neighbor) {
                        out.push(Datum::new(neighbor));
                    }
                });
            }
        }
        self.rows.resize(self.rows.len() + out.len() - before, self.row as u32);
        self.next_row();
    }

    /// Whatever the general operation finds.
    fn atom(&mut self, run: &mut Run<'_, '_>, atom: &AtomOp, input: &Batch, output: &mut Batch) {
        let row = self.row;
        let found = &mut self.found;
        found.clear();
        let atoms = &mut run.shared.atoms;
        let mut matcher =
            Matcher::new(run.view, atom, atoms, run.internal, |operand| input.value(operand, row));
        // Nothing stops it.
        let _: ControlFlow<()> = matcher.each(&mut |way| {
            found.push(way);
            ControlFlow::Continue(())
        });
        let mut write = |column: Option<Column>, value: fn(&super::Found) -> Datum| {
            if let Some(column) = column {
                output.column_mut(column).extend(self.found.iter().map(value));
            }
        };
        write(atom.source.out(), |way| way.source);
        write(atom.id_out, |way| way.first);
        write(atom.target_out, |way| way.second);
        write(atom.holder_out, |way| way.holder);
        match &atom.id {
            IdOp::AnyId(id) => write(id.out(), |way| way.first),
            IdOp::Pair { relation, target, .. } => {
                if let RelationOp::Free(relation) = relation {
                    write(relation.out(), |way| way.first);
                }
                write(target.out(), |way| way.second);
            }
            IdOp::Components(_) | IdOp::Tags(_) => {}
        }
        self.rows.resize(self.rows.len() + self.found.len(), row as u32);
        self.next_row();
    }
}
