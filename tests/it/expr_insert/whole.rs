//! All or nothing, where what one term inserts decides about another: companions of components, components that a constraint
//! inserts, types as targets of relations that the same expression makes.

use super::*;
use bevy_reflect::std_traits::ReflectDefault;
use bevy_relations::expr::UnknownNames;

#[derive(Component, Reflect, Default)]
#[reflect(Component, Default)]
struct Pilot;

#[derive(Component, Reflect, Default)]
#[reflect(Component, Default)]
struct Fighter;

#[derive(Component, Reflect, Default)]
#[reflect(Component, Default)]
struct Health(u32);

#[derive(Relation)]
#[relation(source(!Fighter))]
struct Fears;

#[derive(Relation)]
#[relation(source(Fighter))]
struct Fights;

#[derive(Relation)]
#[relation(source(Fighter), on_missing = Insert)]
struct Trains;

fn world() -> (World, Entity) {
    let mut world = World::new();
    world.init_resource::<AppTypeRegistry>();
    {
        let mut types = world.resource::<AppTypeRegistry>().write();
        types.register::<Pilot>();
        types.register::<Fighter>();
        types.register::<Health>();
    }
    world.register_component_name::<Pilot>("Pilot");
    world.register_component_name::<Fighter>("Fighter");
    world.register_component_name::<Health>("Health");
    let [pilot, fighter] = [world.entity_of::<Pilot>(), world.entity_of::<Fighter>()];
    world.set_traits(pilot, RelationTraits::new().with_id(fighter)).unwrap();
    world.register_relation::<Fears>().unwrap();
    world.register_relation::<Fights>().unwrap();
    world.register_relation::<Trains>().unwrap();
    let target = world.spawn(Name::new("A")).id();
    (world, target)
}

#[test]
fn companions_of_components_count_for_constraints() {
    let (mut world, target) = world();
    let entity = world.spawn_empty().id();
    world.insert_expr(entity, "Pilot, (Fears, A)").unwrap_err();
    assert!(!world.entity(entity).contains::<Pilot>() && !world.entity(entity).contains::<Fighter>());
    world.insert_expr(entity, "Pilot, (Fights, A)").unwrap();
    assert!(world.entity(entity).contains::<Fighter>() && world.has_pair::<Fights>(entity, target));
    // A component that is there brings nothing.
    world.remove_pairs::<Fights>(entity);
    world.entity_mut(entity).remove::<Fighter>();
    world.insert_expr(entity, "Pilot, (Fights, A)").unwrap_err();
    world.insert_expr(entity, "Pilot, (Fears, A)").unwrap();
    world.check_pairs().unwrap();
}

#[test]
fn what_a_constraint_inserts_counts_for_the_other_pairs() {
    for text in ["(Trains, A), (Fears, A)", "(Fears, A), (Trains, A)"] {
        let (mut world, _) = world();
        let entity = world.spawn_empty().id();
        world.insert_expr(entity, text).unwrap_err();
        assert!(!world.entity(entity).contains::<Fighter>(), "{text}");
        assert!(!world.pairs::<Trains>().has_any(entity) && !world.pairs::<Fears>().has_any(entity));
    }
}

#[test]
fn a_type_that_is_no_type_of_values_yet_is_refused_as_a_target_of_a_new_relation() {
    let (mut world, _) = world();
    let entity = world.spawn_empty().id();
    world.insert_expr_with(entity, "Health, (Rel, Health)", UnknownNames::Spawn).unwrap_err();
    assert!(!world.entity(entity).contains::<Health>());
    assert!(world.lookup("Rel").is_err());
}
