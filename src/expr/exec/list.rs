//! Whether an entity has what another is made of.

use crate::{
    expr::{
        bind::ListMode,
        eval::{View, internal_components, unlisted_components},
    },
    id::RelationId,
    relation::{CHILD_OF, IS_A, OnInstantiate},
};
use bevy_ecs::{component::ComponentId, entity::Entity};
use smallvec::{SmallVec, smallvec};

/// An id of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ListedId {
    Component(ComponentId),
    Tag(Entity),
    Pair(RelationId, Entity),
}

impl View<'_> {
    /// Whether `source` has the ids of `list`, and of the lists that it is a kind of, which are not kept to itself. An
    /// entry that has such ids is a list itself: to have all of them is as good as to have it.
    pub(super) fn has_ids_of(
        &self,
        source: Entity,
        list: Entity,
        mode: ListMode,
        unlisted: &[ComponentId],
        steps: &mut u64,
    ) -> bool {
        if !self.is_alive(list) || !self.is_alive(source) {
            return false;
        }
        let (mut all, mut some, mut any) = (true, false, false);
        self.walk_lists(list, unlisted, steps, &mut |_, id| {
            let has = self.has_listed(source, id);
            let nested = if mode == ListMode::All && has { None } else { self.nested_list(id, unlisted) };
            any = true;
            all &= has || nested.is_some();
            some |= has;
            nested
        });
        match mode {
            ListMode::All => all,
            ListMode::Some => some || !any,
            ListMode::None => !some,
        }
    }

    /// Calls `see` with all ids that [`has_ids_of`](Self::has_ids_of) may look for, each with its list. There are none if `list`
    /// has died.
    pub(crate) fn listed_ids(&self, list: Entity, see: &mut dyn FnMut(Entity, ListedId)) {
        let unlisted = unlisted_components(self.access, &internal_components(self.access));
        self.walk_lists(list, &unlisted, &mut 0, &mut |list, id| {
            see(list, id);
            self.nested_list(id, &unlisted)
        });
    }

    /// Calls `see` with the ids of a list, of those that it is a kind of, and of those that `see` returns.
    fn walk_lists(
        &self,
        list: Entity,
        unlisted: &[ComponentId],
        steps: &mut u64,
        see: &mut dyn FnMut(Entity, ListedId) -> Option<Entity>,
    ) {
        let mut lists: SmallVec<[Entity; 4]> = smallvec![list];
        let mut inner: SmallVec<[Entity; 4]> = SmallVec::new();
        let mut at = 0;
        while let Some(&list) = lists.get(at) {
            *steps += 1;
            self.each_listed(list, unlisted, &mut |id| {
                *steps += 1;
                if let Some(nested) = see(list, id).filter(|nested| !inner.contains(nested)) {
                    inner.push(nested);
                }
            });
            for nested in inner.drain(..) {
                if !lists.contains(&nested) {
                    lists.push(nested);
                }
            }
            for base in self.targets(IS_A, list) {
                if !lists.contains(&base) {
                    lists.push(base);
                }
            }
            at += 1;
        }
    }

    fn has_listed(&self, source: Entity, id: ListedId) -> bool {
        match id {
            ListedId::Component(component) => self.has_component(source, component),
            ListedId::Tag(tag) => self.has_tag(source, tag),
            ListedId::Pair(relation, target) => self.index(relation).has(source, target),
        }
    }

    /// The entity of an entry that is a list: neither a type nor anything with traits, and with ids of its own.
    fn nested_list(&self, id: ListedId, unlisted: &[ComponentId]) -> Option<Entity> {
        let ListedId::Tag(tag) = id else { return None };
        let registry = self.store.registry();
        if registry.is_type(tag) || registry.of_entity(tag).is_some() {
            return None;
        }
        let mut any = false;
        self.each_listed(tag, unlisted, &mut |_| any = true);
        any.then_some(tag)
    }

    /// Calls `see` with each id of `list` itself.
    fn each_listed(&self, list: Entity, unlisted: &[ComponentId], see: &mut dyn FnMut(ListedId)) {
        let components = self.components_on(list).iter();
        for &component in components.filter(|component| !unlisted.contains(component)) {
            if self.is_listed_component(component) {
                see(ListedId::Component(component));
            }
        }
        self.tags().targets(list).filter(|&tag| self.is_listed(tag)).for_each(|tag| see(ListedId::Tag(tag)));
        for relation in self.store.relations_of(list) {
            if relation != CHILD_OF && self.is_listed(self.store.registry().entry(relation).entity) {
                self.targets(relation, list).for_each(|target| see(ListedId::Pair(relation, target)));
            }
        }
    }

    /// Whether instances get the id, so that it counts as part of what an entity is made of.
    fn is_listed(&self, id: Entity) -> bool {
        let registry = self.store.registry();
        let rule = registry.of_entity(id).map(|id| registry.entry(id).traits.instantiate_rule());
        rule != Some(OnInstantiate::DontInherit)
    }

    fn is_listed_component(&self, component: ComponentId) -> bool {
        let entity = self.value_of_component(component).entity();
        entity.is_none_or(|entity| self.is_listed(entity))
    }
}
