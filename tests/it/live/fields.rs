//! Live expressions about what is written in place: fields of components, entities in fields, values and keys of pairs, names, paths
//! and the order of children.
//!
//! What a program can do here: insert, replace, remove and write the component, on the entity or by cloning it; despawn the entity
//! that a field holds, or spawn one whose id it held before; write values of pairs; rename and move what lies on a path; reorder
//! children; all of that on entities that no row is about. The rows are those of a run from scratch, and no more is run again
//! than what changed concerns.

use super::{fresh_rows, kept_rows};
use crate::{common::fewer, oracle::random::Random};
use bevy_ecs::{entity::EntityHashSet, hierarchy::Children, prelude::*, reflect::AppTypeRegistry};
use bevy_reflect::prelude::*;
use bevy_relations::{
    expr::{CompiledExpr, PairExpr},
    live::LiveExpr,
    prelude::*,
    system_param::PairsMut,
};

#[derive(Component, Reflect, Clone)]
#[reflect(Component)]
struct Health {
    hp: i32,
}

#[derive(Component, Reflect, Clone)]
#[reflect(Component)]
#[component(storage = "SparseSet")]
struct Aims {
    at: Option<Entity>,
}

#[derive(Component, Clone)]
struct Ship;

#[derive(Relation, Reflect, Clone)]
struct Eats {
    grams: i32,
}

#[derive(Reflect, Clone, Copy, PartialEq, Eq, Debug)]
enum Slot {
    Head,
    Hand,
    Foot,
}

#[derive(Relation, Clone)]
#[relation(key = Slot)]
struct Equips {
    slot: Slot,
}

/// Expressions with the classes of what is written in them.
const TEXTS: [&str; 16] = [
    "Ship, Health.hp < 10",
    "Ship, !Health.hp < 10",
    "Ship, ?(Eats, $x), Health.hp($x) >= 5",
    "Ship, Ship || Health.hp > 3",
    "Ship, !{ (Eats, $x), Health.hp($x) < 3 }",
    "Aims.at($this, $x), Ship",
    "Aims.at($this, $x), Health.hp($x) < 10",
    "Ship, !Aims.at($this, e0)",
    "Ship, (Eats.grams, $x) > 4",
    "Ship, !(Eats.grams, e1) > 4",
    "Equips[Head]($x), Ship",
    "Ship, $this ~= \"a\"",
    "Ship, (ChildOf, $p), Ship($p.gun)",
    "Ship, !Ship($this.gun)",
    "Ship, Health(down ChildOf)",
    "Ship, (Eats, e0|down ChildOf)",
];

struct Scene {
    world: World,
    entities: Vec<Entity>,
    /// Ids that nothing has yet, though fields may hold them.
    reserved: Vec<Entity>,
    random: Random,
}

impl Scene {
    fn new(seed: u64) -> Self {
        let mut world = World::new();
        let types = AppTypeRegistry::default();
        types.write().register::<Health>();
        types.write().register::<Aims>();
        types.write().register::<Eats>();
        world.insert_resource(types);
        world.register_component_name::<Ship>("Ship");
        world.register_component_name::<Health>("Health");
        world.register_component_name::<Aims>("Aims");
        world.register_relation::<Eats>().unwrap();
        world.register_relation::<Equips>().unwrap();
        let entities =
            (0..12).map(|number| world.spawn((Ship, Name::new(format!("e{number}")))).id()).collect();
        let mut scene = Self { world, entities, reserved: Vec::new(), random: Random::new(seed, 7) };
        (0..60).for_each(|_| scene.change());
        scene
    }

    fn pick(&mut self) -> Entity {
        self.random.pick(&self.entities)
    }

    fn change(&mut self) {
        // The first two are named in expressions.
        let [a, b] = [(); 2].map(|()| self.pick());
        let number = self.random.below(12) as i32;
        let kind = self.random.below(17);
        let Self { world, entities, reserved, .. } = self;
        match kind {
            0 => _ = world.entity_mut(a).insert(Health { hp: number }),
            1 => {
                if let Some(mut health) = world.get_mut::<Health>(a) {
                    health.hp = number;
                }
            }
            2 => _ = world.entity_mut(a).remove::<Health>(),
            3 => _ = world.entity_mut(a).insert(Aims { at: Some(b) }),
            4 => {
                if let Some(mut aims) = world.get_mut::<Aims>(a) {
                    aims.at = (number > 2).then_some(b);
                }
            }
            5 => {
                let later = world.entity_allocator().alloc();
                world.entity_mut(a).insert(Aims { at: Some(later) });
                reserved.push(later);
            }
            6 => {
                if let Some(later) = reserved.pop() {
                    world.spawn_at(later, Ship).unwrap();
                    entities.push(later);
                }
            }
            7 if entities.len() > 6 && !entities[..2].contains(&a) => {
                world.despawn(a);
                entities.retain(|&entity| world.entities().contains_spawned(entity));
            }
            8 => _ = world.insert_pair(a, Eats { grams: number }, b),
            9 => {
                world
                    .run_system_cached_with(
                        |In((source, target, grams)): In<(Entity, Entity, i32)>, mut eats: PairsMut<Eats>| {
                            if let Some(mut eats) = eats.get_mut(source, target) {
                                eats.grams = grams;
                            }
                        },
                        (a, b, number),
                    )
                    .unwrap();
            }
            10 => {
                let slot = [Slot::Head, Slot::Hand, Slot::Foot][number as usize % 3];
                _ = world.insert_pair(a, Equips { slot }, b);
            }
            11 if !entities[..2].contains(&a) => {
                let name = ["gun", "a", "b"][number as usize % 3];
                match world.get_mut::<Name>(a) {
                    Some(mut known) if number > 5 => known.set(name),
                    _ => _ = world.entity_mut(a).insert(Name::new(name)),
                }
            }
            12 if !entities[..2].contains(&a) => _ = world.entity_mut(a).remove::<Name>(),
            13 if a.index() > b.index() && !entities[..2].contains(&a) => {
                _ = world.entity_mut(a).insert(ChildOf(b));
            }
            14 => {
                if let Some(mut children) = world.get_mut::<Children>(a)
                    && children.len() > 1
                {
                    children.swap(0, 1);
                }
            }
            15 => {
                let clone = world.entity_mut(a).clone_and_spawn();
                // The names of the first two stay theirs alone.
                world.entity_mut(clone).insert(Name::new("copy"));
                entities.push(clone);
            }
            _ if number < 3 => {
                // Systems, and so ticks, go on.
                world.increment_change_tick();
                world.clear_trackers();
            }
            _ => _ = world.remove_pairs::<Eats>(a),
        }
    }
}

struct Kept {
    text: &'static str,
    live: LiveExpr,
    fresh: CompiledExpr,
}

#[test]
fn what_is_written_in_place_is_followed() {
    for seed in 0..fewer(30) as u64 {
        let mut scene = Scene::new(seed);
        let mut all: Vec<Kept> = TEXTS
            .into_iter()
            .map(|text| {
                let parsed = PairExpr::parse(text).unwrap();
                let fresh = parsed.compile(&mut scene.world).unwrap();
                Kept { text, live: parsed.live(&mut scene.world).unwrap(), fresh }
            })
            .collect();
        for step in 0..40 {
            let changes = scene.random.below(4);
            (0..changes).for_each(|_| scene.change());
            for Kept { text, live, fresh } in &mut all {
                live.update(&mut scene.world).unwrap();
                let expected = fresh_rows(&scene.world, fresh);
                let found = kept_rows(&scene.world, live);
                assert_eq!(found, expected, "seed {seed}, step {step}: {text}\n{}", live.explain());
                assert!(live.explain().starts_with("kept up to date"), "{text}\n{}", live.explain());
            }
        }
        let distinct: EntityHashSet = scene.entities.iter().copied().collect();
        assert_eq!(distinct.len(), scene.entities.len());
        scene.world.check_pairs().unwrap();
    }
}

/// In a world with many entities, a change of one leaves the others alone.
#[test]
fn a_value_that_is_written_has_one_row_found_anew() {
    let mut scene = Scene::new(1);
    for number in 0..500 {
        let entity = scene.world.spawn((Ship, Health { hp: number % 20 })).id();
        scene.entities.push(entity);
    }
    let mut live = PairExpr::parse("Ship, Health.hp < 10").unwrap().live(&mut scene.world).unwrap();
    live.track_moves();
    live.update(&mut scene.world).unwrap();
    for &entity in &scene.entities[50..60] {
        let before = live.contains(entity);
        scene.world.entity_mut(entity).insert(Health { hp: if before { 10 } else { 1 } });
        live.update(&mut scene.world).unwrap();
        assert!(!live.ran_whole());
        assert_eq!(live.contains(entity), !before);
        assert_eq!(live.entered(&scene.world).unwrap().count() + live.left(&scene.world).unwrap().count(), 1);
        scene.world.get_mut::<Health>(entity).unwrap().hp = if before { 1 } else { 10 };
        live.update(&mut scene.world).unwrap();
        assert!(!live.ran_whole());
        assert_eq!(live.contains(entity), before);
    }
    assert_eq!(live.explain(), "kept up to date\n  Ship: by $this\n  Health.hp < 10: by $this\n");
}

#[test]
fn names_are_followed_from_the_first_one_on() {
    let mut world = World::new();
    world.register_component_name::<Ship>("Ship");
    let [a, b] = [(); 2].map(|()| world.spawn(Ship).id());
    let mut live = PairExpr::parse("Ship, $this ~= \"gun\"").unwrap().live(&mut world).unwrap();
    live.update(&mut world).unwrap();
    assert!(live.is_empty());
    world.entity_mut(a).insert(Name::new("a big gun"));
    live.update(&mut world).unwrap();
    assert!(live.contains(a) && live.len() == 1);
    world.entity_mut(b).insert(Name::new("Gun 2"));
    live.update(&mut world).unwrap();
    assert!(!live.ran_whole(), "{}", live.explain());
    assert!(live.contains(b));
}
