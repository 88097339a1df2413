//! The reflected component [`PairsView`].

use super::AnyPairs;
use crate::fetch::AllEntities;
use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use bevy_ecs::{
    change_detection::{DetectChanges, DetectChangesMut, Ref},
    component::Component,
    entity::Entity,
    lifecycle::{HookContext, RemovedComponents},
    name::Name,
    reflect::ReflectComponent,
    system::{Local, Query},
    world::DeferredWorld,
};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

/// Shows the pairs of its entity to tools that know components by reflection only, such as inspectors: insert it
/// on the entities to look at.
///
/// It is a copy, made when it is inserted. [`RelationsPlugin`](crate::RelationsPlugin) makes it anew in
/// [`Last`](bevy_app::Last) of every frame in which pairs of any relation or names have changed; in a world without
/// the plugin it is inserted again for that. Writing to it changes nothing but the copy.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_reflect::GetPath;
/// use bevy_relations::{prelude::*, system_param::PairsView};
///
/// #[derive(Relation)]
/// struct Likes;
///
/// let mut world = World::new();
/// let alice = world.spawn(Name::new("Alice")).id();
/// let bob = world.spawn(Pair(Likes, alice)).id();
/// world.entity_mut(bob).insert(PairsView::default());
/// let view = world.get::<PairsView>(bob).unwrap();
/// assert_eq!(view.path::<String>(".pairs[0].relation_name").unwrap(), "Likes");
/// ```
#[derive(Component, Reflect, Clone, PartialEq, Default, Debug)]
#[component(on_insert = fill)]
#[reflect(Component, Default, Clone, PartialEq, Debug)]
pub struct PairsView {
    /// Every pair, relation by relation.
    pub pairs: Vec<PairView>,
}

/// A pair as [`PairsView`] shows it.
#[derive(Reflect, Clone, PartialEq, Debug)]
#[reflect(Clone, PartialEq, Debug)]
pub struct PairView {
    /// The name of the relation, or its entity if it has none.
    pub relation_name: String,
    /// The entity of the relation.
    pub relation: Entity,
    /// The name of the target, if it has one.
    pub target_name: Option<String>,
    /// The target.
    pub target: Entity,
}

impl PairsView {
    fn of<'a>(pairs: AnyPairs<'_, '_>, source: Entity, name: impl Fn(Entity) -> Option<&'a Name>) -> Self {
        let views = pairs.pairs_of(source).map(|(relation, target)| PairView {
            relation_name: pairs.relation_name(relation).map_or_else(String::new, |name| name.to_string()),
            relation,
            target_name: name(target).map(ToString::to_string),
            target,
        });
        Self { pairs: views.collect() }
    }
}

fn fill(mut world: DeferredWorld, context: HookContext) {
    let view = PairsView::of(AnyPairs::of_world(&world), context.entity, |entity| world.get(entity));
    if let Some(mut own) = world.get_mut::<PairsView>(context.entity) {
        *own = view;
    }
}

/// Makes the views anew if anything they show may have changed.
pub(crate) fn refresh_views(
    mut views: Query<(Entity, &mut PairsView), AllEntities>,
    pairs: AnyPairs,
    names: Query<Ref<Name>, AllEntities>,
    mut unnamed: RemovedComponents<Name>,
    mut seen: Local<u64>,
) {
    if views.is_empty() {
        return;
    }
    let changed =
        *seen != pairs.version() || unnamed.read().count() > 0 || names.iter().any(|name| name.is_changed());
    *seen = pairs.version();
    if changed {
        for (entity, mut view) in &mut views {
            view.set_if_neq(PairsView::of(pairs, entity, |entity| {
                names.get(entity).ok().map(Ref::into_inner)
            }));
        }
    }
}
