//! Components that are copied to everything below their holders, and kept up to date.

use super::{
    component_reader::{ComponentReader, all_with},
    updates::{self, UpdateKind},
};
use crate::{
    fetch,
    ops::{Followed, ensure_store, register_relation, relation_id_of},
    relation::{RelationName, TraitsError, TraversableRelation},
    sealed::Sealed,
    store::{DepthReader, PairReader, RelationIndex},
};
use alloc::{
    collections::{BTreeSet, VecDeque},
    vec::Vec,
};
use bevy_ecs::{
    component::Component,
    entity::{Entity, EntityHashMap, EntityHashSet},
    lifecycle::HookContext,
    resource::Resource,
    world::{DeferredWorld, World},
};
use core::{fmt, marker::PhantomData, mem::take, ops::Deref};
use thiserror::Error;

/// The component `C` of the nearest entity above that has one, along `R`: a component, kept by
/// [`propagate`](WorldPropagateExt::propagate).
///
/// It is on each entity that has a `C` anywhere above it, whether it has one itself or not, and on no other. Its
/// own makes no difference: the value in effect is `own.unwrap_or(propagated)`.
///
/// As the component is immutable, `On<Insert<Propagated<..>>>` is triggered for every new holder and value.
///
/// In the book: [Live queries](crate::book::live).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{live::*, prelude::*};
///
/// #[derive(Component, Clone, PartialEq, Debug)]
/// struct Team(u8);
///
/// /// The team of every entity: its own, or else that of the nearest ancestor that has one.
/// fn teams(entities: Query<(Option<&Team>, Option<&Propagated<ChildOf, Team>>)>) -> Vec<Team> {
///     entities.iter().filter_map(|(own, above)| own.or(above.map(Propagated::get))).cloned().collect()
/// }
///
/// let mut world = World::new();
/// world.propagate::<ChildOf, Team>()?;
/// let base = world.spawn(Team(1)).id();
/// let turret = world.spawn(ChildOf(base)).id();
/// world.update_propagation();
/// let above = world.get::<Propagated<ChildOf, Team>>(turret).unwrap();
/// assert_eq!((above.get(), above.holder()), (&Team(1), base));
/// assert_eq!(world.run_system_cached(teams)?, [Team(1), Team(1)]);
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Component)]
#[component(immutable, clone_behavior = Ignore)]
#[component(on_insert = note_change::<R, C>, on_remove = note_change::<R, C>)]
pub struct Propagated<R: TraversableRelation, C: Component + Clone> {
    value: C,
    holder: Entity,
    relation: PhantomData<fn() -> R>,
}

impl<R: TraversableRelation, C: Component + Clone> Propagated<R, C> {
    /// The value. The same as dereferencing.
    pub fn get(&self) -> &C {
        &self.value
    }

    /// The entity that has the component.
    pub fn holder(&self) -> Entity {
        self.holder
    }
}

/// A clone keeps the value. If it is inserted as a component, the next update corrects it.
impl<R: TraversableRelation, C: Component + Clone> Clone for Propagated<R, C> {
    fn clone(&self) -> Self {
        Self { value: self.value.clone(), holder: self.holder, relation: PhantomData }
    }
}

impl<R: TraversableRelation, C: Component + Clone> Deref for Propagated<R, C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.value
    }
}

impl<R: TraversableRelation, C: Component + Clone + fmt::Debug> fmt::Debug for Propagated<R, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Propagated").field("value", &self.value).field("holder", &self.holder).finish()
    }
}

/// A component that was inserted or removed by other code becomes with the next update what it has to be.
fn note_change<R: TraversableRelation, C: Component + Clone>(
    mut world: DeferredWorld<'_>,
    HookContext { entity, .. }: HookContext,
) {
    if let Some(mut state) = world.get_resource_mut::<State<R, C>>()
        && state.writing.take_if(|writing| *writing == entity).is_none()
    {
        state.unwritten.push_back(entity);
    }
}

/// Why no [`Propagated`] can be kept along a relation.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{error::PropagateError, live::WorldPropagateExt, prelude::*};
/// # #[derive(Component, Clone, PartialEq)]
/// # struct Team(u8);
/// #[derive(Component)]
/// #[relationship(relationship_target = Admirers, allow_self_referential)]
/// struct Admires(Entity);
/// #[derive(Component)]
/// #[relationship_target(relationship = Admires)]
/// struct Admirers(Vec<Entity>);
///
/// # let mut world = World::new();
/// let error = world.propagate::<Admires, Team>().unwrap_err();
/// assert!(matches!(error, PropagateError::NotTraversable { .. }));
/// ```
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum PropagateError {
    /// The relation is not traversable.
    #[error("nothing can be propagated along {relation}, which is not traversable: declare it `traversable`")]
    NotTraversable {
        /// The relation.
        relation: RelationName,
    },
    /// The traits of the relation are rejected.
    #[error(transparent)]
    Traits(#[from] TraitsError),
}

/// Propagating components along relations, directly on the [`World`]. An app has
/// [`propagate`](crate::AppRelationExt::propagate).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{live::*, prelude::*};
///
/// #[derive(Relation)]
/// #[relation(exclusive, traversable)]
/// struct MountedOn;
///
/// #[derive(Component, Clone, PartialEq, Debug)]
/// enum Team { Red, Blue }
///
/// let mut world = World::new();
/// world.propagate::<MountedOn, Team>()?;
/// let tank = world.spawn(Team::Red).id();
/// let turret = world.spawn(Pair(MountedOn, tank)).id();
/// let gun = world.spawn(Pair(MountedOn, turret)).id();
/// world.update_propagation();
/// assert_eq!(**world.get::<Propagated<MountedOn, Team>>(gun).unwrap(), Team::Red);
///
/// *world.get_mut::<Team>(tank).unwrap() = Team::Blue;
/// world.update_propagation();
/// assert_eq!(**world.get::<Propagated<MountedOn, Team>>(gun).unwrap(), Team::Blue);
/// assert!(!world.entity(tank).contains::<Propagated<MountedOn, Team>>());
/// # Ok::<(), BevyError>(())
/// ```
///
/// # Which holder is the nearest
///
/// The one that [`Up`](crate::query::Up) finds: all that lies above the first target comes before the second target.
/// Disabled entities hold components and get them as all others do.
///
/// # When
///
/// In [`update_propagation`](Self::update_propagation). The method of the app adds a system that calls it in
/// [`RelationsSystems::Propagation`](crate::RelationsSystems), in [`PostUpdate`](bevy_app::PostUpdate), before rollups.
///
/// # Complexity
///
/// An update takes O(entities that get another holder or value + their pairs). Values that
/// are inserted and removed trigger Bevy's events; those that are written in place are found by their change ticks, as
/// for [rollups](super::WorldRollupExt#complexity).
pub trait WorldPropagateExt: Sealed {
    /// Keeps a [`Propagated<R, C>`](Propagated) on everything below each entity with a `C`, from the next update on.
    /// Does nothing if they are kept already.
    ///
    /// It ends when the resources or all entities of the world are cleared.
    ///
    /// # Errors
    /// If the relation is a Bevy relationship that is not traversable, or its traits are rejected.
    fn propagate<R: TraversableRelation, C: Component + Clone>(&mut self) -> Result<(), PropagateError>;

    /// Brings everything that is propagated up to date.
    fn update_propagation(&mut self);
}

impl WorldPropagateExt for World {
    fn propagate<R: TraversableRelation, C: Component + Clone>(&mut self) -> Result<(), PropagateError> {
        let relation = register_relation::<R>(self)?;
        let id = relation_id_of(self, relation)?;
        let store = ensure_store(self);
        if store.relation(id).depth_of(relation).is_none() {
            return Err(PropagateError::NotTraversable { relation: store.registry().entry(id).name() });
        }
        if !self.contains_resource::<State<R, C>>() {
            self.insert_resource(State::<R, C>::default());
        }
        updates::register::<Propagated<R, C>>(self, UpdateKind::Propagated, update::<R, C>);
        Ok(())
    }

    fn update_propagation(&mut self) {
        updates::update_all(self, UpdateKind::Propagated);
    }
}

/// What is kept of one component along one relation.
#[derive(Resource)]
struct State<R: TraversableRelation, C: Component + Clone> {
    work: Work,
    /// Entities whose components may be wrong.
    unwritten: VecDeque<Entity>,
    /// The entity whose component is being written here: its hooks have nothing to do.
    writing: Option<Entity>,
    of: PhantomData<fn() -> (R, C)>,
}

impl<R: TraversableRelation, C: Component + Clone> Default for State<R, C> {
    fn default() -> Self {
        let (work, unwritten, writing) = Default::default();
        Self { work, unwritten, writing, of: PhantomData }
    }
}

#[derive(Default)]
struct Work {
    /// The nearest holder above each entity that has one.
    holders: EntityHashMap<Entity>,
    pairs: PairReader,
    components: ComponentReader,
    /// Memory for entities whose component may have changed.
    touched: Vec<Entity>,
    /// Entities that may have another holder now, those above first.
    queue: BTreeSet<(u32, Entity)>,
}

impl Work {
    fn push(&mut self, depths: &mut DepthReader<'_>, entity: Entity) {
        self.queue.insert((depths.depth_of(entity).unwrap_or(0), entity));
    }

    /// Updates the holders. Returns the entities that have another holder or value.
    fn update(
        &mut self,
        index: &RelationIndex,
        depths: &mut DepthReader<'_>,
        holds: impl Fn(Entity) -> bool,
    ) -> Vec<Entity> {
        let written: EntityHashSet = self.touched.drain(..).collect();
        for &entity in &written {
            index.sources(entity).for_each(|source| self.push(depths, source));
        }
        let mut changed = Vec::new();
        while let Some((_, entity)) = self.queue.pop_first() {
            let holder = index.targets(entity).find_map(|target| {
                if holds(target) { Some(target) } else { self.holders.get(&target).copied() }
            });
            let old = match holder {
                Some(holder) => self.holders.insert(entity, holder),
                None => self.holders.remove(&entity),
            };
            if holder == old && holder.is_none_or(|holder| !written.contains(&holder)) {
                continue;
            }
            changed.push(entity);
            if !holds(entity) {
                index.sources(entity).for_each(|source| self.push(depths, source));
            }
        }
        changed
    }
}

/// Brings one component along one relation up to date.
fn update<R: TraversableRelation, C: Component + Clone>(world: &mut World) {
    if !world.contains_resource::<State<R, C>>() {
        return;
    }
    let (key, store) = (Followed::of::<R>(), ensure_store(world));
    if let Some(id) = key.relation(store) {
        store.keep_journal(id).keep_longer();
    }
    let Some(mut state) = world.get_resource_mut::<State<R, C>>() else { return };
    let mut work = take(&mut state.work);
    let mut are_known = work.components.read::<C>(world, &mut work.touched);
    let now = world.change_tick();
    let empty = RelationIndex::default();
    let found = fetch::store(world).and_then(|store| Some((store, key.relation(store)?)));
    let changes = found.and_then(|(store, id)| work.pairs.advance::<R>(store, id, None, now));
    let mut queue = Vec::new();
    match changes {
        Some(changes) => queue.extend(changes.iter().map(|change| change.source)),
        None => are_known = false,
    }
    if found.is_none() {
        work.pairs.start_anew();
    }
    if !are_known {
        work.holders.clear();
        work.touched = all_with::<C>(world);
        queue = all_with::<Propagated<R, C>>(world);
    }
    let found = fetch::store(world).and_then(|store| Some(store.relation(key.relation(store)?)));
    let index = found.unwrap_or(&empty);
    let mut depths = DepthReader::new(index);
    queue.iter().for_each(|&entity| work.push(&mut depths, entity));
    let mut changed = work.update(index, &mut depths, |entity| world.get::<C>(entity).is_some());
    if !are_known {
        // Those without a holder now may have had one, which is not known any more.
        changed.append(&mut queue);
    }
    let Some(mut state) = world.get_resource_mut::<State<R, C>>() else { return };
    state.work = work;
    state.unwritten.extend(changed);
    // Those that observers add are written by the next update.
    for _ in 0..state.unwritten.len() {
        let Some(mut state) = world.get_resource_mut::<State<R, C>>() else { return };
        let Some(entity) = state.unwritten.pop_front() else { return };
        let holder = state.work.holders.get(&entity).copied();
        let mut writing = Writing::<R, C> { world, entity: Some(entity), of: PhantomData };
        write::<R, C>(writing.world, entity, holder);
        writing.entity = None;
    }
}

/// A component that is being written. If cloning it or an observer panics, the next update writes it.
struct Writing<'w, R: TraversableRelation, C: Component + Clone> {
    world: &'w mut World,
    entity: Option<Entity>,
    of: PhantomData<fn() -> (R, C)>,
}

impl<R: TraversableRelation, C: Component + Clone> Drop for Writing<'_, R, C> {
    fn drop(&mut self) {
        if let Some(entity) = self.entity
            && let Some(mut state) = self.world.get_resource_mut::<State<R, C>>()
        {
            state.unwritten.push_back(entity);
            state.writing = None;
        }
    }
}

/// Inserts, updates or removes the component of an entity.
fn write<R: TraversableRelation, C: Component + Clone>(
    world: &mut World,
    entity: Entity,
    holder: Option<Entity>,
) {
    // An observer may have removed the component from the holder, or despawned it: the next update corrects that.
    let value = holder.and_then(|holder| Some((holder, world.get::<C>(holder)?.clone())));
    let Some(is_there) = world.get_entity(entity).ok().map(|found| found.contains::<Propagated<R, C>>())
    else {
        return;
    };
    if let Some(mut state) = world.get_resource_mut::<State<R, C>>() {
        state.writing = (is_there || value.is_some()).then_some(entity);
    }
    match value {
        Some((holder, value)) if is_there => {
            _ = world.modify_component(entity, |propagated: &mut Propagated<R, C>| {
                (propagated.value, propagated.holder) = (value, holder);
            });
        }
        Some((holder, value)) => {
            _ = world.entity_mut(entity).insert(Propagated::<R, C> { value, holder, relation: PhantomData });
        }
        None if is_there => _ = world.entity_mut(entity).remove::<Propagated<R, C>>(),
        None => {}
    }
}
