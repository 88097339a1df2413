//! What observers that act at random share: the choices, how often they may act, and a log of what they have done. Each test has
//! its own, since each runs on a thread of its own.

use crate::common::Random;
use core::cell::{Cell, RefCell};

thread_local! {
    pub(crate) static RANDOM: RefCell<Random> = const { RefCell::new(Random(1)) };
    /// How often observers may still act within the step at hand.
    pub(crate) static BUDGET: Cell<u32> = const { Cell::new(0) };
    /// How often they have acted.
    pub(crate) static ACTED: Cell<u32> = const { Cell::new(0) };
    pub(crate) static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// A number below a limit.
pub(crate) fn below(limit: usize) -> usize {
    RANDOM.with_borrow_mut(|random| random.below(limit))
}
