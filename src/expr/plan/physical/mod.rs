//! How a query is evaluated: which operator follows which, and what each reads and writes.
//!
//! A [`Pipeline`] is a list of stages. A stage [makes rows](Produce) out of rows, and then [tests](Predicate) them or
//! [writes](Compute) further columns, all in batches: a column per variable, and per whatever else rows have to say
//! about their fields. What is negated, optional or alternative is a [pipeline of its own](SubPlan), run on a batch.

mod atoms;
mod branches;
mod columns;
mod explain;
mod lower;
mod operators;
mod pipeline;
mod values;

pub(crate) use explain::Counts;
pub(crate) use lower::{Wanted, hidden, lower, seedable};
pub(crate) use operators::{Compute, Predicate, Produce, Side};
pub(crate) use pipeline::{Branch, BranchKind, Pipeline, Stage, Step, SubPlan};

use columns::Columns;

#[cfg(feature = "bevy_reflect")]
use crate::expr::eval::FieldKey;
use crate::{
    expr::bind::{BoundValueTest, ValueHolder},
    id::RelationId,
    relation::NamedKey,
    traverse::{Direction, Limits},
};
use alloc::{boxed::Box, vec::Vec};
use bevy_ecs::{component::ComponentId, entity::Entity};
#[cfg(feature = "bevy_reflect")]
use core::ops::RangeInclusive;
use smallvec::SmallVec;

/// Number of a column. Those of variables come first.
pub(crate) type Column = u16;

fn read(operand: Operand, columns: &mut Columns) {
    if let Operand::Column(column) = operand {
        columns.insert(column);
    }
}

/// Something that is known when an operation is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operand {
    Entity(Entity),
    Column(Column),
    /// An entity that does not exist: no term holds for it.
    Nothing,
}

/// One position of what an operation looks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Position {
    Known(Operand),
    /// Whatever is found is written there.
    Out(Column),
    /// Whether there is something.
    Any,
}

impl Position {
    pub(crate) fn out(self) -> Option<Column> {
        match self {
            Self::Out(column) => Some(column),
            _ => None,
        }
    }
}

/// Components that an archetype must have, and must not have.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct MaskSpec {
    pub(crate) with: SmallVec<[ComponentId; 2]>,
    pub(crate) without: SmallVec<[ComponentId; 8]>,
}

/// A walk along a relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Walk {
    pub(crate) relation: RelationId,
    pub(crate) down: bool,
    pub(crate) all: bool,
    pub(crate) own: bool,
    pub(crate) min: u32,
    pub(crate) max: u32,
}

impl Walk {
    /// Which way it goes from where it starts.
    pub(crate) fn direction(self) -> Direction {
        if self.down { Direction::Sources } else { Direction::Targets }
    }

    /// How far it goes.
    pub(crate) fn limits(self) -> Limits {
        Limits { min: self.min, max: self.max }
    }
}

/// An id that an [`AtomOp`] looks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum IdOp {
    /// One of these; more than one if there are subtypes.
    Components(SmallVec<[ComponentId; 1]>),
    Tags(SmallVec<[Entity; 1]>),
    AnyId(Position),
    Pair {
        relation: RelationOp,
        target: Position,
        target_walk: Option<Walk>,
    },
}

/// The relation of a pair that an [`AtomOp`] looks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RelationOp {
    /// One of these.
    Known(SmallVec<[KnownRelation; 1]>),
    Free(Position),
}

/// A relation, and what follows from its pairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KnownRelation {
    pub(crate) id: RelationId,
    pub(crate) transitive: bool,
    pub(crate) reflexive: bool,
}

impl KnownRelation {
    /// With nothing but the pairs that are stored.
    pub(crate) const fn stored(id: RelationId) -> Self {
        Self { id, transitive: false, reflexive: false }
    }
}

/// The operation that can do everything: finds each way in which a term holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AtomOp {
    pub(crate) source: Position,
    pub(crate) id: IdOp,
    pub(crate) walk: Option<Walk>,
    /// What a holder that is not the source itself inherits counts too.
    pub(crate) shared: bool,
    /// Where the id found is written, if there are several: component, tag or relation.
    pub(crate) id_out: Option<Column>,
    /// Where the target found is written, if others count beside the one that is known.
    pub(crate) target_out: Option<Column>,
    /// Where the entity is written on which it was found, if that may be another than the source.
    pub(crate) holder_out: Option<Column>,
}

/// Field of a reflected component that holds an entity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MemberOp {
    pub(crate) source: Operand,
    pub(crate) component: ComponentId,
    pub(crate) path: Box<str>,
    pub(crate) value: Position,
}

/// A pair that has a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KeyedOp {
    pub(crate) source: Operand,
    /// `None` if there is no such relation: then it never holds.
    pub(crate) of: Option<(RelationId, NamedKey)>,
    /// Whichever, if it is not known.
    pub(crate) target: Option<Operand>,
}

/// A field of a component, or of the value of a pair, that is compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ValueOp {
    pub(crate) source: Operand,
    /// Relation and target, of a field of a pair.
    pub(crate) pair: Option<(Entity, Operand)>,
    pub(crate) holder: ValueHolder,
    pub(crate) path: Box<str>,
    pub(crate) test: Box<BoundValueTest>,
}

/// The entities with a value within a range in a field, by the index of the field.
#[cfg(feature = "bevy_reflect")]
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct IndexedOp {
    pub(crate) component: ComponentId,
    pub(crate) path: Box<str>,
    pub(crate) keys: RangeInclusive<FieldKey>,
    /// What they have beside it, and the order.
    pub(crate) mask: usize,
    pub(crate) out: Column,
}

/// What to compare with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Comparison {
    Everything,
    Operand(Operand),
    Path(Box<str>),
    Part(Box<str>),
}

/// The way up an acyclic relation; with limits only if everything has one target at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HolderSearch {
    pub(crate) walk: Walk,
    pub(crate) test: HolderTest,
}

/// What a holder has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HolderTest {
    Mask(usize),
    Tag(Entity),
}

/// Where rows find what they say about a field.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct FieldPlan {
    /// In place of these, those of the branch taken, for a chain of alternatives.
    pub(crate) shapes: Vec<FieldShape>,
    /// The column that says whether it is set, and by which of the shapes.
    pub(crate) set: Option<Column>,
}

/// Id and source of a field.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct FieldShape {
    pub(crate) id: ShapeId,
    pub(crate) source: Option<Operand>,
    pub(crate) set: bool,
}

/// What a field's id is made of.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum ShapeId {
    /// There is none: an equality.
    None,
    Component(ComponentId),
    /// A component or tag, by column or constant.
    Single(Operand),
    Pair(ShapeElement, ShapeElement),
    /// The entity whose components and pairs were asked for.
    List(Operand),
    /// A pair that may follow from others: the one that is stored is looked for.
    Closed(ShapeElement, ShapeElement),
}

/// One element of a pair.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum ShapeElement {
    Known(Operand),
    Any,
}

/// Rows in order of the depth of `$this`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DepthOrder {
    pub(crate) relation: RelationId,
    pub(crate) descending: bool,
}

/// A query, ready to be run: which operation follows which, and what each reads and writes.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct PhysicalPlan {
    pub(crate) pipeline: Pipeline,
    pub(crate) masks: Vec<MaskSpec>,
    pub(crate) fields: Vec<FieldPlan>,
    pub(crate) columns: usize,
    pub(crate) stages: usize,
    pub(crate) depths: Option<DepthOrder>,
    /// Columns of every row.
    pub(crate) wanted: Vec<Column>,
    /// Whether rows are about an entity.
    pub(crate) has_this: bool,
}

impl PhysicalPlan {
    /// Whether it visits every entity, whatever it has: no input narrows them down first.
    pub(crate) fn visits_all(&self) -> bool {
        self.pipeline.any_stage(&mut |stage| match stage.produce {
            Produce::Scan { mask, .. } => self.masks[mask].with.is_empty(),
            _ => false,
        })
    }
}

impl Position {
    fn reads(self, columns: &mut Columns) {
        if let Self::Known(operand) = self {
            read(operand, columns);
        }
    }
}

impl AtomOp {
    fn positions(&self) -> impl Iterator<Item = Position> {
        let (first, second) = match &self.id {
            IdOp::Components(_) | IdOp::Tags(_) => (None, None),
            IdOp::AnyId(id) => (Some(*id), None),
            IdOp::Pair { relation: RelationOp::Free(relation), target, .. } => {
                (Some(*relation), Some(*target))
            }
            IdOp::Pair { target, .. } => (None, Some(*target)),
        };
        [Some(self.source), first, second].into_iter().flatten()
    }

    fn reads(&self, columns: &mut Columns) {
        self.positions().for_each(|position| position.reads(columns));
    }
}

impl KeyedOp {
    fn reads(&self, columns: &mut Columns) {
        read(self.source, columns);
        self.target.into_iter().for_each(|target| read(target, columns));
    }
}

impl MemberOp {
    fn reads(&self, columns: &mut Columns) {
        read(self.source, columns);
        self.value.reads(columns);
    }
}

impl ValueOp {
    fn reads(&self, columns: &mut Columns) {
        read(self.source, columns);
        if let Some((_, target)) = self.pair {
            read(target, columns);
        }
    }
}
