//! The game on our relations.

use super::{
    bevy::{BevyGame, boxed},
    parts::*,
};
use crate::ours::{self, MountedOn, id_of};
use bevy_ecs::{
    prelude::*,
    system::{SystemParamBuilder, SystemState},
};
use bevy_relations::{
    expr::{AnyExpression, ExprParam, PairExpr},
    prelude::*,
    query::{Target, Up},
};

/// The game whose ships dock by a relation.
pub(super) fn new<R: Relation + Default>() -> BevyGame {
    let mut world = ours::world();
    let docked_to = world.entity_of::<R>();
    let (ship, depot, closed) =
        (id_of::<Ship>(&mut world), id_of::<Depot>(&mut world), id_of::<Closed>(&mut world));
    let text = format!("{ship}, (#{}, $dock), [none] {depot}($dock), !{closed}($dock)", docked_to.to_bits());
    let expr = PairExpr::parse(text).expect("the text is right");
    let state: SystemState<(ExprQuery<AnyExpression, &mut Income>,)> =
        (ExprParam(expr),).build_state(&mut world);
    let earn = state.build_system(|mut ships: ExprQuery<AnyExpression, &mut Income>| {
        ships.for_each_mut(|mut income, _| income.0 += 1).expect("there is no limit");
    });
    BevyGame {
        world,
        systems: [
            boxed(churn::<R>),
            boxed(head_for_dock::<R>),
            boxed(take_fuel::<R>),
            boxed(place),
            boxed(protect),
            boxed(earn),
        ],
        below: |world, node, parent| {
            world.insert_pair(node, MountedOn, parent).expect("both are alive");
        },
        at: |world, ship, dock| {
            world.insert_pair(ship, R::default(), dock).expect("both are alive");
        },
        end_frame: |world| {
            world.maintain_pairs();
            world.clear_trackers();
        },
    }
}

fn churn<R: Relation + Default>(mut commands: Commands, mut ships: ResMut<Ships>, churn: Res<Churn<Entity>>) {
    for &lost in &churn.lost {
        commands.entity(ships.0.swap_remove(lost)).despawn();
    }
    for &dock in &churn.built {
        ships.0.push(commands.spawn((SHIP, pairs![(R::default(), dock)])).id());
    }
    for &(ship, dock) in &churn.sent {
        commands.entity(ships.0[ship]).insert_pair(R::default(), dock);
    }
    for &(node, parent) in &churn.moved {
        commands.entity(node).insert_pair(MountedOn, parent);
    }
}

fn head_for_dock<R: Relation>(mut ships: Query<(&mut Heading, Target<R>)>, first: Res<First>) {
    for (mut heading, dock) in &mut ships {
        heading.0 = dock.index_u32() - first.0;
    }
}

fn take_fuel<R: Relation>(mut ships: PairQuery<R, &mut Fuel, &Depot>) {
    ships.for_each(|mut fuel, _, depot| fuel.0 = fuel.0.wrapping_add(depot.0));
}

fn place(mut nodes: CascadeQuery<MountedOn, (&Offset, &mut Place), &Place>) {
    nodes.for_each(|(offset, mut place), parent| *place = Place::new(offset, parent));
}

fn protect(mut nodes: Query<(&mut Shield, Up<MountedOn, &Faction>)>) {
    for (mut shield, faction) in &mut nodes {
        shield.0 = shield.0.wrapping_add(faction.0);
    }
}
