//! The trait of components that mirror pairs.

use super::error::MirrorError;
use crate::{ops::Followed, relation::TraitsError, store::PairStore};
use alloc::vec::Vec;
use bevy_ecs::{
    component::{Component, Immutable},
    entity::Entity,
    world::World,
};
use bevy_reflect::{FromReflect, GetTypeRegistration, Typed};

/// A component that shows pairs of its entity.
pub(super) trait MirrorComponent:
    Component<Mutability = Immutable> + Clone + Default + FromReflect + Typed + GetTypeRegistration
{
    /// A pair as the component shows it.
    type Pair;

    /// Starts mirroring.
    fn start(world: &mut World) -> Result<(), TraitsError>;

    /// The relations whose pairs it shows, sorted.
    fn relations(world: &World) -> Vec<Followed>;

    /// Whether there is anything to show.
    fn shows_any(store: &PairStore, source: Entity) -> bool;

    /// The component for the present pairs.
    fn read(world: &World, source: Entity) -> Self;

    /// The last pair, if it is the one with `target`, and the number of pairs. `None` also if reading all pairs costs the
    /// same.
    fn read_last(world: &World, source: Entity, target: Entity) -> Option<(Self::Pair, usize)>;

    fn pairs(&self) -> &[Self::Pair];

    fn push(&mut self, pair: Self::Pair);

    /// The component for a single pair.
    fn of_pair(pair: Self::Pair) -> Self;

    /// Whether both list the same pairs.
    fn is_same(&self, other: &Self) -> bool;

    /// Makes the pairs of an entity those of the component as far as the rules allow it.
    fn set_pairs(&self, world: &mut World, source: Entity, errors: &mut Errors);

    /// Notes what has changed without an event.
    fn note_silent_changes(world: &mut World);
}

/// Why a component is not, or not in full, what the pairs are now.
#[derive(Default)]
pub(super) struct Errors {
    pub(super) now: Vec<MirrorError>,
    /// Errors that may be gone once the rest of a scene is there.
    pub(super) for_now: Vec<MirrorError>,
}
