//! Entities with so many targets that these are found by hash.

use crate::common::{Random, fewer, world_that_records_errors};
use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;

#[derive(Relation)]
struct Likes;

/// Targets come, go and die in any order, so that the list grows past every limit, is closed up and shrinks again.
#[test]
fn targets_of_a_long_list_are_found_whatever_was_removed_before() {
    for seed in 1..=fewer(8) as u64 {
        let mut random = Random(seed);
        let mut world = world_that_records_errors();
        let source = world.spawn_empty().id();
        let mut targets: Vec<Entity> = (0..60).map(|_| world.spawn_empty().id()).collect();
        let mut model: Vec<Entity> = Vec::new();
        for step in 0..600 {
            let target = random.pick(&targets);
            // More insertions at first, more removals later.
            match random.below(10) {
                0 => {
                    world.despawn(target);
                    model.retain(|&known| known != target);
                    assert!(world.insert_pair(source, Likes, target).is_err());
                    targets.retain(|&known| known != target);
                    targets.push(world.spawn_empty().id());
                }
                choice if (choice < 7) == (step % 300 < 150) => {
                    world.insert_pair(source, Likes, target).unwrap();
                    if !model.contains(&target) {
                        model.push(target);
                    }
                }
                _ => {
                    let had = model.contains(&target);
                    assert_eq!(world.remove_pair::<Likes>(source, target), had);
                    model.retain(|&known| known != target);
                }
            }
            let pairs = world.pairs::<Likes>();
            assert_eq!(pairs.targets(source).collect::<Vec<_>>(), model);
            assert_eq!(pairs.targets(source).len(), model.len());
            let mut folded = Vec::new();
            pairs.targets(source).for_each(|target| folded.push(target));
            assert_eq!(folded, model);
            for &target in &targets {
                assert_eq!(pairs.has(source, target), model.contains(&target));
            }
            world.check_pairs().unwrap();
        }
    }
}
