//! Lines for pairs, drawn over a running game with gizmos.
//!
//! ```
//! use bevy_color::palettes::basic::RED;
//! use bevy_ecs::prelude::*;
//! use bevy_relations::{expr::PairExpr, overlay::RelationsOverlay, prelude::*};
//!
//! #[derive(Relation)]
//! struct Hunts;
//!
//! // In an app with `RelationsPlugin`, `GizmoPlugin` and `RelationsOverlayPlugin`:
//! fn show(mut overlay: ResMut<RelationsOverlay>) -> Result {
//!     overlay.show::<Hunts>(RED).show::<ChildOf>(bevy_color::Color::WHITE);
//!     overlay.labels = true;
//!     overlay.set_filter(Some(PairExpr::parse("Ship, !(DockedTo, *)")?));
//!     Ok(())
//! }
//! ```

use crate::{
    expr::PairExpr,
    fetch,
    live::LiveExpr,
    relation::{Registry, Relation},
    world::WorldPairExt,
};
use alloc::{
    boxed::Box,
    string::{String, ToString},
    vec::Vec,
};
use bevy_app::{App, Plugin, PostUpdate};
use bevy_color::Color;
use bevy_ecs::{
    entity::{Entity, EntityHashSet},
    name::Name,
    resource::Resource,
    schedule::IntoScheduleConfigs,
    system::{Local, SystemState},
    world::World,
};
use bevy_gizmos::{AppGizmoBuilder, config::GizmoConfigGroup, gizmos::Gizmos};
use bevy_math::{Isometry3d, Vec2, Vec3};
use bevy_reflect::Reflect;
use bevy_transform::{TransformSystems, components::GlobalTransform};
use core::any::TypeId;

/// Draws lines between the ends of pairs, of the relations that [`RelationsOverlay`] shows. It needs `GizmoPlugin`, which
/// is one of Bevy's default plugins.
///
/// An entity without `GlobalTransform` has no place: its pairs are not drawn.
///
/// In the book: [Querying a running app](crate::book::remote).
///
/// ```
/// use bevy_app::prelude::*;
/// use bevy_color::Color;
/// use bevy_ecs::prelude::*;
/// use bevy_gizmos::GizmoPlugin;
/// use bevy_relations::{overlay::{RelationsOverlay, RelationsOverlayPlugin}, prelude::*};
/// use bevy_transform::components::GlobalTransform;
///
/// #[derive(Relation)]
/// struct DockedTo;
///
/// let mut app = App::new();
/// # app.add_plugins((bevy_app::TaskPoolPlugin::default(), bevy_asset::AssetPlugin::default()));
/// # // One of the systems of `GizmoPlugin` needs meshes where Bevy is built with them.
/// # app.insert_resource(bevy_ecs::error::FallbackErrorHandler(bevy_ecs::error::ignore));
/// app.add_plugins((GizmoPlugin, RelationsPlugin, RelationsOverlayPlugin)); // `DefaultPlugins` has the first
/// app.world_mut().resource_mut::<RelationsOverlay>().show::<DockedTo>(Color::WHITE);
/// let port = app.world_mut().spawn(GlobalTransform::from_xyz(3.0, 0.0, 0.0)).id();
/// app.world_mut().spawn((GlobalTransform::IDENTITY, Pair(DockedTo, port)));
/// app.update();
/// assert_eq!(app.world().resource::<RelationsOverlay>().drawn(), 1);
/// ```
pub struct RelationsOverlayPlugin;

impl Plugin for RelationsOverlayPlugin {
    fn build(&self, app: &mut App) {
        app.init_gizmo_group::<OverlayGizmos>().init_resource::<RelationsOverlay>();
        app.add_systems(PostUpdate, (update_filter, draw).chain().after(TransformSystems::Propagate));
    }
}

/// The group of the overlay's gizmos in `GizmoConfigStore`, which configures their width, depth and layers, and whether
/// they are drawn at all. [`RelationsOverlay`] says which pairs are drawn.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_gizmos::config::GizmoConfigStore;
/// use bevy_relations::overlay::OverlayGizmos;
///
/// /// In front of everything, and thicker.
/// fn configure(mut configs: ResMut<GizmoConfigStore>) {
///     let (config, _) = configs.config_mut::<OverlayGizmos>();
///     config.depth_bias = -1.0;
///     config.line.width = 4.0;
/// }
/// # let mut configs = GizmoConfigStore::default();
/// # configs.insert(Default::default(), OverlayGizmos);
/// # let mut world = World::new();
/// # world.insert_resource(configs);
/// # world.run_system_cached(configure).unwrap();
/// # assert_eq!(world.resource::<GizmoConfigStore>().config::<OverlayGizmos>().0.line.width, 4.0);
/// ```
#[derive(Default, Reflect, GizmoConfigGroup)]
pub struct OverlayGizmos;

/// Which pairs are drawn, and how.
///
/// In the book: [Querying a running app](crate::book::remote).
///
/// ```
/// # use bevy_color::Color;
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{expr::PairExpr, overlay::RelationsOverlay, prelude::*};
/// #[derive(Relation)]
/// struct DockedTo;
///
/// fn toggle(mut overlay: ResMut<RelationsOverlay>, relations: Query<(Entity, &Name)>, mut shown: Local<bool>) -> Result {
///     *shown = !*shown;
///     overlay.labels = true;
///     if *shown {
///         overlay.show::<DockedTo>(Color::WHITE).set_filter(Some(PairExpr::parse("Ship")?));
///     } else {
///         overlay.hide::<DockedTo>().set_filter(None);
///     }
///     // Relations that are known by their names only.
///     for (relation, name) in &relations {
///         match name.as_str() {
///             "Likes" => overlay.show_id(relation, Color::BLACK),
///             _ => overlay.hide_id(relation),
///         };
///     }
///     println!("{} lines, {} left out, {:?}", overlay.drawn(), overlay.left_out(), overlay.filter_error());
///     Ok(())
/// }
/// # Schedule::default().add_systems(toggle);
/// # let mut overlay = RelationsOverlay::default();
/// # overlay.show::<DockedTo>(Color::WHITE);
/// # assert_eq!((overlay.drawn(), overlay.left_out(), overlay.filter_error()), (0, 0, None));
/// ```
#[derive(Resource)]
pub struct RelationsOverlay {
    /// Whether the names of relations are written at lines, and those of entities at their ends.
    pub labels: bool,
    /// The height of names, in units of the world.
    pub label_size: f32,
    /// No more lines than these are drawn in a frame.
    pub max_lines: usize,
    shown: Vec<Shown>,
    filter: Option<Box<Filter>>,
    drawn: usize,
    left_out: usize,
}

impl Default for RelationsOverlay {
    fn default() -> Self {
        Self {
            labels: false,
            label_size: 0.25,
            max_lines: 10_000,
            shown: Vec::new(),
            filter: None,
            drawn: 0,
            left_out: 0,
        }
    }
}

/// A relation whose pairs are drawn.
struct Shown {
    relation: ShownRelation,
    color: Color,
}

/// That of a type need not be registered yet.
#[derive(Clone, Copy)]
enum ShownRelation {
    Type(TypeId, fn(&Registry) -> Option<Entity>),
    Entity(Entity),
}

impl ShownRelation {
    fn is(self, other: Self) -> bool {
        match (self, other) {
            (Self::Type(a, _), Self::Type(b, _)) => a == b,
            (Self::Entity(a), Self::Entity(b)) => a == b,
            _ => false,
        }
    }

    fn entity(self, world: &World) -> Option<Entity> {
        match self {
            Self::Type(_, entity) => entity(fetch::store(world)?.registry()),
            Self::Entity(entity) => Some(entity),
        }
    }
}

/// The entities of which pairs are drawn.
struct Filter {
    expr: PairExpr,
    live: Option<LiveExpr>,
    error: Option<String>,
}

impl RelationsOverlay {
    /// Draws the pairs of a relation, in a color.
    pub fn show<R: Relation>(&mut self, color: impl Into<Color>) -> &mut Self {
        self.show_relation(type_of::<R>(), color.into())
    }

    /// [`show`](Self::show) for any relation. Nothing is drawn of an entity that is no relation.
    pub fn show_id(&mut self, relation: Entity, color: impl Into<Color>) -> &mut Self {
        self.show_relation(ShownRelation::Entity(relation), color.into())
    }

    fn show_relation(&mut self, relation: ShownRelation, color: Color) -> &mut Self {
        self.hide_relation(relation);
        self.shown.push(Shown { relation, color });
        self
    }

    /// Does not draw the pairs of a relation any more.
    pub fn hide<R: Relation>(&mut self) -> &mut Self {
        self.hide_relation(type_of::<R>())
    }

    /// [`hide`](Self::hide) for a relation that was [shown by its entity](Self::show_id).
    pub fn hide_id(&mut self, relation: Entity) -> &mut Self {
        self.hide_relation(ShownRelation::Entity(relation))
    }

    fn hide_relation(&mut self, relation: ShownRelation) -> &mut Self {
        self.shown.retain(|shown| !shown.relation.is(relation));
        self
    }

    /// Draws only pairs of entities that are `$this` in a row of an expression. All again with `None`.
    pub fn set_filter(&mut self, expr: Option<PairExpr>) -> &mut Self {
        self.filter = expr.map(|expr| Box::new(Filter { expr, live: None, error: None }));
        self
    }

    /// Why the filter could not be used in this frame: nothing is drawn then. A name in it may get a meaning later.
    pub fn filter_error(&self) -> Option<&str> {
        self.filter.as_ref()?.error.as_deref()
    }

    /// How many pairs were drawn in this frame.
    pub fn drawn(&self) -> usize {
        self.drawn
    }

    /// How many pairs were not drawn in this frame, as there were more than [`max_lines`](Self::max_lines).
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    fn passes(&self, source: Entity) -> bool {
        self.filter
            .as_ref()
            .is_none_or(|filter| filter.live.as_ref().is_some_and(|live| live.contains(source)))
    }
}

fn type_of<R: Relation>() -> ShownRelation {
    let entity = |registry: &Registry| Some(registry.entry(Registry::known::<R>(registry)?).entity);
    ShownRelation::Type(TypeId::of::<R>(), entity)
}

impl Filter {
    fn update(&mut self, world: &mut World) {
        let live = match self.live.take() {
            Some(live) => Ok(live),
            None => self.expr.live(world).map_err(|error| error.to_string()),
        };
        let updated = live.and_then(|mut live| {
            live.update(world).map_err(|error| error.to_string())?;
            Ok(live)
        });
        match updated {
            Ok(live) => (self.live, self.error) = (Some(live), None),
            Err(error) => (self.live, self.error) = (None, Some(error)),
        }
    }
}

fn update_filter(world: &mut World) {
    let filter = world.get_resource_mut::<RelationsOverlay>().and_then(|mut overlay| overlay.filter.take());
    let Some(mut filter) = filter else { return };
    filter.update(world);
    // An update may run users' code, which may have set another one.
    if let Some(mut overlay) = world.get_resource_mut::<RelationsOverlay>() {
        overlay.filter.get_or_insert(filter);
    }
}

/// A pair that is drawn.
struct PairLine {
    pair: [Entity; 3],
    from: Vec3,
    to: Vec3,
    color: Color,
}

fn draw(world: &mut World, gizmos: &mut SystemState<Gizmos<OverlayGizmos>>, mut lines: Local<Vec<PairLine>>) {
    let Some(overlay) = world.get_resource::<RelationsOverlay>() else { return };
    lines.clear();
    let left_out = collect(world, overlay, &mut lines);
    let (labels, size) = (overlay.labels, overlay.label_size);
    let labels = if labels { find_labels(world, &lines) } else { Vec::new() };
    if let Some(mut overlay) = world.get_resource_mut::<RelationsOverlay>() {
        (overlay.drawn, overlay.left_out) = (lines.len(), left_out);
    }
    let Ok(mut buffer) = gizmos.get_mut(world) else { return };
    for line in &*lines {
        if line.from == line.to {
            // Of an entity with itself, or of one at the same place.
            buffer.cross(Isometry3d::from_translation(line.from), size, line.color);
        } else {
            buffer.arrow(line.from, line.to, line.color);
        }
    }
    for Label { place, anchor, text, color } in labels {
        buffer.text(Isometry3d::from_translation(place), &text, size, anchor, color);
    }
    gizmos.apply(world);
}

/// Finds the pairs to draw, and returns how many are left out.
fn collect(world: &World, overlay: &RelationsOverlay, lines: &mut Vec<PairLine>) -> usize {
    let place = |entity| {
        let place = world.get::<GlobalTransform>(entity)?.translation();
        place.is_finite().then_some(place)
    };
    let mut left_out = 0;
    for Shown { relation, color } in &overlay.shown {
        let Some(relation) = relation.entity(world) else { continue };
        for (source, target) in world.pairs_by_id(relation).iter() {
            if !overlay.passes(source) {
                continue;
            }
            let Some((from, to)) = place(source).zip(place(target)) else { continue };
            if lines.len() >= overlay.max_lines {
                left_out += 1;
                continue;
            }
            lines.push(PairLine { pair: [source, relation, target], from, to, color: *color });
        }
    }
    left_out
}

/// A name that is drawn.
struct Label {
    place: Vec3,
    /// Where in the text the place is.
    anchor: Vec2,
    text: String,
    color: Color,
}

/// The names of the relations in the middle of lines, and those of the entities below their ends, each once.
fn find_labels(world: &World, lines: &[PairLine]) -> Vec<Label> {
    let mut labels = Vec::new();
    let mut named = EntityHashSet::default();
    for &PairLine { pair: [source, relation, target], from, to, color } in lines {
        if let Some(name) = world.relation_name(relation) {
            let place = from.midpoint(to);
            labels.push(Label { place, anchor: Vec2::ZERO, text: name.to_string(), color });
        }
        for (end, place) in [(source, from), (target, to)] {
            if named.insert(end)
                && let Some(name) = world.get::<Name>(end)
            {
                labels.push(Label { place, anchor: Vec2::new(0.0, 1.0), text: name.to_string(), color });
            }
        }
    }
    labels
}
