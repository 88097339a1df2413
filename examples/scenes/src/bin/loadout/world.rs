//! What there is, and where it lies at first.

use bevy::{input::common_conditions::input_just_pressed, prelude::*};
use bevy_relations::{prelude::*, snapshot::SaveId};
use bevy_relations_scenes::{
    files::{self, colour},
    images::Shape,
};
use serde::Deserialize;

/// So many of a kind, the target, lie at one place of a container, the source.
#[derive(Relation, Reflect, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Holds {
    pub count: u32,
    pub place: u32,
}

/// The source wears one of the target, in a slot. There is one pair for each slot.
#[derive(Relation, Reflect, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[relation(key = Self)]
pub(crate) enum Equips {
    Head,
    Body,
    Hand,
    Shield,
}

impl Equips {
    pub(crate) const ALL: [Self; 4] = [Self::Head, Self::Body, Self::Hand, Self::Shield];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Body => "body",
            Self::Hand => "hand",
            Self::Shield => "shield arm",
        }
    }

    /// Where it is, seen from the hero, in cells.
    fn offset(self) -> Vec2 {
        match self {
            Self::Head => vec2(0.0, 1.0),
            Self::Body => Vec2::ZERO,
            Self::Hand => vec2(-1.0, 0.0),
            Self::Shield => vec2(1.0, 0.0),
        }
    }
}

/// A kind of things. Things of one kind are alike, so there is one entity for all.
#[derive(Component)]
pub(crate) struct Kind {
    pub shape: Shape,
    pub color: Color,
    pub weight: u32,
    /// The slot that it is worn in.
    pub slot: Option<Equips>,
}

/// Things lie in it, at places that are numbered.
#[derive(Component)]
pub(crate) struct Container {
    /// The weight that it can take.
    pub limit: u32,
}

/// Who wears things.
#[derive(Component)]
pub(crate) struct Hero;

/// Where a thing can be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spot {
    /// At a place of a container.
    Place(u32),
    /// In a slot of the hero.
    Slot(Equips),
}

/// A square that shows what is at a spot of its owner.
#[derive(Component, Clone, Copy, PartialEq, Eq, Debug)]
#[require(Transform, Visibility)]
pub(crate) struct Cell {
    pub owner: Entity,
    pub spot: Spot,
}

/// From one cell to the next.
pub(crate) const PITCH: f32 = 66.0;
/// From the middle of a cell to its edge.
pub(crate) const REACH: f32 = 30.0;

/// The file.
#[derive(Resource, Deserialize)]
struct Loadout {
    kinds: Vec<KindEntry>,
    containers: Vec<ContainerEntry>,
    hero: HeroEntry,
}

#[derive(Deserialize)]
struct KindEntry {
    name: String,
    shape: ShapeEntry,
    #[serde(deserialize_with = "colour")]
    colour: Color,
    weight: u32,
    #[serde(default)]
    slot: Option<Equips>,
}

#[derive(Deserialize, Clone, Copy)]
enum ShapeEntry {
    Disc,
    Ball,
    Dart,
    Square,
}

impl From<ShapeEntry> for Shape {
    fn from(entry: ShapeEntry) -> Self {
        match entry {
            ShapeEntry::Disc => Self::Disc,
            ShapeEntry::Ball => Self::Ball,
            ShapeEntry::Dart => Self::Dart,
            ShapeEntry::Square => Self::Square,
        }
    }
}

#[derive(Deserialize)]
struct ContainerEntry {
    name: String,
    /// The middle of the cell at the upper left.
    at: (f32, f32),
    columns: u32,
    rows: u32,
    limit: u32,
    /// Kind, count, place.
    holds: Vec<(String, u32, u32)>,
}

#[derive(Deserialize)]
struct HeroEntry {
    name: String,
    at: (f32, f32),
    equips: Vec<String>,
}

pub(crate) fn plugin(app: &mut App) {
    app.register_relation::<Holds>().register_relation::<Equips>();
    app.register_type::<Holds>().register_type::<Equips>();
    app.add_systems(Startup, (spawn, lay_out).chain());
    app.add_systems(Update, lay_out.run_if(input_just_pressed(KeyCode::KeyR)));
}

/// Spawns kinds, containers and the hero, with cells, and nothing in them.
fn spawn(mut commands: Commands) -> Result {
    let file: Loadout = files::load("loadout.ron")?;
    for entry in &file.kinds {
        let KindEntry { shape, colour: color, weight, slot, .. } = *entry;
        commands.spawn((saved_as(&entry.name), Kind { shape: shape.into(), color, weight, slot }));
    }
    for entry in &file.containers {
        let at = Vec2::from(entry.at);
        let owner = owner(&mut commands, &entry.name, at, Container { limit: entry.limit });
        for place in 0..entry.columns * entry.rows {
            let step = uvec2(place % entry.columns, place / entry.columns).as_vec2() * vec2(PITCH, -PITCH);
            commands.spawn((
                Cell { owner, spot: Spot::Place(place) },
                Transform::from_translation((at + step).extend(0.0)),
            ));
        }
    }
    let at = Vec2::from(file.hero.at);
    let owner = owner(&mut commands, &file.hero.name, at, Hero);
    for slot in Equips::ALL {
        let at = at + slot.offset() * PITCH;
        commands.spawn((Cell { owner, spot: Spot::Slot(slot) }, Transform::from_translation(at.extend(0.0))));
    }
    commands.insert_resource(file);
    Ok(())
}

fn owner(commands: &mut Commands, name: &str, at: Vec2, component: impl Component) -> Entity {
    let place = Transform::from_translation(at.extend(0.0));
    commands.spawn((saved_as(name), place, Visibility::default(), component)).id()
}

/// A name, and the id by which saves know what has it.
fn saved_as(name: &str) -> impl Bundle {
    let hash = name.bytes().fold(0, |hash: u64, byte| hash.wrapping_mul(131).wrapping_add(byte.into()));
    (Name::new(name.to_owned()), SaveId(hash))
}

/// Puts everything where the file says, and nothing anywhere else.
fn lay_out(mut commands: Commands, file: Res<Loadout>, named: Query<(Entity, &Name)>) -> Result {
    let find = |wanted: &str| {
        let found = named.iter().find(|(_, name)| name.as_str() == wanted);
        found.map(|(entity, _)| entity).ok_or_else(|| format!("assets/loadout.ron: there is no {wanted}"))
    };
    for entry in &file.containers {
        let container = find(&entry.name)?;
        commands.entity(container).remove_pairs::<Holds>();
        for (kind, count, place) in &entry.holds {
            let stack = Holds { count: *count, place: *place };
            commands.entity(container).insert_pair(stack, find(kind)?);
        }
    }
    let hero = find(&file.hero.name)?;
    commands.entity(hero).remove_pairs::<Equips>();
    for name in &file.hero.equips {
        let worn = file.kinds.iter().find(|kind| kind.name == *name).and_then(|kind| kind.slot);
        let slot = worn.ok_or_else(|| format!("assets/loadout.ron: {name} is not worn"))?;
        commands.entity(hero).insert_pair(slot, find(name)?);
    }
    Ok(())
}
