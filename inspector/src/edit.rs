//! Changes of pairs.

use bevy_ecs::{
    entity::Entity,
    reflect::AppTypeRegistry,
    world::{CommandQueue, World},
};
use bevy_inspector_egui::{
    egui::Ui,
    reflect_inspector::{Context, InspectorUi},
};
use bevy_reflect::PartialReflect;
use bevy_relations::{expr::WorldExprExt, prelude::*, world::WorldReflectPairExt};

/// A value of a pair, of whatever type.
pub(crate) type Value = Box<dyn PartialReflect>;

/// A change that the panel was asked for.
pub(crate) enum Edit {
    InsertExpr { entity: Entity, expression: String },
    Remove { source: Entity, pair: PairId },
    Write { source: Entity, pair: PairId, value: Value },
}

impl Edit {
    /// # Errors
    /// Why it is refused.
    pub(crate) fn apply(self, world: &mut World) -> Result<(), String> {
        match self {
            Self::InsertExpr { entity, expression } => {
                world.insert_expr(entity, &expression).map_err(|error| error.to_string())
            }
            Self::Remove { source, pair } => {
                world.remove_pairs_by_id(source, pair);
                Ok(())
            }
            Self::Write { source, pair, value } => {
                world.insert_reflected_pair(source, pair, value).map_err(|error| error.to_string())
            }
        }
    }
}

/// A copy of the value of a pair, to be edited.
pub(crate) fn copy_value(world: &World, source: Entity, pair: PairId) -> Option<Value> {
    let value = world.reflect_pair_value(source, pair)?;
    match value.reflect_clone() {
        Ok(copy) => Some(copy.into_partial_reflect()),
        Err(_) => value.to_dynamic().ok(),
    }
}

/// Draws a value. Returns whether it was edited.
pub(crate) fn ui_for_value(world: &mut World, value: &mut dyn PartialReflect, ui: &mut Ui) -> bool {
    if value.get_represented_type_info().is_none() {
        // Made by a script: nothing says what its fields may be.
        ui.weak(format!("{value:?}"));
        return false;
    }
    let types = world.get_resource_or_init::<AppTypeRegistry>().clone();
    let mut queue = CommandQueue::default();
    let mut context = Context { world: Some((&mut *world).into()), queue: Some(&mut queue) };
    let id = ui.id();
    let changed =
        InspectorUi::for_bevy(&types.read(), &mut context).ui_for_reflect_with_options(value, ui, id, &());
    queue.apply(world);
    changed
}
