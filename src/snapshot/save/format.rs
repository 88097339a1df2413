//! Versions of a program's saves, and former names of relations.

use super::saved::SavedPairs;
use crate::sealed::Sealed;
use alloc::{boxed::Box, string::String};
use bevy_ecs::{error::BevyError, resource::Resource, world::World};
use bevy_platform::{collections::HashMap, sync::Arc};

/// Brings a save of an older version to the present one.
pub(super) type Migrate = dyn Fn(&mut SavedPairs, u32) -> Result<(), BevyError> + Send + Sync;

/// How a world reads saves.
#[derive(Resource, Default, Clone)]
pub(super) struct SaveFormat {
    pub(super) version: u32,
    pub(super) migrate: Option<Arc<Box<Migrate>>>,
    /// Former names, with those of now.
    pub(super) aliases: HashMap<String, String>,
}

/// Reading saves of older versions of a program, directly on the [`World`].
///
/// In the book: [Saves and scenes](crate::book::saves).
pub trait WorldSaveExt: Sealed {
    /// Lets saves refer to a relation by a former name. `now` may be a former name itself: aliases are followed to the last one.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::snapshot::WorldSaveExt;
    /// # let mut world = World::new();
    /// // `Likes` used to be called `FriendOf`.
    /// world.add_relation_alias("FriendOf", "Likes");
    /// ```
    fn add_relation_alias(&mut self, former: impl Into<String>, now: impl Into<String>) -> &mut Self;

    /// Sets the version of saves from now on, and a function that migrates older ones: it gets the save and its
    /// version, and changes the save. It runs before anything is looked up in the world. The version is 0 until this is
    /// called.
    ///
    /// A value is read as the type that it was saved with. If the fields of a type have changed, keep the old type
    /// registered under its old path, with `#[type_path = ".."]` and `#[type_name = ".."]`, and convert the values. For a type that has
    /// another path and is else the same, [`with_type_aliases`](super::SavedPairsDeserializer::with_type_aliases) is enough.
    ///
    /// ```
    /// # use bevy_ecs::{prelude::*, reflect::AppTypeRegistry};
    /// # use bevy_reflect::Reflect;
    /// # use bevy_relations::{prelude::*, snapshot::*};
    /// # use serde::de::DeserializeSeed;
    /// /// As it was in version 1, under the path that it had.
    /// #[derive(Reflect)]
    /// #[type_path = "game"]
    /// #[type_name = "Owes"]
    /// struct OwesV1(u32);
    ///
    /// #[derive(Relation, Reflect, Clone, PartialEq, Debug)]
    /// #[type_path = "game::debts"]
    /// struct Owes {
    ///     gold: u32,
    ///     interest: u32,
    /// }
    ///
    /// # let mut world = World::new();
    /// # world.init_resource::<AppTypeRegistry>();
    /// # let types = world.resource::<AppTypeRegistry>().clone();
    /// types.write().register::<OwesV1>();
    /// types.write().register::<Owes>();
    /// world.register_relation::<Owes>()?;
    /// world.set_save_version(2, |saved, _version| {
    ///     for pair in saved.relations.iter_mut().flat_map(|relation| &mut relation.pairs) {
    ///         let old = pair.value.as_ref().and_then(|value| value.try_downcast_ref::<OwesV1>());
    ///         if let Some(&OwesV1(gold)) = old {
    ///             pair.value = Some(Box::new(Owes { gold, interest: 0 }));
    ///         }
    ///     }
    ///     Ok(())
    /// });
    ///
    /// let old = r#"(format: 1, version: 1, all_relations: false, sources: None,
    ///     entities: [Entity(id: 0, name: None), Entity(id: 1, name: None)],
    ///     relations: [(name: "Owes", pairs: [(0, 1, Some({"game::Owes": (5)}))], orders: [])])"#;
    /// let mut file = ron::Deserializer::from_str(old)?;
    /// let loaded = SavedPairsDeserializer::new(&types.read()).deserialize(&mut file)?.load(&mut world)?;
    /// let [ann, ben] = loaded.entities[..] else { panic!("there are two") };
    /// assert_eq!(world.pair_value::<Owes>(ann, ben), Some(&Owes { gold: 5, interest: 0 }));
    /// # Ok::<(), BevyError>(())
    /// ```
    fn set_save_version(
        &mut self,
        version: u32,
        migrate: impl Fn(&mut SavedPairs, u32) -> Result<(), BevyError> + Send + Sync + 'static,
    ) -> &mut Self;
}

impl WorldSaveExt for World {
    fn add_relation_alias(&mut self, former: impl Into<String>, now: impl Into<String>) -> &mut Self {
        self.get_resource_or_init::<SaveFormat>().aliases.insert(former.into(), now.into());
        self
    }

    fn set_save_version(
        &mut self,
        version: u32,
        migrate: impl Fn(&mut SavedPairs, u32) -> Result<(), BevyError> + Send + Sync + 'static,
    ) -> &mut Self {
        let mut format = self.get_resource_or_init::<SaveFormat>();
        format.version = version;
        format.migrate = Some(Arc::new(Box::new(migrate)));
        self
    }
}
