//! Two worlds with prefabs, this crate's and that of Flecs, which get the same steps.

use crate::flecs_world::{FlecsWorld, Id, pair};
use bevy_ecs::{
    component::{Component, Mutable},
    entity::Entity,
    hierarchy::{ChildOf, Children},
    name::Name,
    world::World,
};
use bevy_relations::{
    id::PairId,
    prefab::{Prefab, SlotOf},
    prelude::*,
    relation::OnInstantiate,
    world::WorldInheritanceExt,
};
use std::collections::{BTreeMap, BTreeSet};

/// The number of an entity.
pub(crate) type Number = usize;

/// How a component or a relation is passed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Passed {
    Copied,
    Shared,
    Omitted,
}

use Passed::{Copied, Omitted, Shared};

/// All of them.
pub(crate) const PASSED: [Passed; 3] = [Copied, Shared, Omitted];

/// Something to do in both worlds. Entities are numbers in the order in which they were spawned; the copies of parts come as
/// their instance is made, in the order of their paths.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// An entity without a name.
    Spawn,
    /// A prefab without a name.
    SpawnPrefab,
    /// A child with a name.
    SpawnChild(Number),
    /// Gives an entity a component.
    Set(Number, Passed, u32),
    /// Takes a component away.
    Unset(Number, Passed),
    /// Gives an entity a tag.
    Tag(Number),
    /// A pair of one of the relations.
    Insert(Number, Passed, Number),
    /// Takes a pair away.
    Remove(Number, Passed, Number),
    /// A pair of `SlotOf`.
    SlotOf(Number, Number),
    /// A pair of `IsA`.
    IsA(Number, Number),
    /// Takes a pair of `IsA` away.
    IsNot(Number, Number),
    Despawn(Number),
}

#[derive(Component, Clone, Copy)]
struct Health(u32);

#[derive(Component, Clone, Copy)]
struct Armor(u32);

#[derive(Component, Clone, Copy)]
struct Serial(u32);

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
#[relation(on_instantiate = Inherit)]
struct BuiltBy;

#[derive(Relation)]
#[relation(on_instantiate = DontInherit)]
struct Tests;

/// A component that is a number.
trait Numeric: Component<Mutability = Mutable> + Copy {
    fn of(number: u32) -> Self;

    fn number(self) -> u32;
}

impl Numeric for Health {
    fn of(number: u32) -> Self {
        Self(number)
    }

    fn number(self) -> u32 {
        self.0
    }
}

impl Numeric for Armor {
    fn of(number: u32) -> Self {
        Self(number)
    }

    fn number(self) -> u32 {
        self.0
    }
}

impl Numeric for Serial {
    fn of(number: u32) -> Self {
        Self(number)
    }

    fn number(self) -> u32 {
        self.0
    }
}

/// What one world says of an entity, by the name of the fact.
pub(crate) type Facts = BTreeMap<String, String>;

/// Both worlds.
pub(crate) struct Both {
    pub(crate) world: World,
    flecs: FlecsWorld,
    /// Each in both.
    pub(crate) entities: Vec<(Entity, Id)>,
    components: [Id; 3],
    relations: [(Entity, Id); 3],
    tag: (Entity, Id),
    /// Those that were dead in both worlds once: Flecs gives their ids to copies of parts, with the same generation.
    gone: BTreeSet<Number>,
}

impl Both {
    pub(crate) fn new() -> Self {
        let (mut world, mut flecs) = (World::new(), FlecsWorld::new());
        let rules = [OnInstantiate::Override, OnInstantiate::Inherit, OnInstantiate::DontInherit];
        let entities = [world.entity_of::<Health>(), world.entity_of::<Armor>(), world.entity_of::<Serial>()];
        for (entity, rule) in entities.into_iter().zip(rules) {
            world.set_traits(entity, RelationTraits::new().on_instantiate(rule)).expect("it is new");
        }
        let known = flecs.known;
        let components = [(); 3].map(|()| flecs.component());
        let relations = [(); 3].map(|()| flecs.entity());
        for ids in [components, relations] {
            flecs.add(ids[1], pair(known.on_instantiate, known.inherit));
            flecs.add(ids[2], pair(known.on_instantiate, known.dont_inherit));
        }
        let typed =
            [relation::<Likes>(&mut world), relation::<BuiltBy>(&mut world), relation::<Tests>(&mut world)];
        let tag = (world.spawn_empty().id(), flecs.entity());
        let relations = [(typed[0], relations[0]), (typed[1], relations[1]), (typed[2], relations[2])];
        Self { world, flecs, entities: Vec::new(), components, relations, tag, gone: BTreeSet::new() }
    }

    /// Whether an entity is alive in this crate's world.
    pub(crate) fn is_alive(&self, number: Number) -> bool {
        self.world.entities().contains_spawned(self.entities[number].0)
    }

    fn is_alive_in_flecs(&self, number: Number) -> bool {
        !self.gone.contains(&number) && self.flecs.is_alive(self.entities[number].1)
    }

    fn spawn(&mut self) -> (Entity, Id) {
        let both = (self.world.spawn_empty().id(), self.flecs.entity());
        self.entities.push(both);
        both
    }

    pub(crate) fn step(&mut self, step: Step) {
        let known = self.flecs.known;
        match step {
            Step::Spawn => drop(self.spawn()),
            Step::SpawnPrefab => {
                let (entity, id) = self.spawn();
                self.world.entity_mut(entity).insert(Prefab);
                self.flecs.add(id, known.prefab);
            }
            Step::SpawnChild(parent) => {
                let name = format!("p{}", self.entities.len());
                let (parent, parent_id) = self.entities[parent];
                let (entity, id) = self.spawn();
                self.world.entity_mut(entity).insert((ChildOf(parent), Name::new(name.clone())));
                self.flecs.add(id, pair(known.child_of, parent_id));
                self.flecs.set_name(id, &name);
            }
            Step::Set(number, passed, value) => {
                let (entity, id) = self.entities[number];
                let mut entity = self.world.entity_mut(entity);
                match passed {
                    Copied => entity.insert(Health::of(value)),
                    Shared => entity.insert(Armor::of(value)),
                    Omitted => entity.insert(Serial::of(value)),
                };
                self.flecs.set(id, self.components[passed as usize], value);
            }
            Step::Unset(number, passed) => {
                let (entity, id) = self.entities[number];
                let mut entity = self.world.entity_mut(entity);
                match passed {
                    Copied => entity.remove::<Health>(),
                    Shared => entity.remove::<Armor>(),
                    Omitted => entity.remove::<Serial>(),
                };
                self.flecs.remove(id, self.components[passed as usize]);
            }
            Step::Tag(number) => {
                let (entity, id) = self.entities[number];
                self.world.insert_tag(entity, self.tag.0).expect("both are alive");
                self.flecs.add(id, self.tag.1);
            }
            Step::Insert(source, passed, target) => {
                self.insert(source, self.relations[passed as usize], target);
            }
            Step::Remove(source, passed, target) => {
                self.remove(source, self.relations[passed as usize], target);
            }
            Step::SlotOf(slot, owner) => {
                let relation = (self.world.entity_of::<SlotOf>(), known.slot_of);
                self.insert(slot, relation, owner);
            }
            Step::IsA(instance, base) => {
                let relation = (self.world.entity_of::<IsA>(), known.is_a);
                self.insert(instance, relation, base);
                self.learn(instance);
            }
            Step::IsNot(instance, base) => {
                let relation = (self.world.entity_of::<IsA>(), known.is_a);
                self.remove(instance, relation, base);
            }
            Step::Despawn(number) => {
                let (entity, id) = self.entities[number];
                self.world.despawn(entity);
                self.flecs.delete(id);
            }
        }
        self.world.flush();
    }

    fn insert(&mut self, source: Number, relation: (Entity, Id), target: Number) {
        let ((source, s), (target, t)) = (self.entities[source], self.entities[target]);
        self.world.insert_pair_by_id(source, (relation.0, target)).expect("it breaks no rule");
        self.flecs.add(s, pair(relation.1, t));
    }

    fn remove(&mut self, source: Number, relation: (Entity, Id), target: Number) {
        let ((source, s), (target, t)) = (self.entities[source], self.entities[target]);
        self.world.remove_pairs_by_id(source, PairId::new(relation.0, target));
        self.flecs.remove(s, pair(relation.1, t));
    }

    /// Gives numbers to those below an entity that have none and are there in both worlds, in the order of their paths.
    fn learn(&mut self, number: Number) {
        let (entity, id) = self.entities[number];
        let mut waiting = vec![(entity, id)];
        while let Some((entity, id)) = waiting.pop() {
            let ours = named(self.our_children(entity), |child| self.our_name(*child));
            let theirs = named(self.flecs.with(pair(self.flecs.known.child_of, id)), |child| {
                self.flecs.name(*child).unwrap_or_default()
            });
            let both: Vec<(Entity, Id)> =
                ours.into_iter().filter_map(|(name, child)| Some((child, *theirs.get(&name)?))).collect();
            let new = both.iter().filter(|both| !self.entities.contains(both)).copied();
            let new: Vec<_> = new.collect();
            self.entities.extend(new);
            waiting.extend(both.into_iter().rev());
        }
    }

    fn our_children(&self, entity: Entity) -> Vec<Entity> {
        self.world.get::<Children>(entity).map_or_else(Vec::new, |children| children.to_vec())
    }

    fn our_name(&self, entity: Entity) -> String {
        self.world.get::<Name>(entity).map_or_else(String::new, ToString::to_string)
    }

    /// What this crate and Flecs do not say alike, fact by fact.
    pub(crate) fn differences(&mut self) -> Vec<String> {
        let mut differences = Vec::new();
        for number in 0..self.entities.len() {
            let [ours, flecs] = self.facts(number);
            if ours.is_empty() && flecs.is_empty() {
                self.gone.insert(number);
            }
            let facts: BTreeSet<&String> = ours.keys().chain(flecs.keys()).collect();
            for fact in facts.into_iter().filter(|&fact| ours.get(fact) != flecs.get(fact)) {
                let [ours, flecs] = [&ours, &flecs].map(|facts| match facts.get(fact).map(String::as_str) {
                    None => "nothing",
                    Some("") => "none",
                    Some(what) => what,
                });
                differences.push(format!("{number} {fact}: {ours}, in Flecs {flecs}"));
            }
        }
        differences
    }

    /// What this crate and Flecs say of an entity.
    fn facts(&self, number: Number) -> [Facts; 2] {
        let (entity, id) = self.entities[number];
        let [mut ours, mut flecs] = [Facts::new(), Facts::new()];
        if self.is_alive(number) {
            self.our_facts(entity, &mut ours);
        }
        if self.is_alive_in_flecs(number) {
            self.flecs_facts(id, &mut flecs);
        }
        [ours, flecs]
    }

    fn our_facts(&self, entity: Entity, facts: &mut Facts) {
        let world = &self.world;
        let mut tell = |name: &str, what: String| drop(facts.insert(name.into(), what));
        tell("is alive", "yes".into());
        tell("name", self.our_name(entity));
        tell("is a prefab", world.get::<Prefab>(entity).is_some().to_string());
        tell("Copied", value::<Health>(world, entity));
        tell("Shared", value::<Armor>(world, entity));
        tell("Omitted", value::<Serial>(world, entity));
        tell("tag", world.has_tag(entity, self.tag.0).to_string());
        let number = |target: Entity| self.entities.iter().position(|both| both.0 == target);
        let is_a = world.pairs::<IsA>().targets(entity).map(number).collect();
        tell("IsA", numbers(is_a));
        tell("SlotOf", numbers(world.pairs::<SlotOf>().targets(entity).map(number).collect()));
        for (passed, (relation, _)) in PASSED.into_iter().zip(self.relations) {
            let targets = world.pairs_by_id(relation).targets(entity).map(number).collect();
            tell(&format!("pairs {passed:?}"), numbers(targets));
        }
        let alive = self.entities.iter().enumerate().filter(|(number, _)| self.is_alive(*number));
        let has = |target: Entity| match world.has_inherited_pair::<BuiltBy>(entity, target) {
            true => number(target),
            false => None,
        };
        let shared = alive.clone().filter_map(|(_, both)| has(both.0)).map(Some).collect();
        tell("pairs that are had", numbers(shared));
        for (slot, both) in alive {
            let targets: Vec<_> = world.pairs_by_id(both.0).targets(entity).map(number).collect();
            tell(&format!("slot {slot}"), numbers(targets));
        }
        let mut children: Vec<String> =
            self.our_children(entity).into_iter().map(|child| self.our_name(child)).collect();
        children.sort();
        tell("children", children.join(" "));
    }

    fn flecs_facts(&self, id: Id, facts: &mut Facts) {
        let (flecs, known) = (&self.flecs, self.flecs.known);
        let mut tell = |name: &str, what: String| drop(facts.insert(name.into(), what));
        tell("is alive", "yes".into());
        tell("name", flecs.name(id).unwrap_or_default());
        tell("is a prefab", flecs.has(id, known.prefab).to_string());
        for (passed, component) in PASSED.into_iter().zip(self.components) {
            let value = flecs.get(id, component).map(|value| (flecs.has(id, component), value));
            tell(&format!("{passed:?}"), told(value));
        }
        tell("tag", flecs.has(id, self.tag.1).to_string());
        let number = |target: Id| {
            let is = |&number: &Number| {
                self.entities[number].1 as u32 == target as u32 && self.is_alive_in_flecs(number)
            };
            (0..self.entities.len()).find(is)
        };
        let targets = |relation: Id| numbers(flecs.targets(id, relation).into_iter().map(number).collect());
        tell("IsA", targets(known.is_a));
        tell("SlotOf", targets(known.slot_of));
        for (passed, (_, relation)) in PASSED.into_iter().zip(self.relations) {
            tell(&format!("pairs {passed:?}"), targets(relation));
        }
        let alive = self.entities.iter().enumerate().filter(|(number, _)| self.is_alive_in_flecs(*number));
        let has = |target: Id| flecs.has_inherited(id, pair(self.relations[1].1, target));
        let shared = alive.clone().filter(|(_, both)| has(both.1)).map(|(number, _)| Some(number)).collect();
        tell("pairs that are had", numbers(shared));
        for (slot, both) in alive {
            tell(&format!("slot {slot}"), targets(both.1));
        }
        let children = flecs.with(pair(known.child_of, id));
        let mut children: Vec<String> =
            children.into_iter().map(|child| flecs.name(child).unwrap_or_default()).collect();
        children.sort();
        tell("children", children.join(" "));
    }
}

/// The entity of a relation, which is registered with its traits.
fn relation<R: Relation>(world: &mut World) -> Entity {
    world.register_relation::<R>().expect("the traits are right")
}

/// By name; of several with one name, the first.
fn named<T>(all: Vec<T>, name: impl Fn(&T) -> String) -> BTreeMap<String, T> {
    let mut named = BTreeMap::new();
    for one in all {
        named.entry(name(&one)).or_insert(one);
    }
    named
}

fn value<C: Numeric>(world: &World, entity: Entity) -> String {
    told(world.get_inherited::<C>(entity).map(|value| (world.owns::<C>(entity), value.number())))
}

/// Whether it is the entity's own, and what it is.
fn told(value: Option<(bool, u32)>) -> String {
    value.map_or_else(String::new, |(own, value)| format!("{value}{}", if own { "" } else { " of a base" }))
}

/// In ascending order: Flecs has another.
fn numbers(mut numbers: Vec<Option<Number>>) -> String {
    numbers.sort_unstable();
    let texts =
        numbers.into_iter().map(|number| number.map_or_else(|| "?".into(), |number| number.to_string()));
    texts.collect::<Vec<_>>().join(" ")
}
