//! Whatever has an order has the same one in every run of a program: rows, events, cleanup, errors, plans.

use crate::{
    common::take_reported_errors,
    oracle::random::{self, Random},
    ours::Ours,
    storm,
};
use bevy_ecs::{lifecycle::Despawn, prelude::*};
use bevy_relations::{expr::PairExpr, prelude::*, relation::Wildcard};
use std::{env, fs, process::Command};

#[derive(Resource, Default)]
struct Events(Vec<String>);

/// What can be seen of a random history, in the order in which it is seen.
fn history(log: &mut Vec<String>, seed: u64, steps: usize) {
    let (mut world, mut entities) = storm::beginning();
    world.init_resource::<Events>();
    world.add_observer(|on: On<PairInserted<Wildcard>>, mut events: ResMut<Events>| {
        events.0.push(format!("+{} {} {} {}", on.source, on.relation, on.target, on.replaced));
    });
    world.add_observer(|on: On<PairRemoved<Wildcard>>, mut events: ResMut<Events>| {
        events.0.push(format!("-{} {} {}", on.source, on.relation, on.target));
    });
    world.add_observer(|on: On<Despawn<storm::Plain>>, mut events: ResMut<Events>| {
        events.0.push(format!("x{}", on.entity));
    });
    let mut random = crate::common::Random(seed);
    for _ in 0..steps {
        log.push(storm::step(&mut world, &mut random, &mut entities));
        log.append(&mut world.resource_mut::<Events>().0);
        log.append(&mut take_reported_errors());
        log.push(format!("{:?}", world.any_pairs().iter().collect::<Vec<_>>()));
        for &entity in &entities {
            log.push(format!("{:?} {:?}", world.pairs_of(entity), world.pairs_to(entity)));
        }
    }
}

/// The rows and the plans of random expressions, and the errors of those that are refused.
fn expressions(log: &mut Vec<String>, count: u64) {
    for number in 0..count {
        let model = random::world(&mut Random::new(31, number));
        let expr = random::expr(&mut Random::new(32, number), &model);
        let mut ours = Ours::new(&model, true);
        let text = ours.text(&expr);
        let compiled = PairExpr::parse(&*text).and_then(|expr| expr.compile(&mut ours.world));
        match compiled {
            Err(error) => log.push(format!("{text}: {error}")),
            Ok(mut expr) => {
                log.push(expr.explain(&ours.world).unwrap_or_else(|error| error.to_string()));
                let fields = expr.field_count();
                expr.for_each(&ours.world, |row| {
                    let fields = (0..fields).map(|field| (row.id(field), row.source(field)));
                    log.push(format!("{row:?} {:?}", fields.collect::<Vec<_>>()));
                })
                .unwrap();
            }
        }
    }
}

fn log() -> Vec<String> {
    let mut log = Vec::new();
    for seed in 1..4 {
        history(&mut log, 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed), 120);
    }
    expressions(&mut log, 150);
    log
}

const LOG_TO: &str = "PAIR_LOG_TO";

#[test]
fn the_order_of_everything_is_the_same_in_every_process() {
    if let Ok(path) = env::var(LOG_TO) {
        return fs::write(path, log().join("\n")).unwrap();
    }
    let own = log();
    // What is allocated now lies elsewhere.
    let kept: Vec<Vec<u8>> = (1..500).map(|size| vec![0; size * 7]).collect();
    assert_eq!(first_difference(&own, &log()), None, "in one process");
    drop(kept);
    assert!(own.len() > 5_000, "hardly anything was compared: {} lines", own.len());
    let test = "determinism::the_order_of_everything_is_the_same_in_every_process";
    for number in 0..2 {
        let path = env::temp_dir().join(format!("pairs_{}_{number}.log", std::process::id()));
        let mut child = Command::new(env::current_exe().unwrap());
        // The stack begins elsewhere.
        child.args([test, "--exact"]).env(LOG_TO, &path).env("PAIR_PADDING", "x".repeat(number * 4_001));
        let output = child.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        let other = fs::read_to_string(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let own: Vec<String> = own.join("\n").lines().map(String::from).collect();
        let other: Vec<String> = other.lines().map(String::from).collect();
        assert_eq!(first_difference(&own, &other), None, "in process {number}");
    }
}

fn first_difference(left: &[String], right: &[String]) -> Option<(usize, String, String)> {
    let at = left.iter().zip(right).position(|(left, right)| left != right);
    let at = at.or_else(|| (left.len() != right.len()).then(|| left.len().min(right.len())))?;
    let line = |lines: &[String]| lines.get(at).cloned().unwrap_or_default();
    Some((at, line(left), line(right)))
}

/// Reflected types with one short name, which a registry keeps in the order of hashes.
mod named {
    use super::{PairExpr, World};
    use bevy_ecs::{prelude::*, reflect::AppTypeRegistry};
    use bevy_reflect::Reflect;

    macro_rules! twins {
        ($($module:ident)*) => {
            $(mod $module {
                use super::{Component, Reflect, ReflectComponent};

                #[derive(Component, Reflect)]
                #[reflect(Component)]
                pub(super) struct Twin;
            })*

            /// In an order that is not that of their paths.
            fn register(world: &mut World) {
                let registry = AppTypeRegistry::default();
                $(
                    registry.write().register::<$module::Twin>();
                    world.register_component::<$module::Twin>();
                )*
                world.insert_resource(registry);
            }
        };
    }

    twins!(f c h a e b g d);

    #[test]
    fn types_with_one_name_are_listed_by_their_paths() {
        let mut world = World::new();
        register(&mut world);
        let error = PairExpr::parse("Twin").unwrap().compile(&mut world).err().unwrap().to_string();
        let places = ["a", "b", "c", "d", "e", "f", "g", "h"]
            .map(|module| format!("the type `it::determinism::named::{module}::Twin`"));
        assert!(error.contains(&places.join(", ")), "{error}");
    }

    macro_rules! similar {
        ($($name:ident)*) => {
            $(#[derive(Component, Reflect)]
            #[reflect(Component)]
            struct $name;)*

            fn register_similar(world: &mut World) {
                let registry = AppTypeRegistry::default();
                $(registry.write().register::<$name>();)*
                world.insert_resource(registry);
            }
        };
    }

    similar!(Spaceshif Spaceshic Spaceshih Spaceshia Spaceshie Spaceshib Spaceshig);

    #[test]
    fn of_names_that_are_equally_near_the_first_is_suggested() {
        let mut world = World::new();
        register_similar(&mut world);
        let error = PairExpr::parse("Spaceship").unwrap().compile(&mut world).err().unwrap().to_string();
        assert!(error.contains("`Spaceshia`"), "{error}");
    }
}
