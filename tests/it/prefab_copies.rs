//! What instances copy: components by their clone behaviours, pairs and references by what they lead to.

use crate::{
    common::{spawn, take_reported_errors},
    prefabs::{Armor, Carries, Health, Likes, Serial, check, child_named, children, frigate, world},
};
use bevy_ecs::{
    entity::{ComponentCloneCtx, SourceComponent},
    entity_disabling::Disabled,
    prelude::*,
};
use bevy_relations::{
    prefab::{Prefab, WorldPrefabExt},
    prelude::*,
    relation::OnInstantiate,
    world::WorldInheritanceExt,
};

#[derive(Relation)]
#[relation(symmetric)]
struct AlliedWith;

#[derive(Relation)]
#[relation(symmetric, exclusive)]
struct MarriedTo;

#[derive(Relation)]
#[relation(on_instantiate = Inherit)]
struct BuiltBy;

#[derive(Relation)]
#[relation(on_instantiate = DontInherit)]
struct Tests;

#[test]
fn references_within_a_prefab_become_references_within_the_instance() {
    #[derive(Component, Clone)]
    struct Aims {
        #[entities]
        at: Entity,
        #[entities]
        from: Entity,
    }

    let mut world = world();
    let [outside, tag] = spawn(&mut world);
    let frigate = frigate(&mut world);
    let [port, starboard] = ["port", "starboard"].map(|name| child_named(&world, frigate, name));
    // Forwards, backwards, upwards, to itself, and out.
    let pairs = [(port, starboard), (starboard, port), (port, frigate), (frigate, port), (port, port)];
    for (source, target) in pairs.into_iter().chain([(port, outside), (frigate, outside)]) {
        world.insert_pair(source, Likes, target).unwrap();
    }
    world.insert_pair(port, Carries { count: 3 }, starboard).unwrap();
    world.insert_pair(port, AlliedWith, starboard).unwrap();
    world.insert_pair(frigate, AlliedWith, outside).unwrap();
    world.insert_pair(port, MarriedTo, starboard).unwrap();
    world.insert_pair(frigate, MarriedTo, outside).unwrap();
    world.insert_tag(frigate, tag).unwrap();
    world.insert_tag(port, tag).unwrap();
    world.entity_mut(starboard).insert(Aims { at: port, from: outside });
    let ship = world.instantiate(frigate).unwrap();
    let [own_port, own_starboard] = ["port", "starboard"].map(|name| child_named(&world, ship, name));
    let likes = |world: &World, entity| world.pairs::<Likes>().targets(entity).collect::<Vec<_>>();
    assert_eq!(likes(&world, own_port), [own_starboard, ship, own_port, outside]);
    assert_eq!(likes(&world, own_starboard), [own_port]);
    assert_eq!(likes(&world, ship), [own_port, outside]);
    assert_eq!(likes(&world, port), [starboard, frigate, port, outside], "the prefab is as it was");
    assert_eq!(world.pair_value::<Carries>(own_port, own_starboard), Some(&Carries { count: 3 }));
    assert!(
        world.has_pair::<AlliedWith>(own_starboard, own_port) && world.has_pair::<AlliedWith>(outside, ship)
    );
    assert!(world.has_pair::<MarriedTo>(own_starboard, own_port));
    assert!(world.has_pair::<MarriedTo>(frigate, outside), "no copy takes the partner of the prefab");
    assert!(world.has_tag(ship, tag) && world.has_tag(own_port, tag));
    let aims = world.get::<Aims>(own_starboard).unwrap();
    assert_eq!((aims.at, aims.from), (own_port, outside));
    check(&world);
}

#[test]
fn pairs_and_tags_are_copied_by_the_rule_of_their_relation() {
    let mut world = world();
    let [yard, kept, omitted] = spawn(&mut world);
    world.set_traits(omitted, RelationTraits::new().on_instantiate(OnInstantiate::DontInherit)).unwrap();
    let lent =
        world.spawn_relation("Lent", RelationTraits::new().on_instantiate(OnInstantiate::Inherit)).unwrap();
    let prefab = world.spawn(Prefab).id();
    let part = world.spawn(ChildOf(prefab)).id();
    for entity in [prefab, part] {
        world.insert_pair(entity, BuiltBy, yard).unwrap();
        world.insert_pair(entity, Tests, yard).unwrap();
        world.insert_pair(entity, Likes, yard).unwrap();
        world.insert_pair_by_id(entity, (lent, yard)).unwrap();
        world.insert_tag(entity, kept).unwrap();
        world.insert_tag(entity, omitted).unwrap();
    }
    let ship = world.instantiate(prefab).unwrap();
    let copy = children(&world, ship)[0];
    let has = |world: &World, entity| {
        let typed = [
            world.has_pair::<BuiltBy>(entity, yard),
            world.has_pair::<Tests>(entity, yard),
            world.has_pair::<Likes>(entity, yard),
        ];
        (
            typed,
            world.has_pair_by_id(entity, (lent, yard)),
            world.has_tag(entity, kept),
            world.has_tag(entity, omitted),
        )
    };
    assert_eq!(has(&world, ship), ([false, false, true], false, true, false));
    assert_eq!(has(&world, copy), ([true, false, true], true, true, false));
    assert!(
        world.has_inherited_pair::<BuiltBy>(ship, yard) && !world.has_inherited_pair::<Tests>(ship, yard)
    );
    check(&world);
}

#[test]
fn clone_behaviours_of_components_are_honoured() {
    #[derive(Component)]
    struct NotClone;
    #[derive(Component, Clone)]
    #[component(clone_behavior = Ignore)]
    struct Ignored;
    #[derive(Component, Clone, PartialEq, Debug)]
    #[component(clone_behavior = Custom(halve))]
    struct Halved(u32);
    fn halve(source: &SourceComponent, context: &mut ComponentCloneCtx) {
        if let Some(Halved(number)) = source.read::<Halved>() {
            context.write_target_component(Halved(number / 2));
        }
    }
    #[derive(Component, Clone, PartialEq, Debug)]
    #[component(storage = "SparseSet")]
    struct Sparse(String);

    let mut world = world();
    let prefab = world.spawn((Prefab, NotClone, Ignored, Halved(8), Sparse("text".into()))).id();
    world.spawn((ChildOf(prefab), Halved(4), Ignored));
    let ship = world.instantiate(prefab).unwrap();
    assert!(world.get::<NotClone>(ship).is_none() && world.get::<Ignored>(ship).is_none());
    assert_eq!(
        (world.get::<Halved>(ship), world.get::<Sparse>(ship)),
        (Some(&Halved(4)), Some(&Sparse("text".into())))
    );
    let copy = children(&world, ship)[0];
    assert_eq!((world.get::<Halved>(copy), world.get::<Ignored>(copy).is_some()), (Some(&Halved(2)), false));
    check(&world);
}

#[test]
fn a_shared_component_that_a_copied_one_requires_is_copied() {
    #[derive(Component, Clone)]
    #[require(Armor, Serial(0))]
    struct Hull;

    let mut world = world();
    let prefab = world.spawn((Prefab, Hull, Armor(50), Serial(9))).id();
    let ship = world.instantiate(prefab).unwrap();
    assert_eq!(world.get::<Armor>(ship), Some(&Armor(50)), "not Bevy's default, which would hide it");
    assert_eq!(world.get::<Serial>(ship), Some(&Serial(0)), "what is omitted is as new");
    check(&world);
}

#[test]
fn other_relationships_of_bevy_are_copied_with_mapped_targets() {
    #[derive(Component, Clone)]
    #[relationship(relationship_target = Crew)]
    struct CrewOf(Entity);
    #[derive(Component)]
    #[relationship_target(relationship = CrewOf)]
    struct Crew(Vec<Entity>);

    for adopt in [false, true] {
        let mut world = world();
        if adopt {
            world.adopt_relationship::<CrewOf>();
        }
        let prefab = world.spawn(Prefab).id();
        let cook = world.spawn((Name::new("cook"), ChildOf(prefab), CrewOf(prefab))).id();
        assert_eq!(world.get::<Crew>(prefab).unwrap().0, [cook]);
        let ship = world.instantiate(prefab).unwrap();
        let own = child_named(&world, ship, "cook");
        assert_eq!(world.get::<Crew>(ship).unwrap().0, [own]);
        assert_eq!(world.get::<Crew>(prefab).unwrap().0, [cook]);
        assert_eq!(world.get::<CrewOf>(own).unwrap().0, ship);
        check(&world);
    }
}

#[test]
fn disabled_parts_are_enabled_in_the_instance() {
    let mut world = world();
    let prefab = world.spawn((Prefab, Disabled, children![Disabled])).id();
    let ship = world.instantiate(prefab).unwrap();
    assert!(
        world.get::<Disabled>(ship).is_none() && world.get::<Disabled>(children(&world, ship)[0]).is_none()
    );
    check(&world);
}

#[test]
fn pairs_that_cannot_be_copied_are_reported_and_the_rest_is_made() {
    #[derive(Relation)]
    struct Owns(#[expect(dead_code, reason = "a value that cannot be copied")] u32);

    let mut world = world();
    let [thing] = spawn(&mut world);
    let prefab = world.spawn((Prefab, Health(1), Pair(Owns(1), thing), Pair(Likes, thing))).id();
    let ship = world.instantiate(prefab).unwrap();
    let errors = take_reported_errors();
    assert!(errors.len() == 1 && errors[0].contains("Owns") && errors[0].contains("Clone"), "{errors:?}");
    assert!(world.has_pair::<Likes>(ship, thing) && !world.has_pair::<Owns>(ship, thing));
    check(&world);
}
