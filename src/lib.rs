#![doc = include_str!("../README.md")]
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;
// The derive macro names this crate by its name, also in here.
extern crate self as bevy_relations;
#[cfg(feature = "std")]
extern crate std;

mod fetch;
mod ops;
mod plugin;
mod sealed;
mod store;

pub mod debug;
#[cfg(feature = "diagnostics")]
pub mod diagnostics;
pub mod disabling;
pub mod expr;
#[cfg(feature = "petgraph")]
pub mod graph;
pub mod id;
pub mod islands;
pub mod live;
#[cfg(feature = "bevy_reflect")]
pub mod mirror;
pub mod names;
#[cfg(feature = "overlay")]
pub mod overlay;
pub mod prefab;
pub mod query;
pub mod relation;
#[cfg(feature = "remote")]
pub mod remote;
#[cfg(feature = "scene")]
pub mod scene;
pub mod snapshot;
pub mod system_param;
pub mod traverse;
pub mod world;

/// The book, with a module for each chapter. Its listings are tests.
#[cfg(any(doc, doctest))]
pub mod book {
    #[doc = include_str!("../docs/src/introduction.md")]
    pub mod introduction {}
    #[doc = include_str!("../docs/src/ten-minutes.md")]
    pub mod ten_minutes {}
    #[doc = include_str!("../docs/src/game.md")]
    pub mod game {}
    #[doc = include_str!("../docs/src/pairs.md")]
    pub mod pairs {}
    #[doc = include_str!("../docs/src/traits.md")]
    pub mod traits {}
    #[doc = include_str!("../docs/src/which.md")]
    pub mod which {}
    #[doc = include_str!("../docs/src/expressions.md")]
    pub mod expressions {}
    #[doc = include_str!("../docs/src/live.md")]
    pub mod live {}
    #[doc = include_str!("../docs/src/walks.md")]
    pub mod walks {}
    #[doc = include_str!("../docs/src/prefabs.md")]
    pub mod prefabs {}
    #[doc = include_str!("../docs/src/saves.md")]
    pub mod saves {}
    #[doc = include_str!("../docs/src/network.md")]
    pub mod network {}
    #[doc = include_str!("../docs/src/remote.md")]
    pub mod remote {}
    #[doc = include_str!("../docs/src/performance.md")]
    pub mod performance {}
    #[doc = include_str!("../docs/src/errors.md")]
    pub mod errors {}
    #[doc = include_str!("../docs/src/flecs.md")]
    pub mod flecs {}
    #[doc = include_str!("../docs/src/bevy.md")]
    pub mod bevy {}
    #[doc = include_str!("../docs/src/aery.md")]
    pub mod aery {}
    #[doc = include_str!("../docs/src/inside.md")]
    pub mod inside {}
    #[doc = include_str!("../docs/src/limits.md")]
    pub mod limits {}
}

/// Bundles with pairs. [`pairs!`](crate::pairs) and [`sources!`](crate::sources) make them.
pub mod bundle {
    pub use crate::ops::{
        BundleList, Pair, PairList, PairTarget, PairsBundle, Participant, SourcesBundle, TypeTarget,
    };
}

/// Events of pairs, and events that travel along a relation.
pub mod event {
    pub use crate::ops::{
        InsertedAbove, PairInserted, PairInsertedEvent, PairPattern, PairRemoved, PairRemovedEvent,
        PropagatedEvent, RemovalCause, RemovedAbove,
    };
}

/// Errors, except those of expressions, names and saves: these are in [`expr`], [`live`],
/// [`names`] and [`snapshot`].
pub mod error {
    pub use crate::{
        disabling::DisablingError,
        islands::IslandsError,
        live::{DeltaGap, PropagateError, RollupError},
        ops::{
            AttemptedPair, BrokenConstraint, ConstraintError, DespawnError, InsertPairError,
            InsertPairsError, NotTraversableError, ObservePairsError, PairRole, ReorderError,
        },
        prefab::InstantiateError,
        relation::{
            EntityName, PairName, PairRefusal, ParseTraitsError, TooManyArchetypes, TraitConflict,
            TraitsError,
        },
        snapshot::SnapshotError,
        store::{Invariant, PairInvariantError},
        traverse::DepthError,
        world::ScopeError,
    };
    #[cfg(feature = "bevy_reflect")]
    pub use crate::{mirror::MirrorError, world::ReflectPairError};
}

/// An expression whose text the compiler checks.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{pair_expr, prelude::*};
///
/// let mut world = World::new();
/// let ship = world.spawn(Name::new("Ship")).id();
/// let kite = world.spawn_empty().id();
/// world.insert_tag(kite, ship)?;
/// let mut ships = pair_expr!("Ship").compile(&mut world)?;
/// assert_eq!(ships.first(&world)?.and_then(|row| row.this()), Some(kite));
/// # Ok::<(), BevyError>(())
/// ```
pub use bevy_relations_macros::pair_expr;
pub use plugin::RelationsSystems;
pub use prelude::*;

/// The names that most games need. All others are in the modules by topic.
pub mod prelude {
    #[cfg(feature = "bevy_reflect")]
    pub use crate::expr::WorldExprExt;
    pub use crate::{
        expr::{ExprQuery, Expression, PairExpr},
        id::PairId,
        islands::WorldIslandsExt,
        live::WorldMonitorExt,
        names::WorldNameExt,
        ops::{Pair, PairInserted, PairRemoved},
        pairs,
        plugin::{AdoptRelationshipExt, AppRelationExt, ComponentNameExt, RelationsPlugin},
        prefab::{CommandsPrefabExt, WorldPrefabExt},
        query::{Related, Sources, Targets, Unrelated},
        relation::{CleanupPolicy, IsA, Relation, RelationTraits},
        sources,
        system_param::{AnyPairs, CascadeQuery, PairQuery, Pairs, PairsMut, RemovedPairs},
        world::{CommandsPairExt, EntityCommandsPairExt, EntityWorldMutPairExt, WorldPairExt, WorldScopeExt},
    };
    pub use bevy_relations_macros::{Expression, Relation};
}

/// What the macros expand to. Not for use by hand.
#[doc(hidden)]
pub mod __private {
    pub use crate::{
        expr::{PairExpr, ReadFields, WriteFields, parsed},
        ops::{Propagation, register},
        relation::{
            CleanupPolicy, EndConstraint, ExclusiveRelation, KeyReader, KeyVariants, KeyedRelation,
            OnInstantiate, OnLastSource, OnMissing, OnSourceDespawn, PairContext, PairRefusal, Probe,
            ProbeClone, ProbeCloneFallback, ProbeDefault, ProbeDefaultFallback, ProbeEq, ProbeEqFallback,
            ProbeFromStr, ProbeFromStrFallback, ProbeVariants, ProbeVariantsFallback, RelationHint,
            RelationInfo, RelationIsNotAComponent, RelationStorage, StoredRelation, TraitsError,
            TraversableRelation,
        },
    };
    pub use bevy_ecs::{
        component::{Component, Mutable, StorageType},
        entity::Entity,
        world::World,
    };
}
