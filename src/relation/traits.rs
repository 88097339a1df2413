//! Relation traits: what can be declared about a relation, and which traits contradict.

use super::{
    CleanupPolicy, ColumnRef, EndConstraint, KeyRef, OnInstantiate, OnLastSource, OnMissing, OnSourceDespawn,
    Relation, RelationStorage, TraitConflict, TraitsError,
};
use alloc::vec::Vec;
use bevy_ecs::{
    entity::Entity,
    world::{EntityWorldMut, World},
};
#[cfg(feature = "bevy_reflect")]
use bevy_reflect::std_traits::ReflectDefault;
#[cfg(feature = "serialize")]
use bevy_reflect::{ReflectDeserialize, ReflectSerialize};
use core::any::TypeId;
use smallvec::SmallVec;

/// Registers a relation type and returns its entity.
pub(crate) type RegisterFn = fn(&mut World) -> Result<Entity, TraitsError>;

/// A Rust type that stands for an entity, named before a world exists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TypeRef {
    pub(crate) id: TypeId,
    /// The path of the type, where it is known.
    pub(crate) name: Option<&'static str>,
    /// Set for relation types, which need more than an entity.
    pub(crate) register: Option<RegisterFn>,
    /// The values of pairs that have the type as their target, if it has fields; the store lies above this layer.
    pub(crate) data: Option<ColumnRef>,
    /// Set where the type is named as a component that has a default.
    pub(crate) insert_default: Option<InsertDefault>,
}

/// Inserts the default of a component, unless the entity has the component.
pub(crate) type InsertDefault = fn(&mut EntityWorldMut<'_>);

impl TypeRef {
    pub(crate) fn of<T: 'static>(data: Option<ColumnRef>) -> Self {
        let name = Some(core::any::type_name::<T>());
        Self { id: TypeId::of::<T>(), name, register: None, data, insert_default: None }
    }

    /// A type of which nothing more is known.
    pub(crate) fn of_id(id: TypeId) -> Self {
        Self { id, name: None, register: None, data: None, insert_default: None }
    }

    pub(crate) fn relation<R: Relation>() -> Self {
        Self { register: Some(R::register), ..Self::of::<R>(None) }
    }
}

impl PartialEq for TypeRef {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

/// An entity, or the type that stands for one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum IdRef {
    Entity(Entity),
    Type(TypeRef),
}

/// Whose children the targets of a `OneOf` relation must be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum OneOf {
    /// The relation's own.
    Relation,
    Parent(IdRef),
}

const EXCLUSIVE: u16 = 1;
const SYMMETRIC: u16 = 1 << 1;
const TRANSITIVE: u16 = 1 << 2;
const REFLEXIVE: u16 = 1 << 3;
const ACYCLIC: u16 = 1 << 4;
const TRAVERSABLE: u16 = 1 << 5;
const TAG: u16 = 1 << 6;
const FINAL: u16 = 1 << 7;
const ORDERED: u16 = 1 << 8;
const TRANSIENT: u16 = 1 << 9;
const UNION: u16 = 1 << 10;
const INHERITABLE: u16 = 1 << 11;
const KEEPS_ENDS: u16 = 1 << 12;

/// The traits declared for a relation (or about a tag or type entity).
///
/// Typed relations declare them with `#[relation(..)]`; for a run-time relation they are given to
/// [`spawn_relation`](crate::WorldPairExt::spawn_relation) or
/// [`set_traits`](crate::WorldPairExt::set_traits) before its first pair.
///
/// In the book: [Traits and cleanup in pictures](crate::book::traits).
///
/// ```
/// # use bevy_relations::prelude::*;
/// let mut world = bevy_ecs::world::World::new();
/// let married_to = world.spawn_relation("MarriedTo", RelationTraits::new().exclusive().symmetric())?;
/// # let (romeo, juliet) = (world.spawn_empty().id(), world.spawn_empty().id());
/// world.insert_pair_by_id(romeo, (married_to, juliet))?;
/// assert!(world.has_pair_by_id(juliet, PairId::new(married_to, romeo)));
/// # Ok::<(), bevy_ecs::error::BevyError>(())
/// ```
///
#[doc = include_str!("traits.md")]
/// They are also read from text, and written, with the words of `#[relation(..)]`: see their
/// [`FromStr`](core::str::FromStr). With the feature `serialize` that is how serde reads and writes them.
///
/// ```
/// # use bevy_relations::prelude::*;
/// # let mut world = bevy_ecs::world::World::new();
/// let file = "
///     MarriedTo: exclusive, symmetric
///     PartOf: traversable, on_target_despawn = Despawn
/// ";
/// for line in file.lines() {
///     if let Some((name, traits)) = line.split_once(':') {
///         world.spawn_relation(name.trim().to_owned(), traits.parse()?)?;
///     }
/// }
/// let error = "exlusive".parse::<RelationTraits>().unwrap_err();
/// assert_eq!(error.to_string(), "`exlusive` is no relation trait; did you mean `exclusive`?");
/// # Ok::<(), bevy_ecs::error::BevyError>(())
/// ```
#[derive(Clone, Default, Debug, PartialEq)]
#[cfg_attr(
    feature = "bevy_reflect",
    derive(bevy_reflect::Reflect),
    reflect(opaque, Clone, Debug, Default, PartialEq)
)]
#[cfg_attr(feature = "serialize", reflect(Serialize, Deserialize))]
pub struct RelationTraits {
    pub(super) flags: u16,
    pub(super) with: SmallVec<[IdRef; 1]>,
    pub(super) one_of: Option<OneOf>,
    pub(super) source: Vec<EndConstraint>,
    pub(super) target: Vec<EndConstraint>,
    pub(super) on_missing: Option<OnMissing>,
    pub(super) on_instantiate: Option<OnInstantiate>,
    pub(super) on_relation_despawn: Option<CleanupPolicy>,
    pub(super) on_target_despawn: Option<CleanupPolicy>,
    pub(super) on_source_despawn: Option<OnSourceDespawn>,
    pub(super) on_last_source: Option<OnLastSource>,
    /// The type of the values that pairs of a run-time relation carry.
    pub(super) data: Option<ColumnRef>,
    /// Of which part of the values a source has each once.
    pub(super) key: Option<KeyRef>,
    pub(super) storage: Option<RelationStorage>,
    pub(super) conflict: Option<TraitConflict>,
}

macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident / $query:ident: $bits:expr;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut self) -> Self {
            self.flags |= $bits;
            self
        }

        pub(crate) fn $query(&self) -> bool {
            let bits: u16 = $bits;
            // A trait's own bit is the lowest one; what it implies comes with it.
            self.flags & bits == bits
        }
    )*};
}

impl RelationTraits {
    /// No traits: many targets per source, every cleanup policy `Remove`.
    pub fn new() -> Self {
        Self::default()
    }

    flags! {
        /// One target per source: a new target replaces the old one.
        exclusive / is_exclusive: EXCLUSIVE;
        /// The same as [`exclusive`](Self::exclusive), under another name of Flecs.
        union / is_union: UNION | EXCLUSIVE;
        /// Inserting `(R, y)` on `x` inserts `(R, x)` on `y`; removal mirrors too.
        symmetric / is_symmetric: SYMMETRIC;
        /// Expressions that ask for `(R, t)` also match what reaches `t` over `R`. Implies
        /// [`traversable`](Self::traversable).
        transitive / is_transitive: TRANSITIVE | TRAVERSABLE | ACYCLIC;
        /// Expressions treat `(R, x)` as true of `x` itself.
        reflexive / is_reflexive: REFLEXIVE;
        /// A pair that would close a cycle is refused.
        acyclic / is_acyclic: ACYCLIC;
        /// Walks and terms such as `Up` can follow the relation. Implies [`acyclic`](Self::acyclic).
        traversable / is_traversable: TRAVERSABLE | ACYCLIC;
        /// Pairs have no value, whatever the target is.
        tag / is_tag: TAG;
        /// No entity may have the pair ([`IsA`](super::IsA), this entity).
        is_final / has_final: FINAL;
        /// Sources of a target keep insertion order and can be reordered.
        ordered / is_ordered: ORDERED;
        /// Left out of [snapshots](crate::snapshot) and of scenes: the component that [mirrors](crate::mirror) its pairs has no
        /// `ReflectComponent`.
        transient / is_transient: TRANSIENT;
        /// Lifts the `final` that components have by default.
        inheritable / is_inheritable: INHERITABLE;
    }

    /// Inserting a pair of this relation inserts one of `R` with the same target.
    ///
    /// In the book: [Traits and cleanup in pictures](crate::book::traits).
    #[must_use]
    pub fn with<R: Relation>(mut self) -> Self {
        self.with.push(IdRef::Type(TypeRef::relation::<R>()));
        self
    }

    pub(crate) fn push_with(&mut self, with: TypeRef) {
        self.with.push(IdRef::Type(with));
    }

    /// [`with`](Self::with) for a run-time relation, or for a tag if this is one.
    ///
    /// Set on the entity of a component, it also concerns the component: adding that to an entity adds the tag `relation`, or
    /// the component for whose type `relation` stands, which must be registered with `#[reflect(Component, Default)]`.
    #[must_use]
    pub fn with_id(mut self, relation: Entity) -> Self {
        self.with.push(IdRef::Entity(relation));
        self
    }

    /// Targets must be children of the relation's entity. That is checked when a pair is inserted: one whose target gets another
    /// parent later stays.
    ///
    /// In the book: [Traits and cleanup in pictures](crate::book::traits).
    #[must_use]
    pub fn one_of(mut self) -> Self {
        self.set_one_of(OneOf::Relation);
        self
    }

    /// Targets must be children of `parent`. That is checked when a pair is inserted, as with [`one_of`](Self::one_of).
    #[must_use]
    pub fn one_of_id(mut self, parent: Entity) -> Self {
        self.set_one_of(OneOf::Parent(IdRef::Entity(parent)));
        self
    }

    pub(crate) fn set_one_of(&mut self, one_of: OneOf) {
        if self.one_of.is_some_and(|old| old != one_of) {
            self.conflict = Some(TraitConflict { first: "one_of", second: "one_of" });
        }
        self.one_of = Some(one_of);
    }

    /// Sources must have a component, or must not have it. Several add up.
    ///
    /// A method is checked as a whole before it changes anything. In a bundle the components come before the pairs, wherever they
    /// stand in it. Commands are applied one by one: the pair is there at once, also where an exclusive relation had another
    /// before, and is checked by [`check_constraints`](crate::WorldPairExt::check_constraints), when the other commands have been
    /// applied. The pair before does not come back if it is refused then; a companion that is refused goes alone. When the
    /// component goes later, or comes although the source must not have it, the pairs are removed. Every removal is reported to
    /// Bevy's error handler; [`on_missing`](Self::on_missing) has the alternatives.
    ///
    /// The component of a Bevy relationship is checked as a command is, whichever way it is inserted, and removed if it is
    /// refused. [`ChildOf`](bevy_ecs::hierarchy::ChildOf) takes such traits as long as no entity has a parent.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Component)]
    /// struct Person;
    /// #[derive(Component)]
    /// struct City;
    /// #[derive(Component)]
    /// struct Ruin;
    ///
    /// #[derive(Relation)]
    /// #[relation(source(Person), target(City, !Ruin))]
    /// struct LivesIn;
    ///
    /// # let mut world = World::new();
    /// let rome = world.spawn(City).id();
    /// let troy = world.spawn((City, Ruin)).id();
    /// let ann = world.spawn((Pair(LivesIn, rome), Person)).id();
    /// assert!(world.has_pair::<LivesIn>(ann, rome));
    /// let error = world.insert_pair(ann, LivesIn, troy).unwrap_err();
    /// assert!(error.to_string().ends_with("the target must not have `Ruin`"));
    /// ```
    #[must_use]
    pub fn source(mut self, constraint: EndConstraint) -> Self {
        if !self.source.contains(&constraint) {
            self.source.push(constraint);
        }
        self
    }

    /// Targets must have a component, or must not have it. See [`source`](Self::source).
    #[must_use]
    pub fn target(mut self, constraint: EndConstraint) -> Self {
        if !self.target.contains(&constraint) {
            self.target.push(constraint);
        }
        self
    }

    /// What happens to a pair whose ends do not satisfy [`source`](Self::source) or [`target`](Self::target).
    #[must_use]
    pub fn on_missing(mut self, rule: OnMissing) -> Self {
        merge(&mut self.on_missing, Some(rule), "on_missing", &mut self.conflict);
        self
    }

    /// What instances of a prefab get of the relation's pairs, or of the component.
    #[must_use]
    pub fn on_instantiate(mut self, rule: OnInstantiate) -> Self {
        merge(&mut self.on_instantiate, Some(rule), "on_instantiate", &mut self.conflict);
        self
    }

    /// What happens to the pairs of this relation when the relation is despawned; set on the entity of a component, also
    /// to the component: `Remove` removes it everywhere, `Despawn` despawns the entities that have it. Resources stay.
    #[must_use]
    pub fn on_relation_despawn(mut self, policy: CleanupPolicy) -> Self {
        merge(&mut self.on_relation_despawn, Some(policy), "on_relation_despawn", &mut self.conflict);
        self
    }

    /// What happens to the sources of a target when the target is despawned.
    ///
    /// In the book: [Traits and cleanup in pictures](crate::book::traits).
    #[must_use]
    pub fn on_target_despawn(mut self, policy: CleanupPolicy) -> Self {
        merge(&mut self.on_target_despawn, Some(policy), "on_target_despawn", &mut self.conflict);
        self
    }

    /// What happens to the targets of a source when the source is despawned.
    ///
    /// A symmetric relation takes [`on_target_despawn`](Self::on_target_despawn) instead.
    ///
    /// In the book: [Traits and cleanup in pictures](crate::book::traits).
    #[must_use]
    pub fn on_source_despawn(mut self, rule: OnSourceDespawn) -> Self {
        merge(&mut self.on_source_despawn, Some(rule), "on_source_despawn", &mut self.conflict);
        self
    }

    /// What happens to a target that loses its last source of this relation.
    ///
    /// In the book: [Traits and cleanup in pictures](crate::book::traits).
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation)]
    /// #[relation(exclusive, on_last_source = Despawn)]
    /// struct Uses;
    ///
    /// # let mut world = World::new();
    /// # let [a, b, texture] = [(); 3].map(|()| world.spawn_empty().id());
    /// world.insert_pair(a, Uses, texture)?;
    /// world.insert_pair(b, Uses, texture)?;
    /// world.remove_pair::<Uses>(a, texture);
    /// assert!(world.get_entity(texture).is_ok());
    /// world.despawn(b);
    /// assert!(world.get_entity(texture).is_err());
    /// # Ok::<(), BevyError>(())
    /// ```
    #[must_use]
    pub fn on_last_source(mut self, rule: OnLastSource) -> Self {
        merge(&mut self.on_last_source, Some(rule), "on_last_source", &mut self.conflict);
        self
    }

    pub(crate) fn set_data(&mut self, data: ColumnRef) {
        merge(&mut self.data, Some(data), "data", &mut self.conflict);
    }

    pub(crate) fn set_key(&mut self, key: KeyRef) {
        merge(&mut self.key, Some(key), "key", &mut self.conflict);
    }

    /// Adds the traits of `other` to these.
    ///
    /// # Errors
    /// Two traits that contradict; `self` is then unspecified.
    pub(crate) fn merge(&mut self, other: Self) -> Result<(), TraitConflict> {
        self.flags |= other.flags;
        for with in other.with {
            if !self.with.contains(&with) {
                self.with.push(with);
            }
        }
        if let Some(one_of) = other.one_of {
            self.set_one_of(one_of);
        }
        for (own, other) in [(&mut self.source, other.source), (&mut self.target, other.target)] {
            for constraint in other {
                if !own.contains(&constraint) {
                    own.push(constraint);
                }
            }
        }
        self.conflict = self.conflict.or(other.conflict);
        let conflict = &mut self.conflict;
        merge(&mut self.on_missing, other.on_missing, "on_missing", conflict);
        merge(&mut self.on_instantiate, other.on_instantiate, "on_instantiate", conflict);
        merge(&mut self.on_relation_despawn, other.on_relation_despawn, "on_relation_despawn", conflict);
        merge(&mut self.on_target_despawn, other.on_target_despawn, "on_target_despawn", conflict);
        merge(&mut self.on_source_despawn, other.on_source_despawn, "on_source_despawn", conflict);
        merge(&mut self.on_last_source, other.on_last_source, "on_last_source", conflict);
        merge(&mut self.data, other.data, "data", conflict);
        merge(&mut self.key, other.key, "key", conflict);
        merge(&mut self.storage, other.storage, "storage", conflict);
        self.check()
    }

    /// Finds traits that contradict.
    pub(crate) fn check(&self) -> Result<(), TraitConflict> {
        if let Some(conflict) = self.conflict {
            return Err(conflict);
        }
        let clash = |first, second| Err(TraitConflict { first, second });
        if self.is_symmetric() {
            if self.is_transitive() {
                return clash("symmetric", "transitive");
            }
            if self.is_traversable() {
                return clash("symmetric", "traversable");
            }
            if self.is_acyclic() {
                return clash("symmetric", "acyclic");
            }
            // Both ends of its pairs are sources.
            if self.despawns_targets() {
                return clash("symmetric", "on_source_despawn = DespawnTarget");
            }
            if self.counts_sources() {
                return clash("symmetric", "on_last_source = Despawn");
            }
        }
        if self.despawns_targets() && self.target_policy() == CleanupPolicy::Refuse {
            return clash("on_source_despawn = DespawnTarget", "on_target_despawn = Refuse");
        }
        if self.is_tag() && self.data.is_some() {
            return clash("tag", "data");
        }
        if self.has_final() && self.is_inheritable() {
            return clash("final", "inheritable");
        }
        for (first, second, constraints) in
            [("source(C)", "source(!C)", &self.source), ("target(C)", "target(!C)", &self.target)]
        {
            let excluded = |required: &EndConstraint| {
                constraints.iter().any(|other| !other.is_required() && other.is_about_same(required))
            };
            if constraints.iter().any(|constraint| constraint.is_required() && excluded(constraint)) {
                return clash(first, second);
            }
        }
        if self.key.is_some() {
            // There is one target, or one value for two sources, or no value.
            let others = [
                (self.is_union(), "union"),
                (self.is_exclusive(), "exclusive"),
                (self.is_symmetric(), "symmetric"),
                (self.is_tag(), "tag"),
            ];
            if let Some((_, other)) = others.into_iter().find(|(is_set, _)| *is_set) {
                return clash("key", other);
            }
        }
        Ok(())
    }

    pub(crate) fn one_of_rule(&self) -> Option<OneOf> {
        self.one_of
    }

    pub(crate) fn with_refs(&self) -> &[IdRef] {
        &self.with
    }

    /// Keeps the companions that are types, or entities of which `keep` is true.
    pub(crate) fn retain_with(&mut self, keep: impl Fn(Entity) -> bool) {
        self.with.retain(|with| match with {
            IdRef::Entity(entity) => keep(*entity),
            IdRef::Type(_) => true,
        });
    }

    pub(crate) fn column(&self) -> Option<ColumnRef> {
        self.data
    }

    pub(crate) fn source_constraints(&self) -> &[EndConstraint] {
        &self.source
    }

    pub(crate) fn target_constraints(&self) -> &[EndConstraint] {
        &self.target
    }

    pub(crate) fn missing_rule(&self) -> OnMissing {
        self.on_missing.unwrap_or_default()
    }

    /// The keys of its values, of which a source has each once.
    #[inline]
    pub(crate) fn key_rule(&self) -> Option<KeyRef> {
        self.key
    }

    /// What instances of a prefab get: of this component, or of pairs of this relation.
    pub fn instantiate_rule(&self) -> OnInstantiate {
        self.on_instantiate.unwrap_or_default()
    }

    pub(crate) fn relation_policy(&self) -> Option<CleanupPolicy> {
        self.on_relation_despawn
    }

    /// Whatever else is declared, pairs are removed with their ends, and take no entity with them.
    #[cfg(feature = "bevy_reflect")]
    pub(crate) fn keep_ends(mut self) -> Self {
        self.flags |= KEEPS_ENDS;
        self
    }

    /// Whether any entity is despawned along with an end of a pair, or refuses to be.
    #[cfg(feature = "bevy_reflect")]
    pub(crate) fn despawns_any(&self) -> bool {
        self.target_policy() != CleanupPolicy::Remove || self.despawns_targets() || self.counts_sources()
    }

    fn keeps_ends(&self) -> bool {
        self.flags & KEEPS_ENDS != 0
    }

    pub(crate) fn target_policy(&self) -> CleanupPolicy {
        self.on_target_despawn.filter(|_| !self.keeps_ends()).unwrap_or(CleanupPolicy::Remove)
    }

    /// Whether the targets of a source go with it.
    pub(crate) fn despawns_targets(&self) -> bool {
        self.on_source_despawn == Some(OnSourceDespawn::DespawnTarget) && !self.keeps_ends()
    }

    /// Whether a target goes that loses its last source.
    pub(crate) fn counts_sources(&self) -> bool {
        self.on_last_source == Some(OnLastSource::Despawn) && !self.keeps_ends()
    }

    /// The declared traits, spelled as in `#[relation(..)]`.
    pub fn names(&self) -> Vec<&'static str> {
        let flags = [
            (self.is_exclusive(), "exclusive"),
            (self.is_union(), "union"),
            (self.is_symmetric(), "symmetric"),
            (self.is_transitive(), "transitive"),
            (self.is_reflexive(), "reflexive"),
            (self.is_acyclic(), "acyclic"),
            (self.is_traversable(), "traversable"),
            (self.is_tag(), "tag"),
            (self.has_final(), "final"),
            (self.is_ordered(), "ordered"),
            (self.is_transient(), "transient"),
            (self.is_inheritable(), "inheritable"),
            (self.one_of.is_some(), "one_of"),
            (!self.with.is_empty(), "with"),
            (!self.source.is_empty(), "source"),
            (!self.target.is_empty(), "target"),
            (self.on_missing.is_some(), "on_missing"),
            (self.on_instantiate.is_some(), "on_instantiate"),
            (self.on_relation_despawn.is_some(), "on_relation_despawn"),
            (self.on_target_despawn.is_some(), "on_target_despawn"),
            (self.on_source_despawn.is_some(), "on_source_despawn"),
            (self.on_last_source.is_some(), "on_last_source"),
            (self.storage.is_some(), "storage"),
            (self.data.is_some(), "data"),
            (self.key.is_some(), "key"),
        ];
        flags.into_iter().filter_map(|(set, name)| set.then_some(name)).collect()
    }
}

/// Sets `slot`, or notes the conflict if it already holds another value.
pub(super) fn merge<T: PartialEq + Copy>(
    slot: &mut Option<T>,
    new: Option<T>,
    name: &'static str,
    conflict: &mut Option<TraitConflict>,
) {
    let Some(new) = new else { return };
    if slot.is_some_and(|old| old != new) {
        *conflict = Some(TraitConflict { first: name, second: name });
    }
    *slot = Some(new);
}
