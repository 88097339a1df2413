//! [`MirroredPairs`] as a component that mirrors pairs.

use super::{
    component::{MirroredPair, MirroredPairs, MirroredRelation, is_same_value},
    erase::kind_of,
    kind::{Due, Errors, MirrorComponent},
    read::{read, read_last},
    set::{Wanted, resolve, set_pairs},
    state::{ValuesRead, mirror, with},
    write,
};
use crate::{
    fetch,
    id::StoredPair,
    ops::{self, Followed, TypedValue, ValueType},
    relation::TraitsError,
    store::PairStore,
};
use alloc::{boxed::Box, vec, vec::Vec};
use bevy_ecs::{
    entity::{Entity, EntityHashSet},
    world::World,
};

impl<R: MirroredRelation> MirrorComponent for MirroredPairs<R> {
    type Pair = MirroredPair<R>;

    fn start(world: &mut World) -> Result<(), TraitsError> {
        ops::register_relation::<R>(world)?;
        write::start(world, kind_of::<Self>(), !R::traits().is_transient());
        Ok(())
    }

    fn relations(world: &World) -> Vec<Followed> {
        let key = Followed::of::<R>();
        key.entity(world).map(|_| key).into_iter().collect()
    }

    fn shows_any(store: &PairStore, source: Entity) -> bool {
        Followed::of::<R>().relation(store).is_some_and(|id| store.relation(id).has_any(source))
    }

    fn read(world: &World, source: Entity) -> Self {
        read(world, source)
    }

    fn read_last(world: &World, source: Entity, target: Entity) -> Option<(MirroredPair<R>, usize)> {
        read_last(world, source, target)
    }

    fn pairs(&self) -> &[MirroredPair<R>] {
        &self.pairs
    }

    fn push(&mut self, pair: MirroredPair<R>) {
        self.pairs.push(pair);
    }

    fn of_pair(pair: MirroredPair<R>) -> Self {
        Self { pairs: vec![pair] }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.lists_same(other)
    }

    fn set_pairs(&self, world: &mut World, source: Entity, errors: &mut Errors) {
        let entity = match ops::register_relation::<R>(world) {
            Ok(entity) => entity,
            Err(error) => return errors.lasting.push(error.into()),
        };
        let listed = self.pairs.iter().map(|pair| (&pair.target, pair));
        let pairs = resolve(world, source, entity, listed, errors);
        let choose = |world: &World, stored, wanted: Wanted<&MirroredPair<R>>, _: &mut Errors| {
            (wanted.mirrored.place, changed_value(world, stored, wanted))
        };
        set_pairs(world, kind_of::<Self>(), source, (Followed::of::<R>(), entity), pairs, choose, errors);
    }

    fn note_silent_changes(world: &mut World) {
        note_written_values::<R>(world);
    }
}

/// The value that a pair is to get: `None` if it has that already.
fn changed_value<R: MirroredRelation>(
    world: &World,
    pair: StoredPair,
    wanted: Wanted<&MirroredPair<R>>,
) -> Option<TypedValue> {
    let Wanted { mirrored, value, .. } = wanted;
    match mirrored.value.as_ref().filter(|_| size_of::<R>() > 0) {
        Some(own) if stored_value::<R>(world, pair).is_some_and(|stored| is_same_value(stored, own)) => None,
        Some(own) => Some(TypedValue { value_type: ValueType::of::<R>(), value: Box::new(own.clone()) }),
        None => value.filter(|_| !is_stored(world, pair, mirrored)),
    }
}

/// The value of a pair in the store.
fn stored_value<R: MirroredRelation>(world: &World, pair: StoredPair) -> Option<&R> {
    let row = fetch::store(world)?.relation(pair.relation).row(pair.source, pair.target)?;
    fetch::values(world)?.get(row)
}

/// Whether a pair with a type as its target has the value that the component lists.
fn is_stored<R: MirroredRelation>(world: &World, pair: StoredPair, mirrored: &MirroredPair<R>) -> bool {
    let there = read::<R>(world, pair.source);
    there.pairs.iter().any(|stored| stored.target == mirrored.target)
}

/// Notes the pairs whose values were written in place since the last call.
fn note_written_values<R: MirroredRelation>(world: &mut World) {
    let kind = kind_of::<MirroredPairs<R>>();
    let Some(before) = mirror(world, kind).map(|mirror| mirror.values_read) else { return };
    let Some(values) = fetch::values::<R>(world) else { return };
    if values.write_borrows() == before.write_borrows {
        return;
    }
    let Some((store, id)) =
        fetch::store(world).and_then(|store| Some((store, store.registry().of_type::<R>()?)))
    else {
        return;
    };
    let now = ValuesRead {
        write_borrows: values.write_borrows(),
        tick: world.read_change_tick(),
        tick_checks: store.tick_checks(),
    };
    let index = store.relation(id);
    let are_comparable = now.tick_checks.can_compare(before.tick_checks);
    let is_newer = |source, target| {
        let tick = index.row(source, target).and_then(|row| values.changed(row));
        tick.is_some_and(|tick| !are_comparable || tick.is_newer_than(before.tick, now.tick))
    };
    // Each source once: its component is compared as a whole.
    let mut met = EntityHashSet::default();
    let written = index.iter().filter(|&(source, target)| is_newer(source, target) && met.insert(source));
    let written: Vec<Due> = written.map(|(source, _)| source.into()).collect();
    // What is written from now on has a later tick.
    world.increment_change_tick();
    with(world, kind, |mirror| {
        mirror.values_read = now;
        mirror.due.extend(written);
    });
}
