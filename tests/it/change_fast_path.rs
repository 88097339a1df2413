//! What readers of changes get of pairs that are changed on the fast path: with values and without, components of Bevy, many
//! sources moved at once, entity indices that are used again.

use crate::common::spawn;
use bevy_ecs::prelude::*;
use bevy_relations::{
    event::PairRemoved,
    prelude::*,
    query::{AddedPair, ChangedPair},
    system_param::RemovedPairs,
};

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct RidesOn;

#[derive(Relation)]
struct Owes(#[expect(dead_code, reason = "it is replaced")] u32);

#[test]
fn a_child_of_bevy_is_added_once_per_parent() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    fn news(q: Query<Entity, AddedPair<ChildOf>>) -> Vec<Entity> {
        q.iter().collect()
    }
    let id = world.register_system(news);
    world.entity_mut(a).insert(ChildOf(b));
    assert_eq!(world.run_system(id).unwrap(), [a]);
    assert!(world.run_system(id).unwrap().is_empty());
    world.entity_mut(b).insert(ChildOf(c));
    assert_eq!(world.run_system(id).unwrap(), [b]);
    world.entity_mut(a).insert(ChildOf(c));
    assert_eq!(world.run_system(id).unwrap(), [a]);
    world.move_sources::<ChildOf>(c, b).unwrap_err();
    assert!(world.run_system(id).unwrap().is_empty());
    world.check_pairs().unwrap();
}

#[test]
fn a_replaced_value_is_changed_and_not_added() {
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Owes(1), b).unwrap();
    fn news(
        added: Query<Entity, AddedPair<Owes>>,
        changed: Query<Entity, ChangedPair<Owes>>,
    ) -> (usize, usize) {
        (added.iter().count(), changed.iter().count())
    }
    let id = world.register_system(news);
    assert_eq!(world.run_system(id).unwrap(), (1, 1));
    world.insert_pair(a, Owes(2), b).unwrap();
    assert_eq!(world.run_system(id).unwrap(), (0, 1));
    world.remove_pair::<Owes>(a, b);
    world.insert_pair(a, Owes(2), b).unwrap();
    assert_eq!(world.run_system(id).unwrap(), (1, 1));
    assert_eq!(world.run_system(id).unwrap(), (0, 0));
    // The index is used again.
    world.despawn(a);
    let again = world.spawn_empty().id();
    assert_eq!(world.run_system(id).unwrap(), (0, 0));
    world.insert_pair(b, Owes(3), again).unwrap();
    assert_eq!(world.run_system(id).unwrap(), (1, 1));
    world.check_pairs().unwrap();
}

#[test]
fn moves_are_read_as_removed_depths_follow_and_dead_ends_are_refused() {
    let mut world = World::new();
    let [a, b, c, d] = spawn(&mut world);
    world.insert_pair(a, RidesOn, b).unwrap();
    world.insert_pair(c, RidesOn, d).unwrap();
    fn gone(mut r: RemovedPairs<RidesOn>) -> usize {
        r.read().count()
    }
    let id = world.register_system(gone);
    world.run_system(id).unwrap();
    assert_eq!(world.move_sources::<RidesOn>(b, c), Ok(1));
    assert_eq!(world.run_system(id).unwrap(), 1);
    world.check_pairs().unwrap();
    assert!(world.pairs::<RidesOn>().ancestors(a).eq([c, d]));
    // d would go below a, which is below it.
    assert!(world.move_sources::<RidesOn>(d, a).is_err());
    let dead = world.spawn_empty().id();
    world.despawn(dead);
    assert!(world.move_sources::<RidesOn>(d, dead).is_err());
    assert_eq!(world.move_sources::<RidesOn>(dead, d), Ok(0));
    // An observer that takes the new target away in the midst.
    world.add_observer(move |_: On<PairRemoved<RidesOn>>, mut commands: Commands| {
        commands.entity(d).try_despawn();
    });
    // Whether it comes before or after, no pair names an entity that is gone.
    let _ = world.move_sources::<RidesOn>(c, d);
    world.check_pairs().unwrap();
}
