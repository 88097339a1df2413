//! Finding the entities whose component was written, and the pairs whose value was.
//!
//! Writing in place triggers no event. It is found by comparing change ticks at every read.

use crate::{
    expr::WorldAccess,
    fetch::KnownTicks,
    id::RelationId,
    relation::ColumnRef,
    store::{PairStore, TickChecks},
};
#[cfg(feature = "bevy_reflect")]
pub(super) use members::{MemberField, Members};
#[cfg(not(feature = "bevy_reflect"))]
pub(super) use unknown::Members;

use bevy_ecs::{change_detection::Tick, component::ComponentId, entity::Entity};

/// Finds the entities whose component was written.
pub(super) struct WrittenReader {
    component: ComponentId,
    members: Members,
    /// What was written up to this tick was read. `None` if nothing was.
    after: Option<Tick>,
    /// The ticks that were read.
    ticks: KnownTicks,
    tick_checks: TickChecks,
}

impl WrittenReader {
    pub(super) fn new(component: ComponentId, members: Members) -> Self {
        Self {
            component,
            members,
            after: None,
            ticks: KnownTicks::default(),
            tick_checks: TickChecks::default(),
        }
    }

    /// Calls a function with each entity whose component was inserted or written since the last read, or has a field with an
    /// entity that has died since, or has come to life. Returns how many entities have the component;
    /// `None` if that cannot be found out.
    ///
    /// # Complexity
    /// O(entities with the component).
    pub(super) fn read(
        &mut self,
        access: WorldAccess<'_>,
        store: &PairStore,
        mut each: impl FnMut(Entity),
    ) -> Option<usize> {
        let ticks = access.ticks(self.component)?;
        let checks = store.tick_checks();
        // After a panic in between, everything is read anew; also if ticks cannot be compared any more.
        let after = self.after.take().filter(|_| checks.can_compare(self.tick_checks));
        let mut members = self.members.start(access, self.component, after.is_none());
        let count = ticks.for_each_changed(after, &mut self.ticks, |entity| {
            members.take(entity);
            each(entity);
        });
        members.finish(count, each);
        self.tick_checks = checks;
        // Whatever is written later has at least the tick of now.
        self.after = Some(before(access.write_tick()));
        Some(count)
    }
}

/// Finds the pairs of a relation whose value was written in place.
pub(super) struct ValueReader {
    relation: RelationId,
    /// `None` if there is none for the type of the values yet.
    column: Option<ColumnRef>,
    /// How often values had been borrowed to be written.
    write_borrows: u64,
    after: Option<Tick>,
    tick_checks: TickChecks,
}

impl ValueReader {
    pub(super) fn new(relation: RelationId, column: Option<ColumnRef>) -> Self {
        Self { relation, column, write_borrows: 0, after: None, tick_checks: TickChecks::default() }
    }

    /// Calls a function with each pair whose value was written in place since the last read, and maybe others.
    /// False if that is not known.
    ///
    /// # Complexity
    /// O(1), unless values were borrowed to be written: then O(pairs).
    pub(super) fn read(
        &mut self,
        access: WorldAccess<'_>,
        store: &PairStore,
        each: impl FnMut(Entity, Entity),
    ) -> bool {
        let (now, checks) = (access.write_tick(), store.tick_checks());
        let after = self.after.take().filter(|_| checks.can_compare(self.tick_checks));
        (self.after, self.tick_checks) = (Some(before(now)), checks);
        let Some((column, write_borrows)) =
            self.column.and_then(|column| Some((column, access.write_borrows(column)?)))
        else {
            return false;
        };
        let were_borrowed = core::mem::replace(&mut self.write_borrows, write_borrows) != write_borrows;
        if let Some(after) = after.filter(|_| were_borrowed) {
            access.for_each_written(store.relation(self.relation), column, (after, now), each);
        }
        after.is_some()
    }
}

/// The tick before.
fn before(tick: Tick) -> Tick {
    Tick::new(tick.get().wrapping_sub(1))
}

#[cfg(feature = "bevy_reflect")]
mod members {
    use crate::{
        expr::{FieldSteps, WorldAccess},
        fetch::ReflectCursor,
    };
    use alloc::{boxed::Box, vec::Vec};
    use bevy_ecs::{
        component::ComponentId,
        entity::{Entity, EntityHashMap},
    };
    use bevy_reflect::{ReflectFromPtr, TypeInfo};

    /// How many entities are kept that may have lost the component, beyond twice as many as have it.
    const MAX_GONE: usize = 64;

    /// A field that holds an entity.
    #[derive(Clone)]
    pub(crate) struct MemberField {
        pub(crate) component: ComponentId,
        pub(crate) path: Box<str>,
        type_of: ReflectFromPtr,
        info: &'static TypeInfo,
    }

    impl MemberField {
        /// `None` if it cannot be read.
        pub(crate) fn new(access: WorldAccess<'_>, component: ComponentId, path: &str) -> Option<Self> {
            let type_id = access.components().get_info(component)?.type_id()?;
            let types = access.types()?.read();
            let registration = types.get(type_id)?;
            let (type_of, info) = (registration.data::<ReflectFromPtr>()?.clone(), registration.type_info());
            FieldSteps::new(path, info).map(|_| Self { component, path: path.into(), type_of, info })
        }
    }

    /// What a field held, and whether that was alive.
    #[derive(Clone, Copy)]
    struct Held {
        entity: Entity,
        is_alive: bool,
    }

    /// A field with what it holds on each entity.
    struct Member {
        steps: FieldSteps,
        held: EntityHashMap<Held>,
    }

    /// Fields that hold entities. Rows depend on whether those are alive, for which there is no event.
    #[derive(Default)]
    pub(crate) struct Members {
        type_of: Option<ReflectFromPtr>,
        all: Vec<Member>,
    }

    impl Members {
        /// Those of one component.
        pub(crate) fn of<'a>(fields: impl Iterator<Item = &'a MemberField>) -> Self {
            let mut members = Self::default();
            for field in fields {
                members.type_of.get_or_insert_with(|| field.type_of.clone());
                let steps = FieldSteps::new(&field.path, field.info);
                members.all.extend(steps.map(|steps| Member { steps, held: EntityHashMap::default() }));
            }
            members
        }

        /// Starts to read what has changed, or everything anew.
        pub(super) fn start<'a>(
            &'a mut self,
            access: WorldAccess<'a>,
            component: ComponentId,
            anew: bool,
        ) -> MemberReader<'a> {
            let cursor = self.type_of.as_ref().and_then(|type_of| access.cursor(component, type_of));
            if anew {
                self.all.iter_mut().for_each(|member| member.held.clear());
            }
            MemberReader { access, cursor, all: &mut self.all }
        }
    }

    /// Reads the fields of one entity after the other.
    pub(super) struct MemberReader<'a> {
        access: WorldAccess<'a>,
        cursor: Option<ReflectCursor<'a>>,
        all: &'a mut [Member],
    }

    impl MemberReader<'_> {
        fn is_alive(access: WorldAccess<'_>, entity: Entity) -> bool {
            access.entities().contains_spawned(entity)
        }

        /// Takes what the fields of an entity hold now.
        pub(super) fn take(&mut self, source: Entity) {
            let Some(cursor) = &mut self.cursor else { return };
            for Member { steps, held } in &mut *self.all {
                let field = cursor.get(source).and_then(|value| steps.find(value.as_partial_reflect()));
                let entity = field.and_then(|field| match field.try_downcast_ref::<Entity>() {
                    Some(entity) => Some(*entity),
                    None => *field.try_downcast_ref::<Option<Entity>>()?,
                });
                match entity {
                    Some(entity) => {
                        let is_alive = Self::is_alive(self.access, entity);
                        held.insert(source, Held { entity, is_alive });
                    }
                    None => _ = held.remove(&source),
                }
            }
        }

        /// Calls a function with those that have a field with an entity that has died or has come to life. `count` is the
        /// number of entities with the component.
        pub(super) fn finish(self, count: usize, mut each: impl FnMut(Entity)) {
            let Some(mut cursor) = self.cursor else { return };
            for Member { held, .. } in self.all {
                if held.len() > 2 * count + MAX_GONE {
                    held.retain(|&source, _| cursor.get(source).is_some());
                }
                for (&source, held) in held {
                    let is_alive = Self::is_alive(self.access, held.entity);
                    if is_alive != core::mem::replace(&mut held.is_alive, is_alive) {
                        each(source);
                    }
                }
            }
        }
    }
}

#[cfg(not(feature = "bevy_reflect"))]
mod unknown {
    use crate::expr::WorldAccess;
    use bevy_ecs::{component::ComponentId, entity::Entity};

    /// Without reflection no field holds an entity.
    #[derive(Clone, Copy, Default)]
    pub(crate) struct Members;

    impl Members {
        pub(super) fn start(self, _: WorldAccess<'_>, _: ComponentId, _: bool) -> Self {
            self
        }

        pub(super) fn take(&mut self, _: Entity) {}

        pub(super) fn finish(self, _: usize, _: impl FnMut(Entity)) {}
    }
}
