//! Numbers of pairs and of their changes, as diagnostics of Bevy.
//!
//! ```
//! use bevy_app::prelude::*;
//! use bevy_diagnostic::DiagnosticsStore;
//! use bevy_ecs::prelude::*;
//! use bevy_relations::{diagnostics::{PAIRS, RelationsDiagnosticsPlugin, pairs_of}, prelude::*};
//!
//! #[derive(Relation)]
//! struct DockedTo;
//!
//! let mut app = App::new();
//! app.add_plugins((RelationsPlugin, RelationsDiagnosticsPlugin)).register_relation::<DockedTo>();
//! let port = app.world_mut().spawn_empty().id();
//! app.world_mut().spawn(Pair(DockedTo, port));
//! app.update();
//! let diagnostics = app.world().resource::<DiagnosticsStore>();
//! assert_eq!(diagnostics.get(&pairs_of("DockedTo")).and_then(|pairs| pairs.value()), Some(1.0));
//! assert_eq!(diagnostics.get(&PAIRS).and_then(|pairs| pairs.value()), Some(1.0));
//! ```

use crate::{fetch, store::PairStore};
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use bevy_app::{App, Last, Plugin};
use bevy_diagnostic::{
    DEFAULT_MAX_HISTORY_LENGTH, Diagnostic, DiagnosticMeasurement, DiagnosticPath, DiagnosticsStore,
};
use bevy_ecs::{
    entity::{Entity, EntityHashMap},
    system::Local,
    world::World,
};
use bevy_platform::time::Instant;

/// The number of all pairs.
pub const PAIRS: DiagnosticPath = DiagnosticPath::const_new("relations/pairs");

/// The number of changes of all pairs, per second.
pub const CHANGES: DiagnosticPath = DiagnosticPath::const_new("relations/changes");

/// The number of pairs of a relation, by its name: `relation/DockedTo/pairs`.
///
/// The name is that of messages: the short name of a type, or the name that a relation was spawned with. A `/` in it is written
/// `_`. Of several relations with one name, those that came later have their bits added: `Likes#4294967290`.
pub fn pairs_of(name: &str) -> DiagnosticPath {
    path(name, "pairs")
}

/// The number of changes of the pairs of a relation, per second: pairs that were inserted or removed, and values that were
/// replaced. Its name is that of [`pairs_of`].
pub fn changes_of(name: &str) -> DiagnosticPath {
    path(name, "changes")
}

fn path(name: &str, what: &str) -> DiagnosticPath {
    let name = if name.is_empty() { "_".into() } else { name.replace('/', "_") };
    DiagnosticPath::new(format!("relation/{name}/{what}"))
}

/// Measures in each frame, in [`Last`], how many pairs there are and how often they change, of all relations and of each.
///
/// # Complexity
/// O(relations) in each frame.
pub struct RelationsDiagnosticsPlugin;

impl Plugin for RelationsDiagnosticsPlugin {
    fn build(&self, app: &mut App) {
        let mut store = app.world_mut().get_resource_or_init::<DiagnosticsStore>();
        store.add(Diagnostic::new(PAIRS).with_smoothing_factor(0.0));
        store.add(Diagnostic::new(CHANGES).with_suffix("/s"));
        app.add_systems(Last, measure);
    }
}

/// What was measured last.
#[derive(Default)]
struct Measured {
    time: Option<Instant>,
    relations: EntityHashMap<MeasuredRelation>,
}

struct MeasuredRelation {
    paths: [DiagnosticPath; 2],
    version: u64,
}

fn measure(world: &mut World, mut measured: Local<Measured>) {
    let Some(store) = fetch::store(world) else { return };
    let now: Vec<_> = relations(store).collect();
    let Some(mut diagnostics) = world.get_resource_mut::<DiagnosticsStore>() else { return };
    let time = Instant::now();
    let passed = measured.time.replace(time).map_or(0.0, |last| (time - last).as_secs_f64());
    let mut add = |path: &DiagnosticPath, value: f64| {
        if let Some(diagnostic) = diagnostics.get_mut(path)
            && diagnostic.is_enabled
        {
            diagnostic.add_measurement(DiagnosticMeasurement { time, value });
        }
    };
    let (mut pairs, mut changes, mut added) = (0, 0, Vec::new());
    for &(relation, ref name, len, version) in &now {
        pairs += len;
        let Some(known) = measured.relations.get_mut(&relation) else {
            added.push((relation, name.clone(), version));
            continue;
        };
        // Resources that were cleared begin anew.
        let changed = version.saturating_sub(known.version);
        known.version = version;
        changes += changed;
        add(&known.paths[0], len as f64);
        if passed > 0.0 {
            add(&known.paths[1], changed as f64 / passed);
        }
    }
    add(&PAIRS, pairs as f64);
    if passed > 0.0 {
        add(&CHANGES, changes as f64 / passed);
    }
    measured.relations.retain(|relation, _| now.iter().any(|known| known.0 == *relation));
    for (relation, name, version) in added {
        let name = if diagnostics.get(&pairs_of(&name)).is_some() {
            format!("{name}#{}", relation.to_bits())
        } else {
            name
        };
        let paths = [pairs_of(&name), changes_of(&name)];
        for (path, suffix) in paths.iter().zip(["", "/s"]) {
            let diagnostic =
                Diagnostic::new(path.clone()).with_max_history_length(DEFAULT_MAX_HISTORY_LENGTH);
            diagnostics.add(diagnostic.with_suffix(suffix));
        }
        let len = now.iter().find(|known| known.0 == relation).map_or(0, |known| known.2);
        if let Some(diagnostic) = diagnostics.get_mut(&paths[0]) {
            diagnostic.add_measurement(DiagnosticMeasurement { time, value: len as f64 });
        }
        measured.relations.insert(relation, MeasuredRelation { paths, version });
    }
}

/// The relations in use: entity, name, number of pairs, number of changes.
fn relations(store: &PairStore) -> impl Iterator<Item = (Entity, String, usize, u64)> {
    store.registry().ids().map(|id| {
        let (entry, index) = (store.registry().entry(id), store.relation(id));
        (entry.entity, entry.name().to_string(), index.len(), index.version())
    })
}
