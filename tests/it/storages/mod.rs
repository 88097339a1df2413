//! Relations that differ in storage alone, in worlds that change at random: what is read of them is the same, and is what a search
//! by definition finds.

mod inherit;
mod observers;
mod reading;
mod search;
mod writing;

use crate::common::{Random, world_that_records_errors};
use bevy_ecs::{component::Mutable, entity_disabling::Disabled, prelude::*};
use bevy_relations::{
    expr::{CompiledExpr, PairExpr},
    prelude::*,
    relation::Prefab,
};

#[derive(Component, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Fuel(pub(crate) u32);

#[derive(Component, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Shape(pub(crate) u32);

#[derive(Component, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[component(storage = "SparseSet")]
struct Gas(u32);

#[derive(Component, Clone)]
pub(crate) struct Armor;

macro_rules! relations {
    ($($name:ident($($traits:tt)*),)*) => {
        $(
            #[derive(Relation, Default)]
            #[relation($($traits)*)]
            struct $name;
        )*

        /// Registers the relations, each with its name.
        fn register_relations(world: &mut World) {
            $(
                let relation = world.register_relation::<$name>().unwrap();
                world.entity_mut(relation).insert(Name::new(stringify!($name)));
            )*
        }
    };
}

// The last letter stands for the storage: the store alone, `Table`, `Fragmenting`.
relations! {
    UpS(exclusive, traversable),
    UpT(exclusive, traversable, storage = "Table"),
    UpF(exclusive, traversable, storage = "Fragmenting"),
    ManyS(traversable),
    ManyT(traversable, storage = "Table"),
    ManyF(traversable, storage = "Fragmenting"),
    TransS(transitive, reflexive),
    TransT(transitive, reflexive, storage = "Table"),
    TransF(transitive, reflexive, storage = "Fragmenting"),
    RingS(exclusive, storage = "Store"),
    RingT(exclusive, storage = "Table"),
    RingF(exclusive, storage = "Fragmenting"),
    NetS(storage = "Store"),
    NetT(storage = "Table"),
    NetF(storage = "Fragmenting"),
    PalS(symmetric, storage = "Store"),
    PalT(symmetric, storage = "Table"),
    PalF(symmetric, storage = "Fragmenting"),
}

/// Relations of one kind, one of each storage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Up,
    Many,
    Trans,
    Ring,
    Net,
    Pal,
}

impl Kind {
    const ALL: [Self; 6] = [Self::Up, Self::Many, Self::Trans, Self::Ring, Self::Net, Self::Pal];

    fn is_traversable(self) -> bool {
        matches!(self, Self::Up | Self::Many | Self::Trans)
    }
}

/// Does the same with each relation of a kind, which is called `$relation`, and asserts that it comes to the same.
macro_rules! in_each_storage {
    ($kind:expr, $relation:ident => $run:expr) => {
        match $kind {
            Kind::Up => in_each_storage!(UpS UpT UpF, $relation => $run),
            Kind::Many => in_each_storage!(ManyS ManyT ManyF, $relation => $run),
            Kind::Trans => in_each_storage!(TransS TransT TransF, $relation => $run),
            Kind::Ring => in_each_storage!(RingS RingT RingF, $relation => $run),
            Kind::Net => in_each_storage!(NetS NetT NetF, $relation => $run),
            Kind::Pal => in_each_storage!(PalS PalT PalF, $relation => $run),
        }
    };
    ($($type:ident)*, $relation:ident => $run:expr) => {{
        let [store, table, fragmenting] = [$({
            type $relation = $type;
            $run
        }),*];
        assert!(store == table && table == fragmenting, "{store:?} {table:?} {fragmenting:?}");
    }};
}

fn insert_all(world: &mut World, kind: Kind, source: Entity, target: Entity) {
    in_each_storage!(kind, R => world.insert_pair(source, R::default(), target).is_ok());
}

fn remove_all(world: &mut World, kind: Kind, source: Entity) {
    in_each_storage!(kind, R => world.remove_pairs::<R>(source));
}

fn remove_first(world: &mut World, kind: Kind, source: Entity) {
    in_each_storage!(kind, R => {
        let first = world.pairs::<R>().targets(source).next();
        first.map(|target| world.remove_pair::<R>(source, target))
    });
}

/// Removes the component, or inserts it if the entity has none.
fn toggle<C: Component<Mutability = Mutable>>(world: &mut World, entity: Entity, component: C) {
    let mut entity = world.entity_mut(entity);
    match entity.contains::<C>() {
        true => entity.remove::<C>(),
        false => entity.insert(component),
    };
}

/// A world with the relations, and with names for expressions.
pub(crate) fn named_world() -> World {
    let mut world = world_that_records_errors();
    register_relations(&mut world);
    world.register_component_name::<Fuel>("Fuel").register_component_name::<Shape>("Shape");
    world.register_component_name::<Gas>("Gas").register_component_name::<Armor>("Armor");
    world
}

#[track_caller]
pub(crate) fn compile(world: &mut World, text: &str) -> CompiledExpr {
    match PairExpr::parse(text).and_then(|expr| expr.compile(world)) {
        Ok(expr) => expr,
        Err(error) => panic!("{text}: {error}"),
    }
}

/// A text with the name of a relation for `R`.
fn with_relation(text: &str, relation: &str) -> String {
    let text = text.replace("(R,", &format!("({relation},"));
    ['(', ')', ' ']
        .into_iter()
        .fold(text, |text, after| text.replace(&format!(" R{after}"), &format!(" {relation}{after}")))
}

/// A world that changes at random, in each storage alike.
struct RandomWorld {
    world: World,
    random: Random,
    ships: Vec<Entity>,
    /// Entities that are targets more often than ships.
    tops: Vec<Entity>,
    /// A tag.
    red: Entity,
    spawned: u32,
}

impl RandomWorld {
    fn new(seed: u64, tops: usize, ships: usize) -> Self {
        let mut world = named_world();
        let red = world.spawn(Name::new("Red")).id();
        let home = world.spawn(Name::new("Home")).id();
        let mut all = vec![home];
        all.extend((0..tops).map(|_| world.spawn_empty().id()));
        let random = Random(seed * 7_919 + 12_345);
        let mut new = Self { world, random, ships: Vec::new(), tops: all, red, spawned: 0 };
        for _ in 0..ships {
            let ship = new.spawn_ship();
            new.ships.push(ship);
        }
        new
    }

    fn small(seed: u64) -> Self {
        Self::new(seed, 6, 60)
    }

    /// One with many rows in a table.
    fn large(seed: u64) -> Self {
        let mut new = Self::new(seed, 14, 220);
        for kind in Kind::ALL {
            for _ in 0..5 {
                let (target, from) = (new.random.pick(&new.tops), new.random.below(130));
                for &ship in &new.ships[from..from + 90] {
                    insert_all(&mut new.world, kind, ship, target);
                }
            }
        }
        new.change_times(120);
        new
    }

    fn spawn_ship(&mut self) -> Entity {
        self.spawned += 1;
        self.world.spawn(Fuel(self.spawned)).id()
    }

    fn pick_any(&mut self) -> Entity {
        let all = if self.random.below(2) == 0 { &self.tops } else { &self.ships };
        self.random.pick(all)
    }

    fn pick_ship(&mut self) -> Entity {
        self.random.pick(&self.ships)
    }

    /// Despawns a ship and spawns another.
    fn replace_ship(&mut self) {
        let at = self.random.below(self.ships.len());
        self.world.despawn(self.ships[at]);
        self.ships[at] = self.spawn_ship();
    }

    fn change_times(&mut self, times: usize) {
        for _ in 0..times {
            self.change();
        }
    }

    fn change(&mut self) {
        let kind = Kind::ALL[self.random.below(6)];
        let (source, target) = (self.pick_any(), self.pick_any());
        let (world, number) = (&mut self.world, self.spawned);
        match self.random.below(30) {
            0..8 => insert_all(world, kind, source, target),
            // A loop, where one may be.
            8..10 => insert_all(world, kind, source, if kind.is_traversable() { target } else { source }),
            10 | 11 => remove_all(world, kind, source),
            12 | 13 => remove_first(world, kind, source),
            14 | 15 => toggle(world, target, Shape(number)),
            16 | 17 => toggle(world, target, Gas(number)),
            18 => {
                if !world.remove_tag(target, self.red) {
                    world.insert_tag(target, self.red).unwrap();
                }
            }
            19 => toggle(world, target, Disabled),
            20 => toggle(world, source, Armor),
            21 => toggle(world, target, Prefab),
            22..24 => self.replace_ship(),
            24 => {
                // Not the one with a name.
                let at = 1 + self.random.below(self.tops.len() - 1);
                world.despawn(self.tops[at]);
                self.tops[at] = world.spawn_empty().id();
            }
            25 => {
                let at = self.random.below(self.ships.len());
                let clone = world.entity_mut(self.ships[at]).clone_and_spawn();
                world.despawn(self.ships[at]);
                if world.get::<Fuel>(clone).is_none() {
                    world.entity_mut(clone).insert(Fuel(1));
                }
                self.ships[at] = clone;
            }
            26 => {
                let ship = self.pick_ship();
                self.world.entity_mut(ship).clear().insert(Fuel(2));
            }
            27 => {
                let ship = self.pick_ship();
                self.world.entity_mut(ship).retain::<(Fuel, Shape)>();
            }
            _ => {
                let from = self.random.below(self.ships.len() - 40);
                for &ship in &self.ships[from..from + 40] {
                    insert_all(&mut self.world, kind, ship, target);
                }
            }
        }
    }
}
