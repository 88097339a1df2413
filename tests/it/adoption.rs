//! Bevy's relationships as relations: whichever API writes, both show the same at once.

use crate::common::{CrewOf, take_reported_errors, world_that_records_errors};
use bevy_app::App;
use bevy_ecs::{
    entity::{EntityCloner, EntityHashSet},
    prelude::*,
    relationship::{Relationship, RelationshipTarget},
    system::RunSystemOnce,
};
use bevy_relations::{
    error::{InsertPairError, TraitsError},
    prelude::*,
};

#[derive(Relation)]
struct Likes;

#[derive(Component, Clone, Debug, PartialEq)]
#[relationship(relationship_target = Guests)]
struct GuestOf(Entity);

#[derive(Component)]
#[relationship_target(relationship = GuestOf, linked_spawn)]
struct Guests(EntityHashSet);

#[derive(Component, Debug, PartialEq)]
#[relationship(relationship_target = Drives)]
struct DrivenBy(Entity);

#[derive(Component)]
#[relationship_target(relationship = DrivenBy)]
struct Drives(Entity);

#[derive(Component, Clone, Debug, PartialEq)]
#[relationship(relationship_target = Admirers, allow_self_referential)]
struct Admires(Entity);

#[derive(Component)]
#[relationship_target(relationship = Admires)]
struct Admirers(Vec<Entity>);

/// Component and pairs of `C` agree on every entity.
fn assert_mirrors<C: Relationship>(world: &mut World) {
    world.check_pairs().unwrap();
    let mut components: Vec<(Entity, Entity)> = world
        .query::<(Entity, &C)>()
        .iter(world)
        .map(|(source, component)| (source, component.get()))
        .collect();
    let mut pairs: Vec<(Entity, Entity)> = world.pairs::<C>().iter().collect();
    components.sort_unstable();
    pairs.sort_unstable();
    assert_eq!(components, pairs);
}

/// The same, and so do the collections on every target.
fn assert_agrees<C: Relationship>(world: &mut World) {
    assert_mirrors::<C>(world);
    let collections: Vec<(Entity, Vec<Entity>)> = world
        .query::<(Entity, &C::RelationshipTarget)>()
        .iter(world)
        .map(|(target, sources)| (target, sources.iter().collect()))
        .collect();
    assert_eq!(collections.iter().map(|(_, sources)| sources.len()).sum::<usize>(), world.pairs::<C>().len());
    for (target, mut sources) in collections {
        let mut ours: Vec<Entity> = world.pairs::<C>().sources(target).collect();
        sources.sort_unstable();
        ours.sort_unstable();
        assert_eq!(sources, ours);
    }
}

/// The same, and the order of children.
fn assert_children_agree(world: &mut World) {
    assert_agrees::<ChildOf>(world);
    let parents: Vec<(Entity, Vec<Entity>)> = world
        .query::<(Entity, &Children)>()
        .iter(world)
        .map(|(parent, children)| (parent, children.to_vec()))
        .collect();
    for (parent, children) in parents {
        assert_eq!(world.pairs::<ChildOf>().sources(parent).collect::<Vec<_>>(), children);
    }
}

fn adopting_world() -> World {
    let mut world = world_that_records_errors();
    world.adopt_relationship::<ChildOf>().adopt_relationship::<CrewOf>().adopt_relationship::<GuestOf>();
    world.adopt_relationship::<DrivenBy>().adopt_relationship::<Admires>();
    world
}

fn entities<const N: usize>(world: &mut World) -> [Entity; N] {
    std::array::from_fn(|_| world.spawn_empty().id())
}

#[test]
fn every_way_in_which_bevy_writes_children_shows_in_the_pairs() {
    let mut world = adopting_world();
    let [root, other, a, b, c, d] = entities(&mut world);
    type Step = Box<dyn Fn(&mut World)>;
    let steps: Vec<Step> = vec![
        Box::new(move |world| _ = world.spawn(ChildOf(root))),
        Box::new(move |world| _ = world.entity_mut(a).insert(ChildOf(root))),
        Box::new(move |world| _ = world.entity_mut(a).insert(ChildOf(root))),
        Box::new(move |world| _ = world.entity_mut(a).insert(ChildOf(other))),
        Box::new(move |world| _ = world.entity_mut(a).insert_if_new(ChildOf(root))),
        Box::new(move |world| {
            _ = world.entity_mut(a).modify_component(|parent: &mut ChildOf| parent.set_risky(root));
        }),
        Box::new(move |world| {
            _ = world.spawn((Name::new("p"), children![Name::new("x"), (Name::new("y"), children![()])]));
        }),
        Box::new(move |world| {
            world.entity_mut(root).with_children(|spawner| {
                spawner.spawn_empty();
                spawner.spawn(children![(), ()]);
            });
        }),
        Box::new(move |world| _ = world.entity_mut(root).with_child(Name::new("z"))),
        Box::new(move |world| _ = world.entity_mut(root).add_children(&[b, c])),
        Box::new(move |world| _ = world.entity_mut(root).add_children(&[c, a])),
        Box::new(move |world| _ = world.entity_mut(root).insert_children(1, &[d, a])),
        Box::new(move |world| _ = world.entity_mut(root).insert_children(0, &[c])),
        Box::new(move |world| _ = world.entity_mut(other).insert_children(0, &[d, b])),
        Box::new(move |world| _ = world.entity_mut(root).insert_child(100, b)),
        Box::new(move |world| _ = world.entity_mut(root).replace_children(&[c, a])),
        Box::new(move |world| _ = world.entity_mut(root).detach_all_children().replace_children(&[a])),
        Box::new(move |world| _ = world.entity_mut(other).replace_children(&[b, c])),
        Box::new(move |world| {
            _ = world.entity_mut(other).replace_children_with_difference(&[b], &[c, d], &[d]);
        }),
        Box::new(move |world| _ = world.entity_mut(other).detach_children(&[c])),
        Box::new(move |world| _ = world.entity_mut(root).detach_all_children()),
        Box::new(move |world| _ = world.entity_mut(root).add_children(&[a, b, c, d])),
        Box::new(move |world| world.get_mut::<Children>(root).unwrap().swap(0, 3)),
        Box::new(move |world| world.get_mut::<Children>(root).unwrap().sort_by(|x, y| y.cmp(x))),
        Box::new(move |world| _ = world.entity_mut(b).remove::<ChildOf>()),
        Box::new(move |world| _ = world.entity_mut(root).remove::<Children>()),
        Box::new(move |world| {
            _ = world
                .spawn_batch((0..20).map(move |n| ChildOf(if n % 3 == 0 { root } else { other })))
                .count();
        }),
        Box::new(move |world| {
            world.insert_batch([(a, ChildOf(root)), (b, ChildOf(a)), (a, ChildOf(b))].into_iter().take(2));
        }),
        Box::new(move |world| world.insert_batch([(a, ChildOf(other)), (b, ChildOf(root))])),
        Box::new(move |world| world.insert_batch_if_new([(a, ChildOf(root)), (c, ChildOf(root))])),
        Box::new(move |world| world.commands().spawn_batch([ChildOf(root), ChildOf(a)])),
        Box::new(move |world| _ = world.commands().spawn(ChildOf(c))),
        Box::new(move |world| {
            _ = world.commands().entity(root).add_child(a).insert_children(0, &[d]).with_child(());
        }),
        Box::new(move |world| {
            _ = world.commands().entity(c).insert(ChildOf(d)).insert(ChildOf(root)).remove::<ChildOf>();
        }),
        Box::new(move |world| _ = world.commands().entity(root).detach_all_children()),
        Box::new(move |world| _ = world.entity_mut(root).insert_recursive::<Children>(Name::new("all"))),
        Box::new(move |world| _ = world.entity_mut(root).clear()),
        Box::new(move |world| world.insert_pair(a, ChildOf(root), root).unwrap()),
        Box::new(move |world| world.insert_pair(b, ChildOf(root), root).unwrap()),
        Box::new(move |world| world.insert_pair(b, ChildOf(root), a).unwrap()),
        Box::new(move |world| {
            let child_of = world.entity_of::<ChildOf>();
            world.insert_pair_by_id(c, (child_of, b)).unwrap();
            world.insert_pair_by_id(c, (child_of, b)).unwrap();
            world.insert_pair_batch([(d, ChildOf(c), c), (a, ChildOf(root), root)]).unwrap();
        }),
        Box::new(move |world| assert!(world.remove_pair::<ChildOf>(c, b))),
        Box::new(move |world| assert!(!world.remove_pair::<ChildOf>(b, root))),
        Box::new(move |world| _ = world.spawn((Pair(ChildOf(root), root), Pair(Likes, a)))),
        Box::new(move |world| assert!(world.remove_pairs_everywhere(PairId::with_target(root)) >= 2)),
        Box::new(move |world| _ = world.entity_mut(a).despawn_related::<Children>()),
        Box::new(WorldPairExt::clear_pairs),
    ];
    for (number, step) in steps.into_iter().enumerate() {
        step(&mut world);
        world.flush();
        println!("step {number}");
        assert_children_agree(&mut world);
    }
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn sources_of_a_parent_are_in_the_order_of_children() {
    let mut world = adopting_world();
    let [root, a, b, c, d] = entities(&mut world);
    world.entity_mut(root).add_children(&[a, b, c]).insert_children(1, &[d]);
    let order = |world: &World| world.pairs::<ChildOf>().sources(root).collect::<Vec<_>>();
    assert_eq!(order(&world), [a, d, b, c]);
    assert_eq!(
        world.pairs::<ChildOf>().descendants(root).map(|(entity, _)| entity).collect::<Vec<_>>(),
        [a, d, b, c]
    );
    world.entity_mut(root).replace_children(&[c, a, b]);
    assert_eq!(order(&world), [c, a, b]);
    world.remove_pair::<ChildOf>(a, root);
    world.insert_pair(a, ChildOf(root), root).unwrap();
    assert_eq!(order(&world), [c, b, a]);
    world.get_mut::<Children>(root).unwrap().swap(0, 2);
    assert_eq!(order(&world), [a, b, c]);
    let ordered =
        world.run_system_once(move |pairs: Pairs<ChildOf>| pairs.sources(root).collect::<Vec<_>>()).unwrap();
    assert_eq!(ordered, [a, b, c]);
}

#[test]
fn clones_and_moves_keep_both_sides_alike() {
    let mut world = adopting_world();
    let [root, other, target] = entities(&mut world);
    let a = world.spawn((ChildOf(root), CrewOf { ship: other, wage: 3 }, Pair(Likes, root))).id();
    world.spawn((ChildOf(a), Admires(root)));
    world.spawn(Admires(a));
    let check = |world: &mut World| {
        world.flush();
        assert_children_agree(world);
        assert_agrees::<CrewOf>(world);
        assert_agrees::<Admires>(world);
    };
    world.entity_mut(a).clone_and_spawn();
    check(&mut world);
    assert_eq!(world.pairs::<ChildOf>().source_count(root), 2);
    assert_eq!(world.pairs::<CrewOf>().source_count(other), 2);
    let clone = world.spawn_empty().id();
    EntityCloner::build_opt_out(&mut world).linked_cloning(true).clone_entity(root, clone);
    check(&mut world);
    assert_eq!(world.pairs::<ChildOf>().descendants(clone).count(), 3);
    world.entity_mut(root).move_components::<Children>(target);
    check(&mut world);
    assert_eq!(world.pairs::<ChildOf>().source_count(target), 2);
    // From here on Bevy's own collections are out of step: it skips its hooks.
    world.entity_mut(a).move_components::<ChildOf>(other);
    world.flush();
    assert_mirrors::<ChildOf>(&mut world);
    assert!(world.has_pair::<ChildOf>(other, target));
    EntityCloner::build_opt_out(&mut world).move_components(true).clone_entity(a, root);
    world.flush();
    assert_mirrors::<ChildOf>(&mut world);
    assert_mirrors::<CrewOf>(&mut world);
    assert_mirrors::<Admires>(&mut world);
    assert!(world.has_pair::<CrewOf>(root, other), "the component was moved");
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn further_fields_are_the_value_of_the_pair_and_survive_retargeting() {
    let mut world = adopting_world();
    let [cook, ship, boat] = entities(&mut world);
    world.entity_mut(cook).insert(CrewOf { ship, wage: 5 });
    assert_eq!(world.pair_value::<CrewOf>(cook, ship), Some(&CrewOf { ship, wage: 5 }));
    let crew_of = world.entity_of::<CrewOf>();
    world.insert_pair_by_id(cook, (crew_of, boat)).unwrap();
    assert_eq!(world.get::<CrewOf>(cook), Some(&CrewOf { ship: boat, wage: 5 }));
    assert_agrees::<CrewOf>(&mut world);
    // The target of the pair counts, whatever the given component says.
    world.insert_pair(cook, CrewOf { ship: boat, wage: 6 }, ship).unwrap();
    assert_eq!(world.get::<CrewOf>(cook), Some(&CrewOf { ship, wage: 6 }));
    world.insert_pair(cook, CrewOf { ship, wage: 7 }, ship).unwrap();
    assert_eq!(world.pair_value::<CrewOf>(cook, ship).unwrap().wage, 7);
    world.insert_pair_by_id(cook, (crew_of, ship)).unwrap();
    assert_eq!(world.pair_value::<CrewOf>(cook, ship).unwrap().wage, 7);
    let wage = world.run_system_once(move |pairs: Pairs<CrewOf>| pairs.get(cook, ship).map(|crew| crew.wage));
    assert_eq!(wage.unwrap(), Some(7));
    assert_agrees::<CrewOf>(&mut world);
    let error = world.insert_pair_value_by_id(cook, (crew_of, boat), 7_u32).unwrap_err();
    assert!(matches!(error, InsertPairError::WrongValueType { .. }));
    assert!(world.has_pair::<CrewOf>(cook, ship));
}

#[test]
fn one_to_one_relationships_release_the_former_source() {
    let mut world = adopting_world();
    let [driver, car, bike, other] = entities(&mut world);
    world.entity_mut(car).insert(DrivenBy(driver));
    assert_agrees::<DrivenBy>(&mut world);
    world.entity_mut(bike).insert(DrivenBy(driver));
    assert_agrees::<DrivenBy>(&mut world);
    assert_eq!(world.pairs::<DrivenBy>().sources(driver).collect::<Vec<_>>(), [bike]);
    world.insert_pair(car, DrivenBy(driver), driver).unwrap();
    assert_agrees::<DrivenBy>(&mut world);
    assert_eq!(world.pairs::<DrivenBy>().sources(driver).collect::<Vec<_>>(), [car]);
    world.insert_pair(car, DrivenBy(driver), driver).unwrap();
    world.entity_mut(car).insert(DrivenBy(driver));
    assert_agrees::<DrivenBy>(&mut world);
    world.insert_pair(bike, DrivenBy(other), other).unwrap();
    world.insert_pair(bike, DrivenBy(driver), driver).unwrap();
    assert_agrees::<DrivenBy>(&mut world);
    assert_eq!(world.pairs::<DrivenBy>().len(), 1);
    world.despawn(driver);
    assert_agrees::<DrivenBy>(&mut world);
    assert!(world.get_entity(bike).is_ok() && world.pairs::<DrivenBy>().is_empty());
}

#[test]
fn set_collections_and_linked_spawn_give_despawn() {
    let mut world = adopting_world();
    let [host, guest, bag, ship, cook] = entities(&mut world);
    world.insert_pair(guest, GuestOf(host), host).unwrap();
    world.entity_mut(bag).insert(GuestOf(guest));
    world.entity_mut(cook).insert(CrewOf { ship, wage: 1 });
    assert_agrees::<GuestOf>(&mut world);
    world.despawn(host);
    assert!(world.get_entity(guest).is_err() && world.get_entity(bag).is_err());
    world.despawn_with_dependents(ship).unwrap();
    assert!(world.get_entity(cook).is_ok() && world.get::<CrewOf>(cook).is_none(), "not linked: removed");
    let [host, guest, bag] = entities(&mut world);
    world.insert_pair_batch([(guest, GuestOf(host), host), (bag, GuestOf(guest), guest)]).unwrap();
    world.despawn_with_dependents(host).unwrap();
    assert!(world.get_entity(guest).is_err() && world.get_entity(bag).is_err());
    assert_agrees::<GuestOf>(&mut world);
    assert_agrees::<CrewOf>(&mut world);
}

#[test]
fn self_references_are_refused_unless_the_relationship_allows_them() {
    let mut world = adopting_world();
    let [bob, eve] = entities(&mut world);
    let error = world.insert_pair(bob, ChildOf(bob), bob).unwrap_err();
    assert!(matches!(error, InsertPairError::SelfReference { .. } | InsertPairError::Cycle { .. }));
    world.entity_mut(bob).insert(ChildOf(bob));
    assert!(world.get::<ChildOf>(bob).is_none());
    world.entity_mut(eve).insert(ChildOf(bob)).insert(ChildOf(eve));
    assert!(world.get::<ChildOf>(eve).is_none());
    assert_children_agree(&mut world);
    world.insert_pair(bob, Admires(bob), bob).unwrap();
    world.entity_mut(eve).insert(Admires(eve));
    assert_agrees::<Admires>(&mut world);
    assert_eq!(world.pairs::<Admires>().depth(bob), None, "not traversable");
    world.entity_mut(bob).insert(Admires(eve));
    world.entity_mut(eve).insert(Admires(bob));
    assert_agrees::<Admires>(&mut world);
    assert_eq!(world.pairs::<Admires>().ancestors(bob).collect::<Vec<_>>(), [eve]);
    world.despawn(bob);
    assert_agrees::<Admires>(&mut world);
    assert!(world.get::<Admires>(eve).is_none());
}

#[test]
fn a_self_reference_written_while_bevys_hooks_are_skipped_is_removed_and_reported() {
    // `replace_children` writes the components without running Bevy's own check.
    let mut world = adopting_world();
    let [bob, eve] = entities(&mut world);
    world.entity_mut(bob).add_child(eve);
    world.entity_mut(bob).replace_children(&[bob, eve]);
    world.flush();
    assert!(world.get::<ChildOf>(bob).is_none(), "removed in the same flush");
    assert_eq!(take_reported_errors().len(), 1, "and reported");
    // Bevy's collection keeps the stray: it was filled after its component had gone.
    assert_eq!(world.pairs::<ChildOf>().iter().collect::<Vec<_>>(), [(eve, bob)]);
    world.check_pairs().unwrap();
}

#[test]
fn dead_targets_are_refused_by_both() {
    let mut world = adopting_world();
    let [bob, dead, root] = entities(&mut world);
    world.despawn(dead);
    assert!(matches!(world.insert_pair(bob, ChildOf(dead), dead), Err(InsertPairError::Dead { .. })));
    assert!(world.get::<ChildOf>(bob).is_none());
    world.entity_mut(bob).insert(ChildOf(dead));
    assert!(world.get::<ChildOf>(bob).is_none());
    world.entity_mut(bob).insert(ChildOf(root)).insert(ChildOf(dead));
    assert!(world.get::<ChildOf>(bob).is_none() && world.pairs_of(bob).is_empty());
    assert_children_agree(&mut world);
}

#[test]
fn a_cycle_written_through_the_component_is_removed_in_the_same_flush_and_reported() {
    let mut world = adopting_world();
    let [a, b, c, d] = entities(&mut world);
    world.entity_mut(b).insert(ChildOf(a));
    world.entity_mut(c).insert(ChildOf(b));
    world.entity_mut(a).insert(ChildOf(c));
    assert!(world.get::<ChildOf>(a).is_none());
    assert_children_agree(&mut world);
    let errors = take_reported_errors();
    assert!(errors.len() == 1 && errors[0].contains("cycle"), "{errors:?}");
    // A former parent is lost with the attempt: the source then has no such pair.
    world.entity_mut(a).insert(ChildOf(d)).insert(ChildOf(c));
    assert!(world.get::<ChildOf>(a).is_none() && world.pairs::<ChildOf>().target(a).is_none());
    assert_children_agree(&mut world);
    assert_eq!(take_reported_errors().len(), 1);
    // Through collections.
    world.entity_mut(c).add_child(a);
    assert_children_agree(&mut world);
    world.entity_mut(c).add_child(d);
    world.insert_batch([(a, ChildOf(d)), (d, ChildOf(a))]);
    world.flush();
    assert_children_agree(&mut world);
    take_reported_errors();
    // Through ours it is refused with nothing changed.
    world.remove_pairs::<ChildOf>(d);
    world.entity_mut(a).insert(ChildOf(d));
    let error = world.insert_pair(d, ChildOf(c), c).unwrap_err();
    assert!(matches!(error, InsertPairError::Cycle { .. }), "{error}");
    assert!(world.has_pair::<ChildOf>(a, d));
    assert_children_agree(&mut world);
    world.despawn(d);
    assert!([a, b, c].iter().all(|&entity| world.get_entity(entity).is_err()));
}

#[test]
fn a_cycle_that_exists_before_relations_are_used_is_dissolved() {
    let mut world = world_that_records_errors();
    let [a, b] = entities(&mut world);
    world.entity_mut(a).insert(ChildOf(b));
    world.entity_mut(b).insert(ChildOf(a));
    world.adopt_relationship::<ChildOf>();
    world.flush();
    assert_children_agree(&mut world);
    assert_eq!(world.pairs::<ChildOf>().len(), 1);
    assert_eq!(take_reported_errors().len(), 1);
}

#[test]
fn entities_that_existed_before_are_absorbed_in_order() {
    let mut world = world_that_records_errors();
    let root = world.spawn(children![Name::new("a"), (Name::new("b"), children![Name::new("c")])]).id();
    let ship = world.spawn_empty().id();
    for wage in 0..5 {
        world.spawn(CrewOf { ship, wage });
    }
    world.insert_pair(ship, Likes, root).unwrap();
    assert_children_agree(&mut world);
    assert_eq!(world.pairs::<ChildOf>().descendants(root).count(), 3);
    world.adopt_relationship::<CrewOf>();
    assert_agrees::<CrewOf>(&mut world);
    assert_eq!(world.pairs::<CrewOf>().source_count(ship), 5);
    world.despawn(root);
    assert!(world.pairs::<ChildOf>().is_empty() && world.pairs_of(ship).is_empty());
    world.check_pairs().unwrap();
}

#[test]
fn adopting_twice_is_fine_with_the_same_traits_and_an_error_with_others() {
    let mut app = App::new();
    app.add_plugins(RelationsPlugin).adopt_relationship::<CrewOf>().adopt_relationship::<CrewOf>();
    let world = app.world_mut();
    let [cook, ship] = entities(world);
    world.entity_mut(cook).insert(CrewOf { ship, wage: 1 });
    world.adopt_relationship::<CrewOf>();
    assert_agrees::<CrewOf>(world);
    assert_eq!(world.adopt_relationship_with::<CrewOf>(CrewOf::traits()), Ok(world.entity_of::<CrewOf>()));
    let error =
        world.adopt_relationship_with::<CrewOf>(RelationTraits::new().traversable().ordered()).unwrap_err();
    assert!(matches!(error, TraitsError::Frozen { .. }), "{error}");
    assert!(app.adopt_relationship_with::<ChildOf>(ChildOf::traits().ordered()).is_ok());
    app.adopt_relationship::<ChildOf>();
    assert!(app.adopt_relationship_with::<ChildOf>(RelationTraits::new()).is_err());
}

#[test]
fn a_relationship_adopted_with_more_traits_is_named_as_any_other() {
    let mut world = world_that_records_errors();
    world.adopt_relationship_with::<CrewOf>(RelationTraits::new().transitive()).unwrap();
    let crew_of = world.entity_of::<CrewOf>();
    assert_eq!(CrewOf::register(&mut world), Ok(crew_of));
    let serves = world.spawn_relation("Serves", RelationTraits::new().with::<CrewOf>()).unwrap();
    let [cook, ship] = entities(&mut world);
    world.insert_pair_by_id(cook, (serves, ship)).unwrap();
    assert_eq!(world.get::<CrewOf>(cook).map(Relationship::get), Some(ship));
    assert_agrees::<CrewOf>(&mut world);
}

#[test]
fn traits_that_contradict_what_the_relationship_is_are_refused() {
    let mut world = world_that_records_errors();
    let policy = CleanupPolicy::Despawn;
    let refused: [(&str, Result<Entity, TraitsError>); 5] = [
        (
            "not linked, but despawn",
            world.adopt_relationship_with::<CrewOf>(RelationTraits::new().on_target_despawn(policy)),
        ),
        ("linked, but remove", {
            let traits = RelationTraits::new().on_target_despawn(CleanupPolicy::Remove);
            world.adopt_relationship_with::<GuestOf>(traits)
        }),
        ("linked, but panic", {
            let traits = RelationTraits::new().on_target_despawn(CleanupPolicy::Refuse);
            world.adopt_relationship_with::<GuestOf>(traits)
        }),
        (
            "symmetric: the other side has no component",
            world.adopt_relationship_with::<DrivenBy>(RelationTraits::new().symmetric()),
        ),
        (
            "tag, with data in the component",
            world.adopt_relationship_with::<CrewOf>(RelationTraits::new().tag()),
        ),
    ];
    for (case, result) in &refused {
        assert!(matches!(result, Err(TraitsError::Conflict { .. })), "{case}: {result:?}");
    }
    // Nothing of it stays: adopting as it is works.
    world.adopt_relationship::<CrewOf>().adopt_relationship::<GuestOf>().adopt_relationship::<DrivenBy>();
    let [cook, ship] = entities(&mut world);
    world.entity_mut(cook).insert(CrewOf { ship, wage: 1 });
    assert_agrees::<CrewOf>(&mut world);
}

#[test]
fn a_self_referential_relationship_adopted_as_traversable_all_the_same_refuses_cycles() {
    let mut world = world_that_records_errors();
    world.adopt_relationship_with::<Admires>(RelationTraits::new().traversable()).unwrap();
    let [bob, eve] = entities(&mut world);
    world.entity_mut(bob).insert(Admires(bob));
    assert!(world.get::<Admires>(bob).is_none());
    world.entity_mut(bob).insert(Admires(eve));
    world.entity_mut(eve).insert(Admires(bob));
    assert!(world.get::<Admires>(eve).is_none());
    assert_eq!(take_reported_errors().len(), 2);
    assert_agrees::<Admires>(&mut world);
}

#[test]
fn a_child_taken_by_replace_children_has_one_parent() {
    // Bevy 0.20 leaves it in the `Children` of its former parent as well.
    let mut world = adopting_world();
    let [root, other, a, b, c] = entities(&mut world);
    world.entity_mut(root).add_child(a);
    world.entity_mut(other).add_children(&[b, c]);
    world.entity_mut(root).replace_children(&[b, a]);
    world.flush();
    world.check_pairs().unwrap();
    assert_eq!(world.pairs::<ChildOf>().target(b), Some(root));
    assert_eq!(world.pairs::<ChildOf>().sources(root).collect::<Vec<_>>(), [b, a]);
    assert_eq!(world.pairs::<ChildOf>().sources(other).collect::<Vec<_>>(), [c]);
    world.entity_mut(b).remove::<ChildOf>();
    world.insert_pair(b, ChildOf(other), other).unwrap();
    let mut sources: Vec<_> = world.pairs::<ChildOf>().sources(other).collect();
    sources.sort_unstable();
    let mut both = [b, c];
    both.sort_unstable();
    assert_eq!(sources, both);
    world.check_pairs().unwrap();
}

#[test]
fn companions_of_an_adopted_relationship_come_along_by_either_api() {
    let mut world = world_that_records_errors();
    world.adopt_relationship_with::<CrewOf>(CrewOf::traits().with::<Likes>()).unwrap();
    let [cook, mate, ship] = entities(&mut world);
    world.entity_mut(cook).insert(CrewOf { ship, wage: 1 });
    assert!(world.has_pair::<Likes>(cook, ship));
    world.insert_pair(mate, CrewOf { ship, wage: 1 }, ship).unwrap();
    assert!(world.has_pair::<Likes>(mate, ship));
    assert_agrees::<CrewOf>(&mut world);
}

#[test]
fn one_of_holds_for_adopted_relationships_by_either_api() {
    let mut world = world_that_records_errors();
    let [harbour, cook, elsewhere] = entities(&mut world);
    let ship = world.spawn(ChildOf(harbour)).id();
    world.adopt_relationship_with::<CrewOf>(CrewOf::traits().one_of_id(harbour)).unwrap();
    world.entity_mut(cook).insert(CrewOf { ship, wage: 1 });
    assert!(world.has_pair::<CrewOf>(cook, ship));
    assert!(world.insert_pair(cook, CrewOf { ship, wage: 1 }, elsewhere).is_err());
    assert!(world.has_pair::<CrewOf>(cook, ship));
    world.entity_mut(cook).insert(CrewOf { ship: elsewhere, wage: 1 });
    assert!(world.get::<CrewOf>(cook).is_none() && world.pairs_of(cook).is_empty());
    assert_eq!(take_reported_errors().len(), 1);
    assert_agrees::<CrewOf>(&mut world);
}

#[test]
fn wildcards_see_adopted_pairs() {
    let mut world = adopting_world();
    let [root, ship] = entities(&mut world);
    let cook = world.spawn((ChildOf(root), CrewOf { ship, wage: 1 }, Pair(Likes, root))).id();
    assert_eq!(world.pairs_of(cook).len(), 3);
    assert_eq!(world.pairs_to(root).len(), 2);
    assert!(world.has_pair_by_id(cook, PairId::with_target(ship)));
    assert_eq!(world.remove_pairs_by_id(cook, PairId::with_target(root)), 2);
    assert!(world.get::<ChildOf>(cook).is_none());
    assert_eq!(world.remove_pairs_by_id(cook, PairId::ALL), 1);
    assert!(world.get::<CrewOf>(cook).is_none());
    assert_children_agree(&mut world);
    assert_agrees::<CrewOf>(&mut world);
}
