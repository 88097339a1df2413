//! `PairQuery` that writes the data of both ends.
//!
//! What a program can do there: write one component at both ends, or one at each; in tables or in sparse sets; filter either end by
//! what is written; over all pairs, or those of one end; with a closure, or one pair at a time. The relations are of every kind
//! that stores pairs in another way, and entities may be disabled, or their own targets.

use crate::common::{Random, fewer, panic_message, reuse_index};
use bevy_ecs::{entity_disabling::Disabled, prelude::*, system::RunSystemOnce};
use bevy_relations::{prelude::*, system_param::PairEdge};
use core::ptr;

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
struct Lends(#[expect(dead_code, reason = "where values lie is what matters")] u32);

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo;

#[derive(Relation)]
#[relation(symmetric)]
struct Near;

#[derive(Relation)]
#[relation(ordered)]
struct Follows;

#[derive(Relation)]
#[relation(exclusive, storage = "Table")]
struct TeamOf;

#[derive(Relation)]
#[relation(exclusive, storage = "Fragmenting")]
struct Rents;

/// How often an entity was given as a source and as a target.
#[derive(Component, Clone, Copy, Default, PartialEq, Debug)]
struct Count {
    as_source: u32,
    as_target: u32,
}

#[derive(Component, Clone, Copy, Default, PartialEq, Debug)]
#[component(storage = "SparseSet")]
struct SparseCount(Count);

#[derive(Component)]
struct Mark;

/// A component that is counted in.
trait Counts: Component<Mutability = bevy_ecs::component::Mutable> + Default + Copy {
    fn count(&mut self) -> &mut Count;
}

impl Counts for Count {
    fn count(&mut self) -> &mut Count {
        self
    }
}

impl Counts for SparseCount {
    fn count(&mut self) -> &mut Count {
        &mut self.0
    }
}

/// How many entities there are, and how many pairs.
const SIZE: (usize, u32) = if cfg!(miri) { (4, 8) } else { (24, 60) };

/// Entities in several tables, some of them disabled, that have pairs with each other and with themselves.
fn random_world<R: Relation, C: Counts>(seed: u64, value: fn(u32) -> R) -> (World, Vec<Entity>) {
    let (mut world, mut random) = (World::new(), Random(seed));
    let mut all = Vec::new();
    for _ in 0..SIZE.0 {
        let mut entity = world.spawn_empty();
        if random.below(5) > 0 {
            entity.insert(C::default());
        }
        if random.below(3) > 0 {
            entity.insert(Mark);
        }
        if random.below(6) == 0 {
            entity.insert(Disabled);
        }
        all.push(entity.id());
    }
    for number in 0..SIZE.1 {
        let (source, target) = (random.pick(&all), random.pick(&all));
        world.insert_pair(source, value(number), target).unwrap();
    }
    (world, all)
}

fn counts<C: Counts>(world: &World, all: &[Entity]) -> Vec<Option<Count>> {
    all.iter().map(|&entity| world.get::<C>(entity).map(|&count| *{ count }.count())).collect()
}

/// Which pairs are visited.
#[derive(Clone, Copy, Debug)]
enum Of {
    All,
    Source(Entity),
    Target(Entity),
}

/// Both ends of a pair are alive at once: each is written before and after the other.
fn meet<C: Counts>(mut source: Mut<C>, mut target: Mut<C>) {
    let (source, target) = (source.count(), target.count());
    assert!(!ptr::eq(source, target), "two references to one component");
    source.as_source += 1;
    target.as_target += 1;
    source.as_source += 10;
    target.as_target += 10;
}

fn check<R: Relation, C: Counts>(value: fn(u32) -> R) {
    for seed in 1..=fewer(8) as u64 {
        let (mut world, all) = random_world::<R, C>(seed, value);
        let visit = world.register_system(visit::<R, C>);
        let scopes = all.iter().flat_map(|&entity| [Of::Source(entity), Of::Target(entity)]);
        for of in [Of::All].into_iter().chain(scopes) {
            for is_lending in [false, true] {
                let expected = expected::<R, C>(&world, &all, of);
                world.run_system_with(visit, (of, is_lending)).unwrap();
                assert_eq!(counts::<C>(&world, &all), expected, "{of:?}, lending: {is_lending}");
            }
        }
    }
}

type BothEnds<'w, 's, R, C> = PairQuery<'w, 's, R, &'static mut C, &'static mut C, (), With<Mark>>;

fn visit<R: Relation, C: Counts>(In((of, is_lending)): In<(Of, bool)>, mut query: BothEnds<R, C>) {
    match of {
        Of::All => visit_all(&mut query, is_lending),
        Of::Source(source) => visit_all(&mut query.of_source(source), is_lending),
        Of::Target(target) => visit_all(&mut query.of_target(target), is_lending),
    }
}

fn visit_all<R: Relation, C: Counts>(query: &mut BothEnds<R, C>, is_lending: bool) {
    if !is_lending {
        return query.for_each(|source, _, target| meet(source, target));
    }
    let mut pairs = query.iter_lending();
    while let Some((source, edge, target)) = pairs.fetch_next() {
        assert_ne!(edge.source, edge.target);
        meet(source, target);
    }
}

/// The counts after one more visit.
fn expected<R: Relation, C: Counts>(world: &World, all: &[Entity], of: Of) -> Vec<Option<Count>> {
    let mut counts = counts::<C>(world, all);
    let place = |entity: Entity| all.iter().position(|&at| at == entity).unwrap();
    let is_seen = |entity: Entity| !world.entity(entity).contains::<Disabled>();
    for &source in all.iter().filter(|&&source| is_seen(source)) {
        for target in world.pairs::<R>().targets(source) {
            let is_meant = match of {
                Of::All => true,
                Of::Source(only) => only == source,
                Of::Target(only) => only == target,
            };
            let passes = is_seen(target) && world.entity(target).contains::<Mark>() && source != target;
            let (at, of_target) = (place(source), place(target));
            if is_meant && passes && counts[at].is_some() && counts[of_target].is_some() {
                counts[at].as_mut().unwrap().as_source += 11;
                counts[of_target].as_mut().unwrap().as_target += 11;
            }
        }
    }
    counts
}

#[test]
fn a_target_is_written_with_each_of_its_sources() {
    check::<_, Count>(|_| Likes);
    check::<_, SparseCount>(|_| DockedTo);
    check::<_, Count>(|_| Rents);
    // An interpreter takes half a minute for each.
    if cfg!(miri) {
        return;
    }
    check::<_, SparseCount>(|_| Likes);
    check::<_, Count>(Lends);
    check::<_, Count>(|_| DockedTo);
    check::<_, Count>(|_| Near);
    check::<_, Count>(|_| Follows);
    check::<_, Count>(|_| TeamOf);
    check::<_, SparseCount>(|_| TeamOf);
}

#[test]
fn a_target_is_written_after_its_children_in_their_order() {
    let mut world = World::new();
    let parent = world.spawn(Count::default()).id();
    let children: Vec<Entity> = (0..3).map(|_| world.spawn(Count::default()).id()).collect();
    world.entity_mut(parent).add_children(&children[1..]).insert_children(0, &children[..1]);
    let number = move |mut query: PairQuery<ChildOf, &mut Count, &mut Count>| {
        query.of_target(parent).for_each(|mut child, _, mut parent| {
            parent.as_target += 1;
            child.as_source = parent.as_target;
        });
    };
    world.run_system_once(number).unwrap();
    let numbers = children.iter().map(|&child| world.get::<Count>(child).unwrap().as_source);
    assert!(numbers.eq([1, 2, 3]));
}

#[test]
fn a_target_is_its_own_source_where_different_components_are_written() {
    let mut world = World::new();
    let both = world.spawn((Count::default(), SparseCount::default())).id();
    world.insert_pair(both, Likes, both).unwrap();
    let write = |mut query: PairQuery<Likes, &mut Count, &mut SparseCount>| {
        query.for_each(|mut source, edge, mut target| {
            assert_eq!(edge.source, edge.target);
            source.as_source += 1;
            target.0.as_target += 1;
        });
    };
    world.run_system_once(write).unwrap();
    let found =
        (world.get::<Count>(both).unwrap().as_source, world.get::<SparseCount>(both).unwrap().0.as_target);
    assert_eq!(found, (1, 1));
}

#[test]
fn pairs_of_a_dead_entity_are_none_also_if_its_index_is_that_of_another() {
    let mut world = World::new();
    let [dead, target] = [(); 2].map(|()| world.spawn(Count::default()).id());
    world.insert_pair(dead, DockedTo, target).unwrap();
    world.insert_pair(target, DockedTo, dead).unwrap();
    world.despawn(dead);
    let other = reuse_index(&mut world, dead);
    world.entity_mut(other).insert((Count::default(), Pair(DockedTo, target)));
    world.insert_pair(target, DockedTo, other).unwrap();
    let meet_all = move |mut query: PairQuery<DockedTo, &mut Count, &mut Count>| {
        query.of_source(dead).for_each(meet);
        query.of_target(dead).for_each(meet);
        assert!(query.of_source(dead).iter_lending().fetch_next().is_none());
        assert!(query.of_target(dead).iter_lending().fetch_next().is_none());
    };
    fn meet(source: Mut<Count>, edge: PairEdge<'_, DockedTo>, target: Mut<Count>) {
        panic!("{edge:?}: {source:?}, {target:?}");
    }
    world.run_system_once(meet_all).unwrap();
}

#[test]
fn a_query_goes_on_after_a_panic_amid_a_row() {
    let mut world = World::new();
    let target = world.spawn(Count::default()).id();
    for _ in 0..40 {
        world.spawn((Count::default(), Pair(DockedTo, target)));
    }
    let panics = move |mut query: PairQuery<DockedTo, &mut Count, &mut Count>| {
        let mut left = 20;
        let message = panic_message(|| {
            query.of_target(target).for_each(|mut source, _, mut target| {
                (source.as_source, target.as_target) = (1, target.as_target + 1);
                left -= 1;
                assert!(left > 0, "enough");
            });
        });
        assert_eq!(message.as_deref(), Some("enough"));
        query.of_target(target).for_each(|mut source, _, mut target| {
            (source.as_source, target.as_target) = (source.as_source + 1, target.as_target + 1);
        });
    };
    world.run_system_once(panics).unwrap();
    assert_eq!(world.get::<Count>(target).unwrap().as_target, 60);
    let sum: u32 = world.query::<&Count>().iter(&world).map(|count| count.as_source).sum();
    assert_eq!(sum, 60);
}

#[test]
fn a_child_that_is_listed_twice_comes_once_at_a_time() {
    use bevy_reflect::{PartialReflect, tuple_struct::DynamicTupleStruct};
    let mut world = World::new();
    let parent = world.spawn(Count::default()).id();
    let child = world.spawn((Count::default(), ChildOf(parent))).id();
    let mut twice = DynamicTupleStruct::default();
    twice.insert(vec![child, child, parent]);
    let _ = world.get_mut::<Children>(parent).unwrap().try_apply(&twice);
    assert_eq!(**world.get::<Children>(parent).unwrap(), [child, child, parent]);
    let meet_all = move |mut query: PairQuery<ChildOf, &mut Count, &mut Count>| {
        query.of_target(parent).for_each(|source, edge, target| {
            assert_ne!(edge.source, edge.target);
            meet(source, target);
        });
    };
    world.run_system_once(meet_all).unwrap();
    let (above, below) = (world.get::<Count>(parent).unwrap(), world.get::<Count>(child).unwrap());
    assert_eq!((above.as_source, below.as_target), (0, 0));
    assert_eq!(above.as_target, below.as_source);
}

#[test]
fn what_is_written_counts_as_changed_in_the_next_run_of_others_only() {
    let mut world = World::new();
    let target = world.spawn(Count::default()).id();
    for _ in 0..3 {
        world.spawn((Count::default(), Pair(DockedTo, target)));
    }
    let visits = |mut query: PairQuery<DockedTo, &mut Count, &mut Count, (), Changed<Count>>| {
        let mut visits = 0;
        query.for_each(|mut source, _, mut target| {
            visits += 1;
            (source.as_source, target.as_target) = (visits, visits);
        });
        visits
    };
    let written = |sources: Query<(), (Changed<Count>, With<Count>)>| sources.iter().count();
    let (visits, written) = (world.register_system(visits), world.register_system(written));
    let run = |world: &mut World| (world.run_system(visits).unwrap(), world.run_system(written).unwrap());
    assert_eq!(run(&mut world), (3, 4), "all are new");
    assert_eq!(run(&mut world), (0, 0), "its own writes are none of the changes since");
    world.get_mut::<Count>(target).unwrap().as_target = 0;
    assert_eq!(run(&mut world), (3, 4), "the target was written, and with it all its sources are");
    assert_eq!(world.get::<Count>(target).unwrap().as_target, 3);
}
