//! What a cascade reads and writes, and which of that may be the same.
//!
//! The parent's own data may be what is written of the entity itself: a level is finished before those below it are
//! begun. That is the only exemption. What a part reads of other entities, by terms that look elsewhere, must not be
//! written by any part.

use super::CascadeState;
use crate::fetch::CursorState;
use alloc::vec::Vec;
use bevy_ecs::{
    component::ComponentId,
    query::{AccessConflicts, FilteredAccessSet, IterQueryData, QueryData, QueryFilter, ReadOnlyQueryData},
    world::unsafe_world_cell::UnsafeWorldCell,
};

impl<D, P, F, W> CascadeState<D, P, F, W>
where
    D: IterQueryData + 'static,
    P: ReadOnlyQueryData + 'static,
    F: QueryFilter + 'static,
    W: QueryFilter + 'static,
{
    /// Declares what the parts read and write.
    ///
    /// # Panics
    /// If that conflicts with what is declared already, or among the parts.
    pub(super) fn init_access(
        &self,
        parameter: &str,
        system: &str,
        set: &mut FilteredAccessSet,
        world: UnsafeWorldCell<'_>,
    ) {
        let parts = [
            declare(&self.own, system, set, world),
            declare(&self.parents, system, set, world),
            declare(&self.watched, system, set, world),
        ];
        for (nth, part) in parts.iter().enumerate() {
            for other in &parts[nth + 1..] {
                if let Some(components) = conflict(part, other) {
                    let names = components.iter().filter_map(|&id| world.components().get_name(id));
                    let names: Vec<_> = names.map(|name| alloc::format!("{}", name.shortname())).collect();
                    panic!(
                        "error[B0001]: {parameter} in system {system} writes component(s) {} that it also reads \
                         of other entities than the parent. Consider a system of its own for one of them. See: \
                         https://bevy.org/learn/errors/b0001",
                        names.join(", "),
                    );
                }
            }
        }
        parts.into_iter().for_each(|part| set.extend(part));
    }
}

/// What a part declares, if it does not conflict with what is in `set`. First comes what it does with the entity
/// itself, then what its terms do elsewhere.
fn declare<D: QueryData, F: QueryFilter>(
    part: &CursorState<D, F>,
    system: &str,
    set: &FilteredAccessSet,
    world: UnsafeWorldCell<'_>,
) -> FilteredAccessSet {
    part.init_access(Some(system), &mut set.clone(), world);
    let mut alone = FilteredAccessSet::new();
    part.init_access(Some(system), &mut alone, world);
    alone
}

/// The components in which two parts conflict; an empty list stands for all.
fn conflict(one: &FilteredAccessSet, other: &FilteredAccessSet) -> Option<Vec<ComponentId>> {
    let accesses = |set| FilteredAccessSet::filtered_accesses(set).iter().enumerate();
    for (nth, access) in accesses(one) {
        for (other_nth, other_access) in accesses(other) {
            let exempt = nth == 0 && other_nth == 0;
            let conflicts = access.get_conflicts(other_access);
            if !exempt && !conflicts.is_empty() {
                return Some(match conflicts {
                    AccessConflicts::All => Vec::new(),
                    AccessConflicts::Individual(components) => components.iter().collect(),
                });
            }
        }
    }
    None
}
