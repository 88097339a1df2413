//! Where the pairs of a relation are, beside the pair store.

use super::{RelationName, RelationTraits, traits::merge};
#[cfg(feature = "bevy_reflect")]
use bevy_reflect::std_traits::ReflectDefault;

/// How the pairs of a relation are kept: `#[relation(storage = "Table")]`.
///
/// The pair store always has every pair; `Table` and `Fragmenting` add components that Bevy keeps in its tables. No storage changes
/// which rows a query returns, which events are triggered or what a rule does; the order of rows may differ.
///
/// In the book: [Performance](crate::book::performance).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::prelude::*;
///
/// #[derive(Relation)]
/// #[relation(exclusive, storage = "Table")]
/// struct MemberOf;
///
/// # let mut world = World::new();
/// let [reds, blues] = [(); 2].map(|()| world.spawn_empty().id());
/// let bob = world.spawn(Pair(MemberOf, reds)).id();
/// world.spawn_empty();
/// let mut members = world.query_filtered::<Entity, Related<MemberOf>>();
/// assert_eq!(members.iter(&world).collect::<Vec<_>>(), [bob]);
/// world.insert_pair(bob, MemberOf, blues)?;
/// assert!(world.has_pair::<MemberOf>(bob, blues));
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(
    feature = "bevy_reflect",
    derive(bevy_reflect::Reflect),
    reflect(Clone, PartialEq, Hash, Debug, Default)
)]
#[non_exhaustive]
pub enum RelationStorage {
    /// In the pair store alone. The default: inserting and removing pairs moves no entity between tables.
    #[default]
    Store,
    /// In the pair store; and each source has a hidden component with its first target. Choose it where many queries ask whether
    /// entities have a target, or which one, and pairs seldom change: [`Related`](crate::query::Related),
    /// [`Unrelated`](crate::query::Unrelated) and [`Target`](crate::query::Target), and `(R, *)` and `!(R, *)` in expressions, then
    /// look at whole tables instead of at each entity.
    ///
    /// The first pair of a source moves it to another table, and so does the removal of its last pair, which costs what
    /// inserting or removing a component does. Another target of an exclusive relation is written in place. Until such a move is
    /// done, as in observers of the pair, queries look into the store.
    ///
    /// A Bevy relationship is a component anyway and takes no storage.
    Table,
    /// As `Table`; and all sources of a target have a hidden component of their own, so that Bevy keeps them in tables of their own.
    /// Choose it for few targets with many sources each (factions, teams, states): `(R, target)` in an expression and
    /// [`PairQuery::of_target`](crate::PairQuery::of_target) then read whole tables. Data from above, as
    /// [`Inherited`](crate::query::Inherited), [`Up`](crate::query::Up), [`SelfUp`](crate::query::SelfUp) and `C(self|up R)` in
    /// expressions read it, is searched once for each table.
    ///
    /// Each first source of a target moves to a table of its own, as does a source that gets another target: that takes two
    /// moves. The component of a target that has lost its last source is reused for another target. If the sources of a relation
    /// come to lie in more than [1,024 archetypes](Self::MAX_ARCHETYPES), the components for targets are used no more: that is
    /// reported as a warning, and the relation goes on as with `Table`.
    ///
    /// For a relation of this crate, such as [`IsA`](super::IsA), the app chooses it before the first pair:
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{prelude::*, relation::RelationStorage};
    /// # let mut world = World::new();
    /// let is_a = world.entity_of::<IsA>();
    /// world.set_traits(is_a, RelationTraits::new().storage(RelationStorage::Fragmenting))?;
    /// # assert!(world.traits_of(is_a).unwrap().names().contains(&"storage"));
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// [Ordered](RelationTraits::ordered) sources are read in their order, and so from the store.
    Fragmenting,
}

impl RelationStorage {
    /// The sources of a relation with [`Fragmenting`](Self::Fragmenting) storage may lie in this many archetypes; with more, it goes
    /// on as with [`Table`](Self::Table). Other components of the sources add archetypes, which count, too.
    pub const MAX_ARCHETYPES: usize = 1_024;
}

/// The sources of a relation with `storage = "Fragmenting"` lie in more than
/// [`MAX_ARCHETYPES`](RelationStorage::MAX_ARCHETYPES) archetypes: it goes on as with `storage = "Table"`. A warning for Bevy's
/// error handler.
///
/// In the book: [Performance](crate::book::performance).
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "the sources of `{relation}` lie in more than {} archetypes: its `storage = \"Fragmenting\"` goes on as \"Table\"",
    RelationStorage::MAX_ARCHETYPES
)]
#[non_exhaustive]
pub struct TooManyArchetypes {
    /// The relation.
    pub relation: RelationName,
}

impl RelationTraits {
    /// How the pairs are kept. As every trait, it is chosen before the first pair.
    ///
    /// ```
    /// # use bevy_relations::{prelude::*, relation::RelationStorage};
    /// let traits = RelationTraits::new().exclusive().storage(RelationStorage::Table);
    /// let read: RelationTraits = r#"exclusive, storage = "Table""#.parse()?;
    /// assert_eq!(traits, read);
    /// # Ok::<(), bevy_ecs::error::BevyError>(())
    /// ```
    #[must_use]
    pub fn storage(mut self, storage: RelationStorage) -> Self {
        merge(&mut self.storage, Some(storage), "storage", &mut self.conflict);
        self
    }

    /// Whether sources have a component with their first target.
    pub(crate) fn is_in_table(&self) -> bool {
        matches!(self.storage, Some(RelationStorage::Table | RelationStorage::Fragmenting))
    }

    /// Whether the sources of each target have a component of their own.
    pub(crate) fn is_fragmenting(&self) -> bool {
        self.storage == Some(RelationStorage::Fragmenting)
    }

    /// Whether a storage was chosen.
    pub(crate) fn names_storage(&self) -> bool {
        self.storage.is_some()
    }
}
