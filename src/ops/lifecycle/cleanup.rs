//! What a despawn leaves behind: nothing.
//!
//! While an entity is being despawned, and still lives, its pairs are removed on both sides; entities that go
//! with it are put on a list. One command drains the list, leaves first, in a loop: however deep the
//! relations go, the stack does not grow.

use super::{
    component,
    dependents::{self, DespawnPlan, relation_of, relation_policy},
    leave::{
        Departure, in_use_as_relation, in_use_as_tag, in_use_as_target, leave, leave_as_target, try_leave,
    },
};
use crate::{
    fetch,
    id::{PairId, RelationId},
    ops::{
        mutate::{
            error::DespawnError,
            event::Removal,
            operation::{Operation, queue_despawn_of_orphans},
            remove::{self, Completion},
        },
        register::{
            cascade::Cascade,
            entity::respawn,
            participant,
            report::{report, to_bevy},
            store::{ensure_store, index_children, index_children_for},
        },
    },
    relation::{CleanupPolicy, EntityName},
    store::PairStore,
    traverse::Hierarchy,
};
use alloc::vec::Vec;
use bevy_ecs::{
    entity::{Entity, EntityHashSet},
    world::{DeferredWorld, World},
};

/// Removes pairs and tags and removes the record of the entity if it `is_gone`, then puts the dependents on the list: an observer
/// that panics leaves none on it.
fn finish(departure: Departure, world: &mut DeferredWorld, entity: Entity, is_gone: bool) {
    if !departure.removals.is_empty() {
        let removed = remove::remove_all(world, &departure.removals, Removal::DespawnOf(entity));
        if removed.orphans {
            queue_despawn_of_orphans(world);
        }
    }
    if !departure.adopted.is_empty() {
        // Bevy removes those only that its collection of the target has by now.
        world.commands().queue(move |world: &mut World| {
            for (adopted, source) in departure.adopted {
                if (adopted.target)(world, source) == Some(entity) {
                    (adopted.remove)(world, source);
                }
            }
        });
    }
    if is_gone {
        remove_record(world, entity);
    }
    if !departure.dependents.is_empty() {
        add_to_cascade(world, departure.dependents);
    }
    // Bevy's own despawn cannot be refused: it is reported.
    for error in departure.refusals {
        let error = to_bevy(error.named(world));
        report(world.commands(), error);
    }
    remove::queue_completion(world);
}

/// A participant is being despawned by Bevy.
pub(in crate::ops) fn on_despawn(mut world: DeferredWorld, entity: Entity) {
    let Some(store) = fetch::deferred_store(&mut world) else { return };
    if try_leave(store, entity) {
        return;
    }
    if store.participants().is_marked(entity) || store.participants().is_stripped(entity) {
        leave_all(&mut world, entity);
    }
}

/// Removes everything that the store has of an entity that is being despawned, or that was despawned while its marker
/// was missing: then the events of pairs name an entity that is dead.
pub(in crate::ops) fn leave_all(world: &mut DeferredWorld<'_>, entity: Entity) {
    let Some(store) = fetch::deferred_store(world) else { return };
    let has_role = store.participants().has_role(entity);
    if has_role {
        store.participants_mut().lose_observer(entity);
    }
    let relation = if has_role { relation_of(store, entity) } else { None };
    let is_type = has_role && store.participants().is_type(entity);
    let mut departure = if has_hidden_dependents(store, entity) {
        let dependents = dependents_of_relations(world, entity);
        let Some(store) = fetch::deferred_store(world) else { return };
        leave(store, entity, dependents)
    } else {
        leave(store, entity, Vec::new())
    };
    if is_type {
        departure.refusals.extend(leave_as_type(world, entity));
    }
    if departure.is_done() {
        remove_record(world, entity);
    } else {
        finish(departure, world, entity, true);
    }
    if let Some(relation) = relation {
        // A type gets another entity at once; a run-time relation is unregistered by now.
        world.commands().queue(move |world: &mut World| respawn(world, relation));
    }
}

/// A target of one adopted relation is being despawned by Bevy. Runs before Bevy queues its own commands for the
/// sources, which would go down one stack frame per level.
pub(in crate::ops) fn on_target_despawn(world: &mut DeferredWorld, relation: RelationId, entity: Entity) {
    let Some(store) = fetch::deferred_store(world) else { return };
    let dependents = if has_hidden_dependents(store, entity) {
        dependents_of_relations(world, entity)
    } else {
        Vec::new()
    };
    let Some(store) = fetch::deferred_store(world) else { return };
    let mut departure = Departure { dependents, ..Departure::default() };
    leave_as_target(store, relation, entity, &mut departure);
    finish(departure, world, entity, false);
}

/// The source of a pair is being despawned by Bevy, and its target goes with it.
pub(in crate::ops) fn on_source_despawn(world: &mut DeferredWorld, target: Entity) {
    add_to_cascade(world, alloc::vec![target]);
}

/// [`on_target_despawn`] while there is no index of children.
pub(in crate::ops) fn on_parent_despawn(world: &mut DeferredWorld, parent: Entity) {
    let children = Hierarchy(world).children(parent).to_vec();
    if !children.is_empty() {
        add_to_cascade(world, children);
    }
}

/// The entity of a type is being despawned: what that means for a component. Returns what is to be reported.
#[cold]
fn leave_as_type(world: &mut DeferredWorld<'_>, entity: Entity) -> Option<DespawnError> {
    let policy = relation_policy(fetch::store(world)?, entity);
    component::leave_as_component(world, entity, policy)
}

/// Whether what is despawned with `entity` must be known before its pairs are removed. With a relation go all its
/// pairs, also those along which others depend on its own dependents; and a pair of any entity may be the one for which
/// a relation among its dependents takes its source along.
#[inline]
fn has_hidden_dependents(store: &PairStore, entity: Entity) -> bool {
    store.registry().has_despawning_relations() || relation_of(store, entity).is_some()
}

/// Everything that is despawned with `entity`, leaves first.
#[cold]
fn dependents_of_relations(world: &mut DeferredWorld<'_>, entity: Entity) -> Vec<Entity> {
    let mut dependents = dependents::collect(world, alloc::vec![entity]);
    dependents.retain(|&dependent| dependent != entity);
    dependents
}

/// Removes the record of an entity that has left all its pairs.
#[inline]
fn remove_record(world: &mut DeferredWorld<'_>, entity: Entity) {
    let Some(store) = fetch::deferred_store(world) else { return };
    if store.participants().has_role(entity) {
        remove_roles(world, entity);
    } else {
        store.participants_mut().remove(entity);
    }
}

/// [`remove_record`] for an entity that means something to the store beside its pairs.
#[cold]
fn remove_roles(world: &mut DeferredWorld<'_>, entity: Entity) {
    let Some(store) = fetch::deferred_store(world) else { return };
    let relation = relation_of(store, entity);
    if let Some(relation) = relation
        && store.registry().entry(relation).type_id.is_none()
    {
        store.registry_mut().remove(relation);
    }
    if store.participants().is_type(entity) {
        store.registry_mut().remove_type(entity);
    }
    store.participants_mut().remove(entity);
    if let Some(relation) = relation {
        // It is declined until it has an entity again.
        store.refresh_fast_path(relation);
    }
}

/// Adds entities to those that are to be despawned, and queues the command for it, unless there is one.
fn add_to_cascade(world: &mut DeferredWorld<'_>, dependents: Vec<Entity>) {
    match world.get_resource_mut::<Cascade>() {
        Some(mut cascade) => {
            cascade.pending.extend(dependents);
            if cascade.is_due() {
                world.commands().queue(|world: &mut World| Drain::new(world).run(Vec::new()));
            }
        }
        // Every resource is an entity, which a user may despawn.
        None => world.commands().queue(move |world: &mut World| {
            world.get_resource_or_init::<Cascade>().pending.extend(dependents);
            Drain::new(world).run(Vec::new());
        }),
    }
}

/// Despawns the dependents whose command was lost.
pub(super) fn resume(world: &mut World) {
    if let Some(store) = fetch::store_mut(world) {
        store.release_all_orphans();
    }
    if world.get_resource::<Cascade>().is_some_and(Cascade::is_due) {
        Drain::new(world).run(Vec::new());
    }
    despawn_orphans(world);
}

/// Despawns targets that have lost their last source. While others are being despawned, that is done at the end.
pub(super) fn despawn_orphans(world: &mut World) {
    if fetch::store(world).is_some_and(PairStore::has_orphans) && !Cascade::is_running(world) {
        Drain::new(world).run(Vec::new());
    }
}

/// What goes next because it has lost its last source, dependents first. Returns also whether a policy keeps some,
/// which a queued command reports.
#[cold]
fn next_orphans(world: &mut World) -> (Vec<Entity>, bool) {
    let store = fetch::store_mut(world).filter(|store| store.has_orphans());
    let Some(store) = store else { return (Vec::new(), false) };
    let mut orphans = store.take_orphans();
    orphans.retain(|&orphan| world.entities().contains_spawned(orphan));
    for &orphan in &orphans {
        // Its record may have gone with its last pair. Only what is known can be collected.
        participant::end_former_pairs(&mut DeferredWorld::from(&mut *world), orphan);
        if let Some(store) = fetch::store_mut(world) {
            store.participants_mut().note(orphan);
        }
    }
    orphans.retain(|&orphan| world.entities().contains_spawned(orphan));
    let plan = |world: &mut World, orphans: Vec<Entity>| {
        let order = dependents::collect(&mut DeferredWorld::from(&mut *world), orphans);
        DespawnPlan { order, direct: 0 }
    };
    let all = plan(world, orphans.clone());
    if orphans.first().is_none_or(|&first| refuse(world, first, &all).is_ok()) {
        return (all.order, false);
    }
    orphans.retain(|&orphan| {
        let own = plan(world, alloc::vec![orphan]);
        let refused = refuse(world, orphan, &own);
        let is_free = refused.is_ok();
        if let Err(error) = refused {
            let error = to_bevy(error.named(world));
            report(world.commands(), error);
        }
        is_free
    });
    (plan(world, orphans).order, true)
}

/// Drains the list of dependents. Lets go of the list when dropped, also by a panic in a user's observer.
struct Drain<'w>(&'w mut World);

impl<'w> Drain<'w> {
    fn new(world: &'w mut World) -> Self {
        set_running(world, true);
        Self(world)
    }

    /// Despawns `first` and then what is on the list. A panic in a user's observer comes out at the end.
    fn run(self, first: Vec<Entity>) {
        let mut rest = Completion::default();
        let mut order = first;
        loop {
            for entity in order {
                // An observer may have despawned it.
                rest.run(|| _ = self.0.try_despawn(entity));
            }
            let cascade = self.0.get_resource_mut::<Cascade>();
            let pending =
                cascade.map(|mut cascade| core::mem::take(&mut cascade.pending)).unwrap_or_default();
            if pending.is_empty() {
                let is_reported;
                (order, is_reported) = next_orphans(self.0);
                if is_reported {
                    rest.run(|| self.0.flush());
                } else if order.is_empty() {
                    set_running(self.0, false);
                    break;
                }
            } else {
                order = dependents::collect(&mut DeferredWorld::from(&mut *self.0), pending);
            }
        }
        rest.run(|| remove::drop_removed(self.0));
        rest.finish();
    }
}

impl Drop for Drain<'_> {
    fn drop(&mut self) {
        set_running(self.0, false);
    }
}

/// Notes whether the cascade is being drained. Values that are removed meanwhile are dropped at the end.
fn set_running(world: &mut World, running: bool) {
    if let Some(mut cascade) = world.get_resource_mut::<Cascade>() {
        cascade.running = running;
    }
    if let Some(store) = fetch::store_mut(world) {
        store.keep_removed_values(running);
    }
}

/// Despawns `entity` and everything that goes with it, dependents first.
pub(crate) fn despawn_with_dependents(world: &mut World, entity: Entity) -> Result<(), DespawnError> {
    index_children_for(world, PairId::with_relation(entity));
    if !world.entities().contains_spawned(entity) {
        return Err(DespawnError::Dead { entity: EntityName::unnamed(entity) });
    }
    despawn_all(world, alloc::vec![entity])
}

/// What [`despawn_with_dependents`] would despawn, in its order.
pub(crate) fn would_despawn(world: &mut World, entity: Entity) -> Result<Vec<Entity>, DespawnError> {
    if !world.entities().contains_spawned(entity) {
        return Err(DespawnError::Dead { entity: EntityName::unnamed(entity) });
    }
    // `ChildOf` takes part in every world.
    ensure_store(world);
    index_children_for(world, PairId::with_relation(entity));
    let DespawnPlan { mut order, direct } = plan_despawn(world, &[entity])?;
    // One that takes part in nothing is unknown here.
    if order[..direct].last() != Some(&entity) {
        order.insert(direct, entity);
    }
    Ok(order)
}

/// Despawns entities and everything that goes with them, dependents first.
fn despawn_all(world: &mut World, roots: Vec<Entity>) -> Result<(), DespawnError> {
    let DespawnPlan { mut order, direct } = plan_despawn(world, &roots)?;
    // Targets that lose their last source go when they have lost it: an observer may give them another.
    order.truncate(direct);
    // They take part in nothing, or an observer has brought them back into pairs.
    order.extend(roots);
    Drain::new(world).run(order);
    Ok(())
}

/// Entities that are known here and everything that goes with them, dependents first, if no policy stands in the way.
fn plan_despawn(world: &mut World, roots: &[Entity]) -> Result<DespawnPlan, DespawnError> {
    let Some(&first) = roots.first() else { return Ok(DespawnPlan::default()) };
    let plan = dependents::plan(&mut DeferredWorld::from(&mut *world), roots.to_vec());
    if let Err(error) = refuse(world, first, &plan) {
        // The error names the one that cannot go.
        let own = roots.iter().find_map(|&root| {
            let plan = dependents::plan(&mut DeferredWorld::from(&mut *world), alloc::vec![root]);
            refuse(world, root, &plan).err()
        });
        return Err(own.unwrap_or(error).named(world));
    }
    Ok(plan)
}

/// Whether a policy stands in the way of a despawn.
fn refuse(world: &World, entity: Entity, plan: &DespawnPlan) -> Result<(), DespawnError> {
    let Some(store) = fetch::store(world) else { return Ok(()) };
    let gone = plan.gone();
    for (at, &used) in plan.order.iter().enumerate() {
        if !store.may_refuse(used) {
            continue;
        }
        if store.has_tags(used)
            && relation_policy(store, used) == CleanupPolicy::Refuse
            && let Some(error) = in_use_as_tag(store, used, entity)
        {
            return Err(error);
        }
        for relation in store.participants().relations(used) {
            if store.relation(relation).is_target(used)
                && store.relation(relation).target_policy() == CleanupPolicy::Refuse
                && !(at >= plan.direct && loses_all_sources(store, relation, used, &gone))
                && let Some(error) = in_use_as_target(store, relation, used, entity)
            {
                return Err(error);
            }
        }
        if let Some(relation) = relation_of(store, used)
            && relation_policy(store, used) == CleanupPolicy::Refuse
            && let Some(error) = in_use_as_relation(store, relation, entity)
        {
            return Err(error);
        }
        if store.participants().is_type(used)
            && relation_policy(store, used) == CleanupPolicy::Refuse
            && let Some(error) = component::in_use(world, store, used, entity)
        {
            return Err(error);
        }
    }
    Ok(())
}

/// Whether `target` is in use no longer by the time it goes: it has lost the sources that the relation counts.
fn loses_all_sources(store: &PairStore, relation: RelationId, target: Entity, gone: &EntityHashSet) -> bool {
    let index = store.relation(relation);
    index.counts_sources() && index.sources(target).all(|source| gone.contains(&source))
}

/// Removes every pair, values and all; relations may be declared anew then. No target is despawned for it.
pub(crate) fn clear_pairs(world: &mut World) {
    index_children(world);
    let Some(store) = fetch::store(world) else { return };
    let all = remove::select(store, None, PairId::ALL);
    let mut rest = Completion::default();
    let mut operation = Operation::begin(world);
    rest.run(|| _ = remove::remove_selected(operation.world(), all, Removal::REMOVED));
    if let Some(store) = fetch::store_mut(operation.world()) {
        store.clear_orphans();
    }
    operation.finish();
    rest.finish();
    let Some(store) = fetch::store_mut(world) else { return };
    let ids: Vec<_> = store.registry().ids().collect();
    for id in ids {
        // Observers may have inserted pairs again.
        let is_used = store.relation(id).len() > 0;
        let entry = store.registry_mut().entry_mut(id);
        entry.frozen = is_used || entry.adopted.is_some();
        store.refresh_fast_path(id);
    }
    let columns: Vec<_> = store.registry().columns().collect();
    columns.into_iter().for_each(|column| column.init(world));
}

/// Despawns every source of a pair, with its dependents. Returns how many there were.
///
/// # Errors
/// If a policy `Refuse` stands in the way of one of them; then nothing has changed.
pub(crate) fn despawn_sources(world: &mut World, pair: PairId) -> Result<usize, DespawnError> {
    index_children_for(world, pair);
    let Some(store) = fetch::store(world) else { return Ok(0) };
    let selection = remove::select(store, None, pair);
    let mut met = EntityHashSet::default();
    let sources: Vec<Entity> = selection.sources().filter(|&source| met.insert(source)).collect();
    let count = sources.len();
    despawn_all(world, sources)?;
    Ok(count)
}
