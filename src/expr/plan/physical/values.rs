//! Comparisons of fields with literals.

#[cfg(feature = "bevy_reflect")]
use super::{IndexedOp, Produce};
use super::{Operand, Pipeline, Predicate, ShapeId, ValueOp, lower::Lowering};
use crate::expr::{
    bind::{AtomId, BoundElement, ValueAtom, Var},
    plan::reorder::Bound,
};
use bevy_ecs::component::ComponentId;

impl Lowering<'_, '_> {
    /// Finds the component or the pair, and tests its field.
    pub(super) fn value(
        &mut self,
        pipeline: &mut Pipeline,
        value: &ValueAtom,
        field: Option<u16>,
        bound: &mut Bound,
    ) {
        match value.atom.id {
            AtomId::Component(component) => {
                // What has no such component does not pass the test.
                if let BoundElement::Var(source) = value.atom.source
                    && bound.set.insert(source)
                {
                    self.holders(pipeline, value, component, source);
                }
                self.plain_shape(field, ShapeId::Component(component), value.atom.source);
            }
            _ => self.match_and(pipeline, &value.atom, field, bound),
        }
        pipeline.last().push(Predicate::Value { value: self.value_op(value), negated: false });
    }

    /// Binds a variable to the entities that may pass the test: by the index of the field, or all that have the
    /// component.
    fn holders(&mut self, pipeline: &mut Pipeline, value: &ValueAtom, component: ComponentId, source: Var) {
        #[cfg(not(feature = "bevy_reflect"))]
        let _ = value;
        #[cfg(feature = "bevy_reflect")]
        if self.estimate().index_hits(value).is_some()
            && let Some(keys) = value.test.keys()
        {
            let (path, mask) = (value.path.clone(), self.scanned_mask(source, Some(component)));
            pipeline.add(Produce::Indexed(IndexedOp { component, path, keys, mask, out: source.0 }));
            return;
        }
        self.scan(pipeline, source, Some(component));
    }

    /// The test, of something that is bound.
    pub(super) fn value_op(&self, value: &ValueAtom) -> ValueOp {
        let operand = |element| self.operand(element).unwrap_or(Operand::Nothing);
        let pair = match value.atom.id {
            AtomId::Pair(pair) => pair.relation.entity().map(|relation| (relation, operand(pair.target))),
            _ => None,
        };
        ValueOp {
            source: operand(value.atom.source),
            pair,
            holder: value.holder,
            path: value.path.clone(),
            test: value.test.clone(),
        }
    }
}
