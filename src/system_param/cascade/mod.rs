//! The system parameter [`CascadeQuery`].
#![expect(unsafe_code, reason = "Bevy's `SystemParam` is an unsafe trait; data of known entities is fetched")]

mod access;
mod below;
mod build;
mod iter;
mod levels;
mod parallel;
mod relatives;
mod visit;

pub use iter::CascadeIter;
pub use relatives::CascadeItems;

use self::{
    levels::{Levels, NodeSlot},
    visit::{Changed, Context, Parents, VisitAll, VisitPolicy, Visitor, visit_level},
};
use crate::{
    fetch::CursorState,
    ops::{ensure_store, relation_id},
    relation::{ExclusiveRelation, TraversableRelation},
    store::{PairStore, RelationIndex},
};
use alloc::vec::Vec;
use bevy_ecs::{
    change_detection::{Res, Tick},
    query::{IterQueryData, QueryFilter, ReadOnlyQueryData},
    system::{ReadOnlySystemParam, SystemAccess, SystemMeta, SystemParam, SystemParamValidationError},
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};
use core::{any::type_name, marker::PhantomData};

/// Visits entities along a traversable relation, parents before children: a system parameter.
///
/// * `D` is the data of an entity itself; it may be written.
/// * `P` is the data of its parent, read-only. It may be a component that `D` writes: a parent is done before its
///   children are begun.
/// * `F` is a filter on the entity.
/// * `W` is a filter that says that an entity has changed, for [`for_each_changed`](Self::for_each_changed).
///
/// The parent is the direct one: the target of the entity's pair. There is none for roots, and none if it does not
/// match `P`. Each entity that matches `D` and `F` is visited once, also one without any pair: it has no parent.
/// Entities are skipped as in a [`Query`](bevy_ecs::system::Query), disabled ones too, but those below them are not.
///
/// In the book: [Walks, islands, disabling](crate::book::walks).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::prelude::*;
///
/// #[derive(Component)]
/// struct Offset(f32);
///
/// #[derive(Component)]
/// struct Position(f32);
///
/// fn propagate(mut tree: CascadeQuery<ChildOf, (&Offset, &mut Position), &Position>) {
///     tree.for_each(|(offset, mut position), parent| {
///         position.0 = offset.0 + parent.map_or(0.0, |parent| parent.0);
///     });
/// }
///
/// let mut world = World::new();
/// let ship = world.spawn((Offset(100.0), Position(0.0))).id();
/// let turret = world.spawn((Offset(5.0), Position(0.0), ChildOf(ship))).id();
/// world.run_system_cached(propagate).unwrap();
/// assert_eq!(world.get::<Position>(turret).unwrap().0, 105.0);
/// ```
///
/// # Forms
///
/// | form | for |
/// |---|---|
/// | [`for_each`](Self::for_each), [`par_for_each`](Self::par_for_each) | parents before children, with the parent's data |
/// | [`for_each_changed`](Self::for_each_changed), [`for_each_below`](Self::for_each_below) | the same of what changed, or of one subtree |
/// | [`for_each_with_parents`](Self::for_each_with_parents) | the same where an entity can have several parents |
/// | [`for_each_desc`](Self::for_each_desc) | children before parents, with the data of the children |
/// | [`iter_mut`](Self::iter_mut), [`iter_desc`](Self::iter_desc) | the entities' own data alone, in either order |
///
/// # Order
/// Entities come by depth: those without targets first, then those one below, and so on. Among entities of one depth
/// any order is possible; it is close to that of their tables. Entities without pairs, which have depth 0, come last
/// if they are new since the last run.
///
/// # Complexity
/// The entities of the relation are kept by depth from one run to the next: 32 bytes each for every such parameter. A
/// run first follows what was inserted and removed since the last one, in O(pairs that changed + entities below one
/// that changed its depth). All levels are rebuilt, in O(entities of the relation), once a quarter of these has been
/// added or removed; more often where [`maintain_pairs`] is not called once per frame, as the plugin does.
///
/// [`maintain_pairs`]: crate::WorldPairExt::maintain_pairs
///
/// # Panics
/// When its system is initialised, if the traits of `R` are rejected, or it is a Bevy relationship that allows an entity to
/// point to itself; if a part writes what another reads of entities other than the parent, such as by a term for ancestors;
/// or if it conflicts with another parameter.
pub struct CascadeQuery<'w, 's, R, D, P = (), F = (), W = ()>
where
    R: TraversableRelation,
    D: IterQueryData + 'static,
    P: ReadOnlyQueryData + 'static,
    F: QueryFilter + 'static,
    W: QueryFilter + 'static,
{
    state: &'s mut CascadeState<D, P, F, W>,
    index: Option<&'w RelationIndex>,
    context: Context<'w>,
    relation: PhantomData<fn() -> R>,
}

/// State of [`CascadeQuery`].
#[doc(hidden)]
pub struct CascadeState<D, P, F, W>
where
    D: IterQueryData + 'static,
    P: ReadOnlyQueryData + 'static,
    F: QueryFilter + 'static,
    W: QueryFilter + 'static,
{
    store: <Option<Res<'static, PairStore>> as SystemParam>::State,
    own: CursorState<D, F>,
    parents: CursorState<P>,
    /// Names everything that `own` names, so that the same entities are left out by default.
    watched: CursorState<D::ReadOnly, (F, W)>,
    levels: Levels,
    /// Nodes that a run over a subtree has found.
    below: Vec<NodeSlot>,
}

impl<'w, R, D, P, F, W> CascadeQuery<'w, '_, R, D, P, F, W>
where
    R: TraversableRelation,
    D: IterQueryData + 'static,
    P: ReadOnlyQueryData + 'static,
    F: QueryFilter + 'static,
    W: QueryFilter + 'static,
{
    /// Makes the levels ready for a run.
    fn update(&mut self) {
        let (state, world) = (&mut *self.state, self.context.world);
        state.own.update(world);
        state.parents.update(world);
        state.watched.update(world);
        state.levels.update(self.index, world.entities(), || state.own.storages(world));
        debug_assert!(state.levels.one_slot(), "an entity is in two slots");
    }

    /// Visits the nodes of all levels that the policy chooses.
    fn run<'a, C: VisitPolicy>(
        &'a mut self,
        choose: impl FnOnce(Context<'w>, &'a CursorState<D::ReadOnly, (F, W)>) -> C,
        visit: &mut impl FnMut(D::Item<'_, '_>, Option<P::Item<'_, '_>>),
    ) {
        self.update();
        let CascadeState { own, parents, watched, levels, .. } = &mut *self.state;
        let choice = choose(self.context, watched);
        // SAFETY: the states are up to date, the parameter was given the access that they declare, and it is borrowed
        // mutably.
        let (mut visitor, mut reader) =
            unsafe { (Visitor::new(self.context, &*own, choice), Parents::new(self.context, &*parents)) };
        for level in 0..levels.levels.len() {
            // SAFETY: there is no other borrow; no entity is in two nodes, by *One slot*.
            unsafe { visit_level((&mut visitor, &mut reader), levels.split(level), visit) };
        }
        let first = levels.discover(own.storages(self.context.world), &visitor.counts);
        levels.dead = visitor.counts.dead;
        // SAFETY: as above.
        unsafe { visit_level((&mut visitor, &mut reader), levels.split(0).skip(first), visit) };
    }
}

impl<R, D, P, F, W> CascadeQuery<'_, '_, R, D, P, F, W>
where
    R: TraversableRelation,
    D: IterQueryData + 'static,
    P: ReadOnlyQueryData + 'static,
    F: QueryFilter + 'static,
    W: QueryFilter + 'static,
{
    /// Calls `visit` with the data of each entity and of its parent.
    pub fn for_each(&mut self, mut visit: impl FnMut(D::Item<'_, '_>, Option<P::Item<'_, '_>>))
    where
        R: ExclusiveRelation,
    {
        self.run(|_, _| VisitAll, &mut visit);
    }

    /// [`for_each`](Self::for_each) of entities that have changed, or that lie below one that has.
    ///
    /// An entity is visited if `W` holds for it; if its parent is visited in this run; if it got another
    /// parent, or lost it, since this last ran; or if it did not match `D` and `F` then, or did not exist.
    ///
    /// ```
    /// # use bevy_ecs::prelude::*;
    /// # use bevy_relations::prelude::*;
    /// #[derive(Component)]
    /// struct Offset(f32);
    /// #[derive(Component)]
    /// struct Position(f32);
    ///
    /// fn propagate(mut tree: CascadeQuery<ChildOf, (&Offset, &mut Position), &Position, (), Changed<Offset>>) -> usize {
    ///     let mut visited = 0;
    ///     tree.for_each_changed(|(offset, mut position), parent| {
    ///         position.0 = offset.0 + parent.map_or(0.0, |parent| parent.0);
    ///         visited += 1;
    ///     });
    ///     visited
    /// }
    /// # let mut world = World::new();
    /// let ship = world.spawn((Offset(100.0), Position(0.0))).id();
    /// let [turret, _hull] = [5.0, 1.0].map(|at| world.spawn((Offset(at), Position(0.0), ChildOf(ship))).id());
    /// assert_eq!(world.run_system_cached(propagate).unwrap(), 3);
    /// world.get_mut::<Offset>(turret).unwrap().0 = 7.0;
    /// assert_eq!(world.run_system_cached(propagate).unwrap(), 1);
    /// assert_eq!(world.get::<Position>(turret).unwrap().0, 107.0);
    /// ```
    pub fn for_each_changed(&mut self, mut visit: impl FnMut(D::Item<'_, '_>, Option<P::Item<'_, '_>>))
    where
        R: ExclusiveRelation,
    {
        // SAFETY: the state was brought up to date with the others, and its access declared.
        self.run(|context, state| Changed { watched: unsafe { context.cursor(state) } }, &mut visit);
    }
}

// SAFETY: the store is read through a parameter of its own; whatever `FetchCursor` of the three states reach is declared by
// `CascadeState::init_access`, which panics if any part conflicts with what was declared before. The parts conflict
// with each other in the direct data of an entity and of its parent, at most: every method keeps these apart.
// Test: `what_conflicts_is_refused`.
unsafe impl<R, D, P, F, W> SystemParam for CascadeQuery<'_, '_, R, D, P, F, W>
where
    R: TraversableRelation,
    D: IterQueryData + 'static,
    P: ReadOnlyQueryData + 'static,
    F: QueryFilter + 'static,
    W: QueryFilter + 'static,
{
    type State = CascadeState<D, P, F, W>;
    type Item<'w, 's> = CascadeQuery<'w, 's, R, D, P, F, W>;

    fn init_state(world: &mut World) -> Self::State {
        let id = relation_id::<R>(world);
        let store = ensure_store(world);
        assert!(
            store.registry().entry(id).traits.is_traversable(),
            "`{}` cannot be followed by `CascadeQuery`: an entity may point to itself",
            type_name::<R>()
        );
        store.keep_journal(id);
        // SAFETY: Bevy calls `init_access` before it gets the parameter, which declares the access of all three.
        let (own, parents, watched) =
            unsafe { (CursorState::new(world), CursorState::new(world), CursorState::new(world)) };
        let store = <Option<Res<PairStore>>>::init_state(world);
        CascadeState { store, own, parents, watched, levels: Levels::default(), below: Vec::new() }
    }

    fn init_access(state: &Self::State, meta: &mut SystemMeta, access: &mut SystemAccess, world: &mut World) {
        <Option<Res<PairStore>>>::init_access(&state.store, meta, access, world);
        let set = access.require_shared_access::<Self>(meta);
        state.init_access(type_name::<Self>(), meta.name(), set, world.as_unsafe_world_cell());
    }

    unsafe fn get_param<'w, 's>(
        state: &'s mut Self::State,
        meta: &SystemMeta,
        world: UnsafeWorldCell<'w>,
        this_run: Tick,
    ) -> Result<Self::Item<'w, 's>, SystemParamValidationError> {
        // SAFETY: declared in `init_access` by the same parameter; the caller promises the rest.
        let store = unsafe { <Option<Res<PairStore>>>::get_param(&mut state.store, meta, world, this_run)? };
        let index =
            store.map(Res::into_inner).and_then(|store| Some(store.relation(store.registry().known::<R>()?)));
        let context = Context { world, last_run: meta.get_last_run(), this_run };
        Ok(CascadeQuery { state, index, context, relation: PhantomData })
    }
}

// SAFETY: if `D` only reads, so does everything.
unsafe impl<R, D, P, F, W> ReadOnlySystemParam for CascadeQuery<'_, '_, R, D, P, F, W>
where
    R: TraversableRelation,
    D: ReadOnlyQueryData + 'static,
    P: ReadOnlyQueryData + 'static,
    F: QueryFilter + 'static,
    W: QueryFilter + 'static,
{
}
