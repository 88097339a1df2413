//! What a save says.

use alloc::{boxed::Box, string::String, vec::Vec};
use bevy_ecs::{component::Component, reflect::ReflectComponent};
use bevy_reflect::{PartialReflect, Reflect};

/// The number of the form in which saves are written.
pub(super) const FORMAT: u32 = 1;

/// Identifies an entity in saves, from one run of the program to the next.
/// [`to_saved`](crate::snapshot::PairSnapshot::to_saved) numbers entities that have none, without inserting the
/// component; [`load`](SavedPairs::load) and [`insert_save_ids`](crate::snapshot::PairSnapshot::insert_save_ids) insert it.
///
/// No two entities may have the same. Clones get none.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::snapshot::{PairFilter, PairSnapshot, SaveId};
///
/// let mut world = World::new();
/// let parent = world.spawn(SaveId(7)).id();
/// world.spawn((SaveId(8), ChildOf(parent)));
/// let child = world.spawn(ChildOf(parent)).id();
/// PairSnapshot::take(&mut world, PairFilter::all())?.insert_save_ids(&mut world)?;
/// assert_eq!(world.get::<SaveId>(parent), Some(&SaveId(7)));
/// assert!(world.entity(child).contains::<SaveId>());
/// # Ok::<(), bevy_ecs::error::BevyError>(())
/// ```
#[derive(Component, Reflect, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[component(immutable, clone_behavior = Ignore)]
#[reflect(Component, Clone, PartialEq, Hash, Debug)]
pub struct SaveId(pub u64);

/// A snapshot of pairs in which nothing refers to a world: entities are numbers, relations are names, values are
/// reflected.
///
/// [`PairSnapshot::to_saved`](crate::snapshot::PairSnapshot::to_saved) makes it,
/// [`SavedPairsSerializer`](super::SavedPairsSerializer) writes it with any format of serde,
/// [`SavedPairsDeserializer`](super::SavedPairsDeserializer) reads it, and [`load`](Self::load) loads it into a world.
///
/// In the book: [Saves and scenes](crate::book::saves).
///
/// | field of the file | meaning |
/// |---|---|
/// | `format` | the number of this form: 1 |
/// | `version` | that of the program: [`set_save_version`](super::WorldSaveExt::set_save_version) |
/// | `all_relations` | the relations that are not listed had no pairs of these entities |
/// | `entities` | a list: `Entity(id: .., name: ..)`, `Type("..")`, `Relation("..")` or `Prefab("..")` |
/// | `sources` | numbers of the entities whose pairs these are, if it is not all |
/// | `relations` | a list of `name`, `pairs`, and `orders` of sources |
///
/// A pair is a tuple of source, target, and a value if there is one, as a map of its type path to it. Entities are
/// named by their number in the list, also inside of values. The pairs of a symmetric relation are listed in both
/// directions, with the value in one.
///
/// ```
/// # use bevy_app::prelude::*;
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{prelude::*, snapshot::*};
/// # let mut app = App::new();
/// # app.add_plugins(RelationsPlugin);
/// # let world = app.world_mut();
/// let likes = world.spawn_relation("Likes", RelationTraits::new())?;
/// let ann = world.spawn((Name::new("Ann"), SaveId(1))).id();
/// let ben = world.spawn((Name::new("Ben"), SaveId(2))).id();
/// world.insert_pair_by_id(ann, (likes, ben))?;
/// let saved: SavedPairs = PairSnapshot::take(world, PairFilter::all())?.to_saved(world)?;
///
/// world.clear_pairs();
/// let LoadedPairs { entities, spawned, applied, .. } = saved.load(world)?;
/// assert!(entities.contains(&ann) && spawned.is_empty());
/// assert_eq!(applied.inserted, 1);
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Default, Debug)]
pub struct SavedPairs {
    /// The version of the program that wrote it.
    pub version: u32,
    /// What is not listed in `relations` had no pairs of these entities.
    pub all_relations: bool,
    /// What the numbers of entities stand for.
    pub entities: Vec<SavedEntity>,
    /// The entities whose pairs these are; `None` for all that are listed.
    pub sources: Option<Vec<u32>>,
    /// The pairs, relation by relation.
    pub relations: Vec<SavedRelation>,
}

/// An entity of [`SavedPairs`].
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{prelude::*, snapshot::*};
/// # let mut world = World::new();
/// let likes = world.spawn_relation("Likes", RelationTraits::new())?;
/// let [ann, ben] = [("Ann", 1), ("Ben", 2)].map(|(name, id)| world.spawn((Name::new(name), SaveId(id))).id());
/// world.insert_pair_by_id(ann, (likes, ben))?;
/// let saved = PairSnapshot::take(&mut world, PairFilter::all())?.to_saved(&world)?;
/// assert!(saved.entities.contains(&SavedEntity::Entity { id: 1, name: Some("Ann".into()) }));
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize)]
pub enum SavedEntity {
    /// An ordinary entity.
    Entity {
        /// Its [`SaveId`].
        id: u64,
        /// Its `Name`.
        name: Option<String>,
    },
    /// The entity that stands for a type that is no relation, by its path.
    Type(String),
    /// The entity of a relation, by its name.
    Relation(String),
    /// An entity of a prefab that the program makes, by its path.
    Prefab(String),
}

/// The pairs of one relation in [`SavedPairs`].
///
/// ```
/// # use bevy_relations::snapshot::{SavedPairs, SavedRelation};
/// /// For a migration: a relation was renamed.
/// fn rename(saved: &mut SavedPairs) {
///     for SavedRelation { name, .. } in &mut saved.relations {
///         if name == "Owns" {
///             *name = "Carries".into();
///         }
///     }
/// }
/// let owns = SavedRelation { name: "Owns".into(), ..SavedRelation::default() };
/// let mut saved = SavedPairs { relations: vec![owns], ..SavedPairs::default() };
/// rename(&mut saved);
/// assert_eq!(saved.relations[0].name, "Carries");
/// ```
#[derive(Default, Debug)]
pub struct SavedRelation {
    /// The name of the relation: of a type without its path, unless another has the same.
    pub name: String,
    /// Source by source, the targets of each in their order.
    pub pairs: Vec<SavedPair>,
    /// Targets with their sources, where those have an order.
    pub orders: Vec<(u32, Vec<u32>)>,
}

/// A pair of a [`SavedRelation`], with the numbers of its ends.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::snapshot::*;
/// # let mut world = World::new();
/// # let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
/// # let likes = world.spawn_relation("Likes", RelationTraits::new())?;
/// # world.insert_pair_by_id(ann, (likes, ben))?;
/// let saved = PairSnapshot::take(&mut world, PairFilter::none().relation_id(likes))?.to_saved(&mut world)?;
/// let likes = &saved.relations[0];
/// assert_eq!((likes.name.as_str(), likes.pairs.len()), ("Likes", 1));
/// assert!(likes.pairs[0].source != likes.pairs[0].target && likes.pairs[0].value.is_none());
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Debug)]
pub struct SavedPair {
    /// The source.
    pub source: u32,
    /// The target.
    pub target: u32,
    /// The value; without one, the pair gets the default of its type, if pairs of the relation have values. An entity in it with the index `n` stands for the `n`th of the save, and `Entity::PLACEHOLDER` for itself.
    pub value: Option<Box<dyn PartialReflect>>,
}
