//! Worlds of sources and targets, for workloads that read: each contestant builds the same one.

use crate::{
    bevy::Naming,
    flecs::{Component, FlecsWorld, Id, pair},
    ours,
};
use bevy_ecs::{bundle::Bundle, entity::Entity, world::World};
use bevy_relations::prelude::*;

/// The links between entities.
#[derive(Clone, Copy)]
pub(crate) struct Linked {
    pub(crate) sources: usize,
    pub(crate) targets: usize,
    /// Source and target, in the order in which they are linked.
    pub(crate) links: fn(Self) -> Vec<(usize, usize)>,
}

impl Linked {
    /// Spawns targets, then sources with a value each, and links them. Gives sources and targets.
    pub(crate) fn flecs<T: Copy + 'static>(
        self,
        world: &mut FlecsWorld,
        relation: Id,
        component: Component<T>,
        value: fn(usize) -> T,
    ) -> (Vec<Id>, Vec<Id>) {
        let link = |world: &mut FlecsWorld, source, target| world.add(source, pair(relation, target));
        self.flecs_by(world, component, value, |_, _| {}, link)
    }

    /// The same, linked in another way, with targets that are prepared for it.
    pub(crate) fn flecs_by<T: Copy + 'static>(
        self,
        world: &mut FlecsWorld,
        component: Component<T>,
        value: fn(usize) -> T,
        prepare: impl FnOnce(&mut FlecsWorld, &[Id]),
        link: impl Fn(&mut FlecsWorld, Id, Id),
    ) -> (Vec<Id>, Vec<Id>) {
        let targets: Vec<_> = (0..self.targets).map(|_| world.entity()).collect();
        prepare(world, &targets);
        let mut spawn = |number| {
            let source = world.entity();
            world.set(source, component, &value(number));
            source
        };
        let sources: Vec<_> = (0..self.sources).map(&mut spawn).collect();
        for (source, target) in (self.links)(self) {
            link(world, sources[source], targets[target]);
        }
        (sources, targets)
    }

    /// The same in a Bevy world, whose sources name their targets.
    pub(crate) fn named<N: Naming, B: Bundle>(self, bundle: fn(usize) -> B) -> (World, Vec<Entity>) {
        self.spawn(World::new(), bundle, |world, source, target| {
            world.entity_mut(source).insert(N::new(target));
        })
    }

    /// The same with a relation of ours.
    pub(crate) fn ours<R: Relation + Default, B: Bundle>(
        self,
        bundle: fn(usize) -> B,
    ) -> (World, Vec<Entity>) {
        let mut world = ours::world();
        world.register_relation::<R>().expect("its traits are right");
        self.spawn(world, bundle, |world, source, target| {
            world.insert_pair(source, R::default(), target).expect("both are alive");
        })
    }

    /// Gives the targets; sources follow them.
    fn spawn<B: Bundle>(
        self,
        mut world: World,
        bundle: fn(usize) -> B,
        link: impl Fn(&mut World, Entity, Entity),
    ) -> (World, Vec<Entity>) {
        let targets: Vec<_> = (0..self.targets).map(|_| world.spawn_empty().id()).collect();
        let sources: Vec<_> = (0..self.sources).map(|number| world.spawn(bundle(number)).id()).collect();
        for (source, target) in (self.links)(self) {
            link(&mut world, sources[source], targets[target]);
        }
        (world, targets)
    }
}
