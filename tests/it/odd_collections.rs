//! Adopted relationships of Bevy's whose collections are written by users, and return wrong results. Components and pairs agree all the
//! same, and every invariant holds.
//!
//! A collection may add nothing, or twice; remove nothing, and say so; list entities that are no sources, also dead ones; say that it is
//! empty, or endless; or keep one source only. The relationship may despawn its sources or not, and be adopted at once or late.

use crate::common::{Random, fewer, take_errors, world_that_records_errors};
use bevy_ecs::{
    entity::{EntityMapper, MapEntities},
    prelude::*,
    relationship::{Relationship, RelationshipSourceCollection},
};
use bevy_relations::prelude::*;

macro_rules! collection {
    ($name:ident, $test:ident, $add:expr, $remove:expr, $iter:expr, $len:expr) => {
        mod $name {
            use super::*;

            pub(super) struct List(Vec<Entity>);

            impl MapEntities for List {
                fn map_entities<M: EntityMapper>(&mut self, mapper: &mut M) {
                    self.0.map_entities(mapper);
                }
            }

            impl RelationshipSourceCollection for List {
                type SourceIter<'a> = std::vec::IntoIter<Entity>;

                fn new() -> Self {
                    Self(Vec::new())
                }

                fn with_capacity(_: usize) -> Self {
                    Self::new()
                }

                fn reserve(&mut self, _: usize) {}

                fn add(&mut self, entity: Entity) -> bool {
                    let add: fn(&mut Vec<Entity>, Entity) -> bool = $add;
                    add(&mut self.0, entity)
                }

                fn remove(&mut self, entity: Entity) -> bool {
                    let remove: fn(&mut Vec<Entity>, Entity) -> bool = $remove;
                    remove(&mut self.0, entity)
                }

                fn iter(&self) -> Self::SourceIter<'_> {
                    let iter: fn(Vec<Entity>) -> Vec<Entity> = $iter;
                    iter(self.0.clone()).into_iter()
                }

                fn len(&self) -> usize {
                    let len: fn(usize) -> usize = $len;
                    len(self.0.len())
                }

                fn clear(&mut self) {
                    self.0.clear();
                }

                fn shrink_to_fit(&mut self) {}

                fn extend_from_iter(&mut self, entities: impl IntoIterator<Item = Entity>) {
                    self.0.extend(entities);
                }
            }

            #[derive(Component, Clone)]
            #[relationship(relationship_target = Crew)]
            pub(super) struct CrewOf(Entity);

            #[derive(Component)]
            #[relationship_target(relationship = CrewOf)]
            pub(super) struct Crew(List);

            #[derive(Component, Clone)]
            #[relationship(relationship_target = Cargo)]
            pub(super) struct CargoOf(Entity);

            #[derive(Component)]
            #[relationship_target(relationship = CargoOf, linked_spawn)]
            pub(super) struct Cargo(List);

            #[test]
            fn $test() {
                for seed in 0..fewer(4) as u64 {
                    super::play::<CrewOf>(seed, CrewOf);
                    super::play::<CargoOf>(seed, CargoOf);
                }
            }
        }
    };
}

fn push(list: &mut Vec<Entity>, entity: Entity) -> bool {
    list.push(entity);
    true
}

fn drop_all(list: &mut Vec<Entity>, entity: Entity) -> bool {
    let before = list.len();
    list.retain(|&other| other != entity);
    list.len() < before
}

fn with_strangers(mut list: Vec<Entity>) -> Vec<Entity> {
    list.extend([Entity::PLACEHOLDER, Entity::from_raw_u32(7).unwrap()]);
    list
}

fn replace(list: &mut Vec<Entity>, entity: Entity) -> bool {
    list.clear();
    push(list, entity)
}

fn nothing(_: &mut Vec<Entity>, _: Entity) -> bool {
    false
}

fn twice(list: &mut Vec<Entity>, entity: Entity) -> bool {
    push(list, entity) && push(list, entity)
}

collection!(none, a_collection_that_adds_nothing_leaves_pairs_right, nothing, nothing, |all| all, |len| len);
collection!(double, a_collection_that_adds_twice_leaves_pairs_right, twice, drop_all, |all| all, |len| len);
collection!(
    lasting,
    a_collection_that_removes_nothing_leaves_pairs_right,
    push,
    |_, _| true,
    |all| all,
    |len| len
);
collection!(
    strange,
    a_collection_that_lists_strangers_and_is_endless_leaves_pairs_right,
    push,
    drop_all,
    with_strangers,
    |_| usize::MAX
);
collection!(vacant, a_collection_that_says_it_is_empty_leaves_pairs_right, push, drop_all, |all| all, |_| 0);
collection!(
    single,
    a_collection_that_keeps_one_source_leaves_pairs_right,
    replace,
    drop_all,
    |all| all,
    |len| len
);

/// A random history of a relationship, which is adopted at once, or in the middle.
fn play<C: Relationship + Relation>(seed: u64, new: fn(Entity) -> C) {
    let mut random = Random(seed * 7919 + 1);
    let mut world = world_that_records_errors();
    let entities: Vec<Entity> = (0..12).map(|_| world.spawn_empty().id()).collect();
    let adopted_at = if seed.is_multiple_of(2) { 0 } else { 60 };
    for step in 0..150 {
        if step == adopted_at {
            world.adopt_relationship::<C>();
        }
        let (is_adopted, verb) = (step >= adopted_at, random.below(10));
        let [source, target] = [(); 2].map(|()| random.pick(&entities));
        if world.get_entity(source).is_err() || world.get_entity(target).is_err() {
            continue;
        }
        match verb {
            0..4 if source != target => _ = world.entity_mut(source).insert(new(target)),
            4 if is_adopted => _ = world.insert_relationship(source, new(target)),
            5 => _ = world.entity_mut(source).remove::<C>(),
            6 if is_adopted => _ = world.remove_pairs::<C>(source),
            7 if random.below(5) == 0 => _ = world.despawn(source),
            8 if is_adopted => _ = world.move_sources::<C>(source, target),
            9 if is_adopted => _ = world.order_sources::<C>(target, &entities),
            _ => {}
        }
        world.maintain_pairs();
        if is_adopted {
            check::<C>(&mut world);
        }
    }
    world.clear_pairs();
    check::<C>(&mut world);
    take_errors();
}

/// Components and pairs agree.
#[track_caller]
fn check<C: Relationship + Relation>(world: &mut World) {
    world.check_pairs().unwrap();
    let mut components = world.query::<(Entity, &C)>();
    let mut components: Vec<_> = components.iter(world).map(|(source, to)| (source, to.get())).collect();
    let mut pairs: Vec<_> = world.pairs::<C>().iter().collect();
    components.sort_unstable();
    pairs.sort_unstable();
    assert_eq!(components, pairs);
}
