//! What the component of an entity is to say, read from the store.

use super::{
    component::{MirroredPair, MirroredPairs, MirroredRelation, MirroredTarget, MirroredType},
    state::Mirrors,
    value::{ReflectedValue, copy},
};
use crate::{
    fetch,
    id::RelationId,
    ops::Followed,
    relation::ReflectedData,
    store::{PairData, PairStore, RelationIndex},
};
use bevy_ecs::{entity::Entity, reflect::AppTypeRegistry, world::World};
use bevy_reflect::{ReflectFromPtr, TypeRegistry};
use core::any::{Any, TypeId};

/// The pairs of `R` that `source` has.
pub(super) fn read<R: MirroredRelation>(world: &World, source: Entity) -> MirroredPairs<R> {
    read_some(world, source, |index| index.targets(source))
}

/// The pair of `R` that `source` has with its last target, if that is `target`, and how many pairs it has.
pub(super) fn read_last<R: MirroredRelation>(
    world: &World,
    source: Entity,
    target: Entity,
) -> Option<(MirroredPair<R>, usize)> {
    let mut count = 0;
    let mut last = read_some(world, source, |index| {
        count = index.target_count(source);
        let last = count.checked_sub(1).and_then(|last| index.nth_target(source, last));
        last.filter(|&last| last == target)
    });
    Some((last.pairs.pop()?, count))
}

fn read_some<'w, R: MirroredRelation, I: IntoIterator<Item = Entity>>(
    world: &'w World,
    source: Entity,
    targets: impl FnOnce(&'w RelationIndex) -> I,
) -> MirroredPairs<R> {
    let Some(store) = fetch::store(world) else { return MirroredPairs::default() };
    let Some(id) = store.registry().of_type::<R>() else { return MirroredPairs::default() };
    let values = world.get_resource::<PairData<R>>();
    let is_ordered = store.registry().entry(id).traits.is_ordered();
    let mirror = world.get_resource::<Mirrors>().and_then(|mirrors| mirrors.get::<MirroredPairs<R>>());
    let places = mirror.and_then(|mirror| Some(&mirror.relations.get(&Followed::of::<R>())?.places));
    let pairs = targets(store.relation(id)).into_iter().map(|target| {
        let row = store.relation(id).row(source, target);
        let own =
            store.column_of(id, source, target).filter(|column| column.value_type() == TypeId::of::<R>());
        let value = own.and_then(|_| values?.get(row?).cloned());
        let place = places.filter(|_| is_ordered).and_then(|places| places.get(source, target));
        MirroredPair { target: read_target(world, store, id, source, target), value, place }
    });
    MirroredPairs { pairs: pairs.collect() }
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
    registry: &TypeRegistry,
    id: RelationId,
    source: Entity,
    target: Entity,
    type_id: TypeId,
) -> Option<ReflectedValue> {
    let column = store.column_of(id, source, target).filter(|column| column.value_type() == type_id)?;
    // That is a value of the relation.
    if store.registry().entry(id).data.is_some() {
        return None;
    }
    let value = column.get(world, store.relation(id).row(source, target)?)?;
    let reflect = registry.get_type_data::<ReflectFromPtr>(type_id)?.as_reflect(value as &dyn Any)?;
    copy(reflect.as_partial_reflect()).map(ReflectedValue::from_box)
}

/// The value of a pair whose relation has values, as reflection shows it.
pub(super) fn read_own_value(
    world: &World,
    store: &PairStore,
    registry: &TypeRegistry,
    id: RelationId,
    source: Entity,
    target: Entity,
) -> Option<ReflectedValue> {
    let column = store.registry().entry(id).data?;
    let value = column.get(world, store.relation(id).row(source, target)?)?;
    let copied = match (value as &dyn Any).downcast_ref::<ReflectedData>() {
        Some(ReflectedData(value)) => copy(&**value),
        None => {
            let reflect = registry.get_type_data::<ReflectFromPtr>(column.value_type())?;
            copy(reflect.as_reflect(value as &dyn Any)?.as_partial_reflect())
        }
    };
    copied.map(ReflectedValue::from_box)
}
