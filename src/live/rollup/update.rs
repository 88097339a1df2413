//! Bringing a rollup up to date: reading what has changed, and writing the components.

use super::{Rollup, distinct::ChangedValue, error::RollupError, fold::RollupFold, graph::Graph};
use crate::{
    fetch,
    id::RelationId,
    live::component_reader::{ComponentReader, all_with},
    ops::{Followed, ensure_store, register_relation, relation_id_of},
    relation::Relation,
    store::{Change, NetChanges, PairData, PairDeltaKind, PairReader, PairStore, RelationIndex},
    system_param::Pairs,
};
use alloc::{collections::VecDeque, vec::Vec};
use bevy_ecs::{component::Component, entity::Entity, resource::Resource, world::World};
use bevy_platform::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use core::{marker::PhantomData, mem::take};

/// What is kept of one rollup.
#[derive(Resource)]
pub(super) struct State<R: Relation, V: Send + Sync + 'static, F: RollupFold<V>> {
    /// Taken out during an update. If a fold panics, everything is folded again.
    work: Work<V, F>,
    /// Entities whose components may differ from their results.
    pub(super) unwritten: VecDeque<Entity>,
    /// The entity whose component is being written here: its hooks have nothing to do.
    pub(super) writing: Option<Entity>,
    /// How often it was brought up to date.
    updates: Arc<AtomicUsize>,
    relation: PhantomData<fn() -> R>,
}

struct Work<V, F: RollupFold<V>> {
    graph: Graph<V, F>,
    pairs: PairReader,
    components: ComponentReader,
    net: NetChanges,
    /// Memory for what has changed.
    changes: Vec<Change>,
    /// Memory for entities whose values may have changed.
    touched: Vec<Entity>,
}

impl<V, F: RollupFold<V>> Default for Work<V, F> {
    fn default() -> Self {
        let (graph, pairs, components) = Default::default();
        let (net, changes, touched) = Default::default();
        Self { graph, pairs, components, net, changes, touched }
    }
}

/// Makes what is kept of a rollup, if it is not there.
pub(super) fn add<R: Relation, V: Send + Sync + 'static, F: RollupFold<V>>(
    world: &mut World,
) -> Result<(), RollupError> {
    let relation = register_relation::<R>(world)?;
    let id = relation_id_of(world, relation)?;
    let store = ensure_store(world);
    if !store.relation(id).is_acyclic() {
        return Err(RollupError::NotAcyclic { relation: store.registry().entry(id).name() });
    }
    if !world.contains_resource::<State<R, V, F>>() {
        let (work, unwritten, writing, updates) = Default::default();
        world.insert_resource(State::<R, V, F> { work, unwritten, writing, updates, relation: PhantomData });
    }
    Ok(())
}

/// Takes out the work, and makes sure that changes of the relation are recorded, with replaced values if these are
/// asked for.
fn begin<R: Relation, V: Send + Sync + 'static, F: RollupFold<V>>(
    world: &mut World,
    records_replaced_values: bool,
) -> Option<Work<V, F>> {
    world.get_resource::<State<R, V, F>>()?;
    let store = ensure_store(world);
    if let Some(id) = Followed::of::<R>().relation(store) {
        let journal = store.keep_journal(id);
        journal.keep_longer();
        if records_replaced_values {
            journal.record_replaced_values();
        }
    }
    Some(take(&mut world.get_resource_mut::<State<R, V, F>>()?.work))
}

/// The pairs of the relation: none if the relation is gone.
fn index_of<R: Relation>(world: &World) -> Option<(&PairStore, RelationId)> {
    let store = fetch::store(world)?;
    Some((store, Followed::of::<R>().relation(store)?))
}

impl<V: Send + Sync + 'static, F: RollupFold<V>> Work<V, F> {
    /// Reads what has happened to the pairs. False if that is not known.
    fn read_pairs<R: Relation>(&mut self, world: &World, values: Option<&PairData<R>>) -> bool {
        self.changes.clear();
        let Some((store, id)) = index_of::<R>(world) else {
            self.pairs.start_anew();
            return false;
        };
        let Some(changes) = self.pairs.advance(store, id, values, world.read_change_tick()) else {
            return false;
        };
        self.changes.extend(self.net.of(changes));
        self.changes.extend(self.pairs.written());
        true
    }

    /// Clears the graph, and notes every component to be written.
    fn start_anew<R: Relation>(&mut self, world: &mut World) {
        self.graph = Graph::default();
        self.changes.clear();
        let written = all_with::<Rollup<R, V, F>>(world);
        if let Some(mut state) = world.get_resource_mut::<State<R, V, F>>() {
            state.unwritten.extend(written);
        }
    }

    /// Updates the results. `edge` is what a pair carries, `own` what an entity has itself.
    fn update<R: Relation>(
        &mut self,
        world: &World,
        edge: impl Fn(Entity, Entity) -> Option<F::Output>,
        own: impl Fn(Entity) -> Option<F::Output>,
    ) -> Vec<Entity> {
        let Self { graph, changes, touched, .. } = self;
        let empty = RelationIndex::default();
        let index = index_of::<R>(world).map_or(&empty, |(store, id)| store.relation(id));
        let edge_of = |change: &Change| match change.kind {
            PairDeltaKind::Removed => None,
            _ => edge(change.source, change.target),
        };
        // Orders do not matter.
        changes.retain(|change| {
            matches!(change.kind, PairDeltaKind::Inserted | PairDeltaKind::Removed | PairDeltaKind::Written)
        });
        if !F::DISTINCT || index.is_exclusive() {
            changes.iter().for_each(|change| graph.set_edge(change, edge_of(change)));
            touched.drain(..).for_each(|entity| graph.set_own(entity, own(entity)));
            return graph.update(index);
        }
        let mut values = Vec::new();
        let mut targets = Vec::new();
        for change in changes.iter() {
            let &Change { source, target, kind } = change;
            let (old, new) = graph.replace_edge(source, target, edge_of(change));
            match kind {
                PairDeltaKind::Written => {
                    values.push(ChangedValue { entity: target, of_pair: true, old, new });
                }
                _ => targets.push(target),
            }
        }
        for entity in touched.drain(..) {
            let (old, new) = graph.replace_own(entity, own(entity));
            if old != new {
                values.push(ChangedValue { entity, of_pair: false, old, new });
            }
        }
        graph.update_distinct(index, &targets, values)
    }
}

/// Brings a rollup of components up to date.
pub(super) fn update_components<R: Relation, V: Component, F: RollupFold<V>>(world: &mut World) {
    let Some(mut work) = begin::<R, V, F>(world, false) else { return };
    let are_known = work.components.read::<V>(world, &mut work.touched);
    if !(work.read_pairs::<R>(world, None) && are_known) {
        work.start_anew::<R>(world);
        work.touched = all_with::<V>(world);
    }
    let changed = work.update::<R>(world, |_, _| None, |entity| world.get::<V>(entity).map(F::of));
    finish::<R, V, F>(world, work, changed);
}

/// Brings a rollup of what pairs carry up to date.
pub(super) fn update_pairs<R: Relation, F: RollupFold<R>>(world: &mut World) {
    let Some(mut work) = begin::<R, R, F>(world, true) else { return };
    let are_known = work.read_pairs::<R>(world, world.get_resource::<PairData<R>>());
    // What is written in place from now on is newer.
    world.increment_change_tick();
    if !are_known {
        work.start_anew::<R>(world);
        let pairs = index_of::<R>(world).into_iter().flat_map(|(store, id)| store.relation(id).iter());
        // Nothing was passed on along them.
        let kind = PairDeltaKind::Written;
        work.changes.extend(pairs.map(|(source, target)| Change { source, target, kind }));
    }
    let pairs = Pairs::<R>::of_world(world);
    let edge = |source: Entity, target: Entity| pairs.get(source, target).map(F::of);
    let changed = work.update::<R>(world, edge, |_| None);
    finish::<R, R, F>(world, work, changed);
}

/// Puts the work back, and writes the components that have changed. That runs users' code.
fn finish<R: Relation, V: Send + Sync + 'static, F: RollupFold<V>>(
    world: &mut World,
    work: Work<V, F>,
    changed: Vec<Entity>,
) {
    let Some(mut state) = world.get_resource_mut::<State<R, V, F>>() else { return };
    state.work = work;
    state.unwritten.extend(changed);
    let updates = state.updates.clone();
    updates.fetch_add(1, Ordering::Relaxed);
    // Those that observers add are written by the next update.
    let mut count = state.unwritten.len();
    while count > 0 {
        let Some(mut state) = world.get_resource_mut::<State<R, V, F>>() else { return };
        let State { work, unwritten, .. } = &mut *state;
        count = count.min(unwritten.len());
        let results = unwritten.iter().take(count);
        let left = results.map(|&entity| (entity, work.graph.result(entity).map(Rollup::new))).collect();
        unwritten.drain(..count);
        count = Writing::<R, V, F> { world, left, entity: None }.write_all(&updates);
    }
}

/// Components that are being written. If an observer panics, the next update writes those that may not be.
struct Writing<'w, R: Relation, V: Send + Sync + 'static, F: RollupFold<V>> {
    world: &'w mut World,
    left: VecDeque<(Entity, Option<Rollup<R, V, F>>)>,
    /// The entity whose component is being written.
    entity: Option<Entity>,
}

impl<R: Relation, V: Send + Sync + 'static, F: RollupFold<V>> Writing<'_, R, V, F> {
    /// Writes them until an observer runs an update: the results may be others then. Returns the number of those
    /// that are left, which are noted as not written.
    fn write_all(mut self, updates: &AtomicUsize) -> usize {
        let update = updates.load(Ordering::Relaxed);
        while updates.load(Ordering::Relaxed) == update {
            let Some((entity, rollup)) = self.left.pop_front() else { break };
            self.entity = Some(entity);
            write::<R, V, F>(self.world, entity, rollup);
            self.entity = None;
        }
        self.left.len()
    }
}

impl<R: Relation, V: Send + Sync + 'static, F: RollupFold<V>> Drop for Writing<'_, R, V, F> {
    fn drop(&mut self) {
        if self.left.is_empty() && self.entity.is_none() {
            return;
        }
        if let Some(mut state) = self.world.get_resource_mut::<State<R, V, F>>() {
            self.left.drain(..).rev().for_each(|(entity, _)| state.unwritten.push_front(entity));
            state.unwritten.extend(self.entity);
            state.writing = None;
        }
    }
}

/// Inserts, updates or removes the rollup of an entity.
fn write<R: Relation, V: Send + Sync + 'static, F: RollupFold<V>>(
    world: &mut World,
    entity: Entity,
    rollup: Option<Rollup<R, V, F>>,
) {
    let there = world.get::<Rollup<R, V, F>>(entity);
    let is_there = there.is_some();
    if there == rollup.as_ref() || !world.entities().contains_spawned(entity) {
        return;
    }
    if let Some(mut state) = world.get_resource_mut::<State<R, V, F>>() {
        state.writing = Some(entity);
    }
    match rollup {
        Some(rollup) if is_there => _ = world.modify_component(entity, |there| *there = rollup),
        Some(rollup) => _ = world.entity_mut(entity).insert(rollup),
        None => _ = world.entity_mut(entity).remove::<Rollup<R, V, F>>(),
    }
}
