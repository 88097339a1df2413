//! Terms and expressions find the holder that a search by definition finds, in the middle of operations too.

use super::{
    Armor, Fuel, Gas, ManyF, ManyS, ManyT, RandomWorld, Shape, TransF, UpF, UpS, UpT, compile, named_world,
    with_relation,
};
use crate::common::{Random, fewer, take_reported_errors};
use bevy_ecs::{
    entity_disabling::Disabled,
    lifecycle::HookContext,
    prelude::*,
    query::{QueryFilter, ReadOnlyQueryData},
    world::DeferredWorld,
};
use bevy_relations::{
    expr::CompiledExpr,
    prelude::*,
    query::{Cached, SelfUp, Up, WithAncestor},
    relation::{Prefab, RelationStorage, TraversableRelation},
};
use bevy_tasks::{ComputeTaskPool, TaskPoolBuilder};
use core::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The least and the greatest number of steps up.
type Depths = (u32, u32);

const ABOVE: Depths = (1, u32::MAX);
pub(super) const SELF_OR_ABOVE: Depths = (0, u32::MAX);

/// The nearest holder up a relation by definition: the first that is met depth first.
pub(super) fn nearest(
    targets: &dyn Fn(Entity) -> Vec<Entity>,
    from: Entity,
    depths: Depths,
    holds: &dyn Fn(Entity) -> bool,
) -> Option<Entity> {
    fn visit(
        targets: &dyn Fn(Entity) -> Vec<Entity>,
        (entity, depth): (Entity, u32),
        (min, max): Depths,
        holds: &dyn Fn(Entity) -> bool,
        met: &mut Vec<(Entity, u32)>,
    ) -> Option<Entity> {
        // Without a bound it does not matter how far up an entity is met.
        let key = if min <= 1 && max == u32::MAX { depth.min(1) } else { depth };
        if met.contains(&(entity, key)) {
            return None;
        }
        met.push((entity, key));
        if depth >= min && holds(entity) {
            return Some(entity);
        }
        let targets_of = if depth < max { targets(entity) } else { Vec::new() };
        targets_of.into_iter().find_map(|target| visit(targets, (target, depth + 1), (min, max), holds, met))
    }
    visit(targets, (from, 0), depths, holds, &mut Vec::new())
}

/// What an expression looks for.
#[derive(Clone, Copy, Debug)]
enum Held {
    Shape,
    Gas,
    Red,
}

const EXPRS: [(&str, Depths, Held); 7] = [
    ("Fuel, Shape(up R)", ABOVE, Held::Shape),
    ("Fuel, Shape(self|up R)", SELF_OR_ABOVE, Held::Shape),
    ("Fuel, Gas(up R)", ABOVE, Held::Gas),
    ("Fuel, Gas(self|up R)", SELF_OR_ABOVE, Held::Gas),
    ("Fuel, Red(up R)", ABOVE, Held::Red),
    ("Fuel, Red(self|up R)", SELF_OR_ABOVE, Held::Red),
    ("Fuel, Shape(up R 2..3)", (2, 3), Held::Shape),
];

/// Terms and expressions of one relation that are kept while the world changes.
struct Searches<R: TraversableRelation> {
    name: &'static str,
    up: QueryState<(Entity, Option<Up<R, &'static Shape>>)>,
    own: QueryState<(Entity, Option<SelfUp<R, &'static Shape>>)>,
    gas: QueryState<(Entity, Option<SelfUp<R, (Entity, &'static Gas)>>), With<Fuel>>,
    cached: QueryState<(Entity, Option<Cached<Up<R, &'static Shape>>>)>,
    near: QueryState<(Entity, Option<Up<R, &'static Shape, 1, 2>>)>,
    far: QueryState<(Entity, Option<Up<R, (Entity, &'static Shape), 2, 3>>)>,
    with: QueryState<Entity, WithAncestor<R, With<Shape>>>,
    exprs: [(CompiledExpr, Depths, Held); 7],
}

fn each<'a, D: ReadOnlyQueryData + 'static, F: QueryFilter>(
    query: &'a mut QueryState<D, F>,
    world: &'a World,
    see: impl FnMut(D::Item<'a, 'a>),
) {
    query.update_archetypes(world);
    query.iter_manual(world).for_each(see);
}

impl<R: TraversableRelation> Searches<R> {
    fn new(world: &mut World, name: &'static str) -> Self {
        let exprs = EXPRS.map(|(text, depths, held)| {
            let mut expr = compile(world, &with_relation(text, name));
            expr.set_batch_size(if depths == SELF_OR_ABOVE { 1 } else { 1024 });
            (expr, depths, held)
        });
        Self {
            name,
            up: world.query(),
            own: world.query(),
            gas: world.query_filtered(),
            cached: world.query(),
            near: world.query(),
            far: world.query(),
            with: world.query_filtered(),
            exprs,
        }
    }

    /// Compares all with the search by definition, and with the cache if `is_between` operations: an observer may see
    /// what was cached before.
    fn check(&mut self, world: &World, red: Entity, place: &str, is_between: bool) {
        let name = self.name;
        let pairs = world.pairs::<R>();
        let targets = |entity| pairs.targets(entity).collect::<Vec<_>>();
        let is_seen = |entity: Entity| {
            !world.entity(entity).contains::<Disabled>() && !world.entity(entity).contains::<Prefab>()
        };
        let has_shape = |entity| world.get::<Shape>(entity).is_some() && is_seen(entity);
        let has_gas = |entity| world.get::<Gas>(entity).is_some() && is_seen(entity);
        let holder = |entity, depths| nearest(&targets, entity, depths, &has_shape);
        let shape = |entity, depths| holder(entity, depths).and_then(|holder| world.get::<Shape>(holder));
        let mut with = HashSet::new();
        each(&mut self.with, world, |entity| assert!(with.insert(entity)));
        each(&mut self.up, world, |(entity, found)| {
            assert_eq!(found, shape(entity, ABOVE), "{place}: Up<{name}> of {entity}");
            assert_eq!(with.contains(&entity), found.is_some(), "{place}: WithAncestor<{name}> of {entity}");
        });
        each(&mut self.own, world, |(entity, found)| {
            assert_eq!(found, shape(entity, SELF_OR_ABOVE), "{place}: SelfUp<{name}> of {entity}");
        });
        each(&mut self.gas, world, |(entity, found)| {
            let expected = nearest(&targets, entity, SELF_OR_ABOVE, &has_gas);
            assert_eq!(found.map(|found| found.0), expected, "{place}: SelfUp<{name}, Gas> of {entity}");
        });
        if is_between {
            each(&mut self.cached, world, |(entity, found)| {
                assert_eq!(found, shape(entity, ABOVE), "{place}: Cached<Up<{name}>> of {entity}");
            });
        }
        each(&mut self.near, world, |(entity, found)| {
            assert_eq!(found, shape(entity, (1, 2)), "{place}: Up<{name}, 1, 2> of {entity}");
        });
        each(&mut self.far, world, |(entity, found)| {
            let expected = holder(entity, (2, 3));
            assert_eq!(found.map(|found| found.0), expected, "{place}: Up<{name}, 2, 3> of {entity}");
        });
        let ships: Vec<Entity> = self.gas.iter_manual(world).map(|(entity, _)| entity).collect();
        for (expr, depths, held) in &mut self.exprs {
            // Expressions see disabled holders.
            let holds = |entity: Entity| match held {
                Held::Shape => world.get::<Shape>(entity).is_some(),
                Held::Gas => world.get::<Gas>(entity).is_some(),
                Held::Red => world.has_tag(entity, red),
            };
            let of_ship = |&ship: &Entity| Some((ship, nearest(&targets, ship, *depths, &holds)?));
            let expected: BTreeMap<Entity, Entity> = ships.iter().filter_map(of_ship).collect();
            assert_eq!(
                sources_in_place(world, expr),
                expected,
                "{place}: {name} {depths:?} {held:?}, in place"
            );
            let (mut found, mut rows) = (BTreeMap::new(), expr.rows(world).unwrap());
            while let Some(row) = rows.next_row().unwrap() {
                found.insert(row.this().unwrap(), row.source(1).unwrap());
            }
            assert_eq!(found, expected, "{place}: {name} {depths:?} {held:?}, by rows");
        }
    }
}

/// The source of the second field for each entity, of an expression with one row for each.
fn sources_in_place(world: &World, expr: &mut CompiledExpr) -> BTreeMap<Entity, Entity> {
    let mut found = BTreeMap::new();
    expr.for_each(world, |row| {
        assert_eq!(found.insert(row.this().unwrap(), row.source(1).unwrap()), None);
    })
    .unwrap();
    found
}

/// Searches up relations of each storage. They are kept beside the world, so that observers and hooks can use them.
pub(super) struct AllSearches {
    up: (Searches<UpS>, Searches<UpT>, Searches<UpF>),
    many: (Searches<ManyS>, Searches<ManyT>, Searches<ManyF>),
    trans: Searches<TransF>,
    red: Entity,
    /// How often they were called for in the middle of operations.
    calls: usize,
    checks: usize,
}

thread_local! {
    // In a box: what a thread keeps for itself takes room from its stack, in every test.
    static SEARCHES: RefCell<Option<Box<AllSearches>>> = const { RefCell::new(None) };
}

impl AllSearches {
    pub(super) fn install(world: &mut World, red: Entity) {
        let searches = Self {
            up: (Searches::new(world, "UpS"), Searches::new(world, "UpT"), Searches::new(world, "UpF")),
            many: (
                Searches::new(world, "ManyS"),
                Searches::new(world, "ManyT"),
                Searches::new(world, "ManyF"),
            ),
            trans: Searches::new(world, "TransF"),
            red,
            calls: 0,
            checks: 0,
        };
        SEARCHES.set(Some(Box::new(searches)));
    }

    /// Ends the checks, and returns how many there were.
    pub(super) fn uninstall() -> usize {
        SEARCHES.take().map_or(0, |searches| searches.checks)
    }

    /// Checks all between two operations.
    pub(super) fn check(world: &World, place: &str) {
        SEARCHES.with_borrow_mut(|searches| searches.as_mut().unwrap().check_all(world, place, true));
    }

    /// Checks all in the middle of an operation.
    pub(super) fn check_within(world: &World, place: &str) {
        SEARCHES.with_borrow_mut(|searches| searches.as_mut().unwrap().check_all(world, place, false));
    }

    /// [`check_within`](Self::check_within) in one of seven calls: there are many.
    pub(super) fn check_some_within(world: &World, place: &str) {
        SEARCHES.with_borrow_mut(|searches| {
            let searches = searches.as_mut().unwrap();
            searches.calls += 1;
            if searches.calls.is_multiple_of(7) {
                searches.check_all(world, place, false);
            }
        });
    }

    fn check_all(&mut self, world: &World, place: &str, is_between: bool) {
        let red = self.red;
        self.checks += 1;
        self.up.0.check(world, red, place, is_between);
        self.up.1.check(world, red, place, is_between);
        self.up.2.check(world, red, place, is_between);
        self.many.0.check(world, red, place, is_between);
        self.many.1.check(world, red, place, is_between);
        self.many.2.check(world, red, place, is_between);
        self.trans.check(world, red, place, is_between);
    }
}

/// Its hooks search.
#[derive(Component)]
#[component(on_add = search, on_remove = search, on_despawn = search, on_discard = search)]
struct Hooked;

fn search(world: DeferredWorld, _: HookContext) {
    AllSearches::check_some_within(&world, "hook");
}

/// Observers of components and of pairs search.
fn search_in_observers(world: &mut World) {
    macro_rules! observe {
        ($($event:ty),*) => { $(
            world.add_observer(|_: On<$event>, world: DeferredWorld| {
                AllSearches::check_some_within(&world, stringify!($event));
            });
        )* };
    }
    observe!(Add<Shape>, Remove<Shape>, Despawn<Shape>, Discard<Shape>);
    observe!(Add<Gas>, Remove<Gas>, Despawn<Gas>, Discard<Gas>);
    observe!(Add<Fuel>, Remove<Fuel>, Despawn<Fuel>, Discard<Fuel>);
    observe!(Add<Armor>, Remove<Armor>, Despawn<Armor>, Discard<Armor>);
    observe!(PairInserted<UpT>, PairInserted<UpF>, PairInserted<ManyF>, PairInserted<TransF>);
    observe!(PairRemoved<UpT>, PairRemoved<UpF>, PairRemoved<ManyF>, PairRemoved<TransF>);
}

#[test]
fn observers_and_hooks_in_the_middle_of_operations_find_what_a_search_by_definition_finds() {
    for seed in 0..fewer(2) as u64 {
        let mut random = RandomWorld::small(seed);
        AllSearches::install(&mut random.world, random.red);
        random.change_times(60);
        AllSearches::check(&random.world, "before");
        search_in_observers(&mut random.world);
        for &ship in random.ships.iter().step_by(3) {
            random.world.entity_mut(ship).insert(Hooked);
        }
        for round in 0..80 {
            random.change();
            if round % 10 == 0 {
                let ship = random.pick_ship();
                random.world.entity_mut(ship).insert(Hooked);
            }
            if round % 4 == 0 {
                AllSearches::check(&random.world, &format!("seed {seed}, after round {round}"));
            }
            random.world.check_pairs().unwrap();
        }
        let checks = AllSearches::uninstall();
        assert!(checks > 40, "{checks}");
        assert_eq!(take_reported_errors(), [""; 0]);
    }
}

#[test]
fn searches_go_on_when_a_relation_has_more_archetypes_than_it_may() {
    let mut world = named_world();
    let red = world.spawn(Name::new("Red")).id();
    AllSearches::install(&mut world, red);
    let tops: Vec<Entity> = (0..40).map(|number| world.spawn(Shape(number)).id()).collect();
    let above: Vec<Entity> = (0..4).map(|number| world.spawn(Gas(number)).id()).collect();
    for (at, &top) in tops.iter().enumerate() {
        world.insert_pair(top, ManyF, above[at % 4]).unwrap();
        world.insert_pair(top, UpF, above[at % 4]).unwrap();
    }
    let mut ships = Vec::new();
    let mut gives_up = false;
    for number in 0..1_300_usize {
        let ship = world.spawn(Fuel(number as u32)).id();
        ships.push(ship);
        world.insert_pair(ship, UpF, tops[number % 40]).unwrap();
        // Another set of targets for each ship.
        for (bit, &top) in tops[..11].iter().enumerate() {
            if number >> bit & 1 == 1 {
                world.insert_pair(ship, ManyF, top).unwrap();
            }
        }
        if !gives_up && take_reported_errors().iter().any(|error| error.contains("archetypes")) {
            gives_up = true;
            AllSearches::check_within(&world, "at once");
        }
    }
    assert!(gives_up, "there are too few archetypes");
    for (at, &ship) in ships.iter().enumerate().step_by(3) {
        world.remove_pairs::<ManyF>(ship);
        world.insert_pair(ship, ManyF, tops[at % 13]).unwrap();
    }
    for (at, &top) in tops.iter().enumerate() {
        match at % 3 {
            0 => _ = world.entity_mut(top).remove::<Shape>(),
            1 => _ = world.despawn(top),
            _ => {}
        }
    }
    AllSearches::check(&world, "after changes");
    AllSearches::uninstall();
    world.check_pairs().unwrap();
}

#[test]
fn run_time_relations_that_share_components_one_after_the_other_are_read_as_they_are() {
    let mut world = named_world();
    let mut random = Random(99);
    let ships: Vec<Entity> = (0..200).map(|number| world.spawn(Fuel(number)).id()).collect();
    let tops: Vec<Entity> = (0..12).map(|_| world.spawn_empty().id()).collect();
    for &top in tops.iter().step_by(2) {
        world.entity_mut(top).insert(Shape(0));
    }
    let mut relations: Vec<(Entity, CompiledExpr, CompiledExpr)> = Vec::new();
    for round in 0..40 {
        let mut traits = RelationTraits::new().traversable().storage(RelationStorage::Fragmenting);
        if round % 2 == 0 {
            traits = traits.exclusive();
        }
        let relation = world.spawn_relation("R", traits).unwrap();
        let bits = relation.to_bits();
        let up = compile(&mut world, &format!("Fuel, Shape(up #{bits})"));
        let own = compile(&mut world, &format!("Fuel, ?(#{bits}, $p)"));
        relations.push((relation, up, own));
        for _ in 0..6 {
            let (from, top) = (random.below(150), random.pick(&tops));
            for &ship in &ships[from..from + 45] {
                world.insert_pair_by_id(ship, (relation, top)).unwrap();
            }
        }
        if relations.len() > 3 {
            let (gone, ..) = relations.swap_remove(random.below(3));
            world.despawn(gone);
        }
        world.check_pairs().unwrap();
        for (relation, up, own) in &mut relations {
            let view = world.pairs_by_id(*relation);
            let holder = |ship| view.targets(ship).find(|&top| world.get::<Shape>(top).is_some());
            let expected: BTreeMap<Entity, Entity> =
                ships.iter().filter_map(|&ship| Some((ship, holder(ship)?))).collect();
            assert_eq!(sources_in_place(&world, up), expected, "round {round}");
            let mut rows = 0;
            own.for_each(&world, |row| {
                let this = row.this().unwrap();
                assert!(row.var("p").map_or(view.target_count(this) == 0, |top| view.has(this, top)));
                rows += 1;
            })
            .unwrap();
            assert_eq!(rows, ships.iter().map(|&ship| view.target_count(ship).max(1)).sum::<usize>());
        }
    }
}

#[test]
fn every_iterator_of_a_query_finds_the_same_holders() {
    let mut random = RandomWorld::small(5);
    random.change_times(150);
    let world = &mut random.world;
    let mut query = world.query::<(Entity, Option<Up<ManyF, &Shape>>, Option<SelfUp<UpF, &Shape>>)>();
    let known: HashMap<Entity, _> =
        query.iter(world).map(|(entity, many, up)| (entity, (many.copied(), up.copied()))).collect();
    let check = |(entity, many, up): (Entity, Option<&Shape>, Option<&Shape>)| {
        assert_eq!(known[&entity], (many.copied(), up.copied()));
    };
    let list: Vec<Entity> = random.ships.iter().chain(&random.tops).rev().copied().collect();
    query.iter_many(world, &list).flatten().for_each(check);
    query.iter_combinations(world).for_each(|both: [_; 2]| both.into_iter().for_each(check));
    query.iter(world).sort::<Entity>().for_each(check);
    for &entity in &list {
        query.get(world, entity).into_iter().for_each(check);
    }
    ComputeTaskPool::get_or_init(|| TaskPoolBuilder::new().num_threads(2).build());
    query.par_iter(world).for_each(check);
}
