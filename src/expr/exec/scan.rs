//! Scanning what fits a mask, and at the same time the first test.
//!
//! A test of pairs alone takes little longer than to copy an entity, so it is made before a row is: what does not pass is never
//! in a batch.

use super::{
    Batch, Run, StageState,
    mask::ScanPart,
    row_bits::{RowBits, WORD},
};
use crate::{
    expr::{
        bind::Var,
        eval::{Datum, View},
        plan::{Column, Compute, Operand, Predicate, Produce, Stage, Step},
    },
    fetch::RowHint,
    id::RelationId,
    relation::RelationEntry,
    store::{Reader, RelationIndex, ones},
};
use alloc::vec::Vec;
use bevy_ecs::{
    archetype::{Archetype, ArchetypeEntity},
    component::ComponentId,
    entity::Entity,
    storage::TableId,
};
use core::ops::Range;
use smallvec::SmallVec;

impl Stage {
    /// Whether an operand is what the stage scans, and so alive.
    fn scans(&self, operand: Operand) -> bool {
        matches!(&self.produce, Produce::Scan { out, .. } if operand == Operand::Column(*out))
    }

    /// Whether sources have to be compared with those that slots are of; see [`PairStore::compares`].
    ///
    /// [`PairStore::compares`]: crate::store::PairStore::compares
    pub(super) fn compares(&self, run: &Run<'_, '_>, relation: RelationId, source: Operand) -> bool {
        let is_alive = self.scans(source) || (run.shared.seeds_are_alive && self.is_given(source));
        !is_alive || run.view.store.compares(relation)
    }

    /// Whether an operand is what the run starts with.
    fn is_given(&self, operand: Operand) -> bool {
        let Operand::Column(column) = operand else { return false };
        self.number == 0 && self.produce == Produce::Unit && self.passthrough.contains(&column)
    }

    /// The first step, if it is a test that the scan makes: whether the entity has a pair, one of a relation or any.
    pub(super) fn scan_test(&self) -> Option<&Predicate> {
        let Some(Step::Test(test)) = self.steps.first() else { return None };
        let (Predicate::HasAny { source, .. }
        | Predicate::HasAnyRelation { source, .. }
        | Predicate::HasTag { source, .. }
        | Predicate::HasPair { source, target: Operand::Entity(_), .. }) = test
        else {
            return None;
        };
        self.scans(*source).then_some(test)
    }

    /// What the first step says of whole tables, for a relation with `storage = "Table"`: the entities of those that have this
    /// component pass it, or may pass it, and no others; or the other way round if it is `false`.
    pub(super) fn scan_component(&self, view: &View<'_>) -> Option<(ComponentId, bool)> {
        let (relation, source, wanted) = match self.steps.first()? {
            Step::Test(Predicate::HasAny { relation, source, negated }) => (*relation, *source, !negated),
            Step::Test(Predicate::HasPair { relation, source, target: Operand::Entity(target), negated }) => {
                let component = view.index(*relation).target_component(*target);
                return component.filter(|_| self.scans(*source)).map(|component| (component, !negated));
            }
            Step::Compute(Compute::Target { relation, source, .. }) => (*relation, *source, true),
            _ => return None,
        };
        let component = view.index(relation).table_component().filter(|_| self.scans(source))?;
        Some((component.id(), wanted))
    }
}

impl Stage {
    /// Whether it goes through the tables of the sources of a target: with `storage = "Fragmenting"`.
    pub(super) fn reads_tables(&self, view: &View<'_>) -> bool {
        let Produce::Sources { relation, .. } = self.produce else { return false };
        let index = view.index(relation);
        index.has_target_components() && !index.is_ordered()
    }

    /// The mask that entities have to fit first of all.
    fn first_mask(&self, out: Column) -> Option<usize> {
        match self.steps.first()? {
            Step::Test(Predicate::Mask { mask, entity }) if *entity == Operand::Column(out) => Some(*mask),
            _ => None,
        }
    }

    /// How many of the first steps are done while rows are made.
    pub(super) fn steps_done(&self, view: &View<'_>) -> usize {
        let is_done = match self.produce {
            Produce::Sources { out, .. } => self.reads_tables(view) && self.first_mask(out).is_some(),
            _ => self.scan_test().is_some(),
        };
        usize::from(is_done)
    }

    /// Makes rows of the sources of a target that [lie in tables](Self::reads_tables) of their own.
    pub(super) fn sources_in_tables(
        &self,
        state: &mut StageState,
        run: &Run<'_, '_>,
        component: Option<ComponentId>,
        output: &mut Batch,
        out: Column,
    ) {
        let archetypes =
            component.and_then(|component| run.view.archetypes.component_index().get(&component));
        let mask = self.first_mask(out).map(|mask| run.masks.get(mask));
        let archetypes = archetypes.into_iter().flat_map(|archetypes| archetypes.keys().copied());
        let fitting = archetypes.filter(|&archetype| mask.is_none_or(|mask| mask.has(archetype)));
        let parts: SmallVec<[ScanPart; 8]> = fitting.map(ScanPart::Archetype).collect();
        state.scan_parts(run, &parts, ScanRows::of(run, output, out), |_, rows, part, room| {
            part.take(rows, room)
        });
    }
}

impl StageState {
    /// Makes rows of the entities that fit a mask and pass a [`scan_test`](Stage::scan_test).
    pub(super) fn scan(
        &mut self,
        run: &Run<'_, '_>,
        mask: usize,
        test: Option<&Predicate>,
        component: Option<(ComponentId, bool)>,
        output: &mut Batch,
        out: Column,
    ) {
        let view = run.view;
        let rows = ScanRows::of(run, output, out);
        let parts = &run.masks.get(mask).parts;
        self.start_row_bits(&view, test);
        if let Some((component, wanted)) = component {
            return self.scan_parts(run, parts, rows, |_, rows, part, room| {
                match view.access.has_column(part.from.0, component) == wanted {
                    true => part.take(rows, room),
                    false => part.entities.len(),
                }
            });
        }
        match test {
            Some(test) => test.with_scan_test(&view, ScanPassing { state: self, run, parts, rows }),
            None => self.scan_parts(run, parts, rows, |_, rows, part, room| part.take(rows, room)),
        }
    }

    /// Starts to use what scans with this test have found out, once for each scan.
    pub(super) fn start_row_bits(&mut self, view: &View<'_>, test: Option<&Predicate>) {
        if (self.major, self.minor) == (0, 0) && !core::mem::replace(&mut self.knows_version, true) {
            match test {
                Some(Predicate::HasTag { .. }) => self.row_bits.start([view.tags().version()]),
                Some(Predicate::HasAny { relation, .. } | Predicate::HasPair { relation, .. }) => {
                    self.row_bits.start([view.index(*relation).version()]);
                }
                Some(Predicate::HasAnyRelation { .. }) => {
                    let of_each = |(entry, index): (&RelationEntry, &RelationIndex)| {
                        [entry.entity.to_bits(), index.version()]
                    };
                    self.row_bits.start(view.store.entries().flat_map(of_each));
                }
                _ => self.row_bits.start([0]),
            }
        }
    }

    #[inline]
    fn scan_passing(
        &mut self,
        run: &Run<'_, '_>,
        parts: &[ScanPart],
        rows: ScanRows<'_>,
        mut passes: impl FnMut(Entity) -> bool,
    ) {
        self.scan_parts(run, parts, rows, |state, rows, part, room| {
            let before = rows.entities.len();
            let scanned = match part.entities {
                Entities::Table(entities) if state.row_bits.is_kept() => {
                    let (table, first) = part.from;
                    let wanted = first..first + entities.len().min(room);
                    let known = (&mut state.row_bits, state.major);
                    rows.take_known((table, run.view.table(table)), wanted, known, &mut passes)
                }
                Entities::Table(entities) => rows.take_passing(entities, part.from, room, &mut passes),
                Entities::Archetype(entities) => rows.take_passing(entities, part.from, room, &mut passes),
            };
            state.scanned += scanned;
            state.steps += (before + scanned - rows.entities.len()) as u64;
            scanned
        });
    }

    /// Goes over all that fits, until there is no room. `take` makes rows of some entities, at most so many, and returns how
    /// many it has looked at.
    #[inline]
    fn scan_parts(
        &mut self,
        run: &Run<'_, '_>,
        parts: &[ScanPart],
        mut rows: ScanRows<'_>,
        mut take: impl FnMut(&mut Self, &mut ScanRows<'_>, Rest<'_>, usize) -> usize,
    ) {
        while let Some(&part) = parts.get(self.major) {
            self.steps += 1;
            let rest = Rest::of(&run.view, part, self.minor);
            let (left, room) = (rest.entities.len(), self.room(run));
            let taken = take(self, &mut rows, rest, room);
            self.rows.resize(rows.entities.len(), self.row as u32);
            if taken < left {
                self.minor += taken;
                return;
            }
            (self.major, self.minor) = (self.major + 1, 0);
        }
        self.next_row();
    }
}

/// What uses the test of a scan.
pub(super) trait UseScanTest {
    fn use_test(self, passes: impl FnMut(Entity) -> bool);
}

impl Predicate {
    /// Hands over a [`scan_test`](Stage::scan_test), for entities that are alive, as what is scanned is.
    #[inline]
    pub(super) fn with_scan_test(&self, view: &View<'_>, user: impl UseScanTest) {
        if let Self::HasAnyRelation { target, negated, .. } = self {
            return user.use_test(|source| view.has_any_relation(source, *target) != *negated);
        }
        let reader = |relation| view.index(relation).reader(view.store.compares(relation));
        let (reader, target, negated) = match self {
            Self::HasAny { relation, negated, .. } => (reader(*relation), None, *negated),
            Self::HasPair { relation, target: Operand::Entity(target), negated, .. } => {
                (reader(*relation), Some(*target), *negated)
            }
            Self::HasTag { tag, negated, .. } => (view.tags().reader(true), Some(*tag), *negated),
            _ => return user.use_test(|_| true),
        };
        match (reader, target) {
            (Reader::Exclusive(mut reader), None) => {
                user.use_test(|source| reader.has_any(source) != negated);
            }
            (Reader::Many(mut reader), None) => {
                user.use_test(|source| reader.has_any(source) != negated);
            }
            (Reader::Exclusive(mut reader), Some(target)) => {
                user.use_test(|source| reader.has(source, target) != negated);
            }
            (Reader::Many(mut reader), Some(target)) => {
                user.use_test(|source| reader.has(source, target) != negated);
            }
        }
    }
}

/// Makes rows of the entities that pass.
struct ScanPassing<'a, 'r, 'w> {
    state: &'a mut StageState,
    run: &'a Run<'r, 'w>,
    parts: &'a [ScanPart],
    rows: ScanRows<'a>,
}

impl UseScanTest for ScanPassing<'_, '_, '_> {
    #[inline]
    fn use_test(self, passes: impl FnMut(Entity) -> bool) {
        self.state.scan_passing(self.run, self.parts, self.rows, passes);
    }
}

/// Where rows are written to.
struct ScanRows<'a> {
    entities: &'a mut Vec<Datum>,
    /// If they are wanted.
    places: Option<&'a mut Vec<RowHint>>,
}

/// The table, and the number of the first entity.
type Start = (TableId, usize);

impl<'a> ScanRows<'a> {
    fn of(run: &Run<'_, '_>, output: &'a mut Batch, out: Column) -> Self {
        let keeps_places = run.shared.keeps_places && out == Var::THIS.0;
        let Batch { columns, places, .. } = output;
        Self { entities: &mut columns[out as usize], places: keeps_places.then_some(places) }
    }

    /// Takes as many entities as there is room for, and returns how many.
    fn take(&mut self, entities: &[impl Scanned], from: Start, room: usize) -> usize {
        let entities = &entities[..entities.len().min(room)];
        self.entities.extend(entities.iter().map(|entity| Datum::new(entity.entity())));
        if let Some(places) = &mut self.places {
            places.extend(entities.iter().enumerate().map(|(at, entity)| entity.place(from, at)));
        }
        entities.len()
    }

    /// Takes those of the entities in some rows that pass, as far as that is [known](RowBits) by words. Returns how many were
    /// looked at.
    fn take_known(
        &mut self,
        (table, all): (TableId, &[Entity]),
        wanted: Range<usize>,
        (known, part): (&mut RowBits, usize),
        passes: &mut impl FnMut(Entity) -> bool,
    ) -> usize {
        let mut at = wanted.start;
        while at < wanted.end {
            let first = at - at % WORD;
            let word = &all[first..all.len().min(first + WORD)];
            let end = wanted.end.min(first + word.len());
            let bits = known.passing((part, first / WORD), word, passes);
            let bits = bits & u64::MAX << (at - first) & u64::MAX >> (first + WORD - end);
            self.take_bits((table, first), word, bits);
            at = end;
        }
        wanted.len()
    }

    /// Takes the entities of a word whose bits are set.
    fn take_bits(&mut self, from: Start, word: &[Entity], bits: u64) {
        let passed = bits.count_ones() as usize;
        if passed == word.len() {
            self.take(word, from, WORD);
            return;
        }
        let before = self.entities.len();
        self.entities.resize(before + passed, Datum::UNSET);
        for (row, at) in self.entities[before..].iter_mut().zip(ones(bits)) {
            *row = Datum::new(word[at as usize]);
        }
        if let Some(places) = &mut self.places {
            places.extend(ones(bits).map(|at| word[at as usize].place(from, at as usize)));
        }
    }

    /// Takes those of the entities that pass, without a branch: most filters pass entities at random. Returns how many were
    /// looked at.
    #[inline]
    fn take_passing(
        &mut self,
        entities: &[impl Scanned],
        from: Start,
        room: usize,
        passes: &mut impl FnMut(Entity) -> bool,
    ) -> usize {
        let entities = &entities[..entities.len().min(room)];
        let before = self.entities.len();
        self.entities.resize(before + entities.len(), Datum::UNSET);
        let (rows, mut passed) = (&mut self.entities[before..], 0);
        match &mut self.places {
            None => {
                for entity in entities {
                    let entity = entity.entity();
                    rows[passed] = Datum::new(entity);
                    passed += usize::from(passes(entity));
                }
            }
            Some(places) => {
                places.resize(before + entities.len(), RowHint::UNKNOWN);
                let places_of = &mut places[before..];
                for (at, scanned) in entities.iter().enumerate() {
                    let entity = scanned.entity();
                    rows[passed] = Datum::new(entity);
                    places_of[passed] = scanned.place(from, at);
                    passed += usize::from(passes(entity));
                }
                places.truncate(before + passed);
            }
        }
        self.entities.truncate(before + passed);
        entities.len()
    }
}

/// What is left of a part.
struct Rest<'w> {
    entities: Entities<'w>,
    from: Start,
}

enum Entities<'w> {
    Table(&'w [Entity]),
    Archetype(&'w [ArchetypeEntity]),
}

impl Entities<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Table(entities) => entities.len(),
            Self::Archetype(entities) => entities.len(),
        }
    }
}

impl<'w> Rest<'w> {
    /// Takes as many entities as there is room for, and returns how many.
    fn take(&self, rows: &mut ScanRows<'_>, room: usize) -> usize {
        match self.entities {
            Entities::Table(entities) => rows.take(entities, self.from, room),
            Entities::Archetype(entities) => rows.take(entities, self.from, room),
        }
    }

    fn of(view: &View<'w>, part: ScanPart, first: usize) -> Self {
        match part {
            ScanPart::Table(table) => {
                let entities = view.table(table).get(first..).unwrap_or_default();
                Self { entities: Entities::Table(entities), from: (table, first) }
            }
            ScanPart::Archetype(archetype) => {
                let archetype = view.archetypes.get(archetype);
                let entities = archetype.and_then(|archetype| archetype.entities().get(first..));
                let table = archetype.map_or(TableId::empty(), Archetype::table_id);
                Self { entities: Entities::Archetype(entities.unwrap_or_default()), from: (table, first) }
            }
        }
    }
}

trait Scanned {
    fn entity(&self) -> Entity;

    /// Where it lies.
    fn place(&self, from: Start, at: usize) -> RowHint;
}

impl Scanned for Entity {
    #[inline]
    fn entity(&self) -> Entity {
        *self
    }

    #[inline]
    fn place(&self, (table, first): Start, at: usize) -> RowHint {
        RowHint::in_table(table, first + at)
    }
}

impl Scanned for ArchetypeEntity {
    #[inline]
    fn entity(&self) -> Entity {
        self.id()
    }

    #[inline]
    fn place(&self, (table, _): Start, _: usize) -> RowHint {
        RowHint::in_table(table, self.table_row().index())
    }
}
