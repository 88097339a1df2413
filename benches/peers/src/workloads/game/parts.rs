//! The parts of the game that all contestants share.

use super::{NODES_PER_DOCK, parent_of};
use crate::random::Random;
use bevy_ecs::{component::Component, entity::Entity, resource::Resource, world::World};

/// The systems of a frame, in their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum System {
    /// Ships are lost, built and sent to other docks; leaves of trees move.
    Churn,
    /// Each ship heads for its dock.
    Targets,
    /// Each ship takes fuel from its dock.
    PairQuery,
    /// The place of each node follows from that above it.
    Cascade,
    /// Each node gets its faction from the nearest one above that has one.
    Up,
    /// Ships at docks that are not closed earn something.
    Expression,
}

impl System {
    pub(super) const ALL: [Self; 6] =
        [Self::Churn, Self::Targets, Self::PairQuery, Self::Cascade, Self::Up, Self::Expression];
}

#[derive(Component, Clone, Copy)]
pub(super) struct Ship(#[expect(dead_code, reason = "only there to be asked for")] pub(super) u32);

#[derive(Component, Clone, Copy)]
#[repr(transparent)]
pub(super) struct Heading(pub(super) u32);

#[derive(Component, Clone, Copy)]
#[repr(transparent)]
pub(super) struct Fuel(pub(super) u32);

#[derive(Component, Clone, Copy)]
#[repr(transparent)]
pub(super) struct Income(pub(super) u32);

#[derive(Component, Clone, Copy)]
#[repr(transparent)]
pub(super) struct Depot(pub(super) u32);

#[derive(Component, Clone, Copy)]
pub(super) struct Closed(#[expect(dead_code, reason = "only there to be asked for")] pub(super) u8);

#[derive(Component, Clone, Copy)]
pub(super) struct Market(#[expect(dead_code, reason = "only there to be asked for")] pub(super) u8);

#[derive(Component, Clone, Copy)]
#[repr(transparent)]
pub(super) struct Faction(pub(super) u32);

#[derive(Component, Clone, Copy)]
#[repr(transparent)]
pub(super) struct Shield(pub(super) u32);

#[derive(Component, Clone, Copy)]
#[repr(transparent)]
pub(super) struct Offset([f32; 4]);

#[derive(Component, Clone, Copy)]
#[repr(transparent)]
pub(super) struct Place([f32; 4]);

impl Place {
    pub(super) const ZERO: Self = Self([0.0; 4]);

    #[inline]
    pub(super) fn new(Offset(own): &Offset, parent: Option<&Self>) -> Self {
        let Some(Self(parent)) = parent else { return Self(*own) };
        Self([0, 1, 2, 3].map(|at| parent[at] * 0.5 + own[at]))
    }

    pub(super) fn sum(&self) -> u64 {
        self.0.iter().map(|number| u64::from(number.to_bits())).sum()
    }
}

/// What a ship has beside its dock.
pub(super) const SHIP: (Ship, Heading, Fuel, Income) = (Ship(1), Heading(0), Fuel(0), Income(0));

/// What a node has beside its parent. Docks are in four tables.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub(super) offset: Offset,
    pub(super) depot: Option<Depot>,
    pub(super) closed: Option<Closed>,
    pub(super) market: Option<Market>,
    pub(super) faction: Option<Faction>,
}

impl Node {
    pub(super) fn of(number: usize) -> Self {
        let x = (number % 101) as f32 * 0.01;
        let dock = number / NODES_PER_DOCK;
        let is_dock = number.is_multiple_of(NODES_PER_DOCK);
        let holds = parent_of(number).is_none() || number.is_multiple_of(97);
        Self {
            offset: Offset([x, 1.0 - x, 0.5, 1.0]),
            depot: is_dock.then_some(Depot(dock as u32 % 31 + 1)),
            closed: (is_dock && dock.is_multiple_of(3)).then_some(Closed(1)),
            market: (is_dock && dock.is_multiple_of(2)).then_some(Market(1)),
            faction: holds.then_some(Faction(number as u32 % 89 + 1)),
        }
    }
}

/// What changes before a run. Ships are named by their place in the list of ships, which is the same for all.
#[derive(Resource)]
pub(super) struct Churn<Id: Send + Sync + 'static> {
    /// They are swapped with the last one, and removed.
    pub(super) lost: Vec<usize>,
    /// Docks of ships that are added.
    pub(super) built: Vec<Id>,
    /// Ships, when those are there, with other docks.
    pub(super) sent: Vec<(usize, Id)>,
    /// Nodes without others below them, with other parents.
    pub(super) moved: Vec<(Id, Id)>,
}

impl<Id: Copy + Send + Sync + 'static> Churn<Id> {
    /// A hundredth of the ships and of the nodes.
    pub(super) fn draw(nodes: &[Id], ships: usize, random: &mut Random) -> Self {
        let docks = nodes.len() / NODES_PER_DOCK;
        let inner = parent_of(nodes.len() - 1).map_or(0, |last| last + 1);
        let leaf = |random: &mut Random| nodes[inner + random.below(nodes.len() - inner)];
        let dock = |random: &mut Random| nodes[random.below(docks) * NODES_PER_DOCK];
        let count = ships / 100;
        Self {
            lost: (0..count).map(|lost| random.below(ships - lost)).collect(),
            built: (0..count).map(|_| dock(random)).collect(),
            sent: (0..count).map(|_| (random.below(ships), dock(random))).collect(),
            moved: (0..nodes.len() / 100).map(|_| (leaf(random), nodes[random.below(inner)])).collect(),
        }
    }
}

/// The ships there are.
#[derive(Resource, Default)]
pub(super) struct Ships(pub(super) Vec<Entity>);

/// The index of the first node: what ships head for does not depend on how many entities were there before.
#[derive(Resource, Default)]
pub(super) struct First(pub(super) u32);

/// Spawns nodes and ships in a Bevy world; `below` and `at` bring them together.
pub(super) fn populate(
    world: &mut World,
    docks_of_ships: &[usize],
    nodes: usize,
    below: fn(&mut World, Entity, Entity),
    at: fn(&mut World, Entity, Entity),
) -> Vec<Entity> {
    let mut spawned = Vec::with_capacity(nodes);
    for number in 0..nodes {
        let Node { offset, depot, closed, market, faction } = Node::of(number);
        let mut node = world.spawn((offset, Place::ZERO, Shield(0)));
        depot.map(|depot| node.insert(depot));
        closed.map(|closed| node.insert(closed));
        market.map(|market| node.insert(market));
        faction.map(|faction| node.insert(faction));
        spawned.push(node.id());
    }
    for number in 0..nodes {
        if let Some(parent) = parent_of(number) {
            below(world, spawned[number], spawned[parent]);
        }
    }
    let mut ships = Vec::with_capacity(docks_of_ships.len());
    for &dock in docks_of_ships {
        let ship = world.spawn(SHIP).id();
        at(world, ship, spawned[dock * NODES_PER_DOCK]);
        ships.push(ship);
    }
    world.insert_resource(Ships(ships));
    world.insert_resource(First(spawned[0].index_u32()));
    spawned
}

/// A sum over what systems write in a Bevy world.
pub(super) fn checksum(world: &mut World) -> u64 {
    let mut ships = world.query::<(&Heading, &Fuel, &Income)>();
    let ships = ships.iter(world).map(|(heading, fuel, income)| of_ship(*heading, *fuel, *income));
    let ships = ships.fold(0, u64::wrapping_add);
    let mut nodes = world.query::<(&Place, &Shield)>();
    let nodes = nodes.iter(world).map(|(place, shield)| of_node(place, *shield));
    ships.wrapping_add(nodes.fold(0, u64::wrapping_add))
}

pub(super) fn of_ship(heading: Heading, fuel: Fuel, income: Income) -> u64 {
    u64::from(heading.0)
        .wrapping_mul(31)
        .wrapping_add(fuel.0.into())
        .wrapping_mul(31)
        .wrapping_add(income.0.into())
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

pub(super) fn of_node(place: &Place, shield: Shield) -> u64 {
    place.sum().wrapping_mul(31).wrapping_add(shield.0.into()).wrapping_mul(0xA076_1D64_78BD_642F)
}
