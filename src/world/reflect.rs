//! Values of pairs by reflection, for tools that know no types.

use crate::{
    fetch,
    id::{PairId, StoredPair},
    ops::{
        AttemptedPair, InsertPairError, NewPair, TypedValue, ValueType, insert_several, resolve_pair,
        store_removed,
    },
    relation::{BoxedValue, ColumnRef, ReflectedData, reflected_value},
    sealed::Sealed,
    system_param::any_pair_value,
};
use alloc::{
    boxed::Box,
    string::{String, ToString},
};
use bevy_ecs::{entity::Entity, reflect::AppTypeRegistry, world::World};
use bevy_reflect::{PartialReflect, ReflectFromReflect};
use core::any::TypeId;
use thiserror::Error;

/// Reading and writing values of pairs by reflection, on the [`World`].
///
/// Types are looked up in the [`AppTypeRegistry`].
///
/// ```
/// use bevy_ecs::{prelude::*, reflect::AppTypeRegistry};
/// use bevy_reflect::{Reflect, structs::DynamicStruct};
/// use bevy_relations::{prelude::*, world::WorldReflectPairExt};
///
/// #[derive(Relation, Reflect, Clone, PartialEq, Debug)]
/// struct Owes {
///     coins: u32,
/// }
///
/// let mut world = World::new();
/// world.get_resource_or_init::<AppTypeRegistry>().write().register::<Owes>();
/// let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
/// world.insert_pair(ann, Owes { coins: 3 }, ben)?;
/// let pair = (world.register_relation::<Owes>()?, ben);
/// assert!(world.reflect_pair_value(ann, pair).unwrap().represents::<Owes>());
///
/// let mut five = DynamicStruct::default();
/// five.insert("coins", 5u32);
/// world.insert_reflected_pair(ann, pair, Box::new(five))?;
/// assert_eq!(world.pair_value::<Owes>(ann, ben), Some(&Owes { coins: 5 }));
/// # Ok::<(), BevyError>(())
/// ```
pub trait WorldReflectPairExt: Sealed {
    /// The value of a pair. `None` if there is no such pair, if it carries no value, or if the type of the value is not
    /// registered.
    fn reflect_pair_value(&self, source: Entity, pair: impl Into<PairId>) -> Option<&dyn PartialReflect>;

    /// Inserts a pair with a value, or replaces the value of one. The value is of the type that the pair carries, or one is made
    /// of it by [`FromReflect`](bevy_reflect::FromReflect).
    ///
    /// # Errors
    /// See [`ReflectPairError`].
    fn insert_reflected_pair(
        &mut self,
        source: Entity,
        pair: impl Into<PairId>,
        value: Box<dyn PartialReflect>,
    ) -> Result<(), ReflectPairError>;
}

/// Why a value was not written by reflection. Nothing has changed.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// use bevy_relations::{error::ReflectPairError, prelude::*, world::WorldReflectPairExt};
///
/// #[derive(Relation)]
/// struct Likes;
///
/// let mut world = World::new();
/// let likes = world.register_relation::<Likes>().unwrap();
/// let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
/// let error = world.insert_reflected_pair(ann, (likes, ben), Box::new(5u32)).unwrap_err();
/// assert!(matches!(error, ReflectPairError::Tag { .. }));
/// ```
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum ReflectPairError {
    /// The pair is refused.
    #[error(transparent)]
    Insert(#[from] InsertPairError),
    /// The pair carries no value.
    #[error("cannot write a value of {pair}: it carries none")]
    Tag {
        /// The pair.
        pair: AttemptedPair,
    },
    /// The pair is a Bevy relationship, whose value is a component.
    #[error("cannot write a value of {pair}: the relation is a component, which is inserted instead")]
    Relationship {
        /// The pair.
        pair: AttemptedPair,
    },
    /// The value is of another type, of which that of the pair cannot be made by reflection.
    #[error("cannot write a value of {pair}: no `{expected}` can be made of this `{given}` by reflection")]
    WrongType {
        /// The pair.
        pair: AttemptedPair,
        /// The type that the pair carries.
        expected: &'static str,
        /// The type that was given.
        given: String,
    },
}

impl WorldReflectPairExt for World {
    fn reflect_pair_value(&self, source: Entity, pair: impl Into<PairId>) -> Option<&dyn PartialReflect> {
        let (relation, target) = pair.into().entities()?;
        let types = self.get_resource::<AppTypeRegistry>()?;
        let value = any_pair_value(self, source, relation, target)?;
        reflected_value(&types.read(), value)
    }

    fn insert_reflected_pair(
        &mut self,
        source: Entity,
        pair: impl Into<PairId>,
        value: Box<dyn PartialReflect>,
    ) -> Result<(), ReflectPairError> {
        let (pair, column) = reflected_column(self, source, pair.into())?;
        let given = value.reflect_type_path().to_string();
        let made = value_of_column(self, column, value);
        let store = fetch::store(self).ok_or_else(|| store_removed(self, source, pair.target))?;
        let relation = store.registry().entry(pair.relation).entity;
        let Some(value) = made else {
            let pair = AttemptedPair::new(self, store, source, relation, pair.target);
            return Err(ReflectPairError::WrongType { pair, expected: column.value_name(), given });
        };
        let value = TypedValue { value_type: ValueType::of_column(column), value };
        let mut pairs = [NewPair { relation, target: pair.target, value: Some(value) }];
        insert_several(self, source, &mut pairs).map_err(|(_, error)| error.into())
    }
}

/// The pair that is named by its entities, and the column of the value that it is to have.
///
/// # Errors
/// If it cannot have a value that is written so.
pub(crate) fn reflected_column(
    world: &mut World,
    source: Entity,
    pair: PairId,
) -> Result<(StoredPair, ColumnRef), ReflectPairError> {
    let pair = resolve_pair(world, source, pair)?;
    let store = fetch::store(world).ok_or_else(|| store_removed(world, source, pair.target))?;
    let entry = store.registry().entry(pair.relation);
    let attempted = || AttemptedPair::new(world, store, source, entry.entity, pair.target);
    if entry.adopted.is_some() {
        return Err(ReflectPairError::Relationship { pair: attempted() });
    }
    match store.column_of(pair.relation, source, pair.target) {
        Some(column) => Ok((pair, column)),
        None => Err(ReflectPairError::Tag { pair: attempted() }),
    }
}

/// A value as a column holds it.
fn value_of_column(world: &World, column: ColumnRef, given: Box<dyn PartialReflect>) -> Option<BoxedValue> {
    // Making a value runs users' code, which may use the types.
    let from_reflect = world.get_resource::<AppTypeRegistry>().and_then(|types| {
        let wanted = match column.value_type() == TypeId::of::<ReflectedData>() {
            true => given.get_represented_type_info()?.type_id(),
            false => column.value_type(),
        };
        types.read().get_type_data::<ReflectFromReflect>(wanted).cloned()
    });
    let given = match from_reflect.and_then(|from| from.from_reflect(&*given)) {
        Some(made) => made.into_partial_reflect(),
        None => given,
    };
    if column.value_type() == TypeId::of::<ReflectedData>() {
        return Some(Box::new(ReflectedData(given)));
    }
    column.sendable(given.try_into_reflect().ok()?.into_any())
}
