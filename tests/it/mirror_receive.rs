//! Components that arrive from a world which decides, entity by entity and in any order, as replication brings them.

use crate::common::{Random, fewer, spawn, take_reported_errors, world_that_records_errors};
use bevy_ecs::{
    entity::{EntityHashMap, EntityMapper},
    prelude::*,
};
use bevy_reflect::Reflect;
use bevy_relations::{mirror::*, prelude::*, relation::TraitsError};

#[derive(Component)]
struct Seat;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(target(Seat))]
struct SitsOn;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
struct Owes(u32);

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(exclusive, traversable, on_target_despawn = Despawn)]
struct PartOf;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(acyclic)]
struct After(u32);

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(symmetric)]
struct Knows(u32);

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(symmetric, exclusive)]
struct Partner;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(exclusive, on_last_source = Despawn)]
struct GuestOf;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(on_source_despawn = DespawnTarget)]
struct Holds;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(on_target_despawn = Refuse)]
struct Guards;

fn client<R: MirroredRelation>() -> World {
    let mut world = world_that_records_errors();
    world.receive_pairs::<R>().unwrap();
    world
}

fn arrives<R: MirroredRelation + Default>(world: &mut World, source: Entity, targets: &[Entity]) {
    let pairs = targets.iter().map(|&target| (R::default(), target));
    world.entity_mut(source).insert(MirroredPairs::from_iter(pairs));
    world.check_pairs().unwrap();
}

macro_rules! defaults {
    ($($relation:ident $value:expr,)*) => {$(
        impl Default for $relation {
            fn default() -> Self {
                $value
            }
        }
    )*};
}

defaults! {
    SitsOn SitsOn, PartOf PartOf, Partner Partner, GuestOf GuestOf, Holds Holds, Guards Guards, After After(1),
}

fn targets<R: Relation>(world: &World, source: Entity) -> Vec<Entity> {
    world.pairs::<R>().targets(source).collect()
}

#[test]
fn a_pair_waits_for_what_its_target_must_have_and_is_reported_once() {
    let mut world = client::<SitsOn>();
    let [ann, chair] = spawn(&mut world);
    arrives::<SitsOn>(&mut world, ann, &[chair]);
    assert!(!world.has_pair::<SitsOn>(ann, chair));
    assert_eq!(take_reported_errors(), [""; 0], "the rest may be on its way");
    for frame in 0..5 {
        world.maintain_pairs();
        assert_eq!(take_reported_errors().len(), usize::from(frame == 0));
    }
    world.entity_mut(chair).insert(Seat);
    world.maintain_pairs();
    assert!(world.has_pair::<SitsOn>(ann, chair));
    assert_eq!(world.get::<MirroredPairs<SitsOn>>(ann).unwrap().targets().collect::<Vec<_>>(), [chair]);
    world.check_pairs().unwrap();
}

#[test]
fn what_waits_is_dropped_if_the_component_is_removed_or_another_arrives() {
    let mut world = client::<SitsOn>();
    let [ann, ben, chair, bench] = spawn(&mut world);
    arrives::<SitsOn>(&mut world, ann, &[chair]);
    arrives::<SitsOn>(&mut world, ben, &[chair]);
    assert!(world.get::<MirroredPairs<SitsOn>>(ann).is_some_and(|mirrored| mirrored.pairs.is_empty()));
    // What replicates removes components that are there.
    world.entity_mut(ann).remove::<MirroredPairs<SitsOn>>();
    world.entity_mut(bench).insert(Seat);
    arrives::<SitsOn>(&mut world, ben, &[bench]);
    world.entity_mut(chair).insert(Seat);
    world.maintain_pairs();
    assert_eq!(world.pairs::<SitsOn>().iter().collect::<Vec<_>>(), [(ben, bench)]);
    assert!(!world.entity(ann).contains::<MirroredPairs<SitsOn>>());
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn what_waits_is_dropped_with_its_entity() {
    let mut world = client::<SitsOn>();
    let [ann, chair] = spawn(&mut world);
    arrives::<SitsOn>(&mut world, ann, &[chair]);
    world.despawn(ann);
    world.entity_mut(chair).insert(Seat);
    world.maintain_pairs();
    assert_eq!(world.pairs::<SitsOn>().len(), 0);
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn halves_of_a_change_that_go_in_a_circle_wait_for_each_other() {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for order in orders {
        let mut world = client::<PartOf>();
        let [ship, hull, mast, sail] = spawn(&mut world);
        for (part, whole) in [(hull, ship), (mast, hull), (sail, mast)] {
            arrives::<PartOf>(&mut world, part, &[whole]);
        }
        // From the bottom to the top.
        let turned = [(sail, ship), (mast, sail), (hull, mast)];
        for at in order {
            let (part, whole) = turned[at];
            arrives::<PartOf>(&mut world, part, &[whole]);
        }
        world.maintain_pairs();
        for (part, whole) in turned {
            assert_eq!(targets::<PartOf>(&world, part), [whole], "{order:?}");
        }
        assert_eq!(take_reported_errors(), [""; 0]);
    }
}

#[test]
fn what_is_overruled_by_what_turns_out_to_be_older_is_made_good() {
    let mut world = client::<Partner>();
    let [ann, ben, cy, dee] = spawn(&mut world);
    // The server went from ann-ben to ann-cy and ben-dee; what it had said of ben is late.
    arrives::<Partner>(&mut world, ann, &[cy]);
    arrives::<Partner>(&mut world, cy, &[ann]);
    arrives::<Partner>(&mut world, ben, &[ann]);
    assert_eq!(targets::<Partner>(&world, ann), [ben]);
    world.maintain_pairs();
    assert_eq!(targets::<Partner>(&world, ann), [ben], "nothing says yet which is older");
    arrives::<Partner>(&mut world, ben, &[dee]);
    assert_eq!(targets::<Partner>(&world, ann), [cy]);
    assert_eq!(targets::<Partner>(&world, ben), [dee]);
    world.maintain_pairs();
    assert_eq!(world.pairs::<Partner>().len(), 4);
}

#[test]
fn what_is_overruled_by_an_entity_that_goes_is_made_good() {
    let mut world = client::<Partner>();
    let [ann, ben, cy] = spawn(&mut world);
    arrives::<Partner>(&mut world, ann, &[cy]);
    arrives::<Partner>(&mut world, ben, &[ann]);
    world.despawn(ben);
    world.maintain_pairs();
    assert_eq!(targets::<Partner>(&world, cy), [ann]);
}

#[test]
fn no_entity_goes_with_another() {
    let mut world = client::<PartOf>();
    let [ship, boat] = spawn(&mut world);
    arrives::<PartOf>(&mut world, boat, &[ship]);
    // The server removed the pair first, but despawns arrive before removals.
    world.despawn(ship);
    world.entity_mut(boat).remove::<MirroredPairs<PartOf>>();
    assert!(world.get_entity(boat).is_ok() && world.pairs::<PartOf>().is_empty());

    let mut world = client::<GuestOf>();
    let [guest, inn, other] = spawn(&mut world);
    arrives::<GuestOf>(&mut world, guest, &[inn]);
    arrives::<GuestOf>(&mut world, guest, &[other]);
    assert!(world.get_entity(inn).is_ok());

    let mut world = client::<Holds>();
    let [hand, cup] = spawn(&mut world);
    arrives::<Holds>(&mut world, hand, &[cup]);
    world.despawn(hand);
    assert!(world.get_entity(cup).is_ok());

    let mut world = client::<Guards>();
    let [guard, gate] = spawn(&mut world);
    arrives::<Guards>(&mut world, guard, &[gate]);
    world.despawn(gate);
    assert!(world.get_entity(gate).is_err() && world.pairs::<Guards>().is_empty());
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn a_relation_that_despawns_entities_is_received_before_its_first_pair() {
    let mut world = world_that_records_errors();
    let [ship, boat, ann] = spawn(&mut world);
    world.insert_pair(boat, PartOf, ship).unwrap();
    assert!(matches!(world.receive_pairs::<PartOf>(), Err(TraitsError::Frozen { .. })));
    world.insert_pair(ann, Owes(3), ship).unwrap();
    world.receive_pairs::<Owes>().unwrap();
    world.receive_pairs::<Owes>().unwrap();
    assert_eq!(world.get::<MirroredPairs<Owes>>(ann).unwrap().get(ship), Some(&Owes(3)));
}

#[test]
fn components_that_arrived_before_are_applied() {
    let mut world = world_that_records_errors();
    let [ann, chair] = spawn(&mut world);
    world.entity_mut(ann).insert(MirroredPairs::from_iter([(SitsOn, chair)]));
    assert_eq!(take_reported_errors().len(), 1, "it is not said yet that they are received");
    world.receive_pairs::<SitsOn>().unwrap();
    arrives::<SitsOn>(&mut world, ann, &[chair]);
    world.entity_mut(chair).insert(Seat);
    world.maintain_pairs();
    assert!(world.has_pair::<SitsOn>(ann, chair));
}

#[test]
fn verbs_of_the_client_hold_until_something_else_arrives() {
    let mut world = client::<Partner>();
    let [ann, ben, cy] = spawn(&mut world);
    arrives::<Partner>(&mut world, ann, &[ben]);
    world.insert_pair(ann, Partner, cy).unwrap();
    world.maintain_pairs();
    assert_eq!(targets::<Partner>(&world, ann), [cy]);
    arrives::<Partner>(&mut world, ann, &[ben]);
    assert_eq!(targets::<Partner>(&world, ann), [ben]);
}

#[test]
fn a_panic_in_an_observer_leaves_what_arrived_to_be_applied() {
    let mut world = client::<Partner>();
    let [ann, ben, cy] = spawn(&mut world);
    arrives::<Partner>(&mut world, ann, &[ben]);
    let observer = world.add_observer(|_: On<PairInserted<Partner>>| panic!("once")).id();
    // Bevy may pass the panic on later.
    let _ = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
        world.entity_mut(ann).insert(MirroredPairs::from_iter([(Partner, cy)]));
    }));
    world.despawn(observer);
    world.maintain_pairs();
    world.check_pairs().unwrap();
    assert_eq!(targets::<Partner>(&world, ann), [cy]);
    // A change of the client's own is not taken for one that arrived.
    world.insert_pair(cy, Partner, ben).unwrap();
    world.maintain_pairs();
    assert_eq!(targets::<Partner>(&world, ben), [cy]);
}

/// A relation of the random histories.
trait Sent: MirroredRelation + PartialEq + core::fmt::Debug {
    fn value(number: u32) -> Self;
}

macro_rules! sent {
    ($($relation:ident $value:expr,)*) => {$(
        impl Sent for $relation {
            fn value(number: u32) -> Self {
                ($value)(number)
            }
        }
    )*};
}

sent! { Owes Owes, PartOf |_| PartOf, After After, Knows Knows, Partner |_| Partner, GuestOf |_| GuestOf, }

/// What is on its way from a server to a client.
struct Wire<R> {
    /// The newest that was sent for each entity.
    sent: EntityHashMap<String>,
    /// What has not been delivered, with its number: of one entity, what is older than the newest that came is dropped.
    on_way: Vec<(u64, Entity, Option<MirroredPairs<R>>)>,
    delivered: EntityHashMap<u64>,
    despawned: Vec<Entity>,
    map: EntityHashMap<Entity>,
    number: u64,
}

/// Maps to the client's entities. Those that have not come yet get one.
struct Mapper<'w>(&'w mut EntityHashMap<Entity>, &'w mut World);

impl EntityMapper for Mapper<'_> {
    fn get_mapped(&mut self, entity: Entity) -> Entity {
        *self.0.entry(entity).or_insert_with(|| self.1.spawn_empty().id())
    }

    fn set_mapped(&mut self, _: Entity, _: Entity) {}
}

impl<R: Sent> Wire<R> {
    fn new() -> Self {
        Self {
            sent: EntityHashMap::default(),
            on_way: Vec::new(),
            delivered: EntityHashMap::default(),
            despawned: Vec::new(),
            map: EntityHashMap::default(),
            number: 0,
        }
    }

    /// Sends what has changed.
    fn send(&mut self, server: &World, entities: &[Entity]) {
        for &entity in entities {
            if server.get_entity(entity).is_err() {
                if self.sent.remove(&entity).is_some() {
                    self.despawned.push(entity);
                }
                continue;
            }
            let now = server.get::<MirroredPairs<R>>(entity).cloned();
            let said = format!("{now:?}");
            if self.sent.get(&entity) != Some(&said) {
                self.sent.insert(entity, said);
                self.number += 1;
                self.on_way.push((self.number, entity, now));
            }
        }
    }

    fn deliver(&mut self, client: &mut World, at: usize) {
        let (number, entity, component) = self.on_way.swap_remove(at);
        let newest = self.delivered.entry(entity).or_default();
        if *newest > number {
            return;
        }
        *newest = number;
        let source = Mapper(&mut self.map, client).get_mapped(entity);
        if client.get_entity(source).is_err() {
            return;
        }
        match component {
            Some(mut component) => {
                MirroredPairs::<R>::map_entities(&mut component, &mut Mapper(&mut self.map, client));
                client.entity_mut(source).insert(component);
            }
            None => {
                client.entity_mut(source).remove::<MirroredPairs<R>>();
            }
        }
    }

    fn despawn(&mut self, client: &mut World) {
        for entity in core::mem::take(&mut self.despawned) {
            let gone = Mapper(&mut self.map, client).get_mapped(entity);
            let _ = client.try_despawn(gone);
        }
    }
}

fn random_history<R: Sent>(seed: u64) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let [mut server, mut client] = [world_that_records_errors(), client::<R>()];
    server.mirror_pairs::<R>().unwrap();
    let mut entities: Vec<Entity> = (0..6).map(|_| server.spawn_empty().id()).collect();
    let mut wire = Wire::<R>::new();
    wire.send(&server, &entities);
    for step in 0..60 {
        for _ in 0..1 + random.below(3) {
            let [one, other] = [(); 2].map(|()| entities[random.below(entities.len())]);
            match random.below(12) {
                0..7 => {
                    let _ = server.insert_pair(one, R::value(random.below(9) as u32), other);
                }
                7..9 => {
                    server.remove_pair::<R>(one, other);
                }
                9 => {
                    server.remove_pairs::<R>(one);
                }
                10 => entities.push(server.spawn_empty().id()),
                _ if entities.len() > 4 => {
                    let _ = server.try_despawn(one);
                }
                _ => {}
            }
            let before = entities.clone();
            entities.retain(|&entity| server.get_entity(entity).is_ok());
            wire.send(&server, &before);
            while entities.len() < 4 {
                entities.push(server.spawn_empty().id());
            }
        }
        wire.send(&server, &entities);
        if random.below(2) == 0 {
            wire.despawn(&mut client);
        }
        while !wire.on_way.is_empty() && random.below(4) > 0 {
            let at = random.below(wire.on_way.len());
            wire.deliver(&mut client, at);
            client.check_pairs().unwrap_or_else(|error| panic!("seed {seed}, step {step}: {error}"));
        }
        if random.below(2) == 0 {
            client.maintain_pairs();
        }
        server.maintain_pairs();
    }
    wire.despawn(&mut client);
    while !wire.on_way.is_empty() {
        let at = random.below(wire.on_way.len());
        wire.deliver(&mut client, at);
    }
    client.maintain_pairs();
    client.check_pairs().unwrap();
    let in_client = |entity: Entity| wire.map[&entity];
    let mut wanted: Vec<_> = server
        .pairs::<R>()
        .iter()
        .map(|(source, target)| {
            let value = format!("{:?}", server.pair_value::<R>(source, target));
            (in_client(source), in_client(target), value)
        })
        .collect();
    let mut found: Vec<_> = client
        .pairs::<R>()
        .iter()
        .map(|(source, target)| (source, target, format!("{:?}", client.pair_value::<R>(source, target))))
        .collect();
    wanted.sort();
    found.sort();
    assert_eq!(found, wanted, "{} with seed {seed}", core::any::type_name::<R>());
    take_reported_errors();
}

#[test]
fn in_whatever_order_components_arrive_the_worlds_are_the_same_in_the_end() {
    for seed in 0..fewer(10) as u64 {
        random_history::<Owes>(seed);
        random_history::<PartOf>(seed);
        random_history::<After>(seed);
        random_history::<Knows>(seed);
        random_history::<Partner>(seed);
        random_history::<GuestOf>(seed);
    }
}
