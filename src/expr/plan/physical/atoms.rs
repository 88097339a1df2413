//! Operations for terms that ask for an id.

use super::{
    AtomOp, Column, Compute, HolderSearch, HolderTest, IdOp, KnownRelation, MaskSpec, Operand, Pipeline,
    Position, Predicate, Produce, RelationOp, Walk, lower::Lowering,
};
use crate::{
    expr::{
        bind::{Atom, AtomId, BoundElement, BoundTraversal, PairAtom, Var, VarSet},
        plan::reorder::Bound,
    },
    id::RelationId,
    relation::IS_A,
};
use bevy_ecs::{component::ComponentId, entity::Entity};
use smallvec::SmallVec;

impl Lowering<'_, '_> {
    fn walk(&self, traversal: BoundTraversal) -> Option<Walk> {
        let BoundTraversal { relation, down, all, own, min, max } = traversal;
        Some(Walk { relation: self.relation(relation)?, down, all, own, min, max })
    }

    /// The operation for a term. `None` if it can never hold.
    fn atom_op(&self, atom: &Atom, bound: &VarSet) -> Option<AtomOp> {
        Some(AtomOp {
            source: self.position(atom.source, bound),
            id: self.id_op(atom, bound)?,
            walk: match atom.traversal {
                Some(traversal) => Some(self.walk(traversal)?),
                None => None,
            },
            shared: atom.shared,
            id_out: None,
            target_out: None,
            holder_out: None,
        })
    }

    fn id_op(&self, atom: &Atom, bound: &VarSet) -> Option<IdOp> {
        // A type may have become a component since the expression was compiled.
        let late = match atom.id {
            AtomId::Tag(tag) => self.view.component_of(tag).map(AtomId::Component),
            _ => None,
        };
        Some(match late.unwrap_or(atom.id) {
            AtomId::Component(component) => self.component_op(component, atom.subtypes),
            AtomId::Tag(tag) if atom.subtypes => IdOp::Tags(self.view.subtypes(tag)),
            AtomId::Tag(tag) => IdOp::Tags(SmallVec::from_elem(tag, 1)),
            AtomId::AnyId(id) => IdOp::AnyId(self.position(id, bound)),
            AtomId::Pair(pair) => IdOp::Pair {
                relation: self.relation_op(pair, atom.subtypes, bound),
                target: self.position(pair.target, bound),
                target_walk: match pair.target_traversal {
                    Some(traversal) => Some(self.walk(traversal)?),
                    None => None,
                },
            },
        })
    }

    fn component_op(&self, component: ComponentId, with_subtypes: bool) -> IdOp {
        let mut components: SmallVec<[ComponentId; 1]> = SmallVec::from_elem(component, 1);
        if let Some(entity) = self.view.value_of_component(component).entity().filter(|_| with_subtypes) {
            let subtypes = self.view.subtypes::<[Entity; 1]>(entity);
            let of_subtypes = subtypes.iter().skip(1).map(|&subtype| self.view.component_of(subtype));
            if of_subtypes.clone().any(|component| component.is_none()) {
                // Some are tags.
                return IdOp::Tags(subtypes);
            }
            components.extend(of_subtypes.flatten());
        }
        IdOp::Components(components)
    }

    fn relation_op(&self, pair: PairAtom, with_subtypes: bool, bound: &VarSet) -> RelationOp {
        let BoundElement::Entity(relation) = pair.relation else {
            return RelationOp::Free(self.position(pair.relation, bound));
        };
        let relations = match with_subtypes {
            true => self.view.subtypes::<[Entity; 4]>(relation),
            false => SmallVec::from_elem(relation, 1),
        };
        let known = relations.iter().filter_map(|&relation| self.relation(relation)).map(|id| {
            let traits = &self.view.store.registry().entry(id).traits;
            KnownRelation {
                id,
                transitive: pair.closed && traits.is_transitive(),
                reflexive: pair.closed && traits.is_reflexive(),
            }
        });
        RelationOp::Known(known.collect())
    }

    /// Gives each occurrence of an unbound variable but the first a column of its own, which must be the same.
    fn part_repeated(&mut self, op: &mut AtomOp) -> SmallVec<[Predicate; 2]> {
        let mut seen: SmallVec<[Column; 3]> = SmallVec::new();
        let mut same = SmallVec::new();
        let AtomOp { source, id, .. } = op;
        let mut positions: SmallVec<[&mut Position; 3]> = SmallVec::new();
        positions.push(source);
        match id {
            IdOp::Components(_) | IdOp::Tags(_) => {}
            IdOp::AnyId(id) => positions.push(id),
            IdOp::Pair { relation, target, .. } => {
                if let RelationOp::Free(relation) = relation {
                    positions.push(relation);
                }
                positions.push(target);
            }
        }
        for position in positions {
            let Position::Out(column) = *position else { continue };
            if seen.contains(&column) {
                let other = self.new_column();
                *position = Position::Out(other);
                same.push(Predicate::Same { left: column, right: other });
            } else {
                seen.push(column);
            }
        }
        same
    }

    /// A term that must hold. Adds what it binds to `bound`.
    pub(super) fn match_and(
        &mut self,
        pipeline: &mut Pipeline,
        atom: &Atom,
        field: Option<u16>,
        bound: &mut Bound,
    ) {
        self.bind_walked(pipeline, atom, bound);
        let Some(mut op) = self.atom_op(atom, &bound.set) else {
            // Other terms read what this one binds, though no row comes so far.
            let out = atom.vars().filter(|&var| bound.set.insert(var)).map(|var| var.0).collect();
            pipeline.add(Produce::Nothing { out });
            return self.shape(field, atom, Some(&AtomOp::plain()));
        };
        let same = self.part_repeated(&mut op);
        if !self.simple_and(pipeline, &op) && !self.climb(pipeline, &mut op) {
            op.holder_out = op.walk.is_some().then(|| self.new_column());
            op.id_out = op.has_variants().then(|| self.new_column());
            if let IdOp::Pair { target: Position::Known(_), target_walk: Some(_), .. } = op.id {
                op.target_out = Some(self.new_column());
            }
            if op.is_test() {
                pipeline.last().push(semi_join(op.clone(), false));
            } else {
                pipeline.add(Produce::Atom(op.clone()));
            }
        }
        pipeline.last().extend(same);
        let new_this = atom.vars().any(|var| var == Var::THIS) && !bound.set.contains(Var::THIS);
        let scanned = matches!(pipeline.last().produce, Produce::Scan { out: 0, .. });
        atom.vars().for_each(|var| {
            bound.set.insert(var);
        });
        if new_this && !scanned {
            self.hide(pipeline);
        }
        self.shape(field, atom, Some(&op));
    }

    /// Binds what has to be known for a walk to be one: the source, if it is also in the id that the holder must
    /// have, and the target, if those around it count as well.
    fn bind_walked(&mut self, pipeline: &mut Pipeline, atom: &Atom, bound: &mut Bound) {
        if let Some(source) = atom.source.var()
            && atom.traversal.is_some()
            && atom.vars().skip(1).any(|var| var == source)
        {
            self.bind_all(pipeline, source, bound);
        }
        if let AtomId::Pair(PairAtom {
            target: BoundElement::Var(target), target_traversal: Some(_), ..
        }) = atom.id
        {
            self.bind_all(pipeline, target, bound);
        }
    }

    /// The operations of the most frequent kinds of terms. False if `op` is of none of them.
    fn simple_and(&mut self, pipeline: &mut Pipeline, op: &AtomOp) -> bool {
        if op.walk.is_some() || op.has_variants() {
            return false;
        }
        match (&op.id, op.source) {
            (IdOp::Components(components), Position::Known(entity)) => {
                let with = components.iter().copied().collect();
                let spec = MaskSpec { with, without: SmallVec::new() };
                self.filter_mask(pipeline, entity, spec);
            }
            (IdOp::Components(components), Position::Out(column)) => {
                self.scan(pipeline, Var(column), components.first().copied());
            }
            (IdOp::Tags(tags), source) => {
                let Some(&tag) = tags.first() else { return false };
                match source {
                    Position::Known(source) => {
                        pipeline.last().push(Predicate::HasTag { source, tag, negated: false });
                    }
                    Position::Out(out) => pipeline.add(Produce::Tagged { tag, out }),
                    Position::Any => return false,
                }
            }
            (IdOp::Pair { relation: RelationOp::Known(known), target, target_walk: None }, source) => {
                let Some(&known) = known.first() else { return false };
                return self.simple_pair(pipeline, known, source, *target);
            }
            _ => return false,
        }
        true
    }

    /// A walk up an acyclic relation to the nearest holder. False if `op` is something else.
    fn climb(&mut self, pipeline: &mut Pipeline, op: &mut AtomOp) -> bool {
        let Some(walk @ Walk { relation, down: false, all: false, own, .. }) = op.walk else { return false };
        let index = self.view.index(relation);
        // With several targets, the distances at which an entity is met make a difference.
        let exclusive = index.is_exclusive();
        if !(index.is_acyclic() && (exclusive || !walk.limits().matter()))
            || op.has_variants()
            || (op.shared && relation != IS_A)
        {
            return false;
        }
        let source = match op.source {
            Position::Known(source) => source,
            // What is above something is found by way of what is below: each source comes once.
            Position::Out(source) if !own && exclusive => Operand::Column(source),
            Position::Out(_) | Position::Any => return false,
        };
        let test = match &op.id {
            IdOp::Components(components) => {
                let with = components.iter().copied().collect();
                HolderTest::Mask(self.new_mask(MaskSpec { with, without: SmallVec::new() }))
            }
            IdOp::Tags(tags) => HolderTest::Tag(tags[0]),
            IdOp::AnyId(_) | IdOp::Pair { .. } => return false,
        };
        if let Position::Out(source) = op.source {
            let target = self.new_column();
            pipeline.add(Produce::Pairs { relation, source, target });
        }
        let out = self.new_column();
        op.holder_out = Some(out);
        pipeline.last().push(Compute::Holder { search: HolderSearch { walk, test }, source, out });
        true
    }

    fn simple_pair(
        &mut self,
        pipeline: &mut Pipeline,
        known: KnownRelation,
        source: Position,
        target: Position,
    ) -> bool {
        let KnownRelation { id: relation, transitive, reflexive } = known;
        let exclusive = self.view.index(relation).is_exclusive();
        match (source, target) {
            (Position::Out(out), Position::Known(target)) if transitive => {
                pipeline.add(Produce::Descendants { relation, target, out, reflexive });
            }
            _ if transitive || reflexive => return false,
            (Position::Known(source), Position::Known(target)) => {
                pipeline.last().push(has_pair(relation, source, target, false));
            }
            (Position::Known(source), Position::Any) => {
                pipeline.last().push(Predicate::HasAny { relation, source, negated: false });
            }
            (Position::Known(source), Position::Out(out)) if exclusive => {
                pipeline.last().push(Compute::Target { relation, source, out });
            }
            (Position::Known(source), Position::Out(out)) => {
                pipeline.add(Produce::Targets { relation, source, out });
            }
            (Position::Out(out), Position::Known(target)) => {
                pipeline.add(Produce::Sources { relation, target, out });
            }
            (Position::Out(source), Position::Any) => {
                let target = self.new_column();
                pipeline.add(Produce::Pairs { relation, source, target });
                if !exclusive {
                    // Each source once: with the first of its targets.
                    let first = self.new_column();
                    let source = Operand::Column(source);
                    pipeline.last().push(Compute::Target { relation, source, out: first });
                    pipeline.last().push(Predicate::Same { left: target, right: first });
                }
            }
            (Position::Out(source), Position::Out(target)) => {
                pipeline.add(Produce::Pairs { relation, source, target });
            }
            _ => return false,
        }
        true
    }

    /// A test of one row that binds nothing: whether the term holds, or that it does not. The source is bound.
    pub(super) fn match_test(&mut self, atom: &Atom, negated: bool, bound: &VarSet) -> Predicate {
        let Some(op) = self.atom_op(atom, bound) else {
            return Predicate::SemiJoin { atom: AtomOp::never(), negated };
        };
        let plain = op.walk.is_none() && !op.has_variants();
        match (&op.id, op.source) {
            (IdOp::Components(components), Position::Known(entity)) if plain => {
                let ids = components.iter().copied();
                let spec = if negated {
                    MaskSpec { with: SmallVec::new(), without: ids.collect() }
                } else {
                    MaskSpec { with: ids.collect(), without: SmallVec::new() }
                };
                Predicate::Mask { mask: self.new_mask(spec), entity }
            }
            (IdOp::Tags(tags), Position::Known(source)) if plain => {
                Predicate::HasTag { source, tag: tags[0], negated }
            }
            (
                IdOp::Pair { relation: RelationOp::Known(known), target, target_walk: None },
                Position::Known(source),
            ) if plain
                && matches!(known[..], [KnownRelation { transitive: false, reflexive: false, .. }]) =>
            {
                let relation = known[0].id;
                match *target {
                    Position::Known(target) => has_pair(relation, source, target, negated),
                    Position::Out(_) | Position::Any => Predicate::HasAny { relation, source, negated },
                }
            }
            _ => semi_join(op, negated),
        }
    }
}

/// Whether a term holds. There is a quicker way over a transitive or reflexive relation, if both ends are known, and if the
/// relation is any.
fn semi_join(atom: AtomOp, negated: bool) -> Predicate {
    match (&atom.id, atom.source, atom.walk) {
        (
            IdOp::Pair {
                relation: RelationOp::Free(Position::Out(_) | Position::Any),
                target: Position::Out(_) | Position::Any,
                target_walk: None,
            },
            Position::Known(source),
            None,
        ) => Predicate::HasAnyRelation { source, target: None, negated },
        (
            IdOp::Pair {
                relation: RelationOp::Free(Position::Out(_) | Position::Any),
                target: Position::Known(Operand::Entity(target)),
                target_walk: None,
            },
            Position::Known(source),
            None,
        ) => Predicate::HasAnyRelation { source, target: Some(*target), negated },
        (
            IdOp::Pair {
                relation: RelationOp::Known(known),
                target: Position::Known(target),
                target_walk: None,
            },
            Position::Known(source),
            None,
        ) if known.len() == 1 => Predicate::Reaches { relation: known[0], source, target: *target, negated },
        _ => Predicate::SemiJoin { atom, negated },
    }
}

fn has_pair(relation: RelationId, source: Operand, target: Operand, negated: bool) -> Predicate {
    Predicate::HasPair { relation, source, target, negated }
}

impl AtomOp {
    /// One that is not wanted for itself, only that there is one.
    pub(super) fn plain() -> Self {
        Self::never()
    }

    /// It never holds.
    fn never() -> Self {
        Self {
            source: Position::Any,
            id: IdOp::Components(SmallVec::new()),
            walk: None,
            shared: false,
            id_out: None,
            target_out: None,
            holder_out: None,
        }
    }

    /// Number of ids of which one is found: subtypes.
    pub(crate) fn variants(&self) -> usize {
        match &self.id {
            IdOp::Components(ids) => ids.len(),
            IdOp::Tags(tags) => tags.len(),
            IdOp::Pair { relation: RelationOp::Known(relations), .. } => relations.len(),
            _ => 1,
        }
    }

    /// Whether one of several ids is found.
    pub(crate) fn has_variants(&self) -> bool {
        self.variants() > 1
    }

    /// Whether it finds at most one way, and writes nothing.
    fn is_test(&self) -> bool {
        let is_out = |position: Position| position.out().is_some();
        let free = match &self.id {
            IdOp::Components(_) | IdOp::Tags(_) => false,
            IdOp::AnyId(id) => is_out(*id),
            IdOp::Pair { relation, target, .. } => {
                is_out(*target) || matches!(relation, RelationOp::Free(relation) if is_out(*relation))
            }
        };
        !free
            && !is_out(self.source)
            && self.id_out.is_none()
            && self.target_out.is_none()
            && self.holder_out.is_none()
    }
}
