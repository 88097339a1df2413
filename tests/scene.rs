//! Pairs in `bsn!`.

use bevy_app::{App, TaskPoolPlugin};
use bevy_asset::{
    AssetApp, AssetLoader, AssetPlugin, AssetServer, Assets, LoadContext,
    io::{
        AssetSourceBuilder, AssetSourceId, Reader,
        memory::{Dir, MemoryAssetReader},
    },
};
use bevy_ecs::{
    error::{BevyError, ErrorContext, FallbackErrorHandler, Severity},
    prelude::*,
    template::{EntityTemplate, template},
};
use bevy_relations::{
    bundle::TypeTarget,
    prelude::*,
    scene::{SourcesOf, pair, pair_by_id, pair_value_by_id},
};
use bevy_scene::{Ready, ScenePatch, ScenePlugin, prelude::*};
use core::cell::RefCell;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
};

#[derive(Relation, Clone)]
struct Likes;

#[derive(Relation, Clone, PartialEq, Debug)]
struct Owes(u32);

#[derive(Relation, Clone)]
#[relation(exclusive, acyclic)]
struct DockedTo;

#[derive(Relation)]
struct MountedOn;

#[derive(Relation, Clone)]
#[relation(source(Ship), target(Station))]
struct Serves;

#[derive(Component, Default, Clone)]
struct Ship;

#[derive(Component, Default, Clone)]
struct Station;

thread_local! {
    static ERRORS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// An app whose error handler records what it is given for [`take_errors`].
fn app() -> App {
    fn record(error: BevyError, _: ErrorContext) {
        assert_eq!(error.severity(), Severity::Error);
        ERRORS.with_borrow_mut(|errors| errors.push(error.to_string()));
    }
    take_errors();
    let mut app = App::new();
    app.add_plugins((TaskPoolPlugin::default(), AssetPlugin::default(), ScenePlugin, RelationsPlugin));
    app.insert_resource(FallbackErrorHandler(record));
    app
}

fn take_errors() -> Vec<String> {
    ERRORS.take()
}

fn named(world: &mut World, name: &str) -> Entity {
    let mut names = world.query::<(Entity, &Name)>();
    let mut found = names.iter(world).filter(|(_, found)| found.as_str() == name).map(|(entity, _)| entity);
    let entity = found.next().unwrap_or_else(|| panic!("no entity {name}"));
    assert_eq!(found.next(), None, "several are named {name}");
    entity
}

fn targets<R: Relation>(world: &World, source: Entity) -> Vec<Entity> {
    world.pairs::<R>().targets(source).collect()
}

#[test]
fn an_entity_of_a_scene_has_several_pairs_of_one_relation_with_values() {
    let mut app = app();
    let world = app.world_mut();
    let bank = world.spawn_empty().id();
    let debt = 2;
    let scene = bsn_list! {
        #Ann
        @pair(Likes, #Ben)
        @pair(Owes(7), #Ben)
        @pair(Owes(debt * 4), bank)
        Ship
        @pair(Likes, bank)
        @pair(Likes, #Ann)
        --
        #Ben
    };
    let [ann, ben] = world.spawn_scene_list(scene).unwrap()[..] else { unreachable!() };
    assert_eq!(targets::<Likes>(world, ann), [ben, bank, ann]);
    assert_eq!(targets::<Owes>(world, ann), [ben, bank]);
    assert_eq!(world.pair_value::<Owes>(ann, ben), Some(&Owes(7)));
    assert_eq!(world.pair_value::<Owes>(ann, bank), Some(&Owes(8)));
    assert!(take_errors().is_empty());
    assert!(world.check_pairs().is_ok());
}

#[test]
fn arrays_and_vectors_are_a_pair_for_each_target() {
    let mut app = app();
    let world = app.world_mut();
    let others: Vec<Entity> = (0..3).map(|_| world.spawn_empty().id()).collect();
    let rest = others.clone();
    let scene = bsn! {
        #Ann
        @pair(Owes(1), [#Ben, #Cy])
        @pair(Owes(2), rest)
        Children [ #Cy -- #Ben ]
    };
    let ann = world.spawn_scene(scene).unwrap().id();
    let [ben, cy] = ["Ben", "Cy"].map(|name| named(world, name));
    assert_eq!(targets::<Owes>(world, ann), [[ben, cy].as_slice(), &others].concat());
    assert_eq!(world.pair_value::<Owes>(ann, cy), Some(&Owes(1)));
    assert_eq!(world.pair_value::<Owes>(ann, others[2]), Some(&Owes(2)));
}

#[test]
fn names_are_found_up_and_down_and_before_they_are_spawned() {
    let mut app = app();
    let world = app.world_mut();
    let scene = bsn! {
        #Root
        @pair(Likes, #Leaf)
        Children [
            #First
            @pair(Likes, #Last)
            Children [ #Leaf @pair(Likes, #Root) @pair(DockedTo, #Last) ]
            --
            #Last
            @pair(Likes, [#First, #Leaf])
        ]
    };
    world.spawn_scene(scene).unwrap();
    let [root, first, leaf, last] = ["Root", "First", "Leaf", "Last"].map(|name| named(world, name));
    assert_eq!(targets::<Likes>(world, root), [leaf]);
    assert_eq!(targets::<Likes>(world, first), [last]);
    assert_eq!(targets::<Likes>(world, leaf), [root]);
    assert_eq!(targets::<DockedTo>(world, leaf), [last]);
    assert_eq!(targets::<Likes>(world, last), [first, leaf]);
    assert_eq!(targets::<ChildOf>(world, leaf), [first]);
    assert!(take_errors().is_empty());
}

fn couple() -> impl SceneList {
    bsn_list! { #Ann @pair(Likes, #Ben) -- #Ben @pair(Likes, #Ann) }
}

#[test]
fn every_spawn_of_a_scene_has_entities_of_its_own() {
    let mut app = app();
    let world = app.world_mut();
    let couples = [(); 2].map(|()| world.spawn_scene_list(couple()).unwrap());
    // A scene that is resolved once and spawned twice.
    let assets = world.resource::<AssetServer>();
    let mut patch = ScenePatch::load(assets, bsn! { #Cy @pair(Likes, #Dan) Children [ #Dan ] });
    patch.resolve(assets, world.resource::<Assets<ScenePatch>>()).unwrap();
    let parents = [(); 2].map(|()| patch.spawn(world).unwrap().id());
    for couple in couples {
        assert_eq!(targets::<Likes>(world, couple[0]), [couple[1]]);
        assert_eq!(targets::<Likes>(world, couple[1]), [couple[0]]);
    }
    for parent in parents {
        assert_eq!(targets::<Likes>(world, parent), world.get::<Children>(parent).unwrap()[..]);
    }
}

#[test]
fn an_included_scene_adds_its_pairs_and_a_later_target_replaces_an_exclusive_one() {
    fn friend_of(friend: impl Into<EntityTemplate>) -> impl Scene {
        let friend = friend.into();
        bsn! { #Own @pair(Likes, friend) @pair(Likes, #Own) @pair(DockedTo, friend) }
    }
    let mut app = app();
    let world = app.world_mut();
    let dock = world.spawn_empty().id();
    let scene = bsn! {
        #Ann
        @friend_of(#Ben)
        @pair(Likes, dock)
        @pair(DockedTo, dock)
        Children [ #Ben @friend_of(dock) ]
    };
    let ann = world.spawn_scene(scene).unwrap().id();
    let ben = world.get::<Children>(ann).unwrap()[0];
    assert_eq!(targets::<Likes>(world, ann), [ben, ann, dock]);
    assert_eq!(targets::<DockedTo>(world, ann), [dock]);
    assert_eq!(targets::<Likes>(world, ben), [dock, ben]);
    assert_eq!(targets::<DockedTo>(world, ben), [dock]);
    assert!(take_errors().is_empty());
}

/// Makes a scene of every file.
#[derive(bevy_reflect::TypePath)]
struct BaseLoader;

impl AssetLoader for BaseLoader {
    type Asset = ScenePatch;
    type Settings = ();
    type Error = std::io::Error;

    async fn load(
        &self,
        _: &mut dyn Reader,
        (): &(),
        context: &mut LoadContext<'_>,
    ) -> Result<ScenePatch, std::io::Error> {
        Ok(ScenePatch::load_with(context, bsn! { Ship @pair(Owes(1), #Below) Children [ #Below ] }))
    }
}

#[test]
fn a_scene_of_an_asset_keeps_its_pairs_when_it_is_included() {
    let mut app = App::new();
    let files = Dir::default();
    files.insert_asset_text(Path::new("base.bsn"), "");
    app.register_asset_source(
        AssetSourceId::Default,
        AssetSourceBuilder::new(move || Box::new(MemoryAssetReader { root: files.clone() })),
    );
    app.add_plugins((TaskPoolPlugin::default(), AssetPlugin::default(), ScenePlugin, RelationsPlugin));
    app.finish();
    app.cleanup();
    app.register_asset_loader(BaseLoader);
    let assets = app.world().resource::<AssetServer>().clone();
    let handle = assets.load::<ScenePatch>("base.bsn");
    while !assets.is_loaded(&handle) {
        app.update();
    }
    let world = app.world_mut();
    let bank = world.spawn_empty().id();
    for _ in 0..2 {
        let unchanged = world.spawn_scene(bsn! { :"base.bsn" Station }).unwrap().id();
        let patched = world.spawn_scene(bsn! { :"base.bsn" @pair(Owes(2), bank) }).unwrap().id();
        let below = [unchanged, patched].map(|entity| world.get::<Children>(entity).unwrap()[0]);
        assert_eq!(targets::<Owes>(world, unchanged), [below[0]]);
        assert_eq!(targets::<Owes>(world, patched), [below[1], bank]);
        assert_eq!(world.pair_value::<Owes>(patched, below[1]), Some(&Owes(1)));
    }
}

#[test]
fn queued_scenes_and_those_of_commands_have_pairs_too() {
    let mut app = app();
    let world = app.world_mut();
    let port = world.spawn_empty().id();
    world.queue_spawn_scene_list(bsn_list! { #Ann @pair(Likes, #Ben) -- #Ben @pair(Likes, port) });
    world.commands().spawn_scene(bsn! { #Cy @pair(DockedTo, port) });
    world.flush();
    let dan = world.spawn(Name::new("Dan")).id();
    world.entity_mut(dan).apply_scene(bsn! { @pair(DockedTo, port) @pair(Likes, port) }).unwrap();
    app.update();
    let world = app.world_mut();
    let [ann, ben, cy] = ["Ann", "Ben", "Cy"].map(|name| named(world, name));
    assert_eq!(targets::<Likes>(world, ann), [ben]);
    assert_eq!(world.pairs::<DockedTo>().sources(port).collect::<Vec<_>>(), [cy, dan]);
    assert_eq!(world.pairs::<Likes>().sources(port).count(), 2);
    assert!(take_errors().is_empty());
}

#[test]
fn a_list_of_sources_is_spawned_beside_its_target() {
    let mut app = app();
    let world = app.world_mut();
    let scene = bsn! {
        #Tower
        @pair(Likes, #Radar)
        SourcesOf<MountedOn> [
            #Gun Ship @pair(Likes, #Radar)
            --
            #Radar
            SourcesOf<MountedOn> [ #Dish ]
            Children [ #Screen ]
        ]
        SourcesOf<DockedTo> [ #Boat ]
    };
    let tower = world.spawn_scene(scene).unwrap().id();
    let [gun, radar, dish, boat] = ["Gun", "Radar", "Dish", "Boat"].map(|name| named(world, name));
    assert_eq!(world.pairs::<MountedOn>().sources(tower).collect::<Vec<_>>(), [gun, radar]);
    assert_eq!(world.pairs::<MountedOn>().sources(radar).collect::<Vec<_>>(), [dish]);
    assert_eq!(targets::<DockedTo>(world, boat), [tower]);
    assert_eq!([tower, gun].map(|source| targets::<Likes>(world, source)), [vec![radar], vec![radar]]);
    assert_eq!(world.get::<ChildOf>(gun), None);
    assert!(take_errors().is_empty());
    // It goes with its target as any other pair.
    world.despawn(tower);
    assert!(world.get_entity(gun).is_ok());
    assert!(targets::<MountedOn>(world, gun).is_empty());
}

#[test]
fn scenes_leave_no_components_behind_but_those_that_they_name() {
    let mut app = app();
    let world = app.world_mut();
    let scene = bsn! { #Tower @pair(Likes, #Gun) SourcesOf<MountedOn> [ #Gun @pair(Likes, #Tower) ] };
    world.spawn_scene(scene).unwrap();
    for name in ["Tower", "Gun"] {
        let entity = named(world, name);
        let names: Vec<_> =
            world.inspect_entity(entity).unwrap().map(|(_, info)| info.name().to_string()).collect();
        assert!(!names.iter().any(|name| name.contains("::scene::")), "{names:?}");
    }
}

#[test]
fn related_scenes_may_be_queued_for_a_target_that_is_there() {
    let mut app = app();
    let tower = app.world_mut().spawn(Ship).id();
    app.world_mut()
        .entity_mut(tower)
        .queue_spawn_related_scenes::<SourcesOf<MountedOn>>(bsn_list! { #Gun -- #Radar });
    app.update();
    let world = app.world_mut();
    let guns = ["Gun", "Radar"].map(|name| named(world, name));
    assert_eq!(world.pairs::<MountedOn>().sources(tower).collect::<Vec<_>>(), guns);
}

#[test]
fn a_source_in_a_list_may_give_its_value_and_else_needs_a_default() {
    #[derive(Relation, Clone, Default, PartialEq, Debug)]
    struct Socket(u32);

    let mut app = app();
    let world = app.world_mut();
    let scene = bsn! {
        #Bank
        SourcesOf<Owes> [ #Ann -- #Ben @pair(Owes(3), #Bank) ]
        SourcesOf<Socket> [ #Gun -- #Radar @pair(Socket(2), #Bank) ]
    };
    let bank = world.spawn_scene(scene).unwrap().id();
    let [ben, gun, radar] = ["Ben", "Gun", "Radar"].map(|name| named(world, name));
    assert_eq!(world.pairs::<Owes>().sources(bank).collect::<Vec<_>>(), [ben]);
    assert_eq!(world.pair_value::<Owes>(ben, bank), Some(&Owes(3)));
    assert_eq!(world.pair_value::<Socket>(gun, bank), Some(&Socket(0)));
    assert_eq!(world.pair_value::<Socket>(radar, bank), Some(&Socket(2)));
    let errors = take_errors();
    assert!(errors.len() == 1 && errors[0].contains("Owes") && errors[0].contains("Ann"), "{errors:?}");
}

#[test]
fn relations_of_run_time_and_types_are_targets_and_relations() {
    let mut app = app();
    let world = app.world_mut();
    let traits = RelationTraits::new().exclusive();
    let docked_to = world.spawn_relation("DockedTo", traits).unwrap();
    let fee = world.spawn_relation("Fee", RelationTraits::new().data::<Owes>()).unwrap();
    let scene = bsn! {
        #Boat
        @pair_by_id(docked_to, #Pier)
        @pair_by_id(#Admires, #Pier)
        @pair_value_by_id(fee, #Pier, Owes(5))
        @pair(Likes, TypeTarget(Ship))
        @pair(Owes(9), TypeTarget(Station))
        Children [ #Pier -- #Admires ]
    };
    let boat = world.spawn_scene(scene).unwrap().id();
    let [pier, admires] = ["Pier", "Admires"].map(|name| named(world, name));
    assert!(world.has_pair_by_id(boat, (docked_to, pier)));
    assert!(world.has_pair_by_id(boat, (admires, pier)));
    assert_eq!(world.pair_value_by_id::<Owes>(boat, (fee, pier)), Some(&Owes(5)));
    let [ship, station] = [world.entity_of::<Ship>(), world.entity_of::<Station>()];
    assert!(world.has_pair::<Likes>(boat, ship));
    assert_eq!(world.pair_value::<Owes>(boat, station), Some(&Owes(9)));
    assert!(take_errors().is_empty());
}

#[test]
fn an_observer_of_a_pair_sees_the_components_of_its_source() {
    #[derive(Resource, Default)]
    struct Seen(Vec<&'static str>);

    let mut app = app();
    let world = app.world_mut();
    world.init_resource::<Seen>();
    world.add_observer(
        |on: On<PairInserted<Likes>>, ships: Query<(), With<Ship>>, mut seen: ResMut<Seen>| {
            assert!(ships.contains(on.event().source));
            seen.0.push("pair");
        },
    );
    world.add_observer(|_: On<Ready>, mut seen: ResMut<Seen>| seen.0.push("ready"));
    // Bevy spawns the observer before it inserts a component.
    let scene = bsn! {
        @pair(Likes, #Ben)
        on(|_: On<Ready>, mut seen: ResMut<Seen>| seen.0.push("own"))
        Ship
        Children [ #Ben ]
    };
    world.spawn_scene(scene).unwrap();
    assert_eq!(world.resource::<Seen>().0[..2], ["pair", "ready"]);
}

#[test]
fn a_target_may_get_the_component_that_it_must_have_later_in_the_scene() {
    let mut app = app();
    let world = app.world_mut();
    let scene = bsn_list! {
        #Tug @pair(Serves, #Port) Ship
        --
        #Raft @pair(Serves, #Reef) Ship
        --
        #Port Station
        --
        #Reef
    };
    let [tug, raft, port, _] = world.spawn_scene_list(scene).unwrap()[..] else { unreachable!() };
    assert!(take_errors().is_empty());
    app.update();
    assert_eq!(targets::<Serves>(app.world(), tug), [port]);
    assert!(targets::<Serves>(app.world(), raft).is_empty());
    let errors = take_errors();
    assert!(
        errors.len() == 1 && errors[0].contains("Station") && errors[0].contains("scene.rs"),
        "{errors:?}"
    );
}

#[test]
fn a_dead_or_foreign_target_is_refused_and_reported_and_the_other_pairs_are_there() {
    let mut app = app();
    let world = app.world_mut();
    let [dead, alive] = [(); 2].map(|()| world.spawn_empty().id());
    world.despawn(dead);
    let mut other = World::new();
    let foreign = (0..2000).map(|_| other.spawn_empty().id()).last().unwrap();
    let scene = bsn! {
        #Ann
        @pair(Likes, dead)
        @pair(Owes(1), foreign)
        @pair_by_id(dead, alive)
        @pair(Likes, [alive, foreign])
    };
    let ann = world.spawn_scene(scene).unwrap().id();
    assert_eq!(targets::<Likes>(world, ann), [alive]);
    assert!(targets::<Owes>(world, ann).is_empty());
    assert!(world.check_pairs().is_ok());
    let errors = take_errors();
    assert_eq!(errors.len(), 4, "{errors:?}");
    assert!(errors.iter().all(|error| error.starts_with("tests/scene.rs:")), "{errors:?}");
    assert!(errors[0].contains("Likes") && errors[0].contains("Ann"), "{errors:?}");
}

#[test]
fn what_a_rule_refuses_is_reported_and_the_scene_is_spawned() {
    let mut app = app();
    let world = app.world_mut();
    let scene = bsn_list! {
        #A @pair(DockedTo, #B) -- #B @pair(DockedTo, #C) -- #C @pair(DockedTo, #A) @pair(Likes, #A)
    };
    let [a, b, c] = world.spawn_scene_list(scene).unwrap()[..] else { unreachable!() };
    assert_eq!([a, b, c].map(|ship| targets::<DockedTo>(world, ship)), [vec![b], vec![c], vec![]]);
    assert_eq!(targets::<Likes>(world, c), [a]);
    let errors = take_errors();
    assert!(errors.len() == 1 && errors[0].contains("cycle"), "{errors:?}");
}

#[test]
fn a_target_that_was_not_given_fails_the_scene_and_leaves_nothing() {
    let mut app = app();
    let world = app.world_mut();
    let missing = EntityTemplate::None;
    let before = world.entities().count_spawned();
    assert!(world.spawn_scene(bsn! { #Ann Ship @pair(Likes, missing) }).is_err());
    assert_eq!(world.entities().count_spawned(), before);
    assert!(world.check_pairs().is_ok());
}

#[test]
fn a_template_may_despawn_the_target_of_a_pair() {
    let mut app = app();
    let world = app.world_mut();
    let target = world.spawn_empty().id();
    let scene = bsn! {
        #Ann
        @pair(Likes, target)
        @pair(Likes, #Ann)
        template(move |context| {
            context.entity.world_scope(|world| world.despawn(target));
            Ok(Ship)
        })
        SourcesOf<MountedOn> [ #Gun ]
    };
    let ann = world.spawn_scene(scene).unwrap().id();
    assert_eq!(targets::<Likes>(world, ann), [ann]);
    assert_eq!(world.pairs::<MountedOn>().source_count(ann), 1);
    assert_eq!(take_errors().len(), 1);
}

#[test]
fn an_observer_may_despawn_the_source_before_or_between_its_pairs() {
    let mut app = app();
    let world = app.world_mut();
    let target = world.spawn_empty().id();
    world.add_observer(|on: On<Add<Ship>>, mut commands: Commands| commands.entity(on.entity).despawn());
    world.add_observer(|on: On<PairInserted<Owes>>, mut commands: Commands| {
        commands.entity(on.event().source).despawn();
    });
    let scene = bsn! {
        SourcesOf<MountedOn> [
            #First Ship @pair(Likes, target)
            --
            #Second @pair(Likes, target) @pair(Owes(1), target) @pair(Likes, #Second)
        ]
    };
    let tower = world.spawn_scene(scene).unwrap().id();
    assert_eq!(world.pairs::<Likes>().source_count(target), 0);
    assert_eq!(world.pairs::<MountedOn>().source_count(tower), 0);
    assert!(world.check_pairs().is_ok());
    assert_eq!(take_errors().len(), 1, "the pair after the one whose observer despawned its source");
}

#[test]
fn values_are_dropped_once_whether_their_scene_is_spawned_or_fails() {
    #[derive(Relation, Clone)]
    struct Holds(#[expect(dead_code, reason = "counts what lives")] Arc<()>);

    let mut app = app();
    let world = app.world_mut();
    let target = world.spawn_empty().id();
    let value = Arc::new(());
    let (spawned, failing) = (value.clone(), value.clone());
    let (missing, dead) = (EntityTemplate::None, world.spawn_empty().id());
    world.despawn(dead);
    let source = world.spawn_scene(bsn! { @pair(Holds(spawned), [target, dead]) }).unwrap().id();
    assert_eq!(Arc::strong_count(&value), 3, "here, in the other scene, and in the pair");
    assert!(world.spawn_scene(bsn! { @pair(Holds(failing), target) @pair(Likes, missing) }).is_err());
    assert_eq!(Arc::strong_count(&value), 2);
    world.despawn(source);
    assert_eq!(Arc::strong_count(&value), 1);
    assert_eq!(take_errors().len(), 1);
}

#[test]
fn a_template_that_despawns_its_own_entity_leaves_no_pair() {
    let mut app = app();
    let world = app.world_mut();
    let target = world.spawn_empty().id();
    let scene = bsn! {
        @pair(Likes, target)
        template(|context| {
            let source = context.entity.id();
            context.entity.world_scope(|world| world.despawn(source));
            Ok(Ship)
        })
    };
    // Bevy panics: it has components to insert.
    catch_unwind(AssertUnwindSafe(|| drop(world.spawn_scene(scene).map(|entity| entity.id())))).unwrap_err();
    assert_eq!(world.pairs::<Likes>().source_count(target), 0);
    assert!(world.check_pairs().is_ok());
    let source = world.spawn_scene(bsn! { @pair(Likes, target) }).unwrap().id();
    assert_eq!(targets::<Likes>(world, source), [target]);
}
