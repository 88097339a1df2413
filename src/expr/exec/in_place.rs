//! Scanning *in place*: a batch is a part of a table as it lies, and bits say which of its entries are rows.
//!
//! Where a plan is one scan with tests of each entity for itself, no row has to be moved: tests clear bits, and what reads the
//! rows goes from the bits straight to the columns of the table. What is the same for a whole table is tested once. Entries are no
//! rows where a bit is not set, so only callers that check the bits get such batches: see
//! [`Executor::allow_gaps`](super::Executor::allow_gaps).

use super::{
    Batch, InPlace, Own, Run, StageState,
    buffers::CommonTargets,
    climb::Climber,
    mask::{Fit, ScanPart},
    row_bits::{RowBits, WORD},
    scan::UseScanTest,
};
use crate::{
    expr::{
        bind::Var,
        eval::{Datum, Special},
        plan::{Column, Compute, HolderSearch, HolderTest, Operand, Predicate, Produce, Stage, Step},
    },
    id::RelationId,
    store::ones,
};
use alloc::vec::Vec;
use bevy_ecs::{entity::Entity, storage::TableId};

/// So many times longer is a batch if the one before held nothing of a length of its own but bits: what is done once for each batch
/// is a fifth of the shortest loops.
const LONG_BATCH: usize = 8;

/// Whether a test is of the entity that is scanned, and needs nothing else.
fn is_of(test: &Predicate, this: Operand) -> bool {
    match test {
        Predicate::Mask { entity, .. } => *entity == this,
        Predicate::HasAny { source, .. }
        | Predicate::HasAnyRelation { source, .. }
        | Predicate::HasTag { source, .. }
        | Predicate::HasPair { source, target: Operand::Entity(_), .. } => *source == this,
        _ => false,
    }
}

impl Step {
    fn fits_in_place(&self, this: Operand) -> bool {
        match self {
            Self::Test(Predicate::Mask { entity: Operand::Column(_), .. }) => true,
            Self::Test(test) | Self::Compute(Compute::Mark { test, .. }) => is_of(test, this),
            Self::Compute(Compute::Choose { tests, .. }) => tests.iter().all(|test| is_of(test, this)),
            Self::Compute(
                Compute::Target { source, .. }
                | Compute::TargetIfAny { source, .. }
                | Compute::Holder { source, .. },
            ) => *source == this,
            Self::Compute(_) => false,
        }
    }
}

impl Stage {
    /// Whether all that it does can be done in place, if it is the only stage: rows are about what is scanned.
    pub(super) fn fits_in_place(&self) -> bool {
        let Produce::Scan { out, .. } = self.produce else { return false };
        out == Var::THIS.0
            && self.passthrough.is_empty()
            && self.steps.iter().all(|step| step.fits_in_place(Operand::Column(out)))
    }

    /// Makes rows in place, of the next part of a table, and sends them through the steps. False if what comes next, if anything,
    /// is to be scanned row by row.
    pub(super) fn step_in_place(
        &self,
        state: &mut StageState,
        run: &mut Run<'_, '_>,
        output: &mut Batch,
    ) -> bool {
        let Produce::Scan { mask, out } = self.produce else { return false };
        if !state.scan_in_place(self, run, mask, (output, out)) {
            return false;
        }
        let Some(InPlace { table, first, .. }) = output.in_place else { return false };
        let entities = output.entities_in_place(run.view.access);
        let known = &mut state.common_targets;
        let mut part = TablePart { table, first, entities, known, words: core::mem::take(&mut state.words) };
        let steps = self.steps.iter().zip(&mut state.kept);
        for (step, own) in steps.skip(usize::from(self.scan_test().is_some())) {
            match step {
                Step::Test(Predicate::Mask { mask, entity: Operand::Column(column) }) if *column != out => {
                    let view = run.view;
                    let rows = if output.common.contains(column) { 1 } else { output.count_bits() };
                    match run.fit(*mask, rows, self) {
                        Fit::All => {}
                        Fit::In(set) => output.keep_in_place(*column, |entity| set.contains(entity)),
                        Fit::NotIn(set) => output.keep_in_place(*column, |entity| !set.contains(entity)),
                        Fit::Archetype(mask) => {
                            output.keep_in_place(*column, |entity| mask.fits(&view, entity));
                        }
                    }
                }
                Step::Test(test) => part.keep(run, test, output),
                Step::Compute(Compute::Holder { search, out, .. }) => {
                    part.holders(run, own, self, (*search, *out), output);
                }
                Step::Compute(compute) => part.compute(run, compute, output),
            }
        }
        state.words = part.words;
        output.len = output.count_bits();
        if output.len == entities.len() {
            output.bits.clear();
        }
        state.holds_bits_only = output.columns.iter().all(|column| column.len() <= 1);
        if let Some(count) = run.shared.counts.get_mut(self.number) {
            *count += output.len as u64;
        }
        true
    }
}

impl StageState {
    /// Fills a batch with a part of a table, and sets the bits of what passes the first test. False if so few entities are left
    /// in the table that rows are cheaper, or if there is no table.
    fn scan_in_place(
        &mut self,
        stage: &Stage,
        run: &Run<'_, '_>,
        mask: usize,
        (output, out): (&mut Batch, Column),
    ) -> bool {
        let (view, batch_size) = (run.view, run.shared.batch_size);
        let component = stage.scan_component(&view);
        let test = stage.scan_test();
        self.start_row_bits(&view, test);
        while let Some(&ScanPart::Table(table)) = run.masks.get(mask).parts.get(self.major) {
            let entities = view.table(table);
            let is_wanted = component
                .is_none_or(|(component, wanted)| view.access.has_column(table, component) == wanted);
            let left = if is_wanted { entities.len().saturating_sub(self.minor) } else { 0 };
            if left == 0 {
                (self.major, self.minor) = (self.major + 1, 0);
                continue;
            }
            if left < WORD.min(batch_size) {
                return false;
            }
            let first = self.minor - self.minor % WORD;
            // No short rest is left over.
            let most = if self.holds_bits_only && batch_size > WORD { LONG_BATCH } else { 1 }
                * batch_size.next_multiple_of(WORD);
            let end = if entities.len() - first < most + WORD { entities.len() } else { first + most };
            let entities = &entities[first..end];
            output.in_place = Some(InPlace { table, first, len: entities.len() });
            if run.shared.this_in_column {
                output.columns[out as usize].extend(entities.iter().map(|&entity| Datum::new(entity)));
            }
            let known = &mut self.common_targets;
            let mut part =
                TablePart { table, first, entities, known, words: core::mem::take(&mut self.words) };
            // If a component decides, whole tables have passed the test.
            let compared =
                test.filter(|_| component.is_none()).map(|test| (test, part.compare_targets(run, test)));
            self.words = part.words;
            match compared {
                Some((_, true)) => output.bits.extend(&self.words),
                Some((test, false)) => {
                    let at = (self.major, first / WORD);
                    let known = self.row_bits.is_kept().then_some((&mut self.row_bits, at));
                    test.with_scan_test(&view, Words { entities, known, bits: &mut output.bits });
                }
                None => output.bits.extend(entities.chunks(WORD).map(all_of)),
            }
            output.bits[0] &= u64::MAX << (self.minor - first);
            self.minor = end;
            return true;
        }
        false
    }
}

/// The bits of all of a word.
fn all_of<T>(word: &[T]) -> u64 {
    u64::MAX >> (WORD - word.len().clamp(1, WORD))
}

/// The bits of those of a word that pass.
#[inline]
fn bits_of<T>(word: impl Iterator<Item = T>, mut passes: impl FnMut(T) -> bool) -> u64 {
    (0..).zip(word).fold(0, |bits, (at, value)| bits | u64::from(passes(value)) << at)
}

/// Finds out which entities pass, word by word.
struct Words<'a> {
    entities: &'a [Entity],
    /// What is known of them; the number of the part of the mask, and that of the first word there.
    known: Option<(&'a mut RowBits, (usize, usize))>,
    bits: &'a mut Vec<u64>,
}

impl UseScanTest for Words<'_> {
    #[inline]
    fn use_test(self, mut passes: impl FnMut(Entity) -> bool) {
        let words = self.entities.chunks(WORD);
        match self.known {
            Some((known, (part, first))) => {
                let of_word = |(number, word)| known.passing((part, number), word, &mut passes);
                self.bits.extend((first..).zip(words).map(of_word));
            }
            None => self.bits.extend(words.map(|word| bits_of(word.iter().copied(), &mut passes))),
        }
    }
}

/// The part of a table that is the batch at hand.
struct TablePart<'w, 'k> {
    table: TableId,
    first: usize,
    entities: &'w [Entity],
    known: &'k mut CommonTargets,
    /// A buffer.
    words: Vec<u64>,
}

impl TablePart<'_, '_> {
    /// What a test says of all entities of the table, if it says the same of all.
    fn decided(&self, run: &Run<'_, '_>, test: &Predicate) -> Option<bool> {
        let (component, negated) = match test {
            Predicate::Mask { mask, .. } => return run.masks.get(*mask).fits_table(self.table),
            Predicate::HasAny { relation, negated, .. } => {
                (run.view.index(*relation).table_component()?.id(), *negated)
            }
            Predicate::HasPair { relation, target: Operand::Entity(target), negated, .. } => {
                (run.view.index(*relation).target_component(*target)?, *negated)
            }
            _ => return None,
        };
        Some(run.view.access.has_column(self.table, component) != negated)
    }

    /// Writes into the buffer that all entities pass, or none.
    fn write_decided(&mut self, pass: bool) {
        self.words.clear();
        self.words.extend(self.entities.chunks(WORD).map(|word| if pass { all_of(word) } else { 0 }));
    }

    /// The first targets of the entities, if they are in the table; within, `None` if the entities have none.
    fn targets_in_table<'r>(&self, run: &Run<'_, 'r>, relation: RelationId) -> Option<Option<&'r [Entity]>> {
        let component = run.view.index(relation).table_component()?;
        let known = run.view.access.first_targets(self.table, component);
        Some(known.and_then(|known| known.get(self.first..)?.get(..self.entities.len())))
    }

    /// Writes into the buffer which entities pass a test of their only target, if the targets are in the table. Returns whether they
    /// are.
    fn compare_targets(&mut self, run: &Run<'_, '_>, test: &Predicate) -> bool {
        let Predicate::HasPair { relation, target: Operand::Entity(target), negated, .. } = test else {
            return false;
        };
        let is_exclusive = run.view.index(*relation).is_exclusive();
        match self.targets_in_table(run, *relation).filter(|_| is_exclusive) {
            Some(Some(targets)) => {
                let passes = |&known: &Entity| (known == *target) != *negated;
                self.words.clear();
                self.words.extend(targets.chunks(WORD).map(|word| bits_of(word.iter(), passes)));
            }
            Some(None) => self.write_decided(*negated),
            None => return false,
        }
        true
    }

    /// Writes into the buffer which entities pass a test. Returns what the table decides, if it does.
    fn find_out(&mut self, run: &Run<'_, '_>, test: &Predicate) -> Option<bool> {
        let decided = self.decided(run, test);
        if let Some(pass) = decided {
            self.write_decided(pass);
            return decided;
        }
        if self.compare_targets(run, test) {
            return None;
        }
        let (view, entities) = (run.view, self.entities);
        self.words.clear();
        let words = Words { entities, known: None, bits: &mut self.words };
        match test {
            Predicate::Mask { mask, .. } => {
                let mask = run.masks.get(*mask);
                words.use_test(|entity| mask.fits(&view, entity));
            }
            test => test.with_scan_test(&view, words),
        }
        None
    }

    /// Clears the bits of rows that do not pass.
    fn keep(&mut self, run: &Run<'_, '_>, test: &Predicate, batch: &mut Batch) {
        if self.decided(run, test) != Some(true) {
            self.find_out(run, test);
            batch.keep_bits(&self.words);
        }
    }

    /// Writes a number where a test is passed.
    fn mark(&self, batch: &mut Batch, column: Column, number: u16) {
        let mark = Datum::from(Special::Number(number));
        let values = batch.columns[column as usize].chunks_mut(WORD);
        for (&passed, values) in self.words.iter().zip(values) {
            if passed == all_of(values) {
                values.fill(mark);
            } else {
                ones(passed).for_each(|at| values[at as usize] = mark);
            }
        }
    }

    /// Writes the number of the first branch, or that there is none, to each row.
    fn mark_all(&self, batch: &mut Batch, column: Column, decided: Option<bool>) {
        if let Some(pass) = decided {
            let mark = if pass { Special::Number(0).into() } else { Datum::UNSET };
            return self.fill_common(batch, column, mark);
        }
        self.fill(batch, column, Datum::UNSET);
        self.mark(batch, column, 0);
    }

    fn compute(&mut self, run: &Run<'_, '_>, compute: &Compute, batch: &mut Batch) {
        match compute {
            Compute::Target { relation, out, .. } => {
                self.targets(run, *relation, batch, (*out, Datum::UNSET));
                batch.keep_bits(&self.words);
            }
            Compute::TargetIfAny { relation, out, none, set, .. } => {
                let decided = self.targets(run, *relation, batch, (*out, (*none).into()));
                self.mark_all(batch, *set, decided);
            }
            Compute::Mark { test, column } => {
                let decided = self.find_out(run, test);
                self.mark_all(batch, *column, decided);
            }
            Compute::Choose { tests, column } => {
                self.fill(batch, *column, Datum::UNSET);
                let mut chosen: Vec<u64> = Vec::new();
                for (number, test) in tests.iter().enumerate().rev() {
                    self.find_out(run, test);
                    self.mark(batch, *column, number as u16);
                    chosen.resize(self.words.len(), 0);
                    chosen.iter_mut().zip(&self.words).for_each(|(chosen, passed)| *chosen |= passed);
                }
                batch.keep_bits(&chosen);
            }
            // Never in place, or by `holders`.
            Compute::Holder { .. } | Compute::Set { .. } | Compute::Child { .. } => {}
        }
    }

    /// Writes the holder above each row, and clears the bits of those that have none.
    fn holders(
        &mut self,
        run: &mut Run<'_, '_>,
        own: &mut Own,
        stage: &Stage,
        (search, out): (HolderSearch, Column),
        batch: &mut Batch,
    ) {
        let target = self.common_target(run, search);
        let rows = if target.is_some() { 1 } else { batch.count_bits() };
        let Some(mut climber) = Climber::new(run, own, search, rows, stage) else {
            return batch.bits.fill(0);
        };
        if let Some(target) = target {
            match target.and_then(|target| climber.next_holder(target)) {
                Some(holder) => self.fill_common(batch, out, Datum::new(holder)),
                None => batch.bits.fill(0),
            }
            return;
        }
        self.fill(batch, out, Datum::UNSET);
        let values = &mut batch.columns[out as usize];
        let parts = self.entities.chunks(WORD).zip(values.chunks_mut(WORD));
        for ((sources, values), bits) in parts.zip(&mut batch.bits) {
            *bits = ones(*bits).fold(0, |found, at| {
                let holder = climber.holder(sources[at as usize]);
                values[at as usize] = holder.map_or(Datum::UNSET, Datum::new);
                found | u64::from(holder.is_some()) << at
            });
        }
    }

    /// The only target of all entities of the table, of which none is a holder itself; within, `None` if they have none. `None`
    /// also if that is not known.
    fn common_target(&mut self, run: &Run<'_, '_>, search: HolderSearch) -> Option<Option<Entity>> {
        if search.walk.own {
            let HolderTest::Mask(mask) = search.test else { return None };
            run.masks.get(mask).fits_table(self.table).filter(|fits| !fits)?;
        }
        self.only_target(run, search.walk.relation)
    }

    /// The only target of all entities of the table; within, `None` if they have none. `None` also if that is not known.
    fn only_target(&mut self, run: &Run<'_, '_>, relation: RelationId) -> Option<Option<Entity>> {
        let (table, first) = (self.table, *self.entities.first()?);
        let has = |component| run.view.access.has_column(table, component);
        self.known.of(table, relation, || run.view.index(relation).common_target(first, has))
    }

    /// Writes one value for all entities.
    fn fill_common(&self, batch: &mut Batch, column: Column, value: Datum) {
        let values = batch.column_mut(column);
        values.clear();
        values.push(value);
        batch.common.push(column);
    }

    fn fill(&self, batch: &mut Batch, column: Column, value: Datum) {
        let column = &mut batch.columns[column as usize];
        column.clear();
        column.resize(self.entities.len(), value);
    }

    /// Writes the only target of each entity, or else `none`; and into the buffer which have one. Returns what the table decides
    /// of that, if it does.
    fn targets(
        &mut self,
        run: &Run<'_, '_>,
        relation: RelationId,
        batch: &mut Batch,
        (column, none): (Column, Datum),
    ) -> Option<bool> {
        if let Some(target) = self.only_target(run, relation) {
            self.fill_common(batch, column, target.map_or(none, Datum::new));
            self.write_decided(target.is_some());
            return Some(target.is_some());
        }
        if let Some(Some(known)) = self.targets_in_table(run, relation)
            && let Some(target) = same_in_all(known)
        {
            self.fill_common(batch, column, Datum::new(target));
            self.write_decided(true);
            return Some(true);
        }
        let (index, entities) = (run.view.index(relation), self.entities);
        let values = &mut batch.columns[column as usize];
        values.clear();
        if let Some(known) = self.targets_in_table(run, relation) {
            values.extend(known.unwrap_or_default().iter().map(|&target| Datum::new(target)));
            values.resize(entities.len(), none);
            let decided = known.is_some();
            self.write_decided(decided);
            return Some(decided);
        }
        self.words.clear();
        match index.exclusive_reader(run.view.store.compares(relation)) {
            Some(mut reader) => self.write_targets(values, none, |source| reader.target_bits(source)),
            None => {
                self.write_targets(values, none, |source| {
                    index.first_target(source).map_or(0, Entity::to_bits)
                });
            }
        }
        None
    }

    /// Writes the target of each entity, or `none`, and the bits of those that have one. `find` returns the bits of the target, or 0.
    #[inline]
    fn write_targets(&mut self, values: &mut Vec<Datum>, none: Datum, mut find: impl FnMut(Entity) -> u64) {
        values.resize(self.entities.len(), none);
        for (sources, values) in self.entities.chunks(WORD).zip(values.chunks_mut(WORD)) {
            let mut word = 0;
            // A loop, since a closure would have `none` in memory, and compilers branch rather than read that in vain.
            for (at, (&source, value)) in sources.iter().zip(values).enumerate() {
                let target = find(source);
                word |= u64::from(target != 0) << at;
                *value = Datum::from_bits_or(target, none);
            }
            self.words.push(word);
        }
    }
}

/// The entity that all are. `None` if there are several, or none.
fn same_in_all(entities: &[Entity]) -> Option<Entity> {
    let first = *entities.first()?;
    // Without an exit within a word, several are compared at a time.
    let differs = |word: &[Entity]| {
        word.iter().fold(0, |bits, entity| bits | (entity.to_bits() ^ first.to_bits())) != 0
    };
    (!entities.chunks(WORD).any(differs)).then_some(first)
}

impl Batch {
    fn count_bits(&self) -> usize {
        self.bits.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Clears bits that are not set in other words.
    fn keep_bits(&mut self, words: &[u64]) {
        self.bits.iter_mut().zip(words).for_each(|(bits, word)| *bits &= word);
    }

    /// Clears the bits of rows of which the entity in a column does not pass.
    #[inline]
    fn keep_in_place(&mut self, column: Column, mut passes: impl FnMut(Entity) -> bool) {
        if self.common.contains(&column) {
            let common = self.columns[column as usize][0].entity();
            if !common.is_some_and(passes) {
                self.bits.fill(0);
            }
            return;
        }
        let values = self.columns[column as usize].chunks(WORD);
        for (bits, values) in self.bits.iter_mut().zip(values) {
            let mut passes_at = |at: u32| values[at as usize].entity().is_some_and(&mut passes);
            *bits = ones(*bits).fold(0, |passed, at| passed | u64::from(passes_at(at)) << at);
        }
    }
}
