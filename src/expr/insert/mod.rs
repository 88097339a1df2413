//! Expressions that say what an entity is to get.
//!
//! A text is read term by term, and what it names is looked up (`terms`); values are made by reflection (`value`).
//! Pairs are checked with the components that the entity will have by then. Nothing has been changed so far. Then the
//! components and tags are inserted one by one, and the pairs all at once.

mod error;
mod terms;
mod value;

pub use error::InsertExprError;

use crate::{
    id::StoredTag,
    names::{LookupError, WorldNameExt},
    ops::{InsertPairError, NewPair, check_several, ensure_store, insert_several, insert_tag, to_bevy},
    relation::Prefab,
    sealed::Sealed,
};
use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use bevy_ecs::{
    component::ComponentId,
    entity::Entity,
    entity_disabling::Disabled,
    error::{ContextExt, Result as BevyResult},
    hierarchy::ChildOf,
    name::Name,
    system::EntityCommands,
    world::{EntityWorldMut, World},
};
use bevy_relations_syntax::{
    ast::Span,
    error::Diagnostic,
    insertion::{NewTerm, parse_insertion},
    path,
};
use core::panic::Location;
use terms::{Element, InsertComponent, Planned, PlannedTerm, Refusal, make_components, resolve};

/// The traits here are for calling, not for implementing.
/// What to do about names that no entity has, when an expression is inserted.
///
/// In the book: [Expressions](crate::book::expressions).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{expr::{UnknownNames, WorldExprExt}, prelude::*};
///
/// let mut world = World::new();
/// let ship = world.spawn_empty().id();
/// assert!(world.insert_expr_with(ship, "Pirate", UnknownNames::Refuse).is_err());
/// world.insert_expr_with(ship, "Pirate", UnknownNames::Spawn)?;
/// assert!(world.has_tag(ship, world.lookup("Pirate")?));
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UnknownNames {
    /// They are errors. The default.
    #[default]
    Refuse,
    /// An entity with the [`Name`] is spawned for each, together with the entities that are missing on the way of its
    /// path. What reads as a Rust type, or as a field, is an error all the same.
    Spawn,
}

/// Inserting what an expression names, directly on the [`World`].
///
/// In the book: [Expressions](crate::book::expressions).
pub trait WorldExprExt: Sealed {
    /// Inserts the components, tags and pairs that an expression names on an entity: all of them, or none.
    ///
    /// The terms are those of [`PairExpr`](crate::expr::PairExpr), without variables, operators and wildcards:
    ///
    /// | term | inserts |
    /// |---|---|
    /// | `Fighter` | the component, with its default; or the tag |
    /// | `Health(20)`, `Position { x: 1, y: -2.5 }` | the component with this value; fields that are left out get that of the default |
    /// | `(DockedTo, Earth)`, `DockedTo($this, Earth)` | the pair |
    /// | `(Eats { grams: 80 }, apple)`, `(Begin, Position { x: 1 })` | the pair with a value |
    /// | `Equips[Head](helmet)` | the pair of a [keyed relation](crate::relation::KeyedRelation), with the key as its value |
    ///
    /// A component or pair that the entity has already gets the value of the term, and stays as it is if the term has
    /// none. A pair of an exclusive relation replaces the present one. Two terms may name the same component or pair if
    /// only one of them has a value.
    ///
    /// Components are made by reflection: their types must be registered with `#[reflect(Component)]`, and with
    /// `#[reflect(Default)]` unless every field is written. Values are numbers, strings, characters (strings of one),
    /// `true` and `false`, `None`, variants of enums without fields by their names, entities by path or `#bits`, and
    /// structs, tuple structs, tuples and options of such values: in braces with the names of their fields, or in
    /// parentheses. A name in parentheses behind a component is read as a source, as in queries, and only `$this` is
    /// allowed there; to give a name as the value, write braces: `Slot { 0: Head }`. A component that is itself an enum has its variant
    /// in quotes: `Mood("Angry")`. Lists, maps, variants with fields, and the values of Bevy's relationships cannot be written.
    ///
    /// Components and tags are inserted in the order in which they are written, then all pairs at once. Pairs are checked
    /// before anything is inserted, with the components that the entity will have;
    /// [`validate`](crate::Relation::validate) is called then and again when they are inserted.
    ///
    /// ```
    /// use bevy_app::prelude::*;
    /// use bevy_ecs::prelude::*;
    /// use bevy_reflect::prelude::*;
    /// use bevy_relations::{expr::WorldExprExt, prelude::*};
    ///
    /// #[derive(Component, Reflect, Default)]
    /// #[reflect(Component, Default)]
    /// struct Fighter;
    ///
    /// #[derive(Component, Reflect)]
    /// #[reflect(Component)]
    /// struct Health(u32);
    ///
    /// #[derive(Relation)]
    /// #[relation(exclusive)]
    /// struct DockedTo;
    ///
    /// let mut app = App::new();
    /// app.add_plugins(RelationsPlugin).register_type::<Fighter>().register_type::<Health>();
    /// app.register_relation::<DockedTo>();
    /// let world = app.world_mut();
    /// let earth = world.spawn(Name::new("Earth")).id();
    /// let ship = world.spawn_empty().id();
    ///
    /// world.insert_expr(ship, "Fighter, Health(20), (DockedTo, Earth)")?;
    /// assert_eq!(world.get::<Health>(ship).unwrap().0, 20);
    /// assert!(world.has_pair::<DockedTo>(ship, earth));
    ///
    /// let error = world.insert_expr(ship, "Health(3), !Fighter").unwrap_err();
    /// assert_eq!(error.place().unwrap().column(), 12);
    /// assert_eq!(world.get::<Health>(ship).unwrap().0, 20, "nothing has changed");
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// If the entity is dead, or one of the terms cannot be inserted: [`InsertExprError`] contains the place of the first.
    /// Nothing has changed then, except that entities for types may have been spawned, and entities that were named as
    /// relations are registered as such. If observers or hooks of the insertions interfere, by despawning the entity or
    /// a target or by changing what a pair needs, earlier insertions stay.
    ///
    /// # Complexity
    /// O(terms + values), beside the insertions, one for each component, and the lookup of names, see
    /// [`WorldNameExt::lookup_unique`].
    fn insert_expr(&mut self, entity: Entity, expr: &str) -> Result<(), InsertExprError>;

    /// [`insert_expr`](Self::insert_expr), which may spawn entities for names that no entity has.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// use bevy_relations::expr::{UnknownNames, WorldExprExt};
    ///
    /// let mut world = World::new();
    /// let ship = world.spawn_empty().id();
    /// world.insert_expr_with(ship, "Pirate, (Raids, Sol.Earth)", UnknownNames::Spawn)?;
    /// let [raids, earth] = ["Raids", "Sol.Earth"].map(|name| world.lookup(name).unwrap());
    /// assert!(world.has_pair_by_id(ship, (raids, earth)));
    /// assert!(world.has_tag(ship, world.lookup("Pirate").unwrap()));
    /// # Ok::<(), BevyError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`insert_expr`](Self::insert_expr). Entities that were spawned are despawned again if a pair with one of them is refused.
    fn insert_expr_with(
        &mut self,
        entity: Entity,
        expr: &str,
        unknown: UnknownNames,
    ) -> Result<(), InsertExprError>;
}

impl WorldExprExt for World {
    fn insert_expr(&mut self, entity: Entity, expr: &str) -> Result<(), InsertExprError> {
        insert(self, entity, expr, UnknownNames::Refuse)
    }

    fn insert_expr_with(
        &mut self,
        entity: Entity,
        expr: &str,
        unknown: UnknownNames,
    ) -> Result<(), InsertExprError> {
        insert(self, entity, expr, unknown)
    }
}

/// Inserting what an expression names on one entity: see [`WorldExprExt::insert_expr`].
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations::expr::{EntityWorldMutExprExt, UnknownNames};
/// # #[derive(Relation)]
/// # struct Guards;
/// # let mut world = World::new();
/// # world.register_relation::<Guards>()?;
/// let gate = world.spawn(Name::new("Gate")).id();
/// let mut knight = world.spawn_empty();
/// knight.insert_expr("(Guards, Gate)")?.insert_expr_with("Brave", UnknownNames::Spawn)?;
/// let knight = knight.id();
/// assert!(world.has_pair::<Guards>(knight, gate) && world.has_tag(knight, world.lookup("Brave")?));
/// # Ok::<(), BevyError>(())
/// ```
pub trait EntityWorldMutExprExt: Sealed + Sized {
    /// See [`WorldExprExt::insert_expr`].
    ///
    /// # Errors
    /// As for [`WorldExprExt::insert_expr`].
    fn insert_expr(&mut self, expr: &str) -> Result<&mut Self, InsertExprError>;

    /// See [`WorldExprExt::insert_expr_with`].
    ///
    /// # Errors
    /// As for [`WorldExprExt::insert_expr_with`].
    fn insert_expr_with(&mut self, expr: &str, unknown: UnknownNames) -> Result<&mut Self, InsertExprError>;
}

impl EntityWorldMutExprExt for EntityWorldMut<'_> {
    fn insert_expr(&mut self, expr: &str) -> Result<&mut Self, InsertExprError> {
        self.insert_expr_with(expr, UnknownNames::Refuse)
    }

    fn insert_expr_with(&mut self, expr: &str, unknown: UnknownNames) -> Result<&mut Self, InsertExprError> {
        let entity = self.id();
        self.world_scope(|world| insert(world, entity, expr, unknown))?;
        Ok(self)
    }
}

/// Inserting what an expression names on one entity, deferred.
///
/// What is refused when the commands are applied goes to Bevy's error handler, with severity `Error` and the place in
/// the source where the command was queued.
pub trait EntityCommandsExprExt: Sealed {
    /// See [`WorldExprExt::insert_expr`].
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{expr::EntityCommandsExprExt, prelude::*};
    /// # #[derive(Relation)]
    /// # struct Guards;
    /// fn station(mut commands: Commands) {
    ///     commands.spawn(Name::new("Knight")).insert_expr("(Guards, Gate)");
    /// }
    /// # let mut world = World::new();
    /// # world.register_relation::<Guards>().unwrap();
    /// # let gate = world.spawn(Name::new("Gate")).id();
    /// # world.run_system_cached(station).unwrap();
    /// # assert!(world.has_pair::<Guards>(world.lookup("Knight").unwrap(), gate));
    /// ```
    #[track_caller]
    fn insert_expr(&mut self, expr: impl Into<String>) -> &mut Self;

    /// See [`WorldExprExt::insert_expr_with`].
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::expr::{EntityCommandsExprExt, UnknownNames};
    /// # let mut world = World::new();
    /// # let ship = world.spawn_empty().id();
    /// world.commands().entity(ship).insert_expr_with("Pirate", UnknownNames::Spawn);
    /// world.flush();
    /// assert!(world.has_tag(ship, world.lookup("Pirate")?));
    /// # Ok::<(), BevyError>(())
    /// ```
    #[track_caller]
    fn insert_expr_with(&mut self, expr: impl Into<String>, unknown: UnknownNames) -> &mut Self;
}

impl EntityCommandsExprExt for EntityCommands<'_> {
    fn insert_expr(&mut self, expr: impl Into<String>) -> &mut Self {
        self.insert_expr_with(expr, UnknownNames::Refuse)
    }

    fn insert_expr_with(&mut self, expr: impl Into<String>, unknown: UnknownNames) -> &mut Self {
        let (entity, expr, place) = (self.id(), expr.into(), Location::caller());
        self.commands_mut().queue(move |world: &mut World| -> BevyResult {
            insert(world, entity, &expr, unknown).map_err(to_bevy).with_context(|| place.to_string())
        });
        self
    }
}

fn insert(
    world: &mut World,
    entity: Entity,
    text: &str,
    unknown: UnknownNames,
) -> Result<(), InsertExprError> {
    if !world.entities().contains_spawned(entity) {
        return Err(InsertExprError::dead(world, entity));
    }
    let mut terms: Vec<NewTerm> = Vec::new();
    let mut refusal = None;
    for term in parse_insertion(text)? {
        match term {
            Ok(term) => terms.push(term),
            Err(fault) => {
                refusal = Some(Refusal::Text(fault));
                break;
            }
        }
    }
    ensure_store(world);
    // Both are known by their names, whether or not an entity has them yet.
    world.register_component::<Prefab>();
    world.register_component::<Disabled>();
    // Each stage looks at what stands before the first term that an earlier one has refused.
    let (mut planned, other) = resolve(world, entity, &terms, unknown == UnknownNames::Spawn);
    refusal = other.or(refusal);
    let (promised, other) = make_components(world, entity, &mut planned);
    refusal = other.or(refusal);
    if let Err(other) = check_pairs(world, entity, &planned, &promised) {
        refusal = Some(other);
    }
    let inserted = match refusal {
        Some(refusal) => Err(refusal),
        None => insert_planned(world, entity, planned, &promised),
    };
    inserted.map_err(|refusal| InsertExprError::new(world, entity, text, refusal))
}

/// Checks the pairs of entities that are there.
fn check_pairs(
    world: &mut World,
    entity: Entity,
    planned: &[PlannedTerm<'_>],
    promised: &[ComponentId],
) -> Result<(), Refusal> {
    for (at, tag) in tags(planned) {
        if !world.entities().contains_spawned(tag) {
            return Err(Refusal::Text(Diagnostic::rule(at, "the tag is not alive")));
        }
    }
    let (places, mut pairs) = pairs_of(world, planned)?;
    let checked = check_several(world, entity, &mut pairs, promised);
    checked.map_err(|(number, error)| refused_pair(&places, number, error))
}

fn tags<'a>(planned: &'a [PlannedTerm<'_>]) -> impl Iterator<Item = (Span, Entity)> + 'a {
    planned.iter().filter_map(|term| match &term.planned {
        Planned::Tag(tag) => Some((term.span, tag.entity()?)),
        _ => None,
    })
}

/// The pairs of entities that are there, and where they stand.
fn pairs_of(world: &World, planned: &[PlannedTerm<'_>]) -> Result<(Vec<Span>, Vec<NewPair>), Refusal> {
    let (mut places, mut pairs) = (Vec::new(), Vec::new());
    for term in planned {
        if let Planned::Pair(pair) = &term.planned
            && let Some(pair) = pair.to_insert(world)?
        {
            places.push(term.span);
            pairs.push(pair);
        }
    }
    Ok((places, pairs))
}

fn refused_pair(places: &[Span], number: usize, error: InsertPairError) -> Refusal {
    Refusal::Pair(places.get(number).copied().unwrap_or(Span::NOWHERE), error)
}

/// Inserts what was found to be right.
fn insert_planned(
    world: &mut World,
    entity: Entity,
    mut planned: Vec<PlannedTerm<'_>>,
    promised: &[ComponentId],
) -> Result<(), Refusal> {
    let mut spawned = Vec::new();
    if let Err(refusal) = spawn_names(world, &mut planned, &mut spawned).and_then(|()| {
        if spawned.is_empty() { Ok(()) } else { check_pairs(world, entity, &planned, promised) }
    }) {
        for entity in spawned.into_iter().rev() {
            // An observer may have despawned it.
            let _ = world.try_despawn(entity);
        }
        return Err(refusal);
    }
    for PlannedTerm { span, planned } in &mut planned {
        let Ok(mut target) = world.get_entity_mut(entity) else { return Err(Refusal::Despawned) };
        match planned {
            Planned::Component(component) => {
                let Some(made) = &component.made else { continue };
                if !made.replaces && target.contains_id(made.id) {
                    continue;
                }
                match &made.how {
                    InsertComponent::IsThere => {}
                    InsertComponent::Marker(insert) => insert(&mut target),
                    InsertComponent::Reflected(reflect, types, value) => {
                        reflect.insert(&mut target, value.as_partial_reflect(), types);
                    }
                }
            }
            Planned::Tag(tag) => {
                let Some(tag) = tag.entity() else { continue };
                let inserted = insert_tag(world, StoredTag { source: entity, tag });
                inserted.map_err(|error| Refusal::Pair(*span, error))?;
            }
            Planned::Pair(_) | Planned::Repeated => {}
        }
    }
    if !world.entities().contains_spawned(entity) {
        return Err(Refusal::Despawned);
    }
    let (places, mut pairs) = pairs_of(world, &planned)?;
    let inserted = insert_several(world, entity, &mut pairs);
    inserted.map_err(|(number, error)| refused_pair(&places, number, error))
}

/// Spawns the entities that are named and are not there, and lists them.
fn spawn_names(
    world: &mut World,
    planned: &mut [PlannedTerm<'_>],
    spawned: &mut Vec<Entity>,
) -> Result<(), Refusal> {
    for PlannedTerm { span, planned } in planned {
        let elements = match planned {
            Planned::Tag(tag) => [Some(tag), None],
            Planned::Pair(pair) => [Some(&mut pair.relation), Some(&mut pair.target)],
            Planned::Component(_) | Planned::Repeated => [None, None],
        };
        for element in elements.into_iter().flatten() {
            if let Element::New { path, parent } = element {
                let entity = spawn_path(world, path, *parent, spawned);
                let ambiguous = |error: LookupError| Diagnostic::rule(*span, error.to_string());
                *element = Element::Entity(entity.map_err(ambiguous)?);
            }
        }
    }
    Ok(())
}

/// The entity at the end of a path, where what is missing is spawned.
fn spawn_path(
    world: &mut World,
    path: &[String],
    mut parent: Option<Entity>,
    spawned: &mut Vec<Entity>,
) -> Result<Entity, LookupError> {
    let mut found = Err(LookupError::Unknown { step: String::new(), parent: None });
    for name in path {
        let step = path::join([name.as_str()]);
        found = match parent {
            Some(parent) => world.lookup_unique_in(parent, &step),
            None => world.lookup_unique(&step),
        };
        if let Err(LookupError::Unknown { .. }) = found {
            let entity = match parent {
                Some(parent) => world.spawn((Name::new(name.clone()), ChildOf(parent))).id(),
                None => world.spawn(Name::new(name.clone())).id(),
            };
            spawned.push(entity);
            found = Ok(entity);
        }
        parent = Some(*found.as_ref().map_err(Clone::clone)?);
    }
    found
}
