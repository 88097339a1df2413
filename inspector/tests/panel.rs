//! The panel, and the mirror in `bevy-inspector-egui`, without a window.

use bevy_app::{App, TaskPoolPlugin};
use bevy_asset::AssetPlugin;
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
use bevy_time::TimePlugin;
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
    app.add_plugins((TaskPoolPlugin::default(), TimePlugin, AssetPlugin::default()));
    app.register_type::<Name>();
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
    let cy = panel.state().world.lookup("Cy").unwrap();
    assert_eq!(panel.state().clicked, Some(cy));
}

#[test]
fn pairs_are_inserted_and_removed() {
    let mut panel = open();
    insert(&mut panel, "(Likes, Cy)");
    panel.get_by_label("Pairs (3)");
    let likes = panel.state_mut().world.register_relation::<Likes>().unwrap();
    let pair = panel.state().pair(likes, "Cy");
    assert!(panel.state().world.has_pair_by_id(panel.state().entity, pair));

    let buttons: Vec<_> = panel.query_all_by_label("remove").collect();
    assert_eq!(buttons.len(), 4);
    // Those of one entity as a source come first.
    buttons[0].click();
    panel.run();
    panel.get_by_label("Pairs (2)");
    let pair = panel.state().pair(likes, "Ben");
    assert!(!panel.state().world.has_pair_by_id(panel.state().entity, pair));
    panel.state().world.check_pairs().unwrap();
}

#[test]
fn what_is_refused_is_shown_and_the_text_stays() {
    let mut panel = open();
    insert(&mut panel, "(Likes, Dan)");
    assert!(panel.query_by_label_contains("Dan").is_some(), "the message names it");
    panel.get_by_label("Pairs (2)");
    // The next change is accepted.
    panel.query_all_by_label("remove").next().unwrap().click();
    panel.run();
    panel.get_by_label("Pairs (1)");
    assert!(panel.query_by_label_contains("Dan").is_none());
}

#[test]
fn a_value_is_edited_where_it_stands() {
    let mut panel = open();
    let owes = panel.state_mut().world.register_relation::<Owes>().unwrap();
    let pair = panel.state().pair(owes, "Ben");
    let coins = |panel: &Panel<'_>| {
        let Shown { world, entity, .. } = panel.state();
        world.pair_value_by_id::<Owes>(*entity, pair).unwrap().coins
    };
    let number = |panel: &Panel<'_>| panel.query_all_by_role(egui::accesskit::Role::SpinButton).count();
    assert_eq!(number(&panel), 1, "the field of the only value");
    write_number(&mut panel, "42");
    assert_eq!(coins(&panel), 42);
    // What the relation refuses is shown, and the value stays.
    write_number(&mut panel, "4000");
    assert_eq!(coins(&panel), 42);
    assert!(panel.query_by_label_contains("too much for one friend").is_some());
    write_number(&mut panel, "7");
    assert_eq!(coins(&panel), 7);
    assert!(panel.query_by_label_contains("too much for one friend").is_none());
    panel.state().world.check_pairs().unwrap();
}

/// Writes into the only number of the panel, as one who has clicked it.
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method is not general enough in its lifetime"
)]
fn write_number(panel: &mut Panel<'_>, text: &str) {
    panel.get_by_role(egui::accesskit::Role::SpinButton).click();
    panel.run();
    panel.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::A);
    panel.run();
    let focused = panel.get_by(|node| node.is_focused());
    focused.type_text(text);
    panel.run();
    panel.key_press(egui::Key::Enter);
    panel.run();
}

#[test]
fn values_of_run_time_relations_are_shown_and_edited_if_their_type_is_known() {
    let (mut world, ann) = world();
    let script = world.spawn_relation("script", RelationTraits::new().reflected_data()).unwrap();
    let [ben, cy] = ["Ben", "Cy"].map(|name| world.lookup(name).unwrap());
    world.remove_pairs::<Owes>(ann);
    let owes = ReflectedData(Box::new(Owes { coins: 3, reason: "rope".into() }));
    world.insert_pair_value_by_id(ann, (script, ben), owes).unwrap();
    let mut unknown = DynamicStruct::default();
    unknown.insert("level", 9_u32);
    world.insert_pair_value_by_id(ann, (script, cy), ReflectedData(Box::new(unknown))).unwrap();
    let mut panel = panel(world, ann);
    assert!(panel.query_by_label_contains("level: 9").is_some(), "it is shown as text");
    write_number(&mut panel, "5");
    let value = panel.state().world.reflect_pair_value(ann, (script, ben)).unwrap();
    assert_eq!(value.try_downcast_ref(), Some(&Owes { coins: 5, reason: "rope".into() }));
}

#[test]
fn long_lists_are_shown_in_parts() {
    let (mut world, ann) = world();
    for _ in 0..120 {
        world.spawn(Pair(Likes, ann));
    }
    let mut panel = panel(world, ann);
    panel.get_by_label("Pairs with this target (121)");
    assert_eq!(panel.query_all_by_label("remove").count(), 52);
    // All of it is in view.
    panel.set_size(egui::vec2(800.0, 6000.0));
    panel.run();
    panel.get_by_label("show more (71 left)").click();
    panel.run();
    assert_eq!(panel.query_all_by_label("remove").count(), 102);
    panel.get_by_label("show more (21 left)");
}

#[test]
fn the_panel_outlives_its_entity_and_what_it_shows() {
    let mut panel = open();
    let ben = panel.state().world.lookup("Ben").unwrap();
    panel.state_mut().world.despawn(ben);
    panel.run();
    panel.get_by_label("Pairs (0)");
    let ann = panel.state().entity;
    panel.state_mut().world.despawn(ann);
    panel.run();
    panel.get_by_label_contains("is not alive");
}

#[test]
fn the_inspector_shows_mirrored_pairs_and_does_not_edit_them() {
    let (mut world, ann) = world();
    world.mirror_pairs::<Owes>().unwrap();
    let show = |ui: &mut egui::Ui, shown: &mut Shown| {
        ui_for_entity(&mut shown.world, shown.entity, ui);
    };
    let mut inspector = Harness::new_ui_state(show, Shown { world, entity: ann, clicked: None });
    inspector.run();
    inspector.get_by_label_contains("MirroredPairs<").click();
    inspector.run();
    let ben = inspector.state().world.lookup("Ben").unwrap();
    inspector.get_by_label(&ben.to_string());
    assert!(inspector.query_all_by_value("bread").count() > 0);
    // Numbers that can be edited are spin buttons.
    inspector.get_by_role_and_label(egui::accesskit::Role::Button, "3");
    assert_eq!(inspector.query_all_by_role(egui::accesskit::Role::SpinButton).count(), 0, "it is immutable");
}
