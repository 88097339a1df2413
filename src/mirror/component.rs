//! The component that shows the pairs of its entity.

use super::value::{ReflectedValue, map_entities};
use crate::relation::Relation;
use alloc::{string::String, vec::Vec};
use bevy_ecs::entity::{Entity, EntityMapper};
use bevy_reflect::{
    FromReflect, GetTypeRegistration, PartialReflect, Reflect, ReflectFromReflect, ReflectRef, Typed,
};

/// A [`Relation`] that can be [mirrored](crate::mirror): one with `#[derive(Reflect, Clone)]` that is no Bevy
/// relationship.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_reflect::Reflect;
/// # use bevy_relations::{mirror::{MirroredRelation, WorldMirrorExt}, prelude::*};
/// fn mirror_both<A: MirroredRelation, B: MirroredRelation>(world: &mut World) -> Result {
///     world.mirror_pairs::<A>()?;
///     world.mirror_pairs::<B>()?;
///     Ok(())
/// }
///
/// #[derive(Relation, Reflect, Clone)]
/// struct Likes;
/// #[derive(Relation, Reflect, Clone)]
/// struct Owes(u32);
/// assert!(mirror_both::<Likes, Owes>(&mut World::new()).is_ok());
/// ```
#[diagnostic::on_unimplemented(
    message = "the pairs of `{Self}` cannot be mirrored",
    label = "not a relation with `Reflect` and `Clone`, or a Bevy relationship",
    note = "consider annotating `{Self}` with `#[derive(Relation, Reflect, Clone)]`",
    note = "a Bevy relationship needs no mirror: it is a component"
)]
pub trait MirroredRelation:
    Relation<Component = ()> + Clone + FromReflect + Typed + GetTypeRegistration
{
}

impl<R: Relation<Component = ()> + Clone + FromReflect + Typed + GetTypeRegistration> MirroredRelation for R {}

/// The pairs that its entity has of relation type `R`, as a component. See the [module](crate::mirror).
///
/// It is immutable: insert it again to change the pairs.
///
/// In the book: [Networking](crate::book::network).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_reflect::Reflect;
/// use bevy_relations::{mirror::*, prelude::*};
///
/// #[derive(Relation, Reflect, Clone, PartialEq, Debug)]
/// struct Owes(u32);
///
/// let mut world = World::new();
/// world.mirror_pairs::<Owes>()?;
/// let [ann, ben, cy] = [(); 3].map(|()| world.spawn_empty().id());
/// world.insert_pair(ann, Owes(5), ben)?;
/// assert_eq!(world.get::<MirroredPairs<Owes>>(ann).unwrap().get(ben), Some(&Owes(5)));
///
/// world.entity_mut(ann).insert(MirroredPairs::from_iter([(Owes(7), ben), (Owes(1), cy)]));
/// assert_eq!(world.pair_value::<Owes>(ann, ben), Some(&Owes(7)));
/// world.entity_mut(ann).remove::<MirroredPairs<Owes>>();
/// assert!(!world.has_pair::<Owes>(ann, cy));
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Reflect, Clone, Debug)]
#[reflect(where R: MirroredRelation)]
#[type_path = "bevy_relations::mirror"]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
pub struct MirroredPairs<R> {
    /// The pairs, in the order of the targets.
    #[reflect(default)]
    pub pairs: Vec<MirroredPair<R>>,
}

/// A pair of [`MirroredPairs`].
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_reflect::Reflect;
/// # use bevy_relations::{mirror::*, prelude::*};
/// #[derive(Relation, Reflect, Clone, PartialEq, Debug)]
/// struct Owes(u32);
///
/// # let mut world = World::new();
/// # let [ann, bank] = [(); 2].map(|()| world.spawn_empty().id());
/// let mut debts = MirroredPairs::default();
/// debts.pairs.push(MirroredPair::new(Owes(5), bank));
/// assert_eq!((debts.pairs[0].value.as_ref(), debts.pairs[0].target.entity()), (Some(&Owes(5)), Some(bank)));
/// assert!(debts.contains(bank) && debts.targets().eq([bank]));
/// world.entity_mut(ann).insert(debts);
/// assert_eq!(world.pair_value::<Owes>(ann, bank), Some(&Owes(5)));
/// ```
#[derive(Reflect, Clone, Debug)]
#[reflect(where R: MirroredRelation)]
#[reflect(from_reflect = false)]
#[reflect(FromReflect)]
#[type_path = "bevy_relations::mirror"]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
pub struct MirroredPair<R> {
    /// The target.
    pub target: MirroredTarget,
    /// The value. `None` for a tag. When a pair that carries a value is written with `None`, it keeps its present value
    /// or gets the default.
    #[cfg_attr(feature = "serialize", serde(default = "none"))]
    pub value: Option<R>,
    /// For an `ordered` relation, the position of the source among the sources of its target: they are sorted by it,
    /// ascending. `None` for other relations. A pair that is written with `None` keeps its position, or comes last. At
    /// most `u64::MAX / 2`.
    #[cfg_attr(feature = "serialize", serde(default))]
    pub place: Option<u64>,
}

#[cfg(feature = "serialize")]
fn none<R>() -> Option<R> {
    None
}

/// An incomplete pair in a scene file becomes one that is reported and left out: Bevy panics if a component cannot be
/// made of what it has read.
impl<R: MirroredRelation> FromReflect for MirroredPair<R> {
    fn from_reflect(reflect: &dyn PartialReflect) -> Option<Self> {
        let ReflectRef::Struct(fields) = reflect.reflect_ref() else { return None };
        let complete = || {
            let target = MirroredTarget::from_reflect(fields.field("target")?)?;
            let value = fields.field("value").map_or(Some(None), FromReflect::from_reflect)?;
            let place = fields.field("place").map_or(Some(None), FromReflect::from_reflect)?;
            Some(Self { target, value, place })
        };
        complete().or_else(|| {
            // No relation is a tuple, so the value is refused.
            let no_value = Some(ReflectedValue::new(()));
            let named = MirroredType { path: R::type_path().into(), value: no_value };
            Some(Self { target: MirroredTarget::Type(named), value: None, place: None })
        })
    }
}

/// The target of a [`MirroredPair`].
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_reflect::Reflect;
/// # use bevy_relations::{mirror::*, prelude::*};
/// #[derive(Relation, Reflect, Clone)]
/// struct Begin;
/// #[derive(Reflect, Clone)]
/// struct Position(f32);
///
/// # let mut world = World::new();
/// # world.mirror_pairs::<Begin>()?;
/// # world.resource::<AppTypeRegistry>().write().register::<Position>();
/// let ship = world.spawn_empty().id();
/// world.insert_pair_to::<Begin, Position>(ship, Position(2.0))?;
/// let mirrored = world.get::<MirroredPairs<Begin>>(ship).unwrap();
/// let MirroredTarget::Type(target) = &mirrored.pairs[0].target else { panic!() };
/// assert!(target.path.ends_with("Position") && target.value.is_some());
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Reflect, Clone, PartialEq, Debug)]
#[type_path = "bevy_relations::mirror"]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
pub enum MirroredTarget {
    /// An entity, which is mapped to another where entities are mapped.
    Entity(Entity),
    /// The entity that stands for a Rust type. Each world has its own, so it is identified by the type.
    Type(MirroredType),
}

/// A Rust type that is the target of a [`MirroredPair`].
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_reflect::{Reflect, TypePath};
/// # use bevy_relations::{mirror::*, prelude::*};
/// #[derive(Relation, Reflect, Clone)]
/// struct Begin;
/// #[derive(Reflect, Clone, PartialEq, Debug)]
/// struct Position(f32);
///
/// # let mut world = World::new();
/// world.mirror_pairs::<Begin>()?;
/// world.resource::<AppTypeRegistry>().write().register::<Position>();
/// let [begin, position] = [world.entity_of::<Begin>(), world.entity_of::<Position>()];
/// let target = MirroredType {
///     path: Position::type_path().into(),
///     value: Some(ReflectedValue::new(Position(2.0))),
/// };
/// let mut pairs = MirroredPairs::default();
/// pairs.pairs.push(MirroredPair::new(Begin, MirroredTarget::Type(target)));
/// let ship = world.spawn(pairs).id();
/// assert_eq!(world.pair_value_by_id::<Position>(ship, (begin, position)), Some(&Position(2.0)));
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Reflect, Clone, PartialEq, Debug)]
#[type_path = "bevy_relations::mirror"]
#[cfg_attr(feature = "serialize", derive(serde::Serialize, serde::Deserialize))]
pub struct MirroredType {
    /// Its type path.
    pub path: String,
    /// The value of the pair, if that is of this type.
    #[reflect(default)]
    #[cfg_attr(feature = "serialize", serde(default))]
    pub value: Option<ReflectedValue>,
}

impl From<Entity> for MirroredTarget {
    fn from(entity: Entity) -> Self {
        Self::Entity(entity)
    }
}

impl MirroredTarget {
    /// The target, unless it is a type.
    pub fn entity(&self) -> Option<Entity> {
        match self {
            Self::Entity(entity) => Some(*entity),
            Self::Type(_) => None,
        }
    }

    pub(super) fn map_entities(&mut self, mapper: &mut dyn EntityMapper) {
        match self {
            Self::Entity(entity) => *entity = mapper.get_mapped(*entity),
            Self::Type(MirroredType { value: Some(value), .. }) => value.map_entities(mapper),
            Self::Type(_) => {}
        }
    }
}

impl<R> MirroredPair<R> {
    /// A pair with this value and target. A type without fields is no value.
    pub fn new(value: R, target: impl Into<MirroredTarget>) -> Self {
        Self { target: target.into(), value: (size_of::<R>() > 0).then_some(value), place: None }
    }
}

impl<R> MirroredPairs<R> {
    /// The targets that are entities, in order.
    pub fn targets(&self) -> impl Iterator<Item = Entity> + use<'_, R> {
        self.pairs.iter().filter_map(|pair| pair.target.entity())
    }

    /// The value of the pair with this target. `None` if there is no such pair, or no value. `O(targets)`.
    pub fn get(&self, target: Entity) -> Option<&R> {
        self.pairs.iter().find(|pair| pair.target.entity() == Some(target))?.value.as_ref()
    }

    /// Whether there is a pair with this target. `O(targets)`.
    pub fn contains(&self, target: Entity) -> bool {
        self.targets().any(|other| other == target)
    }
}

impl<R> Default for MirroredPairs<R> {
    fn default() -> Self {
        Self { pairs: Vec::new() }
    }
}

impl<R> FromIterator<(R, Entity)> for MirroredPairs<R> {
    fn from_iter<I: IntoIterator<Item = (R, Entity)>>(pairs: I) -> Self {
        Self { pairs: pairs.into_iter().map(|(value, target)| MirroredPair::new(value, target)).collect() }
    }
}

/// Whether both values are the same, as far as they can be compared.
pub(super) fn is_same_value(one: &dyn PartialReflect, other: &dyn PartialReflect) -> bool {
    one.reflect_partial_eq(other) == Some(true)
}

impl<R: MirroredRelation> MirroredPair<R> {
    /// Whether both are the same pair. A tag has no value, whatever is written.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let same_value = match (&self.value, &other.value) {
            (Some(one), Some(other)) => size_of::<R>() == 0 || is_same_value(one, other),
            (None, None) => true,
            _ => size_of::<R>() == 0,
        };
        same_value && self.target == other.target && self.place == other.place
    }
}

impl<R: MirroredRelation> MirroredPairs<R> {
    /// Whether both list the same pairs.
    pub(super) fn lists_same(&self, other: &Self) -> bool {
        let mut pairs = self.pairs.iter().zip(&other.pairs);
        self.pairs.len() == other.pairs.len() && pairs.all(|(one, other)| one.is_same(other))
    }

    /// Maps the targets, and all entities in the values that reflection shows.
    pub(super) fn map_all(&mut self, mapper: &mut dyn EntityMapper) {
        for pair in &mut self.pairs {
            pair.target.map_entities(mapper);
            if let Some(value) = &mut pair.value {
                map_entities(value, mapper);
            }
        }
    }
}
