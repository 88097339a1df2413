//! What a snapshot of an unchanged world allocates when it is brought up to date: nothing.
//!
//! A binary of its own, for its allocator counts.
#![expect(unsafe_code, reason = "an allocator that counts")]

use bevy_ecs::prelude::*;
use bevy_relations::{
    prelude::*,
    snapshot::{PairFilter, PairSnapshot},
};
use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: it does what `System` does.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: promised by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(run: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    run();
    ALLOCATIONS.get() - before
}

#[derive(Relation)]
struct Likes;

#[derive(Relation, Clone)]
struct Eats(#[expect(dead_code, reason = "it is copied")] u32);

#[derive(Relation)]
#[relation(ordered)]
struct Follows;

#[test]
fn a_snapshot_of_an_unchanged_world_is_brought_up_to_date_without_allocations() {
    let mut world = World::new();
    let entities: Vec<Entity> = (0..1000).map(|_| world.spawn_empty().id()).collect();
    for (number, pair) in entities.windows(3).enumerate() {
        let [a, b, c] = *pair else { continue };
        world.insert_pair(a, Likes, b).unwrap();
        world.insert_pair(a, Eats(number as u32), c).unwrap();
        world.insert_pair(a, Follows, entities[999]).unwrap();
        world.entity_mut(a).insert(ChildOf(entities[999]));
    }
    let mut snapshot = PairSnapshot::take(&mut world, PairFilter::all()).unwrap();
    snapshot.update(&mut world).unwrap();
    assert_eq!(allocations(|| snapshot.update(&mut world).unwrap()), 0);

    // Of a world in which one value was written, that is copied; the values of the relation are read again.
    world.insert_pair(entities[0], Likes, entities[5]).unwrap();
    let first = allocations(|| snapshot.update(&mut world).unwrap());
    assert!(first < 10, "{first} allocations for one tag pair");
    assert_eq!(allocations(|| snapshot.update(&mut world).unwrap()), 0);
    assert_eq!(snapshot.len(), 4 * 998 + 1);
}
