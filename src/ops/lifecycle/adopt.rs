//! Bevy's own relationships as relations.
//!
//! The component stays what it is, on the source, and the pair store mirrors it: observers of the component
//! follow every way in which Bevy writes it (spawning, batches, `children!`, re-parenting). Inserting or
//! removing such a pair through this crate writes the component. Whatever API is used, both show the same.

use super::cleanup;
use crate::{
    fetch::{self, AllEntities},
    id::{RelationId, StoredPair},
    ops::{
        mutate::{
            ends::{EndCheck, broken_constraints},
            error::{InsertPairError, PairRole, attempted},
            event::{self, ObserveChange, ObserveEntity, PairChange, PairEvent, Removal},
            insert,
            plan::check_rules,
            remove,
            writer::{FastPath, PairWriter, arranged},
        },
        register::{
            cascade::Cascade,
            entity::{InternalEntity, entity_of_type},
            keys::RemovalCause,
            participant,
            relation::{RelationType, add_type_relation, check_values},
            report::{report, to_bevy},
            store::ensure_store,
            traits::apply_traits,
            upkeep::{await_target, despawn_after},
            watch,
        },
    },
    relation::{
        Adopted, CHILD_OF, CleanupPolicy, ExclusiveRelation, Relation, RelationHint, RelationInfo,
        RelationTraits, TraitConflict, TraitsError, TraversableRelation, Value,
    },
    store::{ChildIndex, PairData, PairStore, type_ref, unpack},
    traverse::is_child_of,
};
use alloc::{vec, vec::Vec};
use bevy_ecs::{
    entity::{Entity, EntityHashSet},
    error::BevyError,
    event::EntityComponentsTrigger,
    lifecycle::{DespawnEvent, DiscardEvent, Insert, InsertEvent},
    observer::{Observer, On},
    query::{QueryData, With},
    relationship::{Relationship, RelationshipTarget},
    world::{DeferredWorld, World},
};
use bevy_platform::sync::Weak;
use core::marker::PhantomData;

#[diagnostic::do_not_recommend]
impl<C: Relationship> Relation for C {
    type Component = Option<&'static C>;

    fn traits() -> RelationTraits {
        let traits = RelationTraits::new().exclusive();
        let traits = if is_child_of::<C>() { traits.ordered() } else { traits };
        if C::ALLOW_SELF_REFERENTIAL { traits } else { traits.traversable() }
    }

    fn info() -> RelationInfo<Self> {
        // One guess for all of them: it is checked, and most worlds have only `ChildOf`.
        static HINT: RelationHint = RelationHint::new();
        RelationInfo { hint: &HINT, default: None, clone: None, eq: None, checks: false }
    }

    fn register(world: &mut World) -> Result<Entity, TraitsError> {
        // It may have been adopted with more traits.
        match fetch::store(world).and_then(|store| store.registry().of_type::<C>()) {
            Some(_) => Ok(entity_of_type(world, type_ref::<C>())),
            None => adopt::<C>(world, C::traits()),
        }
    }

    fn value_in<'a>(component: <Self::Component as QueryData>::Item<'a, '_>) -> Option<&'a Self> {
        component
    }
}

#[diagnostic::do_not_recommend]
impl<C: Relationship> ExclusiveRelation for C {}

#[diagnostic::do_not_recommend]
impl<C: Relationship> TraversableRelation for C {}

/// Makes `C` a relation with these traits beside those that it has as a Bevy relationship: exclusive, and
/// with the cleanup that `linked_spawn` stands for.
///
/// # Errors
/// If the traits contradict those, or if `C` takes part already and has other traits.
pub(crate) fn adopt<C: Relationship>(
    world: &mut World,
    traits: RelationTraits,
) -> Result<Entity, TraitsError> {
    let mut all = RelationTraits::new().exclusive().on_target_despawn(policy::<C>());
    // Here, as the spawn of the entity runs users' code.
    let relation = RelationType::new::<C>(type_ref::<C>());
    entity_of_type(world, relation.type_ref);
    let store = ensure_store(world);
    if let Some(id) = store.registry().of_type::<C>() {
        let is_valid = all.merge(traits).is_ok();
        return adopt_again(world, id, all, is_valid);
    }
    let conflict = if traits.is_symmetric() {
        Some(TraitConflict { first: "symmetric", second: "exclusive" })
    } else if traits.is_tag() && has_fields::<C>() {
        Some(TraitConflict { first: "tag", second: "data" })
    } else {
        None
    };
    // Its own values lie in components.
    check_values(store, relation.type_ref.id, None)?;
    let adopted = adopted::<C>(world);
    let added = add_type_relation(world, relation);
    let id = added.id;
    let entry = ensure_store(world).registry_mut().entry_mut(id);
    entry.data = None;
    entry.adopted = Some(adopted);
    let entity = added.finish(world, |world, id| {
        let relation = ensure_store(world).registry().entry(id).name();
        if let Some(conflict) = conflict {
            return Err(TraitsError::Conflict { relation, conflict });
        }
        apply_traits(world, id, all)?;
        apply_traits(world, id, traits)
    })?;
    ensure_store(world).freeze(id);
    if is_child_of::<C>() {
        watch::install_until_import(world, mirror::<C>);
    } else {
        watch::install(world, mirror::<C>);
    }
    Ok(entity)
}

/// Whether a relationship says more than its target.
fn has_fields<C: Relationship>() -> bool {
    size_of::<C>() > size_of::<Entity>()
}

/// What keeps the pairs of `C`.
fn adopted<C: Relationship>(world: &mut World) -> Adopted {
    Adopted {
        insert: insert_component::<C>,
        remove: |world, source| {
            if let Ok(mut source) = world.get_entity_mut(source) {
                source.remove::<C>();
            }
        },
        get: |world, source| {
            let component: &C = world.get(source)?;
            Some(component)
        },
        target: |world, source| world.get::<C>(source).map(Relationship::get),
        is_collected: |world, source, target| {
            world
                .get::<C::RelationshipTarget>(target)
                .is_some_and(|sources| sources.iter().any(|s| s == source))
        },
        arrange: arrange_collection::<C>,
        component: world.register_component::<C>(),
        column: PairData::<C>::COLUMN,
        has_fields: has_fields::<C>(),
        allow_self: C::ALLOW_SELF_REFERENTIAL,
        sync: Inserted::<C>::run,
    }
}

/// [`adopt`] of a relation that takes part already, with all its traits, of which some may contradict each other.
fn adopt_again(
    world: &mut World,
    id: RelationId,
    traits: RelationTraits,
    is_valid: bool,
) -> Result<Entity, TraitsError> {
    let store = ensure_store(world);
    let entry = store.registry().entry(id);
    if is_valid && traits == entry.traits {
        return Ok(entry.entity);
    }
    let mut sum = entry.traits.clone();
    let is_more = is_valid && sum.merge(traits.clone()).is_ok() && sum == traits;
    // It takes part from the beginning, so that it can get more traits as long as there are no pairs.
    if id == CHILD_OF && is_more && store.relation(id).len() == 0 {
        return add_traits(world, id, traits);
    }
    Err(TraitsError::Frozen { relation: entry.name() })
}

/// Gives more traits to a relation that is used already and has no pairs.
fn add_traits(world: &mut World, id: RelationId, traits: RelationTraits) -> Result<Entity, TraitsError> {
    ensure_store(world).registry_mut().entry_mut(id).frozen = false;
    let applied = apply_traits(world, id, traits);
    let store = ensure_store(world);
    store.freeze(id);
    applied.map(|()| store.registry().entry(id).entity)
}

fn policy<C: Relationship>() -> CleanupPolicy {
    if C::RelationshipTarget::LINKED_SPAWN { CleanupPolicy::Despawn } else { CleanupPolicy::Remove }
}

/// The component was inserted, or changed.
struct Inserted<C>(PhantomData<C>);
/// The component goes, or is about to be replaced.
struct Discarded<C>(PhantomData<C>);
/// A target, with all of its sources, is being despawned.
struct TargetDespawned<C>(PhantomData<C>);

/// Whether a store does not follow the component.
fn lacks_pairs<C: Relationship>(store: &PairStore) -> bool {
    is_child_of::<C>() && store.lacks_children()
}

/// Follows the component wherever it is written, and makes the pairs those that the components say.
fn mirror<C: Relationship>(world: &mut World) -> Vec<Entity> {
    let mut observers =
        vec![event::observe_entity::<DespawnEvent, C::RelationshipTarget, TargetDespawned<C>>(world)];
    if fetch::store(world).is_some_and(lacks_pairs::<C>) {
        return observers;
    }
    observers.extend([
        event::observe_entity::<InsertEvent, C, Inserted<C>>(world),
        event::observe_change::<DiscardEvent, C, Discarded<C>>(world),
    ]);
    world.flush();
    // That runs users' code: the store may be another.
    let Some(store) = fetch::store(world).filter(|store| !lacks_pairs::<C>(store)) else { return observers };
    let Some(relation) = store.registry().of_type::<C>() else { return observers };
    let is_import = is_child_of::<C>() && store.child_index() == ChildIndex::Importing;
    let pairs = store.relation(relation).iter();
    let stale: Vec<StoredPair> = pairs
        .filter(|&(source, target)| world.get::<C>(source).map(Relationship::get) != Some(target))
        .map(|(source, target)| StoredPair { source, relation, target })
        .collect();
    let sources = sources_in_order::<C>(world);
    let mut deferred = DeferredWorld::from(&mut *world);
    for pair in stale {
        let cause = cause_of_stale::<C>(&deferred, pair);
        remove::remove(&mut deferred, &[pair], Removal::Because(cause));
    }
    for source in sources {
        import::<C>(&mut deferred, source, !is_import);
    }
    world.flush();
    observers
}

/// Why a pair goes that its component has not said for some time, which was not noticed.
fn cause_of_stale<C: Relationship>(world: &World, pair: StoredPair) -> RemovalCause {
    match world.get_entity(pair.source) {
        Err(_) => RemovalCause::SourceDespawned,
        Ok(source) if source.contains::<C>() => RemovalCause::Replaced,
        Ok(_) => removed_or_despawned(world, pair.target),
    }
}

/// Why a component was removed that pointed to `target`: Bevy removes it when that is despawned.
fn removed_or_despawned(world: &World, target: Entity) -> RemovalCause {
    if world.entities().contains_spawned(target) {
        RemovalCause::Removed
    } else {
        RemovalCause::TargetDespawned
    }
}

/// The entities with the component, in the order of Bevy's collections; last those that are in none, because hooks
/// were skipped.
fn sources_in_order<C: Relationship>(world: &mut World) -> Vec<Entity> {
    let mut targets = world.query_filtered::<&C::RelationshipTarget, AllEntities>();
    let mut sources: Vec<Entity> =
        targets.iter(world).flat_map(|target| target.iter().collect::<Vec<_>>()).collect();
    let collected: EntityHashSet = sources.iter().copied().collect();
    let mut all = world.query_filtered::<Entity, (With<C>, AllEntities)>();
    sources.extend(all.iter(world).filter(|source| !collected.contains(source)));
    sources
}

/// The pair that the component of `source` stands for, in the store.
fn pair_of<'a, C: Relationship>(
    world: &'a mut DeferredWorld<'_>,
    source: Entity,
) -> Option<(StoredPair, &'a mut PairStore)> {
    let target = world.get::<C>(source)?.get();
    // Bevy itself removes these in the same flush, with a warning.
    if !world.entities().contains_spawned(target) || (source == target && !C::ALLOW_SELF_REFERENTIAL) {
        return None;
    }
    let store = fetch::deferred_store(world)?;
    let relation = store.registry().of_type::<C>()?;
    Some((StoredPair { source, relation, target }, store))
}

impl<C: Relationship> ObserveEntity for Inserted<C> {
    #[inline]
    fn run(world: &mut DeferredWorld<'_>, source: Entity) {
        import::<C>(world, source, true);
    }
}

/// Makes a pair of a component. Its observers are not triggered if it was there before it was noticed.
#[inline]
fn import<C: Relationship>(world: &mut DeferredWorld<'_>, source: Entity, is_new: bool) {
    if is_child_of::<C>() && fetch::store(world).is_some_and(PairStore::lacks_children) {
        // The observers of a store that is gone are still there.
        return;
    }
    let tick = world.change_tick();
    let Some((pair, store)) = pair_of::<C>(world, source) else {
        return refuse_invalid::<C>(world, source);
    };
    let StoredPair { relation, target, .. } = pair;
    if [source, target].iter().any(|&end| store.participants().stripped_before(end).is_some()) {
        participant::end_former_pairs(world, source);
        participant::end_former_pairs(world, target);
        return import::<C>(world, source, is_new);
    }
    store.participants_mut().note_relation(source, relation);
    store.participants_mut().note_relation(target, relation);
    let is_first = !store.relation(relation).is_target(target);
    if PairWriter::new(store).try_mirror(pair, tick) != FastPath::Done {
        import_by_rules::<C>(world, pair, is_new);
    }
    if is_first {
        notice_despawn::<C>(world, target);
    }
}

/// Bevy writes the collection of a target by a command. A command before that may despawn the target, which nothing
/// announces if it has neither collection nor marker: watches it once Bevy is done.
#[inline]
fn notice_despawn<C: Relationship>(world: &mut DeferredWorld<'_>, target: Entity) {
    if fetch::store(world).is_some_and(|store| !store.participants().is_marked(target)) {
        world.commands().queue(move |world: &mut World| watch_target::<C>(world, target));
    }
}

/// Ends the pairs of a target that was despawned, marks one whose despawn its collection would not announce.
fn watch_target<C: Relationship>(world: &mut World, target: Entity) {
    if world.get::<C::RelationshipTarget>(target).is_some_and(|sources| !sources.is_empty()) {
        return;
    }
    let Some(store) = fetch::store(world) else { return };
    let Some(relation) = store.registry().of_type::<C>() else { return };
    if !store.relation(relation).is_target(target) {
        return;
    }
    if world.entities().contains_spawned(target) {
        participant::mark(world, target);
    } else {
        cleanup::on_target_despawn(&mut DeferredWorld::from(world), relation, target);
    }
}

/// Bevy removes a component that points to its own entity or to a dead one, unless its hooks are skipped. One that was
/// not spawned yet may be by now.
fn refuse_invalid<C: Relationship>(world: &mut DeferredWorld<'_>, source: Entity) {
    let Some(target) = world.get::<C>(source).map(Relationship::get) else { return };
    world.commands().queue(move |world: &mut World| match world.get::<C>(source) {
        Some(component) if component.get() == target => resolve_invalid::<C>(world, source, target),
        _ => Ok(()),
    });
}

/// Makes a pair of a component whose target has been spawned by now, or removes one whose target never will be.
fn resolve_invalid<C: Relationship>(
    world: &mut World,
    source: Entity,
    target: Entity,
) -> Result<(), BevyError> {
    if source != target && world.entities().contains(target) {
        if !world.entities().contains_spawned(target) {
            // It was to be spawned; or it will be, as the clone of an entity that comes later. Or it never will be, if it is
            // what a scene names an entity that it does not have: that is known once the scene is complete.
            await_target(world, source, retry_invalid::<C>);
        } else if fetch::store(world).is_some_and(|store| store.registry().of_type::<C>().is_some()) {
            Inserted::<C>::run(&mut DeferredWorld::from(world), source);
        }
        // Without a store there are no pairs: it imports the components when it is made.
        return Ok(());
    }
    remove_refused::<C>(world, source, target);
    let Some(store) = fetch::store(world) else { return Ok(()) };
    let Some(relation) = store.registry().of_type::<C>() else { return Ok(()) };
    let pair = attempted(world, store, StoredPair { source, relation, target });
    Err(to_bevy(if source == target {
        InsertPairError::SelfReference { pair }
    } else {
        InsertPairError::Dead { pair, dead: PairRole::Target }
    }))
}

/// [`resolve_invalid`] for what the component says by now.
fn retry_invalid<C: Relationship>(world: &mut World, source: Entity) {
    if let Some(target) = world.get::<C>(source).map(Relationship::get)
        && let Err(error) = resolve_invalid::<C>(world, source, target)
    {
        report(world.commands(), error);
        world.flush();
    }
}

/// [`import`] if there are rules to check or events to trigger.
fn import_by_rules<C: Relationship>(world: &mut DeferredWorld<'_>, pair: StoredPair, is_new: bool) {
    let StoredPair { source, relation, target } = pair;
    let Some(store) = fetch::store(world) else { return };
    match store.relation(relation).first_target(source) {
        Some(old) if old == target => return replaced(world, pair),
        // Hooks and observers of the old component were skipped.
        Some(old) => {
            remove::remove(world, &[StoredPair { target: old, ..pair }], Removal::REPLACED);
        }
        None => {}
    }
    // The plan has them otherwise, unless they are not to be inserted.
    let has_companions = fetch::store(world).is_some_and(|store| !store.is_planned(pair));
    if let Err(error) = check_rules(world, pair, has_companions) {
        world.commands().queue(move |world: &mut World| refuse::<C>(world, source, target, error));
        return;
    }
    let tick = world.change_tick();
    // Bevy does not distinguish a command from a bundle or a method: what comes next may insert what is missing.
    let is_broken = fetch::store(world)
        .is_some_and(|store| broken_constraints(world, store, pair, EndCheck::Now).next().is_some());
    let Some(store) = fetch::deferred_store(world) else { return };
    store.set_writing(None);
    PairWriter::new(store).insert(pair, None, tick);
    if is_broken {
        store.note_unchecked(pair, None);
    }
    let with = store.registry().entry(relation).with.iter().filter(|_| has_companions);
    let companions: Vec<Entity> = with.map(|&with| store.registry().entry(with).entity).collect();
    if is_new && event::is_observed(world, PairEvent::Inserted, pair) {
        event::trigger(world, PairChange::Inserted { replaced: false }, pair);
    }
    for companion in companions {
        world.commands().queue(move |world: &mut World| -> Result<(), BevyError> {
            let pair = insert::resolve_pair(world, source, (companion, target).into()).map_err(to_bevy)?;
            insert::insert(world, pair, None, EndCheck::Later(None))
                .or_else(|error| refuse::<C>(world, source, target, error))
        });
    }
}

/// Removes the component of a pair that is refused, unless it says something else by now.
fn refuse<C: Relationship>(
    world: &mut World,
    source: Entity,
    target: Entity,
    error: InsertPairError,
) -> Result<(), BevyError> {
    if world.get::<C>(source).is_some_and(|component| component.get() == target) {
        remove_refused::<C>(world, source, target);
    }
    Err(to_bevy(error))
}

/// Removes the component of a pair that is refused. If Bevy is about to write the list of the target's sources, as `replace_related`
/// does after the components, the source is taken out of that list, too.
fn remove_refused<C: Relationship>(world: &mut World, source: Entity, target: Entity) {
    let is_listed = world
        .get::<C::RelationshipTarget>(target)
        .is_some_and(|sources| sources.iter().any(|listed| listed == source));
    world.entity_mut(source).remove::<C>();
    if !is_listed && world.entities().contains_spawned(target) {
        // At once: a command of another observer may despawn the target, and with it all in the list.
        let written = |on: On<Insert<C::RelationshipTarget>>, mut world: DeferredWorld| {
            world.commands().entity(on.observer()).try_despawn();
            remove_misplaced::<C>(&mut world, on.entity);
        };
        let observer = world.spawn((Observer::new(written).with_entity(target), InternalEntity)).id();
        // If there is no such list, it goes at the next maintenance.
        despawn_after(world, Weak::new(), vec![observer]);
    }
}

/// Removes the entities from the list of a target's sources that are not sources of it by their components.
fn remove_misplaced<C: Relationship>(world: &mut DeferredWorld<'_>, target: Entity) {
    // Elsewhere its methods would be taken for those of slices.
    use bevy_ecs::relationship::RelationshipSourceCollection;

    let Some(sources) = world.get::<C::RelationshipTarget>(target) else { return };
    let is_source = |source| world.get::<C>(source).is_some_and(|component| component.get() == target);
    let misplaced: Vec<Entity> = sources.iter().filter(|&source| !is_source(source)).collect();
    if misplaced.is_empty() {
        return;
    }
    let Some(mut sources) = world.get_mut::<C::RelationshipTarget>(target) else { return };
    let collection = sources.collection_mut_risky();
    for source in misplaced {
        collection.remove(source);
    }
    if collection.is_empty() {
        world.commands().entity(target).try_remove::<C::RelationshipTarget>();
    }
}

/// The component has another value for the same target.
fn replaced(world: &mut DeferredWorld<'_>, pair: StoredPair) {
    let tick = world.change_tick();
    let Some(store) = fetch::deferred_store(world) else { return };
    if store.is_replacing(pair.source) {
        store.set_writing(None);
        PairWriter::new(store).replace(pair, None, tick);
        if event::is_observed(world, PairEvent::Inserted, pair) {
            event::trigger(world, PairChange::Inserted { replaced: true }, pair);
        }
    }
}

impl<C: Relationship> ObserveChange for Discarded<C> {
    fn run(world: &mut DeferredWorld<'_>, source: Entity, change: &EntityComponentsTrigger<'_>) {
        // The target may be dead by now.
        let Some(target) = world.get::<C>(source).map(Relationship::get) else { return };
        let Some(store) = fetch::deferred_store(world) else { return };
        let Some(relation) = store.registry().of_type::<C>().filter(|_| !store.is_replacing(source)) else {
            return;
        };
        let pair = StoredPair { source, relation, target };
        if PairWriter::new(store).try_unlink(pair) != FastPath::Done
            && store.relation(relation).has(source, target)
        {
            let despawns_target =
                change.new_archetype.is_none() && store.relation(relation).despawns_targets();
            let kept = change.new_archetype.zip(world.component_id::<C>()).map(|(new, id)| new.contains(id));
            let cause = match kept {
                Some(true) => RemovalCause::Replaced,
                None => RemovalCause::SourceDespawned,
                Some(false) => removed_or_despawned(world, target),
            };
            remove::remove(world, &[pair], Removal::Because(cause));
            // A source without the marker is not announced otherwise.
            if despawns_target {
                cleanup::on_source_despawn(world, target);
            }
        }
        let Some(store) = fetch::store(world) else { return };
        let is_target = store.relation(relation).is_target(target);
        // The others may be new, and the collection goes with this one.
        if is_target
            && world.get::<C::RelationshipTarget>(target).is_none_or(|sources| sources.len() < 2)
            && !Cascade::is_running(world)
        {
            notice_despawn::<C>(world, target);
        }
    }
}

impl<C: Relationship> ObserveEntity for TargetDespawned<C> {
    fn run(world: &mut DeferredWorld<'_>, target: Entity) {
        let Some(store) = fetch::store(world) else { return };
        if lacks_pairs::<C>(store) {
            cleanup::on_parent_despawn(world, target);
        } else if let Some(relation) = store.registry().of_type::<C>() {
            cleanup::on_target_despawn(world, relation, target);
        }
    }
}

fn arrange_collection<C: Relationship>(world: &mut World, target: Entity, order: &[Entity]) {
    // Elsewhere its methods would be taken for those of slices.
    use bevy_ecs::relationship::RelationshipSourceCollection;

    let Some(sources) = world.get::<C::RelationshipTarget>(target) else { return };
    let Some(arranged) = arranged(sources.iter(), order) else { return };
    if let Some(mut sources) = world.get_mut::<C::RelationshipTarget>(target) {
        let sources = sources.collection_mut_risky();
        sources.clear();
        sources.extend_from_iter(arranged);
    }
}

/// Writes the component: the given one, pointed at the target, or the present one, whose other fields stay.
fn insert_component<C: Relationship>(
    world: &mut World,
    source: Entity,
    target: Entity,
    value: Option<Value<'_>>,
) {
    let Ok(mut source) = world.get_entity_mut(source) else { return };
    if let Some(mut component) = value.and_then(unpack::<C>) {
        component.set_risky(target);
        source.insert(component);
    } else if source.contains::<C>() {
        source.modify_component::<C, ()>(|component| component.set_risky(target));
    } else {
        source.insert(C::from(target));
    }
}
