//! Setting the pairs of one relation to those that a component lists.

use super::{
    component::{MirroredTarget, MirroredType},
    error::MirrorError,
    kind::{Due, Errors, Kind},
    state::{MAX_PLACE, MirroredIndex, with},
    write,
};
use crate::{
    fetch,
    id::StoredPair,
    ops::{
        self, AttemptedPair, Followed, InsertPairError, PairRole, TypedValue, ValueType, WantedPair,
        entity_of_type_id,
    },
    relation::{BoxedValue, ColumnRef, EntityName, ReflectedData},
};
use alloc::{boxed::Box, vec::Vec};
use bevy_ecs::{
    entity::{Entity, EntityHashMap},
    reflect::AppTypeRegistry,
    world::World,
};
use bevy_reflect::{PartialReflect, ReflectFromReflect};
use core::any::TypeId;

/// A pair of a component, with its target found.
pub(super) struct Wanted<P> {
    pub(super) mirrored: P,
    pub(super) target: Entity,
    /// The value, if it is of the type that the target stands for.
    pub(super) value: Option<TypedValue>,
}

/// The listed pairs of one relation whose targets exist, each once.
pub(super) fn resolve<'a, P>(
    world: &mut World,
    source: Entity,
    relation: Entity,
    listed: impl Iterator<Item = (&'a MirroredTarget, P)>,
    errors: &mut Errors,
) -> Vec<Wanted<P>> {
    let mut pairs: Vec<Wanted<P>> = Vec::new();
    let mut numbers = EntityHashMap::default();
    for (target, mirrored) in listed {
        let (target, value) = match target {
            MirroredTarget::Entity(target) => (*target, None),
            MirroredTarget::Type(named) => match resolve_type(world, source, named) {
                Ok(resolved) => resolved,
                Err(error) => {
                    errors.lasting.push(error);
                    continue;
                }
            },
        };
        if !world.entities().contains_spawned(target) {
            errors.temporary.push(dead(world, source, relation, target));
            continue;
        }
        let pair = Wanted { mirrored, target, value };
        let number = *numbers.entry(target).or_insert(pairs.len());
        if number < pairs.len() {
            let [source_entity, target] = [source, target].map(|end| EntityName::new(world, end));
            errors.lasting.push(MirrorError::Twice { source_entity, target });
            pairs[number] = pair;
        } else {
            pairs.push(pair);
        }
    }
    pairs
}

/// Makes the pairs that an entity has of a relation those of a component. `choose` returns the place of each, and the
/// value that it is to get: `None` to keep the one that it has.
pub(super) fn set_pairs<P>(
    world: &mut World,
    kind: Kind,
    source: Entity,
    (key, entity): (Followed, Entity),
    pairs: Vec<Wanted<P>>,
    mut choose: impl FnMut(&World, StoredPair, Wanted<P>, &mut Errors) -> (Option<u64>, Option<TypedValue>),
    errors: &mut Errors,
) {
    let Some(relation) = fetch::store(world).and_then(|store| key.relation(store)) else { return };
    let mut places: Vec<(Entity, Option<u64>)> = Vec::with_capacity(pairs.len());
    let mut wanted: Vec<WantedPair> = Vec::with_capacity(pairs.len());
    for pair in pairs {
        let target = pair.target;
        let (place, value) = choose(world, StoredPair { source, relation, target }, pair, errors);
        places.push((target, place.map(|place| place.min(MAX_PLACE))));
        wanted.push(WantedPair { target, value });
    }
    match ops::set_pairs(world, source, relation, wanted) {
        Ok(()) => order_sources(world, kind, source, (key, entity), &places),
        Err(error) => {
            let source_entity = EntityName::new(world, source);
            errors.temporary.push(MirrorError::Refused { source_entity, error: Box::new(error) });
        }
    }
}

/// A reflected value as a column stores it. `None` if it is of another type.
pub(super) fn to_stored(world: &World, column: ColumnRef, value: &dyn PartialReflect) -> Option<BoxedValue> {
    if column.value_type() == TypeId::of::<ReflectedData>() {
        return Some(Box::new(ReflectedData(super::value::copy(value)?)));
    }
    let reflect = {
        let registry = world.get_resource::<AppTypeRegistry>()?.read();
        registry.get_type_data::<ReflectFromReflect>(column.value_type())?.clone()
    };
    column.sendable(reflect.from_reflect(value)?.into_any())
}

fn dead(world: &World, source: Entity, relation: Entity, target: Entity) -> MirrorError {
    let error = match fetch::store(world) {
        Some(store) => {
            let pair = AttemptedPair::new(world, store, source, relation, target);
            InsertPairError::Dead { pair, dead: PairRole::Target }
        }
        None => ops::store_removed(world, source, target),
    };
    MirrorError::LeftOut { source_entity: EntityName::new(world, source), error: Box::new(error) }
}

/// The entity of a type that is a target, and the value of the pair, if it is given.
fn resolve_type(
    world: &mut World,
    source: Entity,
    named: &MirroredType,
) -> Result<(Entity, Option<TypedValue>), MirrorError> {
    let path = || named.path.clone();
    // It may have been taken out of the world for the time being.
    let registry = world.get_resource::<AppTypeRegistry>().map(|registry| registry.read());
    let registration = registry.as_ref().and_then(|registry| registry.get_with_type_path(&named.path));
    let type_id = registration.map(bevy_reflect::TypeRegistration::type_id);
    drop(registry);
    let Some(type_id) = type_id else {
        return Err(MirrorError::UnknownType { source_entity: EntityName::new(world, source), path: path() });
    };
    let target = entity_of_type_id(world, type_id);
    let Some(given) = &named.value else { return Ok((target, None)) };
    let column = fetch::store(world).and_then(|store| store.column_of_type_entity(target));
    let stored = column.and_then(|column| {
        let value = to_stored(world, column, given.get())?;
        Some(TypedValue { value_type: ValueType::of_column(column), value })
    });
    match stored {
        Some(stored) => Ok((target, Some(stored))),
        None => {
            let source_entity = EntityName::new(world, source);
            Err(MirrorError::WrongValue { source_entity, path: path() })
        }
    }
}

/// Puts the sources of the targets in the order of the places that the component gives.
fn order_sources(
    world: &mut World,
    kind: Kind,
    source: Entity,
    (key, relation): (Followed, Entity),
    places: &[(Entity, Option<u64>)],
) {
    write::read_journals(world, kind, Some(key));
    for &(target, place) in places {
        let Some(place) = place else { continue };
        let Some((store, id)) = fetch::store(world).and_then(|store| Some((store, key.relation(store)?)))
        else {
            return;
        };
        if !store.registry().entry(id).traits.is_ordered() || !store.relation(id).has(source, target) {
            continue;
        }
        let mut sources: Vec<Entity> = store.relation(id).sources(target).collect();
        let mut assigned = Vec::new();
        let is_ordered = with(world, kind, |mirror| {
            let Some(MirroredIndex { places, tied, .. }) = mirror.relations.get_mut(&key) else {
                return true;
            };
            let before = places.get(source, target);
            if before == Some(place) {
                return true;
            }
            places.set(source, target, place);
            if let [.., last, new] = *sources
                && new == source
                && places.get(last, target) < Some(place)
            {
                return true;
            }
            let place_of = |source: &Entity| places.get(*source, target);
            let is_ordered = sources.is_sorted_by_key(place_of);
            sources.sort_by_key(place_of);
            if sources.windows(2).any(|pair| place_of(&pair[0]) == place_of(&pair[1])) {
                tied.insert(target);
            }
            assigned.extend(sources.iter().map(place_of));
            is_ordered
        });
        if is_ordered == Some(false) {
            // It cannot fail: these are the sources, and the relation is ordered.
            let _ = ops::order_sources(world, relation, target, &sources);
            // Those with the same place keep it for now: other components of the scene may set theirs.
            write::read_journals(world, kind, Some(key));
            with(world, kind, |mirror| {
                let Some(MirroredIndex { places, .. }) = mirror.relations.get_mut(&key) else { return };
                for (&source, place) in sources.iter().zip(assigned) {
                    place.into_iter().for_each(|place| places.set(source, target, place));
                }
            });
        }
    }
}

/// Gives new places to sources of a target that have the same place, in their present order. Only once the rest of a scene
/// is there, which may set other places.
pub(super) fn break_ties(world: &mut World, kind: Kind) {
    let take = |(&key, index): (&Followed, &mut MirroredIndex)| (key, core::mem::take(&mut index.tied));
    let tied = with(world, kind, |mirror| mirror.relations.iter_mut().map(take).collect::<Vec<_>>());
    let tied = tied.unwrap_or_default().into_iter().flat_map(|(key, targets)| {
        let targets: Vec<Entity> = targets.into_iter().collect();
        targets.into_iter().map(move |target| (key, target))
    });
    let mut any = false;
    for (key, target) in tied {
        let store = fetch::store(world);
        let Some((store, id)) = store.and_then(|store| Some((store, key.relation(store)?))) else { continue };
        let order: Vec<Entity> = store.relation(id).sources(target).collect();
        with(world, kind, |mirror| {
            let Some(MirroredIndex { places, .. }) = mirror.relations.get_mut(&key) else { return };
            mirror.due.extend(places.reorder(target, &order).into_iter().map(Due::from));
        });
        any = true;
    }
    if any {
        write::update(world, kind, None);
    }
}
