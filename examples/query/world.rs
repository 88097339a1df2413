//! The world that is asked: `assets/worlds/geography` as entities, components and pairs.

use crate::failure::Failure;
use bevy_ecs::{component::ComponentId, prelude::*, reflect::AppTypeRegistry};
use bevy_reflect::{GetTypeRegistration, Reflect, TypePath};
use bevy_relations::prelude::*;
use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    str::FromStr,
};

/// Marks what is a continent. The other markers are like this.
#[derive(Component, Reflect)]
#[reflect(Component)]
struct Continent;

#[derive(Component, Reflect)]
#[reflect(Component)]
struct Region;

#[derive(Component, Reflect)]
#[reflect(Component)]
struct Country {
    /// Two letters of ISO 3166.
    code: String,
}

#[derive(Component, Reflect)]
#[reflect(Component)]
struct Subdivision;

#[derive(Component, Reflect)]
#[reflect(Component)]
struct City;

#[derive(Component, Reflect)]
#[reflect(Component)]
struct Language;

#[derive(Component, Reflect)]
#[reflect(Component)]
struct Currency;

/// How many people live there.
#[derive(Component, Reflect, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[reflect(Component)]
pub(crate) struct Population(pub(crate) u64);

/// In square kilometres.
#[derive(Component, Reflect)]
#[reflect(Component)]
struct Area(f64);

/// In degrees.
#[derive(Component, Reflect)]
#[reflect(Component)]
struct Position {
    latitude: f32,
    longitude: f32,
}

/// What lies in something lies in everything that this lies in.
#[derive(Relation)]
#[relation(exclusive, transitive)]
struct LocatedIn;

#[derive(Relation)]
#[relation(symmetric)]
struct Borders;

#[derive(Relation)]
#[relation(exclusive)]
struct CapitalOf;

#[derive(Relation)]
pub(crate) struct PaysWith;

#[derive(Relation)]
struct Speaks;

/// What the types of components are called.
#[derive(Resource, Default)]
pub(crate) struct TypeNames {
    components: HashMap<ComponentId, &'static str>,
    /// By the entities that stand for them.
    entities: HashMap<Entity, &'static str>,
}

impl TypeNames {
    pub(crate) fn of_component(&self, component: ComponentId) -> &'static str {
        self.components.get(&component).copied().unwrap_or("(a component)")
    }

    pub(crate) fn of_entity(&self, entity: Entity) -> Option<&'static str> {
        self.entities.get(&entity).copied()
    }
}

/// Makes a component known to expressions, and to those who read their answers.
fn register<T: Component + GetTypeRegistration + TypePath>(world: &mut World) {
    world.resource::<AppTypeRegistry>().write().register::<T>();
    let (component, entity) = (world.register_component::<T>(), world.entity_of::<T>());
    let mut names = world.resource_mut::<TypeNames>();
    names.components.insert(component, T::short_type_path());
    names.entities.insert(entity, T::short_type_path());
}

/// Reads the world from the two files of a folder.
pub(crate) fn load(folder: &Path) -> Result<World, Failure> {
    let mut world = World::new();
    world.init_resource::<AppTypeRegistry>();
    world.init_resource::<TypeNames>();
    register::<Name>(&mut world);
    register::<Continent>(&mut world);
    register::<Region>(&mut world);
    register::<Country>(&mut world);
    register::<Subdivision>(&mut world);
    register::<City>(&mut world);
    register::<Language>(&mut world);
    register::<Currency>(&mut world);
    register::<Population>(&mut world);
    register::<Area>(&mut world);
    register::<Position>(&mut world);
    world.register_relation::<ChildOf>()?;
    world.register_relation::<LocatedIn>()?;
    Lines::read(folder, "places.txt")?.each(&mut Places { world: &mut world, above: Vec::new() })?;
    Lines::read(folder, "pairs.txt")?.each(&mut Pairs { world: &mut world, insert: None })?;
    Ok(world)
}

/// A file of lines with columns between tabs.
struct Lines {
    path: PathBuf,
    text: String,
}

/// Understands lines, one after the other.
trait Reader {
    /// Reads the columns of a line that is indented so far.
    fn read(&mut self, indent: usize, columns: &[&str]) -> Result<(), BevyError>;
}

impl Lines {
    fn read(folder: &Path, name: &str) -> Result<Self, Failure> {
        let path = folder.join(name);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Self { path, text }),
            Err(reason) => Err(Failure::Unreadable { path, reason }),
        }
    }

    fn each(&self, reader: &mut dyn Reader) -> Result<(), Failure> {
        for (number, line) in self.text.lines().enumerate() {
            let columns = line.trim_start_matches('\t');
            let indent = line.len() - columns.len();
            let columns: Vec<&str> = columns.split('\t').collect();
            reader.read(indent, &columns).map_err(|reason| {
                let reason = reason.to_string().trim().to_owned();
                Failure::Malformed { path: self.path.clone(), line: number + 1, reason }
            })?;
        }
        Ok(())
    }
}

fn parse<T: FromStr>(column: &str) -> Result<T, BevyError> {
    column.parse().map_err(|_| format!("`{column}` is no number").into())
}

/// What lies where.
struct Places<'w> {
    world: &'w mut World,
    /// The places that the last one lies in, and itself, each with how far it is indented.
    above: Vec<(usize, Entity)>,
}

impl Reader for Places<'_> {
    fn read(&mut self, indent: usize, columns: &[&str]) -> Result<(), BevyError> {
        while self.above.pop_if(|(above, _)| *above >= indent).is_some() {}
        let [name, values @ ..] = columns else { return Err("a name is missing".into()) };
        let mut place = self.world.spawn(Name::new((*name).to_owned()));
        match (indent, values) {
            (0, []) => place.insert(Continent),
            (1, []) => place.insert(Region),
            (2, [code, population, area]) => {
                let code = (*code).to_owned();
                place.insert((Country { code }, Population(parse(population)?), Area(parse(area)?)))
            }
            (3, []) => place.insert(Subdivision),
            (4, [population, latitude, longitude]) => {
                let position = Position { latitude: parse(latitude)?, longitude: parse(longitude)? };
                place.insert((City, Population(parse(population)?), position))
            }
            (0..=4, values) => return Err(format!("{} columns are too many or too few", values.len()).into()),
            _ => return Err("it is indented too far".into()),
        };
        let place = place.id();
        if let Some(&(_, above)) = self.above.last() {
            self.world.insert_pair(place, LocatedIn, above)?;
            // Two cities may have one name, and so may a country and a subdivision of another: below countries,
            // names are found along paths.
            if indent > 2 {
                self.world.entity_mut(place).insert(ChildOf(above));
            }
        }
        self.above.push((indent, place));
        Ok(())
    }
}

/// How places, languages and currencies relate.
struct Pairs<'w> {
    world: &'w mut World,
    /// What is done with the pairs of the relation that was named last.
    insert: Option<fn(&mut World, Entity, &str) -> Result<(), BevyError>>,
}

impl Reader for Pairs<'_> {
    fn read(&mut self, indent: usize, columns: &[&str]) -> Result<(), BevyError> {
        match (indent, columns) {
            (0, ["Borders"]) => {
                self.insert = Some(|world, source, target| {
                    let target = world.lookup_unique(target)?;
                    Ok(world.insert_pair(source, Borders, target)?)
                });
            }
            (0, ["CapitalOf"]) => {
                self.insert = Some(|world, source, target| {
                    let target = world.lookup_unique(target)?;
                    Ok(world.insert_pair(source, CapitalOf, target)?)
                });
            }
            (0, ["PaysWith"]) => {
                self.insert = Some(|world, source, target| {
                    let target = named(world, target, Currency);
                    Ok(world.insert_pair(source, PaysWith, target)?)
                });
            }
            (0, ["Speaks"]) => {
                self.insert = Some(|world, source, target| {
                    let target = named(world, target, Language);
                    Ok(world.insert_pair(source, Speaks, target)?)
                });
            }
            (1, [source, targets @ ..]) => {
                let insert = self.insert.ok_or("it belongs to no relation")?;
                let source = self.world.lookup_unique(source)?;
                targets.iter().try_for_each(|target| insert(self.world, source, target))?;
            }
            _ => return Err("it is neither a relation nor a source with its targets".into()),
        }
        Ok(())
    }
}

/// The entity with a name. It is made if this is the first time that the name is mentioned.
fn named(world: &mut World, name: &str, marker: impl Component) -> Entity {
    match world.lookup(name) {
        Ok(entity) => entity,
        Err(_) => world.spawn((Name::new(name.to_owned()), marker)).id(),
    }
}
