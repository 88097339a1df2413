//! Events of islands.

use super::{id::IslandId, partition::IslandChange};
use crate::ops::PairPattern;
use bevy_ecs::{entity::Entity, event::Event, world::World};
use core::{fmt, marker::PhantomData};

/// Triggers the event for a change of the islands of a relation.
pub(super) type Trigger = fn(&mut World, Entity, IslandChange);

pub(super) fn trigger<P: PairPattern>(world: &mut World, relation: Entity, change: IslandChange) {
    let pattern = PhantomData;
    match change {
        IslandChange::Split { kept, new } => {
            world.trigger(IslandSplit::<P> { relation, kept, new, pattern });
        }
        IslandChange::Merged { kept, gone } => {
            world.trigger(IslandsMerged::<P> { relation, kept, gone, pattern });
        }
        IslandChange::Removed(island) => world.trigger(IslandRemoved::<P> { relation, island, pattern }),
        IslandChange::Created(island) => world.trigger(IslandCreated::<P> { relation, island, pattern }),
        IslandChange::Changed(island) => world.trigger(IslandChanged::<P> { relation, island, pattern }),
    }
}

/// Defines an event of islands.
macro_rules! island_event {
    ($(#[$doc:meta])* $event:ident { $($(#[$field_doc:meta])* $field:ident),* }) => {
        $(#[$doc])*
        #[derive(Event)]
        pub struct $event<P: PairPattern> {
            /// The relation.
            pub relation: Entity,
            $($(#[$field_doc])* pub $field: IslandId,)*
            pattern: PhantomData<fn() -> P>,
        }

        impl<P: PairPattern> Clone for $event<P> {
            fn clone(&self) -> Self {
                Self { relation: self.relation, $($field: self.$field,)* pattern: PhantomData }
            }
        }

        impl<P: PairPattern> fmt::Debug for $event<P> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut event = f.debug_struct(stringify!($event));
                event.field("relation", &self.relation);
                $(event.field(stringify!($field), &self.$field);)*
                event.finish()
            }
        }
    };
}

island_event! {
    /// An island fell into two: `On<IslandSplit<R>>`, or `On<IslandSplit<Wildcard>>` for every relation whose islands
    /// are tracked.
    ///
    /// The larger part keeps the id. The events of one change come in this order: splits, merges, [`IslandRemoved`],
    /// [`IslandCreated`], [`IslandChanged`]; all of them after the islands are up to date.
    ///
    /// ```
    /// use bevy_ecs::prelude::*;
    /// use bevy_relations::{islands::*, prelude::*};
    ///
    /// #[derive(Relation)]
    /// struct WiredTo;
    ///
    /// #[derive(Component)]
    /// struct Dark;
    ///
    /// let mut world = World::new();
    /// world.track_islands::<WiredTo>()?;
    /// world.add_observer(|on: On<IslandSplit<WiredTo>>, grid: Islands<WiredTo>, mut commands: Commands| {
    ///     for &device in grid.members(on.new) {
    ///         commands.entity(device).insert(Dark);
    ///     }
    /// });
    /// let [plant, mast, barn, house, lamp] = [(); 5].map(|()| world.spawn_empty().id());
    /// for (from, to) in [(mast, plant), (barn, mast), (house, mast), (lamp, house)] {
    ///     world.insert_pair(from, WiredTo, to)?;
    /// }
    /// world.remove_pair::<WiredTo>(house, mast);
    /// let dark = [plant, mast, barn, house, lamp].map(|device| world.entity(device).contains::<Dark>());
    /// assert_eq!(dark, [false, false, false, true, true]);
    /// # Ok::<(), BevyError>(())
    /// ```
    IslandSplit {
        /// The island, with the part that keeps its id. If it became part of another at the same time, an event about
        /// that follows.
        kept,
        /// The island of the other part.
        new
    }
}

island_event! {
    /// Two islands became one: `On<IslandsMerged<R>>`, or `On<IslandsMerged<Wildcard>>`. The larger one keeps its id.
    ///
    /// ```
    /// use bevy_ecs::prelude::*;
    /// use bevy_relations::{islands::*, prelude::*};
    ///
    /// #[derive(Relation)]
    /// struct WiredTo;
    ///
    /// #[derive(Resource, Default)]
    /// struct Merged(Option<(IslandId, IslandId)>);
    ///
    /// let mut world = World::new();
    /// world.init_resource::<Merged>();
    /// world.track_islands::<WiredTo>()?;
    /// world.add_observer(|on: On<IslandsMerged<WiredTo>>, mut merged: ResMut<Merged>| merged.0 = Some((on.kept, on.gone)));
    /// let [plant, mast, mill, house, lamp] = [(); 5].map(|()| world.spawn_empty().id());
    /// world.insert_pair(mast, WiredTo, plant)?;
    /// world.insert_pair(mill, WiredTo, mast)?;
    /// world.insert_pair(lamp, WiredTo, house)?;
    /// let ids = [plant, lamp].map(|entity| world.islands::<WiredTo>().unwrap().island(entity).unwrap());
    ///
    /// world.insert_pair(house, WiredTo, mill)?;
    /// assert_eq!(world.resource::<Merged>().0, Some((ids[0], ids[1])));
    /// assert!(!world.islands::<WiredTo>()?.contains(ids[1]));
    /// # Ok::<(), BevyError>(())
    /// ```
    IslandsMerged {
        /// The island that has the members of both.
        kept,
        /// The island that is no more.
        gone
    }
}

island_event! {
    /// None of the members of an island has a pair any more: `On<IslandRemoved<R>>`, or `On<IslandRemoved<Wildcard>>`.
    ///
    /// ```
    /// use bevy_ecs::prelude::*;
    /// use bevy_relations::{islands::*, prelude::*};
    ///
    /// #[derive(Relation)]
    /// struct WiredTo;
    ///
    /// #[derive(Resource, Default)]
    /// struct Grids(Vec<IslandId>);
    ///
    /// let mut world = World::new();
    /// world.init_resource::<Grids>();
    /// world.track_islands::<WiredTo>()?;
    /// world.add_observer(|on: On<IslandCreated<WiredTo>>, mut grids: ResMut<Grids>| grids.0.push(on.island));
    /// world.add_observer(|on: On<IslandRemoved<WiredTo>>, mut grids: ResMut<Grids>| grids.0.retain(|&grid| grid != on.island));
    ///
    /// let [plant, lamp] = [(); 2].map(|()| world.spawn_empty().id());
    /// world.insert_pair(lamp, WiredTo, plant)?;
    /// assert_eq!(world.resource::<Grids>().0.len(), 1);
    /// world.despawn(plant);
    /// assert!(world.resource::<Grids>().0.is_empty());
    /// # Ok::<(), BevyError>(())
    /// ```
    IslandRemoved {
        /// The island that is no more.
        island
    }
}

island_event! {
    /// Entities without pairs became an island: `On<IslandCreated<R>>`, or `On<IslandCreated<Wildcard>>`.
    ///
    /// ```
    /// use bevy_ecs::prelude::*;
    /// use bevy_relations::{islands::*, prelude::*};
    ///
    /// #[derive(Relation)]
    /// struct WiredTo;
    ///
    /// #[derive(Component)]
    /// struct Lit;
    ///
    /// let mut world = World::new();
    /// world.track_islands::<WiredTo>()?;
    /// world.add_observer(|on: On<IslandCreated<WiredTo>>, grids: Islands<WiredTo>, mut commands: Commands| {
    ///     grids.members(on.island).iter().for_each(|&device| { commands.entity(device).insert(Lit); });
    /// });
    /// let [plant, lamp] = [(); 2].map(|()| world.spawn_empty().id());
    /// world.insert_pair(lamp, WiredTo, plant)?;
    /// assert!([plant, lamp].iter().all(|&device| world.entity(device).contains::<Lit>()));
    /// # Ok::<(), BevyError>(())
    /// ```
    IslandCreated {
        /// The new island.
        island
    }
}

island_event! {
    /// An island that was there before has other members than before: `On<IslandChanged<R>>`, or
    /// `On<IslandChanged<Wildcard>>`. It has merged or split, or single entities came or went.
    ///
    /// ```
    /// use bevy_ecs::prelude::*;
    /// use bevy_relations::{islands::*, prelude::*};
    ///
    /// #[derive(Relation)]
    /// struct WiredTo;
    ///
    /// #[derive(Resource, Default, PartialEq, Debug)]
    /// struct Sizes(Vec<usize>);
    ///
    /// let mut world = World::new();
    /// world.init_resource::<Sizes>();
    /// world.track_islands::<WiredTo>()?;
    /// world.add_observer(|on: On<IslandChanged<WiredTo>>, grids: Islands<WiredTo>, mut sizes: ResMut<Sizes>| {
    ///     sizes.0.push(grids.size(on.island));
    /// });
    /// let [plant, mast, lamp] = [(); 3].map(|()| world.spawn_empty().id());
    /// world.insert_pair(mast, WiredTo, plant)?; // a new island: `IslandCreated`
    /// world.insert_pair(lamp, WiredTo, mast)?;
    /// world.remove_pair::<WiredTo>(lamp, mast);
    /// assert_eq!(world.resource::<Sizes>(), &Sizes(vec![3, 2]));
    /// # Ok::<(), BevyError>(())
    /// ```
    IslandChanged {
        /// The island.
        island
    }
}
