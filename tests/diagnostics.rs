//! Numbers of pairs and of their changes.
//!
//! Classes: relations that are there from the start, that come, that go, that come again; of types and of run time, with names that
//! are no paths, with one name; pairs that come and go; diagnostics that are switched off or taken away.

use bevy_app::App;
use bevy_diagnostic::{DiagnosticPath, DiagnosticsStore};
use bevy_ecs::prelude::*;
use bevy_relations::{
    diagnostics::{CHANGES, PAIRS, RelationsDiagnosticsPlugin, changes_of, pairs_of},
    prelude::*,
};

#[derive(Relation)]
struct Likes;

fn app() -> App {
    let mut app = App::new();
    app.add_plugins((RelationsPlugin, RelationsDiagnosticsPlugin));
    app
}

fn value(app: &App, path: &DiagnosticPath) -> Option<f64> {
    app.world().resource::<DiagnosticsStore>().get(path)?.value()
}

#[test]
fn pairs_and_changes_are_counted_for_each_relation_and_for_all() {
    let mut app = app();
    app.update();
    assert_eq!(value(&app, &pairs_of("Likes")), None);
    app.register_relation::<Likes>();
    app.update();
    assert_eq!((value(&app, &pairs_of("Likes")), value(&app, &PAIRS)), (Some(0.0), Some(0.0)));
    let [a, b, c] = [(); 3].map(|()| app.world_mut().spawn_empty().id());
    app.world_mut().insert_pair(a, Likes, b).unwrap();
    app.world_mut().insert_pair(a, Likes, c).unwrap();
    app.world_mut().spawn(ChildOf(a));
    app.update();
    assert_eq!((value(&app, &pairs_of("Likes")), value(&app, &PAIRS)), (Some(2.0), Some(3.0)));
    assert_eq!(value(&app, &pairs_of("ChildOf")), Some(1.0));
    assert!(value(&app, &changes_of("Likes")).unwrap() > 0.0 && value(&app, &CHANGES).unwrap() > 0.0);
    app.update();
    assert_eq!((value(&app, &changes_of("Likes")), value(&app, &CHANGES)), (Some(0.0), Some(0.0)));
    app.world_mut().despawn(a);
    app.update();
    assert_eq!((value(&app, &pairs_of("Likes")), value(&app, &PAIRS)), (Some(0.0), Some(0.0)));
}

#[test]
fn any_name_is_a_path() {
    let mut app = app();
    let names = ["", "/", "a//b/", "near", "near", "ünï\n"];
    let relations = names.map(|name| app.world_mut().spawn_relation(name, RelationTraits::new()).unwrap());
    let [a, b] = [(); 2].map(|()| app.world_mut().spawn_empty().id());
    for relation in relations {
        app.world_mut().insert_pair_by_id(a, (relation, b)).unwrap();
    }
    app.update();
    assert_eq!(value(&app, &PAIRS), Some(6.0));
    for name in ["a__b_", "near", "ünï\n"] {
        assert_eq!(value(&app, &pairs_of(name)), Some(1.0), "{name}");
    }
    let later = format!("near#{}", relations[4].to_bits());
    assert_eq!(value(&app, &pairs_of(&later)), Some(1.0));
    let store = app.world().resource::<DiagnosticsStore>();
    let measured = store.iter().filter(|diagnostic| diagnostic.path().as_str().ends_with("/pairs"));
    assert!(measured.filter(|diagnostic| diagnostic.value() == Some(1.0)).count() >= 6);
    // One that is gone is not measured any more.
    app.world_mut().remove_pairs_by_id(a, (relations[3], b));
    app.world_mut().despawn(relations[3]);
    app.update();
    assert_eq!(value(&app, &PAIRS), Some(5.0));
}

#[test]
fn diagnostics_may_be_switched_off_and_taken_away() {
    let mut app = app();
    let [a, b] = [(); 2].map(|()| app.world_mut().spawn_empty().id());
    app.world_mut().insert_pair(a, Likes, b).unwrap();
    app.update();
    let mut store = app.world_mut().resource_mut::<DiagnosticsStore>();
    store.get_mut(&pairs_of("Likes")).unwrap().is_enabled = false;
    app.world_mut().remove_pairs::<Likes>(a);
    app.update();
    assert_eq!((value(&app, &pairs_of("Likes")), value(&app, &PAIRS)), (Some(1.0), Some(0.0)));
    app.world_mut().remove_resource::<DiagnosticsStore>();
    app.update();
    app.world_mut().init_resource::<DiagnosticsStore>();
    app.update();
    assert_eq!(value(&app, &PAIRS), None, "what was taken away is not made again");
    app.world_mut().check_pairs().unwrap();
}
