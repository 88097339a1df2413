//! The rules that depend on other pairs, checked on what would be there once everything planned is.

use super::{
    error::{InsertPairError, attempted},
    plan::{InsertPlan, Insertion},
};
use crate::{
    id::{RelationId, StoredPair},
    relation::{Adopted, CHILD_OF},
    store::PairStore,
    traverse::EntityPath,
};
use alloc::vec::Vec;
use bevy_ecs::{
    entity::{Entity, EntityHashMap, EntityHashSet},
    world::World,
};
use bevy_platform::collections::{HashMap, HashSet};

/// The pairs as they will be.
struct After<'a> {
    store: &'a PairStore,
    added: HashMap<(RelationId, Entity), Vec<Entity>>,
    gone: HashSet<StoredPair>,
}

/// Checks one-of and acyclic, and puts adopted pairs into an order in which none closes a cycle with one that is still
/// to go.
///
/// # Errors
/// The first rule that would be broken.
///
/// # Complexity
/// `O(planned pairs, and pairs above their sources)`.
pub(super) fn check_whole(
    world: &World,
    store: &PairStore,
    plan: &mut InsertPlan,
) -> Result<(), InsertPairError> {
    let after = After::new(store, plan);
    for Insertion { pair, .. } in new_insertions(plan) {
        if let Some(parent) = store.registry().entry(pair.relation).one_of
            && !after.has(StoredPair { source: pair.target, relation: CHILD_OF, target: parent })
        {
            let parent = store.registry().entity_name(world, parent);
            return Err(InsertPairError::NotOneOf { pair: attempted(world, store, *pair), parent });
        }
    }
    let mut done = HashMap::<RelationId, EntityHashSet>::default();
    for Insertion { pair, .. } in new_insertions(plan) {
        let StoredPair { source, relation, .. } = *pair;
        if store.relation(relation).is_acyclic()
            && let Some(cycle) = after.cycle(relation, source, done.entry(relation).or_default())
        {
            let pair = StoredPair { source: cycle[0], relation, target: cycle[1] };
            return Err(InsertPairError::Cycle {
                pair: attempted(world, store, pair),
                path: EntityPath::new(world, cycle),
            });
        }
    }
    // Each is inserted below entities that are where they will be.
    let mut depths = HashMap::<RelationId, EntityHashMap<usize>>::default();
    let depth = |(insertion, _): &(Insertion, Adopted)| {
        let StoredPair { source, relation, .. } = insertion.pair;
        match store.relation(relation).is_acyclic() {
            true => after.depth(relation, source, depths.entry(relation).or_default()),
            false => 0,
        }
    };
    plan.adopted.sort_by_cached_key(depth);
    Ok(())
}

/// The planned pairs that are not there.
fn new_insertions(plan: &InsertPlan) -> impl Iterator<Item = &Insertion> {
    plan.all_insertions().filter(|insertion| !insertion.replaced)
}

impl<'a> After<'a> {
    fn new(store: &'a PairStore, plan: &InsertPlan) -> Self {
        let mut added = HashMap::<(RelationId, Entity), Vec<Entity>>::default();
        let mut gone: HashSet<StoredPair> = plan.removals.iter().chain(&plan.dropped).copied().collect();
        gone.extend(plan.adopted_dropped.iter().map(|&(_, pair)| pair));
        for Insertion { pair, .. } in new_insertions(plan) {
            added.entry((pair.relation, pair.source)).or_default().push(pair.target);
            let index = store.relation(pair.relation);
            // The component that is there is replaced.
            if index.is_exclusive()
                && let Some(target) = index.first_target(pair.source)
            {
                gone.insert(StoredPair { target, ..*pair });
            }
        }
        Self { store, added, gone }
    }

    fn targets(&self, relation: RelationId, source: Entity) -> Vec<Entity> {
        let stored = self.store.relation(relation).targets(source);
        let stored = stored.filter(|&target| !self.gone.contains(&StoredPair { source, relation, target }));
        stored.chain(self.added.get(&(relation, source)).into_iter().flatten().copied()).collect()
    }

    fn has(&self, pair: StoredPair) -> bool {
        let StoredPair { source, relation, target } = pair;
        let is_added = self.added.get(&(relation, source)).is_some_and(|added| added.contains(&target));
        is_added || (self.store.relation(relation).has(source, target) && !self.gone.contains(&pair))
    }

    /// A cycle above `start`, from an entity back to it. The first pair of it is one that is planned.
    fn cycle(&self, relation: RelationId, start: Entity, done: &mut EntityHashSet) -> Option<Vec<Entity>> {
        let mut path: Vec<(Entity, Vec<Entity>)> = Vec::new();
        let mut on_path = EntityHashSet::default();
        let mut next = Some(start).filter(|start| !done.contains(start));
        loop {
            if let Some(entity) = next {
                on_path.insert(entity);
                path.push((entity, self.targets(relation, entity)));
            }
            let (entity, ahead) = path.last_mut()?;
            next = ahead.pop();
            match next {
                Some(target) if on_path.contains(&target) => {
                    let from = path.iter().position(|&(entity, _)| entity == target)?;
                    let cycle = path[from..].iter().map(|&(entity, _)| entity).collect();
                    return Some(self.starting_with_added(relation, cycle));
                }
                Some(target) if done.contains(&target) => next = None,
                Some(_) => {}
                None => {
                    done.insert(*entity);
                    on_path.remove(entity);
                    path.pop();
                }
            }
        }
    }

    fn starting_with_added(&self, relation: RelationId, mut cycle: Vec<Entity>) -> Vec<Entity> {
        let is_added = |source: usize| {
            let target = cycle[(source + 1) % cycle.len()];
            self.added.get(&(relation, cycle[source])).is_some_and(|added| added.contains(&target))
        };
        let first = (0..cycle.len()).find(|&source| is_added(source)).unwrap_or(0);
        cycle.rotate_left(first);
        cycle.push(cycle[0]);
        cycle
    }

    /// How deep an entity will lie in an exclusive relation without cycles.
    fn depth(&self, relation: RelationId, entity: Entity, depths: &mut EntityHashMap<usize>) -> usize {
        let mut path = Vec::new();
        let mut next = Some(entity);
        let mut depth = 0;
        while let Some(entity) = next {
            if let Some(&known) = depths.get(&entity) {
                depth = known + 1;
                break;
            }
            path.push(entity);
            next = self.targets(relation, entity).first().copied();
        }
        for &entity in path.iter().rev() {
            depths.insert(entity, depth);
            depth += 1;
        }
        depths.get(&entity).copied().unwrap_or_default()
    }
}
