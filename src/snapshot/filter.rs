//! Which pairs belong to a snapshot.

use super::{error::SnapshotError, pairs::key};
use crate::{
    fetch,
    id::RelationId,
    ops::{entity_of_type, relation_id_of},
    relation::{Relation, TypeRef},
    store::PairStore,
};
use alloc::vec::Vec;
use bevy_ecs::{entity::Entity, world::World};

/// Which pairs a [`PairSnapshot`](super::PairSnapshot) holds.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{prelude::*, snapshot::{PairFilter, PairSnapshot}};
/// # #[derive(Relation)] struct Carries;
/// # #[derive(Relation)] struct Wields;
/// # let mut world = World::new();
/// # let hero = world.spawn_empty().id();
/// // Every pair of every relation that is not declared `transient`.
/// let filter = PairFilter::all();
/// // All but one.
/// let filter = PairFilter::all().without::<Wields>();
/// // Two relations, of one entity.
/// let filter = PairFilter::none().relation::<Carries>().relation::<Wields>().sources([hero]);
/// // By the entities of relations.
/// let likes = world.spawn_relation("Likes", RelationTraits::new())?;
/// let filter = PairFilter::none().relation_id(likes);
/// let filter = PairFilter::all().without_id(likes);
/// # let ship = world.spawn(Pair(Carries, hero)).id();
/// # world.insert_pair_by_id(ship, (likes, hero))?;
/// # assert_eq!(PairSnapshot::take(&mut world, filter)?.len(), 1);
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct PairFilter {
    /// `None` for all.
    relations: Option<Vec<NamedRelation>>,
    without: Vec<NamedRelation>,
    /// `None` for all.
    sources: Option<Vec<Entity>>,
}

/// A relation that a filter names.
#[derive(Clone, Debug)]
enum NamedRelation {
    Type(TypeRef),
    Entity(Entity),
}

impl NamedRelation {
    /// The relation of this world, which is registered if it is not yet.
    fn resolve(&self, world: &mut World) -> Result<RelationId, SnapshotError> {
        self.check_alive(world)?;
        let entity = match self {
            Self::Type(named) => match named.register {
                Some(register) => register(world)?,
                None => entity_of_type(world, *named),
            },
            Self::Entity(entity) => *entity,
        };
        Ok(relation_id_of(world, entity)?)
    }

    /// The relation, if it is one by now: what is left out need not be.
    fn find(&self, store: &PairStore) -> Option<RelationId> {
        match self {
            Self::Type(named) => store.registry().of_type_id(named.id),
            Self::Entity(entity) => store.registry().of_entity(*entity),
        }
    }

    fn check_alive(&self, world: &World) -> Result<(), SnapshotError> {
        match *self {
            Self::Entity(relation) if !world.entities().contains_spawned(relation) => {
                Err(SnapshotError::DeadRelation { relation })
            }
            Self::Type(_) | Self::Entity(_) => Ok(()),
        }
    }
}

impl PairFilter {
    /// Every pair of every relation that is not declared `transient`, including `ChildOf` and adopted relationships.
    /// When the snapshot is [updated](super::PairSnapshot::update), relations that were registered since are included
    /// as well.
    pub fn all() -> Self {
        Self::default()
    }

    /// No pairs, until relations are added by [`relation`](Self::relation) and [`relation_id`](Self::relation_id).
    pub fn none() -> Self {
        Self { relations: Some(Vec::new()), ..Self::default() }
    }

    /// Adds the pairs of relation type `R`.
    #[must_use]
    pub fn relation<R: Relation>(self) -> Self {
        self.with(NamedRelation::Type(TypeRef::relation::<R>()))
    }

    /// Adds the pairs of any relation, by its entity.
    #[must_use]
    pub fn relation_id(self, relation: Entity) -> Self {
        self.with(NamedRelation::Entity(relation))
    }

    /// Leaves out the pairs of relation type `R`, whatever else is named. Applying the snapshot leaves them as they are. `R` need not
    /// be registered, and this does not register it.
    ///
    /// A save of a snapshot of [`all`](Self::all) without some relations lists the others, also those without pairs, so that
    /// loading removes pairs that were inserted since. A relation without pairs is left alone if it has no unique name in the
    /// world of the snapshot or in the one that loads the save.
    #[must_use]
    pub fn without<R: Relation>(mut self) -> Self {
        self.without.push(NamedRelation::Type(TypeRef::relation::<R>()));
        self
    }

    /// Leaves out the pairs of any relation, by its entity.
    #[must_use]
    pub fn without_id(mut self, relation: Entity) -> Self {
        self.without.push(NamedRelation::Entity(relation));
        self
    }

    /// Restricts the snapshot to the pairs whose source is one of these. Applying it leaves other pairs as they are.
    #[must_use]
    pub fn sources(mut self, sources: impl IntoIterator<Item = Entity>) -> Self {
        let mut sources: Vec<Entity> = sources.into_iter().collect();
        sources.sort_unstable_by_key(|&source| key(source));
        sources.dedup();
        self.sources = Some(sources);
        self
    }

    fn with(mut self, named: NamedRelation) -> Self {
        self.relations.get_or_insert_default().push(named);
        self
    }

    /// The sources, in order; `None` for all.
    pub(super) fn chosen(&self) -> Option<&[Entity]> {
        self.sources.as_deref()
    }

    /// Whether it names no relations, neither to be taken nor to be left out.
    #[cfg(feature = "serialize")]
    pub(super) fn is_all(&self) -> bool {
        self.relations.is_none() && self.without.is_empty()
    }

    /// Whether it names the relations that are to be taken.
    #[cfg(feature = "serialize")]
    pub(super) fn names_relations(&self) -> bool {
        self.relations.is_some()
    }

    /// The relations of this world, each once.
    ///
    /// # Errors
    /// If one of those that are named is transient, dead, or cannot be registered.
    pub(super) fn resolve(&self, world: &mut World, ids: &mut Vec<RelationId>) -> Result<(), SnapshotError> {
        ids.clear();
        for named in self.relations.iter().flatten() {
            ids.push(named.resolve(world)?);
        }
        for named in &self.without {
            named.check_alive(world)?;
        }
        let Some(store) = fetch::store(world) else { return Ok(()) };
        match self.relations {
            Some(_) => {
                let mut entries = ids.iter().map(|&id| store.registry().entry(id));
                if let Some(entry) = entries.find(|entry| entry.traits.is_transient()) {
                    return Err(SnapshotError::Transient { relation: entry.name() });
                }
                ids.sort_unstable();
                ids.dedup();
            }
            None => {
                let entry = |id: &RelationId| store.registry().entry(*id);
                let ids_of_all = store.registry().ids();
                ids.extend(ids_of_all.filter(|id| entry(id).has_traits && !entry(id).traits.is_transient()));
            }
        }
        for left_out in self.without.iter().filter_map(|named| named.find(store)) {
            ids.retain(|&id| id != left_out);
        }
        Ok(())
    }
}
