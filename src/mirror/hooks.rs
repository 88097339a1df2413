//! The component hooks: they run when the component is inserted or removed.

use super::{
    apply::apply,
    component::{MirroredPairs, MirroredRelation},
    erase::kind_of,
    kind::Kind,
    runtime::RuntimeMirroredPairs,
    state::{with, with_deferred},
    unmet,
    write::update,
};
use crate::fetch;
use bevy_ecs::{
    component::{Component, ComponentCloneBehavior, Immutable, StorageType},
    entity::{ComponentCloneCtx, Entity, EntityMapper},
    lifecycle::{ComponentHook, HookContext},
    relationship::RelationshipHookMode,
    world::{DeferredWorld, World},
};

/// Bevy's `Component`, the same for both components.
macro_rules! mirror_component {
    () => {
        const STORAGE_TYPE: StorageType = StorageType::Table;
        type Mutability = Immutable;

        fn on_insert() -> Option<ComponentHook> {
            Some(|world, context| on_insert(world, kind_of::<Self>(), &context))
        }

        fn on_remove() -> Option<ComponentHook> {
            Some(|world, context| on_remove(world, kind_of::<Self>(), &context))
        }

        /// The pairs are cloned, and the clone gets the component from them. With `Ignore`, scenes would skip it, too.
        fn clone_behavior() -> ComponentCloneBehavior {
            ComponentCloneBehavior::Custom(|_, context| leave_to_pairs(context, kind_of::<Self>()))
        }

        fn map_entities<E: EntityMapper>(this: &mut Self, mapper: &mut E) {
            this.map_all(mapper);
        }
    };
}

impl<R: MirroredRelation> Component for MirroredPairs<R> {
    mirror_component!();
}

impl Component for RuntimeMirroredPairs {
    mirror_component!();
}

fn on_insert(mut world: DeferredWorld, kind: Kind, context: &HookContext) {
    let source = context.entity;
    let may_wait = matches!(context.relationship_hook_mode, RelationshipHookMode::Skip);
    let (is_own, is_cloned) = with_deferred(&mut world, kind, |mirror| {
        let is_own = mirror.writing.take_if(|writing| *writing == source).is_some();
        let is_cloned = !is_own && mirror.cloned.remove(&source);
        match (is_own, is_cloned) {
            (true, _) => {}
            (false, true) => mirror.due.push_back(source.into()),
            (false, false) => _ = mirror.written.insert(source),
        }
        (is_own, is_cloned)
    })
    .unwrap_or_default();
    if is_cloned {
        world.commands().queue(move |world: &mut World| update(world, kind, None));
    } else if !is_own {
        world.commands().queue(move |world: &mut World| apply(world, kind, source, may_wait));
    }
}

fn on_remove(mut world: DeferredWorld, kind: Kind, context: &HookContext) {
    let source = context.entity;
    let is_done = |world: &mut DeferredWorld<'_>| {
        with_deferred(world, kind, |mirror| mirror.writing.take_if(|writing| *writing == source).is_some())
    };
    if is_done(&mut world) != Some(false) {
        return;
    }
    let Some(store) = fetch::store(&world) else { return };
    // At a despawn, cleanup has already run.
    let has_pairs = (kind.shows_any)(store, source);
    let is_stripped = store.participants().is_stripped(source);
    if !has_pairs && !unmet::is_unmet(&world, kind, source) {
        return;
    }
    let is_kept = with_deferred(&mut world, kind, |mirror| {
        // If the entity was cleared, or some of its components were retained or moved, its pairs stay as they are by now.
        let is_kept = mirror.moved.remove(&source) || is_stripped;
        if is_kept {
            mirror.due.push_back(source.into());
        } else {
            mirror.written.insert(source);
        }
        is_kept
    });
    match is_kept {
        Some(true) => world.commands().queue(move |world: &mut World| update(world, kind, None)),
        Some(false) => world.commands().queue(move |world: &mut World| apply(world, kind, source, false)),
        None => {}
    }
}

fn leave_to_pairs(context: &mut ComponentCloneCtx, kind: Kind) {
    let (original, clone): (Entity, Entity) = (context.source(), context.target());
    if context.moving() {
        context.queue_deferred(move |world, _| {
            with(world, kind, |mirror| mirror.moved.insert(original));
        });
    } else {
        // The clone gets its components next. By the time that commands are applied it has them.
        context.queue_deferred(move |world, _| {
            with(world, kind, |mirror| mirror.cloned.insert(clone));
            world.commands().queue(move |world: &mut World| {
                with(world, kind, |mirror| mirror.cloned.remove(&clone));
            });
        });
    }
}
