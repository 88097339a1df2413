//! Declaring relations: the [`Relation`] trait that a Rust type implements, and the traits of a relation ([`RelationTraits`]).
//!
//! A relation is always an entity. For a Rust type that entity is spawned when the type is first used; a run-time relation is
//! any entity in the first position of a pair. Traits are declared before the first pair, and do not change while the relation
//! exists.

mod builtin;
#[cfg(feature = "serialize")]
mod collection;
mod column;
mod constraint;
mod data;
mod error;
mod key;
mod keyed;
mod name;
mod policy;
mod registry;
mod storage;
mod text;
mod traits;

pub(crate) use builtin::{BUILT_INS, CHILD_OF, IS_A, SLOT_OF, Tagged};
pub use builtin::{IsA, Prefab, SlotOf, Wildcard};
pub use constraint::{EndConstraint, OnMissing};
#[cfg(feature = "bevy_reflect")]
pub use data::ReflectedData;
pub use data::{PairContext, PairRefusal};
pub use error::{RelationPath, TraitConflict, TraitsError};
pub use keyed::KeyedRelation;
pub use name::{EntityName, PairName, RelationName};
pub use policy::{CleanupPolicy, OnInstantiate, OnLastSource, OnSourceDespawn};
pub use storage::{RelationStorage, TooManyArchetypes};
pub use text::ParseTraitsError;
pub use traits::RelationTraits;

#[cfg(feature = "serialize")]
pub(crate) use collection::read_collection;
pub(crate) use column::{ColumnRef, ErasedColumn, Value, if_fields};
pub(crate) use constraint::{InsertMade, MakeDefault, PairEnd, ResolvedConstraint};
pub(crate) use data::BoxedValue;
#[cfg(feature = "serialize")]
pub(crate) use data::is_serializable;
#[cfg(feature = "bevy_reflect")]
pub(crate) use data::reflected_value;
pub(crate) use key::{KeyRef, NamedKey, listed};
pub(crate) use name::{display_pair, short_name};
pub(crate) use registry::{Adopted, Registry, RelationEntry, TypeEntry, UpdateMirror, ValidateFn};
pub(crate) use traits::{IdRef, InsertDefault, OneOf, RegisterFn, TypeRef};

#[doc(hidden)]
pub use data::{
    Probe, ProbeClone, ProbeCloneFallback, ProbeDefault, ProbeDefaultFallback, ProbeEq, ProbeEqFallback,
    RelationHint, RelationInfo,
};
#[doc(hidden)]
pub use keyed::{
    KeyReader, KeyVariants, ProbeFromStr, ProbeFromStrFallback, ProbeVariants, ProbeVariantsFallback,
};

use bevy_ecs::{entity::Entity, query::ReadOnlyQueryData, world::World};

/// A Rust type that is a relation.
///
/// Derive it, for a struct or an enum. A type of size zero, such as a unit struct or `Marked(())`, is a tag relation; each
/// pair of any other relation type carries a value of the type. Traits are declared with the `#[relation(..)]` attribute:
///
/// ```
/// use bevy_relations::prelude::*;
///
/// #[derive(Relation)]
/// #[relation(exclusive, traversable, on_target_despawn = Despawn)]
/// struct MountedOn;
///
/// #[derive(Relation, Clone, Default)]
/// struct Eats {
///     grams: f32,
/// }
/// ```
///
/// | attribute | meaning |
/// |---|---|
/// | `exclusive`, `union` | one target per source |
/// | `symmetric` | inserted and removed in both directions |
/// | `transitive`, `reflexive`, `acyclic`, `traversable` | see [`RelationTraits`] |
/// | `tag`, `final`, `ordered` | see [`RelationTraits`] |
/// | `transient` | left out of [snapshots](crate::snapshot) and of scenes, also if its pairs are [mirrored](crate::mirror) |
/// | `one_of`, `one_of = Parent` | targets must be children of the relation, or of `Parent`'s entity, when the pair is inserted |
/// | `with = Other`, `with(A, B)` | companions: relations inserted with the same target |
/// | `source(Person, !Ghost)`, `target(City)` | components that an end must have, or with `!` must not have: [`RelationTraits::source`] |
/// | `on_missing = Refuse \| Insert \| Warn` | what happens to a pair if an end breaks one of these: [`OnMissing`] |
/// | `on_instantiate = Override \| Inherit \| DontInherit` | what instances of a prefab get, see [`OnInstantiate`] |
/// | `on_relation_despawn = Remove \| Despawn \| Refuse` | [`CleanupPolicy`] when the relation goes |
/// | `on_target_despawn = Remove \| Despawn \| Refuse` | [`CleanupPolicy`] when a target goes |
/// | `on_source_despawn = Keep \| DespawnTarget` | [`OnSourceDespawn`]: what happens to targets when their source goes |
/// | `on_last_source = Keep \| Despawn` | [`OnLastSource`]: what happens to a target that loses its last source |
/// | `storage = "Table"`, `"Fragmenting"` | components on the sources speed up reading, see [`RelationStorage`] |
/// | `key = Slot`, `key = Self` | at most one pair per source and key, which is the field of this type, or the value: [`KeyedRelation`] |
/// | `validate = function` | [`Relation::validate`] |
/// | `component` | the type is a [`Component`](bevy_ecs::component::Component) too, which has no bearing on its pairs; one that derives both and does not say so is refused with `type annotations needed` |
///
/// Every Bevy [`Relationship`](bevy_ecs::relationship::Relationship) component is a `Relation` too, so that
/// it can be named in the same places; it takes part once it is
/// [adopted](crate::AdoptRelationshipExt::adopt_relationship). [`ChildOf`](bevy_ecs::hierarchy::ChildOf)
/// always is.
///
/// In the book: [Relations in ten minutes](crate::book::ten_minutes).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a `Relation`",
    label = "not a relation",
    note = "consider annotating `{Self}` with `#[derive(Relation)]`",
    note = "if `{Self}` is an entity: the relation comes before the target, as in `insert_pair(source, Likes, target)` and \
            `Pair(Likes, target)`; for a relation created at run time there are methods that end in `_by_id`"
)]
pub trait Relation: Send + Sync + Sized + 'static {
    /// Read access to values that live in a component of the source instead of the pair store.
    #[doc(hidden)]
    type Component: ReadOnlyQueryData + 'static;

    /// Whether it is declared with `storage = "Table"` or `"Fragmenting"`.
    #[doc(hidden)]
    const IN_TABLE: bool = false;

    /// The declared traits of this relation.
    ///
    /// ```
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation)]
    /// #[relation(exclusive, acyclic)]
    /// struct PartOf;
    ///
    /// assert_eq!(PartOf::traits().names(), ["exclusive", "acyclic"]);
    /// ```
    fn traits() -> RelationTraits {
        RelationTraits::new()
    }

    /// Called with the value of a pair before it is stored: may adjust it, or refuse the pair.
    ///
    /// Runs before anything changes, for new pairs and for replaced values, whichever way they are inserted.
    /// Set it with `#[relation(validate = function)]`.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{error::PairRefusal, prelude::*, relation::PairContext};
    /// #[derive(Relation)]
    /// #[relation(validate = some)]
    /// struct Carries(u32);
    ///
    /// fn some(carries: &mut Carries, _: &PairContext<'_>) -> Result<(), PairRefusal> {
    ///     carries.0 = carries.0.min(99);
    ///     if carries.0 == 0 { Err(PairRefusal::new("nothing is carried")) } else { Ok(()) }
    /// }
    /// # let mut world = World::new();
    /// # let [ann, rope] = [(); 2].map(|()| world.spawn_empty().id());
    /// world.insert_pair(ann, Carries(500), rope)?;
    /// assert_eq!(world.pair_value::<Carries>(ann, rope).unwrap().0, 99);
    /// assert!(world.insert_pair(ann, Carries(0), rope).is_err());
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// A [`PairRefusal`] turns the insertion into
    /// [`InsertPairError::Refused`](crate::error::InsertPairError::Refused).
    #[expect(unused_variables, reason = "the default accepts every value as it is")]
    fn validate(&mut self, pair: &PairContext<'_>) -> Result<(), PairRefusal> {
        Ok(())
    }

    /// What the derive macro found out about the type.
    #[doc(hidden)]
    fn info() -> RelationInfo<Self>;

    /// Registers the relation in `world` unless it is registered, and returns its entity.
    #[doc(hidden)]
    fn register(world: &mut World) -> Result<Entity, TraitsError>;

    /// The value of a pair, from the component of the source that holds it.
    #[doc(hidden)]
    fn value_in<'a>(
        _component: <Self::Component as bevy_ecs::query::QueryData>::Item<'a, '_>,
    ) -> Option<&'a Self> {
        None
    }
}

/// The bound of relations as components. No type implements it, so that the compiler prints this message where a relation
/// is used as a component.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{R}` is a relation, not a component",
    label = "`{R}` is a relation",
    note = "in a query, write `Targets<{R}>` for `&{R}`, and `Related<{R}>` for `With<{R}>`",
    note = "to insert a pair, write `Pair({R}, target)` in a bundle, or `entity.insert_pair({R}, target)`; to remove pairs, \
            `entity.remove_pair::<{R}>(target)` or `entity.remove_pairs::<{R}>()`",
    note = "a type that is meant to be both a relation and a component says so: `#[relation(component)]`"
)]
pub trait RelationIsNotAComponent<R> {}

/// A [`Relation`] whose pairs are in the store, with values that can be written in place: every one but Bevy's
/// relationships, which are components, and [keyed relations](KeyedRelation). Implemented by the derive macro.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::relation::StoredRelation;
/// fn clear<R: StoredRelation + Default>(mut pairs: PairsMut<R>) {
///     pairs.for_each_mut(|_, _, mut value| *value = R::default());
/// }
///
/// #[derive(Relation, Default)]
/// struct Owes(u32);
///
/// # let mut world = World::new();
/// # let bank = world.spawn_empty().id();
/// # let ann = world.spawn(Pair(Owes(5), bank)).id();
/// world.run_system_cached(clear::<Owes>).unwrap();
/// assert_eq!(world.pair_value::<Owes>(ann, bank).unwrap().0, 0);
/// ```
#[diagnostic::on_unimplemented(
    message = "the pairs of `{Self}` cannot be written in place",
    label = "not stored as pairs, or no relation",
    note = "values are written in those of `#[derive(Relation)]`; the pairs of a Bevy relationship are components: insert \
            the component again to change its target or its other fields",
    note = "the values of a relation with `#[relation(key = ..)]` hold their keys: insert the pair again to change its value"
)]
pub trait StoredRelation: Relation<Component = ()> {}

/// A [`Relation`] of which a source has at most one target. Implemented by the derive macro for relations
/// declared `exclusive` or `union`, and by every Bevy relationship.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::relation::ExclusiveRelation;
/// fn only_target<R: ExclusiveRelation>(world: &World, source: Entity) -> Option<Entity> {
///     world.pairs::<R>().target(source)
/// }
///
/// # let mut world = World::new();
/// # let ship = world.spawn_empty().id();
/// # let gun = world.spawn(ChildOf(ship)).id();
/// assert_eq!(only_target::<ChildOf>(&world, gun), Some(ship));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not declared exclusive",
    label = "a source may have several targets",
    note = "to visit sources with several targets, use `for_each` or `iter_lending` of a `PairQuery`, and \
            `for_each_with_parents` of a `CascadeQuery`",
    note = "consider adding `#[relation(exclusive)]` to `{Self}` if a source has one target at most"
)]
pub trait ExclusiveRelation: Relation {}

/// A [`Relation`] that may be followed by `Up`, `Ancestors` and `CascadeQuery`. Implemented by the derive macro
/// for relations declared `traversable` or `transitive`, and by every Bevy relationship.
///
/// A relationship that allows an entity to point to itself implements this, too, but is not traversable: a system that
/// follows it panics when it is initialised.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::{query::Up, relation::TraversableRelation};
/// #[derive(Component)]
/// struct Armor(u32);
///
/// fn armor<R: TraversableRelation>(parts: Query<Up<R, &Armor>>) -> u32 {
///     parts.iter().map(|armor| armor.0).sum()
/// }
///
/// # let mut world = World::new();
/// # let ship = world.spawn(Armor(3)).id();
/// # world.spawn(ChildOf(ship));
/// assert_eq!(world.run_system_cached(armor::<ChildOf>).unwrap(), 3);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not traversable",
    label = "cannot be followed",
    note = "consider adding `#[relation(traversable)]` to `{Self}`"
)]
pub trait TraversableRelation: Relation {}
