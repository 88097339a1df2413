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
    store::{Reader, ones},
};
use alloc::vec::Vec;
use bevy_ecs::{
    archetype::{Archetype, ArchetypeEntity},
    component::ComponentId,
    entity::Entity,
    storage::TableId,
};
use core::ops::Range;

impl Stage {
    /// Whether an operand is what the stage scans, and so alive.
    fn scans(&self, operand: Operand) -> bool {
        matches!(&self.produce, Produce::Scan { out, .. } if operand == Operand::Column(*out))
    }

    /// Whether sources have to be compared with those that slots are of; see [`PairStore::compares`].
    ///
    /// [`PairStore::compares`]: crate::store::PairStore::compares
    pub(super) fn compares(&self, view: &View<'_>, relation: RelationId, source: Operand) -> bool {
        !self.scans(source) || view.store.compares(relation)
    }

    /// The first step, if it is a test that the scan makes: whether the entity has a pair, one of a relation or any.
    pub(super) fn scan_test(&self) -> Option<&Predicate> {
        let Some(Step::Test(test)) = self.steps.first() else { return None };
        let (Predicate::HasAny { source, .. }
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
            Step::Compute(Compute::Target { relation, source, .. }) => (*relation, *source, true),
            _ => return None,
        };
        let component = view.index(relation).table_component().filter(|_| self.scans(source))?;
        Some((component.id(), wanted))
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
        let keeps_places = run.shared.keeps_places && out == Var::THIS.0;
        let Batch { columns, places, .. } = output;
        let rows = ScanRows { entities: &mut columns[out as usize], places: keeps_places.then_some(places) };
        // What is scanned is alive.
        let reader = |relation| view.index(relation).reader(view.store.compares(relation));
        if (self.major, self.minor) == (0, 0) {
            self.row_bits.start(match test {
                Some(Predicate::HasTag { .. }) => view.tags().version(),
                Some(Predicate::HasAny { relation, .. } | Predicate::HasPair { relation, .. }) => {
                    view.index(*relation).version()
                }
                _ => 0,
            });
        }
        let take = |rows: &mut ScanRows<'_>, part: &Rest<'_>, room| match part.entities {
            Entities::Table(entities) => rows.take(entities, part.from, room),
            Entities::Archetype(entities) => rows.take(entities, part.from, room),
        };
        if let Some((component, wanted)) = component {
            return self.scan_parts(run, mask, rows, |_, rows, part, room| {
                match view.access.has_column(part.from.0, component) == wanted {
                    true => take(rows, &part, room),
                    false => part.entities.len(),
                }
            });
        }
        match test {
            Some(Predicate::HasAny { relation, negated, .. }) => match reader(*relation) {
                Reader::Exclusive(mut reader) => {
                    self.scan_passing(run, mask, rows, |source| reader.has_any(source) != *negated);
                }
                Reader::Many(mut reader) => {
                    self.scan_passing(run, mask, rows, |source| reader.has_any(source) != *negated);
                }
            },
            Some(Predicate::HasPair { relation, target: Operand::Entity(target), negated, .. }) => {
                self.scan_pair(run, mask, rows, (reader(*relation), *target), *negated);
            }
            Some(Predicate::HasTag { tag, negated, .. }) => {
                self.scan_pair(run, mask, rows, (view.tags().reader(true), *tag), *negated);
            }
            _ => self.scan_parts(run, mask, rows, |_, rows, part, room| take(rows, &part, room)),
        }
    }

    fn scan_pair(
        &mut self,
        run: &Run<'_, '_>,
        mask: usize,
        rows: ScanRows<'_>,
        (reader, target): (Reader<'_>, Entity),
        negated: bool,
    ) {
        match reader {
            Reader::Exclusive(mut reader) => {
                self.scan_passing(run, mask, rows, |source| reader.has(source, target) != negated);
            }
            Reader::Many(mut reader) => {
                self.scan_passing(run, mask, rows, |source| reader.has(source, target) != negated);
            }
        }
    }

    #[inline]
    fn scan_passing(
        &mut self,
        run: &Run<'_, '_>,
        mask: usize,
        rows: ScanRows<'_>,
        mut passes: impl FnMut(Entity) -> bool,
    ) {
        self.scan_parts(run, mask, rows, |state, rows, part, room| {
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
        mask: usize,
        mut rows: ScanRows<'_>,
        mut take: impl FnMut(&mut Self, &mut ScanRows<'_>, Rest<'_>, usize) -> usize,
    ) {
        while let Some(&part) = run.masks.get(mask).parts.get(self.major) {
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

/// Where rows are written to.
struct ScanRows<'a> {
    entities: &'a mut Vec<Datum>,
    /// If they are wanted.
    places: Option<&'a mut Vec<RowHint>>,
}

/// The table, and the number of the first entity.
type Start = (TableId, usize);

impl ScanRows<'_> {
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
