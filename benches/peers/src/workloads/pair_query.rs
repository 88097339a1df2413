//! Components of both ends of pairs.

use super::{
    join::{Depot, FlecsSide, Fuel, Plan, Stock},
    sparse_fits,
};
use crate::{
    bevy::{LikesInList, Naming},
    flecs::Kind,
    flecs_query::{Table, Term},
    harness::{Contestant, Workload},
    ours::{DockedTo, Likes},
};
use bevy_ecs::{
    component::Component,
    entity::Entity,
    system::{Query, SystemState},
    world::World,
};
use bevy_relations::prelude::*;

fn take_terms(side: &FlecsSide) -> Vec<Term> {
    let depot = Term::read(side.depot).on(c"$target");
    vec![Term::write(side.fuel), Term::to_variable(side.relation, c"$target"), depot]
}

fn take(table: &Table<'_>) -> u32 {
    table.field::<Depot>(2).map_or(0, |depot| depot[0].get().0)
}

/// Each source takes from its target.
pub(super) fn pair_query(size: usize) -> Workload {
    let plan = Plan { sources: size, every: 1, each: 1 };
    let flecs = move |kind, cached| move || plan.flecs_round(kind, cached, take_terms, take);
    let mut contestants = vec![
        Contestant::new("flecs", flecs(Kind::Exclusive, true)),
        Contestant::new("bevy", move || {
            let mut world = plan.bevy();
            let mut state = SystemState::<(Query<(&mut Fuel, &LikesInList)>, Query<&Depot>)>::new(&mut world);
            plan.bevy_round(world, move |world| {
                let (mut sources, targets) = state.get_mut(world).expect("queries are always available");
                for (mut fuel, link) in &mut sources {
                    if let Ok(depot) = targets.get(link.target()) {
                        fuel.0 += depot.0;
                    }
                }
            })
        }),
        Contestant::new("ours", move || {
            let mut world = plan.ours();
            let mut state = SystemState::<PairQuery<DockedTo, &mut Fuel, &Depot>>::new(&mut world);
            plan.bevy_round(world, move |world| {
                let mut pairs = state.get_mut(world).expect("the plugin provides what it needs");
                pairs.for_each(|mut fuel, _, depot| fuel.0 += depot.0);
            })
        })
        .goal("bevy", 1.5),
        Contestant::new("ours iter_mut", move || {
            let mut world = plan.ours();
            let mut state = SystemState::<PairQuery<DockedTo, &mut Fuel, &Depot>>::new(&mut world);
            plan.bevy_round(world, move |world| {
                let mut pairs = state.get_mut(world).expect("the plugin provides what it needs");
                for (mut fuel, _, depot) in &mut pairs {
                    fuel.0 += depot.0;
                }
            })
        }),
    ];
    if sparse_fits(size, plan.targets()) {
        contestants.insert(1, Contestant::new("flecs DontFragment", flecs(Kind::SparseExclusive, false)));
    }
    Workload { id: "pair_query", size, elements: size * plan.repeats(), contestants }
}

/// Each source brings its target something: both are written.
pub(super) fn pair_query_both(size: usize) -> Workload {
    let plan = Plan { sources: size, every: 1, each: 1 };
    let terms = |side: &FlecsSide| {
        let stock = Term::write(side.stock).on(c"$target");
        vec![Term::write(side.fuel), Term::to_variable(side.relation, c"$target"), stock]
    };
    let bring = |table: &Table<'_>| {
        let sources = table.field::<Fuel>(0).map_or(0, <[_]>::len) as u32;
        for stock in table.field::<Stock>(2).into_iter().flatten() {
            stock.set(Stock(stock.get().0 + sources));
        }
        1
    };
    let flecs = move |kind, cached| move || plan.flecs_round(kind, cached, terms, bring);
    type Both<'w, 's> = PairQuery<'w, 's, DockedTo, &'static mut Fuel, &'static mut Stock>;
    let mut contestants = vec![
        Contestant::new("flecs", flecs(Kind::Exclusive, true)),
        Contestant::new("bevy", move || {
            let mut world = plan.bevy();
            let mut state =
                SystemState::<(Query<(&mut Fuel, &LikesInList)>, Query<&mut Stock>)>::new(&mut world);
            plan.bevy_round(world, move |world| {
                let (mut sources, mut targets) = state.get_mut(world).expect("queries are always available");
                for (mut fuel, link) in &mut sources {
                    if let Ok(mut stock) = targets.get_mut(link.target()) {
                        fuel.0 += 1;
                        stock.0 += 1;
                    }
                }
            })
        }),
        Contestant::new("ours", move || {
            let mut world = plan.ours();
            let mut state = SystemState::<Both<'_, '_>>::new(&mut world);
            plan.bevy_round(world, move |world| {
                let mut pairs = state.get_mut(world).expect("the plugin provides what it needs");
                pairs.for_each(|mut fuel, _, mut stock| {
                    fuel.0 += 1;
                    stock.0 += 1;
                });
            })
        })
        .goal("bevy", 1.0),
        Contestant::new("ours iter_lending", move || {
            let mut world = plan.ours();
            let mut state = SystemState::<Both<'_, '_>>::new(&mut world);
            plan.bevy_round(world, move |world| {
                let mut pairs = state.get_mut(world).expect("the plugin provides what it needs");
                let mut rows = pairs.iter_lending();
                while let Some((mut fuel, _, mut stock)) = rows.fetch_next() {
                    fuel.0 += 1;
                    stock.0 += 1;
                }
            })
        }),
    ];
    if sparse_fits(size, plan.targets()) {
        contestants.insert(1, Contestant::new("flecs DontFragment", flecs(Kind::SparseExclusive, false)));
    }
    Workload { id: "pair_query_both", size, elements: size * plan.repeats(), contestants }
}

/// The targets of a source, by hand.
#[derive(Component)]
struct Suppliers(Vec<Entity>);

/// Each source takes from each of its three targets.
pub(super) fn pair_query_several(size: usize) -> Workload {
    let plan = Plan { sources: size, every: 1, each: 3 };
    let flecs = move |kind, cached| move || plan.flecs_round(kind, cached, take_terms, take);
    let mut contestants = vec![
        Contestant::new("flecs", flecs(Kind::Fragmenting, true)),
        Contestant::new("by hand", move || {
            let mut world = plan.world(World::new(), |world, source, target| {
                let mut source = world.entity_mut(source);
                match source.get_mut::<Suppliers>() {
                    Some(mut suppliers) => suppliers.0.push(target),
                    None => drop(source.insert(Suppliers(vec![target]))),
                }
            });
            let mut state = SystemState::<(Query<(&mut Fuel, &Suppliers)>, Query<&Depot>)>::new(&mut world);
            plan.bevy_round(world, move |world| {
                let (mut sources, targets) = state.get_mut(world).expect("queries are always available");
                for (mut fuel, suppliers) in &mut sources {
                    for depot in targets.iter_many(&suppliers.0).matched() {
                        fuel.0 += depot.0;
                    }
                }
            })
        }),
        Contestant::new("ours", move || {
            let mut world = plan.ours_of(Likes::default);
            let mut state = SystemState::<PairQuery<Likes, &mut Fuel, &Depot>>::new(&mut world);
            plan.bevy_round(world, move |world| {
                let mut pairs = state.get_mut(world).expect("the plugin provides what it needs");
                pairs.for_each(|mut fuel, _, depot| fuel.0 += depot.0);
            })
        })
        .goal("by hand", 1.0),
        Contestant::new("ours iter_lending", move || {
            let mut world = plan.ours_of(Likes::default);
            let mut state = SystemState::<PairQuery<Likes, &mut Fuel, &Depot>>::new(&mut world);
            plan.bevy_round(world, move |world| {
                let mut pairs = state.get_mut(world).expect("the plugin provides what it needs");
                let mut rows = pairs.iter_lending();
                while let Some((mut fuel, _, depot)) = rows.fetch_next() {
                    fuel.0 += depot.0;
                }
            })
        }),
    ];
    if sparse_fits(size, plan.targets()) {
        contestants.insert(1, Contestant::new("flecs DontFragment", flecs(Kind::Sparse, false)));
    }
    Workload { id: "pair_query_several", size, elements: size * plan.each * plan.repeats(), contestants }
}

/// The same on several threads, by the clock.
pub(super) fn pair_query_parallel(size: usize) -> Workload {
    let plan = Plan { sources: size, every: 1, each: 1 };
    let contestants = vec![
        Contestant::new("bevy", move || {
            let mut world = plan.bevy();
            let mut state = SystemState::<(Query<(&mut Fuel, &LikesInList)>, Query<&Depot>)>::new(&mut world);
            plan.threads_round(world, move |world| {
                let (mut sources, targets) = state.get_mut(world).expect("queries are always available");
                sources.par_iter_mut().for_each(|(mut fuel, link)| {
                    if let Ok(depot) = targets.get(link.target()) {
                        fuel.0 += depot.0;
                    }
                });
            })
        }),
        Contestant::new("ours", move || {
            let mut world = plan.ours();
            let mut state = SystemState::<PairQuery<DockedTo, &mut Fuel, &Depot>>::new(&mut world);
            plan.threads_round(world, move |world| {
                let mut pairs = state.get_mut(world).expect("the plugin provides what it needs");
                pairs.par_for_each(|mut fuel, _, depot| fuel.0 += depot.0);
            })
        }),
        Contestant::new("ours one thread", move || {
            let mut world = plan.ours();
            let mut state = SystemState::<PairQuery<DockedTo, &mut Fuel, &Depot>>::new(&mut world);
            plan.threads_round(world, move |world| {
                let mut pairs = state.get_mut(world).expect("the plugin provides what it needs");
                pairs.for_each(|mut fuel, _, depot| fuel.0 += depot.0);
            })
        }),
    ];
    Workload { id: "pair_query_parallel", size, elements: size * plan.repeats(), contestants }
}
