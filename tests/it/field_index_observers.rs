//! Indices of fields that are read in the midst of operations: by observers, which have ticks of their own, while Bevy inserts
//! with the tick at which the operation began.

use bevy_ecs::{prelude::*, reflect::AppTypeRegistry};
use bevy_reflect::Reflect;
use bevy_relations::{
    expr::{PairExpr, WorldFieldIndexExt},
    prelude::*,
};

#[derive(Component, Reflect)]
#[reflect(Component)]
struct Level(i32);

#[derive(Component, Reflect)]
#[component(summary_tick)]
#[reflect(Component)]
struct Grade(i32);

#[derive(Component, Reflect)]
#[component(storage = "SparseSet")]
#[reflect(Component)]
struct Mood(i32);

#[derive(Component)]
struct Marked;

#[derive(Expression)]
#[expr("Level.0 == 4")]
struct FourthLevel;

#[derive(Expression)]
#[expr("Grade.0 == 4")]
struct FourthGrade;

#[derive(Expression)]
#[expr("Mood.0 == 4")]
struct FourthMood;

macro_rules! test_reads_of_observers {
    ($component:ident, $expression:ty, $text:literal) => {{
        let mut world = World::new();
        world.init_resource::<AppTypeRegistry>();
        world.resource::<AppTypeRegistry>().write().register::<$component>();
        world.index_field::<$component>("0").unwrap();
        world.spawn_batch((100..300).map($component));
        fn read(mut found: ExprQuery<$expression>, all: Query<&$component>) {
            let expected = all.iter().filter(|component| component.0 == 4).count();
            assert_eq!(found.count(), Ok(expected), $text);
        }
        for _ in 0..2 {
            world.add_observer(|_: On<Add<$component>>, f: ExprQuery<$expression>, q: Query<&$component>| {
                read(f, q)
            });
            world.add_observer(
                |_: On<Insert<$component>>, f: ExprQuery<$expression>, q: Query<&$component>| read(f, q),
            );
            world.add_observer(
                |_: On<Discard<$component>>, f: ExprQuery<$expression>, q: Query<&$component>| read(f, q),
            );
            world.add_observer(|_: On<Discard<Marked>>, f: ExprQuery<$expression>, q: Query<&$component>| {
                read(f, q)
            });
        }
        let mut expr = PairExpr::parse($text).unwrap().compile(&mut world).unwrap();
        let mut check = |world: &mut World, expected| {
            assert_eq!(expr.count(world), Ok(expected), $text);
            assert!(expr.explain(world).unwrap().contains("field index"));
        };
        for is_cleared in [false, true, false] {
            let clear = |world: &mut World| {
                if is_cleared {
                    world.clear_trackers()
                }
            };
            check(&mut world, 0);
            let all: Vec<Entity> = world.spawn_batch((0..5).map(|_| (Marked, $component(4)))).collect();
            check(&mut world, 5);
            clear(&mut world);
            world.entity_mut(all[0]).insert((Marked, $component(5)));
            check(&mut world, 4);
            world.entity_mut(all[0]).insert((Marked, $component(4)));
            check(&mut world, 5);
            clear(&mut world);
            let values = [5, 4, 5, 4, 5];
            world.insert_batch(all.iter().copied().zip(values.map($component)));
            check(&mut world, 2);
            world.entity_mut(all[0]).remove::<$component>();
            clear(&mut world);
            check(&mut world, 2);
            world.entity_mut(all[0]).insert((Marked, $component(4)));
            check(&mut world, 3);
            clear(&mut world);
            world.entity_mut(all[0]).remove::<Marked>();
            check(&mut world, 3);
            clear(&mut world);
            check(&mut world, 3);
            all.into_iter().for_each(|entity| assert!(world.despawn(entity)));
            clear(&mut world);
        }
        world.check_pairs().unwrap();
    }};
}

#[test]
fn what_is_inserted_after_an_observer_has_read_is_found() {
    test_reads_of_observers!(Level, FourthLevel, "Level.0 == 4");
    test_reads_of_observers!(Grade, FourthGrade, "Grade.0 == 4");
    test_reads_of_observers!(Mood, FourthMood, "Mood.0 == 4");
}
