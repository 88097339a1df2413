//! What goes along with entities that are despawned, before any of it is.

use super::component;
use crate::{fetch, id::RelationId, relation::CleanupPolicy, store::PairStore, traverse::Hierarchy};
use alloc::vec::Vec;
use bevy_ecs::{
    entity::{Entity, EntityHashMap, EntityHashSet},
    world::{DeferredWorld, World},
};
use bevy_platform::collections::HashMap;

/// Of type entities that are met while a cascade is collected: the entities with the component, which go with it.
type ComponentHolders = EntityHashMap<Vec<Entity>>;

/// Entities that are to be despawned, in order.
#[derive(Default)]
pub(super) struct DespawnPlan {
    pub(super) order: Vec<Entity>,
    /// How many of them go at once. The others follow because they lose their last source.
    pub(super) direct: usize,
}

impl DespawnPlan {
    /// All of them, if some lose their last source with others of them.
    pub(super) fn gone(&self) -> EntityHashSet {
        if self.direct < self.order.len() {
            self.order.iter().copied().collect()
        } else {
            EntityHashSet::default()
        }
    }
}

/// `roots` and everything that goes with them; then what loses its last source with those, and what goes with that, and
/// so on.
pub(super) fn plan(world: &mut DeferredWorld<'_>, roots: Vec<Entity>) -> DespawnPlan {
    let mut order = collect(world, roots);
    let direct = order.len();
    if fetch::store(world).is_some_and(|store| store.registry().counts_sources()) {
        add_orphans(world, &mut order);
    }
    DespawnPlan { order, direct }
}

/// Appends what loses its last source with `order`.
///
/// # Complexity
/// `O(pairs)` of what goes.
#[cold]
fn add_orphans(world: &mut DeferredWorld<'_>, order: &mut Vec<Entity>) {
    let mut gone: EntityHashSet = order.iter().copied().collect();
    let mut lost = HashMap::<(RelationId, Entity), usize>::default();
    let mut next = 0;
    while next < order.len() {
        let Some(store) = fetch::store(world) else { return };
        let mut orphans = Vec::new();
        for &entity in &order[next..] {
            for_each_orphan(store, entity, &mut lost, |orphan| orphans.push(orphan));
        }
        next = order.len();
        let mut met = EntityHashSet::default();
        orphans.retain(|&orphan| !gone.contains(&orphan) && met.insert(orphan));
        order.extend(collect_but(world, orphans, |entity| gone.contains(&entity)));
        gone.extend(&order[next..]);
    }
}

/// The targets that have no source left once `entity` is gone, too. `lost` counts the sources that are gone.
fn for_each_orphan(
    store: &PairStore,
    entity: Entity,
    lost: &mut HashMap<(RelationId, Entity), usize>,
    mut f: impl FnMut(Entity),
) {
    if let Some(relation) = relation_of(store, entity).filter(|&id| store.relation(id).counts_sources()) {
        store.relation(relation).targets_with_sources().for_each(|(target, _)| f(target));
    }
    for relation in store.participants().relations(entity) {
        let index = store.relation(relation);
        if !index.counts_sources() {
            continue;
        }
        for target in index.targets(entity) {
            let lost = lost.entry((relation, target)).or_default();
            *lost += 1;
            if *lost == index.source_count(target) {
                f(target);
            }
        }
    }
}

/// `roots` and everything that goes with them: each entity once, dependents before what they depend on where
/// they form no cycle, the last source of a target first.
pub(super) fn collect(world: &mut DeferredWorld<'_>, roots: Vec<Entity>) -> Vec<Entity> {
    collect_but(world, roots, |_| false)
}

/// [`collect`] without entities of which `gone` is true, and what goes with them alone. No root is one.
fn collect_but(
    world: &mut DeferredWorld<'_>,
    roots: Vec<Entity>,
    gone: impl Fn(Entity) -> bool + Copy,
) -> Vec<Entity> {
    let mut holders = ComponentHolders::default();
    let Some(store) = fetch::store(world) else { return Vec::new() };
    if !store.registry().has_despawning_relations() {
        return collect_known(world, &holders, roots, gone);
    }
    loop {
        let order = collect_known(world, &holders, roots.clone(), gone);
        let Some(store) = fetch::store(world) else { return Vec::new() };
        // The store has no list of the entities with a component: that is looked up once for each type that is met.
        let is_new = |entity| {
            store.participants().is_type(entity)
                && !holders.contains_key(&entity)
                && relation_policy(store, entity) == CleanupPolicy::Despawn
        };
        let types: Vec<Entity> = order.iter().copied().filter(|&entity| is_new(entity)).collect();
        if types.is_empty() {
            return order;
        }
        for entity in types {
            holders.insert(entity, component::dependents(world, entity));
        }
    }
}

/// [`collect`], with the holders of components as far as they are known.
fn collect_known(
    world: &mut DeferredWorld<'_>,
    holders: &ComponentHolders,
    roots: Vec<Entity>,
    gone: impl Fn(Entity) -> bool + Copy,
) -> Vec<Entity> {
    let mut order = roots.clone();
    // Level by level is the order in which trees tend to be spawned: turned around, it goes through memory in
    // one direction. It is right as long as no entity depends on two others.
    let is_forest = collect_levels(world, holders, &mut order, gone);
    unvisit(world, &order);
    if is_forest {
        order.reverse();
        return order;
    }
    let order = collect_post_order(world, holders, roots, gone);
    unvisit(world, &order);
    order
}

/// Appends everything that goes with `order`, level by level. False if an entity is met twice.
fn collect_levels(
    world: &mut DeferredWorld<'_>,
    holders: &ComponentHolders,
    order: &mut Vec<Entity>,
    gone: impl Fn(Entity) -> bool,
) -> bool {
    let mut level = 0..order.len();
    while !level.is_empty() {
        if !visit_all(world, &order[level.clone()]) {
            return false;
        }
        let Some(store) = fetch::store(world) else { return false };
        for at in level.clone() {
            for_each_dependent((world, store), holders, order[at], |dependent| {
                if !gone(dependent) {
                    order.push(dependent);
                }
            });
        }
        level = level.end..order.len();
    }
    true
}

/// [`collect_known`] for entities that may depend on several others.
fn collect_post_order(
    world: &mut DeferredWorld<'_>,
    holders: &ComponentHolders,
    roots: Vec<Entity>,
    gone: impl Fn(Entity) -> bool,
) -> Vec<Entity> {
    enum Visit {
        Enter(Entity),
        Leave(Entity),
    }
    let mut order = Vec::with_capacity(roots.len());
    let mut stack: Vec<Visit> = roots.into_iter().map(Visit::Enter).collect();
    while let Some(next) = stack.pop() {
        match next {
            Visit::Enter(entity) => {
                let is_first = visit_all(world, &[entity]);
                if let Some(store) = fetch::store(world).filter(|_| is_first) {
                    stack.push(Visit::Leave(entity));
                    for_each_dependent((world, store), holders, entity, |dependent| {
                        if !gone(dependent) {
                            stack.push(Visit::Enter(dependent));
                        }
                    });
                }
            }
            Visit::Leave(entity) => order.push(entity),
        }
    }
    order
}

/// Notes visits of entities, up to one for which it is not the first. One that is not known, and may be dead, is not
/// visited.
///
/// As long as children are found in Bevy's components, most are not known, and are made so. But for one with the index of
/// a dead entity that still is: Bevy despawns it with its parent.
fn visit_all(world: &mut DeferredWorld<'_>, entities: &[Entity]) -> bool {
    let lacks_children = fetch::store(world).is_some_and(PairStore::lacks_children);
    if lacks_children && !entities.iter().all(|&entity| world.entities().contains_spawned(entity)) {
        return false;
    }
    let Some(store) = fetch::deferred_store(world) else { return false };
    let participants = store.participants_mut();
    entities.iter().all(|&entity| {
        if lacks_children && participants.stripped_before(entity).is_none() {
            participants.note(entity);
        }
        participants.visit(entity)
    })
}

fn unvisit(world: &mut DeferredWorld<'_>, order: &[Entity]) {
    let Some(store) = fetch::deferred_store(world) else { return };
    order.iter().for_each(|&entity| store.participants_mut().unvisit(entity));
}

/// The entities that go when `entity` goes.
fn for_each_dependent(
    (world, store): (&World, &PairStore),
    holders: &ComponentHolders,
    entity: Entity,
    mut f: impl FnMut(Entity),
) {
    if store.lacks_children() {
        Hierarchy(world).children(entity).iter().copied().for_each(&mut f);
    }
    if store.has_tags(entity) && relation_policy(store, entity) == CleanupPolicy::Despawn {
        store.tags().sources(entity).for_each(&mut f);
    }
    for relation in store.participants().relations(entity) {
        if store.relation(relation).is_target(entity)
            && store.relation(relation).target_policy() == CleanupPolicy::Despawn
        {
            store.relation(relation).sources(entity).for_each(&mut f);
        }
    }
    if store.registry().despawns_targets() {
        for_each_target_along(store, entity, &mut f);
    }
    if let Some(relation) = relation_of(store, entity)
        && relation_policy(store, entity) == CleanupPolicy::Despawn
    {
        store.relation(relation).iter().for_each(|(source, _)| f(source));
        holders.get(&entity).into_iter().flatten().copied().for_each(f);
    }
}

/// The targets that go when their source `entity` goes.
#[cold]
fn for_each_target_along(store: &PairStore, entity: Entity, mut f: impl FnMut(Entity)) {
    for relation in store.participants().relations(entity) {
        if store.relation(relation).despawns_targets() {
            store.relation(relation).targets(entity).for_each(&mut f);
        }
    }
}

/// The relation that `entity` is.
#[inline]
pub(super) fn relation_of(store: &PairStore, entity: Entity) -> Option<RelationId> {
    if store.participants().is_relation(entity) { store.registry().of_entity(entity) } else { None }
}

/// What happens to the pairs of a relation, or to those that have a tag, when it goes. An entity that stands for
/// a Rust type is not meant to go.
pub(super) fn relation_policy(store: &PairStore, entity: Entity) -> CleanupPolicy {
    let registry = store.registry();
    let declared = registry.of_entity(entity).and_then(|id| registry.entry(id).traits.relation_policy());
    let is_type = registry.is_type(entity);
    declared.unwrap_or(if is_type { CleanupPolicy::Refuse } else { CleanupPolicy::Remove })
}
