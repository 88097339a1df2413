//! Reading components from the store.

use super::{
    component::{MirroredPair, MirroredPairs, MirroredRelation, MirroredTarget, MirroredType},
    state::mirrors,
    value::{ReflectedValue, copy},
};
use crate::{
    fetch,
    id::RelationId,
    ops::Followed,
    relation::{ColumnRef, reflected_value},
    store::PairStore,
};
use bevy_ecs::{entity::Entity, reflect::AppTypeRegistry, world::World};
use bevy_reflect::TypeRegistry;
use core::any::{Any, TypeId};

/// The pairs of `R` that `source` has.
pub(super) fn read<R: MirroredRelation>(world: &World, source: Entity) -> MirroredPairs<R> {
    let Some(store) = fetch::store(world) else { return MirroredPairs::default() };
    let Some(id) = store.registry().of_type::<R>() else { return MirroredPairs::default() };
    let pair = pair_reader(world, store, id, source);
    MirroredPairs { pairs: store.relation(id).targets(source).map(pair).collect() }
}

/// The pair of `R` that `source` has with its last target, if that is `target`, and how many pairs it has.
pub(super) fn read_last<R: MirroredRelation>(
    world: &World,
    source: Entity,
    target: Entity,
) -> Option<(MirroredPair<R>, usize)> {
    let store = fetch::store(world)?;
    let id = store.registry().of_type::<R>()?;
    let index = store.relation(id);
    let count = index.target_count(source);
    let last = index.nth_target(source, count.checked_sub(1)?)?;
    (last == target).then(|| (pair_reader(world, store, id, source)(target), count))
}

/// Reads the pairs of `R` that `source` has, target by target.
fn pair_reader<'w, R: MirroredRelation>(
    world: &'w World,
    store: &'w PairStore,
    id: RelationId,
    source: Entity,
) -> impl Fn(Entity) -> MirroredPair<R> + use<'w, R> {
    let values = if size_of::<R>() > 0 { fetch::values::<R>(world) } else { None };
    let places = || {
        let mirror = mirrors(world)?.get(TypeId::of::<MirroredPairs<R>>())?;
        Some(&mirror.relations.get(&Followed::of::<R>())?.places)
    };
    let places = store.registry().entry(id).traits.is_ordered().then(places).flatten();
    let own_value = move |target| {
        store.column_of(id, source, target).filter(|column| column.value_type() == TypeId::of::<R>())?;
        values?.get(store.relation(id).row(source, target)?).cloned()
    };
    move |target| MirroredPair {
        target: read_target(world, store, id, source, target),
        value: values.and_then(|_| own_value(target)),
        place: places.and_then(|places| places.get(source, target)),
    }
}

/// A target, by the name of its type if it stands for one that is registered.
pub(super) fn read_target(
    world: &World,
    store: &PairStore,
    id: RelationId,
    source: Entity,
    target: Entity,
) -> MirroredTarget {
    let of_type = |type_id: TypeId| {
        let registry = world.get_resource::<AppTypeRegistry>()?.read();
        let path = registry.get_type_info(type_id)?.type_path().into();
        let value = read_value(world, store, &registry, id, source, target, type_id);
        Some(MirroredTarget::Type(MirroredType { path, value }))
    };
    let type_id = store.participants().is_type(target).then(|| store.registry().type_of(target)).flatten();
    type_id.and_then(of_type).unwrap_or(MirroredTarget::Entity(target))
}

/// The value of a pair, if it is of the type that the target stands for.
fn read_value(
    world: &World,
    store: &PairStore,
    types: &TypeRegistry,
    id: RelationId,
    source: Entity,
    target: Entity,
    type_id: TypeId,
) -> Option<ReflectedValue> {
    let column = store.column_of(id, source, target).filter(|column| column.value_type() == type_id)?;
    // Then the value is that of the relation.
    if store.registry().entry(id).data.is_some() {
        return None;
    }
    read_from(world, types, column, store.relation(id).row(source, target)?)
}

/// The value of a pair whose relation has values, as reflection shows it.
pub(super) fn read_own_value(
    world: &World,
    store: &PairStore,
    types: &TypeRegistry,
    id: RelationId,
    source: Entity,
    target: Entity,
) -> Option<ReflectedValue> {
    let column = store.registry().entry(id).data?;
    read_from(world, types, column, store.relation(id).row(source, target)?)
}

fn read_from(world: &World, types: &TypeRegistry, column: ColumnRef, row: u32) -> Option<ReflectedValue> {
    let value = reflected_value(types, column.get(world, row)? as &dyn Any)?;
    copy(value).map(ReflectedValue::from_box)
}
