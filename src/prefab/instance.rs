//! Making an instance: its parts first, so that what refers to a part can refer to its copy, then components, pairs and
//! slots.

use super::{
    error::InstantiateError,
    rule::{CopyPlan, copied_to_parts},
};
use crate::{
    fetch,
    id::{PairId, RelationId, StoredPair},
    ops::{EndCheck, copy_pairs, has_key_of, insert_by_id, report, to_bevy},
    relation::{EntityName, IS_A, IsA, OnInstantiate, Prefab, SLOT_OF},
    store::PairStore,
    world::WorldPairExt,
};
use alloc::{vec, vec::Vec};
use bevy_ecs::{
    archetype::ArchetypeId,
    component::ComponentId,
    entity::{Entity, EntityCloner, EntityHashMap, EntityHashSet},
    hierarchy::{ChildOf, Children},
    world::World,
};
use core::{iter, mem};

/// The prefab itself, or what lies below it.
struct Part {
    entity: Entity,
    /// The number of its parent; that of the prefab is its own.
    parent: usize,
    /// Where it was when the blueprint was made, and which children it had, if it had the component that lists them.
    archetype: Option<ArchetypeId>,
    children: Option<Vec<Entity>>,
}

/// What a part is an instance of, directly or not: its copy gets what the part lacks.
struct Base {
    archetype: Option<ArchetypeId>,
    copied: Copied,
}

/// Components of an entity that the copy of a part gets.
struct Copied {
    entity: Entity,
    /// The number of the part.
    part: usize,
    cloner: EntityCloner,
}

/// How to copy a prefab.
pub(super) struct Blueprint {
    /// Each after its parent, siblings in order.
    parts: Vec<Part>,
    /// By part, what counts first before the others.
    bases: Vec<Base>,
    /// By part, what its copy gets before anything else.
    in_advance: Vec<Copied>,
    /// Copies the prefab itself.
    root: EntityCloner,
    /// Copies what lies below it.
    below: EntityCloner,
    /// The traits of relations by which components are copied.
    traits_version: Option<u64>,
}

impl Blueprint {
    /// # Complexity
    /// A step per part and component.
    pub(super) fn new(world: &mut World, prefab: Entity) -> Self {
        let parts = parts_of(world, prefab);
        let (mut bases, mut in_advance, mut of_root) = (Vec::new(), Vec::new(), Vec::new());
        for (part, &Part { entity, .. }) in parts.iter().enumerate() {
            let mut bases_of_part = bases_of(world, entity).peekable();
            if part > 0 && bases_of_part.peek().is_none() {
                continue;
            }
            let entities: Vec<Entity> = iter::once(entity).chain(bases_of_part).collect();
            let mut plan = CopyPlan::new(world, &entities, part > 0);
            for &(number, component) in &plan.in_advance {
                let cloner = cloner(world, vec![component]);
                in_advance.push(Copied { entity: entities[number], part, cloner });
            }
            if part == 0 {
                of_root = mem::take(&mut plan.from[0]);
            }
            for (entity, components) in entities.into_iter().zip(plan.from).skip(1) {
                let archetype = archetype_of(world, entity);
                bases.push(Base {
                    archetype,
                    copied: Copied { entity, part, cloner: cloner(world, components) },
                });
            }
        }
        let below = copied_to_parts(world, parts.iter().skip(1).map(|part| part.entity));
        let traits_version = traits_version(world);
        Self {
            root: cloner(world, of_root),
            below: cloner(world, below),
            parts,
            bases,
            in_advance,
            traits_version,
        }
    }

    pub(super) fn prefab(&self) -> Entity {
        self.parts[0].entity
    }

    /// Whether the prefab has the parts that it had, in the same order, each with the same components and bases, and the same rules
    /// hold.
    pub(super) fn is_current(&self, world: &World) -> bool {
        if traits_version(world) != self.traits_version {
            return false;
        }
        let are_parts_current = self.parts.iter().all(|part| {
            part.archetype.is_some()
                && archetype_of(world, part.entity) == part.archetype
                // The archetype says whether it has the component.
                && part.children.as_ref().is_none_or(|known| children(world, part.entity) == known)
        });
        let Some(store) = fetch::store(world) else { return false };
        let is_a = store.relation(IS_A);
        let instances = self.parts.iter().enumerate().filter(|(_, part)| is_a.has_any(part.entity));
        let found = instances.flat_map(|(number, part)| {
            bases_of(world, part.entity).map(move |base| (number, base, archetype_of(world, base)))
        });
        let known =
            self.bases.iter().map(|Base { archetype, copied }| (copied.part, copied.entity, *archetype));
        are_parts_current && found.eq(known)
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
                    [instance, self.prefab(), part].map(|entity| EntityName::new(world, entity));
                Err(InstantiateError::Incomplete { instance, prefab, part })
            }
        }
    }

    /// Gives the copies their components. Returns the first part that is gone by then.
    fn fill_copies(
        &mut self,
        world: &mut World,
        copies: &[Entity],
        map: &mut EntityHashMap<Entity>,
    ) -> Option<Entity> {
        for copied in &mut self.in_advance {
            copied.copy(world, copies, map);
        }
        let mut lost = None;
        for (number, (part, &copy)) in self.parts.iter().zip(copies).enumerate() {
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
        for base in &mut self.bases {
            base.copied.copy(world, copies, map);
        }
    }

    /// Copies the pairs and tags of the parts and of their bases, and offers the copies as slots.
    fn copy_pairs(&self, world: &mut World, copies: &[Entity], map: &EntityHashMap<Entity>) {
        let mut next = 0;
        while let Some(number) = self.next_participant(world, next) {
            next = number + 1;
            let (part, copy) = (self.parts[number].entity, copies[number]);
            copy_pairs(world, part, copy, |world, store, relation, target| {
                copied_target((world, store), relation, (number == 0, part, copy), target, map)
            });
        }
        for &Base { copied: Copied { entity, part, .. }, .. } in &self.bases {
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
        let takes_part = |part: &Part| known.is_marked(part.entity) || known.is_stripped(part.entity);
        self.parts[from..].iter().position(takes_part).map(|place| from + place)
    }

    /// Spawns the copies of the parts below an instance. A copy whose parent is gone by then is not alive.
    fn spawn_parts(&self, world: &mut World, instance: Entity) -> (Vec<Entity>, EntityHashMap<Entity>) {
        let mut copies = Vec::with_capacity(self.parts.len());
        copies.push(instance);
        let mut map = EntityHashMap::with_capacity(self.parts.len());
        map.insert(self.prefab(), instance);
        for part in &self.parts[1..] {
            let parent = copies[part.parent];
            let Ok(above) = world.get_entity(parent) else {
                copies.push(parent);
                continue;
            };
            let copy = match above.contains::<Prefab>() {
                true => world.spawn((ChildOf(parent), Prefab)).id(),
                false => world.spawn(ChildOf(parent)).id(),
            };
            copies.push(copy);
            map.insert(part.entity, copy);
        }
        (copies, map)
    }

    /// Offers the copy of a part as a slot of its instance, if it is one.
    fn insert_slot(&self, world: &mut World, number: usize, copies: &[Entity], map: &EntityHashMap<Entity>) {
        let (slot, copy) = (self.parts[number].entity, copies[number]);
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
    fn copy(&mut self, world: &mut World, copies: &[Entity], map: &mut EntityHashMap<Entity>) {
        let (entity, copy) = (self.entity, copies[self.part]);
        world.flush();
        if [entity, copy].iter().all(|&end| is_alive(world, end)) {
            // It may be a part as well.
            let own = map.insert(entity, copy);
            self.cloner.clone_entity_mapped(world, entity, map);
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

/// Whether an entity has a pair already, or has another one that would be replaced: by the pair, its mirror, or a companion.
fn has_or_replaces(store: &PairStore, relation: RelationId, copy: Entity, to: Entity) -> bool {
    let (entry, index) = (store.registry().entry(relation), store.relation(relation));
    let replaces = |relation: RelationId| {
        let (index, traits) = (store.relation(relation), &store.registry().entry(relation).traits);
        let is_taken = index.has_any(copy) || (traits.is_symmetric() && index.has_any(to));
        index.is_exclusive() && is_taken && !index.has(copy, to)
    };
    index.has(copy, to) || replaces(relation) || entry.with.iter().copied().any(replaces)
}

/// The prefabs that an entity is an instance of, directly or not: what is nearest counts first.
fn bases_of(world: &World, entity: Entity) -> impl Iterator<Item = Entity> {
    // Most parts have none, and are not worth a walk.
    let has_any = fetch::store(world).is_some_and(|store| store.relation(IS_A).has_any(entity));
    let bases = has_any.then(|| world.pairs::<IsA>().all_ancestors(entity).map(|(base, _)| base));
    bases.into_iter().flatten().filter(|&base| world.get::<Prefab>(base).is_some())
}

/// A prefab with all that lies below it, each after its parent, siblings in order.
fn parts_of(world: &World, prefab: Entity) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    // Until the commands of a flush are done, Bevy's components may go in a circle.
    let mut met = EntityHashSet::with_capacity(1 + children(world, prefab).len());
    let mut waiting = vec![(prefab, 0)];
    while let Some((entity, parent)) = waiting.pop() {
        if met.insert(entity) {
            let children = world.get::<Children>(entity).map(|children| children.to_vec());
            let below = children.iter().flatten().rev();
            waiting.extend(below.map(|&child| (child, parts.len())));
            parts.push(Part { entity, parent, archetype: archetype_of(world, entity), children });
        }
    }
    parts
}

fn children(world: &World, entity: Entity) -> &[Entity] {
    world.get::<Children>(entity).map_or(&[], |children| children)
}

fn archetype_of(world: &World, entity: Entity) -> Option<ArchetypeId> {
    Some(world.get_entity(entity).ok()?.archetype().id())
}

fn traits_version(world: &World) -> Option<u64> {
    Some(fetch::store(world)?.registry().traits_version())
}

fn is_alive(world: &World, entity: Entity) -> bool {
    world.entities().contains_spawned(entity)
}

/// Clones these components of an entity, where there are none yet, and no others: what comes to the entity meanwhile may be
/// something that is never copied.
fn cloner(world: &mut World, components: Vec<ComponentId>) -> EntityCloner {
    let mut builder = EntityCloner::build_opt_in(world);
    builder.without_required_components(|builder| {
        builder.allow_by_ids_if_new(components);
    });
    builder.finish()
}
