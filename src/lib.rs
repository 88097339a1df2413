#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;
// The derive macro names this crate by its name, also in here.
extern crate self as bevy_relations;
#[cfg(feature = "std")]
extern crate std;

mod access;
mod expr;
mod id;
mod ops;
mod param;
mod plugin;
mod relation;
mod store;
mod traverse;

pub use bevy_relations_macros::Relation;
pub use expr::{
    CompiledExpr, ExprError, ExprErrorKind, ExprRunError, FieldId, PairExpr, PairExprBuilder, Row, RowMut,
    Rows,
};
pub use id::{PairId, Slot};
pub use ops::{
    AttemptedPair, BundleList, CommandsPairExt, DespawnError, EntityCommandsPairExt, EntityWorldMutPairExt,
    InsertPairError, InsertPairsError, Pair, PairBatch, PairInserted, PairInsertedEvent, PairList,
    PairPattern, PairRemoved, PairRemovedEvent, PairRole, PairTarget, PairsBundle, ReorderError,
    SourcesBundle, TypeTarget, WorldPairExt,
};
pub use param::{Pairs, WorldPairReadExt};
pub use plugin::{AdoptRelationshipExt, AppRelationExt, RelationsPlugin};
#[cfg(feature = "bevy_reflect")]
pub use relation::ReflectedData;
pub use relation::{
    CleanupPolicy, ExclusiveRelation, IsA, OnInstantiate, PairContext, PairRefusal, Prefab, Relation,
    RelationName, RelationPath, RelationTraits, SlotOf, TraitConflict, TraitsError, TraversableRelation,
    Wildcard,
};
pub use store::{Invariant, PairInvariantError, PairTicks, SourceIter, TargetIter};
pub use traverse::{AncestorIter, DescendantIter, EntityPath, RelationView};

/// Everything that a game usually names.
pub mod prelude {
    pub use crate::{
        AdoptRelationshipExt, AppRelationExt, CleanupPolicy, CommandsPairExt, EntityCommandsPairExt,
        EntityWorldMutPairExt, ExclusiveRelation, IsA, OnInstantiate, Pair, PairContext, PairId,
        PairInserted, PairRefusal, PairRemoved, Pairs, Prefab, Relation, RelationTraits, RelationsPlugin,
        Slot, SlotOf, TraversableRelation, TypeTarget, Wildcard, WorldPairExt, WorldPairReadExt, pairs,
        sources,
    };
}

/// What the macros expand to. Not for use by hand.
#[doc(hidden)]
pub mod __private {
    pub use crate::{
        ops::register,
        relation::{
            Probe, ProbeClone, ProbeCloneFallback, ProbeDefault, ProbeDefaultFallback, RelationHint,
            RelationInfo,
        },
    };
    pub use bevy_ecs::{entity::Entity, world::World};
}
