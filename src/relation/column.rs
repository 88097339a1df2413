//! The columns that values of pairs lie in, for code that does not know the type of the values.

use super::BoxedValue;
use bevy_ecs::{
    change_detection::{CheckChangeTicks, ComponentTicks, Tick},
    component::{ComponentId, Components},
    world::{DeferredWorld, FilteredEntityRef, World},
};
use core::{
    any::{Any, TypeId},
    fmt,
};

/// A value on its way into a column.
pub(crate) enum Value<'a> {
    /// An `Option<T>` to take from.
    Slot(&'a mut (dyn Any + Send + Sync)),
    Boxed(BoxedValue),
}

/// What only a type with fields has: without them there is nothing to store. In a `const` block, since for the others it is not
/// compiled then: half of what a relation without values would take to compile.
pub(crate) const fn if_fields<T, What: Copy>(what: What) -> Option<What> {
    if size_of::<T>() > 0 { Some(what) } else { None }
}

/// The column for one type of values, in any world. The store implements it, which lies above this layer.
pub(crate) trait ErasedColumn: Send + Sync {
    /// The type of the values.
    fn value_type(&self) -> TypeId;

    /// The name of that type.
    fn value_name(&self) -> &'static str;

    /// Stores a value (an `Option<T>` that is taken, or a `T`) and returns its row. `None` if the column is gone.
    fn insert_value(&self, world: &mut DeferredWorld<'_>, value: Value<'_>) -> Option<u32>;

    /// Stores a value in an existing row. The old one is kept for [`drop_removed`](Self::drop_removed). False if the
    /// column is gone.
    fn replace_value(&self, world: &mut DeferredWorld<'_>, row: u32, value: Value<'_>) -> bool;

    /// Takes the value out of a row, and keeps it for [`drop_removed`](Self::drop_removed).
    fn remove_value(&self, world: &mut DeferredWorld<'_>, row: u32);

    /// Drops the values that were removed or replaced: code of the user, which may panic.
    fn drop_removed(&self, world: &mut DeferredWorld<'_>);

    /// Whether there is anything to drop of a value. Otherwise none is kept for [`drop_removed`](Self::drop_removed).
    fn needs_drop(&self) -> bool;

    /// Whether the column is in the world.
    fn exists(&self, world: &World) -> bool;

    /// The value in a row.
    fn get<'w>(&self, world: &'w World, row: u32) -> Option<&'w (dyn Any + Send + Sync)>;

    /// [`get`](Self::get) of the entity of the resource that the values lie in.
    fn get_in<'w>(
        &self,
        resource: &FilteredEntityRef<'w, '_>,
        row: u32,
    ) -> Option<&'w (dyn Any + Send + Sync)>;

    /// When the value in a row was written last, in place or not, as [`get_in`](Self::get_in).
    fn changed_in(&self, resource: &FilteredEntityRef<'_, '_>, row: u32) -> Option<Tick>;

    /// How often values were borrowed to be written in place, as [`get_in`](Self::get_in).
    fn lent_in(&self, resource: &FilteredEntityRef<'_, '_>) -> Option<u64>;

    /// The resource that the values lie in.
    fn resource(&self, components: &Components) -> Option<ComponentId>;

    /// How many values there are.
    fn count(&self, world: &World) -> usize;

    /// Keeps old ticks of values from seeming new once the world's counter wraps around.
    fn clamp_ticks(&self, world: &mut DeferredWorld<'_>, check: CheckChangeTicks);

    /// Makes the column, unless there is one that belongs to the present store.
    fn init(&self, world: &mut World);

    /// Whether a default is known.
    fn has_default(&self, world: &World) -> bool;

    /// A default value, if one is known: code of the user.
    fn default_value(&self, world: &World) -> Option<BoxedValue>;

    /// A copy of a value, if the type can be copied.
    fn copy_value(&self, value: &dyn Any) -> Option<BoxedValue>;

    /// The value, if it is of the type of this column, which can be sent to other threads.
    #[cfg(feature = "bevy_reflect")]
    fn sendable(&self, value: alloc::boxed::Box<dyn Any>) -> Option<BoxedValue>;

    /// A copy of a value, also by reflection if the type is registered: code of the user.
    fn duplicate(&self, world: &World, value: &dyn Any) -> Option<BoxedValue>;

    /// Whether two values are equal, if the type or reflection can compare them: code of the user.
    fn is_equal(&self, world: &World, one: &dyn Any, other: &dyn Any) -> Option<bool>;

    /// When the value in a row was inserted and written last.
    fn ticks(&self, world: &World, row: u32) -> Option<ComponentTicks>;
}

/// A column by the type of its values.
pub(crate) type ColumnRef = &'static dyn ErasedColumn;

impl PartialEq for dyn ErasedColumn {
    fn eq(&self, other: &Self) -> bool {
        self.value_type() == other.value_type()
    }
}

impl fmt::Debug for dyn ErasedColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.value_name())
    }
}
