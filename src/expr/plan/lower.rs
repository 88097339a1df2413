//! From terms to operations.

use super::{
    AtomOp, Column, Comparison, DepthOrder, FieldPlan, FieldShape, Filter, MaskSpec, MemberOp, Operand,
    Pipeline, Plan, Position, Produce, ShapeElement, ShapeId, estimate::Estimate,
};
use crate::{
    expr::{
        bind::{Atom, AtomId, BoundComparand, BoundElement, BoundQuery, MemberAtom, PairAtom, Var, VarSet},
        eval::{View, internal_markers, unlisted_markers},
    },
    id::RelationId,
    relation::{IS_A, Prefab},
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

impl Bound {
    /// What is bound by something that is skipped in some rows, or finds nothing there.
    pub(super) fn may_be_skipped(&mut self, inner: &Self) {
        self.maybe.extend(&inner.set.clone().without(&self.set));
        self.set.extend(&inner.set);
    }
}

/// Makes a plan of a query.
pub(super) struct Lowering<'a, 'w> {
    pub(super) query: &'a BoundQuery,
    pub(super) view: &'a View<'w>,
    pub(super) masks: Vec<MaskSpec>,
    pub(super) fields: Vec<FieldPlan>,
    pub(super) columns: Column,
    /// What every entity has that `$this` can be; that any entity has.
    visible: [MaskSpec; 2],
}

/// Makes the plan of a query. The `preset` variables are given a value before each run; `rows` tells whether anything
/// of the rows is wanted, beside their number.
pub(crate) fn lower(query: &BoundQuery, view: &View<'_>, preset: &VarSet, rows: bool) -> Plan {
    let mut query = query.clone();
    query.follow_traits(view.store);
    let query = &query;
    // Values that are given are kept beside the variables too, for those that are compared at the end.
    let given = if *preset == VarSet::default() { 1 } else { 2 };
    let columns = query.variables.len() as Column * given;
    let mut lowering = Lowering {
        query,
        view,
        masks: Vec::new(),
        fields: vec![FieldPlan::default(); query.fields.len()],
        columns,
        visible: [
            MaskSpec { with: SmallVec::new(), without: hidden(query, view) },
            MaskSpec { with: SmallVec::new(), without: unlisted_markers(view.access.components()).collect() },
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
    let depths = query.cascade.and_then(|cascade| {
        let relation = lowering.relation(cascade.relation)?;
        Some(DepthOrder { relation, descending: cascade.descending })
    });
    Plan {
        pipeline,
        masks: lowering.masks,
        fields: lowering.fields,
        columns: lowering.columns as usize,
        stages,
        depths,
        wanted,
        has_this: bound.set.contains(Var::THIS),
    }
}

/// The components with which no entity is `$this`: those that disable it, and those of entities that are kept for
/// other purposes, unless a term about `$this` itself names them.
fn hidden(query: &BoundQuery, view: &View<'_>) -> SmallVec<[ComponentId; 8]> {
    let components = view.access.components();
    let prefab = components.component_id::<Prefab>();
    let all = view.access.disabling().into_iter().chain(prefab).chain(internal_markers(components));
    let mut hidden: SmallVec<[ComponentId; 8]> = all.collect();
    hidden.sort_unstable();
    hidden.dedup();
    for item in &query.items {
        item.names_of_this(&|entity| view.component_of(entity), &mut |named| {
            hidden.retain(|component| *component != named);
        });
    }
    hidden
}

impl Lowering<'_, '_> {
    pub(super) fn estimate(&self) -> Estimate<'_, '_> {
        Estimate { view: self.view }
    }

    pub(super) fn new_column(&mut self) -> Column {
        self.columns += 1;
        self.columns - 1
    }

    pub(super) fn new_mask(&mut self, spec: MaskSpec) -> usize {
        match self.masks.iter().position(|known| *known == spec) {
            Some(mask) => mask,
            None => {
                self.masks.push(spec);
                self.masks.len() - 1
            }
        }
    }

    pub(super) fn relation(&self, relation: Entity) -> Option<RelationId> {
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

    pub(super) fn position(&self, element: BoundElement, bound: &VarSet) -> Position {
        match element {
            BoundElement::Singleton(component) => {
                // Nobody has anything while there is no such resource.
                Position::Known(self.singleton(component).map_or(Operand::Nothing, Operand::Entity))
            }
            BoundElement::Awaited => Position::Known(Operand::Nothing),
            BoundElement::Entity(entity) => Position::Known(Operand::Entity(entity)),
            BoundElement::Var(var) if bound.contains(var) => Position::Known(Operand::Column(var.0)),
            BoundElement::Var(var) => Position::Out(var.0),
            BoundElement::Any => Position::Any,
        }
    }

    /// What rows say about the field of a term.
    pub(super) fn shape(&mut self, field: Option<u16>, atom: &Atom, op: Option<&AtomOp>) {
        let operand = |element| self.operand(element);
        let element = |element| operand(element).map_or(ShapeElement::Any, ShapeElement::Known);
        let id_out = op.and_then(|op| op.id_out).map(Operand::Column);
        let id = match atom.id {
            AtomId::Component(component) => id_out.map_or(ShapeId::Component(component), ShapeId::Single),
            AtomId::Tag(tag) => ShapeId::Single(id_out.unwrap_or(Operand::Entity(tag))),
            AtomId::AnyId(id) => operand(id).map_or(ShapeId::None, ShapeId::Single),
            AtomId::Pair(PairAtom { relation, target, closed, .. }) => {
                let relation = id_out.map_or_else(|| element(relation), ShapeElement::Known);
                let out = op.and_then(|op| op.target_out).map(Operand::Column);
                let target = out.map_or_else(|| element(target), ShapeElement::Known);
                if closed { ShapeId::Closed(relation, target) } else { ShapeId::Pair(relation, target) }
            }
        };
        let holder = op.and_then(|op| op.holder_out).map(Operand::Column);
        let source = holder.or_else(|| operand(atom.source));
        self.add_shape(field, FieldShape { id, source, set: op.is_some() });
    }

    /// What rows say about the field of a term that matched `id` on `source`.
    pub(super) fn plain_shape(&mut self, field: Option<u16>, id: ShapeId, source: BoundElement) {
        let source = self.operand(source);
        self.add_shape(field, FieldShape { id, source, set: true });
    }

    pub(super) fn operand(&self, element: BoundElement) -> Option<Operand> {
        match element {
            BoundElement::Entity(entity) => Some(Operand::Entity(entity)),
            BoundElement::Var(var) => Some(Operand::Column(var.0)),
            BoundElement::Singleton(component) => self.singleton(component).map(Operand::Entity),
            BoundElement::Awaited | BoundElement::Any => None,
        }
    }

    /// Where the one value of a component is: with the resource, or else on the entity that stands for its type.
    fn singleton(&self, component: ComponentId) -> Option<Entity> {
        let resource = self.view.access.resource_entity(component);
        resource.or_else(|| self.view.value_of_component(component).entity())
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
        right: &BoundComparand,
        negated: bool,
        bound: &mut Bound,
    ) {
        let is_bound = |bound: &Bound, var| bound.set.contains(var);
        let operand = match right {
            BoundComparand::Entity(entity) => Some(Operand::Entity(*entity)),
            BoundComparand::Awaited => Some(Operand::Nothing),
            BoundComparand::Var(var) => Some(Operand::Column(var.0)),
            BoundComparand::Everything | BoundComparand::Path(_) | BoundComparand::Part(_) => None,
        };
        if let BoundComparand::Var(right) = *right
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
        pipeline.last().filters.push(Filter::Equal { left: left.0, right: right.into(), negated });
    }

    /// Binds a variable to every entity, if it is not bound.
    pub(super) fn bind_all(&mut self, pipeline: &mut Pipeline, var: Var, bound: &mut Bound) {
        if bound.set.insert(var) {
            self.scan(pipeline, var, None);
            let estimate = self.estimate().entities();
            pipeline.last().describe("every entity", estimate);
        }
    }

    /// The number of a relation of which nothing follows for a term but the pairs that are stored.
    pub(super) fn plain_relation(&self, relation: Entity, atom: &Atom) -> Option<RelationId> {
        let AtomId::Pair(pair) = atom.id else { return None };
        let id = self.relation(relation)?;
        let traits = &self.view.store.registry.entry(id).traits;
        let follows = pair.closed && (traits.is_transitive() || traits.is_reflexive());
        let subtypes = atom.subtypes && self.view.index(IS_A).source_count(relation) > 0;
        (!follows && !subtypes && atom.traversal.is_none()).then_some(id)
    }

    pub(super) fn now_bound(&mut self, pipeline: &mut Pipeline, var: Var, bound: &mut Bound) {
        bound.set.insert(var);
        if var == Var::THIS {
            self.hide(pipeline);
        }
    }

    pub(super) fn member(&mut self, pipeline: &mut Pipeline, member: &MemberAtom, bound: &mut Bound) {
        if let BoundElement::Var(source) = member.source
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

impl From<&BoundComparand> for Comparison {
    fn from(comparand: &BoundComparand) -> Self {
        match comparand {
            BoundComparand::Everything => Self::Everything,
            BoundComparand::Entity(entity) => Self::Operand(Operand::Entity(*entity)),
            BoundComparand::Awaited => Self::Operand(Operand::Nothing),
            BoundComparand::Var(var) => Self::Operand(Operand::Column(var.0)),
            BoundComparand::Path(path) => Self::Path(path.clone()),
            BoundComparand::Part(part) => Self::Part(part.clone()),
        }
    }
}
