//! How much is done to keep the component that shows the pairs of its entity.

use bevy_ecs::prelude::*;
use bevy_reflect::Reflect;
use bevy_relations::{mirror::*, prelude::*};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How often a value was copied.
static COPIES: AtomicUsize = AtomicUsize::new(0);

#[derive(Relation, Reflect, PartialEq, Debug)]
struct Stacks(u32);

impl Clone for Stacks {
    fn clone(&self) -> Self {
        COPIES.fetch_add(1, Ordering::Relaxed);
        Self(self.0)
    }
}

#[test]
fn a_component_is_made_once_however_many_of_its_pairs_have_changed() {
    const COUNT: u32 = 100;
    let mut world = World::new();
    world.mirror_pairs::<Stacks>().unwrap();
    let bag = world.spawn_empty().id();
    let things: Vec<Entity> = (0..COUNT).map(|_| world.spawn_empty().id()).collect();
    let copies = |world: &mut World, change: &mut dyn FnMut(&mut World)| {
        let before = COPIES.load(Ordering::Relaxed);
        change(world);
        let targets = world.pairs::<Stacks>().targets(bag).collect::<Vec<_>>();
        assert!(world.get::<MirroredPairs<Stacks>>(bag).unwrap().targets().eq(targets));
        world.check_pairs().unwrap();
        COPIES.load(Ordering::Relaxed) - before
    };
    let few = 4 * COUNT as usize;
    let inserted = copies(&mut world, &mut |world| {
        world.insert_pair_batch(things.iter().map(|&thing| (bag, Stacks(1), thing))).unwrap();
    });
    assert!(inserted <= few, "{inserted}");
    let written = copies(&mut world, &mut |world| {
        things.iter().for_each(|&thing| world.pair_value_mut::<Stacks>(bag, thing).unwrap().0 += 1);
        world.update_mirrors();
    });
    assert!(written <= few, "{written}");
    let shown = world.get::<MirroredPairs<Stacks>>(bag).unwrap();
    assert!(things.iter().all(|&thing| shown.get(thing) == Some(&Stacks(2))));
    let removed = copies(&mut world, &mut |world| {
        let half = things.iter().step_by(2).map(|&thing| (bag, thing));
        assert_eq!(world.remove_pair_batch::<Stacks>(half.clone().chain(half)), COUNT as usize / 2);
    });
    assert!(removed <= few, "{removed}");
}
