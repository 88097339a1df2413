//! What is copied for an instance of a prefab, and when that has to be found out anew.

use super::rule::{CopyPlan, copied_to_parts};
use crate::{
    fetch,
    id::RelationId,
    relation::{IS_A, IsA, Prefab, RelationEntry},
    store::PairStore,
    traverse::Hierarchy,
    world::WorldPairExt,
};
use alloc::{vec, vec::Vec};
use bevy_ecs::{
    archetype::ArchetypeId,
    component::ComponentId,
    entity::{Entity, EntityHashMap, EntityHashSet},
    hierarchy::Children,
    resource::Resource,
    world::World,
};
use core::{iter, mem};

/// The prefab itself, or what lies below it.
pub(super) struct PrefabPart {
    pub(super) entity: Entity,
    /// The number of its parent; that of the prefab is its own.
    pub(super) parent: usize,
    /// Where it was when the blueprint was made, and which children it had, if it had the component that lists them.
    archetype: Option<ArchetypeId>,
    children: Option<Vec<Entity>>,
}

/// What a part is an instance of, directly or not: its copy gets what the part lacks.
pub(super) struct Base {
    archetype: Option<ArchetypeId>,
    pub(super) copied: Copied,
}

/// Components of an entity that the copy of a part gets.
pub(super) struct Copied {
    pub(super) entity: Entity,
    /// The number of the part.
    pub(super) part: usize,
    pub(super) components: Vec<ComponentId>,
}

/// How to copy a prefab.
pub(super) struct Blueprint {
    /// Each after its parent, siblings in order.
    pub(super) parts: Vec<PrefabPart>,
    /// By part, what counts first before the others.
    pub(super) bases: Vec<Base>,
    /// By part, what its copy gets before anything else.
    pub(super) in_advance: Vec<Copied>,
    /// The components of the prefab itself that are copied.
    pub(super) root: Vec<ComponentId>,
    /// Those of what lies below it.
    pub(super) below: Vec<ComponentId>,
    /// The components that are pairs with companions.
    pub(super) with_companions: Vec<(RelationId, ComponentId)>,
    /// The relations whose sources are in an order of the user.
    pub(super) ordered: Vec<RelationId>,
    /// The traits of relations by which components are copied.
    traits_version: Option<u64>,
}

impl Blueprint {
    /// That of the last instance, if it still holds.
    ///
    /// # Complexity
    /// O(parts); if it does not hold, a step per part and component.
    pub(super) fn of(world: &mut World, prefab: Entity) -> Self {
        let kept = world.get_resource_mut::<Blueprints>().and_then(|mut kept| kept.take(prefab));
        kept.filter(|kept| kept.is_current(world)).unwrap_or_else(|| Self::new(world, prefab))
    }

    /// Keeps it for the next instance.
    pub(super) fn keep(self, world: &mut World) {
        world.get_resource_or_init::<Blueprints>().keep(self);
    }

    fn new(world: &mut World, prefab: Entity) -> Self {
        let parts = parts_of(world, prefab);
        let (mut bases, mut in_advance, mut root) = (Vec::new(), Vec::new(), Vec::new());
        for (part, &PrefabPart { entity, .. }) in parts.iter().enumerate() {
            let mut bases_of_part = bases_of(world, entity).peekable();
            if part > 0 && bases_of_part.peek().is_none() {
                continue;
            }
            let entities: Vec<Entity> = iter::once(entity).chain(bases_of_part).collect();
            let mut plan = CopyPlan::new(world, &entities, part > 0);
            for &(number, component) in &plan.in_advance {
                in_advance.push(Copied { entity: entities[number], part, components: vec![component] });
            }
            if part == 0 {
                root = mem::take(&mut plan.from[0]);
            }
            for (entity, components) in entities.into_iter().zip(plan.from).skip(1) {
                let archetype = archetype_of(world, entity);
                bases.push(Base { archetype, copied: Copied { entity, part, components } });
            }
        }
        let below = copied_to_parts(world, parts.iter().skip(1).map(|part| part.entity));
        let (with_companions, ordered) = (with_companions(world), ordered(world));
        let traits_version = traits_version(world);
        Self { parts, bases, in_advance, root, below, with_companions, ordered, traits_version }
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
}

/// The blueprints of the prefabs that instances were made of last.
#[derive(Resource, Default)]
struct Blueprints {
    by_prefab: EntityHashMap<Blueprint>,
    /// Of all of them.
    parts: usize,
}

impl Blueprints {
    /// How many parts the blueprints have together that are kept.
    const MAX_PARTS: usize = 4_096;

    fn take(&mut self, prefab: Entity) -> Option<Blueprint> {
        let kept = self.by_prefab.remove(&prefab)?;
        self.parts -= kept.parts.len();
        Some(kept)
    }

    fn keep(&mut self, blueprint: Blueprint) {
        // Observers may have made instances of the same prefab meanwhile.
        self.take(blueprint.prefab());
        if self.parts + blueprint.parts.len() > Self::MAX_PARTS {
            *self = Self::default();
        }
        if blueprint.parts.len() <= Self::MAX_PARTS {
            self.parts += blueprint.parts.len();
            self.by_prefab.insert(blueprint.prefab(), blueprint);
        }
    }
}

/// The prefabs that an entity is an instance of, directly or not: what is nearest counts first.
fn bases_of(world: &World, entity: Entity) -> impl Iterator<Item = Entity> {
    // Most parts have none, and are not worth a walk.
    let has_any = fetch::store(world).is_some_and(|store| store.relation(IS_A).has_any(entity));
    let bases = has_any.then(|| world.pairs::<IsA>().all_ancestors(entity).map(|(base, _)| base));
    bases.into_iter().flatten().filter(|&base| world.get::<Prefab>(base).is_some())
}

/// A prefab with all that lies below it, each after its parent, siblings in order.
pub(super) fn parts_of(world: &World, prefab: Entity) -> Vec<PrefabPart> {
    let mut parts: Vec<PrefabPart> = Vec::new();
    // Until the commands of a flush are done, Bevy's components may go in a circle.
    let mut met = EntityHashSet::with_capacity(1 + children(world, prefab).len());
    let mut waiting = vec![(prefab, 0)];
    while let Some((entity, parent)) = waiting.pop() {
        if met.insert(entity) {
            let children = world.get::<Children>(entity).map(|children| children.to_vec());
            let below = Hierarchy(world).confirmed_children(entity).rev();
            waiting.extend(below.map(|child| (child, parts.len())));
            parts.push(PrefabPart { entity, parent, archetype: archetype_of(world, entity), children });
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

fn entries(world: &World) -> impl Iterator<Item = (RelationId, &RelationEntry)> {
    let registry = fetch::store(world).map(PairStore::registry);
    registry.into_iter().flat_map(|registry| registry.ids().map(|id| (id, registry.entry(id))))
}

/// The relationships of Bevy that insert companions.
fn with_companions(world: &World) -> Vec<(RelationId, ComponentId)> {
    let entries = entries(world).filter(|(_, entry)| !entry.with.is_empty());
    entries.filter_map(|(id, entry)| Some((id, entry.adopted?.component))).collect()
}

/// The relations whose sources are in an order that the store keeps.
fn ordered(world: &World) -> Vec<RelationId> {
    let entries = entries(world).filter(|(_, entry)| entry.traits.is_ordered() && entry.adopted.is_none());
    entries.map(|(id, _)| id).collect()
}

fn traits_version(world: &World) -> Option<u64> {
    Some(fetch::store(world)?.registry().traits_version())
}
