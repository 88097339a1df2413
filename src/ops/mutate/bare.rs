//! Pairs of `IsA` that bring nothing but themselves.

use alloc::vec::Vec;
use bevy_ecs::{entity::Entity, resource::Resource, world::World};

/// The pairs of `IsA` that are being inserted and for which nothing is to be instantiated.
#[derive(Resource, Default)]
struct BareBases(Vec<(Entity, Entity)>);

/// Whether a pair of `IsA` is being inserted for which nothing is to be instantiated: what it would bring is copied
/// from elsewhere.
pub(crate) fn is_bare_base(world: &World, source: Entity, base: Entity) -> bool {
    world.get_resource::<BareBases>().is_some_and(|bare| bare.0.contains(&(source, base)))
}

/// While this lives, inserting the pair instantiates nothing.
pub(in crate::ops) struct Bare<'w> {
    world: &'w mut World,
    pair: (Entity, Entity),
}

impl<'w> Bare<'w> {
    pub(in crate::ops) fn begin(world: &'w mut World, source: Entity, base: Entity) -> Self {
        world.get_resource_or_init::<BareBases>().0.push((source, base));
        Self { world, pair: (source, base) }
    }

    pub(in crate::ops) fn world(&mut self) -> &mut World {
        self.world
    }
}

/// Also if a user's observer panics.
impl Drop for Bare<'_> {
    fn drop(&mut self) {
        if let Some(mut bare) = self.world.get_resource_mut::<BareBases>()
            && let Some(place) = bare.0.iter().rposition(|pair| *pair == self.pair)
        {
            bare.0.swap_remove(place);
        }
    }
}
