//! [`PairQuery`] as a system parameter.
#![expect(unsafe_code, reason = "Bevy's `SystemParam` is an unsafe trait")]

use super::{
    PairQuery, Pairs, QueryScope,
    ends::{Ends, SourceLocations},
};
use crate::{
    fetch::{CursorState, FetchCursor},
    relation::Relation,
    system_param::pairs::PairsState,
};
use bevy_ecs::{
    change_detection::Tick,
    query::{QueryData, QueryFilter, ReadOnlyQueryData},
    system::{ReadOnlySystemParam, SystemAccess, SystemMeta, SystemParam, SystemParamValidationError},
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};

/// State of [`PairQuery`].
#[doc(hidden)]
pub struct PairQueryState<R, S, T, F, TF>
where
    R: Relation,
    S: QueryData,
    T: QueryData,
    F: QueryFilter,
    TF: QueryFilter,
{
    pairs: PairsState<R>,
    sources: CursorState<S, F>,
    targets: CursorState<T, TF>,
    overlap: bool,
    places: SourceLocations,
}

// SAFETY: the pairs are accessed through `Pairs`, which declares and performs its access itself. Of entities, what
// `S` and `F` access of sources and `T` and `TF` of targets is declared in `init_access` below, with what they read
// elsewhere, and everything is refused that conflicts with other parameters, with the pairs, or with each other,
// but for one case: `S` and `F` may access of a source what `T` and `TF` access of a target, though one of them
// writes it. `overlap` says so, and `Ends` and `PairTargetIter` handle it. Tests: `pair_query_conflicts`,
// `what_is_read_of_third_entities_must_not_be_written` and `what_is_written_of_targets_conflicts_with_other_parameters`.
unsafe impl<R, S, T, F, TF> SystemParam for PairQuery<'_, '_, R, S, T, F, TF>
where
    R: Relation,
    S: QueryData + 'static,
    T: QueryData + 'static,
    F: QueryFilter + 'static,
    TF: QueryFilter + 'static,
{
    type State = PairQueryState<R, S, T, F, TF>;
    type Item<'w, 's> = PairQuery<'w, 's, R, S, T, F, TF>;

    fn init_state(world: &mut World) -> Self::State {
        let pairs = Pairs::<R>::init_state(world);
        // SAFETY: `init_access` comes before anything else, and declares the access of both.
        let (sources, targets) =
            unsafe { (CursorState::new(world), CursorState::new(world).detect_no_reads()) };
        let overlap = !sources.access().is_compatible(targets.access());
        PairQueryState { pairs, sources, targets, overlap, places: SourceLocations::default() }
    }

    fn init_access(state: &Self::State, meta: &mut SystemMeta, access: &mut SystemAccess, world: &mut World) {
        Pairs::<R>::init_access(&state.pairs, meta, access, world);
        let access = access.require_shared_access::<Self>(meta);
        let (system, world): (Option<&str>, _) = (Some(meta.name()), world.as_unsafe_world_cell());
        // Targets are checked against all but the sources themselves,
        let mut beside = access.clone();
        state.sources.init_nested_access(system, &mut beside, world);
        state.targets.init_access(system, &mut beside, world);
        // and what is read elsewhere against all.
        state.sources.init_access(system, access, world);
        state.targets.init_nested_access(system, access, world);
        access.add(state.targets.access().clone());
    }

    unsafe fn get_param<'w, 's>(
        state: &'s mut Self::State,
        meta: &SystemMeta,
        world: UnsafeWorldCell<'w>,
        tick: Tick,
    ) -> Result<Self::Item<'w, 's>, SystemParamValidationError> {
        // SAFETY: the access was declared by the same parameter in `init_access`, and `world` is the world of
        // this state, as the caller promises.
        let pairs = unsafe { Pairs::<R>::get_param(&mut state.pairs, meta, world, tick)? };
        state.sources.update(world);
        state.targets.update(world);
        // SAFETY: as above; both are up to date.
        let ends = unsafe {
            let sources = FetchCursor::new(&state.sources, world, meta.get_last_run(), tick);
            let targets = FetchCursor::new(&state.targets, world, meta.get_last_run(), tick);
            Ends::new(sources, targets, state.overlap)
        };
        Ok(PairQuery { pairs, ends, places: &mut state.places, scope: QueryScope::All })
    }
}

// SAFETY: pairs, sources and targets are only read.
unsafe impl<R, S, T, F, TF> ReadOnlySystemParam for PairQuery<'_, '_, R, S, T, F, TF>
where
    R: Relation,
    S: ReadOnlyQueryData + 'static,
    T: ReadOnlyQueryData + 'static,
    F: QueryFilter + 'static,
    TF: QueryFilter + 'static,
{
}
