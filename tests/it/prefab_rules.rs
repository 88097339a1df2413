//! Which entity an instance gets each thing from, and what it does not get.
//!
//! The classes: a part that is a base of another part; what is never copied, found on a prefab before the instance is made and put
//! there meanwhile by observers; components that require others, or have companions, which the part, a base or none of them has;
//! own pairs of an instance that an inherited pair, its mirror or its companion would replace.

use crate::{
    common::{spawn, take_reported_errors, world_that_records_errors},
    prefabs::{Health, Likes, check, children, set_rule},
};
use bevy_ecs::{entity_disabling::Disabled, prelude::*};
use bevy_relations::{
    expr::PairExpr,
    prefab::{Prefab, SlotOf, WorldPrefabExt},
    prelude::*,
    relation::OnInstantiate,
    world::WorldInheritanceExt,
};

#[derive(Component, Clone, Copy, PartialEq, Debug, Default)]
struct Shield(u32);

#[derive(Component, Clone)]
#[require(Health)]
struct Hull;

/// Requires what requires another.
#[derive(Component, Clone)]
#[require(Hull = Hull, Shield)]
struct Bridge;

#[test]
fn a_part_that_another_part_is_an_instance_of_is_copied_like_any() {
    #[derive(Component, Clone)]
    struct Aims(#[entities] Entity);

    let mut world = world_that_records_errors();
    let prefab = world.spawn(Prefab).id();
    let base = world.spawn(ChildOf(prefab)).id();
    let part = world.spawn((ChildOf(prefab), Pair(IsA, base))).id();
    world.insert_pair(prefab, Likes, base).unwrap();
    world.entity_mut(part).insert(Aims(base));
    // A slot of it is offered by its copy.
    let slot = world.spawn((ChildOf(base), Pair(SlotOf, base))).id();
    let ship = world.instantiate(prefab).unwrap();
    let copies = children(&world, ship);
    assert!(world.pairs::<Likes>().targets(ship).eq([copies[0]]));
    assert_eq!(world.get::<Aims>(copies[1]).map(|aims| aims.0), Some(copies[0]));
    assert!(world.pairs_by_id(slot).targets(copies[0]).eq(children(&world, copies[0])));
    check(&world);
}

#[test]
fn what_is_never_copied_is_not_copied_either_if_it_comes_while_an_instance_is_made() {
    #[derive(Component, Clone, Copy)]
    struct Number(u32);
    #[derive(Component, Clone)]
    struct Serial;
    #[derive(Relation)]
    #[relation(on_instantiate = DontInherit)]
    struct Tests;

    type Put = fn(EntityCommands<'_>, Entity);
    let all: [Put; 5] = [
        |mut part, _| _ = part.insert(Serial),
        |mut part, _| _ = part.insert(Disabled),
        |mut part, prefab| _ = part.insert_pair(Tests, prefab),
        |mut part, prefab| _ = part.insert_pair(SlotOf, prefab),
        |mut part, _| _ = part.insert(Health(5)),
    ];
    for put in all {
        let mut world = world_that_records_errors();
        set_rule::<Serial>(&mut world, OnInstantiate::DontInherit);
        let prefab = world.spawn(Prefab).id();
        world.spawn((ChildOf(prefab), Number(1)));
        let part = world.spawn((ChildOf(prefab), Number(2))).id();
        world.add_observer(move |on: On<Add<Number>>, numbers: Query<&Number>, mut commands: Commands| {
            if numbers.get(on.entity).is_ok_and(|number| number.0 == 1) {
                put(commands.entity(part), prefab);
            }
        });
        for ship in world.instantiate_batch(prefab, 2).unwrap() {
            let copy = children(&world, ship)[1];
            assert!(world.get::<Number>(copy).is_some());
            assert!(!world.entity(copy).contains::<Serial>() && !world.entity(copy).contains::<Disabled>());
            assert!(!world.pairs::<Tests>().has_any(copy) && !world.pairs::<SlotOf>().has_any(copy));
        }
        check(&world);
    }
}

#[test]
fn an_instance_does_not_get_the_parent_that_its_prefab_gets_meanwhile() {
    let mut world = world_that_records_errors();
    let other = world.spawn_empty().id();
    let prefab = world.spawn((Prefab, children![()])).id();
    world.add_observer(move |_: On<Add<ChildOf>>, mut commands: Commands| {
        commands.entity(prefab).insert_if_new(ChildOf(other));
    });
    let ship = world.instantiate(prefab).unwrap();
    assert_eq!(world.get::<ChildOf>(ship).map(ChildOf::parent), None);
    check(&world);
}

#[test]
fn what_a_copied_component_requires_comes_from_the_nearest_that_has_it() {
    for rule in [OnInstantiate::Override, OnInstantiate::Inherit] {
        // The variant has lost what its own component requires.
        let mut world = world_that_records_errors();
        set_rule::<Health>(&mut world, rule);
        let base = world.spawn((Prefab, Hull, Health(100))).id();
        let variant = world.spawn((Prefab, Pair(IsA, base))).id();
        world.entity_mut(variant).remove::<Health>();
        for ship in world.instantiate_batch(variant, 2).unwrap() {
            assert_eq!(world.get_inherited::<Health>(ship), Some(&Health(100)), "{rule:?}");
        }
        // An own value stays.
        let wreck = world.spawn((Health(1), Pair(IsA, variant))).id();
        assert_eq!(world.get::<Health>(wreck), Some(&Health(1)));
        check(&world);

        // The base has got a component since, and the variant has what that requires.
        let mut world = world_that_records_errors();
        set_rule::<Health>(&mut world, rule);
        let base = world.spawn((Prefab, Health(50))).id();
        let variant = world.spawn((Prefab, Health(70), Pair(IsA, base))).id();
        world.entity_mut(base).insert(Hull);
        let ship = world.instantiate(variant).unwrap();
        assert!(world.entity(ship).contains::<Hull>());
        assert_eq!(world.get_inherited::<Health>(ship), Some(&Health(70)), "{rule:?}");
        check(&world);
    }
}

#[test]
fn chains_of_required_components_come_from_several_prefabs() {
    let mut world = world_that_records_errors();
    let far = world.spawn((Prefab, Health(100))).id();
    let base = world.spawn((Prefab, Pair(IsA, far))).id();
    world.entity_mut(base).remove::<Health>().insert((Hull, Shield(7))).remove::<Health>();
    let variant = world.spawn((Prefab, Pair(IsA, base))).id();
    world.entity_mut(variant).remove::<(Hull, Shield)>().insert(Bridge).remove::<(Hull, Shield, Health)>();
    let ship = world.instantiate(variant).unwrap();
    assert!(world.entity(ship).contains::<Bridge>() && world.entity(ship).contains::<Hull>());
    assert_eq!(world.get::<Shield>(ship), Some(&Shield(7)));
    assert_eq!(world.get::<Health>(ship), Some(&Health(100)));
    // The same below a prefab.
    let fleet = world.spawn(Prefab).id();
    world.spawn((ChildOf(fleet), Pair(IsA, variant)));
    let part = children(&world, fleet)[0];
    world.entity_mut(part).remove::<(Hull, Shield, Health)>();
    let copied = world.instantiate(fleet).unwrap();
    let flagship = children(&world, copied)[0];
    assert_eq!(world.get::<Shield>(flagship), Some(&Shield(7)));
    assert_eq!(world.get::<Health>(flagship), Some(&Health(100)));
    check(&world);
}

#[test]
fn companions_of_a_copied_component_are_copied_too() {
    use bevy_ecs::reflect::AppTypeRegistry;
    use bevy_reflect::{Reflect, std_traits::ReflectDefault};

    #[derive(Component, Reflect, Clone, Copy, PartialEq, Debug, Default)]
    #[reflect(Component, Default)]
    struct Morale(u32);
    #[derive(Component, Clone)]
    struct Brings;

    let mut world = world_that_records_errors();
    world.init_resource::<AppTypeRegistry>();
    world.resource::<AppTypeRegistry>().write().register::<Morale>();
    world.register_component::<Brings>();
    set_rule::<Morale>(&mut world, OnInstantiate::Inherit);
    let [brings, morale] = [world.entity_of::<Brings>(), world.entity_of::<Morale>()];
    world.set_traits(brings, RelationTraits::new().with_id(morale)).unwrap();
    let prefab = world.spawn((Prefab, Brings, Morale(50))).id();
    let ship = world.instantiate(prefab).unwrap();
    assert_eq!(world.get_inherited::<Morale>(ship), Some(&Morale(50)));
    check(&world);
}

#[test]
fn an_instance_keeps_the_target_whose_key_an_inherited_pair_has() {
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Slot {
        Head,
        Hand,
    }
    #[derive(Relation, Clone)]
    #[relation(key = Slot)]
    struct Equips(Slot);

    let mut world = world_that_records_errors();
    let [hat, helmet, sword] = spawn(&mut world);
    let knight =
        world.spawn((Prefab, pairs![(Equips(Slot::Head), helmet), (Equips(Slot::Hand), sword)])).id();
    let own = world.spawn((Pair(Equips(Slot::Head), hat), Pair(IsA, knight))).id();
    assert_eq!(world.pairs::<Equips>().target_by_key(own, &Slot::Head), Some(hat));
    assert_eq!(world.pairs::<Equips>().target_by_key(own, &Slot::Hand), Some(sword));
    check(&world);
}

#[test]
fn an_instance_keeps_its_partner_and_what_a_companion_would_replace() {
    #[derive(Relation)]
    #[relation(symmetric, exclusive)]
    struct Married;
    #[derive(Relation)]
    #[relation(exclusive)]
    struct LivesIn;
    #[derive(Relation)]
    #[relation(with = LivesIn)]
    struct WorksIn;

    let mut world = world_that_records_errors();
    let partner = world.spawn_empty().id();
    let prefab = world.spawn(Prefab).id();
    world.spawn((ChildOf(prefab), Pair(Married, prefab)));
    let own = world.spawn((Pair(Married, partner), Pair(IsA, prefab))).id();
    assert!(world.pairs::<Married>().targets(own).eq([partner]));
    let lone = world.instantiate(prefab).unwrap();
    assert!(world.pairs::<Married>().targets(lone).eq(children(&world, lone)));

    let [oslo, paris] = spawn(&mut world);
    let clerk = world.spawn((Prefab, Pair(WorksIn, oslo))).id();
    let own = world.spawn((Pair(LivesIn, paris), Pair(IsA, clerk))).id();
    assert!(world.pairs::<LivesIn>().targets(own).eq([paris]));
    assert!(!world.pairs::<WorksIn>().has_any(own));
    let other = world.instantiate(clerk).unwrap();
    assert!(world.pairs::<LivesIn>().targets(other).eq([oslo]) && world.has_pair::<WorksIn>(other, oslo));
    check(&world);
}

#[test]
fn companions_of_companions_and_of_mirrors_do_not_replace_own_pairs_either() {
    #[derive(Relation)]
    #[relation(exclusive)]
    struct LivesIn;
    #[derive(Relation)]
    #[relation(with = LivesIn)]
    struct Visits;
    #[derive(Relation)]
    #[relation(with = Visits)]
    struct WorksIn;
    #[derive(Relation)]
    #[relation(symmetric, with = LivesIn)]
    struct Joins;

    let mut world = world_that_records_errors();
    let [oslo, paris, coast] = spawn(&mut world);
    let clerk = world.spawn((Prefab, Pair(WorksIn, oslo))).id();
    let own = world.spawn((Pair(LivesIn, paris), Pair(IsA, clerk))).id();
    assert!(world.pairs::<LivesIn>().targets(own).eq([paris]));
    assert!(!world.pairs::<WorksIn>().has_any(own));
    let other = world.instantiate(clerk).unwrap();
    assert!(world.has_pair::<WorksIn>(other, oslo) && world.has_pair::<LivesIn>(other, oslo));

    // The mirror has companions of its own, on an entity that is no part of the prefab.
    let bridge = world.spawn((Prefab, Pair(Joins, oslo))).id();
    world.insert_pair(oslo, LivesIn, coast).unwrap();
    let other = world.instantiate(bridge).unwrap();
    assert!(world.pairs::<LivesIn>().targets(oslo).eq([coast]));
    assert!(!world.pairs::<Joins>().has_any(other));
    check(&world);
}

#[test]
fn companions_come_from_the_nearest_that_has_them() {
    use bevy_ecs::reflect::AppTypeRegistry;
    use bevy_reflect::{Reflect, std_traits::ReflectDefault};
    use bevy_relations::expr::WorldExprExt;

    #[derive(Component, Reflect, Clone, Copy, PartialEq, Debug, Default)]
    #[reflect(Component, Default)]
    struct Day(u32);
    #[derive(Component, Reflect, Clone, Copy, PartialEq, Debug, Default)]
    #[reflect(Component, Default)]
    struct Night(u32);

    let mut world = world_that_records_errors();
    world.init_resource::<AppTypeRegistry>();
    world.resource::<AppTypeRegistry>().write().register::<Day>();
    world.resource::<AppTypeRegistry>().write().register::<Night>();
    world.register_component_name::<Day>("Day");
    world.register_component_name::<Night>("Night");
    let [day, night] = [world.entity_of::<Day>(), world.entity_of::<Night>()];
    world.set_traits(day, RelationTraits::new().with_id(night)).unwrap();
    // In a circle there is no end to what a copy brings.
    world.set_traits(night, RelationTraits::new().with_id(day)).unwrap_err();
    // Each has one of them alone, so that one brings what the other one has.
    let base = world.spawn((Prefab, Day(1), Night(2))).id();
    let variant = world.spawn((Prefab, Pair(IsA, base))).id();
    world.entity_mut(base).remove::<Day>();
    world.entity_mut(variant).remove::<Night>();
    let ship = world.instantiate(variant).unwrap();
    assert_eq!((world.get::<Day>(ship), world.get::<Night>(ship)), (Some(&Day(1)), Some(&Night(2))));
    let other = world.spawn_empty().id();
    world.insert_expr(other, "Day").unwrap();
    assert!(world.entity(other).contains::<Night>());
    check(&world);
}

#[test]
fn what_is_copied_first_may_be_despawned_or_changed_by_observers() {
    type Action = fn(&mut World, [Entity; 3]);
    let actions: [Action; 5] = [
        |world, [base, ..]| _ = world.try_despawn(base),
        |world, [_, variant, _]| _ = world.try_despawn(variant),
        |world, [.., ship]| _ = world.try_despawn(ship),
        |world, [.., ship]| _ = world.entity_mut(ship).remove::<Health>(),
        |world, [base, ..]| _ = world.entity_mut(base).remove::<Health>(),
    ];
    for action in actions {
        let mut world = world_that_records_errors();
        let base = world.spawn((Prefab, Hull, Health(100))).id();
        let variant = world.spawn((Prefab, Pair(IsA, base), children![()])).id();
        world.entity_mut(variant).remove::<Health>();
        let ship = world.spawn_empty().id();
        world.add_observer(move |on: On<Add<Health>>, mut commands: Commands| {
            if on.entity == ship {
                commands.queue(move |world: &mut World| action(world, [base, variant, ship]));
            }
        });
        _ = world.insert_pair(ship, IsA, variant);
        world.flush();
        world.check_pairs().unwrap();
        // The next one is made of what is left.
        let is_whole = world.get::<Health>(base).is_some() && world.get::<Hull>(variant).is_some();
        if is_whole {
            let next = world.instantiate(variant).unwrap();
            assert!(world.get::<Health>(next) == Some(&Health(100)) && children(&world, next).len() == 1);
        }
        take_reported_errors();
    }
}

#[test]
fn an_entity_whose_parent_is_refused_does_not_become_a_part_of_a_prefab() {
    // The order of observers depends on their entities.
    for others in 0..16 {
        let mut world = world_that_records_errors();
        world.spawn_batch((0..others).map(|_| ()));
        let child_of = world.entity_of::<ChildOf>();
        world.spawn(Pair(Likes, child_of));
        let prefab = world.spawn(Prefab).id();
        let part = world.spawn(ChildOf(prefab)).id();
        let ship = world.spawn_empty().id();
        // From here on the pairs of `ChildOf` are checked.
        assert_eq!(
            PairExpr::parse("(ChildOf, _)").unwrap().compile(&mut world).unwrap().count(&world),
            Ok(0)
        );
        world.entity_mut(prefab).insert(ChildOf(ship));
        world.entity_mut(ship).insert(ChildOf(part));
        assert!(!world.entity(ship).contains::<ChildOf>() && !world.entity(ship).contains::<Prefab>());
        assert_eq!(take_reported_errors().len(), 1);
        check(&world);
    }
}

/// Bevy leaves an entity in `Children` when its `ChildOf` is moved to another entity.
#[test]
fn what_is_still_listed_as_a_child_but_is_none_is_no_part_of_a_prefab() {
    for dies in [false, true] {
        let mut world = world_that_records_errors();
        let prefab = world.spawn_empty().id();
        let left = world.spawn((Health(1), ChildOf(prefab))).id();
        let part = world.spawn(Health(2)).id();
        world.entity_mut(left).move_components::<ChildOf>(part);
        if dies {
            world.despawn(left);
        }
        assert!(children(&world, prefab).contains(&left), "the list is wrong");
        world.entity_mut(prefab).insert(Prefab);
        assert!(world.entity(part).contains::<Prefab>());
        assert!(world.get::<Prefab>(left).is_none());
        let ship = world.instantiate(prefab).unwrap();
        let copies = children(&world, ship);
        assert_eq!(
            copies.iter().map(|&copy| world.get::<Health>(copy)).collect::<Vec<_>>(),
            [Some(&Health(2))]
        );
        check(&world);
    }
}
