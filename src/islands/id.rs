//! What islands are called.

use core::fmt;

/// The id of an island of [`Islands`](super::Islands), among those of its relation. Ids are in the order in which the islands came to be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct IslandId(pub(super) u64);

impl fmt::Display for IslandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "island {}", self.0)
    }
}
