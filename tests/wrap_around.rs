//! What happens when the counter of changes has gone all the way around.
//!
//! It counts to four billion, which takes a minute if nothing is optimized.

use bevy_ecs::{change_detection::CHECK_TICK_THRESHOLD, prelude::*};
use bevy_relations::{
    prelude::*,
    query::{AddedPair, ChangedPair},
};

#[derive(Relation)]
struct Likes;

fn news(
    added: Query<Entity, AddedPair<Likes>>,
    changed: Query<Entity, ChangedPair<Likes>>,
) -> [Vec<Entity>; 2] {
    [added.iter().collect(), changed.iter().collect()]
}

/// Ticks that are too old are all the same to Bevy: of what was read and of what was written after that.
#[cfg(feature = "bevy_reflect")]
mod field {
    use super::*;
    use bevy_ecs::reflect::AppTypeRegistry;
    use bevy_reflect::Reflect;
    use bevy_relations::expr::{CompiledExpr, PairExpr, WorldFieldIndexExt};

    #[derive(Component, Reflect)]
    #[reflect(Component)]
    struct Level(u32);

    /// An index that is read, and after that written behind.
    pub(super) fn index(world: &mut World) -> CompiledExpr {
        world.init_resource::<AppTypeRegistry>();
        world.resource::<AppTypeRegistry>().write().register::<Level>();
        world.index_field::<Level>("0").unwrap();
        let levels: Vec<Entity> = world.spawn_batch((0..100).map(Level)).collect();
        let mut expr = PairExpr::parse("Level.0 == 4").unwrap().compile(world).unwrap();
        assert_eq!(expr.count(world), Ok(1));
        assert!(expr.explain(world).unwrap().contains("field index"));
        world.increment_change_tick();
        world.get_mut::<Level>(levels[7]).unwrap().0 = 4;
        expr
    }
}

/// A value that is written in place, and a component that is to show it.
#[cfg(feature = "bevy_reflect")]
mod mirror {
    use super::*;
    use bevy_ecs::system::RunSystemOnce;
    use bevy_reflect::Reflect;
    use bevy_relations::mirror::{MirroredPairs, WorldMirrorExt};

    #[derive(Relation, Reflect, Clone, PartialEq)]
    struct Owes(u32);

    /// An entity that owes something, which was written after its component was.
    pub(super) fn debtor(world: &mut World) -> Entity {
        world.mirror_pairs::<Owes>().unwrap();
        let bank = world.spawn_empty().id();
        let debtor = world.spawn(Pair(Owes(1), bank)).id();
        world.maintain_pairs();
        assert_eq!(shown(world, debtor), [1]);
        world
            .run_system_once(|mut debts: PairsMut<Owes>| debts.for_each_mut(|_, _, mut owes| owes.0 = 2))
            .unwrap();
        debtor
    }

    /// What the component shows.
    pub(super) fn shown(world: &World, debtor: Entity) -> Vec<u32> {
        let pairs = world.get::<MirroredPairs<Owes>>(debtor).unwrap();
        pairs.targets().map(|bank| pairs.get(bank).unwrap().0).collect()
    }
}

#[test]
fn an_old_pair_does_not_become_new_and_an_index_misses_no_change_when_the_counter_wraps_around() {
    let mut world = World::new();
    let [a, b] = [(); 2].map(|()| world.spawn_empty().id());
    let news = world.register_system(news);
    world.insert_pair(a, Likes, b).unwrap();
    assert_eq!(world.run_system(news).unwrap(), [[a], [a]]);
    #[cfg(feature = "bevy_reflect")]
    let (mut indexed, debtor) = (field::index(&mut world), mirror::debtor(&mut world));
    for _ in 0..=u32::MAX / CHECK_TICK_THRESHOLD {
        for _ in 0..CHECK_TICK_THRESHOLD {
            world.increment_change_tick();
        }
        assert!(world.check_change_ticks().is_some());
        assert!(world.run_system(news).unwrap().iter().all(Vec::is_empty));
    }
    world.insert_pair(b, Likes, a).unwrap();
    assert_eq!(world.run_system(news).unwrap(), [[b], [b]]);
    #[cfg(feature = "bevy_reflect")]
    {
        assert_eq!(indexed.count(&world), Ok(2));
        world.maintain_pairs();
        assert_eq!(mirror::shown(&world, debtor), [2]);
    }
}
