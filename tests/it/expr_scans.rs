//! Scans that test for pairs, with expressions that are kept: what they keep of rows must be the same as looking anew,
//! whatever moves, goes or comes between two runs.

use crate::common::{Random, fewer, spawn, take_errors, world_that_records_errors};
use bevy_ecs::{entity_disabling::Disabled, prelude::*};
use bevy_relations::{
    event::PairRemoved,
    expr::{CompiledExpr, PairExpr},
    prelude::*,
};

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct DockedTo;

#[derive(Component)]
struct Ship;

/// Moves what has it to another table.
#[derive(Component)]
struct Armor;

/// Does not, so that a table may hold entities with it and without.
#[derive(Component)]
#[component(storage = "SparseSet")]
struct Burning;

/// Expressions, and what they say of an entity.
type Case = (&'static str, fn(&Bed, Entity) -> bool);

const CASES: [Case; 13] = [
    ("Ship", |_, _| true),
    ("Ship, !(Likes, *)", |bed, ship| !bed.has(bed.likes, ship, None)),
    ("Ship, (Likes, _)", |bed, ship| bed.has(bed.likes, ship, None)),
    ("Ship, !(DockedTo, *)", |bed, ship| !bed.has(bed.docked, ship, None)),
    ("Ship, (DockedTo, *)", |bed, ship| bed.has(bed.docked, ship, None)),
    ("Ship, !(ChildOf, *)", |bed, ship| bed.world.get::<ChildOf>(ship).is_none()),
    ("Ship, (ChildOf, *)", |bed, ship| bed.world.get::<ChildOf>(ship).is_some()),
    ("Ship, !(On, *)", |bed, ship| !bed.has(bed.on, ship, None)),
    ("Ship, !(Likes, Port)", |bed, ship| !bed.has(bed.likes, ship, Some(bed.port))),
    ("Ship, (DockedTo, Port)", |bed, ship| bed.has(bed.docked, ship, Some(bed.port))),
    ("Ship, !Red", |bed, ship| !bed.world.has_tag(ship, bed.red)),
    ("Ship, !Armor, !(DockedTo, *)", |bed, ship| {
        bed.world.get::<Armor>(ship).is_none() && !bed.has(bed.docked, ship, None)
    }),
    ("Ship, !Burning, !(Likes, *)", |bed, ship| {
        bed.world.get::<Burning>(ship).is_none() && !bed.has(bed.likes, ship, None)
    }),
];

struct Bed {
    world: World,
    likes: Entity,
    docked: Entity,
    on: Entity,
    red: Entity,
    port: Entity,
    ships: Vec<Entity>,
}

impl Bed {
    fn new() -> Self {
        let mut world = world_that_records_errors();
        let [port, red] = spawn(&mut world);
        let on = world.spawn_relation("On", RelationTraits::new()).unwrap();
        let likes = world.register_relation::<Likes>().unwrap();
        let docked = world.register_relation::<DockedTo>().unwrap();
        let named = [
            ("Ship", world.entity_of::<Ship>()),
            ("Armor", world.entity_of::<Armor>()),
            ("Burning", world.entity_of::<Burning>()),
            ("ChildOf", world.entity_of::<ChildOf>()),
            ("Likes", likes),
            ("DockedTo", docked),
            ("On", on),
            ("Port", port),
            ("Red", red),
        ];
        for (name, entity) in named {
            world.entity_mut(entity).insert(Name::new(name));
        }
        let ships = world.spawn_batch((0..300).map(|_| Ship)).collect();
        Self { world, likes, docked, on, red, port, ships }
    }

    fn compile(&mut self, text: &str) -> CompiledExpr {
        PairExpr::parse(text).and_then(|expr| expr.compile(&mut self.world)).unwrap()
    }

    fn has(&self, relation: Entity, source: Entity, target: Option<Entity>) -> bool {
        let pairs = self.world.pairs_by_id(relation);
        match target {
            Some(target) => pairs.has(source, target),
            None => pairs.targets(source).next().is_some(),
        }
    }

    /// Does one of many things that move, change or end entities and pairs.
    fn change(&mut self, random: &mut Random) {
        let [ship, other] = [(); 2].map(|()| random.pick(&self.ships));
        let target = if random.below(3) == 0 { self.port } else { other };
        let Self { world, on, red, .. } = self;
        match random.below(18) {
            0 => {
                let few = random.below(20);
                self.ships.extend(world.spawn_batch((0..few).map(|_| Ship)));
            }
            1 => {
                world.despawn(ship);
            }
            2 => {
                // Several, so that their indices are used again.
                for _ in 0..random.below(20) {
                    world.despawn(random.pick(&self.ships));
                }
            }
            3 => {
                world.entity_mut(ship).insert(Armor);
            }
            4 => {
                world.entity_mut(ship).remove::<Armor>();
            }
            5 => {
                world.entity_mut(ship).insert(Burning);
            }
            6 => {
                world.entity_mut(ship).remove::<Burning>();
            }
            7 => {
                world.entity_mut(ship).insert(Disabled);
            }
            8 => {
                world.entity_mut(ship).remove::<Disabled>();
            }
            9 => {
                world.entity_mut(ship).clear();
                world.entity_mut(ship).insert(Ship);
            }
            10 => {
                world.insert_pair(ship, Likes, target).unwrap();
            }
            11 => {
                // It may close a cycle.
                _ = world.insert_pair(ship, DockedTo, target);
            }
            12 => {
                // If it closes a cycle, that is reported, and it is not there any more.
                if ship != other {
                    world.entity_mut(ship).insert(ChildOf(other));
                    take_errors();
                }
            }
            13 => {
                world.entity_mut(ship).remove::<ChildOf>();
            }
            14 => world.insert_pair_by_id(ship, PairId::new(*on, target)).unwrap(),
            15 => {
                world.insert_tag(ship, *red).unwrap();
            }
            16 => {
                world.remove_pair::<Likes>(ship, target);
                world.remove_pair::<DockedTo>(ship, target);
                world.remove_tag(ship, *red);
            }
            _ => {
                world.despawn(other);
                let next = world.spawn((Ship, Pair(DockedTo, self.port))).id();
                self.ships.push(next);
            }
        }
        if random.below(40) == 0 {
            self.ships.extend(self.world.spawn_batch((0..100).map(|_| Ship)));
        }
        self.ships.retain(|&ship| self.world.get_entity(ship).is_ok());
    }

    /// The rows of each expression, twice, are those that the world says and a new one finds.
    fn compare(&mut self, kept: &mut [CompiledExpr]) {
        for ((text, holds), kept) in CASES.into_iter().zip(kept) {
            let rows = |expr: &mut CompiledExpr, world: &World| {
                let mut rows = Vec::new();
                expr.for_each(world, |row| rows.extend(row.this())).unwrap();
                rows
            };
            let fresh = rows(&mut self.compile(text), &self.world);
            for run in 0..3 {
                assert_eq!(rows(kept, &self.world), fresh, "{text}, run {run}");
                assert_eq!(kept.count(&self.world).unwrap(), fresh.len(), "{text}, counted");
            }
            let mut by_table = Vec::new();
            kept.for_each_table(&self.world, |table| by_table.extend_from_slice(table.entities())).unwrap();
            assert_eq!(by_table, fresh, "{text}, by table");
            let mut found = fresh;
            found.sort_unstable();
            let enabled = |&ship: &Entity| self.world.get::<Disabled>(ship).is_none();
            let mut right: Vec<_> = self.ships.iter().copied().filter(enabled).collect();
            right.retain(|&ship| holds(self, ship));
            right.sort_unstable();
            right.dedup();
            assert_eq!(found, right, "{text}");
        }
    }
}

#[test]
fn scans_that_keep_rows_find_what_new_ones_find() {
    for seed in 1..=fewer(4) as u64 {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut bed = Bed::new();
        let mut kept = CASES.map(|(text, _)| bed.compile(text));
        for _ in 0..25 {
            bed.compare(&mut kept);
            for _ in 0..random.below(12) {
                bed.change(&mut random);
            }
        }
        bed.world.check_pairs().unwrap();
    }
}

#[test]
fn rows_that_observers_move_are_seen_where_they_went() {
    let mut bed = Bed::new();
    let port = bed.port;
    // Every ship that is disliked gets armor, and so another table, and leaves the port.
    bed.world.add_observer(move |on: On<PairRemoved<Likes>>, mut commands: Commands| {
        commands.entity(on.source).insert(Armor).remove_pair::<DockedTo>(port);
    });
    let mut kept = CASES.map(|(text, _)| bed.compile(text));
    let ships = bed.ships.clone();
    for &ship in ships.iter().step_by(2) {
        bed.world.insert_pair(ship, Likes, port).unwrap();
        bed.world.insert_pair(ship, DockedTo, port).unwrap();
    }
    bed.compare(&mut kept);
    for &ship in ships.iter().step_by(6) {
        bed.world.remove_pair::<Likes>(ship, port);
    }
    bed.compare(&mut kept);
    // All pairs with it end, and with them all events come.
    bed.world.despawn(port);
    bed.port = bed.world.spawn(Name::new("Port")).id();
    let mut kept = CASES.map(|(text, _)| bed.compile(text));
    bed.compare(&mut kept);
    bed.world.check_pairs().unwrap();
}

#[test]
fn a_relation_that_gets_the_number_of_another_is_not_taken_for_it() {
    let mut bed = Bed::new();
    let ships = bed.ships.clone();
    let find = |bed: &mut Bed, relation: Entity| {
        let mut expr = bed.compile(&format!("Ship, (#{}, _)", relation.to_bits()));
        (0..3).map(|_| expr.count(&bed.world).unwrap()).collect::<Vec<_>>()
    };
    for round in 0..4 {
        let relation = bed.world.spawn_relation("Brief", RelationTraits::new()).unwrap();
        assert_eq!(find(&mut bed, relation), [0; 3]);
        for &ship in &ships[round * 10..round * 10 + 7] {
            bed.world.insert_pair_by_id(ship, PairId::new(relation, bed.port)).unwrap();
        }
        assert_eq!(find(&mut bed, relation), [7; 3]);
        bed.world.despawn(relation);
    }
}
