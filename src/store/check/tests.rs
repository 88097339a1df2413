//! Stores that are corrupted by hand: each clause of the checker names what it is for.

use crate::{
    id::RelationId,
    relation::{BoxedValue, RelationTraits, Value},
    store::{
        Change, Invariant, Journal, PairData, PairDeltaKind, PairStore, RelationIndex, ticks::PairTicks,
    },
};
use alloc::{boxed::Box, vec::Vec};
use bevy_ecs::{
    change_detection::Tick,
    entity::Entity,
    world::{DeferredWorld, World},
};

/// A store with one relation, beside the world whose entities it names.
pub(in crate::store) struct Bed {
    pub(in crate::store) world: World,
    pub(in crate::store) store: PairStore,
    pub(in crate::store) id: RelationId,
    pub(in crate::store) entities: Vec<Entity>,
    marked: fn(Entity) -> bool,
}

impl Bed {
    /// Without pairs, with forty entities.
    pub(in crate::store) fn new(traits: RelationTraits) -> Self {
        let (mut world, mut store) = (World::new(), PairStore::with_built_ins());
        let entity = world.spawn_empty().id();
        let id = store.registry.add(entity, None);
        store.participants.set_marked(entity, true);
        store.participants.set_relation(entity, true);
        store.registry.entry_mut(id).traits = traits;
        store.create_index(id);
        let mut bed = Self { world, store, id, entities: Vec::new(), marked: |_| true };
        (0..40).for_each(|_| _ = bed.spawn());
        bed
    }

    /// Returns the number of a new entity.
    pub(in crate::store) fn spawn(&mut self) -> usize {
        let entity = self.world.spawn_empty().id();
        self.store.participants.note_relation(entity, self.id);
        self.store.participants.set_marked(entity, true);
        self.entities.push(entity);
        self.entities.len() - 1
    }

    pub(in crate::store) fn targets(&mut self, source: usize) -> Vec<Entity> {
        let source = self.entities[source];
        self.index().targets(source).collect()
    }

    pub(in crate::store) fn index(&mut self) -> &mut RelationIndex {
        self.store.relation_mut(self.id)
    }

    fn journal(&mut self) -> &mut Journal {
        self.store.keep_journal(self.id)
    }

    pub(in crate::store) fn link(&mut self, source: usize, target: usize) {
        let (source, target) = (self.entities[source], self.entities[target]);
        assert!(self.index().link(source, target, Tick::new(1)));
    }

    pub(in crate::store) fn unlink(&mut self, source: usize, target: usize) {
        let (source, target) = (self.entities[source], self.entities[target]);
        assert!(self.index().unlink(source, target).is_some());
    }

    /// The invariant that is found broken.
    pub(in crate::store) fn broken(&self) -> Option<Invariant> {
        self.store.check(&self.world, self.marked).err().map(|error| error.invariant)
    }

    pub(in crate::store) fn is_sound(&self) {
        self.store.check(&self.world, self.marked).unwrap();
    }

    /// Assigns a value to a pair, and says in which row it is.
    fn set_value(&mut self, source: usize, target: usize, value: u32) -> u32 {
        let row = self.insert_value(value);
        let (source, target) = (self.entities[source], self.entities[target]);
        self.index().set_row(source, target, row);
        row
    }

    fn insert_value(&mut self, value: u32) -> u32 {
        let value: BoxedValue = Box::new(value);
        PairData::<u32>::COLUMN
            .insert_value(&mut DeferredWorld::from(&mut self.world), Value::Boxed(value))
            .unwrap()
    }
}

/// Three sources of one target, one of another, and a list that was given back.
fn linked(traits: RelationTraits) -> Bed {
    let mut bed = Bed::new(traits);
    for (source, target) in [(0, 10), (1, 10), (2, 10), (3, 11), (4, 12)] {
        bed.link(source, target);
    }
    bed.unlink(4, 12);
    bed.is_sound();
    bed
}

fn every_layout() -> [RelationTraits; 4] {
    let new = RelationTraits::new;
    [new(), new().exclusive(), new().ordered(), new().exclusive().ordered()]
}

type Corrupt = fn(&mut RelationIndex, &[Entity]);

/// Each of the corruptions is found, and said to break the invariant.
fn each_breaks<const N: usize>(invariant: Invariant, corrupt: [Corrupt; N]) {
    for traits in every_layout() {
        for (number, corrupt) in corrupt.into_iter().enumerate() {
            let mut bed = linked(traits.clone());
            let entities = bed.entities.clone();
            corrupt(bed.index(), &entities);
            assert_eq!(bed.broken(), Some(invariant), "corruption {number} of {traits:?}");
        }
    }
}

#[test]
fn lists_of_sources_that_are_not_used_as_they_should_be_are_named() {
    each_breaks(
        Invariant::Lists,
        [
            // What a list that was given back once kept.
            |index, entities| index.reverse.lists[2].target = Some(entities[12]),
            |index, entities| index.reverse.lists[2].target = Some(entities[10]),
            |index, entities| index.reverse.lists[2].sources.push(entities[4]),
            |index, _| _ = index.reverse.free.pop(),
            |index, _| index.reverse.free.push(2),
            |index, _| index.reverse.free.push(0),
            |index, _| index.reverse.free.push(99),
            |index, _| index.reverse.lists[1].sources.clear(),
            |index, entities| index.reverse.lists[1].target = Some(entities[12]),
            |index, entities| *index.reverse.slots.get_mut(entities[11].index_u32()) = 1,
            |index, entities| *index.reverse.slots.get_mut(entities[12].index_u32()) = 3,
            |index, entities| *index.reverse.slots.get_mut(entities[12].index_u32()) = 99,
            |index, entities| *index.reverse.slots.get_mut(entities[11].index_u32()) = 0,
        ],
    );
}

#[test]
fn what_belongs_to_lists_must_be_as_long_as_they_are() {
    each_breaks(
        Invariant::Lists,
        [
            |index, _| {
                index.track(Tick::new(1));
                index.reverse.extra[0].ticks.pop();
            },
            |index, _| {
                index.track(Tick::new(1));
                index.reverse.extra[2].ticks.push(PairTicks::default());
            },
            |index, _| {
                index.track(Tick::new(1));
                index.reverse.extra.pop();
            },
            |index, _| {
                index.track(Tick::new(1));
                // A tombstone that is last, in a list of one place.
                let _ = index.reverse.extra[1].tombstones.mark_empty(0, 2);
            },
        ],
    );
}

#[test]
fn indices_that_do_not_mirror_each_other_are_named() {
    each_breaks(
        Invariant::Mirror,
        [
            |index, entities| index.forward.set_place(entities[0], entities[10], 1),
            |index, entities| index.forward.set_place(entities[0], entities[10], 7),
            |index, entities| _ = index.forward.remove(entities[0], entities[10]),
            |index, entities| _ = index.reverse.push(entities[10], entities[5]),
            |index, entities| _ = index.reverse.push(entities[10], entities[0]),
            |index, entities| _ = index.reverse.push(entities[13], entities[5]),
            |index, _| _ = index.reverse.remove(0, 0),
            |index, _| _ = index.reverse.remove(1, 0),
            |index, _| index.len += 1,
        ],
    );
}

#[test]
fn a_pair_whose_place_is_a_hole_is_named() {
    let mut bed = linked(RelationTraits::new().ordered());
    let entities = bed.entities.clone();
    bed.unlink(0, 10);
    bed.link(0, 10);
    bed.is_sound();
    // There the source stood once.
    bed.index().forward.set_place(entities[0], entities[10], 0);
    assert_eq!(bed.broken(), Some(Invariant::Mirror));
}

#[test]
fn pairs_that_break_traits_are_named() {
    let mut bed = Bed::new(RelationTraits::new());
    bed.link(0, 1);
    bed.link(0, 2);
    bed.is_sound();
    let id = bed.id;
    bed.store.registry.entry_mut(id).traits = RelationTraits::new().exclusive();
    assert_eq!(bed.broken(), Some(Invariant::Exclusive));

    let mut bed = Bed::new(RelationTraits::new().symmetric());
    bed.link(0, 1);
    assert_eq!(bed.broken(), Some(Invariant::Symmetric));
    bed.link(1, 0);
    bed.is_sound();

    for traits in [RelationTraits::new().acyclic(), RelationTraits::new().acyclic().exclusive()] {
        let mut bed = Bed::new(traits);
        bed.link(0, 1);
        bed.link(1, 2);
        bed.is_sound();
        bed.link(2, 0);
        assert_eq!(bed.broken(), Some(Invariant::Acyclic));
    }
}

#[test]
fn pairs_that_name_the_dead_are_named() {
    for end in [0, 10] {
        let mut bed = linked(RelationTraits::new());
        bed.world.despawn(bed.entities[end]);
        assert_eq!(bed.broken(), Some(Invariant::Alive));
    }
    let mut bed = linked(RelationTraits::new());
    let relation = bed.store.registry.entry(bed.id).entity;
    bed.world.despawn(relation);
    assert_eq!(bed.broken(), Some(Invariant::Alive));

    let mut bed = linked(RelationTraits::new());
    bed.store.registry.remove(bed.id);
    assert_eq!(bed.broken(), Some(Invariant::Alive));
}

#[test]
fn values_without_pairs_and_pairs_without_values_are_named() {
    fn bed() -> Bed {
        let mut bed = Bed::new(RelationTraits::new());
        let (id, kind) = (bed.id, PairData::<u32>::COLUMN);
        kind.init(&mut bed.world);
        bed.store.registry.entry_mut(id).data = Some(kind);
        bed.link(0, 1);
        bed.link(2, 3);
        bed
    }
    let mut bed_with_values = bed();
    bed_with_values.set_value(0, 1, 7);
    assert_eq!(bed_with_values.broken(), Some(Invariant::Data), "one has no value");
    bed_with_values.set_value(2, 3, 8);
    bed_with_values.is_sound();
    bed_with_values.insert_value(9);
    assert_eq!(bed_with_values.broken(), Some(Invariant::Data), "one value belongs to no pair");

    let mut one_row = bed();
    let row = one_row.set_value(0, 1, 7);
    let (source, target) = (one_row.entities[2], one_row.entities[3]);
    one_row.insert_value(8);
    one_row.index().set_row(source, target, row);
    assert_eq!(one_row.broken(), Some(Invariant::Data), "two pairs share a value");

    let mut dropped = bed();
    dropped.set_value(0, 1, 7);
    let row = dropped.set_value(2, 3, 8);
    PairData::<u32>::COLUMN.remove_value(&mut DeferredWorld::from(&mut dropped.world), row);
    assert_eq!(dropped.broken(), Some(Invariant::Data), "a row is empty");

    let mut tag = linked(RelationTraits::new());
    let (source, target) = (tag.entities[0], tag.entities[10]);
    tag.index().set_row(source, target, 0);
    assert_eq!(tag.broken(), Some(Invariant::Data), "a tag pair has a row");

    let mut symmetric = Bed::new(RelationTraits::new().symmetric());
    PairData::<u32>::COLUMN.init(&mut symmetric.world);
    let id = symmetric.id;
    symmetric.store.registry.entry_mut(id).data = Some(PairData::<u32>::COLUMN);
    symmetric.link(0, 1);
    symmetric.link(1, 0);
    let row = symmetric.set_value(0, 1, 7);
    let (source, target) = (symmetric.entities[1], symmetric.entities[0]);
    symmetric.index().set_row(source, target, row);
    symmetric.is_sound();
    symmetric.set_value(1, 0, 8);
    assert_eq!(symmetric.broken(), Some(Invariant::Symmetric), "each direction has a value of its own");
}

#[test]
fn entities_that_are_not_known_as_what_they_are_are_named() {
    let mut bed = linked(RelationTraits::new());
    let entity = bed.entities[0];
    bed.store.participants.remove(entity);
    assert_eq!(bed.broken(), Some(Invariant::Roles), "it does not take part");

    let mut bed = linked(RelationTraits::new());
    let entity = bed.entities[10];
    bed.store.participants.set_marked(entity, false);
    assert_eq!(bed.broken(), Some(Invariant::Roles), "it is not noted as marked");

    let mut bed = linked(RelationTraits::new());
    bed.marked = |_| false;
    assert_eq!(bed.broken(), Some(Invariant::Roles), "there is no marker");

    let mut bed = linked(RelationTraits::new());
    bed.world.despawn(bed.entities[30]);
    assert_eq!(bed.broken(), Some(Invariant::Roles), "a record outlives its entity");

    let mut bed = linked(RelationTraits::new());
    let entity = bed.entities[30];
    assert!(bed.store.participants.visit(entity));
    assert_eq!(bed.broken(), Some(Invariant::Roles), "a visit was not taken back");

    let mut bed = Bed::new(RelationTraits::new());
    let relation = bed.store.registry.entry(bed.id).entity;
    bed.store.participants.set_relation(relation, false);
    assert_eq!(bed.broken(), Some(Invariant::Roles), "the relation is not known to be one");

    let mut bed = linked(RelationTraits::new());
    bed.store.participants.set_relation(relation, false);
    assert_eq!(bed.broken(), Some(Invariant::Alive), "nor is that of pairs");

    let mut bed = linked(RelationTraits::new());
    bed.store.participants.set_marked(relation, false);
    assert_eq!(bed.broken(), Some(Invariant::Roles), "the despawn of the relation would not be noticed");

    let mut bed = Bed::new(RelationTraits::new());
    let other = bed.entities[30];
    let id = bed.id;
    bed.store.registry.entry_mut(id).entity = other;
    assert_eq!(bed.broken(), Some(Invariant::Roles), "the relation is another entity");
}

#[test]
fn the_relations_beyond_the_bits_of_an_entity_go_with_it_also_if_it_was_never_marked() {
    let mut bed = linked(RelationTraits::new());
    let old = bed.world.spawn_empty().id();
    bed.store.participants.note_relation(old, RelationId(70));
    bed.world.despawn(old);
    // Bevy gives the index out again, with another generation.
    let generation = old.generation().after_versions(1);
    let new = Entity::from_index_and_generation(old.index(), generation);
    bed.store.participants.note_relation(new, RelationId(4));
    bed.is_sound();
    let relations = |entity| bed.store.participants.relations(entity).map(|id| id.0).collect::<Vec<_>>();
    assert_eq!((relations(old), relations(new)), (Vec::new(), alloc::vec![4]));
}

#[test]
fn a_journal_with_what_did_not_happen_is_named() {
    for kind in [PairDeltaKind::Removed, PairDeltaKind::Inserted, PairDeltaKind::SourcesReordered] {
        let mut bed = linked(RelationTraits::new());
        bed.journal();
        bed.link(5, 12);
        bed.unlink(3, 11);
        bed.is_sound();
        let (source, target) = if kind == PairDeltaKind::Removed { (0, 10) } else { (3, 11) };
        let (source, target) = (bed.entities[source], bed.entities[target]);
        bed.journal().record(Change { source, target, kind }, 10);
        assert_eq!(bed.broken(), Some(Invariant::Journal));
    }
}

#[test]
fn tags_that_are_not_as_they_should_be_are_named() {
    let tagged = || {
        let mut bed = linked(RelationTraits::new());
        let [source, tag] = [bed.entities[30], bed.entities[31]];
        bed.store.participants.set_tagged(source);
        bed.store.participants.set_tagged(tag);
        assert!(bed.store.tags.link(source, tag, Tick::default()));
        bed.is_sound();
        (bed, source, tag)
    };
    let (mut bed, ..) = tagged();
    bed.store.tags.len += 1;
    assert_eq!(bed.broken(), Some(Invariant::Mirror));
    let (mut bed, source, tag) = tagged();
    bed.store.tags.reverse.lists[0].target = Some(source);
    assert!(matches!(bed.broken(), Some(Invariant::Mirror | Invariant::Lists)), "not {tag}");
    let (mut bed, _, tag) = tagged();
    bed.world.despawn(tag);
    assert_eq!(bed.broken(), Some(Invariant::Alive));
    let (mut bed, source, _) = tagged();
    bed.store.participants.remove(source);
    bed.store.participants.set_marked(source, true);
    assert_eq!(bed.broken(), Some(Invariant::Roles));
}
