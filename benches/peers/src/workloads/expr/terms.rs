//! Expressions that look at one entity after the other.

use super::scene::{A, B, C, FlecsScene, FlecsWay, OurScene, Scene, flecs, ours, ours_as};
use crate::{
    flecs::Kind,
    flecs_query::Term,
    harness::{Contestant, Stopwatch, Workload},
    ours::{DockedTo, MemberOf, MountedOn, TEAMS, TeamOf},
    random::Random,
};
use bevy_ecs::{entity::Entity, name::Name, query::With};
use bevy_relations::{expr::PairExpr, prelude::*};

/// One above the other, two by two, of which the upper has a component in half of the cases.
pub(super) fn chains(count: usize) -> Workload {
    let mut scene = Scene::default();
    let upper = scene.spawn(count);
    let lower = scene.spawn(count);
    scene.pairs.extend(lower.zip(upper.clone()));
    let random = Random::new(54).choices(count, 2);
    scene.holders[1]
        .extend(upper.clone().zip(&random).filter(|(_, chosen)| **chosen == 0).map(|(node, _)| node));
    scene.holders[2].extend(upper.zip(&random).filter(|(_, chosen)| **chosen == 1).map(|(node, _)| node));
    up("expr_chains", count, &scene, "B(up R)", |scene| vec![scene.has(1).up(scene.relation)])
}

/// Leaves with a component of their root, so many levels up; ten leaves have one parent.
pub(super) fn deep(leaves: usize, depth: usize) -> Workload {
    let mut scene = Scene::default();
    for _ in 0..10 {
        let mut at = scene.spawn(1).start;
        scene.holders[1].push(at);
        for _ in 0..depth - 2 {
            let next = scene.spawn(1).start;
            scene.pairs.push((next, at));
            at = next;
        }
        for parent in scene.spawn(leaves / 100) {
            scene.pairs.push((parent, at));
            let leaves = scene.spawn(10);
            scene.pairs.extend(leaves.clone().map(|leaf| (leaf, parent)));
            scene.holders[0].extend(leaves);
        }
    }
    let id = if depth == 4 { "expr_up_4" } else { "expr_up_16" };
    up(id, leaves, &scene, "A, B(up R)", |scene| vec![scene.has(0), scene.has(1).up(scene.relation)])
}

fn up(
    id: &'static str,
    size: usize,
    scene: &Scene,
    text: &'static str,
    terms: fn(&FlecsScene) -> Vec<Term>,
) -> Workload {
    let way = |cached| FlecsWay { kind: Kind::ChildOf, cached, terms, target_of: None };
    let contestants = vec![
        flecs("flecs", scene, 5, way(true)),
        flecs("flecs uncached", scene, 5, way(false)),
        ours::<MountedOn>(scene, 5, text, None).goal("flecs uncached", 1.0),
    ];
    Workload { id, size, elements: size * 5, contestants }
}

/// Entities of which half have one of so many targets, and a third another component.
fn mixed(size: usize, targets: usize) -> Scene {
    let mut scene = Scene::default();
    let targets = scene.spawn(targets);
    let all = scene.spawn(size);
    scene.holders[0].extend(all.clone());
    let mut random = Random::new(55);
    for entity in all {
        if random.below(2) == 0 {
            scene.pairs.push((entity, targets.start + random.below(targets.len())));
        }
        if random.below(3) == 0 {
            scene.holders[1].push(entity);
        }
    }
    scene
}

fn tests(id: &'static str, size: usize, targets: usize, text: &'static str, terms: Terms) -> Workload {
    let scene = mixed(size, targets);
    let way = |cached| FlecsWay { kind: Kind::Exclusive, cached, terms, target_of: None };
    let mut contestants = vec![
        flecs("flecs", &scene, 10, way(true)),
        flecs("flecs uncached", &scene, 10, way(false)),
        ours::<DockedTo>(&scene, 10, text, None).goal("flecs uncached", 1.0),
        ours_as::<MemberOf>("ours table", &scene, 10, (text, None)),
    ];
    if targets <= TEAMS {
        contestants.push(ours_as::<TeamOf>("ours fragmenting", &scene, 10, (text, None)));
    }
    Workload { id, size, elements: size * 10, contestants }
}

type Terms = fn(&FlecsScene) -> Vec<Term>;

/// What is negated, optional or alternative, with few targets and with many.
pub(super) fn operators(size: usize) -> Vec<Workload> {
    let not: Terms = |scene| vec![scene.has(0), Term::any_target(scene.relation).negated()];
    let optional: Terms = |scene| vec![scene.has(0), Term::any_target(scene.relation).optional()];
    let or: Terms = |scene| {
        let target = crate::flecs::pair(scene.relation, scene.entities[0]);
        vec![scene.has(0), scene.has(1).or_next(), Term::with(target)]
    };
    let many = size / 10;
    vec![
        tests("expr_not", size, 10, "A, !(R, *)", not),
        tests("expr_not_spread", size, many, "A, !(R, *)", not),
        tests("expr_optional", size, 10, "A, ?(R, *)", optional),
        tests("expr_optional_spread", size, many, "A, ?(R, *)", optional),
        tests("expr_or", size, 10, "A, B || (R, E0)", or),
        tests("expr_or_spread", size, many, "A, B || (R, E0)", or),
    ]
}

/// Entities of which each has one of ten targets in half of three relations, in terms about any relation.
pub(super) fn any_relation(size: usize) -> Vec<Workload> {
    let mut scene = Scene::default();
    let targets = scene.spawn(10);
    let all = scene.spawn(size);
    scene.holders[0].extend(all.clone());
    let mut random = Random::new(56);
    let mut pairs = || -> Vec<(usize, usize)> {
        let sources = all.clone().filter(|_| random.below(2) == 0);
        sources
            .collect::<Vec<_>>()
            .into_iter()
            .map(|source| (source, targets.start + random.below(10)))
            .collect()
    };
    scene.pairs = pairs();
    scene.more = vec![pairs(), pairs()];
    let with = |id, text, var: Option<&'static str>, terms: Terms| {
        let target_of = var.map(|_| 1);
        let way = |cached| FlecsWay { kind: Kind::Exclusive, cached, terms, target_of };
        let contestants = vec![
            flecs("flecs", &scene, 5, way(true)),
            flecs("flecs uncached", &scene, 5, way(false)),
            ours_as::<DockedTo>("ours", &scene, 5, (text, var)).goal("flecs uncached", 1.0),
        ];
        Workload { id, size, elements: size * 5, contestants }
    };
    let to_one: Terms = |scene| {
        vec![scene.has(0), Term::with(crate::flecs::pair(crate::flecs::wildcard(), scene.entities[0]))]
    };
    // Flecs refuses a variable beside `*`.
    let to_each: Terms = |scene| vec![scene.has(0), Term::any_target(crate::flecs::wildcard())];
    let to_none: Terms = |scene| vec![scene.has(0), Term::any_target(crate::flecs::wildcard()).negated()];
    vec![
        with("expr_any_relation", "A, (*, E0)", None, to_one),
        with("expr_each_pair", "A, (*, $t)", Some("t"), to_each),
        with("expr_no_pair", "A, !(*, *)", None, to_none),
    ]
}

/// Two components, as Bevy's queries find them, where half of the entities are related to others.
pub(super) fn plain(size: usize) -> Workload {
    two_components("expr_plain", size, mixed(size, 10))
}

/// The same, where no entity is.
pub(super) fn unrelated(size: usize) -> Workload {
    two_components("expr_plain_unrelated", size, Scene { pairs: Vec::new(), ..mixed(size, 10) })
}

fn two_components(id: &'static str, size: usize, scene: Scene) -> Workload {
    let repeats = 10;
    let flecs_terms = |scene: &FlecsScene| vec![scene.has(0), scene.has(1)];
    let way = |cached| FlecsWay { kind: Kind::Exclusive, cached, terms: flecs_terms, target_of: None };
    let found = scene.holders[1].len();
    let contestants = vec![
        flecs("flecs", &scene, repeats, way(true)),
        flecs("flecs uncached", &scene, repeats, way(false)),
        bevy(&scene, repeats),
        ours::<DockedTo>(&scene, repeats, "A, B", None).goal("bevy", 1.0 / 1.5),
        by_table(&scene, repeats, "A, B"),
    ];
    Workload { id, size, elements: found * repeats, contestants }
}

/// A table at a time, as it is documented for expressions about components.
fn by_table(scene: &Scene, repeats: usize, text: &'static str) -> Contestant {
    let scene = scene.clone();
    Contestant::new("ours by table", move || {
        let mut built = OurScene::new::<DockedTo>(&scene);
        let mut expr = built.compile(text);
        move |watch: &mut Stopwatch| {
            let OurScene { world, entities, .. } = &built;
            let mut sums = (0, 0, 0);
            watch.time(|| {
                for _ in 0..repeats {
                    sums = (0, 0, 0);
                    let run = expr.for_each_table(world, |table| {
                        sums.0 += table.len() as u64;
                        let indices = table.entities().iter().map(|entity| u64::from(entity.index_u32()));
                        sums.1 += indices.sum::<u64>();
                    });
                    run.expect("nothing is in the way");
                }
            });
            super::scene::checksum(sums, u64::from(entities[0].index_u32()), false)
        }
    })
}

fn bevy(scene: &Scene, repeats: usize) -> Contestant {
    let scene = scene.clone();
    Contestant::new("bevy", move || {
        let OurScene { mut world, entities, .. } = OurScene::new::<DockedTo>(&scene);
        let mut query = world.query_filtered::<Entity, (With<A>, With<B>)>();
        move |watch: &mut Stopwatch| {
            let base = u64::from(entities[0].index_u32());
            let mut sums = (0, 0, 0);
            watch.time(|| {
                for _ in 0..repeats {
                    sums = (0, 0, 0);
                    for entity in query.iter(&world) {
                        sums.0 += 1;
                        sums.1 += u64::from(entity.index_u32());
                    }
                }
            });
            super::scene::checksum(sums, base, false)
        }
    })
}

/// Reading and compiling five terms. Time is per expression.
pub(super) fn compile() -> Workload {
    const TEXT: &str = "Ship, (DockedTo, $planet), Planet($planet), !Hostile($planet), (Likes, $friend)";
    let repeats = 200;
    let ours = Contestant::new("ours", move || {
        let mut world = crate::ours::world();
        for (name, is_relation) in
            [("Ship", false), ("Planet", false), ("Hostile", false), ("DockedTo", true), ("Likes", true)]
        {
            let entity = if is_relation {
                world.spawn_relation(name, RelationTraits::new()).expect("traits are right")
            } else {
                world.spawn(Name::new(name)).id()
            };
            world.spawn((A, C)).insert(Name::new(format!("of {entity}")));
        }
        move |watch: &mut Stopwatch| {
            watch.time(|| {
                let compile =
                    || PairExpr::parse(TEXT).and_then(|expr| expr.compile(&mut world)).expect("right");
                core::iter::repeat_with(compile).take(repeats).map(|expr| expr.field_count() as u64).sum()
            })
        }
    });
    Workload { id: "expr_compile", size: 5, elements: repeats, contestants: vec![ours] }
}
