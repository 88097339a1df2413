#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;
// The derive macro names this crate by its name, also in here.
extern crate self as bevy_relations;
#[cfg(feature = "std")]
extern crate std;

mod expr;
mod fetch;
mod id;
mod names;
mod ops;
mod plugin;
mod query;
mod relation;
mod store;
mod system_param;
mod traverse;

#[doc = include_str!("../GUIDE.md")]
pub mod guide {}

pub use bevy_relations_macros::{Expression, Relation, pair_expr};
#[cfg(feature = "serialize")]
pub use expr::RowSerializer;
pub use expr::{
    AnyExpression, CompiledExpr, ExprError, ExprErrorKind, ExprParam, ExprQuery, ExprRunError, Expression,
    FieldAccess, FieldId, FieldMode, PairExpr, PairExprBuilder, ReadFields, Row, RowGroup, RowMut, RowTable,
    RowTableMut, Rows, VarId, WriteFieldError, WriteFields,
};
pub use id::{PairId, Slot};
pub use names::{LookupError, NamePaths, WorldNameExt};
pub use ops::{
    AttemptedPair, BundleList, CommandsPairExt, DespawnError, EntityCommandsPairExt, EntityWorldMutPairExt,
    InsertPairError, InsertPairsError, InsertedAbove, NotTraversableError, Pair, PairBatch, PairInserted,
    PairInsertedEvent, PairList, PairPattern, PairRemoved, PairRemovedEvent, PairRole, PairTarget,
    PairsBundle, PropagatedEvent, RemovedAbove, ReorderError, SourcesBundle, TypeTarget, WorldPairExt,
};
pub use plugin::{AdoptRelationshipExt, AppRelationExt, ComponentNameExt, RelationsPlugin};
pub use query::{
    AddedPair, Ancestors, Cached, ChangedPair, Depth, LeafOf, PairsOf, PairsOfItem, Related, RootOf, SelfUp,
    Sources, SourcesItem, Target, TargetItem, TargetOf, Targets, TargetsItem, Up,
};
#[cfg(feature = "bevy_reflect")]
pub use relation::ReflectedData;
pub use relation::{
    CleanupPolicy, ExclusiveRelation, IsA, OnInstantiate, PairContext, PairRefusal, Prefab, Relation,
    RelationName, RelationPath, RelationTraits, SlotOf, TraitConflict, TraitsError, TraversableRelation,
    Wildcard,
};
pub use store::{Invariant, PairInvariantError, PairTicks, SourceIter, TargetIter};
pub use system_param::{
    AnyPairs, CascadeItems, CascadeIter, CascadeQuery, PairEdge, PairIter, PairIterMut, PairQuery, Pairs,
    PairsMut, RemovedPairIter, RemovedPairs, WorldPairReadExt, any_pair, any_pair_removed, pairs_changed,
};
#[cfg(feature = "bevy_reflect")]
pub use system_param::{PairView, PairsView};
pub use traverse::{AncestorIter, DepthError, Direction, EntityPath, MaxDepth, RelationView, WalkIter};

/// Everything that a game usually names.
pub mod prelude {
    pub use crate::{
        AddedPair, AdoptRelationshipExt, Ancestors, AnyPairs, AppRelationExt, Cached, CascadeQuery,
        ChangedPair, CleanupPolicy, CommandsPairExt, ComponentNameExt, Depth, EntityCommandsPairExt,
        EntityWorldMutPairExt, ExclusiveRelation, ExprQuery, Expression, InsertedAbove, IsA, LeafOf,
        NamePaths, OnInstantiate, Pair, PairContext, PairId, PairInserted, PairQuery, PairRefusal,
        PairRemoved, Pairs, PairsMut, PairsOf, Prefab, Related, Relation, RelationTraits, RelationsPlugin,
        RemovedAbove, RemovedPairs, RootOf, SelfUp, Slot, SlotOf, Sources, Target, TargetOf, Targets,
        TraversableRelation, TypeTarget, Up, Wildcard, WorldNameExt, WorldPairExt, WorldPairReadExt,
        any_pair, any_pair_removed, pairs, pairs_changed, sources,
    };
}

/// What the macros expand to. Not for use by hand.
#[doc(hidden)]
pub mod __private {
    pub use crate::{
        expr::parsed,
        ops::{Propagation, register},
        relation::{
            Probe, ProbeClone, ProbeCloneFallback, ProbeDefault, ProbeDefaultFallback, RelationHint,
            RelationInfo,
        },
    };
    pub use bevy_ecs::{entity::Entity, world::World};
}
