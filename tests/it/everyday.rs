//! What most programs want, from a user's point of view: kinds with variants, a saved game, replication, an inventory, an
//! inspector. Each is written with the public interface alone, as the book describes it.

use bevy_app::prelude::*;
use bevy_ecs::{entity::EntityHashMap, prelude::*, reflect::AppTypeRegistry};
use bevy_reflect::prelude::*;
use bevy_relations::{
    expr::{PairExpr, RowSerializer},
    mirror::{MirroredPairs, RuntimeMirroredPairs, WorldMirrorExt},
    prefab::{CommandsPrefabExt, Prefab, SlotOf},
    prelude::*,
    query::Inherited,
    relation::OnInstantiate,
    snapshot::{PairFilter, PairSnapshot, SaveId, SavedPairsDeserializer, SavedPairsSerializer},
    world::WorldInheritanceExt,
};
use serde::de::DeserializeSeed;

// Prefabs and variants.

#[derive(Component, Clone, PartialEq, Debug)]
struct Health(u32);

#[derive(Component, Clone, PartialEq, Debug)]
struct Armor(u32);

#[derive(Component, Clone, PartialEq, Debug)]
struct Caliber(u32);

#[derive(Resource)]
struct Kinds {
    frigate: Entity,
    heavy: Entity,
    turret: Entity,
}

fn make_kinds(mut commands: Commands) {
    let frigate = commands.spawn((Name::new("Frigate"), Prefab, Health(100), Armor(50))).id();
    let turret =
        commands.spawn((Name::new("turret"), Caliber(20), ChildOf(frigate), Pair(SlotOf, frigate))).id();
    let heavy = commands.spawn((Name::new("Heavy"), Prefab, Health(300), Pair(IsA, frigate))).id();
    commands.insert_resource(Kinds { frigate, heavy, turret });
}

/// A variant changes a part that it inherits: a heavy frigate has bigger guns.
fn change_variant(kinds: Res<Kinds>, slots: AnyPairs, mut commands: Commands) {
    let own = slots.relation(kinds.turret).target(kinds.heavy).expect("the variant has a turret");
    commands.entity(own).insert(Caliber(40));
}

fn launch(kinds: Res<Kinds>, mut commands: Commands) {
    commands.instantiate(kinds.heavy).insert(Name::new("Ada"));
    commands.spawn((Name::new("Bea"), Health(7), Pair(IsA, kinds.frigate)));
    // Each with a pair of its own.
    commands.instantiate_batch(kinds.frigate, 3);
}

#[test]
fn prefabs_in_an_app() {
    let mut app = App::new();
    app.add_plugins(RelationsPlugin).add_systems(Startup, (make_kinds, change_variant, launch).chain());
    let armor = app.world_mut().entity_of::<Armor>();
    app.world_mut().set_traits(armor, RelationTraits::new().on_instantiate(OnInstantiate::Inherit)).unwrap();
    app.update();
    let world = app.world_mut();
    let kinds = world.resource::<Kinds>();
    let (frigate, heavy, turret) = (kinds.frigate, kinds.heavy, kinds.turret);

    let ada = world.lookup("Ada").unwrap();
    let bea = world.lookup("Bea").unwrap();
    let mut ships = world.query::<(&Health, Inherited<&Armor>)>();
    assert_eq!(ships.get(world, ada).unwrap(), (&Health(300), &Armor(50)));
    assert_eq!(ships.get(world, bea).unwrap(), (&Health(7), &Armor(50)));
    assert_eq!(ships.iter(world).count(), 5);

    // A shared component changes for all.
    world.get_mut::<Armor>(frigate).unwrap().0 = 60;
    assert_eq!(world.get_inherited::<Armor>(ada), Some(&Armor(60)));

    // The variant's gun.
    let gun = world.lookup("Ada.turret").unwrap();
    assert_eq!(world.get::<Caliber>(gun), Some(&Caliber(40)));
    assert_eq!(world.get::<Caliber>(world.lookup("Bea.turret").unwrap()), Some(&Caliber(20)));
    assert_eq!(world.pairs_by_id(turret).target(ada), Some(gun));

    // Everything that is a frigate, of a variant or not.
    let mut expr = PairExpr::parse("(IsA, Frigate)").unwrap().compile(world).unwrap();
    assert_eq!(expr.count(world).unwrap(), 5);
    let direct: Vec<Entity> = world.pairs::<IsA>().sources(frigate).collect();
    assert_eq!(direct.len(), 5, "heavy, Bea, and three");
    let all: Vec<(Entity, u32)> = world.pairs::<IsA>().descendants(frigate).collect();
    assert_eq!(all.len(), 6, "and Ada");
    assert!(world.has_pair::<IsA>(ada, heavy));
    assert!(!world.has_pair::<IsA>(ada, frigate), "only the pairs that were inserted");

    // An instance of two prefabs has the children of both, and keeps what it has.
    world.insert_pair(bea, IsA, heavy).unwrap();
    assert_eq!(world.get::<Health>(bea), Some(&Health(7)));
    assert_eq!(world.get::<Children>(bea).map_or(0, RelationshipTarget::len), 2);
}

// Saving and loading.

#[derive(Relation, Reflect, Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
struct Owes {
    gold: u32,
}

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
#[relation(exclusive, traversable)]
struct ServesUnder;

#[derive(Component, Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
struct Purse(u32);

fn game() -> App {
    let mut app = App::new();
    app.add_plugins(RelationsPlugin)
        .register_type::<Owes>()
        .register_relation::<Owes>()
        .register_relation::<ServesUnder>();
    app
}

/// The components, by `SaveId`; the pairs by `SavedPairs`.
fn save(world: &mut World) -> (String, String) {
    let pairs = PairSnapshot::take(world, PairFilter::all()).unwrap().to_saved(world).unwrap();
    let types = world.resource::<AppTypeRegistry>().clone();
    let pairs = ron::to_string(&SavedPairsSerializer::new(&pairs, &types.read())).unwrap();
    let mut purses = world.query::<(&SaveId, &Purse)>();
    let purses: Vec<(u64, Purse)> = purses.iter(world).map(|(id, purse)| (id.0, purse.clone())).collect();
    (pairs, ron::to_string(&purses).unwrap())
}

fn load(world: &mut World, pairs: &str, purses: &str) {
    let types = world.resource::<AppTypeRegistry>().clone();
    let mut file = ron::Deserializer::from_str(pairs).unwrap();
    let saved = SavedPairsDeserializer::new(&types.read()).deserialize(&mut file).unwrap();
    saved.load(world).unwrap();
    let purses: Vec<(u64, Purse)> = ron::from_str(purses).unwrap();
    let mut ids = world.query::<(Entity, &SaveId)>();
    let ids: Vec<(u64, Entity)> = ids.iter(world).map(|(entity, id)| (id.0, entity)).collect();
    for (id, purse) in purses {
        let entity = ids.iter().find(|(known, _)| *known == id).unwrap().1;
        world.entity_mut(entity).insert(purse);
    }
}

#[test]
fn save_and_load() {
    let mut app = game();
    let world = app.world_mut();
    let ann = world.spawn((Name::new("Ann"), SaveId(1), Purse(3))).id();
    let ben = world.spawn((Name::new("Ben"), SaveId(2), Purse(9))).id();
    world.insert_pair(ann, Owes { gold: 5 }, ben).unwrap();
    world.insert_pair(ben, ServesUnder, ann).unwrap();
    world.spawn((Name::new("cabin"), SaveId(3), ChildOf(ann)));
    let (pairs, purses) = save(world);

    let mut other = game();
    load(other.world_mut(), &pairs, &purses);
    let world = other.world_mut();
    let (ann, ben) = (world.lookup("Ann").unwrap(), world.lookup("Ben").unwrap());
    assert_eq!(world.pair_value::<Owes>(ann, ben), Some(&Owes { gold: 5 }));
    assert_eq!(world.get::<Purse>(ann), Some(&Purse(3)));
    assert_eq!(world.get::<ChildOf>(world.lookup("Ann.cabin").unwrap()).unwrap().parent(), ann);
}

#[test]
fn saving_without_registering_says_so() {
    let mut app = App::new();
    app.add_plugins(RelationsPlugin);
    let world = app.world_mut();
    let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
    world.insert_pair(ann, Owes { gold: 5 }, ben).unwrap();
    let snapshot = PairSnapshot::take(world, PairFilter::all()).unwrap();
    let error = snapshot.to_saved(world).unwrap_err();
    assert!(error.to_string().contains("`register_type`"), "{error}");
}

#[test]
fn loading_without_registering_the_relation_says_so() {
    let mut app = game();
    let world = app.world_mut();
    let [ann, ben] = [(); 2].map(|()| world.spawn_empty().id());
    world.insert_pair(ann, ServesUnder, ben).unwrap();
    let (pairs, _) = save(world);
    let mut other = App::new();
    other.add_plugins(RelationsPlugin);
    let world = other.world_mut();
    let types = world.resource::<AppTypeRegistry>().clone();
    let mut file = ron::Deserializer::from_str(&pairs).unwrap();
    let saved = SavedPairsDeserializer::new(&types.read()).deserialize(&mut file).unwrap();
    let error = saved.load(world).unwrap_err();
    assert!(error.to_string().contains("pairs of `ServesUnder`, and no relation of that name"), "{error}");
}

#[test]
fn a_quick_save_is_loaded_into_the_same_world() {
    let mut app = game();
    let world = app.world_mut();
    let [ann, ben] =
        [("Ann", 1), ("Ben", 2)].map(|(name, id)| world.spawn((Name::new(name), SaveId(id), Purse(1))).id());
    world.insert_pair(ann, Owes { gold: 5 }, ben).unwrap();
    let (pairs, purses) = save(world);
    world.remove_pairs::<Owes>(ann);
    load(world, &pairs, &purses);
    assert!(world.has_pair::<Owes>(ann, ben));
    assert_eq!(world.query::<&Name>().iter(world).filter(|name| name.as_str() == "Ann").count(), 1);
}

// Replication.

#[derive(Resource, Default)]
struct Wire(Vec<Message>);

#[derive(serde::Serialize, serde::Deserialize)]
enum Message {
    Set(Entity, MirroredPairs<Owes>),
    Gone(Entity),
}

fn send(
    changed: Query<(Entity, &MirroredPairs<Owes>), Changed<MirroredPairs<Owes>>>,
    mut gone: RemovedComponents<MirroredPairs<Owes>>,
    mut wire: ResMut<Wire>,
) {
    for (entity, pairs) in &changed {
        wire.0.push(Message::Set(entity, pairs.clone()));
    }
    for entity in gone.read() {
        wire.0.push(Message::Gone(entity));
    }
}

fn receive(client: &mut World, map: &mut EntityHashMap<Entity>, text: &str) {
    let messages: Vec<Message> = ron::from_str(text).unwrap();
    for message in messages {
        match message {
            Message::Set(entity, mut pairs) => {
                let here = *map.entry(entity).or_insert_with(|| client.spawn_empty().id());
                for target in pairs.targets().collect::<Vec<_>>() {
                    map.entry(target).or_insert_with(|| client.spawn_empty().id());
                }
                <MirroredPairs<Owes> as Component>::map_entities(&mut pairs, map);
                client.entity_mut(here).insert(pairs);
            }
            Message::Gone(entity) => {
                if let Some(&here) = map.get(&entity) {
                    client.entity_mut(here).remove::<MirroredPairs<Owes>>();
                }
            }
        }
    }
}

#[test]
fn replication() {
    let mut server = game();
    server.init_resource::<Wire>().add_systems(Last, send);
    server.world_mut().mirror_pairs::<Owes>().unwrap();
    let mut client = game();
    client.world_mut().mirror_pairs::<Owes>().unwrap();
    let mut map = EntityHashMap::default();
    let frame = |server: &mut App, client: &mut App, map: &mut EntityHashMap<Entity>| {
        server.update();
        let text =
            ron::to_string(&core::mem::take(&mut server.world_mut().resource_mut::<Wire>().0)).unwrap();
        receive(client.world_mut(), map, &text);
        client.update();
    };
    let [ann, ben, cy] = [(); 3].map(|()| server.world_mut().spawn_empty().id());
    server.world_mut().insert_pair(ann, Owes { gold: 5 }, ben).unwrap();
    frame(&mut server, &mut client, &mut map);
    assert_eq!(client.world().pair_value::<Owes>(map[&ann], map[&ben]), Some(&Owes { gold: 5 }));

    server.world_mut().insert_pair(ann, Owes { gold: 1 }, cy).unwrap();
    server.world_mut().remove_pair::<Owes>(ann, ben);
    frame(&mut server, &mut client, &mut map);
    assert!(client.world().pairs::<Owes>().targets(map[&ann]).eq([map[&cy]]));

    // What is written in place arrives a frame later.
    server.add_systems(Update, |mut owes: PairsMut<Owes>| owes.for_each_mut(|_, _, mut owes| owes.gold += 1));
    frame(&mut server, &mut client, &mut map);
    frame(&mut server, &mut client, &mut map);
    assert_eq!(client.world().pair_value::<Owes>(map[&ann], map[&cy]), Some(&Owes { gold: 2 }));

    server.world_mut().despawn(cy);
    frame(&mut server, &mut client, &mut map);
    assert!(client.world().pairs::<Owes>().is_empty());
}

// An inventory.

#[derive(Relation, Reflect, Clone, Copy, PartialEq, Debug)]
struct Carries {
    count: u32,
}

/// Adds to a stack, or starts one.
fn pick_up(world: &mut World, who: Entity, item: Entity, count: u32) {
    let now = world.pair_value::<Carries>(who, item).map_or(0, |stack| stack.count);
    world.insert_pair(who, Carries { count: now + count }, item).unwrap();
}

fn drink(mut stacks: PairsMut<Carries>, mut commands: Commands) {
    let mut empty = Vec::new();
    stacks.for_each_mut(|who, item, mut stack| {
        stack.count -= 1;
        if stack.count == 0 {
            empty.push((who, item));
        }
    });
    for (who, item) in empty {
        commands.entity(who).remove_pair::<Carries>(item);
    }
}

fn rich(owners: Query<(Entity, Targets<Carries>)>) -> usize {
    owners
        .iter()
        .filter(|(_, stacks)| stacks.with_values().map(|(_, stack)| stack.count).sum::<u32>() > 2)
        .count()
}

#[test]
fn inventory() {
    let mut world = World::new();
    let [hero, potion, arrow] = [(); 3].map(|()| world.spawn_empty().id());
    pick_up(&mut world, hero, potion, 1);
    pick_up(&mut world, hero, arrow, 2);
    pick_up(&mut world, hero, arrow, 2);
    assert_eq!(world.pair_value::<Carries>(hero, arrow), Some(&Carries { count: 4 }));
    assert_eq!(world.run_system_cached(rich).unwrap(), 1);
    world.run_system_cached(drink).unwrap();
    assert!(world.pairs::<Carries>().targets(hero).eq([arrow]));
    assert_eq!(world.pair_value::<Carries>(hero, arrow), Some(&Carries { count: 3 }));
    // Who has more than two of something?
    world.init_resource::<AppTypeRegistry>();
    world.resource::<AppTypeRegistry>().write().register::<Carries>();
    let mut expr = PairExpr::parse("(Carries.count, $item) > 2").unwrap().compile(&mut world).unwrap();
    assert_eq!(expr.first(&world).unwrap().unwrap().var("item"), Some(arrow));
}

/// A belt with numbered slots, each with a stack.
#[derive(Relation, Clone, PartialEq, Debug)]
#[relation(key = u8)]
struct Belt {
    slot: u8,
    count: u32,
}

#[test]
fn belt() {
    let mut world = World::new();
    let [hero, potion, arrow] = [(); 3].map(|()| world.spawn_empty().id());
    world.insert_pair(hero, Belt { slot: 1, count: 3 }, potion).unwrap();
    world.insert_pair(hero, Belt { slot: 2, count: 20 }, arrow).unwrap();
    let (item, stack) = world.pair_by_key::<Belt>(hero, &1).unwrap();
    assert_eq!((item, stack.count), (potion, 3));
    // One kind of item is in one slot.
    world.insert_pair(hero, Belt { slot: 3, count: 7 }, potion).unwrap();
    assert_eq!(world.pair_by_key::<Belt>(hero, &1), None);
    assert_eq!(world.pair_by_key::<Belt>(hero, &3), Some((potion, &Belt { slot: 3, count: 7 })));
    assert_eq!(world.remove_pair_by_key::<Belt>(hero, &2), Some(arrow));
}

// An inspector.

/// Every pair of an entity as a line, whatever its relation, with the value.
fn inspect(world: &World, entity: Entity) -> Vec<String> {
    let name =
        |entity: Entity| world.get::<Name>(entity).map_or_else(|| entity.to_string(), ToString::to_string);
    let pairs = world.any_pairs();
    pairs
        .pairs_of(entity)
        .map(|(relation, target)| {
            let relation = world.relation_name(relation).map_or_else(|| "?".into(), |name| name.to_string());
            format!("{relation} -> {}", name(target))
        })
        .collect()
}

#[test]
fn inspector() {
    let mut app = game();
    let world = app.world_mut();
    world.mirror_runtime_pairs();
    let likes = world.spawn_relation("Likes", RelationTraits::new()).unwrap();
    let [ann, ben] = ["Ann", "Ben"].map(|name| world.spawn(Name::new(name)).id());
    world.insert_pair(ann, Owes { gold: 5 }, ben).unwrap();
    world.insert_pair_by_id(ann, (likes, ben)).unwrap();
    world.spawn((Name::new("Cy"), ChildOf(ann)));
    let cy = world.lookup("Ann.Cy").unwrap();
    assert_eq!(inspect(world, ann), ["Owes -> Ben", "Likes -> Ben"]);
    assert_eq!(inspect(world, cy), ["ChildOf -> Ann"]);
    let children = world.pairs_to(ann);
    assert_eq!((children.len(), children[0].0), (1, cy));
    assert!(world.get::<RuntimeMirroredPairs>(ann).is_some_and(|pairs| pairs.targets(likes).eq([ben])));

    // With values: by an expression.
    let mut expr = PairExpr::parse("(*, $t)").unwrap().compile(world).unwrap();
    let types = world.resource::<AppTypeRegistry>().clone();
    let types = types.read();
    let mut rows = Vec::new();
    expr.for_each(world, |row| rows.push(serde_json::to_string(&RowSerializer::new(row, &types)).unwrap()))
        .unwrap();
    assert!(
        rows.iter().any(|row| row.contains(r#""id":"(Owes, Ben)","source":"Ann","value":{"gold":5}"#)),
        "{rows:?}"
    );
}
