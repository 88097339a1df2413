//! Disabling along relations: causes, who joins and leaves, what others do to `Disabled`, and all of it at random against the
//! definition: an entity is disabled if that was done by hand, or if it lies below a root that is not enabled.

use crate::common::{
    Random, fewer, record_errors_of, spawn, take_reported_errors, unpaid::CrewOf, world_that_records_errors,
};
use bevy_app::prelude::*;
use bevy_ecs::{
    entity_disabling::Disabled, error::FallbackErrorHandler, lifecycle::Insert, prelude::*,
    resource::IsResource,
};
use bevy_relations::{disabling::*, error::DisablingError, prelude::*};
use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
};

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct PoweredBy;

#[derive(Relation)]
#[relation(traversable)]
struct PartOf;

#[derive(Relation, Clone)]
#[relation(traversable)]
struct Weighs(#[expect(dead_code, reason = "it makes a value")] u32);

#[derive(Component)]
#[relationship(relationship_target = Targets, allow_self_referential)]
struct AimsAt(Entity);

#[derive(Component)]
#[relationship_target(relationship = AimsAt)]
struct Targets(Vec<Entity>);

fn is_disabled(world: &World, entity: Entity) -> bool {
    world.get::<Disabled>(entity).is_some()
}

fn disabled<const N: usize>(world: &World, entities: [Entity; N]) -> [bool; N] {
    world.check_pairs().unwrap();
    entities.map(|entity| is_disabled(world, entity))
}

/// A chain: the second below the first, the third below the second.
fn chain(world: &mut World) -> [Entity; 3] {
    let [root, middle, leaf] = spawn(world);
    world.insert_pair(middle, PartOf, root).unwrap();
    world.insert_pair(leaf, PartOf, middle).unwrap();
    [root, middle, leaf]
}

#[test]
fn each_cause_is_taken_back_on_its_own() {
    let mut world = world_that_records_errors();
    let all @ [root, middle, leaf] = chain(&mut world);
    for _ in 0..2 {
        world.disable_below::<PartOf>(root).unwrap();
    }
    world.disable_below::<PartOf>(middle).unwrap();
    assert_eq!(disabled(&world, all), [false, true, true]);
    assert_eq!((world.causes_below::<PartOf>(root), world.causes_below::<PartOf>(leaf)), (2, 0));
    let relation = world.entity_of::<PartOf>();
    assert_eq!(world.disabling_roots(leaf), [(relation, middle), (relation, root)]);
    world.enable_below::<PartOf>(root).unwrap();
    assert_eq!(disabled(&world, all), [false, true, true]);
    world.enable_below::<PartOf>(root).unwrap();
    assert_eq!(disabled(&world, all), [false, false, true]);
    world.enable_below::<PartOf>(middle).unwrap();
    assert_eq!(disabled(&world, all), [false; 3]);
    assert!(world.disabling_roots(leaf).is_empty());
}

#[test]
fn what_cannot_be_done_is_an_error_that_names_the_things() {
    let mut world = world_that_records_errors();
    let [root, middle, leaf] = chain(&mut world);
    world.entity_mut(root).insert(Name::new("Hull"));
    let error = world.enable_below::<PartOf>(root).unwrap_err();
    let expected =
        format!("what is below Hull ({root}) along PartOf was not disabled, or was enabled already");
    assert_eq!(error.to_string(), expected);
    world.despawn(middle);
    assert_eq!(world.disable_below::<PartOf>(middle), Err(DisablingError::Dead { root: middle }));
    assert_eq!(world.enable_below::<PartOf>(middle), Err(DisablingError::Dead { root: middle }));
    let loose = world.spawn_relation("Loose", RelationTraits::new()).unwrap();
    for relation in [loose, leaf] {
        let error = world.disable_below_by_id(relation, root).unwrap_err();
        assert!(matches!(error, DisablingError::NotTraversable(_)), "{error}");
        assert!(world.enable_below_by_id(relation, root).is_err());
    }
    // `middle` was despawned above.
    for error in [world.disable_below_by_id(middle, root), world.enable_below_by_id(middle, root)] {
        assert_eq!(error, Err(DisablingError::DeadRelation { relation: middle }));
    }
    // A relationship that may lead to itself cannot be followed, which the compiler does not know.
    assert!(matches!(world.disable_below::<AimsAt>(root), Err(DisablingError::NotTraversable(_))));
    assert!(!is_disabled(&world, leaf));
}

#[test]
fn commands_disable_and_enable_and_report_what_is_refused() {
    let mut world = world_that_records_errors();
    let [root, middle, _] = chain(&mut world);
    world.commands().disable_below::<PartOf>(root);
    world.flush();
    assert!(is_disabled(&world, middle));
    world.commands().enable_below::<PartOf>(root);
    world.commands().enable_below::<PartOf>(root);
    world.flush();
    let errors = take_reported_errors();
    assert!(
        !is_disabled(&world, middle) && errors.len() == 1 && errors[0].contains("enabled already"),
        "{errors:?}"
    );
}

#[test]
fn who_joins_is_disabled_and_who_leaves_is_enabled_by_the_same_verb() {
    let mut world = world_that_records_errors();
    let [root, other, a, b] = spawn(&mut world);
    world.disable_below::<PoweredBy>(root).unwrap();
    world.insert_pair(b, PoweredBy, a).unwrap();
    assert_eq!(disabled(&world, [a, b]), [false; 2]);
    world.insert_pair(a, PoweredBy, root).unwrap();
    assert_eq!(disabled(&world, [root, a, b]), [false, true, true]);
    world.insert_pair(a, PoweredBy, other).unwrap();
    assert_eq!(disabled(&world, [a, b]), [false; 2]);
    let spawned = world.spawn(pairs![(PoweredBy, root)]).id();
    assert!(is_disabled(&world, spawned));
    world.move_sources::<PoweredBy>(other, root).unwrap();
    assert_eq!(disabled(&world, [a, b, spawned]), [true; 3]);
    world.remove_pairs::<PoweredBy>(b);
    assert_eq!(disabled(&world, [a, b]), [true, false]);
    world.despawn(root);
    assert_eq!(disabled(&world, [a, b, spawned]), [false; 3]);
    world.maintain_pairs();
    assert_eq!(world.causes_below::<PoweredBy>(root), 0);
}

#[test]
fn who_is_below_along_two_paths_leaves_with_the_last() {
    let mut world = world_that_records_errors();
    let [root, left, right, bottom] = spawn(&mut world);
    for (source, target) in [(left, root), (right, root), (bottom, left), (bottom, right)] {
        world.insert_pair(source, PartOf, target).unwrap();
    }
    world.disable_below::<PartOf>(root).unwrap();
    world.remove_pair::<PartOf>(left, root);
    assert_eq!(disabled(&world, [left, right, bottom]), [false, true, true]);
    world.remove_pair::<PartOf>(bottom, right);
    assert_eq!(disabled(&world, [left, right, bottom]), [false, true, false]);
}

#[test]
fn what_was_disabled_by_hand_stays_so_until_it_is_enabled_by_hand() {
    let mut world = world_that_records_errors();
    let [root, middle, leaf] = chain(&mut world);
    world.entity_mut(middle).insert(Disabled);
    world.disable_below::<PartOf>(root).unwrap();
    world.enable_below::<PartOf>(root).unwrap();
    assert_eq!(disabled(&world, [middle, leaf]), [true, false]);
    // By hand in the midst: a cause more, and one less.
    world.disable_below::<PartOf>(root).unwrap();
    world.entity_mut(leaf).insert(Disabled);
    world.entity_mut(middle).remove::<Disabled>();
    assert_eq!(disabled(&world, [middle, leaf]), [true; 2]);
    world.enable_below::<PartOf>(root).unwrap();
    assert_eq!(disabled(&world, [middle, leaf]), [false, true]);
    world.entity_mut(leaf).remove::<Disabled>();
    assert_eq!(disabled(&world, [middle, leaf]), [false; 2]);
}

#[test]
fn clones_are_disabled_by_what_they_lie_below() {
    let mut world = world_that_records_errors();
    let [root, middle, leaf] = chain(&mut world);
    world.disable_below::<PartOf>(root).unwrap();
    world.entity_mut(leaf).insert(Disabled);
    let [a, b] = [middle, leaf].map(|entity| world.entity_mut(entity).clone_and_spawn());
    assert_eq!(disabled(&world, [a, b]), [true; 2]);
    assert!(world.has_pair::<PartOf>(a, root));
    world.enable_below::<PartOf>(root).unwrap();
    assert_eq!(disabled(&world, [middle, leaf, a, b]), [false, true, false, true]);
    // One that takes its components along, and none of the pairs.
    world.disable_below::<PartOf>(root).unwrap();
    let copy = world.spawn_empty().id();
    world.entity_mut(middle).clone_components::<Disabled>(copy);
    assert!(is_disabled(&world, copy), "by hand: nothing else was asked for");
}

#[test]
fn clearing_and_clearing_all_pairs_enables() {
    let mut world = world_that_records_errors();
    let all @ [root, middle, leaf] = chain(&mut world);
    world.disable_below::<PartOf>(root).unwrap();
    world.entity_mut(middle).clear();
    assert_eq!(disabled(&world, all), [false; 3]);
    assert!(world.has_pair::<PartOf>(leaf, middle));
    world.insert_pair(middle, PartOf, root).unwrap();
    assert_eq!(disabled(&world, all), [false, true, true]);
    // What is taken off without the pairs comes back.
    world.entity_mut(middle).retain::<Name>();
    assert_eq!(is_disabled(&world, middle), world.has_pair::<PartOf>(middle, root));
    world.insert_pair(middle, PartOf, root).unwrap();
    world.clear_pairs();
    assert_eq!(disabled(&world, all), [false; 3]);
    world.insert_pair(leaf, PartOf, root).unwrap();
    assert_eq!(disabled(&world, all), [false, false, true]);
}

#[test]
fn along_bevys_relationships_and_run_time_relations() {
    let mut world = world_that_records_errors();
    let [root, ship, stone] = spawn(&mut world);
    let child = world.spawn((ChildOf(root), CrewOf(ship))).id();
    world.disable_below::<ChildOf>(root).unwrap();
    world.disable_below::<CrewOf>(ship).unwrap();
    world.entity_mut(child).remove::<ChildOf>();
    assert!(is_disabled(&world, child));
    world.enable_below::<CrewOf>(ship).unwrap();
    assert!(!is_disabled(&world, child));
    let below = world.spawn_relation("Below", RelationTraits::new().traversable()).unwrap();
    world.insert_pair_by_id(child, (below, stone)).unwrap();
    world.disable_below_by_id(below, stone).unwrap();
    assert_eq!((is_disabled(&world, child), world.disabling_roots(child)), (true, vec![(below, stone)]));
    world.despawn(below);
    assert!(!is_disabled(&world, child));
    world.maintain_pairs();
    world.check_pairs().unwrap();
}

#[test]
fn observers_that_change_pairs_while_entities_are_disabled() {
    let mut world = world_that_records_errors();
    let all @ [root, middle, leaf] = chain(&mut world);
    // Everything that is disabled flees.
    let fleeing = world
        .add_observer(|on: On<Insert<Disabled>>, mut commands: Commands| {
            commands.entity(on.entity).remove_pairs::<PartOf>();
        })
        .id();
    world.disable_below::<PartOf>(root).unwrap();
    assert_eq!(disabled(&world, all), [false; 3]);
    // What was to be disabled after it is below the root no longer.
    assert!(world.pairs::<PartOf>().iter().eq([(leaf, middle)]));
    world.despawn(fleeing);
    world.add_observer(|on: On<Insert<Disabled>>, mut commands: Commands| {
        commands.entity(on.entity).try_despawn();
    });
    world.insert_pair(middle, PartOf, root).unwrap();
    assert!(world.get_entity(middle).is_err() && !is_disabled(&world, leaf));
    world.check_pairs().unwrap();
}

#[test]
fn what_is_enabled_again_each_time_is_given_up_on_and_reported() {
    let ways: [fn(&mut EntityCommands); 3] = [
        |entity| _ = entity.remove::<Disabled>(),
        |entity| _ = entity.remove::<Disabled>().remove::<Disabled>(),
        |entity| _ = entity.retain::<Name>(),
    ];
    for way in ways {
        let mut world = world_that_records_errors();
        let [root, middle, leaf] = chain(&mut world);
        world.entity_mut(middle).insert(Name::new("middle"));
        let enable = move |on: On<Insert<Disabled>>, mut commands: Commands| {
            if on.entity == middle {
                way(&mut commands.entity(middle));
            }
        };
        let observers = [world.add_observer(enable).id(), world.add_observer(enable).id()];
        world.disable_below::<PartOf>(root).unwrap();
        let errors = take_reported_errors();
        assert!(errors.len() == 1 && errors[0].starts_with("middle ("), "{errors:?}");
        assert_eq!(disabled(&world, [middle, leaf]), [false, true]);
        world.maintain_pairs();
        assert_eq!(take_reported_errors(), [""; 0]);
        observers.into_iter().for_each(|observer| _ = world.despawn(observer));
        // What it lies below changes.
        world.enable_below::<PartOf>(root).unwrap();
        world.disable_below::<PartOf>(root).unwrap();
        assert_eq!(disabled(&world, [middle, leaf]), [true; 2]);
        world.check_pairs().unwrap();
    }
}

#[test]
fn everything_is_right_again_after_every_observer_was_despawned() {
    let mut app = App::new();
    app.add_plugins(RelationsPlugin);
    record_errors_of(app.world_mut());
    let [root, middle, leaf] = chain(app.world_mut());
    app.world_mut().disable_below::<PartOf>(root).unwrap();
    app.world_mut().despawn_all::<With<Observer>>();
    app.world_mut().remove_pairs::<PartOf>(leaf);
    app.update();
    let world = app.world_mut();
    assert_eq!(disabled(world, [middle, leaf]), [true, false]);
    world.insert_pair(leaf, PartOf, root).unwrap();
    world.entity_mut(middle).remove::<Disabled>();
    assert_eq!(disabled(world, [middle, leaf]), [true; 2]);
}

#[test]
fn what_lies_below_is_disabled_after_an_observer_has_panicked() {
    let mut world = world_that_records_errors();
    let [root, first, second, third, other] = spawn(&mut world);
    for source in [first, second, third] {
        world.insert_pair(source, PartOf, root).unwrap();
    }
    let mut panics = true;
    world.add_observer(move |_: On<Add<Disabled>>| assert!(!core::mem::take(&mut panics), "no"));
    catch_unwind(AssertUnwindSafe(|| world.disable_below::<PartOf>(root))).unwrap_err();
    assert_eq!(world.causes_below::<PartOf>(root), 1);
    // The next change settles those that are left, wherever it is.
    world.insert_pair(other, PartOf, third).unwrap();
    assert_eq!(disabled(&world, [root, first, second, third, other]), [false, true, true, true, true]);
    world.enable_below::<PartOf>(root).unwrap();
    assert_eq!(disabled(&world, [first, second, third, other]), [false; 4]);
}

#[test]
fn nothing_stays_disabled_once_the_entities_of_resources_are_despawned() {
    let mut world = world_that_records_errors();
    let [root, middle, leaf] = chain(&mut world);
    world.entity_mut(leaf).insert(Disabled);
    world.disable_below::<PartOf>(root).unwrap();
    assert_eq!(disabled(&world, [middle, leaf]), [true; 2]);
    let resources: Vec<Entity> = world
        .query_filtered::<Entity, (With<IsResource>, Without<FallbackErrorHandler>)>()
        .iter(&world)
        .collect();
    for resource in resources {
        world.despawn(resource);
    }
    assert_eq!(disabled(&world, [middle, leaf]), [false, true]);
    assert_eq!(world.causes_below::<PartOf>(root), 0);
    world.insert_pair(middle, PartOf, root).unwrap();
    world.disable_below::<PartOf>(root).unwrap();
    assert_eq!(disabled(&world, [middle, leaf]), [true; 2]);
    world.enable_below::<PartOf>(root).unwrap();
    assert_eq!(disabled(&world, [middle, leaf]), [false, true]);
}

/// What is known beside the pairs.
#[derive(Default)]
struct Model {
    by_hand: BTreeSet<Entity>,
    /// Causes by relation and root.
    roots: BTreeMap<(usize, Entity), u32>,
}

impl Model {
    fn is_disabled(&self, world: &World, relations: &[Entity], entity: Entity) -> bool {
        self.by_hand.contains(&entity)
            || self.roots.keys().any(|&(number, root)| {
                let pairs = world.pairs_by_id(relations[number]);
                let (mut met, mut ahead) = (BTreeSet::new(), vec![entity]);
                while let Some(entity) = ahead.pop() {
                    ahead.extend(pairs.targets(entity).filter(|&target| met.insert(target)));
                }
                met.contains(&root)
            })
    }

    fn step(
        &mut self,
        world: &mut World,
        relations: &[Entity],
        entities: &mut Vec<Entity>,
        random: &mut Random,
    ) {
        let [a, b, c] = [(); 3].map(|()| random.pick(entities));
        let number = random.below(relations.len());
        let relation = relations[number];
        match random.below(24) {
            0..=6 => _ = world.insert_pair_by_id(a, (relation, b)),
            7..=8 => _ = world.remove_pairs_by_id(a, (relation, b)),
            9 => _ = world.remove_pairs_by_id(a, PairId::with_relation(relation)),
            10 => _ = world.remove_pairs_everywhere(PairId::with_target(b)),
            11..=13 => {
                world.disable_below_by_id(relation, a).unwrap();
                *self.roots.entry((number, a)).or_default() += 1;
            }
            14..=16 => {
                let root = self.roots.keys().nth(random.below(self.roots.len().max(1))).copied();
                let (number, root) = root.unwrap_or((number, a));
                let result = world.enable_below_by_id(relations[number], root);
                match self.roots.get_mut(&(number, root)) {
                    Some(1) => _ = self.roots.remove(&(number, root)),
                    Some(causes) => *causes -= 1,
                    None => return assert!(result.is_err()),
                }
                result.unwrap();
            }
            17 => {
                world.entity_mut(a).insert(Disabled);
                self.by_hand.insert(a);
            }
            18 => {
                world.entity_mut(a).remove::<Disabled>();
                self.by_hand.remove(&a);
            }
            19 => _ = world.try_despawn(a),
            20 => {
                world.entity_mut(a).clear();
                self.by_hand.remove(&a);
            }
            21 => {
                let clone = world.entity_mut(a).clone_and_spawn();
                if self.by_hand.contains(&a) {
                    self.by_hand.insert(clone);
                }
                let gone = core::mem::replace(&mut entities[0], clone);
                let _ = world.try_despawn(gone);
            }
            22 => {
                let mut commands = world.commands();
                commands.entity(a).insert_pair_by_id((relation, b)).remove_pairs_by_id((relation, c));
                commands.entity(b).insert_pair_by_id((relation, c));
                world.flush();
            }
            _ => _ = world.move_sources::<PoweredBy>(a, b),
        }
        for entity in entities {
            if world.get_entity(*entity).is_err() {
                *entity = world.spawn_empty().id();
            }
        }
        self.roots.retain(|(_, root), _| world.get_entity(*root).is_ok());
        self.by_hand.retain(|entity| world.get_entity(*entity).is_ok());
    }
}

#[test]
fn an_entity_is_disabled_exactly_if_there_is_a_cause() {
    let mut met = [0; 2];
    for seed in 1..=fewer(15) as u64 {
        let mut world = World::new();
        record_errors_of(&mut world);
        let relations = [
            world.register_relation::<PoweredBy>().unwrap(),
            world.register_relation::<PartOf>().unwrap(),
            world.register_relation::<Weighs>().unwrap(),
            world.register_relation::<CrewOf>().unwrap(),
            world.spawn_relation("Below", RelationTraits::new().traversable()).unwrap(),
        ];
        let relations = &relations[..1 + random_count(seed)];
        let mut entities: Vec<Entity> = (0..10).map(|_| world.spawn_empty().id()).collect();
        let (mut model, mut random) = (Model::default(), Random(seed * 7919));
        for step in 0..fewer(300) {
            let before = random.clone();
            model.step(&mut world, relations, &mut entities, &mut random);
            for &entity in &entities {
                let expected = model.is_disabled(&world, relations, entity);
                met[usize::from(expected)] += 1;
                let doing = before.clone().below(24);
                assert_eq!(
                    is_disabled(&world, entity),
                    expected,
                    "{entity}, seed {seed}, step {step}, {doing}"
                );
            }
            world.check_pairs().unwrap();
        }
    }
    // A few short histories meet one of the two only.
    assert!(fewer(100) < 100 || met[0].min(met[1]) > 100, "{met:?}");
    take_reported_errors();
}

fn random_count(seed: u64) -> usize {
    seed as usize % 5
}
