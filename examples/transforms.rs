//! Transforms of a tree, computed by `CascadeQuery` and by `bevy_transform`: the same matrices, while nodes are moved,
//! turned, spawned, despawned, and hung below others.
//!
//! Run with `cargo run --example transforms`. It prints, for some of the frames, how many nodes there are and how many
//! the system that follows changes had to visit:
//!
//! ```text
//! frame 0: 1000 nodes, 1000 visited, all matrices equal
//! ..
//! ```

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_relations::prelude::*;
use bevy_transform::prelude::*;

/// The matrix that the cascade computes, of the same kind as `GlobalTransform`.
#[derive(Component, Default, Clone, Copy, PartialEq, Debug)]
struct Matrix(GlobalTransform);

/// How many nodes were visited in the last frame.
#[derive(Resource, Default)]
struct Visited(usize);

/// All there is to it: the parent's matrix is final when its children are visited.
fn propagate(
    mut tree: CascadeQuery<ChildOf, (&Transform, &mut Matrix), &Matrix, (), Changed<Transform>>,
    mut visited: ResMut<Visited>,
) {
    visited.0 = 0;
    tree.for_each_changed(|(local, mut matrix), parent| {
        matrix.0 =
            parent.map_or_else(|| GlobalTransform::from(*local), |parent| parent.0.mul_transform(*local));
        visited.0 += 1;
    });
}

/// A xorshift generator with a fixed seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % limit
    }

    fn transform(&mut self) -> Transform {
        let mut number = || self.below(1000) as f32 / 250.0 - 2.0;
        let mut transform = Transform::from_xyz(number(), number(), number());
        transform.rotate_x(number());
        transform.rotate_z(number());
        transform
    }
}

/// Spawns a node below a random one, or as a root.
fn spawn(world: &mut World, random: &mut Random, nodes: &mut Vec<Entity>) {
    let node = world.spawn((random.transform(), Matrix::default())).id();
    if !nodes.is_empty() && random.below(20) > 0 {
        let parent = nodes[random.below(nodes.len())];
        world.entity_mut(node).insert(ChildOf(parent));
    }
    nodes.push(node);
}

/// Does something to a few nodes.
fn play(world: &mut World, random: &mut Random, nodes: &mut Vec<Entity>) {
    for _ in 0..random.below(8) {
        let node = nodes[random.below(nodes.len())];
        let other = nodes[random.below(nodes.len())];
        match random.below(5) {
            0 => spawn(world, random, nodes),
            1 if nodes.len() > 900 => {
                world.despawn(node);
                nodes.retain(|&node| world.get_entity(node).is_ok());
            }
            2 if node != other && !world.pairs::<ChildOf>().is_ancestor(node, other) => {
                world.entity_mut(node).insert(ChildOf(other));
            }
            3 => {
                world.entity_mut(node).remove::<ChildOf>();
            }
            _ => *world.get_mut::<Transform>(node).expect("all nodes have one") = random.transform(),
        }
    }
}

fn main() {
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), TransformPlugin, RelationsPlugin));
    app.init_resource::<Visited>().add_systems(PostUpdate, propagate);
    let mut random = Random(0x5EED);
    let mut nodes = Vec::new();
    while nodes.len() < 1000 {
        spawn(app.world_mut(), &mut random, &mut nodes);
    }
    let mut visits = 0;
    for frame in 0..=200 {
        app.update();
        let world = app.world_mut();
        for (node, theirs, ours) in world.query::<(Entity, &GlobalTransform, &Matrix)>().iter(world) {
            assert_eq!(*theirs, ours.0, "the matrices of {node} in frame {frame}");
        }
        let visited = world.resource::<Visited>().0;
        if frame % 50 == 0 {
            println!("frame {frame}: {} nodes, {visited} visited, all matrices equal", nodes.len());
        }
        if frame > 0 {
            visits += visited;
        }
        play(world, &mut random, &mut nodes);
    }
    assert!(visits > 0 && visits < 200 * 900, "few nodes change in a frame, and only those are visited");
}
