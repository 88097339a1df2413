//! Relations without fields whose type has a destructor: each one given is dropped once, whatever becomes of its pair.

use crate::common::{spawn, world_that_records_errors};
use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;
use std::cell::Cell;

thread_local! {
    /// How many were made and not dropped.
    static ALIVE: Cell<i32> = const { Cell::new(0) };
}

trait Counted: Relation {
    fn new() -> Self;
}

macro_rules! counted {
    ($($(#[$attribute:meta])* $name:ident)*) => {$(
        #[derive(Relation)]
        $(#[$attribute])*
        struct $name;

        impl Counted for $name {
            fn new() -> Self {
                ALIVE.set(ALIVE.get() + 1);
                Self
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                ALIVE.set(ALIVE.get() - 1);
            }
        }
    )*};
}

counted! {
    Plain
    #[relation(storage = "Table")] InTable
    #[relation(symmetric)] Mutual
    #[relation(exclusive, one_of)] Scoped
    #[relation(acyclic)] Above
}

/// What observers do with what is inserted.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Observers {
    None,
    Watch,
    Despawn,
}

fn insert<R: Counted>(world: &mut World, way: usize, source: Entity, target: Entity) -> bool {
    let relation = world.entity_of::<R>();
    match way {
        0 => _ = world.insert_pair(source, R::new(), target),
        1 => _ = world.insert_pairs(source, [(R::new(), target), (R::new(), source)]),
        2 => _ = world.insert_pair_batch([(source, R::new(), target), (target, R::new(), source)]),
        3 => _ = world.replace_targets(source, [(R::new(), target), (R::new(), target)]),
        4 => _ = world.insert_pair_value_by_id(source, (relation, target), R::new()),
        5 => _ = world.insert_pair_to::<R, Name>(source, R::new()),
        6 => _ = world.commands().entity(source).insert_pair(R::new(), target),
        7 => _ = world.commands().entity(source).try_insert_pair(R::new(), target),
        8 => _ = world.commands().entity(source).insert_pairs([(R::new(), target)]),
        9 => {
            let mut commands = world.commands();
            commands.pair_batch().insert(source, R::new(), target).insert(target, R::new(), target);
        }
        10 => world.commands().insert_pair_batch([(source, R::new(), target)]),
        11 => _ = world.commands().entity(source).replace_targets([(R::new(), target)]),
        12 => _ = world.spawn(Pair(R::new(), target)),
        13 => _ = world.spawn(pairs![(R::new(), target), (R::new(), target)]),
        14 => _ = world.get_entity_mut(source).map(|mut source| source.insert(Pair(R::new(), target)).id()),
        _ => return false,
    }
    world.flush();
    true
}

fn dropped<R: Counted>() {
    for observers in [Observers::None, Observers::Watch, Observers::Despawn] {
        for (way, dead) in (0..).flat_map(|way| [None, Some(0), Some(1)].map(|dead| (way, dead))) {
            let mut world = world_that_records_errors();
            world.register_relation::<R>().unwrap();
            match observers {
                Observers::None => {}
                Observers::Watch => _ = world.add_observer(|_: On<PairInserted<R>>| {}),
                Observers::Despawn => {
                    world.add_observer(|on: On<PairInserted<R>>, mut commands: Commands| {
                        commands.entity(on.source).try_despawn();
                    });
                }
            }
            let ends: [Entity; 2] = spawn(&mut world);
            if let Some(dead) = dead {
                world.despawn(ends[dead]);
            }
            let mut is_way = true;
            // The second time the pair is there, or its source is gone.
            for _ in 0..2 {
                is_way = insert::<R>(&mut world, way, ends[0], ends[1]);
                let name = core::any::type_name::<R>();
                assert_eq!(ALIVE.get(), 0, "{name}, way {way}, {dead:?} is dead, {observers:?}");
                world.check_pairs().unwrap();
            }
            if !is_way {
                break;
            }
        }
    }
}

#[test]
fn a_relation_that_is_given_is_dropped_once_by_every_way_of_insertion() {
    dropped::<Plain>();
    dropped::<InTable>();
    dropped::<Mutual>();
    dropped::<Scoped>();
    dropped::<Above>();
}
