//! Making an instance: its parts first, so that what refers to a part can refer to its copy, then components, pairs and
//! slots.

use super::{
    blueprint::{Base, Blueprint, Copied, PrefabPart, parts_of},
    error::InstantiateError,
};
use crate::{
    fetch,
    id::{PairId, RelationId, StoredPair},
    ops::{EndCheck, arranged, copy_pairs, has_key_of, insert_by_id, report, to_bevy},
    relation::{EntityName, IS_A, IsA, OnInstantiate, Prefab, SLOT_OF},
    store::PairStore,
    world::WorldPairExt,
};
use alloc::vec::Vec;
use bevy_ecs::{
    component::ComponentId,
    entity::{Entity, EntityCloner, EntityHashMap},
    hierarchy::ChildOf,
    world::World,
};
use smallvec::SmallVec;

/// Makes instances by a [`Blueprint`].
pub(super) struct Copier {
    blueprint: Blueprint,
    // Bevy's cloners are bound to a thread, so that a world cannot keep them with the blueprint.
    root: EntityCloner,
    below: EntityCloner,
    /// As in the blueprint.
    bases: Vec<EntityCloner>,
    in_advance: Vec<EntityCloner>,
}

impl Copier {
    /// # Complexity
    /// As [`Blueprint::of`].
    pub(super) fn new(world: &mut World, prefab: Entity) -> Self {
        let blueprint = Blueprint::of(world, prefab);
        let root = cloner(world, &blueprint.root);
        let below = cloner(world, &blueprint.below);
        let bases = blueprint.bases.iter().map(|base| cloner(world, &base.copied.components)).collect();
        let in_advance =
            blueprint.in_advance.iter().map(|copied| cloner(world, &copied.components)).collect();
        Self { blueprint, root, below, bases, in_advance }
    }

    /// Whether nothing has changed for the next instance.
    pub(super) fn is_current(&self, world: &World) -> bool {
        self.blueprint.is_current(world)
    }

    /// No more instances for now.
    pub(super) fn finish(self, world: &mut World) {
        self.blueprint.keep(world);
    }

    /// Gives an entity what an instance gets. Its own components and pairs stay as they are.
    ///
    /// What observers despawn of the instance meanwhile is left out.
    ///
    /// # Errors
    /// If observers despawn a part of the prefab meanwhile. The rest is copied.
    pub(super) fn fill(&mut self, world: &mut World, instance: Entity) -> Result<(), InstantiateError> {
        let (copies, mut map) = self.spawn_parts(world, instance);
        let lost = self.fill_copies(world, &copies, &mut map);
        self.copy_from_bases(world, &copies, &mut map);
        self.copy_pairs(world, &copies, &map);
        self.order_sources(world, &copies, &map);
        world.flush();
        match lost {
            None => Ok(()),
            Some(part) => {
                let [instance, prefab, part] =
                    [instance, self.blueprint.prefab(), part].map(|entity| EntityName::new(world, entity));
                Err(InstantiateError::Incomplete { instance, prefab, part })
            }
        }
    }

    /// Spawns the copies of the parts below an instance. A copy whose parent is gone by then is not alive.
    fn spawn_parts(&self, world: &mut World, instance: Entity) -> (Vec<Entity>, EntityHashMap<Entity>) {
        let parts = &self.blueprint.parts;
        let mut copies = Vec::with_capacity(parts.len());
        copies.push(instance);
        let mut map = EntityHashMap::with_capacity(parts.len());
        map.insert(self.blueprint.prefab(), instance);
        let prefab = world.register_component::<Prefab>();
        for part in &parts[1..] {
            let parent = copies[part.parent];
            let Ok(above) = world.get_entity(parent) else {
                copies.push(parent);
                continue;
            };
            let copy = match above.contains_id(prefab) {
                true => world.spawn((ChildOf(parent), Prefab)).id(),
                false => world.spawn(ChildOf(parent)).id(),
            };
            copies.push(copy);
            map.insert(part.entity, copy);
        }
        (copies, map)
    }

    /// Gives the copies their components. Returns the first part that is gone by then.
    fn fill_copies(
        &mut self,
        world: &mut World,
        copies: &[Entity],
        map: &mut EntityHashMap<Entity>,
    ) -> Option<Entity> {
        let companions = &self.blueprint.with_companions;
        for (copied, cloner) in self.blueprint.in_advance.iter().zip(&mut self.in_advance) {
            copied.copy(world, (cloner, companions), copies, map);
        }
        let mut lost = None;
        for (number, (part, &copy)) in self.blueprint.parts.iter().zip(copies).enumerate() {
            // Bevy's cloner panics if commands that are waiting take away what it is about to read or write.
            world.flush();
            match (is_alive(world, copy), is_alive(world, part.entity)) {
                (false, _) => {}
                (true, false) => lost = lost.or(Some(part.entity)),
                (true, true) => {
                    let Blueprint { root, below, .. } = &self.blueprint;
                    let (cloner, components) =
                        if number == 0 { (&mut self.root, root) } else { (&mut self.below, below) };
                    copy_components(world, (cloner, components, companions), (part.entity, copy), map);
                }
            }
        }
        lost
    }

    /// Gives the copies what the bases of the parts have and the parts do not.
    fn copy_from_bases(&mut self, world: &mut World, copies: &[Entity], map: &mut EntityHashMap<Entity>) {
        let companions = &self.blueprint.with_companions;
        for (base, cloner) in self.blueprint.bases.iter().zip(&mut self.bases) {
            base.copied.copy(world, (cloner, companions), copies, map);
        }
    }

    /// Copies the pairs and tags of the parts and of their bases, and offers the copies as slots.
    fn copy_pairs(&self, world: &mut World, copies: &[Entity], map: &EntityHashMap<Entity>) {
        let mut next = 0;
        while let Some(number) = self.next_participant(world, next) {
            next = number + 1;
            let (part, copy) = (self.blueprint.parts[number].entity, copies[number]);
            copy_pairs(world, part, copy, |world, store, relation, target| {
                copied_target((world, store), relation, (number == 0, part, copy), target, map)
            });
        }
        for &Base { copied: Copied { entity, part, .. }, .. } in &self.blueprint.bases {
            let (copy, within) = (copies[part], parts_of(world, entity));
            copy_pairs(world, entity, copy, |world, store, relation, target| {
                // A pair with a part of the base was copied, with the part, when the prefab became its instance.
                let is_outside = within.iter().all(|part| part.entity != target);
                let to = || copied_target((world, store), relation, (true, entity, copy), target, map);
                is_outside.then(to).flatten()
            });
        }
        let mut next = 1;
        while let Some(number) = self.next_participant(world, next) {
            next = number + 1;
            self.insert_slot(world, number, copies, map);
        }
    }

    /// Puts the sources of each copy into the order of the sources that the part has.
    fn order_sources(&self, world: &mut World, copies: &[Entity], map: &EntityHashMap<Entity>) {
        for &relation in &self.blueprint.ordered {
            for (part, &copy) in self.blueprint.parts.iter().zip(copies) {
                // Observers may have removed the relation.
                let Some(store) = fetch::store(world) else { return };
                let Some(entry) = store.registry().get(relation) else { break };
                let index = store.relation(relation);
                let order = index.sources(part.entity).filter_map(|source| map.get(&source).copied());
                let order: Vec<Entity> = order.collect();
                if let Some(order) = arranged(index.sources(copy), &order)
                    && let Err(error) = world.order_sources_by_id(entry.entity, copy, &order)
                {
                    report(world.commands(), to_bevy(error));
                }
            }
        }
    }

    /// The first part with this number or a higher one that may have pairs or tags, beside those that are components.
    fn next_participant(&self, world: &World, from: usize) -> Option<usize> {
        let known = fetch::store(world)?.participants();
        let takes_part = |part: &PrefabPart| known.is_marked(part.entity) || known.is_stripped(part.entity);
        self.blueprint.parts[from..].iter().position(takes_part).map(|place| from + place)
    }

    /// Offers the copy of a part as a slot of its instance, if it is one.
    fn insert_slot(&self, world: &mut World, number: usize, copies: &[Entity], map: &EntityHashMap<Entity>) {
        let (slot, copy) = (self.blueprint.parts[number].entity, copies[number]);
        let Some(store) = fetch::store(world) else { return };
        let Some(owner) = store.relation(SLOT_OF).first_target(slot) else { return };
        if ![slot, copy].map(|end| is_alive(world, end)).contains(&false) {
            let instance = map.get(&owner).copied().or_else(|| instance_above(world, copy, owner));
            let inserted = match instance {
                Some(instance) => insert_by_id(world, instance, PairId::new(slot, copy), None, EndCheck::Now)
                    .map_err(to_bevy),
                None => {
                    let [slot, owner, copy] =
                        [slot, owner, copy].map(|entity| EntityName::new(world, entity));
                    Err(to_bevy(InstantiateError::NoSlot { slot, owner, copy }))
                }
            };
            if let Err(error) = inserted {
                report(world.commands(), error);
            }
        }
    }
}

impl Copied {
    /// Gives a copy the components, in which the entity itself stands for the copy.
    fn copy(
        &self,
        world: &mut World,
        (cloner, companions): (&mut EntityCloner, &[(RelationId, ComponentId)]),
        copies: &[Entity],
        map: &mut EntityHashMap<Entity>,
    ) {
        let (entity, copy) = (self.entity, copies[self.part]);
        world.flush();
        if [entity, copy].iter().all(|&end| is_alive(world, end)) {
            // It may be a part as well.
            let own = map.insert(entity, copy);
            copy_components(world, (cloner, &self.components, companions), (entity, copy), map);
            match own {
                Some(own) => map.insert(entity, own),
                None => map.remove(&entity),
            };
        }
    }
}

/// Copies components of a part. Those that are pairs with companions are left out if these would replace pairs of the copy; companions
/// are copied with the other pairs of the part.
fn copy_components(
    world: &mut World,
    (cloner, components, with_companions): (&mut EntityCloner, &[ComponentId], &[(RelationId, ComponentId)]),
    (part, copy): (Entity, Entity),
    map: &mut EntityHashMap<Entity>,
) {
    if with_companions.is_empty() {
        cloner.clone_entity_mapped(world, part, map);
        return;
    }
    let copying = Copying { world, copy };
    let world = &mut *copying.world;
    let mut left_out: SmallVec<[ComponentId; 1]> = SmallVec::new();
    for &(relation, component) in with_companions {
        let Some(store) = fetch::store_mut(world) else { break };
        let Some(target) = store.relation(relation).first_target(part) else { continue };
        let to = map.get(&target).copied().unwrap_or(target);
        if has_or_replaces(store, relation, (part, target), (copy, to)) {
            left_out.push(component);
        } else {
            store.note_copying(StoredPair { source: copy, relation, target: to });
        }
    }
    if left_out.is_empty() {
        cloner.clone_entity_mapped(world, part, map);
    } else {
        let kept = components.iter().copied().filter(|component| !left_out.contains(component));
        let kept: Vec<ComponentId> = kept.collect();
        self::cloner(world, &kept).clone_entity_mapped(world, part, map);
    }
}

/// The components of a copy are being copied. Ends also if an observer panics.
struct Copying<'w> {
    world: &'w mut World,
    copy: Entity,
}

impl Drop for Copying<'_> {
    fn drop(&mut self) {
        if let Some(store) = fetch::store_mut(self.world) {
            store.end_copying(self.copy);
        }
    }
}

/// The nearest entity above that is an instance of a prefab, or of a variant of it.
fn instance_above(world: &World, entity: Entity, prefab: Entity) -> Option<Entity> {
    let bases = world.pairs::<IsA>();
    world.pairs::<ChildOf>().ancestors(entity).find(|&above| bases.is_ancestor(prefab, above))
}

/// The target of the copy of a pair or tag of a part, or `None` if there is to be no copy. Given are whether the copy is that of the
/// prefab itself, the part, and the copy.
fn copied_target(
    (world, store): (&World, &PairStore),
    relation: Option<RelationId>,
    (is_root, part, copy): (bool, Entity, Entity),
    target: Entity,
    map: &EntityHashMap<Entity>,
) -> Option<Entity> {
    let registry = store.registry();
    // The copies of parts are instances of what the parts are instances of, not of other copies.
    if relation == Some(IS_A) {
        return (!is_root && !store.relation(IS_A).has(copy, target)).then_some(target);
    }
    let rule = relation
        .or_else(|| registry.of_entity(target))
        .map(|id| registry.entry(id).traits.instantiate_rule());
    let is_copied = match rule.unwrap_or_default() {
        OnInstantiate::Override => true,
        OnInstantiate::Inherit => !is_root,
        OnInstantiate::DontInherit => false,
    };
    let to = map.get(&target).copied().unwrap_or(target);
    let is_overridden = || match relation {
        None => store.tags().has(copy, to),
        Some(relation) => {
            has_or_replaces(store, relation, (part, target), (copy, to))
                || has_key_of(world, store, StoredPair { source: part, relation, target }, copy)
        }
    };
    (is_copied && !is_overridden()).then_some(to)
}

/// Whether an entity has the copy of a pair already, or one would be replaced: by the copy, its mirror, or what they have as companions.
/// Companions that the original has lost do not count. Given are source and target of the original, and of the copy.
///
/// # Complexity
/// O(companions²).
fn has_or_replaces(
    store: &PairStore,
    relation: RelationId,
    (part, target): (Entity, Entity),
    (copy, to): (Entity, Entity),
) -> bool {
    if store.relation(relation).has(copy, to) {
        return true;
    }
    let first = StoredPair { source: copy, relation, target: to };
    let is_lost = |pair: StoredPair| {
        pair.source == copy && pair.target == to && !store.relation(pair.relation).has(part, target)
    };
    let mut pairs: SmallVec<[StoredPair; 4]> = SmallVec::from_slice(&[first]);
    let mut next = 0;
    while let Some(&pair) = pairs.get(next) {
        next += 1;
        let StoredPair { source, relation, target } = pair;
        let (entry, index) = (store.registry().entry(relation), store.relation(relation));
        if index.has(source, target) || is_lost(pair) {
            continue;
        }
        if index.is_exclusive() && index.has_any(source) {
            return true;
        }
        let companions = entry.with.iter().map(|&relation| StoredPair { relation, ..pair });
        for pair in store.mirror_of(pair).into_iter().chain(companions) {
            if !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
    }
    false
}

fn is_alive(world: &World, entity: Entity) -> bool {
    world.entities().contains_spawned(entity)
}

/// Clones these components of an entity, where there are none yet, and no others: what comes to the entity meanwhile may be
/// something that is never copied.
fn cloner(world: &mut World, components: &[ComponentId]) -> EntityCloner {
    let mut builder = EntityCloner::build_opt_in(world);
    builder.without_required_components(|builder| {
        builder.allow_by_ids_if_new(components.iter().copied());
    });
    builder.finish()
}
