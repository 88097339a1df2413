//! Events that go along a relation, from an entity to those above or below it.

use crate::{
    fetch,
    id::RelationId,
    ops::mutate::event,
    ops::register::{relation::relation_id, store::use_relation},
    relation::{RelationName, TraversableRelation},
    traverse::{ChildrenAccess, DepthFirst, Direction, RelationView, Relations},
};
use alloc::vec;
use bevy_ecs::{
    entity::{Entity, EntityHashSet},
    event::{EntityEvent, Event, PropagateEntityTrigger, SetEntityEventTarget},
    traversal::Traversal,
    world::{DeferredWorld, World},
};
use core::ops::Range;
use thiserror::Error;

/// An event that can go along a relation: one with `#[entity_event(propagate)]`, whatever it propagates along on
/// its own. See [`trigger_along`](crate::WorldPairExt::trigger_along).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::{event::PropagatedEvent, traverse::Direction};
/// #[derive(EntityEvent)]
/// #[entity_event(propagate)]
/// struct Alarm {
///     entity: Entity,
/// }
/// #[derive(Resource, Default)]
/// struct Reached(u32);
///
/// fn below(world: &mut World, event: impl PropagatedEvent) {
///     world.trigger_along::<ChildOf>(event, Direction::Sources);
/// }
/// # let mut world = World::new();
/// world.init_resource::<Reached>();
/// world.add_observer(|_: On<Alarm>, mut reached: ResMut<Reached>| reached.0 += 1);
/// let ship = world.spawn_empty().id();
/// world.spawn(ChildOf(ship));
/// below(&mut world, Alarm { entity: ship });
/// assert_eq!(world.resource::<Reached>().0, 2);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an event that propagates",
    note = "consider annotating `{Self}` with `#[derive(EntityEvent)]` and `#[entity_event(propagate)]`"
)]
pub trait PropagatedEvent: SetEntityEventTarget + for<'t> Event<Trigger<'t>: Propagation> {}

impl<E: SetEntityEventTarget + for<'t> Event<Trigger<'t>: Propagation>> PropagatedEvent for E {}

/// What observers see of an event's way.
#[doc(hidden)]
pub trait Propagation {
    /// At an entity of a way that began at `origin`.
    fn from(origin: Entity) -> Self;
    /// No observer has said otherwise.
    fn continues(&self) -> bool;
}

impl<const AUTO: bool, E: EntityEvent, T: Traversal<E>> Propagation for PropagateEntityTrigger<AUTO, E, T> {
    fn from(origin: Entity) -> Self {
        let mut trigger = Self::default();
        trigger.original_event_target = origin;
        trigger.propagate = true;
        trigger
    }

    fn continues(&self) -> bool {
        self.propagate
    }
}

/// A relation is not traversable and cannot be followed: see [`trigger_along_by_id`](crate::WorldPairExt::trigger_along_by_id).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, traverse::Direction};
///
/// #[derive(EntityEvent)]
/// #[entity_event(propagate)]
/// struct PowerCut {
///     entity: Entity,
/// }
///
/// let mut world = World::new();
/// let ship = world.spawn_empty().id();
/// let mounted_on = world.spawn_relation("MountedOn", RelationTraits::new().traversable())?;
/// world.trigger_along_by_id(mounted_on, PowerCut { entity: ship }, Direction::Sources)?;
///
/// let likes = world.spawn_relation("Likes", RelationTraits::new())?;
/// let error = world.trigger_along_by_id(likes, PowerCut { entity: ship }, Direction::Sources).unwrap_err();
/// assert_eq!(error.relation.entity(), likes);
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{relation} is not traversable: declare it `traversable` to follow it")]
pub struct NotTraversableError {
    /// The relation.
    pub relation: RelationName,
}

/// Triggers `event` at its target and then along the relation.
fn trigger(world: &mut World, relation: RelationId, event: &mut impl PropagatedEvent, direction: Direction) {
    let origin = event.event_target();
    let mut world = DeferredWorld::from(world);
    let mut met = view(&world, relation).may_revisit().then(EntityHashSet::default);
    // The walk is over places in a list of entities: as they were next to each other when the observers of one were
    // done, whatever others change.
    let mut entities = vec![origin];
    let mut walk = DepthFirst::<Range<usize>>::default();
    let mut next = Some((0, 0));
    while let Some((place, depth)) = next {
        let entity = entities[place];
        next = None;
        if met.as_mut().is_none_or(|met| met.insert(entity)) {
            event.set_event_target(entity);
            let mut trigger = Propagation::from(origin);
            event::trigger_at(&mut world, event, &mut trigger);
            if trigger.continues() {
                let start = entities.len();
                entities.extend(view(&world, relation).neighbors(direction, entity));
                next = walk.enter(start..entities.len(), depth + 1);
            }
        }
        next = next.or_else(|| walk.resume());
    }
}

/// The pairs of a relation.
pub(in crate::ops) fn view(world: &World, relation: RelationId) -> RelationView<'_, '_> {
    fetch::store(world).map_or(RelationView::NONE, |store| {
        Relations::new(store, Some(ChildrenAccess::World(world))).view(relation)
    })
}

/// Triggers an event along relation type `R`.
pub(crate) fn trigger_along<R: TraversableRelation>(
    world: &mut World,
    event: &mut impl PropagatedEvent,
    towards: Direction,
) {
    let relation = relation_id::<R>(world);
    trigger(world, relation, event, towards);
    world.flush();
}

/// [`trigger_along`] for any relation.
///
/// # Errors
/// If it is not traversable.
pub(crate) fn trigger_by_id(
    world: &mut World,
    relation: Entity,
    event: &mut impl PropagatedEvent,
    towards: Direction,
) -> Result<(), NotTraversableError> {
    let registry = use_relation(world, relation).registry();
    let traversable = |&id: &RelationId| registry.entry(id).traits.is_traversable();
    let Some(id) = registry.of_entity(relation).filter(traversable) else {
        return Err(NotTraversableError { relation: registry.name_of(relation) });
    };
    trigger(world, id, event, towards);
    world.flush();
    Ok(())
}
