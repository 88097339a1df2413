//! The random operations, and carrying them out on a world and on the naive reference.

use super::{
    reference::{Filter, Given, Id, Violation},
    run::{
        BOARDED_ON, BoardedOn, CHILD_OF, CREW_OF, CrewOf, DANCES_WITH, DancesWith, EATS, Eats, HEARS, Hears,
        IS_A, LIKES, Likes, MARRIED_TO, MarriedTo, Run,
    },
};
use crate::common::{take_errors, try_reuse_index};
use bevy_ecs::{error::Severity, prelude::*};
use bevy_relations::{
    error::{InsertPairError, ReorderError},
    id::Slot,
    prelude::*,
};

/// Which API is used.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Via {
    World,
    Typed,
    EntityMut,
    Commands,
}

/// How an entity is despawned.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum How {
    Bevy,
    BevyCommands,
    WithDependents,
    WithDependentsCommands,
}

/// One step. Entities and relations are numbers that stand for one of those that there are.
#[derive(Clone, Debug)]
pub(super) enum Op {
    Insert {
        via: Via,
        source: u8,
        rel: u8,
        target: u8,
        given: Given,
    },
    Remove {
        via: Via,
        source: Option<u8>,
        rel: Option<u8>,
        target: Option<u8>,
    },
    InsertTag {
        via: Via,
        source: u8,
        tag: u8,
    },
    RemoveTag {
        via: Via,
        source: u8,
        tag: u8,
    },
    Despawn {
        how: How,
        entity: u8,
    },
    DespawnWithPair {
        rel: Option<u8>,
        target: Option<u8>,
    },
    Clear {
        entity: u8,
    },
    ClearPairs,
    WriteComponent {
        crew: bool,
        source: u8,
        target: u8,
    },
    RemoveComponent {
        crew: bool,
        source: u8,
    },
    Spawn {
        likes: Vec<u8>,
        eats: Option<u8>,
        child_of: Option<u8>,
        deferred: bool,
    },
    SpawnBatch {
        targets: Vec<u8>,
    },
    Batch {
        inserts: Vec<(u8, u8)>,
        removes: Vec<(u8, u8)>,
        deferred: bool,
    },
    /// Spawns an entity with the index of one that is dead.
    Reuse {
        entity: u8,
    },
    Clone {
        entity: u8,
    },
    Order {
        rel: u8,
        target: u8,
        rotate: u8,
        wrong: bool,
    },
    Settle,
}

type Outcome = Result<(), String>;

/// The errors that the handler must have got in a step.
#[derive(Clone, Copy, PartialEq)]
enum Heard {
    Nothing,
    Something,
    Whatever,
}

fn heard(expected: Heard) -> Outcome {
    let errors = take_errors();
    if let Some((severity, text)) = errors.iter().find(|(severity, _)| *severity != Severity::Error) {
        return Err(format!("{text} was reported with severity {severity:?}"));
    }
    match expected {
        Heard::Nothing if !errors.is_empty() => Err(format!("reported without reason: {errors:?}")),
        Heard::Something if errors.is_empty() => Err("nothing was reported".into()),
        _ => Ok(()),
    }
}

fn kind(error: &InsertPairError) -> Option<Violation> {
    Some(match error {
        InsertPairError::Dead { .. } => Violation::Dead,
        InsertPairError::Final { .. } => Violation::Final,
        InsertPairError::NotOneOf { .. } => Violation::OneOf,
        InsertPairError::SelfReference { .. } => Violation::SelfReference,
        InsertPairError::Cycle { .. } => Violation::Cycle,
        InsertPairError::WrongValueType { .. } => Violation::WrongType,
        InsertPairError::UnexpectedValue { .. } => Violation::Unexpected,
        InsertPairError::MissingValue { .. } => Violation::Missing,
        _ => return None,
    })
}

/// Whether an insertion went as it should.
fn agree(actual: Result<(), InsertPairError>, expected: Result<(), Vec<Violation>>) -> Outcome {
    match (actual, expected) {
        (Ok(()), Ok(())) => Ok(()),
        (Err(error), Err(violations)) if kind(&error).is_some_and(|kind| violations.contains(&kind)) => {
            Ok(())
        }
        (actual, expected) => Err(format!("{actual:?} instead of {expected:?}")),
    }
}

fn same<T: PartialEq + core::fmt::Debug>(what: &str, actual: T, expected: T) -> Outcome {
    if actual == expected { Ok(()) } else { Err(format!("{what}: {actual:?} instead of {expected:?}")) }
}

impl Run {
    /// Does one step in both worlds.
    pub(super) fn step(&mut self, op: &Op) -> Outcome {
        take_errors();
        match op {
            &Op::Insert { via, source, rel, target, given } => {
                let (source, rel, target) = (self.pick(source), self.pick_rel(rel), self.pick(target));
                self.insert(via, source, rel, target, given)
            }
            &Op::Remove { via, source, rel, target } => {
                let filter = Filter {
                    source: source.map(|source| self.pick(source)),
                    rel: rel.map(|rel| self.pick_rel(rel)),
                    target: target.map(|target| self.pick(target)),
                };
                self.remove(via, filter)
            }
            &Op::InsertTag { via, source, tag } => self.insert_tag(via, self.pick(source), self.pick(tag)),
            &Op::RemoveTag { via, source, tag } => {
                let (source, tag) = (self.pick(source), self.pick(tag));
                let (entity, tag_entity) = (self.entities[source], self.entities[tag]);
                let expected = self.reference.remove_tag(source, tag);
                if via == Via::Commands {
                    self.world.commands().entity(entity).remove_tag(tag_entity);
                    self.world.flush();
                    return heard(Heard::Whatever);
                }
                same("removed", self.world.remove_tag(entity, tag_entity), expected)
            }
            &Op::Despawn { how, entity } => self.despawn(how, self.pick(entity)),
            &Op::DespawnWithPair { rel, target } => {
                let rel = rel.map(|rel| self.pick_rel(rel));
                let target = target.map(|target| self.pick(target));
                self.despawn_sources(Filter { source: None, rel, target })
            }
            &Op::Clear { entity } => {
                let entity = self.pick(entity);
                if let Ok(mut actual) = self.world.get_entity_mut(self.entities[entity]) {
                    actual.clear();
                    self.reference.clear_entity(entity);
                }
                heard(Heard::Nothing)
            }
            Op::ClearPairs => {
                self.world.clear_pairs();
                self.reference.pairs.clear();
                self.reference.tags.clear();
                heard(Heard::Nothing)
            }
            &Op::WriteComponent { crew, source, target } => {
                let (source, target) = (self.pick(source), self.pick(target));
                let target_entity = self.entities[target];
                let Ok(mut actual) = self.world.get_entity_mut(self.entities[source]) else { return Ok(()) };
                let rel = if crew {
                    actual.insert(CrewOf(target_entity));
                    CREW_OF
                } else {
                    actual.insert(ChildOf(target_entity));
                    CHILD_OF
                };
                let refused = self.reference.write_component(rel, source, target);
                heard(if refused { Heard::Something } else { Heard::Nothing })
            }
            &Op::RemoveComponent { crew, source } => {
                let source = self.pick(source);
                let Ok(mut actual) = self.world.get_entity_mut(self.entities[source]) else { return Ok(()) };
                let rel = if crew {
                    actual.remove::<CrewOf>();
                    CREW_OF
                } else {
                    actual.remove::<ChildOf>();
                    CHILD_OF
                };
                self.reference.remove_all(Filter { source: Some(source), rel: Some(rel), target: None });
                heard(Heard::Nothing)
            }
            Op::Spawn { likes, eats, child_of, deferred } => {
                self.spawn_with(likes, *eats, *child_of, *deferred)
            }
            Op::SpawnBatch { targets } => {
                let targets: Vec<Id> = targets.iter().map(|&target| self.pick(target)).collect();
                let batch: Vec<_> =
                    targets.iter().map(|&target| ((), Likes, self.entities[target])).collect();
                let spawned = self.world.spawn_batch_with_pair(batch);
                same("spawned", spawned.len(), targets.len())?;
                let mut refused = false;
                for (entity, target) in spawned.into_iter().zip(targets) {
                    let source = self.spawned(entity);
                    refused |= self.reference.insert(LIKES, source, target, Given::Nothing).is_err();
                }
                heard(if refused { Heard::Something } else { Heard::Nothing })
            }
            Op::Batch { inserts, removes, deferred } => self.batch(inserts, removes, *deferred),
            &Op::Reuse { entity } => {
                let id = self.pick(entity);
                if !self.reference.alive[id]
                    && !self.world.entities().contains_spawned(self.current(id))
                    && let Some(entity) = try_reuse_index(&mut self.world, self.entities[id])
                {
                    self.spawned(entity);
                }
                heard(Heard::Nothing)
            }
            &Op::Clone { entity } => self.clone_one(self.pick(entity)),
            &Op::Order { rel, target, rotate, wrong } => {
                self.order(self.pick_rel(rel), self.pick(target), usize::from(rotate), wrong)
            }
            Op::Settle => {
                self.world.maintain_pairs();
                Ok(())
            }
        }
    }

    fn insert(&mut self, via: Via, source: Id, rel: usize, target: Id, given: Given) -> Outcome {
        // A Bevy component is its own value.
        let given = if self.reference.rels[rel].spec.adopted { Given::Nothing } else { given };
        let (s, t) = (self.entities[source], self.entities[target]);
        let r = self.entities[self.reference.rels[rel].entity];
        let expected = self.reference.insert(rel, source, target, given);
        let world = &mut self.world;
        let eats = rel == EATS;
        let actual = match (via, given) {
            (Via::Typed, Given::Nothing) if rel == CHILD_OF => world.insert_pair(s, ChildOf(t), t),
            (Via::Typed, Given::Nothing) if rel == CREW_OF => world.insert_pair(s, CrewOf(t), t),
            (Via::Typed, Given::Nothing) if rel == IS_A => world.insert_pair(s, IsA, t),
            (Via::Typed, Given::Nothing) if rel == LIKES => world.insert_pair(s, Likes, t),
            (Via::Typed, Given::Nothing) if rel == MARRIED_TO => world.insert_pair(s, MarriedTo, t),
            (Via::Typed, Given::Nothing) if rel == BOARDED_ON => world.insert_pair(s, BoardedOn, t),
            (Via::Typed, Given::Nothing) if rel == HEARS => world.insert_pair(s, Hears, t),
            (Via::Typed, Given::Nothing) if rel == DANCES_WITH => world.insert_pair(s, DancesWith, t),
            (Via::Typed, Given::Number(grams)) if eats => world.insert_pair(s, Eats { grams }, t),
            (Via::Commands, _) => {
                let mut commands = world.commands();
                let mut entity = commands.entity(s);
                match given {
                    Given::Nothing => entity.insert_pair_by_id((r, t)),
                    Given::Number(grams) if eats => entity.insert_pair_value_by_id((r, t), Eats { grams }),
                    Given::Number(number) => entity.insert_pair_value_by_id((r, t), number),
                    Given::WrongType => entity.insert_pair_value_by_id((r, t), "wrong"),
                };
                world.flush();
                return heard(if expected.is_ok() { Heard::Nothing } else { Heard::Something });
            }
            (Via::EntityMut, Given::Nothing) => match world.get_entity_mut(s) {
                Ok(mut entity) => entity.insert_pair_by_id((r, t)).map(|_| ()),
                Err(_) => return Ok(()),
            },
            (_, Given::Nothing) => world.insert_pair_by_id(s, (r, t)),
            (_, Given::Number(grams)) if eats => world.insert_pair_value_by_id(s, (r, t), Eats { grams }),
            (_, Given::Number(number)) => world.insert_pair_value_by_id(s, (r, t), number),
            (_, Given::WrongType) => world.insert_pair_value_by_id(s, (r, t), "wrong"),
        };
        agree(actual, expected)?;
        heard(Heard::Nothing)
    }

    fn remove(&mut self, via: Via, filter: Filter) -> Outcome {
        let source = filter.source.map(|source| self.entities[source]);
        let target = filter.target.map(|target| self.entities[target]);
        let relation = filter.rel.map(|rel| self.entities[self.reference.rels[rel].entity]);
        let mut expected = self.reference.remove_all(filter);
        if filter.rel.is_none() {
            expected += self.reference.remove_tags(filter);
        }
        let slot = |entity: Option<Entity>| entity.map_or(Slot::Wildcard, Slot::Entity);
        let id = PairId::new(slot(relation), slot(target));
        let world = &mut self.world;
        let actual = match (source, via, target) {
            (Some(source), Via::Typed, Some(target)) if filter.rel == Some(LIKES) => {
                usize::from(world.remove_pair::<Likes>(source, target))
            }
            (Some(source), Via::Typed, None) if filter.rel == Some(EATS) => {
                world.remove_pairs::<Eats>(source)
            }
            (Some(source), Via::Typed, Some(target)) if filter.rel == Some(CHILD_OF) => {
                usize::from(world.remove_pair::<ChildOf>(source, target))
            }
            (Some(source), Via::Commands, _) => {
                world.commands().entity(source).remove_pairs_by_id(id);
                world.flush();
                return heard(Heard::Whatever);
            }
            (Some(source), ..) => world.remove_pairs_by_id(source, id),
            (None, ..) => world.remove_pairs_everywhere(id),
        };
        same("removed", actual, expected)?;
        heard(Heard::Nothing)
    }

    fn insert_tag(&mut self, via: Via, source: Id, tag: Id) -> Outcome {
        let (entity, tag_entity) = (self.entities[source], self.entities[tag]);
        let expected = self.reference.insert_tag(source, tag);
        if via == Via::Commands {
            self.world.commands().entity(entity).insert_tag(tag_entity);
            self.world.flush();
            return heard(if expected.is_ok() { Heard::Nothing } else { Heard::Something });
        }
        agree(self.world.insert_tag(entity, tag_entity), expected)?;
        heard(Heard::Nothing)
    }

    fn despawn(&mut self, how: How, id: Id) -> Outcome {
        let entity = self.entities[id];
        if !self.reference.alive[id] {
            return match how {
                How::WithDependents => same("ok", self.world.despawn_with_dependents(entity).is_ok(), false),
                _ => Ok(()),
            };
        }
        let gone = self.reference.cascade(id);
        let panics = self.reference.panics(&gone);
        let in_the_way = if panics { Heard::Whatever } else { Heard::Nothing };
        let mut foretold = self.world.would_despawn(entity).ok();
        same("the root goes last", foretold.as_ref().is_none_or(|all| all.last() == Some(&entity)), true)?;
        let mut expected: Vec<Entity> = gone.iter().map(|&id| self.entities[id]).collect();
        expected.sort();
        foretold.iter_mut().for_each(|all| all.sort());
        same("would be despawned", foretold, (!panics).then_some(expected))?;
        match how {
            How::Bevy => {
                same("despawned", self.world.despawn(entity), true)?;
                self.reference.despawn(&gone);
                heard(in_the_way)
            }
            How::BevyCommands => {
                self.world.commands().entity(entity).despawn();
                self.world.flush();
                self.reference.despawn(&gone);
                heard(in_the_way)
            }
            How::WithDependents | How::WithDependentsCommands => {
                if how == How::WithDependents {
                    same("ok", self.world.despawn_with_dependents(entity).is_ok(), !panics)?;
                    heard(Heard::Nothing)?;
                } else {
                    self.world.commands().entity(entity).despawn_with_dependents();
                    self.world.flush();
                    heard(if panics { Heard::Something } else { Heard::Nothing })?;
                }
                if !panics {
                    self.reference.despawn(&gone);
                }
                Ok(())
            }
        }
    }

    fn despawn_sources(&mut self, filter: Filter) -> Outcome {
        let selected = self.reference.select(filter);
        let mut found: Vec<Id> = selected.into_iter().map(|(_, source, _)| source).collect();
        if filter.rel.is_none() {
            found.extend(self.reference.tagged(filter));
        }
        let gone = found.iter().flat_map(|&source| self.reference.cascade(source)).collect();
        if self.reference.panics(&gone) {
            return Ok(());
        }
        let distinct: std::collections::BTreeSet<Id> = found.into_iter().collect();
        let slot = |entity: Option<Id>| entity.map_or(Slot::Wildcard, |id| Slot::Entity(self.entities[id]));
        let relation = filter.rel.map(|rel| self.reference.rels[rel].entity);
        let id = PairId::new(slot(relation), slot(filter.target));
        same("despawned", self.world.despawn_sources(id), Ok(distinct.len()))?;
        self.reference.despawn(&gone);
        heard(Heard::Nothing)
    }

    fn spawn_with(
        &mut self,
        likes: &[u8],
        eats: Option<u8>,
        child_of: Option<u8>,
        deferred: bool,
    ) -> Outcome {
        let likes: Vec<Id> = likes.iter().map(|&target| self.pick(target)).collect();
        let (eats, child_of) =
            (eats.map(|target| self.pick(target)), child_of.map(|target| self.pick(target)));
        let at = |id: Id| self.entities[id];
        let entity = match (likes[..].first().copied(), likes.get(1).copied(), eats, child_of) {
            (Some(a), Some(b), None, None) if deferred => {
                let bundle = (Pair(Likes, at(a)), Pair(Likes, at(b)));
                self.world.commands().spawn(bundle).id()
            }
            (Some(a), Some(b), Some(c), _) => {
                let bundle = pairs![(Likes, at(a)), (Likes, at(b)), (Eats { grams: 7 }, at(c))];
                self.world.spawn(bundle).id()
            }
            (Some(a), _, _, Some(parent)) => self.world.spawn((Pair(Likes, at(a)), ChildOf(at(parent)))).id(),
            _ => self.world.spawn_empty().id(),
        };
        self.world.flush();
        let source = self.spawned(entity);
        let mut refused = false;
        let mut add =
            |rel, target, given| refused |= self.reference.insert(rel, source, target, given).is_err();
        match (likes[..].first().copied(), likes.get(1).copied(), eats, child_of) {
            (Some(a), Some(b), None, None) if deferred => {
                add(LIKES, a, Given::Nothing);
                add(LIKES, b, Given::Nothing);
            }
            (Some(a), Some(b), Some(c), _) => {
                add(LIKES, a, Given::Nothing);
                add(LIKES, b, Given::Nothing);
                add(EATS, c, Given::Number(7));
            }
            (Some(a), _, _, Some(parent)) => {
                add(LIKES, a, Given::Nothing);
                self.reference.write_component(CHILD_OF, source, parent);
            }
            _ => {}
        }
        heard(if refused { Heard::Something } else { Heard::Nothing })
    }

    fn batch(&mut self, inserts: &[(u8, u8)], removes: &[(u8, u8)], deferred: bool) -> Outcome {
        let ids = |list: &[(u8, u8)]| -> Vec<(Id, Id)> {
            list.iter().map(|&(source, target)| (self.pick(source), self.pick(target))).collect()
        };
        let (inserts, removes) = (ids(inserts), ids(removes));
        let at = |list: &[(Id, Id)]| -> Vec<(Entity, Entity)> {
            list.iter().map(|&(source, target)| (self.entities[source], self.entities[target])).collect()
        };
        let (to_insert, to_remove) = (at(&inserts), at(&removes));
        let mut refused = Vec::new();
        for (number, &(source, target)) in inserts.iter().enumerate() {
            if self.reference.insert(LIKES, source, target, Given::Nothing).is_err() {
                refused.push(number);
            }
        }
        let mut removed = 0;
        for &(source, target) in &removes {
            removed += self.reference.remove_all(Filter {
                source: Some(source),
                rel: Some(LIKES),
                target: Some(target),
            });
        }
        if deferred {
            let mut commands = self.world.commands();
            let mut batch = commands.pair_batch::<Likes>();
            for (source, target) in to_insert {
                batch.insert(source, Likes, target);
            }
            for (source, target) in to_remove {
                batch.remove(source, target);
            }
            drop(batch);
            self.world.flush();
            return heard(if refused.is_empty() { Heard::Nothing } else { Heard::Something });
        }
        let result = self
            .world
            .insert_pair_batch(to_insert.into_iter().map(|(source, target)| (source, Likes, target)));
        let actual =
            result.err().map_or_else(Vec::new, |error| error.refused.iter().map(|(n, _)| *n).collect());
        same("refused", actual, refused)?;
        same("removed", self.world.remove_pair_batch::<Likes>(to_remove), removed)?;
        heard(Heard::Nothing)
    }

    fn clone_one(&mut self, original: Id) -> Outcome {
        let Ok(mut entity) = self.world.get_entity_mut(self.entities[original]) else { return Ok(()) };
        let clone = entity.clone_and_spawn();
        self.world.flush();
        let (id, refused) = self.reference.clone_entity(original);
        same("id", self.note(clone), id)?;
        // In which order the targets of a clone stand is not promised where a pair brings another along.
        for rel in 0..self.reference.rels.len() {
            let relation = self.entities[self.reference.rels[rel].entity];
            let actual: Vec<Id> = self
                .world
                .pairs_by_id(relation)
                .targets(clone)
                .filter_map(|target| self.id(target))
                .collect();
            self.reference.adopt_order(rel, id, &actual);
        }
        heard(if refused { Heard::Something } else { Heard::Nothing })
    }

    fn order(&mut self, rel: usize, target: Id, rotate: usize, wrong: bool) -> Outcome {
        let relation = self.entities[self.reference.rels[rel].entity];
        let mut order = self.reference.sources(rel, target);
        let spec = &self.reference.rels[rel].spec;
        let alive = self.reference.alive[self.reference.rels[rel].entity];
        let expected = match () {
            () if !alive => "no relation",
            () if spec.adopted => "adopted",
            () if !spec.ordered => "not ordered",
            () if wrong => "wrong",
            () => "ok",
        };
        if !order.is_empty() {
            let by = rotate % order.len();
            order.rotate_left(by);
        }
        if wrong {
            order.push(target);
            order.push(target);
        }
        let entities: Vec<Entity> = order.iter().map(|&id| self.entities[id]).collect();
        let result = self.world.order_sources_by_id(relation, self.entities[target], &entities);
        let actual = match result {
            Ok(()) => "ok",
            Err(ReorderError::NotARelation { .. }) => "no relation",
            Err(ReorderError::Adopted { .. }) => "adopted",
            Err(ReorderError::NotOrdered { .. }) => "not ordered",
            Err(ReorderError::NotAPermutation { .. }) => "wrong",
            Err(_) => "?",
        };
        same("reorder", actual, expected)?;
        if expected == "ok" {
            self.reference.reorder(rel, target, &order);
        }
        Ok(())
    }
}
