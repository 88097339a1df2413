//! What clearing an entity does to its pairs.

use super::*;

#[test]
fn pairs_that_an_observer_inserts_while_an_entity_is_cleared_stay() {
    let mut world = world_that_records_errors();
    let [alice, eve] = entities(&mut world);
    let ship = world.spawn((Ship, Pair(Likes, alice))).id();
    world.add_observer(move |on: On<Remove<Ship>>, mut commands: Commands| {
        commands.entity(on.entity).insert_pair(Likes, eve).insert(pairs![(Holds, eve)]);
    });
    world.entity_mut(ship).clear();
    assert_eq!(world.pairs::<Likes>().targets(ship).collect::<Vec<_>>(), [eve]);
    assert!(world.has_pair::<Holds>(ship, eve));
    world.despawn(eve);
    assert!(world.pairs_of(ship).is_empty());
    no_ghosts(&mut world);
}

#[test]
fn clearing_drops_the_values_of_pairs() {
    #[derive(Relation)]
    struct Owns(#[expect(dead_code, reason = "it is counted")] std::sync::Arc<u32>);
    let mut world = world_that_records_errors();
    let [bob, alice] = entities(&mut world);
    let value = std::sync::Arc::new(1);
    world.insert_pair(bob, Owns(value.clone()), alice).unwrap();
    world.insert_pair(alice, Owns(value.clone()), bob).unwrap();
    world.entity_mut(bob).clear();
    assert_eq!(std::sync::Arc::strong_count(&value), 2, "that of the pair with the entity stays");
    world.commands().entity(alice).queue(|mut alice: EntityWorldMut| _ = alice.clear());
    world.flush();
    assert_eq!(std::sync::Arc::strong_count(&value), 1);
    no_ghosts(&mut world);
}

#[test]
fn pairs_are_readable_when_clearing_reports_that_they_go() {
    #[derive(Resource, Default)]
    struct Seen(Vec<(Entity, Option<u32>)>);
    let mut world = world_that_records_errors();
    world.init_resource::<Seen>();
    let [alice] = entities(&mut world);
    let ship = world.spawn((Ship, Pair(Eats { grams: 4 }, alice))).id();
    world.add_observer(|on: On<PairRemoved<Eats>>, mut world: DeferredWorld| {
        let grams = world.pair_value::<Eats>(on.source, on.target).map(|eats| eats.grams);
        let alive = world.get_entity(on.source).is_ok_and(|entity| entity.contains::<Ship>());
        assert!(alive, "the entity still has its components");
        world.resource_mut::<Seen>().0.push((on.target, grams));
    });
    world.entity_mut(ship).clear();
    assert_eq!(world.resource::<Seen>().0, [(alice, Some(4))]);
    no_ghosts(&mut world);
}
