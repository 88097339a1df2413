//! The system parameter [`PairsMut`].
#![expect(unsafe_code, reason = "Bevy's `SystemParam` is an unsafe trait")]

use super::conflict::refuse_conflict;
use crate::{
    ops::relation_id,
    relation::StoredRelation,
    store::{PairData, PairStore, RelationIndex, ValuesMut},
    traverse::RelationView,
};
use bevy_ecs::{
    change_detection::{DetectChangesMut, Mut, Res, ResMut, Tick},
    entity::Entity,
    system::{SystemAccess, SystemMeta, SystemParam, SystemParamValidationError},
    world::{World, unsafe_world_cell::UnsafeWorldCell},
};
use core::{fmt, ops::Deref};

/// Reads and writes the values of pairs of relation type `R`: a system parameter.
///
/// Topology is read through [`RelationView`], to which this dereferences. Systems that read topology alone, such as by
/// [`AnyPairs`](crate::AnyPairs) or [`Related`](crate::Related), run beside one that writes values; systems that can read the
/// values of `R`, as with [`Pairs`](crate::Pairs), do not.
///
/// Writing a value marks it as changed, as writing a component does: the guards are Bevy's own. `PairInserted` is not
/// triggered; insert the pair again for that.
///
/// A symmetric pair has one value for both directions. Bevy's relationships cannot be named here: their values lie in
/// components that are immutable. Nor can [keyed relations](crate::relation::KeyedRelation): a key is a part of the
/// value.
///
/// In the book: [Pairs in systems](crate::book::pairs).
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::prelude::*;
///
/// #[derive(Relation)]
/// struct Trusts {
///     much: f32,
/// }
///
/// fn forget(mut trust: PairsMut<Trusts>) {
///     trust.for_each_mut(|_source, _target, mut trusts| trusts.much *= 0.99);
/// }
/// # let (mut world, mut schedule) = (World::new(), Schedule::default());
/// # let alice = world.spawn_empty().id();
/// # let bob = world.spawn(pairs![(Trusts { much: 1.0 }, alice)]).id();
/// # schedule.add_systems(forget).run(&mut world);
/// # assert_eq!(world.pair_value::<Trusts>(bob, alice).unwrap().much, 0.99);
/// ```
///
/// One pair, all of a source, all of a target:
///
/// ```
/// # use bevy_ecs::{prelude::*, system::RunSystemOnce};
/// # use bevy_relations::prelude::*;
/// #[derive(Relation)]
/// struct Owes(u32);
///
/// # let mut world = World::new();
/// # let [ann, ben, bank] = [(); 3].map(|()| world.spawn_empty().id());
/// # world.insert_pair_batch([(ann, Owes(5), bank), (ann, Owes(1), ben), (ben, Owes(2), bank)])?;
/// let pay = move |mut debts: PairsMut<Owes>| {
///     if let Some(mut debt) = debts.get_mut(ann, bank) {
///         debt.0 -= 1;
///     }
///     debts.for_each_of(ann, |_creditor, mut debt| debt.0 *= 10);
///     debts.for_each_to(bank, |_debtor, mut debt| debt.0 += 1);
///     [(ann, bank), (ann, ben), (ben, bank)].map(|(debtor, creditor)| debts.get(debtor, creditor).unwrap().0)
/// };
/// assert_eq!(world.run_system_once(pay).unwrap(), [41, 10, 3]);
/// # Ok::<(), BevyError>(())
/// ```
///
/// # Panics
/// When the system is initialised, if the traits of `R` are rejected, or a parameter before it can read or write the values
/// of `R`.
pub struct PairsMut<'w, R: StoredRelation> {
    index: Option<&'w RelationIndex>,
    view: RelationView<'w, 'w>,
    column: Option<ResMut<'w, PairData<R>>>,
    last_run: Tick,
    this_run: Tick,
}

impl<R: StoredRelation> PairsMut<'_, R> {
    /// The value of a pair. `None` if there is no such pair, or no value that can be written.
    ///
    /// # Complexity
    /// Constant.
    pub fn get(&self, source: Entity, target: Entity) -> Option<&R> {
        self.column.as_ref()?.get(self.index?.row(source, target)?)
    }

    /// The value of a pair, to write. `None` as in [`get`](Self::get).
    ///
    /// # Complexity
    /// Constant.
    pub fn get_mut(&mut self, source: Entity, target: Entity) -> Option<Mut<'_, R>> {
        let row = self.index?.row(source, target)?;
        self.values_mut()?.into_value(row)
    }

    /// The values, to write.
    #[inline]
    fn values_mut(&mut self) -> Option<ValuesMut<'_, R>> {
        // Values have ticks of their own.
        let column = self.column.as_mut()?.bypass_change_detection();
        Some(column.values_mut(self.last_run, self.this_run))
    }

    /// Visits every pair, with its value to write, in no particular order. A symmetric pair comes once, in either of its
    /// directions.
    #[inline]
    pub fn for_each_mut(&mut self, mut each: impl FnMut(Entity, Entity, Mut<'_, R>)) {
        let Some((index, mut values)) = self.index.zip(self.values_mut()) else { return };
        index.for_each_row(|source, target, row| {
            if index.is_symmetric() && source > target {
                return;
            }
            if let Some(value) = values.get_mut(row) {
                each(source, target, value);
            }
        });
    }

    /// Visits the targets of `source`, in insertion order, with the values of the pairs to write.
    #[inline]
    pub fn for_each_of(&mut self, source: Entity, mut each: impl FnMut(Entity, Mut<'_, R>)) {
        for target in self.view.targets(source) {
            if let Some(value) = self.get_mut(source, target) {
                each(target, value);
            }
        }
    }

    /// Visits the sources of `target`, in the order of [`sources`](RelationView::sources), with the values of the
    /// pairs to write.
    #[inline]
    pub fn for_each_to(&mut self, target: Entity, mut each: impl FnMut(Entity, Mut<'_, R>)) {
        let Some((index, mut values)) = self.index.zip(self.values_mut()) else { return };
        for source in index.sources(target) {
            let row = index.row_of_known(source, target);
            if let Some(value) = row.and_then(|row| values.get_mut(row)) {
                each(source, value);
            }
        }
    }
}

impl<'w, R: StoredRelation> Deref for PairsMut<'w, R> {
    type Target = RelationView<'w, 'w>;

    #[inline]
    fn deref(&self) -> &RelationView<'w, 'w> {
        &self.view
    }
}

/// What is fetched of the world.
type Fetched<R> = (Option<Res<'static, PairStore>>, Option<ResMut<'static, PairData<R>>>);

/// State of [`PairsMut`].
#[doc(hidden)]
pub struct PairsMutState<R: StoredRelation>(<Fetched<R> as SystemParam>::State);

// SAFETY: every access goes through `Fetched`, whose own implementation declares it in `init_access` and performs
// it in `get_param`. Test: `pairs_mut_conflicts_with_readers_of_its_values_only`.
unsafe impl<R: StoredRelation> SystemParam for PairsMut<'_, R> {
    type State = PairsMutState<R>;
    type Item<'w, 's> = PairsMut<'w, R>;

    fn init_state(world: &mut World) -> Self::State {
        relation_id::<R>(world);
        PairsMutState(<Fetched<R>>::init_state(world))
    }

    fn init_access(state: &Self::State, meta: &mut SystemMeta, access: &mut SystemAccess, world: &mut World) {
        let mut own = SystemAccess::default();
        <Fetched<R>>::init_access(&state.0, meta, &mut own, world);
        let what = ["PairsMut", "writes", "or one of its query terms reads or writes"];
        refuse_conflict::<R>(what, &own, access, meta, world);
        <Fetched<R>>::init_access(&state.0, meta, access, world);
    }

    unsafe fn get_param<'w, 's>(
        state: &'s mut Self::State,
        meta: &SystemMeta,
        world: UnsafeWorldCell<'w>,
        tick: Tick,
    ) -> Result<Self::Item<'w, 's>, SystemParamValidationError> {
        // SAFETY: the access was declared by the same parameter in `init_access`, and `world` is the world of
        // this state, as the caller promises.
        let (store, column) = unsafe { <Fetched<R>>::get_param(&mut state.0, meta, world, tick)? };
        let store = store.map(Res::into_inner);
        let index = store.and_then(|store| Some(store.relation(store.registry().known::<R>()?)));
        let view = RelationView::new(index, None);
        Ok(PairsMut { index, view, column, last_run: meta.get_last_run(), this_run: tick })
    }
}

/// Shows the pairs, without their values.
impl<R: StoredRelation> fmt::Debug for PairsMut<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.view).finish()
    }
}
