//! Why an operation was refused.

use crate::{
    fetch,
    id::StoredPair,
    relation::{EntityName, PairEnd, PairName, PairRefusal, RelationName, ResolvedConstraint, TraitsError},
    store::PairStore,
    traverse::EntityPath,
};
use alloc::{borrow::Cow, format, string::String, vec::Vec};
use bevy_ecs::{entity::Entity, world::World};
use core::fmt;
use smallvec::SmallVec;
use thiserror::Error;

/// The position of an entity in a pair, in an [`InsertPairError`].
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::error::{InsertPairError, PairRole};
/// # #[derive(Relation)]
/// # struct Likes;
/// # let mut world = World::new();
/// # let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
/// world.despawn(ben);
/// let error = world.insert_pair(ann, Likes, ben).unwrap_err();
/// assert!(matches!(error, InsertPairError::Dead { dead: PairRole::Target, .. }));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PairRole {
    /// The entity that has the pair.
    Source,
    /// The first element.
    Relation,
    /// The second element.
    Target,
}

impl fmt::Display for PairRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Source => "source",
            Self::Relation => "relation",
            Self::Target => "target",
        })
    }
}

/// The pair that was to be inserted, in an [`InsertPairError`].
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{error::{AttemptedPair, InsertPairError}, prelude::*};
/// #[derive(Relation)]
/// #[relation(acyclic)]
/// struct PartOf;
///
/// # let mut world = World::new();
/// # let ship = world.spawn_empty().id();
/// let Err(InsertPairError::Cycle { pair, .. }) = world.insert_pair(ship, PartOf, ship) else { panic!() };
/// let AttemptedPair { source_entity, relation, target } = pair;
/// assert_eq!((source_entity.entity(), relation.to_string().as_str(), target.entity()), (ship, "PartOf", ship));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AttemptedPair {
    /// The entity that was to get the pair.
    pub source_entity: EntityName,
    /// The relation.
    pub relation: RelationName,
    /// The target.
    pub target: EntityName,
}

impl AttemptedPair {
    /// A pair with the names of its entities.
    pub(crate) fn new(
        world: &World,
        store: &PairStore,
        source: Entity,
        relation: Entity,
        target: Entity,
    ) -> Self {
        let registry = store.registry();
        Self {
            source_entity: registry.entity_name(world, source),
            relation: registry.name_of(relation),
            target: registry.entity_name(world, target),
        }
    }
}

impl fmt::Display for AttemptedPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {}) on {}", self.relation, self.target, self.source_entity)
    }
}

/// An end of a pair lacks a component that it must have, or has one that it must not have: see
/// [`RelationTraits::source`](crate::RelationTraits::source).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::error::InsertPairError;
/// #[derive(Component)]
/// struct City;
/// #[derive(Relation)]
/// #[relation(target(City))]
/// struct LivesIn;
///
/// # let mut world = World::new();
/// # let [ann, sea] = [(); 2].map(|()| world.spawn_empty().id());
/// let Err(InsertPairError::Constraint(broken)) = world.insert_pair(ann, LivesIn, sea) else { panic!() };
/// assert_eq!((broken.pair.source_entity.entity(), broken.pair.target.entity()), (ann, sea));
/// assert!(broken.required && broken.component.ends_with("City"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BrokenConstraint {
    /// The pair.
    pub pair: AttemptedPair,
    /// Which of its ends.
    pub end: PairRole,
    /// The name of the component.
    pub component: Cow<'static, str>,
    /// The end must have the component; else it must not have it.
    pub required: bool,
}

impl BrokenConstraint {
    pub(in crate::ops) fn new(
        world: &World,
        store: &PairStore,
        pair: StoredPair,
        constraint: &ResolvedConstraint,
    ) -> Self {
        let end = match constraint.end {
            PairEnd::Source => PairRole::Source,
            PairEnd::Target => PairRole::Target,
        };
        let relation = store.registry().entry(pair.relation).entity;
        Self {
            pair: AttemptedPair::new(world, store, pair.source, relation, pair.target),
            end,
            component: constraint.name.clone(),
            required: constraint.is_required,
        }
    }
}

impl fmt::Display for BrokenConstraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let must = if self.required { "must have" } else { "must not have" };
        write!(f, "{}: the {} {must} `{}`", self.pair, self.end, self.component)
    }
}

/// What happened to a pair that breaks a constraint, as passed to Bevy's error handler: see
/// [`check_constraints`](crate::WorldPairExt::check_constraints).
///
/// ```
/// # use bevy_ecs::{error::{BevyError, ErrorContext, FallbackErrorHandler}, prelude::*};
/// # use bevy_relations::{error::ConstraintError, prelude::*};
/// #[derive(Component)]
/// struct City;
/// #[derive(Relation)]
/// #[relation(target(City))]
/// struct LivesIn;
///
/// fn report(error: BevyError, _: ErrorContext) {
///     let Some(ConstraintError::Removed(broken)) = error.downcast_ref() else { panic!("{error}") };
///     assert!(broken.required && broken.component.contains("City"));
/// }
/// # let mut world = World::new();
/// # let [ann, sea] = [(); 2].map(|()| world.spawn_empty().id());
/// world.insert_resource(FallbackErrorHandler(report));
/// world.commands().entity(ann).insert_pair(LivesIn, sea);
/// world.flush();
/// assert_eq!(world.check_constraints(), 1);
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ConstraintError {
    /// It was removed.
    #[error("removed {0}")]
    Removed(BrokenConstraint),
    /// It was inserted, or stays: [`OnMissing::Warn`](crate::relation::OnMissing::Warn).
    #[error("{0}")]
    Kept(BrokenConstraint),
}

/// Why a pair was not inserted. Nothing has changed.
///
/// In the book: [Errors explained](crate::book::errors).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::error::InsertPairError;
/// #[derive(Relation)]
/// #[relation(acyclic)]
/// struct PartOf;
///
/// # let mut world = World::new();
/// # let [mast, hull] = [(); 2].map(|()| world.spawn_empty().id());
/// world.insert_pair(mast, PartOf, hull)?;
/// let error = world.insert_pair(hull, PartOf, mast).unwrap_err();
/// match &error {
///     InsertPairError::Cycle { pair, path } => {
///         assert_eq!((pair.source_entity.entity(), path.entities().len()), (hull, 3));
///     }
///     error => panic!("{error}"),
/// }
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum InsertPairError {
    /// One of the three entities is not alive.
    #[error("cannot insert {pair}: the {dead} is not alive")]
    Dead {
        /// The pair.
        pair: AttemptedPair,
        /// Which of the three.
        dead: PairRole,
    },
    /// An element is `*` or `_`.
    #[error("cannot insert {pair} on {source_entity}: a stored pair names two entities")]
    Wildcard {
        /// The entity that was to get the pair.
        source_entity: EntityName,
        /// The pair.
        pair: PairName,
    },
    /// The relation is acyclic, and the pair would close a cycle.
    #[error("{pair} would close the cycle {path}")]
    Cycle {
        /// The pair.
        pair: AttemptedPair,
        /// From the source over the target back to the source.
        path: EntityPath,
    },
    /// The relation is [`IsA`](crate::IsA) and the target is final.
    #[error("cannot insert {pair}: the target is final, nothing may inherit from it")]
    Final {
        /// The pair.
        pair: AttemptedPair,
    },
    /// The relation is [`IsA`](crate::IsA), and the source is a part of the prefab that is the target: it would contain
    /// an instance of itself. Longer cycles are not detected: a prefab may become a variant of another one that has such a part.
    #[error(
        "cannot insert {pair}: the source is part of this prefab, which cannot contain an instance of itself"
    )]
    InsidePrefab {
        /// The pair.
        pair: AttemptedPair,
    },
    /// The relation only accepts children of one entity.
    #[error("cannot insert {pair}: the target must be a child of {parent}")]
    NotOneOf {
        /// The pair.
        pair: AttemptedPair,
        /// Whose children are accepted.
        parent: EntityName,
    },
    /// The value has the wrong type.
    #[error("cannot insert {pair}: its value must be a `{expected}`, not a `{found}`")]
    WrongValueType {
        /// The pair.
        pair: AttemptedPair,
        /// The type of values of this pair.
        expected: &'static str,
        /// The type of the given value.
        found: &'static str,
    },
    /// A value was given for a pair that carries none.
    #[error("cannot insert {pair}: it is a tag pair, but a `{found}` was given as its value")]
    UnexpectedValue {
        /// The pair.
        pair: AttemptedPair,
        /// The type of the given value.
        found: &'static str,
    },
    /// No value was given for a pair that carries one, and no default of it is known. Known are those of relation
    /// types that have a `Default`, of [`data_or_default`](crate::RelationTraits::data_or_default), and of registered
    /// types with `#[reflect(Default)]`.
    #[error("cannot insert {pair}: it needs a value, and no default of `{expected}` is known")]
    MissingValue {
        /// The pair.
        pair: AttemptedPair,
        /// The type of values of this pair.
        expected: &'static str,
    },
    /// [`Relation::validate`](crate::Relation::validate) refused the value.
    #[error("{pair} was refused: {reason}")]
    Refused {
        /// The pair.
        pair: AttemptedPair,
        /// Its reason.
        reason: PairRefusal,
    },
    /// Several pairs were to be inserted at once, of which a source of an exclusive relation can have only one.
    #[error("cannot insert {pair}: the relation is exclusive, and {other} is to be the target as well")]
    Exclusive {
        /// The pair.
        pair: AttemptedPair,
        /// The target of another of the pairs.
        other: EntityName,
    },
    /// An end lacks a component that it must have, or has one that it must not have: see
    /// [`RelationTraits::source`](crate::RelationTraits::source).
    #[error("cannot insert {0}")]
    Constraint(BrokenConstraint),
    /// Several pairs were to be on one source at once, and the relation is [keyed](crate::relation::KeyedRelation).
    #[error("cannot insert {pair}: the pair with {other} is to be there as well, and has the same key")]
    SameKey {
        /// The pair.
        pair: AttemptedPair,
        /// The target of another of the pairs.
        other: EntityName,
    },
    /// The source is its own target, and the relation, a Bevy relationship, does not allow that.
    #[error("cannot insert {pair}: the relationship may not point to its own entity")]
    SelfReference {
        /// The pair.
        pair: AttemptedPair,
    },
    /// The relation is symmetric, and both ends stand for types with fields: each direction of the pair would carry a value of
    /// its target's type.
    #[error(
        "cannot insert {pair}: both ends stand for types with fields, and a symmetric pair has one value; declare the relation a tag"
    )]
    TwoValueTypes {
        /// The pair.
        pair: AttemptedPair,
    },
    /// The values of such pairs were taken out of the world: the entity of a resource of this crate was despawned.
    #[error(
        "cannot insert {pair}: the values of type `{expected}` were removed from the world; `clear_pairs` makes room for new ones"
    )]
    ValuesRemoved {
        /// The pair.
        pair: AttemptedPair,
        /// The type of values of this pair.
        expected: &'static str,
    },
    /// The pairs were taken out of the world while this one was being inserted.
    #[error(
        "cannot insert a pair of {source_entity} and {target}: the pair store was removed from the world meanwhile"
    )]
    StoreRemoved {
        /// The entity that was to get the pair.
        source_entity: EntityName,
        /// The target.
        target: EntityName,
    },
    /// The relation could not be registered.
    #[error(transparent)]
    Traits(#[from] TraitsError),
}

impl InsertPairError {
    /// The pair that the error is about.
    pub(crate) fn pair_mut(&mut self) -> Option<&mut AttemptedPair> {
        match self {
            Self::Dead { pair, .. }
            | Self::Cycle { pair, .. }
            | Self::Final { pair }
            | Self::NotOneOf { pair, .. }
            | Self::WrongValueType { pair, .. }
            | Self::UnexpectedValue { pair, .. }
            | Self::MissingValue { pair, .. }
            | Self::Refused { pair, .. }
            | Self::Exclusive { pair, .. }
            | Self::SameKey { pair, .. }
            | Self::SelfReference { pair }
            | Self::InsidePrefab { pair }
            | Self::TwoValueTypes { pair }
            | Self::ValuesRemoved { pair, .. } => Some(pair),
            Self::Constraint(broken) => Some(&mut broken.pair),
            Self::Wildcard { .. } | Self::StoreRemoved { .. } | Self::Traits(_) => None,
        }
    }
}

/// The store is gone, in the midst of an insertion.
pub(crate) fn store_removed(world: &World, source: Entity, target: Entity) -> InsertPairError {
    let [source_entity, target] = [source, target].map(|end| EntityName::new(world, end));
    InsertPairError::StoreRemoved { source_entity, target }
}

/// Pairs of a batch that were refused; the others were inserted. See [`insert_pairs`](crate::WorldPairExt::insert_pairs).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # #[derive(Relation)]
/// # struct Likes;
/// # let mut world = World::new();
/// # let [ann, ben, cy] = [(); 3].map(|()| world.spawn_empty().id());
/// world.despawn(ben);
/// let error = world.insert_pair_batch([(ann, Likes, cy), (ann, Likes, ben)]).unwrap_err();
/// let (number, reason) = &error.refused[0];
/// assert_eq!(*number, 1);
/// assert!(reason.to_string().contains("not alive"), "{reason}");
/// ```
#[derive(Clone, PartialEq, Debug, Error)]
#[error("{}", refused_text(refused))]
pub struct InsertPairsError {
    /// Number within the batch, and the reason.
    pub refused: Vec<(usize, InsertPairError)>,
}

fn refused_text(refused: &[(usize, InsertPairError)]) -> String {
    match refused {
        [] => "no pair was refused".into(),
        [(_, error)] => format!("one of the pairs was refused: {error}"),
        [(_, first), ..] => {
            format!("{} of the pairs were refused, the first because: {first}", refused.len())
        }
    }
}

/// Why an entity was not despawned. Nothing has changed.
///
/// In the book: [Errors explained](crate::book::errors).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{error::DespawnError, prelude::*};
/// #[derive(Relation)]
/// #[relation(on_target_despawn = Refuse)]
/// struct LivesIn;
///
/// let mut world = World::new();
/// let house = world.spawn_empty().id();
/// world.spawn(Pair(LivesIn, house));
/// assert!(matches!(world.despawn_with_dependents(house), Err(DespawnError::InUse { .. })));
/// assert!(world.get_entity(house).is_ok());
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum DespawnError {
    /// It is not alive.
    #[error("{entity} cannot be despawned: it is not alive")]
    Dead {
        /// The entity.
        entity: EntityName,
    },
    /// It, or an entity that would be despawned with it, is in use under the policy `Refuse`.
    #[error(
        "{entity} cannot be despawned: {source_entity} has ({relation}, {target}), whose policy for its {role}, {used}, is `Refuse`"
    )]
    InUse {
        /// The entity that was to be despawned.
        entity: EntityName,
        /// The entity in use.
        used: EntityName,
        /// Its role in the pair that uses it.
        role: PairRole,
        /// The relation of the pair that uses it.
        relation: RelationName,
        /// The target of that pair.
        target: EntityName,
        /// The source of that pair.
        source_entity: EntityName,
    },
    /// It, or something that would go with it, stands for a component that entities have, and the policy says to
    /// refuse. That is the default for the entities of types.
    #[error(
        "{entity} cannot be despawned: the component {component} is in use on {source_entity}, with the policy `Refuse`"
    )]
    ComponentInUse {
        /// The entity that was to be despawned.
        entity: EntityName,
        /// The component, with the entity that stands for it.
        component: RelationName,
        /// An entity that has the component.
        source_entity: EntityName,
    },
}

impl DespawnError {
    /// With the names that the entities have in this world.
    pub(in crate::ops) fn named(mut self, world: &World) -> Self {
        let mut entities: SmallVec<[&mut EntityName; 4]> = SmallVec::new();
        match &mut self {
            Self::Dead { entity } => entities.push(entity),
            Self::InUse { entity, used, target, source_entity, .. } => {
                entities.extend([entity, used, target, source_entity]);
            }
            Self::ComponentInUse { entity, source_entity, .. } => entities.extend([entity, source_entity]),
        }
        for entity in entities {
            *entity = match fetch::store(world) {
                Some(store) => store.registry().entity_name(world, entity.entity()),
                None => EntityName::new(world, entity.entity()),
            };
        }
        self
    }
}

/// Why [`order_sources`](crate::WorldPairExt::order_sources) did not put the sources of a target in order. Nothing has changed.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::error::ReorderError;
/// #[derive(Relation)]
/// #[relation(ordered)]
/// struct InQueue;
///
/// # let mut world = World::new();
/// # let [ann, desk] = [(); 2].map(|()| world.spawn_empty().id());
/// world.insert_pair(ann, InQueue, desk)?;
/// let error = world.order_sources::<InQueue>(desk, &[]).unwrap_err();
/// assert!(matches!(error, ReorderError::NotAPermutation { .. }));
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum ReorderError {
    /// The relation does not keep order.
    #[error("the sources of {target} have no order: {relation} is not declared `ordered`")]
    NotOrdered {
        /// The relation.
        relation: RelationName,
        /// The target.
        target: EntityName,
    },
    /// The given entities are not exactly the sources of the target.
    #[error("the new order of the sources of {target} in {relation} is not a permutation of them")]
    NotAPermutation {
        /// The relation.
        relation: RelationName,
        /// The target.
        target: EntityName,
    },
    /// The entity is no relation, or was never used as one.
    #[error("{entity} is no relation")]
    NotARelation {
        /// The entity.
        entity: EntityName,
    },
    /// The order is that of Bevy's own collection.
    #[error("the sources of {target} in {relation} are kept in order by Bevy's relationship: sort that")]
    Adopted {
        /// The relation.
        relation: RelationName,
        /// The target.
        target: EntityName,
    },
    /// The traits of the relation are rejected.
    #[error(transparent)]
    Traits(#[from] TraitsError),
}

/// Why [`observe_pairs`](crate::WorldPairExt::observe_pairs) despawned an observer: it would have observed more than the
/// given pairs.
///
/// ```
/// # use bevy_ecs::{error::{BevyError, ErrorContext, FallbackErrorHandler}, prelude::*};
/// # use bevy_relations::{error::ObservePairsError, prelude::*, relation::Wildcard};
/// # #[derive(Relation)]
/// # struct Likes;
/// # let mut world = World::new();
/// fn handle(error: BevyError, _: ErrorContext) {
///     assert!(error.downcast_ref::<ObservePairsError>().is_some());
/// }
/// world.insert_resource(FallbackErrorHandler(handle));
/// let (likes, alice) = (world.register_relation::<Likes>()?, world.spawn_empty().id());
/// // All pairs of `Likes`: those with others than Alice, too.
/// let observer = world.observe_pairs((likes, alice), |_: On<PairInserted<Likes>>| {});
/// assert!(world.get_entity(observer).is_err());
/// let observer = world.observe_pairs((likes, alice), |_: On<PairInserted<Wildcard>>| {});
/// assert!(world.get_entity(observer).is_ok());
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "an observer of {pair} is neither of `On<PairInserted<Wildcard>>` nor of `On<PairRemoved<Wildcard>>`: \
    it would observe more than that"
)]
#[non_exhaustive]
pub struct ObservePairsError {
    /// The pairs that were to be observed.
    pub pair: PairName,
}

/// The names of a pair, for an error.
pub(crate) fn attempted(world: &World, store: &PairStore, pair: StoredPair) -> AttemptedPair {
    let relation = store.registry().entry(pair.relation).entity;
    AttemptedPair::new(world, store, pair.source, relation, pair.target)
}
