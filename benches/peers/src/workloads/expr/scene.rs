//! A world that is described once and built for each contestant, and the contestants.

use crate::{
    flecs::{Component as FlecsComponent, FlecsWorld, Id, Kind, pair},
    flecs_query::{FlecsQuery, Term},
    harness::{Contestant, Stopwatch},
    ours,
};
use bevy_ecs::{component::Component, entity::Entity, world::World};
use bevy_relations::{
    expr::{CompiledExpr, PairExpr},
    prelude::*,
    relation::OnInstantiate,
};
use core::any::TypeId;

#[derive(Component, Clone, Copy)]
pub(super) struct A;

#[derive(Component, Clone, Copy)]
pub(super) struct B;

#[derive(Component, Clone, Copy)]
pub(super) struct C;

/// What there is. Entities are numbers.
#[derive(Clone, Default)]
pub(super) struct Scene {
    pub(super) entities: usize,
    /// The entities with the components [`A`], [`B`] and [`C`].
    pub(super) holders: [Vec<usize>; 3],
    /// The entities with a tag of their own.
    pub(super) tagged: Vec<usize>,
    /// Sources with their targets.
    pub(super) pairs: Vec<(usize, usize)>,
    /// The same of further relations, each with a list.
    pub(super) more: Vec<Vec<(usize, usize)>>,
    /// Sources that are given these targets before each run.
    pub(super) edits: Vec<(usize, [usize; 2])>,
}

impl Scene {
    /// Makes entities; gives their numbers.
    pub(super) fn spawn(&mut self, count: usize) -> core::ops::Range<usize> {
        let first = self.entities;
        self.entities += count;
        first..self.entities
    }
}

/// A scene as Flecs has it.
pub(super) struct FlecsScene {
    pub(super) world: FlecsWorld,
    pub(super) relation: Id,
    pub(super) components: [FlecsComponent<u8>; 3],
    pub(super) entities: Vec<Id>,
}

impl FlecsScene {
    pub(super) fn new(scene: &Scene, kind: Kind) -> Self {
        let mut world = FlecsWorld::new();
        let components = [world.component(), world.component(), world.component()];
        let relation = world.relation(kind);
        if matches!(kind, Kind::IsA) {
            components.iter().for_each(|&component| world.inherit(component));
        }
        let entities: Vec<Id> = (0..scene.entities).map(|_| world.entity()).collect();
        assert_eq!(entities.last().map(|id| id.0), Some(entities[0].0 + scene.entities as u64 - 1));
        for (component, holders) in components.iter().zip(&scene.holders) {
            holders.iter().for_each(|&holder| world.set(entities[holder], *component, &1u8));
        }
        for &source in &scene.tagged {
            let tag = world.entity();
            world.add(entities[source], tag);
        }
        for &(source, target) in &scene.pairs {
            world.add(entities[source], pair(relation, entities[target]));
        }
        for pairs in &scene.more {
            let relation = world.relation(kind);
            for &(source, target) in pairs {
                world.add(entities[source], pair(relation, entities[target]));
            }
        }
        Self { world, relation, components, entities }
    }

    /// A term for one of the components.
    pub(super) fn has(&self, component: usize) -> Term {
        Term::with(self.components[component].id)
    }
}

/// What a contestant of Flecs needs: how its relation is stored, its terms, and which of them gives the variable that
/// is read.
#[derive(Clone, Copy)]
pub(super) struct FlecsWay {
    pub(super) kind: Kind,
    pub(super) cached: bool,
    pub(super) terms: fn(&FlecsScene) -> Vec<Term>,
    pub(super) target_of: Option<i8>,
}

/// Rows, the sum of the entities' numbers, and of the variable's.
pub(super) type Sums = (u64, u64, u64);

pub(super) fn checksum((rows, these, vars): Sums, base: u64, has_var: bool) -> u64 {
    let vars = if has_var { vars.wrapping_sub(rows.wrapping_mul(base)) } else { 0 };
    let these = these.wrapping_sub(rows.wrapping_mul(base));
    rows.wrapping_mul(31).wrapping_add(these).wrapping_mul(31).wrapping_add(vars)
}

pub(super) fn flecs(name: &'static str, scene: &Scene, repeats: usize, way: FlecsWay) -> Contestant {
    let scene = scene.clone();
    Contestant::new(name, move || {
        let mut built = FlecsScene::new(&scene, way.kind);
        let terms = (way.terms)(&built);
        let make = if way.cached { FlecsQuery::cached } else { FlecsQuery::uncached };
        let query = make(&mut built.world, &terms);
        let edits = scene.edits.clone();
        let mut round = 0;
        move |watch: &mut Stopwatch| {
            let base = u64::from(built.entities[0].0 as u32);
            round += 1;
            for &(source, targets) in &edits {
                let target = built.entities[targets[round % 2]];
                built.world.add(built.entities[source], pair(built.relation, target));
            }
            let mut sums = (0, 0, 0);
            watch.time(|| {
                for _ in 0..repeats {
                    sums = run_flecs(&query, &mut built.world, way.target_of);
                }
            });
            checksum(sums, base, way.target_of.is_some())
        }
    })
}

pub(super) fn run_flecs(query: &FlecsQuery, world: &mut FlecsWorld, target_of: Option<i8>) -> Sums {
    let (mut rows, mut these, mut vars) = (0, 0u64, 0u64);
    query.for_each_table(world, |table| {
        rows += table.count() as u64;
        these += table.entities().iter().map(|id| u64::from(id.0 as u32)).sum::<u64>();
        if let Some(term) = target_of {
            vars += u64::from(table.target_index(term)) * table.count() as u64;
        }
    });
    (rows, these, vars)
}

/// A scene as we have it.
pub(super) struct OurScene {
    pub(super) world: World,
    pub(super) entities: Vec<Entity>,
    pub(super) relation: Entity,
}

impl OurScene {
    pub(super) fn new<R: Relation>(scene: &Scene) -> Self {
        let mut world = ours::world();
        let relation = world.register_relation::<R>().expect("its traits are right");
        world.register_component::<A>();
        world.register_component::<B>();
        world.register_component::<C>();
        if TypeId::of::<R>() == TypeId::of::<IsA>() {
            let traits = RelationTraits::new().on_instantiate(OnInstantiate::Inherit);
            for component in [world.entity_of::<A>(), world.entity_of::<B>(), world.entity_of::<C>()] {
                world.set_traits(component, traits.clone()).expect("nothing refers to it yet");
            }
        }
        let mut has = vec![[false; 3]; scene.entities];
        for (component, holders) in scene.holders.iter().enumerate() {
            holders.iter().for_each(|&holder| has[holder][component] = true);
        }
        let spawn = |has: &[bool; 3]| match has {
            [false, false, false] => world.spawn_empty().id(),
            [true, false, false] => world.spawn(A).id(),
            [false, true, false] => world.spawn(B).id(),
            [false, false, true] => world.spawn(C).id(),
            [true, true, false] => world.spawn((A, B)).id(),
            [true, false, true] => world.spawn((A, C)).id(),
            [false, true, true] => world.spawn((B, C)).id(),
            [true, true, true] => world.spawn((A, B, C)).id(),
        };
        let entities: Vec<Entity> = has.iter().map(spawn).collect();
        let last = entities[0].index_u32() + scene.entities as u32 - 1;
        assert_eq!(entities.last().map(|entity| entity.index_u32()), Some(last));
        for &source in &scene.tagged {
            let tag = world.spawn_empty().id();
            world.insert_tag(entities[source], tag).expect("both are alive");
        }
        for &(source, target) in &scene.pairs {
            world.insert_pair_by_id(entities[source], (relation, entities[target])).expect("both are alive");
        }
        for pairs in &scene.more {
            let relation = world.spawn_relation("", RelationTraits::new().exclusive());
            let relation = relation.expect("its traits are right");
            for &(source, target) in pairs {
                let pair = (relation, entities[target]);
                world.insert_pair_by_id(entities[source], pair).expect("both are alive");
            }
        }
        Self { world, entities, relation }
    }

    /// Compiles an expression, in which `A`, `B` and `C` stand for components, `R` for the relation and `E0` for the
    /// first entity.
    pub(super) fn compile(&mut self, text: &str) -> CompiledExpr {
        self.parse(text).compile(&mut self.world).expect("the expression is right")
    }

    /// The same, only read.
    pub(super) fn parse(&mut self, text: &str) -> PairExpr {
        let [a, b, c] =
            [self.world.entity_of::<A>(), self.world.entity_of::<B>(), self.world.entity_of::<C>()];
        let mut text = text.to_owned();
        for (name, entity) in [("A", a), ("B", b), ("C", c), ("R", self.relation), ("E0", self.entities[0])] {
            text = text.replace(name, &format!("#{}", entity.to_bits()));
        }
        PairExpr::parse(text).expect("the expression is right")
    }
}

pub(super) fn ours<R: Relation + Default>(
    scene: &Scene,
    repeats: usize,
    text: &'static str,
    var: Option<&'static str>,
) -> Contestant {
    ours_as::<R>("ours", scene, repeats, (text, var))
}

/// [`ours`] by another name, as which it is listed.
pub(super) fn ours_as<R: Relation + Default>(
    name: &'static str,
    scene: &Scene,
    repeats: usize,
    (text, var): (&'static str, Option<&'static str>),
) -> Contestant {
    let scene = scene.clone();
    Contestant::new(name, move || {
        let mut built = OurScene::new::<R>(&scene);
        let mut expr = built.compile(text);
        let edits = scene.edits.clone();
        let mut round = 0;
        move |watch: &mut Stopwatch| {
            let base = u64::from(built.entities[0].index_u32());
            round += 1;
            for &(source, targets) in &edits {
                let target = built.entities[targets[round % 2]];
                let done = built.world.insert_pair(built.entities[source], R::default(), target);
                done.expect("the relation is exclusive");
            }
            let mut sums = (0, 0, 0);
            watch.time(|| {
                for _ in 0..repeats {
                    sums = run_ours(&mut expr, &built.world, var);
                }
            });
            built.world.clear_trackers();
            checksum(sums, base, var.is_some())
        }
    })
}

pub(super) fn run_ours(expr: &mut CompiledExpr, world: &World, var: Option<&str>) -> Sums {
    let (mut rows, mut these, mut vars) = (0, 0u64, 0u64);
    let index = |entity: Option<Entity>| u64::from(entity.expect("it is bound").index_u32());
    match var.and_then(|var| expr.var_id(var)) {
        Some(var) => expr.for_each(world, |row| {
            rows += 1;
            these += index(row.this());
            vars += index(row.var_by_id(var));
        }),
        None => expr.for_each(world, |row| {
            rows += 1;
            these += index(row.this());
        }),
    }
    .expect("nothing is in the way");
    (rows, these, vars)
}
