//! What Flecs's own tests decide, where the words of its manual leave it open.

use crate::expr_semantics::{Written, reference};
use bevy_ecs::{entity_disabling::Disabled, prelude::*};
use bevy_relations::{expr::PairExpr, prelude::*};

#[derive(Component)]
struct Engine;

#[test]
fn a_scope_in_front_is_asked_of_every_entity() {
    let mut world = reference();
    for scope in [
        "!{(A, T1) || (B, T2)}",
        "!{Tag2 || (A, *)}",
        "!{(A, $x), !(B, $x)}",
        "!{!{(A, T1)}}",
        "!{(A, T1), A(e6, h1)}",
        "!{?(A, $x), (B, $x)}",
    ] {
        let behind = world.rows(&format!("Tag, {scope}"));
        assert!(!behind.is_empty() && behind.len() < 6, "{scope} leaves some out: {behind:?}");
        assert_eq!(world.rows(&format!("{scope}, Tag")), behind, "{scope}");
        assert_eq!(world.rows(&format!("{{ {scope} }}, Tag")), behind, "{scope}");
    }
    world.check(&[
        ("!{(A, T1) || (B, T2)}, Tag", "e5 e6"),
        ("!{Tag || Tag2}, $this ~= \"t\"", "T1 T2 Tag Tag2 Within"),
        // One that is not about `$this` has nothing to ask of it.
        ("!{Tag(h1)}, Tag2", "h1"),
        ("!{Tag(e1)}, Tag2", ""),
    ]);
}

#[test]
fn a_term_that_uses_what_a_branch_left_unset_is_skipped() {
    let mut world = reference();
    world.check(&[
        ("(A, $x) || (B, $y), Tag2($x)", "e4/*/T2 e6/h1/*"),
        ("(A, $x) || (B, $y), $x == h1", "e4/*/T2 e6/h1/*"),
        ("(A, $x) || (B, $y), $x != T1", "e3/T2/* e4/*/T2 e6/h1/*"),
        ("(A, $x) || (B, $y), !Tag2($x), Tag", "e1/T1/* e2/T1/* e3/T1/* e3/T2/* e4/*/T2"),
        // What a skipped term would bind is left unset too.
        ("(A, $x) || (B, $y), A($z, $x), !Tag($z)", "e4/*/T2/*"),
        // A scope of which nothing is left is skipped.
        ("(A, $x) || (B, $y), !{Tag2($x)}", "e1/T1/* e2/T1/* e3/T1/* e3/T2/* e4/*/T2"),
        ("(A, $x) || (B, $y), !{Tag2($x), A($z, $x)}", "e1/T1/* e2/T1/* e3/T1/* e3/T2/* e4/*/T2"),
        ("(A, $x) || (B, $y), !{!{Tag2($x)}}", "e4/*/T2 e6/h1/*"),
        ("(A, $x) || (B, $y), !{Tag2($x), Tag}", "e1/T1/* e2/T1/* e3/T1/* e3/T2/*"),
        ("(A, $x) || (B, $y), !{Tag2($x) || A($x, *)}", "e1/T1/* e2/T1/* e3/T1/* e3/T2/* e4/*/T2"),
        ("(A, $x) || (B, $y), !{A($z, $x) || Tag($z)}", ""),
        // A branch that is skipped holds.
        ("(A, $x) || (B, $y), Tag2($x) || A($x, *)", "e4/*/T2 e6/h1/*"),
        ("(A, $x) || (B, $y), (B, $x) || Tag2", "e2/T1/* e3/T2/* e4/*/T2"),
    ]);
    let fields = world.fields("(A, $x) || (B, $y), (B, $x) || Tag2", 1);
    assert_eq!(fields, ["-", "B T1@e2", "B T2@e3"], "the field of a branch that is skipped is unset");
    let mut expr = world.compile("(A, $x) || (B, $y)");
    let h1 = world.entity("h1");
    assert_eq!(expr.set_var(&world.world, "x", h1).unwrap().count(&world.world), Ok(1));
    let mut parent =
        Written::new(&["ship Tag", "engine Red (ChildOf, ship)", "gun (A, ship)", "free (B, ship)"]);
    parent.check(&[
        ("(A, $x) || (B, $y), Red($x.engine)", "free/*/ship gun/ship/*"),
        ("(A, $x) || (B, $y), !Red($x.engine)", "free/*/ship"),
    ]);
}

#[test]
fn a_branch_that_is_skipped_leaves_room_for_no_other() {
    let mut world = Written::new(&["s Red", "e1 Tag (A, x)", "e2 Tag", "f (B, x)", "Big"]);
    world.check(&[
        // `$x` has no value: the first branch holds, whatever entity it is about.
        ("Red, ?(A, $x), B($z, $x) || Tag($z)", "s/*/*"),
        // There is an entity with a tag, so that the second is not needed.
        ("Red, ?(A, $x), Tag($z) || B($z, $x)", "s/*/e1 s/*/e2"),
        ("Red, ?(A, $x), Big($z) || B($z, $x)", "s/*/*"),
        ("Tag, ?(A, $x), B($z, $x) || Tag($z)", "e1/x/e1 e1/x/e2 e1/x/f e2/*/*"),
    ]);
}

#[test]
fn the_field_of_a_transitive_term_names_the_pair_that_is_stored() {
    let mut world = Written::new(&[
        "a (In, b) (In, c)",
        "b (In, d)",
        "c (In, d)",
        "d (In, e)",
        "low (On, a)",
        "p (Within, q)",
        "q (Within, r)",
    ]);
    for (text, field, expected) in [
        ("$this == a, (In, d)", 1, &["In b@a"][..]),
        ("$this == a, (In, c)", 1, &["In c@a"]),
        ("(In, e)", 0, &["In b@a", "In d@b", "In d@c", "In e@d"]),
        ("$this == a, (In, *)", 1, &["In b@a", "In b@a", "In b@a", "In c@a"]),
        ("$this == a, (In, $x)", 1, &["In b@a", "In b@a", "In b@a", "In c@a"]),
        ("$this == a, (In, d|self)", 1, &[]),
        ("$this == b, (In, d|self)", 1, &["In d@b"]),
        ("In(a, e)", 0, &["In b@a"]),
        ("In($this|up On, e)", 0, &["In b@a"]),
        ("$this == a, ?(In, e)", 1, &["In b@a"]),
        ("$this == a, (In, e) || (In, b)", 1, &["In b@a"]),
        ("(Within, r)", 0, &["Within q@p", "Within r@q", "Within r@r"]),
    ] {
        assert_eq!(world.fields(text, field), expected, "{text}");
    }
}

#[test]
fn a_term_about_an_ancestor_does_not_let_disabled_entities_in() {
    let mut world = Written::new(&["top", "mid Tag (On, top)", "low Tag (On, mid)", "free Tag (A, mid)"]);
    let [top, mid] = ["top", "mid"].map(|name| world.entity(name));
    world.world.entity_mut(top).insert(Disabled);
    world.world.entity_mut(mid).insert(Disabled);
    world.check(&[
        ("Tag", "free low"),
        ("Tag, Disabled(up On)", "low"),
        ("Tag, !Disabled(up On)", "free"),
        ("Tag, ?Disabled(up On)", "free low"),
        ("Tag, Disabled(self|up On)", "low mid"),
        ("Tag, ?Disabled", "free low mid"),
        ("Tag, (A, $x), Disabled($x)", "free/mid"),
        ("Tag, !{Disabled}", "free low"),
        ("Tag, Disabled || Tag", "free low mid"),
        ("Tag, Disabled(top)", "free low"),
    ]);
}

#[test]
fn any_as_this_matches_entities_with_pairs_only_and_with_nothing() {
    let mut world = World::new();
    let relation = world.spawn_relation("R", RelationTraits::new()).unwrap();
    let [nothing, target, source] = [(); 3].map(|()| world.spawn_empty().id());
    world.insert_pair_by_id(source, (relation, target)).unwrap();
    let hidden = world.spawn(Disabled).id();
    let mut these = |text: &str| {
        let mut expr = PairExpr::parse(text).unwrap().compile(&mut world).unwrap();
        let mut found = Vec::new();
        expr.for_each(&world, |row| found.extend(row.this())).unwrap();
        (nothing, target, source, hidden, found)
    };
    let (.., any) = these("_");
    assert!([nothing, target, source].iter().all(|entity| any.contains(entity)) && !any.contains(&hidden));
    assert_eq!(these("!_").4, []);
    assert!(these("*").4.iter().all(|entity| ![nothing, target, source].contains(entity)));
    let bits = relation.to_bits();
    assert_eq!(these(&format!("_, (#{bits}, *)")).4, [source]);
}

#[test]
fn a_variable_that_nothing_binds_may_be_the_entity_of_a_type_but_this_is_not() {
    let mut world = reference();
    let engine = world.world.entity_of::<Engine>();
    let mut expr = world.compile("!Tag($x)");
    let mut found = Vec::new();
    expr.for_each(&world.world, |row| found.extend(row.var("x"))).unwrap();
    assert!(found.contains(&engine));
    let mut expr = world.compile("!Tag");
    let mut found = Vec::new();
    expr.for_each(&world.world, |row| found.extend(row.this())).unwrap();
    assert!(!found.is_empty() && !found.contains(&engine));
}

#[test]
fn the_empty_text_has_no_rows() {
    for text in ["", " ", "// nothing", "/* nothing */"] {
        assert_eq!(reference().in_order(text), Vec::<String>::new(), "{text}");
    }
    assert_eq!(reference().in_order("Tag()"), [""]);
    let mut world = reference();
    let mut expr = PairExpr::builder().build().unwrap().compile(&mut world.world).unwrap();
    assert_eq!((expr.count(&world.world), expr.any(&world.world)), (Ok(0), Ok(false)));
}

#[test]
fn equality_with_a_wildcard_holds_of_every_entity() {
    let mut world = reference();
    for any in ["*", "_"] {
        let all = world.rows(&format!("$this == {any}"));
        assert!(["A", "T1", "e1", "h1"].iter().all(|name| all.contains(&(*name).to_owned())), "{all:?}");
        let equal = format!("Tag2, $this == {any}");
        let unequal = format!("Tag2, $this != {any}");
        let unset = format!("Tag, ?(A, $x), $x != {any}");
        world.check(&[(&*equal, "h1"), (&*unequal, ""), (&*unset, "e4/* e5/*")]);
    }
}

#[test]
fn each_subtype_is_looked_up_on_its_own() {
    let mut world = Written::new(&[
        "Red (IsA, Bright)",
        "B (IsA, A)",
        "top Bright (A, x)",
        "mid Red (B, y) (On, top)",
        "low (On, mid)",
    ]);
    for (text, expected) in [
        ("Bright(up On)", &["Bright@top", "Bright@top", "Red@mid"][..]),
        ("$this == low, ?Bright(up On)", &["Bright@top", "Red@mid"]),
        ("$this == low, !Bright(up On)", &[]),
        ("A($this|up On, *)", &["A x@top", "A x@top", "B y@mid"]),
        ("A($this|up On, _)", &["A _@top", "A _@top"]),
        ("Bright($this|up|all On)", &["Bright@top", "Bright@top", "Red@mid"]),
    ] {
        let field = usize::from(text.starts_with('$'));
        assert_eq!(world.fields(text, field), expected, "{text}");
    }
    world.check(&[("Bright(up On)", "low low mid"), ("A($this|up On, $t)", "low/x low/y mid/x")]);
}

#[test]
fn no_target_means_a_root() {
    let mut world = Written::new(&["ship Tag", "engine Tag (ChildOf, ship)", "pump Tag (ChildOf, engine)"]);
    world.check(&[
        ("Tag, (ChildOf, #0)", "ship"),
        ("(ChildOf, #0), Tag", "ship"),
        ("Tag, !(ChildOf, #0)", "engine pump"),
        ("ChildOf(ship, #0)", ""),
        ("!ChildOf(ship.engine, #0)", ""),
    ]);
    assert!(world.in_order("ChildOf(ship.engine, #0)").is_empty());
    assert!(world.rows("(ChildOf, #0)").contains(&"ship".to_owned()));
}

#[test]
fn a_chain_of_wildcards_gives_the_rows_of_every_branch() {
    let mut world = World::new();
    let [r, tag] = [(); 2].map(|()| world.spawn_empty().id());
    let [with_pairs, tagged, both, target] = [(); 4].map(|()| world.spawn_empty().id());
    world.insert_pair_by_id(with_pairs, (r, target)).unwrap();
    world.insert_pair_by_id(both, (r, target)).unwrap();
    world.insert_pair_by_id(both, (r, tagged)).unwrap();
    world.insert_tag(tagged, tag).unwrap();
    world.insert_tag(both, tag).unwrap();
    let mut these = |text: &str| {
        let mut expr = PairExpr::parse(text).unwrap().compile(&mut world).unwrap();
        let mut found = Vec::new();
        expr.for_each(&world, |row| {
            found.extend(row.this().filter(|this| [with_pairs, tagged, both, target].contains(this)));
        })
        .unwrap();
        found.sort_unstable_by_key(|entity| entity.index_u32());
        found
    };
    assert_eq!(these("(*, *) || *"), [with_pairs, tagged, both, both]);
    assert_eq!(these("* || (*, *)"), [with_pairs, tagged, both]);
    assert_eq!(these("_ || (*, *)"), [with_pairs, tagged, both, target]);
    assert_eq!(these("(*, *) || _"), [with_pairs, tagged, both, both, target]);
    assert_eq!(these("(_, _) || (_, *) || *"), [with_pairs, tagged, both]);
}
