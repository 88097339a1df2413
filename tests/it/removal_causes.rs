//! Why pairs are removed, as `PairRemoved` says it: every way to remove one, for every kind of relation.

use crate::common::CrewOf;
use bevy_ecs::prelude::*;
use bevy_relations::{event::RemovalCause, prelude::*, relation::Wildcard};

use RemovalCause::{Mirror, RelationDespawned, Removed, Replaced, SourceDespawned, TargetDespawned};

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
struct Owes(#[expect(dead_code, reason = "it makes a value")] u32);

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo;

#[derive(Relation)]
#[relation(exclusive)]
struct Rents(#[expect(dead_code, reason = "it makes a value")] u32);

#[derive(Relation)]
#[relation(symmetric)]
struct Knows;

#[derive(Relation)]
#[relation(symmetric, exclusive)]
struct MarriedTo;

#[derive(Resource, Default)]
struct Log(Vec<(Entity, Entity, RemovalCause)>);

fn heard(world: &mut World) -> Vec<(Entity, Entity, RemovalCause)> {
    world.check_pairs().unwrap();
    core::mem::take(&mut world.resource_mut::<Log>().0)
}

fn listening_world<const N: usize>() -> (World, [Entity; N]) {
    let mut world = World::new();
    world.init_resource::<Log>();
    world.adopt_relationship::<ChildOf>().adopt_relationship::<CrewOf>();
    world.add_observer(|on: On<PairRemoved<Wildcard>>, mut log: ResMut<Log>| {
        log.0.push((on.source, on.target, on.cause));
    });
    let entities = [(); N].map(|()| world.spawn_empty().id());
    (world, entities)
}

/// A way to remove the pair of the first entity with the second. The third has no pairs. `R` comes as its entity.
type Way = fn(&mut World, [Entity; 3], Entity);

/// The causes of the pairs `(a, b)` and `(b, a)` of a world with one pair, after the pair was removed in some way.
fn causes<R: Relation>(value: fn(Entity) -> R, way: Way) -> [Option<RemovalCause>; 2] {
    let (mut world, entities) = listening_world();
    let [a, b, _] = entities;
    let relation = world.register_relation::<R>().unwrap();
    world.insert_pair(a, value(b), b).unwrap();
    way(&mut world, entities, relation);
    world.flush();
    assert!(!world.has_pair_by_id(a, PairId::new(relation, b)));
    let mut found = [None; 2];
    for (source, target, cause) in heard(&mut world) {
        let at = if (source, target) == (a, b) { 0 } else { 1 };
        assert!((source, target) == [(a, b), (b, a)][at], "an event of another pair");
        assert!(found[at].replace(cause).is_none(), "an event more than once");
    }
    found
}

const VERBS: [(&str, Way); 9] = [
    ("remove_pairs_by_id", |world, [a, b, _], relation| {
        world.remove_pairs_by_id(a, (relation, b));
    }),
    ("all of the source", |world, [a, ..], relation| {
        world.remove_pairs_by_id(a, PairId::with_relation(relation));
    }),
    ("entity_mut", |world, [a, ..], _| {
        world.entity_mut(a).remove_pairs_by_id(PairId::ALL);
    }),
    ("command", |world, [a, b, _], relation| {
        world.commands().entity(a).remove_pairs_by_id((relation, b));
    }),
    ("everywhere", |world, [_, b, _], _| {
        world.remove_pairs_everywhere(PairId::with_target(b));
    }),
    ("everywhere by command", |world, [_, b, _], _| {
        world.commands().remove_pairs_everywhere(PairId::with_target(b));
    }),
    ("everything", |world, _, _| {
        world.remove_pairs_everywhere(PairId::ALL);
    }),
    ("clear_pairs", |world, _, _| world.clear_pairs()),
    ("clear", |world, [a, ..], _| {
        world.entity_mut(a).clear();
    }),
];

const DESPAWNS_OF_SOURCE: [(&str, Way); 4] = [
    ("despawn", |world, [a, ..], _| {
        world.despawn(a);
    }),
    ("despawn by command", |world, [a, ..], _| world.commands().entity(a).despawn()),
    ("despawn_with_dependents", |world, [a, ..], _| world.despawn_with_dependents(a).unwrap()),
    ("despawn_sources", |world, [_, b, _], relation| {
        assert_eq!(world.despawn_sources((relation, b)), Ok(1));
    }),
];

const DESPAWNS_OF_TARGET: [(&str, Way); 2] = [
    ("despawn", |world, [_, b, _], _| {
        world.despawn(b);
    }),
    ("despawn by command", |world, [_, b, _], _| world.commands().entity(b).despawn()),
];

/// Every way that does the same for all relations that are not symmetric.
fn check_one_direction<R: Relation>(value: fn(Entity) -> R) {
    let tables = [
        (&VERBS[..], Removed),
        (&DESPAWNS_OF_SOURCE[..], SourceDespawned),
        (&DESPAWNS_OF_TARGET[..], TargetDespawned),
    ];
    for (ways, cause) in tables {
        for &(name, way) in ways {
            let found = causes(value, way);
            assert_eq!(found, [Some(cause), None], "{} {name}", core::any::type_name::<R>());
        }
    }
}

/// Ways for relations whose pairs this crate keeps.
fn check_own<R: Relation>(value: fn(Entity) -> R) {
    check_one_direction(value);
    let despawn: Way = |world, _, relation| {
        world.despawn(relation);
    };
    assert_eq!(causes(value, despawn), [Some(RelationDespawned), None]);
    let despawn: Way = |world, [_, b, _], _| world.despawn_with_dependents(b).unwrap();
    assert_eq!(causes(value, despawn), [Some(TargetDespawned), None]);
}

#[test]
fn each_way_to_remove_a_tag_pair_has_its_cause() {
    check_own(|_| Likes);
    let typed: [Way; 2] = [
        |world, [a, b, _], _| assert!(world.remove_pair::<Likes>(a, b)),
        |world, [a, b, _], _| assert_eq!(world.remove_pair_batch::<Likes>([(a, b)]), 1),
    ];
    for way in typed {
        assert_eq!(causes(|_| Likes, way), [Some(Removed), None]);
    }
}

#[test]
fn each_way_to_remove_a_pair_with_a_value_has_its_cause() {
    check_own(|_| Owes(1));
    let typed: [Way; 2] = [
        |world, [a, b, _], _| assert!(world.remove_pair::<Owes>(a, b)),
        |world, [a, b, _], _| assert_eq!(world.remove_pair_batch::<Owes>([(a, b)]), 1),
    ];
    for way in typed {
        assert_eq!(causes(|_| Owes(1), way), [Some(Removed), None]);
    }
}

#[test]
fn a_pair_of_an_exclusive_relation_is_removed_or_replaced() {
    check_own(|_| DockedTo);
    check_own(|_| Rents(1));
    let insert: Way = |world, [a, _, c], _| world.insert_pair(a, DockedTo, c).unwrap();
    assert_eq!(causes(|_| DockedTo, insert), [Some(Replaced), None]);
    let batch: Way = |world, [a, _, c], _| world.insert_pair_batch([(a, DockedTo, c)]).unwrap();
    assert_eq!(causes(|_| DockedTo, batch), [Some(Replaced), None]);
    let insert: Way = |world, [a, _, c], _| world.insert_pair(a, Rents(2), c).unwrap();
    assert_eq!(causes(|_| Rents(1), insert), [Some(Replaced), None]);
    let by_id: Way = |world, [a, _, c], relation| world.insert_pair_by_id(a, (relation, c)).unwrap();
    assert_eq!(causes(|_| DockedTo, by_id), [Some(Replaced), None]);
}

#[test]
fn the_other_direction_of_a_symmetric_pair_is_its_mirror() {
    for (name, way) in VERBS {
        let found = causes(|_| Knows, way);
        assert!(
            [[Some(Removed), Some(Mirror)], [Some(Mirror), Some(Removed)]].contains(&found),
            "{name}: {found:?}"
        );
    }
    let first: Way = |world, [a, b, _], _| assert!(world.remove_pair::<Knows>(a, b));
    assert_eq!(causes(|_| Knows, first), [Some(Removed), Some(Mirror)]);
    let second: Way = |world, [a, b, _], _| assert!(world.remove_pair::<Knows>(b, a));
    assert_eq!(causes(|_| Knows, second), [Some(Mirror), Some(Removed)]);
}

#[test]
fn each_direction_of_a_symmetric_pair_says_which_of_its_ends_is_despawned() {
    for (name, way) in DESPAWNS_OF_SOURCE.into_iter().filter(|&(name, _)| name != "despawn_sources") {
        assert_eq!(causes(|_| Knows, way), [Some(SourceDespawned), Some(TargetDespawned)], "{name}");
    }
    for (name, way) in DESPAWNS_OF_TARGET {
        assert_eq!(causes(|_| Knows, way), [Some(TargetDespawned), Some(SourceDespawned)], "{name}");
    }
    let despawn: Way = |world, _, relation| {
        world.despawn(relation);
    };
    assert_eq!(causes(|_| Knows, despawn), [Some(RelationDespawned); 2]);
}

#[test]
fn both_partners_of_a_new_marriage_replace_their_old_ones() {
    let (mut world, [a, b, c, d]) = listening_world();
    world.insert_pair(a, MarriedTo, b).unwrap();
    world.insert_pair(c, MarriedTo, d).unwrap();
    world.insert_pair(a, MarriedTo, c).unwrap();
    let expected = [(a, b, Replaced), (b, a, Mirror), (c, d, Replaced), (d, c, Mirror)];
    assert_eq!(heard(&mut world), expected);
}

#[test]
fn two_pairs_that_point_at_each_other_are_no_mirrors_unless_the_relation_is_symmetric() {
    let (mut world, [a, b]) = listening_world();
    world.insert_pair(a, Likes, b).unwrap();
    world.insert_pair(b, Likes, a).unwrap();
    world.clear_pairs();
    assert_eq!(heard(&mut world), [(a, b, Removed), (b, a, Removed)]);
}

#[test]
fn an_entity_that_is_several_things_in_a_pair_is_relation_first_and_then_source() {
    let (mut world, [a]) = listening_world();
    world.insert_pair(a, Likes, a).unwrap();
    world.despawn(a);
    assert_eq!(heard(&mut world), [(a, a, SourceDespawned)]);
    let relation = world.spawn_relation("R", RelationTraits::new()).unwrap();
    let [a, b] = [(); 2].map(|()| world.spawn_empty().id());
    world.insert_pair_by_id(a, (relation, relation)).unwrap();
    world.insert_pair_by_id(relation, (relation, b)).unwrap();
    world.insert_pair(a, Likes, relation).unwrap();
    world.insert_pair(relation, Likes, b).unwrap();
    world.despawn(relation);
    let mut causes = heard(&mut world);
    causes.sort_by_key(|&(source, target, cause)| (source, target, cause != RelationDespawned));
    let mut expected = [
        (a, relation, RelationDespawned),
        (a, relation, TargetDespawned),
        (relation, b, RelationDespawned),
        (relation, b, SourceDespawned),
    ];
    expected.sort_by_key(|&(source, target, cause)| (source, target, cause != RelationDespawned));
    assert_eq!(causes, expected);
}

#[test]
fn of_a_despawned_subtree_the_end_that_goes_first_is_the_cause() {
    let despawn: Way = |world, [_, b, _], _| world.despawn_with_dependents(b).unwrap();
    assert_eq!(causes(ChildOf, despawn), [Some(SourceDespawned), None], "leaves first");
    let (mut world, [a, b, c]) = listening_world();
    world.entity_mut(b).insert(ChildOf(a));
    world.entity_mut(c).insert(ChildOf(b));
    world.despawn(a);
    assert_eq!(heard(&mut world), [(b, a, TargetDespawned), (c, b, SourceDespawned)]);
}

#[test]
fn each_way_to_remove_a_pair_of_a_bevy_relationship_has_its_cause() {
    check_one_direction(ChildOf);
    check_one_direction(|ship| CrewOf { ship, wage: 1 });
    let removals: [Way; 5] = [
        |world, [a, ..], _| {
            world.entity_mut(a).remove::<ChildOf>();
        },
        |world, [a, ..], _| {
            world.commands().entity(a).remove::<ChildOf>();
        },
        |world, [_, b, _], _| {
            world.entity_mut(b).remove::<Children>();
        },
        |world, [a, b, _], _| {
            world.entity_mut(b).detach_children(&[a]);
        },
        |world, [a, ..], _| {
            world.entity_mut(a).retain::<Name>();
        },
    ];
    for (number, way) in removals.into_iter().enumerate() {
        assert_eq!(causes(ChildOf, way), [Some(Removed), None], "{number}");
    }
}

#[test]
fn a_bevy_relationship_with_another_target_replaces_the_pair() {
    let replacements: [Way; 4] = [
        |world, [a, _, c], _| {
            world.entity_mut(a).insert(ChildOf(c));
        },
        |world, [a, _, c], _| world.insert_pair(a, ChildOf(c), c).unwrap(),
        |world, [a, _, c], _| {
            world.entity_mut(c).add_child(a);
        },
        |world, [a, _, c], relation| world.insert_pair_by_id(a, (relation, c)).unwrap(),
    ];
    for (number, way) in replacements.into_iter().enumerate() {
        assert_eq!(causes(ChildOf, way), [Some(Replaced), None], "{number}");
    }
    let (mut world, [a, b, c]) = listening_world();
    world.entity_mut(a).insert(CrewOf { ship: b, wage: 1 });
    world.entity_mut(a).insert(CrewOf { ship: b, wage: 2 });
    assert_eq!(heard(&mut world), [(a, b, Replaced)], "Bevy does not tell that it is the same target");
    world.insert_pair(a, CrewOf { ship: c, wage: 3 }, c).unwrap();
    assert_eq!(heard(&mut world), [(a, b, Replaced)]);
    assert_eq!(world.get::<CrewOf>(a).unwrap().wage, 3);
}

#[test]
fn a_tag_is_removed_with_its_source_or_as_the_target_that_it_is() {
    let tag: [(Way, RemovalCause); 6] = [
        (|world, [a, b, _], _| assert!(world.remove_tag(a, b)), Removed),
        (|world, [a, ..], _| assert_eq!(world.remove_pairs_by_id(a, PairId::ALL), 1), Removed),
        (|world, _, _| world.clear_pairs(), Removed),
        (
            |world, [a, ..], _| {
                world.entity_mut(a).clear();
            },
            Removed,
        ),
        (
            |world, [a, ..], _| {
                world.despawn(a);
            },
            SourceDespawned,
        ),
        (
            |world, [_, b, _], _| {
                world.despawn(b);
            },
            TargetDespawned,
        ),
    ];
    for (number, (way, cause)) in tag.into_iter().enumerate() {
        let (mut world, entities) = listening_world();
        let [a, b, c] = entities;
        world.insert_tag(a, b).unwrap();
        way(&mut world, entities, c);
        assert_eq!(heard(&mut world), [(a, b, cause)], "{number}");
    }
}

#[test]
fn a_clone_whose_target_is_cloned_later_has_its_pair_replaced() {
    let (mut world, [root]) = listening_world();
    let first = world.spawn(ChildOf(root)).id();
    let second = world.spawn(ChildOf(root)).id();
    let third = world.spawn(ChildOf(second)).id();
    world.insert_pair(first, Likes, third).unwrap();
    let clone = world.entity_mut(root).clone_and_spawn_with_opt_out(|builder| {
        builder.linked_cloning(true);
    });
    let clones: Vec<Entity> = world.get::<Children>(clone).unwrap().iter().collect();
    let below = world.get::<Children>(clones[1]).unwrap()[0];
    assert!(world.has_pair::<Likes>(clones[0], below));
    assert_eq!(heard(&mut world), [(clones[0], third, Replaced)]);
}
