//! Where entities are.

use crate::store::TableComponent;
use bevy_ecs::{
    archetype::ArchetypeEntity,
    component::ComponentId,
    entity::Entity,
    storage::{Table, TableId, TableRow},
    world::unsafe_world_cell::UnsafeWorldCell,
};

/// Where an entity was seen last. It is checked before it is used: a wrong one costs time, nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RowHint {
    pub(super) storage: u32,
    pub(super) row: Option<TableRow>,
}

impl RowHint {
    /// Nowhere: the entity will be looked up.
    pub(crate) const UNKNOWN: Self = Self { storage: u32::MAX, row: None };

    /// In a row of a table, for cursors that go [by table](super::FetchCursor::is_dense).
    #[inline]
    pub(crate) fn in_table(table: TableId, row: usize) -> Self {
        Self { storage: table.as_u32(), row: (row as u32).try_into().ok().map(TableRow::new) }
    }

    /// The number of the storage, as in [`StorageRows`].
    #[inline]
    pub(crate) fn storage(self) -> u32 {
        self.storage
    }

    /// The next row: where the next entity is, if they were spawned one after the other.
    #[inline]
    pub(crate) fn next(self) -> Self {
        let next = |row: TableRow| Some(TableRow::new((row.index_u32() + 1).try_into().ok()?));
        Self { row: self.row.and_then(next), ..self }
    }
}

/// The row of this number.
///
/// # Safety
/// There must be a table with this row.
#[inline]
pub(crate) unsafe fn table_row(index: usize) -> TableRow {
    // SAFETY: a table has at most `u32::MAX` rows.
    TableRow::new(unsafe { (index as u32).try_into().unwrap_unchecked() })
}

/// The entities of a table, in the order of its rows.
pub(crate) fn table_entities(world: UnsafeWorldCell<'_>, table: TableId) -> &[Entity] {
    // SAFETY: only the structure of the tables is looked at here.
    let tables = unsafe { &world.storages().tables };
    tables.get(table).map_or(&[][..], Table::entities)
}

/// Whether the entities of a table have a component that is kept there.
pub(crate) fn has_column(world: UnsafeWorldCell<'_>, table: TableId, component: ComponentId) -> bool {
    // SAFETY: only the structure of the tables is looked at here.
    let tables = unsafe { &world.storages().tables };
    tables.get(table).is_some_and(|table| table.has_column(component))
}

/// The first targets of the entities of a table, row by row. `None` if they have no such component.
pub(crate) fn first_targets(
    world: UnsafeWorldCell<'_>,
    table: TableId,
    component: TableComponent,
) -> Option<&[Entity]> {
    // SAFETY: only the structure of the tables is looked at here.
    let cells = component.column(unsafe { &world.storages().tables }.get(table)?)?;
    // SAFETY: `UnsafeCell<Entity>` has the layout of `Entity`. The component is immutable: Bevy does not lend it to be
    // written, and `TableComponent::write`, which alone writes it, has the whole world for itself: not while this borrows from it.
    // Test: `every_way_of_reading_agrees_while_pairs_change`.
    Some(unsafe { &*(core::ptr::from_ref(cells) as *const [Entity]) })
}

/// The entities of a table or an archetype.
#[derive(Clone, Copy)]
pub(crate) enum StorageEntities<'w> {
    Table(&'w [Entity]),
    Archetype(&'w [ArchetypeEntity]),
}

impl StorageEntities<'_> {
    pub(crate) const NONE: Self = Self::Table(&[]);

    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Table(entities) => entities.len(),
            Self::Archetype(entities) => entities.len(),
        }
    }

    /// The entity number `at`, and its row in the table.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<(Entity, TableRow)> {
        match self {
            Self::Table(entities) => {
                let entity = *entities.get(at)?;
                // SAFETY: the table has this row.
                Some((entity, unsafe { table_row(at) }))
            }
            Self::Archetype(entities) => entities.get(at).map(|entity| (entity.id(), entity.table_row())),
        }
    }
}

/// A storage that matches as a whole.
pub(crate) struct StorageRows<'w> {
    pub(crate) number: u32,
    pub(super) rows: StorageEntities<'w>,
}

impl StorageRows<'_> {
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The entities with their places, in the order of rows.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (Entity, RowHint)> {
        (0..self.len()).filter_map(|at| {
            let (entity, row) = self.rows.get(at)?;
            Some((entity, RowHint { storage: self.number, row: Some(row) }))
        })
    }
}
