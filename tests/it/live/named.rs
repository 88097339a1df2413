//! Live expressions, one class of changes after the other.

use super::{fresh_rows, kept_rows};
use crate::common::try_reuse_index;
use bevy_app::{App, Main};
use bevy_ecs::{
    entity_disabling::{DefaultQueryFilters, Disabled},
    observer::Observer,
    prelude::*,
};
use bevy_relations::{
    expr::{ExprRunError, PairExpr},
    live::LiveExpr,
    prelude::*,
    relation::OnInstantiate,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Component, Clone)]
pub(super) struct Ship;

#[derive(Component)]
pub(super) struct Fuel;

#[derive(Component)]
struct Frozen;

#[derive(Component)]
struct Port;

#[derive(Component)]
pub(super) struct Cargo(pub(super) u32);

#[derive(Relation)]
#[relation(exclusive, traversable)]
pub(super) struct DockedTo;

#[derive(Relation)]
pub(super) struct Likes;

#[derive(Relation)]
#[relation(traversable, transitive)]
struct Within;

/// A world with names for everything above.
pub(super) fn world() -> World {
    let mut world = World::new();
    world.register_component_name::<Ship>("Ship");
    world.register_component_name::<Fuel>("Fuel");
    world.register_component_name::<Port>("Port");
    world.register_relation::<DockedTo>().unwrap();
    world.register_relation::<Likes>().unwrap();
    world.register_relation::<Within>().unwrap();
    world
}

pub(super) fn live(world: &mut World, text: &str) -> LiveExpr {
    let mut live = PairExpr::parse(text).unwrap().live(world).unwrap();
    live.update(world).unwrap();
    live
}

/// Updates, and compares with a run from scratch. Whether only what changed was looked at.
#[track_caller]
pub(super) fn is_updated(world: &mut World, live: &mut LiveExpr, text: &str) -> bool {
    live.update(world).unwrap();
    let mut fresh = PairExpr::parse(text).unwrap().compile(world).unwrap();
    assert_eq!(kept_rows(world, live), fresh_rows(world, &mut fresh), "{text}\n{}", live.explain());
    !live.ran_whole()
}

fn spawn<const N: usize>(world: &mut World, bundle: impl Bundle + Clone) -> [Entity; N] {
    [(); N].map(|()| world.spawn(bundle.clone()).id())
}

/// The observers of a world.
fn observers(world: &mut World) -> usize {
    world.query::<&Observer>().iter(world).count()
}

#[test]
fn a_pair_that_comes_or_goes_moves_its_rows_and_no_others() {
    let mut world = world();
    let text = "Ship, (Likes, $x), Port($x)";
    let [a, b, c] = spawn(&mut world, Ship);
    let [p, q] = [(); 2].map(|()| world.spawn(Port).id());
    let mut live = live(&mut world, text);
    for (source, target) in [(a, p), (b, p), (b, q), (c, a)] {
        world.insert_pair(source, Likes, target).unwrap();
        assert!(is_updated(&mut world, &mut live, text));
    }
    assert_eq!(live.len(), 3);
    assert_eq!(live.rows_of(&world, b).unwrap().count(), 2);
    assert!(live.contains(a) && !live.contains(c) && !live.contains(p));
    world.remove_pair::<Likes>(b, p);
    assert!(is_updated(&mut world, &mut live, text));
    assert_eq!(live.rows_of(&world, b).unwrap().map(|row| row.var("x")).collect::<Vec<_>>(), [Some(q)]);
    world.entity_mut(a).insert(Port);
    assert!(is_updated(&mut world, &mut live, text));
    assert!(live.contains(c));
    world.despawn(q);
    assert!(is_updated(&mut world, &mut live, text));
    assert_eq!(live.len(), 2);
}

#[test]
fn a_pair_that_came_and_went_between_two_updates_leaves_no_row() {
    let mut world = world();
    let [a, b] = spawn(&mut world, Ship);
    let mut live = live(&mut world, "(Likes, *)");
    world.insert_pair(a, Likes, b).unwrap();
    world.remove_pair::<Likes>(a, b);
    assert!(is_updated(&mut world, &mut live, "(Likes, *)"));
    assert!(live.is_empty());
}

#[test]
fn an_exclusive_pair_that_is_retargeted_is_two_changes() {
    let mut world = world();
    let text = "(DockedTo, $p)";
    let [a, p, q] = spawn(&mut world, Ship);
    world.insert_pair(a, DockedTo, p).unwrap();
    let mut live = live(&mut world, text);
    world.insert_pair(a, DockedTo, q).unwrap();
    assert!(is_updated(&mut world, &mut live, text));
    assert_eq!(live.rows(&world).unwrap().map(|row| row.var("p")).collect::<Vec<_>>(), [Some(q)]);
}

#[test]
fn what_is_negated_optional_or_alternative_follows_its_changes() {
    let mut world = world();
    let texts = [
        "Ship, !Fuel",
        "Ship, !(Likes, *)",
        "Ship, ?(Likes, $x), ?Fuel",
        "Ship, Fuel || Port",
        "Ship, (Likes, $x) || (DockedTo, $x)",
        "(Likes, $x), !Likes($x, $this)",
        "Ship, !{ (Likes, $x), Port($x) }",
        "Ship, !{ (Likes, $x), !Port($x) }",
    ];
    let [a, b, c] = spawn(&mut world, Ship);
    let mut all = texts.map(|text| live(&mut world, text));
    let changes: [fn(&mut World, [Entity; 3]); 8] = [
        |world, [a, ..]| _ = world.entity_mut(a).insert(Fuel),
        |world, [a, b, _]| world.insert_pair(a, Likes, b).unwrap(),
        |world, [a, b, _]| world.insert_pair(b, Likes, a).unwrap(),
        |world, [_, b, _]| _ = world.entity_mut(b).insert(Port),
        |world, [a, _, c]| world.insert_pair(c, DockedTo, a).unwrap(),
        |world, [_, b, _]| _ = world.entity_mut(b).remove::<Port>(),
        |world, [a, b, _]| _ = world.remove_pair::<Likes>(a, b),
        |world, [a, ..]| _ = world.despawn(a),
    ];
    for change in changes {
        change(&mut world, [a, b, c]);
        for (text, live) in texts.iter().zip(&mut all) {
            is_updated(&mut world, live, text);
        }
    }
    for (text, live) in texts[..6].iter().zip(&mut all) {
        world.entity_mut(c).insert((Fuel, Port));
        world.insert_pair(c, Likes, b).unwrap();
        assert!(is_updated(&mut world, live, text), "{text}");
        world.entity_mut(c).remove::<(Fuel, Port)>();
        world.remove_pair::<Likes>(c, b);
        assert!(is_updated(&mut world, live, text), "{text}");
    }
}

#[test]
fn a_holder_above_concerns_all_that_lies_below_it() {
    let mut world = world();
    let texts = [
        "Fuel(up ChildOf)",
        "Ship, Fuel(self|up ChildOf)",
        "Ship, !Fuel(up ChildOf)",
        "Ship, ?Port(up ChildOf)",
    ];
    let top = world.spawn(Ship).id();
    let mut at = top;
    let chain: Vec<_> = (0..6)
        .map(|_| {
            at = world.spawn((Ship, ChildOf(at))).id();
            at
        })
        .collect();
    let mut all = texts.map(|text| live(&mut world, text));
    let mut check = |world: &mut World| {
        for (text, live) in texts.iter().zip(&mut all) {
            assert!(is_updated(world, live, text), "{text}");
        }
    };
    world.entity_mut(top).insert((Fuel, Port));
    check(&mut world);
    // By Bevy, from here on.
    world.entity_mut(chain[3]).remove::<ChildOf>();
    check(&mut world);
    world.entity_mut(chain[3]).insert(ChildOf(chain[0]));
    world.entity_mut(chain[1]).insert((Fuel, Port));
    check(&mut world);
    world.entity_mut(top).remove::<Fuel>();
    check(&mut world);
    world.entity_mut(chain[4]).despawn();
    check(&mut world);
}

#[test]
fn transitive_pairs_concern_all_that_leads_to_them() {
    let mut world = world();
    let [a, b, c, d] = spawn(&mut world, Ship);
    world.entity_mut(d).insert(Name::new("d"));
    let texts = ["(Within, d)", "(Within, $x)", "Ship, !(Within, d)"];
    let mut all = texts.map(|text| live(&mut world, text));
    let steps = [(a, b, true), (c, d, true), (b, c, true), (a, d, true), (b, c, false), (a, d, false)];
    for (source, target, comes) in steps {
        match comes {
            true => world.insert_pair(source, Within, target).unwrap(),
            false => _ = world.remove_pair::<Within>(source, target),
        }
        for (text, live) in texts.iter().zip(&mut all) {
            assert!(is_updated(&mut world, live, text), "{text}");
        }
    }
}

#[test]
fn what_is_inherited_concerns_all_that_inherits_it() {
    let mut world = world();
    let fuel = world.entity_of::<Fuel>();
    world.set_traits(fuel, RelationTraits::new().on_instantiate(OnInstantiate::Inherit)).unwrap();
    let [base, kind, ship, cargo] = spawn(&mut world, Ship);
    let texts = ["Ship, Fuel", "Ship, !Fuel", "Fuel(up ChildOf)"];
    let mut all = texts.map(|text| live(&mut world, text));
    let mut check = |world: &mut World| {
        for (text, live) in texts.iter().zip(&mut all) {
            assert!(is_updated(world, live, text), "{text}");
        }
    };
    world.insert_pair(ship, IsA, kind).unwrap();
    world.entity_mut(cargo).insert(ChildOf(ship));
    check(&mut world);
    world.insert_pair(kind, IsA, base).unwrap();
    world.entity_mut(base).insert(Fuel);
    check(&mut world);
    world.remove_pair::<IsA>(kind, base);
    check(&mut world);
}

#[test]
fn disabled_entities_have_no_rows() {
    let mut world = world();
    let [a, b] = spawn(&mut world, Ship);
    let mut live = live(&mut world, "Ship");
    world.entity_mut(a).insert(Disabled);
    assert!(is_updated(&mut world, &mut live, "Ship"));
    assert!(!live.contains(a) && live.contains(b));
    world.entity_mut(a).remove::<Disabled>();
    assert!(is_updated(&mut world, &mut live, "Ship"));
    assert!(live.contains(a));
    world.entity_mut(b).insert(Frozen);
    assert!(is_updated(&mut world, &mut live, "Ship") && live.contains(b));
    // Another component disables from now on.
    let frozen = world.register_component::<Frozen>();
    world.resource_mut::<DefaultQueryFilters>().register_disabling_component(frozen);
    assert!(!is_updated(&mut world, &mut live, "Ship") && !live.contains(b));
    world.entity_mut(b).remove::<Frozen>();
    assert!(is_updated(&mut world, &mut live, "Ship") && live.contains(b));
}

#[test]
fn an_observer_that_undoes_a_change_or_despawns_is_followed() {
    let mut world = world();
    let text = "Ship, !Fuel";
    world.add_observer(|on: On<Add<Fuel>>, mut commands: Commands| {
        commands.entity(on.entity).remove::<Fuel>();
    });
    let [a, b] = spawn(&mut world, Ship);
    let mut live = live(&mut world, text);
    world.add_observer(|on: On<Add<Port>>, mut commands: Commands| commands.entity(on.entity).despawn());
    world.entity_mut(a).insert(Fuel);
    assert!(is_updated(&mut world, &mut live, text) && live.contains(a));
    world.entity_mut(b).insert(Port);
    assert!(is_updated(&mut world, &mut live, text) && !live.contains(b));
}

#[test]
fn a_change_that_an_observer_cuts_short_by_a_panic_is_noticed() {
    let mut world = world();
    world.add_observer(|_: On<Add<Fuel>>| panic!("on purpose"));
    world.add_observer(|_: On<Remove<Ship>>| panic!("on purpose"));
    let [a, b] = spawn(&mut world, Ship);
    let texts = ["Ship, !Fuel", "Ship"];
    let mut all = texts.map(|text| live(&mut world, text));
    let _ = catch_unwind(AssertUnwindSafe(|| _ = world.entity_mut(a).insert(Fuel)));
    let mut check = |world: &mut World| {
        for (text, live) in texts.iter().zip(&mut all) {
            is_updated(world, live, text);
        }
    };
    check(&mut world);
    let _ = catch_unwind(AssertUnwindSafe(|| _ = world.entity_mut(b).remove::<Ship>()));
    check(&mut world);
}

#[test]
fn an_entity_with_the_index_of_a_dead_one_is_another() {
    let mut world = world();
    let [a, b] = spawn(&mut world, Ship);
    world.insert_pair(a, Likes, b).unwrap();
    let mut live = live(&mut world, "Ship, (Likes, $x)");
    world.despawn(a);
    let Some(new) = try_reuse_index(&mut world, a) else { return };
    world.entity_mut(new).insert(Ship);
    world.insert_pair(new, Likes, b).unwrap();
    assert!(is_updated(&mut world, &mut live, "Ship, (Likes, $x)"));
    assert!(live.contains(new) && !live.contains(a));
}

#[test]
fn a_term_about_any_relation_follows_those_that_come_later() {
    let mut world = world();
    let text = "Ship, ($r, $x)";
    let [a, b] = spawn(&mut world, Ship);
    let mut live = live(&mut world, text);
    world.insert_pair(a, Likes, b).unwrap();
    assert!(is_updated(&mut world, &mut live, text) && live.len() == 1);
    let new = world.spawn_relation("new", RelationTraits::new()).unwrap();
    world.insert_pair_by_id(a, (new, b)).unwrap();
    assert!(!is_updated(&mut world, &mut live, text) && live.len() == 2);
    world.insert_pair_by_id(b, (new, b)).unwrap();
    assert!(is_updated(&mut world, &mut live, text) && live.len() == 3);
    world.despawn(new);
    is_updated(&mut world, &mut live, text);
    assert_eq!(live.len(), 1);
}

#[test]
fn one_that_was_not_updated_for_many_changes_starts_anew() {
    let mut app = App::new();
    app.add_plugins(RelationsPlugin);
    let text = "Ship, (Likes, $x)";
    *app.world_mut() = {
        let mut new = world();
        core::mem::swap(&mut new, app.world_mut());
        new
    };
    let world = app.world_mut();
    world.register_component_name::<Ship>("Ship");
    world.register_relation::<Likes>().unwrap();
    let [a, b] = spawn(world, Ship);
    let mut live = live(world, text);
    world.insert_pair(a, Likes, b).unwrap();
    world.run_schedule(Main);
    assert!(is_updated(world, &mut live, text), "a frame is not long");
    world.insert_pair(b, Likes, b).unwrap();
    for _ in 0..3 {
        world.run_schedule(Main);
    }
    assert!(is_updated(world, &mut live, text), "few changes are kept for long");
    for _ in 0..3 {
        for _ in 0..10_000 {
            world.remove_pair::<Likes>(b, b);
            world.insert_pair(b, Likes, b).unwrap();
        }
        world.run_schedule(Main);
    }
    world.despawn(a);
    assert!(!is_updated(world, &mut live, text));
    assert!(!live.contains(a) && live.contains(b));
}

#[test]
fn a_world_without_its_pairs_is_an_error_until_they_are_used_again() {
    let mut world = world();
    let [a, b] = spawn(&mut world, Ship);
    world.insert_pair(a, Likes, b).unwrap();
    let mut live = live(&mut world, "Ship, ?(Likes, $x)");
    world.clear_resources();
    assert_eq!(live.update(&mut world), Err(ExprRunError::NoPairs));
    assert!(live.is_empty() && !live.contains(a));
    world.register_relation::<Likes>().unwrap();
    let c = world.spawn(Ship).id();
    live.update(&mut world).unwrap();
    assert!(live.contains(c) && live.len() == 3);
}

#[test]
fn entities_that_are_cleared_without_a_word_leave() {
    let mut world = world();
    let [_, _, _] = spawn(&mut world, Ship);
    let mut live = live(&mut world, "Ship");
    world.clear_entities();
    // The resources are gone, too.
    let _ = live.update(&mut world);
    assert!(live.is_empty());
}

#[test]
fn another_world_is_an_error() {
    let (mut world, mut other) = (world(), world());
    let mut live = live(&mut world, "Ship");
    let ship = world.spawn(Ship).id();
    assert_eq!(live.update(&mut other), Err(ExprRunError::OtherWorld));
    live.track_moves().update(&mut world).unwrap();
    assert_eq!(live.rows(&world).unwrap().len(), 1);
    let refused = Some(ExprRunError::OtherWorld);
    assert_eq!(live.rows(&other).err(), refused);
    assert_eq!(live.rows_of(&other, ship).err(), refused);
    assert_eq!([live.entered(&other).err(), live.left(&other).err()], [refused.clone(), refused]);
}

/// Rows are kept while the world goes on.
#[test]
fn rows_that_were_not_updated_say_what_is_left_of_them() {
    let mut world = world();
    let [a, b, c, port] = spawn(&mut world, Ship);
    for ship in [a, b, c] {
        world.entity_mut(ship).insert((Name::new("ship"), Cargo(7)));
        world.insert_pair(ship, DockedTo, port).unwrap();
    }
    world.register_component_name::<Cargo>("Cargo");
    let mut live = live(&mut world, "Cargo, (DockedTo, $p), ?Cargo($p)");
    // One dies, and another gets its index; one loses the component; one moves to another table.
    world.despawn(a);
    let again = try_reuse_index(&mut world, a).unwrap();
    world.entity_mut(again).insert((Cargo(9), Port));
    world.entity_mut(b).remove::<Cargo>();
    world.entity_mut(c).insert(Port);
    world.entity_mut(port).insert(Cargo(1));
    let read = |live: &LiveExpr, world: &World| {
        let cargo = |row: bevy_relations::expr::Row<'_>| (row.this(), row.get::<Cargo>(0).map(|it| it.0));
        let mut rows: Vec<_> = live.rows(world).unwrap().map(cargo).collect();
        rows.sort_unstable();
        rows
    };
    let mut expected = [(Some(a), None), (Some(b), None), (Some(c), Some(7))];
    expected.sort_unstable();
    assert_eq!(read(&live, &world), expected);
    assert!(
        live.rows(&world).unwrap().all(|row| row.get::<Cargo>(2).is_none() && row.var("p") == Some(port))
    );
    assert!(live.rows_of(&world, again).unwrap().next().is_none());
    live.update(&mut world).unwrap();
    assert_eq!(read(&live, &world), [(Some(c), Some(7))]);
    // Without pairs, and without entities.
    world.clear_resources();
    assert_eq!(read(&live, &world), [(Some(c), Some(7))]);
    world.despawn(c);
    assert_eq!(read(&live, &world), [(Some(c), None)]);
    assert!(live.update(&mut world).is_err() && live.is_empty());
}

#[test]
fn observers_are_shared_and_go_after_the_last_reader() {
    let mut world = world();
    let before = observers(&mut world);
    let first = live(&mut world, "Ship, !Fuel");
    let one = observers(&mut world);
    let second = live(&mut world, "Fuel, Ship");
    assert_eq!(observers(&mut world), one, "both read the same components");
    drop(first);
    world.spawn((Ship, Fuel));
    assert_eq!(observers(&mut world), one);
    drop(second);
    let entity = world.spawn((Ship, Fuel, Disabled)).id();
    world.despawn(entity);
    assert!(observers(&mut world) < one);
    let mut third = live(&mut world, "Ship, !Fuel");
    let [new] = spawn(&mut world, Ship);
    assert!(is_updated(&mut world, &mut third, "Ship, !Fuel") && third.contains(new));
    assert!(observers(&mut world) > before);
}

#[test]
fn an_observer_that_somebody_despawned_is_missed_and_comes_again() {
    let mut world = world();
    let mut live = live(&mut world, "Ship");
    let all: Vec<_> = world.query_filtered::<Entity, With<Observer>>().iter(&world).collect();
    all.into_iter().for_each(|observer| _ = world.try_despawn(observer));
    let [a] = spawn(&mut world, Ship);
    assert!(!is_updated(&mut world, &mut live, "Ship") && live.contains(a));
    let [b] = spawn(&mut world, Ship);
    assert!(is_updated(&mut world, &mut live, "Ship") && live.contains(b));
}

#[test]
fn the_entity_of_a_type_that_is_despawned_is_followed_to_the_next() {
    let mut world = world();
    let [a, b] = spawn(&mut world, Ship);
    let mut live = live(&mut world, "(Likes, $x)");
    world.insert_pair(a, Likes, b).unwrap();
    assert!(is_updated(&mut world, &mut live, "(Likes, $x)"));
    let likes = world.entity_of::<Likes>();
    world.despawn(likes);
    live.update(&mut world).unwrap();
    assert!(live.is_empty());
    world.insert_pair(b, Likes, a).unwrap();
    is_updated(&mut world, &mut live, "(Likes, $x)");
    assert!(live.contains(b) && live.len() == 1);
}

#[test]
fn few_of_many_changes_are_not_a_run() {
    let mut world = world();
    let text = "Ship, (Likes, $x), !Fuel";
    let ships: Vec<_> = (0..2000).map(|_| world.spawn(Ship).id()).collect();
    for (&a, &b) in ships.iter().zip(&ships[1..]) {
        world.insert_pair(a, Likes, b).unwrap();
    }
    let mut live = live(&mut world, text);
    for at in 0..100 {
        world.remove_pair::<Likes>(ships[at], ships[at + 1]);
        world.insert_pair(ships[at], Likes, ships[at + 7]).unwrap();
        world.entity_mut(ships[at + 500]).insert(Fuel);
    }
    assert!(is_updated(&mut world, &mut live, text));
    for &ship in &ships[..1900] {
        world.remove_pairs::<Likes>(ship);
    }
    assert!(!is_updated(&mut world, &mut live, text), "so many are a run");
}

#[test]
fn what_is_not_followed_is_run_again_and_explained() {
    let mut world = world();
    let mut all = live(&mut world, "!Ship");
    world.spawn_empty();
    assert!(!is_updated(&mut world, &mut all, "!Ship"));
    let why = "run again, it looks at every entity, and Bevy does not report empty ones";
    assert_eq!(
        all.explain(),
        format!("run again at each update\n  !Ship: a change has everything run again\n  {why}\n")
    );
    let any = live(&mut world, "*, Ship");
    assert_eq!(
        any.explain(),
        "run again at each update\n  *: run again, Bevy reports no changes of components that are not named\n  Ship: by $this\n"
    );
    let kept = live(&mut world, "Ship, (Likes, $x), !Fuel, ?(DockedTo, *), Ship || Port");
    assert_eq!(
        kept.explain(),
        "kept up to date\n  Ship: by $this\n  (Likes, $x): by $this, $x\n  !Fuel: by $this\n  ?(DockedTo, *): by $this\n  \
         Ship || Port: by $this\n"
    );
    let unwritten = PairExpr::parse("Ship").unwrap().live(&mut world).unwrap();
    assert_eq!(unwritten.explain(), "not run yet\n");
}
