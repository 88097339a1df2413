//! What is known of a pair beside its ends.

/// The pair has no value in a column.
pub(crate) const NO_ROW: u32 = u32::MAX;

/// What is kept of a pair beside its ends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Edge {
    /// Place of the source in the target's list of sources.
    pub(crate) place: u32,
    /// Of its value, or [`NO_ROW`].
    pub(crate) row: u32,
}

impl Edge {
    #[inline]
    pub(super) fn without_value(place: u32) -> Self {
        Self { place, row: NO_ROW }
    }
}
