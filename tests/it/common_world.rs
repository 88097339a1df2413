//! What several modules need.

use bevy_ecs::{
    error::{BevyError, ErrorContext, FallbackErrorHandler},
    world::World,
};
use std::cell::RefCell;

thread_local! {
    static ERRORS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn record(error: BevyError, _: ErrorContext) {
    ERRORS.with_borrow_mut(|errors| errors.push(error.to_string()));
}

/// A world whose error handler keeps the errors for [`take_reported_errors`].
pub(crate) fn world_that_records_errors() -> World {
    let mut world = World::new();
    record_errors_of(&mut world);
    world
}

/// Replaces the error handler of the world by one that keeps the errors for [`take_reported_errors`].
pub(crate) fn record_errors_of(world: &mut World) {
    take_reported_errors();
    world.insert_resource(FallbackErrorHandler(record));
}

/// The errors that were given to Bevy's error handler on this thread since the last call.
pub(crate) fn take_reported_errors() -> Vec<String> {
    ERRORS.take()
}
