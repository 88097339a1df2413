//! Which components of a prefab an instance gets.

use crate::{
    disabling::DisabledBelow,
    fetch,
    ops::{self, Participant, TypeEntity},
    relation::{OnInstantiate, Prefab},
};
use alloc::vec::Vec;
use bevy_ecs::{
    archetype::ArchetypeId, component::ComponentId, entity::Entity, entity_disabling::Disabled,
    hierarchy::ChildOf, name::Name, relationship::RelationshipAccessor, world::World,
};
use bevy_platform::collections::HashMap;
use core::any::TypeId;

/// What becomes of a component.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    Copied,
    /// An instance shares it with its prefab; the copies of what lies below the prefab have no base, and get a copy.
    Shared,
    /// The copies of what lies below the prefab are found by it.
    Named,
    Omitted,
}

/// The number of the first entity that has a component.
type FirstHolders = HashMap<ComponentId, usize>;

/// Which components the copy of a part gets from the part, and from what the part is an instance of.
pub(super) struct CopyPlan {
    /// By entity, what is copied from it: each component from the first entity that has it.
    pub(super) from: Vec<Vec<ComponentId>>,
    /// What must be copied before everything else, in this order, and the number of the entity that has it. A component of another
    /// entity requires it, with which Bevy would insert the default.
    pub(super) in_advance: Vec<(usize, ComponentId)>,
}

impl CopyPlan {
    /// `entities` are the part and what it is an instance of, the nearest first. Below a prefab, the copy of a part gets what the
    /// part itself has.
    pub(super) fn new(world: &World, entities: &[Entity], is_below: bool) -> Self {
        let mut plan = Self { from: entities.iter().map(|_| Vec::new()).collect(), in_advance: Vec::new() };
        let mut holders = FirstHolders::default();
        let mut required = Vec::new();
        for (number, &entity) in entities.iter().enumerate() {
            for component in components_of(world, [entity]) {
                if holders.contains_key(&component) {
                    continue;
                }
                holders.insert(component, number);
                let is_copied = match rule(world, component) {
                    Rule::Copied => true,
                    Rule::Shared | Rule::Named => is_below && number == 0,
                    Rule::Omitted => false,
                };
                if is_copied {
                    plan.from[number].push(component);
                    required.extend(required_by(world, component).map(|required| (required, number)));
                }
            }
        }
        plan.copy_required(world, &holders, required);
        plan.complete_advance(world, &holders);
        plan
    }

    /// Adds shared components that copied ones require, and notes what must be copied in advance. `required` are components, each
    /// with the number of the entity from which one is copied that requires it.
    fn copy_required(
        &mut self,
        world: &World,
        holders: &FirstHolders,
        mut required: Vec<(ComponentId, usize)>,
    ) {
        while let Some((component, by)) = required.pop() {
            let Some(&holder) = holders.get(&component) else { continue };
            // Bevy inserts what a component requires along with it, by default: then a copy is better.
            if rule(world, component) == Rule::Shared && !self.from[holder].contains(&component) {
                self.from[holder].push(component);
                required.extend(required_by(world, component).map(|required| (required, holder)));
            }
            if holder != by && self.from[holder].contains(&component) {
                self.in_advance.push((holder, component));
            }
        }
    }

    /// Adds what the components require that are copied in advance, and puts all of them in order.
    fn complete_advance(&mut self, world: &World, holders: &FirstHolders) {
        let mut next = 0;
        while let Some(&(_, component)) = self.in_advance.get(next) {
            for required in required_by(world, component) {
                let holder = holders.get(&required).filter(|&&holder| self.from[holder].contains(&required));
                if let Some(&holder) = holder
                    && !self.in_advance.contains(&(holder, required))
                {
                    self.in_advance.push((holder, required));
                }
            }
            next += 1;
        }
        // What requires others comes after them.
        let required = |&(_, component): &(usize, ComponentId)| required_by(world, component).count();
        self.in_advance.sort_by_cached_key(|pair| (required(pair), *pair));
        self.in_advance.dedup();
    }
}

/// What is inserted along with a component.
fn required_by(world: &World, component: ComponentId) -> impl Iterator<Item = ComponentId> {
    let info = world.components().get_info(component);
    let required = info.into_iter().flat_map(|info| info.required_components().iter_ids());
    required.chain(ops::component_companions(world, component))
}

/// The components of what lies below a prefab that the copies get.
pub(super) fn copied_to_parts(world: &World, parts: impl IntoIterator<Item = Entity>) -> Vec<ComponentId> {
    let mut components = components_of(world, parts);
    components.retain(|&component| rule(world, component) != Rule::Omitted);
    components
}

/// The components that at least one of the entities has.
fn components_of(world: &World, entities: impl IntoIterator<Item = Entity>) -> Vec<ComponentId> {
    let entities = entities.into_iter().filter_map(|entity| world.get_entity(entity).ok());
    let mut archetypes: Vec<ArchetypeId> = entities.map(|entity| entity.archetype().id()).collect();
    archetypes.sort_unstable();
    archetypes.dedup();
    let archetypes = archetypes.into_iter().filter_map(|id| world.archetypes().get(id));
    let mut components: Vec<ComponentId> =
        archetypes.flat_map(|archetype| archetype.components().iter().copied()).collect();
    components.sort_unstable();
    components.dedup();
    components
}

fn rule(world: &World, component: ComponentId) -> Rule {
    let Some(info) = world.components().get_info(component) else { return Rule::Omitted };
    // Bevy fills it as the sources of the relationship are copied.
    if matches!(info.relationship_accessor(), Some(RelationshipAccessor::RelationshipTarget { .. })) {
        return Rule::Omitted;
    }
    let Some(type_id) = info.type_id() else { return Rule::Copied };
    let omitted = [
        TypeId::of::<Prefab>(),
        TypeId::of::<Disabled>(),
        TypeId::of::<ChildOf>(),
        TypeId::of::<Participant>(),
        TypeId::of::<TypeEntity>(),
        TypeId::of::<DisabledBelow>(),
    ];
    if omitted.contains(&type_id) {
        return Rule::Omitted;
    }
    if type_id == TypeId::of::<Name>() {
        return Rule::Named;
    }
    let rule = fetch::store(world).map(|store| store.registry().instantiate_rule(type_id));
    match rule.unwrap_or_default() {
        OnInstantiate::Override => Rule::Copied,
        OnInstantiate::Inherit => Rule::Shared,
        OnInstantiate::DontInherit => Rule::Omitted,
    }
}
