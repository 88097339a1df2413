//! Making the pairs of an entity those that its component says.

use super::{
    component::{MirroredPair, MirroredPairs, MirroredRelation, MirroredTarget, MirroredType, is_same_value},
    error::MirrorError,
    read::read,
    state::{MAX_PLACE, with},
    write,
};
use crate::{
    fetch,
    id::{RelationId, StoredPair},
    ops::{
        self, AttemptedPair, Followed, InsertPairError, PairRole, ValueType, WantedPair, entity_of_type_id,
        report, to_bevy,
    },
    relation::{BoxedValue, EntityName, TraitsError},
    store::PairData,
};
use alloc::{boxed::Box, collections::VecDeque, vec::Vec};
use bevy_ecs::{
    entity::{Entity, EntityHashMap},
    reflect::AppTypeRegistry,
    resource::Resource,
    world::World,
};
use bevy_reflect::ReflectFromReflect;
use core::any::{TypeId, type_name};

/// Components of scenes that a rule has refused. It may allow them once the rest of the scene is there.
#[derive(Resource)]
struct Waiting<R: MirroredRelation>(VecDeque<Refused<R>>);

struct Refused<R> {
    source: Entity,
    wanted: MirroredPairs<R>,
    /// What the pairs were then. If they have been changed since, they stay.
    then: MirroredPairs<R>,
    errors: Vec<MirrorError>,
}

/// Why a component is not, or not in full, what the pairs are now.
#[derive(Default)]
struct Errors {
    now: Vec<MirrorError>,
    /// What may be otherwise once the rest of a scene is there.
    for_now: Vec<MirrorError>,
}

/// Mirrors the pairs of `R` from now on, and applies the components that are there.
pub(super) fn start<R: MirroredRelation>(world: &mut World) -> Result<(), TraitsError> {
    write::start::<R>(world, maintain::<R>)?;
    maintain::<R>(world);
    Ok(())
}

/// Applies the component of an entity, or its removal, unless that was done.
pub(super) fn apply<R: MirroredRelation>(world: &mut World, source: Entity, may_wait: bool) {
    let key = Followed::of::<R>();
    if with(world, key, |_| ()).is_none()
        && let Err(error) = write::start::<R>(world, maintain::<R>)
    {
        report(world.commands(), to_bevy(MirrorError::from(error)));
        return;
    }
    if with(world, key, |mirror| mirror.written.contains(&source)) != Some(true) {
        return;
    }
    if let Some(mut waiting) = world.get_resource_mut::<Waiting<R>>() {
        waiting.0.retain(|refused| refused.source != source);
    }
    if !world.entities().contains_spawned(source) {
        with(world, key, |mirror| mirror.written.remove(&source));
        return;
    }
    let wanted = world.get::<MirroredPairs<R>>(source).cloned().unwrap_or_default();
    let Errors { now, for_now } = settle(world, source, &wanted);
    if may_wait && !for_now.is_empty() {
        let then = read(world, source);
        wait(world, Refused { source, wanted, then, errors: for_now });
        report_all(world, now);
    } else {
        report_all(world, now.into_iter().chain(for_now));
    }
}

fn report_all(world: &mut World, errors: impl IntoIterator<Item = MirrorError>) {
    for error in errors {
        report(world.commands(), to_bevy(error));
    }
    world.flush();
}

/// Does everything that is due for a relation, and what lost commands were to do.
fn maintain<R: MirroredRelation>(world: &mut World) {
    let key = Followed::of::<R>();
    write::mend::<R>(world);
    let written = with(world, key, |mirror| mirror.written.iter().copied().collect::<Vec<_>>());
    for source in written.unwrap_or_default() {
        apply::<R>(world, source, false);
    }
    write::note_written_values::<R>(world);
    write::update::<R>(world);
    retry::<R>(world);
}

/// Tries again what was refused while a scene was being applied, until nothing of it is allowed any more. The rest is
/// reported. If an observer panics, those that are still to be tried wait on.
fn retry<R: MirroredRelation>(world: &mut World) {
    loop {
        let waiting = world.get_resource::<Waiting<R>>().map_or(0, |waiting| waiting.0.len());
        let mut refused = 0;
        for _ in 0..waiting {
            let Some(next) = next_waiting::<R>(world) else { break };
            let Refused { source, wanted, then, errors } = next;
            if !world.entities().contains_spawned(source) {
                continue;
            }
            if !read::<R>(world, source).is_same(&then) {
                report_all(world, errors);
                continue;
            }
            let errors = settle(world, source, &wanted).for_now;
            if !errors.is_empty() {
                let then = read(world, source);
                wait(world, Refused { source, wanted, then, errors });
                refused += 1;
            }
        }
        if refused == waiting {
            break;
        }
    }
    while let Some(refused) = next_waiting::<R>(world) {
        report_all(world, refused.errors);
    }
}

fn next_waiting<R: MirroredRelation>(world: &mut World) -> Option<Refused<R>> {
    world.get_resource_mut::<Waiting<R>>()?.0.pop_front()
}

fn wait<R: MirroredRelation>(world: &mut World, refused: Refused<R>) {
    match world.get_resource_mut::<Waiting<R>>() {
        Some(mut waiting) => waiting.0.push_back(refused),
        None => world.insert_resource(Waiting(VecDeque::from([refused]))),
    }
}

/// A pair as the component names it.
struct Wanted<'a, R> {
    mirrored: &'a MirroredPair<R>,
    target: Entity,
    /// The value, if it is of the type that the target stands for.
    value: Option<(ValueType, BoxedValue)>,
}

/// Makes the pairs of an entity those of a component as far as the rules allow it, and the component what the pairs are.
fn settle<R: MirroredRelation>(world: &mut World, source: Entity, wanted: &MirroredPairs<R>) -> Errors {
    let key = Followed::of::<R>();
    let mut errors = Errors::default();
    // One that was written meanwhile is noted as such until the end: it is written back once, and if an observer panics,
    // all of this is done again at the next maintenance.
    set_pairs(world, source, wanted, &mut errors);
    with(world, key, |mirror| {
        mirror.written.remove(&source);
        mirror.due.push_back(source.into());
    });
    write::update::<R>(world);
    errors
}

/// Makes the pairs of an entity those of a component as far as the rules allow it.
fn set_pairs<R: MirroredRelation>(
    world: &mut World,
    source: Entity,
    wanted: &MirroredPairs<R>,
    errors: &mut Errors,
) {
    let entity = match ops::register_relation::<R>(world) {
        Ok(entity) => entity,
        Err(error) => return errors.now.push(error.into()),
    };
    let pairs = resolve(world, source, wanted, errors);
    let key = Followed::of::<R>();
    let Some(relation) = fetch::store(world).and_then(|store| key.relation(store)) else { return };
    let place = |pair: &Wanted<'_, R>| pair.mirrored.place.map(|place| place.min(MAX_PLACE));
    let places: Vec<(Entity, Option<u64>)> = pairs.iter().map(|pair| (pair.target, place(pair))).collect();
    let pairs = pairs.into_iter().map(|pair| with_value(world, source, relation, pair)).collect();
    match ops::set_pairs(world, source, relation, pairs) {
        Ok(()) => order_sources::<R>(world, source, entity, &places),
        Err(error) => {
            let source_entity = EntityName::new(world, source);
            errors.for_now.push(MirrorError::Refused { source_entity, error: Box::new(error) });
        }
    }
}

/// The pairs of a component whose targets are there, each once.
fn resolve<'a, R: MirroredRelation>(
    world: &mut World,
    source: Entity,
    wanted: &'a MirroredPairs<R>,
    errors: &mut Errors,
) -> Vec<Wanted<'a, R>> {
    let mut pairs: Vec<Wanted<'a, R>> = Vec::with_capacity(wanted.pairs.len());
    let mut numbers = EntityHashMap::default();
    for mirrored in &wanted.pairs {
        let (target, value) = match &mirrored.target {
            MirroredTarget::Entity(target) => (*target, None),
            MirroredTarget::Type(named) => match resolve_type(world, source, named) {
                Ok(resolved) => resolved,
                Err(error) => {
                    errors.now.push(error);
                    continue;
                }
            },
        };
        if !world.entities().contains_spawned(target) {
            errors.for_now.push(dead::<R>(world, source, target));
            continue;
        }
        let pair = Wanted { mirrored, target, value };
        let number = *numbers.entry(target).or_insert(pairs.len());
        if number < pairs.len() {
            let [source_entity, target] = [source, target].map(|end| EntityName::new(world, end));
            errors.now.push(MirrorError::Twice { source_entity, target });
            pairs[number] = pair;
        } else {
            pairs.push(pair);
        }
    }
    pairs
}

fn dead<R: MirroredRelation>(world: &World, source: Entity, target: Entity) -> MirrorError {
    let [source_entity, target] = [source, target].map(|end| EntityName::new(world, end));
    let known = fetch::store(world).and_then(|store| {
        let id = store.registry().of_type::<R>()?;
        Some(store.registry().entry(id).name())
    });
    let error = match known {
        Some(relation) => {
            let pair = AttemptedPair { source_entity: source_entity.clone(), relation, target };
            InsertPairError::Dead { pair, dead: PairRole::Target }
        }
        None => InsertPairError::StoreRemoved { source_entity: source_entity.clone(), target },
    };
    MirrorError::LeftOut { source_entity, error: Box::new(error) }
}

/// The entity of a type that is a target, and the value of the pair, if it is given.
fn resolve_type(
    world: &mut World,
    source: Entity,
    named: &MirroredType,
) -> Result<(Entity, Option<(ValueType, BoxedValue)>), MirrorError> {
    let path = || named.path.clone();
    let registry = world.get_resource_or_init::<AppTypeRegistry>().clone();
    let registry = registry.read();
    let Some(registration) = registry.get_with_type_path(&named.path) else {
        return Err(MirrorError::UnknownType { source_entity: EntityName::new(world, source), path: path() });
    };
    let type_id = registration.type_id();
    let given = named.value.as_ref().map(|value| {
        let reflect = registration.data::<ReflectFromReflect>()?;
        Some(reflect.from_reflect(value.get())?.into_any())
    });
    drop(registry);
    let target = entity_of_type_id(world, type_id);
    let value = match given {
        None => None,
        Some(given) => {
            let column = fetch::store(world).and_then(|store| store.column_of_type_entity(target));
            let boxed = given.zip(column).and_then(|(value, column)| {
                let value_type = ValueType { type_id: column.value_type(), name: column.value_name() };
                Some((value_type, column.sendable(value)?))
            });
            if boxed.is_none() {
                let source_entity = EntityName::new(world, source);
                return Err(MirrorError::WrongValue { source_entity, path: path() });
            }
            boxed
        }
    };
    Ok((target, value))
}

/// The value that a pair is to get: none if it has the same.
fn with_value<R: MirroredRelation>(
    world: &World,
    source: Entity,
    relation: RelationId,
    pair: Wanted<'_, R>,
) -> WantedPair {
    let Wanted { mirrored, target, value } = pair;
    let value_type = ValueType { type_id: TypeId::of::<R>(), name: type_name::<R>() };
    let own = mirrored.value.as_ref().filter(|_| size_of::<R>() > 0);
    let value = match own {
        Some(own) => Some((value_type, Box::new(own.clone()) as BoxedValue)),
        None => value,
    };
    let pair = StoredPair { source, relation, target };
    let is_same = match own {
        Some(own) => stored_value::<R>(world, pair).is_some_and(|stored| is_same_value(stored, own)),
        None => value.is_some() && is_stored(world, pair, mirrored),
    };
    WantedPair { target, value: value.filter(|_| !is_same) }
}

/// The value of a pair in the store.
fn stored_value<R: MirroredRelation>(world: &World, pair: StoredPair) -> Option<&R> {
    let row = fetch::store(world)?.relation(pair.relation).row(pair.source, pair.target)?;
    world.get_resource::<PairData<R>>()?.get(row)
}

/// Whether a pair with a type as its target has the value that the component says.
fn is_stored<R: MirroredRelation>(world: &World, pair: StoredPair, mirrored: &MirroredPair<R>) -> bool {
    let there = read::<R>(world, pair.source);
    there.pairs.iter().any(|stored| stored.target == mirrored.target)
}

/// Puts the sources of the targets in the order of the places that the component gives.
fn order_sources<R: MirroredRelation>(
    world: &mut World,
    source: Entity,
    relation: Entity,
    places: &[(Entity, Option<u64>)],
) {
    let key = Followed::of::<R>();
    write::read_journal::<R>(world);
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
        let is_ordered = with(world, key, |mirror| {
            let before = mirror.places.get(source, target);
            if before == Some(place) {
                return true;
            }
            mirror.places.set(source, target, place);
            if let [.., last, new] = *sources
                && new == source
                && mirror.places.get(last, target) <= Some(place)
            {
                return true;
            }
            let place_of = |source: &Entity| mirror.places.get(*source, target);
            if sources.is_sorted_by_key(place_of) {
                return true;
            }
            sources.sort_by_key(place_of);
            false
        });
        if is_ordered == Some(false) {
            // They are the sources, and the relation is ordered.
            let _ = ops::order_sources(world, relation, target, &sources);
        }
    }
}
