//! Folds: what a rollup makes of many values.

use core::marker::PhantomData;

/// How a [`Rollup`](super::Rollup) folds the values below an entity into one result.
///
/// [`add`](Self::add) must be commutative and associative, with [`empty`](Self::empty) as its neutral element: values
/// come in any order. It is implemented by [`Sum`], [`Count`], [`Min`], [`Max`], [`Any`] and [`All`], or by a type of
/// your own:
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{live::*, prelude::*};
///
/// #[derive(Component)]
/// struct Skills(u64);
///
/// /// All skills in a group, one bit each.
/// struct Union;
///
/// impl RollupFold<Skills> for Union {
///     type Output = u64;
///     fn empty() -> u64 { 0 }
///     fn of(skills: &Skills) -> u64 { skills.0 }
///     fn add(total: &mut u64, part: &u64) { *total |= part }
/// }
///
/// let mut world = World::new();
/// world.add_rollup::<ChildOf, Skills, Union>()?;
/// let group = world.spawn_empty().id();
/// world.spawn((Skills(0b01), ChildOf(group)));
/// world.spawn((Skills(0b10), ChildOf(group)));
/// world.update_rollups();
/// assert_eq!(world.get::<Rollup<ChildOf, Skills, Union>>(group).unwrap().get(), &0b11);
/// # Ok::<(), BevyError>(())
/// ```
///
/// # Complexity
/// If [`subtract`](Self::subtract) can take a part out again, a change costs O(entities above it). Otherwise each of
/// these is folded again from its direct sources: O(sources of the entities above it).
pub trait RollupFold<V>: Send + Sync + 'static {
    /// The result.
    type Output: Clone + PartialEq + Send + Sync + 'static;

    /// Each entity below counts once, however many paths lead to it. See [`Distinct`].
    const DISTINCT: bool = false;

    /// The result of no values at all.
    fn empty() -> Self::Output;

    /// The result of one value.
    fn of(value: &V) -> Self::Output;

    /// Adds the result of other values.
    fn add(total: &mut Self::Output, part: &Self::Output);

    /// Takes out a part that was added, exactly: the total is then as if it had never been added. Returns false if that
    /// is not possible, or not without looking at the other values; the total is then folded again, whatever its value.
    /// By default it always returns false.
    ///
    /// ```
    /// use bevy_ecs::prelude::*;
    /// use bevy_relations::{live::*, prelude::*};
    ///
    /// #[derive(Component)]
    /// struct Rune(u64);
    ///
    /// /// The exclusive or of all runes.
    /// struct Seal;
    ///
    /// impl RollupFold<Rune> for Seal {
    ///     type Output = u64;
    ///     fn empty() -> u64 { 0 }
    ///     fn of(rune: &Rune) -> u64 { rune.0 }
    ///     fn add(total: &mut u64, part: &u64) { *total ^= part }
    ///     fn subtract(total: &mut u64, part: &u64) -> bool {
    ///         *total ^= part;
    ///         true
    ///     }
    /// }
    ///
    /// let mut world = World::new();
    /// world.add_rollup::<ChildOf, Rune, Seal>()?;
    /// let gate = world.spawn_empty().id();
    /// let stones = [0b011, 0b110, 0b001].map(|rune| world.spawn((Rune(rune), ChildOf(gate))).id());
    /// world.update_rollups();
    /// world.despawn(stones[1]);
    /// world.update_rollups();
    /// assert_eq!(world.get::<Rollup<ChildOf, Rune, Seal>>(gate).unwrap().get(), &0b010);
    /// # Ok::<(), BevyError>(())
    /// ```
    fn subtract(_total: &mut Self::Output, _part: &Self::Output) -> bool {
        false
    }
}

/// A value that can be rolled up by [`Sum`], [`Min`], [`Max`], [`Any`] and [`All`]: a number or a `bool`.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::live::RollupValue;
///
/// #[derive(Component)]
/// struct Weight {
///     grams: u32,
/// }
///
/// impl RollupValue for Weight {
///     // Larger than that of one value: the sum of many has to fit.
///     type Value = u64;
///
///     fn rollup_value(&self) -> u64 {
///         self.grams.into()
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no value to roll up",
    label = "not a `RollupValue`",
    note = "implement `RollupValue` for `{Self}`: it returns the number that `Sum`, `Min` and `Max` fold",
    note = "`Count` needs no value"
)]
pub trait RollupValue {
    /// The number, or `bool`.
    type Value: Copy + PartialEq + Send + Sync + 'static;

    /// The number of this value.
    fn rollup_value(&self) -> Self::Value;
}

/// A number that [`Sum`] adds. Implemented for the numbers of Rust; implement it for a vector or a unit:
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{live::*, prelude::*};
///
/// #[derive(Component, Clone, Copy, PartialEq, Debug)]
/// struct Cost {
///     wood: u32,
///     iron: u32,
/// }
///
/// impl SumNumber for Cost {
///     const ZERO: Self = Cost { wood: 0, iron: 0 };
///
///     fn plus(self, other: Self) -> Self {
///         Cost { wood: self.wood.wrapping_add(other.wood), iron: self.iron.wrapping_add(other.iron) }
///     }
///
///     fn minus(self, other: Self) -> Option<Self> {
///         Some(Cost { wood: self.wood.wrapping_sub(other.wood), iron: self.iron.wrapping_sub(other.iron) })
///     }
/// }
///
/// impl RollupValue for Cost {
///     type Value = Cost;
///     fn rollup_value(&self) -> Cost { *self }
/// }
///
/// let mut world = World::new();
/// world.add_rollup::<ChildOf, Cost, Sum>()?;
/// let ship = world.spawn_empty().id();
/// world.spawn((Cost { wood: 40, iron: 0 }, ChildOf(ship)));
/// world.spawn((Cost { wood: 2, iron: 9 }, ChildOf(ship)));
/// world.update_rollups();
/// assert_eq!(world.get::<Rollup<ChildOf, Cost, Sum>>(ship).unwrap().get(), &Cost { wood: 42, iron: 9 });
/// # Ok::<(), BevyError>(())
/// ```
pub trait SumNumber: Copy + PartialEq + Send + Sync + 'static {
    /// Zero.
    const ZERO: Self;

    /// The sum. Integers wrap around.
    #[must_use]
    fn plus(self, other: Self) -> Self;

    /// The difference, if adding `other` again would give exactly `self`. `None` if it is rounded, as for
    /// floating-point numbers: the sum is then folded again.
    fn minus(self, other: Self) -> Option<Self>;
}

macro_rules! integers {
    ($($number:ty)*) => {$(
        impl SumNumber for $number {
            const ZERO: Self = 0;

            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            fn minus(self, other: Self) -> Option<Self> {
                Some(self.wrapping_sub(other))
            }
        }
    )*};
}

macro_rules! floats {
    ($($number:ty)*) => {$(
        impl SumNumber for $number {
            const ZERO: Self = 0.0;

            fn plus(self, other: Self) -> Self {
                self + other
            }

            // Differences of rounded sums would drift.
            fn minus(self, _: Self) -> Option<Self> {
                None
            }
        }
    )*};
}

integers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);
floats!(f32 f64);

/// The sum of all values.
///
/// Integers wrap around: choose a [`Value`](RollupValue::Value) that is large enough. A sum that is back in range is
/// right again. Sums of floating-point numbers are folded again from the direct sources, so that rounding does not add
/// up over time; where an entity has thousands of sources, integers (of grams, of cents) are faster.
///
/// In the book: [Live queries](crate::book::live).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{live::*, prelude::*};
///
/// /// In grams, so that sums are exact.
/// #[derive(Component)]
/// struct Weight(u64);
///
/// impl RollupValue for Weight {
///     type Value = u64;
///     fn rollup_value(&self) -> u64 { self.0 }
/// }
///
/// let mut world = World::new();
/// world.add_rollup::<ChildOf, Weight, Sum>()?;
/// let bag = world.spawn_empty().id();
/// world.spawn((Weight(1500), ChildOf(bag)));
/// world.spawn((Weight(250), ChildOf(bag)));
/// world.update_rollups();
/// assert_eq!(world.get::<Rollup<ChildOf, Weight, Sum>>(bag).unwrap().get(), &1750);
/// # Ok::<(), BevyError>(())
/// ```
pub struct Sum(());

/// The number of values, whatever they are: of entities below that have the component, as `u64`.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{live::*, prelude::*};
///
/// #[derive(Component)]
/// struct Soldier;
///
/// let mut world = World::new();
/// world.add_rollup::<ChildOf, Soldier, Count>()?;
/// let company = world.spawn_empty().id();
/// let platoon = world.spawn(ChildOf(company)).id();
/// world.spawn_batch([(Soldier, ChildOf(platoon)), (Soldier, ChildOf(platoon)), (Soldier, ChildOf(company))]);
/// world.update_rollups();
/// assert_eq!(world.get::<Rollup<ChildOf, Soldier, Count>>(company).unwrap().get(), &3);
/// # Ok::<(), BevyError>(())
/// ```
///
///
/// In the book: [Live queries](crate::book::live).
pub struct Count(());

/// The least value, as [`Max`] is the greatest: `None` if there is none. Values that equal nothing, as `NaN`, are left out.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{live::*, prelude::*};
///
/// #[derive(Component)]
/// struct Fuel(f32);
///
/// impl RollupValue for Fuel {
///     type Value = f32;
///     fn rollup_value(&self) -> f32 { self.0 }
/// }
///
/// let mut world = World::new();
/// world.add_rollup::<ChildOf, Fuel, Min>()?;
/// let convoy = world.spawn_empty().id();
/// world.spawn_batch([(Fuel(40.0), ChildOf(convoy)), (Fuel(7.5), ChildOf(convoy))]);
/// world.update_rollups();
/// assert_eq!(world.get::<Rollup<ChildOf, Fuel, Min>>(convoy).unwrap().get(), &Some(7.5));
/// # Ok::<(), BevyError>(())
/// ```
pub struct Min(());

/// The greatest value: `None` if there is none. Values that equal nothing, as `NaN`, are left out.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{live::*, prelude::*};
///
/// #[derive(Component)]
/// struct Wound(u8);
///
/// impl RollupValue for Wound {
///     type Value = u8;
///
///     fn rollup_value(&self) -> u8 {
///         self.0
///     }
/// }
///
/// let mut world = World::new();
/// world.add_rollup::<ChildOf, Wound, Max>()?;
/// world.add_rollup::<ChildOf, Wound, Min>()?;
/// let unit = world.spawn_empty().id();
/// world.spawn((Wound(2), ChildOf(unit)));
/// world.spawn((Wound(5), ChildOf(unit)));
/// world.update_rollups();
/// assert_eq!(world.get::<Rollup<ChildOf, Wound, Max>>(unit).unwrap().get(), &Some(5));
/// assert_eq!(world.get::<Rollup<ChildOf, Wound, Min>>(unit).unwrap().get(), &Some(2));
/// # Ok::<(), BevyError>(())
/// ```
pub struct Max(());

/// Whether any value is true.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{live::*, prelude::*};
///
/// #[derive(Component)]
/// struct Burns(bool);
///
/// impl RollupValue for Burns {
///     type Value = bool;
///
///     fn rollup_value(&self) -> bool {
///         self.0
///     }
/// }
///
/// let mut world = World::new();
/// world.add_rollup::<ChildOf, Burns, Any>()?;
/// world.add_rollup::<ChildOf, Burns, All>()?;
/// let ship = world.spawn_empty().id();
/// world.spawn((Burns(true), ChildOf(ship)));
/// world.spawn((Burns(false), ChildOf(ship)));
/// world.update_rollups();
/// assert!(world.get::<Rollup<ChildOf, Burns, Any>>(ship).unwrap().get());
/// assert!(!world.get::<Rollup<ChildOf, Burns, All>>(ship).unwrap().get());
/// # Ok::<(), BevyError>(())
/// ```
pub struct Any(());

/// Whether all values are true; also if there is none. [`Any`] is whether at least one is.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{live::*, prelude::*};
///
/// #[derive(Component)]
/// struct Ready(bool);
///
/// impl RollupValue for Ready {
///     type Value = bool;
///     fn rollup_value(&self) -> bool { self.0 }
/// }
///
/// let mut world = World::new();
/// world.add_rollup::<ChildOf, Ready, All>()?;
/// let fleet = world.spawn_empty().id();
/// world.spawn((Ready(true), ChildOf(fleet)));
/// let kite = world.spawn((Ready(false), ChildOf(fleet))).id();
/// world.update_rollups();
/// assert_eq!(world.get::<Rollup<ChildOf, Ready, All>>(fleet).unwrap().get(), &false);
///
/// world.entity_mut(kite).insert(Ready(true));
/// world.update_rollups();
/// assert_eq!(world.get::<Rollup<ChildOf, Ready, All>>(fleet).unwrap().get(), &true);
/// # Ok::<(), BevyError>(())
/// ```
pub struct All(());

/// A fold for which each entity below counts once, however many paths lead to it: `Distinct<Sum>`.
///
/// Without it, an entity with two targets counts for both, and twice for what lies above both. For [`Min`], [`Max`],
/// [`Any`] and [`All`] that is the same, and so it is for every fold over an exclusive relation.
///
/// # Complexity
/// Values that change cost a step per pair above them. When pairs come or go, each entity above them is folded again
/// from everything below it.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{live::*, prelude::*};
///
/// #[derive(Relation)]
/// #[relation(traversable)]
/// struct PartOf;
///
/// #[derive(Component)]
/// struct Bolt;
///
/// let mut world = World::new();
/// world.add_rollup::<PartOf, Bolt, Count>()?;
/// world.add_rollup::<PartOf, Bolt, Distinct<Count>>()?;
/// let ship = world.spawn_empty().id();
/// let [hull, mast] = [(); 2].map(|()| world.spawn(Pair(PartOf, ship)).id());
/// // One bolt holds both parts.
/// world.spawn((Bolt, pairs![(PartOf, hull), (PartOf, mast)]));
/// world.update_rollups();
/// assert_eq!(world.get::<Rollup<PartOf, Bolt, Count>>(ship).unwrap().get(), &2);
/// assert_eq!(world.get::<Rollup<PartOf, Bolt, Distinct<Count>>>(ship).unwrap().get(), &1);
/// # Ok::<(), BevyError>(())
/// ```
pub struct Distinct<F>(PhantomData<fn() -> F>);

impl<V: RollupValue<Value: SumNumber>> RollupFold<V> for Sum {
    type Output = V::Value;

    fn empty() -> V::Value {
        V::Value::ZERO
    }

    fn of(value: &V) -> V::Value {
        value.rollup_value()
    }

    fn add(total: &mut V::Value, part: &V::Value) {
        *total = total.plus(*part);
    }

    fn subtract(total: &mut V::Value, part: &V::Value) -> bool {
        let left = total.minus(*part);
        *total = left.unwrap_or(*total);
        left.is_some()
    }
}

impl<V> RollupFold<V> for Count {
    type Output = u64;

    fn empty() -> u64 {
        0
    }

    fn of(_: &V) -> u64 {
        1
    }

    fn add(total: &mut u64, part: &u64) {
        *total = total.wrapping_add(*part);
    }

    fn subtract(total: &mut u64, part: &u64) -> bool {
        *total = total.wrapping_sub(*part);
        true
    }
}

macro_rules! extremes {
    ($($fold:ident $better:tt)*) => {$(
        impl<V: RollupValue<Value: PartialOrd>> RollupFold<V> for $fold {
            type Output = Option<V::Value>;

            fn empty() -> Option<V::Value> {
                None
            }

            fn of(value: &V) -> Option<V::Value> {
                let value = value.rollup_value();
                // What equals nothing is no extreme.
                value.partial_cmp(&value).map(|_| value)
            }

            fn add(total: &mut Option<V::Value>, part: &Option<V::Value>) {
                if let Some(part) = part
                    && total.is_none_or(|total| *part $better total)
                {
                    *total = Some(*part);
                }
            }

            // Without one that is not the extreme, that is the same.
            fn subtract(total: &mut Option<V::Value>, part: &Option<V::Value>) -> bool {
                part.is_none_or(|part| total.is_some_and(|total| total $better part))
            }
        }
    )*};
}

extremes!(Min<Max>);

macro_rules! quantifiers {
    ($($fold:ident $empty:literal)*) => {$(
        impl<V: RollupValue<Value = bool>> RollupFold<V> for $fold {
            type Output = bool;

            fn empty() -> bool {
                $empty
            }

            fn of(value: &V) -> bool {
                value.rollup_value()
            }

            fn add(total: &mut bool, part: &bool) {
                if *part != $empty {
                    *total = *part;
                }
            }

            // Without one that decides nothing, that is the same.
            fn subtract(_: &mut bool, part: &bool) -> bool {
                *part == $empty
            }
        }
    )*};
}

quantifiers!(Any false All true);

impl<V, F: RollupFold<V>> RollupFold<V> for Distinct<F> {
    type Output = F::Output;

    const DISTINCT: bool = true;

    fn empty() -> F::Output {
        F::empty()
    }

    fn of(value: &V) -> F::Output {
        F::of(value)
    }

    fn add(total: &mut F::Output, part: &F::Output) {
        F::add(total, part);
    }

    fn subtract(total: &mut F::Output, part: &F::Output) -> bool {
        F::subtract(total, part)
    }
}
