//! The game on Bevy's relationships, and what it shares with the one on ours: a Bevy world with a system for each task.

use super::{
    Game,
    parts::{System, *},
};
use bevy_ecs::{prelude::*, system::BoxedSystem};

#[derive(Component)]
#[relationship(relationship_target = Docked)]
struct DockedAt(Entity);

#[derive(Component)]
#[relationship_target(relationship = DockedAt)]
struct Docked(Vec<Entity>);

/// A Bevy world and its systems.
pub(super) struct BevyGame {
    pub(super) world: World,
    pub(super) systems: [BoxedSystem; 6],
    pub(super) below: fn(&mut World, Entity, Entity),
    pub(super) at: fn(&mut World, Entity, Entity),
    pub(super) end_frame: fn(&mut World),
}

/// As one writes it by hand.
pub(super) fn new() -> BevyGame {
    BevyGame {
        world: World::new(),
        systems: [
            boxed(churn),
            boxed(head_for_dock),
            boxed(take_fuel),
            boxed(place),
            boxed(protect),
            boxed(earn),
        ],
        below: |world, node, parent| {
            world.entity_mut(node).insert(ChildOf(parent));
        },
        at: |world, ship, dock| {
            world.entity_mut(ship).insert(DockedAt(dock));
        },
        end_frame: World::clear_trackers,
    }
}

pub(super) fn boxed<M>(system: impl IntoSystem<(), (), M>) -> BoxedSystem {
    Box::new(IntoSystem::into_system(system))
}

impl Game for BevyGame {
    type Id = Entity;

    fn populate(&mut self, docks_of_ships: &[usize], nodes: usize) -> Vec<Entity> {
        let nodes = populate(&mut self.world, docks_of_ships, nodes, self.below, self.at);
        for system in &mut self.systems {
            system.initialize(&mut self.world);
        }
        nodes
    }

    fn plan(&mut self, churn: Churn<Entity>) {
        self.world.insert_resource(churn);
    }

    fn run(&mut self, system: System) {
        self.systems[system as usize].run((), &mut self.world).expect("systems are valid");
    }

    fn end_frame(&mut self) {
        (self.end_frame)(&mut self.world);
    }

    fn checksum(&mut self) -> u64 {
        checksum(&mut self.world)
    }
}

fn churn(mut commands: Commands, mut ships: ResMut<Ships>, churn: Res<Churn<Entity>>) {
    for &lost in &churn.lost {
        commands.entity(ships.0.swap_remove(lost)).despawn();
    }
    for &dock in &churn.built {
        ships.0.push(commands.spawn((SHIP, DockedAt(dock))).id());
    }
    for &(ship, dock) in &churn.sent {
        commands.entity(ships.0[ship]).insert(DockedAt(dock));
    }
    for &(node, parent) in &churn.moved {
        commands.entity(node).insert(ChildOf(parent));
    }
}

fn head_for_dock(mut ships: Query<(&mut Heading, &DockedAt)>, first: Res<First>) {
    for (mut heading, dock) in &mut ships {
        heading.0 = dock.0.index_u32() - first.0;
    }
}

fn take_fuel(mut ships: Query<(&mut Fuel, &DockedAt)>, depots: Query<&Depot>) {
    for (mut fuel, dock) in &mut ships {
        if let Ok(depot) = depots.get(dock.0) {
            fuel.0 = fuel.0.wrapping_add(depot.0);
        }
    }
}

fn place(
    roots: Query<Entity, (With<Offset>, Without<ChildOf>)>,
    mut nodes: Query<(&Offset, &mut Place, Option<&Children>)>,
    mut stack: Local<Vec<(Entity, Option<Place>)>>,
) {
    stack.extend(roots.iter().map(|root| (root, None)));
    while let Some((node, parent)) = stack.pop() {
        let Ok((offset, mut place, children)) = nodes.get_mut(node) else { continue };
        *place = Place::new(offset, parent.as_ref());
        stack.extend(children.into_iter().flatten().map(|&child| (child, Some(*place))));
    }
}

fn protect(mut nodes: Query<(&mut Shield, &ChildOf)>, above: Query<(Option<&Faction>, Option<&ChildOf>)>) {
    for (mut shield, mut parent) in &mut nodes {
        while let Ok((faction, next)) = above.get(parent.0) {
            match (faction, next) {
                (Some(faction), _) => shield.0 = shield.0.wrapping_add(faction.0),
                (None, Some(next)) => {
                    parent = next;
                    continue;
                }
                (None, None) => {}
            }
            break;
        }
    }
}

fn earn(
    mut ships: Query<(&mut Income, &DockedAt), With<Ship>>,
    open: Query<(), (With<Depot>, Without<Closed>)>,
) {
    for (mut income, dock) in &mut ships {
        if open.contains(dock.0) {
            income.0 += 1;
        }
    }
}
