//! Comparisons of fields with literals.

use super::{Operand, Pipeline, Predicate, ShapeId, ValueOp, lower::Lowering};
use crate::expr::{
    bind::{AtomId, BoundElement, ValueAtom},
    plan::reorder::Bound,
};

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
                    self.scan(pipeline, source, Some(component));
                }
                self.plain_shape(field, ShapeId::Component(component), value.atom.source);
            }
            _ => self.match_and(pipeline, &value.atom, field, bound),
        }
        pipeline.last().push(Predicate::Value { value: self.value_op(value), negated: false });
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
