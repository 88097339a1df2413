//! Bevy's own relationships as a [`Side`], and components that name an entity by hand.

use crate::side::{Link, Lookup, Side, SpawnLinked, Way, notice};
use bevy_ecs::{
    component::Component,
    entity::{Entity, EntityHashSet},
    lifecycle::Insert,
    observer::On,
    relationship::Relationship,
    system::{Commands, Query, SystemState},
    world::{CommandQueue, World},
};

/// A component that every source has.
#[derive(Component, Clone, Copy)]
pub(crate) struct Position(#[expect(dead_code, reason = "only moved around")] [f32; 3]);

/// Another component that every source has.
#[derive(Component, Clone, Copy)]
pub(crate) struct Velocity(#[expect(dead_code, reason = "only moved around")] [f32; 3]);

pub(crate) const COMPONENTS: (Position, Velocity) = (Position([1.0; 3]), Velocity([1.0; 3]));

/// A relationship whose target keeps its sources in a set: no hub is slow to leave.
#[derive(Component)]
#[relationship(relationship_target = LikedBySet)]
pub(crate) struct LikesInSet(Entity);

#[derive(Component)]
#[relationship_target(relationship = LikesInSet)]
pub(crate) struct LikedBySet(EntityHashSet);

/// A relationship whose target keeps its sources in a list: Bevy's default.
#[derive(Component)]
#[relationship(relationship_target = LikedByList)]
pub(crate) struct LikesInList(Entity);

#[derive(Component)]
#[relationship_target(relationship = LikesInList)]
pub(crate) struct LikedByList(Vec<Entity>);

/// A component that names another entity, as one would write it without relationships: nothing is kept at the target.
#[derive(Component)]
pub(crate) struct LikesByHand(Entity);

/// A component that names another entity.
pub(crate) trait Naming: Component {
    fn new(target: Entity) -> Self;

    fn target(&self) -> Entity;
}

impl<R: Relationship> Naming for R {
    fn new(target: Entity) -> Self {
        R::from(target)
    }

    fn target(&self) -> Entity {
        self.get()
    }
}

impl Naming for LikesByHand {
    fn new(target: Entity) -> Self {
        Self(target)
    }

    fn target(&self) -> Entity {
        self.0
    }
}

/// A Bevy world whose sources name their target in a component.
pub(crate) struct Bevy<R: Naming> {
    world: World,
    reader: SystemState<Query<'static, 'static, &'static R>>,
    queue: CommandQueue,
    way: Way,
}

impl<R: Naming> Bevy<R> {
    pub(crate) fn new(way: Way) -> Self {
        Self::in_world(World::new(), way)
    }

    /// Works in a world that a plugin has prepared.
    pub(crate) fn in_world(mut world: World, way: Way) -> Self {
        let reader = SystemState::new(&mut world);
        Self { world, reader, queue: CommandQueue::default(), way }
    }

    /// Observes the insertion of a component.
    pub(crate) fn observed<C: Component>(mut self, observers: usize) -> Self {
        for _ in 0..observers {
            self.world.add_observer(|_: On<Insert<C>>| notice());
        }
        self
    }

    fn command(&mut self, links: &[Link<Entity>], each: impl Fn(&mut Commands<'_, '_>, Link<Entity>)) {
        let mut commands = Commands::new(&mut self.queue, &self.world);
        for &link in links {
            each(&mut commands, link);
        }
        self.queue.apply(&mut self.world);
    }

    fn query(&mut self) -> Query<'_, '_, &'static R> {
        self.reader.get(&self.world).expect("queries are always available")
    }
}

impl<R: Relationship> Bevy<R> {
    /// Makes these the sources of a target.
    pub(crate) fn replace_related(&mut self, target: Entity, sources: &[Entity]) {
        self.world.entity_mut(target).replace_related::<R>(sources);
    }
}

impl<R: Naming> Side for Bevy<R> {
    type Id = Entity;

    fn spawn_source(&mut self) -> Entity {
        self.world.spawn(COMPONENTS).id()
    }

    fn spawn_child(&mut self, parent: Entity) -> Entity {
        let (position, velocity) = COMPONENTS;
        self.world.spawn((position, velocity, R::new(parent))).id()
    }

    fn spawn_target(&mut self) -> Entity {
        self.world.spawn_empty().id()
    }

    fn despawn(&mut self, entity: Entity) {
        self.world.despawn(entity);
    }

    fn is_alive(&self, entity: Entity) -> bool {
        self.world.get_entity(entity).is_ok()
    }

    fn index(entity: Entity) -> u64 {
        u64::from(entity.index_u32())
    }

    #[inline]
    fn insert(&mut self, source: Entity, target: Entity) {
        self.world.entity_mut(source).insert(R::new(target));
    }

    #[inline]
    fn remove(&mut self, source: Entity, _target: Entity) {
        self.world.entity_mut(source).remove::<R>();
    }

    fn has(&self, source: Entity, target: Entity) -> bool {
        self.world.get::<R>(source).is_some_and(|link| link.target() == target)
    }

    fn end_frame(&mut self) {
        self.world.clear_trackers();
    }

    fn insert_all(&mut self, links: &[Link<Entity>]) {
        match self.way {
            Way::Direct => links.iter().for_each(|&(source, target)| self.insert(source, target)),
            Way::Batch => {
                self.world.insert_batch(links.iter().map(|&(source, target)| (source, R::new(target))));
            }
            Way::Commands | Way::CommandBatch => self.command(links, |commands, (source, target)| {
                commands.entity(source).insert(R::new(target));
            }),
        }
    }

    fn remove_all(&mut self, links: &[Link<Entity>]) {
        match self.way {
            Way::Direct | Way::Batch => {
                links.iter().for_each(|&(source, target)| self.remove(source, target));
            }
            Way::Commands | Way::CommandBatch => self.command(links, |commands, (source, _)| {
                commands.entity(source).remove::<R>();
            }),
        }
    }
}

impl<R: Naming> Lookup for Bevy<R> {
    fn count_pairs(&mut self, probes: &[Link<Entity>]) -> usize {
        let query = self.query();
        probes
            .iter()
            .filter(|&&(source, target)| query.get(source).is_ok_and(|link| link.target() == target))
            .count()
    }

    fn count_related(&mut self, probes: &[Link<Entity>]) -> usize {
        let query = self.query();
        probes.iter().filter(|&&(source, _)| query.contains(source)).count()
    }

    fn count_first_targets(&mut self, probes: &[Link<Entity>]) -> usize {
        self.count_pairs(probes)
    }

    fn sum_targets(&mut self, sources: &[Entity]) -> u64 {
        let query = self.query();
        let targets = sources.iter().filter_map(|&source| query.get(source).ok()).map(R::target);
        targets.map(Self::index).sum()
    }
}

impl<R: Naming> SpawnLinked for Bevy<R> {
    fn spawn_linked(&mut self, targets: &[Entity], spawned: &mut Vec<Entity>) {
        match self.way {
            Way::Direct => {
                for &target in targets {
                    spawned.push(self.spawn_child(target));
                }
            }
            Way::Commands => {
                let mut commands = Commands::new(&mut self.queue, &self.world);
                let (position, velocity) = COMPONENTS;
                for &target in targets {
                    spawned.push(commands.spawn((position, velocity, R::new(target))).id());
                }
                self.queue.apply(&mut self.world);
            }
            Way::Batch | Way::CommandBatch => {
                let (position, velocity) = COMPONENTS;
                let bundles = targets.iter().map(move |&target| (position, velocity, R::new(target)));
                spawned.extend(self.world.spawn_batch(bundles));
            }
        }
    }
}
