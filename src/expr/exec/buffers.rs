//! Buffers that are kept from row to row.

use crate::expr::eval::{Reach, Searcher, Stamps};
use alloc::{boxed::Box, vec::Vec};
use bevy_ecs::entity::Entity;

/// Buffers of [`Matcher`](super::atom::Matcher).
#[derive(Default)]
pub(crate) struct AtomBuffers {
    // Boxed, since they are taken out while they are at work.
    pub(super) up: Option<Box<Searcher>>,
    pub(super) bases: Option<Box<Searcher>>,
    pub(super) reach: Option<Box<Searcher>>,
    pub(super) around: Option<Box<Searcher>>,
    pub(super) leads: Reach,
    pub(super) candidates: Vec<Entity>,
    pub(super) candidate: Stamps,
    /// In searches with limits, the holders and the targets that were tried.
    pub(super) tried: Stamps,
    pub(super) tried_targets: Stamps,
    pub(super) met: Stamps,
    /// What was looked at, and how much may be.
    pub(super) steps: u64,
    pub(super) limit: u64,
}

impl AtomBuffers {
    /// Whether evaluation is to end: what is found then is of no account.
    pub(super) fn is_over(&self) -> bool {
        self.steps > self.limit
    }
}
