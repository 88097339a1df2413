//! What [`Cached`](super::Cached) keeps from one run to the next: the nearest holder above every entity.
//!
//! It is brought up to date when a query starts. Changes are known from the journal of the relation and from observers
//! of the components that decide which entities are holders; only what lies below a change is looked at again.

use super::climb::ClimbMemo;
use crate::{
    fetch::RowHint,
    ops::{despawn_after, ensure_store, relation_id},
    relation::Relation,
    store::{Cursor, HashIndex, Pages, RelationIndex},
};
use alloc::{collections::VecDeque, vec::Vec};
use bevy_ecs::{
    component::ComponentId,
    entity::Entity,
    lifecycle::{Add, Remove},
    observer::{Observer, On},
    query::FilteredAccess,
    system::Commands,
    world::World,
};
use bevy_platform::sync::{
    Arc, Mutex, MutexGuard, PoisonError, Weak,
    atomic::{AtomicBool, Ordering},
};

/// The nearest holder above every source of a relation.
#[derive(Default)]
pub(super) struct CachedIndex {
    /// By entity index: the number of the holder plus one, or 0 if there is none.
    above: Pages<u32>,
    holders: Vec<(Entity, RowHint)>,
    /// Of the holders.
    numbers: HashIndex,
    /// Up to where the journal has been read.
    cursor: Cursor,
    /// A holder was not where it was last.
    moved: AtomicBool,
}

/// The keys of [`CachedIndex::numbers`].
fn keys(holders: &[(Entity, RowHint)]) -> impl Fn(usize) -> u64 {
    |at| holders[at].0.to_bits()
}

impl CachedIndex {
    /// The nearest holder above `entity`, and where it was last.
    #[inline]
    pub(super) fn above(&self, entity: Entity) -> Option<&(Entity, RowHint)> {
        let number = self.above.get(entity.index_u32()).checked_sub(1)?;
        Some(&self.holders[number as usize])
    }

    /// Notes that a holder was found elsewhere, if it was.
    #[inline]
    pub(super) fn note_place(&self, before: RowHint, now: RowHint) {
        if before != now {
            self.moved.store(true, Ordering::Relaxed);
        }
    }

    fn new(index: &RelationIndex, cursor: Cursor, holds: &mut impl FnMut(Entity) -> Option<RowHint>) -> Self {
        let mut memo = ClimbMemo::default();
        let mut above = Pages::default();
        for source in index.all_sources() {
            if let Some(number) = memo.above(index, source, holds) {
                *above.get_mut(source.index_u32()) = number as u32 + 1;
            }
        }
        let holders = memo.holders;
        let mut numbers = HashIndex::default();
        for number in 0..holders.len() {
            numbers.insert(number, keys(&holders));
        }
        Self { above, holders, numbers, cursor, moved: AtomicBool::new(false) }
    }

    /// Looks again at the entities in `queue`, and at those below them if that makes a difference. False if that
    /// is more work than to look at all.
    fn refresh(
        &mut self,
        index: &RelationIndex,
        mut queue: VecDeque<Entity>,
        holds: &mut impl FnMut(Entity) -> Option<RowHint>,
    ) -> bool {
        let mut left = index.len();
        // Sources of one target come one after the other: what was found from it last.
        let mut last = None;
        while let Some(entity) = queue.pop_front() {
            let Some(less) = left.checked_sub(1) else { return false };
            left = less;
            let above = index.targets(entity).find_map(|target| {
                let found = match last {
                    Some((known, found)) if known == target => found,
                    _ => match holds(target) {
                        Some(place) => self.number_of(target, place),
                        None => self.above.get(target.index_u32()),
                    },
                };
                last = Some((target, found));
                (found != 0).then_some(found)
            });
            let old = core::mem::replace(self.above.get_mut(entity.index_u32()), above.unwrap_or(0));
            if old != above.unwrap_or(0) && index.is_target(entity) {
                last = None;
                if holds(entity).is_none() {
                    queue.extend(index.sources(entity));
                }
            }
        }
        // Holders that are no longer above any entity pile up.
        self.holders.len() <= index.len().max(64)
    }

    /// The number of a holder plus one.
    fn number_of(&mut self, holder: Entity, place: RowHint) -> u32 {
        let number = self.numbers.get(holder.to_bits(), keys(&self.holders)).unwrap_or_else(|| {
            self.holders.push((holder, place));
            let number = self.holders.len() - 1;
            self.numbers.insert(number, keys(&self.holders));
            number
        });
        number as u32 + 1
    }
}

/// Entities that became holders, or ceased to be.
#[derive(Default)]
struct Touched(Mutex<Vec<Entity>>);

/// When this many were touched, all entities are looked at again.
const MAX_TOUCHED: usize = 1 << 14;

impl Touched {
    fn note(&self, entity: Entity) {
        let mut entities = lock(&self.0);
        if entities.len() < MAX_TOUCHED {
            entities.push(entity);
        }
    }
}

/// A panic under the lock leaves nothing half done that is not done anew.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A [`CachedIndex`], and how it is kept right.
pub(super) struct CacheUpdater {
    index: Mutex<Arc<CachedIndex>>,
    touched: Arc<Touched>,
    /// How many observers note which entities were touched.
    observers: usize,
    /// They go when this does.
    _owner: Arc<()>,
}

impl CacheUpdater {
    /// Starts to watch pairs of `R`, and the components that `holders` depend on.
    pub(super) fn new<R: Relation>(world: &mut World, holders: &FilteredAccess) -> Self {
        let id = relation_id::<R>(world);
        ensure_store(world).keep_journal(id);
        let touched = Arc::<Touched>::default();
        let filters = holders.filter_sets().iter();
        let mut components: Vec<ComponentId> =
            filters.flat_map(|filters| filters.with().iter().chain(filters.without().iter())).collect();
        components.sort_unstable();
        components.dedup();
        let owner = Arc::<()>::default();
        let mut observers = 0;
        if !components.is_empty() {
            let watching = watch(world, &components, &touched);
            observers = watching.len();
            despawn_after(world, Arc::downgrade(&owner), watching.into());
        }
        Self { index: Mutex::default(), touched, observers, _owner: owner }
    }

    /// The index, brought up to date. `None` if it is not known what changed, after the store was lost. `holds` says
    /// where an entity is if it is a holder.
    pub(super) fn current(
        &self,
        index: &RelationIndex,
        mut holds: impl FnMut(Entity) -> Option<RowHint>,
    ) -> Option<Arc<CachedIndex>> {
        let journal = index.journal()?;
        let mut kept = lock(&self.index);
        let touched = core::mem::take(&mut *lock(&self.touched.0));
        // Each observer holds a reference: if one was despawned, it is not known which entities were touched.
        let watched = Arc::weak_count(&self.touched) >= self.observers;
        let changes = journal.since(kept.cursor).filter(|_| watched && touched.len() < MAX_TOUCHED);
        if !(changes.is_some_and(<[_]>::is_empty) && touched.is_empty()) {
            let refreshed = changes.zip(Arc::get_mut(&mut kept)).is_some_and(|(changes, kept)| {
                let below = touched.iter().flat_map(|&entity| index.sources(entity));
                let queue = changes.iter().map(|change| change.source).chain(below).collect();
                // Should a panic come between, everything is looked at next time.
                kept.cursor = Cursor::default();
                let refreshed = kept.refresh(index, queue, &mut holds);
                kept.cursor = journal.cursor();
                refreshed
            });
            if !refreshed {
                *kept = Arc::new(CachedIndex::new(index, journal.cursor(), &mut holds));
            }
        }
        if kept.moved.load(Ordering::Relaxed)
            && let Some(kept) = Arc::get_mut(&mut kept)
        {
            *kept.moved.get_mut() = false;
            for (holder, place) in &mut kept.holders {
                *place = holds(*holder).unwrap_or(*place);
            }
        }
        Some(kept.clone())
    }
}

/// Notes which entities `components` are added to and removed from, while a state reads them.
fn watch(world: &mut World, components: &[ComponentId], touched: &Arc<Touched>) -> [Entity; 2] {
    let weak = Arc::downgrade(touched);
    let added = Observer::new(move |on: On<Add<()>>, mut commands: Commands| match weak.upgrade() {
        Some(touched) => touched.note(on.entity),
        // Both are triggered again before the commands are applied, where several entities change at once.
        None => commands.entity(on.observer()).try_despawn(),
    });
    let weak = Arc::downgrade(touched);
    let removed = Observer::new(move |on: On<Remove<()>>, mut commands: Commands| {
        if weak.strong_count() == 0 {
            commands.entity(on.observer()).try_despawn();
        }
        // The component is still there; commands come when it is gone.
        let (entity, weak) = (on.entity, Weak::clone(&weak));
        commands.queue(move |_: &mut World| {
            if let Some(touched) = weak.upgrade() {
                touched.note(entity);
            }
        });
    });
    [added, removed].map(|observer| world.spawn(observer.with_components(components.iter().copied())).id())
}
