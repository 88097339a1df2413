//! The changes since the last update, and the rows that they concern.

use super::{
    feed::{self, Feed},
    outline::{FactPart, Outline, Subject, VarGroup, WalkStep, Watch},
    written::{Members, ValueReader, WrittenReader},
};
use crate::{
    expr::View,
    fetch,
    id::RelationId,
    store::{BitSet, Cursor, Journal, RelationIndex},
    traverse::Direction,
};
use alloc::{boxed::Box, vec::Vec};
use bevy_ecs::{component::ComponentId, entity::Entity, world::World};
use bevy_platform::{
    collections::{HashMap, HashSet},
    sync::Arc,
};
use core::iter::once;
use smallvec::SmallVec;

/// Seeds up to this number are always worth it.
const FEW: usize = 64;

/// The rows of a source that has at most this many targets are recomputed together.
const FEW_TARGETS: usize = 4;

/// A source of facts.
enum Facts {
    Pairs(RelationId),
    Tags,
    Component(Arc<Feed>),
    Written(Box<WrittenReader>),
    Values(ValueReader),
}

/// The ends of a pair that came or went; an entity twice if the fact is about it alone.
type Fact = (Entity, Entity);

/// A source of facts, with the watches that depend on it.
struct FactReader {
    facts: Facts,
    cursor: Cursor,
    /// Numbers of watches; of tags, with the tag.
    watches: Vec<(Option<Entity>, usize)>,
}

/// The values of one group's variables for which rows are recomputed.
#[derive(Default)]
pub(super) struct Seeds {
    /// For a group of one variable: the entities, by their indices.
    known: EntityMarks,
    known_rows: HashSet<SmallVec<[Entity; 2]>>,
    /// The values of all seeds, one seed after the other.
    pub(super) values: Vec<Entity>,
}

impl Seeds {
    fn insert(&mut self, seed: SmallVec<[Entity; 2]>) {
        if !self.known_rows.contains(&seed) {
            self.values.extend_from_slice(&seed);
            self.known_rows.insert(seed);
        }
    }

    /// Adds the seed of a group of one variable.
    #[inline]
    fn insert_one(&mut self, entity: Entity) {
        // Mostly one pair of an entity is removed and another inserted.
        if self.values.last() != Some(&entity) && self.known.insert(entity) {
            self.values.push(entity);
        }
    }

    /// Number of seeds of this group.
    fn count(&self, group: &VarGroup) -> usize {
        self.values.len() / group.width.max(1)
    }

    fn clear(&mut self) {
        self.known.clear(&self.values);
        self.known_rows.clear();
        self.values.clear();
    }
}

/// Entities by their indices: one that has died and its successor are the same.
#[derive(Default)]
struct EntityMarks(BitSet);

impl EntityMarks {
    /// True if it is new.
    #[inline]
    fn insert(&mut self, entity: Entity) -> bool {
        self.0.insert(entity.index_u32() as usize)
    }

    /// Removes these, which are all that there are.
    fn clear(&mut self, entities: &[Entity]) {
        entities.iter().for_each(|entity| self.0.remove(entity.index_u32() as usize));
    }
}

/// Reads changes, and collects the seeds of the rows that they concern.
#[derive(Default)]
pub(super) struct ChangeReaders {
    readers: Vec<FactReader>,
    /// By watch: where its walks start.
    starts: Vec<Vec<Entity>>,
    /// By group.
    pub(super) seeds: Vec<Seeds>,
    /// Memory for walks.
    met: EntityMarks,
    walked: Vec<Entity>,
}

impl ChangeReaders {
    /// Starts recording the changes of everything in the outline. This may run users' code.
    pub(super) fn follow(world: &mut World, outline: &Outline) -> Self {
        let mut by_subject: HashMap<Subject, Vec<(Option<Entity>, usize)>> = HashMap::default();
        let mut tags = Vec::new();
        for (number, watch) in outline.watches.iter().enumerate() {
            match watch.subject {
                Subject::Tag(tag) => tags.push((Some(tag), number)),
                subject => by_subject.entry(subject).or_default().push((None, number)),
            }
        }
        let mut readers = Vec::new();
        let mut add = |facts, watches| readers.push(FactReader { facts, cursor: Cursor::default(), watches });
        for (subject, watches) in by_subject {
            match subject {
                Subject::Pairs(relation) => {
                    if let Some(store) = fetch::store_mut(world)
                        && let Some(id) = store.registry().of_entity(relation)
                    {
                        store.keep_journal(id).keep_longer();
                        add(Facts::Pairs(id), watches);
                    }
                }
                Subject::Component(component) => add(Facts::Component(feed::feed(world, component)), watches),
                Subject::Written(component) => {
                    let reader = WrittenReader::new(component, members_of(outline, component));
                    add(Facts::Written(Box::new(reader)), watches);
                }
                Subject::Values(relation, values) => {
                    if let Some(store) = fetch::store_mut(world)
                        && let Some(id) = store.registry().of_entity(relation)
                    {
                        let column = store.registry().columns().find(|column| column.value_type() == values);
                        let journal = store.keep_journal(id);
                        journal.keep_longer();
                        journal.record_replaced_values();
                        add(Facts::Values(ValueReader::new(id, column)), watches);
                    }
                }
                Subject::Tag(_) => {}
            }
        }
        if !tags.is_empty()
            && let Some(store) = fetch::store_mut(world)
        {
            store.keep_tag_journal().keep_longer();
            add(Facts::Tags, tags);
        }
        let starts = outline.watches.iter().map(|_| Vec::new()).collect();
        let seeds = outline.groups.iter().map(|_| Seeds::default()).collect();
        Self { readers, starts, seeds, ..Self::default() }
    }

    /// Whether all changes are still recorded.
    pub(super) fn are_observed(&self, view: &View<'_>) -> bool {
        self.readers.iter().all(|reader| match &reader.facts {
            Facts::Component(feed) => feed.is_observed_in(view),
            _ => true,
        })
    }

    /// Restarts the feeds that missed a change. Must not be called in the middle of an operation.
    pub(super) fn restart_if_missed(&self, world: &World) {
        for reader in &self.readers {
            if let Facts::Component(feed) = &reader.facts {
                feed.restart_if_missed(world.archetypes());
            }
        }
    }

    /// Skips all changes so far.
    pub(super) fn skip(&mut self, view: &View<'_>) {
        for reader in &mut self.readers {
            reader.cursor = match &mut reader.facts {
                Facts::Component(feed) => feed.cursor(view.archetypes),
                Facts::Pairs(_) | Facts::Tags => {
                    let journal = index_of(view, &reader.facts).journal();
                    journal.map_or_else(Cursor::default, Journal::cursor)
                }
                Facts::Written(written) => {
                    written.read(view.access, view.store, |_| {});
                    continue;
                }
                Facts::Values(values) => {
                    values.read(view.access, view.store, |_, _| {});
                    continue;
                }
            };
        }
    }

    /// Whether some changes are found by comparing ticks.
    pub(super) fn compare_ticks(&self) -> bool {
        self.readers
            .iter()
            .any(|reader| !matches!(reader.facts, Facts::Pairs(_) | Facts::Tags | Facts::Component(_)))
    }

    /// Collects the seeds of all changes. False if everything has to be run again: the changes are not known, may
    /// concern any row, or are so many that a run costs less. `rows` is the number of kept rows.
    pub(super) fn collect(&mut self, view: &View<'_>, outline: &Outline, rows: usize) -> bool {
        let Self { readers, starts, seeds, met, walked } = self;
        seeds.iter_mut().for_each(Seeds::clear);
        starts.iter_mut().for_each(Vec::clear);
        let mut all = true;
        let mut size = rows;
        for FactReader { facts, cursor, watches } in readers.iter_mut() {
            let mut dispatch = FactDispatch { watches, outline, index: None, starts, seeds };
            let mut note = |source, target| all &= dispatch.note(once((source, target)));
            match facts {
                Facts::Written(written) => {
                    let count = written.read(view.access, view.store, |entity| note(entity, entity));
                    let Some(count) = count else { return false };
                    size += count;
                }
                Facts::Values(values) => {
                    if !values.read(view.access, view.store, note) {
                        return false;
                    }
                }
                Facts::Component(feed) => {
                    let note = |entities: &[Entity]| {
                        all &= dispatch.note(entities.iter().map(|&entity| (entity, entity)));
                    };
                    if !feed.read(view.archetypes, cursor, note) {
                        return false;
                    }
                    size += feed.holders();
                }
                Facts::Pairs(_) | Facts::Tags => {
                    let index = index_of(view, facts);
                    let Some(journal) = index.journal() else { return false };
                    let Some(changes) = journal.since(*cursor) else { return false };
                    dispatch.index = Some(index);
                    all &= dispatch.note(changes.iter().map(|change| (change.source, change.target)));
                    *cursor = journal.cursor();
                    size += index.len();
                }
            }
        }
        let most = FEW + size / 4;
        for (watch, starts) in outline.watches.iter().zip(starts).filter(|(_, starts)| !starts.is_empty()) {
            all = all && watch.walk(view, starts, (&mut *met, &mut *walked), most, seeds);
        }
        all && seeds.iter().zip(&outline.groups).map(|(seeds, group)| seeds.count(group)).sum::<usize>()
            <= most
    }
}

/// The fields of a component that hold entities.
#[cfg(feature = "bevy_reflect")]
fn members_of(outline: &Outline, component: ComponentId) -> Members {
    Members::of(outline.members.iter().filter(|member| member.component == component))
}

#[cfg(not(feature = "bevy_reflect"))]
fn members_of(_: &Outline, _: ComponentId) -> Members {
    Members
}

fn index_of<'w>(view: &View<'w>, facts: &Facts) -> &'w RelationIndex {
    match facts {
        Facts::Pairs(id) => view.index(*id),
        _ => view.tags(),
    }
}

/// Passes the facts of one reader to its watches.
struct FactDispatch<'a> {
    watches: &'a [(Option<Entity>, usize)],
    outline: &'a Outline,
    /// Of pairs and tags.
    index: Option<&'a RelationIndex>,
    starts: &'a mut [Vec<Entity>],
    seeds: &'a mut [Seeds],
}

impl FactDispatch<'_> {
    /// Notes facts that have come or gone. False if any row may differ.
    fn note(&mut self, facts: impl Iterator<Item = Fact> + Clone) -> bool {
        let Self { outline, index, starts, seeds, .. } = self;
        self.watches.iter().all(|&(tag, number)| {
            let facts = facts.clone().filter(|fact| tag.is_none_or(|tag| tag == fact.1));
            outline.watches[number].note(facts, *index, &mut starts[number], seeds)
        })
    }
}

impl FactPart {
    /// The entity that this part is in a fact with these ends.
    #[inline]
    fn of(self, reached: Entity, other: Entity) -> Entity {
        match self {
            Self::Reached => reached,
            Self::Other => other,
            Self::Known(entity) => entity,
        }
    }
}

impl Watch {
    /// Notes facts that have come or gone. False if any row may differ.
    fn note(
        &self,
        facts: impl Iterator<Item = Fact>,
        index: Option<&RelationIndex>,
        starts: &mut Vec<Entity>,
        seeds: &mut [Seeds],
    ) -> bool {
        let ends = |fact: Fact| if self.from_target { (fact.1, fact.0) } else { fact };
        if !self.steps.is_empty() {
            starts.extend(facts.map(|fact| ends(fact).0));
            return true;
        }
        let by_source = self.by_source.zip(index);
        if let Some((group, _)) = by_source.filter(|(_, index)| index.is_exclusive()) {
            // The most frequent case, and the fastest.
            let seeds = &mut seeds[group];
            facts.for_each(|fact| seeds.insert_one(ends(fact).0));
            return true;
        }
        let facts = facts.map(ends);
        match by_source {
            None => self.seed(facts, seeds),
            Some((group, index)) => facts.filter(|fact| self.matters(fact)).all(|fact| {
                if index.target_count(fact.0) > FEW_TARGETS {
                    return self.seed(once(fact), seeds);
                }
                seeds[group].insert_one(fact.0);
                true
            }),
        }
    }

    /// Whether parts of a fact are the same where they must be.
    #[inline]
    fn matters(&self, &(reached, other): &Fact) -> bool {
        self.same.iter().all(|&(a, b)| a.of(reached, other) == b.of(reached, other))
    }

    /// Adds the seeds of the facts that matter. False if any row may differ.
    #[inline]
    fn seed(&self, facts: impl Iterator<Item = Fact>, seeds: &mut [Seeds]) -> bool {
        let mut facts = facts.filter(|fact| self.matters(fact));
        let Some(group) = self.group else { return facts.next().is_none() };
        let seeds = &mut seeds[group];
        match self.seed[..] {
            [part] => facts.for_each(|(reached, other)| seeds.insert_one(part.of(reached, other))),
            ref parts => facts.for_each(|(reached, other)| {
                seeds.insert(parts.iter().map(|part| part.of(reached, other)).collect());
            }),
        }
        true
    }

    /// Adds the seeds of all entities from which the changed ones are reached. False if any row may differ, or if
    /// there are too many.
    fn walk(
        &self,
        view: &View<'_>,
        found: &mut Vec<Entity>,
        (met, from): (&mut EntityMarks, &mut Vec<Entity>),
        most: usize,
        seeds: &mut [Seeds],
    ) -> bool {
        let (registry, entities) = (view.store.registry(), view.entities);
        // A dead entity has no pairs: the walk starts at the entity that has its index now.
        found.iter_mut().for_each(|entity| *entity = entities.resolve_from_index(entity.index()));
        for &WalkStep { relation, direction, once } in &self.steps {
            let Some(id) = registry.of_entity(relation) else { return false };
            let index = view.index(id);
            // What the last step has found is where this one starts.
            from.clear();
            core::mem::swap(from, found);
            if !once {
                from.retain(|&entity| met.insert(entity));
            }
            let (mut at, mut fits) = (0, true);
            while let Some(&entity) = from.get(at).filter(|_| fits) {
                at += 1;
                let into = if once { &mut *found } else { &mut *from };
                let mut add = |entity| {
                    if met.insert(entity) {
                        into.push(entity);
                    }
                };
                match direction {
                    Direction::Sources => index.sources(entity).for_each(&mut add),
                    Direction::Targets => index.targets(entity).for_each(&mut add),
                }
                fits = into.len() <= most;
            }
            if !once {
                core::mem::swap(from, found);
            }
            met.clear(found);
            if !fits {
                return false;
            }
        }
        self.seed(found.iter().map(|&entity| (entity, entity)), seeds)
    }
}
