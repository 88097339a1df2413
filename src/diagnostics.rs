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

use crate::{fetch, ops::use_all_relations};
use alloc::{format, string::ToString, vec::Vec};
use bevy_app::{App, Last, Plugin};
use bevy_diagnostic::{Diagnostic, DiagnosticMeasurement, DiagnosticPath, DiagnosticsStore};
use bevy_ecs::{
    entity::{Entity, EntityHashMap},
    system::Local,
    world::World,
};
use bevy_platform::time::Instant;

/// The number of all pairs, of whatever relation.
///
/// ```
/// use bevy_app::prelude::*;
/// use bevy_diagnostic::DiagnosticsStore;
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{diagnostics::{PAIRS, RelationsDiagnosticsPlugin}, prelude::*};
///
/// #[derive(Relation)]
/// struct DockedTo;
///
/// let mut app = App::new();
/// app.add_plugins((RelationsPlugin, RelationsDiagnosticsPlugin));
/// let port = app.world_mut().spawn_empty().id();
/// app.world_mut().spawn((Pair(DockedTo, port), ChildOf(port)));
/// app.update();
/// let pairs = app.world().resource::<DiagnosticsStore>().get(&PAIRS).and_then(|pairs| pairs.value());
/// assert_eq!(pairs, Some(2.0));
/// ```
pub const PAIRS: DiagnosticPath = DiagnosticPath::const_new("relations/pairs");

/// The number of changes of all pairs, per second; of one relation: [`changes_of`].
///
/// It is smoothed, as Bevy's diagnostics are, and measured from the second frame on.
///
/// ```
/// use bevy_diagnostic::DiagnosticsStore;
/// use bevy_ecs::prelude::*;
/// use bevy_relations::diagnostics::CHANGES;
///
/// /// Warns of relations that are changed too often.
/// fn watch(diagnostics: Res<DiagnosticsStore>) {
///     if diagnostics.get(&CHANGES).and_then(|changes| changes.smoothed()).is_some_and(|changes| changes > 1e6) {
///         eprintln!("more than a million changes of pairs in a second");
///     }
/// }
/// # let mut world = World::new();
/// # world.init_resource::<DiagnosticsStore>();
/// # world.run_system_cached(watch).unwrap();
/// ```
pub const CHANGES: DiagnosticPath = DiagnosticPath::const_new("relations/changes");

/// The number of pairs of a relation, by its name: `relation/DockedTo/pairs`.
///
/// The name is that of messages: the short name of a type, or the name that a relation was spawned with. A `/` in it is written
/// `_`. Of several relations with one name, those that came later have their bits added: `Likes#4294967290`.
///
/// ```
/// # use bevy_relations::diagnostics::pairs_of;
/// assert_eq!(pairs_of("DockedTo").as_str(), "relation/DockedTo/pairs");
/// assert_eq!(pairs_of("cargo/in").as_str(), "relation/cargo_in/pairs");
/// ```
pub fn pairs_of(name: &str) -> DiagnosticPath {
    path(name, "pairs")
}

/// The number of changes of the pairs of a relation, per second: pairs that were inserted or removed, and values that were
/// replaced: `relation/DockedTo/changes`. The name is read as by [`pairs_of`]; as [`CHANGES`], it is measured from the second
/// frame on.
///
/// ```
/// # use bevy_relations::diagnostics::changes_of;
/// assert_eq!(changes_of("DockedTo").as_str(), "relation/DockedTo/changes");
/// ```
pub fn changes_of(name: &str) -> DiagnosticPath {
    path(name, "changes")
}

fn path(name: &str, what: &str) -> DiagnosticPath {
    let name = if name.is_empty() { "_".into() } else { name.replace('/', "_") };
    DiagnosticPath::new(format!("relation/{name}/{what}"))
}

/// Measures in each frame, in [`Last`], how many pairs there are and how often they change, of all relations and of each.
///
/// It counts the pairs of `ChildOf`, too, so that an [index](crate::RelationsPlugin) of them is kept. The
/// [module](crate::diagnostics) has an example.
///
/// In the book: [Querying a running app](crate::book::remote).
///
/// # Complexity
/// O(relations) in each frame.
pub struct RelationsDiagnosticsPlugin;

impl Plugin for RelationsDiagnosticsPlugin {
    fn build(&self, app: &mut App) {
        let mut store = app.world_mut().get_resource_or_init::<DiagnosticsStore>();
        store.add(Diagnostic::new(PAIRS).with_smoothing_factor(0.0));
        store.add(Diagnostic::new(CHANGES).with_suffix("/s"));
        use_all_relations(app.world_mut());
        app.add_systems(Last, measure);
    }
}

/// What was measured last.
#[derive(Default)]
struct Measured {
    time: Option<Instant>,
    relations: EntityHashMap<MeasuredRelation>,
    now: Vec<Measurement>,
    frame: u64,
}

struct MeasuredRelation {
    paths: [DiagnosticPath; 2],
    version: u64,
    /// The last frame in which there was the relation.
    frame: u64,
}

struct Measurement {
    relation: Entity,
    pairs: usize,
    version: u64,
}

fn measure(world: &mut World, mut measured: Local<Measured>) {
    let Measured { time: last, relations, now, frame } = &mut *measured;
    now.clear();
    *frame += 1;
    let Some(store) = fetch::store(world) else { return };
    now.extend(store.registry().ids().map(|id| {
        let (relation, index) = (store.registry().entry(id).entity, store.relation(id));
        Measurement { relation, pairs: index.len(), version: index.version() }
    }));
    let Some(mut diagnostics) = world.get_resource_mut::<DiagnosticsStore>() else { return };
    let time = Instant::now();
    let passed = last.replace(time).map_or(0.0, |last| (time - last).as_secs_f64());
    let mut add = |path: &DiagnosticPath, value: f64| {
        if let Some(diagnostic) = diagnostics.get_mut(path)
            && diagnostic.is_enabled
        {
            diagnostic.add_measurement(DiagnosticMeasurement { time, value });
        }
    };
    let (mut pairs, mut changes, mut is_any_new) = (0, 0, false);
    for measurement in &*now {
        pairs += measurement.pairs;
        let Some(known) = relations.get_mut(&measurement.relation) else {
            is_any_new = true;
            continue;
        };
        // Resources that were cleared begin anew.
        let changed = measurement.version.saturating_sub(known.version);
        (known.version, known.frame) = (measurement.version, *frame);
        changes += changed;
        add(&known.paths[0], measurement.pairs as f64);
        if passed > 0.0 {
            add(&known.paths[1], changed as f64 / passed);
        }
    }
    add(&PAIRS, pairs as f64);
    if passed > 0.0 {
        add(&CHANGES, changes as f64 / passed);
    }
    relations.retain(|_, known| known.frame == *frame);
    if is_any_new {
        let new: Vec<_> = now.iter().filter(|known| !relations.contains_key(&known.relation)).collect();
        for measurement in new {
            let paths = add_diagnostics(world, measurement, time);
            let known = MeasuredRelation { paths, version: measurement.version, frame: *frame };
            relations.insert(measurement.relation, known);
        }
    }
}

/// Adds the diagnostics of a relation, with its number of pairs.
fn add_diagnostics(world: &mut World, measurement: &Measurement, time: Instant) -> [DiagnosticPath; 2] {
    let relation = measurement.relation;
    let name = fetch::store(world).map(|store| store.registry().name_of(relation).to_string());
    let mut name = name.unwrap_or_default();
    let mut diagnostics = world.get_resource_or_init::<DiagnosticsStore>();
    if diagnostics.get(&pairs_of(&name)).is_some() {
        name = format!("{name}#{}", relation.to_bits());
    }
    let paths = [pairs_of(&name), changes_of(&name)];
    for (path, suffix) in paths.iter().zip(["", "/s"]) {
        diagnostics.add(Diagnostic::new(path.clone()).with_suffix(suffix));
    }
    if let Some(diagnostic) = diagnostics.get_mut(&paths[0]) {
        diagnostic.add_measurement(DiagnosticMeasurement { time, value: measurement.pairs as f64 });
    }
    paths
}
