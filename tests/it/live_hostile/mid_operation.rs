//! Rows that observers, and the commands that they queue, read amid operations.

use super::{DockedTo, Fuel, InParts, InTable, LeansOn, Likes, describe_all, play_seeds};
use crate::{
    common::{Random, fewer, world_that_records_errors},
    live::{describe, fresh_rows, kept_rows},
};
use bevy_ecs::{
    entity_disabling::Disabled,
    event::EventPattern,
    lifecycle::{Add, Despawn, Discard, Insert, Remove},
    prelude::*,
    system::{DynParamBuilder, DynSystemParam, ParamBuilder, SystemParamBuilder},
};
use bevy_relations::{
    expr::{CompiledExpr, ExprQuery, Expression, PairExpr},
    live::{LiveExpr, LiveQuery},
    prelude::*,
};
use std::cell::{Cell, RefCell};

#[derive(Component, Clone)]
#[component(storage = "SparseSet")]
struct Gas;

#[derive(Component, Clone)]
struct Port;

#[derive(Relation)]
#[relation(symmetric)]
struct Knows;

#[derive(Relation)]
#[relation(transitive)]
struct Within;

macro_rules! expressions {
    ($($name:ident $text:literal,)*) => {
        $(#[derive(Expression)]
        #[expr($text)]
        struct $name;)*

        const TEXTS: &[&str] = &[$($text),*];

        const READERS: &[fn() -> Reader] = &[$(Reader::of::<$name>),*];
    };
}

expressions! {
    E0 "Fuel",
    E1 "Fuel, !Gas",
    E2 "Port, ?Fuel, ?Gas",
    E3 "(Likes, $x), Fuel($x)",
    E4 "(DockedTo, $x), ?Gas($x)",
    E5 "Fuel(up ChildOf)",
    E6 "Port, !Gas(up DockedTo)",
    E7 "(InTable, $x)",
    E8 "(InParts, $x), Port($x)",
    E9 "(Knows, $x)",
    E10 "(LeansOn, *), Fuel || Gas",
    E11 "(Within, $x)",
    E12 "Port, !{ (Likes, $x), Fuel($x) }",
    E13 "Port(self|up InParts)",
    E14 "($r, $x), Port",
    E15 "Fuel || (Likes, $x) || (ChildOf, $x)",
    E16 "Port, ?(ChildOf, $x), ?(InTable, $y)",
    E17 "(ChildOf, $p), Port($p)",
    E18 "Port, !(InTable, *)",
    E19 "Port, ?Gas(cascade ChildOf)",
}

thread_local! {
    /// What differed from a run from scratch.
    static WRONG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    /// How often rows were compared with these of a run from scratch.
    static CHECKS: Cell<usize> = const { Cell::new(0) };
}

fn note_wrong(text: String) {
    WRONG.with_borrow_mut(|wrong| wrong.push(text));
}

fn compare<E: Expression>(at: &str, kept: &LiveQuery<E>, fresh: &mut ExprQuery<E>) {
    let fields = kept.field_count();
    let mut rows = Vec::new();
    fresh.for_each_row(|row| rows.push(describe(row, fields))).unwrap();
    rows.sort_unstable();
    let found = describe_all(kept.rows(), fields);
    CHECKS.set(CHECKS.get() + 1);
    if rows != found {
        note_wrong(format!("{at}: kept {found:#?}\nfresh {rows:#?}\n{}", kept.explain()));
    }
}

/// Every row is in one group: that of its target.
fn compare_groups<E: Expression>(
    at: &str,
    kept: &mut LiveQuery<E>,
    target: impl Fn(Entity) -> Option<Entity>,
) {
    let mut count = 0;
    for group in kept.groups().collect::<Vec<_>>() {
        for row in kept.group(group) {
            count += 1;
            if target(row.this().unwrap()).map_or(0, Entity::to_bits) != group {
                note_wrong(format!("{at}: {row:?} is in group {group}"));
            }
        }
    }
    if count != kept.len() {
        note_wrong(format!("{at}: {count} in groups"));
    }
}

/// What an observer compares: the rows of an expression, and its groups by one of two relations.
///
/// An observer does not know the types of its parameters: one function for each event and each expression would be 6 % of all that
/// is compiled for these tests.
#[derive(Clone, Copy)]
struct Reader {
    parameters: fn() -> DynParamBuilder<'static>,
    read: fn(&str, DynSystemParam),
}

type Parameters<'w, 's, E> = (
    LiveQuery<'w, 's, E>,
    ExprQuery<'w, 's, E>,
    Pairs<'w, 's, DockedTo>,
    Pairs<'w, 's, InParts>,
    Local<'s, u32>,
);

impl Reader {
    fn of<E: Expression>() -> Self {
        Self { parameters: || DynParamBuilder::new::<Parameters<E>>(ParamBuilder), read: read::<E> }
    }
}

fn read<E: Expression>(event: &str, parameters: DynSystemParam) {
    let (mut kept, mut fresh, docked, parts, mut runs) = parameters.downcast::<Parameters<E>>().unwrap();
    let at = format!("{event} {}", core::any::type_name::<E>());
    compare(&at, &kept, &mut fresh);
    *runs += 1;
    if *runs % 16 > 8 {
        if kept.group_by::<InParts>().is_ok() {
            compare_groups(&at, &mut kept, |this| parts.target(this));
        }
    } else if kept.group_by::<DockedTo>().is_ok() {
        compare_groups(&at, &mut kept, |this| docked.target(this));
    }
}

type Observe = fn(&mut World, Reader);

/// An observer of an event.
fn observe<Ev: EventPattern>(world: &mut World, reader: Reader) {
    let state = ((reader.parameters)(),).build_state(world);
    world.add_observer(state.build_any_system(move |_: On<Ev>, parameters: DynSystemParam| {
        (reader.read)(core::any::type_name::<Ev>(), parameters);
    }));
}

fn events() -> Vec<Observe> {
    let mut all: Vec<Observe> = Vec::new();
    macro_rules! component {
        ($($c:ty),*) => {$(
            all.push(observe::<Add<$c>>);
            all.push(observe::<Insert<$c>>);
            all.push(observe::<Discard<$c>>);
            all.push(observe::<Remove<$c>>);
            all.push(observe::<Despawn<$c>>);
        )*};
    }
    component!(Fuel, Gas, Port, ChildOf, Children, Disabled);
    macro_rules! relation {
        ($($c:ty),*) => {$(
            all.push(observe::<PairInserted<$c>>);
            all.push(observe::<PairRemoved<$c>>);
        )*};
    }
    relation!(Likes, DockedTo, InTable, InParts, Knows, LeansOn, Within, ChildOf);
    all
}

fn prepare(world: &mut World) {
    world.register_component_name::<Fuel>("Fuel");
    world.register_component_name::<Gas>("Gas");
    world.register_component_name::<Port>("Port");
    world.register_relation::<Likes>().unwrap();
    world.register_relation::<DockedTo>().unwrap();
    world.register_relation::<InTable>().unwrap();
    world.register_relation::<InParts>().unwrap();
    world.register_relation::<Knows>().unwrap();
    world.register_relation::<LeansOn>().unwrap();
    world.register_relation::<Within>().unwrap();
}

#[derive(Resource, Default)]
struct Kept(Vec<(LiveExpr, CompiledExpr)>);

/// Compares the rows of live expressions, also amid a flush.
fn read_live(world: &mut World) {
    let Some(mut kept) = world.get_resource_mut::<Kept>() else { return };
    let mut all = core::mem::take(&mut kept.0);
    for (live, fresh) in &mut all {
        live.update(world).unwrap();
        let (expected, found) = (fresh_rows(world, fresh), kept_rows(world, live));
        CHECKS.set(CHECKS.get() + 1);
        if expected != found {
            note_wrong(format!("in a command: kept {found:#?}\nfresh {expected:#?}\n{}", live.explain()));
        }
    }
    world.resource_mut::<Kept>().0 = all;
}

/// An observer that queues a command which compares rows.
fn queue<Ev: EventPattern>(world: &mut World) {
    world.add_observer(|_: On<Ev>, mut commands: Commands| {
        commands.queue(read_live);
    });
}

fn change(world: &mut World, entities: &mut Vec<Entity>, random: &mut Random) {
    let (a, b) = (random.pick(entities), random.pick(entities));
    match random.below(32) {
        0 | 1 => _ = world.entity_mut(a).insert(Fuel),
        2 => _ = world.entity_mut(a).insert((Gas, Fuel)),
        3 => _ = world.entity_mut(a).insert(Port),
        4 => _ = world.entity_mut(a).remove::<Fuel>(),
        5 => _ = world.entity_mut(a).remove::<(Gas, Fuel)>(),
        6 => _ = world.entity_mut(a).remove::<Port>(),
        7 | 8 => _ = world.insert_pair(a, Likes, b),
        9 => _ = world.insert_pair(a, DockedTo, b),
        10 => _ = world.insert_pair(a, InTable, b),
        11 => _ = world.insert_pair(a, InParts, b),
        12 => _ = world.insert_pair(a, Knows, b),
        13 => _ = world.insert_pair(a, LeansOn, b),
        14 => _ = world.insert_pair(a, Within, b),
        15 => _ = world.remove_pairs::<Likes>(a),
        16 => _ = world.remove_pairs::<DockedTo>(a),
        17 => _ = world.remove_pairs::<InTable>(a),
        18 => _ = world.remove_pairs::<InParts>(a),
        19 => _ = world.remove_pairs::<Knows>(a),
        20 => _ = world.remove_pairs::<LeansOn>(a),
        21 => _ = world.remove_pairs::<Within>(a),
        22 if a > b => _ = world.entity_mut(a).insert(ChildOf(b)),
        23 => _ = world.entity_mut(a).remove::<ChildOf>(),
        24 => _ = world.entity_mut(a).insert(Disabled),
        25 => _ = world.entity_mut(a).remove::<Disabled>(),
        26 => {
            world.despawn(a);
        }
        27 => _ = world.despawn_with_dependents(a),
        28 => {
            let copy = world.entity_mut(a).clone_and_spawn();
            entities.push(copy);
        }
        29 => _ = world.entity_mut(a).clear(),
        30 => _ = world.entity_mut(a).retain::<(Fuel, ChildOf)>(),
        _ => {
            entities.push(world.spawn((Fuel, Port, pairs![(Likes, a), (InParts, b), (InTable, a)])).id());
        }
    }
    entities.retain(|&entity| world.entities().contains_spawned(entity));
    while entities.len() < 5 {
        entities.push(world.spawn(Port).id());
    }
}

/// A history in a world with some observers, before which rows were read already if `early`.
fn play(seed: u64, early: bool, observers: usize) {
    let mut world = world_that_records_errors();
    prepare(&mut world);
    let mut kept = Kept::default();
    for &text in TEXTS {
        let expr = PairExpr::parse(text).unwrap();
        kept.0.push((expr.live(&mut world).unwrap(), expr.compile(&mut world).unwrap()));
    }
    world.insert_resource(kept);
    if early {
        read_live(&mut world);
    }
    let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ (seed + 1));
    for _ in 0..10 {
        random.below(2);
    }
    // One of each event for each expression.
    let of_reader = |reader: fn() -> Reader| events().into_iter().map(move |observe| (observe, reader()));
    let mut all: Vec<(Observe, Reader)> = READERS.iter().copied().flat_map(of_reader).collect();
    for _ in 0..observers.min(all.len()) {
        let (observe, reader) = all.swap_remove(random.below(all.len()));
        observe(&mut world, reader);
    }
    queue::<Add<Fuel>>(&mut world);
    queue::<Remove<Gas>>(&mut world);
    queue::<Remove<ChildOf>>(&mut world);
    queue::<Despawn<Port>>(&mut world);
    queue::<PairInserted<InParts>>(&mut world);
    queue::<PairRemoved<Likes>>(&mut world);
    queue::<PairRemoved<LeansOn>>(&mut world);
    let mut entities: Vec<_> = (0..8).map(|_| world.spawn(Port).id()).collect();
    for step in 0..60 {
        change(&mut world, &mut entities, &mut random);
        if random.below(3) == 0 {
            read_live(&mut world);
        }
        world.check_pairs().unwrap();
        let wrong = WRONG.take();
        assert!(wrong.is_empty(), "step {step}: {} wrong: {}", wrong.len(), wrong[0]);
    }
}

/// There is an observer of each event for each expression.
#[test]
fn rows_read_by_all_observers_amid_operations_are_those_of_now() {
    WRONG.take();
    CHECKS.take();
    play_seeds(20, |seed| play(seed, seed.is_multiple_of(2), usize::MAX));
    assert!(CHECKS.take() > 1_000 * fewer(20));
}

/// There are so few observers that not everything is found anew by those that ran before.
#[test]
fn rows_read_by_few_observers_amid_operations_are_those_of_now() {
    WRONG.take();
    CHECKS.take();
    play_seeds(60, |seed| play(seed, seed.is_multiple_of(2), 1 + seed as usize % 4));
    assert!(CHECKS.take() > 100 * fewer(60));
}

/// What some observers of a removal read, with the id that the next observer gets after some entities, and
/// after rows about the component were read already if `early`.
fn wrong_about_removals(early: bool, entities: usize) -> Vec<String> {
    let mut world = World::new();
    prepare(&mut world);
    let _live = early.then(|| {
        let mut live = PairExpr::parse("Fuel").unwrap().live(&mut world).unwrap();
        live.update(&mut world).unwrap();
        live
    });
    (0..entities).for_each(|_| _ = world.spawn_empty());
    observe::<Remove<Fuel>>(&mut world, Reader::of::<E0>());
    let all = [(); 4].map(|()| world.spawn(Fuel).id());
    for entity in all {
        world.entity_mut(entity).remove::<Fuel>();
    }
    WRONG.take()
}

/// Which observer of an event is run first depends on their ids.
#[test]
fn rows_read_by_an_observer_of_a_removal_are_those_of_now_whatever_its_id() {
    WRONG.take();
    let mut failed = Vec::new();
    for early in [false, true] {
        for entities in 0..40 {
            let wrong = wrong_about_removals(early, entities);
            if let Some(first) = wrong.first() {
                failed.push(format!("early {early}, {entities} entities: {} of 4: {first}", wrong.len()));
            }
        }
    }
    assert!(failed.is_empty(), "{}: {}", failed.len(), failed[0]);
}
