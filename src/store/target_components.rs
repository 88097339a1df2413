//! The components of relations with `storage = "Fragmenting"`: one for each target, on all its sources, so that Bevy keeps these in
//! tables of their own.
//!
//! They are written together with the [component of the first target](super::first_target), and as that are read only while no source
//! of the relation is stale.

use super::PairStore;
use crate::id::RelationId;
use alloc::vec::Vec;
use bevy_ecs::{
    archetype::{Archetype, ArchetypeEntity, Archetypes},
    component::ComponentId,
    entity::{Entity, EntityHashMap},
    world::World,
};
use smallvec::SmallVec;

/// Former targets are looked for when a relation has so many components, at first.
const FIRST_SWEEP: usize = 16;

/// The components for the targets of one relation.
pub(super) struct TargetComponents {
    of: EntityHashMap<ComponentId>,
    /// Former targets are looked for when there are so many.
    sweep_at: usize,
    /// There were too many archetypes: the components are used no more.
    given_up: bool,
}

impl Default for TargetComponents {
    fn default() -> Self {
        Self { of: EntityHashMap::default(), sweep_at: FIRST_SWEEP, given_up: false }
    }
}

/// Whose a component is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// It is none for a target.
    Other,
    /// It waits for another target.
    Free,
    Target(RelationId, Entity),
}

/// The components for targets of all relations.
#[derive(Default)]
pub(super) struct TargetComponentPool {
    /// By the number of the component.
    owners: Vec<Owner>,
    /// Those that wait. Some entities may still have them.
    free: Vec<ComponentId>,
}

impl TargetComponentPool {
    pub(super) fn ids(&self) -> impl Iterator<Item = ComponentId> + use<'_> {
        let all = self.owners.iter().enumerate().filter(|(_, owner)| **owner != Owner::Other);
        all.map(|(number, _)| ComponentId::new(number))
    }

    fn owner_of(&self, component: ComponentId) -> Owner {
        self.owners.get(component.index()).copied().unwrap_or(Owner::Other)
    }

    fn set_owner(&mut self, component: ComponentId, owner: Owner) {
        let number = component.index();
        self.owners.resize(self.owners.len().max(number + 1), Owner::Other);
        self.owners[number] = owner;
    }

    /// The relation and the target that a component is for.
    pub(super) fn owner(&self, component: ComponentId) -> Option<(RelationId, Entity)> {
        match self.owner_of(component) {
            Owner::Target(relation, target) => Some((relation, target)),
            Owner::Other | Owner::Free => None,
        }
    }

    fn release(&mut self, component: ComponentId) {
        self.set_owner(component, Owner::Free);
        self.free.push(component);
    }
}

/// The entities that have a component.
fn holders(archetypes: &Archetypes, component: ComponentId) -> impl Iterator<Item = Entity> + use<'_> {
    let having = archetypes.component_index().get(&component).into_iter().flat_map(|having| having.keys());
    let having = having.filter_map(|&id| archetypes.get(id));
    having.flat_map(Archetype::entities).map(ArchetypeEntity::id)
}

impl TargetComponents {
    /// Whether they are used still.
    #[inline]
    pub(super) fn are_used(&self) -> bool {
        !self.given_up
    }

    #[inline]
    pub(super) fn get(&self, target: Entity) -> Option<ComponentId> {
        self.of.get(&target).copied()
    }
}

impl PairStore {
    /// The targets of a source for which it is to have components.
    pub(crate) fn targets_with_components(&self, id: RelationId, source: Entity) -> SmallVec<[Entity; 4]> {
        let index = self.relation(id);
        match &index.for_targets {
            Some(components) if !components.given_up => index.targets(source).collect(),
            _ => SmallVec::new(),
        }
    }

    /// The component for a target, up to date or not.
    pub(crate) fn known_target_component(&self, id: RelationId, target: Entity) -> Option<ComponentId> {
        self.relation(id).for_targets.as_ref()?.of.get(&target).copied()
    }

    /// A component that waits for a target, and that no entity has any more.
    pub(crate) fn free_target_component(&self, archetypes: &Archetypes) -> Option<ComponentId> {
        let mut free = self.tables.for_targets.free.iter().rev().copied();
        free.find(|&component| holders(archetypes, component).next().is_none())
    }

    /// Gives a target its component. Those of former targets will wait for others.
    pub(crate) fn set_target_component(&mut self, id: RelationId, target: Entity, component: ComponentId) {
        let index = &mut self.relations[id.index()];
        let Some(mut components) = index.for_targets.take() else { return };
        let pool = &mut self.tables.for_targets;
        pool.free.retain(|free| *free != component);
        pool.set_owner(component, Owner::Target(id, target));
        components.of.insert(target, component);
        if components.of.len() >= components.sweep_at {
            components.of.retain(|&of, component| {
                let is_target = of == target || index.is_target(of);
                if !is_target {
                    pool.release(*component);
                }
                is_target
            });
            components.sweep_at = FIRST_SWEEP.max(2 * components.of.len());
        }
        index.for_targets = Some(components);
    }

    /// Uses the components for targets no more. False if that is so already.
    pub(crate) fn give_up_target_components(&mut self, id: RelationId) -> bool {
        let components = self.relation_mut(id).for_targets.as_mut();
        components.is_some_and(|components| !core::mem::replace(&mut components.given_up, true))
    }

    /// Whether a source of a relation that is to have some components is not to have this one.
    pub(crate) fn is_surplus(&self, component: ComponentId, id: RelationId, wanted: &[ComponentId]) -> bool {
        match self.tables.for_targets.owner_of(component) {
            Owner::Other => false,
            Owner::Free => true,
            Owner::Target(relation, _) => relation == id && !wanted.contains(&component),
        }
    }

    pub(super) fn release_target_components(&mut self, id: RelationId) {
        let components = self.relation_mut(id).for_targets.take();
        for (_, component) in components.into_iter().flat_map(|components| components.of) {
            self.tables.for_targets.release(component);
        }
    }

    /// A source that lacks the component for one of its targets, or an entity that has one and no such target, for the invariant
    /// checker. Stale ones are left out.
    pub(super) fn target_component_fault(&self, id: RelationId, world: &World) -> Option<Entity> {
        let index = self.relation(id);
        let components = index.for_targets.as_ref().filter(|components| !components.given_up)?;
        let table = index.table?.component;
        let has = |source: Entity, target: Entity| {
            let component = components.of.get(&target).copied();
            component.is_some_and(|id| world.get_entity(source).is_ok_and(|source| source.contains_id(id)))
        };
        let lacks = |source: &Entity| index.targets(*source).any(|target| !has(*source, target));
        let surplus = components.of.iter().flat_map(|(&target, &component)| {
            holders(world.archetypes(), component).filter(move |&source| !index.has(source, target))
        });
        let mut faults = index.all_sources().into_iter().filter(lacks).chain(surplus);
        faults.find(|&source| !self.tables.is_stale(table, source))
    }
}
