//! What an [outline](super::outline) is derived from. If that changes, everything starts anew.

use crate::{
    expr::{AtomId, BoundElement, BoundQuery, Condition, Item, ListedId, View, hidden, traits_of},
    id::RelationId,
    relation::IS_A,
    store::StoreId,
};
use alloc::vec::Vec;
use bevy_ecs::{component::ComponentId, entity::Entity, hierarchy::Children, name::Name};
use core::any::TypeId;
use smallvec::SmallVec;

/// What an entity stands for.
#[derive(Clone, Copy, PartialEq, Debug)]
struct NameMeaning {
    alive: bool,
    relation: Option<(RelationId, u32)>,
    component: Option<ComponentId>,
}

impl NameMeaning {
    fn of(view: &View<'_>, entity: Entity) -> Self {
        let registry = view.store.registry();
        let relation = registry.of_entity(entity);
        Self {
            alive: view.is_alive(entity),
            relation: relation.map(|id| (id, traits_of(&registry.entry(id).traits))),
            component: view.component_of(entity),
        }
    }
}

/// What the names of an expression mean, and what follows from traits.
pub(super) struct Premise {
    store: StoreId,
    /// Every entity that it names, and their kinds.
    meanings: Vec<(Entity, NameMeaning)>,
    /// Ids with their kinds, for a version of the pairs of `IsA`.
    kinds: Vec<(Entity, SmallVec<[Entity; 4]>)>,
    bases: u64,
    hidden: SmallVec<[ComponentId; 8]>,
    singletons: Vec<(ComponentId, Option<Entity>)>,
    /// Every relation, if it asks for any.
    relations: Option<Vec<Entity>>,
    /// Components that names depend on, and that are not registered yet.
    awaited: SmallVec<[TypeId; 2]>,
    /// For each list that it names: the ids in it and in the lists within it.
    lists: Vec<(Entity, Vec<(Entity, ListedId)>)>,
}

impl Premise {
    pub(super) fn new(query: &BoundQuery, view: &View<'_>) -> Self {
        let mut named = alloc::vec![view.store.registry().entry(IS_A).entity];
        query.clone().each_entity(&mut |&mut entity| named.push(entity));
        let (mut kinds, mut any) = (Vec::new(), false);
        each_condition(&query.items, &mut |condition| {
            let Condition::Match(atom) = condition else { return };
            let id = match atom.id {
                AtomId::Component(component) => view.value_of_component(component).entity(),
                AtomId::Tag(tag) => Some(tag),
                AtomId::Pair(pair) => {
                    any |= matches!(pair.relation, BoundElement::Var(_) | BoundElement::Any);
                    pair.relation.entity()
                }
                AtomId::AnyId(_) => None,
            };
            named.extend(id);
            kinds.extend(id.filter(|_| atom.subtypes).map(|id| (id, view.subtypes(id))));
        });
        kinds.iter().for_each(|(_, kinds)| named.extend(kinds));
        named.sort_unstable();
        named.dedup();
        let mut lists = Vec::new();
        each_condition(&query.items, &mut |condition| {
            if let &Condition::List { list: BoundElement::Entity(list), .. } = condition {
                let mut ids = Vec::new();
                view.listed_ids(list, &mut |of, id| ids.push((of, id)));
                lists.push((list, ids));
            }
        });
        Self {
            store: view.store.id(),
            meanings: named.into_iter().map(|entity| (entity, NameMeaning::of(view, entity))).collect(),
            kinds,
            bases: view.index(IS_A).version(),
            hidden: hidden(query, view),
            singletons: query
                .singletons
                .iter()
                .map(|&component| (component, view.access.resource_entity(component)))
                .collect(),
            relations: any.then(|| relations(view).collect()),
            awaited: [TypeId::of::<Name>(), TypeId::of::<Children>()]
                .into_iter()
                .filter(|&type_id| is_awaited(type_id, view))
                .collect(),
            lists,
        }
    }

    /// Whether all of this is unchanged.
    pub(super) fn holds(&mut self, query: &BoundQuery, view: &View<'_>) -> bool {
        let bases = view.index(IS_A).version();
        if self.bases != bases {
            self.bases = bases;
            if self.kinds.iter().any(|(id, kinds)| view.subtypes::<[Entity; 4]>(*id) != *kinds) {
                return false;
            }
        }
        self.store == view.store.id()
            && self.meanings.iter().all(|&(entity, meaning)| NameMeaning::of(view, entity) == meaning)
            && self.singletons.iter().all(|&(id, entity)| view.access.resource_entity(id) == entity)
            && self.relations.as_ref().is_none_or(|known| relations(view).eq(known.iter().copied()))
            && self.hidden == hidden(query, view)
            && self.awaited.iter().all(|&type_id| is_awaited(type_id, view))
            && self.lists.iter().all(|(list, ids)| {
                let (mut known, mut same) = (ids.iter(), true);
                view.listed_ids(*list, &mut |of, id| same &= known.next() == Some(&(of, id)));
                same && known.next().is_none()
            })
    }
}

/// Whether no entity can have had a component of this type so far.
fn is_awaited(type_id: TypeId, view: &View<'_>) -> bool {
    view.access.components().get_id(type_id).is_none()
}

fn relations(view: &View<'_>) -> impl Iterator<Item = Entity> {
    let registry = view.store.registry();
    registry.ids().map(|id| registry.entry(id).entity)
}

/// The condition of every term, also within scopes.
fn each_condition<'q>(items: &'q [Item], each: &mut dyn FnMut(&'q Condition)) {
    for item in items {
        match item {
            Item::Term(term) => each(&term.condition),
            Item::Not(items) => each_condition(items, each),
            Item::Or(chain) => chain.branches.iter().for_each(|branch| each_condition(branch, each)),
        }
    }
}
