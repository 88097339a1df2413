//! The game on Flecs.

use super::{Game, NODES_PER_DOCK, parent_of, parts::*};
use crate::{
    flecs::{Component, FlecsWorld, Id, Kind, pair},
    flecs_query::{FlecsQuery, Table, Term},
};

/// A Flecs world with a query for each system.
pub(super) struct FlecsGame {
    world: FlecsWorld,
    docked: Id,
    child_of: Id,
    ship: Component<Ship>,
    heading: Component<Heading>,
    fuel: Component<Fuel>,
    income: Component<Income>,
    depot: Component<Depot>,
    closed: Component<Closed>,
    market: Component<Market>,
    faction: Component<Faction>,
    shield: Component<Shield>,
    offset: Component<Offset>,
    place: Component<Place>,
    headings: FlecsQuery,
    fuels: FlecsQuery,
    places: FlecsQuery,
    shields: FlecsQuery,
    incomes: FlecsQuery,
    all_ships: FlecsQuery,
    all_nodes: FlecsQuery,
    ships: Vec<Id>,
    first: u32,
    churn: Option<Churn<Id>>,
    /// Where nodes have their parents, if the hierarchy is in the second storage.
    #[cfg(flecs_parent)]
    parent: Option<Component<Id>>,
}

impl FlecsGame {
    pub(super) fn new(kind: Kind) -> Self {
        let mut world = FlecsWorld::new();
        let docked = world.relation(kind);
        let child_of = world.relation(Kind::ChildOf);
        let (ship, heading, fuel) = (world.component(), world.component(), world.component());
        let (income, depot, closed) = (world.component(), world.component(), world.component());
        let (market, faction, shield) = (world.component(), world.component(), world.component());
        let (offset, place) = (world.component(), world.component());
        // Queries about its second storage are never cached.
        let of_docks = if kind == Kind::Exclusive { FlecsQuery::cached } else { FlecsQuery::uncached };
        let dock = Term::to_variable(docked, c"$dock");
        let headings = of_docks(&mut world, &[Term::write(heading), Term::any_target(docked)]);
        let fuels = of_docks(&mut world, &[Term::write(fuel), dock, Term::read(depot).on(c"$dock")]);
        let above = Term::read(place).cascade(child_of).optional();
        let places = FlecsQuery::cached(&mut world, &[Term::read(offset), Term::write(place).this(), above]);
        // A cached one does not notice all of the moves.
        let shields =
            FlecsQuery::uncached(&mut world, &[Term::write(shield), Term::read(faction).up(child_of)]);
        let incomes = of_docks(
            &mut world,
            &[
                Term::with(ship.id),
                Term::write(income),
                dock,
                Term::with(depot.id).on(c"$dock"),
                Term::with(closed.id).on(c"$dock").negated(),
            ],
        );
        let all_ships =
            FlecsQuery::uncached(&mut world, &[Term::read(heading), Term::read(fuel), Term::read(income)]);
        let all_nodes = FlecsQuery::uncached(&mut world, &[Term::read(place).this(), Term::read(shield)]);
        Self {
            world,
            docked,
            child_of,
            ship,
            heading,
            fuel,
            income,
            depot,
            closed,
            market,
            faction,
            shield,
            offset,
            place,
            headings,
            fuels,
            places,
            shields,
            incomes,
            all_ships,
            all_nodes,
            ships: Vec::new(),
            first: 0,
            churn: None,
            #[cfg(flecs_parent)]
            parent: None,
        }
    }

    /// Its nodes are in the second storage, and its queries written for that.
    #[cfg(flecs_parent)]
    pub(super) fn with_parents() -> Self {
        let mut game = Self::new(Kind::Exclusive);
        let parent = game.world.parent();
        let places =
            [Term::read(game.offset), Term::write(game.place).this(), Term::read(parent).this().optional()];
        game.places = FlecsQuery::by_depth(&mut game.world, &places);
        game.shields =
            FlecsQuery::cached(&mut game.world, &[Term::write(game.shield), Term::read(parent).this()]);
        game.parent = Some(parent);
        game
    }

    #[inline]
    fn set_parent(&mut self, node: Id, above: Id) {
        #[cfg(flecs_parent)]
        if let Some(parent) = self.parent {
            return self.world.set(node, parent, &above);
        }
        self.world.add(node, pair(self.child_of, above));
    }

    fn spawn_ship(&mut self, dock: Id) {
        let ship = self.world.entity();
        self.world.add(ship, pair(self.docked, dock));
        self.world.set(ship, self.ship, &SHIP.0);
        self.world.set(ship, self.heading, &SHIP.1);
        self.world.set(ship, self.fuel, &SHIP.2);
        self.world.set(ship, self.income, &SHIP.3);
        self.ships.push(ship);
    }

    fn churn(&mut self) {
        let Some(Churn { lost, built, sent, moved }) = self.churn.take() else { return };
        for lost in lost {
            let ship = self.ships.swap_remove(lost);
            self.world.delete(ship);
        }
        for dock in built {
            self.spawn_ship(dock);
        }
        for (ship, dock) in sent {
            self.world.add(self.ships[ship], pair(self.docked, dock));
        }
        for (node, parent) in moved {
            self.set_parent(node, parent);
        }
    }

    fn head_for_dock(&mut self) {
        let first = self.first;
        self.headings.for_each_table(&mut self.world, |table| {
            let heading = Heading(table.target_index(1) - first);
            table.field::<Heading>(0).into_iter().flatten().for_each(|cell| cell.set(heading));
        });
    }

    fn take_fuel(&mut self) {
        self.fuels.for_each_table(&mut self.world, |table| {
            let Some(Depot(taken)) = shared(table, 2) else { return };
            for fuel in table.field::<Fuel>(0).into_iter().flatten() {
                fuel.set(Fuel(fuel.get().0.wrapping_add(taken)));
            }
        });
    }

    /// As [`propagate`](Self::propagate), where each node has a parent of its own.
    #[cfg(flecs_parent)]
    fn propagate_to_each(&mut self) {
        let place_of = self.place;
        self.places.for_each_table_and_get(&mut self.world, |table, nodes| {
            let (Some(offsets), Some(places)) = (table.field::<Offset>(0), table.field::<Place>(1)) else {
                return;
            };
            let parents = table.field::<Id>(2);
            for (row, (offset, place)) in offsets.iter().zip(places).enumerate() {
                let parent = parents.and_then(|parents| nodes.get(parents[row].get(), place_of));
                place.set(Place::new(&offset.get(), parent.as_ref()));
            }
        });
    }

    /// As [`protect`](Self::protect), where each node has a parent of its own.
    #[cfg(flecs_parent)]
    fn protect_each(&mut self, parent: Component<Id>) {
        let faction_of = self.faction;
        self.shields.for_each_table_and_get(&mut self.world, |table, nodes| {
            let (Some(shields), Some(parents)) = (table.field::<Shield>(0), table.field::<Id>(1)) else {
                return;
            };
            for (shield, above) in shields.iter().zip(parents) {
                let mut at = Some(above.get());
                while let Some(node) = at {
                    if let Some(Faction(faction)) = nodes.get(node, faction_of) {
                        shield.set(Shield(shield.get().0.wrapping_add(faction)));
                        break;
                    }
                    at = nodes.get(node, parent);
                }
            }
        });
    }

    fn propagate(&mut self) {
        #[cfg(flecs_parent)]
        if self.parent.is_some() {
            return self.propagate_to_each();
        }
        self.places.for_each_table(&mut self.world, |table| {
            let (Some(offsets), Some(places)) = (table.field::<Offset>(0), table.field::<Place>(1)) else {
                return;
            };
            let parent = shared(table, 2);
            for (offset, place) in offsets.iter().zip(places) {
                place.set(Place::new(&offset.get(), parent.as_ref()));
            }
        });
    }

    fn protect(&mut self) {
        #[cfg(flecs_parent)]
        if let Some(parent) = self.parent {
            return self.protect_each(parent);
        }
        self.shields.for_each_table(&mut self.world, |table| {
            let Some(Faction(faction)) = shared(table, 1) else { return };
            for shield in table.field::<Shield>(0).into_iter().flatten() {
                shield.set(Shield(shield.get().0.wrapping_add(faction)));
            }
        });
    }

    fn earn(&mut self) {
        self.incomes.for_each_table(&mut self.world, |table| {
            for income in table.field::<Income>(1).into_iter().flatten() {
                income.set(Income(income.get().0 + 1));
            }
        });
    }
}

/// What another entity has.
fn shared<T: Copy + 'static>(table: &Table<'_>, term: i8) -> Option<T> {
    Some(table.field::<T>(term)?[0].get())
}

impl Game for FlecsGame {
    type Id = Id;

    fn populate(&mut self, docks_of_ships: &[usize], nodes: usize) -> Vec<Id> {
        let mut spawned: Vec<Id> = Vec::with_capacity(nodes);
        for number in 0..nodes {
            let Node { offset, depot, closed, market, faction } = Node::of(number);
            let node = self.world.entity();
            if let Some(parent) = parent_of(number) {
                self.set_parent(node, spawned[parent]);
            }
            self.world.set(node, self.offset, &offset);
            self.world.set(node, self.place, &Place::ZERO);
            self.world.set(node, self.shield, &Shield(0));
            depot.iter().for_each(|depot| self.world.set(node, self.depot, depot));
            closed.iter().for_each(|closed| self.world.set(node, self.closed, closed));
            market.iter().for_each(|market| self.world.set(node, self.market, market));
            faction.iter().for_each(|faction| self.world.set(node, self.faction, faction));
            spawned.push(node);
        }
        self.first = spawned[0].0 as u32;
        for &dock in docks_of_ships {
            self.spawn_ship(spawned[dock * NODES_PER_DOCK]);
        }
        spawned
    }

    fn plan(&mut self, churn: Churn<Id>) {
        self.churn = Some(churn);
    }

    fn run(&mut self, system: System) {
        match system {
            System::Churn => self.churn(),
            System::Targets => self.head_for_dock(),
            System::PairQuery => self.take_fuel(),
            System::Cascade => self.propagate(),
            System::Up => self.protect(),
            System::Expression => self.earn(),
        }
    }

    fn end_frame(&mut self) {}

    fn checksum(&mut self) -> u64 {
        let mut sum: u64 = 0;
        self.all_ships.for_each_table(&mut self.world, |table| {
            let columns = (table.field::<Heading>(0), table.field::<Fuel>(1), table.field::<Income>(2));
            let (Some(headings), Some(fuels), Some(incomes)) = columns else { return };
            for ((heading, fuel), income) in headings.iter().zip(fuels).zip(incomes) {
                sum = sum.wrapping_add(of_ship(heading.get(), fuel.get(), income.get()));
            }
        });
        self.all_nodes.for_each_table(&mut self.world, |table| {
            let (Some(places), Some(shields)) = (table.field::<Place>(0), table.field::<Shield>(1)) else {
                return;
            };
            for (place, shield) in places.iter().zip(shields) {
                sum = sum.wrapping_add(of_node(&place.get(), shield.get()));
            }
        });
        sum
    }
}
