//! Values of any type.

use crate::fetch;
use bevy_ecs::{entity::Entity, world::World};
use core::any::Any;

/// The value of a pair, whatever its type.
pub(crate) fn any_pair_value(
    world: &World,
    source: Entity,
    relation: Entity,
    target: Entity,
) -> Option<&(dyn Any + Send + Sync)> {
    let store = fetch::store(world)?;
    let id = store.registry().of_entity(relation)?;
    match store.registry().entry(id).adopted {
        Some(adopted) if store.relation(id).has(source, target) => (adopted.get)(world, source),
        // The components are all there is.
        Some(adopted) if store.lacks_pairs_of(id) && (adopted.target)(world, source) == Some(target) => {
            (adopted.get)(world, source)
        }
        Some(_) => None,
        None => store.column_of(id, source, target)?.get(world, store.relation(id).row(source, target)?),
    }
}
