//! Query terms that follow a relation down and up over random worlds, compared with what plain recursion finds.

use crate::{
    terms::{Armor, CrewOf, MountedOn, PartOf, Rows, assert_rows, query},
    terms_seen::{Seen, entities, run_of},
};
use bevy_ecs::{entity_disabling::Disabled, prelude::*, query::Allow, system::SystemId};
use bevy_relations::{
    prelude::*,
    query::{ChangedAbove, ChangedBelow, Descendants, Down, SelfDown, WithAncestor, WithDescendant},
    relation::TraversableRelation,
};

type Holder = &'static Armor;
type Armored = (Entity, &'static Armor);

impl Seen {
    /// The first holder of armor of the nearest level that has one. An entity is in a level once per way that leads to it.
    fn down(&self, entity: Entity, min: u32, max: u32) -> Option<Entity> {
        let mut level = vec![entity];
        for distance in 0..=max {
            if distance >= min
                && let Some(found) = level.iter().copied().find(|&entity| self.is_armored(entity))
            {
                return Some(found);
            }
            level = level.iter().flat_map(|entity| self.sources[entity].clone()).collect();
            if level.is_empty() {
                break;
            }
        }
        None
    }

    /// What lies below, depth first, where `enters` is true.
    fn below(&self, entity: Entity, enters: &impl Fn(Entity) -> bool, met: &mut Vec<Entity>) {
        for &source in &self.sources[&entity] {
            if enters(source) && !met.contains(&source) {
                met.push(source);
                self.below(source, enters, met);
            }
        }
    }

    /// What lies at most so far below, breadth first.
    fn levels(&self, entity: Entity, limit: u32) -> Vec<Entity> {
        let (mut met, mut level) = (Vec::new(), vec![entity]);
        for _ in 0..limit {
            let next = level.iter().flat_map(|entity| self.sources[entity].clone());
            let next: Vec<_> = next.filter(|entity| !met.contains(entity)).collect();
            level.clear();
            for entity in next {
                if !met.contains(&entity) {
                    met.push(entity);
                    level.push(entity);
                }
            }
        }
        met
    }

    fn any_above(&self, entity: Entity, matches: &impl Fn(Entity) -> bool) -> bool {
        self.model.targets(entity).iter().any(|&target| matches(target) || self.any_above(target, matches))
    }

    fn any_below(&self, entity: Entity, matches: &impl Fn(Entity) -> bool) -> bool {
        self.model.sources(entity).iter().any(|&source| matches(source) || self.any_below(source, matches))
    }

    fn armored_of(&self, entities: Vec<Entity>) -> Option<Vec<Entity>> {
        Some(entities.into_iter().filter(|&entity| self.is_armored(entity)).collect())
    }
}

struct Downs<R: TraversableRelation> {
    relation: Entity,
    down: Rows<Down<R, Holder>>,
    optional: Rows<Option<Down<R, (Entity, Holder)>>>,
    self_down: Rows<SelfDown<R, Holder>>,
    far: Rows<Down<R, Holder, 2>>,
    very_far: Rows<Down<R, Holder, 3>>,
    near: Rows<Down<R, Holder, 1, 2>>,
    between: Rows<Down<R, Holder, 2, 3>>,
    self_near: Rows<SelfDown<R, Holder, 1>>,
    own: Rows<SelfDown<R, Holder, 0>>,
}

impl<R: TraversableRelation> Downs<R> {
    fn new(world: &mut World) -> Self {
        Self {
            relation: world.register_relation::<R>().unwrap(),
            down: query(world),
            optional: query(world),
            self_down: query(world),
            far: query(world),
            very_far: query(world),
            near: query(world),
            between: query(world),
            self_near: query(world),
            own: query(world),
        }
    }

    fn check(&mut self, world: &mut World) {
        let tree = &Seen::new::<R>(world, self.relation);
        let model = &tree.model;
        let down = |min, max| move |entity| tree.down(entity, min, max);
        assert_rows(world, &mut self.down, model, |_, armor| armor.0, down(1, u32::MAX));
        assert_rows(world, &mut self.self_down, model, |_, armor| armor.0, down(0, u32::MAX));
        assert_rows(world, &mut self.far, model, |_, armor| armor.0, down(2, u32::MAX));
        assert_rows(world, &mut self.very_far, model, |_, armor| armor.0, down(3, u32::MAX));
        assert_rows(world, &mut self.near, model, |_, armor| armor.0, down(1, 2));
        assert_rows(world, &mut self.between, model, |_, armor| armor.0, down(2, 3));
        assert_rows(world, &mut self.self_near, model, |_, armor| armor.0, down(0, 1));
        assert_rows(world, &mut self.own, model, |_, armor| armor.0, down(0, 0));
        assert_rows(
            world,
            &mut self.optional,
            model,
            |_, found| found.map(|(entity, armor)| (entity, armor.0)),
            |e| Some(tree.down(e, 1, u32::MAX).map(|found| (found, found))),
        );
    }
}

struct Belows<R: TraversableRelation> {
    relation: Entity,
    all: Rows<Descendants<R, Armored>>,
    pruned: Rows<Descendants<R, Entity, With<Armor>>>,
    pruned_where_disabled: Rows<Descendants<R, Armored, Without<Disabled>>>,
}

impl<R: TraversableRelation> Belows<R> {
    fn new(world: &mut World) -> Self {
        let relation = world.register_relation::<R>().unwrap();
        Self { relation, all: query(world), pruned: query(world), pruned_where_disabled: query(world) }
    }

    fn check(&mut self, world: &mut World) {
        let tree = &Seen::new::<R>(world, self.relation);
        let model = &tree.model;
        let below = |entity, enters: &dyn Fn(Entity) -> bool| {
            let mut met = Vec::new();
            tree.below(entity, &enters, &mut met);
            met
        };
        assert_rows(
            world,
            &mut self.all,
            model,
            |_, items| entities(items),
            |e| tree.armored_of(below(e, &|_| true)),
        );
        for limit in [1, 2, u32::MAX] {
            let limit = limit.min(model.entities.len() as u32);
            assert_rows(
                world,
                &mut self.all,
                model,
                |_, items| entities(items.breadth_first().at_most(limit)),
                |e| tree.armored_of(tree.levels(e, limit)),
            );
        }
        assert_rows(
            world,
            &mut self.all,
            model,
            |_, mut items| {
                let mut kept = Vec::new();
                while let Some((entity, _)) = items.next() {
                    kept.push(entity);
                    items.prune();
                }
                kept
            },
            // Nothing below a holder that was returned.
            |e| {
                let mut met = Vec::new();
                prune_at_holders(tree, e, &mut met);
                tree.armored_of(met)
            },
        );
        assert_rows(
            world,
            &mut self.pruned,
            model,
            |_, items| items.collect(),
            |e| Some(below(e, &|entity| tree.is_armored(entity))),
        );
        assert_rows(
            world,
            &mut self.pruned_where_disabled,
            model,
            |_, items| entities(items),
            |e| tree.armored_of(below(e, &|entity| !tree.disabled.contains(&entity))),
        );
    }
}

fn prune_at_holders(tree: &Seen, entity: Entity, met: &mut Vec<Entity>) {
    for &source in &tree.sources[&entity] {
        if !met.contains(&source) {
            met.push(source);
            if !tree.is_armored(source) {
                prune_at_holders(tree, source, met);
            }
        }
    }
}

struct Reaches<R: TraversableRelation> {
    relation: Entity,
    above: Rows<(), WithAncestor<R, With<Armor>>>,
    above_bare: Rows<(), WithAncestor<R, Without<Armor>>>,
    above_two: Rows<(), WithAncestor<R, WithAncestor<R, With<Armor>>>>,
    below: Rows<(), WithDescendant<R, With<Armor>>>,
    below_bare: Rows<(), WithDescendant<R, Without<Armor>>>,
    below_leaf: Rows<(), WithDescendant<R, (With<Armor>, Related<R, With<Armor>>)>>,
}

impl<R: TraversableRelation> Reaches<R> {
    fn new(world: &mut World) -> Self {
        Self {
            relation: world.register_relation::<R>().unwrap(),
            above: query(world),
            above_bare: query(world),
            above_two: query(world),
            below: query(world),
            below_bare: query(world),
            below_leaf: query(world),
        }
    }

    fn check(&mut self, world: &mut World) {
        let tree = &Seen::new::<R>(world, self.relation);
        let model = &tree.model;
        let has = |condition: bool| condition.then_some(());
        let armored = |entity| tree.is_armored(entity);
        let enabled = |entity| !tree.disabled.contains(&entity);
        let bare = |entity| enabled(entity) && world.get::<Armor>(entity).is_none();
        assert_rows(world, &mut self.above, model, |_, ()| (), |e| has(tree.any_above(e, &armored)));
        assert_rows(world, &mut self.above_bare, model, |_, ()| (), |e| has(tree.any_above(e, &bare)));
        let two = |entity| enabled(entity) && tree.any_above(entity, &armored);
        assert_rows(world, &mut self.above_two, model, |_, ()| (), |e| has(tree.any_above(e, &two)));
        assert_rows(world, &mut self.below, model, |_, ()| (), |e| has(tree.any_below(e, &armored)));
        assert_rows(world, &mut self.below_bare, model, |_, ()| (), |e| has(tree.any_below(e, &bare)));
        let leaf = |entity| armored(entity) && model.targets(entity).iter().copied().any(armored);
        assert_rows(world, &mut self.below_leaf, model, |_, ()| (), |e| has(tree.any_below(e, &leaf)));
    }
}

type Queries<'w, 's, R> = (
    Query<'w, 's, Entity, (ChangedBelow<R, Armor>, Allow<Disabled>)>,
    Query<'w, 's, Entity, (WithDescendant<R, Changed<Armor>>, Allow<Disabled>)>,
    Query<'w, 's, Entity, (ChangedAbove<R, Armor>, Allow<Disabled>)>,
    Query<'w, 's, Entity, Changed<Armor>>,
);

/// What a system finds of changes: below by the filter, by the search that it stands for, above, and what has changed.
fn changes<R: TraversableRelation>((below, searched, above, changed): Queries<R>) -> [Vec<Entity>; 4] {
    let mut found = [
        below.iter().collect::<Vec<_>>(),
        searched.iter().collect(),
        above.iter().collect(),
        changed.iter().collect(),
    ];
    assert!(found[0].iter().all(|&entity| below.contains(entity)));
    assert!(found[2].iter().all(|&entity| above.contains(entity)));
    for found in &mut found {
        found.sort_unstable();
    }
    found
}

struct Changes<R> {
    relation: Entity,
    system: SystemId<(), [Vec<Entity>; 4]>,
    /// Runs less often.
    seldom: SystemId<(), [Vec<Entity>; 4]>,
    runs: u32,
    of: core::marker::PhantomData<R>,
}

impl<R: TraversableRelation> Changes<R> {
    fn new(world: &mut World) -> Self {
        let relation = world.register_relation::<R>().unwrap();
        let [system, seldom] = [(); 2].map(|()| world.register_system(changes::<R>));
        Self { relation, system, seldom, runs: 0, of: core::marker::PhantomData }
    }

    fn check(&mut self, world: &mut World) {
        let tree = &Seen::new::<R>(world, self.relation);
        self.runs += 1;
        let systems = [Some(self.system), self.runs.is_multiple_of(3).then_some(self.seldom)];
        for system in systems.into_iter().flatten() {
            let [below, searched, above, changed] = world.run_system(system).unwrap();
            let has_changed = |entity| changed.contains(&entity);
            let those = |condition: &dyn Fn(Entity) -> bool| -> Vec<Entity> {
                tree.model.entities.iter().copied().filter(|&entity| condition(entity)).collect()
            };
            let expected = those(&|entity| tree.any_below(entity, &has_changed));
            assert_eq!((&below, &searched), (&expected, &expected));
            assert_eq!(above, those(&|entity| tree.any_above(entity, &has_changed)));
        }
    }
}

fn downs<R: TraversableRelation>(world: &mut World) -> Box<dyn FnMut(&mut World)> {
    let mut terms = Downs::<R>::new(world);
    Box::new(move |world| terms.check(world))
}

fn belows<R: TraversableRelation>(world: &mut World) -> Box<dyn FnMut(&mut World)> {
    let mut terms = Belows::<R>::new(world);
    Box::new(move |world| terms.check(world))
}

fn reaches<R: TraversableRelation>(world: &mut World) -> Box<dyn FnMut(&mut World)> {
    let mut terms = Reaches::<R>::new(world);
    Box::new(move |world| terms.check(world))
}

fn changed<R: TraversableRelation>(world: &mut World) -> Box<dyn FnMut(&mut World)> {
    let mut terms = Changes::<R>::new(world);
    Box::new(move |world| terms.check(world))
}

#[test]
fn changes_below_and_above_are_those_that_plain_recursion_finds() {
    run_of(&[changed::<PartOf>, changed::<MountedOn>, changed::<ChildOf>, changed::<CrewOf>]);
}

#[test]
fn what_is_nearest_below_is_what_a_search_level_by_level_finds() {
    run_of(&[downs::<PartOf>, downs::<MountedOn>, downs::<ChildOf>, downs::<CrewOf>]);
}

#[test]
fn descendants_are_those_that_plain_recursion_finds() {
    run_of(&[belows::<PartOf>, belows::<MountedOn>, belows::<ChildOf>, belows::<CrewOf>]);
}

#[test]
fn filters_for_what_lies_above_and_below_find_what_plain_recursion_finds() {
    run_of(&[reaches::<PartOf>, reaches::<MountedOn>, reaches::<ChildOf>, reaches::<CrewOf>]);
}
