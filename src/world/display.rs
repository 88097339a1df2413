//! Pairs with the names of their elements.

use crate::{fetch, id::PairId, relation::display_pair};
use bevy_ecs::world::World;
use core::fmt::Display;

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
        let relation = fetch::store(world).and_then(|store| store.registry().relation_name(self));
        display_pair(world, relation, self)
    }
}
