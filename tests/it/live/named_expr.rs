//! Live expressions on entities.
//!
//! Classes: found by a path, by its entity, not at all, twice; on an entity that is despawned, that loses it, that gets another
//! one; updated by what an update calls; code of users that panics meanwhile.

use crate::common::panic_message;
use bevy_ecs::prelude::*;
use bevy_relations::{
    expr::PairExpr,
    live::{LiveExpr, NamedExpr, NamedExprError, WorldNamedExprExt},
    names::LookupError,
    prelude::*,
};

#[derive(Relation)]
struct DockedTo;

fn live(world: &mut World, text: &str) -> LiveExpr {
    PairExpr::parse(text).unwrap().live(world).unwrap()
}

/// A world with an expression on an entity, and a port.
fn world() -> (World, Entity, Entity) {
    let mut world = World::new();
    world.register_relation::<DockedTo>().unwrap();
    let live = live(&mut world, "(DockedTo, $port)");
    let entity = world.spawn((Name::new("docked"), NamedExpr::from(live))).id();
    let port = world.spawn_empty().id();
    (world, entity, port)
}

fn count(world: &World, entity: Entity) -> Option<usize> {
    Some(world.get::<NamedExpr>(entity)?.get()?.len())
}

#[test]
fn an_expression_is_found_and_updated_by_the_name_of_its_entity() {
    let (mut world, entity, port) = world();
    assert_eq!(count(&world, entity), Some(0));
    world.spawn(Pair(DockedTo, port));
    assert_eq!(world.update_named_expr("docked"), Ok(entity));
    assert_eq!(count(&world, entity), Some(1));
    world.entity_mut(entity).insert(Name::new("at ports"));
    assert!(matches!(
        world.update_named_expr("docked"),
        Err(NamedExprError::Lookup(LookupError::Unknown { .. }))
    ));
    let ship = world.spawn(Pair(DockedTo, port)).id();
    assert_eq!(world.update_named_expr("at ports"), Ok(entity));
    let named = world.get::<NamedExpr>(entity).unwrap();
    assert!(named.get().unwrap().contains(ship) && !named.get().unwrap().ran_whole());
}

#[test]
fn what_is_no_expression_is_named() {
    let (mut world, entity, port) = world();
    world.entity_mut(port).insert(Name::new("Port"));
    let error = world.update_named_expr("Port").unwrap_err();
    assert_eq!(error.to_string(), format!("Port ({port}) has no `NamedExpr`"));
    world.spawn(Name::new("docked"));
    assert!(matches!(
        world.update_named_expr("docked"),
        Err(NamedExprError::Lookup(LookupError::Ambiguous { .. }))
    ));
    world.despawn(entity);
    assert_eq!(world.update_expr_of(entity), Err(NamedExprError::Dead { entity }));
    let (mut world, entity, _) = self::world();
    world.clear_resources();
    let error = world.update_expr_of(entity).unwrap_err();
    assert!(matches!(error, NamedExprError::Run { .. }), "{error}");
    assert_eq!(count(&world, entity), Some(0));
}

#[test]
fn an_update_may_meet_anything() {
    // Functions that are called for groups may do anything.
    let observed = |act: fn(&mut World, Entity)| {
        let (mut world, entity, port) = world();
        let mut named = world.get_mut::<NamedExpr>(entity).unwrap();
        let live = named.get_mut().unwrap();
        live.group_by::<DockedTo>().unwrap().observe_groups(move |world, _| act(world, entity), |_, _| ());
        world.spawn(Pair(DockedTo, port));
        (world, entity, port)
    };
    let (mut world, entity, _) = observed(|world, entity| {
        let error = world.update_expr_of(entity).unwrap_err();
        assert_eq!(error.to_string(), format!("the expression of docked ({entity}) is being updated"));
    });
    world.update_expr_of(entity).unwrap();
    assert_eq!(count(&world, entity), Some(1));
    let (mut world, entity, _) = observed(|world, entity| _ = world.despawn(entity));
    world.update_expr_of(entity).unwrap();
    assert!(world.get_entity(entity).is_err());
    let (mut world, entity, _) = observed(|world, entity| {
        let other = live(world, "(DockedTo, *)");
        world.entity_mut(entity).insert(NamedExpr::from(other));
    });
    world.update_expr_of(entity).unwrap();
    assert_eq!(world.get::<NamedExpr>(entity).unwrap().get().unwrap().variables().count(), 0);
    let (mut world, entity, port) = observed(|_, _| panic!("stop"));
    assert_eq!(panic_message(|| world.update_expr_of(entity)).as_deref(), Some("stop"));
    assert!(matches!(world.update_expr_of(entity), Err(NamedExprError::Updating { .. })));
    let again = live(&mut world, "(DockedTo, $port)");
    world.entity_mut(entity).insert(NamedExpr::from(again));
    world.spawn(Pair(DockedTo, port));
    world.update_expr_of(entity).unwrap();
    assert_eq!(count(&world, entity), Some(2));
}
