//! [`RuntimeMirroredPairs`] as a component that mirrors pairs.

use super::{
    component::is_same_value,
    erase::kind_of,
    error::MirrorError,
    kind::{Due, Errors, Kind, MirrorComponent},
    read::{read_own_value, read_target},
    runtime::{RuntimeMirroredPair, RuntimeMirroredPairs, RuntimeRelation},
    set::{Wanted, resolve, set_pairs, to_stored},
    state::{mirror, with},
    write,
};
use crate::{
    fetch,
    id::{RelationId, StoredPair},
    names::{is_named, relation_name, slot_path, slots},
    ops::{self, Followed, Operation, TypedValue, ValueType, make_relation},
    relation::{EntityName, RelationEntry, TraitsError},
    store::PairStore,
};
use alloc::{
    borrow::Cow,
    string::{String, ToString},
    vec,
    vec::Vec,
};
use bevy_ecs::{entity::Entity, reflect::AppTypeRegistry, world::World};
use bevy_reflect::TypeRegistry;

const KIND: Kind = kind_of::<RuntimeMirroredPairs>();

impl MirrorComponent for RuntimeMirroredPairs {
    type Pair = RuntimeMirroredPair;

    fn start(world: &mut World) -> Result<(), TraitsError> {
        ops::ensure_store(world);
        ops::announce_relations(world, |world, relation| {
            write::follow(world, KIND, Followed::Entity(relation));
        });
        write::start(world, KIND, true);
        Ok(())
    }

    fn relations(world: &World) -> Vec<Followed> {
        let Some(store) = fetch::store(world) else { return Vec::new() };
        let entities = store.registry().ids().filter(|&id| is_runtime(store, id));
        let entities = entities.map(|id| store.registry().entry(id).entity);
        let alive = entities.filter(|&entity| world.entities().contains_spawned(entity));
        let mut relations: Vec<_> = alive.map(Followed::Entity).collect();
        relations.sort_unstable();
        relations
    }

    fn shows_any(store: &PairStore, source: Entity) -> bool {
        shown(store, source).next().is_some()
    }

    fn read(world: &World, source: Entity) -> Self {
        let Some(store) = fetch::store(world) else { return Self::default() };
        let mirror = mirror(world, KIND);
        let mut pairs = Vec::new();
        for id in shown(store, source) {
            let (entry, index) = (store.registry().entry(id), store.relation(id));
            let followed = mirror.and_then(|mirror| mirror.relations.get(&Followed::Entity(entry.entity)));
            let places = followed.map(|followed| &followed.places).filter(|_| entry.traits.is_ordered());
            let name = name_of(world, store, entry.entity).map(Cow::into_owned);
            pairs.extend(index.targets(source).map(|target| RuntimeMirroredPair {
                relation: RuntimeRelation { entity: entry.entity, name: name.clone() },
                target: read_target(world, store, id, source, target),
                value: with_types(world, |types| read_own_value(world, store, types, id, source, target)),
                place: places.and_then(|places| places.get(source, target)),
            }));
        }
        Self { pairs }
    }

    fn read_last(_: &World, _: Entity, _: Entity) -> Option<(RuntimeMirroredPair, usize)> {
        None
    }

    fn pairs(&self) -> &[RuntimeMirroredPair] {
        &self.pairs
    }

    fn push(&mut self, pair: RuntimeMirroredPair) {
        self.pairs.push(pair);
    }

    fn of_pair(pair: RuntimeMirroredPair) -> Self {
        Self { pairs: vec![pair] }
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }

    /// Relation by relation. Pairs of relations that are not listed are removed first: companions of listed pairs come afterwards.
    fn set_pairs(&self, world: &mut World, source: Entity, errors: &mut Errors) {
        let mut lists: Vec<(Entity, Vec<&RuntimeMirroredPair>)> = Vec::new();
        let mut made = Vec::new();
        for pair in &self.pairs {
            match resolve_relation(world, source, &pair.relation, &mut made) {
                Ok(relation) => match lists.iter_mut().find(|(listed, _)| *listed == relation) {
                    Some((_, pairs)) => pairs.push(pair),
                    None => lists.push((relation, Vec::from([pair]))),
                },
                Err(error @ MirrorError::UnknownRelation { .. }) => errors.temporary.push(error),
                Err(error) => errors.lasting.push(error),
            }
        }
        let unlisted = fetch::store(world).map(|store| {
            let there = shown(store, source).map(|id| store.registry().entry(id).entity);
            let unlisted = there.filter(|there| lists.iter().all(|(listed, _)| listed != there));
            unlisted.map(|relation| (relation, Vec::new())).collect::<Vec<_>>()
        });
        let mut operation = Operation::begin(world);
        for (relation, listed) in unlisted.unwrap_or_default().into_iter().chain(lists) {
            // Observers of the relation before may have despawned the source.
            if operation.world().entities().contains_spawned(source) {
                set_some(operation.world(), source, relation, &listed, errors);
            }
        }
        operation.finish();
        // Pairs that are refused make no relation.
        made.into_iter().for_each(|relation| ops::unregister_relation(world, relation));
    }

    /// Notes the sources of relations that have another name.
    fn note_silent_changes(world: &mut World) {
        let mirror = mirror(world, KIND);
        let Some((store, mirror)) = fetch::store(world).zip(mirror) else { return };
        let mut due: Vec<Entity> = Vec::new();
        let mut renamed: Vec<(Followed, Option<String>)> = Vec::new();
        for (&key, index) in &mirror.relations {
            let Some(id) = key.relation(store) else { continue };
            let name = name_of(world, store, store.registry().entry(id).entity);
            if name.as_deref() != index.name.as_deref() {
                renamed.push((key, name.map(Cow::into_owned)));
                due.extend(store.relation(id).all_sources());
            }
        }
        with(world, KIND, |mirror| {
            for (key, name) in renamed {
                mirror.relations.get_mut(&key).into_iter().for_each(|index| index.name.clone_from(&name));
            }
            mirror.due.extend(due.into_iter().map(Due::from));
        });
    }
}

/// Whether a relation was created at run time.
fn is_runtime(store: &PairStore, id: RelationId) -> bool {
    store.registry().entry(id).type_id.is_none()
}

/// The relations of an entity whose pairs its component shows.
fn shown(store: &PairStore, source: Entity) -> impl Iterator<Item = RelationId> + use<'_> {
    let is_shown = |id| is_runtime(store, id) && !store.registry().entry(id).traits.is_transient();
    store.relations_of(source).filter(move |&id| is_shown(id))
}

fn entry_of(store: &PairStore, relation: Entity) -> Option<&RelationEntry> {
    store.registry().of_entity(relation).map(|id| store.registry().entry(id))
}

/// The name by which a relation is found again. As in saves, it is the path of a slot: there are many prefabs with an engine.
fn name_of<'w>(world: &'w World, store: &'w PairStore, relation: Entity) -> Option<Cow<'w, str>> {
    let path = slot_path(world, store, relation).map(Cow::Owned);
    path.or_else(|| relation_name(world, entry_of(store, relation), relation).map(Cow::Borrowed))
}

/// The relations that a name stands for. A slot is a relation as soon as its prefab has an instance, and is found before that.
fn named<'w>(world: &'w World, store: &'w PairStore, name: &'w str) -> impl Iterator<Item = Entity> {
    let registry = store.registry();
    let relations = registry.ids().filter(|&id| is_runtime(store, id)).map(|id| registry.entry(id).entity);
    let new_slots = slots(store).filter(|&slot| registry.of_entity(slot).is_none());
    relations
        .chain(new_slots)
        .filter(move |&relation| is_named((world, store), entry_of(store, relation), relation, name))
}

fn with_types<T>(world: &World, run: impl FnOnce(&TypeRegistry) -> Option<T>) -> Option<T> {
    match world.get_resource::<AppTypeRegistry>() {
        Some(types) => run(&types.read()),
        None => run(&TypeRegistry::empty()),
    }
}

/// The entity of a relation. `made` gets those that were no relations before.
fn resolve_relation(
    world: &mut World,
    source: Entity,
    relation: &RuntimeRelation,
    made: &mut Vec<Entity>,
) -> Result<Entity, MirrorError> {
    if world.entities().contains_spawned(relation.entity) {
        let id = make_relation(world, relation.entity, made)?;
        let store = fetch::store(world);
        return match store.is_some_and(|store| is_runtime(store, id)) {
            true => Ok(relation.entity),
            false => Err(unknown(world, source, relation)),
        };
    }
    let Some((store, name)) = fetch::store(world).zip(relation.name.as_deref()) else {
        return Err(unknown(world, source, relation));
    };
    let mut named = named(world, store, name);
    match (named.next(), named.next()) {
        (Some(found), None) => {
            drop(named);
            make_relation(world, found, made)?;
            Ok(found)
        }
        (None, _) => Err(unknown(world, source, relation)),
        (Some(_), Some(_)) => {
            let source_entity = EntityName::new(world, source);
            Err(MirrorError::AmbiguousRelation { source_entity, name: name.into() })
        }
    }
}

fn unknown(world: &World, source: Entity, relation: &RuntimeRelation) -> MirrorError {
    let source_entity = EntityName::new(world, source);
    let name = relation.name.clone().unwrap_or_else(|| relation.entity.to_string());
    MirrorError::UnknownRelation { source_entity, name }
}

/// Makes the pairs of one relation those that are listed.
fn set_some(
    world: &mut World,
    source: Entity,
    relation: Entity,
    listed: &[&RuntimeMirroredPair],
    errors: &mut Errors,
) {
    let key = Followed::Entity(relation);
    let is_hidden = |store: &PairStore| {
        key.relation(store).is_none_or(|id| store.registry().entry(id).traits.is_transient())
    };
    // A transient relation is not in the component, which leaves its pairs alone.
    if fetch::store(world).is_none_or(is_hidden) {
        return;
    }
    let listed = listed.iter().map(|pair| (&pair.target, *pair));
    let pairs = resolve(world, source, relation, listed, errors);
    set_pairs(world, KIND, source, (key, relation), pairs, choose, errors);
}

/// The place of a pair, and the value that it is to get: `None` if it has that already.
fn choose(
    world: &World,
    pair: StoredPair,
    wanted: Wanted<&RuntimeMirroredPair>,
    errors: &mut Errors,
) -> (Option<u64>, Option<TypedValue>) {
    let Wanted { mirrored, value, .. } = wanted;
    let Some(store) = fetch::store(world) else { return (mirrored.place, None) };
    let value = match (&mirrored.value, store.registry().entry(pair.relation).data) {
        (Some(own), Some(column)) => {
            let there = with_types(world, |types| {
                read_own_value(world, store, types, pair.relation, pair.source, pair.target)
            });
            let is_same = there.is_some_and(|there| is_same_value(there.get(), own.get()));
            let stored = if is_same { None } else { to_stored(world, column, own.get()) };
            if !is_same && stored.is_none() {
                let source_entity = EntityName::new(world, pair.source);
                errors
                    .lasting
                    .push(MirrorError::WrongValue { source_entity, path: column.value_name().into() });
            }
            stored.map(|value| TypedValue { value_type: ValueType::of_column(column), value })
        }
        (Some(_), None) | (None, Some(_)) => None,
        (None, None) => {
            let target = read_target(world, store, pair.relation, pair.source, pair.target);
            let is_there = store.relation(pair.relation).has(pair.source, pair.target);
            value.filter(|_| !is_there || target != mirrored.target)
        }
    };
    (mirrored.place, value)
}
