//! Users' code that panics where values are read: copied, compared, made by reflection, sorted, looked up, written in place.
//! Afterwards everything that is kept says what there is.

use crate::common::{
    all_entities, dump, panic_message, spawn, take_reported_errors, world_that_records_errors,
};
use bevy_ecs::{
    entity::EntityHashMap,
    prelude::*,
    reflect::{AppTypeRegistry, ReflectComponent},
    system::RunSystemOnce,
};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use bevy_relations::{
    expr::{CompiledExpr, PairExpr, WorldExprExt},
    live::*,
    mirror::*,
    prelude::*,
    snapshot::*,
    world::WorldReflectPairExt,
};
use core::cell::Cell;

thread_local! {
    static ARMED: Cell<Option<u32>> = const { Cell::new(None) };
    static ALIVE: Cell<isize> = const { Cell::new(0) };
}

fn call() {
    match ARMED.get() {
        Some(0) if !std::thread::panicking() => {
            ARMED.set(None);
            panic!("meant");
        }
        Some(left) if left > 0 => ARMED.set(Some(left - 1)),
        _ => {}
    }
}

#[derive(Relation, Reflect)]
#[reflect(Clone, PartialEq, Default)]
struct Weighs(u32);

fn weighs(number: u32) -> Weighs {
    ALIVE.set(ALIVE.get() + 1);
    Weighs(number)
}

impl Default for Weighs {
    fn default() -> Self {
        call();
        weighs(0)
    }
}

impl Clone for Weighs {
    fn clone(&self) -> Self {
        call();
        weighs(self.0)
    }
}

impl PartialEq for Weighs {
    fn eq(&self, other: &Self) -> bool {
        call();
        self.0 == other.0
    }
}

impl Drop for Weighs {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
    }
}

#[derive(Relation, Reflect, Clone)]
struct Likes;

#[derive(Relation, Reflect, Clone)]
#[relation(acyclic)]
struct PartOf;

fn world() -> World {
    ALIVE.set(0);
    ARMED.set(None);
    let mut world = world_that_records_errors();
    world.init_resource::<AppTypeRegistry>();
    world.resource::<AppTypeRegistry>().0.clone().write().register::<Weighs>();
    world.register_relation::<Weighs>().unwrap();
    world.register_relation::<Likes>().unwrap();
    world
}

fn values(world: &World) -> Vec<(Entity, Entity, u32)> {
    let mut all: Vec<_> = world.pairs::<Weighs>().values().map(|(s, t, v)| (s, t, v.0)).collect();
    all.sort();
    all
}

#[test]
fn a_snapshot_that_was_not_updated_to_the_end_is_empty() {
    for nth in 0..6 {
        let mut world = world();
        let [a, b, c, d] = spawn(&mut world);
        world.insert_pair(a, Weighs(1), b).unwrap();
        ALIVE.set(1);
        world.insert_pair(a, Weighs::clone(&weighs(2)), c).unwrap();
        world.insert_pair(a, Likes, c).unwrap();
        let mut snapshot =
            PairSnapshot::take(&mut world, PairFilter::none().relation::<Weighs>().relation::<Likes>())
                .unwrap();
        world.remove_pair::<Weighs>(a, b);
        world.insert_pair(b, weighs(3), d).unwrap();
        world.insert_pair(c, weighs(4), d).unwrap();
        world.insert_pair(c, Likes, d).unwrap();
        ARMED.set(Some(nth));
        let panicked = panic_message(|| snapshot.update(&mut world)).is_some();
        ARMED.set(None);
        let (now, pairs) = (values(&world), dump(&world));
        snapshot.apply(&mut world).unwrap();
        world.check_pairs().unwrap();
        // Neither half of the state then, nor half of the state now.
        assert_eq!(values(&world), now, "{nth}");
        assert_eq!(dump(&world), pairs, "{nth}");
        // It can be taken again.
        snapshot.update(&mut world).unwrap();
        world.remove_pairs_everywhere(PairId::ALL);
        snapshot.apply(&mut world).unwrap();
        assert_eq!(values(&world), now, "{nth}");
        drop(snapshot);
        drop(world);
        assert_eq!(ALIVE.get(), 0, "{nth}");
        if !panicked {
            return;
        }
    }
}

#[test]
fn what_a_load_has_spawned_goes_again() {
    for nth in 0..3 {
        let mut world = world();
        let [a, b, c] = spawn(&mut world);
        world.insert_pair(a, weighs(1), b).unwrap();
        world.insert_pair(b, Likes, c).unwrap();
        let saved = PairSnapshot::take(&mut world, PairFilter::all()).unwrap().to_saved(&world).unwrap();
        let mut other = self::world();
        let before = all_entities(&other).len();
        let mut calls = 0;
        let message = panic_message(|| {
            saved.load_with(&mut other, |_, _, _| {
                calls += 1;
                if calls > nth {
                    panic!("meant");
                }
                None
            })
        });
        assert!(message.is_some());
        other.flush();
        other.check_pairs().unwrap();
        assert_eq!(all_entities(&other).len(), before, "{nth}: spawned entities stay");
    }
}

#[test]
fn what_was_spawned_for_a_copy_goes_again() {
    for nth in 0..8 {
        let mut world = world();
        let [a, b, c] = spawn(&mut world);
        world.insert_pair(a, weighs(1), b).unwrap();
        world.insert_pair(a, weighs(2), c).unwrap();
        let snapshot = PairSnapshot::take(&mut world, PairFilter::all()).unwrap();
        let (entities, pairs) = (all_entities(&world).len(), dump(&world));
        let mut map = EntityHashMap::default();
        ARMED.set(Some(nth));
        let panicked = panic_message(|| snapshot.apply_mapped(&mut world, &mut map)).is_some();
        ARMED.set(None);
        world.flush();
        world.check_pairs().unwrap();
        if !panicked {
            break;
        }
        assert_eq!((all_entities(&world).len(), map.len()), (entities, 0), "{nth}");
        assert_eq!(dump(&world), pairs);
    }
}

#[test]
fn a_mirrored_component_is_put_right_by_the_next_maintenance() {
    for verb in 0..5 {
        for nth in 0..6 {
            let mut world = world();
            world.mirror_pairs::<Weighs>().unwrap();
            let [a, b, c] = spawn(&mut world);
            world.insert_pair(a, weighs(1), b).unwrap();
            let component = MirroredPairs::from_iter([(weighs(5), b), (weighs(6), c)]);
            ARMED.set(Some(nth));
            let _ = panic_message(|| match verb {
                0 => world.insert_pair(a, weighs(2), c).unwrap(),
                1 => world.insert_pair(a, weighs(2), b).unwrap(),
                2 => _ = world.remove_pair::<Weighs>(a, b),
                3 => _ = world.entity_mut(a).insert(component),
                _ => world.maintain_pairs(),
            });
            // Bevy reports the panic of a command.
            let panicked = ARMED.take().is_none();
            world.check_pairs().unwrap();
            world.flush();
            world.maintain_pairs();
            world.check_pairs().unwrap();
            let shown: Vec<_> = world
                .get::<MirroredPairs<Weighs>>(a)
                .map(|pairs| {
                    pairs
                        .pairs
                        .iter()
                        .map(|pair| (pair.target.entity().unwrap(), pair.value.as_ref().unwrap().0))
                        .collect()
                })
                .unwrap_or_default();
            let there: Vec<_> = world.pairs::<Weighs>().values().map(|(_, t, v)| (t, v.0)).collect();
            assert_eq!(shown, there, "verb {verb}, {nth}");
            take_reported_errors();
            drop(world);
            assert_eq!(ALIVE.get(), 0, "verb {verb}, {nth}");
            if !panicked {
                break;
            }
        }
    }
}

#[derive(Relation, Clone)]
#[relation(acyclic)]
struct Holds(u32);

#[test]
fn a_value_that_was_written_in_place_before_a_panic_counts() {
    let mut world = world();
    world.add_pair_rollup::<Holds, HoldsSum>().unwrap();
    world.add_rollup::<PartOf, Load, HoldsSum>().unwrap();
    let [a, b, c] = spawn(&mut world);
    world.insert_pair(a, Holds(1), b).unwrap();
    world.insert_pair(b, Holds(2), c).unwrap();
    world.update_rollups();
    let message = panic_message(|| {
        world.run_system_once(|mut holds: PairsMut<Holds>| {
            holds.for_each_mut(|_, _, mut value| {
                value.0 += 10;
                panic!("meant");
            });
        })
    });
    assert!(message.is_some());
    world.update_rollups();
    let total = |world: &World, entity: Entity| {
        world.get::<Rollup<Holds, Holds, HoldsSum>>(entity).map(|it| *it.get())
    };
    let direct = world.pairs::<Holds>();
    let [ab, bc] = [direct.get(a, b).unwrap().0, direct.get(b, c).unwrap().0];
    assert_eq!((total(&world, b), total(&world, c)), (Some(ab), Some(ab + bc)));
}

struct HoldsSum;
impl RollupFold<Holds> for HoldsSum {
    type Output = u32;
    fn empty() -> u32 {
        0
    }
    fn of(value: &Holds) -> u32 {
        value.0
    }
    fn add(total: &mut u32, part: &u32) {
        *total += part;
    }
}
impl RollupFold<Load> for HoldsSum {
    type Output = u32;
    fn empty() -> u32 {
        0
    }
    fn of(value: &Load) -> u32 {
        call();
        value.0
    }
    fn add(total: &mut u32, part: &u32) {
        call();
        *total += part;
    }
    fn subtract(total: &mut u32, part: &u32) -> bool {
        call();
        *total -= part;
        true
    }
}

#[derive(Component, Clone, Debug, Reflect, Default)]
#[reflect(Component, Default)]
struct Load(u32);

#[test]
fn an_expression_can_be_run_again() {
    let mut world = world();
    world.register_component_name::<Load>("Load");
    for number in [5, 3, 1, 4] {
        world.spawn(Load(number));
    }
    let mut expr = PairExpr::parse("Load").unwrap().compile(&mut world).unwrap();
    expr.order_by::<Load>(|a, b| {
        call();
        a.0.cmp(&b.0)
    });
    let read = |expr: &mut CompiledExpr, world: &World| {
        let mut all = Vec::new();
        expr.for_each(world, |row| all.push(row.get::<Load>(0).unwrap().0)).unwrap();
        all
    };
    for nth in 0..4 {
        ARMED.set(Some(nth));
        let result = panic_message(|| read(&mut expr, &world));
        ARMED.set(None);
        assert!(result.is_some());
        assert_eq!(read(&mut expr, &world), [1, 3, 4, 5]);
        let result = panic_message(|| expr.for_each(&world, |_| panic!("meant")));
        assert!(result.is_some());
        assert_eq!(read(&mut expr, &world), [1, 3, 4, 5]);
        assert_eq!(expr.count(&world).unwrap(), 4);
    }
    expr.group_by_fn(|row| {
        call();
        row.get::<Load>(0).map(|load| u64::from(load.0 % 2))
    })
    .unwrap();
    for nth in 0..4 {
        ARMED.set(Some(nth));
        assert!(panic_message(|| expr.for_each_group(&world, |_| {})).is_some());
        ARMED.set(None);
        let mut groups = Vec::new();
        expr.for_each_group(&world, |group| groups.push((group.id(), group.len()))).unwrap();
        assert_eq!(groups, [(0, 1), (1, 3)]);
    }
}

/// A component whose default panics, inserted by text; a reflected value.
#[test]
fn what_a_text_inserts_is_there_wholly_or_not_at_all() {
    #[derive(Component, Reflect)]
    #[reflect(Component, Default)]
    struct Fragile(u32);
    impl Default for Fragile {
        fn default() -> Self {
            call();
            Self(1)
        }
    }
    let mut world = world();
    world.resource::<AppTypeRegistry>().0.clone().write().register::<Fragile>();
    let [a, b] = spawn(&mut world);
    world.entity_mut(b).insert(Name::new("Bob"));
    for text in ["Fragile, (Likes, Bob)", "(Weighs, Bob), Fragile", "(Likes, New), Fragile"] {
        let before = dump(&world);
        ARMED.set(Some(0));
        let result = panic_message(|| world.insert_expr(a, text).map(|_| ()).map_err(drop));
        ARMED.set(None);
        world.check_pairs().unwrap();
        if result.is_some() {
            let mut after = dump(&world);
            after.retain(|line| before.contains(line) || !line.ends_with("no pairs"));
            assert_eq!(after, before, "{text}");
        }
    }
    let weighs = world.entity_of::<Weighs>();
    ARMED.set(Some(0));
    let result = panic_message(|| world.insert_pair_by_id(a, (weighs, b)));
    ARMED.set(None);
    assert!(result.is_some());
    assert!(!world.has_pair::<Weighs>(a, b));
    let _ = panic_message(|| world.insert_reflected_pair(a, (weighs, b), Box::new(3u8)));
    world.check_pairs().unwrap();
}
