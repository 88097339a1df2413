//! Query terms over random worlds, compared with what plain loops over all pairs find.

use crate::common::{Random, all_entities, fewer, spawn};
use bevy_ecs::{
    entity_disabling::Disabled,
    prelude::*,
    query::{Allow, QueryData, QueryFilter, ReadOnlyQueryData},
};
use bevy_relations::{
    prelude::*,
    query::{Ancestors, Cached, Depth, LeafOf, PairsOf, RootOf, SelfUp, Target, TargetOf, Up},
    relation::TraversableRelation,
};
use std::{collections::BTreeMap, fmt::Debug};

#[derive(Relation, Default)]
pub(crate) struct Likes;

#[derive(Relation, Default)]
pub(crate) struct Eats(#[expect(dead_code, reason = "compared by address")] u32);

#[derive(Relation, Default)]
#[relation(exclusive)]
pub(crate) struct DockedTo(#[expect(dead_code, reason = "compared by address")] u32);

#[derive(Relation, Default)]
#[relation(symmetric)]
pub(crate) struct AlliedWith;

#[derive(Relation, Default)]
#[relation(ordered)]
pub(crate) struct Loves;

#[derive(Relation, Default)]
#[relation(traversable)]
pub(crate) struct PartOf;

#[derive(Relation, Default)]
#[relation(traversable, exclusive)]
pub(crate) struct MountedOn;

#[derive(Component, Clone)]
#[relationship(relationship_target = Crew)]
pub(crate) struct CrewOf {
    #[relationship]
    ship: Entity,
    #[expect(dead_code, reason = "compared by address")]
    wage: u32,
}

#[derive(Component)]
#[relationship_target(relationship = CrewOf)]
pub(crate) struct Crew(Vec<Entity>);

/// Knows whose it is.
#[derive(Component, Clone, Copy, PartialEq, Debug)]
pub(crate) struct Armor(pub(crate) Entity);

/// Everything about one relation, by the way of `World`.
#[derive(Clone)]
pub(crate) struct Model {
    pub(crate) entities: Vec<Entity>,
    targets: BTreeMap<Entity, Vec<Entity>>,
    sources: BTreeMap<Entity, Vec<Entity>>,
    /// Who has armor that queries see.
    pub(crate) armored: Vec<Entity>,
}

impl Model {
    pub(crate) fn new(world: &mut World, relation: Entity) -> Self {
        let entities = all_entities(world);
        let (mut targets, mut sources) = (BTreeMap::<_, Vec<_>>::new(), BTreeMap::<_, Vec<_>>::new());
        for &source in &entities {
            for (of, target) in world.pairs_of(source) {
                if of == relation {
                    targets.entry(source).or_default().push(target);
                    sources.entry(target).or_default().push(source);
                }
            }
        }
        let armored = |&entity: &Entity| {
            world.get::<Armor>(entity).is_some() && world.get::<Disabled>(entity).is_none()
        };
        Self { armored: entities.iter().copied().filter(armored).collect(), entities, targets, sources }
    }

    pub(crate) fn targets(&self, entity: Entity) -> &[Entity] {
        self.targets.get(&entity).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn sources(&self, entity: Entity) -> &[Entity] {
        self.sources.get(&entity).map_or(&[], Vec::as_slice)
    }

    fn depth(&self, entity: Entity) -> u32 {
        self.targets(entity).iter().map(|&target| self.depth(target) + 1).max().unwrap_or(0)
    }

    fn ancestors(&self, entity: Entity) -> Vec<Entity> {
        core::iter::successors(Some(entity), |&at| self.targets(at).first().copied()).skip(1).collect()
    }

    /// The nearest holder of armor, as slowly as possible.
    fn up(&self, entity: Entity, steps: u32, min: u32, max: u32) -> Option<Entity> {
        if steps >= min && self.armored.contains(&entity) {
            return Some(entity);
        }
        if steps == max {
            return None;
        }
        self.targets(entity).iter().find_map(|&target| self.up(target, steps + 1, min, max))
    }
}

/// Compares what a query finds, disabled entities included, with what should be found for each entity.
#[track_caller]
pub(crate) fn assert_rows<D, F, T>(
    world: &World,
    query: &mut QueryState<(Entity, D), (F, Allow<Disabled>)>,
    model: &Model,
    item: impl Fn(Entity, D::Item<'_, '_>) -> T,
    expected: impl Fn(Entity) -> Option<T>,
) where
    D: ReadOnlyQueryData + 'static,
    F: QueryFilter + 'static,
    T: PartialEq + Debug,
{
    let mut rows: Vec<_> = query.iter(world).map(|(entity, data)| (entity, item(entity, data))).collect();
    rows.sort_unstable_by_key(|(entity, _)| *entity);
    let expected: Vec<_> =
        model.entities.iter().filter_map(|&entity| Some((entity, expected(entity)?))).collect();
    assert_eq!(rows, expected, "{} {}", core::any::type_name::<D>(), core::any::type_name::<F>());
    for &entity in &model.entities {
        let alone = query.get(world, entity).ok().map(|(_, data)| item(entity, data));
        let row = expected.iter().find(|(of, _)| *of == entity).map(|(_, row)| row);
        assert_eq!(alone.as_ref(), row, "get({entity})");
    }
}

pub(crate) type Rows<D, F = ()> = QueryState<(Entity, D), (F, Allow<Disabled>)>;

pub(crate) fn query<D: QueryData, F: QueryFilter>(world: &mut World) -> Rows<D, F> {
    QueryState::new(world)
}

/// The terms for any relation.
struct Terms<R: Relation> {
    relation: Entity,
    target: Rows<Target<R>>,
    targets: Rows<Targets<R>>,
    sources: Rows<Sources<R>>,
    related: Rows<(), Related<R>>,
    target_of: Rows<(), TargetOf<R>>,
    root_of: Rows<(), RootOf<R>>,
    leaf_of: Rows<(), LeafOf<R>>,
}

impl<R: Relation> Terms<R> {
    fn new(world: &mut World) -> Self {
        Self {
            relation: world.register_relation::<R>().unwrap(),
            target: query(world),
            targets: query(world),
            sources: query(world),
            related: query(world),
            target_of: query(world),
            root_of: query(world),
            leaf_of: query(world),
        }
    }

    fn check(&mut self, world: &mut World) {
        let model = Model::new(world, self.relation);
        self.check_targets(world, &model);
        self.check_sources(world, &model);
        let has = |condition: bool| condition.then_some(());
        let is_source = |entity| !model.targets(entity).is_empty();
        let is_target = |entity| !model.sources(entity).is_empty();
        assert_rows(world, &mut self.related, &model, |_, ()| (), |e| has(is_source(e)));
        assert_rows(world, &mut self.target_of, &model, |_, ()| (), |e| has(is_target(e)));
        assert_rows(world, &mut self.root_of, &model, |_, ()| (), |e| has(is_target(e) && !is_source(e)));
        assert_rows(world, &mut self.leaf_of, &model, |_, ()| (), |e| has(is_source(e) && !is_target(e)));
    }

    fn check_targets(&mut self, world: &World, model: &Model) {
        let value = |source, target| world.pair_value::<R>(source, target).map(core::ptr::from_ref);
        assert_rows(
            world,
            &mut self.target,
            model,
            |_, item| (*item, item.value().map(core::ptr::from_ref)),
            |source| model.targets(source).first().map(|&target| (target, value(source, target))),
        );
        assert_rows(
            world,
            &mut self.targets,
            model,
            |_, item| (item.len(), item.clone().collect::<Vec<_>>(), by_address(item.with_values())),
            |source| {
                let targets = model.targets(source).to_vec();
                let values = targets.iter().filter_map(|&target| Some((target, value(source, target)?)));
                let values = values.collect::<Vec<_>>();
                (!targets.is_empty()).then_some((targets.len(), targets, values))
            },
        );
    }

    fn check_sources(&mut self, world: &World, model: &Model) {
        let in_component =
            world.pairs::<R>().iter().any(|(source, _)| world.get::<ChildOf>(source).is_some());
        let in_component = in_component && world.get_entity_of::<ChildOf>() == Some(self.relation)
            || world.get_entity_of::<CrewOf>() == Some(self.relation);
        let value = |source, target| {
            // Components are read as queries read them.
            let seen = !in_component || world.get::<Disabled>(source).is_none();
            Some(core::ptr::from_ref(world.pair_value::<R>(source, target)?)).filter(|_| seen)
        };
        assert_rows(
            world,
            &mut self.sources,
            model,
            |_, item| (item.len(), item.clone().collect::<Vec<_>>(), by_address(item.with_values())),
            |target| {
                let sources: Vec<_> = world.pairs::<R>().sources(target).collect();
                assert_eq!(sorted(sources.clone()), sorted(model.sources(target).to_vec()));
                let values = sources.iter().filter_map(|&source| Some((source, value(source, target)?)));
                let values = values.collect::<Vec<_>>();
                (!sources.is_empty()).then_some((sources.len(), sources, values))
            },
        );
    }
}

/// Values by address, so that no value is taken for another.
fn by_address<'a, R: 'a>(values: impl Iterator<Item = (Entity, &'a R)>) -> Vec<(Entity, *const R)> {
    values.map(|(entity, value)| (entity, core::ptr::from_ref(value))).collect()
}

fn sorted(mut entities: Vec<Entity>) -> Vec<Entity> {
    entities.sort_unstable();
    entities
}

/// The terms for traversable relations.
struct Climbing<R: TraversableRelation> {
    relation: Entity,
    depth: Rows<Depth<R>>,
    ancestors: Rows<Ancestors<R>>,
    up: Rows<Up<R, &'static Armor>>,
    kept: Rows<Cached<Up<R, &'static Armor>>>,
    self_up: Rows<SelfUp<R, &'static Armor>>,
    kept_self: Rows<Cached<SelfUp<R, &'static Armor>>>,
    far: Rows<Up<R, &'static Armor, 2>>,
    near: Rows<Up<R, &'static Armor, 1, 2>>,
    between: Rows<Up<R, &'static Armor, 2, 3>>,
    self_near: Rows<SelfUp<R, &'static Armor, 1>>,
    own: Rows<SelfUp<R, &'static Armor, 0>>,
    of_armored: Rows<Option<Up<R, (Entity, Option<Target<R>>)>>>,
}

impl<R: TraversableRelation> Climbing<R> {
    fn new(world: &mut World) -> Self {
        Self {
            relation: world.register_relation::<R>().unwrap(),
            depth: query(world),
            ancestors: query(world),
            up: query(world),
            kept: query(world),
            self_up: query(world),
            kept_self: query(world),
            far: query(world),
            near: query(world),
            between: query(world),
            self_near: query(world),
            own: query(world),
            of_armored: query(world),
        }
    }

    fn check(&mut self, world: &mut World) {
        let model = &Model::new(world, self.relation);
        assert_rows(world, &mut self.depth, model, |_, depth| depth, |e| Some(model.depth(e)));
        assert_rows(
            world,
            &mut self.ancestors,
            model,
            |_, ancestors| ancestors.collect(),
            |e| Some(model.ancestors(e)),
        );
        let up = |min, max| move |entity| model.up(entity, 0, min, max);
        assert_rows(world, &mut self.up, model, |_, armor| armor.0, up(1, u32::MAX));
        assert_rows(world, &mut self.kept, model, |_, armor| armor.0, up(1, u32::MAX));
        assert_rows(world, &mut self.self_up, model, |_, armor| armor.0, up(0, u32::MAX));
        assert_rows(world, &mut self.kept_self, model, |_, armor| armor.0, up(0, u32::MAX));
        assert_rows(world, &mut self.far, model, |_, armor| armor.0, up(2, u32::MAX));
        assert_rows(world, &mut self.near, model, |_, armor| armor.0, up(1, 2));
        assert_rows(world, &mut self.between, model, |_, armor| armor.0, up(2, 3));
        assert_rows(world, &mut self.self_near, model, |_, armor| armor.0, up(0, 1));
        assert_rows(world, &mut self.own, model, |_, armor| armor.0, up(0, 0));
        let enabled = |entity: &Entity| world.get::<Disabled>(*entity).is_none();
        let expected = |entity| {
            let all =
                Model { armored: model.entities.iter().copied().filter(enabled).collect(), ..model.clone() };
            let found = all.up(entity, 0, 1, u32::MAX);
            Some(found.map(|found| (found, model.targets(found).first().copied())))
        };
        assert_rows(
            world,
            &mut self.of_armored,
            model,
            |_, found| found.map(|(entity, target)| (entity, target.map(|target| *target))),
            expected,
        );
    }
}

/// Something happens to the world.
pub(crate) fn step(world: &mut World, random: &mut Random, entities: &mut [Entity]) {
    let at = random.below(entities.len());
    let (source, target) = (entities[at], random.pick(entities));
    // What the rules do not allow is refused.
    match random.below(24) {
        0..=2 => drop(world.insert_pair(source, Likes, target)),
        3 | 4 => drop(world.insert_pair(source, Eats(0), target)),
        5 => drop(world.insert_pair(source, DockedTo(0), target)),
        6 => drop(world.insert_pair(source, AlliedWith, target)),
        7 => drop(world.insert_pair(source, Loves, target)),
        8..=10 => drop(world.insert_pair(source, PartOf, target)),
        11 | 12 => drop(world.insert_pair(source, MountedOn, target)),
        13 if !world.pairs::<ChildOf>().is_ancestor(source, target) && source != target => {
            world.entity_mut(source).insert(ChildOf(target));
        }
        14 if !world.pairs::<CrewOf>().is_ancestor(source, target) && source != target => {
            world.entity_mut(source).insert(CrewOf { ship: target, wage: 1 });
        }
        15 => drop(world.remove_pairs_by_id(source, PairId::with_target(target))),
        16 => drop(world.remove_pairs::<PartOf>(source)),
        17 => drop(world.remove_pairs::<MountedOn>(source)),
        18 if world.get::<Armor>(source).is_some() => drop(world.entity_mut(source).remove::<Armor>()),
        18 | 19 => drop(world.entity_mut(source).insert(Armor(source))),
        20 if world.get::<Disabled>(source).is_some() => drop(world.entity_mut(source).remove::<Disabled>()),
        20 => drop(world.entity_mut(source).insert(Disabled)),
        21 => world.maintain_pairs(),
        22 if random.below(3) == 0 => drop(world.despawn(source)),
        _ => {}
    }
    // Entities that are gone, perhaps as dependents, are replaced.
    for entity in entities {
        if world.get_entity(*entity).is_err() {
            *entity = world.spawn_empty().id();
            world.entity_mut(*entity).insert(Armor(*entity));
        }
    }
}

fn run_of(seed: u64) {
    let mut world = World::new();
    let mut random = Random(seed * 7919 + 1);
    let mut entities = spawn::<9>(&mut world);
    let (mut likes, mut eats) = (Terms::<Likes>::new(&mut world), Terms::<Eats>::new(&mut world));
    let (mut docked, mut allied) = (Terms::<DockedTo>::new(&mut world), Terms::<AlliedWith>::new(&mut world));
    let (mut loves, mut part) = (Terms::<Loves>::new(&mut world), Terms::<PartOf>::new(&mut world));
    let (mut child, mut crew) = (Terms::<ChildOf>::new(&mut world), Terms::<CrewOf>::new(&mut world));
    let mut up_parts = Climbing::<PartOf>::new(&mut world);
    let mut up_mounts = Climbing::<MountedOn>::new(&mut world);
    let mut up_children = Climbing::<ChildOf>::new(&mut world);
    let mut up_crew = Climbing::<CrewOf>::new(&mut world);
    let mut pairs_of = query::<PairsOf, ()>(&mut world);
    for round in 0..fewer(24).max(7) {
        for _ in 0..1 + round % 7 {
            step(&mut world, &mut random, &mut entities);
        }
        let world = &mut world;
        likes.check(world);
        eats.check(world);
        docked.check(world);
        allied.check(world);
        loves.check(world);
        part.check(world);
        child.check(world);
        crew.check(world);
        up_parts.check(world);
        up_mounts.check(world);
        up_children.check(world);
        up_crew.check(world);
        let model = Model::new(world, likes.relation);
        assert_rows(
            world,
            &mut pairs_of,
            &model,
            |_, item| item.collect::<Vec<_>>(),
            |entity| Some(world.pairs_of(entity)).filter(|pairs| !pairs.is_empty()),
        );
    }
    world.check_pairs().unwrap();
}

#[test]
fn every_term_finds_what_a_loop_over_all_pairs_finds() {
    let seeds = std::env::var("TERM_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(20);
    (0..seeds).for_each(run_of);
}
