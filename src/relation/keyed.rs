//! Keys of pairs: of a keyed relation a source has at most one pair per key.

use super::{
    Probe, Relation, RelationTraits,
    key::{BoxedKey, ErasedKey, KeyRef},
};
#[cfg(feature = "bevy_reflect")]
use alloc::string::ToString;
use alloc::{boxed::Box, vec::Vec};
use core::{
    any::{Any, TypeId, type_name},
    marker::PhantomData,
    str::FromStr,
};

/// A [`Relation`] of which a source has at most one pair per key: slots of equipment, sockets, hotbars.
///
/// Declare it with `#[relation(key = Slot)]`, where `Slot` is the type of the field that is the key, or `key = Self` if
/// the value is nothing but its key. The derive macro then implements this trait.
///
/// In the book: [Traits and cleanup in pictures](crate::book::traits).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::prelude::*;
///
/// #[derive(PartialEq, Eq, Debug)]
/// enum Slot {
///     Head,
///     Hand,
/// }
///
/// #[derive(Relation)]
/// #[relation(key = Slot)]
/// struct Equips(Slot);
///
/// # let mut world = World::new();
/// # let [knight, helmet, hat, sword] = [(); 4].map(|()| world.spawn_empty().id());
/// world.insert_pair(knight, Equips(Slot::Head), helmet)?;
/// world.insert_pair(knight, Equips(Slot::Hand), sword)?;
/// // The hat takes the place of the helmet.
/// world.insert_pair(knight, Equips(Slot::Head), hat)?;
/// assert!(world.pairs::<Equips>().targets(knight).eq([sword, hat]));
/// assert_eq!(world.pairs::<Equips>().target_by_key(knight, &Slot::Head), Some(hat));
/// assert_eq!(world.remove_pair_by_key::<Equips>(knight, &Slot::Hand), Some(sword));
/// # Ok::<(), BevyError>(())
/// ```
///
/// Whichever way a pair is inserted, the pair of the same source that has its key is removed first, with the event
/// [`PairRemoved`](crate::PairRemoved) of the cause [`Replaced`](crate::event::RemovalCause::Replaced). An insertion of
/// the same target with another key replaces the value, so that the pair moves to the other key. A pair is
/// `(relation, target)`: a source cannot have one target under two keys.
///
/// Expressions name a key in brackets, `Equips[Head]($item)`, if its type has [`FromStr`] or is an enum with `Reflect`:
/// then the variants without fields are the names.
///
/// A key is a part of the value and stays as it is for as long as the value is stored: values of such a relation are
/// not written in place, [`PairsMut`](crate::PairsMut) refuses them. Insert the pair again, or keep on the target what
/// changes often. Contradicts `exclusive`, `symmetric` and `tag`.
///
/// # Complexity
/// An insertion, and a look-up by key, compare the keys of the pairs that the source has of the relation:
/// `O(targets of the source)`. Nothing is kept beside the values.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no key",
    label = "not a keyed relation",
    note = "consider adding `#[relation(key = Slot)]` to `{Self}`, where `Slot` is the type of one of its fields"
)]
pub trait KeyedRelation: Relation {
    /// The type of the keys: that in `#[relation(key = ..)]`.
    type Key: Eq + Send + Sync + 'static;

    /// The key of a pair with this value.
    ///
    /// ```
    /// # use bevy_relations::{prelude::*, relation::KeyedRelation};
    /// #[derive(Relation)]
    /// #[relation(key = u8)]
    /// struct Carries {
    ///     slot: u8,
    ///     count: u32,
    /// }
    /// let carries = Carries { slot: 3, count: 12 };
    /// assert_eq!((carries.key(), carries.count), (&3, 12));
    /// ```
    fn key(&self) -> &Self::Key;

    /// How expressions read a key.
    #[doc(hidden)]
    fn key_reader() -> KeyReader<Self::Key> {
        KeyReader { parse: None, variants: None }
    }
}

/// What the derive macro found out about a type of keys: how a key is read from text.
pub struct KeyReader<K> {
    /// `K::from_str`, if there is one.
    pub parse: Option<fn(&str) -> Option<K>>,
    /// The variants of an enum that is reflected.
    pub variants: Option<KeyVariants<K>>,
}

/// The names of keys, and the keys that they name.
pub struct KeyVariants<K> {
    /// Every name.
    pub names: fn() -> Vec<&'static str>,
    /// The key with a name.
    pub read: fn(&str) -> Option<K>,
}

/// The type has `FromStr`.
pub trait ProbeFromStr<T> {
    /// `T::from_str`.
    fn parse_fn(&self) -> Option<fn(&str) -> Option<T>>;
}

impl<T: FromStr> ProbeFromStr<T> for Probe<T> {
    fn parse_fn(&self) -> Option<fn(&str) -> Option<T>> {
        Some(|text| text.parse().ok())
    }
}

/// The type may lack `FromStr`.
pub trait ProbeFromStrFallback<T> {
    /// Nothing.
    fn parse_fn(&self) -> Option<fn(&str) -> Option<T>> {
        None
    }
}

impl<T> ProbeFromStrFallback<T> for &Probe<T> {}

/// The type is reflected.
pub trait ProbeVariants<T> {
    /// Its variants without fields, if it is an enum.
    fn variants(&self) -> Option<KeyVariants<T>>;
}

#[cfg(feature = "bevy_reflect")]
impl<T: bevy_reflect::FromReflect + bevy_reflect::Typed> ProbeVariants<T> for Probe<T> {
    fn variants(&self) -> Option<KeyVariants<T>> {
        T::type_info().as_enum().ok()?;
        Some(KeyVariants { names: unit_variants::<T>, read: unit_variant::<T> })
    }
}

#[cfg(feature = "bevy_reflect")]
fn unit_variants<T: bevy_reflect::Typed>() -> Vec<&'static str> {
    use bevy_reflect::enums::VariantInfo;
    let variants = T::type_info().as_enum().into_iter().flat_map(|info| info.iter());
    let unit = variants.filter(|variant| matches!(variant, VariantInfo::Unit(_)));
    unit.map(VariantInfo::name).collect()
}

#[cfg(feature = "bevy_reflect")]
fn unit_variant<T: bevy_reflect::FromReflect + bevy_reflect::Typed>(name: &str) -> Option<T> {
    use bevy_reflect::enums::{DynamicEnum, DynamicVariant};
    let known = unit_variants::<T>().contains(&name);
    known.then(|| T::from_reflect(&DynamicEnum::new(name.to_string(), DynamicVariant::Unit))).flatten()
}

/// The type may not be reflected.
pub trait ProbeVariantsFallback<T> {
    /// Nothing.
    fn variants(&self) -> Option<KeyVariants<T>> {
        None
    }
}

impl<T> ProbeVariantsFallback<T> for &Probe<T> {}

/// The keys of values of type `R`.
struct TypedKey<R>(PhantomData<fn() -> R>);

impl<R: KeyedRelation> TypedKey<R> {
    const REF: KeyRef = &Self(PhantomData);
}

impl RelationTraits {
    /// The values of its pairs have keys.
    #[doc(hidden)]
    #[must_use]
    pub fn key_of<R: KeyedRelation>(mut self) -> Self {
        self.set_key(TypedKey::<R>::REF);
        self
    }
}

impl<R: KeyedRelation> ErasedKey for TypedKey<R> {
    fn value_type(&self) -> TypeId {
        TypeId::of::<R>()
    }

    fn value_name(&self) -> &'static str {
        type_name::<R>()
    }

    fn key_name(&self) -> &'static str {
        type_name::<R::Key>()
    }

    fn in_slot<'a>(&self, slot: &'a dyn Any) -> Option<&'a dyn Any> {
        let value = slot.downcast_ref::<Option<R>>()?.as_ref()?;
        Some(value)
    }

    fn is_same(&self, one: &dyn Any, other: &dyn Any) -> bool {
        let keys = one.downcast_ref::<R>().zip(other.downcast_ref::<R>());
        keys.is_some_and(|(one, other)| one.key() == other.key())
    }

    fn has_key(&self, value: &dyn Any, key: &dyn Any) -> bool {
        let keys = value.downcast_ref::<R>().zip(key.downcast_ref::<R::Key>());
        keys.is_some_and(|(value, key)| value.key() == key)
    }

    fn can_read(&self) -> bool {
        let KeyReader { parse, variants } = R::key_reader();
        parse.is_some() || variants.is_some_and(|variants| !(variants.names)().is_empty())
    }

    fn read(&self, text: &str) -> Option<BoxedKey> {
        let KeyReader { parse, variants } = R::key_reader();
        let parsed = parse.and_then(|parse| parse(text));
        let key = parsed.or_else(|| (variants?.read)(text))?;
        Some(Box::new(key))
    }

    fn names(&self) -> Vec<&'static str> {
        R::key_reader().variants.map(|variants| (variants.names)()).unwrap_or_default()
    }
}
