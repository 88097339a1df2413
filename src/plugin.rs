//! The plugin, and adopting Bevy's relationships.

#[cfg(feature = "serialize")]
use crate::snapshot::SaveId;
use crate::{
    disabling,
    expr::{ExprNames, Expression},
    fetch,
    islands::{self, WorldIslandsExt},
    live::{self, RollupFold, WorldMonitorExt, WorldPropagateExt, WorldRollupExt, WorldRowEventExt},
    ops::{
        self, adopt, ensure_store, has_constraints, maintain, needs_repair, relation_id, use_all_relations,
    },
    relation::{Relation, RelationTraits, TraitsError, TraversableRelation, short_name},
    sealed::Sealed,
    traverse::is_child_of,
    world::WorldPairExt,
};
#[cfg(feature = "bevy_reflect")]
use crate::{
    expr::WorldFieldIndexExt,
    mirror::{self, MirroredRelation, WorldMirrorExt},
    relation::Prefab,
};
use alloc::string::String;
use bevy_app::{App, Last, Main, Plugin, PluginsState, PostUpdate};
#[cfg(feature = "bevy_reflect")]
use bevy_ecs::reflect::AppTypeRegistry;
use bevy_ecs::{
    component::Component,
    entity::Entity,
    error::BevyError,
    relationship::Relationship,
    resource::Resource,
    schedule::{IntoScheduleConfigs, Schedules, SystemSet},
    system::Local,
    world::World,
};
use core::any::{TypeId, type_name};

/// Adds relations to an app.
///
/// In the book: [Relations in ten minutes](crate::book::ten_minutes).
///
/// ```
/// use bevy_app::prelude::*;
/// use bevy_relations::prelude::*;
///
/// App::new().add_plugins(RelationsPlugin).run();
/// ```
///
/// Its systems are those of [`RelationsSystems`]: they maintain the pair store, check pairs that commands have inserted, and call
/// monitors. Without the plugin, call [`maintain_pairs`](WorldPairExt::maintain_pairs) and
/// [`update_live`](crate::live::WorldMonitorExt::update_live). With the plugin, Bevy's `despawn` of a hierarchy does not recurse.
///
/// An index of the pairs of [`ChildOf`](bevy_ecs::hierarchy::ChildOf) is made at their first use, and kept from then on. A use
/// is a term or parameter of `ChildOf`, an expression, a wildcard for the relation, a change of a pair of `ChildOf` by this crate,
/// a rule of another relation about children, or an observer of pairs of `ChildOf` or of all relations. An app that uses only
/// other relations has no such index. Before the index is made, methods of `&World` read Bevy's components.
#[derive(Clone, Copy, Default, Debug)]
pub struct RelationsPlugin;

impl Plugin for RelationsPlugin {
    fn build(&self, app: &mut App) {
        if app.is_plugin_added::<Self>() {
            return;
        }
        ensure_store(app.world_mut());
        // A schedule that runs on several threads costs microseconds to start, `Main` does not.
        app.add_systems(Main, maintain_pairs.in_set(RelationsSystems::Maintain).before(Main::run_main));
        app.add_systems(Main, start_constraints.after(Main::run_main));
        app.add_systems(Main, update_monitors.in_set(RelationsSystems::Monitors).after(Main::run_main));
        #[cfg(feature = "bevy_reflect")]
        app.init_resource::<AppTypeRegistry>().register_type::<RelationTraits>().register_type::<Prefab>();
        #[cfg(feature = "serialize")]
        app.register_type::<SaveId>();
    }

    // `AppRelationExt` may have added it before.
    fn is_unique(&self) -> bool {
        false
    }
}

/// The world of an app, with the plugin added if that can still be done.
fn with_plugin(app: &mut App) -> &mut World {
    if !app.is_plugin_added::<RelationsPlugin>()
        && matches!(app.plugins_state(), PluginsState::Adding | PluginsState::Ready)
    {
        app.add_plugins(RelationsPlugin);
    }
    app.world_mut()
}

/// When the systems of [`RelationsPlugin`] run.
///
/// ```
/// # use bevy_app::prelude::*;
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{RelationsSystems, live::*, prelude::*};
/// # #[derive(Component)]
/// # struct Soldier;
/// # #[derive(Resource, Default)]
/// # struct Largest(u64);
/// fn rank(armies: Query<&Rollup<ChildOf, Soldier, Count>>, mut largest: ResMut<Largest>) {
///     largest.0 = armies.iter().map(|army| *army.get()).max().unwrap_or(0);
/// }
///
/// let mut app = App::new();
/// app.add_plugins(RelationsPlugin).add_rollup::<ChildOf, Soldier, Count>();
/// # app.init_resource::<Largest>();
/// // Reads the numbers of this frame.
/// app.add_systems(PostUpdate, rank.after(RelationsSystems::Rollups));
/// # let army = app.world_mut().spawn_empty().id();
/// # app.world_mut().spawn((Soldier, ChildOf(army)));
/// # app.update();
/// assert_eq!(app.world().resource::<Largest>().0, 1);
/// ```
#[derive(SystemSet, Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RelationsSystems {
    /// In [`Main`], before [`First`](bevy_app::First): recomputes depths, drops old changes, spawns observers again that
    /// were despawned, brings [islands] up to date.
    Maintain,
    /// In [`Last`]: checks the ends of pairs that commands have inserted, as
    /// [`check_constraints`](WorldPairExt::check_constraints) does. The system is added at the end of the first frame with a
    /// relation that requires components.
    Constraints,
    /// In [`PostUpdate`]: brings [propagated](crate::live::Propagated) components up to date. The first
    /// [`propagate`](AppRelationExt::propagate) of the app adds the system.
    Propagation,
    /// In [`PostUpdate`], after `Propagation`: brings [rollups](crate::live::Rollup) up to date. The first
    /// [`add_rollup`](AppRelationExt::add_rollup) or [`add_pair_rollup`](AppRelationExt::add_pair_rollup) of the app adds the
    /// system.
    Rollups,
    /// In [`Main`], after everything else: calls the [monitors](crate::live::WorldMonitorExt) for rows that have entered
    /// and left.
    Monitors,
}

fn maintain_pairs(world: &mut World) {
    if needs_repair(world) {
        maintain(world);
    }
    islands::update_all(world);
    disabling::update_all(world);
    #[cfg(feature = "bevy_reflect")]
    mirror::update_all(world);
    live::maintain(world);
    if let Some(store) = fetch::store_mut(world) {
        store.maintain();
    }
}

/// Adds the system that checks the ends of pairs, at the end of the first frame with a relation that asks for
/// components.
fn start_constraints(world: &mut World, mut started: Local<bool>) {
    if *started || !has_constraints(world) {
        return;
    }
    *started = true;
    let mut schedules = world.get_resource_or_init::<Schedules>();
    schedules.add_systems(Last, check_constraints.in_set(RelationsSystems::Constraints));
    // `Last` of this frame is over.
    check_constraints(world);
}

fn check_constraints(world: &mut World) {
    ops::check_constraints(world);
}

fn update_monitors(world: &mut World) -> Result<(), BevyError> {
    Ok(world.update_live()?)
}

/// Registering Bevy relationships as relations, on an [`App`] or [`World`]: the example is at
/// [`adopt_relationship`](Self::adopt_relationship).
pub trait AdoptRelationshipExt: Sealed + Sized {
    /// Makes a Bevy relationship component take part as a relation: exclusive, `Despawn` on the despawn of a
    /// target if it is a linked spawn, and traversable unless it allows an entity to point to itself.
    ///
    /// A component that is written is a pair at once, and inserting a pair writes the component. Further fields of
    /// the component are the value of the pair.
    ///
    /// ```
    /// use bevy_app::prelude::*;
    /// use bevy_ecs::prelude::*;
    /// use bevy_relations::prelude::*;
    ///
    /// #[derive(Component)]
    /// #[relationship(relationship_target = Crew)]
    /// struct CrewOf(Entity);
    ///
    /// #[derive(Component)]
    /// #[relationship_target(relationship = CrewOf)]
    /// struct Crew(Vec<Entity>);
    ///
    /// let mut app = App::new();
    /// app.add_plugins(RelationsPlugin).adopt_relationship::<CrewOf>();
    /// let ship = app.world_mut().spawn_empty().id();
    /// let cook = app.world_mut().spawn(CrewOf(ship)).id();
    /// assert!(app.world().has_pair::<CrewOf>(cook, ship));
    /// ```
    ///
    /// # Panics
    /// If its traits are rejected.
    fn adopt_relationship<C: Relationship>(&mut self) -> &mut Self;

    /// [`adopt_relationship`](Self::adopt_relationship) with other traits than `traversable`.
    ///
    /// ```
    /// use bevy_ecs::prelude::*;
    /// use bevy_relations::prelude::*;
    ///
    /// #[derive(Component)]
    /// #[relationship(relationship_target = Crew)]
    /// struct CrewOf(Entity);
    ///
    /// #[derive(Component)]
    /// #[relationship_target(relationship = CrewOf)]
    /// struct Crew(Vec<Entity>);
    ///
    /// let mut world = World::new();
    /// world.adopt_relationship_with::<CrewOf>(RelationTraits::new().transitive())?;
    /// let crew_of = world.entity_of::<CrewOf>();
    /// assert!(world.traits_of(crew_of).unwrap().names().contains(&"transitive"));
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// If the traits contradict what the relationship is, or if it takes part already with other traits.
    fn adopt_relationship_with<C: Relationship>(
        &mut self,
        traits: RelationTraits,
    ) -> Result<Entity, TraitsError>;
}

impl AdoptRelationshipExt for World {
    fn adopt_relationship<C: Relationship>(&mut self) -> &mut Self {
        relation_id::<C>(self);
        self
    }

    fn adopt_relationship_with<C: Relationship>(
        &mut self,
        traits: RelationTraits,
    ) -> Result<Entity, TraitsError> {
        if is_child_of::<C>() {
            use_all_relations(self);
        }
        adopt::<C>(self, traits)
    }
}

impl AdoptRelationshipExt for App {
    fn adopt_relationship<C: Relationship>(&mut self) -> &mut Self {
        self.world_mut().adopt_relationship::<C>();
        self
    }

    fn adopt_relationship_with<C: Relationship>(
        &mut self,
        traits: RelationTraits,
    ) -> Result<Entity, TraitsError> {
        self.world_mut().adopt_relationship_with::<C>(traits)
    }
}

/// Naming components and resources for expressions, on an [`App`] or [`World`]: see
/// [`register_component_name`](Self::register_component_name).
///
/// Reflected types and relations have names already.
///
/// In the book: [Expressions](crate::book::expressions).
pub trait ComponentNameExt: Sealed + Sized {
    /// Names a component for expressions. A component may have several names; a name that several components have is
    /// an error where it is used.
    ///
    /// ```
    /// use bevy_ecs::prelude::*;
    /// use bevy_relations::{expr::PairExpr, prelude::*};
    ///
    /// #[derive(Component)]
    /// struct Fuel;
    ///
    /// let mut world = World::new();
    /// world.register_component_name::<Fuel>("Fuel");
    /// world.spawn(Fuel);
    /// let mut expr = PairExpr::parse("Fuel").unwrap().compile(&mut world).unwrap();
    /// assert_eq!(expr.count(&world), Ok(1));
    /// ```
    fn register_component_name<C: Component>(&mut self, name: impl Into<String>) -> &mut Self;

    /// Lets expressions name a resource without `($)`: `Clock` then means `Clock($)`. The name is that of the type,
    /// without its path, beside others that it has.
    ///
    /// ```
    /// use bevy_ecs::prelude::*;
    /// use bevy_relations::{expr::PairExpr, prelude::*};
    ///
    /// #[derive(Resource)]
    /// struct Night;
    ///
    /// let mut world = World::new();
    /// world.register_singleton::<Night>();
    /// let mut expr = PairExpr::parse("Night")?.compile(&mut world)?;
    /// assert!(!expr.any(&world)?);
    /// world.insert_resource(Night);
    /// assert!(expr.any(&world)?);
    /// # Ok::<(), BevyError>(())
    /// ```
    fn register_singleton<R: Resource>(&mut self) -> &mut Self;
}

impl ComponentNameExt for World {
    fn register_component_name<C: Component>(&mut self, name: impl Into<String>) -> &mut Self {
        self.register_component::<C>();
        ensure_store(self);
        self.get_resource_or_init::<ExprNames>().add_component(name.into(), TypeId::of::<C>());
        self
    }

    fn register_singleton<R: Resource>(&mut self) -> &mut Self {
        self.register_component_name::<R>(short_name(type_name::<R>()));
        self.get_resource_or_init::<ExprNames>().add_singleton(TypeId::of::<R>());
        self
    }
}

impl ComponentNameExt for App {
    fn register_component_name<C: Component>(&mut self, name: impl Into<String>) -> &mut Self {
        self.world_mut().register_component_name::<C>(name);
        self
    }

    fn register_singleton<R: Resource>(&mut self) -> &mut Self {
        self.world_mut().register_singleton::<R>();
        self
    }
}

/// Registering relations on an [`App`].
///
#[doc = include_str!("plugin.md")]
pub trait AppRelationExt: Sealed {
    /// Registers relation type `R`, as its first use does: for names in texts and for reflection, which need to
    /// know a relation before it is used.
    ///
    /// # Panics
    /// If its traits are rejected, see [`WorldPairExt::register_relation`].
    fn register_relation<R: Relation>(&mut self) -> &mut Self;

    /// See [`WorldPairExt::propagate_changes`].
    fn propagate_changes<R: TraversableRelation, C: Component>(&mut self) -> &mut Self;

    /// See [`WorldIslandsExt::track_islands`].
    ///
    /// # Panics
    /// If the traits of `R` are rejected.
    fn track_islands<R: Relation>(&mut self) -> &mut Self;

    /// Triggers [`RowEntered`](live::RowEntered) and [`RowLeft`](live::RowLeft) for rows of an expression, in
    /// [`RelationsSystems::Monitors`]. See [`WorldRowEventExt::add_row_events`]. Register what the expression names
    /// first.
    ///
    /// # Panics
    /// If the expression cannot be compiled.
    fn add_row_events<E: Expression>(&mut self) -> &mut Self;

    /// Keeps a [`Rollup<R, V, F>`](live::Rollup), brought up to date in [`RelationsSystems::Rollups`]. See
    /// [`WorldRollupExt::add_rollup`].
    ///
    /// ```
    /// use bevy_app::App;
    /// use bevy_ecs::prelude::*;
    /// use bevy_relations::{live::*, prelude::*};
    ///
    /// #[derive(Component)]
    /// struct Soldier;
    ///
    /// let mut app = App::new();
    /// app.add_plugins(RelationsPlugin).add_rollup::<ChildOf, Soldier, Count>();
    /// let army = app.world_mut().spawn_empty().id();
    /// let unit = app.world_mut().spawn(ChildOf(army)).id();
    /// app.world_mut().spawn_batch((0..10).map(|_| (Soldier, ChildOf(unit))));
    /// app.update();
    /// assert_eq!(app.world().get::<Rollup<ChildOf, Soldier, Count>>(army).unwrap().get(), &10);
    /// ```
    ///
    /// # Panics
    /// If the relation is not acyclic, or its traits are rejected.
    fn add_rollup<R: Relation, V: Component, F: RollupFold<V>>(&mut self) -> &mut Self;

    /// Keeps a [`Rollup<R, R, F>`](live::Rollup) of what the pairs themselves carry, brought up to date in
    /// [`RelationsSystems::Rollups`]. See [`WorldRollupExt::add_pair_rollup`].
    ///
    /// # Panics
    /// If the relation is not acyclic, or its traits are rejected.
    fn add_pair_rollup<R: Relation, F: RollupFold<R>>(&mut self) -> &mut Self;

    /// Keeps a [`Propagated<R, C>`](live::Propagated), brought up to date in [`RelationsSystems::Propagation`]. See
    /// [`WorldPropagateExt::propagate`].
    ///
    /// # Panics
    /// If the relation is a Bevy relationship that is not traversable, or its traits are rejected.
    fn propagate<R: TraversableRelation, C: Component + Clone>(&mut self) -> &mut Self;

    /// See [`WorldFieldIndexExt::index_field`]. Call `register_type` first.
    ///
    /// ```
    /// use bevy_app::prelude::*;
    /// use bevy_ecs::prelude::*;
    /// use bevy_reflect::Reflect;
    /// use bevy_relations::prelude::*;
    ///
    /// #[derive(Component, Reflect)]
    /// #[reflect(Component)]
    /// struct Health(u32);
    ///
    /// let mut app = App::new();
    /// app.register_type::<Health>().index_field::<Health>("0");
    /// app.world_mut().spawn_batch((0..100).map(Health));
    /// let mut dying = PairExpr::parse("Health.0 < 3")?.compile(app.world_mut())?;
    /// assert_eq!(dying.count(app.world())?, 3);
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Panics
    /// If the component is not reflected, or has no such field, or one that is not compared.
    #[cfg(feature = "bevy_reflect")]
    fn index_field<C: Component>(&mut self, field: &str) -> &mut Self;

    /// See [`WorldMirrorExt::mirror_pairs`].
    ///
    /// ```
    /// use bevy_app::prelude::*;
    /// use bevy_ecs::prelude::*;
    /// use bevy_reflect::Reflect;
    /// use bevy_relations::{mirror::MirroredPairs, prelude::*};
    ///
    /// #[derive(Relation, Reflect, Clone)]
    /// struct Likes;
    ///
    /// let mut app = App::new();
    /// app.mirror_pairs::<Likes>();
    /// let ann = app.world_mut().spawn_empty().id();
    /// let ben = app.world_mut().spawn(Pair(Likes, ann)).id();
    /// assert!(app.world().get::<MirroredPairs<Likes>>(ben).unwrap().contains(ann));
    /// ```
    ///
    /// # Panics
    /// If the traits of `R` are rejected.
    #[cfg(feature = "bevy_reflect")]
    fn mirror_pairs<R: MirroredRelation>(&mut self) -> &mut Self;

    /// See [`WorldMirrorExt::receive_pairs`]. In the book: [Networking](crate::book::network).
    ///
    /// ```
    /// use bevy_app::prelude::*;
    /// use bevy_ecs::prelude::*;
    /// use bevy_reflect::Reflect;
    /// use bevy_relations::{mirror::MirroredPairs, prelude::*};
    ///
    /// #[derive(Relation, Reflect, Clone)]
    /// struct Likes;
    ///
    /// let mut client = App::new();
    /// client.receive_pairs::<Likes>();
    /// let [ann, ben] = [(); 2].map(|()| client.world_mut().spawn_empty().id());
    /// // A crate for replication inserts the component that the server has sent.
    /// client.world_mut().entity_mut(ann).insert(MirroredPairs::from_iter([(Likes, ben)]));
    /// assert!(client.world().has_pair::<Likes>(ann, ben));
    /// ```
    ///
    /// # Panics
    /// If the traits of `R` are rejected, or there have been pairs of `R` and ends would be despawned with them.
    #[cfg(feature = "bevy_reflect")]
    fn receive_pairs<R: MirroredRelation>(&mut self) -> &mut Self;

    /// See [`WorldMirrorExt::mirror_runtime_pairs`], which has an example.
    #[cfg(feature = "bevy_reflect")]
    fn mirror_runtime_pairs(&mut self) -> &mut Self;
}

impl AppRelationExt for App {
    fn register_relation<R: Relation>(&mut self) -> &mut Self {
        if let Err(error) = with_plugin(self).register_relation::<R>() {
            panic!("{error}");
        }
        self
    }

    fn propagate_changes<R: TraversableRelation, C: Component>(&mut self) -> &mut Self {
        with_plugin(self).propagate_changes::<R, C>();
        self
    }

    fn track_islands<R: Relation>(&mut self) -> &mut Self {
        if let Err(error) = with_plugin(self).track_islands::<R>() {
            panic!("{error}");
        }
        self
    }

    fn add_row_events<E: Expression>(&mut self) -> &mut Self {
        if let Err(error) = with_plugin(self).add_row_events::<E>() {
            panic!("{error}");
        }
        self
    }

    fn add_rollup<R: Relation, V: Component, F: RollupFold<V>>(&mut self) -> &mut Self {
        if let Err(error) = with_plugin(self).add_rollup::<R, V, F>() {
            panic!("{error}");
        }
        start_rollups(self)
    }

    fn add_pair_rollup<R: Relation, F: RollupFold<R>>(&mut self) -> &mut Self {
        if let Err(error) = with_plugin(self).add_pair_rollup::<R, F>() {
            panic!("{error}");
        }
        start_rollups(self)
    }

    fn propagate<R: TraversableRelation, C: Component + Clone>(&mut self) -> &mut Self {
        if let Err(error) = with_plugin(self).propagate::<R, C>() {
            panic!("{error}");
        }
        if live::start_propagation(self.world_mut()) {
            let update = World::update_propagation.in_set(RelationsSystems::Propagation);
            self.add_systems(PostUpdate, update.before(RelationsSystems::Rollups));
        }
        self
    }

    #[cfg(feature = "bevy_reflect")]
    fn index_field<C: Component>(&mut self, field: &str) -> &mut Self {
        if let Err(error) = with_plugin(self).index_field::<C>(field) {
            panic!("{error}");
        }
        self
    }

    #[cfg(feature = "bevy_reflect")]
    fn mirror_pairs<R: MirroredRelation>(&mut self) -> &mut Self {
        if let Err(error) = with_plugin(self).mirror_pairs::<R>() {
            panic!("{error}");
        }
        self
    }

    #[cfg(feature = "bevy_reflect")]
    fn receive_pairs<R: MirroredRelation>(&mut self) -> &mut Self {
        if let Err(error) = with_plugin(self).receive_pairs::<R>() {
            panic!("{error}");
        }
        self
    }

    #[cfg(feature = "bevy_reflect")]
    fn mirror_runtime_pairs(&mut self) -> &mut Self {
        with_plugin(self).mirror_runtime_pairs();
        self
    }
}

/// Adds the system that updates rollups, with the first of them.
fn start_rollups(app: &mut App) -> &mut App {
    if live::start_rollups(app.world_mut()) {
        app.add_systems(PostUpdate, World::update_rollups.in_set(RelationsSystems::Rollups));
    }
    app
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::PairStore;
    use bevy_ecs::hierarchy::ChildOf;

    #[test]
    fn an_app_that_uses_no_relations_keeps_no_index() {
        let mut app = App::new();
        app.add_plugins(RelationsPlugin).register_component_name::<ChildOf>("Child");
        let root = app.world_mut().spawn_empty().id();
        let child = app.world_mut().spawn(ChildOf(root)).id();
        app.update();
        let lacks_children = |app: &App| fetch::store(app.world()).is_some_and(PairStore::lacks_children);
        assert!(app.world().has_pair::<ChildOf>(child, root) && app.world().any_pairs().len() == 1);
        app.world_mut().despawn(root);
        app.update();
        assert!(app.world().get_entity(child).is_err() && lacks_children(&app));
        app.world_mut().entity_of::<ChildOf>();
        assert!(!lacks_children(&app));
    }
}
