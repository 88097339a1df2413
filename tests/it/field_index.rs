//! Indices of fields: with one, an expression finds what it finds without.
//!
//! What a program can do between two reads: spawn, despawn, insert, replace and remove the component, in a batch or alone; write it
//! in place, through `get_mut`, queries, rows, other parameters of the same system; disable entities; move entities between
//! archetypes; use indices of entities again; let ticks go by or not; make, drop and make indices; clear the world or its
//! resources. Components in tables, with and without a summary tick, immutable ones, and in sparse sets; fields of every kind,
//! nested, in enums and options; NaN, zeros, and the ends of types. Comparisons alone, beside other terms, in scopes and
//! alternatives, on variables, in pages, in systems, in several worlds.

use crate::common::{Random, fewer};
use bevy_app::App;
use bevy_ecs::{entity_disabling::Disabled, prelude::*, reflect::AppTypeRegistry, system::RunSystemOnce};
use bevy_reflect::{GetTypeRegistration, Reflect};
use bevy_relations::{
    expr::{AnyExpression, CompiledExpr, ExprParam, FieldIndexError, PairExpr, WorldFieldIndexExt},
    prelude::*,
};

#[derive(Component, Reflect, Clone, PartialEq, Debug)]
#[reflect(Component)]
struct Health {
    hp: f32,
    most: Option<f64>,
    wounds: Wounds,
}

#[derive(Reflect, Clone, PartialEq, Debug)]
struct Wounds(u64, (i8, i128));

#[derive(Component, Reflect, Clone, PartialEq, Debug)]
#[component(storage = "SparseSet")]
#[reflect(Component)]
enum Mood {
    Calm,
    Angry { at: u16 },
    Sad(String),
}

#[derive(Component, Reflect, Clone, PartialEq, Debug)]
#[component(summary_tick)]
#[reflect(Component)]
struct Level(i32);

#[derive(Component, Reflect, Clone, PartialEq, Debug)]
#[component(immutable)]
#[reflect(Component)]
struct Rank {
    name: String,
    letter: char,
    is_high: bool,
}

#[derive(Component, Reflect)]
#[reflect(Component)]
struct Marked;

#[derive(Relation)]
struct Likes;

fn register<T: GetTypeRegistration>(world: &mut World) {
    world.resource::<AppTypeRegistry>().write().register::<T>();
}

fn world() -> World {
    let mut world = World::new();
    world.init_resource::<AppTypeRegistry>();
    register::<Health>(&mut world);
    register::<Mood>(&mut world);
    register::<Level>(&mut world);
    register::<Rank>(&mut world);
    register::<Marked>(&mut world);
    world.register_relation::<Likes>().unwrap();
    world
}

/// Makes or drops each index.
fn for_every_index(world: &mut World, is_wanted: bool) {
    macro_rules! set {
        ($($component:ty: $field:literal),* $(,)?) => {$(
            if is_wanted {
                world.index_field::<$component>($field).unwrap();
            } else {
                world.drop_field_index::<$component>($field);
            }
        )*};
    }
    set!(
        Health: "hp", Health: "most", Health: "wounds.0", Health: "wounds.1.0", Health: "wounds.1.1",
        Mood: "at", Level: "0", Rank: "name", Rank: "letter", Rank: "is_high",
    );
}

const ALONE: &[&str] = &[
    "Health.hp < 1",
    "Health.hp <= -0.0",
    "Health.hp > 1e30",
    "Health.hp == 3",
    "Health.hp >= 7.5",
    "Health.hp != 3",
    "Health.most < 1",
    "Health.most == 2.5",
    "Health.wounds.0 == 18446744073709551615",
    "Health.wounds.0 < 2",
    "Health.wounds.0 > 9223372036854775807",
    "Health.wounds.1.0 == -128",
    "Health.wounds.1.0 > 100.5",
    "Health.wounds.1.1 > 100000000000000000000",
    "Health.wounds.1.1 < -100000000000000000000",
    "Mood.at == 7",
    "Mood.at >= 8",
    "Level.0 == 4",
    "Level.0 < -2147483647.5",
    "Rank.name == \"b\"",
    "Rank.letter == \"y\"",
    "Rank.is_high == true",
];

const BESIDE: &[&str] = &[
    "Health.hp < 1, Marked",
    "Health.hp < 3, (Likes, $x)",
    "(Likes, $x), Health.hp($x) < 1",
    "Health.hp($x) < 1, Level.0($x) == 4",
    "Marked, !Health.hp == 3",
    "Health.hp < 1, ?Level.0 == 4",
    "Health.hp < 1 || Level.0 == 4",
    "Marked, !{Level.0($x) == 4, (Likes, $x)}",
    "Disabled, Health.hp < 3",
    "Health.hp(*) == 3",
    "Rank.name == \"b\", Health.hp < 3",
    "Level.0 == 4, Health.wounds.0 < 2",
];

fn compile(world: &mut World, text: &str) -> CompiledExpr {
    PairExpr::parse(text).unwrap_or_else(|error| panic!("{error}")).compile(world).unwrap()
}

fn rows(expr: &mut CompiledExpr, world: &World) -> Vec<String> {
    let mut rows = Vec::new();
    expr.for_each(world, |row| {
        rows.push(format!("{:?} {:?}", row.this(), row.vars().map(|(_, value)| value).collect::<Vec<_>>()));
    })
    .unwrap();
    rows
}

fn uses_index(expr: &mut CompiledExpr, world: &World) -> bool {
    expr.explain(world).unwrap().contains("field index")
}

fn health(random: &mut Random) -> Health {
    const SPECIAL: [f32; 8] =
        [f32::NAN, 0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE, -1e-40, 1e31];
    let hp = match random.below(4) {
        0 => SPECIAL[random.below(SPECIAL.len())],
        _ => random.below(40) as f32 / 2.0,
    };
    let most = [None, Some(f64::NAN), Some(2.5), Some(0.5), Some(90.0)][random.below(5)];
    let first = [u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1, 0, 1, 2][random.below(7)];
    let wide = [i128::MAX, i128::MIN, 1 << 64, 1 << 63, -(1 << 64), 0, 5][random.below(7)];
    Health { hp, most, wounds: Wounds(first, (random.below(256) as u8 as i8, wide)) }
}

fn mood(random: &mut Random) -> Mood {
    match random.below(3) {
        0 => Mood::Calm,
        1 => Mood::Sad("rain".into()),
        _ => Mood::Angry { at: random.below(10) as u16 },
    }
}

fn level(random: &mut Random) -> Level {
    Level([i32::MIN, i32::MAX, 0, 4, 5, 6, 7, 8][random.below(8)])
}

fn rank(random: &mut Random) -> Rank {
    Rank {
        name: ["", "a", "b", "ba", "c"][random.below(5)].into(),
        letter: ['x', 'y', 'z', 'ß'][random.below(4)],
        is_high: random.below(10) == 0,
    }
}

/// One thing that a program may do, the same in every world with the same history.
fn step(world: &mut World, all: &mut Vec<Entity>, random: &mut Random) {
    let at = random.below(all.len().max(1));
    let Some(&one) = all.get(at) else {
        return all.extend((0..30).map(|_| world.spawn(health(random)).id()));
    };
    match random.below(24) {
        0 | 1 => all.push(world.spawn((health(random), level(random))).id()),
        2 => {
            let batch: Vec<_> = (0..random.below(20)).map(|_| (health(random), rank(random))).collect();
            all.extend(world.spawn_batch(batch));
        }
        3 => {
            world.despawn(one);
            all.swap_remove(at);
        }
        4 | 5 => drop(world.entity_mut(one).insert(health(random))),
        6 => drop(world.entity_mut(one).insert(mood(random))),
        7 => drop(world.entity_mut(one).insert(level(random))),
        8 => drop(world.entity_mut(one).insert(rank(random))),
        9 => drop(world.entity_mut(one).remove::<Health>()),
        10 => drop(world.entity_mut(one).remove::<(Mood, Level)>()),
        11 => drop(world.entity_mut(one).remove::<Rank>()),
        12 => drop(world.entity_mut(one).insert(Marked)),
        13 => drop(world.entity_mut(one).remove::<Marked>()),
        14 => {
            let mut entity = world.entity_mut(one);
            if entity.contains::<Disabled>() {
                entity.remove::<Disabled>()
            } else {
                entity.insert(Disabled)
            };
        }
        15 | 16 => {
            let value = health(random);
            if let Some(mut health) = world.get_mut::<Health>(one) {
                *health = value;
            }
        }
        17 => {
            let value = mood(random);
            if let Some(mut mood) = world.get_mut::<Mood>(one) {
                *mood = value;
            }
        }
        18 => {
            let value = level(random).0;
            let mut levels = world.query::<&mut Level>();
            levels.iter_mut(world).take(random.below(9)).for_each(|mut level| level.0 = value);
        }
        19 => {
            let value = health(random);
            let write = move |mut all: Query<&mut Health>| {
                all.iter_mut().take(5).for_each(|mut health| health.wounds = value.wounds.clone());
            };
            world.run_system_once(write).unwrap();
        }
        20 => world.clear_trackers(),
        21 => {
            let target = random.pick(all);
            world.insert_pair(one, Likes, target).unwrap();
        }
        22 => {
            let value = random.below(20) as f32;
            let mut low = compile(world, "[inout] Health, Health.hp < 3");
            low.for_each_mut(world, |mut row| {
                if let Ok(mut health) = row.get_mut::<Health>(0) {
                    health.hp = value;
                }
            })
            .unwrap();
        }
        _ => {
            let count = random.below(4);
            let few: Vec<Entity> = (0..count).map(|_| world.spawn(mood(random)).id()).collect();
            few.into_iter().for_each(|entity| assert!(world.despawn(entity)));
        }
    }
}

#[test]
fn with_an_index_the_rows_are_those_of_a_scan_at_every_step() {
    let mut by_index = 0;
    for case in 0..fewer(12) as u64 {
        let (mut plain, mut indexed) = (world(), world());
        let mut of = [&mut plain, &mut indexed].map(|world| {
            let alone: Vec<CompiledExpr> = ALONE.iter().map(|text| compile(world, text)).collect();
            let beside: Vec<CompiledExpr> = BESIDE.iter().map(|text| compile(world, text)).collect();
            (alone, beside)
        });
        let [plain_exprs, indexed_exprs] = &mut of;
        let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ (case + 1));
        let mut all = [Vec::new(), Vec::new()];
        for number in 0..120 {
            if number % 40 == 5 {
                // Made when there is much and when there is little; dropped and made again. Both worlds spawn the same.
                for_every_index(&mut plain, true);
                for_every_index(&mut plain, false);
                for_every_index(&mut indexed, number % 80 == 5 || random.below(2) == 0);
            }
            let mut same = random.clone();
            step(&mut plain, &mut all[0], &mut random);
            step(&mut indexed, &mut all[1], &mut same);
            assert_eq!(all[0], all[1]);
            // Not each is read after every step, so that several changes come together.
            for (at, text) in ALONE.iter().enumerate() {
                if random.below(3) > 0 {
                    continue;
                }
                let expected = rows(&mut plain_exprs.0[at], &plain);
                let found = rows(&mut indexed_exprs.0[at], &indexed);
                assert_eq!(found, expected, "{text} after step {number} of case {case}");
                assert_eq!(indexed_exprs.0[at].count(&indexed), Ok(expected.len()), "{text}");
                if random.below(8) == 0 {
                    by_index += usize::from(uses_index(&mut indexed_exprs.0[at], &indexed));
                }
            }
            for (at, text) in BESIDE.iter().enumerate() {
                if random.below(4) > 0 {
                    continue;
                }
                let mut expected = rows(&mut plain_exprs.1[at], &plain);
                let mut found = rows(&mut indexed_exprs.1[at], &indexed);
                expected.sort_unstable();
                found.sort_unstable();
                assert_eq!(found, expected, "{text} after step {number} of case {case}");
            }
        }
        indexed.check_pairs().unwrap();
    }
    assert!(by_index > fewer(12) * 15, "{by_index} runs used an index");
}

#[test]
fn an_index_is_used_where_few_are_expected_to_pass() {
    let mut world = world();
    world.spawn_batch((0..400).map(Level));
    let mut few = compile(&mut world, "Level.0 < 10");
    let mut many = compile(&mut world, "Level.0 > 10");
    let mut other = compile(&mut world, "Level.0 != 10");
    let mut bound = compile(&mut world, "(Likes, $x), Level.0($x) < 10");
    assert!(!uses_index(&mut few, &world));
    world.index_field::<Level>("0").unwrap();
    assert_eq!(few.count(&world), Ok(10));
    assert!(!uses_index(&mut many, &world) && !uses_index(&mut other, &world));
    let plan = few.explain(&world).unwrap();
    assert!(plan.contains("field index Level.0 < 10 (~11"), "{plan}");
    assert_eq!((many.count(&world), other.count(&world)), (Ok(389), Ok(399)));
    // One pair is fewer than ten entities.
    let [one, two] = [(); 2].map(|()| world.spawn(Level(3)).id());
    world.insert_pair(one, Likes, two).unwrap();
    assert_eq!(bound.count(&world), Ok(1));
    assert!(!uses_index(&mut bound, &world));
    // What is given is tested, not looked for.
    few.set_var(&world, "this", one).unwrap();
    assert_eq!(few.count(&world), Ok(1));
    few.clear_vars();
    assert_eq!(few.count(&world), Ok(12));
    assert!(world.drop_field_index::<Level>("0") && !world.drop_field_index::<Level>("0"));
    assert!(!uses_index(&mut few, &world));
    assert_eq!(few.count(&world), Ok(12));
    assert!(!world.drop_field_index::<Health>("no.such"));
}

#[test]
fn a_field_that_cannot_have_an_index_is_refused_by_name() {
    #[derive(Component)]
    struct Hidden;

    #[derive(Component, Reflect)]
    #[reflect(Component)]
    struct Odd {
        list: Vec<u8>,
        to: Entity,
    }

    let mut empty = World::new();
    let not_reflected = "`Health.hp` cannot have an index: `Health` is not in the type registry with `#[reflect(Component)]`; \
                         `register_type` puts it there";
    assert_eq!(empty.index_field::<Health>("hp").unwrap_err().to_string(), not_reflected);
    let mut world = world();
    register::<Odd>(&mut world);
    assert!(matches!(world.index_field::<Hidden>("x"), Err(FieldIndexError::NotReflected { .. })));
    for (error, said) in [
        (
            world.index_field::<Health>("ph"),
            "`Health.ph` cannot have an index: there is no such field, only `hp`, `most`, `wounds`",
        ),
        (
            world.index_field::<Health>("wounds.2"),
            "`Health.wounds.2` cannot have an index: there is no such field, only `0`, `1`",
        ),
        (
            world.index_field::<Health>("hp.0"),
            "`Health.hp.0` cannot have an index: there is no such field, only a value without fields",
        ),
        (world.index_field::<Health>(""), "`Health.` cannot have an index: there is no such field"),
        (
            world.index_field::<Health>("wounds"),
            "`Health.wounds` cannot have an index: it is of type `Wounds`, and only numbers",
        ),
        (world.index_field::<Odd>("list"), "it is of type `Vec<u8>`"),
        (world.index_field::<Odd>("to"), "it is of type `Entity`"),
    ] {
        let error = error.unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    // A second time is no error, and no second index.
    world.index_field::<Level>("0").unwrap();
    world.index_field::<Level>("0").unwrap();
    assert!(world.drop_field_index::<Level>("0") && !world.drop_field_index::<Level>("0"));
    let mut app = App::new();
    app.register_type::<Level>().index_field::<Level>("0");
    assert!(app.world_mut().drop_field_index::<Level>("0"));
    let _ = (Hidden, Odd { list: Vec::new(), to: Entity::from_bits(1) });
}

#[derive(Expression)]
#[expr("Level.0 == 4")]
struct Fourth;

#[test]
fn a_system_sees_what_it_has_written_itself() {
    let mut world = world();
    world.spawn_batch((0..100).map(Level));
    world.index_field::<Level>("0").unwrap();
    fn write_and_read(mut set: ParamSet<(ExprQuery<Fourth>, Query<&mut Level>)>) -> [usize; 4] {
        let mut counts = [0; 4];
        for (at, count) in counts.iter_mut().enumerate() {
            *count = set.p0().count().unwrap();
            let mut levels = set.p1();
            let mut others = levels.iter_mut().filter(|level| level.0 != 4);
            others.by_ref().take(at + 1).for_each(|mut level| level.0 = 4);
        }
        counts
    }
    let mut system = IntoSystem::into_system(write_and_read);
    system.initialize(&mut world);
    assert_eq!(system.run((), &mut world).unwrap(), [1, 2, 4, 7]);
    // An exclusive read between the runs, then the system again.
    let mut expr = compile(&mut world, "Level.0 == 4");
    assert_eq!(expr.count(&world), Ok(11));
    assert_eq!(system.run((), &mut world).unwrap(), [11, 12, 14, 17]);
    assert_eq!(expr.count(&world), Ok(21));
}

#[test]
fn a_system_compares_what_it_has_declared() {
    let mut world = world();
    let mut all = Vec::new();
    for number in 0..40 {
        let mut entity = world.spawn(Level(number % 10));
        if number % 2 == 0 {
            entity.insert(Mood::Angry { at: number as u16 });
        }
        all.push(entity.id());
    }
    let find = |world: &mut World, text: &str| {
        let system = (ExprParam(PairExpr::parse(text).unwrap()),).build_state(world).build_system(
            |mut found: ExprQuery<AnyExpression>| {
                let mut rows = Vec::new();
                found.for_each_row(|row| rows.extend(row.this())).unwrap();
                rows.sort_unstable_by_key(|entity| entity.index());
                rows
            },
        );
        world.run_system_once(system).unwrap()
    };
    for is_indexed in [false, true] {
        if is_indexed {
            for_every_index(&mut world, true);
        }
        let fourths: Vec<Entity> = all.iter().copied().skip(4).step_by(10).collect();
        assert_eq!(find(&mut world, "Level.0 == 4"), fourths);
        assert_eq!(find(&mut world, "Mood.at == 14"), [all[14]]);
        assert_eq!(find(&mut world, "Mood.at == 14, Level.0 == 4"), [all[14]]);
        assert_eq!(find(&mut world, "Mood.at == 14, Level.0 == 5"), []);
    }
}

#[test]
fn fields_at_every_place_of_a_component_are_compared() {
    let mut world = world();
    for number in 0..6_u8 {
        let most = (number % 2 == 0).then_some(f64::from(number));
        let health = Health {
            hp: f32::from(number),
            most,
            wounds: Wounds(number.into(), (number as i8, number.into())),
        };
        let mut entity = world.spawn(health);
        if number > 2 {
            entity.insert((Marked, Mood::Sad(number.to_string())));
        } else {
            entity.insert((Level(number.into()), Mood::Angry { at: number.into() }));
        }
    }
    for (text, expected) in [
        ("Health.hp > 3", 2),
        ("Health.most >= 2", 2),
        ("Health.wounds.0 == 5", 1),
        ("Health.wounds.1.0 <= 1", 2),
        ("Health.wounds.1.1 != 0", 5),
        ("Mood.at > 0", 2),
        ("Mood.0 == \"4\"", 1),
        ("Level.0 < 2", 2),
    ] {
        let mut expr = compile(&mut world, text);
        assert_eq!(expr.count(&world), Ok(expected), "{text}");
    }
}

#[test]
fn pages_and_limits_go_on_over_what_an_index_finds() {
    let mut world = world();
    world.spawn_batch((0..2000).map(|number| Level(number % 100)));
    world.index_field::<Level>("0").unwrap();
    let mut expr = compile(&mut world, "Level.0 < 5");
    expr.set_batch_size(7);
    let all = rows(&mut expr, &world);
    assert!(all.len() == 100 && uses_index(&mut expr, &world));
    let mut pages = Vec::new();
    let mut cursor = expr.page(&world, 0, 30, |row| pages.extend(row.this())).unwrap();
    while let Some(at) = cursor {
        world.clear_trackers();
        cursor = expr.page(&world, at, 30, |row| pages.extend(row.this())).unwrap();
    }
    assert_eq!(pages.len(), 100);
    let mut in_one = Vec::new();
    expr.for_each(&world, |row| in_one.extend(row.this())).unwrap();
    assert_eq!(pages, in_one);
    expr.set_step_limit(Some(50));
    assert!(expr.count(&world).is_err());
    expr.set_step_limit(Some(5000));
    assert_eq!(expr.count(&world), Ok(100));
}

#[test]
fn an_observer_of_the_insertion_finds_what_was_inserted() {
    let mut world = world();
    world.index_field::<Rank>("name").unwrap();
    world.index_field::<Level>("0").unwrap();
    world.spawn_batch((0..50).map(|_| Rank { name: "a".into(), letter: 'a', is_high: false }));
    world.spawn_batch((0..50).map(|_| Level(1)));
    #[derive(Resource, Default)]
    struct Seen(Vec<usize>);
    #[derive(Expression)]
    #[expr("Rank.name == \"king\"")]
    struct Kings;
    world.init_resource::<Seen>();
    world.add_observer(|_: On<Insert<Rank>>, mut kings: ExprQuery<Kings>, mut seen: ResMut<Seen>| {
        seen.0.push(kings.count().unwrap());
    });
    let king = || Rank { name: "king".into(), letter: 'k', is_high: true };
    let first = world.spawn(king()).id();
    world.spawn(king());
    world.entity_mut(first).insert(Rank { name: "a".into(), ..king() });
    world.entity_mut(first).insert(king());
    assert_eq!(world.resource::<Seen>().0, [1, 2, 1, 2]);
}

#[test]
fn an_index_belongs_to_one_world_and_goes_with_its_resources() {
    let mut world = world();
    world.spawn_batch((0..100).map(Level));
    world.index_field::<Level>("0").unwrap();
    let mut expr = compile(&mut world, "Level.0 == 4");
    assert_eq!(expr.count(&world), Ok(1));
    let mut other = self::world();
    other.spawn_batch((0..100).map(|_| Level(4)));
    other.index_field::<Level>("0").unwrap();
    let mut in_other = compile(&mut other, "Level.0 == 4");
    assert_eq!((expr.count(&world), in_other.count(&other)), (Ok(1), Ok(100)));
    assert!(other.drop_field_index::<Level>("0"));
    assert!(uses_index(&mut expr, &world));
    world.clear_all();
    assert!(!world.drop_field_index::<Level>("0"));
    assert!(expr.count(&world).is_err());
    assert_eq!(in_other.count(&other), Ok(100));
}

#[test]
fn what_is_gone_is_removed() {
    let mut world = world();
    world.index_field::<Level>("0").unwrap();
    world.spawn_batch((0..100).map(|_| Level(1)));
    let mut expr = compile(&mut world, "Level.0 == 2");
    for round in 0..fewer(50) {
        let gone: Vec<Entity> = world.spawn_batch((0..100).map(|_| Level(1))).collect();
        let one = world.spawn(Level(2)).id();
        assert_eq!(expr.count(&world), Ok(1), "{round}");
        gone.into_iter().for_each(|entity| assert!(world.despawn(entity)));
        world.entity_mut(one).remove::<Level>();
        assert_eq!(expr.count(&world), Ok(0), "{round}");
    }
}
