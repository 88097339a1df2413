//! Finding each way in which a term holds: every kind of term, by definition.
//!
//! The most frequent kinds have operations of their own, which do the same for whole batches; see [`super::produce`].

use super::buffers::AtomBuffers;
use crate::{
    expr::{
        eval::{Datum, View},
        plan::{AtomOp, IdOp, KnownRelation, Operand, Position, RelationOp, Walk},
    },
    relation::IS_A,
    traverse::{Direction, Limits},
};
use alloc::vec::Vec;
use bevy_ecs::{component::ComponentId, entity::Entity};
use core::{cell::Cell, ops::ControlFlow};

/// A way in which a term holds. Positions that were asked for with `_` are unset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Found {
    pub(crate) source: Datum,
    /// Component, tag or relation.
    pub(crate) first: Datum,
    /// Target of the pair.
    pub(crate) second: Datum,
    /// On which entity.
    pub(crate) holder: Datum,
}

/// A position, for one row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arg {
    Known(Entity),
    /// A component that no entity stands for.
    Component(ComponentId),
    Free,
    Any,
    /// Nothing fits: the variable is not set.
    Nothing,
}

pub(super) type Flow = ControlFlow<()>;

/// Evaluates a term for one row.
pub(crate) struct Matcher<'a, 'w> {
    pub(super) view: View<'w>,
    pub(super) op: &'a AtomOp,
    buffers: &'a mut AtomBuffers,
    pub(super) source: Arg,
    pub(super) first: Arg,
    pub(super) second: Arg,
    /// Which of the subtypes is looked for, if not every one.
    subtype: Option<usize>,
    /// `*` does not match these.
    internal: &'a [ComponentId],
}

impl<'a, 'w> Matcher<'a, 'w> {
    /// `value` returns what a column of the row holds.
    pub(crate) fn new(
        view: View<'w>,
        op: &'a AtomOp,
        buffers: &'a mut AtomBuffers,
        internal: &'a [ComponentId],
        value: impl Fn(Operand) -> Datum,
    ) -> Self {
        let arg = |position: Position| match position {
            Position::Out(_) => Arg::Free,
            Position::Any => Arg::Any,
            Position::Known(operand) => {
                let value = value(operand);
                match (value.entity(), value.as_component()) {
                    (Some(entity), _) => Arg::Known(entity),
                    (_, Some(component)) => Arg::Component(component),
                    _ => Arg::Nothing,
                }
            }
        };
        let (first, second) = match &op.id {
            IdOp::Components(_) | IdOp::Tags(_) => (Arg::Free, Arg::Free),
            IdOp::AnyId(id) => (arg(*id), Arg::Any),
            IdOp::Pair { relation: RelationOp::Known(_), target, .. } => (Arg::Free, arg(*target)),
            IdOp::Pair { relation: RelationOp::Free(relation), target, .. } => (arg(*relation), arg(*target)),
        };
        let source = arg(op.source);
        Self { view, op, buffers, source, first, second, subtype: None, internal }
    }

    /// Whether there is a way.
    pub(crate) fn exists(&mut self) -> bool {
        self.is_stored().unwrap_or_else(|| self.each(&mut |_| Flow::Break(())).is_break())
    }

    /// Every way, until `emit` breaks.
    pub(crate) fn each(&mut self, emit: &mut dyn FnMut(Found) -> Flow) -> Flow {
        if let Some(flow) = self.each_stored(emit) {
            return flow;
        }
        match self.source {
            Arg::Nothing | Arg::Component(_) => Flow::Continue(()),
            Arg::Known(source) => self.of_source(source, emit),
            Arg::Free => self.of_every_source(emit),
            Arg::Any => self.of_some_source(emit),
        }
    }

    fn of_every_source(&mut self, emit: &mut dyn FnMut(Found) -> Flow) -> Flow {
        let mut candidates = core::mem::take(&mut self.buffers.candidates);
        self.collect_candidates(&mut candidates);
        let flow = candidates.iter().try_for_each(|&source| {
            self.step()?;
            self.of_source(source, emit)
        });
        self.buffers.candidates = candidates;
        flow
    }

    /// `_` as a source: one way for all that have the same, by whichever subtype.
    fn of_some_source(&mut self, emit: &mut dyn FnMut(Found) -> Flow) -> Flow {
        if self.op.has_variants() {
            return self.of_some_source_by_subtype(emit);
        }
        let open = matches!(self.op.id, IdOp::AnyId(_) | IdOp::Pair { relation: RelationOp::Free(_), .. });
        let mut found: bevy_platform::collections::HashSet<(Datum, Datum)> = Default::default();
        self.of_every_source(&mut |way| {
            if !found.insert((if open { way.first } else { Datum::UNSET }, way.second)) {
                return Flow::Continue(());
            }
            emit(Found { source: Datum::UNSET, holder: Datum::UNSET, ..way })
        })
    }

    /// The way of the first subtype that has one, whatever the order in which sources are found.
    fn of_some_source_by_subtype(&mut self, emit: &mut dyn FnMut(Found) -> Flow) -> Flow {
        let (view, op) = (self.view, self.op);
        let rank = |first: Datum| {
            let entity_of = |id| view.store.registry().entry(id).entity;
            let at = match &op.id {
                IdOp::Components(ids) => ids.iter().position(|&id| view.value_of_component(id) == first),
                IdOp::Tags(tags) => tags.iter().position(|&tag| Datum::new(tag) == first),
                IdOp::Pair { relation: RelationOp::Known(known), .. } => {
                    known.iter().position(|known| Datum::new(entity_of(known.id)) == first)
                }
                _ => None,
            };
            at.unwrap_or(usize::MAX)
        };
        let mut ways: Vec<Found> = Vec::new();
        let mut numbers: bevy_platform::collections::HashMap<Datum, usize> = Default::default();
        let _: Flow = self.of_every_source(&mut |way| {
            let way = Found { source: Datum::UNSET, holder: Datum::UNSET, ..way };
            let number = *numbers.entry(way.second).or_insert(ways.len());
            match ways.get_mut(number) {
                Some(known) if rank(way.first) < rank(known.first) => *known = way,
                Some(_) => {}
                None => ways.push(way),
            }
            Flow::Continue(())
        });
        ways.into_iter().try_for_each(emit)
    }

    /// Every entity for which the term can hold, each once, and perhaps others.
    fn collect_candidates(&mut self, into: &mut Vec<Entity>) {
        into.clear();
        let mut met = core::mem::take(&mut self.buffers.candidate);
        met.clear();
        let mut add = |entity| {
            if met.insert(entity) {
                into.push(entity);
            }
        };
        self.holders(&mut add);
        self.buffers.steps += into.len() as u64;
        // Those that find a holder lie on the other side of it; those that inherit from it count as holders.
        let walks = self
            .op
            .walk
            .map(|walk| (walk.relation, if walk.down { Direction::Targets } else { Direction::Sources }));
        let inherited = walks.filter(|_| self.op.shared).map(|_| (IS_A, Direction::Sources));
        let mut at = 0;
        while let Some(&entity) = into.get(at) {
            for (relation, way) in [inherited, walks].into_iter().flatten() {
                let mut add = |entity| {
                    if met.insert(entity) {
                        into.push(entity);
                    }
                };
                match way {
                    Direction::Targets => self.view.targets(relation, entity).for_each(&mut add),
                    Direction::Sources => self.view.index(relation).sources(entity).for_each(&mut add),
                }
            }
            at += 1;
            if self.step().is_break() {
                break;
            }
        }
        self.buffers.candidate = met;
    }

    /// Every entity that has the id itself, and perhaps others.
    fn holders(&mut self, add: &mut dyn FnMut(Entity)) {
        let view = self.view;
        match &self.op.id {
            IdOp::Components(components) => {
                components.iter().for_each(|&component| view.with_component(component, add));
            }
            IdOp::Tags(tags) => {
                for &tag in tags {
                    view.tags().sources(tag).for_each(&mut *add);
                    if tags.len() > 1
                        && let Some(component) = view.component_of(tag)
                    {
                        view.with_component(component, add);
                    }
                }
            }
            IdOp::AnyId(_) => match self.first {
                Arg::Known(id) => {
                    view.tags().sources(id).for_each(&mut *add);
                    if let Some(component) = view.component_of(id) {
                        view.with_component(component, add);
                    }
                }
                Arg::Component(component) => view.with_component(component, add),
                Arg::Free | Arg::Any => view.every_entity(add),
                Arg::Nothing => {}
            },
            IdOp::Pair { relation, target_walk, .. } => {
                let first = self.first;
                let mut of_relation = |known: KnownRelation| self.holders_of_pair(known, *target_walk, add);
                let stored = KnownRelation::stored;
                match (relation, first) {
                    (RelationOp::Known(known), _) => known.iter().for_each(|&known| of_relation(known)),
                    (RelationOp::Free(_), Arg::Known(relation)) => {
                        view.store
                            .registry()
                            .of_entity(relation)
                            .into_iter()
                            .map(stored)
                            .for_each(of_relation);
                    }
                    (RelationOp::Free(_), Arg::Free | Arg::Any) => {
                        view.relations().map(stored).for_each(of_relation);
                    }
                    (RelationOp::Free(_), Arg::Component(_) | Arg::Nothing) => {}
                }
            }
        }
    }

    fn holders_of_pair(
        &mut self,
        known: KnownRelation,
        target_walk: Option<Walk>,
        add: &mut dyn FnMut(Entity),
    ) {
        let view = self.view;
        let id = known.id;
        match self.second {
            Arg::Known(target) => {
                let AtomBuffers { around, reach, steps, .. } = &mut *self.buffers;
                let (relation, direction, limits) = match target_walk {
                    Some(walk) => (walk.relation, walk.direction(), walk.limits()),
                    None => (id, Direction::Targets, Limits { min: 0, max: 0 }),
                };
                let (around, reach) = (around.get_or_insert_default(), reach.get_or_insert_default());
                around.run(&view, relation, direction, target, limits, |target, _| {
                    *steps += 1;
                    if !(known.transitive || known.reflexive) {
                        view.sources(id, target).for_each(&mut *add);
                        return None::<()>;
                    }
                    let limits = Limits { min: 0, max: if known.transitive { u32::MAX } else { 1 } };
                    reach.run(&view, id, Direction::Sources, target, limits, |entity, _| {
                        *steps += 1;
                        add(entity);
                        None
                    })
                });
            }
            Arg::Free | Arg::Any if known.reflexive => view.every_entity(add),
            Arg::Free | Arg::Any => {
                for (target, _) in view.index(id).targets_with_sources() {
                    view.index(id).sources(target).for_each(&mut *add);
                }
            }
            Arg::Component(_) | Arg::Nothing => {}
        }
    }

    /// Every way for one source.
    fn of_source(&mut self, source: Entity, emit: &mut dyn FnMut(Found) -> Flow) -> Flow {
        if !self.view.is_alive(source) {
            return Flow::Continue(());
        }
        let mut emit = |way: Found| emit(Found { source: Datum::new(source), ..way });
        let Some(walk) = self.op.walk else { return self.on(source, &mut emit).1 };
        let subtypes = self.op.variants();
        let any = self.second == Arg::Any && matches!(self.op.id, IdOp::Pair { .. });
        if !walk.all {
            // Each subtype is looked up on its own; one is enough for `_`.
            for subtype in 0..subtypes {
                self.subtype = Some(subtype);
                let (found, flow) = self.around(source, walk, &mut emit);
                if flow.is_break() || (found && any) {
                    return flow;
                }
            }
            return Flow::Continue(());
        }
        // Several of those above may inherit from one holder.
        let repeats = self.op.shared || (any && subtypes > 1);
        let mut found = Vec::new();
        let mut emit = |way: Found| {
            let same = |old: &Found| if any { old.holder == way.holder } else { *old == way };
            if repeats && found.iter().any(same) {
                return Flow::Continue(());
            }
            if repeats {
                found.push(way);
            }
            emit(way)
        };
        (0..subtypes).try_for_each(|subtype| {
            self.subtype = Some(subtype);
            self.around(source, walk, &mut emit).1
        })
    }

    /// Every way around a source: on the first holder, or on all.
    fn around(&mut self, source: Entity, walk: Walk, emit: &mut dyn FnMut(Found) -> Flow) -> (bool, Flow) {
        let (view, limits) = (self.view, walk.limits());
        let mut any = false;
        let mut searcher = self.buffers.up.take().unwrap_or_default();
        self.buffers.tried.clear();
        let end = searcher.run(&view, walk.relation, walk.direction(), source, limits, |holder, depth| {
            if self.step().is_break() {
                return Some(Flow::Break(()));
            }
            let (found, flow) = match depth {
                0 if walk.own => self.on(holder, emit),
                0 => return None,
                _ if depth < walk.min => return None,
                // An entity at several distances has the same at each.
                _ if limits.matter() && !self.buffers.tried.insert(holder) => return None,
                _ if self.op.shared && walk.relation != IS_A => self.on_or_above(holder, emit),
                _ => self.on(holder, emit),
            };
            any |= found;
            (flow.is_break() || (found && !walk.all)).then_some(flow)
        });
        self.buffers.up = Some(searcher);
        (any, end.unwrap_or(Flow::Continue(())))
    }

    /// Every way on one entity; if there is none, on the first of its bases that has one.
    fn on_or_above(&mut self, entity: Entity, emit: &mut dyn FnMut(Found) -> Flow) -> (bool, Flow) {
        let view = self.view;
        let mut result = (false, Flow::Continue(()));
        let mut searcher = self.buffers.bases.take().unwrap_or_default();
        searcher.run(&view, IS_A, Direction::Targets, entity, Limits::FROM_SELF, |base, _| {
            result = self.on(base, emit);
            (result.0 || result.1.is_break() || self.step().is_break()).then_some(())
        });
        self.buffers.bases = Some(searcher);
        result
    }

    /// Every way on one entity itself. Also returns whether there is one.
    fn on(&mut self, holder: Entity, emit: &mut dyn FnMut(Found) -> Flow) -> (bool, Flow) {
        let found = Cell::new(false);
        let way = Found {
            source: Datum::UNSET,
            first: Datum::UNSET,
            second: Datum::UNSET,
            holder: Datum::new(holder),
        };
        let mut emit = |way: Found| {
            found.set(true);
            emit(way)
        };
        let view = self.view;
        let subtype = self.subtype;
        let flow = match &self.op.id {
            IdOp::Components(components) => only(components, subtype)
                .iter()
                .filter(|&&component| view.has_component(holder, component))
                .try_for_each(|&component| emit(Found { first: view.value_of_component(component), ..way })),
            // Subtypes of a tag may be components, and the other way round.
            IdOp::Tags(tags) => only(tags, subtype)
                .iter()
                .filter(|&&tag| {
                    view.has_tag(holder, tag) || (tags.len() > 1 && view.has_as_component(holder, tag))
                })
                .try_for_each(|&tag| emit(Found { first: Datum::new(tag), ..way })),
            IdOp::AnyId(_) => self.ids_on(way, holder, &mut emit),
            IdOp::Pair { relation: RelationOp::Known(known), .. } => {
                only(known, subtype).iter().try_for_each(|&known| {
                    // One way is enough for `_`, whatever the subtype.
                    if self.second == Arg::Any && found.get() {
                        return Flow::Continue(());
                    }
                    self.pairs_on(way, holder, known, &mut emit)
                })
            }
            IdOp::Pair { .. } => self.pairs_of_any_relation(way, holder, &mut emit),
        };
        (found.get(), flow)
    }

    /// `*`, `_` or a variable for an id that is no pair.
    fn ids_on(&mut self, way: Found, holder: Entity, emit: &mut dyn FnMut(Found) -> Flow) -> Flow {
        let view = self.view;
        let lists = |component| !self.internal.contains(&component) && view.has_component(holder, component);
        // What is given to a variable is no more than what it would find.
        let given = match self.first {
            // Also if it has nothing.
            Arg::Any => return emit(way),
            Arg::Free => {
                let components = view.components_on(holder).iter();
                let listed = components.filter(|component| !self.internal.contains(component));
                let mut ids = listed
                    .map(|&component| view.value_of_component(component))
                    .chain(view.tags().targets(holder).map(Datum::new));
                return ids.try_for_each(|first| emit(Found { first, ..way }));
            }
            Arg::Nothing => None,
            Arg::Component(component) => lists(component).then(|| Datum::component(component)),
            Arg::Known(id) => {
                let has = view.has_tag(holder, id) || view.component_of(id).is_some_and(lists);
                has.then(|| Datum::new(id))
            }
        };
        given.map_or(Flow::Continue(()), |first| emit(Found { first, ..way }))
    }

    /// Pairs of which the relation is `*`, `_` or a variable. Such a relation is neither transitive nor reflexive.
    fn pairs_of_any_relation(
        &mut self,
        way: Found,
        holder: Entity,
        emit: &mut dyn FnMut(Found) -> Flow,
    ) -> Flow {
        let view = self.view;
        match self.first {
            Arg::Known(relation) => match view.store.registry().of_entity(relation) {
                Some(id) => self.pairs_on(way, holder, KnownRelation::stored(id), emit),
                None => Flow::Continue(()),
            },
            Arg::Free => view
                .store
                .relations_of(holder)
                .try_for_each(|id| self.pairs_on(way, holder, KnownRelation::stored(id), emit)),
            Arg::Any => {
                let mut met = core::mem::take(&mut self.buffers.met);
                met.clear();
                let mut relations = view.store.relations_of(holder);
                let free = self.second == Arg::Free;
                let flow = relations.try_for_each(|id| {
                    let mut any = false;
                    let flow = self.pairs_on(way, holder, KnownRelation::stored(id), &mut |way| {
                        if way.second.entity().is_some_and(|target| free && !met.insert(target)) {
                            return Flow::Continue(());
                        }
                        any = true;
                        emit(Found { first: Datum::UNSET, ..way })
                    });
                    // One way is enough, unless the targets are wanted.
                    if any && !free && flow.is_continue() { Err(Flow::Continue(())) } else { stop(flow) }
                });
                self.buffers.met = met;
                flow.err().unwrap_or(Flow::Continue(()))
            }
            Arg::Component(_) | Arg::Nothing => Flow::Continue(()),
        }
    }

    /// Pairs of one relation.
    fn pairs_on(
        &mut self,
        way: Found,
        holder: Entity,
        known: KnownRelation,
        emit: &mut dyn FnMut(Found) -> Flow,
    ) -> Flow {
        let view = self.view;
        let KnownRelation { id, transitive, reflexive } = known;
        let way = Found { first: Datum::new(view.store.registry().entry(id).entity), ..way };
        match self.second {
            Arg::Known(target) => self.pairs_with(way, holder, known, target, emit),
            Arg::Any if view.index(id).has_any(holder) || reflexive => emit(way),
            Arg::Free => {
                // A pair with itself that is stored will be found anyway.
                if reflexive && !view.index(id).has(holder, holder) {
                    emit(Found { second: way.holder, ..way })?;
                }
                if transitive {
                    let mut searcher = self.buffers.reach.take().unwrap_or_default();
                    let limits = Limits::FROM_SELF;
                    let end = searcher.run(&view, id, Direction::Targets, holder, limits, |target, depth| {
                        if depth == 0 {
                            return None;
                        }
                        if self.step().is_break() {
                            return Some(Flow::Continue(()));
                        }
                        let flow = emit(Found { second: Datum::new(target), ..way });
                        flow.is_break().then_some(flow)
                    });
                    self.buffers.reach = Some(searcher);
                    end.unwrap_or(Flow::Continue(()))?;
                } else {
                    let mut targets = view.targets(id, holder);
                    targets.try_for_each(|target| emit(Found { second: Datum::new(target), ..way }))?;
                }
                Flow::Continue(())
            }
            Arg::Any | Arg::Component(_) | Arg::Nothing => Flow::Continue(()),
        }
    }

    /// The pair of one relation with a target, or with what is reached from the target.
    fn pairs_with(
        &mut self,
        way: Found,
        holder: Entity,
        known: KnownRelation,
        target: Entity,
        emit: &mut dyn FnMut(Found) -> Flow,
    ) -> Flow {
        let view = self.view;
        let IdOp::Pair { target_walk, .. } = &self.op.id else { return Flow::Continue(()) };
        let Some(walk) = *target_walk else {
            let found = self.has(known, holder, target);
            return if found {
                emit(Found { second: Datum::new(target), ..way })
            } else {
                Flow::Continue(())
            };
        };
        let limits = walk.limits();
        let mut searcher = self.buffers.around.take().unwrap_or_default();
        self.buffers.tried_targets.clear();
        let end = searcher.run(&view, walk.relation, walk.direction(), target, limits, |target, depth| {
            if if depth == 0 { !walk.own } else { depth < walk.min } {
                return None;
            }
            if self.step().is_break() {
                return Some(Flow::Continue(()));
            }
            // An entity at several distances counts once.
            if limits.matter() && !self.buffers.tried_targets.insert(target) {
                return None;
            }
            let flow = match self.has(known, holder, target) {
                true => emit(Found { second: Datum::new(target), ..way }),
                false => Flow::Continue(()),
            };
            flow.is_break().then_some(flow)
        });
        self.buffers.around = Some(searcher);
        end.unwrap_or(Flow::Continue(()))
    }

    /// Whether the pair is stored, or follows from others.
    fn has(&mut self, known: KnownRelation, source: Entity, target: Entity) -> bool {
        let view = self.view;
        if (known.reflexive && source == target) || view.index(known.id).has(source, target) {
            return true;
        }
        if !known.transitive {
            return false;
        }
        let (found, steps) = self.buffers.leads.reaches(&view, known.id, source, target);
        self.buffers.steps += steps;
        found
    }

    /// Counts a step; a break if there are no more.
    pub(super) fn step(&mut self) -> Flow {
        self.buffers.steps += 1;
        if self.buffers.is_over() { Flow::Break(()) } else { Flow::Continue(()) }
    }
}

/// One of them, or all.
fn only<T>(all: &[T], one: Option<usize>) -> &[T] {
    match one {
        Some(one) => all.get(one..=one).unwrap_or_default(),
        None => all,
    }
}

/// A break of `flow` as an error, to end a loop with it.
fn stop(flow: Flow) -> Result<(), Flow> {
    if flow.is_break() { Err(flow) } else { Ok(()) }
}
