//! Why a save was not made or not loaded.

use crate::{
    ops::InsertPairError,
    relation::{EntityName, RelationName, TraitsError},
};
use alloc::{boxed::Box, string::String};
use core::fmt;
use thiserror::Error;

/// Why [`to_saved`](crate::snapshot::PairSnapshot::to_saved) cannot save a snapshot.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::snapshot::*;
/// # let mut world = World::new();
/// # let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
/// let nameless = world.spawn_empty().id();
/// world.insert_pair_by_id(ann, (nameless, ben))?;
/// let error = PairSnapshot::take(&mut world, PairFilter::all())?.to_saved(&mut world).unwrap_err();
/// assert!(matches!(error, SaveError::Unnamed { .. }), "{error}");
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum SaveError {
    /// The snapshot was taken of another world.
    #[error("the snapshot was taken of another world")]
    OtherWorld,
    /// A run-time relation has no name.
    #[error("the relation {relation} has no name by which it could be found when the save is loaded")]
    Unnamed {
        /// The relation.
        relation: RelationName,
    },
    /// Another relation has the same name. The type paths of relations are used if these are registered.
    #[error("several relations are called {relation}: register their types, or give them other names")]
    Ambiguous {
        /// The relation.
        relation: RelationName,
    },
    /// The type of a value, or one that an entity stands for, is not registered; or a dynamic value stands for no type.
    #[error(
        "cannot save {relation}: `{type_name}` is not registered; derive `Reflect`, and call `register_type`"
    )]
    NotReflected {
        /// The relation of the pair.
        relation: RelationName,
        /// The type.
        type_name: String,
    },
    /// A value has entities in it, and its type does not say how to replace them by others.
    #[error("cannot save {relation}: `{type_name}` has entities in it, and lacks `#[reflect(MapEntities)]`")]
    EntitiesNotMapped {
        /// The relation of the pair.
        relation: RelationName,
        /// The type of the value.
        type_name: String,
    },
    /// A pair has an entity of a prefab as its target that could not be found when the save is loaded.
    #[error(
        "cannot save a pair with {entity}, which belongs to a prefab: give it a `SaveId`, or names by which no other has its path"
    )]
    UnnamedPrefab {
        /// The entity.
        entity: EntityName,
    },
    /// Two entities have the same [`SaveId`](super::SaveId).
    #[error("{first} and {second} have the same `SaveId`: {id}")]
    SameId {
        /// One of them.
        first: EntityName,
        /// The other.
        second: EntityName,
        /// The number.
        id: u64,
    },
}

/// Where something is in a save, in a [`LoadError`].
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::snapshot::*;
/// # let mut world = World::new();
/// # let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
/// let likes = world.spawn_relation("Likes", RelationTraits::new())?;
/// world.insert_pair_by_id(ann, (likes, ben))?;
/// let mut saved = PairSnapshot::take(&mut world, PairFilter::all())?.to_saved(&mut world)?;
/// // A file that was damaged.
/// saved.relations[0].pairs[0].target = 7;
/// let Err(LoadError::NoSuchEntity { place, .. }) = saved.load(&mut world) else { panic!() };
/// assert!(place.to_string().contains("Likes"), "{place}");
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SavedPlace {
    /// The relation, as the save calls it.
    pub relation: String,
    /// The number of the pair, or of the order, in its list.
    pub entry: usize,
    /// Which part of it: `source`, `target`, `value`, `orders`.
    pub field: &'static str,
}

impl fmt::Display for SavedPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { relation, entry, field } = self;
        match *field {
            "orders" => write!(f, "relation `{relation}`, order {entry}"),
            _ => write!(f, "relation `{relation}`, pair {entry}, {field}"),
        }
    }
}

/// Why [`load`](super::SavedPairs::load) refused a save. No pair has changed; entities that were spawned for it were despawned again.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::snapshot::*;
/// # let mut world = World::new();
/// # let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
/// let likes = world.spawn_relation("Likes", RelationTraits::new())?;
/// world.insert_pair_by_id(ann, (likes, ben))?;
/// let saved = PairSnapshot::take(&mut world, PairFilter::all())?.to_saved(&mut world)?;
/// let error = saved.load(&mut World::new()).unwrap_err();
/// assert!(matches!(error, LoadError::UnknownRelation { relation } if relation == "Likes"));
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A later version of the program wrote it.
    #[error("the save has version {found}, and this program reads up to {supported}")]
    TooNew {
        /// That of the save.
        found: u32,
        /// That of the program.
        supported: u32,
    },
    /// It could not be brought to the present version.
    #[error("the save has version {found}, and cannot be migrated: {reason}")]
    Migration {
        /// The version of the save.
        found: u32,
        /// What the migration says.
        reason: String,
    },
    /// No relation of that name is in the world: register relation types before loading.
    #[error(
        "the save has pairs of `{relation}`, and no relation of that name is registered{}",
        if relation.contains('.') { "; if it is the path of a slot, make the prefab before loading" } else { "" }
    )]
    UnknownRelation {
        /// The name.
        relation: String,
    },
    /// Several relations have that name.
    #[error("the save has pairs of `{relation}`, and several relations are called so")]
    AmbiguousRelation {
        /// The name.
        relation: String,
    },
    /// The save lists a relation twice.
    #[error("the save lists the relation `{relation}` twice")]
    RelationTwice {
        /// The name.
        relation: String,
    },
    /// A relation that is declared `transient` is not saved.
    #[error("the save has pairs of `{relation}`, which is declared `transient`")]
    Transient {
        /// The name.
        relation: String,
    },
    /// No type of that path is registered.
    #[error("entity {entity} of the save stands for the type `{path}`, which is not registered")]
    UnknownType {
        /// The number of the entity.
        entity: usize,
        /// The path.
        path: String,
    },
    /// Two entities of the save, or of the world, have one [`SaveId`](super::SaveId).
    #[error("two entities have the id {id}")]
    SameId {
        /// The id.
        id: u64,
    },
    /// Two entities of the save stand for one entity of the world.
    #[error("the entities {first} and {second} of the save are the same in the world")]
    SameEntity {
        /// The number of one.
        first: usize,
        /// The number of the other.
        second: usize,
    },
    /// A number stands for no entity of the save.
    #[error("{place}: there is no entity {entity}; the save has {count}")]
    NoSuchEntity {
        /// Where.
        place: SavedPlace,
        /// The number.
        entity: u32,
        /// How many there are.
        count: usize,
    },
    /// No prefab of the world, and nothing below one, is at that path, or several are. Make the prefabs before loading.
    #[error(
        "entity {entity} of the save is the prefab `{path}`, or a part of one, and the world has {count} at that path; make \
         each prefab once, before loading"
    )]
    Prefab {
        /// The number of the entity.
        entity: usize,
        /// Its path.
        path: String,
        /// How many have it.
        count: usize,
    },
    /// A number in `sources` stands for no entity of the save.
    #[error("sources: there is no entity {entity}; the save has {count}")]
    NoSuchSource {
        /// The number.
        entity: u32,
        /// How many there are.
        count: usize,
    },
    /// The save says that only the pairs of some sources are in it, and this pair has another.
    #[error("{place}: entity {entity} is not among the `sources` of the save")]
    NotASource {
        /// Where.
        place: SavedPlace,
        /// The number of the source.
        entity: u32,
    },
    /// A pair is listed twice.
    #[error("{place}: the pair is the same as pair {first}")]
    PairTwice {
        /// The second.
        place: SavedPlace,
        /// The first.
        first: usize,
    },
    /// Both directions of a symmetric pair have a value.
    #[error("{place}: the other direction of the pair, pair {first}, has a value already")]
    ValueTwice {
        /// The second.
        place: SavedPlace,
        /// The first.
        first: usize,
    },
    /// An order names a source twice, or one that has no such pair.
    #[error("{place}: entity {source_number} is listed twice, or has no such pair")]
    Order {
        /// Where.
        place: SavedPlace,
        /// The number of the source.
        source_number: u32,
    },
    /// A value does not fit its type, or a type is not registered. Or pairs with a type have values, and the type is not known
    /// in the world yet: call [`entity_of`](crate::WorldPairExt::entity_of) with it before loading.
    #[error("{place}: {reason}")]
    Value {
        /// Where.
        place: SavedPlace,
        /// What is wrong.
        reason: String,
    },
    /// A pair may not be inserted.
    #[error("{}: {error}", Where(place))]
    Refused {
        /// Where, unless it is a companion that may not be there.
        place: Option<SavedPlace>,
        /// Why.
        error: Box<InsertPairError>,
    },
    /// A relation could not be used.
    #[error(transparent)]
    Traits(#[from] TraitsError),
}

struct Where<'a>(&'a Option<SavedPlace>);

impl fmt::Display for Where<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(SavedPlace { relation, entry, .. }) => write!(f, "relation `{relation}`, pair {entry}"),
            None => f.write_str("a pair that comes with others"),
        }
    }
}
