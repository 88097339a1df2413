//! Expressions whose rows are kept, beside cached queries and beside running the expression again.
//!
//! Changes are made outside the watch, where nothing else is said: Flecs keeps its caches right while they are made, and a live
//! expression when it is updated, which counts.

use super::scene::{FlecsScene, FlecsWay, OurScene, Scene, Sums, checksum, run_flecs, run_ours};
use crate::{
    flecs::{Kind, pair},
    flecs_query::{FlecsQuery, Term},
    harness::{Contestant, RoundSums, Stopwatch, Workload},
    ours::{DockedTo, Knows, MountedOn},
    random::Random,
    side::{notice, noticed},
};
use bevy_ecs::{entity::Entity, world::World};
use bevy_relations::{
    expr::PairExpr,
    live::{LiveExpr, WorldMonitorExt},
    prelude::*,
};

#[derive(Relation)]
#[relation(exclusive, transitive)]
struct Within;

/// Every workload; quick ones are smaller by this factor.
pub(super) fn all(part: usize) -> Vec<Workload> {
    let size = 100_000 / part;
    let join: Terms =
        |scene| vec![scene.has(0), Term::to_variable(scene.relation, c"$p"), scene.has(1).on(c"$p")];
    let (docks, dock_kind) = (docks(size), Kind::Exclusive);
    let not: Terms = |scene| vec![scene.has(0), Term::with(first_target(scene)).negated()];
    let optional: Terms = |scene| vec![scene.has(0), Term::to_variable(scene.relation, c"$p").optional()];
    let or: Terms = |scene| vec![scene.has(0), scene.has(1).or_next(), Term::with(first_target(scene))];
    let up: Terms = |scene| vec![scene.has(0), scene.has(1).up(scene.relation)];
    let within: Terms = |scene| vec![scene.has(0), Term::with(first_target(scene))];
    let deep = deep(size);
    let unchanged = Scene { edits: Vec::new(), ..docks.clone() };
    let join_text = "A, (R, $p), B($p)";
    vec![
        kept::<DockedTo>("live_iterate", &unchanged, join_text, (dock_kind, Some(join)), true, 2.0),
        kept::<DockedTo>("live_changed", &docks, join_text, (dock_kind, Some(join)), true, 3.0),
        kept::<DockedTo>("live_not", &docks, "A, !(R, E0)", (dock_kind, Some(not)), false, 3.0),
        kept::<DockedTo>("live_optional", &docks, "A, ?(R, $p)", (dock_kind, Some(optional)), false, 3.0),
        kept::<DockedTo>("live_or", &docks, "A, B || (R, E0)", (dock_kind, Some(or)), false, 3.0),
        kept::<DockedTo>("live_scope", &docks, "A, !{ (R, $p), B($p) }", (dock_kind, None), false, 3.0),
        kept::<MountedOn>("live_up", &deep, "A, B(up R)", (Kind::ChildOf, Some(up)), false, 3.0),
        kept::<MountedOn>("live_cascade", &deep, "A, B(cascade R)", (Kind::ChildOf, None), false, 3.0),
        kept::<Within>(
            "live_transitive",
            &deep,
            "A, (R, E0)",
            (Kind::TransitiveExclusive, Some(within)),
            false,
            3.0,
        ),
        kept::<IsA>("live_is_a", &bases(size), "A, B(up R)", (Kind::IsA, Some(up)), false, 3.0),
        few(1_000_000 / part),
        monitor(10_000 / part),
        idle(10_000 / part),
    ]
}

type Terms = fn(&FlecsScene) -> Vec<Term>;

fn first_target(scene: &FlecsScene) -> crate::flecs::Id {
    pair(scene.relation, scene.entities[0])
}

/// Sources, each with one of so few targets that many share one; of a hundredth the target changes to and fro.
fn docks(size: usize) -> Scene {
    let mut scene = Scene::default();
    let count = (size / 100).max(2);
    let docks = scene.spawn(count);
    scene.holders[1].extend(docks.start..docks.start + count / 2);
    let ships = scene.spawn(size);
    let [mut random, mut others] = [Random::new(57), Random::new(58)];
    // Half of what changes is about the first target.
    for (number, ship) in ships.clone().enumerate() {
        let target = if number % 200 == 0 { 0 } else { random.below(count) };
        scene.pairs.push((ship, target));
        if number % 100 == 0 {
            scene.edits.push((ship, [target, 1 + others.below(count - 1)]));
        }
    }
    scene.holders[0].extend(ships);
    scene
}

/// Leaves below roots, 16 levels, ten to a parent; the first half of the roots has a component. A hundredth moves between two
/// parents of different roots.
fn deep(size: usize) -> Scene {
    let mut scene = Scene::default();
    let parents: Vec<_> = (0..10)
        .map(|root| {
            let mut at = scene.spawn(1).start;
            if root < 5 {
                scene.holders[1].push(at);
            }
            for _ in 0..14 {
                let next = scene.spawn(1).start;
                scene.pairs.push((next, at));
                at = next;
            }
            let parents = scene.spawn(size / 100);
            scene.pairs.extend(parents.clone().map(|parent| (parent, at)));
            parents
        })
        .collect();
    let leaves = scene.spawn(size);
    let per_root = size / 10;
    for (number, leaf) in leaves.clone().enumerate() {
        let (root, place) = (number / per_root, number % per_root / 10);
        let parent = parents[root].start + place;
        scene.pairs.push((leaf, parent));
        if number % 100 == 0 {
            scene.edits.push((leaf, [parent, parents[(root + 5) % 10].start + place]));
        }
    }
    scene.holders[0].extend(leaves);
    scene
}

/// Instances of bases, half of which have a component.
fn bases(size: usize) -> Scene {
    let mut scene = docks(size);
    for (_, [before, after]) in &mut scene.edits {
        if before == after {
            *after = 1 + *before % 2;
        }
    }
    scene
}

/// Gives the sources that change their target of a round.
fn edit(built: &mut OurScene, edits: &[(usize, [usize; 2])], round: usize) {
    for &(source, targets) in edits {
        let [new, old] = [targets[round % 2], targets[(round + 1) % 2]].map(|target| built.entities[target]);
        let source = built.entities[source];
        built.world.remove_pairs_by_id(source, (built.relation, old));
        built.world.insert_pair_by_id(source, (built.relation, new)).expect("both are alive");
    }
}

fn run_live(live: &LiveExpr, world: &World, var: Option<&str>) -> Sums {
    let (mut rows, mut these, mut vars) = (0, 0u64, 0u64);
    let index = |entity: Option<Entity>| u64::from(entity.expect("it is bound").index_u32());
    let kept = live.rows(world).expect("it is of this world");
    match var.and_then(|var| live.var_id(var)) {
        Some(var) => kept.for_each(|row| {
            rows += 1;
            these += index(row.this());
            vars += index(row.var_by_id(var));
        }),
        None => kept.for_each(|row| {
            rows += 1;
            these += index(row.this());
        }),
    }
    (rows, these, vars)
}

/// A hundredth of the pairs is changed, then all rows are visited.
fn kept<R: Relation>(
    id: &'static str,
    scene: &Scene,
    text: &'static str,
    (kind, terms): (Kind, Option<Terms>),
    has_var: bool,
    goal: f64,
) -> Workload {
    let var = has_var.then_some("p");
    let outcomes = RoundSums::default();
    let mut contestants = Vec::new();
    if let Some(terms) = terms {
        let way = FlecsWay { kind, cached: true, terms, target_of: has_var.then_some(1) };
        contestants.push(flecs(scene, way, outcomes.clone()));
    }
    let (fresh, fresh_outcomes) = (scene.clone(), outcomes.clone());
    contestants.push(Contestant::new("ours fresh", move || {
        let mut built = OurScene::new::<R>(&fresh);
        let mut expr = built.compile(text);
        let (edits, mut round) = (fresh.edits.clone(), 0);
        let mut outcome = fresh_outcomes.start("ours fresh");
        move |watch: &mut Stopwatch| {
            round += 1;
            edit(&mut built, &edits, round);
            let sums = watch.time(|| run_ours(&mut expr, &built.world, var));
            built.world.clear_trackers();
            outcome.check(checksum(sums, u64::from(built.entities[0].index_u32()), has_var))
        }
    }));
    let live_scene = scene.clone();
    let live = Contestant::new("ours", move || {
        let mut built = OurScene::new::<R>(&live_scene);
        let expr = built.parse(text);
        let mut live = expr.live(&mut built.world).expect("the expression is right");
        live.update(&mut built.world).expect("it can be run");
        let (edits, mut round) = (live_scene.edits.clone(), 0);
        let mut outcome = outcomes.start("ours");
        move |watch: &mut Stopwatch| {
            round += 1;
            edit(&mut built, &edits, round);
            let sums = watch.time(|| {
                live.update(&mut built.world).expect("it can be run");
                run_live(&live, &built.world, var)
            });
            assert!(!live.ran_whole(), "it is kept");
            built.world.clear_trackers();
            outcome.check(checksum(sums, u64::from(built.entities[0].index_u32()), has_var))
        }
    });
    let live = live.goal("ours fresh", goal);
    contestants.push(if terms.is_some() && has_var { live.goal("flecs", 1.0) } else { live });
    let size = scene.holders[0].len();
    Workload { id, size, elements: size, contestants }
}

fn flecs(scene: &Scene, way: FlecsWay, outcomes: RoundSums) -> Contestant {
    let scene = scene.clone();
    Contestant::new("flecs", move || {
        let mut built = FlecsScene::new(&scene, way.kind);
        let terms = (way.terms)(&built);
        let query = FlecsQuery::cached(&mut built.world, &terms);
        let (edits, mut round) = (scene.edits.clone(), 0);
        let mut outcome = outcomes.start("flecs");
        move |watch: &mut Stopwatch| {
            round += 1;
            for &(source, targets) in &edits {
                let [new, old] =
                    [targets[round % 2], targets[(round + 1) % 2]].map(|target| built.entities[target]);
                built.world.remove(built.entities[source], pair(built.relation, old));
                built.world.add(built.entities[source], pair(built.relation, new));
            }
            let sums = watch.time(|| run_flecs(&query, &mut built.world, way.target_of));
            outcome.check(checksum(sums, u64::from(built.entities[0].0 as u32), way.target_of.is_some()))
        }
    })
}

/// A hundred pairs change among very many: an update alone.
fn few(size: usize) -> Workload {
    let text = "A, (R, $p), B($p)";
    let mut scene = docks(size);
    scene.edits.truncate(100);
    let (fresh, outcomes) = (scene.clone(), RoundSums::default());
    let fresh_outcomes = outcomes.clone();
    let contestants = vec![
        Contestant::new("ours fresh", move || {
            let mut built = OurScene::new::<DockedTo>(&fresh);
            let mut expr = built.compile(text);
            let (edits, mut round) = (fresh.edits.clone(), 0);
            let mut outcome = fresh_outcomes.start("ours fresh");
            move |watch: &mut Stopwatch| {
                round += 1;
                edit(&mut built, &edits, round);
                let rows = watch.time(|| run_ours(&mut expr, &built.world, Some("p")).0);
                built.world.clear_trackers();
                outcome.check(rows)
            }
        }),
        Contestant::new("ours", move || {
            let mut built = OurScene::new::<DockedTo>(&scene);
            let expr = built.parse(text);
            let mut live = expr.live(&mut built.world).expect("the expression is right");
            live.update(&mut built.world).expect("it can be run");
            let (edits, mut round) = (scene.edits.clone(), 0);
            let mut outcome = outcomes.start("ours");
            move |watch: &mut Stopwatch| {
                round += 1;
                edit(&mut built, &edits, round);
                watch.time(|| live.update(&mut built.world)).expect("it can be run");
                built.world.clear_trackers();
                outcome.check(live.len() as u64)
            }
        })
        .goal("ours fresh", 1_000.0),
    ];
    Workload { id: "live_few", size, elements: 1, contestants }
}

/// Pairs come and go, and a function is called for each. Flecs: components, for which its monitors are called.
fn monitor(size: usize) -> Workload {
    let contestants = vec![
        Contestant::new("flecs", move || {
            let mut scene = Scene::default();
            let all = scene.spawn(size);
            scene.holders[0].extend(all);
            let mut built = FlecsScene::new(&scene, Kind::Exclusive);
            let ids = [built.components[0].id, built.components[1].id];
            built.world.monitor(ids);
            move |watch: &mut Stopwatch| {
                let before = noticed();
                watch.time(|| {
                    for &entity in &built.entities {
                        built.world.add(entity, ids[1]);
                    }
                    for &entity in &built.entities {
                        built.world.remove(entity, ids[1]);
                    }
                });
                assert_eq!(noticed() - before, 2 * size, "the monitor was not told");
                0
            }
        }),
        Contestant::new("ours", move || {
            let mut scene = Scene::default();
            let port = scene.spawn(1).start;
            let sources = scene.spawn(size);
            scene.holders[0].extend(sources);
            let mut built = OurScene::new::<DockedTo>(&scene);
            let expr = built.parse("A, (R, E0)");
            let told = built.world.observe_expr(&expr, |_, _| notice(), |_, _| notice());
            told.expect("the expression is right");
            let port = built.entities[port];
            let sources = built.entities[1..].to_vec();
            move |watch: &mut Stopwatch| {
                let before = noticed();
                watch.time(|| {
                    for &source in &sources {
                        built.world.insert_pair(source, DockedTo, port).expect("both are alive");
                    }
                    built.world.update_live().expect("it can be run");
                    for &source in &sources {
                        built.world.remove_pair::<DockedTo>(source, port);
                    }
                    built.world.update_live().expect("it can be run");
                });
                assert_eq!(noticed() - before, 2 * size, "the monitor was not told");
                built.world.clear_trackers();
                0
            }
        })
        .goal("flecs", 1.0),
    ];
    Workload { id: "live_monitor", size, elements: 2 * size, contestants }
}

/// Pairs come and go that no live expression is about.
fn idle(size: usize) -> Workload {
    let round = move |lives: usize| {
        let mut scene = Scene::default();
        scene.spawn(1 + size);
        let mut built = OurScene::new::<DockedTo>(&scene);
        let other = built.world.register_relation::<Knows>().expect("its traits are right");
        let kept: Vec<LiveExpr> = (0..lives)
            .map(|number| {
                let target = built.entities[number % size].to_bits();
                let text = format!("(#{}, #{target})", other.to_bits());
                let expr = PairExpr::parse(text).expect("the expression is right");
                let mut live = expr.live(&mut built.world).expect("the expression is right");
                live.update(&mut built.world).expect("it can be run");
                live
            })
            .collect();
        move |watch: &mut Stopwatch| {
            let port = built.entities[0];
            watch.time(|| {
                for &source in &built.entities[1..] {
                    built.world.insert_pair(source, DockedTo, port).expect("both are alive");
                    built.world.remove_pair::<DockedTo>(source, port);
                }
            });
            built.world.clear_trackers();
            kept.iter().map(|live| live.len() as u64).sum::<u64>()
        }
    };
    let contestants = vec![
        Contestant::new("ours without", move || round(0)),
        Contestant::new("ours", move || round(1_000)).goal("ours without", 1.0 / 1.05),
    ];
    Workload { id: "live_idle", size, elements: 2 * size, contestants }
}
