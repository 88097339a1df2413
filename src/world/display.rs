//! Pairs with the names of their elements.

use super::WorldPairExt;
use crate::{
    id::{PairId, Slot},
    relation::EntityName,
};
use bevy_ecs::world::World;
use core::fmt::{self, Display};

impl PairId {
    /// This pair with the names that its elements have in `world`, for messages: a relation by its type or the name
    /// that it was made with, everything else by its `Name` and id.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Relation)]
    /// struct Likes;
    ///
    /// # let mut world = World::new();
    /// let likes = world.register_relation::<Likes>().unwrap();
    /// let alice = world.spawn(Name::new("Alice")).id();
    /// let shown = PairId::new(likes, alice).display(&world).to_string();
    /// assert_eq!(shown, format!("(Likes, Alice ({alice}))"));
    /// ```
    pub fn display(self, world: &World) -> impl Display + use<'_> {
        fmt::from_fn(move |f| {
            f.write_str("(")?;
            match self.relation() {
                Slot::Entity(relation) => match world.relation_name(relation) {
                    Some(name) if name.name.is_some() => name.fmt(f)?,
                    _ => EntityName::new(world, relation).fmt(f)?,
                },
                slot => slot.fmt(f)?,
            }
            f.write_str(", ")?;
            match self.target() {
                Slot::Entity(target) => EntityName::new(world, target).fmt(f)?,
                slot => slot.fmt(f)?,
            }
            f.write_str(")")
        })
    }
}
