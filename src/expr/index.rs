//! Making and dropping indices of fields.

use super::{
    bind::{NoScalar, ScalarKind, scalar_at},
    eval::{FieldIndex, FieldIndices, FieldSteps},
};
use crate::{relation::short_name, sealed::Sealed};
use alloc::{
    borrow::ToOwned,
    boxed::Box,
    string::{String, ToString},
    vec::Vec,
};
use bevy_ecs::{
    change_detection::{CheckChangeTicks, Res},
    component::Component,
    observer::On,
    reflect::{AppTypeRegistry, ReflectComponent},
    world::World,
};
use bevy_reflect::{PartialReflect, ReflectFromPtr};
use core::any::{TypeId, type_name};
use thiserror::Error;

/// Why [`index_field`](WorldFieldIndexExt::index_field) cannot index a field.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::expr::{FieldIndexError, WorldFieldIndexExt};
/// #[derive(Component)]
/// struct Health {
///     hp: u32,
/// }
/// let error = World::new().index_field::<Health>("hp").unwrap_err();
/// assert!(matches!(error, FieldIndexError::NotReflected { .. }));
/// # let _ = Health { hp: 0 }.hp;
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum FieldIndexError {
    /// The component is not reflected as one.
    #[error(
        "`{component}.{field}` cannot have an index: `{component}` is not in the type registry with `#[reflect(Component)]`; \
         `register_type` puts it there"
    )]
    NotReflected {
        /// The component.
        component: String,
        /// The path of the field.
        field: String,
    },
    /// The component has no such field.
    #[error("`{component}.{field}` cannot have an index: there is no such field, only {}", Fields(.known))]
    UnknownField {
        /// The component.
        component: String,
        /// The path of the field.
        field: String,
        /// The fields of the value in which it was looked up.
        known: Vec<String>,
    },
    /// The type of the field cannot be compared.
    #[error(
        "`{component}.{field}` cannot have an index: it is of type `{type_name}`, and only numbers, `bool`, `char`, text and \
         enums are compared"
    )]
    NotCompared {
        /// The component.
        component: String,
        /// The path of the field.
        field: String,
        /// The type of the field.
        type_name: String,
    },
}

struct Fields<'a>(&'a [String]);

impl core::fmt::Display for Fields<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.0.is_empty() {
            return f.write_str("a value without fields");
        }
        for (at, field) in self.0.iter().enumerate() {
            write!(f, "{}`{field}`", if at > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

/// Indices of fields, by which expressions find the entities that a comparison holds for without looking at all others.
///
/// In the book: [Expressions](crate::book::expressions).
///
/// ```
/// use bevy_ecs::{prelude::*, reflect::AppTypeRegistry};
/// use bevy_reflect::Reflect;
/// use bevy_relations::{expr::{PairExpr, WorldFieldIndexExt}, prelude::*};
///
/// #[derive(Component, Reflect)]
/// #[reflect(Component)]
/// struct Health { hp: f32 }
///
/// let mut world = World::new();
/// world.init_resource::<AppTypeRegistry>();
/// world.resource::<AppTypeRegistry>().write().register::<Health>();
/// world.index_field::<Health>("hp")?;
/// world.spawn_batch((0..100).map(|hp| Health { hp: hp as f32 }));
///
/// let mut dying = PairExpr::parse("Health.hp < 3").unwrap().compile(&mut world)?;
/// assert_eq!(dying.count(&world)?, 3);
/// assert!(dying.explain(&world)?.contains("field index"));
/// # Ok::<(), BevyError>(())
/// ```
///
/// An expression returns the same rows with an index and without; one that is a comparison alone, in the same order.
/// An index is used for a comparison other than `!=` that few values are expected to pass, unless another term is
/// more selective; [`explain`] shows whether it is used.
///
/// # What counts as a change
///
/// Writing costs nothing extra: an index is updated when an expression reads it, by the change ticks of the component
/// on all entities, also disabled ones. It misses what is written with `bypass_change_detection`, and what a system
/// writes through a `ParamSet` after it has run an expression on a `&World` in the same set.
///
/// # Complexity
///
/// An expression that uses an index takes O(hits log hits), O(log entities) for each that changed since the index was
/// read, and O(entities with the component) to compare their change ticks, some hundred times faster than comparing the
/// fields. With `#[component(summary_tick)]`, tables are skipped in which none was written since
/// [`clear_trackers`](World::clear_trackers), which an app calls each frame. Nothing else avoids the comparison, as
/// Bevy does not record what changed. An index keeps the ticks that it has read, four bytes per entity.
///
/// [`explain`]: crate::expr::CompiledExpr::explain
pub trait WorldFieldIndexExt: Sealed {
    /// Makes an ordered index of a field, by its path: `"hp"`, `"wounds.0"`. Does nothing if there is one.
    ///
    /// It is dropped by [`drop_field_index`](Self::drop_field_index), and when the resources or all entities of the
    /// world are cleared.
    ///
    /// # Errors
    /// If the component is not reflected, or has no such field, or one that is not compared.
    ///
    /// # Complexity
    /// O(n log n) for n entities with the component, when the index is read first.
    fn index_field<C: Component>(&mut self, field: &str) -> Result<(), FieldIndexError>;

    /// Drops the index of a field. Returns whether there was one.
    ///
    /// ```
    /// # use bevy_ecs::{prelude::*, reflect::AppTypeRegistry};
    /// # use bevy_reflect::Reflect;
    /// # use bevy_relations::expr::WorldFieldIndexExt;
    /// #[derive(Component, Reflect)]
    /// #[reflect(Component)]
    /// struct Health {
    ///     hp: u32,
    /// }
    ///
    /// # let mut world = World::new();
    /// # world.init_resource::<AppTypeRegistry>();
    /// world.resource::<AppTypeRegistry>().write().register::<Health>();
    /// world.index_field::<Health>("hp")?;
    /// assert!(world.drop_field_index::<Health>("hp"));
    /// assert!(!world.drop_field_index::<Health>("hp"));
    /// # Ok::<(), BevyError>(())
    /// ```
    fn drop_field_index<C: Component>(&mut self, field: &str) -> bool;
}

impl WorldFieldIndexExt for World {
    fn index_field<C: Component>(&mut self, field: &str) -> Result<(), FieldIndexError> {
        let field = FieldOf::new::<C>(self, field)?;
        let component = self.register_component::<C>();
        if let Some(indices) = self.get_resource::<FieldIndices>() {
            if indices.get(component, &field.path).is_some() {
                return Ok(());
            }
        } else {
            self.init_resource::<FieldIndices>();
            self.add_observer(|check: On<CheckChangeTicks>, indices: Option<Res<FieldIndices>>| {
                indices.iter().for_each(|indices| indices.clamp_ticks(*check.event()));
            });
        }
        let FieldOf { path, kind, steps, type_of } = field;
        let key_of = Box::new(move |field: &dyn PartialReflect| kind.key(field));
        let index = FieldIndex::new(component, path.into(), steps, type_of, key_of);
        self.resource_mut::<FieldIndices>().add(index);
        Ok(())
    }

    fn drop_field_index<C: Component>(&mut self, field: &str) -> bool {
        let Ok(FieldOf { path, .. }) = FieldOf::new::<C>(self, field) else { return false };
        let Some(component) = self.component_id::<C>() else { return false };
        self.get_resource_mut::<FieldIndices>().is_some_and(|mut indices| indices.remove(component, &path))
    }
}

/// A field that can have an index.
struct FieldOf {
    path: String,
    kind: ScalarKind,
    steps: FieldSteps,
    type_of: ReflectFromPtr,
}

impl FieldOf {
    fn new<C: Component>(world: &World, field: &str) -> Result<Self, FieldIndexError> {
        let component = || short_name(type_name::<C>()).into_owned();
        let not_reflected =
            || FieldIndexError::NotReflected { component: component(), field: field.to_owned() };
        let types = world.get_resource::<AppTypeRegistry>().ok_or_else(not_reflected)?.read();
        let registration = types.get(TypeId::of::<C>()).ok_or_else(not_reflected)?;
        let type_of = registration.data::<ReflectFromPtr>().ok_or_else(not_reflected)?.clone();
        registration.data::<ReflectComponent>().ok_or_else(not_reflected)?;
        let fields: Vec<String> = field.split('.').map(ToString::to_string).collect();
        let fault = |fault| match fault {
            NoScalar::Missing(known) => {
                FieldIndexError::UnknownField { component: component(), field: field.to_owned(), known }
            }
            NoScalar::Other(types) => FieldIndexError::NotCompared {
                component: component(),
                field: field.to_owned(),
                type_name: types.join("` or `"),
            },
        };
        let (path, kind) = scalar_at(registration.type_info(), &fields).map_err(fault)?;
        let steps = FieldSteps::new(&path, registration.type_info()).ok_or_else(not_reflected)?;
        Ok(Self { path, kind, steps, type_of })
    }
}
