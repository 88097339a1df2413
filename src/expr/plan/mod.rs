//! How a query is evaluated: which operation follows which, and what each reads and writes.
//!
//! A [`Pipeline`] is a list of stages. A stage makes rows out of rows and then sends them through filters, all
//! in batches: a column per variable, and per whatever else rows have to say about their fields. What is
//! negated, optional or alternative is a pipeline of its own, run on a batch.

mod atoms;
mod branches;
mod estimate;
mod explain;
mod lower;
mod order;
mod pipeline;

pub(crate) use estimate::Signature;
pub(crate) use explain::Counts;
pub(crate) use lower::lower;

use super::{bind::ListMode, eval::Special};
use crate::{
    id::RelationId,
    traverse::{Direction, Limits},
};
use alloc::{boxed::Box, string::String, vec::Vec};
use bevy_ecs::{component::ComponentId, entity::Entity};
use smallvec::SmallVec;

/// Number of a column. Those of variables come first.
pub(crate) type Column = u16;

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

/// Makes rows.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Produce {
    /// As they are.
    Pass,
    /// None: the term can never hold. The columns are those that other terms read.
    Nothing {
        out: SmallVec<[Column; 3]>,
    },
    /// Entities of archetypes.
    Scan {
        mask: usize,
        out: Column,
    },
    /// The sources of a target.
    Sources {
        relation: RelationId,
        target: Operand,
        out: Column,
    },
    /// The targets of a source.
    Targets {
        relation: RelationId,
        source: Operand,
        out: Column,
    },
    /// Every pair of a relation.
    Pairs {
        relation: RelationId,
        source: Column,
        target: Column,
    },
    /// What lies below a target, at any depth.
    Below {
        relation: RelationId,
        target: Operand,
        out: Column,
        reflexive: bool,
    },
    /// Pairs that close a cycle: `out` has `first` as a target and is a target of `second`.
    Meet {
        out: Column,
        sides: [Side; 2],
    },
    Atom(AtomOp),
    /// The values of a member.
    Member(MemberOp),
    /// Rows that go different ways.
    Branch(Branch),
}

/// One end of a [`Produce::Meet`]: the neighbours of what is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Side {
    pub(crate) relation: RelationId,
    pub(crate) known: Column,
    /// The neighbours are targets, not sources.
    pub(crate) targets: bool,
}

/// Field of a reflected component that holds an entity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MemberOp {
    pub(crate) source: Operand,
    pub(crate) component: ComponentId,
    pub(crate) path: Box<str>,
    pub(crate) value: Position,
}

/// What to compare with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Comparison {
    Everything,
    Operand(Operand),
    Path(Box<str>),
    Part(Box<str>),
}

/// Lets rows pass or not; some write a column.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Filter {
    /// No row passes.
    Nothing,
    /// The archetype fits.
    Mask {
        mask: usize,
        entity: Operand,
    },
    HasPair {
        relation: RelationId,
        source: Operand,
        target: Operand,
        negated: bool,
    },
    HasAny {
        relation: RelationId,
        source: Operand,
        negated: bool,
    },
    /// Writes the only target.
    Target {
        relation: RelationId,
        source: Operand,
        out: Column,
    },
    /// Writes the only target, or else `none`, and whether there is one.
    TargetIfAny {
        relation: RelationId,
        source: Operand,
        out: Column,
        none: Special,
        set: Column,
    },
    /// Writes the nearest entity up a relation of which everything has one target at most that passes a test.
    Holder {
        climb: Climb,
        source: Operand,
        out: Column,
    },
    /// There is a way in which the term holds.
    Exists {
        atom: AtomOp,
        negated: bool,
    },
    Member {
        member: MemberOp,
        negated: bool,
    },
    Equal {
        left: Column,
        right: Comparison,
        negated: bool,
    },
    /// Columns hold the same.
    Same {
        left: Column,
        right: Column,
    },
    Set {
        column: Column,
        value: Operand,
    },
    /// Writes whether the row would pass.
    Note {
        test: Box<Filter>,
        column: Column,
    },
    /// Writes the number of the first test that the row passes.
    Choose {
        tests: Vec<Filter>,
        column: Column,
    },
    List {
        source: Operand,
        list: Operand,
        mode: ListMode,
        negated: bool,
    },
    Child {
        parent: Operand,
        path: Box<str>,
        out: Column,
    },
    /// Variables have a value, and others have none.
    AreSet {
        set: Vec<Column>,
        unset: Vec<Column>,
    },
    /// The pipeline gives no row.
    None {
        arm: Arm,
        /// Rows pass if all of these, of which there are some, have a column without a value: then every term of the
        /// scope is skipped.
        skipped: Vec<Vec<Column>>,
    },
}

/// The way up a relation of which everything has one target at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Climb {
    pub(crate) relation: RelationId,
    pub(crate) own: bool,
    pub(crate) min: u32,
    pub(crate) max: u32,
    pub(crate) test: HolderTest,
}

/// What a holder has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HolderTest {
    Mask(usize),
    Tag(Entity),
}

/// A pipeline that is run on a batch of another.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Arm {
    pub(crate) pipeline: Pipeline,
    /// Where the number of the row in that batch is kept.
    pub(crate) origin: Column,
    /// Columns that it is given.
    pub(crate) takes: Vec<Column>,
    /// What the columns hold that it does not write.
    pub(crate) fills: Vec<(Column, Special)>,
}

/// Rows that go different ways.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Branch {
    pub(crate) kind: BranchKind,
    pub(crate) arms: Vec<Arm>,
    /// What the columns of rows hold that no arm takes on.
    pub(crate) fills: Vec<(Column, Special)>,
}

/// Which rows go where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum BranchKind {
    /// To the arm; those of which it makes nothing go on as they are.
    Optional,
    /// To every arm.
    Every,
    /// To the first arm that makes something of them, and only the first that it makes.
    First,
    /// To the arm, unless a variable is not set. Rows in which one is unset go on as they are.
    Guard(Vec<Column>),
}

/// A step of a pipeline.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Stage {
    pub(crate) produce: Produce,
    pub(crate) filters: Vec<Filter>,
    /// Columns that are copied from the rows it is given.
    pub(crate) carry: Vec<Column>,
    /// Columns of the rows that are made, before the filters.
    pub(crate) made: Vec<Column>,
    /// Everything that is wanted of its rows.
    pub(crate) columns: Vec<Column>,
    /// What it was made of, and how many rows are expected.
    pub(crate) label: String,
    pub(crate) estimate: f64,
    /// Number of the stage among all of the plan.
    pub(crate) number: usize,
}

/// Stages, each with the rows of the one before it.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Pipeline {
    pub(crate) stages: Vec<Stage>,
}

/// Where rows find what they say about a field.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct FieldPlan {
    /// In place of these, those of the branch taken, for a chain of alternatives.
    pub(crate) shapes: Vec<FieldShape>,
    /// The column that tells whether it is set, and by which of the shapes.
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

/// A query, ready to be run.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Plan {
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
