//! A world and its naive reference side by side, and their comparison.

use super::{
    readers::Readers,
    reference::{Filter, Id, Policy, Reference, Rel, Spec},
};
use crate::common::world_that_records_errors;
use bevy_ecs::{component::ComponentId, prelude::*};
use bevy_relations::{prelude::*, relation::RelationStorage};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Relation)]
pub(super) struct Likes;

#[derive(Relation, Clone, PartialEq, Debug)]
pub(super) struct Eats {
    pub(super) grams: u32,
}

#[derive(Relation)]
#[relation(exclusive, symmetric)]
pub(super) struct MarriedTo;

#[derive(Relation)]
#[relation(exclusive, storage = "Table")]
pub(super) struct BoardedOn;

#[derive(Relation)]
#[relation(storage = "Fragmenting")]
pub(super) struct Hears;

#[derive(Relation)]
#[relation(exclusive, symmetric, storage = "Fragmenting")]
pub(super) struct DancesWith;

/// One to one.
#[derive(Component, Clone)]
#[relationship(relationship_target = Crew)]
pub(super) struct CrewOf(pub(super) Entity);

#[derive(Component)]
#[relationship_target(relationship = CrewOf, linked_spawn)]
pub(super) struct Crew(Entity);

// Numbers of the relations that every run has; those made at run time follow.
pub(super) const CHILD_OF: usize = 0;
pub(super) const CREW_OF: usize = 1;
pub(super) const IS_A: usize = 2;
pub(super) const LIKES: usize = 3;
pub(super) const EATS: usize = 4;
pub(super) const MARRIED_TO: usize = 5;
pub(super) const BOARDED_ON: usize = 6;
pub(super) const HEARS: usize = 7;
pub(super) const DANCES_WITH: usize = 8;
pub(super) const TYPED: usize = 9;

/// So many of the last entities are used.
const WINDOW: usize = 9;

/// Of the relations that every run has.
fn readers(world: &mut World) -> Readers {
    let mut readers = Readers::new(world);
    readers.add_exclusive::<ChildOf>(world).unwrap();
    readers.add_exclusive::<CrewOf>(world).unwrap();
    readers.add::<IsA>(world).unwrap();
    readers.add::<Likes>(world).unwrap();
    readers.add::<Eats>(world).unwrap();
    readers.add_exclusive::<MarriedTo>(world).unwrap();
    readers.add_exclusive::<BoardedOn>(world).unwrap();
    readers.add::<Hears>(world).unwrap();
    readers.add_exclusive::<DancesWith>(world).unwrap();
    readers
}

pub(super) struct Run {
    pub(super) world: World,
    pub(super) reference: Reference,
    /// By id.
    pub(super) entities: Vec<Entity>,
    ids: BTreeMap<Entity, Id>,
    /// What operations are about; entities of types are left in peace.
    plain: Vec<Id>,
    readers: Readers,
    /// The relations that have a component on their sources, and the component.
    columns: Vec<(usize, ComponentId)>,
}

/// The components of relation types with `storage = "Table"`: what a source has beside the marker.
fn columns(world: &mut World) -> Vec<(usize, ComponentId)> {
    let mut components = |insert: fn(&mut World, Entity, Entity)| {
        let [source, target] = [(); 2].map(|()| world.spawn_empty().id());
        insert(world, source, target);
        let components: Vec<_> = world.entity(source).archetype().iter_components().collect();
        for entity in [source, target] {
            world.despawn(entity);
        }
        components
    };
    let marker = components(|world, source, target| world.insert_pair(source, Likes, target).unwrap());
    let boarded_on =
        components(|world, source, target| world.insert_pair(source, BoardedOn, target).unwrap());
    let hears = components(|world, source, target| world.insert_pair(source, Hears, target).unwrap());
    let dances = components(|world, source, target| world.insert_pair(source, DancesWith, target).unwrap());
    assert_eq!(marker.len(), 1);
    let numbered = [(BOARDED_ON, boarded_on), (HEARS, hears), (DANCES_WITH, dances)];
    let own = numbered.into_iter().map(|(rel, components)| {
        // That for the target, if there is one, came later.
        let own = components.into_iter().filter(|component| *component != marker[0]).min();
        (rel, own.unwrap())
    });
    own.collect()
}

impl Run {
    pub(super) fn new(specs: &[Spec]) -> Self {
        let mut world = world_that_records_errors();
        world.adopt_relationship::<CrewOf>();
        let typed = [
            world.entity_of::<ChildOf>(),
            world.entity_of::<CrewOf>(),
            world.register_relation::<IsA>().unwrap(),
            world.register_relation::<Likes>().unwrap(),
            world.register_relation::<Eats>().unwrap(),
            world.register_relation::<MarriedTo>().unwrap(),
            world.register_relation::<BoardedOn>().unwrap(),
            world.register_relation::<Hears>().unwrap(),
            world.register_relation::<DancesWith>().unwrap(),
        ];
        let adopted = Spec {
            exclusive: true,
            traversable: true,
            adopted: true,
            ordered: true,
            on_target: Policy::Despawn,
            ..Spec::default()
        };
        let of_types = [
            adopted.clone(),
            Spec { one_to_one: true, ..adopted },
            Spec { transitive: true, is_a: true, ..Spec::default() },
            Spec::default(),
            Spec { data: true, ..Spec::default() },
            Spec { exclusive: true, symmetric: true, ..Spec::default() },
            Spec { exclusive: true, table: true, ..Spec::default() },
            Spec { table: true, ..Spec::default() },
            Spec { exclusive: true, symmetric: true, table: true, ..Spec::default() },
        ];
        let columns = columns(&mut world);
        let readers = readers(&mut world);
        let (entities, ids, plain) = (Vec::new(), BTreeMap::new(), Vec::new());
        let mut run = Self { world, reference: Reference::default(), entities, ids, plain, readers, columns };
        for (entity, spec) in typed.into_iter().zip(of_types) {
            let id = run.reference.spawn();
            run.note(entity);
            run.reference.rels.push(Rel { entity: id, spec });
        }
        for spec in specs {
            let traits = run.traits(spec);
            let relation = run.world.spawn_relation("R", traits).unwrap();
            let id = run.reference.spawn();
            run.reference.rels.push(Rel { entity: id, spec: spec.clone() });
            run.note(relation);
            run.readers.add_run_time(&mut run.world, relation).unwrap();
        }
        for _ in 0..5 {
            let entity = run.world.spawn_empty().id();
            run.spawned(entity);
        }
        run
    }

    fn traits(&self, spec: &Spec) -> RelationTraits {
        let policy = |policy| match policy {
            Policy::Remove => CleanupPolicy::Remove,
            Policy::Despawn => CleanupPolicy::Despawn,
            Policy::Refuse => CleanupPolicy::Refuse,
        };
        let mut traits = RelationTraits::new()
            .on_target_despawn(policy(spec.on_target))
            .on_relation_despawn(policy(spec.on_relation));
        let mut add = |wanted: bool, add: fn(RelationTraits) -> RelationTraits| {
            if wanted {
                traits = add(core::mem::take(&mut traits));
            }
        };
        add(spec.exclusive, RelationTraits::exclusive);
        add(spec.union, RelationTraits::union);
        add(spec.symmetric, RelationTraits::symmetric);
        add(spec.acyclic, RelationTraits::acyclic);
        add(spec.traversable, RelationTraits::traversable);
        add(spec.transitive, RelationTraits::transitive);
        add(spec.ordered, RelationTraits::ordered);
        add(spec.is_final, RelationTraits::is_final);
        add(spec.one_of, RelationTraits::one_of);
        let fragments = self.reference.rels.len().is_multiple_of(2);
        add(spec.table && !fragments, |traits| traits.storage(RelationStorage::Table));
        add(spec.table && fragments, |traits| traits.storage(RelationStorage::Fragmenting));
        add(spec.data && !spec.default, RelationTraits::data::<u32>);
        add(spec.data && spec.default, RelationTraits::data_or_default::<u32>);
        match spec.with {
            Some(with) => traits.with_id(self.entities[self.reference.rels[with].entity]),
            None => traits,
        }
    }

    /// Notes the entity with the next id.
    pub(super) fn note(&mut self, entity: Entity) -> Id {
        let id = self.entities.len();
        self.entities.push(entity);
        self.ids.insert(entity, id);
        if id >= TYPED && !self.reference.rels.iter().any(|rel| rel.entity == id) {
            self.plain.push(id);
        }
        id
    }

    /// Notes a new entity on both sides.
    pub(super) fn spawned(&mut self, entity: Entity) -> Id {
        self.reference.spawn();
        self.note(entity)
    }

    pub(super) fn id(&self, entity: Entity) -> Option<Id> {
        self.ids.get(&entity).copied()
    }

    /// The latest entity with the index of this one, alive or not.
    pub(super) fn current(&self, id: Id) -> Entity {
        let same = |entity: &&Entity| entity.index() == self.entities[id].index();
        self.entities.iter().rev().find(same).copied().unwrap_or(self.entities[id])
    }

    /// The entity that a number stands for: mostly one of the last, sometimes a run-time relation.
    pub(super) fn pick(&self, number: u8) -> Id {
        let number = usize::from(number);
        let made = self.reference.rels.len() - TYPED;
        if number >= 224 && made > 0 {
            return self.reference.rels[TYPED + number % made].entity;
        }
        let window = &self.plain[self.plain.len().saturating_sub(WINDOW)..];
        window[number % window.len()]
    }

    pub(super) fn pick_rel(&self, number: u8) -> usize {
        usize::from(number) % self.reference.rels.len()
    }

    /// Compares everything that can be read.
    pub(super) fn compare(&self) -> Result<(), String> {
        self.world.check_pairs().map_err(|error| error.to_string())?;
        let Self { world, reference, entities, .. } = self;
        let e = |id: Id| entities[id];
        let same = |what: &str, actual: String, expected: String| {
            if actual == expected { Ok(()) } else { Err(format!("{what}: {actual} instead of {expected}")) }
        };
        macro_rules! same {
            ($what:expr, $actual:expr, $expected:expr) => {{
                let (actual, expected) = ($actual, $expected);
                if actual != expected {
                    same(&format!("{:?}", $what), format!("{actual:?}"), format!("{expected:?}"))?;
                }
            }};
        }
        for (id, &entity) in entities.iter().enumerate() {
            same!(("alive", id), world.entities().contains_spawned(entity), reference.alive[id]);
        }
        let sorted = |mut list: Vec<(Entity, Entity)>| {
            list.sort_unstable();
            list
        };
        for (rel, Rel { entity: relation, spec }) in reference.rels.iter().enumerate() {
            let view = world.pairs_by_id(e(*relation));
            let all = Filter { source: None, rel: Some(rel), target: None };
            let stored: BTreeSet<_> =
                reference.select(all).into_iter().map(|(_, s, t)| (e(s), e(t))).collect();
            same!(("pairs of", rel), view.iter().collect::<BTreeSet<_>>(), stored.clone());
            same!(
                ("number of pairs of", rel),
                (view.len(), view.is_empty()),
                (stored.len(), stored.is_empty())
            );
            for (id, &entity) in entities.iter().enumerate() {
                let targets: Vec<_> = reference.targets(rel, id).into_iter().map(e).collect();
                same!(("targets of", id, rel), view.targets(entity).collect::<Vec<_>>(), &targets[..]);
                same!(("first target of", id, rel), view.target(entity), targets.first().copied());
                same!(("target count of", id, rel), view.target_count(entity), targets.len());
                same!(("has any", id, rel), view.has_any(entity), !targets.is_empty());
                for (nth, &target) in targets.iter().enumerate() {
                    same!(("nth", id, rel, nth), view.nth_target(entity, nth), Some(target));
                    same!(("has", id, rel, target), view.has(entity, target), true);
                }
                same!(("beyond the last", id, rel), view.nth_target(entity, targets.len()), None);
                let mut sources: Vec<_> = reference.sources(rel, id).into_iter().map(e).collect();
                let mut actual: Vec<_> = view.sources(entity).collect();
                same!(("source count of", id, rel), view.source_count(entity), sources.len());
                same!(("is target", id, rel), view.is_target(entity), !sources.is_empty());
                if !spec.ordered {
                    sources.sort_unstable();
                    actual.sort_unstable();
                }
                same!(("sources of", id, rel), actual, sources);
            }
            for &(source, target) in &stored {
                let value = reference.value(rel, self.ids[&source], self.ids[&target]);
                let actual = match rel {
                    EATS => {
                        world.pair_value_by_id::<Eats>(source, (e(*relation), target)).map(|eats| eats.grams)
                    }
                    _ => world.pair_value_by_id::<u32>(source, (e(*relation), target)).copied(),
                };
                same!(("value", source, rel, target), actual, value);
            }
        }
        for &(rel, component) in &self.columns {
            for (id, &entity) in entities.iter().enumerate() {
                let Ok(actual) = world.get_entity(entity) else { continue };
                let all = Filter { source: Some(id), rel: Some(rel), target: None };
                same!(
                    ("component", rel, id),
                    actual.contains_id(component),
                    !reference.select(all).is_empty()
                );
            }
        }
        for (id, &entity) in entities.iter().enumerate() {
            let relation = |rel: usize| e(reference.rels[rel].entity);
            let own = reference.select(Filter { source: Some(id), rel: None, target: None });
            let own = sorted(own.into_iter().map(|(rel, _, target)| (relation(rel), e(target))).collect());
            same!(("pairs_of", id), sorted(world.pairs_of(entity)), &own[..]);
            same!(("(*, *)", id), world.has_pair_by_id(entity, PairId::ALL), !own.is_empty());
            let to = reference.select(Filter { source: None, rel: None, target: Some(id) });
            let to: Vec<_> = to.into_iter().map(|(rel, source, _)| (e(source), relation(rel))).collect();
            same!(("pairs_to", id), sorted(world.pairs_to(entity)), sorted(to.clone()));
            for (source, _) in to {
                same!(("(*, T)", id), world.has_pair_by_id(source, PairId::with_target(entity)), true);
            }
            let tags: Vec<_> =
                reference.tags.iter().filter(|(s, _)| *s == id).map(|&(_, tag)| e(tag)).collect();
            same!(("tags", id), world.tags(entity).collect::<Vec<_>>(), tags);
        }
        Ok(())
    }

    /// Compares every way of reading with every other.
    pub(super) fn compare_readers(&mut self) -> Result<(), String> {
        Readers::dress(&mut self.world, &self.entities);
        self.readers.compare(&mut self.world, &self.entities)
    }

    /// Compares walks with brute force.
    pub(super) fn compare_walks(&self) -> Result<(), String> {
        for (rel, Rel { entity: relation, spec }) in self.reference.rels.iter().enumerate() {
            let view = self.world.pairs_by_id(self.entities[*relation]);
            for (id, &entity) in self.entities.iter().enumerate() {
                let at = |id: Id| self.entities[id];
                let ancestors: Vec<_> = self.reference.ancestors(rel, id).into_iter().map(at).collect();
                let actual: Vec<_> = view.ancestors(entity).collect();
                if actual != ancestors || view.root(entity) != ancestors.last().copied().unwrap_or(entity) {
                    return Err(format!("ancestors of {id} in {rel}: {actual:?} instead of {ancestors:?}"));
                }
                let below: BTreeSet<_> = self.reference.descendants(rel, id).into_iter().map(at).collect();
                let walk: Vec<_> = view.descendants(entity).collect();
                let met: BTreeSet<_> = walk.iter().map(|&(entity, _)| entity).collect();
                if met != below || met.len() != walk.len() {
                    return Err(format!("descendants of {id} in {rel}: {walk:?} instead of {below:?}"));
                }
                // Depth first: each stands under the last entity one level above.
                let mut line = vec![entity];
                for (entity, depth) in walk {
                    line.truncate(depth as usize);
                    if line.len() != depth as usize || !view.has(entity, line[line.len() - 1]) {
                        return Err(format!("{entity} at depth {depth} below {line:?} in {rel}"));
                    }
                    line.push(entity);
                }
                for (other, &above) in self.entities.iter().enumerate() {
                    if view.is_ancestor(above, entity) != self.reference.reaches(rel, id, other) {
                        return Err(format!("is_ancestor({other}, {id}) in {rel}"));
                    }
                }
                let alive = self.reference.alive[*relation];
                let depth = (spec.walks() && alive).then(|| self.reference.depth(rel, id));
                if view.depth(entity) != depth {
                    return Err(format!(
                        "depth of {id} in {rel}: {:?} instead of {depth:?}",
                        view.depth(entity)
                    ));
                }
            }
        }
        Ok(())
    }
}
