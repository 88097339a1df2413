//! `bevy_relations` as a [`Side`].

use crate::{
    bevy::{COMPONENTS, Position},
    side::{Link, Lookup, Side, SpawnLinked, Way, notice},
};
use bevy_app::App;
use bevy_ecs::{
    component::Component,
    entity::Entity,
    observer::On,
    system::{Commands, SystemState},
    world::{CommandQueue, World},
};
use bevy_relations::{
    bundle::Participant,
    expr::{CompiledExpr, PairExpr},
    prelude::*,
};
use std::mem;

/// A tag relation with any number of targets.
#[derive(Relation, Default)]
pub(crate) struct Likes;

/// Another one.
#[derive(Relation, Default)]
pub(crate) struct Knows;

/// One whose sources must have a component.
#[derive(Relation, Default)]
#[relation(source(Position))]
pub(crate) struct Orbits;

/// A tag relation with one target.
#[derive(Relation, Default)]
#[relation(exclusive)]
pub(crate) struct DockedTo;

/// Another one.
#[derive(Relation, Default)]
#[relation(exclusive)]
pub(crate) struct OwnedBy;

/// One whose targets are in tables.
#[derive(Relation, Default)]
#[relation(exclusive, storage = "Table")]
pub(crate) struct MemberOf;

/// One of which each target has tables of its own.
#[derive(Relation, Default)]
#[relation(exclusive, storage = "Fragmenting")]
pub(crate) struct TeamOf;

/// So many targets have tables of their own at most.
pub(crate) const TEAMS: usize = 1_000;

/// A relation of which each pair carries a value.
#[derive(Relation)]
pub(crate) struct Owes(#[expect(dead_code, reason = "only stored")] [f32; 3]);

impl Default for Owes {
    fn default() -> Self {
        Self([1.0; 3])
    }
}

/// The same with one target.
#[derive(Relation)]
#[relation(exclusive)]
pub(crate) struct Rents(#[expect(dead_code, reason = "only stored")] [f32; 3]);

impl Default for Rents {
    fn default() -> Self {
        Self([1.0; 3])
    }
}

/// Each pair comes with its other direction.
#[derive(Relation, Default)]
#[relation(symmetric)]
pub(crate) struct Allied;

/// Each pair comes with one of another relation.
#[derive(Relation, Default)]
#[relation(with = Knows)]
pub(crate) struct Trusts;

/// A hierarchy: sources go with their target.
#[derive(Relation, Default)]
#[relation(traversable, exclusive, on_target_despawn = Despawn)]
pub(crate) struct MountedOn;

/// A world as our plugin leaves it.
pub(crate) fn world() -> World {
    let mut app = App::empty();
    app.add_plugins(RelationsPlugin);
    app.finish();
    app.cleanup();
    mem::take(app.world_mut())
}

/// An id that stands for a component in expressions: names are for components that are reflected.
pub(crate) fn id_of<C: Component>(world: &mut World) -> String {
    world.register_component::<C>();
    format!("#{}", world.entity_of::<C>().to_bits())
}

/// An expression, ready to be run.
pub(crate) fn compile(world: &mut World, text: &str) -> CompiledExpr {
    PairExpr::parse(text).and_then(|expr| expr.compile(world)).expect("the expression is right")
}

/// A world with the relation `R`.
pub(crate) struct Ours<R: Relation> {
    world: World,
    reader: SystemState<Pairs<'static, 'static, R>>,
    queue: CommandQueue,
    way: Way,
}

impl<R: Relation + Default> Ours<R> {
    pub(crate) fn new(way: Way) -> Self {
        Self::in_world(way, |_| {})
    }

    fn in_world(way: Way, prepare: impl FnOnce(&mut World)) -> Self {
        let mut world = world();
        prepare(&mut world);
        let reader = SystemState::new(&mut world);
        Self { world, reader, queue: CommandQueue::default(), way }
    }

    /// Its relation is the last of so many.
    pub(crate) fn among(relations: usize, way: Way) -> Self {
        Self::in_world(way, |world| {
            for _ in 1..relations {
                world.spawn_relation("R", RelationTraits::new()).expect("the traits are right");
            }
        })
    }

    /// Its sources are spawned with the marker of participants.
    pub(crate) fn required(way: Way) -> Self {
        Self::in_world(way, World::register_required_components::<Position, Participant>)
    }

    /// Observes the insertion of pairs of a relation.
    pub(crate) fn observed<Observed: Relation>(mut self, observers: usize) -> Self {
        for _ in 0..observers {
            self.world.add_observer(|_: On<PairInserted<Observed>>| notice());
        }
        self
    }

    /// Keeps when pairs were inserted.
    pub(crate) fn with_ticks(way: Way) -> Self {
        Self::in_world(way, World::track_pair_changes::<R>)
    }

    /// Gives all sources of a target to another.
    pub(crate) fn move_sources(&mut self, from: Entity, to: Entity) {
        self.world.move_sources::<R>(from, to).expect("both are alive");
    }

    fn pairs(&mut self) -> Pairs<'_, '_, R> {
        self.reader.get(&self.world).expect("the plugin provides what the parameter needs")
    }
}

impl<R: Relation + Default> Side for Ours<R> {
    type Id = Entity;

    fn spawn_source(&mut self) -> Entity {
        self.world.spawn(COMPONENTS).id()
    }

    fn spawn_child(&mut self, parent: Entity) -> Entity {
        let (position, velocity) = COMPONENTS;
        self.world.spawn((position, velocity, pairs![(R::default(), parent)])).id()
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
        self.world.insert_pair(source, R::default(), target).expect("both entities are alive");
    }

    #[inline]
    fn remove(&mut self, source: Entity, target: Entity) {
        self.world.remove_pair::<R>(source, target);
    }

    fn has(&self, source: Entity, target: Entity) -> bool {
        self.world.has_pair::<R>(source, target)
    }

    fn end_frame(&mut self) {
        self.world.clear_trackers();
    }

    fn tidy(&mut self) {
        self.world.maintain_pairs();
    }

    fn insert_all(&mut self, links: &[Link<Entity>]) {
        match self.way {
            Way::Direct => links.iter().for_each(|&(source, target)| self.insert(source, target)),
            Way::Batch => self
                .world
                .insert_pair_batch(links.iter().map(|&(source, target)| (source, R::default(), target)))
                .expect("all entities are alive"),
            Way::Commands => {
                let mut commands = Commands::new(&mut self.queue, &self.world);
                for &(source, target) in links {
                    commands.entity(source).insert_pair(R::default(), target);
                }
                self.queue.apply(&mut self.world);
            }
            Way::CommandBatch => {
                let mut commands = Commands::new(&mut self.queue, &self.world);
                let mut batch = commands.pair_batch::<R>();
                for &(source, target) in links {
                    batch.insert(source, R::default(), target);
                }
                drop(batch);
                self.queue.apply(&mut self.world);
            }
        }
    }

    fn remove_all(&mut self, links: &[Link<Entity>]) {
        match self.way {
            Way::Direct => links.iter().for_each(|&(source, target)| self.remove(source, target)),
            Way::Batch => {
                self.world.remove_pair_batch::<R>(links.iter().copied());
            }
            Way::Commands => {
                let mut commands = Commands::new(&mut self.queue, &self.world);
                for &(source, target) in links {
                    commands.entity(source).remove_pair::<R>(target);
                }
                self.queue.apply(&mut self.world);
            }
            Way::CommandBatch => {
                let mut commands = Commands::new(&mut self.queue, &self.world);
                let mut batch = commands.pair_batch::<R>();
                for &(source, target) in links {
                    batch.remove(source, target);
                }
                drop(batch);
                self.queue.apply(&mut self.world);
            }
        }
    }

    fn despawn_tree(&mut self, root: Entity) {
        self.world.despawn_with_dependents(root).expect("nothing forbids it");
    }
}

impl<R: Relation + Default> Lookup for Ours<R> {
    fn count_pairs(&mut self, probes: &[Link<Entity>]) -> usize {
        let pairs = self.pairs();
        probes.iter().filter(|&&(source, target)| pairs.has(source, target)).count()
    }

    fn count_related(&mut self, probes: &[Link<Entity>]) -> usize {
        let pairs = self.pairs();
        probes.iter().filter(|&&(source, _)| pairs.has_any(source)).count()
    }

    fn count_first_targets(&mut self, probes: &[Link<Entity>]) -> usize {
        let pairs = self.pairs();
        probes.iter().filter(|&&(source, target)| pairs.target(source) == Some(target)).count()
    }

    fn sum_targets(&mut self, sources: &[Entity]) -> u64 {
        let pairs = self.pairs();
        sources.iter().flat_map(|&source| pairs.targets(source)).map(Self::index).sum()
    }
}

impl<R: Relation + Default> SpawnLinked for Ours<R> {
    fn spawn_linked(&mut self, targets: &[Entity], spawned: &mut Vec<Entity>) {
        match self.way {
            Way::Direct => {
                for &target in targets {
                    spawned.push(self.spawn_child(target));
                }
            }
            Way::Commands => {
                let mut commands = Commands::new(&mut self.queue, &self.world);
                for &target in targets {
                    let (position, velocity) = COMPONENTS;
                    let bundle = (position, velocity, pairs![(R::default(), target)]);
                    spawned.push(commands.spawn(bundle).id());
                }
                self.queue.apply(&mut self.world);
            }
            Way::Batch | Way::CommandBatch => {
                let bundles = targets.iter().map(|&target| (COMPONENTS, R::default(), target));
                spawned.extend(self.world.spawn_batch_with_pair(bundles));
            }
        }
    }
}
