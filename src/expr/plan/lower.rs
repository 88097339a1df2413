//! From terms to operations.

use super::{
    AtomOp, Column, Comparison, FieldPlan, FieldShape, Filter, IdOp, KnownRelation, MaskSpec, MemberOp,
    Operand, Pipeline, Plan, Position, Produce, RelationOp, ShapeElement, ShapeId, Walk, estimate::Estimate,
};
use crate::{
    expr::{
        bound::{Atom, AtomId, BoundQuery, Comparand, Element, MemberAtom, PairAtom, Traversal, Var, VarSet},
        exec::{View, internal_markers},
    },
    id::RelationId,
    relation::{IS_A, TAGGED},
};
use alloc::{vec, vec::Vec};
use bevy_ecs::{component::ComponentId, entity::Entity};
use smallvec::SmallVec;

/// Which variables have a value.
#[derive(Clone, Default)]
pub(super) struct Bound {
    pub(super) set: VarSet,
    /// Those that have none in some rows.
    pub(super) maybe: VarSet,
}

/// Makes a plan of a query.
pub(super) struct Lowering<'a, 'w> {
    pub(super) query: &'a BoundQuery,
    pub(super) view: &'a View<'w>,
    pub(super) masks: Vec<MaskSpec>,
    pub(super) fields: Vec<FieldPlan>,
    pub(super) columns: Column,
    pub(super) stages: usize,
    /// What every entity has that `$this` can be; that any entity has.
    visible: [MaskSpec; 2],
}

/// Makes the plan of a query. The `preset` variables are given a value before each run; `rows` tells whether anything
/// of the rows is wanted, beside their number.
pub(crate) fn lower(query: &BoundQuery, view: &View<'_>, preset: &VarSet, rows: bool) -> Plan {
    // Values that are given are kept beside the variables too, for those that are compared at the end.
    let given = if *preset == VarSet::default() { 1 } else { 2 };
    let columns = query.variables.len() as Column * given;
    let internal: SmallVec<[ComponentId; 8]> = internal_markers(view.world).collect();
    let mut lowering = Lowering {
        query,
        view,
        masks: Vec::new(),
        fields: vec![FieldPlan::default(); query.fields.len()],
        columns,
        stages: 0,
        visible: [
            MaskSpec { with: SmallVec::new(), without: query.hidden.iter().copied().collect() },
            MaskSpec { with: SmallVec::new(), without: internal },
        ],
    };
    let mut bound = Bound::default();
    let mut pipeline = lowering.whole(preset, &mut bound);
    let mut wanted: Vec<Column> = Vec::new();
    if rows || query.cascade.is_some() {
        let named = query.variables.iter().enumerate().filter(|(_, variable)| !variable.local);
        wanted.extend(named.map(|(var, _)| var as Column).filter(|&var| bound.set.contains(Var(var))));
        wanted.extend(columns..lowering.columns);
        let written = pipeline.written();
        wanted.retain(|column| written.contains(column) || preset.contains(Var(*column)));
    }
    pipeline.finish(&wanted);
    let mut stages = 0;
    pipeline.number(&mut stages);
    Plan {
        pipeline,
        masks: lowering.masks,
        fields: lowering.fields,
        columns: lowering.columns as usize,
        stages,
        cascade: query.cascade,
        wanted,
        has_this: bound.set.contains(Var::THIS),
    }
}

impl Lowering<'_, '_> {
    pub(super) fn estimate(&self) -> Estimate<'_, '_> {
        Estimate { view: self.view }
    }

    pub(super) fn new_column(&mut self) -> Column {
        self.columns += 1;
        self.columns - 1
    }

    fn new_mask(&mut self, spec: MaskSpec) -> usize {
        match self.masks.iter().position(|known| *known == spec) {
            Some(mask) => mask,
            None => {
                self.masks.push(spec);
                self.masks.len() - 1
            }
        }
    }

    fn relation(&self, relation: Entity) -> Option<RelationId> {
        self.view.store.registry.of_entity(relation)
    }

    /// Hides what `$this` cannot be, after it was bound.
    pub(super) fn hide(&mut self, pipeline: &mut Pipeline) {
        let spec = self.visible[0].clone();
        self.filter_mask(pipeline, Operand::Column(0), spec);
    }

    /// Binds a variable to every entity.
    pub(super) fn scan(&mut self, pipeline: &mut Pipeline, var: Var, with: Option<ComponentId>) {
        let this = var == Var::THIS;
        let mut spec = if this {
            self.visible[0].clone()
        } else if with.is_some() {
            MaskSpec::default()
        } else {
            self.visible[1].clone()
        };
        spec.with.extend(with);
        let mask = self.new_mask(spec);
        pipeline.add(Produce::Scan { mask, out: var.0 });
    }

    /// Keeps rows in which the archetype of an entity fits, by what looks at its archetype already if that is
    /// possible.
    pub(super) fn filter_mask(&mut self, pipeline: &mut Pipeline, entity: Operand, spec: MaskSpec) {
        let stage = pipeline.last();
        let scan = match &mut stage.produce {
            Produce::Scan { mask, out } if entity == Operand::Column(*out) => Some(mask),
            _ => None,
        };
        let mut filters = stage.filters.iter_mut();
        let tested = scan.or_else(|| {
            filters.find_map(|filter| match filter {
                Filter::Mask { mask, entity: other } if *other == entity => Some(mask),
                _ => None,
            })
        });
        match tested {
            Some(mask) => {
                let mut merged = self.masks[*mask].clone();
                merged.with.extend(spec.with);
                merged.without.extend(spec.without);
                // Masks are shared; this one may be another's too.
                self.masks.push(merged);
                *mask = self.masks.len() - 1;
            }
            None => {
                let mask = self.new_mask(spec);
                pipeline.last().filters.push(Filter::Mask { mask, entity });
            }
        }
    }

    fn position(&self, element: Element, bound: &VarSet) -> Position {
        match element {
            Element::Singleton(component) => {
                let entity = self.view.world.resource_entities().get(component);
                // Nobody has anything while there is no such resource.
                Position::Known(Operand::Entity(entity.unwrap_or(Entity::PLACEHOLDER)))
            }
            Element::Entity(entity) => Position::Known(Operand::Entity(entity)),
            Element::Var(var) if bound.contains(var) => Position::Known(Operand::Column(var.0)),
            Element::Var(var) => Position::Out(var.0),
            Element::Any => Position::Any,
        }
    }

    fn walk(&self, traversal: Traversal) -> Option<Walk> {
        let Traversal { relation, down, all, own, min, max } = traversal;
        Some(Walk { relation: self.relation(relation)?, down, all, own, min, max })
    }

    /// An entity and everything that is a kind of it.
    fn subtypes<T: smallvec::Array<Item = Entity>>(&self, of: Entity) -> SmallVec<T> {
        let index = self.view.index(IS_A);
        let mut found: SmallVec<T> = SmallVec::new();
        found.push(of);
        let mut at = 0;
        while let Some(&entity) = found.get(at) {
            for subtype in index.sources(entity) {
                if !found.contains(&subtype) {
                    found.push(subtype);
                }
            }
            at += 1;
        }
        found
    }

    /// The operation for a term. `None` if it can never hold.
    fn atom_op(&self, atom: &Atom, bound: &VarSet) -> Option<AtomOp> {
        let source = self.position(atom.source, bound);
        let id = match atom.id {
            AtomId::Component(component) => {
                let mut components: SmallVec<[ComponentId; 1]> = SmallVec::new();
                components.push(component);
                let entity = self.view.value_of_component(component).entity();
                if atom.subtypes
                    && let Some(entity) = entity
                {
                    let subtypes = self.subtypes::<[Entity; 4]>(entity);
                    components.extend(subtypes.iter().skip(1).filter_map(|&e| self.view.component_of(e)));
                }
                IdOp::Components(components)
            }
            AtomId::Tag(tag) if atom.subtypes => IdOp::Tags(self.subtypes(tag)),
            AtomId::Tag(tag) => IdOp::Tags(SmallVec::from_elem(tag, 1)),
            AtomId::AnyId(id) => IdOp::AnyId(self.position(id, bound)),
            AtomId::Pair(pair) => {
                let relation = match pair.relation {
                    Element::Entity(relation) => {
                        let relations = if atom.subtypes {
                            self.subtypes::<[Entity; 4]>(relation)
                        } else {
                            SmallVec::from_elem(relation, 1)
                        };
                        let known = relations.iter().filter_map(|&relation| self.relation(relation));
                        let traits = |id| &self.view.store.registry.entry(id).traits;
                        let known = known.map(|id| KnownRelation {
                            id,
                            transitive: pair.closed && traits(id).is_transitive(),
                            reflexive: pair.closed && traits(id).is_reflexive(),
                        });
                        RelationOp::Known(known.collect())
                    }
                    element => RelationOp::Free(self.position(element, bound)),
                };
                IdOp::Pair {
                    relation,
                    target: self.position(pair.target, bound),
                    target_walk: match pair.target_traversal {
                        Some(traversal) => Some(self.walk(traversal)?),
                        None => None,
                    },
                }
            }
        };
        let walk = match atom.traversal {
            Some(traversal) => Some(self.walk(traversal)?),
            None => None,
        };
        let op = AtomOp {
            source,
            id,
            walk,
            shared: atom.shared,
            id_out: None,
            target_out: None,
            holder_out: None,
        };
        Some(op)
    }

    /// Gives each occurrence of an unbound variable but the first a column of its own, which must be the same.
    fn part_repeated(&mut self, op: &mut AtomOp) -> SmallVec<[Filter; 2]> {
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
                same.push(Filter::Same { left: column, right: other });
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
        let Some(mut op) = self.atom_op(atom, &bound.set) else {
            atom.vars().for_each(|var| {
                bound.set.insert(var);
            });
            return pipeline.last().filters.push(Filter::Nothing);
        };
        let same = self.part_repeated(&mut op);
        if !self.simple_and(pipeline, &op) {
            op.holder_out = op.walk.is_some().then(|| self.new_column());
            op.id_out = op.has_variants().then(|| self.new_column());
            if let IdOp::Pair { target: Position::Known(_), target_walk: Some(_), .. } = op.id {
                op.target_out = Some(self.new_column());
            }
            if op.is_test() {
                pipeline.last().filters.push(Filter::Exists { atom: op.clone(), negated: false });
            } else {
                pipeline.add(Produce::Atom(op.clone()));
            }
        }
        pipeline.last().filters.extend(same);
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

    /// The operations made for what is asked most often. False if `op` is nothing of the kind.
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
                let target = Operand::Entity(tag);
                match source {
                    Position::Known(source) => {
                        pipeline.last().filters.push(has_pair(TAGGED, source, target, false));
                    }
                    Position::Out(out) => pipeline.add(Produce::Sources { relation: TAGGED, target, out }),
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

    fn simple_pair(
        &mut self,
        pipeline: &mut Pipeline,
        known: KnownRelation,
        source: Position,
        target: Position,
    ) -> bool {
        let KnownRelation { id: relation, transitive, reflexive } = known;
        let exclusive = self.view.index(relation).exclusive;
        match (source, target) {
            (Position::Out(out), Position::Known(target)) if transitive => {
                pipeline.add(Produce::Below { relation, target, out, reflexive });
            }
            _ if transitive || reflexive => return false,
            (Position::Known(source), Position::Known(target)) => {
                pipeline.last().filters.push(has_pair(relation, source, target, false));
            }
            (Position::Known(source), Position::Any) => {
                pipeline.last().filters.push(Filter::HasAny { relation, source, negated: false });
            }
            (Position::Known(source), Position::Out(out)) if exclusive => {
                pipeline.last().filters.push(Filter::Target { relation, source, out });
            }
            (Position::Known(source), Position::Out(out)) => {
                pipeline.add(Produce::Targets { relation, source, out });
            }
            (Position::Out(out), Position::Known(target)) => {
                pipeline.add(Produce::Sources { relation, target, out });
            }
            (Position::Out(source), Position::Out(target)) => {
                pipeline.add(Produce::Pairs { relation, source, target });
            }
            _ => return false,
        }
        true
    }

    /// A test of one row that binds nothing: whether the term holds, or that it does not. The source is bound.
    pub(super) fn match_test(&mut self, atom: &Atom, negated: bool, bound: &VarSet) -> Filter {
        let Some(op) = self.atom_op(atom, bound) else {
            return Filter::Exists { atom: AtomOp::never(), negated };
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
                Filter::Mask { mask: self.new_mask(spec), entity }
            }
            (IdOp::Tags(tags), Position::Known(source)) if plain => {
                has_pair(TAGGED, source, Operand::Entity(tags[0]), negated)
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
                    Position::Out(_) | Position::Any => Filter::HasAny { relation, source, negated },
                }
            }
            _ => Filter::Exists { atom: op, negated },
        }
    }

    /// What rows say about the field of a term.
    pub(super) fn shape(&mut self, field: Option<u16>, atom: &Atom, op: Option<&AtomOp>) {
        let operand = |element: Element| match element {
            Element::Entity(entity) => Some(Operand::Entity(entity)),
            Element::Var(var) => Some(Operand::Column(var.0)),
            Element::Singleton(component) => {
                self.view.world.resource_entities().get(component).map(Operand::Entity)
            }
            Element::Any => None,
        };
        let element = |element| operand(element).map_or(ShapeElement::Any, ShapeElement::Known);
        let id_out = op.and_then(|op| op.id_out).map(Operand::Column);
        let id = match atom.id {
            AtomId::Component(component) => id_out.map_or(ShapeId::Component(component), ShapeId::Single),
            AtomId::Tag(tag) => ShapeId::Single(id_out.unwrap_or(Operand::Entity(tag))),
            AtomId::AnyId(id) => operand(id).map_or(ShapeId::None, ShapeId::Single),
            AtomId::Pair(PairAtom { relation, target, .. }) => {
                let relation = id_out.map_or_else(|| element(relation), ShapeElement::Known);
                let out = op.and_then(|op| op.target_out).map(Operand::Column);
                ShapeId::Pair(relation, out.map_or_else(|| element(target), ShapeElement::Known))
            }
        };
        let holder = op.and_then(|op| op.holder_out).map(Operand::Column);
        let source = holder.or_else(|| operand(atom.source));
        self.add_shape(field, FieldShape { id, source, set: op.is_some() });
    }

    pub(super) fn add_shape(&mut self, field: Option<u16>, shape: FieldShape) {
        if let Some(field) = field.and_then(|field| self.fields.get_mut(field as usize)) {
            field.shapes.push(shape);
        }
    }

    pub(super) fn set_by(&mut self, field: Option<u16>, column: Column) {
        if let Some(field) = field.and_then(|field| self.fields.get_mut(field as usize)) {
            field.set = Some(column);
        }
    }

    /// A comparison. Its left side is bound unless it is `==`.
    pub(super) fn equal(
        &mut self,
        pipeline: &mut Pipeline,
        left: Var,
        right: &Comparand,
        negated: bool,
        bound: &mut Bound,
    ) {
        let is_bound = |bound: &Bound, var| bound.set.contains(var);
        let operand = match right {
            Comparand::Entity(entity) => Some(Operand::Entity(*entity)),
            Comparand::Var(var) => Some(Operand::Column(var.0)),
            Comparand::Path(_) | Comparand::Part(_) => None,
        };
        if let Comparand::Var(right) = *right
            && !is_bound(bound, right)
        {
            if !is_bound(bound, left) {
                self.bind_all(pipeline, left, bound);
            }
            if negated {
                self.bind_all(pipeline, right, bound);
            } else {
                pipeline.last().filters.push(Filter::Set { column: right.0, value: Operand::Column(left.0) });
                self.now_bound(pipeline, right, bound);
                return;
            }
        }
        if !is_bound(bound, left) {
            if !negated && let Some(value) = operand {
                pipeline.last().filters.push(Filter::Set { column: left.0, value });
                return self.now_bound(pipeline, left, bound);
            }
            self.bind_all(pipeline, left, bound);
        }
        let right = match right {
            Comparand::Entity(entity) => Comparison::Operand(Operand::Entity(*entity)),
            Comparand::Var(var) => Comparison::Operand(Operand::Column(var.0)),
            Comparand::Path(path) => Comparison::Path(path.clone()),
            Comparand::Part(part) => Comparison::Part(part.clone()),
        };
        pipeline.last().filters.push(Filter::Equal { left: left.0, right, negated });
    }

    /// Binds a variable to every entity, if it is not bound.
    pub(super) fn bind_all(&mut self, pipeline: &mut Pipeline, var: Var, bound: &mut Bound) {
        if bound.set.insert(var) {
            self.scan(pipeline, var, None);
            let estimate = self.estimate().entities();
            pipeline.last().describe("every entity", estimate);
        }
    }

    fn now_bound(&mut self, pipeline: &mut Pipeline, var: Var, bound: &mut Bound) {
        bound.set.insert(var);
        if var == Var::THIS {
            self.hide(pipeline);
        }
    }

    pub(super) fn member(&mut self, pipeline: &mut Pipeline, member: &MemberAtom, bound: &mut Bound) {
        if let Element::Var(source) = member.source
            && bound.set.insert(source)
        {
            self.scan(pipeline, source, Some(member.component));
        }
        let op = self.member_op(member, &bound.set);
        match op.value {
            Position::Out(out) => {
                pipeline.add(Produce::Member(op));
                self.now_bound(pipeline, Var(out), bound);
            }
            _ => pipeline.last().filters.push(Filter::Member { member: op, negated: false }),
        }
    }

    pub(super) fn member_op(&self, member: &MemberAtom, bound: &VarSet) -> MemberOp {
        let source = match self.position(member.source, bound) {
            Position::Known(operand) => operand,
            Position::Out(column) => Operand::Column(column),
            Position::Any => Operand::Column(0),
        };
        let value = self.position(member.value, bound);
        MemberOp { source, component: member.component, path: member.path.clone(), value }
    }
}

fn has_pair(relation: RelationId, source: Operand, target: Operand, negated: bool) -> Filter {
    Filter::HasPair { relation, source, target, negated }
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

    /// Whether one of several ids is found.
    fn has_variants(&self) -> bool {
        match &self.id {
            IdOp::Components(ids) => ids.len() > 1,
            IdOp::Tags(tags) => tags.len() > 1,
            IdOp::Pair { relation: RelationOp::Known(relations), .. } => relations.len() > 1,
            _ => false,
        }
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
