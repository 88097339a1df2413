//! Rows by the page: some of them now, the next ones later.

use super::{compiled::CompiledExpr, rows::Row};
use crate::expr::{
    eval::{Datum, WorldAccess},
    exec::ExprRunError,
};
#[cfg(feature = "remote")]
use alloc::string::String;
use bevy_ecs::world::World;
use bevy_platform::hash::FixedHasher;
use core::{
    hash::{BuildHasher, Hash, Hasher},
    ops::ControlFlow,
};
use thiserror::Error;

/// The row at which a page starts: a number of rows to leave out, or a [`RowCursor`]. Both convert into it, so that a call
/// rarely names it.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{expr::{PageStart, PairExpr}, prelude::*};
/// # let mut world = World::new();
/// let fleet = world.spawn(Name::new("Fleet")).id();
/// let ships = [(); 3].map(|()| world.spawn(ChildOf(fleet)).id());
/// let mut of_fleet = PairExpr::parse("(ChildOf, Fleet)")?.compile(&mut world)?;
/// let mut shown = Vec::new();
/// let cursor = of_fleet.page(&world, PageStart::Offset(1), 1, |row| shown.extend(row.this()))?.unwrap();
/// of_fleet.page(&world, PageStart::Cursor(cursor), 9, |row| shown.extend(row.this()))?;
/// assert_eq!(shown, ships[1..]);
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PageStart {
    /// After so many rows, whichever they are.
    Offset(usize),
    /// Where another page ended.
    Cursor(RowCursor),
}

impl From<usize> for PageStart {
    fn from(offset: usize) -> Self {
        Self::Offset(offset)
    }
}

impl From<RowCursor> for PageStart {
    fn from(cursor: RowCursor) -> Self {
        Self::Cursor(cursor)
    }
}

/// Where a page of rows ended; see [`CompiledExpr::page`].
///
/// It is valid as long as the expression has the same rows before it, in the same order.
///
/// In the book: [Expressions](crate::book::expressions).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::expr::{PageError, PageStart, PairExpr};
/// # let mut world = World::new();
/// let burning = world.spawn(Name::new("Burning")).id();
/// let ships = [(); 3].map(|()| world.spawn_empty().id());
/// for ship in ships {
///     world.insert_tag(ship, burning)?;
/// }
/// let mut expr = PairExpr::parse("Burning")?.compile(&mut world)?;
/// let cursor = expr.page(&world, PageStart::Offset(0), 2, |_row| {})?.unwrap();
/// assert_eq!(cursor.offset(), 2);
///
/// let next = cursor.clone(); // `cursor` does as well as `PageStart::Cursor(cursor)`
/// assert_eq!(expr.page(&world, next, 2, |_row| {})?, None, "the last page");
/// world.despawn(ships[0]);
/// assert!(matches!(expr.page(&world, cursor, 2, |_row| {}), Err(PageError::Changed { .. })));
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowCursor {
    rows: usize,
    /// Of these rows.
    digest: u64,
    expr: u64,
}

impl RowCursor {
    /// The number of rows before it.
    pub fn offset(&self) -> usize {
        self.rows
    }
}

/// As text: what requests from elsewhere start at.
#[cfg(feature = "remote")]
impl RowCursor {
    pub(crate) fn to_text(&self) -> String {
        alloc::format!("{:x}-{:x}-{:x}", self.rows, self.digest, self.expr)
    }

    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let mut part = || u64::from_str_radix(parts.next()?, 16).ok();
        let (rows, digest, expr) = (usize::try_from(part()?).ok()?, part()?, part()?);
        parts.next().is_none().then_some(Self { rows, digest, expr })
    }
}

/// Why a page could not be read: see [`CompiledExpr::page`] and [`RowCursor`].
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum PageError {
    /// The expression could not be run, or not to the end of the page.
    #[error(transparent)]
    Run(#[from] ExprRunError),
    /// The cursor is that of another expression.
    #[error("the cursor is that of another expression")]
    OtherExpression,
    /// The rows before the cursor are no longer those that were read: rows would be missing, or come twice.
    #[error("the first {rows} rows are no longer those that were read: start again")]
    Changed {
        /// The number of rows before the cursor.
        rows: usize,
    },
}

impl CompiledExpr {
    /// Calls a function with at most `limit` rows, from an offset or from a [`RowCursor`] on. Returns the cursor for
    /// the next page, or `None` if there are no more rows.
    ///
    /// A cursor borrows nothing: it can be kept from frame to frame. As long as the rows before it are the same,
    /// whatever else has changed, the pages are together the rows of one run. Otherwise the next page is an error, and
    /// no row of it is seen. With an [order](Self::order_by) the pages follow that order.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{expr::{PageError, PairExpr}, prelude::*};
    /// # let mut world = World::new();
    /// # let ship = world.spawn_relation("Ship", RelationTraits::new())?;
    /// # world.entity_mut(ship).insert(Name::new("Ship"));
    /// # let port = world.spawn_empty().id();
    /// for _ in 0..5 {
    ///     let docked = world.spawn_empty().id();
    ///     world.insert_pair_by_id(docked, (ship, port))?;
    /// }
    /// let mut ships = PairExpr::parse("(Ship, *)")?.compile(&mut world)?;
    /// let mut first = Vec::new();
    /// let cursor = ships.page(&world, 0, 3, |row| first.extend(row.this()))?.unwrap();
    /// let mut rest = Vec::new();
    /// assert_eq!(ships.page(&world, cursor.clone(), 3, |row| rest.extend(row.this()))?, None);
    /// assert_eq!((first.len(), rest.len()), (3, 2));
    ///
    /// world.despawn(first[1]);
    /// let error = ships.page(&world, cursor, 3, |_| {}).unwrap_err();
    /// assert_eq!(error, PageError::Changed { rows: 3 });
    /// # Ok::<(), bevy_ecs::error::BevyError>(())
    /// ```
    ///
    /// # Errors
    /// If the expression cannot be run, as [`for_each`](Self::for_each); if the cursor is that of another expression;
    /// if the rows before the cursor have changed.
    ///
    /// # Complexity
    /// The rows before the page are found again: a run up to the end of the page. With an order, a whole run, in which the rows up to the end of the page are sorted.
    pub fn page(
        &mut self,
        world: &World,
        start: impl Into<PageStart>,
        limit: usize,
        each: impl FnMut(Row<'_>),
    ) -> Result<Option<RowCursor>, PageError> {
        self.page_of(WorldAccess::World(world), start.into(), limit, each)
    }

    pub(crate) fn page_of(
        &mut self,
        access: WorldAccess<'_>,
        start: PageStart,
        limit: usize,
        mut each: impl FnMut(Row<'_>),
    ) -> Result<Option<RowCursor>, PageError> {
        self.page_while(access, start, limit, |row| {
            each(row);
            ControlFlow::Continue(())
        })
    }

    /// [`page`](Self::page), which also ends before a row for which `each` breaks.
    pub(crate) fn page_while(
        &mut self,
        access: WorldAccess<'_>,
        start: PageStart,
        limit: usize,
        mut each: impl FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<Option<RowCursor>, PageError> {
        let expr = self.digest_of_text();
        let (skipped, mut expected) = match start {
            PageStart::Offset(offset) => (offset, None),
            PageStart::Cursor(cursor) if cursor.expr == expr => (cursor.rows, Some(cursor.digest)),
            PageStart::Cursor(_) => return Err(PageError::OtherExpression),
        };
        let changed = PageError::Changed { rows: skipped };
        // One more shows whether there is another page.
        self.start_first_rows(access, skipped.saturating_add(limit).saturating_add(1))?;
        let (mut rows, mut digest) = (0, expr);
        while self.next_batch(access)? {
            for row in 0..self.batch().len {
                if rows == skipped && expected.take().is_some_and(|expected| expected != digest) {
                    return Err(changed);
                }
                if rows.checked_sub(skipped).is_some_and(|read| read >= limit) {
                    return Ok(Some(RowCursor { rows, digest, expr }));
                }
                if rows >= skipped && each(Row::new(self, row, access)).is_break() {
                    return Ok(Some(RowCursor { rows, digest, expr }));
                }
                digest = self.digest_of_row(digest, row);
                rows += 1;
            }
        }
        match expected {
            Some(expected) if rows < skipped || expected != digest => Err(changed),
            _ => Ok(None),
        }
    }

    fn digest_of_text(&self) -> u64 {
        let mut hasher = FixedHasher.build_hasher();
        self.executor().query().fields.iter().for_each(|field| field.text.hash(&mut hasher));
        hasher.finish()
    }

    /// The digest of some rows and this one.
    fn digest_of_row(&self, before: u64, row: usize) -> u64 {
        let mut hasher = FixedHasher.build_hasher();
        before.hash(&mut hasher);
        let columns = &self.batch().columns;
        for &wanted in &self.executor().plan().wanted {
            let column = columns.get(usize::from(wanted)).and_then(|column| column.get(row));
            (wanted, column.copied().unwrap_or(Datum::UNSET)).hash(&mut hasher);
        }
        hasher.finish()
    }
}
