//! Observers that act once, when an event is triggered for the nth time.

use bevy_ecs::prelude::*;

/// What is done, with what a test knows and the entity of the event.
pub(crate) type Action<K> = fn(&mut World, K, Entity);

/// When something is to be done, and what.
#[derive(Resource)]
pub(crate) struct Plan<K: Resource + Copy> {
    /// The number of events until then.
    left: usize,
    action: Action<K>,
}

impl<K: Resource + Copy> Plan<K> {
    /// `moment` is 0 for the next event.
    pub(crate) fn begin(world: &mut World, moment: usize, action: Action<K>) {
        world.insert_resource(Self { left: moment + 1, action });
    }

    /// Nothing is done any more. Returns whether something was.
    pub(crate) fn end(world: &mut World) -> bool {
        world.flush();
        core::mem::take(&mut world.resource_mut::<Self>().left) == 0
    }
}

/// What an observer does.
pub(crate) fn act<K: Resource + Copy>(
    mut plan: ResMut<Plan<K>>,
    known: Res<K>,
    entity: Entity,
    mut commands: Commands,
) {
    if plan.left > 0 {
        plan.left -= 1;
        if plan.left == 0 {
            let (action, known) = (plan.action, *known);
            commands.queue(move |world: &mut World| action(world, known, entity));
        }
    }
}

/// A list of functions that spawn an observer each: of an event, which names its entity in a field.
macro_rules! observers {
    ($known:ty: $($event:ty, $entity:ident;)*) => {
        &[$(|world| {
            world.add_observer(|on: On<$event>, plan: ResMut<Plan<$known>>, known: Res<$known>, commands: Commands| {
                $crate::acting::act(plan, known, on.$entity, commands);
            });
        }),*]
    };
}
pub(crate) use observers;
