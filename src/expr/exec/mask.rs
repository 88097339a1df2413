//! Which archetypes fit, and which entities.

use crate::{
    expr::{eval::View, plan::MaskSpec},
    store::BitSet,
};
use alloc::vec::Vec;
use bevy_ecs::{
    archetype::{Archetype, ArchetypeId, Archetypes},
    entity::Entity,
    storage::TableId,
};

/// The archetypes that fit each mask of a plan; new archetypes are looked at once.
#[derive(Default)]
pub(crate) struct Masks {
    masks: Vec<Mask>,
    /// Archetypes that were looked at.
    known: usize,
}

/// The archetypes that fit.
#[derive(Default)]
pub(crate) struct Mask {
    set: BitSet,
    /// All entities that fit.
    pub(super) parts: Vec<ScanPart>,
    /// By number.
    tables: Vec<TableFit>,
}

/// Entities that fit as a whole.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ScanPart {
    Table(TableId),
    Archetype(ArchetypeId),
}

/// Which archetypes of a table fit. Those of one table differ in components that are not kept there.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum TableFit {
    #[default]
    Unknown,
    All,
    None,
    Some,
}

impl Mask {
    /// Adds an archetype. Where all of a table fit, the table is scanned as it lies, in the order of its rows.
    fn add(&mut self, archetype: &Archetype, fits: bool, all: &Archetypes) {
        let (id, table) = (archetype.id(), archetype.table_id());
        if fits {
            self.set.insert(id.index());
        }
        if table.as_usize() >= self.tables.len() {
            self.tables.resize(table.as_usize() + 1, TableFit::Unknown);
        }
        let fit = &mut self.tables[table.as_usize()];
        match (*fit, fits) {
            (TableFit::Unknown, true) => {
                *fit = TableFit::All;
                self.parts.push(ScanPart::Table(table));
            }
            (TableFit::Unknown, false) => *fit = TableFit::None,
            (TableFit::All, true) | (TableFit::None | TableFit::Some, false) => {}
            (TableFit::None | TableFit::Some, true) => {
                *fit = TableFit::Some;
                self.parts.push(ScanPart::Archetype(id));
            }
            (TableFit::All, false) => {
                *fit = TableFit::Some;
                let set = &self.set;
                let of_table =
                    all.iter().filter(|other| other.table_id() == table && set.contains(other.id().index()));
                let of_table = of_table.map(|other| ScanPart::Archetype(other.id()));
                self.parts.retain(|&part| part != ScanPart::Table(table));
                self.parts.extend(of_table);
            }
        }
    }

    /// Keeps the entities that fit, in the order in which a scan gives them.
    #[cfg(feature = "bevy_reflect")]
    pub(super) fn keep_in_scan_order(&self, view: &View<'_>, entities: &mut Vec<Entity>) {
        // A number for each part, by which those of one part are found together.
        let number = |part: &ScanPart| match part {
            ScanPart::Table(table) => (0, table.as_usize()),
            ScanPart::Archetype(archetype) => (1, archetype.index()),
        };
        let mut places = Vec::with_capacity(entities.len());
        for &entity in &*entities {
            let Ok(location) = view.entities.get_spawned(entity) else { continue };
            if self.has(location.archetype_id) {
                let (part, row) = match self.tables.get(location.table_id.as_usize()) {
                    Some(TableFit::All) => (ScanPart::Table(location.table_id), location.table_row.index()),
                    _ => (ScanPart::Archetype(location.archetype_id), location.archetype_row.index()),
                };
                places.push((number(&part), row, entity));
            }
        }
        places.sort_unstable_by_key(|&(part, row, _)| (part, row));
        entities.clear();
        for part in self.parts.iter().map(number) {
            let first = places.partition_point(|&(other, ..)| other < part);
            let of_part = places[first..].iter().take_while(|&&(other, ..)| other == part);
            entities.extend(of_part.map(|&(_, _, entity)| entity));
        }
    }

    #[inline]
    pub(crate) fn fits(&self, view: &View<'_>, entity: Entity) -> bool {
        view.entities.get_spawned(entity).is_ok_and(|location| self.has(location.archetype_id))
    }

    /// Whether a constant fits, which may have died: then it has no components.
    pub(super) fn fits_constant(&self, view: &View<'_>, constant: Entity) -> bool {
        let location = view.entities.get_spawned(constant);
        self.has(location.map_or(ArchetypeId::EMPTY, |location| location.archetype_id))
    }

    /// Whether all entities of a table fit, or none. `None` if some do.
    pub(super) fn fits_table(&self, table: TableId) -> Option<bool> {
        match self.tables.get(table.as_usize()) {
            Some(TableFit::All) => Some(true),
            Some(TableFit::Some) => None,
            Some(TableFit::None | TableFit::Unknown) | None => Some(false),
        }
    }

    #[inline]
    pub(super) fn has(&self, archetype: ArchetypeId) -> bool {
        self.set.contains(archetype.index())
    }
}

impl Masks {
    pub(crate) fn clear(&mut self) {
        self.masks.clear();
        self.known = 0;
    }

    #[inline]
    pub(crate) fn get(&self, mask: usize) -> &Mask {
        &self.masks[mask]
    }

    /// Adds new archetypes.
    pub(crate) fn update(&mut self, specs: &[MaskSpec], view: &View<'_>) {
        self.masks.resize_with(specs.len(), Mask::default);
        for archetype in view.archetypes.iter().skip(self.known) {
            for (mask, spec) in self.masks.iter_mut().zip(specs) {
                let fits = spec.with.iter().all(|&id| archetype.contains(id))
                    && !spec.without.iter().any(|&id| archetype.contains(id));
                mask.add(archetype, fits, view.archetypes);
            }
        }
        self.known = view.archetypes.len();
    }
}

/// Entities by their index.
#[derive(Default)]
pub(super) struct EntitySet(BitSet);

impl EntitySet {
    #[inline]
    pub(super) fn contains(&self, entity: Entity) -> bool {
        self.0.contains(entity.index_u32() as usize)
    }

    /// Adds the entities of an archetype, which mostly follow each other: a word is written when it is full.
    fn insert_all(&mut self, archetype: &Archetype) {
        let (mut at, mut bits) = (0, 0);
        for entity in archetype.entities() {
            let index = entity.id().index_u32() as usize;
            if index / 64 != at {
                *self.0.word_mut(at) |= bits;
                (at, bits) = (index / 64, 0);
            }
            bits |= 1 << (index % 64);
        }
        *self.0.word_mut(at) |= bits;
    }
}

/// How many entities fill a set in the time in which one archetype is looked up.
const FILLED_PER_LOOKUP: usize = 4;

/// Which entities fit a mask, for the time of one run: an entity may have moved to another archetype afterwards.
#[derive(Default)]
struct FitSet {
    /// How many tests there were before.
    asked: usize,
    /// Whether those are fewer that do not fit, and how many the fewer are.
    fewer: Option<(bool, usize)>,
    filled: bool,
    set: EntitySet,
}

/// The entities that fit each mask of a plan.
#[derive(Default)]
pub(crate) struct FitSets(Vec<FitSet>);

/// The quickest way to find out whether living entities fit.
#[derive(Clone, Copy)]
pub(super) enum Fit<'a> {
    /// They do.
    All,
    In(&'a EntitySet),
    NotIn(&'a EntitySet),
    Archetype(&'a Mask),
}

impl Fit<'_> {
    #[inline]
    pub(super) fn is(self, view: &View<'_>, entity: Entity) -> bool {
        match self {
            Self::All => true,
            Self::In(set) => set.contains(entity),
            Self::NotIn(set) => !set.contains(entity),
            Self::Archetype(mask) => mask.fits(view, entity),
        }
    }
}

impl FitSets {
    /// Clears what was found in another run.
    pub(crate) fn restart(&mut self, masks: usize) {
        self.0.resize_with(masks, FitSet::default);
        for fit in &mut self.0 {
            (fit.asked, fit.fewer, fit.filled) = (0, None, false);
        }
    }

    /// How to test which entities fit a mask, for the number of tests now, and about the number in the whole run. While
    /// they are few, each is looked up.
    pub(super) fn get<'a>(
        &'a mut self,
        masks: &'a Masks,
        number: usize,
        view: &View<'_>,
        now: usize,
        expected: f64,
        few: usize,
    ) -> Fit<'a> {
        let (mask, fit) = (masks.get(number), &mut self.0[number]);
        fit.asked += now;
        if !fit.filled && fit.asked >= few {
            fit.fill(mask, view, fit.asked.max(expected as usize));
        }
        match fit.fewer {
            _ if !fit.filled => Fit::Archetype(mask),
            Some((true, 0)) => Fit::All,
            Some((true, _)) => Fit::NotIn(&fit.set),
            _ => Fit::In(&fit.set),
        }
    }
}

impl FitSet {
    /// Fills the set if that is likely to pay.
    fn fill(&mut self, mask: &Mask, view: &View<'_>, asked: usize) {
        let archetypes = || view.archetypes.iter().map(|archetype| (mask.has(archetype.id()), archetype));
        let (others, count) = *self.fewer.get_or_insert_with(|| {
            let mut counts = [0; 2];
            for (fits, archetype) in archetypes() {
                counts[usize::from(fits)] += archetype.len() as usize;
            }
            (counts[0] <= counts[1], counts[0].min(counts[1]))
        });
        if count / FILLED_PER_LOOKUP > asked {
            return;
        }
        self.filled = true;
        self.set.0.clear();
        for (_, archetype) in archetypes().filter(|&(fits, _)| fits != others) {
            self.set.insert_all(archetype);
        }
    }
}
