//! From ordered joins to operators.

use super::{
    AtomOp, Column, Comparison, Compute, DepthOrder, FieldPlan, FieldShape, KeyedOp, MaskSpec, MemberOp,
    Operand, PhysicalPlan, Pipeline, Position, Predicate, Produce, ShapeElement, ShapeId, Side, Step,
};
use crate::{
    expr::{
        bind::{
            Atom, AtomId, BoundComparand, BoundElement, BoundQuery, Condition, KeyedAtom, MemberAtom,
            PairAtom, Var, VarSet,
        },
        eval::View,
        plan::{
            estimate::Estimate,
            logical::{Logical, logical},
            reorder::{Bound, BoundEnd, Ordered, Presets, Reorder},
        },
    },
    id::RelationId,
    ops::{internal_markers, unlisted_markers},
    relation::Prefab,
};
use alloc::{string::String, vec, vec::Vec};
use bevy_ecs::{component::ComponentId, entity::Entity};
use smallvec::SmallVec;

/// Makes a plan of a query.
pub(super) struct Lowering<'a, 'w> {
    pub(super) query: &'a BoundQuery,
    pub(super) view: &'a View<'w>,
    pub(super) masks: Vec<MaskSpec>,
    pub(super) fields: Vec<FieldPlan>,
    pub(super) columns: Column,
    /// What every entity has that `$this` can be; that any entity has.
    visible: [MaskSpec; 2],
    wanted: Wanted,
    /// Fields of unions whose source has a value that no term before has given it.
    pub(super) unwritten: Vec<u16>,
}

/// What is wanted of a query.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Wanted {
    #[default]
    Rows,
    /// Rows, each with data of `$this`.
    RowsWithData,
    /// The number of rows.
    Count,
}

/// Makes the plan of a query. The `preset` variables are given a value before each run.
pub(crate) fn lower(query: &BoundQuery, view: &View<'_>, preset: &VarSet, wanted: Wanted) -> PhysicalPlan {
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
        wanted,
        unwritten: Vec::new(),
    };
    let mut bound = Bound::default();
    let mut pipeline = lowering.whole(logical(query, view).inputs(), preset, &mut bound);
    let mut kept: Vec<Column> = Vec::new();
    if wanted != Wanted::Count || query.cascade.is_some() {
        let named = query.variables.iter().enumerate().filter(|(_, variable)| !variable.local);
        kept.extend(named.map(|(var, _)| var as Column).filter(|&var| bound.set.contains(Var(var))));
        kept.extend(columns..lowering.columns);
        let written = pipeline.written();
        kept.retain(|&column| written.contains(column) || preset.contains(Var(column)));
    }
    pipeline.finish(&kept);
    let mut stages = 0;
    pipeline.number(&mut stages);
    let depths = query.cascade.and_then(|cascade| {
        let relation = lowering.relation(cascade.relation)?;
        Some(DepthOrder { relation, descending: cascade.descending })
    });
    PhysicalPlan {
        pipeline,
        masks: lowering.masks,
        fields: lowering.fields,
        columns: lowering.columns as usize,
        stages,
        depths,
        wanted: kept,
        has_this: bound.set.contains(Var::THIS),
    }
}

/// The variables that may be given a value before a run, so that rows with other values are not made at all. Rows in
/// which another variable has another value than a given one are made first and then left out.
pub(crate) fn seedable(query: &BoundQuery, view: &View<'_>) -> VarSet {
    let all = (0..query.variables.len()).map(|var| Var(var as u16)).collect();
    let Presets { early, .. } =
        Reorder { query, view, with_data: false }.presets(logical(query, view).inputs(), &all);
    early.into_iter().collect()
}

/// The components with which no entity is `$this`: those that disable it, and those of entities that are kept for
/// other purposes, unless a term about `$this` itself names them.
pub(crate) fn hidden(query: &BoundQuery, view: &View<'_>) -> SmallVec<[ComponentId; 8]> {
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
    /// Which inputs of a join are evaluated when.
    fn reorder(&self) -> Reorder<'_, '_> {
        Reorder { query: self.query, view: self.view, with_data: self.wanted == Wanted::RowsWithData }
    }

    /// The pipeline of the whole query.
    fn whole(&mut self, inputs: &[Logical<'_>], preset: &VarSet, bound: &mut Bound) -> Pipeline {
        let mut pipeline = Pipeline::default();
        let Presets { early, late, unions } = self.reorder().presets(inputs, preset);
        self.unwritten = unions;
        for var in early {
            bound.set.insert(var);
            if var == Var::THIS {
                self.hide(&mut pipeline);
            }
        }
        self.join(&mut pipeline, inputs, bound);
        if inputs.is_empty() {
            // A query without terms has no rows.
            pipeline.last().push(Predicate::Never);
        }
        for var in late {
            // The value stands in a column behind those of the variables; it is compared, not used.
            let value = Operand::Column(self.query.variables.len() as Column + var.0);
            let test = if bound.set.contains(var) {
                Predicate::Equal { left: var.0, right: Comparison::Operand(value), negated: false }
            } else {
                Predicate::Never
            };
            pipeline.last().push(test);
        }
        pipeline
    }

    /// Adds the inputs of a join, in the order that promises the fewest rows.
    pub(super) fn join(&mut self, pipeline: &mut Pipeline, inputs: &[Logical<'_>], bound: &mut Bound) {
        let ordered = self.reorder().join(inputs, &mut bound.clone());
        self.ordered(pipeline, &ordered, bound);
    }

    /// Adds the inputs of a join in their order.
    pub(super) fn ordered(&mut self, pipeline: &mut Pipeline, inputs: &[Ordered<'_, '_>], bound: &mut Bound) {
        for ordered in inputs {
            let stages = pipeline.stages.len();
            match (ordered.input, ordered.intersected) {
                (first, Some(second)) => self.intersect(pipeline, [first, second], bound),
                (Logical::Union(chain, branches), None) => {
                    self.union(pipeline, chain, (branches, &ordered.branches), bound);
                }
                (input, None) => match (input, input.term()) {
                    (_, Some(term)) => self.term(pipeline, term, bound),
                    (Logical::AntiJoin(scope), None) => self.scope(pipeline, scope.inputs(), bound),
                    _ => {}
                },
            }
            debug_assert!(bound.is_same(&ordered.bound), "the order was made for what is bound");
            if pipeline.stages.len() > stages {
                let label = self.label(ordered.input);
                let before = stages.checked_sub(1).map_or(1.0, |at| pipeline.stages[at].estimate);
                for stage in &mut pipeline.stages[stages..] {
                    stage.describe(&label, before * ordered.rows);
                }
            }
        }
    }

    /// Two pairs that bind one variable.
    fn intersect(&mut self, pipeline: &mut Pipeline, inputs: [&Logical<'_>; 2], bound: &mut Bound) {
        let [Some(first), Some(second)] = inputs.map(|input| self.reorder().meeting(input, bound)) else {
            return;
        };
        let out = first.0;
        let sides = [first.1, second.1].map(|BoundEnd { relation, of, targets }| Side {
            relation,
            known: of.0,
            targets,
        });
        pipeline.add(Produce::Intersect { out: out.0, sides });
        self.now_bound(pipeline, out, bound);
        for term in inputs.into_iter().filter_map(Logical::term) {
            if let Condition::Match(atom) = &term.condition {
                self.shape(term.field, atom, Some(&AtomOp::plain()));
            }
        }
    }

    fn label(&self, input: &Logical<'_>) -> String {
        let field = match (input, input.term()) {
            (Logical::Union(chain, _), _) => chain.field,
            (_, term) => term.and_then(|term| term.field),
        };
        let field = field.and_then(|field| self.query.fields.get(field as usize));
        field.map(|field| field.text.clone()).unwrap_or_default()
    }

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
        self.view.store.registry().of_entity(relation)
    }

    /// Hides what `$this` cannot be, after it was bound.
    pub(super) fn hide(&mut self, pipeline: &mut Pipeline) {
        let spec = self.visible[0].clone();
        self.filter_mask(pipeline, Operand::Column(0), spec);
    }

    /// Binds a variable to every entity.
    pub(super) fn scan(&mut self, pipeline: &mut Pipeline, var: Var, with: Option<ComponentId>) {
        let mask = self.scanned_mask(var, with);
        pipeline.add(Produce::Scan { mask, out: var.0 });
    }

    /// What every entity fits that a variable is bound to by a scan.
    pub(super) fn scanned_mask(&mut self, var: Var, with: Option<ComponentId>) -> usize {
        let mut spec = if var == Var::THIS {
            self.visible[0].clone()
        } else if with.is_some() {
            MaskSpec::default()
        } else {
            self.visible[1].clone()
        };
        spec.with.extend(with);
        self.new_mask(spec)
    }

    /// Keeps rows in which the archetype of an entity fits, by what looks at its archetype already if that is
    /// possible.
    pub(super) fn filter_mask(&mut self, pipeline: &mut Pipeline, entity: Operand, spec: MaskSpec) {
        let stage = pipeline.last();
        let scan = match &mut stage.produce {
            Produce::Scan { mask, out } if entity == Operand::Column(*out) => Some(mask),
            #[cfg(feature = "bevy_reflect")]
            Produce::Indexed(indexed) if entity == Operand::Column(indexed.out) => Some(&mut indexed.mask),
            _ => None,
        };
        let mut steps = stage.steps.iter_mut();
        let tested = scan.or_else(|| {
            steps.find_map(|step| match step {
                Step::Test(Predicate::Mask { mask, entity: other }) if *other == entity => Some(mask),
                _ => None,
            })
        });
        match tested {
            Some(mask) => {
                let known = &self.masks[*mask];
                let is_new = |all: &[ComponentId], id: &ComponentId| !all.contains(id);
                if !spec.with.iter().any(|id| is_new(&known.with, id))
                    && !spec.without.iter().any(|id| is_new(&known.without, id))
                {
                    return;
                }
                let mut merged = known.clone();
                merged.with.extend(spec.with);
                merged.without.extend(spec.without);
                // Masks are shared; this one may be another's too.
                self.masks.push(merged);
                *mask = self.masks.len() - 1;
            }
            None => {
                let mask = self.new_mask(spec);
                pipeline.last().push(Predicate::Mask { mask, entity });
            }
        }
    }

    pub(super) fn position(&self, element: BoundElement, bound: &VarSet) -> Position {
        match element {
            BoundElement::Singleton(component) => {
                // Nothing has anything while there is no such resource.
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
                pipeline.last().push(Compute::Set { column: right.0, value: Operand::Column(left.0) });
                self.now_bound(pipeline, right, bound);
                return;
            }
        }
        if !is_bound(bound, left) {
            if !negated && let Some(value) = operand {
                pipeline.last().push(Compute::Set { column: left.0, value });
                return self.now_bound(pipeline, left, bound);
            }
            self.bind_all(pipeline, left, bound);
        }
        pipeline.last().push(Predicate::Equal { left: left.0, right: right.into(), negated });
    }

    /// Binds a variable to every entity, if it is not bound.
    pub(super) fn bind_all(&mut self, pipeline: &mut Pipeline, var: Var, bound: &mut Bound) {
        if bound.set.insert(var) {
            self.scan(pipeline, var, None);
            let estimate = self.estimate().entities();
            pipeline.last().describe("every entity", estimate);
        }
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
            _ => pipeline.last().push(Predicate::Member { member: op, negated: false }),
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

    pub(super) fn keyed_op(&self, keyed: &KeyedAtom, bound: &VarSet) -> KeyedOp {
        let known = |element| match self.position(element, bound) {
            Position::Known(operand) => Some(operand),
            Position::Out(_) | Position::Any => None,
        };
        let KeyedAtom { atom, key } = keyed;
        let AtomId::Pair(PairAtom { relation, target, .. }) = atom.id else {
            unreachable!("a key is that of a pair");
        };
        let relation = relation.entity().and_then(|relation| self.relation(relation));
        KeyedOp {
            source: known(atom.source).unwrap_or(Operand::Nothing),
            of: relation.zip(key.clone()),
            target: known(target),
        }
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
