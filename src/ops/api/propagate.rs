//! Components that come and go above an entity: triggering events at those below.
//!
//! An entity sees the component of its nearest holder, as `Up` and `target_with` find it: depth first through targets
//! in insertion order. What it sees changes when a holder comes or goes, and when a pair on the way does. An
//! entity that has the component itself sees nothing of what is above, and neither do those below it.

use super::trigger::view;
use crate::{
    fetch,
    id::RelationId,
    ops::{
        mutate::event::trigger_at,
        register::{
            keys::{PairInserted, PairRemoved},
            relation::relation_id,
            watch,
        },
    },
    relation::TraversableRelation,
    traverse::Limits,
};
use alloc::{vec, vec::Vec};
use bevy_ecs::{
    component::Component,
    entity::Entity,
    event::{EntityEvent, EntityTrigger},
    lifecycle::{Insert, Remove},
    observer::On,
    resource::Resource,
    world::{DeferredWorld, World},
};
use core::marker::PhantomData;

/// `On<InsertedAbove<R, C>>`: an entity without `C` has a new nearest holder of `C` above it along `R`, or the holder
/// has a new value.
///
/// Triggered once [`propagate_changes`](crate::WorldPairExt::propagate_changes) was called for `R` and `C`, at once
/// after
///
/// - `C` was inserted above, also in place of an old value;
/// - the entity, or one above it, was linked to something below a holder;
/// - another holder went, or the entity's own `C`, and this one is the next.
///
/// Writing to `C` through `&mut` is no insertion.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{event::InsertedAbove, prelude::*};
///
/// #[derive(Component)]
/// struct Armor(u32);
///
/// let mut world = World::new();
/// world.propagate_changes::<IsA, Armor>();
/// world.add_observer(|on: On<InsertedAbove<IsA, Armor>>, armor: Query<&Armor>, mut commands: Commands| {
///     let armor = armor.get(on.holder).map_or(0, |armor| armor.0);
///     commands.entity(on.entity).insert(Name::new(format!("armor {armor}")));
/// });
/// let tank = world.spawn_empty().id();
/// let heavy_tank = world.spawn(Pair(IsA, tank)).id();
/// world.entity_mut(tank).insert(Armor(5));
/// assert_eq!(world.get::<Name>(heavy_tank).map(Name::as_str), Some("armor 5"));
/// ```
#[derive(EntityEvent)]
pub struct InsertedAbove<R: TraversableRelation, C: Component> {
    /// The entity below.
    pub entity: Entity,
    /// The entity that has the component.
    pub holder: Entity,
    marker: PhantomData<fn() -> (R, C)>,
}

/// `On<RemovedAbove<R, C>>`: the nearest `C` above an entity along `R`, or the path to it, is about to be removed.
///
/// The counterpart of [`InsertedAbove`]. Both the component and the path can still be read. If there is another
/// holder, `InsertedAbove` follows. The event is triggered more than once if several pairs of the path are removed at
/// once, as when an entity of the path is despawned.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::event::RemovedAbove;
/// #[derive(Component)]
/// struct Armor(u32);
/// #[derive(Resource, Default)]
/// struct Lost(u32);
///
/// # let mut world = World::new();
/// world.init_resource::<Lost>();
/// world.propagate_changes::<IsA, Armor>();
/// world.add_observer(|on: On<RemovedAbove<IsA, Armor>>, armor: Query<&Armor>, mut lost: ResMut<Lost>| {
///     lost.0 += armor.get(on.holder).unwrap().0; // still there
/// });
/// let tank = world.spawn(Armor(5)).id();
/// world.spawn(Pair(IsA, tank));
/// world.entity_mut(tank).remove::<Armor>();
/// assert_eq!(world.resource::<Lost>().0, 5);
/// ```
#[derive(EntityEvent)]
pub struct RemovedAbove<R: TraversableRelation, C: Component> {
    /// The entity below.
    pub entity: Entity,
    /// The entity that has had the component so far.
    pub holder: Entity,
    marker: PhantomData<fn() -> (R, C)>,
}

/// Changes of `C` go down `R` already.
#[derive(Resource)]
struct Propagated<R, C>(PhantomData<fn() -> (R, C)>);

pub(crate) fn propagate_changes<R: TraversableRelation, C: Component>(world: &mut World) {
    relation_id::<R>(world);
    if world.contains_resource::<Propagated<R, C>>() {
        return;
    }
    world.insert_resource(Propagated::<R, C>(PhantomData));
    watch::install(world, observe::<R, C>);
}

fn observe<R: TraversableRelation, C: Component>(world: &mut World) -> Vec<Entity> {
    let inserted = world.add_observer(|on: On<Insert<C>>, mut world: DeferredWorld| {
        if let Some(above) = Above::<R, C>::new(&world) {
            let below = above.below(&world, on.entity, on.entity);
            above.trigger_inserted(&mut world, below.into_iter().map(|entity| (entity, on.entity)));
        }
    });
    let inserted = inserted.id();
    let removed = world.add_observer(|on: On<Remove<C>>, mut world: DeferredWorld| {
        if let Some(above) = Above::<R, C>::new(&world) {
            let mut below = above.below(&world, on.entity, on.entity);
            above.trigger_removed(&mut world, &below, on.entity);
            if above.several_ways(&world) || above.holder(&world, on.entity).is_some() {
                below.insert(0, on.entity);
                above.trigger_next_holder(&mut world, below);
            }
        }
    });
    let removed = removed.id();
    let linked = world.add_observer(|on: On<PairInserted<R>>, mut world: DeferredWorld| {
        if let Some(above) = Above::<R, C>::new(&world)
            && !on.replaced
            && let Some((holder, below)) = above.holder_through(&world, on.source, on.target)
        {
            above.trigger_inserted(&mut world, below.into_iter().map(|entity| (entity, holder)));
        }
    });
    let linked = linked.id();
    let unlinked = world.add_observer(|on: On<PairRemoved<R>>, mut world: DeferredWorld| {
        if let Some(above) = Above::<R, C>::new(&world)
            && let Some((holder, below)) = above.holder_through(&world, on.source, on.target)
        {
            above.trigger_removed(&mut world, &below, holder);
            if above.several_ways(&world) {
                above.trigger_next_holder(&mut world, below);
            }
        }
    });
    let unlinked = unlinked.id();
    vec![inserted, removed, linked, unlinked]
}

/// What entities see of `C` above them along `R`.
struct Above<R, C> {
    relation: RelationId,
    marker: PhantomData<fn() -> (R, C)>,
}

impl<R: TraversableRelation, C: Component> Above<R, C> {
    fn new(world: &World) -> Option<Self> {
        let relation = fetch::store(world)?.registry().of_type::<R>()?;
        Some(Self { relation, marker: PhantomData })
    }

    fn holds(world: &World, entity: Entity) -> bool {
        world.get_entity(entity).is_ok_and(|entity| entity.contains::<C>())
    }

    /// Whether there can be several ways up from an entity.
    fn several_ways(&self, world: &World) -> bool {
        view(world, self.relation).may_revisit()
    }

    /// The nearest holder above an entity.
    fn holder(&self, world: &World, entity: Entity) -> Option<Entity> {
        view(world, self.relation).nearest(entity, Limits::BEYOND, |entity| Self::holds(world, entity))
    }

    /// The entities below `start` that see the component of `holder`, which is above it or `start` itself.
    fn below(&self, world: &World, start: Entity, holder: Entity) -> Vec<Entity> {
        let several_ways = self.several_ways(world);
        let mut below = Vec::new();
        let mut walk = view(world, self.relation).descendants(start);
        while let Some((entity, _)) = walk.next() {
            let elsewhere = || several_ways && self.holder(world, entity) != Some(holder);
            if Self::holds(world, entity) || elsewhere() {
                walk.prune();
            } else {
                below.push(entity);
            }
        }
        below
    }

    /// The holder that `source` sees through its pair with `target`, and the entities that see it through `source`, itself first.
    fn holder_through(&self, world: &World, source: Entity, target: Entity) -> Option<(Entity, Vec<Entity>)> {
        if Self::holds(world, source) {
            return None;
        }
        let view = view(world, self.relation);
        let sees = |entity| view.nearest(entity, Limits::FROM_SELF, |entity| Self::holds(world, entity));
        let holder = sees(target)?;
        let mut earlier = view.targets(source).take_while(|&earlier| earlier != target);
        if earlier.any(|earlier| sees(earlier).is_some()) {
            return None;
        }
        let mut seers = vec![source];
        seers.append(&mut self.below(world, source, holder));
        Some((holder, seers))
    }

    fn trigger_inserted(
        &self,
        world: &mut DeferredWorld<'_>,
        news: impl IntoIterator<Item = (Entity, Entity)>,
    ) {
        for (entity, holder) in news {
            let mut event = InsertedAbove::<R, C> { entity, holder, marker: PhantomData };
            trigger_at(world, &mut event, &mut EntityTrigger);
        }
    }

    fn trigger_removed(&self, world: &mut DeferredWorld<'_>, below: &[Entity], holder: Entity) {
        for &entity in below {
            let mut event = RemovedAbove::<R, C> { entity, holder, marker: PhantomData };
            trigger_at(world, &mut event, &mut EntityTrigger);
        }
    }

    /// Triggers the events of the next holder, once the nearest has gone.
    fn trigger_next_holder(&self, world: &mut DeferredWorld<'_>, entities: Vec<Entity>) {
        world.commands().queue(move |world: &mut World| {
            let mut world = DeferredWorld::from(world);
            let Some(above) = Self::new(&world) else { return };
            let sees = |&entity: &Entity| {
                if Self::holds(&world, entity) { None } else { Some((entity, above.holder(&world, entity)?)) }
            };
            let news: Vec<_> = entities.iter().filter_map(sees).collect();
            above.trigger_inserted(&mut world, news);
        });
    }
}
