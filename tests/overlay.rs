//! Lines for pairs.
//!
//! Classes: relations of types, of run time, of Bevy's; not registered, despawned, shown twice, hidden; ends without a place, at the
//! same place, nowhere; pairs that come and go; filters that hold, that do not, that mean nothing yet, that read fields; more pairs
//! than lines; names of any characters; a resource that is taken away; gizmos that are switched off.

use bevy_app::App;
use bevy_asset::Assets;
use bevy_color::Color;
use bevy_ecs::prelude::*;
use bevy_gizmos::{GizmoAsset, config::GizmoConfigStore};
use bevy_relations::{
    expr::PairExpr,
    overlay::{OverlayGizmos, RelationsOverlay, RelationsOverlayPlugin},
    prelude::*,
};
use bevy_transform::{
    TransformPlugin,
    components::{GlobalTransform, Transform},
};

#[derive(Relation)]
struct Hunts;

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo;

#[derive(Component)]
struct Ship;

fn app() -> App {
    let mut app = App::new();
    app.add_plugins((TransformPlugin, RelationsPlugin, RelationsOverlayPlugin));
    // Where gizmos go. `GizmoPlugin` makes it with a server of assets.
    app.init_resource::<Assets<GizmoAsset>>();
    app.register_component_name::<Ship>("Ship");
    app
}

fn overlay(app: &mut App) -> Mut<'_, RelationsOverlay> {
    app.world_mut().resource_mut::<RelationsOverlay>()
}

/// Something at a place.
fn at(app: &mut App, x: f32) -> Entity {
    app.world_mut().spawn((Ship, Transform::from_xyz(x, 0.0, 0.0))).id()
}

/// How many pairs are drawn in the next frame.
#[track_caller]
fn drawn(app: &mut App) -> usize {
    app.update();
    app.world().check_pairs().unwrap();
    app.world().resource::<RelationsOverlay>().drawn()
}

fn expr(text: &str) -> Option<PairExpr> {
    Some(PairExpr::parse(text).unwrap())
}

#[test]
fn pairs_of_chosen_relations_are_drawn_as_long_as_they_are_there() {
    let mut app = app();
    overlay(&mut app).show::<Hunts>(Color::WHITE).show::<Hunts>(Color::BLACK);
    assert_eq!(drawn(&mut app), 0, "it is no relation yet");
    let [a, b, c] = [0.0, 1.0, 2.0].map(|x| at(&mut app, x));
    app.world_mut().insert_pair(a, Hunts, b).unwrap();
    app.world_mut().insert_pair(a, Hunts, c).unwrap();
    app.world_mut().insert_pair(b, DockedTo, c).unwrap();
    assert_eq!(drawn(&mut app), 2);
    overlay(&mut app).show::<DockedTo>(Color::WHITE);
    assert_eq!(drawn(&mut app), 3);
    app.world_mut().remove_pair::<Hunts>(a, b);
    assert_eq!(drawn(&mut app), 2);
    app.world_mut().despawn(c);
    assert_eq!(drawn(&mut app), 0);
    app.world_mut().insert_pair(a, Hunts, b).unwrap();
    assert_eq!(drawn(&mut app), 1);
    overlay(&mut app).hide::<Hunts>();
    assert_eq!(drawn(&mut app), 0);
    app.world_mut().entity_mut(b).insert(ChildOf(a));
    overlay(&mut app).show::<ChildOf>(Color::WHITE);
    assert_eq!(drawn(&mut app), 1);
}

#[test]
fn relations_that_were_made_at_run_time_are_drawn_by_their_entities() {
    let mut app = app();
    let near = app.world_mut().spawn_relation("near", RelationTraits::new()).unwrap();
    let [a, b] = [0.0, 1.0].map(|x| at(&mut app, x));
    app.world_mut().insert_pair_by_id(a, (near, b)).unwrap();
    let nothing = app.world_mut().spawn_empty().id();
    overlay(&mut app).show_id(near, Color::WHITE).show_id(nothing, Color::WHITE);
    assert_eq!(drawn(&mut app), 1);
    app.world_mut().remove_pairs_by_id(a, (near, b));
    app.world_mut().despawn(near);
    assert_eq!(drawn(&mut app), 0);
    overlay(&mut app).hide_id(near).hide_id(nothing);
    assert_eq!(drawn(&mut app), 0);
}

#[test]
fn what_has_no_place_has_no_line() {
    let mut app = app();
    overlay(&mut app).show::<Hunts>(Color::WHITE);
    overlay(&mut app).labels = true;
    let [a, b] = [0.0, 1.0].map(|x| at(&mut app, x));
    let nowhere = app.world_mut().spawn_empty().id();
    let lost = at(&mut app, f32::NAN);
    for (source, target) in [(a, nowhere), (nowhere, a), (a, lost), (lost, lost)] {
        app.world_mut().insert_pair(source, Hunts, target).unwrap();
    }
    assert_eq!(drawn(&mut app), 0);
    // With itself, and with one at the same place.
    app.world_mut().insert_pair(a, Hunts, a).unwrap();
    app.world_mut().entity_mut(b).insert((Transform::IDENTITY, Name::new("ünï \"quo\ned\" \u{202e}")));
    app.world_mut().insert_pair(b, Hunts, a).unwrap();
    assert_eq!(drawn(&mut app), 2);
    app.world_mut().entity_mut(nowhere).insert(GlobalTransform::IDENTITY);
    assert_eq!(drawn(&mut app), 4);
}

#[test]
fn names_of_any_length_and_size_are_written() {
    let mut app = app();
    overlay(&mut app).show::<Hunts>(Color::WHITE).labels = true;
    let [a, b] = [0.0, 1.0].map(|x| at(&mut app, x));
    app.world_mut().entity_mut(a).insert(Name::new("x".repeat(5000)));
    app.world_mut().insert_pair(a, Hunts, b).unwrap();
    for size in [0.0, -1.0, 1e30, f32::INFINITY, f32::NAN] {
        overlay(&mut app).label_size = size;
        assert_eq!(drawn(&mut app), 1, "{size}");
    }
}

#[test]
fn every_end_has_its_name_once() {
    /// The vertices of the next frame.
    fn vertices(app: &mut App) -> usize {
        assert!(drawn(app) > 0);
        let assets = app.world().resource::<Assets<GizmoAsset>>();
        let buffers = assets.iter().map(|(_, asset)| asset.buffer().buffer());
        buffers.map(|buffer| buffer.list_positions.len() + buffer.strip_positions.len()).sum()
    }
    let mut app = app();
    overlay(&mut app).show::<Hunts>(Color::WHITE).labels = true;
    let [a, b, c] = [0.0, 1.0, 2.0].map(|x| at(&mut app, x));
    app.world_mut().insert_pair(a, Hunts, b).unwrap();
    app.world_mut().insert_pair(a, Hunts, c).unwrap();
    let without_names = vertices(&mut app);
    let with_name = |app: &mut App, end: Entity| {
        app.world_mut().entity_mut(end).insert(Name::new("n"));
        let vertices = vertices(app);
        app.world_mut().entity_mut(end).remove::<Name>();
        vertices - without_names
    };
    // A source of two pairs, and a target of one.
    let of_source = with_name(&mut app, a);
    assert!(of_source > 0);
    assert_eq!(with_name(&mut app, b), of_source);
}

#[test]
fn a_filter_chooses_the_sources() {
    let mut app = app();
    app.register_relation::<DockedTo>();
    overlay(&mut app).show::<Hunts>(Color::WHITE).set_filter(expr("Ship, !(DockedTo, *)"));
    let [a, b, c] = [0.0, 1.0, 2.0].map(|x| at(&mut app, x));
    app.world_mut().insert_pair(a, Hunts, b).unwrap();
    app.world_mut().insert_pair(b, Hunts, c).unwrap();
    assert_eq!(drawn(&mut app), 2);
    app.world_mut().insert_pair(a, DockedTo, c).unwrap();
    assert_eq!(drawn(&mut app), 1);
    // What means nothing yet shows nothing, and says why.
    overlay(&mut app).set_filter(expr("Pirate"));
    assert_eq!(drawn(&mut app), 0);
    assert!(overlay(&mut app).filter_error().unwrap().contains("Pirate"));
    let pirate = app.world_mut().spawn(Name::new("Pirate")).id();
    app.world_mut().insert_tag(b, pirate).unwrap();
    assert_eq!(drawn(&mut app), 1);
    assert_eq!(overlay(&mut app).filter_error(), None);
    overlay(&mut app).set_filter(None);
    assert_eq!(drawn(&mut app), 2);
}

#[test]
fn there_are_no_more_lines_than_are_wanted() {
    let mut app = app();
    overlay(&mut app).show::<Hunts>(Color::WHITE).max_lines = 10;
    let prey = at(&mut app, 9.0);
    for x in 0..25_u8 {
        let hunter = at(&mut app, x.into());
        app.world_mut().insert_pair(hunter, Hunts, prey).unwrap();
    }
    assert_eq!((drawn(&mut app), overlay(&mut app).left_out()), (10, 15));
    overlay(&mut app).max_lines = 0;
    assert_eq!((drawn(&mut app), overlay(&mut app).left_out()), (0, 25));
}

#[test]
fn resources_may_be_taken_away_and_gizmos_switched_off() {
    let mut app = app();
    overlay(&mut app).show::<Hunts>(Color::WHITE).set_filter(expr("Ship"));
    let [a, b] = [0.0, 1.0].map(|x| at(&mut app, x));
    app.world_mut().insert_pair(a, Hunts, b).unwrap();
    let mut gizmos = app.world_mut().resource_mut::<GizmoConfigStore>();
    gizmos.config_mut::<OverlayGizmos>().0.enabled = false;
    assert_eq!(drawn(&mut app), 1, "that they are drawn is not seen by the overlay");
    app.world_mut().remove_resource::<RelationsOverlay>();
    app.update();
    app.world_mut().init_resource::<RelationsOverlay>();
    assert_eq!(drawn(&mut app), 0);
}
