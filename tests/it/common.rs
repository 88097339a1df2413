//! What the tests of several modules share.

use bevy_ecs::{
    archetype::{Archetype, ArchetypeEntity},
    error::{BevyError, ErrorContext, FallbackErrorHandler, Severity},
    prelude::*,
};
use bevy_relations::{
    expr::{CompiledExpr, Row},
    live::LiveExpr,
    prelude::*,
};
use core::{cell::RefCell, num::NonZeroUsize};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A relationship of Bevy's with a value.
#[derive(Component, Clone, Debug, PartialEq)]
#[relationship(relationship_target = Crew)]
pub(crate) struct CrewOf {
    #[relationship]
    pub(crate) ship: Entity,
    pub(crate) wage: u32,
}

#[derive(Component)]
#[relationship_target(relationship = CrewOf)]
pub(crate) struct Crew(Vec<Entity>);

/// The same without a value.
pub(crate) mod unpaid {
    use bevy_ecs::{component::Component, entity::Entity};

    #[derive(Component, Clone)]
    #[relationship(relationship_target = Crew)]
    pub(crate) struct CrewOf(pub(crate) Entity);

    #[derive(Component)]
    #[relationship_target(relationship = CrewOf)]
    pub(crate) struct Crew(Vec<Entity>);
}

/// Relations with constraints on the ends of their pairs, and the components that they name.
pub(crate) mod constrained {
    use super::take_reported_errors;
    use bevy_ecs::{component::Component, world::World};
    use bevy_relations::prelude::*;

    #[derive(Component, Clone, Default)]
    pub(crate) struct Person;

    #[derive(Component, Clone, Default)]
    pub(crate) struct City;

    #[derive(Component, Clone, Default)]
    pub(crate) struct Ruin;

    #[derive(Relation)]
    #[relation(source(Person), target(City, !Ruin))]
    pub(crate) struct LivesIn;

    #[derive(Relation, Clone, PartialEq, Debug, Default)]
    #[relation(exclusive, target = City)]
    pub(crate) struct Rules(pub(crate) u32);

    #[derive(Relation)]
    #[relation(symmetric, source(Person))]
    pub(crate) struct Knows;

    #[derive(Relation)]
    #[relation(with = LivesIn)]
    pub(crate) struct WorksIn;

    #[derive(Relation)]
    #[relation(source(Person), target(City, !Ruin), on_missing = Insert)]
    pub(crate) struct Founded;

    #[derive(Relation)]
    #[relation(source(Person), target(!Ruin), on_missing = Warn)]
    pub(crate) struct Visits;

    /// Checks the constraints, and returns what was reported, after what the commands before did not report.
    #[track_caller]
    pub(crate) fn check(world: &mut World, removed: usize) -> Vec<String> {
        world.check_pairs().unwrap();
        assert_eq!(take_reported_errors(), [""; 0], "nothing is reported before the check");
        assert_eq!(world.check_constraints(), removed);
        world.check_pairs().unwrap();
        let errors = take_reported_errors();
        assert_eq!(world.check_constraints(), 0, "once is enough");
        assert_eq!(take_reported_errors(), [""; 0]);
        errors
    }
}

thread_local! {
    static ERRORS: RefCell<Vec<(Severity, String)>> = const { RefCell::new(Vec::new()) };
}

fn record(error: BevyError, _: ErrorContext) {
    let text = error.to_string();
    // Where a command was queued is no matter here; `error_names` tests it.
    let text = match text.split_once(": ") {
        Some((place, text)) if place.starts_with("tests/it/") => text.to_owned(),
        _ => text,
    };
    ERRORS.with_borrow_mut(|errors| errors.push((error.severity(), text)));
}

/// A world whose error handler records what it is given for [`take_errors`].
pub(crate) fn world_that_records_errors() -> World {
    let mut world = World::new();
    record_errors_of(&mut world);
    world
}

/// Replaces the error handler of the world by one that records errors for [`take_errors`].
pub(crate) fn record_errors_of(world: &mut World) {
    take_errors();
    world.insert_resource(FallbackErrorHandler(record));
}

/// What the error handler was given in this thread since the last call.
pub(crate) fn take_errors() -> Vec<(Severity, String)> {
    ERRORS.take()
}

/// The texts of [`take_errors`].
pub(crate) fn take_reported_errors() -> Vec<String> {
    take_errors().into_iter().map(|(_, text)| text).collect()
}

/// Some new entities.
pub(crate) fn spawn<const N: usize>(world: &mut World) -> [Entity; N] {
    [(); N].map(|()| world.spawn_empty().id())
}

/// A run-time relation.
pub(crate) fn relation(world: &mut World, traits: RelationTraits) -> Entity {
    world.spawn_relation("R", traits).unwrap()
}

/// Every entity that is alive, in order of its index.
pub(crate) fn all_entities(world: &World) -> Vec<Entity> {
    let archetypes = world.archetypes().iter();
    let mut all: Vec<_> = archetypes.flat_map(Archetype::entities).map(ArchetypeEntity::id).collect();
    all.sort_unstable();
    all
}

const UNRELATED: &str = ": no pairs";

/// Everything that can be read of the pairs of a world: its entities, and for each its pairs as a source in
/// order, its pairs as a target, and its tags.
pub(crate) fn dump(world: &World) -> Vec<String> {
    let describe = |entity| {
        let mut to = world.pairs_to(entity);
        to.sort_unstable();
        let (pairs, tags) = (world.pairs_of(entity), world.tags(entity));
        if pairs.is_empty() && to.is_empty() && tags.len() == 0 {
            return format!("{entity}{UNRELATED}");
        }
        format!("{entity}: has {pairs:?}, is target of {to:?}, is {tags:?}")
    };
    all_entities(world).into_iter().map(describe).collect()
}

/// Does something that must fail, and proves that nothing has changed, but for entities of types that are now
/// known.
#[track_caller]
pub(crate) fn refused<T: core::fmt::Debug, E: core::fmt::Debug>(
    world: &mut World,
    attempt: impl FnOnce(&mut World) -> Result<T, E>,
) -> E {
    let before = dump(world);
    let error = attempt(world).expect_err("this must be refused");
    let mut after = dump(world);
    after.retain(|line| before.contains(line) || !line.ends_with(UNRELATED));
    assert_eq!(after, before, "a refused operation has changed something");
    world.check_pairs().unwrap();
    error
}

/// The sources of a target, sorted.
pub(crate) fn sources(world: &World, relation: Entity, target: Entity) -> Vec<Entity> {
    let mut sources: Vec<_> = world.pairs_by_id(relation).sources(target).collect();
    sources.sort_unstable();
    sources
}

/// The targets of a source, in order.
pub(crate) fn targets(world: &World, relation: Entity, source: Entity) -> Vec<Entity> {
    world.pairs_by_id(relation).targets(source).collect()
}

/// Spawns an entity with the index of `dead`.
pub(crate) fn reuse_index(world: &mut World, dead: Entity) -> Entity {
    try_reuse_index(world, dead).unwrap_or_else(|| panic!("the index of {dead} is not used again"))
}

/// Spawns an entity with the index of `dead`, if Bevy gives it out again: usually once 128 others have been given
/// back, which it may keep apart for longer.
pub(crate) fn try_reuse_index(world: &mut World, dead: Entity) -> Option<Entity> {
    let others: Vec<Entity> = world.spawn_batch((0..128).map(|_| ())).collect();
    for other in others {
        world.despawn(other);
    }
    for _ in 0..10_000 {
        let entity = world.spawn_empty().id();
        if entity.index() == dead.index() {
            return Some(entity);
        }
    }
    None
}

/// Numbers that look random and are the same in every run.
#[derive(Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % limit
    }

    pub(crate) fn pick(&mut self, entities: &[Entity]) -> Entity {
        entities[self.below(entities.len())]
    }
}

/// What `run` panics with, if it does.
pub(crate) fn panic_message<T>(run: impl FnOnce() -> T) -> Option<String> {
    let payload = catch_unwind(AssertUnwindSafe(run)).err()?;
    let text = payload.downcast_ref::<String>().cloned();
    Some(text.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default())
}

/// How many repetitions to run of `usual`: fewer under an interpreter, and where `PAIR_TEST_DIVISOR` says so, since
/// with some sanitizers everything takes ten times as long; more with `PAIR_TEST_FACTOR`, for runs of hours.
pub(crate) fn fewer(usual: usize) -> usize {
    let given = |name| {
        let text = std::env::var(name).ok()?;
        Some(
            text.parse::<NonZeroUsize>()
                .unwrap_or_else(|_| panic!("{name} is a number from 1 on, not `{text}`")),
        )
    };
    let divisor = given("PAIR_TEST_DIVISOR").map_or(if cfg!(miri) { 100 } else { 1 }, NonZeroUsize::get);
    let factor = given("PAIR_TEST_FACTOR").map_or(1, NonZeroUsize::get);
    usual.saturating_mul(factor).div_ceil(divisor)
}

/// How large something is that has to be large; how large for an interpreter; and a tenth of it, unless that is less, if
/// `PAIR_TEST_SMALL` is set where this is compiled, as for a sanitizer.
pub(crate) const fn size(full: usize, interpreted: usize) -> usize {
    match option_env!("PAIR_TEST_SMALL") {
        _ if cfg!(miri) => interpreted,
        None => full,
        Some(_) if full / 10 > interpreted => full / 10,
        Some(_) => interpreted,
    }
}

/// Does something to an entity if it is alive.
pub(crate) fn if_alive(world: &mut World, entity: Entity, act: impl FnOnce(&mut EntityWorldMut<'_>)) {
    if let Ok(mut entity) = world.get_entity_mut(entity) {
        act(&mut entity);
    }
}

/// The rows of live expressions are those of a run from scratch.
#[track_caller]
pub(crate) fn check_live_rows(world: &mut World, live: &mut [(LiveExpr, CompiledExpr)], texts: &[&str]) {
    for ((live, compiled), text) in live.iter_mut().zip(texts) {
        live.update(world).unwrap();
        let describe = |row: Row<'_>| format!("{row:?}");
        let mut kept: Vec<String> = live.rows(world).unwrap().map(describe).collect();
        let mut fresh = Vec::new();
        compiled.for_each(world, |row| fresh.push(describe(row))).unwrap();
        kept.sort_unstable();
        fresh.sort_unstable();
        assert_eq!(kept, fresh, "{text}");
    }
}
