//! Expressions that are inserted on an entity.
//!
//! What a program can do there: components by default, with all fields, with some, of every type that can be written; tags,
//! markers, types as tags; pairs by every kind of relation, with values and keys; what is there already; names that nothing has; what
//! only asks; rules that refuse one of several; observers and hooks that act in between; commands; several worlds; texts at random.

use crate::common::{dump, spawn, take_reported_errors, world_that_records_errors};
use bevy_ecs::{
    entity_disabling::Disabled,
    prelude::*,
    reflect::{AppTypeRegistry, ReflectComponent},
};
use bevy_reflect::{Reflect, TypeRegistry, std_traits::ReflectDefault};
use bevy_relations::{
    error::InsertPairError,
    expr::{
        EntityCommandsExprExt, EntityWorldMutExprExt, ExprErrorKind, InsertExprError, UnknownNames,
        WorldExprExt,
    },
    prelude::*,
    relation::{PairContext, PairRefusal, Prefab},
};
use std::borrow::Cow;

mod random;
mod refused;
mod whole;

#[derive(Component, Reflect, Default)]
#[reflect(Component, Default)]
struct Fighter;

/// Without a default.
#[derive(Component, Reflect, Clone, Copy, PartialEq, Debug)]
#[reflect(Component)]
struct Health(u32);

#[derive(Component, Reflect, Clone, PartialEq, Debug)]
#[reflect(Component, Default)]
struct Position {
    x: f32,
    y: f32,
}

impl Default for Position {
    fn default() -> Self {
        Self { x: 7.0, y: 8.0 }
    }
}

#[derive(Component, Reflect, Default, Clone, Copy, PartialEq, Debug)]
#[reflect(Component, Default)]
enum Mode {
    #[default]
    Idle,
    Busy,
    Waiting {
        turns: u8,
    },
}

#[derive(Component, Reflect, Default, Clone, PartialEq, Debug)]
#[reflect(Component, Default)]
#[require(Fighter)]
struct Pilot {
    rank: Rank,
    name: String,
}

#[derive(Reflect, Default, Clone, PartialEq, Debug)]
#[reflect(Default)]
struct Rank(u8, Option<i64>);

/// One field of each type that can be written.
#[derive(Component, Reflect, PartialEq, Debug)]
#[reflect(Component)]
struct All {
    i8: i8,
    u128: u128,
    usize: usize,
    f64: f64,
    bool: bool,
    char: char,
    string: String,
    cow: Cow<'static, str>,
    name: Name,
    mode: Mode,
    some: Option<Mode>,
    none: Option<u8>,
    pair: (u8, Rank),
    entity: Entity,
    maybe: Option<Entity>,
}

#[derive(Component, Reflect, Default)]
#[reflect(Component, Default)]
struct Lists {
    list: Vec<u8>,
}

#[derive(Component, Reflect, Clone, PartialEq, Debug)]
#[reflect(Component)]
#[component(immutable)]
struct Badge(u8);

/// Not registered.
#[derive(Component, Reflect, Default)]
#[reflect(Component)]
struct Secret;

#[derive(Relation)]
struct Likes;

#[derive(Relation)]
#[relation(exclusive)]
struct DockedTo;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
struct Eats {
    grams: u32,
    how: Option<f64>,
}

#[derive(Relation, Reflect, Clone, PartialEq, Debug, Default)]
#[reflect(Default)]
#[relation(symmetric)]
struct Knows {
    years: u8,
}

#[derive(Relation)]
#[relation(traversable, with = Likes)]
struct Follows;

#[derive(Relation, Reflect, Clone, PartialEq, Debug)]
struct Owes(u32);

#[derive(Relation)]
#[relation(source(Fighter))]
struct Escorts;

#[derive(Relation, Reflect, PartialEq, Debug)]
#[relation(validate = check_pay)]
struct Pays(u32);

fn check_pay(value: &mut Pays, _: &PairContext) -> Result<(), PairRefusal> {
    if value.0 < 100 { Ok(()) } else { Err("too much".into()) }
}

#[derive(Reflect, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[reflect(Default)]
enum Slot {
    #[default]
    Head,
    Hand,
}

#[derive(Relation, Reflect, PartialEq, Debug, Default)]
#[reflect(Default)]
#[relation(key = Slot)]
struct Equips {
    slot: Slot,
    wear: u32,
}

#[derive(Relation, Reflect, PartialEq, Debug, Default)]
#[reflect(Default)]
#[relation(key = u8)]
struct Carries(u8);

/// A type that is neither component nor relation.
#[derive(Reflect)]
struct Begin;

#[derive(Resource, Reflect, Default)]
#[reflect(Resource, Default)]
struct Clock;

fn register(types: &mut TypeRegistry) {
    types.register::<Fighter>();
    types.register::<Health>();
    types.register::<Position>();
    types.register::<Mode>();
    types.register::<Pilot>();
    types.register::<All>();
    types.register::<Lists>();
    types.register::<Badge>();
    types.register::<Eats>();
    types.register::<Knows>();
    types.register::<Owes>();
    types.register::<Pays>();
    types.register::<Equips>();
    types.register::<Carries>();
    types.register::<Begin>();
    types.register::<Clock>();
    types.register::<ChildOf>();
    types.register::<Name>();
}

fn prepare(world: &mut World) {
    world.init_resource::<AppTypeRegistry>();
    register(&mut world.resource::<AppTypeRegistry>().write());
    world.register_relation::<Likes>().unwrap();
    world.register_relation::<DockedTo>().unwrap();
    world.register_relation::<Eats>().unwrap();
    world.register_relation::<Knows>().unwrap();
    world.register_relation::<Follows>().unwrap();
    world.register_relation::<Owes>().unwrap();
    world.register_relation::<Escorts>().unwrap();
    world.register_relation::<Pays>().unwrap();
    world.register_relation::<Equips>().unwrap();
    world.register_relation::<Carries>().unwrap();
    world.register_relation::<ChildOf>().unwrap();
}

fn world() -> World {
    let mut world = world_that_records_errors();
    prepare(&mut world);
    world
}

fn named(world: &mut World, name: &str) -> Entity {
    world.spawn(Name::new(name.to_owned())).id()
}

/// A world with an entity to insert on, and Earth, Mars and a child Moon of Earth.
fn ship() -> (World, [Entity; 4]) {
    let mut world = world();
    let [ship, earth, mars] = ["Kite", "Earth", "Mars"].map(|name| named(&mut world, name));
    let moon = world.spawn((Name::new("Moon"), ChildOf(earth))).id();
    (world, [ship, earth, mars, moon])
}

#[track_caller]
fn insert(world: &mut World, entity: Entity, text: &str) {
    world.insert_expr(entity, text).unwrap_or_else(|error| panic!("{error}"));
    world.check_pairs().unwrap();
    assert_eq!(take_reported_errors(), [""; 0]);
}

#[test]
fn components_get_their_defaults_or_what_is_written() {
    let (mut world, [ship, ..]) = ship();
    insert(&mut world, ship, "Fighter, Health(20), Position { y: -2.5 }, Mode");
    assert!(world.entity(ship).contains::<Fighter>());
    assert_eq!(world.get(ship), Some(&Health(20)));
    assert_eq!(world.get(ship), Some(&Position { x: 7.0, y: -2.5 }), "the rest is that of the default");
    assert_eq!(world.get(ship), Some(&Mode::Idle));
    insert(&mut world, ship, "Health, Position, Mode");
    assert_eq!(world.get(ship), Some(&Health(20)), "what is there stays, and needs no default");
    assert_eq!(world.get(ship), Some(&Position { x: 7.0, y: -2.5 }));
    insert(&mut world, ship, "Health { 0: 4 }, Position {}");
    assert_eq!(world.get(ship), Some(&Health(4)));
    assert_eq!(world.get(ship), Some(&Position { x: 7.0, y: 8.0 }), "a value is replaced by another");
    insert(&mut world, ship, "Badge(3)");
    insert(&mut world, ship, "Badge(4)");
    assert_eq!(world.get(ship), Some(&Badge(4)), "also of an immutable component");
}

#[test]
fn values_of_every_type_that_can_be_written() {
    let (mut world, [ship, earth, _, moon]) = ship();
    let text = format!(
        r#"All {{ i8: -128, u128: 340282366920938463463374607431768211455, usize: 0, f64: 1e-3, bool: true,
            char: "é", string: "a\"b", cow: "", name: "Bob", mode: Busy, some: Busy, none: None, pair: (1, (2, -3)),
            entity: Earth.Moon, maybe: #{} }}, Pilot {{ rank: {{ 1: 5 }}, name: "Ann" }}, Name("Kestrel")"#,
        earth.to_bits()
    );
    insert(&mut world, ship, &text);
    let all = All {
        i8: -128,
        u128: u128::MAX,
        usize: 0,
        f64: 1e-3,
        bool: true,
        char: 'é',
        string: "a\"b".into(),
        cow: "".into(),
        name: Name::new("Bob"),
        mode: Mode::Busy,
        some: Some(Mode::Busy),
        none: None,
        pair: (1, Rank(2, Some(-3))),
        entity: moon,
        maybe: Some(earth),
    };
    assert_eq!(world.get(ship), Some(&all));
    assert_eq!(world.get(ship), Some(&Pilot { rank: Rank(0, Some(5)), name: "Ann".into() }));
    assert!(world.entity(ship).contains::<Fighter>(), "required by `Pilot`");
    assert_eq!(world.get::<Name>(ship).unwrap().as_str(), "Kestrel");
}

#[test]
fn tags_and_pairs_of_every_kind() {
    let (mut world, [ship, earth, mars, moon]) = ship();
    let allied = world.spawn_relation("allied", RelationTraits::new().symmetric()).unwrap();
    world.entity_mut(allied).insert(Name::new("allied"));
    let pirate = named(&mut world, "Pirate");
    insert(
        &mut world,
        ship,
        "Pirate, Begin, (Likes, Earth), Likes($this, Mars), (DockedTo, Earth.Moon), (allied, Mars), (Likes, $this), \
         (Eats { grams: 80, how: 0.5 }, Earth), (Knows { years: 3 }, Mars), (Follows, Mars), (ChildOf, Earth)",
    );
    assert!(world.has_tag(ship, pirate));
    let begin = world.entity_of::<Begin>();
    assert!(world.has_tag(ship, begin), "a type that is no component is a tag");
    assert!(world.pairs::<Likes>().targets(ship).eq([earth, mars, ship]));
    assert_eq!(world.pairs::<DockedTo>().target(ship), Some(moon));
    assert!(world.has_pair_by_id(mars, (allied, ship)));
    assert_eq!(world.pair_value(ship, earth), Some(&Eats { grams: 80, how: Some(0.5) }));
    assert_eq!(world.pair_value(mars, ship), Some(&Knows { years: 3 }));
    assert!(world.has_pair::<Follows>(ship, mars));
    assert_eq!(world.get::<ChildOf>(ship).map(ChildOf::parent), Some(earth));
    // What is there gets another value, or stays; an exclusive pair is replaced.
    insert(&mut world, ship, "(Eats, Earth), (Knows, Mars), (DockedTo, Mars), (ChildOf, Mars)");
    assert_eq!(world.pair_value(ship, earth), Some(&Eats { grams: 80, how: Some(0.5) }));
    insert(&mut world, ship, "(Eats { grams: 1, how: None }, Earth), (Knows {}, Mars)");
    assert_eq!(world.pair_value(ship, earth), Some(&Eats { grams: 1, how: None }));
    assert_eq!(world.pair_value(ship, mars), Some(&Knows { years: 0 }));
    assert!(world.pairs::<DockedTo>().targets(ship).eq([mars]));
    assert_eq!(world.get::<ChildOf>(ship).map(ChildOf::parent), Some(mars));
}

#[test]
fn pairs_with_a_type_as_their_target_carry_its_values() {
    let (mut world, [ship, ..]) = ship();
    let error = world.insert_expr(ship, "(Begin, Position { x: 1 })").unwrap_err();
    assert!(error.to_string().contains("entity_of"), "{error}");
    let [begin, position] = [world.entity_of::<Begin>(), world.entity_of::<Position>()];
    insert(&mut world, ship, "(Begin, Position { x: 1 })");
    let value: Option<&Position> = world.pair_value_by_id(ship, (begin, position));
    assert_eq!(value, Some(&Position { x: 1.0, y: 8.0 }));
    let [end] = ["End"].map(|name| world.spawn(Name::new(name)).id());
    insert(&mut world, ship, "(End { x: 2, y: 3 }, Position)");
    let value: Option<&Position> = world.pair_value_by_id(ship, (end, position));
    assert_eq!(value, Some(&Position { x: 2.0, y: 3.0 }));
}

#[test]
fn keys_become_values() {
    let (mut world, [knight, helmet, hat, sword]) = ship();
    insert(&mut world, knight, "Equips[Head](Earth), Equips[Slot::Hand]($this, Mars), Carries[3](Earth)");
    assert_eq!(world.pairs::<Equips>().target_by_key(knight, &Slot::Head), Some(helmet));
    assert_eq!(world.pair_value(knight, hat), Some(&Equips { slot: Slot::Hand, wear: 0 }));
    assert_eq!(world.pair_value(knight, helmet), Some(&Carries(3)));
    insert(&mut world, knight, "(Equips { slot: Head, wear: 9 }, Earth.Moon)");
    assert_eq!(
        world.pairs::<Equips>().target_by_key(knight, &Slot::Head),
        Some(sword),
        "the helmet gave way"
    );
}

#[test]
fn markers_have_names_in_every_world() {
    let mut world = World::new();
    let [prefab, off] = spawn(&mut world);
    world.insert_expr(prefab, "Prefab").unwrap();
    world.insert_expr(off, "Disabled, Prefab {}").unwrap();
    assert!(world.entity(prefab).contains::<Prefab>());
    assert!(world.entity(off).contains::<Prefab>() && world.entity(off).contains::<Disabled>());
    world.insert_expr(prefab, "").unwrap();
}

#[test]
fn two_terms_may_name_the_same_but_bring_one_value() {
    let (mut world, [ship, earth, ..]) = ship();
    insert(
        &mut world,
        ship,
        "Health, Health(3), Health, Fighter, Fighter, (Eats, Earth), (Eats { grams: 2, how: None }, Earth), (Likes, Earth), (Likes, Earth)",
    );
    assert_eq!(world.get(ship), Some(&Health(3)));
    assert_eq!(world.pair_value(ship, earth), Some(&Eats { grams: 2, how: None }));
}

#[test]
fn pairs_are_checked_with_the_components_that_come_with_them() {
    let (mut world, [ship, earth, ..]) = ship();
    assert!(world.insert_expr(ship, "(Escorts, Earth)").is_err());
    assert!(world.insert_expr(earth, "Health(1), (Escorts, Mars)").is_err());
    insert(&mut world, ship, "(Escorts, Earth), Fighter");
    assert!(world.has_pair::<Escorts>(ship, earth));
    // `Fighter` is required by it.
    insert(&mut world, earth, "(Escorts, Mars), Pilot");
    assert!(world.entity(earth).contains::<Fighter>());
}

#[test]
fn observers_of_pairs_see_the_components() {
    let (mut world, [ship, ..]) = ship();
    world.add_observer(|on: On<PairInserted<Likes>>, health: Query<&Health>, mut commands: Commands| {
        let seen = health.get(on.source).is_ok();
        commands.entity(on.source).insert(Name::new(format!("seen: {seen}")));
    });
    insert(&mut world, ship, "(Likes, Earth), Health(3)");
    assert_eq!(world.get::<Name>(ship).unwrap().as_str(), "seen: true");
}

#[test]
fn names_become_entities_only_when_asked_for() {
    let (mut world, [ship, earth, ..]) = ship();
    let text = "Pirate, (Raids, Earth.Base.Dock), (Likes, Earth.Base), (Likes, Venus), (Raids, Venus)";
    let count = |world: &mut World| world.query::<&Name>().iter(world).count();
    let before = count(&mut world);
    assert!(world.insert_expr(ship, text).is_err());
    world.insert_expr_with(ship, text, UnknownNames::Spawn).unwrap();
    let found =
        ["Pirate", "Raids", "Earth.Base", "Earth.Base.Dock", "Venus"].map(|path| world.lookup_unique(path));
    let [pirate, raids, base, dock, venus] = found.map(Result::unwrap);
    assert_eq!(world.get::<ChildOf>(base).map(ChildOf::parent), Some(earth));
    assert!(world.has_tag(ship, pirate));
    assert!(world.pairs_by_id(raids).targets(ship).eq([dock, venus]));
    assert!(world.pairs::<Likes>().targets(ship).eq([base, venus]));
    assert_eq!(count(&mut world), before + 5);
    world.insert_expr_with(ship, text, UnknownNames::Spawn).unwrap();
    assert_eq!(count(&mut world), before + 5, "they are there now");
    world.check_pairs().unwrap();
}

#[test]
fn a_name_that_must_be_below_another_entity_is_spawned_there() {
    let (mut world, [ship, earth, ..]) = ship();
    let flag = world.spawn_relation("flag", RelationTraits::new().one_of_id(earth)).unwrap();
    world.entity_mut(flag).insert(Name::new("flag"));
    world.insert_expr_with(ship, "(flag, Blue)", UnknownNames::Spawn).unwrap();
    assert_eq!(world.pairs_by_id(flag).targets(ship).next(), world.lookup("Earth.Blue").ok());
}

#[test]
fn entities_for_names_go_again_if_a_pair_is_refused() {
    #[derive(Component)]
    struct City;
    #[derive(Relation)]
    #[relation(target(City))]
    struct LivesIn;
    let (mut world, [ship, ..]) = ship();
    world.register_relation::<LivesIn>().unwrap();
    let before = dump(&world);
    let text = "Fighter, Pirate, (Likes, Venus.Base), (LivesIn, Rome)";
    let error = world.insert_expr_with(ship, text, UnknownNames::Spawn).unwrap_err();
    assert_eq!(error.place().unwrap().found(), "(LivesIn, Rome)");
    assert!(matches!(error, InsertExprError::Pair { .. }));
    assert_eq!(dump(&world), before);
    assert!(!world.entity(ship).contains::<Fighter>());
    for text in ["game::Ship", "Sized<u8>", "Health.hpp", "(Likes, Health.0)"] {
        world.insert_expr_with(ship, text, UnknownNames::Spawn).expect_err(text);
    }
    assert_eq!(dump(&world), before);
}

#[test]
fn what_observers_do_in_between_leaves_the_pairs_right() {
    let (mut world, [ship, earth, mars, _]) = ship();
    // The target goes while the components are inserted.
    let observer = world.add_observer(move |_: On<Add<Health>>, mut commands: Commands| {
        commands.entity(mars).despawn();
    });
    let observer = observer.id();
    let error = world.insert_expr(ship, "Health(1), (Likes, Earth), (Likes, Mars)").unwrap_err();
    let InsertExprError::Pair { place, error } = error else { panic!("{error}") };
    assert!(matches!(*error, InsertPairError::Dead { .. }) && place.found() == "(Likes, Mars)", "{error}");
    assert_eq!(world.pairs::<Likes>().targets(ship).count(), 0, "the pairs are inserted all at once");
    world.despawn(observer);
    // The entity itself goes, whatever comes next.
    world.add_observer(move |on: On<Add<Fighter>>, mut commands: Commands| {
        commands.entity(on.entity).despawn();
    });
    for text in ["Fighter", "Fighter, (Likes, Earth)", "Fighter, Begin", "(Likes, Earth), Fighter, Position"]
    {
        let [other] = spawn(&mut world);
        let error = world.insert_expr(other, text).unwrap_err();
        assert!(matches!(error, InsertExprError::Dead { .. }), "{text}: {error}");
        world.check_pairs().unwrap();
    }
    world.despawn(ship);
    let error = world.insert_expr(ship, "Position").unwrap_err();
    assert!(matches!(error, InsertExprError::Dead { .. }) && error.place().is_none(), "{error}");
    assert!(world.get_entity(earth).is_ok());
    world.check_pairs().unwrap();
}

#[test]
fn hooks_may_register_types() {
    #[derive(Component, Reflect, Default)]
    #[reflect(Component, Default)]
    #[component(on_add = register_more)]
    struct Loader;
    fn register_more(world: bevy_ecs::world::DeferredWorld, _: bevy_ecs::lifecycle::HookContext) {
        world.resource::<AppTypeRegistry>().write().register::<Secret>();
    }
    let (mut world, [ship, ..]) = ship();
    world.resource::<AppTypeRegistry>().write().register::<Loader>();
    insert(&mut world, ship, "Loader");
    insert(&mut world, ship, "Secret");
}

#[test]
fn entities_and_commands_insert_too() {
    let (mut world, [ship, earth, mars, _]) = ship();
    world.entity_mut(ship).insert_expr("Health(1)").unwrap().insert_expr("(Likes, Earth)").unwrap();
    assert!(world.entity_mut(ship).insert_expr("!Health").is_err());
    world.entity_mut(ship).insert_expr_with("Pirate", UnknownNames::Spawn).unwrap();
    let mut commands = world.commands();
    commands
        .entity(mars)
        .insert_expr("Health(2)")
        .insert_expr("Health(3), Nobody")
        .insert_expr(String::from("(Likes, Earth)"));
    commands.entity(mars).insert_expr_with("Corsair", UnknownNames::Spawn);
    commands.entity(earth).despawn();
    commands.entity(earth).insert_expr("Health(2)");
    world.flush();
    assert_eq!(world.get(mars), Some(&Health(2)));
    assert!(world.has_tag(mars, world.lookup("Corsair").unwrap()));
    let errors = take_reported_errors();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].contains("Nobody") && errors[1].contains("not alive"), "{errors:?}");
    world.check_pairs().unwrap();
}

#[test]
fn worlds_do_not_share_what_names_mean() {
    let (mut one, [ship, ..]) = ship();
    let mut other = World::new();
    let [there] = spawn(&mut other);
    other.insert_expr(there, "(Likes, Earth)").unwrap_err();
    other.insert_expr(there, "Fighter").unwrap_err();
    other.insert_expr_with(there, "Fighter, (Likes, Earth)", UnknownNames::Spawn).unwrap();
    insert(&mut one, ship, "Fighter, (Likes, Earth)");
    assert!(other.get_entity_of::<Likes>().is_none() && !other.entity(there).contains::<Fighter>());
    assert!(one.entity(ship).contains::<Fighter>());
    other.check_pairs().unwrap();
}
