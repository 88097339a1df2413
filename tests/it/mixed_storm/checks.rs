//! What must hold after each step of a history.

use super::{
    BUDGET, Balance, Bed, Below, Boards, Counts, Dances, Equips, Founds, Guides, Hauls, Holds, Known, Knows,
    LIVE, Laden, Lasts, Leads, Likes, Married, Moored, Price, Queues, Rows, RowsFor, Sits, Spouse, Takes,
    Teams, TeamsFor, Tools, Tows, Trades, Visits, Wears, Weighs, Wreck,
};
use crate::common::{all_entities, check_live_rows};
use bevy_ecs::{prelude::*, system::SystemState};
use bevy_relations::{live::PairDeltaKind, prelude::*, query::Target, relation::KeyedRelation};
use std::{collections::BTreeSet, sync::Arc};

fn actual(world: &World) -> BTreeSet<(Entity, Entity, Entity)> {
    let mut all = BTreeSet::new();
    for entity in all_entities(world) {
        for (relation, target) in world.pairs_of(entity) {
            assert!(all.insert((entity, relation, target)), "twice");
        }
    }
    all
}

macro_rules! check_tag {
    ($world:ident, $($number:literal $relation:ident),*) => {
        $({
            let mut state = SystemState::<(Pairs<$relation>, Query<Targets<$relation>>, Query<Sources<$relation>>)>::new($world);
            let mut by_term = SystemState::<(Query<Entity, Related<$relation>>, Query<Entity, Unrelated<$relation>>, PairQuery<$relation, Entity, Entity>, Query<(Entity, Target<$relation>)>, Pairs<$relation>)>::new($world);
            let (related, unrelated, mut by_pair, first, pairs) = by_term.get_mut($world).unwrap();
            let mut found: Vec<(Entity, Entity)> = Vec::new();
            by_pair.for_each(|source, _, target| found.push((source, target)));
            let mut expected: Vec<(Entity, Entity)> = pairs.iter().collect();
            found.sort_unstable(); expected.sort_unstable();
            assert_eq!(found, expected, stringify!($relation));
            for (entity, target) in &first { assert_eq!(pairs.targets(entity).next(), Some(*target)); }
            for &entity in &Vec::from_iter(expected.iter().map(|pair| pair.0)) { assert!(related.contains(entity) && !unrelated.contains(entity) && first.contains(entity)); }
            for entity in &related { assert!(pairs.targets(entity).next().is_some()); }
            for entity in &unrelated { assert!(pairs.targets(entity).next().is_none()); }
            let (pairs, targets, sources) = state.get($world).unwrap();
            for entity in all_entities($world) {
                let list: Vec<Entity> = pairs.targets(entity).collect();
                let by_query: Vec<Entity> = targets.get(entity).into_iter().flatten().collect();
                assert_eq!(list, by_query);
                for &target in &list {
                    assert!(pairs.has(entity, target) && pairs.sources(target).any(|source| source == entity));
                }
                let list: Vec<Entity> = pairs.sources(entity).collect();
                for &source in &list {
                    assert!(pairs.has(source, entity) && pairs.targets(source).any(|target| target == entity));
                }
                let _ = &sources;
            }
        })*
    };
}

/// Returns the number of values.
fn check_values<R: Relation + StoredOrKeyed>(world: &mut World) -> usize {
    let mut state = SystemState::<(Pairs<R>, Query<Targets<R>>, Query<Option<Target<R>>>)>::new(world);
    let (pairs, targets, first) = state.get(world).unwrap();
    let mut count = 0;
    let mut all: Vec<(Entity, Entity, u32)> = pairs.values().map(|(s, t, v)| (s, t, v.number())).collect();
    all.sort_unstable();
    let mut by_source = Vec::new();
    let mut by_target = Vec::new();
    for entity in all_entities(world) {
        let list: Vec<(Entity, u32)> = pairs.values_of(entity).map(|(t, v)| (t, v.number())).collect();
        assert_eq!(list.len(), pairs.targets(entity).count(), "each has a value");
        if let Ok(targets) = targets.get(entity) {
            let by_query: Vec<(Entity, u32)> = targets.with_values().map(|(t, v)| (t, v.number())).collect();
            assert_eq!(list, by_query);
        } else {
            assert!(list.is_empty());
        }
        if let Ok(Some(first)) = first.get(entity) {
            assert_eq!(list.first().copied(), Some((*first, first.value().unwrap().number())));
        } else {
            assert!(list.is_empty());
        }
        for &(target, number) in &list {
            assert_eq!(world.pair_value::<R>(entity, target).unwrap().number(), number);
            let relation = world.get_entity_of::<R>().unwrap();
            assert_eq!(
                world.pair_value_by_id::<R>(entity, PairId::new(relation, target)).unwrap().number(),
                number
            );
            assert_eq!(pairs.get(entity, target).unwrap().number(), number);
        }
        by_source.extend(list.iter().map(|&(t, n)| (entity, t, n)));
        by_target.extend(pairs.values_to(entity).map(|(s, v)| (s, entity, v.number())));
    }
    by_source.sort_unstable();
    by_target.sort_unstable();
    assert_eq!(all, by_source);
    assert_eq!(all, by_target);
    for &(source, target, _) in &all {
        let mirrored = R::SYMMETRIC && source != target;
        count += if mirrored { 1 } else { 2 };
    }
    count / 2
}

trait StoredOrKeyed {
    const SYMMETRIC: bool = false;
    fn number(&self) -> u32;
}

macro_rules! numbered {
    ($($name:ident $at:tt $symmetric:literal),*) => {$(
        impl StoredOrKeyed for $name {
            const SYMMETRIC: bool = $symmetric;
            fn number(&self) -> u32 { self.$at }
        }
    )*};
}

numbered!(
    Weighs 0 false, Holds 0 false, Hauls 0 false, Tows 0 false, Trades 0 true, Spouse 0 true, Counts 0 false, TeamsFor 0 false,
    RowsFor 0 false, Tools 1 false, Wears 1 false, Equips 1 false
);

fn check_keys<R: KeyedRelation<Key = u8>>(world: &World) {
    let pairs = world.pairs::<R>();
    for entity in all_entities(world) {
        let mut keys = BTreeSet::new();
        for (target, value) in pairs.values_of(entity) {
            assert!(keys.insert(*value.key()), "two pairs of one key");
            assert_eq!(pairs.target_by_key(entity, value.key()), Some(target));
        }
    }
}

fn check_ends(world: &World) {
    macro_rules! ends {
        ($($relation:ident: $source:expr, $target:expr;)*) => {
            $(for (source, target) in world.pairs::<$relation>().iter() {
                let name = stringify!($relation);
                if $source { assert!(world.get::<Laden>(source).is_some(), "{name} of {source}"); }
                if $target { assert!(world.get::<Wreck>(target).is_none(), "{name} to {target}"); }
            })*
        };
    }
    ends!(Guides: true, false; Moored: true, true; Founds: true, true; Queues: true, false; Takes: false, true;
        Knows: true, false; Hauls: true, false; Tows: false, true; Trades: false, true; Equips: true, true; Teams: true, false; TeamsFor: true, false; Rows: false, true; RowsFor: false, true; Lasts: true, false; Tools: true, false;);
}

pub(super) fn check(bed: &mut Bed, seed: usize) {
    let Bed { world, deltas, by_delta, live } = bed;
    world.flush();
    let actual = actual(world);
    world.check_pairs().unwrap();
    // Deltas tell what has changed.
    {
        let mut deltas = deltas.get_mut(world).unwrap();
        match deltas.read() {
            Ok(changes) => {
                for change in changes {
                    let pair = (change.source, change.relation, change.target);
                    match change.kind {
                        PairDeltaKind::Inserted => assert!(by_delta.insert(pair), "inserted twice: {pair:?}"),
                        PairDeltaKind::Removed => assert!(by_delta.remove(&pair), "removed twice: {pair:?}"),
                        _ => assert!(by_delta.contains(&pair), "replaced, but not there: {pair:?}"),
                    }
                }
                assert_eq!(*by_delta, actual, "what deltas report");
            }
            Err(_) => *by_delta = actual.clone(),
        }
    }
    if seed % 4 != 3 {
        let balance = &world.resource::<Balance>().0;
        let by_event: BTreeSet<_> = balance
            .iter()
            .filter(|(pair, count)| {
                assert!((0..=1).contains(*count), "{pair:?} counts {count}");
                **count == 1
            })
            .map(|(pair, _)| *pair)
            .collect();
        assert_eq!(by_event, actual, "what events report");
    }
    let Balance(_, narrowed, pairs) = world.resource::<Balance>();
    for (number, observed) in pairs.iter().enumerate() {
        let expected: BTreeSet<_> = actual
            .iter()
            .copied()
            .filter(|&(_, r, t)| observed.relation().matches(r) && observed.target().matches(t))
            .collect();
        let found: BTreeSet<_> = narrowed
            .iter()
            .filter(|((of, ..), count)| {
                assert!((0..=1).contains(*count), "{number} counts {count}");
                *of == number && **count == 1
            })
            .map(|((_, s, r, t), _)| (*s, *r, *t))
            .collect();
        assert_eq!(found, expected, "what observers of {observed:?} see");
    }
    check_keys::<Wears>(world);
    check_keys::<Equips>(world);
    check_keys::<Tools>(world);
    macro_rules! all {
        ($($number:literal $tag:ident),*; $($vnumber:literal $valued:ident),*; $($knumber:literal $keyed:ident),*) => {{
            check_tag!(world, $($number $tag),*, $($vnumber $valued),*, $($knumber $keyed),*);
            0 $(+ check_values::<$valued>(world))* $(+ check_values::<$keyed>(world))*
        }};
    }
    let typed = each!(all!());
    // Values by id.
    let known = world.resource::<Known>();
    let mut by_id = 0;
    for &(source, relation, target) in &actual {
        if let Some(at) = known.spawned.iter().position(|&spawned| spawned == relation) {
            let value = world.pair_value_by_id::<Price>(source, PairId::new(relation, target)).is_some();
            assert_eq!(value, (1..5).contains(&at));
            if value {
                by_id += if at == 3 && source != target { 1 } else { 2 };
            }
        }
    }
    if known.kept.is_none() {
        assert_eq!(Arc::strong_count(&known.counter), 1 + typed + by_id / 2, "values are dropped once");
    }
    check_live_rows(world, live, &LIVE);
}

/// Nothing acts while ends are looked at.
pub(super) fn settle(bed: &mut Bed) {
    let budget = BUDGET.replace(0);
    bed.world.maintain_pairs();
    bed.world.check_constraints();
    bed.world.flush();
    BUDGET.set(budget);
    check_ends(&bed.world);
}
