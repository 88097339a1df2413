//! What is refused, and where: the first term that cannot be inserted, with nothing changed.

use super::*;
use bevy_ecs::component::ComponentInfo;

/// Everything about named entities, but for what this crate keeps on them.
pub(super) fn state(world: &World) -> Vec<String> {
    let types = world.resource::<AppTypeRegistry>().read();
    let describe = |entity: EntityRef| {
        let mut parts: Vec<String> = Vec::new();
        for info in entity.archetype().components().iter().filter_map(|id| world.components().get_info(*id)) {
            let name = ComponentInfo::name(info).to_string();
            if name.contains("Participant") {
                continue;
            }
            let reflect = info.type_id().and_then(|id| types.get_type_data::<ReflectComponent>(id));
            let value = reflect.and_then(|reflect| reflect.reflect(entity));
            parts.push(format!("{name} {value:?}"));
        }
        parts.sort_unstable();
        parts.join(", ")
    };
    let mut named: Vec<_> = world.iter_entities_with_names();
    named.sort_unstable_by_key(|entity| entity.index());
    named
        .into_iter()
        .map(|entity| format!("{entity}: {}", describe(world.entity(entity))))
        .chain(dump(world))
        .collect()
}

trait NamedEntities {
    fn iter_entities_with_names(&self) -> Vec<Entity>;
}

impl NamedEntities for World {
    fn iter_entities_with_names(&self) -> Vec<Entity> {
        crate::common::all_entities(self)
            .into_iter()
            .filter(|&entity| self.get::<Name>(entity).is_some())
            .collect()
    }
}

/// The error of an insertion that changes nothing.
#[track_caller]
pub(super) fn refused(world: &mut World, entity: Entity, text: &str) -> InsertExprError {
    let before = state(world);
    let error = world.insert_expr(entity, text).expect_err(text);
    let after = state(world);
    // Entities that stand for types may be there now.
    let is_new = |line: &String| !before.contains(line) && line.ends_with("no pairs");
    let after: Vec<String> = after.into_iter().filter(|line| !is_new(line)).collect();
    assert_eq!(after, before, "{text}");
    world.check_pairs().unwrap();
    error
}

#[track_caller]
fn all_refused(world: &mut World, entity: Entity, cases: &[(&str, usize, &str)]) {
    let mut wrong = Vec::new();
    for &(text, at, message) in cases {
        let error = refused(world, entity, text);
        let place = error.place().unwrap();
        if place.range().start != at || !error.to_string().contains(message) {
            wrong.push(format!("{text}: at {} {error}", place.range().start));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn what_only_asks_is_refused() {
    let (mut world, [ship, ..]) = ship();
    all_refused(
        &mut world,
        ship,
        &[
            ("Fighter, !Health", 9, "`!` cannot be inserted"),
            ("Fighter, ?Health", 9, "`?` cannot be inserted"),
            ("Fighter, Health || Mode", 9, "`||` cannot be inserted: write one of the terms"),
            ("Fighter, {Mode}", 9, "a scope"),
            ("Fighter, (Likes, *)", 17, "`*`"),
            ("Fighter, (Likes, $x)", 17, "a variable"),
            ("Fighter, Mode(Earth)", 14, "$this"),
            ("Fighter, Mode(up ChildOf)", 14, "a traversal such as `up`"),
            ("Fighter (Likes, Earth)", 9, "write `,` between two terms"),
            ("Fighter, [in] Mode", 9, "an access modifier"),
            ("Fighter, Mode()", 9, "about no entity"),
            ("Fighter, Health.0 < 3", 9, "comparison"),
            ("Fighter, $this != Earth", 9, "comparison"),
            // The first is reported, whatever is wrong with it.
            ("Nobody, !Health", 0, "no component, relation or entity"),
            ("!Health, Nobody", 0, "`!` cannot be inserted"),
            ("Health(true), Nobody, !Mode", 7, "whole number"),
            ("(Likes, Earth), (Follows, Kite), Health(true)", 16, "cycle"),
            ("Fighter, , Mode", 9, "a term"),
        ],
    );
}

#[test]
fn names_that_mean_nothing_are_refused_with_a_suggestion() {
    let (mut world, [ship, ..]) = ship();
    named(&mut world, "Twin");
    named(&mut world, "Twin");
    all_refused(
        &mut world,
        ship,
        &[
            ("Fihgter", 0, "did you mean `Fighter`?"),
            ("Fighter, (Likes, Eart)", 17, "did you mean `Earth`?"),
            ("Fighter, (Liks, Earth)", 10, "did you mean `Likes`?"),
            ("(Likes, Earth.Mooon)", 8, "did you mean `Earth.Moon`?"),
            ("Twin", 0, "several things"),
            ("(Likes, Twin)", 8, "several things"),
            ("#12345678", 0, "no entity that is alive"),
            ("(Likes, #12345678)", 8, "no entity that is alive"),
            ("Health.0", 0, "no entity"),
            ("Secret", 0, "no component"),
            ("All { entity: Erth }", 14, "did you mean `Earth`?"),
        ],
    );
    let error = refused(&mut world, ship, "Fihgter");
    assert_eq!(error.place().unwrap().kind(), ExprErrorKind::UnknownName);
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let (mut world, [ship, ..]) = ship();
    all_refused(
        &mut world,
        ship,
        &[
            ("Health", 0, "no default"),
            ("Health(1, 2)", 10, "no field 1"),
            ("Health(-1)", 7, "from 0 to 4294967295"),
            ("Health(1.5)", 7, "whole number"),
            ("Health(4294967296)", 7, "whole number"),
            ("Health(\"x\")", 7, "whole number"),
            ("Health { hp: 1 }", 9, "no field"),
            ("Health { 1: 1 }", 9, "no field"),
            ("Position(1, 2)", 8, "have names: `{ x: .., y: .. }`"),
            ("Position { x: 1e39 }", 14, "range of the type"),
            ("Position { x: true }", 14, "a number"),
            ("Position { z: 1 }", 11, "no field"),
            ("Pilot { rank: 3 }", 14, "in parentheses"),
            ("Pilot { rank: (3, 4, 5) }", 21, "no field 2"),
            ("Pilot { name: 3 }", 14, "a string"),
            ("Fighter(1)", 7, "no fields"),
            ("Fighter { x: 1 }", 10, "no fields"),
            ("Mode { 0: Busy }", 5, "one of `Idle`, `Busy`"),
            ("Badge(256)", 6, "from 0 to 255"),
            ("Lists { list: (1, 2) }", 14, "cannot be written"),
            ("All { i8: 1 }", 4, "the field `u128` has no value"),
            ("Begin(3)", 5, "a tag"),
            ("Earth(3)", 5, "a tag"),
            ("Name(3)", 5, "a string"),
            ("Prefab(3)", 6, "no fields"),
        ],
    );
}

#[test]
fn values_of_pairs_that_do_not_fit_are_refused() {
    let (mut world, [ship, ..]) = ship();
    all_refused(
        &mut world,
        ship,
        &[
            ("Fighter, (Eats, Earth)", 9, "needs a value"),
            ("Fighter, (Eats { grams: 1 }, Earth)", 15, "`how` has no value"),
            ("Fighter, (Eats { grams: -1, how: None }, Earth)", 24, "whole number"),
            ("Fighter, (Eats(1), Earth)", 14, "have names"),
            ("Fighter, (Likes(1), Earth)", 15, "no value"),
            ("Fighter, (Likes, Earth(1))", 22, "no value"),
            ("Fighter, (Owes(1), Earth(1))", 24, "one value"),
            ("Fighter, (ChildOf { 0: Earth }, Earth)", 18, "Bevy's relationships"),
            ("Owes(1)", 4, "a tag"),
            ("Fighter, (Pays(100), Earth)", 9, "too much"),
            ("Health(1), (Likes, Earth), Health(2)", 33, "a value already"),
            ("(Owes(1), Earth), Fighter, (Owes(2), Earth)", 32, "a value already"),
            ("Equips[Foot](Earth)", 7, "only `Head`, `Hand`"),
            ("Likes[Head](Earth)", 0, "no keys"),
            ("Equips[Head](Earth), Equips[Head](Mars)", 21, "same key"),
            ("Equips[Head](Earth), Equips[Hand](Earth)", 28, "one key"),
            ("Carries[256](Earth)", 8, ""),
        ],
    );
}

#[test]
fn components_that_are_not_inserted_so_are_refused() {
    let (mut world, [ship, ..]) = ship();
    world.register_component_name::<Secret>("Hidden");
    all_refused(
        &mut world,
        ship,
        &[
            ("Fighter, Hidden", 9, "#[reflect(Component)]"),
            ("Fighter, ChildOf", 9, "is a pair"),
            ("Fighter, Clock", 9, ""),
        ],
    );
}

#[test]
fn rules_refuse_all_of_it() {
    let (mut world, [kite, earth, ..]) = ship();
    let fruit = world.spawn_relation("flag", RelationTraits::new().one_of_id(earth)).unwrap();
    world.entity_mut(fruit).insert(Name::new("flag"));
    let sealed = named(&mut world, "Sealed");
    world.set_traits(sealed, RelationTraits::new().is_final()).unwrap();
    world.insert_expr(earth, "(Follows, Mars)").unwrap();
    let all = [
        ("Health(1), (Follows, Kite)", 11, "cycle"),
        ("Health(1), (DockedTo, Earth), Mode, (DockedTo, Mars)", 36, "exclusive"),
        ("Health(1), (ChildOf, Earth), (ChildOf, Mars)", 29, "exclusive"),
        ("Health(1), (flag, Mars)", 11, "child of"),
        ("Health(1), (Escorts, Earth)", 11, "must have `Fighter`"),
        ("Health(1), (IsA, Sealed)", 11, "final"),
    ];
    all_refused(&mut world, kite, &all);
    // It is refused for the one, and goes in without it.
    let error = refused(&mut world, kite, "Health(1), (Follows, Earth), (Follows, Kite)");
    let InsertExprError::Pair { error, .. } = error else { panic!("{error}") };
    assert!(matches!(*error, InsertPairError::Cycle { .. }));
    insert(&mut world, kite, "Health(1), (Follows, Earth)");
    assert!(world.has_pair::<Likes>(kite, earth), "`Follows` is inserted with it");
}

#[test]
fn the_dead_get_nothing() {
    let (mut world, [ship, ..]) = ship();
    world.despawn(ship);
    let error = refused(&mut world, ship, "Fighter, !");
    assert!(matches!(error, InsertExprError::Dead { .. }));
    assert_eq!(error.to_string(), format!("cannot insert an expression on {ship}: it is not alive"));
}
