//! Random expressions, kept while the world changes at random: their rows are those of a run from scratch.
//!
//! `CASES=20000 SEED=2 cargo test --profile histories --test it -- live::model` plays more.

use super::{changes::Changing, describe, fresh_rows, kept_rows};
use crate::{
    common::fewer,
    oracle::random::{self, Random},
};
use bevy_ecs::{prelude::*, system::SystemId};
use bevy_relations::{
    expr::{AnyExpression, CompiledExpr, ExprParam, ExprQuery, ExprRunError, PairExpr, Row},
    live::{LiveExpr, LiveParam, LiveQuery},
    prelude::*,
};
use std::{
    collections::BTreeMap,
    env,
    sync::{Arc, Mutex},
};

/// Expressions that are kept in one world.
const PER_WORLD: u64 = 4;

/// Updates in the life of one world.
const UPDATES: usize = 8;

/// A number that the one who runs the test may choose.
fn chosen(name: &str, otherwise: u64) -> u64 {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// What the variables of rows are, in order.
fn variables<'a>(rows: impl Iterator<Item = Row<'a>>) -> Vec<String> {
    let mut rows: Vec<_> = rows.map(|row| format!("{row:?}")).collect();
    rows.sort_unstable();
    rows
}

/// What is left of a sorted list without what another has.
fn minus(all: &[String], without: &[String]) -> Vec<String> {
    let mut without = without.iter().peekable();
    let mut left = Vec::new();
    for row in all {
        while without.next_if(|other| *other < row).is_some() {}
        if without.next_if(|other| *other == row).is_none() {
            left.push(row.clone());
        }
    }
    left
}

/// Terms that hold now and then, about what every random world has.
const TERMS: [&str; 48] = [
    "Red",
    "Big",
    "Armor",
    "Shield",
    "Red($x)",
    "Old($x)",
    "Armor($x)",
    "!Red",
    "!Armor",
    "!Big($x)",
    "!Shield",
    "(Likes, $x)",
    "(Eats, $x)",
    "(Docked, $x)",
    "(Knows, $x)",
    "(Located, $x)",
    "(Within, $x)",
    "(Likes, *)",
    "Likes($x, $this)",
    "Likes($x, $y)",
    "(Follows, _)",
    "(*, $x)",
    "($r, $x)",
    "(Owns, $x)",
    "(Likes, e1)",
    "?(Likes, $x)",
    "?(Docked, $y)",
    "?Red",
    "?Armor(up ChildOf)",
    "!(Likes, $x)",
    "!(Located, $x)",
    "!(Eats, *)",
    "Armor(up ChildOf)",
    "Red(self|up Mounted)",
    "!Big(up Follows)",
    "Shield($x|up|all Located)",
    "Red(down Follows)",
    "Red || Big",
    "(Likes, $x) || (Eats, $x)",
    "and|e1",
    "or|e2",
    "not|e3",
    "or|$x",
    "Armor || (Docked, $y)",
    "!{ (Likes, $u), Red($u) }",
    "!{ (Eats, $u), Likes($u, $v), !Old($v) }",
    "!{ (Likes, $u), Armor($u|up ChildOf) }",
    "!{ Likes($u, $x), !{ Eats($u, $v), Red($v) } }",
];

/// A few of them.
fn common_expr(random: &mut Random) -> String {
    let terms: Vec<_> = (0..1 + random.below(4)).map(|_| random.pick(&TERMS)).collect();
    terms.join(", ")
}

struct Kept {
    text: String,
    fresh: CompiledExpr,
    live: LiveExpr,
    /// By which its rows are in groups.
    relation: Option<Entity>,
    /// By which they are in order of depth, and whether the deepest come first.
    cascade: Option<(Entity, bool)>,
    /// Systems that find the rows anew, and that keep them.
    systems: [SystemId<(), Vec<String>>; 2],
    /// What the rows were when the second was run last, by their variables.
    before: Vec<String>,
    /// The rows that entered, and that left.
    moved: Arc<Mutex<[Vec<String>; 2]>>,
}

impl Kept {
    fn new(text: String, cascade: Option<(Entity, bool)>, world: &mut World) -> Option<Self> {
        let parsed = PairExpr::parse(&*text).ok()?;
        let fresh = parsed.compile(world).ok()?;
        let mut live = parsed.live(world).expect("it compiles");
        live.track_moves();
        let found = (ExprParam(parsed.clone()),).build_state(world).build_system(
            |mut query: ExprQuery<AnyExpression>| {
                let (mut rows, fields) = (Vec::new(), query.compiled().field_count());
                query.for_each_row(|row| rows.push(describe(row, fields))).unwrap();
                rows
            },
        );
        let moved = Arc::<Mutex<[Vec<String>; 2]>>::default();
        let told = moved.clone();
        let kept =
            (LiveParam(parsed),).build_state(world).build_system(move |query: LiveQuery<AnyExpression>| {
                *told.lock().unwrap() = [variables(query.entered()), variables(query.left())];
                let fields = query.field_count();
                query.rows().map(|row| describe(row, fields)).collect::<Vec<_>>()
            });
        let systems = [world.register_system(found), world.register_system(kept)];
        Some(Self { text, fresh, live, relation: None, cascade, systems, before: Vec::new(), moved })
    }

    /// The rows that a system keeps are those that another finds, and the moves that it gets are the difference.
    fn check_systems(&mut self, world: &mut World, at: &str) -> bool {
        let [found, kept] =
            self.systems.map(|system| world.run_system(system).map_err(|error| error.to_string()));
        let (Ok(mut found), Ok(mut kept)) = (found, kept) else {
            let errors = self.systems.map(|system| world.run_system(system).is_err());
            assert_eq!(errors, [true; 2], "{at}: {}", self.text);
            return false;
        };
        found.sort_unstable();
        kept.sort_unstable();
        assert_eq!(kept, found, "{at}: {}\n{:?}", self.text, fresh_rows(world, &mut self.fresh));
        let vars: Vec<String> = kept.iter().map(|row| row.split(" [").next().unwrap().into()).collect();
        let [entered, left] = core::mem::take(&mut *self.moved.lock().unwrap());
        let (came, went) = (minus(&vars, &self.before), minus(&self.before, &vars));
        // A wildcard may be another, which these do not say.
        assert_eq!(minus(&entered, &left), came, "{at}: {}", self.text);
        assert_eq!(minus(&left, &entered), went, "{at}: {}", self.text);
        self.before = vars;
        true
    }
}

/// The rows of each group are those of which `$this` has its target.
fn check_groups(world: &World, kept: &Kept) {
    let Some(relation) = kept.relation else { return };
    let mut expected: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for row in kept.live.rows(world).unwrap() {
        let target = row.this().and_then(|this| world.pairs_by_id(relation).target(this));
        expected.entry(target.map_or(0, Entity::to_bits)).or_default().push(format!("{row:?}"));
    }
    assert!(kept.live.groups().all(|group| expected.contains_key(&group)), "{}", kept.text);
    for (group, mut rows) in expected {
        rows.sort_unstable();
        assert_eq!(variables(kept.live.group(world, group).unwrap()), rows, "{} by {relation}", kept.text);
    }
}

/// Rows are in order of depth.
fn check_depths(world: &World, kept: &Kept) {
    let Some((relation, is_descending)) = kept.cascade else { return };
    let pairs = world.pairs_by_id(relation);
    let depth = |this: Option<Entity>| this.and_then(|this| pairs.depth(this)).unwrap_or(0);
    let mut depths: Vec<_> = kept.live.rows(world).unwrap().map(|row| depth(row.this())).collect();
    if is_descending {
        depths.reverse();
    }
    assert!(depths.is_sorted(), "{}: {depths:?}", kept.text);
}

/// How much was played.
#[derive(Default, Debug)]
struct Played {
    updates: usize,
    by_systems: usize,
    incremental: usize,
    with_rows: usize,
    changed: usize,
}

fn play(seed: u64, case: u64, played: &mut Played) {
    let mut random = Random::new(seed, case);
    let model = random::world(&mut random);
    let exprs: Vec<_> = (0..PER_WORLD).map(|_| random::expr(&mut random, &model)).collect();
    let mut changing = Changing::new(&model, Random::new(seed ^ 0x5eed, case), true);
    let mut texts: Vec<_> = exprs.iter().map(|expr| changing.ours.text(expr)).collect();
    let cascades = exprs.iter().map(|expr| {
        let (relation, is_descending) = expr.cascade()?;
        Some((changing.ours.entities()[relation], is_descending))
    });
    let mut cascades: Vec<_> = cascades.collect();
    let mounted = model.node("Mounted").map(|node| changing.ours.entities()[node]);
    for _ in 0..PER_WORLD {
        let text = common_expr(&mut random);
        let (cascade, relation) = match random.below(6) {
            0 => (", ?Red(cascade Mounted)", mounted.map(|mounted| (mounted, false))),
            1 => (", ?Red(cascade|desc Mounted)", mounted.map(|mounted| (mounted, true))),
            _ => ("", None),
        };
        texts.push(text + cascade);
        cascades.push(relation);
    }
    let mut all = Vec::new();
    for (text, cascade) in texts.into_iter().zip(cascades) {
        let Some(mut kept) = Kept::new(text, cascade, changing.world()) else { continue };
        // Groups of another relation than the expression may be about; none if rows are in order of depth.
        let relation = random.pick(&changing.relations);
        kept.relation = kept.live.group_by_id(relation).is_ok().then_some(relation);
        all.push(kept);
    }
    let mut before: Vec<Vec<String>> = all.iter().map(|_| Vec::new()).collect();
    for step in 0..UPDATES {
        let changes = if step == 0 { 0 } else { changing.change() };
        for (kept, before) in all.iter_mut().zip(&mut before) {
            let updated = kept.live.update(changing.world());
            if let Err(ExprRunError::NotARelation { relation }) = updated {
                // The relation was despawned.
                assert_eq!(kept.relation.take(), Some(relation), "{}", kept.text);
                assert!(kept.live.is_empty() && !changing.ours.world.entities().contains_spawned(relation));
                // All rows have left with this update, and come again with the next.
                assert_eq!(variables(kept.live.left(&changing.ours.world).unwrap()), *before);
                before.clear();
                kept.live.clear_order();
                kept.live.update(changing.world()).unwrap();
            } else {
                updated.unwrap();
            }
            let world = &changing.ours.world;
            let (expected, found) = (fresh_rows(world, &mut kept.fresh), kept_rows(world, &kept.live));
            if expected != found {
                let only = |a: &[String], b: &[String]| -> Vec<String> {
                    a.iter().filter(|row| !b.contains(row)).cloned().collect()
                };
                panic!(
                    "seed {seed}, case {case}, step {step}, after {changes} changes: {}\nlacks {:#?}\nhas {:#?}\n{}{}",
                    kept.text,
                    only(&expected, &found),
                    only(&found, &expected),
                    kept.live.explain(),
                    kept.fresh.explain(world).unwrap(),
                );
            }
            for &entity in changing.entities() {
                let rows = kept.live.rows_of(world, entity).unwrap().count();
                let of_entity = |row: &&String| row.starts_with(&format!("Row {{ this: {entity:?}"));
                assert_eq!(rows, found.iter().filter(of_entity).count(), "{}", kept.text);
                assert_eq!(kept.live.contains(entity), rows > 0, "{}", kept.text);
            }
            check_groups(world, kept);
            check_depths(world, kept);
            // Systems run now and then.
            let at = format!("seed {seed}, case {case}, step {step}");
            if random.below(3) > 0 {
                played.by_systems += usize::from(kept.check_systems(changing.world(), &at));
            }
            let world = &changing.ours.world;
            if step > 0 {
                played.updates += 1;
                played.incremental += usize::from(!kept.live.ran_whole());
                played.with_rows += usize::from(!found.is_empty());
                played.changed +=
                    usize::from(kept.live.entered(world).unwrap().count() > 0 && !kept.live.ran_whole());
            }
            let vars = variables(kept.live.rows(world).unwrap());
            let [entered, left] =
                [variables(kept.live.entered(world).unwrap()), variables(kept.live.left(world).unwrap())];
            // A wildcard may be another, which these do not say.
            assert_eq!(minus(&entered, &left), minus(&vars, before), "{}", kept.text);
            assert_eq!(minus(&left, &entered), minus(before, &vars), "{}", kept.text);
            assert!(kept.text.contains(['*', '.']) || minus(&entered, &left) == entered, "{}", kept.text);
            *before = vars;
        }
    }
}

#[test]
fn the_rows_of_live_expressions_are_those_of_a_run_from_scratch() {
    let (seed, first) = (chosen("SEED", 1), chosen("FIRST", 0));
    let cases = chosen("CASES", fewer(100) as u64);
    let mut played = Played::default();
    for case in first..first + cases {
        if cases > 2000 && case % 1000 == 0 {
            eprintln!("{case}: {played:?}");
        }
        play(seed, case, &mut played);
    }
    eprintln!("{played:?}");
    assert!(cases < 100 || played.by_systems * 2 > played.updates, "{played:?}");
    assert!(cases < 100 || played.incremental * 5 > played.updates, "{played:?}");
    assert!(cases < 100 || played.changed * 40 > played.updates, "{played:?}");
}
