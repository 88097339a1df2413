//! Watches for terms on fields of components, values of pairs, keys, names and lists.

#[cfg(feature = "bevy_reflect")]
use super::MemberField;
use super::{Analysis, End, FactPart, Reason, Subject, WalkStep};
#[cfg(feature = "bevy_reflect")]
use crate::expr::MemberAtom;
use crate::{
    expr::{Atom, AtomId, BoundElement, KeyedAtom, ListedId, PairAtom, ValueAtom, ValueHolder, Var, VarSet},
    relation::CHILD_OF,
    traverse::Direction,
};
use alloc::vec::Vec;
use bevy_ecs::{
    component::{Component, ComponentId},
    entity::Entity,
    hierarchy::Children,
    name::Name,
};
use core::any::TypeId;
use smallvec::{SmallVec, smallvec};

impl Analysis<'_, '_> {
    /// A field that is compared.
    pub(super) fn value(&mut self, field: Option<u16>, value: &ValueAtom, seeds: &VarSet) {
        match (value.holder, value.atom.id) {
            // Also an adopted relationship, whose pair comes and goes with the component.
            (ValueHolder::Component(component), _) => {
                self.written(field, value.atom.source, component, seeds);
            }
            (ValueHolder::Pair(values), AtomId::Pair(pair)) => {
                self.pair_value(field, (&value.atom, pair), Some(values), seeds);
            }
            _ => self.add_reason(field, Reason::Values),
        }
    }

    /// A pair by its key, which is part of its value.
    pub(super) fn keyed(&mut self, field: Option<u16>, keyed: &KeyedAtom, seeds: &VarSet) {
        let AtomId::Pair(pair) = keyed.atom.id else { return };
        let registry = self.view.store.registry();
        let relation = pair.relation.entity().and_then(|relation| registry.of_entity(relation));
        let values = relation.and_then(|id| Some(registry.entry(id).data?.value_type()));
        self.pair_value(field, (&keyed.atom, pair), values, seeds);
    }

    /// A pair and its value, of a type.
    fn pair_value(
        &mut self,
        field: Option<u16>,
        (atom, pair): (&Atom, PairAtom),
        values: Option<TypeId>,
        seeds: &VarSet,
    ) {
        let (Some(relation), Some(values)) = (pair.relation.entity(), values) else {
            return self.add_reason(field, Reason::Values);
        };
        self.pair(field, atom, pair, seeds);
        let ends = [(atom.source, FactPart::Reached), (pair.target, FactPart::Other)];
        let ends = ends.map(|(element, part)| (self.end(element, seeds), part));
        self.watch(field, (Subject::Values(relation, values), false), SmallVec::new(), &ends);
    }

    /// A field that holds an entity.
    #[cfg(feature = "bevy_reflect")]
    pub(super) fn member(&mut self, field: Option<u16>, member: &MemberAtom, seeds: &VarSet) {
        let &MemberAtom { source, component, ref path, .. } = member;
        let members = &mut self.outline.members;
        if members.iter().all(|known| known.component != component || known.path != *path) {
            let Some(member) = MemberField::new(self.view.access, component, path) else {
                return self.add_reason(field, Reason::Values);
            };
            members.push(member);
        }
        self.written(field, source, component, seeds);
    }

    /// What a component of `source` holds.
    fn written(&mut self, field: Option<u16>, source: BoundElement, component: ComponentId, seeds: &VarSet) {
        let ends = [(self.end(source, seeds), FactPart::Reached)];
        for subject in [Subject::Component(component), Subject::Written(component)] {
            self.watch(field, (subject, false), SmallVec::new(), &ends);
        }
    }

    fn component<C: Component>(&self) -> Option<ComponentId> {
        self.view.access.components().component_id::<C>()
    }

    /// The name of an entity that is a variable.
    pub(super) fn name(&mut self, field: Option<u16>, named: Var, seeds: &VarSet) {
        match self.component::<Name>() {
            Some(name) => self.written(field, BoundElement::Var(named), name, seeds),
            None => self.add_reason(field, Reason::Names),
        }
    }

    /// The entity at a path: from the value of a variable, or from the roots; then any row may differ.
    pub(super) fn path(&mut self, field: Option<u16>, from: Option<Var>, seeds: &VarSet) {
        let (Some(name), Some(children)) = (self.component::<Name>(), self.component::<Children>()) else {
            return self.add_reason(field, Reason::Names);
        };
        let relation = self.view.store.registry().entry(CHILD_OF).entity;
        let ends: SmallVec<[(End, FactPart); 1]> = from
            .map(|from| (self.end(BoundElement::Var(from), seeds), FactPart::Reached))
            .into_iter()
            .collect();
        // A path goes down, so the walk back to its start goes up.
        let steps: SmallVec<[WalkStep; 2]> = match from {
            Some(_) => smallvec![WalkStep { relation, direction: Direction::Targets, once: false }],
            None => SmallVec::new(),
        };
        let subjects = [Subject::Component(name), Subject::Written(name), Subject::Written(children)]
            .map(|of| (of, false));
        for subject in subjects.into_iter().chain([(Subject::Pairs(relation), true)]) {
            self.watch(field, subject, steps.clone(), &ends);
        }
    }

    /// A walk down to children depends on their order, which is written in place.
    pub(super) fn order_of_children(
        &mut self,
        field: Option<u16>,
        relation: Entity,
        steps: &[WalkStep],
        source: &End,
    ) {
        if relation != self.view.store.registry().entry(CHILD_OF).entity {
            return;
        }
        match self.component::<Children>() {
            Some(children) => {
                let ends = [(source.clone(), FactPart::Reached)];
                self.watch(field, (Subject::Written(children), false), SmallVec::from_slice(steps), &ends);
            }
            None => self.add_reason(field, Reason::Children),
        }
    }

    /// The ids in the list are part of the [premise](super::super::premise).
    pub(super) fn list(
        &mut self,
        field: Option<u16>,
        (source, list): (BoundElement, BoundElement),
        seeds: &VarSet,
    ) {
        let BoundElement::Entity(list) = list else { return self.add_reason(field, Reason::List) };
        let source = self.end(source, seeds);
        let mut all = Vec::new();
        self.view.listed_ids(list, &mut |_, id| all.push(id));
        for id in all {
            let mut ends: SmallVec<[(End, FactPart); 2]> = smallvec![(source.clone(), FactPart::Reached)];
            let subject = match id {
                ListedId::Component(component) => Subject::Component(component),
                ListedId::Tag(tag) => Subject::Tag(tag),
                ListedId::Pair(relation, target) => {
                    ends.push((End::Is(target), FactPart::Other));
                    Subject::Pairs(self.view.store.registry().entry(relation).entity)
                }
            };
            self.watch(field, (subject, false), SmallVec::new(), &ends);
        }
    }
}
