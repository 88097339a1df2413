//! Every error, and that nothing has changed after it.

use crate::common::{
    dump, refused, relation, reuse_index, spawn, take_errors, targets, unpaid::CrewOf,
    world_that_records_errors,
};
use bevy_ecs::{error::Severity, prelude::*};
use bevy_relations::{
    error::{
        DespawnError, InsertPairError, InsertPairsError, PairRefusal, PairRole, ReorderError, TraitsError,
    },
    id::Slot,
    prelude::*,
    relation::PairContext,
};

#[derive(Relation)]
struct Likes;

/// Has no default.
#[derive(Relation, Clone, Debug, PartialEq)]
struct Eats {
    grams: u32,
}

#[derive(Relation, Clone, Debug, PartialEq, Default)]
struct Rates {
    stars: u32,
}

/// At most a hundred, and never to an entity of this name.
#[derive(Relation, Clone, Debug, PartialEq, Default)]
#[relation(validate = check)]
struct Pays {
    coins: u32,
}

fn check(pays: &mut Pays, pair: &PairContext<'_>) -> Result<(), PairRefusal> {
    if pair.world.get::<Name>(pair.target).is_some_and(|name| name.as_str() == "Nobody") {
        return Err("nobody is paid".into());
    }
    if pays.coins == 13 {
        return Err(PairRefusal::new(format!("{} is an unlucky number", pays.coins)));
    }
    pays.coins = pays.coins.min(100);
    Ok(())
}

#[derive(Relation)]
#[relation(on_target_despawn = Refuse)]
struct LeansOn;

#[derive(Relation)]
#[relation(on_target_despawn = Despawn)]
struct PartOf;

#[derive(Relation)]
#[relation(on_relation_despawn = Remove)]
struct Removable;

#[derive(Component)]
#[relationship(relationship_target = Held)]
struct HeldBy {
    #[relationship]
    holder: Entity,
    hands: u32,
}

#[derive(Component)]
#[relationship_target(relationship = HeldBy)]
struct Held(Vec<Entity>);

#[test]
fn a_dead_source_relation_or_target_is_named_in_the_error() {
    let mut world = World::new();
    let r = relation(&mut world, RelationTraits::new());
    let [source, target, dead] = spawn(&mut world);
    world.insert_pair_by_id(source, (r, target)).unwrap();
    world.despawn(dead);
    let cases = [
        (dead, r, target, PairRole::Source),
        (source, dead, target, PairRole::Relation),
        (source, r, dead, PairRole::Target),
    ];
    for (source, relation, target, role) in cases {
        let error = refused(&mut world, |world| world.insert_pair_by_id(source, (relation, target)));
        let InsertPairError::Dead { pair, dead: found } = &error else { panic!("{error}") };
        let named = (pair.source_entity.entity(), pair.relation.entity(), pair.target.entity());
        assert_eq!(named, (source, relation, target));
        assert_eq!(*found, role);
        let text = error.to_string();
        let relation = if relation == r { "R".to_owned() } else { relation.to_string() };
        for name in [source.to_string(), relation, target.to_string(), role.to_string()] {
            assert!(text.contains(&name), "{text} lacks {name}");
        }
        assert!(!world.has_pair_by_id(source, PairId::new(r, dead)));
        assert_eq!(world.remove_pairs_by_id(source, PairId::with_relation(dead)), 0);
    }
    for dead_end in [(dead, target), (source, dead), (dead, dead)] {
        let error = refused(&mut world, |world| world.insert_pair(dead_end.0, Likes, dead_end.1));
        assert!(matches!(error, InsertPairError::Dead { .. }), "{error}");
        refused(&mut world, |world| world.insert_pair(dead_end.0, Eats { grams: 1 }, dead_end.1));
        refused(&mut world, |world| world.insert_tag(dead_end.0, dead_end.1));
    }
}

#[test]
fn a_dead_end_is_refused_by_a_relation_that_is_in_use_as_well() {
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Likes, b).unwrap();
    world.insert_pair(b, Likes, a).unwrap();
    world.despawn(a);
    refused(&mut world, |world| world.insert_pair(a, Likes, b));
    refused(&mut world, |world| world.insert_pair(b, Likes, a));
    let again = reuse_index(&mut world, a);
    refused(&mut world, |world| world.insert_pair(a, Likes, b));
    refused(&mut world, |world| world.insert_pair(b, Likes, a));
    assert!(!world.pairs::<Likes>().has_any(again) && !world.pairs::<Likes>().is_target(again));
}

#[test]
fn wildcards_are_no_elements_of_stored_pairs() {
    let mut world = World::new();
    let [source, target] = spawn(&mut world);
    let r = relation(&mut world, RelationTraits::new());
    for slot in [Slot::Wildcard, Slot::Any] {
        for (relation, target) in [(slot, target.into()), (r.into(), slot), (slot, slot)] {
            let error = refused(&mut world, |world| world.insert_pair_by_id(source, (relation, target)));
            let named = PairId::new(relation, target);
            let is_named = matches!(&error, InsertPairError::Wildcard { source_entity, pair } if *source_entity == source && *pair == named);
            assert!(is_named, "{error}");
            refused(&mut world, |world| world.insert_pair_value_by_id(source, (relation, target), 1_u32));
        }
    }
}

#[test]
fn a_value_of_the_wrong_type_is_refused() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    let eats = world.register_relation::<Eats>().unwrap();
    world.insert_pair(a, Eats { grams: 1 }, b).unwrap();
    for target in [b, c] {
        let error = refused(&mut world, |world| world.insert_pair_value_by_id(a, (eats, target), 5_u32));
        let InsertPairError::WrongValueType { expected, found, .. } = error else { panic!("{error}") };
        assert!(expected.ends_with("Eats") && found == "u32");
    }
    assert_eq!(world.pair_value::<Eats>(a, b), Some(&Eats { grams: 1 }));
}

#[test]
fn a_value_for_a_tag_pair_is_refused() {
    let mut world = World::new();
    let [a, b, c] = spawn(&mut world);
    let plain = relation(&mut world, RelationTraits::new());
    let tag = relation(&mut world, RelationTraits::new().tag());
    let likes = world.register_relation::<Likes>().unwrap();
    let eats = world.entity_of::<Eats>();
    for r in [plain, tag, likes] {
        world.insert_pair_by_id(a, (r, b)).unwrap();
        for target in [b, c] {
            let error = refused(&mut world, |world| world.insert_pair_value_by_id(a, (r, target), 5_u32));
            assert!(matches!(error, InsertPairError::UnexpectedValue { found: "u32", .. }), "{error}");
        }
    }
    let error = refused(&mut world, |world| world.insert_pair_value_by_id(a, (tag, eats), Eats { grams: 1 }));
    assert!(matches!(error, InsertPairError::UnexpectedValue { .. }), "the Tag trait comes first: {error}");
    world.insert_pair_by_id(a, (tag, eats)).unwrap();
}

#[test]
fn a_value_of_the_wrong_type_is_refused_by_an_adopted_relationship_too() {
    let mut world = World::new();
    let [parent, child] = spawn(&mut world);
    let child_of = world.entity_of::<ChildOf>();
    for there in [false, true] {
        let error =
            refused(&mut world, |world| world.insert_pair_value_by_id(child, (child_of, parent), 5_u32));
        assert!(matches!(error, InsertPairError::WrongValueType { .. }), "there: {there}: {error}");
        world.insert_pair_by_id(child, (child_of, parent)).unwrap();
    }
}

#[test]
fn a_missing_value_is_the_default_or_an_error() {
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    let eats = world.register_relation::<Eats>().unwrap();
    let rates = world.register_relation::<Rates>().unwrap();
    let number = relation(&mut world, RelationTraits::new().data::<u32>());
    let with_default = relation(&mut world, RelationTraits::new().data_or_default::<u32>());
    for r in [eats, number] {
        let error = refused(&mut world, |world| world.insert_pair_by_id(a, (r, b)));
        assert!(matches!(error, InsertPairError::MissingValue { .. }), "{error}");
    }
    world.insert_pair_by_id(a, (rates, b)).unwrap();
    world.insert_pair_by_id(a, (with_default, b)).unwrap();
    assert_eq!(world.pair_value::<Rates>(a, b), Some(&Rates { stars: 0 }));
    assert_eq!(world.pair_value_by_id::<u32>(a, (with_default, b)), Some(&0));
    // Inserted again without a value, a pair keeps the one that it has.
    world.insert_pair(a, Rates { stars: 3 }, b).unwrap();
    world.insert_pair_by_id(a, (rates, b)).unwrap();
    assert_eq!(world.pair_value::<Rates>(a, b), Some(&Rates { stars: 3 }));
    world.check_pairs().unwrap();
}

#[test]
fn on_insert_adjusts_or_refuses_a_value_whichever_way_it_comes() {
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    let nobody = world.spawn(Name::new("Nobody")).id();
    let pays = world.register_relation::<Pays>().unwrap();
    world.insert_pair(a, Pays { coins: 500 }, b).unwrap();
    let coins = |world: &World| world.pair_value::<Pays>(a, b).map(|pays| pays.coins);
    assert_eq!(coins(&world), Some(100));
    world.insert_pair_value_by_id(a, (pays, b), Pays { coins: 501 }).unwrap();
    assert_eq!(coins(&world), Some(100));
    world.insert_pair_batch([(a, Pays { coins: 7 }, b)]).unwrap();
    assert_eq!(coins(&world), Some(7));
    for attempt in [
        refused(&mut world, |world| world.insert_pair(a, Pays { coins: 13 }, b)),
        refused(&mut world, |world| world.insert_pair_value_by_id(b, (pays, a), Pays { coins: 13 })),
        refused(&mut world, |world| world.insert_pair(a, Pays { coins: 1 }, nobody)),
        refused(&mut world, |world| world.insert_pair_by_id(a, (pays, nobody))),
    ] {
        assert!(matches!(attempt, InsertPairError::Refused { .. }), "{attempt}");
    }
    assert_eq!(coins(&world), Some(7));
    let error = world.insert_pair(a, Pays { coins: 13 }, b).unwrap_err();
    assert!(error.to_string().contains("13 is an unlucky number"), "{error}");
}

#[test]
fn a_batch_reports_the_refused_pairs_by_number_and_inserts_the_others() {
    let mut world = World::new();
    let [a, b, dead] = spawn(&mut world);
    world.despawn(dead);
    let pairs = [(a, Likes, dead), (a, Likes, b), (dead, Likes, b), (b, Likes, a)];
    let InsertPairsError { refused } = world.insert_pair_batch(pairs).unwrap_err();
    assert_eq!(refused.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 2]);
    assert!(world.has_pair::<Likes>(a, b) && world.has_pair::<Likes>(b, a));
    assert_eq!(world.pairs::<Likes>().len(), 2);
    let values = [(a, Eats { grams: 1 }, dead), (a, Eats { grams: 2 }, b), (a, Eats { grams: 3 }, b)];
    let InsertPairsError { refused } = world.insert_pair_batch(values).unwrap_err();
    assert_eq!(refused.len(), 1);
    assert_eq!(world.pair_value::<Eats>(a, b), Some(&Eats { grams: 3 }));
    world.check_pairs().unwrap();
}

#[test]
fn an_adopted_relationship_refuses_its_own_entity() {
    let mut world = World::new();
    let [a] = spawn(&mut world);
    let error = refused(&mut world, |world| world.insert_pair(a, CrewOf(a), a));
    assert!(matches!(error, InsertPairError::SelfReference { .. }), "{error}");
}

#[test]
fn a_companion_that_is_refused_keeps_an_adopted_pair_out() {
    let mut world = world_that_records_errors();
    let acyclic = relation(&mut world, RelationTraits::new().acyclic());
    world.adopt_relationship_with::<CrewOf>(RelationTraits::new().with_id(acyclic)).unwrap();
    let [a, b] = spawn(&mut world);
    world.insert_pair_by_id(b, (acyclic, a)).unwrap();
    let error = refused(&mut world, |world| world.insert_pair(a, CrewOf(b), b));
    assert!(matches!(error, InsertPairError::Cycle { .. }), "{error}");
    assert_eq!(take_errors(), []);
}

#[test]
fn an_adopted_relationship_is_never_symmetric() {
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    if world.adopt_relationship_with::<CrewOf>(RelationTraits::new().symmetric()).is_ok() {
        world.insert_pair(a, CrewOf(b), b).unwrap();
        assert!(world.has_pair::<CrewOf>(b, a));
    }
    world.check_pairs().unwrap();
}

#[test]
fn an_adopted_pair_keeps_its_inserted_tick_when_its_value_is_replaced() {
    let mut world = World::new();
    let [hand, other, holder] = spawn(&mut world);
    world.adopt_relationship::<HeldBy>();
    world.track_pair_changes::<HeldBy>();
    world.insert_pair(hand, HeldBy { holder, hands: 1 }, holder).unwrap();
    world.insert_pair(other, HeldBy { holder, hands: 1 }, holder).unwrap();
    let ticks = |world: &World| world.pairs::<HeldBy>().ticks(hand, holder).unwrap();
    let first = ticks(&world);
    world.increment_change_tick();
    world.insert_pair(hand, HeldBy { holder, hands: 2 }, holder).unwrap();
    assert_eq!(world.pair_value::<HeldBy>(hand, holder).map(|held| held.hands), Some(2));
    assert_ne!(ticks(&world).changed, first.changed);
    assert_eq!(ticks(&world).inserted, first.inserted, "only the changed tick moves");
}

#[test]
fn reordering_names_what_is_wrong() {
    let mut world = World::new();
    let [a, b, dead] = spawn(&mut world);
    world.despawn(dead);
    let plain = relation(&mut world, RelationTraits::new());
    let child_of = world.entity_of::<ChildOf>();
    world.insert_pair_by_id(a, (plain, b)).unwrap();
    world.insert_pair_by_id(a, (child_of, b)).unwrap();
    let mut reorder = |r| refused(&mut world, |world| world.order_sources_by_id(r, b, &[a]));
    assert!(matches!(reorder(plain), ReorderError::NotOrdered { target, .. } if target == b));
    assert!(matches!(reorder(child_of), ReorderError::Adopted { target, .. } if target == b));
    for other in [a, dead] {
        assert!(matches!(reorder(other), ReorderError::NotARelation { entity } if entity == other));
    }
    let error = refused(&mut world, |world| world.order_sources::<Likes>(b, &[]));
    assert!(matches!(error, ReorderError::NotOrdered { .. }), "{error}");
}

#[test]
fn a_despawn_is_refused_when_something_in_the_cascade_is_in_use() {
    let mut world = World::new();
    let [root, part, wall, dead] = spawn(&mut world);
    world.despawn(dead);
    world.insert_pair(part, PartOf, root).unwrap();
    world.insert_pair(wall, LeansOn, part).unwrap();
    for entity in [root, part] {
        let error = refused(&mut world, |world| world.despawn_with_dependents(entity));
        let DespawnError::InUse { entity: named, used, role, target, source_entity, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(role, PairRole::Target);
        assert!(named == entity && used == part && target == part && source_entity == wall);
    }
    let error = refused(&mut world, |world| world.despawn_with_dependents(dead));
    assert!(matches!(&error, DespawnError::Dead { entity } if *entity == dead), "{error}");
    world.despawn_with_dependents(wall).unwrap();
    world.despawn_with_dependents(root).unwrap();
    assert!(!world.entities().contains_spawned(part));
    world.check_pairs().unwrap();
}

#[test]
fn despawning_the_entity_of_a_type_is_refused_while_it_is_in_use() {
    let mut world = World::new();
    let [a, b] = spawn(&mut world);
    let likes = world.register_relation::<Likes>().unwrap();
    world.insert_pair(a, Likes, b).unwrap();
    let error = refused(&mut world, |world| world.despawn_with_dependents(likes));
    assert!(matches!(error, DespawnError::InUse { role: PairRole::Relation, .. }), "{error}");
    let removable = world.register_relation::<Removable>().unwrap();
    world.insert_pair(a, Removable, b).unwrap();
    world.despawn_with_dependents(removable).unwrap();
    assert_eq!(world.pairs_of(a), [(likes, b)]);
    // A component's entity as a tag, and as a relation.
    let name = world.entity_of::<Name>();
    world.insert_tag(a, name).unwrap();
    let error = refused(&mut world, |world| world.despawn_with_dependents(name));
    assert!(matches!(error, DespawnError::InUse { role: PairRole::Relation, .. }), "{error}");
}

#[test]
fn bevys_own_despawn_completes_and_reports() {
    let mut world = world_that_records_errors();
    let [a, b, c] = spawn(&mut world);
    world.insert_pair(a, LeansOn, b).unwrap();
    let likes = world.register_relation::<Likes>().unwrap();
    world.insert_pair(a, Likes, c).unwrap();
    for used in [b, likes] {
        world.despawn(used);
        let errors = take_errors();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert_eq!(errors[0].0, Severity::Error);
        assert!(errors[0].1.contains("is `Refuse`"), "{errors:?}");
        assert!(!world.entities().contains_spawned(used));
        world.check_pairs().unwrap();
    }
    assert!(world.pairs_of(a).is_empty());
    world.insert_pair(a, Likes, c).unwrap();
    assert!(world.has_pair::<Likes>(a, c));
}

#[test]
fn no_pair_mentions_the_entity_of_an_adopted_relation_once_that_is_despawned() {
    let mut world = world_that_records_errors();
    let [parent] = spawn(&mut world);
    let child = world.spawn(ChildOf(parent)).id();
    let child_of = world.entity_of::<ChildOf>();
    world.despawn(child_of);
    assert!(world.pairs_of(child).iter().all(|&pair| pair != (child_of, parent)));
    assert!(!world.has_pair_by_id(child, PairId::new(child_of, parent)));
    assert!(world.pairs_to(parent).iter().all(|&(_, relation)| relation != child_of));
    world.check_pairs().unwrap();
    let other = world.spawn(ChildOf(parent)).id();
    assert!(world.has_pair::<ChildOf>(other, parent));
    let again = world.entity_of::<ChildOf>();
    assert!(world.has_pair_by_id(other, PairId::new(again, parent)));
    world.check_pairs().unwrap();
}

#[test]
fn refused_commands_go_to_the_error_handler_with_severity_error() {
    let mut world = world_that_records_errors();
    let [a, b, dead] = spawn(&mut world);
    world.despawn(dead);
    let acyclic = relation(&mut world, RelationTraits::new().acyclic());
    let expect_one = |world: &mut World, queue: &dyn Fn(&mut Commands)| {
        let before = dump(world);
        queue(&mut world.commands());
        world.flush();
        let errors = take_errors();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert_eq!(errors[0].0, Severity::Error, "{errors:?}");
        assert_eq!(dump(world), before);
    };
    world.register_relation::<Likes>().unwrap();
    world.register_relation::<Eats>().unwrap();
    world.entity_of::<Name>();
    let cases: [&dyn Fn(&mut Commands); 9] = [
        &|commands| _ = commands.entity(a).insert_pair(Likes, dead),
        &|commands| _ = commands.entity(dead).insert_pair(Likes, a),
        &|commands| _ = commands.entity(a).insert_pair_by_id((acyclic, a)),
        &|commands| _ = commands.entity(a).insert_pair_by_id((acyclic, Slot::Wildcard)),
        &|commands| _ = commands.entity(a).insert_pair_value_by_id((acyclic, b), 1_u32),
        &|commands| _ = commands.entity(a).insert_pair_to::<Eats, Name>(Name::new("no Eats")),
        &|commands| _ = commands.entity(a).insert_tag(dead),
        &|commands| commands.entity(dead).despawn_with_dependents(),
        &|commands| _ = commands.pair_batch::<Likes>().insert(a, Likes, dead).insert(dead, Likes, b),
    ];
    for case in cases {
        expect_one(&mut world, case);
    }
    assert_eq!(targets(&world, acyclic, a), []);
}

#[test]
fn commands_behind_a_despawn_of_their_entity_are_dropped_with_an_error() {
    let mut world = world_that_records_errors();
    let [a, b] = spawn(&mut world);
    world.insert_pair(a, Likes, b).unwrap();
    let mut commands = world.commands();
    commands.entity(a).despawn();
    commands.entity(a).insert_pair(Likes, b);
    commands.entity(b).insert_pair(Likes, a).insert_pair(Likes, b);
    world.flush();
    let errors = take_errors();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors.iter().all(|(severity, _)| *severity == Severity::Error));
    assert_eq!(world.pairs::<Likes>().len(), 1);
    world.check_pairs().unwrap();
}

#[test]
fn the_default_error_handler_does_not_panic() {
    let mut world = World::new();
    let [a, b, dead] = spawn(&mut world);
    world.despawn(dead);
    world.commands().entity(a).insert_pair(Likes, dead);
    world.flush();
    world.spawn(Pair(Likes, dead));
    world.insert_pair(a, LeansOn, b).unwrap();
    world.despawn(b);
    let parent = world.spawn(ChildOf(a)).id();
    world.entity_mut(a).insert(ChildOf(parent));
    world.check_pairs().unwrap();
}

#[test]
fn a_cycle_written_through_bevys_component_is_removed_and_reported() {
    let mut world = world_that_records_errors();
    world.entity_of::<ChildOf>();
    let [a] = spawn(&mut world);
    let b = world.spawn(ChildOf(a)).id();
    let c = world.spawn(ChildOf(b)).id();
    world.entity_mut(a).insert(ChildOf(c));
    assert_eq!(take_errors().len(), 1);
    assert!(world.get::<ChildOf>(a).is_none() && !world.pairs::<ChildOf>().has_any(a));
    assert!(world.get::<Children>(c).is_none());
    assert!(world.has_pair::<ChildOf>(c, b) && world.has_pair::<ChildOf>(b, a));
    world.check_pairs().unwrap();
}

#[test]
fn adopting_again_with_other_traits_is_an_error() {
    let mut world = World::new();
    world.adopt_relationship::<CrewOf>();
    let again = refused(&mut world, |world| {
        world.adopt_relationship_with::<CrewOf>(RelationTraits::new().traversable().ordered())
    });
    assert!(matches!(again, TraitsError::Frozen { .. }), "{again}");
    let contradiction = refused(&mut world, |world| {
        world.adopt_relationship_with::<HeldBy>(
            RelationTraits::new().on_target_despawn(CleanupPolicy::Despawn),
        )
    });
    assert!(matches!(contradiction, TraitsError::Conflict { .. }), "{contradiction}");
    world.adopt_relationship_with::<HeldBy>(RelationTraits::new().ordered()).unwrap();
}

#[test]
fn set_traits_of_a_dead_entity_or_with_a_dead_one_is_an_error() {
    let mut world = World::new();
    let [dead, alive] = spawn(&mut world);
    world.despawn(dead);
    world.register_relation::<Likes>().unwrap();
    // A rule about children makes their index, also if it is refused.
    world.register_relation::<ChildOf>().unwrap();
    let error = refused(&mut world, |world| world.set_traits(dead, RelationTraits::new()));
    assert_eq!(error, TraitsError::Dead { entity: dead });
    for traits in [RelationTraits::new().with_id(dead), RelationTraits::new().one_of_id(dead)] {
        let error = refused(&mut world, |world| world.set_traits(alive, traits.clone()));
        assert!(matches!(error, TraitsError::DeadReference { entity, .. } if entity == dead), "{error}");
        let error = refused(&mut world, |world| world.spawn_relation("R", traits));
        assert!(matches!(error, TraitsError::DeadReference { entity, .. } if entity == dead), "{error}");
    }
}

#[test]
fn more_traits_can_be_added_after_a_companion_has_gone() {
    let mut world = World::new();
    let companion = relation(&mut world, RelationTraits::new());
    let r = relation(&mut world, RelationTraits::new().with_id(companion));
    world.despawn(companion);
    world.set_traits(r, RelationTraits::new().exclusive()).unwrap();
    let [a, b] = spawn(&mut world);
    world.insert_pair_by_id(a, (r, b)).unwrap();
    assert_eq!(world.pairs_of(a).len(), 1);
}

/// "(`relation`, type)" carries a value of the type, which makes one itself if it is known how.
#[test]
fn a_pair_with_a_type_gets_the_default_of_its_reflection() {
    use bevy_ecs::reflect::AppTypeRegistry;
    use bevy_reflect::{Reflect, std_traits::ReflectDefault};

    #[derive(Component, Reflect, Default, Debug, PartialEq)]
    #[reflect(Default)]
    struct Speed(u32);

    let mut world = world_that_records_errors();
    let [a] = spawn(&mut world);
    let begin = relation(&mut world, RelationTraits::new());
    let speed = world.entity_of::<Speed>();
    for registry in [None, Some(AppTypeRegistry::default())] {
        registry.into_iter().for_each(|registry| world.insert_resource(registry));
        let error = refused(&mut world, |world| world.insert_pair_by_id(a, (begin, speed)));
        assert!(matches!(error, InsertPairError::MissingValue { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("no default of `") && text.contains("Speed` is known"), "{text}");
    }
    world.resource::<AppTypeRegistry>().write().register::<Speed>();
    world.insert_pair_by_id(a, (begin, speed)).unwrap();
    assert_eq!(world.pair_value_by_id::<Speed>(a, (begin, speed)), Some(&Speed(0)));
    world.check_pairs().unwrap();
}

#[test]
fn a_dead_entity_in_the_value_of_a_relationship_does_not_matter_beside_the_target() {
    let mut world = world_that_records_errors();
    let [a, b, dead] = spawn(&mut world);
    world.despawn(dead);
    world.insert_pair(b, CrewOf(dead), a).unwrap();
    assert_eq!(world.get::<CrewOf>(b).map(|crew| crew.0), Some(a));
    assert!(world.has_pair::<CrewOf>(b, a));
    // Also where the pair is there already, and for a target that is dead.
    world.insert_pair(b, CrewOf(dead), a).unwrap();
    assert!(world.has_pair::<CrewOf>(b, a));
    let error = refused(&mut world, |world| world.insert_pair(b, CrewOf(a), dead));
    assert!(matches!(error, InsertPairError::Dead { .. }), "{error}");
    assert!(world.has_pair::<CrewOf>(b, a));
    world.check_pairs().unwrap();
}

#[test]
fn a_relationship_has_its_pairs_once_it_is_adopted() {
    let mut world = world_that_records_errors();
    let [a, b] = spawn(&mut world);
    world.entity_mut(b).insert(CrewOf(a));
    assert!(!world.has_pair::<CrewOf>(b, a), "reading alone does not adopt it");
    world.register_relation::<CrewOf>().unwrap();
    assert!(world.has_pair::<CrewOf>(b, a));
    world.check_pairs().unwrap();
}

#[test]
fn a_tag_pair_has_no_value() {
    let mut world = world_that_records_errors();
    let [a, b] = spawn(&mut world);
    let tag = relation(&mut world, RelationTraits::new());
    world.insert_pair_by_id(a, (tag, b)).unwrap();
    assert!(world.has_pair_by_id(a, PairId::new(tag, b)));
    assert!(world.pair_value_by_id::<u32>(a, (tag, b)).is_none());
}
