//! Bevy's own `GlobalTransform`, by Bevy's systems and by cascades. Both sides may use several threads, so it is the
//! clock on the wall that counts.

use crate::{
    harness::{Contestant, Stopwatch, Workload},
    ours,
    random::Random,
};
use bevy_ecs::{component::Mutable, prelude::*, schedule::ScheduleConfigs, system::ScheduleSystem};
use bevy_relations::prelude::*;
use bevy_tasks::{ComputeTaskPool, TaskPool};
use bevy_transform::{
    components::{GlobalTransform, Transform},
    systems::{
        StaticTransformOptimizations, mark_dirty_trees, propagate_parent_transforms, sync_simple_transforms,
    },
};

/// What the cascades compute, of the same kind as Bevy's.
#[derive(Component, Default, Clone, Copy)]
struct Matrix(GlobalTransform);

impl Matrix {
    #[inline]
    fn new(local: &Transform, parent: Option<&Self>) -> Self {
        Self(parent.map_or_else(|| GlobalTransform::from(*local), |parent| parent.0.mul_transform(*local)))
    }
}

/// A tree of `size` nodes, five children each; `moving` of a hundred move in each run.
pub(super) fn tree(id: &'static str, size: usize, moving: usize) -> Workload {
    let plan = Plan { size, moving };
    let of_bevy = || (mark_dirty_trees, propagate_parent_transforms, sync_simple_transforms).chain();
    let contestants = vec![
        Contestant::new("bevy", move || plan.run(of_bevy(), |global: &GlobalTransform| *global)),
        Contestant::new("ours", move || plan.run(all.into_configs(), |matrix: &Matrix| matrix.0)),
        Contestant::new("ours parallel", move || {
            plan.run(par_all.into_configs(), |matrix: &Matrix| matrix.0)
        }),
        Contestant::new("ours what changed", move || {
            plan.run(changed.into_configs(), |matrix: &Matrix| matrix.0)
        }),
    ];
    Workload { id, size, elements: size * POSES, contestants }
}

/// How often the nodes move in a round. The last pose is the same in every round.
const POSES: usize = 2;

/// `W` says which nodes have changed.
type Tree<'w, 's, W = ()> =
    CascadeQuery<'w, 's, ChildOf, (&'static Transform, &'static mut Matrix), &'static Matrix, (), W>;

fn all(mut tree: Tree) {
    tree.for_each(|(local, mut matrix), parent| *matrix = Matrix::new(local, parent));
}

fn par_all(mut tree: Tree) {
    tree.par_for_each(|(local, mut matrix), parent| *matrix = Matrix::new(local, parent));
}

fn changed(mut tree: Tree<Changed<Transform>>) {
    tree.for_each_changed(|(local, mut matrix), parent| *matrix = Matrix::new(local, parent));
}

#[derive(Clone, Copy)]
struct Plan {
    size: usize,
    moving: usize,
}

impl Plan {
    /// Moves nodes, which is not timed, and runs the systems.
    fn run<G: Component<Mutability = Mutable> + Default>(
        self,
        systems: ScheduleConfigs<ScheduleSystem>,
        global: fn(&G) -> GlobalTransform,
    ) -> impl FnMut(&mut Stopwatch) -> u64 {
        ComputeTaskPool::get_or_init(TaskPool::new);
        let mut world = ours::world();
        world.init_resource::<StaticTransformOptimizations>();
        let mut schedule = Schedule::default();
        schedule.add_systems(systems);
        let mut nodes: Vec<Entity> = Vec::with_capacity(self.size);
        for number in 0..self.size {
            let node = world.spawn((pose(number, 0), G::default())).id();
            if let Some(child) = number.checked_sub(1) {
                world.entity_mut(node).insert(ChildOf(nodes[child / 5]));
            }
            nodes.push(node);
        }
        schedule.run(&mut world);
        let mut moving = Random::new(81).permutation(self.size);
        moving.truncate((self.size * self.moving / 100).max(1));
        let mut globals = world.query::<&G>();
        move |watch| {
            for number in 0..POSES {
                for &node in &moving {
                    if let Some(mut transform) = world.get_mut::<Transform>(nodes[node]) {
                        *transform = pose(node, number);
                    }
                }
                watch.time_threads(|| schedule.run(&mut world));
                world.clear_trackers();
            }
            globals.iter(&world).fold(0, |sum, own| sum.wrapping_add(checksum(&global(own))))
        }
    }
}

/// Where a node is, in one of its poses.
fn pose(node: usize, number: usize) -> Transform {
    let place = (node % 101) as f32 * 0.01 + number as f32;
    let mut pose = Transform::from_xyz(place, 1.0 - place, 0.5);
    pose.rotate_x(place);
    pose
}

fn checksum(global: &GlobalTransform) -> u64 {
    let numbers = global.affine().to_cols_array();
    numbers.iter().fold(0, |sum, number| sum.wrapping_add(u64::from(number.to_bits())))
}
