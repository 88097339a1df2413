//! Pairs as a drawing: text for [Graphviz](https://graphviz.org) and [Mermaid](https://mermaid.js.org).
//!
//! ```
//! use bevy_ecs::prelude::*;
//! use bevy_relations::{debug, prelude::*};
//!
//! #[derive(Relation)]
//! struct Likes;
//!
//! let mut world = World::new();
//! let [alice, bob] = ["Alice", "Bob"].map(|name| world.spawn(Name::new(name)).id());
//! world.insert_pair(bob, Likes, alice)?;
//!
//! let drawing = debug::mermaid(&world).relation::<Likes>().to_string();
//! assert_eq!(
//!     drawing,
//!     format!(
//!         "flowchart LR\n  e{alice}[\"Alice ({alice})\"]\n  e{bob}[\"Bob ({bob})\"]\n  e{bob} -->|\"Likes\"| e{alice}\n"
//!     )
//! );
//! # Ok::<(), BevyError>(())
//! ```

use crate::{
    fetch,
    relation::{EntityName, Relation, RelationTraits},
    world::WorldPairExt,
};
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use bevy_ecs::{
    entity::{Entity, EntityHashMap, EntityHashSet},
    world::World,
};
use core::fmt::{self, Display, Formatter, Write};

/// The pairs of a world as a graph in the language of [Graphviz](https://graphviz.org): `dot -Tsvg` draws it.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{debug, prelude::*};
///
/// # let mut world = World::new();
/// # let likes = world.spawn_relation("likes", RelationTraits::new()).unwrap();
/// # let (a, b) = (world.spawn_empty().id(), world.spawn_empty().id());
/// # world.insert_pair_by_id(a, (likes, b)).unwrap();
/// let mut text = String::new();
/// core::fmt::write(&mut text, format_args!("{}", debug::dot(&world).limit(100)))?;
/// assert!(text.contains(&format!("\"{a}\" -> \"{b}\" [label=\"likes\"];")));
/// # Ok::<(), core::fmt::Error>(())
/// ```
pub fn dot(world: &World) -> PairDrawing<'_> {
    PairDrawing::new(world, Format::Dot)
}

/// The pairs of a world as a flowchart of [Mermaid](https://mermaid.js.org), which Markdown on GitHub shows.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_relations::{debug, prelude::*};
///
/// # let mut world = World::new();
/// # let root = world.spawn_empty().id();
/// # world.spawn(ChildOf(root));
/// assert!(debug::mermaid(&world).to_string().starts_with("flowchart"));
/// ```
pub fn mermaid(world: &World) -> PairDrawing<'_> {
    PairDrawing::new(world, Format::Mermaid)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Dot,
    Mermaid,
}

/// Pairs as a graph: its `Display` writes the text. [`dot`] and [`mermaid`] create one.
///
/// Without a selection it shows all pairs of all relations, also those of `ChildOf`, and no tags. Entities are
/// labelled with their [`Name`](bevy_ecs::name::Name) and id, those that stand for types with the name of the type,
/// pairs with their relation and, with the feature `bevy_reflect`, their value, if its type is registered. The pair
/// of a symmetric relation is drawn once, without a direction.
///
/// Entities come in the order of their index, then pairs relation by relation, by the index of the source, its targets
/// in their order: the same world gives the same text.
///
/// In the book: [Querying a running app](crate::book::remote).
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_relations::{debug, prelude::*};
/// #[derive(Relation)]
/// struct Likes;
///
/// # let mut world = World::new();
/// # let [ann, ben, cy] = ["Ann", "Ben", "Cy"].map(|name| world.spawn(Name::new(name)).id());
/// let owes = world.spawn_relation("Owes", RelationTraits::new().data::<u32>())?;
/// world.insert_pair(ann, Likes, ben)?;
/// world.insert_pair_value_by_id(ben, (owes, cy), 5_u32)?;
///
/// let likes = debug::dot(&world).relation::<Likes>().to_string();
/// assert!(likes.contains("Ann") && !likes.contains("Owes"));
/// let debts = debug::dot(&world).relation_by_id(owes).without_values().to_string();
/// assert!(debts.contains("Owes") && !debts.contains("Ann"));
/// // Only pairs between these.
/// let both = debug::dot(&world).entities([ann, ben]).limit(10).to_string();
/// assert!(both.contains("Likes") && !both.contains("Cy"));
/// # Ok::<(), BevyError>(())
/// ```
///
/// # Complexity
/// Displaying takes O(pairs of the selected relations + n log n) for n entities that are drawn.
#[derive(Clone)]
pub struct PairDrawing<'w> {
    world: &'w World,
    format: Format,
    /// All relations, if there are none in it.
    relations: Option<Vec<Entity>>,
    /// All entities, if there are none in it.
    entities: Option<Vec<Entity>>,
    limit: usize,
    has_values: bool,
}

impl<'w> PairDrawing<'w> {
    fn new(world: &'w World, format: Format) -> Self {
        Self { world, format, relations: None, entities: None, limit: usize::MAX, has_values: true }
    }

    /// Adds a relation to those that are drawn. A type that was never used as a relation has no pairs.
    #[must_use]
    pub fn relation<R: Relation>(mut self) -> Self {
        let relations = self.relations.get_or_insert_default();
        relations.extend(self.world.get_entity_of::<R>());
        self
    }

    /// [`relation`](Self::relation) of any kind. What is no relation, or not alive, is named in a comment of the text.
    #[must_use]
    pub fn relation_by_id(mut self, relation: Entity) -> Self {
        self.relations.get_or_insert_default().push(relation);
        self
    }

    /// Adds entities to the selected ones: only pairs between selected entities are drawn. An entity without such a
    /// pair is drawn by itself, and one that is not alive with a dashed border.
    #[must_use]
    pub fn entities(mut self, entities: impl IntoIterator<Item = Entity>) -> Self {
        self.entities.get_or_insert_default().extend(entities);
        self
    }

    /// Draws at most this many pairs; a comment of the text says how many are left out.
    #[must_use]
    pub fn limit(mut self, pairs: usize) -> Self {
        self.limit = pairs;
        self
    }

    /// Leaves values of pairs out.
    #[must_use]
    pub fn without_values(mut self) -> Self {
        self.has_values = false;
        self
    }

    fn is_alive(&self, entity: Entity) -> bool {
        self.world.entities().contains_spawned(entity)
    }

    /// The relations to draw, each once, and comments about what is none.
    fn drawn_relations(&self, comments: &mut Vec<String>) -> Vec<Entity> {
        let all = self.world.any_pairs();
        let Some(selected) = &self.relations else {
            let mut relations: Vec<Entity> =
                all.relations().filter(|relation| self.is_alive(*relation)).collect();
            sort(&mut relations);
            return relations;
        };
        let mut met = EntityHashSet::default();
        let mut relations = Vec::new();
        for &relation in selected.iter().filter(|relation| met.insert(**relation)) {
            if !self.is_alive(relation) {
                comments.push(format!("{relation} is not alive: no relation"));
            } else if all.relation_name(relation).is_none() {
                comments.push(format!("{} is no relation", EntityName::new(self.world, relation)));
            } else {
                relations.push(relation);
            }
        }
        relations
    }

    /// The pairs to draw, and the number of those that are left out.
    fn drawn_pairs(&self, relations: &[Entity]) -> (Vec<Edge>, usize) {
        let selected: Option<EntityHashSet> = self.entities.as_ref().map(|all| all.iter().copied().collect());
        let is_selected = |entity| selected.as_ref().is_none_or(|selected| selected.contains(&entity));
        let (mut edges, mut left_out) = (Vec::new(), 0);
        for &relation in relations {
            let view = self.world.pairs_by_id(relation);
            let is_symmetric = self.world.traits_of(relation).is_some_and(RelationTraits::is_symmetric);
            let mut sources: Vec<Entity> = match &selected {
                Some(selected) => selected.iter().copied().filter(|source| view.has_any(*source)).collect(),
                None => {
                    let mut met = EntityHashSet::default();
                    view.iter().map(|(source, _)| source).filter(|source| met.insert(*source)).collect()
                }
            };
            sort(&mut sources);
            for source in sources {
                for target in view.targets(source).filter(|target| is_selected(*target)) {
                    if is_symmetric && order(target) < order(source) {
                        continue;
                    }
                    match edges.len() < self.limit {
                        true => edges.push(Edge { source, relation, target, is_symmetric }),
                        false => left_out += 1,
                    }
                }
            }
        }
        (edges, left_out)
    }

    /// What an entity is called.
    fn node_label(&self, entity: Entity) -> String {
        let name = EntityName::new(self.world, entity);
        if !self.is_alive(entity) {
            return format!("{entity} is not alive");
        }
        if name.name().is_some() {
            return name.to_string();
        }
        type_name(self.world, entity).unwrap_or_else(|| name.to_string())
    }

    fn relation_label(&self, relation: Entity) -> String {
        match self.world.relation_name(relation) {
            Some(name) if name.name.is_some() => name.to_string(),
            _ => EntityName::new(self.world, relation).to_string(),
        }
    }

    /// What a pair is called, with its value.
    fn edge_label(&self, edge: &Edge, relation: &str) -> String {
        let with_value = if self.has_values { label_with_value(self.world, edge, relation) } else { None };
        with_value.unwrap_or_else(|| relation.to_string())
    }

    fn write_node(&self, f: &mut Formatter<'_>, entity: Entity) -> fmt::Result {
        let (label, is_alive) = (self.node_label(entity), self.is_alive(entity));
        match self.format {
            Format::Dot => {
                let style = if is_alive { "" } else { ", style=dashed" };
                writeln!(f, "  \"{entity}\" [label=\"{}\"{style}];", InDot(&label))
            }
            Format::Mermaid => {
                writeln!(f, "  e{entity}[\"{}\"]", InMermaid(&label))?;
                match is_alive {
                    true => Ok(()),
                    false => writeln!(f, "  style e{entity} stroke-dasharray: 4"),
                }
            }
        }
    }

    fn write_edge(&self, f: &mut Formatter<'_>, edge: &Edge, label: &str) -> fmt::Result {
        let Edge { source, target, is_symmetric, .. } = edge;
        match self.format {
            Format::Dot => {
                let direction = if *is_symmetric { ", dir=none" } else { "" };
                writeln!(f, "  \"{source}\" -> \"{target}\" [label=\"{}\"{direction}];", InDot(label))
            }
            Format::Mermaid => {
                let arrow = if *is_symmetric { "---" } else { "-->" };
                writeln!(f, "  e{source} {arrow}|\"{}\"| e{target}", InMermaid(label))
            }
        }
    }

    fn write_comment(&self, f: &mut Formatter<'_>, comment: &str) -> fmt::Result {
        let sign = if self.format == Format::Dot { "//" } else { "%%" };
        let line: String = comment.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        writeln!(f, "  {sign} {line}")
    }
}

impl Display for PairDrawing<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut comments = Vec::new();
        let relations = self.drawn_relations(&mut comments);
        let (edges, left_out) = self.drawn_pairs(&relations);
        if left_out > 0 {
            comments.push(format!("{left_out} more pairs are left out"));
        }
        let mut nodes: EntityHashSet = edges.iter().flat_map(|edge| [edge.source, edge.target]).collect();
        nodes.extend(self.entities.iter().flatten());
        let mut nodes: Vec<Entity> = nodes.into_iter().collect();
        sort(&mut nodes);

        f.write_str(if self.format == Format::Dot { "digraph pairs {\n" } else { "flowchart LR\n" })?;
        comments.iter().try_for_each(|comment| self.write_comment(f, comment))?;
        nodes.into_iter().try_for_each(|entity| self.write_node(f, entity))?;
        let mut labels = EntityHashMap::<String>::default();
        for edge in &edges {
            let relation = labels.entry(edge.relation).or_insert_with(|| self.relation_label(edge.relation));
            self.write_edge(f, edge, &self.edge_label(edge, relation))?;
        }
        if self.format == Format::Dot { f.write_str("}\n") } else { Ok(()) }
    }
}

/// A pair that is drawn.
struct Edge {
    source: Entity,
    relation: Entity,
    target: Entity,
    is_symmetric: bool,
}

fn order(entity: Entity) -> (u32, u32) {
    (entity.index_u32(), entity.generation().to_bits())
}

fn sort(entities: &mut [Entity]) {
    entities.sort_unstable_by_key(|entity| order(*entity));
}

/// The name of the type that an entity stands for.
fn type_name(world: &World, entity: Entity) -> Option<String> {
    let registry = fetch::store(world)?.registry();
    let type_id = registry.type_of(entity)?;
    let name = match registry.of_type_id(type_id) {
        Some(relation) => registry.entry(relation).name.as_deref(),
        None => registry.type_entry(type_id)?.name.as_deref(),
    };
    name.map(ToString::to_string)
}

/// A label between the quotes of the language of Graphviz.
struct InDot<'a>(&'a str);

impl Display for InDot<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                c if c.is_control() => f.write_char(' ')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// A label between the quotes of Mermaid, which would else read it as HTML, as Markdown, or with `%%{` as a directive.
struct InMermaid<'a>(&'a str);

impl InMermaid<'_> {
    /// Whether Markdown sees the beginning of a list.
    fn begins_list(&self) -> bool {
        let behind_number = self.0.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_numbered = behind_number.len() < self.0.len() && behind_number.starts_with(['.', ')']);
        is_numbered || self.0.starts_with(['-', '+'])
    }
}

impl Display for InMermaid<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut begins_list = self.begins_list();
        // Markdown reads no emphasis from what stands within a word.
        let mut is_in_word = false;
        for c in self.0.chars() {
            let is_special = match c {
                '"' | '#' | '%' | '&' | '*' | '<' | '>' | '\\' | '`' | '~' => true,
                '_' => !is_in_word,
                _ => begins_list,
            };
            match c {
                c if is_special => write!(f, "#{};", u32::from(c))?,
                '\n' => f.write_str("<br/>")?,
                c if c.is_control() => f.write_char(' ')?,
                c => f.write_char(c)?,
            }
            begins_list = false;
            is_in_word = c.is_alphanumeric();
        }
        Ok(())
    }
}

/// The relation with the value of the pair, if there is one that is known by reflection.
#[cfg(feature = "bevy_reflect")]
fn label_with_value(world: &World, edge: &Edge, relation: &str) -> Option<String> {
    use crate::{relation::ReflectedData, system_param::any_pair_value};
    use bevy_ecs::reflect::AppTypeRegistry;
    use bevy_reflect::ReflectFromPtr;
    use core::any::Any;
    let registry = fetch::store(world)?.registry();
    let id = registry.of_entity(edge.relation)?;
    // Of most relationships the component says nothing but its target.
    if registry.entry(id).adopted.is_some_and(|adopted| !adopted.has_fields) {
        return None;
    }
    let value = any_pair_value(world, edge.source, edge.relation, edge.target)? as &dyn Any;
    if let Some(ReflectedData(value)) = value.downcast_ref() {
        return Some(format!("{relation}: {value:?}"));
    }
    let types = world.get_resource::<AppTypeRegistry>()?;
    let reflect = types.read().get_type_data::<ReflectFromPtr>(value.type_id())?.clone();
    let value = reflect.as_reflect(value)?;
    let (path, short) = (value.reflect_type_path(), value.reflect_short_type_path());
    let text = format!("{:?}", value.as_partial_reflect());
    // The relation is named already, if its values are of its own type.
    Some(match text.strip_prefix(path).or_else(|| text.strip_prefix(short)) {
        Some(fields) if short == relation => format!("{relation}{fields}"),
        Some(fields) => format!("{relation}: {short}{fields}"),
        None => format!("{relation}: {text}"),
    })
}

/// Nothing is known of values without reflection.
#[cfg(not(feature = "bevy_reflect"))]
fn label_with_value(_: &World, _: &Edge, _: &str) -> Option<String> {
    None
}
