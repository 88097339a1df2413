//! Data that instances share with the prefab they were made of.

use super::repeats;
use crate::{
    flecs::{self, FlecsWorld, Id, Kind, pair},
    flecs_query::{FlecsQuery, Term},
    harness::{Contestant, Stopwatch, Workload},
    ours::{self, compile, id_of},
    random::Random,
};
use bevy_ecs::{
    component::Component,
    entity::Entity,
    query::{ReadOnlyQueryData, With},
    system::{Query, SystemState},
    world::World,
};
use bevy_relations::{
    expr::CompiledExpr,
    prelude::*,
    query::{Cached, Inherited, SelfUp},
    relation::{OnInstantiate, RelationStorage},
    world::WorldInheritanceExt,
};
use std::iter;

#[derive(Component, Clone, Copy)]
struct Instance;

#[derive(Component, Clone, Copy)]
#[repr(transparent)]
struct Held(u32);

/// The prefab of an instance, by hand.
#[derive(Component)]
struct MadeOf(Entity);

/// How many prefabs have data.
const HOLDERS: usize = 100;

/// `size` instances; the data is `steps` steps away.
pub(super) fn chain(size: usize, steps: usize) -> Workload {
    use RelationStorage::{Fragmenting, Store};
    let id = match steps {
        1 => "inherit_1",
        2 => "inherit_2",
        _ => "inherit_16",
    };
    let plan = Plan { size, steps };
    let contestants = vec![
        Contestant::new("flecs", move || plan.flecs(FlecsQuery::cached)),
        Contestant::new("flecs uncached", move || plan.flecs(FlecsQuery::uncached)),
        Contestant::new("by hand", move || plan.by_hand()),
        Contestant::new("ours", move || plan.term::<SelfUp<IsA, &'static Held>>(Store)),
        Contestant::new("ours kept", move || plan.term::<Cached<SelfUp<IsA, &'static Held>>>(Store)),
        Contestant::new("ours Inherited", move || plan.term::<Inherited<&'static Held>>(Store)),
        Contestant::new("ours expression", move || plan.expression(Store)),
        Contestant::new("ours fragmenting", move || plan.term::<Inherited<&'static Held>>(Fragmenting)),
        Contestant::new("ours fragmenting expression", move || plan.expression(Fragmenting)),
        Contestant::new("ours fragmenting tables", move || plan.tables()),
    ];
    Workload { id, size, elements: size, contestants }
}

/// The same, each instance asked for by its id, in random order.
pub(super) fn get(size: usize, steps: usize) -> Workload {
    let id = match steps {
        1 => "inherit_get_1",
        2 => "inherit_get_2",
        _ => "inherit_get_16",
    };
    let plan = Plan { size, steps };
    let contestants = vec![
        Contestant::new("flecs", move || plan.flecs_get()),
        Contestant::new("by hand", move || plan.by_hand_get()),
        Contestant::new("ours", move || plan.query_get()).goal("flecs", 1.0),
        Contestant::new("ours in the world", move || plan.world_get()),
    ];
    Workload { id, size, elements: repeats(size) * size, contestants }
}

#[derive(Clone, Copy)]
struct Plan {
    size: usize,
    steps: usize,
}

impl Plan {
    /// Which holder each instance gets its data from.
    fn choices(self) -> Vec<usize> {
        Random::new(61).choices(self.size, HOLDERS)
    }

    fn value(holder: usize) -> Held {
        Held(holder as u32 * 7 + 1)
    }

    /// The instances in the order in which they are asked.
    fn shuffled<T: Copy>(self, made: &[T]) -> Vec<T> {
        Random::new(62).permutation(self.size).into_iter().map(|number| made[number]).collect()
    }

    /// A world with the tag of instances, the component, and the instances.
    fn flecs_world(self) -> (FlecsWorld, Id, flecs::Component<Held>, Vec<Id>) {
        let mut world = FlecsWorld::new();
        let (instance, held) = (world.entity(), world.component::<Held>());
        world.inherit(held);
        let is_a = world.relation(Kind::IsA);
        let mut prefabs = Vec::new();
        for holder in 0..HOLDERS {
            let mut prefab = world.entity();
            world.set(prefab, held, &Self::value(holder));
            for _ in 1..self.steps {
                let next = world.entity();
                world.add(next, pair(is_a, prefab));
                prefab = next;
            }
            prefabs.push(prefab);
        }
        let mut instances = Vec::new();
        for holder in self.choices() {
            let made: Id = world.entity();
            world.add(made, instance);
            world.add(made, pair(is_a, prefabs[holder]));
            instances.push(made);
        }
        (world, instance, held, instances)
    }

    fn flecs(self, query: fn(&mut FlecsWorld, &[Term]) -> FlecsQuery) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (mut world, instance, held, _) = self.flecs_world();
        let is_a = world.relation(Kind::IsA);
        let query = query(&mut world, &[Term::with(instance), Term::read(held).self_up(is_a)]);
        move |watch| {
            watch.time(|| {
                let mut sum = 0;
                query.for_each_table(&mut world, |table| {
                    let held = table.field::<Held>(1).expect("the term is not optional")[0].get();
                    for _ in 0..table.count() {
                        sum += u64::from(std::hint::black_box(held).0);
                    }
                });
                sum
            })
        }
    }

    fn flecs_get(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (world, _, held, instances) = self.flecs_world();
        let instances = self.shuffled(&instances);
        move |watch| {
            watch.time(|| {
                let mut sum = 0;
                for _ in 0..repeats(self.size) {
                    let values = instances.iter().filter_map(|&instance| world.get(instance, held));
                    sum += values.map(|held| u64::from(held.0)).sum::<u64>();
                }
                sum
            })
        }
    }

    /// Prefabs and instances; `made_of` names the one that another was made of.
    fn spawn(self, world: &mut World, made_of: impl Fn(&mut World, Entity, Entity)) -> Vec<Entity> {
        let mut prefabs = Vec::new();
        for holder in 0..HOLDERS {
            let mut prefab = world.spawn(Self::value(holder)).id();
            for _ in 1..self.steps {
                let next = world.spawn_empty().id();
                made_of(world, next, prefab);
                prefab = next;
            }
            prefabs.push(prefab);
        }
        let mut instances = Vec::new();
        for holder in self.choices() {
            let made = world.spawn(Instance).id();
            made_of(world, made, prefabs[holder]);
            instances.push(made);
        }
        instances
    }

    /// Climbs from component to component.
    fn by_hand(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let mut world = World::new();
        self.spawn(&mut world, |world, made, prefab| {
            world.entity_mut(made).insert(MadeOf(prefab));
        });
        let mut state = SystemState::<(
            Query<&MadeOf, With<Instance>>,
            Query<(Option<&Held>, Option<&MadeOf>)>,
        )>::new(&mut world);
        move |watch| {
            let (instances, above) = state.get(&world).expect("queries are always available");
            watch.time(|| {
                let mut sum = 0;
                for mut made_of in &instances {
                    while let Ok((held, next)) = above.get(made_of.0) {
                        match (held, next) {
                            (Some(held), _) => sum += u64::from(held.0),
                            (None, Some(next)) => {
                                made_of = next;
                                continue;
                            }
                            (None, None) => {}
                        }
                        break;
                    }
                }
                sum
            })
        }
    }

    fn by_hand_get(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let mut world = World::new();
        let instances = self.spawn(&mut world, |world, made, prefab| {
            world.entity_mut(made).insert(MadeOf(prefab));
        });
        let instances = self.shuffled(&instances);
        let mut state = SystemState::<Query<(Option<&Held>, Option<&MadeOf>)>>::new(&mut world);
        move |watch| {
            let query = state.get(&world).expect("queries are always available");
            watch.time(|| {
                let mut sum = 0;
                for &instance in iter::repeat_n(&instances, repeats(self.size)).flatten() {
                    let mut at = Some(instance);
                    while let Some((held, made_of)) = at.and_then(|entity| query.get(entity).ok()) {
                        sum += held.map_or(0, |held| u64::from(held.0));
                        at = made_of.filter(|_| held.is_none()).map(|made_of| made_of.0);
                    }
                }
                sum
            })
        }
    }

    fn query_get(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (mut world, instances) = self.ours(RelationStorage::Store);
        let instances = self.shuffled(&instances);
        let mut query = world.query::<Inherited<&'static Held>>();
        move |watch| {
            world.maintain_pairs();
            let sum = watch.time(|| {
                let query = query.query(&world);
                let all = iter::repeat_n(&instances, repeats(self.size)).flatten();
                all.filter_map(|&instance| query.get(instance).ok()).map(|held| u64::from(held.0)).sum()
            });
            world.clear_trackers();
            sum
        }
    }

    fn world_get(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (world, instances) = self.ours(RelationStorage::Store);
        let instances = self.shuffled(&instances);
        move |watch| {
            watch.time(|| {
                let all = iter::repeat_n(&instances, repeats(self.size)).flatten();
                all.filter_map(|&instance| world.get_inherited::<Held>(instance))
                    .map(|held| u64::from(held.0))
                    .sum()
            })
        }
    }

    fn ours(self, storage: RelationStorage) -> (World, Vec<Entity>) {
        let mut world = ours::world();
        let is_a = world.entity_of::<IsA>();
        world.set_traits(is_a, RelationTraits::new().storage(storage)).expect("it has no pairs yet");
        let held = world.entity_of::<Held>();
        let traits = RelationTraits::new().on_instantiate(OnInstantiate::Inherit);
        world.set_traits(held, traits).expect("nothing refers to it yet");
        let instances = self.spawn(&mut world, |world, made, prefab| {
            world.insert_pair(made, IsA, prefab).expect("both are alive");
        });
        (world, instances)
    }

    fn term<D>(self, storage: RelationStorage) -> impl FnMut(&mut Stopwatch) -> u64
    where
        for<'w, 's> D: ReadOnlyQueryData<Item<'w, 's> = &'w Held> + 'static,
    {
        let (mut world, _) = self.ours(storage);
        let mut query = world.query_filtered::<D, With<Instance>>();
        move |watch| {
            world.maintain_pairs();
            let sum = watch.time(|| query.iter(&world).map(|held| u64::from(held.0)).sum());
            world.clear_trackers();
            sum
        }
    }

    fn compiled(self, storage: RelationStorage) -> (World, CompiledExpr) {
        let (mut world, _) = self.ours(storage);
        let (instance, held) = (id_of::<Instance>(&mut world), id_of::<Held>(&mut world));
        let expr = compile(&mut world, &format!("{instance}, {held}(self|up IsA)"));
        (world, expr)
    }

    /// A table at a time, as Flecs does it.
    fn tables(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (world, mut expr) = self.compiled(RelationStorage::Fragmenting);
        move |watch| {
            watch.time(|| {
                let mut sum = 0;
                let run = expr.for_each_table(&world, |table| {
                    let held = table.shared::<Held>(1).expect("the term is not optional");
                    for _ in 0..table.len() {
                        sum += u64::from(std::hint::black_box(held).0);
                    }
                });
                run.expect("nothing is in the way");
                sum
            })
        }
    }

    fn expression(self, storage: RelationStorage) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (world, mut expr) = self.compiled(storage);
        move |watch| {
            watch.time(|| {
                let mut sum = 0;
                let run = expr.for_each(&world, |row| {
                    sum += row.get::<Held>(1).map_or(0, |held| u64::from(held.0));
                });
                run.expect("nothing is in the way");
                sum
            })
        }
    }
}
