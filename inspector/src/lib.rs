//! A panel for the pairs of an entity, in [`egui`].
//!
//! `bevy-inspector-egui` shows the pairs of a relation that is [mirrored](bevy_relations::mirror) among the components of their
//! source. That component is immutable, so they cannot be edited there. [`ui_for_pairs`] shows all pairs of an entity in both
//! directions, edits their values, inserts and removes:
//!
//! ```
//! use bevy_ecs::prelude::*;
//! use bevy_inspector_egui::{bevy_inspector::ui_for_entity, egui};
//! use bevy_relations_inspector::ui_for_pairs;
//!
//! /// What the inspector shows.
//! #[derive(Resource)]
//! struct Selected(Entity);
//!
//! fn show(world: &mut World, ui: &mut egui::Ui) {
//!     let Selected(entity) = *world.resource();
//!     ui_for_entity(world, entity, ui);
//!     ui.separator();
//!     if let Some(clicked) = ui_for_pairs(world, entity, ui) {
//!         world.insert_resource(Selected(clicked));
//!     }
//! }
//! ```

mod edit;
mod list;

// Its listing is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

use bevy_ecs::{entity::Entity, world::World};
use bevy_inspector_egui::egui::{self, RichText, TextEdit, Ui};
use edit::Edit;
use list::{Direction, ListedPair};

/// What the panel of an entity keeps from frame to frame.
#[derive(Clone, Default)]
struct PanelState {
    /// What is written in the line for new pairs.
    text: String,
    /// Why the last change was refused.
    error: Option<String>,
    /// How many more pairs are shown in each direction than at first.
    more: [usize; 2],
}

/// Draws the pairs of an entity, in both directions. Returns the entity whose name was clicked.
///
/// - A value whose type is registered is edited where it stands, as `bevy-inspector-egui` edits components.
/// - The line at the bottom inserts what an expression names, such as `(Likes, Alice)` or `(Owes(3), #4294967295)`: see
///   [`insert_expr`](bevy_relations::expr::WorldExprExt::insert_expr).
/// - A change that is refused is undone, and the panel shows why.
///
/// Long lists are shown in parts.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_inspector_egui::egui;
/// # use bevy_relations::prelude::*;
/// # use bevy_relations_inspector::ui_for_pairs;
/// #[derive(Relation)]
/// struct Likes;
///
/// let mut world = World::new();
/// let alice = world.spawn(Name::new("Alice")).id();
/// let bob = world.spawn(pairs![(Likes, alice)]).id();
/// let context = egui::Context::default();
/// let mut output = context.run_ui(egui::RawInput::default(), |ui| {
///     assert_eq!(ui_for_pairs(&mut world, bob, ui), None, "nothing was clicked");
/// });
/// // Nothing paints it here.
/// output.textures_delta.clear();
/// ```
pub fn ui_for_pairs(world: &mut World, entity: Entity, ui: &mut Ui) -> Option<Entity> {
    if world.get_entity(entity).is_err() {
        ui.label(format!("{entity} is not alive."));
        return None;
    }
    let id = ui.id().with(("bevy_relations_inspector", entity));
    let mut state: PanelState = ui.data(|data| data.get_temp(id)).unwrap_or_default();
    let mut clicked = None;
    let mut edit = None;
    ui.push_id(id, |ui| {
        for direction in [Direction::AsSource, Direction::AsTarget] {
            let more = &mut state.more[direction as usize];
            show_list(world, entity, direction, more, ui, &mut clicked, &mut edit);
        }
        if let Some(expression) = show_line(world, &mut state.text, ui) {
            edit = Some(Edit::InsertExpr { entity, expression });
        }
    });
    if let Some(edit) = edit {
        let is_line = matches!(edit, Edit::InsertExpr { .. });
        state.error = edit.apply(world).err();
        if is_line && state.error.is_none() {
            state.text.clear();
        }
    }
    if let Some(error) = &state.error {
        ui.colored_label(ui.visuals().error_fg_color, error);
    }
    ui.data_mut(|data| data.insert_temp(id, state));
    clicked
}

/// The pairs in one direction.
fn show_list(
    world: &mut World,
    entity: Entity,
    direction: Direction,
    more: &mut usize,
    ui: &mut Ui,
    clicked: &mut Option<Entity>,
    edit: &mut Option<Edit>,
) {
    let (pairs, total) = list::pairs(world, entity, direction, list::PAGE.saturating_add(*more));
    ui.label(RichText::new(format!("{} ({total})", direction.title())).strong());
    for pair in &pairs {
        ui.push_id((pair.source, pair.relation, pair.target), |ui| {
            ui.horizontal(|ui| {
                ui.label(&pair.relation_name);
                if ui.link(&pair.other_name).clicked() {
                    *clicked = Some(pair.other(direction));
                }
                if ui.small_button("remove").on_hover_text(format!("Remove {}", pair.title())).clicked() {
                    *edit = Some(Edit::Remove { source: pair.source, pair: pair.id() });
                }
            });
            if let Some(value) = show_value(world, pair, ui) {
                *edit = Some(Edit::Write { source: pair.source, pair: pair.id(), value });
            }
        });
    }
    if pairs.len() < total {
        let left = total - pairs.len();
        if ui.button(format!("show more ({left} left)")).clicked() {
            *more += list::PAGE;
        }
    }
    ui.add_space(4.0);
}

/// The value of a pair. Returns it if it was edited.
fn show_value(world: &mut World, pair: &ListedPair, ui: &mut Ui) -> Option<edit::Value> {
    let mut value = edit::copy_value(world, pair.source, pair.id())?;
    let changed = ui.indent("value", |ui| edit::ui_for_value(world, &mut *value, ui)).inner;
    changed.then_some(value)
}

/// The line for new pairs. Returns what is written in it, if that is to be inserted.
fn show_line(world: &World, text: &mut String, ui: &mut Ui) -> Option<String> {
    ui.horizontal(|ui| {
        ui.menu_button("relation", |ui| {
            for name in list::relation_names(world) {
                if ui.button(&name).clicked() {
                    *text = format!("({name}, ");
                }
            }
        });
        let label = ui.label("Insert");
        let line = ui.add(TextEdit::singleline(text).hint_text("(Relation, target)")).labelled_by(label.id);
        let entered = line.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
        let pressed = ui.button("insert").clicked();
        ((entered || pressed) && !text.trim().is_empty()).then(|| text.clone())
    })
    .inner
}
