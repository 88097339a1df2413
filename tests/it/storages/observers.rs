//! Observers that act while hidden components are being written: whatever they do, searches find what is there.

use super::{
    Armor, Fuel, Gas, ManyF, NetF, RandomWorld, Shape, UpF, UpS, compile, named_world, search::AllSearches,
};
use crate::common::fewer;
use bevy_ecs::{
    component::{ComponentId, StorageType},
    entity_disabling::Disabled,
    observer::Observer,
    prelude::*,
    world::DeferredWorld,
};
use bevy_relations::{prelude::*, query::Target, relation::Prefab};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// How often observers that act were called.
#[derive(Resource)]
struct Calls(usize);

/// Whether the next observer that can panic does.
#[derive(Resource)]
struct Panics(bool);

impl Panics {
    fn panic_if_armed(&mut self) {
        if core::mem::take(&mut self.0) {
            resume_unwind(Box::new("meant"));
        }
    }
}

/// Inserts a pair, if both ends are alive and the rules allow it.
fn try_insert<R: Relation + Default>(world: &mut World, source: Entity, target: Entity) {
    if world.get_entity(source).is_ok() && world.get_entity(target).is_ok() {
        world.insert_pair(source, R::default(), target).ok();
    }
}

#[test]
fn observers_that_change_pairs_in_the_middle_of_moves_leave_searches_right() {
    for seed in 0..fewer(3) {
        let mut random = RandomWorld::small(seed as u64 + 100);
        AllSearches::install(&mut random.world, random.red);
        random.change_times(40);
        random.world.insert_resource(Calls(seed));
        let tops = random.tops.clone();
        random.world.add_observer(
            move |on: On<PairInserted<UpF>>, mut calls: ResMut<Calls>, mut commands: Commands| {
                let number = calls.0;
                calls.0 += 1;
                if !number.is_multiple_of(7) {
                    return;
                }
                let (source, target) = (on.event().source, tops[number % tops.len()]);
                commands.queue(move |world: &mut World| {
                    AllSearches::check_within(world, "before a pair of a command");
                    try_insert::<ManyF>(world, source, target);
                    AllSearches::check_within(world, "after a pair of a command");
                });
            },
        );
        let tops = random.tops.clone();
        random.world.add_observer(move |on: On<PairRemoved<ManyF>>, mut world: DeferredWorld| {
            let source = on.event().source;
            let target = tops[source.index_u32() as usize % tops.len()];
            AllSearches::check_some_within(&world, "removed");
            world.commands().queue(move |world: &mut World| try_insert::<UpF>(world, source, target));
        });
        for round in 0..60 {
            let (source, target) = (random.pick_any(), random.pick_any());
            match random.random.below(8) {
                0..3 => _ = random.world.insert_pair(source, UpF, target),
                3..5 => _ = random.world.insert_pair(source, ManyF, target),
                5 => _ = random.world.remove_pairs::<ManyF>(source),
                6 => random.replace_ship(),
                _ => _ = random.world.entity_mut(target).insert(Shape(3)),
            }
            AllSearches::check(&random.world, &format!("seed {seed}, after round {round}"));
            random.world.check_pairs().unwrap();
        }
        AllSearches::uninstall();
    }
}

/// The components of ships that stand for relations and targets.
fn hidden_components(random: &mut RandomWorld) -> Vec<ComponentId> {
    let world = &mut random.world;
    let known = [
        world.register_component::<Fuel>(),
        world.register_component::<Shape>(),
        world.register_component::<Gas>(),
        world.register_component::<Armor>(),
        world.register_component::<Disabled>(),
        world.register_component::<Prefab>(),
    ];
    let components =
        random.ships.iter().flat_map(|&ship| world.entity(ship).archetype().components().to_vec());
    let mut hidden: Vec<ComponentId> = components.filter(|id| !known.contains(id)).collect();
    hidden.sort_unstable();
    hidden.dedup();
    hidden.retain(|&id| world.components().get_info(id).unwrap().storage_type() == StorageType::Table);
    hidden
}

/// Observers of hidden components that search, panic if they are to, and now and then remove one, change pairs or despawn the
/// entity.
fn act_in_observers(random: &mut RandomWorld) {
    let hidden = hidden_components(random);
    assert!(hidden.len() > 10, "{hidden:?}");
    let next = |world: &mut DeferredWorld| {
        let mut calls = world.resource_mut::<Calls>();
        calls.0 += 1;
        calls.0
    };
    let (ids, tops) = (hidden.clone(), random.tops.clone());
    let added = Observer::new(move |on: On<Add<()>>, mut world: DeferredWorld| {
        let (entity, number) = (on.entity, next(&mut world));
        AllSearches::check_some_within(&world, "hidden component added");
        world.resource_mut::<Panics>().panic_if_armed();
        let (id, target) = (ids[number % ids.len()], tops[number % tops.len()]);
        match number % 23 {
            0 => world.commands().queue(move |world: &mut World| {
                if let Ok(mut entity) = world.get_entity_mut(entity) {
                    entity.remove_by_id(id);
                }
                AllSearches::check_within(world, "after the removal of a hidden component");
            }),
            1 => world.commands().queue(move |world: &mut World| {
                try_insert::<ManyF>(world, entity, target);
                AllSearches::check_within(world, "after the insertion of a pair");
            }),
            2 => world.commands().entity(entity).try_despawn(),
            3 => world.commands().queue(move |world: &mut World| {
                if world.get_entity(entity).is_ok() {
                    world.remove_pairs::<ManyF>(entity);
                }
                AllSearches::check_within(world, "after the removal of pairs");
            }),
            _ => {}
        }
    });
    let tops = random.tops.clone();
    let removed = Observer::new(move |on: On<Remove<()>>, mut world: DeferredWorld| {
        let (entity, number) = (on.entity, next(&mut world));
        AllSearches::check_some_within(&world, "hidden component removed");
        let target = tops[number % tops.len()];
        if number.is_multiple_of(23) {
            world.commands().queue(move |world: &mut World| {
                try_insert::<UpF>(world, entity, target);
                AllSearches::check_within(world, "after a pair for a removed component");
            });
        }
    });
    for observer in [added, removed] {
        random.world.spawn(observer.with_components(hidden.iter().copied()));
    }
}

/// Whether this ends in the panic that is meant. Others go on.
fn panics_as_meant(run: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(()) => false,
        Err(panic) if panic.downcast_ref() == Some(&"meant") => true,
        Err(panic) => resume_unwind(panic),
    }
}

#[test]
fn observers_of_hidden_components_that_act_or_panic_leave_searches_right() {
    let mut panics = 0;
    for seed in 0..fewer(2) {
        let mut random = RandomWorld::small(seed as u64 + 300);
        AllSearches::install(&mut random.world, random.red);
        random.change_times(60);
        random.world.insert_resource(Calls(seed));
        random.world.insert_resource(Panics(false));
        act_in_observers(&mut random);
        for round in 0..150 {
            random.world.resource_mut::<Panics>().0 = round % 8 == 7;
            for entity in random.ships.iter_mut().chain(&mut random.tops) {
                if random.world.get_entity(*entity).is_err() {
                    *entity = random.world.spawn(Fuel(7)).id();
                }
            }
            let (source, target) = (random.pick_ship(), random.random.pick(&random.tops));
            let (kind, world) = (random.random.below(9), &mut random.world);
            let place = format!("seed {seed}, round {round}, {kind}");
            let panicked = panics_as_meant(|| match kind {
                0..2 => _ = world.insert_pair(source, UpF, target),
                2..5 => _ = world.insert_pair(source, ManyF, target),
                5 => _ = world.remove_pairs::<ManyF>(source),
                6 => _ = world.remove_pairs::<UpF>(source),
                7 => _ = world.despawn(source),
                _ => _ = world.entity_mut(target).insert(Shape(3)),
            });
            if panicked {
                panics += 1;
                AllSearches::check_within(world, &format!("{place}, after a panic"));
                world.flush();
            }
            world.resource_mut::<Panics>().0 = false;
            AllSearches::check_within(world, &place);
            if round % 10 == 0 {
                world.maintain_pairs();
                AllSearches::check_within(world, &format!("{place}, maintained"));
                world.check_pairs().unwrap();
            }
        }
        AllSearches::uninstall();
    }
    assert!(panics > 0, "no observer has panicked");
}

#[test]
fn pairs_that_are_inserted_after_an_observer_panicked_are_read() {
    let mut world = named_world();
    let [port, other] = [Fuel(100), Fuel(101)].map(|fuel| world.spawn(fuel).id());
    let ships: Vec<Entity> = (0..4).map(|number| world.spawn(Fuel(number)).id()).collect();
    world.insert_resource(Panics(false));
    world.insert_pair(other, NetF, port).unwrap();
    let components = world.entity(other).archetype().components().to_vec();
    let observer = Observer::new(|_: On<Add<()>>, mut panics: ResMut<Panics>| {
        panics.panic_if_armed();
    });
    world.spawn(observer.with_components(components));
    world.entity_mut(ships[0]).insert(Shape(1));
    world.insert_pair(ships[0], UpS, other).unwrap();
    world.resource_mut::<Panics>().0 = true;
    assert!(panics_as_meant(|| _ = world.insert_pair(ships[0], NetF, port)));
    world.maintain_pairs();
    world.check_pairs().unwrap();
    for &ship in &ships[1..] {
        world.insert_pair(ship, NetF, port).unwrap();
    }
    world.check_pairs().unwrap();
    let mut query = world.query::<(Entity, Target<NetF>)>();
    for (ship, target) in query.iter(&world) {
        assert_eq!(*target, port, "the target of {ship}");
    }
    let mut expr = compile(&mut world, "Fuel, (NetF, $p)");
    let mut sources = Vec::new();
    expr.for_each(&world, |row| {
        assert_eq!(row.var("p"), Some(port));
        sources.extend(row.this());
    })
    .unwrap();
    assert!([&ships[1..], &[other]].concat().iter().all(|source| sources.contains(source)), "{sources:?}");
}
