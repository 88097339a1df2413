//! Values of pairs that take no memory, a page of it, or start at a page: inserted in every way, copied, written in place and given back.

use crate::common::{size, spawn};
use bevy_ecs::{prelude::*, system::RunSystemOnce};
use bevy_relations::{
    prelude::*,
    query::Target,
    snapshot::{PairFilter, PairSnapshot},
};

const COUNT: usize = size(40, 12);

#[derive(Relation, Clone, PartialEq, Debug, Default)]
#[repr(align(4096))]
struct Page(usize);

#[derive(Relation, Clone, PartialEq, Debug, Default)]
#[relation(exclusive, storage = "Table")]
#[repr(align(64))]
struct Line(usize);

#[derive(Relation, Clone, PartialEq, Debug)]
struct Large([u8; 1 << 14]);

impl Default for Large {
    fn default() -> Self {
        Self([7; 1 << 14])
    }
}

#[derive(Relation, Clone, PartialEq, Debug, Default)]
struct Braces {}

#[derive(Relation, Clone, PartialEq, Debug, Default)]
struct Unit(());

#[derive(Relation, Clone, PartialEq, Debug, Default)]
#[relation(symmetric)]
struct Empty([u64; 0]);

#[derive(Relation, Clone, PartialEq, Debug, Default)]
#[relation(traversable)]
#[repr(align(128))]
struct Nothing {}

fn is_aligned<T>(value: &T) -> bool {
    (&raw const *value).addr().is_multiple_of(align_of::<T>())
}

#[track_caller]
fn check<R: Relation + PartialEq + core::fmt::Debug>(world: &World, of: impl Fn(Entity, Entity) -> R) {
    let pairs = world.pairs::<R>();
    for (source, target, value) in pairs.values() {
        assert!(is_aligned(value));
        assert_eq!(value, &of(source, target));
        assert_eq!(pairs.get(source, target), Some(value));
    }
    assert_eq!(pairs.values().count(), pairs.len());
}

#[test]
fn values_of_any_size_and_alignment_are_stored_copied_and_given_back() {
    let mut world = World::new();
    let entities: Vec<Entity> = (0..COUNT).map(|_| world.spawn_empty().id()).collect();
    let number =
        |source: Entity, target: Entity| source.index_u32() as usize * 100 + target.index_u32() as usize;
    for at in 0..COUNT {
        for step in 0..5 {
            let (source, target) = (entities[at], entities[(at + step) % COUNT]);
            world.insert_pair(source, Page(number(source, target)), target).unwrap();
            world.insert_pair(source, Line(number(source, target)), target).unwrap();
            world.insert_pairs(source, [(Unit(()), target)]).unwrap();
            world.entity_mut(source).insert((Pair(Braces {}, target), Pair(Empty([]), target)));
            world.insert_pair_batch([(source, Large::default(), target)]).unwrap();
            let _cycle = world.insert_pair(source, Nothing {}, target);
        }
    }
    let all = |world: &World| {
        world.check_pairs().unwrap();
        check(world, |source, target| Page(number(source, target)));
        check(world, |source, target| Line(number(source, target)));
        check(world, |_, _| Large::default());
        // What takes no memory is not stored as a value.
        let empty =
            [world.pairs::<Braces>().len(), world.pairs::<Unit>().len(), world.pairs::<Empty>().len()];
        (world.pairs::<Page>().len(), world.pairs::<Large>().len(), empty)
    };
    let before = all(&world);
    assert_eq!((before.0, before.1, before.2[0], before.2[1]), (5 * COUNT, 5 * COUNT, 5 * COUNT, 5 * COUNT));
    let snapshot = PairSnapshot::take(&mut world, PairFilter::all()).unwrap();
    for &entity in &entities {
        world.remove_pairs_by_id(entity, PairId::ALL);
    }
    assert_eq!(all(&world), (0, 0, [0; 3]));
    snapshot.apply(&mut world).unwrap();
    assert_eq!(all(&world), before);
    let clone = world.entity_mut(entities[3]).clone_and_spawn();
    assert_eq!(world.pairs::<Page>().values_of(clone).count(), 5);
    assert!(world.pairs::<Page>().values_of(clone).all(|(_, value)| is_aligned(value)));
    world.despawn(clone);
    world.despawn(entities[1]);
    all(&world);
}

#[test]
fn values_of_any_alignment_are_read_and_written_in_systems() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    world.insert_pairs(a, [(Page(1), b), (Page(2), c)]).unwrap();
    world.insert_pair(b, Line(3), c).unwrap();
    world
        .run_system_once(|mut pages: PairsMut<Page>, mut lines: PairsMut<Line>| {
            pages.for_each_mut(|_, _, mut page| page.0 += 10);
            lines.for_each_mut(|_, _, mut line| line.0 += 10);
        })
        .unwrap();
    let seen = world.run_system_once(|pages: Query<Targets<Page>>, lines: Query<Target<Line>>| {
        let pages = pages.iter().flat_map(|targets| targets.with_values().map(|(_, value)| value));
        let lines = lines.iter().filter_map(|target| target.value());
        let mut seen: Vec<usize> =
            pages.inspect(|page| assert!(is_aligned(*page))).map(|page| page.0).collect();
        seen.extend(lines.inspect(|line| assert!(is_aligned(*line))).map(|line| line.0));
        seen
    });
    assert_eq!(seen.unwrap(), [11, 12, 13]);
}
