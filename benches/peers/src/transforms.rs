//! Trees of transforms, for the workloads that follow a hierarchy: 3x4 matrices, the parent's times one's own.
#![expect(unsafe_code, reason = "the rival takes the short cut that `bevy_transform` takes")]

use crate::{
    flecs::{self, FlecsWorld, Id, Kind},
    flecs_query::{FlecsQuery, Term},
    ours,
};
use bevy_ecs::{prelude::*, system::SystemId};
use bevy_relations::prelude::*;

/// A matrix relative to the parent's.
#[derive(Component, Clone, Copy)]
#[repr(C, align(16))]
pub(crate) struct Local([f32; 12]);

/// A matrix relative to the world.
#[derive(Component, Clone, Copy)]
#[repr(C, align(16))]
pub(crate) struct Global([f32; 12]);

impl Local {
    fn of(number: usize) -> Self {
        let x = (number % 101) as f32 * 0.01;
        Self([1.0, 0.1, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0, 1.0, x, 1.0 - x, 0.5])
    }
}

impl Global {
    const ZERO: Self = Self([0.0; 12]);

    #[inline(always)]
    fn new(local: &Local, parent: Option<&Self>) -> Self {
        let (Some(Self(a)), Local(b)) = (parent, local) else { return Self(local.0) };
        let mut product = [0.0; 12];
        for column in 0..4 {
            for row in 0..3 {
                let start = if column == 3 { a[9 + row] } else { 0.0 };
                product[column * 3 + row] = start
                    + a[row] * b[column * 3]
                    + a[3 + row] * b[column * 3 + 1]
                    + a[6 + row] * b[column * 3 + 2];
            }
        }
        Self(product)
    }

    fn checksum(&self) -> u64 {
        self.0.iter().fold(0, |sum, number| sum.wrapping_add(u64::from(number.to_bits())))
    }
}

/// A tree with transforms in some library.
pub(crate) trait Transforms: 'static {
    type Id: Copy + 'static;

    fn spawn(&mut self, number: usize, parent: Option<Self::Id>) -> Self::Id;

    /// An entity whose parent comes later.
    fn spawn_loose(&mut self, number: usize) -> Self::Id;

    fn set_parent(&mut self, child: Self::Id, parent: Self::Id);

    fn despawn(&mut self, node: Self::Id);

    /// Computes all global matrices.
    fn propagate(&mut self);

    fn checksum(&mut self) -> u64;
}

/// A Bevy world and a system in it.
pub(crate) struct BevyTransforms {
    world: World,
    system: SystemId,
    relate: fn(&mut World, Entity, Entity),
    spawn: fn(&mut World, (Local, Global), Entity) -> Entity,
}

/// Our relation.
#[derive(Relation, Default)]
#[relation(exclusive, traversable, on_target_despawn = Despawn)]
pub(crate) struct PartOf;

impl BevyTransforms {
    /// A cascade along a relation of ours.
    pub(crate) fn cascade() -> Self {
        fn run(mut tree: CascadeQuery<PartOf, (&Local, &mut Global), &Global>) {
            tree.for_each(|(local, mut global), parent| *global = Global::new(local, parent));
        }
        Self::along_relation(run)
    }

    /// The same on several threads.
    pub(crate) fn par_cascade() -> Self {
        fn run(mut tree: CascadeQuery<PartOf, (&Local, &mut Global), &Global>) {
            tree.par_for_each(|(local, mut global), parent| *global = Global::new(local, parent));
        }
        bevy_tasks::ComputeTaskPool::get_or_init(bevy_tasks::TaskPool::new);
        Self::along_relation(run)
    }

    fn along_relation<M>(system: impl IntoSystem<(), (), M> + 'static) -> Self {
        let mut world = ours::world();
        let system = world.register_system(system);
        Self {
            world,
            system,
            relate: |world, child, parent| {
                world.insert_pair(child, PartOf, parent).expect("both are alive");
            },
            spawn: |world, (local, global), parent| {
                world.spawn((local, global, pairs![(PartOf, parent)])).id()
            },
        }
    }

    /// A cascade along Bevy's hierarchy.
    pub(crate) fn child_of_cascade() -> Self {
        fn run(mut tree: CascadeQuery<ChildOf, (&Local, &mut Global), &Global>) {
            tree.for_each(|(local, mut global), parent| *global = Global::new(local, parent));
        }
        Self::along_children(ours::world(), run)
    }

    /// What `bevy_transform` does on one thread: from every root down through `Children`.
    pub(crate) fn recursion() -> Self {
        type Nodes<'w, 's> = Query<'w, 's, (&'static Local, &'static mut Global, Option<&'static Children>)>;

        /// # Safety
        /// No data of `node`, or of nodes below it, may be borrowed.
        unsafe fn descend(nodes: &Nodes<'_, '_>, parent: Option<&Global>, node: Entity) {
            // SAFETY: as the caller promises.
            let Ok((local, mut global, children)) = (unsafe { nodes.get_unchecked(node) }) else { return };
            *global = Global::new(local, parent);
            for &child in children.into_iter().flatten() {
                // SAFETY: what is borrowed is of `node` and those above, and a node is below one parent only.
                unsafe { descend(nodes, Some(&global), child) };
            }
        }
        fn run(roots: Query<Entity, (With<Local>, Without<ChildOf>)>, mut nodes: Nodes) {
            let nodes = nodes.reborrow();
            for root in &roots {
                // SAFETY: the query is borrowed mutably, and none of its data is borrowed.
                unsafe { descend(&nodes, None, root) };
            }
        }
        Self::along_children(World::new(), run)
    }

    fn along_children<M>(mut world: World, system: impl IntoSystem<(), (), M> + 'static) -> Self {
        let system = world.register_system(system);
        Self {
            world,
            system,
            relate: |world, child, parent| {
                world.entity_mut(child).insert(ChildOf(parent));
            },
            spawn: |world, (local, global), parent| world.spawn((local, global, ChildOf(parent))).id(),
        }
    }
}

impl Transforms for BevyTransforms {
    type Id = Entity;

    fn spawn(&mut self, number: usize, parent: Option<Entity>) -> Entity {
        match parent {
            Some(parent) => (self.spawn)(&mut self.world, (Local::of(number), Global::ZERO), parent),
            None => self.spawn_loose(number),
        }
    }

    fn spawn_loose(&mut self, number: usize) -> Entity {
        self.world.spawn((Local::of(number), Global::ZERO)).id()
    }

    fn set_parent(&mut self, child: Entity, parent: Entity) {
        (self.relate)(&mut self.world, child, parent);
    }

    fn despawn(&mut self, node: Entity) {
        self.world.despawn(node);
    }

    fn propagate(&mut self) {
        self.world.maintain_pairs();
        self.world.run_system(self.system).expect("the system is registered");
    }

    fn checksum(&mut self) -> u64 {
        self.world.clear_trackers();
        let mut globals = self.world.query::<&Global>();
        globals.iter(&self.world).fold(0, |sum, global| sum.wrapping_add(global.checksum()))
    }
}

/// A Flecs world with a cached query that cascades along its hierarchy.
pub(crate) struct FlecsTransforms {
    world: FlecsWorld,
    query: FlecsQuery,
    all: FlecsQuery,
    child_of: Id,
    local: flecs::Component<Local>,
    global: flecs::Component<Global>,
}

impl FlecsTransforms {
    pub(crate) fn new() -> Self {
        let mut world = FlecsWorld::new();
        let (local, global) = (world.component(), world.component());
        let child_of = world.relation(Kind::ChildOf);
        let parent = Term::read(global).cascade(child_of).optional();
        let query = FlecsQuery::cached(&mut world, &[Term::read(local), Term::write(global).this(), parent]);
        let all = FlecsQuery::uncached(&mut world, &[Term::read(global)]);
        Self { world, query, all, child_of, local, global }
    }
}

/// A Flecs world with its hierarchy in the second storage, and a query whose tables are in the order of their depth.
#[cfg(flecs_parent)]
pub(crate) struct FlecsParents {
    forest: FlecsTransforms,
    parent: flecs::Component<Id>,
}

#[cfg(flecs_parent)]
impl FlecsParents {
    pub(crate) fn new() -> Self {
        let mut forest = FlecsTransforms::new();
        let parent = forest.world.parent();
        let terms = [
            Term::read(forest.local),
            Term::write(forest.global).this(),
            Term::read(parent).this().optional(),
        ];
        forest.query = FlecsQuery::by_depth(&mut forest.world, &terms);
        Self { forest, parent }
    }
}

#[cfg(flecs_parent)]
impl Transforms for FlecsParents {
    type Id = Id;

    fn spawn(&mut self, number: usize, parent: Option<Id>) -> Id {
        let node = self.forest.spawn_loose(number);
        parent.into_iter().for_each(|parent| self.set_parent(node, parent));
        node
    }

    fn spawn_loose(&mut self, number: usize) -> Id {
        self.forest.spawn_loose(number)
    }

    fn set_parent(&mut self, child: Id, parent: Id) {
        self.forest.world.set(child, self.parent, &parent);
    }

    fn despawn(&mut self, node: Id) {
        self.forest.despawn(node);
    }

    fn propagate(&mut self) {
        let FlecsTransforms { world, query, global, .. } = &mut self.forest;
        query.for_each_table_and_get(world, |table, parents| {
            let (Some(locals), Some(globals)) = (table.field::<Local>(0), table.field::<Global>(1)) else {
                return;
            };
            let Some(above) = table.field::<Id>(2) else {
                locals.iter().zip(globals).for_each(|(local, own)| own.set(Global::new(&local.get(), None)));
                return;
            };
            for ((local, own), parent) in locals.iter().zip(globals).zip(above) {
                own.set(Global::new(&local.get(), parents.get(parent.get(), *global).as_ref()));
            }
        });
    }

    fn checksum(&mut self) -> u64 {
        self.forest.checksum()
    }
}

impl Transforms for FlecsTransforms {
    type Id = Id;

    fn spawn(&mut self, number: usize, parent: Option<Id>) -> Id {
        let node = self.world.entity();
        if let Some(parent) = parent {
            self.set_parent(node, parent);
        }
        self.world.set(node, self.local, &Local::of(number));
        self.world.set(node, self.global, &Global::ZERO);
        node
    }

    fn spawn_loose(&mut self, number: usize) -> Id {
        self.spawn(number, None)
    }

    fn set_parent(&mut self, child: Id, parent: Id) {
        self.world.add(child, flecs::pair(self.child_of, parent));
    }

    fn despawn(&mut self, node: Id) {
        self.world.delete(node);
    }

    fn propagate(&mut self) {
        self.query.for_each_table(&mut self.world, |table| {
            let (Some(locals), Some(globals)) = (table.field::<Local>(0), table.field::<Global>(1)) else {
                return;
            };
            let parent = table.field::<Global>(2).map(|parent| parent[0].get());
            for (local, global) in locals.iter().zip(globals) {
                global.set(Global::new(&local.get(), parent.as_ref()));
            }
        });
    }

    fn checksum(&mut self) -> u64 {
        let mut sum: u64 = 0;
        self.all.for_each_table(&mut self.world, |table| {
            for global in table.field::<Global>(0).into_iter().flatten() {
                sum = sum.wrapping_add(global.get().checksum());
            }
        });
        sum
    }
}
