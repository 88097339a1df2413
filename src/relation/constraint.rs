//! What the ends of a relation's pairs must be: components that they have, and components that they lack.

use super::short_name;
use alloc::{borrow::Cow, boxed::Box, format};
use bevy_ecs::{
    component::{Component, ComponentId},
    entity::Entity,
    world::{EntityWorldMut, World},
};
#[cfg(feature = "bevy_reflect")]
use bevy_reflect::std_traits::ReflectDefault;
use core::{any::TypeId, fmt};

/// Makes the default of a component.
pub(crate) type MakeDefault = fn() -> InsertMade;

/// Inserts the default that was made, unless the entity has the component.
pub(crate) type InsertMade = Box<dyn FnOnce(&mut EntityWorldMut<'_>)>;

/// A component that the sources, or the targets, of a relation must have or must not have. Given to
/// [`RelationTraits::source`](super::RelationTraits::source) and
/// [`RelationTraits::target`](super::RelationTraits::target).
///
/// In the book: [Traits and cleanup in pictures](crate::book::traits).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{prelude::*, relation::EndConstraint};
///
/// #[derive(Component)]
/// struct Ship;
///
/// #[derive(Component)]
/// struct Wreck;
///
/// let mut world = World::new();
/// let (ship, no_wreck) = (EndConstraint::with::<Ship>(), EndConstraint::without::<Wreck>());
/// let traits = RelationTraits::new().source(ship).source(no_wreck);
/// let docked_to = world.spawn_relation("DockedTo", traits)?;
/// let port = world.spawn_empty().id();
/// let [kite, hulk] = [world.spawn(Ship).id(), world.spawn((Ship, Wreck)).id()];
/// world.insert_pair_by_id(kite, (docked_to, port))?;
/// assert!(world.insert_pair_by_id(hulk, (docked_to, port)).is_err());
/// # Ok::<(), BevyError>(())
/// ```
#[derive(Clone, Copy)]
pub struct EndConstraint {
    component: ConstraintComponent,
    is_required: bool,
    pub(crate) make_default: Option<MakeDefault>,
}

#[derive(Clone, Copy)]
enum ConstraintComponent {
    Type { id: TypeId, name: &'static str, register: fn(&mut World) -> ComponentId },
    Id(ComponentId),
}

impl EndConstraint {
    fn of_type<C: Component>(is_required: bool) -> Self {
        let (id, name) = (TypeId::of::<C>(), core::any::type_name::<C>());
        let register = |world: &mut World| world.register_component::<C>();
        let component = ConstraintComponent::Type { id, name, register };
        Self { component, is_required, make_default: None }
    }

    /// The end must have the component.
    #[must_use]
    pub fn with<C: Component>() -> Self {
        Self::of_type::<C>(true)
    }

    /// As [`with`](Self::with), with a default that is inserted if the relation asks for that:
    /// [`OnMissing::Insert`].
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// # use bevy_relations::relation::{EndConstraint, OnMissing};
    /// #[derive(Component, Default)]
    /// struct City;
    ///
    /// # let mut world = World::new();
    /// # let [ann, rome] = [(); 2].map(|()| world.spawn_empty().id());
    /// let traits = RelationTraits::new().target(EndConstraint::with_default::<City>()).on_missing(OnMissing::Insert);
    /// let lives_in = world.spawn_relation("LivesIn", traits)?;
    /// world.insert_pair_by_id(ann, (lives_in, rome))?;
    /// assert!(world.entity(rome).contains::<City>());
    /// # Ok::<(), BevyError>(())
    /// ```
    #[must_use]
    pub fn with_default<C: Component + Default>() -> Self {
        // A default that panics does so before anything is inserted.
        let make: MakeDefault = || {
            let component = C::default();
            Box::new(move |entity| {
                if !entity.contains::<C>() {
                    entity.insert(component);
                }
            })
        };
        Self { make_default: Some(make), ..Self::of_type::<C>(true) }
    }

    /// The end must not have the component.
    #[must_use]
    pub fn without<C: Component>() -> Self {
        Self::of_type::<C>(false)
    }

    /// [`with`](Self::with) for a component of the world that has no Rust type.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{prelude::*, relation::EndConstraint};
    /// # #[derive(Component)]
    /// # struct City;
    /// # #[derive(Component)]
    /// # struct Ruin;
    /// # let mut world = World::new();
    /// # let [ann, rome, troy] = [(); 3].map(|()| world.spawn_empty().id());
    /// let [city, ruin] = [world.register_component::<City>(), world.register_component::<Ruin>()];
    /// let traits = RelationTraits::new().target(EndConstraint::with_id(city)).target(EndConstraint::without_id(ruin));
    /// let lives_in = world.spawn_relation("LivesIn", traits)?;
    /// # world.entity_mut(rome).insert(City);
    /// # world.entity_mut(troy).insert((City, Ruin));
    /// world.insert_pair_by_id(ann, (lives_in, rome))?;
    /// assert!(world.insert_pair_by_id(ann, (lives_in, troy)).is_err());
    /// # Ok::<(), BevyError>(())
    /// ```
    #[must_use]
    pub fn with_id(component: ComponentId) -> Self {
        Self { component: ConstraintComponent::Id(component), is_required: true, make_default: None }
    }

    /// [`without`](Self::without) for a component of the world that has no Rust type.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::{prelude::*, relation::EndConstraint};
    /// # #[derive(Component)]
    /// # struct Ruin;
    /// # let mut world = World::new();
    /// let ruin = world.register_component::<Ruin>();
    /// let traits = RelationTraits::new().target(EndConstraint::without_id(ruin));
    /// let lives_in = world.spawn_relation("LivesIn", traits)?;
    /// let [ann, troy] = [world.spawn_empty().id(), world.spawn(Ruin).id()];
    /// assert!(world.insert_pair_by_id(ann, (lives_in, troy)).is_err());
    /// # Ok::<(), BevyError>(())
    /// ```
    #[must_use]
    pub fn without_id(component: ComponentId) -> Self {
        Self { is_required: false, ..Self::with_id(component) }
    }

    /// The id of the component in `world`, where it is registered for that. `None` if there is no such component.
    pub(crate) fn component(&self, world: &mut World) -> Option<ComponentId> {
        match self.component {
            ConstraintComponent::Type { register, .. } => Some(register(world)),
            ConstraintComponent::Id(id) => world.components().get_info(id).map(|_| id),
        }
    }

    /// What the component is called.
    pub(crate) fn component_name(&self) -> Cow<'static, str> {
        match self.component {
            ConstraintComponent::Type { name, .. } => short_name(name),
            ConstraintComponent::Id(id) => format!("component {}", id.index()).into(),
        }
    }

    pub(crate) fn is_required(&self) -> bool {
        self.is_required
    }

    /// Whether both are about one component.
    pub(super) fn is_about_same(&self, other: &Self) -> bool {
        match (self.component, other.component) {
            (ConstraintComponent::Type { id, .. }, ConstraintComponent::Type { id: other, .. }) => {
                id == other
            }
            (ConstraintComponent::Id(id), ConstraintComponent::Id(other)) => id == other,
            _ => false,
        }
    }
}

impl PartialEq for EndConstraint {
    fn eq(&self, other: &Self) -> bool {
        let default = |constraint: &Self| constraint.make_default.is_some();
        self.is_about_same(other) && self.is_required == other.is_required && default(self) == default(other)
    }
}

impl fmt::Display for EndConstraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_required { "" } else { "!" }, self.component_name())
    }
}

impl fmt::Debug for EndConstraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EndConstraint({self})")
    }
}

/// What happens to a pair of which an end lacks a component that it must have, or has one that it must not have.
///
/// In the book: [Traits and cleanup in pictures](crate::book::traits).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::prelude::*;
///
/// #[derive(Component, Default)]
/// struct Inhabited;
///
/// #[derive(Relation)]
/// #[relation(target(Inhabited), on_missing = Insert)]
/// struct LivesIn;
///
/// let mut world = World::new();
/// let [alice, rome] = [(); 2].map(|()| world.spawn_empty().id());
/// world.insert_pair(alice, LivesIn, rome)?;
/// assert!(world.entity(rome).contains::<Inhabited>());
/// # Ok::<(), bevy_ecs::error::BevyError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(
    feature = "bevy_reflect",
    derive(bevy_reflect::Reflect),
    reflect(Clone, PartialEq, Hash, Debug, Default)
)]
pub enum OnMissing {
    /// The insertion is an error. If a command has inserted the pair, or the component is removed, or inserted,
    /// later, the pair is removed, which is reported to Bevy's error handler. The default.
    #[default]
    Refuse,
    /// The pair is inserted, and then the default of the component that is missing. The rest is as with `Refuse`. The
    /// default is made before anything changes; one that panics inserts nothing.
    Insert,
    /// The pair is inserted, or stays, and Bevy's error handler gets a warning: once, and again if the component was
    /// inserted, or removed, in between.
    Warn,
}

/// One of the two entities that have a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PairEnd {
    Source,
    Target,
}

/// An [`EndConstraint`] in a world.
pub(crate) struct ResolvedConstraint {
    pub(crate) end: PairEnd,
    pub(crate) component: ComponentId,
    pub(crate) name: Cow<'static, str>,
    pub(crate) is_required: bool,
    pub(crate) make_default: Option<MakeDefault>,
}

impl ResolvedConstraint {
    /// Whether a living entity fulfils it.
    pub(crate) fn holds(&self, world: &World, entity: Entity) -> bool {
        world.get_entity(entity).is_ok_and(|entity| entity.contains_id(self.component) == self.is_required)
    }
}
