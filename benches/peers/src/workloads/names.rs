//! Finding entities by the path of their names.

use crate::{
    flecs::{FlecsWorld, Id, Kind, pair},
    harness::{Contestant, Stopwatch, Workload},
    ours,
    random::Random,
};
use bevy_ecs::{
    entity::Entity,
    hierarchy::{ChildOf, Children},
    name::Name,
    query::Without,
    system::{Query, SystemState},
    world::World,
};
use bevy_relations::{names::NamePaths, prelude::*};
use std::ffi::CString;

/// How many paths are looked up.
const PATHS: usize = 100;

/// Paths of `depth` names in a world of `size` entities. All begin with the same names but for the last one.
pub(super) fn path(size: usize, depth: usize) -> Workload {
    let id = match depth {
        1 => "names_1",
        10 => "names_10",
        _ => "names_100",
    };
    let plan = Plan { depth, siblings: (size / depth).max(1) };
    let contestants = vec![
        Contestant::new("flecs", move || plan.flecs()),
        Contestant::new("by hand", move || plan.by_hand()),
        Contestant::new("ours", move || plan.on_world()),
        Contestant::new("ours NamePaths", move || plan.param()),
    ];
    Workload { id, size, elements: PATHS, contestants }
}

/// The entities at the end of the paths get another name before each look-up, which is timed too.
pub(super) fn renamed(size: usize) -> Workload {
    let depth = 10;
    let plan = Plan { depth, siblings: (size / depth).max(1) };
    let contestants = vec![
        Contestant::new("flecs", move || plan.rename_in_flecs()),
        Contestant::new("by hand", move || plan.rename_by_hand()),
        Contestant::new("ours", move || plan.rename_on_world()),
    ];
    Workload { id: "names_renamed", size, elements: PATHS, contestants }
}

/// What a look-up by hand reads.
type Walk = SystemState<(
    Query<'static, 'static, (Entity, &'static Name), Without<ChildOf>>,
    Query<'static, 'static, &'static Children>,
    Query<'static, 'static, &'static Name>,
)>;

/// Looks at one child after the other.
fn walk(state: &mut Walk, world: &World, path: &str) -> Option<Entity> {
    let (roots, children, names) = state.get(world).expect("queries are always available");
    let mut steps = path.split('.');
    let first = steps.next()?;
    let mut at = roots.iter().find(|(_, name)| name.as_str() == first)?.0;
    for step in steps {
        let mut below = children.get(at).ok()?.iter().copied();
        at = below.find(|&child| names.get(child).is_ok_and(|name| name.as_str() == step))?;
    }
    Some(at)
}

#[derive(Clone, Copy)]
struct Plan {
    depth: usize,
    /// Entities on each level, all below the first one of the level above.
    siblings: usize,
}

impl Plan {
    fn name(level: usize, sibling: usize) -> String {
        format!("level{level}_number{sibling}")
    }

    /// Names from the top, and the number of the entity that is to be found.
    fn paths(self) -> Vec<(String, usize)> {
        let last = self.depth - 1;
        let start: String = (0..last).map(|level| Self::name(level, 0) + ".").collect();
        let choices = Random::new(71).choices(PATHS, self.siblings);
        let path = |sibling| (start.clone() + &Self::name(last, sibling), last * self.siblings + sibling);
        choices.into_iter().map(path).collect()
    }

    /// Calls with level and number; the entity that it gives for number 0 is above those of the next level.
    fn spawn<Id: Copy>(self, mut spawn: impl FnMut(String, Option<Id>) -> Id) -> Vec<Id> {
        let (mut all, mut parent) = (Vec::new(), None);
        for level in 0..self.depth {
            let first = all.len();
            for sibling in 0..self.siblings {
                all.push(spawn(Self::name(level, sibling), parent));
            }
            parent = Some(all[first]);
        }
        all
    }

    /// Entity, path and name in rounds of even numbers, then in others.
    fn two_names<Id: Copy>(paths: &[(String, Id)]) -> [Vec<(String, String, Id)>; 2] {
        ["even", "odd"].map(|end| {
            let named = |(path, id): &(String, Id)| {
                let path = format!("{path}_{end}");
                let name = path.rsplit('.').next().unwrap_or_default().to_owned();
                (path, name, *id)
            };
            paths.iter().map(named).collect()
        })
    }

    fn rename_in_flecs(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (mut world, all) = self.grown_in_flecs();
        let paths: Vec<_> = self.paths().into_iter().map(|(path, number)| (path, all[number])).collect();
        let c = |text: String| CString::new(text).expect("it has no zeroes");
        let names = Self::two_names(&paths).map(|names| {
            names.into_iter().map(|(path, name, id)| (c(path), c(name), id)).collect::<Vec<_>>()
        });
        let mut round = 0;
        move |watch| {
            round += 1;
            let names = &names[round % 2];
            watch.time(|| {
                names.iter().for_each(|(_, name, id)| world.set_name(*id, name));
                names.iter().filter(|(path, _, id)| world.lookup(path) == Some(*id)).count()
            }) as u64
        }
    }

    fn rename_on_world(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (world, paths) = self.bevy(ours::world());
        Self::rename(world, paths, |world, path| world.lookup(path).ok())
    }

    fn rename_by_hand(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (mut world, paths) = self.bevy(World::new());
        let mut state = Walk::new(&mut world);
        Self::rename(world, paths, move |world, path| walk(&mut state, world, path))
    }

    fn rename(
        mut world: World,
        paths: Vec<(String, Entity)>,
        mut lookup: impl FnMut(&World, &str) -> Option<Entity>,
    ) -> impl FnMut(&mut Stopwatch) -> u64 {
        let names = Self::two_names(&paths);
        let mut round = 0;
        move |watch| {
            round += 1;
            let names = &names[round % 2];
            let found = watch.time(|| {
                for (_, name, entity) in names {
                    world.entity_mut(*entity).insert(Name::new(name.clone()));
                }
                names.iter().filter(|(path, _, entity)| lookup(&world, path) == Some(*entity)).count()
            });
            world.clear_trackers();
            found as u64
        }
    }

    fn grown_in_flecs(self) -> (FlecsWorld, Vec<Id>) {
        let mut world = FlecsWorld::new();
        let child_of = world.relation(Kind::ChildOf);
        let all = self.spawn(|name, parent| {
            let entity = world.entity();
            if let Some(parent) = parent {
                world.add(entity, pair(child_of, parent));
            }
            world.set_name(entity, &CString::new(name).expect("it has no zeroes"));
            entity
        });
        (world, all)
    }

    fn flecs(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (world, all) = self.grown_in_flecs();
        let paths: Vec<_> = self
            .paths()
            .into_iter()
            .map(|(path, number)| (CString::new(path).expect("it has no zeroes"), all[number]))
            .collect();
        move |watch| {
            watch.time(|| paths.iter().filter(|(path, right)| world.lookup(path) == Some(*right)).count())
                as u64
        }
    }

    fn bevy(self, mut world: World) -> (World, Vec<(String, Entity)>) {
        let all = self.spawn(|name, parent| match parent {
            Some(parent) => world.spawn((Name::new(name), ChildOf(parent))).id(),
            None => world.spawn(Name::new(name)).id(),
        });
        let paths = self.paths().into_iter().map(|(path, number)| (path, all[number])).collect();
        (world, paths)
    }

    fn by_hand(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (mut world, paths) = self.bevy(World::new());
        let mut state = Walk::new(&mut world);
        move |watch| {
            let mut lookup = |path: &str| walk(&mut state, &world, path);
            watch.time(|| paths.iter().filter(|(path, right)| lookup(path) == Some(*right)).count()) as u64
        }
    }

    fn on_world(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (world, paths) = self.bevy(ours::world());
        move |watch| {
            watch.time(|| paths.iter().filter(|(path, right)| world.lookup(path) == Ok(*right)).count())
                as u64
        }
    }

    fn param(self) -> impl FnMut(&mut Stopwatch) -> u64 {
        let (mut world, paths) = self.bevy(ours::world());
        let mut state = SystemState::<NamePaths>::new(&mut world);
        move |watch| {
            let names = state.get(&world).expect("the plugin provides what the parameter needs");
            watch.time(|| paths.iter().filter(|(path, right)| names.lookup(path) == Ok(*right)).count())
                as u64
        }
    }
}
