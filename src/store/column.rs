//! Data columns: the values that pairs carry, one column per type, in a resource of its own, so that systems
//! that write values run beside systems that read topology.

use super::{PairStore, StoreId};
use crate::relation::{
    BoxedValue, DataKind, DataRef, IdRef, OneOf, Relation, RelationTraits, TypeRef, Value,
};
use alloc::{boxed::Box, vec::Vec};
use bevy_ecs::{
    change_detection::{ComponentTicks, DetectChangesMut, MaybeLocation, Mut, Tick},
    resource::Resource,
    world::World,
};
use core::{
    any::{Any, TypeId, type_name},
    mem::take,
    panic::Location,
};
use smallvec::SmallVec;

/// The values of type `T` of all pairs. A row keeps its number while its pair lives.
#[derive(Resource)]
pub(crate) struct PairData<T: Send + Sync + 'static> {
    values: Vec<Option<T>>,
    /// When each value came and was written last, row by row. The store has ticks of its own, but whoever writes
    /// values in place may only read the store.
    ticks: Vec<ComponentTicks>,
    /// Who wrote it, if Bevy keeps track of that.
    writers: MaybeLocation<Vec<&'static Location<'static>>>,
    free: Vec<u32>,
    /// Values that were removed or replaced. Their `Drop` is the user's code: it runs when the operation is complete.
    removed: SmallVec<[T; 1]>,
    /// The store whose pairs the values belong to.
    store: Option<StoreId>,
}

impl<T: Send + Sync + 'static> PairData<T> {
    #[inline]
    pub(crate) fn get(&self, row: u32) -> Option<&T> {
        self.values.get(row as usize)?.as_ref()
    }

    /// The value in a row, to write: it is stamped as changed when it is.
    pub(crate) fn get_mut(&mut self, row: u32, last_run: Tick, this_run: Tick) -> Option<Mut<'_, T>> {
        let row = row as usize;
        let value = self.values.get_mut(row)?.as_mut()?;
        let ticks = &mut self.ticks[row];
        let writer = self.writers.as_mut().map(|writers| &mut writers[row]);
        Some(Mut::new(value, &mut ticks.added, &mut ticks.changed, None, last_run, this_run, writer))
    }

    /// When the value in a row was written last.
    #[inline]
    pub(crate) fn changed(&self, row: u32) -> Option<Tick> {
        Some(self.ticks.get(row as usize)?.changed)
    }

    fn insert(&mut self, value: T, tick: Tick) -> u32 {
        let row = self.free.pop().unwrap_or_else(|| {
            self.push(tick);
            self.values.len() as u32 - 1
        });
        self.values[row as usize] = Some(value);
        self.ticks[row as usize] = ComponentTicks::new(tick);
        row
    }

    fn remove(&mut self, row: u32) {
        if let Some(value) = self.values.get_mut(row as usize).and_then(Option::take) {
            self.free.push(row);
            self.removed.push(value);
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

    /// How to work this column without knowing `T`.
    pub(crate) fn kind() -> DataKind {
        DataKind {
            type_id: TypeId::of::<T>(),
            name: type_name::<T>(),
            insert: |world, value| {
                let tick = world.read_change_tick();
                match (world.get_resource_mut::<Self>(), unpack(value)) {
                    (Some(mut column), Some(value)) => column.insert(value, tick),
                    _ => super::NO_ROW,
                }
            },
            replace: |world, row, value| {
                let tick = world.read_change_tick();
                if let (Some(mut column), Some(value)) = (world.get_resource_mut::<Self>(), unpack(value))
                    && let Some(slot) = column.values.get_mut(row as usize)
                {
                    let old = slot.replace(value);
                    column.removed.extend(old);
                    column.ticks[row as usize].changed = tick;
                }
            },
            remove: |world, row| {
                if let Some(mut column) = world.get_resource_mut::<Self>() {
                    column.remove(row);
                }
            },
            drop_removed: |world| {
                // Dropped outside the borrow.
                let removed = world.get_resource_mut::<Self>().map(|mut column| take(&mut column.removed));
                drop(removed);
            },
            exists: World::contains_resource::<Self>,
            get: |world, row| {
                let value: &T = world.get_resource::<Self>()?.get(row)?;
                Some(value)
            },
            column: |components| components.component_id::<Self>(),
            len: |world| {
                world.get_resource::<Self>().map_or(0, |column| column.values.iter().flatten().count())
            },
            clamp_ticks: |world, check| {
                if let Some(mut column) = world.get_resource_mut::<Self>() {
                    for ticks in &mut column.bypass_change_detection().ticks {
                        ticks.added.check_tick(check);
                        ticks.changed.check_tick(check);
                    }
                }
            },
            init: |world| {
                let store = world.get_resource::<PairStore>().map(|store| store.id);
                if world.get_resource::<Self>().is_none_or(|column| column.store != store) {
                    let column = Self::new(world);
                    world.insert_resource(column);
                }
            },
            #[cfg(feature = "bevy_reflect")]
            has_default: has_reflected_default::<T>,
            #[cfg(feature = "bevy_reflect")]
            default: reflected_default::<T>,
            #[cfg(not(feature = "bevy_reflect"))]
            has_default: |_| false,
            #[cfg(not(feature = "bevy_reflect"))]
            default: |_| None,
            clone: |_| None,
        }
    }

    /// [`kind`](Self::kind) of values that can be copied.
    fn kind_cloned() -> DataKind
    where
        T: Clone,
    {
        DataKind {
            clone: |value| value.downcast_ref::<T>().map(|value| Box::new(value.clone()) as BoxedValue),
            ..Self::kind()
        }
    }

    /// [`kind`](Self::kind) of values that can be copied and made.
    fn kind_defaulted() -> DataKind
    where
        T: Clone + Default,
    {
        DataKind { has_default: |_| true, default: |_| Some(Box::new(T::default())), ..Self::kind_cloned() }
    }
}

impl<R: Relation> PairData<R> {
    /// [`kind`](Self::kind) of the values of a relation type, which knows whether they can be copied and made.
    pub(crate) fn kind_of_relation() -> DataKind {
        DataKind {
            has_default: |_| R::info().default.is_some(),
            default: |_| R::info().default.map(|make| Box::new(make()) as BoxedValue),
            clone: |value| {
                let clone = R::info().clone?;
                value.downcast_ref::<R>().map(|value| Box::new(clone(value)) as BoxedValue)
            },
            ..Self::kind()
        }
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

#[cfg(feature = "bevy_reflect")]
fn reflected<T: 'static>(world: &World) -> Option<bevy_reflect::std_traits::ReflectDefault> {
    let registry = world.get_resource::<bevy_ecs::reflect::AppTypeRegistry>()?.read();
    registry.get_type_data::<bevy_reflect::std_traits::ReflectDefault>(TypeId::of::<T>()).cloned()
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
    TypeRef::of::<T>((size_of::<T>() > 0).then_some(PairData::<T>::kind as fn() -> DataKind))
}

impl RelationTraits {
    /// Targets must be children of the entity that stands for `T`.
    #[must_use]
    pub fn one_of_type<T: Send + Sync + 'static>(mut self) -> Self {
        self.set_one_of(OneOf::Parent(IdRef::Type(type_ref::<T>())));
        self
    }

    /// Pairs of this run-time relation carry a value of type `T`, which must be given at insertion.
    #[must_use]
    pub fn data<T: Clone + Send + Sync + 'static>(mut self) -> Self {
        self.set_data(DataRef { id: TypeId::of::<T>(), kind: PairData::<T>::kind_cloned });
        self
    }

    /// Pairs of this run-time relation carry a value of type `T`, its default if none is given.
    #[must_use]
    pub fn data_or_default<T: Clone + Default + Send + Sync + 'static>(mut self) -> Self {
        self.set_data(DataRef { id: TypeId::of::<T>(), kind: PairData::<T>::kind_defaulted });
        self
    }

    /// Pairs of this run-time relation carry a value that is known by reflection only.
    #[cfg(feature = "bevy_reflect")]
    #[must_use]
    pub fn reflected_data(mut self) -> Self {
        use crate::relation::ReflectedData;
        let kind = || DataKind {
            clone: |value| {
                let copy = value.downcast_ref::<ReflectedData>()?.0.to_dynamic().ok()?;
                Some(Box::new(ReflectedData(copy)))
            },
            ..PairData::<ReflectedData>::kind()
        };
        self.set_data(DataRef { id: TypeId::of::<ReflectedData>(), kind });
        self
    }
}
