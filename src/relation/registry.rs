//! The relations of a world: by type, by entity, by name.

use super::{
    ColumnRef, EntityName, OnInstantiate, PairContext, PairRefusal, Relation, RelationName, RelationTraits,
    ResolvedConstraint, Value,
    builtin::{BUILT_INS, Tagged, built_in},
    traits::RegisterFn,
};
use crate::id::{PairId, RelationId};
use alloc::{borrow::Cow, collections::VecDeque, vec::Vec};
use bevy_ecs::{
    component::ComponentId,
    entity::{Entity, EntityHashMap},
    name::Name,
    world::{DeferredWorld, World},
};
use bevy_platform::{collections::HashMap, hash::NoOpHash};
use core::any::{Any, TypeId};
use smallvec::SmallVec;

/// Checks a value before it is stored.
pub(crate) type ValidateFn = fn(&mut Value<'_>, &PairContext<'_>) -> Result<(), PairRefusal>;

/// How pairs of a relation are kept in a Bevy relationship component.
#[derive(Clone, Copy)]
pub(crate) struct Adopted {
    /// Inserts the component, or points the existing one at the target; takes a value if given.
    pub(crate) insert: fn(&mut World, Entity, Entity, Option<Value<'_>>),
    /// Removes the component.
    pub(crate) remove: fn(&mut World, Entity),
    /// The component of an entity.
    pub(crate) get: for<'w> fn(&'w World, Entity) -> Option<&'w (dyn Any + Send + Sync)>,
    /// The entity that the component of an entity points to.
    pub(crate) target: fn(&World, Entity) -> Option<Entity>,
    /// Whether Bevy's collection of a target, the last, has this source.
    pub(crate) is_collected: fn(&World, Entity, Entity) -> bool,
    /// Puts sources in Bevy's collection of a target into an order; those that it does not name stay where they are.
    pub(crate) arrange: fn(&mut World, Entity, &[Entity]),
    pub(crate) component: ComponentId,
    /// The type of the component.
    pub(crate) column: ColumnRef,
    /// It has fields beside its target.
    pub(crate) has_fields: bool,
    pub(crate) allow_self: bool,
    /// Makes the pair of a source what its component says.
    #[cfg_attr(
        not(feature = "std"),
        expect(dead_code, reason = "a panic cannot be caught, so it leaves nothing to complete")
    )]
    pub(crate) sync: fn(&mut DeferredWorld<'_>, Entity),
}

/// What is known of one relation.
pub(crate) struct RelationEntry {
    /// False once the relation is gone and its number waits for another.
    pub(crate) in_use: bool,
    /// Its entity. A type's entity may have been despawned; it is made anew on the next use. While the number waits,
    /// that of the relation that had it last; of a built-in relation's number, that of the first relation there was.
    pub(crate) entity: Entity,
    pub(crate) type_id: Option<TypeId>,
    /// The type has been registered as a relation. One that is only known by its entity may turn out to be one.
    pub(crate) declared: bool,
    pub(crate) name: Option<Cow<'static, str>>,
    /// Registers the type in another world, once it is declared.
    pub(crate) register: Option<RegisterFn>,
    pub(crate) traits: RelationTraits,
    /// The values of its pairs, if the relation itself says what they are.
    pub(crate) data: Option<ColumnRef>,
    pub(crate) validate: Option<ValidateFn>,
    pub(crate) adopted: Option<Adopted>,
    /// Companions: relations inserted with the same target.
    pub(crate) with: Vec<RelationId>,
    /// It comes, or came, along with another.
    pub(crate) is_companion: bool,
    /// Whose children the targets must be.
    pub(crate) one_of: Option<Entity>,
    /// What the ends of its pairs must be.
    pub(crate) constraints: Vec<ResolvedConstraint>,
    /// Its traits are known: those of a type are declared while it is being registered.
    pub(crate) has_traits: bool,
    /// Pairs have been inserted, or it is built in: traits cannot change any more.
    pub(crate) frozen: bool,
    /// The component that shows its pairs on their sources, if they are mirrored, and what brings it up to date.
    pub(crate) mirror: Option<(ComponentId, UpdateMirror)>,
    /// Observers of pairs of this relation watch one of these ids: that of the type, if there is one, first.
    pub(crate) keys: SmallVec<[ComponentId; 1]>,
}

/// Brings the components that show the pairs of a relation up to date after some have changed. Runs users' code.
pub(crate) type UpdateMirror = fn(&mut World, RelationId);

impl RelationEntry {
    pub(crate) fn name(&self) -> RelationName {
        RelationName { name: self.name.clone(), entity: self.entity }
    }

    /// What its pairs carry depends on their ends.
    pub(crate) fn leaves_values(&self) -> bool {
        self.data.is_none() && self.adopted.is_none() && !self.traits.is_tag()
    }

    /// The relation is a type, and its pairs carry values of that.
    pub(crate) fn has_own_values(&self) -> bool {
        self.data.is_some_and(|data| Some(data.value_type()) == self.type_id)
    }

    fn free(entity: Entity) -> Self {
        Self {
            in_use: false,
            entity,
            type_id: None,
            declared: false,
            name: None,
            register: None,
            traits: RelationTraits::new(),
            data: None,
            validate: None,
            adopted: None,
            with: Vec::new(),
            is_companion: false,
            one_of: None,
            constraints: Vec::new(),
            has_traits: false,
            frozen: false,
            mirror: None,
            keys: SmallVec::new(),
        }
    }
}

/// A type that stands for an entity without being a relation.
pub(crate) struct TypeEntry {
    pub(crate) entity: Entity,
    /// The short name, where the type itself was named.
    pub(crate) name: Option<Cow<'static, str>>,
    /// The values of pairs that have the type as their target.
    pub(crate) data: Option<ColumnRef>,
}

/// Every relation of a world.
#[derive(Default)]
pub(crate) struct Registry {
    entries: Vec<RelationEntry>,
    by_entity: EntityHashMap<RelationId>,
    by_type: HashMap<TypeId, RelationId, NoOpHash>,
    types: HashMap<TypeId, TypeEntry, NoOpHash>,
    type_entities: EntityHashMap<TypeId>,
    free: Vec<RelationId>,
    /// See [`has_despawning_relations`](Self::has_despawning_relations).
    has_despawning_relations: bool,
    /// See [`counts_sources`](Self::counts_sources).
    counts_sources: bool,
    /// See [`despawns_targets`](Self::despawns_targets).
    despawns_targets: bool,
    /// How often traits were declared, or went with their relation.
    traits_version: u64,
    /// Keys of relations that are gone: Bevy never frees a `ComponentId`.
    free_keys: VecDeque<ComponentId>,
}

impl Registry {
    /// Everything that is known by a number, also what waits for another relation.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &RelationEntry> + Clone {
        self.entries.iter()
    }

    /// The first relation in use from a number on.
    #[inline]
    pub(crate) fn next_from(&self, number: u32) -> Option<RelationId> {
        let number = number as usize;
        let found = self.entries.get(number..)?.iter().position(|entry| entry.in_use)?;
        Some(RelationId((number + found) as u32))
    }

    /// The type that an entity stands for.
    #[inline]
    pub(crate) fn type_of(&self, entity: Entity) -> Option<TypeId> {
        self.type_entities.get(&entity).copied()
    }

    /// Every entity that stands for a type, in no particular order, and what registers the type, if it is a relation.
    pub(crate) fn type_entities(
        &self,
    ) -> impl Iterator<Item = (Entity, TypeId, Option<RegisterFn>)> + use<'_> {
        self.type_entities.iter().map(|(&entity, &id)| {
            (entity, id, self.of_type_id(id).and_then(|relation| self.entry(relation).register))
        })
    }

    /// Whether an entity stands for a type.
    #[inline]
    pub(crate) fn is_type(&self, entity: Entity) -> bool {
        self.type_entities.contains_key(&entity)
    }

    /// Notes which type an entity stands for.
    pub(crate) fn set_type(&mut self, entity: Entity, type_id: TypeId) {
        self.type_entities.insert(entity, type_id);
    }

    /// Notes that an entity stands for a type no longer.
    pub(crate) fn remove_type(&mut self, entity: Entity) {
        self.type_entities.remove(&entity);
    }

    /// What is known of a type that is no relation.
    pub(crate) fn type_entry(&self, type_id: TypeId) -> Option<&TypeEntry> {
        self.types.get(&type_id)
    }

    /// [`type_entry`](Self::type_entry), to change it.
    pub(crate) fn type_entry_mut(&mut self, type_id: TypeId) -> Option<&mut TypeEntry> {
        self.types.get_mut(&type_id)
    }

    /// Notes what is known of a type that is no relation.
    pub(crate) fn set_type_entry(&mut self, type_id: TypeId, entry: TypeEntry) {
        self.types.insert(type_id, entry);
    }

    /// Removes what is recorded of a type that was no relation.
    pub(crate) fn take_type_entry(&mut self, type_id: TypeId) -> Option<TypeEntry> {
        self.types.remove(&type_id)
    }

    /// What is known of each type that is no relation, in no particular order.
    pub(crate) fn type_entries(&self) -> impl Iterator<Item = &TypeEntry> + use<'_> {
        self.types.values()
    }

    /// Some relation or tag takes the sources of its pairs along when it goes.
    #[inline]
    pub(crate) fn has_despawning_relations(&self) -> bool {
        self.has_despawning_relations
    }

    /// Notes that a relation or tag takes the sources of its pairs along.
    pub(crate) fn note_despawning_relation(&mut self) {
        self.has_despawning_relations = true;
    }

    /// Some relation despawns a target that loses its last source.
    #[inline]
    pub(crate) fn counts_sources(&self) -> bool {
        self.counts_sources
    }

    /// Some relation despawns the targets of a source that goes.
    #[inline]
    pub(crate) fn despawns_targets(&self) -> bool {
        self.despawns_targets
    }

    /// Changes whenever traits are declared, or go with their relation.
    pub(crate) fn traits_version(&self) -> u64 {
        self.traits_version
    }

    /// Notes that traits are declared, and what they say about targets.
    pub(crate) fn note_traits(&mut self, traits: &RelationTraits) {
        self.traits_version += 1;
        self.counts_sources |= traits.counts_sources();
        self.despawns_targets |= traits.despawns_targets();
    }

    /// Adds keys that are free for others.
    pub(crate) fn add_free_keys(&mut self, keys: impl IntoIterator<Item = ComponentId>) {
        self.free_keys.extend(keys);
    }

    /// All free keys: the caller adds those that it does not use again.
    pub(crate) fn take_free_keys(&mut self) -> VecDeque<ComponentId> {
        core::mem::take(&mut self.free_keys)
    }

    /// The columns of every type of values that pairs may carry, some more than once.
    pub(crate) fn columns(&self) -> impl Iterator<Item = ColumnRef> + use<'_> {
        let of_relations = self.entries.iter().filter_map(|entry| entry.data);
        of_relations.chain(self.type_entries().filter_map(|entry| entry.data))
    }

    #[inline]
    pub(crate) fn entry(&self, id: RelationId) -> &RelationEntry {
        &self.entries[id.index()]
    }

    /// The entry of a relation, unless the number waits for another.
    #[inline]
    pub(crate) fn get(&self, id: RelationId) -> Option<&RelationEntry> {
        self.entries.get(id.index()).filter(|entry| entry.in_use)
    }

    #[inline]
    pub(crate) fn entry_mut(&mut self, id: RelationId) -> &mut RelationEntry {
        &mut self.entries[id.index()]
    }

    /// The number of relation type `R`, if it is registered.
    #[inline]
    pub(crate) fn of_type<R: Relation>(&self) -> Option<RelationId> {
        self.known::<R>().filter(|&id| self.entry(id).declared)
    }

    /// [`of_type`](Self::of_type), also of a type whose entity alone was used so far.
    #[inline]
    pub(crate) fn known<R: Relation>(&self) -> Option<RelationId> {
        let hint = R::info().hint;
        let guess = hint.get();
        if self.entries.get(guess).is_some_and(|entry| entry.type_id == Some(TypeId::of::<R>())) {
            return Some(RelationId(guess as u32));
        }
        let id = self.of_type_id(TypeId::of::<R>())?;
        hint.set(id.index());
        Some(id)
    }

    pub(crate) fn of_type_id(&self, type_id: TypeId) -> Option<RelationId> {
        self.by_type.get(&type_id).copied()
    }

    pub(crate) fn of_entity(&self, entity: Entity) -> Option<RelationId> {
        self.by_entity.get(&entity).copied()
    }

    /// Whether nothing may inherit from `entity`: it is declared so, or it stands for a component and was not made
    /// inheritable.
    pub(crate) fn is_final(&self, entity: Entity) -> bool {
        match self.of_entity(entity).map(|id| self.entry(id)) {
            Some(entry) if entry.traits.has_final() => true,
            Some(entry) if entry.type_id.is_some() || entry.traits.is_inheritable() => false,
            _ => self.is_type(entity),
        }
    }

    /// What instances get of a component or of the pairs of a relation type.
    pub(crate) fn instantiate_rule(&self, type_id: TypeId) -> OnInstantiate {
        self.of_type_id(type_id)
            .map_or_else(OnInstantiate::default, |id| self.entry(id).traits.instantiate_rule())
    }

    /// The entity that stands for a type, if there is one.
    pub(crate) fn entity_of(&self, type_id: TypeId) -> Option<Entity> {
        match self.of_type_id(type_id) {
            Some(id) => Some(self.entry(id).entity),
            None => self.types.get(&type_id).map(|entry| entry.entity),
        }
    }

    /// Whether the entity is the one that names tags, which are no pairs, where a pair names its relation.
    #[cold]
    pub(crate) fn names_tags(&self, entity: Entity) -> bool {
        self.type_entities.get(&entity) == Some(&TypeId::of::<Tagged>())
    }

    /// The entity for which [`names_tags`](Self::names_tags) is true, once there have been tags.
    pub(crate) fn tags_entity(&self) -> Option<Entity> {
        self.types.get(&TypeId::of::<Tagged>()).map(|entry| entry.entity)
    }

    /// Whether a type is registered as a relation.
    pub(crate) fn is_declared(&self, type_id: TypeId) -> bool {
        self.of_type_id(type_id).is_some_and(|id| self.entry(id).declared)
    }

    /// Adds a relation and returns its number.
    pub(crate) fn add(&mut self, entity: Entity, type_id: Option<TypeId>) -> RelationId {
        while self.entries.len() < BUILT_INS {
            self.entries.push(RelationEntry::free(entity));
        }
        let id = type_id.and_then(built_in).or_else(|| self.free.pop()).unwrap_or_else(|| {
            self.entries.push(RelationEntry::free(entity));
            RelationId(self.entries.len() as u32 - 1)
        });
        let entry = self.entry_mut(id);
        entry.in_use = true;
        entry.entity = entity;
        entry.type_id = type_id;
        self.by_entity.insert(entity, id);
        if let Some(type_id) = type_id {
            self.by_type.insert(type_id, id);
        }
        id
    }

    /// Assigns the relation a new entity, after its own was despawned.
    pub(crate) fn set_entity(&mut self, id: RelationId, entity: Entity) {
        let old = core::mem::replace(&mut self.entry_mut(id).entity, entity);
        self.by_entity.remove(&old);
        self.by_entity.insert(entity, id);
    }

    /// Unregisters a relation. Its number will serve another, and so will its key if it is a run-time relation.
    pub(crate) fn remove(&mut self, id: RelationId) {
        self.traits_version += 1;
        let entity = self.entry(id).entity;
        let entry = core::mem::replace(self.entry_mut(id), RelationEntry::free(entity));
        self.by_entity.remove(&entry.entity);
        match entry.type_id {
            Some(type_id) => {
                self.by_type.remove(&type_id);
            }
            None => self.free_keys.extend(entry.keys),
        }
        for other in &mut self.entries {
            other.with.retain(|&with| with != id);
        }
        if entry.type_id.and_then(built_in).is_none() {
            self.free.push(id);
        }
    }

    /// Every relation type that is registered.
    pub(crate) fn declared(&self) -> impl Iterator<Item = RelationId> + use<'_> {
        self.ids().filter(|&id| self.entry(id).declared)
    }

    /// Every relation in use.
    pub(crate) fn ids(&self) -> impl Iterator<Item = RelationId> + use<'_> {
        let used = self.entries.iter().enumerate().filter(|(_, entry)| entry.in_use);
        used.map(|(index, _)| RelationId(index as u32))
    }

    /// A name for messages about any entity in the first position of a pair.
    pub(crate) fn name_of(&self, relation: Entity) -> RelationName {
        match self.of_entity(relation) {
            Some(id) => self.entry(id).name(),
            None => {
                let named = self.type_entities.get(&relation).and_then(|type_id| self.types.get(type_id));
                RelationName { name: named.and_then(|entry| entry.name.clone()), entity: relation }
            }
        }
    }

    /// The name of the relation of a pair, if that is one entity and has a name.
    pub(crate) fn relation_name(&self, pair: PairId) -> Option<Cow<'static, str>> {
        self.name_of(pair.relation().entity()?).name
    }

    /// A name for messages about an entity: that of its relation or type, if it has no other.
    pub(crate) fn entity_name(&self, world: &World, entity: Entity) -> EntityName {
        match world.get::<Name>(entity) {
            Some(name) => EntityName::with_name(entity, Some(name)),
            None => {
                let name = self.name_of(entity).name.map(Name::new);
                EntityName::with_name(entity, name.as_ref())
            }
        }
    }
}
