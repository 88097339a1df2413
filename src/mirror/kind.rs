//! Components that mirror pairs: what each of their types does for itself, and how the rest, which is compiled once, calls it.

use super::error::MirrorError;
use crate::{
    ops::Followed,
    relation::{TraitsError, UpdateMirror},
    store::PairStore,
};
use alloc::{boxed::Box, format, vec::Vec};
use bevy_ecs::{
    component::{Component, ComponentId, Immutable},
    entity::Entity,
    world::World,
};
use bevy_reflect::{FromReflect, GetTypeRegistration, TypeRegistry, Typed};
use core::any::{Any, TypeId};

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

/// A type of components that mirror pairs, for code that does not know it.
pub(super) struct MirrorKind {
    pub(super) component: TypeId,
    pub(super) register: fn(&mut World) -> ComponentId,
    /// Registers the type for reflection, with the `ReflectComponent` that scenes need if it is to be in them.
    pub(super) register_type: fn(&mut TypeRegistry, in_scenes: bool),
    /// See [`MirrorComponent`] for this and the next ones.
    pub(super) start: fn(&mut World) -> Result<(), TraitsError>,
    pub(super) relations: fn(&World) -> Vec<Followed>,
    pub(super) shows_any: fn(&PairStore, Entity) -> bool,
    pub(super) read: fn(&World, Entity) -> Box<dyn MirrorValue>,
    pub(super) note_silent_changes: fn(&mut World),
    /// The component of an entity.
    pub(super) get: fn(&World, Entity) -> Option<Box<dyn MirrorValue>>,
    /// One that lists no pairs.
    pub(super) empty: fn() -> Box<dyn MirrorValue>,
    /// Brings the components up to date after a change of a relation.
    pub(super) update: UpdateMirror,
    /// Adds a pair to the component of its source: see `write::push_last`.
    pub(super) push_last: fn(&mut World, Kind, (Entity, Entity), Option<Followed>) -> bool,
    /// Makes the component of an entity list its pairs: see `write::write_back`.
    pub(super) write_back: fn(&mut World, Kind, Entity, Option<Entity>),
}

pub(super) type Kind = &'static MirrorKind;

impl MirrorKind {
    /// Whether an entity has such a component.
    pub(super) fn is_on(&self, world: &World, source: Entity) -> bool {
        world.get_entity(source).is_ok_and(|source| source.contains_type_id(self.component))
    }
}

/// A component outside of its entity, for code that does not know its type.
pub(super) trait MirrorValue: Any + Send + Sync {
    fn clone_boxed(&self) -> Box<dyn MirrorValue>;

    /// [`MirrorComponent::is_same`]; false for another type. Values that cannot be compared, such as a NaN, are the same if reflection
    /// writes them alike.
    fn is_same_as(&self, other: &dyn MirrorValue) -> bool;

    /// See [`MirrorComponent::set_pairs`].
    fn apply(&self, world: &mut World, source: Entity, errors: &mut Errors);
}

impl<C: MirrorComponent> MirrorValue for C {
    fn clone_boxed(&self) -> Box<dyn MirrorValue> {
        Box::new(self.clone())
    }

    fn is_same_as(&self, other: &dyn MirrorValue) -> bool {
        let written = |component: &C| format!("{:?}", component.as_partial_reflect());
        let other = (other as &dyn Any).downcast_ref::<C>();
        other.is_some_and(|other| self.is_same(other) || written(self) == written(other))
    }

    fn apply(&self, world: &mut World, source: Entity, errors: &mut Errors) {
        self.set_pairs(world, source, errors);
    }
}

/// An entity whose component may be outdated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) source: Entity,
    /// The target of a pair that was inserted, if that is the change.
    pub(super) inserted: Option<Entity>,
}

/// Anything may have changed.
impl From<Entity> for Due {
    fn from(source: Entity) -> Self {
        Self { source, inserted: None }
    }
}

/// Why a component is not, or not in full, what the pairs are now.
#[derive(Default)]
pub(super) struct Errors {
    pub(super) lasting: Vec<MirrorError>,
    /// Errors that may be gone once the rest of a scene is there.
    pub(super) temporary: Vec<MirrorError>,
}
