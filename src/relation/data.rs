//! Values that pairs carry: what a type can do ([`RelationInfo`]), and what may look at a value before it is
//! stored ([`PairContext`], [`PairRefusal`]).

use alloc::{borrow::Cow, boxed::Box, string::String};
use bevy_ecs::{entity::Entity, world::World};
use core::{
    any::Any,
    fmt,
    marker::PhantomData,
    sync::atomic::{AtomicU32, AtomicUsize, Ordering},
};

/// A value whose type is known at run time only.
pub(crate) type BoxedValue = Box<dyn Any + Send + Sync>;

/// The pair that a value is about to be stored for; given to [`Relation::validate`](super::Relation::validate).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, relation::{PairContext, PairRefusal}};
///
/// #[derive(Relation)]
/// #[relation(validate = check)]
/// struct Owes(u32);
///
/// fn check(_owes: &mut Owes, pair: &PairContext<'_>) -> Result<(), PairRefusal> {
///     if pair.source == pair.target { Err("an entity cannot owe itself".into()) } else { Ok(()) }
/// }
///
/// let mut world = World::new();
/// let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
/// assert!(world.insert_pair(ann, Owes(5), ben).is_ok() && world.insert_pair(ann, Owes(5), ann).is_err());
/// ```
pub struct PairContext<'w> {
    /// The world as it is before the insertion.
    pub world: &'w World,
    /// The entity that gets the pair.
    pub source: Entity,
    /// The entity of the relation.
    pub relation: Entity,
    /// The target of the pair.
    pub target: Entity,
}

impl fmt::Debug for PairContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut context = f.debug_struct("PairContext");
        context.field("source", &self.source).field("relation", &self.relation).field("target", &self.target);
        context.finish_non_exhaustive()
    }
}

/// Why [`Relation::validate`](super::Relation::validate) does not accept a value.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{
///     prelude::*,
///     relation::{PairContext, PairRefusal},
/// };
///
/// #[derive(Component)]
/// struct Jail;
///
/// /// A prisoner gets no loan.
/// #[derive(Relation)]
/// #[relation(validate = check)]
/// struct Owes(u32);
///
/// fn check(owes: &mut Owes, pair: &PairContext<'_>) -> Result<(), PairRefusal> {
///     if pair.world.entity(pair.source).contains::<Jail>() {
///         return Err(PairRefusal::new(format!("{} coins are too many for a prisoner", owes.0)));
///     }
///     Ok(())
/// }
///
/// let mut world = World::new();
/// let [bank, ann, ben] = [world.spawn_empty().id(), world.spawn_empty().id(), world.spawn(Jail).id()];
/// world.insert_pair(ann, Owes(5), bank)?;
/// let error = world.insert_pair(ben, Owes(5), bank).unwrap_err();
/// assert!(error.to_string().ends_with("was refused: 5 coins are too many for a prisoner"));
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PairRefusal(Cow<'static, str>);

impl PairRefusal {
    /// A refusal with a reason to show to the developer.
    pub fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        Self(reason.into())
    }
}

impl From<&'static str> for PairRefusal {
    fn from(reason: &'static str) -> Self {
        Self::new(reason)
    }
}

impl From<String> for PairRefusal {
    fn from(reason: String) -> Self {
        Self::new(reason)
    }
}

impl fmt::Display for PairRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for PairRefusal {}

/// A value of a run-time relation that is known by reflection only, for example one made by a script.
///
/// Declare it with [`RelationTraits::reflected_data`](super::RelationTraits::reflected_data). Only a value that stands for a
/// registered type can be written with serde: of a dynamic value, set the represented type.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_reflect::structs::DynamicStruct;
/// use bevy_relations::{prelude::*, relation::ReflectedData};
///
/// let mut world = World::new();
/// let trusts = world.spawn_relation("Trusts", RelationTraits::new().reflected_data())?;
/// let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
/// let mut value = DynamicStruct::default();
/// value.insert("since", 1998_u32);
/// world.insert_pair_value_by_id(ann, (trusts, ben), ReflectedData(Box::new(value)))?;
///
/// let ReflectedData(value) = world.pair_value_by_id(ann, (trusts, ben)).unwrap();
/// let since = value.reflect_ref().as_struct()?.field("since").unwrap();
/// assert_eq!(since.try_downcast_ref(), Some(&1998_u32));
/// # Ok::<(), BevyError>(())
/// ```
#[cfg(feature = "bevy_reflect")]
pub struct ReflectedData(pub Box<dyn bevy_reflect::PartialReflect>);

#[cfg(feature = "bevy_reflect")]
impl fmt::Debug for ReflectedData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.debug(f)
    }
}

/// A value as reflection sees it. `None` if its type is not registered.
#[cfg(feature = "bevy_reflect")]
pub(crate) fn reflected_value<'a>(
    types: &bevy_reflect::TypeRegistry,
    value: &'a dyn Any,
) -> Option<&'a dyn bevy_reflect::PartialReflect> {
    if let Some(ReflectedData(value)) = value.downcast_ref() {
        return Some(&**value);
    }
    let reflect = types.get_type_data::<bevy_reflect::ReflectFromPtr>(value.type_id())?;
    Some(reflect.as_reflect(value)?.as_partial_reflect())
}

/// Whether serde can write a value: it stands for a type that is registered.
#[cfg(feature = "serialize")]
pub(crate) fn is_serializable(
    types: &bevy_reflect::TypeRegistry,
    value: &dyn bevy_reflect::PartialReflect,
) -> bool {
    value.get_represented_type_info().is_some_and(|info| types.contains(info.type_id()))
}

/// Where a relation type, and the values of its pairs, were found the last time, in whichever world. A guess that is
/// always checked.
pub struct RelationHint {
    relation: AtomicU32,
    /// The component id of the resource with the values.
    values: AtomicUsize,
}

impl RelationHint {
    /// No guess yet.
    #[expect(clippy::new_without_default, reason = "made by the derive macro, in a static")]
    pub const fn new() -> Self {
        Self { relation: AtomicU32::new(0), values: AtomicUsize::new(0) }
    }

    #[inline]
    pub(crate) fn get(&self) -> usize {
        self.relation.load(Ordering::Relaxed) as usize
    }

    #[inline]
    pub(crate) fn values(&self) -> &AtomicUsize {
        &self.values
    }

    pub(crate) fn set(&self, index: usize) {
        if let Ok(index) = u32::try_from(index) {
            self.relation.store(index, Ordering::Relaxed);
        }
    }
}

/// What the derive macro found out about a relation type.
pub struct RelationInfo<R> {
    /// See [`RelationHint`].
    pub hint: &'static RelationHint,
    /// `R::default`, if there is one.
    pub default: Option<fn() -> R>,
    /// `R::clone`, if there is one.
    pub clone: Option<fn(&R) -> R>,
    /// `R::eq`, if there is one.
    pub eq: Option<fn(&R, &R) -> bool>,
    /// Whether `R::validate` looks at values.
    pub checks: bool,
}

/// Finds out at compile time whether a type implements a trait: a method of the type itself is preferred to
/// one of a reference to it.
pub struct Probe<T>(PhantomData<T>);

impl<T> Probe<T> {
    /// The probe for `T`.
    pub const NEW: Self = Self(PhantomData);
}

/// The type has `Default`.
pub trait ProbeDefault<T> {
    /// `T::default`.
    fn default_fn(&self) -> Option<fn() -> T>;
}

impl<T: Default> ProbeDefault<T> for Probe<T> {
    fn default_fn(&self) -> Option<fn() -> T> {
        Some(T::default)
    }
}

/// The type may lack `Default`.
pub trait ProbeDefaultFallback<T> {
    /// Nothing.
    fn default_fn(&self) -> Option<fn() -> T> {
        None
    }
}

impl<T> ProbeDefaultFallback<T> for &Probe<T> {}

/// The type has `Clone`.
pub trait ProbeClone<T> {
    /// `T::clone`.
    fn clone_fn(&self) -> Option<fn(&T) -> T>;
}

impl<T: Clone> ProbeClone<T> for Probe<T> {
    fn clone_fn(&self) -> Option<fn(&T) -> T> {
        Some(T::clone)
    }
}

/// The type may lack `Clone`.
pub trait ProbeCloneFallback<T> {
    /// Nothing.
    fn clone_fn(&self) -> Option<fn(&T) -> T> {
        None
    }
}

impl<T> ProbeCloneFallback<T> for &Probe<T> {}

/// The type has `PartialEq`.
pub trait ProbeEq<T> {
    /// `T::eq`.
    fn eq_fn(&self) -> Option<fn(&T, &T) -> bool>;
}

impl<T: PartialEq> ProbeEq<T> for Probe<T> {
    fn eq_fn(&self) -> Option<fn(&T, &T) -> bool> {
        Some(T::eq)
    }
}

/// The type may lack `PartialEq`.
pub trait ProbeEqFallback<T> {
    /// Nothing.
    fn eq_fn(&self) -> Option<fn(&T, &T) -> bool> {
        None
    }
}

impl<T> ProbeEqFallback<T> for &Probe<T> {}
