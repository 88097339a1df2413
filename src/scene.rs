//! Pairs in `bsn!`, Bevy's language for scenes.
//!
//! A pair is a scene of its own, [`pair`], so that an entity can have any number, also of one relation. Write an `@`
//! before it, as before every scene that is included in another:
//!
//! ```
//! use bevy_app::{App, TaskPoolPlugin};
//! use bevy_asset::AssetPlugin;
//! use bevy_ecs::prelude::*;
//! use bevy_relations::{
//!     prelude::*,
//!     scene::{SourcesOf, pair},
//! };
//! use bevy_scene::{ScenePlugin, prelude::*};
//!
//! #[derive(Relation, Clone)]
//! struct Escorts;
//!
//! #[derive(Relation, Clone)]
//! struct Owes {
//!     gold: u32,
//! }
//!
//! #[derive(Relation)]
//! struct MountedOn;
//!
//! fn convoy(bank: Entity) -> impl SceneList {
//!     bsn_list! {
//!         #Trader
//!         @pair(Owes { gold: 500 }, bank)
//!         SourcesOf<MountedOn> [ #Gun -- #Radar ]
//!         --
//!         #Escort
//!         @pair(Escorts, [#Trader, #Tanker])
//!         --
//!         #Tanker
//!     }
//! }
//!
//! let mut app = App::new();
//! app.add_plugins((TaskPoolPlugin::default(), AssetPlugin::default(), ScenePlugin, RelationsPlugin));
//! let world = app.world_mut();
//! let bank = world.spawn_empty().id();
//! let [trader, escort, tanker] = world.spawn_scene_list(convoy(bank))?[..] else { unreachable!() };
//!
//! assert_eq!(world.pair_value::<Owes>(trader, bank).unwrap().gold, 500);
//! assert_eq!(world.pairs::<MountedOn>().source_count(trader), 2);
//! assert!(world.pairs::<Escorts>().targets(escort).eq([trader, tanker]));
//! # Ok::<(), BevyError>(())
//! ```
//!
//! A target is a `#Name` of the same `bsn!` or `bsn_list!`, also of an entity that comes later, an entity in a
//! variable, an [`EntityTemplate`] that a scene function was given, or a [`TypeTarget`]; or several of them, as an
//! array or `Vec`. A relation in `@pair` needs `Clone`, since a scene may be spawned more than once; one in
//! `SourcesOf` does not.
//!
//! A scene that is included in another adds its pairs, in the order of the text. If the relation is exclusive or has a
//! key, the later pair replaces the earlier one.
//!
//! # When pairs are inserted
//!
//! After all components of their source, and before the entities of its lists (`Children [..]`) are spawned. A pair
//! that is refused is reported to Bevy's error handler; the rest of the scene is spawned. The report of a [`pair`] has its
//! place in the source code, that of [`SourcesOf`] the entities alone.
//! Whether the ends have the components that the relation [requires](crate::RelationTraits::source) is checked later,
//! as for commands, since the target may be spawned later: see
//! [`check_constraints`](crate::WorldPairExt::check_constraints).
//!
//! For a `#Name` that no entity of the `bsn!` has, Bevy spawns an entity without components.
//!
//! An instance of a [prefab](crate::prefab) gets what the prefab has when the pair is inserted: it must come after the prefab.
//!
//! # Files
//!
//! Bevy 0.20 does not read BSN from files. Scenes that an asset loader makes (`ScenePatch`) may have pairs, and may be
//! included with `:"path"`.

use crate::{
    id::PairId,
    ops::{
        EndCheck, InsertPairError, TypeTarget, insert_by_id, insert_to_type, insert_typed,
        insert_value_by_id, report, to_bevy,
    },
    relation::Relation,
    world::WorldPairExt,
};
use alloc::{boxed::Box, string::ToString, sync::Arc, vec::Vec};
use bevy_ecs::{
    component::Component,
    entity::Entity,
    error::{ContextExt, Result},
    lifecycle::HookContext,
    relationship::{Relationship, RelationshipTarget},
    template::{EntityTemplate, Template, TemplateContext},
    world::{DeferredWorld, World},
};
use bevy_scene::{ResolveContext, ResolvedScene, Scene, SceneFunction};
use core::{marker::PhantomData, mem, panic::Location};

/// A pair in `bsn!`: `@pair(Likes, #Alice)`, `@pair(Eats { grams: 80.0 }, apple)`.
///
/// With several targets it stands for a pair with each: `@pair(Likes, [#Alice, #Bob])`. The [module](self) documentation
/// says when pairs are inserted.
///
/// ```
/// # use bevy_app::{App, TaskPoolPlugin};
/// # use bevy_ecs::prelude::*;
/// # use bevy_scene::prelude::*;
/// use bevy_relations::{prelude::*, scene::pair};
///
/// #[derive(Relation, Clone)]
/// struct Eats {
///     grams: u32,
/// }
///
/// # let mut app = App::new();
/// # app.add_plugins((TaskPoolPlugin::default(), bevy_asset::AssetPlugin::default(), bevy_scene::ScenePlugin, RelationsPlugin));
/// # let world = app.world_mut();
/// let scene = bsn_list! {
///     #Alice
///     @pair(Eats { grams: 80 }, [#Apple, #Pear])
///     --
///     #Apple
///     --
///     #Pear
/// };
/// let [alice, apple, pear] = world.spawn_scene_list(scene)?[..] else { unreachable!() };
/// assert!([apple, pear].iter().all(|&fruit| world.pair_value::<Eats>(alice, fruit).unwrap().grams == 80));
/// # Ok::<(), BevyError>(())
/// ```
#[track_caller]
pub fn pair<R: Relation + Clone, T: SceneTarget>(relation: R, target: T) -> impl Scene {
    scene(move |place, pairs| target.add(relation, place, pairs))
}

/// [`pair`] for any relation: `@pair_by_id(docked_to, #Earth)`. A relation that is spawned in the same scene may be
/// given as a `#Name`. A pair that carries a value gets its default.
///
/// ```
/// # use bevy_app::{App, TaskPoolPlugin};
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{prelude::*, scene::{pair_by_id, pair_value_by_id}};
/// # use bevy_scene::prelude::*;
/// # let mut app = App::new();
/// # app.add_plugins((TaskPoolPlugin::default(), bevy_asset::AssetPlugin::default(), bevy_scene::ScenePlugin, RelationsPlugin));
/// # let world = app.world_mut();
/// let docked_to = world.spawn_relation("DockedTo", RelationTraits::new())?;
/// let owes = world.spawn_relation("Owes", RelationTraits::new().data::<u32>())?;
/// let scene = bsn_list! {
///     #Ship
///     @pair_by_id(docked_to, #Port)
///     @pair_value_by_id(owes, #Port, 500_u32)
///     --
///     #Port
/// };
/// let [ship, port] = world.spawn_scene_list(scene)?[..] else { unreachable!() };
/// assert!(world.has_pair_by_id(ship, (docked_to, port)));
/// assert_eq!(world.pair_value_by_id::<u32>(ship, (owes, port)), Some(&500));
/// # Ok::<(), BevyError>(())
/// ```
#[track_caller]
pub fn pair_by_id(relation: impl Into<EntityTemplate>, target: impl Into<EntityTemplate>) -> impl Scene {
    let pair = (relation.into(), target.into());
    scene(move |place, pairs| {
        pairs.push(place, move |context| {
            let pair = build_id(&pair, context)?;
            Ok(move |world: &mut World, source, ends: EndCheck<'_>| {
                insert_by_id(world, source, pair, None, ends)
            })
        });
    })
}

/// [`pair_by_id`] with a value: `@pair_value_by_id(owes, #Bank, Gold(500))`.
///
/// ```
/// # use bevy_app::{App, TaskPoolPlugin};
/// # use bevy_ecs::prelude::*;
/// # use bevy_scene::prelude::*;
/// # use bevy_relations::{prelude::*, scene::pair_value_by_id};
/// # let mut app = App::new();
/// # app.add_plugins((TaskPoolPlugin::default(), bevy_asset::AssetPlugin::default(), bevy_scene::ScenePlugin, RelationsPlugin));
/// # let world = app.world_mut();
/// let owes = world.spawn_relation("Owes", RelationTraits::new().data::<u32>())?;
/// let bank = world.spawn_empty().id();
/// let ann = world.spawn_scene(bsn! { @pair_value_by_id(owes, bank, 500_u32) })?.id();
/// assert_eq!(world.pair_value_by_id::<u32>(ann, (owes, bank)), Some(&500));
/// # Ok::<(), BevyError>(())
/// ```
#[track_caller]
pub fn pair_value_by_id<V: Clone + Send + Sync + 'static>(
    relation: impl Into<EntityTemplate>,
    target: impl Into<EntityTemplate>,
    value: V,
) -> impl Scene {
    let pair = (relation.into(), target.into());
    scene(move |place, pairs| {
        pairs.push(place, move |context| {
            let (pair, value) = (build_id(&pair, context)?, value.clone());
            Ok(move |world: &mut World, source, ends: EndCheck<'_>| {
                insert_value_by_id(world, source, pair, value, ends)
            })
        });
    })
}

/// What a [`pair`] in a scene can point to: a `#Name`, an [`Entity`], a type ([`TypeTarget`]), or several of them as an
/// array or `Vec`.
///
/// ```
/// # use bevy_app::{App, TaskPoolPlugin};
/// # use bevy_ecs::prelude::*;
/// # use bevy_scene::prelude::*;
/// use bevy_relations::{prelude::*, scene::{SceneTarget, pair}};
///
/// #[derive(Relation, Clone)]
/// struct Guards;
///
/// fn guard(of: impl SceneTarget) -> impl Scene {
///     bsn! { @pair(Guards, of) }
/// }
/// # let mut app = App::new();
/// # app.add_plugins((TaskPoolPlugin::default(), bevy_asset::AssetPlugin::default(), bevy_scene::ScenePlugin, RelationsPlugin));
/// # let world = app.world_mut();
/// let gates = [(); 2].map(|()| world.spawn_empty().id());
/// let knight = world.spawn_scene(guard(gates))?.id();
/// assert!(world.pairs::<Guards>().targets(knight).eq(gates));
/// # Ok::<(), BevyError>(())
/// ```
pub trait SceneTarget: Send + Sync + 'static {
    /// Adds a pair of `relation` with each target.
    #[doc(hidden)]
    fn add<R: Relation + Clone>(self, relation: R, place: CallSite, pairs: &mut PairTemplates);
}

impl SceneTarget for EntityTemplate {
    fn add<R: Relation + Clone>(self, relation: R, place: CallSite, pairs: &mut PairTemplates) {
        pairs.push(place, move |context| {
            let (relation, target) = (relation.clone(), self.build_template(context)?);
            Ok(move |world: &mut World, source, ends: EndCheck<'_>| {
                insert_typed(world, source, relation, target, ends)
            })
        });
    }
}

impl SceneTarget for Entity {
    fn add<R: Relation + Clone>(self, relation: R, place: CallSite, pairs: &mut PairTemplates) {
        EntityTemplate::from(self).add(relation, place, pairs);
    }
}

impl<T: Clone + Send + Sync + 'static> SceneTarget for TypeTarget<T> {
    fn add<R: Relation + Clone>(self, relation: R, place: CallSite, pairs: &mut PairTemplates) {
        pairs.push(place, move |_| {
            let (relation, target) = (relation.clone(), self.clone());
            Ok(move |world: &mut World, source, ends: EndCheck<'_>| {
                insert_to_type(world, source, relation, target, ends)
            })
        });
    }
}

impl<T: SceneTarget, const N: usize> SceneTarget for [T; N] {
    fn add<R: Relation + Clone>(self, relation: R, place: CallSite, pairs: &mut PairTemplates) {
        self.into_iter().for_each(|target| target.add(relation.clone(), place, pairs));
    }
}

impl<T: SceneTarget> SceneTarget for Vec<T> {
    fn add<R: Relation + Clone>(self, relation: R, place: CallSite, pairs: &mut PairTemplates) {
        self.into_iter().for_each(|target| target.add(relation.clone(), place, pairs));
    }
}

/// Where a pair is written.
type CallSite = &'static Location<'static>;

/// Inserts a pair whose target is known on the source.
type InsertFn = Box<dyn FnOnce(&mut World, Entity) -> Result + Send + Sync>;

/// Finds out what a pair points to.
type PairTemplate = Arc<dyn Fn(&mut TemplateContext) -> Result<InsertFn> + Send + Sync>;

/// The pairs of one entity of a scene, in order. One template, since Bevy keeps one of each type.
#[derive(Default)]
#[doc(hidden)]
pub struct PairTemplates(Vec<PairTemplate>);

impl PairTemplates {
    fn push<I>(
        &mut self,
        place: CallSite,
        build: impl Fn(&mut TemplateContext) -> Result<I> + Send + Sync + 'static,
    ) where
        I: FnOnce(&mut World, Entity, EndCheck<'static>) -> Result<(), InsertPairError>
            + Send
            + Sync
            + 'static,
    {
        self.0.push(Arc::new(move |context| {
            let insert = build(context)?;
            Ok(Box::new(move |world, source| {
                let inserted = insert(world, source, EndCheck::Later(Some(place)));
                inserted.map_err(to_bevy).with_context(|| place.to_string())
            }))
        }));
    }
}

impl Template for PairTemplates {
    type Output = PendingPairs;

    fn build_template(&self, context: &mut TemplateContext) -> Result<PendingPairs> {
        self.0.iter().map(|build| build(context)).collect::<Result<_>>().map(PendingPairs)
    }

    fn clone_template(&self) -> Self {
        Self(self.0.clone())
    }
}

/// A scene that adds pairs to the templates of its entity.
#[track_caller]
fn scene(add: impl FnOnce(CallSite, &mut PairTemplates) + Send + Sync + 'static) -> impl Scene {
    let place = Location::caller();
    SceneFunction(move |context: &mut ResolveContext, scene: &mut ResolvedScene| {
        add(place, scene.get_or_insert_template(context));
    })
}

fn build_id(
    (relation, target): &(EntityTemplate, EntityTemplate),
    context: &mut TemplateContext,
) -> Result<PairId> {
    Ok(PairId::new(relation.build_template(context)?, target.build_template(context)?))
}

/// Pairs that are inserted when the components of their entity are complete. Bevy builds all templates before it
/// inserts the first component: these pairs are inserted with the components, and gone when the insertion ends.
#[derive(Component)]
#[component(on_insert = Self::on_insert)]
#[doc(hidden)]
pub struct PendingPairs(Vec<InsertFn>);

impl PendingPairs {
    fn on_insert(mut world: DeferredWorld, context: HookContext) {
        let source = context.entity;
        let Some(mut pending) = world.get_mut::<Self>(source) else { return };
        let insertions = mem::take(&mut pending.0);
        world.commands().queue(move |world: &mut World| {
            if remove::<Self>(world, source) {
                for insert in insertions {
                    let inserted = insert(world, source);
                    report_refusal(world, inserted);
                }
            }
        });
    }
}

/// The sources of an entity, as a list in `bsn!`: `SourcesOf<MountedOn> [ #Gun -- #Radar ]`.
///
/// Each entity of the list is spawned as a source, as those of `Children [..]` are spawned as children, and gets the
/// pair when its components are there. A relation with fields must have a `Default`, or the source says the value:
/// `SourcesOf<MountedOn> [ @pair(MountedOn { socket: 2 }, #Ship) ]`.
///
/// To Bevy this is a [`RelationshipTarget`], so that `queue_spawn_related_scenes::<SourcesOf<MountedOn>>(..)` works
/// too. No entity keeps this component: read the sources with [`Pairs`](crate::Pairs).
///
/// ```
/// # use bevy_app::{App, TaskPoolPlugin};
/// # use bevy_ecs::prelude::*;
/// # use bevy_scene::prelude::*;
/// use bevy_relations::{prelude::*, scene::SourcesOf};
///
/// #[derive(Relation)]
/// struct MountedOn;
///
/// # let mut app = App::new();
/// # app.add_plugins((TaskPoolPlugin::default(), bevy_asset::AssetPlugin::default(), bevy_scene::ScenePlugin, RelationsPlugin));
/// # let world = app.world_mut();
/// let ship = world.spawn_scene(bsn! { SourcesOf<MountedOn> [ #Gun -- #Radar ] })?.id();
/// assert_eq!(world.pairs::<MountedOn>().source_count(ship), 2);
/// assert!(!world.entity(ship).contains::<SourcesOf<MountedOn>>());
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Component)]
#[component(on_insert = Self::on_insert)]
pub struct SourcesOf<R: Relation>(Vec<Entity>, PhantomData<fn() -> R>);

impl<R: Relation> SourcesOf<R> {
    fn on_insert(mut world: DeferredWorld, context: HookContext) {
        world.commands().queue(move |world: &mut World| {
            remove::<Self>(world, context.entity);
        });
    }
}

impl<R: Relation> RelationshipTarget for SourcesOf<R> {
    const LINKED_SPAWN: bool = false;

    type Relationship = SourceOf<R>;
    type Collection = Vec<Entity>;

    fn collection(&self) -> &Vec<Entity> {
        &self.0
    }

    fn collection_mut_risky(&mut self) -> &mut Vec<Entity> {
        &mut self.0
    }

    fn from_collection_risky(collection: Vec<Entity>) -> Self {
        Self(collection, PhantomData)
    }
}

/// An entity of a list of sources, with its target. It becomes a pair when the components of the entity are complete.
#[derive(Component)]
#[component(on_insert = Self::on_insert)]
#[doc(hidden)]
pub struct SourceOf<R: Relation>(Entity, PhantomData<fn() -> R>);

impl<R: Relation> SourceOf<R> {
    fn on_insert(mut world: DeferredWorld, context: HookContext) {
        let source = context.entity;
        let Some(&Self(target, _)) = world.get::<Self>(source) else { return };
        world.commands().queue(move |world: &mut World| {
            if remove::<Self>(world, source) {
                let inserted = insert_default::<R>(world, source, target);
                report_refusal(world, inserted.map_err(to_bevy));
            }
        });
    }
}

impl<R: Relation> Relationship for SourceOf<R> {
    type RelationshipTarget = SourcesOf<R>;

    fn get(&self) -> Entity {
        self.0
    }

    fn from(target: Entity) -> Self {
        Self(target, PhantomData)
    }

    fn set_risky(&mut self, target: Entity) {
        self.0 = target;
    }
}

/// Inserts a pair with its default, unless the source has given it a value.
fn insert_default<R: Relation>(
    world: &mut World,
    source: Entity,
    target: Entity,
) -> Result<(), InsertPairError> {
    if world.pair_value::<R>(source, target).is_some() {
        return Ok(());
    }
    let pair = PairId::new(R::register(world)?, target);
    insert_by_id(world, source, pair, None, EndCheck::Later(None))
}

/// Removes a component that has done its work. False if the entity is gone.
fn remove<C: Component>(world: &mut World, entity: Entity) -> bool {
    world.get_entity_mut(entity).map(|mut entity| entity.remove::<C>().is_despawned()).is_ok_and(|gone| !gone)
}

/// Reports a refusal before the next pair is inserted.
fn report_refusal(world: &mut World, inserted: Result) {
    if let Err(error) = inserted {
        report(world.commands(), error);
        world.flush();
    }
}
