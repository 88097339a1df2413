//! Making an instance: its parts first, so that what refers to a part can refer to its copy, then components, pairs and
//! slots.

use super::{
    blueprint::{Base, Blueprint, Copied, PrefabPart, parts_of},
    error::InstantiateError,
};
use crate::{
    fetch,
    id::{PairId, RelationId, StoredPair},
    ops::{EndCheck, copy_pairs, has_key_of, insert_by_id, report, to_bevy},
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
        for (copied, cloner) in self.blueprint.in_advance.iter().zip(&mut self.in_advance) {
            copied.copy(world, cloner, copies, map);
        }
        let mut lost = None;
        for (number, (part, &copy)) in self.blueprint.parts.iter().zip(copies).enumerate() {
            // Bevy's cloner panics if commands that are waiting take away what it is about to read or write.
            world.flush();
            match (is_alive(world, copy), is_alive(world, part.entity)) {
                (false, _) => {}
                (true, false) => lost = lost.or(Some(part.entity)),
                (true, true) => {
                    let cloner = if number == 0 { &mut self.root } else { &mut self.below };
                    cloner.clone_entity_mapped(world, part.entity, map);
                }
            }
        }
        lost
    }

    /// Gives the copies what the bases of the parts have and the parts do not.
    fn copy_from_bases(&mut self, world: &mut World, copies: &[Entity], map: &mut EntityHashMap<Entity>) {
        for (base, cloner) in self.blueprint.bases.iter().zip(&mut self.bases) {
            base.copied.copy(world, cloner, copies, map);
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
        cloner: &mut EntityCloner,
        copies: &[Entity],
        map: &mut EntityHashMap<Entity>,
    ) {
        let (entity, copy) = (self.entity, copies[self.part]);
        world.flush();
        if [entity, copy].iter().all(|&end| is_alive(world, end)) {
            // It may be a part as well.
            let own = map.insert(entity, copy);
            cloner.clone_entity_mapped(world, entity, map);
            match own {
                Some(own) => map.insert(entity, own),
                None => map.remove(&entity),
            };
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
            has_or_replaces(store, relation, copy, to)
                || has_key_of(world, store, StoredPair { source: part, relation, target }, copy)
        }
    };
    (is_copied && !is_overridden()).then_some(to)
}

/// Whether an entity has a pair already, or one would be replaced: by the pair, its mirror, or what they have as companions.
///
/// # Complexity
/// O(companions²).
fn has_or_replaces(store: &PairStore, relation: RelationId, copy: Entity, to: Entity) -> bool {
    if store.relation(relation).has(copy, to) {
        return true;
    }
    let first = StoredPair { source: copy, relation, target: to };
    let mut pairs: SmallVec<[StoredPair; 4]> = SmallVec::from_slice(&[first]);
    let mut next = 0;
    while let Some(&pair) = pairs.get(next) {
        next += 1;
        let StoredPair { source, relation, target } = pair;
        let (entry, index) = (store.registry().entry(relation), store.relation(relation));
        if index.has(source, target) {
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
