//! The panel, and the mirror in `bevy-inspector-egui`, without a window.

use bevy_app::App;
use bevy_ecs::prelude::*;
use bevy_inspector_egui::{DefaultInspectorConfigPlugin, bevy_inspector::ui_for_entity, egui};
use bevy_reflect::{Reflect, structs::DynamicStruct};
use bevy_relations::{
    mirror::WorldMirrorExt,
    prelude::*,
    relation::{PairContext, PairRefusal, ReflectedData},
    world::WorldReflectPairExt,
};
use bevy_relations_inspector::ui_for_pairs;
use egui_kittest::{Harness, kittest::Queryable};

#[derive(Relation, Reflect, Clone)]
struct Likes;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(validate = at_most_a_hundred)]
struct Owes {
    coins: u32,
    reason: String,
}

fn at_most_a_hundred(owes: &mut Owes, _: &PairContext<'_>) -> Result<(), PairRefusal> {
    if owes.coins > 100 { Err(PairRefusal::new("too much for one friend")) } else { Ok(()) }
}

/// An entity is shown, and the one that was clicked last.
struct Shown {
    world: World,
    entity: Entity,
    clicked: Option<Entity>,
}

impl Shown {
    fn pair(&self, relation: Entity, target: &str) -> PairId {
        PairId::new(relation, self.world.lookup(target).unwrap())
    }
}

type Panel<'a> = Harness<'a, Shown>;

/// Ann owes Ben three coins and likes him, Cy likes Ann; the panel shows Ann.
fn world() -> (World, Entity) {
    let mut app = App::new();
    app.add_plugins((RelationsPlugin, DefaultInspectorConfigPlugin));
    app.register_type::<Owes>().register_type::<Likes>();
    app.register_relation::<Likes>().register_relation::<Owes>();
    let mut world = std::mem::take(app.world_mut());
    let ben = world.spawn(Name::new("Ben")).id();
    let owes = Owes { coins: 3, reason: "bread".into() };
    let ann = world.spawn((Name::new("Ann"), pairs![(Likes, ben), (owes, ben)])).id();
    world.spawn((Name::new("Cy"), pairs![(Likes, ann)]));
    (world, ann)
}

fn panel<'a>(world: World, entity: Entity) -> Panel<'a> {
    let show = |ui: &mut egui::Ui, shown: &mut Shown| {
        if let Some(clicked) = ui_for_pairs(&mut shown.world, shown.entity, ui) {
            shown.clicked = Some(clicked);
        }
    };
    let mut panel = Harness::new_ui_state(show, Shown { world, entity, clicked: None });
    panel.run();
    panel
}

fn open<'a>() -> Panel<'a> {
    let (world, ann) = world();
    panel(world, ann)
}

/// Writes into the line for new pairs, and inserts that.
fn insert(panel: &mut Panel<'_>, text: &str) {
    panel.get_by_label("Insert").click();
    panel.run();
    panel.get_by_label("Insert").type_text(text);
    panel.run();
    panel.get_by_label("insert").click();
    panel.run();
}

#[test]
fn the_panel_shows_pairs_in_both_directions() {
    let mut panel = open();
    panel.get_by_label("Pairs (2)");
    panel.get_by_label("Pairs with this target (1)");
    assert_eq!(panel.query_all_by_label("Ben").count(), 2);
    panel.get_by_label("Cy").click();
    panel.run();
    let cy = panel.state().world.lookup("Cy");
    assert_eq!(panel.state().clicked, cy);
}
