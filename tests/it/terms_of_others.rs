//! Query terms that look at other entities over random worlds, compared with what plain loops over all pairs find.

use crate::{
    terms::{
        AlliedWith, Armor, CrewOf, DockedTo, Eats, Likes, Loves, MountedOn, PartOf, Rows, assert_rows, query,
    },
    terms_seen::{Seen, entities, run_of},
};
use bevy_ecs::{entity_disabling::Disabled, prelude::*};
use bevy_relations::{
    prelude::*,
    query::{Siblings, SourcesWith, TargetOf, TargetsWith},
};

type Armored = (Entity, &'static Armor);
type AnyArmored = Or<(With<Armor>, With<Disabled>)>;

impl Seen {
    /// Who matches [`AnyArmored`]: a filter that names `Disabled` sees all entities.
    fn is_any_armored(&self, world: &World, entity: Entity) -> bool {
        world.get::<Armor>(entity).is_some() || self.disabled.contains(&entity)
    }

    /// The other sources of the targets of an entity, each once.
    fn siblings(&self, entity: Entity) -> Vec<Entity> {
        let mut siblings = Vec::new();
        for target in self.model.targets(entity) {
            for &source in &self.sources[target] {
                if source != entity && !siblings.contains(&source) {
                    siblings.push(source);
                }
            }
        }
        siblings
    }
}

/// The entities of which a condition is true, unless there are none.
fn those(entities: &[Entity], condition: impl Fn(Entity) -> bool) -> Option<Vec<Entity>> {
    let those: Vec<_> = entities.iter().copied().filter(|&entity| condition(entity)).collect();
    (!those.is_empty()).then_some(those)
}

/// The terms for any relation.
struct Terms<R: Relation> {
    relation: Entity,
    related: Rows<(), Related<R, With<Armor>>>,
    related_bare: Rows<(), Related<R, Without<Armor>>>,
    related_any: Rows<(), Related<R, AnyArmored>>,
    related_twice: Rows<(), Related<R, Related<R, With<Armor>>>>,
    target_of: Rows<(), TargetOf<R, With<Armor>>>,
    target_of_target: Rows<(), TargetOf<R, Or<(TargetOf<R>, With<Armor>)>>>,
    targets: Rows<TargetsWith<R, Armored>>,
    bare_targets: Rows<Option<TargetsWith<R, Entity, Without<Armor>>>>,
    sources: Rows<SourcesWith<R, Armored>>,
    bare_sources: Rows<SourcesWith<R, Entity, Without<Armor>>>,
}

impl<R: Relation> Terms<R> {
    fn new(world: &mut World) -> Self {
        Self {
            relation: world.register_relation::<R>().unwrap(),
            related: query(world),
            related_bare: query(world),
            related_any: query(world),
            related_twice: query(world),
            target_of: query(world),
            target_of_target: query(world),
            targets: query(world),
            bare_targets: query(world),
            sources: query(world),
            bare_sources: query(world),
        }
    }

    fn check(&mut self, world: &mut World) {
        let seen = &Seen::new::<R>(world, self.relation);
        self.check_filters(world, seen);
        let model = &seen.model;
        assert_rows(
            world,
            &mut self.targets,
            model,
            |_, items| entities(items),
            |e| those(model.targets(e), |target| seen.is_armored(target)),
        );
        assert_rows(
            world,
            &mut self.bare_targets,
            model,
            |_, items| items.map(Iterator::collect),
            |e| Some(those(model.targets(e), |target| seen.bare.contains(&target))),
        );
        // Rows are read with their own children, also those of disabled entities, as by `Sources`.
        let sources = |e| world.pairs::<R>().sources(e).collect::<Vec<_>>();
        assert_rows(
            world,
            &mut self.sources,
            model,
            |_, items| entities(items),
            |e| those(&sources(e), |source| seen.is_armored(source)),
        );
        assert_rows(
            world,
            &mut self.bare_sources,
            model,
            |_, items| items.clone().collect(),
            |e| those(&sources(e), |source| seen.bare.contains(&source)),
        );
    }

    fn check_filters(&mut self, world: &World, seen: &Seen) {
        let model = &seen.model;
        let has = |condition: bool| condition.then_some(());
        let is_armored = |entity: &Entity| seen.is_armored(*entity);
        let is_bare = |entity: &Entity| seen.bare.contains(entity);
        let is_disabled = |entity: &Entity| seen.disabled.contains(entity);
        let is_any = |entity: &Entity| seen.is_any_armored(world, *entity);
        let (targets, sources) = (|e| model.targets(e).iter(), |e| model.sources(e).iter());
        assert_rows(world, &mut self.related, model, |_, ()| (), |e| has(targets(e).any(is_armored)));
        assert_rows(world, &mut self.related_bare, model, |_, ()| (), |e| has(targets(e).any(is_bare)));
        assert_rows(world, &mut self.related_any, model, |_, ()| (), |e| has(targets(e).any(is_any)));
        let armored_target = |target: &Entity| !is_disabled(target) && targets(*target).any(is_armored);
        assert_rows(
            world,
            &mut self.related_twice,
            model,
            |_, ()| (),
            |e| has(targets(e).any(armored_target)),
        );
        assert_rows(world, &mut self.target_of, model, |_, ()| (), |e| has(sources(e).any(is_armored)));
        let either = |source: &Entity| {
            !is_disabled(source) && (!model.sources(*source).is_empty() || is_armored(source))
        };
        assert_rows(world, &mut self.target_of_target, model, |_, ()| (), |e| has(sources(e).any(either)));
    }
}

/// [`Siblings`], of any relation.
struct SiblingTerms<R: Relation> {
    relation: Entity,
    siblings: Rows<Siblings<R, Armored>>,
    bare: Rows<Option<Siblings<R, Entity, Without<Armor>>>>,
}

impl<R: Relation> SiblingTerms<R> {
    fn new(world: &mut World) -> Self {
        let relation = world.register_relation::<R>().unwrap();
        Self { relation, siblings: query(world), bare: query(world) }
    }

    fn check(&mut self, world: &mut World) {
        let seen = &Seen::new::<R>(world, self.relation);
        let model = &seen.model;
        assert_rows(
            world,
            &mut self.siblings,
            model,
            |_, items| entities(items),
            |e| those(&seen.siblings(e), |sibling| seen.is_armored(sibling)),
        );
        assert_rows(
            world,
            &mut self.bare,
            model,
            |_, items| items.map(Iterator::collect),
            |e| Some(those(&seen.siblings(e), |sibling| seen.bare.contains(&sibling))),
        );
    }
}

fn terms<R: Relation>(world: &mut World) -> Box<dyn FnMut(&mut World)> {
    let mut terms = Terms::<R>::new(world);
    Box::new(move |world| terms.check(world))
}

fn siblings<R: Relation>(world: &mut World) -> Box<dyn FnMut(&mut World)> {
    let mut terms = SiblingTerms::<R>::new(world);
    Box::new(move |world| terms.check(world))
}

#[test]
fn filters_and_data_of_the_other_ends_are_those_that_a_loop_finds() {
    run_of(&[
        terms::<Likes>,
        terms::<Eats>,
        terms::<DockedTo>,
        terms::<AlliedWith>,
        terms::<Loves>,
        terms::<PartOf>,
        terms::<MountedOn>,
        terms::<ChildOf>,
        terms::<CrewOf>,
    ]);
}

#[test]
fn siblings_are_those_that_a_loop_finds() {
    run_of(&[
        siblings::<Likes>,
        siblings::<DockedTo>,
        siblings::<AlliedWith>,
        siblings::<Loves>,
        siblings::<PartOf>,
        siblings::<ChildOf>,
        siblings::<CrewOf>,
    ]);
}

/// A filter that is asked about many sources finds out of all of them which match.
#[test]
fn many_sources_match_as_each_of_them_does() {
    fn check<R: Relation>(world: &mut World, all: &[Entity]) {
        let mut query = world.query_filtered::<Entity, Related<R, With<Armor>>>();
        let is_armored = |target: Entity| world.get::<Armor>(target).is_some();
        let matches = |source| world.pairs::<R>().targets(source).any(is_armored);
        let expected: Vec<Entity> = all.iter().copied().filter(|&source| matches(source)).collect();
        let each: Vec<Entity> =
            all.iter().copied().filter(|&source| query.get(world, source).is_ok()).collect();
        let mut found: Vec<Entity> = query.iter(world).collect();
        found.sort_by_key(|entity| entity.index_u32());
        assert_eq!((&found, &each), (&expected, &expected));
        assert!(found.len() > 100);
    }

    let mut world = World::new();
    let all: Vec<Entity> = (0..600).map(|_| world.spawn_empty().id()).collect();
    for (number, &source) in all.iter().enumerate().skip(60) {
        if number % 3 > 0 {
            world.entity_mut(source).insert(ChildOf(all[number % 60]));
        }
        world.insert_pair(source, PartOf, all[number % 7]).unwrap();
        world.insert_pair(source, Likes, all[number % 31]).unwrap();
        world.insert_pair(source, Likes, all[number % 44]).unwrap();
    }
    for &target in all[..60].iter().step_by(2) {
        world.entity_mut(target).insert(Armor(target));
    }
    check::<ChildOf>(&mut world, &all);
    check::<PartOf>(&mut world, &all);
    check::<Likes>(&mut world, &all);
    // Indices that serve other entities now.
    for &source in all[60..].iter().step_by(5) {
        world.despawn(source);
    }
    for _ in 0..50 {
        world.spawn_empty();
    }
    let all: Vec<Entity> = all.into_iter().filter(|&entity| world.get_entity(entity).is_ok()).collect();
    check::<ChildOf>(&mut world, &all);
    check::<Likes>(&mut world, &all);
    world.check_pairs().unwrap();
}
