//! Errors of deferred operations.

use alloc::string::ToString;
use bevy_ecs::{
    error::{BevyError, ContextExt, Result, Severity},
    system::Commands,
    world::World,
};
use core::{convert::Infallible, panic::Location};

/// Reports an error to Bevy's error handler, when commands are applied next.
pub(crate) fn report(mut commands: Commands<'_, '_>, error: impl Into<BevyError>) {
    let error = error.into();
    commands.queue(move |_: &mut World| -> Result { Err(error) });
}

/// [`report`] for what needs a look and has no consequence.
pub(crate) fn report_warning(
    commands: Commands<'_, '_>,
    warning: impl core::error::Error + Send + Sync + 'static,
) {
    report(commands, BevyError::new(Severity::Warning, warning));
}

/// The error with the place in the source that has caused it.
pub(crate) fn with_place(error: BevyError, place: &'static Location<'static>) -> BevyError {
    let Err(error) = Err::<Infallible, _>(error).with_context(|| place.to_string());
    error
}

/// For Bevy's error handler. Without a severity its default handler would panic.
pub(crate) fn to_bevy(error: impl core::error::Error + Send + Sync + 'static) -> BevyError {
    BevyError::new(Severity::Error, error)
}
