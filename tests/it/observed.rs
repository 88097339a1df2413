//! Observers of pairs come and go in every way that Bevy and this crate have, beside changes of every kind: each sees the
//! events that fit it and no others, whatever takes the fast path.

use crate::common::{Random, fewer, spawn, world_that_records_errors};
use bevy_ecs::{entity::EntityHashMap, prelude::*};
use bevy_relations::{
    event::{PairInsertedEvent, PairPattern},
    prelude::*,
    relation::Wildcard,
};

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
struct Fears;

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo;

#[derive(Relation)]
#[relation(symmetric)]
struct Touches;

#[derive(Relation, Clone, Copy)]
struct Owes(#[expect(dead_code, reason = "it makes the pairs carry values")] u32);

/// What an observer saw: inserted or removed, source, relation, target, replaced.
type Seen = (bool, Entity, Entity, Entity, bool);

#[derive(Resource, Default)]
struct Log(Vec<(usize, Seen)>);

/// Which events an observer sees.
#[derive(Clone, Copy, Default)]
struct Pattern {
    source: Option<Entity>,
    relation: Option<Entity>,
    target: Option<Entity>,
}

impl Pattern {
    fn fits(self, &(_, source, relation, target, _): &Seen) -> bool {
        self.source.is_none_or(|wanted| wanted == source)
            && self.relation.is_none_or(|wanted| wanted == relation)
            && self.target.is_none_or(|wanted| wanted == target)
    }
}

fn saw_insertion<P: PairPattern>(number: usize) -> impl Fn(On<PairInserted<P>>, ResMut<Log>) + Clone {
    move |on, mut log| log.0.push((number, (true, on.source, on.relation, on.target, on.replaced)))
}

fn saw_removal<P: PairPattern>(number: usize) -> impl Fn(On<PairRemoved<P>>, ResMut<Log>) + Clone {
    move |on, mut log| log.0.push((number, (false, on.source, on.relation, on.target, false)))
}

/// The ways to add an observer of a type of relations, or of all.
const WAYS: usize = 6;

/// Adds an observer of insertions, if `inserted`, or of removals. Returns it, and whether it sees events of one source only.
fn observe_type<P: PairPattern>(
    world: &mut World,
    way: usize,
    inserted: bool,
    number: usize,
    source: Entity,
) -> (Entity, bool) {
    let observer = match inserted {
        true => Observer::new(saw_insertion::<P>(number)),
        false => Observer::new(saw_removal::<P>(number)),
    };
    let observer = match (way, inserted) {
        (0, true) => world.add_observer(saw_insertion::<P>(number)).id(),
        (0, false) => world.add_observer(saw_removal::<P>(number)).id(),
        (1, true) => {
            let observer = world.commands().add_observer(saw_insertion::<P>(number)).id();
            world.flush();
            observer
        }
        (1, false) => {
            let observer = world.commands().add_observer(saw_removal::<P>(number)).id();
            world.flush();
            observer
        }
        (2, _) => world.spawn(observer).id(),
        (3, _) => {
            // Beside a pair of its own, whose event comes before Bevy knows of the observer.
            let parent = world.spawn_empty().id();
            world.spawn((observer, ChildOf(parent))).id()
        }
        (4, _) => return (world.spawn(observer.with_entity(source)).id(), true),
        (5, _) => {
            let before: Vec<Entity> = world.query_filtered::<Entity, With<Observer>>().iter(world).collect();
            match inserted {
                true => world.entity_mut(source).observe(saw_insertion::<P>(number)),
                false => world.entity_mut(source).observe(saw_removal::<P>(number)),
            };
            let mut after = world.query_filtered::<Entity, With<Observer>>();
            let added = after.iter(world).find(|observer| !before.contains(observer)).unwrap();
            return (added, true);
        }
        _ => unreachable!(),
    };
    (observer, false)
}

/// A world with observers under test, and the entities by which it is compared with another.
struct Game {
    world: World,
    relations: Vec<Entity>,
    entities: Vec<Entity>,
    /// What entities are called in both worlds.
    labels: EntityHashMap<usize>,
    count: usize,
}

impl Game {
    fn new() -> Self {
        let mut world = world_that_records_errors();
        world.init_resource::<Log>();
        let relations = vec![
            world.register_relation::<Likes>().unwrap(),
            world.register_relation::<Fears>().unwrap(),
            world.register_relation::<DockedTo>().unwrap(),
            world.register_relation::<Touches>().unwrap(),
            world.register_relation::<Owes>().unwrap(),
            world.register_relation::<ChildOf>().unwrap(),
            world.spawn_relation("R", RelationTraits::new()).unwrap(),
        ];
        let entities = spawn::<6>(&mut world).to_vec();
        let mut game = Self { world, relations, entities, labels: EntityHashMap::default(), count: 0 };
        let known: Vec<Entity> = game.relations.iter().chain(&game.entities).copied().collect();
        known.into_iter().for_each(|entity| game.label(entity));
        game
    }

    fn label(&mut self, entity: Entity) {
        self.labels.insert(entity, self.count);
        self.count += 1;
    }

    /// A change, the same for every game in which the numbers are the same.
    fn change(&mut self, random: &mut Random, step: u32) {
        let [source, target, third] = [(); 3].map(|()| random.below(self.entities.len()));
        let [source, target, third] = [source, target, third].map(|at| self.entities[at]);
        let relation = self.relations[random.below(self.relations.len())];
        let world = &mut self.world;
        match random.below(14) {
            0 | 1 => _ = world.insert_pair(source, Likes, target),
            2 => _ = world.insert_pair(source, Fears, target),
            3 => _ = world.insert_pair(source, DockedTo, target),
            4 => _ = world.insert_pair(source, Owes(step), target),
            5 => _ = world.insert_pair(source, Touches, target),
            6 if source != target => _ = world.entity_mut(source).insert(ChildOf(target)),
            6 => _ = world.entity_mut(source).remove::<ChildOf>(),
            7 => _ = world.insert_pair_by_id(source, (self.relations[6], target)),
            8 => _ = world.insert_tag(source, target),
            9 => {
                let pairs = [(source, Likes, target), (third, Likes, target), (source, Likes, third)];
                world.insert_pair_batch(pairs).unwrap();
                let pairs = [(source, DockedTo, target), (third, DockedTo, target)];
                world.insert_pair_batch(pairs).unwrap();
            }
            10 => _ = world.remove_pairs_by_id(source, (relation, target)),
            11 => {
                world.remove_pair::<Likes>(source, target);
                world.remove_pair_batch::<DockedTo>([(source, target), (third, target)]);
                world.remove_tag(source, target);
            }
            12 => _ = world.remove_pairs_by_id(source, PairId::with_relation(relation)),
            _ => _ = world.despawn(source),
        }
        for at in 0..self.entities.len() {
            if self.world.get_entity(self.entities[at]).is_err() {
                self.entities[at] = self.world.spawn_empty().id();
                self.label(self.entities[at]);
            }
        }
        if step.is_multiple_of(16) {
            self.world.check_pairs().unwrap();
        }
    }

    /// What was seen since this was asked last, in labels.
    fn seen(&mut self) -> Vec<(usize, Seen)> {
        std::mem::take(&mut self.world.resource_mut::<Log>().0)
    }

    /// An event in labels. Those of other entities, which observers came with, are left out.
    fn labelled(
        &self,
        &(inserted, source, relation, target, replaced): &Seen,
    ) -> Option<(bool, usize, usize, usize, bool)> {
        let [source, target] = [source, target].map(|entity| self.labels.get(&entity).copied());
        // `Tagged` has no label.
        let relation = self.labels.get(&relation).map_or(usize::MAX, |&label| label);
        Some((inserted, source?, relation, target?, replaced))
    }

    /// Adds an observer at random. Returns it and what it sees.
    fn observe(&mut self, random: &mut Random, inserted: bool, number: usize) -> (Entity, Pattern) {
        let (way, at) = (random.below(WAYS), random.below(self.relations.len()));
        let [source, target] = [(); 2].map(|()| self.entities[random.below(self.entities.len())]);
        let (world, relation) = (&mut self.world, self.relations[at]);
        let of_type = match random.below(6) {
            0 => Some((observe_type::<Wildcard>(world, way, inserted, number, source), None)),
            1..4 => {
                let observe = [
                    observe_type::<Likes>,
                    observe_type::<Fears>,
                    observe_type::<DockedTo>,
                    observe_type::<Touches>,
                    observe_type::<Owes>,
                    observe_type::<ChildOf>,
                ];
                let observe = observe.get(at);
                observe.map(|observe| (observe(world, way, inserted, number, source), Some(relation)))
            }
            _ => None,
        };
        if let Some(((observer, of_source), relation)) = of_type {
            return (observer, Pattern { source: of_source.then_some(source), relation, target: None });
        }
        let pattern = Pattern {
            source: None,
            relation: (random.below(3) > 0).then_some(relation),
            target: (random.below(2) > 0).then_some(target),
        };
        let pair = match (pattern.relation, pattern.target) {
            (Some(relation), Some(target)) => PairId::new(relation, target),
            (Some(relation), None) => PairId::with_relation(relation),
            (None, Some(target)) => PairId::with_target(target),
            (None, None) => PairId::ALL,
        };
        let observer = match inserted {
            true => world.observe_pairs(pair, saw_insertion::<Wildcard>(number)),
            false => world.observe_pairs(pair, saw_removal::<Wildcard>(number)),
        };
        (observer, pattern)
    }
}

/// A game with an observer of everything, which takes the fast path from all changes, records what those of another must see.
fn storm(seed: u64) {
    let (mut oracle, mut game) = (Game::new(), Game::new());
    oracle.world.add_observer(saw_insertion::<Wildcard>(0));
    oracle.world.add_observer(saw_removal::<Wildcard>(0));
    let mut random = Random(seed);
    let mut observers: Vec<(usize, bool, Entity, Pattern)> = Vec::new();
    for step in 0..fewer(250) {
        match random.below(8) {
            0 if observers.len() < 3 => {
                let inserted = random.below(2) == 0;
                let (observer, pattern) = game.observe(&mut random, inserted, step);
                observers.push((step, inserted, observer, pattern));
            }
            1 if !observers.is_empty() => {
                let (_, _, observer, _) = observers.swap_remove(random.below(observers.len()));
                let _ = game.world.try_despawn(observer);
            }
            _ => {}
        }
        oracle.seen();
        game.seen();
        let mut same = random.clone();
        oracle.change(&mut same, step as u32);
        game.change(&mut random, step as u32);
        let (all, seen) = (oracle.seen(), game.seen());
        let by_label: Vec<Entity> = {
            let mut by_label = vec![Entity::PLACEHOLDER; game.count];
            game.labels.iter().for_each(|(&entity, &label)| by_label[label] = entity);
            by_label
        };
        for &(number, inserted, _, pattern) in &observers {
            let expected: Vec<_> = all
                .iter()
                .filter(|(_, event)| event.0 == inserted)
                .filter_map(|(_, event)| oracle.labelled(event))
                .filter(|&(_, source, relation, target, _)| {
                    let relation = by_label.get(relation).copied().unwrap_or(Entity::PLACEHOLDER);
                    pattern.fits(&(true, by_label[source], relation, by_label[target], false))
                })
                .collect();
            let own = seen.iter().filter(|&&(by, _)| by == number);
            let found: Vec<_> = own.filter_map(|(_, event)| game.labelled(event)).collect();
            assert_eq!(found, expected, "seed {seed}, step {step}, observer {number}");
        }
        // Bevy despawns observers of entities that are gone.
        observers.retain(|&(_, _, observer, _)| game.world.get_entity(observer).is_ok());
    }
}

#[test]
fn each_observer_sees_what_fits_it_however_it_was_added_and_whatever_else_is_observed() {
    for seed in 1..=fewer(12) as u64 {
        storm(seed);
    }
}

fn count(world: &mut World) -> usize {
    std::mem::take(&mut world.resource_mut::<Log>().0).len()
}

#[test]
fn an_observer_sees_pairs_of_a_type_that_is_registered_after_it_or_known_by_its_entity_only() {
    let mut world = world_that_records_errors();
    world.init_resource::<Log>();
    let [a, b, c] = spawn(&mut world);
    world.insert_pair(a, Fears, b).unwrap();
    world.add_observer(saw_insertion::<Likes>(0));
    world.insert_pair(a, Fears, c).unwrap();
    // The entity of the type is used as a relation; then the type turns out to be one.
    let likes = world.entity_of::<Likes>();
    world.insert_pair_by_id(a, (likes, b)).unwrap();
    world.insert_pair_by_id(b, (likes, c)).unwrap();
    count(&mut world);
    world.insert_pair(a, Likes, c).unwrap();
    assert_eq!(count(&mut world), 1);
    world.insert_pair_by_id(c, (likes, b)).unwrap();
    assert_eq!(count(&mut world), 1);
}

/// While it is being added, an observer is neither there nor not.
#[test]
fn an_observer_sees_what_its_own_parameters_have_queued() {
    #[derive(Resource)]
    struct Ends([Entity; 2]);
    struct Busy;
    impl FromWorld for Busy {
        fn from_world(world: &mut World) -> Self {
            let Ends([a, b]) = *world.resource::<Ends>();
            world.insert_pair(b, Likes, a).unwrap();
            world.remove_pair::<Likes>(b, a);
            world.commands().queue(move |world: &mut World| world.insert_pair(a, Likes, b).unwrap());
            Self
        }
    }
    let mut world = world_that_records_errors();
    world.init_resource::<Log>();
    let ends = spawn(&mut world);
    world.insert_resource(Ends(ends));
    world.insert_pair(ends[0], Likes, ends[0]).unwrap();
    world.add_observer(|on: On<PairInserted<Likes>>, _: Local<Busy>, mut log: ResMut<Log>| {
        log.0.push((0, (true, on.source, on.relation, on.target, false)));
    });
    world.flush();
    let likes = world.entity_of::<Likes>();
    assert_eq!(world.resource::<Log>().0, [(0, (true, ends[0], likes, ends[1], false))]);
}

#[test]
fn an_observer_of_the_event_itself_sees_every_relation() {
    let mut world = world_that_records_errors();
    world.init_resource::<Log>();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Likes, b).unwrap();
    world.insert_pair(a, Fears, b).unwrap();
    let observer = world
        .add_observer(|on: On<PairInsertedEvent>, mut log: ResMut<Log>| {
            log.0.push((0, (true, on.source, on.relation, on.target, false)));
        })
        .id();
    world.insert_pair(b, Likes, a).unwrap();
    world.insert_pair(b, Fears, a).unwrap();
    assert_eq!(count(&mut world), 2);
    world.despawn(observer);
    world.insert_pair(a, Likes, a).unwrap();
    assert_eq!(count(&mut world), 0);
}

/// An observer whose entities are cloned with it sees those of the clone, without being added again.
#[test]
fn an_observer_of_one_source_sees_pairs_of_its_clone() {
    let mut world = world_that_records_errors();
    world.init_resource::<Log>();
    let [a, b, clone] = spawn(&mut world);
    world.entity_mut(a).observe(saw_insertion::<Likes>(0));
    world.insert_pair(b, Likes, b).unwrap();
    bevy_ecs::entity::EntityCloner::build_opt_out(&mut world).add_observers(true).clone_entity(a, clone);
    assert_eq!(count(&mut world), 0);
    world.insert_pair(clone, Likes, b).unwrap();
    assert_eq!(count(&mut world), 1);
}
