//! Pairs in bundles: `spawn((Name::new("Bob"), Pair(Likes, alice)))`.
//!
//! A pair contributes no component, since Bevy forbids a component twice in one bundle and several pairs of
//! one relation are common. It is a bundle *effect*: inserted right after the bundle's components, when their
//! own hooks and observers have run. A pair that is refused goes to Bevy's error handler; the others apply.
#![expect(unsafe_code, reason = "Bevy's `Bundle` is an unsafe trait")]

use crate::{
    id::StoredPair,
    ops::{
        mutate::{
            batch::insert_batch,
            ends::EndCheck,
            error::{InsertPairError, InsertPairsError},
            insert::{insert, insert_typed, insert_with_value},
        },
        register::{
            entity::entity_of,
            participant::{Participant, note_markers},
            relation::try_relation_id,
            report::{report, to_bevy, with_place},
            store::mark_living,
        },
    },
    relation::{Relation, TraitsError},
};
use alloc::vec::Vec;
use bevy_ecs::{
    bundle::{Bundle, DynamicBundle, NoBundleEffect},
    component::{Component, ComponentId, Components, ComponentsRegistrator, Mutable, StorageType},
    entity::Entity,
    ptr::{MovingPtr, OwningPtr},
    world::{EntityWorldMut, World},
};
use core::{fmt, marker::PhantomData, mem::MaybeUninit, panic::Location};

/// What a [`Pair`](struct@Pair) in a bundle can point to: an [`Entity`], or a type ([`TypeTarget`]).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::bundle::{PairTarget, TypeTarget};
/// #[derive(Relation, Clone)]
/// struct Begin;
/// struct Home;
///
/// fn road(begin: impl PairTarget) -> impl Bundle {
///     Pair(Begin, begin)
/// }
/// # let mut world = World::new();
/// # let town = world.spawn_empty().id();
/// let [a, b] = [world.spawn(road(town)).id(), world.spawn(road(TypeTarget(Home))).id()];
/// assert!(world.has_pair::<Begin>(a, town));
/// let home = world.entity_of::<Home>();
/// assert!(world.has_pair::<Begin>(b, home));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the target of a pair in a bundle",
    label = "neither an entity nor a `TypeTarget`",
    note = "the relation comes first, then the target: `Pair(Likes, target)`, `pairs![(Likes, target)]`"
)]
pub trait PairTarget: Send + Sync + 'static {
    /// Inserts the pair of `relation` and this target.
    #[doc(hidden)]
    fn insert<R: Relation>(
        self,
        world: &mut World,
        source: Entity,
        relation: R,
    ) -> Result<(), InsertPairError>;
}

impl PairTarget for Entity {
    #[inline]
    fn insert<R: Relation>(
        self,
        world: &mut World,
        source: Entity,
        relation: R,
    ) -> Result<(), InsertPairError> {
        insert_typed(world, source, relation, self, EndCheck::Now)
    }
}

/// A Rust type as the target of a pair: `Pair(Begin, TypeTarget(Position::ZERO))`.
///
/// If the relation has no fields and is not declared a tag, the pair carries the value; if it has, the pair carries
/// that of the relation.
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// use bevy_relations::bundle::TypeTarget;
///
/// #[derive(Relation)]
/// struct Begin;
///
/// #[derive(Clone, Copy, PartialEq, Debug)]
/// struct Place(i32);
///
/// let mut world = World::new();
/// let road = world.spawn(Pair(Begin, TypeTarget(Place(3)))).id();
/// let begin = world.register_relation::<Begin>()?;
/// let place = world.get_entity_of::<Place>().unwrap();
/// assert_eq!(world.pair_value_by_id::<Place>(road, (begin, place)), Some(&Place(3)));
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TypeTarget<T>(pub T);

impl<T: Send + Sync + 'static> PairTarget for TypeTarget<T> {
    fn insert<R: Relation>(
        self,
        world: &mut World,
        source: Entity,
        relation: R,
    ) -> Result<(), InsertPairError> {
        insert_to_type(world, source, relation, self, EndCheck::Now)
    }
}

/// Inserts the pair of `relation` and the entity of `T`, with the value of either.
pub(crate) fn insert_to_type<R: Relation, T: Send + Sync + 'static>(
    world: &mut World,
    source: Entity,
    relation: R,
    target: TypeTarget<T>,
    ends: EndCheck<'_>,
) -> Result<(), InsertPairError> {
    if size_of::<R>() > 0 {
        let pair = type_pair::<R, T>(world, source)?;
        return insert_with_value(world, pair, relation, ends);
    }
    insert_to::<R, T, T>(world, source, target.0, ends)
}

/// The pair of a relation type and a type as its target.
///
/// # Errors
/// If the declared traits of the relation are rejected.
pub(crate) fn type_pair<R: Relation, T: Send + Sync + 'static>(
    world: &mut World,
    source: Entity,
) -> Result<StoredPair, TraitsError> {
    let target = entity_of::<T>(world);
    let relation = try_relation_id::<R>(world)?;
    Ok(StoredPair { source, relation, target })
}

/// Inserts the pair of `R` and the entity of `T`, with a value of the type that the pair carries.
pub(crate) fn insert_to<R: Relation, T: Send + Sync + 'static, V: Send + Sync + 'static>(
    world: &mut World,
    source: Entity,
    value: V,
    ends: EndCheck<'_>,
) -> Result<(), InsertPairError> {
    let pair = type_pair::<R, T>(world, source)?;
    insert_with_value(world, pair, value, ends)
}

/// A pair in a bundle, made by the [function of this name](fn@Pair).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # #[derive(Relation)]
/// # struct Likes;
/// # let mut world = World::new();
/// # let alice = world.spawn_empty().id();
/// let pair: Pair<Likes> = Pair(Likes, alice);
/// assert_eq!(pair.target, alice);
/// # world.spawn(pair);
/// # assert_eq!(world.pairs::<Likes>().source_count(alice), 1);
/// ```
///
/// A pair is no component: in a `Query`, read the targets with [`Targets`](crate::Targets), and filter by
/// [`Related`](crate::Related). As a bundle to remove it has no components, so that `remove::<Pair<Likes>>()` does nothing:
/// write `remove_pairs::<Likes>()`. `insert_if_new` replaces the value of a pair that is there, as `insert` does.
///
/// It cannot be a field of a struct that derives `Bundle`: Bevy's derive takes components alone from its fields, and with
/// `#[bundle(ignore_from_components)]` the pair is lost without a message. Return a tuple from a function instead:
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # #[derive(Relation)]
/// # struct Likes;
/// fn person(name: &'static str, likes: Entity) -> impl Bundle {
///     (Name::new(name), Pair(Likes, likes))
/// }
/// # let mut world = World::new();
/// # let alice = world.spawn_empty().id();
/// let bob = world.spawn(person("Bob", alice)).id();
/// assert!(world.has_pair::<Likes>(bob, alice));
/// ```
#[derive(Clone, Copy)]
pub struct Pair<R: Relation, T: PairTarget = Entity> {
    /// The relation, with the value that the pair is to carry.
    pub relation: R,
    /// What it points to.
    pub target: T,
    /// Where it was made.
    place: &'static Location<'static>,
}

/// Makes a pair for a bundle. If it is refused, the error names the place in the source where this was called.
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # #[derive(Relation)]
/// # struct Likes;
/// # #[derive(Relation)]
/// # struct Eats { grams: f32 }
/// # let mut world = World::new();
/// # let (alice, apple) = (world.spawn_empty().id(), world.spawn_empty().id());
/// let bob = world.spawn((Name::new("Bob"), Pair(Likes, alice), Pair(Eats { grams: 80.0 }, apple))).id();
/// assert!(world.has_pair::<Likes>(bob, alice));
/// ```
///
/// [`pairs!`](crate::pairs) is shorter for several.
#[expect(non_snake_case, reason = "it reads as the constructor of the type, and also records its caller")]
#[inline]
#[track_caller]
pub const fn Pair<R: Relation, T: PairTarget>(relation: R, target: T) -> Pair<R, T> {
    Pair { relation, target, place: Location::caller() }
}

impl<R: Relation + fmt::Debug, T: PairTarget + fmt::Debug> fmt::Debug for Pair<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pair").field(&self.relation).field(&self.target).finish()
    }
}

impl<R: Relation, T: PairTarget> Pair<R, T> {
    #[inline]
    fn insert(self, world: &mut World, source: Entity) {
        if let Err(error) = self.target.insert(world, source, self.relation) {
            refused(world, error, self.place);
        }
    }
}

/// Reports an error of a bundle effect to Bevy's error handler, with the place in the source that has caused it.
#[cold]
pub(crate) fn refused(world: &mut World, error: InsertPairError, place: &'static Location<'static>) {
    report(world.commands(), with_place(to_bevy(error), place));
    world.flush();
}

// SAFETY: no component ids are given, and `get_components` writes no component: the pair is an effect.
// Test: `a_bundle_with_pairs_drops_and_stores_every_value_once`.
unsafe impl<R: Relation, T: PairTarget> Bundle for Pair<R, T> {
    fn component_ids(_: &mut ComponentsRegistrator) -> impl Iterator<Item = ComponentId> + use<R, T> {
        core::iter::empty()
    }

    fn get_component_ids(_: &Components) -> impl Iterator<Item = Option<ComponentId>> {
        core::iter::empty()
    }
}

impl<R: Relation, T: PairTarget> DynamicBundle for Pair<R, T> {
    type Effect = Self;

    unsafe fn get_components(ptr: MovingPtr<'_, Self>, _: &mut impl FnMut(StorageType, OwningPtr<'_>)) {
        // The value stays where it is for `apply_effect`.
        core::mem::forget(ptr);
    }

    unsafe fn apply_effect(ptr: MovingPtr<'_, MaybeUninit<Self>>, entity: &mut EntityWorldMut) {
        // SAFETY: `get_components` has left the value in place, and Bevy calls this once.
        let pair = unsafe { ptr.assume_init() }.read();
        if !entity.is_despawned() {
            let source = entity.id();
            entity.world_scope(|world| pair.insert(world, source));
        }
    }
}

/// The bound of pairs in Bevy's batches. No type implements it, so that the compiler prints this message.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "pairs cannot be inserted by Bevy's batches, whose bundles have components only",
    label = "a pair in a batch",
    note = "`spawn_batch_with_pair([(bundle, Likes, target)])` spawns many entities with a pair each; \
            `insert_pair_batch` inserts many pairs"
)]
pub trait PairIsNotForBatches {}

impl<R: Relation, T: PairTarget> NoBundleEffect for Pair<R, T> where R: PairIsNotForBatches {}

impl<L: PairList> NoBundleEffect for PairsBundle<L> where L: PairIsNotForBatches {}

/// The bound of pairs as components. No type implements it, so that the compiler prints this message.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{P}` is a bundle, not a component",
    label = "a pair in the place of a component",
    note = "in a query, write `Targets<R>` for `&Pair<R>`, `Related<R>` for `With<Pair<R>>`, and `Unrelated<R>` for \
            `Without<Pair<R>>`",
    note = "of one entity, ask with `entity.has_pair::<R>(target)`, or read with `entity.targets::<R>()`",
    note = "`#[derive(Bundle)]` drops pairs in fields: return a tuple from a function, `-> impl Bundle`"
)]
pub trait PairIsNotAComponent<P> {}

#[doc(hidden)]
impl<R: Relation, T: PairTarget> Component for Pair<R, T>
where
    for<'never> &'never Self: PairIsNotAComponent<Self>,
{
    const STORAGE_TYPE: StorageType = StorageType::Table;
    type Mutability = Mutable;
}

/// Several pairs as one bundle, made by [`pairs!`](crate::pairs).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::bundle::{PairList, PairsBundle};
/// # #[derive(Relation)]
/// # struct Likes;
/// fn spawn<L: PairList>(world: &mut World, pairs: PairsBundle<L>) -> Entity {
///     world.spawn((Name::new("Bob"), pairs)).id()
/// }
/// # let mut world = World::new();
/// # let [ann, cy] = [(); 2].map(|()| world.spawn_empty().id());
/// let bob = spawn(&mut world, pairs![(Likes, ann), (Likes, cy)]);
/// assert!(world.pairs::<Likes>().targets(bob).eq([ann, cy]));
/// ```
pub struct PairsBundle<L: PairList>(#[doc(hidden)] pub L);

/// A tuple of up to eight [`Pair`](struct@Pair)s, in a [`PairsBundle`], whose documentation has an example.
pub trait PairList: Send + Sync + 'static {
    #[doc(hidden)]
    fn insert_all(self, world: &mut World, source: Entity);
}

/// A tuple of up to eight bundles: the sources in a [`SourcesBundle`], whose documentation has an example.
pub trait BundleList: Send + Sync + 'static {
    #[doc(hidden)]
    fn spawn_all(self, world: &mut World, then: &mut dyn FnMut(&mut World, Entity));
}

macro_rules! impl_lists {
    ($($r:ident $t:ident $n:tt),*) => {
        impl<$($r: Relation, $t: PairTarget),*> PairList for ($(Pair<$r, $t>,)*) {
            #[inline]
            fn insert_all(self, _world: &mut World, _source: Entity) {
                $(self.$n.insert(_world, _source);)*
            }
        }

        impl<$($r: Bundle),*> BundleList for ($($r,)*) {
            fn spawn_all(self, _world: &mut World, _then: &mut dyn FnMut(&mut World, Entity)) {
                $(
                    let entity = _world.spawn(self.$n).id();
                    _then(_world, entity);
                )*
            }
        }
    };
}

impl_lists!();
impl_lists!(R0 T0 0);
impl_lists!(R0 T0 0, R1 T1 1);
impl_lists!(R0 T0 0, R1 T1 1, R2 T2 2);
impl_lists!(R0 T0 0, R1 T1 1, R2 T2 2, R3 T3 3);
impl_lists!(R0 T0 0, R1 T1 1, R2 T2 2, R3 T3 3, R4 T4 4);
impl_lists!(R0 T0 0, R1 T1 1, R2 T2 2, R3 T3 3, R4 T4 4, R5 T5 5);
impl_lists!(R0 T0 0, R1 T1 1, R2 T2 2, R3 T3 3, R4 T4 4, R5 T5 5, R6 T6 6);
impl_lists!(R0 T0 0, R1 T1 1, R2 T2 2, R3 T3 3, R4 T4 4, R5 T5 5, R6 T6 6, R7 T7 7);

// SAFETY: no component ids are given, and `get_components` writes no component: the pairs are an effect. Not even the
// marker is given, since Bevy refuses a component twice in one bundle, and lists nest.
// Test: `a_bundle_with_pairs_drops_and_stores_every_value_once`.
unsafe impl<L: PairList> Bundle for PairsBundle<L> {
    fn component_ids(_: &mut ComponentsRegistrator) -> impl Iterator<Item = ComponentId> + use<L> {
        core::iter::empty()
    }

    fn get_component_ids(_: &Components) -> impl Iterator<Item = Option<ComponentId>> {
        core::iter::empty()
    }
}

impl<L: PairList> DynamicBundle for PairsBundle<L> {
    type Effect = Self;

    unsafe fn get_components(ptr: MovingPtr<'_, Self>, _: &mut impl FnMut(StorageType, OwningPtr<'_>)) {
        // The pairs stay where they are for `apply_effect`.
        core::mem::forget(ptr);
    }

    unsafe fn apply_effect(ptr: MovingPtr<'_, MaybeUninit<Self>>, entity: &mut EntityWorldMut) {
        // SAFETY: `get_components` has left the value in place, and Bevy calls this once.
        let pairs = unsafe { ptr.assume_init() }.read();
        if entity.is_despawned() {
            return;
        }
        let source = entity.id();
        entity.world_scope(|world| {
            // Once for all of them.
            mark_living(world, source);
            pairs.0.insert_all(world, source);
        });
    }
}

/// Sources that are spawned with their target, made by [`sources!`](crate::sources).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::bundle::{BundleList, SourcesBundle};
/// # #[derive(Relation)]
/// # struct MountedOn;
/// fn spawn_ship<L: BundleList>(world: &mut World, parts: SourcesBundle<MountedOn, L>) -> Entity {
///     world.spawn((Name::new("Kite"), parts)).id()
/// }
/// # let mut world = World::new();
/// let kite = spawn_ship(&mut world, sources![MountedOn: Name::new("gun"), Name::new("radar")]);
/// assert_eq!(world.pairs::<MountedOn>().source_count(kite), 2);
/// ```
pub struct SourcesBundle<R: Relation, L: BundleList> {
    sources: L,
    /// Where it was made.
    place: &'static Location<'static>,
    relation: PhantomData<fn() -> R>,
}

impl<R: Relation, L: BundleList> SourcesBundle<R, L> {
    #[doc(hidden)]
    #[inline]
    #[track_caller]
    pub const fn new(sources: L) -> Self {
        Self { sources, place: Location::caller(), relation: PhantomData }
    }
}

// SAFETY: no component ids are given, and `get_components` writes no component: the sources are an effect.
// Test: `sources_are_spawned_beside_their_target`.
unsafe impl<R: Relation, L: BundleList> Bundle for SourcesBundle<R, L> {
    fn component_ids(_: &mut ComponentsRegistrator) -> impl Iterator<Item = ComponentId> + use<R, L> {
        core::iter::empty()
    }

    fn get_component_ids(_: &Components) -> impl Iterator<Item = Option<ComponentId>> {
        core::iter::empty()
    }
}

impl<R: Relation, L: BundleList> DynamicBundle for SourcesBundle<R, L> {
    type Effect = Self;

    unsafe fn get_components(ptr: MovingPtr<'_, Self>, _: &mut impl FnMut(StorageType, OwningPtr<'_>)) {
        // The bundles stay where they are for `apply_effect`.
        core::mem::forget(ptr);
    }

    unsafe fn apply_effect(ptr: MovingPtr<'_, MaybeUninit<Self>>, entity: &mut EntityWorldMut) {
        // SAFETY: `get_components` has left the value in place, and Bevy calls this once.
        let Self { sources, place, .. } = unsafe { ptr.assume_init() }.read();
        if entity.is_despawned() {
            return;
        }
        let target = entity.id();
        entity.world_scope(|world| {
            // Registered before the sources are spawned. If it is refused, so is each pair.
            let _ = try_relation_id::<R>(world);
            sources.spawn_all(world, &mut |world, source| {
                let relation = try_relation_id::<R>(world).map_err(InsertPairError::from);
                let inserted = relation.and_then(|relation| {
                    insert(world, StoredPair { source, relation, target }, None, EndCheck::Now)
                });
                if let Err(error) = inserted {
                    refused(world, error, place);
                }
            });
        });
    }
}

/// Several pairs as one bundle: `spawn((Name::new("Bob"), pairs![(Likes, alice), (Eats { grams: 80.0 }, apple)]))`.
///
/// Short for a [`Pair`](fn@crate::Pair) each, at most eight. Lists nest like other bundles, so that functions that return
/// bundles with pairs compose, and a tuple of lists has more than eight pairs:
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # #[derive(Relation)]
/// # struct Likes;
/// fn friend_of(friend: Entity) -> impl Bundle {
///     (Name::new("friend"), pairs![(Likes, friend)])
/// }
///
/// # let mut world = World::new();
/// # let [alice, bob] = [(); 2].map(|()| world.spawn_empty().id());
/// let eve = world.spawn((friend_of(alice), pairs![(Likes, bob)])).id();
/// assert_eq!(world.pairs::<Likes>().target_count(eve), 2);
/// ```
#[macro_export]
macro_rules! pairs {
    [$(($relation:expr, $target:expr $(,)?)),* $(,)?] => {
        $crate::bundle::PairsBundle(($($crate::Pair($relation, $target),)*))
    };
    [$($other:tt)*] => {
        ::core::compile_error!(
            "each pair stands in parentheses: `pairs![(Likes, alice), (Eats { grams: 80.0 }, apple)]`"
        )
    };
}

/// Spawns sources beside their target, as Bevy's `children![]` does: each bundle, of at most eight, becomes an entity that has
/// a pair of the relation with the entity that is being spawned. A relation with fields must have a `Default`.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// #[derive(Relation)]
/// struct MountedOn;
///
/// # let mut world = World::new();
/// let ship = world.spawn((Name::new("ship"), sources![MountedOn: Name::new("gun"), Name::new("radar")])).id();
/// assert_eq!(world.pairs::<MountedOn>().source_count(ship), 2);
/// ```
#[macro_export]
macro_rules! sources {
    [$relation:ty: $($bundle:expr),* $(,)?] => {
        $crate::bundle::SourcesBundle::<$relation, _>::new(($($bundle,)*))
    };
}

/// Spawns many entities, each with a bundle and a pair, faster than one by one.
///
/// The entities of pairs that are refused are spawned all the same.
pub(crate) fn spawn_batch<B, R>(
    world: &mut World,
    batch: impl IntoIterator<Item = (B, R, Entity)>,
    ends: EndCheck<'_>,
) -> (Vec<Entity>, Result<(), InsertPairsError>)
where
    B: Bundle<Effect: NoBundleEffect>,
    R: Relation,
{
    // Registered before the sources are spawned. If it is refused, so is each pair.
    let _ = try_relation_id::<R>(world);
    let (bundles, pairs): (Vec<_>, Vec<_>) =
        batch.into_iter().map(|(bundle, value, target)| ((bundle, Participant), (value, target))).unzip();
    let sources: Vec<Entity> = world.spawn_batch(bundles).collect();
    // Observers of the bundles may have despawned or cleared some.
    note_markers(world, &sources);
    let triples = sources.iter().zip(pairs).map(|(&source, (value, target))| (source, value, target));
    let inserted = insert_batch(world, triples, ends);
    (sources, inserted)
}
