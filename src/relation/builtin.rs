//! Relations and tags that every world has.

use bevy_ecs::{component::Component, entity_disabling::Disabled, hierarchy::ChildOf, query::Allow};
use bevy_relations_macros::Relation;

use crate::id::RelationId;
use core::any::TypeId;

// Numbers of the relations that every world registers first.
pub(crate) const IS_A: RelationId = RelationId(0);
pub(crate) const SLOT_OF: RelationId = RelationId(1);
pub(crate) const CHILD_OF: RelationId = RelationId(2);

/// How many there are.
pub(crate) const BUILT_INS: usize = 3;

/// The number of a built-in relation: it is reserved, whatever is registered first.
pub(super) fn built_in(type_id: TypeId) -> Option<RelationId> {
    let types = [TypeId::of::<IsA>(), TypeId::of::<SlotOf>(), TypeId::of::<ChildOf>()];
    let numbers = [IS_A, SLOT_OF, CHILD_OF];
    types.into_iter().zip(numbers).find_map(|(built_in, id)| (built_in == type_id).then_some(id))
}

/// `(IsA, base)`: the source is a kind of `base`, or an instance of it.
///
/// Transitive, reflexive and acyclic; an entity may have several bases, of which the first comes first.
#[derive(Relation, Clone, Copy, Debug)]
#[relation(tag, transitive, reflexive, on_instantiate = DontInherit)]
pub struct IsA;

/// `(SlotOf, prefab)`: the source is a child of a prefab that instances will offer under its own name.
///
/// Instances of prefabs cannot be made yet: until then it is a relation like any other, and does nothing by itself.
#[derive(Relation, Clone, Copy, Debug)]
#[relation(tag, exclusive, on_instantiate = DontInherit)]
pub struct SlotOf;

/// Its entity stands for tags where events and errors name a relation, and where a pair is named. It is no relation.
pub(crate) struct Tagged;

/// Marks an entity from which instances will be made.
///
/// Expressions that do not name it leave such entities out. Instances cannot be made yet: a pair of [`IsA`] with a prefab
/// copies neither components nor children.
#[derive(Component, Clone, Copy, Default, Debug)]
pub struct Prefab;

/// A filter that lets those entities through which ordinary queries skip: they have pairs and names too.
pub(crate) type AllEntities = (Allow<Disabled>, Allow<Prefab>);

/// Stands for every relation: `On<PairInserted<Wildcard>>` observes them all.
#[derive(Clone, Copy, Debug)]
pub struct Wildcard;
