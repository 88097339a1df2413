//! Data columns: the values that pairs carry, one column per type, in a resource of its own, so that systems
//! that write values run beside systems that read topology.

use super::{PairStore, StoreId, ValuesMut};
#[cfg(feature = "bevy_reflect")]
use crate::relation::ReflectedData;
use crate::relation::{
    BoxedValue, ColumnRef, ErasedColumn, IdRef, InsertDefault, KeyedRelation, OneOf, Relation,
    RelationTraits, TypeRef, Value, if_fields,
};
use alloc::{boxed::Box, format, string::String, vec::Vec};
use bevy_ecs::{
    change_detection::{
        CHECK_TICK_THRESHOLD, CheckChangeTicks, ComponentTicks, DetectChangesMut, MaybeLocation, Tick,
    },
    component::{Component, ComponentId, Components},
    resource::Resource,
    world::{DeferredWorld, FilteredEntityRef, World},
};
use core::{
    any::{Any, TypeId, type_name},
    marker::PhantomData,
    mem::{needs_drop, take},
    panic::Location,
};
use smallvec::SmallVec;

/// What a component is called in messages, by the short name of its type: the two resources of this crate that systems access
/// are no types that users see.
pub(crate) fn component_label(name: &str) -> String {
    let relation = name.strip_prefix("PairData<").and_then(|rest| rest.strip_suffix('>'));
    match relation {
        Some(relation) => format!("the values of the pairs of `{relation}`"),
        None if name == "PairStore" => "the pairs".into(),
        None => format!("`{name}`"),
    }
}

/// The values of type `T` of all pairs. A row keeps its number while its pair lives.
#[derive(Resource)]
pub(crate) struct PairData<T: Send + Sync + 'static> {
    values: Vec<Option<T>>,
    /// When each value came and was written last, row by row. The store has ticks of its own, but code that writes
    /// values in place may only read the store.
    ticks: Vec<ComponentTicks>,
    /// The code location that wrote it, if Bevy keeps track of that.
    writers: MaybeLocation<Vec<&'static Location<'static>>>,
    free: Vec<u32>,
    /// Values that were removed or replaced. Their `Drop` is the user's code: it runs when the operation is complete.
    removed: SmallVec<[T; 1]>,
    /// The store whose pairs the values belong to.
    store: Option<StoreId>,
    /// How often values were borrowed to be written in place.
    write_borrows: u64,
    /// The newest tick at which one of these borrows was to write: no value was written in place after it.
    lent: Tick,
}

impl<T: Send + Sync + 'static> PairData<T> {
    #[inline]
    pub(crate) fn get(&self, row: u32) -> Option<&T> {
        self.values.get(row as usize)?.as_ref()
    }

    /// Lends the values to be written in place at `this_run`. What was written after `last_run` counts as changed.
    #[inline]
    pub(crate) fn values_mut(&mut self, last_run: Tick, this_run: Tick) -> ValuesMut<'_, T> {
        self.write_borrows += 1;
        // Systems may borrow in another order than that of their ticks.
        if self.lent.get().wrapping_sub(this_run.get()) > CHECK_TICK_THRESHOLD / 2 {
            self.lent = this_run;
        }
        let writers = self.writers.as_mut().map(Vec::as_mut_slice);
        ValuesMut { values: &mut self.values, ticks: &mut self.ticks, writers, last_run, this_run }
    }

    /// How often values were borrowed to be written in place: as long as this stays the same, none was written.
    pub(crate) fn write_borrows(&self) -> u64 {
        self.write_borrows
    }

    /// A tick after which no value was written in place.
    #[inline]
    pub(crate) fn lent(&self) -> Tick {
        self.lent
    }

    /// When the value in a row was written last.
    #[inline]
    pub(crate) fn changed(&self, row: u32) -> Option<Tick> {
        Some(self.ticks.get(row as usize)?.changed)
    }

    /// The column belongs to this store.
    #[inline]
    pub(crate) fn is_of(&self, store: StoreId) -> bool {
        self.store == Some(store)
    }

    /// Stores a value and returns its row.
    pub(crate) fn insert(&mut self, value: T, tick: Tick) -> u32 {
        let row = self.free.pop().unwrap_or_else(|| {
            self.push(tick);
            self.values.len() as u32 - 1
        });
        self.values[row as usize] = Some(value);
        self.ticks[row as usize] = ComponentTicks::new(tick);
        row
    }

    /// Stores a value in an existing row and returns the old one, for the caller to drop.
    pub(crate) fn replace(&mut self, row: u32, value: T, tick: Tick) -> Option<T> {
        let old = self.values.get_mut(row as usize)?.replace(value);
        self.ticks[row as usize].changed = tick;
        old
    }

    /// Takes the value out of a row, for the caller to drop.
    pub(crate) fn take(&mut self, row: u32) -> Option<T> {
        let value = self.values.get_mut(row as usize).and_then(Option::take)?;
        self.free.push(row);
        Some(value)
    }

    fn remove(&mut self, row: u32) {
        let value = self.take(row);
        self.keep_removed(value);
    }

    /// Keeps a value until it is dropped. One that has nothing to drop is not kept.
    fn keep_removed(&mut self, value: Option<T>) {
        if needs_drop::<T>() {
            self.removed.extend(value);
        }
    }

    /// An empty column. Rows that pairs still name, from a column that was taken out of the world, are not given out.
    fn new(world: &World) -> Self {
        let mut column = Self {
            values: Vec::new(),
            ticks: Vec::new(),
            writers: MaybeLocation::new_with(Vec::new),
            free: Vec::new(),
            removed: SmallVec::new(),
            store: None,
            write_borrows: 0,
            lent: world.read_change_tick(),
        };
        if let Some(store) = world.get_resource::<PairStore>() {
            column.store = Some(store.id);
            let tick = world.read_change_tick();
            for _ in 0..store.rows_of(TypeId::of::<T>()) {
                column.push(tick);
            }
        }
        column
    }

    fn push(&mut self, tick: Tick) {
        self.values.push(None);
        self.ticks.push(ComponentTicks::new(tick));
        self.writers.as_mut().zip(MaybeLocation::caller()).map(|(writers, caller)| writers.push(caller));
    }

    /// The column, for code that does not know `T`.
    pub(crate) const COLUMN: ColumnRef = &TypedColumn::<T, Opaque>::NEW;
}

impl<R: Relation> PairData<R> {
    /// The column for the values of a relation type, which declares whether they can be copied and made.
    pub(crate) const OF_RELATION: ColumnRef = &TypedColumn::<R, Declared>::NEW;
}

/// What can be done with values beside storing them.
trait ValueOps<T>: 'static {
    fn has_default(world: &World) -> bool;
    fn default_value(world: &World) -> Option<BoxedValue>;
    fn copy_value(value: &T) -> Option<BoxedValue>;
    fn is_equal(_one: &T, _other: &T) -> Option<bool> {
        None
    }
}

/// Nothing is known of the type but what reflection says.
struct Opaque;
/// Values can be copied.
struct Cloned;
/// Values can be copied and made.
struct Defaulted;
/// The type is a relation, which declares whether its values can be copied and made.
struct Declared;
/// Values are reflected ones, which can be copied by reflection.
#[cfg(feature = "bevy_reflect")]
struct Reflected;

impl<T: Send + Sync + 'static> ValueOps<T> for Opaque {
    fn has_default(world: &World) -> bool {
        has_reflected_default::<T>(world)
    }

    fn default_value(world: &World) -> Option<BoxedValue> {
        reflected_default::<T>(world)
    }

    fn copy_value(_: &T) -> Option<BoxedValue> {
        None
    }
}

impl<T: Clone + Send + Sync + 'static> ValueOps<T> for Cloned {
    fn has_default(world: &World) -> bool {
        has_reflected_default::<T>(world)
    }

    fn default_value(world: &World) -> Option<BoxedValue> {
        reflected_default::<T>(world)
    }

    fn copy_value(value: &T) -> Option<BoxedValue> {
        Some(Box::new(value.clone()))
    }
}

impl<T: Clone + Default + Send + Sync + 'static> ValueOps<T> for Defaulted {
    fn has_default(_: &World) -> bool {
        true
    }

    fn default_value(_: &World) -> Option<BoxedValue> {
        Some(Box::new(T::default()))
    }

    fn copy_value(value: &T) -> Option<BoxedValue> {
        Some(Box::new(value.clone()))
    }
}

impl<R: Relation> ValueOps<R> for Declared {
    fn has_default(_: &World) -> bool {
        R::info().default.is_some()
    }

    fn default_value(_: &World) -> Option<BoxedValue> {
        R::info().default.map(|make| Box::new(make()) as BoxedValue)
    }

    fn copy_value(value: &R) -> Option<BoxedValue> {
        R::info().clone.map(|clone| Box::new(clone(value)) as BoxedValue)
    }

    fn is_equal(one: &R, other: &R) -> Option<bool> {
        R::info().eq.map(|eq| eq(one, other))
    }
}

#[cfg(feature = "bevy_reflect")]
impl ValueOps<ReflectedData> for Reflected {
    fn has_default(world: &World) -> bool {
        has_reflected_default::<ReflectedData>(world)
    }

    fn default_value(world: &World) -> Option<BoxedValue> {
        reflected_default::<ReflectedData>(world)
    }

    fn copy_value(value: &ReflectedData) -> Option<BoxedValue> {
        Some(Box::new(ReflectedData(value.0.to_dynamic().ok()?)))
    }

    fn is_equal(one: &ReflectedData, other: &ReflectedData) -> Option<bool> {
        one.0.reflect_partial_eq(&*other.0)
    }
}

/// The column for values of type `T`, with what can be done with them.
struct TypedColumn<T, V>(PhantomData<fn() -> (T, V)>);

impl<T, V> TypedColumn<T, V> {
    const NEW: Self = Self(PhantomData);
}

impl<T: Send + Sync + 'static, V: ValueOps<T>> ErasedColumn for TypedColumn<T, V> {
    fn value_type(&self) -> TypeId {
        TypeId::of::<T>()
    }

    fn value_name(&self) -> &'static str {
        type_name::<T>()
    }

    fn insert_value(&self, world: &mut DeferredWorld<'_>, value: Value<'_>) -> Option<u32> {
        let tick = world.read_change_tick();
        let mut column = world.get_resource_mut::<PairData<T>>()?;
        Some(column.insert(unpack(value)?, tick))
    }

    fn replace_value(&self, world: &mut DeferredWorld<'_>, row: u32, value: Value<'_>) -> bool {
        let tick = world.read_change_tick();
        let Some(mut column) = world.get_resource_mut::<PairData<T>>() else { return false };
        let (Some(value), Some(slot)) = (unpack(value), column.values.get_mut(row as usize)) else {
            return false;
        };
        let old = slot.replace(value);
        column.keep_removed(old);
        column.ticks[row as usize].changed = tick;
        true
    }

    fn remove_value(&self, world: &mut DeferredWorld<'_>, row: u32) {
        if let Some(mut column) = world.get_resource_mut::<PairData<T>>() {
            column.remove(row);
        }
    }

    fn drop_removed(&self, world: &mut DeferredWorld<'_>) {
        // Dropped outside the borrow.
        let removed = world.get_resource_mut::<PairData<T>>().map(|mut column| take(&mut column.removed));
        drop(removed);
    }

    fn needs_drop(&self) -> bool {
        needs_drop::<T>()
    }

    fn exists(&self, world: &World) -> bool {
        world.contains_resource::<PairData<T>>()
    }

    fn get<'w>(&self, world: &'w World, row: u32) -> Option<&'w (dyn Any + Send + Sync)> {
        let value: &T = world.get_resource::<PairData<T>>()?.get(row)?;
        Some(value)
    }

    fn get_in<'w>(
        &self,
        resource: &FilteredEntityRef<'w, '_>,
        row: u32,
    ) -> Option<&'w (dyn Any + Send + Sync)> {
        let value: &T = resource.get::<PairData<T>>()?.get(row)?;
        Some(value)
    }

    fn changed_in(&self, resource: &FilteredEntityRef<'_, '_>, row: u32) -> Option<Tick> {
        resource.get::<PairData<T>>()?.changed(row)
    }

    fn lent_in(&self, resource: &FilteredEntityRef<'_, '_>) -> Option<u64> {
        Some(resource.get::<PairData<T>>()?.write_borrows())
    }

    fn resource(&self, components: &Components) -> Option<ComponentId> {
        components.component_id::<PairData<T>>()
    }

    fn count(&self, world: &World) -> usize {
        world.get_resource::<PairData<T>>().map_or(0, |column| column.values.iter().flatten().count())
    }

    fn clamp_ticks(&self, world: &mut DeferredWorld<'_>, check: CheckChangeTicks) {
        if let Some(mut column) = world.get_resource_mut::<PairData<T>>() {
            let column = column.bypass_change_detection();
            column.lent.check_tick(check);
            for ticks in &mut column.ticks {
                ticks.added.check_tick(check);
                ticks.changed.check_tick(check);
            }
        }
    }

    fn init(&self, world: &mut World) {
        let store = world.get_resource::<PairStore>().map(|store| store.id);
        if world.get_resource::<PairData<T>>().is_none_or(|column| column.store != store) {
            let column = PairData::<T>::new(world);
            world.insert_resource(column);
        }
    }

    fn has_default(&self, world: &World) -> bool {
        V::has_default(world)
    }

    fn default_value(&self, world: &World) -> Option<BoxedValue> {
        V::default_value(world)
    }

    fn copy_value(&self, value: &dyn Any) -> Option<BoxedValue> {
        V::copy_value(value.downcast_ref()?)
    }

    #[cfg(feature = "bevy_reflect")]
    fn sendable(&self, value: Box<dyn Any>) -> Option<BoxedValue> {
        Some(value.downcast::<T>().ok()?)
    }

    fn duplicate(&self, world: &World, value: &dyn Any) -> Option<BoxedValue> {
        V::copy_value(value.downcast_ref()?).or_else(|| reflected_copy::<T>(world, value))
    }

    fn is_equal(&self, world: &World, one: &dyn Any, other: &dyn Any) -> Option<bool> {
        V::is_equal(one.downcast_ref()?, other.downcast_ref()?)
            .or_else(|| reflected_eq::<T>(world, one, other))
    }

    fn ticks(&self, world: &World, row: u32) -> Option<ComponentTicks> {
        world.get_resource::<PairData<T>>()?.ticks.get(row as usize).copied()
    }
}

/// Whether a type is registered with `#[reflect(Default)]`.
#[cfg(feature = "bevy_reflect")]
fn has_reflected_default<T: 'static>(world: &World) -> bool {
    reflected::<T>(world).is_some()
}

/// The default of such a type.
#[cfg(feature = "bevy_reflect")]
fn reflected_default<T: Send + Sync + 'static>(world: &World) -> Option<BoxedValue> {
    Some(reflected::<T>(world)?.default().into_any().downcast::<T>().ok()?)
}

#[cfg(not(feature = "bevy_reflect"))]
#[expect(clippy::extra_unused_type_parameters, reason = "nothing is known of it without reflection")]
fn has_reflected_default<T>(_: &World) -> bool {
    false
}

#[cfg(not(feature = "bevy_reflect"))]
#[expect(clippy::extra_unused_type_parameters, reason = "nothing is known of it without reflection")]
fn reflected_default<T>(_: &World) -> Option<BoxedValue> {
    None
}

#[cfg(feature = "bevy_reflect")]
fn reflected<T: 'static>(world: &World) -> Option<bevy_reflect::std_traits::ReflectDefault> {
    let registry = world.get_resource::<bevy_ecs::reflect::AppTypeRegistry>()?.read();
    registry.get_type_data::<bevy_reflect::std_traits::ReflectDefault>(TypeId::of::<T>()).cloned()
}

/// A copy of a value of a registered type.
#[cfg(feature = "bevy_reflect")]
fn reflected_copy<T: Send + Sync + 'static>(world: &World, value: &dyn Any) -> Option<BoxedValue> {
    let registry = world.get_resource::<bevy_ecs::reflect::AppTypeRegistry>()?.read();
    let from_ptr = registry.get_type_data::<bevy_reflect::ReflectFromPtr>(TypeId::of::<T>())?;
    let copy = from_ptr.as_reflect(value)?.reflect_clone().ok()?;
    Some(copy.into_any().downcast::<T>().ok()?)
}

/// Whether two values of a registered type are equal.
#[cfg(feature = "bevy_reflect")]
fn reflected_eq<T: 'static>(world: &World, one: &dyn Any, other: &dyn Any) -> Option<bool> {
    let registry = world.get_resource::<bevy_ecs::reflect::AppTypeRegistry>()?.read();
    let from_ptr = registry.get_type_data::<bevy_reflect::ReflectFromPtr>(TypeId::of::<T>())?;
    from_ptr.as_reflect(one)?.reflect_partial_eq(from_ptr.as_reflect(other)?.as_partial_reflect())
}

#[cfg(not(feature = "bevy_reflect"))]
#[expect(clippy::extra_unused_type_parameters, reason = "nothing is known of it without reflection")]
fn reflected_copy<T>(_: &World, _: &dyn Any) -> Option<BoxedValue> {
    None
}

#[cfg(not(feature = "bevy_reflect"))]
#[expect(clippy::extra_unused_type_parameters, reason = "nothing is known of it without reflection")]
fn reflected_eq<T>(_: &World, _: &dyn Any, _: &dyn Any) -> Option<bool> {
    None
}

/// The value, if it is a `T`. The caller has checked the type.
pub(crate) fn unpack<T: Send + Sync + 'static>(value: Value<'_>) -> Option<T> {
    match value {
        Value::Slot(slot) => (slot as &mut dyn Any).downcast_mut::<Option<T>>()?.take(),
        Value::Boxed(value) => (value as Box<dyn Any>).downcast::<T>().ok().map(|value| *value),
    }
}

/// A type, with the values that pairs of it carry if it has fields.
pub(crate) fn type_ref<T: Send + Sync + 'static>() -> TypeRef {
    TypeRef::of::<T>(const { if_fields::<T, _>(PairData::<T>::COLUMN) })
}

impl RelationTraits {
    /// Targets must be children of the entity that stands for `T`.
    #[must_use]
    pub fn one_of_type<T: Send + Sync + 'static>(mut self) -> Self {
        self.set_one_of(OneOf::Parent(IdRef::Type(type_ref::<T>())));
        self
    }

    /// Set on the entity of a component: adding that component to an entity adds `C` as well, with its default, unless it is
    /// there. Removal is not mirrored. Pairs whose relation is the component's type have pairs of `C` as companions, as
    /// with [`with_id`](Self::with_id).
    #[must_use]
    pub fn with_component<C: Component + Default>(mut self) -> Self {
        let insert: InsertDefault = |entity| {
            if !entity.contains::<C>() {
                entity.insert(C::default());
            }
        };
        self.push_with(TypeRef { insert_default: Some(insert), ..type_ref::<C>() });
        self
    }

    /// Pairs of this run-time relation carry a value of type `T`, which must be given at insertion, unless `T` is registered for
    /// reflection with `#[reflect(Default)]`.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # let mut world = World::new();
    /// # let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
    /// let owes = world.spawn_relation("Owes", RelationTraits::new().data::<u32>())?;
    /// world.insert_pair_value_by_id(ann, (owes, ben), 5_u32)?;
    /// assert_eq!(world.pair_value_by_id::<u32>(ann, (owes, ben)), Some(&5));
    /// assert!(world.insert_pair_by_id(ben, (owes, ann)).is_err(), "the value is missing");
    /// # Ok::<(), BevyError>(())
    /// ```
    #[must_use]
    pub fn data<T: Clone + Send + Sync + 'static>(mut self) -> Self {
        self.set_data(&TypedColumn::<T, Cloned>::NEW);
        self
    }

    /// Pairs of this run-time relation carry a value of type `T`, its default if none is given.
    #[must_use]
    pub fn data_or_default<T: Clone + Default + Send + Sync + 'static>(mut self) -> Self {
        self.set_data(&TypedColumn::<T, Defaulted>::NEW);
        self
    }

    /// Pairs of this run-time relation carry a value of the keyed relation type `R`, and a source has at most one pair per
    /// key, as with [`KeyedRelation`].
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{prelude::*, relation::KeyedRelation};
    /// #[derive(Relation)]
    /// #[relation(key = u8)]
    /// struct Socket(u8);
    ///
    /// # let mut world = World::new();
    /// # let [board, chip, other] = [(); 3].map(|()| world.spawn_empty().id());
    /// let plugged = world.spawn_relation("PluggedInto", RelationTraits::new().keyed_data::<Socket>())?;
    /// world.insert_pair_value_by_id(board, (plugged, chip), Socket(1))?;
    /// world.insert_pair_value_by_id(board, (plugged, other), Socket(1))?;
    /// assert!(!world.has_pair_by_id(board, (plugged, chip)));
    /// let found = world.pair_by_key_by_id::<Socket>(board, plugged, &1);
    /// assert_eq!(found.map(|(chip, _)| chip), Some(other));
    /// # Ok::<(), BevyError>(())
    /// ```
    #[must_use]
    pub fn keyed_data<R: KeyedRelation>(mut self) -> Self {
        self.set_data(PairData::<R>::OF_RELATION);
        self.key_of::<R>()
    }

    /// Pairs of this run-time relation carry a value that is known by reflection only.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{prelude::*, relation::ReflectedData};
    /// # let mut world = World::new();
    /// # let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
    /// let trusts = world.spawn_relation("Trusts", RelationTraits::new().reflected_data())?;
    /// world.insert_pair_value_by_id(ann, (trusts, ben), ReflectedData(Box::new(0.5_f32)))?;
    /// let value = world.pair_value_by_id::<ReflectedData>(ann, (trusts, ben)).unwrap();
    /// assert_eq!(value.0.try_downcast_ref::<f32>(), Some(&0.5));
    /// # Ok::<(), BevyError>(())
    /// ```
    #[cfg(feature = "bevy_reflect")]
    #[must_use]
    pub fn reflected_data(mut self) -> Self {
        self.set_data(&TypedColumn::<ReflectedData, Reflected>::NEW);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::component_label;

    #[test]
    fn what_users_do_not_see_is_named_by_what_they_do() {
        let labels = ["PairData<Owes<u8>>", "PairStore", "Armor"].map(component_label);
        assert_eq!(labels, ["the values of the pairs of `Owes<u8>`", "the pairs", "`Armor`"]);
    }
}
