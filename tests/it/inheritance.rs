//! What an entity shares with its bases, and what it has itself.

use crate::common::{Random, fewer, refused, spawn};
use bevy_ecs::{entity_disabling::Disabled, prelude::*, system::RunSystemOnce};
use bevy_relations::{
    error::InsertPairError,
    event::{InsertedAbove, RemovedAbove},
    expr::PairExpr,
    prelude::*,
    query::{Cached, Inherited, Target, Up},
    relation::{OnInstantiate, Prefab},
    world::{EntityInheritanceExt, WorldInheritanceExt},
};
use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

#[derive(Component, Clone, Copy, PartialEq, Debug)]
struct Armor(u32);

/// Not shared.
#[derive(Component, Clone, Copy, PartialEq, Debug)]
struct Health(u32);

/// Never given to instances.
#[derive(Component, Clone, Copy, PartialEq, Debug)]
struct Serial(u32);

#[derive(Component, Clone, Copy, PartialEq, Debug)]
#[component(storage = "SparseSet")]
struct Shield(u32);

#[derive(Relation)]
#[relation(on_instantiate = Inherit)]
struct BuiltBy;

#[derive(Relation, PartialEq, Debug)]
#[relation(on_instantiate = Inherit)]
struct Costs {
    gold: u32,
}

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
#[relation(exclusive, traversable)]
struct MountedOn;

fn share<C: Component>(world: &mut World, rule: OnInstantiate) {
    let entity = world.entity_of::<C>();
    world.set_traits(entity, RelationTraits::new().on_instantiate(rule)).unwrap();
}

fn world() -> World {
    let mut world = World::new();
    share::<Armor>(&mut world, OnInstantiate::Inherit);
    share::<Shield>(&mut world, OnInstantiate::Inherit);
    share::<Serial>(&mut world, OnInstantiate::DontInherit);
    world
}

fn is_a(world: &mut World, source: Entity, bases: &[Entity]) {
    for &base in bases {
        world.insert_pair(source, IsA, base).unwrap();
    }
}

/// What `Inherited` and the world say of an entity, which must be the same.
fn armor_of(world: &mut World, entity: Entity) -> Option<u32> {
    let read = move |armor: Query<Inherited<&Armor>>| armor.get(entity).ok().map(|armor| armor.0);
    let found = world.run_system_once(read).unwrap();
    assert_eq!(world.get_inherited::<Armor>(entity).map(|armor| armor.0), found);
    assert_eq!(world.has_inherited::<Armor>(entity), found.is_some());
    assert_eq!(world.entity_mut(entity).get_inherited::<Armor>().map(|armor| armor.0), found);
    found
}

#[test]
fn an_own_component_overrides_that_of_the_base() {
    let mut world = world();
    let [base, instance] = spawn(&mut world);
    assert_eq!(armor_of(&mut world, instance), None);
    is_a(&mut world, instance, &[base]);
    assert_eq!(armor_of(&mut world, instance), None);
    world.entity_mut(base).insert(Armor(1));
    assert_eq!((armor_of(&mut world, base), armor_of(&mut world, instance)), (Some(1), Some(1)));
    assert!(!world.owns::<Armor>(instance) && world.owns::<Armor>(base));
    assert_eq!(world.holder_of::<Armor>(instance), Some(base));
    world.entity_mut(instance).insert(Armor(2));
    assert_eq!((armor_of(&mut world, base), armor_of(&mut world, instance)), (Some(1), Some(2)));
    assert!(world.entity_mut(instance).owns::<Armor>());
    assert_eq!(world.entity_mut(instance).holder_of::<Armor>(), Some(instance));
    world.entity_mut(instance).remove::<Armor>();
    assert_eq!(armor_of(&mut world, instance), Some(1));
    world.remove_pair::<IsA>(instance, base);
    assert_eq!(armor_of(&mut world, instance), None);
    world.despawn(instance);
    assert!(world.get_inherited::<Armor>(instance).is_none() && !world.owns::<Armor>(instance));
}

#[test]
fn the_first_base_is_searched_to_its_end_before_the_second() {
    let mut world = world();
    let [instance, first, second, far, near] = spawn(&mut world);
    is_a(&mut world, instance, &[first, second]);
    is_a(&mut world, first, &[far]);
    is_a(&mut world, second, &[near]);
    world.entity_mut(near).insert(Armor(3));
    assert_eq!(armor_of(&mut world, instance), Some(3));
    world.entity_mut(second).insert(Armor(2));
    assert_eq!(armor_of(&mut world, instance), Some(2));
    world.entity_mut(far).insert(Armor(1));
    assert_eq!(armor_of(&mut world, instance), Some(1));
    // Inserted again, the first base is the last.
    world.remove_pair::<IsA>(instance, first);
    is_a(&mut world, instance, &[first]);
    assert_eq!(armor_of(&mut world, instance), Some(2));
}

#[test]
fn only_what_is_to_be_inherited_is_shared() {
    let mut world = world();
    let [base, instance] = spawn(&mut world);
    is_a(&mut world, instance, &[base]);
    world.entity_mut(base).insert((Health(1), Serial(1)));
    assert!(world.get_inherited::<Health>(instance).is_none());
    assert!(!world.has_inherited::<Serial>(instance));
    let count = |health: Query<Inherited<&Health>>, serial: Query<Inherited<&Serial>>| {
        (health.iter().count(), serial.iter().count())
    };
    assert_eq!(world.run_system_once(count).unwrap(), (1, 1));
    world.entity_mut(instance).insert(Health(2));
    assert_eq!(world.get_inherited::<Health>(instance), Some(&Health(2)));
    assert_eq!(world.run_system_once(count).unwrap(), (2, 1));
}

#[test]
fn a_rule_that_is_set_later_holds_for_queries_that_are_there() {
    let mut world = World::new();
    let [base, instance] = spawn(&mut world);
    is_a(&mut world, instance, &[base]);
    world.entity_mut(base).insert(Armor(1));
    let mut query = world.query::<Inherited<&Armor>>();
    assert!(query.get(&world, instance).is_err());
    share::<Armor>(&mut world, OnInstantiate::Inherit);
    assert_eq!(query.get(&world, instance), Ok(&Armor(1)));
}

#[test]
fn pairs_are_inherited_by_the_rule_of_their_relation() {
    let mut world = world();
    let [base, instance, yard, other] = spawn(&mut world);
    is_a(&mut world, instance, &[base]);
    world.insert_pair(base, BuiltBy, yard).unwrap();
    world.insert_pair(base, Costs { gold: 5 }, yard).unwrap();
    world.insert_pair(base, Likes, yard).unwrap();
    let check = move |world: &mut World, built: &[Entity], gold: u32| {
        let built = built.to_vec();
        let read = move |all: Query<(Inherited<Targets<BuiltBy>>, Inherited<Target<Costs>>)>,
                         likes: Query<Entity, Related<Likes>>,
                         inherited: Query<Entity, With<Armor>>,
                         like: Query<Inherited<Targets<Likes>>>| {
            let (found, costs) = all.get(instance).unwrap();
            assert_eq!(found.collect::<Vec<_>>(), built);
            assert_eq!(costs.value().map(|costs| costs.gold), Some(gold));
            assert_eq!((likes.iter().count(), inherited.iter().count()), (1, 0));
            assert!(like.get(instance).is_err() && like.get(base).is_ok());
        };
        world.run_system_once(read).unwrap();
    };
    check(&mut world, &[yard], 5);
    assert!(world.has_inherited_pair::<BuiltBy>(instance, yard));
    assert!(!world.has_pair::<BuiltBy>(instance, yard) && !world.has_inherited_pair::<Likes>(instance, yard));
    world.insert_pair(instance, BuiltBy, other).unwrap();
    world.insert_pair(instance, Costs { gold: 9 }, other).unwrap();
    check(&mut world, &[other], 9);
    // A pair that is asked for is looked for in all bases.
    assert!(world.entity_mut(instance).has_inherited_pair::<BuiltBy>(yard));
    assert!(world.has_inherited_pair::<BuiltBy>(instance, other));
}

#[test]
fn prefabs_and_disabled_entities_are_bases_like_others() {
    let mut world = world();
    let (prefab, disabled) = (world.spawn((Prefab, Armor(1))).id(), world.spawn((Disabled, Armor(2))).id());
    let [a, b] = spawn(&mut world);
    is_a(&mut world, a, &[prefab]);
    is_a(&mut world, b, &[disabled]);
    assert_eq!((armor_of(&mut world, a), armor_of(&mut world, b)), (Some(1), Some(2)));
    let rows = |armor: Query<(Entity, Inherited<&Armor>)>| {
        armor.iter().map(|(entity, _)| entity).collect::<Vec<_>>()
    };
    let rows = world.run_system_once(rows).unwrap();
    assert_eq!(rows.len(), 2, "prefabs and disabled entities are no rows: {rows:?}");
    assert!(rows.contains(&a) && rows.contains(&b));
}

#[test]
fn whatever_disables_an_entity_it_has_its_own_and_is_a_base() {
    #[derive(Component)]
    struct Frozen;
    #[derive(Component)]
    #[component(storage = "SparseSet")]
    struct Asleep;

    let mut world = world();
    world.register_disabling_component::<Frozen>();
    world.register_disabling_component::<Asleep>();
    let far = world.spawn(Armor(1)).id();
    let base = world.spawn((Armor(2), Frozen, Asleep)).id();
    let [instance] = spawn(&mut world);
    let frozen = world.spawn(Frozen).id();
    is_a(&mut world, base, &[far]);
    is_a(&mut world, instance, &[base]);
    is_a(&mut world, frozen, &[base]);
    assert_eq!(armor_of(&mut world, instance), Some(2));
    let read = move |all: Query<Inherited<&Armor>, (Allow<Frozen>, Allow<Asleep>)>,
                     enabled: Query<Inherited<&Armor>>| {
        assert_eq!((all.get(base), all.get(frozen)), (Ok(&Armor(2)), Ok(&Armor(2))));
        assert_eq!((all.iter().count(), enabled.iter().count()), (4, 2));
        assert!(enabled.get(base).is_err() && enabled.get(frozen).is_err());
    };
    world.run_system_once(read).unwrap();
    world.check_pairs().unwrap();
}

#[test]
fn it_composes_like_other_data() {
    let mut world = world();
    let [base, instance, gun, lone] = spawn(&mut world);
    is_a(&mut world, instance, &[base]);
    world.insert_pair(gun, MountedOn, instance).unwrap();
    world.entity_mut(base).insert((Armor(1), Shield(2)));
    world.entity_mut(lone).insert(Health(1));
    let check = move |both: Query<(Entity, Inherited<&Armor>, Inherited<&Shield>)>,
                      optional: Query<Option<Inherited<&Armor>>, With<Health>>,
                      any: Query<AnyOf<(Inherited<&Armor>, &Health)>>,
                      above: Query<Up<MountedOn, Inherited<&Armor>>>| {
        let mut found: Vec<_> = both.iter().map(|(entity, ..)| entity).collect();
        found.sort_unstable();
        let mut expected = [base, instance];
        expected.sort_unstable();
        assert_eq!(found, expected);
        assert_eq!(both.get(instance).unwrap(), (instance, &Armor(1), &Shield(2)));
        assert_eq!(optional.single().unwrap(), None);
        assert!(any.iter().count() >= 3);
        // The gun is mounted on what inherits its armour.
        assert_eq!(above.get(gun), Ok(&Armor(1)));
        let count = std::sync::atomic::AtomicUsize::new(0);
        both.par_iter().for_each(|_| {
            count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        });
        assert_eq!(count.into_inner(), 2);
        assert_eq!(both.get_many([instance, base]).unwrap().len(), 2);
    };
    let write = |mut written: Query<(&mut Health, Option<Inherited<&Armor>>)>| {
        for (mut health, armor) in &mut written {
            health.0 += 1;
            assert!(armor.is_none());
        }
    };
    world.run_system_once(write).unwrap();
    bevy_tasks::ComputeTaskPool::get_or_init(bevy_tasks::TaskPool::new);
    world.run_system_once(check).unwrap();
}

#[test]
fn inherited_data_refuses_what_writes_beside_it() {
    fn refusal<M>(system: impl IntoSystem<(), (), M>) -> String {
        let mut system = IntoSystem::into_system(system);
        let panic = catch_unwind(AssertUnwindSafe(|| drop(system.initialize(&mut World::new()))));
        *panic.expect_err("this system must be refused").downcast::<String>().expect("a message")
    }
    for message in [
        refusal(|_: Query<(&mut Armor, Inherited<&Armor>)>| ()),
        refusal(|_: Query<&mut Armor>, _: Query<Inherited<&Armor>>| ()),
        refusal(|_: Query<&mut Armor>, _: Query<Option<Inherited<Ref<Armor>>>>| ()),
        refusal(|_: Query<EntityMut>, _: Query<Inherited<&Armor>>| ()),
    ] {
        assert!(message.contains("`Inherited<") && message.contains("B0001"), "{message}");
    }
    refusal(|_: Query<Inherited<&Armor>>, _: Query<&mut Armor>| ());
    let message = refusal(|_: PairsMut<Costs>, _: Query<Inherited<Targets<Costs>>>| ());
    assert!(message.contains("`Inherited<Targets<Costs>>`"), "{message}");
    let mut system = IntoSystem::into_system(|_: Query<(&mut Health, Inherited<&Armor>)>| ());
    system.initialize(&mut World::new());
}

#[test]
fn writes_to_a_base_are_changes_of_its_instances() {
    let mut world = world();
    let [base, instance, own] = spawn(&mut world);
    is_a(&mut world, instance, &[base]);
    is_a(&mut world, own, &[base]);
    world.entity_mut(base).insert((Prefab, Armor(1)));
    world.entity_mut(own).insert(Armor(5));
    let changed = |armor: Query<(Entity, Inherited<Ref<Armor>>)>| -> Vec<Entity> {
        armor.iter().filter(|(_, armor)| armor.is_changed()).map(|(entity, _)| entity).collect()
    };
    assert_eq!(world.run_system_cached(changed).unwrap().len(), 2);
    assert_eq!(world.run_system_cached(changed).unwrap(), []);
    world.get_mut::<Armor>(base).unwrap().0 = 2;
    assert_eq!(world.run_system_cached(changed).unwrap(), [instance]);
    assert_eq!(world.run_system_cached(changed).unwrap(), []);
}

#[test]
fn observers_of_instances_are_triggered_by_what_is_inserted_into_a_base_and_removed() {
    #[derive(Resource, Default, PartialEq, Debug)]
    struct Heard(Vec<(Entity, Option<u32>)>);
    let mut world = world();
    world.init_resource::<Heard>();
    world.propagate_changes::<IsA, Armor>();
    world.add_observer(
        |on: On<InsertedAbove<IsA, Armor>>, armor: Query<&Armor, Allow<Prefab>>, mut heard: ResMut<Heard>| {
            heard.0.push((on.entity, armor.get(on.holder).ok().map(|armor| armor.0)));
        },
    );
    world.add_observer(|on: On<RemovedAbove<IsA, Armor>>, mut heard: ResMut<Heard>| {
        heard.0.push((on.entity, None));
    });
    let prefab = world.spawn(Prefab).id();
    let [variant, instance, own] = spawn(&mut world);
    is_a(&mut world, variant, &[prefab]);
    is_a(&mut world, instance, &[variant]);
    world.entity_mut(own).insert(Armor(9));
    is_a(&mut world, own, &[prefab]);
    let heard = move |world: &mut World| core::mem::take(&mut world.resource_mut::<Heard>().0);
    assert_eq!(heard(&mut world), []);
    world.entity_mut(prefab).insert(Armor(1));
    assert_eq!(heard(&mut world), [(variant, Some(1)), (instance, Some(1))]);
    world.entity_mut(prefab).insert(Armor(2));
    assert_eq!(heard(&mut world), [(variant, Some(2)), (instance, Some(2))]);
    world.entity_mut(prefab).remove::<Armor>();
    assert_eq!(heard(&mut world), [(variant, None), (instance, None)]);
}

#[test]
fn nothing_is_an_instance_of_what_is_final() {
    let mut world = world();
    let base = world.spawn(Name::new("Base")).id();
    world.set_traits(base, RelationTraits::new().is_final()).unwrap();
    let [instance] = spawn(&mut world);
    let error = refused(&mut world, |world| world.insert_pair(instance, IsA, base));
    assert!(matches!(error, InsertPairError::Final { .. }) && error.to_string().contains("Base"), "{error}");
    // Rust components are final unless they are made inheritable.
    let health = world.entity_of::<Health>();
    let error = refused(&mut world, |world| world.insert_pair(instance, IsA, health));
    assert!(matches!(error, InsertPairError::Final { .. }), "{error}");
    world.set_traits(health, RelationTraits::new().inheritable()).unwrap();
    world.insert_pair(instance, IsA, health).unwrap();
    let error = refused(&mut world, |world| world.insert_pair(instance, IsA, instance));
    assert!(matches!(error, InsertPairError::Cycle { .. }), "{error}");
}

/// By definition: the first entity, the entity itself first and then its bases depth first, that has it.
fn by_definition(
    bases: &HashMap<Entity, Vec<Entity>>,
    armor: &HashMap<Entity, u32>,
    entity: Entity,
) -> Option<u32> {
    armor
        .get(&entity)
        .copied()
        .or_else(|| bases.get(&entity)?.iter().find_map(|&base| by_definition(bases, armor, base)))
}

#[test]
fn random_bases_give_what_the_definition_says() {
    let mut random = Random(5);
    for round in 0..fewer(60) {
        let mut world = world();
        world.register_component_name::<Armor>("Armor");
        let entities: Vec<Entity> = (0..12).map(|_| world.spawn_empty().id()).collect();
        let mut bases: HashMap<Entity, Vec<Entity>> = HashMap::new();
        let mut armor: HashMap<Entity, u32> = HashMap::new();
        let expr = PairExpr::parse("Armor, ?Prefab, ?Disabled").unwrap();
        let mut compiled = expr.compile(&mut world).unwrap();
        let mut query = world.query::<(Entity, Inherited<&Armor>)>();
        for step in 0..40 {
            let at = random.below(12);
            let entity = entities[at];
            match random.below(if round % 3 == 0 { 6 } else { 5 }) {
                0 | 1 if at > 0 => {
                    let base = entities[random.below(at)];
                    let list = bases.entry(entity).or_default();
                    if !list.contains(&base) {
                        list.push(base);
                    }
                    world.insert_pair(entity, IsA, base).unwrap();
                }
                2 => {
                    world.entity_mut(entity).insert(Armor(step));
                    armor.insert(entity, step);
                }
                3 => {
                    world.entity_mut(entity).remove::<Armor>();
                    armor.remove(&entity);
                }
                4 => {
                    let Some(base) = bases.get_mut(&entity).and_then(Vec::pop) else { continue };
                    world.remove_pair::<IsA>(entity, base);
                }
                _ => drop(world.entity_mut(entity).insert(Disabled)),
            }
            for &entity in &entities {
                let expected = by_definition(&bases, &armor, entity);
                assert_eq!(world.get_inherited::<Armor>(entity).map(|armor| armor.0), expected);
                if world.get::<Disabled>(entity).is_none() {
                    let found = query.get(&world, entity).ok().map(|(_, armor)| armor.0);
                    assert_eq!(found, expected, "round {round}, step {step}");
                }
            }
            // Notes of what was found by rows before must not lead astray.
            for (entity, found) in query.iter(&world) {
                assert_eq!(Some(found.0), by_definition(&bases, &armor, entity));
            }
            let expected = entities.iter().filter(|&&entity| by_definition(&bases, &armor, entity).is_some());
            assert_eq!(compiled.count(&world), Ok(expected.count()), "the expression says otherwise");
        }
        world.check_pairs().unwrap();
    }
}

#[test]
fn deep_and_wide_bases_are_searched_without_recursion() {
    let mut world = world();
    let chain: Vec<Entity> =
        (0..crate::common::size(20_000, 200)).map(|_| world.spawn_empty().id()).collect();
    let pairs: Vec<_> = chain.windows(2).map(|pair| (pair[1], IsA, pair[0])).collect();
    world.insert_pair_batch(pairs).unwrap();
    world.entity_mut(chain[0]).insert(Armor(7));
    let last = chain[chain.len() - 1];
    assert_eq!(armor_of(&mut world, last), Some(7));
    let count = |armor: Query<Inherited<&Armor>>| armor.iter().filter(|armor| armor.0 == 7).count();
    assert_eq!(world.run_system_once(count).unwrap(), chain.len());
}

#[test]
fn caching_terms_stand_beside_it() {
    let mut world = world();
    let [base, instance] = spawn(&mut world);
    is_a(&mut world, instance, &[base]);
    world.entity_mut(base).insert(Armor(1));
    let read = move |kept: Query<(Cached<Up<IsA, &Armor>>, Inherited<&Armor>)>| {
        assert_eq!(kept.get(instance).unwrap(), (&Armor(1), &Armor(1)));
    };
    world.run_system_once(read).unwrap();
}
