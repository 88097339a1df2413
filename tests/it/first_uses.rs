//! What is done for the first time spawns observers, resources and entities of types. Observers of these take away what was made before,
//! or do all of it themselves; afterwards the world is right, and the same can be done again.
//!
//! Beside that, what was there before the first use, or while observers of this crate were gone, is imported whatever disables it.

use crate::common::{panic_message, spawn, take_reported_errors, unpaid::CrewOf, world_that_records_errors};
use bevy_ecs::{
    entity_disabling::Disabled,
    error::FallbackErrorHandler,
    lifecycle::{Add, Insert},
    prelude::*,
    reflect::{AppTypeRegistry, ReflectComponent},
    resource::IsResource,
};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use bevy_relations::{
    disabling::*,
    expr::PairExpr,
    islands::*,
    live::*,
    mirror::*,
    prelude::*,
    relation::{EndConstraint, OnMissing, Prefab, RelationStorage, Wildcard},
    snapshot::*,
};

#[derive(Component, Clone, Copy, Default, PartialEq, Debug, Reflect)]
#[reflect(Component, Default)]
struct Mass(u32);
#[derive(Component, Clone, Default)]
struct City;
#[derive(Component, Clone)]
struct Hidden;

#[derive(Relation, Reflect, Clone)]
struct Likes;
#[derive(Relation, Reflect, Clone, Default)]
#[relation(source(Mass))]
struct Hauls(u32);
impl RollupValue for Hauls {
    type Value = u64;
    fn rollup_value(&self) -> u64 {
        1
    }
}
#[derive(Relation, Reflect, Clone, Default)]
#[relation(key = u8)]
struct Wears(u8);
#[derive(Relation)]
#[relation(exclusive, traversable, on_target_despawn = Despawn)]
struct Below;
#[derive(Relation)]
#[relation(exclusive, storage = "Fragmenting")]
struct Teams;
#[derive(Relation)]
#[relation(target(City), on_missing = Insert, with = Likes)]
struct Founds;

type Operation = fn(&mut World, [Entity; 4]);
const OPERATIONS: [(&str, Operation); 26] = [
    ("likes", |w, [a, b, ..]| _ = w.insert_pair(a, Likes, b)),
    ("hauls", |w, [a, b, ..]| _ = w.insert_pair(a, Hauls(1), b)),
    ("wears", |w, [a, b, ..]| _ = w.insert_pair(a, Wears(1), b)),
    ("below", |w, [a, b, ..]| _ = w.insert_pair(a, Below, b)),
    ("teams", |w, [a, b, ..]| _ = w.insert_pair(a, Teams, b)),
    ("founds", |w, [a, b, ..]| _ = w.insert_pair(a, Founds, b)),
    ("isa", |w, [a, b, ..]| _ = w.insert_pair(a, IsA, b)),
    ("childof", |w, [a, b, ..]| _ = w.insert_pair(a, ChildOf(b), b)),
    ("spawn_relation", |w, [a, b, ..]| {
        let traits = RelationTraits::new()
            .target(EndConstraint::with_default::<City>())
            .on_missing(OnMissing::Insert)
            .data_or_default::<u64>();
        if let Ok(r) = w.spawn_relation("R", traits) {
            _ = w.insert_pair_by_id(a, (r, b));
        }
    }),
    ("spawn_relation table", |w, [a, b, ..]| {
        if let Ok(r) =
            w.spawn_relation("T", RelationTraits::new().exclusive().storage(RelationStorage::Fragmenting))
        {
            _ = w.insert_pair_by_id(a, (r, b));
        }
    }),
    ("spawn_relation with", |w, [a, b, ..]| {
        if let Ok(r) = w.spawn_relation("W", RelationTraits::new().with::<Likes>()) {
            _ = w.insert_pair_by_id(a, (r, b));
        }
    }),
    ("entity_of", |w, [a, ..]| {
        let e = w.entity_of::<Mass>();
        _ = w.insert_pair(a, Likes, e);
        let e = w.entity_of::<u128>();
        _ = w.insert_pair(a, Likes, e);
    }),
    ("tag", |w, [a, b, ..]| _ = w.insert_tag(a, b)),
    ("islands", |w, [a, b, ..]| {
        _ = w.track_islands::<Likes>();
        _ = w.insert_pair(a, Likes, b);
    }),
    ("rollup", |w, [a, b, ..]| {
        _ = w.add_rollup::<Below, Mass, Count>();
        _ = w.insert_pair(a, Below, b);
        w.update_rollups();
    }),
    ("propagate", |w, [a, b, ..]| {
        _ = w.propagate::<Below, Mass>();
        _ = w.insert_pair(a, Below, b);
        w.update_propagation();
    }),
    ("mirror", |w, [a, b, ..]| {
        _ = w.mirror_pairs::<Hauls>();
        _ = w.insert_pair(a, Hauls(3), b);
        w.maintain_pairs();
    }),
    ("mirror runtime", |w, [a, b, ..]| {
        w.mirror_runtime_pairs();
        if let Ok(r) = w.spawn_relation("M", RelationTraits::new()) {
            _ = w.insert_pair_by_id(a, (r, b));
        }
        w.maintain_pairs();
    }),
    ("adopt", |w, [a, b, ..]| {
        w.adopt_relationship::<CrewOf>();
        if w.entities().contains_spawned(b)
            && let Ok(mut e) = w.get_entity_mut(a)
        {
            e.insert(CrewOf(b));
        }
    }),
    ("observe", |w, [a, b, ..]| {
        w.observe_pairs(PairId::with_target(b), |_: On<PairInserted<Wildcard>>| {});
        _ = w.insert_pair(a, Likes, b);
    }),
    ("live", |w, [a, b, ..]| {
        let mut live = PairExpr::parse("(*, $x), !(IsA, *)").unwrap().live(w);
        _ = w.insert_pair(a, Likes, b);
        if let Ok(live) = &mut live {
            _ = live.update(w);
        }
    }),
    ("propagate changes", |w, [a, b, ..]| {
        w.propagate_changes::<Below, Mass>();
        _ = w.insert_pair(a, Below, b);
    }),
    ("disable", |w, [a, b, ..]| {
        _ = w.insert_pair(a, Below, b);
        _ = w.disable_below::<Below>(b);
    }),
    ("instantiate", |w, [a, b, ..]| {
        if let Ok(mut e) = w.get_entity_mut(b) {
            e.insert(Prefab);
        }
        _ = w.insert_pair(a, ChildOf(b), b);
        _ = w.instantiate(b);
    }),
    ("snapshot", |w, [a, b, ..]| {
        _ = w.insert_pair(a, Wears(2), b);
        if let Ok(s) = PairSnapshot::take(w, PairFilter::all()) {
            w.remove_pairs::<Wears>(a);
            _ = s.apply(w);
        }
    }),
    ("clone", |w, [a, b, ..]| {
        _ = w.insert_pair(a, Wears(2), b);
        if let Ok(mut e) = w.get_entity_mut(a) {
            e.clone_and_spawn();
        }
    }),
];

type Action = fn(&mut World, Entity, [Entity; 4]);
const ACTIONS: [(&str, Action); 13] = [
    ("hides all", |w, _, _| {
        let all: Vec<Entity> = w.query_filtered::<Entity, With<Mass>>().iter(w).collect();
        w.register_disabling_component::<Hidden>();
        all.into_iter().for_each(|e| _ = w.entity_mut(e).insert(Hidden));
    }),
    ("makes prefabs", |w, _, [a, b, ..]| {
        for e in [a, b] {
            if let Ok(mut e) = w.get_entity_mut(e) {
                e.insert(Prefab);
            }
        }
    }),
    ("gives it a child", |w, e, _| {
        if w.entities().contains_spawned(e) {
            w.spawn((Mass(9), Name::new("child"), ChildOf(e)));
        }
    }),
    ("maintains", |w, _, _| {
        w.maintain_pairs();
        w.update_rollups();
        w.update_propagation();
    }),
    ("clears resources", |w, _, _| {
        let at = w.remove_resource::<Moment>();
        let handler = w.remove_resource::<FallbackErrorHandler>();
        w.clear_resources();
        if let Some(at) = at {
            w.insert_resource(at);
        }
        if let Some(handler) = handler {
            w.insert_resource(handler);
        }
        w.init_resource::<AppTypeRegistry>();
    }),
    ("despawns it", |w, e, _| _ = w.try_despawn(e)),
    ("clears pairs", |w, _, _| w.clear_pairs()),
    ("despawns observers", |w, _, _| {
        let me = w.resource::<Moment>().1;
        let all: Vec<Entity> =
            w.query_filtered::<Entity, With<Observer>>().iter(w).filter(|&e| e != me).collect();
        all.into_iter().for_each(|e| _ = w.try_despawn(e));
    }),
    ("despawns resources", |w, _, _| {
        let own = [
            w.resource_entity::<Moment>(),
            w.resource_entity::<AppTypeRegistry>(),
            w.resource_entity::<FallbackErrorHandler>(),
        ];
        let all: Vec<Entity> = w
            .query_filtered::<Entity, With<IsResource>>()
            .iter(w)
            .filter(|&e| !own.contains(&Some(e)))
            .collect();
        all.into_iter().for_each(|e| _ = w.try_despawn(e));
    }),
    ("despawns the ends", |w, _, [a, b, ..]| {
        _ = w.try_despawn(a);
        _ = w.try_despawn(b);
    }),
    ("clears it", |w, e, _| {
        if let Ok(mut e) = w.get_entity_mut(e) {
            e.clear();
        }
    }),
    ("makes it a relation", |w, e, [a, b, ..]| _ = w.insert_pair_by_id(a, (e, b))),
    ("does all", |w, _, all| {
        for (_, op) in OPERATIONS {
            op(w, all);
        }
    }),
];

/// The number of events until an observer acts, and that observer.
#[derive(Resource)]
struct Moment(usize, Entity);

/// Whether the moment came; and what went wrong.
fn run(operation: Operation, action: Action, of_insertions: bool, moment: usize) -> (bool, Option<String>) {
    let mut world = world_that_records_errors();
    world.init_resource::<AppTypeRegistry>();
    world.resource::<AppTypeRegistry>().0.write().register::<Hauls>();
    let some = |world: &mut World| -> [Entity; 4] {
        core::array::from_fn(|number| world.spawn(Mass(number as u32)).id())
    };
    let known = some(&mut world);
    world.insert_resource(Moment(moment, Entity::PLACEHOLDER));
    let act = move |entity: Entity, moment: Option<ResMut<Moment>>, mut commands: Commands| {
        let Some(mut moment) = moment else { return };
        if moment.0 == 0 {
            commands.queue(move |world: &mut World| action(world, entity, known));
        }
        moment.0 = moment.0.wrapping_sub(1);
    };
    let observer = match of_insertions {
        true => world.add_observer(
            move |on: On<Insert<()>>, moment: Option<ResMut<Moment>>, commands: Commands| {
                act(on.entity, moment, commands);
            },
        ),
        false => {
            world.add_observer(move |on: On<Add<()>>, moment: Option<ResMut<Moment>>, commands: Commands| {
                act(on.entity, moment, commands);
            })
        }
    };
    let observer = observer.id();
    world.insert_resource(Moment(moment, observer));
    let mut acted = false;
    let failure = panic_message(|| {
        operation(&mut world, known);
        world.flush();
        acted = world.get_resource::<Moment>().is_some_and(|left| left.0 > moment);
        _ = world.try_despawn(observer);
        world.maintain_pairs();
        world.check_pairs().unwrap();
        let others = some(&mut world);
        operation(&mut world, others);
        world.flush();
        world.maintain_pairs();
        world.check_pairs().unwrap();
    });
    take_reported_errors();
    (acted, failure)
}

#[test]
fn whatever_observers_take_away_while_something_is_used_for_the_first_time_the_world_stays_usable() {
    let (mut acted, mut failures) = (0, Vec::new());
    for (name, operation) in OPERATIONS {
        for (action_name, action) in ACTIONS {
            for of_insertions in [false, true] {
                for moment in 0..if cfg!(miri) { 2 } else { 40 } {
                    let (has_acted, failure) = run(operation, action, of_insertions, moment);
                    failures.extend(failure.map(|failure| {
                        format!("{name}, {action_name}, {of_insertions}, moment {moment}: {failure}")
                    }));
                    if !has_acted {
                        break;
                    }
                    acted += 1;
                }
            }
        }
    }
    assert_eq!(failures, [""; 0]);
    assert!(acted > 3_000 || cfg!(miri), "{acted}");
}

/// Components that disable the entities that have them.
const MARKS: [fn(&mut EntityWorldMut<'_>); 3] = [
    |entity| _ = entity.insert(Disabled),
    |entity| _ = entity.insert(Prefab),
    |entity| _ = entity.insert(Hidden),
];

#[test]
fn relationships_of_entities_that_anything_disables_are_pairs_from_the_first_use_on() {
    for mark in MARKS {
        let mut world = world_that_records_errors();
        world.register_disabling_component::<Hidden>();
        let [child, parent, other] = spawn(&mut world);
        world.entity_mut(child).insert((ChildOf(parent), CrewOf(parent)));
        [child, parent].into_iter().for_each(|entity| mark(&mut world.entity_mut(entity)));
        assert!(world.has_pair::<ChildOf>(child, parent), "Bevy's component says so");
        world.insert_pair(other, Likes, other).unwrap();
        world.register_relation::<ChildOf>().unwrap();
        assert!(world.has_pair::<ChildOf>(child, parent));
        world.adopt_relationship::<CrewOf>();
        assert!(world.has_pair::<CrewOf>(child, parent));
        world.check_pairs().unwrap();
    }
}

#[test]
fn what_disabled_entities_were_given_while_observers_were_gone_is_made_up_for() {
    for mark in MARKS {
        let mut world = world_that_records_errors();
        world.register_disabling_component::<Hidden>();
        let [child, parent] = spawn(&mut world);
        world.register_relation::<ChildOf>().unwrap();
        let mut observers = world.query_filtered::<Entity, With<Observer>>();
        let observers: Vec<Entity> = observers.iter(&world).collect();
        observers.into_iter().for_each(|observer| _ = world.try_despawn(observer));
        [child, parent].into_iter().for_each(|entity| mark(&mut world.entity_mut(entity)));
        world.entity_mut(child).insert(ChildOf(parent));
        world.maintain_pairs();
        assert!(world.has_pair::<ChildOf>(child, parent));
        world.check_pairs().unwrap();
    }
}

/// The entity of a resource can be despawned as any other.
#[test]
fn what_was_disabled_below_is_enabled_when_its_causes_are_lost_whatever_else_disables_it() {
    let mut world = world_that_records_errors();
    world.register_disabling_component::<Hidden>();
    let [root, hidden, plain] = spawn(&mut world);
    world.insert_pair(hidden, Below, root).unwrap();
    world.insert_pair(plain, Below, root).unwrap();
    world.entity_mut(hidden).insert(Hidden);
    let resources = |world: &mut World| -> Vec<Entity> {
        world.query_filtered::<Entity, With<IsResource>>().iter(world).collect()
    };
    let before = resources(&mut world);
    world.disable_below::<Below>(root).unwrap();
    let is_disabled = |world: &World| [hidden, plain].map(|entity| world.get::<Disabled>(entity).is_some());
    assert_eq!(is_disabled(&world), [true; 2]);
    let new: Vec<Entity> =
        resources(&mut world).into_iter().filter(|entity| !before.contains(entity)).collect();
    assert_eq!(new.len(), 1);
    world.despawn(new[0]);
    assert_eq!(is_disabled(&world), [false; 2]);
}
